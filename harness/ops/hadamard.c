/* SPDX-License-Identifier: Apache-2.0 */
/* hadamard: the fast transform along the last dimension (docs/contract.md HAD). */
#include <math.h>

#include "../../ref/args.h"
#include "../case.h"
#include "../relations.h"
#include "../scales.h"

enum { MOST_N = 32768 };

static const char *settle(struct kase *k)
{
    static const char *const counts[] = { "M", "B", "xs", "os", "bs", NULL };
    const char *why = NULL;
    const int64_t n = kase_int(k, "n");
    if (!kase_is(k, "bad", "-")) {
        struct kase plain;
        kase_default(&plain, k->op);
        plain.i[axis_of(k->op, "bad")] = kase_int(k, "bad");
        kase_set(&plain, "M", "3");
        kase_set(&plain, "given", "1");
        kase_set(&plain, "os", "16");
        *k = plain;
        return "bad stands alone: one good call, spoiled";
    }
    if (n < 2 || n > MOST_N || (n & (n - 1)))
        why = kase_drop(k, "n", "128", "n is a power of two, 2 to 32768 (HAD-1)", why);
    for (int i = 0; counts[i]; i++)
        if (kase_int(k, counts[i]) < 0)
            why = kase_drop(k, counts[i], i == 0 ? "17" : i == 1 ? "2" : "0", "M, B, xs, os and bs are not negative", why);
    if (kase_rank(k) < 3) {
        why = kase_drop(k, "B", "2", "B needs rank=3", why);
        why = kase_drop(k, "bs", "0", "bs needs rank=3", why);
    }
    if (kase_rank(k) == 1) {
        why = kase_drop(k, "M", "1", "rank=1 is one row: M=1, xs=0, os=0", why);
        why = kase_drop(k, "xs", "0", "rank=1 is one row: M=1, xs=0, os=0", why);
        why = kase_drop(k, "os", "0", "rank=1 is one row: M=1, xs=0, os=0", why);
    }
    if (kase_int(k, "inplace"))
        why = kase_drop(k, "os", "0", "inplace=1: out is x's own view", why);
    if (!isfinite(kase_real(k, "scale")))
        why = kase_drop(k, "scale", "1", "scale is finite (HAD-6)", why);
    if (kase_is(k, "fill", "ties")) {
        why = kase_drop(k, "given", "1", "fill=ties needs given=1, scale=1", why);
        why = kase_drop(k, "scale", "1", "fill=ties needs given=1, scale=1", why);
    }
    if (!kase_int(k, "given"))
        why = kase_drop(k, "scale", "1", "scale needs given=1", why);
    if (kase_real(k, "scale") == 0)
        why = kase_drop(k, "fill", "zero-rows", "scale=0 makes every y zero: fill=zero-rows", why);
    return why;
}

static void rows_tensor(struct call *c, int slot, const char *name, enum dir dir, int64_t extra, int64_t between)
{
    const struct kase *const k = &c->id;
    const struct rows_view v = { kase_rank(k), kase_int(k, "B"), kase_int(k, "M"), kase_int(k, "n"), extra, between, false };
    call_rows(c, slot, name, kase_is(k, "x", "f32") ? LC_F32 : LC_BF16, dir, v);
}

static void build(struct call *c)
{
    const struct kase *const k = &c->id;
    const int inplace = kase_int(k, "inplace") != 0;
    rows_tensor(c, HAD_X, "x", DIR_IN, kase_int(k, "xs"), kase_int(k, "bs"));
    rows_tensor(c, HAD_OUT, "out", DIR_OUT, kase_int(k, inplace ? "xs" : "os"), kase_int(k, "bs") * (inplace ? 1 : 2));
    if (inplace)
        c->slot[HAD_OUT].same_as = HAD_X; /* HAD-4 */
    if (kase_int(k, "given"))
        call_scalar(c, "scale", 0, kase_real(k, "scale"));
    call_bases(c);
}

static const struct lc_tensor *const *tensors_of(const union op_args *args)
{
    return args->hadamard.t;
}

static int64_t rows(const union op_args *args)
{
    return args->hadamard.batch * args->hadamard.m;
}

static int64_t cols(const union op_args *args, int tensor)
{
    (void) tensor;
    return args->hadamard.n;
}

static int64_t place(const union op_args *args, int tensor, int64_t row, int64_t col)
{
    const struct lc_tensor *const t = args->hadamard.t[tensor];
    return (arg_row(t, row) + col) * fmt_bytes((enum lc_dtype) t->dtype);
}

/* ---- fills ---- */

typedef double (*draw_fn)(const struct call *c, int64_t row, int64_t col, int64_t index);

