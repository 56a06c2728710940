/* SPDX-License-Identifier: Apache-2.0 */
/* Hadamard transform along the last dimension.
 *
 *   y[i] = scale * sum_j (-1)^popcount(i & j) x[j]          HAD-1, Sylvester order; summed exactly
 *   out  = RN_out(y)                                        HAD-3, one output rounding
 *
 * Source     J. J. Sylvester, 1867; docs/contract.md HAD-1..6.
 * Shapes     x and out (n), (M, n) or (B, M, n), of one dtype, BF16 or F32; n a power of two, 2..32768. out may be x, the same
 *            view (HAD-4). M = 0 and B = 0 write nothing.
 * Freedom    the order of the sum, in f32: |y - v| <= k u |scale| sum|x|, k = log2 n + 2, or n + 16 of a kernel that declares
 *            itself dense (HAD-3), + underflow of the product. Data whose sums are exact in every order leave none but the
 *            rounding of that product (HAD-5).
 * Edges      a NaN or an Inf makes its whole vector not finite, NaN or Inf, and no other vector (HAD-6). The sign of a zero sum
 *            is free (FMT-6). A vector with sum|x| >= 2^127 is not judged: f32 sums overflow in right kernels. */
#include <math.h>
#include <string.h>

#include "args.h"

enum { MOST_N = 32768, MOST_DENSE = 1024 };

static double load(const struct lc_tensor *t, int64_t at)
{
    return t->dtype == LC_BF16 ? fmt_load(LC_BF16, ((const uint16_t *) t->data)[at]) : (double) ((const float *) t->data)[at];
}

/* ---- exact sums ----
 *
 * acc_add spreads an f32 over three of the accumulator's limbs, from limb (-149 - 52 + 400) / 32 up to limb
 * (127 - 52 + 400) / 32 + 2. The transform is linear, so each limb is transformed for itself, in integers: |limb| < 2^32, so
 * |sum| < 2^47. Their carries meet in acc_double. work[l][i] is limb FIRST + l of element i. */
enum { FIRST = (-149 - 52 + 400) / 32, LIMBS = (127 - 52 + 400) / 32 + 2 - FIRST + 1 };

size_t ref_hadamard_work(const union op_args *args)
{
    return (size_t) args->hadamard.n * LIMBS * sizeof(int64_t);
}

/* x becomes H x: one stage for each bit of the index (HAD-1). */
static void transform(int64_t n, int64_t *x)
{
    for (int64_t bit = 1; bit < n; bit *= 2)
        for (int64_t i = 0; i < n; i++)
            if (!(i & bit)) {
                const int64_t a = x[i], b = x[i | bit];
                x[i] = a + b;
                x[i | bit] = a - b;
            }
}

struct vector {
    bool finite;
    bool exact;       /* HAD-5 */
    double magnitude; /* sum|x|, rounded once */
    bool used[LIMBS]; /* limbs that are not zero everywhere */
};

/* The largest power of two that divides v; v is an f32 and not 0. */
static double quantum(double v)
{
    int exp;
    int64_t sig = (int64_t) ldexp(frexp(fabs(v), &exp), 24);
    for (exp -= 24; sig % 2 == 0; sig /= 2)
        exp++;
    return ldexp(1, exp);
}

static struct vector take(const struct hadamard_args *a, int64_t row, int64_t *work)
{
    struct vector v = { .finite = true };
    struct acc magnitude, one;
    double g = HUGE_VAL;
    const int64_t from = arg_row(a->t[HAD_X], row);
    acc_clear(&magnitude);
    for (int64_t i = 0; i < a->n; i++) {
        const double x = load(a->t[HAD_X], from + i);
        if (!isfinite(x))
            return (struct vector) { .finite = false };
        acc_clear(&one);
        acc_add(&one, x);
        acc_add(&magnitude, fabs(x));
        if (x != 0 && quantum(x) < g)
            g = quantum(x);
        for (int l = 0; l < LIMBS; l++) {
            work[l * a->n + i] = one.limb[FIRST + l];
            v.used[l] = v.used[l] || one.limb[FIRST + l];
        }
    }
    /* A multiple of g up to 2^24 g is a double, and the next one, (2^24 + 1) g, is another: rounding decides nothing. */
    v.magnitude = acc_double(&magnitude);
    v.exact = v.magnitude <= ldexp(g, 24); /* all zero: 0 <= Inf */
    return v;
}

static double sum_of(const struct vector *v, const int64_t *work, int64_t n, int64_t i)
{
    struct acc sum;
    acc_clear(&sum);
    for (int l = 0; l < LIMBS; l++)
        sum.limb[FIRST + l] = v->used[l] ? work[l * n + i] : 0;
    return acc_double(&sum);
}

/* ---- HAD-3, HAD-5: v, and what a conforming kernel may hold before the store ---- */

