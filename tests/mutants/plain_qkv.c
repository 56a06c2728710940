/* SPDX-License-Identifier: Apache-2.0 */
/* QKV-1..5 in plain f32, a head at a time. */
#include "plain.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_D = 4096 };

struct head { /* one head of q or k */
    const struct qkv_args *a;
    const struct plain_knobs *k;
    enum mutant mut;
    enum qkv_dialect dialect;
    bool is_k;
    int64_t row, h;    /* among those of q, or of k */
    const uint16_t *x; /* D elements */
    const uint16_t *token;
    float rstd;
};

static float element(const struct lc_tensor *t, int64_t i)
{
    return t->dtype == LC_F32 ? ((const float *) t->data)[i] : plain_from_bf16(((const uint16_t *) t->data)[i]);
}

/* ---- QKV-1, where a head of x lies ---- */

static int64_t head_place(const struct qkv_args *a, bool is_k, int64_t h, enum mutant mut)
{
    const int64_t d = a->head_dim, width = (a->heads_q + 2 * a->heads_kv) * d;
    if (!is_k)
        return h * d;
    if (mut == MUT_qkv_thirds)
        return width / 3 + h * d;
    if (mut == MUT_qkv_k_v_swapped)
        return (a->heads_q + a->heads_kv + h) * d;
    if (mut == MUT_qkv_k_from_q)
        return h * d;
    if (mut == MUT_qkv_one_k_head)
        return a->heads_q * d;
    return (a->heads_q + h) * d;
}

static float x_at(const struct head *w, int64_t i)
{
    const int64_t d = w->a->head_dim;
    const uint16_t *from = w->x;
    if (w->mut == MUT_qkv_halves_crossed && w->is_k == (i < d / 2))
        from = w->token + (w->is_k ? 0 : w->a->heads_q * d);
    const float x = plain_from_bf16(from[i]);
    if (w->mut == MUT_qkv_ftz && fabsf(x) < FLT_MIN)
        return copysignf(0, x);
    return x;
}

/* ---- RMS-3, RMS-4 ---- */

static float square(const struct head *w, int64_t i)
{
    const float x = x_at(w, i);
    if (w->mut == MUT_qkv_nan_swallowed && x != x)
        return 0;
    return w->mut == MUT_qkv_bf16_squares ? plain_round(x * x, 8) : x * x;
}

static float tree(const struct head *w, int64_t first, int64_t step, int64_t count)
{
    if (count <= 0)
        return 0;
    if (count == 1)
        return square(w, first);
    const int64_t half = (count + 1) / 2;
    return tree(w, first, step, half) + tree(w, first + half * step, step, count - half);
}

static float lanes(const struct head *w, int64_t n, int64_t of, int64_t lane, int64_t count)
{
    if (count == 1)
        return tree(w, lane, of, (n - lane + of - 1) / of);
    return lanes(w, n, of, lane, count / 2) + lanes(w, n, of, lane + count / 2, count / 2);
}

static double exact_mean(const struct head *w)
{
    double sum = 0;
    for (int64_t i = 0; i < w->a->head_dim; i++)
        sum += (double) x_at(w, i) * (double) x_at(w, i);
    return sum / (double) w->a->head_dim;
}

static float towards(double v, double inner)
{
    const float f = (float) v;
    return fabs(f - inner) > fabs(v - inner) ? nextafterf(f, (float) inner) : f;
}

/* s at a chosen place of its freedom (RMS-3). */
static float moved_mean(const struct head *w)
{
    const double exact = exact_mean(w), s = exact + w->k->s_end * (1 - ldexp(1, -24)) * ldexp(exact + w->a->eps, -20);
    return s < 0 ? 0 : towards(s, exact);
}

/* The sum of squares of `count` elements of the token. */
static float sum_of(const uint16_t *x, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (double) plain_from_bf16(x[i]) * (double) plain_from_bf16(x[i]);
    return (float) sum;
}

