/* SPDX-License-Identifier: Apache-2.0 */
#include "determinism_report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands.h"
#include "file.h"
#include "golden.h"
#include "perturb.h"
#include "version.h"

/* Outcomes from the mildest, and the word of the matrix. */
static const struct {
    const char *outcome, *word;
} ranks[] = {
    { "unsupported", "n.a." }, { "pass", "same" },     { "reported", "differs" }, { "timeout", "TIMEOUT" },
    { "crash", "CRASH" },      { "broken", "BROKEN" }, { "fail", "DIFFERS" },
};
enum { RANKS = sizeof ranks / sizeof *ranks };

static int rank_of(const char *outcome)
{
    for (int i = 0; i < RANKS; i++)
        if (!strcmp(outcome, ranks[i].outcome))
            return i;
    return RANKS - 2;
}

static int rank_of_word(const char *word)
{
    for (int i = 0; i < RANKS; i++)
        if (!strcmp(word, ranks[i].word))
            return i;
    return -1;
}

void determinism_line(FILE *to, json_t *r)
{
    size_t i;
    json_t *f;
    fprintf(to, "%-7s %s/%s %s %s", ranks[rank_of(outcome_of(r))].word, text_of(r, "backend"), text_of(r, "kernel"),
            text_of(r, "case"), text_of(r, "perturbation"));
    if (text_of(r, "msg")[0])
        fprintf(to, "\n        %s", text_of(r, "msg"));
    json_array_foreach(json_object_get(r, "findings"), i, f) {
        if (!text_of(f, "differs_in")[0]) {
            fprintf(to, "\n        %s: %s", text_of(f, "clause"), text_of(f, "words"));
            continue;
        }
        fprintf(to, "\n        %s: %s: %s[%lld,%lld] got %s (%s), %s %s (%s), row %lld there", text_of(f, "clause"),
                text_of(f, "words"), text_of(f, "differs_in"), (long long) int_of(f, "row"), (long long) int_of(f, "col"),
                text_of(f, "got"), text_of(f, "got_value"),
                strcmp(text_of(r, "command"), "relations") ? "in the base run" : "the base run wants", text_of(f, "want"),
                text_of(f, "want_value"), (long long) int_of(f, "base_row"));
        fprintf(to, "; a call of %lld rows; %lld of %lld elements in %lld of %lld rows of %lld runs", (long long) int_of(f, "m"),
                (long long) int_of(r, "bad_elements"), (long long) int_of(r, "elements"), (long long) int_of(r, "bad_rows"),
                (long long) int_of(r, "rows"), (long long) int_of(r, "runs"));
    }
    if (text_of(r, "saved")[0])
        fprintf(to, "\n        saved: %s", text_of(r, "saved"));
    if (text_of(r, "save_failed")[0])
        fprintf(to, "\n        not saved: %s", text_of(r, "save_failed"));
    fprintf(to, "\n        rerun: layercheck %s %s --backend %s --case '%s'\n",
            text_of(r, "command")[0] ? text_of(r, "command") : "determinism", text_of(r, "perturbation"), text_of(r, "backend"),
            text_of(r, "case"));
}

/* ---- the matrix ---- */

static void bump(json_t *o, const char *key, json_int_t by)
{
    json_object_set_new(o, key, json_integer(int_of(o, key) + by));
}

static json_t *member(json_t *o, const char *key)
{
    json_t *m = json_object_get(o, key);
    if (!m) {
        m = json_object();
        json_object_set_new(o, key, m);
    }
    return m;
}

json_t *determinism_summary(json_t *results, const struct perturbation *const *chosen, const char *kind,
                            const struct run_facts *facts)
{
    static const char *const sums[] = { "runs", "rows", "elements", "skipped", "bad_rows", "bad_elements" };
    json_t *const rows = json_object(), *const totals = json_object(), *const columns = json_array();
    size_t i;
    json_t *r;
    for (int n = 0; chosen[n]; n++)
        json_array_append_new(
            columns, json_pack("{s:s, s:s, s:s}", "name", chosen[n]->name, "clause", chosen[n]->clause, "text", chosen[n]->text));
    json_array_foreach(results, i, r) {
        char key[256];
        snprintf(key, sizeof key, "%s/%s %s", text_of(r, "backend"), text_of(r, "kernel"), text_of(r, "op"));
        json_t *const cell = member(member(rows, key), text_of(r, "perturbation"));
        const int rank = rank_of(outcome_of(r));
        if (rank_of_word(text_of(cell, "word")) < rank)
            json_object_set_new(cell, "word", json_string(ranks[rank].word));
        if (!strcmp(outcome_of(r), "unsupported") && text_of(r, "msg")[0])
            json_object_set(cell, "why_not", json_object_get(r, "msg"));
        for (int k = 0; k < 2; k++) {
            bump(k ? totals : cell, "cases", 1);
            bump(k ? totals : cell, outcome_of(r), 1);
            for (size_t s = 0; s < sizeof sums / sizeof *sums; s++)
                bump(k ? totals : cell, sums[s], int_of(r, sums[s]));
        }
    }
    char when[32];
    const time_t t = time(NULL);
    struct tm tm;
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:f, s:O, s:o, s:o, s:o}", "kind", kind, "program",
                     "layercheck " LC_VERSION, "revision", LC_REVISION, "contract", contract_hash, "date", when, "suite",
                     facts->suite, "command", facts->command, "suite_cases", (json_int_t) facts->cases, "seconds", facts->seconds,
                     "devices", facts->devices, "perturbations", columns, "rows", rows, "totals", totals);
}

