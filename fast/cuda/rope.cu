/* SPDX-License-Identifier: Apache-2.0 */
/* Rotation of query and key heads (APPLY-1..6), one pass: every element is read once and written once.
 *
 * An item is one head of one token: a thread takes eight pairs of it at a time (16-byte loads where the head is aligned and the
 * sizes are multiples of eight), and, out of place, eight elements of what is only copied. A pair's two elements belong to one
 * thread, which reads both before it writes either: in place needs no barrier. Each product and the sum are intrinsics, in the
 * same order on every path, so that strides and addresses change no bit (DET-2). A position outside the table is never used:
 * that token's outputs are left alone (ERR-2). */
#include "common.cuh"

enum { FAST_ROPE_THREADS = 256 };

struct fast_rope_heads { /* query or key; strides in bytes */
    const char *in;
    char *out;
    int64_t in_token, in_head, out_token, out_head;
};

struct fast_rope {
    struct fast_rope_heads of[2];
    const char *table, *positions;
    int64_t table_rows;
    int64_t rows; /* items: tokens * (heads of query and key) */
    struct fast_div heads, units;
    uint32_t query_heads;
    int32_t pairs, offset, d, rotating; /* rotating: units of a head that rotate, eight pairs each; the others copy */
    bool table_bf16, wide, negate;      /* wide: positions are int64 */
    bool interleaved;
};

/* (a, b) -> (a c - b s, b c + a s) */
static __device__ __forceinline__ void fast_rotate(float &a, float &b, float c, float s)
{
    const float left = __fmaf_rn(a, c, -__fmul_rn(b, s)), right = __fmaf_rn(b, c, __fmul_rn(a, s));
    a = left;
    b = right;
}

/* n of 8 table entries from entry i of a row on, the rest 0. */
template <bool FAST>
static __device__ __forceinline__ void fast_rope_angles(const struct fast_rope &p, const char *row, int32_t i, int32_t n,
                                                        float v[8])
{
    if constexpr (FAST) {
        if (p.table_bf16) {
            fast_bf16_unpack(__ldg((const uint4 *) (row + 2 * i)), v);
        } else {
            const float4 lo = __ldg((const float4 *) (row + 4 * i)), hi = __ldg((const float4 *) (row + 4 * i) + 1);
            v[0] = lo.x, v[1] = lo.y, v[2] = lo.z, v[3] = lo.w, v[4] = hi.x, v[5] = hi.y, v[6] = hi.z, v[7] = hi.w;
        }
    } else {
#pragma unroll
        for (int j = 0; j < 8; j++)
            v[j] = j >= n         ? 0.0f
                   : p.table_bf16 ? fast_bf16_lo(__ldg((const uint16_t *) row + i + j))
                                  : __ldg((const float *) row + i + j);
    }
}

/* Eight BF16, of which n are there. Not through the read-only path: in place the same bytes are written. */
template <bool FAST> static __device__ __forceinline__ void fast_rope_load(const char *p, int32_t n, float v[8])
{
    if constexpr (FAST) {
        fast_bf16_unpack(*(const uint4 *) p, v);
    } else {
#pragma unroll
        for (int j = 0; j < 8; j++)
            v[j] = j < n ? fast_bf16_lo(((const uint16_t *) p)[j]) : 0.0f;
    }
}

template <bool FAST> static __device__ __forceinline__ void fast_rope_store(char *p, int32_t n, const float v[8])
{
    const uint4 w = fast_bf16_pack(v);
    if constexpr (FAST) {
        *(uint4 *) p = w;
    } else {
        const uint32_t words[4] = { w.x, w.y, w.z, w.w };
#pragma unroll
        for (int j = 0; j < 8; j++)
            if (j < n)
                ((uint16_t *) p)[j] = (uint16_t) (words[j / 2] >> 16 * (j % 2));
    }
}

