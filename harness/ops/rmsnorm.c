/* SPDX-License-Identifier: Apache-2.0 */
/* rmsnorm: RMSNorm with residual and optional E4M3 cast (docs/contract.md RMS, CAST, SF). */
#include <math.h>

#include "../../ref/args.h"
#include "../case.h"
#include "../relations.h"
#include "../scales.h"
#include "rmsnorm.h"

static const char *settle(struct kase *k)
{
    const char *why = NULL;
    static const char *const strides[] = { "xs", "rs", "os", "bfs", "ros", NULL };
    if (!kase_is(k, "bad", "-")) {
        struct kase plain; /* a refusal is one good call, spoiled: every operand takes part */
        kase_default(&plain, k->op);
        plain.i[axis_of(k->op, "bad")] = kase_int(k, "bad");
        plain.i[axis_of(k->op, "dialect")] = kase_int(k, "dialect");
        kase_set(&plain, "M", "3");
        kase_set(&plain, "res", "1");
        kase_set(&plain, "out", "e4m3");
        kase_set(&plain, "bf16", "1");
        kase_set(&plain, "utccp", "1");
        *k = plain;
        return "bad stands alone: one good call, spoiled";
    }
    if (kase_is(k, "dialect", "hf")) {
        why = kase_drop(k, "scale", "1", "dialect=hf has no scale (RMS-13)", why);
        if (kase_is(k, "out", "f32"))
            why = kase_drop(k, "out", "bf16", "dialect=hf: y is BF16 (RMS-13)", why);
    }
    if (kase_is(k, "dialect", "f32res"))
        why = kase_drop(k, "res", "1", "dialect=f32res is about the residual (RMS-13)", why);
    if (kase_is(k, "dialect", "f32cast"))
        why = kase_drop(k, "out", "e4m3", "dialect=f32cast is about the cast (RMS-6)", why);
    for (int i = 0; strides[i]; i++)
        if (kase_int(k, strides[i]) < 0 || (kase_int(k, strides[i]) % 16 && (kase_int(k, "M") > 1 || kase_rank(k) == 3)))
            why = kase_drop(k, strides[i], "0", "row strides are multiples of 16 elements (RMS-8)", why);
    if (kase_int(k, "bs") < 0 || kase_int(k, "bs") % 16)
        why = kase_drop(k, "bs", "0", "bs is a multiple of 16 (RMS-8)", why);
    if (kase_int(k, "d") < 1)
        why = kase_drop(k, "d", "128", "d is at least 1 (RMS-9)", why);
    if (kase_int(k, "M") < 0)
        why = kase_drop(k, "M", "17", "M is not negative", why);
    if (kase_int(k, "B") < 0)
        why = kase_drop(k, "B", "2", "B is not negative", why);
    if (kase_rank(k) == 2) {
        why = kase_drop(k, "B", "2", "B needs rank=3", why);
        why = kase_drop(k, "bs", "0", "bs needs rank=3", why);
        why = kase_drop(k, "perm", "0", "perm needs rank=3", why);
    }
    if (kase_int(k, "bs"))
        why = kase_drop(k, "perm", "0", "perm needs bs=0", why);
    if (!kase_int(k, "bf16") || kase_is(k, "out", "bf16"))
        why = kase_drop(k, "bfs", "0", "bfs needs bf16=1 and storage of its own", why);
    if (!kase_int(k, "res")) {
        why = kase_drop(k, "rs", "0", "rs needs res=1", why);
        why = kase_drop(k, "ros", "0", "ros needs res=1", why);
        why = kase_drop(k, "alias", "0", "alias needs res=1", why);
    }
    if (kase_int(k, "alias"))
        why = kase_drop(k, "rs", "0", "alias=1: the residual is x's own view", why);
    if (!(kase_real(k, "eps") > 0) || !isfinite(kase_real(k, "eps")))
        why = kase_drop(k, "eps", "1e-6", "eps is positive and finite (RMS-12)", why);
    if (!isfinite(kase_real(k, "scale")))
        why = kase_drop(k, "scale", "1", "scale is finite (RMS-12)", why);
    if (kase_is(k, "out", "e4m3")) {
        why = kase_drop(k, "os", "0", "codes are contiguous (CAST-10)", why);
        const char *const scales = scales_settle(k, kase_int(k, "d"), kase_rank(k) == 3 ? kase_int(k, "B") : 1);
        why = why ? why : scales;
    } else {
        struct kase before = *k;
        scales_drop(k);
        why = why || kase_same(&before, k) ? why : "G, sf, round, utccp, ragged need out=e4m3";
    }
    if (kase_int(k, "res") && kase_int(k, "bf16") && kase_is(k, "out", "e4m3") && kase_int(k, "utccp"))
        why = kase_drop(k, "off", "0", "off needs an operand that is switched off", why);
    if (kase_is(k, "fill", "ties") || kase_is(k, "fill", "pow2-edges")) { /* make rstd a power of two */
        why = kase_drop(k, "eps", kase_is(k, "fill", "ties") ? "1.75" : "0.75", "fill=ties needs eps=1.75, pow2-edges eps=0.75",
                        why);
        why = kase_drop(k, "scale", "1", "fill=ties and pow2-edges need scale=1", why);
        why = kase_drop(k, "alias", "0", "fill=ties and pow2-edges set the residual", why);
    }
    if (kase_real(k, "scale") == 0)
        why = kase_drop(k, "fill", "zero-rows", "scale=0 makes every y zero: fill=zero-rows", why);
    if (kase_is(k, "fill", "brink")) {
        why = kase_drop(k, "alias", "0", "fill=brink sets the residual", why);
    }
    return why;
}

