/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of `hadamard`: a part of table.h, which includes it. */

/* ---- HAD-1, the matrix ---- */
M(had_sequency, hadamard, "HAD-1", "clause", "hadamard(M=17,n=128,fill=normal)", "value:out", "rows of H by their sign changes")
M(had_bit_reversed, hadamard, "HAD-1", "clause", "hadamard(M=17,n=128,fill=one-hot)", "value:out", "y in bit-reversed order")
M(had_last_stage_missing, hadamard, "HAD-1", "clause", "hadamard(M=17,n=128,fill=normal)", "value:out", "log2 n - 1 stages")
M(had_blocks_of_1024, hadamard, "HAD-1", "H04", "hadamard(M=3,n=2048,fill=normal)", "value:out",
  "a longer row is blocks of 1024, each for itself")
M(had_partner, hadamard, "HAD-1", "clause", "hadamard(M=17,n=128,fill=normal)", "value:out",
  "one lane has the wrong partner in one stage")
M(had_sign_8_bits, hadamard, "HAD-1", "clause", "hadamard(M=3,n=512,fill=normal)", "value:out", "popcount of the low 8 bits only")
M(had_sign_of_xor, hadamard, "HAD-1", "clause", "hadamard(M=17,n=64,fill=one-hot)", "value:out", "popcount(i ^ j)")
M(had_sign_of_product, hadamard, "HAD-1", "clause", "hadamard(M=17,n=64,fill=normal)", "value:out", "i * j for i & j")
M(had_drops_last, hadamard, "HAD-1", "clause", "hadamard(M=17,n=128,fill=normal)", "value:out", "the last element left out")

/* ---- HAD-2, scale ---- */
M(had_default_scale_1, hadamard, "HAD-2", "H02", "hadamard(M=17,n=128,fill=normal)", "value:out", "the default scale is 1")
M(had_default_scale_1_n, hadamard, "HAD-2", "clause", "hadamard(M=17,n=128,fill=normal)", "value:out", "the default scale is 1/n")
M(had_scale_ignored, hadamard, "HAD-2", "H02", "hadamard(M=17,n=128,given=1,scale=3,fill=normal)", "value:out",
  "a scale that is listed is not used")
M(had_scale_twice, hadamard, "HAD-1", "clause", "hadamard(M=17,n=128,fill=normal)", "value:out", "applied before and behind")
M(had_scale_bf16, hadamard, "HAD-2", "clause", "hadamard(M=17,n=128,fill=normal)", "value:out", "scale held in BF16")
M(had_scale_f16, hadamard, "HAD-2", "clause", "hadamard(M=17,n=128,x=f32,fill=normal)", "value:out",
  "scale held in half precision")
M(had_scale_ulp, hadamard, "HAD-2", "clause", "hadamard(M=17,n=128,x=f32,fill=exact)", "value:out", "scale one ulp off")
M(had_scale_sign, hadamard, "HAD-6", "clause", "hadamard(M=17,n=128,given=1,scale=-0.7,fill=normal)", "value:out", "|scale|")
M(had_scale_first, hadamard, "HAD-5", "clause", "hadamard(M=17,n=128,x=f32,fill=exact)", "value:out",
  "x * scale rounded before the sum, which is exact no more")

/* ---- HAD-3, HAD-5, precision ---- */
M(had_bf16_stages, hadamard, "HAD-3", "clause", "hadamard(M=17,n=128,fill=normal)", "value:out", "BF16 between stages")
M(had_bf16_16_point, hadamard, "HAD-3", "clause", "hadamard(M=17,n=512,fill=normal)", "value:out",
  "BF16 between factors of 16 points (HadaCore)")
