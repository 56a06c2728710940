/* SPDX-License-Identifier: Apache-2.0 */
/* Split QKV, RMSNorm of each head of q and k, rotation of their first dimensions.
 *
 *   q, k, v = x[0 .. Hq D), x[Hq D .. (Hq + Hkv) D), the rest    QKV-1, split by sizes
 *   s       = fl(sum x[i]^2 / D), of one head                    RMS-3, summed exactly
 *   rstd    = fl(1 / sqrt(fl(s + eps)))                          RMS-4
 *   n[i]    = RN_bf16(x[i] * rstd * w[i] + bias[i])              QKV-2, in binary64, left to right; w and bias of q or of k
 *   y[i]    = n[i]*cos[i] - n[i+h]*sin[i], i < h = rope_dim/2    QKV-3, APPLY-1: the table's row of the token's position
 *   y[i+h]  = n[i+h]*cos[i] + n[i]*sin[i]
 *   q, k    = RN_bf16(y); n where i >= rope_dim                  QKV-3
 *   v       = v bit by bit                                       QKV-1, QKV-5: NaN payloads too
 *
 * Dialects   bf16rot RN_bf16(RN_bf16(a*c) -+ RN_bf16(b*s)), BF16 table; simt n not rounded where it is rotated (QKV-3);
 *            unfused-bias n = RN_bf16(RN_bf16(x * rstd * w) + bias) (QKV-4).
 * Source     docs/contract.md QKV-1..5, RMS-3..5, APPLY-1, APPLY-4, APPLY-5.
 * Shapes     x (T, (Hq + 2 Hkv) D), stride(-1) = 1, row stride at least that and a multiple of 16; w_q, w_k, b_q, b_k (D);
 *            table (rows, rope_dim) = [cos | sin]; positions (T); q (T, Hq D), k and v (T, Hkv D) contiguous. T = 0 writes nothing.
 * Freedom    before n's rounding |error| <= 18 u |x rstd w| + u |bias| + underflow, before the store that of APPLY-1 on what n may
 *            be. No output shows a rotated n.
 * Edges      a NaN makes its head of q or k NaN, and no other; a head with an Inf, or sum x^2 >= 2^127, is not judged (RMS-12). An
 *            Inf or a NaN of the weight, the bias or the table stays in its elements' pairs (APPLY-6) and is judged as IEEE 754 has
 *            it; not where an order of the f32 operations makes a product of 2^127 or more, or one below 2^-126 that meets an Inf,
 *            or an infinite cosine or sine meets an n that may round either way. positions are read on the host only (ERR-2). */
#include <math.h>
#include <string.h>

#include "args.h"

enum { MOST = 1 << 20 }; /* heads, and elements of one: products stay far inside 64 bits */

static double load(const struct lc_tensor *t, int64_t at)
{
    return t->dtype == LC_BF16 ? fmt_load(LC_BF16, ((const uint16_t *) t->data)[at]) : (double) ((const float *) t->data)[at];
}

static int64_t position(const struct lc_tensor *t, int64_t row)
{
    return t->dtype == LC_I64 ? ((const int64_t *) t->data)[row] : ((const int32_t *) t->data)[row];
}

static double largest(struct iv x)
{
    return fmax(fabs(x.lo), fabs(x.hi));
}

/* ---- QKV-2, QKV-4: n before its last rounding ---- */

static struct iv plus_bias(const struct qkv_args *a, struct iv p, double b, bool b_bf16)
{
    if (a->dialect == QKV_UNFUSED_BIAS) {
        const struct iv z = iv_add(iv_round(LC_BF16, p), iv_pt(b)); /* QKV-4 */
        return b_bf16 ? z : iv_widen(z, ldexp(largest(z), -24));    /* of two BF16, the f32 sum rounds as the real one */
    }
    const struct iv z = iv_add(p, iv_pt(b));
    if (p.v == 0 && iv_is_pt(p))
        return z; /* 0 + bias is exact */
    return iv_widen(z, ldexp((1 + ldexp(1, -20)) * fabs(b), -24));
}

