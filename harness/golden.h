/* SPDX-License-Identifier: Apache-2.0 */
/* Golden files, exported cases, foreign dumps: one HDF5 format, "layercheck-1" (docs/format.md). */
#ifndef HARNESS_GOLDEN_H
#define HARNESS_GOLDEN_H

#include "case.h"
#include "spec.h"
#include "verdict.h"

struct golden;
/* Refuses another format or contract version, and a case that this build does not know. why: "PATH: ..." */
struct golden *golden_open(const char *path, char *why, size_t size);
void golden_close(struct golden *g);
size_t golden_count(const struct golden *g);
const char *golden_case(const struct golden *g, size_t i);        /* case id as the file has it */
const struct kase *golden_kase(const struct golden *g, size_t i); /* the same, parsed */

/* The call of a case with the file's inputs; *y: rows * d intervals, or NULL where the file has none (the caller
 * frees it). Returns 0, or -1 with c->msg; call_close(c) in both cases. */
int golden_open_call(struct golden *g, struct call *c, const struct kase *k, struct iv **y);
/* The storage of one slot of an opened call, outputs too: `storage` has room for its bytes. 0, or -1, why. */
int golden_read(struct golden *g, const struct call *c, int slot, void *storage, char *why, size_t size);
/* The content hash of a case matches what it holds. */
bool golden_intact(struct golden *g, const struct kase *k, char *why, size_t size);

/* Writes the inputs of the cases, outputs present and zero. 0, or -1 and no file. */
int golden_export(const char *path, const struct cases *cases, char *why, size_t size);

#endif
