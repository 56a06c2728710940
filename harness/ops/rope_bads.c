/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals of rope (ERR-1): query (3, 3, 64), key (3, 2, 64), table (64, 32), offset 16, out of place. */
#include <string.h>

#include "rope.h"

static struct lc_tensor *t(struct call *c, int slot)
{
    return &c->slot[slot].t;
}

static void no_outs(struct call *c)
{
    for (int i = ROPE_QUERY_OUT; i < ROPE_TENSORS; i++)
        c->slot[i].listed = 0;
}

static void width(struct call *c, int64_t n)
{
    t(c, ROPE_TABLE)->shape[1] = t(c, ROPE_TABLE)->stride[0] = n;
    call_set_scalar(c, "rotary_dim", n, 0);
}

/* clang-format off */
#define ABSENT(name, slot_) static void name(struct call *c) { c->slot[slot_].listed = 0; }
#define MISS(name, slot_, value) static void name(struct call *c) { c->slot[slot_].miss = value; }
#define SET(name, slot_, field, value) static void name(struct call *c) { t(c, slot_)->field = value; }
#define COUNT(name, scalar, value) static void name(struct call *c) { call_set_scalar(c, scalar, value, 0); }
ABSENT(query_absent, ROPE_QUERY) SET(query_rank, ROPE_QUERY, rank, 2) SET(query_dtype, ROPE_QUERY, dtype, LC_F32)
SET(query_heads, ROPE_QUERY, shape[1], 0) SET(query_last, ROPE_QUERY, stride[2], 2) MISS(query_null, ROPE_QUERY, NULL_POINTER)
MISS(query_base, ROPE_QUERY, 1)
SET(key_rank, ROPE_KEY, rank, 2) SET(key_dtype, ROPE_KEY, dtype, LC_E4M3) SET(key_tokens, ROPE_KEY, shape[0], 2)
SET(key_heads, ROPE_KEY, shape[1], 0) SET(key_d, ROPE_KEY, shape[2], 48) SET(key_last, ROPE_KEY, stride[2], 2)
MISS(key_null, ROPE_KEY, NULL_POINTER) MISS(key_base, ROPE_KEY, 1)
ABSENT(key_absent, ROPE_KEY)
ABSENT(table_absent, ROPE_TABLE) SET(table_rank, ROPE_TABLE, rank, 1) SET(table_dtype, ROPE_TABLE, dtype, LC_I32)
SET(table_width, ROPE_TABLE, shape[1], 30) SET(table_last, ROPE_TABLE, stride[1], 2) SET(table_row, ROPE_TABLE, stride[0], 64)
MISS(table_null, ROPE_TABLE, NULL_POINTER) MISS(table_base, ROPE_TABLE, 2)
COUNT(rotary_half, "rotary_dim", 16) COUNT(offset_negative, "offset", -1) COUNT(offset_far, "offset", 65)
COUNT(offset_33, "offset", 33) COUNT(interleaved_2, "interleaved", 2) COUNT(conjugate_2, "conjugate", 2)
static void rotary_odd(struct call *c) { width(c, 31); }
static void rotary_0(struct call *c) { width(c, 0); }
static void rotary_head(struct call *c) { width(c, 64); }
static void rotary_wide(struct call *c) { width(c, 128), call_set_scalar(c, "offset", 0, 0); }
ABSENT(positions_absent, ROPE_POSITIONS) SET(positions_count, ROPE_POSITIONS, shape[0], 2)
SET(positions_dtype, ROPE_POSITIONS, dtype, LC_F32) SET(positions_stride, ROPE_POSITIONS, stride[0], 2)
MISS(positions_null, ROPE_POSITIONS, NULL_POINTER) MISS(positions_base, ROPE_POSITIONS, 2)
static void positions_rows(struct call *c) /* (3, N) */
{
    t(c, ROPE_POSITIONS)->rank = 2;
    t(c, ROPE_POSITIONS)->shape[1] = t(c, ROPE_POSITIONS)->stride[0] = 3;
    t(c, ROPE_POSITIONS)->stride[1] = 1;
}
SET(out_rank, ROPE_QUERY_OUT, rank, 2) SET(out_dtype, ROPE_QUERY_OUT, dtype, LC_F32) SET(out_tokens, ROPE_QUERY_OUT, shape[0], 2)
SET(out_heads, ROPE_QUERY_OUT, shape[1], 2) SET(out_d, ROPE_QUERY_OUT, shape[2], 32) SET(out_last, ROPE_QUERY_OUT, stride[2], 2)
MISS(out_null, ROPE_QUERY_OUT, NULL_POINTER) MISS(out_base, ROPE_QUERY_OUT, 1) SET(out_own, ROPE_QUERY_OUT, stride[1], 63)
SET(key_out_heads, ROPE_KEY_OUT, shape[1], 1) SET(key_out_dtype, ROPE_KEY_OUT, dtype, LC_E4M3)
SET(key_out_rank, ROPE_KEY_OUT, rank, 2) SET(key_out_tokens, ROPE_KEY_OUT, shape[0], 2) SET(key_out_d, ROPE_KEY_OUT, shape[2], 48)
SET(key_out_last, ROPE_KEY_OUT, stride[2], 2) MISS(key_out_null, ROPE_KEY_OUT, NULL_POINTER) SET(key_out_own, ROPE_KEY_OUT, stride[1], 63)
static void key_out_shifted(struct call *c) { c->slot[ROPE_KEY_OUT].same_as = ROPE_KEY, c->slot[ROPE_KEY_OUT].shift = 128; }
static void out_other_view(struct call *c) /* query's bytes, other strides */
{
    c->slot[ROPE_QUERY_OUT].same_as = ROPE_QUERY;
    t(c, ROPE_QUERY_OUT)->stride[0] = 256;
}
static void out_shifted(struct call *c) { c->slot[ROPE_QUERY_OUT].same_as = ROPE_QUERY, c->slot[ROPE_QUERY_OUT].shift = 128; }
static void out_key(struct call *c) { c->slot[ROPE_QUERY_OUT].same_as = ROPE_KEY; }
static void out_table(struct call *c) { c->slot[ROPE_KEY_OUT].same_as = ROPE_TABLE; }
static void out_positions(struct call *c) { c->slot[ROPE_POSITIONS].same_as = ROPE_KEY_OUT; }
static void outs_one(struct call *c) { c->slot[ROPE_KEY_OUT].same_as = ROPE_QUERY_OUT; }
static void in_place_one(struct call *c) { no_outs(c), c->slot[ROPE_KEY].same_as = ROPE_QUERY; } /* key's heads are query's */
static void in_place_tail(struct call *c) /* they share what does not rotate */
{
    no_outs(c);
    c->slot[ROPE_KEY].same_as = ROPE_QUERY;
    c->slot[ROPE_KEY].shift = (3 * 64 - 8) * 2;
    t(c, ROPE_KEY)->shape[1] = 1;
    t(c, ROPE_QUERY)->stride[0] = t(c, ROPE_KEY)->stride[0] = 256;
}
static void in_place_own(struct call *c) { no_outs(c), t(c, ROPE_QUERY)->stride[1] = 0; }
static void key_query(struct call *c) { c->slot[ROPE_KEY].same_as = ROPE_QUERY; } /* out of place */
static void key_query_tail(struct call *c) /* they share the last elements of a token */
{
    c->slot[ROPE_KEY].same_as = ROPE_QUERY;
    c->slot[ROPE_KEY].shift = (3 * 64 - 8) * 2;
    t(c, ROPE_KEY)->shape[1] = t(c, ROPE_KEY_OUT)->shape[1] = 1;
    t(c, ROPE_QUERY)->stride[0] = t(c, ROPE_KEY)->stride[0] = 256;
}
static void position_below(struct call *c) { put_int(c, ROPE_POSITIONS, 0, 0, -1); }
static void position_rows(struct call *c) { put_int(c, ROPE_POSITIONS, 2, 0, 64); }
static void position_wide(struct call *c) { put_int(c, ROPE_POSITIONS, 1, 0, (INT64_C(1) << 32) + 5); }
/* clang-format on */

