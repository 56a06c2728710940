/* SPDX-License-Identifier: Apache-2.0 */
/* Linear layer, out = x W^T (+ out_acc) (+ bias).
 *
 *   acc[n] = sum_k x[k] W[n][k] (+ out_acc[n])              LIN-1, LIN-2: exact products, summed exactly
 *   out[n] = RN_out(acc[n])                                 LIN-1, one rounding
 *   out[n] = RN_out(fl(out[n] + bias[n]))                   LIN-9, where there is a bias
 *
 * fp8: x[k] = code * 2^(byte - 127) of its group of 32, W[n][k] likewise; a BF16 x is cast first (LIN-5, CAST).
 *
 * Dialects   reduce-add: out = RN_bf16(out_acc + RN_bf16(acc without it)) (LIN-2); bias-fused: the bias is one more term of acc
 *            (LIN-9).
 * Source     docs/contract.md LIN-1..11; DeepGEMM.
 * Shapes     x (.., K), W (N, K), E2M1 stored (N, K/2); x_sf (M, ceil(K/128)), weight_sf (N, ceil(K/128)) in SF-3; bias (N);
 *            out_acc, out (.., N). M = 0 and N = 0 write nothing; K = 0 gives out_acc, or +0 (LIN-2).
 * Freedom    the order of the sum, in f32 or on tensor cores: |acc - exact| <= (K + 32) u (sum|a||b| + |out_acc|) + underflow,
 *            1.4 K + 32 of a kernel that declares LC_K8_CORES (LIN-1). Where every term is a multiple of g and the sum of their
 *            magnitudes at most 2^24 g, acc is exact in every order: none (LIN-8).
 * Edges      NaN, Inf * 0 and Inf - Inf make their element NaN, one sign of Inf that Inf (LIN-11). A finite element is not judged
 *            where its terms of one sign sum to 2^127 or more: there a right kernel's partial sum may be an Inf, and |exact| >=
 *            2^127 is one such case. Beside an Inf only finite terms of the other sign can do that, and then make it a NaN: where
 *            they sum to 2^127 or more the element is NaN or an Inf, never finite; elsewhere it is that Inf. Not judged either:
 *            where a product's two scales are beyond -100 <= ea + eb <= 100 (LIN-5); where a cast x has an Inf (CAST-7). The sign
 *            of a zero sum is free (FMT-6). */
#include <math.h>
#include <string.h>

#include "args.h"

enum { GROUP = 32 };

/* ---- operands as doubles, each with the exponent of its lowest bit ---- */

enum { NO_BITS = 8192 }; /* the lowest bit of a zero: above any other, and so is a sum of two */

struct scratch {
    int64_t *weight_is_read; /* 0 before the first row */
    double *x, *w;           /* K and N * K values, scales applied: exact */
    int16_t *x_low, *w_low;  /* likewise */
    int16_t *x_exp, *w_exp;  /* exponents of the scales by group, and by row and group */
    struct iv *cast;         /* the cast of a row: values, codes, scales */
    uint8_t *cast_free;      /* codes, scales */
};

/* Elements of the cast's parts: values, codes, scales. */
static size_t cast_size(const struct linear_args *a)
{
    return a->cast_x ? (size_t) (2 * a->k + sf_cols(&a->sf)) : 0;
}

size_t ref_linear_work(const union op_args *args)
{
    const struct linear_args *const a = &args->linear;
    const size_t rows = (size_t) a->n + 1, cast = cast_size(a); /* of the weight, and one of x */
    return sizeof(int64_t) + rows * (size_t) a->k * (sizeof(double) + sizeof(int16_t)) +
           rows * (size_t) a->sf.groups * sizeof(int16_t) + cast * (sizeof(struct iv) + 1);
}

