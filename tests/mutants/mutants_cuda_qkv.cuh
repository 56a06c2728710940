/* SPDX-License-Identifier: Apache-2.0 */
/* QKV-1..5 for mutants_cuda.cu: a block of 256 threads a head of a token, n in shared memory. D <= 8192, no dialect. */

struct qkv_job {
    const uint16_t *x;
    const void *w[2], *b[2], *table, *positions;
    uint16_t *q, *k, *v;
    int64_t row, tokens, heads_q, heads_kv, d, rope, table_rows;
    float eps;
    bool w_f32[2], b_f32[2], table_f32, positions_64;
    mutant mut;
};

__device__ float qkv_element(const void *t, bool f32, int64_t i)
{
    return f32 ? ((const float *) t)[i] : from_bf16(((const uint16_t *) t)[i]);
}

/* Where head h of q, k and v begins in a token, and where it goes. */
__device__ int64_t qkv_place(const struct qkv_job &j, int64_t h)
{
    const bool thirds = j.mut == MUT_cu_qkv_thirds && h >= j.heads_q && h < j.heads_q + j.heads_kv;
    return thirds ? (j.heads_q + 2 * j.heads_kv) * j.d / 3 + (h - j.heads_q) * j.d : h * j.d;
}

__device__ void qkv_copy(const struct qkv_job &j, const uint16_t *x, uint16_t *to)
{
    for (int64_t i = threadIdx.x; i < j.d; i += THREADS) {
        const bool quiets = j.mut == MUT_cu_qkv_v_quiets && (x[i] & 0x7fff) > 0x7f80;
        to[i] = x[i] | (quiets ? 0x40 : 0);
    }
}

/* The sum of squares of this block's head. */
__device__ float qkv_sum(const struct qkv_job &j, const uint16_t *x, float *part)
{
    float sum = 0;
    for (int64_t i = threadIdx.x; i < j.d; i += THREADS)
        sum = __fmaf_rn(from_bf16(x[i]), from_bf16(x[i]), sum);
    for (int o = 16; o > 0; o /= 2)
        sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, o));
    if (j.mut == MUT_cu_qkv_no_barrier && threadIdx.x >= 32)
        __nanosleep(50000); /* the slow warps that the missing barrier needs */
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    if (j.mut != MUT_cu_qkv_no_barrier)
        __syncthreads();
    sum = 0;
    for (int i = 0; i < WARPS; i++)
        sum = __fadd_rn(sum, part[i]);
    return sum;
}

