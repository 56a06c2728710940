/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of `kv_store`: a part of table.h, which includes it. */

/* ---- KV-1, the stages and their order ---- */
M(kv_rope_before_norm, kv_store, "KV-1", "clause", "kv_store(out=bf16,fill=normal)", "value:out", "rope, then norm")
M(kv_had_before_rope, kv_store, "KV-1", "clause", "kv_store(fill=normal)", "value:pool", "hadamard, then rope")
M(kv_had_rotated_only, kv_store, "KV-1", "clause", "kv_store(rot=64,fill=normal)", "value:pool",
  "hadamard on the rotated part alone")
M(kv_had_last_stage, kv_store, "HAD-1", "clause", "kv_store(fill=normal)", "value:pool", "log2 n - 1 stages")
M(kv_had_512, kv_store, "HAD-1", "clause", "kv_store(M=5,hd={1024,2048},fill=normal)", "value:pool",
  "a block of 512 at most is transformed")
M(kv_had_no_scale, kv_store, "HAD-2", "H02", "kv_store(fill=normal)", "value:scales", "the default scale is 1")
M(kv_had_scale_ignored, kv_store, "HAD-2", "H02", "kv_store(given=1,scale=3,fill=normal)", "value:scales",
  "a scale that is listed is not used")
M(kv_bf16_stages, kv_store, "KV-1", "S03", "kv_store(fill=normal)", "value:pool", "BF16 between stages where they are f32")
M(kv_f32_stages, kv_store, "KV-1", "S03", "kv_store(stage=bf16,fill=normal)", "value:pool",
  "f32 between stages where they are BF16")
M(kv_f32_last, kv_store, "KV-1", "clause", "kv_store(stage=bf16,fill=normal)", "value:pool",
  "stage=bf16: the cast takes the last stage unrounded")
M(kv_8_heads, kv_store, "KV-1", "clause", "kv_store(M=5,heads={16,33},out={pool,codes,heads})", "poison", "eight heads at most")
M(kv_1024_tokens, kv_store, "KV-1", "clause", "kv_store(M=1100,heads={1,2},hd=32,rot=2,had=0,fill=mixed)", "poison",
  "1024 tokens at most")
M(kv_had_8192, kv_store, "HAD-1", "clause", "kv_store(M=1,heads=1,hd={16384,32768},rot=64,out=bf16)", "value:out",
  "a block of 8192 at most is transformed")
M(kv_swallowed_unnormed, kv_store, "HAD-6", "clause", "kv_store(M=5,norm=0,out=bf16,fill=specials)", "value:out",
  "a NaN or an Inf is 0 where no norm looks at it")
M(kv_nan_spreads, kv_store, "KV-1", "clause", "kv_store(M=5,norm=0,rope=-,had=0,out=bf16,fill=specials)", "value:out",
  "a NaN or an Inf makes its whole head NaN, without the norm too")
M(kv_weight_ftz, kv_store, "RMS-5", "clause", "kv_store(M=5,hd={128,256},out=bf16,fill=weights)", "value:out",
  "subnormal weights are 0")
M(kv_weight_nan_0, kv_store, "RMS-5", "clause", "kv_store(M=5,hd={128,256},out=bf16,fill=weights)", "value:out",
  "a NaN in the weight is 0")
M(kv_weight_0_is_1, kv_store, "RMS-5", "clause", "kv_store(M=5,hd={128,256},out=bf16,fill=weights)", "value:out",
  "a weight of 0 is none")
M(kv_norm_all_heads, kv_store, "KV-1", "clause", "kv_store(heads=8,rope=-,had=0,out=bf16,fill=mixed)", "value:out",
  "one mean square for all heads of a token")
M(kv_weight_moves, kv_store, "KV-1", "clause", "kv_store(heads=3,out=bf16,fill=normal)", "value:out",
  "the weight goes on from head to head")
M(kv_weight_wraps, kv_store, "RMS-5", "clause", "kv_store(M=5,hd=2048,had={0,1},fill=normal)", "value:pool",
  "the weight's index wraps at 1024")
