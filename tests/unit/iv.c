/* SPDX-License-Identifier: Apache-2.0 */
/* ref/iv.c: hulls that lose nothing, and the truth table of the verdict. */
#include <criterion/criterion.h>
#include <math.h>
#include <mpfr.h>
#include <stddef.h>

#include "iv.h"

static const double nan_value = (double) NAN, inf = HUGE_VAL;

static uint64_t random_state = 1907;

static uint64_t rnd(void) /* splitmix64 */
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double rnd_double(void) /* 53 bits, 2^-40..2^39 */
{
    const double v = ldexp((double) (rnd() >> 11 | UINT64_C(1) << 52), (int) (rnd() % 80) - 92);
    return rnd() & 1 ? -v : v;
}

static struct iv rnd_iv(void)
{
    const double a = rnd_double(), b = rnd_double(), c = rnd_double();
    const double lo = fmin(a, b), hi = fmax(a, b);
    return (struct iv) { fmax(lo, fmin(hi, c)), fmin(lo, c), fmax(hi, c) }; /* v is the median */
}

static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

static bool is(struct iv x, double v, double lo, double hi)
{
    return same(x.v, v) && same(x.lo, lo) && same(x.hi, hi);
}

/* --- hulls ------------------------------------------------------------------------------------- */

Test(iv, kinds)
{
    cr_assert(is(iv_pt(-0.0), -0.0, -0.0, -0.0));
    cr_assert(iv_is_pt(iv_pt(3)) && iv_is_pt(iv_pt(inf)) && iv_is_pt((struct iv) { 0, -0.0, 0 }));
    cr_assert(!iv_is_pt((struct iv) { 1, 1, nextafter(1, 2) }) && !iv_is_pt(iv_pt(nan_value)));
    cr_assert(iv_is_nan(iv_pt(nan_value)) && !iv_is_nan(iv_pt(inf)));
    cr_assert(iv_is_finite(iv_pt(1)) && !iv_is_finite(iv_pt(nan_value)) && !iv_is_finite(iv_pt(-inf)));
    cr_assert(!iv_is_finite((struct iv) { 1, 0, inf }) && !iv_is_finite((struct iv) { 1, -inf, 2 }));
}

/* sign * (end - (x +- y)) in exact arithmetic: not negative if the end is outside. */
static bool outside(double end, double x, double y, bool product, int sign)
{
    mpfr_t e, r;
    mpfr_inits2(300, e, r, (mpfr_ptr) 0);
    mpfr_set_d(e, x, MPFR_RNDN);
    mpfr_set_d(r, y, MPFR_RNDN);
    const int t = product ? mpfr_mul(r, e, r, MPFR_RNDN) : mpfr_add(r, e, r, MPFR_RNDN);
    const bool ok = t == 0 && sign * -mpfr_cmp_d(r, end) >= 0;
    mpfr_clears(e, r, (mpfr_ptr) 0);
    return ok;
}

Test(iv, no_real_end_is_lost)
{
    for (int i = 0; i < 100000; i++) {
        const struct iv a = rnd_iv(), b = rnd_iv();
        const double s = rnd_double(), r = ldexp(fabs(rnd_double()), -(int) (rnd() % 60));
        const struct iv w = iv_widen(a, r), p = iv_widen(iv_pt(a.v), r), sum = iv_add(a, b), prod = iv_scale(a, s);
        cr_assert(same(w.v, a.v) && outside(w.lo, a.lo, -r, false, -1) && outside(w.hi, a.hi, r, false, 1));
        cr_assert(p.lo < a.v && a.v < p.hi && outside(p.lo, a.v, -r, false, -1) && outside(p.hi, a.v, r, false, 1));
        cr_assert(nextafter(nextafter(w.hi, -inf), -inf) <= a.hi + r, "wider than one double");
        cr_assert(same(sum.v, a.v + b.v) && sum.lo <= sum.v && sum.v <= sum.hi);
        cr_assert(outside(sum.lo, a.lo, b.lo, false, -1) && outside(sum.hi, a.hi, b.hi, false, 1));
        cr_assert(same(prod.v, a.v * s) && prod.lo <= prod.v && prod.v <= prod.hi);
        cr_assert(outside(prod.lo, s < 0 ? a.hi : a.lo, s, true, -1) && outside(prod.hi, s < 0 ? a.lo : a.hi, s, true, 1));
    }
}

