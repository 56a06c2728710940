/* SPDX-License-Identifier: Apache-2.0 */
/* bench: GB/s of kernels. A case is judged first, on fewer rows; only what passed is timed; after the timed loop its outputs are
 * compared with the judged ones (rows are independent, DET-2). Bytes: each input read once, each output written once. Launches go
 * round buffers that together are larger than the L2. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../fast/cuda/device.h"
#include "backend.h"
#include "commands.h"
#include "golden.h"
#include "out.h"
#include "version.h"

enum { LAUNCHES = 20, ROUNDS = 7, FEW_ROWS = 64, MOST_SETS = 8 };

static const char *const usual[] = {
    "cast(M=8192,d=7168)",
    "cast(M=8192,d=7168,x=f32)",
    "rmsnorm(M=8192,d=7168)",
    "rmsnorm(M=8192,d=7168,res=1)",
    "rmsnorm(M=8192,d=7168,out=e4m3)",
    "rmsnorm(M=8192,d=7168,res=1,out=e4m3)",
    "rmsnorm(M=8192,d=7168,res=1,out=e4m3,bf16=1)",
    "rmsnorm(M=8192,d=7168,res=1,out=e4m3,bf16=1,utccp=128)",
    "rmsnorm(M=64,d=7168,res=1,out=e4m3)",
    "hadamard(M=1048576,n=64)", /* 2^26 elements each */
    "hadamard(M=524288,n=128)",
    "hadamard(M=262144,n=256)",
    "hadamard(M=131072,n=512)",
    "hadamard(M=65536,n=1024)",
    "hadamard(M=16384,n=4096)",
    "hadamard(M=2048,n=32768)",
    "hadamard(M=524288,n=128,x=f32)",
    "hadamard(M=64,n=128)",
    "rope(M=8192,heads=32,kv=8,d=128,rows=4096,to=own)",
    "rope(M=8192,heads=32,kv=1,d=192,rot=64,offset=128,inter=1,rows=4096,to=own)",
    "context_cast(M=8192,heads=64,d=128,rot=64,rows=4096)",
    "context_cast(M=8192,heads=64,d=128,rot=64,rows=4096,bf16=1)",
    "qkv(M=8192,Hq=64,Hkv=8,D=128,P=8192)",
    "qkv(M=8192,Hq=64,Hkv=8,D=128,rot=64,P=8192,table=bf16,bias=bf16)",
    "qkv(M=64,Hq=64,Hkv=8,D=128,P=8192)",
    "kv_store(M=8192,heads=8,slots=order)",
    "kv_store(M=8192,heads=8,layout=planar,slots=order)",
    "kv_store(M=8192,heads=1,hd=512,rot=64,offset=-1,layout=planar,slots=order)",
    "kv_store(M=8192,heads=8,out=codes)",
};

struct bench {
    struct backend *backend;
    const struct lc_kernel *kernel;
    const struct lc_device *device; /* NULL: on the host */
    void *stream;
    struct call few, many; /* the judged call, the timed one */
    uint8_t *judged, *out; /* arenas after the run */
    uint8_t *image;        /* inputs of `many`, which say where its rows lie (KV-2) */
    void *set[MOST_SETS];
    int sets;
    char why[512];
};

static size_t moved(const struct call *c)
{
    size_t bytes = 0;
    for (int i = 0; i < MAX_TENSORS; i++)
        if (c->slot[i].on && c->slot[i].listed &&
            (c->slot[i].same_as < 0 || (c->slot[i].dir == DIR_OUT && !call_is_repeat(c, i)))) {
            const int64_t all = c->op->rows(&c->args);
            const bool once = all > 1 && c->op->place(&c->args, i, 1, 0) < 0; /* a weight, a table */
            const int64_t rows = once ? 1 : all;
            const size_t codes = (size_t) (rows * c->op->cols(&c->args, i));
            bytes += c->slot[i].fmt == LC_E2M1X2 ? codes / 2 : codes * (size_t) fmt_bytes(c->slot[i].fmt);
        }
    return bytes;
}

