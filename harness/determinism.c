/* SPDX-License-Identifier: Apache-2.0 */
/* determinism: every kernel on a few cases, under every perturbation that may change no bit (DET-1..3). relations: likewise, a second
 * call whose outputs are known from the first's. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands.h"
#include "determinism_report.h"
#include "out.h"
#include "perturb.h"
#include "relations.h"
#include "worker.h"

enum { MOST_PERTURBATIONS = 128 };

struct plan {
    const struct options *o;
    const char *backend;
    json_t *kernels, *results;
    const char *command; /* "determinism" or "relations" */
    const struct perturbation *chosen[MOST_PERTURBATIONS];
    struct job *jobs;
    size_t n, done;
    char (*files)[512]; /* by job, with --save failed */
};

static bool finished(void *user, const struct job *job, json_t *result)
{
    struct plan *const p = user;
    json_t *const kernel = json_array_get(p->kernels, (size_t) job->kernel);
    json_object_set_new(result, "backend", json_string(p->backend));
    json_object_set(result, "kernel", json_object_get(kernel, "variant"));
    json_object_set_new(result, "perturbation", json_string(job->kind)); /* a lost cell has both */
    json_object_set_new(result, "command", json_string(p->command));
    json_array_append(p->results, result);
    out_progress(++p->done, p->n, result);
    if (strcmp(outcome_of(result), "pass") && strcmp(outcome_of(result), "unsupported")) {
        out_progress_end();
        determinism_line(stdout, result);
        fflush(stdout);
    }
    return true;
}

static void name_file(const struct plan *p, const struct job *job, char *to, size_t size)
{
    const char *const variant = text_of(json_array_get(p->kernels, (size_t) job->kernel), "variant");
    snprintf(to, size, "failed-%.100s-%.100s-%s-%zu.h5", job->id.op->name, variant, job->kind, p->n + 1);
    for (char *c = to; *c; c++)
        if (!isalnum((unsigned char) *c) && *c != '.' && *c != '-' && *c != '_')
            *c = '_';
}

static bool concerns(const struct plan *p, const struct perturbation *each, const struct op *op)
{
    return strcmp(p->command, "relations") || relation_find(op, each->name) == each;
}

/* Case by case, kernel by kernel: a worker keeps the base call for the next perturbation. */
static int plan_jobs(struct plan *p, const struct cases *cases, const char *no_device)
{
    size_t chosen = 0, k;
    json_t *kernel;
    while (p->chosen[chosen])
        chosen++;
    const size_t room = cases->n * json_array_size(p->kernels) * chosen + 1;
    p->jobs = malloc(room * sizeof *p->jobs);
    p->files = p->o->save ? malloc(room * sizeof *p->files) : NULL;
    if (!p->jobs || (p->o->save && !p->files))
        return usage_error("out of memory");
    for (size_t i = 0; i < cases->n; i++)
        json_array_foreach(p->kernels, k, kernel) {
            const bool fits = kernel_speaks(kernel, &cases->at[i]);
            const bool lacks = json_is_true(json_object_get(kernel, "on_device")) && no_device[0];
            for (size_t n = 0; n < chosen && fits && !lacks && kase_int(&cases->at[i], "bad") == 0; n++) {
                if (!concerns(p, p->chosen[n], cases->at[i].op))
                    continue;
                struct job *const job = &p->jobs[p->n];
                *job = (struct job) { (int) k, cases->at[i], p->chosen[n]->name, NULL };
                if (p->files) {
                    name_file(p, job, p->files[p->n], sizeof p->files[0]);
                    job->file = p->files[p->n];
                }
                p->n++;
            }
        }
    return 0;
}

static int try_backend(struct plan *p, const struct cases *cases, json_t *devices)
{
    char why[1024] = "";
    struct pool_options pool = { p->backend, NULL, p->o->workers, p->o->timeout_s, p->o->verbose };
    json_t *const hello = pool_hello(&pool, why, sizeof why);
    size_t k;
    json_t *kernel;
    if (!hello)
        return usage_error("%s", why);
    const char *const no_device = text_of(hello, "device");
    bool skipped = false;
    p->kernels = json_object_get(hello, "kernels");
    json_array_foreach(p->kernels, k, kernel)
        if (json_is_true(json_object_get(kernel, "on_device"))) {
            skipped = skipped || no_device[0];
            pool.workers = pool.workers < DEVICE_WORKERS ? pool.workers : DEVICE_WORKERS; /* they share the device */
        }
    p->n = p->done = 0;
    int status = plan_jobs(p, cases, no_device);
    if (!status && skipped && options_require(p->o, p->backend))
        status = usage_error("%s, and --require-backend asks for it", no_device);
    else if (skipped)
        printf("SKIP    %s: %s\n", p->backend, no_device);
    if (json_object_get(hello, "device_info"))
        json_object_set(devices, p->backend, json_object_get(hello, "device_info"));
    if (!status && p->n && pool_run(&pool, p->jobs, p->n, finished, p, why, sizeof why))
        status = usage_error("%s", why);
    out_progress_end();
    free(p->jobs);
    free(p->files);
    json_decref(hello);
    return status;
}

