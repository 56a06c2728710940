/* SPDX-License-Identifier: Apache-2.0 */
/* The mutants: kernels that are wrong in one way each. Include it with any of these
 * defined; all are undefined again at the end:
 *
 *   M(id, op, clause, source, cases, check, text)    a host mutant (plain_*.c), a variant of plugin "mutants"
 *   MC(id, op, clause, source, cases, check, text)   the same on a CUDA device, of plugin "mutants-cuda"
 *   AGAIN(id, op, clause, cases, check, text)        a host mutant of another row, which this check kills as well
 *   NOT_A_MUTANT(id, reason)                         a published bug that cannot exist here as a wrong kernel
 *   EQUIVALENT(id, proof)                            a mutation that changes no judged bit; equivalent.c tries it
 *   RARE(id)                                         changes less than 0.1 % of the elements on N(0,1) data
 *
 *   source   the published bug that it models, a row of docs/known-bugs.md, or "clause"
 *   cases    the pattern of cases that must kill it
 *   check    what must fail there:
 *            "value:TENSOR"  an element is not explained
 *            "keep"          a byte changed that nobody owns: guards, gaps, inputs, operands switched off
 *            "poison"        an owned byte differs between the two poisons: unwritten, or read when stale
 *            "refusal"       bad arguments accepted, or refused with a byte written, or without naming them
 *            "crash"         the process died
 *            "timeout"       the deadline passed
 *            "determinism:P" another call gives other bits, under perturbation P of `layercheck determinism`: each
 *                            element is right by itself, so that no single case shows it (DET-1, DET-2)
 *            "relation:R"    relation R of `layercheck relations` does not hold among the kernel's own results */
#ifndef M
#define M(...)
#endif
#ifndef MC
#define MC(...)
#endif
#ifndef AGAIN
#define AGAIN(...)
#endif
#ifndef NOT_A_MUTANT
#define NOT_A_MUTANT(id, reason)
#endif
#ifndef EQUIVALENT
#define EQUIVALENT(id, proof)
#endif
#ifndef RARE
#define RARE(id)
#endif

/* ---- CAST-1, amax ---- */
M(cast_amax_signed, cast, "CAST-1", "clause", "cast(M=17,d=128,sf=row,round=0,fill=normal)", "value:sf", "max x, not max |x|")
M(cast_amax_drops_last, cast, "CAST-1", "clause", "cast(M=64,d=128,sf=row,round=0,fill=normal)", "value:sf",
  "the last channel of a group left out of amax")
M(cast_amax_bf16, cast, "CAST-1", "Q26", "cast(M=17,d=128,x=f32,sf=row,round=0,fill=normal)", "value:sf",
  "amax of F32 kept in BF16")
M(cast_amax_short_group, cast, "CAST-1", "clause", "cast(M=17,d=100,sf=row,fill=normal)", "value:sf",
  "a last group shorter than G has no amax")
M(cast_amax_first_32, cast, "CAST-1", "clause", "cast(M=17,d=512,G=128,sf=row,round=0,fill=normal)", "value:sf",
  "G taken for 32 whatever it is")
M(cast_amax_first_1024, cast, "CAST-1", "R27", "cast(M=17,d=4096,G=0,sf=row,round=0,fill=normal)", "value:sf",
  "one group of d channels sees as many as the block has threads")
M(cast_amax_reads_gap, cast, "DET-3", "Q26", "cast(M=17,d=100,xs=60,fill=normal)", "poison",
  "a short last group loads G channels, those behind the row too")
M(cast_amax_reads_sf, cast, "DET-3", "clause", "cast(M=17,d=128,sf=row,round=0,fill=normal)", "poison",
  "the running maximum starts from what the output held")

/* ---- CAST-2, the floor ---- */
M(cast_no_floor, cast, "CAST-2", "Q20", "cast(M=17,d=128,fill=zero-rows)", "value:sf", "amax not clamped from below")
M(cast_floors_scale, cast, "CAST-2", "Q04", "cast(M=17,d=128,fill=zero-rows)", "value:sf",
  "1e-4 floors the scale, not amax: dialect sf-floor")
M(cast_floor_1e10, cast, "CAST-2", "Q03", "cast(M=17,d=128,fill=tiny)", "value:sf", "floor 1e-10 for 1e-4")
M(cast_floor_strided, cast, "CAST-2", "Q03", "cast(M=17,d=128,xs=16,fill=zero-rows)", "value:sf",
  "the path of strided input has another floor")
M(cast_zero_is_one, cast, "CAST-6", "Q21", "cast(M=17,d=128,fill=zero-rows)", "value:sf", "a zero amax replaced by 1")
M(cast_adds_eps, cast, "CAST-2", "Q23", "cast(M=17,d=128,fill=tiny)", "value:sf", "amax + 1e-4 for max(amax, 1e-4)")

/* ---- CAST-3, the scale ---- */
M(cast_max_224, cast, "CAST-3", "Q12", "cast(M=17,d=128,fill=normal)", "value:sf", "224 for 448")
M(cast_max_240, cast, "CAST-3", "Q12", "cast(M=17,d=128,sf=row,round=0,fill=normal)", "value:sf", "240 (another E4M3) for 448")
M(cast_sf_times_rounded, cast, "CAST-3", "clause", "cast(M=17,d=128,sf=row,round=0,fill=normal)", "value:sf",
  "amax * fl(1/448); the same byte for every amax under round_sf, so only without it")
M(cast_sf_truncate, cast, "CAST-3", "R03", "cast(M=17,d=128,sf=row,round=0,fill=normal)", "value:sf",
  "amax / 448 rounded to zero")
