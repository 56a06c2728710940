/* SPDX-License-Identifier: Apache-2.0 */
/* Residual add, RMSNorm and the E4M3 cast in one pass, RMS-1..12 with CAST and SF.
 *
 * Which thread holds which element, and the order of every sum, follow from d alone (fast_rms_shape), never from M, the row, an
 * address or a stride: the load paths differ, the arithmetic does not (DET-2).
 *
 * Roundings that a square passes on its way into s (RMS-3 wants at most 15). Squares of BF16 are exact in f32. In a vector of 8:
 * 3 (pairs by fma, then a tree); over a thread's V vectors: log2 V; over a warp: 5; over W warps: ceil(log2 W); the division: 1.
 *     d <=   256  V = 1  one warp      3 + 0 + 5 + 0 + 1 =  9
 *     d <=  4096  V = 2  W <= 8        3 + 1 + 5 + 3 + 1 = 13
 *     d <= 16384  V = 4  W <= 16       3 + 2 + 5 + 4 + 1 = 15   (d = 7168: 224 threads, W = 7, 14)
 *     above       looping kernel: the sum and the division in f64, one rounding to f32. */
#include "scale.cuh"

struct fast_rms {
    struct fast_view x, residual, out, bf16, residual_out;
    const char *weight;
    int64_t rows, d;
    struct fast_div m;
    float eps, out_scale;
    bool weight_f32, out_f32;
    struct fast_sf sf;
};

enum { FAST_RMS_THREADS = 512, FAST_RMS_WARPS = FAST_RMS_THREADS / 32, FAST_RMS_REGISTER_D = 16384 };

/* RMS-1: the BF16 add, one rounding; before 9.0 as an f32 add and a rounding, which is the same. */
static __device__ __forceinline__ uint32_t fast_add_pair(uint32_t a, uint32_t b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    uint32_t r;
    asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
#else
    return fast_bf16_pair(__fadd_rn(fast_bf16_lo(a), fast_bf16_lo(b)), __fadd_rn(fast_bf16_hi(a), fast_bf16_hi(b)));
#endif
}

static __device__ __forceinline__ uint4 fast_add(uint4 a, uint4 b)
{
    return make_uint4(fast_add_pair(a.x, b.x), fast_add_pair(a.y, b.y), fast_add_pair(a.z, b.z), fast_add_pair(a.w, b.w));
}

/* Three roundings a square: fma on an exact square, then a tree of two levels. */
static __device__ __forceinline__ float fast_squares(uint4 r)
{
    float v[8], s[4];
    fast_bf16_unpack(r, v);
#pragma unroll
    for (int j = 0; j < 4; j++)
        s[j] = __fmaf_rn(v[2 * j + 1], v[2 * j + 1], __fmul_rn(v[2 * j], v[2 * j]));
    return __fadd_rn(__fadd_rn(s[0], s[1]), __fadd_rn(s[2], s[3]));
}

/* RMS-5: left to right, three roundings, nothing rounded to BF16 on the way. */
static __device__ __forceinline__ void fast_scale_row(uint4 r, float rstd, const float w[8], float out_scale, float y[8])
{
    fast_bf16_unpack(r, y);
#pragma unroll
    for (int j = 0; j < 8; j++)
        y[j] = __fmul_rn(__fmul_rn(__fmul_rn(y[j], rstd), w[j]), out_scale);
}

/* The same in a dialect (RMS-13), y holding r: gemma's weight is fl(1 + w), hf rounds to BF16 before the weight. */
template <int DIALECT>
static __device__ __forceinline__ void fast_scale_row(float rstd, const float w[8], float out_scale, float y[8])
{
#pragma unroll
    for (int j = 0; j < 8; j++)
        y[j] = __fmul_rn(y[j], rstd);
    if (DIALECT == RMS_HF)
        fast_bf16_unpack(fast_bf16_pack(y), y);
#pragma unroll
    for (int j = 0; j < 8; j++)
        y[j] = __fmul_rn(__fmul_rn(y[j], DIALECT == RMS_GEMMA ? __fadd_rn(1.0f, w[j]) : w[j]), out_scale);
}

/* The weight stays in L1, one copy for the rows of a multiprocessor. */
template <bool FAST> static __device__ __forceinline__ uint4 fast_weight_bf16(const char *w, int c, int d)
{
    if (FAST)
        return c < d ? __ldg((const uint4 *) (w + 2 * (int64_t) c)) : make_uint4(0, 0, 0, 0);
    return fast_load_bf16<false>(w, c, d);
}

