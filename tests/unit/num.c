/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of ref/num.c against ladders of values, made by equal steps and searched by comparison: a
 * method that shares nothing with it. A loop that fails stops at the first difference and prints it.
 * num_mpfr.c has the rest. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "num.h"

/* --- tools ------------------------------------------------------------------------------------- */

static uint64_t random_state = 20240229;

static uint64_t rnd(void) /* splitmix64 */
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t below(uint64_t n)
{
    return rnd() % n;
}

/* bits random bits at a random place of 2^lo..2^hi, either sign */
static double rnd_double(int bits, int lo, int hi)
{
    const uint64_t m = UINT64_C(1) << (bits - 1) | rnd() >> 1 >> (64 - bits);
    const double v = ldexp((double) m, lo + (int) below((uint64_t) (hi - lo + 1)) - bits + 1);
    return rnd() & 1 ? -v : v;
}

static bool same(double a, double b) /* the sign of zero counts, NaN equals NaN */
{
    return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

/* FMT-1, 2, 4 as a ladder: rung i is the value of code i without its sign. From 0 by equal steps; after two
 * octaves' worth of rungs, then after each octave's, the step doubles. The rung after the largest is there
 * too: what RN would go to. */
struct ladder {
    enum lc_dtype f;
    double step;
    int octave, largest;
    uint32_t sign;
    double rung[0x7f82];
};
static struct ladder bf16 = { LC_BF16, 0x1p-133, 128, 0x7f80, 0x8000, { 0 } }; /* Inf is rung 0x7f80, at 2^128 */
static struct ladder e4m3 = { LC_E4M3, 0x1p-9, 8, 0x7e, 0x80, { 0 } };
static struct ladder e2m1 = { LC_E2M1X2, 0.5, 2, 7, 8, { 0 } };
static struct ladder *const ladders[] = { &bf16, &e4m3, &e2m1 };

static void build(struct ladder *l)
{
    double step = l->step;
    for (int i = 0; i <= l->largest; i++) {
        if (i >= 2 * l->octave && i % l->octave == 0)
            step *= 2;
        l->rung[i + 1] = l->rung[i] + step;
    }
}

/* The nearer rung, the even one of two equally near. Midpoints are doubles; v is compared with the real
 * midpoint. */
static uint32_t nearest(const struct ladder *l, double v)
{
    const double a = fabs(v);
    int lo = 0, hi = l->largest;
    if (a >= l->rung[hi])
        return (signbit(v) ? l->sign : 0) | (uint32_t) hi;
    while (hi - lo > 1) {
        const int mid = (lo + hi) / 2;
        if (l->rung[mid] <= a)
            lo = mid;
        else
            hi = mid;
    }
    const double half = l->rung[lo] + (l->rung[hi] - l->rung[lo]) / 2;
    const int i = a < half ? lo : a > half ? hi : lo % 2 == 0 ? lo : hi;
    return (signbit(v) ? l->sign : 0) | (uint32_t) i;
}

static void expect_nearest(const struct ladder *l, double v)
{
    for (int s = 0; s < 2; s++, v = -v) {
        const uint32_t got = fmt_code(l->f, v), want = nearest(l, v);
        if (got != want)
            cr_assert_fail("%s(%a) is 0x%x, not 0x%x", fmt_name(l->f), v, want, got);
    }
}

static double next_f32(double v, float to)
{
    return (double) nextafterf((float) v, to);
}

/* --- codes ------------------------------------------------------------------------------------- */

Test(num, names)
{
    static const char *const name[] = { "f32", "bf16", "e4m3", "e2m1", "ue8m0", "i32", "i64" };
    static const int bytes[] = { 4, 2, 1, 1, 1, 4, 8 };
    enum lc_dtype f = LC_F32;
    for (int i = 0; i < 7; i++) {
        cr_assert(fmt_parse(name[i], &f) && f == (enum lc_dtype)(LC_F32 + i), "%s", name[i]);
        cr_assert_str_eq(fmt_name(f), name[i]);
        cr_assert_eq(fmt_bytes(f), bytes[i]);
    }
    cr_assert(!fmt_parse("f16", &f) && !fmt_parse("", &f) && f == LC_I64);
}

Test(num, every_code_loads_as_its_rung_and_comes_back) /* FMT-1, FMT-2, FMT-4 */
{
    static const uint32_t codes[] = { 0x10000, 0x100, 0x10 };
    for (int k = 0; k < 3; k++) {
        const struct ladder *const l = ladders[k];
        build(ladders[k]);
        uint32_t nans = 0;
        for (uint32_t c = 0; c < codes[k]; c++) {
            const double v = fmt_load(l->f, c);
            const int mag = (int) (c & (l->sign - 1));
            const bool inf = l->f == LC_BF16 && mag == 0x7f80;
            if (mag > l->largest) {
                nans++;
                if (!isnan(v) || !fmt_is_nan(l->f, c))
                    cr_assert_fail("%s 0x%x is no NaN", fmt_name(l->f), c);
                continue;
            }
            const double want = inf ? HUGE_VAL : l->rung[mag];
            if (fmt_is_nan(l->f, c) || !same(v, c & l->sign ? -want : want))
                cr_assert_fail("%s 0x%x loads as %a", fmt_name(l->f), c, v);
            if (fmt_code(l->f, v) != c || !same(rn(l->f, v), v))
                cr_assert_fail("%s 0x%x comes back as 0x%x", fmt_name(l->f), c, fmt_code(l->f, v));
        }
        cr_assert_eq(nans, k == 0 ? 254u : k == 1 ? 2u : 0u);
    }
    cr_assert_eq(e4m3.rung[0x7e], 448);
    cr_assert_eq(e2m1.rung[7], 6);
    cr_assert_eq(bf16.rung[0x7f80], 0x1p128);
}

Test(num, ue8m0) /* FMT-3 */
{
    double v = 0x1p-127;
    for (uint32_t c = 0; c < 255; c++, v *= 2) {
        cr_assert(same(fmt_load(LC_UE8M0, c), v) && fmt_code(LC_UE8M0, v) == c, "byte %u", c);
        cr_assert(!fmt_is_nan(LC_UE8M0, c) && fmt_order(LC_UE8M0, c) == c);
    }
    cr_assert(isnan(fmt_load(LC_UE8M0, 255)) && fmt_is_nan(LC_UE8M0, 255));
    cr_assert_eq(fmt_code(LC_UE8M0, (double) NAN), 255u);
}

Test(num, f32_codes) /* FMT-5 */
{
    static const struct {
        double v;
        uint32_t code;
    } want[] = {
        { 0, 0 },
        { 0x1p-149, 1 },
        { 0x1p-150, 0 },
        { 0x1.8p-149, 2 },
        { 0x1.000001p-150, 1 },
        { 1, 0x3f800000 },
        { 0x1.000001p0, 0x3f800000 },
        { 0x1.0000010000001p0, 0x3f800001 },
        { 0x1.000003p0, 0x3f800002 },
        { 0x1p-126, 0x800000 },
        { 0x1.fffffep127, 0x7f7fffff },
        { 0x1.fffffefffffffp127, 0x7f7fffff },
        { 0x1.ffffffp127, 0x7f800000 },
        { HUGE_VAL, 0x7f800000 },
    };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        cr_assert_eq(fmt_code(LC_F32, want[i].v), want[i].code, "%a", want[i].v);
        cr_assert_eq(fmt_code(LC_F32, -want[i].v), want[i].code | 0x80000000u, "-%a", want[i].v);
    }
    for (int i = 0; i < 1000000; i++) {
        const uint32_t c = (uint32_t) rnd();
        const double v = fmt_load(LC_F32, c);
        const bool nan = (c >> 23 & 0xff) == 0xff && (c & 0x7fffff) != 0;
        if (nan != isnan(v) || nan != fmt_is_nan(LC_F32, c))
            cr_assert_fail("0x%x is NaN or not", c);
        if (!nan && (fmt_code(LC_F32, v) != c || !same(rn_f32(v), v)))
            cr_assert_fail("0x%x comes back otherwise", c);
    }
    cr_assert_eq(fmt_code(LC_F32, (double) NAN), 0x7fc00000u);
}

