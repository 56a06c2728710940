/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptor of an operator: one `const struct op` in harness/ops/<op>.c, which help, sweep, arena, verdict, goldens and
 * docs read. */
#ifndef HARNESS_OP_H
#define HARNESS_OP_H

#include <stdio.h>

#include "../ref/ops.h"

enum {
    MAX_OPS = 16,
    MAX_AXES = 32,
    MAX_TENSORS = REF_MAX_TENSORS,
    MAX_SCALARS = 24,
    MAX_VALUES = 128,
    MAX_ID = 640,
    MAX_BOUNDS = 8
};

/* ---- cases ---- */
enum axis_kind {
    AXIS_INT,  /* any integer; `values` lists those that suites sweep */
    AXIS_REAL, /* any f32 */
    AXIS_NAME  /* one of `values`; the axis holds its index */
};
struct axis {
    const char *name, *help, *values; /* "17|0|1|4096", first = default */
    enum axis_kind kind;
    int alone; /* 1: not swept in pairs (seed, bad) */
};

struct kase { /* a case: one value per axis of op */
    const struct op *op;
    int64_t i[MAX_AXES];
    double f[MAX_AXES]; /* AXIS_REAL */
};

/* ---- the call that a case stands for ---- */
enum dir { DIR_IN, DIR_OUT };
/* Per arena byte: must not change (guards, gaps) | input, likewise | judged | free | judged, and holds an input (HAD-4). */
enum owner { KEEP, INPUT, OWNED, PAD, INOUT };

enum { NULL_POINTER = -1, WILD_POINTER = -2 /* nothing is mapped there (RMS-11) */ };

struct slot {           /* one tensor of a call; storage lies in the arena */
    struct lc_tensor t; /* as the kernel gets it; t.data is set when the arena is bound */
    enum lc_dtype fmt;  /* of one judged element: LC_UE8M0 for packed scales, LC_E2M1X2 for one 4-bit code, else t.dtype */
    enum dir dir;
    int on;      /* takes part in the call */
    int listed;  /* handed to the kernel; listed && !on: a switched-off operand with a pointer in its place (RMS-11) */
    int same_as; /* >= 0: the same storage as that slot (RMS-2, RMS-7, HAD-4) */
    int implied; /* not handed to the kernel, which knows it as same_as: an output left out is in place, or has a part in
                    another fmt (APPLY-3, LIN-2) */
    int storage_rank;
    int64_t storage[3];   /* dims of the storage in elements of t.dtype, row-major; its size for HDF5 and the arena */
    int64_t shift;        /* bytes behind same_as's start */
    int64_t miss;         /* bytes by which the base misses a 128-byte boundary, or one of the pointers above */
    size_t offset, bytes; /* in the arena, set by arena_layout */
};

struct window { /* bytes of an arena, in whole pages */
    size_t begin, end;
};

struct call {
    struct kase id;
    const struct op *op;
    uint64_t seed;
    struct slot slot[MAX_TENSORS]; /* indices are the operator's: CAST_X, RMS_OUT.. */
    struct lc_scalar scalar[MAX_SCALARS];
    int n_scalars;
    union op_args args; /* as op->check read them; tensors are those of `view` */
    struct lc_tensor
        view[MAX_TENSORS];   /* the listed tensors, data in `image`: what ref/ reads, never what a kernel could write */
    struct lc_call pristine; /* the call over `view` */
    int bad;                 /* index into op->bads when the case is a refusal, else -1 */
    uint8_t *image;          /* pristine arena: poison, inputs */
    uint8_t *own;            /* enum owner per byte */
    size_t arena_size;
    struct window *window; /* what of the arena there is memory for, and is compared: all, but in a sparse call (window.c) */
    int n_windows;
    char msg[512];
};

