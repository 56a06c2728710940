/* SPDX-License-Identifier: Apache-2.0 */
/* rope_table: cos/sin table with linear, NTK and YaRN scaling (docs/contract.md ROT, YARN). The operator reads no tensor: a case
 * is its parameters. */
#include <math.h>
#include <string.h>

#include "../../ref/args.h"
#include "../case.h"
#include "../relations.h"
#include "../scales.h"

static const struct {
    const char *axis, *scalar;
    int is_real, yarn; /* yarn: looked at with scaling=yarn only */
    int has_usual;     /* may be left out, and is `usual` then (YARN-6, docs/plugins.md) */
    double usual;
} fields[] = {
    { "d", "rotary_dim", 0, 0, 0, 0 },
    { "rows", "max_position", 0, 0, 0, 0 },
    { "base", "base", 1, 0, 0, 0 },
    { "scaling", "scaling", 0, 0, 1, 0 },
    { "s", "factor", 1, 0, 1, 1 },
    { "orig", "orig", 0, 1, 0, 0 },
    { "fast", "beta_fast", 1, 1, 1, 32 },
    { "slow", "beta_slow", 1, 1, 1, 1 },
    { "ext", "extrapolation_factor", 1, 1, 1, 1 },
    { "attn", "attn_factor", 1, 1, 1, 1 },
    { "m", "mscale", 1, 1, 1, 1 },
    { "mall", "mscale_all_dim", 1, 1, 1, 0 },
    { "trunc", "truncate", 0, 1, 1, 1 },
    { "T", "high_freq_cycle_threshold", 1, 1, 1, 0 },
    { "every", "rope_freq_sample_interval", 0, 1, 1, 1 },
};
enum { FIELDS = sizeof fields / sizeof *fields };

static void put_scalars(struct call *c)
{
    const int sparse = !kase_int(&c->id, "listed");
    for (int i = 0; i < FIELDS; i++) {
        const int64_t n = fields[i].is_real ? 0 : kase_int(&c->id, fields[i].axis);
        const double v = fields[i].is_real ? kase_real(&c->id, fields[i].axis) : 0;
        if (!sparse || !fields[i].has_usual || (fields[i].is_real ? v : (double) n) != fields[i].usual)
            call_scalar(c, fields[i].scalar, n, v);
    }
}

/* What ref/ says of the case's scalars. */
static int plan(const struct kase *k, union op_args *args)
{
    struct call c;
    c.id = *k;
    c.n_scalars = 0;
    put_scalars(&c);
    const struct lc_call call = { .scalars = c.scalar, .n_scalars = (uint32_t) c.n_scalars };
    return ref_rope_table_plan(&call, args);
}

/* Back to the first listed value; `why` when that changes the case. */
static const char *drop(struct kase *k, const char *axis, const char *why, const char *before)
{
    const int a = axis_of(k->op, axis);
    const struct axis_value first = axis_listed(k->op, a, 0);
    if (k->i[a] == first.i && k->f[a] == first.f)
        return before;
    k->i[a] = first.i;
    k->f[a] = first.f;
    return before ? before : why;
}

static const char *settle(struct kase *k)
{
    const char *why = NULL;
    union op_args args;
    if (!kase_is(k, "bad", "-")) {
        struct kase plain;
        kase_default(&plain, k->op);
        plain.i[axis_of(k->op, "bad")] = kase_int(k, "bad");
        kase_set(&plain, "scaling", "yarn");
        *k = plain;
        return "bad stands alone: one good call, spoiled";
    }
    if (kase_is(k, "scaling", "none"))
        why = drop(k, "s", "s needs a scaling", why);
    for (int i = 0; i < FIELDS; i++)
        if (fields[i].yarn && !kase_is(k, "scaling", "yarn"))
            why = drop(k, fields[i].axis, "the fields of YARN-6 need scaling=yarn", why);
    const int pruned = kase_real(k, "T") != 0 || kase_int(k, "every") != 1;
    if (plan(k, &args) && pruned) {
        why = drop(k, "T", "pruning: inv_freq increases, or none is at most 2 pi / T (YARN-5)", why);
        why = drop(k, "every", "pruning: inv_freq increases (YARN-5)", why);
    }
    for (int i = 0; i < FIELDS && plan(k, &args); i++)
        why = drop(k, fields[i].axis, "the contract refuses these parameters (ROT-1, ROT-2, ROT-7, YARN-1..4)", why);
    return why;
}

