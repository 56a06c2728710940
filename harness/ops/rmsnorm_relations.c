/* SPDX-License-Identifier: Apache-2.0 */
/* Relations of rmsnorm: the fused cast against the cast alone, and doubling. */
#include <math.h>

#include "../case.h"
#include "../relations.h"

static int64_t width(const struct attempt *t)
{
    return t->base->args.rmsnorm.d;
}

/* ---- RMS-6: the cast's input is y_bf ---- */

static bool is_finite_group(const struct attempt *t, int64_t row, int64_t g)
{
    const int64_t size = t->base->args.rmsnorm.sf.group;
    for (int64_t col = g * size; col < width(t) && col < (g + 1) * size; col++)
        if (!isfinite(base_value(t, RMS_BF16, row, col)))
            return false; /* CAST-7 */
    return true;
}

static bool fused_row(const struct attempt *t, struct other *o, int64_t row)
{
    for (int64_t g = 0; g < t->base->args.rmsnorm.sf.groups; g++)
        o->flag[g] = is_finite_group(t, row, g);
    return true;
}

static bool fused_code(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *code)
{
    (void) row, (void) code;
    return o->flag[col / t->base->args.rmsnorm.sf.group] != 0;
}

static bool fused_scale(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *code)
{
    (void) row, (void) code;
    return col < t->base->args.rmsnorm.sf.groups && o->flag[col];
}

static int fused_cast(struct attempt *t)
{
    static const char *const axes[] = { "rank", "rank", "B",     "B",     "M",     "M",     "d",      "d",      "G", "G",
                                        "sf",   "sf",   "round", "round", "utccp", "utccp", "ragged", "ragged", NULL };
    static const struct rule codes = { fused_row, fused_code, NULL, false, false },
                             scales = { fused_row, fused_scale, NULL, false, false };
    const struct kase *const id = &t->base->id;
    const struct lc_kernel *const cast = other_kernel(t, "cast");
    if (!call_has(t->base, RMS_BF16) || !kase_is(id, "out", "e4m3") || !kase_is(id, "dialect", "-"))
        t->none = "needs out=e4m3, bf16=1 and no dialect";
    else if (!cast)
        t->none = "the backend has no cast";
    if (t->none)
        return 0;
    struct kase k;
    struct other o;
    other_case(t, &k, "cast", axes);
    if (!other_is_legal(t, &k))
        return 0;
    int status = other_new(t, &o, &k);
    for (int64_t row = 0; !status && row < o.c.op->rows(&o.c.args); row++)
        for (int64_t col = 0; col < width(t); col++)
            put(&o.c, CAST_X, row, col, base_value(t, RMS_BF16, row, col));
    snprintf(t->d.where, sizeof t->d.where, "cast/%s of the bf16 output", cast->variant ? cast->variant : "-");
    status = status ? status : other_run(t, &o, cast);
    t->d.runs += !status;
    if (!status) {
        rule_judge(t, &o, CAST_OUT, RMS_OUT, &codes);
        rule_judge(t, &o, CAST_SF, RMS_SF, &scales);
        if (call_has(&o.c, CAST_EXTRA_SF))
            rule_judge(t, &o, CAST_EXTRA_SF, RMS_EXTRA_SF, &scales);
    }
    other_close(&o);
    return status;
}

/* ---- doubling ---- */

/* Nothing that is multiplied is near under- or overflow. */
static bool is_tame(const struct attempt *t, struct other *o, int64_t row)
{
    bool tame = is_within(t->base->args.rmsnorm.out_scale, -20, 20);
    (void) o;
    for (int64_t col = 0; col < width(t) && tame; col++)
        tame = is_within(get(t->base, RMS_WEIGHT, 0, col), -40, 40) && is_within(get(t->base, RMS_X, row, col), -60, 60) &&
               (!call_has(t->base, RMS_RESIDUAL) || is_within(get(t->base, RMS_RESIDUAL, row, col), -60, 60));
    return tame;
}

static bool twice(enum lc_dtype f, uint32_t *code)
{
    const double v = fmt_load(f, *code);
    *code = fmt_code(f, 2 * v);
    return is_within(v, -60, 100);
}

static bool twice_out(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *code)
{
    (void) t, (void) row, (void) col;
    return twice(o->c.slot[RMS_OUT].fmt, code);
}

static bool twice_bf16(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *code)
{
    (void) t, (void) o, (void) row, (void) col;
    return twice(LC_BF16, code);
}

static const struct rule same = { is_tame, NULL, NULL, false, false }, out_doubles = { is_tame, twice_out, NULL, false, false },
                         bf16_doubles = { is_tame, twice_bf16, NULL, false, false };