M(cast_sf_bf16, cast, "CAST-3", "Q04", "cast(M=17,d=128,sf=row,round=0,fill=normal)", "value:sf", "the scale narrowed to BF16")
M(cast_sf_inverse, cast, "CAST-8", "clause", "cast(M=17,d=128,fill=normal)", "value:sf", "the factor stored, not the scale")

/* ---- CAST-4, the exponent ---- */
M(cast_exp_floor, cast, "CAST-4", "Q29", "cast(M=17,d=128,fill=normal)", "value:sf", "floor(log2) for ceil(log2)")
M(cast_exp_nearest, cast, "CAST-4", "Q29", "cast(M=17,d=128,fill=normal)", "value:sf", "the nearer exponent for the next one up")
M(cast_exp_always_up, cast, "CAST-4", "clause", "cast(M=64,d=512,x=f32,fill=pow2-edges)", "value:sf",
  "an exact power of two goes up as well")
M(cast_exp_log2f, cast, "CAST-4", "Q01", "cast(M=64,d=512,x=f32,fill=pow2-edges)", "value:sf",
  "ceilf(log2f(sf)): just above 2^k the logarithm rounds to k")
M(cast_exp_low_bits, cast, "CAST-4", "Q01", "cast(M=64,d=512,x=f32,fill=pow2-edges)", "value:sf",
  "the mantissa's low 8 bits do not count as a bit set")
M(cast_pack_drops_mantissa, cast, "CAST-4", "Q06", "cast(M=17,d=128,fill=normal)", "value:sf",
  "F32 scales packed by their exponent, codes made with the whole scale")
M(cast_byte_bias, cast, "FMT-3", "clause", "cast(M=17,d=128,fill=normal)", "value:sf", "byte e + 128")
M(cast_sign_smear, cast, "FMT-3", "clause", "cast(M=17,d=128,fill=huge)", "value:sf",
  "words or-ed from bytes taken as signed: 128 and above smears")

/* ---- CAST-5, FMT-2, the codes ---- */
M(cast_code_truncate, cast, "FMT-2", "R03", "cast(M=17,d=128,fill=normal)", "value:out", "E4M3 rounds to zero")
M(cast_code_ties_away, cast, "FMT-2", "Q17", "cast(M=17,d=128,x=f32,fill=ties)", "value:out", "E4M3 ties away from zero")
M(cast_code_ties_zero, cast, "FMT-2", "clause", "cast(M=17,d=128,x=f32,fill=ties)", "value:out", "E4M3 ties toward zero")
M(cast_carry_lost, cast, "FMT-2", "Q17", "cast(M=17,d=128,fill=normal)", "value:out",
  "the mantissa's carry is lost: 126.24 gives 64")
M(cast_double_round, cast, "CAST-5", "Q15", "cast(M=17,d=128,x=f32,fill=ties)", "value:out", "F32 through BF16 to E4M3")
M(cast_product_bf16, cast, "CAST-5", "Q15", "cast(M=17,d=128,x=f32,sf=row,round=0,fill=normal)", "value:out",
  "the scaled value through BF16")
M(cast_saturates_early, cast, "FMT-2", "Q13", "cast(M=17,d=128,fill=normal)", "value:out", "256 and above become 448")
M(cast_subnormal_flush, cast, "FMT-2", "Q24", "cast(M=17,d=128,fill=logu)", "value:out", "codes 1..7 are never made")
M(cast_subnormal_formula, cast, "FMT-2", "Q24", "cast(M=17,d=128,fill=logu)", "value:out",
  "the mantissa's bits taken for a subnormal's without its leading one")
M(cast_underflow_sign, cast, "FMT-6", "clause", "cast(M=17,d=1024,fill=outlier)", "value:out", "what underflows loses its sign")
M(cast_inverse_half, cast, "CAST-5", "Q27", "cast(M=17,d=128,fill=tiny)", "value:out", "2^-e held in half precision overflows")
M(cast_inverse_of_sf, cast, "CAST-9", "clause", "cast(M=64,d=4096,sf=row,round=0,fill=normal)", "value:out",
  "fl(1 / sf) for fl(448 / amax): dialect deepgemm")
M(cast_inverse_two_roundings, cast, "CAST-5", "clause", "cast(M=64,d=4096,sf=row,round=0,fill=normal)", "value:out",
  "448 * fl(1 / amax) for fl(448 / amax)")
M(cast_inverse_not_floored, cast, "CAST-5", "Q20", "cast(M=17,d=128,sf=row,round=0,fill=zero-rows)", "value:out",
  "448 / amax before the clamp: 0 * Inf")
M(cast_divides, cast, "CAST-5", "clause", "cast(M=64,d=4096,sf=row,round=0,fill=normal)", "value:out",
  "x / sf for x * fl(448 / amax)")
M(cast_product_truncate, cast, "CAST-5", "R03", "cast(M=64,d=4096,sf=row,round=0,fill=normal)", "value:out",
  "x * inverse rounded to zero in f32")
M(cast_product_unrounded, cast, "CAST-5", "clause", "cast(M=64,d=4096,sf=row,round=0,fill=normal)", "value:out",
  "x * inverse not rounded to f32 before E4M3")
M(cast_reads_bf16, cast, "CAST-10", "Q26", "cast(M=17,d=128,x=f32,sf=row,round=0,fill=normal)", "value:out",
  "F32 input read as BF16 for the codes")

/* ---- CAST-6, CAST-7, special values ---- */
M(cast_zero_unsigned, cast, "CAST-6", "clause", "cast(M=17,d=128,fill=zero-rows)", "value:out",
  "an all-zero group gives +0 for -0")