/* A (B, M, d) tensor with `extra` elements between rows, rounded up so that strides are multiples of 16 (RMS-8). */
static void rows_tensor(struct call *c, int slot, const char *name, enum lc_dtype dtype, enum dir dir, int64_t extra, int dense)
{
    const struct kase *const k = &c->id;
    const int rank = kase_rank(k);
    const int64_t d = kase_int(k, "d");
    struct rows_view v = { .rank = rank, .batch = kase_int(k, "B"), .m = kase_int(k, "M"), .cols = d };
    if (!dense) {
        v.row_extra = round_up(d, 16) - d + extra;
        v.batch_extra = rank == 2 ? 0 : kase_int(k, "bs");
        v.interleaved = kase_int(k, "perm") != 0;
    }
    call_rows(c, slot, name, dtype, dir, v);
}

static void build(struct call *c)
{
    const struct kase *const k = &c->id;
    const int res = kase_int(k, "res") != 0, bf16 = kase_int(k, "bf16") != 0, off = kase_int(k, "off") != 0;
    const int cast = kase_is(k, "out", "e4m3");
    const int64_t d = kase_int(k, "d"), one = 1;
    rows_tensor(c, RMS_X, "x", LC_BF16, DIR_IN, kase_int(k, "xs"), 0);
    if (res || off) {
        rows_tensor(c, RMS_RESIDUAL, "residual", LC_BF16, DIR_IN, kase_int(k, kase_int(k, "alias") ? "xs" : "rs"), 0);
        rows_tensor(c, RMS_RESIDUAL_OUT, "residual_out", LC_BF16, DIR_OUT, kase_int(k, "ros"), 0);
        c->slot[RMS_RESIDUAL].on = c->slot[RMS_RESIDUAL_OUT].on = res;
        if (kase_int(k, "alias"))
            c->slot[RMS_RESIDUAL].same_as = RMS_X;
    }
    call_tensor(c, RMS_WEIGHT, "weight", kase_is(k, "w", "f32") ? LC_F32 : LC_BF16, DIR_IN, 1, &d, &one, 1, &d);
    rows_tensor(c, RMS_OUT, "out",
                cast                       ? LC_E4M3
                : kase_is(k, "out", "f32") ? LC_F32
                                           : LC_BF16,
                DIR_OUT, kase_int(k, "os"), cast);
    if (bf16 || off) {
        rows_tensor(c, RMS_BF16, "bf16", LC_BF16, DIR_OUT, kase_int(k, kase_is(k, "out", "bf16") ? "os" : "bfs"), 0);
        c->slot[RMS_BF16].on = bf16;
        if (bf16 && kase_is(k, "out", "bf16"))
            c->slot[RMS_BF16].same_as = RMS_OUT; /* RMS-7 */
    }
    if (cast || off)
        scales_build(c, RMS_SF, cast);
    call_scalar(c, "eps", 0, kase_real(k, "eps"));
    call_scalar(c, "out_scale", 0, kase_real(k, "scale"));
    call_scalar(c, "residual", res, 0);
    call_scalar(c, "return_bf16", bf16, 0);
    call_scalar(c, "cast", cast, 0);
    if (!kase_is(k, "dialect", "-"))
        call_scalar(c, "dialect", kase_int(k, "dialect"), 0);
    call_bases(c);
}

static const struct lc_tensor *const *tensors_of(const union op_args *args)
{
    return args->rmsnorm.t;
}

