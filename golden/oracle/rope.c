/* SPDX-License-Identifier: Apache-2.0 */
/* APPLY-1..6: every pair as two exact products and their exact sum, and the hull of f32 arithmetic around it. */
#include "oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t position_of(const struct rotation *const p, const int64_t token)
{
    int32_t narrow;
    int64_t wide;

    if (p->positions->type == TYPE_I64) {
        memcpy(&wide, p->positions->data + 8 * token, sizeof wide);
        return wide;
    }
    memcpy(&narrow, p->positions->data + 4 * token, sizeof narrow);
    return narrow;
}

/* What a product may lose where it is below 2^-126: half of 2^-149. */
static double lost(const mpfr_srcptr product)
{
    return mpfr_regular_p(product) && mpfr_get_exp(product) <= -126 ? ldexp(1.0, -150) : 0.0;
}

/* x c + y s of BF16 x, y and table entries c, s (APPLY-1). */
static struct rotated rotate(const double x, const double c, const double y, const double s, const int narrow)
{
    struct rotated r;
    MPFR_DECL_INIT(first, REAL_BITS);
    MPFR_DECL_INIT(second, REAL_BITS);
    MPFR_DECL_INIT(radius, REAL_BITS);
    MPFR_DECL_INIT(end, REAL_BITS);

    memset(&r, 0, sizeof r);
    mpfr_set_d(first, x, MPFR_RNDN);
    mpfr_mul_d(first, first, c, MPFR_RNDN); /* exact; NaN and Inf as IEEE has them */
    mpfr_set_d(second, y, MPFR_RNDN);
    mpfr_mul_d(second, second, s, MPFR_RNDN);
    mpfr_abs(radius, first, MPFR_RNDN);
    mpfr_abs(end, second, MPFR_RNDN);

    const double below = lost(first) + lost(second);
    const int first_large = mpfr_number_p(radius) && mpfr_cmp_d(radius, ldexp(1.0, 127)) >= 0;
    const int second_large = mpfr_number_p(end) && mpfr_cmp_d(end, ldexp(1.0, 127)) >= 0;

    mpfr_add(radius, radius, end, MPFR_RNDN); /* |x c| + |y s| */
    if (!mpfr_number_p(radius)) {
        const double v = mpfr_get_d(first, MPFR_RNDN) + mpfr_get_d(second, MPFR_RNDN);
        if (!isnan(v) && (first_large || second_large)) /* Inf - Inf in f32 */
            return r;
        if (isnan(v)) {
            r.v = r.lo = r.hi = v;
            r.bf16 = r.f32 = NAN;
        } else
            r.bf16 = r.f32 = v; /* an Inf has no interval */
        r.judged = 1;
        return r;
    }
    if (mpfr_cmp_d(radius, ldexp(1.0, 127)) >= 0)
        return r; /* f32 may overflow */
    r.judged = 1;
    if (mpfr_zero_p(radius)) { /* FMT-6: two signed zeros */
        r.v = mpfr_get_d(first, MPFR_RNDN) + mpfr_get_d(second, MPFR_RNDN);
        r.lo = r.hi = r.bf16 = r.f32 = r.v;
        return r;
    }
    mpfr_add(first, first, second, MPFR_RNDN); /* exact */
    if (mpfr_zero_p(first))
        mpfr_set_zero(first, 1);
    mpfr_mul_d(radius, radius, ldexp(1.0, narrow ? -24 : -23), MPFR_RNDN); /* APPLY-1, without the second order */
    mpfr_add_d(radius, radius, below, MPFR_RNDN);
    r.v = num_round(TYPE_F64, first, MPFR_RNDN);
    mpfr_sub(end, first, radius, MPFR_RNDD);
    r.lo = mpfr_get_d(end, MPFR_RNDU);
    mpfr_add(end, first, radius, MPFR_RNDU);
    r.hi = mpfr_get_d(end, MPFR_RNDD);
    r.bf16 = num_round(TYPE_BF16, first, MPFR_RNDN);
    r.f32 = num_round(TYPE_F32, first, MPFR_RNDN);
    return r;
}

void rotation_put_y(const struct rotation *const p, const int64_t token, const int64_t column, const struct rotated *const r)
{
    const size_t at = (size_t) (token * p->heads * p->d + column) * type_size(TYPE_F64);

    num_store(TYPE_F64, p->y_v->data + at, r->v);
    num_store(TYPE_F64, p->y_lo->data + at, r->lo);
    num_store(TYPE_F64, p->y_hi->data + at, r->hi);
}

struct rotated rotation_element(const struct rotation *const p, const struct tensor *const in, const int64_t token,
                                const int64_t head, const int64_t i)
{
    const int64_t half = p->rotary_dim / 2, j = i - p->offset, pair = p->interleaved ? j / 2 : j % half;

    if (j < 0 || j >= p->rotary_dim) {
        const double x = view_load(in, token, head, i);
        const double v = isinf(x) ? 0 : x; /* an Inf has no interval */
        const struct rotated as_it_is = { v, v, v, x, x, 1 };
        return as_it_is;
    }

    const int is_b = p->interleaved ? (int) (j % 2) : j >= half;
    const int64_t other = p->interleaved ? (is_b ? j - 1 : j + 1) : (is_b ? j - half : j + half);
    const int64_t row = position_of(p, token);
    const double cosine = view_load(p->table, 0, row, pair), sine = view_load(p->table, 0, row, half + pair);
    const double own = view_load(in, token, head, i), partner = view_load(in, token, head, p->offset + other);
    const int minus = is_b ? (int) p->conjugate : !p->conjugate; /* (a c - b s, b c + a s), -s for s (APPLY-2) */

    return rotate(own, cosine, partner, minus ? -sine : sine, p->narrow);
}

