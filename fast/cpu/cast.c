/* SPDX-License-Identifier: Apache-2.0 */
/* Cast to E4M3 or E2M1 with one scale per group (CAST-1..9), scales in every layout (SF-1..SF-4, SF-6). */
#include "../../ref/args.h"
#include "fast.h"

struct x_row {
    const unsigned char *x;
    bool bf16;
};

static void load_x(const void *row, int64_t c, int n, float *v)
{
    const struct x_row *const r = (const struct x_row *) row;
    fast_load(v, r->x, r->bf16, c, n);
}

static void cast_row(const struct cast_args *a, int64_t row)
{
    const struct lc_tensor *const x = a->t[CAST_X], *const out = a->t[CAST_OUT];
    const bool bf16 = x->dtype == LC_BF16;
    const struct x_row r = { (const unsigned char *) x->data + arg_row(x, row) * (bf16 ? 2 : 4), bf16 };
    const struct fast_sf_row sf = fast_sf_row(&a->sf, a->t[CAST_SF], a->t[CAST_EXTRA_SF], a->m, row);
    fast_cast_row(&a->sf, a->d, load_x, &r, (unsigned char *) out->data + row * (a->sf.e2m1 ? a->d / 2 : a->d), &sf);
}

/* Buys: a row is read once, 128 elements at a time, and each group is scaled and rounded while it is at
 * hand; maximum, scaling and rounding work on integer bits without a branch, so that they vectorise. Rows
 * go to threads. */
static int cast_in(const struct lc_call *call, enum cast_dialect dialect)
{
    union op_args args;
    const int status = ref_cast_check(call, &args);
    if (status)
        return status;
    args.cast.sf.dialect = dialect;
    const struct cast_args *const a = &args.cast;
    const int64_t rows = a->batch * a->m;
#pragma omp parallel for schedule(static) if (rows > 1 && rows * a->d > FAST_SMALL_CALL)
    for (int64_t row = 0; row < rows; row++)
        cast_row(a, row);
    return LC_OK;
}

static int cast_chunks(const struct lc_call *call)
{
    return cast_in(call, CAST_USUAL);
}

static int cast_deepgemm(const struct lc_call *call)
{
    return cast_in(call, CAST_DEEPGEMM);
}

static int cast_sf_floor(const struct lc_call *call)
{
    return cast_in(call, CAST_SF_FLOOR);
}

/* No finite group has a value past 464 (CAST-5), and the code of an Inf is unspecified (CAST-7): FMT-2's nan-overflow and its
 * saturation are one kernel. */
static int cast_f32_nan(const struct lc_call *call)
{
    return cast_in(call, CAST_F32_NAN);
}

const struct lc_kernel fast_cast_kernels[] = {
    { .op = "cast", .variant = "chunks", .run = cast_chunks },
    { .op = "cast", .variant = "chunks-deepgemm", .dialect = "deepgemm", .run = cast_deepgemm },
    { .op = "cast", .variant = "chunks-sf-floor", .dialect = "sf-floor", .run = cast_sf_floor },
    { .op = "cast", .variant = "chunks-f32-nan", .dialect = "f32-nan", .run = cast_f32_nan },
    { .op = NULL },
};
