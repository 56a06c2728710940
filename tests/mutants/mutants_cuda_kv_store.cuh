/* SPDX-License-Identifier: Apache-2.0 */
/* KV-1..6 for mutants_cuda.cu: a block of 256 threads a head, the head in shared memory, a barrier a stage. head_dim <= 8192. */

struct kv_job {
    struct kv_store_args a; /* its tensors are copied below: the kernel must not follow the host's pointers */
    struct lc_tensor t[KV_TENSORS];
    mutant mut;
};

__device__ int64_t kv_index(const struct lc_tensor &t, int64_t i)
{
    return t.dtype == LC_I32 ? ((const int32_t *) t.data)[i] : ((const int64_t *) t.data)[i];
}

__device__ float kv_real(const struct lc_tensor &t, int64_t i)
{
    return t.dtype == LC_F32 ? ((const float *) t.data)[i] : from_bf16(((const uint16_t *) t.data)[i]);
}

/* KV-1, stage=bf16. A barrier in front, and behind. */
__device__ void kv_stage_end(const struct kv_job &j, float *v, bool last)
{
    const bool round = j.a.bf16_stages || (j.mut == MUT_cu_kv_bf16_stages && !last);
    __syncthreads();
    for (int64_t c = threadIdx.x; round && c < j.a.d; c += THREADS)
        v[c] = from_bf16(to_bf16(v[c], false));
    __syncthreads();
}

__device__ void kv_norm(const struct kv_job &j, float *v)
{
    __shared__ float partial[WARPS];
    float sum = 0;
    for (int64_t c = threadIdx.x; c < j.a.d; c += THREADS)
        sum = __fadd_rn(sum, __fmul_rn(v[c], v[c]));
    for (int step = 16; step > 0; step /= 2)
        sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, step));
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = sum;
    __syncthreads();
    const float *const p = partial;
    sum = __fadd_rn(__fadd_rn(__fadd_rn(p[0], p[1]), __fadd_rn(p[2], p[3])),
                    __fadd_rn(__fadd_rn(p[4], p[5]), __fadd_rn(p[6], p[7])));
    const float rstd = __frsqrt_rn(__fadd_rn(__fdiv_rn(sum, (float) j.a.d), (float) j.a.eps));
    for (int64_t c = threadIdx.x; c < j.a.d; c += THREADS)
        v[c] = __fmul_rn(__fmul_rn(v[c], rstd), kv_real(j.t[KV_WEIGHT], c));
}

__device__ void kv_rotate(const struct kv_job &j, float *v, int64_t token)
{
    const int64_t pairs = j.a.rotary_dim / 2, row = kv_index(j.t[KV_POSITIONS], token) * j.a.rotary_dim;
    const int64_t offset = j.mut == MUT_cu_kv_offset_ignored ? 0 : j.a.offset;
    for (int64_t i = threadIdx.x; i < pairs; i += THREADS) {
        float *const p = v + offset + (j.a.interleaved ? 2 * i : i), *const q = p + (j.a.interleaved ? 1 : pairs);
        const float c = kv_real(j.t[KV_TABLE], row + i), sine = kv_real(j.t[KV_TABLE], row + pairs + i), x = *p, y = *q;
        const float s = j.a.conjugate && j.mut != MUT_cu_kv_conjugate_ignored ? -sine : sine;
        *p = __fsub_rn(__fmul_rn(x, c), __fmul_rn(y, s));
        *q = __fadd_rn(__fmul_rn(y, c), __fmul_rn(x, s));
    }
}

__device__ void kv_transform(const struct kv_job &j, float *v)
{
    for (int64_t bit = 1; bit < j.a.d; bit *= 2) {
        if (j.mut == MUT_cu_kv_no_barrier && bit == 64 && threadIdx.x >= 32)
            __nanosleep(50000); /* the slow warps that the missing barrier needs */
        for (int64_t p = threadIdx.x; p < j.a.d / 2; p += THREADS) {
            const int64_t low = p / bit * 2 * bit + p % bit, high = low + bit;
            const float a = v[low], b = v[high];
            v[low] = __fadd_rn(a, b);
            v[high] = __fsub_rn(a, b);
        }
        if (j.mut != MUT_cu_kv_no_barrier || bit != 64)
            __syncthreads();
    }
    for (int64_t c = threadIdx.x; c < j.a.d; c += THREADS)
        v[c] = __fmul_rn(v[c], (float) j.a.scale);
}

