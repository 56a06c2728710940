/* SPDX-License-Identifier: Apache-2.0 */
/* The parent's side: workers with deadlines. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "paths.h"
#include "worker.h"

volatile int pool_interrupted;

struct worker {
    pid_t pid; /* 0: none */
    int to, from;
    char *line;
    size_t n, room;
    bool greeted;
    const struct job *job; /* what it works on */
    double deadline;
};

static void interrupted(int signal)
{
    (void) signal;
    pool_interrupted = 1;
}

void pool_catch_signals(void)
{
    signal(SIGINT, interrupted);
    signal(SIGTERM, interrupted);
    signal(SIGPIPE, SIG_IGN); /* a reader of the output that has gone costs no report */
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

static int start(struct worker *w, const struct pool_options *o)
{
    int down[2], up[2];
    if (pipe(down))
        return -1;
    if (pipe(up)) {
        close(down[0]);
        close(down[1]);
        return -1;
    }
    for (int i = 0; i < 2; i++) {
        fcntl(down[i], F_SETFD, FD_CLOEXEC);
        fcntl(up[i], F_SETFD, FD_CLOEXEC);
    }
    const pid_t pid = fork();
    if (pid == 0) { /* nothing but exec: CUDA and fork do not mix */
        dup2(down[0], 0);
        dup2(up[1], 1);
        setpgid(0, 0);                    /* Ctrl-C is the parent's to handle */
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* and a worker that hangs does not outlive it */
        const char *argv[] = { "layercheck", "worker", "--backend", o->backend, NULL, NULL, NULL, NULL };
        int n = 4;
        if (o->golden) {
            argv[n++] = "--golden";
            argv[n++] = o->golden;
        }
        if (o->verbose)
            argv[n++] = "--verbose";
        char threads[24];
        const long cores = sysconf(_SC_NPROCESSORS_ONLN);
        snprintf(threads, sizeof threads, "%ld", cores / o->workers > 1 ? cores / o->workers : 1);
        setenv("OMP_NUM_THREADS", threads, 0);
        execv(path_self(), (char *const *) argv);
        _exit(127);
    }
    close(down[0]);
    close(up[1]);
    if (pid < 0) {
        close(down[1]);
        close(up[0]);
        return -1;
    }
    *w = (struct worker) {
        .pid = pid, .to = down[1], .from = up[0], .deadline = now() + o->timeout_s + (strcmp(o->backend, "ref") ? 30 : 0)
    }; /* for a device's start */
    return 0;
}

/* Ends a worker; says how it ended. */
static void stop(struct worker *w, bool kill_it, char *how, size_t size)
{
    int status = 0;
    close(w->to);
    close(w->from);
    free(w->line);
    if (kill_it)
        kill(-w->pid, SIGKILL); /* what it may have started too */
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (how && WIFSIGNALED(status))
        snprintf(how, size, "killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (how)
        snprintf(how, size, "the process ended with exit status %d in the middle of the case", WEXITSTATUS(status));
    memset(w, 0, sizeof *w);
}

/* The next whole line, or NULL; *eof when the other side is gone. */
static char *read_line(struct worker *w, bool *eof)
{
    for (;;) {
        char *const end = w->n ? memchr(w->line, '\n', w->n) : NULL;
        if (end) {
            *end = 0;
            char *const copy = malloc((size_t) (end - w->line) + 1);
            if (copy)
                memcpy(copy, w->line, (size_t) (end - w->line) + 1);
            w->n -= (size_t) (end - w->line) + 1;
            memmove(w->line, end + 1, w->n);
            return copy;
        }
        struct pollfd ready = { w->from, POLLIN, 0 };
        if (poll(&ready, 1, 0) <= 0)
            return NULL;
        if (w->n + 65536 > w->room) {
            char *const more = realloc(w->line, w->n + 131072);
            if (!more)
                return NULL;
            w->line = more;
            w->room = w->n + 131072;
        }
        const ssize_t got = read(w->from, w->line + w->n, 65536);
        if (got <= 0) {
            *eof = true;
            return NULL;
        }
        w->n += (size_t) got;
    }
}

json_t *pool_hello_end(const struct pool_options *o, enum pool_end *end, char *why, size_t size)
{
    struct worker w;
    json_t *hello = NULL;
    bool eof = false;
    char how[256] = "";
    *end = POOL_SAID_WHY;
    if (start(&w, o)) {
        snprintf(why, size, "a worker cannot be started: %s", strerror(errno));
        return NULL;
    }
    while (!hello && !eof && now() < w.deadline && !pool_interrupted) {
        struct pollfd ready = { w.from, POLLIN, 0 };
        poll(&ready, 1, 200);
        char *const line = read_line(&w, &eof);
        if (line)
            hello = json_loads(line, 0, NULL);
        free(line);
    }
    const bool late = !hello && !eof;
    stop(&w, late, how, sizeof how);
    const char *const error = hello ? json_string_value(json_object_get(hello, "error")) : NULL;
    if (error && (o->golden || !strncmp(error, "backend ", 8)))
        snprintf(why, size, "%s", error);
    else if (error)
        snprintf(why, size, "backend %s: %s", o->backend, error);
    else if (!hello && o->golden)
        snprintf(why, size, "%s: the process that read it: %s", o->golden, late ? "no answer; it was killed" : how);
    else if (!hello)
        snprintf(why, size, "backend %s: %s", o->backend, late ? "does not answer while it is loaded" : how);
    if (!hello)
        *end = late ? POOL_LATE : POOL_DIED;
    if (error) {
        json_decref(hello);
        return NULL;
    }
    return hello;
}

json_t *pool_hello(const struct pool_options *o, char *why, size_t size)
{
    enum pool_end end;
    return pool_hello_end(o, &end, why, size);
}

static json_t *lost(const struct job *job, const char *outcome, const char *how)
{
    char id[MAX_ID];
    kase_print(&job->id, id, sizeof id);
    return json_pack("{s:s, s:s, s:s, s:s, s:[]}", "case", id, "op", job->id.op->name, "outcome", outcome, "msg", how,
                     "findings");
}

static bool give(struct worker *w, const struct job *job, double timeout_s)
{
    char line[MAX_LINE];
    char id[MAX_ID];
    kase_print(&job->id, id, sizeof id);
    const int n = snprintf(line, sizeof line, "%d\t%s%s%s%s%s\n", job->kernel, id, job->kind ? "\t" : "",
                           job->kind ? job->kind : "", job->file ? "\t" : "", job->file ? job->file : "");
    w->job = job;
    w->deadline = now() + timeout_s;
    return write(w->to, line, (size_t) n) == n;
}

int pool_run(const struct pool_options *o, const struct job *jobs, size_t n, result_fn each, void *user, char *why, size_t size)
{
    enum { MOST = 64 };
    struct worker w[MOST];
    memset(w, 0, sizeof w);
    const int workers = o->workers < 1 ? 1 : o->workers > MOST ? MOST : o->workers;
    size_t next = 0, done = 0;
    bool go_on = true;
    int deaths_idle = 0;
    signal(SIGPIPE, SIG_IGN);
    while (go_on && done < n && !pool_interrupted) {
        struct pollfd ready[MOST];
        for (int i = 0; i < workers; i++) {
            if (!w[i].pid && next < n && start(&w[i], o)) {
                snprintf(why, size, "a worker cannot be started: %s", strerror(errno));
                go_on = false;
            }
            ready[i] = (struct pollfd) { w[i].pid ? w[i].from : -1, POLLIN, 0 };
        }
        poll(ready, (nfds_t) workers, 100);
        for (int i = 0; i < workers && go_on; i++) {
            if (!w[i].pid)
                continue;
            bool eof = false;
            char *const line = read_line(&w[i], &eof);
            json_t *result = line ? json_loads(line, 0, NULL) : NULL;
            free(line);
            const struct job *const job = w[i].job;
            if (line && !w[i].greeted) {
                w[i].greeted = true;
                json_decref(result);
                result = NULL;
            }
            const bool late = now() > w[i].deadline && (job || !w[i].greeted);
            if (!result && (eof || late)) {
                char how[256];
                snprintf(how, sizeof how, "no result after %g s", o->timeout_s);
                stop(&w[i], late, late ? NULL : how, sizeof how);
                if (job)
                    result = lost(job, late ? "timeout" : "crash", how);
                else if (++deaths_idle > 8) { /* it dies before it gets work */
                    snprintf(why, size, "backend %s: workers do not start: %s", o->backend, how);
                    go_on = false;
                }
            }
            if (result && job) {
                w[i].job = NULL;
                done++;
                go_on = each(user, job, result) && go_on;
                const char *const outcome = json_string_value(json_object_get(result, "outcome"));
                if (w[i].pid && outcome && !strcmp(outcome, "crash"))
                    stop(&w[i], true, NULL, 0); /* it said so itself, the device is lost to it: no job more */
            }
            json_decref(result);
            if (w[i].pid && w[i].greeted && !w[i].job && next < n && !give(&w[i], &jobs[next++], o->timeout_s))
                continue; /* it is gone: the next read says how */
        }
    }
    for (int i = 0; i < workers; i++)
        if (w[i].pid)
            stop(&w[i], done < n, NULL, 0);
    return why[0] ? -1 : 0;
}
