/* SPDX-License-Identifier: Apache-2.0 */
/* Fixed point: a two's complement number of 256 bits, 224 of them behind the point, limb[0] the lowest. Every operation cuts,
 * so that it is off by less than 2^-223; the longest computation has some 300 of them, and the numbers that are rounded are
 * above 2^-40: relative errors stay below 2^-170. */
#include "wide.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { LIMBS = 8, POINT = 224 };

struct fix {
    uint32_t limb[LIMBS];
};

/* floor(c * 2^224) */
static const struct fix half_pi = { { 0x04177d4c, 0x14cf98e8, 0x52049c11, 0x01b839a2, 0x898cc517, 0x42d18469, 0x921fb544, 1 } };
static const struct fix two_pi = { { 0x105df531, 0x533e63a0, 0x48127044, 0x06e0e689, 0x2633145c, 0x0b4611a6, 0x487ed511, 6 } };
static const struct fix ln_2 = { { 0x8a0d175b, 0x7298b62d, 0x40f34326, 0x03f2f6af, 0xc9e3b398, 0xd1cf79ab, 0xb17217f7, 0 } };
static const struct fix ln_2pi = { { 0xbd8d4626, 0x268b169b, 0x9f611f1a, 0x88324047, 0x29792002, 0x4beb4a69, 0xd67f1c86, 1 } };
/* floor(2 / pi * 2^384): for arguments below 2^128 */
static const uint32_t two_over_pi[12] = { 0x09d1921c, 0x06492eea, 0x424dd2e0, 0xb7246e3a, 0xdebbc561, 0xfe5163ab,
                                          0x3c439041, 0xdb629599, 0xf534ddc0, 0xfc2757d1, 0x4e441529, 0xa2f9836e };

static struct fix fix_int(uint32_t n)
{
    return (struct fix) { { 0, 0, 0, 0, 0, 0, 0, n } };
}

static struct fix fix_add(struct fix a, struct fix b)
{
    uint64_t carry = 0;
    for (int i = 0; i < LIMBS; i++) {
        carry += (uint64_t) a.limb[i] + b.limb[i];
        a.limb[i] = (uint32_t) carry;
        carry >>= 32;
    }
    return a;
}

static struct fix fix_neg(struct fix a)
{
    uint64_t carry = 1;
    for (int i = 0; i < LIMBS; i++) {
        carry += (uint32_t) ~a.limb[i];
        a.limb[i] = (uint32_t) carry;
        carry >>= 32;
    }
    return a;
}

static struct fix fix_sub(struct fix a, struct fix b)
{
    return fix_add(a, fix_neg(b));
}

static bool fix_negative(struct fix a)
{
    return a.limb[LIMBS - 1] >> 31;
}

static bool fix_zero(struct fix a)
{
    static const struct fix zero;
    return memcmp(&a, &zero, sizeof a) == 0;
}

/* a, b >= 0; the product below 2^31 */
static struct fix fix_mul(struct fix a, struct fix b)
{
    uint32_t p[2 * LIMBS] = { 0 };
    for (int i = 0; i < LIMBS; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < LIMBS; j++) {
            carry += (uint64_t) a.limb[i] * b.limb[j] + p[i + j];
            p[i + j] = (uint32_t) carry;
            carry >>= 32;
        }
        p[i + LIMBS] = (uint32_t) carry;
    }
    memcpy(a.limb, p + POINT / 32, sizeof a.limb);
    return a;
}

static struct fix fix_times(struct fix a, uint32_t n)
{
    const bool negative = fix_negative(a);
    uint64_t carry = 0;
    if (negative)
        a = fix_neg(a);
    for (int i = 0; i < LIMBS; i++) {
        carry += (uint64_t) a.limb[i] * n;
        a.limb[i] = (uint32_t) carry;
        carry >>= 32;
    }
    assert(carry == 0 && !fix_negative(a));
    return negative ? fix_neg(a) : a;
}

static struct fix fix_over(struct fix a, uint32_t n)
{
    const bool negative = fix_negative(a);
    uint64_t rem = 0;
    if (negative)
        a = fix_neg(a);
    for (int i = LIMBS - 1; i >= 0; i--) {
        rem = rem << 32 | a.limb[i];
        a.limb[i] = (uint32_t) (rem / n);
        rem %= n;
    }
    return negative ? fix_neg(a) : a;
}

/* Bits at .. at + 31 of n limbs; zeros outside. */
static uint32_t bits_at(const uint32_t *limb, int n, int at)
{
    const int word = at >= 0 ? at / 32 : -((31 - at) / 32), shift = at - 32 * word;
    const uint64_t lo = word >= 0 && word < n ? limb[word] : 0, hi = word + 1 >= 0 && word + 1 < n ? limb[word + 1] : 0;
    return (uint32_t) ((hi << 32 | lo) >> shift);
}

