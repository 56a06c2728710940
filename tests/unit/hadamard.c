/* SPDX-License-Identifier: Apache-2.0 */
/* ref/hadamard.c against HAD-1, HAD-2, HAD-5, HAD-6 as they stand, and the argument behind HAD-3's k over all of a small format. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"

enum { MOST_N = 32768 };

static float x[MOST_N], out[MOST_N];
static struct iv y[MOST_N], at[MOST_N];
static uint8_t open[MOST_N];

static uint64_t random_state = 1867;

static uint64_t rnd(void) /* splitmix64 */
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* What the reference wants of H x, in y. */
static void want(int64_t n, double scale, uint32_t claims)
{
    const struct lc_tensor t[2] = { { "x", x, LC_F32, 1, { n }, { 1 } }, { "out", out, LC_F32, 1, { n }, { 1 } } };
    const struct lc_scalar s = { "scale", 0, scale };
    char msg[256] = "";
    const struct lc_call call = { .size = sizeof call,
                                  .device = -1,
                                  .tensors = t,
                                  .scalars = &s,
                                  .n_tensors = 2,
                                  .n_scalars = 1,
                                  .msg = msg,
                                  .msg_size = sizeof msg };
    static const struct ref_got nobody;
    struct ref_want w = { .y = y, .claims = claims };
    union op_args args;
    cr_assert_eq(ref_hadamard_check(&call, &args), LC_OK, "%s", msg);
    w.at[HAD_OUT] = at;
    w.free[HAD_OUT] = open;
    w.work = malloc(ref_hadamard_work(&args));
    cr_assert(w.work);
    ref_hadamard_row(&args, 0, &nobody, &w);
    free(w.work);
    cr_assert_eq(memcmp(at, y, (size_t) n * sizeof *y), 0);
}

static int sign(int64_t i, int64_t j) /* HAD-1 */
{
    int ones = 0;
    for (int bit = 0; bit < 15; bit++)
        ones += (int) (i >> bit & j >> bit & 1);
    return ones % 2 ? -1 : 1;
}

Test(hadamard, columns_are_those_of_the_definition)
{
    for (int64_t n = 2; n <= 512; n *= 2)
        for (int64_t j = 0; j < n; j++) {
            memset(x, 0, sizeof x);
            x[j] = 1;
            want(n, 1, 0);
            for (int64_t i = 0; i < n; i++)
                cr_assert(y[i].v == sign(i, j) && iv_is_pt(y[i]), "H[%d][%d], n = %d", (int) i, (int) j, (int) n);
        }
}

/* HAD-2: H H^T = n I on integers. H is symmetric: twice is n times; and every pair of rows is orthogonal. */
Test(hadamard, twice_is_n_times)
{
    static double before[MOST_N];
    for (int64_t n = 2; n <= MOST_N; n *= 2) {
        for (int64_t i = 0; i < n; i++)
            before[i] = x[i] = (float) ((int64_t) (rnd() % 9) - 4);
        want(n, 1, 0);
        for (int64_t i = 0; i < n; i++) {
            cr_assert(fabs(y[i].v) <= 16777216 && iv_is_pt(y[i]));
            x[i] = (float) y[i].v;
        }
        want(n, 1, 0);
        for (int64_t i = 0; i < n; i++)
            cr_assert_eq(y[i].v, (double) n * before[i], "n = %d, i = %d", (int) n, (int) i);
    }
    for (int64_t n = 2; n <= 64; n *= 2)
        for (int64_t a = 0; a < n; a++) {
            for (int64_t j = 0; j < n; j++)
                x[j] = (float) sign(a, j);
            want(n, 1, 0);
            for (int64_t b = 0; b < n; b++)
                cr_assert_eq(y[b].v, a == b ? (double) n : 0, "rows %d and %d", (int) a, (int) b);
        }
}

/* HAD-5 at its last multiple of g, and one beyond. The rounding of the product is what is left. */
Test(hadamard, exact_up_to_2_24_g)
{
    for (int t = -149; t <= 80; t += 229)
        for (int past = 0; past < 2; past++) {
            memset(x, 0, sizeof x);
            x[0] = ldexpf(8388608.0f, t);
            x[3] = ldexpf(8388607.0f, t);
            x[6] = ldexpf(past ? 2.0f : 1.0f, t); /* sum|x| = 2^24 g, or (2^24 + 1) g */
            want(8, 1, 0);
            for (int i = 0; i < 8; i++)
                cr_assert_eq(iv_is_pt(y[i]), !past, "t = %d, sum %s 2^24 g", t, past ? "past" : "at");
        }
    x[0] = 3, x[1] = 5;
    want(2, (double) 0.1f, 0); /* 8 * 0.1f is exact, -2 * 0.1f too; 0.3f is not */
    cr_assert(iv_is_pt(y[0]) && iv_is_pt(y[1]));
    x[0] = 1, x[1] = 2;
    want(2, (double) 0.1f, 0);
    cr_assert(y[0].v == 3 * (double) 0.1f && y[0].lo <= y[0].v && y[0].v <= y[0].hi && !iv_is_pt(y[0]));
    cr_assert(y[0].lo == rn_f32(y[0].v) || y[0].hi == rn_f32(y[0].v));
}

