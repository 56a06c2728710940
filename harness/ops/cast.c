/* SPDX-License-Identifier: Apache-2.0 */
/* cast: E4M3 or E2M1 with one scale per G channels (docs/contract.md CAST, SF). */
#include "../../ref/args.h"
#include "../case.h"
#include "../relations.h"
#include "../scales.h"
#include "cast.h"

/* What E2M1 codes and dialects do not go with. */
static const char *codes_settle(struct kase *k)
{
    const char *why = NULL;
    if (kase_is(k, "dialect", "sf-floor") && !kase_int(k, "round")) {
        kase_set(k, "round", "1");
        why = "dialect=sf-floor needs round=1: no clause says what its codes are without (CAST-9)";
    }
    if ((kase_is(k, "dialect", "sf-floor") || kase_is(k, "dialect", "f32-nan")) && kase_is(k, "out", "e2m1")) {
        kase_set(k, "out", "e4m3");
        why = "this dialect is one of E4M3 (CAST-9)";
    }
    if (!kase_is(k, "out", "e2m1"))
        return why;
    if (kase_int(k, "d") % 2) {
        kase_set(k, "out", "e4m3");
        return "out=e2m1 needs an even d (CAST-10)";
    }
    if (kase_is(k, "dialect", "deepgemm") && !kase_int(k, "round")) {
        kase_set(k, "round", "1");
        why = "dialect=deepgemm with out=e2m1 needs round=1: CAST-9 gives its factor for E4M3 only";
    }
    if (kase_int(k, "utccp")) {
        kase_set(k, "utccp", "0");
        why = "utccp needs out=e4m3 (SF-4)";
    }
    if (kase_is(k, "fill", "outlier")) {
        kase_set(k, "fill", "normal");
        why = "fill=outlier leaves nothing but zeros in E2M1";
    }
    return why;
}

