/* SPDX-License-Identifier: Apache-2.0 */
/* linear: x W^T with out_acc and bias, BF16 and with scales (docs/contract.md LIN, SF). */
#include "linear.h"

#include <string.h>

#include "../../ref/args.h"
#include "../case.h"
#include "../relations.h"
#include "../scales.h"

enum { HEAVY = 1 << 22 }; /* products: what pairs may take of one case */

static int is_bf16(const struct kase *k)
{
    return kase_is(k, "w", "bf16");
}

static int is_shared(const struct kase *k) /* out is out_acc's own view */
{
    return kase_is(k, "acc", "inplace") || kase_is(k, "acc", "same");
}

static int64_t out_bytes(const struct kase *k)
{
    return kase_is(k, "out", "f32") ? 4 : 2;
}

/* Elements between rows of out: LIN-3's allocation, or N and so many more. */
static int64_t out_row(const struct kase *k)
{
    const int64_t n = kase_int(k, "N"), os = kase_int(k, "os");
    return os >= 0 ? n + os : ref_linear_row_bytes(n, (int) out_bytes(k)) / out_bytes(k);
}

static const char *sizes_settle(struct kase *k)
{
    static const char *const sizes[] = { "B", "M", "N", "K", "xs", "ws", "as", "bs", NULL };
    const char *why = NULL;
    for (int i = 0; sizes[i]; i++)
        if (kase_int(k, sizes[i]) < 0)
            why = kase_drop(k, sizes[i], "0", "a size is not negative", why);
    if (kase_int(k, "os") < -1)
        why = kase_drop(k, "os", "-1", "os is at least -1", why);
    if (kase_rank(k) < 3) {
        why = kase_drop(k, "B", "2", "B and bs need rank=3", why);
        why = kase_drop(k, "bs", "0", "B and bs need rank=3", why);
    }
    if (kase_rank(k) == 1) {
        why = kase_drop(k, "M", "1", "rank=1 is one row: M=1, xs=0, os=-1, as=0", why);
        why = kase_drop(k, "xs", "0", "rank=1 is one row: M=1, xs=0, os=-1, as=0", why);
        why = kase_drop(k, "os", "-1", "rank=1 is one row: M=1, xs=0, os=-1, as=0", why);
        why = kase_drop(k, "as", "0", "rank=1 is one row: M=1, xs=0, os=-1, as=0", why);
    }
    return why;
}

/* What weights of one byte do not go with, and what needs them. */
static const char *codes_settle(struct kase *k)
{
    const char *why = NULL;
    if (is_bf16(k)) {
        why = kase_drop(k, "x", "bf16", "x=e4m3 needs w=e4m3 or w=e2m1 (LIN-6)", why);
        why = kase_drop(k, "ragged", "-", "ragged needs w=e4m3 or w=e2m1 (LIN-7)", why);
        if (kase_is(k, "fill", "scales"))
            why = kase_drop(k, "fill", "normal", "fill=scales needs scales", why);
        return why;
    }
    why = kase_drop(k, "out", "bf16", "out=f32 needs w=bf16 (LIN-5)", why);
    why = kase_drop(k, "bias", "none", "bias needs w=bf16 (LIN-5)", why);
    if (kase_int(k, "K") % (kase_is(k, "ragged", "-") ? 128 : 32))
        why = kase_drop(k, "K", "128", "weights of one byte need K % 128 == 0, ragged K % 32 == 0 (LIN-7)", why);
    if (kase_is(k, "x", "e4m3") && (kase_int(k, "K") + kase_int(k, "xs")) % 16)
        why = kase_drop(k, "xs", "0", "codes have row strides that are multiples of 16 (LIN-10)", why);
    return why;
}

