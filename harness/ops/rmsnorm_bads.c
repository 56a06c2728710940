/* SPDX-License-Identifier: Apache-2.0 */
/* Preconditions of rmsnorm, violated one at a time (ERR-1). */
#include <math.h>

#include "../../ref/args.h"
#include "rmsnorm.h"

static struct lc_tensor *t(struct call *c, int slot)
{
    return &c->slot[slot].t;
}

/* clang-format off */
static void x_rank(struct call *c) { t(c, RMS_X)->rank = 1; }
static void x_dtype(struct call *c) { t(c, RMS_X)->dtype = LC_I32; }
static void x_last(struct call *c) { t(c, RMS_X)->stride[1] = 2; }
static void x_stride(struct call *c) { t(c, RMS_X)->stride[0] = 136; }
static void x_null(struct call *c) { c->slot[RMS_X].miss = NULL_POINTER; }
static void x_base(struct call *c) { c->slot[RMS_X].miss = 1; }
static void x_d(struct call *c) { t(c, RMS_X)->shape[1] = 0; }
static void residual_shape(struct call *c) { t(c, RMS_RESIDUAL)->shape[0] = 2; }
static void residual_dtype(struct call *c) { t(c, RMS_RESIDUAL)->dtype = LC_I64; }
static void residual_stride(struct call *c) { t(c, RMS_RESIDUAL)->stride[0] = 129; }
static void residual_absent(struct call *c) { c->slot[RMS_RESIDUAL].listed = 0; }
static void residual_out_stride(struct call *c) { t(c, RMS_RESIDUAL_OUT)->stride[0] = 130; }
static void residual_out_alias(struct call *c) { c->slot[RMS_RESIDUAL_OUT].same_as = RMS_RESIDUAL; }
static void residual_out_x(struct call *c) { c->slot[RMS_RESIDUAL_OUT].same_as = RMS_X; }
static void residual_out_rows(struct call *c) { t(c, RMS_RESIDUAL_OUT)->stride[0] = 112; }
static void weight_shape(struct call *c) { t(c, RMS_WEIGHT)->shape[0] = 64; }
static void weight_dtype(struct call *c) { t(c, RMS_WEIGHT)->dtype = LC_E4M3; }
static void weight_stride(struct call *c) { t(c, RMS_WEIGHT)->stride[0] = 2; }
static void out_dtype(struct call *c) { t(c, RMS_OUT)->dtype = LC_UE8M0; }
static void out_shape(struct call *c) { t(c, RMS_OUT)->shape[0] = 4; }
static void out_alias(struct call *c) { c->slot[RMS_OUT].same_as = RMS_X; }
static void bf16_alias(struct call *c) { c->slot[RMS_BF16].same_as = RMS_RESIDUAL_OUT; }
static void bf16_absent(struct call *c) { c->slot[RMS_BF16].listed = 0; }
static void bf16_dtype(struct call *c) { t(c, RMS_BF16)->dtype = LC_E4M3; }
static void cast_2(struct call *c) { call_set_scalar(c, "cast", 2, 0); }
static void eps_0(struct call *c) { call_set_scalar(c, "eps", 0, 0); }
static void eps_negative(struct call *c) { call_set_scalar(c, "eps", 0, -1); }
static void eps_nan(struct call *c) { call_set_scalar(c, "eps", 0, NAN); }
static void scale_inf(struct call *c) { call_set_scalar(c, "out_scale", 0, INFINITY); }
static void group_20(struct call *c) { call_set_scalar(c, "group", 20, 0); }
static void packed_f32(struct call *c) { call_set_scalar(c, "round_sf", 0, 0); }
static void packed_groups(struct call *c) { call_set_scalar(c, "group", 64, 0); }
static void ragged_3(struct call *c) { call_set_scalar(c, "sf_ragged", 3, 0); }
static void ragged_words(struct call *c) /* two groups need one word, not none */
{
    call_set_scalar(c, "group", 64, 0), call_set_scalar(c, "sf_ragged", 1, 0);
    t(c, RMS_SF)->shape[1] = 0;
}
static void sf_base(struct call *c) { c->slot[RMS_SF].miss = 8; }
static void sf_absent(struct call *c) { c->slot[RMS_SF].listed = 0; }
static void sf_alias(struct call *c) { c->slot[RMS_SF].same_as = RMS_RESIDUAL_OUT; }
static void extra_rows(struct call *c) { t(c, RMS_EXTRA_SF)->stride[1] = 383; }
static void extra_absent(struct call *c) { c->slot[RMS_EXTRA_SF].listed = 0; }
static void scale_nan(struct call *c) { call_set_scalar(c, "out_scale", 0, NAN); }
static void x_absent(struct call *c) { c->slot[RMS_X].listed = 0; }
static void residual_null(struct call *c) { c->slot[RMS_RESIDUAL].miss = NULL_POINTER; }
static void residual_base(struct call *c) { c->slot[RMS_RESIDUAL].miss = 1; }
static void residual_rank(struct call *c) { t(c, RMS_RESIDUAL)->rank = 1; }
static void weight_absent(struct call *c) { c->slot[RMS_WEIGHT].listed = 0; }
static void weight_null(struct call *c) { c->slot[RMS_WEIGHT].miss = NULL_POINTER; }
static void weight_base(struct call *c) { c->slot[RMS_WEIGHT].miss = 3; }
static void weight_rank(struct call *c) { t(c, RMS_WEIGHT)->rank = 2, t(c, RMS_WEIGHT)->shape[1] = 1, t(c, RMS_WEIGHT)->stride[1] = 1; }
static void out_absent(struct call *c) { c->slot[RMS_OUT].listed = 0; }
static void out_null(struct call *c) { c->slot[RMS_OUT].miss = NULL_POINTER; }
static void out_partly(struct call *c) { c->slot[RMS_OUT].same_as = RMS_X, c->slot[RMS_OUT].shift = 128; }
static void bf16_null(struct call *c) { c->slot[RMS_BF16].miss = NULL_POINTER; }
static void bf16_base(struct call *c) { c->slot[RMS_BF16].miss = 1; }
static void bf16_stride(struct call *c) { t(c, RMS_BF16)->stride[0] = 136; }
static void bf16_partly(struct call *c) { c->slot[RMS_BF16].same_as = RMS_RESIDUAL, c->slot[RMS_BF16].shift = -128; }
static void bf16_elsewhere(struct call *c) /* out BF16 without the cast, and another storage for bf16 (RMS-7) */
{
    call_set_scalar(c, "cast", 0, 0);
    *t(c, RMS_OUT) = *t(c, RMS_RESIDUAL_OUT);
    t(c, RMS_OUT)->name = "out";
    c->slot[RMS_OUT].same_as = RMS_RESIDUAL_OUT;
    call_set_scalar(c, "residual", 0, 0);
}
static void residual_out_absent(struct call *c) { c->slot[RMS_RESIDUAL_OUT].listed = 0; }
static void residual_out_null(struct call *c) { c->slot[RMS_RESIDUAL_OUT].miss = NULL_POINTER; }
static void residual_out_base(struct call *c) { c->slot[RMS_RESIDUAL_OUT].miss = 1; }
static void batch_stride(struct call *c) /* (3, 128) becomes (3, 1, 128), the stride of the batch 136 */
{
    struct lc_tensor *const x = t(c, RMS_X);
    x->rank = 3;
    x->shape[2] = 128, x->shape[1] = 1;
    x->stride[2] = 1, x->stride[1] = 128, x->stride[0] = 136;
}
static void switch_2(struct call *c) { call_set_scalar(c, "residual", 2, 0); }
static void extra_group(struct call *c)
{
    call_set_scalar(c, "group", 64, 0), call_set_scalar(c, "sf_packed", 0, 0);
    t(c, RMS_SF)->dtype = LC_F32;
    t(c, RMS_SF)->shape[1] = 2;
}
static void extra_round(struct call *c)
{
    call_set_scalar(c, "round_sf", 0, 0), call_set_scalar(c, "sf_packed", 0, 0);
    t(c, RMS_SF)->dtype = LC_F32;
    t(c, RMS_SF)->shape[1] = 4;
}
/* clang-format on */

