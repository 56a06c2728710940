/* SPDX-License-Identifier: Apache-2.0 */
/* KV-1 in plain f32: norm, rotation, Hadamard transform of one head. */
#include "plain_kv.h"

#include <math.h>
#include <string.h>

/* ---- norm: RMS-3..5 ---- */

static float tree(const struct kv_head *h, const float *x, int64_t n)
{
    if (n == 1)
        return *x * *x;
    if (n == 2 && h->k->fma)
        return fmaf(x[1], x[1], x[0] * x[0]);
    return tree(h, x, n - n / 2) + tree(h, x + (n - n / 2), n / 2);
}

static float towards(double v, double inner)
{
    const float f = (float) v;
    return fabs(f - inner) > fabs(v - inner) ? nextafterf(f, (float) inner) : f;
}

static double exact_squares(const float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double) x[i] * x[i];
    return sum;
}

static float rstd_of(struct kv_head *h, const float *x, int64_t n)
{
    const enum mutant mut = h->mut;
    const float eps = (float) h->a->eps;
    if (mut == MUT_kv_sum_drops_last)
        n--;
    float s = tree(h, x, n) / (float) (mut == MUT_kv_sum_drops_last ? n + 1 : n);
    if (h->k->s_end != 0) {
        const double exact = exact_squares(x, n) / (double) n, bound = (1 - ldexp(1, -24)) * ldexp(exact + eps, -20);
        s = exact + h->k->s_end * bound < 0 ? 0 : towards(exact + h->k->s_end * bound, exact);
    }
    if (mut == MUT_kv_eps_outside)
        return 1 / (sqrtf(s) + eps);
    if (mut == MUT_kv_eps_fixed)
        return 1 / sqrtf(s + 1e-5f);
    const double root = 1 / sqrt((double) (s + eps)), end = h->k->rstd_end * ldexp(1 - ldexp(1, -24), -22);
    return h->k->rstd_end != 0 ? towards(root * (1 + end), root) : (float) root;
}

static float weight(const struct kv_head *h, int64_t i)
{
    const struct lc_tensor *const t = h->a->t[KV_WEIGHT];
    if (h->mut == MUT_kv_weight_moves)
        i = (i + h->head) % h->a->d;
    if (h->mut == MUT_kv_weight_wraps)
        i %= 1024;
    const float w = t->dtype == LC_F32 ? ((const float *) t->data)[i] : plain_from_bf16(((const uint16_t *) t->data)[i]);
    if (h->mut == MUT_kv_weight_nan_0 && w != w)
        return 0;
    if (h->mut == MUT_kv_weight_0_is_1 && w == 0)
        return 1;
    return h->mut == MUT_kv_weight_ftz && fabsf(w) < 0x1p-126f ? 0 : w;
}

static float x_at(const struct kv_head *h, int64_t head, int64_t i)
{
    const struct lc_tensor *const x = h->a->t[KV_X];
    int64_t token_stride = x->stride[0], head_stride = x->rank == 3 ? x->stride[1] : 0;
    if (h->mut == MUT_kv_x_token_dense)
        token_stride = h->a->heads * h->a->d;
    if (h->mut == MUT_kv_x_head_dense)
        head_stride = h->a->d;
    if (h->mut == MUT_kv_x_rank_2 && x->rank == 2)
        token_stride = x->stride[1]; /* K06: one dimension off */
    return plain_from_bf16(((const uint16_t *) x->data)[h->token * token_stride + head * head_stride + i]);
}

static void norm(struct kv_head *h, float *v)
{
    static float all[MOST_D * 8];
    const int64_t d = h->a->d;
    const enum mutant mut = h->mut;
    const float of_before = h->rstd;
    for (int64_t i = 0; mut == MUT_kv_nan_swallowed && i < d; i++)
        v[i] = v[i] != v[i] ? 0 : v[i];
    if (mut == MUT_kv_norm_all_heads && h->a->heads * d <= MOST_D * 8) {
        for (int64_t i = 0; i < h->a->heads * d; i++)
            all[i] = x_at(h, i / d, i % d);
        h->rstd = rstd_of(h, all, h->a->heads * d);
    } else
        h->rstd = rstd_of(h, v, d);
    float rstd = h->rstd;
    if (mut == MUT_kv_rstd_of_before && (h->token > 0 || h->head > 0))
        rstd = of_before; /* R24: the buffer is read before it is written anew */
    if (mut == MUT_kv_nan_leaks)
        rstd += 0 * of_before;
    for (int64_t i = 0; i < d; i++) {
        if (mut == MUT_kv_bf16_before_weight)
            v[i] = plain_round(v[i] * rstd, 8) * weight(h, i);
        else if (h->k->order == 0)
            v[i] = v[i] * rstd * weight(h, i);
        else
            v[i] = h->k->order == 1 ? v[i] * weight(h, i) * rstd : rstd * weight(h, i) * v[i];
    }
}

