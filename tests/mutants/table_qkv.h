/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of `qkv`: a part of table.h, which includes it. */

/* ---- QKV-1, the split ---- */
M(qkv_thirds, qkv, "QKV-1", "S01", "qkv(M=17,fill=normal)", "value:k", "x cut in equal thirds")
M(qkv_k_v_swapped, qkv, "QKV-1", "clause", "qkv(M=17,fill=normal)", "value:k", "k and v exchanged")
M(qkv_halves_crossed, qkv, "QKV-1", "P08", "qkv(M=17,fill=normal)", "value:q",
  "second half of q's heads from k, first half of k's from q")
M(qkv_k_from_q, qkv, "QKV-1", "P08", "qkv(M=17,fill=normal)", "value:k", "heads of k taken from q")
M(qkv_one_k_head, qkv, "QKV-1", "K11", "qkv(M=17,fill=normal)", "value:k", "head 0 of k for every head")
M(qkv_heads_by_q, qkv, "QKV-1", "P07", "qkv(M=17,fill=normal)", "poison", "k and v written with the row stride of q")
M(qkv_last_head_lost, qkv, "QKV-1", "clause", "qkv(M=17,Hq=3,fill=normal)", "poison",
  "heads two at a time: the last of an odd number is not written")
M(qkv_v_normed, qkv, "QKV-1", "clause", "qkv(M=17,fill=normal)", "value:v", "v normed like k")
M(qkv_v_rotated, qkv, "QKV-1", "clause", "qkv(M=17,fill=normal)", "value:v", "v rotated like k")
M(qkv_v_quiets, qkv, "QKV-5", "clause", "qkv(M=17,fill=specials)", "value:v",
  "v through f32: a signalling NaN becomes a quiet one")
M(qkv_v_one_nan, qkv, "QKV-5", "clause", "qkv(M=17,fill=specials)", "value:v", "v through f32: every NaN becomes the same")
M(qkv_v_flushed, qkv, "QKV-1", "clause", "qkv(M=17,fill=specials)", "value:v", "subnormals of v become zeros")

/* ---- QKV-2, RMS-3, RMS-4, the norm ---- */
M(qkv_stat_row, qkv, "QKV-2", "clause", "qkv(M=17,fill=normal)", "value:q", "one mean square for the whole token")
M(qkv_stat_all_q, qkv, "QKV-2", "clause", "qkv(M=17,fill=normal)", "value:q",
  "one mean square for all heads of q, one for all of k")
M(qkv_stat_rope, qkv, "RMS-3", "clause", "qkv(M=17,rot=32,fill=normal)", "value:q", "the mean square of what rotates")
M(qkv_stat_last, qkv, "RMS-3", "clause", "qkv(M=17,fill=normal)", "value:q", "the last square left out")
M(qkv_rstd_stale, qkv, "QKV-2", "R24", "qkv(M=17,fill=mixed)", "value:k",
  "the first head of k is normed by what the last head of q left")