static float mean_square(const struct head *w)
{
    const struct qkv_args *const a = w->a;
    const enum mutant mut = w->mut;
    const int64_t d = a->head_dim, of = w->k->lanes > 0 ? w->k->lanes : 1;
    if (w->k->s_end != 0)
        return moved_mean(w);
    if (mut == MUT_qkv_stat_row)
        return sum_of(w->token, (a->heads_q + 2 * a->heads_kv) * d) / (float) ((a->heads_q + 2 * a->heads_kv) * d);
    if (mut == MUT_qkv_stat_all_q) {
        const int64_t n = (w->is_k ? a->heads_kv : a->heads_q) * d;
        return sum_of(w->token + (w->is_k ? a->heads_q * d : 0), n) / (float) n;
    }
    if (mut == MUT_qkv_stat_rope)
        return lanes(w, a->rope_dim, of, 0, of) / (float) a->rope_dim;
    const float sum = lanes(w, mut == MUT_qkv_stat_last ? d - 1 : mut == MUT_qkv_stat_384 && d > 384 ? 384 : d, of, 0, of);
    if (mut == MUT_qkv_sum_2_112 && sum > plain_pow2(112))
        return INFINITY;
    return sum / (float) d;
}

static float rstd_of(const struct head *w)
{
    const enum mutant mut = w->mut;
    const float s = mean_square(w), eps = mut == MUT_qkv_eps_fixed ? 1e-6f : (float) w->a->eps;
    if (mut == MUT_qkv_eps_outside)
        return 1 / (sqrtf(s) + eps);
    const double root = 1 / sqrt((double) (s + eps)), end = w->k->rstd_end * ldexp(1 - ldexp(1, -24), -22);
    const float rstd = w->k->rstd_end != 0 ? towards(root * (1 + end), root) : (float) root;
    return mut == MUT_qkv_rstd_bf16 ? plain_round(rstd, 8) : rstd;
}

/* ---- QKV-2, QKV-4 ---- */

static float weight_at(const struct head *w, int64_t i)
{
    const enum mutant mut = w->mut;
    const struct lc_tensor *const of_q = w->a->t[QKV_W_Q], *const own = w->is_k ? w->a->t[QKV_W_K] : of_q;
    if (mut == MUT_qkv_weight_ignored)
        return 1;
    if (mut == MUT_qkv_weight_q_for_k)
        return element(of_q, i);
    if (mut == MUT_qkv_k_dtype_of_q && w->is_k) {
        struct lc_tensor as = *own;
        as.dtype = of_q->dtype;
        return element(&as, i);
    }
    const float v = element(own, i);
    if ((mut == MUT_qkv_weight_inf_0 && isinf(v)) || (mut == MUT_qkv_weight_2_30 && fabsf(v) > plain_pow2(30)))
        return 0;
    return mut == MUT_qkv_weight_bf16 ? plain_round(v, 8) : v;
}

static bool bias_at(const struct head *w, int64_t i, float *b)
{
    const enum mutant mut = w->mut;
    const struct lc_tensor *const t = w->a->t[w->is_k && mut != MUT_qkv_bias_q_for_k ? QKV_B_K : QKV_B_Q];
    *b = 0;
    if (mut == MUT_qkv_bias_zero && !t)
        return true;
    if (!t || mut == MUT_qkv_bias_ignored || (mut == MUT_qkv_tail_no_bias && i >= w->a->rope_dim))
        return false;
    *b = mut == MUT_qkv_bias_bf16 ? plain_round(element(t, i), 8) : element(t, i);
    if ((mut == MUT_qkv_bias_inf_0 && isinf(*b)) || (mut == MUT_qkv_bias_2_60 && isfinite(*b) && fabsf(*b) > plain_pow2(60)))
        *b = 0;
    return true;
}

/* The two products, in one of three orders. */
static float product(const struct head *w, float x, float weight)
{
    switch (w->k->order % 3) {
    case 1:
        return x * weight * w->rstd;
    case 2:
        return w->rstd * weight * x;
    default:
        return x * w->rstd * weight;
    }
}

