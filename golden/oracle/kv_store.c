/* SPDX-License-Identifier: Apache-2.0 */
/* KV-1..6: the stages on each head in real arithmetic, the true hull of each, and where the bytes go. */
#include "oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What one element is after a stage: nominal, and the ends of what a conforming kernel may hold. open: not judged. Not a number for
 * certain: all three NaN; NaN or Inf (HAD-6): v NaN, the ends infinite. */
struct value {
    double v, lo, hi;
    int open;
};

struct kv {
    int64_t n, heads, d;
    int64_t norm, rope, hadamard, cast, store, per_head, bf16_stages, conjugate, interleaved, offset, rotary_dim;
    int64_t page_size, pages;
    int64_t codes_at[4], scales_at[4]; /* KV-3: base, page, row, head, in bytes */
    double eps, scale;
    const struct tensor *x, *weight, *table, *positions, *slots;
    struct tensor *pool, *out, *sf;
    struct tensor *y[3];
    struct hull hull;
    struct value *head, *other; /* d each */
    double *row;                /* heads * d: what the cast reads */
};

static struct value point(const double v)
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

static int64_t integer_at(const struct tensor *const t, const int64_t i)
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

static int norm(struct kv *const p)
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
        struct value it = point(num_mul(TYPE_F64, num_mul(TYPE_F64, r, rstd.nominal), w));

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
        return point(isinf(x.lo) != isinf(x.v) || isinf(z.lo) != isinf(z.v) ? NAN : sum);
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
    if (mpfr_zero_p(radius))
        return point(x.v * c + z.v * s); /* IEEE's sign (FMT-6) */
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

static int rotate(struct kv *const p, const int64_t token)
{
    const int64_t pairs = p->rotary_dim / 2, row = integer_at(p->positions, token);
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

static int transform(struct kv *const p)
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
    mpfr_set_d(radius, 1.0 + ldexp(1.0, -24), MPFR_RNDN);
    mpfr_pow_si(radius, radius, stages + 1, MPFR_RNDN);
    mpfr_sub_ui(radius, radius, 1, MPFR_RNDN);
    mpfr_mul(radius, radius, magnitude, MPFR_RNDN);
    mpfr_mul_d(radius, radius, fabs(p->scale), MPFR_RNDN);
    mpfr_set_d(quantum, ldexp(1.0, -150), MPFR_RNDN);
    mpfr_add(radius, radius, quantum, MPFR_RNDN);

    const int exact = is_exact(p, magnitude);

    for (int64_t i = 0; i < p->d; i++)
        p->other[i] = element(p, i, exact, radius);
    memcpy(p->head, p->other, (size_t) p->d * sizeof *p->head);
    return stage_end(p);
}

/* ---- where things go ---- */

/* KV-2, KV-3: the first byte of (slot, head). */
static int64_t pool_at(const struct kv *const p, const int64_t at[4], const int64_t slot, const int64_t head)
{
    return at[0] + slot / p->page_size * at[1] + slot % p->page_size * at[2] + head * at[3];
}

/* A tensor of these dims over the same bytes. */
static struct tensor as(const struct tensor *const t, const int64_t b, const int64_t m, const int64_t j)
{
    struct tensor view = *t;

    view.rank = 3;
    view.shape[0] = b, view.shape[1] = m, view.shape[2] = j;
    view.stride[0] = m * j, view.stride[1] = j, view.stride[2] = 1;
    return view;
}

/* CAST of one head into the pool, by way of a row of codes and one of scale bytes (SF-2). */
static void store_head(const struct kv *const p, const int64_t slot, const int64_t head)
{
    const int64_t groups = p->d / 32;
    unsigned char *const codes = need(calloc((size_t) (p->d + groups + 4), 1)), *const bytes = codes + p->d;
    struct tensor q, sf;
    struct cast cast;

    memset(&q, 0, sizeof q);
    q.type = TYPE_E4M3;
    q.data = codes;
    q = as(&q, 1, 1, p->d);
    sf = q;
    sf.type = TYPE_I32;
    sf.data = bytes;
    memset(&cast, 0, sizeof cast);
    cast.e.b = cast.e.m = 1, cast.e.d = p->d;
    cast.group = 32, cast.groups = groups, cast.block_m = 1;
    cast.round_sf = cast.packed = 1;
    cast.codes = &q, cast.sf = &sf;
    cast_row(&cast, 0, 0, p->row + head * p->d);
    memcpy(p->pool->data + pool_at(p, p->codes_at, slot, head), codes, (size_t) p->d);
    memcpy(p->pool->data + pool_at(p, p->scales_at, slot, head), bytes, (size_t) groups);
    free(codes);
}