Test(iv, not_finite_is_a_class) /* HAD-6 */
{
    const struct iv x = iv_not_finite();
    cr_assert(iv_is_nan(x) && !iv_is_finite(x) && !iv_is_pt(x));
    static const uint32_t bf16[] = { 0x7f80, 0xff80, 0x7fc0, 0xffc1 }, f32[] = { 0x7f800000, 0xff800000, 0x7fc00000, 0xff800001 };
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(judge(LC_BF16, x, bf16[i]), EXACT);
        cr_assert_eq(judge(LC_F32, x, f32[i]), EXACT);
        cr_assert_eq(judge(LC_BF16, iv_pt(nan_value), bf16[i]), i < 2 ? UNEXPLAINED : EXACT, "a NaN stays a NaN");
    }
    cr_assert_eq(judge(LC_BF16, x, 0x7f7f), UNEXPLAINED);
    cr_assert_eq(judge(LC_F32, x, 0), UNEXPLAINED);
    cr_assert(is(iv_widen(x, 1), nan_value, -inf, inf), "no step makes it narrower");
    cr_assert(is(iv_scale(x, 2), nan_value, nan_value, nan_value));
}

Test(iv, widen)
{
    cr_assert(is(iv_widen(iv_pt(-0.0), 0), -0.0, -0.0, -0.0));
    cr_assert(is(iv_widen((struct iv) { 2, 1, 3 }, 0), 2, 1, 3));
    cr_assert(is(iv_widen(iv_pt(1), 0.5), 1, nextafter(0.5, 0), nextafter(1.5, 2)));
    cr_assert(is(iv_widen(iv_pt(1), 1e-300), 1, nextafter(1, 0), nextafter(1, 2)));
    cr_assert(is(iv_widen(iv_pt(0), 0x1p-149), 0, -nextafter(0x1p-149, 1), nextafter(0x1p-149, 1)));
    cr_assert(is(iv_widen(iv_pt(inf), 1), inf, inf, inf) && is(iv_widen(iv_pt(-inf), 1), -inf, -inf, -inf));
    cr_assert(is(iv_widen(iv_pt(inf), inf), inf, inf, inf) && is(iv_widen(iv_pt(-inf), inf), -inf, -inf, -inf));
    cr_assert(is(iv_widen(iv_pt(1), inf), 1, -inf, inf));
    cr_assert(is(iv_widen(iv_pt(0x1.fffffffffffffp1023), 0x1p1000), 0x1.fffffffffffffp1023,
                 nextafter(0x1.fffffffffffffp1023 - 0x1p1000, 0), inf));
    cr_assert(is(iv_widen(iv_pt(nan_value), nan_value), nan_value, nan_value, nan_value));
}

Test(iv, abs_and_max)
{
    cr_assert(is(iv_abs((struct iv) { 2, 1, 3 }), 2, 1, 3) && is(iv_abs((struct iv) { -2, -3, -1 }), 2, 1, 3));
    cr_assert(is(iv_abs((struct iv) { -1, -3, 2 }), 1, 0, 3) && is(iv_abs((struct iv) { -1, -3, 4 }), 1, 0, 4));
    cr_assert(is(iv_abs(iv_pt(-0.0)), 0, 0, 0) && is(iv_abs((struct iv) { 0, -0.0, 0 }), 0, 0, 0));
    cr_assert(is(iv_abs((struct iv) { -1, -inf, -0.0 }), 1, 0, inf) && iv_is_nan(iv_abs(iv_pt(nan_value))));

    cr_assert(is(iv_max((struct iv) { 2, 1, 5 }, (struct iv) { 3, 0, 4 }), 3, 1, 5));
    cr_assert(is(iv_max((struct iv) { 3, 0, 4 }, (struct iv) { 2, 1, 5 }), 3, 1, 5));
    cr_assert(is(iv_max(iv_pt(-0.0), iv_pt(0)), 0, 0, 0) && is(iv_max(iv_pt(0), iv_pt(-0.0)), 0, 0, 0));
    cr_assert(is(iv_max(iv_pt(-0.0), iv_pt(-0.0)), -0.0, -0.0, -0.0) && is(iv_max(iv_pt(inf), iv_pt(1)), inf, inf, inf));
    cr_assert(iv_is_nan(iv_max(iv_pt(nan_value), iv_pt(1))) && iv_is_nan(iv_max(iv_pt(1), iv_pt(nan_value))));
    cr_assert(isnan(iv_max(iv_pt(inf), iv_pt(nan_value)).hi)); /* all three, not the nominal alone */
}

