/* SPDX-License-Identifier: Apache-2.0 */
/* Cast to E4M3 with one scale per G channels of a token.
 *
 *   amax[g] = max over i in g of |x[i]|, at least fl(1e-4)                         CAST-1, CAST-2
 *   sf[g]   = fl(amax / 448);   round_sf: 2^ceil(log2(amax / 448))                 CAST-3, CAST-4
 *   q[i]    = E4M3(fl(x[i] * fl(448 / amax)));   round_sf: E4M3(x[i] / sf)         CAST-5
 *
 * Shapes     x (M, d) or (B, M, d), BF16 or F32, any strides but stride(-1) = 1; q like x, contiguous; sf: ref/sf.c.
 * Precision  amax is exact; with round_sf the product is exact too, so q is rounded once. E4M3 is RN, then saturates to
 *            +-448, the sign kept also for zero (FMT-2, FMT-6).
 * Edges      the last group may be short (CAST-1); a zero group has the clamp's scale (CAST-6); a NaN is NaN in its own code,
 *            and the rest of a group with a NaN or an Inf is unspecified (CAST-7).
 * Fused operators cast values that are only known as a hull: the same steps, end by end. A scale is then legal if some
 * admissible amax gives it, and the codes are judged under the scale that the kernel chose. */
#include <math.h>
#include <string.h>

#include "args.h"

static const double e4m3_max = 448;

static double amax_floor(void)
{
    return rn_f32(1e-4); /* CAST-2 */
}

static double sf_of(const struct sf_args *s, double amax)
{
    return s->round
               ? ldexp(1, ceil_log2(amax / e4m3_max)) /* CAST-4; the quotient by 448 = 7 * 2^6 hits no power of two by rounding */
               : rn_f32_div(amax, e4m3_max);          /* CAST-3 */
}

/* The scale's hull is not the judge's: of the values between two legal scales none is legal. A legal scale of the kernel
 * becomes the interval, and anything else is held against the nominal one. */
static struct iv scale_of(const struct sf_args *s, enum lc_dtype x_fmt, struct iv amax, const uint32_t *got, double *chosen)
{
    const enum lc_dtype f = s->packed ? LC_UE8M0 : LC_F32;
    const double nominal = sf_of(s, amax.v);
    *chosen = amax.v;
    if (!got || iv_is_pt(amax))
        return iv_pt(nominal);
    const double sf = fmt_load(f, *got);
    if (s->round) {
        if (sf != sf_of(s, amax.lo) && sf != sf_of(s, amax.hi))
            return iv_pt(nominal);
        *chosen = sf_of(s, amax.lo) == sf ? amax.lo : amax.hi;
    } else { /* amax is a value of x's format, so the kernel's scale tells which */
        const double a = rn(x_fmt, e4m3_max * sf) > amax_floor() ? rn(x_fmt, e4m3_max * sf) : amax_floor();
        if (!(amax.lo <= a && a <= amax.hi) || sf != sf_of(s, a))
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
        struct iv amax = iv_pt(amax_floor());
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
                q_free[i] = !iv_is_nan(x[i]);
            }
            continue;
        }
        if (sf_of(s, amax.lo) != sf_of(s, amax.hi))
            count->two_scale++;
        double a;
        sf[g] = scale_of(s, x_fmt, amax, got_sf ? &got_sf[g] : NULL, &a);
        for (int64_t i = begin; i < end; i++) {
            q_free[i] = 0;
            if (s->round)
                q[i] = iv_scale(x[i], 1 / sf_of(s, a)); /* exact: E4M3 then rounds once, at the judge */
            else
                q[i] = iv_round(LC_F32, iv_scale(x[i], rn_f32_div(e4m3_max, a))); /* a product of two f32 is exact in a double */
        }
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
        status = arg_dtype(call, q, "CAST-10", 1u << LC_E4M3);
    if (!status)
        status = arg_same_shape(call, q, x, "CAST-10");
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