static int64_t width(const struct call *c)
{
    return c->args.hadamard.n;
}

static void fill_x(struct call *c, draw_fn draw)
{
    for (int64_t row = 0; row < rows(&c->args); row++)
        for (int64_t col = 0; col < width(c); col++)
            put(c, HAD_X, row, col, draw(c, row, col, row * width(c) + col));
}

static bool is_f32(const struct call *c)
{
    return c->slot[HAD_X].fmt == LC_F32;
}

/* A column that stands for a row: the first, the last, or any. */
static int64_t pick_col(const struct call *c, int64_t row)
{
    const uint32_t bits = draw_bits(c, HAD_OUT, row);
    return row % 4 == 0 ? width(c) - 1 : row % 4 == 1 ? 0 : (int64_t) (bits % (uint32_t) width(c));
}

/* H[i][j], HAD-1. */
static double walsh_sign(int64_t i, int64_t j)
{
    int odd = 0;
    for (int64_t both = i & j; both; both &= both - 1)
        odd = !odd;
    return odd ? -1 : 1;
}

static double normal(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) row, (void) col;
    return draw_normal(c, HAD_X, i);
}

static double logu(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) row, (void) col;
    return draw_log(c, HAD_X, i, -30, 30);
}

static double outlier(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    return draw_normal(c, HAD_X, i) * (col == pick_col(c, row) ? 65536 : 1);
}

static double tiny(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) col; /* the product with scale falls below 2^-126, x too in some rows */
    return draw_normal(c, HAD_X, i) * ldexp(1, -118 - (int) (row % 20));
}

static double huge(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) col; /* sum|x| < 2^127, but of every seventh row */
    return draw_normal(c, HAD_X, i) * ldexp(1, row % 7 == 6 ? 125 : 100 + (int) (row % 7));
}

static double positive(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) row, (void) col;
    return fabs(draw_normal(c, HAD_X, i)) + ldexp(1, -10);
}

static double zero_rows(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    if (row % 3 == 0)
        return draw_bits(c, HAD_X, i) & 1 ? -0.0 : 0;
    return normal(c, row, col, i);
}

/* HAD-5: multiples of g with sum|x| <= 2^24 g, of every size up to that and far beyond what BF16 or f16 sums hold. */
static double exact(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    const double limit = ldexp(1, 24) / (double) width(c), bf16 = 256, most = is_f32(c) || limit < bf16 ? limit : bf16;
    const int g = (int) (row * 13 % 40) - 20;
    if (row % 2) /* the most that there may be */
        return ldexp(col == pick_col(c, row) ? most - 1 : draw_bits(c, HAD_X, i) & 1 ? -most : most, g);
    return ldexp(floor((2 * draw_uniform(c, HAD_X, i) - 1) * most), g);
}

/* The identity's rows: one column of H, every element of which is +-x (HAD-1). */
static double one_hot(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) i;
    return col == pick_col(c, row) ? 1 + (double) (row % 128) / 128 : 0;
}

/* A row of H: one element of y is n x, all others are zero by cancellation (HAD-2). */
static double alternating(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) i;
    return walsh_sign(col, pick_col(c, row)) * (1 + (double) (row % 128) / 128);
}

/* Likewise of an f32 with an odd significand: partial sums err to one side, as far as an order can (HAD-3). */
static double drift(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) i;
    return walsh_sign(col, pick_col(c, row)) * (1 + ldexp((double) (draw_bits(c, HAD_X, row) | 1u), -32));
}

/* BF16 midpoints: y = a +- b, a odd in 129..255, b = 1/2 (the sums are exact, scale is 1). In some rows b is a bit beside it. */
static double ties(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    const int64_t at = pick_col(c, row), other = (at + 1 + row) % width(c);
    (void) i;
    if (col == at)
        return 129 + 2 * (double) (row * 5 % 64);
    return col == (other == at ? (at + 1) % width(c) : other) ? 0.5 + (double) (row % 3 - 1) / 256 : 0;
}

/* Sizes that differ between neighbours in rows and columns. */
static double mixed(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    return draw_normal(c, HAD_X, i) * ldexp(1, (int) ((row * 37 + col * 23) % 64) - 32);
}

static double specials(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    const uint32_t bits = draw_bits(c, HAD_X, i);
    const int64_t at = pick_col(c, row);
    if (row % 5 == 1 && col == at)
        return NAN;
    if (row % 5 == 2 && col == at)
        return row & 1 ? -INFINITY : INFINITY;
    if (row % 5 == 3 && (col == at || col == (at ^ 1)))
        return col & 1 ? -INFINITY : INFINITY;
    if (row % 5 == 4)
        return bits & 1 ? -0.0 : ldexp(bits & 2 ? -1.0 : 1.0, -133 + (int) (bits >> 8) % 8);
    return draw_normal(c, HAD_X, i);
}

