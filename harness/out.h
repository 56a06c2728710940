/* SPDX-License-Identifier: Apache-2.0 */
/* What a run says: console lines, progress, summary, JUnit, the JSON report. */
#ifndef HARNESS_OUT_H
#define HARNESS_OUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* One failing case: verdict, case, tensor, index, got and want, ulp, count, how to rerun it; -v: a histogram too. */
void out_failure(FILE *to, json_t *result, bool verbose);
void out_progress(size_t done, size_t of, json_t *result); /* on a terminal only */
void out_progress_end(void);

struct run_facts { /* what the head of a report names */
    const char *suite, *command;
    json_t *devices; /* by backend: what the device table says of it; may be NULL */
    size_t cases;    /* in the suite */
    double seconds;
};
/* Rows by backend, kernel, operator; totals. */
json_t *out_summary(json_t *results, const struct run_facts *facts);
void out_text(FILE *to, json_t *summary);
void out_junit(FILE *to, json_t *results, json_t *summary);
void out_json(FILE *to, json_t *value);
struct report { /* what a report says */
    json_t *results, *summary;
};

const char *outcome_of(json_t *result);
json_int_t int_of(json_t *o, const char *key); /* 0 where absent */
double real_of(json_t *o, const char *key);
const char *text_of(json_t *o, const char *key); /* "" where absent */
json_t *out_words(const char *text);             /* a string, whatever bytes these are: ? for what is not printable ASCII */

#endif
