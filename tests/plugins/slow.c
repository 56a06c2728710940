/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU backend's cast, 50 ms late: runs that tests interrupt (tests/cli/options.sh). */
#include <time.h>

#include "../../fast/cpu/fast.h"

static int run(const struct lc_call *call)
{
    const struct timespec a_while = { 0, 25 * 1000 * 1000 }; /* a case runs twice */
    nanosleep(&a_while, NULL);
    return fast_cast_kernels[0].run(call);
}

static const struct lc_kernel kernels[] = {
    { .op = "cast", .variant = "slow", .run = run },
    { .op = NULL },
};

static const struct lc_plugin plugin = { LC_ABI, sizeof(struct lc_call), "slow", kernels };

const struct lc_plugin *lc_plugin_v1(void)
{
    return &plugin;
}
