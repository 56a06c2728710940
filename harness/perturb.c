/* SPDX-License-Identifier: Apache-2.0 */
/* The perturbations, but for those that only a device has. */
#include "perturb.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "case.h"

enum { REPEATS = 10 };

/* An output that is an input's storage holds the input (HAD-4): it cannot be stale, nor be made twice from one input. */
static bool in_place(const struct call *c)
{
    for (int i = 0; i < MAX_TENSORS; i++)
        if (c->slot[i].listed && c->slot[i].on && c->slot[i].dir == DIR_OUT && c->slot[i].same_as >= 0 && !call_is_copy(c, i))
            return true;
    return false;
}

/* ---- DET-1 ---- */

/* Every second run is started twice in a row: what the first leaves behind (counters, flags) is what the second finds. */
static int repeat(struct attempt *t)
{
    struct seat s;
    int64_t *const same = rows_same(t);
    int status = same ? seat_open(&s, t->backend, t->kernel, t->base) : -1;
    for (int i = 0; i < REPEATS && !status; i++) {
        status = seat_load(&s, t->base->image);
        if (i % 2 && !status && !in_place(t->base))
            status = seat_start(&s, NULL);
        status = status ? status : seat_run(&s, t->got);
        if (!t->d.bad_elements)
            snprintf(t->d.where, sizeof t->d.where, "run %d of %d", i + 2, REPEATS + 1);
        if (!status)
            rows_compare(t, t->want, t->base, t->got, same);
    }
    free(same);
    return same ? attempt_failed(t, &s, status) : -1;
}

/* Other inputs in the same buffers: nothing may be remembered by address. The seat is taken first, so that the other data's own
 * run is elsewhere. */
static int reuse(struct attempt *t)
{
    struct seat s;
    struct call *const other = calloc(1, sizeof *other);
    uint8_t *after = NULL;
    int64_t *const same = rows_same(t);
    int status = other && same ? seat_open(&s, t->backend, t->kernel, t->base) : -1;
    if (!other || !same)
        memset(&s, 0, sizeof s);
    if (status || (status = attempt_other(t, 1, other, &after)) != 0)
        snprintf(s.msg, sizeof s.msg, "%.500s", t->msg[0] ? t->msg : s.msg);
    for (int i = 0; i < 4 && !status; i++) {
        const bool theirs = i % 2 != 0;
        status = seat_load(&s, theirs ? other->image : t->base->image);
        status = status ? status : seat_run(&s, t->got);
        if (!t->d.bad_elements)
            snprintf(t->d.where, sizeof t->d.where, "inputs %d in the same buffers%s", i + 1, theirs ? ", of the next seed" : "");
        if (!status)
            rows_compare(t, theirs ? after : t->want, t->base, t->got, same);
    }
    status = attempt_failed(t, &s, status);
    if (other)
        call_close(other);
    free(other);
    arena_free(after);
    free(same);
    return status;
}

/* DET-3: outputs that hold what a right result looks like: another seed's, or this one's with the last bit turned. The two
 * poisons of `run` are no such thing. */
static int stale(struct attempt *t)
{
    struct seat s;
    const struct call *const base = t->base;
    if (in_place(base)) {
        t->none = "in place";
        return 0;
    }
    struct call *const other = calloc(1, sizeof *other);
    uint8_t *after = NULL, *image = NULL;
    int64_t *const same = rows_same(t);
    int status = other && same ? attempt_other(t, 1, other, &after) : -1;
    memset(&s, 0, sizeof s);
    if (!status && !(image = arena_new(base)))
        status = -1;
    if (!status)
        status = seat_open(&s, t->backend, t->kernel, base);
    for (int i = 0; i < 2 && !status; i++) {
        arena_copy(base, image, base->image);
        for (int w = 0; w < base->n_windows; w++)
            for (size_t at = base->window[w].begin; at < base->window[w].end; at++)
                if (base->own[at] == OWNED)
                    image[at] = i ? t->want[at] : after[at];
        for (int k = 0; i && k < MAX_TENSORS; k++) {
            const struct slot *const o = &base->slot[k];
            const bool written = o->listed && o->on && o->dir == DIR_OUT && o->same_as < 0;
            const int64_t rows = written ? base->op->rows(&base->args) : 0, cols = written ? base->op->cols(&base->args, k) : 0;
            for (int64_t n = 0; n < rows * cols; n++) {
                const int64_t place = base->op->place(&base->args, k, n / cols, n % cols);
                uint8_t *const at = image + o->offset + place;
                if (place < 0)
                    break;
                code_to(o->fmt, at, n % cols, code_at(o->fmt, at, n % cols) ^ 1);
            }
        }
        status = seat_load(&s, image);
        status = status ? status : seat_run(&s, t->got);
        if (!t->d.bad_elements)
            snprintf(t->d.where, sizeof t->d.where, "over outputs %s", i ? "with their last bit turned" : "of the next seed");
        if (!status)
            rows_compare(t, t->want, base, t->got, same);
    }
    status = s.c ? attempt_failed(t, &s, status) : status;
    if (other)
        call_close(other);
    free(other);
    arena_free(after);
    arena_free(image);
    free(same);
    return status;
}

