/* SPDX-License-Identifier: Apache-2.0 */
/* Implementations under test: shared objects with lc_plugin_v1, the reference itself, and the device their tensors live on. */
#ifndef HARNESS_BACKEND_H
#define HARNESS_BACKEND_H

#include "verdict.h"

struct lc_device;
const struct lc_device *backend_device(struct backend *b, char *why, size_t size); /* opened at need; NULL: why */
void *backend_stream(const struct backend *b);

#endif
