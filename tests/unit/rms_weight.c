/* SPDX-License-Identifier: Apache-2.0 */
/* RMS-10, ref_rms_exp_weight: against MPFR for every BF16 code and for F32 of all sizes; in place; what has no finite weight. */
#include <criterion/criterion.h>
#include <math.h>
#include <mpfr.h>
#include <string.h>

#include "args.h"
#include "wide.h"

static double from_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double) f;
}

/* e^x rounded once to BF16 or F32, subnormals and overflow too */
static double expected(enum lc_dtype f, double x)
{
    const mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
    mpfr_t y, arg;
    mpfr_init2(y, f == LC_F32 ? 24 : 8);
    mpfr_init2(arg, 24);
    mpfr_set_d(arg, x, MPFR_RNDN); /* exact */
    int t = mpfr_exp(y, arg, MPFR_RNDN);
    mpfr_set_emin(f == LC_F32 ? -148 : -132); /* of a significand in [1/2, 1) */
    mpfr_set_emax(128);
    t = mpfr_check_range(y, t, MPFR_RNDN);
    mpfr_subnormalize(y, t, MPFR_RNDN);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    const double v = mpfr_get_d(y, MPFR_RNDN);
    mpfr_clears(y, arg, (mpfr_ptr) 0);
    return v;
}

static void expect(enum lc_dtype f, double x)
{
    const double want = expected(f, x), got = rn_exp(f, x);
    cr_assert(isnan(want) ? isnan(got) : got == want, "exp(%a) in %s: %a, not %a", x, f == LC_F32 ? "f32" : "bf16", got, want);
}

Test(rms_weight, every_bf16_code)
{
    for (uint32_t code = 0; code < 0x10000; code++) {
        expect(LC_BF16, fmt_load(LC_BF16, code));
        expect(LC_F32, fmt_load(LC_BF16, code));
    }
}

Test(rms_weight, f32_of_all_sizes)
{
    uint32_t state = 10;
    for (int i = 0; i < 100000; i++) {
        state = state * 1664525 + 1013904223;
        const uint32_t exponent = i % 3 ? 100 + (state >> 8) % 34 : (state >> 8) % 255; /* two of three from 2^-27 to 2^6 */
        const double x = from_bits((state & 0x80000000) | exponent << 23 | (state >> 5 & 0x7fffff));
        expect(LC_F32, x);
        expect(LC_BF16, x);
    }
}

Test(rms_weight, beside_every_bf16_midpoint) /* where rounding to F32 first would show */
{
    for (uint32_t code = 0; code < 0x7f80; code++) {
        const double x = (double) (float) log(from_bits(code << 16 | 0x8000));
        expect(LC_BF16, x);
        expect(LC_BF16, (double) nextafterf((float) x, -INFINITY));
        expect(LC_BF16, (double) nextafterf((float) x, INFINITY));
    }
}

Test(rms_weight, where_f32_and_bf16_end)
{
    static const float ends[] = { 88.72284F, 88.72172F,  -87.33655F, -103.27893F, -103.97208F, -92.1F,
                                  -92.8F,    127.99999F, 128,        0,           -0.0F };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        for (int side = -2; side <= 2; side++) {
            float x = ends[i];
            for (int n = side; n; n += n < 0 ? 1 : -1)
                x = nextafterf(x, n < 0 ? -INFINITY : INFINITY);
            expect(LC_F32, (double) x);
            expect(LC_BF16, (double) x);
            expect(LC_F32, (double) -x);
        }
}

static struct lc_tensor vector(const char *name, void *data, enum lc_dtype dtype, int64_t d)
{
    return (struct lc_tensor) { name, data, dtype, 1, { d }, { 1 } };
}

Test(rms_weight, dtypes_and_places)
{
    float log[3] = { 0, 1, -2 };
    uint16_t narrow[3];
    const struct lc_tensor w_log = vector("w_log", log, LC_F32, 3), w = vector("w", narrow, LC_BF16, 3);
    cr_assert_eq(ref_rms_exp_weight(&w_log, &w), 3);
    cr_assert(narrow[0] == 0x3f80 && narrow[1] == 0x402e && narrow[2] == 0x3e0b, "%x %x %x", narrow[0], narrow[1], narrow[2]);
    cr_assert_eq(ref_rms_exp_weight(&w_log, &w_log), 3); /* in place */
    cr_assert(log[0] == 1 && log[1] == 0x1.5bf0a8p+1F && log[2] == 0x1.152aaap-3F, "%a %a %a", (double) log[0], (double) log[1],
              (double) log[2]);
}

Test(rms_weight, what_has_no_finite_weight) /* ERR-2 */
{
    static const float bad[] = { NAN, INFINITY, 89, 3e38F };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        float log[4] = { 1, 2, bad[i], NAN };
        float before[4];
        memcpy(before, log, sizeof log);
        const struct lc_tensor w = vector("w", log, LC_F32, 4);
        cr_assert_eq(ref_rms_exp_weight(&w, &w), 2);
        cr_assert(memcmp(before, log, sizeof log) == 0);
    }
    float log = -INFINITY;
    const struct lc_tensor w = vector("w", &log, LC_F32, 1);
    cr_assert_eq(ref_rms_exp_weight(&w, &w), 1);
    cr_assert(log == 0);
}
