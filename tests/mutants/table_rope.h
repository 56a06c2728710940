/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of `rope`: a part of table.h, which includes it. */

/* ---- APPLY-1, the rotation ---- */
M(rope_neox_only, rope, "APPLY-1", "clause", "rope(M=17,d=128,inter=1)", "value:query_out", "interleaved is not looked at")
M(rope_interleaved_only, rope, "APPLY-1", "clause", "rope(M=17,d=128)", "value:query_out",
  "neox pairs taken for interleaved ones")
M(rope_table_interleaved, rope, "APPLY-1", "clause", "rope(M=17,d=128,inter={0,1})", "value:query_out",
  "the table read as cosine, sine, cosine, ..")
M(rope_cos_sin_swapped, rope, "APPLY-1", "clause", "rope(M=17,d=128)", "value:query_out", "[sin | cos]")
M(rope_sign_once, rope, "APPLY-1", "clause", "rope(M=17,d=128)", "value:query_out", "(a c + b s, b c + a s): no rotation")
M(rope_uses_rotated, rope, "APPLY-1", "clause", "rope(M=17,d=128)", "value:query_out",
  "b c + a' s of the a' that was just stored")
M(rope_halves_swapped, rope, "APPLY-1", "clause", "rope(M=17,d=128)", "value:query_out", "the two results exchanged")
M(rope_last_pair_missing, rope, "APPLY-1", "clause", "rope(M=17,d=128)", "value:query_out", "the last pair is not rotated")
M(rope_tile_of_128, rope, "APPLY-1", "P25", "rope(M=17,d=192,rot=192)", "value:query_out",
  "heads of 192: partners behind the first tile are wrong, and lengths change")
M(rope_products_bf16, rope, "APPLY-1", "clause", "rope(M=17,d=128)", "value:query_out",
  "products rounded to BF16 (dialect bf16rot)")
M(rope_products_tf32, rope, "APPLY-1", "clause", "rope(M=17,d=128)", "value:query_out", "factors cut to 11 bits")
M(rope_out_truncate, rope, "FMT-1", "R03", "rope(M=17,d=128)", "value:query_out", "BF16 rounds to zero")
M(rope_ftz, rope, "FMT-5", "clause", "rope(M=33,d=128,fill=tiny)", "value:query_out", "f32 subnormals are zeros")
M(rope_positive_zero, rope, "FMT-6", "clause", "rope(M=17,d=128,fill=zero)", "value:query_out", "a zero loses its sign")

/* ---- APPLY-1, ROT-6, the table ---- */
M(rope_table_bf16, rope, "ROT-6", "P17", "rope(M=17,d=128)", "value:query_out", "an F32 table held in BF16")
M(rope_table_f16, rope, "ROT-6", "P17", "rope(M=17,d=128)", "value:query_out", "an F32 table held in half precision")
M(rope_table_21, rope, "APPLY-1", "clause", "rope(M=17,d=128,fill=cancel)", "value:query_out", "an F32 table held in 21 bits")
M(rope_table_row_half, rope, "ROT-4", "clause", "rope(M=17,d=128)", "value:query_out", "rows rotary_dim/2 apart")
M(rope_table_last_row, rope, "ROT-4", "P18", "rope(M=17,d=128,pos=last)", "value:query_out", "the row before")
M(rope_table_clamped, rope, "APPLY-1", "clause", "rope(M=17,d=128,fill=mscale)", "value:query_out",
  "cosines and sines clamped to 1")

/* ---- APPLY-2 ---- */
M(rope_conjugate_ignored, rope, "APPLY-2", "P24", "rope(M=17,d=128,conj=1)", "value:query_out", "the inverse is the rotation")
M(rope_conjugate_interleaved, rope, "APPLY-2", "P24", "rope(M=17,d=128,conj=1,inter=1)", "value:query_out",
  "conjugate ignored where pairs are interleaved")
M(rope_conjugate_always, rope, "APPLY-2", "clause", "rope(M=17,d=128)", "value:query_out", "the rotation is the inverse")
M(rope_conjugate_cosine, rope, "APPLY-2", "clause", "rope(M=17,d=128,conj=1)", "value:query_out", "-c for c")

/* ---- APPLY-3, what changes ---- */
M(rope_offset_ignored, rope, "APPLY-3", "clause", "rope(M=17,d=192,rot=64,offset=128)", "value:query_out",
  "always from element 0")
M(rope_offset_from_end, rope, "APPLY-3", "clause", "rope(M=17,d=128,rot=64)", "value:query_out", "always the end of a head")
M(rope_whole_head, rope, "APPLY-3", "P02", "rope(M=17,d=128,rot=64,to=own)", "value:query_out",
  "the whole head rotates, by what lies behind the table's row")