static const char *settle(struct kase *k)
{
    if (!kase_is(k, "bad", "-")) { /* a refusal is one good call, spoiled: of one path or the other */
        struct kase plain;
        kase_default(&plain, k->op);
        plain.i[axis_of(k->op, "bad")] = kase_int(k, "bad");
        plain.i[axis_of(k->op, "dialect")] = kase_int(k, "dialect");
        kase_set(&plain, "rank", "3");
        kase_set(&plain, "M", "3");
        kase_set(&plain, "acc", "own");
        if (strncmp(kase_name(k, "bad"), "fp8-", 4))
            kase_set(&plain, "bias", "bf16");
        else
            kase_set(&plain, "w", "e4m3");
        if (!strncmp(kase_name(k, "bad"), "fp8-", 4))
            kase_set(&plain, "x", "e4m3");
        *k = plain;
        return "bad stands alone: one good call, spoiled";
    }
    const char *why = sizes_settle(k);
    const char *const codes = codes_settle(k);
    why = why ? why : codes;
    if (kase_is(k, "dialect", "reduce-add")) {
        why = kase_drop(k, "out", "bf16", "dialect=reduce-add is one of BF16 outputs (LIN-2)", why);
        if (kase_is(k, "acc", "none"))
            why = kase_drop(k, "acc", "own", "dialect=reduce-add is about out_acc (LIN-2)", why);
    }
    if (kase_is(k, "dialect", "bias-fused")) {
        why = kase_drop(k, "w", "bf16", "dialect=bias-fused needs a bias, so w=bf16 (LIN-9, LIN-5)", why);
        why = kase_drop(k, "x", "bf16", "dialect=bias-fused needs a bias, so x=bf16 (LIN-9, LIN-5)", why);
        why = kase_drop(k, "ragged", "-", "dialect=bias-fused needs a bias, so w=bf16 (LIN-9, LIN-5)", why);
        if (kase_is(k, "bias", "none"))
            why = kase_drop(k, "bias", "bf16", "dialect=bias-fused is about the bias (LIN-9)", why);
        if (kase_is(k, "fill", "scales"))
            why = kase_drop(k, "fill", "normal", "fill=scales needs scales", why);
    }
    if (kase_is(k, "bias", "f32") && !kase_is(k, "out", "f32"))
        why = kase_drop(k, "bias", "bf16", "bias=f32 needs out=f32 (LIN-9)", why);
    if (!kase_is(k, "acc", "own"))
        why = kase_drop(k, "as", "0", "as needs acc=own", why);
    if (!kase_is(k, "acc", "none") && out_row(k) * out_bytes(k) % 32)
        why = kase_drop(k, "os", "-1", "with out_acc, rows of out are aligned (LIN-2, LIN-4)", why);
    if (is_shared(k))
        why = kase_drop(k, "bs", "0", "out_acc flattens, so bs=0 where it is out (LIN-4)", why);
    if (kase_is(k, "fill", "ties") && kase_int(k, "K") < 4)
        why = kase_drop(k, "fill", "normal", "fill=ties needs K of 4 or more", why);
    if (kase_int(k, "K") == 0 && kase_is(k, "acc", "none") && kase_is(k, "bias", "none"))
        why = kase_drop(k, "fill", "zero-rows", "K=0 without out_acc and bias gives zeros: fill=zero-rows", why);
    return why;
}

static int heavy(const struct kase *k)
{
    const int64_t b = kase_rank(k) == 3 ? kase_int(k, "B") : 1;
    return b * kase_int(k, "M") * kase_int(k, "N") * kase_int(k, "K") > HEAVY;
}

/* (B, M, cols) with rows `row` elements apart and `between` more between batches. */
static void rows_tensor(struct call *c, int slot, const char *name, enum lc_dtype dtype, enum dir dir, int64_t cols, int64_t row,
                        int64_t between)
{
    const struct kase *const k = &c->id;
    const int rank = kase_rank(k), skip = 3 - rank;
    const int64_t b = rank == 3 ? kase_int(k, "B") : 1, m = kase_int(k, "M"), batch = m * row + between;
    const int64_t shape[3] = { b, m, cols }, stride[3] = { batch, row, 1 }, storage[3] = { b, m, row }, gaps[2] = { b, batch };
    call_tensor(c, slot, name, dtype, dir, rank, shape + skip, stride + skip, between ? 2 : rank,
                between ? gaps : storage + skip);
}

/* SF-3 of a (rows, K) matrix. */
static void scales_tensor(struct call *c, int slot, const char *name, int64_t rows)
{
    const int64_t words = (kase_int(&c->id, "K") + 127) / 128, pad = round_up(rows, 4);
    const int64_t shape[2] = { rows, words }, stride[2] = { 1, pad }, storage[2] = { words, pad };
    call_tensor(c, slot, name, LC_I32, DIR_IN, 2, shape, stride, 2, storage);
    c->slot[slot].fmt = LC_UE8M0;
}