static void build(struct call *c)
{
    const struct kase *const k = &c->id;
    union op_args args = { .rope_table = { .n = 0 } };
    put_scalars(c);
    plan(k, &args);
    const int64_t n = args.rope_table.n, one = 1, shape[2] = { kase_int(k, "rows"), 2 * n }, stride[2] = { 2 * n, 1 };
    if (kase_int(k, "inv"))
        call_tensor(c, ROT_INV_FREQ, "inv_freq", LC_F32, DIR_OUT, 1, &n, &one, 1, &n);
    call_tensor(c, ROT_TABLE, "table", kase_is(k, "table", "bf16") ? LC_BF16 : LC_F32, DIR_OUT, 2, shape, stride, 2, shape);
    call_bases(c);
}

static const struct lc_tensor *const *tensors_of(const union op_args *args)
{
    return args->rope_table.t;
}

static int64_t rows(const union op_args *args)
{
    return args->rope_table.rows;
}

static int64_t cols(const union op_args *args, int tensor)
{
    return tensor == ROT_INV_FREQ ? args->rope_table.n : 2 * args->rope_table.n;
}

/* inv_freq belongs to position 0. */
static int64_t place(const union op_args *args, int tensor, int64_t row, int64_t col)
{
    const struct rope_table_args *const a = &args->rope_table;
    if (tensor == ROT_INV_FREQ)
        return row == 0 ? 4 * col : -1;
    return (2 * a->n * row + col) * fmt_bytes((enum lc_dtype) a->t[ROT_TABLE]->dtype);
}

/* ---- refusals (ERR-1) ---- */

static struct lc_tensor *t(struct call *c, int slot)
{
    return &c->slot[slot].t;
}

/* clang-format off */
#define COUNT(name, scalar, value) static void name(struct call *c) { call_set_scalar(c, scalar, value, 0); }
#define REAL(name, scalar, value) static void name(struct call *c) { call_set_scalar(c, scalar, 0, value); }
COUNT(rotary_odd, "rotary_dim", 63) COUNT(rotary_0, "rotary_dim", 0) COUNT(rotary_most, "rotary_dim", 1026)
COUNT(rows_0, "max_position", 0) COUNT(rows_negative, "max_position", -1)
REAL(base_1, "base", 1) REAL(base_0, "base", 0) REAL(base_nan, "base", NAN) REAL(base_inf, "base", INFINITY)
REAL(base_f64, "base", 10000.1)
COUNT(scaling_4, "scaling", 4) COUNT(scaling_negative, "scaling", -1)
REAL(factor_0, "factor", 0) REAL(factor_negative, "factor", -2) REAL(factor_inf, "factor", INFINITY)
COUNT(orig_0, "orig", 0) REAL(fast_0, "beta_fast", 0) REAL(fast_nan, "beta_fast", NAN) REAL(slow_negative, "beta_slow", -1)
REAL(ext_nan, "extrapolation_factor", NAN) REAL(attn_inf, "attn_factor", INFINITY) REAL(mscale_nan, "mscale", NAN)
REAL(all_dim_inf, "mscale_all_dim", INFINITY) COUNT(truncate_2, "truncate", 2)
REAL(threshold_negative, "high_freq_cycle_threshold", -1) REAL(threshold_large, "high_freq_cycle_threshold", 1e9f)
COUNT(interval_0, "rope_freq_sample_interval", 0)
static void increases(struct call *c)
{
    call_set_scalar(c, "beta_fast", 0, 1);
    call_set_scalar(c, "beta_slow", 0, 32);
    call_set_scalar(c, "rope_freq_sample_interval", 2, 0);
}
static void factor_linear(struct call *c) { call_set_scalar(c, "scaling", ROPE_LINEAR, 0), factor_0(c); }
static void ntk_2(struct call *c)
{
    call_set_scalar(c, "scaling", ROPE_NTK, 0);
    call_set_scalar(c, "rotary_dim", 2, 0);
}
static void ntk_small(struct call *c)
{
    call_set_scalar(c, "scaling", ROPE_NTK, 0);
    call_set_scalar(c, "factor", 0, ldexp(1, -20));
}
static void threshold_none(struct call *c)
{
    call_set_scalar(c, "scaling", 0, 0);
    call_set_scalar(c, "high_freq_cycle_threshold", 0, 64);
}
static void interval_none(struct call *c)
{
    call_set_scalar(c, "scaling", 0, 0);
    call_set_scalar(c, "rope_freq_sample_interval", 2, 0);
}
static void angle_inf(struct call *c) { call_set_scalar(c, "extrapolation_factor", 0, ldexp(1, 127)); }
static void width_rotary(struct call *c) { call_set_scalar(c, "rope_freq_sample_interval", 2, 0); }
static void inv_shape(struct call *c) { t(c, ROT_INV_FREQ)->shape[0] = 31; }
static void inv_dtype(struct call *c) { t(c, ROT_INV_FREQ)->dtype = LC_BF16; }
static void inv_stride(struct call *c) { t(c, ROT_INV_FREQ)->stride[0] = 2; }
static void table_rank(struct call *c) { t(c, ROT_TABLE)->rank = 1; }
static void table_rows(struct call *c) { t(c, ROT_TABLE)->shape[0] = 32; }
static void table_width(struct call *c) { t(c, ROT_TABLE)->shape[1] = 32; }
static void table_dtype(struct call *c) { t(c, ROT_TABLE)->dtype = LC_I32; }
static void table_stride(struct call *c) { t(c, ROT_TABLE)->stride[0] = 128; }
static void table_last(struct call *c) { t(c, ROT_TABLE)->stride[1] = 2; }
static void table_null(struct call *c) { c->slot[ROT_TABLE].miss = NULL_POINTER; }
static void table_base(struct call *c) { c->slot[ROT_TABLE].miss = 2; }
static void table_absent(struct call *c) { c->slot[ROT_TABLE].listed = 0; }
static void table_alias(struct call *c) { c->slot[ROT_TABLE].same_as = ROT_INV_FREQ; }
/* clang-format on */

