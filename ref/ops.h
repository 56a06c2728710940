/* SPDX-License-Identifier: Apache-2.0 */
/* Every operator's face: arguments as checked, and the reference of one row.
 *
 *   ref_X_check  reads a struct lc_call into the operator's arguments and checks every precondition (ERR-1). Our own kernels
 *                call it too, so that all refuse alike. No memory behind a tensor is touched (but for ERR-2, on the host).
 *   ref_X_row    computes one row (token): for every output element the nominal value and the hull of what is admissible.
 */
#ifndef REF_OPS_H
#define REF_OPS_H

#include "iv.h"
#include "layercheck.h"

enum { REF_MAX_TENSORS = 12 };

/* One row as a kernel left it: code[tensor][col]; NULL where there is none (goldens are made without a kernel). */
struct ref_got {
    const uint32_t *code[REF_MAX_TENSORS];
};

/* One row as it should be. The caller provides at[t] and free[t], cols long, for the outputs of the call; and y, d long. */
struct ref_want {
    struct iv *at[REF_MAX_TENSORS];
    uint8_t *free[REF_MAX_TENSORS]; /* 1: unspecified, not judged */
    struct iv *y;                   /* the value before the output rounding; scratch, kept for goldens */
    const struct iv *given_y;       /* not NULL: an oracle's y stands for the reference's own */
    void *work;                     /* ref_X_work bytes, where an operator has that function; zero before the first row */
    uint32_t claims;                /* enum lc_claim of the kernel that is judged; 0: none */
    int64_t ambiguous;              /* internal roundings that could go two ways: counted for the vacuity alarm */
    int64_t two_scale;              /* groups with two legal scales: likewise */
    uint8_t *carry;                 /* a byte a column, 0 before row 0; rows then come in order (ROT-1 without inv_freq) */
};

/* CAST-9, in the order of the axis `dialect` and of the scalar of that name. */
enum cast_dialect { CAST_USUAL, CAST_DEEPGEMM, CAST_SF_FLOOR, CAST_F32_NAN, CAST_DIALECTS };

/* SF-6: what becomes of bytes of groups >= d_s in a packed word: there are none | owned, 0 | not judged. */
enum sf_ragged { RAGGED_NO, RAGGED_PACK, RAGGED_FREE, RAGGED_KINDS };

/* Scale factors, SF-0: (col, packed) = (0,0) SF-1, (0,1) SF-2, (1,1) SF-3, (1,0) col-f32; block_m > 0: with SF-4 beside. And
 * what the codes are. All zero but group and groups: E4M3, the contract's own cast. */
struct sf_args {
    int64_t group, groups; /* channels per scale, scales per row (d_s) */
    bool round, col, packed;
    bool e2m1;       /* codes are E2M1, else E4M3 */
    int64_t block_m; /* SF-4 (utccp); 0: none */
    enum sf_ragged ragged;
    enum cast_dialect dialect;
};

enum { CAST_X, CAST_OUT, CAST_SF, CAST_EXTRA_SF, CAST_TENSORS };
struct cast_args {
    int64_t batch, m, d; /* x is (batch, m, d); absent dimensions count 1 */
    const struct lc_tensor *t[CAST_TENSORS];
    struct sf_args sf;
};

enum { RMS_X, RMS_RESIDUAL, RMS_WEIGHT, RMS_OUT, RMS_BF16, RMS_RESIDUAL_OUT, RMS_SF, RMS_EXTRA_SF, RMS_TENSORS };

/* RMS-13, in the order of the axis `dialect` and of the scalar of that name. */
enum rmsnorm_dialect { RMS_USUAL, RMS_HF, RMS_F32RES, RMS_GEMMA, RMS_F32CAST, RMS_DIALECTS };

struct rmsnorm_args {
    enum rmsnorm_dialect dialect;
    int64_t batch, m, d;
    const struct lc_tensor *t[RMS_TENSORS]; /* NULL where switched off (RMS-11) */
    bool cast;                              /* out is E4M3 with scales */
    double eps, out_scale;                  /* f32 values */
    struct sf_args sf;
};

/* Radius of y's hull over u|v|, u = 2^-24. Against the real number y is within 15.5u: RMS-3 gives 8u on s and half of that on
 * y, the root of fl(s + eps) 0.5u, RMS-4 4u, three f32 products 3u, and the second order; the nominal v has an s and an rstd
 * rounded to f32, which adds up to 2u. Proved by tests/bounds/rmsnorm.g. */