M(cast_nan_zero, cast, "CAST-7", "clause", "cast(M=17,d=128,fill=specials)", "value:out", "a NaN gives code 0")
M(cast_nan_saturates, cast, "CAST-7", "Q23", "cast(M=17,d=128,fill=specials)", "value:out", "a NaN gives +-448")
M(cast_nan_leaks, cast, "CAST-7", "clause", "cast(M=17,d=512,fill=specials)", "value:sf",
  "a NaN reaches the groups behind its own")

/* ---- CAST-10, views and sizes ---- */
M(cast_x_dense, cast, "CAST-10", "R18", "cast(M=17,d=128,xs=16,fill=normal)", "value:out", "the row stride of x ignored")
M(cast_batch_flat, cast, "CAST-10", "R19", "cast(rank=3,B=2,M=17,d=128,bs=64,fill=normal)", "value:out",
  "rows of all batches stepped by the row stride")
M(cast_offset_24, cast, "CAST-10", "R20", "cast(M=5,d=128,xs=4194304,fill=normal)", "value:out",
  "a row offset that wraps (at 2^24, so that the case is small; the bug wrapped at 2^31)")
M(cast_no_rows, cast, "CAST-10", "R26", "cast(M=0,d=128)", "crash", "M = 0 starts a launch of no blocks")
M(cast_tail_unwritten, cast, "DET-3", "Q26", "cast(M=17,d=100,fill=normal)", "poison", "the last d % 8 codes are not written")
M(cast_last_group_unwritten, cast, "DET-3", "Q09", "cast(M=17,d=128,fill=normal)", "poison", "the last group is not written")
M(cast_last_row_unwritten, cast, "DET-3", "clause", "cast(M=17,d=128,fill=normal)", "poison", "the last row is not written")
M(cast_stray_row_end, cast, "DET-3", "Q26", "cast(M=17,d=100,fill=normal)", "keep", "a whole vector of 8 codes for the tail")
M(cast_stray_before, cast, "DET-3", "clause", "cast(M=17,d=128,fill=normal)", "keep", "a byte before the base of out")
M(cast_writes_x, cast, "DET-3", "T08", "cast(M=17,d=128,fill=normal)", "keep", "x used as scratch")

/* ---- SF-0..SF-4, layouts ---- */
M(sf_round_forgotten, cast, "SF-0", "Q07", "cast(M=17,d=128,sf=row,fill=normal)", "value:sf", "round_sf ignored in f32 layouts")
M(sf_round_forced, cast, "SF-0", "clause", "cast(M=17,d=128,sf=row,round=0,fill=normal)", "value:sf", "round_sf taken as on")
M(sf1_swap_rows, cast, "SF-1", "clause", "cast(M=17,d=128,sf=row,fill=mixed)", "value:sf", "rows m and m^1 exchanged")
M(sf1_swap_groups, cast, "SF-1", "clause", "cast(M=17,d=128,sf=row,fill=mixed)", "value:sf", "groups g and g^1 exchanged")
M(sf1_group_major, cast, "SF-1", "clause", "cast(M=17,d=128,sf=row,fill=mixed)", "value:sf", "(B, d_s, M) for (B, M, d_s)")
M(sf1_row_spills, cast, "SF-1", "Q26", "cast(M=17,d=128,sf=row,fill=normal)", "keep", "a scale behind the last row")
M(sf2_swap_rows, cast, "SF-2", "clause", "cast(M=17,d=128,sf=rowp,fill=mixed)", "value:sf", "rows m and m^1 exchanged")
M(sf2_swap_groups, cast, "SF-2", "clause", "cast(M=17,d=128,sf=rowp,fill=mixed)", "value:sf", "groups g and g^1 exchanged")
M(sf2_byte_order, cast, "SF-2", "clause", "cast(M=17,d=128,sf=rowp,fill=mixed)", "value:sf", "byte 3-j of a word for byte j")
M(sf2_pitch_16, cast, "SF-2", "Q10", "cast(M=17,d=128,sf=rowp,fill=mixed)", "value:sf", "rows padded to 16 bytes")
M(sf2_row_spills, cast, "SF-2", "Q26", "cast(M=17,d=128,sf=rowp,fill=normal)", "keep", "a word behind the last row")
M(sf3_swap_rows, cast, "SF-3", "clause", "cast(M=17,d=128,sf=col,fill=mixed)", "value:sf", "rows m and m^1 exchanged")
M(sf3_swap_groups, cast, "SF-3", "clause", "cast(M=17,d=128,sf=col,fill=mixed)", "value:sf", "groups g and g^1 exchanged")
M(sf3_byte_order, cast, "SF-3", "clause", "cast(M=17,d=128,sf=col,fill=mixed)", "value:sf", "byte 3-j of a word for byte j")
M(sf3_m_not_padded, cast, "SF-3", "Q10", "cast(M=17,d=256,sf=col,fill=mixed)", "value:sf", "columns M long, not m_pad")
M(sf3_size_1_pitch, cast, "SF-3", "clause", "cast(M=1,d=512,sf=col,fill=mixed)", "value:sf", "m_pad = 1 where M = 1")
M(sf3_batch_flat, cast, "SF-3", "R19", "cast(rank=3,B=2,M=17,d=128,sf=col,fill=mixed)", "value:sf",
  "one column for the rows of all batches")