M(had_f16_stages, hadamard, "HAD-5", "H05", "hadamard(M=17,n=128,fill=exact)", "value:out", "11-bit sums")
M(had_tf32, hadamard, "HAD-3", "clause", "hadamard(M=17,n=128,x=f32,fill=normal)", "value:out", "F32 input cut to 11 bits")
M(had_serial, hadamard, "HAD-3", "clause", "hadamard(M=3,n=4096,x=f32,fill=drift)", "value:out",
  "a serial sum by a kernel that does not declare itself dense")
M(had_round_then_scale, hadamard, "HAD-3", "clause", "hadamard(M=17,n=128,fill=normal)", "value:out",
  "rounded to BF16, scaled, rounded again")
M(had_out_truncate, hadamard, "HAD-3", "R03", "hadamard(M=17,n=128,fill=normal)", "value:out", "BF16 rounds to zero")
M(had_out_ties_away, hadamard, "FMT-1", "Q17", "hadamard(M=17,n=128,given=1,fill=ties)", "value:out", "BF16 ties away from zero")
M(had_ftz, hadamard, "FMT-5", "clause", "hadamard(M=17,n=128,x=f32,given=1,fill=tiny)", "value:out", "f32 subnormals are zeros")

/* ---- HAD-4, views ---- */
M(had_x_dense, hadamard, "HAD-4", "clause", "hadamard(M=17,n=128,xs=8,fill=normal)", "value:out", "the row stride of x ignored")
M(had_out_strides_of_x, hadamard, "HAD-4", "clause", "hadamard(M=17,n=128,os=16,fill=normal)", "poison",
  "out written with the strides of x")
M(had_batch_flat, hadamard, "HAD-4", "R19", "hadamard(rank=3,B=2,M=17,n=128,bs=64,fill=normal)", "value:out",
  "rows of all batches stepped by the row stride")
M(had_offset_24, hadamard, "HAD-4", "R20", "hadamard(M=5,n=128,xs=4194304,fill=normal)", "value:out",
  "a row offset that wraps (at 2^24, so that the case is small)")
M(had_base_rounded_down, hadamard, "HAD-4", "R16", "hadamard(M=17,n=128,at=8,fill=normal)", "value:out",
  "vectors loaded from the 16-byte boundary below")
M(had_no_rows, hadamard, "HAD-4", "R26", "hadamard(M=0,n=128)", "crash", "M = 0 starts a launch of no blocks")
M(had_inplace_skipped, hadamard, "HAD-4", "clause", "hadamard(M=17,n=128,inplace=1,fill=normal)", "value:out",
  "out is x: nothing is done")
M(had_inplace_too_early, hadamard, "HAD-4", "clause", "hadamard(M=17,n=128,inplace=1,fill=normal)", "value:out",
  "in place, half of y is written before x is read for the rest")

/* ---- HAD-6, special values ---- */
M(had_nan_swallowed, hadamard, "HAD-6", "Q23", "hadamard(M=17,n=128,fill=specials)", "value:out", "a NaN counts as 0")
M(had_inf_clipped, hadamard, "HAD-6", "clause", "hadamard(M=17,n=128,x=f32,fill=specials)", "value:out",
  "an Inf counts as the largest f32")
M(had_nan_half, hadamard, "HAD-6", "clause", "hadamard(M=17,n=128,fill=specials)", "value:out",
  "every other element stays finite")
M(had_nan_leaks, hadamard, "HAD-6", "R24", "hadamard(M=17,n=128,fill=specials)", "value:out", "a NaN reaches the next row")

/* ---- HAD and DET, writes and reads ---- */
M(had_tail_unwritten, hadamard, "DET-3", "clause", "hadamard(M=17,n=128,fill=normal)", "poison", "the last 8 are not written")
M(had_last_row_unwritten, hadamard, "DET-3", "clause", "hadamard(M=17,n=128,fill=normal)", "poison",
  "the last row is not written")
