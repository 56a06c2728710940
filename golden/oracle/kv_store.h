/* SPDX-License-Identifier: Apache-2.0 */
/* KV-1..6 in two files: the stages on one head, kv_stages.c; where bytes go, kv_store.c. */
#ifndef GOLDEN_KV_STORE_H
#define GOLDEN_KV_STORE_H

#include "oracle.h"

/* What one element is after a stage: nominal, and the ends of what a conforming kernel may hold. open: not judged. Not a number for
 * certain: all three NaN; NaN or Inf (HAD-6): v NaN, the ends infinite. */
struct value {
    double v, lo, hi;
    int open;
};

struct kv {
    int64_t n, heads, d;
    int64_t norm, rope, hadamard, cast, store, per_head, bf16_stages, conjugate, interleaved, offset, rotary_dim;
    int64_t page_size, pages;
    int64_t codes_at[4], scales_at[4]; /* KV-3: base, page, row, head, in bytes */
    double eps, scale;
    const struct tensor *x, *weight, *table, *positions, *slots;
    struct tensor *pool, *out, *sf;
    struct tensor *y[3];
    struct hull hull;
    struct value *head, *other; /* d each */
    double *row;                /* heads * d: what the cast reads */
};

struct value kv_point(double v);
int64_t kv_integer(const struct tensor *t, int64_t i); /* element i of an I32 or I64 vector */

/* Each works on p->head, and returns 0 where the head is not judged. */
int kv_norm(struct kv *p);
int kv_rotate(struct kv *p, int64_t token);
int kv_transform(struct kv *p);

#endif