/* In descending order of alignment. */
static struct scratch parts_of(const struct linear_args *a, void *work)
{
    const int64_t rows = a->n + 1;
    struct scratch s = { .weight_is_read = work };
    s.x = (double *) (s.weight_is_read + 1);
    s.w = s.x + a->k;
    s.cast = (struct iv *) (s.x + rows * a->k);
    s.x_low = (int16_t *) (s.cast + cast_size(a));
    s.w_low = s.x_low + a->k;
    s.x_exp = s.x_low + rows * a->k;
    s.w_exp = s.x_exp + a->sf.groups;
    s.cast_free = (uint8_t *) (s.x_exp + rows * a->sf.groups);
    return s;
}

/* The exponent of the lowest bit that is set; v has at most 24. */
static int16_t low_of(double v)
{
    int exp;
    if (v == 0 || !isfinite(v))
        return NO_BITS;
    int64_t sig = (int64_t) ldexp(frexp(fabs(v), &exp), 24);
    for (exp -= 24; sig % 2 == 0; sig /= 2)
        exp++;
    return (int16_t) exp;
}

static double load(const struct lc_tensor *t, int64_t at)
{
    const uint8_t *const p = t->data;
    switch (t->dtype) {
    case LC_F32:
        return (double) ((const float *) t->data)[at];
    case LC_BF16:
        return fmt_load(LC_BF16, ((const uint16_t *) t->data)[at]);
    case LC_E2M1X2: /* FMT-4: at counts codes, the even one in the low nibble */
        return fmt_load(LC_E2M1X2, (uint32_t) p[at / 2] >> 4 * (at % 2) & 0xf);
    default:
        return fmt_load(LC_E4M3, p[at]);
    }
}

/* SF-3, FMT-3: the scale of group g; *exp its exponent, 0 where it is NaN. */
static double scale_of(const struct linear_args *a, const struct lc_tensor *sf, int64_t rows, int64_t row, int64_t g,
                       int16_t *exp)
{
    const uint8_t byte = ((const uint8_t *) sf->data)[sf_place(&a->sf, rows, row, g)];
    const double scale = fmt_load(LC_UE8M0, byte);
    *exp = isnan(scale) ? 0 : (int16_t) (byte - 127);
    return scale;
}

static void read_weight(const struct linear_args *a, const struct scratch *s)
{
    const struct lc_tensor *const w = a->t[LIN_WEIGHT];
    const int codes = w->dtype == LC_E2M1X2 ? 2 : 1;
    for (int64_t n = 0; n < a->n; n++) {
        double scale = 1;
        for (int64_t k = 0; k < a->k; k++) {
            const int64_t at = n * a->k + k;
            if (a->fp8 && k % GROUP == 0)
                scale = scale_of(a, a->t[LIN_WEIGHT_SF], a->n, n, k / GROUP, &s->w_exp[n * a->sf.groups + k / GROUP]);
            s->w[at] = load(w, n * w->stride[0] * codes + k) * scale;
            s->w_low[at] = low_of(s->w[at]);
        }
    }
}

/* LIN-5: a BF16 row is cast first. False where CAST-7 leaves the row open: it has an Inf and no NaN. */
static bool cast_row(const struct linear_args *a, int64_t from, const struct scratch *s)
{
    struct iv *const x = s->cast, *const q = x + a->k, *const sf = q + a->k;
    uint8_t *const q_free = s->cast_free, *const sf_free = q_free + a->k;
    struct ref_want count = { 0 };
    bool has_nan = false, has_inf = false;
    for (int64_t k = 0; k < a->k; k++)
        x[k] = iv_pt(load(a->t[LIN_X], from + k));
    ref_cast_groups(&a->sf, LC_BF16, a->k, x, NULL, q, q_free, sf, sf_free, &count);
    for (int64_t k = 0; k < a->k; k++) {
        const int64_t g = k / GROUP;
        has_nan = has_nan || isnan(x[k].v);
        has_inf = has_inf || isinf(x[k].v);
        s->x_exp[g] = (int16_t) (sf_free[g] ? 0 : ilogb(sf[g].v));
        s->x[k] = sf_free[g] ? x[k].v : rn(LC_E4M3, q[k].v) * sf[g].v;
    }
    return has_nan || !has_inf;
}

