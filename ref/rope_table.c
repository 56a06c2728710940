/* SPDX-License-Identifier: Apache-2.0 */
/* The cos/sin table of the rotary embedding, with linear, NTK and YaRN scaling.
 *
 *   p_i        = fl(b^fl(2i / rotary_dim))                                     ROT-1
 *   inv_freq_i = fl(1 / p_i)                                                   ROT-1
 *                fl(1 / fl(fl(s) p_i)), or ROT-1 of b = fl(base s^(d/(d-2)))   ROT-7, linear and ntk
 *                fl(fl(I_i fl(1 - lambda_i)) + fl(E_i lambda_i))               YARN-3
 *   lambda_i   = fl(fl(1 - ramp_i) fl(extrapolation_factor))                   YARN-2
 *   ramp_i     = clamp(fl(fl(i - fl(low)) / fl(high - low)), 0, 1)             YARN-2; low, high of YARN-1
 *   angle      = fl(fl(pos) inv_freq_i)                                        ROT-2
 *   table      = fl(cos(angle) fl(mscale)) | fl(sin(angle) fl(mscale))         ROT-3, ROT-4, YARN-4; RN_bf16 of it (ROT-6)
 *
 * Source     arXiv:2104.09864, arXiv:2309.00071; docs/contract.md ROT-1..7, YARN-1..6.
 * Shapes     inv_freq (n); table (max_position, 2n); n = rotary_dim/2, or what pruning leaves of it (YARN-5).
 * Freedom    p_i 1 ulp, the division none: three values of inv_freq. cos and sin 2 ulp before the product, the table judged
 *            given the inv_freq that was returned; without that output, under one of the three for the whole column.
 * Edges      |angle| is finite. Position 0 is (mscale, 0).
 * Double     YARN-1 and YARN-4 name doubles: ln and dim() are the real numbers rounded to double once, then each operation is
 *            one of binary64. Nothing of libm shows in a bit (wide.h). */
#include <inttypes.h>
#include <math.h>

#include "args.h"
#include "wide.h"

/* ---- frequencies ---- */

static double rn_f32_add(double a, double b) /* f32 operands: a double sum rounds innocuously */
{
    return rn_f32(a + b);
}

static double rn_f32_mul(double a, double b) /* exact in double, then one rounding */
{
    return rn_f32(a * b);
}

/* YARN-2 */
static double lambda_of(const struct rope_table_args *a, int64_t i)
{
    const double at = rn_f32_add((double) i, -rn_f32(a->low)), span = rn_f32(a->high - a->low);
    const double slope = rn_f32_div(at, span), ramp = slope < 0 ? 0 : slope > 1 ? 1 : slope;
    return rn_f32_mul(rn_f32_add(1, -ramp), a->extrapolation_factor);
}

/* The inverse frequency of pair i when its power is p. */
static double inv_freq_of(const struct rope_table_args *a, int64_t i, double p)
{
    if (a->scaling == ROPE_LINEAR)
        return rn_f32_div(1, rn_f32_mul(a->factor, p)); /* ROT-7 */
    if (a->scaling != ROPE_YARN)
        return rn_f32_div(1, p); /* ROT-1 */
    const double extrapolated = rn_f32_div(1, p), interpolated = rn_f32_div(1, rn_f32_mul(a->factor, p)), l = lambda_of(a, i);
    return rn_f32_add(rn_f32_mul(interpolated, rn_f32_add(1, -l)), rn_f32_mul(extrapolated, l)); /* YARN-3 */
}

static double power_of(const struct rope_table_args *a, int64_t i)
{
    return rn_f32_pow(a->base, rn_f32_div((double) (2 * i), (double) a->rotary_dim));
}

/* ---- one row ---- */

/* f32 values within REF_ROPE_ULPS of v, then the product (ROT-3), then the store (ROT-6). */
static struct iv entry(double v, double mscale, enum lc_dtype f)
{
    float lo = (float) v, hi = (float) v;
    for (int i = 0; i < REF_ROPE_ULPS; i++) {
        lo = nextafterf(lo, -HUGE_VALF);
        hi = nextafterf(hi, HUGE_VALF);
    }
    return iv_round(f, iv_round(LC_F32, iv_scale((struct iv) { v, (double) lo, (double) hi }, mscale)));
}

