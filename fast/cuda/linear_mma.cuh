/* SPDX-License-Identifier: Apache-2.0 */
/* LIN-5 for any scales: E4M3 x E4M3 or E4M3 x E2M1, each group of 32 summed on F16 cores into a fresh f32 accumulator, which one
 * fused multiply-add scales by 2^(ea + eb) and adds to the total. Hopper's own FP8 cores keep 13 fraction bits and are not used.
 *
 * Which 32 elements of a group meet in which of the core's k slots is free as long as both operands agree. So lane t of a quad
 * takes the 8 consecutive codes 8t..8t+7 of its row: one shared-memory access (8 bytes, or 4 of E2M1), no ldmatrix. Codes
 * 8t + 4s + {0, 1} are slots 2t + {0, 1} and codes 8t + 4s + {2, 3} slots 2t + 8 + {0, 1} of step s = 0, 1.
 *
 * Warps divide a tile by rows, columns and, WARPS_K ways, by groups: few rows are then decoded once, not by every warp. A stage
 * is 128 k: one word of scales a row, made f32 a stage ahead. The loop is bound by instructions, not by memory or cores: hence
 * pointers that advance, and several blocks a processor, whose barriers do not coincide. */
#ifndef FAST_LINEAR_MMA_CUH
#define FAST_LINEAR_MMA_CUH

#include "linear_codes.cuh"
#include "linear_core.cuh"

struct fast_lin_mma {
    const char *a, *b;          /* codes, rows 16-byte aligned */
    const char *a_sf, *b_sf;    /* SF-3 words */
    int64_t a_row, b_row;       /* bytes between rows */
    int64_t a_pad, b_pad;       /* words between two words of a row */
    char *out;                  /* BF16, or F32: then slice z begins at out + z * out_slice */
    int64_t out_row, out_slice; /* elements */
    int64_t rows, n;
    int32_t groups;       /* K / 32 */
    int32_t stages;       /* K steps of 128 of one slice */
    int32_t slices;       /* of K; > 1: F32 */
    uint32_t tiles_m;     /* tiles along m; neighbouring blocks share rows of b */
    uint32_t tiles;       /* of all slices */
    const uint32_t *only; /* not NULL: do nothing where this is 0 */
    bool out_f32;
};

/* The pitch of a row in shared memory: rows of a warp's access fall into different banks. */
enum { FAST_LIN_PITCH = 128 + 32, FAST_LIN_PITCH_E2M1 = 64 + 16 };

/* BLOCKS of them are to share a processor. */
template <int BM_, int BN_, int WARPS_M_, int WARPS_N_, int WARPS_K_, int STAGES_, int BLOCKS_, bool E2M1_, bool F32_>
struct fast_lin_tile {
    static constexpr int BM = BM_, BN = BN_, WARPS_M = WARPS_M_, WARPS_N = WARPS_N_, WARPS_K = WARPS_K_, STAGES = STAGES_;
    static constexpr int BLOCKS = BLOCKS_;
    static constexpr bool E2M1 = E2M1_, F32 = F32_;
    static constexpr int THREADS = 32 * WARPS_M * WARPS_N * WARPS_K, ROWS = BM + BN;
    static constexpr int MI = BM / 16 / WARPS_M, NI = BN / 8 / WARPS_N, ACC = MI * NI * 4;
    static constexpr int B_PITCH = E2M1 ? FAST_LIN_PITCH_E2M1 : FAST_LIN_PITCH;
    static constexpr int A_BYTES = BM * FAST_LIN_PITCH, B_BYTES = BN * B_PITCH, STAGE_BYTES = A_BYTES + B_BYTES + 4 * ROWS;
    static constexpr int SCALES = STAGES * STAGE_BYTES, BYTES = SCALES + 2 * 4 * 4 * ROWS;
    /* Copies of 16 bytes that a thread issues a stage; all of its copies have the same place in their rows. */
    static constexpr int A_CHUNKS = 8, B_CHUNKS = E2M1 ? 4 : 8;
    static constexpr int A_COPIES = (BM * A_CHUNKS + THREADS - 1) / THREADS, B_COPIES = (BN * B_CHUNKS + THREADS - 1) / THREADS;
    static constexpr int SF_COPIES = (ROWS + THREADS - 1) / THREADS;
    static_assert(MI * 16 * WARPS_M == BM && NI * 8 * WARPS_N == BN && 4 % WARPS_K == 0 && STAGES >= 3, "tile");
    static_assert((WARPS_K - 1) * WARPS_M * WARPS_N * ACC * 128 <= SCALES, "the warps' sums must fit");
};