/* --- rounding ---------------------------------------------------------------------------------- */

Test(num, every_midpoint_and_its_neighbours) /* ONE step: a double next to a midpoint is not on it */
{
    for (int k = 0; k < 3; k++) {
        const struct ladder *const l = ladders[k];
        build(ladders[k]);
        for (int i = 0; i <= l->largest; i++) { /* and the midpoint above: 464 for E4M3, 7 for E2M1 */
            const double at[] = { l->rung[i], l->rung[i] + (l->rung[i + 1] - l->rung[i]) / 2 };
            for (int j = 0; j < 2; j++) {
                expect_nearest(l, at[j]);
                expect_nearest(l, nextafter(at[j], HUGE_VAL));
                expect_nearest(l, nextafter(at[j], -HUGE_VAL));
                expect_nearest(l, next_f32(at[j], (float) HUGE_VAL));
                expect_nearest(l, next_f32(at[j], -(float) HUGE_VAL));
            }
        }
    }
}

Test(num, random_doubles_round_to_the_nearest)
{
    for (int k = 0; k < 3; k++) {
        build(ladders[k]);
        for (int i = 0; i < 300000; i++) {
            uint64_t bits = rnd();
            double v;
            memcpy(&v, &bits, sizeof v); /* any double */
            if (!isnan(v))
                expect_nearest(ladders[k], v);
            expect_nearest(ladders[k], rnd_double(1 + (int) below(53), -140, 140));
            expect_nearest(ladders[k], rnd_double(1 + (int) below(12), -12, 10));
        }
    }
}

