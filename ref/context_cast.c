/* SPDX-License-Identifier: Apache-2.0 */
/* The inverse rotation of the attention context, and the E4M3 cast that the output projection reads.
 *
 *   y    = rotation of [D - rotary_dim, D) of each head, conjugate; the rest of a head as it is      APPLY-1, APPLY-2
 *   bf16 = RN_bf16(y)                                                                                KV-7
 *   out  = codes and scales of CAST(bf16), (N, heads * D), G = 32, power-of-two scales               KV-7, CAST-1..5
 *
 * Dialects   f32 CAST(y) with y in f32: no rounding between (KV-7).
 * Source     docs/contract.md KV-6, KV-7, APPLY-1..6, CAST, SF.
 * Shapes     context (N, heads, D), bf16 the same; table (rows, rotary_dim); positions (N); out (N, heads * D), contiguous; sf and
 *            extra_sf of that matrix, SF-3 by default. N = 0 writes nothing. context is only read.
 * Freedom    of y as in ref/rope.c. With the BF16 output, codes and scales are judged given it: bitwise; without it, by interval
 *            (RMS-6).
 * Edges      a NaN or an Inf stays in its pair, and leaves the rest of its group of 32 unspecified (CAST-7). Where |a c| + |b s| >=
 *            2^127 the element and its group are not judged. A position outside the table is refused (ERR-2). */
#include <math.h>
#include <string.h>

#include "args.h"

size_t ref_context_cast_work(const union op_args *args)
{
    return (size_t) args->context_cast.rope.rotary_dim * sizeof(double);
}

static uint16_t bits(const struct lc_tensor *t, int64_t token, int64_t head, int64_t i)
{
    return ((const uint16_t *) t->data)[token * t->stride[0] + head * t->stride[1] + i];
}

/* y of one token, and where it is not judged. */
static void rotate_back(const struct context_cast_args *a, int64_t token, const double *table, struct iv *y, uint8_t *open)
{
    const struct rope_args *const r = &a->rope;
    const struct ref_rotation how = { r->rotary_dim / 2, r->interleaved, true, a->t[CTX_TABLE]->dtype == LC_BF16 };
    memset(open, 0, (size_t) (r->heads[0] * r->d));
    for (int64_t h = 0; h < r->heads[0]; h++) {
        struct iv *const head = y + h * r->d;
        for (int64_t i = 0; i < r->d; i++)
            head[i] = iv_pt(fmt_load(LC_BF16, bits(a->t[CTX_CONTEXT], token, h, i)));
        ref_rope_rotate(&how, table, table + r->rotary_dim / 2, head + r->offset, open + h * r->d + r->offset);
    }
}

static void leave_free(const struct context_cast_args *a, struct ref_want *want)
{
    const size_t n = (size_t) (a->rope.heads[0] * a->rope.d);
    memset(want->free[CTX_OUT], 1, n);
    memset(want->free[CTX_SF], 1, (size_t) sf_cols(&a->sf));
    if (a->t[CTX_BF16])
        memset(want->free[CTX_BF16], 1, n);
    if (a->t[CTX_EXTRA_SF])
        memset(want->free[CTX_EXTRA_SF], 1, (size_t) a->sf.groups);
}

void ref_context_cast_row(const union op_args *args, int64_t row, const struct ref_got *got, struct ref_want *want)
{
    const struct context_cast_args *const a = &args->context_cast;
    const int64_t n = a->rope.heads[0] * a->rope.d;
    struct iv *const y = want->y, *const x = want->at[CTX_OUT]; /* the cast works in place */
    uint8_t *const open = want->free[CTX_OUT];
    if (ref_rope_lost(args, row)) { /* ERR-2 */
        leave_free(a, want);
        return;
    }
    ref_rope_load_table(&a->rope, ref_rope_position(args, row), want->work);
    rotate_back(a, row, want->work, y, open);
    for (int64_t i = 0; i < n; i++) {
        if (open[i])
            y[i] = iv_pt(INFINITY); /* to the cast as to the judge: unspecified (CAST-7) */
        else if (want->given_y && iv_is_finite(y[i]))
            y[i] = want->given_y[i];
        want->ambiguous += !iv_is_nan(y[i]) && !iv_is_pt(iv_round(LC_BF16, y[i]));
        if (a->t[CTX_BF16])
            want->at[CTX_BF16][i] = y[i];
        if (a->f32)
            x[i] = iv_round(LC_F32, y[i]); /* an f32 that no output shows */
        else
            x[i] = iv_round(LC_BF16, pick(LC_BF16, y[i], got->code[CTX_BF16] ? &got->code[CTX_BF16][i] : NULL)); /* KV-7 */
    }
    if (a->t[CTX_BF16])
        memcpy(want->free[CTX_BF16], open, (size_t) n);
    ref_cast_groups(&a->sf, a->f32 ? LC_F32 : LC_BF16, n, x, got->code[CTX_SF], x, open, want->at[CTX_SF], want->free[CTX_SF],
                    want);
    if (a->t[CTX_EXTRA_SF]) { /* SF-4: the same bytes once more */
        memcpy(want->at[CTX_EXTRA_SF], want->at[CTX_SF], (size_t) a->sf.groups * sizeof *y);
        memcpy(want->free[CTX_EXTRA_SF], want->free[CTX_SF], (size_t) a->sf.groups);
    }
}

/* ---- KV-6, KV-7: what is accepted ---- */

