/* SPDX-License-Identifier: Apache-2.0 */
/* sf_layout: scales from one layout into another, weight scales at load among them (docs/contract.md SF). */
#include <math.h>
#include <string.h>

#include "../../ref/args.h"
#include "../case.h"
#include "../relations.h"
#include "../scales.h"
#include "sf_layout.h"

static bool is_packed(const struct kase *k, const char *axis)
{
    return kase_is(k, axis, "rowp") || kase_is(k, axis, "col") || kase_is(k, axis, "utccp");
}

static const char *settle(struct kase *k)
{
    const char *why = NULL;
    if (kase_int(k, "M") < 0 || kase_int(k, "B") < 0 || kase_int(k, "ds") < 1 || kase_int(k, "bf") < 1 || kase_int(k, "bt") < 1) {
        why = kase_drop(k, "M", "17", "M and B are not negative; ds, bf and bt are at least 1", why);
        why = kase_drop(k, "B", "2", "M and B are not negative; ds, bf and bt are at least 1", why);
        why = kase_drop(k, "ds", "8", "M and B are not negative; ds, bf and bt are at least 1", why);
        why = kase_drop(k, "bf", "128", "M and B are not negative; ds, bf and bt are at least 1", why);
        why = kase_drop(k, "bt", "128", "M and B are not negative; ds, bf and bt are at least 1", why);
    }
    const bool anywhere = sf_layout_is_anywhere(k);
    if (!anywhere)
        why = kase_drop(k, "spot", "first", "spot needs bad=any-..", why);
    if (!kase_is(k, "bad", "-") && !anywhere) {
        struct kase plain;
        kase_default(&plain, k->op);
        plain.i[axis_of(k->op, "bad")] = kase_int(k, "bad");
        kase_set(&plain, "M", "3");
        if (kase_same(&plain, k))
            return why;
        *k = plain;
        return "bad stands alone: one good call, spoiled";
    }
    if (kase_is(k, "from", "weight")) {
        why = kase_drop(k, "to", "col", "weight scales go to SF-3, and have no batch: to=col, rank=2 (SF-5)", why);
        why = kase_drop(k, "rank", "2", "weight scales go to SF-3, and have no batch: to=col, rank=2 (SF-5)", why);
    }
    const bool utccp = kase_is(k, "from", "utccp") || kase_is(k, "to", "utccp");
    if (utccp) {
        why = kase_drop(k, "rank", "2", "utccp has no batch and whole words: rank=2, ragged=- (SF-4)", why);
        why = kase_drop(k, "ragged", "-", "utccp has no batch and whole words: rank=2, ragged=- (SF-4)", why);
    }
    if (!is_packed(k, "from") && !is_packed(k, "to"))
        why = kase_drop(k, "ragged", "-", "ragged needs a packed layout (SF-6)", why);
    else if (kase_int(k, "ds") % 4 && kase_is(k, "ragged", "-"))
        why = kase_drop(k, "ds", "8", "packed layouts need a multiple of 4 groups, or ragged (SF-2, SF-3, SF-6)", why);
    if (!kase_is(k, "from", "utccp"))
        why = kase_drop(k, "bf", "128", "bf needs from=utccp", why);
    if (!kase_is(k, "to", "utccp"))
        why = kase_drop(k, "bt", "128", "bt needs to=utccp", why);
    if (kase_is(k, "rank", "2"))
        why = kase_drop(k, "B", "2", "B needs rank=3", why);
    if (kase_is(k, "fill", "specials") && (is_packed(k, "from") || is_packed(k, "to")))
        why = kase_drop(k, "fill", "normal", "fill=specials needs f32 on both sides (SF-5)", why);
    if (anywhere) {
        const bool none = is_packed(k, "from") || !is_packed(k, "to") || kase_int(k, "M") == 0 || kase_int(k, "B") == 0;
        why = kase_drop(k, "fill", "normal", "bad=any-.. has data of its own", why);
        if (none) {
            why = kase_drop(k, "bad", "-", "bad=any-.. needs a scale, f32 to packed", why);
            why = kase_drop(k, "spot", "first", "spot needs bad=any-..", why);
        }
    }
    return why;
}

