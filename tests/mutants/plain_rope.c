/* SPDX-License-Identifier: Apache-2.0 */
/* APPLY-1..6 in plain f32, an element at a time. */
#include "plain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_D = 4096 };

/* ---- the pair ---- */

static bool normal(float v)
{
    return v == 0 || fabsf(v) >= plain_pow2(-126);
}

/* p c + q s, pushed aside by so many times what APPLY-1 admits; false where it admits nothing. */
static bool at_the_edge(float p, float c, float q, float s, const struct plain_knobs *k, double of, float *y)
{
    const double first = (double) p * (double) c, second = (double) q * (double) s, v = first + second;
    const double size = fabs(first) + fabs(second), edge = v + k->edge * ldexp(of * (1 + ldexp(1, -20)) * size, -24);
    if (!(size > 0 && size < ldexp(1, 127)))
        return false;
    *y = (float) edge;
    if (fabs(k->edge) <= 1 && fabs((double) *y - v) > fabs(edge - v)) /* this rounding must not leave the hull */
        *y = nextafterf(*y, (float) v);
    return true;
}

static float product(float a, float b, enum mutant mut)
{
    float v = a * b;
    if (mut == MUT_rope_products_bf16)
        v = plain_round(v, 8);
    if (mut == MUT_rope_products_tf32)
        v = plain_round(plain_round(a, 11) * plain_round(b, 11), 24);
    if (mut == MUT_rope_half_range && fabsf(v) > 65504)
        v = copysignf(INFINITY, v);
    if (mut == MUT_rope_ftz && !normal(v))
        v = copysignf(0, v);
    return v;
}

static float rotated(float p, float c, float q, float s, const struct plain_knobs *k, double of, enum mutant mut)
{
    float y;
    if (k->edge != 0 && at_the_edge(p, c, q, s, k, of, &y))
        return y;
    const float first = product(p, c, mut), second = product(q, s, mut);
    if (k->order == 1)
        y = fmaf(p, c, second);
    else if (k->order == 2)
        y = fmaf(q, s, first);
    else
        y = first + second;
    if (k->minus_zero && y == 0 && first != 0)
        y = -0.0f; /* FMT-6 */
    if (mut == MUT_rope_positive_zero && y == 0)
        y = 0.0f;
    if (k->nan && y != y)
        y = plain_float(0xffc10000);
    return y;
}

/* ---- one head ---- */

struct head {
    const struct rope_args *a;
    const struct plain_knobs *k;
    enum mutant mut;
    int64_t n, offset; /* rotary_dim and offset, as the mutant has them */
    bool interleaved, conjugate, in_place;
    const float *cosine, *sine;
};

static int64_t index_of(const struct head *h, int64_t pair, int side)
{
    const int64_t half = h->n / 2;
    if (h->mut == MUT_rope_tile_of_128 && h->a->d == 192 && !h->interleaved && side && pair >= 64)
        return pair + half - 32; /* P25: the partner is a lane of another tile */
    return h->offset + (h->interleaved ? 2 * pair + side : side * half + pair);
}

static void rotate(const struct head *h, const float *x, float *y)
{
    const enum mutant mut = h->mut;
    const double of = h->a->t[ROPE_TABLE]->dtype == LC_BF16 ? 1 : 2;
    int64_t pairs = h->n / 2;
    bool nan = false;
    if (mut == MUT_rope_last_pair_missing)
        pairs--;
    if (mut == MUT_rope_pairs_128 && pairs > 128)
        pairs = 128;
    for (int64_t i = 0; i < pairs; i++) {
        const int64_t at = index_of(h, i, 0), bt = index_of(h, i, 1);
        float a = x[at], b = x[bt], c = h->cosine[i], s = h->sine[i];
        if (h->conjugate)
            s = -s;
        if (h->conjugate && mut == MUT_rope_conjugate_cosine)
            s = -s, c = -c;
        nan = nan || a != a || b != b;
        if (mut == MUT_rope_nan_swallowed)
            a = a != a ? 0 : a, b = b != b ? 0 : b;
        if (mut == MUT_rope_inf_clipped) {
            a = isinf(a) ? copysignf(plain_float(0x7f7fffff), a) : a;
            b = isinf(b) ? copysignf(plain_float(0x7f7fffff), b) : b;
        }
        float left = rotated(a, c, b, -s, h->k, of, mut), right = rotated(b, c, a, s, h->k, of, mut);
        if (mut == MUT_rope_sign_once)
            left = rotated(a, c, b, s, h->k, of, mut);
        if (mut == MUT_rope_uses_rotated)
            right = rotated(b, c, left, s, h->k, of, mut);
        if (mut == MUT_rope_halves_swapped) {
            const float t = left;
            left = right, right = t;
        }
        y[at] = left;
        y[bt] = right;
    }
    for (int64_t i = 0; i < h->n && nan && mut == MUT_rope_nan_leaks; i++)
        y[h->offset + i] = NAN;
}

