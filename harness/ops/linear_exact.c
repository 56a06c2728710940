/* SPDX-License-Identifier: Apache-2.0 */
/* Data of linear whose sums are exact in every order (LIN-8), or lie where a rounding decides. */
#include <math.h>

#include "linear_fills.h"

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
    const double w = linear_normal_w(c, n, k, i - (k % 2));
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

FILL(exact, exact_x, exact_w, exact_ex, exact_ew, exact_acc, NULL, 0, 0)
FILL(ones, one_x, one_x, no_e, no_e, NULL, NULL, 0, 0)
FILL(one_hot, one_hot_x, linear_normal_w, NULL, NULL, NULL, NULL, 6, -3)
FILL(cancel, cancel_x, cancel_w, NULL, NULL, cancel_acc, NULL, 6, 6)
FILL(subnormal, subnormal_x, subnormal_w, NULL, NULL, NULL, NULL, 0, 0)
FILL(ties, ties_x, ties_w, ties_ex, no_e, ties_acc, ties_bias, 1, 0)
