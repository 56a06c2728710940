/* SPDX-License-Identifier: Apache-2.0 */
/* qkv: split QKV, RMSNorm of each head, neox rotation (docs/contract.md QKV, RMS, APPLY). */
#include "qkv.h"

#include <math.h>

#include "../../ref/args.h"
#include "../case.h"
#include "../relations.h"
#include "../scales.h"
#include "rope.h"

static const char *settle(struct kase *k)
{
    static const struct {
        const char *axis, *first;
        int64_t least;
    } counts[] = { { "M", "17", 0 }, { "Hq", "4", 1 }, { "Hkv", "2", 1 }, { "D", "64", 2 }, { "P", "64", 1 } };
    const char *why = NULL;
    if (!kase_is(k, "bad", "-")) {
        struct kase plain;
        kase_default(&plain, k->op);
        plain.i[axis_of(k->op, "bad")] = kase_int(k, "bad");
        plain.i[axis_of(k->op, "dialect")] = kase_int(k, "dialect");
        kase_set(&plain, "M", "3");
        kase_set(&plain, "bias", "bf16");
        kase_set(&plain, "table", "bf16");
        *k = plain;
        return "bad stands alone: one good call, spoiled";
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (kase_int(k, counts[i].axis) < counts[i].least)
            why = kase_drop(k, counts[i].axis, counts[i].first, "M is not negative, Hq, Hkv, P are at least 1, D at least 2",
                            why);
    const int64_t rot = kase_int(k, "rot");
    if (rot < 0 || rot % 2 || rot > kase_int(k, "D"))
        why = kase_drop(k, "rot", "0", "rot is even and at most D (QKV-3)", why);
    if (kase_int(k, "xs") < 0 || kase_int(k, "xs") % 16)
        why = kase_drop(k, "xs", "0", "row strides are multiples of 16 elements (QKV-5)", why);
    if (kase_int(k, "past") < 0 || kase_int(k, "past") > 5 || kase_int(k, "M") == 0)
        why = kase_drop(k, "past", "0", "past is 0 to 5, and needs a token", why);
    if (kase_int(k, "past") == 5 && kase_is(k, "pos", "i32"))
        why = kase_drop(k, "pos", "i64", "past=5 needs pos=i64", why);
    if (!(kase_real(k, "eps") > 0) || !isfinite(kase_real(k, "eps")))
        why = kase_drop(k, "eps", "1e-6", "eps is positive and finite (RMS-12)", why);
    if (kase_is(k, "dialect", "bf16rot"))
        why = kase_drop(k, "table", "bf16", "dialect=bf16rot has a BF16 table (QKV-3)", why);
    if (kase_is(k, "dialect", "unfused-bias") && kase_is(k, "bias", "-"))
        why = kase_drop(k, "bias", "bf16", "dialect=unfused-bias is about the bias (QKV-4)", why);
    if (kase_is(k, "fill", "cancel") && kase_is(k, "bias", "-"))
        why = kase_drop(k, "bias", "bf16", "fill=cancel is about the bias", why);
    if (kase_is(k, "fill", "ties"))
        why = kase_drop(k, "eps", "1.75", "fill=ties needs eps=1.75", why);
    return why;
}

static int64_t rope_dim(const struct kase *k)
{
    return kase_int(k, "rot") ? kase_int(k, "rot") : kase_int(k, "D") / 2 * 2;
}

static enum lc_dtype vector_type(const struct kase *k, const char *axis, int is_k)
{
    return kase_is(k, axis, "f32") || (is_k && kase_is(k, axis, "mixed")) ? LC_F32 : LC_BF16;
}

static void build(struct call *c)
{
    const struct kase *const k = &c->id;
    const int64_t m = kase_int(k, "M"), d = kase_int(k, "D"), one = 1;
    const int64_t q_cols = kase_int(k, "Hq") * d, kv_cols = kase_int(k, "Hkv") * d, width = q_cols + 2 * kv_cols;
    const int64_t row = round_up(width, 16) + kase_int(k, "xs");
    const int64_t x[2] = { m, width }, x_stride[2] = { row, 1 }, x_storage[2] = { m, row };
    const int64_t table[2] = { kase_int(k, "P"), rope_dim(k) }, table_stride[2] = { rope_dim(k), 1 };
    const int64_t q[2] = { m, q_cols }, q_stride[2] = { q_cols, 1 }, kv[2] = { m, kv_cols }, kv_stride[2] = { kv_cols, 1 };
    call_tensor(c, QKV_X, "x", LC_BF16, DIR_IN, 2, x, x_stride, 2, x_storage);
    call_tensor(c, QKV_W_Q, "w_q", vector_type(k, "w", 0), DIR_IN, 1, &d, &one, 1, &d);
    call_tensor(c, QKV_W_K, "w_k", vector_type(k, "w", 1), DIR_IN, 1, &d, &one, 1, &d);
    if (!kase_is(k, "bias", "-")) {
        call_tensor(c, QKV_B_Q, "b_q", vector_type(k, "bias", 0), DIR_IN, 1, &d, &one, 1, &d);
        call_tensor(c, QKV_B_K, "b_k", vector_type(k, "bias", 1), DIR_IN, 1, &d, &one, 1, &d);
    }
    call_tensor(c, QKV_TABLE, "table", kase_is(k, "table", "bf16") ? LC_BF16 : LC_F32, DIR_IN, 2, table, table_stride, 2, table);
    call_tensor(c, QKV_POSITIONS, "positions", kase_is(k, "pos", "i64") ? LC_I64 : LC_I32, DIR_IN, 1, &m, &one, 1, &m);
    call_tensor(c, QKV_Q, "q", LC_BF16, DIR_OUT, 2, q, q_stride, 2, q);
    call_tensor(c, QKV_K, "k", LC_BF16, DIR_OUT, 2, kv, kv_stride, 2, kv);
    call_tensor(c, QKV_V, "v", LC_BF16, DIR_OUT, 2, kv, kv_stride, 2, kv);
    c->slot[QKV_V].fmt = FMT_BITS16; /* QKV-5 */
    call_scalar(c, "heads_q", kase_int(k, "Hq"), 0);
    call_scalar(c, "heads_kv", kase_int(k, "Hkv"), 0);
    call_scalar(c, "head_dim", d, 0);
    call_scalar(c, "eps", 0, kase_real(k, "eps"));
    if (!kase_is(k, "dialect", "-"))
        call_scalar(c, "dialect", kase_int(k, "dialect"), 0);
    call_bases(c);
}

static const struct lc_tensor *const *tensors_of(const union op_args *args)
{
    return args->qkv.t;
}

static int64_t rows(const union op_args *args)
{
    return args->qkv.tokens;
}

static int64_t cols(const union op_args *args, int tensor)
{
    const struct qkv_args *const a = &args->qkv;
    switch (tensor) {
    case QKV_X:
        return (a->heads_q + 2 * a->heads_kv) * a->head_dim;
    case QKV_TABLE: /* one row for all tokens */
        return a->table_rows * a->rope_dim;
    case QKV_POSITIONS:
        return 1;
    case QKV_Q:
        return a->heads_q * a->head_dim;
    case QKV_K:
    case QKV_V:
        return a->heads_kv * a->head_dim;
    default:
        return a->head_dim;
    }
}

static int64_t place(const union op_args *args, int tensor, int64_t row, int64_t col)
{
    const struct lc_tensor *const t = args->qkv.t[tensor];
    const int64_t size = fmt_bytes((enum lc_dtype) t->dtype);
    if (tensor == QKV_POSITIONS)
        return row * size;
    if (tensor != QKV_X && tensor < QKV_Q)
        return row == 0 ? col * size : -1;
    return (arg_row(t, row) + col) * size;
}

#define N_WHY                                                                                                                    \
    "n before its rounding, of |x rstd w|: RMS-3 8u, fl(s + eps) 0.5u, RMS-4 4u, two products 2u, the sum 1u, nominal s and "    \
    "rstd 2u; of |bias| 1u; both ends rounded to BF16, "

const struct op op_qkv = {
    .name = "qkv",
    .summary = "split QKV, RMSNorm of each head of q and k with optional bias, neox rotation by a table",
    .source = "arXiv:1910.07467; arXiv:2104.09864",
    .clauses = "QKV-1..5 RMS-3..5 RMS-12 APPLY-1 APPLY-4..6 FMT-1 FMT-5 FMT-6 DET-1..4 ERR-1 ERR-2",
    .axes = {
        { "M", "tokens", "17|0|1|2|3|5|64", AXIS_INT, 0 },
        { "Hq", "heads of q", "4|1|3|8", AXIS_INT, 0 },
        { "Hkv", "heads of k, and of v", "2|1|4", AXIS_INT, 0 },
        { "D", "elements of a head", "64|2|3|8|16|80|100|128|192|256|320", AXIS_INT, 0 },
        { "rot", "rope_dim; 0: D, or D - 1 where that is odd", "0|2|6|16|32|64|96", AXIS_INT, 0 },
        { "w", "dtype of w_q and w_k; mixed: bf16, f32", "bf16|f32|mixed", AXIS_NAME, 0 },
        { "bias", "dtype of b_q and b_k; mixed: bf16, f32; -: none", "-|bf16|f32|mixed", AXIS_NAME, 0 },
        { "table", "dtype of the table", "f32|bf16", AXIS_NAME, 0 },
        { "pos", "dtype of the positions", "i32|i64", AXIS_NAME, 0 },
        { "P", "rows of the table", "64|1|5|1000", AXIS_INT, 0 },
        { "past", ROPE_PAST_HELP, "0|1|2|3|4|5", AXIS_INT, 1 },
        { "eps", "added to the mean square", "1e-6|1e-5|1e-3", AXIS_REAL, 0 },
        { "xs", "elements by which x's row stride exceeds its width, rounded up to 16", "0|16|48", AXIS_INT, 0 },
        { "at", "bytes by which bases miss a 128-byte boundary, at least an element; -1: each operand another",
          "0|1|2|4|8|16|64|-1", AXIS_INT, 0 },
        { "fill", "the data", NULL, AXIS_NAME, 0 },
        { "dialect", "of QKV-3 and QKV-4, in which kernels that state it are judged; -: none", "-|bf16rot|simt|unfused-bias",
          AXIS_NAME, 1 },
        { "seed", "of the data", "1", AXIS_INT, 1 },
        { "bad", "a violated precondition that must be refused (ERR-1)", NULL, AXIS_NAME, 1 },
    },
    .tensors = {
        { "x", "(T, (Hq + 2 Hkv) D)", "bf16", NULL, "q, k and v of each token, one behind the other", DIR_IN },
        { "w_q", "(D)", "bf16 f32", NULL, "weight of the heads of q", DIR_IN },
        { "w_k", "(D)", "bf16 f32", NULL, "weight of the heads of k", DIR_IN },
        { "b_q", "(D)", "bf16 f32", "bias", "added before the one rounding of n (QKV-2)", DIR_IN },
        { "b_k", "(D)", "bf16 f32", "bias", "likewise; both or neither", DIR_IN },
        { "table", "(rows, rope_dim)", "f32 bf16", NULL, "[cos | sin], a row a position", DIR_IN },
        { "positions", "(T)", "i32 i64", NULL, "rows of the table, any order, repeats (APPLY-4)", DIR_IN },
        { "q", "(T, Hq D)", "bf16", NULL, "contiguous", DIR_OUT },
        { "k", "(T, Hkv D)", "bf16", NULL, "contiguous", DIR_OUT },
        { "v", "(T, Hkv D)", "bf16", NULL, "v of x, bit by bit (QKV-1)", DIR_OUT },
    },
    .bounds = {
        { "q", "QKV-2", N_WHY "then 2u (|a c| + |b s|) of APPLY-1, 1u with a BF16 table; dimensions from rope_dim on: n itself",
          "tests/bounds/qkv.g", REF_QKV_K, NULL },
        { "k", "QKV-2", "as q", "tests/bounds/qkv.g", REF_QKV_K, NULL },
        { "v", "QKV-1", "copied: bitwise, NaN payloads too", NULL, 0, NULL },
        { "q", "QKV-3", N_WHY "products and sum rounded to BF16, end by end", "tests/bounds/qkv.g", REF_QKV_K, "bf16rot" },
        { "k", "QKV-3", "as q", "tests/bounds/qkv.g", REF_QKV_K, "bf16rot" },
        { "q", "QKV-4", "n as without a bias, rounded; its sum with a BF16 bias is one rounding, with an F32 one 1u more",
          "tests/bounds/qkv.g", REF_QKV_K, "unfused-bias" },
        { "k", "QKV-4", "as q", "tests/bounds/qkv.g", REF_QKV_K, "unfused-bias" },
    },
    .fills = {
        { "normal", "x N(0,1), weights around 1, bias around 0", qkv_fill_normal, 0 },
        { "logu", "any sign, exponents -8..7", qkv_fill_logu, 0 },
        { "outlier", "one channel of each head 1024 times larger", qkv_fill_outlier, 0 },
        { "tiny", "mean squares around eps and far below", qkv_fill_tiny, 0 },
        { "huge", "up to 2^52", qkv_fill_huge, 0 },
        { "positive", "all of one sign, cosines and sines too", qkv_fill_positive, 0 },
        { "zero-rows", "every third head zero, of either sign", qkv_fill_zero_rows, MAY_BE_ZERO },
        { "exact", "integers -4..4, rotations by multiples of 90 degrees", qkv_fill_exact, MAY_BE_ZERO },
        { "ties", "n at BF16 midpoints, and an F32 weight one ulp beside", qkv_fill_ties, 0 },
        { "rounds", "n within its bound of a BF16 midpoint: two legal roundings", qkv_fill_rounds, 0 },
        { "cancel", "bias near -x rstd w", qkv_fill_cancel, MAY_BE_ZERO },
        { "sentinel", "first and last token, last head and last channel the largest", qkv_fill_sentinel, 0 },
        { "mixed", "sizes that differ between tokens, heads and channels", qkv_fill_mixed, 0 },
        { "specials", "NaN, Inf, -0, subnormals in some heads; NaN payloads in v", qkv_fill_specials, MAY_BE_ZERO },
        { "weights", "of any sign, some subnormal, -0, one NaN; cosines and sines likewise", qkv_fill_weights, 0 },
        { "limits", "weights and biases up to Inf, angles below 2^-126, sums of squares up to 2^127", qkv_fill_limits, 0 },
        { "table", "NaN and Inf in the table", qkv_fill_table, 0 },
    },
    .bads = qkv_bads,
    .forms = (const struct form[]) { { "no-bias", "bias=-" }, { "f32", "w=f32 bias=f32" }, { "i64", "pos=i64" }, { "partial", "rot=16" }, { "mqa", "Hkv=1" }, { NULL, NULL } },
    .settle = settle,
    .build = build,
    .check = ref_qkv_check,
    .check_values = ref_qkv_check_values,
    .lost = ref_qkv_lost,
    .tensors_of = tensors_of,
    .rows = rows,
    .cols = cols,
    .place = place,
    .ref = ref_qkv_row,
    .work = ref_qkv_work,
    .copies = 1u << QKV_V,
    .relations = qkv_relations,
};
