/* SPDX-License-Identifier: Apache-2.0 */
/* RMS-1..9, RMS-12, RMS-13: the nominal result of every row, and the true hull of what a conforming implementation
 * may hold. */
#include "oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rmsnorm {
    struct extent e;
    double eps, out_scale;
    int cast_on, dialect; /* RMS-13 */
    struct cast cast;
    const struct tensor *x, *residual;
    struct tensor *out, *bf16, *residual_out, *y_v, *y_lo, *y_hi; /* residual, bf16, residual_out: NULL when off */
    double *w, *r, *y;                                            /* d values each */
    struct hull hull;
};

static double larger(const double a, const double b)
{
    return a > b ? a : b;
}

/* ---- RMS-3, RMS-4 ---- */

/* (sum -+ slack) / d as the last f32 number inside: RMS-3's bound, multiplied through by d so that it stays
 * exact. */
static double mean_end(const mpfr_srcptr sum, const mpfr_srcptr slack, const mpfr_srcptr d, const int upper)
{
    MPFR_DECL_INIT(t, REAL_BITS);

    if (upper)
        mpfr_add(t, sum, slack, MPFR_RNDN);
    else
        mpfr_sub(t, sum, slack, MPFR_RNDN);
    num_quotient(t, t, d);
    return num_round(TYPE_F32, t, upper ? MPFR_RNDD : MPFR_RNDU);
}

/* RMS-3: |s - exact| <= 2^-20 * (exact + eps) + d * 2^-149, s one f32 number; a mean of squares is not
 * negative. */
struct freedom rms_mean_square(const mpfr_srcptr sum, const int64_t width, const double eps)
{
    MPFR_DECL_INIT(d, REAL_BITS);
    MPFR_DECL_INIT(exact, REAL_BITS);
    MPFR_DECL_INIT(slack, REAL_BITS);
    MPFR_DECL_INIT(quanta, REAL_BITS);
    struct freedom s;

    mpfr_set_si(d, (long) width, MPFR_RNDN);
    num_quotient(exact, sum, d);
    s.nominal = num_round(TYPE_F32, exact, MPFR_RNDN);

    mpfr_mul_d(slack, d, eps, MPFR_RNDN);
    mpfr_add(slack, slack, sum, MPFR_RNDN);
    mpfr_mul_2si(slack, slack, -20, MPFR_RNDN);
    mpfr_sqr(quanta, d, MPFR_RNDN);
    mpfr_mul_2si(quanta, quanta, -149, MPFR_RNDN);
    mpfr_add(slack, slack, quanta, MPFR_RNDN);
    s.least = larger(mean_end(sum, slack, d, 0), 0.0);
    s.most = mean_end(sum, slack, d, 1);
    return s;
}

/* (1 -+ 2^-22) / sqrt(a) as the last f32 number inside. A rational root is exact, an irrational one near no
 * f32 number. */
static double rstd_end(const double a, const int upper)
{
    MPFR_DECL_INIT(root, REAL_BITS);
    MPFR_DECL_INIT(t, REAL_BITS);

    mpfr_set_d(root, a, MPFR_RNDN);
    mpfr_sqrt(root, root, MPFR_RNDN);
    mpfr_set_d(t, 1.0 + (upper ? ldexp(1.0, -22) : -ldexp(1.0, -22)), MPFR_RNDN);
    num_quotient(t, t, root);
    return num_round(TYPE_F32, t, upper ? MPFR_RNDD : MPFR_RNDU);
}

/* RMS-4: rstd = fl(1/sqrt(fl(s + eps))), relative error <= 2^-22; fl(s + eps) is one f32 rounding for
 * everybody. */
struct freedom rms_inverse_root(const struct freedom s, const double eps)
{
    const struct freedom rstd = {
        .nominal = num_rsqrt(TYPE_F32, num_add(TYPE_F32, s.nominal, eps)),
        .least = rstd_end(num_add(TYPE_F32, s.most, eps), 0),
        .most = rstd_end(num_add(TYPE_F32, s.least, eps), 1),
    };
    return rstd;
}