Test(iv, add_and_scale)
{
    cr_assert(is(iv_add((struct iv) { 2, 1, 3 }, (struct iv) { 20, 10, 30 }), 22, 11, 33)); /* exact: not moved */
    cr_assert(is(iv_add(iv_pt(1), iv_pt(0x1p-60)), 1, 1, 1));                               /* two points: a point */
    cr_assert(is(iv_add((struct iv) { 1, 1, 2 }, iv_pt(0x1p-60)), 1, 1, nextafter(2, 3)));
    cr_assert(is(iv_add(iv_pt(-0.0), iv_pt(-0.0)), -0.0, -0.0, -0.0) && is(iv_add(iv_pt(1), iv_pt(-1)), 0, 0, 0));
    cr_assert(is(iv_add((struct iv) { 1, 1, inf }, iv_pt(1)), 2, 2, inf));
    cr_assert(is(iv_add((struct iv) { 1, 0, inf }, (struct iv) { 0, -inf, 1 }), 1, -inf, inf));
    cr_assert(isnan(iv_add((struct iv) { 1, 1, inf }, iv_pt(-inf)).v) && isnan(iv_add(iv_pt(inf), iv_pt(-inf)).lo));
    cr_assert(isnan(iv_add(iv_pt(nan_value), (struct iv) { 1, 0, 2 }).lo));

    cr_assert(is(iv_scale((struct iv) { 2, 1, 3 }, 4), 8, 4, 12) && is(iv_scale((struct iv) { 2, 1, 3 }, -4), -8, -12, -4));
    cr_assert(is(iv_scale((struct iv) { 2, -1, 3 }, 0), 0, -0.0, 0) &&
              is(iv_scale((struct iv) { 2, -1, 3 }, -0.0), -0.0, -0.0, 0));
    cr_assert(is(iv_scale(iv_pt(-0.0), -2), 0, 0, 0) && is(iv_scale(iv_pt(0.1), 0.1), 0.1 * 0.1, 0.1 * 0.1, 0.1 * 0.1));
    cr_assert(isnan(iv_scale((struct iv) { 1, 1, inf }, 0).v) && isnan(iv_scale(iv_pt(nan_value), 2).hi));
}

Test(iv, round)
{
    const struct iv tie = iv_widen(iv_pt(0x1.01p0), 0x1p-20), clear = iv_widen(iv_pt(0x1.004p0), 0x1p-20);
    cr_assert(is(iv_round(LC_BF16, tie), 1, 1, 0x1.02p0)); /* ambiguous: both stay */
    cr_assert(is(iv_round(LC_BF16, clear), 1, 1, 1));      /* collapses */
    cr_assert(iv_is_pt(iv_round(LC_E4M3, (struct iv) { 0, -1e-9, 1e-9 })));
    cr_assert(is(iv_round(LC_E4M3, (struct iv) { 0, -1e-9, 1e-9 }), 0, -0.0, 0));
    cr_assert(is(iv_round(LC_E4M3, (struct iv) { 1000, 440, inf }), 448, 448, 448));
    const struct iv top = { 0x1.fep127, 0x1.fcp127, 0x1.ffp127 };
    cr_assert(is(iv_round(LC_BF16, top), 0x1.fep127, 0x1.fcp127, inf));
    cr_assert(isnan(iv_round(LC_F32, iv_pt(nan_value)).lo));
}

/* --- the verdict ------------------------------------------------------------------------------- */

