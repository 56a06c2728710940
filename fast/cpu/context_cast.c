/* SPDX-License-Identifier: Apache-2.0 */
/* The inverse rotation of the context and its E4M3 cast (KV-7). A checked build, as rope.c is: positions outside the table are
 * refused (ERR-2). */
#include "fast.h"

/* One token: where its heads lie, and its row of the table. */
struct context_row {
    const struct rope_args *rope;
    const unsigned char *context, *table;
    unsigned char *bf16; /* NULL unless it is asked for */
    int64_t context_head, bf16_head;
    bool table_bf16, f32;
};

static float entry(const struct context_row *r, int64_t i)
{
    float v;
    fast_load(&v, r->table, r->table_bf16, i, 1);
    return v;
}

/* Element j of the part of a head that rotates: own * c +- partner * s, with -s for s (APPLY-2). */
static float turned_back(const struct context_row *r, const unsigned char *part, int64_t j)
{
    const int64_t pairs = r->rope->rotary_dim / 2;
    const bool is_b = r->rope->interleaved ? j % 2 != 0 : j >= pairs;
    const int64_t pair = r->rope->interleaved ? j / 2 : j % pairs, step = r->rope->interleaved ? 1 : pairs;
    float own, partner;
    fast_load_bf16(&own, part + 2 * j, 1);
    fast_load_bf16(&partner, part + 2 * (is_b ? j - step : j + step), 1);
    const float first = own * entry(r, pair), second = partner * entry(r, pairs + pair);
    return is_b ? first - second : first + second;
}

/* Columns c .. c + n - 1 of the (N, heads * D) matrix; may be asked for twice. */
static void load_y(const void *of, int64_t c, int n, float *v)
{
    const struct context_row *const r = (const struct context_row *) of;
    const int64_t d = r->rope->d, offset = r->rope->offset;
    for (int i = 0, run; i < n; i += run) { /* runs of one head, on one side of the offset */
        const int64_t head = (c + i) / d, at = (c + i) % d, end = at < offset ? offset : d;
        const unsigned char *const in = r->context + 2 * head * r->context_head;
        run = (int) fast_min(n - i, end - at);
        if (at < offset)
            fast_load_bf16(v + i, in + 2 * at, run);
        else
            for (int j = 0; j < run; j++)
                v[i + j] = turned_back(r, in + 2 * offset, at - offset + j);
        if (r->bf16)
            fast_store_bf16(r->bf16 + 2 * (head * r->bf16_head + at), v + i, run);
    }
    for (int i = 0; i < n && !r->f32; i++)
        v[i] = fast_from_bf16(fast_bf16(v[i])); /* KV-7 */
}

static void context_token(const union op_args *args, int64_t token, bool f32)
{
    const struct context_cast_args *const a = &args->context_cast;
    const struct lc_tensor *const context = a->t[CTX_CONTEXT], *const bf16 = a->t[CTX_BF16], *const table = a->t[CTX_TABLE];
    const bool table_bf16 = table->dtype == LC_BF16;
    const int64_t width = a->rope.heads[0] * a->rope.d, row = ref_rope_position(args, token) * a->rope.rotary_dim;
    const struct context_row r = {
        .rope = &a->rope,
        .context = (const unsigned char *) context->data + 2 * token * context->stride[0],
        .table = (const unsigned char *) table->data + row * (table_bf16 ? 2 : 4),
        .bf16 = bf16 ? (unsigned char *) bf16->data + 2 * token * bf16->stride[0] : NULL,
        .context_head = context->stride[1],
        .bf16_head = bf16 ? bf16->stride[1] : 0,
        .table_bf16 = table_bf16,
        .f32 = f32,
    };
    const struct fast_sf_row sf = fast_sf_row(&a->sf, a->t[CTX_SF], a->t[CTX_EXTRA_SF], a->rope.n, token);
    fast_cast_row(&a->sf, width, load_y, &r, (unsigned char *) a->t[CTX_OUT]->data + token * width, &sf);
}

/* Buys: the rotated context is never stored unless it is asked for; 128 columns at a time go through rotation and cast. Tokens go
 * to threads. */
static int context_cast_in(const struct lc_call *call, bool f32)
{
    union op_args args;
    int status = ref_context_cast_check(call, &args);
    if (!status)
        status = ref_rope_check_values(call, &args);
    if (status)
        return status;
    const struct rope_args *const r = &args.context_cast.rope;
#pragma omp parallel for schedule(static) if (r->n > 1 && r->n * r->heads[0] * r->d > FAST_SMALL_CALL)
    for (int64_t token = 0; token < r->n; token++)
        context_token(&args, token, f32);
    return LC_OK;
}

static int context_cast_chunks(const struct lc_call *call)
{
    return context_cast_in(call, false);
}

static int context_cast_f32(const struct lc_call *call)
{
    return context_cast_in(call, true);
}

const struct lc_kernel fast_context_cast_kernels[] = {
    { .op = "context_cast", .variant = "chunks", .run = context_cast_chunks },
    { .op = "context_cast", .variant = "chunks-f32", .dialect = "f32", .run = context_cast_f32 },
    { .op = NULL },
};
