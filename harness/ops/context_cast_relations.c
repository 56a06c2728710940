/* SPDX-License-Identifier: Apache-2.0 */
/* Relations of context_cast: KV-7's two operators, one by one. */
#include <math.h>

#include "../case.h"
#include "../relations.h"
#include "context_cast.h"
#include "rope.h"

static const struct context_cast_args *of(const struct attempt *t)
{
    return &t->base->args.context_cast;
}

static int64_t width(const struct attempt *t)
{
    return of(t)->rope.heads[0] * of(t)->rope.d;
}

/* The kernel for the other operator; NULL, with t->none, where the relation does not apply. */
static const struct lc_kernel *single(struct attempt *t, const char *op)
{
    const struct lc_kernel *const k = other_kernel(t, op);
    if (!call_has(t->base, CTX_BF16) || !kase_is(&t->base->id, "dialect", "-"))
        t->none = "needs bf16=1 and no dialect";
    else if (!k)
        t->none = "the backend has no such operator";
    return t->none ? NULL : k;
}

/* ---- CAST of the bf16 that was returned ---- */

static bool groups(const struct attempt *t, struct other *o, int64_t row)
{
    if (ref_rope_lost(&t->base->args, row))
        return false;
    for (int64_t g = 0; g < of(t)->sf.groups; g++) {
        o->flag[g] = true;
        for (int64_t col = 32 * g; col < width(t) && col < 32 * (g + 1); col++)
            o->flag[g] = o->flag[g] && isfinite(base_value(t, CTX_BF16, row, col)); /* CAST-7 */
    }
    return true;
}

static bool code(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *want)
{
    (void) t, (void) row, (void) want;
    return o->flag[col / 32] != 0;
}

static bool scale(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *want)
{
    (void) row, (void) want;
    return col < of(t)->sf.groups && o->flag[col];
}

static int fused_cast(struct attempt *t)
{
    static const char *const axes[] = { "M", "M", "sf", "sf", "utccp", "utccp", "ragged", "ragged", NULL };
    static const struct rule codes = { groups, code, NULL, false, false }, scales = { groups, scale, NULL, false, false };
    const struct lc_kernel *const cast = single(t, "cast");
    struct kase k;
    struct other o;
    other_case(t, &k, "cast", axes);
    kase_put(&k, "d", width(t));
    if (!cast || !other_is_legal(t, &k))
        return 0;
    int status = other_new(t, &o, &k);
    for (int64_t row = 0; !status && row < of(t)->rope.n; row++)
        for (int64_t col = 0; col < width(t); col++)
            put(&o.c, CAST_X, row, col, base_value(t, CTX_BF16, row, col));
    status = other_result(t, &o, status, cast, "cast of the bf16 output");
    if (!status) {
        rule_judge(t, &o, CAST_OUT, CTX_OUT, &codes);
        rule_judge(t, &o, CAST_SF, CTX_SF, &scales);
        if (call_has(&o.c, CAST_EXTRA_SF))
            rule_judge(t, &o, CAST_EXTRA_SF, CTX_EXTRA_SF, &scales);
    }
    other_close(&o);
    return status;
}

/* ---- APPLY ---- */

static bool is_tame(const struct attempt *t, struct other *o, int64_t row)
{
    const struct rope_args *const a = &of(t)->rope;
    bool tame = !ref_rope_lost(&t->base->args, row);
    (void) o;
    for (int64_t col = 0; col < width(t) && tame; col++)
        tame = is_within(get(t->base, CTX_CONTEXT, row, col), -126, 60);
    for (int64_t i = 0; i < a->rotary_dim && tame; i++)
        tame = is_within(get(t->base, CTX_TABLE, 0, ref_rope_position(&t->base->args, row) * a->rotary_dim + i), -126, 60);
    return tame;
}

static void of_rotated(const struct other *o, int64_t *row, int64_t *col)
{
    const struct rope_args *const a = &o->c.args.rope;
    (void) row;
    *col = *col / a->rotary_dim * a->d + a->offset + *col % a->rotary_dim;
}

static void of_rest(const struct other *o, int64_t *row, int64_t *col) /* what rotates is the end of a head (KV-7) */
{
    const struct rope_args *const a = &o->c.args.rope;
    (void) row;
    *col = *col / a->offset * a->d + *col % a->offset;
}

static double allowed(const struct attempt *t, const struct other *o, int64_t row, int64_t col, double want)
{
    const struct rope_args *const a = &of(t)->rope;
    const struct rope_pair p = rope_pair_of(a->rotary_dim, a->interleaved, col % a->rotary_dim);
    const int64_t entry = ref_rope_position(&t->base->args, row) * a->rotary_dim;
    int64_t x = col, partner = col - col % a->rotary_dim + p.partner;
    of_rotated(o, &row, &x);
    of_rotated(o, &row, &partner);
    return rope_apart(get(t->base, CTX_CONTEXT, row, x), get(t->base, CTX_CONTEXT, row, partner),
                      get(t->base, CTX_TABLE, 0, entry + p.pair), get(t->base, CTX_TABLE, 0, entry + a->rotary_dim / 2 + p.pair),
                      want);
}

static int fused_rope(struct attempt *t)
{
    static const char *const axes[] = { "M",     "M",    "heads", "heads", "d",     "d",   "rot", "rot", "inter",
                                        "inter", "rows", "rows",  "table", "table", "ids", "ids", NULL };
    static const struct rule turned = { is_tame, NULL, allowed, true, true }, copied = { is_tame, NULL, NULL, false, false };
    const struct rope_args *const a = &of(t)->rope;
    const struct lc_kernel *const rope = single(t, "rope");
    struct kase k;
    struct other o;
    other_case(t, &k, "rope", axes);
    kase_put(&k, "offset", a->d - a->rotary_dim);
    kase_put(&k, "kv", 0);
    kase_put(&k, "conj", 1);
    kase_set(&k, "to", "own");
    if (!rope || !other_is_legal(t, &k))
        return 0;
    int status = other_new(t, &o, &k);
    for (int64_t i = 0; !status && a->n > 0 && i < a->rows * a->rotary_dim; i++)
        put(&o.c, ROPE_TABLE, 0, i, get(t->base, CTX_TABLE, 0, i));
    for (int64_t row = 0; !status && row < a->n; row++) {
        put(&o.c, ROPE_POSITIONS, row, 0, get(t->base, CTX_POSITIONS, row, 0));
        for (int64_t col = 0; col < width(t); col++)
            put(&o.c, ROPE_QUERY, row, col, get(t->base, CTX_CONTEXT, row, col));
    }
    status = other_result(t, &o, status, rope, "rope, conjugate, of the context");
    if (!status) {
        o.at = of_rotated;
        rule_judge(t, &o, ROPE_QUERY_OUT, CTX_BF16, &turned);
        o.at = of_rest;
        if (call_has(&o.c, ROPE_QUERY_REST))
            rule_judge(t, &o, ROPE_QUERY_REST, CTX_BF16, &copied);
    }
    other_close(&o);
    return status;
}

const struct perturbation context_cast_relations[] = {
    { "fused-cast", "KV-7", "codes and scales are the operator cast's, of the bf16 output of the same call: bitwise",
      fused_cast },
    { "fused-rope", "KV-7",
      "the bf16 output is the operator rope's, conjugate, of the same context: within twice the bound of APPLY-1, which leaves "
      "FMA free; other bits are reported, but not of what does not rotate",
      fused_rope },
    { NULL, NULL, NULL, NULL },
};