template <bool FAST> static __device__ __forceinline__ void fast_weight_f32(const char *w, int c, int d, float v[8])
{
    if (FAST) {
        if (c >= d)
            c = 0; /* any eight weights: the columns are stored nowhere */
        const float4 a = __ldg((const float4 *) w + c / 4), b = __ldg((const float4 *) w + c / 4 + 1);
        v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w, v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
    } else {
        fast_load_f32<false>(w, c, d, v);
    }
}

/* Sum over the threads of a row (blockDim.x of them), the same bits in each. Butterflies: all lanes add the same pairs. */
static __device__ __forceinline__ float fast_row_sum(float s, float part[FAST_RMS_WARPS])
{
    const int lane = (int) threadIdx.x & 31, warps = (int) blockDim.x / 32, first = (int) threadIdx.y * warps;
#pragma unroll
    for (int o = 16; o > 0; o >>= 1)
        s = __fadd_rn(s, __shfl_xor_sync(FAST_WARP, s, o));
    if (warps == 1)
        return s;
    if (lane == 0)
        part[first + (int) threadIdx.x / 32] = s;
    __syncthreads();
    s = (lane & 15) < warps ? part[first + (lane & 15)] : 0.0f; /* an added zero rounds nothing */
#pragma unroll
    for (int o = 8; o > 0; o >>= 1)
        s = __fadd_rn(s, __shfl_xor_sync(FAST_WARP, s, o));
    return s;
}

static __device__ __forceinline__ float fast_row_max(float s, float part[FAST_RMS_WARPS])
{
    const int lane = (int) threadIdx.x & 31, warps = (int) blockDim.x / 32, first = (int) threadIdx.y * warps;
#pragma unroll
    for (int o = 16; o > 0; o >>= 1)
        s = fmaxf(s, __shfl_xor_sync(FAST_WARP, s, o));
    if (lane == 0)
        part[first + (int) threadIdx.x / 32] = s;
    __syncthreads();
    for (int j = 0; j < warps; j++)
        s = fmaxf(s, part[first + j]);
    return s;
}

/* The row lives in registers as packed BF16 (r is BF16 after RMS-1, so nothing is lost): read once, all of a thread's loads in
 * flight together, and 16 registers for 32 elements, so that several rows share a multiprocessor and hide each other's sums.
 * blockDim = (threads of a row, rows of a block). GROUP 0: no cast. FAST: every row 16-byte aligned, d % 8 == 0. */
