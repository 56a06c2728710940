/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "file.h"
#include "paths.h"

int usage_error(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "layercheck: ");
    vfprintf(stderr, format, list);
    fprintf(stderr, "\n");
    va_end(list);
    return EXIT_USAGE;
}

int exit_worse(int a, int b)
{
    static const int order[] = { EXIT_INTERRUPTED, EXIT_USAGE, EXIT_MISMATCH, EXIT_CRASH, EXIT_INCOMPLETE, EXIT_NOTHING };
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (a == order[i] || b == order[i])
            return order[i];
    return EXIT_PASS;
}

static int add(struct texts *t, const char *text)
{
    if (t->n == MOST_TEXTS)
        return usage_error("'%s': too many of this option", text);
    t->at[t->n++] = text;
    return 0;
}

static int add_once(struct texts *t, const char *text)
{
    for (int i = 0; i < t->n; i++)
        if (!strcmp(t->at[i], text))
            return 0;
    return add(t, text);
}

static int number(const char *option, const char *text, int64_t least, int64_t most, int64_t *to)
{
    char *end;
    errno = 0;
    *to = strtoll(text, &end, 0);
    if (errno || end == text || *end || *to < least || *to > most)
        return usage_error("%s '%s': must be a whole number from %lld to %lld", option, text, (long long) least,
                           (long long) most);
    return 0;
}

static int allowed_here(const char *allowed, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = strstr(allowed, name); at; at = strstr(at + 1, name))
        if ((at == allowed || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return 1;
    return 0;
}

static int report_is_known(const char *text)
{
    static const char *const kinds[] = { "jsonl:", "junit:", "json:", "text:" };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strncmp(text, kinds[i], strlen(kinds[i])) && text[strlen(kinds[i])])
            return 1;
    return 0;
}

static int with_value(struct options *o, const char *name, const char *value)
{
    int64_t n = 0;
    int status = 0;
    if (!strcmp(name, "--backend"))
        return add_once(&o->backends, value);
    if (!strcmp(name, "--require-backend"))
        return add_once(&o->required, value) || add_once(&o->backends, value) ? EXIT_USAGE : 0;
    if (!strcmp(name, "--suite"))
        o->suite = value;
    else if (!strcmp(name, "-k"))
        return add(&o->patterns, value);
    else if (!strcmp(name, "--case"))
        return add(&o->cases, value);
    else if (!strcmp(name, "--save")) {
        if (strcmp(value, "failed"))
            return usage_error("--save '%s': only `failed` can be saved", value);
        o->save = value;
    } else if (!strcmp(name, "--resume"))
        o->resume = value;
    else if (!strcmp(name, "--dialect"))
        o->dialect = value;
    else if (!strcmp(name, "-o"))
        o->output = value;
    else if (!strcmp(name, "--seed")) {
        status = number(name, value, 0, INT64_C(1) << 62, &o->seed);
        o->has_seed = 1;
    } else if (!strcmp(name, "-j")) {
        status = number(name, value, 1, 64, &n);
        o->workers = (int) n;
    } else if (!strcmp(name, "--timeout")) {
        char *end;
        o->timeout_s = strtod(value, &end);
        if (*end || !(o->timeout_s > 0))
            return usage_error("--timeout '%s': must be a number of seconds, more than 0", value);
    } else if (!strcmp(name, "--shard")) {
        char rest;
        if (sscanf(value, "%d/%d%c", &o->shard, &o->shards, &rest) != 2 || o->shards < 1 || o->shard < 1 || o->shard > o->shards)
            return usage_error("--shard '%s': must be i/n, 1 <= i <= n", value);
    } else if (!strcmp(name, "--report")) {
        if (!report_is_known(value))
            return usage_error("--report '%s': must be jsonl:FILE, junit:FILE, json:FILE or text:FILE", value);
        return add(&o->reports, value);
    }
    return status;
}

int options_read(struct options *o, int argc, char **argv, const char *allowed)
{
    static const char *const flags[] = { "-v", "-x", "--lf", "--dry-run", "--golden", "--uncovered", "--bits" };
    static const char *const values[] = { "--backend", "--require-backend", "--suite",  "-k",       "--case",
                                          "--save",    "--resume",          "-o",       "--seed",   "-j",
                                          "--timeout", "--shard",           "--report", "--dialect" };
    memset(o, 0, sizeof *o);
    o->timeout_s = 60;
    o->workers = (int) sysconf(_SC_NPROCESSORS_ONLN);
    for (int i = 0; i < argc; i++) {
        char name[64];
        const char *value = strchr(argv[i], '=');
        int *const flag[] = { &o->verbose, &o->stop_at_first, &o->last_failed, &o->dry_run, &o->golden, &o->uncovered, &o->bits };
        if (argv[i][0] != '-') {
            if (add(&o->ops, argv[i]))
                return EXIT_USAGE;
            continue;
        }
        const size_t n = value && !strncmp(argv[i], "--", 2) ? (size_t) (value - argv[i]) : strlen(argv[i]);
        snprintf(name, sizeof name, "%.*s", (int) (n < 63 ? n : 63), argv[i]);
        value = argv[i][n] == '=' ? value + 1 : NULL;
        int known = 0;
        for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
            if (!strcmp(name, flags[k]) && !value) {
                *flag[k] = 1;
                known = 1;
            }
        for (size_t k = 0; k < sizeof values / sizeof *values; k++)
            if (!strcmp(name, values[k])) {
                known = 1;
                if (!value && ++i == argc)
                    return usage_error("%s: a value is missing", name);
                if (allowed_here(allowed, name) && with_value(o, name, value ? value : argv[i]))
                    return EXIT_USAGE;
            }
        if (!known || !allowed_here(allowed, name))
            return usage_error("%s: no such option here; see layercheck --help", name);
    }
    return 0;
}

