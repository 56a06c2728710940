/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of kv_store.cu share: the call, a head's addresses, a vector's rotation, stores of codes and scale bytes. */
#ifndef FAST_KV_STORE_CUH
#define FAST_KV_STORE_CUH

#include "scale.cuh"

struct fast_kv_bytes { /* KV-3 */
    char *base;
    int64_t page, row, head;
};

struct fast_kv {
    const char *x, *weight, *table; /* weight, table, slots: NULL where there is none */
    int64_t token, head;            /* strides of x, bytes */
    const void *positions, *slots;
    struct fast_kv_bytes codes, scales;               /* in the pool */
    char *out, *sf;                                   /* KV-5; sf NULL: BF16 out */
    int64_t rows, capacity;                           /* heads of all tokens; slots of the pool */
    int64_t page_size, table_rows, sf_step, sf_batch; /* bytes between words of a row of sf, and between batches */
    struct fast_div heads, page;
    float eps, scale;
    int32_t d, rotary_dim, offset, groups, code_align;
    uint32_t share; /* heads that a lane of fast_kv_quick does one after the other */
    bool weight_f32, table_f32, positions_wide, slots_wide, slots_narrow; /* narrow: the capacity fits 31 bits */
    bool hadamard, cast, bf16_stages, interleaved, conjugate, per_head;
    bool words; /* scale bytes go in aligned words of four groups */
    bool turns; /* a vector of eight rotates as a whole */
    struct fast_kv_step {
        int64_t codes, scales;
        uint32_t first;
    } next; /* from a head to the next one of its token: scales where a head has whole words of an sf, else first */
};

enum { FAST_KV_THREADS = 256, FAST_KV_WARPS = FAST_KV_THREADS / 32 };

/* ---- where ---- */

struct fast_kv_at {
    uint32_t token, head;
    bool active;     /* something is written */
    char *codes;     /* the first code, or BF16 */
    char *scales;    /* byte 0 of word 0 */
    uint32_t first;  /* group 0 of the head in its row of sf */
    const char *row; /* of the table; NULL: no rotation */
};

/* Entry i of positions or slots, in halves that nothing waits for here. */
struct fast_kv_entry_bits {
    int32_t low, high;
};

static __device__ __forceinline__ struct fast_kv_entry_bits fast_kv_load_entry(const void *p, bool wide, uint32_t i)
{
    const int *const at = (const int *) p + (wide ? 2 * (int64_t) i : (int64_t) i);
    return { __ldg(at), wide ? __ldg(at + 1) : 0 };
}

static __device__ __forceinline__ int64_t fast_kv_index(const struct fast_kv_entry_bits &e, bool wide)
{
    return wide ? (int64_t) ((uint64_t) (uint32_t) e.high << 32 | (uint32_t) e.low) : (int64_t) e.low;
}

static __device__ __forceinline__ char *fast_kv_place(const struct fast_kv_bytes &b, int64_t page, int64_t row, uint32_t head)
{
    return b.base + page * b.page + row * b.row + (int64_t) head * b.head;
}

/* What the call says of a token; both loads are under way before either is waited for. */
struct fast_kv_asked {
    struct fast_kv_entry_bits position, slot;
};

static __device__ __forceinline__ struct fast_kv_asked fast_kv_ask(const struct fast_kv &p, uint32_t unit)
{
    struct fast_kv_asked a = {};
    if (unit >= p.rows)
        return a;
    const uint32_t token = fast_divide(unit, p.heads);
    if (p.table != nullptr)
        a.position = fast_kv_load_entry(p.positions, p.positions_wide, token);
    if (p.slots != nullptr)
        a.slot = fast_kv_load_entry(p.slots, p.slots_wide, token);
    return a;
}

/* KV-2, KV-3, KV-5. ERR-2: of a slot past the pool or a position outside the table nothing is read or written. NARROW: so the
 * slots are known to be, and no 64-bit division is compiled. */
