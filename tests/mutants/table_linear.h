/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of `linear`: a part of table.h, which includes it. */

/* ---- LIN-1, LIN-8, the sum ---- */
M(lin_bf16_sums, linear, "LIN-8", "clause", "linear(M=17,N=33,K={2,128,1024},fill=exact)", "value:out", "BF16 partial sums")
M(lin_bf16_chunks, linear, "LIN-1", "clause", "linear(M=3,N=33,K=1024,fill={exact,normal})", "value:out",
  "sums of 128 products, kept in BF16")
M(lin_acc_13, linear, "LIN-8", "G11", "linear(M=17,N=33,K={128,384},x=e4m3,w={e4m3,e2m1},fill=exact)", "value:out",
  "a core that keeps 13 fraction bits, over all of K")
M(lin_acc_14, linear, "LIN-8", "G11", "linear(M=17,N=33,K=128,x=e4m3,w=e4m3,fill=exact)", "value:out", "14 fraction bits")
M(lin_acc_13_promoted, linear, "LIN-8", "G11", "linear(M=17,N=33,K=128,x=e4m3,w=e4m3,fill=exact)", "value:out",
  "13 fraction bits, promoted to f32 every 32")
M(lin_products_11_bits, linear, "LIN-1", "clause", "linear(M=17,N=33,K={1,128},fill=exact)", "value:out",
  "products in half precision")
M(lin_out_truncate, linear, "LIN-1", "R03", "linear(M=17,N=33,fill=normal)", "value:out", "BF16 rounds to zero")
M(lin_out_ties_away, linear, "FMT-1", "Q17", "linear(M=17,N=33,fill=ties)", "value:out", "BF16 ties away from zero")
M(lin_drops_last, linear, "LIN-1", "clause", "linear(M=17,N=33,K={1,2,128},fill=exact)", "value:out", "the last of K left out")
M(lin_k_tail_8, linear, "LIN-7", "clause", "linear(M=17,N=33,K={31,33,100,129},fill=ones)", "value:out", "the last K % 8 lost")
M(lin_k_tail_32, linear, "LIN-7", "G05", "linear(M=17,N=33,K={33,100,129},fill=ones)", "value:out", "the last K % 32 lost")
M(lin_k_tail_128, linear, "LIN-7", "G05", "linear(M=17,N=33,K=64,x=e4m3,w={e4m3,e2m1},ragged=pack,fill=exact)", "value:out",
  "the last K % 128 lost")
M(lin_split_overlap, linear, "LIN-1", "G04", "linear(M=17,N=33,K={100,129,384,1024},fill=ones)", "value:out",
  "split K: the first part ends on a tile, the second begins at the half")
M(lin_split_bf16, linear, "LIN-8", "clause", "linear(M=17,N=33,K=128,fill=exact)", "value:out", "split K: partial sums in BF16")
M(lin_k_tail_512, linear, "LIN-7", "G05", "linear(M=3,N=5,K={640,1000,1025},fill=exact)", "value:out",
  "beyond 512: the last K % 512 lost")
M(lin_ragged_last_word, linear, "LIN-7", "G05", "linear(M=3,N=5,K={192,224,544},x=e4m3,w={e4m3,e2m1},ragged=pack,fill=exact)",
  "value:out", "a last scale word that is not full lost, behind one that is")
M(lin_k_most, linear, "LIN-7", "clause", "linear(M=2,N=3,K={8320,12416},fill=exact)", "value:out", "nothing of K beyond 7168")
M(lin_n_tail_256, linear, "LIN-1", "clause", "linear(M=3,N=300,fill=exact)", "value:out", "beyond 256: zeros in the last N % 256")
M(lin_n_most, linear, "LIN-1", "clause", "linear(M=3,N={600,1030},fill=exact)", "value:out", "zeros in columns from 512 on")
M(lin_m_most, linear, "LIN-1", "clause", "linear(M={300,600,1030},N=5,K=32,fill=exact)", "value:out", "zeros in rows from 257 on")

/* ---- FMT-5, subnormals ---- */
M(lin_x_subnormal, linear, "FMT-5", "clause", "linear(M=7,N=9,K={1,33,128},fill=flush)", "value:out",
  "BF16 subnormals of x are zeros")
M(lin_w_subnormal, linear, "FMT-5", "clause", "linear(M=7,N=9,K={1,33,128},fill=flush)", "value:out",
  "BF16 subnormals of the weight are zeros")
