/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU backend's rmsnorm as a build with -ffast-math has it: flush-to-zero and denormals-are-zero are on from the moment
 * of loading: the harness must let the kernel run so. What it returns below 2^-126 is wrong (FMT-5), and must be judged wrong by a judge that they
 * would reach too (tests/cli/hostile.sh). */
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "../../fast/cpu/fast.h"

static void flush_to_zero(void)
{
#if defined(__SSE__)
    _mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(UINT64_C(1) << 24));
#endif
}

static int run(const struct lc_call *call)
{
    return fast_rmsnorm_kernels[0].run(call);
}

static const struct lc_kernel kernels[] = {
    { .op = "rmsnorm", .variant = "flushes", .run = run },
    { .op = NULL },
};

static const struct lc_plugin plugin = { LC_ABI, sizeof(struct lc_call), "flushes", kernels };

const struct lc_plugin *lc_plugin_v1(void)
{
    flush_to_zero();
    return &plugin;
}
