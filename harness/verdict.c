/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict.h"

#include <fenv.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "room.h"

const char *const check_names[CHECKS] = { "value", "keep", "poison", "refusal", "status" };
const char *const outcome_names[OUTCOMES] = { "pass", "fail", "unsupported", "crash", "timeout", "broken", "vacuous" };

static struct finding *note(struct result *r, enum check check, int slot)
{
    struct finding *const f = &r->found[check];
    if (f->count++ == 0)
        f->slot = slot;
    return f;
}

/* ---- values ---- */

/* How much of the allowed radius a code used: the distance from v to the nearest real that rounds to the code, over the radius. */
static double slack_used(enum lc_dtype f, struct iv w, uint32_t got)
{
    const double g = fmt_load(f, got);
    const uint32_t towards_zero = got - 1, away = got + 1;
    const int outward = fabs(g) > fabs(w.v);
    if (!isfinite(g) || g == 0 || signbit(g) != signbit(w.v))
        return 0;
    const double neighbour = fmt_load(f, outward ? towards_zero : away);
    const double edge = isfinite(neighbour) ? (g + neighbour) / 2 : g, radius = g > w.v ? w.hi - w.v : w.v - w.lo;
    return radius > 0 ? fabs(edge - w.v) / radius : 0;
}

static void count(struct tally *t, enum lc_dtype f, struct iv w, uint32_t got, enum verdict verdict, int64_t *ulp)
{
    const uint32_t nominal = fmt_code(f, w.v);
    t->exact += verdict == EXACT;
    t->explained += verdict == EXPLAINED;
    t->unexplained += verdict == UNEXPLAINED;
    t->zero += fmt_load(f, nominal) == 0;
    t->saturated += (f == LC_E4M3 && (nominal & 0x7f) == 0x7e) || (f == LC_E2M1X2 && (nominal & 7) == 7);
    *ulp = 0;
    if (fmt_is_nan(f, got) || fmt_is_nan(f, nominal))
        return;
    *ulp = fmt_order(f, got) - fmt_order(f, nominal);
    const int64_t bin = *ulp < -4 ? -4 : *ulp > 4 ? 4 : *ulp;
    t->ulps[bin + 4]++;
    t->bias += (double) *ulp;
    if (verdict == EXPLAINED && f != LC_E4M3 && f != LC_E2M1X2 && w.lo < w.v &&
        w.v < w.hi) { /* the hull of y; a code's is made of rounded values */
        const double used = slack_used(f, w, got);
        if (used > t->slack)
            t->slack = used;
    }
}

void judge_values(const struct call *c, const uint8_t *after, const struct iv *given_y, struct result *r)
{
    struct room room;
    int64_t cols[MAX_TENSORS];
    const int64_t rows = c->op->rows(&c->args);
    if (room_open(&room, c->op, &c->args, cols)) {
        r->outcome = BROKEN;
        snprintf(r->msg, sizeof r->msg, "out of memory: one row of the verdict");
        room_close(&room);
        return;
    }
    for (int64_t row = 0; row < rows; row++) {
        for (int i = 0; i < MAX_TENSORS; i++)
            for (int64_t col = 0; room.row[i] && col < cols[i]; col++) {
                const int64_t at = c->op->place(&c->args, i, row, col);
                if (at >= 0) /* else the row owns nothing here: what an earlier one had stays in sight (inv_freq, ROT-1) */
                    room.row[i][col] = code_at(c->slot[i].fmt, after + c->slot[i].offset + at, col);
            }
        room.want.given_y = given_y ? given_y + row * cols[c->op->y_tensor] : NULL;
        room.want.claims = r->claims;
        c->op->ref(&c->args, row, &room.got, &room.want);
        for (int i = 0; i < MAX_TENSORS; i++) {
            const enum lc_dtype f = c->slot[i].fmt;
            for (int64_t col = 0; room.row[i] && col < cols[i]; col++) {
                const uint32_t got = room.row[i][col];
                const struct iv w = room.want.at[i][col];
                int64_t ulp;
                if (c->op->place(&c->args, i, row, col) < 0)
                    break;
                r->elements++;
                if (room.want.free[i][col]) {
                    r->tally[i].unspecified++;
                    continue;
                }
                const enum verdict verdict = judge(f, w, got);
                count(&r->tally[i], f, w, got, verdict, &ulp);
                r->changed += verdict != EXACT;
                if (verdict != UNEXPLAINED)
                    continue;
                struct finding *const first = &r->found[CHECKS + i];
                if (first->count++ == 0)
                    *first = (struct finding) { 1, i, row, col, f, got, fmt_code(f, w.v), w, ulp, "" };
                if (r->found[CHECK_VALUE].count++ == 0)
                    r->found[CHECK_VALUE] = *first;
            }
        }
    }
    r->ambiguous = room.want.ambiguous;
    r->two_scale = room.want.two_scale;
    room_close(&room);
}

