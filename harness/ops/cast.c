/* SPDX-License-Identifier: Apache-2.0 */
/* cast: E4M3 with one scale per G channels (docs/contract.md CAST, SF). */
#include <math.h>

#include "../../ref/args.h"
#include "../case.h"
#include "../scales.h"

static const char *settle(struct kase *k)
{
    const char *why = NULL;
    const int rank = kase_is(k, "rank", "3") ? 3 : kase_is(k, "rank", "2") ? 2 : 1;
    if (rank < 3 && (!kase_is(k, "B", "2") || !kase_is(k, "bs", "0"))) {
        kase_set(k, "B", "2");
        kase_set(k, "bs", "0");
        why = "B and bs need rank=3";
    }
    if (rank == 1 && (kase_int(k, "M") != 1 || kase_int(k, "xs") != 0)) {
        kase_set(k, "M", "1");
        kase_set(k, "xs", "0");
        why = "rank=1 is one row: M=1, xs=0";
    }
    if (kase_int(k, "d") < 1 || kase_int(k, "M") < 0 || kase_int(k, "B") < 0 || kase_int(k, "xs") < 0 || kase_int(k, "bs") < 0) {
        kase_set(k, "d", "128");
        kase_set(k, "M", "17");
        kase_set(k, "B", "2");
        kase_set(k, "xs", "0");
        kase_set(k, "bs", "0");
        why = "d is at least 1; M, B, xs and bs are not negative";
    }
    const char *const scales = scales_settle(k, kase_int(k, "d"), rank == 3 ? kase_int(k, "B") : 1);
    if (!kase_is(k, "bad", "-")) {
        struct kase plain;
        kase_default(&plain, k->op);
        plain.i[axis_of(k->op, "bad")] = kase_int(k, "bad");
        kase_set(&plain, "M", "3");
        kase_set(&plain, "utccp", "1");
        *k = plain;
        return "bad stands alone: one good call, spoiled";
    }
    return scales ? scales : why;
}

static void build(struct call *c)
{
    const struct kase *const k = &c->id;
    const int rank = kase_is(k, "rank", "3") ? 3 : kase_is(k, "rank", "2") ? 2 : 1, skip = 3 - rank;
    const int64_t b = rank == 3 ? kase_int(k, "B") : 1, m = kase_int(k, "M"), d = kase_int(k, "d");
    const int64_t row = d + kase_int(k, "xs"), batch = m * row + kase_int(k, "bs");
    const int64_t shape[3] = { b, m, d }, stride[3] = { batch, row, 1 }, dense[3] = { m * d, d, 1 };
    const int64_t gaps[2] = { b, batch }, rows[3] = { b, m, row };
    const int has_gap = rank == 3 && kase_int(k, "bs") > 0;
    call_tensor(c, CAST_X, "x", kase_is(k, "x", "f32") ? LC_F32 : LC_BF16, DIR_IN, rank, shape + skip, stride + skip,
                has_gap ? 2 : rank, has_gap ? gaps : rows + skip);
    call_tensor(c, CAST_OUT, "out", LC_E4M3, DIR_OUT, rank, shape + skip, dense + skip, rank, shape + skip);
    scales_build(c, CAST_SF, 1);
    call_bases(c);
}

static const struct lc_tensor *const *tensors_of(const union op_args *args)
{
    return args->cast.t;
}

static int64_t rows(const union op_args *args)
{
    return args->cast.batch * args->cast.m;
}

static int64_t cols(const union op_args *args, int tensor)
{
    return tensor == CAST_X || tensor == CAST_OUT ? args->cast.d : args->cast.sf.groups;
}

static int64_t place(const union op_args *args, int tensor, int64_t row, int64_t col)
{
    const struct cast_args *const a = &args->cast;
    const struct lc_tensor *const t = a->t[tensor];
    if (tensor == CAST_SF)
        return sf_place(&a->sf, a->m, row, col);
    if (tensor == CAST_EXTRA_SF)
        return sf_extra_place(&a->sf, t, row, col);
    return (arg_row(t, row) + col) * fmt_bytes((enum lc_dtype) t->dtype);
}

/* ---- fills ---- */

typedef double (*draw_fn)(const struct call *c, int64_t row, int64_t col, int64_t index);

static void fill_x(struct call *c, draw_fn draw)
{
    const int64_t n = rows(&c->args), d = c->args.cast.d;
    for (int64_t row = 0; row < n; row++)
        for (int64_t col = 0; col < d; col++)
            put(c, CAST_X, row, col, draw(c, row, col, row * d + col));
}

static enum lc_dtype x_fmt(const struct call *c)
{
    return c->slot[CAST_X].fmt;
}

static double normal(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) row, (void) col;
    return draw_normal(c, CAST_X, i);
}

