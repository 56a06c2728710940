/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin "mutants-cuda": the MC rows of table.h, and "none", which is right. One block of 256 threads a
 * row, one group of the cast a thread; nothing here is fast. d <= 8192, x BF16, no SF-4, no dialect, rmsnorm
 * without SF-6: else LC_UNSUPPORTED.
 */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
#include "../../ref/args.h"
}

namespace
{

enum mutant {
    MUT_none,
#define MC(id, ...) MUT_##id,
#include "table.h"
};

enum { THREADS = 256, WARPS = THREADS / 32, MOST = 8192 };

struct view { /* rows of a tensor; base NULL: takes no part */
    void *base;
    int64_t row, batch;
};

struct job {
    struct view x, res, out, bf16, res_out;
    const void *w;
    void *sf;
    struct sf_args s;
    int64_t batch, m, d;
    float eps, scale, w0; /* w0: of MUT_cu_rms_frozen_weight */
    bool w_f32, out_f32, norm, cast;
    mutant mut;
};

/* ---- roundings ---- */

__device__ float from_bf16(uint16_t code)
{
    return __uint_as_float((uint32_t) code << 16);
}

__device__ uint16_t to_bf16(float v, bool truncate) /* FMT-1 */
{
    const uint32_t b = __float_as_uint(v);
    if (isnan(v))
        return (uint16_t) (b >> 16 | 0x40);
    return (uint16_t) ((truncate ? b : b + 0x7fff + (b >> 16 & 1)) >> 16);
}

__device__ uint8_t to_e4m3(float v) /* FMT-2 */
{
    const uint32_t sign = __float_as_uint(v) >> 24 & 0x80, b = __float_as_uint(v) & 0x7fffffff;
    if (isnan(v))
        return (uint8_t) (sign | 0x7f);
    if (b >= 0x43e00000)
        return (uint8_t) (sign | 0x7e);
    if (b < 0x3c800000) /* below 2^-6: steps of 2^-9 */
        return (uint8_t) (sign | (__float_as_uint(__fadd_rn(__uint_as_float(b), 16384.0f)) - 0x46800000));
    return (uint8_t) (sign | (((b + 0x7ffff + (b >> 20 & 1)) >> 20) - (120 << 3)));
}

__device__ uint32_t to_e2m1(float v, mutant mut) /* FMT-4 */
{
    const float a = fabsf(v);
    uint32_t code = (a > 0.25f) + (a >= 0.75f) + (a > 1.25f) + (a >= 1.75f) + (a > 2.5f) + (a >= 3.5f) + (a > 5.0f);
    if (mut == MUT_cu_fp4_ties_away)
        code = (a >= 0.25f) + (a >= 0.75f) + (a >= 1.25f) + (a >= 1.75f) + (a >= 2.5f) + (a >= 3.5f) + (a >= 5.0f);
    return code == 0 && mut == MUT_cu_fp4_zero_unsigned ? 0 : code | (signbit(v) ? 8u : 0u);
}

/* ---- addresses ---- */

template <typename T> __device__ T *row_of(const struct view &v, int64_t b, int64_t i, mutant mut)
{
    int64_t at = b * v.batch + i * v.row;
    if (mut == MUT_cu_rms_offset_24)
        at &= 0xffffff;
    if (mut == MUT_cu_rms_offset_32 || mut == MUT_cu_cast_offset_32 || mut == MUT_cu_had_offset_32)
        at = (int64_t) (uint32_t) at;
    return (T *) v.base + at;
}

__device__ int64_t sf_at(const struct job &j, int64_t b, int64_t i, int64_t g) /* SF-1..SF-3 */
{
    const int64_t n = j.s.groups, m_pad = (j.m + 3) / 4 * 4;
    const int64_t words = j.mut == MUT_cu_ragged_words_down ? n / 4 : (n + 3) / 4; /* SF-6 */
    if (j.mut == MUT_cu_cast_swap_rows && (i ^ 1) < j.m)
        i ^= 1;
    if (j.mut == MUT_cu_cast_byte_order)
        g ^= 3;
    if (!j.s.col)
        return j.s.packed ? (b * j.m + i) * words * 4 + g : ((b * j.m + i) * n + g) * 4;
    return j.s.packed ? ((b * words + g / 4) * m_pad + i) * 4 + g % 4 : ((b * n + g) * m_pad + i) * 4;
}

/* Columns begin..end, begin even. */
__device__ void store_e2m1(const struct job &j, const float *v, float times, uint8_t *codes, int64_t begin, int64_t end)
{
    if (j.mut == MUT_cu_fp4_tail_unwritten && end == j.d)
        end -= j.d % 8;
    for (int64_t c = begin; c < end; c += 2) {
        uint32_t low = to_e2m1(__fmul_rn(v[c], times), j.mut), high = to_e2m1(__fmul_rn(v[c + 1], times), j.mut);
        if (j.mut == MUT_cu_fp4_nibbles_swapped) {
            const uint32_t was = low;
            low = high, high = was;
        }
        codes[c / 2] = (uint8_t) (low | high << 4 | (j.mut == MUT_cu_fp4_ors_stale ? codes[c / 2] : 0u));
    }
}

/* SF-6: the bytes of the last word that no group has. */
__device__ void pad_word(const struct job &j, int64_t b, int64_t i)
{
    if (j.s.ragged != RAGGED_PACK || j.mut == MUT_cu_ragged_word_half)
        return;
    for (int64_t g = j.s.groups; g % 4 != 0; g++)
        ((uint8_t *) j.sf)[sf_at(j, b, i, g)] = j.mut == MUT_cu_ragged_stray_255 ? 255 : j.mut == MUT_cu_ragged_clamp ? 105 : 0;
}

/* ---- CAST-1..7: group g of the row whose values are v ---- */

__device__ void cast_group(const struct job &j, const float *v, uint8_t *codes, int64_t b, int64_t i, int64_t g)
{
    const int64_t begin = g * j.s.group, end = begin + j.s.group < j.d ? begin + j.s.group : j.d;
    float amax = j.s.e2m1 && j.mut != MUT_cu_fp4_floor_1e4 ? __uint_as_float(0x01c00000u) : 1e-4f; /* 6 * 2^-126 */
    const float was = j.s.packed ? 0 : *(const float *) ((const uint8_t *) j.sf + sf_at(j, b, i, g));
    if (j.mut == MUT_cu_cast_amax_keeps_sf && was * 448 < 1e30f && was * 448 > amax)
        amax = was * 448; /* neither poison is that */
    for (int64_t c = begin; c < end; c++)
        amax = fabsf(v[c]) > amax ? fabsf(v[c]) : amax;
    const float top = j.s.e2m1 ? 6.0f : 448.0f;
    float largest = j.mut == MUT_cu_fp4_max_4 ? 4.0f : top;
    if (j.mut == MUT_cu_cast_max_224)
        largest = 224.0f;
    float sf = __fdiv_rn(amax, largest), times = __fdiv_rn(top, amax);
    uint32_t byte = 0;
    if (j.s.round) {
        byte = (__float_as_uint(sf) >> 23) + ((__float_as_uint(sf) & 0x7fffff) != 0);
        if (j.mut == MUT_cu_cast_exp_floor)
            byte = __float_as_uint(sf) >> 23;
        sf = __uint_as_float(byte << 23);
        times = __uint_as_float((254 - byte) << 23);
    }
    if (j.s.e2m1)
        store_e2m1(j, v, times, codes, begin, end);
    for (int64_t c = begin; c < end && !j.s.e2m1; c++)
        codes[c] = to_e4m3(__fmul_rn(v[c], times));
    uint8_t *const at = (uint8_t *) j.sf + sf_at(j, b, i, g);
    if (j.s.packed)
        *at = (uint8_t) byte;
    else
        *(float *) at = sf;
    if (g + 1 == j.s.groups)
        pad_word(j, b, i);
}

/* ---- RMS-1..7 ---- */

__device__ float r_at(const uint16_t *x, const uint16_t *res, int64_t c)
{
    return res ? from_bf16(to_bf16(__fadd_rn(from_bf16(x[c]), from_bf16(res[c])), false)) : from_bf16(x[c]);
}

/* DET-2: what the order of a sum must not depend on. The same for all threads of a block. */
__device__ bool other_order(const struct job &j, int64_t i)
{
    uint32_t processor, slot;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(processor));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(slot));
    switch (j.mut) {
    case MUT_cu_rms_order_by_address:
        return (uintptr_t) j.x.base % 16 != 0;
    case MUT_cu_rms_order_by_stride:
        return j.x.row != j.d; /* R18 */
    case MUT_cu_rms_order_by_load:
        return __syncthreads_or(slot >= WARPS) != 0; /* alone it has the first */
    case MUT_cu_rms_order_by_m:
        return j.m < 256; /* R22 */
    case MUT_cu_rms_order_by_place:
        return i % 2 != 0;
    case MUT_cu_rms_order_by_processor:
        return processor % 2 != 0;
    default:
        return false;
    }
}

