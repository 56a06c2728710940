/* SPDX-License-Identifier: Apache-2.0 */
/* ROT-5 on a device: a table's memory, filled by the kernel of rope_table.cu. */
#include "rope_registry.h"

#include "common.cuh"

extern const struct lc_kernel fast_rope_table_kernels[];

namespace
{

int failed(char *msg, size_t size, const char *what, cudaError_t e)
{
    snprintf(msg, size, "rope_table: %s: %s", what, cudaGetErrorString(e));
    return -1;
}

/* The table on the current device, complete when this returns. */
int fill(struct rope_table *t, const struct lc_call *scalars, char *msg, size_t size)
{
    const struct lc_tensor tensor = { "table", t->data, t->key.dtype, 2, { t->rows, t->width }, { t->width, 1 } };
    struct lc_call call = *scalars;
    cudaStream_t stream;
    cudaError_t e = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (e != cudaSuccess)
        return failed(msg, size, "stream", e);
    call.stream = stream, call.tensors = &tensor, call.n_tensors = 1, call.msg = msg, call.msg_size = size;
    const int status = fast_rope_table_kernels[0].run(&call);
    e = cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    if (status != LC_OK)
        return -1; /* msg says why */
    return e == cudaSuccess ? 0 : failed(msg, size, "kernel", e);
}

int make(struct rope_table *t, char *msg, size_t size)
{
    const struct rope_key &k = t->key;
    const struct lc_scalar scalars[] = {
        { "rotary_dim", k.rotary_dim, 0 },
        { "max_position", k.max_position, 0 },
        { "base", 0, k.base },
        { "scaling", k.scaling, 0 },
        { "factor", 0, k.factor },
        { "orig", k.orig, 0 },
        { "beta_fast", 0, k.beta_fast },
        { "beta_slow", 0, k.beta_slow },
        { "extrapolation_factor", 0, k.extrapolation_factor },
        { "attn_factor", 0, k.attn_factor },
        { "mscale", 0, k.mscale },
        { "mscale_all_dim", 0, k.mscale_all_dim },
        { "truncate", k.truncate, 0 },
        { "high_freq_cycle_threshold", 0, k.cycle_threshold },
        { "rope_freq_sample_interval", k.sample_interval, 0 },
    };
    struct lc_call call = {};
    union op_args args;
    call.size = sizeof call, call.device = k.device;
    call.scalars = scalars, call.n_scalars = sizeof scalars / sizeof *scalars;
    call.msg = msg, call.msg_size = size;
    if (k.dtype != LC_F32 && k.dtype != LC_BF16) {
        snprintf(msg, size, "rope_table: dtype %d: f32 or bf16 (ROT-6)", (int) k.dtype);
        return -1;
    }
    if (k.rotary_dim > k.head_size) {
        snprintf(msg, size, "rope_table: rotary_dim %d: wider than head_size %d (APPLY-5)", (int) k.rotary_dim,
                 (int) k.head_size);
        return -1;
    }
    if (ref_rope_table_plan(&call, &args) != LC_OK)
        return -1;
    t->rows = args.rope_table.rows;
    t->width = 2 * args.rope_table.n;
    int before = 0;
    cudaError_t e = cudaGetDevice(&before);
    if (e == cudaSuccess)
        e = cudaSetDevice(k.device);
    if (e != cudaSuccess)
        return failed(msg, size, "device", e);
    e = cudaMalloc(&t->data, (size_t) (t->rows * t->width) * (k.dtype == LC_F32 ? 4 : 2));
    int status = e == cudaSuccess ? fill(t, &call, msg, size) : failed(msg, size, "memory", e);
    if (status && e == cudaSuccess)
        cudaFree(t->data);
    cudaSetDevice(before);
    return status;
}

void unmake(struct rope_table *t)
{
    int before = 0;
    cudaGetDevice(&before);
    cudaSetDevice(t->key.device);
    cudaFree(t->data); /* waits for what still reads it */
    cudaSetDevice(before);
}

} // namespace

extern "C" const struct rope_maker rope_maker_cuda = { make, unmake };
