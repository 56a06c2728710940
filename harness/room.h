/* SPDX-License-Identifier: Apache-2.0 */
/* Room for one row of a call, as the reference wants it and as somebody returned it. */
#ifndef HARNESS_ROOM_H
#define HARNESS_ROOM_H

#include "op.h"

struct room { /* one row of every output */
    struct iv *iv;
    uint32_t *code, *row[MAX_TENSORS]; /* row: the part of code that is one output's, or NULL */
    uint8_t *free;
    struct ref_want want;
    struct ref_got got;
};

/* cols: judged elements of a row of each tensor, 0 where it takes no part. 0, or -1 when memory is out; close in
 * both cases. */
int room_open(struct room *room, const struct op *op, const union op_args *args, int64_t cols[MAX_TENSORS]);
void room_close(struct room *room);

#endif
