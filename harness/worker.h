/* SPDX-License-Identifier: Apache-2.0 */
/* Isolation: the program runs itself as a worker, one job a line on its standard input, one JSON result a line on the other side.
 *
 *   hello   {"plugin": "cpu", "kernels": [{"op", "variant", "dialect", "on_device"}...], "device": "" or why there is none,
 *           "device_info": {...}, "cases": ids of the golden file}
 *           or {"error": "..."}
 *   job     KERNEL_INDEX <tab> CASE_ID [<tab> KIND [<tab> FILE]]
 *           KIND: "" judged; a perturbation (harness/perturb.h) or a relation (harness/relations.h), FILE for the rows that differ;
 *           "hashes" or "codes" (baseline.c); of the golden file, without a kernel: "check" (golden check), "judge" (the outputs
 *           that the file has)
 *   result  {"case", "op", "kernel", "outcome", counts..., "findings": [...], "msg"}                                          */
#ifndef HARNESS_WORKER_H
#define HARNESS_WORKER_H

#include <jansson.h>
#include <stdbool.h>

#include "case.h"
#include "verdict.h"

enum { MAX_LINE = MAX_ID + 4096 }; /* of a job */
int worker_main(int argc, char **argv);
json_t *result_json(const struct call *c, const struct result *r);
struct golden;
void golden_judge(struct golden *g, const struct call *c, struct result *r); /* golden_job.c */
json_t *golden_check(struct golden *g, const struct call *c, const struct iv *y);

/* ---- the parent's side (pool.c) ---- */
struct job {
    int kernel;
    struct kase id;
    const char *kind, *file; /* NULL: judged */
};
enum { DEVICE_WORKERS = 1 };
struct pool_options {
    const char *backend, *golden; /* golden: file whose cases these are, or NULL */
    int workers;      /* of backends with device kernels, where not judged: at most DEVICE_WORKERS, which share the device */
    double timeout_s; /* per case */
    bool verbose;     /* let the kernels' own output through */
};
/* Called for every finished job with its result (borrowed); returns false to stop. */
typedef bool (*result_fn)(void *user, const struct job *job, json_t *result);
typedef void (*idle_fn)(void *user); /* now and then, for progress */

/* Loads the backend in a worker and returns its hello (new reference), or NULL and why. */
json_t *pool_hello(const struct pool_options *o, char *why, size_t size);
/* The same; *end: how a worker that gave none ended. */
enum pool_end { POOL_SAID_WHY, POOL_DIED, POOL_LATE };
json_t *pool_hello_end(const struct pool_options *o, enum pool_end *end, char *why, size_t size);
/* Runs jobs; every job gets exactly one result: a crash or a hang costs its own case. Returns 0, or -1 when workers cannot start. */
int pool_run(const struct pool_options *o, const struct job *jobs, size_t n, result_fn each, void *user, char *why, size_t size);
/* The cases of a file, and jobs of one kind on them in a worker that reads it (run_golden.c). 0, or an exit code: EXIT_CRASH or
 * EXIT_INCOMPLETE where the reader died or hung; what it is is said. */
struct options;
int golden_cases(const char *path, const struct options *o, struct cases *to);
int golden_jobs(const char *path, const struct options *o, const struct cases *cases, const char *kind, result_fn each,
                void *user);
extern volatile int pool_interrupted; /* set by a signal handler: stop after what is running */
void pool_catch_signals(void);

#endif
