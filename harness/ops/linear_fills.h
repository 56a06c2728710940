/* SPDX-License-Identifier: Apache-2.0 */
/* What the fills of linear are made of. */
#ifndef HARNESS_OPS_LINEAR_FILLS_H
#define HARNESS_OPS_LINEAR_FILLS_H

#include "../../ref/args.h"
#include "linear.h"

enum { GROUP = 32 };

struct recipe {
    double (*x)(const struct call *c, int64_t row, int64_t k, int64_t i);
    double (*w)(const struct call *c, int64_t n, int64_t k, int64_t i);
    int (*ex)(const struct call *c, int64_t row, int64_t g); /* NULL: 0, and with scales a little, all different */
    int (*ew)(const struct call *c, int64_t n, int64_t g);
    double (*acc)(const struct call *c, int64_t row, int64_t n, int64_t i); /* NULL: N(0, 16) */
    double (*bias)(const struct call *c, int64_t n);                        /* NULL: N(0, 4) */
    int x_code, w_code;                                                     /* an E4M3 code is the value times 2^this */
};

static inline const struct linear_args *args_of(const struct call *c)
{
    return &c->args.linear;
}

static inline bool is_e2m1(const struct call *c)
{
    return c->slot[LIN_WEIGHT].fmt == LC_E2M1X2;
}

/* A column that stands for a row: the first, the last, or any. */
static inline int64_t picked(const struct call *c, int64_t row)
{
    const int64_t k = args_of(c)->k;
    return row % 4 == 0 ? k - 1 : row % 4 == 1 ? 0 : (int64_t) (draw_bits(c, LIN_OUT, row) % (uint32_t) k);
}

static inline double sign(uint32_t bits)
{
    return bits & 1 ? -1 : 1;
}

void linear_fill_by(struct call *c, const struct recipe *r);
double linear_normal_w(const struct call *c, int64_t n, int64_t k, int64_t i);

/* clang-format off */
#define FILL(name, ...) void linear_fill_##name(struct call *c) { linear_fill_by(c, &(const struct recipe) { __VA_ARGS__ }); }
/* clang-format on */

#endif
