/* SPDX-License-Identifier: Apache-2.0 */
/* Right kernels at the edge of their freedom, and the same pushed beyond it. Include with V, VD, VK, D, B, BD or BK defined; all
 * are undefined again at the end.
 *
 *   V(id, op, text, knobs...)                plugin "conforming": every case must pass
 *   D(id, op, dialect, text, knobs...)       the same, judged in that dialect
 *   B(id, op, cases, check, text, knobs...)  plugin "beyond": must be flagged on these cases, by this check;
 *                                            "determinism:P": no case finds it, perturbation P does (DET-2)
 *
 *   VD, BD                                   the same of kernels that declare LC_DENSE_HADAMARD (HAD-3)
 *   VK, BK                                   the same of kernels that declare LC_K8_CORES (LIN-1)
 *
 * knobs: initialisers of struct plain_knobs.
 *
 * The radius of y is the sum of all freedoms, 18u, so that one freedom alone shows only when it passes that sum:
 * s is worth 8u of it and rstd 4u, each pushed to twice 16u and 8u. Both at twice, the same way, are 24u: flagged
 * in every element of an F32 out, and in a BF16 out where a midpoint lies between. Alone, s needs three times its
 * own and rstd six (24u). */
#ifndef V
#define V(...)
#endif
#ifndef D
#define D(...)
#endif
#ifndef B
#define B(...)
#endif
#ifndef VD
#define VD(...)
#endif
#ifndef BD
#define BD(...)
#endif
#ifndef VK
#define VK(...)
#endif
#ifndef BK
#define BK(...)
#endif

#define RMS_LOW .s_end = 1, .rstd_end = -1  /* y as small as RMS-3 and RMS-4 let it be */
#define RMS_HIGH .s_end = -1, .rstd_end = 1 /* as large */

V(plain, cast, "nominal", .order = 0)
V(sf_times, cast, "CAST-3: amax * fl(1/448) under round_sf, the same byte", .sf_times = true)
V(sf_log2f, cast, "CAST-4: ceilf(log2f(sf)) of BF16 input, the same byte", .sf_log2f = true)
V(pad_filled, cast, "SF-3: padding rows written", .pad = 1)
V(nan_negative, cast, "FMT-2: the other NaN code", .nan = 1)
V(nan_group_free, cast, "CAST-7: all that is unspecified is all ones", .nan = 2)

V(plain, rmsnorm, "nominal orders, pairwise sum", .order = 0)
V(lanes_32, rmsnorm, "RMS-3: 32 strided lanes, then a tree", .lanes = 32)
V(lanes_64, rmsnorm, "RMS-3: 64 lanes", .lanes = 64)
V(lanes_128, rmsnorm, "RMS-3: 128 lanes", .lanes = 128)
V(lanes_256, rmsnorm, "RMS-3: 256 lanes", .lanes = 256)
V(lanes_512, rmsnorm, "RMS-3: 512 lanes", .lanes = 512)
V(lanes_1024, rmsnorm, "RMS-3: 1024 lanes", .lanes = 1024)
V(fma, rmsnorm, "RMS-3: squares added unrounded", .fma = true)
V(fma_128, rmsnorm, "RMS-3: both", .fma = true, .lanes = 128)
V(mean_times, rmsnorm, "RMS-3: sum * fl(1/d), one more rounding", .mean_times = true)
V(s_low, rmsnorm, "RMS-3: s at its lower end", .s_end = -1)
V(s_high, rmsnorm, "RMS-3: s at its upper end", .s_end = 1)
V(rstd_low, rmsnorm, "RMS-4: rstd at its lower end", .rstd_end = -1)
V(rstd_high, rmsnorm, "RMS-4: rstd at its upper end", .rstd_end = 1)
V(low, rmsnorm, "RMS-3, RMS-4: both make y small", RMS_LOW)
V(high, rmsnorm, "RMS-3, RMS-4: both make y large", RMS_HIGH)
V(order_1, rmsnorm, "RMS-5: ((r rstd) scale) w", .order = 1)
V(order_2, rmsnorm, "RMS-5: (r rstd)(w scale)", .order = 2)
V(order_3, rmsnorm, "RMS-5: ((r w) rstd) scale", .order = 3)
V(order_4, rmsnorm, "RMS-5: ((r w) scale) rstd", .order = 4)
V(order_5, rmsnorm, "RMS-5: (r w)(rstd scale)", .order = 5)
V(order_6, rmsnorm, "RMS-5: ((r scale) rstd) w", .order = 6)
V(order_7, rmsnorm, "RMS-5: ((r scale) w) rstd", .order = 7)
V(order_8, rmsnorm, "RMS-5: (r scale)(rstd w)", .order = 8)
V(order_9, rmsnorm, "RMS-5: ((rstd w) r) scale", .order = 9)
V(order_10, rmsnorm, "RMS-5: ((rstd w) scale) r", .order = 10)
V(order_11, rmsnorm, "RMS-5: ((rstd scale) r) w", .order = 11)
V(order_12, rmsnorm, "RMS-5: ((rstd scale) w) r", .order = 12)
V(order_13, rmsnorm, "RMS-5: ((w scale) r) rstd", .order = 13)
V(order_14, rmsnorm, "RMS-5: ((w scale) rstd) r", .order = 14)
V(low_order_4, rmsnorm, "all three freedoms", RMS_LOW, .order = 4)
V(low_order_5, rmsnorm, "all three freedoms", RMS_LOW, .order = 5)
V(low_order_12, rmsnorm, "all three freedoms", RMS_LOW, .order = 12)
V(low_order_14, rmsnorm, "all three freedoms", RMS_LOW, .order = 14)
V(high_order_4, rmsnorm, "all three freedoms", RMS_HIGH, .order = 4)
V(high_order_5, rmsnorm, "all three freedoms", RMS_HIGH, .order = 5)
V(high_order_12, rmsnorm, "all three freedoms", RMS_HIGH, .order = 12)
V(high_order_14, rmsnorm, "all three freedoms", RMS_HIGH, .order = 14)
V(pad_filled, rmsnorm, "SF-3: padding rows written", .pad = 1)
V(sf_log2f, rmsnorm, "CAST-4: ceilf(log2f(sf)), the cast is fed BF16 (RMS-6)", .sf_log2f = true)
V(sf_times, rmsnorm, "CAST-3: amax * fl(1/448) under round_sf", .sf_times = true)
V(nan_group_free, rmsnorm, "CAST-7: all that is unspecified is all ones", .nan = 2)

