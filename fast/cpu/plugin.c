/* SPDX-License-Identifier: Apache-2.0 */
/* The backend `cpu`: portable C, OpenMP over rows. Each operator's file lists its variants; here they
 * become one table. */
#include "fast.h"

enum { MAX_KERNELS = 32 };

const struct lc_plugin *lc_plugin_v1(void)
{
    static const struct lc_kernel *const tables[] = { fast_cast_kernels, fast_rmsnorm_kernels, fast_rope_table_kernels,
                                                      fast_hadamard_kernels, fast_linear_kernels };
    static struct lc_kernel all[MAX_KERNELS + 1]; /* the last one stays the end */
    static const struct lc_plugin plugin = { LC_ABI, sizeof(struct lc_call), "cpu", all };
    int n = 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const struct lc_kernel *k = tables[i]; k->op && n < MAX_KERNELS; k++)
            all[n++] = *k;
    return &plugin;
}
