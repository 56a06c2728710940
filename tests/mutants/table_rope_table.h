/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of `rope_table`: a part of table.h, which includes it. */

/* ---- ROT-1, ROT-7: frequencies ---- */
M(rot_inv_freq_bf16, rope_table, "ROT-1", "P16", "rope_table(rows=33)", "value:inv_freq", "inv_freq kept in BF16")
M(rot_inv_freq_bf16_inside, rope_table, "ROT-2", "P16", "rope_table(rows=33)", "value:table",
  "the right inv_freq is returned, the table made with its BF16")
M(rot_inv_freq_other, rope_table, "ROT-1", "clause", "rope_table(rows=700)", "value:table",
  "the table made with another legal inv_freq than the returned one")
M(rot_inv_freq_unwritten, rope_table, "DET-3", "clause", "rope_table(rows=33)", "poison", "inv_freq is not written")
M(rot_column_mixed, rope_table, "ROT-1", "clause", "rope_table(rows=4100,inv=0)", "value:table",
  "two legal inv_freq in one column: even positions one, odd the other")
M(rot_column_between, rope_table, "ROT-1", "clause", "rope_table(rows=4100,inv=0)", "value:table",
  "an inv_freq 5 ulps off, and not returned")
M(rot_base_bf16, rope_table, "ROT-1", "P16", "rope_table(base=150000)", "value:inv_freq", "base narrowed to BF16")
M(rot_base_integer, rope_table, "ROT-1", "clause", "rope_table(base=1.5)", "value:inv_freq", "base taken for an integer")
M(rot_exponent_f64, rope_table, "ROT-1", "clause", "rope_table(d=200,base=1000003)", "value:inv_freq",
  "2i / rotary_dim not rounded to f32")
M(rot_power_exp2f, rope_table, "ROT-1", "P14", "rope_table(d=256)", "value:inv_freq", "exp2f(e * log2f(base))")
M(rot_inverse_power, rope_table, "ROT-1", "clause", "rope_table(d=256)", "value:inv_freq", "base^-e, without the division")
M(rot_division_ulp, rope_table, "ROT-1", "clause", "rope_table(d=256)", "value:inv_freq", "the division one ulp off")
M(rot_linear_ignored, rope_table, "ROT-7", "clause", "rope_table(scaling=linear)", "value:inv_freq", "linear: factor ignored")
M(rot_linear_positions, rope_table, "ROT-7", "clause", "rope_table(scaling=linear,s=3.3,rows=700,inv=0)", "value:table",
  "linear: positions divided, not frequencies")
M(rot_ntk_exponent, rope_table, "ROT-7", "clause", "rope_table(scaling=ntk)", "value:inv_freq", "ntk: base * s")
M(rot_ntk_ignored, rope_table, "ROT-7", "clause", "rope_table(scaling=ntk)", "value:inv_freq", "ntk: factor ignored")

/* ---- ROT-2..4, ROT-6: the table ---- */
M(rot_position_bf16, rope_table, "ROT-2", "P16", "rope_table(rows=700)", "value:table", "positions in BF16: 257 is 256")
M(rot_position_one, rope_table, "ROT-4", "clause", "rope_table(rows=33)", "value:table", "positions from 1")
M(rot_angle_f64, rope_table, "ROT-2", "P15", "rope_table(rows=4100)", "value:table", "the angle a double product")
M(rot_trig_fast, rope_table, "ROT-3", "P14", "rope_table(d=2,rows=4100)", "value:table", "reduced modulo 2 pi in f32")
M(rot_trig_degraded, rope_table, "ROT-3", "P14", "rope_table(rows=700)", "value:table", "sine and cosine of 21 bits")
M(rot_sin_sign, rope_table, "ROT-3", "clause", "rope_table(rows=33)", "value:table", "the inverse rotation's table")
M(rot_table_bf16, rope_table, "ROT-4", "P17", "rope_table(rows=33)", "value:table", "an F32 table with BF16 values")
M(rot_bf16_truncate, rope_table, "ROT-6", "clause", "rope_table(table=bf16)", "value:table", "BF16 rounds to zero")
M(rot_interleaved, rope_table, "ROT-4", "clause", "rope_table(rows=33)", "value:table", "cos, sin, cos, sin .. for [cos | sin]")
M(rot_sin_first, rope_table, "ROT-4", "clause", "rope_table(rows=33)", "value:table", "[sin | cos]")
M(rot_halves_apart, rope_table, "ROT-4", "clause", "rope_table(rows=33)", "value:table", "all cosines, then all sines")
M(rot_row_short, rope_table, "DET-3", "P18", "rope_table(rows=33)", "poison", "the last position has no row")
M(rot_row_long, rope_table, "DET-3", "P18", "rope_table(rows=33)", "keep", "a row behind the last one")
M(rot_reads_table, rope_table, "DET-3", "clause", "rope_table(rows=33)", "poison", "0 times what was there is added")

