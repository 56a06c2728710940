/* SPDX-License-Identifier: Apache-2.0 */
/* What kv_store must refuse (ERR-1), and values in memory that a checked build refuses (ERR-2). The good call: five tokens of two
 * heads of 128, all stages, interleaved pool of two pages; out and sf in its place where a name begins so. */
#include <math.h>

#include "kv_store.h"

/* clang-format off */
static struct lc_tensor *t(struct call *c, int slot) { return &c->slot[slot].t; }
static void set(struct call *c, const char *scalar, int64_t i) { call_set_scalar(c, scalar, i, 0); }
static void real(struct call *c, const char *scalar, double f) { call_set_scalar(c, scalar, 0, f); }

static void norm_2(struct call *c) { set(c, "norm", 2); }
static void rope_2(struct call *c) { set(c, "rope", 2); }
static void hadamard_2(struct call *c) { set(c, "hadamard", 2); }
static void cast_2(struct call *c) { set(c, "cast", 2); }
static void cast_0(struct call *c) { set(c, "cast", 0); }
static void store_2(struct call *c) { set(c, "store", 2); }
static void per_head_2(struct call *c) { set(c, "per_head", 2); }
static void per_head_1(struct call *c) { set(c, "per_head", 1); }
static void stage_2(struct call *c) { set(c, "stage", 2); }
static void conjugate_2(struct call *c) { set(c, "conjugate", 2); }
static void interleaved_2(struct call *c) { set(c, "interleaved", 2); }

static void x_absent(struct call *c) { c->slot[KV_X].listed = 0; }
static void x_rank(struct call *c) { t(c, KV_X)->rank = 1; }
static void x_dtype(struct call *c) { t(c, KV_X)->dtype = LC_F32; }
static void x_null(struct call *c) { c->slot[KV_X].miss = NULL_POINTER; }
static void x_base(struct call *c) { c->slot[KV_X].miss = 1; }
static void x_last(struct call *c) { t(c, KV_X)->stride[2] = 2; }
static void x_head_stride(struct call *c) { t(c, KV_X)->stride[1] = 136; }
static void x_token_stride(struct call *c) { t(c, KV_X)->stride[0] = 264; }
static void x_heads_0(struct call *c) { t(c, KV_X)->shape[1] = 0; }
static void x_hd_0(struct call *c) { t(c, KV_X)->shape[2] = 0; }
static void x_hd_80(struct call *c) { t(c, KV_X)->shape[2] = 80; }
static void x_hd_96(struct call *c) { t(c, KV_X)->shape[2] = t(c, KV_WEIGHT)->shape[0] = 96; }
static void x_hd_65536(struct call *c) { t(c, KV_X)->shape[2] = 65536; }

static void weight_absent(struct call *c) { c->slot[KV_WEIGHT].listed = 0; }
static void weight_dtype(struct call *c) { t(c, KV_WEIGHT)->dtype = LC_E4M3; }
static void weight_short(struct call *c) { t(c, KV_WEIGHT)->shape[0] = 127; }
static void weight_stride(struct call *c) { t(c, KV_WEIGHT)->stride[0] = 2; }
static void eps_0(struct call *c) { real(c, "eps", 0); }
static void eps_negative(struct call *c) { real(c, "eps", -1); }
static void eps_inf(struct call *c) { real(c, "eps", INFINITY); }
static void eps_nan(struct call *c) { real(c, "eps", NAN); }
static void weight_null(struct call *c) { c->slot[KV_WEIGHT].miss = NULL_POINTER; }
static void weight_base(struct call *c) { c->slot[KV_WEIGHT].miss = 1; }
static void table_null(struct call *c) { c->slot[KV_TABLE].miss = NULL_POINTER; }
static void table_base(struct call *c) { c->slot[KV_TABLE].miss = 2; }
static void positions_null(struct call *c) { c->slot[KV_POSITIONS].miss = NULL_POINTER; }
static void positions_base(struct call *c) { c->slot[KV_POSITIONS].miss = 2; }
static void slots_null(struct call *c) { c->slot[KV_SLOTS].miss = NULL_POINTER; }
static void slots_base(struct call *c) { c->slot[KV_SLOTS].miss = 4; }
static void matrix(struct call *c, int slot) { t(c, slot)->rank = 2, t(c, slot)->shape[1] = t(c, slot)->stride[1] = 1; }
static void positions_rank(struct call *c) { matrix(c, KV_POSITIONS); }
static void slots_rank(struct call *c) { matrix(c, KV_SLOTS); }
static void pool_over(struct call *c, int slot) { c->slot[slot].same_as = KV_POOL, c->slot[slot].shift = 512; }
static void pool_has_weight(struct call *c) { pool_over(c, KV_WEIGHT); }
static void pool_has_positions(struct call *c) { pool_over(c, KV_POSITIONS); }
static void pool_is_table(struct call *c) { c->slot[KV_POOL].same_as = c->slot[KV_SCALES].same_as = KV_TABLE; }
static void out_null(struct call *c) { c->slot[KV_OUT].miss = NULL_POINTER; }
static void out_bf16_base(struct call *c) { set(c, "cast", 0), t(c, KV_OUT)->dtype = LC_BF16, c->slot[KV_OUT].miss = 1; }
static void eps_double(struct call *c) { real(c, "eps", 0.1); }

