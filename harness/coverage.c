/* SPDX-License-Identifier: Apache-2.0 */
/* coverage: what there is of every operator; and clause by clause what checks it and how many wrong kernels violate it. All of it
 * is read from descriptors, suites, goldens, plugins, and the table of mutants. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cites.h"
#include "commands.h"
#include "file.h"
#include "out.h"
#include "paths.h"
#include "perturb.h"
#include "spec.h"
#include "worker.h"

static const struct {
    const char *id, *op, *clause;
    int cuda;
} mutants[] = {
#define M(id, op, clause, ...) { #id, #op, clause, 0 },
#define MC(id, op, clause, ...) { #id, #op, clause, 1 },
#include "../tests/mutants/table.h"
};
enum { MUTANTS = sizeof mutants / sizeof *mutants };

static const struct excuse {
    const char *clause, *lacks, *reason;
} excuses[] = {
#define EXCUSED(clause, lacks, reason) { clause, lacks, reason },
#include "coverage_exceptions.h"
};
enum { EXCUSES = sizeof excuses / sizeof *excuses };

/* What the harness itself checks of every case (verdict.c). */
static const struct {
    const char *clause, *check;
} of_every_case[] = { { "DET-3", "keep" }, { "DET-3", "poison" }, { "ERR-1", "refusal" } };

/* ---- sources ---- */

struct plugin {
    const char *name;
    json_t *kernels; /* of its hello; NULL: it is not here */
};

struct found {
    struct plugin cpu, cuda, mutants[2 + MOST_TEXTS];
    size_t n_mutants;
    json_t *golden; /* by operator: cases of its file */
    struct cases ci;
    json_t *headed; /* by clause: cases of the suites golden and ci under a heading that cites it */
};

static json_t *kernels_of(const char *backend, const char *golden, const char *key, char *why, size_t size)
{
    const struct pool_options pool = { backend, golden, 1, 60, false };
    json_t *const hello = pool_hello(&pool, why, size);
    json_t *const list = hello ? json_incref(json_object_get(hello, key)) : NULL;
    json_decref(hello);
    return list;
}

static size_t kernels_for(json_t *kernels, const char *op, const char *variant)
{
    size_t i, n = 0;
    json_t *k;
    json_array_foreach(kernels, i, k)
        n += !strcmp(text_of(k, "op"), op) && (!variant || !strcmp(text_of(k, "variant"), variant));
    return n;
}

/* The mutant is a kernel of some plugin that was looked at. */
static bool is_there(const struct found *f, int mutant)
{
    for (size_t i = 0; i < f->n_mutants; i++)
        if (kernels_for(f->mutants[i].kernels, mutants[mutant].op, mutants[mutant].id))
            return true;
    return false;
}

static void count_up(json_t *counts, const char *suite, const char *clause, size_t n)
{
    json_t *const of = json_object_get(counts, suite);
    json_object_set_new(of, clause, json_integer(int_of(of, clause) + (json_int_t) n));
}

/* A heading is a run of comment lines; it stands for the cases up to the next comment or empty line. */
static int read_headings(json_t *counts, const char *suite)
{
    char path[4096], line[2048], why[1024], heading[8192] = "";
    bool in_comment = false;
    FILE *const f = path_suite(suite, path, sizeof path) ? fopen(path, "r") : NULL;
    if (!f)
        return usage_error("suite '%s': no such suite or file", suite);
    json_object_set_new(counts, suite, json_object());
    while (fgets(line, sizeof line, f)) {
        const char *const at = line + strspn(line, " \t");
        if (*at == '#') {
            if (!in_comment)
                heading[0] = 0;
            strncat(heading, at, sizeof heading - strlen(heading) - 1);
        } else if (*at == '\n' || !*at) {
            heading[0] = 0;
        } else if (heading[0]) {
            struct cases c = { .n = 0 };
            if (suite_line(&c, line, why, sizeof why)) {
                fclose(f);
                return usage_error("%s: %s", path, why);
            }
            for (const struct clause *k = contract_clauses; k->id; k++)
                if (cites(heading, k->id))
                    count_up(counts, suite, k->id, c.n);
            cases_free(&c);
        }
        in_comment = *at == '#';
    }
    fclose(f);
    return 0;
}