M(sf3_word_half, cast, "SF-3", "Q09", "cast(M=17,d=128,sf=col,fill=normal)", "poison", "the last byte of a word is not written")
M(sf3_pad_spills, cast, "SF-3", "Q08", "cast(M=17,d=128,sf=col,fill=normal)", "keep", "padding written behind the storage")
M(sf3_before_base, cast, "SF-3", "clause", "cast(M=17,d=128,sf=col,fill=normal)", "keep", "a word before the base of sf")
M(colf_swap_rows, cast, "SF-3", "clause", "cast(M=17,d=128,sf=colf,fill=mixed)", "value:sf", "rows m and m^1 exchanged")
M(colf_swap_groups, cast, "SF-3", "clause", "cast(M=17,d=128,sf=colf,fill=mixed)", "value:sf", "groups g and g^1 exchanged")
M(colf_m_not_padded, cast, "SF-3", "Q10", "cast(M=17,d=128,sf=colf,fill=mixed)", "value:sf", "columns M long, not m_pad")
M(colf_pad_spills, cast, "SF-3", "Q08", "cast(M=17,d=128,sf=colf,fill=normal)", "keep", "padding written behind the storage")
M(sf4_identity, cast, "SF-4", "clause", "cast(M=64,d=128,utccp=64,fill=mixed)", "value:extra_sf", "P(i) = i")
M(sf4_inverse, cast, "SF-4", "clause", "cast(M=64,d=128,utccp=64,fill=mixed)", "value:extra_sf", "the inverse of P")
M(sf4_block_not_aligned, cast, "SF-4", "clause", "cast(M=128,d=128,utccp=64,fill=mixed)", "value:extra_sf",
  "blocks block_m long, not align128(block_m)")
M(sf4_one_block, cast, "SF-4", "clause", "cast(M=64,d=128,utccp=32,fill=mixed)", "value:extra_sf", "block_m taken for 128")
M(sf4_word_order, cast, "SF-4", "clause", "cast(M=64,d=256,utccp=64,fill=mixed)", "value:extra_sf",
  "words of a row from the last")
M(sf4_upper_rows, cast, "SF-4", "clause", "cast(M=257,d=128,utccp=200,fill=mixed)", "value:extra_sf",
  "rows from 192 of a block of 200 one word on")
M(rms_sf4_upper_rows, rmsnorm, "SF-4", "clause", "rmsnorm(M=257,d=128,out=e4m3,utccp=200,fill=mixed)", "value:extra_sf",
  "rows from 192 of a block of 200 one word on")
M(sf4_unwritten, cast, "SF-4", "clause", "cast(M=64,d=128,utccp=64,fill=normal)", "poison", "extra_sf is not written")
M(sf4_fills_rest, cast, "SF-4", "clause", "cast(M=17,d=128,utccp=64,fill=normal)", "keep",
  "a word that no row maps to is cleared")

/* ---- RMS-1, RMS-2, the residual ---- */
M(rms_residual_f32, rmsnorm, "RMS-1", "R02", "rmsnorm(M=17,d=128,res=1,out=f32,fill=normal)", "value:out",
  "the unrounded sum is normed, its BF16 stored: dialect f32res")
M(rms_residual_truncate, rmsnorm, "RMS-1", "R03", "rmsnorm(M=17,d=128,res=1,fill=normal)", "value:residual_out",
  "x + residual rounded to zero")
M(rms_residual_ties_away, rmsnorm, "RMS-1", "Q17", "rmsnorm(M=17,d=128,res=1,fill=normal)", "value:residual_out",
  "x + residual ties away from zero")
M(rms_residual_zero_sign, rmsnorm, "FMT-6", "clause", "rmsnorm(M=17,d=128,res=1,fill=specials)", "value:residual_out",
  "-0 + -0 gives +0")
M(rms_residual_ignored, rmsnorm, "RMS-1", "clause", "rmsnorm(M=17,d=128,res=1,fill=normal)", "value:residual_out", "no add")
M(rms_residual_after, rmsnorm, "RMS-1", "clause", "rmsnorm(M=17,d=128,res=1,fill=normal)", "value:out",
  "the residual added behind the norm")
M(rms_residual_out_normed, rmsnorm, "RMS-2", "clause", "rmsnorm(M=17,d=128,res=1,fill=normal)", "value:residual_out",
  "residual_out is the normalised value")
M(rms_residual_out_is_x, rmsnorm, "RMS-2", "clause", "rmsnorm(M=17,d=128,res=1,fill=normal)", "value:residual_out",
  "residual_out is x")
M(rms_residual_out_unwritten, rmsnorm, "RMS-2", "clause", "rmsnorm(M=17,d=128,res=1,fill=normal)", "poison",
  "residual_out is not written")
M(rms_writes_residual, rmsnorm, "RMS-2", "T08", "rmsnorm(M=17,d=128,res=1,fill=normal)", "keep", "residual updated in place")
M(rms_writes_x, rmsnorm, "RMS-2", "T08", "rmsnorm(M=17,d=128,fill=normal)", "keep", "x overwritten")
M(rms_writes_weight, rmsnorm, "DET-3", "T08", "rmsnorm(M=17,d=128,fill=normal)", "keep", "weight expanded in place")

/* ---- RMS-3, statistics ---- */
M(rms_serial, rmsnorm, "RMS-3", "clause", "rmsnorm(M=17,d=16384,out=f32,fill=positive)", "value:out", "one serial f32 sum")
M(rms_bf16_squares, rmsnorm, "RMS-3", "R07", "rmsnorm(M=17,d=128,out=f32,fill=normal)", "value:out", "squares rounded to BF16")
M(rms_bf16_partials, rmsnorm, "RMS-3", "R07", "rmsnorm(M=17,d=128,out=f32,fill=normal)", "value:out", "partial sums kept in BF16")
M(rms_sum_drops_last, rmsnorm, "RMS-3", "clause", "rmsnorm(M=17,d=128,out=f32,fill=normal)", "value:out",
  "the last square left out")
