/* SPDX-License-Identifier: Apache-2.0 */
/* golden-oracle: a second opinion on the contract, in MPFR. It fills the outputs of an exported inputs file.
 *
 * It shares no code and no method with the reference: real arithmetic is exact, each rounding the contract
 * names is one call on the exact real, and codes are found by search. Slow and short on purpose.
 *
 *   - main.c: walks the cases; h5.c: the file format "layercheck-1"; data.c: the same in memory
 *   - num.c: FMT, formats and roundings; cast.c: CAST and SF; rmsnorm.c, hull.c: RMS; rope_table.c: ROT, YARN; hadamard.c: HAD;
 *     rope.c: APPLY; context_cast.c: KV-7; sf_layout.c: SF; qkv.c: QKV; kv_stages.c, kv_store.c: KV; linear.c: LIN
 */
#ifndef GOLDEN_ORACLE_H
#define GOLDEN_ORACLE_H

#include <mpfr.h>
#include <stddef.h>
#include <stdint.h>

/* Why something was refused: one line, without the newline. */
struct why {
    char text[400];
};

/* Writes the line and returns -1. */
int refuse(struct why *why, const char *form, ...) __attribute__((format(printf, 2, 3)));

/* ---- num.c: FMT ---- */

enum type { TYPE_BF16, TYPE_F32, TYPE_E4M3, TYPE_E2M1, TYPE_UE8M0, TYPE_I32, TYPE_I64, TYPE_F64, TYPE_COUNT };

size_t type_size(enum type type);      /* bytes of an element; TYPE_E2M1's is a pair of codes */
const char *type_name(enum type type); /* the attribute `dtype` */

/* Bits of a real that hold every sum of BF16 squares and any sum or product of two f32. */
#define REAL_BITS 1024

/* Round the real v once to BF16, F32 or F64; MPFR_RNDN is ties to even. Overflow gives Inf (FMT-1, FMT-5). */
double num_round(enum type type, mpfr_srcptr v, mpfr_rnd_t rnd);

/* One rounding to nearest even of the exact result. Operands of f32 range, or products of a few such. */
double num_narrow(enum type type, double v);
double num_add(enum type type, double a, double b);
double num_mul(enum type type, double a, double b);
double num_div(enum type type, double a, double b);
double num_rsqrt(enum type type, double a); /* 1/sqrt(a), a > 0 */

/* a/b, rounded to odd: it rounds like the exact quotient, in every direction, to any format. */
void num_quotient(mpfr_ptr out, mpfr_srcptr a, mpfr_srcptr b);

/* Storage is little-endian bytes. The value loaded is exact. A value stored must be one of the format's; a
 * NaN is stored as 0x7fc0, 0x7fc00000, 0x7ff8000000000000. BF16, F32, F64 (store only). */
double num_load(enum type type, const unsigned char *at);
void num_store(enum type type, unsigned char *at, double v);

unsigned num_e4m3(double v);               /* the E4M3 code of v, FMT-2 */
unsigned num_e2m1(double v, int deepgemm); /* the E2M1 code of a finite v, FMT-4, or as CAST-9 has it */

/* ---- h5.c: the file ---- */

enum kind { KIND_INTEGER, KIND_REAL, KIND_TEXT };

struct attribute {
    char *name;
    enum kind kind;
    int64_t i;
    double f;
    char *text;
};

struct attributes {
    struct attribute *item;
    size_t count;
};

/* A dataset: raw storage, and the view that the call sees. bare: y.v, y.lo, y.hi, which have no view. */
struct tensor {
    char *name;
    enum type type;
    int bare, is_out, rank, store_rank;
    int64_t shape[3], stride[3], store[3];
    size_t count; /* elements of storage */
    unsigned char *data;
};

struct test_case {
    char *id;
    struct attributes about;
    struct tensor *tensor;
    size_t count;
};

struct golden {
    struct attributes about;
    struct test_case *item;
    size_t count;
};

int golden_read(struct golden *golden, const char *path, struct why *why);

/* Leaves no file on failure. */
int golden_write(const struct golden *golden, const char *path, struct why *why);

/* ---- data.c: the same in memory ---- */

/* One more, all zero, at the end. It moves the others. */
struct attribute *attribute_add(struct attributes *about);
struct tensor *tensor_add(struct test_case *c);
struct test_case *case_add(struct golden *golden);
void golden_free(struct golden *golden);

/* Adds or replaces a string. */
void attribute_text(struct attributes *about, const char *name, const char *text);

/* Adds a bare F64 tensor of zeros. */
struct tensor *tensor_bare(struct test_case *c, const char *name, int64_t rows, int64_t columns);

char *copy_text(const char *text);
void *need(void *memory); /* memory, or the end of the program with status 3 when there is none */

