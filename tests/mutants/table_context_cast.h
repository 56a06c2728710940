/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of `context_cast`: a part of table.h, which includes it. Those of CAST and SF stand with the operator cast, whose plain
 * row this one shares; those of APPLY with rope. */

/* ---- KV-7 ---- */
M(ctx_sf4_upper_rows, context_cast, "SF-4", "clause", "context_cast(M={200,450},d=64,utccp=200,fill=scales)", "value:extra_sf",
  "rows from 192 of a block of 200 one word on")
M(ctx_forward, context_cast, "KV-7", "P24", "context_cast(M=17,d=128)", "value:out", "the rotation for its inverse")
M(ctx_not_rotated, context_cast, "KV-7", "clause", "context_cast(M=17,d=128)", "value:out", "cast alone")
M(ctx_twice, context_cast, "KV-7", "clause", "context_cast(M=17,d=128)", "value:out", "applied behind a kernel that already did")
M(ctx_leading, context_cast, "KV-7", "clause", "context_cast(M=17,d=128)", "value:out",
  "the first rotary_dim of a head, not the last")
M(ctx_first_head_only, context_cast, "KV-7", "clause", "context_cast(M=17,d=128)", "value:out", "the first head alone is rotated")
M(ctx_not_rounded, context_cast, "KV-7", "clause", "context_cast(M=17,d=128,bf16=1,fill=reach)", "value:sf",
  "codes and scales from f32: dialect f32")
M(ctx_truncate, context_cast, "FMT-1", "R03", "context_cast(M=17,d=128,bf16=1)", "value:bf16", "BF16 rounds to zero")
M(ctx_codes_unrotated, context_cast, "KV-7", "clause", "context_cast(M=17,d=128,bf16=1)", "value:out",
  "bf16 is rotated, what is cast is not")
M(ctx_bf16_unrotated, context_cast, "KV-7", "clause", "context_cast(M=17,d=128,bf16=1)", "value:bf16",
  "what is cast is rotated, bf16 is not")
M(ctx_writes_context, context_cast, "KV-7", "T08", "context_cast(M=17,d=128)", "keep", "context is rotated in place")
M(ctx_f32_rounded, context_cast, "KV-7", "clause", "context_cast(M=33,d=128,dialect=f32,fill=cancel)", "value:out",
  "dialect f32: rounded to BF16 between, the usual rule")

/* ---- APPLY ---- */
M(ctx_neox_only, context_cast, "APPLY-1", "clause", "context_cast(M=17,d=128,inter=1)", "value:out",
  "interleaved is not looked at")
M(ctx_products_bf16, context_cast, "APPLY-1", "clause", "context_cast(M=17,d=128,bf16=1)", "value:bf16",
  "products rounded to BF16")
M(ctx_table_bf16, context_cast, "ROT-6", "P17", "context_cast(M=17,d=128,bf16=1)", "value:bf16", "an F32 table held in BF16")
M(ctx_positions_ignored, context_cast, "APPLY-4", "P22", "context_cast(M=17,d=128)", "value:out", "0..N-1 for positions")
M(ctx_i64_as_i32, context_cast, "APPLY-4", "P12", "context_cast(M=17,d=128)", "value:out", "int64 read as int32")
M(ctx_nan_leaks, context_cast, "APPLY-6", "clause", "context_cast(M=17,d=128,bf16=1,fill=specials)", "value:bf16",
  "a NaN reaches the whole rotating part")
M(ctx_past_unguarded, context_cast, "ERR-2", "P18", "context_cast(M=17,d=128,past=1,ids={i32,i64})", "crash",
  "reads outside the table")
M(ctx_positions_u16, context_cast, "APPLY-4", "clause",
  "context_cast(M=17,d=64,rot=2,rows=70000,pos=last,ids=i64,bf16=1,fill=logu)", "value:bf16", "int64 positions cut to 16 bits")
M(ctx_table_ftz, context_cast, "FMT-5", "clause", "context_cast(M=17,d=128,bf16=1,fill=faint)", "value:bf16",
  "subnormal cosines and sines are zeros")
M(ctx_pairs_64, context_cast, "APPLY-1", "clause", "context_cast(M=5,heads=2,d=256,rot=256,bf16=1)", "value:bf16",
  "pairs behind the 64th left alone")
M(ctx_heads_64, context_cast, "KV-7", "clause", "context_cast(M=3,heads=128,d=128,rot=32)", "value:out",
  "heads behind the 64th are not rotated")
