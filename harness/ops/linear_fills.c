/* SPDX-License-Identifier: Apache-2.0 */
/* The data of cases of linear. One recipe serves every dtype: values of about 1, times a power of two for each group of 32; codes
 * have the value, their scales the power, and BF16 the product. */
#include <math.h>

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

static const struct linear_args *args_of(const struct call *c)
{
    return &c->args.linear;
}

static bool is_e2m1(const struct call *c)
{
    return c->slot[LIN_WEIGHT].fmt == LC_E2M1X2;
}

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

static void fill_call(struct call *c, const struct recipe *r)
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

/* A column that stands for a row: the first, the last, or any. */
static int64_t picked(const struct call *c, int64_t row)
{
    const int64_t k = args_of(c)->k;
    return row % 4 == 0 ? k - 1 : row % 4 == 1 ? 0 : (int64_t) (draw_bits(c, LIN_OUT, row) % (uint32_t) k);
}

static double sign(uint32_t bits)
{
    return bits & 1 ? -1 : 1;
}

/* ---- sizes ---- */

static double normal_x(const struct call *c, int64_t row, int64_t k, int64_t i)
{
    (void) row, (void) k;
    return draw_normal(c, LIN_X, i);
}

static double normal_w(const struct call *c, int64_t n, int64_t k, int64_t i)
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
    return fabs(normal_w(c, n, k, i)) + 0.5;
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

/* ---- LIN-8 ---- */

/* With scales: x is of 1/32 up to `most` and one 448, the weight of 1 (E2M1: 1/2) up to 15 (6), the groups' powers of two differ
 * by 2^6 in all. So g is 1/32 (1/64), and sum|a||b| + |out_acc| <= 2^6 (448 + K most) * 15 <= 2^24 g. */
static int64_t exact_most(const struct call *c)
{
    const int64_t k = args_of(c)->k, w = is_e2m1(c) ? 12 : 15, budget = (1 << 24) / 64 / w - 8;
    const int64_t c_x = (budget - (k <= 512 ? 448 * 32 : 0)) / (k + 1), c_bf16 = (int64_t) sqrt((1 << 24) / (double) (k + 2));
    if (!args_of(c)->fp8)
        return c_bf16 < 256 ? c_bf16 : 256;
    return c_x < 1 ? 1 : c_x < 15 ? c_x : 15;
}

static double exact_x(const struct call *c, int64_t row, int64_t k, int64_t i)
{
    const struct linear_args *const a = args_of(c);
    const int64_t most = exact_most(c);
    const uint32_t bits = draw_bits(c, LIN_X, i);
    const bool large = k == (row % 2 ? 0 : a->k - 1);                         /* the tail of K, and its beginning */
    const int64_t v = row % 3 == 1 ? most : 1 + (int64_t) (bits >> 8) % most; /* the most that there may be, or any */
    if (a->fp8)
        return sign(bits) * (large && a->k <= 512 ? 448 : (double) v / 32);
    return sign(bits) * (large && a->k <= 64 ? 32768 : (double) v);
}

static double exact_w(const struct call *c, int64_t n, int64_t k, int64_t i)
{
    const struct linear_args *const a = args_of(c);
    const uint32_t bits = draw_bits(c, LIN_WEIGHT, i);
    (void) n, (void) k;
    if (is_e2m1(c))
        return sign(bits) * fmt_load(LC_E2M1X2, 1 + (bits >> 8) % 7);
    return sign(bits) * (double) (1 + (bits >> 8) % (a->fp8 ? 15 : exact_most(c)));
}

static int exact_tx(const struct call *c, int64_t row)
{
    return args_of(c)->fp8 ? (int) (row * 13 % 24) - 12 : (int) (row * 13 % 40) - 20;
}

static int exact_tw(int64_t n)
{
    return (int) (n * 7 % 16) - 8;
}

static int exact_ex(const struct call *c, int64_t row, int64_t g)
{
    return exact_tx(c, row) + (args_of(c)->fp8 ? (int) ((row + 3 * g + g / 4) % 4) : 0);
}