/* a * 2^n, a >= 0 */
static struct fix fix_shift(struct fix a, int n)
{
    struct fix r;
    for (int i = 0; i < LIMBS; i++)
        r.limb[i] = bits_at(a.limb, LIMBS, 32 * i - n);
    return r;
}

static int fix_top(struct fix a) /* index of the highest bit set, a > 0 */
{
    int top = 32 * LIMBS - 1;
    while (!(a.limb[top / 32] >> top % 32 & 1))
        top--;
    return top;
}

/* 62 bits and an exponent, cut "to odd" (as struct odd of num.c): rounding it once more is the rounding of the uncut number. */
struct cut {
    int64_t sig;
    int exp;
};

static struct cut fix_cut(struct fix a)
{
    const int low = fix_top(a) - 61;
    bool lost = false;
    for (int i = 0; i < low; i++)
        lost = lost || (a.limb[i / 32] >> i % 32 & 1);
    const uint64_t sig = (uint64_t) bits_at(a.limb, LIMBS, low + 32) << 32 | bits_at(a.limb, LIMBS, low);
    return (struct cut) { (int64_t) (sig | (lost ? 1 : 0)), low - POINT };
}

static double cut_f32(struct cut c) /* normal or above; conversions round to nearest */
{
    return rn_f32(ldexp((double) (float) c.sig, c.exp));
}

static double cut_f64(struct cut c)
{
    return ldexp((double) c.sig, c.exp);
}

/* ---- logarithm and exponential ---- */

/* ln x = e ln 2 + 2 atanh((m - 1) / (m + 1)), x = m 2^e, 1 <= m < 2 */
static struct fix fix_log(double x)
{
    int e;
    const double m = ldexp(frexp(x, &e), 31);
    const uint32_t num = (uint32_t) m, den = UINT32_C(1) << 30;
    assert(x > 0 && isfinite(x) && (double) num == m);
    struct fix term = fix_over(fix_int(num - den), num + den), sum = term;
    const struct fix square = fix_mul(term, term);
    for (uint32_t k = 3; !fix_zero(term); k += 2) {
        term = fix_mul(term, square);
        sum = fix_add(sum, fix_over(term, k));
    }
    const int k = e - 1;
    const struct fix whole = fix_times(ln_2, (uint32_t) (k < 0 ? -k : k));
    sum = fix_add(sum, sum);
    return k < 0 ? fix_sub(sum, whole) : fix_add(sum, whole);
}

/* exp(t), -128 < t < 128 */
static struct cut fix_exp(struct fix t)
{
    static const struct fix one = { { 0, 0, 0, 0, 0, 0, 0, 1 } };
    int n = 0; /* t = n ln 2 + what is left, which is 0 <= t < ln 2 */
    for (; fix_negative(t); n--)
        t = fix_add(t, ln_2);
    for (struct fix r = fix_sub(t, ln_2); !fix_negative(r); r = fix_sub(r, ln_2)) {
        t = r;
        n++;
    }
    struct fix term = one, sum = one;
    for (uint32_t k = 1; !fix_zero(term); k++) {
        term = fix_over(fix_mul(term, t), k);
        sum = fix_add(sum, term);
    }
    struct cut c = fix_cut(sum);
    c.exp += n;
    return c;
}

/* RN_f32(exp(t)), t >= 0; Inf above f32 */
static double exp_f32(struct fix t)
{
    return t.limb[LIMBS - 1] >= 128 ? HUGE_VAL : cut_f32(fix_exp(t));
}

double rn_exp(enum lc_dtype f, double x)
{
    if (!(fabs(x) < 128)) /* NaN, Inf, and what no format here can hold */
        return x > 0 ? HUGE_VAL : x < 0 ? 0 : x;
    int e;
    const double m = ldexp(frexp(fabs(x), &e), 24);
    const struct fix t = fix_shift(fix_int((uint32_t) m), e - 24);
    const struct cut c = fix_exp(x < 0 ? fix_neg(t) : t);
    return rn(f, ldexp((double) (c.sig >> 9 | ((c.sig & 511) != 0)), c.exp + 9)); /* 53 bits, cut to odd: exact in a double */
}

double rn_f64_log(double x)
{
    if (x == 1)
        return 0;
    const struct fix v = fix_log(x);
    return fix_negative(v) ? -cut_f64(fix_cut(fix_neg(v))) : cut_f64(fix_cut(v));
}

double wide_f32_pow(double b, double e)
{
    if (e == 0)
        return 1;
    int scale;
    const double m = ldexp(frexp(e, &scale), 24);
    return exp_f32(fix_shift(fix_times(fix_log(b), (uint32_t) m), scale - 24));
}

double rn_f32_ntk(double base, double s, uint32_t d)
{
    const struct fix power = fix_over(fix_times(fix_log(s), d), d - 2), t = fix_add(fix_log(base), power);
    return fix_negative(t) ? 0 : exp_f32(t);
}