static int look(struct found *f, const struct options *o)
{
    char why[1024] = "", path[4096];
    f->cpu.kernels = kernels_of("cpu", NULL, "kernels", why, sizeof why);
    if (path_library("cuda", path, sizeof path)) /* its kernels are listed, with a device or without */
        f->cuda.kernels = kernels_of("cuda", NULL, "kernels", why, sizeof why);
    for (int i = 0; i < o->backends.n; i++)
        f->mutants[f->n_mutants++].name = o->backends.at[i];
    if (!o->backends.n)
        f->mutants[f->n_mutants++].name = "mutants";
    if (!o->backends.n && path_library("mutants-cuda", path, sizeof path))
        f->mutants[f->n_mutants++].name = "mutants-cuda";
    for (size_t i = 0; i < f->n_mutants; i++) {
        struct plugin *const p = &f->mutants[i];
        p->kernels = kernels_of(p->name, NULL, "kernels", why, sizeof why);
        if (!p->kernels && strcmp(p->name, "mutants-cuda")) /* that one needs CUDA's libraries */
            return usage_error("%s", why);
    }
    for (int i = 0; all_ops[i]; i++) {
        json_t *const cases = path_golden(all_ops[i]->name, path, sizeof path) ? kernels_of("ref", path, "cases", why, sizeof why)
                                                                               : NULL;
        json_object_set_new(f->golden, all_ops[i]->name, json_integer((json_int_t) json_array_size(cases)));
        json_decref(cases);
    }
    if (suite_read(&f->ci, "ci", why, sizeof why))
        return usage_error("%s", why);
    return read_headings(f->headed, "golden") || read_headings(f->headed, "ci") ? EXIT_USAGE : 0;
}

static void forget(struct found *f)
{
    json_decref(f->cpu.kernels);
    json_decref(f->cuda.kernels);
    for (size_t i = 0; i < f->n_mutants; i++)
        json_decref(f->mutants[i].kernels);
    json_decref(f->golden);
    json_decref(f->headed);
    cases_free(&f->ci);
}

static bool chosen(const struct options *o, const struct op *op)
{
    for (int i = 0; i < o->ops.n; i++)
        if (!strcmp(o->ops.at[i], op->name))
            return true;
    return o->ops.n == 0;
}

/* ---- operators ---- */

static json_t *operator_row(const struct found *f, const struct op *op)
{
    size_t ci = 0, clauses = 0, host = 0, device = 0;
    for (size_t i = 0; i < f->ci.n; i++)
        ci += f->ci.at[i].op == op;
    for (const struct clause *c = contract_clauses; c->id; c++)
        clauses += cites(op->clauses, c->id);
    for (int i = 0; i < MUTANTS; i++)
        if (!strcmp(mutants[i].op, op->name) && is_there(f, i))
            *(mutants[i].cuda ? &device : &host) += 1;
    return json_pack("{s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "op", op->name, "ref", op->ref != NULL, "golden",
                     int_of(f->golden, op->name), "cpu", (json_int_t) kernels_for(f->cpu.kernels, op->name, NULL), "cuda",
                     (json_int_t) kernels_for(f->cuda.kernels, op->name, NULL), "ci", (json_int_t) ci, "clauses",
                     (json_int_t) clauses, "mutants", (json_int_t) host, "cuda_mutants", (json_int_t) device);
}

/* What an operator lacks altogether, in words, or "". */
static const char *operator_lacks(json_t *row)
{
    return !int_of(row, "golden")    ? "NO GOLDEN"
           : !int_of(row, "cpu")     ? "NO CPU KERNEL"
           : !int_of(row, "ci")      ? "NO CASE IN ci"
           : !int_of(row, "clauses") ? "NO CLAUSE"
           : !int_of(row, "mutants") ? "NO MUTANT"
                                     : "";
}

/* ---- clauses ---- */

/* What in the descriptor checks this clause; adds to the counts of row. */
static void descriptor_checks(const struct op *op, const char *id, json_int_t count[4])
{
    for (const struct bad *b = op->bads; b && b->name; b++)
        count[0] += cites(b->clause, id);
    for (int i = 0; i < MAX_BOUNDS && op->bounds[i].tensor; i++)
        count[1] += cites(op->bounds[i].clause, id) || cites(op->bounds[i].why, id);
    for (size_t i = 0; i < sizeof op->fills / sizeof *op->fills && op->fills[i].name; i++)
        count[2] += cites(op->fills[i].help, id);
    for (int i = 0; i < MAX_AXES && op->axes[i].name; i++)
        count[3] += cites(op->axes[i].help, id);
}