static bool wanted(const struct options *o, const struct kase *k, const struct pattern *patterns, const char *const *words, int n)
{
    char id[MAX_ID];
    bool by_pattern = n == 0;
    kase_print(k, id, sizeof id);
    for (int i = 0; i < n; i++)
        by_pattern = by_pattern || (words[i] ? strstr(id, words[i]) != NULL : pattern_matches(&patterns[i], k));
    return by_pattern && op_named(k->op, o->ops.at, o->ops.n);
}

bool dialect_of(const struct op *op, const char *dialect)
{
    const int a = axis_of(op, "dialect");
    struct axis_value v;
    return !dialect || (a >= 0 && axis_parse(op, a, dialect, strlen(dialect), &v));
}

/* Puts a case into the dialect of --dialect; false: its operator has none of that name. */
static bool in_dialect(const struct options *o, struct kase *k)
{
    if (!o->dialect)
        return true;
    if (!dialect_of(k->op, o->dialect))
        return false;
    kase_set(k, "dialect", o->dialect);
    kase_settle(k);
    return true;
}

int options_cases(const struct options *o, const char *suite, struct cases *to)
{
    char why[1024];
    struct cases all = { .ops = o->ops.at, .n_ops = o->ops.n };
    for (int i = 0; i < o->cases.n; i++) {
        struct kase k;
        if (kase_parse(&k, o->cases.at[i], why, sizeof why))
            return usage_error("--case %s", why);
        cases_add(&all, &k);
    }
    if (!o->cases.n && suite && suite_read(&all, suite, why, sizeof why))
        return usage_error("%s", why);
    const int status = options_pick(o, &all, to);
    cases_free(&all);
    return status;
}

int options_pick(const struct options *o, const struct cases *all, struct cases *to)
{
    char why[1024];
    for (int i = 0; i < o->ops.n; i++)
        if (!op_find(o->ops.at[i]))
            return usage_error("'%s': no such operator; `layercheck list` names them", o->ops.at[i]);
    bool known = false;
    for (int i = 0; all_ops[i]; i++)
        known = known || dialect_of(all_ops[i], o->dialect);
    if (!known)
        return usage_error("--dialect '%s': no operator has it; `layercheck list OP` names them", o->dialect);
    struct pattern *const patterns = calloc((size_t) o->patterns.n + 1, sizeof *patterns);
    const char *words[MOST_TEXTS] = { NULL };
    if (!patterns)
        return usage_error("out of memory");
    for (int i = 0; i < o->patterns.n; i++) /* "op(axis=...)" is a pattern, anything else a part of the id */
        if (!strchr(o->patterns.at[i], '('))
            words[i] = o->patterns.at[i];
        else if (pattern_parse(&patterns[i], o->patterns.at[i], why, sizeof why)) {
            free(patterns);
            return usage_error("-k %s", why);
        }
    size_t nth = 0;
    for (size_t i = 0; i < all->n; i++) {
        struct kase k = all->at[i];
        if (o->has_seed)
            k.i[axis_of(k.op, "seed")] = o->seed;
        if (!in_dialect(o, &k) || !wanted(o, &k, patterns, words, o->patterns.n))
            continue;
        if (o->shards == 0 || nth % (size_t) o->shards == (size_t) o->shard - 1)
            cases_add(to, &k);
        nth++;
    }
    free(patterns);
    return 0;
}

static void print_json(FILE *to, const void *what)
{
    json_dumpf(what, to, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
}

int options_json_only(const struct options *o, const char *command)
{
    for (int i = 0; i < o->reports.n; i++)
        if (strncmp(o->reports.at[i], "json:", 5))
            return usage_error("--report %s: %s writes json:FILE", o->reports.at[i], command);
    return run_try_reports(o);
}

int options_write_json(const struct options *o, json_t *value)
{
    int status = 0;
    for (int i = 0; i < o->reports.n; i++)
        if (file_write(strchr(o->reports.at[i], ':') + 1, print_json, value))
            status = usage_error("--report %s: %s", o->reports.at[i], strerror(errno));
    return status;
}

void options_backends(struct options *o)
{
    static const char *const ours[] = { "cpu", "cuda" };
    char path[4096];
    if (o->backends.n)
        return;
    for (int i = 0; i < 2; i++)
        if (path_library(ours[i], path, sizeof path))
            o->backends.at[o->backends.n++] = ours[i];
}

bool options_require(const struct options *o, const char *backend)
{
    for (int i = 0; i < o->required.n; i++)
        if (!strcmp(o->required.at[i], backend))
            return true;
    return false;
}

bool kernel_speaks(json_t *kernel, const struct kase *k)
{
    const char *const dialect = kase_dialect(k), *const op = json_string_value(json_object_get(kernel, "op"));
    const char *const stated = json_string_value(json_object_get(kernel, "dialect"));
    return op && !strcmp(k->op->name, op) && !strcmp(stated ? stated : "", dialect ? dialect : "");
}