template <int V, int GROUP, bool FAST, bool W32>
static __global__ void __launch_bounds__(FAST_RMS_THREADS, 2) fast_rmsnorm_row(const __grid_constant__ struct fast_rms p)
{
    __shared__ float part[2][FAST_RMS_WARPS];
    const uint32_t row = V == 4 ? blockIdx.x : blockIdx.x * blockDim.y + threadIdx.y; /* long rows: one a block */
    const struct fast_at at = fast_at_row(row, p.m);
    const int d = V == 4 || row < p.rows ? (int) p.d : 0; /* a row past the end takes part with no columns */
    const int c0 = (int) threadIdx.x * FAST_VECTOR, step = (int) blockDim.x * FAST_VECTOR;
    char *const x = fast_row(p.x, at), *const out = fast_row(p.out, at), *const bf16 = fast_row(p.bf16, at);
    uint4 r[V], w[V];

#pragma unroll
    for (int k = 0; k < V; k++)
        r[k] = fast_load_bf16<FAST>(x, c0 + k * step, d);
    if (p.residual.data != nullptr) {
        char *const residual = fast_row(p.residual, at), *const residual_out = fast_row(p.residual_out, at);
        uint4 add[V];
#pragma unroll
        for (int k = 0; k < V; k++)
            add[k] = fast_load_bf16<FAST>(residual, c0 + k * step, d);
#pragma unroll
        for (int k = 0; k < V; k++) {
            r[k] = fast_add(r[k], add[k]);
            fast_store_bf16<FAST>(residual_out, c0 + k * step, d, r[k]); /* RMS-2 */
        }
    }
    if (!W32) {
#pragma unroll
        for (int k = 0; k < V; k++)
            w[k] = fast_weight_bf16<FAST>(p.weight, c0 + k * step, d);
    }

    float sum = fast_squares(r[0]);
    if (V == 2)
        sum = __fadd_rn(sum, fast_squares(r[V - 1]));
    if (V == 4)
        sum = __fadd_rn(__fadd_rn(sum, fast_squares(r[1 % V])), __fadd_rn(fast_squares(r[2 % V]), fast_squares(r[V - 1])));
    sum = fast_row_sum(sum, part[0]);
    const float rstd = __frsqrt_rn(__fadd_rn(__fdiv_rn(sum, (float) p.d), p.eps)); /* RMS-4, correctly rounded */

    uint32_t bits[V];
    int cols[V];
#pragma unroll
    for (int k = 0; k < V; k++) {
        const int c = c0 + k * step;
        float wf[8], y[8];
        if (W32)
            fast_weight_f32<FAST>(p.weight, c, d, wf);
        else
            fast_bf16_unpack(w[k], wf);
        fast_scale_row(r[k], rstd, wf, p.out_scale, y);
        r[k] = fast_bf16_pack(y); /* y_bf of RMS-6 and RMS-7 */
        cols[k] = c;
        if (GROUP == 0 && p.out_f32)
            fast_store_f32<FAST>(out, c, d, y);
        if (GROUP == 0 && !p.out_f32)
            fast_store_bf16<FAST>(out, c, d, r[k]);
        if (p.bf16.data != nullptr)
            fast_store_bf16<FAST>(bf16, c, d, r[k]);
        if (GROUP == 32) {
            fast_bf16_unpack(r[k], y);
            fast_store_codes<FAST>(out, c, d, fast_cast_vector<32>(p.sf, y, &bits[k]));
        }
    }
    const auto same_row = [&](int) { return at; };
    if (GROUP == 32)
        fast_put_scales<32, V>(p.sf, same_row, cols, d, bits);
    if (GROUP != FAST_ANY_GROUP)
        return;

    float v[8];
    if (p.sf.log2_group >= 0) {
#pragma unroll
        for (int k = 0; k < V; k++) {
            fast_bf16_unpack(r[k], v);
            fast_store_codes<false>(out, cols[k], d, fast_cast_vector<FAST_ANY_GROUP>(p.sf, v, &bits[k]));
        }
        fast_put_scales<FAST_ANY_GROUP, V>(p.sf, same_row, cols, d, bits);
    } else { /* the row is one group */
        float amax = 0.0f;
#pragma unroll
        for (int k = 0; k < V; k++) {
            fast_bf16_unpack(r[k], v);
            amax = fmaxf(amax, fast_amax(v));
        }
        const struct fast_scale f = fast_scale_of(fast_row_max(amax, part[1]), p.sf.round);
        if (threadIdx.x == 0 && d > 0)
            fast_put_row_scale(p.sf, at, f.bits);
#pragma unroll
        for (int k = 0; k < V; k++) {
            fast_bf16_unpack(r[k], v);
            fast_store_codes<false>(out, cols[k], d, fast_codes(v, f.mul));
        }
    }
}

/* Rows too long for registers: a block a row, which it reads twice, or three times where the row is one scale group (from L2
 * then; x and residual still hold what they held, RMS-2). f64 sums keep RMS-3 at any d. */