/* ---- rope: APPLY-1, APPLY-2 ---- */

int64_t plain_kv_index(const struct lc_tensor *t, int64_t i)
{
    return t->dtype == LC_I32 ? ((const int32_t *) t->data)[i] : ((const int64_t *) t->data)[i];
}

static float table_at(const struct kv_head *h, int64_t row, int64_t col)
{
    const struct lc_tensor *const t = h->a->t[KV_TABLE];
    const int64_t at = row * h->a->rotary_dim + col;
    const float v = t->dtype == LC_F32 ? ((const float *) t->data)[at] : plain_from_bf16(((const uint16_t *) t->data)[at]);
    return h->mut == MUT_kv_table_ftz && fabsf(v) < 0x1p-126f ? 0 : v;
}

/* p*c + q*s. exact: with a BF16 table the products have no rounding. */
static float turned(const struct kv_head *h, float p, float c, float q, float s, bool exact)
{
    const double pc = (double) p * c, qs = (double) q * s, edge = h->k->kv_turn;
    if (edge != 0 && (pc != 0 || qs != 0) && isfinite(pc + qs) && fabs(pc) + fabs(qs) < ldexp(1, 126)) {
        const double v = pc + qs, out = v + edge * ldexp((exact ? 1 : 2) * (fabs(pc) + fabs(qs)), -24);
        return fabs(edge) <= 1 ? towards(out, v) : (float) out;
    }
    if (h->k->kv_fma == 1)
        return fmaf(p, c, q * s);
    if (h->k->kv_fma == 2)
        return fmaf(q, s, p * c);
    return p * c + q * s;
}

static void rotate(const struct kv_head *h, float *v)
{
    const struct kv_store_args *const a = h->a;
    const enum mutant mut = h->mut;
    const bool exact = a->t[KV_TABLE]->dtype == LC_BF16 && (!a->norm || a->bf16_stages);
    int64_t pairs = a->rotary_dim / 2, offset = a->offset, row = plain_kv_index(a->t[KV_POSITIONS], h->token);
    bool interleaved = a->interleaved;
    if (mut == MUT_kv_positions_32 && a->t[KV_POSITIONS]->dtype == LC_I64)
        row = ((const int32_t *) a->t[KV_POSITIONS]->data)[h->token]; /* K15, P12 */
    if (mut == MUT_kv_position_16_bits)
        row &= 0xffff;
    if (mut == MUT_kv_position_11_bits)
        row &= 0x7ff;
    if (mut == MUT_kv_positions_are_tokens)
        row = h->token % a->t[KV_TABLE]->shape[0];
    if (mut == MUT_kv_rot_whole_head)
        pairs = a->d / 2, offset = 0; /* P02 */
    if (mut == MUT_kv_offset_ignored)
        offset = 0;
    if (mut == MUT_kv_offset_even && interleaved)
        offset -= offset % 2;
    if (mut == MUT_kv_rope_always_neox)
        interleaved = false;
    for (int64_t i = 0; i < pairs; i++) {
        const int64_t half = a->rotary_dim / 2, of = i % half;
        int64_t at_cos = of, at_sin = half + of;
        if (mut == MUT_kv_table_interleaved)
            at_cos = 2 * of, at_sin = 2 * of + 1;
        float *const p = v + offset + (interleaved ? 2 * i : i), *const q = interleaved ? p + 1 : p + pairs;
        const float c = table_at(h, row, at_cos), x = *p, y = *q;
        float s = table_at(h, row, at_sin);
        if (a->conjugate && mut != MUT_kv_conjugate_ignored)
            s = -s;
        *p = turned(h, x, c, y, -s, exact);
        *q = turned(h, y, c, x, s, exact);
    }
}

/* ---- hadamard: HAD-1..3 ---- */