static const char *settle(struct kase *k)
{
    const char *why = NULL;
    const int rank = kase_rank(k);
    if (rank < 3 && (!kase_is(k, "B", "2") || !kase_is(k, "bs", "0"))) {
        kase_set(k, "B", "2");
        kase_set(k, "bs", "0");
        why = "B and bs need rank=3";
    }
    if (kase_int(k, "perm") && (rank < 3 || kase_int(k, "bs"))) {
        kase_set(k, "perm", "0");
        why = "perm=1 needs rank=3 and bs=0";
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
    const char *const codes = codes_settle(k);
    if (kase_int(k, "off") && kase_int(k, "utccp")) {
        kase_set(k, "off", "0");
        why = "off needs utccp=0: extra_sf is what can be off";
    }
    if (!kase_is(k, "bad", "-")) {
        struct kase plain;
        kase_default(&plain, k->op);
        plain.i[axis_of(k->op, "bad")] = kase_int(k, "bad");
        plain.i[axis_of(k->op, "dialect")] = kase_int(k, "dialect");
        kase_set(&plain, "M", "3");
        kase_set(&plain, "utccp", "1");
        *k = plain;
        return "bad stands alone: one good call, spoiled";
    }
    return codes ? codes : scales ? scales : why;
}

static void build(struct call *c)
{
    const struct kase *const k = &c->id;
    const int rank = kase_rank(k), skip = 3 - rank;
    const int64_t b = rank == 3 ? kase_int(k, "B") : 1, m = kase_int(k, "M"), d = kase_int(k, "d");
    const int64_t shape[3] = { b, m, d }, dense[3] = { m * d, d, 1 };
    const struct rows_view x = { rank, b, m, d, kase_int(k, "xs"), rank == 3 ? kase_int(k, "bs") : 0, kase_int(k, "perm") != 0 };
    call_rows(c, CAST_X, "x", kase_is(k, "x", "f32") ? LC_F32 : LC_BF16, DIR_IN, x);
    const int64_t pairs[3] = { b, m, d / 2 }, pairs_dense[3] = { m * (d / 2), d / 2, 1 }; /* FMT-4: two codes a byte */
    if (kase_is(k, "out", "e2m1"))
        call_tensor(c, CAST_OUT, "out", LC_E2M1X2, DIR_OUT, rank, pairs + skip, pairs_dense + skip, rank, pairs + skip);
    else
        call_tensor(c, CAST_OUT, "out", LC_E4M3, DIR_OUT, rank, shape + skip, dense + skip, rank, shape + skip);
    scales_build(c, CAST_SF, 1);
    if (!kase_is(k, "dialect", "-"))
        call_scalar(c, "dialect", kase_int(k, "dialect"), 0);
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
    if (tensor == CAST_SF)
        return sf_cols(&args->cast.sf);
    return tensor == CAST_EXTRA_SF ? args->cast.sf.groups : args->cast.d;
}

static int64_t place(const union op_args *args, int tensor, int64_t row, int64_t col)
{
    const struct cast_args *const a = &args->cast;
    const struct lc_tensor *const t = a->t[tensor];
    if (tensor == CAST_SF)
        return sf_place(&a->sf, a->m, row, col);
    if (tensor == CAST_EXTRA_SF)
        return sf_extra_place(&a->sf, t, row, col);
    if (t->dtype == LC_E2M1X2)
        return arg_row(t, row) + col / 2;
    return (arg_row(t, row) + col) * fmt_bytes((enum lc_dtype) t->dtype);
}

const struct op op_cast = {
    .name = "cast",
    .summary = "cast to E4M3 or E2M1 with one scale per G channels of a token, in every scale layout",
    .source = "TileKernels per_token_cast; OCP MX v1.0",
    .clauses = "CAST-1..10 SF-0..4 SF-6 FMT-1..5 FMT-6 DET-1..4 ERR-1",
    .axes = {
        { "rank", "rank of x", "2|1|3", AXIS_NAME, 0 },
        { "B", "batch, rank 3", "2|1|3|0", AXIS_INT, 0 },
        { "M", "rows (tokens)", "17|0|1|2|3|4|64|130", AXIS_INT, 0 },
        { "d", "channels", "128|1|31|32|33|96|100|512|1000|4096|7168", AXIS_INT, 0 },
        { "x", "dtype of x", "bf16|f32", AXIS_NAME, 0 },
        { "out", "what the codes are", "e4m3|e2m1", AXIS_NAME, 0 },
        SCALE_AXES,
        { "xs", "elements by which x's row stride exceeds d", "0|1|8|16|37", AXIS_INT, 0 },
        { "bs", "elements by which x's batch stride exceeds M rows", "0|3|64", AXIS_INT, 0 },
        { "perm", "1: x's rows of all batches interleave, batch stride below row stride", "0|1", AXIS_INT, 0 },
        { "off", "1: scales that are switched off are listed; 2: with an address where nothing is mapped (RMS-11)", "0|1|2",
          AXIS_INT, 0 },
        { "at", "bytes by which bases miss a 128-byte boundary, at least an element; -1: each operand another",
          "0|1|2|4|8|16|64|-1", AXIS_INT, 0 },
        { "fill", "the data", NULL, AXIS_NAME, 0 },
        { "dialect", "of CAST-9, in which kernels that state it are judged; -: none", "-|deepgemm|sf-floor|f32-nan", AXIS_NAME, 1 },
        { "seed", "of the data", "1", AXIS_INT, 1 },
        { "bad", "a violated precondition that must be refused (ERR-1)", NULL, AXIS_NAME, 1 },
    },
    .tensors = {
        { "x", "([B,] M, d)", "bf16 f32", NULL, "input; stride(-1) = 1, other strides free", DIR_IN },
        { "out", "([B,] M, d or d/2)", "e4m3 e2m1", NULL, "codes, contiguous; E2M1 two a byte", DIR_OUT },
        { "sf", "([B,] M, d_s or words)", "f32 i32", NULL, "scales, SF-1..SF-3 or col-f32, SF-6", DIR_OUT },
        { "extra_sf", "(M, d/128)", "i32", "utccp>0", "the same scales in SF-4", DIR_OUT },
    },
    .bounds = {
        { "out", "CAST-5", "the product is exact or rounded once, in a fixed order: bitwise", NULL, 0, NULL },
        { "sf", "CAST-4", "amax is exact, the scale a function of it: bitwise", NULL, 0, NULL },
        { "extra_sf", "SF-4", "the bytes of sf, placed elsewhere: bitwise", NULL, 0, NULL },
    },
    .fills = {
        { "normal", "N(0,1)", cast_fill_normal, 0 },
        { "logu", "any sign, exponents uniform over 10 binades of a group (E2M1: 5)", cast_fill_logu, 0 },
        { "outlier", "every 64th channel 1024 times larger", cast_fill_outlier, 0 },
        { "tiny", "around the clamp of CAST-2", cast_fill_tiny, MAY_BE_ZERO },
        { "huge", "up to 2^127", cast_fill_huge, 0 },
        { "zero-rows", "every third group zero, of either sign", cast_fill_zero_groups, MAY_BE_ZERO },
        { "exact", "integers -16..16", cast_fill_exact, 0 },
        { "ties", "midpoints of codes and one ulp of x beside them", cast_fill_ties, 0 },
        { "pow2-edges", "amax = 448 * 2^k (E2M1: 6 * 2^k) and up to 64 ulps away", cast_fill_pow2_edges, 0 },
        { "sweep", "amax of every binade, its significand 1.25 to 2 in 64 steps", cast_fill_sweep, 0 },
        { "mixed", "all scales different from their neighbours", cast_fill_mixed, 0 },
        { "specials", "NaN, Inf, -0, subnormals", cast_fill_specials, MAY_BE_ZERO },
    },
    .bads = cast_bads,
    .forms = (const struct form[]) { { "f32", "x=f32" }, { "e2m1", "out=e2m1" }, { "rank-1", "rank=1" }, { "rank-3", "rank=3" }, { "row", "sf=row" }, { "colf", "sf=colf" }, { NULL, NULL } },
    .settle = settle,
    .build = build,
    .check = ref_cast_check,
    .tensors_of = tensors_of,
    .rows = rows,
    .cols = cols,
    .place = place,
    .ref = ref_cast_row,
    .relations = cast_relations,
};
