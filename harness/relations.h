/* SPDX-License-Identifier: Apache-2.0 */
/* Relations: what a kernel's own results must satisfy among themselves, whatever the reference thinks: a second call of the same
 * backend on inputs that a rule makes of the first one's, and a rule for its outputs. Each operator's are in
 * harness/ops/<op>_relations.c; a row is a struct perturbation whose `text` says what is judged, bitwise or not, and why. */
#ifndef HARNESS_RELATIONS_H
#define HARNESS_RELATIONS_H

#include "perturb.h"

/* Each ends at name == NULL. */
extern const struct perturbation cast_relations[], context_cast_relations[], hadamard_relations[], kv_store_relations[],
    linear_relations[], qkv_relations[], rmsnorm_relations[], rope_relations[], rope_table_relations[], sf_layout_relations[];

/* The n-th relation of an operator, those of all operators behind its own; NULL behind the last. */
const struct perturbation *relation_nth(const struct op *op, int n);
const struct perturbation *relation_find(const struct op *op, const char *name);

struct other { /* the second call */
    struct call c;
    uint8_t *after;        /* its arena after the run */
    uint8_t *flag;         /* room for a byte a column, of what row() found out */
    double number, sum[2]; /* what the rules have to know */
    /* Makes a place in the second call that in the base call; NULL: they are the same. A row goes to one row whatever its column. */
    void (*at)(const struct other *o, int64_t *row, int64_t *col);
};
/* Opens the call of a case with the base call's inputs, row by row, which put() then changes. 0, or -1 with t->msg. Close in
 * every case. */
int other_open(struct attempt *t, struct other *o, const struct kase *k);
int other_new(struct attempt *t, struct other *o, const struct kase *k);      /* the same, inputs left to the caller */
int other_run(struct attempt *t, struct other *o, const struct lc_kernel *k); /* as a perturbation */
void other_close(struct other *o);
/* Settled, and as it was before: or t->none says that the relation has no second call here. */
bool other_is_legal(struct attempt *t, const struct kase *k);
/* The case of another operator whose axes are this one's; `axes` names its axis, then the base case's, and ends at NULL. */
void other_case(const struct attempt *t, struct kase *k, const char *op, const char *const *axes);
void kase_put(struct kase *k, const char *axis, int64_t value);
/* Runs the second call, opened with `status`, and counts it; `where` says what it is. As other_run. */
int other_result(struct attempt *t, struct other *o, int status, const struct lc_kernel *k, const char *where);
/* A kernel of the same backend for another operator: of the same name if there is one. NULL: none in this dialect. */
const struct lc_kernel *other_kernel(const struct attempt *t, const char *op);

double base_value(const struct attempt *t, int slot, int64_t row, int64_t col); /* of an output of the base run */
double other_value(const struct other *o, int slot, int64_t row, int64_t col);
bool call_has(const struct call *c, int slot);          /* listed and on */
bool scales_exactly(enum lc_dtype f, double v, int by); /* v * 2^by is of the format, and neither is subnormal */
bool is_within(double v, int lo, int hi);               /* 0, or 2^lo <= |v| < 2^hi */

struct rule {
    bool (*row)(const struct attempt *t, struct other *o, int64_t row); /* is the row judged? NULL: all are */
    /* *code comes as the base run's and leaves as what the second call must give; false: no word about this element. NULL: the
     * same code. */
    bool (*expect)(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *code);
    /* How far the value may be from that; NULL: bitwise. */
    double (*allowed)(const struct attempt *t, const struct other *o, int64_t row, int64_t col, double want);
    bool zeros;      /* the sign of a zero is free (FMT-6) */
    bool bits_shown; /* another code within `allowed` differs, and is reported only */
};
/* Outputs `slot` of the second call against `base_slot` of the base run. */
void rule_judge(struct attempt *t, struct other *o, int slot, int base_slot, const struct rule *r);

#endif