#define REF_RMSNORM_K 18.0

/* The same of r * rstd, which dialect hf rounds to BF16 before the weight (RMS-13): one f32 product in place of three. Proved
 * by tests/bounds/rmsnorm_hf.g. What follows the rounding is w * n: exact where w is BF16, else one f32 product. */
#define REF_RMSNORM_HF_K 16.0

enum { ROT_INV_FREQ, ROT_TABLE, ROT_TENSORS };

enum rope_scaling { ROPE_NONE, ROPE_LINEAR, ROPE_NTK, ROPE_YARN };
enum { REF_ROPE_MOST = 512, REF_ROPE_CANDIDATES = 3 }; /* frequencies; p_i itself, one ulp below, one above (ROT-1) */
struct rope_table_args {
    int64_t rows, n, rotary_dim;
    const struct lc_tensor *t[ROT_TENSORS]; /* inv_freq: NULL when it is not asked for */
    enum rope_scaling scaling;
    double base, factor, extrapolation_factor; /* f32 values; base: fl(base') with ntk (ROT-7) */
    double low, high;                          /* YARN-1, doubles */
    double mscale;                             /* YARN-4, an f32 value; 1 without yarn */
    int64_t first, every;                      /* YARN-5: frequency k is that of pair first + k * every */
    float inv_freq[REF_ROPE_CANDIDATES][REF_ROPE_MOST];
};

/* cos and sin are f32 values within so many ulps of the correctly rounded ones, before the product with mscale (ROT-3). */
enum { REF_ROPE_ULPS = 2 };

enum { HAD_X, HAD_OUT, HAD_TENSORS };
struct hadamard_args {
    int64_t batch, m, n;
    const struct lc_tensor *t[HAD_TENSORS];
    double scale; /* an f32 value */
};

/* HAD-3: radius of y's hull over u|scale| sum|x_i|, u = 2^-24. A term passes log2 n additions and the product with scale, so it
 * is off by (1 + u)^(log2 n + 1) - 1 at most (tests/bounds/hadamard.g); the last u is room for that power. */
#define REF_HADAMARD_K(log2_n) ((log2_n) + 2.0)
/* A serial sum's term passes n roundings; on tensor cores it is 10.5u per 16 terms, and a step's worth at the ends (LIN-1). */
#define REF_HADAMARD_DENSE_K(n) ((n) + 16.0)

enum { SFL_IN, SFL_OUT, SFL_ERROR, SFL_TENSORS };
struct sf_layout_args {
    int64_t batch, m;                       /* rows of sf_out; with weight, m = N */
    const struct lc_tensor *t[SFL_TENSORS]; /* error: NULL where no value can be refused */
    struct sf_args from, to;                /* block_m > 0: SF-4 itself; groups is d_s in both */
    bool weight;                            /* SF-5: sf_in has a row for 32 */
};

enum { LIN_X, LIN_X_SF, LIN_WEIGHT, LIN_WEIGHT_SF, LIN_BIAS, LIN_OUT_ACC, LIN_OUT, LIN_TENSORS };

/* LIN-2, LIN-9, in the order of the axis `dialect` and of the scalar of that name. */
enum linear_dialect { LIN_USUAL, LIN_REDUCE_ADD, LIN_BIAS_FUSED, LIN_DIALECTS };

struct linear_args {
    int64_t m, n, k;                        /* m: rows of x, flattened (LIN-4) */
    const struct lc_tensor *t[LIN_TENSORS]; /* NULL where not given; t[LIN_OUT] is the one that is written, as `out` */
    const struct lc_tensor *out;            /* given, or out_acc itself (LIN-2) */
    bool in_place;                          /* out is out_acc's own view */
    enum linear_dialect dialect;
    bool fp8;          /* weights of one byte, with scales (LIN-6) */
    bool cast_x;       /* fp8 with BF16 x: cast first (LIN-5) */
    bool ragged;       /* LIN-7 */
    int64_t x_stride;  /* elements between flattened rows of x */
    struct sf_args sf; /* fp8: SF-3, groups of 32, of x as of the weight; what x is cast by */
};

