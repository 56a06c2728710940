/* SPDX-License-Identifier: Apache-2.0 */
/* KV-1..6 in plain f32, a head at a time. */
#include "plain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_D = 32768, MOST_HEADS = 64 };

struct head {
    const struct lc_call *call;
    const struct kv_store_args *a;
    const struct plain_knobs *k;
    enum mutant mut;
    int64_t token, head;
    float rstd, before; /* of this head, of the one before */
    bool nan_before;
};

/* ---- norm: RMS-3..5 ---- */

static float tree(const struct head *h, const float *x, int64_t n)
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

static float rstd_of(struct head *h, const float *x, int64_t n)
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

static float weight(const struct head *h, int64_t i)
{
    const struct lc_tensor *const t = h->a->t[KV_WEIGHT];
    if (h->mut == MUT_kv_weight_moves)
        i = (i + h->head) % h->a->d;
    return t->dtype == LC_F32 ? ((const float *) t->data)[i] : plain_from_bf16(((const uint16_t *) t->data)[i]);
}

static float x_at(const struct head *h, int64_t head, int64_t i)
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

static void norm(struct head *h, float *v)
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

static int64_t index_at(const struct lc_tensor *t, int64_t i)
{
    return t->dtype == LC_I32 ? ((const int32_t *) t->data)[i] : ((const int64_t *) t->data)[i];
}

static float table_at(const struct head *h, int64_t row, int64_t col)
{
    const struct lc_tensor *const t = h->a->t[KV_TABLE];
    const int64_t at = row * h->a->rotary_dim + col;
    return t->dtype == LC_F32 ? ((const float *) t->data)[at] : plain_from_bf16(((const uint16_t *) t->data)[at]);
}

/* p*c + q*s. exact: with a BF16 table the products have no rounding. */
static float turned(const struct head *h, float p, float c, float q, float s, bool exact)
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