/* ---- ownership ---- */

/* Names the place of an arena byte: "x + 12 (gap)", "out - 3", "after out + 260". */
static void place_name(const struct call *c, size_t at, char *to, size_t size)
{
    int nearest = -1;
    size_t least = SIZE_MAX;
    for (int i = 0; i < MAX_TENSORS; i++) {
        const struct slot *const s = &c->slot[i];
        if (!s->listed)
            continue;
        const size_t end = s->offset + s->bytes, away = at < s->offset ? s->offset - at : at >= end ? at - end + 1 : 0;
        if (away < least) {
            least = away;
            nearest = i;
        }
    }
    const struct slot *const s = &c->slot[nearest];
    if (at < s->offset)
        snprintf(to, size, "%zu bytes before %s", s->offset - at, s->t.name);
    else if (at >= s->offset + s->bytes)
        snprintf(to, size, "%zu bytes after the end of %s", at - s->offset - s->bytes + 1, s->t.name);
    else
        snprintf(to, size, "byte %zu of %s, %s", at - s->offset, s->t.name,
                 c->own[at] == INPUT || c->own[at] == INOUT ? "an input"
                 : !s->on                                   ? "which is switched off (RMS-11)"
                                                            : "which no element owns");
}

static void check_kept(const struct call *c, const uint8_t *after, struct result *r, enum check check, const char *clause)
{
    const int refused = check == CHECK_REFUSAL;
    for (int w = 0; w < c->n_windows; w++)
        for (size_t at = c->window[w].begin; at < c->window[w].end; at++) {
            if (after[at] == c->image[at] || (!refused && (c->own[at] == OWNED || c->own[at] == PAD || c->own[at] == INOUT)))
                continue;
            struct finding *const f = note(r, check, -1);
            if (f->count == 1) {
                char place[160];
                place_name(c, at, place, sizeof place);
                snprintf(f->words, sizeof f->words, "wrote 0x%02x over 0x%02x, %s (%s)", after[at], c->image[at], place, clause);
            }
        }
}

static void note_poison(const struct call *c, size_t at, uint8_t a, uint8_t b, struct result *r)
{
    struct finding *const f = note(r, CHECK_POISON, -1);
    if (f->count > 1)
        return;
    char place[160];
    place_name(c, at, place, sizeof place);
    place[strcspn(place, ",")] = 0;
    snprintf(f->words, sizeof f->words, "%s: 0x%02x when memory held 0x%02x, 0x%02x when it held 0x%02x: %s (DET-3)", place, a,
             POISON_A, b, POISON_B, a == POISON_A && b == POISON_B ? "not written" : "depends on a byte it may not read");
}

static void check_poison(const struct call *c, const uint8_t *a, const uint8_t *b, struct result *r)
{
    for (int w = 0; w < c->n_windows; w++)
        for (size_t at = c->window[w].begin; at < c->window[w].end; at++)
            if ((c->own[at] == OWNED || c->own[at] == INOUT) && a[at] != b[at])
                note_poison(c, at, a[at], b[at], r);
}

/* ---- one case ---- */