/* x * rstd * w + b where w or b is an Inf: the same in every order, or *free. */
static double not_finite_n(double x, double rstd, double w, double b, uint8_t *free)
{
    if (isnan(x) || isnan(rstd) || isnan(w) || isnan(b))
        return (double) NAN;
    if (isinf(w) && x != 0 && fabs(x) * rstd < ldexp(1, -126))
        *free = 1; /* 0 * Inf */
    if (isfinite(w) && ref_rms_may_overflow(fabs(x), rstd, fabs(w), 1))
        *free = 1; /* Inf - Inf */
    return isinf(w) ? x * w + b : b;
}

static void norm_head(const struct qkv_args *a, bool is_k, const uint16_t *x, struct iv *n, uint8_t *free)
{
    const struct lc_tensor *const weight = a->t[is_k ? QKV_W_K : QKV_W_Q], *const bias = a->t[is_k ? QKV_B_K : QKV_B_Q];
    for (int64_t i = 0; i < a->head_dim; i++)
        n[i] = iv_pt(fmt_load(LC_BF16, x[i]));
    const struct ref_rms stat = ref_rms_statistics(a->head_dim, n, a->eps); /* RMS-3, RMS-4 */
    for (int64_t i = 0; i < a->head_dim; i++) {
        const double w = load(weight, i), b = bias ? load(bias, i) : 0;
        if (isinf(w) || isinf(b)) {
            free[i] = !stat.judged;
            n[i] = iv_pt(not_finite_n(n[i].v, stat.rstd, w, b, &free[i]));
            n[i] = free[i] ? iv_pt(0) : n[i];
            continue;
        }
        const struct iv p = ref_rms_y(n[i].v, stat, w, 1);
        free[i] = !stat.judged || ref_rms_may_overflow(fabs(n[i].v), stat.rstd, fabs(w), 1) || fabs(b) >= ldexp(1, 126);
        n[i] = free[i] ? iv_pt(0) : bias ? plus_bias(a, p, b, bias->dtype == LC_BF16) : p;
    }
}

/* ---- QKV-3 ---- */

/* RN_bf16(x * c) of a BF16 x and a BF16 c: exact in f32 but for underflow. */
static struct iv product_bf16(struct iv x, double c)
{
    const struct iv p = iv_scale(x, c);
    return iv_round(LC_BF16, largest(p) == 0 || largest(p) >= ldexp(1, -126) ? p : iv_widen(p, ldexp(1, -150)));
}

/* p*c + q*s where one of them is a NaN or an Inf. */
static struct iv not_finite_rotated(struct iv p, double c, struct iv q, double s, uint8_t *free)
{
    const double pc = p.v * c, qs = q.v * s, limit = ldexp(1, 127);
    const bool overflows = (isfinite(pc) && fabs(pc) >= limit) || (isfinite(qs) && fabs(qs) >= limit);
    if (isnan(p.v) || isnan(q.v) || isnan(c) || isnan(s))
        return iv_pt((double) NAN);
    if (!iv_is_pt(p) || !iv_is_pt(q) || (!isnan(pc + qs) && overflows))
        *free = 1;
    return iv_pt(pc + qs);
}

static struct iv rotated_bf16(struct iv p, double c, struct iv q, double s, uint8_t *free)
{
    const struct iv zero = { 0, -0.0, 0 }; /* FMT-6 */
    if (!isfinite(c) || !isfinite(s) || !iv_is_finite(p) || !iv_is_finite(q))
        return not_finite_rotated(p, c, q, s, free);
    if (largest(p) * fabs(c) + largest(q) * fabs(s) >= ldexp(1, 127)) {
        *free = 1;
        return zero;
    }
    const struct iv pc = product_bf16(p, c), qs = product_bf16(q, s), y = iv_add(pc, qs);
    return y.v == 0 && iv_is_pt(y) && largest(pc) > 0 ? zero : y;
}

static void rotate_bf16(int64_t pairs, const double *cos, const double *sin, struct iv *x, uint8_t *free)
{
    for (int64_t i = 0; i < pairs; i++) {
        const struct iv a = x[i], b = x[pairs + i];
        x[i] = rotated_bf16(a, cos[i], b, -sin[i], &free[i]);
        x[pairs + i] = rotated_bf16(b, cos[i], a, sin[i], &free[pairs + i]);
    }
}