static bool is_cast(struct attempt *t)
{
    if (kase_is(&t->base->id, "out", "e4m3"))
        t->none = "needs an out that is no cast";
    return t->none != NULL;
}

static int judge_doubled(struct attempt *t, struct other *o, int status, const char *where)
{
    snprintf(t->d.where, sizeof t->d.where, "%s", where);
    status = status ? status : other_run(t, o, NULL);
    t->d.runs += !status;
    if (!status) {
        rule_judge(t, o, RMS_OUT, RMS_OUT, &out_doubles);
        if (call_has(&o->c, RMS_BF16))
            rule_judge(t, o, RMS_BF16, RMS_BF16, &bf16_doubles);
        if (call_has(&o->c, RMS_RESIDUAL_OUT))
            rule_judge(t, o, RMS_RESIDUAL_OUT, RMS_RESIDUAL_OUT, &same);
    }
    other_close(o);
    return status;
}

static int double_scale(struct attempt *t)
{
    struct other o;
    struct kase k = t->base->id;
    k.f[axis_of(k.op, "scale")] *= 2;
    if (is_cast(t) || !other_is_legal(t, &k))
        return 0;
    return judge_doubled(t, &o, other_open(t, &o, &k), "2 out_scale");
}

static int double_weight(struct attempt *t)
{
    struct other o;
    if (!is_cast(t) && !kase_is(&t->base->id, "dialect", "-"))
        t->none = "a dialect may not be linear in the weight (RMS-13)";
    if (t->none)
        return 0;
    const int status = other_open(t, &o, &t->base->id);
    for (int64_t col = 0; !status && o.c.op->rows(&o.c.args) > 0 && col < width(t); col++)
        put(&o.c, RMS_WEIGHT, 0, col, 2 * get(t->base, RMS_WEIGHT, 0, col));
    return judge_doubled(t, &o, status, "2 weight");
}

/* Each call is within RMS-5 of its y, which is the same; then both are rounded. */
static double allowed(const struct attempt *t, const struct other *o, int64_t row, int64_t col, double want)
{
    (void) t, (void) row, (void) col;
    const double step = o->c.slot[RMS_OUT].fmt == LC_F32 ? ldexp(1, -23) : ldexp(1, -7);
    return (2 * REF_RMSNORM_K * ldexp(1, -24) + step) * fabs(want) + ldexp(1, -133);
}

static int double_x(struct attempt *t)
{
    static const struct rule stays = { is_tame, NULL, allowed, false, true };
    struct other o;
    struct kase k = t->base->id;
    k.f[axis_of(k.op, "eps")] *= 4;
    if (is_cast(t) || !other_is_legal(t, &k))
        return 0;
    int status = other_open(t, &o, &k);
    const bool residual = !status && call_has(&o.c, RMS_RESIDUAL) && o.c.slot[RMS_RESIDUAL].same_as < 0;
    for (int64_t row = 0; !status && row < o.c.op->rows(&o.c.args); row++)
        for (int64_t col = 0; col < width(t); col++) {
            put(&o.c, RMS_X, row, col, 2 * get(t->base, RMS_X, row, col));
            if (residual)
                put(&o.c, RMS_RESIDUAL, row, col, 2 * get(t->base, RMS_RESIDUAL, row, col));
        }
    snprintf(t->d.where, sizeof t->d.where, "2 x, 2 residual, 4 eps");
    status = status ? status : other_run(t, &o, NULL);
    t->d.runs += !status;
    if (!status) {
        rule_judge(t, &o, RMS_OUT, RMS_OUT, &stays);
        if (call_has(&o.c, RMS_RESIDUAL_OUT))
            rule_judge(t, &o, RMS_RESIDUAL_OUT, RMS_RESIDUAL_OUT, &bf16_doubles);
    }
    other_close(&o);
    return status;
}

const struct perturbation rmsnorm_relations[] = {
    { "fused-cast", "RMS-6",
      "codes and scales are the operator cast's, of the bf16 output of the same call: bitwise, y_bf is what is "
      "cast",
      fused_cast },
    { "double-scale", "RMS-5",
      "twice out_scale gives 2 y: bitwise, f32 products double in every order, far from under- and overflow", double_scale },
    { "double-weight", "RMS-5", "twice the weight gives 2 y: bitwise, likewise", double_weight },
    { "double-x", "RMS-4",
      "2 x, 2 residual, 4 eps give the same y and twice residual_out: y within twice the bound, since RMS-4 leaves "
      "the root free; other bits are reported",
      double_x },
    { NULL, NULL, NULL, NULL },
};
