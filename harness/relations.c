/* SPDX-License-Identifier: Apache-2.0 */
#include "relations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"

/* ---- relations of every operator ---- */

static int permuted_rows(struct attempt *t)
{
    return perturbation_find("position")->run(t);
}

static const struct perturbation of_all[] = {
    { "permuted-rows", "DET-2", "permuted rows give permuted outputs: bitwise, a row's result is its own", permuted_rows },
    { NULL, NULL, NULL, NULL },
};

const struct perturbation *relation_nth(const struct op *op, int n)
{
    int own = 0;
    while (op->relations && op->relations[own].name)
        own++;
    const struct perturbation *const p = n < own ? &op->relations[n] : &of_all[n - own];
    return n < own + (int) (sizeof of_all / sizeof *of_all) && p->name ? p : NULL;
}

const struct perturbation *relation_find(const struct op *op, const char *name)
{
    const struct perturbation *p;
    for (int n = 0; (p = relation_nth(op, n)) != NULL; n++)
        if (!strcmp(p->name, name))
            return p;
    return NULL;
}

/* ---- the second call ---- */

static int leave(void *user, const char *tensor, void *storage, size_t bytes)
{
    (void) user, (void) tensor, (void) storage, (void) bytes;
    return 0;
}

static int opened(struct attempt *t, struct other *o, int status)
{
    int64_t most = 1;
    for (int i = 0; i < MAX_TENSORS && !status; i++)
        if (o->c.slot[i].listed && o->c.slot[i].on && o->c.op->cols(&o->c.args, i) > most)
            most = o->c.op->cols(&o->c.args, i);
    if (!status)
        o->flag = calloc((size_t) most, 1);
    if (status || !o->flag) {
        snprintf(t->msg, sizeof t->msg, "%s", o->c.msg[0] ? o->c.msg : "out of memory");
        return -1;
    }
    return 0;
}

int other_new(struct attempt *t, struct other *o, const struct kase *k)
{
    memset(o, 0, sizeof *o);
    return opened(t, o, call_open(&o->c, k, leave, NULL));
}

int other_open(struct attempt *t, struct other *o, const struct kase *k)
{
    memset(o, 0, sizeof *o);
    int64_t *const same = rows_same(t);
    const int status = same ? rows_open(&o->c, k, t->base, same) : -1;
    free(same);
    return opened(t, o, status);
}

int other_run(struct attempt *t, struct other *o, const struct lc_kernel *k)
{
    if (!(o->after = arena_new(&o->c))) {
        snprintf(t->msg, sizeof t->msg, "out of memory");
        return -1;
    }
    return attempt_run(t, k ? k : t->kernel, &o->c, o->after);
}

int other_result(struct attempt *t, struct other *o, int status, const struct lc_kernel *k, const char *where)
{
    if (!t->d.bad_elements)
        snprintf(t->d.where, sizeof t->d.where, "%s", where);
    status = status ? status : other_run(t, o, k);
    t->d.runs += !status;
    return status;
}

void other_close(struct other *o)
{
    call_close(&o->c);
    arena_free(o->after);
    free(o->flag);
    memset(o, 0, sizeof *o);
}

bool other_is_legal(struct attempt *t, const struct kase *k)
{
    struct kase settled = *k;
    const char *const why = kase_settle(&settled);
    if (kase_same(&settled, k))
        return true;
    t->none = why ? why : "the second call is not legal";
    return false;
}

void other_case(const struct attempt *t, struct kase *k, const char *op, const char *const *axes)
{
    const struct kase *const id = &t->base->id;
    kase_default(k, op_find(op));
    for (; axes[0]; axes += 2) {
        char value[64];
        const int a = axis_of(id->op, axes[1]);
        axis_print(id->op, a, (struct axis_value) { id->i[a], id->f[a] }, value, sizeof value);
        kase_set(k, axes[0], value);
    }
}

void kase_put(struct kase *k, const char *axis, int64_t value)
{
    k->i[axis_of(k->op, axis)] = value;
}