D(deepgemm, cast, "deepgemm", "CAST-9", .order = 0)
D(deepgemm_free, cast, "deepgemm", "CAST-7, SF-3, SF-6: all that is free is written", .nan = 2, .pad = 1)
D(sf_floor, cast, "sf-floor", "CAST-9", .order = 0)
D(sf_floor_free, cast, "sf-floor", "CAST-7, SF-3, SF-6: all that is free is written", .nan = 2, .pad = 1)
D(f32_nan, cast, "f32-nan", "FMT-2", .nan = 1)
D(hf, rmsnorm, "hf", "RMS-13", .order = 0)
D(hf_low, rmsnorm, "hf", "RMS-3, RMS-4 at their lower end", RMS_LOW)
D(hf_high, rmsnorm, "hf", "RMS-3, RMS-4 at their upper end", RMS_HIGH)
D(f32res, rmsnorm, "f32res", "RMS-13", .order = 0)
D(f32res_low, rmsnorm, "f32res", "all three freedoms", RMS_LOW, .order = 4)
D(f32res_high, rmsnorm, "f32res", "all three freedoms", RMS_HIGH, .order = 12)
D(gemma, rmsnorm, "gemma", "RMS-13", .order = 0)
D(gemma_low, rmsnorm, "gemma", "all three freedoms", RMS_LOW, .order = 5)
D(gemma_high, rmsnorm, "gemma", "all three freedoms", RMS_HIGH, .order = 14)
D(f32cast, rmsnorm, "f32cast", "RMS-6", .order = 0)
D(f32cast_low, rmsnorm, "f32cast", "all three freedoms", RMS_LOW, .order = 4)
D(f32cast_high, rmsnorm, "f32cast", "all three freedoms", RMS_HIGH, .order = 12)
V(plain, rope_table, "nominal", .order = 0)
V(p_low, rope_table, "ROT-1: p_i one ulp low", .p_ulp = -1)
V(p_high, rope_table, "ROT-1: p_i one ulp high", .p_ulp = 1)
V(cos_low, rope_table, "ROT-3: cosines two ulps low", .cos_ulp = -2)
V(cos_high, rope_table, "ROT-3: cosines two ulps high", .cos_ulp = 2)
V(sin_low, rope_table, "ROT-3: sines two ulps low", .sin_ulp = -2)
V(sin_high, rope_table, "ROT-3: sines two ulps high", .sin_ulp = 2)
V(low, rope_table, "all freedoms", .p_ulp = -1, .cos_ulp = -2, .sin_ulp = -2)
V(high, rope_table, "all freedoms", .p_ulp = 1, .cos_ulp = 2, .sin_ulp = 2)
V(apart, rope_table, "all freedoms", .p_ulp = 1, .cos_ulp = 2, .sin_ulp = -2)

