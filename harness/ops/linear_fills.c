/* SPDX-License-Identifier: Apache-2.0 */
/* The data of cases of linear. One recipe serves every dtype: values of about 1, times a power of two for each group of 32; codes
 * have the value, their scales the power, and BF16 the product. */
#include <math.h>

#include "../../ref/args.h"
#include "linear_fills.h"

static void put_scales(struct call *c, int slot, int64_t row, int64_t col, int exp)
{
    put(c, slot, row, col, ldexp(1, exp < -127 ? -127 : exp > 127 ? 127 : exp));
}

static void fill_x(struct call *c, const struct recipe *r)
{
    const struct linear_args *const a = args_of(c);
    const bool codes = c->slot[LIN_X].fmt == LC_E4M3;
    for (int64_t row = 0; row < a->m; row++) {
        for (int64_t k = 0; k < a->k; k++) {
            const int64_t g = k / GROUP;
            const int e = r->ex ? r->ex(c, row, g) : a->fp8 ? (int) ((row * 5 + g * 3) % 7) - 3 : 0;
            put(c, LIN_X, row, k, ldexp(r->x(c, row, k, row * a->k + k), codes ? r->x_code : e));
            if (codes && k % GROUP == 0)
                put_scales(c, LIN_X_SF, row, g, e - r->x_code);
        }
        for (int64_t g = a->k / GROUP; codes && g < 4 * sf_words(&a->sf); g++)
            put_scales(c, LIN_X_SF, row, g, -127); /* SF-6: byte 0 */
    }
}

static void fill_weight(struct call *c, const struct recipe *r)
{
    const struct linear_args *const a = args_of(c);
    const int64_t words = 4 * sf_words(&a->sf);
    const int shift = is_e2m1(c) ? 0 : r->w_code;
    for (int64_t n = 0; n < a->n; n++) {
        for (int64_t k = 0; k < a->k; k++) {
            const int64_t g = k / GROUP;
            const int e = r->ew ? r->ew(c, n, g) : a->fp8 ? (int) ((n * 3 + g * 5) % 7) - 3 : 0;
            put(c, LIN_WEIGHT, 0, n * a->k + k, ldexp(r->w(c, n, k, n * a->k + k), a->fp8 ? shift : e));
            if (a->fp8 && k % GROUP == 0)
                put_scales(c, LIN_WEIGHT_SF, 0, n * words + g, e - shift);
        }
        for (int64_t g = a->k / GROUP; a->fp8 && g < words; g++)
            put_scales(c, LIN_WEIGHT_SF, 0, n * words + g, -127);
    }
}

void linear_fill_by(struct call *c, const struct recipe *r)
{
    const struct linear_args *const a = args_of(c);
    if (a->m == 0)
        return; /* nobody reads anything */
    fill_x(c, r);
    fill_weight(c, r);
    for (int64_t n = 0; a->t[LIN_BIAS] && n < a->n; n++)
        put(c, LIN_BIAS, 0, n, r->bias ? r->bias(c, n) : 2 * draw_normal(c, LIN_BIAS, n));
    for (int64_t i = 0; a->t[LIN_OUT_ACC] && i < a->m * a->n; i++)
        put(c, LIN_OUT_ACC, i / a->n, i % a->n, r->acc ? r->acc(c, i / a->n, i % a->n, i) : 4 * draw_normal(c, LIN_OUT_ACC, i));
}

/* ---- sizes ---- */

static double normal_x(const struct call *c, int64_t row, int64_t k, int64_t i)
{
    (void) row, (void) k;
    return draw_normal(c, LIN_X, i);
}

double linear_normal_w(const struct call *c, int64_t n, int64_t k, int64_t i)
{
    (void) n, (void) k;
    return draw_normal(c, LIN_WEIGHT, i);
}

static double logu_x(const struct call *c, int64_t row, int64_t k, int64_t i)
{
    (void) row, (void) k;
    return draw_log(c, LIN_X, i, -5, 2);
}

static double logu_w(const struct call *c, int64_t n, int64_t k, int64_t i)
{
    (void) n, (void) k;
    return draw_log(c, LIN_WEIGHT, i, is_e2m1(c) ? -1 : -5, 2);
}

static int logu_ex(const struct call *c, int64_t row, int64_t g)
{
    (void) c;
    return (int) ((row * 7 + g * 5) % 13) - 6;
}

static int logu_ew(const struct call *c, int64_t n, int64_t g)
{
    (void) c;
    return (int) ((n * 5 + g * 7) % 13) - 6;
}

