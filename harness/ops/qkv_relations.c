/* SPDX-License-Identifier: Apache-2.0 */
/* Relations of qkv: q for k, a table that turns nothing, and the operators rmsnorm and rope, one by one. */
#include <math.h>

#include "../case.h"
#include "../relations.h"
#include "qkv.h"
#include "rope.h"

static const struct qkv_args *of(const struct attempt *t)
{
    return &t->base->args.qkv;
}

static bool is_usual(struct attempt *t)
{
    if (!kase_is(&t->base->id, "dialect", "-"))
        t->none = "a dialect rounds elsewhere (QKV-3, QKV-4)";
    return !t->none;
}

static double table_at(const struct attempt *t, int64_t row, int64_t i)
{
    return get(t->base, QKV_TABLE, 0, (int64_t) get(t->base, QKV_POSITIONS, row, 0) * of(t)->rope_dim + i);
}

/* Ordinary sizes: nothing under- or overflows, and every n is judged (RMS-12). */
static bool is_tame(const struct attempt *t, struct other *o, int64_t row)
{
    const struct qkv_args *const a = of(t);
    const double position = get(t->base, QKV_POSITIONS, row, 0);
    bool tame = position >= 0 && position < (double) a->table_rows;
    (void) o;
    for (int64_t i = 0; i < (a->heads_q + a->heads_kv) * a->head_dim && tame; i++)
        tame = is_within(get(t->base, QKV_X, row, i), -40, 40);
    for (int slot = QKV_W_Q; slot <= QKV_B_K; slot++)
        for (int64_t i = 0; call_has(t->base, slot) && i < a->head_dim && tame; i++)
            tame = is_within(get(t->base, slot, 0, i), -40, 20);
    for (int64_t i = 0; i < a->rope_dim && tame; i++)
        tame = is_within(table_at(t, row, i), -40, 20);
    return tame;
}

static void copy(struct attempt *t, struct other *o, int slot, int from)
{
    for (int64_t i = 0; call_has(t->base, from) && i < o->c.op->cols(&o->c.args, slot); i++)
        put(&o->c, slot, 0, i, get(t->base, from, 0, i));
}

/* ---- QKV-2: q and k, each the other ---- */

/* |n| of an element of head `head` of x, from the formula; the weight and bias of q or k. */
static double n_size(const struct attempt *t, int64_t row, int64_t head, int64_t i, int is_k)
{
    const struct qkv_args *const a = of(t);
    double sum = 0;
    for (int64_t j = 0; j < a->head_dim; j++)
        sum += pow(get(t->base, QKV_X, row, head * a->head_dim + j), 2);
    const double bias = call_has(t->base, QKV_B_Q) ? get(t->base, QKV_B_Q + is_k, 0, i) : 0;
    const double x = get(t->base, QKV_X, row, head * a->head_dim + i) * get(t->base, QKV_W_Q + is_k, 0, i);
    return fabs(x) / sqrt(sum / (double) a->head_dim + a->eps) + fabs(bias);
}

/* Two admissible n, rounded, then turned and rounded (o->number: 1 where k of the base call is judged). */
static double swap_allowed(const struct attempt *t, const struct other *o, int64_t row, int64_t col, double want)
{
    const struct qkv_args *const a = of(t);
    const int is_k = o->number != 0;
    (void) want;
    const int64_t d = a->head_dim, i = col % d, head = (is_k ? a->heads_q : 0) + col / d;
    const double n = (2 * REF_QKV_K * ldexp(1, -24) + ldexp(1, -7)) * (1 + ldexp(1, -6)), tiny = ldexp(1, -100);
    if (i >= a->rope_dim)
        return n * n_size(t, row, head, i, is_k) + tiny;
    const struct rope_pair p = rope_pair_of(a->rope_dim, false, i);
    const double x = n_size(t, row, head, i, is_k), partner = n_size(t, row, head, p.partner, is_k);
    const double c = table_at(t, row, p.pair), s = table_at(t, row, a->rope_dim / 2 + p.pair);
    return n * (x * fabs(c) + partner * fabs(s)) + rope_apart(x, partner, c, s, x * fabs(c) + partner * fabs(s)) + tiny;
}

