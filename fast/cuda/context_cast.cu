/* SPDX-License-Identifier: Apache-2.0 */
/* The inverse rotation of the attention context and its E4M3 cast in one pass (KV-7), with or without the BF16 output.
 *
 * The usual shapes (D a multiple of 128, rotary_dim 64 or 128, all aligned): a warp takes the same 128 columns of eight heads of a
 * token, and four lanes hold those of one head, 32 elements each, in vectors of 8 that lie 32 columns apart. Then a group of
 * the cast is one vector of four lanes, the two elements of a neox pair are in one lane, a word of scales is formed without an
 * exchange, and a table row is read once for eight heads.
 *
 * All others: a warp takes 256 consecutive columns of a token's (heads * D) row, a lane 8 of them: what the casts of scale.cuh
 * want. In neox order a lane loads the partners of its elements too: another lane of the same block has asked for the same line,
 * so that they come from L1.
 *
 * Every rounding is an intrinsic, the same for an element on every path, and a maximum is exact (DET-2). A position outside the
 * table is never used: that token's outputs are left alone (ERR-2). */
#include "scale.cuh"

struct fast_context {
    const char *context, *table, *positions;
    char *out, *bf16;                                           /* bf16: NULL unless it is asked for */
    int64_t context_token, context_head, bf16_token, bf16_head; /* bytes */
    int64_t table_rows, rows, width;                            /* rows: tokens; width: heads * d */
    struct fast_div head, chunks;                               /* by d; warps of a row */
    struct fast_div slices;                                     /* of 128 columns in a head; fast_context_heads */
    int32_t heads;
    int32_t offset, pairs;
    bool table_bf16, wide, interleaved, f32;
    struct fast_sf sf;
};

enum { FAST_CONTEXT_WARPS = 8, FAST_CONTEXT_SLICE = 128, FAST_CONTEXT_HEADS = 8 };

/* own * c + partner * s of an a, own * c - partner * s of a b: the conjugate (APPLY-2). */
static __device__ __forceinline__ float fast_turn_back(float own, float c, float partner, float s, bool is_b)
{
    const float second = __fmul_rn(partner, s);
    return __fmaf_rn(own, c, is_b ? -second : second);
}

/* N table entries, 4 or 8, in vectors. */
template <int N> static __device__ __forceinline__ void fast_angles(const char *row, int32_t i, bool bf16, float v[N])
{
    if (bf16 && N == 8) {
        const uint4 p = __ldg((const uint4 *) (row + 2 * (int64_t) i));
        v[0] = fast_bf16_lo(p.x), v[1] = fast_bf16_hi(p.x), v[2] = fast_bf16_lo(p.y), v[3] = fast_bf16_hi(p.y);
        v[N - 4] = fast_bf16_lo(p.z), v[N - 3] = fast_bf16_hi(p.z), v[N - 2] = fast_bf16_lo(p.w), v[N - 1] = fast_bf16_hi(p.w);
    } else if (bf16) {
        const uint2 p = __ldg((const uint2 *) (row + 2 * (int64_t) i));
        v[0] = fast_bf16_lo(p.x), v[1] = fast_bf16_hi(p.x), v[2] = fast_bf16_lo(p.y), v[3] = fast_bf16_hi(p.y);
    } else {
#pragma unroll
        for (int j = 0; j < N; j += 4) {
            const float4 p = __ldg((const float4 *) (row + 4 * (int64_t) (i + j)));
            v[j] = p.x, v[j + 1] = p.y, v[j + 2] = p.z, v[j + 3] = p.w;
        }
    }
}

/* Eight elements of one head from i on, all on one side of the offset. */
static __device__ __forceinline__ void fast_context_vector(const struct fast_context &p, const char *row, const char *head,
                                                           int32_t i, float v[8])
{
    fast_bf16_unpack(__ldg((const uint4 *) (head + 2 * (int64_t) i)), v);
    const int32_t j = i - p.offset;
    if (j < 0)
        return;
    if (p.interleaved) {
        float c[4], s[4];
        fast_angles<4>(row, j / 2, p.table_bf16, c);
        fast_angles<4>(row, p.pairs + j / 2, p.table_bf16, s);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const float a = v[2 * k], b = v[2 * k + 1];
            v[2 * k] = fast_turn_back(a, c[k], b, s[k], false);
            v[2 * k + 1] = fast_turn_back(b, c[k], a, s[k], true);
        }
    } else {
        const bool is_b = j >= p.pairs;
        const int32_t pair = is_b ? j - p.pairs : j;
        float c[8], s[8], partner[8];
        fast_bf16_unpack(__ldg((const uint4 *) (head + 2 * (int64_t) (is_b ? i - p.pairs : i + p.pairs))), partner);
        fast_angles<8>(row, pair, p.table_bf16, c);
        fast_angles<8>(row, p.pairs + pair, p.table_bf16, s);
#pragma unroll
        for (int k = 0; k < 8; k++)
            v[k] = fast_turn_back(v[k], c[k], partner[k], s[k], is_b);
    }
}