/* context and bf16. A stride is about where the second token or head lies: of a single one any is accepted, as RMS-8 has it. KV-6 does
 * not say so, and a kernel that refuses such a stride is right too: no case has one. */
static int check_view(const struct lc_call *call, const struct lc_tensor *t, const struct lc_tensor *context)
{
    int status = arg_is_view(call, t, "KV-6");
    if (!status)
        status = arg_dtype(call, t, "KV-7", 1u << LC_BF16);
    if (!status && t->rank != 3)
        return arg_refuse(call, t->name, "KV-7", "rank %d: must be 3, (N, heads, D)", (int) t->rank);
    if (!status)
        status = arg_same_shape(call, t, context, "KV-7");
    if (status)
        return status;
    if (t->shape[1] < 1)
        return arg_refuse(call, t->name, "KV-7", "shape[1] = %lld: must be at least one head", (long long) t->shape[1]);
    if (t->stride[2] != 1)
        return arg_refuse(call, t->name, "KV-6", "stride(-1) = %lld: must be 1", (long long) t->stride[2]);
    for (int i = 0; i < 2; i++)
        if (t->shape[i] > 1 && t->stride[i] % 16)
            return arg_refuse(call, t->name, "KV-6", "stride[%d] = %lld: must be a multiple of 16 elements", i,
                              (long long) t->stride[i]);
    return LC_OK;
}

/* The codes: (N, heads * D), contiguous. */
static int check_codes(const struct lc_call *call, const struct lc_tensor *t, const struct lc_tensor *matrix)
{
    int status = arg_is_view(call, t, "CAST-10");
    if (!status)
        status = arg_dtype(call, t, "KV-7", 1u << LC_E4M3);
    if (!status)
        status = arg_same_shape(call, t, matrix, "KV-7");
    return status ? status : arg_contiguous(call, t, "CAST-10");
}

/* KV-7: G = 32, power-of-two scales, in any layout. */
static int check_scales(const struct lc_call *call, const struct lc_tensor *matrix, struct context_cast_args *a)
{
    if (arg_int(call, "group", 32) != 32)
        return arg_refuse(call, "group", "KV-7", "%lld: must be 32", (long long) arg_int(call, "group", 32));
    if (arg_int(call, "round_sf", 1) != 1)
        return arg_refuse(call, "round_sf", "KV-7", "%lld: must be 1", (long long) arg_int(call, "round_sf", 1));
    return arg_sf(call, matrix, a->t[CTX_SF], a->t[CTX_EXTRA_SF], &a->sf);
}

int ref_context_cast_check(const struct lc_call *call, union op_args *out)
{
    static const char *const name[CTX_TENSORS] = { "context", "out", "table", "positions", "bf16", "sf", "extra_sf" };
    struct context_cast_args a = { .rope = { .conjugate = true } };
    bool bf16 = false, extra = false;
    int status = arg_switch(call, "return_bf16", false, "KV-7", &bf16);
    if (!status)
        status = arg_switch(call, "extra_sf", false, "SF-4", &extra);
    if (!status)
        status = arg_switch(call, "interleaved", false, "APPLY-1", &a.rope.interleaved);
    if (status)
        return status;
    const bool on[CTX_TENSORS] = { true, true, true, true, bf16, true, extra };
    for (int i = 0; i < CTX_TENSORS; i++) {
        a.t[i] = on[i] ? arg_tensor(call, name[i]) : NULL; /* RMS-11 */
        if (on[i] && !a.t[i] && i <= CTX_BF16)
            return arg_refuse(call, name[i], "KV-7", "not given");
    }
    const int64_t dialect = arg_int(call, "dialect", 0);
    if (dialect < 0 || dialect > 1)
        return arg_refuse(call, "dialect", "KV-7", "%lld: no such dialect", (long long) dialect);
    a.f32 = dialect == 1;

    const struct lc_tensor *const context = a.t[CTX_CONTEXT];
    status = check_view(call, context, context);
    if (status)
        return status;
    struct rope_args *const r = &a.rope;
    r->n = context->shape[0], r->heads[0] = context->shape[1], r->d = context->shape[2];
    r->t[ROPE_QUERY] = context, r->t[ROPE_TABLE] = a.t[CTX_TABLE], r->t[ROPE_POSITIONS] = a.t[CTX_POSITIONS];
    const struct lc_tensor matrix = {
        "context", context->data, LC_BF16, 2, { r->n, r->heads[0] * r->d }, { r->heads[0] * r->d, 1 }
    };
    status = ref_rope_check_table(call, r, true);
    if (!status)
        status = check_codes(call, a.t[CTX_OUT], &matrix);
    if (!status && bf16)
        status = check_view(call, a.t[CTX_BF16], context);
    if (!status)
        status = check_scales(call, &matrix, &a);
    if (status)
        return status;

    const struct lc_tensor sf = sf_whole(&a.sf, a.t[CTX_SF]);
    const struct lc_tensor extra_sf = extra ? sf_extra_whole(&a.sf, a.t[CTX_EXTRA_SF]) : sf;
    const struct lc_tensor *const ins[3] = { context, a.t[CTX_TABLE], a.t[CTX_POSITIONS] };
    const struct lc_tensor *const outs[4] = { a.t[CTX_OUT], a.t[CTX_BF16], &sf, extra ? &extra_sf : NULL };
    status = arg_no_overlap(call, ins, 3, outs, 4, NULL, "DET-4");
    if (!status)
        out->context_cast = a;
    return status;
}
