/* SPDX-License-Identifier: Apache-2.0 */
/* KV-7 in plain f32: the inverse rotation, an element at a time, then the plain cast of the row. */
#include "plain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 15 }; /* heads * D */

struct token {
    const struct context_cast_args *a;
    const struct plain_knobs *k;
    enum mutant mut;
    int64_t token;
    float y[MOST];       /* before the rounding */
    uint16_t bf16[MOST]; /* behind it */
    bool f32;            /* dialect f32 */
};

/* ---- the rotation ---- */

static float at_the_edge(float p, float c, float q, float s, const struct plain_knobs *k, double of)
{
    const double first = (double) p * (double) c, second = (double) q * (double) s, v = first + second;
    const double size = fabs(first) + fabs(second), edge = v + k->edge * ldexp(of * (1 + ldexp(1, -20)) * size, -24);
    float y = (float) edge;
    if (!(size > 0 && size < ldexp(1, 127)))
        return p * c + q * s;
    if (fabs(k->edge) <= 1 && fabs((double) y - v) > fabs(edge - v)) /* this rounding must not leave the hull */
        y = nextafterf(y, (float) v);
    return y;
}

static float sum(const struct token *t, float p, float c, float q, float s)
{
    const double of = t->a->t[CTX_TABLE]->dtype == LC_BF16 ? 1 : 2;
    float first = p * c, second = q * s;
    if (t->k->edge != 0)
        return at_the_edge(p, c, q, s, t->k, of);
    if (t->mut == MUT_ctx_products_bf16)
        first = plain_round(first, 8), second = plain_round(second, 8);
    if (t->k->order == 1)
        return fmaf(p, c, second);
    return t->k->order == 2 ? fmaf(q, s, first) : first + second;
}

static float entry(const struct token *t, int64_t at)
{
    const struct lc_tensor *const table = t->a->t[CTX_TABLE];
    const float v = table->dtype == LC_F32 ? ((const float *) table->data)[at]
                                           : plain_from_bf16(((const uint16_t *) table->data)[at]);
    if (t->mut == MUT_ctx_table_ftz && fabsf(v) < plain_pow2(-126))
        return 0;
    return t->mut == MUT_ctx_table_bf16 ? plain_round(v, 8) : v;
}

static void turn_back(const struct token *t, int64_t position, float *head)
{
    const struct rope_args *const r = &t->a->rope;
    const enum mutant mut = t->mut;
    const int64_t n = r->rotary_dim / 2, row = position * r->rotary_dim, last = mut == MUT_ctx_pairs_64 && n > 64 ? 64 : n;
    const bool interleaved = r->interleaved && mut != MUT_ctx_neox_only;
    float *part = head + r->offset;
    bool nan = false;
    if (mut == MUT_ctx_leading)
        part = head;
    for (int64_t i = 0; i < last; i++) {
        float *const a = part + (interleaved ? 2 * i : i), *const b = part + (interleaved ? 2 * i + 1 : n + i);
        const float p = *a, q = *b, c = entry(t, row + i);
        float s = entry(t, row + n + i);
        if (mut == MUT_ctx_forward)
            s = -s;
        nan = nan || p != p || q != q;
        *a = sum(t, p, c, q, s);
        *b = sum(t, q, c, p, -s);
    }
    for (int64_t i = 0; i < r->rotary_dim && nan && mut == MUT_ctx_nan_leaks; i++)
        part[i] = NAN;
}

static int64_t position_of(const struct token *t)
{
    const struct lc_tensor *const p = t->a->t[CTX_POSITIONS];
    if (t->mut == MUT_ctx_positions_ignored)
        return t->token % t->a->rope.rows;
    if (t->mut == MUT_ctx_i64_as_i32 || p->dtype == LC_I32)
        return ((const int32_t *) p->data)[t->token];
    const int64_t at = ((const int64_t *) p->data)[t->token];
    return t->mut == MUT_ctx_positions_u16 && at >= 0 && at < t->a->rope.rows ? at & 0xffff : at;
}

