/* SPDX-License-Identifier: Apache-2.0 */
/* What linear accepts (LIN-1..7, LIN-9, LIN-10), and its views as functions of themselves (LIN-3, LIN-4). The rest is linear.c. */
#include <inttypes.h>

#include "args.h"

enum { GROUP = 32, WORD = 128, ALIGN = 32 };

/* ---- LIN-3, LIN-4: what is a matrix ---- */

bool ref_linear_aligned(const struct lc_tensor *out)
{
    return out->rank < 2 || out->stride[out->rank - 2] * fmt_bytes((enum lc_dtype) out->dtype) % ALIGN == 0;
}

bool ref_linear_flatten(const struct lc_tensor *t, int64_t *m, int64_t *row_stride)
{
    *m = 1;
    *row_stride = t->rank < 2 ? t->shape[t->rank - 1] : t->stride[t->rank - 2];
    for (int i = 0; i < t->rank - 1; i++)
        *m *= t->shape[i];
    for (int i = 0; i < t->rank - 2; i++)
        if (t->stride[i] != t->stride[i + 1] * t->shape[i + 1] && *m > 0) /* no rows: no layout */
            return false;
    return true;
}

int64_t ref_linear_row_bytes(int64_t n, int itemsize)
{
    return (n * itemsize + ALIGN - 1) / ALIGN * ALIGN;
}

/* ---- LIN-1..7, LIN-9, LIN-10: what is accepted ---- */

static long long ll(int64_t v)
{
    return (long long) v;
}

static int check_last(const struct lc_call *call, const struct lc_tensor *t, const char *clause)
{
    if (t->stride[t->rank - 1] == 1)
        return LC_OK;
    return arg_refuse(call, t->name, clause, "stride(-1) = %lld: must be 1", ll(t->stride[t->rank - 1]));
}

static int check_flat(const struct lc_call *call, const struct lc_tensor *t, const char *clause)
{
    int64_t m, stride;
    if (ref_linear_flatten(t, &m, &stride))
        return LC_OK;
    return arg_refuse(call, t->name, clause, "stride[0] = %lld: must be stride[1] * shape[1] = %lld, or rows do not flatten",
                      ll(t->stride[0]), ll(t->stride[1] * t->shape[1]));
}

static int check_x(const struct lc_call *call, struct linear_args *a)
{
    const struct lc_tensor *const x = a->t[LIN_X];
    int status = arg_is_view(call, x, "LIN-10");
    if (!status)
        status = arg_dtype(call, x, "LIN-5", 1u << LC_BF16 | 1u << LC_E4M3);
    if (!status)
        status = check_last(call, x, "LIN-10");
    if (!status)
        status = check_flat(call, x, "LIN-10");
    if (status)
        return status;
    ref_linear_flatten(x, &a->m, &a->x_stride);
    a->k = x->shape[x->rank - 1];
    if (a->m > 1 && a->x_stride < a->k)
        return arg_refuse(call, "x", "LIN-10", "stride(-2) = %lld: must be at least K = %lld", ll(a->x_stride), ll(a->k));
    if (a->m > 1 && x->dtype == LC_E4M3 && a->x_stride % 16)
        return arg_refuse(call, "x", "LIN-10", "stride(-2) = %lld: must be a multiple of 16 for codes", ll(a->x_stride));
    return LC_OK;
}

static int check_weight(const struct lc_call *call, struct linear_args *a)
{
    const struct lc_tensor *const x = a->t[LIN_X], *const w = a->t[LIN_WEIGHT];
    int status = arg_is_view(call, w, "LIN-10");
    if (!status)
        status = arg_dtype(call, w, "LIN-6", 1u << LC_BF16 | 1u << LC_E4M3 | 1u << LC_E2M1X2);
    if (status)
        return status;
    if (w->rank != 2)
        return arg_refuse(call, "weight", "LIN-10", "rank %d: must be (N, K)", (int) w->rank);
    a->n = w->shape[0];
    a->fp8 = w->dtype != LC_BF16;
    a->cast_x = a->fp8 && x->dtype == LC_BF16;
    if (!a->fp8 && x->dtype != LC_BF16)
        return arg_refuse(call, "x", "LIN-6", "dtype e4m3: a BF16 weight takes BF16 x");
    const int64_t cols = w->dtype == LC_E2M1X2 ? a->k / 2 : a->k;
    if (w->shape[1] != cols || (w->dtype == LC_E2M1X2 && a->k % 2))
        return arg_refuse(call, "weight", "LIN-10", "shape[1] = %lld: must be %lld, K = %lld", ll(w->shape[1]), ll(cols),
                          ll(a->k));
    status = check_last(call, w, "LIN-10");
    if (status)
        return status;
    if (a->ragged && !a->fp8)
        return arg_refuse(call, "ragged", "LIN-7", "1: BF16 weights have no scales to pack");
    const int64_t step = a->ragged ? GROUP : WORD;
    if (a->fp8 && a->k % step)
        return arg_refuse(call, "x", "LIN-7", "K = %lld: must be a multiple of %lld", ll(a->k), ll(step));
    return LC_OK;
}

