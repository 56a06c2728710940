/* SPDX-License-Identifier: Apache-2.0 */
#include "room.h"

#include <stdlib.h>
#include <string.h>

int room_open(struct room *room, const struct op *op, const union op_args *args, int64_t cols[MAX_TENSORS])
{
    size_t most = 1;
    memset(room, 0, sizeof *room);
    for (int i = 0; i < MAX_TENSORS; i++) {
        cols[i] = op->tensors[i].name && op_tensor(op, args, i) ? op->cols(args, i) : 0;
        if (i == 0 || (op->tensors[i].name && op->tensors[i].dir == DIR_OUT)) /* of other inputs no row is kept here */
            most = (size_t) cols[i] > most ? (size_t) cols[i] : most;
    }
    room->iv = calloc(most * (MAX_TENSORS + 1), sizeof *room->iv);
    room->code = calloc(most * MAX_TENSORS, sizeof *room->code);
    room->free = calloc(most * (MAX_TENSORS + 1), 1);
    room->work = calloc(op->work ? op->work(args) : 1, 1);
    if (!room->iv || !room->code || !room->free || !room->work)
        return -1;
    for (int i = 0; i < MAX_TENSORS; i++) {
        room->want.at[i] = room->iv + most * (size_t) i;
        room->want.free[i] = room->free + most * (size_t) i;
        if (op->tensors[i].name && op_tensor(op, args, i) && op->tensors[i].dir == DIR_OUT)
            room->got.code[i] = room->row[i] = room->code + most * (size_t) i;
    }
    room->want.y = room->iv + most * MAX_TENSORS;
    room->want.carry = room->free + most * MAX_TENSORS;
    room->want.work = room->work;
    return 0;
}

void room_close(struct room *room)
{
    free(room->iv);
    free(room->code);
    free(room->free);
    free(room->work);
}
