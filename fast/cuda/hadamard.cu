/* SPDX-License-Identifier: Apache-2.0 */
/* Hadamard transform of rows (HAD-1..6), BF16 or F32, f32 inside, one output rounding.
 *
 * The index of an element is cut into bits: the lowest 3 (BF16) or 2 (F32) are places in a 16-byte vector, the next 5 lanes, the
 * rest vectors of a lane and, above 512 or 1024, warps. A stage is a butterfly over one bit: in registers, by a shuffle, or across
 * shared memory. The stages, and their order, follow from n and dtype alone (DET-2), one addition each (HAD-3). Loads do not use
 * the non-coherent path: out may be x (HAD-4); whoever writes a row has read all of it.
 *
 * The dense variant (n + 16, LC_DENSE_HADAMARD) multiplies by H on tensor cores, whose signs are made in registers. */
#include "hadamard.cuh"

/* ---- n = VEC .. 512, F32 1024 ---- */

/* A warp takes 512 consecutive elements of several rows, or a row of 1024. Neighbouring lanes load neighbouring vectors, so every
 * access of a warp is 512 bytes of dense rows, and log2 n - 3 stages (BF16, at most 5) cost a shuffle an element: under 7, which
 * is what memory hides at 4 bytes an element. Nothing is shared and nobody waits; a lane has all its loads in flight at once. */
template <typename X, int LOG2N, bool FAST>
static __global__ void __launch_bounds__(FAST_HAD_THREADS) fast_had_warp(const __grid_constant__ struct fast_had p)
{
    constexpr int VEC = 16 / (int) sizeof(X), CHUNK = LOG2N <= 9 ? 512 : 1 << LOG2N, V = CHUNK / (32 * VEC);
    constexpr uint32_t ROW = (1u << LOG2N) / VEC; /* vectors of a row */
    const uint32_t lane = threadIdx.x & 31u, warp = blockIdx.x * FAST_HAD_WARPS + threadIdx.x / 32u;
    const uint32_t first = warp * (uint32_t) (CHUNK >> LOG2N);
    float v[V][VEC];
#pragma unroll
    for (int k = 0; k < V; k++) {
        const uint32_t i = (uint32_t) k * 32u + lane, row = first + i / ROW;
        if (row < p.rows) {
            fast_had_load<X, FAST>(fast_row(p.x, fast_at_row(row, p.m)) + i % ROW * 16u, v[k]);
        } else {
#pragma unroll
            for (int j = 0; j < VEC; j++)
                v[k][j] = 0.0f;
        }
    }
    fast_had_chunk<LOG2N>(v);
#pragma unroll
    for (int k = 0; k < V; k++) {
        const uint32_t i = (uint32_t) k * 32u + lane, row = first + i / ROW;
#pragma unroll
        for (int j = 0; j < VEC; j++)
            v[k][j] = __fmul_rn(v[k][j], p.scale);
        if (row < p.rows)
            fast_had_store<X, FAST>(fast_row(p.out, fast_at_row(row, p.m)) + i % ROW * 16u, v[k]);
    }
}

/* ---- n = 1024 (BF16) or 2048 .. 32768 ---- */

/* A row of W * CHUNK elements in W warps: log2 CHUNK stages in each warp as above, then one exchange through shared memory hands every
 * thread the W elements that differ in the upper bits, for neighbouring columns, so that it stores what it then has. Two shared
 * accesses an element are all that the longer row costs. blockDim = (32 W, rows of a block). */