static void table_absent(struct call *c) { c->slot[KV_TABLE].listed = 0; }
static void table_rank(struct call *c) { t(c, KV_TABLE)->rank = 1; }
static void table_dtype(struct call *c) { t(c, KV_TABLE)->dtype = LC_I32; }
static void table_odd(struct call *c) { t(c, KV_TABLE)->shape[1] = 63; }
static void table_0(struct call *c) { t(c, KV_TABLE)->shape[1] = 0; }
static void table_wide(struct call *c) { t(c, KV_TABLE)->shape[1] = 130; }
static void table_past(struct call *c) { set(c, "offset", 66); }
static void table_stride(struct call *c) { t(c, KV_TABLE)->stride[0] = 62; }
static void offset_negative(struct call *c) { set(c, "offset", -1); }
static void offset_128(struct call *c) { set(c, "offset", 128); }
static void positions_absent(struct call *c) { c->slot[KV_POSITIONS].listed = 0; }
static void positions_dtype(struct call *c) { t(c, KV_POSITIONS)->dtype = LC_F32; }
static void positions_short(struct call *c) { t(c, KV_POSITIONS)->shape[0] = 4; }
static void positions_stride(struct call *c) { t(c, KV_POSITIONS)->stride[0] = 0; }
static void had_scale_nan(struct call *c) { real(c, "had_scale", NAN); }
static void had_scale_inf(struct call *c) { real(c, "had_scale", INFINITY); }
static void had_scale_double(struct call *c) { real(c, "had_scale", 0.1); }

static void slots_absent(struct call *c) { c->slot[KV_SLOTS].listed = 0; }
static void slots_dtype(struct call *c) { t(c, KV_SLOTS)->dtype = LC_F32; }
static void slots_long(struct call *c) { t(c, KV_SLOTS)->shape[0] = 6; }
static void pool_absent(struct call *c) { c->slot[KV_POOL].listed = 0; }
static void pool_rank(struct call *c) { t(c, KV_POOL)->rank = 2; }
static void pool_dtype(struct call *c) { t(c, KV_POOL)->dtype = LC_BF16; }
static void pool_short(struct call *c) { t(c, KV_POOL)->shape[0]--, t(c, KV_SCALES)->shape[0]--; }
static void pool_is_x(struct call *c) { c->slot[KV_POOL].same_as = KV_X, c->slot[KV_SCALES].same_as = KV_X; }
static void scales_absent(struct call *c) { c->slot[KV_SCALES].listed = 0; }
static void scales_elsewhere(struct call *c) { c->slot[KV_SCALES].shift = 1; }
static void page_size_0(struct call *c) { set(c, "page_size", 0); }
static void pages_negative(struct call *c) { set(c, "pages", -1); }
static void pages_3(struct call *c) { set(c, "pages", 3); }
static void page_stride_negative(struct call *c) { set(c, "page_stride", -4224); }
static void page_stride_short(struct call *c) { set(c, "page_stride", 4100); }
static void row_stride_short(struct call *c) { set(c, "row_stride", 255); }
static void row_stride_0(struct call *c) { set(c, "row_stride", 0); }
static void head_stride_short(struct call *c) { set(c, "head_stride", 127); }
static void scale_base_negative(struct call *c) { set(c, "scale_base", -4); }
static void scale_base_in_codes(struct call *c) { set(c, "scale_base", 125); }
static void scale_base_next_head(struct call *c) { set(c, "pages", 1), set(c, "scale_base", 129); }
static void scale_base_past(struct call *c) { set(c, "scale_base", 8444); }
static void scale_row_of_codes(struct call *c) { set(c, "scale_row_stride", 0); }
static void scale_head_0(struct call *c) { set(c, "scale_head_stride", 3); }
static void scale_page_0(struct call *c) { set(c, "scale_page_stride", 2); }