static int swapped(struct attempt *t)
{
    static const struct rule same = { is_tame, NULL, swap_allowed, true, true };
    const struct qkv_args *const a = of(t);
    const int64_t q = a->heads_q * a->head_dim, kv = a->heads_kv * a->head_dim;
    struct kase k = t->base->id;
    struct other o;
    if (is_usual(t) && (kase_is(&k, "w", "mixed") || kase_is(&k, "bias", "mixed")))
        t->none = "needs one dtype for q and k";
    if (t->none)
        return 0;
    kase_put(&k, "Hq", a->heads_kv);
    kase_put(&k, "Hkv", a->heads_q);
    if (!other_is_legal(t, &k))
        return 0;
    int status = other_new(t, &o, &k);
    if (!status && a->tokens > 0) {
        copy(t, &o, QKV_W_Q, QKV_W_K);
        copy(t, &o, QKV_W_K, QKV_W_Q);
        copy(t, &o, QKV_B_Q, QKV_B_K);
        copy(t, &o, QKV_B_K, QKV_B_Q);
        copy(t, &o, QKV_TABLE, QKV_TABLE);
    }
    for (int64_t row = 0; !status && row < a->tokens; row++) {
        put(&o.c, QKV_POSITIONS, row, 0, get(t->base, QKV_POSITIONS, row, 0));
        for (int64_t i = 0; i < kv + 2 * q; i++) /* k, q, and q once more for v */
            put(&o.c, QKV_X, row, i, get(t->base, QKV_X, row, i < kv ? q + i : (i - kv) % q));
    }
    status = other_result(t, &o, status, NULL, "q and k, each for the other");
    for (int is_k = 0; !status && is_k < 2; is_k++) {
        o.number = is_k;
        rule_judge(t, &o, is_k ? QKV_Q : QKV_K, is_k ? QKV_K : QKV_Q, &same);
    }
    other_close(&o);
    return status;
}

/* ---- QKV-3: cosines 1 and sines 0 show n ---- */

static int unturned(struct attempt *t, struct other *o)
{
    const int status = other_open(t, o, &t->base->id);
    for (int64_t i = 0; !status && of(t)->tokens > 0 && i < of(t)->table_rows * of(t)->rope_dim; i++)
        put(&o->c, QKV_TABLE, 0, i, i % of(t)->rope_dim < of(t)->rope_dim / 2);
    return other_result(t, o, status, NULL, "a table of cosines 1 and sines 0");
}

static bool is_tail(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *code)
{
    (void) o, (void) row, (void) code;
    return col % of(t)->head_dim >= of(t)->rope_dim;
}

static int tail(struct attempt *t)
{
    static const struct rule same = { is_tame, is_tail, NULL, false, false };
    struct other o;
    if (is_usual(t) && of(t)->rope_dim == of(t)->head_dim)
        t->none = "needs dimensions behind rope_dim";
    if (t->none)
        return 0;
    const int status = unturned(t, &o);
    for (int slot = QKV_Q; !status && slot <= QKV_K; slot++)
        rule_judge(t, &o, slot, slot, &same);
    other_close(&o);
    return status;
}

/* ---- the operator rope on n ---- */

static void of_rotated(const struct other *o, int64_t *row, int64_t *col)
{
    const struct rope_args *const a = &o->c.args.rope;
    (void) row;
    *col = *col / a->rotary_dim * a->d + *col % a->rotary_dim;
}

/* o: the call of rope, in the order of whose heads q and k come. */
static double rope_allowed(const struct attempt *t, const struct other *o, int64_t row, int64_t col, double want)
{
    const struct rope_args *const r = &o->c.args.rope;
    const struct rope_pair p = rope_pair_of(r->rotary_dim, false, col % r->rotary_dim);
    const int in = o->number != 0 ? ROPE_KEY : ROPE_QUERY;
    int64_t x = col, partner = col - col % r->rotary_dim + p.partner;
    of_rotated(o, &row, &x);
    of_rotated(o, &row, &partner);
    return rope_apart(get(&o->c, in, row, x), get(&o->c, in, row, partner), table_at(t, row, p.pair),
                      table_at(t, row, r->rotary_dim / 2 + p.pair), want);
}

static int judge_rope(struct attempt *t, const struct other *n, const struct lc_kernel *rope)
{
    static const char *const axes[] = { "M",    "M", "heads", "Hq",    "kv",  "Hkv", "d", "D",
                                        "rows", "P", "table", "table", "ids", "pos", NULL };
    static const struct rule turned = { is_tame, NULL, rope_allowed, true, true };
    const struct qkv_args *const a = of(t);
    struct kase k;
    struct other o;
    other_case(t, &k, "rope", axes);
    kase_put(&k, "rot", a->rope_dim);
    kase_set(&k, "to", "own");
    if (!other_is_legal(t, &k))
        return 0;
    int status = other_new(t, &o, &k);
    if (!status && a->tokens > 0)
        copy(t, &o, ROPE_TABLE, QKV_TABLE);
    for (int64_t row = 0; !status && row < a->tokens; row++) {
        put(&o.c, ROPE_POSITIONS, row, 0, get(t->base, QKV_POSITIONS, row, 0));
        for (int which = 0; which < 2; which++)
            for (int64_t i = 0; i < o.c.op->cols(&o.c.args, ROPE_QUERY + which); i++)
                put(&o.c, ROPE_QUERY + which, row, i, other_value(n, QKV_Q + which, row, i));
    }
    status = other_result(t, &o, status, rope, "rope of n");
    o.at = of_rotated;
    for (int which = 0; !status && which < 2; which++) {
        o.number = which;
        rule_judge(t, &o, ROPE_QUERY_OUT + which, QKV_Q + which, &turned);
    }
    other_close(&o);
    return status;
}

