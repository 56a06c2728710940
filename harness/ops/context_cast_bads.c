/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals of context_cast (ERR-1): context (3, 2, 64), table (64, 32), with bf16, sf and extra_sf. */
#include <string.h>

#include "context_cast.h"

static struct lc_tensor *t(struct call *c, int slot)
{
    return &c->slot[slot].t;
}

static void width(struct call *c, int64_t n)
{
    t(c, CTX_TABLE)->shape[1] = t(c, CTX_TABLE)->stride[0] = n;
    call_set_scalar(c, "rotary_dim", n, 0);
}

/* clang-format off */
#define ABSENT(name, slot_) static void name(struct call *c) { c->slot[slot_].listed = 0; }
#define MISS(name, slot_, value) static void name(struct call *c) { c->slot[slot_].miss = value; }
#define SET(name, slot_, field, value) static void name(struct call *c) { t(c, slot_)->field = value; }
#define COUNT(name, scalar, value) static void name(struct call *c) { call_set_scalar(c, scalar, value, 0); }
ABSENT(context_absent, CTX_CONTEXT) SET(context_rank, CTX_CONTEXT, rank, 2) SET(context_dtype, CTX_CONTEXT, dtype, LC_F32)
SET(context_heads, CTX_CONTEXT, shape[1], 0) SET(context_last, CTX_CONTEXT, stride[2], 2)
SET(context_row, CTX_CONTEXT, stride[0], 136) SET(context_head, CTX_CONTEXT, stride[1], 72)
MISS(context_null, CTX_CONTEXT, NULL_POINTER) MISS(context_base, CTX_CONTEXT, 1)
ABSENT(out_absent, CTX_OUT) SET(out_rank, CTX_OUT, rank, 3) SET(out_dtype, CTX_OUT, dtype, LC_BF16)
SET(out_tokens, CTX_OUT, shape[0], 2) SET(out_width, CTX_OUT, shape[1], 64) SET(out_row, CTX_OUT, stride[0], 144)
SET(out_last, CTX_OUT, stride[1], 2) MISS(out_null, CTX_OUT, NULL_POINTER)
ABSENT(table_absent, CTX_TABLE) SET(table_rank, CTX_TABLE, rank, 1) SET(table_dtype, CTX_TABLE, dtype, LC_E4M3)
SET(table_width, CTX_TABLE, shape[1], 30) SET(table_row, CTX_TABLE, stride[0], 64) MISS(table_null, CTX_TABLE, NULL_POINTER)
COUNT(rotary_half, "rotary_dim", 16) COUNT(interleaved_2, "interleaved", 2) COUNT(return_2, "return_bf16", 2)
static void rotary_odd(struct call *c) { width(c, 31); }
static void rotary_0(struct call *c) { width(c, 0); }
static void rotary_wide(struct call *c) { width(c, 128); }
ABSENT(positions_absent, CTX_POSITIONS) SET(positions_count, CTX_POSITIONS, shape[0], 2)
SET(positions_dtype, CTX_POSITIONS, dtype, LC_F32) SET(positions_stride, CTX_POSITIONS, stride[0], 2)
static void positions_rows(struct call *c) /* (3, N) */
{
    t(c, CTX_POSITIONS)->rank = 2;
    t(c, CTX_POSITIONS)->shape[1] = t(c, CTX_POSITIONS)->stride[0] = 3;
    t(c, CTX_POSITIONS)->stride[1] = 1;
}
ABSENT(bf16_absent, CTX_BF16) SET(bf16_dtype, CTX_BF16, dtype, LC_F32) SET(bf16_heads, CTX_BF16, shape[1], 1)
SET(bf16_last, CTX_BF16, stride[2], 2) SET(bf16_head, CTX_BF16, stride[1], 72) SET(bf16_own, CTX_BF16, stride[1], 48)
ABSENT(sf_absent, CTX_SF) SET(sf_dtype, CTX_SF, dtype, LC_F32) SET(sf_shape, CTX_SF, shape[1], 2) SET(sf_stride, CTX_SF, stride[1], 3)
MISS(sf_base, CTX_SF, 4)
COUNT(group_64, "group", 64) COUNT(group_16, "group", 16) COUNT(ragged_3, "sf_ragged", 3)
static void round_0(struct call *c) { call_set_scalar(c, "round_sf", 0, 0), call_set_scalar(c, "sf_packed", 0, 0); }
ABSENT(extra_absent, CTX_EXTRA_SF) COUNT(extra_block_0, "extra_sf_block_m", 0) COUNT(extra_layout_2, "extra_sf_layout", 2)
COUNT(extra_off, "extra_sf", 0) SET(extra_rows, CTX_EXTRA_SF, stride[1], 64)
COUNT(dialect_2, "dialect", 2)
static void bf16_context(struct call *c) { c->slot[CTX_BF16].same_as = CTX_CONTEXT; }
static void out_context(struct call *c) { c->slot[CTX_OUT].same_as = CTX_CONTEXT; }
static void out_bf16(struct call *c) { c->slot[CTX_BF16].same_as = CTX_OUT; }
static void sf_table(struct call *c) { c->slot[CTX_SF].same_as = CTX_TABLE; }
SET(bf16_rank, CTX_BF16, rank, 2) SET(bf16_tokens, CTX_BF16, shape[0], 2) SET(bf16_row, CTX_BF16, stride[0], 136)
MISS(bf16_null, CTX_BF16, NULL_POINTER) MISS(bf16_base, CTX_BF16, 1)
SET(sf_rank, CTX_SF, rank, 1) MISS(sf_null, CTX_SF, NULL_POINTER)
SET(extra_dtype, CTX_EXTRA_SF, dtype, LC_F32) SET(extra_shape, CTX_EXTRA_SF, shape[1], 2) SET(extra_stride, CTX_EXTRA_SF, stride[0], 2)
SET(table_last, CTX_TABLE, stride[1], 2)
static void extra_is_sf(struct call *c) { c->slot[CTX_SF].same_as = CTX_EXTRA_SF; }
static void position_below(struct call *c) { put_int(c, CTX_POSITIONS, 0, 0, -1); }
static void position_rows(struct call *c) { put_int(c, CTX_POSITIONS, 2, 0, 64); }
static void position_wide(struct call *c) { put_int(c, CTX_POSITIONS, 1, 0, (INT64_C(1) << 32) + 5); }
/* clang-format on */

