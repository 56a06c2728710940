/* SPDX-License-Identifier: Apache-2.0 */
/* What plain_linear.c and plain_linear_sum.c share. */
#ifndef TESTS_MUTANTS_PLAIN_LINEAR_H
#define TESTS_MUTANTS_PLAIN_LINEAR_H

#include "plain.h"

enum { PLAIN_LINEAR_FMA = 6 }; /* of plain_knobs.order */

/* The sum of an element's K products. */
float plain_linear_sum(const struct linear_args *a, const float *term, int order, enum mutant mut);
/* The exact sum with out_acc, pushed aside by k->edge times what LIN-1 admits; false where nothing is free (LIN-8). */
bool plain_linear_edge(const struct linear_args *a, const float *term, const struct plain_knobs *k, float c, float *acc);
/* Does this mutant leave the element of this row and column out? */
bool plain_linear_gives_up(const struct linear_args *a, int64_t row, int64_t n, enum mutant mut);

struct plain_infs {
    bool in_operands, in_products; /* of an element; products: of finite operands */
};
/* What mutants of LIN-11 make of v, where sums are large. */
float plain_linear_large(const struct linear_args *a, const float *term, float c, struct plain_infs infs, float v,
                         enum mutant mut);

#endif
