/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin "mutants": one kernel variant per M row of table.h, named by its id, and "none", which is right.
 */
#include "plain.h"

static const struct plain_knobs usual;

/* The ABI hands run() no variant, so each row has a function; the table cannot drift from them. */
#define M(id, op, ...)                                                                                                           \
    static int run_##id(const struct lc_call *call)                                                                              \
    {                                                                                                                            \
        return plain_##op(call, &usual, MUT_##id);                                                                               \
    }
#include "table.h"

static int cast_none(const struct lc_call *call)
{
    return plain_cast(call, &usual, MUT_none);
}

static int rmsnorm_none(const struct lc_call *call)
{
    return plain_rmsnorm(call, &usual, MUT_none);
}

static int rope_table_none(const struct lc_call *call)
{
    return plain_rope_table(call, &usual, MUT_none);
}

static int hadamard_none(const struct lc_call *call)
{
    return plain_hadamard(call, &usual, MUT_none);
}

static int linear_none(const struct lc_call *call)
{
    return plain_linear(call, &usual, MUT_none);
}

static const struct lc_kernel kernels[] = {
    { "cast", "none", NULL, 0, 0, cast_none, NULL },
    { "rmsnorm", "none", NULL, 0, 0, rmsnorm_none, NULL },
    { "rope_table", "none", NULL, 0, 0, rope_table_none, NULL },
    { "hadamard", "none", NULL, 0, 0, hadamard_none, NULL },
    { "linear", "none", NULL, 0, 0, linear_none, NULL },
#define M(id, op, ...) { #op, #id, NULL, 0, 0, run_##id, NULL },
#include "table.h"
    { NULL, NULL, NULL, 0, 0, NULL, NULL },
};

const struct lc_plugin *lc_plugin_v1(void)
{
    static const struct lc_plugin plugin = { LC_ABI, sizeof(struct lc_call), "mutants", kernels };
    return &plugin;
}
