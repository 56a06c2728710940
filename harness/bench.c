/* SPDX-License-Identifier: Apache-2.0 */
/* bench: GB/s of kernels, of products TFLOP/s too. A case is judged first, on fewer rows, of a product with fewer columns too; only
 * what passed is timed. After the timed loop its outputs are compared with the judged ones (rows are independent, DET-2); those of
 * a product, whose sum may go another way in a larger call, are judged themselves, at places drawn from all of them. Bytes: each
 * input read once, each output written once. Launches go round buffers that together are larger than the L2. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "commands.h"
#include "golden.h"
#include "out.h"
#include "version.h"

enum { LAUNCHES = 20, ROUNDS = 7 };

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
    "sf_layout(M=8192,ds=224)",
    "sf_layout(M=8192,ds=224,from=col,to=row)",
    "linear(M=8192,N=7168,K=7168)",
    "linear(M=8192,N=7168,K=7168,acc=own)",
    "linear(M=4096,N=7168,K=2048)",
    "linear(M=64,N=7168,K=7168)",
    "linear(M=1,N=7168,K=7168)",
    "linear(M=8192,N=7168,K=7168,x=e4m3,w=e4m3)",
    "linear(M=1024,N=7168,K=7168,x=e4m3,w=e4m3)",
    "linear(M=128,N=7168,K=7168,x=e4m3,w=e4m3)",
    "linear(M=64,N=7168,K=7168,x=e4m3,w=e4m3)",
    "linear(M=16,N=7168,K=7168,x=e4m3,w=e4m3)",
    "linear(M=1,N=7168,K=7168,x=e4m3,w=e4m3)",
    "linear(M=8192,N=7168,K=7168,x=e4m3,w=e2m1)",
    "linear(M=64,N=7168,K=7168,x=e4m3,w=e2m1)",
    "linear(M=8192,N=7168,K=7168,w=e4m3)",
    "linear(M=64,N=7168,K=7168,w=e4m3)",
};

static int launch(const struct bench *b, int set)
{
    struct lc_tensor tensors[MAX_TENSORS];
    struct lc_call call;
    char msg[256] = "";
    call_bind(&b->many, b->set[set], tensors, &call);
    call.device = b->device ? 0 : -1;
    call.stream = b->stream;
    call.workspace = b->space[set];
    call.workspace_size = b->space_size;
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

/* An axis of the case, cut to `most`. */
static void cut(struct kase *k, const char *axis, int64_t most)
{
    int64_t *const v = &k->i[axis_of(k->op, axis)];
    *v = *v < most ? *v : most;
}

/* Judges the kernel on a smaller case; its outputs are b->judged. */
static int judge_few(struct bench *b, const struct kase *k)
{
    struct kase small = *k;
    struct result *const r = calloc(1, sizeof *r);
    cut(&small, "M", k->op->flops ? PRODUCT_ROWS : FEW_ROWS);
    if (k->op->flops)
        cut(&small, "N", PRODUCT_COLUMNS);
    if (!r || call_open(&b->few, &small, NULL, NULL)) {
        snprintf(b->why, sizeof b->why, "%.400s", b->few.msg);
        free(r);
        return -1;
    }
    judge_call(b->backend, b->kernel, &b->few, NULL, r);
    const enum outcome outcome = r->outcome;
    b->elements = r->elements;
    free(r);
    b->judged = arena_new(&b->few);
    if (outcome == PASS && b->judged && backend_run(b->backend, b->kernel, &b->few, b->judged, b->why, sizeof b->why) == LC_OK)
        return 0;
    char id[MAX_ID];
    kase_print(&small, id, sizeof id);
    snprintf(b->why, sizeof b->why, "not timed: %s on %.400s", outcome_names[outcome], id);
    return -1;
}

/* An arena with the inputs, and a workspace, which depends on where the arena lies. */
static int set_new(struct bench *b, int set, const uint8_t *image)
{
    const struct lc_device *const d = b->device;
    struct lc_tensor tensors[MAX_TENSORS];
    struct lc_call call;
    const size_t n = b->many.arena_size;
    if (!(b->set[set] = d ? d->alloc(n) : malloc(n)) || (d && d->upload(b->set[set], image, n)))
        return -1;
    if (!d)
        memcpy(b->set[set], image, n);
    call_bind(&b->many, b->set[set], tensors, &call);
    call.device = d ? 0 : -1;
    call.stream = b->stream;
    b->space_size = b->kernel->workspace ? b->kernel->workspace(&call) : 0;
    if (!b->space_size)
        return 0;
    if (d)
        return (b->space[set] = d->alloc(b->space_size)) ? 0 : -1;
    return posix_memalign(&b->space[set], 256, b->space_size) ? -1 : 0;
}

static int prepare(struct bench *b, const struct kase *k)
{
    if (judge_few(b, k))
        return -1;
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
    bench_fill(b, image);
    int status = 0;
    for (int i = 0; i < b->sets && !status; i++)
        status = set_new(b, i, image);
    if (status)
        snprintf(b->why, sizeof b->why, "memory for %d sets of %zu bytes, workspaces of %zu", b->sets, b->many.arena_size,
                 b->space_size);
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
        const double gb = (double) bench_bytes(&b->many) / 1e9, flops = k->op->flops ? k->op->flops(&b->many.args) : 0;
        if (ms <= 0)
            printf("%-8s %-60s the timed call failed\n", name, id);
        else if (flops > 0 ? bench_drawn_pass(b) : bench_same_rows(b)) {
            printf("%-8s %-60s %9.2f us %9.1f GB/s", name, id, ms * 1e3, gb / ms * 1e3);
            if (copy_gb_s > 0)
                printf(" %5.1f %% of copy", 100 * gb / ms * 1e3 / copy_gb_s);
            if (flops > 0)
                printf(" %9.3f TFLOP/s", flops / ms / 1e9);
            printf(" %-16s %9lld judged\n", kernel->variant, (long long) b->elements);
            row = json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:I, s:I}", "backend", name, "kernel", kernel->variant, "case", id,
                            "us", ms * 1e3, "least_us", least * 1e3, "gb_s", gb / ms * 1e3, "bytes",
                            (json_int_t) bench_bytes(&b->many), "judged", (json_int_t) b->elements);
            if (flops > 0)
                json_object_set_new(row, "tflop_s", json_real(flops / ms / 1e9));
        } else
            printf("%-8s %-60s the outputs of the timed loop are not those that were judged\n", name, id);
    }
    for (int i = 0; i < b->sets; i++)
        if (b->device) {
            b->device->free(b->set[i]);
            b->device->free(b->space[i]);
        } else {
            free(b->set[i]);
            free(b->space[i]);
        }
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
    struct cases cases = { .n = 0 }, all = { .n = 0 };
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
