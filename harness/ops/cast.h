/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the descriptor of cast: cast.c, cast_fills.c, cast_bads.c. */
#ifndef HARNESS_OPS_CAST_H
#define HARNESS_OPS_CAST_H

#include "../op.h"

void cast_fill_normal(struct call *c);
void cast_fill_logu(struct call *c);
void cast_fill_outlier(struct call *c);
void cast_fill_tiny(struct call *c);
void cast_fill_huge(struct call *c);
void cast_fill_zero_groups(struct call *c);
void cast_fill_exact(struct call *c);
void cast_fill_ties(struct call *c);
void cast_fill_pow2_edges(struct call *c);
void cast_fill_sweep(struct call *c);
void cast_fill_mixed(struct call *c);
void cast_fill_specials(struct call *c);

extern const struct bad cast_bads[]; /* ends at name == NULL */

#endif