M(qkv_bf16_squares, qkv, "RMS-3", "R07", "qkv(M=17,fill=normal)", "value:q", "squares rounded to BF16")
M(qkv_eps_outside, qkv, "RMS-4", "R11", "qkv(M=17,fill=tiny)", "value:q", "1 / (sqrt(s) + eps)")
M(qkv_eps_fixed, qkv, "RMS-4", "R10", "qkv(M=17,eps=1e-3,fill=tiny)", "value:q", "eps is 1e-6 whatever is asked for")
M(qkv_rstd_bf16, qkv, "RMS-4", "clause", "qkv(M=17,fill=normal)", "value:q", "rstd held in BF16")
M(qkv_before_weight_bf16, qkv, "QKV-2", "R04", "qkv(M=17,fill=normal)", "value:q", "x * rstd rounded to BF16 before the weight")
M(qkv_weight_q_for_k, qkv, "QKV-2", "clause", "qkv(M=17,fill=normal)", "value:k", "w_q for k")
M(qkv_bias_q_for_k, qkv, "QKV-2", "clause", "qkv(M=17,bias=bf16,fill=normal)", "value:k", "b_q for k")
M(qkv_weight_ignored, qkv, "QKV-2", "clause", "qkv(M=17,fill=normal)", "value:q", "no weight")
M(qkv_bias_ignored, qkv, "QKV-2", "clause", "qkv(M=17,bias=bf16,fill=normal)", "value:q", "no bias")
M(qkv_weight_bf16, qkv, "QKV-2", "clause", "qkv(M=17,w=f32,fill=normal)", "value:q", "an F32 weight cut to BF16")
M(qkv_bias_bf16, qkv, "QKV-2", "clause", "qkv(M=17,bias=f32,fill=normal)", "value:q", "an F32 bias cut to BF16")
M(qkv_k_dtype_of_q, qkv, "QKV-2", "clause", "qkv(M=17,w=mixed,fill=normal)", "value:k", "w_k read in the dtype of w_q")
M(qkv_bias_before_weight, qkv, "QKV-2", "clause", "qkv(M=17,bias=bf16,fill=normal)", "value:q", "(x rstd + bias) w")
M(qkv_bias_after_rotation, qkv, "QKV-2", "clause", "qkv(M=17,bias=bf16,fill=normal)", "value:q", "the bias behind the rotation")
M(qkv_bias_rounded_apart, qkv, "QKV-4", "clause", "qkv(M=17,bias=bf16,fill=normal)", "value:q",
  "rounded before the bias is added: dialect unfused-bias")
M(qkv_bias_zero, qkv, "FMT-6", "clause", "qkv(M=17,rot=32,fill=zero-rows)", "value:q",
  "a bias of +0 where there is none: -0 is lost")
M(qkv_n_unrounded, qkv, "QKV-2", "S03", "qkv(M=17,fill=normal)", "value:q", "n rotated in f32: dialect simt")
M(qkv_n_truncate, qkv, "QKV-2", "R03", "qkv(M=17,fill=normal)", "value:q", "n rounded to zero")
M(qkv_n_f16, qkv, "QKV-2", "clause", "qkv(M=17,fill=normal)", "value:q", "n rounded to 11 bits")
M(qkv_stat_384, qkv, "RMS-3", "clause", "qkv(M=3,Hq=1,Hkv=1,D={512,576},fill=normal)", "value:q",
  "no square behind the 384th of a head")
M(qkv_sum_2_112, qkv, "RMS-12", "clause", "qkv(M=17,D=64,fill=limits)", "value:q", "sums of squares above 2^112 overflow")
M(qkv_weight_inf_0, qkv, "QKV-2", "clause", "qkv(M=17,D=64,rot=32,fill=limits)", "value:q", "an infinite weight counts as 0")
M(qkv_weight_2_30, qkv, "QKV-2", "clause", "qkv(M=17,D=64,rot=32,fill=limits)", "value:q", "weights above 2^30 count as 0")
M(qkv_bias_inf_0, qkv, "QKV-2", "clause", "qkv(M=17,D=64,rot=32,bias=bf16,fill=limits)", "value:q",
  "an infinite bias counts as 0")
M(qkv_bias_2_60, qkv, "QKV-2", "clause", "qkv(M=17,D=64,rot=32,bias=bf16,fill=limits)", "value:q", "biases above 2^60 count as 0")
M(qkv_heads_64, qkv, "QKV-1", "clause", "qkv(M=3,Hq=128,Hkv=16,D=16,fill=normal)", "poison",
  "heads of q behind the 64th are not written")
M(qkv_key_heads_8, qkv, "QKV-1", "clause", "qkv(M=3,Hq=128,Hkv=16,D=16,fill=normal)", "poison",
  "heads of k behind the eighth are not written")

/* ---- QKV-3, the rotation ---- */
M(qkv_position_u16, qkv, "APPLY-4", "clause", "qkv(M=17,D=16,rot=2,P=70000,pos={i32,i64},fill=normal)", "value:q",
  "positions cut to 16 bits")
M(qkv_pairs_256, qkv, "QKV-3", "clause", "qkv(M=3,Hq=1,Hkv=1,D=576,fill=normal)", "value:q",
  "pairs behind the 256th are not rotated")
