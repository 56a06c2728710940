/* SPDX-License-Identifier: Apache-2.0 */
/* Relations of linear: doubling, out_acc, the cast of x, the order of columns. */
#include <math.h>

#include "../../ref/args.h"
#include "../case.h"
#include "../relations.h"
#include "linear.h"

static const struct linear_args *of(const struct attempt *t)
{
    return &t->base->args.linear;
}

static int64_t groups_of(const struct linear_args *a) /* scales of a row that mean something (SF-6) */
{
    return (a->k + 31) / 32;
}

static bool is_usual(struct attempt *t)
{
    if (!kase_is(&t->base->id, "dialect", "-"))
        t->none = "a dialect rounds elsewhere (LIN-2, LIN-9)";
    return !t->none;
}

static bool is_plain(struct attempt *t)
{
    if (is_usual(t) && (call_has(t->base, LIN_OUT_ACC) || call_has(t->base, LIN_BIAS)))
        t->none = "needs acc=none, bias=none";
    return !t->none;
}

static void copy(struct attempt *t, struct other *o, int slot, int64_t rows)
{
    for (int64_t row = 0; row < rows; row++)
        for (int64_t col = 0; col < o->c.op->cols(&o->c.args, slot); col++)
            put(&o->c, slot, row, col, get(t->base, slot, row, col));
}

/* ---- LIN-1: how far two admissible sums may be apart ---- */

static double x_value(const struct call *c, int64_t row, int64_t k)
{
    const double x = get(c, LIN_X, row, k);
    return call_has(c, LIN_X_SF) ? x * get(c, LIN_X_SF, row, k / 32) : c->args.linear.cast_x ? 2 * x : x;
}

/* sum|a||b| + |out_acc| of an element; where x is cast, at least that: no code means more than twice its x. */
static double magnitude(const struct call *c, int64_t row, int64_t col)
{
    const struct linear_args *const a = &c->args.linear;
    double sum = call_has(c, LIN_OUT_ACC) ? fabs(get(c, LIN_OUT_ACC, row, col)) : 0;
    for (int64_t k = 0; k < a->k; k++) {
        const double w = get(c, LIN_WEIGHT, 0, col * a->k + k);
        sum += fabs(x_value(c, row, k) * (a->fp8 ? w * get(c, LIN_WEIGHT_SF, 0, col * 4 * sf_words(&a->sf) + k / 32) : w));
    }
    return sum;
}

/* Twice LIN-1 and two roundings of out; with a bias two more (LIN-9). */
static double apart(const struct attempt *t, const struct call *c, int64_t row, int64_t col, double want)
{
    const enum lc_dtype f = t->base->slot[LIN_OUT].fmt;
    const double bias = call_has(t->base, LIN_BIAS) ? fabs(get(t->base, LIN_BIAS, 0, col)) : 0;
    const double sums = 2 * ref_linear_k(&t->base->args, t->kernel->claims) * ldexp(1, -24) * magnitude(c, row, col) +
                        (double) of(t)->k * ldexp(1, -148);
    const double step = f == LC_F32 ? ldexp(1, -23) : ldexp(1, -7);
    return (sums + step * (2 * fabs(want) + bias + sums)) * (1 + ldexp(1, -6)) + ldexp(1, -132);
}

/* ---- doubling ---- */

static bool is_tame_weight(const struct attempt *t)
{
    const struct linear_args *const a = of(t);
    bool tame = a->m > 0;
    for (int64_t i = 0; i < a->n * a->k && tame; i++)
        tame = is_within(get(t->base, LIN_WEIGHT, 0, i), -30, 30);
    for (int64_t n = 0; n < a->n && a->fp8 && tame; n++)
        for (int64_t g = 0; g < groups_of(a) && tame; g++)
            tame = is_within(get(t->base, LIN_WEIGHT_SF, 0, n * 4 * sf_words(&a->sf) + g), -30, 30);
    return tame;
}

/* Far from under- and overflow: then every f32 number of a call doubles. */
static bool is_tame(const struct attempt *t, struct other *o, int64_t row)
{
    const struct linear_args *const a = of(t);
    bool tame = o->number != 0; /* the weight is */
    for (int64_t k = 0; k < a->k && tame; k++)
        tame = is_within(get(t->base, LIN_X, row, k), -30, 30);
    for (int64_t g = 0; g < groups_of(a) && call_has(t->base, LIN_X_SF) && tame; g++)
        tame = is_within(get(t->base, LIN_X_SF, row, g), -30, 30);
    return tame;
}

static bool doubled(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *code)
{
    const enum lc_dtype f = o->c.slot[LIN_OUT].fmt;
    (void) t, (void) row, (void) col;
    *code = fmt_code(f, 2 * fmt_load(f, *code));
    return true;
}

static const struct rule doubles = { is_tame, doubled, NULL, true, false };

