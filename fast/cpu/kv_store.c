/* SPDX-License-Identifier: Apache-2.0 */
/* Fused norm, rotation, Hadamard transform, E4M3 cast and store into a paged KV pool (KV-1..6). */
#include <math.h>

#include "../../ref/args.h"
#include "fast.h"

enum { MOST_D = 32768, GROUP = 32 };

static void round_bf16(float *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        v[i] = fast_from_bf16(fast_bf16(v[i]));
}

/* RMS-3: squares of BF16 are exact; chunks of 128 by a tree 7 deep, chunks together in double: 8 roundings a square at any d. */
static float mean_square(const float *v, int64_t d)
{
    double sum = 0;
    for (int64_t c = 0; c < d; c += FAST_CHUNK) {
        const int64_t n = fast_min(FAST_CHUNK, d - c);
        float r[FAST_CHUNK] = { 0 };
        for (int64_t i = 0; i < n; i++)
            r[i] = v[c + i] * v[c + i];
        for (int half = FAST_CHUNK / 2; half >= 1; half /= 2)
            for (int i = 0; i < half; i++)
                r[i] += r[i + half];
        sum += (double) r[0];
    }
    return (float) (sum / (double) d);
}

static void norm(const struct kv_store_args *a, float *v)
{
    const float rstd = 1.0f / sqrtf(mean_square(v, a->d) + (float) a->eps); /* RMS-4 */
    const struct lc_tensor *const t = a->t[KV_WEIGHT];
    float w[FAST_CHUNK];
    for (int64_t c = 0; c < a->d; c += FAST_CHUNK) {
        const int n = (int) fast_min(FAST_CHUNK, a->d - c);
        fast_load(w, (const unsigned char *) t->data, t->dtype == LC_BF16, c, n);
        for (int i = 0; i < n; i++)
            v[c + i] = v[c + i] * rstd * w[i];
    }
}

static int64_t index_of(const struct lc_tensor *t, int64_t i)
{
    return t->dtype == LC_I32 ? ((const int32_t *) t->data)[i] : ((const int64_t *) t->data)[i];
}

/* APPLY-1, APPLY-2. */
static void rotate(const struct kv_store_args *a, int64_t token, float *v)
{
    const struct lc_tensor *const t = a->t[KV_TABLE];
    const bool bf16 = t->dtype == LC_BF16;
    const int64_t pairs = a->rotary_dim / 2;
    const unsigned char *const row = (const unsigned char *) t->data +
                                     index_of(a->t[KV_POSITIONS], token) * a->rotary_dim * (bf16 ? 2 : 4);
    float cos[FAST_CHUNK], sin[FAST_CHUNK];
    v += a->offset;
    for (int64_t c = 0; c < pairs; c += FAST_CHUNK) {
        const int n = (int) fast_min(FAST_CHUNK, pairs - c);
        fast_load(cos, row, bf16, c, n);
        fast_load(sin, row, bf16, pairs + c, n);
        for (int i = 0; i < n; i++) {
            float *const p = v + (a->interleaved ? 2 * (c + i) : c + i), *const q = a->interleaved ? p + 1 : p + pairs;
            const float x = *p, y = *q, s = a->conjugate ? -sin[i] : sin[i];
            *p = x * cos[i] - y * s;
            *q = y * cos[i] + x * s;
        }
    }
}

/* HAD-3: log2 d additions an element. */
static void transform(const struct kv_store_args *a, float *v)
{
    const int64_t n = a->d;
    const float scale = (float) a->scale;
    for (int64_t bit = 1; bit < n; bit *= 2)
        for (int64_t from = 0; from < n; from += 2 * bit)
            for (int64_t i = from; i < from + bit; i++) {
                const float x = v[i], y = v[i + bit];
                v[i] = x + y;
                v[i + bit] = x - y;
            }
    for (int64_t i = 0; i < n; i++)
        v[i] *= scale;
}

/* CAST-1..5, KV-3, KV-5. */
static void cast(const struct kv_store_args *a, const float *v, int64_t token, int64_t head)
{
    const int64_t groups = a->d / GROUP;
    const int to = a->store ? KV_POOL : KV_OUT, sf = a->store ? KV_SCALES : KV_SF;
    unsigned char *const codes = (unsigned char *) a->t[to]->data + ref_kv_place(a, to, token, head * a->d);
    unsigned char *const scales = (unsigned char *) a->t[sf]->data;
    for (int64_t g = 0; g < groups; g++) {
        const struct fast_scale scale = fast_scale_of(&a->sf, fast_amax(v + g * GROUP, GROUP, 0));
        scales[ref_kv_place(a, sf, token, head * groups + g)] = scale.byte;
        for (int i = 0; i < GROUP; i++)
            codes[g * GROUP + i] = fast_e4m3(v[g * GROUP + i] * scale.times);
    }
}

static void one_head(const struct kv_store_args *a, int64_t token, int64_t head)
{
    const struct lc_tensor *const x = a->t[KV_X];
    const int64_t from = token * x->stride[0] + (x->rank == 3 ? head * x->stride[1] : 0);
    float v[MOST_D];
    fast_load_bf16(v, (const unsigned char *) x->data + 2 * from, (int) a->d);
    if (a->norm)
        norm(a, v);
    if (a->norm && a->bf16_stages)
        round_bf16(v, a->d);
    if (a->rope)
        rotate(a, token, v);
    if (a->rope && a->bf16_stages)
        round_bf16(v, a->d);
    if (a->hadamard)
        transform(a, v);
    if (a->hadamard && a->bf16_stages)
        round_bf16(v, a->d);
    if (a->cast)
        cast(a, v, token, head);
    else
        fast_store_bf16((unsigned char *) a->t[KV_OUT]->data + ref_kv_place(a, KV_OUT, token, head * a->d), v, (int) a->d);
}

/* Buys: a head is read once, goes through all stages in the first cache, and only its codes and scale bytes are written. It is a
 * checked build (ERR-2). Tokens go to threads. */
static int kv_store_heads(const struct lc_call *call)
{
    union op_args args;
    int status = ref_kv_store_check(call, &args);
    if (!status)
        status = ref_kv_store_check_values(call, &args);
    if (status)
        return status;
    const struct kv_store_args *const a = &args.kv_store;
#pragma omp parallel for schedule(static) if (a->n > 1 && a->n * a->heads * a->d > FAST_SMALL_CALL)
    for (int64_t token = 0; token < a->n; token++)
        for (int64_t head = 0; head < a->heads && !(a->store && index_of(a->t[KV_SLOTS], token) < 0); head++)
            one_head(a, token, head);
    return LC_OK;
}

const struct lc_kernel fast_kv_store_kernels[] = {
    { .op = "kv_store", .variant = "heads", .claims = LC_CHECKS_VALUES, .run = kv_store_heads },
    { .op = NULL },
};
