/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of linear that must be refused (ERR-1). The good call has rank 3, B = 2, M = 3, N = 33, K = 128, out_acc beside out; BF16
 * with a bias, or where the name begins with fp8-, codes with their scales. */
#include <stddef.h>

#include "../../ref/args.h"
#include "linear.h"

static struct lc_tensor *t(struct call *c, int slot)
{
    return &c->slot[slot].t;
}

/* Another tensor's storage, `shift` bytes on. */
static void onto(struct call *c, int slot, int other, int64_t shift)
{
    c->slot[slot].same_as = other;
    c->slot[slot].shift = shift;
}

/* clang-format off */
static void x_absent(struct call *c) { c->slot[LIN_X].listed = 0; }
static void x_rank(struct call *c) { t(c, LIN_X)->rank = 0; }
static void x_dtype(struct call *c) { t(c, LIN_X)->dtype = LC_F32; }
static void x_e4m3(struct call *c) { t(c, LIN_X)->dtype = LC_E4M3; }
static void x_last(struct call *c) { t(c, LIN_X)->stride[2] = 2; }
static void x_flat(struct call *c) { t(c, LIN_X)->stride[0] = 400; }
static void x_row(struct call *c) { t(c, LIN_X)->stride[1] = 127, t(c, LIN_X)->stride[0] = 381; }
static void x_null(struct call *c) { c->slot[LIN_X].miss = NULL_POINTER; }
static void x_base(struct call *c) { c->slot[LIN_X].miss = 1; }
static void weight_absent(struct call *c) { c->slot[LIN_WEIGHT].listed = 0; }
static void weight_rank(struct call *c) { t(c, LIN_WEIGHT)->rank = 1; }
static void weight_dtype(struct call *c) { t(c, LIN_WEIGHT)->dtype = LC_F32; }
static void weight_k(struct call *c) { t(c, LIN_WEIGHT)->shape[1] = 64; }
static void weight_n(struct call *c) { t(c, LIN_WEIGHT)->shape[0] = 32; }
static void weight_last(struct call *c) { t(c, LIN_WEIGHT)->stride[1] = 2; }
static void weight_null(struct call *c) { c->slot[LIN_WEIGHT].miss = NULL_POINTER; }
static void bias_n(struct call *c) { t(c, LIN_BIAS)->shape[0] = 32; }
static void bias_rank(struct call *c) { t(c, LIN_BIAS)->rank = 2, t(c, LIN_BIAS)->shape[1] = 1, t(c, LIN_BIAS)->stride[1] = 1; }
static void bias_dtype(struct call *c) { t(c, LIN_BIAS)->dtype = LC_F32; }
static void bias_stride(struct call *c) { t(c, LIN_BIAS)->stride[0] = 2; }
static void out_absent(struct call *c) { c->slot[LIN_OUT].listed = c->slot[LIN_OUT_ACC].listed = 0; }
static void out_rank(struct call *c) { t(c, LIN_OUT)->rank = 2; }
static void out_m(struct call *c) { t(c, LIN_OUT)->shape[1] = 2; }
static void out_n(struct call *c) { t(c, LIN_OUT)->shape[2] = 32; }
static void out_dtype(struct call *c) { t(c, LIN_OUT)->dtype = LC_E4M3; }
static void out_last(struct call *c) { t(c, LIN_OUT)->stride[2] = 2; }
static void out_null(struct call *c) { c->slot[LIN_OUT].miss = NULL_POINTER; }
static void out_rows(struct call *c) { t(c, LIN_OUT)->stride[1] = 16; }
static void out_unaligned(struct call *c) { t(c, LIN_OUT)->stride[1] = 33, t(c, LIN_OUT)->stride[0] = 99; }
static void out_is_x(struct call *c) { onto(c, LIN_OUT, LIN_X, 0); }
static void out_is_weight(struct call *c) { onto(c, LIN_OUT, LIN_WEIGHT, 64); }
static void out_is_bias(struct call *c) { onto(c, LIN_OUT, LIN_BIAS, 64); }
static void weight_base(struct call *c) { c->slot[LIN_WEIGHT].miss = 1; }
static void out_base(struct call *c) { c->slot[LIN_OUT].miss = 1; }
static void bias_null(struct call *c) { c->slot[LIN_BIAS].miss = NULL_POINTER; }
static void acc_null(struct call *c) { c->slot[LIN_OUT_ACC].miss = NULL_POINTER; }
static void acc_rank(struct call *c) { t(c, LIN_OUT_ACC)->rank = 2; }
static void acc_onto(struct call *c, int other, int64_t shift) { c->slot[LIN_OUT].listed = 0, onto(c, LIN_OUT_ACC, other, shift); }
static void acc_is_x(struct call *c) { acc_onto(c, LIN_X, 0); }
static void acc_is_weight(struct call *c) { acc_onto(c, LIN_WEIGHT, 64); }
static void acc_has_bias(struct call *c) { c->slot[LIN_OUT].listed = 0, onto(c, LIN_BIAS, LIN_OUT_ACC, 64); }
static void acc_m(struct call *c) { t(c, LIN_OUT_ACC)->shape[1] = 2; }
static void acc_n(struct call *c) { t(c, LIN_OUT_ACC)->shape[2] = 32; }
static void acc_dtype(struct call *c) { t(c, LIN_OUT_ACC)->dtype = LC_F32; }
static void acc_last(struct call *c) { t(c, LIN_OUT_ACC)->stride[2] = 2; }
static void acc_unaligned(struct call *c) { t(c, LIN_OUT_ACC)->stride[1] = 33, t(c, LIN_OUT_ACC)->stride[0] = 99; }
static void acc_flat(struct call *c) { t(c, LIN_OUT_ACC)->stride[0] = 160; }
static void acc_partial(struct call *c) { onto(c, LIN_OUT, LIN_OUT_ACC, 32); }
static void acc_other_rows(struct call *c) { onto(c, LIN_OUT, LIN_OUT_ACC, 0), t(c, LIN_OUT)->stride[1] = 64, t(c, LIN_OUT)->stride[0] = 192; }
static void sf_bf16(struct call *c)
{
    static const int64_t shape[2] = { 6, 1 }, stride[2] = { 1, 8 };
    call_tensor(c, LIN_X_SF, "x_sf", LC_I32, DIR_IN, 2, shape, stride, 2, shape);
    onto(c, LIN_X_SF, LIN_X, 0);
}
static void ragged_bf16(struct call *c) { call_scalar(c, "ragged", 1, 0); }
static void ragged_2(struct call *c) { call_scalar(c, "ragged", 2, 0); }
static void dialect(struct call *c) { call_set_scalar(c, "dialect", 3, 0); }
static void reduce_add_f32(struct call *c)
{
    call_set_scalar(c, "dialect", LIN_REDUCE_ADD, 0);
    c->slot[LIN_OUT_ACC].listed = 0;
    t(c, LIN_OUT)->dtype = LC_F32; /* in the storage of BF16, which nobody touches */
}