static json_t *clause_row(const struct found *f, const struct clause *c)
{
    json_int_t count[4] = { 0 }, harness = 0, host = 0, device = 0;
    json_t *const ops = json_array();
    for (int i = 0; all_ops[i]; i++) {
        descriptor_checks(all_ops[i], c->id, count);
        if (cites(all_ops[i]->clauses, c->id))
            json_array_append_new(ops, json_string(all_ops[i]->name));
    }
    for (size_t i = 0; i < sizeof of_every_case / sizeof *of_every_case; i++)
        harness += !strcmp(of_every_case[i].clause, c->id);
    for (int i = 0; all_ops[i] && !strcmp(c->id, "ERR-2"); i++)
        harness += all_ops[i]->check_values != NULL;
    for (const struct perturbation *p = perturbations; p->name; p++)
        harness += cites(p->clause, c->id);
    for (int i = 0; i < MUTANTS; i++)
        if (cites(mutants[i].clause, c->id) && is_there(f, i))
            *(mutants[i].cuda ? &device : &host) += 1;
    return json_pack("{s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "clause", c->id, "ops", ops, "golden",
                     int_of(json_object_get(f->headed, "golden"), c->id), "ci", int_of(json_object_get(f->headed, "ci"), c->id),
                     "bads", count[0], "bounds", count[1], "fills", count[2], "axes", count[3], "harness", harness, "mutants",
                     host, "cuda_mutants", device);
}

static bool family_is_named(const char *id)
{
    const size_t n = clause_family(id) + 1;
    for (const struct clause *c = contract_clauses; c->id; c++)
        for (int i = 0; all_ops[i] && !strncmp(c->id, id, n); i++)
            if (cites(all_ops[i]->clauses, c->id))
                return true;
    return false;
}

static const struct excuse *excuse_of(const char *id)
{
    for (int i = 0; i < EXCUSES; i++) {
        const size_t n = strlen(excuses[i].clause);
        if (!strcmp(excuses[i].clause, id) ||
            (excuses[i].clause[n - 1] == '*' && !strncmp(excuses[i].clause, id, n - 1) && !family_is_named(id)))
            return &excuses[i];
    }
    return NULL;
}

/* "" where all is well; else what to print. An excuse that is not needed is a fault as well. */
static void settle_clause(json_t *row)
{
    static const char *const checks[] = { "golden", "ci", "bads", "bounds", "fills", "axes", "harness" };
    const struct excuse *const e = excuse_of(text_of(row, "clause"));
    bool checked = false, named = json_array_size(json_object_get(row, "ops")) > 0;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        checked = checked || int_of(row, checks[i]);
    checked = checked && named; /* cited in passing: no operator says that it computes by it */
    const bool violated = int_of(row, "mutants") + int_of(row, "cuda_mutants") > 0;
    const bool no_check = !checked && !(e && strcmp(e->lacks, "mutant")),
               no_mutant = !violated && !(e && strcmp(e->lacks, "check"));
    const bool stale = e && ((checked && strcmp(e->lacks, "mutant")) || (violated && strcmp(e->lacks, "check")));
    const char *const word = !named && !e            ? "NO OPERATOR"
                             : no_check && no_mutant ? "NO CHECK, NO MUTANT"
                             : no_check              ? "NO CHECK"
                             : no_mutant             ? "NO MUTANT"
                             : stale                 ? "EXCUSED IN VAIN"
                                                     : "";
    json_object_set_new(row, "lacks", json_string(word));
    json_object_set_new(row, "excuse", json_string(e ? e->reason : ""));
}

static void print_clause(json_t *row)
{
    char ops[256] = "";
    size_t i;
    json_t *op;
    json_array_foreach(json_object_get(row, "ops"), i, op) {
        if (i)
            strncat(ops, " ", sizeof ops - strlen(ops) - 1);
        strncat(ops, json_string_value(op), sizeof ops - strlen(ops) - 1);
    }
    printf("%-8s %6d %4d %4d %6d %5d %4d %7d %7d %6d  %s", text_of(row, "clause"), (int) int_of(row, "golden"),
           (int) int_of(row, "ci"), (int) int_of(row, "bads"), (int) int_of(row, "bounds"), (int) int_of(row, "fills"),
           (int) int_of(row, "axes"), (int) int_of(row, "harness"), (int) int_of(row, "mutants"),
           (int) int_of(row, "cuda_mutants"), ops[0] ? ops : "-");
    if (text_of(row, "lacks")[0])
        printf("  %s", text_of(row, "lacks"));
    if (text_of(row, "excuse")[0])
        printf("  excused: %s", text_of(row, "excuse"));
    printf("\n");
}