M(kv_sum_drops_last, kv_store, "RMS-3", "clause", "kv_store(out=bf16,fill=normal)", "value:out", "the last square left out")
M(kv_eps_outside, kv_store, "RMS-4", "R11", "kv_store(out=bf16,fill=tiny)", "value:out", "1 / (sqrt(s) + eps)")
M(kv_eps_fixed, kv_store, "RMS-4", "R10", "kv_store(eps=1e-3,out=bf16,fill=tiny)", "value:out", "eps is 1e-5 whatever it is")
M(kv_bf16_before_weight, kv_store, "RMS-5", "R04", "kv_store(out=bf16,rope=-,had=0,fill=normal)", "value:out",
  "x * rstd rounded to BF16 before the weight")
M(kv_rstd_of_before, kv_store, "RMS-4", "R24", "kv_store(out=bf16,fill=mixed)", "value:out",
  "rstd of the head before: the shared buffer is read too early")
M(kv_nan_swallowed, kv_store, "RMS-9", "Q23", "kv_store(out=bf16,fill=specials)", "value:out", "a NaN does not count")
M(kv_nan_leaks, kv_store, "RMS-9", "R24", "kv_store(out=bf16,fill=specials)", "value:out", "a NaN reaches the next head")

/* ---- APPLY in it ---- */
M(kv_rot_whole_head, kv_store, "APPLY-5", "P02", "kv_store(rot=64,had=0,fill=normal)", "value:pool",
  "rotary_dim taken for head_dim")
M(kv_tail_unwritten, kv_store, "DET-3", "P03", "kv_store(rot=64,had=0,out=codes,fill=normal)", "poison",
  "only what rotates is written")
M(kv_offset_ignored, kv_store, "KV-1", "clause", "kv_store(rot=64,offset=-1,had=0,fill=normal)", "value:pool",
  "the first rotary_dim rotate, not the last")
M(kv_rope_always_neox, kv_store, "APPLY-1", "clause", "kv_store(rope=inter,fill=normal)", "value:pool", "pairs (i, i+n) always")
M(kv_table_interleaved, kv_store, "APPLY-1", "clause", "kv_store(fill=normal)", "value:pool",
  "the table read as [cos, sin] pairs")
M(kv_conjugate_ignored, kv_store, "APPLY-2", "P24", "kv_store(conj=1,fill=normal)", "value:pool", "the inverse turns forwards")
M(kv_positions_are_tokens, kv_store, "APPLY-4", "P22", "kv_store(fill=normal)", "value:pool", "0, 1, 2.. for positions")
M(kv_offset_even, kv_store, "APPLY-5", "clause", "kv_store(M=5,rope=inter,rot=64,offset={5,33},had=0)", "value:pool",
  "pairs (2i, 2i+1) begin at an even element")
M(kv_table_ftz, kv_store, "APPLY-1", "clause", "kv_store(M=5,norm=0,out=bf16,fill=angles)", "value:out",
  "subnormal cosines and sines are 0")
M(kv_position_16_bits, kv_store, "APPLY-4", "clause", "kv_store(M=33,rot=2,rows=70000,pos={i32,i64},had=0)", "value:pool",
  "positions in 16 bits")
M(kv_position_11_bits, kv_store, "APPLY-4", "clause", "kv_store(M=33,rot=2,rows=3000,pos={i32,i64},had=0)", "value:pool",
  "positions in 11 bits")
M(kv_positions_32, kv_store, "APPLY-4", "K15", "kv_store(pos=i64,fill=normal)", "value:pool", "int64 positions read as int32")

/* ---- CAST in it ---- */
M(kv_exp_floor, kv_store, "CAST-4", "Q01", "kv_store(fill=normal)", "value:scales",
  "the exponent one too small where log2 is no integer")