static void stages(float *v, int64_t n, int order, enum mutant mut)
{
    for (int64_t bit = 1; bit < n; bit *= 2) {
        const int64_t b = order == 1 ? n / 2 / bit : bit;
        if ((mut == MUT_kv_had_last_stage && 2 * bit == n) || (mut == MUT_kv_had_512 && bit == 512) ||
            (mut == MUT_kv_had_8192 && bit == 8192))
            break;
        for (int64_t i = 0; i < n; i++)
            if (!(i & b)) {
                const float p = v[i], q = v[i | b];
                v[i] = p + q;
                v[i | b] = p - q;
            }
    }
}

/* HAD-5 holds: nothing is free. */
static bool is_exact(const float *x, int64_t n, double magnitude)
{
    int lowest = 1000;
    for (int64_t i = 0; i < n; i++) {
        int exp;
        double sig = frexp(x[i], &exp);
        for (; sig != floor(sig); sig *= 2)
            exp--;
        if (x[i] != 0 && isfinite(x[i]) && exp < lowest)
            lowest = exp;
    }
    return magnitude <= ldexp(1, 24 + lowest);
}

/* The exact sum, pushed aside by so many times what HAD-3 admits. */
static void push(const struct kv_head *h, float *v, const float *before, double scale)
{
    static double sum[MOST_D];
    const int64_t n = h->a->d;
    double magnitude = 0, of = 2;
    for (int64_t i = 0; i < n; i++) {
        sum[i] = (double) before[i];
        magnitude += fabs(sum[i]);
    }
    for (int64_t bit = 1; bit < n; bit *= 2, of++)
        for (int64_t i = 0; i < n; i++)
            if (!(i & bit)) {
                const double p = sum[i], q = sum[i | bit];
                sum[i] = p + q;
                sum[i | bit] = p - q;
            }
    if (!(magnitude < ldexp(1, 126)) || is_exact(before, n, magnitude))
        return;
    for (int64_t i = 0; i < n; i++) {
        const double real = scale * sum[i], edge = real + h->k->edge * ldexp(of * fabs(scale) * magnitude, -24);
        v[i] = fabs(h->k->edge) <= 1 ? towards(edge, real) : (float) edge;
    }
}

static void transform(const struct kv_head *h, float *v)
{
    static float before[MOST_D];
    const struct kv_store_args *const a = h->a;
    const enum mutant mut = h->mut;
    int64_t n = a->d, from = 0;
    float scale = (float) a->scale;
    if (mut == MUT_kv_had_rotated_only && a->rope)
        n = a->rotary_dim, from = a->offset;
    if (mut == MUT_kv_had_no_scale)
        scale = 1;
    if (mut == MUT_kv_had_scale_ignored)
        scale = 1 / sqrtf((float) n);
    memcpy(before, v, (size_t) a->d * sizeof *v);
    stages(v + from, n, h->k->order, mut);
    for (int64_t i = 0; i < n; i++)
        v[from + i] *= scale;
    if (h->k->edge != 0)
        push(h, v, before, (double) scale);
}

/* ---- all stages ---- */

static void stage_end(const struct kv_head *h, float *v, bool last)
{
    const enum mutant mut = h->mut;
    const bool round = h->a->bf16_stages ? mut != MUT_kv_f32_stages && !(mut == MUT_kv_f32_last && last)
                                         : mut == MUT_kv_bf16_stages && !last;
    for (int64_t i = 0; round && i < h->a->d; i++)
        v[i] = plain_round(v[i], 8);
}

void plain_kv_stages(struct kv_head *h, int64_t head, float *v)
{
    const struct kv_store_args *const a = h->a;
    const enum mutant mut = h->mut;
    const bool early = mut == MUT_kv_had_before_rope && a->rope && a->hadamard;
    for (int64_t i = 0; i < a->d; i++)
        v[i] = x_at(h, head, i);
    bool special = false;
    for (int64_t i = 0; !a->norm && i < a->d; i++) {
        special = special || !isfinite(v[i]);
        if (mut == MUT_kv_swallowed_unnormed && !isfinite(v[i]))
            v[i] = 0;
    }
    for (int64_t i = 0; mut == MUT_kv_nan_spreads && special && i < a->d; i++)
        v[i] = NAN;
    if (mut == MUT_kv_rope_before_norm && a->rope)
        rotate(h, v);
    if (a->norm) {
        norm(h, v);
        stage_end(h, v, !a->rope && !a->hadamard);
    }
    if (early)
        transform(h, v);
    if (a->rope && mut != MUT_kv_rope_before_norm) {
        rotate(h, v);
        stage_end(h, v, !a->hadamard);
    }
    if (a->hadamard && !early) {
        transform(h, v);
        stage_end(h, v, true);
    }
}
