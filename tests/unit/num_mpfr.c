/* SPDX-License-Identifier: Apache-2.0 */
/* The f32 operations and the exact accumulator of ref/num.c against MPFR. A loop that fails stops at the
 * first difference and prints it. */
#include <criterion/criterion.h>
#include <math.h>
#include <mpfr.h>

#include "num.h"

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

static double next_f32(double v, float to)
{
    return (double) nextafterf((float) v, to);
}

/* MPFR's exponents are those of a significand in [1/2, 1): the least subnormal 2^-149 has -148. */
enum { F32_BITS = 24, F32_EMIN = -148, BF16_BITS = 8, BF16_EMIN = -132, EMAX = 128 };

/* x, rounded to the precision of f32 or bf16 with ternary value t, brought into its range: subnormals and
 * overflow. */
static double into_range(mpfr_t x, int t, int emin)
{
    const mpfr_exp_t emin0 = mpfr_get_emin(), emax0 = mpfr_get_emax();
    mpfr_set_emin(emin);
    mpfr_set_emax(EMAX);
    t = mpfr_check_range(x, t, MPFR_RNDN);
    mpfr_subnormalize(x, t, MPFR_RNDN);
    mpfr_set_emin(emin0);
    mpfr_set_emax(emax0);
    return mpfr_get_d(x, MPFR_RNDN);
}

static void expect_div(double a, double b)
{
    mpfr_t x, y, q;
    mpfr_inits2(F32_BITS, x, y, q, (mpfr_ptr) 0);
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_set_d(y, b, MPFR_RNDN);
    const int t = mpfr_div(q, x, y, MPFR_RNDN);
    const double want = into_range(q, t, F32_EMIN), got = rn_f32_div(a, b);
    if (!same(got, want))
        cr_assert_fail("fl(%a / %a) is %a, not %a", a, b, want, got);
    mpfr_clears(x, y, q, (mpfr_ptr) 0);
}

Test(num_mpfr, f32_quotients)
{
    for (int i = 0; i < 100000; i++) {
        expect_div(rn_f32(rnd_double(24, -149, 127)), rn_f32(rnd_double(24, -149, 127)));
        const double b = rnd_double(24, -60, 60); /* subnormal results */
        const double a = rn_f32(ldexp(b, -150 + (int) below(26)) * (double) (1 + below(1 << 24)) * 0x1p-24);
        expect_div(a, b);
        /* the numerators next to midpoint * b, for midpoints of every size among the subnormals and beyond */
        const double mid = ldexp((double) (2 * below(UINT64_C(1) << below(25)) + 1), -150);
        const double c = rn_f32(mid * ldexp(b, 20));
        expect_div(c, ldexp(b, 20));
        expect_div(next_f32(c, (float) HUGE_VAL), ldexp(b, 20));
        expect_div(next_f32(c, -(float) HUGE_VAL), ldexp(b, 20));
    }
    for (uint32_t m = 1; m < 1000; m++) { /* exact ties among the subnormals, and the end of the range */
        expect_div(fmt_load(LC_F32, m), 2);
        expect_div(fmt_load(LC_F32, m), -4);
        expect_div(fmt_load(LC_F32, 0x7f7fffff), 1 - m * 0x1p-24);
        expect_div(fmt_load(LC_F32, 0x7f800000 - m), fmt_load(LC_F32, m));
        expect_div(fmt_load(LC_F32, m), fmt_load(LC_F32, 0x7f800000 - m));
    }
    cr_assert(same(rn_f32_div(1, -0.0), -HUGE_VAL) && same(rn_f32_div(-0.0, 3), -0.0) && isnan(rn_f32_div(0, 0)));
}

static void expect_rsqrt(double a)
{
    mpfr_t x;
    mpfr_init2(x, F32_BITS);
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_rec_sqrt(x, x, MPFR_RNDN);
    const double want = mpfr_get_d(x, MPFR_RNDN), got = rn_f32_rsqrt(a);
    if (got != want)
        cr_assert_fail("fl(1/sqrt(%a)) is %a, not %a", a, want, got);
    mpfr_clear(x);
}

