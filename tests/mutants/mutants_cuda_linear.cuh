/* SPDX-License-Identifier: Apache-2.0 */
/* LIN-1..11 for mutants_cuda.cu: an element of out a thread, which sums its K products in order. No dialect, no cast of x. */

struct lin_job {
    struct view x, acc, out;
    const void *w, *x_sf, *w_sf, *bias;
    int64_t w_row; /* bytes */
    int64_t m, rows, n, k;
    bool codes, e2m1, out_f32, bias_f32;
    mutant mut;
};

__device__ uint32_t lin_counter; /* of MUT_cu_lin_counter */

__device__ float from_e4m3(uint8_t code) /* FMT-2 */
{
    const int exp = code >> 3 & 15, frac = code & 7;
    float v = exp ? ldexpf((float) (8 + frac), exp - 10) : ldexpf((float) frac, -9);
    if ((code & 0x7f) == 0x7f)
        v = __uint_as_float(0x7fc00000);
    return code & 0x80 ? -v : v;
}

__device__ float from_e2m1(int code) /* FMT-4 */
{
    const int exp = code >> 1 & 3, frac = code & 1;
    const float v = exp ? ldexpf((float) (2 + frac), exp - 2) : 0.5f * (float) frac;
    return code & 8 ? -v : v;
}

/* SF-3: the byte of a row's group. */
__device__ int lin_scale(const void *sf, int64_t rows, int64_t row, int64_t g)
{
    return ((const uint8_t *) sf)[(g / 4 * ((rows + 3) / 4 * 4) + row) * 4 + g % 4];
}

__device__ float lin_x(const struct lin_job &j, int64_t b, int64_t i, int64_t k)
{
    if (j.codes)
        return from_e4m3(row_of<uint8_t>(j.x, b, i, j.mut)[k]);
    return from_bf16(row_of<uint16_t>(j.x, b, i, j.mut)[k]);
}

__device__ float lin_w(const struct lin_job &j, int64_t n, int64_t k)
{
    const uint8_t *const w = (const uint8_t *) j.w + n * j.w_row;
    if (!j.codes)
        return from_bf16(((const uint16_t *) w)[k]);
    return j.e2m1 ? from_e2m1(w[k / 2] >> 4 * (k % 2)) : from_e4m3(w[k]);
}

__device__ float lin_out(const struct lin_job &j, const struct view &v, int64_t b, int64_t i, int64_t n)
{
    return j.out_f32 ? row_of<float>(v, b, i, j.mut)[n] : from_bf16(row_of<uint16_t>(v, b, i, j.mut)[n]);
}

__device__ void lin_store(const struct lin_job &j, int64_t b, int64_t i, int64_t n, float v)
{
    if (j.out_f32)
        row_of<float>(j.out, b, i, j.mut)[n] = v;
    else
        row_of<uint16_t>(j.out, b, i, j.mut)[n] = to_bf16(v, false);
}

__device__ float lin_rounded(const struct lin_job &j, float v)
{
    return j.out_f32 ? v : from_bf16(to_bf16(v, false));
}

__device__ float lin_sum(const struct lin_job &j, int64_t b, int64_t i, int64_t n)
{
    int64_t end = j.k;
    if (j.mut == MUT_cu_lin_last_group && j.codes)
        end -= 32;
    float sum = 0, first = 0;
    int exp = 0;
    bool nan = false;
    for (int64_t k = 0; k < end; k++) {
        float t = __fmul_rn(lin_x(j, b, i, k), lin_w(j, n, k));
        if (j.codes && k % 32 == 0) {
            const int64_t g = k / 32;
            int64_t gw = g;
            if (j.mut == MUT_cu_lin_scale_next_group)
                gw = (g + 1) % (j.k / 32);
            const int ea = lin_scale(j.x_sf, j.rows, b * j.m + i, g), eb = lin_scale(j.w_sf, j.n, n, gw);
            exp = ea + eb - 254;
            nan = ea == 255 || eb == 255; /* FMT-3 */
        }
        if (j.codes)
            t = nan ? __uint_as_float(0x7fc00000) : ldexpf(t, exp);
        sum = __fadd_rn(sum, t);
        if (j.mut == MUT_cu_lin_acc_13 && j.codes && k % 32 == 31 && isfinite(sum))
            sum = __uint_as_float(__float_as_uint(sum) & ~0x3ffu);
        if (j.mut == MUT_cu_lin_split_bf16 && k == (j.k - 1) / 2) {
            first = from_bf16(to_bf16(sum, false));
            sum = 0;
        }
    }
    if (j.mut == MUT_cu_lin_split_bf16)
        sum = __fadd_rn(first, from_bf16(to_bf16(sum, false)));
    return sum;
}