/* n before its last rounding. */
static float before(const struct head *w, int64_t i)
{
    const enum mutant mut = w->mut;
    float x = x_at(w, i), weight = weight_at(w, i), b;
    const bool biased = bias_at(w, i, &b);
    if (mut == MUT_qkv_nan_swallowed && x != x)
        x = 0;
    if (mut == MUT_qkv_before_weight_bf16)
        return plain_round(x * w->rstd, 8) * weight;
    if (mut == MUT_qkv_bias_before_weight)
        return (x * w->rstd + b) * weight;
    float n = product(w, x, weight);
    if (!biased || mut == MUT_qkv_bias_after_rotation)
        return n;
    if (mut == MUT_unfused_truncates)
        return plain_from_bf16(plain_bf16(n, PLAIN_TRUNCATE)) + b;
    if (w->dialect == QKV_UNFUSED_BIAS || mut == MUT_qkv_bias_rounded_apart)
        return plain_round(n, 8) + b;
    return w->k->fma ? fmaf(x * w->rstd, weight, b) : n + b;
}

static float n_of(const struct head *w, int64_t i)
{
    const enum mutant mut = w->mut;
    const float n = before(w, i);
    bool rounded = w->dialect != QKV_SIMT && mut != MUT_qkv_n_unrounded && mut != MUT_unfused_once;
    if (mut == MUT_simt_tail_of_bf16)
        rounded = w->is_k || w->h == 0;
    if (mut == MUT_qkv_n_f16)
        return plain_round(n, 11);
    if (!rounded)
        return n;
    return plain_from_bf16(plain_bf16(n, mut == MUT_qkv_n_truncate ? PLAIN_TRUNCATE : PLAIN_RN));
}

/* ---- QKV-3 ---- */

static bool reads_anywhere(enum mutant mut)
{
    return mut == MUT_qkv_past_below || mut == MUT_qkv_past_low_half || mut == MUT_qkv_checks_first ||
           mut == MUT_qkv_checks_below || mut == MUT_qkv_checks_low_half;
}

/* Element i of the table's row. */
static float angle(const struct head *w, int64_t at, int64_t i)
{
    const struct lc_tensor *const t = w->a->t[QKV_TABLE];
    const int64_t row = w->mut == MUT_qkv_table_row_d ? w->a->head_dim : w->a->rope_dim;
    const int64_t place = at * row + i, all = w->a->table_rows * w->a->rope_dim;
    const bool astray = place < 0 || place >= all + 256; /* past the guard: there only where a mutant of ERR-2 is */
    const float v = element(t, !astray || reads_anywhere(w->mut) ? place : place % all);
    if ((w->mut == MUT_qkv_table_nan_0 && v != v) || (w->mut == MUT_qkv_table_ftz && fabsf(v) < FLT_MIN))
        return 0;
    if (w->mut == MUT_qkv_table_inf_max && isinf(v))
        return copysignf(FLT_MAX, v);
    return w->mut == MUT_qkv_table_bf16 ? plain_round(v, 8) : v;
}

static float bf16_product(const struct head *w, float x, float c)
{
    return plain_from_bf16(plain_bf16(x * c, w->mut == MUT_bf16rot_truncates ? PLAIN_TRUNCATE : PLAIN_RN));
}

/* p*c + q*s before the store. */
static float rotated(const struct head *w, float p, float c, float q, float s)
{
    const enum mutant mut = w->mut;
    if (mut == MUT_bf16rot_one_product)
        return fmaf(q, s, bf16_product(w, p, c));
    if (w->dialect == QKV_BF16ROT || mut == MUT_qkv_products_bf16)
        return bf16_product(w, p, c) + bf16_product(w, q, s);
    if (w->k->edge != 0 && (p * c != 0 || q * s != 0)) { /* APPLY-1 at a chosen place of its freedom */
        const double pc = (double) p * (double) c, qs = (double) q * (double) s, exact = pc + qs;
        const double k = w->a->t[QKV_TABLE]->dtype == LC_BF16 && w->dialect != QKV_SIMT ? 1 : 2;
        return isfinite(exact) ? towards(exact + w->k->edge * ldexp(k * (fabs(pc) + fabs(qs)), -24), exact) : (float) exact;
    }
    switch (w->k->order / 3) {
    case 1:
        return fmaf(p, c, q * s);
    case 2:
        return fmaf(q, s, p * c);
    default:
        return p * c + q * s;
    }
}