static int64_t rows(const union op_args *args)
{
    return args->rmsnorm.batch * args->rmsnorm.m;
}

static int64_t cols(const union op_args *args, int tensor)
{
    if (tensor == RMS_SF)
        return sf_cols(&args->rmsnorm.sf);
    return tensor == RMS_EXTRA_SF ? args->rmsnorm.sf.groups : args->rmsnorm.d;
}

static int64_t place(const union op_args *args, int tensor, int64_t row, int64_t col)
{
    const struct rmsnorm_args *const a = &args->rmsnorm;
    const struct lc_tensor *const t = a->t[tensor];
    if (tensor == RMS_SF)
        return sf_place(&a->sf, a->m, row, col);
    if (tensor == RMS_EXTRA_SF)
        return sf_extra_place(&a->sf, t, row, col);
    if (tensor == RMS_WEIGHT)
        return row == 0 ? col * fmt_bytes((enum lc_dtype) t->dtype) : -1;
    return (arg_row(t, row) + col) * fmt_bytes((enum lc_dtype) t->dtype);
}

const struct op op_rmsnorm = {
    .name = "rmsnorm",
    .summary = "RMSNorm with BF16 residual add, FP32 statistics, optional E4M3 cast and BF16 second output",
    .source = "arXiv:1910.07467; TileKernels",
    .clauses = "RMS-1..9 RMS-11..13 CAST-1..7 CAST-10 SF-0..4 SF-6 FMT-1..3 FMT-5 FMT-6 DET-1..4 ERR-1",
    .axes = {
        { "rank", "rank of x", "2|3", AXIS_NAME, 0 },
        { "B", "batch, rank 3", "2|1|3|0", AXIS_INT, 0 },
        { "M", "rows (tokens)", "17|0|1|2|3|4|64|130", AXIS_INT, 0 },
        { "d", "channels", "128|1|31|32|100|512|1000|3584|4096|7168", AXIS_INT, 0 },
        { "res", "residual and residual_out", "0|1", AXIS_INT, 0 },
        { "w", "dtype of the weight", "bf16|f32", AXIS_NAME, 0 },
        { "out", "dtype of out; e4m3: with the cast", "bf16|f32|e4m3", AXIS_NAME, 0 },
        { "bf16", "the BF16 second output (return_bf16)", "0|1", AXIS_INT, 0 },
        SCALE_AXES,
        { "eps", "added to the mean square", "1e-6|1e-5|1e-3", AXIS_REAL, 0 },
        { "scale", "out_scale", "1|-0.7|3|0", AXIS_REAL, 0 },
        { "xs", "elements by which x's row stride exceeds d, rounded up to 16", "0|16|48", AXIS_INT, 0 },
        { "rs", "the same of residual", "0|16|80", AXIS_INT, 0 },
        { "os", "the same of out", "0|32|112", AXIS_INT, 0 },
        { "bfs", "the same of bf16", "0|48|96", AXIS_INT, 0 },
        { "ros", "the same of residual_out", "0|16|64", AXIS_INT, 0 },
        { "bs", "elements by which batch strides exceed M rows", "0|16|160", AXIS_INT, 0 },
        { "at", "bytes by which bases miss a 128-byte boundary, at least an element; -1: each operand another",
          "0|1|2|4|8|16|64|-1", AXIS_INT, 0 },
        { "alias", "1: residual is the same view as x (RMS-2)", "0|1", AXIS_INT, 0 },
        { "perm", "1: rows of all batches interleave, batch strides below row strides", "0|1", AXIS_INT, 0 },
        { "off", "1: operands that are switched off are listed; 2: with an address where nothing is mapped (RMS-11)", "0|1|2",
          AXIS_INT, 0 },
        { "fill", "the data", NULL, AXIS_NAME, 0 },
        { "dialect", "of RMS-13, in which kernels that state it are judged; -: none", "-|hf|f32res|gemma|f32cast", AXIS_NAME, 1 },
        { "seed", "of the data", "1", AXIS_INT, 1 },
        { "bad", "a violated precondition that must be refused (ERR-1)", NULL, AXIS_NAME, 1 },
    },
    .tensors = {
        { "x", "([B,] M, d)", "bf16", NULL, "input", DIR_IN },
        { "residual", "([B,] M, d)", "bf16", "res=1", "added to x in BF16 (RMS-1)", DIR_IN },
        { "weight", "(d)", "bf16 f32", NULL, "contiguous", DIR_IN },
        { "out", "([B,] M, d)", "bf16 f32 e4m3", NULL, "y, or the codes of its cast", DIR_OUT },
        { "bf16", "([B,] M, d)", "bf16", "bf16=1", "RN_bf16(y); the same storage as a BF16 out (RMS-7)", DIR_OUT },
        { "residual_out", "([B,] M, d)", "bf16", "res=1", "x + residual, not normalised (RMS-2)", DIR_OUT },
        { "sf", "([B,] M, d_s or words)", "f32 i32", "out=e4m3", "scales, SF-1..SF-3 or col-f32, SF-6", DIR_OUT },
        { "extra_sf", "(M, d/128)", "i32", "utccp>0", "the same scales in SF-4", DIR_OUT },
    },
    .bounds = {
        { "out", "RMS-5", "RMS-3 gives 8u on s, half of it on y; fl(s + eps) 0.5u; RMS-4 4u; three f32 products 3u; the nominal "
          "s and rstd are rounded to f32, 2u more", "tests/bounds/rmsnorm.g", REF_RMSNORM_K, NULL },
        { "bf16", "RMS-6", "with the cast as out; else RN_bf16 of the out that was returned: bitwise", "tests/bounds/rmsnorm.g",
          REF_RMSNORM_K, NULL },
        { "residual_out", "RMS-2", "one rounding of an exact sum: bitwise", NULL, 0, NULL },
        { "sf", "CAST-4", "a function of amax: bitwise where y_bf is given or unambiguous, else some admissible amax gives it",
          NULL, 0, NULL },
        { "extra_sf", "SF-4", "the bytes of sf, placed elsewhere: bitwise", NULL, 0, NULL },
        { "out", "RMS-13", "on r * rstd, as out but for one product where it has three; its rounding to BF16 makes that a point, "
          "or two; the product with a BF16 w is exact then, with an F32 w it adds 1u", "tests/bounds/rmsnorm_hf.g",
          REF_RMSNORM_HF_K, "hf" },
        { "bf16", "RMS-13", "as out", "tests/bounds/rmsnorm_hf.g", REF_RMSNORM_HF_K, "hf" },
        { "out", "RMS-6", "y as out, an f32 that no output shows: its hull, end by end, through the cast", "tests/bounds/rmsnorm.g",
          REF_RMSNORM_K, "f32cast" },
    },
    .fills = {
        { "normal", "x, residual N(0,1), weight around 1", rmsnorm_fill_normal, 0 },
        { "logu", "any sign, exponents -8..7", rmsnorm_fill_logu, 0 },
        { "outlier", "every 64th channel 1024 times larger", rmsnorm_fill_outlier, 0 },
        { "tiny", "mean squares around eps and far below", rmsnorm_fill_tiny, 0 },
        { "huge", "up to 2^52", rmsnorm_fill_huge, 0 },
        { "positive", "all of one sign", rmsnorm_fill_positive, 0 },
        { "zero-rows", "every third row zero, of either sign", rmsnorm_fill_zero_rows, MAY_BE_ZERO },
        { "exact", "integers -4..4, sums without rounding", rmsnorm_fill_exact, 0 },
        { "ties", "y at BF16 midpoints and one ulp of w beside them, x + residual at ties", rmsnorm_fill_ties, 0 },
        { "brink", "y within its bound of a BF16 midpoint, amax on a scale step", rmsnorm_fill_brink, 0 },
        { "pow2-edges", "amax of a group of 32 is 448 * 2^k and up to two BF16 ulps away", rmsnorm_fill_pow2_edges, 0 },
        { "sentinel", "first and last row and last channel the largest", rmsnorm_fill_sentinel, 0 },
        { "mixed", "scales that differ between neighbours in rows and columns", rmsnorm_fill_mixed, 0 },
        { "specials", "NaN, Inf, -0, subnormals in some rows of x and of residual", rmsnorm_fill_specials, 0 },
        { "weights", "of any sign, some subnormal, -0, one NaN", rmsnorm_fill_weights, 0 },
    },
    .may_refuse_bases = 1,
    .bads = rmsnorm_bads,
    .forms = (const struct form[]) { { "no-residual", "res=0" }, { "bf16", "out=bf16" }, { "f32", "out=f32 w=f32" }, { "no-bf16", "bf16=0" }, { "row", "sf=row" }, { "rank-3", "rank=3" }, { NULL, NULL } },
    .settle = settle,
    .build = build,
    .check = ref_rmsnorm_check,
    .tensors_of = tensors_of,
    .rows = rows,
    .cols = cols,
    .place = place,
    .ref = ref_rmsnorm_row,
    .relations = rmsnorm_relations,
};
