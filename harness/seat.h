/* SPDX-License-Identifier: Apache-2.0 */
/* A call with a place of its own on the side of the kernel's tensors, which stays between runs: other inputs into the same
 * buffers, other streams, graphs. */
#ifndef HARNESS_SEAT_H
#define HARNESS_SEAT_H

#include "backend.h"

struct seat {
    struct backend *backend;
    const struct lc_kernel *kernel;
    const struct call *c;
    const struct lc_device *device; /* NULL: on the host */
    uint8_t *arena;
    struct lc_tensor tensors[MAX_TENSORS];
    struct lc_call call;
    char msg[512];
};

/* All return 0 or the kernel's enum lc_status, -1 when the environment failed, -2 when the device is lost; seat->msg says why.
 * Close in every case. */
int seat_open(struct seat *s, struct backend *b, const struct lc_kernel *k, const struct call *c);
int seat_load(struct seat *s, const uint8_t *image);         /* a whole arena of the call */
int seat_start(struct seat *s, void *stream);                /* NULL: the backend's own; on a device nothing is waited for */
int seat_wait(struct seat *s, void *stream);                 /* an asynchronous fault shows here */
int seat_read(struct seat *s, uint8_t *after);               /* the arena as it is now */
int seat_run(struct seat *s, uint8_t *after);                /* start, wait, read */
int seat_lost(struct seat *s, int status, const char *what); /* of a device table's function: 0, or -1 with its words */
void seat_close(struct seat *s);

#endif
