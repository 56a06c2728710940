/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of a worker that reads a file of cases: golden check, judge. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "golden.h"
#include "h5.h"
#include "out.h"
#include "room.h"
#include "worker.h"

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

/* ---- judge ---- */

/* An output in an input's place (APPLY-3): its elements alone, as others may lie between them. */
static int read_elements(struct golden *g, const struct call *c, int slot, uint8_t *to, char *why, size_t size)
{
    const int64_t rows = c->op->rows(&c->args), cols = c->op->cols(&c->args, slot);
    uint8_t *const storage = malloc(c->slot[slot].bytes + 1);
    int status = storage ? golden_read(g, c, slot, storage, why, size) : h5_say(why, size, "out of memory");
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
    arena_copy(c, after, c->image);
    for (int i = 0; i < MAX_TENSORS; i++) {
        const struct slot *const s = &c->slot[i];
        const bool written = s->listed && s->on && s->dir == DIR_OUT && !call_is_copy(c, i); /* RMS-7: a BF16 out is bf16 too */
        uint8_t *const to = after + s->offset;
        if (written && (s->same_as >= 0 ? read_elements(g, c, i, to, why, size) : golden_read(g, c, i, to, why, size)))
            return -1;
    }
    return 0;
}

/* y.* of the file are not believed here: the judge is the reference. */
void golden_judge(struct golden *g, const struct call *c, struct result *r)
{
    char why[2048] = "out of memory";
    const double begin = now_ms();
    uint8_t *const after = arena_new(c);
    if (after && !read_outputs(g, c, after, why, sizeof why)) {
        judge_values(c, after, NULL, r);
        result_settle(c, r);
    } else {
        r->outcome = BROKEN;
        snprintf(r->msg, sizeof r->msg, "%.500s", why);
    }
    r->ms = now_ms() - begin;
    arena_free(after);
}

/* ---- check ---- */

struct checked { /* one case */
    int64_t elements, unspecified, unowned, intervals;
    double used; /* the largest part of the reference's radius that the oracle's hull takes */
    int64_t differ;
    char first[400]; /* difference */
};

static const char *clause_of(const struct kase *k, const char *tensor)
{
    const struct bound *const b = bound_of(k, tensor);
    return b ? b->clause : "?";
}

/* Some output is judged by a hull, so a golden has y. */
static bool is_bounded(const struct op *op)
{
    for (int i = 0; i < MAX_BOUNDS && op->bounds[i].tensor; i++)
        if (op->bounds[i].k > 0)
            return true;
    return false;
}

/* The storage of an output, or of the one whose storage it shares (RMS-7). */
static int storage_of(const struct call *c, int slot)
{
    return call_is_copy(c, slot) ? c->slot[slot].same_as : slot;
}

static bool is_output(const struct call *c, int slot)
{
    return c->slot[slot].listed && c->slot[slot].on && c->slot[slot].dir == DIR_OUT;
}

/* Codes, scales and copies of one row, bitwise. */
static void check_codes(const struct call *c, uint8_t *const storage[], const struct room *room, const int64_t *cols, int64_t row,
                        struct checked *to)
{
    for (int i = 0; i < MAX_TENSORS; i++)
        for (int64_t col = 0; room->row[i] && col < cols[i]; col++) {
            const enum lc_dtype f = c->slot[i].fmt;
            if (c->op->place(&c->args, i, row, col) < 0)
                break; /* a row that owns nothing here owns nothing */
            const uint8_t *const at = storage[storage_of(c, i)] + c->op->place(&c->args, i, row, col);
            const bool open = room->want.free[i][col]; /* CAST-7, RMS-12: the oracle leaves a 0 there */
            const uint32_t golden = code_at(f, at, col), ref = open ? 0 : fmt_code(f, room->want.at[i][col].v);
            to->unspecified += open;
            to->elements += !open;
            if (golden != ref && to->differ++ == 0)
                snprintf(to->first, sizeof to->first,
                         "%s[%" PRId64 ",%" PRId64 "] golden 0x%0*" PRIx32 " (%a) ref %s0x%0*" PRIx32 " (%a) (%s)",
                         c->slot[i].t.name, row, col, 2 * fmt_bytes(f), golden, fmt_load(f, golden), open ? "unspecified, " : "",
                         2 * fmt_bytes(f), ref, fmt_load(f, ref), clause_of(&c->id, c->slot[i].t.name));
        }
}

/* Which part of the reference's radius this end of the oracle's hull takes; more than 1 leaves it. */
static double part(double oracle, double ref)
{
    return oracle == 0 ? 0 : ref == 0 ? HUGE_VAL : oracle / ref;
}

/* Not a number in the same way; a side that the oracle leaves no freedom on has none in the reference. */
static bool same_kind(struct iv golden, struct iv ref)
{
    if (isnan(ref.v))
        return isnan(golden.lo) == isnan(ref.lo);
    return (golden.lo < golden.v || ref.lo == ref.v) && (golden.hi > golden.v || ref.hi == ref.v);
}