/* Rows of the judged call, over and over. What has one row for the whole call and a column for each of its rows are slots: they
 * go on in order. */
static void fill_many(const struct bench *b, uint8_t *image)
{
    const struct call *const few = &b->few, *const many = &b->many;
    const int64_t n = few->op->rows(&few->args);
    memset(image, POISON_A, many->arena_size);
    for (int i = 0; i < MAX_TENSORS; i++) {
        const struct slot *const s = &many->slot[i];
        if (!s->on || !s->listed || s->dir != DIR_IN || s->same_as >= 0)
            continue;
        const size_t bytes = (size_t) few->op->cols(&few->args, i) * (size_t) fmt_bytes(s->fmt);
        for (int64_t row = 0; row < many->op->rows(&many->args); row++) {
            const int64_t to = many->op->place(&many->args, i, row, 0), from = few->op->place(&few->args, i, row % n, 0);
            if (to >= 0 && from >= 0)
                memcpy(image + s->offset + to, few->image + few->slot[i].offset + from, bytes);
        }
        for (int64_t col = few->op->cols(&few->args, i); col < many->op->cols(&many->args, i); col++)
            code_to(s->fmt, image + s->offset + many->op->place(&many->args, i, 0, col), col, (uint32_t) col);
    }
}

/* Do the outputs of the timed call hold the judged codes, row by row? */
static bool same_rows(const struct bench *b)
{
    const struct call *const few = &b->few, *const many = &b->many;
    const int64_t n = few->op->rows(&few->args), rows = many->op->rows(&many->args);
    for (int i = 0; i < MAX_TENSORS; i++) {
        const struct slot *const s = &many->slot[i];
        if (!s->on || !s->listed || s->dir != DIR_OUT)
            continue;
        for (int64_t row = 0; row < rows; row += 37)
            for (int64_t col = 0; col < many->op->cols(&many->args, i); col++)
                if (code_at(s->fmt, b->out + s->offset + many->op->place(&many->args, i, row, col), col) !=
                    code_at(s->fmt, b->judged + few->slot[i].offset + few->op->place(&few->args, i, row % n, col), col))
                    return false;
    }
    return true;
}

static int launch(const struct bench *b, int set)
{
    struct lc_tensor tensors[MAX_TENSORS];
    struct lc_call call;
    char msg[256] = "";
    call_bind(&b->many, b->set[set], tensors, &call);
    call.device = b->device ? 0 : -1;
    call.stream = b->stream;
    call.msg = msg;
    call.msg_size = sizeof msg;
    return b->kernel->run(&call);
}

static double host_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

/* Milliseconds of one launch: the median over rounds, and the least. */
static double time_launches(const struct bench *b, double *least)
{
    double ms[ROUNDS];
    const int launches = b->device ? LAUNCHES : 2;
    void *const start = b->device ? b->device->event_create() : NULL, *const stop = b->device ? b->device->event_create() : NULL;
    int set = 0;
    for (int warm = 0; warm < b->sets + 2; warm++)
        if (launch(b, set++ % b->sets))
            return -1;
    for (int round = 0; round < ROUNDS; round++) {
        const double begin = host_ms();
        if (b->device)
            b->device->event_record(start, b->stream);
        for (int i = 0; i < launches; i++)
            if (launch(b, set++ % b->sets))
                return -1;
        if (b->device)
            b->device->event_record(stop, b->stream);
        ms[round] = (b->device ? b->device->event_ms(start, stop) : host_ms() - begin) / launches;
    }
    qsort(ms, ROUNDS, sizeof *ms, ascending);
    *least = ms[0];
    return ms[ROUNDS / 2];
}

