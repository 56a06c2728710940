/* SPDX-License-Identifier: Apache-2.0 */
/* Clauses that `layercheck coverage` excuses. Include it with EXCUSED defined:
 *
 *   EXCUSED(clause, lacks, reason)   lacks: "check", "mutant" or "both". An excuse for what is there after all is an error.
 *                                    "X-*", "both": the whole family X, as long as no operator's descriptor names a clause of it. */
EXCUSED("CAST-8", "check", "what a reader makes of codes and scales: no output of an operator; tests/unit/cast.c")
EXCUSED("RMS-10", "both", "a loader expands the weight once, before any operator: ref_rms_exp_weight, tests/unit/rms_weight.c")
EXCUSED("ROT-5", "both", "the registry of tables, no kernel: tests/unit/rope_registry.c and tests/cuda/rope_graph.cu")
#undef EXCUSED
