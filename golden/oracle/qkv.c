/* SPDX-License-Identifier: Apache-2.0 */
/* QKV-1..5 with RMS-3, RMS-4 and APPLY-1: every element of q and k from the contract's formulas, and what a conforming
 * implementation may hold before each rounding. v is copied. */
#include "oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL, BF16ROT, SIMT, UNFUSED_BIAS, QKV_DIALECTS }; /* QKV-3, QKV-4, in this order */

struct qkv {
    int64_t tokens, heads_q, heads_kv, d, rope;
    int64_t dialect;
    double eps;
    const struct tensor *x, *w[2], *b[2], *table, *positions; /* of q, of k */
    struct tensor *q, *k, *v, *y_v, *y_lo, *y_hi;
};

/* A value and its ends; open: not judged. */
struct range {
    double v, lo, hi;
    int open;
};

static const double unit = 1.0 / 16777216;

static double smaller(const double a, const double b)
{
    return a < b ? a : b;
}

static double larger(const double a, const double b)
{
    return a > b ? a : b;
}

/* ---- RMS-3, RMS-4 ---- */

/* The least and the most rstd that RMS-3 and RMS-4 admit, as real numbers, rounded outwards; and the nominal f32. */
static struct freedom rstd_of(const mpfr_srcptr sum, const int64_t width, const double eps)
{
    MPFR_DECL_INIT(d, REAL_BITS);
    MPFR_DECL_INIT(mean, REAL_BITS);
    MPFR_DECL_INIT(t, REAL_BITS);
    MPFR_DECL_INIT(slack, REAL_BITS);
    struct freedom rstd;

    mpfr_set_si(d, (long) width, MPFR_RNDN);
    num_quotient(mean, sum, d);
    rstd.nominal = num_rsqrt(TYPE_F32, num_add(TYPE_F32, num_round(TYPE_F32, mean, MPFR_RNDN), eps));

    mpfr_add_d(slack, mean, eps, MPFR_RNDN); /* 2^-20 (mean + eps) + d 2^-149 */
    mpfr_mul_2si(slack, slack, -20, MPFR_RNDN);
    mpfr_mul_2si(t, d, -149, MPFR_RNDN);
    mpfr_add(slack, slack, t, MPFR_RNDN);
    for (int upper = 0; upper < 2; upper++) {
        /* s is an f32, so that its end is the last one inside; fl(s + eps) is one rounding for everybody */
        if (upper)
            mpfr_add(t, mean, slack, MPFR_RNDN);
        else
            mpfr_sub(t, mean, slack, MPFR_RNDN);
        const double s = larger(num_round(TYPE_F32, t, upper ? MPFR_RNDD : MPFR_RNDU), 0.0);
        mpfr_set_d(t, num_add(TYPE_F32, s, eps), MPFR_RNDN);
        mpfr_rec_sqrt(t, t, MPFR_RNDN);
        mpfr_mul_d(t, t, upper ? 1 - ldexp(1, -22) : 1 + ldexp(1, -22), MPFR_RNDN);
        if (upper)
            rstd.least = num_round(TYPE_F32, t, MPFR_RNDU);
        else
            rstd.most = num_round(TYPE_F32, t, MPFR_RNDD);
    }
    return rstd;
}

/* ---- ranges ---- */

static double up_by(const double v, const double relative, const double absolute)
{
    MPFR_DECL_INIT(t, REAL_BITS);
    MPFR_DECL_INIT(a, REAL_BITS);
    mpfr_set_d(t, fabs(v), MPFR_RNDN);
    mpfr_mul_d(t, t, relative, MPFR_RNDN);
    mpfr_add_d(t, t, absolute, MPFR_RNDN);
    mpfr_set_d(a, v, MPFR_RNDN);
    mpfr_add(t, t, a, MPFR_RNDN);
    return mpfr_get_d(t, MPFR_RNDD); /* the last double inside */
}

/* One f32 rounding of what lies in the range. */
static struct range rounded_f32(struct range x)
{
    const double least = -up_by(-x.lo, unit, 0), most = up_by(x.hi, unit, 0);
    x.lo = x.lo == 0 ? x.lo : least;
    x.hi = x.hi == 0 ? x.hi : most;
    return x;
}

static struct range to_bf16(struct range x)
{
    x.v = num_narrow(TYPE_BF16, x.v);
    x.lo = num_narrow(TYPE_BF16, x.lo);
    x.hi = num_narrow(TYPE_BF16, x.hi);
    return x;
}

