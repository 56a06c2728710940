/* SPDX-License-Identifier: Apache-2.0 */
/* RMS-1..9, 11..13: the operator `rmsnorm`, with the cast of plain_cast.c behind it (RMS-6). */
#include "plain.h"

#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>

struct row {
    enum rmsnorm_dialect dialect; /* RMS-13 */
    const struct rmsnorm_args *a;
    const struct plain_knobs *k;
    enum mutant mut;
    const uint16_t *x, *res; /* this row; res NULL without residual */
    float rstd;
    float before; /* the sum of the row before */
    int64_t row;
};

static float x_at(const struct row *w, int64_t i)
{
    const float x = plain_from_bf16(w->x[i]);
    if (w->mut == MUT_rms_ftz && fabsf(x) < FLT_MIN)
        return copysignf(0, x); /* FMT-5 */
    return x;
}

/* RMS-1: r = RN_bf16(x + residual). */
static float r_at(const struct row *w, int64_t i)
{
    const enum mutant mut = w->mut;
    if (!w->res || mut == MUT_rms_residual_ignored || mut == MUT_rms_residual_after)
        return x_at(w, i);
    const float sum = x_at(w, i) + plain_from_bf16(w->res[i]);
    if (mut == MUT_rms_residual_f32 || w->dialect == RMS_F32RES)
        return sum; /* R02: dialect f32res */
    if (mut == MUT_rms_residual_zero_sign && sum == 0)
        return 0;
    return plain_from_bf16(plain_bf16(sum, mut == MUT_rms_residual_truncate    ? PLAIN_TRUNCATE
                                           : mut == MUT_rms_residual_ties_away ? PLAIN_AWAY
                                                                               : PLAIN_RN));
}

static float square(const struct row *w, int64_t i)
{
    const enum mutant mut = w->mut;
    const float r = r_at(w, i);
    if (mut == MUT_rms_nan_swallowed && r != r)
        return 0;
    if (mut == MUT_rms_bf16_squares)
        return plain_round(r * r, 8);
    return r * r;
}

/* RMS-3: pairwise sum of elements first, first + step, ... */
static float tree(const struct row *w, int64_t first, int64_t step, int64_t count)
{
    if (count <= 0)
        return 0;
    if (count == 1)
        return square(w, first);
    if (count == 2 && w->k->fma) {
        const float r = r_at(w, first + step);
        return fmaf(r, r, square(w, first));
    }
    const int64_t half = (count + 1) / 2;
    const float sum = tree(w, first, step, half) + tree(w, first + half * step, step, count - half);
    return w->mut == MUT_rms_bf16_partials ? plain_round(sum, 8) : sum; /* R07 */
}

static float lanes(const struct row *w, int64_t n, int64_t of, int64_t lane, int64_t count)
{
    if (count == 1)
        return tree(w, lane, of, (n - lane + of - 1) / of);
    return lanes(w, n, of, lane, count / 2) + lanes(w, n, of, lane + count / 2, count / 2);
}

static float serial(const struct row *w, int64_t n)
{
    float sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += square(w, i);
    return sum;
}

/* RMS-3 with s at a chosen place of its freedom: the double sum is exact to 2^-48, and f32 is rounded inwards.
 */
static double exact_squares(const struct row *w, int64_t first, int64_t count)
{
    const double r = count == 1 ? (double) r_at(w, first) : 0;
    if (count == 1)
        return r * r;
    return exact_squares(w, first, count / 2) + exact_squares(w, first + count / 2, count - count / 2);
}

static float towards(double v, double inner)
{
    const float f = (float) v;
    return fabs(f - inner) > fabs(v - inner) ? nextafterf(f, (float) inner) : f;
}

static float moved_mean(const struct row *w)
{
    const double exact = exact_squares(w, 0, w->a->d) / (double) w->a->d;
    const double bound = (1 - ldexp(1, -24)) * ldexp(exact + w->a->eps, -20), s = exact + w->k->s_end * bound;
    return s < 0 ? 0 : towards(s, exact);
}

