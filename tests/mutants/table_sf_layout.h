/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of `sf_layout`: a part of table.h, which includes it. */

/* ---- SF-0..SF-3, layouts ---- */
M(sfl_to_col_ignored, sf_layout, "SF-0", "clause", "sf_layout(M=17,ds=8,fill=mixed)", "value:sf_out",
  "rows where columns are asked")
M(sfl_group_major, sf_layout, "SF-1", "clause", "sf_layout(M=17,ds=8,from=col,to=row,fill=mixed)", "value:sf_out",
  "(B, d_s, M) for (B, M, d_s)")
M(sfl_swap_rows, sf_layout, "SF-3", "T25", "sf_layout(M=17,ds=8,fill=mixed)", "value:sf_out",
  "rows m and m^1 exchanged: only unequal scales show it")
M(sfl_swap_groups, sf_layout, "SF-3", "T25", "sf_layout(M=17,ds=8,fill=mixed)", "value:sf_out", "groups g and g^1 exchanged")
M(sfl_byte_order, sf_layout, "SF-3", "clause", "sf_layout(M=17,ds=8,fill=mixed)", "value:sf_out", "byte 3-j of a word for byte j")
M(sfl_rowp_byte_order, sf_layout, "SF-2", "clause", "sf_layout(M=17,ds=8,to=rowp,fill=mixed)", "value:sf_out",
  "byte 3-j of a word for byte j")
M(sfl_in_pitch_16, sf_layout, "SF-2", "Q10", "sf_layout(M=17,ds=8,from=rowp,fill=mixed)", "value:sf_out",
  "rows of packed sf_in taken as padded to 16 bytes")
M(sfl_m_not_padded, sf_layout, "SF-3", "Q10", "sf_layout(M=17,ds=8,fill=mixed)", "value:sf_out", "columns M long, not m_pad")
M(sfl_colf_m_not_padded, sf_layout, "SF-3", "Q10", "sf_layout(M=17,ds=8,to=colf,fill=mixed)", "value:sf_out",
  "columns of f32 M long, not m_pad")
M(sfl_in_m_not_padded, sf_layout, "SF-3", "Q10", "sf_layout(M=17,ds=8,from=col,to=row,fill=mixed)", "value:sf_out",
  "columns of sf_in taken as M long")
M(sfl_size_1_pitch, sf_layout, "SF-3", "clause", "sf_layout(M=1,ds=8,fill=mixed)", "value:sf_out", "m_pad = 1 where M = 1")
M(sfl_batch_flat, sf_layout, "SF-3", "R19", "sf_layout(rank=3,B=2,M=17,ds=8,fill=mixed)", "value:sf_out",
  "one column for the rows of all batches")
M(sfl_pad_spills, sf_layout, "SF-3", "Q08", "sf_layout(M=17,ds=8,fill=normal)", "keep", "padding written behind the storage")
M(sfl_no_rows, sf_layout, "SF-3", "R26", "sf_layout(M=0,ds=8)", "crash", "M = 0 starts a launch of no blocks")

M(sfl_512_groups, sf_layout, "SF-1", "clause", "sf_layout(M=5,ds=1000,fill=mixed)", "poison", "512 groups of a row at most")
M(sfl_8_batches, sf_layout, "SF-1", "clause", "sf_layout(rank=3,B=9,M=5,ds=8,fill=mixed)", "poison", "eight batches at most")

/* ---- SF-4 ---- */
M(sfl_utccp_identity, sf_layout, "SF-4", "clause", "sf_layout(M=64,ds=4,to=utccp,bt=64,fill=mixed)", "value:sf_out", "P(i) = i")
M(sfl_utccp_in_identity, sf_layout, "SF-4", "clause", "sf_layout(M=64,ds=4,from=utccp,bf=64,fill=mixed)", "value:sf_out",
  "P(i) = i where sf_in is read")
M(sfl_utccp_inverse, sf_layout, "SF-4", "clause", "sf_layout(M=64,ds=4,to=utccp,bt=64,fill=mixed)", "value:sf_out",
  "the inverse of P")
M(sfl_utccp_block_not_aligned, sf_layout, "SF-4", "clause", "sf_layout(M=128,ds=4,to=utccp,bt=64,fill=mixed)", "value:sf_out",
  "blocks block_m long, not align128(block_m)")
M(sfl_utccp_one_block, sf_layout, "SF-4", "clause", "sf_layout(M=64,ds=4,to=utccp,bt=32,fill=mixed)", "value:sf_out",
  "block_m taken for 128")