static int64_t position(const struct head *w)
{
    const enum mutant mut = w->mut;
    const struct lc_tensor *const t = w->a->t[QKV_POSITIONS];
    const int64_t at = t->dtype == LC_I32 || mut == MUT_qkv_positions_as_i32 ? ((const int32_t *) t->data)[w->row]
                                                                             : ((const int64_t *) t->data)[w->row];
    if (mut == MUT_qkv_token_index)
        return w->row % w->a->table_rows;
    if (mut == MUT_qkv_position_0)
        return 0;
    if (mut == MUT_qkv_position_u16)
        return at & 0xffff;
    return mut == MUT_qkv_position_byte ? at & 0xff : at;
}

static void rotate(const struct head *w, float *n)
{
    const enum mutant mut = w->mut;
    const int64_t d = w->a->head_dim, rope = mut == MUT_qkv_rotates_all ? d / 2 * 2 : w->a->rope_dim, half = rope / 2;
    const int64_t at = position(w);
    float leak = 0;
    if (mut == MUT_qkv_k_not_rotated && w->is_k)
        return;
    for (int64_t i = 0; i < rope && mut == MUT_qkv_table_leaks; i++)
        leak += 0 * angle(w, at, i);
    for (int64_t i = 0; i < (mut == MUT_qkv_pairs_256 && half > 256 ? 256 : half); i++) {
        const int64_t first = mut == MUT_qkv_interleaved ? 2 * i : i;
        const int64_t second = mut == MUT_qkv_interleaved ? 2 * i + 1 : mut == MUT_qkv_pairs_of_d ? i + d / 2 : i + half;
        float c = angle(w, at, i), s = angle(w, at, half + i);
        if (mut == MUT_qkv_conjugate)
            s = -s;
        if (mut == MUT_qkv_sin_for_cos) {
            const float t = c;
            c = s, s = t;
        }
        const float a = leak != leak ? leak : n[first], b = leak != leak ? leak : n[second];
        n[first] = rotated(w, a, c, b, -s);
        n[second] = rotated(w, b, c, mut == MUT_qkv_in_place_too_early ? n[first] : a, s);
    }
}

/* ---- one head, one token ---- */

static uint16_t stored(const struct head *w, float y)
{
    if (y != y && w->k->nan)
        return 0xffc1; /* FMT-1: the payload is free */
    return plain_bf16(y, w->mut == MUT_qkv_out_truncate ? PLAIN_TRUNCATE : PLAIN_RN);
}

static void store_head(const struct head *w, uint16_t *to)
{
    static float n[MOST_D];
    const enum mutant mut = w->mut;
    const int64_t d = w->a->head_dim, rope = w->a->rope_dim;
    for (int64_t i = 0; i < d; i++)
        n[i] = i < rope || mut == MUT_qkv_rotates_all ? n_of(w, i) : before(w, i);
    if (mut == MUT_qkv_pairs_of_d)
        for (int64_t i = rope; i < d; i++)
            n[i] = n_of(w, i);
    rotate(w, n);
    for (int64_t i = 0; i < d; i++) {
        float b;
        if (mut == MUT_qkv_bias_after_rotation && bias_at(w, i, &b))
            n[i] += b;
        if (mut == MUT_qkv_tail_unwritten && i >= rope)
            break;
        if (mut == MUT_qkv_tail_not_normed && i >= rope)
            n[i] = x_at(w, i);
        if (mut == MUT_qkv_reads_out)
            n[i] += 0 * plain_from_bf16(to[i]);
        if (mut == MUT_qkv_reads_gap && w->a->tokens > 1 && w->a->t[QKV_X]->stride[0] > w->a->t[QKV_X]->shape[1])
            n[i] += 0 * plain_from_bf16(w->token[w->a->t[QKV_X]->shape[1]]);
        to[i] = stored(w, n[i]);
    }
}

