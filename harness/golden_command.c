/* SPDX-License-Identifier: Apache-2.0 */
/* golden gen: the oracle over exported inputs. golden check: the reference against what the oracle computed. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "golden.h"
#include "h5.h"
#include "paths.h"
#include "room.h"

/* ---- gen ---- */

static int run_oracle(const char *oracle, const char *in, const char *out)
{
    extern char **environ;
    char *const argv[] = { (char *) "golden-oracle", (char *) in, (char *) out, NULL };
    pid_t pid;
    int status = posix_spawn(&pid, oracle, NULL, NULL, argv, environ);
    if (status)
        return usage_error("%s: cannot be run: %s", oracle, strerror(status));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return usage_error("%s: %s", oracle, strerror(errno));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : usage_error("%s failed on %s", oracle, in);
}

/* DIR/<op>.h5, from inputs that live beside it for the moment: a file under its own name is whole. */
static int gen_op(const char *oracle, const struct op *op, const struct cases *all, const char *dir)
{
    char in[4096], filled[4096], path[4096], why[2048];
    struct cases cases = { NULL, 0, 0 };
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].op == op && kase_int(&all->at[i], "bad") == 0)
            cases_add(&cases, &all->at[i]);
    if (!cases.n)
        return 0;
    if (snprintf(path, sizeof path, "%s/%s.h5", dir, op->name) >= (int) sizeof path - 32)
        return usage_error("%s: too long a path", dir);
    snprintf(in, sizeof in, "%.4000s.%ld.in", path, (long) getpid());
    snprintf(filled, sizeof filled, "%.4000s.%ld.tmp", path, (long) getpid());
    int status = golden_export(in, &cases, why, sizeof why) ? usage_error("%s", why) : run_oracle(oracle, in, filled);
    if (!status && rename(filled, path))
        status = usage_error("%s: %s", path, strerror(errno));
    remove(in);
    if (status)
        remove(filled);
    else
        printf("wrote   %s: %zu cases\n", path, cases.n);
    cases_free(&cases);
    return status;
}

static int gen(int argc, char **argv)
{
    struct options o;
    struct cases cases = { NULL, 0, 0 };
    char oracle[4096];
    int status = options_read(&o, argc, argv, "--suite -k --case -o");
    if (status)
        return status;
    if (!o.output)
        return usage_error("golden gen: -o DIR is missing");
    if (!path_program("golden-oracle", oracle, sizeof oracle))
        return usage_error("golden-oracle: not beside the program (it is built where MPFR is found)");
    if (mkdir(o.output, 0777) && errno != EEXIST)
        return usage_error("%s: %s", o.output, strerror(errno));
    status = options_cases(&o, o.suite ? o.suite : "golden", &cases);
    for (int i = 0; !status && all_ops[i]; i++)
        status = gen_op(oracle, all_ops[i], &cases, o.output);
    if (!status && !cases.n)
        status = EXIT_NOTHING;
    cases_free(&cases);
    return status;
}

/* ---- check ---- */

struct checked {
    size_t cases, failed, broken;
    int64_t elements, unspecified, unowned, intervals;
    double used; /* the largest part of the reference's radius that the oracle's hull takes */
    /* the first difference of the case at hand, and how many it has */
    int64_t differ;
    char first[400];
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
static int check_case(struct golden *g, const struct kase *k, struct call *c, struct checked *to, char *why, size_t size)
{
    uint8_t *storage[MAX_TENSORS] = { NULL };
    struct iv *y = NULL;
    int status = golden_open_call(g, c, k, &y) ? h5_say(why, size, "%s", c->msg) : 0;
    to->differ = 0;
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
    if (!status && !golden_intact(g, k, why, size) && to->differ++ == 0)
        snprintf(to->first, sizeof to->first, "%.390s", why);
    for (int i = 0; i < MAX_TENSORS; i++)
        free(storage[i]);
    free(y);
    call_close(c);
    return status;
}

static int check_file(const char *path, struct checked *to)
{
    char why[2048];
    struct golden *const g = golden_open(path, why, sizeof why);
    struct call *const c = calloc(1, sizeof *c);
    if (!g || !c) {
        golden_close(g);
        free(c);
        return usage_error("%s", g ? "out of memory" : why);
    }
    int status = 0;
    for (size_t i = 0; i < golden_count(g); i++) {
        to->cases++;
        if (check_case(g, golden_kase(g, i), c, to, why, sizeof why)) {
            status = usage_error("%s", why);
            to->broken++;
        } else if (to->differ) {
            printf("FAIL    %s: %s; %" PRId64 " differ\n", golden_case(g, i), to->first, to->differ);
            to->failed++;
        }
    }
    golden_close(g);
    free(c);
    return status;
}

static int check(int argc, char **argv)
{
    struct options o;
    struct checked to = { .used = 0 };
    int status = options_read(&o, argc, argv, "");
    if (status)
        return status;
    for (int i = 0; i < o.ops.n; i++) /* words: operators, or files */
        if (strchr(o.ops.at[i], '/') || strchr(o.ops.at[i], '.'))
            status = check_file(o.ops.at[i], &to) ? EXIT_USAGE : status;
        else if (!op_find(o.ops.at[i]))
            return usage_error("'%s': no such operator, nor a file", o.ops.at[i]);
    for (int i = 0; all_ops[i]; i++) {
        char path[4096];
        bool named = o.ops.n == 0;
        for (int k = 0; k < o.ops.n; k++)
            named = named || !strcmp(o.ops.at[k], all_ops[i]->name);
        if (named && !path_golden(all_ops[i]->name, path, sizeof path))
            status = usage_error("golden/%s.h5: not found", all_ops[i]->name);
        else if (named && check_file(path, &to))
            status = EXIT_USAGE;
    }
    printf("golden check: %zu of %zu cases agree with the reference, %" PRId64 " elements bitwise (%" PRId64 " unspecified)\n",
           to.cases - to.failed - to.broken, to.cases, to.elements, to.unspecified);
    printf("%" PRId64 " bytes that no element owns are looked at; %" PRId64
           " intervals of y: the oracle's hull takes %.4f of the reference's radius at most\n",
           to.unowned, to.intervals, to.used);
    if (status)
        return status;
    return to.failed ? EXIT_MISMATCH : to.elements ? EXIT_PASS : EXIT_NOTHING;
}

int command_golden(int argc, char **argv)
{
    if (argc > 0 && !strcmp(argv[0], "gen"))
        return gen(argc - 1, argv + 1);
    if (argc > 0 && !strcmp(argv[0], "check"))
        return check(argc - 1, argv + 1);
    return usage_error("golden: gen -o DIR, or check [OP..]");
}
