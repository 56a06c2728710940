/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of table.h, which includes this: a mutant for each relation, which the relation kills without the reference. */

AGAIN(cast_exp_log2f, cast, "CAST-4", "cast(M=17,d=128,x=f32,fill=pow2-edges)", "relation:shift",
      "ceilf(log2f(sf)): which amax is rounded down depends on its size")
AGAIN(cast_inverse_half, cast, "CAST-5", "cast(M=17,d=128,fill=normal)", "relation:shift",
      "2^-e held in half precision overflows")
AGAIN(cast_code_truncate, cast, "CAST-8", "cast(M=17,d=128,sf=row,round=0,x=f32,fill=normal)", "relation:again",
      "E4M3 rounds to zero: what a scale's own rounding takes below a code is lost")
AGAIN(cast_sf_inverse, cast, "CAST-8", "cast(M=17,d=128,fill=normal)", "relation:again", "the factor stored, not the scale")
AGAIN(sf3_swap_rows, cast, "SF-3", "cast(M=17,d=128,fill=mixed)", "relation:permuted-rows", "scales of two rows exchanged")
AGAIN(rms_cast_from_f32, rmsnorm, "RMS-6", "rmsnorm(M=17,d=128,out=e4m3,bf16=1,sf=row,fill=normal)", "relation:fused-cast",
      "the cast reads y in f32")
AGAIN(rms_round_forgotten, rmsnorm, "RMS-6", "rmsnorm(M=17,d=128,out=e4m3,bf16=1,sf=row,fill=normal)", "relation:fused-cast",
      "the fused cast forgets round_sf")
AGAIN(rms_scale_ignored, rmsnorm, "RMS-5", "rmsnorm(M=17,d=128,out=f32,fill=normal)", "relation:double-scale",
      "out_scale ignored")
AGAIN(rms_weight_plus_one, rmsnorm, "RMS-5", "rmsnorm(M=17,d=128,out=f32,fill=normal)", "relation:double-weight", "1 + w")
AGAIN(rms_eps_fixed, rmsnorm, "RMS-4", "rmsnorm(M=17,d=128,out=f32,eps=1e-3,fill=tiny)", "relation:double-x",
      "eps = 1e-5 whatever is passed")
AGAIN(rms_order_by_place, rmsnorm, "DET-2", "rmsnorm(M=17,d=1000,out=f32)", "relation:permuted-rows",
      "another order in every second row")
M(had_half_range, hadamard, "HAD-3", "clause", "hadamard(M=17,n=128,fill=outlier)", "value:out", "sums above 65504 are infinite")
AGAIN(had_half_range, hadamard, "HAD-3", "hadamard(M=17,n=128,fill=outlier)", "relation:double-x",
      "sums above 65504 are infinite")
AGAIN(had_scale_ignored, hadamard, "HAD-2", "hadamard(M=17,n=128,given=1,scale=3,fill=normal)", "relation:double-scale",
      "a scale that is listed is not used")
AGAIN(had_drops_last, hadamard, "HAD-2", "hadamard(M=17,n=128,fill=normal)", "relation:twice", "the last element left out")
AGAIN(had_bf16_stages, hadamard, "HAD-3", "hadamard(M=17,n=128,x=f32,fill=normal)", "relation:twice", "BF16 between stages")
AGAIN(rot_row_short, rope_table, "DET-2", "rope_table(rows=130)", "relation:longer-table", "the last row is not written whole")
AGAIN(rot_attn_ignored, rope_table, "YARN-4", "rope_table(scaling=yarn)", "relation:double-attn", "attn_factor ignored")