/* ---- addresses ---- */

struct tokens { /* query or key */
    const struct lc_tensor *in, *out;
    int64_t heads, token_in, head_in, token_out, head_out;
    bool in_place;
};

static struct tokens tokens_of(const struct rope_args *a, int which, enum mutant mut)
{
    const struct lc_tensor *const in = a->t[ROPE_QUERY + which], *const out = a->t[ROPE_QUERY_OUT + which];
    struct tokens t = {
        in, out, a->heads[which], in->stride[0], in->stride[1], out->stride[0], out->stride[1], a->in_place[which]
    };
    const struct lc_tensor *const query = a->t[ROPE_QUERY];
    if (mut == MUT_rope_token_dense)
        t.token_in = t.heads * a->d;
    if (mut == MUT_rope_head_dense)
        t.head_in = a->d;
    if (mut == MUT_rope_out_strides_of_in)
        t.token_out = t.token_in, t.head_out = t.head_in;
    if (which && mut == MUT_rope_key_token_stride)
        t.token_in = query->stride[0];
    if (which && mut == MUT_rope_key_head_stride)
        t.head_in = query->stride[1];
    if (t.in_place) {
        t.token_out = t.token_in, t.head_out = t.head_in;
    }
    if (which && mut == MUT_rope_key_by_heads)
        t.heads = a->heads[0];
    if (which && mut == MUT_rope_key_first_head)
        t.heads = 1;
    if (mut == MUT_rope_heads_16 && t.heads > 16 && t.heads % 32)
        t.heads = 16;
    if (mut == MUT_rope_heads_64 && t.heads > 64)
        t.heads = 64;
    if (mut == MUT_rope_key_heads_8 && which && t.heads > 8)
        t.heads = 8;
    return t;
}

static int64_t wrapped(int64_t at, enum mutant mut)
{
    return mut == MUT_rope_offset_24 ? at & 0xffffff : at;
}

static void store(uint16_t *to, float v, enum mutant mut)
{
    *to = plain_bf16(v, mut == MUT_rope_out_truncate ? PLAIN_TRUNCATE : PLAIN_RN);
}

/* What does not rotate, out of place (APPLY-3). */
static void copy_rest(const struct head *h, const uint16_t *in, const uint16_t *laid_out, uint16_t *out)
{
    const struct rope_args *const a = h->a;
    for (int64_t i = 0; i < a->d; i++) {
        const bool before = i < a->offset;
        if (!before && i < a->offset + a->rotary_dim)
            continue;
        if (h->mut == MUT_rope_tail_stale && !before)
            continue;
        if (h->mut == MUT_rope_front_stale && before)
            continue;
        uint16_t code = h->mut == MUT_rope_tail_by_out_strides ? laid_out[i] : in[i];
        if (h->mut == MUT_rope_rest_converted)
            code = plain_bf16(plain_from_bf16(code), PLAIN_RN);
        if (h->mut == MUT_rope_rest_nan_kept && (code & 0x7fff) > 0x7f80)
            code = 0x7fc0;
        out[i] = code;
    }
}

