/* SPDX-License-Identifier: Apache-2.0 */
#include "plain.h"

/* The form of the call that a kernel does not look at: an operand is there, of this dtype, and another one is not. */
static const struct {
    enum mutant mut;
    const char *there;
    int dtype; /* -1: any */
    const char *not_there;
} forms[] = {
    { MUT_rms_form_no_residual, NULL, -1, "residual" }, { MUT_cast_form_f32, "x", LC_F32, NULL },
    { MUT_rot_form_bf16, "table", LC_BF16, NULL },      { MUT_had_form_f32, "x", LC_F32, NULL },
    { MUT_rope_form_in_place, NULL, -1, "query_out" },  { MUT_ctx_form_no_bf16, NULL, -1, "bf16" },
    { MUT_sfl_form_colf, "sf_in", LC_F32, NULL },       { MUT_qkv_form_no_bias, NULL, -1, "b_q" },
    { MUT_kv_form_no_norm, NULL, -1, "weight" },        { MUT_lin_form_cast, "weight_sf", -1, "x_sf" },
};

int plain_form(const struct lc_call *call, enum mutant mut, int status)
{
    const struct lc_tensor *const x = arg_tensor(call, "x"), *const out = arg_tensor(call, "out");
    if (mut == MUT_had_form_vague && status == LC_BAD_ARG && x && out && x->dtype == LC_F32 && out->dtype == LC_F32 &&
        call->msg_size > 0)
        call->msg[0] = 0;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct lc_tensor *const there = forms[i].there ? arg_tensor(call, forms[i].there) : NULL;
        if (mut == forms[i].mut && status == LC_BAD_ARG && (!forms[i].there || there) &&
            (forms[i].dtype < 0 || there->dtype == forms[i].dtype) &&
            (!forms[i].not_there || !arg_tensor(call, forms[i].not_there)))
            return LC_OK;
    }
    return status;
}
