/* SPDX-License-Identifier: Apache-2.0 */
/* Cast to E4M3 or E2M1 with one scale per G channels of a token. E4M3 (E2M1):
 *
 *   amax[g] = max over i in g of |x[i]|, at least fl(1e-4) (6 * 2^-126)            CAST-1, CAST-2
 *   sf[g]   = fl(amax / 448) (/ 6);   round_sf: 2^ceil(log2(amax / 448))           CAST-3, CAST-4
 *   q[i]    = E4M3(fl(x[i] * fl(448 / amax)));   round_sf: E4M3(x[i] / sf)         CAST-5
 *
 * Shapes     x (M, d) or (B, M, d), BF16 or F32, any strides but stride(-1) = 1; q like x, contiguous, two E2M1 codes a byte,
 *            the even channel in the low nibble (FMT-4); sf: ref/sf.c.
 * Precision  amax is exact; with round_sf the product is exact too, so q is rounded once. Codes are RN, then saturate, the
 *            sign kept also for zero (FMT-2, FMT-4, FMT-6).
 * Edges      the last group may be short (CAST-1); a zero group has the clamp's scale (CAST-6); a NaN is NaN in its own E4M3
 *            code, and the rest of a group with a NaN or an Inf is unspecified (CAST-7).
 * Dialects   CAST-9, below. Fused operators cast values that are only known as a hull: the same steps, end by end. A scale is
 *            then legal if some admissible amax gives it, and the codes are judged under the scale that the kernel chose. */
#include <math.h>
#include <string.h>

#include "args.h"

static double code_max(const struct sf_args *s)
{
    return s->e2m1 ? 6 : 448;
}

static double amax_floor(const struct sf_args *s)
{
    if (s->dialect == CAST_SF_FLOOR)
        return 0; /* CAST-9: the scale has a floor instead */
    if (s->e2m1 && s->dialect != CAST_DEEPGEMM)
        return ldexp(6, -126);
    return rn_f32(1e-4); /* CAST-2 */
}

static double sf_of(const struct sf_args *s, double amax)
{
    const double least = s->dialect == CAST_SF_FLOOR ? rn_f32(1e-4) : 0;   /* CAST-9 */
    const double sf = rn_f32_div(amax, code_max(s));                       /* CAST-3 */
    return s->round ? ldexp(1, ceil_log2(fmax(amax / code_max(s), least))) /* CAST-4; no quotient by 7 * 2^6 or 3 * 2 is rounded
                                                                              to a power of two */
                    : fmax(sf, least);
}

/* CAST-5 without round_sf: what the channels are multiplied by. It falls as amax grows, and with it the ends change places. */
static double factor_of(const struct sf_args *s, double amax)
{
    if (s->dialect == CAST_DEEPGEMM)
        return rn_f32_div(1, sf_of(s, amax)); /* CAST-9 */
    return rn_f32_div(code_max(s), amax);
}

/* x * factor, exact at each end: a product of two f32 is a double. */
static struct iv times_factor(const struct sf_args *s, struct iv x, struct iv amax)
{
    const double least = factor_of(s, amax.hi), most = factor_of(s, amax.lo);
    return (struct iv) { x.v * factor_of(s, amax.v), x.lo * (x.lo < 0 ? most : least), x.hi * (x.hi < 0 ? least : most) };
}

/* CAST-9, deepgemm: E2M1 with ties toward zero, and no code 8. v is an f32, or one times a power of two, so that no double
 * beside it is a midpoint. */
static double e2m1_of_deepgemm(double v)
{
    return rn(LC_E2M1X2, nextafter(v, 0)) + 0.0;
}

/* What the judge rounds to a code, from the scaled value. */
static struct iv before_code(const struct sf_args *s, struct iv q)
{
    if (s->e2m1 && s->dialect == CAST_DEEPGEMM)
        return (struct iv) { e2m1_of_deepgemm(q.v), e2m1_of_deepgemm(q.lo), e2m1_of_deepgemm(q.hi) };
    if (s->dialect == CAST_F32_NAN && fabs(q.v) > 464)
        return iv_pt((double) NAN); /* FMT-2; no finite group comes here: its largest is below 464 */
    return q;
}