M(qkv_table_nan_0, qkv, "APPLY-6", "clause", "qkv(M=17,fill=table)", "value:q", "a NaN of the table counts as 0")
M(qkv_table_inf_max, qkv, "APPLY-6", "clause", "qkv(M=17,fill=table)", "value:q", "an Inf of the table counts as the largest f32")
M(qkv_table_leaks, qkv, "APPLY-6", "clause", "qkv(M=17,fill=table)", "value:q",
  "a NaN or an Inf of the table reaches all pairs of a head")
M(qkv_table_ftz, qkv, "FMT-5", "clause", "qkv(M=17,D=128,rot=32,bias=bf16,fill=limits)", "value:q",
  "subnormal cosines and sines are zeros")
M(qkv_products_bf16, qkv, "QKV-3", "clause", "qkv(M=17,table=bf16,fill=normal)", "value:q",
  "products rounded to BF16: dialect bf16rot")
M(qkv_interleaved, qkv, "QKV-3", "clause", "qkv(M=17,fill=normal)", "value:q", "pairs (2i, 2i + 1)")
M(qkv_conjugate, qkv, "QKV-3", "P24", "qkv(M=17,fill=normal)", "value:q", "-s for s")
M(qkv_sin_for_cos, qkv, "QKV-3", "clause", "qkv(M=17,fill=normal)", "value:q", "the table taken for [sin | cos]")
M(qkv_in_place_too_early, qkv, "QKV-3", "clause", "qkv(M=17,fill=normal)", "value:q",
  "the second of a pair from the rotated first")
M(qkv_token_index, qkv, "APPLY-4", "P22", "qkv(M=17,fill=normal)", "value:q", "the token's index for its position")
M(qkv_position_0, qkv, "APPLY-4", "clause", "qkv(M=17,fill=normal)", "value:q", "position 0 for every token")
M(qkv_positions_as_i32, qkv, "APPLY-4", "P12", "qkv(M=17,pos=i64,fill=normal)", "value:q", "int64 positions read as int32")
M(qkv_position_byte, qkv, "APPLY-4", "P16", "qkv(M=17,P=1000,fill=normal)", "value:q", "positions cut to 8 bits")
M(qkv_rotates_all, qkv, "QKV-3", "P02", "qkv(M=17,rot=32,fill=normal)", "value:q",
  "rope_dim taken for head_dim: all dimensions rotate, by what lies behind the table's row")
M(qkv_table_row_d, qkv, "QKV-3", "P02", "qkv(M=17,rot=32,fill=normal)", "value:q", "rows of the table head_dim apart")
M(qkv_tail_unwritten, qkv, "QKV-3", "P03", "qkv(M=17,rot=32,fill=normal)", "poison",
  "dimensions from rope_dim on are not written")
M(qkv_tail_not_normed, qkv, "QKV-3", "P03", "qkv(M=17,rot=32,fill=normal)", "value:q",
  "dimensions from rope_dim on are those of x")
M(qkv_tail_no_bias, qkv, "QKV-3", "clause", "qkv(M=17,rot=32,bias=bf16,fill=normal)", "value:q",
  "dimensions from rope_dim on without the bias")
M(qkv_pairs_of_d, qkv, "QKV-3", "clause", "qkv(M=17,rot=32,fill=normal)", "value:q", "pairs (i, i + D/2) in a partial rotation")
M(qkv_k_not_rotated, qkv, "QKV-3", "clause", "qkv(M=17,fill=normal)", "value:k", "k is not rotated")
M(qkv_table_bf16, qkv, "QKV-3", "P17", "qkv(M=17,fill=normal)", "value:q", "an F32 table cut to BF16")
M(qkv_out_truncate, qkv, "QKV-3", "R03", "qkv(M=17,fill=normal)", "value:q", "BF16 rounds to zero")
M(qkv_ftz, qkv, "FMT-5", "clause", "qkv(M=17,fill=specials)", "value:q", "subnormals of x are zeros")

/* ---- QKV-5, DET: views, special values, writes and reads ---- */
M(qkv_x_dense, qkv, "QKV-5", "P06", "qkv(M=17,xs=16,fill=normal)", "value:q", "the row stride of x ignored")
M(qkv_offset_24, qkv, "QKV-5", "R20", "qkv(M=5,xs=4194304,fill=normal)", "value:q",
  "a row offset that wraps (at 2^24, so that the case is small)")
