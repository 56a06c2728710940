/* SPDX-License-Identifier: Apache-2.0 */
/* KV-1..6 in two files: the stages on one head, plain_kv_stages.c; cast, addresses and the call, plain_kv_store.c. */
#ifndef TESTS_MUTANTS_PLAIN_KV_H
#define TESTS_MUTANTS_PLAIN_KV_H

#include "plain.h"

enum {
    MOST_D = 32768,
};

struct kv_head {
    const struct lc_call *call;
    const struct kv_store_args *a;
    const struct plain_knobs *k;
    enum mutant mut;
    int64_t token, head;
    float rstd, before; /* of this head, of the one before */
    bool nan_before;
};

int64_t plain_kv_index(const struct lc_tensor *t, int64_t i);    /* element i of an I32 or I64 vector */
void plain_kv_stages(struct kv_head *h, int64_t head, float *v); /* head: whose x; v: d values */

#endif