M(sfl_utccp_word_order, sf_layout, "SF-4", "clause", "sf_layout(M=64,ds=8,to=utccp,fill=mixed)", "value:sf_out",
  "words of a row from the last")
M(sfl_utccp_fills_rest, sf_layout, "SF-4", "clause", "sf_layout(M=17,ds=8,to=utccp,fill=normal)", "keep",
  "words that no row maps to are cleared")

M(sfl_utccp_two_of_128, sf_layout, "SF-4", "clause", "sf_layout(M={384,500},ds=8,to=utccp,bt=384,fill=mixed)", "value:sf_out",
  "the third 128 rows of a block go where the second went")

/* ---- SF-5, weights ---- */
M(sfl_weight_block_8_bits, sf_layout, "SF-5", "clause", "sf_layout(M=10000,ds=4,from=weight,fill=mixed)", "value:sf_out",
  "the number of a block in 8 bits")
M(sfl_weight_block_16, sf_layout, "SF-5", "clause", "sf_layout(M=64,ds=8,from=weight,fill=mixed)", "value:sf_out",
  "16 rows a block for 32")
M(sfl_weight_block_128, sf_layout, "SF-5", "clause", "sf_layout(M=64,ds=8,from=weight,fill=mixed)", "value:sf_out",
  "128 rows a block for 32")
M(sfl_weight_whole_blocks, sf_layout, "SF-5", "clause", "sf_layout(M=50,ds=8,from=weight,fill=mixed)", "value:sf_out",
  "floor(N/32) blocks: the rows behind take the last of those")
M(sfl_weight_transposed, sf_layout, "SF-5", "T25", "sf_layout(M=64,ds=8,from=weight,fill=mixed)", "value:sf_out",
  "block (k, n) for block (n, k)")
M(sfl_weight_k_tail, sf_layout, "SF-5", "G01", "sf_layout(M=40,ds=5,from=weight,ragged=pack,fill=mixed)", "poison",
  "the blocks behind the last whole word are not written")

/* ---- SF-5, ERR-2, values ---- */
M(sfl_truncates, sf_layout, "SF-5", "Q06", "sf_layout(bad={value-mantissa,value-last-bit,weight-mantissa})", "refusal",
  "mantissa bits are cut off")
M(sfl_rounds_up, sf_layout, "SF-5", "Q06", "sf_layout(bad={value-mantissa,value-last-bit,weight-mantissa})", "refusal",
  "mantissa bits round the exponent up")
M(sfl_low_bits_free, sf_layout, "SF-5", "Q06", "sf_layout(bad=value-last-bit)", "refusal",
  "the low 8 mantissa bits are not looked at")
M(sfl_lets_zero, sf_layout, "SF-5", "clause", "sf_layout(bad={value-0,value-minus-0,weight-0})", "refusal", "0 is let through")
M(sfl_lets_subnormal, sf_layout, "SF-5", "clause", "sf_layout(bad={value-subnormal,value-below-normal})", "refusal",
  "subnormals are let through, as byte 0")
M(sfl_lets_inf, sf_layout, "SF-5", "clause", "sf_layout(bad={value-inf,weight-inf})", "refusal",
  "Inf is let through, as byte 255")
M(sfl_lets_nan, sf_layout, "SF-5", "clause", "sf_layout(bad=value-nan)", "refusal", "NaN is let through, as byte 255")
M(sfl_lets_negative, sf_layout, "SF-5", "clause", "sf_layout(bad=value-minus-1)", "refusal", "the sign is not looked at")
M(sfl_refuses_largest, sf_layout, "SF-5", "clause", "sf_layout(M=17,ds=8,fill=edges)", "status", "2^127 is refused")
M(sfl_first_row_only, sf_layout, "ERR-2", "clause", "sf_layout(bad=value-two)", "refusal", "only the first row is looked at")
M(sfl_weight_unchecked, sf_layout, "ERR-2", "Q06", "sf_layout(bad={weight-0,weight-inf,weight-mantissa})", "refusal",
  "values of weights are not looked at at load")
M(sfl_checks_rows, sf_layout, "SF-5", "clause", "sf_layout(M=33,ds=12,from=colf,bad={any-mantissa,any-0})", "refusal",
  "values are looked at in rows of f32, not in columns")
M(sfl_checks_to_columns, sf_layout, "SF-5", "clause", "sf_layout(M=33,ds=12,to=rowp,bad={any-mantissa,any-nan})", "refusal",
  "values are looked at on the way to columns, not to rows")
M(sfl_utccp_unchecked, sf_layout, "SF-5", "clause", "sf_layout(M=33,ds=12,to=utccp,bad={any-mantissa,any-inf})", "refusal",
  "values on their way to utccp are not looked at")
