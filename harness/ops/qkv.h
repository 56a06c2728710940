/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the descriptor of qkv: qkv.c, qkv_fills.c, qkv_bads.c. */
#ifndef HARNESS_OPS_QKV_H
#define HARNESS_OPS_QKV_H

#include "../op.h"

void qkv_fill_normal(struct call *c);
void qkv_fill_logu(struct call *c);
void qkv_fill_outlier(struct call *c);
void qkv_fill_tiny(struct call *c);
void qkv_fill_huge(struct call *c);
void qkv_fill_positive(struct call *c);
void qkv_fill_zero_rows(struct call *c);
void qkv_fill_exact(struct call *c);
void qkv_fill_ties(struct call *c);
void qkv_fill_rounds(struct call *c);
void qkv_fill_cancel(struct call *c);
void qkv_fill_sentinel(struct call *c);
void qkv_fill_mixed(struct call *c);
void qkv_fill_specials(struct call *c);
void qkv_fill_weights(struct call *c);
void qkv_fill_limits(struct call *c);
void qkv_fill_table(struct call *c);

extern const struct bad qkv_bads[]; /* ends at name == NULL */

#endif