static void one_head(const struct head *h, const uint16_t *in, const uint16_t *laid_out, uint16_t *out, const uint16_t *query)
{
    float x[MOST_D], y[MOST_D];
    const struct rope_args *const a = h->a;
    const enum mutant mut = h->mut;
    for (int64_t i = 0; i < a->d; i++)
        x[i] = plain_from_bf16(in[i]);
    for (int64_t i = 0; query && i < a->d / 2; i++)
        x[i] = plain_from_bf16(query[i]); /* P08 */
    if (mut == MUT_rope_reads_out)
        x[h->offset] += 0 * plain_from_bf16(out[h->offset]);
    if (mut == MUT_rope_reads_gap)
        x[h->offset] += 0 * plain_from_bf16(in[a->d]);
    memcpy(y, x, sizeof x);
    rotate(h, x, y);
    if (!h->in_place)
        copy_rest(h, in, laid_out, out);
    if (mut == MUT_rope_rest_cleared && h->in_place)
        memset(out, 0, (size_t) a->offset * 2);
    int64_t end = h->n;
    if (mut == MUT_rope_tail_unwritten)
        end -= 2;
    for (int64_t i = 0; i < end; i++)
        store(&out[h->offset + i], y[h->offset + i], mut);
    if (mut == MUT_rope_gap_copied && !h->in_place)
        memcpy(out + a->d, in + a->d, 8);
    if (mut == MUT_rope_stray_gap)
        out[a->d] = 0;
    if (mut == MUT_rope_writes_query && !h->in_place)
        ((uint16_t *) in)[h->offset] = 0;
}

/* ---- one token ---- */

static int64_t position_of(const struct rope_args *a, int64_t token, int which, enum mutant mut)
{
    const struct lc_tensor *const t = a->t[ROPE_POSITIONS];
    int64_t at = t->dtype == LC_I64 ? ((const int64_t *) t->data)[token] : ((const int32_t *) t->data)[token];
    if (mut == MUT_rope_positions_ignored || (mut == MUT_rope_key_positions_ignored && which))
        return token % a->rows; /* P22 */
    if (mut == MUT_rope_i64_as_i32 && t->dtype == LC_I64)
        return ((const int32_t *) t->data)[token];
    if (mut == MUT_rope_positions_first)
        return a->n > 0 && t->dtype == LC_I64 ? ((const int64_t *) t->data)[0] : ((const int32_t *) t->data)[0];
    if (mut == MUT_rope_positions_bf16)
        return (int64_t) plain_round((float) at, 8) < a->rows ? (int64_t) plain_round((float) at, 8) : at;
    if (at >= 0 && at < a->rows && (mut == MUT_rope_positions_u16 || mut == MUT_rope_positions_12))
        return at & (mut == MUT_rope_positions_12 ? 0xfff : 0xffff);
    if (mut == MUT_rope_positions_from_1)
        at = at + 1 < a->rows ? at + 1 : 0;
    return at;
}

static float entry(const struct lc_tensor *t, int64_t at)
{
    return t->dtype == LC_F32 ? ((const float *) t->data)[at] : plain_from_bf16(((const uint16_t *) t->data)[at]);
}

