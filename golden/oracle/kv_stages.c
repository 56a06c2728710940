/* SPDX-License-Identifier: Apache-2.0 */
/* KV-1: norm, rotation and Hadamard transform of one head in real arithmetic, the true hull of each. */
#include "kv_store.h"

#include <math.h>
#include <string.h>

struct value kv_point(const double v)
{
    const struct value it = { v, v, v, 0 };
    return it;
}

static int is_point(const struct value it)
{
    return it.lo == it.hi;
}

static int is_finite(const struct value it)
{
    return isfinite(it.v) && isfinite(it.lo) && isfinite(it.hi);
}

static double larger(const double a, const double b)
{
    return a > b ? a : b;
}

static double magnitude_of(const struct value it)
{
    return larger(fabs(it.lo), fabs(it.hi));
}

/* The ends as the last doubles inside; exact ends stay. */
static struct value between(const mpfr_srcptr v, const mpfr_srcptr lo, const mpfr_srcptr hi)
{
    const struct value it = { num_round(TYPE_F64, v, MPFR_RNDN), mpfr_get_d(lo, MPFR_RNDU), mpfr_get_d(hi, MPFR_RNDD), 0 };
    return it;
}

int64_t kv_integer(const struct tensor *const t, const int64_t i)
{
    int64_t v = 0;

    for (size_t k = type_size(t->type); k-- > 0;)
        v = v * 256 + t->data[(size_t) i * type_size(t->type) + k];
    return t->type == TYPE_I32 ? (int64_t) (int32_t) v : v; /* two's complement, little-endian */
}

/* ---- KV-1, stage=bf16 ---- */

static int stage_end(const struct kv *const p)
{
    int judged = 1;

    for (int64_t i = 0; p->bf16_stages && i < p->d; i++) {
        struct value *const it = &p->head[i];
        if (!is_finite(*it))
            continue;
        it->v = num_narrow(TYPE_BF16, it->v);
        it->lo = num_narrow(TYPE_BF16, it->lo);
        it->hi = num_narrow(TYPE_BF16, it->hi);
        judged = judged && is_finite(*it);
    }
    return judged;
}

/* ---- RMS-3..5 ---- */

int kv_norm(struct kv *const p)
{
    MPFR_DECL_INIT(sum, REAL_BITS);
    MPFR_DECL_INIT(square, REAL_BITS);
    int has_nan = 0, has_inf = 0;

    mpfr_set_zero(sum, 1);
    for (int64_t i = 0; i < p->d; i++) {
        has_nan = has_nan || isnan(p->head[i].v);
        has_inf = has_inf || isinf(p->head[i].v);
        mpfr_set_d(square, p->head[i].v, MPFR_RNDN);
        mpfr_sqr(square, square, MPFR_RNDN);
        mpfr_add(sum, sum, square, MPFR_RNDN); /* exact */
    }
    if (has_inf || (!has_nan && mpfr_cmp_d(sum, ldexp(1.0, 127)) >= 0))
        return 0; /* RMS-12 */

    const struct freedom none = { NAN, NAN, NAN };
    const struct freedom rstd = has_nan ? none : rms_inverse_root(rms_mean_square(sum, p->d, p->eps), p->eps);

    for (int64_t i = 0; i < p->d; i++) {
        const double r = p->head[i].v, w = view_load(p->weight, 0, 0, i);
        struct value it = kv_point(num_mul(TYPE_F64, num_mul(TYPE_F64, r, rstd.nominal), w));

        if (isfinite(it.v) && it.v != 0) {
            double lo, hi;
            hull_of(&p->hull, fabs(r), rstd, fabs(w), 1.0, &lo, &hi);
            it.lo = it.v < 0 ? -hi : lo;
            it.hi = it.v < 0 ? -lo : hi;
        }
        p->head[i] = it;
    }
    return stage_end(p);
}

/* ---- APPLY-1, APPLY-2 ---- */

/* One end of x*c: the lower or the upper. */
static void end_of_product(const mpfr_ptr out, const struct value x, const double c, const int upper)
{
    mpfr_set_d(out, (c < 0) == upper ? x.lo : x.hi, MPFR_RNDN);
    mpfr_mul_d(out, out, c, MPFR_RNDN); /* exact */
}