double rn_f64_turns(double d, double n, double rot, double base)
{
    struct fix a = fix_times(fix_sub(fix_sub(fix_log(n), fix_log(rot)), ln_2pi), (uint32_t) d);
    struct fix b = fix_times(fix_log(base), 2);
    const bool negative = fix_negative(a);
    if (negative)
        a = fix_neg(a);
    const int a_top = fix_top(a), b_top = fix_top(b);
    a = fix_shift(a, 254 - a_top);
    b = fix_shift(b, 254 - b_top);
    uint64_t sig = 0; /* restoring division: 62 bits of a / b, the first one 2^0 */
    for (int i = 0; i < 62; i++) {
        const struct fix less = fix_sub(a, b);
        sig <<= 1;
        if (!fix_negative(less)) {
            a = less;
            sig |= 1;
        }
        a = fix_add(a, a);
    }
    const double v = cut_f64((struct cut) { (int64_t) (sig | (fix_zero(a) ? 0 : 1)), a_top - b_top - 61 });
    return negative ? -v : v;
}

double rn_f32_two_pi_over(double t)
{
    int e;
    const double m = ldexp(frexp(t, &e), 24);
    struct cut c = fix_cut(fix_over(two_pi, (uint32_t) m));
    c.exp += 24 - e;
    return cut_f32(c);
}

/* ---- sine and cosine ---- */

/* |x| = (quadrant + r) pi / 2, quadrant modulo 4; returns r pi / 2 in [-pi/4, pi/4]. 2^-13 <= |x| < 2^128. */
static struct fix reduced(double x, int *quadrant)
{
    int e;
    const double m = ldexp(frexp(fabs(x), &e), 24);
    uint32_t product[13];
    uint64_t carry = 0;
    for (int i = 0; i < 12; i++) {
        carry += (uint64_t) two_over_pi[i] * (uint32_t) m;
        product[i] = (uint32_t) carry;
        carry >>= 32;
    }
    product[12] = (uint32_t) carry; /* |x| 2/pi = product * 2^(e - 24 - 384) */
    struct fix f;
    for (int i = 0; i < LIMBS; i++)
        f.limb[i] = bits_at(product, 13, 384 + 24 - e - POINT + 32 * i);
    *quadrant = (int) (f.limb[LIMBS - 1] & 3);
    f.limb[LIMBS - 1] = 0;
    if (!(f.limb[LIMBS - 2] >> 31))
        return fix_mul(f, half_pi);
    *quadrant = (*quadrant + 1) & 3;
    return fix_neg(fix_mul(fix_sub(fix_int(1), f), half_pi));
}

/* r - r^3/3! + .. (first = 1) or 1 - r^2/2! + .. (first = 0), r >= 0 */
static struct fix series(struct fix r, uint32_t first)
{
    struct fix term = first ? r : fix_int(1), sum = term;
    const struct fix square = fix_mul(r, r);
    for (uint32_t k = first + 1; !fix_zero(term); k += 2) {
        term = fix_over(fix_mul(term, square), k * (k + 1));
        sum = (k - first) % 4 == 1 ? fix_sub(sum, term) : fix_add(sum, term);
    }
    return sum;
}

/* sin(|x| + turn * pi / 2) */
static double circle(double x, int turn)
{
    int quadrant;
    struct fix r = reduced(x, &quadrant);
    const bool left = fix_negative(r);
    if (left)
        r = fix_neg(r);
    quadrant = (quadrant + turn) & 3;
    const bool is_cosine = quadrant & 1, negative = (quadrant >= 2) != (left && !is_cosine);
    const double v = cut_f32(fix_cut(series(r, is_cosine ? 0 : 1)));
    return negative ? -v : v;
}

/* Below 2^-13 both are known: x^2/6 and x^2/2 are less than a quarter ulp of what they are taken from. */
static bool is_small(double x)
{
    return fabs(x) < ldexp(1, -13);
}

double wide_f32_sin(double x)
{
    return is_small(x) ? x : x < 0 ? -circle(x, 0) : circle(x, 0);
}

double wide_f32_cos(double x)
{
    return is_small(x) ? 1 : circle(x, 1);
}

/* ---- the library first ---- */

/* Does all that lies within 2^-48 of y round to one f32? The library is held to 16 ulps by this, and no further. */
static bool is_settled(double y)
{
    const double slack = ldexp(fabs(y), -48);
    return rn_f32(y - slack) == rn_f32(y + slack) && isfinite(y);
}

double rn_f32_sin(double x)
{
    const double y = sin(x);
    return !is_small(x) && is_settled(y) ? rn_f32(y) : wide_f32_sin(x);
}

double rn_f32_cos(double x)
{
    const double y = cos(x);
    return !is_small(x) && is_settled(y) ? rn_f32(y) : wide_f32_cos(x);
}

double rn_f32_pow(double b, double e)
{
    const double y = pow(b, e);
    return is_settled(y) ? rn_f32(y) : wide_f32_pow(b, e);
}
