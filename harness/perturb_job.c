/* SPDX-License-Identifier: Apache-2.0 */
/* One cell of a determinism report in a worker: the base run, the perturbation, its result as JSON, the rows that differ as a
 * file of cases. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "case.h"
#include "golden.h"
#include "h5.h"
#include "perturb.h"
#include "relations.h"

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

/* ---- the file ---- */

/* The rows as a case of their own; each output once as the base run left it, once, named OUTPUT.perturbed, as it became. */
static int write_rows(hid_t file, const struct attempt *t, const struct perturbation *p, const struct call *c, char *why,
                      size_t size)
{
    char id[MAX_ID];
    struct call view = *c;
    uint8_t *const codes = arena_new(c);
    kase_print(&c->id, id, sizeof id);
    int status = codes ? 0 : h5_say(why, size, "out of memory");
    if (codes)
        arena_copy(c, codes, c->image);
    for (int turn = 0; turn < 2 && !status; turn++) {
        rows_store(c, codes, t->base, turn ? t->saved : t->want, t->d.saved, t->d.n_saved);
        if (turn == 0)
            status = export_call(file, c, id, codes, why, size);
        const hid_t group = turn ? h5_group(file, id) : -1;
        for (int i = 0; turn && i < MAX_TENSORS && !status; i++) {
            const struct slot *const s = &c->slot[i];
            char name[64];
            snprintf(name, sizeof name, "%s.perturbed", s->t.name ? s->t.name : "");
            view.slot[i].t.name = name;
            if (s->listed && s->on && s->dir == DIR_OUT && !call_is_copy(c, i) && export_slot(group, &view, i, codes, why, size))
                status = -1;
        }
        if (turn && !status &&
            (h5_put_text(group, "kernel", t->kernel->variant ? t->kernel->variant : "-") ||
             h5_put_text(group, "perturbation", p->name) || h5_put_text(group, "where", t->d.where)))
            status = h5_say(why, size, "attributes cannot be written");
        if (turn)
            H5Gclose(group);
    }
    arena_free(codes);
    return status;
}

static int save_rows(const struct attempt *t, const struct perturbation *p, const char *path, char *why, size_t size)
{
    struct call *const c = calloc(1, sizeof *c);
    struct kase k = t->base->id;
    char rows[64];
    snprintf(rows, sizeof rows, "M=%lld rank=2 B=2 bs=0", (long long) t->d.n_saved);
    if (!rows_axes(&k, rows)) {
        k = t->base->id;
        snprintf(rows, sizeof rows, "M=%lld", (long long) t->d.n_saved);
        if (!rows_axes(&k, rows))
            k = t->base->id;
    }
    int status = c ? rows_open(c, &k, t->base, t->d.saved) : h5_say(why, size, "out of memory");
    if (!status && c->op->rows(&c->args) != t->d.n_saved)
        status = h5_say(why, size, "%s: no case of %lld rows", path, (long long) t->d.n_saved);
    const hid_t file = status ? -1 : h5_create(path, why, size);
    if (file >= 0) {
        status = export_head(file) ? h5_say(why, size, "cannot be written") : write_rows(file, t, p, c, why, size);
        status = h5_finish(file, path, status, why, size);
    } else
        status = -1;
    if (c)
        call_close(c);
    free(c);
    return status;
}

/* ---- the result ---- */

static void put_code(json_t *o, const char *key, enum lc_dtype f, uint32_t code)
{
    char text[64], value[64];
    snprintf(text, sizeof text, "0x%0*" PRIx32, 2 * fmt_bytes(f), code);
    json_object_set_new(o, key, json_string(text));
    snprintf(text, sizeof text, "%a", fmt_load(f, code));
    snprintf(value, sizeof value, "%s_value", key);
    json_object_set_new(o, value, json_string(text));
}

static bool is_relation(const struct perturbation *p)
{
    return perturbation_find(p->name) != p;
}