/* clang-format off */
#define FILL(name) static void make_##name(struct call *c) { fill_x(c, name); }
FILL(normal) FILL(logu) FILL(outlier) FILL(tiny) FILL(huge) FILL(positive) FILL(zero_rows) FILL(exact) FILL(one_hot)
FILL(alternating) FILL(drift) FILL(ties) FILL(mixed) FILL(specials)

/* ---- refusals (ERR-1) ---- */

static struct lc_tensor *t(struct call *c, int slot) { return &c->slot[slot].t; }
static void both_n(struct call *c, int64_t n) { t(c, HAD_X)->shape[1] = t(c, HAD_OUT)->shape[1] = n; }

static void x_absent(struct call *c) { c->slot[HAD_X].listed = 0; }
static void x_rank(struct call *c) { t(c, HAD_X)->rank = 0; }
static void x_dtype(struct call *c) { t(c, HAD_X)->dtype = LC_E4M3; }
static void x_last(struct call *c) { t(c, HAD_X)->stride[1] = 2; }
static void x_null(struct call *c) { c->slot[HAD_X].miss = NULL_POINTER; }
static void x_base(struct call *c) { c->slot[HAD_X].miss = 1; }
static void n_0(struct call *c) { both_n(c, 0); }
static void n_1(struct call *c) { both_n(c, 1); }
static void n_96(struct call *c) { both_n(c, 96); }
static void n_127(struct call *c) { both_n(c, 127); }
static void n_65536(struct call *c) { both_n(c, 65536); }
static void out_absent(struct call *c) { c->slot[HAD_OUT].listed = 0; }
static void out_rank(struct call *c) { t(c, HAD_OUT)->rank = 1; }
static void out_shape(struct call *c) { t(c, HAD_OUT)->shape[0] = 2; }
static void out_n(struct call *c) { t(c, HAD_OUT)->shape[1] = 64; }
static void out_dtype(struct call *c) { t(c, HAD_OUT)->dtype = LC_F32; }
static void out_last(struct call *c) { t(c, HAD_OUT)->stride[1] = 2; }
static void out_null(struct call *c) { c->slot[HAD_OUT].miss = NULL_POINTER; }
static void out_base(struct call *c) { c->slot[HAD_OUT].miss = 1; }
static void out_rows(struct call *c) { t(c, HAD_OUT)->stride[0] = 127; }
static void out_other_rows(struct call *c) { c->slot[HAD_OUT].same_as = HAD_X; } /* x's bytes, other strides */
static void scale_inf(struct call *c) { call_set_scalar(c, "scale", 0, INFINITY); }
static void scale_nan(struct call *c) { call_set_scalar(c, "scale", 0, NAN); }
static void scale_double(struct call *c) { call_set_scalar(c, "scale", 0, 0.1); }
/* clang-format on */

static const struct bad bads[] = {
    { "x-absent", "x", "HAD-1", "not given", x_absent },
    { "x-rank", "x", "HAD-4", "rank 0", x_rank },
    { "x-dtype", "x", "HAD-6", "dtype e4m3", x_dtype },
    { "x-last", "x", "HAD-4", "stride(-1) = 2", x_last },
    { "x-null", "x", "HAD-4", "NULL", x_null },
    { "x-base", "x", "HAD-4", "0x", x_base },
    { "n-0", "x", "HAD-1", "n = 0", n_0 },
    { "n-1", "x", "HAD-1", "n = 1", n_1 },
    { "n-96", "x", "HAD-1", "n = 96", n_96 },
    { "n-127", "x", "HAD-1", "n = 127", n_127 },
    { "n-65536", "x", "HAD-1", "n = 65536", n_65536 },
    { "out-absent", "out", "HAD-1", "not given", out_absent },
    { "out-rank", "out", "HAD-4", "rank 1", out_rank },
    { "out-shape", "out", "HAD-4", "shape[0] = 2", out_shape },
    { "out-n", "out", "HAD-4", "shape[1] = 64", out_n },
    { "out-dtype", "out", "HAD-6", "dtype f32", out_dtype },
    { "out-last", "out", "HAD-4", "stride(-1) = 2", out_last },
    { "out-null", "out", "HAD-4", "NULL", out_null },
    { "out-base", "out", "HAD-4", "0x", out_base },
    { "out-rows", "out", "DET-4", "127", out_rows },
    { "out-other-rows", "out", "DET-4", "0x", out_other_rows },
    { "scale-inf", "scale", "HAD-6", "inf", scale_inf },
    { "scale-nan", "scale", "HAD-6", "nan", scale_nan },
    { "scale-double", "scale", "HAD-6", "0.1", scale_double },
    { NULL, NULL, NULL, NULL, NULL },
};

