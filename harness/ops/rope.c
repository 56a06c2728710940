/* SPDX-License-Identifier: Apache-2.0 */
/* rope: rotation of query and key by a cos/sin table (docs/contract.md APPLY). */
#include "rope.h"

#include "../../ref/args.h"
#include "../case.h"
#include "../relations.h"
#include "../scales.h"

enum { MOST_ELEMENTS = 1 << 24 }; /* of a case's table */

static const char *settle(struct kase *k)
{
    static const char *const gaps[] = { "xs", "hs", "rs", "khs", "os", "ohs", "ros", NULL };
    const char *why = NULL;
    if (!kase_is(k, "bad", "-")) { /* out of place, so that every tensor takes part */
        struct kase plain;
        kase_default(&plain, k->op);
        plain.i[axis_of(k->op, "bad")] = kase_int(k, "bad");
        kase_set(&plain, "M", "3");
        kase_set(&plain, "kv", "2");
        kase_set(&plain, "to", "own");
        kase_set(&plain, "d", "64");
        kase_set(&plain, "rot", "32");
        kase_set(&plain, "offset", "16");
        *k = plain;
        return "bad stands alone: one good call, spoiled";
    }
    for (int i = 0; gaps[i]; i++)
        if (kase_int(k, gaps[i]) < 0)
            why = kase_drop(k, gaps[i], "0", "gaps are not negative", why);
    if (kase_int(k, "M") < 0)
        why = kase_drop(k, "M", "17", "M is not negative", why);
    if (kase_int(k, "heads") < 1)
        why = kase_drop(k, "heads", "3", "heads is at least 1 (APPLY-6)", why);
    if (kase_int(k, "kv") < 0)
        why = kase_drop(k, "kv", "1", "kv is not negative", why);
    if (kase_int(k, "d") < 2)
        why = kase_drop(k, "d", "128", "d is at least 2 (APPLY-5)", why);
    if (kase_int(k, "rot") < 2 || kase_int(k, "rot") % 2 || kase_int(k, "rot") > kase_int(k, "d")) {
        k->i[axis_of(k->op, "rot")] = kase_int(k, "d") / 2 * 2;
        why = why ? why : "rot is even, 2 to d (APPLY-5)";
    }
    if (kase_int(k, "offset") < 0 || kase_int(k, "offset") > kase_int(k, "d") - kase_int(k, "rot")) {
        k->i[axis_of(k->op, "offset")] = kase_int(k, "d") - kase_int(k, "rot");
        why = why ? why : "offset is 0 to d - rot (APPLY-5)";
    }
    if (kase_int(k, "rows") < 1 || kase_int(k, "rows") * kase_int(k, "rot") > MOST_ELEMENTS)
        why = kase_drop(k, "rows", "64", "rows is at least 1, and the table has at most 2^24 elements", why);
    if (kase_is(k, "pos", "permuted") && kase_int(k, "rows") < kase_int(k, "M"))
        why = kase_drop(k, "pos", "random", "pos=permuted needs a row of the table for each token", why);
    if (!kase_int(k, "kv")) {
        why = kase_drop(k, "rs", "0", "rs needs a key", why);
        why = kase_drop(k, "khs", "0", "khs needs a key", why);
        why = kase_drop(k, "ros", "0", "ros needs a key", why);
        why = kase_drop(k, "buf", "0", "buf=1 needs a key", why);
    }
    if (kase_int(k, "buf")) { /* [query heads | key heads] of each token */
        why = kase_drop(k, "khs", "0", "buf=1: query's strides are key's too", why);
        why = kase_drop(k, "rs", "0", "buf=1: query's strides are key's too", why);
        why = kase_drop(k, "by", "token", "buf=1: query's strides are key's too", why);
    }
    if (!kase_is(k, "to", "own")) {
        why = kase_drop(k, "os", "0", "os needs to=own", why);
        why = kase_drop(k, "ohs", "0", "ohs needs to=own", why);
        why = kase_drop(k, "ros", "0", "ros needs to=own", why);
    }
    if (kase_int(k, "M") == 0)
        why = kase_drop(k, "past", "0", "past=1 needs a token", why);
    if (kase_int(k, "past") < 0 || kase_int(k, "past") > 5)
        why = kase_drop(k, "past", "0", "past is 0 to 5", why);
    if (kase_int(k, "past") == 5 && kase_is(k, "ids", "i32"))
        why = kase_drop(k, "ids", "i64", "past=5 needs ids=i64", why);
    return why;
}