/* KV-5: codes and SF-3 scales of the (n, heads * d) matrix, or of n batches of heads rows. */
static void cast_token(const struct kv *const p, const int64_t token)
{
    struct tensor q = p->per_head ? as(p->out, p->n, p->heads, p->d) : as(p->out, 1, p->n, p->heads * p->d);
    struct cast cast;

    memset(&cast, 0, sizeof cast);
    cast.e.b = q.shape[0], cast.e.m = q.shape[1], cast.e.d = q.shape[2];
    cast.group = 32, cast.groups = q.shape[2] / 32, cast.block_m = 1;
    cast.round_sf = cast.packed = cast.col = 1;
    cast.codes = &q, cast.sf = p->sf;
    for (int64_t head = 0; head < p->heads && p->per_head; head++)
        cast_row(&cast, token, head, p->row + head * p->d);
    if (!p->per_head)
        cast_row(&cast, 0, token, p->row);
}

/* ---- one token ---- */

static void one_head(struct kv *const p, const int64_t token, const int64_t head)
{
    const int rank_3 = p->x->rank == 3;

    for (int64_t i = 0; i < p->d; i++)
        p->head[i] = point(rank_3 ? view_load(p->x, token, head, i) : view_load(p->x, 0, token, i));

    int judged = !p->norm || norm(p);
    judged = judged && (!p->rope || rotate(p, token));
    judged = judged && (!p->hadamard || transform(p));
    for (int64_t i = 0; i < p->d; i++) {
        const struct value it = p->head[i];
        const int open = !judged || it.open, infinite = isinf(it.v), unsure = isnan(it.v) && isinf(it.hi);
        const double y[3] = { it.v, it.lo, it.hi };
        const size_t at = (size_t) ((token * p->heads + head) * p->d + i);

        for (int k = 0; k < 3 && !open && !infinite; k++) /* an infinite y has no hull: it stays 0 */
            num_store(TYPE_F64, p->y[k]->data + at * type_size(TYPE_F64), y[k]);
        p->row[head * p->d + i] = open || unsure ? INFINITY : it.v; /* CAST-7 leaves a group with an Inf open */
        if (!p->cast && !open)
            num_store(TYPE_BF16, p->out->data + at * 2, num_narrow(TYPE_BF16, it.v));
    }
}

static void one_token(struct kv *const p, const int64_t token)
{
    const int64_t slot = p->store ? integer_at(p->slots, token) : 0;

    for (int64_t head = 0; head < p->heads; head++)
        one_head(p, token, head);
    if (p->cast && !p->store)
        cast_token(p, token);
    for (int64_t head = 0; head < p->heads && p->store && slot >= 0; head++)
        store_head(p, slot, head);
}

/* ---- the call ---- */

static int bind_store(struct kv *const p, const struct test_case *const c, struct why *const why)
{
    static const char *const codes[4] = { NULL, "page_stride", "row_stride", "head_stride" };
    static const char *const scales[4] = { "scale_base", "scale_page_stride", "scale_row_stride", "scale_head_stride" };

    if (find_count(c, "page_size", 1, INT32_MAX, &p->page_size, why) != 0 ||
        find_count(c, "pages", 0, INT32_MAX, &p->pages, why) != 0)
        return -1;
    for (int i = 0; i < 4; i++)
        if ((codes[i] != NULL && find_count(c, codes[i], 0, INT32_MAX, &p->codes_at[i], why) != 0) ||
            find_count(c, scales[i], 0, INT32_MAX, &p->scales_at[i], why) != 0)
            return -1;
    p->slots = find_tensor(c, "slot_mapping", 0, why);
    p->pool = find_tensor(c, "pool", 1, why);
    if (p->slots == NULL || p->pool == NULL)
        return -1;
    if (p->pages > 0 && (pool_at(p, p->codes_at, p->pages * p->page_size - 1, p->heads - 1) + p->d > p->pool->store[0] ||
                         pool_at(p, p->scales_at, p->pages * p->page_size - 1, p->heads - 1) + p->d / 32 > p->pool->store[0]))
        return refuse(why, "pool of %lld bytes is too small (KV-3)", (long long) p->pool->store[0]);
    for (int64_t i = 0; i < p->n; i++)
        if (integer_at(p->slots, i) >= p->pages * p->page_size)
            return refuse(why, "slot_mapping[%lld] is past the pool (KV-2)", (long long) i);
    memset(p->pool->data, 0, p->pool->count * type_size(p->pool->type));
    return 0;
}