static double logu(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    const int64_t g = col / c->args.cast.sf.group; /* ten binades in a group, sixty over all */
    return draw_log(c, CAST_X, i, -5, 5) * ldexp(1, (int) ((row * 7 + g * 5) % 50) - 25);
}

static double outlier(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) row;
    return draw_normal(c, CAST_X, i) * (col % 64 == 5 ? 1024 : 1);
}

static double tiny(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) col; /* around the clamp of CAST-2: 1e-4 = 2^-13.3 */
    return draw_normal(c, CAST_X, i) * ldexp(1, -10 - (int) (row % 12));
}

static double huge(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) col;
    return draw_normal(c, CAST_X, i) * ldexp(1, 100 + (int) (row % 25));
}

static double zero_groups(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    const int64_t g = col / c->args.cast.sf.group;
    if ((row + g) % 3 == 0)
        return draw_bits(c, CAST_X, i) & 1 ? -0.0 : 0; /* CAST-6: the sign stays */
    return draw_normal(c, CAST_X, i);
}

static double exact(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) row, (void) col;
    return (double) (draw_bits(c, CAST_X, i) % 33) - 16;
}

/* Every group has amax = 448 * 2^e, so that the others are q * 2^e with q an E4M3 midpoint, or one ulp of x beside it. */
static double ties(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    const int64_t in_group = col % c->args.cast.sf.group;
    const int e = (int) ((row * 5 + col / c->args.cast.sf.group * 3) % 16) - 8;
    const uint32_t bits = draw_bits(c, CAST_X, i);
    if (in_group == 0)
        return ldexp(bits & 1 ? -448 : 448, e);
    const uint32_t code = (bits >> 1) % 126; /* between code and code + 1 */
    double v = (fmt_load(LC_E4M3, code) + fmt_load(LC_E4M3, code + 1)) / 2;
    const int beside = (int) (bits >> 8 & 3) - 1; /* -1, 0, 1, and 0 once more */
    if (beside == -1 || beside == 1)
        v += beside * ldexp(1, ilogb(v) - (x_fmt(c) == LC_F32 ? 23 : 7));
    return ldexp(bits & 0x10000 ? -v : v, e);
}

/* amax = 448 * 2^k and up to 64 ulps of x away (CAST-4), the largest anywhere in the group. */
static double pow2_edges(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    const int64_t size = c->args.cast.sf.group, g = col / size, n = row * c->args.cast.sf.groups + g;
    const uint32_t bits = draw_bits(c, CAST_X, (n << 20) + 1);
    const int64_t short_size = (g + 1) * size <= c->args.cast.d ? size : c->args.cast.d - g * size;
    const int k = (int) (bits % 40) - 20;
    const int f32 = x_fmt(c) == LC_F32;
    const int64_t ulps = f32 ? (int64_t) (bits >> 8) % 129 - 64 : (int64_t) (bits >> 8) % 5 - 2;
    if (col % size == (int64_t) (bits >> 16) % short_size)
        return ldexp(448 + (double) ulps * ldexp(1, 8 - (f32 ? 23 : 7)), k) * (draw_bits(c, CAST_X, i) & 1 ? -1 : 1);
    return ldexp(draw_normal(c, CAST_X, i) * 32, k);
}

/* Scales that differ between any two neighbours in a row, a column, a word. */
static double mixed(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    return draw_normal(c, CAST_X, i) * ldexp(1, (int) ((row * 37 + col / c->args.cast.sf.group * 23) % 128) - 12);
}

static double specials(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    const int64_t g = col / c->args.cast.sf.group;
    const uint32_t bits = draw_bits(c, CAST_X, i);
    if ((row + g) % 4 == 1 && bits % 16 == 0)
        return bits & 16 ? NAN : bits & 32 ? INFINITY : -INFINITY;
    if ((row + g) % 4 == 2)
        return bits & 1 ? -0.0 : ldexp(bits & 2 ? -1.0 : 1.0, -133 + (int) (bits >> 8) % 8); /* subnormal */
    return draw_normal(c, CAST_X, i);
}