static json_t *finding(const struct attempt *t, const struct perturbation *p)
{
    const struct difference *const d = &t->d;
    char check[64];
    snprintf(check, sizeof check, "%s:%s", is_relation(p) ? "relation" : "determinism", p->name);
    if (!d->bad_elements)
        return json_pack("{s:s, s:s, s:s, s:I}", "check", check, "clause", p->clause, "words", t->msg, "count", (json_int_t) 1);
    const struct slot *const s = &t->base->slot[d->slot];
    json_t *const o = json_pack("{s:s, s:s, s:s, s:I, s:s, s:I, s:I, s:I, s:I}", "check", check, "clause", p->clause, "words",
                                d->where, "count", (json_int_t) d->bad_elements, "differs_in", s->t.name, "row",
                                (json_int_t) d->row, "col", (json_int_t) d->col, "m", (json_int_t) d->m, "base_row",
                                (json_int_t) d->base_row);
    put_code(o, "got", d->fmt ? (enum lc_dtype)(d->fmt - 1) : s->fmt, d->got);
    put_code(o, "want", d->fmt ? (enum lc_dtype)(d->fmt - 1) : s->fmt, d->want);
    return o;
}

/* DET-2 of an operator may be reported only, unless the kernel claims it; a relation may allow other bits. */
static bool decides(const struct attempt *t, const struct perturbation *p, int status)
{
    if (!status && is_relation(p) && strcmp(p->clause, "DET-2"))
        return t->beyond > 0;
    return strcmp(p->clause, "DET-2") || !t->base->op->det2_reported || (t->kernel->claims & LC_BATCH_INVARIANT);
}

static const char *outcome(struct attempt *t, const struct perturbation *p, int status)
{
    if (status < 0)
        return status == -2 ? "crash" : "broken";
    if (status == LC_UNSUPPORTED && !t->msg[0])
        snprintf(t->msg, sizeof t->msg, "not supported by the kernel");
    if (status == LC_UNSUPPORTED || t->none)
        return "unsupported";
    if (status || t->d.bad_elements)
        return decides(t, p, status) ? "fail" : "reported";
    if (t->d.elements == 0) {
        snprintf(t->msg, sizeof t->msg, "no call to compare%s", t->d.skipped ? ": none is supported" : "");
        return "unsupported";
    }
    return "pass";
}

json_t *perturb_job(struct backend *b, const struct lc_kernel *k, const struct call *base, const struct perturbation *p,
                    const char *save, bool *lost)
{
    struct attempt t = { .backend = b, .kernel = k, .base = base };
    struct seat s;
    const double begin = now_ms();
    char id[MAX_ID], why[512] = "";
    kase_print(&base->id, id, sizeof id);
    t.want = arena_new(base);
    t.got = arena_new(base);
    if (save && (t.saved = arena_new(base)))
        arena_copy(base, t.saved, base->image);
    int status = t.want && t.got ? seat_open(&s, b, k, base) : -1;
    if (t.want && t.got) {
        status = status ? status : seat_load(&s, base->image);
        status = attempt_failed(&t, &s, status ? status : seat_run(&s, t.want));
    } else
        snprintf(t.msg, sizeof t.msg, "out of memory: two copies of the arena");
    status = status ? status : p->run(&t);
    if (status < 0 && !t.msg[0])
        snprintf(t.msg, sizeof t.msg, "out of memory");
    if (status > 0 && t.d.where[0] && status != LC_UNSUPPORTED) {
        snprintf(why, sizeof why, "%s: %.350s", t.d.where, t.msg);
        snprintf(t.msg, sizeof t.msg, "%s", why);
    }
    const char *const result = outcome(&t, p, status);
    const bool bad = !strcmp(result, "fail") || !strcmp(result, "reported");
    *lost = status == -2;
    json_t *const o = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:f}", "case", id, "op", base->op->name,
                                "perturbation", p->name, "command", is_relation(p) ? "relations" : "determinism", "outcome",
                                result, "runs", (json_int_t) t.d.runs, "rows", (json_int_t) t.d.rows, "elements",
                                (json_int_t) t.d.elements, "skipped", (json_int_t) t.d.skipped, "bad_rows",
                                (json_int_t) t.d.bad_rows, "bad_elements", (json_int_t) t.d.bad_elements, "ms", now_ms() - begin);
    const char *const msg = t.none ? t.none : bad ? "" : t.msg;
    json_object_set_new(o, "msg", json_stringn(msg, strlen(msg)));
    json_object_set_new(o, "findings", bad ? json_pack("[o]", finding(&t, p)) : json_array());
    if (t.saved && t.d.n_saved) {
        if (save_rows(&t, p, save, why, sizeof why))
            json_object_set_new(o, "save_failed", json_string(why));
        else
            json_object_set_new(o, "saved", json_string(save));
    }
    arena_free(t.want);
    arena_free(t.got);
    arena_free(t.saved);
    return o;
}