/* The amax of x's format within the hull that have this scale: one, or in F32 a few neighbours; an empty hull is NaN. */
static struct iv amax_of_scale(const struct sf_args *s, enum lc_dtype x_fmt, struct iv amax, double sf)
{
    const double middle = fmax(rn(x_fmt, code_max(s) * sf), amax_floor(s));
    struct iv found = iv_pt((double) NAN);
    float a = nextafterf(nextafterf((float) middle, 0), 0); /* no further: half an ulp of sf is less than two of amax */
    for (int i = 0; i < 5; i++, a = nextafterf(a, HUGE_VALF)) {
        if ((rn(x_fmt, a) != a && a != amax_floor(s)) || a < amax.lo || a > amax.hi || sf_of(s, a) != sf)
            continue;
        found = iv_is_nan(found) ? iv_pt(a) : (struct iv) { found.lo, found.lo, a };
    }
    if (!iv_is_nan(found)) /* as near the nominal one as may be */
        found.v = amax.v < found.lo ? found.lo : amax.v > found.hi ? found.hi : amax.v;
    return found;
}

/* The scale's hull is not the judge's: of the values between two legal scales none is legal. A legal scale of the kernel
 * becomes the interval, and anything else is held against the nominal one. chosen: the amax that codes are judged under. */
static struct iv scale_of(const struct sf_args *s, enum lc_dtype x_fmt, struct iv amax, const uint32_t *got, struct iv *chosen)
{
    const enum lc_dtype f = s->packed ? LC_UE8M0 : LC_F32;
    const double nominal = sf_of(s, amax.v);
    *chosen = iv_pt(amax.v);
    if (!got || iv_is_pt(amax))
        return iv_pt(nominal);
    const double sf = fmt_load(f, *got);
    if (s->round) { /* a hull of terms that cancel spans many binades, and each has a power of two */
        int exp;
        if (!(sf >= sf_of(s, amax.lo) && sf <= sf_of(s, amax.hi)) || frexp(sf, &exp) != 0.5)
            return iv_pt(nominal);
        *chosen = iv_pt(fmin(fmax(code_max(s) * sf, amax.lo), amax.hi));
    } else { /* the kernel's scale tells which amax it had */
        const struct iv a = isfinite(sf) ? amax_of_scale(s, x_fmt, amax, sf) : iv_pt(sf);
        if (!iv_is_finite(a))
            return iv_pt(nominal);
        *chosen = a;
    }
    return (struct iv) { nominal, sf, sf };
}

void ref_cast_groups(const struct sf_args *s, enum lc_dtype x_fmt, int64_t d, const struct iv *x, const uint32_t *got_sf,
                     struct iv *q, uint8_t *q_free, struct iv *sf, uint8_t *sf_free, struct ref_want *count)
{
    for (int64_t g = 0; g < s->groups; g++) {
        const int64_t begin = g * s->group, end = begin + s->group < d ? begin + s->group : d; /* CAST-1: a short last group */
        struct iv amax = iv_pt(amax_floor(s));
        bool finite = true;
        for (int64_t i = begin; i < end; i++) {
            amax = iv_max(amax, iv_abs(x[i]));
            finite = finite && iv_is_finite(x[i]);
        }
        sf_free[g] = !finite; /* CAST-7 */
        if (!finite) {
            sf[g] = iv_pt(0);
            for (int64_t i = begin; i < end; i++) {
                q[i] = x[i];
                q_free[i] = !iv_is_nan(x[i]) || s->e2m1; /* E2M1 has no NaN */
            }
            continue;
        }
        if (sf_of(s, amax.lo) != sf_of(s, amax.hi))
            count->two_scale++;
        struct iv a;
        sf[g] = scale_of(s, x_fmt, amax, got_sf ? &got_sf[g] : NULL, &a);
        for (int64_t i = begin; i < end; i++) {
            q_free[i] = 0;
            if (s->round)
                q[i] = iv_scale(x[i], 1 / sf_of(s, a.v)); /* exact: the code is then rounded once, at the judge */
            else
                q[i] = iv_round(LC_F32, times_factor(s, x[i], a));
            q[i] = before_code(s, q[i]);
        }
    }
    for (int64_t g = s->groups; g < sf_cols(s); g++) { /* SF-6, ragged-pack: byte 0, which means 2^-127 (FMT-3) */
        sf[g] = iv_pt(ldexp(1, -127));
        sf_free[g] = 0;
    }
}

