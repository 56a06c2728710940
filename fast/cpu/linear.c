/* SPDX-License-Identifier: Apache-2.0 */
/* Linear layer (LIN-1..11): BF16 weights, or E4M3 and E2M1 codes with scales per row and 32 channels. */
#include "../../ref/args.h"
#include "fast.h"

#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef HAVE_OPENBLAS
#include <cblas.h>
#endif

enum { GROUP = 32, LANES = 16, ROWS = 8, CHUNK = 512, MOST_EXP = 100 };

/* ---- x in the workspace: f32 values, codes without their scales, which lie behind as exponents ---- */

struct expanded {
    float *x;     /* (m, k) */
    int16_t *exp; /* (m, groups), of the scales; NO_SCALE: NaN */
};

enum { NO_SCALE = 1 << 14 };

static size_t expanded_size(const struct linear_args *a)
{
    return (size_t) a->m * ((size_t) a->k * sizeof(float) + (size_t) a->sf.groups * sizeof(int16_t));
}

static struct expanded expanded_at(const struct linear_args *a, void *workspace)
{
    const struct expanded to = { (float *) workspace, (int16_t *) ((float *) workspace + a->m * a->k) };
    return to;
}

/* FMT-2: the fraction and the exponent of E4M3 in those of an f32, which then is 2^-120 times too small: exact in f32. */
static float from_e4m3(uint8_t code)
{
    const float v = fast_from_bits((uint32_t) (code & 0x80) << 24 | (uint32_t) (code & 0x7f) << 20) * 0x1p120f;
    return (code & 0x7f) == 0x7f ? fast_from_bits(0x7fc00000) : v;
}

static float from_e2m1(uint32_t code)
{
    static const float value[8] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6 };
    return code & 8 ? -value[code & 7] : value[code & 7];
}

static int16_t scale_exp(const struct linear_args *a, const struct lc_tensor *sf, int64_t rows, int64_t row, int64_t g)
{
    const unsigned char byte = ((const unsigned char *) sf->data)[sf_place(&a->sf, rows, row, g)];
    return byte == 0xff ? NO_SCALE : (int16_t) (byte - 127);
}

/* 2^(ea + eb) of a group; beyond f32's exponents the product is not judged (LIN-5). */
static float scale_of(int ea, int eb)
{
    const int e = ea + eb;
    if (ea == NO_SCALE || eb == NO_SCALE)
        return fast_from_bits(0x7fc00000);
    return e < -126 ? 0 : e > 127 ? fast_from_bits(0x7f800000) : fast_from_bits((uint32_t) (e + 127) << 23);
}

static void expand_row(const struct linear_args *a, int64_t row, const struct expanded *to)
{
    const struct lc_tensor *const x = a->t[LIN_X];
    const int64_t from = row * a->x_stride;
    const unsigned char *const data = (const unsigned char *) x->data;
    float *const v = to->x + row * a->k;
    int16_t *const exp = to->exp + row * a->sf.groups;
    if (x->dtype == LC_BF16)
        for (int64_t k = 0; k < a->k; k += CHUNK)
            fast_load_bf16(v + k, data + (from + k) * 2, (int) fast_min(CHUNK, a->k - k));
    else
        for (int64_t k = 0; k < a->k; k++)
            v[k] = from_e4m3(data[from + k]);
    for (int64_t g = 0; g < a->sf.groups; g++) {
        if (!a->cast_x) {
            exp[g] = scale_exp(a, a->t[LIN_X_SF], a->m, row, g);
            continue;
        }
        float *const group = v + g * GROUP; /* LIN-5: codes and scale of CAST */
        const struct fast_scale scale = fast_scale_of(&a->sf, fast_amax(group, GROUP, 0));
        exp[g] = (int16_t) (scale.byte - 127);
        for (int i = 0; i < GROUP; i++)
            group[i] = from_e4m3(fast_e4m3(group[i] * scale.times));
    }
}

