/* SPDX-License-Identifier: Apache-2.0 */
/* ROT-5, DET-1 on a device: a graph that reads a table by its bare address is captured once and replayed while other tables come
 * and go; the address and the bits stay. Prints `N passed, N failed`; 77 without a GPU. */
#include <stdio.h>
#include <string.h>
#include <vector>

#include "../../fast/cuda/rope_registry.h"
#include "layercheck.h"

#include <cuda_runtime.h>

namespace
{

int passed, failed;

void ok(bool fine, const char *what)
{
    if (fine) {
        passed++;
    } else {
        failed++;
        printf("FAILED  %s\n", what);
    }
}

__global__ void gather(const float *table, int64_t width, const int *position, float *out)
{
    for (int64_t i = threadIdx.x; i < width; i += blockDim.x)
        out[blockIdx.x * width + i] = table[position[blockIdx.x] * width + i];
}

struct rope_key key_of(int64_t rows, float factor)
{
    struct rope_key k = {};
    k.dtype = LC_F32, k.head_size = 128, k.rotary_dim = 64, k.is_neox = 1, k.max_position = rows;
    k.scaling = 3, k.truncate = 1, k.orig = 4096, k.sample_interval = 1;
    k.base = 10000, k.factor = factor, k.beta_fast = 32, k.beta_slow = 1;
    k.extrapolation_factor = k.attn_factor = k.mscale = 1;
    return k;
}

} // namespace

int main()
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("SKIP    no CUDA device\n");
        return 77;
    }
    enum { TOKENS = 64 };
    char msg[512] = "";
    const struct rope_key key = key_of(131072, 40);
    const struct rope_table *const t = rope_acquire(&rope_maker_cuda, &key, msg, sizeof msg);
    if (!t) {
        printf("FAILED  acquire: %s\n0 passed, 1 failed\n", msg);
        return 1;
    }
    void *const address = t->data;
    const size_t bytes = (size_t) TOKENS * (size_t) t->width * 4;
    std::vector<int> host(TOKENS);
    for (int i = 0; i < TOKENS; i++)
        host[i] = i * 2080 % 131072;
    host[TOKENS - 1] = 131071;
    int *position;
    float *out;
    ok(cudaMalloc(&position, TOKENS * sizeof(int)) == cudaSuccess && cudaMalloc(&out, bytes) == cudaSuccess, "memory");
    cudaMemcpy(position, host.data(), TOKENS * sizeof(int), cudaMemcpyHostToDevice);

    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess, "capture begins");
    const struct rope_table *const again = rope_acquire(&rope_maker_cuda, &key, msg, sizeof msg); /* known: no CUDA call */
    ok(again == t && again->data == address, "the same table while capturing");
    gather<<<TOKENS, 64, 0, stream>>>((const float *) again->data, again->width, position, out);
    ok(cudaStreamEndCapture(stream, &graph) == cudaSuccess, "capture ends");
    ok(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess, "instantiated");

    std::vector<char> one(bytes), now(bytes), row((size_t) t->width * 4);
    ok(cudaGraphLaunch(exec, stream) == cudaSuccess && cudaStreamSynchronize(stream) == cudaSuccess, "first replay");
    cudaMemcpy(one.data(), out, bytes, cudaMemcpyDeviceToHost);
    for (int i = 0; i < TOKENS; i++) {
        cudaMemcpy(row.data(), (const char *) address + (size_t) host[i] * row.size(), row.size(), cudaMemcpyDeviceToHost);
        ok(memcmp(row.data(), one.data() + (size_t) i * row.size(), row.size()) == 0, "the rows of the table");
    }

    rope_drop(t); /* the graph's handle, `again`, is left */
    ok(rope_release(&key) == 1, "not freed while the graph has its handle");
    for (int round = 0; round < 20; round++) { /* memory that a freed table would hand on */
        const struct rope_key other = key_of(131072, 2.0f + (float) round);
        const struct rope_table *const o = rope_acquire(&rope_maker_cuda, &other, msg, sizeof msg);
        ok(o != nullptr && o->data != address, "another key, another address");
        cudaMemset(out, 0xff, bytes);
        ok(cudaGraphLaunch(exec, stream) == cudaSuccess && cudaStreamSynchronize(stream) == cudaSuccess, "replay");
        cudaMemcpy(now.data(), out, bytes, cudaMemcpyDeviceToHost);
        ok(memcmp(one.data(), now.data(), bytes) == 0, "the same bits on replay");
        if (o) {
            rope_drop(o);
            ok(rope_release(&other) == 0, "released");
        }
    }
    const struct rope_table *const last = rope_acquire(&rope_maker_cuda, &key, msg, sizeof msg);
    ok(last == t && last->data == address, "the same address for the life of the process");
    rope_drop(last);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    rope_drop(again);
    ok(rope_release(&key) == 0 && rope_tables() == 0, "freed with the last handle");
    ok(cudaDeviceSynchronize() == cudaSuccess, "the device is well");
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