M(lin_acc_subnormal, linear, "FMT-5", "clause", "linear(M=7,N=9,K=1,acc=own,out={bf16,f32},fill=flush)", "value:out",
  "subnormals of out_acc are zeros")
M(lin_bias_subnormal, linear, "FMT-5", "clause", "linear(M=7,N=9,K=1,bias={bf16,f32},out=f32,fill=flush)", "value:out",
  "subnormals of the bias are zeros")
M(lin_product_subnormal, linear, "FMT-5", "clause", "linear(M=7,N=9,K={1,33},fill=flush)", "value:out",
  "a product below 2^-126 is zero")
M(lin_out_subnormal, linear, "FMT-5", "clause", "linear(M=7,N=9,K=1,out={bf16,f32},fill=flush)", "value:out",
  "a result below 2^-126 is zero")

/* ---- LIN-2, out_acc ---- */
M(lin_acc_ignored, linear, "LIN-2", "clause", "linear(M=17,N=33,acc={own,inplace,same},fill=normal)", "value:out",
  "out_acc left out")
M(lin_acc_in_place_only, linear, "LIN-2", "clause", "linear(M=17,N=33,acc=own,fill=normal)", "value:out",
  "out_acc is taken from out: one of its own is left out")
M(lin_acc_twice, linear, "LIN-2", "clause", "linear(M=17,N=33,acc=inplace,fill=normal)", "value:out",
  "added in both halves of a split")
M(lin_acc_after_rounding, linear, "LIN-2", "clause", "linear(M=17,N=33,acc=own,fill=exact)", "value:out",
  "added after the rounding: dialect reduce-add")
M(lin_acc_strides_of_out, linear, "LIN-2", "R18", "linear(M=17,N=33,acc=own,as=3,fill=normal)", "value:out",
  "out_acc read with the strides of out")
M(lin_acc_stride_i32, linear, "LIN-2", "R20", "linear(M=3,acc=own,as=134217728)", "crash", "out_acc's offset in 32 bits")
M(lin_adds_stale, linear, "LIN-2", "G13", "linear(M=17,N=33,fill=normal)", "poison", "no out_acc: what out held is added")
M(lin_reads_out, linear, "LIN-2", "T10", "linear(M=17,N=33,fill=normal)", "poison", "0 * out added: stale NaN stays")
M(lin_k0_unwritten, linear, "LIN-2", "clause", "linear(M=17,N=33,K=0,fill=zero-rows)", "poison", "K = 0: nothing is done")
M(lin_k0_plus, linear, "LIN-2", "clause", "linear(M=17,N=33,K=0,acc=own,fill=zero-rows)", "value:out",
  "K = 0: 0 + out_acc, which makes a -0 a +0")
M(lin_k0_zero, linear, "LIN-2", "clause", "linear(M=17,N=33,K=0,acc=own,fill=normal)", "value:out", "K = 0: zeros")
M(lin_no_rows, linear, "LIN-2", "R26", "linear(M=0,N=33)", "crash", "M = 0 starts a launch of no blocks")
M(lin_no_columns, linear, "LIN-2", "R26", "linear(M=17,N=0)", "crash", "N = 0 starts a launch of no blocks")
M(lin_dialect_ignored, linear, "LIN-2", "clause",
  "linear(M=17,N=33,acc=own,bias=bf16,dialect={reduce-add,bias-fused},fill=exact)", "value:out",
  "the contract's roundings judged in reduce-add, in bias-fused")

/* ---- LIN-3, LIN-4, LIN-10, views ---- */
M(lin_out_dense, linear, "LIN-3", "clause", "linear(M=17,N=33,os=37,fill=normal)", "poison", "rows of out N apart")
M(lin_out_batch_flat, linear, "LIN-4", "R19", "linear(rank=3,B=2,M=17,N=33,bs=16,fill=normal)", "poison",
  "rows of all batches stepped by the row stride")
M(lin_writes_row_tail, linear, "LIN-3", "clause", "linear(M=17,N=33,fill=normal)", "keep",
  "whole physical rows copied back, N.. too")
