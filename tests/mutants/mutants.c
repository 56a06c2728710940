/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin "mutants": one kernel variant per M row of table.h, named by its id, and "none" of each operator,
 * which is right. */
#include "plain.h"

static const struct plain_knobs usual;

/* The ABI hands run() no variant, so each row has a function; the table cannot drift from them. */
#define M(id, op, ...)                                                                                                           \
    static int run_##id(const struct lc_call *call)                                                                              \
    {                                                                                                                            \
        return plain_form(call, MUT_##id, plain_##op(call, &usual, MUT_##id));                                                   \
    }
#include "table.h"

#define X(op)                                                                                                                    \
    static int op##_none(const struct lc_call *call)                                                                             \
    {                                                                                                                            \
        return plain_##op(call, &usual, MUT_none);                                                                               \
    }
OPERATORS
#undef X

static const struct lc_kernel kernels[] = {
#define X(op) { #op, "none", NULL, 0, 0, op##_none, NULL },
    OPERATORS
#undef X
#define M(id, op, ...) { #op, #id, NULL, 0, 0, run_##id, NULL },
#include "table.h"
    { NULL, NULL, NULL, 0, 0, NULL, NULL },
};

const struct lc_plugin *lc_plugin_v1(void)
{
    static const struct lc_plugin plugin = { LC_ABI, sizeof(struct lc_call), "mutants", kernels };
    return &plugin;
}
