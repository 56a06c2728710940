/* SPDX-License-Identifier: Apache-2.0 */
/* run: every kernel of every backend on the cases of a suite. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "commands.h"
#include "file.h"
#include "golden.h"
#include "out.h"
#include "paths.h"
#include "worker.h"

static const char journal_dir[] = ".layercheck", journal_path[] = ".layercheck/last.jsonl";

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

struct progress {
    struct run *run;
    const struct options *o;
    const char *backend;
    json_t *kernels;
    size_t done, of;
};

static void write_line(FILE *f, json_t *o)
{
    char *const text = f ? json_dumps(o, JSON_COMPACT) : NULL;
    if (text)
        fprintf(f, "%s\n", text);
    free(text);
}

static const char *journal_of(const struct options *o)
{
    return o->resume ? o->resume : journal_path;
}

static void lose_journal(struct run *run, const struct options *o)
{
    usage_error("%s: %s; this run has no journal to resume from", journal_of(o), strerror(errno));
    run->journal_lost = 1;
}

/* With the first result, so that a run that never starts leaves the last one's journal. A tree that may not be written has none,
 * unless --resume names it. */
static void open_journal(struct run *run, const struct options *o)
{
    if (run->journal || run->journal_tried)
        return;
    run->journal_tried = 1;
    mkdir(journal_dir, 0777);
    run->journal = fopen(journal_of(o), o->resume ? "a+" : "w");
    if (!run->journal && (o->resume || (errno != EACCES && errno != EROFS && errno != EPERM && errno != ENOENT)))
        lose_journal(run, o);
    if (o->resume && run->journal && !fseek(run->journal, -1, SEEK_END) && fgetc(run->journal) != '\n' &&
        !fseek(run->journal, 0, SEEK_END))
        fputs("\n", run->journal); /* behind a line that was cut */
}

static void note(struct run *run, const struct options *o, json_t *result)
{
    open_journal(run, o);
    write_line(run->journal, result);
    if (run->journal && fflush(run->journal)) {
        lose_journal(run, o);
        fclose(run->journal);
        run->journal = NULL;
    }
}

static bool finished(void *user, const struct job *job, json_t *result)
{
    struct progress *const p = user;
    json_t *const kernel = json_array_get(p->kernels, (size_t) job->kernel);
    json_object_set_new(result, "backend", json_string(p->backend));
    json_object_set(result, "kernel", json_object_get(kernel, "variant"));
    json_array_append(p->run->results, result);
    note(p->run, p->o, result);
    out_progress(++p->done, p->of, result);
    const bool fine = !strcmp(outcome_of(result), "pass") || !strcmp(outcome_of(result), "unsupported");
    if (!fine) {
        out_progress_end();
        out_failure(stdout, result, p->o->verbose);
        fflush(stdout);
    }
    return fine || !p->o->stop_at_first;
}

/* Did an earlier run (--resume) leave this kernel's verdict on this case? */
static bool already(const struct run *run, const char *backend, const char *variant, const char *id)
{
    size_t i;
    json_t *r;
    json_array_foreach(run->results, i, r)
        if (!strcmp(text_of(r, "case"), id) && !strcmp(text_of(r, "backend"), backend) && !strcmp(text_of(r, "kernel"), variant))
            return true;
    return false;
}

/* A dialect that the contract does not have is never judged. */
static void note_strangers(const char *backend, json_t *kernels)
{
    size_t k;
    json_t *kernel;
    json_array_foreach(kernels, k, kernel) {
        const char *const dialect = text_of(kernel, "dialect");
        const struct op *const op = op_find(text_of(kernel, "op"));
        if (op && dialect[0] && !dialect_of(op, dialect))
            printf("SKIP    %s/%s: %s has no dialect '%s'\n", backend, text_of(kernel, "variant"), op->name, dialect);
    }
}

