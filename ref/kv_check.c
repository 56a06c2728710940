/* SPDX-License-Identifier: Apache-2.0 */
/* KV-1, KV-5, KV-6: what kv_store accepts. KV-2, KV-3, the pool: ref/kv_pool.c. */
#include <math.h>

#include "args.h"

enum { MOST_D = 32768 }; /* as HAD-1 */

static int check_x(const struct lc_call *call, const struct lc_tensor *x)
{
    int status = arg_is_view(call, x, "KV-6");
    if (!status)
        status = arg_dtype(call, x, "KV-1", 1u << LC_BF16);
    if (status)
        return status;
    if (x->rank < 2)
        return arg_refuse(call, "x", "KV-1", "rank %d: must be (n, heads, head_dim) or (n, head_dim)", (int) x->rank);
    const int64_t d = x->shape[x->rank - 1];
    if (x->rank == 3 && x->shape[1] < 1)
        return arg_refuse(call, "x", "KV-1", "heads = %lld: must be at least 1", (long long) x->shape[1]);
    if (d < 1 || d > MOST_D)
        return arg_refuse(call, "x", "KV-1", "head_dim = %lld: must be 1 to %d", (long long) d, MOST_D);
    if (x->stride[x->rank - 1] != 1)
        return arg_refuse(call, "x", "KV-6", "stride(-1) = %lld: must be 1", (long long) x->stride[x->rank - 1]);
    for (int i = 0; i < x->rank - 1; i++)
        if (x->shape[i] > 1 && x->stride[i] % 16)
            return arg_refuse(call, "x", "KV-6", "stride[%d] = %lld: must be a multiple of 16 elements", i,
                              (long long) x->stride[i]);
    return LC_OK;
}

/* A contiguous vector. */
static int check_vector(const struct lc_call *call, const struct lc_tensor *t, int64_t n, unsigned dtypes, const char *clause)
{
    int status = arg_is_view(call, t, clause);
    if (!status)
        status = arg_dtype(call, t, clause, dtypes);
    if (!status && (t->rank != 1 || t->shape[0] != n))
        return arg_refuse(call, t->name, clause, "shape[0] = %lld, rank %d: must be (%lld)", (long long) t->shape[0],
                          (int) t->rank, (long long) n);
    return status ? status : arg_contiguous(call, t, clause);
}

static int check_norm(const struct lc_call *call, struct kv_store_args *a)
{
    a->eps = arg_real(call, "eps", 0);
    if (!(a->eps > 0 && isfinite(a->eps)) || rn_f32(a->eps) != a->eps)
        return arg_refuse(call, "eps", "RMS-12", "%g: must be a positive finite f32", a->eps);
    return check_vector(call, a->t[KV_WEIGHT], a->d, 1u << LC_BF16 | 1u << LC_F32, "KV-1");
}

static int check_rope(const struct lc_call *call, struct kv_store_args *a)
{
    const struct lc_tensor *const table = a->t[KV_TABLE];
    int status = arg_switch(call, "conjugate", false, "APPLY-2", &a->conjugate);
    if (!status)
        status = arg_switch(call, "interleaved", false, "APPLY-1", &a->interleaved);
    if (!status)
        status = arg_is_view(call, table, "APPLY-5");
    if (!status)
        status = arg_dtype(call, table, "APPLY-5", 1u << LC_BF16 | 1u << LC_F32);
    if (status)
        return status;
    a->offset = arg_int(call, "offset", 0);
    a->rotary_dim = table->shape[table->rank - 1];
    if (table->rank != 2)
        return arg_refuse(call, "table", "APPLY-5", "rank %d: must be (rows, rotary_dim)", (int) table->rank);
    if (a->offset < 0 || a->offset >= a->d)
        return arg_refuse(call, "offset", "APPLY-5", "%lld: must be 0 to %lld", (long long) a->offset, (long long) a->d - 1);
    if (a->rotary_dim < 2 || a->rotary_dim % 2 || a->rotary_dim > a->d - a->offset)
        return arg_refuse(call, "table", "APPLY-5", "width %lld: must be even, 2 to head_dim - offset = %lld",
                          (long long) a->rotary_dim, (long long) (a->d - a->offset));
    status = arg_contiguous(call, table, "ROT-4");
    return status ? status : check_vector(call, a->t[KV_POSITIONS], a->n, 1u << LC_I32 | 1u << LC_I64, "APPLY-4");
}

static int check_hadamard(const struct lc_call *call, struct kv_store_args *a)
{
    if (a->d < 2 || (a->d & (a->d - 1)))
        return arg_refuse(call, "x", "HAD-1", "head_dim = %lld: must be a power of two", (long long) a->d);
    a->scale = arg_real(call, "had_scale", rn_f32_rsqrt((double) a->d)); /* HAD-2 */
    if (!isfinite(a->scale) || rn_f32(a->scale) != a->scale)
        return arg_refuse(call, "had_scale", "HAD-6", "%g: must be a finite f32", a->scale);
    return LC_OK;
}

