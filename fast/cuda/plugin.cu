/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA backend's door: the variant tables of all operators, one after the other. */
#include <assert.h>

#include "layercheck.h"

/* fast_X_kernels of fast/cuda/X.cu; each ends at op == nullptr. OPERATORS: op_names of meson.build. */
#define X(op) extern const struct lc_kernel fast_##op##_kernels[];
OPERATORS
#undef X

namespace
{

enum { TABLE_SIZE = 97 };

struct table {
    struct lc_kernel kernel[TABLE_SIZE];
    struct lc_plugin plugin;

    table() : kernel(), plugin()
    {
#define X(op) fast_##op##_kernels,
        const struct lc_kernel *const lists[] = { OPERATORS };
#undef X
        int n = 0;
        for (const struct lc_kernel *list : lists)
            for (; list->op != nullptr; list++) {
                assert(n < TABLE_SIZE - 1);
                kernel[n++] = *list;
            }
        plugin = { LC_ABI, (uint32_t) sizeof(struct lc_call), "cuda", kernel };
    }
};

} // namespace

extern "C" const struct lc_plugin *lc_plugin_v1(void)
{
    static const table all;
    return &all.plugin;
}