static void bases(struct call *c)
{
    const int64_t at = kase_int(&c->id, "at");
    for (int i = 0; i < MAX_TENSORS; i++)
        if (c->slot[i].listed) {
            const int64_t size = fmt_bytes((enum lc_dtype) c->slot[i].t.dtype), step = c->slot[i].fmt == LC_UE8M0 ? 16 : size;
            c->slot[i].miss = round_up(at >= 0 ? at : 7 * i + 1, step) % 128; /* SF-3: scales are 16-byte aligned */
        }
}

static void build(struct call *c)
{
    const struct kase *const k = &c->id;
    const enum lc_dtype x = kase_is(k, "x", "e4m3") ? LC_E4M3 : LC_BF16, out = kase_is(k, "out", "f32") ? LC_F32 : LC_BF16;
    const enum lc_dtype w = is_bf16(k) ? LC_BF16 : kase_is(k, "w", "e4m3") ? LC_E4M3 : LC_E2M1X2;
    const int64_t m = (kase_rank(k) == 3 ? kase_int(k, "B") : 1) * kase_int(k, "M"), n = kase_int(k, "N"), K = kase_int(k, "K");
    const int64_t w_cols = w == LC_E2M1X2 ? K / 2 : K, w_row = w_cols + kase_int(k, "ws"), one = 1;
    const int64_t w_shape[2] = { n, w_cols }, w_stride[2] = { w_row, 1 }, w_storage[2] = { n, w_row };
    rows_tensor(c, LIN_X, "x", x, DIR_IN, K, K + kase_int(k, "xs"), 0);
    if (x == LC_E4M3)
        scales_tensor(c, LIN_X_SF, "x_sf", m);
    call_tensor(c, LIN_WEIGHT, "weight", w, DIR_IN, 2, w_shape, w_stride, 2, w_storage);
    if (w != LC_BF16)
        scales_tensor(c, LIN_WEIGHT_SF, "weight_sf", n);
    if (!kase_is(k, "bias", "none"))
        call_tensor(c, LIN_BIAS, "bias", kase_is(k, "bias", "f32") ? LC_F32 : LC_BF16, DIR_IN, 1, &n, &one, 1, &n);
    const int64_t aligned = ref_linear_row_bytes(n, fmt_bytes(out)) / fmt_bytes(out);
    if (!kase_is(k, "acc", "none"))
        rows_tensor(c, LIN_OUT_ACC, "out_acc", out, DIR_IN, n,
                    is_shared(k) ? out_row(k) : aligned + kase_int(k, "as") * (32 / fmt_bytes(out)), 0);
    rows_tensor(c, LIN_OUT, "out", out, DIR_OUT, n, out_row(k), kase_int(k, "bs"));
    if (is_shared(k)) { /* LIN-2 */
        c->slot[LIN_OUT].same_as = LIN_OUT_ACC;
        c->slot[LIN_OUT].implied = kase_is(k, "acc", "inplace");
    }
    if (!kase_is(k, "dialect", "-"))
        call_scalar(c, "dialect", kase_int(k, "dialect"), 0);
    if (!kase_is(k, "ragged", "-"))
        call_scalar(c, "ragged", 1, 0);
    bases(c);
}

static const struct lc_tensor *const *tensors_of(const union op_args *args)
{
    return args->linear.t;
}

static int64_t rows(const union op_args *args)
{
    return args->linear.m;
}

static int64_t cols(const union op_args *args, int tensor)
{
    const struct linear_args *const a = &args->linear;
    switch (tensor) {
    case LIN_X:
        return a->k;
    case LIN_X_SF:
        return 4 * sf_words(&a->sf);
    case LIN_WEIGHT:
        return a->n * a->k;
    case LIN_WEIGHT_SF:
        return a->n * 4 * sf_words(&a->sf);
    default:
        return a->n;
    }
}

