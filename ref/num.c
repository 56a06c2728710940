/* SPDX-License-Identifier: Apache-2.0 */
/* Formats and roundings, on integers: what is rounded where does not depend on the compiler or the FP
 * environment. The exceptions are F32 (C's conversion, round to nearest in the default environment) and the
 * two f32 operations. */
#include "num.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "ref/ needs float and double expressions evaluated in their own format (FMT-5)"
#endif

/* --- names and sizes --------------------------------------------------------------------------- */

static const struct {
    enum lc_dtype f;
    int bytes;
    const char *name;
} formats[] = {
    { LC_F32, 4, "f32" },     { LC_BF16, 2, "bf16" }, { LC_E4M3, 1, "e4m3" }, { LC_E2M1X2, 1, "e2m1" },
    { LC_UE8M0, 1, "ue8m0" }, { LC_I32, 4, "i32" },   { LC_I64, 8, "i64" },   { FMT_BITS16, 2, "bits16" },
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

int fmt_bytes(enum lc_dtype f)
{
    for (int i = 0; i < FORMATS; i++)
        if (formats[i].f == f)
            return formats[i].bytes;
    return 0;
}

const char *fmt_name(enum lc_dtype f)
{
    for (int i = 0; i < FORMATS; i++)
        if (formats[i].f == f)
            return formats[i].name;
    return "?";
}

bool fmt_parse(const char *name, enum lc_dtype *f)
{
    for (int i = 0; i < FORMATS; i++)
        if (strcmp(formats[i].name, name) == 0) {
            *f = formats[i].f;
            return true;
        }
    return false;
}

/* --- rounding to nearest, ties to even --------------------------------------------------------- */

/* RN(sig / 2^drop), drop >= 1; sig < 2^54 if drop is more than 54. */
static uint64_t rn_shift(uint64_t sig, int drop)
{
    if (drop > 54)
        return 0; /* at most half of one: 0 is even */
    const uint64_t half = UINT64_C(1) << (drop - 1);
    const uint64_t kept = sig >> drop, rest = sig & (2 * half - 1);
    const bool up = rest > half || (rest == half && kept % 2 == 1);
    return kept + (up ? 1 : 0);
}

/* The code of RN(|v|), v not NaN, in a format of `mant` mantissa bits and least normal exponent `emin`, as if
 * its exponents had no upper end: the caller says what happens there (Inf counts as 2^1024). The codes of one
 * sign are consecutive integers in the order of the values. So a carry out of the mantissa steps into the
 * next binade by itself, and the largest subnormal into the least normal: exponent field and hidden bit need
 * no case of their own. */
static uint32_t magnitude(double v, int mant, int emin)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    const int field = (int) (bits >> 52 & 0x7ff);
    const uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    const uint64_t sig = field == 0 ? fraction : fraction | UINT64_C(1) << 52; /* |v| = sig * 2^(exp - 52) */
    const int exp = field == 0 ? -1022 : field - 1023;

    const int binade = exp > emin ? exp : emin; /* subnormals have the quantum of the least normals */
    const int quantum = binade - mant;
    return ((uint32_t) (binade - emin) << mant) + (uint32_t) rn_shift(sig, quantum - (exp - 52));
}

static uint32_t at_most(uint32_t code, uint32_t limit)
{
    return code < limit ? code : limit;
}

static uint32_t sign_of(double v)
{
    return signbit(v) ? 1 : 0;
}

static uint32_t f32_code(double v)
{
    if (isnan(v))
        return 0x7fc00000;
    const float x = (float) v;
    uint32_t code;
    memcpy(&code, &x, sizeof code);
    return code;
}

/* FMT-1: 1-8-7, one step from the double; overflow to Inf, the code after the largest. */
static uint32_t bf16_code(double v)
{
    if (isnan(v))
        return 0x7fc0;
    return sign_of(v) << 15 | at_most(magnitude(v, 7, -126), 0x7f80);
}

/* FMT-2: 1-4-3; RN, then saturation to 448 = 0x7e, Inf too. */
static uint32_t e4m3_code(double v)
{
    if (isnan(v))
        return 0x7f;
    return sign_of(v) << 7 | at_most(magnitude(v, 3, -6), 0x7e);
}

/* FMT-4: 1-2-1; RN, then saturation to 6 = 7; -0 is code 8. A NaN's code is unspecified. */
static uint32_t e2m1_code(double v)
{
    if (isnan(v))
        return 0;
    return sign_of(v) << 3 | at_most(magnitude(v, 1, 0), 7);
}

/* FMT-3: powers of two only, so there is nothing to round. */
static uint32_t ue8m0_code(double v)
{
    if (isnan(v))
        return 0xff;
    assert(v >= 0x1p-127 && v <= 0x1p127);
    int exp;
    const double half = frexp(v, &exp);
    assert(half == 0.5);
    (void) half;
    return (uint32_t) (exp - 1 + 127);
}

/* A code of these is an integer, and there is nothing to round. */
static bool is_integer(enum lc_dtype f)
{
    return f == LC_I32 || f == LC_I64 || f == FMT_BITS16;
}

