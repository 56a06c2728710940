/* SPDX-License-Identifier: Apache-2.0 */
/* selftest: the checker against kernels that are wrong on purpose (tests/mutants). Each mutant names beforehand the cases and the
 * check that must kill it; a kill by anything else does not count. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "determinism_report.h"
#include "golden.h"
#include "out.h"
#include "paths.h"
#include "perturb.h"
#include "relations.h"
#include "worker.h"

struct mutant {
    const char *id, *op, *clause, *source, *cases, *check, *text;
    int cuda, rare;
};
static const struct mutant mutants[] = {
#define M(id, op, clause, source, cases, check, text) { #id, #op, clause, source, cases, check, text, 0, 0 },
#define MC(id, op, clause, source, cases, check, text) { #id, #op, clause, source, cases, check, text, 1, 0 },
#define AGAIN(id, op, clause, cases, check, text) { #id, #op, clause, "-", cases, check, text, 0, 0 },
#include "../tests/mutants/table.h"
};
static const char *const rare[] = {
#define RARE(id) #id,
#include "../tests/mutants/table.h"
    NULL
};
static const struct {
    const char *id, *why;
} not_mutants[] = {
#define NOT_A_MUTANT(id, reason) { #id, reason },
#include "../tests/mutants/table.h"
}, equivalents[] = {
#define EQUIVALENT(id, proof) { #id, proof },
#include "../tests/mutants/table.h"
};
enum { MUTANTS = sizeof mutants / sizeof *mutants };

struct score {
    char killed_by[MAX_ID];       /* the case, "" while it lives */
    char other[64];               /* what else failed there */
    json_int_t flagged, elements; /* on N(0,1) data of the same cases */
    size_t cases;
};

struct trial {  /* what one job is about */
    int mutant; /* -1: the control, variant "none" */
    int normal; /* on N(0,1) data, for the record */
};
struct trials {
    const struct job *jobs;
    const struct trial *trial;
    struct score *score;
    size_t control_failed, done, of;
};

/* The cases of a mutant, less those of another dialect than --dialect. 0, or an exit code. */
static int cases_of(const struct options *o, const struct mutant *m, struct cases *to)
{
    char why[1024] = "no legal case";
    struct cases all = { .n = 0 };
    if (suite_line(&all, m->cases, why, sizeof why) || all.n == 0)
        return usage_error("mutant %s: %s: %s", m->id, m->cases, why);
    for (size_t i = 0; i < all.n; i++) {
        const char *const dialect = kase_dialect(&all.at[i]);
        if (!o->dialect || (dialect && !strcmp(dialect, o->dialect)))
            cases_add(to, &all.at[i]);
    }
    cases_free(&all);
    return 0;
}

/* Did this result show the check that was foretold? */
static bool shows(json_t *result, const char *check)
{
    size_t i;
    json_t *f;
    if (!strcmp(check, "crash") || !strcmp(check, "timeout"))
        return !strcmp(outcome_of(result), check);
    json_array_foreach(json_object_get(result, "findings"), i, f) {
        char name[64];
        snprintf(name, sizeof name, "%s%s%s", text_of(f, "check"), text_of(f, "tensor")[0] ? ":" : "", text_of(f, "tensor"));
        if (!strcmp(name, check))
            return true;
    }
    return false;
}

static bool finished(void *user, const struct job *job, json_t *result)
{
    struct trials *const t = user;
    const struct trial trial = t->trial[job - t->jobs];
    out_progress(++t->done, t->of, result);
    if (job->kind) /* a lost cell has it too */
        json_object_set_new(result, "perturbation", json_string(job->kind));
    if (trial.mutant < 0) { /* the control must pass all of it */
        if (strcmp(outcome_of(result), "pass") && strcmp(outcome_of(result), "unsupported")) {
            t->control_failed++;
            json_object_set_new(result, "backend", json_string("mutants"));
            json_object_set_new(result, "kernel", json_string("none"));
            if (job->kind)
                determinism_line(stdout, result);
            else
                out_failure(stdout, result, false);
        }
        return true;
    }
    struct score *const s = &t->score[trial.mutant];
    if (trial.normal) {
        s->flagged += int_of(result, "unexplained");
        s->elements += int_of(result, "elements");
        return true;
    }
    s->cases++;
    if (shows(result, mutants[trial.mutant].check)) {
        if (!s->killed_by[0])
            snprintf(s->killed_by, sizeof s->killed_by, "%s", text_of(result, "case"));
    } else if (strcmp(outcome_of(result), "pass") && !s->other[0]) {
        json_t *const f = json_array_get(json_object_get(result, "findings"), 0);
        snprintf(s->other, sizeof s->other, "%s %s", f ? text_of(f, "check") : outcome_of(result), text_of(f, "tensor"));
    }
    return true;
}

