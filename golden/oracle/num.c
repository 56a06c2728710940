/* SPDX-License-Identifier: Apache-2.0 */
/* FMT-1..5: formats and their one rounding, on exact reals. Values travel as doubles, which hold every format
 * exactly. */
#include "oracle.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if defined(__FAST_MATH__) || FLT_EVAL_METHOD != 0
#error "needs IEEE arithmetic"
#endif

/* A binary format: precision, the exponent of its smallest step, and of its first value too large. */
struct format {
    int precision, quantum, top;
};

static struct format format_of(const enum type type)
{
    static const struct format bf16 = { 8, -133, 128 }, f32 = { 24, -149, 128 }, f64 = { 53, -1074, 1024 };
    return type == TYPE_BF16 ? bf16 : type == TYPE_F32 ? f32 : f64;
}

size_t type_size(const enum type type)
{
    static const size_t size[TYPE_COUNT] = { 2, 4, 1, 1, 1, 4, 8, 8 };
    return size[type];
}

const char *type_name(const enum type type)
{
    static const char *const name[TYPE_COUNT] = { "bf16", "f32", "e4m3", "e2m1", "ue8m0", "i32", "i64", "f64" };
    return name[type];
}

/* The values of a format around v are the multiples of 2^step: precision bits, but never a step below the
 * quantum, which is all there is to subnormals. So: scale the step to 1, round to an integer, scale back. */
double num_round(const enum type type, const mpfr_srcptr v, const mpfr_rnd_t rnd)
{
    const struct format f = format_of(type);

    if (!mpfr_regular_p(v))
        return mpfr_get_d(v, MPFR_RNDN); /* NaN, Inf, and a zero with its sign */

    const long top = (long) mpfr_get_exp(v); /* 2^(top-1) <= |v| < 2^top */
    const long step = top - f.precision > f.quantum ? top - f.precision : f.quantum;
    MPFR_DECL_INIT(t, REAL_BITS);

    mpfr_set(t, v, MPFR_RNDN);
    mpfr_mul_2si(t, t, -step, MPFR_RNDN);
    mpfr_rint(t, t, rnd); /* MPFR_RNDN: ties to even */
    mpfr_mul_2si(t, t, step, MPFR_RNDN);
    if (mpfr_regular_p(t) && mpfr_get_exp(t) > f.top)
        mpfr_set_inf(t, mpfr_signbit(t) ? -1 : 1);
    return mpfr_get_d(t, MPFR_RNDN);
}

double num_narrow(const enum type type, const double v)
{
    return num_mul(type, v, 1.0);
}

double num_add(const enum type type, const double a, const double b)
{
    MPFR_DECL_INIT(t, REAL_BITS);
    mpfr_set_d(t, a, MPFR_RNDN);
    mpfr_add_d(t, t, b, MPFR_RNDN); /* exact */
    return num_round(type, t, MPFR_RNDN);
}

double num_mul(const enum type type, const double a, const double b)
{
    MPFR_DECL_INIT(t, REAL_BITS);
    mpfr_set_d(t, a, MPFR_RNDN);
    mpfr_mul_d(t, t, b, MPFR_RNDN); /* exact */
    return num_round(type, t, MPFR_RNDN);
}

/* A value cut off toward zero gets an odd last bit, if anything was cut: then it is no tie and no value of a
 * narrower format, and rounds as the exact real does. */
static void make_odd(mpfr_ptr v, const int cut)
{
    if (cut == 0 || mpfr_min_prec(v) == mpfr_get_prec(v))
        return;
    if (mpfr_signbit(v))
        mpfr_nextbelow(v);
    else
        mpfr_nextabove(v);
}

void num_quotient(mpfr_ptr out, const mpfr_srcptr a, const mpfr_srcptr b)
{
    make_odd(out, mpfr_div(out, a, b, MPFR_RNDZ));
}

double num_div(const enum type type, const double a, const double b)
{
    MPFR_DECL_INIT(t, REAL_BITS);
    MPFR_DECL_INIT(divisor, REAL_BITS);
    mpfr_set_d(t, a, MPFR_RNDN);
    mpfr_set_d(divisor, b, MPFR_RNDN);
    num_quotient(t, t, divisor);
    return num_round(type, t, MPFR_RNDN);
}

