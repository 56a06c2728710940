/* SPDX-License-Identifier: Apache-2.0 */
/* KV-1..6: what the stages of kv_stages.c leave, cast, and where the bytes go. */
#include "kv_store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- where things go ---- */

/* KV-2, KV-3: the first byte of (slot, head). */
static int64_t pool_at(const struct kv *const p, const int64_t at[4], const int64_t slot, const int64_t head)
{
    return at[0] + slot / p->page_size * at[1] + slot % p->page_size * at[2] + head * at[3];
}

/* A tensor of these dims over the same bytes. */
static struct tensor as(const struct tensor *const t, const int64_t b, const int64_t m, const int64_t j)
{
    struct tensor view = *t;

    view.rank = 3;
    view.shape[0] = b, view.shape[1] = m, view.shape[2] = j;
    view.stride[0] = m * j, view.stride[1] = j, view.stride[2] = 1;
    return view;
}

/* CAST of one head into the pool, by way of a row of codes and one of scale bytes (SF-2). */
static void store_head(const struct kv *const p, const int64_t slot, const int64_t head)
{
    const int64_t groups = p->d / 32;
    unsigned char *const codes = need(calloc((size_t) (p->d + groups + 4), 1)), *const bytes = codes + p->d;
    struct tensor q, sf;
    struct cast cast;

    memset(&q, 0, sizeof q);
    q.type = TYPE_E4M3;
    q.data = codes;
    q = as(&q, 1, 1, p->d);
    sf = q;
    sf.type = TYPE_I32;
    sf.data = bytes;
    memset(&cast, 0, sizeof cast);
    cast.e.b = cast.e.m = 1, cast.e.d = p->d;
    cast.group = 32, cast.groups = groups, cast.block_m = 1;
    cast.round_sf = cast.packed = 1;
    cast.codes = &q, cast.sf = &sf;
    cast_row(&cast, 0, 0, p->row + head * p->d);
    memcpy(p->pool->data + pool_at(p, p->codes_at, slot, head), codes, (size_t) p->d);
    memcpy(p->pool->data + pool_at(p, p->scales_at, slot, head), bytes, (size_t) groups);
    free(codes);
}

/* KV-5: codes and SF-3 scales of the (n, heads * d) matrix, or of n batches of heads rows. */
static void cast_token(const struct kv *const p, const int64_t token)
{
    struct tensor q = p->per_head ? as(p->out, p->n, p->heads, p->d) : as(p->out, 1, p->n, p->heads * p->d);
    struct cast cast;

    memset(&cast, 0, sizeof cast);
    cast.e.b = q.shape[0], cast.e.m = q.shape[1], cast.e.d = q.shape[2];
    cast.group = 32, cast.groups = q.shape[2] / 32, cast.block_m = 1;
    cast.round_sf = cast.packed = cast.col = 1;
    cast.codes = &q, cast.sf = p->sf;
    for (int64_t head = 0; head < p->heads && p->per_head; head++)
        cast_row(&cast, token, head, p->row + head * p->d);
    if (!p->per_head)
        cast_row(&cast, 0, token, p->row);
}

/* ---- one token ---- */

static void one_head(struct kv *const p, const int64_t token, const int64_t head)
{
    const int rank_3 = p->x->rank == 3;

    for (int64_t i = 0; i < p->d; i++)
        p->head[i] = kv_point(rank_3 ? view_load(p->x, token, head, i) : view_load(p->x, 0, token, i));

    int judged = !p->norm || kv_norm(p);
    judged = judged && (!p->rope || kv_rotate(p, token));
    judged = judged && (!p->hadamard || kv_transform(p));
    for (int64_t i = 0; i < p->d; i++) {
        const struct value it = p->head[i];
        const int open = !judged || it.open, infinite = isinf(it.v), unsure = isnan(it.v) && isinf(it.hi);
        const double y[3] = { it.v, it.lo, it.hi };
        const size_t at = (size_t) ((token * p->heads + head) * p->d + i);

        for (int k = 0; k < 3 && !open && !infinite; k++) /* an infinite y has no hull: it stays 0 */
            num_store(TYPE_F64, p->y[k]->data + at * type_size(TYPE_F64), y[k]);
        p->row[head * p->d + i] = open || unsure ? INFINITY : it.v; /* CAST-7 leaves a group with an Inf open */
        if (!p->cast && !open)
            num_store(TYPE_BF16, p->out->data + at * 2, num_narrow(TYPE_BF16, it.v));
    }
}

static void one_token(struct kv *const p, const int64_t token)
{
    const int64_t slot = p->store ? kv_integer(p->slots, token) : 0;

    for (int64_t head = 0; head < p->heads; head++)
        one_head(p, token, head);
    if (p->cast && !p->store)
        cast_token(p, token);
    for (int64_t head = 0; head < p->heads && p->store && slot >= 0; head++)
        store_head(p, slot, head);
}

/* ---- the call ---- */

