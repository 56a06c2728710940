/* SPDX-License-Identifier: Apache-2.0 */
/* cos/sin table of the rotary embedding (ROT-1..7, YARN-1..5). */
#include <math.h>

#include "../../ref/args.h"
#include "fast.h"

/* ROT-1. The double power is within an ulp of double, so that p_i is within one of f32, mostly none. */
static float power_of(const struct rope_table_args *a, int64_t pair)
{
    const float exponent = (float) (2 * pair) / (float) a->rotary_dim;
    return (float) pow(a->base, (double) exponent);
}

/* YARN-2, YARN-3: every operation rounds to f32, none is contracted. */
static float yarn(const struct rope_table_args *a, int64_t pair, float p)
{
    const float slope = ((float) pair - (float) a->low) / (float) (a->high - a->low);
    const float ramp = slope < 0 ? 0 : slope > 1 ? 1 : slope;
    const float lambda = (1.0f - ramp) * (float) a->extrapolation_factor;
    const float extrapolated = 1.0f / p, interpolated = 1.0f / ((float) a->factor * p);
    const float part = interpolated * (1.0f - lambda), rest = extrapolated * lambda;
    return part + rest;
}

static float inv_freq_of(const struct rope_table_args *a, int64_t pair)
{
    const float p = power_of(a, pair);
    if (a->scaling == ROPE_YARN)
        return yarn(a, pair, p);
    return 1.0f / (a->scaling == ROPE_LINEAR ? (float) a->factor * p : p); /* ROT-7 */
}

static void store(const struct lc_tensor *table, int64_t at, float v)
{
    if (table->dtype == LC_BF16) {
        const uint16_t code = fast_bf16(v); /* ROT-6 */
        memcpy((unsigned char *) table->data + 2 * at, &code, sizeof code);
    } else
        memcpy((unsigned char *) table->data + 4 * at, &v, sizeof v);
}

/* ROT-2, ROT-3: the library's double sine and cosine of the f32 angle, which are good to far below an ulp of f32. */
static void table_row(const struct rope_table_args *a, int64_t row, const float *inv_freq)
{
    const float position = (float) row, mscale = (float) a->mscale;
    for (int64_t i = 0; i < a->n; i++) {
        const float angle = position * inv_freq[i];
        const float c = (float) cos((double) angle), s = (float) sin((double) angle);
        store(a->t[ROT_TABLE], row * 2 * a->n + i, c * mscale);
        store(a->t[ROT_TABLE], row * 2 * a->n + a->n + i, s * mscale);
    }
}

/* Buys: frequencies once for all rows; rows go to threads. */
static int rope_table_rows(const struct lc_call *call)
{
    union op_args args;
    float inv_freq[REF_ROPE_MOST];
    const int status = ref_rope_table_check(call, &args);
    if (status)
        return status;
    const struct rope_table_args *const a = &args.rope_table;
    for (int64_t i = 0; i < a->n; i++)
        inv_freq[i] = inv_freq_of(a, a->first + i * a->every); /* YARN-5 */
    if (a->t[ROT_INV_FREQ])
        memcpy(a->t[ROT_INV_FREQ]->data, inv_freq, (size_t) a->n * sizeof *inv_freq);
#pragma omp parallel for schedule(static) if (a->rows > 1 && a->rows * a->n > FAST_SMALL_CALL)
    for (int64_t row = 0; row < a->rows; row++)
        table_row(a, row, inv_freq);
    return LC_OK;
}

const struct lc_kernel fast_rope_table_kernels[] = {
    { .op = "rope_table", .variant = "rows", .run = rope_table_rows },
    { .op = NULL },
};