M(rms_sum_drops_tail, rmsnorm, "RMS-3", "clause", "rmsnorm(M=17,d=100,out=f32,fill=normal)", "value:out",
  "the last d % 8 squares left out")
M(rms_sum_reads_gap, rmsnorm, "DET-3", "clause", "rmsnorm(M=17,d=100,xs=16,fill=normal)", "poison",
  "the tail's vector is loaded whole, the gap behind the row with it")
M(rms_sum_not_cleared, rmsnorm, "RMS-3", "R24", "rmsnorm(M=17,d=128,fill=normal)", "value:out",
  "the accumulator keeps the row before")
M(rms_mean_of_d_minus_1, rmsnorm, "RMS-3", "clause", "rmsnorm(M=17,d=7168,out=f32,fill=normal)", "value:out", "sum / (d - 1)")
M(rms_mean_padded, rmsnorm, "RMS-3", "clause", "rmsnorm(M=17,d=100,fill=normal)", "value:out", "sum / d rounded up to 32")
M(rms_mean_bf16, rmsnorm, "RMS-3", "R07", "rmsnorm(M=17,d=128,fill=normal)", "value:out", "the mean rounded to BF16")
M(rms_sum_no_mean, rmsnorm, "RMS-3", "clause", "rmsnorm(M=17,d=128,fill=normal)", "value:out", "the sum for the mean")

/* ---- RMS-4, the root ---- */
M(rms_eps_outside, rmsnorm, "RMS-4", "R11", "rmsnorm(M=17,d=128,fill=tiny)", "value:out", "1 / (sqrt(s) + eps)")
M(rms_eps_fixed, rmsnorm, "RMS-4", "R10", "rmsnorm(M=17,d=128,eps=1e-6,fill=tiny)", "value:out", "eps = 1e-5 whatever is passed")
M(rms_eps_at_least_1e4, rmsnorm, "RMS-4", "R10", "rmsnorm(M=17,d=128,eps=1e-6,fill=tiny)", "value:out", "eps floored at 1e-4")
M(rms_eps_bf16, rmsnorm, "RMS-12", "R10", "rmsnorm(M=17,d=128,eps=1e-6,out=f32,fill=tiny)", "value:out", "eps narrowed to BF16")
M(rms_eps_before_mean, rmsnorm, "RMS-4", "clause", "rmsnorm(M=17,d=128,fill=tiny)", "value:out", "(sum + eps) / d")
M(rms_eps_max, rmsnorm, "RMS-4", "clause", "rmsnorm(M=17,d=128,out=f32,fill=tiny)", "value:out", "max(s, eps) for s + eps")
M(rms_eps_dropped_d1, rmsnorm, "RMS-4", "R13", "rmsnorm(M=17,d=1,fill=tiny)", "value:out", "d = 1 is x / |x|")
M(rms_eps_dropped_zero, rmsnorm, "RMS-12", "R11", "rmsnorm(M=17,d=128,fill=zero-rows)", "value:out", "a zero row is 0 * Inf")
M(rms_s_eps_bf16, rmsnorm, "RMS-4", "R07", "rmsnorm(M=17,d=128,fill=normal)", "value:out", "s + eps rounded to BF16")
M(rms_rstd_bf16, rmsnorm, "RMS-4", "clause", "rmsnorm(M=17,d=128,fill=normal)", "value:out", "rstd rounded to BF16")
M(rms_rstd_12_bits, rmsnorm, "RMS-4", "clause", "rmsnorm(M=17,d=128,out=f32,fill=normal)", "value:out",
  "a 12-bit reciprocal root, never refined")
M(rms_rstd_18_bits, rmsnorm, "RMS-4", "clause", "rmsnorm(M=17,d=128,out=f32,fill=normal)", "value:out", "rstd good to 2^-18")

/* ---- RMS-5, the value ---- */
M(rms_bf16_before_weight, rmsnorm, "RMS-5", "R04", "rmsnorm(M=17,d=128,fill=normal)", "value:out",
  "r * rstd rounded to BF16 before the weight: dialect hf")
M(rms_weight_bf16, rmsnorm, "RMS-5", "clause", "rmsnorm(M=17,d=128,w=f32,fill=normal)", "value:out", "F32 weight read as BF16")
M(rms_weight_plus_one, rmsnorm, "RMS-5", "R06", "rmsnorm(M=17,d=128,fill=normal)", "value:out", "1 + w: dialect gemma")
M(rms_scale_ignored, rmsnorm, "RMS-5", "clause", "rmsnorm(M=17,d=128,scale=0.5,fill=normal)", "value:out", "out_scale ignored")
M(rms_scale_absolute, rmsnorm, "RMS-12", "clause", "rmsnorm(M=17,d=128,scale=-0.5,fill=normal)", "value:out",
  "a negative out_scale taken as positive")
M(rms_scale_after_cast, rmsnorm, "RMS-5", "clause", "rmsnorm(M=17,d=128,out=e4m3,scale=0.3,fill=normal)", "value:sf",
  "out_scale applied to the codes, behind amax")
M(rms_out_truncate, rmsnorm, "RMS-5", "R03", "rmsnorm(M=17,d=128,fill=normal)", "value:out", "BF16 rounds to zero")
M(rms_out_double_round, rmsnorm, "RMS-5", "Q15", "rmsnorm(M=17,d=4096,fill=normal)", "value:out",
  "y through 17 significant bits to BF16")
M(rms_out_flush, rmsnorm, "FMT-1", "T15", "rmsnorm(M=17,d=128,scale=1e-38,fill=normal)", "value:out", "BF16 subnormals flushed")
M(rms_ftz, rmsnorm, "FMT-5", "T18", "rmsnorm(M=17,d=128,res=1,fill=specials)", "value:residual_out",
  "subnormal x flushed: dialect ftz")