template <typename X, int LOG2N, int LOG2_CHUNK, bool FAST>
static __global__ void __launch_bounds__(LOG2N - LOG2_CHUNK > 3 ? 32 << (LOG2N - LOG2_CHUNK) : FAST_HAD_THREADS)
    fast_had_block(const __grid_constant__ struct fast_had p)
{
    constexpr int CHUNK = 1 << LOG2_CHUNK, MINE = CHUNK / 32, VEC = 16 / (int) sizeof(X), V = MINE / VEC,
                  W = 1 << (LOG2N - LOG2_CHUNK);
    constexpr int C = MINE / W < VEC ? MINE / W : VEC, S = MINE / W / C; /* S times C neighbouring columns a thread */
    extern __shared__ float4 fast_had_shared[];
    float *const shared = (float *) fast_had_shared + ((size_t) threadIdx.y << LOG2N);
    const int lane = (int) threadIdx.x & 31, warp = (int) threadIdx.x / 32;
    const uint32_t row = blockIdx.x * blockDim.y + threadIdx.y;
    const bool there = row < p.rows;
    const struct fast_at at = fast_at_row(there ? row : 0u, p.m);
    {
        const char *const x = fast_row(p.x, at);
        float v[V][VEC];
#pragma unroll
        for (int k = 0; k < V; k++)
            fast_had_load<X, FAST>(x + (warp * (32 * V) + k * 32 + lane) * 16, v[k]);
        fast_had_chunk<LOG2_CHUNK>(v);
#pragma unroll
        for (int k = 0; k < V; k++)
#pragma unroll
            for (int h = 0; h < VEC / 4; h++) {
                const int e = (warp * (32 * V) + k * 32 + lane) * VEC + 4 * h;
                *(float4 *) (shared + fast_had_swizzle(e)) = make_float4(v[k][4 * h], v[k][4 * h + 1], v[k][4 * h + 2],
                                                                         v[k][4 * h + 3]);
            }
    }
    __syncthreads();
    char *const out = fast_row(p.out, at);
#pragma unroll
    for (int s = 0; s < S; s++) {
        const int i = (s * (32 * W) + (int) threadIdx.x) * C;
        float u[W][C];
#pragma unroll
        for (int w = 0; w < W; w++)
            fast_had_fetch(shared, w * CHUNK + i, u[w]);
#pragma unroll
        for (int c = 0; c < C; c++) {
            float column[W];
#pragma unroll
            for (int w = 0; w < W; w++)
                column[w] = u[w][c];
            fast_had_registers(column);
#pragma unroll
            for (int w = 0; w < W; w++)
                u[w][c] = __fmul_rn(column[w], p.scale);
        }
#pragma unroll
        for (int w = 0; w < W; w++)
            if (there)
                fast_had_store_some<X, FAST>(out + (w * CHUNK + i) * (int) sizeof(X), u[w]);
    }
}

/* ---- n = 2, 4: less than a vector ---- */

template <typename X, int N>
static __global__ void __launch_bounds__(FAST_HAD_THREADS) fast_had_short(const __grid_constant__ struct fast_had p)
{
    const uint32_t row = blockIdx.x * FAST_HAD_THREADS + threadIdx.x;
    if (row >= p.rows)
        return;
    const struct fast_at at = fast_at_row(row, p.m);
    float v[N];
#pragma unroll
    for (int j = 0; j < N; j++)
        v[j] = fast_had_value(((const volatile X *) fast_row(p.x, at))[j]);
    fast_had_registers(v);
#pragma unroll
    for (int j = 0; j < N; j++)
        fast_had_put((X *) fast_row(p.out, at) + j, __fmul_rn(v[j], p.scale));
}

/* ---- choosing ---- */

template <typename X, int LOG2N>
static int fast_had_launch_warp(const struct lc_call *call, bool aligned, const struct fast_had &p)
{
    const int64_t rows = LOG2N <= 9 ? (FAST_HAD_WARPS * 512) >> LOG2N : (int64_t) FAST_HAD_WARPS; /* of a block */
    return fast_launch(call, "hadamard", aligned ? fast_had_warp<X, LOG2N, true> : fast_had_warp<X, LOG2N, false>,
                       (p.rows + rows - 1) / rows, FAST_HAD_THREADS, p);
}