struct fast_lin_spot { /* where a block's tile lies */
    int64_t row, col;
    int32_t first, last, slice; /* stages [first, last) */
};

static __host__ __device__ __forceinline__ struct fast_lin_spot fast_lin_spot_of(const struct fast_lin_mma &p, uint32_t tile,
                                                                                 int bm, int bn)
{
    const uint32_t per_slice = p.tiles / (uint32_t) p.slices, slice = tile / per_slice, at = tile % per_slice;
    const int32_t all = (p.groups + 3) / 4, first = (int32_t) slice * p.stages, end = first + p.stages;
    return { (int64_t) (at % p.tiles_m) * bm, (int64_t) (at / p.tiles_m) * bn, first, end < all ? end : all, (int32_t) slice };
}

/* What a thread copies: where from, for the stage that comes next, and where to in a slot. Rows and columns beyond the matrices
 * are not copied: what then lies in shared memory reaches only sums that nobody stores. */
template <class T> struct fast_lin_source {
    const char *a[T::A_COPIES], *b[T::B_COPIES], *sf[T::SF_COPIES];
    int64_t sf_step[T::SF_COPIES];       /* bytes */
    uint32_t a_there, b_there, sf_there; /* a bit a copy */
};

template <class T>
static __device__ __forceinline__ void fast_lin_source_of(const struct fast_lin_mma &p, const struct fast_lin_spot &at,
                                                          struct fast_lin_source<T> &from)
{
    from.a_there = from.b_there = from.sf_there = 0;
#pragma unroll
    for (int i = 0; i < T::A_COPIES; i++) {
        const int u = (int) threadIdx.x + i * T::THREADS, row = u / T::A_CHUNKS, chunk = u % T::A_CHUNKS;
        const bool there = row < T::BM && at.row + row < p.rows;
        from.a[i] = there ? p.a + (at.row + row) * p.a_row + (int64_t) at.first * 128 + chunk * 16 : p.a;
        from.a_there |= there ? 1u << i : 0u;
    }
#pragma unroll
    for (int i = 0; i < T::B_COPIES; i++) {
        const int u = (int) threadIdx.x + i * T::THREADS, row = u / T::B_CHUNKS, chunk = u % T::B_CHUNKS;
        const bool there = row < T::BN && at.col + row < p.n;
        from.b[i] = there ? p.b + (at.col + row) * p.b_row + (int64_t) at.first * (T::B_CHUNKS * 16) + chunk * 16 : p.b;
        from.b_there |= there ? 1u << i : 0u;
    }
#pragma unroll
    for (int i = 0; i < T::SF_COPIES; i++) {
        const int r = (int) threadIdx.x + i * T::THREADS;
        const bool of_a = r < T::BM;
        const int64_t row = of_a ? at.row + r : at.col + (r - T::BM), pad = of_a ? p.a_pad : p.b_pad;
        const bool there = r < T::ROWS && row < (of_a ? p.rows : p.n);
        from.sf[i] = (of_a ? p.a_sf : p.b_sf) + (there ? 4 * (at.first * pad + row) : 0);
        from.sf_step[i] = 4 * pad;
        from.sf_there |= there ? 1u << i : 0u;
    }
}