static void fp8_k(struct call *c) { t(c, LIN_X)->shape[2] = t(c, LIN_WEIGHT)->shape[1] = 96; }
static void fp8_ragged_k(struct call *c) { call_scalar(c, "ragged", 1, 0), t(c, LIN_X)->shape[2] = t(c, LIN_WEIGHT)->shape[1] = 112; }
static void fp8_x_row(struct call *c) { t(c, LIN_X)->stride[1] = 136, t(c, LIN_X)->stride[0] = 408; }
static void fp8_x_sf_absent(struct call *c) { c->slot[LIN_X_SF].listed = 0; }
static void fp8_x_sf_dtype(struct call *c) { t(c, LIN_X_SF)->dtype = LC_F32; }
static void fp8_x_sf_rank(struct call *c) { t(c, LIN_X_SF)->rank = 1; }
static void fp8_x_sf_m(struct call *c) { t(c, LIN_X_SF)->shape[0] = 3; }
static void fp8_x_sf_stride(struct call *c) { t(c, LIN_X_SF)->stride[1] = 6; }
static void fp8_x_sf_base(struct call *c) { c->slot[LIN_X_SF].miss = 4; }
static void fp8_weight_sf_absent(struct call *c) { c->slot[LIN_WEIGHT_SF].listed = 0; }
static void fp8_weight_sf_n(struct call *c) { t(c, LIN_WEIGHT_SF)->shape[0] = 2; }
static void fp8_weight_sf_words(struct call *c) { t(c, LIN_WEIGHT_SF)->shape[1] = 4; }
static void fp8_weight_sf_stride(struct call *c) { t(c, LIN_WEIGHT_SF)->stride[0] = 36; }
static void fp8_weight_sf_dtype(struct call *c) { t(c, LIN_WEIGHT_SF)->dtype = LC_F32; }
static void fp8_weight_sf_rank(struct call *c) { t(c, LIN_WEIGHT_SF)->rank = 1; }
static void fp8_weight_sf_base(struct call *c) { c->slot[LIN_WEIGHT_SF].miss = 4; }
static void fp8_out_is_x_sf(struct call *c) { onto(c, LIN_X_SF, LIN_OUT, 0); }
static void fp8_weight_k(struct call *c) { t(c, LIN_WEIGHT)->dtype = LC_E2M1X2; } /* 128 bytes a row are K = 256 */
static void fp8_bias(struct call *c)
{
    static const int64_t n = 33, one = 1;
    call_tensor(c, LIN_BIAS, "bias", LC_BF16, DIR_IN, 1, &n, &one, 1, &n);
    onto(c, LIN_BIAS, LIN_WEIGHT, 0);
}
static void fp8_out_f32(struct call *c) { t(c, LIN_OUT)->dtype = LC_F32; }
static void fp8_out_is_sf(struct call *c) { onto(c, LIN_OUT, LIN_WEIGHT_SF, 0); }
/* clang-format on */