static double outlier_x(const struct call *c, int64_t row, int64_t k, int64_t i)
{
    return normal_x(c, row, k, i) * (k == 0 ? 64 : 1);
}

static double positive_x(const struct call *c, int64_t row, int64_t k, int64_t i)
{
    return fabs(normal_x(c, row, k, i)) + 0.5;
}

static double positive_w(const struct call *c, int64_t n, int64_t k, int64_t i)
{
    return fabs(linear_normal_w(c, n, k, i)) + 0.5;
}

static int decaying_ex(const struct call *c, int64_t row, int64_t g)
{
    (void) row;
    return -(int) (20 * g * GROUP / (args_of(c)->k + 1));
}

/* 1 * 1, and behind it products of 1.875 * 2^-26 (LIN-1). */
static double tail_x(const struct call *c, int64_t row, int64_t k, int64_t i)
{
    (void) row, (void) i;
    return k == 0 ? 1 : k >= GROUP ? 1.875 : args_of(c)->fp8 ? 0 : ldexp(1.875, -13);
}

static double tail_w(const struct call *c, int64_t n, int64_t k, int64_t i)
{
    (void) n, (void) i;
    return k == 0 || k >= GROUP || args_of(c)->fp8 ? 1 : ldexp(1, -13);
}

static int tail_e(const struct call *c, int64_t row, int64_t g)
{
    (void) c, (void) row;
    return g > 0 ? -13 : 0;
}

/* Codes stop where products leave -100 <= ea + eb (LIN-5). */
static int tiny_ex(const struct call *c, int64_t row, int64_t g)
{
    (void) g;
    return (args_of(c)->fp8 ? -44 : -70) + (int) (row % 4);
}

static int tiny_ew(const struct call *c, int64_t n, int64_t g)
{
    (void) g;
    return (args_of(c)->fp8 ? -44 : -64) - (args_of(c)->fp8 ? 0 : (int) (n % 10));
}

static double tiny_acc(const struct call *c, int64_t row, int64_t n, int64_t i)
{
    (void) row, (void) n;
    return ldexp(draw_normal(c, LIN_OUT_ACC, i), args_of(c)->fp8 ? -85 : -130);
}

static double tiny_bias(const struct call *c, int64_t n)
{
    return ldexp(draw_normal(c, LIN_BIAS, n), -132);
}

static int huge_ex(const struct call *c, int64_t row, int64_t g)
{
    (void) g;
    return args_of(c)->fp8 ? 44 + (int) (row % 4) : row % 7 == 6 ? 78 : 50 + (int) (row % 7);
}

static int huge_ew(const struct call *c, int64_t n, int64_t g)
{
    (void) n, (void) g;
    return args_of(c)->fp8 ? 44 : 50;
}

static double huge_acc(const struct call *c, int64_t row, int64_t n, int64_t i)
{
    (void) row, (void) n;
    return ldexp(draw_normal(c, LIN_OUT_ACC, i), 105);
}

static double zero_rows_x(const struct call *c, int64_t row, int64_t k, int64_t i)
{
    if (row % 3 == 0)
        return sign(draw_bits(c, LIN_X, i)) * 0.0;
    return normal_x(c, row, k, i);
}

static double zero_rows_acc(const struct call *c, int64_t row, int64_t n, int64_t i)
{
    (void) n;
    return row % 3 == 0 ? sign(draw_bits(c, LIN_OUT_ACC, i)) * 0.0 : draw_normal(c, LIN_OUT_ACC, i);
}

static int mixed_ex(const struct call *c, int64_t row, int64_t g)
{
    (void) c;
    return (int) ((row * 37 + g * 23) % 32) - 16;
}

static int mixed_ew(const struct call *c, int64_t n, int64_t g)
{
    (void) c;
    return (int) ((n * 29 + g * 13) % 32) - 16;
}

/* ---- LIN-5: the ends of what is judged, and of the bytes of scales, 0 to 254, on either side; both shifts are 0, so these are the
 * scales' exponents. A row of each has judged partners, whose exponents with its own sum to -100..100. A BF16 x has them itself,
 * within its range; small ones are codes of 0 then (CAST-2) ---- */

static int scales_ex(const struct call *c, int64_t row, int64_t g)
{
    static const int exps[] = { -60, -50, 50, 60, 0, -51, 51, -127, 127, -126, 126, 90, -90, 62, -100, 100 };
    const int e = exps[row % 16], step = g % 2 ? (int) (row % 2) : 0;
    if (c->slot[LIN_X].fmt != LC_E4M3 && e > 120)
        return 120; /* none is an Inf */
    return row % 16 < 8 || e < 0 ? e + step : e - step;
}