static void expand_x(const struct linear_args *a, const struct expanded *to)
{
#pragma omp parallel for schedule(static) if (a->m > 1 && a->m * a->k > FAST_SMALL_CALL)
    for (int64_t row = 0; row < a->m; row++)
        expand_row(a, row, to);
}

/* Elements k .. k + n - 1 of a row of the weight; codes without their scales. */
static void load_weight(const struct linear_args *a, int64_t row, int64_t k, int n, float *to)
{
    const struct lc_tensor *const w = a->t[LIN_WEIGHT];
    const unsigned char *const data = (const unsigned char *) w->data;
    const int64_t from = row * w->stride[0];
    if (w->dtype == LC_BF16)
        fast_load_bf16(to, data + (from + k) * 2, n);
    else if (w->dtype == LC_E4M3)
        for (int i = 0; i < n; i++)
            to[i] = from_e4m3(data[from + k + i]);
    else
        for (int i = 0; i < n; i++)
            to[i] = from_e2m1(data[from + (k + i) / 2] >> 4 * (i % 2)); /* k is even; from_e2m1 looks at four bits */
}

/* ---- what follows acc: LIN-2, LIN-9, the store ---- */

static float load_one(const struct lc_tensor *t, int64_t at)
{
    float v;
    fast_load(&v, (const unsigned char *) t->data, t->dtype == LC_BF16, at, 1);
    return v;
}

static float rounded(const struct linear_args *a, float v)
{
    return a->out->dtype == LC_BF16 ? fast_from_bf16(fast_bf16(v)) : v;
}

static void store(const struct linear_args *a, int64_t row, int64_t n, float v)
{
    const struct lc_tensor *const out = a->out, *const out_acc = a->t[LIN_OUT_ACC], *const bias = a->t[LIN_BIAS];
    const bool fused = a->dialect == LIN_BIAS_FUSED;
    if (out_acc && a->k == 0)
        v = load_one(out_acc, arg_row(out_acc, row) + n); /* LIN-2: a copy; 0 + -0 is no -0 */
    else if (out_acc)
        v = (a->dialect == LIN_REDUCE_ADD ? rounded(a, v) : v) + load_one(out_acc, arg_row(out_acc, row) + n);
    if (bias)
        v = (fused ? v : rounded(a, v)) + load_one(bias, n);
    unsigned char *const to = (unsigned char *) out->data + (arg_row(out, row) + n) * (out->dtype == LC_BF16 ? 2 : 4);
    if (out->dtype == LC_BF16)
        fast_store_bf16(to, &v, 1);
    else
        memcpy(to, &v, sizeof v);
}

/* ---- the loop ---- */

/* lanes += x * w, element i in lane i % 16. */
static inline void multiply(float *restrict lanes, const float *restrict x, const float *restrict w, int n)
{
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++)
            lanes[l] += x[i + l] * w[i + l];
    for (int l = 0; i + l < n; l++)
        lanes[l] += x[i + l] * w[i + l];
}

/* The same for codes: a group's products are summed before they are scaled. That is exact where LIN-8 holds: the group's sum
 * without its scale is as many units as with it. */
static inline void multiply_groups(float *restrict lanes, const float *x, const float *w, int n, const int16_t *ea,
                                   const int16_t *eb)
{
    for (int i = 0; i < n; i += GROUP) {
        float group[LANES] = { 0 };
        const float scale = scale_of(ea[i / GROUP], eb[i / GROUP]);
        multiply(group, x + i, w + i, GROUP);
        for (int l = 0; l < LANES; l++)
            lanes[l] += group[l] * scale;
    }
}

/* Lanes l and l + 8, then 4, 2, 1. */
static inline float joined(float *lanes)
{
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lanes[l] += lanes[l + half];
    return lanes[0];
}

