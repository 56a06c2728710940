/* SPDX-License-Identifier: Apache-2.0 */
/* What a determinism report says: a line for each cell that differs, the matrix, JSON. */
#ifndef HARNESS_DETERMINISM_REPORT_H
#define HARNESS_DETERMINISM_REPORT_H

#include "out.h"

struct perturbation;

void determinism_line(FILE *to, json_t *result);
/* kind: "determinism" or "relations". The matrix: "rows" by "BACKEND/KERNEL OP", in it by perturbation or relation the worst word of all cases and the counts. */
json_t *determinism_summary(json_t *results, const struct perturbation *const *chosen, const char *kind,
                            const struct run_facts *facts);
void determinism_text(FILE *to, json_t *summary);
int determinism_write(const char *report, json_t *results, json_t *summary); /* KIND:FILE; 0, or -1 with errno */
int determinism_exit_code(json_t *summary, size_t expected);

#endif
