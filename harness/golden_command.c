/* SPDX-License-Identifier: Apache-2.0 */
/* golden gen: the oracle over exported inputs. golden check: the reference against what the oracle computed. */
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "golden.h"
#include "out.h"
#include "paths.h"
#include "worker.h"

/* ---- gen ---- */

static int run_oracle(const char *oracle, const char *in, const char *out, const char *path)
{
    extern char **environ;
    char *const argv[] = { (char *) "golden-oracle", (char *) in, (char *) out, NULL };
    pid_t pid;
    int status = posix_spawn(&pid, oracle, NULL, NULL, argv, environ);
    if (status)
        return usage_error("%s: cannot be run: %s", oracle, strerror(status));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return usage_error("%s: %s", oracle, strerror(errno));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : usage_error("%s: not made: golden-oracle failed", path);
}

/* DIR/<op>.h5, from inputs that live beside it for the moment: a file under its own name is whole. */
static int gen_op(const char *oracle, const struct op *op, const struct cases *all, const char *dir)
{
    char in[4096], filled[4096], path[4096], why[2048];
    struct cases cases = { .n = 0 };
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].op == op && kase_int(&all->at[i], "bad") == 0)
            cases_add(&cases, &all->at[i]);
    if (!cases.n)
        return 0;
    if (snprintf(path, sizeof path, "%s/%s.h5", dir, op->name) >= (int) sizeof path - 32)
        return usage_error("%s: too long a path", dir);
    snprintf(in, sizeof in, "%.4000s.%ld.in", path, (long) getpid());
    snprintf(filled, sizeof filled, "%.4000s.%ld.tmp", path, (long) getpid());
    int status = golden_export(in, &cases, why, sizeof why) ? usage_error("%s", why) : run_oracle(oracle, in, filled, path);
    if (!status && rename(filled, path))
        status = usage_error("%s: %s", path, strerror(errno));
    remove(in);
    if (status)
        remove(filled);
    else
        printf("wrote   %s: %zu cases\n", path, cases.n);
    cases_free(&cases);
    return status;
}

static int gen(int argc, char **argv)
{
    struct options o;
    struct cases cases = { .n = 0 };
    char oracle[4096];
    int status = options_read(&o, argc, argv, "--suite -k --case -o");
    if (status)
        return status;
    if (!o.output)
        return usage_error("golden gen: -o DIR is missing");
    if (!path_program("golden-oracle", oracle, sizeof oracle))
        return usage_error("golden-oracle: not beside the program (it is built where MPFR is found)");
    if (mkdir(o.output, 0777) && errno != EEXIST)
        return usage_error("%s: %s", o.output, strerror(errno));
    status = options_cases(&o, o.suite ? o.suite : "golden", &cases);
    for (int i = 0; !status && all_ops[i]; i++)
        status = gen_op(oracle, all_ops[i], &cases, o.output);
    if (!status && !cases.n)
        status = EXIT_NOTHING;
    cases_free(&cases);
    return status;
}

/* ---- check ---- */

struct sum {
    const struct options *o;
    const char *path;
    size_t cases, passed, failed, crashed, late;
    json_int_t elements, unspecified, unowned, intervals;
    double used; /* the largest part of the reference's radius that the oracle's hull takes */
    int status;
};

static bool checked(void *user, const struct job *job, json_t *r)
{
    struct sum *const to = user;
    const char *const outcome = outcome_of(r), *const id = text_of(r, "case"), *const msg = text_of(r, "msg");
    (void) job;
    to->passed += !strcmp(outcome, "pass");
    to->elements += int_of(r, "elements");
    to->unspecified += int_of(r, "unspecified");
    to->unowned += int_of(r, "unowned");
    to->intervals += int_of(r, "intervals");
    to->used = real_of(r, "used") > to->used ? real_of(r, "used") : to->used;
    if (!strcmp(outcome, "broken"))
        to->status = usage_error("%s", msg);
    else if (!strcmp(outcome, "fail")) {
        printf("FAIL    %s: %s; %lld differ\n", id, msg, (long long) int_of(r, "differ"));
        to->failed++;
    } else if (strcmp(outcome, "pass")) {
        const bool late = !strcmp(outcome, "timeout");
        printf("%s %s: %s: %s while it was read\n", late ? "TIMEOUT" : "CRASH  ", to->path, id, msg);
        late ? to->late++ : to->crashed++;
    }
    return true;
}

static int check_file(const char *path, struct sum *to)
{
    struct cases cases = { .n = 0 };
    to->path = path;
    int status = golden_cases(path, to->o, &cases);
    if (!status)
        status = golden_jobs(path, to->o, &cases, "check", checked, to);
    to->cases += cases.n;
    cases_free(&cases);
    to->status = status == EXIT_USAGE ? status : to->status;
    to->crashed += status == EXIT_CRASH;
    to->late += status == EXIT_INCOMPLETE;
    return status;
}

static int check(int argc, char **argv)
{
    struct options o;
    struct sum to = { .o = &o };
    int status = options_read(&o, argc, argv, "--timeout -v");
    if (status)
        return status;
    pool_catch_signals();
    for (int i = 0; i < o.ops.n; i++) /* words: operators, or files */
        if (strchr(o.ops.at[i], '/') || strchr(o.ops.at[i], '.'))
            check_file(o.ops.at[i], &to);
        else if (!op_find(o.ops.at[i]))
            return usage_error("'%s': no such operator, nor a file", o.ops.at[i]);
    for (int i = 0; all_ops[i]; i++) {
        char path[4096];
        const bool named = op_named(all_ops[i], o.ops.at, o.ops.n);
        if (named && !path_golden(all_ops[i]->name, path, sizeof path))
            to.status = usage_error("golden/%s.h5: not found", all_ops[i]->name);
        else if (named)
            check_file(path, &to);
    }
    printf("golden check: %zu of %zu cases agree with the reference, %lld elements bitwise (%lld unspecified)\n", to.passed,
           to.cases, (long long) to.elements, (long long) to.unspecified);
    printf("%lld bytes that no element owns are looked at; %lld intervals of y: the oracle's hull takes %.4f of the reference's "
           "radius at most\n",
           (long long) to.unowned, (long long) to.intervals, to.used);
    return pool_interrupted ? EXIT_INTERRUPTED
           : to.status      ? EXIT_USAGE
           : to.failed      ? EXIT_MISMATCH
           : to.crashed     ? EXIT_CRASH
           : to.late        ? EXIT_INCOMPLETE
           : to.elements    ? EXIT_PASS
                            : EXIT_NOTHING;
}

int command_golden(int argc, char **argv)
{
    if (argc > 0 && !strcmp(argv[0], "gen"))
        return gen(argc - 1, argv + 1);
    if (argc > 0 && !strcmp(argv[0], "check"))
        return check(argc - 1, argv + 1);
    return usage_error("golden: gen -o DIR, or check [OP..]");
}