static struct range point(const double v)
{
    const struct range x = { v, v, v, 0 };
    return x;
}

/* The real product with a number; v in binary64, ends inwards. */
static struct range times(const struct range x, const double s)
{
    MPFR_DECL_INIT(t, REAL_BITS);
    struct range y = { num_mul(TYPE_F64, x.v, s), 0, 0, x.open };
    const double low = signbit(s) ? x.hi : x.lo, high = signbit(s) ? x.lo : x.hi;
    mpfr_set_d(t, low, MPFR_RNDN);
    mpfr_mul_d(t, t, s, MPFR_RNDN);
    y.lo = smaller(mpfr_get_d(t, MPFR_RNDU), y.v);
    mpfr_set_d(t, high, MPFR_RNDN);
    mpfr_mul_d(t, t, s, MPFR_RNDN);
    y.hi = larger(mpfr_get_d(t, MPFR_RNDD), y.v);
    return y;
}

static struct range plus(const struct range a, const struct range b)
{
    MPFR_DECL_INIT(t, REAL_BITS);
    struct range y = { num_add(TYPE_F64, a.v, b.v), 0, 0, a.open || b.open };
    if (a.v == 0 && b.v == 0 && signbit(a.v) && signbit(b.v))
        y.v = -0.0; /* IEEE: of two zeros, -0 only where both are */
    else if (y.v == 0)
        y.v = 0;
    mpfr_set_d(t, a.lo, MPFR_RNDN);
    mpfr_add_d(t, t, b.lo, MPFR_RNDN);
    y.lo = smaller(mpfr_get_d(t, MPFR_RNDU), y.v);
    mpfr_set_d(t, a.hi, MPFR_RNDN);
    mpfr_add_d(t, t, b.hi, MPFR_RNDN);
    y.hi = larger(mpfr_get_d(t, MPFR_RNDD), y.v);
    return y;
}

static double magnitude(const struct range x)
{
    return larger(fabs(x.lo), fabs(x.hi));
}

/* ---- QKV-2, QKV-4 ---- */

/* x * rstd * w: two f32 products in any order. Where one falls below 2^-126 it loses up to 2^-150. */
static struct range product(const double x, const struct freedom rstd, const double w)
{
    const double v = num_mul(TYPE_F64, num_mul(TYPE_F64, x, rstd.nominal), w), a = fabs(x), b = fabs(w);
    MPFR_DECL_INIT(least, REAL_BITS);
    MPFR_DECL_INIT(most, REAL_BITS);
    struct range p = point(v);

    p.open = larger(larger(a, 1) * larger(rstd.nominal, 1) * larger(b, 1), 0) >= ldexp(1, 127);
    if (v == 0 || isnan(v) || p.open)
        return p;
    const double smallest = smaller(smaller(a * rstd.least, a * b), smaller(rstd.least * b, a * rstd.least * b));
    const double lost = smallest < ldexp(1, -126) ? ldexp(1 + larger(larger(a, b), rstd.most), -150) : 0;
    mpfr_set_d(least, a, MPFR_RNDN);
    mpfr_mul_d(least, least, b, MPFR_RNDN);
    mpfr_set(most, least, MPFR_RNDN);
    mpfr_mul_d(least, least, rstd.least, MPFR_RNDN);
    mpfr_mul_d(most, most, rstd.most, MPFR_RNDN);
    for (int i = 0; i < 2; i++) {
        mpfr_mul_d(least, least, 1 - unit, MPFR_RNDN);
        mpfr_mul_d(most, most, 1 + unit, MPFR_RNDN);
    }
    mpfr_sub_d(least, least, lost, MPFR_RNDN);
    mpfr_add_d(most, most, lost, MPFR_RNDN);
    const double low = larger(mpfr_get_d(least, MPFR_RNDU), 0.0), high = mpfr_get_d(most, MPFR_RNDD);
    p.lo = v < 0 ? -high : smaller(low, v);
    p.hi = v < 0 ? -smaller(low, -v) : high;
    return p;
}

/* n where w or the bias is infinite: NaN, or an Inf that no order of the operations changes. */
static struct range endless(const double x, const double rstd, const double w, const double bias)
{
    struct range r = point(NAN);