/* The next stage into a slot; groups: how many of K are left at its start. */
template <class T>
static __device__ __forceinline__ void fast_lin_fetch(struct fast_lin_source<T> &from, uint32_t slot, int32_t groups)
{
    static_assert(T::THREADS % 8 == 0, "a thread's chunk");
    const bool a_k = (int) threadIdx.x % T::A_CHUNKS / 2 < groups; /* 32 codes a group */
    const bool b_k = (int) threadIdx.x % T::B_CHUNKS / (T::B_CHUNKS / 4) < groups;
    const uint32_t a_to = slot + threadIdx.x / T::A_CHUNKS * FAST_LIN_PITCH + threadIdx.x % T::A_CHUNKS * 16;
    const uint32_t b_to = slot + T::A_BYTES + threadIdx.x / T::B_CHUNKS * T::B_PITCH + threadIdx.x % T::B_CHUNKS * 16;
#pragma unroll
    for (int i = 0; i < T::A_COPIES; i++) {
        if (a_k && (from.a_there >> i & 1u))
            fast_lin_copy16(a_to + (uint32_t) (i * (T::THREADS / T::A_CHUNKS) * FAST_LIN_PITCH), from.a[i]);
        from.a[i] += 128;
    }
#pragma unroll
    for (int i = 0; i < T::B_COPIES; i++) {
        if (b_k && (from.b_there >> i & 1u))
            fast_lin_copy16(b_to + (uint32_t) (i * (T::THREADS / T::B_CHUNKS) * T::B_PITCH), from.b[i]);
        from.b[i] += T::B_CHUNKS * 16;
    }
#pragma unroll
    for (int i = 0; i < T::SF_COPIES; i++) {
        if (from.sf_there >> i & 1u)
            fast_lin_copy4(slot + (uint32_t) (T::A_BYTES + T::B_BYTES + 4 * i * T::THREADS) + 4 * threadIdx.x, from.sf[i]);
        from.sf[i] += from.sf_step[i];
    }
}

/* A stage's scales as f32, [group][row]. */
template <class T> static __device__ __forceinline__ void fast_lin_scales(const char *slot, float *scales)
{
#pragma unroll
    for (int i = 0; i < (4 * T::ROWS + T::THREADS - 1) / T::THREADS; i++) {
        const int u = (int) threadIdx.x + i * T::THREADS;
        if (u < 4 * T::ROWS)
            scales[u] = __uint_as_float(
                fast_lin_scale(*(const uint8_t *) (slot + T::A_BYTES + T::B_BYTES + 4 * (u % T::ROWS) + u / T::ROWS)));
    }
}

/* Group q of a stage, the warp's share of the tile. */
template <class T>
static __device__ __forceinline__ void fast_lin_group(const char *slot, const float *scales, int q, int m0, int n0,
                                                      float acc[T::MI][T::NI][4])
{
    const int g = ((int) threadIdx.x & 31) / 4, t = (int) threadIdx.x & 3;
    uint32_t a[T::MI][2][4];
    float sa[T::MI][2];
    scales += q * T::ROWS;
#pragma unroll
    for (int i = 0; i < T::MI; i++) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int row = m0 + 16 * i + 8 * h + g;
            const uint2 w = *(const uint2 *) (slot + row * FAST_LIN_PITCH + q * 32 + 8 * t);
            a[i][0][h] = fast_lin_e4m3<0>(w.x), a[i][0][2 + h] = fast_lin_e4m3<1>(w.x);
            a[i][1][h] = fast_lin_e4m3<0>(w.y), a[i][1][2 + h] = fast_lin_e4m3<1>(w.y);
            sa[i][h] = scales[row];
        }
    }