static __device__ __forceinline__ float fast_context_angle(const struct fast_context &p, const char *row, int32_t i)
{
    return p.table_bf16 ? fast_bf16_lo(__ldg((const uint16_t *) row + i)) : __ldg((const float *) row + i);
}

/* One element, anywhere. */
static __device__ __forceinline__ float fast_context_element(const struct fast_context &p, const char *row, const char *head,
                                                             int32_t i)
{
    const uint16_t *const x = (const uint16_t *) head;
    const float own = fast_bf16_lo(__ldg(x + i));
    const int32_t j = i - p.offset;
    if (j < 0)
        return own;
    const bool is_b = p.interleaved ? (j & 1) != 0 : j >= p.pairs;
    const int32_t pair = p.interleaved ? j / 2 : is_b ? j - p.pairs : j, step = p.interleaved ? 1 : p.pairs;
    const float partner = fast_bf16_lo(__ldg(x + (is_b ? i - step : i + step)));
    return fast_turn_back(own, fast_context_angle(p, row, pair), partner, fast_context_angle(p, row, p.pairs + pair), is_b);
}

/* FAST: d, offset and pairs are multiples of 8, and all rows are aligned. */
template <bool FAST>
static __global__ void __launch_bounds__(32 * FAST_CONTEXT_WARPS)
    fast_context_kernel(const __grid_constant__ struct fast_context p)
{
    const uint32_t lane = threadIdx.x & 31u, warp = blockIdx.x * FAST_CONTEXT_WARPS + threadIdx.x / 32u;
    const uint32_t token = fast_divide(warp, p.chunks), chunk = warp - token * p.chunks.by;
    if (token >= (uint32_t) p.rows)
        return; /* a whole warp */
    const int64_t position = p.wide ? __ldg((const long long *) p.positions + token) : __ldg((const int *) p.positions + token);
    if (position < 0 || position >= p.table_rows)
        return; /* ERR-2; a whole warp */
    const char *const row = p.table + position * (2 * (int64_t) p.pairs) * (p.table_bf16 ? 2 : 4);
    const char *const context = p.context + (int64_t) token * p.context_token;
    char *const bf16 = p.bf16 + (int64_t) token * p.bf16_token;
    const int32_t width = (int32_t) p.width, c = (int32_t) (chunk * 256u + lane * 8u);
    float v[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };
    uint32_t h = 0;
    int32_t i = 0;
    if (c < width) {
        h = fast_divide((uint32_t) c, p.head);
        i = c - (int32_t) (h * p.head.by);
    }
    if constexpr (FAST) {
        if (c < width)
            fast_context_vector(p, row, context + (int64_t) h * p.context_head, i, v);
    } else {
        uint32_t at = h;
        int32_t in = i;
#pragma unroll
        for (int k = 0; k < 8; k++) {
            if (c + k < width)
                v[k] = fast_context_element(p, row, context + (int64_t) at * p.context_head, in);
            if (++in == (int32_t) p.head.by)
                in = 0, at++;
        }
    }
    const uint4 y_bf = fast_bf16_pack(v);
    if (p.bf16 != nullptr) {
        if constexpr (FAST) {
            if (c < width)
                __stcs((uint4 *) (bf16 + (int64_t) h * p.bf16_head + 2 * (int64_t) i), y_bf);
        } else {
            const uint32_t words[4] = { y_bf.x, y_bf.y, y_bf.z, y_bf.w };
            uint32_t at = h;
            int32_t in = i;
#pragma unroll
            for (int k = 0; k < 8; k++) {
                if (c + k < width)
                    ((uint16_t *) (bf16 + (int64_t) at * p.bf16_head))[in] = (uint16_t) (words[k / 2] >> 16 * (k % 2));
                if (++in == (int32_t) p.head.by)
                    in = 0, at++;
            }
        }
    }
    if (!p.f32)
        fast_bf16_unpack(y_bf, v); /* KV-7: what is cast is what bf16 holds */
    uint32_t bits;
    const uint2 q = fast_cast_vector<32>(p.sf, v, &bits);
    fast_store_codes<FAST>(p.out + (int64_t) token * p.width, c, width, q);
    const struct fast_at at = { 0, token, token };
    fast_put_scales<32, 1>(
        p.sf, [&](int) { return at; }, &c, width, &bits);
}

