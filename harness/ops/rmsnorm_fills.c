/* SPDX-License-Identifier: Apache-2.0 */
/* The data of cases of rmsnorm. */
#include <math.h>

#include "../../ref/args.h"
#include "rmsnorm.h"

typedef double (*draw_fn)(const struct call *c, int slot, int64_t row, int64_t col, int64_t index);

static int64_t width(const struct call *c)
{
    return c->args.rmsnorm.d;
}

static int has_residual(const struct call *c)
{
    return c->args.rmsnorm.t[RMS_RESIDUAL] && c->slot[RMS_RESIDUAL].same_as < 0;
}

static void fill_weight(struct call *c, int lo, int hi) /* around 1, or any sign with exponents lo..hi-1 */
{
    for (int64_t i = 0; i < width(c); i++)
        put(c, RMS_WEIGHT, 0, i, lo == hi ? 1 + draw_normal(c, RMS_WEIGHT, i) / 4 : draw_log(c, RMS_WEIGHT, i, lo, hi));
}

static void fill_rows(struct call *c, draw_fn draw)
{
    for (int64_t row = 0; row < c->op->rows(&c->args); row++)
        for (int64_t col = 0; col < width(c); col++) {
            put(c, RMS_X, row, col, draw(c, RMS_X, row, col, row * width(c) + col));
            if (has_residual(c))
                put(c, RMS_RESIDUAL, row, col, draw(c, RMS_RESIDUAL, row, col, row * width(c) + col));
        }
}

static double normal(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    (void) row, (void) col;
    return draw_normal(c, slot, i);
}

static double logu(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    (void) row, (void) col;
    return draw_log(c, slot, i, -8, 8);
}

static double outlier(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    (void) row;
    return draw_normal(c, slot, i) * (col % 64 == 5 ? 1024 : 1);
}

static double tiny(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    (void) col; /* mean squares around eps = 1e-6 and far below */
    return draw_normal(c, slot, i) * ldexp(1, -8 - (int) (row % 6));
}

static double huge(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    (void) col; /* 2^14 elements of 2^52 stay below sum r^2 = 2^127 (RMS-12) */
    return draw_normal(c, slot, i) * ldexp(1, 46 + (int) (row % 5));
}

static double positive(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    (void) row, (void) col;
    return fabs(draw_normal(c, slot, i)) + 0.5;
}

static double zero_rows(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    (void) col;
    if (row % 3 == 0)
        return draw_bits(c, RMS_X, i) & 1 ? -0.0 : 0; /* the residual's sign too: -0 + -0 = -0 */
    return draw_normal(c, slot, i);
}

static double exact(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    (void) row, (void) col;
    return (double) (draw_bits(c, slot, i) % 9) - 4;
}

static double sentinel(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    const int64_t last = c->op->rows(&c->args) - 1;
    const int large = row == 0 || row == last || col == width(c) - 1;
    return draw_normal(c, slot, i) * (large ? 4096 : 1);
}

static double mixed(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    return draw_normal(c, slot, i) * ldexp(1, (int) ((row * 5 + col / 16 * 3) % 16) - 8);
}

/* Five kinds of rows: normal; a NaN; a NaN in the residual where there is one; Inf in x or in the residual; zeros and subnormals. */
static double specials(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    const uint32_t bits = draw_bits(c, slot, i);
    const int64_t chosen = (int64_t) (draw_bits(c, slot, row << 24) % (uint32_t) width(c));
    if (row % 5 == 1 && slot == RMS_X && col == chosen)
        return NAN;
    if (row % 5 == 2 && slot == RMS_RESIDUAL && col == chosen)
        return NAN;
    if (row % 5 == 3 && slot == (row % 2 ? RMS_X : RMS_RESIDUAL) && col % 50 == 7)
        return bits & 1 ? INFINITY : -INFINITY;
    if (row % 5 == 4)
        return bits & 1 ? -0.0 : ldexp(bits & 2 ? -1.0 : 1.0, -133 + (int) (bits >> 8) % 8);
    return draw_normal(c, slot, i);
}

/* clang-format off */
#define FILL(name, lo, hi) void rmsnorm_fill_##name(struct call *c) { fill_weight(c, lo, hi); fill_rows(c, name); }
FILL(normal, 0, 0) FILL(logu, -2, 3) FILL(outlier, 0, 0) FILL(tiny, 0, 0) FILL(huge, 0, 0) FILL(positive, 0, 0)
FILL(zero_rows, -1, 2) FILL(exact, -1, 2) FILL(sentinel, 0, 0) FILL(mixed, 0, 0) FILL(specials, 0, 0)
    /* clang-format on */

    /* Weights of any sign; every seventh a subnormal of its format, every eleventh -0, and one NaN in a row of more than 8. */
    void rmsnorm_fill_weights(struct call *c)
{
    const int f32 = c->slot[RMS_WEIGHT].fmt == LC_F32;
    fill_weight(c, -3, 3);
    for (int64_t i = 0; i < width(c); i++) {
        const uint32_t bits = draw_bits(c, RMS_WEIGHT, i);
        if (i % 7 == 3)
            put(c, RMS_WEIGHT, 0, i, ldexp(bits & 1 ? -1.5 : 1.25, (f32 ? -145 : -131) + (int) (bits >> 8) % 4));
        if (i % 11 == 5)
            put(c, RMS_WEIGHT, 0, i, -0.0);
    }
    if (width(c) > 8)
        put(c, RMS_WEIGHT, 0, width(c) / 2, NAN);
    fill_rows(c, normal);
}

