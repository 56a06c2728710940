/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's side: load one backend, judge job after job. */
#include "worker.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../fast/cuda/device.h"
#include "backend.h"
#include "baseline.h"
#include "golden.h"
#include "out.h"
#include "perturb.h"
#include "relations.h"

static json_t *hex_float(double v)
{
    char text[64];
    snprintf(text, sizeof text, "%a", v);
    return json_string(text);
}

static json_t *finding_json(const struct call *c, const struct finding *f, enum check check, uint32_t claims)
{
    json_t *const o = json_pack("{s:s, s:I}", "check", check_names[check], "count", (json_int_t) f->count);
    if (check != CHECK_VALUE) {
        json_object_set_new(o, "words", json_string(f->words));
        return o;
    }
    const struct slot *const s = &c->slot[f->slot];
    char code[16];
    json_object_set_new(o, "tensor", json_string(s->t.name));
    json_object_set_new(o, "row", json_integer(f->row));
    json_object_set_new(o, "col", json_integer(f->col));
    snprintf(code, sizeof code, "0x%0*" PRIx32, 2 * fmt_bytes(f->fmt), f->got);
    json_object_set_new(o, "got", json_string(code));
    json_object_set_new(o, "got_value", hex_float(fmt_load(f->fmt, f->got)));
    snprintf(code, sizeof code, "0x%0*" PRIx32, 2 * fmt_bytes(f->fmt), f->want);
    json_object_set_new(o, "want", json_string(code));
    json_object_set_new(o, "v", hex_float(f->iv.v));
    json_object_set_new(o, "lo", hex_float(f->iv.lo));
    json_object_set_new(o, "hi", hex_float(f->iv.hi));
    json_object_set_new(o, "ulp", json_integer(f->ulp));
    const struct bound *const b = bound_of(&c->id, s->t.name);
    if (b) {
        json_object_set_new(o, "clause", json_string(b->clause));
        json_object_set_new(o, "k", json_real(b->k > 0 && c->op->k_of ? c->op->k_of(&c->args, claims) : b->k));
    }
    return o;
}

json_t *result_json(const struct call *c, const struct result *r)
{
    char id[MAX_ID];
    kase_print(&c->id, id, sizeof id);
    struct tally all = { 0 };
    json_t *const tensors = json_object(), *const findings = json_array();
    for (int i = 0; i < MAX_TENSORS; i++) {
        const struct tally *const t = &r->tally[i];
        if (t->exact + t->explained + t->unexplained + t->unspecified == 0)
            continue;
        all.exact += t->exact;
        all.explained += t->explained;
        all.unexplained += t->unexplained;
        all.unspecified += t->unspecified;
        all.slack = t->slack > all.slack ? t->slack : all.slack;
        json_t *const ulps = json_array();
        for (int k = 0; k < HISTOGRAM; k++)
            json_array_append_new(ulps, json_integer(t->ulps[k]));
        const int64_t judged = t->exact + t->explained + t->unexplained;
        json_object_set_new(tensors, c->slot[i].t.name,
                            json_pack("{s:I, s:I, s:I, s:I, s:f, s:f, s:o}", "exact", (json_int_t) t->exact, "explained",
                                      (json_int_t) t->explained, "unexplained", (json_int_t) t->unexplained, "unspecified",
                                      (json_int_t) t->unspecified, "slack", t->slack, "bias_ulp",
                                      judged ? t->bias / (double) judged : 0.0, "ulps", ulps));
    }
    for (int i = 0; i < MAX_TENSORS; i++)
        if (r->found[CHECKS + i].count)
            json_array_append_new(findings, finding_json(c, &r->found[CHECKS + i], CHECK_VALUE, r->claims));
    for (int i = CHECK_KEEP; i < CHECKS; i++)
        if (r->found[i].count)
            json_array_append_new(findings, finding_json(c, &r->found[i], (enum check) i, r->claims));
    return json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:o, s:o, s:o}", "case", id, "op", c->op->name,
                     "outcome", outcome_names[r->outcome], "elements", (json_int_t) r->elements, "exact", (json_int_t) all.exact,
                     "explained", (json_int_t) all.explained, "unexplained", (json_int_t) all.unexplained, "unspecified",
                     (json_int_t) all.unspecified, "ambiguous", (json_int_t) r->ambiguous, "two_scale", (json_int_t) r->two_scale,
                     "slack", all.slack, "ms", r->ms, "tensors", tensors, "findings", findings, "msg", out_words(r->msg));
}

static json_t *hello(struct backend *b, const struct golden *g)
{
    const struct lc_plugin *const p = backend_plugin(b);
    json_t *const kernels = json_array();
    bool on_device = false;
    for (int i = 0; p->kernels[i].op; i++) {
        const struct lc_kernel *const k = &p->kernels[i];
        on_device = on_device || k->on_device;
        json_array_append_new(kernels, json_pack("{s:s, s:s, s:s, s:b}", "op", k->op, "variant", k->variant ? k->variant : "-",
                                                 "dialect", k->dialect ? k->dialect : "", "on_device", k->on_device));
    }
    json_t *const cases = json_array();
    for (size_t i = 0; g && i < golden_count(g); i++)
        json_array_append_new(cases, json_string(golden_case(g, i)));
    char why[512] = "", info[1024] = "";
    const struct lc_device *const d = on_device ? backend_device(b, why, sizeof why) : NULL;
    if (d)
        d->info(0, info, sizeof info);
    return json_pack("{s:s, s:o, s:o, s:s, s:o*}", "plugin", p->name ? p->name : "?", "kernels", kernels, "cases", cases,
                     "device", why, "device_info", d ? json_loads(info, 0, NULL) : NULL);
}