M(qkv_base_rounded_down, qkv, "QKV-5", "R16", "qkv(M=17,at=8,fill=normal)", "value:q",
  "vectors loaded from the 16-byte boundary below")
M(qkv_base_32, qkv, "QKV-5", "clause", "qkv(M=17,at={32,96},fill=normal)", "value:q",
  "vectors of 64 bytes loaded from the boundary below, where that is 32 bytes before")
M(qkv_no_tokens, qkv, "QKV-5", "R26", "qkv(M=0)", "crash", "T = 0 starts a launch of no blocks")
M(qkv_tiles_of_16, qkv, "QKV-5", "clause", "qkv(M=17,fill=normal)", "poison", "tokens behind the last whole tile are lost")
M(qkv_nan_swallowed, qkv, "RMS-9", "Q23", "qkv(M=17,fill=specials)", "value:q", "a NaN counts as 0")
M(qkv_nan_leaks, qkv, "RMS-9", "R24", "qkv(M=17,fill=specials)", "value:q", "a NaN reaches the next head")
M(qkv_stray_after, qkv, "DET-3", "clause", "qkv(M=17,fill=normal)", "keep", "one element behind the end of k")
M(qkv_writes_x, qkv, "DET-3", "T08", "qkv(M=17,fill=normal)", "keep", "x used as scratch")
M(qkv_reads_gap, qkv, "DET-3", "clause", "qkv(M=17,xs=16,fill=normal)", "poison", "0 * the element behind the row added")
M(qkv_reads_out, qkv, "DET-3", "T10", "qkv(M=17,fill=normal)", "poison", "0 * q added: stale NaN stays")

/* ---- ERR-1, ERR-2, refusals ---- */
M(qkv_accepts_all, qkv, "ERR-1", "clause", "qkv(bad=*)", "refusal", "bad arguments are a success that does nothing")
M(qkv_accepts_split, qkv, "QKV-1", "S01", "qkv(bad={x-width,x-thirds,heads_q-3})", "refusal", "any width of x is accepted")
M(qkv_accepts_vectors, qkv, "QKV-2", "clause", "qkv(bad=*)", "refusal", "any weight, and one bias without the other, is accepted")
M(qkv_accepts_table, qkv, "QKV-3", "P09", "qkv(bad={table-wide,table-odd})", "refusal",
  "rope_dim above head_dim, or odd, is accepted")
M(qkv_accepts_views, qkv, "QKV-5", "clause", "qkv(bad=*)", "refusal", "any stride, dtype and address is accepted")
M(qkv_accepts_overlap, qkv, "DET-4", "clause", "qkv(bad=*)", "refusal", "outputs that are views of x are accepted")
M(qkv_past_writes_astray, qkv, "ERR-2", "P18", "qkv(bad=positions-value)", "keep",
  "a token whose position the table does not have writes before q")
M(qkv_past_clears_next, qkv, "ERR-2", "clause", "qkv(bad=positions-value)", "value:q",
  "a token whose position the table does not have clears an element of the next one")
M(qkv_past_below, qkv, "ERR-2", "clause", "qkv(M=17,pos=i64,past=4)", "crash", "negative positions alone are looked for")
M(qkv_past_low_half, qkv, "ERR-2", "clause", "qkv(M=17,pos=i64,past=5)", "crash",
  "int64 positions compared with the table by their low 32 bits")
M(qkv_checks_first, qkv, "ERR-2", "clause", "qkv(M=17,pos=i64,past={1,2,4})", "crash",
  "a checked build that looks at the first position alone")
M(qkv_checks_below, qkv, "ERR-2", "clause", "qkv(M=17,pos=i64,past=4)", "crash",
  "a checked build that looks for negative positions alone")
M(qkv_checks_low_half, qkv, "ERR-2", "clause", "qkv(M=17,pos=i64,past=5)", "crash",
  "a checked build that looks at the low 32 bits of int64 positions")