static int scales_ew(const struct call *c, int64_t n, int64_t g)
{
    static const int exps[] = { -50, -40, 40, 50, 49, -49, -127, 127, -126, 126, 90, -90, 62, -100, 100 };
    (void) c, (void) g;
    return exps[n % 15];
}

static double scales_acc(const struct call *c, int64_t row, int64_t n, int64_t i)
{
    return ldexp(draw_normal(c, LIN_OUT_ACC, i), scales_ex(c, row, 0) + scales_ew(c, n, 0));
}

/* ---- LIN-11 ---- */

/* Rows: usual; a NaN; an Inf; Infs of both signs; zeros and subnormals; what out_acc has. */
static double specials_x(const struct call *c, int64_t row, int64_t k, int64_t i)
{
    const uint32_t bits = draw_bits(c, LIN_X, i);
    const int64_t at = picked(c, row);
    if (row % 6 == 1 && k == at)
        return NAN;
    if (row % 6 == 2 && k == at)
        return row & 4 ? -INFINITY : INFINITY;
    if (row % 6 == 3 && (k == at || k == (at ^ 1)))
        return k & 1 ? -INFINITY : INFINITY;
    if (row % 6 == 4)
        return bits & 1 ? -0.0 : ldexp(sign(bits >> 1), -133 + (int) (bits >> 8) % 8);
    return normal_x(c, row, k, i);
}

/* Rows of the weight: mostly usual; a NaN; an Inf, which a zero of x makes NaN. */
static double specials_w(const struct call *c, int64_t n, int64_t k, int64_t i)
{
    const bool here = k == n % args_of(c)->k;
    if (here && n % 7 == 3)
        return NAN;
    if (here && n % 7 == 5 && !args_of(c)->fp8)
        return n & 1 ? -INFINITY : INFINITY;
    return linear_normal_w(c, n, k, i);
}

static double specials_acc(const struct call *c, int64_t row, int64_t n, int64_t i)
{
    if (row % 6 == 5 && n % 4 < 3)
        return n % 4 == 0 ? NAN : n % 4 == 1 ? INFINITY : -INFINITY;
    return draw_normal(c, LIN_OUT_ACC, i);
}

static double specials_bias(const struct call *c, int64_t n)
{
    return n % 11 == 4 ? NAN : n % 11 == 7 ? -INFINITY : n % 11 == 8 ? INFINITY : draw_normal(c, LIN_BIAS, n);
}

static const struct recipe specials = { specials_x, specials_w, NULL, NULL, specials_acc, specials_bias, 6, 6 };

static void put_code(struct call *c, int slot, int64_t row, int64_t col, uint32_t code)
{
    uint8_t *const at = c->image + c->slot[slot].offset + c->op->place(&c->args, slot, row, col);
    code_to(c->slot[slot].fmt, at, col, code);
}

/* And scales that are NaN (FMT-3), over usual codes and over zeros, and E4M3's other NaN, 0xff (FMT-2), in rows of x and of the
 * weight. */
void linear_fill_specials(struct call *c)
{
    const struct linear_args *const a = args_of(c);
    linear_fill_by(c, &specials);
    if (a->sf.groups == 0 || a->m == 0)
        return;
    const int64_t words = 4 * sf_words(&a->sf);
    for (int64_t row = 0; c->slot[LIN_X].fmt == LC_E4M3 && row < a->m; row++) {
        if (row % 6 == 2 || row % 12 == 4) /* row 4 has zeros alone */
            put(c, LIN_X_SF, row, row % a->sf.groups, NAN);
        if (row % 6 == 3)
            put_code(c, LIN_X, row, picked(c, row), 0xff);
    }
    for (int64_t n = 0; n < a->n; n++) {
        const int64_t g = n % a->sf.groups;
        if (n % 7 == 1 && c->slot[LIN_WEIGHT].fmt == LC_E4M3)
            put_code(c, LIN_WEIGHT, 0, n * a->k + n % a->k, 0xff);
        for (int64_t k = g * GROUP; n % 7 == 2 && k < a->k && k < (g + 1) * GROUP; k++)
            put(c, LIN_WEIGHT, 0, n * a->k + k, k % 2 ? -0.0 : 0);
        if (n % 7 == 2 || n % 7 == 6)
            put(c, LIN_WEIGHT_SF, 0, n * words + g, NAN);
    }
}

