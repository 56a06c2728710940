/* SPDX-License-Identifier: Apache-2.0 */
/* Preconditions of cast, violated one at a time (ERR-1). */
#include "../../ref/args.h"
#include "cast.h"

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
    c->slot[CAST_X].miss = NULL_POINTER;
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
/* The good call with E2M1 codes, without its SF-4 scales. */
static void e2m1(struct call *c)
{
    c->slot[CAST_OUT].t.dtype = LC_E2M1X2;
    c->slot[CAST_OUT].t.shape[1] = c->slot[CAST_OUT].t.stride[0] = 64;
    call_set_scalar(c, "extra_sf", 0, 0), call_set_scalar(c, "extra_sf_layout", 0, 0);
    call_set_scalar(c, "extra_sf_block_m", 0, 0);
}
static void e2m1_odd(struct call *c)
{
    e2m1(c);
    c->slot[CAST_X].t.shape[1] = 127;
    c->slot[CAST_OUT].t.shape[1] = c->slot[CAST_OUT].t.stride[0] = 63;
}
static void e2m1_shape(struct call *c) /* as if a code had a byte */
{
    e2m1(c);
    c->slot[CAST_OUT].t.shape[1] = c->slot[CAST_OUT].t.stride[0] = 128;
}
static void e2m1_stride(struct call *c)
{
    e2m1(c);
    c->slot[CAST_OUT].t.stride[0] = 128;
}
static void e2m1_utccp(struct call *c)
{
    e2m1(c);
    call_set_scalar(c, "extra_sf", 1, 0), call_set_scalar(c, "extra_sf_layout", 1, 0);
    call_set_scalar(c, "extra_sf_block_m", 1, 0);
}
static void ragged_3(struct call *c)
{
    call_set_scalar(c, "sf_ragged", 3, 0);
}
static void ragged_f32(struct call *c)
{
    call_set_scalar(c, "sf_packed", 0, 0), call_set_scalar(c, "sf_ragged", 1, 0);
}
static void ragged_words(struct call *c) /* two groups need one word, not none */
{
    call_set_scalar(c, "group", 64, 0), call_set_scalar(c, "sf_ragged", 1, 0);
    c->slot[CAST_SF].t.shape[1] = 0;
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

static void x_absent(struct call *c)
{
    c->slot[CAST_X].listed = 0;
}
static void x_rank_4(struct call *c)
{
    c->slot[CAST_X].t.rank = 4;
}
static void out_null(struct call *c)
{
    c->slot[CAST_OUT].miss = NULL_POINTER;
}
static void out_absent(struct call *c)
{
    c->slot[CAST_OUT].listed = 0;
}
static void out_partly(struct call *c) /* one row into x */
{
    c->slot[CAST_OUT].same_as = CAST_X;
    c->slot[CAST_OUT].shift = 2 * 128;
}
static void sf_null(struct call *c)
{
    c->slot[CAST_SF].miss = NULL_POINTER;
}
static void sf_partly(struct call *c)
{
    c->slot[CAST_SF].same_as = CAST_X;
    c->slot[CAST_SF].shift = 3 * 256 - 16;
}
static void extra_shape(struct call *c)
{
    c->slot[CAST_EXTRA_SF].t.shape[1] = 2;
}
static void extra_base(struct call *c)
{
    c->slot[CAST_EXTRA_SF].miss = 2;
}
static void extra_alias(struct call *c)
{
    c->slot[CAST_EXTRA_SF].same_as = CAST_SF;
}
static void extra_group(struct call *c)
{
    call_set_scalar(c, "group", 64, 0), call_set_scalar(c, "sf_packed", 0, 0);
    c->slot[CAST_SF].t.dtype = LC_F32;
    c->slot[CAST_SF].t.shape[1] = 2;
}
static void extra_round(struct call *c)
{
    call_set_scalar(c, "round_sf", 0, 0), call_set_scalar(c, "sf_packed", 0, 0);
    c->slot[CAST_SF].t.dtype = LC_F32;
    c->slot[CAST_SF].t.shape[1] = 4;
}
static void extra_d(struct call *c)
{
    call_set_scalar(c, "sf_packed", 0, 0);
    c->slot[CAST_X].t.shape[1] = c->slot[CAST_OUT].t.shape[1] = c->slot[CAST_OUT].t.stride[0] = 96;
    c->slot[CAST_SF].t.dtype = LC_F32;
    c->slot[CAST_SF].t.shape[1] = 3;
}
static void extra_batch(struct call *c)
{
    static const int slots[3] = { CAST_X, CAST_OUT, CAST_SF };
    for (int i = 0; i < 3; i++) { /* (3, n) becomes (3, 1, n) */
        struct lc_tensor *const t = &c->slot[slots[i]].t;
        t->rank = 3;
        t->shape[2] = t->shape[1];
        t->stride[2] = t->stride[1];
        t->shape[1] = 1;
        t->stride[1] = i == 2 ? 1 : t->stride[0];
        t->stride[0] = i == 2 ? 4 : t->stride[0];
    }
}

const struct bad cast_bads[] = {
    { "x-rank", "x", "CAST-10", "rank 0", x_rank },
    { "x-dtype", "x", "CAST-10", "dtype i32", x_dtype },
    { "x-stride", "x", "CAST-10", "stride(-1) = 2", x_stride },
    { "x-null", "x", "CAST-10", "NULL", x_null },
    { "x-base", "x", "CAST-10", "0x", x_base },
    { "x-d", "x", "CAST-10", "d = 0", x_d },
    { "x-absent", "x", "CAST-10", "not given", x_absent },
    { "x-rank-4", "x", "CAST-10", "rank 4", x_rank_4 },
    { "out-null", "out", "CAST-10", "NULL", out_null },
    { "out-absent", "out", "CAST-10", "not given", out_absent },
    { "out-partly", "out", "DET-4", "0x", out_partly },
    { "sf-null", "sf", "SF-3", "NULL", sf_null },
    { "sf-partly", "sf", "DET-4", "0x", sf_partly },
    { "extra-shape", "extra_sf", "SF-4", "shape (3, 2)", extra_shape },
    { "extra-base", "extra_sf", "SF-4", "0x", extra_base },
    { "extra-alias", "extra_sf", "DET-4", "0x", extra_alias },
    { "extra-group", "group", "SF-4", "64", extra_group },
    { "extra-round", "round_sf", "SF-4", "0", extra_round },
    { "extra-d", "x|extra_sf", "SF-4", "d = 96|", extra_d },
    { "extra-batch", "x|extra_sf", "SF-4", "B = 3|", extra_batch },
    { "out-shape", "out", "CAST-10", "shape[0] = 2", out_shape },
    { "out-dtype", "out", "CAST-10", "dtype ue8m0", out_dtype },
    { "out-stride", "out", "CAST-10", "stride[0] = 64", out_stride },
    { "out-alias", "out", "DET-4", "0x", out_alias },
    { "e2m1-odd", "x", "CAST-10", "d = 127", e2m1_odd },
    { "e2m1-shape", "out", "CAST-10", "shape[1] = 128", e2m1_shape },
    { "e2m1-stride", "out", "CAST-10", "stride[0] = 128", e2m1_stride },
    { "e2m1-utccp", "out", "SF-4", "dtype e2m1", e2m1_utccp },
    { "ragged-3", "sf_ragged", "SF-6", "3", ragged_3 },
    { "ragged-f32", "sf_ragged", "SF-6", "1", ragged_f32 },
    { "ragged-words", "sf", "SF-3", "shape[1] = 0", ragged_words },
    { "group-20", "group", "CAST-10", "20", group_20 },
    { "group-0", "group", "CAST-10", "group: 0", group_0 },
    { "round-2", "round_sf", "SF-0", "2", round_2 },
    { "packed-f32", "sf_packed", "SF-0", "1", packed_f32 },
    { "packed-groups", "x|sf_packed|group", "SF-3", "d = 128|", packed_groups },
    { "rowp-groups", "x|sf_packed|group", "SF-2", "d = 128|", rowp_groups },
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