const struct op op_hadamard = {
    .name = "hadamard",
    .summary = "Hadamard transform of each row, in Sylvester order",
    .source = "J. J. Sylvester, 1867; fast-hadamard-transform",
    .clauses = "HAD-1..6 FMT-1 FMT-5 FMT-6 DET-1..4 ERR-1",
    .axes = {
        { "rank", "rank of x", "2|1|3", AXIS_NAME, 0 },
        { "B", "batch, rank 3", "2|1|3|0", AXIS_INT, 0 },
        { "M", "rows (tokens)", "17|0|1|2|3|5|33", AXIS_INT, 0 },
        { "n", "elements of a row", "128|2|4|8|16|32|64|256|512|1024|2048|4096|8192|16384|32768", AXIS_INT, 0 },
        { "x", "dtype of x and out", "bf16|f32", AXIS_NAME, 0 },
        { "given", "1: scale is listed; 0: it is fl(n^-1/2) (HAD-2)", "0|1", AXIS_INT, 0 },
        { "scale", "scale, where it is listed", "1|-0.7|3|0|1e-39", AXIS_REAL, 0 },
        { "inplace", "1: out is the same view as x (HAD-4)", "0|1", AXIS_INT, 0 },
        { "xs", "elements by which x's row stride exceeds n", "0|1|8|37", AXIS_INT, 0 },
        { "os", "the same of out", "0|1|16|24", AXIS_INT, 0 },
        { "bs", "elements by which x's batch stride exceeds M rows; out's by twice that", "0|3|64", AXIS_INT, 0 },
        { "at", "bytes by which bases miss a 128-byte boundary, at least an element; -1: each operand another",
          "0|1|2|4|8|16|64|-1", AXIS_INT, 0 },
        { "fill", "the data", NULL, AXIS_NAME, 0 },
        { "seed", "of the data", "1", AXIS_INT, 1 },
        { "bad", "a violated precondition that must be refused (ERR-1)", NULL, AXIS_NAME, 1 },
    },
    .tensors = {
        { "x", "([[B,] M,] n)", "bf16 f32", NULL, "input; stride(-1) = 1, other strides free", DIR_IN },
        { "out", "([[B,] M,] n)", "as x", NULL, "y, own strides; or x itself", DIR_OUT },
    },
    .bounds = {
        { "out", "HAD-3", "of sum|x| |scale|: log2 n f32 additions a term, the product with scale, 1u for the second order; "
          "a kernel that declares LC_DENSE_HADAMARD: n + 16; bitwise up to that product where HAD-5 holds",
          "tests/bounds/hadamard.g", REF_HADAMARD_K(15), NULL },
    },
    .fills = {
        { "normal", "N(0,1)", make_normal, 0 },
        { "logu", "any sign, exponents -30..29", make_logu, 0 },
        { "outlier", "one element of a row 65536 times larger", make_outlier, 0 },
        { "tiny", "products and inputs around 2^-126 and below", make_tiny, MAY_BE_ZERO },
        { "huge", "up to 2^108, every seventh row 2^127: not judged there", make_huge, 0 },
        { "positive", "all of one sign", make_positive, 0 },
        { "zero-rows", "every third row zero, of either sign", make_zero_rows, MAY_BE_ZERO },
        { "exact", "multiples of g, sum|x| up to 2^24 g: exact in every order (HAD-5)", make_exact, 0 },
        { "one-hot", "one element of a row: a column of H", make_one_hot, 0 },
        { "alternating", "a row of H: one element of y is n x, the others zero", make_alternating, MAY_BE_ZERO },
        { "drift", "the same with 24-bit significands: sums that err to one side", make_drift, MAY_BE_ZERO },
        { "ties", "y at BF16 midpoints and beside them", make_ties, 0 },
        { "mixed", "sizes that differ between neighbours in rows and columns", make_mixed, 0 },
        { "specials", "NaN, Inf, -0, subnormals in some rows", make_specials, 0 },
    },
    .bads = bads,
    .forms = (const struct form[]) { { "f32", "x=f32" }, { "in-place", "inplace=1" }, { "rank-1", "rank=1" }, { "rank-3", "rank=3" }, { NULL, NULL } },
    .settle = settle,
    .build = build,
    .check = ref_hadamard_check,
    .tensors_of = tensors_of,
    .rows = rows,
    .cols = cols,
    .place = place,
    .ref = ref_hadamard_row,
    .work = ref_hadamard_work,
    .k_words = "log2 n + 2",
    .k_of = ref_hadamard_k,
    .relations = hadamard_relations,
};