/* (M, heads, d), `gap` elements behind each token's heads and `head_gap` behind each head; by=head: heads outermost. */
static void heads_tensor(struct call *c, int slot, const char *name, enum dir dir, int64_t heads, int64_t gap, int64_t head_gap)
{
    const struct kase *const k = &c->id;
    const int64_t m = kase_int(k, "M"), d = kase_int(k, "d"), head = d + head_gap;
    const int by_head = kase_is(k, "by", "head");
    const int64_t outer = by_head ? heads : m, inner = by_head ? m : heads, row = inner * head + gap;
    const int64_t shape[3] = { m, heads, d }, stride[3] = { by_head ? head : row, by_head ? row : head, 1 };
    const int64_t storage[2] = { outer, row };
    call_tensor(c, slot, name, LC_BF16, dir, 3, shape, stride, 2, storage);
}

/* Key's heads behind query's, in query's storage. */
static void one_buffer(struct call *c, int64_t heads, int64_t kv)
{
    const struct kase *const k = &c->id;
    const int64_t m = kase_int(k, "M"), d = kase_int(k, "d"), head = d + kase_int(k, "hs");
    const int64_t row = (heads + kv) * head + kase_int(k, "xs"), behind = heads * head;
    const int64_t query[3] = { m, heads, d }, key[3] = { m, kv, d }, stride[3] = { row, head, 1 };
    const int64_t storage[2] = { m, row }, rest = m > 0 ? m * row - behind : 0;
    call_tensor(c, ROPE_QUERY, "query", LC_BF16, DIR_IN, 3, query, stride, 2, storage);
    call_tensor(c, ROPE_KEY, "key", LC_BF16, DIR_IN, 3, key, stride, 1, &rest);
    c->slot[ROPE_KEY].same_as = ROPE_QUERY;
    c->slot[ROPE_KEY].shift = m > 0 ? 2 * behind : 0;
}

/* A second slot over the whole of an output, for what of it is copied. */
static void rest_tensor(struct call *c, int slot, int of, const char *name)
{
    c->slot[slot] = c->slot[of];
    c->slot[slot].t.name = name;
    c->slot[slot].fmt = FMT_BITS16;
    c->slot[slot].same_as = of;
    c->slot[slot].implied = 1;
}

static void build(struct call *c)
{
    const struct kase *const k = &c->id;
    const int64_t m = kase_int(k, "M"), heads = kase_int(k, "heads"), kv = kase_int(k, "kv"), rot = kase_int(k, "rot"), one = 1;
    const int64_t table[2] = { kase_int(k, "rows"), rot }, stride[2] = { rot, 1 };
    const int own = kase_is(k, "to", "own"), absent = kase_is(k, "to", "place"), rest = own && rot < kase_int(k, "d");
    if (kase_int(k, "buf")) {
        one_buffer(c, heads, kv);
    } else {
        heads_tensor(c, ROPE_QUERY, "query", DIR_IN, heads, kase_int(k, "xs"), kase_int(k, "hs"));
        if (kv)
            heads_tensor(c, ROPE_KEY, "key", DIR_IN, kv, kase_int(k, "rs"), kase_int(k, "khs"));
    }
    call_tensor(c, ROPE_TABLE, "table", kase_is(k, "table", "bf16") ? LC_BF16 : LC_F32, DIR_IN, 2, table, stride, 2, table);
    call_tensor(c, ROPE_POSITIONS, "positions", kase_is(k, "ids", "i64") ? LC_I64 : LC_I32, DIR_IN, 1, &m, &one, 1, &m);
    for (int which = 0; which < (kv ? 2 : 1); which++) {
        const int in = ROPE_QUERY + which, out = ROPE_QUERY_OUT + which;
        const char *const name = which ? "key_out" : "query_out";
        if (own) {
            heads_tensor(c, out, name, DIR_OUT, which ? kv : heads, kase_int(k, which ? "ros" : "os"), kase_int(k, "ohs"));
        } else { /* APPLY-3 */
            c->slot[out] = c->slot[in];
            c->slot[out].t.name = name;
            c->slot[out].dir = DIR_OUT;
            c->slot[out].same_as = in;
            c->slot[out].shift = 0;
            c->slot[out].implied = absent;
        }
        if (rest)
            rest_tensor(c, ROPE_QUERY_REST + which, out, which ? "key_rest" : "query_rest");
    }
    call_scalar(c, "rotary_dim", rot, 0);
    call_scalar(c, "offset", kase_int(k, "offset"), 0);
    call_scalar(c, "interleaved", kase_int(k, "inter") != 0, 0);
    call_scalar(c, "conjugate", kase_int(k, "conj") != 0, 0);
    call_bases(c);
}

static const struct lc_tensor *const *tensors_of(const union op_args *args)
{
    return args->rope.t;
}

