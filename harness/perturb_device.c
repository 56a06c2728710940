/* SPDX-License-Identifier: Apache-2.0 */
/* Perturbations that only a device has: streams, load, graphs, occupied multiprocessors. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../fast/cuda/device.h"
#include "perturb.h"

enum { RUNS = 5, COPIES = 8, COPY_BYTES = 64 << 20 };

static bool on_host(struct attempt *t)
{
    if (!t->kernel->on_device)
        t->none = "a host kernel";
    return !t->kernel->on_device;
}

static int multiprocessors(struct seat *s)
{
    char info[1024] = "";
    json_t *const o = s->device->info(0, info, sizeof info) ? NULL : json_loads(info, 0, NULL);
    const int n = (int) json_integer_value(json_object_get(o, "sm_count"));
    json_decref(o);
    return n;
}

static void where(struct attempt *t, const char *format, int n)
{
    if (!t->d.bad_elements)
        snprintf(t->d.where, sizeof t->d.where, format, n);
}

static int long_copies(struct seat *s, void *load, void *stream)
{
    int status = 0;
    for (int i = 0; i < COPIES && !status; i++)
        status = seat_lost(s, s->device->copy(load, (uint8_t *) load + COPY_BYTES / 2, COPY_BYTES / 2, stream), "copy");
    return status;
}

/* The inputs arrive in stream order, behind long copies: a kernel that runs on another stream, or early, meets poison (N01).
 * staged: the arena's image on the device. */
static int one_stream(struct attempt *t, struct seat *s, void *stream, void *load, const uint8_t *staged, const int64_t *same)
{
    const struct call *const c = t->base;
    int status = seat_lost(s, s->device->fill(s->arena, POISON_B, c->arena_size), "fill");
    status = status ? status : long_copies(s, load, stream);
    for (int i = 0; i < c->n_windows && !status; i++) {
        const struct window w = c->window[i];
        status = seat_lost(s, s->device->copy(s->arena + w.begin, staged + w.begin, w.end - w.begin, stream), "copy");
    }
    status = status ? status : seat_start(s, stream);
    status = status ? status : seat_wait(s, stream);
    status = status ? status : seat_read(s, t->got);
    if (!status)
        rows_compare(t, t->want, c, t->got, same);
    return status;
}