/* clang-format off */
#define FILL(name) static void make_##name(struct call *c) { fill_x(c, name); }
FILL(normal) FILL(logu) FILL(outlier) FILL(tiny) FILL(huge) FILL(zero_groups) FILL(exact) FILL(ties) FILL(pow2_edges)
FILL(mixed) FILL(specials)
    /* clang-format on */

    /* ---- refusals (ERR-1) ---- */

    static void x_rank(struct call *c)
{
    c->slot[CAST_X].t.rank = 0;
}
static void x_dtype(struct call *c)
{
    c->slot[CAST_X].t.dtype = LC_I32;
}
static void x_stride(struct call *c)
{
    c->slot[CAST_X].t.stride[1] = 2;
}
static void x_null(struct call *c)
{
    c->slot[CAST_X].miss = -1;
}
static void x_base(struct call *c)
{
    c->slot[CAST_X].miss = 1;
}
static void x_d(struct call *c)
{
    c->slot[CAST_X].t.shape[1] = c->slot[CAST_OUT].t.shape[1] = 0;
}
static void out_shape(struct call *c)
{
    c->slot[CAST_OUT].t.shape[0] = 2;
}
static void out_dtype(struct call *c)
{
    c->slot[CAST_OUT].t.dtype = LC_UE8M0;
}
static void out_stride(struct call *c)
{
    c->slot[CAST_OUT].t.stride[0] = 64;
}
static void out_alias(struct call *c)
{
    c->slot[CAST_OUT].same_as = CAST_X;
}
static void group_20(struct call *c)
{
    call_set_scalar(c, "group", 20, 0);
}
static void group_0(struct call *c)
{
    call_set_scalar(c, "group", 0, 0);
}
static void round_2(struct call *c)
{
    call_set_scalar(c, "round_sf", 2, 0);
}
static void packed_f32(struct call *c)
{
    call_set_scalar(c, "round_sf", 0, 0);
}
static void packed_groups(struct call *c)
{
    call_set_scalar(c, "group", 64, 0);
}
static void rowp_groups(struct call *c)
{
    call_set_scalar(c, "group", 64, 0), call_set_scalar(c, "sf_col", 0, 0);
}
static void sf_dtype(struct call *c)
{
    c->slot[CAST_SF].t.dtype = LC_F32;
}
static void sf_shape(struct call *c)
{
    c->slot[CAST_SF].t.shape[1] = 2;
}
static void sf_stride(struct call *c)
{
    c->slot[CAST_SF].t.stride[1] = 3;
}
static void sf_size_1(struct call *c)
{
    c->slot[CAST_SF].t.stride[1] = 8;
}
static void sf_base(struct call *c)
{
    c->slot[CAST_SF].miss = 4;
}
static void sf_absent(struct call *c)
{
    c->slot[CAST_SF].listed = 0;
}
static void sf_alias(struct call *c)
{
    c->slot[CAST_SF].same_as = CAST_OUT;
}
static void row_shape(struct call *c)
{
    call_set_scalar(c, "sf_packed", 0, 0), call_set_scalar(c, "sf_col", 0, 0);
    c->slot[CAST_SF].t.dtype = LC_F32;
}
static void extra_block(struct call *c)
{
    call_set_scalar(c, "extra_sf_block_m", 0, 0);
}
static void extra_layout(struct call *c)
{
    call_set_scalar(c, "extra_sf_layout", 2, 0);
}
static void extra_absent(struct call *c)
{
    c->slot[CAST_EXTRA_SF].listed = 0;
}
static void extra_alone(struct call *c)
{
    call_set_scalar(c, "extra_sf", 0, 0);
}
static void extra_rows(struct call *c)
{
    c->slot[CAST_EXTRA_SF].t.stride[1] = 3 * 128 - 1;
}
static void extra_stride(struct call *c)
{
    c->slot[CAST_EXTRA_SF].t.stride[0] = 2;
}
static void extra_dtype(struct call *c)
{
    c->slot[CAST_EXTRA_SF].t.dtype = LC_F32;
}

static const struct bad bads[] = {
    { "x-rank", "x", "CAST-10", "rank 0", x_rank },
    { "x-dtype", "x", "CAST-10", "dtype i32", x_dtype },
    { "x-stride", "x", "CAST-10", "stride(-1) = 2", x_stride },
    { "x-null", "x", "CAST-10", "NULL", x_null },
    { "x-base", "x", "CAST-10", "0x", x_base },
    { "x-d", "x", "CAST-10", "d = 0", x_d },
    { "out-shape", "out", "CAST-10", "shape[0] = 2", out_shape },
    { "out-dtype", "out", "CAST-10", "dtype ue8m0", out_dtype },
    { "out-stride", "out", "CAST-10", "stride[0] = 64", out_stride },
    { "out-alias", "out", "DET-4", "0x", out_alias },
    { "group-20", "group", "CAST-10", "20", group_20 },
    { "group-0", "group", "CAST-10", "0", group_0 },
    { "round-2", "round_sf", "SF-0", "2", round_2 },
    { "packed-f32", "sf_packed", "SF-0", "1", packed_f32 },
    { "packed-groups", "x", "SF-3", "d = 128", packed_groups },
    { "rowp-groups", "x", "SF-2", "d = 128", rowp_groups },
    { "sf-dtype", "sf", "SF-3", "dtype f32", sf_dtype },
    { "sf-shape", "sf", "SF-3", "shape[1] = 2", sf_shape },
    { "sf-stride", "sf", "SF-3", "stride[1] = 3", sf_stride },
    { "sf-size-1", "sf", "SF-3", "stride[1] = 8", sf_size_1 },
    { "sf-base", "sf", "SF-3", "0x", sf_base },
    { "sf-absent", "sf", "SF-0", "not given", sf_absent },
    { "sf-alias", "sf", "DET-4", "0x", sf_alias },
    { "row-shape", "sf", "SF-1", "shape[1] = 1", row_shape },
    { "extra-block", "extra_sf_block_m", "SF-4", "0", extra_block },
    { "extra-layout", "extra_sf_layout", "SF-4", "2", extra_layout },
    { "extra-absent", "extra_sf", "SF-4", "not given", extra_absent },
    { "extra-alone", "extra_sf", "SF-4", "0", extra_alone },
    { "extra-rows", "extra_sf", "SF-4", "stride[1] = 383", extra_rows },
    { "extra-stride", "extra_sf", "SF-4", "stride[0] = 2", extra_stride },
    { "extra-dtype", "extra_sf", "SF-4", "dtype f32", extra_dtype },
    { NULL, NULL, NULL, NULL, NULL },
};