M(rope_fraction_twice, rope, "APPLY-5", "P26", "rope(M=17,d=128,rot=64)", "value:query_out",
  "the rotary fraction of a head applied twice")
M(rope_tail_stale, rope, "APPLY-3", "P03", "rope(M=17,d=128,rot=64,to=own)", "poison", "out of place, the tail is not written")
M(rope_front_stale, rope, "APPLY-3", "P03", "rope(M=17,d=128,rot=64,offset=64,to=own)", "poison",
  "out of place, what lies before the offset is not written")
M(rope_tail_by_out_strides, rope, "APPLY-3", "P04", "rope(M=17,d=128,rot=64,to=own,hs=8,os=32,fill=normal)", "value:query_rest",
  "the tail is read by the strides of query_out")
M(rope_rest_converted, rope, "APPLY-3", "clause", "rope(M=17,d=128,rot=64,to=own,fill=specials)", "value:query_rest",
  "copied through f32: signalling NaNs become quiet")
M(rope_rest_nan_kept, rope, "APPLY-3", "clause", "rope(M=17,d=128,rot=64,to=own,fill=specials)", "value:query_rest",
  "copied, but for NaN payloads")
M(rope_rest_cleared, rope, "APPLY-3", "clause", "rope(M=17,d=128,rot=64,offset=64)", "keep",
  "in place, what lies before is cleared")
M(rope_in_place_skipped, rope, "APPLY-3", "clause", "rope(M=17,d=128,to={place,view})", "value:query_out",
  "nothing is done where query_out is query")

/* ---- APPLY-4, positions and key ---- */
M(rope_positions_ignored, rope, "APPLY-4", "P22", "rope(M=17,d=128,pos={random,permuted,repeated})", "value:query_out",
  "0..N-1 for positions")
M(rope_positions_first, rope, "APPLY-4", "P21", "rope(M=17,d=128)", "value:query_out", "every token has positions[0]")
M(rope_positions_from_1, rope, "APPLY-4", "clause", "rope(M=17,d=128)", "value:query_out", "positions counted from 1")
M(rope_i64_as_i32, rope, "APPLY-4", "P12", "rope(M=17,d=128)", "value:query_out", "int64 read as int32: p0, 0, p1, 0, ..")
M(rope_positions_bf16, rope, "APPLY-4", "P16", "rope(M=17,d=128,rows=700)", "value:query_out", "positions rounded to 8 bits")
M(rope_key_positions_ignored, rope, "APPLY-4", "clause", "rope(M=17,d=128)", "value:key_out", "0..N-1 for key's positions")
M(rope_key_skipped, rope, "APPLY-4", "clause", "rope(M=17,d=128)", "value:key_out", "key is not rotated")
M(rope_key_first_head, rope, "APPLY-4", "clause", "rope(M=17,d=128,kv=2)", "value:key_out", "only the first head of key")
M(rope_heads_16, rope, "APPLY-4", "clause", "rope(M=17,heads={17,33,40},d=128)", "value:query_out",
  "heads behind the sixteenth left alone where they are no multiple of 32")
M(rope_key_by_heads, rope, "APPLY-4", "clause", "rope(M=17,d=128,kv=1,rs=16)", "value:key_out",
  "as many heads of key as query has: those of later tokens, more than once")
M(rope_key_of_query, rope, "APPLY-4", "P08", "rope(M=17,d=128)", "value:key_out", "the first half of key taken from query")
M(rope_key_head_stride, rope, "APPLY-4", "P07", "rope(M=17,d=128,kv=2,hs=8,to=own)", "value:key_out",
  "key by query's head stride")
M(rope_key_token_stride, rope, "APPLY-4", "P07", "rope(M=17,d=128,kv=2,to=own)", "value:key_out", "key by query's token stride")
M(rope_positions_u16, rope, "APPLY-4", "clause", "rope(M=17,d=64,rot=2,rows=131072,pos={random,last},ids={i64,i32},fill=logu)",
  "value:query_out", "positions cut to 16 bits")
M(rope_positions_12, rope, "APPLY-4", "clause", "rope(M=17,d=64,rot=2,rows=131072,pos={random,last},ids={i64,i32},fill=logu)",
  "value:query_out", "positions cut to 12 bits")
M(rope_table_ftz, rope, "FMT-5", "clause", "rope(M=17,d=128,fill=faint)", "value:query_out",
  "subnormal cosines and sines are zeros")
M(rope_heads_64, rope, "APPLY-4", "clause", "rope(M=3,heads=128,kv=16,d=64,rot=64)", "value:query_out",
  "heads behind the 64th left alone")
M(rope_key_heads_8, rope, "APPLY-4", "clause", "rope(M=3,heads=128,kv=16,d=64,rot=64)", "value:key_out",
  "heads of key behind the eighth left alone")