/* The maxima of |x| over the even and over the odd elements of eight BF16; a NaN is passed over, as fmaxf does. */
static __device__ __forceinline__ uint32_t fast_max_pair(uint32_t a, uint32_t b)
{
    uint32_t v;
    asm("max.bf16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
    return v;
}

static __device__ __forceinline__ uint32_t fast_amax_pair(uint4 x)
{
    const uint32_t abs = 0x7fff7fffu;
    return fast_max_pair(fast_max_pair(x.x & abs, x.y & abs), fast_max_pair(x.z & abs, x.w & abs));
}

/* The amax of four groups, one vector of each in every lane: two of them share a word. */
static __device__ __forceinline__ void fast_amax_groups(const uint4 x[4], float amax[4])
{
#pragma unroll
    for (int k = 0; k < 4; k += 2) {
        const uint32_t a = fast_amax_pair(x[k]), b = fast_amax_pair(x[k + 1]);
        uint32_t both = fast_max_pair(__byte_perm(a, b, 0x5410), __byte_perm(a, b, 0x7632));
        both = fast_max_pair(both, __shfl_xor_sync(FAST_WARP, both, 1));
        both = fast_max_pair(both, __shfl_xor_sync(FAST_WARP, both, 2));
        amax[k] = fast_bf16_lo(both), amax[k + 1] = fast_bf16_hi(both);
    }
}

/* Cosines and sines for vectors a and b of a lane, which hold elements at and at + pairs of what rotates. In neox order these are
 * partners, with one angle; interleaved, each holds four pairs, so that the first four angles are a's and the others b's. */
static __device__ __forceinline__ void fast_context_angles(const struct fast_context &p, const char *row, int32_t at, float c[8],
                                                           float s[8])
{
    if (p.interleaved) {
        fast_angles<4>(row, at / 2, p.table_bf16, c);
        fast_angles<4>(row, (at + p.pairs) / 2, p.table_bf16, c + 4);
        fast_angles<4>(row, p.pairs + at / 2, p.table_bf16, s);
        fast_angles<4>(row, p.pairs + (at + p.pairs) / 2, p.table_bf16, s + 4);
    } else {
        fast_angles<8>(row, at, p.table_bf16, c);
        fast_angles<8>(row, p.pairs + at, p.table_bf16, s);
    }
}

static __device__ __forceinline__ void fast_context_turn(bool interleaved, const float c[8], const float s[8], float a[8],
                                                         float b[8])
{
    if (interleaved) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const float a0 = a[2 * k], a1 = a[2 * k + 1], b0 = b[2 * k], b1 = b[2 * k + 1];
            a[2 * k] = fast_turn_back(a0, c[k], a1, s[k], false);
            a[2 * k + 1] = fast_turn_back(a1, c[k], a0, s[k], true);
            b[2 * k] = fast_turn_back(b0, c[4 + k], b1, s[4 + k], false);
            b[2 * k + 1] = fast_turn_back(b1, c[4 + k], b0, s[4 + k], true);
        }
    } else {
#pragma unroll
        for (int k = 0; k < 8; k++) {
            const float own = a[k], partner = b[k];
            a[k] = fast_turn_back(own, c[k], partner, s[k], false);
            b[k] = fast_turn_back(partner, c[k], own, s[k], true);
        }
    }
}

/* The usual shapes; ROT: rotary_dim, 64 or 128, in the last slice of a head. Lanes of a head past the last take part in the
 * exchanges and store nothing. */