uint32_t fmt_code(enum lc_dtype f, double v)
{
    if (is_integer(f)) {
        assert(v == (double) (int32_t) v);
        return (uint32_t) (int32_t) v;
    }
    switch (f) {
    case LC_F32:
        return f32_code(v);
    case LC_BF16:
        return bf16_code(v);
    case LC_E4M3:
        return e4m3_code(v);
    case LC_E2M1X2:
        return e2m1_code(v);
    case LC_UE8M0:
        return ue8m0_code(v);
    default:
        assert(!"not a floating-point format");
        return 0;
    }
}

/* --- codes to values --------------------------------------------------------------------------- */

static double f32_load(uint32_t code)
{
    float x;
    memcpy(&x, &code, sizeof x);
    return (double) x;
}

/* The value of a magnitude code: without NaN and Inf, as magnitude() makes them. */
static double value(uint32_t code, int mant, int emin)
{
    const int field = (int) (code >> mant);
    const uint32_t hidden = UINT32_C(1) << mant, fraction = code & (hidden - 1);
    return field == 0 ? ldexp((double) fraction, emin - mant) : ldexp((double) (hidden + fraction), emin - mant + field - 1);
}

double fmt_load(enum lc_dtype f, uint32_t code)
{
    if (is_integer(f))
        return (double) (int32_t) code;
    if (fmt_is_nan(f, code))
        return (double) NAN;
    switch (f) {
    case LC_F32:
        return f32_load(code);
    case LC_BF16:
        return f32_load(code << 16); /* the upper half of an f32 */
    case LC_E4M3:
        return copysign(value(code & 0x7f, 3, -6), code & 0x80 ? -1 : 1);
    case LC_E2M1X2:
        return copysign(value(code & 7, 1, 0), code & 8 ? -1 : 1);
    case LC_UE8M0:
        return ldexp(1, (int) code - 127);
    default:
        assert(!"not a floating-point format");
        return 0;
    }
}

bool fmt_is_nan(enum lc_dtype f, uint32_t code)
{
    if (is_integer(f))
        return false;
    switch (f) {
    case LC_F32:
        return (code & 0x7fffffff) > 0x7f800000;
    case LC_BF16:
        assert(code <= 0xffff);
        return (code & 0x7fff) > 0x7f80;
    case LC_E4M3:
        assert(code <= 0xff);
        return (code & 0x7f) == 0x7f;
    case LC_E2M1X2:
        assert(code <= 0xf);
        return false;
    case LC_UE8M0:
        assert(code <= 0xff);
        return code == 0xff;
    default:
        assert(!"not a floating-point format");
        return false;
    }
}

int64_t fmt_order(enum lc_dtype f, uint32_t code)
{
    assert(!fmt_is_nan(f, code));
    if (f == LC_UE8M0)
        return code;
    if (is_integer(f))
        return (int32_t) code;
    const uint32_t sign = f == LC_F32 ? 0x80000000u : f == LC_BF16 ? 0x8000 : f == LC_E4M3 ? 0x80 : 8;
    const int64_t mag = code & (sign - 1);
    return code & sign ? -1 - mag : mag; /* -0 is -1, +0 is 0 */
}

/* --- roundings of values ----------------------------------------------------------------------- */

double rn(enum lc_dtype f, double v)
{
    return fmt_load(f, fmt_code(f, v));
}

double rn_f32(double v)
{
    return (double) (float) v;
}

double rn_bf16(double v)
{
    return rn(LC_BF16, v);
}

/* Rounding the quotient to double first does no harm, whether fl(a/b) is normal, subnormal, zero or Inf.
 *
 * Let q = |a/b|, and m a midpoint of two neighbouring f32 (2^128 counts as one, for Inf). m = M 2^t with
 * M < 2^25, so m is a double; the first rounding is monotone and keeps m. It can hurt only by moving some
 * q != m onto m, and then |q - m| <= 2^-53 m. Write |a| = A 2^i, |b| = B 2^j with integers A, B < 2^24. Then
 * |a| - m |b| = A 2^i - M B 2^(t+j) is not 0, so it is no smaller than the lesser of its two units:
 *
 *   if that is 2^(t+j):  |q - m| >= 2^(t+j) / |b| = 2^t / B = m / (M B) > 2^-49 m;
 *   if that is 2^i:      |q - m| >= 2^i / |b| = q / A > 2^-24 q.
 *
 * Both exclude |q - m| <= 2^-53 m. The double quotient, 2^-277 to 2^277, is normal itself. */
double rn_f32_div(double a, double b)
{
    return rn_f32(a / b);
}

/* RMS-4. That argument does not reach the reciprocal root: it was compared with MPFR for every significand at
 * an even and an odd exponent, 2^24 operands, without a difference. They stand for every f32: a factor of 4
 * in a goes through all three operations as an exact factor of 1/2; a subnormal f32 is a normal double with
 * fewer bits; and the result, 2^-64 to 2^74.5, is always a normal f32. */
double rn_f32_rsqrt(double a)
{
    return rn_f32(1 / sqrt(a));
}