static void column(const struct rope_table_args *a, int64_t row, double inv_freq, struct iv *c, struct iv *s)
{
    const double angle = rn_f32_mul(rn_f32((double) row), inv_freq); /* ROT-2 */
    const enum lc_dtype f = (enum lc_dtype) a->t[ROT_TABLE]->dtype;
    *c = entry(rn_f32_cos(angle), a->mscale, f);
    *s = entry(rn_f32_sin(angle), a->mscale, f);
}

/* ROT-1: three values are legal, and none between them. Without a kernel the hull of the three. */
static struct iv legal(const struct rope_table_args *a, int64_t i, const uint32_t *got)
{
    struct iv w = iv_pt((double) a->inv_freq[0][i]);
    for (int k = 0; k < REF_ROPE_CANDIDATES; k++) {
        const double v = (double) a->inv_freq[k][i];
        if (got && *got != fmt_code(LC_F32, v))
            continue;
        w.lo = v < w.lo ? v : w.lo;
        w.hi = v > w.hi ? v : w.hi;
    }
    return w;
}

/* Without inv_freq as an output: *dead has a bit for each candidate that an earlier row of this column ruled out. The entries
 * are judged under the first that is left; where none would be, under the one that was left before. */
static void explained(const struct rope_table_args *a, int64_t row, int64_t i, const uint32_t *got, uint8_t *dead, struct iv *c,
                      struct iv *s)
{
    const enum lc_dtype f = (enum lc_dtype) a->t[ROT_TABLE]->dtype;
    int first = -1, best = -1;
    unsigned now = *dead;
    for (int k = 0; k < REF_ROPE_CANDIDATES; k++) {
        if (*dead >> k & 1)
            continue;
        struct iv ck, sk;
        column(a, row, (double) a->inv_freq[k][i], &ck, &sk);
        const bool fits = judge(f, ck, got[i]) != UNEXPLAINED && judge(f, sk, got[a->n + i]) != UNEXPLAINED;
        now |= fits ? 0 : 1u << k;
        if (first < 0 || (fits && best < 0)) {
            *c = ck;
            *s = sk;
        }
        first = first < 0 ? k : first;
        best = fits && best < 0 ? k : best;
    }
    if (best >= 0)
        *dead = (uint8_t) now;
}

void ref_rope_table_row(const union op_args *args, int64_t row, const struct ref_got *got, struct ref_want *want)
{
    const struct rope_table_args *const a = &args->rope_table;
    const uint32_t *const got_inv = got->code[ROT_INV_FREQ], *const got_table = got->code[ROT_TABLE];
    struct iv *const table = want->at[ROT_TABLE];
    for (int64_t i = 0; i < a->n; i++) {
        struct iv w = iv_pt((double) a->inv_freq[0][i]);
        if (a->t[ROT_INV_FREQ]) {
            w = legal(a, i, got_inv ? &got_inv[i] : NULL);
            want->at[ROT_INV_FREQ][i] = w;
            w = pick(LC_F32, w, got_inv ? &got_inv[i] : NULL); /* the table is judged given it */
        }
        if (a->t[ROT_INV_FREQ] || !got_table || !want->carry)
            column(a, row, w.v, &table[i], &table[a->n + i]);
        else
            explained(a, row, i, got_table, &want->carry[i], &table[i], &table[a->n + i]);
    }
}

/* ---- arguments ---- */

static int real(const struct lc_call *call, const char *name, double otherwise, const char *clause, double *out)
{
    *out = arg_real(call, name, otherwise);
    if (!isfinite(*out) || rn_f32(*out) != *out)
        return arg_refuse(call, name, clause, "%g: must be a finite f32", *out);
    return LC_OK;
}

static int positive(const struct lc_call *call, const char *name, double otherwise, const char *clause, double *out)
{
    const int status = real(call, name, otherwise, clause, out);
    return status || *out > 0 ? status : arg_refuse(call, name, clause, "%g: must be positive", *out);
}

static int count(const struct lc_call *call, const char *name, int64_t otherwise, int64_t least, int64_t most, const char *clause,
                 int64_t *out)
{
    *out = arg_int(call, name, otherwise);
    if (*out < least || *out > most)
        return arg_refuse(call, name, clause, "%" PRId64 ": must be %" PRId64 " to %" PRId64, *out, least, most);
    return LC_OK;
}

