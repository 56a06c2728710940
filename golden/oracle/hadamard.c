/* SPDX-License-Identifier: Apache-2.0 */
/* HAD-1..6: every element of every row as the exact sum of n terms, signs counted from HAD-1, and HAD-3's hull. */
#include "oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct hadamard {
    struct extent e;
    double scale;
    const struct tensor *x;
    struct tensor *out, *y_v, *y_lo, *y_hi;
    double *row; /* n values */
};

/* What a row as a whole decides. */
struct sort {
    int finite, judged, exact;
    mpfr_t radius; /* of |y - v| */
};

static int log2_of(const int64_t n)
{
    int k = 0;

    while (INT64_C(1) << k < n)
        k++;
    return k;
}

static int minus(const int64_t i, const int64_t j)
{
    int ones = 0;

    for (int bit = 0; bit < 16; bit++)
        ones += (int) (i >> bit & j >> bit & 1);
    return ones % 2; /* HAD-1: (-1)^popcount(i & j) */
}

/* HAD-5: every x is a multiple of 2^t, and sum|x| <= 2^24 * 2^t. */
static int is_exact(const struct hadamard *const p, const mpfr_srcptr magnitude)
{
    MPFR_DECL_INIT(x, 53);
    MPFR_DECL_INIT(most, REAL_BITS);
    long t = 1000;

    for (int64_t j = 0; j < p->e.d; j++) {
        mpfr_set_d(x, p->row[j], MPFR_RNDN);
        if (mpfr_zero_p(x))
            continue;
        const long lowest = (long) mpfr_get_exp(x) - (long) mpfr_min_prec(x);
        t = lowest < t ? lowest : t;
    }
    mpfr_set_si_2exp(most, 1, 24 + t, MPFR_RNDN);
    return mpfr_cmp(magnitude, most) <= 0;
}

static void sort_row(const struct hadamard *const p, struct sort *const s)
{
    MPFR_DECL_INIT(magnitude, REAL_BITS);

    s->finite = 1;
    mpfr_set_zero(magnitude, 1);
    for (int64_t j = 0; j < p->e.d; j++) {
        s->finite = s->finite && isfinite(p->row[j]);
        mpfr_add_d(magnitude, magnitude, fabs(p->row[j]), MPFR_RNDN); /* exact */
    }
    if (!s->finite)
        return;
    s->judged = mpfr_cmp_d(magnitude, ldexp(1.0, 127)) < 0; /* f32 sums of other orders overflow */
    s->exact = is_exact(p, magnitude);

    /* HAD-3: (log2 n + 2) * 2^-24; the product with scale loses 2^-150 more where it is below 2^-126. */
    mpfr_mul_si(s->radius, magnitude, log2_of(p->e.d) + 2, MPFR_RNDN);
    mpfr_mul_2si(s->radius, s->radius, -24, MPFR_RNDN);
    mpfr_mul_d(s->radius, s->radius, fabs(p->scale), MPFR_RNDN);
    if (mpfr_cmp_d(s->radius, 0.0) > 0)
        mpfr_add_d(s->radius, s->radius, ldexp(1.0, -150), MPFR_RNDN);
}

static void store_y(const struct hadamard *const p, const int64_t row, const int64_t i, const double v, const double lo,
                    const double hi)
{
    const size_t at = (size_t) (row * p->e.d + i) * type_size(TYPE_F64);

    num_store(TYPE_F64, p->y_v->data + at, v);
    num_store(TYPE_F64, p->y_lo->data + at, lo);
    num_store(TYPE_F64, p->y_hi->data + at, hi);
}