#pragma unroll
    for (int j = 0; j < T::NI; j++) {
        const int n = n0 + 8 * j;
        uint32_t b[2][2];
        if constexpr (T::E2M1) {
            const uint32_t w = *(const uint32_t *) (slot + T::A_BYTES + (n + g) * T::B_PITCH + q * 16 + 4 * t);
            fast_lin_e2m1(w, &b[0][0], &b[0][1]);
            fast_lin_e2m1(w >> 16, &b[1][0], &b[1][1]);
        } else {
            const uint2 w = *(const uint2 *) (slot + T::A_BYTES + (n + g) * T::B_PITCH + q * 32 + 8 * t);
            b[0][0] = fast_lin_e4m3<0>(w.x), b[0][1] = fast_lin_e4m3<1>(w.x);
            b[1][0] = fast_lin_e4m3<0>(w.y), b[1][1] = fast_lin_e4m3<1>(w.y);
        }
        const float2 sb = *(const float2 *) (scales + T::BM + n + 2 * t);
#pragma unroll
        for (int i = 0; i < T::MI; i++) {
            float part[4] = { 0.0f, 0.0f, 0.0f, 0.0f };
            fast_lin_core(part, a[i][0], b[0], part);
            fast_lin_core(part, a[i][1], b[1], part);
            acc[i][j][0] = __fmaf_rn(part[0], __fmul_rn(sa[i][0], sb.x), acc[i][j][0]);
            acc[i][j][1] = __fmaf_rn(part[1], __fmul_rn(sa[i][0], sb.y), acc[i][j][1]);
            acc[i][j][2] = __fmaf_rn(part[2], __fmul_rn(sa[i][1], sb.x), acc[i][j][2]);
            acc[i][j][3] = __fmaf_rn(part[3], __fmul_rn(sa[i][1], sb.y), acc[i][j][3]);
        }
    }
}

/* The sums of the warps that shared a part of the tile, added in the order of their groups by the first of them. */
template <class T>
static __device__ __forceinline__ void fast_lin_gather(float *shared, int wk, int part, float acc[T::MI][T::NI][4])
{
    const int lane = (int) threadIdx.x & 31;
    float *const mine = shared + part * (T::ACC * 32) + lane;
    constexpr int STEP = T::WARPS_M * T::WARPS_N * T::ACC * 32;
    if (wk > 0) {
#pragma unroll
        for (int e = 0; e < T::ACC; e++)
            mine[(wk - 1) * STEP + e * 32] = acc[e / 4 / T::NI][e / 4 % T::NI][e % 4];
    }
    __syncthreads();
    if (wk == 0) {
#pragma unroll
        for (int k = 0; k < T::WARPS_K - 1; k++)
#pragma unroll
            for (int e = 0; e < T::ACC; e++) {
                float &v = acc[e / 4 / T::NI][e / 4 % T::NI][e % 4];
                v = __fadd_rn(v, mine[k * STEP + e * 32]);
            }
    }
}

/* Columns c and c + 1 of a row; c is even and out's rows are aligned. */
template <class T>
static __device__ __forceinline__ void fast_lin_store(const struct fast_lin_mma &p, int32_t slice, int64_t row, int64_t c,
                                                      float v0, float v1)
{
    if (row >= p.rows || c >= p.n)
        return;
    const int64_t at = (int64_t) slice * p.out_slice + row * p.out_row + c;
    const bool both = c + 1 < p.n;
    if constexpr (T::F32) {
        float *const out = (float *) p.out + at;
        if (both)
            *(float2 *) out = make_float2(v0, v1);
        else
            *out = v0;
    } else {
        uint16_t *const out = (uint16_t *) p.out + at;
        const uint32_t pair = fast_bf16_pair(v0, v1);
        if (both)
            *(uint32_t *) out = pair;
        else
            *out = (uint16_t) pair;
    }
}