int ceil_log2(double v)
{
    assert(v > 0 && isfinite(v));
    int exp;
    return frexp(v, &exp) == 0.5 ? exp - 1 : exp; /* v = f * 2^exp, 1/2 <= f < 1 */
}

/* --- the exact accumulator --------------------------------------------------------------------- */

/* The sum is that of limb[i] * 2^(32 i) * 2^ACC_LOW. A double lands on three limbs, less than 2^32 on each,
 * so 2^30 of them leave every |limb| below 2^62: no carry is due before the end. */
enum { ACC_LIMBS = sizeof((const struct acc *) 0)->limb / sizeof(int64_t), ACC_LOW = -400 };

void acc_clear(struct acc *a)
{
    memset(a, 0, sizeof *a);
}

void acc_add(struct acc *a, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    const int field = (int) (bits >> 52 & 0x7ff);
    const uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    if (field == 0) { /* a zero: a subnormal double is no multiple of 2^-400 */
        assert(fraction == 0);
        return;
    }
    uint64_t sig = fraction | UINT64_C(1) << 52;
    int at = field - 1023 - 52 - ACC_LOW; /* |v| = sig * 2^at * 2^ACC_LOW */
    if (at < 0) {
        assert(at > -64 && (sig & ((UINT64_C(1) << -at) - 1)) == 0);
        sig >>= -at;
        at = 0;
    }
    assert(at / 32 + 2 < ACC_LIMBS); /* so not Inf or NaN either */

    const int64_t sign = bits >> 63 ? -1 : 1;
    const int shift = at % 32;
    int64_t *const limb = a->limb + at / 32;
    limb[0] += sign * (int64_t) (sig << shift & 0xffffffff);
    limb[1] += sign * (int64_t) (sig >> (32 - shift) & 0xffffffff);
    limb[2] += sign * (int64_t) (sig >> 32 >> (32 - shift));
}

/* |sum| * 2^-ACC_LOW in base 2^32; returns whether the sum is negative. */
static bool acc_digits(const struct acc *a, uint32_t digit[ACC_LIMBS])
{
    int64_t carry = 0;
    for (int i = 0; i < ACC_LIMBS; i++) {
        carry += a->limb[i];
        digit[i] = (uint32_t) carry;                     /* modulo 2^32 */
        carry = (carry - digit[i]) / (INT64_C(1) << 32); /* exact */
    }
    if (carry == 0)
        return false;

    assert(carry == -1); /* two's complement of the magnitude */
    uint64_t sum = 1;
    for (int i = 0; i < ACC_LIMBS; i++) {
        sum += (uint32_t) ~digit[i];
        digit[i] = (uint32_t) sum;
        sum >>= 32;
    }
    return true;
}

/* A number cut to 64 bits "to odd": (-1)^neg * sig * 2^exp, where the last bit of sig is also set if anything
 * below it was lost. Rounding it once more, to at most 62 bits, gives the rounding of the uncut number:
 * midpoints of 62 bits are even in that last place, so the cut neither crosses one nor lands on one. */
struct odd {
    bool neg;
    int exp;
    uint64_t sig;
};

/* sum / n. Long division leaves the floor, in units of 2^-400 (far below f32 midpoints), and a remainder. */
static struct odd acc_divide(const struct acc *a, uint32_t n)
{
    uint32_t digit[ACC_LIMBS];
    const bool neg = acc_digits(a, digit);
    uint64_t rem = 0;
    for (int i = ACC_LIMBS - 1; i >= 0; i--) {
        const uint64_t part = rem << 32 | digit[i];
        digit[i] = (uint32_t) (part / n);
        rem = part % n;
    }

    int top = ACC_LIMBS - 1;
    while (top > 2 && digit[top] == 0)
        top--;
    uint64_t sig = (uint64_t) digit[top] << 32 | digit[top - 1], below = (uint64_t) digit[top - 2] << 32;
    int exp = 32 * (top - 1) + ACC_LOW;
    for (; sig >> 63 == 0 && (sig | below) != 0; exp--) {
        sig = sig << 1 | below >> 63;
        below <<= 1;
    }
    bool lost = rem != 0 || below != 0;
    for (int i = 0; i < top - 2; i++)
        lost = lost || digit[i] != 0;
    return (struct odd) { neg, exp, sig | (lost ? 1 : 0) };
}

/* The same, cut to the 53 bits of a double. */
static double odd_double(struct odd x)
{
    const uint64_t sig = x.sig >> 11 | ((x.sig & 0x7ff) != 0 ? 1 : 0);
    return ldexp(x.neg ? -(double) sig : (double) sig, x.exp + 11);
}

double acc_round(const struct acc *a, enum lc_dtype f)
{
    assert(f == LC_F32 || f == LC_BF16);
    return rn(f, odd_double(acc_divide(a, 1)));
}

double acc_mean_f32(const struct acc *a, int64_t n)
{
    assert(n >= 1 && n <= UINT32_MAX);
    return rn_f32(odd_double(acc_divide(a, (uint32_t) n)));
}

double acc_double(const struct acc *a)
{
    const struct odd x = acc_divide(a, 1);
    const double mag = ldexp((double) rn_shift(x.sig, 11), x.exp + 11);
    return x.neg ? -mag : mag;
}
