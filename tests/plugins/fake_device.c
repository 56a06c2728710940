/* SPDX-License-Identifier: Apache-2.0 */
/* A device in host memory, and kernels that run on it, for the perturbations that only a device has: it is both
 * lc_device_cuda.so and a plugin. Streams are queues that run when somebody waits for them; a graph is a queue kept.
 *
 * Each kernel but `right` gives other bits under the perturbation of its name. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../fast/cuda/device.h"
#include "layercheck.h"

extern const struct lc_kernel fast_cast_kernels[];

enum kind { RIGHT, STREAM, GRAPH, BUSY, OCCUPIED };
enum { MOST = 64, TENSORS = 4, SCALARS = 16, STREAMS = 16 };

struct task { /* a copy, or a kernel */
    void *dst;
    const void *src;
    size_t n;
    enum kind kind;
    struct lc_call call;
    struct lc_tensor tensors[TENSORS];
    struct lc_scalar scalars[SCALARS];
    uint16_t frozen;
};
struct queue {
    bool apart;
    int n;
    struct task task[MOST];
};

static struct queue streams[STREAMS], *capturing, *captured;
static int n_streams, spinning; /* 1: loads, 2: alone */

static void run_task(struct task *t)
{
    if (!t->dst) {
        fast_cast_kernels[0].run(&t->call);
        uint8_t *const out = t->tensors[1].data;
        out[0] ^= (uint8_t) ((t->kind == BUSY && spinning == 1) || (t->kind == OCCUPIED && spinning == 2));
        if (t->kind == GRAPH)
            out[0] = (uint8_t) t->frozen;
    } else
        memcpy(t->dst, t->src, t->n);
}

static int sync_stream(void *stream)
{
    struct queue *const q = stream;
    for (int i = 0; i < q->n; i++)
        run_task(&q->task[i]);
    q->n = 0;
    return 0;
}

/* The copies wait for all streams that are not apart. */
static void sync_all(void)
{
    for (int i = 0; i < n_streams; i++)
        if (!streams[i].apart)
            sync_stream(&streams[i]);
}

static struct task *push(void *stream)
{
    struct queue *const q = stream == capturing && capturing ? captured : stream;
    if (q->n == MOST)
        sync_stream(q); /* it would have run by now */
    memset(&q->task[q->n], 0, sizeof q->task[0]);
    return &q->task[q->n++];
}

/* ---- the device table ---- */

static int count(void)
{
    return 1;
}
static int open_it(int ordinal, char *name, size_t size)
{
    (void) ordinal;
    snprintf(name, size, "fake");
    return 0;
}
/* A block and the size it was mapped with before it: malloc would write all of a huge one where MALLOC_PERTURB_ is set. */
enum { HEAD = 4096 };
static int free_it(void *p)
{
    if (p)
        munmap((uint8_t *) p - HEAD, *(size_t *) ((uint8_t *) p - HEAD));
    return spinning; /* a device would wait for the kernel that spins */
}
static void *alloc(size_t n)
{
    enum { DIRTY = 1 << 26 }; /* of a huge block the rest has no memory before it is touched */
    const char *const most = getenv("FAKE_DEVICE_BYTES");
    const size_t size = HEAD + n + 256;
    if (spinning || (most && n > strtoull(most, NULL, 10)))
        return NULL;
    uint8_t *const p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    *(size_t *) p = size;
    memset(p + HEAD, 0x5a, size - HEAD < DIRTY ? size - HEAD : DIRTY);
    return p + HEAD;
}
static int upload(void *dst, const void *src, size_t n)
{
    sync_all();
    memcpy(dst, src, n);
    return 0;
}
static int fill(void *dst, int byte, size_t n)
{
    sync_all();
    memset(dst, byte, n);
    return 0;
}
static int copy(void *dst, const void *src, size_t n, void *stream)
{
    struct task *const t = push(stream);
    t->dst = dst, t->src = src, t->n = n;
    return 0;
}
static void *stream_create(void)
{
    return n_streams < STREAMS ? &streams[n_streams++] : NULL;
}
static void *stream_apart(void)
{
    struct queue *const q = stream_create();
    if (q)
        q->apart = true;
    return q;
}
static void *event_create(void)
{
    return NULL;
}
static int event_record(void *ev, void *stream)
{
    (void) ev, (void) stream;
    return 1;
}
static double event_ms(void *start, void *stop)
{
    (void) start, (void) stop;
    return -1;
}
static const char *last_error(void)
{
    return "fake";
}
static int info(int ordinal, char *json, size_t size)
{
    (void) ordinal;
    snprintf(json, size, "{\"name\": \"fake\", \"driver\": \"1.0\", \"sm_count\": 32}");
    return 0;
}
static int graph_begin(void *stream)
{
    capturing = stream;
    captured = calloc(1, sizeof *captured);
    return !captured;
}
static void *graph_end(void *stream)
{
    capturing = NULL;
    return stream ? captured : NULL;
}
static int graph_free(void *graph)
{
    free(graph);
    return spinning;
}
static int graph_launch(void *graph, void *stream)
{
    const struct queue *const g = graph;
    for (int i = 0; i < g->n; i++) {
        struct task *const t = push(stream);
        *t = g->task[i];
        if (!t->dst)
            t->call.tensors = t->tensors, t->call.scalars = t->scalars;
    }
    return 0;
}
static int spin_start(int blocks, int alone)
{
    spinning = alone ? 2 : 1;
    return alone && blocks >= 32; /* not one would be left */
}
static int spin_stop(void)
{
    spinning = 0;
    return 0;
}