const struct bad rope_bads[] = {
    { "query-absent", "query", "APPLY-4", "not given", query_absent },
    { "query-rank", "query", "APPLY-4", "rank 2", query_rank },
    { "query-dtype", "query", "APPLY-6", "dtype f32", query_dtype },
    { "query-heads", "query", "APPLY-6", "shape[1] = 0", query_heads },
    { "query-last", "query", "APPLY-6", "stride(-1) = 2", query_last },
    { "query-null", "query", "APPLY-6", "NULL", query_null },
    { "query-base", "query", "APPLY-6", "0x", query_base },
    { "key-rank", "key", "APPLY-4", "rank 2", key_rank },
    { "key-dtype", "key", "APPLY-6", "dtype e4m3", key_dtype },
    { "key-tokens", "key", "APPLY-4", "shape[0] = 2", key_tokens },
    { "key-heads", "key", "APPLY-6", "shape[1] = 0", key_heads },
    { "key-d", "key", "APPLY-4", "shape[2] = 48", key_d },
    { "key-last", "key", "APPLY-6", "stride(-1) = 2", key_last },
    { "key-null", "key", "APPLY-6", "NULL", key_null },
    { "key-base", "key", "APPLY-6", "0x", key_base },
    { "key-absent", "key_out", "APPLY-4", "there is no key", key_absent },
    { "table-absent", "table", "APPLY-4", "not given", table_absent },
    { "table-rank", "table", "ROT-4", "rank 1", table_rank },
    { "table-dtype", "table", "ROT-6", "dtype i32", table_dtype },
    { "table-width", "table", "APPLY-5", "width 30", table_width },
    { "table-last", "table", "ROT-4", "stride[1] = 2", table_last },
    { "table-row", "table", "ROT-4", "stride[0] = 64", table_row },
    { "table-null", "table", "ROT-4", "NULL", table_null },
    { "table-base", "table", "ROT-4", "0x", table_base },
    { "rotary-half", "table", "APPLY-5", "rotary_dim is 16", rotary_half },
    { "rotary-odd", "table", "APPLY-5", "width 31", rotary_odd },
    { "rotary-0", "table", "APPLY-5", "width 0", rotary_0 },
    { "rotary-head", "table|rotary_dim|offset", "APPLY-5", "width 64|64|16", rotary_head },
    { "rotary-wide", "table", "APPLY-5", "width 128", rotary_wide },
    { "offset-negative", "offset", "APPLY-5", "-1", offset_negative },
    { "offset-far", "offset", "APPLY-5", "65", offset_far },
    { "offset-33", "table|offset", "APPLY-5", "offset 33|33", offset_33 },
    { "interleaved-2", "interleaved", "APPLY-1", "2", interleaved_2 },
    { "conjugate-2", "conjugate", "APPLY-2", "2", conjugate_2 },
    { "positions-absent", "positions", "APPLY-4", "not given", positions_absent },
    { "positions-rows", "positions", "APPLY-4", "rank 2", positions_rows },
    { "positions-count", "positions", "APPLY-4", "shape[0] = 2", positions_count },
    { "positions-dtype", "positions", "APPLY-4", "dtype f32", positions_dtype },
    { "positions-stride", "positions", "APPLY-4", "stride[0] = 2", positions_stride },
    { "positions-null", "positions", "APPLY-4", "NULL", positions_null },
    { "positions-base", "positions", "APPLY-4", "0x", positions_base },
    { "out-rank", "query_out", "APPLY-4", "rank 2", out_rank },
    { "out-dtype", "query_out", "APPLY-6", "dtype f32", out_dtype },
    { "out-tokens", "query_out", "APPLY-4", "shape[0] = 2", out_tokens },
    { "out-heads", "query_out", "APPLY-3", "shape[1] = 2", out_heads },
    { "out-d", "query_out", "APPLY-4", "shape[2] = 32", out_d },
    { "out-last", "query_out", "APPLY-6", "stride(-1) = 2", out_last },
    { "out-null", "query_out", "APPLY-6", "NULL", out_null },
    { "out-base", "query_out", "APPLY-6", "0x", out_base },
    { "out-own", "query_out", "DET-4", "63", out_own },
    { "key-out-heads", "key_out", "APPLY-3", "shape[1] = 1", key_out_heads },
    { "key-out-dtype", "key_out", "APPLY-6", "dtype e4m3", key_out_dtype },
    { "key-out-rank", "key_out", "APPLY-4", "rank 2", key_out_rank },
    { "key-out-tokens", "key_out", "APPLY-4", "shape[0] = 2", key_out_tokens },
    { "key-out-d", "key_out", "APPLY-4", "shape[2] = 48", key_out_d },
    { "key-out-last", "key_out", "APPLY-6", "stride(-1) = 2", key_out_last },
    { "key-out-null", "key_out", "APPLY-6", "NULL", key_out_null },
    { "key-out-own", "key_out", "DET-4", "63", key_out_own },
    { "key-out-shifted", "key_out", "DET-4", "key", key_out_shifted },
    { "out-other-view", "query_out", "DET-4", "query", out_other_view },
    { "out-shifted", "query_out", "DET-4", "query", out_shifted },
    { "out-key", "query_out", "DET-4", "key", out_key },
    { "out-table", "key_out", "DET-4", "table", out_table },
    { "out-positions", "key_out", "DET-4", "positions", out_positions },
    { "outs-one", "key_out", "DET-4", "query_out", outs_one },
    { "in-place-one", "key", "DET-4", "query", in_place_one },
    { "in-place-tail", "key", "DET-4", "query", in_place_tail },
    { "in-place-own", "query", "DET-4", "its own rows overlap", in_place_own },
    { "key-query", "key", "APPLY-6", "query", key_query },
    { "key-query-tail", "key", "APPLY-6", "query", key_query_tail },
    { "position-below", "positions", "ERR-2", "= -1", position_below },
    { "position-rows", "positions", "ERR-2", "= 64", position_rows },
    { "position-wide", "positions", "ERR-2", "= 4294967301", position_wide },
    { NULL, NULL, NULL, NULL, NULL },
};