Test(num_mpfr, f32_reciprocal_roots) /* RMS-4 */
{
    for (int i = 0; i < 200000; i++)
        expect_rsqrt(fabs(rn_f32(rnd_double(24, -149, 127))));
    for (int e = -149; e < 128; e++) {
        expect_rsqrt(ldexp(1, e));
        if (e > -126)
            expect_rsqrt(next_f32(ldexp(1, e), 0));
        if (e >= -126)
            expect_rsqrt(next_f32(ldexp(1, e), (float) HUGE_VAL));
    }
    for (uint32_t m = 1; m < 5000; m++)
        expect_rsqrt(fmt_load(LC_F32, m));
    cr_assert(same(rn_f32_rsqrt(0), HUGE_VAL) && same(rn_f32_rsqrt(HUGE_VAL), 0) && isnan(rn_f32_rsqrt(-1)));
}

/* A sum twice: in the accumulator and, exactly as well, in 1200 bits. */
struct sum {
    struct acc acc;
    mpfr_t x;
};

static void sum_init(struct sum *s)
{
    acc_clear(&s->acc);
    mpfr_init2(s->x, 1200);
    mpfr_set_zero(s->x, 1);
}

static void sum_add(struct sum *s, double v)
{
    acc_add(&s->acc, v);
    if (mpfr_add_d(s->x, s->x, v, MPFR_RNDN) != 0)
        cr_assert_fail("the comparison itself is not exact");
}

static void expect_sum(struct sum *s, int64_t n)
{
    mpfr_t x;
    mpfr_init2(x, F32_BITS);
    const int t = mpfr_div_si(x, s->x, n, MPFR_RNDN);
    double want = into_range(x, t, F32_EMIN), got = acc_mean_f32(&s->acc, n);
    if (!same(got, want))
        cr_assert_fail("sum / %lld is %a, not %a", (long long) n, want, got);
    if (n == 1 && !same(acc_round(&s->acc, LC_F32), want))
        cr_assert_fail("f32 sum is %a, not %a", want, got);

    mpfr_set_prec(x, BF16_BITS);
    const int u = mpfr_set(x, s->x, MPFR_RNDN);
    want = into_range(x, u, BF16_EMIN), got = acc_round(&s->acc, LC_BF16);
    if (!same(got, want))
        cr_assert_fail("bf16 sum is %a, not %a", want, got);

    want = mpfr_get_d(s->x, MPFR_RNDN), got = acc_double(&s->acc);
    if (!same(got, want))
        cr_assert_fail("double sum is %a, not %a", want, got);
    mpfr_clear(x);
}

static void sum_done(struct sum *s)
{
    mpfr_clear(s->x);
}

Test(num_mpfr, sums_of_random_terms)
{
    for (int i = 0; i < 20000; i++) {
        struct sum s;
        sum_init(&s);
        const int lo = -266 + (int) below(300), hi = lo + (int) below((uint64_t) (257 - lo));
        double last = 0;
        for (int k = (int) below(40); k >= 0; k--) {
            const bool cancel = below(3) == 0; /* the last term away again, nearly */
            last = cancel ? -nextafter(last, rnd() & 1 ? HUGE_VAL : last) : rnd_double(1 + (int) below(53), lo, hi);
            if (last != 0 && fabs(last) < 0x1p-340)
                last = 0;
            sum_add(&s, last);
        }
        expect_sum(&s, 1);
        expect_sum(&s, 1 + (int64_t) below(UINT32_MAX));
        sum_done(&s);
    }
}

Test(num_mpfr, a_far_smaller_term_breaks_every_tie)
{
    for (int i = 0; i < 20000; i++) { /* a midpoint of double, f32 or bf16, in two terms, +- one bit below */
        struct sum s;
        sum_init(&s);
        const int bits = i % 3 == 0 ? 54 : i % 3 == 1 ? 25 : 9;
        const uint64_t m = UINT64_C(1) << (bits - 1) | rnd() >> (65 - bits) | 1;
        const int e = -280 + (int) below(500);
        const double sign = rnd() & 1 ? -1 : 1, big = rnd_double(53, 200, 256);
        sum_add(&s, big);
        sum_add(&s, sign * ldexp((double) (m >> 1 << 1), e));
        sum_add(&s, sign * ldexp(1, e));
        if (below(3) != 0)
            sum_add(&s, (rnd() & 1 ? -1 : 1) * ldexp(1, e - 1 - (int) below((uint64_t) (e + 399))));
        sum_add(&s, -big);
        expect_sum(&s, 1);
        sum_done(&s);
    }
}

