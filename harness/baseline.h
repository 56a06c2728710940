/* SPDX-License-Identifier: Apache-2.0 */
/* Baselines: hashes of a kernel's output codes, case by case, so that builds, devices and drivers compare bit by bit (DET-1).
 *
 *   { "format": "layercheck-baseline-1", "program", "revision", "compiler", "contract", "backend", "plugin", "library_sha256",
 *     "device": {...}, "suite", "bits",
 *     "kernels": { "VARIANT OP": { CASE_ID: { TENSOR: { "fmt", "n", "cols", "sha256", "codes" } } } } }
 *
 * sha256 is of the codes in the order of rows and columns, little-endian, wherever the layout puts them; codes (with --bits, at
 * most BITS_MOST bytes a tensor) are the same bytes in hex.                                                               */
#ifndef HARNESS_BASELINE_H
#define HARNESS_BASELINE_H

#include <jansson.h>

#include "seat.h"

#define BASELINE_FORMAT "layercheck-baseline-1"
enum { BITS_MOST = 1 << 16 };

/* One job of a worker (baseline_job.c). */
json_t *baseline_job(struct backend *b, const struct lc_kernel *k, const struct call *c, bool codes, bool *lost);
int sha256_hex(const void *bytes, size_t n, char to[65]); /* 0, or -1 */
/* The SHA-256 of a file, or "" (baseline_job.c). */
void file_sha256(const char *path, char to[65]);

/* Prints what moved from a to b (diff.c); an exit code. */
int baseline_diff(FILE *to, json_t *a, json_t *b, const char *a_name, const char *b_name);
json_t *baseline_read(const char *path, char *why, size_t size); /* NULL: why */

#endif