V(plain, hadamard, "stages from the lowest bit up", .order = 0)
V(down, hadamard, "HAD-3: stages from the highest bit down", .order = 1)
V(radix_4, hadamard, "HAD-3: two stages at a time, other pairs first", .order = 2)
V(tree, hadamard, "HAD-3: a pairwise tree for each element", .order = 3)
V(edge_low, hadamard, "HAD-3: the sum at its lower end", .edge = -0.9999)
V(edge_high, hadamard, "HAD-3: the sum at its upper end", .edge = 0.9999)
V(zero_minus, hadamard, "FMT-6: a zero sum is -0", .minus_zero = true)
V(nan_negative, hadamard, "FMT-1: another NaN", .nan = 1)
V(nan_is_inf, hadamard, "HAD-6: NaN or Inf, not told apart", .nan = 2)
VD(dense, hadamard, "HAD-3: serial sums, declared", .dense = true)
VD(dense_edge_low, hadamard, "HAD-3: n + 16, the lower end", .dense = true, .edge = -0.9999)
VD(dense_edge_high, hadamard, "HAD-3: n + 16, the upper end", .dense = true, .edge = 0.9999)

V(plain, rope, "products and sum, each rounded", .order = 0)
V(fma_first, rope, "APPLY-1: the first product not rounded", .order = 1)
V(fma_second, rope, "APPLY-1: the second product not rounded", .order = 2)
V(edge_low, rope, "APPLY-1: the sum at its lower end", .edge = -0.9999)
V(edge_high, rope, "APPLY-1: the sum at its upper end", .edge = 0.9999)
V(zero_minus, rope, "FMT-6: what cancels is -0", .minus_zero = true)
V(nan_negative, rope, "FMT-1: another NaN", .nan = 1)

V(plain, context_cast, "products and sum, each rounded", .order = 0)
V(fma_first, context_cast, "APPLY-1: the first product not rounded", .order = 1)
V(fma_second, context_cast, "APPLY-1: the second product not rounded", .order = 2)
V(edge_low, context_cast, "APPLY-1: the sum at its lower end", .edge = -0.9999)
V(edge_high, context_cast, "APPLY-1: the sum at its upper end", .edge = 0.9999)
V(pad_filled, context_cast, "SF-3: padding rows written", .pad = 1)
V(nan_group_free, context_cast, "CAST-7: all that is unspecified is all ones", .nan = 2)
D(f32, context_cast, "f32", "KV-7: no rounding between", .order = 0)
D(f32_edge_low, context_cast, "f32", "KV-7: the sum at its lower end", .edge = -0.9999)
D(f32_edge_high, context_cast, "f32", "KV-7: the sum at its upper end", .edge = 0.9999)

B(edge_low, context_cast, "context_cast(M=17,d=128,bf16=1,fill=cancel)", "value:bf16", "APPLY-1: 1 1/4 times its end",
  .edge = -1.25)
B(edge_low, rope, "rope(M=17,d=128,table={f32,bf16},fill=cancel)", "value:query_out", "APPLY-1: 1 1/4 times its end",
  .edge = -1.25)
