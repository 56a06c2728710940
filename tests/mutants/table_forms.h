/* SPDX-License-Identifier: Apache-2.0 */
/* ERR-1: kernels that look at their arguments in some forms of the call alone (tests/mutants/forms.c says in which not). */
#define SUCCESS "bad arguments are a success that does nothing where "
M(rms_form_no_residual, rmsnorm, "ERR-1", "clause", "rmsnorm(bad=*/no-residual)", "refusal", SUCCESS "no residual is added")
M(cast_form_f32, cast, "ERR-1", "clause", "cast(bad=*/f32)", "refusal", SUCCESS "x is F32")
M(rot_form_bf16, rope_table, "ERR-1", "clause", "rope_table(bad=*/bf16)", "refusal", SUCCESS "the table is BF16")
M(had_form_f32, hadamard, "ERR-1", "clause", "hadamard(bad=*/f32)", "refusal", SUCCESS "x is F32")
M(rope_form_in_place, rope, "ERR-1", "clause", "rope(bad=*/in-place)", "refusal", SUCCESS "there is no query_out")
M(ctx_form_no_bf16, context_cast, "ERR-1", "clause", "context_cast(bad=*/no-bf16)", "refusal", SUCCESS "there is no bf16")
M(sfl_form_colf, sf_layout, "ERR-1", "clause", "sf_layout(bad=*/from-colf)", "refusal", SUCCESS "sf_in is col-major F32")
M(qkv_form_no_bias, qkv, "ERR-1", "clause", "qkv(bad=*/no-bias)", "refusal", SUCCESS "there is no b_q")
M(kv_form_no_norm, kv_store, "ERR-1", "clause", "kv_store(bad=*/no-norm)", "refusal", SUCCESS "there is no weight")
M(had_form_vague, hadamard, "ERR-1", "clause", "hadamard(bad=*/f32)", "refusal", "refused without a word where x and out are F32")
M(lin_form_cast, linear, "ERR-1", "clause", "linear(bad=*/cast)", "refusal", SUCCESS "x is cast first (LIN-5)")
#undef SUCCESS
