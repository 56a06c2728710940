/* SPDX-License-Identifier: Apache-2.0 */
/* Relations of sf_layout: there and back, and what a cast writes in the other layout. */
#include <math.h>

#include "../case.h"
#include "../relations.h"
#include "sf_layout.h"

static const struct sf_layout_args *of(const struct attempt *t)
{
    return &t->base->args.sf_layout;
}

static int64_t rows_of(const struct attempt *t)
{
    return of(t)->batch * of(t)->m;
}

static bool is_power(double v)
{
    return is_within(v, -126, 128) && v > 0 && frexp(v, &(int) { 0 }) == 0.5;
}

/* ---- there and back ---- */

static bool in_again(const struct attempt *t, const struct other *o, int64_t row, int64_t g, uint32_t *code)
{
    if (g >= of(t)->from.groups)
        return false;
    *code = fmt_code(o->c.slot[SFL_OUT].fmt, get(t->base, SFL_IN, row, g));
    return true;
}

static int back(struct attempt *t)
{
    static const char *const axes[] = { "rank", "rank", "B",  "B",  "M",  "M",  "ds",     "ds",     "from", "to",
                                        "bf",   "bt",   "bt", "bf", "at", "at", "ragged", "ragged", NULL };
    static const struct rule returns = { NULL, in_again, NULL, false, false };
    struct kase k;
    struct other o;
    if (of(t)->weight) {
        t->none = "weight scales have no way back";
        return 0;
    }
    other_case(t, &k, "sf_layout", axes);
    kase_set(&k, "to", kase_name(&t->base->id, "from"));
    if (!other_is_legal(t, &k))
        return 0;
    int status = other_new(t, &o, &k);
    for (int64_t row = 0; !status && row < rows_of(t); row++)
        for (int64_t g = 0; g < of(t)->from.groups; g++) {
            const double v = base_value(t, SFL_OUT, row, g);
            if (o.c.args.sf_layout.t[SFL_ERROR] && !is_power(v))
                t->none = "a scale that is no normal power of two has no way back (SF-5)";
            put(&o.c, SFL_IN, row, g, v);
        }
    if (!t->none)
        status = other_result(t, &o, status, NULL, "sf_out into sf_in's layout");
    if (!status && !t->none && rows_of(t) > 0)
        rule_judge(t, &o, SFL_OUT, SFL_OUT, &returns);
    other_close(&o);
    return status;
}

/* ---- the cast ---- */

/* The scales are those that E4M3 casts make (CAST-4), and below what BF16 holds times 448. */
static bool is_cast_row(const struct attempt *t, struct other *o, int64_t row)
{
    bool may = true;
    (void) o;
    for (int64_t g = 0; g < of(t)->from.groups && may; g++) {
        const double v = get(t->base, SFL_IN, row, g);
        may = is_power(v) && v >= ldexp(1, -22) && v <= ldexp(1, 119);
    }
    return may;
}

static int as_cast(struct attempt *t)
{
    static const char *const axes[] = { "rank", "rank", "B", "B", "M", "M", "ragged", "ragged", NULL };
    static const struct rule same = { is_cast_row, NULL, NULL, false, false };
    const bool utccp = kase_is(&t->base->id, "to", "utccp");
    const struct lc_kernel *const cast = other_kernel(t, "cast");
    struct kase k;
    struct other o;
    other_case(t, &k, "cast", axes);
    kase_put(&k, "d", 32 * of(t)->from.groups);
    if (utccp)
        kase_put(&k, "utccp", kase_int(&t->base->id, "bt"));
    else
        kase_set(&k, "sf", kase_name(&t->base->id, "to"));
    if (!cast)
        t->none = "the backend has no cast";
    if (!cast || !other_is_legal(t, &k))
        return 0;
    int status = other_new(t, &o, &k);
    for (int64_t row = 0; !status && row < rows_of(t); row++)
        for (int64_t col = 0; col < o.c.args.cast.d; col++) /* amax = 448 sf: an exact scale stays (CAST-4) */
            put(&o.c, CAST_X, row, col,
                col % 32 == (7 * row + col / 32) % 32 && is_cast_row(t, &o, row) ? 448 * get(t->base, SFL_IN, row, col / 32) : 0);
    status = other_result(t, &o, status, cast, "a cast with amax = 448 sf");
    if (!status && rows_of(t) > 0)
        rule_judge(t, &o, utccp ? CAST_EXTRA_SF : CAST_SF, SFL_OUT, &same);
    other_close(&o);
    return status;
}

const struct perturbation sf_layout_relations[] = {
    { "back", "SF-0", "sf_out into the layout of sf_in gives sf_in: bitwise, scales are copied", back },
    { "as-cast", "SF-0",
      "sf_out is what the operator cast writes in that layout, of x with amax = 448 sf_in: bitwise, CAST-4 leaves no freedom",
      as_cast },
    { NULL, NULL, NULL, NULL },
};