/* Pairs first .. first + 7 of one head; in and out at the part that rotates. */
template <bool FAST>
static __device__ __forceinline__ void fast_rope_pairs(const struct fast_rope &p, const char *row, const char *in, char *out,
                                                       int32_t first)
{
    const int32_t n = p.pairs - first < 8 ? p.pairs - first : 8;
    float c[8], s[8], a[8], b[8];
    fast_rope_angles<FAST>(p, row, first, n, c);
    fast_rope_angles<FAST>(p, row, p.pairs + first, n, s);
    const int64_t at_a = p.interleaved ? 4 * (int64_t) first : 2 * (int64_t) first;
    const int64_t at_b = p.interleaved ? at_a + 16 : at_a + 2 * (int64_t) p.pairs;
    const int32_t n_a = p.interleaved ? (2 * n < 8 ? 2 * n : 8) : n, n_b = p.interleaved ? 2 * n - n_a : n;
    fast_rope_load<FAST>(in + at_a, n_a, a);
    fast_rope_load<FAST>(in + at_b, n_b, b);
#pragma unroll
    for (int j = 0; j < 8; j++)
        s[j] = p.negate ? -s[j] : s[j];
    if (p.interleaved) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
            fast_rotate(a[2 * j], a[2 * j + 1], c[j], s[j]);
            fast_rotate(b[2 * j], b[2 * j + 1], c[4 + j], s[4 + j]);
        }
    } else {
#pragma unroll
        for (int j = 0; j < 8; j++)
            fast_rotate(a[j], b[j], c[j], s[j]);
    }
    fast_rope_store<FAST>(out + at_a, n_a, a);
    fast_rope_store<FAST>(out + at_b, n_b, b);
}

/* Eight elements of what does not rotate, the unit'th: before the offset, then behind what rotates. Bits, not values. FAST: a
 * unit lies on one side, whole. */
template <bool FAST>
static __device__ __forceinline__ void fast_rope_copy(const struct fast_rope &p, const char *in, char *out, int32_t unit)
{
    int32_t at = 8 * unit;
    if constexpr (FAST) {
        at += at >= p.offset ? 2 * p.pairs : 0;
        *(uint4 *) (out + 2 * (int64_t) at) = *(const uint4 *) (in + 2 * (int64_t) at);
    } else {
#pragma unroll
        for (int j = 0; j < 8; j++)
            if (at + j < p.d - 2 * p.pairs) {
                const int64_t i = at + j + (at + j >= p.offset ? 2 * p.pairs : 0);
                ((uint16_t *) out)[i] = ((const uint16_t *) in)[i];
            }
    }
}

/* Buys: units of neighbouring threads are neighbouring vectors of a head, then the next head of the same token: dense accesses,
 * and a table row that comes from L1 for all heads but the first. */
template <bool FAST>
static __global__ void __launch_bounds__(FAST_ROPE_THREADS) fast_rope_kernel(const __grid_constant__ struct fast_rope p)
{
    const int64_t all = p.rows * (int64_t) p.units.by, step = (int64_t) gridDim.x * FAST_ROPE_THREADS;
    for (int64_t at = (int64_t) blockIdx.x * FAST_ROPE_THREADS + threadIdx.x; at < all; at += step) {
        uint32_t item, unit;
        if (all < INT32_MAX) {
            item = fast_divide((uint32_t) at, p.units);
            unit = (uint32_t) at - item * p.units.by;
        } else {
            item = (uint32_t) (at / p.units.by);
            unit = (uint32_t) (at % p.units.by);
        }
        const uint32_t token = fast_divide(item, p.heads);
        uint32_t head = item - token * p.heads.by;
        const bool key = head >= p.query_heads;
        head -= key ? p.query_heads : 0u;
        const int64_t position = p.wide ? __ldg((const long long *) p.positions + token)
                                        : __ldg((const int *) p.positions + token);
        if (position < 0 || position >= p.table_rows)
            continue; /* ERR-2 */
        const struct fast_rope_heads &of = p.of[key ? 1 : 0];
        const char *const in = of.in + (int64_t) token * of.in_token + (int64_t) head * of.in_head;
        char *const out = of.out + (int64_t) token * of.out_token + (int64_t) head * of.out_head;
        if ((int32_t) unit < p.rotating) {
            const char *const row = p.table + position * (2 * (int64_t) p.pairs) * (p.table_bf16 ? 2 : 4);
            fast_rope_pairs<FAST>(p, row, in + 2 * (int64_t) p.offset, out + 2 * (int64_t) p.offset, 8 * (int32_t) unit);
        } else if (in != out) {
            fast_rope_copy<FAST>(p, in, out, (int32_t) unit - p.rotating);
        }
    }
}

