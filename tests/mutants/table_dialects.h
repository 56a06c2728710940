/* SPDX-License-Identifier: Apache-2.0 */
/* The mutants of E2M1 codes, of ragged words (SF-6) and of dialects; a part of table.h, which says what the columns are.
 *
 * A dialect is a mutant of the contract, and the contract one of the dialect. The first kind stands in table.h where it has one
 * name for all (cast_floors_scale, cast_inverse_of_sf, rms_bf16_before_weight, rms_residual_f32, rms_weight_plus_one,
 * rms_cast_from_f32) and below (fp4_ties_zero, fp4_zero_unsigned, fp4_floor_1e4: deepgemm); the second is *_dialect_ignored. */

/* ---- FMT-4, E2M1 ---- */
M(fp4_ties_away, cast, "FMT-4", "F01", "cast(M=17,d=128,out=e2m1,fill=ties)", "value:out", "E2M1 ties away from zero")
M(fp4_ties_zero, cast, "CAST-9", "clause", "cast(M=17,d=128,out=e2m1,fill=ties)", "value:out",
  "E2M1 ties toward zero: dialect deepgemm")
M(fp4_zero_unsigned, cast, "CAST-9", "clause", "cast(M=17,d=128,out=e2m1,fill=normal)", "value:out",
  "no code 8: dialect deepgemm")
M(fp4_code_truncate, cast, "FMT-4", "R03", "cast(M=17,d=128,out=e2m1,fill=normal)", "value:out", "E2M1 rounds to zero")
M(fp4_nibbles_swapped, cast, "FMT-4", "clause", "cast(M=17,d=128,out=e2m1,fill=normal)", "value:out",
  "the even channel in the high nibble")
M(fp4_nibble_spacing, cast, "FMT-4", "F04", "cast(M=17,d=128,out=e2m1,fill=normal)", "value:out",
  "a pair's codes 8 bits apart, as E4M3 has them")
M(fp4_ors_stale, cast, "DET-3", "F04", "cast(M=17,d=128,out=e2m1,fill=normal)", "poison",
  "a byte is or-ed together on top of what it held")
M(fp4_tail_unwritten, cast, "DET-3", "clause", "cast(M=17,d=100,out=e2m1,sf=row,fill=normal)", "poison",
  "the last d % 8 codes are not written")
M(fp4_stray_byte, cast, "DET-3", "clause", "cast(M=17,d=128,out=e2m1,fill=normal)", "keep",
  "a byte more than d/2 in the last row")
M(fp4_ftz, cast, "FMT-5", "clause", "cast(M=130,d=128,x=f32,out=e2m1,fill=tiny)", "value:out",
  "an f32 subnormal x flushed: at the lowest scale it has a code")
M(fp4_max_4, cast, "CAST-3", "Q12", "cast(M=17,d=128,out=e2m1,fill=normal)", "value:sf", "4 for 6")
M(fp4_floor_1e4, cast, "CAST-2", "Q03", "cast(M=17,d=128,out=e2m1,fill=zero-rows)", "value:sf",
  "amax clamped to 1e-4, E4M3's floor: dialect deepgemm")
M(fp4_no_floor, cast, "CAST-2", "Q20", "cast(M=17,d=128,out=e2m1,fill=zero-rows)", "value:sf", "amax not clamped from below")
M(fp4_exp_floor, cast, "CAST-4", "F03", "cast(M=17,d=128,out=e2m1,fill=sweep)", "value:sf",
  "floor(log2 amax) - 2: another engine's exponent, amax above 1.5 * 2^k clips")
M(fp4_exp_175, cast, "CAST-4", "F03", "cast(M=17,d=128,out=e2m1,fill=sweep)", "value:sf",
  "the same, one up from 1.75 * 2^k: between 1.5 and 1.75 the largest clips")
M(fp4_accepts_odd, cast, "CAST-10", "clause", "cast(bad=*)", "refusal", "E2M1 with an odd d, or codes of another shape, accepted")
M(fp4_accepts_utccp, cast, "SF-4", "clause", "cast(bad=*)", "refusal", "SF-4 beside E2M1 codes accepted")

/* ---- SF-6 ---- */
M(ragged_stray_255, cast, "SF-6", "Q08", "cast(M=17,d=160,ragged=pack,fill=normal)", "value:sf",
  "255, a NaN scale, behind the last group of a word")
M(ragged_clamp, cast, "SF-6", "Q09", "cast(M=17,d=96,sf=rowp,ragged=pack,fill=normal)", "value:sf",
  "groups that are not there get the scale of zero")
M(ragged_word_half, cast, "SF-6", "Q09", "cast(M=17,d=160,ragged=pack,fill=normal)", "poison",
  "the rest of the last word is not written")