M(rope_key_tokens_131, rope, "APPLY-4", "clause", "rope(M=300,heads=1,kv=1,d=32,rot=32)", "value:key_out",
  "key left alone behind 131 tokens")
M(rope_pairs_128, rope, "APPLY-1", "clause", "rope(M=5,d=512,rot=512,fill=normal)", "value:query_out",
  "pairs behind the 128th left alone")

/* ---- APPLY-6, views ---- */
M(rope_token_dense, rope, "APPLY-6", "P06", "rope(M=17,d=128,xs=8,to=own)", "value:query_out", "the token stride ignored")
M(rope_head_dense, rope, "APPLY-6", "P06", "rope(M=17,d=128,hs=64,to=own)", "value:query_out", "the head stride ignored")
M(rope_out_strides_of_in, rope, "APPLY-6", "clause", "rope(M=17,d=128,os=32,to=own)", "poison", "query_out by query's strides")
M(rope_offset_24, rope, "APPLY-6", "clause", "rope(M=5,d=128,xs=4194304)", "value:query_out",
  "an element offset that wraps (at 2^24, so that the case is small)")
M(rope_base_rounded_down, rope, "APPLY-6", "clause", "rope(M=17,d=128,at=8,to=own)", "value:query_out",
  "vectors loaded from the 16-byte boundary below")
M(rope_base_32, rope, "APPLY-6", "clause", "rope(M=17,d=128,at={32,96})", "value:query_out",
  "one element on where query_out misses 64 bytes by 32")
M(rope_no_tokens, rope, "APPLY-6", "R26", "rope(M=0,d=128)", "crash", "N = 0 starts a launch of no blocks")
M(rope_nan_leaks, rope, "APPLY-6", "clause", "rope(M=17,d=128,fill=specials)", "value:query_out", "a NaN reaches its whole head")
M(rope_nan_swallowed, rope, "APPLY-6", "clause", "rope(M=17,d=128,fill=specials)", "value:query_out", "a NaN counts as 0")
M(rope_inf_clipped, rope, "APPLY-6", "clause", "rope(M=17,d=128,fill=specials)", "value:query_out",
  "an Inf counts as the largest f32")

/* ---- ERR-2, positions outside the table ---- */
M(rope_past_unguarded, rope, "ERR-2", "P18", "rope(M=17,d=128,past=1,ids={i32,i64})", "crash", "reads outside the table")
M(rope_past_negative_only, rope, "ERR-2", "P18", "rope(M=17,d=128,past=1,ids={i32,i64})", "crash",
  "negative positions alone are looked for")
M(rope_past_large_only, rope, "ERR-2", "P18", "rope(M=17,d=128,past=1,ids={i32,i64})", "crash", "negative positions are not")
M(rope_past_low_half, rope, "ERR-2", "clause", "rope(M=17,d=128,past=5)", "crash",
  "int64 positions compared with the table by their low 32 bits")
M(rope_checks_below, rope, "ERR-2", "clause", "rope(M=17,d=128,past=4)", "crash",
  "a checked build that looks for negative positions alone")
M(rope_past_refused_late, rope, "ERR-2", "clause", "rope(M=17,d=128,past=1)", "refusal",
  "a checked build that has written the tokens before it")
M(rope_past_refused_vaguely, rope, "ERR-2", "clause", "rope(M=17,d=128,past=1)", "refusal", "the message cites no clause")
M(rope_past_clears_head, rope, "ERR-2", "clause", "rope(M=17,d=128,rot=64,past=1)", "keep",
  "such a token's whole head is cleared in place")
M(rope_past_clears_next, rope, "ERR-2", "clause", "rope(M=17,d=128,past=1)", "value:query_out",
  "an element of the next token is cleared")

/* ---- DET ---- */
M(rope_tail_unwritten, rope, "DET-3", "clause", "rope(M=17,d=128,to=own)", "poison", "the last two elements are not written")
M(rope_last_token_unwritten, rope, "DET-3", "clause", "rope(M=17,d=128,to=own)", "poison", "the last token is not written")
M(rope_gap_copied, rope, "DET-3", "clause", "rope(M=17,d=128,hs=8,ohs=16,to=own)", "keep",
  "the gap behind a head is copied with it")