static void say(FILE *to, json_t *o)
{
    if (o) {
        char *const text = json_dumps(o, JSON_COMPACT);
        fprintf(to, "%s\n", text ? text : "{}");
        fflush(to);
        free(text);
    }
    json_decref(o);
}

/* Moves the protocol's descriptors out of a kernel's way, and leaves it a standard output that goes nowhere. */
static FILE *take(int fd, int at, const char *mode, bool verbose)
{
    const int high = fcntl(fd, F_DUPFD_CLOEXEC, at);
    if (high < 0)
        return NULL;
    const int instead = fd == 1 && verbose ? dup(2) : open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
    if (instead >= 0) {
        dup2(instead, fd);
        close(instead);
    }
    return fdopen(high, mode);
}

/* The call of the last job is kept: the next one is often another kernel's, on the same case. */
static int open_call(struct golden *g, struct call *c, const struct kase *k, struct iv **y)
{
    if (c->image && kase_same(&c->id, k)) {
        if (c->bad < 0)
            call_poison(c, POISON_A);
        return 0;
    }
    call_close(c);
    free(*y);
    *y = NULL;
    const int status = g ? golden_open_call(g, c, k, y) : call_open(c, k, NULL, NULL);
    if (status) { /* c->msg stays */
        call_close(c);
        c->id = *k;
    }
    return status;
}

static int one_job(struct backend *b, struct golden *g, char *line, FILE *out)
{
    static struct call call;
    static struct result result;
    static struct iv *y;
    struct kase k;
    char why[512];
    line[strcspn(line, "\n")] = 0;
    char *const tab = strchr(line, '\t'), *const kind = tab ? strchr(tab + 1, '\t') : NULL;
    char *const file = kind ? strchr(kind + 1, '\t') : NULL;
    if (kind)
        *kind = 0;
    if (file)
        *file = 0;
    if (!tab || kase_parse(&k, tab + 1, why, sizeof why)) {
        say(out, json_pack("{s:s, s:o}", "outcome", "broken", "msg", out_words(tab ? why : "bad job")));
        return 0;
    }
    memset(&result, 0, sizeof result);
    const struct perturbation *p = kind ? perturbation_find(kind + 1) : NULL;
    if (kind && !p)
        p = relation_find(k.op, kind + 1);
    if (open_call(g, &call, &k, &y)) {
        result.outcome = BROKEN;
        snprintf(result.msg, sizeof result.msg, "%s", call.msg);
    } else if (g && kind && !strcmp(kind + 1, "check")) {
        say(out, golden_check(g, &call, y));
        return 0;
    } else if (g && kind && !strcmp(kind + 1, "judge")) {
        golden_judge(g, &call, &result);
    } else if (kind) {
        const struct lc_kernel *const kernel = &backend_plugin(b)->kernels[atoi(line)];
        bool lost = false;
        say(out, p ? perturb_job(b, kernel, &call, p, file ? file + 1 : NULL, &lost)
                   : baseline_job(b, kernel, &call, !strcmp(kind + 1, "codes"), &lost));
        return lost;
    } else
        judge_call(b, &backend_plugin(b)->kernels[atoi(line)], &call, y, &result);
    say(out, result_json(&call, &result));
    return result.outcome == CRASH; /* the device is lost to this process */
}

/* A hostile file can make the HDF5 library ask for all memory there is: what reads it gets half, beyond what is mapped now. */
static void limit_memory(void)
{
    long pages = 0;
    FILE *const f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld", &pages) == 1 && sysconf(_SC_PHYS_PAGES) > 0) {
        const rlim_t most = (rlim_t) (pages + sysconf(_SC_PHYS_PAGES) / 2) * (rlim_t) sysconf(_SC_PAGESIZE);
        setrlimit(RLIMIT_AS, &(struct rlimit) { most, most });
    }
    if (f)
        fclose(f);
}

int worker_main(int argc, char **argv)
{
    const char *backend = NULL, *golden = NULL;
    bool verbose = false;
    for (int i = 0; i < argc; i++)
        if (!strcmp(argv[i], "--verbose"))
            verbose = true;
        else if (i + 1 < argc && !strcmp(argv[i], "--backend"))
            backend = argv[++i];
        else if (i + 1 < argc && !strcmp(argv[i], "--golden"))
            golden = argv[++i];
    const struct rlimit no_core = { 0, 0 };
    setrlimit(RLIMIT_CORE, &no_core); /* crashes are results here */
    FILE *const out = take(1, 200, "w", verbose), *const in = take(0, 201, "r", verbose);
    if (!verbose) {
        const int null = open("/dev/null", O_WRONLY);
        if (null >= 0)
            dup2(null, 2);
    }
    if (!out || !in || !backend)
        return 3;
    char why[1024];
    struct backend *const b = backend_open(backend, why, sizeof why);
    struct golden *g = NULL;
    if (golden && !strcmp(backend, "ref")) /* a device maps more */
        limit_memory();
    if (!b || (golden && !(g = golden_open(golden, why, sizeof why)))) {
        say(out, json_pack("{s:o}", "error", out_words(why)));
        return 3;
    }
    say(out, hello(b, g));
    char line[MAX_LINE];
    while (fgets(line, sizeof line, in))
        if (one_job(b, g, line, out))
            break; /* the device is lost to this process */
    golden_close(g);
    _exit(0); /* without the plugin's destructors: they are not under test */
}