template <class T>
static __global__ void __launch_bounds__(T::THREADS, T::BLOCKS) fast_lin_mma_kernel(const __grid_constant__ struct fast_lin_mma p)
{
    extern __shared__ __align__(16) char fast_lin_shared[];
    if (p.only != nullptr && *p.only == 0)
        return;
    float *const scales = (float *) (fast_lin_shared + T::SCALES);
    const uint32_t base = (uint32_t) __cvta_generic_to_shared(fast_lin_shared);
    const int warp = (int) threadIdx.x / 32, wk = warp / (T::WARPS_M * T::WARPS_N), part = warp % (T::WARPS_M * T::WARPS_N);
    const int m0 = part / T::WARPS_N * (16 * T::MI), n0 = part % T::WARPS_N * (8 * T::NI);
    for (uint32_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
        const struct fast_lin_spot at = fast_lin_spot_of(p, tile, T::BM, T::BN);
        float acc[T::MI][T::NI][4] = {};
        const int32_t count = at.last - at.first, groups = p.groups - 4 * at.first; /* what is left of K */
        struct fast_lin_source<T> from;
        fast_lin_source_of<T>(p, at, from);
#pragma unroll
        for (int s = 0; s < T::STAGES - 1; s++) {
            if (s < count)
                fast_lin_fetch<T>(from, base + (uint32_t) (s * T::STAGE_BYTES), groups - 4 * s);
            fast_lin_commit();
        }
        fast_lin_wait<T::STAGES - 2>();
        __syncthreads();
        fast_lin_scales<T>(fast_lin_shared, scales);
        int slot = 0, filled = T::STAGES - 1; /* stage s lies in slot s % STAGES; the next to fill */
        for (int32_t s = 0; s < count; s++) {
            fast_lin_wait<T::STAGES - 3>(); /* stages s and s + 1 are here, of this thread; the barrier: of all */
            __syncthreads();                /* and nobody reads stage s - 1 or its scales any more */
            if (s + T::STAGES - 1 < count)
                fast_lin_fetch<T>(from, base + (uint32_t) (filled * T::STAGE_BYTES), groups - 4 * (s + T::STAGES - 1));
            fast_lin_commit();
            const int next = slot + 1 == T::STAGES ? 0 : slot + 1;
            if (s + 1 < count)
                fast_lin_scales<T>(fast_lin_shared + next * T::STAGE_BYTES, scales + (s + 1) % 2 * (4 * T::ROWS));
#pragma unroll
            for (int i = 0; i < 4 / T::WARPS_K; i++) {
                const int q = i * T::WARPS_K + wk;
                if (q < groups - 4 * s)
                    fast_lin_group<T>(fast_lin_shared + slot * T::STAGE_BYTES, scales + s % 2 * (4 * T::ROWS), q, m0, n0, acc);
            }
            filled = slot;
            slot = next;
        }
        fast_lin_wait<0>();
        __syncthreads();
        if constexpr (T::WARPS_K > 1)
            fast_lin_gather<T>((float *) fast_lin_shared, wk, part, acc);
        if (wk == 0) {
            const int g = ((int) threadIdx.x & 31) / 4, t = (int) threadIdx.x & 3;
#pragma unroll
            for (int i = 0; i < T::MI; i++)
#pragma unroll
                for (int j = 0; j < T::NI; j++) {
                    const int64_t row = at.row + m0 + 16 * i + g, c = at.col + n0 + 8 * j + 2 * t;
                    fast_lin_store<T>(p, at.slice, row, c, acc[i][j][0], acc[i][j][1]);
                    fast_lin_store<T>(p, at.slice, row + 8, c, acc[i][j][2], acc[i][j][3]);
                }
        }
        __syncthreads(); /* shared memory is the next tile's */
    }
}

/* ---- choosing; by shape alone ---- */

enum { FAST_LIN_PROCESSORS = 132, FAST_LIN_MOST_SLICES = 16 };

struct fast_lin_shape { /* of a tile; blocks: how many share a processor */
    int bm, bn, blocks;
};

static inline struct fast_lin_shape fast_lin_shape_of(int64_t m)
{
    if (m <= 16)
        return { 16, 64, 4 };
    if (m <= 32)
        return { 32, 64, 4 };
    if (m <= 64)
        return { 64, 128, 2 };
    return { 128, 128, 1 };
}