M(lin_stray_column, linear, "LIN-3", "clause", "linear(M=17,N={1,33},fill=normal)", "keep", "one column more")
M(lin_x_dense, linear, "LIN-10", "G18", "linear(M=17,N=33,xs=8,fill=normal)", "value:out", "the row stride of x ignored")
M(lin_w_dense, linear, "LIN-10", "G18", "linear(M=17,N=33,ws=8,fill=normal)", "value:out", "the row stride of the weight ignored")
M(lin_base_rounded_down, linear, "LIN-10", "R16", "linear(M=17,N=33,at=8,fill=normal)", "value:out",
  "vectors loaded from the 16-byte boundary below")
M(lin_reads_x_gap, linear, "DET-3", "G07", "linear(M=17,N=33,xs=8,fill=normal)", "poison", "0 * the element behind a row added")

/* ---- LIN-5, codes and scales ---- */
M(lin_x_scale_ignored, linear, "LIN-5", "K10", "linear(M=17,N=33,x=e4m3,w={e4m3,e2m1},fill=normal)", "value:out",
  "x without its scales")
M(lin_w_scale_ignored, linear, "LIN-5", "K10", "linear(M=17,N=33,x=e4m3,w={e4m3,e2m1},fill=normal)", "value:out",
  "the weight without its scales")
M(lin_scale_inverted, linear, "LIN-5", "K08", "linear(M=17,N=33,x=e4m3,w=e4m3,fill=normal)", "value:out", "divided by the scales")
M(lin_scale_bias_128, linear, "FMT-3", "Q19", "linear(M=17,N=33,x=e4m3,w=e4m3,fill=normal)", "value:out", "2^(byte - 128)")
M(lin_last_scale, linear, "LIN-5", "G01", "linear(M=17,N=33,x=e4m3,w=e4m3,fill=exact)", "value:out",
  "the scale of the last group never applied")
M(lin_scale_64, linear, "LIN-5", "G02", "linear(M=17,N=33,x=e4m3,w={e4m3,e2m1},fill=exact)", "value:out",
  "one scale for a tile of 64")
M(lin_scale_128, linear, "LIN-5", "G02", "linear(M=17,N=33,x=e4m3,w=e4m3,fill=exact)", "value:out", "one scale for a tile of 128")
M(lin_scale_next_group, linear, "LIN-5", "T25", "linear(M=17,N=33,x=e4m3,w=e4m3,fill={exact,mixed})", "value:out",
  "the scale of the group behind")
M(lin_scale_next_row, linear, "LIN-5", "T25", "linear(M=17,N=33,x=e4m3,w=e4m3,fill={exact,mixed})", "value:out",
  "the scale of the row behind")
M(lin_scale_block, linear, "LIN-5", "T25", "linear(M=17,N=33,x=e4m3,w={e4m3,e2m1},fill=exact)", "value:out",
  "the weight's scales by n / 32, as in 32x32 blocks")
M(lin_scale_row_major, linear, "SF-3", "Q10", "linear(M=17,N=33,K=256,x=e4m3,w=e4m3,fill=exact)", "value:out",
  "scales taken for SF-2")
M(lin_w_scale_pad, linear, "SF-3", "Q10", "linear(M=17,N=33,K=256,x=e4m3,w=e4m3,fill=exact)", "value:out",
  "N for n_pad between columns of scales")
M(lin_x_scale_pad, linear, "SF-3", "Q10", "linear(M=17,N=33,K=256,x=e4m3,w=e4m3,fill=exact)", "value:out",
  "M for m_pad between columns of scales")
M(lin_scale_halves_swapped, linear, "SF-3", "clause", "linear(M=17,N=33,x=e4m3,w=e4m3,fill=exact)", "value:out",
  "the halves of a scale word exchanged")
M(lin_scale_bytes_reversed, linear, "SF-3", "clause", "linear(M=17,N=33,x=e4m3,w=e4m3,fill=exact)", "value:out",
  "the first group in the highest byte")
M(lin_scale_nan_finite, linear, "FMT-3", "Q19", "linear(M=17,N=33,x=e4m3,w=e4m3,fill=specials)", "value:out",
  "scale byte 255 is 2^128, not NaN")
M(lin_scale_nan_of_zeros, linear, "LIN-11", "clause", "linear(M=17,N=33,x=e4m3,w={e4m3,e2m1},fill=specials)", "value:out",
  "zero codes under scale byte 255 are 0, not NaN")