const struct lc_device *lc_device_v1(void); /* exported, as this file's plugin is */
LC_EXPORT const struct lc_device *lc_device_v1(void)
{
    static const struct lc_device table = { LC_DEVICE_ABI, count,        open_it,    alloc,         free_it,      upload,
                                            upload,        fill,         copy,       stream_create, sync_stream,  event_create,
                                            event_record,  event_ms,     last_error, info,          stream_apart, graph_begin,
                                            graph_end,     graph_launch, graph_free, spin_start,    spin_stop };
    return &table;
}

/* ---- the kernels ---- */

static int enqueue(const struct lc_call *call, enum kind kind)
{
    static uint16_t first; /* as the host read it last when it could */
    if (call->n_tensors > TENSORS || call->n_scalars > SCALARS)
        return LC_UNSUPPORTED;
    if (!capturing)
        memcpy(&first, call->tensors[0].data, sizeof first);
    struct task *const t = push(call->stream);
    t->kind = kind;
    t->call = *call;
    t->frozen = first;
    memcpy(t->tensors, call->tensors, call->n_tensors * sizeof *call->tensors);
    memcpy(t->scalars, call->scalars, call->n_scalars * sizeof *call->scalars);
    t->call.tensors = t->tensors, t->call.scalars = t->scalars;
    if (kind == STREAM) { /* on a stream of its own, now */
        ((struct queue *) call->stream)->n -= !capturing;
        run_task(t);
    }
    return LC_OK;
}

/* clang-format off */
#define KERNEL(name, kind) static int run_##name(const struct lc_call *call) { return enqueue(call, kind); }
KERNEL(right, RIGHT) KERNEL(stream, STREAM) KERNEL(graph, GRAPH) KERNEL(busy, BUSY) KERNEL(occupied, OCCUPIED)
    /* clang-format on */

    static const struct lc_kernel kernels[] = {
        { .op = "cast", .variant = "right", .on_device = 1, .run = run_right },
        { .op = "cast", .variant = "stream", .on_device = 1, .run = run_stream },
        { .op = "cast", .variant = "graph", .on_device = 1, .run = run_graph },
        { .op = "cast", .variant = "busy", .on_device = 1, .run = run_busy },
        { .op = "cast", .variant = "occupied", .on_device = 1, .run = run_occupied },
        { .op = NULL },
    };

const struct lc_plugin *lc_plugin_v1(void)
{
    static const struct lc_plugin plugin = { LC_ABI, sizeof(struct lc_call), "fake", kernels };
    return &plugin;
}