static int prepare(struct bench *b, const struct kase *k)
{
    struct kase small = *k;
    struct result *const r = calloc(1, sizeof *r);
    const int a = axis_of(k->op, "M");
    small.i[a] = k->i[a] < FEW_ROWS ? k->i[a] : FEW_ROWS;
    if (!r || call_open(&b->few, &small, NULL, NULL)) {
        snprintf(b->why, sizeof b->why, "%.400s", b->few.msg);
        free(r);
        return -1;
    }
    judge_call(b->backend, b->kernel, &b->few, NULL, r);
    const enum outcome outcome = r->outcome;
    free(r);
    b->judged = arena_new(&b->few);
    if (outcome != PASS || !b->judged || backend_run(b->backend, b->kernel, &b->few, b->judged, b->why, sizeof b->why)) {
        snprintf(b->why, sizeof b->why, "not timed: %s on %d rows", outcome_names[outcome], (int) small.i[a]);
        return -1;
    }
    call_plan(&b->many, k);
    if (call_is_sparse(&b->many)) {
        snprintf(b->why, sizeof b->why, "not timed: it spans %zu bytes", b->many.arena_size);
        return -1;
    }
    struct lc_call plan;
    uint8_t *const image = malloc(b->many.arena_size);
    b->out = malloc(b->many.arena_size);
    const size_t l2 = (size_t) 256 << 20;
    b->sets = (int) (l2 / b->many.arena_size) + 2;
    b->sets = b->sets > MOST_SETS ? MOST_SETS : b->sets;
    if (!b->device)
        b->sets = 1;
    call_bind(&b->many, image, b->many.view, &plan);
    plan.msg = b->why;
    plan.msg_size = sizeof b->why;
    b->image = image;
    if (!image || !b->out || b->many.op->check(&plan, &b->many.args))
        return -1;
    fill_many(b, image);
    int status = 0;
    for (int i = 0; i < b->sets && !status; i++) {
        b->set[i] = b->device ? b->device->alloc(b->many.arena_size) : malloc(b->many.arena_size);
        if (b->set[i] && b->device)
            status = b->device->upload(b->set[i], image, b->many.arena_size);
        else if (b->set[i])
            memcpy(b->set[i], image, b->many.arena_size);
        status = status || !b->set[i];
    }
    if (status)
        snprintf(b->why, sizeof b->why, "memory for %d sets of %zu bytes", b->sets, b->many.arena_size);
    return status;
}

static json_t *one(struct backend *backend, const char *name, const struct lc_kernel *kernel, const struct kase *k,
                   double copy_gb_s)
{
    struct bench *const b = calloc(1, sizeof *b);
    json_t *row = NULL;
    char id[MAX_ID];
    double least = 0;
    if (!b)
        return NULL;
    kase_print(k, id, sizeof id);
    b->backend = backend;
    b->kernel = kernel;
    b->device = kernel->on_device ? backend_device(backend, b->why, sizeof b->why) : NULL;
    b->stream = backend_stream(backend);
    if ((kernel->on_device && !b->device) || prepare(b, k)) {
        printf("%-8s %-60s %s\n", name, id, b->why);
    } else {
        const double ms = time_launches(b, &least);
        if (b->device)
            b->device->download(b->out, b->set[0], b->many.arena_size);
        else
            memcpy(b->out, b->set[0], b->many.arena_size);
        const double gb = (double) moved(&b->many) / 1e9;
        if (ms > 0 && same_rows(b)) {
            printf("%-8s %-60s %9.2f us %9.1f GB/s", name, id, ms * 1e3, gb / ms * 1e3);
            if (copy_gb_s > 0)
                printf(" %5.1f %% of copy", 100 * gb / ms * 1e3 / copy_gb_s);
            printf("\n");
            row = json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:I}", "backend", name, "kernel", kernel->variant, "case", id, "us",
                            ms * 1e3, "least_us", least * 1e3, "gb_s", gb / ms * 1e3, "bytes", (json_int_t) moved(&b->many));
        } else
            printf("%-8s %-60s the outputs of the timed loop are not those that were judged\n", name, id);
    }
    for (int i = 0; i < b->sets; i++)
        if (b->set[i] && b->device)
            b->device->free(b->set[i]);
        else
            free(b->set[i]);
    call_close(&b->few);
    arena_free(b->judged);
    free(b->image);
    free(b->out);
    free(b);
    return row;
}