/* The environment is set back; OMP_NUM_THREADS too, for kernels that look at it themselves. */
static int threads(struct attempt *t)
{
    static const int numbers[] = { 1, 2, 3, 5, 8 };
    struct seat s;
    void (*set)(int);
    int (*get)(void);
    char word[16], before[64] = "";
    if (t->kernel->on_device) {
        t->none = "a device kernel";
        return 0;
    }
    *(void **) &set = backend_symbol(t->backend, "omp_set_num_threads");
    *(void **) &get = backend_symbol(t->backend, "omp_get_max_threads");
    const int most = get ? get() : 0;
    const char *const env = getenv("OMP_NUM_THREADS");
    if (env)
        snprintf(before, sizeof before, "%s", env);
    int64_t *const same = rows_same(t);
    int status = same ? seat_open(&s, t->backend, t->kernel, t->base) : -1;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !status; i++) {
        snprintf(word, sizeof word, "%d", numbers[i]);
        setenv("OMP_NUM_THREADS", word, 1);
        if (set)
            set(numbers[i]);
        status = seat_load(&s, t->base->image);
        status = status ? status : seat_run(&s, t->got);
        if (!t->d.bad_elements)
            snprintf(t->d.where, sizeof t->d.where, "%d threads", numbers[i]);
        if (!status)
            rows_compare(t, t->want, t->base, t->got, same);
    }
    if (before[0])
        setenv("OMP_NUM_THREADS", before, 1);
    else
        unsetenv("OMP_NUM_THREADS");
    if (set && most > 0)
        set(most);
    free(same);
    return same ? attempt_failed(t, &s, status) : -1;
}

/* ---- DET-2 ---- */

static int with_axes(struct attempt *t, const char *const *changes)
{
    int64_t *const same = rows_same(t);
    int status = same ? 0 : -1;
    for (int i = 0; changes[i] && !status; i++) {
        struct kase k = t->base->id;
        if (rows_axes(&k, changes[i]))
            status = rows_try(t, &k, same, "%s", changes[i]);
    }
    free(same);
    return status;
}

/* All values that the descriptor lists: others may be no multiple of an element. */
static int base_alignment(struct attempt *t)
{
    const struct op *const op = t->base->op;
    const int axis = axis_of(op, "at"), n = axis < 0 ? 0 : axis_count(op, axis);
    int64_t *const same = rows_same(t);
    int status = same ? 0 : -1;
    t->may_refuse = 1; /* RMS-8: any base gives the same bits or is refused */
    for (int i = 0; i < n && !status; i++) {
        char change[64];
        struct kase k = t->base->id;
        snprintf(change, sizeof change, "at=%lld", (long long) axis_listed(op, axis, i).i);
        if (rows_axes(&k, change))
            status = rows_try(t, &k, same, "%s", change);
    }
    free(same);
    return status;
}

static int strides(struct attempt *t)
{
    static const char *const changes[] = { "xs=1",           "xs=16",       "xs=37",       "xs=48",
                                           "rs=16",          "rs=80",       "os=32",       "os=112",
                                           "ros=16",         "ros=64",      "bs=3",        "bs=16",
                                           "bs=160",         "xs=16 rs=80", "xs=16 os=32", "xs=48 rs=16 os=32 ros=64",
                                           "xs=16 bs=16",    "perm=1",      "hs=80",       "layout=planar",
                                           "layout=strided", NULL };
    return with_axes(t, changes);
}

/* 1..9, and every power of two with its neighbours. */
static bool is_rung(int64_t m)
{
    for (int64_t p = 16; p <= m + 1; p *= 2)
        if (m >= p - 1 && m <= p + 1)
            return true;
    return m <= 9;
}