M(kv_max_224, kv_store, "CAST-3", "Q12", "kv_store(norm=0,rope=-,had=0,fill=pow2-edges)", "value:scales", "224 for 448")
M(kv_double_round, kv_store, "CAST-5", "Q15", "kv_store(heads=8,fill=normal)", "value:pool", "F32 through BF16 to E4M3")
M(kv_no_floor, kv_store, "CAST-2", "Q20", "kv_store(fill=zero-rows)", "value:scales", "amax not clamped from below")
M(kv_scale_inverted, kv_store, "CAST-5", "K08", "kv_store(fill=normal)", "value:scales",
  "multiplied by the scale, its inverse stored")
M(kv_code_integer, kv_store, "FMT-2", "K08", "kv_store(fill=normal)", "value:pool", "the integer value stored, not the code")
M(kv_group_64, kv_store, "KV-1", "clause", "kv_store(rope=-,had=0,fill=mixed)", "value:scales", "one scale for two groups")
M(kv_inf_next_group, kv_store, "CAST-7", "clause", "kv_store(M=5,norm=0,rope=-,had=0,fill=specials)", "value:pool",
  "the group behind one with an Inf has its scale")
M(kv_scale_unwritten, kv_store, "DET-3", "clause", "kv_store(fill=normal)", "poison",
  "the last scale byte of a head is not written")

/* ---- KV-2, slots ---- */
M(kv_minus_1_of_ones, kv_store, "KV-2", "K01", "kv_store(page=1,slots=from1,fill=mixed)", "keep",
  "slot -1 is slot 0 where a page has one slot: -1 / 1 and -1 % 1")
M(kv_slot_wraps, kv_store, "KV-2", "K01", "kv_store(slots=skip,fill=normal)", "keep", "slot -1 is the last slot")
M(kv_only_minus_1, kv_store, "KV-2", "K01", "kv_store(slots=skip,fill=normal)", "keep", "of negative slots only -1 is skipped")
M(kv_page_row_exchanged, kv_store, "KV-2", "clause", "kv_store(page=64,fill=normal)", "poison", "page and row exchanged")
M(kv_pool_flat, kv_store, "KV-2", "K12", "kv_store(layout=planar,fill=normal)", "poison",
  "slots one behind the other: right for one page only")
M(kv_slots_32, kv_store, "KV-2", "K15", "kv_store(fill=normal)", "poison", "int64 slots read as int32")
M(kv_slot_int, kv_store, "KV-2", "clause", "kv_store(M=33,page=48,slots=skip,slot=i64,had=0,fill=mixed)", "keep",
  "int64 slots are put into an int: a negative one may become a slot")
M(kv_slot_16_bits, kv_store, "KV-2", "clause", "kv_store(M=5,page=128,pages=70000,slots=last,had=0)", "crash", "slots in 16 bits")
M(kv_slot_float, kv_store, "KV-2", "clause", "kv_store(M=5,page=256,pages=70000,slots=last,slot={i32,i64},had=0)", "poison",
  "slots in an f32")
M(kv_page_8_bits, kv_store, "KV-2", "clause", "kv_store(M=33,page=48,pages=300,slots=last,had=0,fill=mixed)", "poison",
  "pages in 8 bits")
M(kv_row_7_bits, kv_store, "KV-2", "clause", "kv_store(M=33,page={256,300},slots=last,layout=planar,had=0,fill=mixed)", "poison",
  "rows of a page in 7 bits")
M(kv_page_shift, kv_store, "KV-2", "clause", "kv_store(M=33,page=48,slots=last,had=0,fill=mixed)", "poison",
  "page size taken for a power of two")
M(kv_pool_31, kv_store, "KV-2", "clause", "kv_store(M=5,page=128,pages=70000,slots=last,had=0)", "poison",
  "offsets into the pool in 32 bits, signed: what is negative is left out")
M(kv_pool_32, kv_store, "KV-2", "clause", "kv_store(M=5,page=128,pages=140000,slots=last,had=0)", "crash",
  "offsets into the pool in 32 bits")