    if (isnan(x) || isnan(rstd) || isnan(w) || isnan(bias) || (isinf(w) && x == 0))
        return r;
    if (isinf(w)) {
        r = point(num_add(TYPE_F64, num_mul(TYPE_F64, x, w), bias));
        r.open = fabs(x) * rstd < ldexp(1, -126);
    } else {
        r = point(bias);
        r.open = larger(fabs(x), 1) * larger(rstd, 1) * larger(fabs(w), 1) >= ldexp(1, 127);
    }
    return r;
}

/* n before its last rounding. */
static struct range before(const struct qkv *const p, const int is_k, const double x, const struct freedom rstd, const int64_t i)
{
    const struct tensor *const b = p->b[is_k];
    const double w = view_load(p->w[is_k], 0, 0, i), bias = b == NULL ? 0 : view_load(b, 0, 0, i);

    if (isinf(w) || isinf(bias))
        return endless(x, rstd.nominal, w, bias);
    const struct range y = product(x, rstd, w);
    if (b == NULL)
        return y;
    if (fabs(bias) >= ldexp(1, 126)) {
        struct range open = y;
        open.open = 1;
        return open;
    }
    if (y.open || isnan(y.v) || isnan(bias)) {
        struct range none = point(NAN);
        none.open = y.open;
        return none;
    }
    if (p->dialect == UNFUSED_BIAS) { /* two BF16: their f32 sum rounds as the real one does */
        const struct range sum = plus(to_bf16(y), point(bias));
        return b->type == TYPE_BF16 ? sum : rounded_f32(sum);
    }
    const struct range sum = plus(y, point(bias));
    return y.v == 0 ? sum : rounded_f32(sum);
}

/* ---- QKV-3 ---- */

/* What a product that may lie below 2^-126 loses: half of 2^-149. */
static double lost(const struct range x)
{
    const int small = smaller(fabs(x.lo), fabs(x.hi)) < ldexp(1, -126) || (x.lo < 0 && x.hi > 0);

    return magnitude(x) > 0 && small ? ldexp(1, -150) : 0;
}

/* p*c + q*s before the store. */
static struct range rotated(const struct qkv *const p, const struct range a, const double c, const struct range b, const double s)
{
    struct range ac = times(a, c), bs = times(b, s);
    const int exact = p->table->type == TYPE_BF16 && p->dialect != SIMT;
    const double size = magnitude(ac) + magnitude(bs), below = lost(ac) + lost(bs);

    if (size >= ldexp(1, 127)) {
        ac.open = 1;
        return ac;
    }
    if (p->dialect == BF16ROT) {
        const struct range sum = plus(to_bf16(ac), to_bf16(bs));
        struct range zero = sum;
        zero.lo = -0.0, zero.hi = 0, zero.v = 0;
        return sum.lo == 0 && sum.hi == 0 && size > 0 ? zero : sum; /* FMT-6 */
    }
    if (size == 0)
        return plus(ac, bs);
    if (!exact) {
        ac = rounded_f32(ac);
        bs = rounded_f32(bs);
    }
    struct range y = rounded_f32(plus(ac, bs));
    y.lo -= below;
    y.hi += below;
    return y;
}

/* p*c + q*s where a factor is infinite, or c or s a NaN. */
static struct range rotated_endless(const struct qkv *const p, const struct range a, const double c, const struct range b,
                                    const double s)
{
    const double ac = num_mul(TYPE_F64, a.v, c), bs = num_mul(TYPE_F64, b.v, s);
    const int known = (a.lo == a.hi && b.lo == b.hi) || (isfinite(c) && isfinite(s) && p->dialect != BF16ROT);
    struct range y = point(num_add(TYPE_F64, ac, bs));

    if (isnan(c) || isnan(s))
        return point(NAN);
    y.open = !known ||
             (!isnan(y.v) && ((isfinite(ac) && fabs(ac) >= ldexp(1, 127)) || (isfinite(bs) && fabs(bs) >= ldexp(1, 127))));
    return y;
}

/* ---- one token ---- */

static int64_t position(const struct qkv *const p, const int64_t token)
{
    const size_t size = type_size(p->positions->type);
    const unsigned char *const at = p->positions->data + (size_t) token * size;
    int64_t v = 0;

    for (size_t i = 0; i < size; i++)
        v += (int64_t) at[i] << 8 * i; /* not negative (ERR-2) */
    return v;
}