static void load_table(const struct head *h, int64_t position, float *cosine, float *sine)
{
    const struct lc_tensor *const t = h->a->t[ROPE_TABLE];
    const enum mutant mut = h->mut;
    int64_t half = h->a->rotary_dim / 2, row = position * h->a->rotary_dim;
    if (mut == MUT_rope_table_row_half)
        row = position * half;
    if (mut == MUT_rope_table_last_row && row > 0)
        row -= 2 * half;
    if (mut == MUT_rope_whole_head)
        half = h->n / 2; /* P02: sines from behind the cosines of a wider table */
    for (int64_t i = 0; i < h->n / 2; i++) {
        cosine[i] = entry(t, row + i);
        sine[i] = entry(t, row + half + i);
        if (mut == MUT_rope_table_interleaved)
            cosine[i] = entry(t, row + 2 * i), sine[i] = entry(t, row + 2 * i + 1);
        if (mut == MUT_rope_cos_sin_swapped)
            cosine[i] = entry(t, row + half + i), sine[i] = entry(t, row + i);
        if (mut == MUT_rope_table_bf16)
            cosine[i] = plain_round(cosine[i], 8), sine[i] = plain_round(sine[i], 8);
        if (mut == MUT_rope_table_f16)
            cosine[i] = plain_round(cosine[i], 11), sine[i] = plain_round(sine[i], 11);
        if (mut == MUT_rope_table_21)
            cosine[i] = plain_round(cosine[i], 21), sine[i] = plain_round(sine[i], 21);
        if (mut == MUT_rope_table_ftz) {
            cosine[i] = normal(cosine[i]) ? cosine[i] : 0;
            sine[i] = normal(sine[i]) ? sine[i] : 0;
        }
        if (mut == MUT_rope_table_clamped)
            cosine[i] = fminf(fmaxf(cosine[i], -1), 1), sine[i] = fminf(fmaxf(sine[i], -1), 1);
    }
}

/* ERR-2: a token whose position is none. True: it is left alone. */
static bool is_past(const struct rope_args *a, int64_t position, int64_t token, enum mutant mut)
{
    if (position >= 0 && position < a->rows)
        return false;
    if (mut == MUT_rope_past_unguarded || mut == MUT_rope_checks_below)
        return false;
    if (mut == MUT_rope_past_negative_only)
        return position < 0;
    if (mut == MUT_rope_past_large_only)
        return position >= a->rows;
    if (mut == MUT_rope_past_low_half)
        return (int32_t) position < 0 || (int32_t) position >= a->rows;
    const struct lc_tensor *const t = a->t[ROPE_QUERY_OUT];
    uint16_t *const out = (uint16_t *) t->data + token * t->stride[0];
    if (mut == MUT_rope_past_clears_head)
        memset(out, 0, (size_t) a->d * 2); /* in place the whole head is not this token's output */
    if (mut == MUT_rope_past_clears_next && token + 1 < a->n)
        out[t->stride[0] + a->offset] = 0;
    return true;
}

static void one_token(const struct rope_args *a, int64_t token, const struct plain_knobs *k, enum mutant mut)
{
    float cosine[MOST_D], sine[MOST_D];
    for (int which = 0; which < 2 && a->heads[which]; which++) {
        const struct tokens t = tokens_of(a, which, mut), query = tokens_of(a, 0, mut);
        struct head h = { a, k, mut, a->rotary_dim, a->offset, a->interleaved, a->conjugate, a->in_place[which], cosine, sine };
        const int64_t position = position_of(a, token, which, mut);
        if (mut == MUT_rope_key_skipped && which)
            break;
        if (mut == MUT_rope_key_tokens_131 && which && token > 130)
            break;
        if (mut == MUT_rope_neox_only)
            h.interleaved = false;
        if (mut == MUT_rope_interleaved_only)
            h.interleaved = true;
        if (mut == MUT_rope_conjugate_ignored || (mut == MUT_rope_conjugate_interleaved && h.interleaved))
            h.conjugate = false;
        if (mut == MUT_rope_conjugate_always)
            h.conjugate = true;
        if (mut == MUT_rope_offset_ignored)
            h.offset = 0;
        if (mut == MUT_rope_offset_from_end)
            h.offset = a->d - a->rotary_dim;
        if (mut == MUT_rope_whole_head)
            h.n = (a->d - a->offset) / 2 * 2;
        if (mut == MUT_rope_fraction_twice)
            h.n = a->rotary_dim * a->rotary_dim / a->d / 2 * 2; /* P26 */
        if (is_past(a, position, token, mut))
            continue;
        load_table(&h, position, cosine, sine);
        for (int64_t i = 0; i < t.heads; i++) {
            const uint16_t *in = (const uint16_t *) t.in->data, *of_query = NULL;
            uint16_t *const out = (uint16_t *) t.out->data + wrapped(token * t.token_out + i * t.head_out, mut);
            const uint16_t *const laid_out = in + token * t.token_out + i * t.head_out;
            if (mut == MUT_rope_base_32 && (uintptr_t) t.out->data % 64 == 32)
                in++;
            if (mut == MUT_rope_base_rounded_down)
                in = (const uint16_t *) ((uintptr_t) in & ~(uintptr_t) 15);
            if (mut == MUT_rope_key_of_query && which)
                of_query = (const uint16_t *) query.in->data + token * query.token_in;
            one_head(&h, in + wrapped(token * t.token_in + i * t.head_in, mut), laid_out, out, of_query);
        }
    }
}