struct angles { /* of one token, for each pair */
    double *cos, *sin;
};

static struct angles load_angles(const struct qkv_args *a, int64_t row, void *work)
{
    const struct lc_tensor *const table = a->t[QKV_TABLE];
    const int64_t pairs = a->rope_dim / 2, at = position(a->t[QKV_POSITIONS], row) * a->rope_dim; /* APPLY-4 */
    const struct angles to = { work, (double *) work + pairs };
    for (int64_t i = 0; i < pairs; i++) {
        const double c = load(table, at + i), s = load(table, at + pairs + i);
        to.cos[i] = c;
        to.sin[i] = s;
    }
    return to;
}

/* n becomes y, in place. */
static void rotate_head(const struct qkv_args *a, struct angles by, struct iv *n, uint8_t *free, int64_t *ambiguous)
{
    const int64_t pairs = a->rope_dim / 2;
    const bool rounded = a->dialect != QKV_SIMT, bf16_table = a->t[QKV_TABLE]->dtype == LC_BF16;
    for (int64_t i = 0; rounded && i < a->rope_dim; i++) {
        n[i] = iv_round(LC_BF16, n[i]); /* QKV-2 */
        *ambiguous += !iv_is_nan(n[i]) && !iv_is_pt(n[i]);
    }
    for (int64_t i = 0; i < pairs; i++)
        free[i] = free[pairs + i] = free[i] || free[pairs + i];
    if (a->dialect == QKV_BF16ROT) {
        rotate_bf16(pairs, by.cos, by.sin, n, free);
    } else {
        const struct ref_rotation how = { .pairs = pairs, .exact_products = rounded && bf16_table };
        ref_rope_rotate(&how, by.cos, by.sin, n, free); /* APPLY-1 */
    }
}

/* ---- one token ---- */

size_t ref_qkv_work(const union op_args *args)
{
    return (size_t) args->qkv.rope_dim * sizeof(double);
}

int ref_qkv_lost(const union op_args *args, int64_t token)
{
    const int64_t at = position(args->qkv.t[QKV_POSITIONS], token);
    return at < 0 || at >= args->qkv.table_rows;
}

void ref_qkv_row(const union op_args *args, int64_t row, const struct ref_got *got, struct ref_want *want)
{
    const struct qkv_args *const a = &args->qkv;
    const int64_t d = a->head_dim, q_cols = a->heads_q * d, kv_cols = a->heads_kv * d;
    const uint16_t *const x = (const uint16_t *) a->t[QKV_X]->data + arg_row(a->t[QKV_X], row);
    struct iv *const y = want->y;
    (void) got;
    if (ref_qkv_lost(args, row)) { /* ERR-2 */
        memset(want->free[QKV_Q], 1, (size_t) q_cols);
        memset(want->free[QKV_K], 1, (size_t) kv_cols);
        memset(want->free[QKV_V], 1, (size_t) kv_cols);
        return;
    }
    const struct angles by = load_angles(a, row, want->work);
    for (int64_t h = 0; h < a->heads_q + a->heads_kv; h++) {
        const bool is_k = h >= a->heads_q;
        uint8_t *const free = is_k ? want->free[QKV_K] + (h - a->heads_q) * d : want->free[QKV_Q] + h * d;
        norm_head(a, is_k, x + h * d, y + h * d, free);
        rotate_head(a, by, y + h * d, free, &want->ambiguous);
        for (int64_t i = 0; i < d; i++)
            if (free[i])
                y[h * d + i] = iv_pt(INFINITY);
            else if (want->given_y && !isinf(y[h * d + i].v)) /* an Inf has no interval */
                y[h * d + i] = want->given_y[h * d + i];
    }
    memcpy(want->at[QKV_Q], y, (size_t) q_cols * sizeof *y);
    memcpy(want->at[QKV_K], y + q_cols, (size_t) kv_cols * sizeof *y);
    for (int64_t i = 0; i < kv_cols; i++) {
        want->at[QKV_V][i] = iv_pt((double) x[q_cols + kv_cols + i]); /* QKV-1: a FMT_BITS16 */
        want->free[QKV_V][i] = 0;
        y[q_cols + kv_cols + i] = iv_pt(0); /* v has no value before the store */
    }
}