const struct op op_cast = {
    .name = "cast",
    .summary = "cast to E4M3 with one scale per G channels of a token, in every scale layout",
    .source = "TileKernels per_token_cast; OCP MX v1.0",
    .clauses = "CAST-1..8 CAST-10 SF-0..4 FMT-1..3 FMT-5 FMT-6 DET-1 DET-3 DET-4 ERR-1",
    .axes = {
        { "rank", "rank of x", "2|1|3", AXIS_NAME, 0 },
        { "B", "batch, rank 3", "2|1|3|0", AXIS_INT, 0 },
        { "M", "rows (tokens)", "17|0|1|2|3|4|64|130", AXIS_INT, 0 },
        { "d", "channels", "128|1|31|32|33|96|100|512|1000|4096|7168", AXIS_INT, 0 },
        { "x", "dtype of x", "bf16|f32", AXIS_NAME, 0 },
        SCALE_AXES,
        { "xs", "elements by which x's row stride exceeds d", "0|1|8|16|37", AXIS_INT, 0 },
        { "bs", "elements by which x's batch stride exceeds M rows", "0|3|64", AXIS_INT, 0 },
        { "at", "bytes by which bases miss a 128-byte boundary, at least an element; -1: each operand another",
          "0|1|2|4|8|16|64|-1", AXIS_INT, 0 },
        { "fill", "the data", NULL, AXIS_NAME, 0 },
        { "seed", "of the data", "1", AXIS_INT, 1 },
        { "bad", "a violated precondition that must be refused (ERR-1)", NULL, AXIS_NAME, 1 },
    },
    .tensors = {
        { "x", "([B,] M, d)", "bf16 f32", NULL, "input; stride(-1) = 1, other strides free", DIR_IN },
        { "out", "([B,] M, d)", "e4m3", NULL, "codes, contiguous", DIR_OUT },
        { "sf", "([B,] M, d_s or d_s/4)", "f32 i32", NULL, "scales, SF-1..SF-3 or col-f32", DIR_OUT },
        { "extra_sf", "(M, d/128)", "i32", "utccp>0", "the same scales in SF-4", DIR_OUT },
    },
    .bounds = {
        { "out", "CAST-5", "the product is exact or rounded once, in a fixed order: bitwise", NULL, 0 },
        { "sf", "CAST-4", "amax is exact, the scale a function of it: bitwise", NULL, 0 },
        { "extra_sf", "SF-4", "the bytes of sf, placed elsewhere: bitwise", NULL, 0 },
    },
    .fills = {
        { "normal", "N(0,1)", make_normal, 0 },
        { "logu", "any sign, exponents uniform over 10 binades of a group", make_logu, 0 },
        { "outlier", "every 64th channel 1024 times larger", make_outlier, 0 },
        { "tiny", "around the clamp of CAST-2", make_tiny, MAY_BE_ZERO },
        { "huge", "up to 2^127", make_huge, 0 },
        { "zero-rows", "every third group zero, of either sign", make_zero_groups, MAY_BE_ZERO },
        { "exact", "integers -16..16", make_exact, 0 },
        { "ties", "E4M3 midpoints and one ulp of x beside them", make_ties, 0 },
        { "pow2-edges", "amax = 448 * 2^k and up to 64 ulps away", make_pow2_edges, 0 },
        { "mixed", "all scales different from their neighbours", make_mixed, 0 },
        { "specials", "NaN, Inf, -0, subnormals", make_specials, MAY_BE_ZERO },
    },
    .bads = bads,
    .settle = settle,
    .build = build,
    .check = ref_cast_check,
    .tensors_of = tensors_of,
    .rows = rows,
    .cols = cols,
    .place = place,
    .ref = ref_cast_row,
};