template <int ROT, bool F32>
static __global__ void __launch_bounds__(32 * FAST_CONTEXT_WARPS, F32 || ROT == 128 ? 3 : 4)
    fast_context_heads(const __grid_constant__ struct fast_context p)
{
    const uint32_t lane = threadIdx.x & 31u, warp = blockIdx.x * FAST_CONTEXT_WARPS + threadIdx.x / 32u;
    const uint32_t token = fast_divide(warp, p.chunks), chunk = warp - token * p.chunks.by;
    if (token >= (uint32_t) p.rows)
        return; /* a whole warp */
    const uint32_t eight = fast_divide(chunk, p.slices), slice = chunk - eight * p.slices.by;
    const int64_t position = p.wide ? __ldg((const long long *) p.positions + token) : __ldg((const int *) p.positions + token);
    const uint32_t h = eight * FAST_CONTEXT_HEADS + lane / 4u;
    const int32_t quarter = (int32_t) (lane & 3u), i = (int32_t) slice * FAST_CONTEXT_SLICE + 8 * quarter; /* i: in the head */
    const bool there = (int32_t) h < p.heads;
    const char *const from = p.context + (int64_t) token * p.context_token + (int64_t) h * p.context_head + 2 * i;
    uint4 x[4];
#pragma unroll
    for (int k = 0; k < 4; k++)
        x[k] = there ? fast_stream(from + 64 * k) : make_uint4(0, 0, 0, 0);
    if (position < 0 || position >= p.table_rows)
        return; /* ERR-2; a whole warp */

    const char *const row = p.table + position * ROT * (p.table_bf16 ? 2 : 4);
    const bool turns = slice == p.slices.by - 1; /* the same for a whole warp */
    constexpr int first = (128 - ROT) / 32, partner = ROT / 64;
    float c[partner][8], s[partner][8];
    if (turns) {
#pragma unroll
        for (int k = 0; k < partner; k++)
            fast_context_angles(p, row, i - p.offset + 32 * (first + k), c[k], s[k]);
    }

    float v[F32 ? 4 : 1][8]; /* without F32 the BF16 values say it all, in half the registers */
    if constexpr (F32) {
#pragma unroll
        for (int k = 0; k < 4; k++)
            fast_bf16_unpack(x[k], v[k]);
    }
    if (turns) {
#pragma unroll
        for (int k = 0; k < partner; k++) {
            if constexpr (F32) {
                fast_context_turn(p.interleaved, c[k], s[k], v[first + k], v[first + k + partner]);
            } else {
                float a[8], b[8];
                fast_bf16_unpack(x[first + k], a);
                fast_bf16_unpack(x[first + k + partner], b);
                fast_context_turn(p.interleaved, c[k], s[k], a, b);
                x[first + k] = fast_bf16_pack(a);
                x[first + k + partner] = fast_bf16_pack(b);
            }
        }
    }

    float amax[4];
    if constexpr (F32) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            amax[k] = fast_amax(v[k]);
            amax[k] = fmaxf(amax[k], __shfl_xor_sync(FAST_WARP, amax[k], 1));
            amax[k] = fmaxf(amax[k], __shfl_xor_sync(FAST_WARP, amax[k], 2));
        }
    } else {
        fast_amax_groups(x, amax);
    }
    if (!there)
        return; /* no exchange follows */
    char *const bf16 = p.bf16 + (int64_t) token * p.bf16_token + (int64_t) h * p.bf16_head + 2 * i;
    const int64_t column = (int64_t) (h * p.head.by) + i;
    char *const out = p.out + (int64_t) token * p.width + column;
    uint32_t bits[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        float y[8];
        if constexpr (F32) {
#pragma unroll
            for (int j = 0; j < 8; j++)
                y[j] = v[k][j];
        } else {
            fast_bf16_unpack(x[k], y);
        }
        if (p.bf16 != nullptr)
            __stcs((uint4 *) (bf16 + 64 * k), fast_bf16_pack(y)); /* packed anew: one NaN, as on the other path */
        const struct fast_scale scale = fast_scale_of(amax[k], true, p.sf.floor);
        __stcs((uint2 *) (out + 32 * k), fast_codes(y, scale.mul));
        bits[k] = scale.bits;
    }
    const struct fast_at at = { 0, token, token };
    if ((p.sf.packed || p.sf.extra != nullptr) && quarter == 0) { /* the first column of a word's four groups */
        const uint32_t word = bits[0] >> 23 | bits[1] >> 23 << 8 | bits[2] >> 23 << 16 | bits[3] >> 23 << 24;
        if (p.sf.packed) {
            const struct fast_place to = fast_sf_place(p.sf, at);
            *(uint32_t *) (to.first + (column >> 7) * to.step) = word;
        }
        if (p.sf.extra != nullptr) {
            const struct fast_place to = fast_extra_place(p.sf, at);
            *(uint32_t *) (to.first + (column >> 7) * to.step) = word;
        }
    }
    if (!p.sf.packed) {
        const struct fast_place to = fast_sf_place(p.sf, at);
        const uint32_t mine = quarter == 0 ? bits[0] : quarter == 1 ? bits[1] : quarter == 2 ? bits[2] : bits[3];
        *(uint32_t *) (to.first + ((column >> 7) * 4 + quarter) * to.step) = mine;
    }
}

typedef void (*fast_context_kernel_of)(struct fast_context);