static void out_absent(struct call *c) { c->slot[KV_OUT].listed = 0; }
static void out_dtype(struct call *c) { t(c, KV_OUT)->dtype = LC_BF16; }
static void out_bf16(struct call *c) { set(c, "cast", 0); }
static void out_shape(struct call *c) { t(c, KV_OUT)->shape[0] = 4; }
static void out_stride(struct call *c) { t(c, KV_OUT)->stride[0] = 272; }
static void out_is_x(struct call *c) { c->slot[KV_OUT].same_as = KV_X; }
static void out_d_96(struct call *c)
{
    set(c, "hadamard", 0);
    t(c, KV_X)->shape[2] = t(c, KV_OUT)->shape[2] = t(c, KV_WEIGHT)->shape[0] = 96;
    t(c, KV_OUT)->stride[1] = 96, t(c, KV_OUT)->stride[0] = 192;
}
static void sf_absent(struct call *c) { c->slot[KV_SF].listed = 0; }
static void sf_dtype(struct call *c) { t(c, KV_SF)->dtype = LC_F32; }
static void sf_shape(struct call *c) { t(c, KV_SF)->shape[1] = 1; }
static void sf_stride(struct call *c) { t(c, KV_SF)->stride[1] = 5; }
static void sf_base(struct call *c) { c->slot[KV_SF].miss = 4; }
static void sf_is_out(struct call *c) { c->slot[KV_SF].same_as = KV_OUT; }
static void sf_per_head(struct call *c) { set(c, "per_head", 1); }

/* ---- values in memory ---- */
static void position_300(struct call *c) { put(c, KV_POSITIONS, 1, 0, 300); } /* 3 is skipped */
static void position_negative(struct call *c) { put(c, KV_POSITIONS, 2, 0, -1); }
static void position_far(struct call *c) { put(c, KV_POSITIONS, 4, 0, 0x7fffffff); }
static void slot_32(struct call *c) { put(c, KV_SLOTS, 0, 2, 32); }
static void slot_far(struct call *c) { put(c, KV_SLOTS, 0, 0, 0x7fffffff); }
static void slot_repeated(struct call *c) { put(c, KV_SLOTS, 0, 1, 17), put(c, KV_SLOTS, 0, 4, 17); }
/* clang-format on */

