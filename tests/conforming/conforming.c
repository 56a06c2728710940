/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin "conforming". Right kernels, one per V row of variants.h: every case must pass. */
#include "../mutants/plain.h"

/* The ABI hands run() no variant, so each row has a function. */
#define V(id, op, text, ...)                                                                                                     \
    static int run_##op##_##id(const struct lc_call *call)                                                                       \
    {                                                                                                                            \
        static const struct plain_knobs knobs = { __VA_ARGS__ };                                                                 \
        return plain_##op(call, &knobs, MUT_none);                                                                               \
    }
#define D(id, op, dialect, text, ...) V(id, op, text, __VA_ARGS__)
#define VD V
#define VK V
#include "variants.h"

static const struct lc_kernel kernels[] = {
#define V(id, op, ...) { #op, #id, NULL, 0, 0, run_##op##_##id, NULL },
#define D(id, op, dialect, ...) { #op, #id, dialect, 0, 0, run_##op##_##id, NULL },
#define VK(id, op, ...) { #op, #id, NULL, 0, LC_K8_CORES, run_##op##_##id, NULL },
#define VD(id, op, ...) { #op, #id, NULL, 0, LC_DENSE_HADAMARD, run_##op##_##id, NULL },
#include "variants.h"
    { NULL, NULL, NULL, 0, 0, NULL, NULL },
};

const struct lc_plugin *lc_plugin_v1(void)
{
    static const struct lc_plugin plugin = { LC_ABI, sizeof(struct lc_call), "conforming", kernels };
    return &plugin;
}
