/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of table.h, which includes this: offsets held in 32 bits (R20). Only a view that spans 2^32 elements shows them; row 2 of
 * a stride just above 2^31 then wraps to a place beside row 0. plain_row wraps the tensor that the row here names. */

M(cast_offset_32, cast, "CAST-10", "R20", "cast(M=3,d=128,xs=2147483648)", "value:out", "the row offset of x in 32 bits")
M(cast_offset_31, cast, "CAST-10", "R20", "cast(M=3,d=128,xs=2147483648)", "crash",
  "the row offset of x in 32 bits, signed: it goes below the base")
M(cast_batch_offset_32, cast, "CAST-10", "R20", "cast(rank=3,B=3,M=2,d=128,bs=2147483648)", "value:out",
  "the batch offset of x in 32 bits")
M(rms_x_offset_32, rmsnorm, "RMS-8", "R20", "rmsnorm(M=3,d=128,xs=2147483648)", "value:out", "the row offset of x in 32 bits")
M(rms_x_offset_31, rmsnorm, "RMS-8", "R20", "rmsnorm(M=3,d=128,xs=2147483648)", "crash",
  "the row offset of x in 32 bits, signed: it goes below the base")
M(rms_residual_offset_32, rmsnorm, "RMS-8", "R20", "rmsnorm(M=3,d=128,res=1,rs=2147483648)", "value:residual_out",
  "the row offset of residual in 32 bits")
M(rms_out_offset_32, rmsnorm, "RMS-8", "R20", "rmsnorm(M=3,d=128,os=2147483648)", "value:out", "the row offset of out in 32 bits")
M(rms_bf16_offset_32, rmsnorm, "RMS-8", "R20", "rmsnorm(M=3,d=128,out=e4m3,bf16=1,bfs=2147483648)", "value:bf16",
  "the row offset of bf16 in 32 bits")
M(rms_residual_out_offset_32, rmsnorm, "RMS-8", "R20", "rmsnorm(M=3,d=128,res=1,ros=2147483648)", "value:residual_out",
  "the row offset of residual_out in 32 bits")
M(rms_batch_offset_32, rmsnorm, "RMS-8", "R20", "rmsnorm(rank=3,B=3,M=2,d=128,bs=2147483648)", "value:out",
  "the batch offset of x in 32 bits")
M(had_x_offset_32, hadamard, "HAD-4", "R20", "hadamard(M=3,n=128,xs=2147483648)", "value:out", "the row offset of x in 32 bits")
M(had_x_offset_31, hadamard, "HAD-4", "R20", "hadamard(M=3,n=128,xs=2147483648)", "crash",
  "the row offset of x in 32 bits, signed: it goes below the base")
M(had_out_offset_32, hadamard, "HAD-4", "R20", "hadamard(M=3,n=128,os=2147483648)", "value:out",
  "the row offset of out in 32 bits")
M(had_batch_offset_32, hadamard, "HAD-4", "R20", "hadamard(rank=3,B=3,M=2,n=128,bs=2147483648)", "value:out",
  "the batch offset of x in 32 bits")

/* ---- on a CUDA device: all tensors ---- */
MC(cu_cast_offset_32, cast, "CAST-10", "R20", "cast(M=3,d=128,xs=2147483648)", "value:out", "row offsets in 32 bits")
MC(cu_rms_offset_32, rmsnorm, "RMS-8", "R20", "rmsnorm(M=3,d=128,ros=2147483648,res=1)", "value:residual_out",
   "row offsets in 32 bits")
MC(cu_had_offset_32, hadamard, "HAD-4", "R20", "hadamard(M=3,n=128,os=2147483648)", "value:out", "row offsets in 32 bits")