/* A refusal that a device kernel could only write down: `error` is as it must be, and then as it was. */
static void check_error(const struct call *c, uint8_t *after, int64_t error, struct result *r)
{
    for (int i = 0; i < MAX_TENSORS; i++) {
        const struct slot *const s = &c->slot[i];
        int64_t got;
        if (!s->listed || strcmp(s->t.name, "error"))
            continue;
        memcpy(&got, after + s->offset, sizeof got);
        memcpy(after + s->offset, c->image + s->offset, sizeof got);
        if (got != error) {
            struct finding *const f = note(r, CHECK_REFUSAL, -1);
            snprintf(f->words, sizeof f->words, "accepted, and error = %" PRId64 ", must be %" PRId64 " (SF-5)", got, error);
        }
        return;
    }
}

static void refuse(struct backend *b, const struct lc_kernel *k, struct call *c, uint8_t *after, struct result *r)
{
    static const uint8_t poisons[] = { POISON_A, POISON_B }; /* a write of 0xff shows under the other */
    const struct bad *const bad = &c->op->bads[c->bad];
    const bool in_memory = bad_in_memory(bad);
    const bool in_another_form = !in_memory && bad_form(c->op, kase_int(&c->id, "bad")); /* it may break a second rule */
    for (int i = 0; i < 2; i++) {
        char msg[512] = "";
        call_poison(c, poisons[i]);
        const int64_t error = c->op->bad_values ? c->op->bad_values(c) : 0;
        const int status = backend_run(b, k, c, after, msg, sizeof msg);
        if (status < 0) {
            r->outcome = status == -2 ? CRASH : BROKEN;
            snprintf(r->msg, sizeof r->msg, "%s", msg);
            return;
        }
        if (status == LC_OK && in_memory &&
            !(k->claims & LC_CHECKS_VALUES)) { /* ERR-2: no check, and no harm: the other rows are right */
            check_kept(c, after, r, CHECK_KEEP, "ERR-2");
            judge_values(c, after, NULL, r);
            continue;
        }
        if (status == LC_UNSUPPORTED)
            r->outcome = UNSUPPORTED;
        else if (status == LC_OK && k->on_device && error)
            check_error(c, after, error, r);
        else if (status != LC_BAD_ARG) {
            struct finding *const f = note(r, CHECK_REFUSAL, -1);
            snprintf(f->words, sizeof f->words, "%s accepted: status %d, expected LC_BAD_ARG (%s)", bad->name, status,
                     bad->clause);
        } else if (in_another_form ? !bad_says_some(msg) : !bad_says_why(msg, bad)) {
            struct finding *const f = note(r, CHECK_REFUSAL, -1);
            snprintf(f->words, sizeof f->words, "message \"%.120s\" must begin with %s and name %s and %s (ERR-1)", msg,
                     bad->argument, bad->value, bad->clause);
        }
        check_kept(c, after, r, CHECK_REFUSAL, "ERR-1");
    }
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

void result_settle(const struct call *c, struct result *r)
{
    for (int i = 0; i < CHECKS && (r->outcome == PASS || r->outcome == UNSUPPORTED); i++)
        if (r->found[i].count)
            r->outcome = FAIL;
    if (r->outcome != PASS || c->bad >= 0)
        return;
    const unsigned may_be = c->op->fills[kase_int(&c->id, "fill")].may_be;
    for (int i = 0; i < MAX_TENSORS; i++) {
        const struct tally *const t = &r->tally[i];
        if (!c->slot[i].listed || !c->slot[i].on)
            continue;
        const int64_t judged = t->exact + t->explained + t->unexplained;
        const int zero = t->zero * 2 > judged && !(may_be & MAY_BE_ZERO);
        const int saturated = t->saturated * 2 > judged && !(may_be & MAY_BE_SATURATED);
        /* one channel is its group's largest: saturated by right */
        const int wide = judged >= 64 && c->slot[i].t.shape[c->slot[i].t.rank - 1] >= 8;
        if (wide && c->slot[i].fmt != LC_UE8M0 && (zero || saturated)) {
            r->outcome = VACUOUS;
            snprintf(r->msg, sizeof r->msg, "%s: most of it should be %s, and fill=%s does not say so", c->slot[i].t.name,
                     zero ? "zero" : "saturated", c->op->fills[kase_int(&c->id, "fill")].name);
        }
    }
}

/* RMS-8: a base address that misses a vector may be refused; every other legal call may not. */
static bool may_refuse(const struct call *c)
{
    for (int i = 0; i < MAX_TENSORS; i++)
        if (c->op->may_refuse_bases && c->slot[i].listed && c->slot[i].on && c->slot[i].miss % 16)
            return true;
    return false;
}

bool call_has_lost(const struct call *c)
{
    for (int64_t row = 0; c->op->lost && row < c->op->rows(&c->args); row++)
        if (c->op->lost(&c->args, row))
            return true;
    return false;
}

/* What the kernel answered to a legal call, where that is not LC_OK. */
static void other_status(const struct call *c, int status, const char *msg, const uint8_t *after, bool second, struct result *r)
{
    const bool refused = status == LC_UNSUPPORTED || status == LC_BAD_ARG;
    if (status < 0) {
        r->outcome = status == -2 ? CRASH : BROKEN;
        snprintf(r->msg, sizeof r->msg, "%s", msg);
    } else if (second) {
        struct finding *const f = note(r, CHECK_STATUS, -1);
        snprintf(f->words, sizeof f->words, "the same call again, in other memory: status %d: %.160s (DET-1)", status, msg);
    } else if (status == LC_BAD_ARG && call_has_lost(c)) {
        snprintf(r->msg, sizeof r->msg, "%s", msg);
        if (!strstr(msg, "ERR-2")) {
            struct finding *const f = note(r, CHECK_REFUSAL, -1);
            snprintf(f->words, sizeof f->words, "message \"%.120s\" must name ERR-2 (ERR-1)", msg);
        }
    } else if (status == LC_UNSUPPORTED || (status == LC_BAD_ARG && may_refuse(c))) {
        r->outcome = UNSUPPORTED;
        snprintf(r->msg, sizeof r->msg, "%s", msg);
    } else {
        struct finding *const f = note(r, CHECK_STATUS, -1);
        snprintf(f->words, sizeof f->words, "%s%.200s",
                 status == LC_BAD_ARG  ? "a legal call was refused: "
                 : status == LC_FAILED ? "failed: "
                                       : "",
                 msg);
    }
    if (refused && !second)
        check_kept(c, after, r, CHECK_REFUSAL, "ERR-1");
}

/* ERR-2: a checked build refuses what ref/ refuses, whatever form the call has. */
static void accepted(const struct lc_kernel *k, const struct call *c, struct result *r)
{
    if (!(k->claims & LC_CHECKS_VALUES) || !c->op->lost || !c->op->check_values ||
        c->op->check_values(&c->pristine, &c->args) == LC_OK)
        return;
    struct finding *const f = note(r, CHECK_REFUSAL, -1);
    snprintf(f->words, sizeof f->words, "accepted by a kernel that claims LC_CHECKS_VALUES, expected: %.160s", c->msg);
}

void judge_call(struct backend *b, const struct lc_kernel *k, struct call *c, const struct iv *given_y, struct result *r)
{
    memset(r, 0, sizeof *r);
    r->claims = k->claims;
    const double begin = now_ms();
    uint8_t *const after = arena_new(c), *const again = arena_new(c);
    char msg[512] = "";
    if (!after || !again) {
        r->outcome = BROKEN;
        snprintf(r->msg, sizeof r->msg, "out of memory: two copies of the arena");
    } else if (c->bad >= 0) {
        refuse(b, k, c, after, r);
    } else {
        int status = backend_run(b, k, c, after, msg, sizeof msg);
        if (status == LC_OK) {
            accepted(k, c, r);
            check_kept(c, after, r, CHECK_KEEP, "DET-3");
            judge_values(c, after, given_y, r);
            call_poison(c, POISON_B);
            status = backend_run(b, k, c, again, msg, sizeof msg);
            if (status == LC_OK) {
                check_kept(c, again, r, CHECK_KEEP, "DET-3");
                check_poison(c, after, again, r);
            } else
                other_status(c, status, msg, again, true, r);
        } else
            other_status(c, status, msg, after, false, r);
    }
    arena_free(after);
    arena_free(again);
    r->ms = now_ms() - begin;
    result_settle(c, r);
}
