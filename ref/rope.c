/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary embedding: rotation of pairs by the table's cosines and sines.
 *
 *   (c, s) = table[positions[token]][i], [i + rotary_dim/2]                 APPLY-1, APPLY-4
 *   (a, b) -> (a*c - b*s, b*c + a*s)                                        APPLY-1; conjugate: -s for s (APPLY-2)
 *   out    = RN_bf16 of it; what does not rotate is copied bit by bit       APPLY-3
 *
 * Pairs      of [offset, offset + rotary_dim) of each head: neox (i, i + rotary_dim/2), interleaved (2i, 2i + 1) (APPLY-1).
 * Source     arXiv:2104.09864; docs/contract.md APPLY-1..6, DET-4, ERR-2.
 * Shapes     query (N, heads, D), key (N, kv_heads, D) or absent, both BF16; table (rows, rotary_dim), F32 or BF16 (ROT-6);
 *            positions (N). query_out and key_out: absent or the same view: in place, nothing else of a head is written;
 *            else the whole head is. N = 0 writes nothing.
 * Freedom    f32 with or without FMA: |y - v| <= 2 (1 + 2^-20) u (|a c| + |b s|) + underflow, half of it with a BF16 table.
 * Edges      NaN and Inf stay in their pair (APPLY-6). The sign of terms that cancel is free (FMT-6). Where |a c| + |b s| >=
 *            2^127 the element is not judged, though APPLY has no such exemption: f32 products overflow in right kernels, as squares
 *            do in RMS-12. A position outside the table is refused (ERR-2). The table is only numbers here, finite or not. query and
 *            key share no byte, out of place too: APPLY-6 says it of both, not of outputs alone as DET-4 does. */
#include <math.h>
#include <string.h>

#include "args.h"

static double largest(struct iv x)
{
    return fmax(fabs(x.lo), fabs(x.hi));
}

/* A product that is finite, and may not be in f32. */
static bool may_overflow(double product)
{
    return isfinite(product) && fabs(product) >= ldexp(1, 127);
}

/* p*c + q*s, and what a conforming kernel may hold before the store. c and s are f32 values. */
static struct iv rotated(struct iv p, double c, struct iv q, double s, double k, uint8_t *free)
{
    if (!isfinite(c) || !isfinite(s)) { /* NaN or an Inf */
        const double v = p.v * c + q.v * s;
        const bool is_nan = isnan(c) || isnan(s) || iv_is_nan(p) || iv_is_nan(q); /* so is the sum, in any arithmetic */
        if (!is_nan && (!iv_is_pt(p) || !iv_is_pt(q) || (!isnan(v) && (may_overflow(p.v * c) || may_overflow(q.v * s)))))
            *free = 1;
        return iv_pt(v);
    }
    const struct iv pc = iv_scale(p, c), qs = iv_scale(q, s);
    struct iv y = iv_add(pc, qs);
    if (iv_is_nan(y) || isinf(y.v)) { /* APPLY-6 */
        const bool is_nan = iv_is_nan(p) || iv_is_nan(q) || (iv_is_pt(p) && iv_is_pt(q) && isnan(y.v));
        if (!is_nan && (may_overflow(largest(pc)) || may_overflow(largest(qs))))
            *free = 1; /* Inf - Inf in f32 */
        return iv_pt(y.v);
    }
    const double size = largest(pc) + largest(qs);
    if (size == 0)
        return y; /* zero products: IEEE fixes the sum's sign (FMT-6) */
    if (size >= ldexp(1, 127)) {
        *free = 1; /* a product or the sum may overflow in f32 */
        return iv_pt(y.v);
    }
    /* FMT-6: the sign of terms that cancel is free; the last term is what two products lose to underflow. */
    y = iv_widen(y, ldexp(k * (1 + ldexp(1, -20)) * size, -24) + ldexp(1, -149));
    return y;
}

void ref_rope_rotate(const struct ref_rotation *how, const double *cos, const double *sin, struct iv *x, uint8_t *free)
{
    const double k = how->exact_products ? REF_ROPE_EXACT_K : REF_ROPE_K;
    uint8_t unused[2];
    for (int64_t i = 0; i < how->pairs; i++) {
        const int64_t at_a = how->interleaved ? 2 * i : i, at_b = how->interleaved ? 2 * i + 1 : how->pairs + i;
        const struct iv a = x[at_a], b = x[at_b];
        const double c = cos[i], s = how->conjugate ? -sin[i] : sin[i];
        x[at_a] = rotated(a, c, b, -s, k, free ? &free[at_a] : &unused[0]);
        x[at_b] = rotated(b, c, a, s, k, free ? &free[at_b] : &unused[1]);
    }
}

/* ---- one token ---- */