/* ---- RMS-5 ---- */

/* v = ((r*rstd)*w)*out_scale, left to right in binary64. */
static double nominal_value(const double r, const double rstd, const double w, const double out_scale)
{
    return num_mul(TYPE_F64, num_mul(TYPE_F64, num_mul(TYPE_F64, r, rstd), w), out_scale);
}

/* The hull with its sign. A zero or non-finite v is the same for everybody. */
static void value_hull(struct rmsnorm *const p, const double v, const double r, const struct freedom rstd, const double w,
                       double *const lo, double *const hi)
{
    *lo = *hi = v;
    if (v == 0 || !isfinite(v))
        return;
    hull_of(&p->hull, fabs(r), rstd, fabs(w), fabs(p->out_scale), lo, hi);
    if (v < 0) {
        const double t = -*lo;
        *lo = -*hi;
        *hi = t;
    }
}

/* ---- one row ---- */

/* RMS-13, hf: n = RN_bf16(r*rstd), an f32 product before it; y = n*w, an f32 product again, and exact where that holds it. The
 * hull of y is made of both ends of n; an exact product has no slack. */
static double value_hf(const double r, const struct freedom rstd, const double w, double *const lo, double *const hi)
{
    const double down = 1.0 - ldexp(1.0, -24), up = 1.0 + ldexp(1.0, -24), quantum = ldexp(1.0, -150);
    const double n = num_narrow(TYPE_BF16, num_mul(TYPE_F64, r, rstd.nominal)), v = num_mul(TYPE_F64, n, w);

    *lo = *hi = v;
    if (v == 0 || !isfinite(v))
        return v;
    const double least = num_narrow(TYPE_BF16, num_mul(TYPE_F64, fabs(r) * rstd.least, down) - quantum);
    const double most = num_narrow(TYPE_BF16, num_mul(TYPE_F64, fabs(r) * rstd.most, up) + quantum);
    double small = fabs(w) * least, large = fabs(w) * most; /* 8 bits by 24: exact */

    if (num_narrow(TYPE_F32, small) != small || num_narrow(TYPE_F32, large) != large) {
        small = larger(small * down - quantum, 0.0);
        large = large * up + quantum;
    }
    *lo = v < 0 ? -large : small;
    *hi = v < 0 ? -small : large;
    return v;
}

/* RMS-1, RMS-2. */
static void load_row(const struct rmsnorm *const p, const int64_t b, const int64_t m)
{
    for (int64_t j = 0; j < p->e.d; j++) {
        p->r[j] = view_load(p->x, b, m, j);
        if (p->residual == NULL)
            continue;
        p->r[j] = num_add(p->dialect == F32RES ? TYPE_F32 : TYPE_BF16, p->r[j], view_load(p->residual, b, m, j)); /* RMS-13 */
        view_store(p->residual_out, b, m, j, num_narrow(TYPE_BF16, p->r[j]));
    }
}

/* RMS-5, RMS-6, RMS-7: what is stored for a value, and the value that a cast would read. */
static void store_value(const struct rmsnorm *const p, const int64_t b, const int64_t m, const int64_t j, const double v)
{
    p->y[j] = num_narrow(!p->cast_on ? p->out->type : p->dialect == F32CAST ? TYPE_F32 : TYPE_BF16, v);
    if (!p->cast_on)
        view_store(p->out, b, m, j, p->y[j]);
    if (p->bf16 != NULL)
        view_store(p->bf16, b, m, j, num_narrow(TYPE_BF16, p->cast_on ? v : p->y[j]));
}

static void store_hull(const struct rmsnorm *const p, const int64_t row, const int64_t j, const double v, const double lo,
                       const double hi)
{
    const size_t at = (size_t) (row * p->e.d + j) * type_size(TYPE_F64);

    num_store(TYPE_F64, p->y_v->data + at, v);
    num_store(TYPE_F64, p->y_lo->data + at, lo);
    num_store(TYPE_F64, p->y_hi->data + at, hi);
}

