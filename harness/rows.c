/* SPDX-License-Identifier: Apache-2.0 */
/* Calls made of another call's rows, and the comparison of output rows, by op->place and codes. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "perturb.h"

static bool takes_part(const struct slot *s, enum dir dir)
{
    return s->listed && s->on && s->dir == dir;
}

/* Has the row elements of this tensor? (inv_freq has one row, whatever the table's.) */
static bool owns(const struct call *c, int slot, int64_t row)
{
    return c->op->cols(&c->args, slot) > 0 && c->op->place(&c->args, slot, row, 0) >= 0;
}

/* Do rows 0 and 1 read the same elements? (weight scales, SF-5) */
static bool shares(const struct call *c, int slot)
{
    return c->op->place(&c->args, slot, 0, 0) == c->op->place(&c->args, slot, 1, 0);
}

bool rows_are_tokens(const struct call *c)
{
    for (int i = 0; i < MAX_TENSORS; i++)
        if (takes_part(&c->slot[i], DIR_IN) && (c->op->rows(&c->args) < 2 || (owns(c, i, 1) && !shares(c, i))))
            return true;
    return false;
}

/* Codes of a row lie one behind the other: looked at in three places, which tells all the layouts there are. */
static bool is_dense(const struct call *c, int slot, int64_t row, int64_t cols)
{
    const int64_t size = fmt_bytes(c->slot[slot].fmt), first = c->op->place(&c->args, slot, row, 0);
    return cols > 1 && c->op->place(&c->args, slot, row, 1) == first + size &&
           c->op->place(&c->args, slot, row, cols - 1) == first + (cols - 1) * size;
}

static uint8_t *code_of(const struct call *c, const uint8_t *arena, int slot, int64_t row, int64_t col)
{
    return (uint8_t *) arena + c->slot[slot].offset + c->op->place(&c->args, slot, row, col);
}

/* Codes of one row of a slot, from arena to arena of calls with the same columns. */
static void copy_row(const struct call *to, uint8_t *to_arena, int64_t to_row, const struct call *from, const uint8_t *from_arena,
                     int64_t from_row, int slot)
{
    const enum lc_dtype f = to->slot[slot].fmt;
    const int64_t cols = to->op->cols(&to->args, slot);
    if (!owns(to, slot, to_row) || !owns(from, slot, from_row))
        return;
    if (is_dense(to, slot, to_row, cols) && is_dense(from, slot, from_row, cols)) {
        memcpy(code_of(to, to_arena, slot, to_row, 0), code_of(from, from_arena, slot, from_row, 0),
               (size_t) cols * (size_t) fmt_bytes(f));
        return;
    }
    for (int64_t col = 0; col < cols; col++)
        code_to(f, code_of(to, to_arena, slot, to_row, col), col,
                code_at(f, code_of(from, from_arena, slot, from_row, col), col));
}

static void fill_row(struct call *c, int slot, int64_t row, enum foreign what)
{
    static const double values[FOREIGN] = { NAN, INFINITY, 0x1p120, 0 };
    const int64_t cols = c->op->cols(&c->args, slot);
    const enum lc_dtype f = c->slot[slot].fmt;
    double v = values[-what - 1];
    if (f == LC_I32 || f == LC_I64)
        v = 0; /* an integer says which, and must be one that there is */
    if (f == LC_UE8M0 && what != ROW_NAN && what != ROW_HUGE)
        v = 1; /* a scale is a power of two or NaN (FMT-3) */
    for (int64_t col = 0; col < cols; col++)
        put(c, slot, row, col, v);
}

static int leave(void *user, const char *tensor, void *storage, size_t bytes)
{
    (void) user, (void) tensor, (void) storage, (void) bytes;
    return 0; /* the rows are written afterwards */
}

int rows_open(struct call *c, const struct kase *k, const struct call *of, const int64_t *from)
{
    if (call_open(c, k, leave, NULL))
        return -1;
    const int64_t rows = c->op->rows(&c->args), of_rows = of->op->rows(&of->args);
    for (int i = 0; i < MAX_TENSORS; i++) {
        if (!takes_part(&c->slot[i], DIR_IN) || of_rows == 0)
            continue;
        if (of_rows > 1 && of->op->place(&of->args, i, 1, 0) < 0) { /* one row for all: the weight */
            copy_row(c, c->image, 0, of, of->image, 0, i);
            continue;
        }
        for (int64_t row = 0; row < rows; row++)
            if (from[row] >= 0)
                copy_row(c, c->image, row, of, of->image, from[row], i);
            else
                fill_row(c, i, row, (enum foreign) from[row]);
    }
    return 0;
}

bool rows_axes(struct kase *k, const char *changes)
{
    struct kase wanted = *k;
    while (*changes) {
        char word[64], *value;
        const size_t n = strcspn(changes, " ");
        snprintf(word, sizeof word, "%.*s", (int) n, changes);
        changes += n + (changes[n] == ' ');
        if (!(value = strchr(word, '=')))
            return false;
        *value++ = 0;
        if (axis_of(k->op, word) < 0 || kase_set(&wanted, word, value))
            return false;
    }
    struct kase settled = wanted;
    kase_settle(&settled);
    const bool legal = kase_same(&settled, &wanted) && !kase_same(&wanted, k);
    *k = wanted;
    return legal;
}

/* ---- comparison ---- */

