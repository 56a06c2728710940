/* SPDX-License-Identifier: Apache-2.0 */
/* Loading implementations, and running one kernel on the host or on a device. */
#include <dlfcn.h>
#include <fenv.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../fast/cuda/device.h"
#include "backend.h"
#include "case.h"
#include "paths.h"
#include "room.h"

struct backend {
    char name[256];
    void *library, *device_library;
    const struct lc_plugin *plugin;
    const struct lc_device *device; /* opened when the first kernel needs it */
    void *stream, *arena;           /* on the device */
    size_t arena_size;
    int own_reference; /* the backend `ref` */
    fenv_t env;        /* as the plugin's constructors left it: its kernels run so, the judge does not */
};

/* The reference as a backend: nominal codes at their places, nothing else written. In a dialect's case ref/ computes in it. */
static const struct lc_plugin *ref_plugin(void)
{
    enum { MOST = 8 * MAX_OPS }; /* the usual rule and the dialects of every operator */
    static struct lc_kernel kernels[MOST + 1];
    static char dialect[MOST][32];
    static const struct lc_plugin plugin = { LC_ABI, sizeof(struct lc_call), "ref", kernels };
    for (int i = 0, n = 0; all_ops[i]; i++) {
        const int axis = axis_of(all_ops[i], "dialect");
        for (int d = 0; d < (axis < 0 ? 1 : axis_count(all_ops[i], axis)) && n < MOST; d++, n++) {
            kernels[n] = (struct lc_kernel) { .op = all_ops[i]->name,
                                              .variant = "nominal",
                                              .claims = all_ops[i]->check_values ? LC_CHECKS_VALUES : 0 };
            if (d > 0) {
                axis_print(all_ops[i], axis, axis_listed(all_ops[i], axis, d), dialect[n], sizeof dialect[n]);
                kernels[n].dialect = dialect[n];
            }
        }
    }
    return &plugin;
}

static int ref_run(const struct op *op, const struct lc_call *call)
{
    union op_args args;
    struct room room;
    int64_t cols[MAX_TENSORS];
    int status = op->check(call, &args);
    if (!status && op->check_values)
        status = op->check_values(call, &args);
    if (status || op->rows(&args) == 0)
        return status;
    const int enough = room_open(&room, op, &args, cols) == 0;
    const struct ref_got nobody = { { NULL } };
    for (int64_t row = 0; enough && row < op->rows(&args); row++) {
        op->ref(&args, row, &nobody, &room.want);
        for (int i = 0; i < MAX_TENSORS; i++)
            for (int64_t col = 0; room.row[i] && col < cols[i]; col++) {
                const struct lc_tensor *const t = op_tensor(op, &args, i);
                const enum lc_dtype f = op->copies >> i & 1  ? FMT_BITS16
                                        : t->dtype == LC_I32 ? LC_UE8M0
                                                             : (enum lc_dtype) t->dtype;
                const int64_t at = op->place(&args, i, row, col);
                if (at >= 0)
                    code_to(f, (uint8_t *) t->data + at, col, room.want.free[i][col] ? 0 : fmt_code(f, room.want.at[i][col].v));
            }
    }
    room_close(&room);
    return enough ? LC_OK : LC_FAILED;
}

static int fail(char *why, size_t size, const char *format, const char *a, const char *b)
{
    snprintf(why, size, format, a, b);
    return -1;
}

static int load(struct backend *b, const char *path, char *why, size_t size)
{
    b->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct lc_plugin *(*entry)(void) = NULL;
    if (b->library)
        *(void **) &entry = dlsym(b->library, "lc_plugin_v1");
    if (entry)
        b->plugin = entry();
    fegetenv(&b->env); /* -ffast-math code turns flush-to-zero on when it is loaded */
    fesetenv(FE_DFL_ENV);
    if (!b->library) {
        const char *const reason = dlerror();
        return fail(why, size, "backend %s: %s", b->name, reason ? reason : "cannot be loaded");
    }
    if (!entry)
        return fail(why, size, "backend %s: %s does not export lc_plugin_v1", b->name, path);
    if (!b->plugin || b->plugin->abi != LC_ABI || b->plugin->call_size != sizeof(struct lc_call) || !b->plugin->kernels)
        return fail(why, size, "backend %s: %s was built for another ABI (layercheck.h, LC_ABI)", b->name, path);
    return 0;
}

