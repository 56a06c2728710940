/* SPDX-License-Identifier: Apache-2.0 */
/* Determinism (DET-1, DET-2, DET-3): a kernel's call is run again under a perturbation that may change no bit, and its output
 * codes are compared row by row with those of the base call. */
#ifndef HARNESS_PERTURB_H
#define HARNESS_PERTURB_H

#include <jansson.h>

#include "seat.h"

enum { SAVED_ROWS = 16 };

/* What a perturbed call's rows are: the base call's row whose inputs it has, or a foreign row, one value everywhere. */
enum foreign { ROW_NAN = -1, ROW_INF = -2, ROW_HUGE = -3, ROW_ZERO = -4, FOREIGN = 4 };

struct difference {
    int64_t runs, rows, elements;       /* compared */
    int64_t skipped;                    /* calls that the kernel does not support, or refuses where it may (RMS-8) */
    int64_t bad_rows, bad_elements;     /* differ */
    int slot;                           /* of the first that differs */
    int64_t row, col, base_row, m;      /* its place in a call of m rows, and whose row of the base call it is */
    uint32_t got, want;                 /* codes */
    int fmt;                            /* theirs + 1; 0: the slot's */
    char where[128];                    /* the perturbation in words: "M=3, rows 254.. of the base" */
    int64_t saved[SAVED_ROWS], n_saved; /* rows of the base call that differ */
};

struct attempt {
    struct backend *backend;
    const struct lc_kernel *kernel;
    const struct call *base;
    uint8_t *want; /* the base run's arena */
    uint8_t *got;  /* of a perturbed run of the base call itself */
    struct difference d;
    int64_t beyond;   /* of a relation: elements that differ more than it allows */
    const char *none; /* why the perturbation does not apply here, or NULL */
    int may_refuse;   /* a refusal of a legal call is the contract's choice (RMS-8, base addresses) */
    char msg[512];    /* why a run failed */
    uint8_t *saved;   /* with a file to write: SAVED_ROWS rows of a perturbed run, at their places in the base call */
};

struct perturbation {
    const char *name, *clause, *text;
    int (*run)(struct attempt *t); /* 0, LC_BAD_ARG.. as a kernel returned it, -1 environment, -2 device lost; t->msg */
};
extern const struct perturbation perturbations[]; /* ends at name == NULL; harness/perturb.c */
const struct perturbation *perturbation_find(const char *name);

/* ---- calls made of the base call's rows (rows.c) ---- */
/* Opens the call of a case, with the inputs of row r from row from[r] of `of`, or foreign. 0, or -1 with c->msg. */
int rows_open(struct call *c, const struct kase *k, const struct call *of, const int64_t *from);
/* Adds to t->d what differs between output codes: rows `from` of the base call as `want` has them, and those of c in `got`. */
void rows_compare(struct attempt *t, const uint8_t *want, const struct call *c, const uint8_t *got, const int64_t *from);
bool rows_are_tokens(const struct call *c); /* each has inputs of its own, so that they can change places */
/* Changes axes of a case ("M=3 rank=2"); false when it is not legal or would change another axis too. */
bool rows_axes(struct kase *k, const char *changes);
/* Opens, runs and compares; words go to d.where. 0, also where the kernel does not support it; else as a perturbation. */
int rows_try(struct attempt *t, const struct kase *k, const int64_t *from, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 4, 5)))
#endif
    ;
/* Output codes of rows from[i] of `of`, as `arena` holds them, as rows i of c in `to`. */
void rows_store(const struct call *c, uint8_t *to, const struct call *of, const uint8_t *arena, const int64_t *from, int64_t n);
int64_t *rows_same(const struct attempt *t); /* 0, 1, 2..: the base call's rows; the caller frees it */
int attempt_run(struct attempt *t, const struct lc_kernel *k, const struct call *c, uint8_t *after); /* in a seat of its own */
int attempt_failed(struct attempt *t, struct seat *s, int status); /* closes the seat; takes over its words */
/* A call with the base call's axes and other data, and its outputs; close and free both. */
int attempt_other(struct attempt *t, int seed, struct call *c, uint8_t **after);

/* ---- perturbations of a device (perturb_device.c) ---- */
int perturb_stream(struct attempt *t);
int perturb_busy(struct attempt *t);
int perturb_graph(struct attempt *t);
int perturb_occupied(struct attempt *t);

/* One job of a worker: the result as JSON; *lost: the device is gone. save: file for the rows that differ, or NULL. */
json_t *perturb_job(struct backend *b, const struct lc_kernel *k, const struct call *base, const struct perturbation *p,
                    const char *save, bool *lost);

#endif
