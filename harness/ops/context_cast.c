/* SPDX-License-Identifier: Apache-2.0 */
/* context_cast: the inverse rotation of the attention context and the E4M3 cast behind it (docs/contract.md KV-7). */
#include "context_cast.h"

#include "../../ref/args.h"
#include "../case.h"
#include "../relations.h"
#include "../scales.h"
#include "rope.h"

enum { MOST_ELEMENTS = 1 << 24 }; /* of a case's table */

static int64_t width(const struct kase *k)
{
    return kase_int(k, "heads") * kase_int(k, "d");
}

static bool is_packed(const struct kase *k)
{
    return kase_is(k, "sf", "col") || kase_is(k, "sf", "rowp");
}

static const char *settle(struct kase *k)
{
    static const char *const gaps[] = { "xs", "hs", "os", "ohs", NULL };
    const char *why = NULL;
    if (!kase_is(k, "bad", "-")) { /* every operand takes part */
        struct kase plain;
        kase_default(&plain, k->op);
        plain.i[axis_of(k->op, "bad")] = kase_int(k, "bad");
        plain.i[axis_of(k->op, "dialect")] = kase_int(k, "dialect");
        kase_set(&plain, "M", "3");
        kase_set(&plain, "heads", "2");
        kase_set(&plain, "d", "64");
        kase_set(&plain, "rot", "32");
        kase_set(&plain, "bf16", "1");
        kase_set(&plain, "utccp", "1");
        *k = plain;
        return "bad stands alone: one good call, spoiled";
    }
    for (int i = 0; gaps[i]; i++)
        if (kase_int(k, gaps[i]) < 0 || kase_int(k, gaps[i]) % 16)
            why = kase_drop(k, gaps[i], "0", "gaps are multiples of 16 elements (KV-6)", why);
    if (kase_int(k, "M") < 0)
        why = kase_drop(k, "M", "17", "M is not negative", why);
    if (kase_int(k, "heads") < 1)
        why = kase_drop(k, "heads", "4", "heads is at least 1 (KV-7)", why);
    if (kase_int(k, "d") < 2)
        why = kase_drop(k, "d", "128", "d is at least 2 (APPLY-5)", why);
    if (kase_int(k, "rot") < 2 || kase_int(k, "rot") % 2 || kase_int(k, "rot") > kase_int(k, "d")) {
        k->i[axis_of(k->op, "rot")] = kase_int(k, "d") / 2 * 2;
        why = why ? why : "rot is even, 2 to d (APPLY-5)";
    }
    if (kase_int(k, "rows") < 1 || kase_int(k, "rows") * kase_int(k, "rot") > MOST_ELEMENTS)
        why = kase_drop(k, "rows", "64", "rows is at least 1, and the table has at most 2^24 elements", why);
    if (kase_is(k, "pos", "permuted") && kase_int(k, "rows") < kase_int(k, "M"))
        why = kase_drop(k, "pos", "random", "pos=permuted needs a row of the table for each token", why);
    if (!kase_int(k, "bf16")) {
        why = kase_drop(k, "os", "0", "os needs bf16=1", why);
        why = kase_drop(k, "ohs", "0", "ohs needs bf16=1", why);
    }
    if (is_packed(k) && round_up(width(k), 32) / 32 % 4 && kase_is(k, "ragged", "-"))
        why = kase_drop(k, "sf", kase_is(k, "sf", "col") ? "colf" : "row",
                        "sf=col and sf=rowp need a multiple of 4 groups, or ragged (SF-2, SF-3, SF-6)", why);
    if (!is_packed(k))
        why = kase_drop(k, "ragged", "-", "ragged needs sf=col or sf=rowp (SF-6)", why);
    if (kase_int(k, "utccp") < 0)
        why = kase_drop(k, "utccp", "0", "utccp is not negative (SF-4)", why);
    if (width(k) % 128)
        why = kase_drop(k, "utccp", "0", "utccp needs heads * d a multiple of 128 (SF-4)", why);
    if (kase_int(k, "bf16") && kase_int(k, "utccp"))
        why = kase_drop(k, "off", "0", "off needs an operand that is switched off", why);
    if (kase_int(k, "M") == 0)
        why = kase_drop(k, "past", "0", "past=1 needs a token", why);
    if (kase_int(k, "past") < 0 || kase_int(k, "past") > 5)
        why = kase_drop(k, "past", "0", "past is 0 to 5", why);
    if (kase_int(k, "past") == 5 && kase_is(k, "ids", "i32"))
        why = kase_drop(k, "ids", "i64", "past=5 needs ids=i64", why);
    return why;
}