static const struct bad bads[] = {
    { "rotary-odd", "rotary_dim", "ROT-1", "63", rotary_odd },
    { "rotary-0", "rotary_dim", "ROT-1", "0", rotary_0 },
    { "rotary-most", "rotary_dim", "ROT-1", "1026", rotary_most },
    { "rows-0", "max_position", "ROT-4", "0", rows_0 },
    { "rows-negative", "max_position", "ROT-4", "-1", rows_negative },
    { "base-1", "base", "ROT-1", "1", base_1 },
    { "base-0", "base", "ROT-1", "0", base_0 },
    { "base-nan", "base", "ROT-1", "nan", base_nan },
    { "base-inf", "base", "ROT-1", "inf", base_inf },
    { "base-f64", "base", "ROT-1", "10000.1", base_f64 },
    { "scaling-4", "scaling", "ROT-7", "4", scaling_4 },
    { "scaling-negative", "scaling", "ROT-7", "-1", scaling_negative },
    { "factor-0", "factor", "YARN-3", "0", factor_0 },
    { "factor-negative", "factor", "YARN-3", "-2", factor_negative },
    { "factor-inf", "factor", "YARN-3", "inf", factor_inf },
    { "factor-linear", "factor", "ROT-7", "0", factor_linear },
    { "ntk-2", "rotary_dim", "ROT-7", "2", ntk_2 },
    { "ntk-small", "factor", "ROT-7", "9.53674e-07", ntk_small },
    { "orig-0", "orig", "YARN-1", "0", orig_0 },
    { "fast-0", "beta_fast", "YARN-1", "0", fast_0 },
    { "fast-nan", "beta_fast", "YARN-1", "nan", fast_nan },
    { "slow-negative", "beta_slow", "YARN-1", "-1", slow_negative },
    { "ext-nan", "extrapolation_factor", "YARN-2", "nan", ext_nan },
    { "attn-inf", "attn_factor", "YARN-4", "inf", attn_inf },
    { "mscale-nan", "mscale", "YARN-4", "nan", mscale_nan },
    { "all-dim-inf", "mscale_all_dim", "YARN-4", "inf", all_dim_inf },
    { "truncate-2", "truncate", "YARN-1", "2", truncate_2 },
    { "threshold-negative", "high_freq_cycle_threshold", "YARN-5", "-1", threshold_negative },
    { "threshold-large", "high_freq_cycle_threshold", "YARN-5", "1e+09", threshold_large },
    { "threshold-none", "high_freq_cycle_threshold", "YARN-5", "64", threshold_none },
    { "interval-0", "rope_freq_sample_interval", "YARN-5", "0", interval_0 },
    { "interval-none", "rope_freq_sample_interval", "YARN-5", "2", interval_none },
    { "increases", "rope_freq_sample_interval", "YARN-5", "increases", increases },
    { "angle-inf", "max_position", "ROT-2", "33", angle_inf },
    { "width-rotary", "inv_freq", "ROT-1", "shape[0] = 32", width_rotary },
    { "inv-shape", "inv_freq", "ROT-1", "shape[0] = 31", inv_shape },
    { "inv-dtype", "inv_freq", "ROT-1", "dtype bf16", inv_dtype },
    { "inv-stride", "inv_freq", "ROT-1", "stride[0] = 2", inv_stride },
    { "table-rank", "table", "ROT-4", "rank 1", table_rank },
    { "table-rows", "table", "ROT-4", "shape[0] = 32", table_rows },
    { "table-width", "table", "ROT-4", "shape[1] = 32", table_width },
    { "table-dtype", "table", "ROT-6", "dtype i32", table_dtype },
    { "table-stride", "table", "ROT-4", "stride[0] = 128", table_stride },
    { "table-last", "table", "ROT-4", "stride[1] = 2", table_last },
    { "table-null", "table", "ROT-4", "NULL", table_null },
    { "table-base", "table", "ROT-4", "0x", table_base },
    { "table-absent", "table", "ROT-4", "not given", table_absent },
    { "table-alias", "table", "DET-4", "0x", table_alias },
    { NULL, NULL, NULL, NULL, NULL },
};