static struct fast_rope_heads fast_rope_heads_of(const struct rope_args &a, int which)
{
    const struct lc_tensor *const in = a.t[ROPE_QUERY + which], *const out = a.t[ROPE_QUERY_OUT + which];
    struct fast_rope_heads h = {};
    if (in == nullptr)
        return h;
    h.in = (const char *) in->data;
    h.out = (char *) out->data;
    h.in_token = a.n > 1 ? 2 * in->stride[0] : 0, h.out_token = a.n > 1 ? 2 * out->stride[0] : 0; /* one entry: no say */
    h.in_head = a.heads[which] > 1 ? 2 * in->stride[1] : 0, h.out_head = a.heads[which] > 1 ? 2 * out->stride[1] : 0;
    return h;
}

static bool fast_rope_aligned(const struct fast_rope_heads &h)
{
    const int64_t all = (int64_t) (intptr_t) h.in | (int64_t) (intptr_t) h.out | h.in_token | h.in_head | h.out_token |
                        h.out_head;
    return all % 16 == 0;
}

static int fast_rope_run(const struct lc_call *call)
{
    union op_args args;
    int status = ref_rope_check(call, &args);
    if (status != LC_OK)
        return status;
    const struct rope_args &a = args.rope;
    if (a.n == 0)
        return LC_OK; /* nothing to write */
    struct fast_rope p = {};
    p.of[0] = fast_rope_heads_of(a, 0);
    p.of[1] = fast_rope_heads_of(a, 1);
    p.table = (const char *) a.t[ROPE_TABLE]->data;
    p.positions = (const char *) a.t[ROPE_POSITIONS]->data;
    p.table_rows = a.rows;
    p.rows = a.n * (a.heads[0] + a.heads[1]);
    if (p.rows >= INT32_MAX || a.d > INT32_MAX / 4)
        return fast_fail(call, LC_UNSUPPORTED, "rope", "2^31 - 1 heads or more, or a head of 2^29 elements");
    p.pairs = (int32_t) (a.rotary_dim / 2);
    p.offset = (int32_t) a.offset;
    p.d = (int32_t) a.d;
    p.rotating = (p.pairs + 7) / 8;
    p.query_heads = (uint32_t) a.heads[0];
    p.table_bf16 = a.t[ROPE_TABLE]->dtype == LC_BF16;
    p.wide = a.t[ROPE_POSITIONS]->dtype == LC_I64;
    p.negate = a.conjugate;
    p.interleaved = a.interleaved;
    const bool copies = !a.in_place[0] || (a.heads[1] > 0 && !a.in_place[1]);
    p.heads = fast_divider(a.heads[0] + a.heads[1]);
    p.units = fast_divider(p.rotating + (copies ? (a.d - a.rotary_dim + 7) / 8 : 0));
    status = fast_use_device(call, "rope");
    if (status != LC_OK)
        return status;
    const bool aligned = (a.rotary_dim / 2) % 8 == 0 && a.offset % 8 == 0 && a.d % 8 == 0 && (intptr_t) p.table % 16 == 0 &&
                         fast_rope_aligned(p.of[0]) && fast_rope_aligned(p.of[1]);
    const int64_t blocks = (p.rows * p.units.by + FAST_ROPE_THREADS - 1) / FAST_ROPE_THREADS;
    return fast_launch(call, "rope", aligned ? fast_rope_kernel<true> : fast_rope_kernel<false>,
                       blocks < 1 << 20 ? blocks : 1 << 20, FAST_ROPE_THREADS, p);
}

extern const struct lc_kernel fast_rope_kernels[];
const struct lc_kernel fast_rope_kernels[] = {
    /* op, variant, dialect, on_device, claims, run, workspace */
    { "rope", "heads", nullptr, 1, 0, fast_rope_run, nullptr },
    { nullptr, nullptr, nullptr, 0, 0, nullptr, nullptr },
};