B(edge_high, rope, "rope(M=17,d=128,table=f32,fill=cancel)", "value:key_out", "APPLY-1: 1 1/4 times its end", .edge = 1.25)
V(plain, sf_layout, "one scale at a time", .order = 0)
V(pad_filled, sf_layout, "SF-3: padding rows written", .pad = 1)
V(plain, qkv, "nominal orders, pairwise sum", .order = 0)
V(lanes_32, qkv, "RMS-3: 32 strided lanes, then a tree", .lanes = 32)
V(low, qkv, "RMS-3, RMS-4: both make n small", RMS_LOW)
V(high, qkv, "RMS-3, RMS-4: both make n large", RMS_HIGH)
V(fma, qkv, "QKV-2, APPLY-1: FMAs wherever one fits", .fma = true, .order = 3)
V(fma_other, qkv, "APPLY-1: the FMA on the other product", .order = 6)
V(low_order_1, qkv, "all freedoms: x w first", RMS_LOW, .order = 1)
V(high_order_2, qkv, "all freedoms: rstd w first", RMS_HIGH, .order = 2)
V(high_fma, qkv, "all freedoms", RMS_HIGH, .fma = true, .order = 5)
V(edge_low, qkv, "APPLY-1: the rotation at its lower end", RMS_LOW, .edge = -0.9999)
V(edge_high, qkv, "APPLY-1: the rotation at its upper end", RMS_HIGH, .edge = 0.9999)
V(nan_negative, qkv, "FMT-1: another NaN in q and k", .nan = 1)
V(leaves_out, qkv, "ERR-2: a token is left out, not refused", .leaves_out = true)
D(bf16rot, qkv, "bf16rot", "QKV-3", .order = 0)
D(bf16rot_low, qkv, "bf16rot", "all freedoms", RMS_LOW, .order = 1)
D(bf16rot_high, qkv, "bf16rot", "all freedoms", RMS_HIGH, .fma = true, .order = 2)
D(simt, qkv, "simt", "QKV-3", .order = 0)
D(simt_low, qkv, "simt", "all freedoms", RMS_LOW, .edge = -0.9999)
D(simt_high, qkv, "simt", "all freedoms", RMS_HIGH, .fma = true, .order = 4)
D(unfused_bias, qkv, "unfused-bias", "QKV-4", .order = 0)
D(unfused_bias_low, qkv, "unfused-bias", "all freedoms", RMS_LOW, .order = 5)
D(unfused_bias_high, qkv, "unfused-bias", "all freedoms", RMS_HIGH, .edge = 0.9999)

B(serial, hadamard, "hadamard(M=3,n={1024,4096},x=f32,fill=drift)", "value:out", "HAD-3: serial sums, not declared",
  .dense = true)
B(edge_low, hadamard, "hadamard(M=17,n={2,128,2048},x=f32,fill=normal)", "value:out", "HAD-3: 1 1/4 times its end", .edge = -1.25)
B(edge_high, hadamard, "hadamard(M=17,n={2,128,2048},x=f32,fill=normal)", "value:out", "HAD-3: 1 1/4 times its end", .edge = 1.25)
B(edge_bf16, hadamard, "hadamard(M=17,n=1024,fill=normal)", "value:out", "the same through a BF16 out", .edge = 1.25)
BD(dense_edge_low, hadamard, "hadamard(M=17,n={2,128,2048},x=f32,fill=normal)", "value:out", "n + 16, 1 1/4 times", .dense = true,
   .edge = -1.25)
BD(dense_edge_high, hadamard, "hadamard(M=17,n={2,128,2048},x=f32,fill=normal)", "value:out", "n + 16, 1 1/4 times",
   .dense = true, .edge = 1.25)

B(low_twice, rmsnorm, "rmsnorm(M=17,d=128,out=f32,fill={normal,positive,tiny,outlier})", "value:out",
  "RMS-3, RMS-4 at twice: 24u", .s_end = 2, .rstd_end = -2)
B(high_twice, rmsnorm, "rmsnorm(M=17,d=128,out=f32,fill={normal,positive,tiny,outlier})", "value:out",
  "RMS-3, RMS-4 at twice: 24u", .s_end = -2, .rstd_end = 2)
B(low_twice_bf16, rmsnorm, "rmsnorm(M=64,d=7168,fill=normal)", "value:out", "the same through a BF16 out, 1 element in 10^4",
  .s_end = 2, .rstd_end = -2)
B(high_twice_bf16, rmsnorm, "rmsnorm(M=64,d=7168,fill=normal)", "value:out", "the same through a BF16 out, 1 element in 10^4",
  .s_end = -2, .rstd_end = 2)
B(low_twice_order_5, rmsnorm, "rmsnorm(M=17,d=128,out=f32,scale=0.3,fill=normal)", "value:out", "and another order", .s_end = 2,
  .rstd_end = -2, .order = 5)
B(high_twice_order_14, rmsnorm, "rmsnorm(M=17,d=128,out=f32,scale=0.3,fill=normal)", "value:out", "and another order",
  .s_end = -2, .rstd_end = 2, .order = 14)
