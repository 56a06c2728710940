/* SPDX-License-Identifier: Apache-2.0 */
#include "seat.h"

#include <stdlib.h>
#include <string.h>

#include "../fast/cuda/device.h"

int seat_lost(struct seat *s, int status, const char *what)
{
    if (status)
        snprintf(s->msg, sizeof s->msg, "%s: %s", what, s->device ? s->device->last_error() : "out of memory");
    return status ? -1 : 0;
}

int seat_open(struct seat *s, struct backend *b, const struct lc_kernel *k, const struct call *c)
{
    memset(s, 0, sizeof *s);
    s->backend = b;
    s->kernel = k;
    s->c = c;
    if (k->on_device) {
        if (!(s->device = backend_device(b, s->msg, sizeof s->msg)))
            return -1;
        int status;
        if (!(s->arena = device_arena(s->device, c, &status, s->msg, sizeof s->msg)))
            return status;
    } else if (seat_lost(s, !(s->arena = arena_new(c)), "the arena"))
        return -1;
    call_bind(c, s->arena, s->tensors, &s->call);
    s->call.device = k->on_device ? 0 : -1;
    s->call.msg = s->msg;
    s->call.msg_size = sizeof s->msg;
    if (k->workspace && (s->call.workspace_size = k->workspace(&s->call)) > 0) {
        const size_t n = s->call.workspace_size;
        if (s->device) /* poisoned once: what a run leaves there is what the next one finds */
            return seat_lost(s, !(s->call.workspace = s->device->alloc(n)) || s->device->fill(s->call.workspace, POISON_A, n),
                             "the workspace");
        if (seat_lost(s, posix_memalign(&s->call.workspace, 256, n), "the workspace"))
            return -1;
        memset(s->call.workspace, POISON_A, n);
    }
    return 0;
}

int seat_load(struct seat *s, const uint8_t *image)
{
    if (s->device)
        return seat_lost(s, device_load(s->device, s->c, s->arena, image), "upload");
    arena_copy(s->c, s->arena, image);
    return 0;
}

int seat_start(struct seat *s, void *stream)
{
    s->call.stream = !s->device ? NULL : stream ? stream : backend_stream(s->backend);
    return backend_call(s->backend, s->kernel, s->c->op, &s->call);
}

int seat_wait(struct seat *s, void *stream)
{
    if (!s->device)
        return 0;
    const int status = s->device->stream_sync(stream ? stream : backend_stream(s->backend));
    return seat_lost(s, status, "device fault") ? -2 : 0;
}

int seat_read(struct seat *s, uint8_t *after)
{
    if (s->device)
        return seat_lost(s, device_read(s->device, s->c, after, s->arena), "device fault") ? -2 : 0;
    arena_copy(s->c, after, s->arena);
    return 0;
}

int seat_run(struct seat *s, uint8_t *after)
{
    int status = seat_start(s, NULL);
    status = status ? status : seat_wait(s, NULL);
    return status ? status : seat_read(s, after);
}

void seat_close(struct seat *s)
{
    if (s->device) {
        if (s->arena)
            s->device->free(s->arena);
        if (s->call.workspace)
            s->device->free(s->call.workspace);
    } else {
        arena_free(s->arena);
        free(s->call.workspace);
    }
    memset(s, 0, sizeof *s);
}