/* One column of out for eight rows at a time: the weight's row is expanded once for all eight. */
static void loop_column(const struct linear_args *a, const struct expanded *x, int64_t n)
{
    float w[CHUNK];
    int16_t eb[CHUNK / GROUP];
    for (int64_t first = 0; first < a->m; first += ROWS) {
        float lanes[ROWS][LANES] = { { 0 } };
        const int rows = (int) fast_min(ROWS, a->m - first);
        for (int64_t k = 0; k < a->k; k += CHUNK) {
            const int len = (int) fast_min(CHUNK, a->k - k);
            load_weight(a, n, k, len, w);
            for (int g = 0; a->fp8 && g < len / GROUP; g++)
                eb[g] = scale_exp(a, a->t[LIN_WEIGHT_SF], a->n, n, k / GROUP + g);
            for (int r = 0; r < rows; r++) {
                const float *const v = x->x + (first + r) * a->k + k;
                if (a->fp8)
                    multiply_groups(lanes[r], v, w, len, x->exp + (first + r) * a->sf.groups + k / GROUP, eb);
                else
                    multiply(lanes[r], v, w, len);
            }
        }
        for (int r = 0; r < rows; r++)
            store(a, first + r, n, joined(lanes[r]));
    }
}

static int prepare(const struct lc_call *call, enum linear_dialect dialect, size_t (*need)(const struct linear_args *a),
                   union op_args *args)
{
    const int status = ref_linear_check(call, args);
    if (status)
        return status;
    args->linear.dialect = dialect;
    if (need(&args->linear) > call->workspace_size)
        return arg_refuse(call, "workspace_size", "ERR-1", "%zu: %zu bytes are needed", call->workspace_size,
                          need(&args->linear));
    return LC_OK;
}

/* Buys: no library, 16 lanes of partial sums that vectorise. The order of a sum is that of k alone: lane k % 16, in order of k
 * (with scales: in order of groups, a group's products summed first), then a tree; so a row depends on nothing but itself
 * (DET-2). Columns go to threads. */
static void loop_all(const struct linear_args *a, void *workspace)
{
    const struct expanded x = expanded_at(a, workspace);
    expand_x(a, &x);
#pragma omp parallel for schedule(static) if (a->n > 1 && a->m * a->n * (a->k + 1) > FAST_SMALL_CALL)
    for (int64_t n = 0; n < a->n; n++)
        loop_column(a, &x, n);
}

static int loop_in(const struct lc_call *call, enum linear_dialect dialect)
{
    union op_args args;
    const int status = prepare(call, dialect, expanded_size, &args);
    if (!status && args.linear.m > 0)
        loop_all(&args.linear, call->workspace);
    return status;
}

static int linear_loop(const struct lc_call *call)
{
    return loop_in(call, LIN_USUAL);
}

static int linear_reduce_add(const struct lc_call *call)
{
    return loop_in(call, LIN_REDUCE_ADD);
}

static int linear_bias_fused(const struct lc_call *call)
{
    return loop_in(call, LIN_BIAS_FUSED);
}

static size_t loop_workspace(const struct lc_call *call)
{
    union op_args args;
    return ref_linear_check(call, &args) == LC_OK ? expanded_size(&args.linear) : 0;
}

/* ---- sgemm ---- */

#ifdef HAVE_OPENBLAS

/* x as above, then the weight (n, k) and the product (m, n). */
static size_t gemm_size(const struct linear_args *a)
{
    const size_t x = (expanded_size(a) + sizeof(float) - 1) / sizeof(float) * sizeof(float);
    return x + (size_t) a->n * (size_t) (a->k + a->m) * sizeof(float);
}

/* Does a code times its scale fit in f32, and the product of two? */
static bool scales_fit(const struct linear_args *a, const struct expanded *x)
{
    int low[2] = { 0, 0 }, high[2] = { 0, 0 };
    for (int64_t i = 0; i < a->m * a->sf.groups; i++)
        if (x->exp[i] != NO_SCALE) {
            low[0] = x->exp[i] < low[0] ? x->exp[i] : low[0];
            high[0] = x->exp[i] > high[0] ? x->exp[i] : high[0];
        }
    for (int64_t n = 0; n < a->n; n++)
        for (int64_t g = 0; g < a->sf.groups; g++) {
            const int e = scale_exp(a, a->t[LIN_WEIGHT_SF], a->n, n, g);
            if (e == NO_SCALE)
                continue;
            low[1] = e < low[1] ? e : low[1];
            high[1] = e > high[1] ? e : high[1];
        }
    return low[0] + low[1] >= -MOST_EXP && high[0] + high[1] <= MOST_EXP;
}