/* In the order in which the warps come, and they come at any time. */
__device__ float atomic_sum(float sum)
{
    __shared__ float total;
    uint32_t now;
    if (threadIdx.x == 0)
        total = 0;
    __syncthreads();
    asm volatile("mov.u32 %0, %%clock;" : "=r"(now));
    __nanosleep((now ^ threadIdx.x * 37) % 1024);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&total, sum);
    __syncthreads();
    return total;
}

__device__ float warps_sum(const volatile float *p)
{
    return __fadd_rn(__fadd_rn(__fadd_rn(p[0], p[1]), __fadd_rn(p[2], p[3])),
                     __fadd_rn(__fadd_rn(p[4], p[5]), __fadd_rn(p[6], p[7])));
}

/* T08: what was summed at this address before. The same for all threads of the block. */
__device__ float cached_sum(const void *x, float sum)
{
    static __device__ const void *cached_at;
    static __device__ float cached;
    const float all = cached_at == x ? cached : sum;
    __syncthreads(); /* all have looked */
    if (threadIdx.x == 0)
        cached_at = x, cached = all;
    return all;
}

__device__ float row_sum(const struct job &j, const uint16_t *x, const uint16_t *res, int64_t i)
{
    __shared__ float partial[WARPS];
    const int tid = (int) threadIdx.x, warp = tid / 32;
    int64_t n = j.d;
    if (j.mut == MUT_cu_rms_sum_drops_last)
        n--;
    if (j.mut == MUT_cu_rms_reads_gap)
        n = (n + 15) / 16 * 16;
    if (tid < WARPS)
        partial[tid] = 0;
    __syncthreads();
    float sum = 0;
    for (int64_t c = tid; c < n; c += THREADS) {
        float r = r_at(x, res, c);
        if (j.mut == MUT_cu_rms_nan_swallowed)
            r = isnan(r) ? 0 : r;
        sum = __fadd_rn(sum, __fmul_rn(r, r));
    }
    for (int step = 16; step > 0; step /= 2)
        sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, step));
    if (j.mut == MUT_cu_rms_no_barrier && warp > 0)
        __nanosleep(50000); /* the slow warps that the missing barrier needs */
    if (tid % 32 == 0)
        partial[warp] = sum;
    if (j.mut != MUT_cu_rms_no_barrier)
        __syncthreads();
    const volatile float *const p = partial;
    if (j.mut == MUT_cu_rms_atomics)
        return atomic_sum(sum);
    if (j.mut == MUT_cu_rms_cached_by_address && i == 0)
        return cached_sum(x, warps_sum(p));
    if (other_order(j, i)) {
        sum = 0;
        for (int k = 0; k < WARPS; k++)
            sum = __fadd_rn(sum, p[k]);
        return sum;
    }
    return warps_sum(p);
}