static int kernel_index(json_t *hello, const char *op, const char *variant)
{
    size_t i;
    json_t *k;
    json_array_foreach(json_object_get(hello, "kernels"), i, k)
        if (!strcmp(text_of(k, "op"), op) && !strcmp(text_of(k, "variant"), variant))
            return (int) i;
    return -1;
}

static bool is_rare(const char *id)
{
    for (int i = 0; rare[i]; i++)
        if (!strcmp(rare[i], id))
            return true;
    return false;
}

static bool chosen(const struct options *o, const struct mutant *m)
{
    bool by_op = o->ops.n == 0, by_id = o->patterns.n == 0;
    for (int i = 0; i < o->ops.n; i++)
        by_op = by_op || !strcmp(o->ops.at[i], m->op);
    for (int i = 0; i < o->patterns.n; i++)
        by_id = by_id || strstr(m->id, o->patterns.at[i]);
    return by_op && by_id;
}

struct plan {
    struct job *jobs;
    struct trial *trial;
    size_t n, room;
};

static void plan_add(struct plan *p, int kernel, const struct kase *k, const char *kind, struct trial trial)
{
    if (p->n == p->room) {
        p->room = p->room ? 2 * p->room : 256;
        p->jobs = realloc(p->jobs, p->room * sizeof *p->jobs);
        p->trial = realloc(p->trial, p->room * sizeof *p->trial);
        if (!p->jobs || !p->trial)
            abort();
    }
    p->jobs[p->n] = (struct job) { kernel, *k, kind, NULL };
    p->trial[p->n++] = trial;
}

/* The perturbation or relation that "determinism:P" or "relation:R" names, or NULL. */
static const char *perturbation_of(const struct mutant *m)
{
    return strncmp(m->check, "determinism:", 12) && strncmp(m->check, "relation:", 9) ? NULL : strchr(m->check, ':') + 1;
}

/* The control under every perturbation and relation, on the cases that kill. */
static void plan_control(struct plan *p, json_t *hello, const struct cases *cases)
{
    for (size_t i = 0; i < cases->n; i++) {
        const int kernel = kernel_index(hello, cases->at[i].op->name, "none");
        for (const struct perturbation *each = perturbations; each->name && kernel >= 0; each++)
            plan_add(p, kernel, &cases->at[i], each->name, (struct trial) { -1, 0 });
        const struct perturbation *relation;
        for (int n = 0; (relation = relation_nth(cases->at[i].op, n)) != NULL && kernel >= 0; n++)
            plan_add(p, kernel, &cases->at[i], relation->name, (struct trial) { -1, 0 });
    }
}

static int plan_mutants(struct plan *p, const struct options *o, json_t *hello, int cuda)
{
    struct cases perturbed = { .n = 0 };
    for (int i = 0; i < MUTANTS; i++) {
        const struct mutant *const m = &mutants[i];
        struct cases cases = { .n = 0 };
        if (m->cuda != cuda || !chosen(o, m))
            continue;
        const int kernel = kernel_index(hello, m->op, m->id);
        if (kernel < 0)
            return usage_error("mutant %s: the plugin has no such kernel", m->id);
        if (cases_of(o, m, &cases))
            return EXIT_USAGE;
        for (size_t k = 0; k < cases.n; k++) {
            struct kase normal = cases.at[k];
            plan_add(p, kernel, &cases.at[k], perturbation_of(m), (struct trial) { i, 0 });
            if (perturbation_of(m)) {
                cases_add(&perturbed, &cases.at[k]);
                continue;
            }
            kase_set(&normal, "fill", "normal");
            kase_settle(&normal);
            if (kase_int(&normal, "bad") == 0)
                plan_add(p, kernel, &normal, NULL, (struct trial) { i, 1 });
        }
        cases_free(&cases);
    }
    plan_control(p, hello, &perturbed);
    cases_free(&perturbed);
    struct cases control = { .n = 0 };
    struct options all = { .dialect = o->dialect };
    if (options_cases(&all, "smoke", &control))
        return EXIT_USAGE;
    for (size_t k = 0; k < control.n; k++) {
        const int kernel = kernel_index(hello, control.at[k].op->name, "none");
        if (kernel >= 0)
            plan_add(p, kernel, &control.at[k], NULL, (struct trial) { -1, 0 });
    }
    cases_free(&control);
    return 0;
}

static void print_score(FILE *to, const struct mutant *m, const struct score *s)
{
    fprintf(to, "%-8s %-30s %-8s %-7s %-22s", s->killed_by[0] ? "killed" : "SURVIVED", m->id, m->clause, m->source, m->check);
    if (s->elements)
        fprintf(to, " %9.5f%%", 100 * (double) s->flagged / (double) s->elements);
    else
        fprintf(to, " %10s", "-");
    fprintf(to, "  %s", m->text);
    if (!s->killed_by[0])
        fprintf(to, "\n         cases %s (%zu)%s%s", m->cases, s->cases, s->other[0] ? "; something else failed: " : "",
                s->other);
    fprintf(to, "\n");
}

