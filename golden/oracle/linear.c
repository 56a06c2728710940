/* SPDX-License-Identifier: Apache-2.0 */
/* LIN-1..11: every element as the exact sum of its products, the hull that LIN-1 gives, and what follows it. */
#include "oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL, REDUCE_ADD, BIAS_FUSED, DIALECTS };

struct linear {
    struct extent e; /* e.d is K */
    int64_t n, dialect;
    int codes, x_codes, free_row; /* free_row: CAST-7 leaves the row at hand open */
    const struct tensor *x, *x_sf, *weight, *weight_sf, *bias, *out_acc;
    struct tensor *out, *y_v, *y_lo, *y_hi;
    double *row, *row_scale; /* K values of one row of x, and what they are multiplied by */
};

/* ---- operands ---- */

static double e4m3_value(const unsigned code)
{
    const int exponent = (int) (code >> 3 & 15), mantissa = (int) (code & 7);
    const double magnitude = exponent == 0 ? ldexp(mantissa, -9) : ldexp(8 + mantissa, exponent - 10);

    if ((code & 0x7f) == 0x7f)
        return NAN;
    return code & 0x80 ? -magnitude : magnitude;
}

static double e2m1_value(const unsigned code)
{
    static const double magnitude[8] = { 0, 0.5, 1, 1.5, 2, 3, 4, 6 };

    return code & 8 ? -magnitude[code & 7] : magnitude[code & 7];
}

/* SF-3: the byte of group g, row m of a matrix of `rows` rows; FMT-3. */
static double scale_value(const struct tensor *const sf, const int64_t rows, const int64_t m, const int64_t g)
{
    const int64_t padded = (rows + 3) / 4 * 4;
    const unsigned byte = sf->data[(g / 4 * padded + m) * 4 + g % 4];

    return byte == 255 ? NAN : ldexp(1.0, (int) byte - 127);
}

static double weight_value(const struct linear *const p, const int64_t n, const int64_t k)
{
    const struct tensor *const w = p->weight;

    if (w->type == TYPE_BF16)
        return view_load(w, 0, n, k);
    if (w->type == TYPE_E4M3)
        return e4m3_value(w->data[view_at(w, 0, n, k)]);
    return e2m1_value(w->data[view_at(w, 0, n, k / 2)] >> (k % 2 ? 4 : 0) & 15); /* FMT-4 */
}

/* CAST-1..6 with the defaults: 32 channels, E4M3, a power of two. */
static void cast_group(struct linear *const p, const int64_t first)
{
    double amax = num_div(TYPE_F32, 1.0, 10000.0);
    int e = -126;

    for (int64_t k = first; k < first + 32; k++)
        amax = fabs(p->row[k]) > amax ? fabs(p->row[k]) : amax;
    while (ldexp(448.0, e) < amax)
        e++;
    for (int64_t k = first; k < first + 32; k++) {
        p->row[k] = e4m3_value(num_e4m3(p->row[k] * ldexp(1.0, -e)));
        p->row_scale[k] = ldexp(1.0, e);
    }
}

static void load_row(struct linear *const p, const int64_t b, const int64_t m)
{
    int has_nan = 0, has_inf = 0;

    for (int64_t k = 0; k < p->e.d; k++) {
        p->row_scale[k] = 1.0;
        if (p->x_codes) {
            p->row[k] = e4m3_value(p->x->data[view_at(p->x, b, m, k)]);
            p->row_scale[k] = scale_value(p->x_sf, p->e.b * p->e.m, b * p->e.m + m, k / 32);
            continue;
        }
        p->row[k] = view_load(p->x, b, m, k);
        has_nan = has_nan || isnan(p->row[k]);
        has_inf = has_inf || isinf(p->row[k]);
    }
    p->free_row = p->codes && !p->x_codes && has_inf && !has_nan; /* CAST-7; a NaN's row is NaN whatever else is in it */
    if (p->codes && !p->x_codes && !has_nan && !has_inf)
        for (int64_t k = 0; k < p->e.d; k += 32)
            cast_group(p, k);
}

/* ---- the sum ---- */

struct sum {
    int nan, plus_inf, minus_inf, free;
    long low; /* every term is a multiple of 2^low */
    int64_t terms;
    mpfr_t v, magnitude, side[2]; /* side: what the positive and the negative terms sum to, each as a magnitude */
};

