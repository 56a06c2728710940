/* SPDX-License-Identifier: Apache-2.0 */
/* Cases, patterns and suites: one grammar.
 *
 *   rmsnorm(M=17,d=7168,out=e4m3)         a case: left-out axes have the descriptor's first value
 *   rmsnorm(M={1,17},fill=*)              a pattern: sets of values; * is every value the descriptor lists
 *   pairs rmsnorm(M={1,17})               in a suite file: all pairs of values, left-out axes take every listed value
 *   rmsnorm(M={1,17})                     in a suite file: the product of the sets, left-out axes their first value
 *   include ci                            in a suite file: all of another suite
 *   # ...                                 a comment                                                                        */
#ifndef HARNESS_CASE_H
#define HARNESS_CASE_H

#include <stdbool.h>
#include <stddef.h>

#include "op.h"

struct axis_value {
    int64_t i;
    double f;
};
int axis_count(const struct op *op, int axis); /* values the descriptor lists */
struct axis_value axis_listed(const struct op *op, int axis, int n);
bool axis_parse(const struct op *op, int axis, const char *text, size_t len, struct axis_value *v);
void axis_print(const struct op *op, int axis, struct axis_value v, char *to, size_t size);

void kase_default(struct kase *k, const struct op *op);
void kase_print(const struct kase *k, char *to, size_t size);
/* Reads a case id; settles it. On an error, or when the case is not legal as written, says why and returns -1. */
int kase_parse(struct kase *k, const char *id, char *why, size_t size);
bool dialect_of(const struct op *op, const char *dialect); /* has the operator this dialect? NULL: the usual one */
/* No byte count of the case can pass 64 bits: four sizes multiplied, the largest, stay below 2^52. */
bool kase_fits(const struct kase *k);
/* Of a settled case that fits: the elements of its call, without what strides leave between them, take no more than 64 GiB. Larger
 * ones are a slip of the hand, and would end by the timeout. */
bool kase_is_sane(const struct kase *k);
/* op->settle; and puts a bad into its form of the call, which it loses where the reference does not refuse it there for the reason
 * foretold (bad.c). */
const char *kase_settle(struct kase *k);
bool kase_same(const struct kase *a, const struct kase *b);

struct pattern {
    const struct op *op; /* NULL: any */
    int n[MAX_AXES];     /* 0: not mentioned */
    struct axis_value value[MAX_AXES][MAX_VALUES];
};
int pattern_parse(struct pattern *p, const char *text, char *why, size_t size);
bool pattern_matches(const struct pattern *p, const struct kase *k);

struct cases {
    struct kase *at;
    size_t n, room;
    const char *const *ops; /* with n_ops > 0: the only operators whose pairs a suite need make */
    int n_ops;
};
void cases_add(struct cases *c, const struct kase *k); /* settled; twice the same is kept once */
void cases_free(struct cases *c);
/* A suite by name ("ci") or file path. */
int suite_read(struct cases *c, const char *suite, char *why, size_t size);
int suite_line(struct cases *c, const char *line, char *why, size_t size); /* one line of a suite file */
/* Pairs of listed values that some legal case has and no case of c: prints each, returns how many. */
size_t suite_uncovered(const struct cases *c, const struct op *op, FILE *to);

#endif