static void normalise_row(struct rmsnorm *const p, const int64_t b, const int64_t m)
{
    MPFR_DECL_INIT(sum, REAL_BITS);
    MPFR_DECL_INIT(square, REAL_BITS);

    load_row(p, b, m);
    mpfr_set_zero(sum, 1);
    for (int64_t j = 0; j < p->e.d; j++) {
        mpfr_set_d(square, p->r[j], MPFR_RNDN);
        mpfr_sqr(square, square, MPFR_RNDN);
        mpfr_add(sum, sum, square, MPFR_RNDN); /* exact */
    }

    const int is_nan = mpfr_nan_p(sum) != 0; /* RMS-9: NaN in the whole row; squares are never Inf - Inf */
    if (!is_nan && mpfr_cmp_d(sum, ldexp(1.0, 127)) >= 0)
        return; /* RMS-12: not judged; all stays 0 */

    const struct freedom none = { NAN, NAN, NAN };
    const struct freedom rstd = is_nan ? none : rms_inverse_root(rms_mean_square(sum, p->e.d, p->eps), p->eps);

    for (int64_t j = 0; j < p->e.d; j++) {
        double v, lo, hi;
        if (p->dialect == HF) {
            v = value_hf(p->r[j], rstd, p->w[j], &lo, &hi);
        } else {
            v = nominal_value(p->r[j], rstd.nominal, p->w[j], p->out_scale);
            value_hull(p, v, p->r[j], rstd, p->w[j], &lo, &hi);
        }
        store_hull(p, b * p->e.m + m, j, v, lo, hi);
        store_value(p, b, m, j, v);
    }
    if (p->cast_on)
        cast_row(&p->cast, b, m, p->y);
}

/* ---- the call ---- */

/* A bf16 tensor of x's shape. */
static struct tensor *bind_like_x(const struct rmsnorm *const p, const struct test_case *const c, const char *const name,
                                  const int is_out, struct why *const why)
{
    struct tensor *const t = find_tensor(c, name, is_out, why);

    if (t == NULL || same_view_shape(t, p->x, why) != 0)
        return NULL;
    if (t->type != TYPE_BF16) {
        refuse(why, "%s is %s, not bf16 (RMS-1, RMS-7)", name, type_name(t->type));
        return NULL;
    }
    if (is_out)
        memset(t->data, 0, t->count * type_size(t->type));
    return t;
}

/* RMS-7: out, or codes and scales. */
static int bind_out(struct rmsnorm *const p, const struct test_case *const c, struct why *const why)
{
    if (p->cast_on)
        return cast_bind(&p->cast, c, p->x, why);
    p->out = find_tensor(c, "out", 1, why);
    if (p->out == NULL || same_view_shape(p->out, p->x, why) != 0)
        return -1;
    if (p->out->type != TYPE_BF16 && p->out->type != TYPE_F32)
        return refuse(why, "out is %s, neither bf16 nor f32 (RMS-7)", type_name(p->out->type));
    memset(p->out->data, 0, p->out->count * type_size(p->out->type));
    return 0;
}

static int bind_reals(struct rmsnorm *const p, const struct test_case *const c, struct why *const why)
{
    if (find_real(c, "eps", &p->eps, why) != 0 || find_real(c, "out_scale", &p->out_scale, why) != 0)
        return -1;
    p->eps = num_narrow(TYPE_F32, p->eps); /* RMS-5: rounded once */
    p->out_scale = num_narrow(TYPE_F32, p->out_scale);
    if (!(p->eps > 0) || !isfinite(p->eps))
        return refuse(why, "eps is not positive and finite in f32 (RMS-12)");
    if (!isfinite(p->out_scale))
        return refuse(why, "out_scale is not finite in f32 (RMS-12)");
    return 0;
}