/* YARN-4: g(s, m) in double */
static double magnitude(double s, double m)
{
    return s <= 1 ? 1 : 0.1 * m * rn_f64_log(s) + 1;
}

/* YARN-1, YARN-4 */
static int plan_yarn(const struct lc_call *call, struct rope_table_args *a)
{
    int64_t orig = 0;
    double fast = 0, slow = 0, attn = 0, m = 0, all_dim = 0;
    bool truncate = true;
    int status = count(call, "orig", 0, 1, INT32_MAX, "YARN-1", &orig);
    if (!status)
        status = positive(call, "beta_fast", 32, "YARN-1", &fast);
    if (!status)
        status = positive(call, "beta_slow", 1, "YARN-1", &slow);
    if (!status)
        status = real(call, "extrapolation_factor", 1, "YARN-2", &a->extrapolation_factor);
    if (!status)
        status = real(call, "attn_factor", 1, "YARN-4", &attn);
    if (!status)
        status = real(call, "mscale", 1, "YARN-4", &m);
    if (!status)
        status = real(call, "mscale_all_dim", 0, "YARN-4", &all_dim);
    if (!status)
        status = arg_switch(call, "truncate", true, "YARN-1", &truncate);
    if (status)
        return status;
    const double d = (double) a->rotary_dim;
    a->low = rn_f64_turns(d, (double) orig, fast, a->base);
    a->high = rn_f64_turns(d, (double) orig, slow, a->base);
    if (truncate) {
        a->low = floor(a->low);
        a->high = ceil(a->high);
    }
    a->low = a->low > 0 ? a->low : 0;
    a->high = a->high < d - 1 ? a->high : d - 1;
    if (a->low == a->high)
        a->high += 0.001;
    a->mscale = rn_f32(magnitude(a->factor, m) / magnitude(a->factor, all_dim) * attn);
    if (!isfinite(a->mscale))
        return arg_refuse(call, "mscale_all_dim", "YARN-4", "%g: gives no finite factor of cos and sin", all_dim);
    return LC_OK;
}

/* YARN-5 */
static int prune(const struct lc_call *call, struct rope_table_args *a, double threshold)
{
    if (threshold == 0 && a->every == 1)
        return LC_OK;
    for (int64_t i = 1; i < a->n; i++)
        if (a->inv_freq[0][i] > a->inv_freq[0][i - 1])
            return arg_refuse(call, threshold > 0 ? "high_freq_cycle_threshold" : "rope_freq_sample_interval", "YARN-5",
                              "%g: inv_freq increases at pair %" PRId64, threshold > 0 ? threshold : (double) a->every, i);
    if (threshold > 0) {
        const double most = rn_f32_two_pi_over(threshold);
        while (a->first < a->n && (double) a->inv_freq[0][a->first] > most)
            a->first++;
        if (a->first == a->n)
            return arg_refuse(call, "high_freq_cycle_threshold", "YARN-5", "%g: no inv_freq is at most 2 pi / it", threshold);
    }
    const int64_t all = a->n;
    a->n = 0;
    for (int64_t i = a->first; i < all; i += a->every, a->n++)
        for (int k = 0; k < REF_ROPE_CANDIDATES; k++)
            a->inv_freq[k][a->n] = a->inv_freq[k][i];
    return LC_OK;
}

/* All three candidates of every frequency. */
static int plan_frequencies(const struct lc_call *call, struct rope_table_args *a)
{
    a->n = a->rotary_dim / 2;
    for (int64_t i = 0; i < a->n; i++) {
        const float p = (float) power_of(a, i);
        const float power[REF_ROPE_CANDIDATES] = { p, nextafterf(p, 0), nextafterf(p, HUGE_VALF) };
        for (int k = 0; k < REF_ROPE_CANDIDATES; k++) {
            const double v = inv_freq_of(a, i, (double) power[k]);
            if (!isfinite(rn_f32_mul(rn_f32((double) (a->rows - 1)), v)))
                return arg_refuse(call, "max_position", "ROT-2", "%" PRId64 ": the angle of pair %" PRId64 " is not finite",
                                  a->rows, i);
            a->inv_freq[k][i] = (float) v;
        }
    }
    return LC_OK;
}

