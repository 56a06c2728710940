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
M(rope_half_range, rope, "APPLY-1", "clause", "rope(M=17,d=128,fill=logu)", "value:query_out",
  "products above 65504 are infinite")
AGAIN(rope_half_range, rope, "APPLY-1", "rope(M=17,d=128,fill=logu)", "relation:double-x", "products above 65504 are infinite")
AGAIN(rope_table_clamped, rope, "APPLY-2", "rope(M=17,d=128,conj=1,fill=mscale)", "relation:inverse",
      "cosines and sines clamped to 1")
AGAIN(rope_conjugate_ignored, rope, "APPLY-2", "rope(M=17,d=128)", "relation:inverse", "the inverse is the rotation")
AGAIN(rope_cos_sin_swapped, rope, "APPLY-1", "rope(M=17,d=128)", "relation:no-turn", "[sin | cos]")
AGAIN(rope_table_interleaved, rope, "APPLY-1", "rope(M=17,d=128,inter={0,1})", "relation:no-turn",
      "the table read as cosine, sine, cosine, ..")
AGAIN(rope_offset_from_end, rope, "APPLY-5", "rope(M=17,d=128,rot=64)", "relation:cut-off", "always the end of a head")
AGAIN(rope_fraction_twice, rope, "APPLY-5", "rope(M=17,d=128,rot=64)", "relation:cut-off",
      "the rotary fraction of a head applied twice")
AGAIN(ctx_codes_unrotated, context_cast, "KV-7", "context_cast(M=17,d=128,bf16=1)", "relation:fused-cast",
      "codes of the context as it was")
AGAIN(ctx_not_rounded, context_cast, "KV-7", "context_cast(M=17,d=128,bf16=1,fill=reach)", "relation:fused-cast",
      "codes and scales from f32")
AGAIN(ctx_forward, context_cast, "KV-7", "context_cast(M=17,d=128,bf16=1)", "relation:fused-rope", "the rotation for its inverse")
AGAIN(ctx_leading, context_cast, "KV-7", "context_cast(M=17,d=128,rot=64,bf16=1)", "relation:fused-rope",
      "the leading part of a head rotates")
M(lin_range_448, linear, "LIN-1", "clause", "linear(M=17,N=33,K=2,fill=exact)", "value:out", "products above 448 are infinite")
AGAIN(lin_range_448, linear, "LIN-1", "linear(M=17,N=33,K=2,fill=outlier)", "relation:double-x",
      "products above 448 are infinite")
AGAIN(lin_w_scale_ignored, linear, "LIN-5", "linear(M=17,N=33,x=e4m3,w={e4m3,e2m1},fill=normal)", "relation:double-scale",
      "the weight without its scales")
AGAIN(lin_acc_ignored, linear, "LIN-2", "linear(M=17,N=33,acc={own,inplace,same},fill=normal)", "relation:add-acc",
      "out_acc left out")
AGAIN(lin_acc_twice, linear, "LIN-2", "linear(M=17,N=33,acc=inplace,fill=normal)", "relation:add-acc",
      "added in both halves of a split")
AGAIN(lin_cast_skipped, linear, "LIN-5", "linear(M=17,N=33,w=e4m3,fill=normal)", "relation:fused-cast",
      "a BF16 x multiplied as it is, not cast")
AGAIN(lin_cast_group_128, linear, "CAST-1", "linear(M=17,N=33,w=e4m3,fill=mixed)", "relation:fused-cast",
      "one scale for 128 channels")
AGAIN(lin_scale_block, linear, "LIN-1", "linear(M=17,N=33,x=e4m3,w={e4m3,e2m1},fill=exact)", "relation:mirrored-columns",
      "the weight's scales by n / 32, as in 32x32 blocks")
AGAIN(lin_bias_by_row, linear, "LIN-1", "linear(M=17,N=33,bias=bf16,fill=normal)", "relation:mirrored-columns",
      "the bias of the row's index")
AGAIN(qkv_weight_q_for_k, qkv, "QKV-2", "qkv(M=17,fill=normal)", "relation:swapped", "the weight of q for k")
AGAIN(qkv_k_not_rotated, qkv, "QKV-2", "qkv(M=17,fill=normal)", "relation:swapped", "k is not rotated")
AGAIN(qkv_pairs_of_d, qkv, "QKV-3", "qkv(M=17,rot=32,fill=normal)", "relation:tail", "pairs half a head apart")
AGAIN(qkv_rotates_all, qkv, "QKV-3", "qkv(M=17,rot=32,fill=normal)", "relation:tail", "the whole head rotates")
AGAIN(qkv_interleaved, qkv, "QKV-3", "qkv(M=17,fill=normal)", "relation:fused-rope", "pairs (2i, 2i+1)")
AGAIN(qkv_positions_as_i32, qkv, "APPLY-4", "qkv(M=17,pos=i64,fill=normal)", "relation:fused-rope",
      "int64 positions read as int32")
AGAIN(qkv_tail_not_normed, qkv, "QKV-2", "qkv(M=17,rot=32,fill=normal)", "relation:fused-norm",
      "what does not rotate is not normed")
AGAIN(qkv_stat_rope, qkv, "QKV-2", "qkv(M=17,rot=32,fill=normal)", "relation:fused-norm", "the mean square of what rotates")
AGAIN(kv_head_missing, kv_store, "KV-5", "kv_store(pages=9,fill=normal)", "relation:pool", "all heads overwrite head 0")
AGAIN(kv_out_heads_first, kv_store, "KV-5", "kv_store(heads=3,pages=9,fill=normal)", "relation:pool",
      "out is (heads, n, head_dim)")
AGAIN(kv_f32_last, kv_store, "KV-1", "kv_store(stage=bf16,pages=9,fill=normal)", "relation:fused-cast",
      "stage=bf16: the cast takes the last stage unrounded")
AGAIN(kv_exp_floor, kv_store, "CAST-4", "kv_store(stage=bf16,pages=9,fill=normal)", "relation:fused-cast",
      "the exponent one too small where log2 is no integer")
AGAIN(kv_norm_all_heads, kv_store, "KV-1", "kv_store(heads=8,rope=-,had=0,out=bf16,fill=mixed)", "relation:fused-norm",
      "one mean square for all heads of a token")
AGAIN(kv_offset_ignored, kv_store, "KV-1", "kv_store(stage=bf16,out=bf16,rot=64,offset=-1,had=0,fill=normal)",
      "relation:fused-rope", "the first rotary_dim rotate, not the last")
AGAIN(kv_rope_before_norm, kv_store, "KV-1", "kv_store(stage=bf16,out=bf16,had=0,fill=normal)", "relation:fused-rope",
      "rope, then norm")
AGAIN(kv_had_before_rope, kv_store, "KV-1", "kv_store(stage=bf16,out=bf16,fill=normal)", "relation:fused-hadamard",
      "hadamard, then rope")
AGAIN(kv_had_last_stage, kv_store, "HAD-1", "kv_store(norm=0,rope=-,out=bf16,fill=normal)", "relation:fused-hadamard",
      "log2 n - 1 stages")
AGAIN(sfl_to_col_ignored, sf_layout, "SF-0", "sf_layout(M=17,ds=8,fill=mixed)", "relation:back", "rows where columns are asked")
AGAIN(sfl_swap_rows, sf_layout, "SF-3", "sf_layout(M=17,ds=8,fill=normal)", "relation:as-cast", "rows m and m^1 exchanged")
AGAIN(sfl_utccp_inverse, sf_layout, "SF-4", "sf_layout(M=64,ds=4,to=utccp,bt=64,fill=normal)", "relation:as-cast",
      "the inverse of P")