__global__ void qkv_kernel(const struct qkv_job j)
{
    __shared__ float n[MOST], part[WARPS];
    const int64_t heads = j.heads_q + 2 * j.heads_kv, row = (int64_t) blockIdx.x / heads, h = (int64_t) blockIdx.x % heads;
    const uint16_t *const x = j.x + row * j.row + qkv_place(j, h);
    if (threadIdx.x < WARPS)
        part[threadIdx.x] = 0;
    __syncthreads();
    if (h >= j.heads_q + j.heads_kv) {
        qkv_copy(j, x, j.v + (row * j.heads_kv + h - j.heads_q - j.heads_kv) * j.d);
        return;
    }
    const bool is_k = h >= j.heads_q;
    uint16_t *const to = is_k ? j.k + (row * j.heads_kv + h - j.heads_q) * j.d : j.q + (row * j.heads_q + h) * j.d;
    int64_t at = j.positions_64 && j.mut != MUT_cu_qkv_positions_as_i32 ? ((const int64_t *) j.positions)[row]
                                                                        : (int64_t) ((const int32_t *) j.positions)[row];
    if (j.mut == MUT_cu_qkv_token_index)
        at = row % j.table_rows;
    if (at < 0 || at >= j.table_rows) { /* ERR-2 */
        if (j.mut == MUT_cu_qkv_writes_astray)
            j.q[-1] = 0;
        return;
    }
    const float rstd = __frsqrt_rn(__fadd_rn(__fdiv_rn(qkv_sum(j, x, part), (float) j.d), j.eps));
    const int own = is_k && j.mut != MUT_cu_qkv_weight_q_for_k;
    for (int64_t i = threadIdx.x; i < j.d; i += THREADS) {
        n[i] = __fmul_rn(__fmul_rn(from_bf16(x[i]), rstd), qkv_element(j.w[own], j.w_f32[own], i));
        if (j.b[0] != nullptr)
            n[i] = __fadd_rn(n[i], qkv_element(j.b[is_k], j.b_f32[is_k], i));
        if (i < j.rope && j.mut != MUT_cu_qkv_n_unrounded)
            n[i] = from_bf16(to_bf16(n[i], false));
    }
    __syncthreads();
    for (int64_t i = threadIdx.x; i < j.rope / 2; i += THREADS) {
        const bool adjacent = j.mut == MUT_cu_qkv_interleaved;
        const int64_t first = adjacent ? 2 * i : i, second = adjacent ? 2 * i + 1 : i + j.rope / 2;
        const float a = n[first], b = n[second], c = qkv_element(j.table, j.table_f32, at * j.rope + i);
        const float s = qkv_element(j.table, j.table_f32, at * j.rope + j.rope / 2 + i);
        to[first] = to_bf16(__fsub_rn(__fmul_rn(a, c), __fmul_rn(b, s)), false);
        to[second] = to_bf16(__fadd_rn(__fmul_rn(b, c), __fmul_rn(a, s)), false);
    }
    for (int64_t i = j.rope + threadIdx.x; i < j.d && j.mut != MUT_cu_qkv_tail_unwritten; i += THREADS)
        to[i] = to_bf16(n[i], false);
    if (j.mut == MUT_cu_qkv_stray_after && threadIdx.x == 0)
        j.k[j.tokens * j.heads_kv * j.d] = 0;
}

int run_qkv(const struct lc_call *call, mutant mut)
{
    union op_args args;
    const int status = ref_qkv_check(call, &args);
    if (status != LC_OK)
        return status;
    const struct qkv_args &a = args.qkv;
    const int64_t blocks = a.tokens * (a.heads_q + 2 * a.heads_kv);
    if (blocks == 0)
        return LC_OK;
    if (blocks > 0x7fffffff || a.head_dim > MOST || a.dialect)
        return LC_UNSUPPORTED;
    struct qkv_job j = {};
    j.x = (const uint16_t *) a.t[QKV_X]->data;
    j.row = a.tokens > 1 ? a.t[QKV_X]->stride[0] : 0;
    for (int i = 0; i < 2; i++) {
        const struct lc_tensor *const w = a.t[QKV_W_Q + i], *const b = a.t[QKV_B_Q + i];
        j.w[i] = w->data, j.w_f32[i] = w->dtype == LC_F32;
        j.b[i] = b ? b->data : nullptr, j.b_f32[i] = b && b->dtype == LC_F32;
    }
    j.table = a.t[QKV_TABLE]->data, j.table_f32 = a.t[QKV_TABLE]->dtype == LC_F32;
    j.positions = a.t[QKV_POSITIONS]->data, j.positions_64 = a.t[QKV_POSITIONS]->dtype == LC_I64;
    j.q = (uint16_t *) a.t[QKV_Q]->data, j.k = (uint16_t *) a.t[QKV_K]->data, j.v = (uint16_t *) a.t[QKV_V]->data;
    j.tokens = a.tokens, j.heads_q = a.heads_q, j.heads_kv = a.heads_kv, j.d = a.head_dim, j.rope = a.rope_dim;
    j.table_rows = a.table_rows;
    j.eps = (float) a.eps;
    j.mut = mut;
    qkv_kernel<<<(unsigned) blocks, THREADS, 0, (cudaStream_t) call->stream>>>(j);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess && call->msg_size > 0)
        snprintf(call->msg, call->msg_size, "launch: %s", cudaGetErrorString(error));
    return error == cudaSuccess ? LC_OK : LC_FAILED;
}