static float mean_square(struct row *w)
{
    static int runs;                     /* of MUT_rms_order_by_run */
    static const void *cached_at = NULL; /* of MUT_rms_cached_by_address */
    static float cached;
    const enum mutant mut = w->mut;
    const int64_t d = w->a->d;
    int64_t n = d, of = w->k->lanes > 0 ? w->k->lanes : 1;
    if (w->k->s_end != 0)
        return moved_mean(w);
    if (w->k->by_m)
        of = w->a->m < 4 ? 1024 : 1; /* R22 */
    if (plain_other_order(mut, w->a->t[RMS_X], w->a->m, d, w->row))
        of = 64;
    if (mut == MUT_rms_order_by_run && w->before == 0)
        runs++; /* one more with each call */
    if (mut == MUT_rms_order_by_run)
        of = runs % 2 ? 1024 : 1;
    if (mut == MUT_rms_sum_drops_last)
        n--;
    if (mut == MUT_rms_sum_drops_tail)
        n -= n % 8;
    if (mut == MUT_rms_sum_reads_gap)
        n = (n + 15) / 16 * 16;
    float sum = lanes(w, n, of, 0, of);
    if (mut == MUT_rms_serial)
        sum = serial(w, n);
    if (mut == MUT_rms_nan_leaks)
        sum += 0 * w->before; /* accumulator scaled, not cleared */
    if (mut == MUT_rms_sum_not_cleared)
        sum += w->before;
    if (mut == MUT_rms_shared_accumulator)
        sum = sum + w->before - w->before;
    if (mut == MUT_rms_cached_by_address && w->row == 0) {
        sum = cached_at == w->x ? cached : sum; /* T08 */
        cached_at = w->x, cached = sum;
    }
    w->before = sum;
    if (mut == MUT_rms_mean_of_d_minus_1)
        return sum / (float) (d > 1 ? d - 1 : 1);
    if (mut == MUT_rms_mean_padded)
        return sum / (float) ((d + 31) / 32 * 32);
    if (mut == MUT_rms_mean_bf16)
        return plain_round(sum / (float) d, 8);
    if (mut == MUT_rms_sum_no_mean)
        return sum;
    return w->k->mean_times ? sum * (1.0f / (float) d) : sum / (float) d;
}

/* RMS-4: rstd = fl(1 / sqrt(fl(s + eps))). */
static float rstd_of(const struct row *w, const float s)
{
    const enum mutant mut = w->mut;
    float eps = (float) w->a->eps;
    if (mut == MUT_rms_eps_fixed)
        eps = 1e-5f; /* R10 */
    if (mut == MUT_rms_eps_at_least_1e4 && eps < 1e-4f)
        eps = 1e-4f; /* R10 */
    if (mut == MUT_rms_eps_bf16)
        eps = plain_round(eps, 8);
    if (mut == MUT_rms_eps_before_mean)
        eps /= (float) w->a->d;
    if (mut == MUT_rms_eps_dropped_d1 && w->a->d == 1)
        eps = 0; /* R13 */
    if (mut == MUT_rms_eps_dropped_zero && s == 0)
        eps = 0;
    if (mut == MUT_rms_eps_outside)
        return 1 / (sqrtf(s) + eps); /* R11 */
    float t = s + eps;
    if (mut == MUT_rms_eps_max)
        t = s > eps ? s : eps;
    if (mut == MUT_rms_s_eps_bf16)
        t = plain_round(t, 8);
    const double root = 1 / sqrt((double) t), end = w->k->rstd_end * ldexp(1 - ldexp(1, -24), -22);
    float rstd = w->k->rstd_end != 0 ? towards(root * (1 + end), root) : (float) root;
    if (mut == MUT_rms_rstd_bf16)
        rstd = plain_round(rstd, 8);
    if (mut == MUT_rms_rstd_12_bits)
        rstd = plain_round(rstd, 12); /* an estimate never refined */
    if (mut == MUT_rms_rstd_18_bits)
        rstd *= 1 + ldexpf(1, -18);
    return rstd;
}

