/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA kernels share: formats (FMT-1, FMT-2), access to rows, launching. scale.cuh has the E4M3 cast.
 *
 * A vector is 8 consecutive elements of one row; a lane holds whole vectors, and 32 lanes hold 256 consecutive elements that
 * start at a multiple of 256. Every rounding is an intrinsic (__fadd_rn, ..), so that no instantiation contracts differently
 * from another: the load path must not change a bit (DET-2). */
#ifndef FAST_COMMON_CUH
#define FAST_COMMON_CUH

#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>

extern "C" {
#include "args.h"
}

enum { FAST_VECTOR = 8, FAST_ANY_GROUP = -1 };
static constexpr unsigned FAST_WARP = 0xffffffffu;

/* ---- formats ---- */

static __device__ __forceinline__ float fast_bf16_lo(uint32_t pair)
{
    return __uint_as_float(pair << 16);
}
static __device__ __forceinline__ float fast_bf16_hi(uint32_t pair)
{
    return __uint_as_float(pair & 0xffff0000u);
}

/* FMT-1: two f32 to BF16, one rounding each; subnormals kept, NaN gives NaN. */
static __device__ __forceinline__ uint32_t fast_bf16_pair(float lo, float hi)
{
    uint32_t pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(hi), "f"(lo));
    return pair;
}

static __device__ __forceinline__ uint4 fast_bf16_pack(const float v[8])
{
    return make_uint4(fast_bf16_pair(v[0], v[1]), fast_bf16_pair(v[2], v[3]), fast_bf16_pair(v[4], v[5]),
                      fast_bf16_pair(v[6], v[7]));
}

static __device__ __forceinline__ void fast_bf16_unpack(uint4 p, float v[8])
{
    v[0] = fast_bf16_lo(p.x), v[1] = fast_bf16_hi(p.x), v[2] = fast_bf16_lo(p.y), v[3] = fast_bf16_hi(p.y);
    v[4] = fast_bf16_lo(p.z), v[5] = fast_bf16_hi(p.z), v[6] = fast_bf16_lo(p.w), v[7] = fast_bf16_hi(p.w);
}

/* FMT-2 in integers, for chips before 8.9: nearest even, saturating, subnormals in steps of 2^-9, sign kept, NaN 0x7f|sign. */
static __host__ __device__ inline uint32_t fast_e4m3_soft(uint32_t bits)
{
    const uint32_t sign = bits >> 24 & 0x80u, top = 0x43e00000u; /* 448 */
    uint32_t a = bits & 0x7fffffffu;
    if (a > 0x7f800000u)
        return sign | 0x7fu;
    if (a > top)
        a = top;
    if (a >= 0x3c800000u) /* 2^-6: normal; 20 mantissa bits go, the exponent bias falls by 120 */
        return sign | ((a + 0x7ffffu + (a >> 20 & 1u)) >> 20) - (120u << 3);
    if (a < 0x3a000000u) /* below 2^-11: well under half a step */
        return sign;
    const uint32_t shift = 141u - (a >> 23), full = (a & 0x7fffffu) | 0x800000u; /* a = full * 2^-9 / 2^shift, shift 21..25 */
    const uint32_t low = full & ((1u << shift) - 1u), half = 1u << (shift - 1u), q = full >> shift;
    return sign | (q + (low > half || (low == half && (q & 1u))));
}

/* Two codes, lo in the low byte. The instruction does all of FMT-2: Inf saturates, NaN gives 0x7f, -0 and underflow keep
 * their sign. */
static __device__ __forceinline__ uint32_t fast_e4m3_pair(float lo, float hi)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    uint16_t pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(hi), "f"(lo));
    return pair;
#else
    return fast_e4m3_soft(__float_as_uint(lo)) | fast_e4m3_soft(__float_as_uint(hi)) << 8;
#endif
}

/* ---- rows ---- */

/* A tensor seen as (batch, row, column); strides in bytes, 0 where the dimension has one entry. */
struct fast_view {
    char *data; /* NULL: switched off (RMS-11) */
    int64_t batch, row;
};

