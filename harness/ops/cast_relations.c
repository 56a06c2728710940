/* SPDX-License-Identifier: Apache-2.0 */
/* Relations of cast: a shift of all exponents, and the cast of what a cast gave. */
#include <math.h>

#include "../case.h"
#include "../relations.h"

static const struct sf_args *sf_of(const struct attempt *t)
{
    return &t->base->args.cast.sf;
}

static enum lc_dtype x_fmt(const struct attempt *t)
{
    return t->base->slot[CAST_X].fmt;
}

/* The floor of amax, CAST-2 and CAST-9, or a little above. */
static double least_amax(const struct sf_args *s)
{
    const double e2m1 = ldexp(6, -126), usual = 1.0001e-4, of_scale = 448 * 1.0001e-4;
    return s->dialect == CAST_SF_FLOOR ? of_scale : s->e2m1 && s->dialect != CAST_DEEPGEMM ? e2m1 : usual;
}

/* o->flag[g]: the group's elements x, by f() of their value, are finite and of x's format, and amax is above its floor. */
static void flag_groups(const struct attempt *t, struct other *o, int64_t row, int by)
{
    const struct cast_args *const a = &t->base->args.cast;
    for (int64_t g = 0; g < a->sf.groups; g++) {
        double amax = 0;
        bool exact = true;
        for (int64_t col = g * a->sf.group; col < a->d && col < (g + 1) * a->sf.group; col++) {
            const double x = get(t->base, CAST_X, row, col);
            exact = exact && scales_exactly(x_fmt(t), x, by);
            amax = fabs(x) > amax ? fabs(x) : amax;
        }
        o->flag[g] = exact && amax >= least_amax(&a->sf) && ldexp(amax, by) >= least_amax(&a->sf);
    }
}

static bool shift_row(const struct attempt *t, struct other *o, int64_t row)
{
    flag_groups(t, o, row, (int) o->number);
    return true;
}

static bool shift_code(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *code)
{
    (void) row, (void) code;
    return o->flag[col / sf_of(t)->group] != 0;
}

static bool shift_scale(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *code)
{
    const enum lc_dtype f = o->c.slot[CAST_SF].fmt;
    (void) row;
    if (col >= sf_of(t)->groups || !o->flag[col])
        return false;
    *code = fmt_code(f, ldexp(fmt_load(f, *code), (int) o->number));
    return true;
}

static int shift(struct attempt *t)
{
    static const int by[] = { 1, -1, -9, 13, 100 };
    static const struct rule codes = { shift_row, shift_code, NULL, false, false },
                             scales = { shift_row, shift_scale, NULL, false, false };
    int status = 0;
    for (size_t i = 0; i < sizeof by / sizeof *by && !status; i++) {
        struct other o;
        status = other_open(t, &o, &t->base->id);
        o.number = by[i];
        for (int64_t row = 0; !status && row < o.c.op->rows(&o.c.args); row++)
            for (int64_t col = 0; col < o.c.args.cast.d; col++)
                put(&o.c, CAST_X, row, col, ldexp(get(t->base, CAST_X, row, col), by[i]));
        if (!t->d.bad_elements)
            snprintf(t->d.where, sizeof t->d.where, "x * 2^%d", by[i]);
        status = status ? status : other_run(t, &o, NULL);
        t->d.runs += !status;
        for (int slot = CAST_OUT; slot < CAST_TENSORS && !status; slot++)
            if (call_has(&o.c, slot))
                rule_judge(t, &o, slot, slot, slot == CAST_OUT ? &codes : &scales);
        other_close(&o);
    }
    return status;
}

/* ---- CAST-8 ---- */

static double dequantised(const struct attempt *t, int64_t row, int64_t col)
{
    const double x = base_value(t, CAST_OUT, row, col) * base_value(t, CAST_SF, row, col / sf_of(t)->group);
    return sf_of(t)->round ? x : rn_f32(x);
}

enum { FREE, JUDGED, REPEATS }; /* o->flag of a group; REPEATS: codes and scale too */

static bool again_row(const struct attempt *t, struct other *o, int64_t row)
{
    const struct cast_args *const a = &t->base->args.cast;
    const double at_floor = a->sf.e2m1 ? ldexp(1, -126) : ldexp(1, -22), half = a->sf.e2m1 ? 3 : 224;
    for (int64_t g = 0; g < a->sf.groups; g++) {
        double largest = 0;
        bool fine = true;
        for (int64_t col = g * a->sf.group; col < a->d && col < (g + 1) * a->sf.group; col++) {
            const double q = fabs(base_value(t, CAST_OUT, row, col)), x = dequantised(t, row, col);
            fine = fine && isfinite(get(t->base, CAST_X, row, col)) && isfinite(x) && rn(x_fmt(t), x) == x;
            largest = q > largest ? q : largest;
        }
        const bool repeats = !a->sf.round || largest > half || base_value(t, CAST_SF, row, g) == at_floor;
        o->flag[g] = !fine ? FREE : repeats ? REPEATS : JUDGED;
    }
    return true;
}

/* Under another scale the code is the one that means the same value. */
static bool again_code(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *code)
{
    const int64_t g = col / sf_of(t)->group;
    const double sf = other_value(o, CAST_SF, row, g);
    if (o->flag[g] == JUDGED && sf > 0 && isfinite(sf)) {
        const double q = base_value(t, CAST_OUT, row, col) * (base_value(t, CAST_SF, row, g) / sf);
        *code = fmt_code(o->c.slot[CAST_OUT].fmt, q);
    }
    return o->flag[g] != FREE;
}

static bool again_scale(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *code)
{
    (void) row, (void) code;
    return col < sf_of(t)->groups && o->flag[col] == REPEATS;
}

static int again(struct attempt *t)
{
    static const struct rule codes = { again_row, again_code, NULL, false, false },
                             scales = { again_row, again_scale, NULL, false, false };
    struct other o;
    if (sf_of(t)->dialect != CAST_USUAL) {
        t->none = "CAST-8 is about the usual cast";
        return 0;
    }
    int status = other_open(t, &o, &t->base->id);
    for (int64_t row = 0; !status && row < o.c.op->rows(&o.c.args); row++)
        for (int64_t col = 0; col < o.c.args.cast.d; col++)
            put(&o.c, CAST_X, row, col, dequantised(t, row, col));
    snprintf(t->d.where, sizeof t->d.where, "x = the codes times their scales");
    status = status ? status : other_run(t, &o, NULL);
    t->d.runs += !status;
    if (!status) {
        rule_judge(t, &o, CAST_OUT, CAST_OUT, &codes);
        rule_judge(t, &o, CAST_SF, CAST_SF, &scales);
    }
    other_close(&o);
    return status;
}

const struct perturbation cast_relations[] = {
    { "shift", "CAST-4",
      "x * 2^k gives the same codes, and scales * 2^k: bitwise, where no amax meets its floor and no x leaves "
      "its format",
      shift },
    { "again", "CAST-8",
      "the cast of codes times scales gives the same values, and where CAST-8 says so the same codes and scales: "
      "bitwise",
      again },
    { NULL, NULL, NULL, NULL },
};
