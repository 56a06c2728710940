/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA backend's door: the variant tables of all operators, one after the other. */
#include "layercheck.h"

extern const struct lc_kernel fast_cast_kernels[], fast_rmsnorm_kernels[], fast_rope_table_kernels[], fast_hadamard_kernels[];
extern const struct lc_kernel fast_linear_kernels[];

namespace
{

enum { TABLE_SIZE = 64 };

struct table {
    struct lc_kernel kernel[TABLE_SIZE];
    struct lc_plugin plugin;

    table() : kernel(), plugin()
    {
        const struct lc_kernel *const lists[] = { fast_cast_kernels, fast_rmsnorm_kernels, fast_rope_table_kernels,
                                                  fast_hadamard_kernels, fast_linear_kernels };
        int n = 0;
        for (const struct lc_kernel *list : lists)
            for (; list->op != nullptr && n < TABLE_SIZE - 1; list++)
                kernel[n++] = *list;
        plugin = { LC_ABI, (uint32_t) sizeof(struct lc_call), "cuda", kernel };
    }
};

} // namespace

extern "C" const struct lc_plugin *lc_plugin_v1(void)
{
    static const table all;
    return &all.plugin;
}