static int64_t rows(const union op_args *args)
{
    return args->rope.n;
}

/* Elements of one head that the tensor has or owns: all, those that rotate, or those that do not. */
static int64_t of_head(const struct rope_args *a, int tensor)
{
    if (tensor == ROPE_QUERY_REST || tensor == ROPE_KEY_REST)
        return a->d - a->rotary_dim;
    return tensor == ROPE_QUERY_OUT || tensor == ROPE_KEY_OUT ? a->rotary_dim : a->d;
}

static bool of_key(int tensor)
{
    return tensor == ROPE_KEY || tensor == ROPE_KEY_OUT || tensor == ROPE_KEY_REST;
}

static int64_t cols(const union op_args *args, int tensor)
{
    const struct rope_args *const a = &args->rope;
    if (tensor == ROPE_TABLE)
        return a->rows * a->rotary_dim;
    return tensor == ROPE_POSITIONS ? 1 : a->heads[of_key(tensor)] * of_head(a, tensor);
}

static int64_t place(const union op_args *args, int tensor, int64_t row, int64_t col)
{
    const struct rope_args *const a = &args->rope;
    const struct lc_tensor *const t = a->t[tensor];
    if (tensor == ROPE_TABLE)
        return row == 0 ? col * fmt_bytes((enum lc_dtype) t->dtype) : -1;
    if (tensor == ROPE_POSITIONS)
        return row * fmt_bytes((enum lc_dtype) t->dtype);
    const int64_t n = of_head(a, tensor);
    int64_t i = col % n;
    if (tensor == ROPE_QUERY_OUT || tensor == ROPE_KEY_OUT)
        i += a->offset;
    else if ((tensor == ROPE_QUERY_REST || tensor == ROPE_KEY_REST) && i >= a->offset)
        i += a->rotary_dim;
    return 2 * (row * t->stride[0] + col / n * t->stride[1] + i);
}