/* ---- the command ---- */

static size_t operators_table(const struct found *f, const struct options *o, json_t *rows)
{
    size_t open = 0;
    printf("%-12s %3s %6s %3s %4s %5s %7s %7s %6s\n", "operator", "ref", "golden", "cpu", "cuda", "ci", "clauses", "mutants",
           "device");
    for (int i = 0; all_ops[i]; i++) {
        if (!chosen(o, all_ops[i]))
            continue;
        json_t *const row = operator_row(f, all_ops[i]);
        char cuda[16] = "-"; /* not built here */
        if (f->cuda.kernels)
            snprintf(cuda, sizeof cuda, "%d", (int) int_of(row, "cuda"));
        printf("%-12s %3s %6d %3d %4s %5d %7d %7d %6d%s%s\n", text_of(row, "op"), all_ops[i]->ref ? "yes" : "no",
               (int) int_of(row, "golden"), (int) int_of(row, "cpu"), cuda, (int) int_of(row, "ci"), (int) int_of(row, "clauses"),
               (int) int_of(row, "mutants"), (int) int_of(row, "cuda_mutants"), operator_lacks(row)[0] ? "  " : "",
               operator_lacks(row));
        open += operator_lacks(row)[0] != 0;
        json_array_append_new(rows, row);
    }
    return open;
}

static size_t clauses_table(const struct found *f, const struct options *o, json_t *rows)
{
    size_t all = 0, open = 0, excused = 0;
    printf("\n%-8s %6s %4s %4s %6s %5s %4s %7s %7s %6s  %s\n", "clause", "golden", "ci", "bads", "bounds", "fills", "axes",
           "harness", "mutants", "device", "operators that name it");
    for (const struct clause *c = contract_clauses; c->id; c++) {
        bool shown = o->ops.n == 0;
        for (int i = 0; all_ops[i]; i++)
            shown = shown || (chosen(o, all_ops[i]) && cites(all_ops[i]->clauses, c->id));
        if (!shown)
            continue;
        json_t *const row = clause_row(f, c);
        settle_clause(row);
        print_clause(row);
        all++;
        open += text_of(row, "lacks")[0] != 0;
        excused += !text_of(row, "lacks")[0] && text_of(row, "excuse")[0];
        json_array_append_new(rows, row);
    }
    printf("\n%zu clauses: %zu are checked and violated by a mutant, %zu are excused, %zu lack something\n", all,
           all - open - excused, excused, open);
    return open;
}

static void print_json(FILE *to, const void *what)
{
    out_json(to, *(json_t *const *) what);
}

int command_coverage(int argc, char **argv)
{
    struct options o;
    struct found f = { .golden = json_object(), .headed = json_object() };
    json_t *const ops = json_array(), *const clauses = json_array();
    int status = options_read(&o, argc, argv, "--backend --report");
    for (int i = 0; !status && i < o.ops.n; i++)
        if (!op_find(o.ops.at[i]))
            status = usage_error("'%s': no such operator; `layercheck list` names them", o.ops.at[i]);
    for (int i = 0; !status && i < o.reports.n; i++)
        if (strncmp(o.reports.at[i], "json:", 5))
            status = usage_error("--report %s: coverage writes json:FILE", o.reports.at[i]);
    if (!status)
        status = look(&f, &o);
    if (status) {
        forget(&f);
        json_decref(ops);
        json_decref(clauses);
        return status;
    }
    size_t open = operators_table(&f, &o, ops);
    open += clauses_table(&f, &o, clauses);
    json_t *const report = json_pack("{s:s, s:o, s:o, s:I}", "contract", contract_hash, "operators", ops, "clauses", clauses,
                                     "open", (json_int_t) open);
    for (int i = 0; i < o.reports.n; i++)
        if (file_write(o.reports.at[i] + 5, print_json, &report))
            status = usage_error("--report %s: %s", o.reports.at[i], strerror(errno));
    json_decref(report);
    forget(&f);
    return status ? status : open ? EXIT_MISMATCH : EXIT_PASS;
}