const struct bad context_cast_bads[] = {
    { "context-absent", "context", "KV-7", "not given", context_absent },
    { "context-rank", "context", "KV-7", "rank 2", context_rank },
    { "context-dtype", "context", "KV-7", "dtype f32", context_dtype },
    { "context-heads", "context", "KV-7", "shape[1] = 0", context_heads },
    { "context-last", "context", "KV-6", "stride(-1) = 2", context_last },
    { "context-row", "context", "KV-6", "stride[0] = 136", context_row },
    { "context-head", "context", "KV-6", "stride[1] = 72", context_head },
    { "context-null", "context", "KV-6", "NULL", context_null },
    { "context-base", "context", "KV-6", "0x", context_base },
    { "out-absent", "out", "KV-7", "not given", out_absent },
    { "out-rank", "out", "KV-7", "rank 3", out_rank },
    { "out-dtype", "out", "KV-7", "dtype bf16", out_dtype },
    { "out-tokens", "out", "KV-7", "shape[0] = 2", out_tokens },
    { "out-width", "out", "KV-7", "shape[1] = 64", out_width },
    { "out-row", "out", "CAST-10", "stride[0] = 144", out_row },
    { "out-last", "out", "CAST-10", "stride[1] = 2", out_last },
    { "out-null", "out", "CAST-10", "NULL", out_null },
    { "table-absent", "table", "KV-7", "not given", table_absent },
    { "table-rank", "table", "ROT-4", "rank 1", table_rank },
    { "table-dtype", "table", "ROT-6", "dtype e4m3", table_dtype },
    { "table-width", "table", "APPLY-5", "width 30", table_width },
    { "table-row", "table", "ROT-4", "stride[0] = 64", table_row },
    { "table-last", "table", "ROT-4", "stride[1] = 2", table_last },
    { "table-null", "table", "ROT-4", "NULL", table_null },
    { "rotary-half", "table", "APPLY-5", "rotary_dim is 16", rotary_half },
    { "rotary-odd", "table", "APPLY-5", "width 31", rotary_odd },
    { "rotary-0", "table", "APPLY-5", "width 0", rotary_0 },
    { "rotary-wide", "table", "APPLY-5", "width 128", rotary_wide },
    { "interleaved-2", "interleaved", "APPLY-1", "2", interleaved_2 },
    { "return-2", "return_bf16", "KV-7", "2", return_2 },
    { "positions-absent", "positions", "KV-7", "not given", positions_absent },
    { "positions-count", "positions", "APPLY-4", "shape[0] = 2", positions_count },
    { "positions-dtype", "positions", "APPLY-4", "dtype f32", positions_dtype },
    { "positions-stride", "positions", "APPLY-4", "stride[0] = 2", positions_stride },
    { "positions-rows", "positions", "APPLY-4", "rank 2", positions_rows },
    { "bf16-absent", "bf16", "KV-7", "not given", bf16_absent },
    { "bf16-dtype", "bf16", "KV-7", "dtype f32", bf16_dtype },
    { "bf16-heads", "bf16", "KV-7", "shape[1] = 1", bf16_heads },
    { "bf16-last", "bf16", "KV-6", "stride(-1) = 2", bf16_last },
    { "bf16-head", "bf16", "KV-6", "stride[1] = 72", bf16_head },
    { "bf16-own", "bf16", "DET-4", "its own rows overlap", bf16_own },
    { "bf16-rank", "bf16", "KV-7", "rank 2", bf16_rank },
    { "bf16-tokens", "bf16", "KV-7", "shape[0] = 2", bf16_tokens },
    { "bf16-row", "bf16", "KV-6", "stride[0] = 136", bf16_row },
    { "bf16-null", "bf16", "KV-6", "NULL", bf16_null },
    { "bf16-base", "bf16", "KV-6", "0x", bf16_base },
    { "sf-rank", "sf", "SF-3", "rank 1", sf_rank },
    { "sf-null", "sf", "SF-3", "NULL", sf_null },
    { "extra-dtype", "extra_sf", "SF-4", "dtype f32", extra_dtype },
    { "extra-shape", "extra_sf", "SF-4", "(3, 2)", extra_shape },
    { "extra-stride", "extra_sf", "SF-4", "stride[0] = 2", extra_stride },
    { "extra-is-sf", "extra_sf", "DET-4", "sf", extra_is_sf },
    { "sf-absent", "sf", "SF-0", "not given", sf_absent },
    { "sf-dtype", "sf", "SF-3", "dtype f32", sf_dtype },
    { "sf-shape", "sf", "SF-3", "shape[1] = 2", sf_shape },
    { "sf-stride", "sf", "SF-3", "stride[1] = 3", sf_stride },
    { "sf-base", "sf", "SF-3", "0x", sf_base },
    { "group-64", "group", "KV-7", "64", group_64 },
    { "group-16", "group", "KV-7", "16", group_16 },
    { "round-0", "round_sf", "KV-7", "0", round_0 },
    { "ragged-3", "sf_ragged", "SF-6", "3", ragged_3 },
    { "extra-absent", "extra_sf", "SF-4", "not given", extra_absent },
    { "extra-block-0", "extra_sf_block_m", "SF-4", "0", extra_block_0 },
    { "extra-layout-2", "extra_sf_layout", "SF-4", "2", extra_layout_2 },
    { "extra-off", "extra_sf", "SF-4", "0", extra_off },
    { "extra-rows", "extra_sf", "SF-4", "stride[1] = 64", extra_rows },
    { "dialect-2", "dialect", "KV-7", "2", dialect_2 },
    { "bf16-context", "bf16", "DET-4", "context", bf16_context },
    { "out-context", "out", "DET-4", "context", out_context },
    { "out-bf16", "bf16", "DET-4", "out", out_bf16 },
    { "sf-table", "sf", "DET-4", "table", sf_table },
    { "position-below", "positions", "ERR-2", "= -1", position_below },
    { "position-rows", "positions", "ERR-2", "= 64", position_rows },
    { "position-wide", "positions", "ERR-2", "= 4294967301", position_wide },
    { NULL, NULL, NULL, NULL, NULL },
};