static int exact_ew(const struct call *c, int64_t n, int64_t g)
{
    return exact_tw(n) + (args_of(c)->fp8 ? (int) ((3 * n + g + g / 4) % 4) : 0);
}

static double exact_acc(const struct call *c, int64_t row, int64_t n, int64_t i)
{
    const struct linear_args *const a = args_of(c);
    const uint32_t bits = draw_bits(c, LIN_OUT_ACC, i), most = a->fp8 ? 255 : (uint32_t) (exact_most(c) * exact_most(c));
    return ldexp(sign(bits) * (double) ((bits >> 8) % most), exact_tx(c, row) + exact_tw(n) - (a->fp8 ? is_e2m1(c) ? 6 : 5 : 0));
}

static double one_x(const struct call *c, int64_t row, int64_t k, int64_t i)
{
    (void) c, (void) row, (void) k, (void) i;
    return 1;
}

static int no_e(const struct call *c, int64_t row, int64_t g)
{
    (void) c, (void) row, (void) g;
    return 0;
}

static double one_hot_x(const struct call *c, int64_t row, int64_t k, int64_t i)
{
    (void) i;
    return k == picked(c, row) ? 1 + (double) (row % 8) / 8 : 0;
}

/* The lowest codes of E4M3 beside the largest, which the weight drops: a scale that is not the least spoils them (CAST-4). */
static double subnormal_x(const struct call *c, int64_t row, int64_t k, int64_t i)
{
    const uint32_t bits = draw_bits(c, LIN_X, i);
    (void) row;
    return sign(bits) * (k % GROUP == 0 ? 448 : ldexp((double) (1 + (bits >> 8) % 7), -9));
}

static double subnormal_w(const struct call *c, int64_t n, int64_t k, int64_t i)
{
    const uint32_t bits = draw_bits(c, LIN_WEIGHT, i);
    (void) n;
    return k % GROUP == 0 ? 0 : sign(bits) * (double) (1 + (bits >> 8) % 3);
}

/* Neighbours cancel; in odd rows the last element has none. */
static double cancel_x(const struct call *c, int64_t row, int64_t k, int64_t i)
{
    const int64_t last = args_of(c)->k - 1;
    if (k == last && (row % 2 || last % 2 == 0))
        return row % 2 ? 0.0625 : 0;
    return draw_normal(c, LIN_X, i - (k % 2));
}

static double cancel_w(const struct call *c, int64_t n, int64_t k, int64_t i)
{
    const double w = normal_w(c, n, k, i - (k % 2));
    return k % 2 ? -w : w;
}

static double cancel_acc(const struct call *c, int64_t row, int64_t n, int64_t i)
{
    (void) c, (void) row, (void) i;
    return n % 3 == 0 ? 0 : n % 3 == 1 ? -0.0 : 1.0 / 1024;
}

/* ---- sums at BF16 midpoints: 128 + an odd integer +- 1/2, and in two rows of three a little more or less ---- */

static double ties_x(const struct call *c, int64_t row, int64_t k, int64_t i)
{
    const double terms[4] = { 128, 1, 0.5, ldexp((double) (row % 3 - 1), -6) };
    const int64_t at = 4 * (row * 5 % (args_of(c)->k / 4));
    (void) i;
    return k >= at && k < at + 4 ? terms[k - at] : 0;
}

static double ties_w(const struct call *c, int64_t n, int64_t k, int64_t i)
{
    const uint32_t bits = draw_bits(c, LIN_WEIGHT, i);
    (void) n;
    if (k % 4 == 0)
        return 1;
    return k % 4 == 1 ? 1 + 2 * (double) (bits % (is_e2m1(c) ? 2 : 8)) : sign(bits);
}

static int ties_ex(const struct call *c, int64_t row, int64_t g)
{
    (void) c, (void) g;
    return (int) (row % 5);
}

static double ties_acc(const struct call *c, int64_t row, int64_t n, int64_t i)
{
    (void) c, (void) i;
    return ldexp((double) (2 * (n % 3)), (int) (row % 5));
}