M(ragged_words_down, cast, "SF-6", "Q10", "cast(rank=3,B=2,M=17,d=160,ragged={pack,free},fill=mixed)", "value:sf",
  "d_s/4 words a row, rounded down")
M(ragged_row_pitch, cast, "SF-6", "Q10", "cast(M=17,d=96,sf=rowp,ragged={pack,free},fill=mixed)", "value:sf",
  "rows d_s bytes apart, not a whole number of words")
M(ragged_accepts_f32, cast, "SF-6", "clause", "cast(bad=*)", "refusal", "ragged without packed scales, or of no kind, accepted")
M(rms_ragged_stray_255, rmsnorm, "SF-6", "Q08", "rmsnorm(M=17,d=160,out=e4m3,ragged=pack,fill=normal)", "value:sf",
  "255, a NaN scale, behind the last group of a word")
M(rms_ragged_word_half, rmsnorm, "SF-6", "Q09", "rmsnorm(M=17,d=160,out=e4m3,ragged=pack,fill=normal)", "poison",
  "the rest of the last word is not written")

/* ---- CAST-9, RMS-13, RMS-6: wrong in a dialect ---- */
M(cast_dialect_ignored, cast, "CAST-9", "clause", "cast(M=17,d=128,sf=row,dialect=sf-floor,fill=zero-rows)", "value:sf",
  "the contract's cast judged in sf-floor")
M(dg_usual_factor, cast, "CAST-9", "clause", "cast(M=64,d=4096,sf=row,round=0,dialect=deepgemm,fill=normal)", "value:out",
  "fl(448 / amax) for fl(1 / sf)")
M(dg_ties_even, cast, "CAST-9", "F01", "cast(M=17,d=128,out=e2m1,dialect=deepgemm,fill=ties)", "value:out",
  "E2M1 ties to even, as the contract has them")
M(dg_zero_signed, cast, "CAST-9", "clause", "cast(M=17,d=128,out=e2m1,dialect=deepgemm,fill=normal)", "value:out",
  "code 8 for a zero")
M(dg_floor_2_126, cast, "CAST-9", "Q03", "cast(M=17,d=128,out=e2m1,dialect=deepgemm,fill=zero-rows)", "value:sf",
  "6 * 2^-126 for 1e-4")
M(sff_no_floor, cast, "CAST-9", "Q04", "cast(M=17,d=128,dialect=sf-floor,fill=tiny)", "value:sf", "the scale has no floor")
M(rms_dialect_ignored, rmsnorm, "RMS-13", "R04", "rmsnorm(M=17,d=128,dialect={hf,gemma},fill=normal)", "value:out",
  "the contract's norm judged in hf, in gemma")
M(hf_weight_first, rmsnorm, "RMS-13", "R04", "rmsnorm(M=17,d=128,dialect=hf,fill=normal)", "value:out",
  "r * w rounded to BF16, then rstd")
M(hf_truncates, rmsnorm, "RMS-13", "R03", "rmsnorm(M=17,d=128,dialect=hf,fill=normal)", "value:out", "r * rstd rounded to zero")
M(hf_ties_away, rmsnorm, "RMS-13", "Q17", "rmsnorm(M=17,d=128,dialect=hf,eps=1.75,fill=ties)", "value:out",
  "BF16 ties away from zero: behind an internal rounding y is known, and a tie is judged")
M(f32res_rounded, rmsnorm, "RMS-13", "R01", "rmsnorm(M=17,d=128,res=1,out=f32,dialect=f32res,fill=normal)", "value:out",
  "x + residual rounded to BF16 before it is normed, as RMS-1 has it")
M(f32res_stores_cut, rmsnorm, "RMS-13", "R03", "rmsnorm(M=17,d=128,res=1,dialect=f32res,fill=normal)", "value:residual_out",
  "residual_out is the sum's upper half")
M(gemma_bf16, rmsnorm, "RMS-13", "R06", "rmsnorm(M=17,d=128,dialect=gemma,fill=normal)", "value:out", "1 + w formed in BF16")
M(f32cast_rounded, rmsnorm, "RMS-6", "clause", "rmsnorm(M=17,d=1000,out=e4m3,sf=row,dialect=f32cast,fill=normal)", "value:out",
  "the cast reads RN_bf16(y), as RMS-6 has it")

NOT_A_MUTANT(F06, "an attention cache's reader and writer disagree: no operator here has the two")
NOT_A_MUTANT(F08, "an unsupported device answers LC_UNSUPPORTED, which is no pass, and an output of zeros is cast_tail_unwritten"
                  " writ large")
