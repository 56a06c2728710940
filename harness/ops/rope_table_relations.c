/* SPDX-License-Identifier: Apache-2.0 */
/* Relations of rope_table: a longer table, a larger factor. */
#include "../case.h"
#include "../relations.h"

static int longer(struct attempt *t)
{
    return perturbation_find("batch")->run(t);
}

static bool doubled(const struct attempt *t, const struct other *o, int64_t row, int64_t col, uint32_t *code)
{
    const enum lc_dtype f = o->c.slot[ROT_TABLE].fmt;
    const double v = fmt_load(f, *code);
    (void) t, (void) row, (void) col;
    *code = fmt_code(f, 2 * v);
    return is_within(v, -100, 100); /* sin(0) may be two subnormal steps (ROT-3) */
}

static int double_attn(struct attempt *t)
{
    static const struct rule doubles = { NULL, doubled, NULL, false, false }, same = { NULL, NULL, NULL, false, false };
    struct kase k = t->base->id;
    struct other o;
    k.f[axis_of(k.op, "attn")] *= 2;
    if (!other_is_legal(t, &k))
        return 0;
    int status = other_open(t, &o, &k);
    snprintf(t->d.where, sizeof t->d.where, "2 attn_factor");
    status = status ? status : other_run(t, &o, NULL);
    t->d.runs += !status;
    if (!status) {
        rule_judge(t, &o, ROT_TABLE, ROT_TABLE, &doubles);
        if (o.c.slot[ROT_INV_FREQ].listed)
            rule_judge(t, &o, ROT_INV_FREQ, ROT_INV_FREQ, &same);
    }
    other_close(&o);
    return status;
}

const struct perturbation rope_table_relations[] = {
    { "longer-table", "DET-2", "a row of a longer table is that of a shorter one: bitwise, a row is its position", longer },
    { "double-attn", "YARN-4",
      "twice attn_factor gives twice the table, and the same inv_freq: bitwise, the product with mscale is "
      "the last but the store",
      double_attn },
    { NULL, NULL, NULL, NULL },
};