static void add_term(struct sum *const s, const mpfr_srcptr t)
{
    MPFR_DECL_INIT(positive, REAL_BITS);

    s->terms++;
    if (mpfr_nan_p(t))
        s->nan = 1;
    else if (mpfr_inf_p(t)) {
        s->plus_inf = s->plus_inf || mpfr_sgn(t) > 0;
        s->minus_inf = s->minus_inf || mpfr_sgn(t) < 0;
    } else {
        if (s->terms == 1)
            mpfr_set(s->v, t, MPFR_RNDN); /* its sign too, where it is a zero */
        else
            mpfr_add(s->v, s->v, t, MPFR_RNDN); /* exact */
        mpfr_abs(positive, t, MPFR_RNDN);
        mpfr_add(s->magnitude, s->magnitude, positive, MPFR_RNDN);
        mpfr_ptr side = s->side[mpfr_sgn(t) < 0];
        mpfr_add(side, side, positive, MPFR_RNDN);
    }
    if (mpfr_regular_p(t)) {
        const long low = (long) mpfr_get_exp(t) - (long) mpfr_min_prec(t);
        s->low = low < s->low ? low : s->low;
    }
}

static void add_number(struct sum *const s, const double v)
{
    MPFR_DECL_INIT(t, REAL_BITS);

    mpfr_set_d(t, v, MPFR_RNDN);
    add_term(s, t);
}

/* LIN-1: x and W, with both scales (LIN-5). */
static void add_products(const struct linear *const p, struct sum *const s, const int64_t n)
{
    MPFR_DECL_INIT(t, REAL_BITS);

    for (int64_t k = 0; k < p->e.d; k++) {
        const double scale = p->codes ? scale_value(p->weight_sf, p->n, n, k / 32) : 1.0;

        mpfr_set_d(t, p->row[k], MPFR_RNDN);
        mpfr_mul_d(t, t, weight_value(p, n, k), MPFR_RNDN);
        mpfr_mul_d(t, t, p->row_scale[k], MPFR_RNDN);
        mpfr_mul_d(t, t, scale, MPFR_RNDN);
        add_term(s, t);
        if (!isnan(scale) && !isnan(p->row_scale[k]) &&
            (p->row_scale[k] * scale < ldexp(1.0, -100) || p->row_scale[k] * scale > ldexp(1.0, 100)))
            s->free = 1; /* LIN-5: reported */
    }
}

static int is_exact(const struct sum *const s)
{
    MPFR_DECL_INIT(most, REAL_BITS);

    if (mpfr_zero_p(s->magnitude))
        return 1;
    mpfr_set_si_2exp(most, 1, 24 + s->low, MPFR_RNDN);
    return s->low >= -149 && mpfr_cmp(s->magnitude, most) <= 0; /* LIN-8; g is a number of f32 */
}

static void store_y(const struct linear *const p, const int64_t row, const int64_t n, const double v, const double lo,
                    const double hi)
{
    const size_t at = (size_t) (row * p->n + n) * type_size(TYPE_F64);

    num_store(TYPE_F64, p->y_v->data + at, v);
    num_store(TYPE_F64, p->y_lo->data + at, lo);
    num_store(TYPE_F64, p->y_hi->data + at, hi);
}

/* acc as one number of the output, and y. */
static double acc_of(const struct linear *const p, struct sum *const s, const int64_t row, const int64_t n)
{
    MPFR_DECL_INIT(radius, REAL_BITS);
    MPFR_DECL_INIT(end, REAL_BITS);

    if (s->nan || s->plus_inf || s->minus_inf) { /* LIN-11 */
        const double v = s->nan || (s->plus_inf && s->minus_inf) ? NAN : s->plus_inf ? INFINITY : -INFINITY;
        store_y(p, row, n, v, v, v);
        return v;
    }
    if (p->e.d == 0 && p->out_acc != NULL && p->dialect == USUAL) { /* LIN-2: a copy, the sign of a zero too */
        const double copied = mpfr_get_d(s->v, MPFR_RNDN);
        store_y(p, row, n, copied, copied, copied);
        return copied;
    }
    if (mpfr_zero_p(s->v))
        mpfr_set_zero(s->v, 1);
    const double v = num_round(TYPE_F64, s->v, MPFR_RNDN);
    double lo = v, hi = v;

    if (is_exact(s)) {
        lo = v == 0 && s->terms > 0 ? -0.0 : v; /* FMT-6; LIN-2: no term at all is +0 */
    } else {
        mpfr_mul_si(radius, s->magnitude, (long) p->e.d + 32, MPFR_RNDN); /* LIN-1 */
        mpfr_mul_2si(radius, radius, -24, MPFR_RNDN);
        mpfr_add_d(radius, radius, ldexp((double) p->e.d, -149), MPFR_RNDN); /* a product below 2^-126 loses a step of f32 */
        mpfr_sub(end, s->v, radius, MPFR_RNDD);
        lo = mpfr_get_d(end, MPFR_RNDU); /* the last double inside */
        mpfr_add(end, s->v, radius, MPFR_RNDU);
        hi = mpfr_get_d(end, MPFR_RNDD);
    }
    store_y(p, row, n, v, lo, hi);
    return num_round(p->out->type, s->v, MPFR_RNDN);
}