/* QKV-1, QKV-5: v as it is. */
static void store_v(const struct head *token, const uint16_t *x, uint16_t *to)
{
    const struct qkv_args *const a = token->a;
    const enum mutant mut = token->mut;
    const int64_t cols = a->heads_kv * a->head_dim;
    for (int64_t h = 0; h < a->heads_kv && (mut == MUT_qkv_v_normed || mut == MUT_qkv_v_rotated); h++) {
        struct head w = *token;
        float n[MOST_D];
        w.is_k = true;
        w.x = x + h * a->head_dim;
        w.rstd = rstd_of(&w);
        for (int64_t i = 0; i < a->head_dim; i++)
            n[i] = mut == MUT_qkv_v_normed ? before(&w, i) : plain_from_bf16(w.x[i]);
        if (mut == MUT_qkv_v_rotated)
            rotate(&w, n);
        for (int64_t i = 0; i < a->head_dim; i++)
            to[h * a->head_dim + i] = plain_bf16(n[i], PLAIN_RN);
        if (h + 1 == a->heads_kv)
            return;
    }
    for (int64_t i = 0; i < cols; i++) {
        const bool is_nan = (x[i] & 0x7fff) > 0x7f80;
        to[i] = x[i];
        if (mut == MUT_qkv_v_quiets && is_nan)
            to[i] |= 0x40;
        if (mut == MUT_qkv_v_one_nan && is_nan)
            to[i] = 0x7fff;
        if (mut == MUT_qkv_v_flushed && (x[i] & 0x7f80) == 0)
            to[i] &= 0x8000;
    }
}

static void store_token(struct head *w)
{
    const struct qkv_args *const a = w->a;
    const enum mutant mut = w->mut;
    const int64_t d = a->head_dim;
    uint16_t *const q = a->t[QKV_Q]->data, *const k = a->t[QKV_K]->data, *const v = a->t[QKV_V]->data;
    float last = 0; /* the rstd of the head before */
    for (int64_t i = 0; i < a->heads_q + a->heads_kv; i++) {
        w->is_k = i >= a->heads_q;
        w->h = w->is_k ? i - a->heads_q : i;
        w->x = w->token + head_place(a, w->is_k, w->h, mut);
        if ((mut == MUT_qkv_heads_64 && !w->is_k && i >= 64) || (mut == MUT_qkv_key_heads_8 && w->is_k && w->h >= 8))
            continue;
        if (mut == MUT_qkv_last_head_lost && !w->is_k && i == a->heads_q - 1 && a->heads_q % 2)
            continue;
        w->rstd = rstd_of(w);
        if (mut == MUT_qkv_nan_leaks && last != last)
            w->rstd = last;
        if (mut == MUT_qkv_rstd_stale && w->is_k && w->h == 0)
            w->rstd = last;
        last = w->rstd;
        if (mut == MUT_qkv_heads_by_q && w->is_k && (w->row * a->heads_q + w->h) * d + d > a->tokens * a->heads_kv * d)
            continue; /* it would write past k */
        store_head(w, !w->is_k                    ? q + (w->row * a->heads_q + i) * d
                      : mut == MUT_qkv_heads_by_q ? k + (w->row * a->heads_q + w->h) * d
                                                  : k + (w->row * a->heads_kv + w->h) * d);
    }
    const int64_t before_v = mut == MUT_qkv_k_v_swapped ? a->heads_q * d : (a->heads_q + a->heads_kv) * d;
    store_v(w, w->token + before_v, v + w->row * a->heads_kv * d);
    if (mut == MUT_qkv_stray_after && w->row == a->tokens - 1)
        k[a->tokens * a->heads_kv * d] = 0;
    if (mut == MUT_qkv_writes_x)
        *(uint16_t *) w->token ^= 0x55; /* scratch in place */
}

/* ---- ERR-1, ERR-2 ---- */

static bool cites(const struct lc_call *call, const char *clause)
{
    char words[32];
    snprintf(words, sizeof words, "(%s)", clause);
    return call->msg && strstr(call->msg, words) != NULL;
}

static int refuse(const struct lc_call *call, int status, enum mutant mut)
{
    static const struct {
        enum mutant mut;
        const char *clause;
    } accepts[] = { { MUT_qkv_accepts_split, "QKV-1" },
                    { MUT_qkv_accepts_vectors, "QKV-2" },
                    { MUT_qkv_accepts_table, "QKV-3" },
                    { MUT_qkv_accepts_views, "QKV-5" },
                    { MUT_qkv_accepts_overlap, "DET-4" } };
    const struct lc_tensor *const q = arg_tensor(call, "q");
    for (size_t i = 0; i < sizeof accepts / sizeof *accepts; i++)
        if (mut == accepts[i].mut && cites(call, accepts[i].clause))
            return LC_OK;
    if (mut == MUT_qkv_accepts_all)
        return LC_OK;
    if (mut == MUT_qkv_refuses_vaguely)
        snprintf(call->msg, call->msg_size, "invalid argument");
    if (mut == MUT_qkv_writes_then_refuses && q && q->data)
        *(uint8_t *) q->data ^= 0x55;
    return status;
}