double ref_hadamard_k(const union op_args *args, uint32_t claims)
{
    const int64_t n = args->hadamard.n;
    if (!(claims & LC_DENSE_HADAMARD))
        return REF_HADAMARD_K(ceil_log2((double) n));
    if (n <= MOST_DENSE)
        return REF_HADAMARD_DENSE_K((double) n);
    return REF_HADAMARD_DENSE_K(MOST_DENSE) + REF_HADAMARD_DENSE_K((double) (n / MOST_DENSE)); /* the sum of its factors' k */
}

static struct iv y_of(double sum, double scale, const struct vector *x, double k)
{
    const double v = sum * scale, f32 = rn_f32(v);
    const struct iv zero = { 0, -0.0, 0 }; /* FMT-6 */
    if (scale == 0 || (x->exact && sum == 0))
        return zero;
    if (x->exact) /* v is exact: 25 bits times 24 */
        return (struct iv) { v, f32 < v ? f32 : v, f32 > v ? f32 : v };
    const double radius = ldexp(k * fabs(scale) * x->magnitude, -24) + ldexp(1, -150); /* f32 sums do not underflow */
    return iv_widen(iv_pt(v == 0 ? 0 : v), radius);
}

void ref_hadamard_row(const union op_args *args, int64_t row, const struct ref_got *got, struct ref_want *want)
{
    const struct hadamard_args *const a = &args->hadamard;
    const double k = ref_hadamard_k(args, want->claims);
    const bool given = want->given_y && !(want->claims & LC_DENSE_HADAMARD); /* an oracle's y is of k = log2 n + 2 */
    int64_t *const work = want->work;
    struct iv *const y = want->y;
    const struct vector x = take(a, row, work);
    const bool judged = !x.finite || x.magnitude < ldexp(1, 127);
    (void) got;
    for (int l = 0; l < LIMBS && x.finite; l++)
        if (x.used[l])
            transform(a->n, work + l * a->n);
    for (int64_t i = 0; i < a->n; i++) {
        y[i] = !x.finite ? iv_not_finite() : !judged ? iv_pt(INFINITY) : y_of(sum_of(&x, work, a->n, i), a->scale, &x, k);
        if (given && judged)
            y[i] = want->given_y[i];
    }
    memcpy(want->at[HAD_OUT], y, (size_t) a->n * sizeof *y);
    memset(want->free[HAD_OUT], !judged, (size_t) a->n);
}

/* ---- HAD-1, HAD-4, HAD-6: what is accepted ---- */

static int check_view(const struct lc_call *call, const struct lc_tensor *t, const struct lc_tensor *x)
{
    int status = arg_is_view(call, t, "HAD-4");
    if (!status)
        status = arg_dtype(call, t, "HAD-6", t == x ? 1u << LC_BF16 | 1u << LC_F32 : 1u << x->dtype);
    if (!status)
        status = arg_same_shape(call, t, x, "HAD-4");
    if (status)
        return status;
    const int64_t n = t->shape[t->rank - 1];
    if (n < 2 || n > MOST_N || (n & (n - 1)))
        return arg_refuse(call, t->name, "HAD-1", "n = %lld: must be a power of two, 2 to %d", (long long) n, MOST_N);
    if (t->stride[t->rank - 1] != 1)
        return arg_refuse(call, t->name, "HAD-4", "stride(-1) = %lld: must be 1", (long long) t->stride[t->rank - 1]);
    return LC_OK;
}

/* HAD-4: x and out are one view. Where a dimension has one entry its stride says nothing. */
static bool in_place(const struct lc_tensor *x, const struct lc_tensor *out)
{
    bool same = x->data == out->data;
    for (int i = 0; i < x->rank; i++)
        same = same && (x->stride[i] == out->stride[i] || x->shape[i] == 1);
    return same;
}

int ref_hadamard_check(const struct lc_call *call, union op_args *out)
{
    struct hadamard_args a = { .t = { arg_tensor(call, "x"), arg_tensor(call, "out") } };
    const struct lc_tensor *const x = a.t[HAD_X], *const y = a.t[HAD_OUT];
    if (!x || !y)
        return arg_refuse(call, x ? "out" : "x", "HAD-1", "not given");
    int status = check_view(call, x, x);
    if (!status)
        status = check_view(call, y, x);
    if (status)
        return status;
    arg_dims(x, &a.batch, &a.m, &a.n);
    a.scale = arg_real(call, "scale", rn_f32_rsqrt((double) a.n)); /* HAD-2 */
    if (!isfinite(a.scale) || rn_f32(a.scale) != a.scale)
        return arg_refuse(call, "scale", "HAD-6", "%g: must be a finite f32", a.scale);
    status = arg_no_overlap(call, &x, in_place(x, y) ? 0 : 1, &y, 1, NULL, "DET-4");
    if (!status)
        out->hadamard = a;
    return status;
}