M(sfl_ragged_unchecked, sf_layout, "SF-5", "clause", "sf_layout(M=3,ds=5,from=row,ragged=pack,bad=any-mantissa,spot=last)",
  "refusal", "values of ragged words are not looked at")
M(sfl_large_unchecked, sf_layout, "SF-5", "clause", "sf_layout(M=33,ds=12,bad={any-mantissa,any-minus})", "refusal",
  "values are looked at where there are no more than 64")
M(sfl_first_block_only, sf_layout, "SF-5", "clause", "sf_layout(M=33,ds=12,from=weight,bad=any-mantissa,spot=last)", "refusal",
  "of a weight the first row of blocks is looked at")
M(sfl_first_batch_only, sf_layout, "SF-5", "clause", "sf_layout(rank=3,B=3,M=5,ds=8,bad=any-mantissa,spot=last)", "refusal",
  "the first batch is looked at")
M(sfl_8_groups_only, sf_layout, "SF-5", "clause", "sf_layout(M=33,ds=12,bad=any-mantissa,spot=last)", "refusal",
  "the first eight groups of a row are looked at")
M(sfl_row_by_row, sf_layout, "ERR-2", "clause", "sf_layout(bad=value-two)", "refusal",
  "rows before the refused value are written")
M(sfl_checks_padding, sf_layout, "DET-3", "clause", "sf_layout(M=17,ds=8,from=colf,fill=normal)", "status",
  "padding rows of sf_in are looked at too")
M(sfl_error_unwritten, sf_layout, "SF-5", "clause", "sf_layout(M=17,ds=8,fill=normal)", "poison", "error is not written")
M(sfl_error_needs_rows, sf_layout, "SF-5", "clause", "sf_layout(M=0,ds=8)", "poison", "error is not written where M = 0")
M(sfl_error_1, sf_layout, "SF-5", "clause", "sf_layout(M=17,ds=8,fill=normal)", "value:error", "error = 1 though all is accepted")

/* ---- SF-6 ---- */
M(sfl_ragged_word_half, sf_layout, "SF-6", "Q09", "sf_layout(M=17,ds=5,ragged=pack,fill=normal)", "poison",
  "the rest of the last word is not written")
M(sfl_ragged_copies_rest, sf_layout, "SF-6", "Q09", "sf_layout(M=17,ds=5,from=rowp,ragged=pack,fill=normal)", "poison",
  "the rest of the last word is copied from sf_in, where nobody wrote it")
M(sfl_ragged_255, sf_layout, "SF-6", "clause", "sf_layout(M=17,ds=5,ragged=pack,fill=normal)", "value:sf_out",
  "a stray 255, a NaN scale")
M(sfl_ragged_words_down, sf_layout, "SF-6", "clause", "sf_layout(M=17,ds=5,to=rowp,ragged=pack,fill=mixed)", "value:sf_out",
  "floor(d_s/4) words a row")

/* ---- FMT-3, FMT-5, FMT-6 ---- */
M(sfl_byte_bias, sf_layout, "FMT-3", "clause", "sf_layout(M=17,ds=8,fill=normal)", "value:sf_out", "bias 126")
M(sfl_byte_0_is_zero, sf_layout, "FMT-3", "Q19", "sf_layout(M=40,ds=8,from=col,to=row,fill=sweep)", "value:sf_out",
  "byte 0 shifted into place: 0 for 2^-127")
M(sfl_byte_255_is_inf, sf_layout, "FMT-3", "Q19", "sf_layout(M=40,ds=8,from=col,to=row,fill=sweep)", "value:sf_out",
  "byte 255 shifted into place: Inf for NaN")
M(sfl_ftz, sf_layout, "FMT-5", "clause", "sf_layout(M=17,ds=8,from=row,to=colf,fill=specials)", "value:sf_out",
  "copies flush subnormals")
M(sfl_copy_unsigned, sf_layout, "FMT-6", "clause", "sf_layout(M=17,ds=8,from=row,to=colf,fill=specials)", "value:sf_out",
  "a copy of -0 is +0")

/* ---- DET, writes and reads ---- */
M(sfl_last_row_unwritten, sf_layout, "DET-3", "clause", "sf_layout(M=17,ds=8,fill=normal)", "poison",
  "the last row is not written")
M(sfl_last_group_unwritten, sf_layout, "DET-3", "Q09", "sf_layout(M=17,ds=8,fill=normal)", "poison",
  "the last byte of the last word is not written")
