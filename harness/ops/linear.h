/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HARNESS_OPS_LINEAR_H
#define HARNESS_OPS_LINEAR_H

#include "../op.h"

/* clang-format off */
void linear_fill_normal(struct call *c); void linear_fill_logu(struct call *c); void linear_fill_outlier(struct call *c);
void linear_fill_positive(struct call *c); void linear_fill_decaying(struct call *c); void linear_fill_tail(struct call *c);
void linear_fill_tiny(struct call *c); void linear_fill_huge(struct call *c); void linear_fill_zero_rows(struct call *c);
void linear_fill_exact(struct call *c); void linear_fill_ones(struct call *c); void linear_fill_one_hot(struct call *c);
void linear_fill_cancel(struct call *c); void linear_fill_ties(struct call *c); void linear_fill_mixed(struct call *c);
void linear_fill_subnormal(struct call *c); void linear_fill_scales(struct call *c); void linear_fill_specials(struct call *c);
void linear_fill_overflow(struct call *c); void linear_fill_flush(struct call *c);
/* clang-format on */

extern const struct bad linear_bads[];

#endif