B(s_low_thrice, rmsnorm, "rmsnorm(M=17,d=128,out=f32,fill=normal)", "value:out", "RMS-3 alone: 24u", .s_end = -3)
B(s_high_thrice, rmsnorm, "rmsnorm(M=17,d=128,out=f32,fill=normal)", "value:out", "RMS-3 alone: 24u", .s_end = 3)
B(rstd_low_six, rmsnorm, "rmsnorm(M=17,d=128,out=f32,fill=normal)", "value:out", "RMS-4 alone: 24u", .rstd_end = -6)
B(rstd_high_six, rmsnorm, "rmsnorm(M=17,d=128,out=f32,fill=normal)", "value:out", "RMS-4 alone: 24u", .rstd_end = 6)
B(low_twice_cast, rmsnorm, "rmsnorm(M=17,d=1024,out=e4m3,bf16=1,fill=brink)", "value:bf16", "in y_bf (RMS-6)", .s_end = 2,
  .rstd_end = -2)
B(order_by_m, rmsnorm, "rmsnorm(M={3,17},d=4096,out=f32,fill=normal)", "determinism:batch",
  "DET-2: the lanes depend on M (R22); each row is right, so only the comparison of batches finds it", .by_m = true)
B(pad_twice, cast, "cast(M=17,d=128,sf=col,fill=normal)", "keep", "SF-3: as many padding words again, behind the storage",
  .pad = 2)
B(pad_twice, rmsnorm, "rmsnorm(M=17,d=128,out=e4m3,sf=col,fill=normal)", "keep", "SF-3: likewise", .pad = 2)
B(nan_next_group, cast, "cast(M=17,d=128,fill=specials)", "value:out", "CAST-7: the group behind an unspecified one too",
  .nan = 3)
B(sf_times_always, cast, "cast(M=17,d=128,sf=row,round=0,fill=normal)", "value:sf", "CAST-3: without round_sf too",
  .sf_times_always = true)
B(sf_log2f_f32, cast, "cast(M=64,d=512,x=f32,fill=pow2-edges)", "value:sf", "CAST-4: of F32 input too", .sf_log2f_always = true)

B(p_low_twice, rope_table, "rope_table(rows=33)", "value:inv_freq", "ROT-1: p_i two ulps low", .p_ulp = -2)
B(p_high_twice, rope_table, "rope_table(rows=33)", "value:inv_freq", "ROT-1: p_i two ulps high", .p_ulp = 2)
B(p_high_hidden, rope_table, "rope_table(rows=4100,inv=0)", "value:table", "ROT-1: the same, seen in the table alone", .p_ulp = 3)
B(cos_low_thrice, rope_table, "rope_table(rows=33,inv={0,1})", "value:table", "ROT-3: cosines three ulps low", .cos_ulp = -3)
B(cos_high_thrice, rope_table, "rope_table(rows=33,scaling=yarn)", "value:table", "ROT-3: cosines three ulps high", .cos_ulp = 3)
B(sin_low_thrice, rope_table, "rope_table(rows=33)", "value:table", "ROT-3: sines three ulps low", .sin_ulp = -3)
B(sin_high_thrice, rope_table, "rope_table(rows=33)", "value:table", "ROT-3: sines three ulps high", .sin_ulp = 3)
B(pad_twice, sf_layout, "sf_layout(M=17,ds=8,fill=normal)", "keep", "SF-3: as many padding words again, behind the storage",
  .pad = 2)
B(low_thrice, qkv, "qkv(M=64,Hq=8,Hkv=4,D=128,rot=2,fill=normal)", "value:q",
  "RMS-3, RMS-4 at three times: 36u, seen in n itself", .s_end = 3, .rstd_end = -3)
B(high_thrice, qkv, "qkv(M=64,Hq=8,Hkv=4,D=128,rot=2,bias=bf16,fill=normal)", "value:q", "RMS-3, RMS-4 at three times: 36u",
  .s_end = -3, .rstd_end = 3)
B(high_thrice_rotated, qkv, "qkv(M=64,Hq=8,Hkv=4,D=128,fill=normal)", "value:q", "the same through the rotation", .s_end = -3,
  .rstd_end = 3)