const struct op op_rope = {
    .name = "rope",
    .summary = "rotation of query and key heads by a cos/sin table, in place or not",
    .source = "arXiv:2104.09864; DeepInfer",
    .clauses = "APPLY-1..6 ROT-4 ROT-6 FMT-1 FMT-5 FMT-6 DET-1..4 ERR-1 ERR-2",
    .axes = {
        { "M", "tokens", "17|0|1|2|3|33|130", AXIS_INT, 0 },
        { "heads", "heads of query", "3|1|2|8|32", AXIS_INT, 0 },
        { "kv", "heads of key; 0: no key", "1|0|2|5", AXIS_INT, 0 },
        { "d", "elements of a head", "128|64|192|100|37|6", AXIS_INT, 0 },
        { "rot", "rotary_dim, the width of the table", "128|64|2|32|96|6|34", AXIS_INT, 0 },
        { "offset", "first element of a head that rotates", "0|64|1|8|3", AXIS_INT, 0 },
        { "inter", "1: interleaved pairs, 0: neox (APPLY-1)", "0|1", AXIS_INT, 0 },
        { "conj", "1: conjugate, the inverse rotation (APPLY-2)", "0|1", AXIS_INT, 0 },
        { "rows", "rows of the table", "64|1|700", AXIS_INT, 0 },
        { "table", "dtype of the table (ROT-6)", "f32|bf16", AXIS_NAME, 0 },
        { "ids", "dtype of positions", "i64|i32", AXIS_NAME, 0 },
        { "pos", "positions", "random|last|permuted|repeated|first", AXIS_NAME, 0 },
        { "past", ROPE_PAST_HELP, "0|1", AXIS_INT, 0 },
        { "to", "outputs: in place, absent; in place, listed; storage of their own (APPLY-3)", "place|view|own", AXIS_NAME, 0 },
        { "buf", "1: query and key lie in one buffer, token by token", "0|1", AXIS_INT, 0 },
        { "by", "order of storage: tokens outermost, or heads", "token|head", AXIS_NAME, 0 },
        { "xs", "elements behind the heads of each token of query", "0|8|5", AXIS_INT, 0 },
        { "hs", "elements behind each head of query", "0|8|64|3", AXIS_INT, 0 },
        { "rs", "the first of key", "0|16|7", AXIS_INT, 0 },
        { "khs", "the second of key", "0|24|1", AXIS_INT, 0 },
        { "os", "the first of query_out", "0|32|9", AXIS_INT, 0 },
        { "ros", "the first of key_out", "0|64|11", AXIS_INT, 0 },
        { "ohs", "the second of query_out and key_out", "0|16|13", AXIS_INT, 0 },
        { "at", "bytes by which bases miss a 128-byte boundary, at least an element; -1: each operand another",
          "0|2|4|8|16|64|-1", AXIS_INT, 0 },
        { "fill", "the data", NULL, AXIS_NAME, 0 },
        { "seed", "of the data", "1", AXIS_INT, 1 },
        { "bad", "a violated precondition that must be refused (ERR-1)", NULL, AXIS_NAME, 1 },
    },
    .tensors = {
        { "query", "(N, heads, D)", "bf16", NULL, "stride(-1) = 1, other strides free", DIR_IN },
        { "key", "(N, kv_heads, D)", "bf16", "kv>0", "own strides; kv_heads may be 1", DIR_IN },
        { "table", "(rows, rotary_dim)", "f32 bf16", NULL, "[cos | sin] of each position, contiguous", DIR_IN },
        { "positions", "(N)", "i32 i64", NULL, "row of the table for each token, any order", DIR_IN },
        { "query_out", "(N, heads, D)", "bf16", NULL, "absent or query itself: in place; else the whole head is written", DIR_OUT },
        { "key_out", "(N, kv_heads, D)", "bf16", "kv>0", "likewise", DIR_OUT },
        { "query_rest", "(N, heads, D-rot)", "bits16", "to=own", "no tensor: what of query_out is copied, as patterns", DIR_OUT },
        { "key_rest", "(N, kv, D-rot)", "bits16", "to=own", "likewise of key_out", DIR_OUT },
    },
    .bounds = {
        { "query_out", "APPLY-1", "of |a c| + |b s|: two products and a sum, each rounded once, and a part in 2^20 for the second "
          "order; with a BF16 table products are exact: 1 u (rope_exact.g); where it is 2^127 or more, an element is not judged: APPLY "
          "has no such exemption, but f32 products overflow in right kernels", "tests/bounds/rope.g", REF_ROPE_K, NULL },
        { "key_out", "APPLY-1", "as query_out", "tests/bounds/rope.g", REF_ROPE_K, NULL },
        { "query_rest", "APPLY-3", "copied: bitwise, NaN payloads too", NULL, 0, NULL },
        { "key_rest", "APPLY-3", "copied: bitwise, NaN payloads too", NULL, 0, NULL },
    },
    .fills = {
        { "normal", "N(0,1), the table of base 10000 (ROT-1..3)", rope_fill_normal, 0 },
        { "mscale", "the same, times 1.2 (YARN-4)", rope_fill_mscale, 0 },
        { "logu", "any sign, exponents -30..29; a table of any sign, exponents -12..11", rope_fill_logu, 0 },
        { "outlier", "one element of a head 65536 times larger", rope_fill_outlier, 0 },
        { "tiny", "products and data around 2^-126 and below", rope_fill_tiny, MAY_BE_ZERO },
        { "huge", "products up to 2^126, and of every fifth token up to 2^128: not judged there", rope_fill_huge, 0 },
        { "zero", "zeros of either sign in data and table, none in some pairs", rope_fill_zero, MAY_BE_ZERO },
        { "exact", "small integers, a table of 0, 1/4, 1/2, 1, 2 of either sign: products and sums without rounding",
          rope_fill_exact, 0 },
        { "cancel", "|a c - b s| far below |a c|, down to one rounding of the table", rope_fill_cancel, MAY_BE_ZERO },
        { "brink", "y beside BF16 midpoints, out of reach of the bound", rope_fill_brink, 0 },
        { "mixed", "sizes that differ between neighbours in tokens, heads and elements", rope_fill_mixed, 0 },
        { "specials", "NaN, Inf, -0, subnormals in one pair of some heads; NaN payloads in what is copied", rope_fill_specials, 0 },
        { "table", "NaN and Inf in the table", rope_fill_table, 0 },
        { "faint", "cosines and sines below 2^-126, data around 2^100", rope_fill_faint, 0 },
    },
    .bads = rope_bads,
    .forms = (const struct form[]) { { "in-place", "to=place" }, { "view", "to=view" }, { "no-key", "kv=0" }, { "interleaved", "inter=1" }, { "bf16", "table=bf16" }, { "i32", "ids=i32" }, { "one-buffer", "buf=1" }, { NULL, NULL } },
    .settle = settle,
    .build = build,
    .check = ref_rope_check,
    .tensors_of = tensors_of,
    .rows = rows,
    .cols = cols,
    .place = place,
    .ref = ref_rope_row,
    .work = ref_rope_work,
    .copies = 1u << ROPE_QUERY_REST | 1u << ROPE_KEY_REST,
    .check_values = ref_rope_check_values,
    .lost = ref_rope_lost,
    .k_of = ref_rope_k,
    .relations = rope_relations,
};