int run_backend(struct run *run, const struct options *o, const char *backend, const struct cases *cases, const char *golden)
{
    char why[1024] = "";
    const double begin = seconds_now();
    const struct pool_options pool = { backend, golden, o->workers, o->timeout_s, o->verbose };
    json_t *const hello = pool_hello(&pool, why, sizeof why);
    if (!hello)
        return usage_error("%s", why);
    json_t *const kernels = json_object_get(hello, "kernels");
    const char *const no_device = text_of(hello, "device");
    struct job *const jobs = malloc((cases->n * json_array_size(kernels) + 1) * sizeof *jobs);
    size_t n = 0, k;
    json_t *kernel;
    bool skipped = false;
    json_array_foreach(kernels, k, kernel)
        skipped = skipped || (json_is_true(json_object_get(kernel, "on_device")) && no_device[0]);
    for (size_t i = 0; jobs && i < cases->n; i++) { /* case by case: a worker keeps the arena for the next kernel */
        char id[MAX_ID];
        kase_print(&cases->at[i], id, sizeof id);
        json_array_foreach(kernels, k, kernel)
            if (kernel_speaks(kernel, &cases->at[i]) && !(json_is_true(json_object_get(kernel, "on_device")) && no_device[0]) &&
                !(o->resume && already(run, backend, text_of(kernel, "variant"), id)))
                jobs[n++] = (struct job) { (int) k, cases->at[i], NULL, NULL };
    }
    int status = 0;
    if (skipped && options_require(o, backend))
        status = usage_error("%s, and --require-backend asks for it", no_device);
    else if (skipped) {
        printf("SKIP    %s: %s\n", backend, no_device);
        run->skipped++;
    }
    note_strangers(backend, kernels);
    if (json_object_get(hello, "device_info"))
        json_object_set(run->devices, backend, json_object_get(hello, "device_info"));
    struct progress p = { run, o, backend, kernels, 0, n };
    if (!status && n && pool_run(&pool, jobs, n, finished, &p, why, sizeof why))
        status = usage_error("%s", why);
    out_progress_end();
    if (p.done < n)
        run->incomplete = 1;
    run->seconds += seconds_now() - begin;
    free(jobs);
    json_decref(hello);
    return status;
}

static size_t with_outcome(const struct run *run, const char *outcome)
{
    size_t i, n = 0;
    json_t *r;
    json_array_foreach(run->results, i, r)
        n += !strcmp(outcome_of(r), outcome);
    return n;
}

/* A kernel that passed empty cases and refusals, and answered all that has elements with unsupported, was not judged. */
static bool judged_nothing(const struct run *run)
{
    json_t *const seen = json_object();
    bool nothing = false;
    size_t i;
    json_t *r, *row;
    json_array_foreach(run->results, i, r) {
        char key[256];
        snprintf(key, sizeof key, "%s/%s %s", text_of(r, "backend"), text_of(r, "kernel"), text_of(r, "op"));
        if (!json_object_get(seen, key))
            json_object_set_new(seen, key, json_pack("[I, I]", (json_int_t) 0, (json_int_t) 0));
        row = json_object_get(seen, key);
        const json_int_t add[2] = { int_of(r, "elements"), !strcmp(outcome_of(r), "unsupported") };
        for (size_t k = 0; k < 2; k++)
            json_array_set_new(row, k, json_integer(json_integer_value(json_array_get(row, k)) + add[k]));
    }
    const char *key;
    json_object_foreach(seen, key, row)
        nothing = nothing || (json_integer_value(json_array_get(row, 0)) == 0 && json_integer_value(json_array_get(row, 1)) > 0);
    json_decref(seen);
    return nothing;
}

int run_exit_code(const struct run *run)
{
    if (pool_interrupted)
        return EXIT_INTERRUPTED;
    if (with_outcome(run, "broken"))
        return EXIT_USAGE;
    if (with_outcome(run, "fail"))
        return EXIT_MISMATCH;
    if (with_outcome(run, "crash"))
        return EXIT_CRASH;
    if (with_outcome(run, "timeout") || with_outcome(run, "vacuous") || run->incomplete)
        return EXIT_INCOMPLETE;
    return with_outcome(run, "pass") && !judged_nothing(run) ? EXIT_PASS : EXIT_NOTHING;
}

