/* SPDX-License-Identifier: Apache-2.0 */
/* KV-7 for mutants_cuda.cu: a block of 256 threads a token, its row in shared memory, a thread an element and then a group of the
 * cast. heads * D <= 8192. */

struct ctx_job {
    job cast; /* of the (N, heads * D) matrix: s, sf, m, d, mut */
    const uint16_t *context;
    uint16_t *bf16;
    uint8_t *out;
    const void *table, *positions;
    int64_t heads, d, n, offset, rows, in_token, in_head, bf16_token, bf16_head;
    bool table_bf16, wide, interleaved;
};

__device__ float ctx_entry(const ctx_job &j, int64_t position, int64_t i)
{
    const int64_t at = position * 2 * j.n + i;
    return j.table_bf16 ? from_bf16(((const uint16_t *) j.table)[at]) : ((const float *) j.table)[at];
}

__device__ float ctx_element(const ctx_job &j, const uint16_t *head, int64_t position, int64_t i)
{
    const float own = from_bf16(head[i]);
    const int64_t at = i - j.offset;
    if (at < 0 || j.cast.mut == MUT_cu_ctx_not_rotated)
        return own;
    const bool b = j.interleaved ? at % 2 != 0 : at >= j.n;
    const int64_t pair = j.interleaved ? at / 2 : at % j.n, step = j.interleaved ? 1 : j.n;
    const float partner = from_bf16(head[b ? i - step : i + step]), c = ctx_entry(j, position, pair);
    float s = ctx_entry(j, position, j.n + pair);
    if (j.cast.mut == MUT_cu_ctx_forward)
        s = -s;
    return b ? __fsub_rn(__fmul_rn(own, c), __fmul_rn(partner, s)) : __fadd_rn(__fmul_rn(own, c), __fmul_rn(partner, s));
}

__global__ void ctx_kernel(const struct ctx_job j)
{
    __shared__ float v[MOST];
    const int64_t token = blockIdx.x;
    int64_t position = j.wide ? ((const int64_t *) j.positions)[token] : ((const int32_t *) j.positions)[token];
    if (j.cast.mut == MUT_cu_ctx_positions_ignored)
        position = token % j.rows;
    if ((position < 0 || position >= j.rows) && j.cast.mut != MUT_cu_ctx_past_unguarded)
        return;
    for (int64_t c = threadIdx.x; c < j.cast.d; c += THREADS) {
        const int64_t h = c / j.d, i = c % j.d;
        const float y = ctx_element(j, j.context + token * j.in_token + h * j.in_head, position, i);
        const uint16_t code = to_bf16(y, false);
        if (j.bf16 != nullptr)
            j.bf16[token * j.bf16_token + h * j.bf16_head + i] = code;
        v[c] = j.cast.mut == MUT_cu_ctx_not_rounded ? y : from_bf16(code);
    }
    __syncthreads();
    for (int64_t g = threadIdx.x; g < j.cast.s.groups; g += THREADS)
        cast_group(j.cast, v, j.out + token * j.cast.d, 0, token, g);
    if (j.cast.mut == MUT_cu_ctx_writes_context && threadIdx.x == 0)
        ((uint16_t *) j.context)[token * j.in_token + j.offset] ^= 1;
}

int run_context_cast(const struct lc_call *call, mutant mut)
{
    union op_args args;
    const int status = ref_context_cast_check(call, &args);
    if (status != LC_OK)
        return status;
    const struct context_cast_args &a = args.context_cast;
    const struct rope_args &r = a.rope;
    if (r.n == 0)
        return LC_OK;
    if (r.n > 0x7fffffff || r.heads[0] * r.d > MOST || a.sf.block_m > 0 || a.sf.ragged)
        return LC_UNSUPPORTED;
    ctx_job j = {};
    j.cast.s = a.sf, j.cast.sf = a.t[CTX_SF]->data;
    j.cast.batch = 1, j.cast.m = r.n, j.cast.d = r.heads[0] * r.d, j.cast.mut = mut;
    j.context = (const uint16_t *) a.t[CTX_CONTEXT]->data;
    j.in_token = a.t[CTX_CONTEXT]->stride[0], j.in_head = a.t[CTX_CONTEXT]->stride[1];
    if (a.t[CTX_BF16] != nullptr) {
        j.bf16 = (uint16_t *) a.t[CTX_BF16]->data;
        j.bf16_token = a.t[CTX_BF16]->stride[0], j.bf16_head = a.t[CTX_BF16]->stride[1];
    }
    j.out = (uint8_t *) a.t[CTX_OUT]->data;
    j.table = a.t[CTX_TABLE]->data, j.positions = a.t[CTX_POSITIONS]->data;
    j.heads = r.heads[0], j.d = r.d, j.n = r.rotary_dim / 2, j.offset = r.offset, j.rows = r.rows;
    j.table_bf16 = a.t[CTX_TABLE]->dtype == LC_BF16, j.wide = a.t[CTX_POSITIONS]->dtype == LC_I64;
    j.interleaved = r.interleaved;
    ctx_kernel<<<(unsigned) r.n, THREADS, 0, (cudaStream_t) call->stream>>>(j);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess && call->msg_size > 0)
        snprintf(call->msg, call->msg_size, "launch: %s", cudaGetErrorString(error));
    return error == cudaSuccess ? LC_OK : LC_FAILED;
}
