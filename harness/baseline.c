/* SPDX-License-Identifier: Apache-2.0 */
/* baseline save, baseline compare. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "baseline.h"
#include "commands.h"
#include "file.h"
#include "golden.h"
#include "out.h"
#include "paths.h"
#include "version.h"
#include "worker.h"

struct baseline {
    const struct options *o;
    json_t *hello, *kernels; /* kernels: of the file to be */
    struct job *jobs;
    size_t n, room, done, failed, crashed;
};

static void key_of(json_t *kernel, char *to, size_t size)
{
    snprintf(to, size, "%.100s %.100s", text_of(kernel, "variant"), text_of(kernel, "op"));
}

static bool finished(void *user, const struct job *job, json_t *result)
{
    struct baseline *const b = user;
    char key[256];
    key_of(json_array_get(json_object_get(b->hello, "kernels"), (size_t) job->kernel), key, sizeof key);
    out_progress(++b->done, b->n, result);
    if (!strcmp(outcome_of(result), "pass")) {
        if (!json_object_get(b->kernels, key))
            json_object_set_new(b->kernels, key, json_object());
        json_object_set(json_object_get(b->kernels, key), text_of(result, "case"), json_object_get(result, "tensors"));
    } else if (strcmp(outcome_of(result), "unsupported")) {
        b->failed++;
        b->crashed += !strcmp(outcome_of(result), "crash");
        out_progress_end();
        printf("%-8s%s %s\n        %s\n", outcome_of(result), key, text_of(result, "case"), text_of(result, "msg"));
    }
    return true;
}

static void add_job(struct baseline *b, size_t kernel, const struct kase *k, bool bits)
{
    if (b->n == b->room) {
        b->room = b->room ? 2 * b->room : 256;
        b->jobs = realloc(b->jobs, b->room * sizeof *b->jobs);
        if (!b->jobs)
            abort();
    }
    b->jobs[b->n++] = (struct job) { (int) kernel, *k, bits ? "codes" : "hashes", NULL };
}

/* Jobs of a suite's cases, or of those that a baseline holds. */
static int plan_cases(struct baseline *b, const struct cases *cases, json_t *of)
{
    size_t i;
    json_t *kernel, *tensors;
    const char *id;
    const bool bits = of ? json_is_true(json_object_get(of, "bits")) : b->o->bits != 0;
    json_array_foreach(json_object_get(b->hello, "kernels"), i, kernel) {
        char key[256], why[512];
        key_of(kernel, key, sizeof key);
        if (json_is_true(json_object_get(kernel, "on_device")) && text_of(b->hello, "device")[0])
            continue;
        for (size_t n = 0; !of && n < cases->n; n++)
            if (kernel_speaks(kernel, &cases->at[n]) && kase_int(&cases->at[n], "bad") == 0)
                add_job(b, i, &cases->at[n], bits);
        json_object_foreach(json_object_get(json_object_get(of, "kernels"), key), id, tensors) {
            struct kase k;
            if (kase_parse(&k, id, why, sizeof why))
                return usage_error("%s", why);
            add_job(b, i, &k, bits);
        }
    }
    return 0;
}

static json_t *head(const struct baseline *b, const char *backend, const char *suite, bool bits)
{
    char path[4096] = "", sum[65] = "";
    if (!strncmp(backend, "plugin:", 7))
        file_sha256(backend + 7, sum);
    else if (path_library(backend, path, sizeof path))
        file_sha256(path, sum);
    json_t *const o = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:O}", "format", BASELINE_FORMAT, "program",
                                "layercheck " LC_VERSION, "revision", LC_REVISION, "compiler", __VERSION__, "contract",
                                contract_hash, "backend", backend, "plugin", text_of(b->hello, "plugin"), "library_sha256", sum,
                                "suite", suite, "bits", (int) bits, "kernels", b->kernels);
    if (json_object_get(b->hello, "device_info"))
        json_object_set(o, "device", json_object_get(b->hello, "device_info"));
    return o;
}

