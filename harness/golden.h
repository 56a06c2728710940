/* SPDX-License-Identifier: Apache-2.0 */
/* Golden files, exported cases, foreign dumps: one HDF5 format (docs/format.md). */
#ifndef HARNESS_GOLDEN_H
#define HARNESS_GOLDEN_H

#include "case.h"
#include "spec.h"
#include "verdict.h"


struct golden;
struct golden *golden_open(const char *path, char *why, size_t size); /* refuses another format or contract version */
void golden_close(struct golden *g);
size_t golden_count(const struct golden *g);
const char *golden_case(const struct golden *g, size_t i); /* case id */

/* The call of a case with the file's inputs; *y: rows * d intervals, or NULL where the operator has none (the caller frees it).
 * Returns 0, or -1 with c->msg. */
int golden_open_call(struct golden *g, struct call *c, const struct kase *k, struct iv **y);
/* A storage of the case, outputs too. 0, or -1. */
int golden_read(struct golden *g, const struct kase *k, const char *tensor, void *storage, size_t bytes);
/* The content hash of a case matches what it holds. */
bool golden_intact(struct golden *g, const struct kase *k, char *why, size_t size);

/* Writes the inputs of the cases, outputs present and zero. 0, or -1 and no file. */
int golden_export(const char *path, const struct cases *cases, char *why, size_t size);

#endif