/* ---- what is accepted ---- */

static int read_count(const struct lc_call *call, const char *name, int64_t least, int64_t *out)
{
    *out = arg_int(call, name, 0);
    if (*out < least || *out > MOST)
        return arg_refuse(call, name, "QKV-1", "%lld: must be %lld to %d", (long long) *out, (long long) least, (int) MOST);
    return LC_OK;
}

/* A matrix of T rows, or of any number where tokens < 0. */
static int check_matrix(const struct lc_call *call, const struct lc_tensor *t, int64_t tokens, int64_t cols, const char *clause)
{
    int status = arg_is_view(call, t, clause);
    if (!status && t->rank != 2)
        status = arg_refuse(call, t->name, clause, "rank %d: must be 2", (int) t->rank);
    for (int i = 0; i < 2 && !status; i++) {
        const int64_t want = i ? cols : tokens;
        if (t->shape[i] != want && want >= 0)
            status = arg_refuse(call, t->name, clause, "shape[%d] = %lld: must be %lld", i, (long long) t->shape[i],
                                (long long) want);
    }
    return status;
}

/* QKV-5. The row stride is about where the second row lies: of a single token any is accepted, as RMS-8 has it. QKV-5 does not say
 * so, and a kernel that refuses such a stride is right too: no case has one. */
static int check_x(const struct lc_call *call, const struct lc_tensor *x, int64_t width)
{
    int status = arg_is_view(call, x, "QKV-5");
    if (!status)
        status = arg_dtype(call, x, "QKV-5", 1u << LC_BF16);
    if (!status)
        status = check_matrix(call, x, -1, width, "QKV-1");
    if (status)
        return status;
    if (x->stride[1] != 1)
        return arg_refuse(call, x->name, "QKV-5", "stride(-1) = %lld: must be 1", (long long) x->stride[1]);
    if (x->shape[0] > 1 && (x->stride[0] < width || x->stride[0] % 16))
        return arg_refuse(call, x->name, "QKV-5", "stride[0] = %lld: must be a multiple of 16 elements and at least %lld",
                          (long long) x->stride[0], (long long) width);
    return LC_OK;
}

/* QKV-2: w_q, w_k, b_q, b_k */
static int check_vector(const struct lc_call *call, const struct lc_tensor *t, int64_t head_dim)
{
    int status = arg_is_view(call, t, "QKV-2");
    if (!status)
        status = arg_dtype(call, t, "QKV-2", 1u << LC_BF16 | 1u << LC_F32);
    if (!status && (t->rank != 1 || t->shape[0] != head_dim))
        status = arg_refuse(call, t->name, "QKV-2", "shape[0] = %lld, rank %d: must be (%lld)", (long long) t->shape[0],
                            (int) t->rank, (long long) head_dim);
    return status ? status : arg_contiguous(call, t, "QKV-2");
}

/* QKV-3, APPLY-5 */
static int check_table(const struct lc_call *call, const struct lc_tensor *t, struct qkv_args *a)
{
    int status = check_matrix(call, t, -1, -1, "QKV-3");
    if (!status)
        status = arg_dtype(call, t, "QKV-3", 1u << LC_BF16 | (a->dialect == QKV_BF16ROT ? 0 : 1u << LC_F32));
    if (status)
        return status;
    a->table_rows = t->shape[0];
    a->rope_dim = t->shape[1];
    if (a->rope_dim < 2 || a->rope_dim % 2 || a->rope_dim > a->head_dim)
        return arg_refuse(call, t->name, "QKV-3", "shape[1] = %lld: rope_dim must be even, 2 to head_dim = %lld",
                          (long long) a->rope_dim, (long long) a->head_dim);
    return arg_contiguous(call, t, "ROT-4");
}