/* x*c + z*s; exact: the products have no rounding (BF16 both). */
static struct value turned(const struct value x, const double c, const struct value z, const double s, const int exact)
{
    MPFR_DECL_INIT(v, REAL_BITS);
    MPFR_DECL_INIT(t, REAL_BITS);
    MPFR_DECL_INIT(lo, REAL_BITS);
    MPFR_DECL_INIT(hi, REAL_BITS);
    MPFR_DECL_INIT(radius, REAL_BITS);
    MPFR_DECL_INIT(quantum, REAL_BITS);

    if (!is_finite(x) || !is_finite(z)) {
        const double sum = x.v * c + z.v * s; /* a class */
        return kv_point(isinf(x.lo) != isinf(x.v) || isinf(z.lo) != isinf(z.v) ? NAN : sum);
    }
    mpfr_set_d(v, x.v, MPFR_RNDN);
    mpfr_mul_d(v, v, c, MPFR_RNDN);
    mpfr_set_d(t, z.v, MPFR_RNDN);
    mpfr_mul_d(t, t, s, MPFR_RNDN);
    mpfr_add(v, v, t, MPFR_RNDN);
    for (int upper = 0; upper < 2; upper++) {
        end_of_product(upper ? hi : lo, x, c, upper);
        end_of_product(t, z, s, upper);
        mpfr_add(upper ? hi : lo, upper ? hi : lo, t, MPFR_RNDN);
    }
    mpfr_set_d(radius, magnitude_of(x), MPFR_RNDN);
    mpfr_mul_d(radius, radius, fabs(c), MPFR_RNDN);
    mpfr_set_d(t, magnitude_of(z), MPFR_RNDN);
    mpfr_mul_d(t, t, fabs(s), MPFR_RNDN);
    mpfr_add(radius, radius, t, MPFR_RNDN);
    if (!mpfr_number_p(radius)) { /* a cosine or sine that is NaN, or Inf */
        const double sum = x.v * c + z.v * s;
        struct value it = kv_point(sum);
        const double first = fabs(x.v * c), second = fabs(z.v * s), large = ldexp(1.0, 127);
        it.open = !isnan(sum) && ((isfinite(first) && first >= large) || (isfinite(second) && second >= large));
        if (!isnan(c) && !isnan(s) && (!is_point(x) || !is_point(z)))
            it.open = 1; /* 0 times Inf, or Inf of either sign */
        return it;
    }
    if (mpfr_zero_p(radius))
        return kv_point(x.v * c + z.v * s); /* IEEE's sign (FMT-6) */
    if (mpfr_cmp_d(radius, ldexp(1.0, 127)) >= 0) {
        const struct value open = { 0, 0, 0, 1 };
        return open;
    }
    /* A term passes a product and a sum, or the sum alone; two products lose 2^-150 each where they are small. */
    mpfr_set_d(t, 1.0 + ldexp(1.0, -24), MPFR_RNDN);
    mpfr_pow_si(t, t, exact ? 1 : 2, MPFR_RNDN);
    mpfr_sub_ui(t, t, 1, MPFR_RNDN);
    mpfr_mul(radius, radius, t, MPFR_RNDN);
    mpfr_set_d(quantum, ldexp(1.0, -149), MPFR_RNDN);
    mpfr_add(radius, radius, quantum, MPFR_RNDN);
    mpfr_sub(lo, lo, radius, MPFR_RNDD);
    mpfr_add(hi, hi, radius, MPFR_RNDU);
    return between(v, lo, hi);
}

int kv_rotate(struct kv *const p, const int64_t token)
{
    const int64_t pairs = p->rotary_dim / 2, row = kv_integer(p->positions, token);
    const int exact = p->table->type == TYPE_BF16 && (!p->norm || p->bf16_stages);

    for (int64_t i = 0; i < pairs; i++) {
        const int64_t a = p->offset + (p->interleaved ? 2 * i : i), b = a + (p->interleaved ? 1 : pairs);
        const double c = view_load(p->table, 0, row, i), sine = view_load(p->table, 0, row, pairs + i);
        const double s = p->conjugate ? -sine : sine;
        const struct value x = p->head[a], z = p->head[b];

        p->head[a] = turned(x, c, z, -s, exact);
        p->head[b] = turned(z, c, x, s, exact);
    }
    return stage_end(p);
}

/* ---- HAD-1..3, HAD-5, HAD-6 ---- */

static int minus(const int64_t i, const int64_t j)
{
    int ones = 0;

    for (int bit = 0; bit < 16; bit++)
        ones += (int) (i >> bit & j >> bit & 1);
    return ones % 2;
}

