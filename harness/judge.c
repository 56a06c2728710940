/* SPDX-License-Identifier: Apache-2.0 */
/* judge: outputs that any framework put beside exported inputs, by the verdict that our own kernels get. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands.h"
#include "golden.h"
#include "out.h"
#include "worker.h"

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

/* An output in an input's place (APPLY-3): its elements alone, as others may lie between them. */
static int read_elements(struct golden *g, const struct call *c, int slot, uint8_t *to, char *why, size_t size)
{
    const int64_t rows = c->op->rows(&c->args), cols = c->op->cols(&c->args, slot);
    uint8_t *const storage = malloc(c->slot[slot].bytes + 1);
    int status = storage ? golden_read(g, c, slot, storage, why, size) : -1;
    if (!storage)
        snprintf(why, size, "out of memory");
    for (int64_t n = 0; !status && n < rows * cols; n++) {
        const int64_t at = c->op->place(&c->args, slot, n / cols, n % cols);
        if (at >= 0)
            memcpy(to + at, storage + at, (size_t) fmt_bytes(c->slot[slot].fmt));
    }
    free(storage);
    return status;
}

/* The outputs of the file, each at its slot's place in `after`. 0, or -1 and why. */
static int read_outputs(struct golden *g, const struct call *c, uint8_t *after, char *why, size_t size)
{
    memcpy(after, c->image, c->arena_size);
    for (int i = 0; i < MAX_TENSORS; i++) {
        const struct slot *const s = &c->slot[i];
        const bool written = s->listed && s->on && s->dir == DIR_OUT && !call_is_copy(c, i); /* RMS-7: a BF16 out is bf16 too */
        if (!written)
            continue;
        uint8_t *const to = after + s->offset;
        if (s->same_as >= 0 ? read_elements(g, c, i, to, why, size) : golden_read(g, c, i, to, why, size))
            return -1;
    }
    return 0;
}

/* y.* of the file are not believed here: the judge is the reference. */
static void judge_case(struct golden *g, const struct kase *k, struct call *c, struct result *r)
{
    struct iv *y = NULL;
    uint8_t *after = NULL;
    char why[2048] = "out of memory";
    const double begin = now_ms();
    memset(r, 0, sizeof *r);
    if (golden_open_call(g, c, k, &y))
        snprintf(why, sizeof why, "%s", c->msg);
    else if ((after = malloc(c->arena_size)) && !read_outputs(g, c, after, why, sizeof why))
        why[0] = 0;
    if (why[0]) {
        r->outcome = BROKEN;
        snprintf(r->msg, sizeof r->msg, "%.500s", why);
    } else {
        judge_values(c, after, NULL, r);
        result_settle(c, r);
    }
    r->ms = now_ms() - begin;
    free(after);
    free(y);
}

static int judge_file(const char *path, const struct options *o, struct run *run)
{
    char why[2048];
    struct cases all = { NULL, 0, 0 }, chosen = { NULL, 0, 0 };
    struct options cut = *o;
    struct golden *const g = golden_open(path, why, sizeof why);
    struct call *const c = calloc(1, sizeof *c);
    struct result *const r = calloc(1, sizeof *r);
    int status = !g ? usage_error("%s", why) : !c || !r ? usage_error("out of memory") : 0;
    cut.ops.n = 0; /* those words were files */
    for (int i = 0; !status && i < o->cases.n; i++) {
        struct kase k;
        if (kase_parse(&k, o->cases.at[i], why, sizeof why))
            status = usage_error("--case %s", why);
        else
            cases_add(&all, &k);
    }
    for (size_t i = 0; !status && !o->cases.n && i < golden_count(g); i++)
        cases_add(&all, golden_kase(g, i));
    if (!status)
        status = options_pick(&cut, &all, &chosen);
    for (size_t i = 0; !status && i < chosen.n; i++) {
        judge_case(g, &chosen.at[i], c, r);
        json_t *const result = result_json(c, r);
        json_object_set_new(result, "backend", json_string("file"));
        json_object_set_new(result, "kernel", json_string("-"));
        json_object_set_new(result, "file", json_string(path));
        json_array_append_new(run->results, result);
        call_close(c);
        if (r->outcome == PASS)
            continue;
        out_failure(stdout, result, o->verbose);
        if (o->stop_at_first)
            break;
    }
    run->cases += chosen.n;
    cases_free(&all);
    cases_free(&chosen);
    golden_close(g);
    free(c);
    free(r);
    return status;
}

int command_judge(int argc, char **argv)
{
    struct options o;
    struct run run = { .results = json_array() };
    int status = options_read(&o, argc, argv, "-k --case --report -v -x");
    if (!status && !o.ops.n)
        status = usage_error("judge: which file? layercheck judge FILE.h5");
    const double begin = now_ms();
    for (int i = 0; !status && i < o.ops.n; i++)
        status = judge_file(o.ops.at[i], &o, &run);
    if (status) {
        json_decref(run.results);
        return status;
    }
    char command[1024] = "layercheck judge";
    for (int i = 0; i < argc; i++) {
        strncat(command, " ", sizeof command - strlen(command) - 1);
        strncat(command, argv[i], sizeof command - strlen(command) - 1);
    }
    const struct run_facts facts = { "file", command, NULL, run.cases, (now_ms() - begin) / 1e3 };
    json_t *const summary = out_summary(run.results, &facts);
    out_text(stdout, summary);
    status = run_reports(&o, &run, summary);
    const int verdict = run_exit_code(&run);
    json_decref(summary);
    json_decref(run.results);
    return status ? EXIT_USAGE : verdict;
}