/* ---- YARN-1..3 ---- */
M(rot_beta_exchanged, rope_table, "YARN-1", "Y02", "rope_table(scaling=yarn)", "value:inv_freq",
  "beta_fast and beta_slow exchanged")
M(rot_truncate_always, rope_table, "YARN-1", "Y01", "rope_table(scaling=yarn,base=150000,s=32,trunc=0)", "value:inv_freq",
  "low and high rounded though truncate = false")
M(rot_truncate_never, rope_table, "YARN-1", "Y01", "rope_table(scaling=yarn)", "value:inv_freq", "low and high not rounded")
M(rot_floor_ceil_swapped, rope_table, "YARN-1", "Y01", "rope_table(scaling=yarn)", "value:inv_freq",
  "ceil for low, floor for high")
M(rot_low_unclamped, rope_table, "YARN-1", "clause", "rope_table(scaling=yarn,orig=100)", "value:inv_freq", "low below 0")
M(rot_high_unclamped, rope_table, "YARN-1", "clause", "rope_table(scaling=yarn,base=1.5)", "value:inv_freq",
  "high above rotary_dim - 1")
M(rot_high_half, rope_table, "YARN-1", "clause", "rope_table(scaling=yarn,base=200)", "value:inv_freq",
  "high clamped to rotary_dim/2 - 1")
M(rot_order_repaired, rope_table, "YARN-1", "clause", "rope_table(scaling=yarn,fast=1,slow=32)", "value:inv_freq",
  "low > high repaired")
M(rot_equal_unsplit, rope_table, "YARN-1", "clause", "rope_table(scaling=yarn,orig=6)", "value:inv_freq",
  "low = high left alone: 0 / 0")
M(rot_span_f32, rope_table, "YARN-2", "clause", "rope_table(scaling=yarn,d=256,trunc=0)", "value:inv_freq",
  "fl(high) - fl(low) for fl(high - low)")
M(rot_ramp_unclamped, rope_table, "YARN-2", "clause", "rope_table(scaling=yarn)", "value:inv_freq", "the ramp not clamped")
M(rot_ramp_inverted, rope_table, "YARN-2", "Y02", "rope_table(scaling=yarn)", "value:inv_freq", "the ramp for 1 - ramp")
M(rot_lambda_clamped, rope_table, "YARN-2", "clause", "rope_table(scaling=yarn,ext=1.5)", "value:inv_freq",
  "lambda above 1 clamped")
M(rot_ext_ignored, rope_table, "YARN-2", "clause", "rope_table(scaling=yarn,ext=1.5)", "value:inv_freq",
  "extrapolation_factor ignored")
M(rot_bands_missing, rope_table, "YARN-3", "Y09", "rope_table(scaling=yarn)", "value:inv_freq", "every frequency interpolated")
M(rot_scaled_twice_rounded, rope_table, "YARN-3", "clause", "rope_table(scaling=yarn,d=256,s=3.3)", "value:inv_freq",
  "fl(E / factor) for fl(1 / fl(factor p))")
M(rot_mix_fma, rope_table, "YARN-3", "clause", "rope_table(scaling=yarn,d=256)", "value:inv_freq", "the mix contracted")
M(rot_mix_lerp, rope_table, "YARN-3", "clause", "rope_table(scaling=yarn,d=256)", "value:inv_freq", "I + (E - I) lambda")