static bool read_x(const struct linear_args *a, int64_t row, const struct scratch *s)
{
    const int64_t from = row * a->x_stride; /* LIN-4 */
    bool judged = true;
    double scale = 1;
    if (a->cast_x)
        judged = cast_row(a, from, s);
    for (int64_t k = 0; k < a->k; k++) {
        if (a->fp8 && !a->cast_x && k % GROUP == 0)
            scale = scale_of(a, a->t[LIN_X_SF], a->m, row, k / GROUP, &s->x_exp[k / GROUP]);
        if (!a->cast_x)
            s->x[k] = load(a->t[LIN_X], from + k) * scale;
        s->x_low[k] = low_of(s->x[k]);
    }
    return judged;
}

/* ---- LIN-1, LIN-2, LIN-8: one element before it is rounded ---- */

struct sum {
    double v, magnitude; /* each rounded once; v not finite: the class that LIN-11 has */
    int low;             /* every term is a multiple of 2^low */
};

/* The products, then one term more. */
static struct sum sum_of(const struct linear_args *a, const struct scratch *s, int64_t n, const double *more, int n_more)
{
    const double *const x = s->x, *const w = s->w + n * a->k;
    const int16_t *const x_low = s->x_low, *const w_low = s->w_low + n * a->k;
    struct sum sum = { 0, 0, 2 * NO_BITS };
    for (int64_t k = 0; k < a->k; k++) { /* products of doubles with 8 bits: exact */
        const int low = x_low[k] + w_low[k];
        sum.v += x[k] * w[k];
        sum.magnitude += fabs(x[k] * w[k]);
        sum.low = low < sum.low ? low : sum.low;
    }
    for (int i = 0; i < n_more; i++) {
        const int low = low_of(more[i]);
        sum.v += more[i];
        sum.magnitude += fabs(more[i]);
        sum.low = low < sum.low ? low : sum.low;
    }
    /* Multiples of 2^low whose magnitudes sum to 2^53 of it at most: no addition above was rounded. */
    if (!isfinite(sum.magnitude) || sum.magnitude <= ldexp(1, 53 + sum.low))
        return sum;
    struct acc v, magnitude;
    acc_clear(&v);
    acc_clear(&magnitude);
    for (int64_t k = 0; k < a->k; k++) {
        acc_add(&v, x[k] * w[k]);
        acc_add(&magnitude, fabs(x[k] * w[k]));
    }
    for (int i = 0; i < n_more; i++) {
        acc_add(&v, more[i]);
        acc_add(&magnitude, fabs(more[i]));
    }
    sum.v = acc_double(&v);
    sum.magnitude = acc_double(&magnitude);
    return sum;
}

/* LIN-11: may a partial sum of finite terms overflow, of an Inf: to the other one? No partial sum is beyond what all terms of one
 * sign make, by more than its roundings, far less than the factor of 2 between 2^127 and f32's end. */
static bool may_overflow(const struct linear_args *a, const struct scratch *s, int64_t n, const double *more, int n_more,
                         struct sum sum)
{
    const double *const x = s->x, *const w = s->w + n * a->k, most = ldexp(1, 127);
    double side[2] = { 0, 0 }; /* positive, negative terms */
    if (isnan(sum.v) || sum.magnitude < most)
        return false;
    for (int64_t i = 0; i < a->k + n_more; i++) {
        const double t = i < a->k ? x[i] * w[i] : more[i - a->k];
        if (isfinite(t))
            side[t < 0] += fabs(t);
    }
    return (side[0] >= most && sum.v != INFINITY) || (side[1] >= most && sum.v != -INFINITY);
}

double ref_linear_k(const union op_args *args, uint32_t claims)
{
    const int64_t k = args->linear.k;
    return claims & LC_K8_CORES ? REF_LINEAR_K8_K(k) : REF_LINEAR_K(k);
}

/* LIN-2, K = 0: out_acc is the one term, and acc is out_acc bit by bit. */
static bool is_copy(const struct linear_args *a)
{
    return a->k == 0 && a->t[LIN_OUT_ACC] && a->dialect == LIN_USUAL;
}

