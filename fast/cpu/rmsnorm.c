/* SPDX-License-Identifier: Apache-2.0 */
/* RMSNorm with residual, BF16, F32 or E4M3 output (RMS-1..13). */
#include <math.h>

#include "../../ref/args.h"
#include "fast.h"

struct norm_row {
    const unsigned char *x, *residual, *w; /* residual: NULL without one */
    unsigned char *bf16;                   /* NULL unless it is asked for, apart from out */
    bool w_bf16;
    float rstd, out_scale;
    enum rmsnorm_dialect dialect;
};

/* RMS-1. An f32 add, then RN_bf16, is the BF16 add; f32res keeps the f32 one. */
static void load_r(const struct norm_row *row, int64_t c, int n, float *restrict r)
{
    float residual[FAST_CHUNK];
    fast_load_bf16(r, row->x + 2 * c, n);
    if (!row->residual)
        return;
    fast_load_bf16(residual, row->residual + 2 * c, n);
    for (int i = 0; i < n; i++)
        r[i] += residual[i];
    for (int i = 0; row->dialect != RMS_F32RES && i < n; i++)
        r[i] = fast_from_bf16(fast_bf16(r[i]));
}

/* The sum of the squares of a whole chunk: 7 additions deep; squares of BF16 values are exact, those of f32res's
 * f32 sums are one rounding more. */
static float sum_of_squares(float *r)
{
    for (int i = 0; i < FAST_CHUNK; i++)
        r[i] *= r[i];
    for (int half = FAST_CHUNK / 2; half >= 4; half /= 2)
        for (int i = 0; i < half; i++)
            r[i] += r[i + half];
    return (r[0] + r[2]) + (r[1] + r[3]);
}

/* RMS-3, RMS-4; writes residual_out (RMS-2) on the way. A square passes at most 7 f32 roundings in its
 * chunk and one with the division: chunks are added and divided in double, whose roundings are too small
 * to count, so that it is 8 at every d (RMS-3 allows 15). The order depends on d only (DET-2). */
static float rstd_of(const struct norm_row *row, int64_t d, float eps, unsigned char *residual_out)
{
    double sum = 0;
    for (int64_t c = 0; c < d; c += FAST_CHUNK) {
        const int n = (int) fast_min(FAST_CHUNK, d - c);
        float r[FAST_CHUNK];
        load_r(row, c, n, r);
        if (residual_out)
            fast_store_bf16(residual_out + 2 * c, r, n);
        for (int i = n; i < FAST_CHUNK; i++)
            r[i] = 0; /* adds nothing, exactly */
        sum += (double) sum_of_squares(r);
    }
    const float mean = (float) (sum / (double) d);
    return 1.0f / sqrtf(mean + eps);
}

/* RMS-5: three f32 products; in hf, RN_bf16 behind the first (RMS-13), and behind the last by who stores y. */
static void load_y(const struct norm_row *row, int64_t c, int n, float *restrict y)
{
    float w[FAST_CHUNK];
    load_r(row, c, n, y);
    fast_load(w, row->w, row->w_bf16, c, n);
    if (row->dialect == RMS_GEMMA)
        for (int i = 0; i < n; i++)
            w[i] += 1.0f;
    if (row->dialect == RMS_HF)
        for (int i = 0; i < n; i++)
            y[i] = fast_from_bf16(fast_bf16(y[i] * row->rstd)) * w[i];
    else
        for (int i = 0; i < n; i++)
            y[i] = y[i] * row->rstd * w[i] * row->out_scale;
}

/* RMS-6: the cast's input is RN_bf16(y), and y itself in f32cast. */
static void load_y_bf(const void *of, int64_t c, int n, float *v)
{
    const struct norm_row *const row = (const struct norm_row *) of;
    load_y(row, c, n, v);
    if (row->bf16)
        fast_store_bf16(row->bf16 + 2 * c, v, n);
    for (int i = 0; row->dialect != RMS_F32CAST && i < n; i++)
        v[i] = fast_from_bf16(fast_bf16(v[i]));
}