const struct bad rmsnorm_bads[] = {
    { "x-rank", "x", "RMS-8", "rank 1", x_rank },
    { "x-dtype", "x", "RMS-8", "dtype i32", x_dtype },
    { "x-last", "x", "RMS-8", "stride(-1) = 2", x_last },
    { "x-stride", "x", "RMS-8", "stride[0] = 136", x_stride },
    { "x-null", "x", "RMS-8", "NULL", x_null },
    { "x-base", "x", "RMS-8", "0x", x_base },
    { "x-d", "x", "RMS-9", "d = 0", x_d },
    { "residual-shape", "residual", "RMS-8", "shape[0] = 2", residual_shape },
    { "residual-dtype", "residual", "RMS-8", "dtype i64", residual_dtype },
    { "residual-stride", "residual", "RMS-8", "stride[0] = 129", residual_stride },
    { "residual-absent", "residual", "RMS-7", "not given", residual_absent },
    { "residual_out-stride", "residual_out", "RMS-8", "stride[0] = 130", residual_out_stride },
    { "residual_out-alias", "residual_out", "RMS-2", "0x", residual_out_alias },
    { "residual_out-x", "residual_out", "RMS-2", "0x", residual_out_x },
    { "residual_out-rows", "residual_out", "RMS-2", "112", residual_out_rows },
    { "weight-shape", "weight", "RMS-5", "shape[0] = 64", weight_shape },
    { "weight-dtype", "weight", "RMS-5", "dtype e4m3", weight_dtype },
    { "weight-stride", "weight", "RMS-8", "stride[0] = 2", weight_stride },
    { "out-dtype", "out", "RMS-7", "dtype ue8m0", out_dtype },
    { "out-shape", "out", "RMS-8", "shape[0] = 4", out_shape },
    { "out-alias", "out", "RMS-2", "0x", out_alias },
    { "bf16-alias", "residual_out", "RMS-2", "0x", bf16_alias },
    { "bf16-absent", "bf16", "RMS-7", "not given", bf16_absent },
    { "bf16-dtype", "bf16", "RMS-8", "dtype e4m3", bf16_dtype },
    { "cast-2", "cast", "RMS-7", "2", cast_2 },
    { "eps-0", "eps", "RMS-12", "0", eps_0 },
    { "eps-negative", "eps", "RMS-12", "eps: -1", eps_negative },
    { "eps-nan", "eps", "RMS-12", "nan", eps_nan },
    { "scale-inf", "out_scale", "RMS-12", "inf", scale_inf },
    { "scale-nan", "out_scale", "RMS-12", "nan", scale_nan },
    { "x-absent", "x", "RMS-7", "not given", x_absent },
    { "residual-null", "residual", "RMS-8", "NULL", residual_null },
    { "residual-base", "residual", "RMS-8", "0x", residual_base },
    { "residual-rank", "residual", "RMS-8", "rank 1", residual_rank },
    { "weight-absent", "weight", "RMS-7", "not given", weight_absent },
    { "weight-null", "weight", "RMS-8", "NULL", weight_null },
    { "weight-base", "weight", "RMS-8", "0x", weight_base },
    { "weight-rank", "weight", "RMS-5", "rank 2", weight_rank },
    { "out-absent", "out", "RMS-7", "not given", out_absent },
    { "out-null", "out", "CAST-10", "NULL", out_null },
    { "out-partly", "out", "RMS-2", "0x", out_partly },
    { "bf16-null", "bf16", "RMS-8", "NULL", bf16_null },
    { "bf16-base", "bf16", "RMS-8", "0x", bf16_base },
    { "bf16-stride", "bf16", "RMS-8", "stride[0] = 136", bf16_stride },
    { "bf16-partly", "bf16", "RMS-2", "0x", bf16_partly },
    { "bf16-elsewhere", "bf16", "RMS-7", "0x", bf16_elsewhere },
    { "residual_out-absent", "residual_out", "RMS-7", "not given", residual_out_absent },
    { "residual_out-null", "residual_out", "RMS-8", "NULL", residual_out_null },
    { "residual_out-base", "residual_out", "RMS-8", "0x", residual_out_base },
    { "batch-stride", "x", "RMS-8", "stride[0] = 136", batch_stride },
    { "switch-2", "residual", "RMS-7", "2", switch_2 },
    { "extra-group", "group", "SF-4", "64", extra_group },
    { "extra-round", "round_sf", "SF-4", "0", extra_round },
    { "group-20", "group", "CAST-10", "20", group_20 },
    { "packed-f32", "sf_packed", "SF-0", "1", packed_f32 },
    { "packed-groups", "x|sf_packed|group", "SF-3", "d = 128|", packed_groups },
    { "ragged-3", "sf_ragged", "SF-6", "3", ragged_3 },
    { "ragged-words", "sf", "SF-3", "shape[1] = 0", ragged_words },
    { "sf-base", "sf", "SF-3", "0x", sf_base },
    { "sf-absent", "sf", "SF-0", "not given", sf_absent },
    { "sf-alias", "sf", "RMS-2", "0x", sf_alias },
    { "extra-rows", "extra_sf", "SF-4", "stride[1] = 383", extra_rows },
    { "extra-absent", "extra_sf", "SF-4", "not given", extra_absent },
    { NULL, NULL, NULL, NULL, NULL },
};