/* One side: shape, strides and storage of (b, m) rows of n scales. */
static void side(struct call *c, int slot, const char *name, enum dir dir, const char *axis, int64_t m, int64_t block)
{
    const struct kase *const k = &c->id;
    const int rank = kase_rank(k), skip = 3 - rank;
    const bool packed = is_packed(k, axis), col = kase_is(k, axis, "col") || kase_is(k, axis, "colf");
    const int64_t b = rank == 3 ? kase_int(k, "B") : 1, ds = kase_int(k, "ds"), n = packed ? (ds + 3) / 4 : ds;
    const int64_t m_pad = round_up(m, 4), rows = round_up(m, block) / block * round_up(block, 128) + 64; /* some that no m has */
    const int64_t shape[3] = { b, m, n }, in_rows[3] = { m * n, n, 1 }, in_cols[3] = { n * m_pad, 1, m_pad };
    const int64_t col_storage[3] = { b, n, m_pad }, utccp_stride[2] = { 1, rows }, utccp_storage[2] = { n, rows };
    const enum lc_dtype dtype = packed ? LC_I32 : LC_F32;
    if (kase_is(k, axis, "utccp"))
        call_tensor(c, slot, name, dtype, dir, 2, shape + 1, utccp_stride, 2, utccp_storage);
    else
        call_tensor(c, slot, name, dtype, dir, rank, shape + skip, (col ? in_cols : in_rows) + skip, rank,
                    (col ? col_storage : shape) + skip);
    c->slot[slot].fmt = packed ? LC_UE8M0 : LC_F32;
}

static void build(struct call *c)
{
    const struct kase *const k = &c->id;
    const bool weight = kase_is(k, "from", "weight");
    const int64_t m = kase_int(k, "M"), one = 1;
    side(c, SFL_IN, "sf_in", DIR_IN, "from", weight ? (m + 31) / 32 : m, kase_int(k, "bf"));
    side(c, SFL_OUT, "sf_out", DIR_OUT, "to", m, kase_int(k, "bt"));
    if (!is_packed(k, "from") && is_packed(k, "to"))
        call_tensor(c, SFL_ERROR, "error", LC_I64, DIR_OUT, 1, &one, &one, 1, &one);
    call_scalar(c, "groups", kase_int(k, "ds"), 0);
    call_scalar(c, "from_col", kase_is(k, "from", "col") || kase_is(k, "from", "colf") || kase_is(k, "from", "utccp"), 0);
    call_scalar(c, "from_packed", is_packed(k, "from"), 0);
    call_scalar(c, "from_block_m", kase_is(k, "from", "utccp") ? kase_int(k, "bf") : 0, 0);
    call_scalar(c, "from_weight", weight, 0);
    call_scalar(c, "to_col", kase_is(k, "to", "col") || kase_is(k, "to", "colf") || kase_is(k, "to", "utccp"), 0);
    call_scalar(c, "to_packed", is_packed(k, "to"), 0);
    call_scalar(c, "to_block_m", kase_is(k, "to", "utccp") ? kase_int(k, "bt") : 0, 0);
    call_scalar(c, "sf_ragged", kase_is(k, "ragged", "pack"), 0);
    for (int i = 0; i < SFL_TENSORS; i++) {
        const int64_t at = kase_int(k, "at");
        const char *const axis = i == SFL_IN ? "from" : "to";
        const bool col = i != SFL_ERROR && (kase_is(k, axis, "col") || kase_is(k, axis, "colf"));
        if (c->slot[i].listed) /* SF-3: 16-byte aligned */
            c->slot[i].miss = round_up(at >= 0 ? at : 7 * i + 1, col ? 16 : fmt_bytes((enum lc_dtype) c->slot[i].t.dtype)) % 128;
    }
}

