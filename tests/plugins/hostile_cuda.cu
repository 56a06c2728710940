/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins that take the device down, as hostile.c does the host: one kernel, `cast`, which is the CUDA
 * backend's own except in calls with M == 3. Each returns LC_OK; what it did shows when the stream is
 * waited for.
 *
 * Built with -DHOSTILE_KIND=<kind> from this file, fast/cuda/cast.cu and ref/ (args.c, sf.c, cast.c,
 * num.c, iv.c). The kinds:
 *
 *   WRITES_FAR      writes where nothing is mapped: an illegal address, and every later call in the process fails
 *   WRITES_BEFORE   changes the byte before out, and all else is right
 *   TRAPS           executes a trap instruction: likewise the end of the context
 *   LOOPS           a kernel that never ends
 */
#include <cuda_runtime.h>
#include <stdint.h>

extern "C" {
#include "../../ref/args.h"
}

#define WRITES_FAR 1
#define WRITES_BEFORE 2
#define TRAPS 3
#define LOOPS 4

#if !defined(HOSTILE_KIND) || HOSTILE_KIND == 0
#error "build with -DHOSTILE_KIND=<one of the kinds above>"
#endif

extern const struct lc_kernel fast_cast_kernels[];

namespace
{

/* go is 1: a loop that the compiler cannot see the end of, nor the lack of one. */
__global__ void misbehave(volatile unsigned char *out, int go)
{
    switch (HOSTILE_KIND) {
    case WRITES_FAR:
        out[(int64_t) 1 << 45] = 1;
        break;
    case WRITES_BEFORE:
        out[-1] ^= 0x55;
        break;
    case TRAPS:
        asm volatile("trap;");
        break;
    default:
        while (go)
            (void) out[0];
    }
}

int run(const struct lc_call *call)
{
    const int status = fast_cast_kernels[0].run(call);
    union op_args args;
    if (status != LC_OK || ref_cast_check(call, &args) != LC_OK)
        return status;
    const struct cast_args &a = args.cast;
    if (a.m == 3 && a.batch > 0)
        misbehave<<<1, 1, 0, (cudaStream_t) call->stream>>>((unsigned char *) a.t[CAST_OUT]->data, 1);
    return LC_OK;
}

const struct lc_kernel kernels[] = {
    { "cast", "hostile", nullptr, 1, 0, run, nullptr },
    { nullptr, nullptr, nullptr, 0, 0, nullptr, nullptr },
};

const struct lc_plugin plugin = { LC_ABI, (uint32_t) sizeof(struct lc_call), "hostile_cuda", kernels };

} // namespace

extern "C" const struct lc_plugin *lc_plugin_v1(void)
{
    return &plugin;
}
