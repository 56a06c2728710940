/* SPDX-License-Identifier: Apache-2.0 */
/* Files of cases, read in a worker: a hostile file can crash the HDF5 library. run --golden: every kernel on the cases of
 * golden/<op>.h5, judged by what the oracle computed. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "paths.h"
#include "worker.h"

static struct pool_options reader(const char *path, const struct options *o)
{
    return (struct pool_options) { "ref", path, 1, o->timeout_s, o->verbose };
}

int golden_cases(const char *path, const struct options *o, struct cases *to)
{
    char why[1024] = "";
    const struct pool_options pool = reader(path, o);
    enum pool_end end;
    json_t *const hello = pool_hello_end(&pool, &end, why, sizeof why);
    int status = hello ? 0 : usage_error("%s", why);
    if (!hello && end != POOL_SAID_WHY)
        status = end == POOL_LATE ? EXIT_INCOMPLETE : EXIT_CRASH;
    size_t i;
    json_t *id;
    json_array_foreach(json_object_get(hello, "cases"), i, id) {
        struct kase k;
        if (kase_parse(&k, json_string_value(id), why, sizeof why))
            status = usage_error("%s: %s", path, why);
        else
            cases_add(to, &k);
    }
    json_decref(hello);
    return status;
}

int golden_jobs(const char *path, const struct options *o, const struct cases *cases, const char *kind, result_fn each,
                void *user)
{
    char why[1024] = "";
    const struct pool_options pool = reader(path, o);
    struct job *const jobs = malloc((cases->n + 1) * sizeof *jobs);
    int status = jobs ? 0 : usage_error("out of memory");
    for (size_t i = 0; jobs && i < cases->n; i++)
        jobs[i] = (struct job) { 0, cases->at[i], kind, NULL };
    if (!status && cases->n && pool_run(&pool, jobs, cases->n, each, user, why, sizeof why))
        status = usage_error("%s", why);
    free(jobs);
    return status;
}

/* The cases of a golden file that the options leave. */
static int chosen_cases(const struct options *o, const char *path, struct cases *to)
{
    struct cases all = { .n = 0 }, spoken = { .n = 0 };
    int status = golden_cases(path, o, &all);
    for (size_t i = 0; i < all.n; i++) {
        const char *const dialect = kase_dialect(&all.at[i]);
        if (o->dialect ? dialect && !strcmp(dialect, o->dialect) : !dialect)
            cases_add(&spoken, &all.at[i]);
    }
    struct options cut = *o; /* these cases have the dialect that they have */
    cut.dialect = NULL;
    status = status ? status : options_pick(&cut, &spoken, to);
    cases_free(&all);
    cases_free(&spoken);
    return status;
}

int run_goldens(struct run *run, const struct options *o)
{
    int status = 0;
    for (int i = 0; all_ops[i] && !pool_interrupted; i++) {
        char path[4096];
        struct cases cases = { .n = 0 };
        if (!op_named(all_ops[i], o->ops.at, o->ops.n))
            continue;
        if (!path_golden(all_ops[i]->name, path, sizeof path))
            return usage_error("golden/%s.h5: not found", all_ops[i]->name);
        int one = chosen_cases(o, path, &cases);
        run->cases += cases.n;
        for (int k = 0; k < o->backends.n && !one && !pool_interrupted; k++)
            one = run_backend(run, o, o->backends.at[k], &cases, path);
        status = exit_worse(status, one);
        cases_free(&cases);
    }
    return status;
}