static int bind_store(struct kv *const p, const struct test_case *const c, struct why *const why)
{
    static const char *const codes[4] = { NULL, "page_stride", "row_stride", "head_stride" };
    static const char *const scales[4] = { "scale_base", "scale_page_stride", "scale_row_stride", "scale_head_stride" };

    if (find_count(c, "page_size", 1, INT32_MAX, &p->page_size, why) != 0 ||
        find_count(c, "pages", 0, INT32_MAX, &p->pages, why) != 0)
        return -1;
    for (int i = 0; i < 4; i++)
        if ((codes[i] != NULL && find_count(c, codes[i], 0, INT32_MAX, &p->codes_at[i], why) != 0) ||
            find_count(c, scales[i], 0, INT32_MAX, &p->scales_at[i], why) != 0)
            return -1;
    p->slots = find_tensor(c, "slot_mapping", 0, why);
    p->pool = find_tensor(c, "pool", 1, why);
    if (p->slots == NULL || p->pool == NULL)
        return -1;
    if (p->pages > 0 && (pool_at(p, p->codes_at, p->pages * p->page_size - 1, p->heads - 1) + p->d > p->pool->store[0] ||
                         pool_at(p, p->scales_at, p->pages * p->page_size - 1, p->heads - 1) + p->d / 32 > p->pool->store[0]))
        return refuse(why, "pool of %lld bytes is too small (KV-3)", (long long) p->pool->store[0]);
    for (int64_t i = 0; i < p->n; i++)
        if (kv_integer(p->slots, i) >= p->pages * p->page_size)
            return refuse(why, "slot_mapping[%lld] is past the pool (KV-2)", (long long) i);
    memset(p->pool->data, 0, p->pool->count * type_size(p->pool->type));
    return 0;
}

static int bind_out(struct kv *const p, const struct test_case *const c, struct why *const why)
{
    p->out = find_tensor(c, "out", 1, why);
    p->sf = p->cast ? find_tensor(c, "sf", 1, why) : NULL;
    if (p->out == NULL || (p->cast && p->sf == NULL))
        return -1;
    if (p->out->type != (p->cast ? TYPE_E4M3 : TYPE_BF16))
        return refuse(why, "out is %s (KV-5)", type_name(p->out->type));
    memset(p->out->data, 0, p->out->count * type_size(p->out->type));
    if (p->cast)
        memset(p->sf->data, 0, p->sf->count * type_size(p->sf->type));
    return 0;
}

static int bind_rope(struct kv *const p, const struct test_case *const c, struct why *const why)
{
    p->table = find_tensor(c, "table", 0, why);
    p->positions = find_tensor(c, "positions", 0, why);
    if (p->table == NULL || p->positions == NULL || find_count(c, "offset", 0, p->d - 2, &p->offset, why) != 0 ||
        find_choice(c, "conjugate", 1, &p->conjugate, why) != 0 || find_choice(c, "interleaved", 1, &p->interleaved, why) != 0)
        return -1;
    p->rotary_dim = p->table->shape[1];
    if (p->rotary_dim < 2 || p->rotary_dim % 2 != 0 || p->rotary_dim > p->d - p->offset)
        return refuse(why, "table is %lld wide (APPLY-5)", (long long) p->rotary_dim);
    for (int64_t i = 0; i < p->n; i++)
        if (kv_integer(p->positions, i) < 0 || kv_integer(p->positions, i) >= p->table->shape[0])
            return refuse(why, "positions[%lld] is no row of the table (APPLY-4)", (long long) i);
    return 0;
}

static int bind(struct kv *const p, const struct test_case *const c, struct why *const why)
{
    const struct {
        const char *name;
        int64_t *to;
    } switches[] = { { "norm", &p->norm },   { "rope", &p->rope },         { "hadamard", &p->hadamard }, { "cast", &p->cast },
                     { "store", &p->store }, { "per_head", &p->per_head }, { "stage", &p->bf16_stages } };

    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
        if (find_count(c, switches[i].name, 0, 1, switches[i].to, why) != 0)
            return -1;
    p->weight = p->norm ? find_tensor(c, "weight", 0, why) : NULL;
    if (p->norm && (p->weight == NULL || find_real(c, "eps", &p->eps, why) != 0))
        return -1;
    p->scale = num_rsqrt(TYPE_F32, (double) p->d); /* HAD-2 */
    for (size_t i = 0; i < c->about.count; i++)
        if (strcmp(c->about.item[i].name, "had_scale") == 0 && find_real(c, "had_scale", &p->scale, why) != 0)
            return -1;
    if (p->rope && bind_rope(p, c, why) != 0)
        return -1;
    return p->store ? bind_store(p, c, why) : bind_out(p, c, why);
}

int oracle_kv_store(struct test_case *const c, struct why *const why)
{
    static const char *const names[3] = { "y.v", "y.lo", "y.hi" };
    struct kv p;

    memset(&p, 0, sizeof p);
    p.x = find_tensor(c, "x", 0, why);
    if (p.x == NULL)
        return -1;
    if (p.x->type != TYPE_BF16 || p.x->rank < 2)
        return refuse(why, "x is %s of rank %d (KV-1)", type_name(p.x->type), p.x->rank);
    p.n = p.x->shape[0];
    p.heads = p.x->rank == 3 ? p.x->shape[1] : 1;
    p.d = p.x->shape[p.x->rank - 1];
    for (int k = 0; k < 3; k++) /* before any other tensor is looked up: adding one moves the others */
        tensor_bare(c, names[k], p.n, p.heads * p.d);
    for (int k = 0; k < 3; k++)
        p.y[k] = find_tensor(c, names[k], 1, why);
    p.x = find_tensor(c, "x", 0, why);
    p.head = need(calloc(2 * (size_t) p.d, sizeof *p.head));
    p.other = p.head + p.d;
    p.row = need(calloc((size_t) (p.heads * p.d), sizeof *p.row));
    hull_init(&p.hull);

    const int status = bind(&p, c, why);

    for (int64_t token = 0; status == 0 && token < p.n; token++)
        one_token(&p, token);
    hull_clear(&p.hull);
    free(p.head);
    free(p.row);
    return status;
}