const struct bad kv_bads[] = {
    { "norm-2", "norm", "KV-1", "2", norm_2 },
    { "rope-2", "rope", "KV-1", "2", rope_2 },
    { "hadamard-2", "hadamard", "KV-1", "2", hadamard_2 },
    { "cast-2", "cast", "KV-1", "2", cast_2 },
    { "cast-0", "cast", "KV-1", "0", cast_0 },
    { "store-2", "store", "KV-5", "2", store_2 },
    { "per-head-2", "per_head", "KV-5", "2", per_head_2 },
    { "per-head-1", "per_head", "KV-5", "1", per_head_1 },
    { "stage-2", "stage", "KV-1", "2", stage_2 },
    { "conjugate-2", "conjugate", "APPLY-2", "2", conjugate_2 },
    { "interleaved-2", "interleaved", "APPLY-1", "2", interleaved_2 },
    { "x-absent", "x", "KV-1", "not given", x_absent },
    { "x-rank", "x", "KV-1", "rank 1", x_rank },
    { "x-dtype", "x", "KV-1", "dtype f32", x_dtype },
    { "x-null", "x", "KV-6", "NULL", x_null },
    { "x-base", "x", "KV-6", "0x", x_base },
    { "x-last", "x", "KV-6", "stride(-1) = 2", x_last },
    { "x-head-stride", "x", "KV-6", "stride[1] = 136", x_head_stride },
    { "x-token-stride", "x", "KV-6", "stride[0] = 264", x_token_stride },
    { "x-heads-0", "x", "KV-1", "heads = 0", x_heads_0 },
    { "x-hd-0", "x", "KV-1", "head_dim = 0", x_hd_0 },
    { "x-hd-80", "x", "KV-1", "head_dim = 80", x_hd_80 },
    { "x-hd-96", "x", "HAD-1", "head_dim = 96", x_hd_96 },
    { "x-hd-65536", "x", "KV-1", "head_dim = 65536", x_hd_65536 },
    { "weight-absent", "weight", "KV-1", "not given", weight_absent },
    { "weight-dtype", "weight", "KV-1", "dtype e4m3", weight_dtype },
    { "weight-short", "weight", "KV-1", "127", weight_short },
    { "weight-stride", "weight", "KV-1", "stride[0] = 2", weight_stride },
    { "eps-0", "eps", "RMS-12", "0", eps_0 },
    { "eps-negative", "eps", "RMS-12", "-1", eps_negative },
    { "eps-inf", "eps", "RMS-12", "inf", eps_inf },
    { "eps-double", "eps", "RMS-12", "0.1", eps_double },
    { "eps-nan", "eps", "RMS-12", "nan", eps_nan },
    { "weight-null", "weight", "KV-1", "NULL", weight_null },
    { "weight-base", "weight", "KV-1", "0x", weight_base },
    { "table-null", "table", "APPLY-5", "NULL", table_null },
    { "table-base", "table", "APPLY-5", "0x", table_base },
    { "positions-null", "positions", "APPLY-4", "NULL", positions_null },
    { "positions-base", "positions", "APPLY-4", "0x", positions_base },
    { "positions-rank", "positions", "APPLY-4", "rank 2", positions_rank },
    { "slots-null", "slot_mapping", "KV-2", "NULL", slots_null },
    { "slots-base", "slot_mapping", "KV-2", "0x", slots_base },
    { "slots-rank", "slot_mapping", "KV-2", "rank 2", slots_rank },
    { "pool-has-weight", "pool", "DET-4", "0x", pool_has_weight },
    { "pool-has-positions", "pool", "DET-4", "0x", pool_has_positions },
    { "pool-is-table", "pool", "DET-4", "0x", pool_is_table },
    { "out-null", "out", "KV-5", "NULL", out_null },
    { "out-bf16-base", "out", "KV-5", "0x", out_bf16_base },
    { "table-absent", "table", "KV-1", "not given", table_absent },
    { "table-rank", "table", "APPLY-5", "rank 1", table_rank },
    { "table-dtype", "table", "APPLY-5", "dtype i32", table_dtype },
    { "table-odd", "table", "APPLY-5", "63", table_odd },
    { "table-0", "table", "APPLY-5", "width 0", table_0 },
    { "table-wide", "table", "APPLY-5", "130", table_wide },
    { "table-past", "table", "APPLY-5", "64", table_past },
    { "table-stride", "table", "ROT-4", "stride[0] = 62", table_stride },
    { "offset-negative", "offset", "APPLY-5", "-1", offset_negative },
    { "offset-128", "offset", "APPLY-5", "128", offset_128 },
    { "positions-absent", "positions", "KV-1", "not given", positions_absent },
    { "positions-dtype", "positions", "APPLY-4", "dtype f32", positions_dtype },
    { "positions-short", "positions", "APPLY-4", "shape[0] = 4", positions_short },
    { "positions-stride", "positions", "APPLY-4", "stride[0] = 0", positions_stride },
    { "had-scale-nan", "had_scale", "HAD-6", "nan", had_scale_nan },
    { "had-scale-inf", "had_scale", "HAD-6", "inf", had_scale_inf },
    { "had-scale-double", "had_scale", "HAD-6", "0.1", had_scale_double },
    { "slots-absent", "slot_mapping", "KV-2", "not given", slots_absent },
    { "slots-dtype", "slot_mapping", "KV-2", "dtype f32", slots_dtype },
    { "slots-long", "slot_mapping", "KV-2", "shape[0] = 6", slots_long },
    { "pool-absent", "pool", "KV-2", "not given", pool_absent },
    { "pool-rank", "pool", "KV-3", "rank 2", pool_rank },
    { "pool-dtype", "pool", "KV-3", "dtype bf16", pool_dtype },
    { "pool-short", "pool", "KV-3", "shape[0] = 8447", pool_short },
    { "pool-is-x", "pool", "DET-4", "0x", pool_is_x },
    { "scales-absent", "scales", "KV-2", "not given", scales_absent },
    { "scales-elsewhere", "scales", "KV-3", "0x", scales_elsewhere },
    { "page-size-0", "page_size", "KV-2", "0", page_size_0 },
    { "pages-negative", "pages", "KV-2", "-1", pages_negative },
    { "pages-3", "pool|pages", "KV-3", "shape[0] = 8448|3", pages_3 },
    { "page-stride-negative", "page_stride", "KV-3", "-4224", page_stride_negative },
    { "page-stride-short", "page_stride", "KV-3", "4100", page_stride_short },
    { "row-stride-short", "row_stride", "KV-3", "255", row_stride_short },
    { "row-stride-0", "row_stride", "KV-3", "0", row_stride_0 },
    { "head-stride-short", "head_stride", "KV-3", "127", head_stride_short },
    { "scale-base-negative", "scale_base", "KV-3", "-4", scale_base_negative },
    { "scale-base-in-codes", "scale_base", "KV-3", "125", scale_base_in_codes },
    { "scale-base-next-head", "scale_base", "KV-3", "129", scale_base_next_head },
    { "scale-base-past", "pool|scale_base", "KV-3", "shape[0] = 8448|", scale_base_past },
    { "scale-row-of-codes", "scale_row_stride", "KV-3", "0", scale_row_of_codes },
    { "scale-head-0", "scale_head_stride", "KV-3", "3", scale_head_0 },
    { "scale-page-0", "scale_page_stride", "KV-3", "2", scale_page_0 },
    { "out-absent", "out", "KV-5", "not given", out_absent },
    { "out-dtype", "out", "KV-5", "dtype bf16", out_dtype },
    { "out-bf16", "out", "KV-5", "dtype e4m3", out_bf16 },
    { "out-shape", "out", "KV-5", "shape[0] = 4", out_shape },
    { "out-stride", "out", "KV-5", "stride[0] = 272", out_stride },
    { "out-is-x", "out", "DET-4", "0x", out_is_x },
    { "out-d-96", "x", "SF-3", "d = 192", out_d_96 },
    { "sf-absent", "sf", "KV-5", "not given", sf_absent },
    { "sf-dtype", "sf", "SF-3", "dtype f32", sf_dtype },
    { "sf-shape", "sf", "SF-3", "shape[1] = 1", sf_shape },
    { "sf-stride", "sf", "SF-3", "stride[1] = 5", sf_stride },
    { "sf-base", "sf", "SF-3", "0x", sf_base },
    { "sf-is-out", "sf", "DET-4", "0x", sf_is_out },
    { "sf-per-head", "sf", "SF-3", "rank 2", sf_per_head },
    { "position-300", "positions", "ERR-2", "[1] = 300", position_300 },
    { "position-negative", "positions", "ERR-2", "[2] = -1", position_negative },
    { "position-far", "positions", "ERR-2", "[4] = 2147483647", position_far },
    { "slot-32", "slot_mapping", "ERR-2", "[2] = 32", slot_32 },
    { "slot-far", "slot_mapping", "ERR-2", "[0] = 2147483647", slot_far },
    { "slot-repeated", "slot_mapping", "ERR-2", "17", slot_repeated },
    { NULL, NULL, NULL, NULL, NULL },
};