struct backend *backend_open(const char *name, char *why, size_t size)
{
    struct backend *const b = calloc(1, sizeof *b);
    if (!b) {
        fail(why, size, "backend %s: %s", name, "out of memory");
        return NULL;
    }
    snprintf(b->name, sizeof b->name, "%s", name);
    fegetenv(&b->env);
    char path[4096];
    int status = 0;
    if (!strcmp(name, "ref")) {
        b->own_reference = 1;
        b->plugin = ref_plugin();
    } else if (!strncmp(name, "plugin:", 7)) {
        status = load(b, name + 7, why, size);
    } else {
        const bool beside = path_library(name, path, sizeof path);
        if (!beside)
            snprintf(path, sizeof path, "lc_%.200s.so", name); /* on the loader's path */
        status = load(b, path, why, size);
    }
    if (status) {
        backend_close(b);
        return NULL;
    }
    return b;
}

static int open_device(struct backend *b, char *why, size_t size)
{
    char path[4096], name[256] = "";
    if (b->device)
        return 0;
    if (!path_library("device_cuda", path, sizeof path))
        snprintf(path, sizeof path, "lc_device_cuda.so");
    b->device_library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!b->device_library) {
        const char *const reason = dlerror();
        return fail(why, size, "backend %s: no CUDA support: %s", b->name, reason ? reason : path);
    }
    const struct lc_device *(*entry)(void);
    *(void **) &entry = dlsym(b->device_library, "lc_device_v1");
    const struct lc_device *const d = entry ? entry() : NULL;
    if (d && d->abi != LC_DEVICE_ABI)
        return fail(why, size, "backend %s: %s is of another build (LC_DEVICE_ABI)", b->name, path);
    if (!d || d->count() < 1)
        return fail(why, size, "backend %s: no CUDA device: %s", b->name, d ? d->last_error() : "lc_device_cuda.so is not ours");
    if (d->open(0, name, sizeof name) || !(b->stream = d->stream_create()))
        return fail(why, size, "backend %s: device 0: %s", b->name, d->last_error());
    b->device = d;
    return 0;
}

void backend_close(struct backend *b)
{
    if (!b)
        return;
    if (b->device && b->arena)
        b->device->free(b->arena);
    if (b->library)
        dlclose(b->library);
    free(b); /* lc_device_cuda.so stays: the driver's threads may still run in it */
}

const struct lc_plugin *backend_plugin(const struct backend *b)
{
    return b->plugin;
}

const struct lc_device *backend_device(struct backend *b, char *why, size_t size)
{
    return open_device(b, why, size) ? NULL : b->device;
}

void *backend_stream(const struct backend *b)
{
    return b->stream;
}

/* What the kernel returned, fit for use: a known status, words that end. */
static int tidy(int status, char *msg, size_t size)
{
    msg[size - 1] = 0;
    if (status >= LC_OK && status <= LC_FAILED)
        return status;
    snprintf(msg, size, "returned %d, which is no status", status);
    return NO_STATUS;
}

enum { WORKSPACE_GUARD = 256 };

/* Guards and contents of a workspace hold the run's poison. */
static int workspace_kept(const uint8_t *space, size_t n, uint8_t poison, int status, char *msg, size_t size)
{
    for (size_t i = 0; i < WORKSPACE_GUARD; i++)
        if (space[i] != poison || space[WORKSPACE_GUARD + n + i] != poison) {
            snprintf(msg, size, "wrote outside its workspace of %zu bytes", n);
            return NO_STATUS;
        }
    return status;
}

int backend_call(struct backend *b, const struct lc_kernel *k, const struct op *op, struct lc_call *call)
{
    fesetenv(&b->env);
    const int status = tidy(b->own_reference ? ref_run(op, call) : k->run(call), call->msg, call->msg_size);
    fesetenv(FE_DFL_ENV);
    return status;
}

void *backend_symbol(const struct backend *b, const char *name)
{
    return b->library ? dlsym(b->library, name) : NULL;
}

uint8_t *device_arena(const struct lc_device *d, const struct call *c, int *status, char *why, size_t size)
{
    static size_t in_vain = SIZE_MAX; /* waited for, once */
    const struct timespec tenth = { 0, 100000000 };
    uint8_t *arena = d->alloc(c->arena_size);
    for (int i = 0; !arena && call_is_sparse(c) && c->arena_size < in_vain && i < 30; i++) {
        nanosleep(&tenth, NULL);
        arena = d->alloc(c->arena_size);
    }
    *status = arena ? 0 : call_is_sparse(c) ? LC_UNSUPPORTED : -1;
    if (*status == LC_UNSUPPORTED)
        in_vain = c->arena_size < in_vain ? c->arena_size : in_vain;
    if (!arena)
        snprintf(why, size, "device memory, %zu bytes that the case spans: %s", c->arena_size, d->last_error());
    return arena;
}

