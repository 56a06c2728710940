/* SPDX-License-Identifier: Apache-2.0 */
/* The commands: each takes the words after its name and returns the exit code. */
#ifndef HARNESS_COMMANDS_H
#define HARNESS_COMMANDS_H

#include <jansson.h>

#include "case.h"

/* Exit codes of the program. Where several apply, the first of: usage, mismatch, crash, incomplete, nothing ran. */
enum exit_code { EXIT_PASS, EXIT_MISMATCH, EXIT_INCOMPLETE, EXIT_USAGE, EXIT_CRASH, EXIT_NOTHING, EXIT_INTERRUPTED = 130 };

int exit_worse(int a, int b); /* that one of them which goes first */

int command_list(int argc, char **argv);
int command_run(int argc, char **argv);
int command_judge(int argc, char **argv);
int command_export(int argc, char **argv);
int command_golden(int argc, char **argv);
int command_selftest(int argc, char **argv);
int command_spec(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_determinism(int argc, char **argv);
int command_relations(int argc, char **argv);
int command_baseline(int argc, char **argv);
int command_diff(int argc, char **argv);
int command_coverage(int argc, char **argv);

int usage_error(const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 1, 2)))
#endif
    ;

/* ---- options ---- */
enum { MOST_TEXTS = 64 };
struct texts {
    const char *at[MOST_TEXTS];
    int n;
};
struct options { /* those of run; other commands take some of them */
    struct texts ops, backends, required, patterns, cases, reports;
    const char *suite, *save, *resume, *output, *dialect;
    int64_t seed;
    int has_seed, workers, shard, shards, verbose, stop_at_first, last_failed, dry_run, golden, uncovered, bits;
    double timeout_s;
};
/* allowed: the option names this command takes, separated by spaces. 0, or an exit code. */
int options_read(struct options *o, int argc, char **argv, const char *allowed);
/* The cases these options name: from --case, or the suite, put into --dialect, cut by operators, -k, --seed, --shard. 0, or an
 * exit code. */
int options_cases(const struct options *o, const char *suite, struct cases *to);
int options_pick(const struct options *o, const struct cases *all, struct cases *to); /* the same cut, of given cases */

/* Of commands whose report is one JSON value: refuses other kinds, and files that cannot be written; writes it. 0, or an exit
 * code. */
int options_json_only(const struct options *o, const char *command);
int options_write_json(const struct options *o, json_t *value);
void options_backends(struct options *o);                 /* those this machine has, when none is named */
bool kernel_speaks(json_t *kernel, const struct kase *k); /* a kernel is run in the dialect it states, on cases that are in it */
bool options_require(const struct options *o, const char *backend);

/* ---- one run, for the commands that need one ---- */
struct run {
    json_t *results; /* array of results, each with its backend */
    json_t *devices; /* object by backend */
    size_t cases;
    double seconds;
    int skipped, interrupted, incomplete, journal_tried, journal_lost;
    FILE *journal;
};
/* Runs every kernel of a backend on the cases (golden: the file they come from, or NULL). 0, or an exit code. */
int run_backend(struct run *run, const struct options *o, const char *backend, const struct cases *cases, const char *golden);
int run_goldens(struct run *run, const struct options *o); /* the same on the cases of the goldens (run_golden.c) */
int run_resume(struct run *run, const char *path);         /* the verdicts of a journal; 0, or an exit code */
int run_exit_code(const struct run *run);
int run_try_reports(const struct options *o);                               /* can they be written? 0, or an exit code */
int run_reports(const struct options *o, struct run *run, json_t *summary); /* writes those of --report; 0, or an exit code */

#endif
