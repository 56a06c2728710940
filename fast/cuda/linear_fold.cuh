/* SPDX-License-Identifier: Apache-2.0 */
/* LIN-5 for few rows of x: codes are multiplied by their scales before the product, exactly, and cores add up over K, as cuBLAS
 * does for many rows. Operands are F16 in a block where the scales of every row lie within 21 binades of the row's largest: over
 * that one, which multiplies the sum. Else they are BF16 with the scales themselves; terms and their order are the same, and so is
 * the sum. There, an element whose row of x or of the weight has a scale that leaves BF16's range over a code that is not zero (or,
 * of the weight, is NaN) is summed anew from the codes, by itself: so no row depends on another.
 *
 * Rows of the weight are the rows of the cores' a, each decoded once, in the registers of the one warp that needs it; x is their
 * b, decoded a stage ahead by the whole block into shared memory. A stage is 128 k. Two warps may share rows, each with its half
 * of a stage. The blocks of a cluster have the same tile and a slice of K each; they add their sums through shared memory, in the
 * order of the slices.
 *
 * Which k meet in which slot of the core is free as long as both operands agree. Lane t of a quad takes 16 (E2M1: 32) consecutive
 * codes of a row of the weight, in pieces of 8: k = 16 t + 64 h + 8 i (E2M1: 32 t + 8 (2 h + i)), in half h of a stage, i = 0, 1.
 * Of a piece, codes 4s + {0, 1} are slots 2t + {0, 1} and codes 4s + {2, 3} slots 2t + 8 + {0, 1} of step s = 0, 1. The 16-byte
 * pieces of decoded x are stored in the order in which they are read: piece (h, i) of the four lanes side by side. Rows of odd
 * number have their halves of 64 bytes swapped, so that two rows lie in different banks. */
#ifndef FAST_LINEAR_FOLD_CUH
#define FAST_LINEAR_FOLD_CUH

#include "linear_fold_stage.cuh"

/* 2^(ea + eb) of what F16 operands lack, from the sum of their rows' tops. Where LIN-5 judges, its exponent is within f32's by far. */
static __host__ __device__ __forceinline__ uint32_t fast_lin_fold_power(int sum)
{
    const int e = sum - 127 - 2 * FAST_LIN_NARROW_UP;
    return (uint32_t) (e < 1 ? 1 : e > 254 ? 254 : e) << 23;
}

/* The warps' sums to shared memory, [row of x][row of the weight]; those of the two halves of stages added. */
template <class T>
static __device__ __forceinline__ void fast_lin_fold_put(float *sums, const uint8_t *tops, bool narrow, int wn, int wk,
                                                         const float acc[2][T::NI][4])
{
    const int g = ((int) threadIdx.x & 31) / 4, t = (int) threadIdx.x & 3;
    float *const mine = sums + 2 * t * T::PITCH + 32 * wn + g;
#pragma unroll
    for (int turn = T::WARPS_K - 1; turn >= 0; turn--) {
        if (wk == turn)
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int n = 0; n < T::NI; n++)
#pragma unroll
                    for (int e = 0; e < 4; e++) {
                        const int row = 8 * n + e % 2, col = 16 * i + e / 2 * 8;
                        float *const to = mine + row * T::PITCH + col;
                        float v = acc[i][n][e];
                        if (narrow)
                            v = __fmul_rn(
                                v, __uint_as_float(fast_lin_fold_power(tops[32 * wn + g + col] + tops[T::BN + 2 * t + row])));
                        *to = turn == T::WARPS_K - 1 ? v : __fadd_rn(v, *to);
                    }
        __syncthreads();
    }
}