/* ERR-2: that token is left alone. */
static bool is_past(const struct token *t, int64_t position)
{
    if (t->mut == MUT_ctx_past_unguarded)
        return false;
    if (t->mut == MUT_ctx_past_low_half)
        position = (int32_t) position;
    return position < 0 || position >= t->a->rope.rows;
}

/* The rows of a block of SF-4 from the 256th on get those 128 before. */
static void repeat_third(const struct context_cast_args *a)
{
    const struct lc_tensor *const t = a->t[CTX_EXTRA_SF];
    for (int64_t row = 0; t && row < a->rope.n; row++)
        for (int64_t g = 0; row % a->sf.block_m >= 256 && g < a->sf.groups; g++)
            ((uint8_t *) t->data)[sf_extra_place(&a->sf, t, row, g)] =
                ((const uint8_t *) t->data)[sf_extra_place(&a->sf, t, row - 128, g)];
}

/* ---- one token ---- */

static void load_token(struct token *t, int64_t position)
{
    const struct rope_args *const r = &t->a->rope;
    const struct lc_tensor *const context = t->a->t[CTX_CONTEXT];
    const enum mutant mut = t->mut;
    int64_t row = context->stride[0], step = context->stride[1];
    if (mut == MUT_ctx_token_dense)
        row = r->heads[0] * r->d;
    if (mut == MUT_ctx_head_dense)
        step = r->d;
    const char *data = context->data;
    if (mut == MUT_ctx_base_32 && (uintptr_t) data % 64 == 32)
        data -= 32;
    if (mut == MUT_ctx_base_rounded_down)
        data = (const char *) ((uintptr_t) data & ~(uintptr_t) 15);
    for (int64_t h = 0; h < r->heads[0]; h++) {
        float *const head = t->y + h * r->d;
        for (int64_t i = 0; i < r->d; i++)
            head[i] = plain_from_bf16(((const uint16_t *) (const void *) data)[t->token * row + h * step + i]);
        if (mut == MUT_ctx_not_rotated || (mut == MUT_ctx_first_head_only && h > 0) || (mut == MUT_ctx_heads_64 && h >= 64))
            continue;
        turn_back(t, position, head);
        if (mut == MUT_ctx_twice)
            turn_back(t, position, head);
    }
    for (int64_t i = 0; i < r->heads[0] * r->d; i++) {
        t->bf16[i] = plain_bf16(t->y[i], mut == MUT_ctx_truncate ? PLAIN_TRUNCATE : PLAIN_RN);
        if (t->k->nan == 1 && t->y[i] != t->y[i])
            t->bf16[i] = 0xffc1; /* FMT-1: another NaN */
    }
}

static float cast_at(const void *from, int64_t i)
{
    const struct token *const t = from;
    const bool f32 = t->mut == MUT_ctx_not_rounded || (t->f32 && t->mut != MUT_ctx_f32_rounded);
    if (t->mut == MUT_ctx_codes_unrotated) {
        const struct rope_args *const r = &t->a->rope;
        const struct lc_tensor *const c = t->a->t[CTX_CONTEXT];
        return plain_from_bf16(((const uint16_t *) c->data)[t->token * c->stride[0] + i / r->d * c->stride[1] + i % r->d]);
    }
    return f32 ? t->y[i] : plain_from_bf16(t->bf16[i]); /* KV-7 */
}