double ref_rope_k(const union op_args *args, uint32_t claims)
{
    (void) claims;
    return args->rope.t[ROPE_TABLE]->dtype == LC_BF16 ? REF_ROPE_EXACT_K : REF_ROPE_K;
}

int64_t ref_rope_position(const union op_args *args, int64_t token)
{
    const struct lc_tensor *const t = args->rope.t[ROPE_POSITIONS];
    return t->dtype == LC_I64 ? ((const int64_t *) t->data)[token] : ((const int32_t *) t->data)[token];
}

int ref_rope_lost(const union op_args *args, int64_t token)
{
    const int64_t at = ref_rope_position(args, token);
    return at < 0 || at >= args->rope.rows;
}

size_t ref_rope_work(const union op_args *args)
{
    return (size_t) args->rope.rotary_dim * sizeof(double) + (size_t) (args->rope.heads[1] * args->rope.d) * sizeof(struct iv);
}

static uint16_t bits(const struct lc_tensor *t, int64_t token, int64_t head, int64_t i)
{
    return ((const uint16_t *) t->data)[token * t->stride[0] + head * t->stride[1] + i];
}

/* The token's row of the table: cosines, then sines. */
void ref_rope_load_table(const struct rope_args *a, int64_t position, double *row)
{
    const struct lc_tensor *const t = a->t[ROPE_TABLE];
    for (int64_t i = 0; i < a->rotary_dim; i++) {
        const int64_t at = position * a->rotary_dim + i;
        row[i] = t->dtype == LC_BF16 ? fmt_load(LC_BF16, ((const uint16_t *) t->data)[at])
                                     : (double) ((const float *) t->data)[at];
    }
}

/* All heads of query (which = 0) or key (1). y: the head's values before the store, rotated or not. */
static void heads_of(const struct rope_args *a, int which, int64_t token, const double *table, struct iv *y,
                     const struct iv *given_y, struct ref_want *want)
{
    const struct lc_tensor *const in = a->t[ROPE_QUERY + which];
    const int64_t n = a->rotary_dim, rest = a->d - n;
    const struct ref_rotation how = { n / 2, a->interleaved, a->conjugate, a->t[ROPE_TABLE]->dtype == LC_BF16 };
    struct iv *const at = want->at[ROPE_QUERY_OUT + which], *const copied = want->at[ROPE_QUERY_REST + which];
    uint8_t *const free = want->free[ROPE_QUERY_OUT + which];
    for (int64_t h = 0; h < a->heads[which]; h++) {
        struct iv *const head = y + h * a->d;
        uint8_t *const open = free + h * n;
        memset(open, 0, (size_t) n);
        for (int64_t i = 0; i < a->d; i++)
            head[i] = iv_pt(fmt_load(LC_BF16, bits(in, token, h, i)));
        ref_rope_rotate(&how, table, table + n / 2, head + a->offset, open);
        for (int64_t i = 0; i < n; i++) {
            struct iv *const v = &head[a->offset + i];
            if (open[i])
                *v = iv_pt(INFINITY);
            else if (given_y && iv_is_finite(*v))
                *v = given_y[h * a->d + a->offset + i];
        }
        memcpy(at + h * n, head + a->offset, (size_t) n * sizeof *head);
        for (int64_t i = 0; i < rest && !a->in_place[which]; i++) {
            const int64_t from = i < a->offset ? i : i + n;
            copied[h * rest + i] = iv_pt(bits(in, token, h, from));
        }
    }
}

void ref_rope_row(const union op_args *args, int64_t row, const struct ref_got *got, struct ref_want *want)
{
    const struct rope_args *const a = &args->rope;
    (void) got;
    if (ref_rope_lost(args, row)) { /* ERR-2 */
        for (int which = 0; which < 2; which++) {
            memset(want->free[ROPE_QUERY_OUT + which], 1, (size_t) (a->heads[which] * a->rotary_dim));
            if (a->t[ROPE_QUERY_REST + which])
                memset(want->free[ROPE_QUERY_REST + which], 1, (size_t) (a->heads[which] * (a->d - a->rotary_dim)));
        }
        return;
    }
    double *const table = want->work;
    ref_rope_load_table(a, ref_rope_position(args, row), table);
    heads_of(a, 0, row, table, want->y, want->given_y, want); /* y of goldens is query's */
    heads_of(a, 1, row, table, (struct iv *) (void *) (table + a->rotary_dim), NULL, want);
    for (int which = 0; which < 2; which++)
        if (a->t[ROPE_QUERY_REST + which])
            memset(want->free[ROPE_QUERY_REST + which], 0, (size_t) (a->heads[which] * (a->d - a->rotary_dim)));
}

/* ---- APPLY-3..6: what is accepted ---- */

