/* SPDX-License-Identifier: Apache-2.0 */
/* cos/sin table of the rotary embedding, ROT-1..7 and YARN-1..5. A table is built once a process (ROT-5: rope_registry.h), so that
 * exact angles and plain stores come before speed. */
#include "common.cuh"

struct fast_rope {
    float *inv_freq; /* NULL: not asked for */
    void *table;
    int64_t rows;
    int n, bf16;
    int scaling, first, every;
    float rotary_dim, base, factor, ext, low, span, mscale;
};

enum { FAST_ROPE_THREADS = 256, FAST_ROPE_ROWS = 128 }; /* rows a block */

/* YARN-2, YARN-3: every operation rounds to f32 by name, so that none is contracted. */
static __device__ __forceinline__ float fast_rope_yarn(const struct fast_rope &r, int pair, float p)
{
    const float slope = __fdiv_rn(__fsub_rn((float) pair, r.low), r.span);
    const float ramp = slope < 0.0f ? 0.0f : slope > 1.0f ? 1.0f : slope;
    const float lambda = __fmul_rn(__fsub_rn(1.0f, ramp), r.ext);
    const float extrapolated = __fdiv_rn(1.0f, p), interpolated = __fdiv_rn(1.0f, __fmul_rn(r.factor, p));
    return __fadd_rn(__fmul_rn(interpolated, __fsub_rn(1.0f, lambda)), __fmul_rn(extrapolated, lambda));
}

static __device__ __forceinline__ float fast_rope_frequency(const struct fast_rope &r, int k)
{
    const int pair = r.first + k * r.every; /* YARN-5 */
    const float exponent = __fdiv_rn((float) (2 * pair), r.rotary_dim);
    const float p = (float) pow((double) r.base, (double) exponent); /* ROT-1: a double power, one rounding to f32 */
    if (r.scaling == ROPE_YARN)
        return fast_rope_yarn(r, pair, p);
    return __fdiv_rn(1.0f, r.scaling == ROPE_LINEAR ? __fmul_rn(r.factor, p) : p); /* ROT-7 */
}

/* FMT-1, for chips of any age; v is finite. */
static __device__ __forceinline__ uint16_t fast_rope_bf16(float v)
{
    const uint32_t b = __float_as_uint(v);
    return (uint16_t) ((b + 0x7fffu + (b >> 16 & 1u)) >> 16);
}

template <bool F64> static __device__ __forceinline__ void fast_rope_circle(float angle, float *c, float *s)
{
    if (F64) {
        double cd, sd;
        sincos((double) angle, &sd, &cd);
        *c = (float) cd, *s = (float) sd;
    } else {
        sincosf(angle, s, c); /* all of f32 is reduced in full: no fast-math in this build (P14) */
    }
}

/* A block makes every frequency once, in shared memory, and then its rows; lanes go along a row, so that stores coalesce. */
template <bool F64>
static __global__ void __launch_bounds__(FAST_ROPE_THREADS) fast_rope_rows(const __grid_constant__ struct fast_rope r)
{
    __shared__ float inv_freq[REF_ROPE_MOST];
    for (int k = threadIdx.x; k < r.n; k += FAST_ROPE_THREADS) {
        inv_freq[k] = fast_rope_frequency(r, k);
        if (r.inv_freq && blockIdx.x == 0)
            r.inv_freq[k] = inv_freq[k];
    }
    __syncthreads();
    const int64_t begin = (int64_t) blockIdx.x * FAST_ROPE_ROWS;
    const int rows = (int) (r.rows - begin < FAST_ROPE_ROWS ? r.rows - begin : FAST_ROPE_ROWS);
    for (int e = threadIdx.x; e < rows * r.n; e += FAST_ROPE_THREADS) {
        const int64_t row = begin + e / r.n;
        const int k = e % r.n;
        float c, s;
        fast_rope_circle<F64>(__fmul_rn(__ll2float_rn(row), inv_freq[k]), &c, &s); /* ROT-2, ROT-3 */
        c = __fmul_rn(c, r.mscale), s = __fmul_rn(s, r.mscale);
        const int64_t at = row * 2 * r.n + k; /* ROT-4 */
        if (r.bf16) {
            ((uint16_t *) r.table)[at] = fast_rope_bf16(c); /* ROT-6 */
            ((uint16_t *) r.table)[at + r.n] = fast_rope_bf16(s);
        } else {
            ((float *) r.table)[at] = c;
            ((float *) r.table)[at + r.n] = s;
        }
    }
}

template <bool F64> static int fast_rope_run(const struct lc_call *call)
{
    union op_args args;
    int status = ref_rope_table_check(call, &args);
    if (status != LC_OK)
        return status;
    status = fast_use_device(call, "rope_table");
    if (status != LC_OK)
        return status;
    const struct rope_table_args &a = args.rope_table;
    struct fast_rope r = {};
    r.inv_freq = a.t[ROT_INV_FREQ] ? (float *) a.t[ROT_INV_FREQ]->data : nullptr;
    r.table = a.t[ROT_TABLE]->data;
    r.rows = a.rows, r.n = (int) a.n, r.bf16 = a.t[ROT_TABLE]->dtype == LC_BF16;
    r.scaling = (int) a.scaling, r.first = (int) a.first;
    r.every = a.every < REF_ROPE_MOST ? (int) a.every : REF_ROPE_MOST; /* beyond, one frequency is left */
    r.rotary_dim = (float) a.rotary_dim, r.base = (float) a.base, r.factor = (float) a.factor;
    r.ext = (float) a.extrapolation_factor, r.mscale = (float) a.mscale;
    r.low = (float) a.low, r.span = (float) (a.high - a.low);
    return fast_launch(call, "rope_table", fast_rope_rows<F64>, (a.rows + FAST_ROPE_ROWS - 1) / FAST_ROPE_ROWS, FAST_ROPE_THREADS,
                       r);
}

extern const struct lc_kernel fast_rope_table_kernels[];
const struct lc_kernel fast_rope_table_kernels[] = {
    /* op, variant, dialect, on_device, claims, run, workspace */
    { "rope_table", "f32", nullptr, 1, 0, fast_rope_run<false>, nullptr }, /* sincosf: up to 2 ulps off */
    { "rope_table", "f64", nullptr, 1, 0, fast_rope_run<true>, nullptr },  /* double sine and cosine: nearly always nominal */
    { nullptr, nullptr, nullptr, 0, 0, nullptr, nullptr },
};