M(kv_offset_20, kv_store, "KV-2", "K07", "kv_store(page=128,pages=130,slots=last,fill=normal)", "poison",
  "a page offset that wraps (at 2^20, so that the case is small; the bug wrapped at 2^31)")

/* ---- KV-3, layouts ---- */
M(kv_heads_compact, kv_store, "KV-3", "K04", "kv_store(layout=strided,fill=normal)", "keep", "head_stride taken for head_dim")
M(kv_head_missing, kv_store, "KV-3", "K11", "kv_store(fill=normal)", "value:pool", "all heads overwrite head 0")
M(kv_scale_behind_codes, kv_store, "KV-3", "clause", "kv_store(layout=planar,fill=normal)", "poison",
  "scale bytes behind their codes in the planar layout too")
M(kv_scale_row_of_codes, kv_store, "KV-3", "clause", "kv_store(layout=planar,slots=order,fill=normal)", "poison",
  "rows of scales as far apart as rows of codes")
M(kv_neighbour_codes, kv_store, "KV-3", "clause", "kv_store(fill=normal)", "value:pool", "codes and scales of the neighbour head")

/* ---- KV-4, what no slot owns ---- */
M(kv_clears_page, kv_store, "KV-4", "clause", "kv_store(layout=planar,slots=order,fill=normal)", "keep",
  "a page is cleared with its first slot")
M(kv_clears_gap, kv_store, "KV-4", "K04", "kv_store(layout=strided,fill=normal)", "keep",
  "the gap behind a head's codes is cleared")
M(kv_scale_word, kv_store, "KV-4", "clause", "kv_store(hd=32,heads=1,layout=strided,fill=normal)", "keep",
  "whole words of scale bytes")

/* ---- KV-5, without the store ---- */
M(kv_out_heads_first, kv_store, "KV-5", "clause", "kv_store(heads=3,out=codes,fill=normal)", "value:out",
  "out is (heads, n, head_dim)")
M(kv_sf_rows, kv_store, "KV-5", "clause", "kv_store(out=codes,fill=mixed,had=0,rope=-)", "value:sf", "scales in rows, SF-2")
M(kv_sf_not_padded, kv_store, "SF-3", "Q10", "kv_store(out=codes,fill=mixed,had=0,rope=-)", "value:sf",
  "columns n long, not m_pad")
M(kv_sf_head_flat, kv_store, "KV-5", "clause", "kv_store(heads=3,hd=256,out=heads,fill=mixed,had=0,rope=-)", "value:sf",
  "per-head: one batch of n * heads rows")
M(kv_out_ftz, kv_store, "FMT-1", "clause", "kv_store(M=5,norm=0,rope=-,had=0,out=bf16,fill=specials)", "value:out",
  "BF16 subnormals are 0")
M(kv_bf16_truncate, kv_store, "FMT-1", "R03", "kv_store(out=bf16,fill=normal)", "value:out", "BF16 rounds to zero")

/* ---- KV-6, views ---- */
M(kv_x_token_dense, kv_store, "KV-6", "R18", "kv_store(xs=16,fill=normal)", "value:pool", "the token stride of x ignored")
M(kv_x_head_dense, kv_store, "KV-6", "K04", "kv_store(hs=16,fill=normal)", "value:pool", "the head stride of x ignored")
M(kv_x_rank_2, kv_store, "KV-6", "K06", "kv_store(heads=0,fill=normal)", "value:pool",
  "strides one dimension off for (n, head_dim)")

/* ---- DET, ERR ---- */
M(kv_no_tokens, kv_store, "KV-1", "R26", "kv_store(M=0)", "crash", "n = 0 starts a launch of no blocks")
M(kv_last_token_unwritten, kv_store, "DET-3", "clause", "kv_store(slots=order,fill=normal)", "poison",
  "the last token is not written")
M(kv_stray_before, kv_store, "DET-3", "clause", "kv_store(fill=normal)", "keep", "a byte before the pool")
M(kv_writes_x, kv_store, "DET-3", "T08", "kv_store(fill=normal)", "keep", "x used as scratch")
M(kv_lost_clears_last, kv_store, "ERR-2", "clause", "kv_store(bad={slot-32,position-negative})", "value:pool",
  "a token that is left out clears a head of the one before")