static float w_at(const struct row *w, int64_t i)
{
    const struct lc_tensor *const t = w->a->t[RMS_WEIGHT];
    const float v = t->dtype == LC_F32 ? ((const float *) t->data)[i] : plain_from_bf16(((const uint16_t *) t->data)[i]);
    if (w->mut == MUT_rms_weight_bf16)
        return plain_round(v, 8);
    if (w->mut == MUT_gemma_bf16)
        return plain_round(1 + v, 8); /* R06 */
    if (w->mut == MUT_rms_weight_plus_one || w->dialect == RMS_GEMMA)
        return 1 + v;
    return v;
}

/* RMS-5: the 15 ways to multiply four factors. ab first, then c, then d; or ab and cd, then both. */
static const struct order {
    unsigned char a, b, c, d, pairs;
} orders[PLAIN_ORDERS] = {
    { 0, 1, 2, 3, 0 }, { 0, 1, 3, 2, 0 }, { 0, 1, 2, 3, 1 }, { 0, 2, 1, 3, 0 }, { 0, 2, 3, 1, 0 },
    { 0, 2, 1, 3, 1 }, { 0, 3, 1, 2, 0 }, { 0, 3, 2, 1, 0 }, { 0, 3, 1, 2, 1 }, { 1, 2, 0, 3, 0 },
    { 1, 2, 3, 0, 0 }, { 1, 3, 0, 2, 0 }, { 1, 3, 2, 0, 0 }, { 2, 3, 0, 1, 0 }, { 2, 3, 1, 0, 0 },
};

static float y_f32(const struct row *w, int64_t i)
{
    const enum mutant mut = w->mut;
    const struct order o = orders[w->k->order];
    float f[4] = { r_at(w, i), w->rstd, w_at(w, i), (float) w->a->out_scale };
    if (mut == MUT_rms_scale_ignored || mut == MUT_rms_scale_after_cast)
        f[3] = 1;
    if (mut == MUT_rms_scale_absolute)
        f[3] = fabsf(f[3]);
    if (mut == MUT_hf_weight_first)
        return plain_round(f[0] * f[2], 8) * f[1];
    if (mut == MUT_hf_truncates)
        return plain_from_bf16(plain_bf16(f[0] * f[1], PLAIN_TRUNCATE)) * f[2];
    if (mut == MUT_rms_bf16_before_weight || w->dialect == RMS_HF)
        f[0] = plain_round(f[0] * f[1], 8), f[1] = 1; /* R04 */
    const float ab = f[o.a] * f[o.b], y = o.pairs ? ab * (f[o.c] * f[o.d]) : ab * f[o.c] * f[o.d];
    if (mut == MUT_rms_zero_unsigned && y == 0)
        return 0;
    if (mut == MUT_rms_residual_after && w->res)
        return y + plain_from_bf16(w->res[i]);
    return y;
}

/* The BF16 output of RMS-5 and the y_bf of RMS-6. */
static uint16_t y_bf16(const struct row *w, int64_t i)
{
    const enum mutant mut = w->mut;
    const bool truncate = mut == (w->a->cast ? MUT_rms_ybf_truncate : MUT_rms_out_truncate);
    float y = y_f32(w, i);
    if (mut == MUT_rms_out_double_round)
        y = plain_round(y, 17);
    if (mut == MUT_rms_out_flush && fabsf(y) < FLT_MIN)
        y = copysignf(0, y);
    return plain_bf16(y, truncate ? PLAIN_TRUNCATE : mut == MUT_hf_ties_away ? PLAIN_AWAY : PLAIN_RN);
}

static float cast_at(const void *from, int64_t i)
{
    const struct row *const w = from;
    const bool f32 = w->mut == MUT_rms_cast_from_f32 || w->dialect == RMS_F32CAST;
    return f32 ? y_f32(w, i) : plain_from_bf16(y_bf16(w, i)); /* RMS-6 */
}