/* Does a sum of positive (0) or of negative (1) terms come to where f32 overflows? */
static int is_large(const struct sum *const s, const int negative)
{
    return mpfr_cmp_d(s->side[negative], ldexp(1.0, 127)) >= 0;
}

static void element(const struct linear *const p, const int64_t b, const int64_t m, const int64_t n)
{
    struct sum s = { 0, 0, 0, p->free_row, 100000, 0, { { 0 } }, { { 0 } }, { { { 0 } }, { { 0 } } } };

    mpfr_inits2(REAL_BITS, s.v, s.magnitude, s.side[0], s.side[1], (mpfr_ptr) 0);
    mpfr_set_zero(s.v, 1);
    mpfr_set_zero(s.magnitude, 1);
    mpfr_set_zero(s.side[0], 1);
    mpfr_set_zero(s.side[1], 1);
    add_products(p, &s, n);
    if (p->out_acc != NULL && p->dialect != REDUCE_ADD)
        add_number(&s, view_load(p->out_acc, b, m, n)); /* LIN-2 */
    if (p->bias != NULL && p->dialect == BIAS_FUSED)
        add_number(&s, view_load(p->bias, 0, 0, n));                                       /* LIN-9 */
    const int is_nan = s.nan || (s.plus_inf && s.minus_inf);                               /* in every order */
    const int meets = (s.plus_inf && is_large(&s, 1)) || (s.minus_inf && is_large(&s, 0)); /* an Inf the other: NaN, or an Inf */
    const int is_inf = s.plus_inf || s.minus_inf;

    if (!s.free && (is_nan || is_inf || (!is_large(&s, 0) && !is_large(&s, 1)))) { /* else all stays 0 */
        double v = meets && !is_nan ? (double) NAN : acc_of(p, &s, b * p->e.m + m, n);
        if (meets && !is_nan)
            store_y(p, b * p->e.m + m, n, NAN, -INFINITY, INFINITY);
        if (p->out_acc != NULL && p->dialect == REDUCE_ADD)
            v = num_add(TYPE_BF16, view_load(p->out_acc, b, m, n), v);
        if (p->bias != NULL && p->dialect != BIAS_FUSED)
            v = num_narrow(p->out->type, num_add(TYPE_F32, v, view_load(p->bias, 0, 0, n)));
        view_store(p->out, b, m, n, v);
    }
    mpfr_clears(s.v, s.magnitude, s.side[0], s.side[1], (mpfr_ptr) 0);
}

/* ---- the call ---- */

static const struct tensor *optional(const struct test_case *const c, const char *const name)
{
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->tensor[i].name, name) == 0 && !c->tensor[i].is_out)
            return &c->tensor[i];
    return NULL;
}

/* SF-3, as the call sees it. */
static int sf_is(const struct tensor *const sf, const int64_t rows, const int64_t k, struct why *const why)
{
    const int64_t padded = (rows + 3) / 4 * 4, words = (k + 127) / 128;

    if (sf->type != TYPE_I32 || sf->rank != 2 || sf->shape[0] != rows || sf->shape[1] != words)
        return refuse(why, "%s is not i32 of (rows, ceil(K/128)) (SF-3)", sf->name);
    if (rows * words > 0 && (sf->stride[0] != 1 || sf->stride[1] != padded))
        return refuse(why, "%s has other strides than (1, %lld) (SF-3)", sf->name, (long long) padded);
    return 0;
}

