/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the descriptor of rope: rope.c, rope_fills.c, rope_bads.c. */
#ifndef HARNESS_OPS_ROPE_H
#define HARNESS_OPS_ROPE_H

#include <stdbool.h>

#include "../op.h"

struct rope_spot { /* an element of query or key */
    const struct call *c;
    int slot;
    int64_t token, head, i, index; /* index: of a draw */
    int64_t position, pair;        /* pair: -1 where nothing rotates */
    int side;                      /* 0: a, 1: b */
};
typedef double (*rope_data)(const struct rope_spot *s);
typedef double (*rope_entry)(const struct call *c, int64_t row, int64_t pair, int side, int64_t index); /* side 0: cos, 1: sin */

/* Positions by the axes `pos` and `past`, all data, all of the table. */
void rope_fill(struct call *c, rope_data data, rope_entry table);
double rope_normal(const struct rope_spot *s);
/* A position that a table of so many rows does not have. kind, of the axis `past`: 2 below 0, 3 the number of rows, 4 from 2^31 - 1 on,
 * 5 2^32 + a row; 1 those that int32 holds and what it does not, one after the other. wide: int64. */
int64_t rope_past(int64_t kind, int64_t token, int64_t rows, bool wide);
#define ROPE_PAST_HELP                                                                                                           \
    "1: some positions are not in the table (ERR-2); all of one kind: 2 below 0, 3 the number of rows, 4 2^31 - 1 or more, 5 "   \
    "2^32 + a row of it (int64)"
double rope_polar(const struct call *c, int64_t row, int64_t pair, int side, int64_t index); /* ROT-1..3, base 10000 */

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
void rope_fill_faint(struct call *c);

extern const struct bad rope_bads[];

/* APPLY-1 twice: how far two admissible a c - b s may be apart once both are rounded to BF16, the one to `want`. */
double rope_apart(double a, double b, double c, double s, double want);
struct rope_pair { /* an element j of those of a head that rotate: its partner, its pair, its side (0: a, 1: b) */
    int64_t partner, pair;
    int side;
};
struct rope_pair rope_pair_of(int64_t rotary_dim, bool interleaved, int64_t j);

#endif
