/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that refuses nothing and does nothing: every refusal row must fail it (tests/cli/refusals.sh). */
#include <stddef.h>

#include "layercheck.h"

static int run(const struct lc_call *call)
{
    (void) call;
    return LC_OK;
}

static const struct lc_kernel kernels[] = {
#define X(op) { #op, "accepts_all", NULL, 0, LC_CHECKS_VALUES, run, NULL },
    OPERATORS
#undef X
    { NULL, NULL, NULL, 0, 0, NULL, NULL },
};

static const struct lc_plugin plugin = { LC_ABI, sizeof(struct lc_call), "accepts_all", kernels };

const struct lc_plugin *lc_plugin_v1(void)
{
    return &plugin;
}