/* One element's sum over groups [first, last), whatever the scales. */
template <bool E2M1>
static __device__ __forceinline__ float fast_lin_fold_sum(const struct fast_lin_mma &p, int64_t m, int64_t n, int32_t first,
                                                          int32_t last)
{
    const char *const x = p.a + m * p.a_row, *const w = p.b + n * p.b_row;
    float sum = 0.0f;
    for (int32_t q = first; q < last; q++) {
        const uint32_t ea = *(const uint8_t *) (p.a_sf + 4 * (q / 4 * p.a_pad + m) + q % 4);
        const uint32_t eb = *(const uint8_t *) (p.b_sf + 4 * (q / 4 * p.b_pad + n) + q % 4);
        float part = 0.0f;
        for (int i = 0; i < 8; i++) { /* codes 4i..4i+3 */
            const uint32_t xw = *(const uint32_t *) (x + (int64_t) q * 32 + 4 * i);
            uint32_t wb[2];
            if constexpr (E2M1) {
                fast_lin_e2m1_bf16(*(const uint16_t *) (w + (int64_t) q * 16 + 2 * i), &wb[0], &wb[1]);
            } else {
                const uint32_t ww = *(const uint32_t *) (w + (int64_t) q * 32 + 4 * i);
                wb[0] = fast_lin_bf16(fast_lin_e4m3<0>(ww)), wb[1] = fast_lin_bf16(fast_lin_e4m3<1>(ww));
            }
            const uint32_t xb[2] = { fast_lin_bf16(fast_lin_e4m3<0>(xw)), fast_lin_bf16(fast_lin_e4m3<1>(xw)) };
#pragma unroll
            for (int j = 0; j < 2; j++) {
                part = __fmaf_rn(fast_bf16_lo(xb[j]), fast_bf16_lo(wb[j]), part);
                part = __fmaf_rn(fast_bf16_hi(xb[j]), fast_bf16_hi(wb[j]), part);
            }
        }
        sum = __fmaf_rn(part, __fmul_rn(__uint_as_float(fast_lin_scale(ea)), __uint_as_float(fast_lin_scale(eb))), sum);
    }
    return sum;
}

/* Four columns from c on; c is a multiple of 4 and out's rows are aligned. */
static __device__ __forceinline__ void fast_lin_fold_store(const struct fast_lin_mma &p, bool f32, int64_t row, int64_t c,
                                                           float4 v)
{
    const int64_t at = row * p.out_row + c;
    const uint32_t b01 = fast_bf16_pair(v.x, v.y), b23 = fast_bf16_pair(v.z, v.w);
    if (c + 4 <= p.n) {
        if (f32)
            *(float4 *) ((float *) p.out + at) = v;
        else
            *(uint2 *) ((uint16_t *) p.out + at) = make_uint2(b01, b23);
        return;
    }
    const float e[4] = { v.x, v.y, v.z, v.w };
#pragma unroll
    for (int j = 0; j < 3; j++)
        if (c + j < p.n) {
            if (f32)
                ((float *) p.out)[at + j] = e[j];
            else
                ((uint16_t *) p.out)[at + j] = (uint16_t) ((j < 2 ? b01 : b23) >> 16 * (j % 2));
        }
}

/* The products of a slice; x and the first STAGES - 1 stages are on their way. F16: scales are over those of their rows' tops. True where
 * a row was flagged. */
template <class T, bool F16>
static __device__ __forceinline__ bool fast_lin_fold_slice(const struct fast_lin_mma &p, struct fast_lin_fold_source &from,
                                                           struct fast_lin_fold_x<T> &x, char *shared, int32_t count,
                                                           int32_t groups, int n, int m, float acc[2][T::NI][4])
{
    uint8_t *const flags = (uint8_t *) shared + T::FLAGS_AT, *const tops = (uint8_t *) shared + T::TOPS_AT;
    const uint32_t base = (uint32_t) __cvta_generic_to_shared(shared);
    const int lane = (int) threadIdx.x & 31, warp = (int) threadIdx.x / 32, wn = warp % T::WARPS_N, wk = warp / T::WARPS_N;
    uint32_t scale_base[2][2];
#pragma unroll
    for (int i = 0; i < 4; i++)
        scale_base[i / 2][i % 2] = F16 ? fast_lin_scale_base(tops[32 * wn + 8 * i + lane / 4]) : 0u;
    bool flagged = false;
    char *const x16 = shared + T::X16_AT;
    __syncthreads(); /* flags and tops are there */
    flagged = fast_lin_fold_x_put<T, F16>(x, x16, flags, tops, groups);
    int slot = 0, filled = T::STAGES - 1; /* stage s lies in slot s % STAGES; the next to fill */
    for (int32_t s = 0; s < count; s++) {
        fast_lin_wait<T::STAGES - 2>(); /* stage s is here, of this thread; the barrier: of all, */
        __syncthreads();                /* and nobody reads stage s - 1 any more, and x of stage s is decoded */
        if (s + T::STAGES - 1 < count)
            fast_lin_fold_fetch<T>(p, from, base + (uint32_t) (filled * T::STAGE_BYTES), groups - 4 * (s + T::STAGES - 1), n);
        fast_lin_commit();
        const int32_t left = groups - 4 * s;
        if (s + 1 < count) /* x of the next stage is decoded beside the products of this one */
            fast_lin_fold_x_get<T>(p, from, x, left - 4, m);
        const char *const here = shared + slot * T::STAGE_BYTES;
        if (!F16)
            flagged |= fast_lin_fold_try<T>(here, flags, left);
        fast_lin_fold_stage<T, F16>(here, x16 + s % 2 * T::X16_BYTES, scale_base, left, wn, wk, acc);
        if (s + 1 < count)
            flagged |= fast_lin_fold_x_put<T, F16>(x, x16 + (s + 1) % 2 * T::X16_BYTES, flags, tops, left - 4);
        filled = slot;
        slot = slot + 1 == T::STAGES ? 0 : slot + 1;
    }
    return flagged;
}

