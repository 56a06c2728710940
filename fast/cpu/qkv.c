/* SPDX-License-Identifier: Apache-2.0 */
/* Split QKV, RMSNorm of each head of q and k, rotation by the table's row (QKV-1..5). */
#include <math.h>

#include "../../ref/args.h"
#include "fast.h"

struct head {                       /* one head of q or k */
    const unsigned char *x, *w, *b; /* b: NULL without a bias */
    bool w_bf16, b_bf16;
    float rstd;
    enum qkv_dialect dialect;
};

/* RMS-3, RMS-4: squares are exact in double, and so many of its roundings are nothing beside one of f32. Eight sums at a time,
 * whose order depends on D only (DET-2). */
static float rstd_of(const unsigned char *x, int64_t d, float eps)
{
    enum { LANES = 8 };
    double sum[LANES] = { 0 };
    for (int64_t c = 0; c < d; c += FAST_CHUNK) {
        const int n = (int) fast_min(FAST_CHUNK, d - c);
        float v[FAST_CHUNK];
        fast_load_bf16(v, x + 2 * c, n);
        for (int i = n; i < FAST_CHUNK; i++)
            v[i] = 0; /* adds nothing, exactly */
        for (int i = 0; i < FAST_CHUNK; i += LANES)
            for (int j = 0; j < LANES; j++)
                sum[j] += (double) v[i + j] * (double) v[i + j];
    }
    const double all = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
    const float mean = (float) (all / (double) d);
    return 1.0f / sqrtf(mean + eps);
}

static void round_bf16(float *v, int n)
{
    for (int i = 0; i < n; i++)
        v[i] = fast_from_bf16(fast_bf16(v[i]));
}

/* Elements c .. c + n - 1 before n's rounding: two f32 products and a sum (QKV-2), or as QKV-4 has it. */
static void load_n(const struct head *h, int64_t c, int n, float *restrict v)
{
    float w[FAST_CHUNK], b[FAST_CHUNK];
    fast_load_bf16(v, h->x + 2 * c, n);
    fast_load(w, h->w, h->w_bf16, c, n);
    for (int i = 0; i < n; i++)
        v[i] = v[i] * h->rstd * w[i];
    if (!h->b)
        return;
    if (h->dialect == QKV_UNFUSED_BIAS)
        round_bf16(v, n);
    fast_load(b, h->b, h->b_bf16, c, n);
    for (int i = 0; i < n; i++)
        v[i] += b[i];
}

/* QKV-3 on n pairs. */
static void rotate(enum qkv_dialect dialect, const float *restrict cos, const float *restrict sin, int n, float *restrict a,
                   float *restrict b)
{
    float as[FAST_CHUNK], bs[FAST_CHUNK];
    for (int i = 0; i < n; i++) {
        as[i] = a[i] * sin[i];
        bs[i] = b[i] * sin[i];
        a[i] *= cos[i];
        b[i] *= cos[i];
    }
    if (dialect == QKV_BF16ROT) {
        round_bf16(a, n);
        round_bf16(b, n);
        round_bf16(as, n);
        round_bf16(bs, n);
    }
    for (int i = 0; i < n; i++) {
        a[i] -= bs[i];
        b[i] += as[i];
    }
}

static void store_head(const struct head *h, int64_t d, const unsigned char *angles, bool table_bf16, int64_t pairs,
                       unsigned char *to)
{
    for (int64_t c = 0; c < pairs; c += FAST_CHUNK) {
        const int n = (int) fast_min(FAST_CHUNK, pairs - c);
        float a[FAST_CHUNK], b[FAST_CHUNK], cos[FAST_CHUNK], sin[FAST_CHUNK];
        load_n(h, c, n, a);
        load_n(h, pairs + c, n, b);
        if (h->dialect != QKV_SIMT) {
            round_bf16(a, n);
            round_bf16(b, n);
        }
        fast_load(cos, angles, table_bf16, c, n);
        fast_load(sin, angles, table_bf16, pairs + c, n);
        rotate(h->dialect, cos, sin, n, a, b);
        fast_store_bf16(to + 2 * c, a, n);
        fast_store_bf16(to + 2 * (pairs + c), b, n);
    }
    for (int64_t c = 2 * pairs; c < d; c += FAST_CHUNK) { /* partial: n as it is */
        const int n = (int) fast_min(FAST_CHUNK, d - c);
        float v[FAST_CHUNK];
        load_n(h, c, n, v);
        fast_store_bf16(to + 2 * c, v, n);
    }
}

