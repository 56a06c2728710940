/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the descriptor of rope: rope.c, rope_fills.c, rope_bads.c. */
#ifndef HARNESS_OPS_ROPE_H
#define HARNESS_OPS_ROPE_H

#include "../op.h"

void rope_fill_normal(struct call *c);
void rope_fill_mscale(struct call *c);
void rope_fill_logu(struct call *c);
void rope_fill_outlier(struct call *c);
void rope_fill_tiny(struct call *c);
void rope_fill_huge(struct call *c);
void rope_fill_zero(struct call *c);
void rope_fill_exact(struct call *c);
void rope_fill_cancel(struct call *c);
void rope_fill_brink(struct call *c);
void rope_fill_mixed(struct call *c);
void rope_fill_specials(struct call *c);
void rope_fill_table(struct call *c);

extern const struct bad rope_bads[];

#endif
