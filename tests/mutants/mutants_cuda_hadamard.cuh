/* SPDX-License-Identifier: Apache-2.0 */
/* HAD-1..6 for mutants_cuda.cu: a block of 256 threads a row, the row in shared memory, a barrier a stage. n <= 8192. */

struct had_job {
    struct view x, out;
    int64_t m, n;
    float scale;
    bool f32;
    mutant mut;
};

__global__ void hadamard_kernel(const struct had_job j)
{
    __shared__ float v[MOST];
    const int64_t b = (int64_t) blockIdx.x / j.m, i = (int64_t) blockIdx.x % j.m;
    for (int64_t c = threadIdx.x; c < j.n; c += THREADS) {
        v[c] = j.f32 ? row_of<float>(j.x, b, i, j.mut)[c] : from_bf16(row_of<uint16_t>(j.x, b, i, j.mut)[c]);
        if (j.mut == MUT_cu_had_nan_swallowed && isnan(v[c]))
            v[c] = 0;
        if (j.mut == MUT_cu_had_drops_last && c == j.n - 1)
            v[c] = 0;
    }
    __syncthreads();
    for (int64_t bit = 1; bit < j.n; bit *= 2) {
        if (j.mut == MUT_cu_had_no_barrier && bit == 64 && threadIdx.x >= 32)
            __nanosleep(50000); /* the slow warps that the missing barrier needs */
        for (int64_t p = threadIdx.x; p < j.n / 2; p += THREADS) {
            const int64_t low = p / bit * 2 * bit + p % bit;
            int64_t high = low + bit;
            if (j.mut == MUT_cu_had_partner && bit == 16 && low % 32 == 5)
                high ^= 1;
            const float a = v[low], c = v[high];
            v[low] = __fadd_rn(a, c);
            v[high] = __fsub_rn(a, c);
            if (j.mut == MUT_cu_had_bf16_stages) {
                v[low] = from_bf16(to_bf16(v[low], false));
                v[high] = from_bf16(to_bf16(v[high], false));
            }
        }
        if (j.mut != MUT_cu_had_no_barrier || bit != 64)
            __syncthreads();
    }
    int64_t n = j.n;
    if (j.mut == MUT_cu_had_tail_unwritten)
        n -= 8;
    for (int64_t c = threadIdx.x; c < n; c += THREADS) {
        const float y = __fmul_rn(v[c], j.scale);
        if (j.f32)
            row_of<float>(j.out, b, i, j.mut)[c] = y;
        else
            row_of<uint16_t>(j.out, b, i, j.mut)[c] = to_bf16(y, j.mut == MUT_cu_had_out_truncate);
    }
    if (j.mut == MUT_cu_had_stray_gap && threadIdx.x == 0 && !j.f32)
        row_of<uint16_t>(j.out, b, i, j.mut)[j.n + 8] = 0;
}

int run_hadamard(const struct lc_call *call, mutant mut)
{
    union op_args args;
    const int status = ref_hadamard_check(call, &args);
    if (status != LC_OK)
        return status;
    const struct hadamard_args &a = args.hadamard;
    const int64_t rows = a.batch * a.m;
    if (rows == 0)
        return LC_OK;
    if (rows > 0x7fffffff || a.n > MOST)
        return LC_UNSUPPORTED;
    struct had_job j = {
        view_of(a.t[HAD_X]), view_of(a.t[HAD_OUT]), a.m, a.n, (float) a.scale, a.t[HAD_X]->dtype == LC_F32, mut
    };
    if (mut == MUT_cu_had_default_scale_1 && call->n_scalars == 0)
        j.scale = 1;
    hadamard_kernel<<<(unsigned) rows, THREADS, 0, (cudaStream_t) call->stream>>>(j);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess && call->msg_size > 0)
        snprintf(call->msg, call->msg_size, "launch: %s", cudaGetErrorString(error));
    return error == cudaSuccess ? LC_OK : LC_FAILED;
}
