/* SPDX-License-Identifier: Apache-2.0 */
/* Relations of kv_store: its last stage against the single operator on what the other stages give as BF16 (KV-1), and the pool
 * against the call without the store (KV-5). */
#include <math.h>
#include <string.h>

#include "../case.h"
#include "../relations.h"
#include "kv_store.h"
#include "rope.h"

static const struct kv_store_args *of(const struct attempt *t)
{
    return &t->base->args.kv_store;
}

static int64_t width(const struct attempt *t)
{
    return of(t)->heads * of(t)->d;
}

/* The base call with other stages or another output: axes that mean nothing then go back to their first value. */
static void part_of(const struct attempt *t, struct kase *k, const char *axis, const char *value, const char *out)
{
    *k = t->base->id;
    kase_set(k, "fill", "normal"); /* the data are the base call's */
    kase_set(k, "out", out);
    if (axis)
        kase_set(k, axis, value);
    k->op->settle(k);
}

static int run_part(struct attempt *t, struct other *o, const struct kase *k, const char *where)
{
    static const int inputs[] = { KV_X, KV_WEIGHT, KV_TABLE, KV_POSITIONS };
    const int status = other_new(t, o, k);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        for (int64_t row = 0; !status && row < of(t)->n && call_has(&o->c, inputs[i]); row++)
            for (int64_t col = 0; col < o->c.op->cols(&o->c.args, inputs[i]); col++)
                if (row == 0 || inputs[i] == KV_X || inputs[i] == KV_POSITIONS)
                    put(&o->c, inputs[i], row, col, get(t->base, inputs[i], row, col));
    return other_result(t, o, status, NULL, where);
}

/* The single operator's kernel; NULL, with t->none, where the backend has none or the last stage has no BF16 input. */
static const struct lc_kernel *single(struct attempt *t, const char *op, bool applies, const char *needs)
{
    const struct lc_kernel *const k = other_kernel(t, op);
    t->none = !applies ? needs : !k ? "the backend has no such operator" : NULL;
    return applies ? k : NULL;
}

static bool gives_bf16(const struct attempt *t)
{
    return !of(t)->cast;
}

/* ---- KV-5: the store ---- */

static int pool(struct attempt *t)
{
    static const struct rule same = { NULL, NULL, NULL, false, false };
    const char *const out = width(t) % 128 == 0 ? "codes" : NULL;
    struct kase k;
    struct other o;
    if (!of(t)->store || !out)
        t->none = "needs out=pool and a multiple of 128 channels";
    if (t->none)
        return 0;
    part_of(t, &k, NULL, NULL, out);
    const int status = run_part(t, &o, &k, "codes and scales without the store");
    if (!status) {
        rule_judge(t, &o, KV_OUT, KV_POOL, &same);
        rule_judge(t, &o, KV_SF, KV_SCALES, &same);
    }
    other_close(&o);
    return status;
}

/* ---- CAST ---- */

static bool groups(const struct attempt *t, struct other *o, int64_t row)
{
    for (int64_t g = 0; g < width(t) / 32; g++) {
        o->flag[g] = true;
        for (int64_t col = 32 * g; col < 32 * (g + 1); col++)
            o->flag[g] = o->flag[g] && isfinite(get(&o->c, CAST_X, row, col)); /* CAST-7 */
    }
    return true;
}

static bool code(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *want)
{
    (void) t, (void) row, (void) want;
    return o->flag[col / 32] != 0;
}

static bool scale(const struct attempt *t, const struct other *o, int64_t row, int64_t g, uint32_t *want)
{
    (void) t, (void) row, (void) want;
    return o->flag[g] != 0;
}

