/* SPDX-License-Identifier: Apache-2.0 */
/* Rotation of query and key heads (APPLY-1..6). This build is a checked one: positions outside the table are refused (ERR-2). */
#include "fast.h"

/* cosines and sines of some pairs of one token; conjugate: the sines' sign is turned (APPLY-2). */
struct angles {
    float cosine[FAST_CHUNK], sine[FAST_CHUNK];
    int n;
};

static void load_angles(const struct rope_args *a, int64_t token, const union op_args *args, int64_t first, struct angles *to)
{
    const struct lc_tensor *const t = a->t[ROPE_TABLE];
    const bool bf16 = t->dtype == LC_BF16;
    const int64_t pairs = a->rotary_dim / 2;
    const unsigned char *const row = (const unsigned char *) t->data +
                                     ref_rope_position(args, token) * a->rotary_dim * (bf16 ? 2 : 4);
    to->n = (int) fast_min(FAST_CHUNK, pairs - first);
    fast_load(to->cosine, row, bf16, first, to->n);
    fast_load(to->sine, row, bf16, pairs + first, to->n);
    for (int i = 0; a->conjugate && i < to->n; i++)
        to->sine[i] = -to->sine[i];
}

/* (x, y) <- (x c - y s, y c + x s) */
static void rotate(const struct angles *by, float *restrict x, float *restrict y)
{
    for (int i = 0; i < by->n; i++) {
        const float a = x[i], b = y[i], c = by->cosine[i], s = by->sine[i];
        x[i] = a * c - b * s;
        y[i] = b * c + a * s;
    }
}

/* `first`: the first pair of `by`. in and out point at the part of a head that rotates, and may be the same. */
static void rotate_head(const struct rope_args *a, const struct angles *by, int64_t first, const unsigned char *in,
                        unsigned char *out)
{
    float x[FAST_CHUNK], y[FAST_CHUNK], both[2 * FAST_CHUNK];
    const int64_t pairs = a->rotary_dim / 2;
    if (a->interleaved) {
        fast_load_bf16(both, in + 4 * first, 2 * by->n);
        for (int i = 0; i < by->n; i++)
            x[i] = both[2 * i], y[i] = both[2 * i + 1];
        rotate(by, x, y);
        for (int i = 0; i < by->n; i++)
            both[2 * i] = x[i], both[2 * i + 1] = y[i];
        fast_store_bf16(out + 4 * first, both, 2 * by->n);
    } else {
        fast_load_bf16(x, in + 2 * first, by->n);
        fast_load_bf16(y, in + 2 * (pairs + first), by->n);
        rotate(by, x, y);
        fast_store_bf16(out + 2 * first, x, by->n);
        fast_store_bf16(out + 2 * (pairs + first), y, by->n);
    }
}

static unsigned char *head_of(const struct lc_tensor *t, int64_t token, int64_t head)
{
    return (unsigned char *) t->data + 2 * (token * t->stride[0] + head * t->stride[1]);
}

static void rope_token(const union op_args *args, int64_t token)
{
    const struct rope_args *const a = &args->rope;
    const int64_t before = 2 * a->offset, behind = 2 * (a->offset + a->rotary_dim), end = 2 * a->d;
    struct angles by;
    for (int64_t first = 0; first < a->rotary_dim / 2; first += FAST_CHUNK) {
        load_angles(a, token, args, first, &by);
        for (int which = 0; which < 2; which++)
            for (int64_t h = 0; h < a->heads[which]; h++)
                rotate_head(a, &by, first, head_of(a->t[ROPE_QUERY + which], token, h) + before,
                            head_of(a->t[ROPE_QUERY_OUT + which], token, h) + before);
    }
    for (int which = 0; which < 2; which++)
        for (int64_t h = 0; h < a->heads[which] && !a->in_place[which]; h++) {
            const unsigned char *const in = head_of(a->t[ROPE_QUERY + which], token, h);
            unsigned char *const out = head_of(a->t[ROPE_QUERY_OUT + which], token, h);
            memcpy(out, in, (size_t) before);
            memcpy(out + behind, in + behind, (size_t) (end - behind));
        }
}

/* Buys: the table's row is read once for all heads of query and key; each head is read and written once, in whole vectors.
 * Tokens go to threads. */
static int rope_tokens(const struct lc_call *call)
{
    union op_args args;
    int status = ref_rope_check(call, &args);
    if (!status)
        status = ref_rope_check_values(call, &args);
    if (status)
        return status;
    const struct rope_args *const a = &args.rope;
#pragma omp parallel for schedule(static) if (a->n > 1 && a->n * (a->heads[0] + a->heads[1]) * a->d > FAST_SMALL_CALL)
    for (int64_t token = 0; token < a->n; token++)
        rope_token(&args, token);
    return LC_OK;
}

const struct lc_kernel fast_rope_kernels[] = {
    { .op = "rope", .variant = "tokens", .run = rope_tokens },
    { .op = NULL },
};