/* APPLY-4 */
static int check_positions(const struct lc_call *call, const struct lc_tensor *t, const struct qkv_args *a)
{
    int status = arg_is_view(call, t, "APPLY-4");
    if (!status)
        status = arg_dtype(call, t, "APPLY-4", 1u << LC_I32 | 1u << LC_I64);
    if (!status && (t->rank != 1 || t->shape[0] != a->tokens))
        status = arg_refuse(call, t->name, "APPLY-4", "shape[0] = %lld, rank %d: must be (%lld)", (long long) t->shape[0],
                            (int) t->rank, (long long) a->tokens);
    return status ? status : arg_contiguous(call, t, "APPLY-4");
}

int ref_qkv_check_values(const struct lc_call *call, const union op_args *args)
{
    const struct qkv_args *const a = &args->qkv;
    for (int64_t row = 0; row < a->tokens; row++)
        if (ref_qkv_lost(args, row))
            return arg_refuse(call, "positions", "ERR-2", "[%lld] = %lld: must be 0 or more and below the table's %lld rows",
                              (long long) row, (long long) position(a->t[QKV_POSITIONS], row), (long long) a->table_rows);
    return LC_OK;
}

static int check_tensors(const struct lc_call *call, struct qkv_args *a)
{
    const int64_t q_cols = a->heads_q * a->head_dim, kv_cols = a->heads_kv * a->head_dim;
    int status = check_x(call, a->t[QKV_X], q_cols + 2 * kv_cols);
    if (status)
        return status;
    a->tokens = a->t[QKV_X]->shape[0];
    for (int i = QKV_W_Q; i <= QKV_B_K && !status; i++)
        status = a->t[i] ? check_vector(call, a->t[i], a->head_dim) : LC_OK;
    if (!status)
        status = check_table(call, a->t[QKV_TABLE], a);
    if (!status)
        status = check_positions(call, a->t[QKV_POSITIONS], a);
    for (int i = QKV_Q; i <= QKV_V && !status; i++) {
        status = check_matrix(call, a->t[i], a->tokens, i == QKV_Q ? q_cols : kv_cols, "QKV-5");
        if (!status)
            status = arg_dtype(call, a->t[i], "QKV-5", 1u << LC_BF16);
        if (!status)
            status = arg_contiguous(call, a->t[i], "QKV-5");
    }
    if (!status)
        status = arg_no_overlap(call, a->t, QKV_Q, a->t + QKV_Q, 3, NULL, "DET-4");
    return status;
}

int ref_qkv_check(const struct lc_call *call, union op_args *out)
{
    static const char *const name[QKV_TENSORS] = { "x", "w_q", "w_k", "b_q", "b_k", "table", "positions", "q", "k", "v" };
    struct qkv_args a = { QKV_USUAL, 0, 0, 0, 0, 0, 0, { NULL }, 0 };
    for (int i = 0; i < QKV_TENSORS; i++) {
        a.t[i] = arg_tensor(call, name[i]);
        if (!a.t[i] && i != QKV_B_Q && i != QKV_B_K)
            return arg_refuse(call, name[i], "QKV-1", "not given");
    }
    if (!a.t[QKV_B_Q] != !a.t[QKV_B_K])
        return arg_refuse(call, a.t[QKV_B_Q] ? "b_k" : "b_q", "QKV-2", "not given, and %s is", a.t[QKV_B_Q] ? "b_q" : "b_k");
    const int64_t dialect = arg_int(call, "dialect", QKV_USUAL);
    if (dialect < 0 || dialect >= QKV_DIALECTS)
        return arg_refuse(call, "dialect", "QKV-3", "%lld: no such dialect", (long long) dialect);
    a.dialect = (enum qkv_dialect) dialect;
    a.eps = arg_real(call, "eps", 0);
    if (!(a.eps > 0 && isfinite(a.eps)) || rn_f32(a.eps) != a.eps)
        return arg_refuse(call, "eps", "RMS-12", "%g: must be a positive finite f32", a.eps);
    int status = read_count(call, "heads_q", 1, &a.heads_q);
    if (!status)
        status = read_count(call, "heads_kv", 1, &a.heads_kv);
    if (!status)
        status = read_count(call, "head_dim", 2, &a.head_dim);
    if (!status)
        status = check_tensors(call, &a);
    if (!status)
        out->qkv = a;
    return status;
}