/* The weight, its scales and the bias belong to all rows: row 0 has them. */
static int64_t place(const union op_args *args, int tensor, int64_t row, int64_t col)
{
    const struct linear_args *const a = &args->linear;
    const struct lc_tensor *const t = a->t[tensor];
    const int64_t words = 4 * sf_words(&a->sf), size = fmt_bytes((enum lc_dtype) t->dtype);
    if (tensor == LIN_X)
        return (row * a->x_stride + col) * size;
    if (tensor == LIN_X_SF)
        return sf_place(&a->sf, a->m, row, col);
    if (tensor == LIN_OUT_ACC || tensor == LIN_OUT)
        return (arg_row(t, row) + col) * size;
    if (row > 0)
        return -1;
    if (tensor == LIN_WEIGHT_SF)
        return sf_place(&a->sf, a->n, col / words, col % words);
    if (tensor == LIN_BIAS)
        return col * size;
    return (col / a->k * t->stride[0] + col % a->k / (t->dtype == LC_E2M1X2 ? 2 : 1)) * size;
}

static double flops(const union op_args *args)
{
    const struct linear_args *const a = &args->linear;
    return 2.0 * (double) a->m * (double) a->n * (double) a->k;
}

const struct op op_linear = {
    .name = "linear",
    .summary = "x W^T with optional accumulator and bias; BF16, or E4M3 and E2M1 codes with scales per 32 channels",
    .source = "DeepGEMM; OCP MX v1.0",
    .clauses = "LIN-1..11 CAST-1..7 SF-3 SF-6 FMT-1..6 DET-1..4 ERR-1",
    .axes = {
        { "rank", "rank of x and out", "2|1|3", AXIS_NAME, 0 },
        { "B", "batch, rank 3", "2|1|3|0", AXIS_INT, 0 },
        { "M", "rows (tokens)", "17|0|1|3|64|130", AXIS_INT, 0 },
        { "N", "columns of out", "33|0|1|7|8|16|17|64|129|512", AXIS_INT, 0 },
        { "K", "columns of x", "128|0|1|2|31|32|33|64|100|129|256|384|1024|7168", AXIS_INT, 0 },
        { "x", "dtype of x; bf16 with weights of one byte is cast first (LIN-5)", "bf16|e4m3", AXIS_NAME, 0 },
        { "w", "dtype of the weight", "bf16|e4m3|e2m1", AXIS_NAME, 0 },
        { "out", "dtype of out and out_acc", "bf16|f32", AXIS_NAME, 0 },
        { "acc", "out_acc: none; beside out; alone, which makes it the output; as the same view as out (LIN-2)",
          "none|own|inplace|same", AXIS_NAME, 0 },
        { "bias", "dtype of the bias", "none|bf16|f32", AXIS_NAME, 0 },
        { "xs", "elements by which x's row stride exceeds K", "0|1|8|16|37", AXIS_INT, 0 },
        { "ws", "the same of the weight, in its storage", "0|1|8|37", AXIS_INT, 0 },
        { "os", "elements by which out's row stride exceeds N; -1: rows of whole 32 bytes (LIN-3)", "-1|0|1|16|37", AXIS_INT, 0 },
        { "as", "32 bytes by which an out_acc of its own has longer rows than LIN-3", "0|1|3", AXIS_INT, 0 },
        { "bs", "elements by which out's batch stride exceeds M rows: it does not flatten (LIN-4)", "0|3|16", AXIS_INT, 0 },
        { "ragged", "K of any 32, the rest of a scale word 0 (LIN-7, SF-6)", "-|pack", AXIS_NAME, 0 },
        { "at", "bytes by which bases miss a 128-byte boundary, at least an element; -1: each operand another",
          "0|1|2|4|8|16|64|-1", AXIS_INT, 0 },
        { "fill", "the data", NULL, AXIS_NAME, 0 },
        { "dialect", "of LIN-2 and LIN-9, in which kernels that state it are judged; -: none", "-|reduce-add|bias-fused",
          AXIS_NAME, 1 },
        { "seed", "of the data", "1", AXIS_INT, 1 },
        { "bad", "a violated precondition that must be refused (ERR-1)", NULL, AXIS_NAME, 1 },
    },
    .tensors = {
        { "x", "([[B,] M,] K)", "bf16 e4m3", NULL, "input; rows flatten (LIN-10)", DIR_IN },
        { "x_sf", "(rows, ceil(K/128))", "i32", "x=e4m3", "its scales, SF-3 of the flattened rows", DIR_IN },
        { "weight", "(N, K or K/2)", "bf16 e4m3 e2m1", NULL, "any row stride", DIR_IN },
        { "weight_sf", "(N, ceil(K/128))", "i32", "w=e4m3 e2m1", "its scales, SF-3, a row of the weight each", DIR_IN },
        { "bias", "(N)", "bf16 f32", "bias=..", "added last", DIR_IN },
        { "out_acc", "([[B,] M,] N)", "as out", "acc=..", "added before the rounding; alone it is the output", DIR_IN },
        { "out", "([[B,] M,] N)", "bf16 f32", NULL, "own strides; or out_acc's own view", DIR_OUT },
    },
    .bounds = {
        { "out", "LIN-1", "of sum|a||b| + |out_acc|: K f32 additions of exact products in any order, or tensor cores, which cut at "
          "most 10.5u per 16 terms (fp8 18.5u per 32); 32 for the ends of a split sum and out_acc, + K 2^-149 for products that "
          "underflow; LC_K8_CORES: 1.4 K + 32; bitwise where LIN-8 holds", "tests/bounds/linear.g", REF_LINEAR_K(7168), NULL },
    },
    .fills = {
        { "normal", "x N(0,1), weights N(0,1)", linear_fill_normal, 0 },
        { "logu", "any sign, exponents over 20 binades", linear_fill_logu, 0 },
        { "outlier", "the first channel 64 times larger", linear_fill_outlier, 0 },
        { "positive", "all of one sign: rounding errors add up", linear_fill_positive, 0 },
        { "decaying", "sizes that fall along K", linear_fill_decaying, 0 },
        { "tail", "one large product and many just below 2^-25 of it", linear_fill_tail, 0 },
        { "tiny", "products around 2^-126 and below", linear_fill_tiny, MAY_BE_ZERO },
        { "huge", "sums up to 2^127, every seventh row beyond: not judged there", linear_fill_huge, 0 },
        { "zero-rows", "every third row zero, of either sign", linear_fill_zero_rows, MAY_BE_ZERO },
        { "exact", "multiples of g, up to 2^24 g and beyond 2^16 g, all scales different: exact in every order (LIN-8)",
          linear_fill_exact, 0 },
        { "ones", "all ones: K", linear_fill_ones, 0 },
        { "one-hot", "one element of a row: a column of the weight", linear_fill_one_hot, 0 },
        { "cancel", "terms that cancel, but for a small rest or none", linear_fill_cancel, MAY_BE_ZERO },
        { "subnormal", "the lowest codes of E4M3 beside the largest, which the weight drops", linear_fill_subnormal, MAY_BE_ZERO },
        { "ties", "sums at BF16 midpoints and beside them", linear_fill_ties, 0 },
        { "mixed", "sizes that differ between neighbours in rows and groups", linear_fill_mixed, 0 },
        { "scales", "scales of all bytes, whose exponents sum to -100, 100 and beyond: not judged there", linear_fill_scales, MAY_BE_ZERO },
        { "specials", "NaN, Inf, -0, subnormals in some rows of every operand", linear_fill_specials, MAY_BE_ZERO },
        { "overflow", "an Inf beside a product that is one in f32: never finite; sums of 2^127 that do not overflow",
          linear_fill_overflow, MAY_BE_ZERO },
        { "flush", "BF16 subnormals in every operand, and usual numbers beside them", linear_fill_flush, MAY_BE_ZERO },
    },
    .bads = linear_bads,
    .forms = (const struct form[]) { { "rank-1", "rank=1" }, { "rank-2", "rank=2" }, { "f32", "out=f32" }, { "no-acc", "acc=none" }, { "in-place", "acc=inplace" }, { "same", "acc=same" }, { "no-bias", "bias=none" }, { "cast", "w=e4m3" }, { "e2m1", "w=e2m1" }, { NULL, NULL } },
    .settle = settle,
    .build = build,
    .check = ref_linear_check,
    .tensors_of = tensors_of,
    .rows = rows,
    .cols = cols,
    .place = place,
    .ref = ref_linear_row,
    .work = ref_linear_work,
    .k_words = "K + 32",
    .k_of = ref_linear_k,
    .y_tensor = LIN_OUT,
    .heavy = heavy,
    .flops = flops,
    .det2_reported = 1,
    .relations = linear_relations,
};