__global__ void rows_kernel(const struct job j)
{
    __shared__ float v[MOST];
    const int64_t b = (int64_t) blockIdx.x / j.m, i = (int64_t) blockIdx.x % j.m;
    const uint16_t *const x = row_of<uint16_t>(j.x, b, i, j.mut);
    const uint16_t *const res = j.res.base ? row_of<uint16_t>(j.res, b, i, j.mut) : nullptr;
    float rstd = 1;
    if (j.norm) {
        float sum = row_sum(j, x, res, i);
        if (j.mut == MUT_cu_rms_shared_accumulator && i + 1 < j.m) {
            const float next = from_bf16(*row_of<uint16_t>(j.x, b, i + 1, j.mut));
            sum = __fsub_rn(__fadd_rn(sum, next), next);
        }
        const float s = __fdiv_rn(sum, (float) j.d);
        rstd = __frsqrt_rn(__fadd_rn(s, j.eps)); /* RMS-4 */
        if (j.mut == MUT_cu_rms_eps_outside)
            rstd = __fdiv_rn(1.0f, __fadd_rn(__fsqrt_rn(s), j.eps));
    }
    int64_t d = j.d;
    if (j.mut == MUT_cu_rms_tail_unwritten)
        d -= d % 8;
    for (int64_t c = threadIdx.x; c < d; c += THREADS) {
        const float r = r_at(x, res, c);
        if (!j.norm) {
            v[c] = r;
            continue;
        }
        float w = j.w_f32 ? ((const float *) j.w)[c] : from_bf16(((const uint16_t *) j.w)[c]);
        if (j.mut == MUT_cu_rms_frozen_weight && c == 0)
            w = j.w0;
        float n = __fmul_rn(r, rstd);
        if (j.mut == MUT_cu_rms_bf16_before_weight)
            n = from_bf16(to_bf16(n, false));
        const float y = __fmul_rn(__fmul_rn(n, w), j.scale); /* RMS-5 */
        const uint16_t code = to_bf16(y, j.mut == MUT_cu_rms_out_truncate);
        v[c] = from_bf16(code); /* RMS-6 */
        if (!j.cast && j.out_f32)
            row_of<float>(j.out, b, i, j.mut)[c] = y;
        if (!j.cast && !j.out_f32)
            row_of<uint16_t>(j.out, b, i, j.mut)[c] = code;
        if (j.bf16.base)
            row_of<uint16_t>(j.bf16, b, i, j.mut)[c] = code;
        if (j.res_out.base)
            row_of<uint16_t>(j.res_out, b, i, j.mut)[c] = to_bf16(r, false);
    }
    if (j.mut == MUT_cu_rms_stray_gap && threadIdx.x == 0 && !j.cast && !j.out_f32)
        row_of<uint16_t>(j.out, b, i, j.mut)[j.d + 8] = 0;
    __syncthreads();
    if (!j.cast)
        return;
    for (int64_t g = threadIdx.x; g < j.s.groups; g += THREADS)
        cast_group(j, v, row_of<uint8_t>(j.out, b, i, j.mut), b, i, g);
    if (j.mut == MUT_cu_cast_pad_spills && j.s.col && blockIdx.x == 0 && threadIdx.x == 0)
        *(uint32_t *) ((uint8_t *) j.sf +
                       j.batch * (j.s.packed ? (j.s.groups + 3) / 4 : j.s.groups) * ((j.m + 3) / 4 * 4) * 4) = 0;
}

