/* SPDX-License-Identifier: Apache-2.0 */
/* run --golden: every kernel on the cases of golden/<op>.h5, judged by what the oracle computed. */
#include <string.h>

#include "commands.h"
#include "paths.h"
#include "worker.h"

/* The cases of a golden file that the options leave; a worker reads it (a hostile file can crash the HDF5 library). */
static int golden_cases(const struct options *o, const char *path, struct cases *to)
{
    char why[1024] = "";
    const struct pool_options pool = { "ref", path, 1, o->timeout_s, o->verbose };
    json_t *const hello = pool_hello(&pool, why, sizeof why);
    struct cases all = { NULL, 0, 0 };
    int status = hello ? 0 : usage_error("%s", why);
    size_t i;
    json_t *id;
    json_array_foreach(json_object_get(hello, "cases"), i, id) {
        struct kase k;
        if (kase_parse(&k, json_string_value(id), why, sizeof why))
            status = usage_error("%s: %s", path, why);
        else if (o->dialect ? kase_dialect(&k) && !strcmp(kase_dialect(&k), o->dialect) : !kase_dialect(&k))
            cases_add(&all, &k);
    }
    struct options cut = *o; /* these cases have the dialect that they have */
    cut.dialect = NULL;
    status = status ? status : options_pick(&cut, &all, to);
    cases_free(&all);
    json_decref(hello);
    return status;
}

int run_goldens(struct run *run, const struct options *o)
{
    int status = 0;
    for (int i = 0; all_ops[i] && !status && !pool_interrupted; i++) {
        char path[4096];
        struct cases cases = { NULL, 0, 0 };
        bool named = o->ops.n == 0;
        for (int k = 0; k < o->ops.n; k++)
            named = named || !strcmp(o->ops.at[k], all_ops[i]->name);
        if (!named)
            continue;
        if (!path_golden(all_ops[i]->name, path, sizeof path))
            return usage_error("golden/%s.h5: not found", all_ops[i]->name);
        status = golden_cases(o, path, &cases);
        run->cases += cases.n;
        for (int k = 0; k < o->backends.n && !status && !pool_interrupted; k++)
            status = run_backend(run, o, o->backends.at[k], &cases, path);
        cases_free(&cases);
    }
    return status;
}
