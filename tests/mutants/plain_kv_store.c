/* SPDX-License-Identifier: Apache-2.0 */
/* KV-2..6 in plain f32, a head at a time, behind the stages of plain_kv_stages.c. */
#include "plain_kv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- KV-2, KV-3, KV-5: addresses ---- */

static int64_t slot_of(const struct kv_head *h)
{
    const struct kv_store_args *const a = h->a;
    const enum mutant mut = h->mut;
    const int64_t slots = a->pages * a->page_size;
    int64_t slot = plain_kv_index(a->t[KV_SLOTS], h->token);
    if (mut == MUT_kv_slots_32 && a->t[KV_SLOTS]->dtype == LC_I64)
        slot = ((const int32_t *) a->t[KV_SLOTS]->data)[h->token]; /* K15 */
    if (mut == MUT_kv_slot_int)
        slot = (int32_t) slot;
    if (mut == MUT_kv_slot_16_bits && slot > 0)
        slot &= 0xffff;
    if (mut == MUT_kv_slot_float)
        slot = (int64_t) (float) slot;
    if (mut == MUT_kv_slot_wraps && slot < 0)
        slot = slots - 1; /* K01 */
    if (mut == MUT_kv_minus_1_of_ones && slot == -1 && a->page_size == 1)
        slot = 0;
    if (mut == MUT_kv_only_minus_1 && slot < -1)
        slot = slots - 1;
    if (mut == MUT_kv_past_is_0 && slot >= slots)
        slot = 0;
    return slot;
}

/* Byte of a head's first code, or of its scales, in the pool; < 0: none. */
static int64_t pool_at(const struct kv_head *h, int64_t slot, int64_t head, bool scales)
{
    const struct kv_store_args *const a = h->a;
    const enum mutant mut = h->mut;
    struct kv_bytes b = scales ? a->scales : a->codes;
    int64_t page = slot / a->page_size, row = slot % a->page_size;
    if (mut == MUT_kv_page_row_exchanged)
        page = slot % a->page_size, row = slot / a->page_size;
    if (mut == MUT_kv_page_8_bits)
        page &= 0xff;
    if (mut == MUT_kv_row_7_bits)
        row &= 0x7f;
    if (mut == MUT_kv_page_shift) {
        int bits = 0;
        while (INT64_C(2) << bits <= a->page_size)
            bits++;
        page = slot >> bits, row = slot & ((INT64_C(1) << bits) - 1);
    }
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
    int64_t at = b.base + of_page + row * b.row + head * b.head;
    const int64_t size = a->t[KV_POOL]->shape[0];
    if (mut == MUT_kv_pool_31)
        at = (int32_t) at;
    if (mut == MUT_kv_pool_32)
        at = (uint32_t) at;
    return slot < 0 || at + (scales ? a->d / 32 : a->d) > size ? -1 : at;
}

static int64_t sf_at(const struct kv_head *h, int64_t head, int64_t g)
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

static uint8_t code_of(const struct kv_head *h, float v, int e)
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

static int exponent(const struct kv_head *h, const float *v, int64_t n)
{
    const enum mutant mut = h->mut;
    float amax = mut == MUT_kv_no_floor ? 0 : 1e-4f;
    for (int64_t i = 0; i < n; i++)
        amax = fabsf(v[i]) > amax ? fabsf(v[i]) : amax;
    const float sf = amax / (mut == MUT_kv_max_224 ? 224.0f : 448.0f);
    return plain_ceil_exp(sf, mut == MUT_kv_exp_floor ? MUT_cast_exp_floor : MUT_none);
}