/* SF-3 of a (rows, K) matrix, also where a size is 1. SF-3 itself has a batch dimension; here x is the matrix that it flattens to
 * (LIN-4, LIN-10), so the scales of an x of rank 3 are those of B * M rows in one piece, padded once behind the last: rank 2, M =
 * B * M, B = 1 in SF-3's formula (LIN-5 names the layout, not this reading of it: decided here). */
static int check_sf(const struct lc_call *call, const struct linear_args *a, int which, const char *name, int64_t rows)
{
    const struct lc_tensor *const sf = a->t[which];
    const bool wanted = a->fp8 && (which == LIN_WEIGHT_SF || !a->cast_x);
    if (!wanted)
        return sf ? arg_refuse(call, name, "LIN-5", "given: only with codes that have scales") : LC_OK;
    if (!sf)
        return arg_refuse(call, name, "LIN-5", "not given: codes have scales");
    int status = arg_is_view(call, sf, "SF-3");
    if (!status)
        status = arg_dtype(call, sf, "SF-3", 1u << LC_I32);
    if (status)
        return status;
    const int64_t shape[2] = { rows, sf_words(&a->sf) }, stride[2] = { 1, (rows + 3) / 4 * 4 };
    if (sf->rank != 2)
        return arg_refuse(call, name, "SF-3", "rank %d: must be (%lld, %lld)", (int) sf->rank, ll(shape[0]), ll(shape[1]));
    for (int i = 0; i < 2; i++)
        if (sf->shape[i] != shape[i])
            return arg_refuse(call, name, "SF-3", "shape[%d] = %lld: must be %lld", i, ll(sf->shape[i]), ll(shape[i]));
    if (shape[0] == 0 || shape[1] == 0)
        return LC_OK;
    if ((uintptr_t) sf->data % 16)
        return arg_refuse(call, name, "SF-3", "data = %p: the storage must be 16-byte aligned", sf->data);
    return arg_strides(call, sf, stride, true, "SF-3");
}

static int check_out(const struct lc_call *call, const struct linear_args *a, const struct lc_tensor *t, const char *clause)
{
    const struct lc_tensor *const x = a->t[LIN_X];
    int status = arg_is_view(call, t, clause);
    if (!status)
        status = arg_dtype(call, t, a->fp8 ? "LIN-5" : "LIN-1", 1u << LC_BF16 | (a->fp8 ? 0 : 1u << LC_F32));
    if (status)
        return status;
    if (t->rank != x->rank)
        return arg_refuse(call, t->name, clause, "rank %d: x has rank %d", (int) t->rank, (int) x->rank);
    for (int i = 0; i < t->rank; i++) {
        const int64_t want = i < t->rank - 1 ? x->shape[i] : a->n;
        if (t->shape[i] != want)
            return arg_refuse(call, t->name, clause, "shape[%d] = %lld: must be %lld", i, ll(t->shape[i]), ll(want));
    }
    return check_last(call, t, clause);
}

static int check_bias(const struct lc_call *call, const struct linear_args *a)
{
    const struct lc_tensor *const bias = a->t[LIN_BIAS];
    if (!bias)
        return LC_OK;
    if (a->fp8)
        return arg_refuse(call, "bias", "LIN-5", "given: not with weights of one byte");
    int status = arg_is_view(call, bias, "LIN-9");
    if (!status)
        status = arg_dtype(call, bias, "LIN-9", 1u << LC_BF16 | (a->out->dtype == LC_F32 ? 1u << LC_F32 : 0));
    if (status)
        return status;
    if (bias->rank != 1 || bias->shape[0] != a->n)
        return arg_refuse(call, "bias", "LIN-9", "shape[0] = %lld, rank %d: must be (%lld)", ll(bias->shape[0]), (int) bias->rank,
                          ll(a->n));
    return arg_contiguous(call, bias, "LIN-9");
}