static const struct lc_tensor *const *tensors_of(const union op_args *args)
{
    return args->sf_layout.t;
}

static int64_t rows(const union op_args *args)
{
    const int64_t n = args->sf_layout.batch * args->sf_layout.m;
    return n == 0 && args->sf_layout.t[SFL_ERROR] ? 1 : n; /* error is written for no rows too */
}

static int64_t cols(const union op_args *args, int tensor)
{
    if (tensor == SFL_ERROR)
        return 1;
    return tensor == SFL_IN ? args->sf_layout.from.groups : sf_cols(&args->sf_layout.to);
}

static int64_t place(const union op_args *args, int tensor, int64_t row, int64_t col)
{
    const struct sf_layout_args *const a = &args->sf_layout;
    if (tensor == SFL_ERROR)
        return row == 0 ? 0 : -1;
    if (a->batch * a->m == 0)
        return -1;
    return tensor == SFL_IN ? sf_layout_in_place(a, row, col) : sf_layout_out_place(a, row, col);
}

/* ---- fills ---- */

/* 2^(b-127), as byte b means it. */
static double of_byte(int64_t b)
{
    return b == 255 ? NAN : ldexp(1, (int) b - 127);
}

typedef double (*draw_fn)(const struct call *c, int64_t row, int64_t g, int64_t index);

/* row: of sf_in, so that all rows of a weight block have one value. */
static void fill_in(struct call *c, draw_fn draw)
{
    const struct sf_layout_args *const a = &c->args.sf_layout;
    for (int64_t row = 0; row < a->batch * a->m; row++)
        for (int64_t g = 0; g < a->from.groups; g++) {
            const int64_t from = a->weight ? row / 32 : row;
            put(c, SFL_IN, row, g, draw(c, from, g, from * a->from.groups + g));
        }
}

static double normal(const struct call *c, int64_t row, int64_t g, int64_t i)
{
    (void) row, (void) g;
    return of_byte(105 + draw_bits(c, SFL_IN, i) % 24);
}

static double mixed(const struct call *c, int64_t row, int64_t g, int64_t i)
{
    (void) c, (void) i;
    return of_byte(1 + (row * 37 + g * 23) % 254);
}

/* Bytes that have no normal f32: there may be 0 and 255 where nothing is packed. */
static bool has_all_bytes(const struct call *c)
{
    return !c->args.sf_layout.t[SFL_ERROR];
}

static double sweep(const struct call *c, int64_t row, int64_t g, int64_t i)
{
    (void) row, (void) g;
    return of_byte(has_all_bytes(c) ? i % 256 : 1 + i % 254);
}

static double edges(const struct call *c, int64_t row, int64_t g, int64_t i)
{
    static const int bytes[] = { 1, 254, 2, 126, 253, 127, 128, 0, 255 };
    (void) row, (void) g;
    return of_byte(bytes[draw_bits(c, SFL_IN, i) % (has_all_bytes(c) ? 9 : 7)]);
}

/* f32 to f32 is a copy of anything (SF-1, SF-3). */
static double specials(const struct call *c, int64_t row, int64_t g, int64_t i)
{
    static const double values[] = { 0, -0.0, NAN, INFINITY, -INFINITY, 0x1p-149, -0x1.8p-127, 0x1.fffffep127 };
    (void) row, (void) g;
    return i % 3 ? draw_log(c, SFL_IN, i, -126, 127) : values[draw_bits(c, SFL_IN, i) % 8];
}

/* clang-format off */
#define FILL(name) static void make_##name(struct call *c) { fill_in(c, name); }
FILL(normal) FILL(mixed) FILL(sweep) FILL(edges) FILL(specials)
/* clang-format on */