static void store(const struct row *w, const struct lc_tensor *t, int64_t at, int64_t i)
{
    const float y = y_f32(w, i);
    float *const f32 = t->data;
    if (t->dtype == LC_F32 && w->mut == MUT_rms_reads_out)
        f32[at] = y + 0 * f32[at]; /* beta = 0 times what was there */
    else if (t->dtype == LC_F32)
        f32[at] = y;
    else
        ((uint16_t *) t->data)[at] = y_bf16(w, i);
}

static uint16_t *bf16_row(const struct lc_tensor *t, int64_t m, int64_t row, enum mutant mut)
{
    return t ? (uint16_t *) t->data + plain_row(t, m, row, mut) : NULL;
}

/* RMS-2, RMS-5, RMS-7 without the cast. */
static void store_row(const struct row *w, int64_t row)
{
    const enum mutant mut = w->mut;
    const struct rmsnorm_args *const a = w->a;
    const struct lc_tensor *const out = a->t[RMS_OUT], *const bf16 = a->t[RMS_BF16];
    const int64_t d = mut == MUT_rms_tail_unwritten ? a->d - a->d % 8 : a->d;
    int64_t o = plain_row(out, a->m, row, mut);
    if (mut == MUT_rms_out_stride_of_x)
        o = plain_row(a->t[RMS_X], a->m, row, mut); /* R18 */
    for (int64_t i = 0; i < d; i++) {
        store(w, out, o + i, i);
        uint16_t code = y_bf16(w, i); /* = RN_bf16(out): one f32 y for both */
        if (mut == MUT_rms_bf16_truncate && out->dtype == LC_F32)
            code = plain_bf16(y_f32(w, i), PLAIN_TRUNCATE);
        if (mut == MUT_rms_bf16_ties_away && out->dtype == LC_F32)
            code = plain_bf16(y_f32(w, i), PLAIN_AWAY);
        if (bf16 && !(mut == MUT_rms_bf16_unwritten && out->dtype == LC_F32))
            bf16_row(bf16, a->m, row, mut)[i] = code;
    }
    if (mut == MUT_rms_stray_row_end)
        for (int64_t i = d; i % 16; i++)
            store(w, out, o + i, d - 1);
    if (mut == MUT_rms_stray_gap)
        store(w, out, o + d + 8, 0);
    if (mut == MUT_rms_stray_before && row == 0)
        store(w, out, o - 1, 0);
}