static inline struct fast_view fast_view_of(const struct lc_tensor *t)
{
    struct fast_view v = { nullptr, 0, 0 };
    if (t == nullptr)
        return v;
    const int64_t bytes = fmt_bytes((enum lc_dtype) t->dtype);
    v.data = (char *) t->data;
    if (t->rank >= 2 && t->shape[t->rank - 2] > 1)
        v.row = t->stride[t->rank - 2] * bytes;
    if (t->rank >= 3 && t->shape[t->rank - 3] > 1)
        v.batch = t->stride[t->rank - 3] * bytes;
    return v;
}

static inline bool fast_aligned(const struct fast_view &v, int64_t to)
{
    return (((int64_t) (intptr_t) v.data | v.batch | v.row) & (to - 1)) == 0;
}

/* Division by a number of the call, as a multiplication without a branch: n < 2^31, by <= 2^31. */
struct fast_div {
    uint32_t by, magic, shift, same; /* same: all ones for by = 1, which no magic stands for */
};

static inline struct fast_div fast_divider(int64_t by)
{
    struct fast_div v = { (uint32_t) by, 0, 0, by == 1 ? ~0u : 0u };
    uint32_t log2_up = 0;
    while (((int64_t) 1 << log2_up) < by)
        log2_up++;
    if (by > 1) {
        v.shift = log2_up - 1;
        v.magic = (uint32_t) ((((uint64_t) 1 << (31 + log2_up)) + (uint64_t) by - 1) / (uint64_t) by);
    }
    return v;
}

static __device__ __forceinline__ uint32_t fast_divide(uint32_t n, const struct fast_div &v)
{
    return (__umulhi(n, v.magic) + (n & v.same)) >> v.shift;
}

struct fast_at {
    uint32_t b, i, row; /* row = b * m + i, below 2^31 (fast_launch) */
};

static __device__ __forceinline__ struct fast_at fast_at_row(uint32_t row, const struct fast_div &m)
{
    const uint32_t b = fast_divide(row, m);
    return { b, row - b * m.by, row };
}

static __device__ __forceinline__ char *fast_row(const struct fast_view &v, const struct fast_at &at)
{
    return v.data + (int64_t) at.b * v.batch + (int64_t) at.i * v.row;
}

/* 16 bytes that are read once: past L1, which keeps the weight. Volatile, so that the loads of a row stay together, ahead of
 * their first use. Inputs share no byte with outputs (DET-4), hence .nc. */