/* Runs the cases; the new baseline, or NULL and *status. */
static json_t *make(struct baseline *b, const char *backend, const char *suite, const struct cases *cases, json_t *of,
                    int *status)
{
    char why[1024] = "";
    struct pool_options pool = { backend, NULL, b->o->workers, b->o->timeout_s, b->o->verbose };
    json_t *made = NULL;
    b->hello = pool_hello(&pool, why, sizeof why);
    b->kernels = json_object();
    if (!b->hello) {
        *status = usage_error("%s", why);
        return NULL;
    }
    if (text_of(b->hello, "device")[0])
        *status = usage_error("%s", text_of(b->hello, "device"));
    else
        *status = plan_cases(b, cases, of);
    if (json_object_get(b->hello, "device_info") && pool.workers > DEVICE_WORKERS)
        pool.workers = DEVICE_WORKERS;
    pool_catch_signals();
    if (!*status && b->n && pool_run(&pool, b->jobs, b->n, finished, b, why, sizeof why))
        *status = usage_error("%s", why);
    out_progress_end();
    if (!*status)
        made = head(b, backend, suite, of ? json_is_true(json_object_get(of, "bits")) : b->o->bits != 0);
    free(b->jobs);
    return made;
}

static int how_it_went(const struct baseline *b)
{
    if (pool_interrupted)
        return EXIT_INTERRUPTED;
    if (b->crashed)
        return EXIT_CRASH;
    return b->failed || b->done < b->n ? EXIT_INCOMPLETE : json_object_size(b->kernels) ? EXIT_PASS : EXIT_NOTHING;
}

static void print_baseline(FILE *to, const void *what)
{
    json_dumpf(what, to, JSON_INDENT(1) | JSON_SORT_KEYS);
}

static int save(const struct options *o)
{
    struct baseline b = { .o = o };
    struct cases cases = { .n = 0 };
    const char *const suite = o->suite ? o->suite : "smoke";
    if (o->backends.n != 1)
        return usage_error("baseline save: one --backend");
    if (!o->output)
        return usage_error("baseline save: -o FILE.json is missing");
    int status = file_try(o->output) ? usage_error("-o %s: %s", o->output, strerror(errno)) : options_cases(o, suite, &cases);
    json_t *const made = status ? NULL : make(&b, o->backends.at[0], o->cases.n ? "cases" : suite, &cases, NULL, &status);
    if (made && file_write(o->output, print_baseline, made))
        status = usage_error("-o %s: %s", o->output, strerror(errno));
    else if (made) {
        size_t n = 0;
        const char *key;
        json_t *kernel;
        json_object_foreach(json_object_get(made, "kernels"), key, kernel)
            n += json_object_size(kernel);
        printf("wrote   %zu cases of %zu kernels of %s to %s\n", n, json_object_size(json_object_get(made, "kernels")),
               o->backends.at[0], o->output);
        status = how_it_went(&b);
    }
    json_decref(made);
    json_decref(b.hello);
    json_decref(b.kernels);
    cases_free(&cases);
    return status;
}

static int compare(const struct options *o, const char *path)
{
    struct baseline b = { .o = o };
    char why[512];
    int status = 0;
    json_t *const of = baseline_read(path, why, sizeof why);
    if (!of)
        return usage_error("%s", why);
    const char *const backend = o->backends.n ? o->backends.at[0] : text_of(of, "backend");
    json_t *const made = make(&b, backend, text_of(of, "suite"), NULL, of, &status);
    if (made) {
        const int moved = baseline_diff(stdout, of, made, path, backend), went = how_it_went(&b);
        status = moved == EXIT_MISMATCH || went == EXIT_PASS ? moved : went;
    }
    json_decref(made);
    json_decref(of);
    json_decref(b.hello);
    json_decref(b.kernels);
    return status;
}

int command_baseline(int argc, char **argv)
{
    struct options o;
    const bool saves = argc > 0 && !strcmp(argv[0], "save"), compares = argc > 0 && !strcmp(argv[0], "compare");
    if (!saves && !compares)
        return usage_error("baseline: save or compare? see layercheck --help");
    const int status = options_read(&o, argc - 1, argv + 1,
                                    saves ? "--backend --suite -k --case --seed -j --timeout --shard -o --bits --dialect -v"
                                          : "--backend -j --timeout -v");
    if (status)
        return status;
    if (saves)
        return save(&o);
    if (o.ops.n != 1 || o.backends.n > 1)
        return usage_error("baseline compare FILE.json [--backend B]");
    return compare(&o, o.ops.at[0]);
}