template <typename X, int LOG2N>
static int fast_had_launch_block(const struct lc_call *call, bool aligned, const struct fast_had &p)
{
    constexpr int log2_chunk = LOG2N <= 12 ? 9 : 10; /* shorter chunks keep more loads in flight; above, a block is full */
    constexpr int threads = 32 << (LOG2N - log2_chunk), rows = threads < FAST_HAD_THREADS ? FAST_HAD_THREADS / threads : 1;
    constexpr int bytes = (rows << LOG2N) * (int) sizeof(float);
    const auto kernel = aligned ? fast_had_block<X, LOG2N, log2_chunk, true> : fast_had_block<X, LOG2N, log2_chunk, false>;
    if (bytes > 48 << 10) {
        const cudaError_t e = cudaFuncSetAttribute((const void *) kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        if (e != cudaSuccess) {
            cudaGetLastError(); /* not a fault of the device: it has less shared memory */
            return fast_fail(call, LC_UNSUPPORTED, "hadamard", "n: too little shared memory for a row");
        }
    }
    return fast_launch(call, "hadamard", kernel, (p.rows + rows - 1) / rows, dim3((unsigned) threads, (unsigned) rows), p, bytes);
}

/* LOG2N: the first of the sizes that are still to be compared with n. */
template <typename X, int LOG2N> static int fast_had_launch(const struct lc_call *call, bool aligned, const struct fast_had &p)
{
    if constexpr (LOG2N < 15)
        if (p.n != 1 << LOG2N)
            return fast_had_launch<X, LOG2N + 1>(call, aligned, p);
    if constexpr (LOG2N <= 2)
        return fast_launch(call, "hadamard", fast_had_short<X, 1 << LOG2N>, (p.rows + FAST_HAD_THREADS - 1) / FAST_HAD_THREADS,
                           FAST_HAD_THREADS, p);
    else if constexpr (LOG2N <= (sizeof(X) == 2 ? 9 : 10))
        return fast_had_launch_warp<X, LOG2N>(call, aligned, p);
    else
        return fast_had_launch_block<X, LOG2N>(call, aligned, p);
}

template <int LOG2N> static int fast_had_launch_mma(const struct lc_call *call, bool aligned, const struct fast_had &p)
{
    if constexpr (LOG2N < 8)
        if (p.n != 1 << LOG2N)
            return fast_had_launch_mma<LOG2N + 1>(call, aligned, p);
    const int64_t rows = FAST_HAD_WARPS * 16;
    return fast_launch(call, "hadamard", aligned ? fast_had_mma<LOG2N, true> : fast_had_mma<LOG2N, false>,
                       (p.rows + rows - 1) / rows, FAST_HAD_THREADS, p);
}

static int fast_had_run(const struct lc_call *call, bool dense)
{
    union op_args args;
    int status = ref_hadamard_check(call, &args);
    if (status != LC_OK)
        return status;
    const struct hadamard_args &a = args.hadamard;
    const bool bf16 = a.t[HAD_X]->dtype == LC_BF16;
    if (dense && (!bf16 || a.n < 16 || a.n > 256))
        return fast_fail(call, LC_UNSUPPORTED, "hadamard", "the dense variant takes BF16 and n = 16..256");
    if (a.batch == 0 || a.m == 0)
        return LC_OK; /* nothing to write */
    struct fast_had p = {};
    p.x = fast_view_of(a.t[HAD_X]);
    p.out = fast_view_of(a.t[HAD_OUT]);
    p.rows = a.batch * a.m;
    p.m = fast_divider(p.rows < INT32_MAX ? a.m : 1); /* fast_launch refuses more rows */
    p.scale = (float) a.scale;
    p.n = (int32_t) a.n;
    status = fast_use_device(call, "hadamard");
    if (status != LC_OK)
        return status;
    const int64_t to = dense ? 4 : 16;
    const bool aligned = fast_aligned(p.x, to) && fast_aligned(p.out, to);
    if (dense)
        return fast_had_launch_mma<4>(call, aligned, p);
    return bf16 ? fast_had_launch<uint16_t, 1>(call, aligned, p) : fast_had_launch<float, 1>(call, aligned, p);
}

static int fast_had_butterflies(const struct lc_call *call)
{
    return fast_had_run(call, false);
}

static int fast_had_dense(const struct lc_call *call)
{
    return fast_had_run(call, true);
}

extern const struct lc_kernel fast_hadamard_kernels[];
const struct lc_kernel fast_hadamard_kernels[] = {
    /* op, variant, dialect, on_device, claims, run, workspace */
    { "hadamard", "butterflies", nullptr, 1, 0, fast_had_butterflies, nullptr },
    { "hadamard", "dense", nullptr, 1, LC_DENSE_HADAMARD, fast_had_dense, nullptr },
    { nullptr, nullptr, nullptr, 0, 0, nullptr, nullptr },
};