M(lin_scale_0_is_0, linear, "FMT-3", "Q19", "linear(M=17,N=33,x=e4m3,w={e4m3,e2m1},fill=scales)", "value:out",
  "scale byte 0 is 0, not 2^-127")
M(lin_scale_byte_200, linear, "FMT-3", "clause", "linear(M=17,N=33,K=256,x=e4m3,w={e4m3,e2m1},fill=scales)", "value:out",
  "scale bytes from 200 on are NaN")
M(lin_x_scale_above_61, linear, "LIN-5", "clause", "linear(M=17,N=33,K=256,x=e4m3,w={e4m3,e2m1},fill=scales)", "value:out",
  "exponents of x's scales clamped at 61")
M(lin_w_scale_above_61, linear, "LIN-5", "clause", "linear(M=17,N=33,K=256,x=e4m3,w={e4m3,e2m1},fill=scales)", "value:out",
  "exponents of the weight's scales clamped at 61")
M(lin_x_scale_below_61, linear, "LIN-5", "clause", "linear(M=17,N=33,K=256,x=e4m3,w={e4m3,e2m1},fill=scales)", "value:out",
  "exponents of x's scales clamped at -61, byte 0 but for")
M(lin_w_scale_below_61, linear, "LIN-5", "clause", "linear(M=17,N=33,K=256,x={bf16,e4m3},w={e4m3,e2m1},fill=scales)", "value:out",
  "exponents of the weight's scales clamped at -61, byte 0 but for")
M(lin_cast_scale_61, linear, "LIN-5", "clause", "linear(M=17,N=33,K=256,w={e4m3,e2m1},fill=scales)", "value:out",
  "exponents of a cast x's scales clamped at 61 when they are applied")
M(lin_reads_scale_pad, linear, "SF-3", "G07", "linear(M=17,N=33,x=e4m3,w=e4m3,fill=normal)", "poison",
  "scales loaded by four rows, those that are padding too")
M(lin_nibbles_swapped, linear, "FMT-4", "clause", "linear(M=17,N=33,x=e4m3,w=e2m1,fill=normal)", "value:out",
  "the even code in the high nibble")
M(lin_e2m1_linear, linear, "FMT-4", "clause", "linear(M=17,N=33,x=e4m3,w=e2m1,fill=normal)", "value:out", "codes 0..7 are 0..7")
M(lin_e4m3_fnuz, linear, "FMT-2", "Q12", "linear(M=17,N=33,x=e4m3,w=e4m3,fill=normal)", "value:out", "another E4M3, of bias 8")
M(lin_e4m3_subnormal, linear, "FMT-2", "Q24", "linear(M=17,N=33,x=e4m3,w=e4m3,fill={one-hot,subnormal})", "value:out",
  "subnormal codes with a hidden bit")
M(lin_e4m3_nan_480, linear, "LIN-11", "Q24", "linear(M=17,N=33,x=e4m3,w=e4m3,fill=specials)", "value:out", "0x7f is 480")
M(lin_e4m3_ff_448, linear, "FMT-2", "Q24", "linear(M=17,N=33,x=e4m3,w=e4m3,fill=specials)", "value:out",
  "0x7f alone is a NaN; 0xff is -448")
M(lin_cast_skipped, linear, "LIN-5", "clause", "linear(M=17,N=33,w=e4m3,fill=normal)", "value:out",
  "a BF16 x multiplied as it is, not cast")
M(lin_cast_no_clamp, linear, "CAST-2", "Q20", "linear(M=17,N=33,w=e4m3,fill={zero-rows,tiny})", "value:out", "amax not clamped")
M(lin_cast_exp_up, linear, "CAST-4", "clause", "linear(M=17,N=33,w={e4m3,e2m1},fill=subnormal)", "value:out",
  "scales twice as large: the lowest codes lose a bit")
M(lin_cast_exp_floor, linear, "CAST-4", "F03", "linear(M=17,N=33,w=e4m3,fill=normal)", "value:out", "scales half as large: clips")
M(lin_cast_group_128, linear, "CAST-1", "clause", "linear(M=17,N=33,w=e4m3,fill=mixed)", "value:out",
  "one scale for 128 channels")

/* ---- LIN-9, bias ---- */
M(lin_bias_ignored, linear, "LIN-9", "clause", "linear(M=17,N=33,bias=bf16,fill=normal)", "value:out", "no bias")
M(lin_bias_by_row, linear, "LIN-9", "clause", "linear(M=17,N=33,bias=bf16,fill=normal)", "value:out",
  "the bias of the row's index")
