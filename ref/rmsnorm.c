/* SPDX-License-Identifier: Apache-2.0 */
/* RMSNorm with residual add, FP32 statistics and optional E4M3 cast.
 *
 *   r[i]  = RN_bf16(x[i] + residual[i])                     RMS-1; without residual r = x
 *   s     = fl(sum r[i]^2 / d)                              RMS-3, summed exactly
 *   rstd  = fl(1 / sqrt(fl(s + eps)))                       RMS-4
 *   y[i]  = r[i] * rstd * w[i] * out_scale                  RMS-5, in binary64, left to right
 *   out   = RN_out(y), or CAST(RN_bf16(y)) with scales      RMS-5, RMS-6
 *   bf16  = RN_bf16(y) with the cast, else RN_bf16(out)     RMS-6, RMS-7
 *   residual_out = r, bitwise                               RMS-2
 *
 * Dialects   RMS-13: hf y = RN_bf16(RN_bf16(r * rstd) * w); f32res r = fl(x + residual) up to residual_out, which is its
 *            RN_bf16; gemma fl(1 + w) for w; f32cast CAST(y) with y in f32.
 * Source     arXiv:1910.07467; docs/contract.md RMS-1..13.
 * Shapes     x, residual, out, bf16, residual_out (M, d) or (B, M, d); w (d). M = 0 and B = 0 write nothing (RMS-9).
 * Freedom    the order of the sum, the root's last bit, the order of f32 products: |y - v| <= 18 u |v| + underflow.
 * Edges      a NaN makes its row of out NaN and no other (RMS-9); a row with an Inf in r, or sum r^2 >= 2^127, is not judged,
 *            but its residual_out is (RMS-12). A zero keeps the sign of the product (RMS-12, FMT-6). */
#include <math.h>
#include <string.h>

#include "args.h"
#include "wide.h"

static double load(const struct lc_tensor *t, int64_t at)
{
    return t->dtype == LC_BF16 ? fmt_load(LC_BF16, ((const uint16_t *) t->data)[at]) : (double) ((const float *) t->data)[at];
}

static double max2(double a, double b)
{
    return a > b ? a : b;
}

/* What three f32 products of these factors, in any order, can lose to underflow: each product that falls below 2^-126 is
 * off by 2^-150, times the factors still to come. */
static double underflow(double r, double rstd, double w, double scale)
{
    const double one = max2(max2(r, rstd), max2(w, scale));
    const double two = max2(max2(max2(r * rstd, r * w), max2(r * scale, rstd * w)), max2(rstd * scale, w * scale));
    return ldexp(1 + one + 2 * two, -150);
}

bool ref_rms_may_overflow(double r, double rstd, double w, double scale)
{
    return max2(r, 1) * max2(rstd, 1) * max2(w, 1) * max2(scale, 1) >= ldexp(1, 127);
}

static double r_of(const struct rmsnorm_args *a, double sum)
{
    return a->dialect == RMS_F32RES ? rn_f32(sum) : rn_bf16(sum);
}

static double weight(const struct rmsnorm_args *a, int64_t i)
{
    const double w = load(a->t[RMS_WEIGHT], i);
    return a->dialect == RMS_GEMMA ? rn_f32(1 + w) : w; /* where 1 + w is no double, w < 2^-28: far from a midpoint */
}

static void load_row(const struct rmsnorm_args *a, int64_t row, struct iv *r)
{
    const int64_t x = arg_row(a->t[RMS_X], row), res = a->t[RMS_RESIDUAL] ? arg_row(a->t[RMS_RESIDUAL], row) : 0;
    for (int64_t i = 0; i < a->d; i++) {
        double v = load(a->t[RMS_X], x + i);
        if (a->t[RMS_RESIDUAL])
            v = r_of(a, v + load(a->t[RMS_RESIDUAL], res + i)); /* RMS-1; the sum in a double rounds as the real one would */
        r[i] = iv_pt(v);
    }
}

int64_t ref_rms_exp_weight(const struct lc_tensor *w_log, const struct lc_tensor *w)
{
    const int64_t d = w->shape[0];
    for (int64_t i = 0; i < d; i++)
        if (!isfinite(rn_exp(w->dtype, load(w_log, i))))
            return i;
    for (int64_t i = 0; i < d; i++) {
        const double v = rn_exp(w->dtype, load(w_log, i)); /* RMS-10 */
        if (w->dtype == LC_F32)
            ((float *) w->data)[i] = (float) v;
        else
            ((uint16_t *) w->data)[i] = (uint16_t) fmt_code(LC_BF16, v);
    }
    return d;
}