/* One element of a finite row. */
static void element(const struct hadamard *const p, const struct sort *const s, const int64_t b, const int64_t m, const int64_t i)
{
    MPFR_DECL_INIT(v, REAL_BITS);
    MPFR_DECL_INIT(end, REAL_BITS);

    mpfr_set_zero(v, 1);
    for (int64_t j = 0; j < p->e.d; j++)
        if (minus(i, j))
            mpfr_sub_d(v, v, p->row[j], MPFR_RNDN); /* exact */
        else
            mpfr_add_d(v, v, p->row[j], MPFR_RNDN);
    mpfr_mul_d(v, v, p->scale, MPFR_RNDN);
    if (mpfr_zero_p(v))
        mpfr_set_zero(v, 1);

    const double nominal = num_round(TYPE_F64, v, MPFR_RNDN);
    double lo = nominal, hi = nominal;

    if (s->exact) { /* HAD-5: nothing but the f32 product */
        const double f32 = num_round(TYPE_F32, v, MPFR_RNDN);
        lo = nominal == 0 ? -0.0 : f32 < nominal ? f32 : nominal; /* FMT-6 */
        hi = nominal == 0 ? 0.0 : f32 > nominal ? f32 : nominal;
    } else if (p->scale != 0) {
        mpfr_sub(end, v, s->radius, MPFR_RNDD);
        lo = mpfr_get_d(end, MPFR_RNDU); /* the last double inside */
        mpfr_add(end, v, s->radius, MPFR_RNDU);
        hi = mpfr_get_d(end, MPFR_RNDD);
    }
    store_y(p, b * p->e.m + m, i, nominal, lo, hi);
    view_store(p->out, b, m, i, num_round(p->out->type, v, MPFR_RNDN));
}

static void transform_row(const struct hadamard *const p, const int64_t b, const int64_t m)
{
    struct sort s;

    mpfr_init2(s.radius, REAL_BITS);
    for (int64_t j = 0; j < p->e.d; j++)
        p->row[j] = view_load(p->x, b, m, j);
    sort_row(p, &s);
    for (int64_t i = 0; i < p->e.d; i++)
        if (!s.finite) { /* HAD-6: NaN or Inf */
            store_y(p, b * p->e.m + m, i, NAN, -INFINITY, INFINITY);
            view_store(p->out, b, m, i, NAN);
        } else if (s.judged)
            element(p, &s, b, m, i); /* else all stays 0 */
    mpfr_clear(s.radius);
}

/* HAD-2: the default is fl(n^-1/2). */
static int bind_scale(struct hadamard *const p, const struct test_case *const c, struct why *const why)
{
    p->scale = num_rsqrt(TYPE_F32, (double) p->e.d);
    for (size_t i = 0; i < c->about.count; i++)
        if (strcmp(c->about.item[i].name, "scale") == 0 && find_real(c, "scale", &p->scale, why) != 0)
            return -1;
    p->scale = num_narrow(TYPE_F32, p->scale);
    return isfinite(p->scale) ? 0 : refuse(why, "scale is not finite in f32 (HAD-6)");
}

int oracle_hadamard(struct test_case *const c, struct why *const why)
{
    const struct tensor *const x = find_tensor(c, "x", 0, why);
    struct hadamard p;

    memset(&p, 0, sizeof p);
    if (x == NULL || view_extent(x, &p.e, why) != 0 || bind_scale(&p, c, why) != 0)
        return -1;
    if (p.e.d < 2 || p.e.d > 32768 || INT64_C(1) << log2_of(p.e.d) != p.e.d)
        return refuse(why, "n = %lld is no power of two, 2 to 32768 (HAD-1)", (long long) p.e.d);
    if (x->type != TYPE_BF16 && x->type != TYPE_F32)
        return refuse(why, "x is %s, neither bf16 nor f32 (HAD-6)", type_name(x->type));

    /* All y before any other tensor is looked up: adding one moves the others. */
    tensor_bare(c, "y.v", p.e.b * p.e.m, p.e.d);
    tensor_bare(c, "y.lo", p.e.b * p.e.m, p.e.d);
    tensor_bare(c, "y.hi", p.e.b * p.e.m, p.e.d);
    p.y_v = find_tensor(c, "y.v", 1, why);
    p.y_lo = find_tensor(c, "y.lo", 1, why);
    p.y_hi = find_tensor(c, "y.hi", 1, why);
    p.x = find_tensor(c, "x", 0, why);
    p.out = find_tensor(c, "out", 1, why);
    if (p.out == NULL || same_view_shape(p.out, p.x, why) != 0)
        return -1;
    if (p.out->type != p.x->type)
        return refuse(why, "out is %s, x is %s (HAD-6)", type_name(p.out->type), type_name(p.x->type));
    memset(p.out->data, 0, p.out->count * type_size(p.out->type));

    p.row = need(malloc((size_t) p.e.d * sizeof *p.row));
    for (int64_t b = 0; b < p.e.b; b++)
        for (int64_t m = 0; m < p.e.m; m++)
            transform_row(&p, b, m);
    free(p.row);
    return 0;
}