/* ---- RMS-6, RMS-7, forms ---- */
M(rms_cast_from_f32, rmsnorm, "RMS-6", "clause", "rmsnorm(M=17,d=128,out=e4m3,bf16=1,fill=normal)", "value:out",
  "amax and codes from y in f32: dialect f32cast")
M(rms_ybf_truncate, rmsnorm, "RMS-6", "R03", "rmsnorm(M=17,d=128,out=e4m3,bf16=1,fill=normal)", "value:bf16",
  "y_bf rounded to zero")
M(rms_round_forgotten, rmsnorm, "SF-0", "Q07", "rmsnorm(M=17,d=128,out=e4m3,sf=row,bf16=1,fill=normal)", "value:sf",
  "the fused kernel forgets round_sf")
M(rms_bf16_unwritten, rmsnorm, "RMS-7", "clause", "rmsnorm(M=17,d=128,out=f32,bf16=1,fill=normal)", "poison",
  "bf16 is not written beside an F32 out")
M(rms_bf16_truncate, rmsnorm, "RMS-7", "R03", "rmsnorm(M=17,d=128,out=f32,bf16=1,fill=normal)", "value:bf16",
  "bf16 is out's upper half")
M(rms_bf16_ties_away, rmsnorm, "FMT-1", "Q17", "rmsnorm(M=17,d=128,out=f32,bf16=1,eps=1.75,fill=ties)", "value:bf16",
  "BF16 of an F32 out, ties away from zero")
M(rms_bf16_unscaled, rmsnorm, "RMS-7", "clause", "rmsnorm(M=17,d=128,out=e4m3,bf16=1,scale=0.3,fill=normal)", "value:bf16",
  "bf16 without out_scale")

/* ---- RMS-8, RMS-9, RMS-11, RMS-12, views and sizes ---- */
M(rms_residual_stride_of_x, rmsnorm, "RMS-8", "R18", "rmsnorm(M=17,d=128,res=1,rs=64,fill=normal)", "value:out",
  "residual stepped by the row stride of x")
M(rms_out_stride_of_x, rmsnorm, "RMS-8", "R18", "rmsnorm(M=17,d=128,os=64,fill=normal)", "keep",
  "out stepped by the row stride of x")
M(rms_batch_flat, rmsnorm, "RMS-8", "R19", "rmsnorm(rank=3,B=2,M=17,d=128,bs=64,fill=normal)", "value:out",
  "rows of all batches stepped by the row stride")
M(rms_offset_24, rmsnorm, "RMS-8", "R20", "rmsnorm(M=5,d=128,xs=4194304,fill=normal)", "value:out",
  "a row offset that wraps (at 2^24, so that the case is small; the bug wrapped at 2^31)")
M(rms_vector_store, rmsnorm, "RMS-8", "R16", "rmsnorm(M=17,d=128,at=2,fill=normal)", "crash", "16-byte stores to any base")
M(rms_base_rounded_down, rmsnorm, "RMS-8", "R16", "rmsnorm(M=17,d=128,at=2,fill=normal)", "value:out",
  "16-byte loads that drop the address's low bits")
M(rms_shared_misaligned, rmsnorm, "RMS-8", "R15", "rmsnorm(M=2,d=3584,fill=normal)", "crash",
  "the buffer behind d/512 partial sums is misaligned")
M(rms_hidden_limit, rmsnorm, "RMS-9", "R27", "rmsnorm(M=2,d=16384,fill=normal)", "poison",
  "d > 8192 does not launch, and nobody looks")
M(rms_no_rows, rmsnorm, "RMS-9", "R26", "rmsnorm(M=0,d=128)", "crash", "M = 0 starts a launch of no blocks")
M(rms_hangs_on_tail, rmsnorm, "RMS-9", "clause", "rmsnorm(M=2,d=100,fill=normal)", "timeout",
  "a loop in steps of 8 until it meets d")
M(rms_nan_swallowed, rmsnorm, "RMS-9", "Q23", "rmsnorm(M=17,d=128,fill=specials)", "value:out", "a NaN does not count in the sum")
M(rms_nan_leaks, rmsnorm, "RMS-9", "R24", "rmsnorm(M=17,d=128,fill=specials)", "value:out",
  "a NaN reaches the rows behind its own")
M(rms_residual_out_nan_row, rmsnorm, "RMS-9", "clause", "rmsnorm(M=17,d=128,res=1,fill=specials)", "value:residual_out",
  "a NaN fills its row of residual_out")
M(rms_zero_unsigned, rmsnorm, "RMS-12", "clause", "rmsnorm(M=17,d=128,fill=zero-rows)", "value:out", "a zero loses its sign")
M(rms_reads_off_residual, rmsnorm, "RMS-11", "clause", "rmsnorm(M=17,d=128,res=0,off=1,fill=normal)", "poison",
  "a residual that is switched off is read")
M(rms_writes_off_residual_out, rmsnorm, "RMS-11", "clause", "rmsnorm(M=17,d=128,res=0,off=1,fill=normal)", "keep",
  "a residual_out that is switched off is written")
M(rms_writes_off_bf16, rmsnorm, "RMS-11", "clause", "rmsnorm(M=17,d=128,out=f32,bf16=0,off=1,fill=normal)", "keep",
  "a bf16 that is switched off is written")
M(rms_writes_off_sf, rmsnorm, "RMS-11", "clause", "rmsnorm(M=17,d=128,out=bf16,off=1,fill=normal)", "keep",
  "sf is written although there is no cast")