Test(hadamard, radius_is_k_of_the_kernel)
{
    for (int64_t n = 2; n <= MOST_N; n *= 2) {
        const double log2_n = log2((double) n), f = (double) (n <= 1024 ? n : 1024),
                     rest = n <= 1024 ? 0 : (double) n / 1024 + 16;
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
            x[i] = ldexpf((float) (rnd() >> 40 | 0x800001), -24);
            sum += (double) x[i]; /* 24 bits and 15 more: exact */
        }
        for (int dense = 0; dense < 2; dense++) {
            const double k = dense ? f + 16 + rest : log2_n + 2, radius = k * 0.75 * sum * ldexp(1, -24) + ldexp(1, -150);
            want(n, -0.75, dense ? LC_DENSE_HADAMARD : LC_BATCH_INVARIANT);
            for (int64_t i = 0; i < n; i++) {
                cr_assert_leq(fabs(y[i].hi - y[i].v - radius), ldexp(sum, -51));
                cr_assert_leq(fabs(y[i].v - y[i].lo - radius), ldexp(sum, -51));
            }
            cr_assert_eq(y[0].v, -0.75 * sum);
        }
    }
}

Test(hadamard, not_finite_and_too_large)
{
    for (int kind = 0; kind < 4; kind++) {
        memset(x, 0, sizeof x);
        x[5] = kind == 0 ? NAN : kind == 1 ? INFINITY : kind == 2 ? -INFINITY : ldexpf(1, 127);
        want(16, 1, 0);
        for (int i = 0; i < 16; i++)
            cr_assert(kind == 3 ? open[i] == 1 : iv_is_nan(y[i]) && isinf(y[i].hi) && !open[i]);
    }
    x[5] = nextafterf(ldexpf(1, 127), 0);
    want(16, 1, 0);
    cr_assert(!open[0] && y[0].v == (double) x[5]);
}

/* ---- HAD-3: |y - v| <= ((1 + u)^(log2 n + 1) - 1) |scale| sum|x|, over every x of a format of 4 bits, u = 2^-4, n = 4 ---- */

static double rn4(double v) /* no exponent range: nothing under- or overflows */
{
    int exp;
    const double sig = frexp(v, &exp);
    return ldexp(nearbyint(ldexp(sig, 4)), exp - 4);
}

Test(hadamard, no_data_passes_the_bound_of_a_small_format, .timeout = 120)
{
    enum { VALUES = 41 }; /* 0, and +-8..15 times 1, 2, 4, with one sign each for two of them: 4-bit significands */
    const double u = ldexp(1, -4), scale = 13, limit = pow(1 + u, 3) - 1;
    double value[VALUES], worst = 0;
    int n = 0;
    value[n++] = 0;
    for (int e = 0; e < 3; e++)
        for (int s = 8; s < 16; s++)
            value[n++] = ldexp(s, e);
    for (int s = 8; s < 16; s++)
        value[n++] = -s, value[n++] = -4 * s;
    cr_assert_eq(n, VALUES);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++)
            for (int c = 0; c < n; c++)
                for (int d = 0; d < n; d++) {
                    const double v[4] = { value[a], value[b], value[c], value[d] };
                    const double s = fabs(v[0]) + fabs(v[1]) + fabs(v[2]) + fabs(v[3]);
                    const double p = rn4(v[0] + v[1]), m = rn4(v[0] - v[1]), q = rn4(v[2] + v[3]), r = rn4(v[2] - v[3]);
                    const double got[4] = { rn4(p + q), rn4(m + r), rn4(p - q), rn4(m - r) };
                    for (int i = 0; i < 4 && s > 0; i++) {
                        const double exact = v[0] + sign(i, 1) * v[1] + sign(i, 2) * v[2] + sign(i, 3) * v[3];
                        const double error = fabs(rn4(scale * got[i]) - scale * exact) / (scale * s);
                        worst = error > worst ? error : worst;
                    }
                }
    cr_assert_leq(worst, limit);
    cr_assert_gt(worst, 1.5 * u, "the data do not come near the bound: worst %g u of %g u", worst / u, limit / u);
    cr_assert_lt(limit, (2 + 2) * u, "k = log2 n + 2 has room for the second order even here");
}