/* A cluster of p.slices blocks a tile. */
template <class T>
static __global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    fast_lin_fold_kernel(const __grid_constant__ struct fast_lin_mma p)
{
    extern __shared__ __align__(16) char fast_lin_shared[];
    uint8_t *const flags = (uint8_t *) fast_lin_shared + T::FLAGS_AT, *const tops = (uint8_t *) fast_lin_shared + T::TOPS_AT;
    const uint32_t base = (uint32_t) __cvta_generic_to_shared(fast_lin_shared);
    const int warp = (int) threadIdx.x / 32, wn = warp % T::WARPS_N, wk = warp / T::WARPS_N;
    const uint32_t slices = (uint32_t) p.slices, slice = blockIdx.x % slices, tile = blockIdx.x / slices;
    const int64_t row0 = (int64_t) (tile % p.tiles_m) * T::BM, col0 = (int64_t) (tile / p.tiles_m) * T::BN;
    const int m = p.rows - row0 < T::BM ? (int) (p.rows - row0) : T::BM, n = p.n - col0 < T::BN ? (int) (p.n - col0) : T::BN;
    const int64_t stages = (p.groups + 3) / 4;
    const int32_t first = (int32_t) (stages * slice / slices), count = (int32_t) (stages * (slice + 1) / slices) - first;
    const int32_t groups = p.groups - 4 * first; /* from there on */
    struct fast_lin_fold_source from = fast_lin_fold_source_of<T>(p, row0, col0, first);
    struct fast_lin_fold_x<T> x;
    fast_lin_fold_x_get<T>(p, from, x, groups, m);
#pragma unroll
    for (int s = 0; s < T::STAGES - 1; s++) {
        if (s < count)
            fast_lin_fold_fetch<T>(p, from, base + (uint32_t) (s * T::STAGE_BYTES), groups - 4 * s, n);
        fast_lin_commit();
    }
    for (int u = (int) threadIdx.x; u < T::ROWS; u += T::THREADS)
        flags[u] = 0;
    float acc[2][T::NI][4] = {};
    const bool narrow = __syncthreads_and(fast_lin_fold_window<T>(p, tops, row0, col0, first, count, groups)) != 0;
    bool flagged = false;
    if (narrow)
        fast_lin_fold_slice<T, true>(p, from, x, fast_lin_shared, count, groups, n, m, acc);
    else
        flagged = fast_lin_fold_slice<T, false>(p, from, x, fast_lin_shared, count, groups, n, m, acc);
    fast_lin_wait<0>();
    flagged = __syncthreads_or(flagged) != 0; /* all are done with the stages, too */
    float *const sums = (float *) fast_lin_shared;
    fast_lin_fold_put<T>(sums, tops, narrow, wn, wk, acc);
    if (flagged) {
        const int32_t last = first + count, end = 4 * last < p.groups ? 4 * last : p.groups;
        for (int u = (int) threadIdx.x; u < m * T::BN; u += T::THREADS) {
            const int i = u / T::BN, j = u % T::BN;
            if (j < n && (flags[j] | flags[T::BN + i]))
                sums[i * T::PITCH + j] = fast_lin_fold_sum<T::E2M1>(p, row0 + i, col0 + j, 4 * first, end);
        }
    }
    fast_lin_cluster_sync();
    const uint32_t all = (uint32_t) m * (T::BN / 4), end = all * (slice + 1) / slices; /* pieces of four, shared out */
    for (uint32_t u = all * slice / slices + threadIdx.x; u < end; u += T::THREADS) {
        const uint32_t i = u / (T::BN / 4), j = u % (T::BN / 4) * 4;
        if (col0 + j >= p.n)
            continue;
        const float *const at = sums + i * T::PITCH + j;
        float4 v = fast_lin_cluster_read(at, 0);
        for (uint32_t k = 1; k < slices; k++) {
            const float4 part = fast_lin_cluster_read(at, k);
            v.x = __fadd_rn(v.x, part.x), v.y = __fadd_rn(v.y, part.y);
            v.z = __fadd_rn(v.z, part.z), v.w = __fadd_rn(v.w, part.w);
        }
        fast_lin_fold_store(p, p.out_f32, row0 + i, col0 + j, v);
    }
    fast_lin_cluster_sync(); /* no block leaves while another reads its sums */
}