double num_rsqrt(const enum type type, const double a)
{
    MPFR_DECL_INIT(t, REAL_BITS);
    mpfr_set_d(t, a, MPFR_RNDN);
    make_odd(t, mpfr_rec_sqrt(t, t, MPFR_RNDZ));
    return num_round(type, t, MPFR_RNDN);
}

/* ---- codes ---- */

/* The value of a code with a sign, exponent and mantissa field, bias 2^(exponent_bits-1)-1; no Inf or NaN. */
static double code_value(const uint32_t code, const int exponent_bits, const int mantissa_bits)
{
    const uint32_t mantissas = UINT32_C(1) << mantissa_bits, exponents = UINT32_C(1) << exponent_bits;
    const int exponent = (int) (code / mantissas % exponents), bias = (int) exponents / 2 - 1;
    const double mantissa = code % mantissas + (exponent > 0 ? (double) mantissas : 0.0);
    const double v = ldexp(mantissa, (exponent > 0 ? exponent : 1) - bias - mantissa_bits);

    return code / mantissas / exponents % 2 != 0 ? -v : v;
}

double num_load(const enum type type, const unsigned char *const at)
{
    const int mantissa_bits = type == TYPE_BF16 ? 7 : 23;
    uint32_t code = 0;

    for (size_t i = type_size(type); i-- > 0;)
        code = code * 256 + at[i];

    const uint32_t largest = UINT32_C(255) << mantissa_bits, magnitude = code % (UINT32_C(256) << mantissa_bits);

    if (magnitude > largest)
        return NAN;
    if (magnitude == largest)
        return magnitude == code ? INFINITY : -INFINITY;
    return code_value(code, 8, mantissa_bits);
}

/* The code of the non-negative value v: codes are ordered as their values, so halve the range until one is
 * left. */
static uint32_t code_search(const double v, const int mantissa_bits)
{
    uint32_t low = 0, end = UINT32_C(255) << mantissa_bits; /* value(low) <= v < value(end) */

    while (end - low > 1) {
        const uint32_t middle = low + (end - low) / 2;
        if (code_value(middle, 8, mantissa_bits) <= v)
            low = middle;
        else
            end = middle;
    }
    return low;
}

void num_store(const enum type type, unsigned char *const at, const double v)
{
    const int mantissa_bits = type == TYPE_BF16 ? 7 : 23;
    uint64_t code;

    if (type == TYPE_F64 && isnan(v))
        code = UINT64_C(0x7ff8) << 48;
    else if (type == TYPE_F64)
        memcpy(&code, &v, sizeof code);
    else if (isnan(v))
        code = type == TYPE_BF16 ? 0x7fc0 : 0x7fc00000;
    else {
        code = isinf(v) ? UINT32_C(255) << mantissa_bits : code_search(fabs(v), mantissa_bits);
        code += signbit(v) ? UINT64_C(256) << mantissa_bits : 0;
    }
    for (size_t i = 0; i < type_size(type); i++, code /= 256)
        at[i] = (unsigned char) (code % 256);
}

/* The nearest of the magnitudes 0..most, a tie to the even code, or to the lower one; beyond the largest it is that. Sums of two
 * neighbours are exact, and so is twice v. */
static unsigned nearest(const double v, const int exponent_bits, const int mantissa_bits, const unsigned most, const int lower)
{
    const double twice = 2 * fabs(v);
    unsigned code = 0;

    while (code < most) {
        const double midpoint_twice = code_value(code, exponent_bits, mantissa_bits) +
                                      code_value(code + 1, exponent_bits, mantissa_bits);
        if (twice < midpoint_twice || (twice == midpoint_twice && (lower || code % 2 == 0)))
            break;
        code++;
    }
    return code;
}

/* FMT-2: 127 magnitudes 0..448, the sign kept, beyond 448 saturated. */
unsigned num_e4m3(const double v)
{
    return isnan(v) ? 0x7f : nearest(v, 4, 3, 126, 0) + (signbit(v) ? 0x80 : 0);
}

/* FMT-4: the 8 magnitudes 0..6, the sign kept. CAST-9, deepgemm: ties toward zero, a zero always +0. */
unsigned num_e2m1(const double v, const int deepgemm)
{
    const unsigned code = nearest(v, 2, 1, 7, deepgemm);

    return code == 0 && deepgemm ? 0 : code + (signbit(v) ? 8 : 0);
}