M(lin_bias_before_rounding, linear, "LIN-9", "clause", "linear(M=17,N=33,bias=bf16,fill=exact)", "value:out",
  "added before the rounding: dialect bias-fused")
M(lin_bias_before_acc, linear, "LIN-9", "clause", "linear(M=17,N=33,acc=own,bias=bf16,fill=exact)", "value:out",
  "the bias before out_acc, each rounded")
M(lin_bias_bf16, linear, "LIN-9", "clause", "linear(M=17,N=33,out=f32,bias=f32,fill=normal)", "value:out",
  "an F32 bias held in BF16")

/* ---- LIN-11, special values ---- */
M(lin_skips_zeros, linear, "LIN-11", "clause", "linear(M=17,N=33,fill=specials)", "value:out", "zeros of x skipped: Inf * 0 is 0")
M(lin_nan_swallowed, linear, "LIN-11", "Q23", "linear(M=17,N=33,fill=specials)", "value:out", "a NaN of x counts as 0")
M(lin_inf_clipped, linear, "LIN-11", "clause", "linear(M=17,N=33,fill=specials)", "value:out",
  "an Inf of x counts as the largest f32")
M(lin_nan_leaks, linear, "LIN-11", "R24", "linear(M=17,N=33,fill=specials)", "value:out", "a NaN reaches the next row")
M(lin_inf_overflow_is_0, linear, "LIN-11", "clause", "linear(M=6,N=9,K={2,33},out={bf16,f32},fill=overflow)", "value:out",
  "an Inf beside products that overflow to the other: 0, neither NaN nor Inf")
M(lin_inf_overflow_is_nan, linear, "LIN-11", "clause", "linear(M=6,N=9,K={2,33},out={bf16,f32},fill=overflow)", "value:out",
  "an Inf beside a product that overflows to the same is NaN")
M(lin_large_is_0, linear, "LIN-11", "clause", "linear(M=6,N=9,K={2,33},out={bf16,f32},fill=overflow)", "value:out",
  "0 where magnitudes sum to 2^127, though no partial sum comes there")

/* ---- DET, writes and reads ---- */
M(lin_n_tile, linear, "DET-3", "clause", "linear(M=17,N=33,fill=normal)", "poison", "the last N % 8 columns are not written")
M(lin_m_tile, linear, "DET-3", "G10", "linear(M={3,17},N=33,fill=normal)", "poison", "rows of a short M tile are not written")
M(lin_last_row_unwritten, linear, "DET-3", "clause", "linear(M=17,N=33,fill=normal)", "poison", "the last row is not written")
M(lin_stray_before, linear, "DET-3", "clause", "linear(M=17,N=33,fill=normal)", "keep", "a byte before the base of out")
M(lin_writes_x, linear, "DET-3", "T08", "linear(M=17,N=33,w=e4m3,fill=normal)", "keep", "x cast in its own storage")
M(lin_order_by_run, linear, "DET-1", "R24", "linear(M=17,N=33,K=1024,out=f32,fill=normal)", "poison",
  "the order of the sum changes from run to run, each within LIN-1")

/* ---- ERR-1, refusals ---- */
M(lin_accepts_all, linear, "ERR-1", "clause", "linear(bad=*)", "refusal", "bad arguments are a success that does nothing")
M(lin_accepts_weight, linear, "LIN-6", "clause", "linear(bad={x-e4m3,weight-dtype})", "refusal",
  "any weight is taken for BF16, whatever its dtype and that of x")
M(lin_accepts_k, linear, "LIN-7", "G05", "linear(bad={fp8-k,fp8-ragged-k})", "refusal", "any K with scales")
M(lin_accepts_views, linear, "LIN-10", "clause", "linear(bad=*)", "refusal", "any shape and stride of x and the weight")
M(lin_accepts_acc, linear, "LIN-2", "clause", "linear(bad={acc-m,acc-n,acc-dtype,acc-last,acc-partial,acc-other-rows})",
  "refusal", "an out_acc of another shape or dtype, or that overlaps out")
M(lin_accepts_alignment, linear, "LIN-4", "clause", "linear(bad={acc-unaligned,acc-flat})", "refusal",
  "an out_acc that is not aligned, or does not flatten")