M(ctx_sf4_third, context_cast, "SF-4", "clause", "context_cast(M={384,400},heads=2,d=64,utccp=384,fill=scales)", "value:extra_sf",
  "rows from 256 of a block get the scales 128 rows before")
M(ctx_past_low_half, context_cast, "ERR-2", "clause", "context_cast(M=17,d=128,past=5)", "crash",
  "int64 positions compared with the table by their low 32 bits")

/* ---- KV-6, RMS-11, DET ---- */
M(ctx_token_dense, context_cast, "KV-6", "P06", "context_cast(M=17,d=128,xs=16)", "value:out", "the token stride ignored")
M(ctx_head_dense, context_cast, "KV-6", "P06", "context_cast(M=17,d=128,hs=64)", "value:out", "the head stride ignored")
M(ctx_bf16_strides, context_cast, "KV-6", "P07", "context_cast(M=17,d=128,bf16=1,os=32)", "poison",
  "bf16 by the strides of context")
M(ctx_base_rounded_down, context_cast, "KV-6", "R16", "context_cast(M=17,d=128,at=8)", "value:out",
  "vectors loaded from the 16-byte boundary below")
M(ctx_base_32, context_cast, "KV-6", "clause", "context_cast(M=17,d=128,at={32,96})", "value:out",
  "vectors of 64 bytes loaded from the boundary below, where that is 32 bytes before")
M(ctx_writes_off_bf16, context_cast, "RMS-11", "clause", "context_cast(M=17,d=128,off=1)", "keep",
  "bf16 is written though switched off")
M(ctx_bf16_tail_unwritten, context_cast, "DET-3", "P03", "context_cast(M=17,d=128,bf16=1)", "poison", "bf16 lacks what rotates")
M(ctx_last_token_unwritten, context_cast, "DET-3", "clause", "context_cast(M=17,d=128)", "poison",
  "the last token is not written")
M(ctx_stray_row_end, context_cast, "DET-3", "clause", "context_cast(M=17,d=128)", "keep", "a code behind each row")
M(ctx_no_tokens, context_cast, "APPLY-6", "R26", "context_cast(M=0,d=128)", "crash", "N = 0 starts a launch of no blocks")

/* ---- ERR-1 ---- */
M(ctx_accepts_all, context_cast, "ERR-1", "clause", "context_cast(bad=*)", "refusal",
  "bad arguments are a success that does nothing")
M(ctx_accepts_views, context_cast, "KV-6", "clause", "context_cast(bad=*)", "refusal", "any stride and address is accepted")
M(ctx_accepts_rest, context_cast, "KV-7", "clause", "context_cast(bad=*)", "refusal",
  "shapes, dtypes, group sizes that do not fit are accepted")
M(ctx_accepts_width, context_cast, "APPLY-5", "P09", "context_cast(bad=rotary-wide)", "refusal",
  "a table wider than the head is accepted")
M(ctx_accepts_overlap, context_cast, "DET-4", "clause", "context_cast(bad=*)", "refusal", "outputs may share bytes with anything")
M(ctx_refuses_vaguely, context_cast, "ERR-1", "clause", "context_cast(bad=*)", "refusal",
  "the message names no argument and no clause")
M(ctx_writes_then_refuses, context_cast, "ERR-1", "clause", "context_cast(bad=*)", "refusal",
  "a byte of out is written before the check")

/* ---- on a CUDA device ---- */
MC(cu_ctx_forward, context_cast, "KV-7", "P24", "context_cast(M=17,d=128)", "value:out", "the rotation for its inverse")
MC(cu_ctx_not_rotated, context_cast, "KV-7", "clause", "context_cast(M=17,d=128)", "value:out", "cast alone")
MC(cu_ctx_not_rounded, context_cast, "KV-7", "clause", "context_cast(M=17,d=128,bf16=1,fill=reach)", "value:sf",
   "codes and scales from f32")
MC(cu_ctx_writes_context, context_cast, "KV-7", "T08", "context_cast(M=17,d=128)", "keep", "context is written")
MC(cu_ctx_positions_ignored, context_cast, "APPLY-4", "P22", "context_cast(M=17,d=128)", "value:out", "0..N-1 for positions")
MC(cu_ctx_past_unguarded, context_cast, "ERR-2", "P18", "context_cast(M=17,d=128,past=1,ids={i32,i64})", "crash",
   "reads outside the table")

RARE(ctx_nan_leaks)
RARE(ctx_table_ftz)