struct ref_rms ref_rms_statistics(int64_t d, const struct iv *r, double eps)
{
    struct acc squares;
    acc_clear(&squares);
    bool has_inf = false, has_nan = false;
    for (int64_t i = 0; i < d; i++) {
        has_inf = has_inf || isinf(r[i].v);
        has_nan = has_nan || isnan(r[i].v);
        if (isfinite(r[i].v))
            acc_add(&squares, r[i].v * r[i].v); /* exact */
    }
    if (has_inf || has_nan)
        return (struct ref_rms) { NAN, 0, !has_inf };
    const double s = acc_mean_f32(&squares, d);        /* RMS-3 */
    const double rstd = rn_f32_rsqrt(rn_f32(s + eps)); /* RMS-4 */
    const double slack = ldexp((double) d, -149) / (s + eps);
    return (struct ref_rms) { rstd, slack, acc_double(&squares) < ldexp(1, 127) && slack <= 0.5 };
}

struct iv ref_rms_y(double r, struct ref_rms row, double w, double scale)
{
    const double v = ((r * row.rstd) * w) * scale;
    if (isnan(v) || v == 0)
        return iv_pt(v); /* a zero factor is exact in every order; NaN is a class */

    const double relative = ldexp(REF_RMSNORM_K, -24) + row.slack; /* (1 - t)^(-1/2) <= 1 + t for t <= 1/2 */
    struct iv y = iv_widen(iv_pt(v), relative * fabs(v) + underflow(fabs(r), row.rstd, fabs(w), fabs(scale)));
    if (v > 0 && y.lo < 0)
        y.lo = 0; /* underflow keeps the sign */
    if (v < 0 && y.hi > 0)
        y.hi = -0.0;
    return y;
}

/* RMS-13, hf: an internal rounding of r * rstd, both ends, and the product with w behind it. */
static struct iv y_of_hf(double r, struct ref_rms row, double w)
{
    const double n = r * row.rstd;
    if (isnan(n) || n == 0 || !isfinite(w))
        return iv_pt(n * w);

    const double relative = ldexp(REF_RMSNORM_HF_K, -24) + row.slack;
    const struct iv n_bf = iv_round(LC_BF16, iv_widen(iv_pt(n), relative * fabs(n) + ldexp(1, -150)));
    const struct iv y = iv_scale(n_bf, w);
    const bool exact = y.lo == rn_f32(y.lo) && y.v == rn_f32(y.v) && y.hi == rn_f32(y.hi); /* always where w is BF16 */
    return exact ? y : iv_widen(y, ldexp(fmax(fabs(y.lo), fabs(y.hi)), -24) + ldexp(1, -150));
}

void ref_rmsnorm_row(const union op_args *args, int64_t row, const struct ref_got *got, struct ref_want *want)
{
    const struct rmsnorm_args *const a = &args->rmsnorm;
    const struct lc_tensor *const out = a->t[RMS_OUT], *const bf16 = a->t[RMS_BF16];
    struct iv *const y = want->y;
    load_row(a, row, y);
    const struct ref_rms stat = ref_rms_statistics(a->d, y, a->eps);
    if (a->t[RMS_RESIDUAL_OUT]) {
        for (int64_t i = 0; i < a->d; i++)
            want->at[RMS_RESIDUAL_OUT][i] = iv_round(LC_BF16, y[i]); /* RMS-2; f32res: its RN_bf16, else r is one */
        memset(want->free[RMS_RESIDUAL_OUT], 0, (size_t) a->d);
    }
    uint8_t *const q_free = want->free[RMS_OUT];
    for (int64_t i = 0; i < a->d; i++) {
        const double r = y[i].v, w = weight(a, i);
        y[i] = want->given_y          ? want->given_y[i]
               : a->dialect == RMS_HF ? y_of_hf(r, stat, w)
                                      : ref_rms_y(r, stat, w, a->out_scale);
        q_free[i] = !stat.judged || ref_rms_may_overflow(fabs(r), stat.rstd, fabs(w), fabs(a->out_scale));
        if (q_free[i])
            y[i] = iv_pt(INFINITY); /* to the cast as to the judge: unspecified (CAST-7, RMS-12) */
    }
    if (bf16)
        memcpy(want->free[RMS_BF16], q_free, (size_t) a->d);
    if (!a->cast) {
        memcpy(want->at[RMS_OUT], y, (size_t) a->d * sizeof *y);
        const enum lc_dtype f = (enum lc_dtype) out->dtype;
        for (int64_t i = 0; bf16 && i < a->d; i++) {
            const struct iv returned = pick(f, y[i], got->code[RMS_OUT] ? &got->code[RMS_OUT][i] : NULL);
            want->at[RMS_BF16][i] = iv_round(LC_BF16, iv_round(f, returned)); /* RMS-7 */
        }
        return;
    }
    struct iv *const y_bf = want->at[RMS_OUT]; /* the cast works in place */
    for (int64_t i = 0; i < a->d; i++) {
        want->ambiguous += !iv_is_nan(y[i]) && !iv_is_pt(iv_round(LC_BF16, y[i]));
        if (bf16)
            want->at[RMS_BF16][i] = y[i];
        if (a->dialect == RMS_F32CAST)
            y_bf[i] = iv_round(LC_F32, y[i]); /* RMS-6, f32cast: an f32 that no output shows */
        else
            y_bf[i] = iv_round(LC_BF16, pick(LC_BF16, y[i], got->code[RMS_BF16] ? &got->code[RMS_BF16][i] : NULL)); /* RMS-6 */
    }
    const enum lc_dtype y_fmt = a->dialect == RMS_F32CAST ? LC_F32 : LC_BF16;
    ref_cast_groups(&a->sf, y_fmt, a->d, y_bf, got->code[RMS_SF], y_bf, q_free, want->at[RMS_SF], want->free[RMS_SF], want);
    if (a->t[RMS_EXTRA_SF]) {
        memcpy(want->at[RMS_EXTRA_SF], want->at[RMS_SF], (size_t) a->sf.groups * sizeof *y);
        memcpy(want->free[RMS_EXTRA_SF], want->free[RMS_SF], (size_t) a->sf.groups);
    }
}