static int judge_cast(struct attempt *t, const struct other *y, const struct lc_kernel *cast)
{
    static const char *const axes[] = { "M", "M", NULL };
    static const struct rule codes = { groups, code, NULL, false, false }, scales = { groups, scale, NULL, false, false };
    struct kase k;
    struct other o;
    other_case(t, &k, "cast", axes);
    kase_put(&k, "d", width(t));
    kase_set(&k, "ragged", width(t) % 128 ? "pack" : "-");
    if (!other_is_legal(t, &k))
        return 0;
    int status = other_new(t, &o, &k);
    for (int64_t row = 0; !status && row < of(t)->n; row++)
        for (int64_t col = 0; col < width(t); col++)
            put(&o.c, CAST_X, row, col, other_value(y, KV_OUT, row, col));
    status = other_result(t, &o, status, cast, "cast of the stages' bf16");
    if (!status) {
        rule_judge(t, &o, CAST_OUT, of(t)->store ? KV_POOL : KV_OUT, &codes);
        rule_judge(t, &o, CAST_SF, of(t)->store ? KV_SCALES : KV_SF, &scales);
    }
    other_close(&o);
    return status;
}

static int fused_cast(struct attempt *t)
{
    const struct kv_store_args *const a = of(t);
    const bool alone = !a->norm && !a->rope && !a->hadamard;
    const struct lc_kernel *const cast = single(t, "cast", a->cast && (a->bf16_stages || alone), "needs a cast of BF16 values");
    struct kase k;
    struct other y;
    if (!cast)
        return 0;
    part_of(t, &k, NULL, NULL, "bf16");
    int status = run_part(t, &y, &k, "the stages alone");
    if (!status)
        status = judge_cast(t, &y, cast);
    other_close(&y);
    return status;
}

/* ---- norm ---- */

static void of_head(const struct other *o, int64_t *row, int64_t *col) /* a row is a head */
{
    const bool norm = !strcmp(o->c.op->name, "rmsnorm");
    const int64_t heads = norm ? o->c.args.rmsnorm.m : o->c.args.hadamard.m,
                  d = norm ? o->c.args.rmsnorm.d : o->c.args.hadamard.n;
    *col += *row % heads * d;
    *row /= heads;
}

static bool is_tame_norm(const struct attempt *t, struct other *o, int64_t row)
{
    bool tame = true;
    for (int64_t i = 0; i < of(t)->d && tame; i++)
        tame = is_within(get(&o->c, RMS_X, row, i), -40, 40) && is_within(get(&o->c, RMS_WEIGHT, 0, i), -40, 20);
    return tame;
}

static double norm_allowed(const struct attempt *t, const struct other *o, int64_t row, int64_t col, double want)
{
    (void) t, (void) o, (void) row, (void) col;
    return (2 * REF_RMSNORM_K * ldexp(1, -24) + ldexp(1, -7)) * (1 + ldexp(1, -6)) * fabs(want) + ldexp(1, -100);
}

static int fused_norm(struct attempt *t)
{
    static const char *const axes[] = { "B", "M", "w", "w", "eps", "eps", NULL };
    static const struct rule normed = { is_tame_norm, NULL, norm_allowed, true, true };
    const struct kv_store_args *const a = of(t);
    const struct lc_kernel *const norm = single(t, "rmsnorm", gives_bf16(t) && a->norm && !a->rope && !a->hadamard,
                                                "needs the norm alone, out=bf16");
    struct kase k;
    struct other o;
    other_case(t, &k, "rmsnorm", axes);
    kase_set(&k, "rank", "3");
    kase_put(&k, "M", a->heads);
    kase_put(&k, "d", a->d);
    if (!norm || !other_is_legal(t, &k))
        return 0;
    int status = other_new(t, &o, &k);
    for (int64_t i = 0; !status && a->n > 0 && i < a->d; i++)
        put(&o.c, RMS_WEIGHT, 0, i, get(t->base, KV_WEIGHT, 0, i));
    for (int64_t row = 0; !status && row < a->n * a->heads; row++)
        for (int64_t i = 0; i < a->d; i++)
            put(&o.c, RMS_X, row, i, get(t->base, KV_X, row / a->heads, row % a->heads * a->d + i));
    status = other_result(t, &o, status, norm, "rmsnorm of each head");
    o.at = of_head;
    if (!status)
        rule_judge(t, &o, RMS_OUT, KV_OUT, &normed);
    other_close(&o);
    return status;
}

/* ---- rope ---- */