static void store_bf16(const struct token *t)
{
    const struct rope_args *const r = &t->a->rope;
    const struct lc_tensor *const context = t->a->t[CTX_CONTEXT], *const bf16 = t->a->t[CTX_BF16];
    int64_t row = bf16->stride[0], step = bf16->stride[1];
    if (t->mut == MUT_ctx_bf16_strides)
        row = context->stride[0], step = context->stride[1];
    for (int64_t h = 0; h < r->heads[0]; h++)
        for (int64_t i = 0; i < r->d; i++) {
            const int64_t from = t->token * context->stride[0] + h * context->stride[1] + i;
            uint16_t code = t->bf16[h * r->d + i];
            if (t->mut == MUT_ctx_bf16_unrotated)
                code = ((const uint16_t *) context->data)[from];
            if (t->mut == MUT_ctx_bf16_tail_unwritten && i >= r->offset)
                continue;
            ((uint16_t *) bf16->data)[t->token * row + h * step + i] = code;
        }
}

static void write_context(const struct token *t)
{
    const struct rope_args *const r = &t->a->rope;
    const struct lc_tensor *const c = t->a->t[CTX_CONTEXT];
    for (int64_t h = 0; h < r->heads[0]; h++)
        memcpy((uint16_t *) c->data + t->token * c->stride[0] + h * c->stride[1], t->bf16 + h * r->d, (size_t) r->d * 2);
}

static int refuse(const struct lc_call *call, int status, enum mutant mut)
{
    const struct lc_tensor *const out = arg_tensor(call, "out");
    const char *const msg = call->msg ? call->msg : "";
    if (mut == MUT_ctx_accepts_all || (mut == MUT_ctx_accepts_views && strstr(msg, "KV-6")) ||
        (mut == MUT_ctx_accepts_overlap && strstr(msg, "DET-4")) || (mut == MUT_ctx_accepts_width && strstr(msg, "APPLY-5")) ||
        (mut == MUT_ctx_accepts_rest && strstr(msg, "KV-7")))
        return LC_OK;
    if (mut == MUT_ctx_refuses_vaguely)
        snprintf(call->msg, call->msg_size, "invalid argument");
    if (mut == MUT_ctx_writes_then_refuses && out && out->data && out->rank > 0 && out->shape[0] > 0)
        *(uint8_t *) out->data ^= 0x55;
    return status;
}

int plain_context_cast(const struct lc_call *call, const struct plain_knobs *k, enum mutant mut)
{
    static struct token t;
    union op_args args;
    const int status = ref_context_cast_check(call, &args);
    if (status != LC_OK)
        return refuse(call, status, mut);
    struct context_cast_args *const a = &args.context_cast;
    const struct rope_args *const r = &a->rope;
    const int64_t width = r->heads[0] * r->d;
    if (width > MOST)
        return LC_UNSUPPORTED;
    if (mut == MUT_ctx_no_tokens && r->n == 0)
        abort(); /* a launch of no blocks is an error */
    if (mut == MUT_ctx_writes_off_bf16)
        a->t[CTX_BF16] = arg_tensor(call, "bf16");
    struct plain_row row = { .s = &a->sf,
                             .k = k,
                             .mut = mut,
                             .batch = 1,
                             .m = r->n,
                             .d = width,
                             .at = cast_at,
                             .from = &t,
                             .post = 1,
                             .bf16 = !a->f32,
                             .sf = a->t[CTX_SF],
                             .extra_sf = a->t[CTX_EXTRA_SF] };
    t.a = a, t.k = k, t.mut = mut, t.f32 = a->f32;
    for (int64_t token = 0; token < r->n; token++) {
        t.token = row.row = token;
        row.out = (uint8_t *) a->t[CTX_OUT]->data + token * width;
        const int64_t position = position_of(&t);
        if (mut == MUT_ctx_last_token_unwritten && token == r->n - 1)
            break;
        if (is_past(&t, position))
            continue; /* ERR-2 */
        load_token(&t, position);
        plain_cast_row(&row);
        if (mut == MUT_ctx_stray_row_end)
            row.out[width] = 0;
        if (a->t[CTX_BF16])
            store_bf16(&t);
        if (mut == MUT_ctx_writes_context)
            write_context(&t);
    }
    row.row = r->n;
    plain_sf_done(&row);
    if (mut == MUT_ctx_sf4_third)
        repeat_third(a);
    return LC_OK;
}
