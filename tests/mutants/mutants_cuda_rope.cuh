/* SPDX-License-Identifier: Apache-2.0 */
/* APPLY-1..6 for mutants_cuda.cu: a block of 256 threads a token, a thread a pair. */

struct rope_heads { /* strides in elements */
    const uint16_t *in;
    uint16_t *out;
    int64_t heads, in_token, in_head, out_token, out_head;
    bool in_place;
};

struct rope_job {
    rope_heads of[2];
    const void *table, *positions;
    int64_t rows, d, rotary_dim, offset;
    bool table_bf16, wide, interleaved, conjugate;
    mutant mut;
};

__device__ float rope_entry(const rope_job &j, int64_t position, int64_t i)
{
    const int64_t at = position * j.rotary_dim + i;
    const float v = j.table_bf16 ? from_bf16(((const uint16_t *) j.table)[at]) : ((const float *) j.table)[at];
    return j.mut == MUT_cu_rope_table_bf16 ? from_bf16(to_bf16(v, false)) : v;
}

__device__ float rope_product(const rope_job &j, float a, float b)
{
    const float v = __fmul_rn(a, b);
    return j.mut == MUT_cu_rope_products_bf16 ? from_bf16(to_bf16(v, false)) : v;
}

__device__ void rope_head(const rope_job &j, const uint16_t *in, uint16_t *out, bool in_place, int64_t position)
{
    const int64_t n = j.rotary_dim / 2;
    for (int64_t i = threadIdx.x; i < n; i += THREADS) {
        const bool pairs = j.interleaved && j.mut != MUT_cu_rope_neox_only;
        const int64_t first = j.mut == MUT_cu_rope_offset_ignored ? 0 : j.offset;
        const int64_t at = first + (pairs ? 2 * i : i), bt = first + (pairs ? 2 * i + 1 : n + i);
        float a = from_bf16(in[at]), b = from_bf16(in[bt]);
        const float c = rope_entry(j, position, i), s = rope_entry(j, position, n + i);
        const float turned = j.conjugate && j.mut != MUT_cu_rope_conjugate_ignored ? -s : s;
        if (j.mut == MUT_cu_rope_nan_swallowed)
            a = isnan(a) ? 0 : a, b = isnan(b) ? 0 : b;
        const float left = __fsub_rn(rope_product(j, a, c), rope_product(j, b, turned));
        out[at] = to_bf16(left, false);
        if (j.mut == MUT_cu_rope_reads_stored)
            a = from_bf16(((volatile uint16_t *) out)[at]);
        out[bt] = to_bf16(__fadd_rn(rope_product(j, b, c), rope_product(j, a, turned)), false);
    }
    for (int64_t i = threadIdx.x; i < j.d && !in_place && j.mut != MUT_cu_rope_tail_stale; i += THREADS)
        if (i < j.offset || i >= j.offset + j.rotary_dim)
            out[i] = in[i];
    if (j.mut == MUT_cu_rope_stray_gap && threadIdx.x == 0)
        out[j.d] = 0;
}

__global__ void rope_kernel(const struct rope_job j)
{
    const int64_t token = blockIdx.x;
    int64_t position = j.wide ? ((const int64_t *) j.positions)[token] : ((const int32_t *) j.positions)[token];
    if (j.mut == MUT_cu_rope_i64_as_i32)
        position = ((const int32_t *) j.positions)[token];
    if (j.mut == MUT_cu_rope_positions_ignored)
        position = token % j.rows;
    if ((position < 0 || position >= j.rows) && j.mut != MUT_cu_rope_past_unguarded)
        return;
    for (int which = 0; which < 2; which++) {
        const rope_heads &t = j.of[which];
        int64_t step = t.in_head;
        if (which && j.mut == MUT_cu_rope_key_head_stride)
            step = j.of[0].in_head;
        for (int64_t h = 0; h < t.heads; h++)
            rope_head(j, t.in + token * t.in_token + h * step, t.out + token * t.out_token + h * t.out_head, t.in_place,
                      position);
    }
}

int run_rope(const struct lc_call *call, mutant mut)
{
    union op_args args;
    const int status = ref_rope_check(call, &args);
    if (status != LC_OK)
        return status;
    const struct rope_args &a = args.rope;
    if (a.n == 0)
        return LC_OK;
    if (a.n > 0x7fffffff)
        return LC_UNSUPPORTED;
    rope_job j = {};
    for (int which = 0; which < 2 && a.heads[which] > 0; which++) {
        const struct lc_tensor *const in = a.t[ROPE_QUERY + which], *const out = a.t[ROPE_QUERY_OUT + which];
        j.of[which] = { (const uint16_t *) in->data,
                        (uint16_t *) out->data,
                        a.heads[which],
                        in->stride[0],
                        in->stride[1],
                        out->stride[0],
                        out->stride[1],
                        a.in_place[which] };
    }
    j.table = a.t[ROPE_TABLE]->data, j.positions = a.t[ROPE_POSITIONS]->data;
    j.rows = a.rows, j.d = a.d, j.rotary_dim = a.rotary_dim, j.offset = a.offset;
    j.table_bf16 = a.t[ROPE_TABLE]->dtype == LC_BF16, j.wide = a.t[ROPE_POSITIONS]->dtype == LC_I64;
    j.interleaved = a.interleaved, j.conjugate = a.conjugate;
    j.mut = mut;
    rope_kernel<<<(unsigned) a.n, THREADS, 0, (cudaStream_t) call->stream>>>(j);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess && call->msg_size > 0)
        snprintf(call->msg, call->msg_size, "launch: %s", cudaGetErrorString(error));
    return error == cudaSuccess ? LC_OK : LC_FAILED;
}