/* (M, heads, d), heads d rounded up to 16 apart (KV-6). */
static void heads_tensor(struct call *c, int slot, const char *name, enum dir dir, int64_t gap, int64_t head_gap)
{
    const struct kase *const k = &c->id;
    const int64_t m = kase_int(k, "M"), heads = kase_int(k, "heads"), d = kase_int(k, "d"), head = round_up(d, 16) + head_gap;
    const int64_t row = heads * head + gap, shape[3] = { m, heads, d }, stride[3] = { row, head, 1 }, storage[2] = { m, row };
    call_tensor(c, slot, name, LC_BF16, dir, 3, shape, stride, 2, storage);
}

static void build(struct call *c)
{
    const struct kase *const k = &c->id;
    const int64_t m = kase_int(k, "M"), rot = kase_int(k, "rot"), n = width(k), one = 1;
    const int64_t table[2] = { kase_int(k, "rows"), rot }, stride[2] = { rot, 1 }, codes[2] = { m, n }, code_stride[2] = { n, 1 };
    const int bf16 = kase_int(k, "bf16") != 0;
    heads_tensor(c, CTX_CONTEXT, "context", DIR_IN, kase_int(k, "xs"), kase_int(k, "hs"));
    call_tensor(c, CTX_OUT, "out", LC_E4M3, DIR_OUT, 2, codes, code_stride, 2, codes);
    call_tensor(c, CTX_TABLE, "table", kase_is(k, "table", "bf16") ? LC_BF16 : LC_F32, DIR_IN, 2, table, stride, 2, table);
    call_tensor(c, CTX_POSITIONS, "positions", kase_is(k, "ids", "i64") ? LC_I64 : LC_I32, DIR_IN, 1, &m, &one, 1, &m);
    if (bf16 || kase_int(k, "off")) {
        heads_tensor(c, CTX_BF16, "bf16", DIR_OUT, kase_int(k, "os"), kase_int(k, "ohs"));
        c->slot[CTX_BF16].on = bf16;
    }
    call_scalar(c, "rotary_dim", rot, 0);
    call_scalar(c, "interleaved", kase_int(k, "inter") != 0, 0);
    call_scalar(c, "return_bf16", bf16, 0);
    scales_of(c, CTX_SF, 1, (struct scaled) { 2, 1, m, n, 32, 1 });
    if (!kase_is(k, "dialect", "-"))
        call_scalar(c, "dialect", kase_int(k, "dialect"), 0);
    call_bases(c);
}

static const struct lc_tensor *const *tensors_of(const union op_args *args)
{
    return args->context_cast.t;
}

static int64_t rows(const union op_args *args)
{
    return args->context_cast.rope.n;
}

static int64_t cols(const union op_args *args, int tensor)
{
    const struct context_cast_args *const a = &args->context_cast;
    switch (tensor) {
    case CTX_TABLE:
        return a->rope.rows * a->rope.rotary_dim;
    case CTX_POSITIONS:
        return 1;
    case CTX_SF:
        return sf_cols(&a->sf);
    case CTX_EXTRA_SF:
        return a->sf.groups;
    default:
        return a->rope.heads[0] * a->rope.d;
    }
}

static int64_t place(const union op_args *args, int tensor, int64_t row, int64_t col)
{
    const struct context_cast_args *const a = &args->context_cast;
    const struct lc_tensor *const t = a->t[tensor];
    switch (tensor) {
    case CTX_TABLE:
        return row == 0 ? col * fmt_bytes((enum lc_dtype) t->dtype) : -1;
    case CTX_POSITIONS:
        return row * fmt_bytes((enum lc_dtype) t->dtype);
    case CTX_SF:
        return sf_place(&a->sf, a->rope.n, row, col);
    case CTX_EXTRA_SF:
        return sf_extra_place(&a->sf, t, row, col);
    case CTX_OUT:
        return row * a->rope.heads[0] * a->rope.d + col;
    default:
        return 2 * (row * t->stride[0] + col / a->rope.d * t->stride[1] + col % a->rope.d);
    }
}