static int bind(struct rmsnorm *const p, const struct test_case *const c, struct why *const why)
{
    int64_t cast, residual, return_bf16, dialect;

    if (bind_reals(p, c, why) != 0 || find_count(c, "cast", 0, 1, &cast, why) != 0 ||
        find_count(c, "residual", 0, 1, &residual, why) != 0 || find_count(c, "return_bf16", 0, 1, &return_bf16, why) != 0 ||
        find_choice(c, "dialect", RMS_DIALECTS - 1, &dialect, why) != 0)
        return -1;
    p->dialect = (int) dialect;
    if (p->dialect == HF && p->out_scale != 1)
        return refuse(why, "hf has no out_scale (RMS-13)");
    p->cast_on = (int) cast;
    p->x = find_tensor(c, "x", 0, why);
    if (p->x == NULL)
        return -1;
    if (p->x->type != TYPE_BF16)
        return refuse(why, "x is %s, not bf16 (RMS-1)", type_name(p->x->type));
    if (bind_out(p, c, why) != 0)
        return -1;
    if (residual) {
        p->residual = bind_like_x(p, c, "residual", 0, why);
        p->residual_out = p->residual == NULL ? NULL : bind_like_x(p, c, "residual_out", 1, why);
        if (p->residual_out == NULL)
            return -1;
    }
    if (!return_bf16)
        return 0;
    if (!cast && p->out->type == TYPE_BF16) /* the same storage */
        return find_tensor(c, "bf16", 1, why) != NULL ? refuse(why, "bf16 is out itself (RMS-7)") : 0;
    p->bf16 = bind_like_x(p, c, "bf16", 1, why);
    return p->bf16 == NULL ? -1 : 0;
}

/* The weight, read exactly (RMS-5). */
static int load_weight(const struct rmsnorm *const p, const struct test_case *const c, struct why *const why)
{
    const struct tensor *const w = find_tensor(c, "weight", 0, why);

    if (w == NULL)
        return -1;
    if (w->type != TYPE_BF16 && w->type != TYPE_F32)
        return refuse(why, "weight is %s, neither bf16 nor f32 (RMS-5)", type_name(w->type));
    if (w->rank != 1 || w->shape[0] != p->e.d || (p->e.d > 1 && w->stride[0] != 1))
        return refuse(why, "weight is not a contiguous vector of %lld (RMS-5, RMS-8)", (long long) p->e.d);
    for (int64_t j = 0; j < p->e.d; j++)
        p->w[j] = p->dialect == GEMMA ? num_add(TYPE_F32, view_load(w, 0, 0, j), 1.0) : view_load(w, 0, 0, j); /* RMS-13 */
    return 0;
}

static int run(struct rmsnorm *const p, const struct test_case *const c, struct why *const why)
{
    if (bind(p, c, why) != 0 || load_weight(p, c, why) != 0)
        return -1;
    for (int64_t b = 0; b < p->e.b; b++)
        for (int64_t m = 0; m < p->e.m; m++)
            normalise_row(p, b, m);
    return 0;
}

int oracle_rmsnorm(struct test_case *const c, struct why *const why)
{
    const struct tensor *const x = find_tensor(c, "x", 0, why);
    struct rmsnorm p;

    memset(&p, 0, sizeof p);
    if (x == NULL || view_extent(x, &p.e, why) != 0)
        return -1;
    if (x->rank == 1)
        return refuse(why, "x has rank 1, not 2 or 3 (RMS-8)");

    /* All y before any other tensor is looked up: adding one moves the others. */
    tensor_bare(c, "y.v", p.e.b * p.e.m, p.e.d);
    tensor_bare(c, "y.lo", p.e.b * p.e.m, p.e.d);
    tensor_bare(c, "y.hi", p.e.b * p.e.m, p.e.d);
    p.y_v = find_tensor(c, "y.v", 1, why);
    p.y_lo = find_tensor(c, "y.lo", 1, why);
    p.y_hi = find_tensor(c, "y.hi", 1, why);
    p.w = need(calloc(3 * (size_t) p.e.d, sizeof *p.w));
    p.r = p.w + p.e.d;
    p.y = p.r + p.e.d;
    hull_init(&p.hull);

    const int status = run(&p, c, why);

    hull_clear(&p.hull);
    free(p.w);
    return status;
}