static double load(const struct lc_tensor *t, int64_t row, int64_t col)
{
    const int64_t i = arg_row(t, row) + col;
    return t->dtype == LC_BF16 ? fmt_load(LC_BF16, ((const uint16_t *) t->data)[i]) : (double) ((const float *) t->data)[i];
}

void ref_cast_row(const union op_args *args, int64_t row, const struct ref_got *got, struct ref_want *want)
{
    const struct cast_args *const a = &args->cast;
    for (int64_t i = 0; i < a->d; i++)
        want->y[i] = iv_pt(load(a->t[CAST_X], row, i));
    ref_cast_groups(&a->sf, (enum lc_dtype) a->t[CAST_X]->dtype, a->d, want->y, got->code[CAST_SF], want->at[CAST_OUT],
                    want->free[CAST_OUT], want->at[CAST_SF], want->free[CAST_SF], want);
    if (a->t[CAST_EXTRA_SF]) { /* SF-4: the same bytes once more */
        memcpy(want->at[CAST_EXTRA_SF], want->at[CAST_SF], (size_t) a->sf.groups * sizeof(struct iv));
        memcpy(want->free[CAST_EXTRA_SF], want->free[CAST_SF], (size_t) a->sf.groups);
    }
}

int ref_cast_check(const struct lc_call *call, union op_args *out)
{
    static const char *const name[CAST_TENSORS] = { "x", "out", "sf", "extra_sf" };
    struct cast_args a = { 0 };
    for (int i = 0; i < CAST_TENSORS; i++)
        a.t[i] = arg_tensor(call, name[i]);
    bool extra = false;
    int status = arg_switch(call, "extra_sf", false, "SF-4", &extra);
    if (status)
        return status;
    const int64_t dialect = arg_int(call, "dialect", CAST_USUAL);
    if (dialect < 0 || dialect >= CAST_DIALECTS)
        return arg_refuse(call, "dialect", "CAST-9", "%lld: no such dialect", (long long) dialect);
    a.sf.dialect = (enum cast_dialect) dialect;
    if (!extra)
        a.t[CAST_EXTRA_SF] = NULL;
    const struct lc_tensor *const x = a.t[CAST_X], *const q = a.t[CAST_OUT];
    if (!x || !q)
        return arg_refuse(call, x ? "out" : "x", "CAST-10", "not given");
    status = arg_is_view(call, x, "CAST-10");
    if (!status)
        status = arg_dtype(call, x, "CAST-10", 1u << LC_BF16 | 1u << LC_F32);
    if (status)
        return status;
    arg_dims(x, &a.batch, &a.m, &a.d);
    if (a.d < 1)
        return arg_refuse(call, "x", "CAST-10", "d = %lld: must be at least 1", (long long) a.d);
    if (x->stride[x->rank - 1] != 1)
        return arg_refuse(call, "x", "CAST-10", "stride(-1) = %lld: must be 1", (long long) x->stride[x->rank - 1]);
    status = arg_is_view(call, q, "CAST-10");
    if (!status)
        status = arg_dtype(call, q, "CAST-10", 1u << LC_E4M3 | 1u << LC_E2M1X2);
    a.sf.e2m1 = q->dtype == LC_E2M1X2;
    if (!status && a.sf.e2m1 && a.d % 2)
        return arg_refuse(call, "x", "CAST-10", "d = %lld: E2M1 codes go two a byte, d must be even", (long long) a.d);
    struct lc_tensor codes = *x; /* (.., d/2) bytes of two */
    codes.shape[codes.rank - 1] /= a.sf.e2m1 ? 2 : 1;
    if (!status)
        status = arg_same_shape(call, q, &codes, "CAST-10");
    if (!status)
        status = arg_contiguous(call, q, "CAST-10");
    if (!status)
        status = arg_sf(call, x, a.t[CAST_SF], a.t[CAST_EXTRA_SF], &a.sf);
    if (status)
        return status;
    const struct lc_tensor sf = sf_whole(&a.sf, a.t[CAST_SF]);
    struct lc_tensor extra_sf = { 0 };
    if (extra)
        extra_sf = sf_extra_whole(&a.sf, a.t[CAST_EXTRA_SF]);
    const struct lc_tensor *const outs[3] = { q, &sf, extra ? &extra_sf : NULL };
    status = arg_no_overlap(call, &x, 1, outs, 3, NULL, "DET-4");
    if (!status)
        out->cast = a;
    return status;
}