/* acc and its hull. */
static struct iv acc_of(const struct linear_args *a, struct sum sum, double k)
{
    const struct iv zero = { 0, -0.0, 0 };                                         /* FMT-6 */
    const bool exact = sum.low >= -149 && sum.magnitude <= ldexp(1, 24 + sum.low); /* LIN-8; all zero: 0 <= Inf */
    if (!isfinite(sum.v))
        return iv_pt(sum.v); /* LIN-11 */
    if (exact)
        return sum.v == 0 && a->k + (a->t[LIN_OUT_ACC] ? 1 : 0) > 0 ? zero : iv_pt(sum.v); /* LIN-2: +0 where there is no term */
    const double radius = ldexp(k * sum.magnitude, -24) + ldexp((double) a->k, -149);      /* LIN-1; products that underflow */
    return iv_widen(iv_pt(sum.v), radius);
}

/* LIN-5: every group's product with its two scales is exact. */
static bool scales_fit(const struct linear_args *a, const struct scratch *s, int64_t n)
{
    for (int64_t g = 0; g < a->sf.groups; g++) {
        const int exp = s->x_exp[g] + s->w_exp[n * a->sf.groups + g];
        if (exp < -100 || exp > 100)
            return false;
    }
    return true;
}

/* y rounded to f, and b added; what LIN-11 leaves no finite number stays so. */
static struct iv rounded_plus(enum lc_dtype f, struct iv y, double b)
{
    return iv_is_nan(y) && !isnan(b) ? y : iv_add(iv_round(f, y), iv_pt(b));
}

void ref_linear_row(const union op_args *args, int64_t row, const struct ref_got *got, struct ref_want *want)
{
    const struct linear_args *const a = &args->linear;
    const struct lc_tensor *const out_acc = a->t[LIN_OUT_ACC], *const bias = a->t[LIN_BIAS];
    const enum lc_dtype f = (enum lc_dtype) a->out->dtype;
    const double k = ref_linear_k(args, want->claims);
    const struct scratch s = parts_of(a, want->work);
    (void) got;
    if (!*s.weight_is_read)
        read_weight(a, &s);
    *s.weight_is_read = 1;
    const bool judged = read_x(a, row, &s);
    for (int64_t n = 0; n < a->n; n++) {
        const double c = out_acc ? load(out_acc, arg_row(out_acc, row) + n) : 0, b = bias ? load(bias, n) : 0;
        double more[2];
        int n_more = 0;
        if (out_acc && a->dialect != LIN_REDUCE_ADD)
            more[n_more++] = c; /* LIN-2 */
        if (bias && a->dialect == LIN_BIAS_FUSED)
            more[n_more++] = b; /* LIN-9 */
        const struct sum sum = sum_of(a, &s, n, more, n_more);
        const bool overflows = may_overflow(a, &s, n, more, n_more, sum);
        want->free[LIN_OUT][n] = !judged || !scales_fit(a, &s, n) || (isfinite(sum.v) && overflows);
        const bool given = want->given_y && !(want->claims & LC_K8_CORES); /* an oracle's y is of k = K + 32 */
        struct iv y = want->free[LIN_OUT][n] ? iv_pt(INFINITY)
                      : overflows            ? iv_not_finite()
                      : given                ? want->given_y[n]
                                             : acc_of(a, sum, k);
        if (is_copy(a) && c == 0)
            y = iv_pt(c); /* a sum would have lost the sign (FMT-6) */
        want->y[n] = y;
        if (out_acc && a->dialect == LIN_REDUCE_ADD)
            y = rounded_plus(LC_BF16, y, c); /* LIN-2 */
        if (bias && a->dialect != LIN_BIAS_FUSED) {
            want->ambiguous += !iv_is_nan(y) && !iv_is_pt(iv_round(f, y));
            y = rounded_plus(f, y, b); /* LIN-9; fl of a BF16 sum decides nothing */
        }
        want->at[LIN_OUT][n] = y;
    }
}