__global__ void linear_kernel(const struct lin_job j)
{
    const int64_t at = (int64_t) blockIdx.x * THREADS + threadIdx.x, row = at / j.n, n = at % j.n;
    const int64_t b = row / j.m, i = row % j.m;
    if (row >= j.rows || (j.mut == MUT_cu_lin_counter && lin_counter != 0))
        return;
    float v = lin_sum(j, b, i, n);
    if (j.acc.base) {
        if (j.mut == MUT_cu_lin_acc_after_rounding)
            v = lin_rounded(j, v);
        v = __fadd_rn(v, lin_out(j, j.acc, b, i, n));
    }
    if (j.mut == MUT_cu_lin_adds_stale && !j.acc.base)
        v = __fadd_rn(v, lin_out(j, j.out, b, i, n));
    if (j.bias) { /* LIN-9 */
        const float bias = j.bias_f32 ? ((const float *) j.bias)[n] : from_bf16(((const uint16_t *) j.bias)[n]);
        v = __fadd_rn(lin_rounded(j, v), bias);
    }
    lin_store(j, b, i, n, v);
    if (j.mut == MUT_cu_lin_pad_column && n == j.n - 1 && n % 2 == 0)
        lin_store(j, b, i, n + 1, 0);
}

__global__ void lin_counter_left(void)
{
    lin_counter = 1;
}

/* MUT_cu_lin_counter: set to 0 by the host before each call, but not by a graph. */
void lin_counter_set(cudaStream_t stream)
{
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    void *counter = nullptr;
    cudaStreamIsCapturing(stream, &capture);
    if (capture == cudaStreamCaptureStatusNone && cudaGetSymbolAddress(&counter, lin_counter) == cudaSuccess)
        cudaMemsetAsync(counter, 0, sizeof lin_counter, stream);
}

int run_linear(const struct lc_call *call, mutant mut)
{
    union op_args args;
    const int status = ref_linear_check(call, &args);
    if (status != LC_OK)
        return status;
    const struct linear_args &a = args.linear;
    if (a.m == 0 || a.n == 0)
        return LC_OK; /* LIN-2 */
    if (a.cast_x || a.dialect || (a.m * a.n + THREADS - 1) / THREADS > 0x7fffffff)
        return LC_UNSUPPORTED;
    struct lin_job j = {};
    j.x = view_of(a.t[LIN_X]), j.acc = view_of(a.t[LIN_OUT_ACC]), j.out = view_of(a.out);
    j.w = a.t[LIN_WEIGHT]->data;
    j.w_row = a.t[LIN_WEIGHT]->stride[0] * (a.fp8 ? 1 : 2);
    if (a.fp8)
        j.x_sf = a.t[LIN_X_SF]->data, j.w_sf = a.t[LIN_WEIGHT_SF]->data;
    if (a.t[LIN_BIAS] != nullptr)
        j.bias = a.t[LIN_BIAS]->data, j.bias_f32 = a.t[LIN_BIAS]->dtype == LC_F32;
    j.m = a.out->rank > 1 ? a.out->shape[a.out->rank - 2] : 1;
    j.rows = a.m, j.n = a.n, j.k = a.k;
    j.codes = a.fp8, j.e2m1 = a.t[LIN_WEIGHT]->dtype == LC_E2M1X2, j.out_f32 = a.out->dtype == LC_F32;
    j.mut = mut;
    const cudaStream_t stream = (cudaStream_t) call->stream;
    if (mut == MUT_cu_lin_counter)
        lin_counter_set(stream);
    linear_kernel<<<(unsigned) ((a.m * a.n + THREADS - 1) / THREADS), THREADS, 0, stream>>>(j);
    if (mut == MUT_cu_lin_counter)
        lin_counter_left<<<1, 1, 0, stream>>>();
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess && call->msg_size > 0)
        snprintf(call->msg, call->msg_size, "launch: %s", cudaGetErrorString(error));
    return error == cudaSuccess ? LC_OK : LC_FAILED;
}