Test(num_mpfr, means_at_ties_and_beside_them) /* RMS-3: n = 1..20000, normal and subnormal quotients */
{
    for (int64_t n = 1; n <= 20000; n++)
        for (int k = 0; k < 4; k++) {
            struct sum s;
            sum_init(&s);
            const double mid = (double) (UINT64_C(1) << 24 | rnd() >> 40 | 1); /* 25 bits, odd */
            const double t = (double) below(1 << 24);
            const double scale = ldexp(1, rnd() & 1 ? -174 : -100 + (int) below(200));
            sum_add(&s, (mid * (double) n - t) * scale);
            sum_add(&s, t * scale);
            if (k > 0)
                sum_add(&s, k == 1 ? 0x1p-400 : (k == 2 ? 1 : -1) * ldexp(scale, -(int) below(200)));
            expect_sum(&s, n);
            sum_done(&s);
        }
}

Test(num_mpfr, carries_survive_to_the_last) /* every limb at the most 2^30 terms can make it, both signs */
{
    for (int i = 0; i < 2000; i++) {
        struct sum s;
        sum_init(&s);
        const int signs = i % 4; /* 0, 1: all of one sign */
        for (int k = 0; k < 24; k++) {
            const int64_t most = (INT64_C(1) << 30) * 0xffffffff;
            const int64_t v = i < 4 ? most : (int64_t) below((uint64_t) most);
            s.acc.limb[k] = signs == 0 || (signs == 2 && k % 2 == 0) || (signs == 3 && rnd() & 1) ? v : -v;
            mpfr_t x;
            mpfr_init2(x, 64);
            mpfr_set_si(x, (long) s.acc.limb[k], MPFR_RNDN);
            mpfr_mul_2si(x, x, 32 * k - 400, MPFR_RNDN);
            cr_assert_eq(mpfr_add(s.x, s.x, x, MPFR_RNDN), 0);
            mpfr_clear(x);
        }
        expect_sum(&s, 1);
        expect_sum(&s, 1 + (int64_t) below(20000));
        sum_done(&s);
    }
}

Test(num_mpfr, many_terms)
{
    struct sum s;
    sum_init(&s);
    for (int i = 0; i < 300000; i++) { /* all mantissa bits set: the most that a term puts on its limbs */
        sum_add(&s, ldexp(0x1.fffffffffffffp0, -100 + i % 200));
        if (i % 3 == 0)
            sum_add(&s, -0x1.fffffffffffffp99);
    }
    expect_sum(&s, 1);
    expect_sum(&s, 400000);
    sum_done(&s);
}

Test(num_mpfr, empty_and_smallest_sums)
{
    struct acc a;
    acc_clear(&a);
    cr_assert(same(acc_double(&a), 0) && same(acc_round(&a, LC_BF16), 0) && same(acc_mean_f32(&a, 7), 0));
    acc_add(&a, -0.0);
    acc_add(&a, 0x1p-400);
    cr_assert(same(acc_double(&a), 0x1p-400) && same(acc_round(&a, LC_F32), 0));
    acc_add(&a, -0x1p-399);
    cr_assert(same(acc_double(&a), -0x1p-400));
    cr_assert(same(acc_round(&a, LC_F32), -0.0) && same(acc_mean_f32(&a, 3), -0.0)); /* v's sign is kept */
    acc_add(&a, 0x1p-400);
    cr_assert(same(acc_double(&a), 0));
    acc_add(&a, 0x1p399);
    cr_assert(same(acc_double(&a), 0x1p399) && same(acc_round(&a, LC_F32), HUGE_VAL));
}