static int fast_context_run(const struct lc_call *call, bool f32)
{
    union op_args args;
    int status = ref_context_cast_check(call, &args);
    if (status != LC_OK)
        return status;
    const struct context_cast_args &a = args.context_cast;
    const struct rope_args &r = a.rope;
    if (r.n == 0)
        return LC_OK; /* nothing to write */
    const struct lc_tensor *const context = a.t[CTX_CONTEXT], *const bf16 = a.t[CTX_BF16];
    struct fast_context p = {};
    p.context = (const char *) context->data;
    p.table = (const char *) a.t[CTX_TABLE]->data;
    p.positions = (const char *) a.t[CTX_POSITIONS]->data;
    p.out = (char *) a.t[CTX_OUT]->data;
    p.context_token = r.n > 1 ? 2 * context->stride[0] : 0, p.context_head = r.heads[0] > 1 ? 2 * context->stride[1] : 0;
    if (bf16 != nullptr) {
        p.bf16 = (char *) bf16->data;
        p.bf16_token = r.n > 1 ? 2 * bf16->stride[0] : 0, p.bf16_head = r.heads[0] > 1 ? 2 * bf16->stride[1] : 0;
    }
    p.table_rows = r.rows, p.rows = r.n, p.width = r.heads[0] * r.d;
    p.heads = (int32_t) r.heads[0];
    p.head = fast_divider(r.d);
    p.offset = (int32_t) r.offset, p.pairs = (int32_t) (r.rotary_dim / 2);
    p.table_bf16 = a.t[CTX_TABLE]->dtype == LC_BF16;
    p.wide = a.t[CTX_POSITIONS]->dtype == LC_I64;
    p.interleaved = r.interleaved;
    p.f32 = f32;
    struct sf_args sf = a.sf;
    sf.group = 32; /* a row shorter than that is one group, which the lanes of a group of 32 hold */
    p.sf = fast_sf_of(sf, r.n, a.t[CTX_SF], a.t[CTX_EXTRA_SF]);
    const int64_t bases = (int64_t) (intptr_t) p.context | (int64_t) (intptr_t) p.bf16 | (int64_t) (intptr_t) p.table |
                          p.context_token | p.context_head | p.bf16_token | p.bf16_head;
    const bool aligned = r.d % 8 == 0 && r.offset % 8 == 0 && p.pairs % 8 == 0 && bases % 16 == 0 && (intptr_t) p.out % 8 == 0;
    const bool usual = aligned && r.d % FAST_CONTEXT_SLICE == 0 && (p.pairs == 32 || p.pairs == 64);
    int64_t chunks = (p.width + 255) / 256;
    fast_context_kernel_of kernel = aligned ? fast_context_kernel<true> : fast_context_kernel<false>;
    if (usual) {
        p.slices = fast_divider(r.d / FAST_CONTEXT_SLICE);
        chunks = (r.heads[0] + FAST_CONTEXT_HEADS - 1) / FAST_CONTEXT_HEADS * (r.d / FAST_CONTEXT_SLICE);
        kernel = p.pairs == 32 ? (f32 ? fast_context_heads<64, true> : fast_context_heads<64, false>)
                               : (f32 ? fast_context_heads<128, true> : fast_context_heads<128, false>);
    }
    if (p.width > INT32_MAX - 256 || p.rows * chunks > INT32_MAX - FAST_CONTEXT_WARPS)
        return fast_fail(call, LC_UNSUPPORTED, "context_cast", "2^31 columns, or 2^39 elements");
    p.chunks = fast_divider(chunks);
    status = fast_use_device(call, "context_cast");
    if (status != LC_OK)
        return status;
    return fast_launch(call, "context_cast", kernel, (p.rows * chunks + FAST_CONTEXT_WARPS - 1) / FAST_CONTEXT_WARPS,
                       32 * FAST_CONTEXT_WARPS, p);
}

static int fast_context_usual(const struct lc_call *call)
{
    return fast_context_run(call, false);
}

static int fast_context_f32(const struct lc_call *call)
{
    return fast_context_run(call, true);
}

extern const struct lc_kernel fast_context_cast_kernels[];
const struct lc_kernel fast_context_cast_kernels[] = {
    /* op, variant, dialect, on_device, claims, run, workspace */
    { "context_cast", "fused", nullptr, 1, 0, fast_context_usual, nullptr },
    { "context_cast", "fused-f32", "f32", 1, 0, fast_context_f32, nullptr },
    { nullptr, nullptr, nullptr, 0, 0, nullptr, nullptr },
};