int ref_rope_table_plan(const struct lc_call *call, union op_args *out)
{
    struct rope_table_args *const a = &out->rope_table;
    *a = (struct rope_table_args) { .factor = 1, .mscale = 1, .every = 1 };
    int64_t scaling = 0;
    double threshold = 0;
    int status = count(call, "rotary_dim", 0, 2, 2 * REF_ROPE_MOST, "ROT-1", &a->rotary_dim);
    if (!status && a->rotary_dim % 2)
        return arg_refuse(call, "rotary_dim", "ROT-1", "%" PRId64 ": must be even", a->rotary_dim);
    if (!status)
        status = count(call, "max_position", 0, 1, INT32_MAX, "ROT-4", &a->rows);
    if (!status)
        status = real(call, "base", 0, "ROT-1", &a->base);
    if (!status && !(a->base > 1))
        return arg_refuse(call, "base", "ROT-1", "%g: must be above 1", a->base);
    if (!status)
        status = count(call, "scaling", ROPE_NONE, ROPE_NONE, ROPE_YARN, "ROT-7", &scaling);
    a->scaling = (enum rope_scaling) scaling;
    if (!status && scaling != ROPE_NONE)
        status = positive(call, "factor", 1, scaling == ROPE_YARN ? "YARN-3" : "ROT-7", &a->factor);
    if (!status && scaling == ROPE_NTK) {
        if (a->rotary_dim == 2)
            return arg_refuse(call, "rotary_dim", "ROT-7", "2: ntk has the exponent d / (d - 2)");
        a->base = rn_f32_ntk(a->base, a->factor, (uint32_t) a->rotary_dim);
        if (!(a->base > 1 && isfinite(a->base)))
            return arg_refuse(call, "factor", "ROT-7", "%g: base' = %g must be above 1 and finite", a->factor, a->base);
    }
    if (!status && scaling == ROPE_YARN)
        status = plan_yarn(call, a);
    if (!status)
        status = real(call, "high_freq_cycle_threshold", 0, "YARN-5", &threshold);
    if (!status && (threshold < 0 || (threshold > 0 && scaling != ROPE_YARN)))
        return arg_refuse(call, "high_freq_cycle_threshold", "YARN-5", "%g: 0, or positive with yarn", threshold);
    if (!status)
        status = count(call, "rope_freq_sample_interval", 1, 1, scaling == ROPE_YARN ? INT32_MAX : 1, "YARN-5", &a->every);
    if (!status)
        status = plan_frequencies(call, a);
    return status ? status : prune(call, a, threshold);
}

/* A contiguous output of this shape. */
static int check_output(const struct lc_call *call, const struct lc_tensor *t, int rank, const int64_t *shape, unsigned dtypes,
                        const char *clause, const char *dtype_clause)
{
    int status = arg_is_view(call, t, clause);
    if (!status)
        status = arg_dtype(call, t, dtype_clause, dtypes);
    if (!status && t->rank != rank)
        return arg_refuse(call, t->name, clause, "rank %d: must be %d", (int) t->rank, rank);
    for (int i = 0; !status && i < rank; i++)
        if (t->shape[i] != shape[i])
            return arg_refuse(call, t->name, clause, "shape[%d] = %" PRId64 ": must be %" PRId64, i, t->shape[i], shape[i]);
    return status ? status : arg_contiguous(call, t, clause);
}

int ref_rope_table_check(const struct lc_call *call, union op_args *out)
{
    struct rope_table_args *const a = &out->rope_table;
    int status = ref_rope_table_plan(call, out);
    if (status)
        return status;
    const struct lc_tensor *const inv_freq = arg_tensor(call, "inv_freq"), *const table = arg_tensor(call, "table");
    const int64_t shape[2] = { a->rows, 2 * a->n };
    if (!table)
        return arg_refuse(call, "table", "ROT-4", "not given");
    if (inv_freq)
        status = check_output(call, inv_freq, 1, &a->n, 1u << LC_F32, "ROT-1", "ROT-1");
    if (!status)
        status = check_output(call, table, 2, shape, 1u << LC_F32 | 1u << LC_BF16, "ROT-4", "ROT-6");
    a->t[ROT_INV_FREQ] = inv_freq;
    a->t[ROT_TABLE] = table;
    return status ? status : arg_no_overlap(call, NULL, 0, a->t, ROT_TENSORS, NULL, "DET-4");
}