static int fused_rope(struct attempt *t)
{
    const struct lc_kernel *const rope = other_kernel(t, "rope");
    struct other n;
    if (is_usual(t) && !rope)
        t->none = "the backend has no rope";
    if (t->none)
        return 0;
    int status = unturned(t, &n);
    if (!status)
        status = judge_rope(t, &n, rope);
    other_close(&n);
    return status;
}

/* ---- the operator rmsnorm on heads, where nothing turns ---- */

static void of_head(const struct other *o, int64_t *row, int64_t *col)
{
    const int64_t heads = o->c.args.rmsnorm.m, d = o->c.args.rmsnorm.d; /* of q */
    *col += *row % heads * d;
    *row /= heads;
}

static bool is_tame_token(const struct attempt *t, struct other *o, int64_t row)
{
    return is_tame(t, o, row / o->c.args.rmsnorm.m);
}

static bool is_norm(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *code)
{
    (void) o, (void) row, (void) code;
    return col >= of(t)->rope_dim;
}

static double norm_allowed(const struct attempt *t, const struct other *o, int64_t row, int64_t col, double want)
{
    (void) t, (void) o, (void) row, (void) col;
    return (2 * REF_RMSNORM_K * ldexp(1, -24) + ldexp(1, -7)) * (1 + ldexp(1, -6)) * fabs(want) + ldexp(1, -100);
}

static int fused_norm(struct attempt *t)
{
    static const char *const axes[] = { "B", "M", "M", "Hq", "d", "D", "w", "w", "eps", "eps", NULL };
    static const struct rule normed = { is_tame_token, is_norm, norm_allowed, true, true };
    const struct qkv_args *const a = of(t);
    const struct lc_kernel *const norm = other_kernel(t, "rmsnorm");
    struct kase k;
    struct other o;
    if (is_usual(t) && (a->rope_dim == a->head_dim || call_has(t->base, QKV_B_Q) || kase_is(&t->base->id, "w", "mixed")))
        t->none = "needs dimensions behind rope_dim, bias=-, one dtype of weights";
    else if (!t->none && !norm)
        t->none = "the backend has no rmsnorm";
    if (t->none)
        return 0;
    other_case(t, &k, "rmsnorm", axes);
    kase_set(&k, "rank", "3");
    if (!other_is_legal(t, &k))
        return 0;
    int status = other_new(t, &o, &k);
    if (!status && a->tokens > 0)
        copy(t, &o, RMS_WEIGHT, QKV_W_Q);
    for (int64_t row = 0; !status && row < a->tokens * a->heads_q; row++)
        for (int64_t i = 0; i < a->head_dim; i++)
            put(&o.c, RMS_X, row, i, get(t->base, QKV_X, row / a->heads_q, row % a->heads_q * a->head_dim + i));
    status = other_result(t, &o, status, norm, "rmsnorm of the heads of q");
    o.at = of_head;
    if (!status)
        rule_judge(t, &o, RMS_OUT, QKV_Q, &normed);
    other_close(&o);
    return status;
}

const struct perturbation qkv_relations[] = {
    { "swapped", "QKV-2",
      "k for q and q for k, weights and biases too, give k and q: within the bounds of both calls; other bits are reported",
      swapped },
    { "tail", "QKV-3", "dimensions behind rope_dim are the same with cosines 1 and sines 0: bitwise, they are n", tail },
    { "fused-rope", "QKV-3",
      "q and k are the operator rope's, of the n that cosines 1 and sines 0 show: within twice the bound of APPLY-1, which "
      "leaves "
      "FMA free; other bits are reported",
      fused_rope },
    { "fused-norm", "QKV-2",
      "q behind rope_dim is the operator rmsnorm's of each head: within twice the bound of RMS-5; other bits are reported",
      fused_norm },
    { NULL, NULL, NULL, NULL },
};