static bool is_tame_rope(const struct attempt *t, struct other *o, int64_t row)
{
    const struct rope_args *const a = &o->c.args.rope;
    bool tame = true;
    for (int64_t col = 0; col < width(t) && tame; col++)
        tame = is_within(get(&o->c, ROPE_QUERY, row, col), -126, 60);
    for (int64_t i = 0; i < a->rotary_dim && tame; i++)
        tame = is_within(get(&o->c, ROPE_TABLE, 0, ref_rope_position(&o->c.args, row) * a->rotary_dim + i), -126, 60);
    return tame;
}

static void of_rotated(const struct other *o, int64_t *row, int64_t *col)
{
    const struct rope_args *const a = &o->c.args.rope;
    (void) row;
    *col = *col / a->rotary_dim * a->d + a->offset + *col % a->rotary_dim;
}

static void of_rest(const struct other *o, int64_t *row, int64_t *col)
{
    const struct rope_args *const a = &o->c.args.rope;
    const int64_t rest = a->d - a->rotary_dim, i = *col % rest;
    (void) row;
    *col = *col / rest * a->d + i + (i >= a->offset ? a->rotary_dim : 0);
}

static double rope_allowed(const struct attempt *t, const struct other *o, int64_t row, int64_t col, double want)
{
    const struct rope_args *const a = &o->c.args.rope;
    const struct rope_pair p = rope_pair_of(a->rotary_dim, a->interleaved, col % a->rotary_dim);
    const int64_t entry = ref_rope_position(&o->c.args, row) * a->rotary_dim;
    int64_t x = col, partner = col - col % a->rotary_dim + p.partner;
    (void) t;
    of_rotated(o, &row, &x);
    of_rotated(o, &row, &partner);
    return rope_apart(get(&o->c, ROPE_QUERY, row, x), get(&o->c, ROPE_QUERY, row, partner),
                      get(&o->c, ROPE_TABLE, 0, entry + p.pair), get(&o->c, ROPE_TABLE, 0, entry + a->rotary_dim / 2 + p.pair),
                      want);
}

static int judge_rope(struct attempt *t, const struct other *x, const struct lc_kernel *rope)
{
    static const char *const axes[] = { "M", "M", "rows", "rows", "table", "table", "ids", "pos", "conj", "conj", NULL };
    static const struct rule turned = { is_tame_rope, NULL, rope_allowed, true, true },
                             copied = { is_tame_rope, NULL, NULL, false, false };
    const struct kv_store_args *const a = of(t);
    struct kase k;
    struct other o;
    other_case(t, &k, "rope", axes);
    kase_put(&k, "heads", a->heads);
    kase_put(&k, "kv", 0);
    kase_put(&k, "d", a->d);
    kase_put(&k, "rot", a->rotary_dim);
    kase_put(&k, "offset", a->offset);
    kase_put(&k, "inter", a->interleaved);
    kase_set(&k, "to", "own");
    if (!other_is_legal(t, &k))
        return 0;
    int status = other_new(t, &o, &k);
    for (int64_t i = 0; !status && a->n > 0 && i < o.c.op->cols(&o.c.args, ROPE_TABLE); i++)
        put(&o.c, ROPE_TABLE, 0, i, get(t->base, KV_TABLE, 0, i));
    for (int64_t row = 0; !status && row < a->n; row++) {
        put(&o.c, ROPE_POSITIONS, row, 0, get(t->base, KV_POSITIONS, row, 0));
        for (int64_t col = 0; col < width(t); col++)
            put(&o.c, ROPE_QUERY, row, col, other_value(x, KV_OUT, row, col));
    }
    status = other_result(t, &o, status, rope, "rope of the bf16 before it");
    if (!status) {
        o.at = of_rotated;
        rule_judge(t, &o, ROPE_QUERY_OUT, KV_OUT, &turned);
        o.at = of_rest;
        if (call_has(&o.c, ROPE_QUERY_REST))
            rule_judge(t, &o, ROPE_QUERY_REST, KV_OUT, &copied);
    }
    other_close(&o);
    return status;
}