/* Each rung is called with the first rows and with the last: row i of either is the base call's row. */
static int batch(struct attempt *t)
{
    const struct kase *const id = &t->base->id;
    const int64_t rows = t->base->op->rows(&t->base->args);
    const bool tokens = rows_are_tokens(t->base), by_rows = axis_of(id->op, "M") < 0; /* rows: positions of a table */
    const bool flat = axis_of(id->op, "rank") >= 0 && !kase_is(id, "rank", "2");
    int64_t *const same = rows_same(t);
    int status = same ? 0 : -1;
    for (int64_t m = 1; m <= rows && !status; m++) {
        char change[64];
        struct kase k = *id;
        snprintf(change, sizeof change, "%s=%lld%s%s", by_rows ? "rows" : "M", (long long) m, flat ? " rank=2 B=2 bs=0" : "",
                 flat && axis_of(id->op, "perm") >= 0 ? " perm=0" : "");
        if (!is_rung(m) || !rows_axes(&k, change))
            continue;
        status = rows_try(t, &k, same, "M=%lld, the first rows", (long long) m);
        if (!status && m < rows && tokens)
            status = rows_try(t, &k, same + (rows - m), "M=%lld, the last rows", (long long) m);
    }
    for (int64_t b = 1; b <= 4 && !status; b++) { /* the same rows in three dimensions */
        char change[64];
        struct kase k = *id;
        snprintf(change, sizeof change, "rank=3 B=%lld M=%lld", (long long) b, (long long) (rows / b));
        if (rows / b > 0 && rows_axes(&k, change))
            status = rows_try(t, &k, same, "%s", change);
    }
    free(same);
    return status;
}

/* The same row at other places. The order of places is fixed: i * step mod n, step prime to any n that is no multiple. */
static int position(struct attempt *t)
{
    if (!rows_are_tokens(t->base)) {
        t->none = "the operator has no inputs by row: a row is its place";
        return 0;
    }
    const int64_t rows = t->base->op->rows(&t->base->args);
    int64_t *const from = rows_same(t);
    int status = from ? 0 : -1;
    for (int64_t i = 0; i < rows && !status; i++)
        from[i] = rows - 1 - i;
    status = status ? status : rows_try(t, &t->base->id, from, "rows in reverse");
    for (int64_t by = 1; by <= 2 && !status; by++) {
        for (int64_t i = 0; i < rows; i++)
            from[i] = (i + by) % rows;
        status = rows_try(t, &t->base->id, from, "rows moved by %lld", (long long) by);
    }
    for (int64_t i = 0; i < rows && !status; i++)
        from[i] = i * 7919 % rows;
    status = status ? status : rows_try(t, &t->base->id, from, "rows shuffled");
    for (int64_t one = 0; one < 3 && one < rows && !status; one++) {
        for (int64_t i = 0; i < rows; i++)
            from[i] = one * (rows - 1) / 2;
        status = rows_try(t, &t->base->id, from, "row %lld everywhere", (long long) from[0]);
    }
    free(from);
    return status;
}

static int neighbours(struct attempt *t)
{
    if (!rows_are_tokens(t->base)) {
        t->none = "the operator has no inputs by row: a row is its place";
        return 0;
    }
    if (t->base->op->bad_values) {
        t->none = "one value of another row may refuse the whole call (ERR-2, SF-5)";
        return 0;
    }
    static const char *const words[FOREIGN] = { "NaN", "Inf", "2^120", "0" };
    const int64_t rows = t->base->op->rows(&t->base->args);
    int64_t *const from = rows_same(t);
    int status = from ? 0 : -1;
    for (int what = -1; what >= -FOREIGN && !status; what--)
        for (int kept = 0; kept < 3 && !status; kept++) {
            for (int64_t i = 0; i < rows; i++)
                from[i] = (kept < 2 ? i % 2 == kept : i == rows / 2) ? i : what;
            status = rows_try(t, &t->base->id, from, "%s rows of %s",
                              kept == 0   ? "odd"
                              : kept == 1 ? "even"
                                          : "all other",
                              words[-what - 1]);
        }
    free(from);
    return status;
}

const struct perturbation perturbations[] = {
    { "repeat", "DET-1", "the same call again, every second time twice in a row", repeat },
    { "reuse", "DET-1", "other inputs in the same buffers, and back", reuse },
    { "stale", "DET-3", "outputs that hold an old result, or this one but for a bit", stale },
    { "stream", "DET-1", "on other streams, behind the copies that bring the inputs", perturb_stream },
    { "busy", "DET-1", "beside copies and a kernel that loads every multiprocessor", perturb_busy },
    { "graph", "DET-1", "captured once, replayed over other inputs and poisoned outputs", perturb_graph },
    { "base", "DET-2", "base addresses", base_alignment },
    { "strides", "DET-2", "row and batch strides", strides },
    { "batch", "DET-2", "1, 2, 3.. rows and around powers of two, with the first rows and the last; in three dimensions", batch },
    { "position", "DET-2", "rows at other places", position },
    { "neighbours", "DET-2", "other rows NaN, Inf, huge, zero", neighbours },
    { "occupied", "DET-2", "fewer free multiprocessors", perturb_occupied },
    { "threads", "DET-2", "1, 2, 3, 5, 8 threads (host)", threads },
    { NULL, NULL, NULL, NULL },
};

const struct perturbation *perturbation_find(const char *name)
{
    for (const struct perturbation *p = perturbations; p->name; p++)
        if (!strcmp(p->name, name))
            return p;
    return NULL;
}