const struct bad linear_bads[] = {
    { "x-absent", "x", "LIN-10", "not given", x_absent },
    { "x-rank", "x", "LIN-10", "rank 0", x_rank },
    { "x-dtype", "x", "LIN-5", "dtype f32", x_dtype },
    { "x-e4m3", "x", "LIN-6", "dtype e4m3", x_e4m3 },
    { "x-last", "x", "LIN-10", "stride(-1) = 2", x_last },
    { "x-flat", "x", "LIN-10", "stride[0] = 400", x_flat },
    { "x-row", "x", "LIN-10", "stride(-2) = 127", x_row },
    { "x-null", "x", "LIN-10", "NULL", x_null },
    { "x-base", "x", "LIN-10", "0x", x_base },
    { "weight-absent", "weight", "LIN-10", "not given", weight_absent },
    { "weight-rank", "weight", "LIN-10", "rank 1", weight_rank },
    { "weight-dtype", "weight", "LIN-6", "dtype f32", weight_dtype },
    { "weight-k", "weight", "LIN-10", "shape[1] = 64", weight_k },
    { "weight-n", "out|weight", "LIN-3|LIN-10", "must be 32|shape[0] = 32", weight_n },
    { "weight-last", "weight", "LIN-10", "stride(-1) = 2", weight_last },
    { "weight-null", "weight", "LIN-10", "NULL", weight_null },
    { "weight-base", "weight", "LIN-10", "0x", weight_base },
    { "bias-null", "bias", "LIN-9", "NULL", bias_null },
    { "bias-n", "bias", "LIN-9", "shape[0] = 32", bias_n },
    { "bias-rank", "bias", "LIN-9", "rank 2", bias_rank },
    { "bias-dtype", "bias", "LIN-9", "dtype f32", bias_dtype },
    { "bias-stride", "bias", "LIN-9", "stride[0] = 2", bias_stride },
    { "out-absent", "out", "LIN-2", "not given", out_absent },
    { "out-rank", "out", "LIN-3", "rank 2", out_rank },
    { "out-m", "out", "LIN-3", "shape[1] = 2", out_m },
    { "out-n", "out", "LIN-3", "shape[2] = 32", out_n },
    { "out-dtype", "out", "LIN-1", "dtype e4m3", out_dtype },
    { "out-last", "out", "LIN-3", "stride(-1) = 2", out_last },
    { "out-null", "out", "LIN-3", "NULL", out_null },
    { "out-base", "out", "LIN-3", "0x", out_base },
    { "out-rows", "out", "DET-4", "its own rows", out_rows },
    { "out-unaligned", "out", "LIN-2", "stride(-2) = 33", out_unaligned },
    { "out-is-x", "out", "DET-4", "shares bytes with x", out_is_x },
    { "out-is-weight", "out", "DET-4", "shares bytes with weight", out_is_weight },
    { "out-is-bias", "out", "DET-4", "shares bytes with bias", out_is_bias },
    { "acc-m", "out_acc", "LIN-2", "shape[1] = 2", acc_m },
    { "acc-n", "out_acc", "LIN-2", "shape[2] = 32", acc_n },
    { "acc-null", "out_acc", "LIN-2", "NULL", acc_null },
    { "acc-rank", "out_acc", "LIN-2", "rank 2", acc_rank },
    { "acc-is-x", "out_acc", "DET-4", "shares bytes with x", acc_is_x },
    { "acc-is-weight", "out_acc", "DET-4", "shares bytes with weight", acc_is_weight },
    { "acc-has-bias", "out_acc", "DET-4", "shares bytes with bias", acc_has_bias },
    { "acc-dtype", "out_acc", "LIN-2", "dtype f32", acc_dtype },
    { "acc-last", "out_acc", "LIN-2", "stride(-1) = 2", acc_last },
    { "acc-unaligned", "out_acc", "LIN-4", "stride(-2) = 33", acc_unaligned },
    { "acc-flat", "out_acc", "LIN-4", "stride[0] = 160", acc_flat },
    { "acc-partial", "out", "LIN-2", "shares bytes with out_acc", acc_partial },
    { "acc-other-rows", "out|out_acc", "LIN-2", "shares bytes with out_acc|", acc_other_rows },
    { "sf-bf16", "x_sf", "LIN-5", "given", sf_bf16 },
    { "ragged-bf16", "ragged", "LIN-7", "1:", ragged_bf16 },
    { "ragged-2", "ragged", "LIN-7", "2:", ragged_2 },
    { "dialect", "dialect", "LIN-2", "3:", dialect },
    { "reduce-add-f32", "dialect", "LIN-2", "reduce-add", reduce_add_f32 },
    { "fp8-k", "x", "LIN-7", "K = 96", fp8_k },
    { "fp8-ragged-k", "x", "LIN-7", "K = 112", fp8_ragged_k },
    { "fp8-x-row", "x", "LIN-10", "stride(-2) = 136", fp8_x_row },
    { "fp8-x-sf-absent", "x_sf", "LIN-5", "not given", fp8_x_sf_absent },
    { "fp8-x-sf-dtype", "x_sf", "SF-3", "dtype f32", fp8_x_sf_dtype },
    { "fp8-x-sf-rank", "x_sf", "SF-3", "rank 1", fp8_x_sf_rank },
    { "fp8-x-sf-m", "x_sf", "SF-3", "shape[0] = 3", fp8_x_sf_m },
    { "fp8-x-sf-stride", "x_sf", "SF-3", "stride[1] = 6", fp8_x_sf_stride },
    { "fp8-x-sf-base", "x_sf", "SF-3", "0x", fp8_x_sf_base },
    { "fp8-weight-sf-absent", "weight_sf", "LIN-5", "not given", fp8_weight_sf_absent },
    { "fp8-weight-sf-n", "weight_sf", "SF-3", "shape[0] = 2", fp8_weight_sf_n },
    { "fp8-weight-sf-words", "weight_sf", "SF-3", "shape[1] = 4", fp8_weight_sf_words },
    { "fp8-weight-sf-stride", "weight_sf", "SF-3", "stride[0] = 36", fp8_weight_sf_stride },
    { "fp8-weight-sf-dtype", "weight_sf", "SF-3", "dtype f32", fp8_weight_sf_dtype },
    { "fp8-weight-sf-rank", "weight_sf", "SF-3", "rank 1", fp8_weight_sf_rank },
    { "fp8-weight-sf-base", "weight_sf", "SF-3", "0x", fp8_weight_sf_base },
    { "fp8-out-is-x_sf", "out", "DET-4", "shares bytes with x_sf", fp8_out_is_x_sf },
    { "fp8-weight-k", "weight", "LIN-10", "shape[1] = 128", fp8_weight_k },
    { "fp8-bias", "bias", "LIN-5", "given", fp8_bias },
    { "fp8-out-f32", "out", "LIN-5", "dtype f32", fp8_out_f32 },
    { "fp8-out-is-sf", "out", "DET-4", "shares bytes with weight_sf", fp8_out_is_sf },
    { NULL, NULL, NULL, NULL, NULL },
};