/* GB/s of a device-to-device copy, read and written bytes counted: the ceiling to compare with. */
static double copy_rate(const struct lc_device *d, void *stream)
{
    const size_t n = (size_t) 1 << 30;
    void *const a = d->alloc(n), *const b = d->alloc(n);
    void *const start = d->event_create(), *const stop = d->event_create();
    if (!a || !b || !start || !stop || d->fill(a, 0x5a, n))
        return 0;
    for (int i = 0; i < 3; i++)
        d->copy(b, a, n, stream);
    d->event_record(start, stream);
    for (int i = 0; i < 10; i++)
        d->copy(b, a, n, stream);
    d->event_record(stop, stream);
    const double ms = d->event_ms(start, stop) / 10;
    d->free(a);
    d->free(b);
    return ms > 0 ? 2 * (double) n / 1e6 / ms : 0;
}

/* A kernel of a dialect is timed on cases of it. */
static bool is_for(const struct kase *k, const struct lc_kernel *kernel)
{
    const char *const dialect = kase_dialect(k);
    return !strcmp(k->op->name, kernel->op) && !strcmp(dialect ? dialect : "", kernel->dialect ? kernel->dialect : "");
}

int command_bench(int argc, char **argv)
{
    struct options o;
    int status = options_read(&o, argc, argv, "--backend --case --suite -k --report");
    if (status || (status = options_json_only(&o, "bench")))
        return status;
    struct cases cases = { NULL, 0, 0 }, all = { NULL, 0, 0 };
    char why[1024];
    for (size_t i = 0; !o.cases.n && !o.suite && i < sizeof usual / sizeof *usual; i++)
        if (suite_line(&all, usual[i], why, sizeof why))
            return usage_error("%s", why);
    status = all.n ? options_pick(&o, &all, &cases) : options_cases(&o, o.suite, &cases);
    if (status)
        return status;
    if (!o.backends.n)
        o.backends.at[o.backends.n++] = "cuda";
    json_t *const rows = json_array();
    json_t *info_json = NULL;
    double copy = 0;
    for (int n = 0; n < o.backends.n && !status; n++) {
        struct backend *const b = backend_open(o.backends.at[n], why, sizeof why);
        if (!b) {
            status = usage_error("%s", why);
            break;
        }
        const struct lc_kernel *const kernels = backend_plugin(b)->kernels;
        for (int i = 0; kernels[i].op && !status; i++) {
            if (kernels[i].on_device && copy == 0) {
                char info[1024];
                const struct lc_device *const d = backend_device(b, why, sizeof why);
                if (!d) {
                    status = usage_error("%s", why);
                    break;
                }
                copy = copy_rate(d, backend_stream(b));
                info_json = d->info(0, info, sizeof info) ? NULL : json_loads(info, 0, NULL);
                printf("%-8s copy of 1 GiB, read and written: %.1f GB/s\n", o.backends.at[n], copy);
            }
            for (size_t k = 0; k < cases.n; k++)
                if (is_for(&cases.at[k], &kernels[i])) {
                    json_t *const row = one(b, o.backends.at[n], &kernels[i], &cases.at[k], kernels[i].on_device ? copy : 0);
                    if (row)
                        json_array_append_new(rows, row);
                    fflush(stdout);
                }
        }
        backend_close(b);
    }
    json_t *const report = json_pack("{s:s, s:s, s:s, s:f, s:o, s:o*}", "program", "layercheck " LC_VERSION, "revision",
                                     LC_REVISION, "contract", contract_hash, "copy_gb_s", copy, "rows", rows, "device",
                                     info_json);
    if (options_write_json(&o, report))
        status = EXIT_USAGE;
    const size_t timed = json_array_size(rows);
    json_decref(report);
    cases_free(&cases);
    cases_free(&all);
    return status ? status : timed ? EXIT_PASS : EXIT_NOTHING;
}
