/* SPDX-License-Identifier: Apache-2.0 */
/* export: writes files of cases, which another framework or the oracle fills. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "golden.h"
#include "h5.h"

int export_slot(hid_t group, const struct call *c, int slot, const uint8_t *outputs, char *why, size_t size)
{
    const struct slot *const s = &c->slot[slot];
    if (call_is_sparse(c))
        return h5_say(why, size, "%s: too large a storage for a file", s->t.name);
    uint8_t *const storage = calloc(s->bytes + 1, 1);
    if (!storage)
        return h5_say(why, size, "%s: out of memory", s->t.name);
    for (size_t at = 0; at < s->bytes; at++) {
        const uint8_t owner = c->own[s->offset + at]; /* INOUT: in place, an input and an output */
        if (s->dir == DIR_IN && (owner == INPUT || owner == INOUT))
            storage[at] = c->image[s->offset + at];
        else if (s->dir == DIR_OUT && outputs && (owner == OWNED || owner == INOUT))
            storage[at] = outputs[s->offset + at];
    }
    const int status = h5_write_slot(group, s, storage);
    free(storage);
    return status ? h5_say(why, size, "%s: cannot be written", s->t.name) : 0;
}

int export_call(hid_t file, const struct call *c, const char *id, const uint8_t *outputs, char *why, size_t size)
{
    const hid_t group = h5_add_group(file, id);
    bool fine = !h5_put_text(group, "op", c->op->name) && !h5_put_text(group, "case", id) &&
                !h5_put_text(group, "clauses", c->op->clauses);
    for (int i = 0; fine && i < c->n_scalars; i++)
        fine = !h5_put_scalar(group, &c->scalar[i]);
    int status = fine ? 0 : h5_say(why, size, "attributes cannot be written");
    for (int i = 0; !status && i < MAX_TENSORS; i++) {
        const struct slot *const s = &c->slot[i];
        if (s->listed && s->on && !call_is_copy(c, i)) /* RMS-7: bf16 is out */
            status = export_slot(group, c, i, outputs, why, size);
    }
    return H5Gclose(group) < 0 && !status ? h5_say(why, size, "cannot be written") : status;
}

int export_head(hid_t file)
{
    return h5_put_text(file, "format", H5_FORMAT) || h5_put_text(file, "contract", contract_hash) ||
                   h5_put_text(file, "maker", "layercheck")
               ? -1
               : 0;
}

static int write_cases(hid_t file, const struct cases *cases, char *why, size_t size)
{
    if (export_head(file))
        return h5_say(why, size, "cannot be written");
    struct call *const c = calloc(1, sizeof *c);
    int status = c ? 0 : h5_say(why, size, "out of memory");
    for (size_t i = 0; !status && i < cases->n; i++) {
        char id[MAX_ID], inner[512];
        kase_print(&cases->at[i], id, sizeof id);
        if (call_open(c, &cases->at[i], NULL, NULL))
            status = h5_say(why, size, "%s: %s", id, c->msg);
        else if (c->bad >= 0)
            status = h5_say(why, size, "%s: a refusal has no data to write", id);
        else if (export_call(file, c, id, NULL, inner, sizeof inner))
            status = h5_say(why, size, "%s: %s", id, inner);
        call_close(c);
    }
    free(c);
    return status;
}

int golden_export(const char *path, const struct cases *cases, char *why, size_t size)
{
    char inner[1024] = "";
    const hid_t file = h5_create(path, why, size);
    if (file < 0)
        return -1;
    const int status = write_cases(file, cases, inner, sizeof inner);
    snprintf(why, size, "%s", inner);
    return h5_finish(file, path, status, why, size);
}

/* ---- the command ---- */

int command_export(int argc, char **argv)
{
    struct options o;
    struct cases named = { .n = 0 }, good = { .n = 0 };
    char why[2048];
    int status = options_read(&o, argc, argv, "--suite -k --case --seed --shard -o --dialect"), ops = 0;
    if (status)
        return status;
    for (int i = 0; i < o.ops.n; i++) /* a word with a parenthesis is a case id, any other an operator */
        if (!strchr(o.ops.at[i], '('))
            o.ops.at[ops++] = o.ops.at[i];
        else if (o.cases.n == MOST_TEXTS)
            return usage_error("'%s': too many cases", o.ops.at[i]);
        else
            o.cases.at[o.cases.n++] = o.ops.at[i];
    o.ops.n = ops;
    if (!o.output)
        return usage_error("export: -o FILE.h5 is missing");
    if (!o.cases.n && !o.suite)
        return usage_error("export: which cases? 'rmsnorm(M=17,d=7168)' or --suite S");
    status = options_cases(&o, o.suite, &named);
    for (size_t i = 0; !status && i < named.n; i++) {
        const bool refusal = kase_int(&named.at[i], "bad") != 0; /* has no data */
        if (refusal && o.cases.n)
            status = usage_error("export: a case with bad= has no data to write");
        else if (!refusal)
            cases_add(&good, &named.at[i]);
    }
    if (!status && !good.n) {
        usage_error("export: no case is left");
        status = EXIT_NOTHING;
    }
    if (!status && golden_export(o.output, &good, why, sizeof why))
        status = usage_error("%s", why);
    if (!status)
        printf("wrote   the inputs of %zu cases to %s\n", good.n, o.output);
    cases_free(&named);
    cases_free(&good);
    return status;
}
