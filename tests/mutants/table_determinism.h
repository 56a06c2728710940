/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of table.h, which includes this: kernels whose every element is right by itself, but that give other bits in another
 * call. `layercheck determinism` finds them, no single case does. */

M(rms_order_by_counter, rmsnorm, "DET-1", "R24", "rmsnorm(M=17,d=1000,out=f32)", "determinism:repeat",
  "every eighth call sums in another order")
M(rms_cached_by_address, rmsnorm, "DET-1", "T08", "rmsnorm(M=17,d=1000,out=f32)", "determinism:reuse",
  "row 0's mean square is remembered by the address of x")
M(cast_amax_keeps_sf, cast, "DET-3", "T10", "cast(M=17,d=512,sf=row,round=0)", "determinism:stale",
  "the maximum starts from the scale that is there, if it looks like one")
M(rms_order_by_address, rmsnorm, "DET-2", "R16", "rmsnorm(M=17,d=1000,out=f32,at=16)", "determinism:base",
  "another order where x is not 16-byte aligned")
M(rms_order_by_stride, rmsnorm, "DET-2", "R18", "rmsnorm(M=17,d=512,out=f32)", "determinism:strides",
  "another order where rows of x have gaps")
M(rms_order_by_m, rmsnorm, "DET-2", "R22", "rmsnorm(M=257,d=1000,out=f32)", "determinism:batch", "another order below 256 rows")
M(rms_order_by_place, rmsnorm, "DET-2", "clause", "rmsnorm(M=17,d=1000,out=f32)", "determinism:position",
  "another order in every second row")
M(rms_shared_accumulator, rmsnorm, "DET-2", "R24", "rmsnorm(M=17,d=1000,out=f32)", "determinism:neighbours",
  "the sum of the row before is added and taken away again")
M(rms_order_by_threads, rmsnorm, "DET-2", "clause", "rmsnorm(M=17,d=1000,out=f32)", "determinism:threads",
  "another order with more than two threads")

/* ---- on a CUDA device ---- */
MC(cu_rms_atomics, rmsnorm, "DET-1", "clause", "rmsnorm(M=257,d=1000,out=f32)", "determinism:repeat",
   "the warps' sums are joined by atomicAdd, in the order in which they come")
MC(cu_rms_cached_by_address, rmsnorm, "DET-1", "T08", "rmsnorm(M=17,d=1000,out=f32)", "determinism:reuse",
   "row 0's sum is remembered by the address of x")
MC(cu_rms_order_by_load, rmsnorm, "DET-1", "clause", "rmsnorm(M=17,d=1000,out=f32)", "determinism:busy",
   "another order in a block that shares its multiprocessor")
MC(cu_rms_own_stream, rmsnorm, "DET-1", "N01", "rmsnorm(M=17,d=1000,out=f32)", "determinism:stream",
   "launched on the legacy stream, not the call's")
MC(cu_rms_frozen_weight, rmsnorm, "DET-1", "N04", "rmsnorm(M=17,d=1000,out=f32)", "determinism:graph",
   "weight[0] is read by the host, and frozen in a graph")
MC(cu_cast_amax_keeps_sf, cast, "DET-3", "G13", "cast(M=17,d=512,sf=row,round=0)", "determinism:stale",
   "the maximum starts from the scale that is there, if it looks like one")
MC(cu_rms_order_by_address, rmsnorm, "DET-2", "R16", "rmsnorm(M=17,d=1000,out=f32,at=16)", "determinism:base",
   "another order where x is not 16-byte aligned")
MC(cu_rms_order_by_stride, rmsnorm, "DET-2", "R18", "rmsnorm(M=17,d=512,out=f32)", "determinism:strides",
   "another order where rows of x have gaps")
MC(cu_rms_order_by_m, rmsnorm, "DET-2", "R22", "rmsnorm(M=257,d=1000,out=f32)", "determinism:batch",
   "another order below 256 rows")
MC(cu_rms_order_by_place, rmsnorm, "DET-2", "clause", "rmsnorm(M=17,d=1000,out=f32)", "determinism:position",
   "another order in every second row")
MC(cu_rms_shared_accumulator, rmsnorm, "DET-2", "R24", "rmsnorm(M=17,d=1000,out=f32)", "determinism:neighbours",
   "an element of the next row is added and taken away again")
MC(cu_rms_order_by_processor, rmsnorm, "DET-2", "clause", "rmsnorm(M=257,d=1000,out=f32)", "determinism:occupied",
   "another order on every second multiprocessor")