static int64_t any_position(const struct qkv_args *a, int64_t row)
{
    const struct lc_tensor *const t = a->t[QKV_POSITIONS];
    return t->dtype == LC_I32 ? ((const int32_t *) t->data)[row] : ((const int64_t *) t->data)[row];
}

/* ERR-2: that token is left alone. */
static bool is_lost(const union op_args *args, int64_t row, enum mutant mut)
{
    const int64_t at = any_position(&args->qkv, row);
    if (mut == MUT_qkv_past_below)
        return at < 0;
    if (mut == MUT_qkv_past_low_half)
        return (int32_t) at < 0 || (int32_t) at >= args->qkv.table_rows;
    return ref_qkv_lost(args, row);
}

/* ERR-2: a checked build refuses the call. */
static int check_values(const struct lc_call *call, const union op_args *args, enum mutant mut)
{
    const struct qkv_args *const a = &args->qkv;
    bool refuses = mut != MUT_qkv_checks_first && mut != MUT_qkv_checks_below && mut != MUT_qkv_checks_low_half;
    for (int64_t row = 0; row < a->tokens; row++) {
        const int64_t at = any_position(a, row);
        if ((mut == MUT_qkv_checks_first && row == 0 && ref_qkv_lost(args, row)) || (mut == MUT_qkv_checks_below && at < 0) ||
            (mut == MUT_qkv_checks_low_half && ((int32_t) at < 0 || (int32_t) at >= a->table_rows)))
            refuses = true;
    }
    return refuses ? ref_qkv_check_values(call, args) : LC_OK;
}

int plain_qkv(const struct lc_call *call, const struct plain_knobs *k, enum mutant mut)
{
    union op_args args;
    int status = ref_qkv_check(call, &args);
    const bool leaves_out = k->leaves_out || mut == MUT_qkv_past_writes_astray || mut == MUT_qkv_past_clears_next ||
                            mut == MUT_qkv_past_below || mut == MUT_qkv_past_low_half;
    if (!status && !leaves_out)
        status = check_values(call, &args, mut);
    if (status != LC_OK)
        return refuse(call, status, mut);
    const struct qkv_args *const a = &args.qkv;
    const struct lc_tensor *const x = a->t[QKV_X];
    struct head w = { .a = a, .k = k, .mut = mut, .dialect = mut == MUT_qkv_dialect_ignored ? QKV_USUAL : a->dialect };
    if (a->head_dim > MOST_D)
        return LC_UNSUPPORTED;
    if (mut == MUT_qkv_no_tokens && a->tokens == 0)
        abort(); /* a launch of no blocks is an error */
    for (w.row = 0; w.row < a->tokens; w.row++) {
        int64_t at = w.row * (a->tokens > 1 ? x->stride[0] : 0);
        if (mut == MUT_qkv_x_dense)
            at = w.row * x->shape[1];
        if (mut == MUT_qkv_offset_24)
            at &= 0xffffff;
        if (mut == MUT_qkv_tiles_of_16 && w.row >= a->tokens / 16 * 16)
            break;
        w.token = (const uint16_t *) x->data + at;
        if (mut == MUT_qkv_base_32 && (uintptr_t) x->data % 64 == 32)
            w.token -= 16;
        if (mut == MUT_qkv_base_rounded_down)
            w.token = (const uint16_t *) ((uintptr_t) w.token & ~(uintptr_t) 15);
        if (leaves_out && is_lost(&args, w.row, mut)) {
            if (mut == MUT_qkv_past_writes_astray)
                ((uint8_t *) a->t[QKV_Q]->data)[-2] ^= 0x55;
            continue;
        }
        store_token(&w);
        if (mut == MUT_qkv_past_clears_next && w.row > 0 && ref_qkv_lost(&args, w.row - 1))
            *((uint16_t *) a->t[QKV_Q]->data + w.row * a->heads_q * a->head_dim) = 0;
    }
    return LC_OK;
}