static int bind_out(struct kv *const p, const struct test_case *const c, struct why *const why)
{
    p->out = find_tensor(c, "out", 1, why);
    p->sf = p->cast ? find_tensor(c, "sf", 1, why) : NULL;
    if (p->out == NULL || (p->cast && p->sf == NULL))
        return -1;
    if (p->out->type != (p->cast ? TYPE_E4M3 : TYPE_BF16))
        return refuse(why, "out is %s (KV-5)", type_name(p->out->type));
    memset(p->out->data, 0, p->out->count * type_size(p->out->type));
    if (p->cast)
        memset(p->sf->data, 0, p->sf->count * type_size(p->sf->type));
    return 0;
}

static int bind_rope(struct kv *const p, const struct test_case *const c, struct why *const why)
{
    p->table = find_tensor(c, "table", 0, why);
    p->positions = find_tensor(c, "positions", 0, why);
    if (p->table == NULL || p->positions == NULL || find_count(c, "offset", 0, p->d - 2, &p->offset, why) != 0 ||
        find_choice(c, "conjugate", 1, &p->conjugate, why) != 0 || find_choice(c, "interleaved", 1, &p->interleaved, why) != 0)
        return -1;
    p->rotary_dim = p->table->shape[1];
    if (p->rotary_dim < 2 || p->rotary_dim % 2 != 0 || p->rotary_dim > p->d - p->offset)
        return refuse(why, "table is %lld wide (APPLY-5)", (long long) p->rotary_dim);
    for (int64_t i = 0; i < p->n; i++)
        if (integer_at(p->positions, i) < 0 || integer_at(p->positions, i) >= p->table->shape[0])
            return refuse(why, "positions[%lld] is no row of the table (APPLY-4)", (long long) i);
    return 0;
}

static int bind(struct kv *const p, const struct test_case *const c, struct why *const why)
{
    const struct {
        const char *name;
        int64_t *to;
    } switches[] = { { "norm", &p->norm },   { "rope", &p->rope },         { "hadamard", &p->hadamard }, { "cast", &p->cast },
                     { "store", &p->store }, { "per_head", &p->per_head }, { "stage", &p->bf16_stages } };

    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
        if (find_count(c, switches[i].name, 0, 1, switches[i].to, why) != 0)
            return -1;
    p->weight = p->norm ? find_tensor(c, "weight", 0, why) : NULL;
    if (p->norm && (p->weight == NULL || find_real(c, "eps", &p->eps, why) != 0))
        return -1;
    p->scale = num_rsqrt(TYPE_F32, (double) p->d); /* HAD-2 */
    for (size_t i = 0; i < c->about.count; i++)
        if (strcmp(c->about.item[i].name, "had_scale") == 0 && find_real(c, "had_scale", &p->scale, why) != 0)
            return -1;
    if (p->rope && bind_rope(p, c, why) != 0)
        return -1;
    return p->store ? bind_store(p, c, why) : bind_out(p, c, why);
}

int oracle_kv_store(struct test_case *const c, struct why *const why)
{
    static const char *const names[3] = { "y.v", "y.lo", "y.hi" };
    struct kv p;

    memset(&p, 0, sizeof p);
    p.x = find_tensor(c, "x", 0, why);
    if (p.x == NULL)
        return -1;
    if (p.x->type != TYPE_BF16 || p.x->rank < 2)
        return refuse(why, "x is %s of rank %d (KV-1)", type_name(p.x->type), p.x->rank);
    p.n = p.x->shape[0];
    p.heads = p.x->rank == 3 ? p.x->shape[1] : 1;
    p.d = p.x->shape[p.x->rank - 1];
    for (int k = 0; k < 3; k++) /* before any other tensor is looked up: adding one moves the others */
        tensor_bare(c, names[k], p.n, p.heads * p.d);
    for (int k = 0; k < 3; k++)
        p.y[k] = find_tensor(c, names[k], 1, why);
    p.x = find_tensor(c, "x", 0, why);
    p.head = need(calloc(2 * (size_t) p.d, sizeof *p.head));
    p.other = p.head + p.d;
    p.row = need(calloc((size_t) (p.heads * p.d), sizeof *p.row));
    hull_init(&p.hull);

    const int status = bind(&p, c, why);

    for (int64_t token = 0; status == 0 && token < p.n; token++)
        one_token(&p, token);
    hull_clear(&p.hull);
    free(p.head);
    free(p.row);
    return status;
}