/* ---- the call ---- */

static bool cites(const struct lc_call *call, const char *text)
{
    return call->msg && strstr(call->msg, text);
}

static int refuse(const struct lc_call *call, int status, enum mutant mut)
{
    const struct lc_tensor *const out = arg_tensor(call, "query_out");
    if (mut == MUT_rope_accepts_all || (mut == MUT_rope_accepts_views && cites(call, "APPLY-6")) ||
        (mut == MUT_rope_accepts_overlap && cites(call, "DET-4")) ||
        (mut == MUT_rope_accepts_key_query && cites(call, "bytes with query (APPLY-6)")) ||
        (mut == MUT_rope_accepts_width && cites(call, "APPLY-5")) ||
        (mut == MUT_rope_accepts_rows && cites(call, "rank 2: must be 1")) ||
        (mut == MUT_rope_accepts_shapes && cites(call, "APPLY-4")))
        return LC_OK;
    if (mut == MUT_rope_refuses_vaguely)
        snprintf(call->msg, call->msg_size, "invalid argument");
    if (mut == MUT_rope_writes_then_refuses && out && out->data && out->rank > 0 && out->shape[0] > 0)
        *(uint8_t *) out->data ^= 0x55;
    return status;
}

int plain_rope(const struct lc_call *call, const struct plain_knobs *k, enum mutant mut)
{
    static int runs;
    union op_args args;
    const int status = ref_rope_check(call, &args);
    if (status != LC_OK)
        return refuse(call, status, mut);
    const struct rope_args *const a = &args.rope;
    struct plain_knobs knobs = *k;
    int64_t n = a->n;
    if (a->d + 4 > MOST_D)
        return LC_UNSUPPORTED;
    runs++;
    if (mut == MUT_rope_order_by_run)
        knobs.order = runs % 2;
    if (mut == MUT_rope_checks_below) { /* a checked build */
        for (int64_t token = 0; token < n; token++)
            if (ref_rope_position(&args, token) < 0)
                return ref_rope_check_values(call, &args);
    }
    if (mut == MUT_rope_no_tokens && n == 0)
        abort(); /* a launch of no blocks is an error */
    if (mut == MUT_rope_in_place_skipped && a->in_place[0])
        return LC_OK;
    if (mut == MUT_rope_last_token_unwritten)
        n--;
    for (int64_t token = 0; token < n; token++) {
        const int64_t position = ref_rope_position(&args, token);
        if ((mut == MUT_rope_past_refused_late || mut == MUT_rope_past_refused_vaguely) &&
            (position < 0 || position >= a->rows)) {
            if (mut == MUT_rope_past_refused_vaguely)
                snprintf(call->msg, call->msg_size, "positions: out of range");
            else
                snprintf(call->msg, call->msg_size, "positions: %lld (ERR-2)", (long long) position);
            return LC_BAD_ARG;
        }
        if (mut != MUT_rope_past_refused_vaguely || ref_rope_check_values(call, &args) == LC_OK)
            one_token(a, token, &knobs, mut);
    }
    if (mut == MUT_rope_stray_before && n > 0)
        *((uint8_t *) a->t[ROPE_QUERY_OUT]->data - 1) ^= 0x55;
    if (mut == MUT_rope_writes_table && n > 0)
        *(uint8_t *) a->t[ROPE_TABLE]->data ^= 0x55;
    if (mut == MUT_rope_writes_positions && n > 0)
        *(uint8_t *) a->t[ROPE_POSITIONS]->data ^= 1;
    return LC_OK;
}
