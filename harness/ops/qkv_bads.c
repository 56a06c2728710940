/* SPDX-License-Identifier: Apache-2.0 */
/* Preconditions of qkv, violated one at a time (ERR-1, ERR-2). */
#include <math.h>
#include <string.h>

#include "../../ref/args.h"
#include "qkv.h"

static struct lc_tensor *t(struct call *c, int slot)
{
    return &c->slot[slot].t;
}

/* clang-format off */
static void x_absent(struct call *c) { c->slot[QKV_X].listed = 0; }
static void x_rank(struct call *c) { t(c, QKV_X)->rank = 1; }
static void x_dtype(struct call *c) { t(c, QKV_X)->dtype = LC_F32; }
static void x_width(struct call *c) { t(c, QKV_X)->shape[1] = 511; }
static void x_thirds(struct call *c) { t(c, QKV_X)->shape[1] = 768; t(c, QKV_X)->stride[0] = 768; }
static void x_last(struct call *c) { t(c, QKV_X)->stride[1] = 2; }
static void x_stride(struct call *c) { t(c, QKV_X)->stride[0] = 520; }
static void x_narrow(struct call *c) { t(c, QKV_X)->stride[0] = 496; }
static void x_null(struct call *c) { c->slot[QKV_X].miss = NULL_POINTER; }
static void x_base(struct call *c) { c->slot[QKV_X].miss = 1; }
static void w_q_absent(struct call *c) { c->slot[QKV_W_Q].listed = 0; }
static void w_q_shape(struct call *c) { t(c, QKV_W_Q)->shape[0] = 32; }
static void w_k_dtype(struct call *c) { t(c, QKV_W_K)->dtype = LC_E4M3; }
static void w_k_stride(struct call *c) { t(c, QKV_W_K)->stride[0] = 2; }
static void w_k_heads(struct call *c) { t(c, QKV_W_K)->shape[0] = 128; }
static void b_q_alone(struct call *c) { c->slot[QKV_B_K].listed = 0; }
static void b_k_alone(struct call *c) { c->slot[QKV_B_Q].listed = 0; }
static void b_q_shape(struct call *c) { t(c, QKV_B_Q)->shape[0] = 256; }
static void b_k_dtype(struct call *c) { t(c, QKV_B_K)->dtype = LC_I32; }
static void table_absent(struct call *c) { c->slot[QKV_TABLE].listed = 0; }
static void table_rank(struct call *c) { t(c, QKV_TABLE)->rank = 1; }
static void table_dtype(struct call *c) { t(c, QKV_TABLE)->dtype = LC_I64; }
static void table_odd(struct call *c) { t(c, QKV_TABLE)->shape[1] = t(c, QKV_TABLE)->stride[0] = 63; }
static void table_0(struct call *c) { t(c, QKV_TABLE)->shape[1] = 0; }
static void table_wide(struct call *c) { t(c, QKV_TABLE)->shape[0] = 32; t(c, QKV_TABLE)->shape[1] = t(c, QKV_TABLE)->stride[0] = 128; }
static void table_stride(struct call *c) { t(c, QKV_TABLE)->stride[0] = 80; }
static void table_base(struct call *c) { c->slot[QKV_TABLE].miss = 1; }
static void positions_absent(struct call *c) { c->slot[QKV_POSITIONS].listed = 0; }
static void positions_dtype(struct call *c) { t(c, QKV_POSITIONS)->dtype = LC_F32; }
static void positions_shape(struct call *c) { t(c, QKV_POSITIONS)->shape[0] = 2; }
static void positions_rank(struct call *c) { t(c, QKV_POSITIONS)->rank = 2, t(c, QKV_POSITIONS)->shape[1] = 1, t(c, QKV_POSITIONS)->stride[1] = 1; }
static void positions_stride(struct call *c) { t(c, QKV_POSITIONS)->stride[0] = 2; }
static void positions_value(struct call *c) { put(c, QKV_POSITIONS, 0, 0, -1); }
static void positions_rows(struct call *c) { put(c, QKV_POSITIONS, 2, 0, 64); }
static void positions_wide(struct call *c) /* its low half is a row of the table; int32 has no such position */
{
    put_int(c, QKV_POSITIONS, 1, 0, c->slot[QKV_POSITIONS].fmt == LC_I64 ? (INT64_C(1) << 32) + 5 : INT32_MAX);
}
static void q_absent(struct call *c) { c->slot[QKV_Q].listed = 0; }
static void q_shape(struct call *c) { t(c, QKV_Q)->shape[1] = 128; }
static void q_rows(struct call *c) { t(c, QKV_Q)->shape[0] = 2; }
static void q_dtype(struct call *c) { t(c, QKV_Q)->dtype = LC_F32; }
static void k_stride(struct call *c) { t(c, QKV_K)->stride[0] = 144; }
static void k_shape(struct call *c) { t(c, QKV_K)->shape[1] = 256; }
static void k_null(struct call *c) { c->slot[QKV_K].miss = NULL_POINTER; }
static void v_dtype(struct call *c) { t(c, QKV_V)->dtype = LC_I32; }
static void v_shape(struct call *c) { t(c, QKV_V)->shape[1] = 64; }
static void v_absent(struct call *c) { c->slot[QKV_V].listed = 0; }
static void q_alias(struct call *c) { c->slot[QKV_Q].same_as = QKV_X; }
static void k_alias(struct call *c) { c->slot[QKV_K].same_as = QKV_X; }
static void v_view(struct call *c) { c->slot[QKV_V].same_as = QKV_X, c->slot[QKV_V].shift = 768; }
static void v_is_k(struct call *c) { c->slot[QKV_V].same_as = QKV_K; }
static void heads_q_0(struct call *c) { call_set_scalar(c, "heads_q", 0, 0); }
static void heads_q_3(struct call *c) { call_set_scalar(c, "heads_q", 3, 0); }
static void heads_kv_0(struct call *c) { call_set_scalar(c, "heads_kv", 0, 0); }
static void head_dim_1(struct call *c) { call_set_scalar(c, "head_dim", 1, 0); }
static void head_dim_32(struct call *c) { call_set_scalar(c, "head_dim", 32, 0); }
static void eps_0(struct call *c) { call_set_scalar(c, "eps", 0, 0); }
static void eps_nan(struct call *c) { call_set_scalar(c, "eps", 0, NAN); }
static void eps_double(struct call *c) { call_set_scalar(c, "eps", 0, 0.1); }
static void dialect_4(struct call *c) { call_set_scalar(c, "dialect", 4, 0); }
static void bf16rot_f32(struct call *c) { call_set_scalar(c, "dialect", 1, 0), t(c, QKV_TABLE)->dtype = LC_F32; }
static void eps_negative(struct call *c) { call_set_scalar(c, "eps", 0, -1); }
static void eps_inf(struct call *c) { call_set_scalar(c, "eps", 0, INFINITY); }
static void w_q_null(struct call *c) { c->slot[QKV_W_Q].miss = NULL_POINTER; }
static void w_q_base(struct call *c) { c->slot[QKV_W_Q].miss = 1; }
static void b_q_null(struct call *c) { c->slot[QKV_B_Q].miss = NULL_POINTER; }
static void b_q_base(struct call *c) { c->slot[QKV_B_Q].miss = 1; }
static void table_null(struct call *c) { c->slot[QKV_TABLE].miss = NULL_POINTER; }
static void positions_null(struct call *c) { c->slot[QKV_POSITIONS].miss = NULL_POINTER; }
static void positions_base(struct call *c) { c->slot[QKV_POSITIONS].miss = 2; }
static void q_null(struct call *c) { c->slot[QKV_Q].miss = NULL_POINTER; }
static void q_base(struct call *c) { c->slot[QKV_Q].miss = 1; }
static void k_is_q(struct call *c) { c->slot[QKV_K].same_as = QKV_Q; }
static void q_is_w_q(struct call *c) { c->slot[QKV_W_Q].same_as = QKV_Q; }
static void k_is_table(struct call *c) { c->slot[QKV_K].same_as = QKV_TABLE; }
static void v_is_positions(struct call *c) { c->slot[QKV_POSITIONS].same_as = QKV_V; }
/* clang-format on */