static void store(const struct qkv *const p, const int64_t token, const int64_t column, const struct range y)
{
    const int64_t wide = (p->heads_q + 2 * p->heads_kv) * p->d, q_cols = p->heads_q * p->d;
    const size_t at = (size_t) (token * wide + column) * type_size(TYPE_F64);
    struct tensor *const to = column < q_cols ? p->q : p->k;

    if (y.open)
        return;        /* stays 0 */
    if (!isinf(y.v)) { /* an Inf has no interval */
        num_store(TYPE_F64, p->y_v->data + at, y.v);
        num_store(TYPE_F64, p->y_lo->data + at, y.lo);
        num_store(TYPE_F64, p->y_hi->data + at, y.hi);
    }
    view_store(to, 0, token, column < q_cols ? column : column - q_cols, num_narrow(TYPE_BF16, y.v));
}

/* Whether a head is judged (RMS-12), and its rstd; NaN where it has a NaN (RMS-9). */
static int head_rstd(const struct qkv *const p, const int64_t token, const int64_t first, struct freedom *const rstd)
{
    MPFR_DECL_INIT(sum, REAL_BITS);
    MPFR_DECL_INIT(square, REAL_BITS);
    int has_inf = 0;

    mpfr_set_zero(sum, 1);
    for (int64_t i = 0; i < p->d; i++) {
        const double x = view_load(p->x, 0, token, first + i);
        has_inf = has_inf || isinf(x);
        mpfr_set_d(square, x, MPFR_RNDN);
        mpfr_sqr(square, square, MPFR_RNDN);
        mpfr_add(sum, sum, square, MPFR_RNDN); /* exact */
    }
    rstd->nominal = rstd->least = rstd->most = NAN;
    if (has_inf)
        return 0;
    if (mpfr_nan_p(sum))
        return 1;
    *rstd = rstd_of(sum, p->d, p->eps);
    return mpfr_cmp_d(sum, ldexp(1.0, 127)) < 0;
}

static void head(const struct qkv *const p, const int64_t token, const int64_t h, struct range *const n)
{
    const int is_k = h >= p->heads_q;
    const int64_t first = h * p->d, half = p->rope / 2, at = position(p, token);
    struct freedom rstd;

    if (!head_rstd(p, token, first, &rstd))
        return;
    for (int64_t i = 0; i < p->d; i++) {
        n[i] = before(p, is_k, view_load(p->x, 0, token, first + i), rstd, i);
        if (i < p->rope && p->dialect != SIMT && !n[i].open)
            n[i] = to_bf16(n[i]); /* QKV-2: one rounding */
    }
    for (int64_t i = 0; i < half; i++) {
        const double c = view_load(p->table, 0, at, i), s = view_load(p->table, 0, at, half + i);
        const struct range a = n[i], b = n[half + i];
        struct range none = point(NAN);

        none.open = a.open || b.open;
        n[i] = n[half + i] = none; /* APPLY-6: a NaN stays within its pair */
        if (none.open || isnan(a.v) || isnan(b.v))
            continue;
        const int finite = isfinite(c) && isfinite(s) && isfinite(a.v) && isfinite(b.v);
        n[i] = finite ? rotated(p, a, c, b, -s) : rotated_endless(p, a, c, b, -s);
        n[half + i] = finite ? rotated(p, b, c, a, s) : rotated_endless(p, b, c, a, s);
    }
    for (int64_t i = 0; i < p->d; i++)
        store(p, token, first + i, n[i]);
}

static void copy_v(const struct qkv *const p, const int64_t token)
{
    const int64_t cols = p->heads_kv * p->d, first = (p->heads_q + p->heads_kv) * p->d;

    for (int64_t i = 0; i < cols; i++)
        memcpy(p->v->data + 2 * view_at(p->v, 0, token, i), p->x->data + 2 * view_at(p->x, 0, token, first + i), 2);
}

/* ---- the call ---- */

static const struct tensor *vector(const struct qkv *const p, const struct test_case *const c, const char *const name,
                                   struct why *const why)
{
    const struct tensor *const t = find_tensor(c, name, 0, why);

    if (t == NULL)
        return NULL;
    if ((t->type != TYPE_BF16 && t->type != TYPE_F32) || t->rank != 1 || t->shape[0] != p->d || t->stride[0] != 1) {
        refuse(why, "%s is no vector of %lld, bf16 or f32 (QKV-2)", name, (long long) p->d);
        return NULL;
    }
    return t;
}

static struct tensor *output(const struct qkv *const p, const struct test_case *const c, const char *const name,
                             const int64_t cols, struct why *const why)
{
    struct tensor *const t = find_tensor(c, name, 1, why);

    if (t == NULL)
        return NULL;
    if (t->type != TYPE_BF16 || t->rank != 2 || t->shape[0] != p->tokens || t->shape[1] != cols) {
        refuse(why, "%s is not (%lld, %lld) of bf16 (QKV-5)", name, (long long) p->tokens, (long long) cols);
        return NULL;
    }
    memset(t->data, 0, t->count * type_size(t->type));
    return t;
}