/* LIN-1: radius of acc's hull over u(sum|a||b| + |out_acc|), u = 2^-24. Adds in any order need K; tensor cores 10.5u in 16 terms
 * (BF16) or 18.5u in 32 (fp8), so no more than K; 32 is for what a sum has at its ends: a split's last adds, out_acc. */
#define REF_LINEAR_K(k) ((double) (k) + 32)
/* The same of a kernel that declares LC_K8_CORES: cores of 24 fraction bits whose steps are 8 terms. */
#define REF_LINEAR_K8_K(k) (1.4 * (double) (k) + 32)

/* APPLY-1: radius of a rotated element's hull over u(|a c| + |b s|), without the factor 1 + 2^-20 for the second order: two
 * products and a sum; the sum alone where the products are exact. */
#define REF_ROPE_K 2.0
#define REF_ROPE_EXACT_K 1.0

/* query_rest, key_rest: what of query_out and key_out does not rotate, copied bit by bit; no tensors of the call. */
enum {
    ROPE_QUERY,
    ROPE_KEY,
    ROPE_TABLE,
    ROPE_POSITIONS,
    ROPE_QUERY_OUT,
    ROPE_KEY_OUT,
    ROPE_QUERY_REST,
    ROPE_KEY_REST,
    ROPE_TENSORS
};
struct rope_args {
    int64_t n, heads[2], d;           /* query (n, heads[0], d), key (n, heads[1], d); heads[1] = 0: no key */
    int64_t rows, rotary_dim, offset; /* of each head, [offset, offset + rotary_dim) rotates */
    bool in_place[2];                 /* query_out is query itself; key_out is key itself */
    bool interleaved, conjugate;
    const struct lc_tensor *t[ROPE_TENSORS]; /* in place an out is the in; NULL: takes no part */
};

/* In the order that lets rope's part stand for query alone: context is its query, table and positions are its own. */
enum { CTX_CONTEXT, CTX_OUT, CTX_TABLE, CTX_POSITIONS, CTX_BF16, CTX_SF, CTX_EXTRA_SF, CTX_TENSORS };
struct context_cast_args {
    struct rope_args rope; /* n, heads[0], d, rows, rotary_dim, offset, interleaved, conjugate; t: what of it is an input */
    const struct lc_tensor *t[CTX_TENSORS]; /* NULL where switched off (RMS-11) */
    bool f32;                               /* dialect f32: no rounding between (KV-7) */
    struct sf_args sf;                      /* of the (n, heads * d) matrix */
};

enum { QKV_X, QKV_W_Q, QKV_W_K, QKV_B_Q, QKV_B_K, QKV_TABLE, QKV_POSITIONS, QKV_Q, QKV_K, QKV_V, QKV_TENSORS };

/* QKV-3, QKV-4, in the order of the axis `dialect` and of the scalar of that name. */
enum qkv_dialect { QKV_USUAL, QKV_BF16ROT, QKV_SIMT, QKV_UNFUSED_BIAS, QKV_DIALECTS };

struct qkv_args {
    enum qkv_dialect dialect;
    int64_t tokens, heads_q, heads_kv, head_dim, rope_dim, table_rows;
    const struct lc_tensor *t[QKV_TENSORS]; /* b_q, b_k: NULL without a bias */
    double eps;                             /* an f32 value */
};

/* QKV-2: radius of n's hull before its rounding, over u|x rstd w|, u = 2^-24: RMS-3 gives 8u, fl(s + eps) 0.5u, RMS-4 4u, two f32
 * products 2u, the sum with the bias 1u, and the nominal s and rstd, which are rounded to f32, 2u. Over u|bias| it is 1, the
 * sum's own rounding. Proved by tests/bounds/qkv.g. ref_rms_y has the same 18, with a third product for the sum. */
#define REF_QKV_K 18.0

enum { KV_X, KV_WEIGHT, KV_TABLE, KV_POSITIONS, KV_SLOTS, KV_POOL, KV_SCALES, KV_OUT, KV_SF, KV_TENSORS };
struct kv_bytes { /* of (slot, head): base + slot / page_size * page + slot % page_size * row + head * this one's stride */
    int64_t base, page, row, head;
};
struct kv_store_args {
    int64_t n, heads, d;                   /* x is (n, heads, d); d = head_dim */
    const struct lc_tensor *t[KV_TENSORS]; /* NULL where switched off; KV_SCALES: the pool once more */
    bool norm, rope, hadamard, cast, store;
    bool per_head;    /* KV-5: scales of n batches of `heads` rows */
    bool bf16_stages; /* KV-1: stage=bf16 */
    double eps;       /* an f32 value */
    int64_t rotary_dim, offset;
    bool interleaved, conjugate;
    double scale; /* of the transform; an f32 value */
    int64_t pages, page_size;
    struct kv_bytes codes, scales; /* KV-3, in bytes from the pool's start */
    struct sf_args sf;             /* of the cast; KV-5's layout of scales */
};