static int judge_doubled(struct attempt *t, struct other *o, int status, const char *where)
{
    o->number = !status && is_tame_weight(t);
    status = other_result(t, o, status, NULL, where);
    if (!status)
        rule_judge(t, o, LIN_OUT, LIN_OUT, &doubles);
    other_close(o);
    return status;
}

static int double_x(struct attempt *t)
{
    const struct linear_args *const a = of(t);
    struct other o;
    if (is_plain(t) && a->fp8)
        t->none = "needs w=bf16: a code does not double";
    if (t->none)
        return 0;
    const int status = other_open(t, &o, &t->base->id);
    for (int64_t row = 0; !status && row < a->m; row++)
        for (int64_t k = 0; k < a->k; k++)
            put(&o.c, LIN_X, row, k, 2 * get(t->base, LIN_X, row, k));
    return judge_doubled(t, &o, status, "2 x");
}

static int double_scale(struct attempt *t)
{
    const struct linear_args *const a = of(t);
    struct other o;
    if (is_plain(t) && !a->fp8)
        t->none = "needs scales";
    if (t->none)
        return 0;
    const int status = other_open(t, &o, &t->base->id);
    for (int64_t n = 0; !status && a->m > 0 && n < a->n; n++)
        for (int64_t g = 0; g < groups_of(a); g++) {
            const int64_t col = n * 4 * sf_words(&a->sf) + g;
            put(&o.c, LIN_WEIGHT_SF, 0, col, 2 * get(t->base, LIN_WEIGHT_SF, 0, col));
        }
    return judge_doubled(t, &o, status, "2 weight_sf");
}

/* ---- LIN-2: out_acc ---- */

static bool sum_is_judged(const struct attempt *t, struct other *o, int64_t row)
{
    (void) o;
    for (int64_t k = 0; k < of(t)->k; k++)
        if (!is_within(get(t->base, LIN_X, row, k), -60, 60))
            return false;
    return true;
}

/* The base run's element within what the second call's, given as F32, and out_acc make of it. */
static bool acc_left(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *code)
{
    const double base = fmt_load(t->base->slot[LIN_OUT].fmt, *code);
    (void) o;
    *code = fmt_code(LC_F32, base - get(t->base, LIN_OUT_ACC, row, col));
    return isfinite(base);
}

static double acc_allowed(const struct attempt *t, const struct other *o, int64_t row, int64_t col, double want)
{
    const double acc = fabs(get(t->base, LIN_OUT_ACC, row, col));
    const double half = t->base->slot[LIN_OUT].fmt == LC_F32 ? ldexp(1, -24) : ldexp(1, -8);
    if (kase_is(&t->base->id, "fill", "exact")) /* LIN-8: but for the base run's one rounding */
        return half * (fabs(want) + acc) * (1 + ldexp(1, -6));
    (void) o;
    return apart(t, t->base, row, col, fabs(want) + acc);
}

static int add_acc(struct attempt *t)
{
    static const struct rule adds = { sum_is_judged, acc_left, acc_allowed, true, false };
    const struct linear_args *const a = of(t);
    struct kase k = t->base->id;
    struct other o;
    if (is_usual(t) && (!call_has(t->base, LIN_OUT_ACC) || call_has(t->base, LIN_BIAS) || a->fp8))
        t->none = "needs out_acc, bias=none, w=bf16";
    if (t->none)
        return 0;
    kase_set(&k, "acc", "none");
    kase_set(&k, "out", "f32");
    kase_set(&k, "os", "-1");
    kase_set(&k, "as", "0");
    if (!other_is_legal(t, &k))
        return 0;
    int status = other_new(t, &o, &k);
    if (!status && a->m > 0) {
        copy(t, &o, LIN_X, a->m);
        copy(t, &o, LIN_WEIGHT, 1);
    }
    status = other_result(t, &o, status, NULL, "no out_acc, out=f32");
    if (!status)
        rule_judge(t, &o, LIN_OUT, LIN_OUT, &adds);
    other_close(&o);
    return status;
}

/* ---- LIN-5: a BF16 x is cast first ---- */

static bool is_finite_row(const struct attempt *t, struct other *o, int64_t row)
{
    (void) o;
    for (int64_t k = 0; k < of(t)->k; k++)
        if (!is_within(get(t->base, LIN_X, row, k), -149, 60))
            return false; /* CAST-7 */
    return true;
}

static double pair_allowed(const struct attempt *t, const struct other *o, int64_t row, int64_t col, double want)
{
    return apart(t, &o->c, row, col, want);
}