Test(num, ends_of_the_formats)
{
    static const struct {
        double v;
        uint32_t bf16, e4m3, e2m1;
    } want[] = {
        { 0.0, 0, 0, 0 },
        { 4.9e-324, 0, 0, 0 },
        { 0x1p-1022, 0, 0, 0 },
        { 0x1p-134, 0, 0, 0 },
        { 0x1.0000000000001p-134, 1, 0, 0 },
        { 0x1p-10, 0x3a80, 0, 0 },
        { 0x1.0000000000001p-10, 0x3a80, 1, 0 },
        { 0.25, 0x3e80, 0x28, 0 },
        { 0x1.0000000000001p-2, 0x3e80, 0x28, 1 },
        { 5, 0x40a0, 0x4a, 6 }, /* E2M1: halfway between 4 and 6 */
        { 7, 0x40e0, 0x4e, 7 },
        { 448, 0x43e0, 0x7e, 7 },
        { 0x1.cffffffffffffp8, 0x43e8, 0x7e, 7 },
        { 464, 0x43e8, 0x7e, 7 },
        { 0x1.d000000000001p8, 0x43e8, 0x7e, 7 },
        { 480, 0x43f0, 0x7e, 7 },
        { 0x1.fep127, 0x7f7f, 0x7e, 7 },
        { 0x1.fefffffffffffp127, 0x7f7f, 0x7e, 7 },
        { 0x1.ffp127, 0x7f80, 0x7e, 7 },
        { 0x1p1023, 0x7f80, 0x7e, 7 },
        { HUGE_VAL, 0x7f80, 0x7e, 7 },
    };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++)
        for (uint32_t s = 0; s < 2; s++) {
            const double v = s ? -want[i].v : want[i].v;
            cr_assert_eq(fmt_code(LC_BF16, v), want[i].bf16 | s << 15, "%a", v);
            cr_assert_eq(fmt_code(LC_E4M3, v), want[i].e4m3 | s << 7, "%a", v);
            cr_assert_eq(fmt_code(LC_E2M1X2, v), want[i].e2m1 | s << 3, "%a", v);
            cr_assert(same(rn_bf16(v), fmt_load(LC_BF16, want[i].bf16 | s << 15)), "%a", v);
        }
    cr_assert_eq(fmt_code(LC_BF16, (double) NAN), 0x7fc0u);
    cr_assert_eq(fmt_code(LC_E4M3, (double) NAN), 0x7fu);
    cr_assert_eq(fmt_code(LC_E2M1X2, -(double) NAN), 0u);
    cr_assert(isnan(rn_bf16((double) NAN)) && isnan(rn_f32((double) NAN)) && isnan(rn(LC_E4M3, -(double) NAN)));
}

Test(num, order_follows_value)
{
    for (int k = 0; k < 3; k++) {
        const struct ladder *const l = ladders[k];
        cr_assert_eq(fmt_order(l->f, 0), 0);
        for (uint32_t m = 0; m <= (uint32_t) l->largest; m++) {
            const int64_t pos = fmt_order(l->f, m), neg = fmt_order(l->f, m | l->sign);
            if (pos != (int64_t) m || neg != -1 - (int64_t) m)
                cr_assert_fail("%s 0x%x is out of order", fmt_name(l->f), m);
            if (m > 0 && !(fmt_load(l->f, m) > fmt_load(l->f, m - 1)))
                cr_assert_fail("%s 0x%x falls", fmt_name(l->f), m);
        }
    }
    static const uint32_t f32[] = { 0xff800000, 0xff7fffff, 0xbf800000, 0x80000001, 0x80000000,
                                    0,          1,          0x3f800000, 0x7f7fffff, 0x7f800000 };
    for (int i = 0; i + 1 < 10; i++)
        cr_assert_lt(fmt_order(LC_F32, f32[i]), fmt_order(LC_F32, f32[i + 1]));
    cr_assert_eq(fmt_order(LC_F32, 0x80000000u), -1);
    cr_assert_eq(fmt_order(LC_F32, 0x7f800000) - fmt_order(LC_F32, 0xff800000), 0xff000001);
}

Test(num, ceil_log2_is_exact) /* CAST-4 */
{
    static const uint32_t edge[] = { 0, 1, 2, 3, 0x3fffff, 0x400000, 0x400001, 0x600000, 0x7ffffe, 0x7fffff };
    for (uint32_t e = 0; e < 255; e++)
        for (int i = 0; i < 10; i++) {
            const double v = fmt_load(LC_F32, e << 23 | edge[i]);
            if (v == 0)
                continue;
            const int c = ceil_log2(v);
            cr_assert(ldexp(1, c - 1) < v && v <= ldexp(1, c), "ceil_log2(%a) = %d", v, c);
        }
    for (int e = -1022; e < 1023; e++) {
        cr_assert_eq(ceil_log2(ldexp(1, e)), e);
        cr_assert_eq(ceil_log2(nextafter(ldexp(1, e), HUGE_VAL)), e + 1);
    }
}