union op_args {
    struct cast_args cast;
    struct rmsnorm_args rmsnorm;
    struct rope_table_args rope_table;
    struct hadamard_args hadamard;
    struct rope_args rope;
    struct context_cast_args context_cast; /* rope is its first part */
    struct sf_layout_args sf_layout;
    struct qkv_args qkv;
    struct kv_store_args kv_store;
    struct linear_args linear;
};

/* RMS-3, RMS-4 of one row, RMS-5 of one element (ref/rmsnorm.c); shared by the fused operators. */
struct ref_rms {
    double rstd;
    double slack; /* RMS-3's absolute term, relative to s + eps */
    bool judged;  /* RMS-12 */
};
struct ref_rms ref_rms_statistics(int64_t d, const struct iv *r, double eps); /* r: d points; eps: a positive f32 */
/* v = r * rstd * w * scale, and what a conforming kernel may hold before the store. */
struct iv ref_rms_y(double r, struct ref_rms row, double w, double scale);
/* Can an f32 product of some of these magnitudes overflow although others bring it back? No order is ruled out, so such an
 * element is not judged. */
bool ref_rms_may_overflow(double r, double rstd, double w, double scale);
/* RMS-10, of a loader: w[i] = RN_w(exp(w_log[i])), vectors of one length, each BF16 or F32; w may be w_log. Returns that length; or
 * the index of the first w_log that has no finite w, and then nothing is written (ERR-2: loading steps check). */
int64_t ref_rms_exp_weight(const struct lc_tensor *w_log, const struct lc_tensor *w);

/* APPLY-1, APPLY-2 (ref/rope.c): rotates `pairs` pairs of x in place, x being the `2 * pairs` elements of one head that rotate.
 * Values before the store. cos and sin: the table's row, `pairs` each, of a format whose products with x are exact when
 * exact_products (a BF16 table and BF16 x). free, if given: per element, 1 where it is not judged (an f32 product overflows). */
struct ref_rotation {
    int64_t pairs;
    bool interleaved, conjugate, exact_products;
};
void ref_rope_rotate(const struct ref_rotation *how, const double *cos, const double *sin, struct iv *x, uint8_t *free);

int ref_cast_check(const struct lc_call *call, union op_args *out);
void ref_cast_row(const union op_args *args, int64_t row, const struct ref_got *got, struct ref_want *want);
int ref_rmsnorm_check(const struct lc_call *call, union op_args *out);
void ref_rmsnorm_row(const union op_args *args, int64_t row, const struct ref_got *got, struct ref_want *want);
int ref_rope_table_check(const struct lc_call *call, union op_args *out);
void ref_rope_table_row(const union op_args *args, int64_t row, const struct ref_got *got, struct ref_want *want);
/* The first half of the check, which looks at scalars alone: n = len(inv_freq), and so the shapes of the tensors. */
int ref_rope_table_plan(const struct lc_call *call, union op_args *out);
int ref_hadamard_check(const struct lc_call *call, union op_args *out);
size_t ref_hadamard_work(const union op_args *args);
double ref_hadamard_k(const union op_args *args, uint32_t claims); /* HAD-3 */
void ref_hadamard_row(const union op_args *args, int64_t row, const struct ref_got *got, struct ref_want *want);
int ref_sf_layout_check(const struct lc_call *call, union op_args *out);
/* SF-5: refuses the first value of sf_in, in host memory, that is no normal power of two, where f32 is packed. */
int ref_sf_layout_values(const struct lc_call *call, const union op_args *args);
void ref_sf_layout_row(const union op_args *args, int64_t row, const struct ref_got *got, struct ref_want *want);
/* Bytes of group g of row `row` (b * M + i) from the data pointers; groups from d_s on are those of SF-6's last word. */
int64_t sf_layout_in_place(const struct sf_layout_args *a, int64_t row, int64_t g);
int64_t sf_layout_out_place(const struct sf_layout_args *a, int64_t row, int64_t g);