static double k_of(const union op_args *args, uint32_t claims)
{
    (void) claims;
    return args->context_cast.t[CTX_TABLE]->dtype == LC_BF16 ? REF_ROPE_EXACT_K : REF_ROPE_K;
}

const struct op op_context_cast = {
    .name = "context_cast",
    .summary = "inverse rotation of the attention context and its E4M3 cast, with optional BF16 second output",
    .source = "DeepInfer; TileKernels",
    .clauses = "KV-6 KV-7 APPLY-1 APPLY-2 APPLY-4..6 CAST-1..7 CAST-10 SF-1..4 SF-6 FMT-1..3 FMT-5 FMT-6 DET-1..4 ERR-1 ERR-2",
    .axes = {
        { "M", "tokens", "17|0|1|2|3|4|33|130", AXIS_INT, 0 },
        { "heads", "heads", "4|1|2|3|16", AXIS_INT, 0 },
        { "d", "elements of a head", "128|64|192|100|32|6", AXIS_INT, 0 },
        { "rot", "rotary_dim, the last of a head", "64|2|32|96|128|6", AXIS_INT, 0 },
        { "inter", "1: interleaved pairs, 0: neox (APPLY-1)", "0|1", AXIS_INT, 0 },
        { "rows", "rows of the table", "64|1|700", AXIS_INT, 0 },
        { "table", "dtype of the table (ROT-6)", "f32|bf16", AXIS_NAME, 0 },
        { "ids", "dtype of positions", "i64|i32", AXIS_NAME, 0 },
        { "pos", "positions", "random|last|permuted|repeated|first", AXIS_NAME, 0 },
        { "past", ROPE_PAST_HELP, "0|1", AXIS_INT, 0 },
        { "bf16", "the BF16 second output (return_bf16)", "0|1", AXIS_INT, 0 },
        { "sf", "scale layout: SF-3, SF-1, SF-2, col-f32", "col|row|rowp|colf", AXIS_NAME, 0 },
        { "utccp", "block_m of the extra SF-4 scales; 0: none", "0|1|48|128|200", AXIS_INT, 0 },
        { "ragged", "packed scales of any width, the rest of a word 0 or free (SF-6)", "-|pack|free", AXIS_NAME, 0 },
        { "xs", "elements behind the heads of each token of context", "0|16|48", AXIS_INT, 0 },
        { "hs", "elements by which heads are further apart than d, rounded up to 16", "0|16|64", AXIS_INT, 0 },
        { "os", "the first of bf16", "0|32|112", AXIS_INT, 0 },
        { "ohs", "the second of bf16", "0|16|48", AXIS_INT, 0 },
        { "at", "bytes by which bases miss a 128-byte boundary, at least an element; -1: each operand another",
          "0|1|2|4|8|16|64|-1", AXIS_INT, 0 },
        { "off", "1: operands that are switched off are listed; 2: with an address where nothing is mapped (RMS-11)", "0|1|2",
          AXIS_INT, 0 },
        { "fill", "the data", NULL, AXIS_NAME, 0 },
        { "dialect", "of KV-7, in which kernels that state it are judged; -: none", "-|f32", AXIS_NAME, 1 },
        { "seed", "of the data", "1", AXIS_INT, 1 },
        { "bad", "a violated precondition that must be refused (ERR-1)", NULL, AXIS_NAME, 1 },
    },
    .tensors = {
        { "context", "(N, heads, D)", "bf16", NULL, "not modified; strides multiples of 16 (KV-6)", DIR_IN },
        { "out", "(N, heads * D)", "e4m3", NULL, "codes, contiguous", DIR_OUT },
        { "table", "(rows, rotary_dim)", "f32 bf16", NULL, "[cos | sin] of each position, contiguous", DIR_IN },
        { "positions", "(N)", "i32 i64", NULL, "row of the table for each token, any order", DIR_IN },
        { "bf16", "(N, heads, D)", "bf16", "bf16=1", "what is cast, own strides", DIR_OUT },
        { "sf", "(N, d_s or words)", "f32 i32", NULL, "scales of the (N, heads * D) matrix, SF-1..SF-3 or col-f32, SF-6", DIR_OUT },
        { "extra_sf", "(N, heads*D/128)", "i32", "utccp>0", "the same scales in SF-4", DIR_OUT },
    },
    .bounds = {
        { "bf16", "APPLY-1", "of |a c| + |b s|: two products and a sum, each rounded once, and a part in 2^20 for the second order; "
          "with a BF16 table products are exact: 1 u (rope_exact.g); where it is 2^127 or more, the element and its group are not judged",
          "tests/bounds/rope.g", REF_ROPE_K, NULL },
        { "out", "KV-7", "codes of the bf16 that was returned: bitwise; without it, of some value that the bound on bf16 admits",
          "tests/bounds/rope.g", REF_ROPE_K, NULL },
        { "sf", "CAST-4", "a function of amax: bitwise where bf16 is given or unambiguous, else some admissible amax gives it", NULL,
          0, NULL },
        { "extra_sf", "SF-4", "the bytes of sf, placed elsewhere: bitwise", NULL, 0, NULL },
        { "out", "KV-7", "y as bf16 before its rounding, an f32 that no output shows: its hull, end by end, through the cast",
          "tests/bounds/rope.g", REF_ROPE_K, "f32" },
    },
    .fills = {
        { "normal", "N(0,1), the table of base 10000 (ROT-1..3)", rope_fill_normal, 0 },
        { "mscale", "the same, times 1.2 (YARN-4)", rope_fill_mscale, 0 },
        { "logu", "any sign, exponents -30..29; a table of any sign, exponents -12..11", rope_fill_logu, MAY_BE_ZERO },
        { "outlier", "one element of a head 65536 times larger", rope_fill_outlier, MAY_BE_ZERO },
        { "tiny", "products and data around 2^-126 and below", rope_fill_tiny, MAY_BE_ZERO },
        { "huge", "products up to 2^126, and of every fifth token up to 2^128: not judged there", rope_fill_huge, 0 },
        { "zero", "zeros of either sign in data and table, whole tokens of them", rope_fill_zero, MAY_BE_ZERO },
        { "exact", "small integers, a table of 0, 1/4, 1/2, 1, 2 of either sign", rope_fill_exact, 0 },
        { "cancel", "|b c - a s| far below |b c|, down to one rounding of the table", rope_fill_cancel, MAY_BE_ZERO },
        { "brink", "y beside BF16 midpoints, out of reach of the bound", rope_fill_brink, 0 },
        { "specials", "NaN, Inf, -0, subnormals in one pair of some heads; NaN in what does not rotate", rope_fill_specials, 0 },
        { "edges", "amax of a group of 32 is 448 * 2^k or a BF16 neighbour; nothing turns", context_cast_fill_edges, 0 },
        { "reach", "y at BF16 midpoints, on a scale step: two results are right", context_cast_fill_reach, 0 },
        { "scales", "scales that differ between neighbours in tokens and groups", context_cast_fill_scales, 0 },
        { "diagonal", "an eighth of a turn, |a| = |b| up to 2^20: whole groups of which a rounding is left",
          context_cast_fill_diagonal, MAY_BE_ZERO },
        { "faint", "cosines and sines below 2^-126, data around 2^100", rope_fill_faint, MAY_BE_ZERO },
    },
    .bads = context_cast_bads,
    .forms = (const struct form[]) { { "no-bf16", "bf16=0" }, { "no-extra", "utccp=0" }, { "row", "sf=row" }, { "colf", "sf=colf" }, { "interleaved", "inter=1" }, { "bf16", "table=bf16" }, { "i32", "ids=i32" }, { NULL, NULL } },
    .settle = settle,
    .build = build,
    .check = ref_context_cast_check,
    .tensors_of = tensors_of,
    .rows = rows,
    .cols = cols,
    .place = place,
    .ref = ref_context_cast_row,
    .work = ref_context_cast_work,
    .check_values = ref_rope_check_values,
    .lost = ref_rope_lost,
    .k_of = k_of,
    .relations = context_cast_relations,
};
