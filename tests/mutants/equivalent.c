/* SPDX-License-Identifier: Apache-2.0 */
/* Every EQUIVALENT row of table.h is tried, over its whole domain where no comment says otherwise: the mutation
 * changes no judged bit. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

#include "plain.h"

static uint32_t bits_of(float v)
{
    const union {
        float f;
        uint32_t b;
    } u = { v };
    return u.b;
}

static float float_of(uint32_t b)
{
    const union {
        uint32_t b;
        float f;
    } u = { b };
    return u.f;
}

#define FLOOR 0x38d1b717u  /* fl(1e-4), CAST-2 */
#define FINITE 0x7f7fffffu /* the largest f32 */

/* CAST-4's byte but for its offset; here so that the loop over all f32 takes seconds. */
static int32_t ceil_exp(float sf)
{
    const uint32_t b = bits_of(sf);
    return (int32_t) (b + 0x7fffff) >> 23; /* sf > 0: one up unless the mantissa is zero */
}

/* All 1.19e9 amax at or above the floor; below it all are clamped to it. Returns how many differ. */
static long cast_sf_times_rounded_with_round_sf(void)
{
    const float inverse = 1 / 448.0f;
    long wrong = ceil_exp(1.5f) - 127 != plain_ceil_exp(1.5f, MUT_none) || ceil_exp(2) - 127 != plain_ceil_exp(2, MUT_none);
    for (uint32_t b = FLOOR; b <= FINITE; b++)
        wrong += ceil_exp(float_of(b) / 448.0f) != ceil_exp(float_of(b) * inverse);
    return wrong;
}

static float bf16_amax(uint32_t code)
{
    const float a = plain_from_bf16((uint16_t) code);
    return a > 1e-4f ? a : 1e-4f;
}

static long cast_exp_log2f_of_bf16(void)
{
    long wrong = 0;
    for (uint32_t code = 0; code < 0x7f80; code++) {
        const float sf = bf16_amax(code) / 448.0f;
        wrong += plain_ceil_exp(sf, MUT_none) != plain_ceil_exp(sf, MUT_cast_exp_log2f);
    }
    return wrong;
}

/* |x| <= amax, and a product rounded once is monotone: the largest element decides. All is normal here, so that
 * binades are alike: all amax of the lowest two, of [448, 896) and of the highest one, and every 4099th of the
 * rest. */
static long cast_no_saturation(void)
{
    long wrong = 0;
    for (uint32_t b = FLOOR; b <= FINITE; b += b < 0x39800000u || b >> 23 == 0x43e00000u >> 23 || b >= 0x7f000000u ? 1 : 4099) {
        const float a = float_of(b);
        wrong += a * plain_pow2(-plain_ceil_exp(a / 448.0f, MUT_none)) > 448.0f;
        wrong += a * (448.0f / a) >= 464.0f;
    }
    return wrong;
}

/* What no finite element does by cast_no_saturation, whose second half is 464. A scaled value past it needs the same loop. */
static long cast_f32_nan(void)
{
    long wrong = 0;
    for (uint32_t b = FLOOR; b <= FINITE; b += 4099) {
        const float a = float_of(b);
        wrong += a * plain_pow2(-plain_ceil_exp(a / 448.0f, MUT_none)) > 464.0f || a * (448.0f / a) > 464.0f;
    }
    return wrong;
}

/* Every 65537th F32 x with |x| < 2^-126 * 2^e, e = the smallest and largest exponent: code 0 of x's sign,
 * rounded or not. Between 0 and 2^-10 the code is 0, and 2^-126 is below it; e is -22..120. */
static long cast_product_subnormal(void)
{
    long wrong = 0;
    for (int e = -22; e <= 120; e++)
        for (uint32_t b = 1; b < 0x7f800000; b += 65537) {
            const double real = ldexp((double) plain_float(b), -e);
            if (real >= ldexp(1, -126))
                break;
            const float x = plain_float(b), f32 = x * plain_pow2(-e);
            wrong += plain_e4m3(f32, MUT_none) != 0 || plain_e4m3(-f32, MUT_none) != 0x80 || real >= ldexp(1, -10);
        }
    return wrong;
}

/* All 2^23 subnormals of one sign: no amax reaches the floor by them, and their code is 0 at the smallest
 * scale. */
static long cast_ftz(void)
{
    long wrong = 0;
    for (uint32_t b = 0; b < 0x00800000; b++) {
        const float q = plain_float(b) * plain_pow2(22);
        wrong += plain_float(b) > 1e-4f || plain_e4m3(q, MUT_none) != 0 || plain_e4m3(-q, MUT_none) != 0x80;
        wrong += plain_e4m3(plain_float(b) * (448.0f / 1e-4f), MUT_none) != 0;
    }
    return wrong;
}

/* Every BF16 midpoint between normal numbers, as v, with the radius of RMS-3..5: the judge takes either
 * neighbour. */
static long rms_out_ties_away(void)
{
    long wrong = 0;
    for (uint32_t code = 0x80; code < 0x7f7f; code++) {
        const double v = ((double) plain_from_bf16((uint16_t) code) + plain_from_bf16((uint16_t) (code + 1))) / 2;
        const struct iv y = iv_widen(iv_pt(v), ldexp(REF_RMSNORM_K, -24) * v);
        wrong += judge(LC_BF16, y, code) == UNEXPLAINED || judge(LC_BF16, y, code + 1) == UNEXPLAINED;
    }
    return wrong;
}

/* The smallest f32 that BF16 takes to Inf is past 2^127, where ref/ judges no element. */
static long rms_out_saturates(void)
{
    uint32_t b = 0x7f000000;
    while (plain_bf16(plain_float(b), PLAIN_RN) != 0x7f80)
        b++;
    return plain_float(b) >= ldexpf(1, 127) ? 0 : 1;
}

static const struct proof {
    const char *id;
    long (*tried)(void);
} proofs[] = {
#define EQUIVALENT(id, proof) { #id, id },
#include "table.h"
};

Test(mutants, equivalent_ones_change_nothing, .timeout = 120)
{
    for (size_t i = 0; i < sizeof proofs / sizeof *proofs; i++)
        cr_expect_eq(proofs[i].tried(), 0, "%s changes something", proofs[i].id);
}