static json_t *score_json(const struct mutant *m, const struct score *s)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:f}", "id", m->id, "op", m->op, "clause", m->clause,
                     "source", m->source, "foretold", m->check, "case", s->killed_by, "text", m->text, "killed",
                     s->killed_by[0] != 0, "cuda", m->cuda, "flagged_of_normal",
                     s->elements ? (double) s->flagged / (double) s->elements : 0.0);
}

/* One plugin's mutants. Counts into *killed, *lived, *rare_seen; 0, or an exit code. */
static int try_plugin(const struct options *o, const char *backend, int cuda, json_t *rows, size_t count[4])
{
    char why[1024] = "";
    const int workers = cuda ? 1 : o->workers; /* spinning kernels share no device */
    const struct pool_options pool = { backend, NULL, workers, o->timeout_s, false };
    json_t *const hello = pool_hello(&pool, why, sizeof why);
    if (!hello)
        return usage_error("%s", why);
    if (text_of(hello, "device")[0]) {
        printf("SKIP    %s: %s\n", backend, text_of(hello, "device"));
        json_decref(hello);
        return 0;
    }
    struct plan plan = { NULL, NULL, 0, 0 };
    struct score *const score = calloc(MUTANTS, sizeof *score);
    int status = score ? plan_mutants(&plan, o, hello, cuda) : usage_error("out of memory");
    struct trials t = { plan.jobs, plan.trial, score, 0, 0, plan.n };
    if (!status && plan.n && pool_run(&pool, plan.jobs, plan.n, finished, &t, why, sizeof why))
        status = usage_error("%s", why);
    out_progress_end();
    for (int i = 0; i < MUTANTS && !status; i++) {
        if (mutants[i].cuda != cuda || !chosen(o, &mutants[i]) || !score[i].cases)
            continue;
        const bool rare_row = is_rare(mutants[i].id) && !perturbation_of(&mutants[i]);
        const bool killed = score[i].killed_by[0] != 0, few = score[i].elements && score[i].flagged * 1000 < score[i].elements;
        count[killed ? 0 : 1]++;
        count[2] += killed && rare_row && few;
        print_score(stdout, &mutants[i], &score[i]);
        if (killed && rare_row && !few) {
            printf("         was foretold to change less than 0.1 %% of N(0,1) data\n");
            count[1]++;
        }
        json_array_append_new(rows, score_json(&mutants[i], &score[i]));
    }
    if (t.control_failed)
        printf("the control, which is right, failed %zu cases\n", t.control_failed);
    count[1] += t.control_failed;
    count[3] += plan.n;
    free(score);
    free(plan.jobs);
    free(plan.trial);
    json_decref(hello);
    return status;
}

int command_selftest(int argc, char **argv)
{
    struct options o;
    int status = options_read(&o, argc, argv, "--backend -k -j --timeout --report -v --dialect");
    if (status || (status = options_json_only(&o, "selftest")))
        return status;
    if (o.timeout_s == 60)
        o.timeout_s = 10;
    size_t count[4] = { 0 };
    json_t *const rows = json_array();
    printf("%-8s %-30s %-8s %-7s %-22s %10s  %s\n", "verdict", "mutant", "clause", "source", "foretold", "of N(0,1)",
           "what is wrong");
    const bool all = o.backends.n == 0;
    for (int cuda = 0; cuda < 2 && !status; cuda++) {
        const char *const name = cuda ? "mutants-cuda" : "mutants";
        bool named = all;
        char path[4096];
        for (int i = 0; i < o.backends.n; i++)
            named = named || !strcmp(o.backends.at[i], name);
        if (named && (!all || !cuda || path_library(name, path, sizeof path)))
            status = try_plugin(&o, name, cuda, rows, count);
    }
    if (status)
        return status;
    printf("%zu mutants killed as foretold, %zu not; %zu of them change less than 0.1 %% of N(0,1) data; %zu cases\n", count[0],
           count[1], count[2], count[3]);
    for (size_t i = 0; o.verbose && i < sizeof equivalents / sizeof *equivalents; i++)
        printf("equivalent  %-34s %s\n", equivalents[i].id, equivalents[i].why);
    for (size_t i = 0; o.verbose && i < sizeof not_mutants / sizeof *not_mutants; i++)
        printf("no mutant   %-34s %s\n", not_mutants[i].id, not_mutants[i].why);
    printf("%zu equivalent and %zu impossible ones are not counted (-v lists them)\n", sizeof equivalents / sizeof *equivalents,
           sizeof not_mutants / sizeof *not_mutants);
    status = options_write_json(&o, rows);
    json_decref(rows);
    if (status)
        return status;
    return count[1] ? EXIT_MISMATCH : count[0] ? EXIT_PASS : EXIT_NOTHING;
}