M(sfl_ors_stale, sf_layout, "DET-3", "Q09", "sf_layout(M=17,ds=8,fill=normal)", "poison", "bytes or-ed into what the word held")
M(sfl_stray_before, sf_layout, "DET-3", "clause", "sf_layout(M=17,ds=8,fill=normal)", "keep", "a byte before the base of sf_out")
M(sfl_writes_in, sf_layout, "DET-3", "T08", "sf_layout(M=17,ds=8,from=col,to=row,fill=normal)", "keep", "sf_in is changed")
M(sfl_order_by_run, sf_layout, "DET-1", "clause", "sf_layout(M=17,ds=8,fill=mixed)", "poison", "every second run exchanges rows")

/* ---- ERR-1, refusals ---- */
M(sfl_accepts_all, sf_layout, "ERR-1", "clause", "sf_layout(bad=*)", "refusal", "bad arguments are a success that does nothing")
M(sfl_accepts_switches, sf_layout, "SF-0", "clause", "sf_layout(bad={to-col-2,to-packed-2})", "refusal", "a switch of 2")
M(sfl_accepts_rows, sf_layout, "SF-1", "clause", "sf_layout(bad={in-rows,in-cols,in-dtype,in-stride})", "refusal",
  "sf_in of any shape, stride and dtype")
M(sfl_accepts_part_words, sf_layout, "SF-2", "clause", "sf_layout(bad=groups-6-rowp)", "refusal",
  "six groups packed in rows, not ragged")
M(sfl_accepts_columns, sf_layout, "SF-3", "clause", "sf_layout(bad={out-pad,out-row,out-base,groups-6})", "refusal",
  "columns of any pitch, base and number of groups")
M(sfl_accepts_utccp, sf_layout, "SF-4", "clause", "sf_layout(bad={utccp-few,utccp-stride,utccp-shape,block-rows})", "refusal",
  "utccp of any shape")
M(sfl_accepts_weight, sf_layout, "SF-5", "clause", "sf_layout(bad={weight-col,weight-packed,weight-to-row,weight-to-f32})",
  "refusal", "weight scales in and into any layout")
M(sfl_error_optional, sf_layout, "SF-5", "clause", "sf_layout(bad={error-absent,error-two})", "refusal", "error may be absent")
M(sfl_accepts_ragged, sf_layout, "SF-6", "clause", "sf_layout(bad={ragged-2,ragged-f32})", "refusal", "ragged f32 scales")
M(sfl_accepts_overlap, sf_layout, "DET-4", "clause", "sf_layout(bad={out-alias,out-before-end,error-alias})", "refusal",
  "outputs share bytes with sf_in")
M(sfl_refuses_vaguely, sf_layout, "ERR-1", "clause", "sf_layout(bad=*)", "refusal", "the message names no argument and no value")
M(sfl_writes_then_refuses, sf_layout, "ERR-1", "clause", "sf_layout(bad=groups-6)", "refusal",
  "a byte of sf_out is written before the check")

/* ---- on a CUDA device ---- */
MC(cu_sfl_swap_rows, sf_layout, "SF-3", "T25", "sf_layout(M=17,ds=8,fill=mixed)", "value:sf_out", "rows m and m^1 exchanged")
MC(cu_sfl_byte_order, sf_layout, "SF-3", "clause", "sf_layout(M=17,ds=8,fill=mixed)", "value:sf_out",
   "byte 3-j of a word for byte j")
MC(cu_sfl_weight_block_16, sf_layout, "SF-5", "clause", "sf_layout(M=64,ds=8,from=weight,fill=mixed)", "value:sf_out",
   "16 rows a block for 32")
MC(cu_sfl_unchecked, sf_layout, "SF-5", "Q06", "sf_layout(bad={value-mantissa,weight-0})", "refusal",
   "values are not looked at: error stays 0")
MC(cu_sfl_no_wait, sf_layout, "ERR-2", "clause", "sf_layout(bad={value-two,weight-mantissa})", "refusal",
   "sf_out is written, then error is set")
MC(cu_sfl_any_error, sf_layout, "SF-5", "clause", "sf_layout(bad=value-two)", "refusal",
   "error names whichever refused value came last")
MC(cu_sfl_pad_spills, sf_layout, "SF-3", "Q08", "sf_layout(M=17,ds=8,fill=normal)", "keep", "padding written behind the storage")

/* As RARE of table.h. */
RARE(sfl_refuses_largest)
RARE(sfl_byte_0_is_zero)
RARE(sfl_byte_255_is_inf)
RARE(sfl_ftz)
RARE(sfl_copy_unsigned)