int plain_rmsnorm(const struct lc_call *call, const struct plain_knobs *k, enum mutant mut)
{
    union op_args args;
    const int status = ref_rmsnorm_check(call, &args);
    if (status != LC_OK)
        return plain_refuse(call, status, mut);
    struct rmsnorm_args *const a = &args.rmsnorm;
    const struct lc_tensor *const x = a->t[RMS_X];
    const int64_t d = a->d, rows = a->batch * a->m;
    struct row w = { .dialect = a->dialect, .a = a, .k = k, .mut = mut };
    struct plain_row r = { .s = &a->sf,
                           .k = k,
                           .mut = mut,
                           .batch = a->batch,
                           .m = a->m,
                           .d = d,
                           .at = cast_at,
                           .from = &w,
                           .post = mut == MUT_rms_scale_after_cast ? (float) a->out_scale : 1,
                           .bf16 = a->dialect != RMS_F32CAST,
                           .sf = a->t[RMS_SF],
                           .extra_sf = a->t[RMS_EXTRA_SF] };
    if (mut == MUT_rms_dialect_ignored || mut == MUT_f32res_rounded || mut == MUT_f32cast_rounded)
        w.dialect = RMS_USUAL;
    if (mut == MUT_rms_no_rows && rows == 0)
        abort(); /* R26: a launch of no blocks */
    if (mut == MUT_rms_vector_store && (uintptr_t) a->t[RMS_OUT]->data % 16)
        raise(SIGBUS); /* R16: aligned store */
    if (mut == MUT_rms_shared_misaligned && d / 512 % 4)
        raise(SIGBUS); /* R15: buffer behind d/512 partials */
    if (mut == MUT_rms_hidden_limit && d > 8192)
        return LC_OK; /* R27: launch error never read */
    if (mut == MUT_rms_hangs_on_tail)
        for (volatile int64_t i = 0; i != d; i = (i + 8) % 65536)
            continue;
    if (mut == MUT_rms_reads_off_residual)
        a->t[RMS_RESIDUAL] = arg_tensor(call, "residual");
    if (mut == MUT_rms_writes_off_residual_out)
        a->t[RMS_RESIDUAL_OUT] = arg_tensor(call, "residual_out");
    if (mut == MUT_rms_writes_off_bf16)
        a->t[RMS_BF16] = arg_tensor(call, "bf16");
    const struct lc_tensor *const res = a->t[RMS_RESIDUAL], *const res_out = a->t[RMS_RESIDUAL_OUT];
    for (int64_t row = 0; row < rows; row++) {
        if (mut == MUT_rms_last_row_unwritten && row == rows - 1)
            break;
        w.row = row;
        w.x = bf16_row(x, a->m, row, mut);
        w.res = bf16_row(res, a->m, row, mut);
        if (mut == MUT_rms_residual_stride_of_x && res)
            w.res = (uint16_t *) res->data + plain_row(x, a->m, row, mut);
        if (mut == MUT_rms_base_rounded_down)
            w.x = (const uint16_t *) ((uintptr_t) w.x & ~(uintptr_t) 15); /* R16 */
        w.rstd = rstd_of(&w, mean_square(&w));
        if (a->cast) {
            r.row = row;
            r.out = (uint8_t *) a->t[RMS_OUT]->data + plain_row(a->t[RMS_OUT], a->m, row, mut);
            plain_cast_row(&r);
            uint16_t *const bf16 = bf16_row(a->t[RMS_BF16], a->m, row, mut);
            for (int64_t i = 0; bf16 && i < d; i++)
                bf16[i] = y_bf16(&w, i);
            if (mut == MUT_rms_bf16_unscaled && bf16)
                for (int64_t i = 0; i < d; i++)
                    bf16[i] = plain_bf16(y_f32(&w, i) / (float) a->out_scale, PLAIN_RN);
        } else {
            store_row(&w, row);
        }
        uint16_t *const stored = bf16_row(res_out, a->m, row, mut);
        for (int64_t i = 0; stored && mut != MUT_rms_residual_out_unwritten && i < d; i++) {
            stored[i] = plain_bf16(r_at(&w, i), mut == MUT_f32res_stores_cut ? PLAIN_TRUNCATE : PLAIN_RN); /* RMS-2 */
            if (mut == MUT_rms_residual_out_normed)
                stored[i] = y_bf16(&w, i);
            if (mut == MUT_rms_residual_out_is_x)
                stored[i] = w.x[i];
            if (mut == MUT_rms_residual_out_nan_row && w.rstd != w.rstd)
                stored[i] = 0x7fc0;
        }
        if (mut == MUT_rms_writes_residual && res)
            ((uint16_t *) res->data)[plain_row(res, a->m, row, mut)] ^= 1;
        if (mut == MUT_rms_writes_x)
            ((uint16_t *) x->data)[plain_row(x, a->m, row, mut)] = y_bf16(&w, 0);
    }
    r.row = rows;
    if (a->cast)
        plain_sf_done(&r);
    if (mut == MUT_rms_writes_weight && rows > 0)
        *(uint8_t *) a->t[RMS_WEIGHT]->data ^= 1; /* expanded in place */
    if (mut == MUT_rms_writes_off_sf && !a->cast && arg_tensor(call, "sf"))
        *(uint8_t *) arg_tensor(call, "sf")->data ^= 0x55;
    return LC_OK;
}