V(plain, kv_store, "nominal", .order = 0)
V(fma, kv_store, "RMS-3, APPLY-1: unrounded products", .fma = true, .kv_fma = 1)
V(fma_other, kv_store, "APPLY-1: the other product unrounded", .kv_fma = 2)
V(order_1, kv_store, "RMS-5: (r w) rstd; HAD-3: stages from the highest bit down", .order = 1)
V(order_2, kv_store, "RMS-5: (rstd w) r", .order = 2)
V(low, kv_store, "RMS-3, RMS-4: both make y small", RMS_LOW)
V(high, kv_store, "RMS-3, RMS-4: both make y large", RMS_HIGH)
V(turn_low, kv_store, "APPLY-1: at its lower end", .kv_turn = -0.9999)
V(turn_high, kv_store, "APPLY-1: at its upper end", .kv_turn = 0.9999)
V(edge_low, kv_store, "HAD-3: the sum at its lower end", .edge = -0.999)
V(edge_high, kv_store, "HAD-3: the sum at its upper end", .edge = 0.999)
V(all_low, kv_store, "every freedom at its lower end", RMS_LOW, .kv_turn = -0.9999, .edge = -0.999)
V(all_high, kv_store, "every freedom at its upper end", RMS_HIGH, .kv_turn = 0.9999, .edge = 0.999)
V(nan_negative, kv_store, "FMT-2: the other NaN code", .nan = 1)
V(nan_group_free, kv_store, "CAST-7: scales of groups with a NaN or an Inf are all ones", .nan = 2)
V(leaves_out, kv_store, "ERR-2: a token is left out, not refused", .leaves_out = true)
V(checks_skipped, kv_store, "KV-2, ERR-2: positions of skipped tokens are checked too", .checks_skipped = true)
V(pad_filled, kv_store, "SF-3: padding rows written", .pad = 1)

B(low_twice, kv_store, "kv_store(M=130,heads=8,rope=-,had=0,out=bf16,fill=normal)", "value:out",
  "RMS-3, RMS-4 at twice: 24u, 1 element in 10^4", .s_end = 2, .rstd_end = -2)
B(turn_twice, kv_store, "kv_store(M=130,heads=8,norm=0,had=0,out=bf16,fill=normal)", "value:out", "APPLY-1: twice its end",
  .kv_turn = 2)
B(edge_twice, kv_store, "kv_store(M=130,heads=8,norm=0,rot=32,out=bf16,fill=normal)", "value:out", "HAD-3: twice its end",
  .edge = 2)

V(plain, linear, "LIN-1: as k comes", .order = 0)
V(backwards, linear, "LIN-1: from the last of K", .order = 1)
V(pairs, linear, "LIN-1: a pairwise tree", .order = 2)
V(cores, linear, "LIN-1: tensor cores, terms cut at 2^-25 of the largest", .order = 3)
V(lanes, linear, "LIN-1: 64 lanes", .order = 5)
V(fma, linear, "LIN-1: products are not rounded; LIN-11: so an Inf beside a large one stays an Inf", .order = 6)
V(edge_low, linear, "LIN-1: acc at its lower end", .edge = -0.9999)
V(edge_high, linear, "LIN-1: acc at its upper end", .edge = 0.9999)
V(zero_minus, linear, "FMT-6: a zero sum is -0", .minus_zero = true)
V(nan_negative, linear, "FMT-1: another NaN", .nan = 1)
VK(cores_k8, linear, "LIN-1: 24 fraction bits, 8 terms a step, declared", .order = 4)
VK(k8_edge_low, linear, "LIN-1: 1.4 K + 32, the lower end", .k8 = true, .edge = -0.9999)
VK(k8_edge_high, linear, "LIN-1: 1.4 K + 32, the upper end", .k8 = true, .edge = 0.9999)
D(reduce_add, linear, "reduce-add", "LIN-2", .order = 2)
D(bias_fused, linear, "bias-fused", "LIN-9", .order = 3)

B(edge_low, linear, "linear(M=17,N=33,K={31,128,1024},out=f32,fill={normal,positive})", "value:out", "LIN-1: 1 1/4 times its end",
  .edge = -1.25)
B(edge_high, linear, "linear(M=17,N=33,K={31,128,1024},out=f32,fill={normal,positive})", "value:out",
  "LIN-1: 1 1/4 times its end", .edge = 1.25)
B(edge_bf16, linear, "linear(M=17,N=129,K=1024,fill=normal)", "value:out", "the same through a BF16 out", .edge = 1.25)
B(k8_edge, linear, "linear(M=17,N=33,K=1024,out=f32,fill=positive)", "value:out", "1.4 K + 32, not declared", .k8 = true,
  .edge = 0.9999)
BK(k8_edge_low, linear, "linear(M=17,N=33,K=1024,out=f32,fill=normal)", "value:out", "1.4 K + 32, 1 1/4 times", .k8 = true,
   .edge = -1.25)
BK(k8_edge_high, linear, "linear(M=17,N=33,K=1024,out=f32,fill=normal)", "value:out", "1.4 K + 32, 1 1/4 times", .k8 = true,
   .edge = 1.25)

#undef RMS_LOW
#undef RMS_HIGH
#undef V
#undef D
#undef B
#undef VD
#undef BD
#undef VK
#undef BK
