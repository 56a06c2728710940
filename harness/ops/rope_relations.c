/* SPDX-License-Identifier: Apache-2.0 */
/* Relations of rope: doubling, the inverse, a table that turns nothing, heads of nothing but what rotates. */
#include <math.h>

#include "../case.h"
#include "../relations.h"
#include "rope.h"

double rope_apart(double a, double b, double c, double s, double want)
{
    const double sum = 2 * (REF_ROPE_K + ldexp(1, -18)) * ldexp(1, -24) * (fabs(a * c) + fabs(b * s));
    return sum + ldexp(1, -7) * (fabs(want) * (1 + ldexp(1, -6)) + sum) + ldexp(1, -132);
}

struct rope_pair rope_pair_of(int64_t rotary_dim, bool interleaved, int64_t j)
{
    const int64_t n = rotary_dim / 2;
    if (interleaved)
        return (struct rope_pair) { j ^ 1, j / 2, (int) (j % 2) };
    return (struct rope_pair) { j < n ? j + n : j - n, j % n, j >= n };
}

static const struct rope_args *of(const struct attempt *t)
{
    return &t->base->args.rope;
}

static int64_t in_cols(const struct attempt *t, int which)
{
    return of(t)->heads[which] * of(t)->d;
}

/* The input element that column col of query_out or key_out rotates, and its partner, cosine and sine. */
struct turn {
    double x, partner, cos, sin;
    int side;
};
static struct turn turn_of(const struct attempt *t, int which, int64_t row, int64_t col)
{
    const struct rope_args *const a = of(t);
    const int64_t head = col / a->rotary_dim * a->d + a->offset, j = col % a->rotary_dim;
    const int64_t entry = ref_rope_position(&t->base->args, row) * a->rotary_dim;
    const struct rope_pair p = rope_pair_of(a->rotary_dim, a->interleaved, j);
    return (struct turn) { get(t->base, ROPE_QUERY + which, row, head + j),
                           get(t->base, ROPE_QUERY + which, row, head + p.partner), get(t->base, ROPE_TABLE, 0, entry + p.pair),
                           get(t->base, ROPE_TABLE, 0, entry + a->rotary_dim / 2 + p.pair), p.side };
}

/* Far from under- and overflow: a sum of two products is 0 or above 2^-118, whether they are rounded or not. */
static bool is_tame(const struct attempt *t, struct other *o, int64_t row)
{
    const struct rope_args *const a = of(t);
    bool tame = !ref_rope_lost(&t->base->args, row);
    (void) o;
    for (int which = 0; which < 2; which++)
        for (int64_t col = 0; col < in_cols(t, which) && tame; col++)
            tame = is_within(get(t->base, ROPE_QUERY + which, row, col), -30, 60);
    for (int64_t i = 0; i < a->rotary_dim && tame; i++)
        tame = is_within(get(t->base, ROPE_TABLE, 0, ref_rope_position(&t->base->args, row) * a->rotary_dim + i), -40, 20);
    return tame;
}

static int key_of(const struct other *o) /* o->number: which of the two is judged */
{
    return o->number != 0;
}

static void judge_both(struct attempt *t, struct other *o, const struct rule *r)
{
    for (int which = 0; which < (of(t)->heads[1] ? 2 : 1); which++) {
        o->number = which;
        rule_judge(t, o, ROPE_QUERY_OUT + which, ROPE_QUERY_OUT + which, r);
    }
}

/* ---- APPLY-1: doubling ---- */

static bool doubled(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *code)
{
    (void) t, (void) o, (void) row, (void) col;
    *code = fmt_code(LC_BF16, 2 * fmt_load(LC_BF16, *code));
    return true;
}

static int double_x(struct attempt *t)
{
    static const struct rule doubles = { is_tame, doubled, NULL, true, false };
    struct other o;
    int status = other_open(t, &o, &t->base->id);
    for (int which = 0; which < 2; which++)
        for (int64_t row = 0; !status && row < of(t)->n; row++)
            for (int64_t col = 0; col < in_cols(t, which); col++)
                put(&o.c, ROPE_QUERY + which, row, col, 2 * get(t->base, ROPE_QUERY + which, row, col));
    status = other_result(t, &o, status, NULL, "2 x");
    if (!status)
        judge_both(t, &o, &doubles);
    other_close(&o);
    return status;
}

/* ---- APPLY-2: the inverse ---- */

static bool returned(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *code)
{
    const struct turn p = turn_of(t, key_of(o), row, col);
    *code = fmt_code(LC_BF16, p.x * (p.cos * p.cos + p.sin * p.sin));
    return true;
}