/* Beside a product of 2^125, or of 2^128, which is an Inf in f32: an Inf of the other sign, which makes a NaN of that; nothing; an
 * Inf of its sign, which stays one. And two finite numbers of 2^126 and more, of two signs: their magnitudes sum to 2^127, but no
 * partial sum comes there. */
static double overflow_x(const struct call *c, int64_t row, int64_t k, int64_t i)
{
    const double side = row % 2 ? 1 : -1;
    if (row % 6 == 5 && k < 2)
        return ldexp(k == 0 ? 1.5 : -1.75, k == 0 ? 101 : 126);
    if (k == 0)
        return ldexp(side, 100);
    if (k == 1 && row % 3 < 2)
        return row % 6 < 2 ? -side * INFINITY : side * INFINITY;
    return normal_x(c, row, k, i);
}

static double overflow_w(const struct call *c, int64_t n, int64_t k, int64_t i)
{
    return k == 0 ? ldexp(1, n % 2 ? 28 : 25) : k == 1 ? 1 : linear_normal_w(c, n, k, i);
}

/* ---- FMT-5: BF16 subnormals, multiples of 2^-133, on either side of a product (on both: it is 0 in f32), of out_acc and of bias, and
 * whole numbers. F32 has smaller ones. Codes: x is 0, so out_acc is what is left ---- */

static double below(const struct call *c, int slot, int64_t i)
{
    const uint32_t bits = draw_bits(c, slot, i);
    return ldexp(sign(bits) * (double) (1 + (bits >> 8) % 127), -133);
}

static bool x_is_below(int64_t row, int64_t k)
{
    return row % 3 == 0 || (row % 3 == 1 && k % 2);
}

static double flush_x(const struct call *c, int64_t row, int64_t k, int64_t i)
{
    if (args_of(c)->fp8)
        return 0;
    return x_is_below(row, k) ? below(c, LIN_X, i) : (double) (1 + draw_bits(c, LIN_X, i) % 7);
}

static double flush_w(const struct call *c, int64_t n, int64_t k, int64_t i)
{
    const bool is_below = n % 3 == 0 || (n % 3 == 1 && k % 2 == 0);
    return is_below && !args_of(c)->fp8 ? below(c, LIN_WEIGHT, i) : (double) (1 + draw_bits(c, LIN_WEIGHT, i) % 4);
}

static double flush_acc(const struct call *c, int64_t row, int64_t n, int64_t i)
{
    (void) row;
    return ldexp(below(c, LIN_OUT_ACC, i), n % 4 == 3 && c->slot[LIN_OUT_ACC].fmt == LC_F32 ? -16 : 0);
}

static double flush_bias(const struct call *c, int64_t n)
{
    return ldexp(below(c, LIN_BIAS, n), n % 4 == 3 && c->slot[LIN_BIAS].fmt == LC_F32 ? -16 : 0);
}

FILL(normal, normal_x, linear_normal_w, NULL, NULL, NULL, NULL, 6, 6)
FILL(logu, logu_x, logu_w, logu_ex, logu_ew, NULL, NULL, 6, 6)
FILL(outlier, outlier_x, linear_normal_w, NULL, NULL, NULL, NULL, 0, 6)
FILL(positive, positive_x, positive_w, NULL, NULL, NULL, NULL, 6, 6)
FILL(decaying, normal_x, linear_normal_w, decaying_ex, NULL, NULL, NULL, 6, 6)
FILL(tail, tail_x, tail_w, tail_e, tail_e, NULL, NULL, 0, 0)
FILL(tiny, normal_x, linear_normal_w, tiny_ex, tiny_ew, tiny_acc, tiny_bias, 6, 6)
FILL(huge, normal_x, linear_normal_w, huge_ex, huge_ew, huge_acc, NULL, 6, 6)
FILL(overflow, overflow_x, overflow_w, NULL, NULL, NULL, NULL, 6, 6)
FILL(flush, flush_x, flush_w, NULL, NULL, flush_acc, flush_bias, 0, 0)
FILL(zero_rows, zero_rows_x, linear_normal_w, NULL, NULL, zero_rows_acc, NULL, 6, 6)
FILL(mixed, normal_x, linear_normal_w, mixed_ex, mixed_ew, NULL, NULL, 6, 6)
FILL(scales, normal_x, linear_normal_w, scales_ex, scales_ew, scales_acc, NULL, 0, 0)