const struct op op_rope_table = {
    .name = "rope_table",
    .summary = "cos/sin table of the rotary embedding, with linear, NTK and YaRN scaling",
    .source = "arXiv:2104.09864; arXiv:2309.00071",
    .clauses = "ROT-1..4 ROT-6 ROT-7 YARN-1..6 FMT-1 FMT-5 DET-1..4 ERR-1",
    .axes = {
        { "d", "rotary_dim", "64|2|6|128|256", AXIS_INT, 0 },
        { "rows", "max_position", "33|1|2|700|4100", AXIS_INT, 0 },
        { "base", "base", "10000|150000|1.5|1000003", AXIS_REAL, 0 },
        { "scaling", "ROT-7, YARN", "none|linear|ntk|yarn", AXIS_NAME, 0 },
        { "s", "factor", "40|32|1|0.75|3.3", AXIS_REAL, 0 },
        { "orig", "max_position of the model before scaling", "4096|1|32768", AXIS_INT, 0 },
        { "fast", "beta_fast", "32|1|5.5", AXIS_REAL, 0 },
        { "slow", "beta_slow", "1|32|0.25", AXIS_REAL, 0 },
        { "ext", "extrapolation_factor; a large one makes large angles", "1|0|1.5|100000", AXIS_REAL, 0 },
        { "attn", "attn_factor", "1|0.5|-1.1", AXIS_REAL, 0 },
        { "m", "mscale", "1|0.707|0", AXIS_REAL, 0 },
        { "mall", "mscale_all_dim", "0|1|0.707", AXIS_REAL, 0 },
        { "trunc", "truncate: low and high are whole", "1|0", AXIS_INT, 0 },
        { "T", "high_freq_cycle_threshold, 0: none", "0|7|64", AXIS_REAL, 0 },
        { "every", "rope_freq_sample_interval", "1|2|5", AXIS_INT, 0 },
        { "table", "dtype of the table (ROT-6)", "f32|bf16", AXIS_NAME, 0 },
        { "inv", "inv_freq is an output too", "1|0", AXIS_INT, 0 },
        { "listed", "0: scalars that have their default are not listed (YARN-6)", "1|0", AXIS_INT, 0 },
        { "at", "bytes by which bases miss a 128-byte boundary, at least an element; -1: each operand another",
          "0|4|8|16|64|-1", AXIS_INT, 0 },
        { "fill", "there is no data", NULL, AXIS_NAME, 1 },
        { "seed", "there is no data", "1", AXIS_INT, 1 },
        { "bad", "a violated precondition that must be refused (ERR-1)", NULL, AXIS_NAME, 1 },
    },
    .tensors = {
        { "inv_freq", "(n)", "f32", "inv=1", "n = rotary_dim/2, or what pruning leaves (YARN-5)", DIR_OUT },
        { "table", "(max_position, 2n)", "f32 bf16", NULL, "[cos | sin] of each position, contiguous", DIR_OUT },
    },
    .bounds = {
        { "inv_freq", "ROT-1", "p_i or one of its f32 neighbours, all else rounded as written: three values, none between them",
          NULL, 0, NULL },
        { "table", "ROT-3", "given inv_freq, as returned or one of the three for a whole column: the angle is bitwise, cosine and "
          "sine are f32 neighbours of the correctly rounded ones, the product with mscale is rounded once", NULL, -REF_ROPE_ULPS, NULL },
    },
    .fills = { { "none", "the operator reads no tensor", NULL, 0 } },
    .bads = bads,
    .forms = (const struct form[]) { { "none", "scaling=none" }, { "ntk", "scaling=ntk" }, { "bf16", "table=bf16" }, { "no-inv", "inv=0" }, { NULL, NULL } },
    .settle = settle,
    .build = build,
    .check = ref_rope_table_check,
    .tensors_of = tensors_of,
    .rows = rows,
    .cols = cols,
    .place = place,
    .ref = ref_rope_table_row,
    .relations = rope_table_relations,
};