/* query or key into its out. whole: what does not rotate is copied, bit by bit (APPLY-3). */
static void tensor_rotate(const struct rotation *const p, const struct tensor *const in, struct tensor *const out,
                          const int whole, const int with_y)
{
    for (int64_t token = 0; token < p->n; token++)
        for (int64_t head = 0; head < in->shape[1]; head++)
            for (int64_t i = 0; i < p->d; i++) {
                const struct rotated r = rotation_element(p, in, token, head, i);

                if (i < p->offset || i >= p->offset + p->rotary_dim) {
                    if (whole)
                        memcpy(out->data + 2 * view_at(out, token, head, i), in->data + 2 * view_at(in, token, head, i), 2);
                } else if (r.judged)
                    view_store(out, token, head, i, r.bf16);
                if (with_y)
                    rotation_put_y(p, token, head * p->d + i, &r);
            }
}

static int bind(struct rotation *const p, const struct test_case *const c, const char *const name, struct why *const why)
{
    const struct tensor *const query = find_tensor(c, name, 0, why);

    p->table = find_tensor(c, "table", 0, why);
    p->positions = find_tensor(c, "positions", 0, why);
    if (query == NULL || p->table == NULL || p->positions == NULL)
        return -1;
    if (query->rank != 3 || query->type != TYPE_BF16 || query->stride[2] != 1)
        return refuse(why, "%s is no BF16 (N, heads, D) with stride(-1) = 1 (APPLY-6, KV-6)", name);
    p->n = query->shape[0];
    p->heads = query->shape[1];
    p->d = query->shape[2];
    if (p->table->rank != 2 || (p->table->type != TYPE_F32 && p->table->type != TYPE_BF16))
        return refuse(why, "table is no F32 or BF16 (rows, rotary_dim) (ROT-4, ROT-6)");
    p->rows = p->table->shape[0];
    p->rotary_dim = p->table->shape[1];
    p->narrow = p->table->type == TYPE_BF16;
    p->offset = p->d - p->rotary_dim;
    if ((!p->at_end && find_count(c, "offset", 0, p->d, &p->offset, why) != 0) ||
        (!p->at_end && find_choice(c, "conjugate", 1, &p->conjugate, why) != 0) ||
        find_choice(c, "interleaved", 1, &p->interleaved, why) != 0)
        return -1;
    if (p->rotary_dim < 2 || p->rotary_dim % 2 != 0 || p->offset < 0 || p->rotary_dim > p->d - p->offset)
        return refuse(why, "rotary_dim = %lld (APPLY-5)", (long long) p->rotary_dim);
    if (p->positions->rank != 1 || p->positions->shape[0] != p->n ||
        (p->positions->type != TYPE_I32 && p->positions->type != TYPE_I64))
        return refuse(why, "positions are no int32 or int64 (N) (APPLY-4)");
    for (int64_t token = 0; token < p->n; token++)
        if (position_of(p, token) < 0 || position_of(p, token) >= p->rows)
            return refuse(why, "positions[%lld] is not in the table (ERR-2)", (long long) token);
    return 0;
}

int rotation_open(struct rotation *const p, struct test_case *const c, const char *const name, struct why *const why)
{
    if (bind(p, c, name, why) != 0)
        return -1;

    /* All y before any other tensor is looked up: adding one moves the others. */
    tensor_bare(c, "y.v", p->n, p->heads * p->d);
    tensor_bare(c, "y.lo", p->n, p->heads * p->d);
    tensor_bare(c, "y.hi", p->n, p->heads * p->d);
    p->y_v = find_tensor(c, "y.v", 1, why);
    p->y_lo = find_tensor(c, "y.lo", 1, why);
    p->y_hi = find_tensor(c, "y.hi", 1, why);
    return bind(p, c, name, why);
}

int oracle_rope(struct test_case *const c, struct why *const why)
{
    struct rotation p;

    memset(&p, 0, sizeof p);
    if (rotation_open(&p, c, "query", why) != 0)
        return -1;

    const char *const id = find_text(&c->about, "case", why);
    const int whole = id != NULL && strstr(id, "to=own") != NULL;
    static const char *const name[2][2] = { { "query", "query_out" }, { "key", "key_out" } };

    for (int which = 0; which < 2; which++) {
        int given = which == 0;
        for (size_t i = 0; i < c->count; i++)
            given = given || strcmp(c->tensor[i].name, "key") == 0;
        if (!given)
            break;
        const struct tensor *const in = find_tensor(c, name[which][0], 0, why);
        struct tensor *const out = find_tensor(c, name[which][1], 1, why);
        if (in == NULL || out == NULL)
            return -1;
        if (in->rank != 3 || out->rank != 3 || memcmp(in->shape, out->shape, sizeof in->shape) != 0 || in->shape[0] != p.n ||
            in->shape[2] != p.d || out->type != TYPE_BF16 || in->type != TYPE_BF16)
            return refuse(why, "%s has another shape or dtype than %s (APPLY-4)", out->name, in->name);
        memset(out->data, 0, out->count * type_size(out->type));
        tensor_rotate(&p, in, out, whole, which == 0);
    }
    return 0;
}