/* Slices of K, so that all processors are full; at least 4 stages each, so that up to 128 rows have no more bytes of partial sums
 * than of weights. A function of the shape, so that results repeat. */
static inline int32_t fast_lin_slices(int64_t m, int64_t n, int64_t k)
{
    const struct fast_lin_shape s = fast_lin_shape_of(m);
    const int64_t tiles = ((m + s.bm - 1) / s.bm) * ((n + s.bn - 1) / s.bn), stages = (k + 127) / 128;
    int64_t want = tiles > 0 ? s.blocks * FAST_LIN_PROCESSORS / tiles : 1;
    if (want > stages / 4)
        want = stages / 4;
    if (want > FAST_LIN_MOST_SLICES)
        want = FAST_LIN_MOST_SLICES;
    if (want < 1)
        want = 1;
    const int64_t each = (stages + want - 1) / want; /* no slice is empty */
    return (int32_t) ((stages + each - 1) / each);
}

template <class T> static int fast_lin_start(const struct lc_call *call, struct fast_lin_mma p)
{
    const auto kernel = fast_lin_mma_kernel<T>;
    const int64_t tiles_m = (p.rows + T::BM - 1) / T::BM, tiles_n = (p.n + T::BN - 1) / T::BN;
    const int64_t tiles = tiles_m * tiles_n * p.slices;
    if (tiles > INT32_MAX)
        return fast_fail(call, LC_UNSUPPORTED, "linear", "2^31 tiles or more");
    if (cudaFuncSetAttribute((const void *) kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, T::BYTES) != cudaSuccess) {
        cudaGetLastError(); /* not a fault of the device: it has less shared memory */
        return LC_UNSUPPORTED;
    }
    const int32_t stages = (p.groups + 3) / 4;
    p.tiles_m = (uint32_t) tiles_m, p.tiles = (uint32_t) tiles;
    p.stages = (stages + p.slices - 1) / p.slices;
    const int64_t most = p.only != nullptr ? (int64_t) FAST_LIN_PROCESSORS
                                           : tiles; /* a launch that mostly does nothing is kept small */
    return fast_launch(call, "linear", kernel, tiles < most ? tiles : most, T::THREADS, p, T::BYTES);
}

template <bool E2M1, bool F32> static int fast_lin_mma_run(const struct lc_call *call, const struct fast_lin_mma &p)
{
    const struct fast_lin_shape s = fast_lin_shape_of(p.rows);
    int status = LC_UNSUPPORTED;
    if (s.bm == 32)
        status = fast_lin_start<fast_lin_tile<32, 64, 1, 2, 2, 3, 4, E2M1, F32>>(call, p);
    else if (s.bm == 128)
        status = fast_lin_start<fast_lin_tile<128, 128, 2, 4, 1, 4, 1, E2M1, F32>>(call, p);
    if (status == LC_UNSUPPORTED && s.bm >= 64) /* 128 rows do not fit into 8.x */
        status = fast_lin_start<fast_lin_tile<64, 128, 1, 4, 1, 3, 2, E2M1, F32>>(call, p);
    if (status == LC_UNSUPPORTED) /* the smallest, wherever another does not fit */
        status = fast_lin_start<fast_lin_tile<16, 64, 1, 1, 4, 4, 4, E2M1, F32>>(call, p);
    return status;
}

static inline int fast_lin_mma_any(const struct lc_call *call, const struct fast_lin_mma &p, bool e2m1)
{
    const bool f32 = p.out_f32;
    if (e2m1)
        return f32 ? fast_lin_mma_run<true, true>(call, p) : fast_lin_mma_run<true, false>(call, p);
    return f32 ? fast_lin_mma_run<false, true>(call, p) : fast_lin_mma_run<false, false>(call, p);
}

#endif