/* RMS-8: x, residual, out, bf16, residual_out */
static int check_rows(const struct lc_call *call, const struct lc_tensor *t, const struct lc_tensor *x, unsigned dtypes)
{
    int status = arg_is_view(call, t, "RMS-8");
    if (!status)
        status = arg_dtype(call, t, "RMS-8", dtypes);
    if (!status && (t->rank < 2 || t->rank > 3))
        return arg_refuse(call, t->name, "RMS-8", "rank %d: must be 2 or 3", (int) t->rank);
    if (!status)
        status = arg_same_shape(call, t, x, "RMS-8");
    if (status)
        return status;
    if (t->shape[t->rank - 1] < 1)
        return arg_refuse(call, t->name, "RMS-9", "d = %lld: must be at least 1", (long long) t->shape[t->rank - 1]);
    if (t->stride[t->rank - 1] != 1)
        return arg_refuse(call, t->name, "RMS-8", "stride(-1) = %lld: must be 1", (long long) t->stride[t->rank - 1]);
    for (int i = 0; i < t->rank - 1; i++)
        if (t->shape[i] > 1 && t->stride[i] % 16)
            return arg_refuse(call, t->name, "RMS-8", "stride[%d] = %lld: must be a multiple of 16 elements", i,
                              (long long) t->stride[i]);
    return LC_OK;
}