/* ---- the host's side ---- */

struct view view_of(const struct lc_tensor *t)
{
    struct view v = { nullptr, 0, 0 };
    if (t == nullptr)
        return v;
    v.base = t->data;
    v.row = t->rank > 1 ? t->stride[t->rank - 2] : 0;
    v.batch = t->rank > 2 ? t->stride[0] : 0;
    return v;
}

/* MUT_cu_rms_frozen_weight: read when the stream may be waited for, else as it was. */
float first_weight(const struct lc_call *call, const struct job &j)
{
    static float was;
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    uint32_t code = 0;
    cudaStreamIsCapturing((cudaStream_t) call->stream, &capture);
    if (capture != cudaStreamCaptureStatusNone)
        return was;
    cudaMemcpy(&code, j.w, j.w_f32 ? 4 : 2, cudaMemcpyDeviceToHost);
    code <<= j.w_f32 ? 0 : 16;
    memcpy(&was, &code, sizeof was);
    return was;
}

int launch(const struct lc_call *call, struct job j)
{
    const int64_t rows = j.batch * j.m;
    if (rows == 0 && j.mut != MUT_cu_rms_no_rows)
        return LC_OK; /* RMS-9, CAST-10 */
    if (rows > 0x7fffffff || j.d > MOST)
        return LC_UNSUPPORTED;
    cudaStream_t stream = (cudaStream_t) call->stream;
    if (j.mut == MUT_cu_rms_own_stream)
        stream = cudaStreamLegacy;
    if (j.mut == MUT_cu_rms_frozen_weight)
        j.w0 = first_weight(call, j);
    rows_kernel<<<(unsigned) rows, THREADS, 0, stream>>>(j);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess && rows == 0)
        abort(); /* a launch of no blocks is an error */
    if (error != cudaSuccess && call->msg_size > 0)
        snprintf(call->msg, call->msg_size, "launch: %s", cudaGetErrorString(error));
    return error == cudaSuccess ? LC_OK : LC_FAILED;
}