/* Both elements of the pair carry the first call's error and rounding through the second, which adds its own. */
static double back_allowed(const struct attempt *t, const struct other *o, int64_t row, int64_t col, double want)
{
    const double u = (REF_ROPE_K + ldexp(1, -18)) * ldexp(1, -24), half = ldexp(1, -8);
    const struct turn p = turn_of(t, key_of(o), row, col);
    const double c = fabs(p.cos), s = fabs(p.sin), x = fabs(p.x), partner = fabs(p.partner);
    const double y = x * c + partner * s, z = partner * c + x * s; /* above what the first call gives */
    const double first = (u + half) * (1 + half) * (c * y + s * z), second = u * (1 + half) * (c * y + s * z);
    return (first + second) * (1 + ldexp(1, -6)) + ldexp(1, -7) * (1 + ldexp(1, -6)) * (fabs(want) + first + second);
}

static int inverse(struct attempt *t)
{
    static const struct rule returns = { is_tame, returned, back_allowed, true, false };
    const struct rope_args *const a = of(t);
    struct other o;
    struct kase k = t->base->id;
    kase_put(&k, "conj", !kase_int(&k, "conj"));
    if (!other_is_legal(t, &k))
        return 0;
    int status = other_open(t, &o, &k);
    for (int which = 0; which < 2; which++)
        for (int64_t row = 0; !status && row < a->n; row++)
            for (int64_t col = 0; col < a->heads[which] * a->rotary_dim; col++)
                put(&o.c, ROPE_QUERY + which, row, col / a->rotary_dim * a->d + a->offset + col % a->rotary_dim,
                    base_value(t, ROPE_QUERY_OUT + which, row, col));
    status = other_result(t, &o, status, NULL, "the inverse of the output");
    if (!status)
        judge_both(t, &o, &returns);
    other_close(&o);
    return status;
}

/* ---- APPLY-1: cosines 1 and sines 0 ---- */

static bool unturned(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *code)
{
    const struct turn p = turn_of(t, key_of(o), row, col);
    *code = fmt_code(LC_BF16, p.x);
    return isfinite(p.x) && isfinite(p.partner);
}

static bool is_there(const struct attempt *t, struct other *o, int64_t row)
{
    (void) o;
    return !ref_rope_lost(&t->base->args, row);
}

static int no_turn(struct attempt *t)
{
    static const struct rule stays = { is_there, unturned, NULL, true, false };
    const struct rope_args *const a = of(t);
    struct other o;
    int status = other_open(t, &o, &t->base->id);
    for (int64_t i = 0; !status && i < a->rows * a->rotary_dim; i++)
        put(&o.c, ROPE_TABLE, 0, i, i % a->rotary_dim < a->rotary_dim / 2);
    status = other_result(t, &o, status, NULL, "a table of cosines 1 and sines 0");
    if (!status)
        judge_both(t, &o, &stays);
    other_close(&o);
    return status;
}

/* ---- APPLY-5: partial ---- */

static double cut_allowed(const struct attempt *t, const struct other *o, int64_t row, int64_t col, double want)
{
    const struct turn p = turn_of(t, key_of(o), row, col);
    return rope_apart(p.x, p.partner, p.cos, p.sin, want);
}

static int cut_off(struct attempt *t)
{
    static const struct rule same = { is_tame, NULL, cut_allowed, true, true };
    const struct rope_args *const a = of(t);
    struct other o;
    struct kase k = t->base->id;
    if (a->rotary_dim == a->d) {
        t->none = "needs a head of which a part rotates";
        return 0;
    }
    kase_put(&k, "d", a->rotary_dim);
    kase_put(&k, "offset", 0);
    if (!other_is_legal(t, &k))
        return 0;
    int status = other_new(t, &o, &k);
    for (int64_t i = 0; !status && a->n > 0 && i < a->rows * a->rotary_dim; i++)
        put(&o.c, ROPE_TABLE, 0, i, get(t->base, ROPE_TABLE, 0, i));
    for (int64_t row = 0; !status && row < a->n; row++) {
        put(&o.c, ROPE_POSITIONS, row, 0, get(t->base, ROPE_POSITIONS, row, 0));
        for (int which = 0; which < 2; which++)
            for (int64_t col = 0; col < a->heads[which] * a->rotary_dim; col++)
                put(&o.c, ROPE_QUERY + which, row, col, turn_of(t, which, row, col).x);
    }
    status = other_result(t, &o, status, NULL, "heads of what rotates alone");
    if (!status)
        judge_both(t, &o, &same);
    other_close(&o);
    return status;
}

const struct perturbation rope_relations[] = {
    { "double-x", "APPLY-1", "2 x gives 2 y: bitwise, f32 products and their sum double, far from under- and overflow",
      double_x },
    { "inverse", "APPLY-2",
      "the conjugate of y gives (cos^2 + sin^2) x: within the bounds of APPLY-1 of both calls and their roundings", inverse },
    { "no-turn", "APPLY-1", "cosines 1 and sines 0 give x: bitwise, but for the sign of a zero (FMT-6)", no_turn },
    { "cut-off", "APPLY-5",
      "heads of nothing but what rotates give the same y: within twice the bound of APPLY-1, which leaves FMA free; other bits "
      "are reported",
      cut_off },
    { NULL, NULL, NULL, NULL },
};