static const char *const names[] = { "query", "key", "table", "positions", "query_out", "key_out" };

/* query, key, query_out, key_out */
static int check_heads(const struct lc_call *call, const struct lc_tensor *t, const struct lc_tensor *query)
{
    int status = arg_is_view(call, t, "APPLY-6");
    if (!status)
        status = arg_dtype(call, t, "APPLY-6", 1u << LC_BF16);
    if (status)
        return status;
    if (t->rank != 3)
        return arg_refuse(call, t->name, "APPLY-4", "rank %d: must be 3, (N, heads, D)", (int) t->rank);
    if (t->shape[0] != query->shape[0])
        return arg_refuse(call, t->name, "APPLY-4", "shape[0] = %lld: query has %lld tokens", (long long) t->shape[0],
                          (long long) query->shape[0]);
    if (t->shape[1] < 1)
        return arg_refuse(call, t->name, "APPLY-6", "shape[1] = %lld: must be at least one head", (long long) t->shape[1]);
    if (t->shape[2] != query->shape[2])
        return arg_refuse(call, t->name, "APPLY-4", "shape[2] = %lld: query has %lld", (long long) t->shape[2],
                          (long long) query->shape[2]);
    if (t->stride[2] != 1)
        return arg_refuse(call, t->name, "APPLY-6", "stride(-1) = %lld: must be 1", (long long) t->stride[2]);
    return LC_OK;
}

static int check_table(const struct lc_call *call, struct rope_args *a, bool at_end)
{
    const struct lc_tensor *const t = a->t[ROPE_TABLE];
    int status = arg_is_view(call, t, "ROT-4");
    if (!status)
        status = arg_dtype(call, t, "ROT-6", 1u << LC_F32 | 1u << LC_BF16);
    if (status)
        return status;
    if (t->rank != 2)
        return arg_refuse(call, t->name, "ROT-4", "rank %d: must be 2, (rows, rotary_dim)", (int) t->rank);
    a->rows = t->shape[0];
    a->rotary_dim = arg_int(call, "rotary_dim", t->shape[1]);
    a->offset = at_end ? a->d - a->rotary_dim : arg_int(call, "offset", 0);
    if (t->shape[1] != a->rotary_dim)
        return arg_refuse(call, t->name, "APPLY-5", "width %lld: rotary_dim is %lld", (long long) t->shape[1],
                          (long long) a->rotary_dim);
    if (a->rotary_dim < 2 || a->rotary_dim % 2)
        return arg_refuse(call, t->name, "APPLY-5", "width %lld: must be even, at least 2", (long long) a->rotary_dim);
    if (!at_end && (a->offset < 0 || a->offset > a->d))
        return arg_refuse(call, "offset", "APPLY-5", "%lld: must be in 0..%lld", (long long) a->offset, (long long) a->d);
    if (a->rotary_dim > a->d - (at_end ? 0 : a->offset))
        return arg_refuse(call, t->name, "APPLY-5", "width %lld: a head has %lld from offset %lld on", (long long) a->rotary_dim,
                          (long long) (a->d - (at_end ? 0 : a->offset)), (long long) (at_end ? 0 : a->offset));
    return arg_contiguous(call, t, "ROT-4");
}

static int check_positions(const struct lc_call *call, const struct rope_args *a)
{
    const struct lc_tensor *const t = a->t[ROPE_POSITIONS];
    int status = arg_is_view(call, t, "APPLY-4");
    if (!status)
        status = arg_dtype(call, t, "APPLY-4", 1u << LC_I32 | 1u << LC_I64);
    if (status)
        return status;
    if (t->rank != 1)
        return arg_refuse(call, t->name, "APPLY-4", "rank %d: must be 1, one position a token", (int) t->rank);
    if (t->shape[0] != a->n)
        return arg_refuse(call, t->name, "APPLY-4", "shape[0] = %lld: query has %lld tokens", (long long) t->shape[0],
                          (long long) a->n);
    return arg_contiguous(call, t, "APPLY-4");
}

int ref_rope_check_table(const struct lc_call *call, struct rope_args *a, bool at_end)
{
    const int status = check_table(call, a, at_end);
    return status ? status : check_positions(call, a);
}

/* APPLY-3: the same view. Where a dimension has one entry its stride says nothing. */
static bool same_view(const struct lc_tensor *in, const struct lc_tensor *out)
{
    bool same = in->data == out->data;
    for (int i = 0; i < 2; i++)
        same = same && (in->stride[i] == out->stride[i] || in->shape[i] == 1);
    return same;
}