M(had_stray_gap, hadamard, "DET-3", "clause", "hadamard(M=17,n=128,os=16,fill=normal)", "keep", "one element in the gap of out")
M(had_stray_before, hadamard, "DET-3", "clause", "hadamard(M=17,n=128,fill=normal)", "keep", "a byte before the base of out")
M(had_writes_x, hadamard, "DET-3", "T08", "hadamard(M=17,n=128,fill=normal)", "keep", "x used as scratch")
M(had_reads_gap, hadamard, "DET-3", "clause", "hadamard(M=17,n=128,xs=8,fill=normal)", "poison",
  "0 * the element behind the row added")
M(had_reads_out, hadamard, "DET-3", "T10", "hadamard(M=17,n=128,fill=normal)", "poison", "0 * out added: stale NaN stays")
M(had_order_by_run, hadamard, "DET-1", "R24", "hadamard(M=17,n=128,x=f32,fill=normal)", "poison",
  "the order of stages changes from run to run, each within HAD-3")

/* ---- ERR-1, refusals ---- */
M(had_accepts_all, hadamard, "ERR-1", "clause", "hadamard(bad=*)", "refusal", "bad arguments are a success that does nothing")
M(had_accepts_any_n, hadamard, "HAD-1", "H04", "hadamard(bad={n-0,n-1,n-96,n-127,n-65536})", "refusal",
  "n that is no power of two, or too large, is accepted")
M(had_accepts_views, hadamard, "HAD-4", "clause", "hadamard(bad=*)", "refusal", "any stride, shape and address is accepted")
M(had_accepts_overlap, hadamard, "DET-4", "clause", "hadamard(bad=*)", "refusal", "x and out overlap without being one view")
M(had_accepts_numbers, hadamard, "HAD-6", "clause", "hadamard(bad=*)", "refusal", "any dtype and scale is accepted")
M(had_refuses_vaguely, hadamard, "ERR-1", "clause", "hadamard(bad=*)", "refusal", "the message names no argument and no clause")
M(had_writes_then_refuses, hadamard, "ERR-1", "clause", "hadamard(bad=*)", "refusal", "a byte of out is written before the check")

/* ---- on a CUDA device ---- */
MC(cu_had_partner, hadamard, "HAD-1", "clause", "hadamard(M=17,n=128,fill=normal)", "value:out",
   "one lane has the wrong partner in one stage")
MC(cu_had_drops_last, hadamard, "HAD-1", "clause", "hadamard(M=17,n=128,fill=normal)", "value:out", "the last element left out")
MC(cu_had_no_barrier, hadamard, "HAD-1", "clause", "hadamard(M=17,n=1024,fill=normal)", "value:out",
   "no barrier between two stages that cross warps")
MC(cu_had_default_scale_1, hadamard, "HAD-2", "H02", "hadamard(M=17,n=128,fill=normal)", "value:out", "the default scale is 1")
MC(cu_had_bf16_stages, hadamard, "HAD-3", "clause", "hadamard(M=17,n=128,fill=normal)", "value:out", "BF16 between stages")
MC(cu_had_out_truncate, hadamard, "HAD-3", "R03", "hadamard(M=17,n=128,fill=normal)", "value:out", "BF16 rounds to zero")
MC(cu_had_nan_swallowed, hadamard, "HAD-6", "Q23", "hadamard(M=17,n=128,fill=specials)", "value:out", "a NaN counts as 0")
MC(cu_had_tail_unwritten, hadamard, "DET-3", "clause", "hadamard(M=17,n=128,fill=normal)", "poison", "the last 8 are not written")
MC(cu_had_stray_gap, hadamard, "DET-3", "clause", "hadamard(M=17,n=128,os=16,fill=normal)", "keep",
   "one element in the gap of out")

NOT_A_MUTANT(H01, "n = 12 is refused (HAD-1): no table of its own to be wrong")

/* As RARE of table.h. */
RARE(had_ftz)
RARE(had_nan_swallowed)
RARE(had_inf_clipped)
RARE(had_nan_half)
RARE(had_nan_leaks)
RARE(had_scale_ulp)
RARE(had_scale_first)
RARE(had_serial)