static void qkv_token(const struct qkv_args *a, int64_t row)
{
    const struct lc_tensor *const table = a->t[QKV_TABLE], *const positions = a->t[QKV_POSITIONS];
    const int64_t head = 2 * a->head_dim, kv = a->heads_kv * head; /* bytes */
    const int64_t at = positions->dtype == LC_I64 ? ((const int64_t *) positions->data)[row]
                                                  : ((const int32_t *) positions->data)[row];
    const bool table_bf16 = table->dtype == LC_BF16;
    const unsigned char *const angles = (const unsigned char *) table->data + at * a->rope_dim * (table_bf16 ? 2 : 4);
    const unsigned char *x = (const unsigned char *) a->t[QKV_X]->data + 2 * arg_row(a->t[QKV_X], row);
    for (int64_t i = 0; i < a->heads_q + a->heads_kv; i++, x += head) {
        const bool is_k = i >= a->heads_q;
        const struct lc_tensor *const w = a->t[is_k ? QKV_W_K : QKV_W_Q], *const b = a->t[is_k ? QKV_B_K : QKV_B_Q];
        unsigned char *const to = is_k ? (unsigned char *) a->t[QKV_K]->data + row * kv + (i - a->heads_q) * head
                                       : (unsigned char *) a->t[QKV_Q]->data + (row * a->heads_q + i) * head;
        const struct head h = { .x = x,
                                .w = w->data,
                                .b = b ? b->data : NULL,
                                .w_bf16 = w->dtype == LC_BF16,
                                .b_bf16 = b && b->dtype == LC_BF16,
                                .rstd = rstd_of(x, a->head_dim, (float) a->eps),
                                .dialect = a->dialect };
        store_head(&h, a->head_dim, angles, table_bf16, a->rope_dim / 2, to);
    }
    memcpy((unsigned char *) a->t[QKV_V]->data + row * kv, x, (size_t) kv); /* QKV-1 */
}

/* Buys: each element of x is read for the sum and, from the cache, for n; nothing between n and the store leaves registers and
 * buffers of 128, and each step is a loop that vectorises. Tokens go to threads. */
static int qkv_in(const struct lc_call *call, enum qkv_dialect dialect)
{
    union op_args args;
    int status = ref_qkv_check(call, &args);
    if (!status)
        status = ref_qkv_check_values(call, &args); /* ERR-2 */
    if (status)
        return status;
    args.qkv.dialect = dialect;
    const struct qkv_args *const a = &args.qkv;
#pragma omp parallel for schedule(static) if (a->tokens > 1 && a->tokens * a->t[QKV_X]->shape[1] > FAST_SMALL_CALL)
    for (int64_t row = 0; row < a->tokens; row++)
        qkv_token(a, row);
    return LC_OK;
}

static int qkv_chunks(const struct lc_call *call)
{
    return qkv_in(call, QKV_USUAL);
}

static int qkv_bf16rot(const struct lc_call *call)
{
    return qkv_in(call, QKV_BF16ROT);
}

static int qkv_simt(const struct lc_call *call)
{
    return qkv_in(call, QKV_SIMT);
}

static int qkv_unfused_bias(const struct lc_call *call)
{
    return qkv_in(call, QKV_UNFUSED_BIAS);
}

const struct lc_kernel fast_qkv_kernels[] = {
    { .op = "qkv", .variant = "chunks", .claims = LC_CHECKS_VALUES, .run = qkv_chunks },
    { .op = "qkv", .variant = "chunks-bf16rot", .dialect = "bf16rot", .claims = LC_CHECKS_VALUES, .run = qkv_bf16rot },
    { .op = "qkv", .variant = "chunks-simt", .dialect = "simt", .claims = LC_CHECKS_VALUES, .run = qkv_simt },
    { .op = "qkv",
      .variant = "chunks-unfused-bias",
      .dialect = "unfused-bias",
      .claims = LC_CHECKS_VALUES,
      .run = qkv_unfused_bias },
    { .op = NULL },
};