/* v is the same number within 2^-50, the oracle's hull lies in the reference's. */
static void check_y(const struct call *c, const struct iv *golden, const struct iv *ref, int64_t row, int64_t d,
                    struct checked *to)
{
    for (int64_t col = 0; golden && col < d; col++) {
        const struct iv g = golden[col], r = ref[col];
        const bool open = isinf(r.v) && g.v == 0; /* unspecified (RMS-12): the oracle leaves a 0 there */
        to->intervals += !open;
        const bool same = open         ? true
                          : isnan(r.v) ? isnan(g.v)
                          : isinf(r.v) ? g.v == r.v /* LIN-11 */
                                       : fabs(g.v - r.v) <= ldexp(fabs(r.v), -50) && signbit(g.v) == signbit(r.v);
        const bool inside = open || (same_kind(g, r) && (isnan(r.v) || (r.lo <= g.lo && g.hi <= r.hi)));
        if (open)
            continue;
        const bool bounded = r.lo < r.v && r.v < r.hi; /* not one rounding's two results (HAD-5) */
        const double below = part(g.v - g.lo, r.v - r.lo), above = part(g.hi - g.v, r.hi - r.v);
        to->used = inside && bounded && below > to->used ? below : to->used;
        to->used = inside && bounded && above > to->used ? above : to->used;
        if ((!same || !inside) && to->differ++ == 0)
            snprintf(to->first, sizeof to->first, "y[%" PRId64 ",%" PRId64 "] golden %a in [%a, %a] ref %a in [%a, %a]: %s (%s)",
                     row, col, g.v, g.lo, g.hi, r.v, r.lo, r.hi,
                     same ? "not inside, or no bound where the other has one" : "not within 2^-50", clause_of(&c->id, "out"));
    }
}

/* A byte that no element owns is 0 in a golden. */
static void check_unowned(const struct call *c, int slot, const uint8_t *storage, struct checked *to)
{
    const struct slot *const s = &c->slot[slot];
    for (size_t at = 0; at < s->bytes; at++) {
        if (c->own[s->offset + at] == OWNED || c->own[s->offset + at] == INOUT)
            continue;
        to->unowned++;
        if (storage[at] && to->differ++ == 0)
            snprintf(to->first, sizeof to->first, "%s: byte %zu, which no element owns, is 0x%02x in the golden (DET-3)",
                     s->t.name, at, storage[at]);
    }
}

static int check_values(const struct call *c, uint8_t *const storage[], const struct iv *y, struct checked *to, char *why,
                        size_t size)
{
    static const struct ref_got nothing; /* goldens are made without a kernel */
    struct room room;
    int64_t cols[MAX_TENSORS];
    const int64_t rows = c->op->rows(&c->args);
    const int status = room_open(&room, c->op, &c->args, cols) ? h5_say(why, size, "out of memory: one row of the reference") : 0;
    for (int64_t row = 0; !status && row < rows; row++) {
        c->op->ref(&c->args, row, &nothing, &room.want);
        check_codes(c, storage, &room, cols, row, to);
        check_y(c, y ? y + row * cols[c->op->y_tensor] : NULL, room.want.y, row, cols[c->op->y_tensor], to);
    }
    room_close(&room);
    return status;
}

/* 0, or -1 and why where it could not be read. */
static int check_case(struct golden *g, const struct call *c, const struct iv *y, struct checked *to, char *why, size_t size)
{
    uint8_t *storage[MAX_TENSORS] = { NULL };
    int status = 0;
    for (int i = 0; !status && i < MAX_TENSORS; i++) {
        if (!is_output(c, i) || call_is_copy(c, i))
            continue;
        storage[i] = malloc(c->slot[i].bytes + 1);
        status = storage[i] ? golden_read(g, c, i, storage[i], why, size) : h5_say(why, size, "out of memory");
        if (!status)
            check_unowned(c, i, storage[i], to);
    }
    if (!status && !y && is_bounded(c->op) && to->differ++ == 0)
        snprintf(to->first, sizeof to->first, "no y.v, y.lo, y.hi");
    if (!status)
        status = check_values(c, storage, y, to, why, size);
    if (!status && !golden_intact(g, &c->id, why, size) && to->differ++ == 0)
        snprintf(to->first, sizeof to->first, "%.390s", why);
    for (int i = 0; i < MAX_TENSORS; i++)
        free(storage[i]);
    return status;
}

json_t *golden_check(struct golden *g, const struct call *c, const struct iv *y)
{
    struct checked to = { .used = 0 };
    char id[MAX_ID], why[2048];
    kase_print(&c->id, id, sizeof id);
    const int status = check_case(g, c, y, &to, why, sizeof why);
    return json_pack("{s:s, s:s, s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:f}", "case", id, "op", c->op->name, "outcome",
                     status      ? "broken"
                     : to.differ ? "fail"
                                 : "pass",
                     "msg", out_words(status ? why : to.first), "differ", (json_int_t) to.differ, "elements",
                     (json_int_t) to.elements, "unspecified", (json_int_t) to.unspecified, "unowned", (json_int_t) to.unowned,
                     "intervals", (json_int_t) to.intervals, "used", to.used);
}
