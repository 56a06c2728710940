/* SPDX-License-Identifier: Apache-2.0 */
/* Hadamard transform of rows (HAD-1..6), BF16 or F32, f32 inside. */
#include "../../ref/args.h"
#include "fast.h"

enum { MOST_N = 32768, BLOCK = 16 };

/* The stages of four index bits on 16 neighbours; n a constant lets the compiler unroll all of it. */
static inline void transform_block(float *v, int n)
{
    for (int bit = 1; bit < n; bit *= 2)
        for (int i = 0; i < n; i++)
            if (!(i & bit)) {
                const float a = v[i], b = v[i | bit];
                v[i] = a + b;
                v[i | bit] = a - b;
            }
}

/* Pairs that lie `bit` apart, bit >= BLOCK: whole vectors. */
static inline void stage(float *restrict a, float *restrict b, int bit)
{
    for (int i = 0; i < bit; i++) {
        const float x = a[i], y = b[i];
        a[i] = x + y;
        b[i] = x - y;
    }
}

/* HAD-3: log2 n additions a term, whose order depends on n only (DET-2). */
static void transform(float *v, int n)
{
    if (n < BLOCK) {
        transform_block(v, n);
        return;
    }
    for (int i = 0; i < n; i += BLOCK)
        transform_block(v + i, BLOCK);
    for (int bit = BLOCK; bit < n; bit *= 2)
        for (int i = 0; i < n; i += 2 * bit)
            stage(v + i, v + i + bit, bit);
}

/* The row is a copy, so out may be x (HAD-4). */
static void hadamard_row(const struct hadamard_args *a, int64_t row)
{
    const struct lc_tensor *const x = a->t[HAD_X], *const out = a->t[HAD_OUT];
    const bool bf16 = x->dtype == LC_BF16;
    const int n = (int) a->n, size = bf16 ? 2 : 4;
    const float scale = (float) a->scale;
    unsigned char *const to = (unsigned char *) out->data + arg_row(out, row) * size;
    float v[MOST_N];
    fast_load(v, (const unsigned char *) x->data + arg_row(x, row) * size, bf16, 0, n);
    transform(v, n);
    for (int i = 0; i < n; i++)
        v[i] *= scale;
    if (bf16)
        fast_store_bf16(to, v, n);
    else
        memcpy(to, v, (size_t) n * sizeof *v);
}

/* Buys: n log2 n additions for n^2, whole vectors at a time; a row is read and written once, in between it stays in cache. Rows
 * go to threads. */
static int hadamard_butterflies(const struct lc_call *call)
{
    union op_args args;
    const int status = ref_hadamard_check(call, &args);
    if (status)
        return status;
    const struct hadamard_args *const a = &args.hadamard;
    const int64_t rows = a->batch * a->m;
#pragma omp parallel for schedule(static) if (rows > 1 && rows * a->n > FAST_SMALL_CALL)
    for (int64_t row = 0; row < rows; row++)
        hadamard_row(a, row);
    return LC_OK;
}

const struct lc_kernel fast_hadamard_kernels[] = {
    { .op = "hadamard", .variant = "butterflies", .run = hadamard_butterflies },
    { .op = NULL },
};
