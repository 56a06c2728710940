/* SPDX-License-Identifier: Apache-2.0 */
/* Implementations under test: shared objects with lc_plugin_v1, the reference itself, and the device their tensors live on. */
#ifndef HARNESS_BACKEND_H
#define HARNESS_BACKEND_H

#include "verdict.h"

struct lc_device;
const struct lc_device *backend_device(struct backend *b, char *why, size_t size); /* opened at need; NULL: why */
void *backend_stream(const struct backend *b);
/* Runs a kernel on a bound call and sets the floating-point environment back; an enum lc_status, or NO_STATUS. call->msg is set. */
int backend_call(struct backend *b, const struct lc_kernel *k, const struct op *op, struct lc_call *call);
void *backend_symbol(const struct backend *b, const char *name); /* of its shared object and what that links; NULL: none */

/* Memory on the device for the call's arena; NULL and why. A sparse one is waited for a while, other workers give theirs back;
 * then *status is LC_UNSUPPORTED, else -1. */
uint8_t *device_arena(const struct lc_device *d, const struct call *c, int *status, char *why, size_t size);
/* The call's windows, into an arena on the device and back; as the table's upload and download. */
int device_load(const struct lc_device *d, const struct call *c, uint8_t *arena, const uint8_t *image);
int device_read(const struct lc_device *d, const struct call *c, uint8_t *after, const uint8_t *arena);

#endif