const struct op op_sf_layout = {
    .name = "sf_layout",
    .summary = "scales from one layout into another: f32, packed, in rows or columns, utccp, of weights",
    .source = "DeepGEMM transform_sf_into_required_layout; TileKernels",
    .clauses = "SF-1..6 FMT-3 FMT-5 FMT-6 DET-1..4 ERR-1 ERR-2",
    .axes = {
        { "rank", "rank of sf_out", "2|3", AXIS_NAME, 0 },
        { "B", "batch, rank 3", "2|1|3|0", AXIS_INT, 0 },
        { "M", "rows; N of a weight", "17|0|1|2|3|4|33|130|200", AXIS_INT, 0 },
        { "ds", "scales of a row", "8|1|2|3|4|5|12|56|224", AXIS_INT, 0 },
        { "from", "layout of sf_in: SF-1, col-f32, SF-2, SF-3, SF-4, SF-5", "row|colf|rowp|col|utccp|weight", AXIS_NAME, 0 },
        { "to", "layout of sf_out: SF-3, SF-1, SF-2, col-f32, SF-4", "col|row|rowp|colf|utccp", AXIS_NAME, 0 },
        { "bf", "block_m of from=utccp", "128|1|48|200", AXIS_INT, 0 },
        { "bt", "block_m of to=utccp", "128|1|48|200", AXIS_INT, 0 },
        { "ragged", "packed scales of any d_s (SF-6)", "-|pack", AXIS_NAME, 0 },
        { "at", "bytes by which bases miss a 128-byte boundary, at least an element; -1: each operand another",
          "0|4|8|16|64|-1", AXIS_INT, 0 },
        { "fill", "the data", NULL, AXIS_NAME, 0 },
        { "seed", "of the data", "1", AXIS_INT, 1 },
        { "bad", "a violated precondition that must be refused (ERR-1, SF-5); any-..: in any form of the call", NULL, AXIS_NAME, 1 },
        { "spot", "where the value of bad=any-.. stands: the first, the middle, the last one", "first|middle|last", AXIS_NAME, 1 },
    },
    .tensors = {
        { "sf_in", "([B,] M, d_s or words); (ceil(N/32), d_s)", "f32 i32", NULL, "scales in layout `from`", DIR_IN },
        { "sf_out", "([B,] M, d_s or words)", "f32 i32", NULL, "the same in layout `to`; of a weight M = N", DIR_OUT },
        { "error", "(1)", "i64", "f32 to packed", "0; of a device kernel 1 + the index of the first value that is refused", DIR_OUT },
    },
    .bounds = {
        { "sf_out", "SF-5", "bytes and f32 are copied, or one made of the other, exactly: bitwise", NULL, 0, NULL },
        { "error", "SF-5", "0 where every value is a normal power of two", NULL, 0, NULL },
    },
    .fills = {
        { "normal", "powers of two as casts make them, bytes 105..128", make_normal, 0 },
        { "mixed", "all different from their neighbours, bytes 1..254", make_mixed, 0 },
        { "sweep", "every byte in turn: 1..254 from f32 to packed, else 0..255", make_sweep, 0 },
        { "edges", "the ends of the range", make_edges, 0 },
        { "specials", "f32 to f32: any, NaN, Inf, -0, subnormals", make_specials, 0 },
    },
    .bads = sf_layout_bads,
    .forms = (const struct form[]) { { "from-colf", "from=colf" }, { "to-row", "from=col to=row" }, { "to-rowp", "to=rowp" }, { "to-utccp", "to=utccp" }, { "from-utccp", "from=utccp" }, { "weight", "from=weight" }, { "ragged", "ragged=pack" }, { "rank-3", "rank=3" }, { NULL, NULL } },
    .settle = settle,
    .build = build,
    .check = ref_sf_layout_check,
    .check_values = ref_sf_layout_values,
    .bad_values = sf_layout_bad_values,
    .tensors_of = tensors_of,
    .rows = rows,
    .cols = cols,
    .place = place,
    .ref = ref_sf_layout_row,
    .relations = sf_layout_relations,
};