/* query_out or key_out: given, it is checked and may be the same view; absent, it is the in itself. */
static int check_out(const struct lc_call *call, struct rope_args *a, int which)
{
    const struct lc_tensor *const in = a->t[ROPE_QUERY + which];
    const struct lc_tensor **const out = &a->t[ROPE_QUERY_OUT + which];
    if (!in)
        return *out ? arg_refuse(call, names[ROPE_QUERY_OUT + which], "APPLY-4", "given: there is no %s", names[which]) : LC_OK;
    int status = *out ? check_heads(call, *out, a->t[ROPE_QUERY]) : LC_OK;
    if (!status && *out && (*out)->shape[1] != in->shape[1])
        return arg_refuse(call, (*out)->name, "APPLY-3", "shape[1] = %lld: %s has %lld", (long long) (*out)->shape[1], in->name,
                          (long long) in->shape[1]);
    if (status)
        return status;
    a->in_place[which] = !*out || same_view(in, *out);
    *out = *out ? *out : in;
    a->t[ROPE_QUERY_REST + which] = a->in_place[which] || a->rotary_dim == a->d ? NULL : *out;
    return LC_OK;
}

/* First byte behind the last, of a view whose strides are not negative. */
static uintptr_t end_of(const struct lc_tensor *t)
{
    const int64_t last = (t->shape[0] - 1) * t->stride[0] + (t->shape[1] - 1) * t->stride[1] + t->shape[2];
    return (uintptr_t) t->data + 2 * (uintptr_t) last;
}

/* APPLY-6: they may lie in one buffer, and share no byte. Head by head of key: heads of one input may meet each other. Where tokens
 * are as far apart in both, only the distance of two tokens matters, and the first and the last one of key have every distance. */
static int check_apart(const struct lc_call *call, const struct lc_tensor *query, const struct lc_tensor *key)
{
    if (query->shape[0] == 0 || end_of(query) <= (uintptr_t) key->data || end_of(key) <= (uintptr_t) query->data)
        return LC_OK;
    const int64_t last = key->shape[0] - 1, step = key->stride[0] == query->stride[0] && last > 0 ? last : 1;
    int status = LC_OK;
    for (int64_t token = 0; token <= last && !status; token += step)
        for (int64_t h = 0; h < key->shape[1] && !status; h++) {
            uint16_t *const at = (uint16_t *) key->data + token * key->stride[0] + h * key->stride[1];
            const struct lc_tensor head = { key->name, at, LC_BF16, 1, { key->shape[2] }, { 1 } }, *const one = &head;
            status = arg_no_overlap(call, &query, 1, &one, 1, NULL, "APPLY-6");
        }
    return status;
}

int ref_rope_check(const struct lc_call *call, union op_args *out)
{
    struct rope_args a = { 0 };
    for (int i = 0; i <= ROPE_KEY_OUT; i++)
        a.t[i] = arg_tensor(call, names[i]);
    for (int i = 0; i <= ROPE_POSITIONS; i++)
        if (!a.t[i] && i != ROPE_KEY)
            return arg_refuse(call, names[i], "APPLY-4", "not given");
    const struct lc_tensor *const query = a.t[ROPE_QUERY], *const key = a.t[ROPE_KEY];
    int status = arg_switch(call, "interleaved", false, "APPLY-1", &a.interleaved);
    if (!status)
        status = arg_switch(call, "conjugate", false, "APPLY-2", &a.conjugate);
    if (!status)
        status = check_heads(call, query, query);
    if (!status && key)
        status = check_heads(call, key, query);
    if (status)
        return status;
    a.n = query->shape[0], a.d = query->shape[2];
    a.heads[0] = query->shape[1], a.heads[1] = key ? key->shape[1] : 0;
    status = ref_rope_check_table(call, &a, false);
    for (int which = 0; which < 2 && !status; which++)
        status = check_out(call, &a, which);
    if (status)
        return status;
    const struct lc_tensor *const ins[4] = { a.in_place[0] ? NULL : query, a.in_place[1] ? NULL : key, a.t[ROPE_TABLE],
                                             a.t[ROPE_POSITIONS] };
    const struct lc_tensor *const outs[2] = { a.t[ROPE_QUERY_OUT], a.t[ROPE_KEY_OUT] };
    status = arg_no_overlap(call, ins, 4, outs, 2, NULL, "DET-4");
    if (!status && key && !(a.in_place[0] || a.in_place[1])) /* in place DET-4 has said it */
        status = check_apart(call, query, key);
    if (!status)
        out->rope = a;
    return status;
}

int ref_rope_check_values(const struct lc_call *call, const union op_args *args)
{
    for (int64_t token = 0; token < args->rope.n; token++)
        if (ref_rope_lost(args, token))
            return arg_refuse(call, "positions", "ERR-2", "positions[%lld] = %lld: the table has rows 0..%lld", (long long) token,
                              (long long) ref_rope_position(args, token), (long long) args->rope.rows - 1);
    return LC_OK;
}