template <bool NARROW>
static __device__ __forceinline__ struct fast_kv_at fast_kv_locate(const struct fast_kv &p, uint32_t unit,
                                                                   const struct fast_kv_asked &asked)
{
    struct fast_kv_at at = {};
    if (unit >= p.rows)
        return at;
    at.token = fast_divide(unit, p.heads);
    at.head = unit - at.token * p.heads.by;
    at.active = true;
    if (p.table != nullptr) {
        const int64_t position = fast_kv_index(asked.position, p.positions_wide);
        at.active = position >= 0 && position < p.table_rows;
        if (at.active)
            at.row = p.table + position * p.rotary_dim * (p.table_f32 ? 4 : 2);
    }
    if (p.slots != nullptr) {
        const int64_t slot = fast_kv_index(asked.slot, p.slots_wide);
        at.active = at.active && slot >= 0 && slot < p.capacity;
        int64_t page = 0, row = 0;
        if (NARROW || p.slots_narrow) {
            const uint32_t s = (uint32_t) slot & 0x7fffffffu, q = fast_divide(s, p.page);
            page = q, row = s - q * p.page.by;
        } else if (at.active) {
            page = slot / p.page_size, row = slot - page * p.page_size;
        }
        at.codes = fast_kv_place(p.codes, page, row, at.head);
        at.scales = fast_kv_place(p.scales, page, row, at.head);
    } else {
        at.codes = p.out + (int64_t) unit * p.d * (p.cast ? 1 : 2);
        at.scales = p.sf + (p.per_head ? (int64_t) at.token * p.sf_batch + 4 * (int64_t) at.head : 4 * (int64_t) at.token);
        at.first = p.per_head ? 0u : at.head * (uint32_t) p.groups;
    }
    return at;
}

/* The byte of group g. */
static __device__ __forceinline__ char *fast_kv_scale(const struct fast_kv &p, const struct fast_kv_at &at, uint32_t g)
{
    if (p.slots != nullptr)
        return at.scales + g;
    g += at.first;
    return at.scales + (int64_t) (g / 4u) * p.sf_step + (g & 3u); /* SF-3 */
}

/* A store to global memory, which the compiler does not know of a pointer in a struct. */
template <class T> static __device__ __forceinline__ void fast_kv_put(char *to, T v)
{
    __builtin_assume(__isGlobal(to));
    *(T *) to = v;
}

static __device__ __forceinline__ void fast_kv_put_codes(char *to, uint2 q, int align)
{
    if (align >= 8) {
        fast_kv_put(to, q);
    } else if (align == 4) {
        fast_kv_put(to, q.x);
        fast_kv_put(to + 4, q.y);
    } else {
#pragma unroll
        for (int j = 0; j < 8; j++)
            fast_kv_put(to + j, (char) ((j < 4 ? q.x : q.y) >> 8 * (j % 4)));
    }
}

/* ---- stages ---- */

/* KV-1, stage=bf16. */
static __device__ __forceinline__ void fast_kv_round(float (&v)[8])
{
    fast_bf16_unpack(fast_bf16_pack(v), v);
}

/* Eight weights at column c; columns from d on are used nowhere. */
template <bool FAST> static __device__ __forceinline__ void fast_kv_weight(const struct fast_kv &p, int c, int d, float (&w)[8])
{
    if (!FAST || c >= d) {
        if (p.weight_f32)
            fast_load_f32<false>(p.weight, c, d, w);
        else
            fast_bf16_unpack(fast_load_bf16<false>(p.weight, c, d), w);
    } else if (p.weight_f32) {
        const float4 a = __ldg((const float4 *) p.weight + c / 4), b = __ldg((const float4 *) p.weight + c / 4 + 1);
        w[0] = a.x, w[1] = a.y, w[2] = a.z, w[3] = a.w, w[4] = b.x, w[5] = b.y, w[6] = b.z, w[7] = b.w;
    } else {
        fast_bf16_unpack(__ldg((const uint4 *) (p.weight + 2 * c)), w);
    }
}