static int bind_weight(struct linear *const p, const int64_t ragged, struct why *const why)
{
    const struct tensor *const w = p->weight;

    p->codes = w->type == TYPE_E4M3 || w->type == TYPE_E2M1;
    p->x_codes = p->x->type == TYPE_E4M3;
    p->n = w->shape[0];
    if (!p->codes && w->type != TYPE_BF16)
        return refuse(why, "weight is %s (LIN-6)", type_name(w->type));
    if (w->rank != 2 || w->shape[1] != (w->type == TYPE_E2M1 ? p->e.d / 2 : p->e.d))
        return refuse(why, "weight is not (N, K) (LIN-10)");
    if (p->x_codes ? !p->codes : p->x->type != TYPE_BF16)
        return refuse(why, "x is %s (LIN-5, LIN-6)", type_name(p->x->type));
    if (p->codes && p->e.d % (ragged ? 32 : 128) != 0)
        return refuse(why, "K = %lld (LIN-7)", (long long) p->e.d);
    if (p->codes != (p->weight_sf != NULL) || p->x_codes != (p->x_sf != NULL))
        return refuse(why, "codes and scales come together (LIN-5)");
    if (p->codes && sf_is(p->weight_sf, p->n, p->e.d, why) != 0)
        return -1;
    return p->x_codes ? sf_is(p->x_sf, p->e.b * p->e.m, p->e.d, why) : 0;
}

static int bind_out(const struct linear *const p, const struct tensor *const t, struct why *const why)
{
    if (t->rank != p->x->rank || !dims_are(t->shape, t->rank, p->e.b, p->e.m, p->n))
        return refuse(why, "%s is not (.., N) (LIN-3)", t->name);
    if (t->type != TYPE_BF16 && (t->type != TYPE_F32 || p->codes))
        return refuse(why, "%s is %s (LIN-1, LIN-5)", t->name, type_name(t->type));
    return 0;
}

/* K = 0 is legal here, as nowhere else. */
static void bind_extent(struct linear *const p)
{
    const struct tensor *const x = p->x;

    p->e.b = x->rank > 2 ? x->shape[0] : 1;
    p->e.m = x->rank > 1 ? x->shape[x->rank - 2] : 1;
    p->e.d = x->shape[x->rank - 1];
}

static int bind(struct linear *const p, struct test_case *const c, struct why *const why)
{
    int64_t ragged;

    p->x = find_tensor(c, "x", 0, why);
    p->weight = find_tensor(c, "weight", 0, why);
    if (p->x == NULL || p->weight == NULL || find_choice(c, "dialect", DIALECTS - 1, &p->dialect, why) != 0 ||
        find_choice(c, "ragged", 1, &ragged, why) != 0)
        return -1;
    bind_extent(p);
    p->x_sf = optional(c, "x_sf");
    p->weight_sf = optional(c, "weight_sf");
    p->bias = optional(c, "bias");
    p->out_acc = optional(c, "out_acc");
    p->out = find_tensor(c, "out", 1, why);
    if (p->out == NULL || bind_weight(p, ragged, why) != 0 || bind_out(p, p->out, why) != 0 ||
        (p->out_acc != NULL && bind_out(p, p->out_acc, why) != 0))
        return -1;
    if (p->out_acc != NULL && p->out_acc->type != p->out->type)
        return refuse(why, "out_acc and out differ in type (LIN-2)");
    if (p->bias != NULL && (p->codes || p->bias->rank != 1 || p->bias->shape[0] != p->n))
        return refuse(why, "bias is not (N) beside a BF16 weight (LIN-5, LIN-9)");
    return 0;
}

int oracle_linear(struct test_case *const c, struct why *const why)
{
    struct linear p;

    memset(&p, 0, sizeof p);
    if (bind(&p, c, why) != 0)
        return -1;
    /* All y before the tensors are kept: adding one moves the others. */
    tensor_bare(c, "y.v", p.e.b * p.e.m, p.n);
    tensor_bare(c, "y.lo", p.e.b * p.e.m, p.n);
    tensor_bare(c, "y.hi", p.e.b * p.e.m, p.n);
    if (bind(&p, c, why) != 0)
        return -1;
    p.y_v = find_tensor(c, "y.v", 1, why);
    p.y_lo = find_tensor(c, "y.lo", 1, why);
    p.y_hi = find_tensor(c, "y.hi", 1, why);
    memset(p.out->data, 0, p.out->count * type_size(p.out->type));

    p.row = need(malloc((size_t) (p.e.d + 1) * sizeof *p.row));
    p.row_scale = need(malloc((size_t) (p.e.d + 1) * sizeof *p.row_scale));
    for (int64_t b = 0; b < p.e.b; b++)
        for (int64_t m = 0; m < p.e.m; m++) {
            load_row(&p, b, m);
            for (int64_t n = 0; n < p.n; n++)
                element(&p, b, m, n);
        }
    free(p.row);
    free(p.row_scale);
    return 0;
}