/* LIN-2: one view. Where a dimension has one entry its stride says nothing. */
static bool same_view(const struct lc_tensor *s, const struct lc_tensor *t)
{
    bool same = s->data == t->data;
    for (int i = 0; i < s->rank; i++)
        same = same && (s->stride[i] == t->stride[i] || s->shape[i] == 1);
    return same;
}

/* LIN-2, LIN-4, of out_acc; and which tensor is written. */
static int check_outputs(const struct lc_call *call, struct linear_args *a)
{
    const struct lc_tensor *const given = a->t[LIN_OUT], *const acc = a->t[LIN_OUT_ACC];
    if (!given && !acc)
        return arg_refuse(call, "out", "LIN-2", "not given, nor out_acc");
    int status = given ? check_out(call, a, given, "LIN-3") : LC_OK;
    if (!status && acc)
        status = check_out(call, a, acc, "LIN-2");
    a->out = a->t[LIN_OUT] = given ? given : acc;
    if (status || !acc)
        return status;
    a->in_place = !given || same_view(given, acc);
    if (acc->dtype != a->out->dtype)
        return arg_refuse(call, "out_acc", "LIN-2", "dtype %s: out has %s", fmt_name((enum lc_dtype) acc->dtype),
                          fmt_name((enum lc_dtype) a->out->dtype));
    if (!ref_linear_aligned(acc))
        return arg_refuse(call, "out_acc", "LIN-4", "stride(-2) = %lld: its bytes must be a multiple of %d",
                          ll(acc->stride[acc->rank - 2]), ALIGN);
    if (given && !ref_linear_aligned(given))
        return arg_refuse(call, "out", "LIN-2", "stride(-2) = %lld: out_acc is aligned to %d bytes, so must out be",
                          ll(given->stride[given->rank - 2]), ALIGN);
    return check_flat(call, acc, "LIN-4");
}

int ref_linear_check(const struct lc_call *call, union op_args *out)
{
    static const char *const name[LIN_TENSORS] = { "x", "x_sf", "weight", "weight_sf", "bias", "out_acc", "out" };
    struct linear_args a = { 0 };
    for (int i = 0; i < LIN_TENSORS; i++)
        a.t[i] = arg_tensor(call, name[i]);
    if (!a.t[LIN_X] || !a.t[LIN_WEIGHT])
        return arg_refuse(call, a.t[LIN_X] ? "weight" : "x", "LIN-10", "not given");
    const int64_t dialect = arg_int(call, "dialect", LIN_USUAL);
    if (dialect < 0 || dialect >= LIN_DIALECTS)
        return arg_refuse(call, "dialect", "LIN-2", "%" PRId64 ": no such dialect", dialect);
    a.dialect = (enum linear_dialect) dialect;
    int status = arg_switch(call, "ragged", false, "LIN-7", &a.ragged);
    if (!status)
        status = check_x(call, &a);
    if (!status)
        status = check_weight(call, &a);
    if (status)
        return status;
    a.sf = (struct sf_args) { .group = GROUP, .groups = a.fp8 ? a.k / GROUP : 0, .round = true, .col = true, .packed = true };
    a.sf.ragged = a.ragged ? RAGGED_PACK : RAGGED_NO;
    status = check_sf(call, &a, LIN_X_SF, name[LIN_X_SF], a.m);
    if (!status)
        status = check_sf(call, &a, LIN_WEIGHT_SF, name[LIN_WEIGHT_SF], a.n);
    if (!status)
        status = check_outputs(call, &a);
    if (!status)
        status = check_bias(call, &a);
    if (status)
        return status;
    if (a.dialect == LIN_REDUCE_ADD && a.out->dtype != LC_BF16)
        return arg_refuse(call, "dialect", "LIN-2", "reduce-add (1): its output is BF16");
    const struct lc_tensor *const acc = a.in_place ? NULL : a.t[LIN_OUT_ACC];
    const struct lc_tensor *const ins[5] = { a.t[LIN_X], a.t[LIN_X_SF], a.t[LIN_WEIGHT], a.t[LIN_WEIGHT_SF], a.t[LIN_BIAS] };
    status = arg_no_overlap(call, ins, 5, &a.out, 1, NULL, "DET-4");
    if (!status)
        status = arg_no_overlap(call, &acc, 1, &a.out, 1, NULL, "LIN-2");
    if (!status)
        out->linear = a;
    return status;
}