/* ---- the descriptor ---- */
enum { MAY_BE_ZERO = 1, MAY_BE_SATURATED = 2 }; /* what a fill's outputs may mostly be, for the vacuity alarm */
struct tensor_desc {
    const char *name, *shape, *dtype, *when, *help; /* when: "res=1" */
    enum dir dir;
};
struct bound {
    const char *tensor, *clause, *why, *script; /* why: the derivation in a sentence; script: tests/bounds/<op>.g or NULL */
    double k;            /* radius = k * 2^-24 * m + underflow; 0: bitwise; -n: n neighbours, either side */
    const char *dialect; /* NULL: the usual one, and any that has no row of its own */
};
struct fill {
    const char *name, *help;
    void (*make)(struct call *c); /* writes every input through put(); NULL: there is none */
    unsigned may_be;
};
struct bad { /* a violated precondition; one row of the refusal table */
    /* What the message must name (ERR-1). Where two rules are broken, either: "weight|out", "LIN-10|LIN-3", "33|32". */
    const char *name, *argument, *clause, *value;
    /* Changes tensors or scalars of a good call. Of clause ERR-2: values in its image, which the fill has made. */
    void (*spoil)(struct call *c);
};

/* bad=x-null/no-norm is x-null where the good call is of the form no-norm: a kernel may look at its arguments in some forms
 * alone. Where a form has no such argument, or refuses it for another reason, there is no such case. */
struct form {
    const char *name, *axes; /* "norm=0 out=bf16" */
};

struct perturbation;
struct op {
    const char *name, *summary, *source, *clauses; /* clauses: "RMS-1..12 SF-0..4" */
    struct axis axes[MAX_AXES];
    struct tensor_desc tensors[MAX_TENSORS];
    struct bound bounds[MAX_BOUNDS];
    struct fill fills[24];  /* the axis `fill` names one */
    int may_refuse_bases;   /* a kernel may refuse bases that miss 16 bytes (RMS-8) */
    const struct bad *bads; /* the axis `bad` names one, or "-"; ends at name == NULL */

    const struct form *forms; /* of the good call that a bad spoils, beside the usual one; NULL: none; ends at name == NULL */

    /* Makes the case legal by setting axes that do not apply back to their default; returns why it had to, or NULL. */
    const char *(*settle)(struct kase *k);
    /* Slots and scalars of a settled case. */
    void (*build)(struct call *c);
    int (*check)(const struct lc_call *call, union op_args *args);           /* ref_X_check */
    const struct lc_tensor *const *(*tensors_of)(const union op_args *args); /* by index; NULL: takes no part */
    int64_t (*rows)(const union op_args *args);                              /* units of judging: rows, tokens */
    int64_t (*cols)(const union op_args *args, int tensor);                  /* judged elements of one row; inputs too */
    /* Byte of element (row, col) from the tensor's data pointer; < 0: the row owns nothing there. Two E2M1 codes share one:
     * an even col has its low nibble, an odd one the high (FMT-4). */
    int64_t (*place)(const union op_args *args, int tensor, int64_t row, int64_t col);
    void (*ref)(const union op_args *args, int64_t row, const struct ref_got *got, struct ref_want *want);
    size_t (*work)(const union op_args *args); /* bytes of ref_want.work; NULL: none */
    unsigned copies;                           /* bit i: tensor i is judged as patterns of 16 bits (FMT_BITS16) */

    /* ERR-2, preconditions on values in memory. NULL: there are none. check_values refuses a call with a row that breaks one;
     * `lost`: does this row? A kernel may refuse the call then, or leave anything in that row's outputs. */
    int (*check_values)(const struct lc_call *call, const union op_args *args);
    int (*lost)(const union op_args *args, int64_t row);

    /* Not NULL: the k of bounds is the largest of a function of the call and of the kernel's claims, which these words say. */
    const char *k_words;
    double (*k_of)(const union op_args *args, uint32_t claims);

    /* SF-5: writes the inputs of a refusal into the image, over the poison; NULL: there are none. Returns what the tensor `error`
     * holds when a device kernel, which cannot look at values before it answers, says LC_OK; 0: it must refuse. */
    int64_t (*bad_values)(struct call *c);

    double (*flops)(const union op_args *args); /* of a product: 2 M N K, for bench; NULL: it is none */

    const struct perturbation *relations; /* harness/ops/<op>_relations.c; NULL: but those of every operator */
    int y_tensor;                         /* the tensor whose columns y has; 0 where nothing is said */
    int (*heavy)(const struct kase *k);   /* not NULL, and it says 1: too long a case for pairs to take */
    int det2_reported;                    /* DET-2 is reported, and required only of a kernel that claims LC_BATCH_INVARIANT */
};