M(qkv_refuses_vaguely, qkv, "ERR-1", "clause", "qkv(bad=*)", "refusal", "the message names no argument and no clause")
M(qkv_writes_then_refuses, qkv, "ERR-1", "clause", "qkv(bad=*)", "refusal", "a byte of q is written before the check")

/* ---- wrong in a dialect ---- */
M(qkv_dialect_ignored, qkv, "QKV-3", "S03", "qkv(M=64,dialect={bf16rot,simt,unfused-bias},fill=normal)", "value:q",
  "the contract's own judged in each dialect")
M(bf16rot_truncates, qkv, "QKV-3", "R03", "qkv(M=17,dialect=bf16rot,fill=normal)", "value:q", "products rounded to zero")
M(bf16rot_one_product, qkv, "QKV-3", "clause", "qkv(M=17,dialect=bf16rot,fill=normal)", "value:q",
  "only a*c rounded, b*s added by an FMA")
M(simt_tail_of_bf16, qkv, "QKV-3", "clause", "qkv(M=17,dialect=simt,fill=normal)", "value:q",
  "n rounded in k and q's first head only")
M(unfused_truncates, qkv, "QKV-4", "R03", "qkv(M=17,dialect=unfused-bias,fill=normal)", "value:q", "x rstd w rounded to zero")
M(unfused_once, qkv, "QKV-4", "clause", "qkv(M=17,rot=32,dialect=unfused-bias,fill=normal)", "value:q",
  "the sum rounded for what rotates only by the store")

/* ---- on a CUDA device ---- */
MC(cu_qkv_thirds, qkv, "QKV-1", "S01", "qkv(M=17,fill=normal)", "value:k", "x cut in equal thirds")
MC(cu_qkv_v_quiets, qkv, "QKV-5", "clause", "qkv(M=17,fill=specials)", "value:v",
   "v through f32: a signalling NaN becomes a quiet one")
MC(cu_qkv_no_barrier, qkv, "QKV-2", "R24", "qkv(M=17,fill=mixed)", "value:q",
   "no barrier between the warps' partial sums and their sum")
MC(cu_qkv_weight_q_for_k, qkv, "QKV-2", "clause", "qkv(M=17,fill=normal)", "value:k", "w_q for k")
MC(cu_qkv_n_unrounded, qkv, "QKV-2", "S03", "qkv(M=17,fill=normal)", "value:q", "n rotated in f32: dialect simt")
MC(cu_qkv_interleaved, qkv, "QKV-3", "clause", "qkv(M=17,fill=normal)", "value:q", "pairs (2i, 2i + 1)")
MC(cu_qkv_token_index, qkv, "APPLY-4", "P22", "qkv(M=17,fill=normal)", "value:q", "the token's index for its position")
MC(cu_qkv_positions_as_i32, qkv, "APPLY-4", "P12", "qkv(M=17,pos=i64,fill=normal)", "value:q", "int64 positions read as int32")
MC(cu_qkv_tail_unwritten, qkv, "QKV-3", "P03", "qkv(M=17,rot=32,fill=normal)", "poison",
   "dimensions from rope_dim on are not written")
MC(cu_qkv_stray_after, qkv, "DET-3", "clause", "qkv(M=17,fill=normal)", "keep", "one element behind the end of k")
MC(cu_qkv_writes_astray, qkv, "ERR-2", "P18", "qkv(bad=positions-value)", "keep",
   "a token whose position the table does not have writes before q")

/* As RARE of table.h. */
RARE(qkv_v_quiets)
RARE(qkv_v_one_nan)
RARE(qkv_v_flushed)
RARE(qkv_eps_outside)
RARE(qkv_bias_zero)
RARE(qkv_ftz)
RARE(qkv_nan_swallowed)
RARE(qkv_nan_leaks)
RARE(cu_qkv_v_quiets)
RARE(qkv_sum_2_112)
RARE(qkv_weight_inf_0)
RARE(qkv_weight_2_30)
RARE(qkv_bias_inf_0)
RARE(qkv_bias_2_60)
RARE(qkv_table_nan_0)
RARE(qkv_table_inf_max)
RARE(qkv_table_leaks)
RARE(qkv_table_ftz)