static int judge_pair(struct attempt *t, const struct other *codes, const struct kase *k)
{
    static const struct rule same = { is_finite_row, NULL, pair_allowed, true, true };
    struct other o;
    int status = other_new(t, &o, k);
    if (!status) {
        copy(t, &o, LIN_WEIGHT, 1);
        copy(t, &o, LIN_WEIGHT_SF, 1);
        if (call_has(&o.c, LIN_OUT_ACC))
            copy(t, &o, LIN_OUT_ACC, of(t)->m);
        for (int64_t row = 0; row < of(t)->m; row++) {
            for (int64_t i = 0; i < of(t)->k; i++)
                put(&o.c, LIN_X, row, i, other_value(codes, CAST_OUT, row, i));
            for (int64_t g = 0; g < groups_of(of(t)); g++)
                put(&o.c, LIN_X_SF, row, g, other_value(codes, CAST_SF, row, g));
        }
    }
    status = other_result(t, &o, status, NULL, "the pair that the operator cast makes of x");
    if (!status)
        rule_judge(t, &o, LIN_OUT, LIN_OUT, &same);
    other_close(&o);
    return status;
}

static int fused_cast(struct attempt *t)
{
    static const char *const axes[] = { "d", "K", NULL };
    const struct linear_args *const a = of(t);
    const struct lc_kernel *const cast = other_kernel(t, "cast");
    struct kase pair = t->base->id, single;
    struct other codes;
    if (is_usual(t) && (!a->cast_x || a->m == 0 || a->k == 0))
        t->none = "needs an x that is cast";
    else if (!t->none && !cast)
        t->none = "the backend has no cast";
    if (t->none)
        return 0;
    other_case(t, &single, "cast", axes);
    kase_put(&single, "M", a->m); /* flattened */
    kase_set(&single, "ragged", a->ragged ? "pack" : "-");
    kase_set(&pair, "x", "e4m3");
    kase_set(&pair, "xs", "0");
    if (!other_is_legal(t, &pair) || !other_is_legal(t, &single))
        return 0;
    int status = other_new(t, &codes, &single);
    for (int64_t row = 0; !status && row < a->m; row++)
        for (int64_t i = 0; i < a->k; i++)
            put(&codes.c, CAST_X, row, i, get(t->base, LIN_X, row, i));
    status = other_result(t, &codes, status, cast, "the operator cast of x");
    if (!status)
        status = judge_pair(t, &codes, &pair);
    other_close(&codes);
    return status;
}

/* ---- columns ---- */

static void mirrored(const struct other *o, int64_t *row, int64_t *col)
{
    (void) row;
    *col = o->c.args.linear.n - 1 - *col;
}

static double columns_allowed(const struct attempt *t, const struct other *o, int64_t row, int64_t col, double want)
{
    int64_t base_col = col;
    mirrored(o, &row, &base_col);
    if (kase_is(&t->base->id, "fill", "exact")) /* LIN-8 */
        return 0;
    return apart(t, t->base, row, base_col, want);
}

static int columns(struct attempt *t)
{
    static const struct rule same = { is_finite_row, NULL, columns_allowed, true, true };
    const struct linear_args *const a = of(t);
    struct other o;
    int status = other_open(t, &o, &t->base->id);
    o.at = mirrored;
    for (int64_t n = 0; !status && a->m > 0 && n < a->n; n++) {
        const int64_t from = a->n - 1 - n, words = a->fp8 ? 4 * sf_words(&a->sf) : 0;
        for (int64_t k = 0; k < a->k; k++)
            put(&o.c, LIN_WEIGHT, 0, n * a->k + k, get(t->base, LIN_WEIGHT, 0, from * a->k + k));
        for (int64_t g = 0; g < words; g++)
            put(&o.c, LIN_WEIGHT_SF, 0, n * words + g, get(t->base, LIN_WEIGHT_SF, 0, from * words + g));
        if (call_has(&o.c, LIN_BIAS))
            put(&o.c, LIN_BIAS, 0, n, get(t->base, LIN_BIAS, 0, from));
        for (int64_t row = 0; row < a->m && call_has(&o.c, LIN_OUT_ACC); row++)
            put(&o.c, LIN_OUT_ACC, row, n, get(t->base, LIN_OUT_ACC, row, from));
    }
    status = other_result(t, &o, status, NULL, "rows of the weight in reverse");
    if (!status)
        rule_judge(t, &o, LIN_OUT, LIN_OUT, &same);
    other_close(&o);
    return status;
}

const struct perturbation linear_relations[] = {
    { "double-x", "LIN-1", "2 x gives 2 out: bitwise, f32 sums double in every order, far from under- and overflow", double_x },
    { "double-scale", "LIN-5", "twice every scale of the weight gives 2 out: bitwise, likewise", double_scale },
    { "add-acc", "LIN-2",
      "without out_acc out is less by it: within the bounds of LIN-1 of both calls and their roundings, fill=exact within the "
      "roundings alone (LIN-8)",
      add_acc },
    { "fused-cast", "LIN-5",
      "the operator cast's codes and scales for a BF16 x give the same out: within twice the bound of LIN-1; other bits are "
      "reported",
      fused_cast },
    { "mirrored-columns", "LIN-1",
      "the weight's rows in reverse give the columns in reverse: within twice the bound of LIN-1, bitwise with fill=exact "
      "(LIN-8); "
      "other bits are reported",
      columns },
    { NULL, NULL, NULL, NULL },
};
