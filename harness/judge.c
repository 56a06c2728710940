/* SPDX-License-Identifier: Apache-2.0 */
/* judge: outputs that any framework put beside exported inputs, by the verdict that our own kernels get. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands.h"
#include "golden.h"
#include "out.h"
#include "worker.h"

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

struct judged {
    const struct options *o;
    const char *path;
    struct run *run;
    size_t done;
};

static bool finished(void *user, const struct job *job, json_t *result)
{
    struct judged *const to = user;
    (void) job;
    json_object_set_new(result, "backend", json_string("file"));
    json_object_set_new(result, "kernel", json_string("-"));
    json_object_set_new(result, "file", out_words(to->path));
    json_array_append(to->run->results, result);
    to->done++;
    if (!strcmp(outcome_of(result), "pass"))
        return true;
    out_failure(stdout, result, to->o->verbose);
    return !to->o->stop_at_first;
}

static int judge_file(const char *path, const struct options *o, struct run *run)
{
    char why[2048];
    struct cases all = { .n = 0 }, chosen = { .n = 0 };
    struct options cut = *o;
    struct judged to = { o, path, run, 0 };
    int status = golden_cases(path, o, &all);
    cut.ops.n = 0; /* those words were files */
    if (o->cases.n)
        cases_free(&all);
    for (int i = 0; !status && i < o->cases.n; i++) {
        struct kase k;
        if (kase_parse(&k, o->cases.at[i], why, sizeof why))
            status = usage_error("--case %s", why);
        else
            cases_add(&all, &k);
    }
    if (!status)
        status = options_pick(&cut, &all, &chosen);
    if (!status)
        status = golden_jobs(path, o, &chosen, "judge", finished, &to);
    run->cases += chosen.n;
    run->incomplete = run->incomplete || to.done < chosen.n;
    cases_free(&all);
    cases_free(&chosen);
    return status;
}

int command_judge(int argc, char **argv)
{
    struct options o;
    struct run run = { .results = json_array() };
    int status = options_read(&o, argc, argv, "-k --case --report --timeout -v -x");
    if (!status && !o.ops.n)
        status = usage_error("judge: which file? layercheck judge FILE.h5");
    const double begin = now_ms();
    pool_catch_signals();
    if (status || (status = run_try_reports(&o)))
        return status;
    for (int i = 0; run.results && !pool_interrupted && i < o.ops.n; i++)
        status = exit_worse(status, judge_file(o.ops.at[i], &o, &run));
    if (status && !json_array_size(run.results)) {
        json_decref(run.results);
        return status;
    }
    char command[1024] = "layercheck judge";
    for (int i = 0; i < argc; i++) {
        strncat(command, " ", sizeof command - strlen(command) - 1);
        strncat(command, argv[i], sizeof command - strlen(command) - 1);
    }
    const struct run_facts facts = { "file", command, NULL, run.cases, (now_ms() - begin) / 1e3 };
    json_t *const summary = out_summary(run.results, &facts);
    out_text(stdout, summary);
    const int reports = run_reports(&o, &run, summary);
    const int verdict = run_exit_code(&run);
    json_decref(summary);
    json_decref(run.results);
    return reports ? EXIT_USAGE : exit_worse(status, verdict);
}
