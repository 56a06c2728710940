/* SPDX-License-Identifier: Apache-2.0 */
/* SF-1..SF-6 for mutants_cuda.cu: a thread a scale. */

struct sfl_job {
    const uint8_t *in;
    uint8_t *out;
    unsigned long long *error;
    struct sf_args from, to;
    int64_t in_rows, batch, m, in_pitch, out_pitch; /* pitch: of SF-4 */
    bool weight;
    mutant mut;
};

__device__ int64_t sfl_place(const struct sf_args &s, int64_t m, int64_t pitch, int64_t b, int64_t i, int64_t g)
{
    const int64_t words = (s.groups + 3) / 4, m_pad = (m + 3) / 4 * 4;
    if (s.block_m > 0) {
        const int64_t in = i % s.block_m, block = (s.block_m + 127) / 128 * 128;
        return (g / 4 * pitch + i / s.block_m * block + in / 128 * 128 + in % 32 * 4 + in % 128 / 32) * 4 + g % 4;
    }
    if (!s.col)
        return s.packed ? (b * m + i) * words * 4 + g : ((b * m + i) * s.groups + g) * 4;
    return s.packed ? ((b * words + g / 4) * m_pad + i) * 4 + g % 4 : ((b * s.groups + g) * m_pad + i) * 4;
}

__global__ void sfl_check(const struct sfl_job j)
{
    const int64_t n = (int64_t) blockIdx.x * THREADS + threadIdx.x, row = n / j.from.groups, g = n % j.from.groups;
    if (row >= j.batch * j.in_rows)
        return;
    const uint32_t bits = *(const uint32_t *) (j.in +
                                               sfl_place(j.from, j.in_rows, j.in_pitch, row / j.in_rows, row % j.in_rows, g));
    if (bits - 0x00800000u < 0x7f000000u && (bits & 0x7fffff) == 0)
        return;
    if (j.mut == MUT_cu_sfl_any_error)
        atomicMax(j.error, (unsigned long long) n + 1);
    unsigned long long was = *(volatile unsigned long long *) j.error;
    while (j.mut != MUT_cu_sfl_any_error && (was == 0 || was > (unsigned long long) n + 1)) {
        const unsigned long long now = atomicCAS(j.error, was, (unsigned long long) n + 1);
        if (now == was)
            return;
        was = now;
    }
}

__global__ void sfl_convert(const struct sfl_job j)
{
    const int64_t cols = j.to.packed ? (j.to.groups + 3) / 4 * 4 : j.to.groups;
    const int64_t n = (int64_t) blockIdx.x * THREADS + threadIdx.x, row = n / cols, g = n % cols;
    if (j.error && j.mut != MUT_cu_sfl_no_wait && *(volatile unsigned long long *) j.error != 0)
        return;
    if (row >= j.batch * j.m)
        return;
    const int64_t b = row / j.m, i = row % j.m;
    int64_t to_row = i, to_g = g, block = i / 32;
    if (j.mut == MUT_cu_sfl_swap_rows && (i ^ 1) < j.m)
        to_row = i ^ 1;
    if (j.mut == MUT_cu_sfl_byte_order)
        to_g = g ^ 3;
    if (j.mut == MUT_cu_sfl_weight_block_16)
        block = i / 16 < j.in_rows ? i / 16 : j.in_rows - 1;
    uint8_t *const to = j.out + sfl_place(j.to, j.m, j.out_pitch, b, to_row, to_g);
    uint32_t bits = 0, byte = 0;
    if (g < j.from.groups) {
        const uint8_t *const from = j.in + sfl_place(j.from, j.in_rows, j.in_pitch, b, j.weight ? block : i, g);
        bits = j.from.packed ? *from == 0     ? 0x00400000u
                               : *from == 255 ? 0x7fc00000u
                                              : (uint32_t) *from << 23
                             : *(const uint32_t *) from;
        byte = j.from.packed ? *from : bits >> 23;
    }
    if (j.to.packed)
        *to = (uint8_t) byte;
    else
        *(uint32_t *) to = bits;
    if (j.mut == MUT_cu_sfl_pad_spills && n == 0 && j.to.col && j.to.block_m == 0)
        *(uint32_t *) (j.out + j.batch * (j.to.packed ? (j.to.groups + 3) / 4 : j.to.groups) * ((j.m + 3) / 4 * 4) * 4) = 0;
}

int run_sf_layout(const struct lc_call *call, mutant mut)
{
    union op_args args;
    const int status = ref_sf_layout_check(call, &args);
    if (status != LC_OK)
        return status;
    const struct sf_layout_args &a = args.sf_layout;
    struct sfl_job j = {};
    j.in = (const uint8_t *) a.t[SFL_IN]->data;
    j.out = (uint8_t *) a.t[SFL_OUT]->data;
    j.error = a.t[SFL_ERROR] ? (unsigned long long *) a.t[SFL_ERROR]->data : nullptr;
    j.from = a.from, j.to = a.to;
    j.in_pitch = a.t[SFL_IN]->stride[1], j.out_pitch = a.t[SFL_OUT]->stride[1];
    j.batch = a.batch, j.m = a.m, j.in_rows = a.weight ? (a.m + 31) / 32 : a.m;
    j.weight = a.weight;
    j.mut = mut;
    const int64_t blocks = (a.batch * a.m * ((a.to.groups + 3) / 4 * 4) + THREADS - 1) / THREADS;
    const cudaStream_t stream = (cudaStream_t) call->stream;
    if (blocks > 0x7fffffff)
        return LC_UNSUPPORTED;
    if (j.error)
        cudaMemsetAsync(j.error, 0, sizeof *j.error, stream);
    if (j.error && blocks > 0 && mut != MUT_cu_sfl_unchecked && mut != MUT_cu_sfl_no_wait)
        sfl_check<<<(unsigned) blocks, THREADS, 0, stream>>>(j);
    if (blocks > 0)
        sfl_convert<<<(unsigned) blocks, THREADS, 0, stream>>>(j);
    if (j.error && blocks > 0 && mut == MUT_cu_sfl_no_wait)
        sfl_check<<<(unsigned) blocks, THREADS, 0, stream>>>(j);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess && call->msg_size > 0)
        snprintf(call->msg, call->msg_size, "launch: %s", cudaGetErrorString(error));
    return error == cudaSuccess ? LC_OK : LC_FAILED;
}
