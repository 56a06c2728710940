/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the descriptor of rmsnorm: rmsnorm.c, rmsnorm_fills.c, rmsnorm_bads.c. */
#ifndef HARNESS_OPS_RMSNORM_H
#define HARNESS_OPS_RMSNORM_H

#include "../op.h"

void rmsnorm_fill_normal(struct call *c);
void rmsnorm_fill_logu(struct call *c);
void rmsnorm_fill_outlier(struct call *c);
void rmsnorm_fill_tiny(struct call *c);
void rmsnorm_fill_huge(struct call *c);
void rmsnorm_fill_positive(struct call *c);
void rmsnorm_fill_zero_rows(struct call *c);
void rmsnorm_fill_exact(struct call *c);
void rmsnorm_fill_ties(struct call *c);
void rmsnorm_fill_brink(struct call *c);
void rmsnorm_fill_pow2_edges(struct call *c);
void rmsnorm_fill_sentinel(struct call *c);
void rmsnorm_fill_mixed(struct call *c);
void rmsnorm_fill_specials(struct call *c);
void rmsnorm_fill_weights(struct call *c);

extern const struct bad rmsnorm_bads[]; /* ends at name == NULL */

#endif
