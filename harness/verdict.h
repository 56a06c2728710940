/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel on one case: arena, run under two poisons, judge every element. */
#ifndef HARNESS_VERDICT_H
#define HARNESS_VERDICT_H

#include "op.h"

/* ---- arena (arena.c) ---- */
enum { POISON_A = 0xff, POISON_B = 0x7b }; /* NaN everywhere, though fmax swallows it | a large finite number */

/* Builds the call of a settled case and its inputs. given: an input's storage by name from a file, or NULL to use the
 * case's fill. Returns 0, or -1 with c->msg. call_close frees. */
typedef int (*given_fn)(void *user, const char *tensor, void *storage, size_t bytes);
void call_plan(struct call *c, const struct kase *k); /* slots, scalars and layout alone: no memory */
int call_open(struct call *c, const struct kase *k, given_fn given, void *user);
void call_close(struct call *c);
bool call_has_lost(const struct call *c); /* a row breaks a precondition on values: a checked build refuses the call (ERR-2) */
void call_poison(struct call *c, uint8_t poison); /* every byte of image that holds no input */
bool call_is_sparse(const struct call *c);        /* a storage is so large that its rows alone have memory */
/* A block laid out as the arena, all zero, with memory for the call's windows and fences around; NULL: there is none. */
uint8_t *arena_new(const struct call *c);
void arena_free(uint8_t *arena); /* NULL too */
void arena_copy(const struct call *c, uint8_t *to, const uint8_t *from);
/* The call over an arena at `base` (host or device address); tensors is room for MAX_TENSORS. */
void call_bind(const struct call *c, const void *base, struct lc_tensor *tensors, struct lc_call *to);

/* ---- refusals (bad.c) ---- */
bool bad_in_memory(const struct bad *bad);                 /* a value in memory: the call as such is legal (ERR-2) */
bool bad_says_why(const char *msg, const struct bad *bad); /* "argument: ... value ... (CLAUSE)" (ERR-1) */
bool bad_says_some(const char *msg);                       /* "WORD: ... (CLAUSE)", of any */

/* ---- windows (window.c), for call_open: 0, or -1 ---- */
enum { GUARD = 1024 };                           /* bytes before and behind each storage */
int windows_whole(struct call *c);               /* of what is not sparse */
int windows_rows(struct call *c);                /* adds the rows of what is; needs c->args */
int arena_show(const struct call *c, uint8_t *); /* gives memory to windows that came later */

/* ---- backends (backend.c) ---- */
struct backend;
struct backend *backend_open(const char *name, char *why, size_t size); /* "ref" "cpu" "cuda" "plugin:./mine.so" */
void backend_close(struct backend *b);
const struct lc_plugin *backend_plugin(const struct backend *b);
/* A copy of image on the side of the kernel's tensors, run, and the arena as it was left. Returns the kernel's status; -1: the
 * environment failed; -2: the kernel took the device down. msg says how. */
enum { NO_STATUS = 100 }; /* the kernel returned what is no enum lc_status */
int backend_run(struct backend *b, const struct lc_kernel *k, struct call *c, uint8_t *after, char *msg, size_t size);

/* ---- verdict (verdict.c) ---- */
enum check { CHECK_VALUE, CHECK_KEEP, CHECK_POISON, CHECK_REFUSAL, CHECK_STATUS, CHECKS };
extern const char *const check_names[CHECKS]; /* "value" "keep" "poison" "refusal" "status" */

struct finding { /* the first of its kind, and how many there are */
    int64_t count;
    int slot; /* -1: no tensor */
    int64_t row, col;
    enum lc_dtype fmt;
    uint32_t got, want; /* codes */
    struct iv iv;
    int64_t ulp;     /* positions between got and RN(v), in the order of codes */
    char words[256]; /* what was wrong, where no code says it */
};

enum outcome { PASS, FAIL, UNSUPPORTED, CRASH, TIMEOUT, BROKEN /* environment */, VACUOUS, OUTCOMES };
extern const char *const outcome_names[OUTCOMES];

enum { HISTOGRAM = 9 }; /* -4..4 ulp, the ends open */
struct tally {          /* per tensor */
    int64_t exact, explained, unexplained, unspecified;
    int64_t zero, saturated; /* of the nominal codes */
    int64_t ulps[HISTOGRAM]; /* got - RN(v) */
    double bias;             /* sum of the same */
    double slack;            /* the most that an explained code used of what was allowed, 0..1 */
};

struct result {
    enum outcome outcome;
    struct finding found[CHECKS + MAX_TENSORS]; /* by check; of CHECK_VALUE one per tensor, at CHECKS + slot */
    struct tally tally[MAX_TENSORS];
    int64_t elements, ambiguous, two_scale, changed; /* changed: codes that differ from nominal */
    uint32_t claims;                                 /* of the kernel (HAD-3) */
    double ms;
    char msg[512];
};

/* given_y: rows * d intervals from a golden, or NULL. */
void judge_call(struct backend *b, const struct lc_kernel *k, struct call *c, const struct iv *given_y, struct result *r);
/* Judges storages that something else wrote (call.image holds the inputs, `after` the outputs): no KEEP, no poison. result.claims
 * is set before. */
void judge_values(const struct call *c, const uint8_t *after, const struct iv *given_y, struct result *r);
void result_settle(const struct call *c, struct result *r); /* outcome from findings and vacuity */

#endif