Test(iv, judge_bf16)
{
    static const struct {
        double v, lo, hi;
        uint32_t got;
        enum verdict want;
    } row[] = {
        /* a point admits one code */
        { 1, 1, 1, 0x3f80, EXACT },
        { 1, 1, 1, 0x3f81, UNEXPLAINED },
        { 1, 1, 1, 0x3f7f, UNEXPLAINED },
        { 1, 1, 1, 0xbf80, UNEXPLAINED },
        { 0x1.01p0, 0x1.01p0, 0x1.01p0, 0x3f80, EXACT }, /* a tie, to even */
        { 0x1.01p0, 0x1.01p0, 0x1.01p0, 0x3f81, UNEXPLAINED },
        /* a hull across that midpoint admits both sides, and nothing beyond */
        { 0x1.01p0, 0x1.00ffp0, 0x1.0101p0, 0x3f80, EXACT },
        { 0x1.01p0, 0x1.00ffp0, 0x1.0101p0, 0x3f81, EXPLAINED },
        { 0x1.0101p0, 0x1.00ffp0, 0x1.0102p0, 0x3f80, EXPLAINED },
        { 0x1.01p0, 0x1.00ffp0, 0x1.0101p0, 0x3f82, UNEXPLAINED },
        { 0x1.01p0, 0x1.00ffp0, 0x1.0101p0, 0x3f7f, UNEXPLAINED },
        { 0x1.01p0, 0x1.00ffp0, 0x1.0101p0, 0xbf80, UNEXPLAINED },
        { -0x1.01p0, -0x1.0101p0, -0x1.00ffp0, 0xbf81, EXPLAINED },
        { -0x1.01p0, -0x1.0101p0, -0x1.00ffp0, 0xbf82, UNEXPLAINED },
        { -0x1.01p0, -0x1.0101p0, -0x1.00ffp0, 0xbf7f, UNEXPLAINED },
        { -0x1.01p0, -0x1.0101p0, -0x1.00ffp0, 0x3f80, UNEXPLAINED },
        /* zeros: two codes; a free sign (FMT-6) is a hull of its own */
        { 0.0, 0.0, 0.0, 0x0000, EXACT },
        { 0.0, 0.0, 0.0, 0x8000, UNEXPLAINED },
        { -0.0, -0.0, -0.0, 0x0000, UNEXPLAINED },
        { -0.0, -0.0, -0.0, 0x8000, EXACT },
        { 0.0, -0.0, 0.0, 0x8000, EXPLAINED },
        { -0.0, -0.0, 0.0, 0x0000, EXPLAINED },
        { 0.0, -0.0, 0.0, 0x8001, UNEXPLAINED },
        { 0.0, -0.0, 0.0, 0x0001, UNEXPLAINED },
        /* Inf is the code after the largest */
        { HUGE_VAL, HUGE_VAL, HUGE_VAL, 0x7f80, EXACT },
        { HUGE_VAL, HUGE_VAL, HUGE_VAL, 0x7f7f, UNEXPLAINED },
        { HUGE_VAL, HUGE_VAL, HUGE_VAL, 0xff80, UNEXPLAINED },
        { 0x1.fep127, 0x1.fep127, 0x1.fep127, 0x7f80, UNEXPLAINED },
        { 0x1.fefp127, 0x1.fep127, 0x1.ffp127, 0x7f80, EXPLAINED },
        { 0x1.ffp127, 0x1.fefp127, 0x1.ffp127, 0x7f7f, EXPLAINED },
        { -HUGE_VAL, -HUGE_VAL, -0x1.fep127, 0xff7f, EXPLAINED },
        /* NaN is a class of its own, settled before everything: whatever the hull */
        { (double) NAN, (double) NAN, (double) NAN, 0x7fc0, EXACT },
        { (double) NAN, (double) NAN, (double) NAN, 0xff81, EXACT },
        { (double) NAN, (double) NAN, (double) NAN, 0x7f80, UNEXPLAINED },
        { (double) NAN, (double) NAN, (double) NAN, 0x0000, UNEXPLAINED },
        { 0.0, -HUGE_VAL, HUGE_VAL, 0x7fc0, UNEXPLAINED },
        { 0.0, -HUGE_VAL, HUGE_VAL, 0xffff, UNEXPLAINED },
        { HUGE_VAL, HUGE_VAL, HUGE_VAL, 0x7f81, UNEXPLAINED },
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        const struct iv w = { row[i].v, row[i].lo, row[i].hi };
        cr_expect_eq(judge(LC_BF16, w, row[i].got), row[i].want, "row %zu: {%a, %a, %a} got 0x%x", i, w.v, w.lo, w.hi,
                     row[i].got);

        /* pick: what is legal replaces the interval by the kernel's own value; what is not leaves it */
        const struct iv p = pick(LC_BF16, w, &row[i].got);
        const double g = fmt_load(LC_BF16, row[i].got);
        cr_expect(row[i].want == UNEXPLAINED ? is(p, w.v, w.lo, w.hi) : is(p, g, g, g), "row %zu: pick", i);
        cr_expect(is(pick(LC_BF16, w, NULL), w.v, w.lo, w.hi), "row %zu: pick of nothing", i);
    }
}

