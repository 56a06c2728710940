/* SPDX-License-Identifier: Apache-2.0 */
/* The names of all host mutants but those of one clause, WITHOUT, behind which there is nothing (tests/cli/coverage.sh). */
#include <stddef.h>
#include <string.h>

#include "layercheck.h"

static int run(const struct lc_call *call)
{
    (void) call;
    return LC_UNSUPPORTED;
}

static const struct {
    const char *op, *id, *clause;
} mutants[] = {
#define M(id, op, clause, ...) { #op, #id, clause },
#include "../mutants/table.h"
};
enum { MUTANTS = sizeof mutants / sizeof *mutants };

const struct lc_plugin *lc_plugin_v1(void)
{
    static struct lc_kernel kernels[MUTANTS + 1]; /* the last one stays the end */
    static const struct lc_plugin plugin = { LC_ABI, sizeof(struct lc_call), "few_mutants", kernels };
    int n = 0;
    for (int i = 0; i < MUTANTS; i++)
        if (strcmp(mutants[i].clause, WITHOUT))
            kernels[n++] = (struct lc_kernel) { .op = mutants[i].op, .variant = mutants[i].id, .run = run };
    return &plugin;
}
