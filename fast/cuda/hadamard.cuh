/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of hadamard.cu are made of: 16 bytes of a row, stages, shared memory; and the dense kernel. */
#ifndef FAST_HADAMARD_CUH
#define FAST_HADAMARD_CUH

#include "common.cuh"

struct fast_had {
    struct fast_view x, out;
    int64_t rows;
    struct fast_div m;
    float scale;
    int32_t n;
};

enum { FAST_HAD_THREADS = 256, FAST_HAD_WARPS = FAST_HAD_THREADS / 32 };

/* ---- 16 bytes ---- */

static __device__ __forceinline__ uint4 fast_had_stream(const char *p)
{
    uint4 v;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p)
                 : "memory");
    return v;
}

static __device__ __forceinline__ void fast_had_unpack(uint4 p, float (&v)[8])
{
    fast_bf16_unpack(p, v);
}

static __device__ __forceinline__ void fast_had_unpack(uint4 p, float (&v)[4])
{
    v[0] = __uint_as_float(p.x), v[1] = __uint_as_float(p.y), v[2] = __uint_as_float(p.z), v[3] = __uint_as_float(p.w);
}

static __device__ __forceinline__ uint4 fast_had_pack(const float (&v)[8])
{
    return fast_bf16_pack(v);
}

static __device__ __forceinline__ uint4 fast_had_pack(const float (&v)[4])
{
    return make_uint4(__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]), __float_as_uint(v[3]));
}

static __device__ __forceinline__ float fast_had_value(uint16_t code)
{
    return fast_bf16_lo(code);
}

static __device__ __forceinline__ float fast_had_value(float v)
{
    return v;
}

static __device__ __forceinline__ void fast_had_put(uint16_t *p, float v)
{
    *p = (uint16_t) fast_bf16_pair(v, v);
}

static __device__ __forceinline__ void fast_had_put(float *p, float v)
{
    *p = v;
}

/* FAST: rows start at multiples of 16 bytes, else at elements. */
template <typename X, bool FAST, int VEC> static __device__ __forceinline__ void fast_had_load(const char *p, float (&v)[VEC])
{
    if (FAST) {
        fast_had_unpack(fast_had_stream(p), v);
    } else {
#pragma unroll
        for (int j = 0; j < VEC; j++)
            v[j] = fast_had_value(((const volatile X *) p)[j]);
    }
}

template <typename X, bool FAST, int VEC> static __device__ __forceinline__ void fast_had_store(char *p, const float (&v)[VEC])
{
    if (FAST) {
        __stcs((uint4 *) p, fast_had_pack(v));
    } else {
#pragma unroll
        for (int j = 0; j < VEC; j++)
            fast_had_put((X *) p + j, v[j]);
    }
}

/* ---- stages ---- */

/* Over every bit of a register's index, from the lowest. */
template <int N> static __device__ __forceinline__ void fast_had_registers(float (&v)[N])
{
#pragma unroll
    for (int bit = 1; bit < N; bit *= 2)
#pragma unroll
        for (int i = 0; i < N; i++)
            if ((i & bit) == 0) {
                const float a = v[i], b = v[i | bit];
                v[i] = __fadd_rn(a, b);
                v[i | bit] = __fsub_rn(a, b);
            }
}

/* log2 n stages over a warp's chunk of 32 * V vectors; rows of fewer elements lie in it one after the other. */
template <int LOG2N, int VEC, int V> static __device__ __forceinline__ void fast_had_chunk(float (&v)[V][VEC])
{
    constexpr int log2_vec = VEC == 8 ? 3 : 2;
#pragma unroll
    for (int k = 0; k < V; k++)
        fast_had_registers(v[k]);
#pragma unroll
    for (int b = 0; b < 5; b++) {
        if (log2_vec + b >= LOG2N)
            continue;
        const float sign = threadIdx.x & (1u << b) ? -1.0f : 1.0f;
#pragma unroll
        for (int k = 0; k < V; k++)
#pragma unroll
            for (int j = 0; j < VEC; j++) /* the product with +-1 is exact: one rounding */
                v[k][j] = __fmaf_rn(sign, v[k][j], __shfl_xor_sync(FAST_WARP, v[k][j], 1 << b));
    }
#pragma unroll
    for (int bit = 1; bit < V; bit *= 2) {
        if ((32 * VEC * bit) >> LOG2N != 0)
            continue;
#pragma unroll
        for (int k = 0; k < V; k++)
            if ((k & bit) == 0) {
#pragma unroll
                for (int j = 0; j < VEC; j++) {
                    const float a = v[k][j], b = v[k | bit][j];
                    v[k][j] = __fadd_rn(a, b);
                    v[k | bit][j] = __fsub_rn(a, b);
                }
            }
    }
}

/* ---- a row in shared memory ---- */

/* Swaps the halves of every other 32 bytes, so that lanes 32 bytes apart hit different banks; an involution. */
static __device__ __forceinline__ int fast_had_swizzle(int e)
{
    return e ^ (e >> 5 & 1) << 2;
}

/* C consecutive elements of shared memory, C = 8, 4, 2, 1. */
template <int C> static __device__ __forceinline__ void fast_had_fetch(const float *row, int e, float (&v)[C])
{
    if (C >= 4) {
#pragma unroll
        for (int h = 0; h < C / 4; h++) {
            const float4 q = *(const float4 *) (row + fast_had_swizzle(e + 4 * h));
            v[4 * h] = q.x, v[4 * h + 1] = q.y, v[4 * h + 2] = q.z, v[4 * h + 3] = q.w;
        }
    } else {
#pragma unroll
        for (int j = 0; j < C; j++)
            v[j] = row[fast_had_swizzle(e) + j];
    }
}