/* ---- DET, writes and reads ---- */
M(rms_tail_unwritten, rmsnorm, "DET-3", "clause", "rmsnorm(M=17,d=100,fill=normal)", "poison",
  "the last d % 8 elements are not written")
M(rms_last_row_unwritten, rmsnorm, "DET-3", "clause", "rmsnorm(M=17,d=128,fill=normal)", "poison", "the last row is not written")
M(rms_stray_row_end, rmsnorm, "DET-3", "clause", "rmsnorm(M=17,d=100,fill=normal)", "keep", "whole vectors of 16 for the tail")
M(rms_stray_gap, rmsnorm, "DET-3", "clause", "rmsnorm(M=17,d=128,os=16,fill=normal)", "keep", "one element in the row gap of out")
M(rms_stray_before, rmsnorm, "DET-3", "clause", "rmsnorm(M=17,d=128,fill=normal)", "keep", "one element before the base of out")
M(rms_reads_out, rmsnorm, "DET-3", "T10", "rmsnorm(M=17,d=128,out=f32,fill=normal)", "poison", "0 * out added: stale NaN stays")
M(rms_order_by_run, rmsnorm, "DET-1", "R24", "rmsnorm(M=17,d=4096,out=f32,fill=normal)", "poison",
  "the order of the sum changes from run to run, each within RMS-3")

/* ---- ERR-1, refusals ---- */
M(rms_accepts_all, rmsnorm, "ERR-1", "clause", "rmsnorm(bad=*)", "refusal", "bad arguments are a success that does nothing")
M(rms_accepts_overlap, rmsnorm, "DET-4", "clause", "rmsnorm(bad=*)", "refusal", "outputs that overlap are accepted")
M(rms_accepts_dtype, rmsnorm, "RMS-7", "clause", "rmsnorm(bad=*)", "refusal", "any form and dtype of out is accepted")
M(rms_accepts_stride, rmsnorm, "RMS-8", "R16", "rmsnorm(bad=*)", "refusal", "any stride and shape is accepted")
M(rms_accepts_domain, rmsnorm, "RMS-12", "clause", "rmsnorm(bad=*)", "refusal", "eps = 0 and a NaN out_scale are accepted")
M(rms_accepts_layout, rmsnorm, "SF-0", "Q06", "rmsnorm(bad=*)", "refusal", "packed without round_sf is accepted")
M(rms_refuses_silently, rmsnorm, "ERR-1", "clause", "rmsnorm(bad=*)", "refusal", "no message")
M(rms_writes_then_refuses, rmsnorm, "ERR-1", "clause", "rmsnorm(bad=*)", "refusal", "a byte of out is written before the check")
M(cast_accepts_all, cast, "ERR-1", "clause", "cast(bad=*)", "refusal", "bad arguments are a success that does nothing")
M(cast_accepts_overlap, cast, "DET-4", "clause", "cast(bad=*)", "refusal", "outputs that overlap are accepted")
M(cast_accepts_group, cast, "CAST-10", "clause", "cast(bad=*)", "refusal", "any G, rank and stride is accepted")
M(cast_accepts_layout, cast, "SF-0", "Q06", "cast(bad=*)", "refusal", "packed without round_sf is accepted")
M(cast_accepts_ragged_word, cast, "SF-3", "Q09", "cast(bad=*)", "refusal", "a last word with fewer than four groups is accepted")
M(cast_accepts_few_rows, cast, "SF-4", "clause", "cast(bad=*)", "refusal", "an extra_sf with too few rows is accepted")
M(cast_refuses_vaguely, cast, "ERR-1", "clause", "cast(bad=*)", "refusal", "the message names no argument and no clause")
M(cast_writes_then_refuses, cast, "ERR-1", "clause", "cast(bad=*)", "refusal", "a byte of out is written before the check")

/* ---- on a CUDA device ---- */
MC(cu_rms_tail_unwritten, rmsnorm, "DET-3", "clause", "rmsnorm(M=17,d=100,fill=normal)", "poison",
   "the last d % 8 elements are not written")
MC(cu_rms_stray_gap, rmsnorm, "DET-3", "clause", "rmsnorm(M=17,d=128,os=16,fill=normal)", "keep",
   "one element in the row gap of out")
MC(cu_rms_reads_gap, rmsnorm, "DET-3", "clause", "rmsnorm(M=17,d=100,xs=16,fill=normal)", "poison",
   "the tail's vector is loaded whole, the gap behind the row with it")
MC(cu_rms_no_barrier, rmsnorm, "RMS-3", "R24", "rmsnorm(M=17,d=1024,fill=normal)", "value:out",
   "no barrier between the warps' partial sums and their sum")
MC(cu_rms_sum_drops_last, rmsnorm, "RMS-3", "clause", "rmsnorm(M=17,d=128,out=f32,fill=normal)", "value:out",
   "the last square left out")
MC(cu_rms_eps_outside, rmsnorm, "RMS-4", "R11", "rmsnorm(M=17,d=128,fill=tiny)", "value:out", "1 / (sqrt(s) + eps)")
MC(cu_rms_out_truncate, rmsnorm, "RMS-5", "R03", "rmsnorm(M=17,d=128,fill=normal)", "value:out", "BF16 rounds to zero")
MC(cu_rms_bf16_before_weight, rmsnorm, "RMS-5", "R04", "rmsnorm(M=17,d=128,fill=normal)", "value:out",
   "r * rstd rounded to BF16 before the weight: dialect hf")
MC(cu_rms_offset_24, rmsnorm, "RMS-8", "R20", "rmsnorm(M=5,d=128,xs=4194304,fill=normal)", "value:out",
   "a row offset that wraps (at 2^24, so that the case is small; the bug wrapped at 2^31)")