static __device__ __forceinline__ uint4 fast_stream(const void *p)
{
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

/* Whether all eight elements at column c may be moved as vectors. FAST: the row is aligned and d a multiple of 8, so that
 * c < d says it all. */
template <bool FAST, unsigned ALIGN> static __device__ __forceinline__ bool fast_whole(const char *row, int64_t c, int64_t d)
{
    return FAST ? c < d : ((uintptr_t) row & (ALIGN - 1)) == 0 && c + 8 <= d;
}

/* Eight BF16 at column c of a row; columns from d on read as zero and are not touched (DET-3). */
template <bool FAST> static __device__ __forceinline__ uint4 fast_load_bf16(const char *row, int64_t c, int64_t d)
{
    if (fast_whole<FAST, 16>(row, c, d))
        return fast_stream(row + 2 * c);
    if (FAST || c >= d)
        return make_uint4(0, 0, 0, 0);
    const uint16_t *p = (const uint16_t *) row + c;
    const int n = d - c < 8 ? (int) (d - c) : 8;
    uint32_t e[8];
#pragma unroll
    for (int j = 0; j < 8; j++)
        e[j] = j < n ? p[j] : 0u;
    return make_uint4(e[0] | e[1] << 16, e[2] | e[3] << 16, e[4] | e[5] << 16, e[6] | e[7] << 16);
}

/* Eight F32, likewise. */
template <bool FAST> static __device__ __forceinline__ void fast_load_f32(const char *row, int64_t c, int64_t d, float v[8])
{
    const float *p = (const float *) row + c;
    if (fast_whole<FAST, 16>(row, c, d)) {
        const uint4 a = fast_stream(p), b = fast_stream(p + 4);
        v[0] = __uint_as_float(a.x), v[1] = __uint_as_float(a.y), v[2] = __uint_as_float(a.z), v[3] = __uint_as_float(a.w);
        v[4] = __uint_as_float(b.x), v[5] = __uint_as_float(b.y), v[6] = __uint_as_float(b.z), v[7] = __uint_as_float(b.w);
    } else {
#pragma unroll
        for (int j = 0; j < 8; j++)
            v[j] = !FAST && c + j < d ? p[j] : 0.0f;
    }
}

template <bool FAST> static __device__ __forceinline__ void fast_store_bf16(char *row, int64_t c, int64_t d, uint4 v)
{
    if (fast_whole<FAST, 16>(row, c, d)) {
        __stcs((uint4 *) (row + 2 * c), v);
    } else if (!FAST) {
        const uint32_t w[4] = { v.x, v.y, v.z, v.w };
#pragma unroll
        for (int j = 0; j < 8; j++)
            if (c + j < d)
                ((uint16_t *) row)[c + j] = (uint16_t) (w[j / 2] >> 16 * (j % 2));
    }
}

template <bool FAST> static __device__ __forceinline__ void fast_store_f32(char *row, int64_t c, int64_t d, const float v[8])
{
    float *p = (float *) row + c;
    if (fast_whole<FAST, 16>(row, c, d)) {
        __stcs((float4 *) p, make_float4(v[0], v[1], v[2], v[3]));
        __stcs((float4 *) p + 1, make_float4(v[4], v[5], v[6], v[7]));
    } else if (!FAST) {
#pragma unroll
        for (int j = 0; j < 8; j++)
            if (c + j < d)
                p[j] = v[j];
    }
}

template <bool FAST> static __device__ __forceinline__ void fast_store_codes(char *row, int64_t c, int64_t d, uint2 q)
{
    if (fast_whole<FAST, 8>(row, c, d)) {
        __stcs((uint2 *) (row + c), q);
    } else if (!FAST) {
#pragma unroll
        for (int j = 0; j < 8; j++)
            if (c + j < d)
                row[c + j] = (char) ((j < 4 ? q.x : q.y) >> 8 * (j % 4));
    }
}

/* ---- launching ---- */

static inline int fast_fail(const struct lc_call *call, enum lc_status status, const char *what, const char *why)
{
    if (call->msg != nullptr && call->msg_size > 0)
        snprintf(call->msg, call->msg_size, "%s: %s", what, why);
    return status;
}

/* Launches on the call's stream; a bad configuration or an earlier fault of the device comes back as LC_FAILED. */
template <class P>
static inline int fast_launch(const struct lc_call *call, const char *what, void (*kernel)(P), int64_t grid, dim3 block, P params,
                              size_t shared = 0)
{
    if (params.rows >= INT32_MAX || grid > INT32_MAX)
        return fast_fail(call, LC_UNSUPPORTED, what, "2^31 - 1 rows or more");
    void *args[] = { &params };
    cudaError_t e = cudaLaunchKernel((const void *) kernel, dim3((unsigned) grid), block, args, shared,
                                     (cudaStream_t) call->stream);
    const cudaError_t last = cudaGetLastError();
    if (e == cudaSuccess)
        e = last;
    return e == cudaSuccess ? LC_OK : fast_fail(call, LC_FAILED, what, cudaGetErrorString(e));
}

static inline int fast_use_device(const struct lc_call *call, const char *what)
{
    if (call->device < 0)
        return fast_fail(call, LC_UNSUPPORTED, what, "host tensors");
    const cudaError_t e = cudaSetDevice(call->device);
    return e == cudaSuccess ? LC_OK : fast_fail(call, LC_FAILED, what, cudaGetErrorString(e));
}

#endif