static double ties_bias(const struct call *c, int64_t n)
{
    (void) c;
    return (double) (n % 4) / 2;
}

/* ---- LIN-5: the ends of what is judged; both shifts are 0, so these are the scales' exponents. -127 is byte 0 (FMT-3) ---- */

static int scales_ex(const struct call *c, int64_t row, int64_t g)
{
    static const int exps[] = { -60, -50, 50, 60, 0, -51, 51, -127 };
    (void) c;
    return exps[row % 8] + (g % 2 ? (int) (row % 2) : 0);
}

static int scales_ew(const struct call *c, int64_t n, int64_t g)
{
    static const int exps[] = { -50, -40, 40, 50, 49, -49, -127 };
    (void) c, (void) g;
    return exps[n % 7];
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
    return normal_w(c, n, k, i);
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
    fill_call(c, &specials);
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

/* An Inf beside a product of 2^125 or of 2^128, which is an Inf of the other sign in f32: there the element is not judged. Every third
 * row: no Inf but that. */
static double overflow_x(const struct call *c, int64_t row, int64_t k, int64_t i)
{
    if (k == 0)
        return row % 2 ? ldexp(1, 100) : -ldexp(1, 100);
    if (k == 1 && row % 3 < 2)
        return row % 2 ? -INFINITY : INFINITY;
    return normal_x(c, row, k, i);
}

static double overflow_w(const struct call *c, int64_t n, int64_t k, int64_t i)
{
    return k == 0 ? ldexp(1, n % 2 ? 28 : 25) : k == 1 ? 1 : normal_w(c, n, k, i);
}

#define FILL(name, ...)                                                                                                          \
    void linear_fill_##name(struct call *c)                                                                                      \
    {                                                                                                                            \
        static const struct recipe recipe = { __VA_ARGS__ };                                                                     \
        fill_call(c, &recipe);                                                                                                   \
    }
FILL(normal, normal_x, normal_w, NULL, NULL, NULL, NULL, 6, 6)
FILL(logu, logu_x, logu_w, logu_ex, logu_ew, NULL, NULL, 6, 6)
FILL(outlier, outlier_x, normal_w, NULL, NULL, NULL, NULL, 0, 6)
FILL(positive, positive_x, positive_w, NULL, NULL, NULL, NULL, 6, 6)
FILL(decaying, normal_x, normal_w, decaying_ex, NULL, NULL, NULL, 6, 6)
FILL(tail, tail_x, tail_w, tail_e, tail_e, NULL, NULL, 0, 0)
FILL(tiny, normal_x, normal_w, tiny_ex, tiny_ew, tiny_acc, tiny_bias, 6, 6)
FILL(huge, normal_x, normal_w, huge_ex, huge_ew, huge_acc, NULL, 6, 6)
FILL(overflow, overflow_x, overflow_w, NULL, NULL, NULL, NULL, 6, 6)
FILL(zero_rows, zero_rows_x, normal_w, NULL, NULL, zero_rows_acc, NULL, 6, 6)
FILL(exact, exact_x, exact_w, exact_ex, exact_ew, exact_acc, NULL, 0, 0)
FILL(ones, one_x, one_x, no_e, no_e, NULL, NULL, 0, 0)
FILL(one_hot, one_hot_x, normal_w, NULL, NULL, NULL, NULL, 6, -3)
FILL(cancel, cancel_x, cancel_w, NULL, NULL, cancel_acc, NULL, 6, 6)
FILL(subnormal, subnormal_x, subnormal_w, NULL, NULL, NULL, NULL, 0, 0)
FILL(ties, ties_x, ties_w, ties_ex, no_e, ties_acc, ties_bias, 1, 0)
FILL(mixed, normal_x, normal_w, mixed_ex, mixed_ew, NULL, NULL, 6, 6)
FILL(scales, normal_x, normal_w, scales_ex, scales_ew, scales_acc, NULL, 0, 0)