Test(iv, judge_other_formats)
{
    const uint32_t largest = 0x7e, minus_zero = 8;
    cr_assert_eq(judge(LC_F32, iv_pt(1), 0x3f800000), EXACT);
    cr_assert_eq(judge(LC_F32, iv_pt(1), 0x3f800001), UNEXPLAINED);
    cr_assert_eq(judge(LC_F32, iv_widen(iv_pt(1), 0x1p-23), 0x3f800001), EXPLAINED);
    cr_assert_eq(judge(LC_F32, iv_widen(iv_pt(1), 0x1p-23), 0x3f800002), UNEXPLAINED);
    cr_assert_eq(judge(LC_F32, iv_pt(nan_value), 0xffffffff), EXACT);

    cr_assert_eq(judge(LC_E4M3, iv_pt(1e9), largest), EXACT); /* saturated; NaN is no substitute */
    cr_assert_eq(judge(LC_E4M3, iv_pt(1e9), 0x7f), UNEXPLAINED);
    cr_assert_eq(judge(LC_E4M3, iv_pt(inf), 0x7d), UNEXPLAINED);
    cr_assert_eq(judge(LC_E4M3, iv_pt(nan_value), 0xff), EXACT);
    cr_assert_eq(judge(LC_E4M3, iv_pt(nan_value), largest), UNEXPLAINED);
    cr_assert_eq(judge(LC_E4M3, iv_pt(-0x1p-30), 0x80), EXACT); /* underflow keeps the sign */
    cr_assert_eq(judge(LC_E4M3, iv_pt(-0x1p-30), 0), UNEXPLAINED);

    cr_assert_eq(judge(LC_E2M1X2, iv_pt(-0.0), minus_zero), EXACT);
    cr_assert_eq(judge(LC_E2M1X2, iv_pt(-0.0), 0), UNEXPLAINED);
    for (uint32_t c = 0; c < 16; c++) { /* no NaN in E2M1: its code is open, and the kernel's own is taken */
        cr_assert_eq(judge(LC_E2M1X2, iv_pt(nan_value), c), UNSPECIFIED);
        const double g = fmt_load(LC_E2M1X2, c);
        cr_assert(is(pick(LC_E2M1X2, iv_pt(nan_value), &c), g, g, g));
    }

    const struct iv two = { 0x1p-3, 0x1p-4, 0x1p-3 }; /* a scale byte: either of two */
    cr_assert_eq(judge(LC_UE8M0, two, 124), EXACT);
    cr_assert_eq(judge(LC_UE8M0, two, 123), EXPLAINED);
    cr_assert_eq(judge(LC_UE8M0, two, 122), UNEXPLAINED);
    cr_assert_eq(judge(LC_UE8M0, two, 125), UNEXPLAINED);
    cr_assert_eq(judge(LC_UE8M0, two, 255), UNEXPLAINED);
    cr_assert_eq(judge(LC_UE8M0, iv_pt(nan_value), 255), EXACT);
}