const struct lc_kernel *other_kernel(const struct attempt *t, const char *op)
{
    const struct lc_kernel *first = NULL;
    for (const struct lc_kernel *k = backend_plugin(t->backend)->kernels; k->op; k++) {
        if (strcmp(k->op, op) || k->dialect || k->on_device != t->kernel->on_device)
            continue;
        if (k->variant && t->kernel->variant && !strcmp(k->variant, t->kernel->variant))
            return k;
        first = first ? first : k;
    }
    return first;
}

/* ---- rules ---- */

static uint32_t code_of(const struct call *c, const uint8_t *arena, int slot, int64_t row, int64_t col)
{
    return code_at(c->slot[slot].fmt, arena + c->slot[slot].offset + c->op->place(&c->args, slot, row, col), col);
}

double base_value(const struct attempt *t, int slot, int64_t row, int64_t col)
{
    return fmt_load(t->base->slot[slot].fmt, code_of(t->base, t->want, slot, row, col));
}

double other_value(const struct other *o, int slot, int64_t row, int64_t col)
{
    return fmt_load(o->c.slot[slot].fmt, code_of(&o->c, o->after, slot, row, col));
}

bool call_has(const struct call *c, int slot)
{
    return c->slot[slot].listed && c->slot[slot].on;
}

bool is_within(double v, int lo, int hi)
{
    return v == 0 || (fabs(v) >= ldexp(1, lo) && fabs(v) < ldexp(1, hi));
}

bool scales_exactly(enum lc_dtype f, double v, int by)
{
    return isfinite(v) && is_within(v, -126, 128) && is_within(ldexp(v, by), -126, 128) && rn(f, ldexp(v, by)) == ldexp(v, by);
}

/* Does the element differ in its bits, and does it more than it may? */
static void judge_element(struct attempt *t, const struct other *o, int slot, int base_slot, const struct rule *r, int64_t row,
                          int64_t col, bool *bad)
{
    const enum lc_dtype f = o->c.slot[slot].fmt;
    int64_t base_row = row, base_col = col;
    if (o->at)
        o->at(o, &base_row, &base_col);
    if (base_col >= t->base->op->cols(&t->base->args, base_slot))
        return; /* SF-6: the rest of a word, which the base call has not */
    const uint32_t base = code_of(t->base, t->want, base_slot, base_row, base_col),
                   got = code_of(&o->c, o->after, slot, row, col);
    uint32_t want = base;
    if (r->expect && !r->expect(t, o, row, col, &want))
        return;
    t->d.elements++;
    const double g = fmt_load(f, got), w = fmt_load(f, want);
    if (got == want || (fmt_is_nan(f, got) && fmt_is_nan(f, want)) || (r->zeros && g == 0 && w == 0))
        return;
    const bool within = r->allowed && fabs(g - w) <= r->allowed(t, o, row, col, w);
    t->beyond += !within;
    if (within && !r->bits_shown)
        return;
    *bad = true;
    if (t->d.bad_elements++ == 0) {
        t->d.slot = base_slot;
        t->d.row = row, t->d.col = base_col, t->d.base_row = base_row, t->d.m = o->c.op->rows(&o->c.args);
        t->d.got = got, t->d.want = want, t->d.fmt = (int) f + 1;
    }
}

void rule_judge(struct attempt *t, struct other *o, int slot, int base_slot, const struct rule *r)
{
    const struct op *const op = o->c.op;
    const int64_t rows = op->rows(&o->c.args), cols = op->cols(&o->c.args, slot);
    for (int64_t row = 0; row < rows; row++) {
        int64_t base_row = row, base_col = 0;
        bool bad = false;
        if (o->at)
            o->at(o, &base_row, &base_col);
        if (cols == 0 || op->place(&o->c.args, slot, row, 0) < 0 ||
            t->base->op->place(&t->base->args, base_slot, base_row, base_col) < 0 || (r->row && !r->row(t, o, row)))
            continue;
        for (int64_t col = 0; col < cols; col++)
            judge_element(t, o, slot, base_slot, r, row, col, &bad);
        t->d.rows++;
        t->d.bad_rows += bad;
    }
}