M(lin_accepts_scales, linear, "SF-3", "clause", "linear(bad=*)", "refusal", "scales of any layout")
M(lin_accepts_fp8_extras, linear, "LIN-5", "clause", "linear(bad={fp8-bias,fp8-out-f32})", "refusal",
  "bias and F32 output beside codes")
M(lin_accepts_bias, linear, "LIN-9", "clause", "linear(bad={bias-n,bias-rank,bias-dtype,bias-stride})", "refusal", "any bias")
M(lin_accepts_overlap, linear, "DET-4", "clause", "linear(bad=*)", "refusal", "out lies in an input")
M(lin_refuses_vaguely, linear, "ERR-1", "clause", "linear(bad=*)", "refusal", "the message names no argument and no clause")
M(lin_writes_then_refuses, linear, "ERR-1", "clause", "linear(bad=*)", "refusal", "a byte of out is written before the check")

/* ---- on a CUDA device ---- */
MC(cu_lin_split_bf16, linear, "LIN-8", "clause", "linear(M=17,N=33,K={2,100,1024},out={bf16,f32},fill=exact)", "value:out",
   "split K: partial sums in BF16")
MC(cu_lin_acc_13, linear, "LIN-8", "G11", "linear(M=3,N=17,K={128,384,1024},x=e4m3,w={e4m3,e2m1},fill=exact)", "value:out",
   "13 fraction bits kept after every 32 of K")
MC(cu_lin_last_group, linear, "LIN-7", "G05", "linear(M=3,N=17,K={32,96,160},x=e4m3,w={e4m3,e2m1},ragged=pack,fill=exact)",
   "value:out", "the last 32 of K lost")
MC(cu_lin_scale_next_group, linear, "LIN-5", "T25", "linear(M=5,N={3,4},K=256,x=e4m3,w=e4m3,fill=mixed)", "value:out",
   "the weight's scale of the group behind")
MC(cu_lin_acc_after_rounding, linear, "LIN-2", "clause", "linear(M=17,N=33,K={100,1024},acc={own,inplace},fill=exact)",
   "value:out", "out_acc added to a product rounded to BF16")
MC(cu_lin_adds_stale, linear, "LIN-2", "G13", "linear(M=17,N=33,out={bf16,f32},fill=normal)", "poison",
   "no out_acc: what out held is added")
MC(cu_lin_pad_column, linear, "LIN-3", "clause", "linear(M=17,N=33,out={bf16,f32},fill=normal)", "keep",
   "columns stored in pairs: the last, N odd, with the one behind it")
MC(cu_lin_counter, linear, "DET-1", "G14", "linear(M=67,N=33,K=256,x=e4m3,w=e4m3)", "determinism:graph",
   "split K's counter, set to 0 by the host: a graph's replays find it left behind and finish nothing")

NOT_A_MUTANT(G09, "a hang between two blocks of a cluster that share a tile of one group: no grouped product here")
NOT_A_MUTANT(
    G16,
    "the descriptor of a TMA load, which no kernel here makes of strides; lin_x_dense and lin_w_dense read with wrong strides")

/* As RARE of table.h. */
RARE(lin_out_ties_away)
RARE(lin_nan_swallowed)
RARE(lin_nan_leaks)
RARE(lin_inf_clipped)
RARE(lin_skips_zeros)
RARE(lin_e4m3_nan_480)
RARE(lin_scale_nan_finite)
RARE(lin_scale_nan_of_zeros)
RARE(lin_scale_0_is_0)
RARE(lin_e4m3_ff_448)
RARE(lin_cast_no_clamp)
RARE(lin_cast_exp_up)
RARE(lin_cast_group_128)
RARE(lin_e4m3_subnormal)
RARE(lin_order_by_run)
RARE(lin_x_subnormal)
RARE(lin_w_subnormal)
RARE(lin_acc_subnormal)
RARE(lin_bias_subnormal)
RARE(lin_product_subnormal)
RARE(lin_out_subnormal)
RARE(lin_scale_byte_200)
RARE(lin_x_scale_above_61)
RARE(lin_w_scale_above_61)
RARE(lin_x_scale_below_61)
RARE(lin_w_scale_below_61)
RARE(lin_cast_scale_61)
RARE(lin_inf_overflow_is_0)
RARE(lin_inf_overflow_is_nan)
RARE(lin_large_is_0)