/* The slot's bytes are another output's and so no own dataset of a file (RMS-7); an output in an input's place has one (HAD-4). */
int call_is_copy(const struct call *c, int slot);
/* So are its elements: the same judged codes once more, not other bytes of one storage (KV-3). */
int call_is_repeat(const struct call *c, int slot);

/* The tensor as op->check read it; NULL: takes no part. */
const struct lc_tensor *op_tensor(const struct op *op, const union op_args *args, int tensor);
extern const struct op *const all_ops[]; /* ends at NULL; made from op_names in meson.build */
const struct op *op_find(const char *name);
bool op_named(const struct op *op, const char *const *names, int n); /* one of them; none names every operator */

/* ---- the values of the axis `bad` (harness/bad.c) ---- */
int bad_index(const struct op *op, int64_t value);                   /* into op->bads; -1: none */
const struct form *bad_form(const struct op *op, int64_t value);     /* NULL: the usual one */
int64_t bad_value(const struct op *op, int index, const char *form); /* 0: no such form */

/* ---- access for descriptors (harness/call.c) ---- */
int axis_of(const struct op *op, const char *name);       /* index, or -1 */
int64_t kase_int(const struct kase *k, const char *axis); /* value; an assertion fails when there is no such axis */
double kase_real(const struct kase *k, const char *axis);
const char *kase_name(const struct kase *k, const char *axis);
int kase_is(const struct kase *k, const char *axis, const char *value);
int kase_set(struct kase *k, const char *axis, const char *value); /* 0, or -1 when the value is not one */
int kase_rank(const struct kase *k);                               /* what the axis "rank" says */
/* For settle(): puts an axis that a case has no use for to its one legal value. Why the first such axis had to go: `why`, if it is
 * something already, else `reason` if this one was not there. */
const char *kase_drop(struct kase *k, const char *axis, const char *value, const char *reason, const char *why);

/* A tensor of the call: dims and strides in elements, rank <= 3 (leading dimension first); storage = dims of its storage. */
void call_tensor(struct call *c, int slot, const char *name, enum lc_dtype dtype, enum dir dir, int rank, const int64_t *shape,
                 const int64_t *stride, int storage_rank, const int64_t *storage);
/* Rows of `cols` elements in a view of shape ([[B,] M,] cols), the leading ones as rank has them. Rows lie cols + row_extra apart,
 * batches M rows + batch_extra; interleaved: a row of each batch in turn, no batch_extra. */
struct rows_view {
    int rank;
    int64_t batch, m, cols, row_extra, batch_extra;
    bool interleaved;
};
void call_rows(struct call *c, int slot, const char *name, enum lc_dtype dtype, enum dir dir, struct rows_view v);
void call_scalar(struct call *c, const char *name, int64_t i, double f);
void call_set_scalar(struct call *c, const char *name, int64_t i, double f); /* changes one; for bads */
void put(struct call *c, int slot, int64_t row, int64_t col, double v);      /* RN(v) into the image */
void put_int(struct call *c, int slot, int64_t row, int64_t col,
             int64_t v);                                              /* whole, where put() has 32 bits; int32 has the low ones */
double get(const struct call *c, int slot, int64_t row, int64_t col); /* from the image */

/* Random123's Philox4x32-10, keyed by (seed, tensor), counted by index: the same bits under any filter, order, host. */
uint32_t draw_bits(const struct call *c, int slot, int64_t index);
double draw_uniform(const struct call *c, int slot, int64_t index); /* [0, 1), 2^-32 steps */
double draw_normal(const struct call *c, int slot, int64_t index);  /* mean 0, variance 1: the sum of 8 uniforms, no libm */

double draw_log(const struct call *c, int slot, int64_t index, int lo, int hi); /* any sign, exponent lo..hi-1, uniform */

/* The code of an element of column col, in memory at the byte that place() gives; any alignment. */
uint32_t code_at(enum lc_dtype f, const uint8_t *p, int64_t col);
void code_to(enum lc_dtype f, uint8_t *p, int64_t col, uint32_t code); /* a byte's other nibble stays */

/* The dialect of a case, as a kernel states it: NULL is the usual one, also where the operator has no axis `dialect`. */
const char *kase_dialect(const struct kase *k);
/* The bound that a tensor of this case is judged by; NULL where the descriptor has none. */
const struct bound *bound_of(const struct kase *k, const char *tensor);

#endif