/* A suite that holds brinks has judged ambiguous roundings and groups with two legal scales, or it judged nothing there. */
static bool vacuous_suite(const struct run *run, const struct options *o)
{
    size_t i;
    json_t *r;
    json_int_t brinks = 0, ambiguous = 0, two_scale = 0;
    if (o->cases.n || o->patterns.n || o->shards || o->last_failed || run->incomplete)
        return false;
    json_array_foreach(run->results, i, r)
        if (!strcmp(text_of(r, "op"), "rmsnorm") &&
            !strstr(text_of(r, "case"), "dialect=hf") && /* no weight makes its n a brink */
            strstr(text_of(r, "case"), "out=e4m3") && strstr(text_of(r, "case"), "fill=brink") && int_of(r, "elements")) {
            brinks++;
            ambiguous += int_of(r, "ambiguous");
            two_scale += int_of(r, "two_scale");
        }
    if (brinks && (!ambiguous || !two_scale))
        printf("VACUOUS %lld cases with fill=brink, but %lld ambiguous roundings and %lld groups with two scales were judged\n",
               (long long) brinks, (long long) ambiguous, (long long) two_scale);
    return brinks && (!ambiguous || !two_scale);
}

/* Keeps of the cases those whose last verdict was not a pass. */
static int only_failed(struct cases *cases)
{
    FILE *const f = fopen(journal_path, "r");
    char line[1 << 16];
    struct cases kept = { .n = 0 };
    if (!f)
        return usage_error("--lf: no last run here (%s: %s)", journal_path, strerror(errno));
    while (fgets(line, sizeof line, f)) {
        json_t *const r = json_loads(line, 0, NULL);
        struct kase k;
        char why[512];
        const char *const outcome = outcome_of(r);
        if (r && strcmp(outcome, "pass") && strcmp(outcome, "unsupported") &&
            !kase_parse(&k, text_of(r, "case"), why, sizeof why))
            for (size_t i = 0; i < cases->n; i++)
                if (kase_same(&cases->at[i], &k))
                    cases_add(&kept, &k);
        json_decref(r);
    }
    fclose(f);
    cases_free(cases);
    *cases = kept;
    return 0;
}

int run_resume(struct run *run, const char *path)
{
    if (file_is_special(path)) /* /dev/zero has a line without end */
        return usage_error("--resume %s: no regular file", path);
    FILE *const f = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    int status = f ? 0 : usage_error("--resume %s: %s", path, strerror(errno));
    int lines = 0, verdicts = 0;
    while (f && getline(&line, &room, f) > 0) {
        json_t *const r = json_loads(line, 0, NULL); /* NULL: a line that was cut when a run was killed */
        if (text_of(r, "case")[0] && text_of(r, "outcome")[0]) {
            json_array_append(run->results, r);
            verdicts++;
        }
        lines++;
        json_decref(r);
    }
    if (lines > 1 && !verdicts)
        status = usage_error("--resume %s: no verdict in %d lines; a journal has one a line", path, lines);
    free(line);
    if (f)
        fclose(f);
    return status;
}

/* A report that cannot be written is known before the run, not after it. */
int run_try_reports(const struct options *o)
{
    for (int i = 0; i < o->reports.n; i++)
        if (file_try(strchr(o->reports.at[i], ':') + 1))
            return usage_error("--report %s: %s", o->reports.at[i], strerror(errno));
    return 0;
}

static void print_junit(FILE *to, const void *what)
{
    const struct report *const r = what;
    out_junit(to, r->results, r->summary);
}

static void print_lines(FILE *to, const void *what)
{
    const struct report *const report = what;
    size_t i;
    json_t *r;
    json_array_foreach(report->results, i, r)
        write_line(to, r);
}

static void print_json(FILE *to, const void *what)
{
    out_json(to, ((const struct report *) what)->summary);
}

static void print_text(FILE *to, const void *what)
{
    const struct report *const report = what;
    size_t i;
    json_t *r;
    json_array_foreach(report->results, i, r)
        if (strcmp(outcome_of(r), "pass") && strcmp(outcome_of(r), "unsupported"))
            out_failure(to, r, true);
    out_text(to, report->summary);
}

