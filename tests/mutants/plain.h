/* SPDX-License-Identifier: Apache-2.0 */
/* One plain, right, scalar f32 implementation of each operator, independent of ref/num: roundings in
 * integer bits, tree sums in f32, addresses written out. It calls ref/ for the preconditions only (ERR-1).
 *
 * struct plain_knobs moves it about within the freedom of the contract (tests/conforming); enum mutant makes it
 * wrong in one way (tests/mutants). A mutation is one line, `if (mut == MUT_...)`, where the mistake would be
 * made. */
#ifndef TESTS_MUTANTS_PLAIN_H
#define TESTS_MUTANTS_PLAIN_H

#include "../../ref/args.h"

enum mutant {
    MUT_none,
#define M(id, ...) MUT_##id,
#include "table.h"
    MUT_COUNT
};

/* What a conforming kernel may choose. All zero: nominal orders, a pairwise sum. */
struct plain_knobs {
    double s_end;         /* RMS-3: s this many times its admissible error above the exact one (-1..1 conforms) */
    double rstd_end;      /* RMS-4: rstd this many times 2^-22 above the real root (-1..1 conforms) */
    int order;            /* RMS-5: 0..PLAIN_ORDERS-1, which products are formed first. HAD-3: 0 stages from the lowest bit up,
                             1 down, 2 two at a time, 3 a tree for each element. QKV: % 3 the products of n, / 3 the
                             rotation: two products, or an FMA on either. LIN-1: 0 as k comes, 1 backwards, 2 pairs,
                             3 tensor cores, 4 those of compute capability 8.x, 5 64 lanes,
                             6 FMA, backwards */
    int lanes;            /* RMS-3: a power of two; strided partial sums joined by a tree. 0: one lane */
    bool fma;             /* RMS-3: a square is added unrounded. QKV-2: likewise the last product of n to its bias */
    bool mean_times;      /* RMS-3: the mean as sum * fl(1/d) */
    bool by_m;            /* DET-2, beyond: 1024 lanes below 4 rows, one lane above (R22) */
    bool sf_times;        /* CAST-3: amax * fl(1/448), with round_sf only */
    bool sf_times_always; /* the same without round_sf (beyond) */
    bool sf_log2f;        /* CAST-4: ceilf(log2f(sf)), with BF16-fed casts and round_sf only */
    bool sf_log2f_always; /* the same with F32 input (beyond) */
    int pad;              /* SF-3: 0 leaves padding rows alone, 1 fills them, 2 as many words again behind (beyond) */
    double edge; /* HAD-3, APPLY-1, LIN-1: the sum this many times its admissible error above the exact one (-1..1 conforms) */
    bool k8;     /* LIN-1: edge is of 1.4 K + 32; conforms where the kernel declares it */
    bool dense;  /* HAD-3: serial sums; conforms where the kernel declares it */
    bool minus_zero;      /* FMT-6: a zero sum is -0 */
    int nan;              /* CAST-7, FMT-1: 0 usual; 1 negative NaN, odd payload; 2 what is unspecified is all ones; 3 so is
                             the group after it (beyond). HAD-6: 1 likewise; 2 Infs */
    int p_ulp;            /* ROT-1: p_i so many ulps above the correctly rounded one (-1..1 conforms) */
    int cos_ulp, sin_ulp; /* ROT-3: likewise, before the product (-2..2 conforms) */
    int kv_fma;           /* APPLY-1: 0 both products rounded; 1, 2: the first, the second is not */
    double kv_turn;       /* APPLY-1: this many times its admissible error above the real value (-1..1 conforms) */
    bool leaves_out;      /* ERR-2: values in memory are not checked; a row that breaks a precondition is left out */
    bool checks_skipped;  /* KV-2, ERR-2: the position of a skipped token is checked too */
};
enum { PLAIN_ORDERS = 15 };

int plain_cast(const struct lc_call *call, const struct plain_knobs *k, enum mutant mut);
int plain_rmsnorm(const struct lc_call *call, const struct plain_knobs *k, enum mutant mut);
int plain_rope_table(const struct lc_call *call, const struct plain_knobs *k, enum mutant mut);
int plain_hadamard(const struct lc_call *call, const struct plain_knobs *k, enum mutant mut);
int plain_rope(const struct lc_call *call, const struct plain_knobs *k, enum mutant mut);
int plain_context_cast(const struct lc_call *call, const struct plain_knobs *k, enum mutant mut);
int plain_sf_layout(const struct lc_call *call, const struct plain_knobs *k, enum mutant mut);
int plain_qkv(const struct lc_call *call, const struct plain_knobs *k, enum mutant mut);
int plain_kv_store(const struct lc_call *call, const struct plain_knobs *k, enum mutant mut);
int plain_linear(const struct lc_call *call, const struct plain_knobs *k, enum mutant mut);

/* What is returned instead of `status` where a mutant does not look at its arguments in this form of the call (forms.c). */
int plain_form(const struct lc_call *call, enum mutant mut, int status);

/* ---- roundings (plain_num.c) ---- */
enum plain_rounding { PLAIN_RN, PLAIN_TRUNCATE, PLAIN_AWAY };
uint32_t plain_bits(float v);
float plain_float(uint32_t bits);
float plain_from_bf16(uint16_t code);
uint16_t plain_bf16(float v, enum plain_rounding how);       /* FMT-1 */
float plain_round(float v, int significant);                 /* RN to so many significant bits, 2..24 */
uint8_t plain_e4m3(float v, enum mutant mut);                /* FMT-2 */
uint8_t plain_e2m1(float v, bool deepgemm, enum mutant mut); /* FMT-4, CAST-9: a nibble */
int plain_ceil_exp(float sf, enum mutant mut);               /* CAST-4 */
float plain_pow2(int e);                                     /* 2^e, -126..127; 0 below, Inf above */

/* ---- operands ---- */
/* Offset of a row, in elements. */
int64_t plain_row(const struct lc_tensor *t, int64_t m, int64_t row, enum mutant mut);
/* DET-1, DET-2: what the order of a sum must not depend on. */
bool plain_other_order(enum mutant mut, const struct lc_tensor *x, int64_t m, int64_t d, int64_t row);
bool plain_one_of(enum mutant mut, const enum mutant *list, int n);

/* Refusal (ERR-1). status and call->msg as ref/ left them; returns what the kernel answers. */
int plain_refuse(const struct lc_call *call, int status, enum mutant mut);

/* ---- one row of a cast: CAST-1..9, SF-0..4, SF-6 (plain_cast.c) ---- */
struct plain_row {
    const struct sf_args *s;
    const struct plain_knobs *k;
    enum mutant mut;
    int64_t batch, m, d, row;
    float (*at)(const void *from, int64_t i); /* element i of the cast's input */
    const void *from;
    float post;   /* 1; a factor behind the scale is wrong (RMS-5) */
    bool bf16;    /* the input's values are BF16 */
    bool strided; /* the input's rows have gaps */
    uint8_t *out;
    const struct lc_tensor *sf, *extra_sf;
};
void plain_cast_row(const struct plain_row *r);
void plain_sf_done(const struct plain_row *last); /* SF-3 padding; after the last row, row = number of rows */

/* ---- where scales go (plain_sf.c) ---- */
void plain_sf_store(const struct plain_row *r, int64_t g, float sf, int e);
float plain_sf_load(const struct plain_row *r, int64_t g);

#endif