/* C elements of a row from a thread that has no whole vector, or that has one. */
template <typename X, bool FAST, int C> static __device__ __forceinline__ void fast_had_store_some(char *p, const float (&v)[C])
{
    if constexpr (C * sizeof(X) == 16) {
        fast_had_store<X, FAST>(p, v);
    } else if constexpr (FAST && C * sizeof(X) == 8) {
        __stcs((uint2 *) p, sizeof(X) == 2 ? make_uint2(fast_bf16_pair(v[0], v[1 % C]), fast_bf16_pair(v[2 % C], v[3 % C]))
                                           : make_uint2(__float_as_uint(v[0]), __float_as_uint(v[1 % C])));
    } else if constexpr (FAST && sizeof(X) == 2 && C == 2) {
        __stcs((uint32_t *) p, fast_bf16_pair(v[0], v[1]));
    } else {
#pragma unroll
        for (int j = 0; j < C; j++)
            fast_had_put((X *) p + j, v[j]);
    }
}

/* ---- dense: n = 16 .. 256, BF16 ---- */

static __device__ __forceinline__ uint32_t fast_had_minus(uint32_t i, uint32_t j)
{
    return (uint32_t) __popc(i & j) & 1u; /* HAD-1 */
}

/* A pair of +-1 in BF16, the elements (k, col) and (k + 1, col) of H. */
static __device__ __forceinline__ uint32_t fast_had_pair(uint32_t k, uint32_t col)
{
    return 0x3f803f80u | fast_had_minus(k, col) << 15 | fast_had_minus(k + 1u, col) << 31;
}

template <bool FAST> static __device__ __forceinline__ uint32_t fast_had_load_pair(const char *p)
{
    if (FAST)
        return *(const volatile uint32_t *) p;
    return (uint32_t) ((const volatile uint16_t *) p)[0] | (uint32_t) ((const volatile uint16_t *) p)[1] << 16;
}

/* A warp multiplies 16 rows by H, 16 by 8 elements of it at a time: H is +-1, exact in BF16, and of one tile but for its sign. No
 * shuffle, no shared memory; 2n operations an element, which tensor cores do while memory works. */
template <int LOG2N, bool FAST>
static __global__ void __launch_bounds__(FAST_HAD_THREADS) fast_had_mma(const __grid_constant__ struct fast_had p)
{
    constexpr uint32_t N = 1u << LOG2N, K = N / 16u;
    const uint32_t lane = threadIdx.x & 31u, group = lane / 4u, pair = lane % 4u * 2u;
    const uint32_t row = (blockIdx.x * FAST_HAD_WARPS + threadIdx.x / 32u) * 16u + group;
    uint32_t a[K][4], h[2][2];
#pragma unroll
    for (uint32_t half = 0; half < 2u; half++) { /* rows group and group + 8 */
        const bool there = row + 8u * half < p.rows;
        const char *const x = fast_row(p.x, fast_at_row(there ? row + 8u * half : 0u, p.m)) + 2u * pair;
#pragma unroll
        for (uint32_t k = 0; k < K; k++) {
            a[k][half] = there ? fast_had_load_pair<FAST>(x + 32u * k) : 0u;
            a[k][half + 2u] = there ? fast_had_load_pair<FAST>(x + 32u * k + 16u) : 0u;
        }
    }
#pragma unroll
    for (uint32_t odd = 0; odd < 2u; odd++) { /* the tile at columns 0..7, and at 8..15 */
        h[odd][0] = fast_had_pair(pair, 8u * odd + group);
        h[odd][1] = fast_had_pair(pair + 8u, 8u * odd + group);
    }
#pragma unroll 4
    for (uint32_t t = 0; t < N / 8u; t++) { /* columns 8t .. 8t + 7 */
        float y[4] = { 0.0f, 0.0f, 0.0f, 0.0f };
#pragma unroll
        for (uint32_t k = 0; k < K; k++) {
            const uint32_t flip = fast_had_minus(k, t / 2u) * 0x80008000u, odd = t & 1u;
            const uint32_t b0 = (odd ? h[1][0] : h[0][0]) ^ flip, b1 = (odd ? h[1][1] : h[0][1]) ^ flip;
            asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                "{%0, %1, %2, %3};"
                : "+f"(y[0]), "+f"(y[1]), "+f"(y[2]), "+f"(y[3])
                : "r"(a[k][0]), "r"(a[k][1]), "r"(a[k][2]), "r"(a[k][3]), "r"(b0), "r"(b1));
        }
#pragma unroll
        for (uint32_t half = 0; half < 2u; half++) {
            if (row + 8u * half >= p.rows)
                continue;
            char *const out = fast_row(p.out, fast_at_row(row + 8u * half, p.m)) + 2u * (8u * t + pair);
            const float v[2] = { __fmul_rn(y[2u * half], p.scale), __fmul_rn(y[2u * half + 1u], p.scale) };
            if (FAST) {
                *(uint32_t *) out = fast_bf16_pair(v[0], v[1]);
            } else {
                fast_had_put((uint16_t *) out, v[0]);
                fast_had_put((uint16_t *) out + 1, v[1]);
            }
        }
    }
}

#endif