/* ---- choosing; by shape alone ---- */

/* Slices, so that all processors are busy and few blocks wait for a place: least stages in turn, 3 for what a block does beside
 * them. A cluster has at most 8 blocks. */
static inline int32_t fast_lin_fold_slices(int64_t tiles, int64_t stages, int blocks)
{
    const int64_t places = (int64_t) blocks * FAST_LIN_PROCESSORS;
    int64_t best = INT64_MAX;
    int32_t slices = 1;
    for (int32_t s = 1; s <= 8 && s <= stages; s *= 2) {
        const int64_t cost = (tiles * s + places - 1) / places * ((stages + s - 1) / s + 3);
        if (cost < best)
            best = cost, slices = s;
    }
    return slices;
}

/* LC_UNSUPPORTED: the device has not the shared memory. */
template <class T> static int fast_lin_fold_start(const struct lc_call *call, struct fast_lin_mma p)
{
    const auto kernel = fast_lin_fold_kernel<T>;
    const int64_t tiles_m = (p.rows + T::BM - 1) / T::BM, tiles = tiles_m * ((p.n + T::BN - 1) / T::BN);
    p.slices = fast_lin_fold_slices(tiles, (p.groups + 3) / 4, T::BLOCKS);
    if (tiles * p.slices > INT32_MAX)
        return fast_fail(call, LC_UNSUPPORTED, "linear", "2^31 tiles or more");
    if (cudaFuncSetAttribute((const void *) kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, T::BYTES) != cudaSuccess) {
        cudaGetLastError(); /* not a fault of the device */
        return LC_UNSUPPORTED;
    }
    p.tiles_m = (uint32_t) tiles_m;
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = (unsigned) p.slices, cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned) (tiles * p.slices)), config.blockDim = dim3(T::THREADS);
    config.dynamicSmemBytes = T::BYTES, config.stream = (cudaStream_t) call->stream;
    config.attrs = &cluster, config.numAttrs = 1;
    void *args[] = { &p };
    cudaError_t e = cudaLaunchKernelExC(&config, (const void *) kernel, args);
    const cudaError_t last = cudaGetLastError();
    if (e == cudaSuccess)
        e = last;
    return e == cudaSuccess ? LC_OK : fast_fail(call, LC_FAILED, "linear", cudaGetErrorString(e));
}

template <bool E2M1> static int fast_lin_fold_run(const struct lc_call *call, const struct fast_lin_mma &p)
{
    if (p.rows <= 8)
        return fast_lin_fold_start<fast_lin_fold<8, 4, 2, E2M1 ? 8 : 6, 2, E2M1>>(call, p);
    if (p.rows <= 16)
        return fast_lin_fold_start<fast_lin_fold<16, 4, 2, E2M1 ? 8 : 6, 2, E2M1>>(call, p);
    if (p.rows <= 32)
        return fast_lin_fold_start<fast_lin_fold<32, 4, 2, E2M1 ? 8 : 5, 2, E2M1>>(call, p);
    if (p.rows <= 64)
        return fast_lin_fold_start<fast_lin_fold<64, 4, 1, E2M1 ? 8 : 4, 2, E2M1>>(call, p);
    return fast_lin_fold_start<fast_lin_fold<128, 4, 2, E2M1 ? 8 : 6, 1, E2M1>>(call, p);
}

/* Has the device clusters, and cores that add to BF16 products as LIN-1 allows? */
static inline bool fast_lin_folds(int device)
{
    int major = 0;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess)
        cudaGetLastError();
    return major >= 9;
}

#endif