static int check_store(const struct lc_call *call, struct kv_store_args *a)
{
    const struct lc_tensor *const pool = a->t[KV_POOL], *const scales = a->t[KV_SCALES];
    int status = check_vector(call, a->t[KV_SLOTS], a->n, 1u << LC_I32 | 1u << LC_I64, "KV-2");
    if (!status)
        status = arg_is_view(call, pool, "KV-3");
    if (!status)
        status = check_vector(call, pool, pool->shape[0], 1u << LC_E4M3 | 1u << LC_UE8M0, "KV-3");
    if (!status)
        status = check_vector(call, scales, pool->shape[0], 1u << LC_UE8M0, "KV-3");
    if (status)
        return status;
    if (scales->data != pool->data)
        return arg_refuse(call, "scales", "KV-3", "data = %p: must be the pool itself", scales->data);
    a->pages = arg_int(call, "pages", 0);
    a->page_size = arg_int(call, "page_size", 1);
    a->codes = (struct kv_bytes) { 0, arg_int(call, "page_stride", 0), arg_int(call, "row_stride", 0),
                                   arg_int(call, "head_stride", 0) };
    a->scales = (struct kv_bytes) { arg_int(call, "scale_base", 0), arg_int(call, "scale_page_stride", 0),
                                    arg_int(call, "scale_row_stride", 0), arg_int(call, "scale_head_stride", 0) };
    return ref_kv_check_pool(call, a);
}

/* KV-5. The scales' layout is that of arg_sf's defaults. */
static int check_out(const struct lc_call *call, struct kv_store_args *a)
{
    const struct lc_tensor *const x = a->t[KV_X], *const out = a->t[KV_OUT];
    int status = arg_is_view(call, out, "KV-5");
    if (!status)
        status = arg_dtype(call, out, "KV-5", a->cast ? 1u << LC_E4M3 : 1u << LC_BF16);
    if (!status)
        status = arg_same_shape(call, out, x, "KV-5");
    if (!status)
        status = arg_contiguous(call, out, "KV-5");
    if (status || !a->cast)
        return status;
    struct lc_call bare = *call;
    struct lc_tensor rows = { .name = "x", .rank = 2, .shape = { a->n, a->heads * a->d } };
    if (a->per_head)
        rows = (struct lc_tensor) { .name = "x", .rank = 3, .shape = { a->n, a->heads, a->d } };
    bare.n_scalars = 0;
    return arg_sf(&bare, &rows, a->t[KV_SF], NULL, &a->sf);
}

static int check_switches(const struct lc_call *call, struct kv_store_args *a)
{
    static const char *const name[KV_TENSORS] = { "x",    "weight", "table", "positions", "slot_mapping",
                                                  "pool", "scales", "out",   "sf" };
    int status = arg_switch(call, "norm", false, "KV-1", &a->norm);
    if (!status)
        status = arg_switch(call, "rope", false, "KV-1", &a->rope);
    if (!status)
        status = arg_switch(call, "hadamard", false, "KV-1", &a->hadamard);
    if (!status)
        status = arg_switch(call, "cast", true, "KV-1", &a->cast);
    if (!status)
        status = arg_switch(call, "store", true, "KV-5", &a->store);
    if (!status)
        status = arg_switch(call, "per_head", false, "KV-5", &a->per_head);
    if (!status)
        status = arg_switch(call, "stage", false, "KV-1", &a->bf16_stages);
    if (!status && a->store && !a->cast)
        status = arg_refuse(call, "cast", "KV-1", "0: the pool holds codes");
    if (!status && a->per_head && (a->store || !a->cast))
        status = arg_refuse(call, "per_head", "KV-5", "1: is about the scales of a cast that is not stored");
    const bool on[KV_TENSORS] = {
        true, a->norm, a->rope, a->rope, a->store, a->store, a->store, !a->store, !a->store && a->cast
    };
    for (int i = 0; !status && i < KV_TENSORS; i++) {
        a->t[i] = on[i] ? arg_tensor(call, name[i]) : NULL;
        if (on[i] && !a->t[i])
            status = arg_refuse(call, name[i], i < KV_SLOTS ? "KV-1" : i < KV_OUT ? "KV-2" : "KV-5", "not given");
    }
    return status;
}

int ref_kv_store_check(const struct lc_call *call, union op_args *out)
{
    struct kv_store_args a = { .page_size = 1 };
    int status = check_switches(call, &a);
    const struct lc_tensor *const x = a.t[KV_X];
    if (!status)
        status = check_x(call, x);
    if (status)
        return status;
    a.n = x->shape[0];
    a.heads = x->rank == 3 ? x->shape[1] : 1;
    a.d = x->shape[x->rank - 1];
    a.sf = (struct sf_args) { .group = 32, .groups = a.d / 32, .round = true, .col = true, .packed = true };
    if (a.cast && a.d % 32)
        return arg_refuse(call, "x", "KV-1", "head_dim = %lld: the cast needs a multiple of 32", (long long) a.d);
    if (a.norm)
        status = check_norm(call, &a);
    if (!status && a.rope)
        status = check_rope(call, &a);
    if (!status && a.hadamard)
        status = check_hadamard(call, &a);
    if (!status)
        status = a.store ? check_store(call, &a) : check_out(call, &a);
    if (status)
        return status;
    struct lc_tensor sf = { 0 };
    if (a.t[KV_SF])
        sf = sf_whole(&a.sf, a.t[KV_SF]);
    const struct lc_tensor *const ins[5] = { x, a.t[KV_WEIGHT], a.t[KV_TABLE], a.t[KV_POSITIONS], a.t[KV_SLOTS] };
    const struct lc_tensor *const outs[3] = { a.t[KV_POOL], a.t[KV_OUT], a.t[KV_SF] ? &sf : NULL };
    status = arg_no_overlap(call, ins, 5, outs, 3, NULL, "DET-4");
    if (!status)
        out->kv_store = a;
    return status;
}