static int wide(json_t *column)
{
    const size_t n = strlen(text_of(column, "name"));
    return n < 7 ? 7 : (int) n;
}

static void matrix(FILE *to, json_t *rows, json_t *columns)
{
    const char *key;
    json_t *row, *column;
    size_t i;
    fprintf(to, "%-32s", "backend/kernel op");
    json_array_foreach(columns, i, column)
        fprintf(to, " %-*s", wide(column), text_of(column, "name"));
    fprintf(to, "\n");
    json_object_foreach(rows, key, row) {
        fprintf(to, "%-32s", key);
        json_array_foreach(columns, i, column) {
            const char *const word = text_of(json_object_get(row, text_of(column, "name")), "word");
            fprintf(to, " %-*s", wide(column), word[0] ? word : "-");
        }
        fprintf(to, "\n");
    }
}

/* Each operator has relations of its own: a line for each. */
static void lines(FILE *to, json_t *rows)
{
    const char *key, *name;
    json_t *row, *cell;
    fprintf(to, "%-32s %-14s %-8s %6s %10s %10s\n", "backend/kernel op", "relation", "", "cases", "rows", "elements");
    json_object_foreach(rows, key, row)
        json_object_foreach(row, name, cell)
            fprintf(to, "%-32s %-14s %-8s %6lld %10lld %10lld\n", key, name,
                    strcmp(text_of(cell, "word"), "same") ? text_of(cell, "word") : "holds", (long long) int_of(cell, "cases"),
                    (long long) int_of(cell, "rows"), (long long) int_of(cell, "elements"));
}

void determinism_text(FILE *to, json_t *s)
{
    const char *key;
    json_t *row, *const columns = json_object_get(s, "perturbations"), *const t = json_object_get(s, "totals");
    const bool relations = !strcmp(text_of(s, "kind"), "relations");
    fprintf(to, "%s %s, contract %.12s, %s, suite %s: %lld cases\n", text_of(s, "program"), text_of(s, "revision"),
            text_of(s, "contract"), text_of(s, "kind"), text_of(s, "suite"), (long long) int_of(s, "suite_cases"));
    json_object_foreach(json_object_get(s, "devices"), key, row)
        fprintf(to, "%s: %s, compute capability %s, driver %s, CUDA runtime %s, nvcc %s\n", key, text_of(row, "name"),
                text_of(row, "compute_capability"), text_of(row, "driver"), text_of(row, "cuda_runtime"), text_of(row, "nvcc"));
    if (relations)
        lines(to, json_object_get(s, "rows"));
    else
        matrix(to, json_object_get(s, "rows"), columns);
    fprintf(to,
            "%lld cells: %lld %s, %lld differ, %lld differ and are reported only, %lld n.a., %lld other\n"
            "%lld runs, %lld rows and %lld elements compared%s; %.1f s\n",
            (long long) int_of(t, "cases"), (long long) int_of(t, "pass"), relations ? "hold" : "same",
            (long long) int_of(t, "fail"), (long long) int_of(t, "reported"), (long long) int_of(t, "unsupported"),
            (long long) (int_of(t, "crash") + int_of(t, "timeout") + int_of(t, "broken")), (long long) int_of(t, "runs"),
            (long long) int_of(t, "rows"), (long long) int_of(t, "elements"), relations ? "" : " bitwise", real_of(s, "seconds"));
}

int determinism_exit_code(json_t *summary, size_t expected)
{
    json_t *const t = json_object_get(summary, "totals");
    if (int_of(t, "broken"))
        return EXIT_USAGE;
    if (int_of(t, "fail"))
        return EXIT_MISMATCH;
    if (int_of(t, "crash"))
        return EXIT_CRASH;
    if (int_of(t, "timeout") || (size_t) int_of(t, "cases") < expected)
        return EXIT_INCOMPLETE;
    return int_of(t, "pass") + int_of(t, "reported") ? EXIT_PASS : EXIT_NOTHING;
}

static void print_json(FILE *to, const void *what)
{
    out_json(to, ((const struct report *) what)->summary);
}

static void print_lines(FILE *to, const void *what)
{
    size_t i;
    json_t *r;
    json_array_foreach(((const struct report *) what)->results, i, r) {
        char *const text = json_dumps(r, JSON_COMPACT);
        fprintf(to, "%s\n", text ? text : "{}");
        free(text);
    }
}

static void print_text(FILE *to, const void *what)
{
    const struct report *const report = what;
    size_t i;
    json_t *r;
    json_array_foreach(report->results, i, r)
        if (strcmp(outcome_of(r), "pass") && strcmp(outcome_of(r), "unsupported"))
            determinism_line(to, r);
    determinism_text(to, report->summary);
}

int determinism_write(const char *report, json_t *results, json_t *summary)
{
    const struct report what = { results, summary };
    return file_write(strchr(report, ':') + 1,
                      !strncmp(report, "json:", 5)    ? print_json
                      : !strncmp(report, "jsonl:", 6) ? print_lines
                                                      : print_text,
                      &what);
}