/* What the dialect adds to the weight. */
static double added(const struct call *c)
{
    return c->args.rmsnorm.dialect == RMS_GEMMA ? 1 : 0;
}

/* r of one magnitude, so that s is exact and rstd a power of two; x + residual is r, often by a tie (RMS-1). */
static void fill_constant(struct call *c, double magnitude)
{
    for (int64_t row = 0; row < c->op->rows(&c->args); row++)
        for (int64_t col = 0; col < width(c); col++) {
            const uint32_t bits = draw_bits(c, RMS_X, row * width(c) + col);
            const double r = bits & 1 ? -magnitude : magnitude;
            const double half_ulp = r * ldexp(1, -8) / (magnitude > 1 ? magnitude : 1); /* of r: a tie, and r is even */
            put(c, RMS_X, row, col, r);
            if (has_residual(c))
                put(c, RMS_RESIDUAL, row, col, bits & 2 ? half_ulp : bits & 4 ? -half_ulp / 4 : 0);
        }
}

/* |r| = 1.5, s + eps = 4, rstd = 1/2: y = 0.75 w is exact, and a BF16 midpoint where w's significand is odd and below 171; an f32
 * w is also one ulp beside. */
void rmsnorm_fill_ties(struct call *c)
{
    fill_constant(c, 1.5);
    for (int64_t i = 0; i < width(c); i++) {
        const uint32_t bits = draw_bits(c, RMS_WEIGHT, i);
        double w = ldexp(129 + 2 * (double) (bits % 21), -7 + (int) (bits >> 8) % 6);
        if (c->slot[RMS_WEIGHT].fmt == LC_F32)
            w *= 1 + ((int) (bits >> 16 & 3) - 1) % 2 * ldexp(1, -23);
        put(c, RMS_WEIGHT, 0, i, w - added(c));
    }
}

/* |r| = 1/2, s + eps = 1, rstd = 1: y = w/2; in each group of 32 the largest is 448 * 2^k or up to two BF16 ulps away. */
void rmsnorm_fill_pow2_edges(struct call *c)
{
    fill_constant(c, 0.5);
    for (int64_t i = 0; i < width(c); i++) {
        const uint32_t bits = draw_bits(c, RMS_WEIGHT, i), group = draw_bits(c, RMS_WEIGHT, (i / 32 << 24) + 1);
        const int k = (int) (group % 16) - 8;
        const double edge = 896 + ((int) (group >> 8) % 5 - 2) * ldexp(1, 9 - 7);
        put(c, RMS_WEIGHT, 0, i, ldexp(i % 32 == (group >> 16) % 32 ? edge : (double) (bits % 512), k));
    }
}

static double r_of(const struct call *c, int64_t row, int64_t col)
{
    const double x = get(c, RMS_X, row, col);
    if (!has_residual(c))
        return x;
    const double sum = x + get(c, RMS_RESIDUAL, row, col);
    return c->args.rmsnorm.dialect == RMS_F32RES ? rn_f32(sum) : rn_bf16(sum);
}

static double rstd_of(const struct call *c, int64_t row)
{
    double sum = 0;
    for (int64_t i = 0; i < width(c); i++)
        sum += r_of(c, row, i) * r_of(c, row, i);
    return rn_f32_rsqrt(rn_f32(rn_f32(sum / (double) width(c)) + c->args.rmsnorm.eps));
}

/* The w that brings unit * w nearest to the midpoint, and how far off it is. */
static double weight_for(const struct call *c, double unit, double midpoint, double *off)
{
    const double w = rn(c->slot[RMS_WEIGHT].fmt, midpoint / unit - added(c));
    *off = fabs((added(c) + w) * unit / midpoint - 1);
    return w;
}

/* The w for which unit * w is a BF16 midpoint in [128, 256): solved for in f32; in BF16 the best of 128 midpoints. */
static double weight_at_midpoint(const struct call *c, double unit, uint32_t bits)
{
    double best = 0, least = 1;
    for (uint32_t k = 0; k < 128; k++) {
        double off;
        const double w = weight_for(c, unit, 128.5 + (bits + k) % 128, &off);
        if (off < least) {
            least = off;
            best = w;
        }
        if (c->slot[RMS_WEIGHT].fmt == LC_F32)
            break;
    }
    return best;
}

/* Each block of 32 columns aims at one row: there y lands within the bound of a BF16 midpoint. One column of the block, the one
 * whose w comes nearest, aims at 449, the midpoint above 448: if y rounds up the scale doubles, so two scales are legal. */
void rmsnorm_fill_brink(struct call *c)
{
    const int64_t n = c->op->rows(&c->args), d = width(c);
    fill_rows(c, positive);
    for (int64_t i = 0; i < d; i++)
        put(c, RMS_WEIGHT, 0, i, 1);
    for (int64_t begin = 0; n > 0 && begin < d; begin += 32) {
        const int64_t row = begin / 32 % n, end = begin + 32 < d ? begin + 32 : d;
        const double rstd = rstd_of(c, row) * c->args.rmsnorm.out_scale;
        int64_t top = begin;
        double least = 1, off;
        for (int64_t col = begin; col < end; col++) {
            weight_for(c, r_of(c, row, col) * rstd, 449, &off);
            if (off < least) {
                least = off;
                top = col;
            }
        }
        for (int64_t col = begin; col < end; col++) {
            const double unit = r_of(c, row, col) * rstd;
            put(c, RMS_WEIGHT, 0, col,
                col == top ? weight_for(c, unit, 449, &off) : weight_at_midpoint(c, unit, draw_bits(c, RMS_WEIGHT, col)));
        }
    }
}
