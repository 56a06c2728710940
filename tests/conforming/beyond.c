/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin "beyond". One kernel per B row of variants.h, past what the contract leaves free: each must be
 * flagged. */
#include "../mutants/plain.h"

/* The ABI hands run() no variant, so each row has a function. */
#define B(id, op, cases, check, text, ...)                                                                                       \
    static int run_##op##_##id(const struct lc_call *call)                                                                       \
    {                                                                                                                            \
        static const struct plain_knobs knobs = { __VA_ARGS__ };                                                                 \
        return plain_##op(call, &knobs, MUT_none);                                                                               \
    }
#define BD B
#define BK B
#include "variants.h"

static const struct lc_kernel kernels[] = {
#define B(id, op, ...) { #op, #id, NULL, 0, 0, run_##op##_##id, NULL },
#define BK(id, op, ...) { #op, #id, NULL, 0, LC_K8_CORES, run_##op##_##id, NULL },
#define BD(id, op, ...) { #op, #id, NULL, 0, LC_DENSE_HADAMARD, run_##op##_##id, NULL },
#include "variants.h"
    { NULL, NULL, NULL, 0, 0, NULL, NULL },
};

const struct lc_plugin *lc_plugin_v1(void)
{
    static const struct lc_plugin plugin = { LC_ABI, sizeof(struct lc_call), "beyond", kernels };
    return &plugin;
}