/* Entry i of a row of the table. */
static __device__ __forceinline__ float fast_kv_entry(const struct fast_kv &p, const char *row, int i)
{
    return p.table_f32 ? __ldg((const float *) row + i) : fast_bf16_lo(__ldg((const uint16_t *) row + i));
}

/* Four entries from i on, a multiple of four. */
static __device__ __forceinline__ void fast_kv_four(const struct fast_kv &p, const char *row, int i, float *e)
{
    if (p.table_f32) {
        const float4 q = __ldg((const float4 *) row + (unsigned) i / 4);
        e[0] = q.x, e[1] = q.y, e[2] = q.z, e[3] = q.w;
    } else {
        const uint2 q = __ldg((const uint2 *) row + (unsigned) i / 4);
        e[0] = fast_bf16_lo(q.x), e[1] = fast_bf16_hi(q.x), e[2] = fast_bf16_lo(q.y), e[3] = fast_bf16_hi(q.y);
    }
}

/* Eight entries from i on, a multiple of eight. */
static __device__ __forceinline__ void fast_kv_eight(const struct fast_kv &p, const char *row, int i, float (&e)[8])
{
    if (p.table_f32) {
        fast_kv_four(p, row, i, e);
        fast_kv_four(p, row, i + 4, e + 4);
    } else {
        fast_bf16_unpack(__ldg((const uint4 *) row + (unsigned) i / 8), e);
    }
}

/* APPLY-1 of one element with its partner: the second of a pair, or the first with -s for s. */
static __device__ __forceinline__ float fast_kv_turn(float own, float partner, float c, float s)
{
    return __fmaf_rn(own, c, __fmul_rn(partner, s));
}

/* Rotates what of the vector at column c rotates. head: the head's elements from [offset, offset + rotary_dim) as they were, by
 * column. The wide path and the other one compute the same. */
static __device__ __forceinline__ void fast_kv_rotate(const struct fast_kv &p, const char *row, const float *head, int c,
                                                      float (&v)[8])
{
    const int pairs = p.rotary_dim / 2, e0 = c - p.offset;
    if (e0 <= -8 || e0 >= p.rotary_dim)
        return;
    if (p.turns) {
        float cos[8], sin[8], partner[8];
        const bool second = !p.interleaved && e0 >= pairs;
        const int i = p.interleaved ? e0 / 2 : second ? e0 - pairs : e0;
        if (p.interleaved) {
            fast_kv_four(p, row, i, cos);
            fast_kv_four(p, row, pairs + i, sin);
#pragma unroll
            for (int j = 7; j >= 0; j--)
                cos[j] = cos[j / 2], sin[j] = sin[j / 2], partner[j] = v[j ^ 1];
        } else {
            const float *const q = head + c + (second ? -pairs : pairs);
            const float4 a = *(const float4 *) q, b = *(const float4 *) (q + 4);
            fast_kv_eight(p, row, i, cos);
            fast_kv_eight(p, row, pairs + i, sin);
            partner[0] = a.x, partner[1] = a.y, partner[2] = a.z, partner[3] = a.w;
            partner[4] = b.x, partner[5] = b.y, partner[6] = b.z, partner[7] = b.w;
        }
#pragma unroll
        for (int j = 0; j < 8; j++)
            v[j] = fast_kv_turn(v[j], partner[j], cos[j],
                                p.conjugate != (p.interleaved ? j % 2 == 0 : !second) ? -sin[j] : sin[j]);
        return;
    }
#pragma unroll
    for (int j = 0; j < 8; j++) {
        const int e = e0 + j;
        if (e < 0 || e >= p.rotary_dim)
            continue;
        const bool first = p.interleaved ? e % 2 == 0 : e < pairs;
        const int i = p.interleaved ? e / 2 : first ? e : e - pairs;
        const int partner = p.interleaved ? e ^ 1 : first ? e + pairs : e - pairs;
        const float c_i = fast_kv_entry(p, row, i), s_i = fast_kv_entry(p, row, pairs + i);
        v[j] = fast_kv_turn(v[j], head[p.offset + partner], c_i, p.conjugate != first ? -s_i : s_i);
    }
}

#endif
