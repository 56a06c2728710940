/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of table.h, which includes this: mutants on a CUDA device of E2M1 codes, ragged words and rope_table. */

/* ---- FMT-4, CAST of E2M1 ---- */
MC(cu_fp4_ties_away, cast, "FMT-4", "F01", "cast(M=17,d=128,out=e2m1,fill=ties)", "value:out", "E2M1 ties away from zero")
MC(cu_fp4_zero_unsigned, cast, "CAST-9", "clause", "cast(M=17,d=128,out=e2m1,fill=normal)", "value:out",
   "no code 8: dialect deepgemm")
MC(cu_fp4_nibbles_swapped, cast, "FMT-4", "clause", "cast(M=17,d=128,out=e2m1,fill=normal)", "value:out",
   "the even channel in the high nibble")
MC(cu_fp4_ors_stale, cast, "DET-3", "F04", "cast(M=17,d=128,out=e2m1,fill=normal)", "poison",
   "a byte is or-ed together on top of what it held")
MC(cu_fp4_tail_unwritten, cast, "DET-3", "clause", "cast(M=17,d=100,out=e2m1,sf=row,fill=normal)", "poison",
   "the last d % 8 codes are not written")
MC(cu_fp4_max_4, cast, "CAST-3", "Q12", "cast(M=17,d=128,out=e2m1,fill=normal)", "value:sf", "4 for 6")
MC(cu_fp4_floor_1e4, cast, "CAST-2", "Q03", "cast(M=17,d=128,out=e2m1,fill=zero-rows)", "value:sf",
   "amax clamped to 1e-4, E4M3's floor: dialect deepgemm")

/* ---- SF-6 ---- */
MC(cu_ragged_stray_255, cast, "SF-6", "Q08", "cast(M=17,d=160,ragged=pack,fill=normal)", "value:sf",
   "255, a NaN scale, behind the last group of a word")
MC(cu_ragged_clamp, cast, "SF-6", "Q09", "cast(M=17,d=96,sf=rowp,ragged=pack,fill=normal)", "value:sf",
   "groups that are not there get the scale of zero")
MC(cu_ragged_word_half, cast, "SF-6", "Q09", "cast(M=17,d=160,ragged=pack,fill=normal)", "poison",
   "the rest of the last word is not written")
MC(cu_ragged_words_down, cast, "SF-6", "Q10", "cast(rank=3,B=2,M=17,d=160,ragged={pack,free},fill=mixed)", "value:sf",
   "d_s/4 words a row, rounded down")

/* ---- rope_table ---- */
MC(cu_rot_power_exp2f, rope_table, "ROT-1", "P14", "rope_table(d=256)", "value:inv_freq", "exp2f(e * log2f(base))")
MC(cu_rot_inv_freq_unwritten, rope_table, "DET-3", "clause", "rope_table(rows=33)", "poison", "inv_freq is not written")
MC(cu_rot_linear_ignored, rope_table, "ROT-7", "clause", "rope_table(scaling=linear)", "value:inv_freq", "linear: factor ignored")
MC(cu_rot_position_bf16, rope_table, "ROT-2", "P16", "rope_table(rows=700)", "value:table", "positions in BF16: 257 is 256")
MC(cu_rot_angle_f64, rope_table, "ROT-2", "P15", "rope_table(rows=4100)", "value:table", "the angle a double product")
MC(cu_rot_trig_fast, rope_table, "ROT-3", "P14", "rope_table(d=2,rows=4100)", "value:table", "__sincosf")
MC(cu_rot_interleaved, rope_table, "ROT-4", "clause", "rope_table(rows=33)", "value:table",
   "cos, sin, cos, sin .. for [cos | sin]")
MC(cu_rot_bf16_truncate, rope_table, "ROT-6", "clause", "rope_table(table=bf16)", "value:table", "BF16 rounds to zero")
MC(cu_rot_row_short, rope_table, "DET-3", "P18", "rope_table(rows=33)", "poison", "the last position has no row")
MC(cu_rot_row_long, rope_table, "DET-3", "P18", "rope_table(rows=33)", "keep", "a row behind the last one")
MC(cu_rot_ramp_unclamped, rope_table, "YARN-2", "clause", "rope_table(scaling=yarn)", "value:inv_freq", "the ramp not clamped")
MC(cu_rot_mix_fma, rope_table, "YARN-3", "clause", "rope_table(scaling=yarn,d=256)", "value:inv_freq", "the mix contracted")
MC(cu_rot_mscale_ignored, rope_table, "YARN-4", "Y07", "rope_table(scaling=yarn)", "value:table", "mscale ignored")
MC(cu_rot_prune_from_zero, rope_table, "YARN-5", "clause", "rope_table(scaling=yarn,T=64)", "value:inv_freq",
   "the first frequencies kept, not the last")