M(kv_out_lost_ends, kv_store, "ERR-2", "clause", "kv_store(M=17,out={codes,bf16},lost=pos)", "poison",
  "without a pool, a position outside the table ends the call, as a success")
M(kv_wide_lost_ends, kv_store, "ERR-2", "clause", "kv_store(M=17,lost=pos,pos=i64)", "poison",
  "an int64 position outside the table ends the call, as a success")
M(kv_past_is_0, kv_store, "ERR-2", "K01", "kv_store(bad={slot-32,slot-far})", "keep", "a slot past the pool is slot 0")
M(kv_accepts_all, kv_store, "ERR-1", "clause", "kv_store(bad=*)", "refusal", "bad arguments are a success that does nothing")
M(kv_accepts_overlap, kv_store, "KV-3", "clause", "kv_store(bad=*)", "refusal", "byte ranges that overlap are accepted")
M(kv_accepts_views, kv_store, "KV-6", "clause", "kv_store(bad=*)", "refusal", "any stride of x is accepted")
M(kv_accepts_widths, kv_store, "KV-1", "P09", "kv_store(bad=*)", "refusal", "any head_dim and rotary_dim is accepted")
M(kv_accepts_slots, kv_store, "KV-2", "clause", "kv_store(bad=*)", "refusal", "any page size and slot tensor is accepted")
M(kv_refuses_vaguely, kv_store, "ERR-1", "clause", "kv_store(bad=*)", "refusal", "refused without a word")
M(kv_writes_then_refuses, kv_store, "ERR-1", "clause", "kv_store(bad=*)", "refusal",
  "a byte of the pool is written before the check")

/* ---- on a CUDA device ---- */
MC(cu_kv_bf16_stages, kv_store, "KV-1", "S03", "kv_store(fill=normal)", "value:pool", "BF16 between stages where they are f32")
MC(cu_kv_no_barrier, kv_store, "HAD-1", "R24", "kv_store(hd=1024,fill=normal)", "value:pool",
   "no barrier between two stages that cross warps")
MC(cu_kv_offset_ignored, kv_store, "KV-1", "clause", "kv_store(rot=64,offset=-1,had=0,fill=normal)", "value:pool",
   "the first rotary_dim rotate, not the last")
MC(cu_kv_conjugate_ignored, kv_store, "APPLY-2", "P24", "kv_store(conj=1,fill=normal)", "value:pool",
   "the inverse turns forwards")
MC(cu_kv_max_224, kv_store, "CAST-3", "Q12", "kv_store(norm=0,rope=-,had=0,fill=pow2-edges)", "value:scales", "224 for 448")
MC(cu_kv_scale_unwritten, kv_store, "DET-3", "clause", "kv_store(fill=normal)", "poison",
   "the last scale byte of a head is not written")
MC(cu_kv_slot_wraps, kv_store, "KV-2", "K01", "kv_store(slots=skip,fill=normal)", "keep", "slot -1 is the last slot")
MC(cu_kv_head_missing, kv_store, "KV-3", "K11", "kv_store(fill=normal)", "poison", "all heads overwrite head 0")
MC(cu_kv_clears_gap, kv_store, "KV-4", "K04", "kv_store(layout=strided,fill=normal)", "keep",
   "a byte of the gap behind a head's codes is cleared")
MC(cu_kv_bf16_truncate, kv_store, "FMT-1", "R03", "kv_store(out=bf16,fill=normal)", "value:out", "BF16 rounds to zero")
MC(cu_kv_past_is_0, kv_store, "ERR-2", "K01", "kv_store(bad={slot-32,slot-far})", "keep", "a slot past the pool is slot 0")

/* As RARE of table.h. */
/* clang-format off */
RARE(kv_nan_swallowed) RARE(kv_nan_leaks) RARE(kv_no_floor)
    /* clang-format on */