/* RMS-7 without the cast. */
static void store_y(const struct norm_row *row, int64_t d, unsigned char *out, bool out_bf16)
{
    for (int64_t c = 0; c < d; c += FAST_CHUNK) {
        const int n = (int) fast_min(FAST_CHUNK, d - c);
        float y[FAST_CHUNK];
        load_y(row, c, n, y);
        if (out_bf16)
            fast_store_bf16(out + 2 * c, y, n);
        else
            memcpy(out + 4 * c, y, (size_t) n * sizeof *y);
        if (row->bf16)
            fast_store_bf16(row->bf16 + 2 * c, y, n);
    }
}

static unsigned char *row_of(const struct lc_tensor *t, int64_t row, int size)
{
    return t ? (unsigned char *) t->data + arg_row(t, row) * size : NULL;
}

static void norm_row(const struct rmsnorm_args *a, int64_t row)
{
    const struct lc_tensor *const w = a->t[RMS_WEIGHT], *const out = a->t[RMS_OUT];
    const bool out_bf16 = out->dtype == LC_BF16;
    struct norm_row r = {
        .x = row_of(a->t[RMS_X], row, 2),
        .residual = row_of(a->t[RMS_RESIDUAL], row, 2),
        .w = (const unsigned char *) w->data,
        .bf16 = out_bf16 ? NULL : row_of(a->t[RMS_BF16], row, 2), /* RMS-7: else the storage of out */
        .w_bf16 = w->dtype == LC_BF16,
        .out_scale = (float) a->out_scale,
        .dialect = a->dialect,
    };
    r.rstd = rstd_of(&r, a->d, (float) a->eps, row_of(a->t[RMS_RESIDUAL_OUT], row, 2));
    if (!a->cast) {
        store_y(&r, a->d, row_of(out, row, out_bf16 ? 2 : 4), out_bf16);
        return;
    }
    const struct fast_sf_row sf = fast_sf_row(&a->sf, a->t[RMS_SF], a->t[RMS_EXTRA_SF], a->m, row);
    fast_cast_row(&a->sf, a->d, load_y_bf, &r, row_of(out, row, 1), &sf);
}

/* Buys: a row is read twice, 128 elements at a time, and y is never stored before it is rounded for good,
 * so that a row of any length needs no scratch and its second reading comes from the cache; the squares'
 * tree is also what vectorises without reordering flags. Rows go to threads. */
static int rmsnorm_in(const struct lc_call *call, enum rmsnorm_dialect dialect)
{
    union op_args args;
    const int status = ref_rmsnorm_check(call, &args);
    if (status)
        return status;
    args.rmsnorm.dialect = dialect;
    const struct rmsnorm_args *const a = &args.rmsnorm;
    const int64_t rows = a->batch * a->m;
#pragma omp parallel for schedule(static) if (rows > 1 && rows * a->d > FAST_SMALL_CALL)
    for (int64_t row = 0; row < rows; row++)
        norm_row(a, row);
    return LC_OK;
}

static int rmsnorm_chunks(const struct lc_call *call)
{
    return rmsnorm_in(call, RMS_USUAL);
}

static int rmsnorm_hf(const struct lc_call *call)
{
    return rmsnorm_in(call, RMS_HF);
}

static int rmsnorm_f32res(const struct lc_call *call)
{
    return rmsnorm_in(call, RMS_F32RES);
}

static int rmsnorm_gemma(const struct lc_call *call)
{
    return rmsnorm_in(call, RMS_GEMMA);
}

static int rmsnorm_f32cast(const struct lc_call *call)
{
    return rmsnorm_in(call, RMS_F32CAST);
}

const struct lc_kernel fast_rmsnorm_kernels[] = {
    { .op = "rmsnorm", .variant = "chunks", .run = rmsnorm_chunks },
    { .op = "rmsnorm", .variant = "chunks-hf", .dialect = "hf", .run = rmsnorm_hf },
    { .op = "rmsnorm", .variant = "chunks-f32res", .dialect = "f32res", .run = rmsnorm_f32res },
    { .op = "rmsnorm", .variant = "chunks-gemma", .dialect = "gemma", .run = rmsnorm_gemma },
    { .op = "rmsnorm", .variant = "chunks-f32cast", .dialect = "f32cast", .run = rmsnorm_f32cast },
    { .op = NULL },
};