static void keep_row(struct attempt *t, const struct call *c, const uint8_t *got, int64_t row, int64_t base_row)
{
    struct difference *const d = &t->d;
    if (!t->saved || d->n_saved == SAVED_ROWS)
        return;
    for (int64_t i = 0; i < d->n_saved; i++)
        if (d->saved[i] == base_row)
            return;
    d->saved[d->n_saved++] = base_row;
    for (int i = 0; i < MAX_TENSORS; i++)
        if (takes_part(&t->base->slot[i], DIR_OUT))
            copy_row(t->base, t->saved, base_row, c, got, row, i);
}

/* Elements of one row of one tensor that differ. */
static int64_t compare_row(struct attempt *t, int slot, const uint8_t *want, int64_t base_row, const struct call *c,
                           const uint8_t *got, int64_t row)
{
    const struct call *const base = t->base;
    const enum lc_dtype f = c->slot[slot].fmt;
    const int64_t cols = c->op->cols(&c->args, slot);
    int64_t bad = 0;
    if (!owns(c, slot, row) || !owns(base, slot, base_row))
        return 0;
    t->d.elements += cols;
    if (is_dense(c, slot, row, cols) && is_dense(base, slot, base_row, cols) &&
        !memcmp(code_of(c, got, slot, row, 0), code_of(base, want, slot, base_row, 0), (size_t) cols * (size_t) fmt_bytes(f)))
        return 0;
    for (int64_t col = 0; col < cols; col++) {
        const uint32_t g = code_at(f, code_of(c, got, slot, row, col), col),
                       w = code_at(f, code_of(base, want, slot, base_row, col), col);
        if (g == w)
            continue;
        bad++;
        if (t->d.bad_elements++ == 0) {
            t->d.slot = slot;
            t->d.row = row, t->d.col = col, t->d.base_row = base_row, t->d.m = c->op->rows(&c->args);
            t->d.got = g, t->d.want = w;
        }
    }
    return bad;
}

void rows_compare(struct attempt *t, const uint8_t *want, const struct call *c, const uint8_t *got, const int64_t *from)
{
    const int64_t rows = c->op->rows(&c->args);
    t->d.runs++;
    for (int64_t row = 0; row < rows; row++) {
        int64_t bad = 0;
        if (from[row] < 0)
            continue; /* a foreign row: its result is its own affair */
        for (int i = 0; i < MAX_TENSORS; i++)
            if (takes_part(&c->slot[i], DIR_OUT) && !call_is_repeat(c, i))
                bad += compare_row(t, i, want, from[row], c, got, row);
        t->d.rows++;
        t->d.bad_rows += bad > 0;
        if (bad > 0)
            keep_row(t, c, got, row, from[row]);
    }
}

void rows_store(const struct call *c, uint8_t *to, const struct call *of, const uint8_t *arena, const int64_t *from, int64_t n)
{
    for (int64_t row = 0; row < n; row++)
        for (int i = 0; i < MAX_TENSORS; i++)
            if (takes_part(&c->slot[i], DIR_OUT))
                copy_row(c, to, row, of, arena, from[row], i);
}

/* ---- attempts ---- */

int attempt_failed(struct attempt *t, struct seat *s, int status)
{
    if (status)
        snprintf(t->msg, sizeof t->msg, "%s", s->msg);
    seat_close(s);
    return status;
}

int64_t *rows_same(const struct attempt *t)
{
    const int64_t rows = t->base->op->rows(&t->base->args);
    int64_t *const from = malloc((size_t) (rows + 1) * sizeof *from);
    for (int64_t i = 0; from && i < rows; i++)
        from[i] = i;
    return from;
}

int attempt_run(struct attempt *t, const struct lc_kernel *k, const struct call *c, uint8_t *after)
{
    struct seat s;
    int status = seat_open(&s, t->backend, k, c);
    status = status ? status : seat_load(&s, c->image);
    return attempt_failed(t, &s, status ? status : seat_run(&s, after));
}

int rows_try(struct attempt *t, const struct kase *k, const int64_t *from, const char *format, ...)
{
    const int64_t before = t->d.bad_elements;
    struct call *const c = calloc(1, sizeof *c);
    uint8_t *after = NULL;
    int status = c ? rows_open(c, k, t->base, from) : -1;
    if (status || !(after = arena_new(c))) {
        snprintf(t->msg, sizeof t->msg, "%s", c && c->msg[0] ? c->msg : "out of memory");
        status = -1;
    } else
        status = attempt_run(t, t->kernel, c, after);
    if (status == LC_UNSUPPORTED || (status == LC_BAD_ARG && t->may_refuse)) {
        t->d.skipped++;
        status = 0;
    } else if (!status)
        rows_compare(t, t->want, c, after, from);
    if (status || (!before && t->d.bad_elements)) {
        va_list list;
        va_start(list, format);
        vsnprintf(t->d.where, sizeof t->d.where, format, list);
        va_end(list);
    }
    if (c)
        call_close(c);
    free(c);
    arena_free(after);
    return status;
}

int attempt_other(struct attempt *t, int seed, struct call *c, uint8_t **after)
{
    struct kase k = t->base->id;
    k.i[axis_of(k.op, "seed")] += seed;
    *after = NULL;
    if (call_open(c, &k, NULL, NULL) || !(*after = arena_new(c))) {
        snprintf(t->msg, sizeof t->msg, "%s", c->msg[0] ? c->msg : "out of memory");
        return -1;
    }
    return attempt_run(t, t->kernel, c, *after);
}