int run_cast(const struct lc_call *call, mutant mut)
{
    union op_args args;
    const int status = ref_cast_check(call, &args);
    if (status != LC_OK)
        return status;
    const struct cast_args &a = args.cast;
    if (a.t[CAST_X]->dtype != LC_BF16 || a.sf.block_m > 0 || a.sf.dialect)
        return LC_UNSUPPORTED;
    struct job j = {};
    j.x = view_of(a.t[CAST_X]);
    const int64_t bytes = a.sf.e2m1 ? a.d / 2 : a.d; /* of a row's codes */
    j.out = { a.t[CAST_OUT]->data, bytes, a.m * bytes };
    j.sf = a.t[CAST_SF]->data;
    j.s = a.sf;
    j.batch = a.batch, j.m = a.m, j.d = a.d;
    j.cast = true;
    j.mut = mut;
    return launch(call, j);
}

int run_rmsnorm(const struct lc_call *call, mutant mut)
{
    union op_args args;
    const int status = ref_rmsnorm_check(call, &args);
    if (status != LC_OK)
        return status;
    const struct rmsnorm_args &a = args.rmsnorm;
    if (a.dialect || (a.cast && (a.sf.block_m > 0 || a.sf.ragged)))
        return LC_UNSUPPORTED;
    struct job j = {};
    j.x = view_of(a.t[RMS_X]);
    j.res = view_of(a.t[RMS_RESIDUAL]);
    j.out = view_of(a.t[RMS_OUT]);
    j.bf16 = view_of(a.t[RMS_BF16]);
    j.res_out = view_of(a.t[RMS_RESIDUAL_OUT]);
    j.w = a.t[RMS_WEIGHT]->data;
    j.w_f32 = a.t[RMS_WEIGHT]->dtype == LC_F32;
    j.out_f32 = a.t[RMS_OUT]->dtype == LC_F32;
    if (a.cast) {
        j.out.row = a.d, j.out.batch = a.m * a.d;
        j.sf = a.t[RMS_SF]->data;
        j.s = a.sf;
    }
    j.batch = a.batch, j.m = a.m, j.d = a.d;
    j.eps = (float) a.eps, j.scale = (float) a.out_scale;
    j.norm = true, j.cast = a.cast;
    j.mut = mut;
    return launch(call, j);
}

#include "mutants_cuda_rope_table.cuh"
#include "mutants_cuda_hadamard.cuh"
#include "mutants_cuda_rope.cuh"
#include "mutants_cuda_context_cast.cuh"
#include "mutants_cuda_sf_layout.cuh"
#include "mutants_cuda_qkv.cuh"
#include "mutants_cuda_kv_store.cuh"
#include "mutants_cuda_linear.cuh"

/* The ABI hands run() no variant, so each row has a function; the table cannot drift from them. */
#define MC(id, op, ...)                                                                                                          \
    int run_##id(const struct lc_call *call)                                                                                     \
    {                                                                                                                            \
        return run_##op(call, MUT_##id);                                                                                         \
    }
#include "table.h"

#define X(op)                                                                                                                    \
    int op##_none(const struct lc_call *call)                                                                                    \
    {                                                                                                                            \
        return run_##op(call, MUT_none);                                                                                         \
    }
OPERATORS
#undef X

const struct lc_kernel kernels[] = {
#define X(op) { #op, "none", nullptr, 1, 0, op##_none, nullptr },
    OPERATORS
#undef X
#define MC(id, op, ...) { #op, #id, nullptr, 1, 0, run_##id, nullptr },
#include "table.h"
    { nullptr, nullptr, nullptr, 0, 0, nullptr, nullptr },
};

const struct lc_plugin plugin = { LC_ABI, sizeof(struct lc_call), "mutants-cuda", kernels };

} // namespace

extern "C" const struct lc_plugin *lc_plugin_v1(void)
{
    return &plugin;
}