/* ---- YARN-4 ---- */
M(rot_mscale_ignored, rope_table, "YARN-4", "Y07", "rope_table(scaling=yarn)", "value:table", "mscale ignored")
M(rot_mscale_twice, rope_table, "YARN-4", "Y06", "rope_table(scaling=yarn)", "value:table", "mscale applied twice")
M(rot_mscale_on_angle, rope_table, "YARN-4", "clause", "rope_table(scaling=yarn)", "value:table", "mscale on the angle")
M(rot_mscale_all_dim_only, rope_table, "YARN-4", "Y05", "rope_table(scaling=yarn,m=0.707,mall=0.707)", "value:table",
  "mscale_all_dim alone: no ratio")
M(rot_mscale_no_ratio, rope_table, "YARN-4", "Y04", "rope_table(scaling=yarn,mall=1)", "value:table",
  "0.1 ln(factor) + 1 whatever the fields say")
M(rot_mscale_log10, rope_table, "YARN-4", "Y06", "rope_table(scaling=yarn)", "value:table", "log10 for ln")
M(rot_mscale_unguarded, rope_table, "YARN-4", "clause", "rope_table(scaling=yarn,s=0.75)", "value:table",
  "a factor below 1 has its logarithm too")
M(rot_attn_ignored, rope_table, "YARN-4", "clause", "rope_table(scaling=yarn,attn=0.5)", "value:table", "attn_factor ignored")

/* ---- YARN-5 ---- */
M(rot_prune_from_zero, rope_table, "YARN-5", "clause", "rope_table(scaling=yarn,T=64)", "value:inv_freq",
  "the first frequencies kept, not the last")
M(rot_prune_early, rope_table, "YARN-5", "clause", "rope_table(scaling=yarn,T=64)", "value:inv_freq", "one pair early")
M(rot_prune_sampled_first, rope_table, "YARN-5", "clause", "rope_table(scaling=yarn,T=64,every=5)", "value:inv_freq",
  "sampled from pair 0, then cut")
M(rot_prune_not_sampled, rope_table, "YARN-5", "clause", "rope_table(scaling=yarn,every=2)", "value:inv_freq",
  "neighbours, not every second one")
M(rot_width_rotary, rope_table, "ROT-4", "clause", "rope_table(rows=2,scaling=yarn,every=2)", "keep",
  "rows rotary_dim apart where the table is narrower")

/* ---- YARN-6, what is not listed ---- */
M(rot_default_beta_fast, rope_table, "YARN-6", "clause", "rope_table(scaling=yarn,listed=0)", "value:inv_freq",
  "beta_fast is 16 when not listed")
M(rot_default_beta_slow, rope_table, "YARN-6", "clause", "rope_table(scaling=yarn,listed=0)", "value:inv_freq",
  "beta_slow is 2 when not listed")
M(rot_default_ext, rope_table, "YARN-6", "clause", "rope_table(scaling=yarn,listed=0)", "value:inv_freq",
  "extrapolation_factor is 0 when not listed")
M(rot_default_mscale, rope_table, "YARN-6", "clause", "rope_table(scaling=yarn,listed=0)", "value:table",
  "mscale is 0 when not listed")
M(rot_default_all_dim, rope_table, "YARN-6", "clause", "rope_table(scaling=yarn,listed=0)", "value:table",
  "mscale_all_dim is 1 when not listed")

/* ---- ERR-1 ---- */
M(rot_accepts_all, rope_table, "ERR-1", "clause", "rope_table(bad=*)", "refusal", "nothing is refused")
M(rot_accepts_increase, rope_table, "YARN-5", "clause", "rope_table(bad=increases)", "refusal",
  "pruning of frequencies that increase")
M(rot_accepts_empty_prune, rope_table, "YARN-5", "clause", "rope_table(bad=threshold-large)", "refusal",
  "a threshold that leaves nothing")
M(rot_accepts_width, rope_table, "ROT-4", "clause", "rope_table(bad=table-width)", "refusal", "a table of another width")
M(rot_writes_then_refuses, rope_table, "ERR-1", "clause", "rope_table(bad=*)", "refusal", "a byte written before the check")
M(rot_refuses_vaguely, rope_table, "ERR-1", "clause", "rope_table(bad=*)", "refusal", "the message names nothing")