static void rotate(const struct head *h, float *v)
{
    const struct kv_store_args *const a = h->a;
    const enum mutant mut = h->mut;
    const bool exact = a->t[KV_TABLE]->dtype == LC_BF16 && (!a->norm || a->bf16_stages);
    int64_t pairs = a->rotary_dim / 2, offset = a->offset, row = index_at(a->t[KV_POSITIONS], h->token);
    bool interleaved = a->interleaved;
    if (mut == MUT_kv_positions_32 && a->t[KV_POSITIONS]->dtype == LC_I64)
        row = ((const int32_t *) a->t[KV_POSITIONS]->data)[h->token]; /* K15, P12 */
    if (mut == MUT_kv_positions_are_tokens)
        row = h->token % a->t[KV_TABLE]->shape[0];
    if (mut == MUT_kv_rot_whole_head)
        pairs = a->d / 2, offset = 0; /* P02 */
    if (mut == MUT_kv_offset_ignored)
        offset = 0;
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
        if (mut == MUT_kv_had_last_stage && 2 * bit == n)
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
static void push(const struct head *h, float *v, const float *before, double scale)
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

static void transform(const struct head *h, float *v)
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

static void stage_end(const struct head *h, float *v, bool last)
{
    const enum mutant mut = h->mut;
    const bool round = h->a->bf16_stages ? mut != MUT_kv_f32_stages && !(mut == MUT_kv_f32_last && last)
                                         : mut == MUT_kv_bf16_stages && !last;
    for (int64_t i = 0; round && i < h->a->d; i++)
        v[i] = plain_round(v[i], 8);
}

static void run_stages(struct head *h, int64_t head, float *v)
{
    const struct kv_store_args *const a = h->a;
    const enum mutant mut = h->mut;
    const bool early = mut == MUT_kv_had_before_rope && a->rope && a->hadamard;
    for (int64_t i = 0; i < a->d; i++)
        v[i] = x_at(h, head, i);
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

/* ---- KV-2, KV-3, KV-5: addresses ---- */

static int64_t slot_of(const struct head *h)
{
    const struct kv_store_args *const a = h->a;
    const enum mutant mut = h->mut;
    const int64_t slots = a->pages * a->page_size;
    int64_t slot = index_at(a->t[KV_SLOTS], h->token);
    if (mut == MUT_kv_slots_32 && a->t[KV_SLOTS]->dtype == LC_I64)
        slot = ((const int32_t *) a->t[KV_SLOTS]->data)[h->token]; /* K15 */
    if (mut == MUT_kv_slot_wraps && slot < 0)
        slot = slots - 1; /* K01 */
    if (mut == MUT_kv_only_minus_1 && slot < -1)
        slot = slots - 1;
    if (mut == MUT_kv_past_is_0 && slot >= slots)
        slot = 0;
    return slot;
}

/* Byte of a head's first code, or of its scales, in the pool; < 0: none. */
static int64_t pool_at(const struct head *h, int64_t slot, int64_t head, bool scales)
{
    const struct kv_store_args *const a = h->a;
    const enum mutant mut = h->mut;
    struct kv_bytes b = scales ? a->scales : a->codes;
    int64_t page = slot / a->page_size, row = slot % a->page_size;
    if (mut == MUT_kv_page_row_exchanged)
        page = slot % a->page_size, row = slot / a->page_size;
    if (mut == MUT_kv_pool_flat)
        page = 0, row = slot; /* K12: slots one behind the other */
    if (mut == MUT_kv_heads_compact && !scales)
        b.head = a->d; /* K04 */
    if (mut == MUT_kv_head_missing)
        b.head = 0; /* K11 */
    if (mut == MUT_kv_scale_row_of_codes && scales)
        b.row = a->codes.row;
    if (mut == MUT_kv_scale_behind_codes && scales)
        b = a->codes, b.base = a->d; /* interleaved, whatever the layout */
    int64_t of_page = page * b.page;
    if (mut == MUT_kv_offset_20)
        of_page &= 0xfffff; /* K07 */
    const int64_t at = b.base + of_page + row * b.row + head * b.head, size = a->t[KV_POOL]->shape[0];
    return slot < 0 || at + (scales ? a->d / 32 : a->d) > size ? -1 : at;
}

static int64_t sf_at(const struct head *h, int64_t head, int64_t g)
{
    const struct kv_store_args *const a = h->a;
    const enum mutant mut = h->mut;
    const int64_t groups = a->d / 32, pad_n = (a->n + 3) / 4 * 4, pad_heads = (a->heads + 3) / 4 * 4;
    const int64_t k = head * groups + g;
    if (mut == MUT_kv_sf_rows && !a->per_head)
        return h->token * a->heads * groups + k; /* SF-2 */
    if (mut == MUT_kv_sf_not_padded && !a->per_head)
        return (k / 4 * a->n + h->token) * 4 + k % 4;
    if (mut == MUT_kv_sf_head_flat && a->per_head)
        return (g / 4 * a->n * a->heads + h->token * a->heads + head) * 4 + g % 4; /* one batch of n * heads rows */
    if (a->per_head)
        return ((h->token * (groups / 4) + g / 4) * pad_heads + head) * 4 + g % 4;
    return (k / 4 * pad_n + h->token) * 4 + k % 4;
}

/* ---- cast and store ---- */

static uint8_t code_of(const struct head *h, float v, int e)
{
    const enum mutant mut = h->mut;
    float q = v * plain_pow2(-e);
    if (mut == MUT_kv_scale_inverted)
        q = v * plain_pow2(e); /* K08 */
    if (mut == MUT_kv_code_integer)
        return isfinite(q) ? (uint8_t) (int) q : 0; /* K08: the number, not its bits */
    if (mut == MUT_kv_double_round)
        q = plain_round(q, 8); /* Q15 */
    const uint8_t code = plain_e4m3(q, MUT_none);
    return v != v && h->k->nan == 1 ? code ^ 0x80 : code;
}

static int exponent(const struct head *h, const float *v, int64_t n)
{
    const enum mutant mut = h->mut;
    float amax = mut == MUT_kv_no_floor ? 0 : 1e-4f;
    for (int64_t i = 0; i < n; i++)
        amax = fabsf(v[i]) > amax ? fabsf(v[i]) : amax;
    const float sf = amax / (mut == MUT_kv_max_224 ? 224.0f : 448.0f);
    return plain_ceil_exp(sf, mut == MUT_kv_exp_floor ? MUT_cast_exp_floor : MUT_none);
}

/* codes: d bytes; scales: where the byte of each group goes. */
static void cast(const struct head *h, const float *v, uint8_t *codes, uint8_t *const *scales)
{
    const enum mutant mut = h->mut;
    const int64_t d = h->a->d, group = mut == MUT_kv_group_64 && d % 64 == 0 ? 64 : 32;
    int64_t first = 0, end = d;
    if (mut == MUT_kv_tail_unwritten && h->a->rope)
        first = h->a->offset, end = first + h->a->rotary_dim; /* P03 */
    for (int64_t g = 0; g < d / 32; g++) {
        const float *const from = v + g * 32 / group * group;
        const int e = exponent(h, from, group);
        bool finite = true;
        for (int64_t i = g * 32; i < g * 32 + 32; i++) {
            finite = finite && isfinite(v[i]);
            if (i >= first && i < end)
                codes[i] = code_of(h, v[i], e);
        }
        if (mut != MUT_kv_scale_unwritten || g + 1 < d / 32)
            *scales[g] = (uint8_t) (e + 127);
        if (mut == MUT_kv_scale_inverted)
            *scales[g] = (uint8_t) (127 - e);
        if (!finite && h->k->nan == 2)
            *scales[g] = 0xff; /* CAST-7 */
    }
}

static void store_bf16(const struct head *h, const float *v, uint16_t *out)
{
    for (int64_t i = 0; i < h->a->d; i++)
        out[i] = plain_bf16(v[i], h->mut == MUT_kv_bf16_truncate ? PLAIN_TRUNCATE : PLAIN_RN);
}

static void one_head(struct head *h)
{
    static float v[MOST_D];
    static uint8_t *scales[MOST_D / 32];
    const struct kv_store_args *const a = h->a;
    const enum mutant mut = h->mut;
    const int64_t groups = a->d / 32, slot = a->store ? slot_of(h) : 0;
    int64_t from = h->head;
    if (mut == MUT_kv_neighbour_codes && (from ^ 1) < a->heads)
        from ^= 1;
    run_stages(h, from, v);
    if (!a->store) {
        int64_t at = (h->token * a->heads + h->head) * a->d;
        if (mut == MUT_kv_out_heads_first)
            at = (h->head * a->n + h->token) * a->d;
        if (!a->cast) {
            store_bf16(h, v, (uint16_t *) a->t[KV_OUT]->data + at);
            return;
        }
        for (int64_t g = 0; g < groups; g++)
            scales[g] = (uint8_t *) a->t[KV_SF]->data + sf_at(h, h->head, g);
        cast(h, v, (uint8_t *) a->t[KV_OUT]->data + at, scales);
        return;
    }
    uint8_t *const pool = a->t[KV_POOL]->data;
    const int64_t at = pool_at(h, slot, h->head, false), sf = pool_at(h, slot, h->head, true);
    if (at < 0 || sf < 0)
        return;
    if (mut == MUT_kv_clears_page && h->head == 0 && slot % a->page_size == 0 && slot / a->page_size < a->pages)
        memset(pool + slot / a->page_size * a->codes.page, 0, (size_t) a->codes.page); /* fresh pages are cleared */
    for (int64_t g = 0; g < groups; g++)
        scales[g] = pool + sf + g;
    cast(h, v, pool + at, scales);
    if (mut == MUT_kv_clears_gap && a->codes.head > a->d + groups)
        memset(pool + at + a->d, 0, (size_t) (a->codes.head - a->d));
    if (mut == MUT_kv_scale_word && groups % 4)
        memset(pool + sf + groups, 0, (size_t) (4 - groups % 4)); /* whole words of scale bytes */
}

static bool cites(const char *msg, const char *clause)
{
    const char *const p = msg ? strstr(msg, clause) : NULL;
    return p && p[strlen(clause)] == ')';
}

static int refuse(const struct lc_call *call, int status, enum mutant mut)
{
    const struct lc_tensor *const pool = arg_tensor(call, "pool");
    if (mut == MUT_kv_accepts_all || (mut == MUT_kv_accepts_overlap && cites(call->msg, "KV-3")) ||
        (mut == MUT_kv_accepts_views && cites(call->msg, "KV-6")) ||
        (mut == MUT_kv_accepts_widths && (cites(call->msg, "KV-1") || cites(call->msg, "APPLY-5"))) ||
        (mut == MUT_kv_accepts_slots && cites(call->msg, "KV-2")))
        return LC_OK;
    if (mut == MUT_kv_refuses_vaguely && call->msg_size > 0)
        call->msg[0] = 0;
    if (mut == MUT_kv_writes_then_refuses && pool && pool->data && pool->rank == 1 && pool->shape[0] > 0)
        *(uint8_t *) pool->data ^= 0x55;
    return status;
}

int plain_kv_store(const struct lc_call *call, const struct plain_knobs *k, enum mutant mut)
{
    union op_args args;
    int status = ref_kv_store_check(call, &args);
    if (status == LC_OK && mut != MUT_kv_past_is_0)
        status = ref_kv_store_check_values(call, &args);
    if (status != LC_OK)
        return refuse(call, status, mut);
    const struct kv_store_args *const a = &args.kv_store;
    struct head h = { .call = call, .a = a, .k = k, .mut = mut };
    if (mut == MUT_kv_no_tokens && a->n == 0)
        abort(); /* a launch of no blocks is an error */
    if (mut == MUT_kv_stray_before && a->n > 0)
        ((uint8_t *) a->t[a->store ? KV_POOL : KV_OUT]->data)[-1] ^= 0x55;
    for (h.token = 0; h.token < a->n; h.token++)
        for (h.head = 0; h.head < a->heads; h.head++) {
            if (mut == MUT_kv_last_token_unwritten && h.token == a->n - 1)
                break;
            one_head(&h);
            if (mut == MUT_kv_writes_x && h.head == 0)
                ((uint16_t *) a->t[KV_X]->data)[h.token * a->t[KV_X]->stride[0]] ^= 0x8000; /* scratch in place */
        }
    if (k->pad > 0 && a->t[KV_SF] && a->n > 0) /* SF-3: padding rows */
        for (int64_t b = 0; b < (a->per_head ? a->n : 1); b++) {
            const int64_t m = a->per_head ? a->heads : a->n, pad = (m + 3) / 4 * 4, words = sf_words(&a->sf);
            for (int64_t w = 0; w < words; w++)
                for (int64_t i = m; i < pad; i++)
                    memset((uint8_t *) a->t[KV_SF]->data + ((b * words + w) * pad + i) * 4, 0xa5, 4);
        }
    return LC_OK;
}