static void apply_scale(float *v, int16_t exp)
{
    const float scale = scale_of(exp, 0);
    for (int i = 0; i < GROUP; i++)
        v[i] *= scale;
}

static void gemm(const struct linear_args *a, const struct expanded *x, float *w, float *acc)
{
#pragma omp parallel for schedule(static) if (a->n > 1 && a->n * a->k > FAST_SMALL_CALL)
    for (int64_t n = 0; n < a->n; n++) {
        for (int64_t k = 0; k < a->k; k += CHUNK)
            load_weight(a, n, k, (int) fast_min(CHUNK, a->k - k), w + n * a->k + k);
        for (int64_t g = 0; g < a->sf.groups; g++)
            apply_scale(w + n * a->k + g * GROUP, scale_exp(a, a->t[LIN_WEIGHT_SF], a->n, n, g));
    }
    for (int64_t i = 0; i < a->m * a->sf.groups; i++)
        apply_scale(x->x + i * GROUP, x->exp[i]);
#ifdef _OPENMP
    openblas_set_num_threads(omp_get_max_threads()); /* as many as the rest of this backend; harness workers share the cores */
#endif
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint) a->m, (blasint) a->n, (blasint) a->k, 1, x->x, (blasint) a->k,
                w, (blasint) a->k, 0, acc, (blasint) a->n);
}

/* Buys: a tuned product. BF16 becomes f32 as it is; codes take their scales with them, which is exact as long as all pairs of
 * scales are within -100..100 (LIN-5), else the loop does it. The order of k is the library's, and may depend on M. */
static int linear_openblas(const struct lc_call *call)
{
    union op_args args;
    const int status = prepare(call, LIN_USUAL, gemm_size, &args);
    const struct linear_args *const a = &args.linear;
    if (status || a->m == 0 || a->n == 0)
        return status;
    const int64_t most = INT32_MAX;
    if (a->m > most || a->n > most || a->k > most)
        return LC_UNSUPPORTED;
    const struct expanded x = expanded_at(a, call->workspace);
    float *const acc = (float *) call->workspace + gemm_size(a) / sizeof(float) - (size_t) a->m * (size_t) a->n;
    float *const w = acc - a->n * a->k;
    expand_x(a, &x);
    if (a->k == 0 || !scales_fit(a, &x)) {
        loop_all(a, call->workspace);
        return LC_OK;
    }
    gemm(a, &x, w, acc);
    for (int64_t row = 0; row < a->m; row++)
        for (int64_t n = 0; n < a->n; n++)
            store(a, row, n, acc[row * a->n + n]);
    return LC_OK;
}

static size_t openblas_workspace(const struct lc_call *call)
{
    union op_args args;
    return ref_linear_check(call, &args) == LC_OK ? gemm_size(&args.linear) : 0;
}

#endif

const struct lc_kernel fast_linear_kernels[] = {
#ifdef HAVE_OPENBLAS
    { .op = "linear", .variant = "openblas", .run = linear_openblas, .workspace = openblas_workspace },
#endif
    { .op = "linear", .variant = "loop", .claims = LC_BATCH_INVARIANT, .run = linear_loop, .workspace = loop_workspace },
    { .op = "linear",
      .variant = "loop-reduce-add",
      .dialect = "reduce-add",
      .claims = LC_BATCH_INVARIANT,
      .run = linear_reduce_add,
      .workspace = loop_workspace },
    { .op = "linear",
      .variant = "loop-bias-fused",
      .dialect = "bias-fused",
      .claims = LC_BATCH_INVARIANT,
      .run = linear_bias_fused,
      .workspace = loop_workspace },
    { .op = NULL },
};