int ref_rmsnorm_check(const struct lc_call *call, union op_args *out)
{
    static const char *const name[RMS_TENSORS] = { "x", "residual", "weight", "out", "bf16", "residual_out", "sf", "extra_sf" };
    struct rmsnorm_args a = { 0 };
    bool residual = false, bf16 = false, extra = false;
    int status = arg_switch(call, "residual", false, "RMS-7", &residual);
    if (!status)
        status = arg_switch(call, "return_bf16", false, "RMS-7", &bf16);
    if (!status)
        status = arg_switch(call, "cast", false, "RMS-7", &a.cast);
    if (!status && a.cast)
        status = arg_switch(call, "extra_sf", false, "SF-4", &extra);
    if (status)
        return status;
    const bool on[RMS_TENSORS] = { true, residual, true, true, bf16, residual, a.cast, extra };
    for (int i = 0; i < RMS_TENSORS; i++) {
        a.t[i] = on[i] ? arg_tensor(call, name[i]) : NULL; /* RMS-11 */
        if (on[i] && !a.t[i] && i != RMS_EXTRA_SF && i != RMS_SF)
            return arg_refuse(call, name[i], "RMS-7", "not given");
    }
    const int64_t dialect = arg_int(call, "dialect", RMS_USUAL);
    if (dialect < 0 || dialect >= RMS_DIALECTS)
        return arg_refuse(call, "dialect", "RMS-13", "%lld: no such dialect", (long long) dialect);
    a.dialect = (enum rmsnorm_dialect) dialect;
    a.eps = arg_real(call, "eps", 0);
    a.out_scale = arg_real(call, "out_scale", 1);
    if (!(a.eps > 0 && isfinite(a.eps)) || rn_f32(a.eps) != a.eps)
        return arg_refuse(call, "eps", "RMS-12", "%g: must be a positive finite f32", a.eps);
    if (!isfinite(a.out_scale) || rn_f32(a.out_scale) != a.out_scale)
        return arg_refuse(call, "out_scale", "RMS-12", "%g: must be a finite f32", a.out_scale);
    if (a.dialect == RMS_HF && a.out_scale != 1)
        return arg_refuse(call, "out_scale", "RMS-13", "%g: dialect hf has none", a.out_scale);

    const struct lc_tensor *const x = a.t[RMS_X], *const w = a.t[RMS_WEIGHT];
    const unsigned only_bf16 = 1u << LC_BF16, f32_too = a.dialect == RMS_HF ? 0 : 1u << LC_F32; /* RMS-13: hf's y is BF16 */
    const unsigned out_types = a.cast ? 1u << LC_E4M3 : only_bf16 | f32_too;
    status = check_rows(call, x, x, only_bf16);
    if (!status)
        status = arg_is_view(call, w, "RMS-8");
    if (!status)
        status = arg_dtype(call, w, "RMS-5", 1u << LC_BF16 | 1u << LC_F32);
    if (status)
        return status;
    arg_dims(x, &a.batch, &a.m, &a.d);
    if (w->rank != 1 || w->shape[0] != a.d)
        return arg_refuse(call, "weight", "RMS-5", "shape[0] = %lld, rank %d: must be (%lld)", (long long) w->shape[0],
                          (int) w->rank, (long long) a.d);
    status = arg_contiguous(call, w, "RMS-8");
    if (!status && residual)
        status = check_rows(call, a.t[RMS_RESIDUAL], x, only_bf16);
    if (!status)
        status = a.cast ? arg_is_view(call, a.t[RMS_OUT], "CAST-10") : check_rows(call, a.t[RMS_OUT], x, out_types);
    if (!status && a.cast)
        status = arg_dtype(call, a.t[RMS_OUT], "RMS-7", out_types);
    if (!status && a.cast)
        status = arg_same_shape(call, a.t[RMS_OUT], x, "RMS-8");
    if (!status && a.cast)
        status = arg_contiguous(call, a.t[RMS_OUT], "CAST-10");
    if (!status && bf16)
        status = check_rows(call, a.t[RMS_BF16], x, only_bf16);
    if (!status && residual)
        status = check_rows(call, a.t[RMS_RESIDUAL_OUT], x, only_bf16);
    if (!status && a.cast)
        status = arg_sf(call, x, a.t[RMS_SF], a.t[RMS_EXTRA_SF], &a.sf);
    if (status)
        return status;

    struct lc_tensor sf = { 0 }, extra_sf = { 0 };
    if (a.cast)
        sf = sf_whole(&a.sf, a.t[RMS_SF]);
    if (extra)
        extra_sf = sf_extra_whole(&a.sf, a.t[RMS_EXTRA_SF]);
    const struct lc_tensor *const ins[3] = { x, a.t[RMS_RESIDUAL], w };
    const struct lc_tensor *const outs[5] = { a.t[RMS_OUT], a.t[RMS_BF16], a.t[RMS_RESIDUAL_OUT], a.cast ? &sf : NULL,
                                              extra ? &extra_sf : NULL };
    const bool same = bf16 && !a.cast && a.t[RMS_OUT]->dtype == LC_BF16; /* RMS-7: the one exception */
    if (same && a.batch * a.m > 0 && a.t[RMS_BF16]->data != a.t[RMS_OUT]->data)
        return arg_refuse(call, "bf16", "RMS-7", "data = %p: where out is BF16 it is the same storage as out",
                          a.t[RMS_BF16]->data);
    for (int i = 0; same && i < x->rank - 1; i++)
        if (x->shape[i] > 1 && a.t[RMS_BF16]->stride[i] != a.t[RMS_OUT]->stride[i])
            return arg_refuse(call, "bf16", "RMS-7", "stride[%d] = %lld: where out is BF16 it is the same view as out", i,
                              (long long) a.t[RMS_BF16]->stride[i]);
    const struct lc_tensor *const alias[2] = { a.t[RMS_OUT], a.t[RMS_BF16] };
    status = arg_no_overlap(call, ins, 3, outs, 5, same ? alias : NULL, "RMS-2");
    if (!status)
        out->rmsnorm = a;
    return status;
}