/* HAD-5, of points. */
static int is_exact(const struct kv *const p, const mpfr_srcptr magnitude)
{
    MPFR_DECL_INIT(x, 53);
    MPFR_DECL_INIT(most, REAL_BITS);
    long t = 1000;

    for (int64_t j = 0; j < p->d; j++) {
        mpfr_set_d(x, p->head[j].v, MPFR_RNDN);
        if (!is_point(p->head[j]))
            return 0;
        if (mpfr_zero_p(x))
            continue;
        const long lowest = (long) mpfr_get_exp(x) - (long) mpfr_min_prec(x);
        t = lowest < t ? lowest : t;
    }
    mpfr_set_si_2exp(most, 1, 24 + t, MPFR_RNDN);
    return mpfr_cmp(magnitude, most) <= 0;
}

/* The sum of row i of H over one kind of end: -1 lower, 0 nominal, 1 upper. */
static void signed_sum(const struct kv *const p, const int64_t i, const int end, const mpfr_ptr sum)
{
    mpfr_set_zero(sum, 1);
    for (int64_t j = 0; j < p->d; j++) {
        const int m = minus(i, j);
        const struct value it = p->head[j];
        const double x = end == 0 ? it.v : (end > 0) == !m ? it.hi : it.lo;
        if (m)
            mpfr_sub_d(sum, sum, x, MPFR_RNDN); /* exact */
        else
            mpfr_add_d(sum, sum, x, MPFR_RNDN);
    }
    mpfr_mul_d(sum, sum, p->scale, MPFR_RNDN);
}

static struct value element(const struct kv *const p, const int64_t i, const int exact, const mpfr_srcptr radius)
{
    MPFR_DECL_INIT(v, REAL_BITS);
    MPFR_DECL_INIT(lo, REAL_BITS);
    MPFR_DECL_INIT(hi, REAL_BITS);
    const struct value zero = { 0.0, -0.0, 0.0, 0 }; /* FMT-6 */

    signed_sum(p, i, 0, v);
    if (p->scale == 0 || (exact && mpfr_zero_p(v)))
        return zero;
    if (exact) {
        const double nominal = num_round(TYPE_F64, v, MPFR_RNDN), f32 = num_round(TYPE_F32, v, MPFR_RNDN);
        const struct value it = { nominal, f32 < nominal ? f32 : nominal, f32 > nominal ? f32 : nominal, 0 };
        return it;
    }
    signed_sum(p, i, p->scale < 0 ? 1 : -1, lo);
    signed_sum(p, i, p->scale < 0 ? -1 : 1, hi);
    mpfr_sub(lo, lo, radius, MPFR_RNDD);
    mpfr_add(hi, hi, radius, MPFR_RNDU);
    if (mpfr_zero_p(v))
        mpfr_set_zero(v, 1);
    return between(v, lo, hi);
}

int kv_transform(struct kv *const p)
{
    MPFR_DECL_INIT(magnitude, REAL_BITS);
    MPFR_DECL_INIT(radius, REAL_BITS);
    MPFR_DECL_INIT(quantum, REAL_BITS);
    const struct value not_finite = { NAN, -INFINITY, INFINITY, 0 };
    int finite = 1, stages = 0;

    mpfr_set_zero(magnitude, 1);
    for (int64_t i = 0; i < p->d; i++) {
        if (p->head[i].open)
            return 0;
        finite = finite && is_finite(p->head[i]);
        if (finite)
            mpfr_add_d(magnitude, magnitude, magnitude_of(p->head[i]), MPFR_RNDN);
    }
    for (int64_t i = 0; i < p->d && !finite; i++)
        p->head[i] = not_finite;
    if (!finite)
        return 1;
    if (mpfr_cmp_d(magnitude, ldexp(1.0, 127)) >= 0)
        return 0;
    while (INT64_C(1) << stages < p->d)
        stages++;
    mpfr_mul_si(radius, magnitude, stages + 2, MPFR_RNDN); /* HAD-3 */
    mpfr_mul_2si(radius, radius, -24, MPFR_RNDN);
    mpfr_mul_d(radius, radius, fabs(p->scale), MPFR_RNDN);
    mpfr_set_d(quantum, ldexp(1.0, -150), MPFR_RNDN);
    mpfr_add(radius, radius, quantum, MPFR_RNDN);

    const int exact = is_exact(p, magnitude);

    for (int64_t i = 0; i < p->d; i++)
        p->other[i] = element(p, i, exact, radius);
    memcpy(p->head, p->other, (size_t) p->d * sizeof *p->head);
    return stage_end(p);
}