const struct bad qkv_bads[] = {
    { "x-absent", "x", "QKV-1", "not given", x_absent },
    { "x-rank", "x", "QKV-1", "rank 1", x_rank },
    { "x-dtype", "x", "QKV-5", "dtype f32", x_dtype },
    { "x-width", "x", "QKV-1", "shape[1] = 511", x_width },
    { "x-thirds", "x", "QKV-1", "shape[1] = 768", x_thirds },
    { "x-last", "x", "QKV-5", "stride(-1) = 2", x_last },
    { "x-stride", "x", "QKV-5", "stride[0] = 520", x_stride },
    { "x-narrow", "x", "QKV-5", "stride[0] = 496", x_narrow },
    { "x-null", "x", "QKV-5", "NULL", x_null },
    { "x-base", "x", "QKV-5", "0x", x_base },
    { "w_q-absent", "w_q", "QKV-1", "not given", w_q_absent },
    { "w_q-shape", "w_q", "QKV-2", "shape[0] = 32", w_q_shape },
    { "w_k-dtype", "w_k", "QKV-2", "dtype e4m3", w_k_dtype },
    { "w_k-stride", "w_k", "QKV-2", "stride[0] = 2", w_k_stride },
    { "w_k-heads", "w_k", "QKV-2", "shape[0] = 128", w_k_heads },
    { "b_q-alone", "b_k", "QKV-2", "not given", b_q_alone },
    { "b_k-alone", "b_q", "QKV-2", "not given", b_k_alone },
    { "b_q-shape", "b_q", "QKV-2", "shape[0] = 256", b_q_shape },
    { "b_k-dtype", "b_k", "QKV-2", "dtype i32", b_k_dtype },
    { "table-absent", "table", "QKV-1", "not given", table_absent },
    { "table-rank", "table", "QKV-3", "rank 1", table_rank },
    { "table-dtype", "table", "QKV-3", "dtype i64", table_dtype },
    { "table-odd", "table", "QKV-3", "shape[1] = 63", table_odd },
    { "table-0", "table", "QKV-3", "shape[1] = 0", table_0 },
    { "table-wide", "table", "QKV-3", "shape[1] = 128", table_wide },
    { "table-stride", "table", "ROT-4", "stride[0] = 80", table_stride },
    { "table-base", "table", "QKV-3", "0x", table_base },
    { "positions-absent", "positions", "QKV-1", "not given", positions_absent },
    { "positions-dtype", "positions", "APPLY-4", "dtype f32", positions_dtype },
    { "positions-shape", "positions", "APPLY-4", "shape[0] = 2", positions_shape },
    { "positions-rank", "positions", "APPLY-4", "rank 2", positions_rank },
    { "positions-stride", "positions", "APPLY-4", "stride[0] = 2", positions_stride },
    { "positions-value", "positions", "ERR-2", "[0] = ", positions_value },
    { "positions-rows", "positions", "ERR-2", "[2] = 64", positions_rows },
    { "positions-wide", "positions", "ERR-2", "[1] = ", positions_wide },
    { "q-absent", "q", "QKV-1", "not given", q_absent },
    { "q-shape", "q", "QKV-5", "shape[1] = 128", q_shape },
    { "q-rows", "q", "QKV-5", "shape[0] = 2", q_rows },
    { "q-dtype", "q", "QKV-5", "dtype f32", q_dtype },
    { "k-stride", "k", "QKV-5", "stride[0] = 144", k_stride },
    { "k-shape", "k", "QKV-5", "shape[1] = 256", k_shape },
    { "k-null", "k", "QKV-5", "NULL", k_null },
    { "v-dtype", "v", "QKV-5", "dtype i32", v_dtype },
    { "v-shape", "v", "QKV-5", "shape[1] = 64", v_shape },
    { "v-absent", "v", "QKV-1", "not given", v_absent },
    { "q-alias", "q", "DET-4", "0x", q_alias },
    { "k-alias", "k", "DET-4", "0x", k_alias },
    { "v-view", "v", "DET-4", "0x", v_view },
    { "v-is-k", "v", "DET-4", "0x", v_is_k },
    { "w_q-null", "w_q", "QKV-2", "NULL", w_q_null },
    { "w_q-base", "w_q", "QKV-2", "0x", w_q_base },
    { "b_q-null", "b_q", "QKV-2", "NULL", b_q_null },
    { "b_q-base", "b_q", "QKV-2", "0x", b_q_base },
    { "table-null", "table", "QKV-3", "NULL", table_null },
    { "positions-null", "positions", "APPLY-4", "NULL", positions_null },
    { "positions-base", "positions", "APPLY-4", "0x", positions_base },
    { "q-null", "q", "QKV-5", "NULL", q_null },
    { "q-base", "q", "QKV-5", "0x", q_base },
    { "k-is-q", "k", "DET-4", "0x", k_is_q },
    { "q-is-w_q", "q", "DET-4", "0x", q_is_w_q },
    { "k-is-table", "k", "DET-4", "0x", k_is_table },
    { "v-is-positions", "v", "DET-4", "0x", v_is_positions },
    { "heads_q-0", "heads_q", "QKV-1", "0", heads_q_0 },
    { "heads_q-3", "x|heads_q", "QKV-1", "shape[1] = 512|3", heads_q_3 },
    { "heads_kv-0", "heads_kv", "QKV-1", "0", heads_kv_0 },
    { "head_dim-1", "head_dim", "QKV-1", "1", head_dim_1 },
    { "head_dim-32", "x|head_dim", "QKV-1", "shape[1] = 512|32", head_dim_32 },
    { "eps-0", "eps", "RMS-12", "0", eps_0 },
    { "eps-nan", "eps", "RMS-12", "nan", eps_nan },
    { "eps-negative", "eps", "RMS-12", "-1", eps_negative },
    { "eps-inf", "eps", "RMS-12", "inf", eps_inf },
    { "eps-double", "eps", "RMS-12", "0.1", eps_double },
    { "dialect-4", "dialect", "QKV-3", "4", dialect_4 },
    { "bf16rot-f32", "table", "QKV-3", "dtype f32", bf16rot_f32 },
    { NULL, NULL, NULL, NULL, NULL },
};