static int has_tensor(const struct test_case *const c, const char *const name)
{
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->tensor[i].name, name) == 0)
            return 1;
    return 0;
}

static int bind(struct qkv *const p, const struct test_case *const c, struct why *const why)
{
    p->x = find_tensor(c, "x", 0, why);
    p->w[0] = p->x == NULL ? NULL : vector(p, c, "w_q", why);
    p->w[1] = p->w[0] == NULL ? NULL : vector(p, c, "w_k", why);
    if (p->w[1] == NULL)
        return -1;
    if (has_tensor(c, "b_q") || has_tensor(c, "b_k")) {
        p->b[0] = vector(p, c, "b_q", why);
        p->b[1] = p->b[0] == NULL ? NULL : vector(p, c, "b_k", why);
        if (p->b[1] == NULL)
            return -1;
    }
    p->table = find_tensor(c, "table", 0, why);
    p->positions = p->table == NULL ? NULL : find_tensor(c, "positions", 0, why);
    if (p->positions == NULL)
        return -1;
    p->rope = p->table->shape[1];
    if (p->rope < 2 || p->rope % 2 != 0 || p->rope > p->d || (p->table->type != TYPE_BF16 && p->table->type != TYPE_F32))
        return refuse(why, "table is not (rows, rope_dim) of bf16 or f32 (QKV-3)");
    if (p->dialect == BF16ROT && p->table->type != TYPE_BF16)
        return refuse(why, "bf16rot has a BF16 table (QKV-3)");
    for (int64_t i = 0; i < p->tokens; i++)
        if (position(p, i) >= p->table->shape[0])
            return refuse(why, "positions[%lld] is no row of the table (ERR-2)", (long long) i);
    p->q = output(p, c, "q", p->heads_q * p->d, why);
    p->k = p->q == NULL ? NULL : output(p, c, "k", p->heads_kv * p->d, why);
    p->v = p->k == NULL ? NULL : output(p, c, "v", p->heads_kv * p->d, why);
    return p->v == NULL ? -1 : 0;
}

int oracle_qkv(struct test_case *const c, struct why *const why)
{
    const struct tensor *const x = find_tensor(c, "x", 0, why);
    struct qkv p;

    memset(&p, 0, sizeof p);
    if (x == NULL || find_count(c, "heads_q", 1, 65536, &p.heads_q, why) != 0 ||
        find_count(c, "heads_kv", 1, 65536, &p.heads_kv, why) != 0 || find_count(c, "head_dim", 2, 65536, &p.d, why) != 0 ||
        find_choice(c, "dialect", QKV_DIALECTS - 1, &p.dialect, why) != 0 || find_real(c, "eps", &p.eps, why) != 0)
        return -1;
    const int64_t wide = (p.heads_q + 2 * p.heads_kv) * p.d; /* QKV-1 */

    p.eps = num_narrow(TYPE_F32, p.eps);
    if (!(p.eps > 0) || !isfinite(p.eps))
        return refuse(why, "eps is not positive and finite in f32 (RMS-12)");
    if (x->type != TYPE_BF16 || x->rank != 2 || x->shape[1] != wide || x->stride[1] != 1)
        return refuse(why, "x is not (T, %lld) of bf16 (QKV-1, QKV-5)", (long long) wide);
    p.tokens = x->shape[0];

    /* All y before any other tensor is looked up: adding one moves the others. */
    tensor_bare(c, "y.v", p.tokens, wide);
    tensor_bare(c, "y.lo", p.tokens, wide);
    tensor_bare(c, "y.hi", p.tokens, wide);
    p.y_v = find_tensor(c, "y.v", 1, why);
    p.y_lo = find_tensor(c, "y.lo", 1, why);
    p.y_hi = find_tensor(c, "y.hi", 1, why);
    if (bind(&p, c, why) != 0)
        return -1;

    struct range *const n = need(malloc((size_t) p.d * sizeof *n));
    for (int64_t t = 0; t < p.tokens; t++) {
        for (int64_t h = 0; h < p.heads_q + p.heads_kv; h++)
            head(&p, t, h, n);
        copy_v(&p, t);
    }
    free(n);
    return 0;
}
