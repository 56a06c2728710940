/* SPDX-License-Identifier: Apache-2.0 */
/* Relations of hadamard: doubling, and the transform of a transform. */
#include <math.h>

#include "../case.h"
#include "../relations.h"

static int64_t width(const struct attempt *t)
{
    return t->base->args.hadamard.n;
}

/* Far from under- and overflow, wherever the kernel multiplies by scale: then every f32 number of a call doubles. */
static bool is_tame(const struct attempt *t, struct other *o, int64_t row)
{
    bool tame = t->base->args.hadamard.scale != 0 && is_within(t->base->args.hadamard.scale, -12, 12);
    (void) o;
    for (int64_t col = 0; col < width(t) && tame; col++)
        tame = is_within(get(t->base, HAD_X, row, col), -80, 90); /* false of NaN */
    return tame;
}

static bool doubled(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *code)
{
    const enum lc_dtype f = o->c.slot[HAD_OUT].fmt;
    (void) t, (void) row, (void) col;
    *code = fmt_code(f, 2 * fmt_load(f, *code));
    return true;
}

static const struct rule doubles = { is_tame, doubled, NULL, true, false };

static int judge_doubled(struct attempt *t, struct other *o, int status, const char *where)
{
    snprintf(t->d.where, sizeof t->d.where, "%s", where);
    status = status ? status : other_run(t, o, NULL);
    t->d.runs += !status;
    if (!status)
        rule_judge(t, o, HAD_OUT, HAD_OUT, &doubles);
    other_close(o);
    return status;
}

static int double_x(struct attempt *t)
{
    struct other o;
    const int status = other_open(t, &o, &t->base->id);
    for (int64_t row = 0; !status && row < o.c.op->rows(&o.c.args); row++)
        for (int64_t col = 0; col < width(t); col++)
            put(&o.c, HAD_X, row, col, 2 * get(t->base, HAD_X, row, col));
    return judge_doubled(t, &o, status, "2 x");
}

static bool with_scale(struct attempt *t, struct kase *k, double scale)
{
    *k = t->base->id;
    kase_set(k, "given", "1");
    k->f[axis_of(k->op, "scale")] = scale;
    return other_is_legal(t, k);
}

static int double_scale(struct attempt *t)
{
    struct other o;
    struct kase k;
    if (!with_scale(t, &k, 2 * t->base->args.hadamard.scale))
        return 0;
    return judge_doubled(t, &o, other_open(t, &o, &k), "2 scale");
}

/* ---- HAD-2: H H^T = n I ---- */

static bool x_again(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *code)
{
    *code = fmt_code(o->c.slot[HAD_OUT].fmt, get(t->base, HAD_X, row, col));
    return true;
}

/* sum|x| and sum|y| for `allowed`. */
static bool sums(const struct attempt *t, struct other *o, int64_t row)
{
    o->sum[0] = o->sum[1] = 0;
    for (int64_t i = 0; i < width(t); i++) {
        o->sum[0] += fabs(get(t->base, HAD_X, row, i));
        o->sum[1] += fabs(base_value(t, HAD_OUT, row, i));
    }
    return is_tame(t, o, row);
}

/* What HAD-3 allows each of both calls, and both roundings. Each of the n errors of the first call comes out times o->number, the
 * second scale; scale and number are rounded. */
static double allowed(const struct attempt *t, const struct other *o, int64_t row, int64_t col, double want)
{
    const double u = ldexp(1, -24), half = t->base->slot[HAD_OUT].fmt == LC_F32 ? u : ldexp(1, -8);
    const double k = ref_hadamard_k(&t->base->args, t->kernel->claims), n = (double) width(t), back = fabs(o->number);
    (void) row, (void) col;
    const double first = n * k * u * fabs(t->base->args.hadamard.scale) * o->sum[0] + half * o->sum[1];
    const double before = back * first + k * u * back * o->sum[1] + 2 * u * fabs(want);
    return (before + half * (fabs(want) + before)) * (1 + ldexp(1, -6));
}

static int twice(struct attempt *t)
{
    static const struct rule returns = { sums, x_again, allowed, true, false };
    struct other o;
    struct kase k;
    const double scale = t->base->args.hadamard.scale, back = scale != 0 ? rn_f32(1 / (scale * (double) width(t))) : 0;
    if (back == 0) {
        t->none = "scale is 0";
        return 0;
    }
    if (!with_scale(t, &k, back))
        return 0;
    int status = other_open(t, &o, &k);
    o.number = back;
    for (int64_t row = 0; !status && row < o.c.op->rows(&o.c.args); row++)
        for (int64_t col = 0; col < width(t); col++)
            put(&o.c, HAD_X, row, col, base_value(t, HAD_OUT, row, col));
    snprintf(t->d.where, sizeof t->d.where, "x = y, scale = 1 / (n scale)");
    status = status ? status : other_run(t, &o, NULL);
    t->d.runs += !status;
    if (!status)
        rule_judge(t, &o, HAD_OUT, HAD_OUT, &returns);
    other_close(&o);
    return status;
}

const struct perturbation hadamard_relations[] = {
    { "double-x", "HAD-1", "2 x gives 2 y: bitwise, f32 sums and products double in every order, far from under- and overflow",
      double_x },
    { "double-scale", "HAD-2", "twice the scale gives 2 y: bitwise, likewise", double_scale },
    { "twice", "HAD-2",
      "the transform of y, scaled by 1/(n scale), gives x: within the bounds of HAD-3 of both calls and their "
      "roundings",
      twice },
    { NULL, NULL, NULL, NULL },
};