__device__ void kv_cast_group(const struct kv_job &j, const float *v, uint8_t *codes, uint8_t *scale, int64_t g)
{
    float amax = 1e-4f;
    for (int64_t c = g * 32; c < g * 32 + 32; c++)
        amax = fabsf(v[c]) > amax ? fabsf(v[c]) : amax;
    const float sf = __fdiv_rn(amax, j.mut == MUT_cu_kv_max_224 ? 224.0f : 448.0f);
    const uint32_t byte = (__float_as_uint(sf) >> 23) + ((__float_as_uint(sf) & 0x7fffff) != 0);
    for (int64_t c = g * 32; c < g * 32 + 32; c++)
        codes[c] = to_e4m3(__fmul_rn(v[c], __uint_as_float((254 - byte) << 23)));
    if (j.mut != MUT_cu_kv_scale_unwritten || g + 1 < j.a.d / 32)
        *scale = (uint8_t) byte;
}

__device__ uint8_t *kv_pool(const struct kv_job &j, const struct kv_bytes &b, int64_t slot, int64_t head)
{
    if (j.mut == MUT_cu_kv_head_missing)
        head = 0; /* K11 */
    return (uint8_t *) j.t[KV_POOL].data + b.base + slot / j.a.page_size * b.page + slot % j.a.page_size * b.row + head * b.head;
}

__global__ void kv_store_kernel(const struct kv_job j)
{
    __shared__ float v[MOST];
    const struct kv_store_args &a = j.a;
    const int64_t token = (int64_t) blockIdx.x / a.heads, head = (int64_t) blockIdx.x % a.heads, groups = a.d / 32;
    const struct lc_tensor &x = j.t[KV_X];
    const int64_t from = token * x.stride[0] + (x.rank == 3 ? head * x.stride[1] : 0), slots = a.pages * a.page_size;
    int64_t slot = a.store ? kv_index(j.t[KV_SLOTS], token) : 0;
    if (j.mut == MUT_cu_kv_slot_wraps && slot < 0)
        slot = slots - 1; /* K01 */
    if (j.mut == MUT_cu_kv_past_is_0 && a.store && slot >= slots)
        slot = 0;
    if (a.store && (slot < 0 || slot >= slots))
        return;
    if (a.rope && (kv_index(j.t[KV_POSITIONS], token) < 0 || kv_index(j.t[KV_POSITIONS], token) >= j.t[KV_TABLE].shape[0]))
        return; /* ERR-2 */
    for (int64_t c = threadIdx.x; c < a.d; c += THREADS)
        v[c] = from_bf16(((const uint16_t *) x.data)[from + c]);
    __syncthreads();
    if (a.norm) {
        kv_norm(j, v);
        kv_stage_end(j, v, !a.rope && !a.hadamard);
    }
    if (a.rope) {
        kv_rotate(j, v, token);
        kv_stage_end(j, v, !a.hadamard);
    }
    if (a.hadamard) {
        kv_transform(j, v);
        kv_stage_end(j, v, true);
    }
    if (!a.cast)
        for (int64_t c = threadIdx.x; c < a.d; c += THREADS)
            ((uint16_t *) j.t[KV_OUT].data)[(token * a.heads + head) * a.d + c] = to_bf16(v[c], j.mut == MUT_cu_kv_bf16_truncate);
    for (int64_t g = threadIdx.x; a.cast && g < groups; g += THREADS) {
        const int64_t k = head * groups + g, pad = ((a.per_head ? a.heads : a.n) + 3) / 4 * 4;
        const int64_t at = a.per_head ? ((token * (groups / 4) + g / 4) * pad + head) * 4 + g % 4
                                      : (k / 4 * pad + token) * 4 + k % 4;
        uint8_t *const codes = a.store ? kv_pool(j, a.codes, slot, head)
                                       : (uint8_t *) j.t[KV_OUT].data + (token * a.heads + head) * a.d;
        kv_cast_group(j, v, codes, a.store ? kv_pool(j, a.scales, slot, head) + g : (uint8_t *) j.t[KV_SF].data + at, g);
        if (j.mut == MUT_cu_kv_clears_gap && a.store && g == 0 && a.codes.head > a.d + groups)
            codes[a.d + groups] = 0;
    }
}

int run_kv_store(const struct lc_call *call, mutant mut)
{
    union op_args args;
    const int status = ref_kv_store_check(call, &args);
    if (status != LC_OK)
        return status;
    struct kv_job j = {};
    j.a = args.kv_store;
    j.mut = mut;
    for (int i = 0; i < KV_TENSORS; i++)
        if (j.a.t[i] != nullptr)
            j.t[i] = *j.a.t[i];
    const int64_t blocks = j.a.n * j.a.heads;
    if (blocks == 0)
        return LC_OK;
    if (blocks > 0x7fffffff || j.a.d > MOST)
        return LC_UNSUPPORTED;
    kv_store_kernel<<<(unsigned) blocks, THREADS, 0, (cudaStream_t) call->stream>>>(j);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess && call->msg_size > 0)
        snprintf(call->msg, call->msg_size, "launch: %s", cudaGetErrorString(error));
    return error == cudaSuccess ? LC_OK : LC_FAILED;
}