M(rope_stray_gap, rope, "DET-3", "clause", "rope(M=17,d=128,hs=8)", "keep", "one element in the gap behind a head")
M(rope_stray_before, rope, "DET-3", "clause", "rope(M=17,d=128)", "keep", "a byte before the base of query_out")
M(rope_writes_query, rope, "DET-3", "T08", "rope(M=17,d=128,to=own)", "keep", "query used as scratch")
M(rope_writes_table, rope, "APPLY-6", "clause", "rope(M=17,d=128)", "keep", "the table is written")
M(rope_writes_positions, rope, "DET-3", "clause", "rope(M=17,d=128)", "keep", "positions are written")
M(rope_reads_gap, rope, "DET-3", "clause", "rope(M=17,d=128,hs=8)", "poison", "0 * the element behind the head added")
M(rope_reads_out, rope, "DET-3", "T10", "rope(M=17,d=128,to=own)", "poison", "0 * query_out added: stale NaN stays")
M(rope_order_by_run, rope, "DET-1", "clause", "rope(M=17,d=128,fill=cancel)", "poison",
  "with FMA in every second run, each within APPLY-1")

/* ---- ERR-1, refusals ---- */
M(rope_accepts_all, rope, "ERR-1", "clause", "rope(bad=*)", "refusal", "bad arguments are a success that does nothing")
M(rope_accepts_views, rope, "APPLY-6", "clause", "rope(bad=*)", "refusal", "any dtype, stride and address is accepted")
M(rope_accepts_shapes, rope, "APPLY-4", "clause", "rope(bad=*)", "refusal", "shapes that do not fit are accepted")
M(rope_accepts_width, rope, "APPLY-5", "P09", "rope(bad={rotary-head,rotary-wide,offset-33})", "refusal",
  "a table wider than the head is accepted")
M(rope_accepts_rows, rope, "APPLY-4", "P11", "rope(bad=positions-rows)", "refusal", "positions of (3, N) are accepted")
M(rope_accepts_overlap, rope, "DET-4", "clause", "rope(bad=*)", "refusal", "outputs may share bytes with anything")
M(rope_accepts_key_query, rope, "APPLY-6", "clause", "rope(bad={key-query,key-query-tail})", "refusal",
  "out of place, query and key may be the same bytes")
M(rope_refuses_vaguely, rope, "ERR-1", "clause", "rope(bad=*)", "refusal", "the message names no argument and no clause")
M(rope_writes_then_refuses, rope, "ERR-1", "clause", "rope(bad=*)", "refusal", "a byte of query_out is written before the check")

/* ---- on a CUDA device ---- */
MC(cu_rope_neox_only, rope, "APPLY-1", "clause", "rope(M=17,d=128,inter=1)", "value:query_out", "interleaved is not looked at")
MC(cu_rope_products_bf16, rope, "APPLY-1", "clause", "rope(M=17,d=128)", "value:query_out", "products rounded to BF16")
MC(cu_rope_reads_stored, rope, "APPLY-1", "clause", "rope(M=17,d=128)", "value:query_out",
   "b c + a' s of the a' that was just stored")
MC(cu_rope_table_bf16, rope, "ROT-6", "P17", "rope(M=17,d=128)", "value:query_out", "an F32 table held in BF16")
MC(cu_rope_conjugate_ignored, rope, "APPLY-2", "P24", "rope(M=17,d=128,conj=1)", "value:query_out", "the inverse is the rotation")
MC(cu_rope_offset_ignored, rope, "APPLY-3", "clause", "rope(M=17,d=192,rot=64,offset=128)", "value:query_out",
   "always from element 0")
MC(cu_rope_tail_stale, rope, "APPLY-3", "P03", "rope(M=17,d=128,rot=64,to=own)", "poison",
   "out of place, the tail is not written")
MC(cu_rope_positions_ignored, rope, "APPLY-4", "P22", "rope(M=17,d=128)", "value:query_out", "0..N-1 for positions")
MC(cu_rope_i64_as_i32, rope, "APPLY-4", "P12", "rope(M=17,d=128)", "value:query_out", "int64 read as int32: p0, 0, p1, 0, ..")
MC(cu_rope_key_head_stride, rope, "APPLY-4", "P07", "rope(M=17,d=128,kv=2,hs=8,to=own)", "value:key_out",
   "key by query's head stride")
MC(cu_rope_nan_swallowed, rope, "APPLY-6", "clause", "rope(M=17,d=128,fill=specials)", "value:query_out", "a NaN counts as 0")
MC(cu_rope_past_unguarded, rope, "ERR-2", "P18", "rope(M=17,d=128,past=1,ids={i32,i64})", "crash", "reads outside the table")
MC(cu_rope_stray_gap, rope, "DET-3", "clause", "rope(M=17,d=128,hs=8)", "keep", "one element in the gap behind a head")

/* As RARE of table.h. */
RARE(rope_ftz)
RARE(rope_positive_zero)
RARE(rope_table_21)
RARE(rope_table_ftz)
RARE(rope_nan_leaks)
RARE(rope_nan_swallowed)
RARE(rope_inf_clipped)
RARE(rope_rest_converted)
RARE(rope_rest_nan_kept)
RARE(rope_table_clamped)