/* codes: d bytes; scales: where the byte of each group goes. */
static void cast(const struct kv_head *h, const float *v, uint8_t *codes, uint8_t *const *scales)
{
    const enum mutant mut = h->mut;
    const int64_t d = h->a->d, group = mut == MUT_kv_group_64 && d % 64 == 0 ? 64 : 32;
    int64_t first = 0, end = d;
    if (mut == MUT_kv_tail_unwritten && h->a->rope)
        first = h->a->offset, end = first + h->a->rotary_dim; /* P03 */
    for (int64_t g = 0; g < d / 32; g++) {
        const float *const from = v + g * 32 / group * group;
        int e = exponent(h, from, group);
        bool finite = true;
        for (int64_t i = 0; mut == MUT_kv_inf_next_group && g > 0 && i < 32; i++)
            if (!isfinite(from[i - 32]))
                e = 100;
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

static void store_bf16(const struct kv_head *h, const float *v, uint16_t *out)
{
    for (int64_t i = 0; i < h->a->d; i++)
        out[i] = plain_bf16(h->mut == MUT_kv_out_ftz && fabsf(v[i]) < 0x1p-126f ? 0 : v[i],
                            h->mut == MUT_kv_bf16_truncate ? PLAIN_TRUNCATE : PLAIN_RN);
}

static void one_head(struct kv_head *h)
{
    static float v[MOST_D];
    static uint8_t *scales[MOST_D / 32];
    const struct kv_store_args *const a = h->a;
    const enum mutant mut = h->mut;
    const int64_t groups = a->d / 32, slot = a->store ? slot_of(h) : 0;
    int64_t from = h->head;
    if (mut == MUT_kv_neighbour_codes && (from ^ 1) < a->heads)
        from ^= 1;
    plain_kv_stages(h, from, v);
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
    const struct lc_tensor *const pool = arg_tensor(call, "pool"), *const positions = arg_tensor(call, "positions");
    if (mut == MUT_kv_accepts_all || (mut == MUT_kv_accepts_overlap && cites(call->msg, "KV-3")) ||
        (mut == MUT_kv_accepts_views && cites(call->msg, "KV-6")) ||
        (mut == MUT_kv_accepts_widths && (cites(call->msg, "KV-1") || cites(call->msg, "APPLY-5"))) ||
        (mut == MUT_kv_accepts_slots && cites(call->msg, "KV-2")) ||
        (mut == MUT_kv_out_lost_ends && cites(call->msg, "ERR-2") && !pool) ||
        (mut == MUT_kv_wide_lost_ends && cites(call->msg, "ERR-2") && positions && positions->dtype == LC_I64))
        return LC_OK;
    if (mut == MUT_kv_refuses_vaguely && call->msg_size > 0)
        call->msg[0] = 0;
    if (mut == MUT_kv_writes_then_refuses && pool && pool->data && pool->rank == 1 && pool->shape[0] > 0)
        *(uint8_t *) pool->data ^= 0x55;
    return status;
}

/* ERR-2: nothing of it is written. */
static void lost_token(const struct kv_head *h)
{
    struct kv_head last = *h;
    last.token--;
    if (h->mut != MUT_kv_lost_clears_last || last.token < 0 || !h->a->store || slot_of(&last) < 0)
        return;
    memset((uint8_t *) h->a->t[KV_POOL]->data + pool_at(&last, slot_of(&last), 0, false), 0, (size_t) h->a->d);
}

int plain_kv_store(const struct lc_call *call, const struct plain_knobs *k, enum mutant mut)
{
    union op_args args;
    int status = ref_kv_store_check(call, &args);
    for (int64_t i = 0; k->checks_skipped && status == LC_OK && i < args.kv_store.n; i++) {
        const struct lc_tensor *const table = args.kv_store.t[KV_TABLE], *const at = args.kv_store.t[KV_POSITIONS];
        if (table && (plain_kv_index(at, i) < 0 || plain_kv_index(at, i) >= table->shape[0]))
            return arg_refuse(call, "positions", "ERR-2", "[%lld] = %lld", (long long) i, (long long) plain_kv_index(at, i));
    }
    const bool leaves_out = k->leaves_out || mut == MUT_kv_lost_clears_last;
    if (status == LC_OK && mut != MUT_kv_past_is_0 && !leaves_out)
        status = ref_kv_store_check_values(call, &args);
    if (status != LC_OK)
        return refuse(call, status, mut);
    const struct kv_store_args *const a = &args.kv_store;
    struct kv_head h = { .call = call, .a = a, .k = k, .mut = mut };
    if (mut == MUT_kv_no_tokens && a->n == 0)
        abort(); /* a launch of no blocks is an error */
    if (mut == MUT_kv_stray_before && a->n > 0)
        ((uint8_t *) a->t[a->store ? KV_POOL : KV_OUT]->data)[-1] ^= 0x55;
    for (h.token = 0; h.token < a->n; h.token++) {
        if (a->store && slot_of(&h) < 0)
            continue; /* KV-2: its position is not looked at */
        if (leaves_out && ref_kv_store_lost(&args, h.token)) {
            lost_token(&h);
            continue;
        }
        for (h.head = 0; h.head < a->heads; h.head++) {
            if (mut == MUT_kv_last_token_unwritten && h.token == a->n - 1)
                break;
            if ((mut == MUT_kv_8_heads && h.head >= 8) || (mut == MUT_kv_1024_tokens && h.token >= 1024))
                break;
            one_head(&h);
            if (mut == MUT_kv_writes_x && h.head == 0)
                ((uint16_t *) a->t[KV_X]->data)[h.token * a->t[KV_X]->stride[0]] ^= 0x8000; /* scratch in place */
        }
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
