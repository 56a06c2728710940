/* SPDX-License-Identifier: Apache-2.0 */
/* ROT-1..7, YARN-2..5 for mutants_cuda.cu: a thread makes one pair of the table, with its frequency. */

struct rope_table_job {
    float *inv_freq; /* NULL: not asked for */
    void *table;
    int64_t rows, n, first, every;
    float rotary_dim, base, factor, ext, low, span, mscale;
    int scaling;
    bool bf16;
    mutant mut;
};

__device__ float rope_yarn(const struct rope_table_job &j, int64_t pair, float p) /* YARN-2, YARN-3 */
{
    const float slope = __fdiv_rn(__fsub_rn((float) pair, j.low), j.span);
    float ramp = slope < 0 ? 0 : slope > 1 ? 1 : slope;
    if (j.mut == MUT_cu_rot_ramp_unclamped)
        ramp = slope;
    const float lambda = __fmul_rn(__fsub_rn(1, ramp), j.ext);
    const float extrapolated = __fdiv_rn(1, p), interpolated = __fdiv_rn(1, __fmul_rn(j.factor, p));
    const float part = __fmul_rn(interpolated, __fsub_rn(1, lambda));
    if (j.mut == MUT_cu_rot_mix_fma)
        return __fmaf_rn(extrapolated, lambda, part);
    return __fadd_rn(part, __fmul_rn(extrapolated, lambda));
}

__device__ float rope_frequency(const struct rope_table_job &j, int64_t k)
{
    const int64_t pair = (j.mut == MUT_cu_rot_prune_from_zero ? 0 : j.first) + k * j.every;
    const float exponent = __fdiv_rn((float) (2 * pair), j.rotary_dim);
    float p = (float) pow((double) j.base, (double) exponent);
    if (j.mut == MUT_cu_rot_power_exp2f)
        p = exp2f(__fmul_rn(exponent, log2f(j.base)));
    if (j.scaling == ROPE_YARN)
        return rope_yarn(j, pair, p);
    return __fdiv_rn(1, j.scaling == ROPE_LINEAR && j.mut != MUT_cu_rot_linear_ignored ? __fmul_rn(j.factor, p) : p);
}

__device__ void rope_store(const struct rope_table_job &j, int64_t at, float v)
{
    if (j.bf16)
        ((uint16_t *) j.table)[at] = to_bf16(v, j.mut == MUT_cu_rot_bf16_truncate);
    else
        ((float *) j.table)[at] = v;
}

__global__ void rope_table_kernel(const struct rope_table_job j)
{
    const int64_t e = (int64_t) blockIdx.x * THREADS + threadIdx.x, row = e / j.n, k = e % j.n;
    const int64_t rows = j.rows - (j.mut == MUT_cu_rot_row_short) + (j.mut == MUT_cu_rot_row_long);
    if (row >= rows)
        return;
    const float inv_freq = rope_frequency(j, k);
    if (j.inv_freq != nullptr && row == 0 && j.mut != MUT_cu_rot_inv_freq_unwritten)
        j.inv_freq[k] = inv_freq;
    float position = (float) row, c, s;
    if (j.mut == MUT_cu_rot_position_bf16)
        position = from_bf16(to_bf16(position, false));
    const float angle = __fmul_rn(position, inv_freq);
    double cd, sd;
    sincos(j.mut == MUT_cu_rot_angle_f64 ? (double) position * (double) inv_freq : (double) angle, &sd, &cd);
    c = (float) cd, s = (float) sd;
    if (j.mut == MUT_cu_rot_trig_fast)
        __sincosf(angle, &s, &c);
    if (j.mut != MUT_cu_rot_mscale_ignored)
        c = __fmul_rn(c, j.mscale), s = __fmul_rn(s, j.mscale);
    const bool mixed = j.mut == MUT_cu_rot_interleaved;
    rope_store(j, row * 2 * j.n + (mixed ? 2 * k : k), c);
    rope_store(j, row * 2 * j.n + (mixed ? 2 * k + 1 : j.n + k), s);
}

int run_rope_table(const struct lc_call *call, mutant mut)
{
    union op_args args;
    const int status = ref_rope_table_check(call, &args);
    if (status != LC_OK)
        return status;
    const struct rope_table_args &a = args.rope_table;
    struct rope_table_job j = {};
    j.inv_freq = a.t[ROT_INV_FREQ] ? (float *) a.t[ROT_INV_FREQ]->data : nullptr;
    j.table = a.t[ROT_TABLE]->data;
    j.bf16 = a.t[ROT_TABLE]->dtype == LC_BF16;
    j.rows = a.rows, j.n = a.n, j.first = a.first, j.every = a.every;
    j.scaling = (int) a.scaling;
    j.rotary_dim = (float) a.rotary_dim, j.base = (float) a.base, j.factor = (float) a.factor;
    j.ext = (float) a.extrapolation_factor, j.mscale = (float) a.mscale;
    j.low = (float) a.low, j.span = (float) (a.high - a.low);
    j.mut = mut;
    const int64_t blocks = ((a.rows + 1) * a.n + THREADS - 1) / THREADS;
    if (blocks > 0x7fffffff)
        return LC_UNSUPPORTED;
    rope_table_kernel<<<(unsigned) blocks, THREADS, 0, (cudaStream_t) call->stream>>>(j);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess && call->msg_size > 0)
        snprintf(call->msg, call->msg_size, "launch: %s", cudaGetErrorString(error));
    return error == cudaSuccess ? LC_OK : LC_FAILED;
}