static int fused_rope(struct attempt *t)
{
    const struct kv_store_args *const a = of(t);
    const struct lc_kernel *const rope = single(t, "rope",
                                                gives_bf16(t) && a->rope && !a->hadamard && (a->bf16_stages || !a->norm),
                                                "needs rope last, of BF16 values, out=bf16");
    struct kase k;
    struct other x;
    if (!rope)
        return 0;
    part_of(t, &k, "rope", "-", "bf16");
    int status = run_part(t, &x, &k, "the stages before rope");
    if (!status)
        status = judge_rope(t, &x, rope);
    other_close(&x);
    return status;
}

/* ---- hadamard ---- */

static bool is_tame_had(const struct attempt *t, struct other *o, int64_t row)
{
    bool tame = true;
    o->sum[0] = 0;
    for (int64_t i = 0; i < of(t)->d && tame; i++) {
        const double x = get(&o->c, HAD_X, row, i);
        tame = is_within(x, -80, 80);
        o->sum[0] += fabs(x);
    }
    return tame;
}

/* o->number: HAD-3's k of both kernels. */
static double had_allowed(const struct attempt *t, const struct other *o, int64_t row, int64_t col, double want)
{
    const double sums = o->number * ldexp(1, -24) * fabs(of(t)->scale) * o->sum[0];
    (void) row, (void) col;
    return (sums + ldexp(1, -7) * (fabs(want) + sums)) * (1 + ldexp(1, -6)) + ldexp(1, -130);
}

static int judge_had(struct attempt *t, const struct other *x, const struct lc_kernel *had)
{
    static const char *const axes[] = { "B", "M", NULL };
    static const struct rule transformed = { is_tame_had, NULL, had_allowed, true, true };
    const struct kv_store_args *const a = of(t);
    struct kase k;
    struct other o;
    other_case(t, &k, "hadamard", axes);
    kase_set(&k, "rank", "3");
    kase_set(&k, "given", "1");
    kase_put(&k, "M", a->heads);
    kase_put(&k, "n", a->d);
    k.f[axis_of(k.op, "scale")] = a->scale;
    if (!other_is_legal(t, &k))
        return 0;
    int status = other_new(t, &o, &k);
    for (int64_t row = 0; !status && row < a->n * a->heads; row++)
        for (int64_t i = 0; i < a->d; i++)
            put(&o.c, HAD_X, row, i, other_value(x, KV_OUT, row / a->heads, row % a->heads * a->d + i));
    status = other_result(t, &o, status, had, "hadamard of the bf16 before it");
    o.at = of_head;
    if (!status) {
        o.number = ref_hadamard_k(&o.c.args, t->kernel->claims) + ref_hadamard_k(&o.c.args, had->claims);
        rule_judge(t, &o, HAD_OUT, KV_OUT, &transformed);
    }
    other_close(&o);
    return status;
}

static int fused_hadamard(struct attempt *t)
{
    const struct kv_store_args *const a = of(t);
    const struct lc_kernel *const had = single(t, "hadamard",
                                               gives_bf16(t) && a->hadamard && (a->bf16_stages || (!a->norm && !a->rope)),
                                               "needs hadamard last, of BF16 values, out=bf16");
    struct kase k;
    struct other x;
    if (!had)
        return 0;
    part_of(t, &k, "had", "0", "bf16");
    int status = run_part(t, &x, &k, "the stages before hadamard");
    if (!status)
        status = judge_had(t, &x, had);
    other_close(&x);
    return status;
}

const struct perturbation kv_store_relations[] = {
    { "pool", "KV-5", "the pool holds the codes and scales of the call without the store: bitwise, its stages are the same",
      pool },
    { "fused-cast", "KV-1",
      "with stage=bf16, or no stage but the cast, codes and scales are the operator cast's, of the call's own BF16 form: bitwise",
      fused_cast },
    { "fused-norm", "KV-1", "the norm alone is the operator rmsnorm: within twice the bound of RMS-5; other bits are reported",
      fused_norm },
    { "fused-rope", "KV-1",
      "rope is the operator rope on the BF16 before it: within twice the bound of APPLY-1; other bits are reported", fused_rope },
    { "fused-hadamard", "KV-1",
      "the transform is the operator hadamard on the BF16 before it: within the bounds of HAD-3 of both; other bits are reported",
      fused_hadamard },
    { NULL, NULL, NULL, NULL },
};