int perturb_stream(struct attempt *t)
{
    static void *streams[2]; /* they live as long as the process */
    struct seat s;
    void *load = NULL;
    uint8_t *staged = NULL;
    if (on_host(t))
        return 0;
    int64_t *const same = rows_same(t);
    if (!same)
        return -1;
    int status = seat_open(&s, t->backend, t->kernel, t->base);
    if (!status)
        status = seat_lost(&s, !(load = s.device->alloc(COPY_BYTES)), "device memory");
    if (!status)
        status = seat_lost(&s, !(staged = s.device->alloc(t->base->arena_size)), "device memory");
    if (!status)
        status = seat_lost(&s, device_load(s.device, t->base, staged, t->base->image), "upload");
    for (int i = 0; i < 2 * 2 && !status; i++) {
        void **const stream = &streams[i % 2];
        if (!*stream)
            status = seat_lost(&s, !(*stream = s.device->stream_apart()), "a stream");
        where(t, "stream %d", i % 2 + 2);
        status = status ? status : one_stream(t, &s, *stream, load, staged, same);
    }
    if (load)
        s.device->free(load);
    if (staged)
        s.device->free(staged);
    free(same);
    return attempt_failed(t, &s, status);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

/* Runs of the base call while blocks of the spinning kernel are resident. Nothing is allocated meanwhile. A kernel whose blocks or
 * clusters do not fit into what they leave starts when their time is up: `fits` says so, and that is no fault of it. One that
 * waits in run() for the device is at fault (include/layercheck.h). */
static int beside(struct attempt *t, struct seat *s, int blocks, int alone, void *load, void *stream, const int64_t *same,
                  bool *fits)
{
    const struct lc_device *const d = s->device;
    double in_run = 0;
    int status = seat_lost(s, d->spin_start(blocks, alone), "the spinning kernel");
    if (status)
        return status;
    const double start = seconds();
    for (int run = 0; run < RUNS && !status && seconds() - start < LC_SPIN_SECONDS; run++) {
        status = seat_load(s, t->base->image);
        if (load && !status)
            status = long_copies(s, load, stream);
        const double begin = seconds();
        status = status ? status : seat_start(s, NULL);
        in_run += seconds() - begin;
        status = status ? status : seat_wait(s, NULL);
        status = status ? status : seat_read(s, t->got);
        if (!status)
            rows_compare(t, t->want, t->base, t->got, same);
    }
    const int late = d->spin_stop();
    *fits = *fits || late != LC_SPIN_LATE;
    if (status || late != LC_SPIN_LATE)
        return status ? status : seat_lost(s, late, "the spinning kernel");
    if (in_run < LC_SPIN_SECONDS / 2.0)
        return 0;
    snprintf(s->msg, sizeof s->msg, "run() waits for the device, %.1f s: it must enqueue and return", in_run);
    return -1;
}

static const char does_not_fit[] = "its blocks do not fit beside resident ones";

int perturb_busy(struct attempt *t)
{
    struct seat s;
    if (on_host(t))
        return 0;
    int64_t *const same = rows_same(t);
    if (!same)
        return -1;
    static void *stream;
    void *load = NULL;
    bool fits = false;
    int status = seat_open(&s, t->backend, t->kernel, t->base);
    if (!status)
        status = seat_lost(&s, !(load = s.device->alloc(COPY_BYTES)), "device memory");
    if (!status && !stream)
        status = seat_lost(&s, !(stream = s.device->stream_apart()), "a stream");
    for (int blocks = 1; blocks <= 3 && !status; blocks++) {
        where(t, "%d blocks on every multiprocessor, and copies", blocks);
        status = beside(t, &s, blocks * multiprocessors(&s), 0, load, stream, same, &fits);
    }
    if (!status && !fits && !t->d.bad_elements)
        t->none = does_not_fit;
    if (load)
        s.device->free(load); /* waits for the copies */
    free(same);
    return attempt_failed(t, &s, status);
}

int perturb_occupied(struct attempt *t)
{
    struct seat s;
    bool fits = false;
    if (on_host(t))
        return 0;
    int64_t *const same = rows_same(t);
    if (!same)
        return -1;
    int status = seat_open(&s, t->backend, t->kernel, t->base);
    const int all = status ? 0 : multiprocessors(&s), free_ones[] = { all - all / 4, all / 2, 8, 1 };
    for (int i = 0; i < 4 && !status; i++)
        if (free_ones[i] > 0 && free_ones[i] < all) {
            where(t, "%d free multiprocessors", free_ones[i]);
            status = beside(t, &s, all - free_ones[i], 1, NULL, NULL, same, &fits);
        }
    if (!status && !fits && !t->d.bad_elements)
        t->none = does_not_fit;
    free(same);
    return attempt_failed(t, &s, status);
}

/* ---- graphs ---- */

enum { SEEDS = 3 };
struct replay {
    struct seat seat;
    struct call other[SEEDS]; /* [0] is not used: the base call's own inputs */
    uint8_t *after[SEEDS];
};

static int capture(struct seat *s, void *stream, void **graph)
{
    const struct lc_device *const d = s->device;
    if (seat_lost(s, d->graph_begin(stream), "capture"))
        return -1;
    const int run = seat_start(s, stream);
    char words[sizeof s->msg];
    snprintf(words, sizeof words, "%s", s->msg);
    *graph = d->graph_end(stream); /* in any case: the stream must leave capture */
    if (run == LC_OK && !*graph) {
        snprintf(s->msg, sizeof s->msg, "cannot be captured into a graph (DET-1): %.300s", d->last_error());
        return LC_FAILED;
    }
    if (run)
        snprintf(s->msg, sizeof s->msg, "while captured into a graph (DET-1): %.400s", words);
    return run;
}

/* Replays over new inputs and poisoned outputs against eager runs of the same inputs (G13, G14, N04). */
static int replay(struct attempt *t, struct replay *r, const int64_t *same)
{
    static const int order[] = { 0, 1, 2, 1, 0 };
    struct seat *const s = &r->seat;
    void *const stream = backend_stream(t->backend), *graph = NULL;
    int status = seat_load(s, t->base->image);
    status = status ? status : seat_run(s, t->got); /* once before: what loads late is loaded */
    status = status ? status : capture(s, stream, &graph);
    for (size_t i = 0; i < sizeof order / sizeof *order && !status; i++) {
        const int n = order[i];
        where(t, "graph replay %d", (int) i + 1);
        status = seat_load(s, n ? r->other[n].image : t->base->image);
        if (!status)
            status = seat_lost(s, s->device->graph_launch(graph, stream), "graph");
        status = status ? status : seat_wait(s, stream);
        status = status ? status : seat_read(s, t->got);
        if (!status)
            rows_compare(t, n ? r->after[n] : t->want, t->base, t->got, same);
    }
    if (graph)
        s->device->graph_free(graph);
    return status;
}

int perturb_graph(struct attempt *t)
{
    if (on_host(t))
        return 0;
    struct replay *const r = calloc(1, sizeof *r);
    int64_t *const same = rows_same(t);
    int status = r && same ? seat_open(&r->seat, t->backend, t->kernel, t->base) : -1;
    for (int i = 1; i < SEEDS && !status; i++) /* eager, at other addresses than the graph's */
        if ((status = attempt_other(t, i, &r->other[i], &r->after[i])) != 0)
            snprintf(r->seat.msg, sizeof r->seat.msg, "%s", t->msg);
    if (r)
        status = attempt_failed(t, &r->seat, status ? status : replay(t, r, same));
    for (int i = 1; r && i < SEEDS; i++) {
        call_close(&r->other[i]);
        arena_free(r->after[i]);
    }
    free(r);
    free(same);
    return status;
}