/* Words that name perturbations choose them; what is left are operators. */
static void choose(struct options *o, const struct perturbation **chosen)
{
    int ops = 0, n = 0;
    for (int i = 0; i < o->ops.n; i++) {
        const struct perturbation *const p = perturbation_find(o->ops.at[i]);
        if (!p)
            o->ops.at[ops++] = o->ops.at[i];
        else if (n + 1 < MOST_PERTURBATIONS)
            chosen[n++] = p;
    }
    o->ops.n = ops;
    for (const struct perturbation *p = perturbations; n == 0 && p->name; p++)
        chosen[p - perturbations] = p;
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

/* Likewise of relations; one word may stand for several operators'. */
static void choose_relations(struct options *o, const struct perturbation **chosen)
{
    int ops = 0, n = 0;
    bool named[MOST_TEXTS] = { false }, any = false;
    for (int w = 0; w < o->ops.n; w++)
        for (int i = 0; all_ops[i]; i++)
            any = (named[w] = named[w] || relation_find(all_ops[i], o->ops.at[w])) || any;
    for (int i = 0; all_ops[i]; i++) {
        const struct perturbation *p;
        for (int k = 0; (p = relation_nth(all_ops[i], k)) != NULL; k++) {
            bool wanted = !any, there = false;
            for (int w = 0; w < o->ops.n; w++)
                wanted = wanted || (named[w] && !strcmp(o->ops.at[w], p->name));
            for (int c = 0; c < n; c++)
                there = there || chosen[c] == p; /* of every operator */
            if (wanted && !there && n + 1 < MOST_PERTURBATIONS)
                chosen[n++] = p;
        }
    }
    for (int w = 0; w < o->ops.n; w++)
        if (!named[w])
            o->ops.at[ops++] = o->ops.at[w];
    o->ops.n = ops;
}

static int compare(const char *name, int argc, char **argv)
{
    struct options o;
    struct plan plan = { .o = &o, .command = name, .results = json_array() };
    struct cases cases = { .n = 0 };
    json_t *const devices = json_object();
    int status = options_read(
        &o, argc, argv, "--backend --require-backend --suite -k --case --save --seed -j --timeout --shard --report --dialect -v");
    for (int i = 0; i < o.reports.n && !status; i++)
        if (!strncmp(o.reports.at[i], "junit:", 6))
            status = usage_error("--report '%s': %s writes text:FILE, json:FILE or jsonl:FILE", o.reports.at[i], name);
    if (status)
        return status;
    if (strcmp(name, "relations"))
        choose(&o, plan.chosen);
    else
        choose_relations(&o, plan.chosen);
    options_backends(&o);
    if (!o.backends.n)
        return usage_error("no backend beside the program; name one with --backend");
    const char *const suite = o.suite ? o.suite : name;
    status = options_cases(&o, suite, &cases);
    if (status)
        return status;
    if ((status = run_try_reports(&o)))
        return status;
    const double begin = seconds_now();
    pool_catch_signals();
    size_t expected = 0;
    for (int i = 0; i < o.backends.n && !pool_interrupted; i++) {
        plan.backend = o.backends.at[i];
        const int one = try_backend(&plan, &cases, devices);
        status = status ? status : one;
        expected += plan.n;
    }
    char command[1024];
    snprintf(command, sizeof command, "layercheck %s", name);
    for (int i = 0; i < argc; i++) {
        strncat(command, " ", sizeof command - strlen(command) - 1);
        strncat(command, argv[i], sizeof command - strlen(command) - 1);
    }
    const struct run_facts facts = { o.cases.n ? "cases" : suite, command, devices, cases.n, seconds_now() - begin };
    json_t *const summary = determinism_summary(plan.results, plan.chosen, name, &facts);
    determinism_text(stdout, summary);
    for (int i = 0; i < o.reports.n; i++)
        if (determinism_write(o.reports.at[i], plan.results, summary))
            status = usage_error("--report %s: %s", o.reports.at[i], strerror(errno));
    const int verdict = pool_interrupted ? EXIT_INTERRUPTED : determinism_exit_code(summary, expected);
    json_decref(summary);
    json_decref(plan.results);
    json_decref(devices);
    cases_free(&cases);
    return status ? EXIT_USAGE : verdict;
}

int command_determinism(int argc, char **argv)
{
    return compare("determinism", argc, argv);
}

int command_relations(int argc, char **argv)
{
    return compare("relations", argc, argv);
}