int run_reports(const struct options *o, struct run *run, json_t *summary)
{
    const struct report what = { run->results, summary };
    int status = 0;
    for (int i = 0; i < o->reports.n; i++) {
        const char *const kind = o->reports.at[i];
        const print_fn print = !strncmp(kind, "junit:", 6)   ? print_junit
                               : !strncmp(kind, "jsonl:", 6) ? print_lines
                               : !strncmp(kind, "json:", 5)  ? print_json
                                                             : print_text;
        if (file_write(strchr(kind, ':') + 1, print, &what))
            status = usage_error("--report %s: %s", kind, strerror(errno));
    }
    return status;
}

static int save_failed(const struct run *run)
{
    struct cases failed = { .n = 0 };
    size_t i;
    json_t *r;
    char why[512];
    json_array_foreach(run->results, i, r) {
        struct kase k;
        if (!strcmp(outcome_of(r), "fail") && !kase_parse(&k, text_of(r, "case"), why, sizeof why) && kase_int(&k, "bad") == 0)
            cases_add(&failed, &k);
    }
    int status = 0;
    if (failed.n && golden_export("failed.h5", &failed, why, sizeof why))
        status = usage_error("--save failed: %s", why);
    else if (failed.n)
        printf("saved   the inputs of %zu failed cases in failed.h5\n", failed.n);
    cases_free(&failed);
    return status;
}

int command_run(int argc, char **argv)
{
    struct options o;
    struct run run = { .results = json_array(), .devices = json_object() };
    struct cases cases = { .n = 0 };
    int status = options_read(
        &o, argc, argv,
        "--backend --require-backend --suite -k --case --save --resume --seed -j --timeout --shard --report "
        "-v -x --lf --dry-run --golden --dialect");
    if (status)
        return status;
    const char *const suite = o.suite ? o.suite : "smoke";
    options_backends(&o);
    if (!o.backends.n)
        return usage_error("no backend beside the program; name one with --backend");
    if (!o.golden)
        status = options_cases(&o, suite, &cases);
    if (!status && o.last_failed)
        status = only_failed(&cases);
    if (status)
        return status;
    if (o.dry_run) {
        for (size_t i = 0; i < cases.n; i++) {
            char id[MAX_ID];
            kase_print(&cases.at[i], id, sizeof id);
            printf("%s\n", id);
        }
        return cases.n ? EXIT_PASS : EXIT_NOTHING;
    }
    pool_catch_signals();
    if ((o.resume && (status = run_resume(&run, o.resume))) || (status = run_try_reports(&o)))
        return status;
    run.cases = cases.n;
    if (o.golden)
        status = run_goldens(&run, &o);
    for (int i = 0; !o.golden && i < o.backends.n && !pool_interrupted; i++) {
        const int one = run_backend(&run, &o, o.backends.at[i], &cases, NULL);
        status = status ? status : one;
    }
    if (run.journal)
        fclose(run.journal);
    char command[1024] = "layercheck run";
    for (int i = 0; i < argc; i++) {
        strncat(command, " ", sizeof command - strlen(command) - 1);
        strncat(command, argv[i], sizeof command - strlen(command) - 1);
    }
    const struct run_facts facts = { o.golden    ? "golden"
                                     : o.cases.n ? "cases"
                                                 : suite,
                                     command, run.devices, run.cases, run.seconds };
    json_t *const summary = out_summary(run.results, &facts);
    out_text(stdout, summary);
    const bool vacuous = vacuous_suite(&run, &o);
    const int reports = run_reports(&o, &run, summary);
    const int saved = o.save ? save_failed(&run) : 0;
    const int verdict = run_exit_code(&run);
    json_decref(summary);
    json_decref(run.results);
    json_decref(run.devices);
    cases_free(&cases);
    if (reports || saved || run.journal_lost)
        return EXIT_USAGE;
    return exit_worse(status, verdict == EXIT_PASS && vacuous ? EXIT_INCOMPLETE : verdict);
}