/* An attribute of that name and kind, a count within [least, most]; a tensor of that direction. */
const char *find_text(const struct attributes *about, const char *name, struct why *why);
int find_count(const struct test_case *c, const char *name, int64_t least, int64_t most, int64_t *out, struct why *why);
int find_choice(const struct test_case *c, const char *name, int64_t most, int64_t *out, struct why *why); /* absent: 0 */
int find_real(const struct test_case *c, const char *name, double *out, struct why *why);
struct tensor *find_tensor(const struct test_case *c, const char *name, int is_out, struct why *why);

/* Storage element of view element (b, m, j), leading indices left out where the rank is lower; its value. */
size_t view_at(const struct tensor *t, int64_t b, int64_t m, int64_t j);
double view_load(const struct tensor *t, int64_t b, int64_t m, int64_t j);
void view_store(const struct tensor *t, int64_t b, int64_t m, int64_t j, double v);

/* Nonzero if dims, of that rank, are (B, M, N) with leading ones left out or put in. */
int dims_are(const int64_t *dims, int rank, int64_t b, int64_t m, int64_t n);

/* x as (B, M, d); last stride 1 (CAST-10, RMS-8). */
struct extent {
    int64_t b, m, d;
};
int view_extent(const struct tensor *x, struct extent *e, struct why *why);
int same_view_shape(const struct tensor *t, const struct tensor *x, struct why *why);

/* ---- cast.c: CAST, SF ---- */

/* The attribute `dialect`: CAST-9 and RMS-13, in their order; absent is 0. */
enum { DEEPGEMM = 1, SF_FLOOR, F32_NAN, CAST_DIALECTS };
enum { HF = 1, F32RES, GEMMA, F32CAST, RMS_DIALECTS };

struct cast {
    struct extent e;
    int64_t group, groups, block_m;
    int round_sf, col, packed, e2m1, ragged, dialect; /* ragged: SF-6, 1 pack, 2 free */
    struct tensor *codes, *sf, *extra_sf;             /* extra_sf: NULL when it is off */
};

/* Reads the cast's scalars and outputs `out`, `sf`, `extra_sf`, and clears them. */
int cast_bind(struct cast *cast, const struct test_case *c, const struct tensor *x, struct why *why);
void cast_row(const struct cast *cast, int64_t b, int64_t m, const double *x); /* d values, exact in f32 */

/* ---- hull.c: RMS-5 ---- */

/* One f32 number and the range that its clause leaves to an implementation. */
struct freedom {
    double nominal, least, most;
};

/* The factors of RMS-5: r, rstd, w, out_scale. A set of them is a mask. */
enum { FACTORS = 4, FACTOR_SETS = 1 << FACTORS };

/* For every set of factors: the least and the largest magnitude of their product, each product rounded once,
 * and what underflow may add or take away. */
struct hull {
    mpfr_t least[FACTOR_SETS], most[FACTOR_SETS], lost[FACTOR_SETS];
};

void hull_init(struct hull *h);
void hull_clear(struct hull *h);

/* The magnitudes of an f32 product of non-zero factors, at most three roundings, in any order: [lo, hi], rounded outward. */
void hull_of(struct hull *h, double r, struct freedom rstd, double w, double out_scale, double *lo, double *hi);

/* ---- rope.c: APPLY ---- */

struct rotation {
    int64_t n, heads, d, rotary_dim, offset, rows; /* of query, or of context */
    int64_t interleaved, conjugate;
    int narrow; /* the table is BF16: products are exact */
    int at_end; /* the last of a head rotates, and conjugate is given (KV-7) */
    const struct tensor *table, *positions;
    struct tensor *y_v, *y_lo, *y_hi;
};

/* One element: exact, rounded once, and the hull of f32 arithmetic. */
struct rotated {
    double v, lo, hi; /* 0 where the exact one is Inf */
    double bf16, f32;
    int judged; /* else all is 0 */
};

/* Reads the call around the tensor of that name, adds y. */
int rotation_open(struct rotation *p, struct test_case *c, const char *name, struct why *why);
struct rotated rotation_element(const struct rotation *p, const struct tensor *in, int64_t token, int64_t head, int64_t i);
void rotation_put_y(const struct rotation *p, int64_t token, int64_t column, const struct rotated *r);
/* ---- rmsnorm.c: RMS-3, RMS-4 ---- */

struct freedom rms_mean_square(mpfr_srcptr sum, int64_t width, double eps); /* of the exact sum of squares */
struct freedom rms_inverse_root(struct freedom s, double eps);

/* ---- operators ---- */

int oracle_cast(struct test_case *c, struct why *why);
int oracle_rmsnorm(struct test_case *c, struct why *why);
int oracle_rope_table(struct test_case *c, struct why *why);
int oracle_hadamard(struct test_case *c, struct why *why);
int oracle_rope(struct test_case *c, struct why *why);
int oracle_context_cast(struct test_case *c, struct why *why);
int oracle_sf_layout(struct test_case *c, struct why *why);
int oracle_qkv(struct test_case *c, struct why *why);
int oracle_kv_store(struct test_case *c, struct why *why);
int oracle_linear(struct test_case *c, struct why *why);

#endif
