/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals and the verdict on one code. */
#include "iv.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

/* An interval of which any number is NaN is NaN: Inf - Inf at one end leaves nothing to say of the others. */
static struct iv iv_make(double v, double lo, double hi)
{
    if (isnan(v) || isnan(lo) || isnan(hi))
        return iv_pt((double) NAN);
    assert(lo <= v && v <= hi);
    return (struct iv) { v, lo, hi };
}

struct iv iv_pt(double v)
{
    return (struct iv) { v, v, v };
}

struct iv iv_not_finite(void)
{
    return (struct iv) { (double) NAN, -HUGE_VAL, HUGE_VAL };
}

bool iv_is_pt(struct iv x)
{
    return x.lo == x.hi;
}

bool iv_is_nan(struct iv x)
{
    return isnan(x.v);
}

bool iv_is_finite(struct iv x)
{
    return isfinite(x.v) && isfinite(x.lo) && isfinite(x.hi);
}

/* The next double outwards, of an end that was rounded to nearest: the real end is not beyond it. */
static double down(double v)
{
    return nextafter(v, -HUGE_VAL);
}

static double up(double v)
{
    return nextafter(v, HUGE_VAL);
}

struct iv iv_widen(struct iv x, double radius)
{
    if (iv_is_nan(x))
        return x;
    assert(radius >= 0);
    if (radius == 0)
        return x;
    /* an end at Inf has no neighbourhood: it stays, and Inf - Inf is not asked */
    const double lo = isinf(x.lo) ? x.lo : down(x.lo - radius), hi = isinf(x.hi) ? x.hi : up(x.hi + radius);
    return iv_make(x.v, lo, hi);
}

struct iv iv_abs(struct iv x)
{
    if (iv_is_nan(x))
        return x;
    if (x.lo >= 0)
        return iv_make(fabs(x.v), fabs(x.lo), fabs(x.hi));
    if (x.hi <= 0)
        return iv_make(fabs(x.v), fabs(x.hi), fabs(x.lo));
    return iv_make(fabs(x.v), 0, -x.lo > x.hi ? -x.lo : x.hi);
}

/* The larger; +0 before -0, whatever the order of the operands. */
static double larger(double a, double b)
{
    return a > b || (a == b && !signbit(a)) ? a : b;
}

struct iv iv_max(struct iv a, struct iv b)
{
    if (iv_is_nan(a) || iv_is_nan(b))
        return iv_pt((double) NAN);
    return iv_make(larger(a.v, b.v), larger(a.lo, b.lo), larger(a.hi, b.hi));
}

/* a + b - sum, exact for the rounded sum (Knuth's two-sum); NaN, which is on no side, where the sum is not
 * finite. */
static double sum_error(double a, double b, double sum)
{
    const double b_part = sum - a;
    return (a - (sum - b_part)) + (b - b_part);
}

/* Two points are a number each, and the reference adds them in binary64: a point. Ends of a hull are bounds:
 * rounded outwards, and not moved at all where the sum is exact. iv_scale likewise. */
struct iv iv_add(struct iv a, struct iv b)
{
    const double v = a.v + b.v, lo = a.lo + b.lo, hi = a.hi + b.hi;
    if (iv_is_pt(a) && iv_is_pt(b))
        return iv_make(v, lo, hi);
    return iv_make(v, sum_error(a.lo, b.lo, lo) < 0 ? down(lo) : lo, sum_error(a.hi, b.hi, hi) > 0 ? up(hi) : hi);
}

struct iv iv_scale(struct iv x, double s)
{
    assert(isfinite(s));
    const double a = signbit(s) ? x.hi : x.lo, b = signbit(s) ? x.lo : x.hi; /* what becomes lo and hi */
    const double v = x.v * s, lo = a * s, hi = b * s;
    if (iv_is_pt(x))
        return iv_make(v, lo, hi);
    /* fma leaves the exact error of a product: ours are far from double's subnormals, where it would not */
    return iv_make(v, fma(a, s, -lo) < 0 ? down(lo) : lo, fma(b, s, -hi) > 0 ? up(hi) : hi);
}

struct iv iv_round(enum lc_dtype f, struct iv x)
{
    return iv_make(rn(f, x.v), rn(f, x.lo), rn(f, x.hi));
}

enum verdict judge(enum lc_dtype f, struct iv w, uint32_t got)
{
    const bool want_nan = iv_is_nan(w), got_nan = fmt_is_nan(f, got);
    if (want_nan && f == LC_E2M1X2)
        return UNSPECIFIED; /* FMT-4: there is no code for it */
    if (want_nan && isinf(w.hi))
        return isfinite(fmt_load(f, got)) ? UNEXPLAINED : EXACT; /* HAD-6: NaN or Inf */
    if (want_nan || got_nan)
        return want_nan && got_nan ? EXACT : UNEXPLAINED; /* FMT-1: payload and sign free */

    if (got == fmt_code(f, w.v))
        return EXACT;
    /* Inf is a code, after the largest; a zero of free sign (FMT-6) is the hull {0, -0, +0} */
    const int64_t at = fmt_order(f, got);
    const int64_t lo = fmt_order(f, fmt_code(f, w.lo)), hi = fmt_order(f, fmt_code(f, w.hi));
    return lo <= at && at <= hi ? EXPLAINED : UNEXPLAINED;
}

struct iv pick(enum lc_dtype f, struct iv w, const uint32_t *got)
{
    return got != NULL && judge(f, w, *got) != UNEXPLAINED ? iv_pt(fmt_load(f, *got)) : w;
}