MC(cu_rms_nan_swallowed, rmsnorm, "RMS-9", "Q23", "rmsnorm(M=17,d=128,fill=specials)", "value:out",
   "a NaN does not count in the sum")
MC(cu_rms_no_rows, rmsnorm, "RMS-9", "R26", "rmsnorm(M=0,d=128)", "crash", "M = 0 is launched, the error taken for fatal")
MC(cu_cast_max_224, cast, "CAST-3", "Q12", "cast(M=17,d=128,fill=normal)", "value:sf", "224 for 448")
MC(cu_cast_exp_floor, cast, "CAST-4", "Q29", "cast(M=17,d=128,fill=normal)", "value:sf", "floor(log2) for ceil(log2)")
MC(cu_cast_swap_rows, cast, "SF-3", "clause", "cast(M=17,d=128,sf=col,fill=mixed)", "value:sf", "rows m and m^1 exchanged")
MC(cu_cast_byte_order, cast, "SF-3", "clause", "cast(M=17,d=128,sf=col,fill=mixed)", "value:sf", "byte 3-j of a word for byte j")
MC(cu_cast_pad_spills, cast, "SF-3", "Q08", "cast(M=17,d=128,sf=col,fill=normal)", "keep", "padding written behind the storage")

NOT_A_MUTANT(R01, "it is the contract: RMS-1 rounds x + residual before anything else; the mirror image, R02, is"
                  " rms_residual_f32")
NOT_A_MUTANT(R09, "sum r^2 >= 2^127 is outside RMS-12's domain: reported, not judged")
NOT_A_MUTANT(Q08, "SF-3 leaves the value of padding rows free; writing outside them is sf3_pad_spills and "
                  "colf_pad_spills")

EQUIVALENT(cast_sf_times_rounded_with_round_sf,
           "amax * fl(1/448) has the byte of fl(amax/448) for every f32 amax at or above the floor (all "
           "1.19e9 are tried)")
EQUIVALENT(cast_exp_log2f_of_bf16, "sf = fl(amax/448) of a BF16 amax is a power of two or at least 2^-8 from one: log2f is exact "
                                   "enough (all are tried)")
EQUIVALENT(rms_out_ties_away, "a y whose v is a BF16 midpoint may lie on either side of it (RMS-3, RMS-4): both neighbours are"
                              " explained; likewise y_bf. Where the f32 is known, rms_bf16_ties_away is none")
EQUIVALENT(rms_out_saturates, "BF16 overflows at 2^128, but where some order of the products may pass 2^127 no element is "
                              "judged")
EQUIVALENT(cast_no_saturation, "amax * 2^-e <= 448 and fl(amax * fl(448/amax)) < 464, so no finite element saturates")
EQUIVALENT(cast_product_subnormal, "x * 2^-e in f32 differs from the real product below 2^-126 only, where the code is a zero of "
                                   "the same sign either way")
EQUIVALENT(cast_f32_nan, "dialect f32-nan: what is scaled stays below 464, and an Inf's group is unspecified (CAST-7)")
EQUIVALENT(cast_ftz, "an f32 subnormal x is below the floor's amax, and its code is a zero of the same sign: e >= -22")

/* On the row's own cases with fill=normal, less than 0.1 % of what the kernel writes is flagged; selftest measures it. */
/* clang-format off */
RARE(cast_no_floor) RARE(cast_floors_scale) RARE(cast_floor_1e10) RARE(cast_floor_strided) RARE(cast_zero_is_one)
RARE(cast_exp_always_up) RARE(cast_exp_log2f) RARE(cast_exp_low_bits) RARE(cast_sign_smear) RARE(cast_code_ties_away)
RARE(cast_code_ties_zero) RARE(cast_subnormal_flush) RARE(cast_subnormal_formula) RARE(cast_underflow_sign)
RARE(cast_inverse_half) RARE(cast_inverse_of_sf) RARE(cast_inverse_two_roundings) RARE(cast_divides)
RARE(cast_product_truncate) RARE(cast_inverse_not_floored) RARE(cast_zero_unsigned) RARE(cast_nan_zero)
RARE(cast_nan_saturates) RARE(cast_nan_leaks) RARE(rms_bf16_ties_away) RARE(rms_out_double_round) RARE(rms_eps_outside)
RARE(rms_eps_fixed) RARE(rms_eps_bf16) RARE(rms_eps_max) RARE(rms_eps_before_mean) RARE(rms_eps_dropped_zero)
RARE(rms_residual_zero_sign) RARE(rms_ftz) RARE(rms_zero_unsigned) RARE(rms_nan_swallowed) RARE(rms_nan_leaks)
RARE(rms_residual_out_nan_row)
/* clang-format on */

/* ---- in files of their own: operators in the order of op_names, then what several have ---- */
#include "table_dialects.h" /* cast, rmsnorm: E2M1 codes, ragged words (SF-6), dialects */
#include "table_rope_table.h"
#include "table_hadamard.h"
#include "table_rope.h"
#include "table_context_cast.h"
#include "table_sf_layout.h"
#include "table_qkv.h"
#include "table_kv_store.h"
#include "table_linear.h"
#include "table_forms.h"       /* refusals in other forms of the call (ERR-1) */
#include "table_offset.h"      /* offsets in 32 bits (R20) */
#include "table_determinism.h" /* found by `layercheck determinism` alone */
#include "table_relations.h"   /* found by `layercheck relations` as well */
#include "table_cuda.h"        /* on a device: E2M1 codes, ragged words, rope_table */

#undef M
#undef MC
#undef AGAIN
#undef NOT_A_MUTANT
#undef EQUIVALENT
#undef RARE