template <bool CAST, int DIALECT>
static __global__ void __launch_bounds__(FAST_RMS_THREADS) fast_rmsnorm_loop(const __grid_constant__ struct fast_rms p)
{
    __shared__ double sums[FAST_RMS_WARPS];
    __shared__ float part[FAST_RMS_WARPS];
    const int64_t d = p.d, c0 = threadIdx.x * FAST_VECTOR;
    const struct fast_at at = fast_at_row(blockIdx.x, p.m);
    const auto load = [&](int64_t c, float r[8]) {
        const uint4 x = fast_load_bf16<false>(fast_row(p.x, at), c, d);
        if (p.residual.data == nullptr)
            return fast_bf16_unpack(x, r);
        const uint4 add = fast_load_bf16<false>(fast_row(p.residual, at), c, d);
        if (DIALECT != RMS_F32RES)
            return fast_bf16_unpack(fast_add(x, add), r);
        float b[8];
        fast_bf16_unpack(x, r);
        fast_bf16_unpack(add, b);
#pragma unroll
        for (int j = 0; j < 8; j++)
            r[j] = __fadd_rn(r[j], b[j]);
    };

    double sum = 0.0;
    for (int64_t c = c0; c < d; c += FAST_RMS_THREADS * FAST_VECTOR) {
        float v[8];
        load(c, v);
        if (p.residual.data != nullptr)
            fast_store_bf16<false>(fast_row(p.residual_out, at), c, d, fast_bf16_pack(v));
#pragma unroll
        for (int j = 0; j < 8; j++)
            sum = __fma_rn((double) v[j], (double) v[j], sum);
    }
#pragma unroll
    for (int o = 16; o > 0; o >>= 1)
        sum = __dadd_rn(sum, __shfl_xor_sync(FAST_WARP, sum, o));
    if ((threadIdx.x & 31) == 0)
        sums[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0.0;
    for (int j = 0; j < FAST_RMS_WARPS; j++)
        sum = __dadd_rn(sum, sums[j]);
    const float rstd = __frsqrt_rn(__fadd_rn((float) __ddiv_rn(sum, (double) d), p.eps));

    const auto scaled = [&](int64_t c, float y[8]) {
        float w[8];
        if (p.weight_f32)
            fast_load_f32<false>(p.weight, c, d, w);
        else
            fast_bf16_unpack(fast_load_bf16<false>(p.weight, c, d), w);
        load(c, y);
        fast_scale_row<DIALECT>(rstd, w, p.out_scale, y);
    };
    const auto before_cast = [&](float y[8]) { /* RMS-6 */
                                               if (DIALECT != RMS_F32CAST)
                                                   fast_bf16_unpack(fast_bf16_pack(y), y);
    };
    struct fast_scale f = {};
    if (CAST && p.sf.log2_group < 0) {
        float amax = 0.0f;
        for (int64_t c = c0; c < d; c += FAST_RMS_THREADS * FAST_VECTOR) {
            float y[8];
            scaled(c, y);
            before_cast(y);
            amax = fmaxf(amax, fast_amax(y));
        }
        f = fast_scale_of(fast_row_max(amax, part), p.sf.round);
        if (threadIdx.x == 0)
            fast_put_row_scale(p.sf, at, f.bits);
    }
    for (int64_t start = 0; start < d; start += FAST_RMS_THREADS * FAST_VECTOR) { /* every lane stays for the shuffles */
        const int64_t c = start + c0;
        float y[8];
        scaled(c, y);
        const uint4 y_bf = fast_bf16_pack(y);
        if (p.bf16.data != nullptr)
            fast_store_bf16<false>(fast_row(p.bf16, at), c, d, y_bf);
        if (CAST) {
            before_cast(y);
            uint32_t bits = 0;
            const uint2 q = p.sf.log2_group < 0 ? fast_codes(y, f.mul) : fast_cast_vector<FAST_ANY_GROUP>(p.sf, y, &bits);
            fast_store_codes<false>(fast_row(p.out, at), c, d, q);
            if (p.sf.log2_group >= 0)
                fast_put_scales<FAST_ANY_GROUP, 1>(
                    p.sf, [&](int) { return at; }, &c, d, &bits);
        } else if (p.out_f32) {
            fast_store_f32<false>(fast_row(p.out, at), c, d, y);
        } else {
            fast_store_bf16<false>(fast_row(p.out, at), c, d, y_bf);
        }
    }
}

/* ---- choosing ---- */

typedef void (*fast_rms_kernel)(struct fast_rms);

/* The whole of the element-to-thread mapping (DET-2): vectors a thread and threads a row, from d. */
struct fast_rms_shape {
    int vectors, threads;
};

static struct fast_rms_shape fast_rms_shape_of(int64_t d)
{
    const int v = d <= 256 ? 1 : d <= 4096 ? 2 : 4;
    const int64_t row_vectors = (d + FAST_VECTOR - 1) / FAST_VECTOR;
    return { v, 32 * (int) ((row_vectors + 32 * v - 1) / (32 * v)) };
}

template <int V> static fast_rms_kernel fast_rms_pick(bool cast, bool plain_group, bool aligned, bool w32)
{
    if (aligned && !cast)
        return w32 ? fast_rmsnorm_row<V, 0, true, true> : fast_rmsnorm_row<V, 0, true, false>;
    if (aligned && plain_group)
        return w32 ? fast_rmsnorm_row<V, 32, true, true> : fast_rmsnorm_row<V, 32, true, false>;
    if (!cast)
        return w32 ? fast_rmsnorm_row<V, 0, false, true> : fast_rmsnorm_row<V, 0, false, false>;
    return w32 ? fast_rmsnorm_row<V, FAST_ANY_GROUP, false, true> : fast_rmsnorm_row<V, FAST_ANY_GROUP, false, false>;
}

template <int DIALECT> static int fast_rmsnorm_launch(const struct lc_call *call, bool cast, const struct fast_rms &p)
{
    if (DIALECT != RMS_USUAL || p.d > FAST_RMS_REGISTER_D) /* dialects are no hot path: one kernel for all of them */
        return fast_launch(call, "rmsnorm", cast ? fast_rmsnorm_loop<true, DIALECT> : fast_rmsnorm_loop<false, DIALECT>, p.rows,
                           FAST_RMS_THREADS, p);
    const bool aligned = p.d % FAST_VECTOR == 0 && fast_aligned(p.x, 16) && fast_aligned(p.residual, 16) &&
                         fast_aligned(p.residual_out, 16) && fast_aligned(p.bf16, 16) && fast_aligned(p.out, cast ? 8 : 16) &&
                         (intptr_t) p.weight % 16 == 0;
    const bool plain_group = p.sf.group == 32 && p.sf.round;
    const struct fast_rms_shape shape = fast_rms_shape_of(p.d);
    const fast_rms_kernel kernel = shape.vectors == 1   ? fast_rms_pick<1>(cast, plain_group, aligned, p.weight_f32)
                                   : shape.vectors == 2 ? fast_rms_pick<2>(cast, plain_group, aligned, p.weight_f32)
                                                        : fast_rms_pick<4>(cast, plain_group, aligned, p.weight_f32);
    const bool share = p.rows >= 2048 && shape.vectors < 4 && shape.threads <= 128; /* short rows share a block */
    const int rows = share ? 256 / shape.threads : 1;
    return fast_launch(call, "rmsnorm", kernel, (p.rows + rows - 1) / rows, dim3((unsigned) shape.threads, (unsigned) rows), p);
}

template <int DIALECT> static int fast_rmsnorm_run(const struct lc_call *call)
{
    union op_args args;
    int status = ref_rmsnorm_check(call, &args);
    if (status != LC_OK)
        return status;
    const struct rmsnorm_args &a = args.rmsnorm;
    if (a.batch == 0 || a.m == 0)
        return LC_OK; /* RMS-9 */
    if (a.t[RMS_X]->dtype != LC_BF16)
        return fast_fail(call, LC_UNSUPPORTED, "rmsnorm", "x is not BF16");
    struct fast_rms p = {};
    p.x = fast_view_of(a.t[RMS_X]);
    p.residual = fast_view_of(a.t[RMS_RESIDUAL]);
    p.out = fast_view_of(a.t[RMS_OUT]);
    p.bf16 = fast_view_of(a.t[RMS_BF16]);
    if (p.residual.data != nullptr)
        p.residual_out = fast_view_of(a.t[RMS_RESIDUAL_OUT]);
    p.weight = (const char *) a.t[RMS_WEIGHT]->data;
    p.weight_f32 = a.t[RMS_WEIGHT]->dtype == LC_F32;
    p.out_f32 = a.t[RMS_OUT]->dtype == LC_F32;
    if (!a.cast && !p.out_f32 && p.bf16.data == p.out.data)
        p.bf16.data = nullptr; /* RMS-7: the same storage */
    p.rows = a.batch * a.m, p.d = a.d;
    p.m = fast_divider(p.rows < INT32_MAX ? a.m : 1); /* fast_launch refuses more rows */
    p.eps = (float) a.eps, p.out_scale = (float) a.out_scale;
    if (a.cast) {
        p.sf = fast_sf_of(a.sf, a.m, a.t[RMS_SF], a.t[RMS_EXTRA_SF]);
        if (p.sf.log2_group < 0 && a.sf.groups != 1)
            return fast_fail(call, LC_UNSUPPORTED, "rmsnorm", "group size");
    }
    status = fast_use_device(call, "rmsnorm");
    return status != LC_OK ? status : fast_rmsnorm_launch<DIALECT>(call, a.cast, p);
}

extern const struct lc_kernel fast_rmsnorm_kernels[];
const struct lc_kernel fast_rmsnorm_kernels[] = {
    /* op, variant, dialect, on_device, claims, run, workspace */
    { "rmsnorm", "fused", nullptr, 1, 0, fast_rmsnorm_run<RMS_USUAL>, nullptr },
    { "rmsnorm", "loop-hf", "hf", 1, 0, fast_rmsnorm_run<RMS_HF>, nullptr },
    { "rmsnorm", "loop-f32res", "f32res", 1, 0, fast_rmsnorm_run<RMS_F32RES>, nullptr },
    { "rmsnorm", "loop-gemma", "gemma", 1, 0, fast_rmsnorm_run<RMS_GEMMA>, nullptr },
    { "rmsnorm", "loop-f32cast", "f32cast", 1, 0, fast_rmsnorm_run<RMS_F32CAST>, nullptr },
    { nullptr, nullptr, nullptr, 0, 0, nullptr, nullptr },
};