int device_load(const struct lc_device *d, const struct call *c, uint8_t *arena, const uint8_t *image)
{
    int status = 0;
    for (int i = 0; i < c->n_windows && !status; i++)
        status = d->upload(arena + c->window[i].begin, image + c->window[i].begin, c->window[i].end - c->window[i].begin);
    return status;
}

int device_read(const struct lc_device *d, const struct call *c, uint8_t *after, const uint8_t *arena)
{
    int status = 0;
    for (int i = 0; i < c->n_windows && !status; i++)
        status = d->download(after + c->window[i].begin, arena + c->window[i].begin, c->window[i].end - c->window[i].begin);
    return status;
}

static int run_on_host(struct backend *b, const struct lc_kernel *k, struct call *c, uint8_t *after, char *msg, size_t size)
{
    struct lc_tensor tensors[MAX_TENSORS];
    struct lc_call call;
    void *space = NULL;
    uint8_t *const arena = arena_new(c);
    if (!arena)
        return fail(msg, size, "%s%s", "out of memory: the arena", "");
    arena_copy(c, arena, c->image);
    call_bind(c, arena, tensors, &call);
    call.msg = msg;
    call.msg_size = size;
    if (k->workspace && (call.workspace_size = k->workspace(&call)) > 0) {
        if (posix_memalign(&space, 256, call.workspace_size + 2 * WORKSPACE_GUARD))
            return fail(msg, size, "%s%s", "out of memory: the workspace", "");
        memset(space, c->image[0], call.workspace_size + 2 * WORKSPACE_GUARD);
        call.workspace = (uint8_t *) space + WORKSPACE_GUARD;
    }
    int status = backend_call(b, k, c->op, &call);
    if (space)
        status = workspace_kept(space, call.workspace_size, c->image[0], status, msg, size);
    arena_copy(c, after, arena);
    free(space);
    arena_free(arena);
    return status;
}

static int run_on_device(struct backend *b, const struct lc_kernel *k, struct call *c, uint8_t *after, char *msg, size_t size)
{
    struct lc_tensor tensors[MAX_TENSORS];
    struct lc_call call;
    uint8_t *space = NULL, *copy = NULL;
    if (open_device(b, msg, size))
        return -1;
    const struct lc_device *const d = b->device;
    if (b->arena_size < c->arena_size) {
        if (b->arena)
            d->free(b->arena);
        b->arena_size = 0;
        int status;
        if (!(b->arena = device_arena(d, c, &status, msg, size))) {
            arena_copy(c, after, c->image);
            return status;
        }
        b->arena_size = c->arena_size;
    }
    if (device_load(d, c, b->arena, c->image))
        return fail(msg, size, "upload: %s%s", d->last_error(), "");
    call_bind(c, b->arena, tensors, &call);
    call.device = 0;
    call.stream = b->stream;
    call.msg = msg;
    call.msg_size = size;
    if (k->workspace && (call.workspace_size = k->workspace(&call)) > 0) {
        space = d->alloc(call.workspace_size + 2 * WORKSPACE_GUARD);
        copy = malloc(call.workspace_size + 2 * WORKSPACE_GUARD);
        if (!space || !copy || d->fill(space, c->image[0], call.workspace_size + 2 * WORKSPACE_GUARD))
            return fail(msg, size, "device memory: %s%s", d->last_error(), "");
        call.workspace = space + WORKSPACE_GUARD;
    }
    int status = backend_call(b, k, c->op, &call);
    if (d->stream_sync(b->stream) || device_read(d, c, after, b->arena) || /* an asynchronous fault names its case */
        (space && d->download(copy, space, call.workspace_size + 2 * WORKSPACE_GUARD)))
        status = fail(msg, size, "device fault: %s%s", d->last_error(), "") - 1; /* -2: this process is done with the device */
    else if (space)
        status = workspace_kept(copy, call.workspace_size, c->image[0], status, msg, size);
    if (space)
        d->free(space);
    free(copy);
    if (call_is_sparse(c)) { /* gigabytes that the next case has no use for */
        d->free(b->arena);
        b->arena = NULL;
        b->arena_size = 0;
    }
    return status;
}

int backend_run(struct backend *b, const struct lc_kernel *k, struct call *c, uint8_t *after, char *msg, size_t size)
{
    return k->on_device ? run_on_device(b, k, c, after, msg, size) : run_on_host(b, k, c, after, msg, size);
}