int ref_rope_check(const struct lc_call *call, union op_args *out);
double ref_rope_k(const union op_args *args, uint32_t claims);                    /* APPLY-1 */
int64_t ref_rope_position(const union op_args *args, int64_t token);              /* reads positions */
int ref_rope_check_values(const struct lc_call *call, const union op_args *args); /* ERR-2: reads positions */
int ref_rope_lost(const union op_args *args, int64_t token); /* ERR-2: is its position none of the table's? */
size_t ref_rope_work(const union op_args *args);
void ref_rope_row(const union op_args *args, int64_t row, const struct ref_got *got, struct ref_want *want);

/* The part of the check that looks at table, rotary_dim and offset (APPLY-5), and at positions (APPLY-4): a->n and a->d are set,
 * a->t[ROPE_TABLE], a->t[ROPE_POSITIONS] too. at_end: the rotating part is the last of a head, else
 * where the scalar offset says. Sets rows, rotary_dim, offset. */
int ref_rope_check_table(const struct lc_call *call, struct rope_args *a, bool at_end);
void ref_rope_load_table(const struct rope_args *a, int64_t position, double *row); /* cosines, then sines */

int ref_context_cast_check(const struct lc_call *call, union op_args *out);
size_t ref_context_cast_work(const union op_args *args);
void ref_context_cast_row(const union op_args *args, int64_t row, const struct ref_got *got, struct ref_want *want);

int ref_qkv_check(const struct lc_call *call, union op_args *out);
int ref_qkv_check_values(const struct lc_call *call, const union op_args *args); /* ERR-2: reads positions */
int ref_qkv_lost(const union op_args *args, int64_t token);                      /* ERR-2: is its position none of the table's? */
size_t ref_qkv_work(const union op_args *args);
void ref_qkv_row(const union op_args *args, int64_t row, const struct ref_got *got, struct ref_want *want);

int ref_kv_store_check(const struct lc_call *call, union op_args *out);
/* ERR-2: positions and slots in memory, which the check above does not touch. LC_OK, LC_BAD_ARG, or LC_FAILED: out of memory. */
int ref_kv_store_check_values(const struct lc_call *call, const union op_args *args);
/* ERR-2: is its position none of the table's, its slot past the pool, or another token's too? */
int ref_kv_store_lost(const union op_args *args, int64_t token);
int ref_kv_check_pool(const struct lc_call *call, const struct kv_store_args *a); /* KV-2, KV-3 (ref/kv_pool.c) */
size_t ref_kv_store_work(const union op_args *args);
/* One token. */
void ref_kv_store_row(const union op_args *args, int64_t row, const struct ref_got *got, struct ref_want *want);
/* The byte of column col (head * width + i) of a token in KV_POOL, KV_SCALES, KV_OUT or KV_SF; < 0: the token owns none. */
int64_t ref_kv_place(const struct kv_store_args *a, int tensor, int64_t token, int64_t col);

int ref_linear_check(const struct lc_call *call, union op_args *out);
size_t ref_linear_work(const union op_args *args);
double ref_linear_k(const union op_args *args, uint32_t claims); /* LIN-1 */
void ref_linear_row(const union op_args *args, int64_t row, const struct ref_got *got, struct ref_want *want);
/* LIN-3, LIN-4 as functions of a view alone (ref/linear_check.c): stride(-2) in multiples of 32 bytes; leading dimensions that are
 * one, of m rows row_stride elements apart (a view of one dimension is one row); the bytes of a physical row of n elements. */
bool ref_linear_aligned(const struct lc_tensor *out);
bool ref_linear_flatten(const struct lc_tensor *t, int64_t *m, int64_t *row_stride);
int64_t ref_linear_row_bytes(int64_t n, int itemsize);

/* CAST-1..9 on one row of intervals (ref/cast.c): codes q and scales from the values x; shared by the fused operators. sf and
 * sf_free hold sf_cols(s) entries. got_sf: the row's scales as a kernel returned them, or NULL. */
void ref_cast_groups(const struct sf_args *s, enum lc_dtype x_fmt, int64_t d, const struct iv *x, const uint32_t *got_sf,
                     struct iv *q, uint8_t *q_free, struct iv *sf, uint8_t *sf_free, struct ref_want *count);

#endif
