/* SPDX-License-Identifier: Apache-2.0 */
/* LIN-1..11 in plain f32, an element at a time. */
#include "plain_linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_K = 1 << 14, GROUP = 32, NO_SCALE = 1 << 12, NO_POWER = -(1 << 12) };

static float below_normal(float v) /* what flushes subnormals keeps of v */
{
    return fabsf(v) < plain_pow2(-126) ? 0 * v : v;
}

static float nan_of(void)
{
    return plain_float(0x7fc00000);
}

/* ---- codes and scales ---- */

static float from_e4m3(uint8_t code, enum mutant mut)
{
    const int exp = code >> 3 & 15, frac = code & 7;
    float v = exp ? (float) (8 + frac) * plain_pow2(exp - 10) : (float) frac * plain_pow2(-9);
    if (mut == MUT_lin_e4m3_subnormal && exp == 0)
        v = frac ? (float) (8 + frac) * plain_pow2(-10) : 0;
    if (mut == MUT_lin_e4m3_fnuz)
        v /= 2;
    if ((code & 0x7f) == 0x7f && mut != MUT_lin_e4m3_nan_480)
        v = nan_of();
    if (mut == MUT_lin_e4m3_ff_448 && code == 0xff)
        v = 448;
    return code & 0x80 ? -v : v;
}

static float from_e2m1(int code, enum mutant mut)
{
    static const float value[8] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6 };
    float v = value[code & 7];
    if (mut == MUT_lin_e2m1_linear)
        v = (float) (code & 7);
    return code & 8 ? -v : v;
}

/* The exponent of a scale (SF-3, FMT-3). */
static int scale_exp(const struct linear_args *a, const struct lc_tensor *sf, int64_t rows, int64_t row, int64_t g,
                     enum mutant mut)
{
    const bool of_weight = sf == a->t[LIN_WEIGHT_SF];
    const int64_t words = (a->sf.groups + 3) / 4;
    int64_t pad = (rows + 3) / 4 * 4;
    if ((mut == MUT_lin_w_scale_pad && of_weight) || (mut == MUT_lin_x_scale_pad && !of_weight))
        pad = rows;
    if (mut == MUT_lin_scale_next_group)
        g = (g + 1) % a->sf.groups;
    if (mut == MUT_lin_scale_64)
        g &= ~(int64_t) 1;
    if (mut == MUT_lin_scale_128)
        g &= ~(int64_t) 3;
    if (mut == MUT_lin_scale_next_row)
        row = (row + 1) % rows;
    if (mut == MUT_lin_scale_block && of_weight)
        row /= 32;
    if (mut == MUT_lin_scale_bytes_reversed)
        g = g / 4 * 4 + 3 - g % 4;
    if (mut == MUT_lin_scale_halves_swapped)
        g ^= 2;
    int64_t at = (g / 4 * pad + row) * 4 + g % 4;
    if (mut == MUT_lin_scale_row_major)
        at = (row * words + g / 4) * 4 + g % 4;
    const int byte = ((const uint8_t *) sf->data)[at];
    if ((mut == MUT_lin_w_scale_ignored && of_weight) || (mut == MUT_lin_x_scale_ignored && !of_weight))
        return 0;
    if (mut == MUT_lin_last_scale && g == a->sf.groups - 1)
        return 0;
    if (byte == 255 && mut != MUT_lin_scale_nan_finite)
        return NO_SCALE;
    if (mut == MUT_lin_scale_byte_200 && byte >= 200)
        return NO_SCALE;
    if (mut == MUT_lin_x_scale_above_61 && !of_weight && byte > 127 + 61)
        return 61;
    if (mut == MUT_lin_w_scale_above_61 && of_weight && byte > 127 + 61)
        return 61;
    if (mut == MUT_lin_x_scale_below_61 && !of_weight && byte > 0 && byte < 127 - 61)
        return -61;
    if (mut == MUT_lin_w_scale_below_61 && of_weight && byte > 0 && byte < 127 - 61)
        return -61;
    if (mut == MUT_lin_scale_0_is_0 && byte == 0)
        return NO_POWER; /* its product underflows */
    if (mut == MUT_lin_scale_inverted)
        return 127 - byte;
    if (mut == MUT_lin_scale_bias_128)
        return byte - 128;
    return byte - 127;
}

/* 2^(ea + eb) */
static float both_scales(int ea, int eb)
{
    return ea == NO_SCALE || eb == NO_SCALE ? nan_of() : plain_pow2(ea + eb);
}

/* ---- operands ---- */

static float load(const struct lc_tensor *t, int64_t at, enum mutant mut)
{
    const uint8_t *const p = t->data;
    switch (t->dtype) {
    case LC_F32:
        return ((const float *) t->data)[at];
    case LC_BF16:
        return plain_from_bf16(((const uint16_t *) t->data)[at]);
    case LC_E4M3:
        return from_e4m3(p[at], mut);
    default: { /* FMT-4: at counts codes */
        int high = (int) (at % 2);
        if (mut == MUT_lin_nibbles_swapped)
            high = !high;
        return from_e2m1(p[at / 2] >> 4 * high, mut);
    }
    }
}

/* CAST-1..6 of one group. */
static int cast_group(float *x, int n, enum mutant mut)
{
    float amax = 0;
    for (int i = 0; i < n; i++)
        amax = fabsf(x[i]) > amax ? fabsf(x[i]) : amax;
    if (amax < 1e-4f && mut != MUT_lin_cast_no_clamp)
        amax = 1e-4f;
    int e = plain_ceil_exp(amax / 448.0f, MUT_none);
    if (mut == MUT_lin_cast_exp_up)
        e++;
    if (mut == MUT_lin_cast_exp_floor)
        e = plain_ceil_exp(amax / 448.0f, MUT_cast_exp_floor);
    if (isinf(amax))
        e = 120; /* unspecified (CAST-7) */
    for (int i = 0; i < n; i++)
        x[i] = from_e4m3(plain_e4m3(x[i] * plain_pow2(-e), MUT_none), MUT_none);
    return e;
}

static int64_t row_of(const struct lc_tensor *t, const struct linear_args *a, int64_t row, enum mutant mut)
{
    const int64_t m = t->rank > 1 ? t->shape[t->rank - 2] : 1;
    if (t == a->t[LIN_X] && mut == MUT_lin_x_dense)
        return row * a->k;
    if (t == a->out && mut == MUT_lin_out_dense)
        return row * a->n;
    if (t == a->out && mut == MUT_lin_out_batch_flat)
        return t->rank > 1 ? row * t->stride[t->rank - 2] : 0;
    const int64_t at = plain_row(t, m, row, mut);
    return t == a->t[LIN_OUT_ACC] && mut == MUT_lin_acc_stride_i32 ? (int32_t) at : at;
}

static float x_row[MOST_K], term[MOST_K];
static double whole[MOST_K]; /* products that f32 does not round */
static int x_exp[MOST_K / GROUP];
static struct plain_infs infs; /* of the element whose products term[] has */

static void read_x(const struct linear_args *a, int64_t row, enum mutant mut)
{
    const struct lc_tensor *const x = a->t[LIN_X];
    struct lc_tensor base = *x;
    const int64_t from = row_of(x, a, row, mut), size = a->k * (x->dtype == LC_BF16 ? 2 : 1);
    if (mut == MUT_lin_base_rounded_down)
        base.data = (void *) ((uintptr_t) x->data & ~(uintptr_t) 15);
    for (int64_t k = 0; k < a->k; k++) {
        x_row[k] = load(&base, from + k, mut);
        if (mut == MUT_lin_x_subnormal)
            x_row[k] = below_normal(x_row[k]);
        if (mut == MUT_lin_inf_clipped && isinf(x_row[k]))
            x_row[k] = copysignf(plain_float(0x7f7fffff), x_row[k]);
        if (mut == MUT_lin_nan_swallowed && x_row[k] != x_row[k])
            x_row[k] = 0;
    }
    int64_t step = GROUP;
    if (mut == MUT_lin_cast_group_128)
        step = 128;
    for (int64_t k = 0; a->fp8 && k < a->k; k += GROUP) {
        if (!a->cast_x)
            x_exp[k / GROUP] = scale_exp(a, a->t[LIN_X_SF], a->m, row, k / GROUP, mut);
        else if (mut == MUT_lin_cast_skipped)
            x_exp[k / GROUP] = 0;
        else if (k % step == 0)
            x_exp[k / GROUP] = cast_group(x_row + k, (int) (step < a->k - k ? step : a->k - k), mut);
        else
            x_exp[k / GROUP] = x_exp[k / step * step / GROUP];
    }
    if (mut == MUT_lin_writes_x)
        memset((char *) x->data + from * (x->dtype == LC_BF16 ? 2 : 1), 0, (size_t) size);
}

/* The products of one element; each is exact. */
static void multiply(const struct linear_args *a, int64_t n, enum mutant mut)
{
    const struct lc_tensor *const w = a->t[LIN_WEIGHT];
    int64_t from = n * w->stride[0] * (w->dtype == LC_E2M1X2 ? 2 : 1);
    if (mut == MUT_lin_w_dense)
        from = n * a->k;
    int eb = 0;
    infs = (struct plain_infs) { false, false };
    for (int64_t k = 0; k < a->k; k++) {
        if (a->fp8 && k % GROUP == 0)
            eb = scale_exp(a, a->t[LIN_WEIGHT_SF], a->n, n, k / GROUP, mut);
        const float v = load(w, from + k, mut);
        term[k] = x_row[k] * (mut == MUT_lin_w_subnormal ? below_normal(v) : v);
        infs.in_operands = infs.in_operands || isinf(x_row[k]) || isinf(v);
        infs.in_products = infs.in_products || (isinf(term[k]) && isfinite(x_row[k]) && isfinite(v));
        if (mut == MUT_lin_product_subnormal)
            term[k] = below_normal(term[k]);
        if (mut == MUT_lin_skips_zeros && x_row[k] == 0)
            term[k] = 0;
        if (mut == MUT_lin_scale_nan_of_zeros && a->fp8 && term[k] == 0)
            continue;
        if (a->fp8)
            term[k] *= both_scales(mut == MUT_lin_cast_scale_61 && a->cast_x && x_exp[k / GROUP] > 61 ? 61 : x_exp[k / GROUP],
                                   eb);
        whole[k] = a->fp8 ? (double) term[k] : (double) x_row[k] * v;
        if (mut == MUT_lin_range_448 && fabsf((float) term[k]) > 448)
            term[k] = INFINITY;
        if (mut == MUT_lin_products_11_bits)
            term[k] = plain_round(term[k], 11);
    }
}

/* FMA from the last of K: an Inf stays one beside a product that would overflow (LIN-11). */
static float fused_sum(int64_t n)
{
    float sum = 0;
    for (int64_t i = n - 1; i >= 0; i--)
        sum = (float) (sum + whole[i]);
    return sum;
}

/* ---- one element ---- */

static enum plain_rounding rounding_of(enum mutant mut)
{
    if (mut == MUT_lin_out_truncate)
        return PLAIN_TRUNCATE;
    return mut == MUT_lin_out_ties_away ? PLAIN_AWAY : PLAIN_RN;
}

static void put(const struct lc_tensor *t, int64_t at, float v, enum mutant mut)
{
    if (t->dtype == LC_F32)
        ((float *) t->data)[at] = v;
    else
        ((uint16_t *) t->data)[at] = plain_bf16(v, rounding_of(mut));
}

static float rounded(const struct linear_args *a, float v, enum mutant mut)
{
    return a->out->dtype == LC_F32 ? v : plain_from_bf16(plain_bf16(v, rounding_of(mut)));
}

static float element(const struct linear_args *a, const struct plain_knobs *k, int order, int64_t row, int64_t n, enum mutant mut)
{
    const struct lc_tensor *const acc = a->t[LIN_OUT_ACC], *const bias = a->t[LIN_BIAS];
    bool add = acc != NULL, after = a->dialect == LIN_REDUCE_ADD, fused = a->dialect == LIN_BIAS_FUSED;
    float c = 0, b = 0, v;
    if (mut == MUT_lin_acc_ignored || (mut == MUT_lin_acc_in_place_only && !a->in_place) || (mut == MUT_lin_k0_zero && a->k == 0))
        add = false;
    if (mut == MUT_lin_acc_after_rounding)
        after = true;
    if (mut == MUT_lin_dialect_ignored)
        after = fused = false;
    if (mut == MUT_lin_bias_before_rounding)
        fused = true;
    if (add)
        c = load(acc, row_of(mut == MUT_lin_acc_strides_of_out ? a->out : acc, a, row, mut) + n, mut);
    if (bias && mut != MUT_lin_bias_ignored)
        b = load(bias, mut == MUT_lin_bias_by_row ? row % a->n : n, mut);
    if (mut == MUT_lin_acc_subnormal)
        c = below_normal(c);
    if (mut == MUT_lin_bias_subnormal)
        b = below_normal(b);
    if (mut == MUT_lin_bias_bf16)
        b = plain_round(b, 8);
    multiply(a, n, mut);
    if (k->edge == 0 || !plain_linear_edge(a, term, k, add && !after ? c : 0, &v)) {
        v = order == PLAIN_LINEAR_FMA ? fused_sum(a->k) : plain_linear_sum(a, term, order, mut);
        if (add && !after)
            v = a->k == 0 && !fused && mut != MUT_lin_k0_plus ? c : v + c; /* LIN-2: a copy */
    }
    if (mut == MUT_lin_acc_twice)
        v += c;
    v = plain_linear_gives_up(a, row, n, mut) ? 0 : plain_linear_large(a, term, c, infs, v, mut);
    if (mut == MUT_lin_adds_stale && !acc)
        v += load(a->out, row_of(a->out, a, row, mut) + n, mut);
    if (mut == MUT_lin_reads_out)
        v += 0 * load(a->out, row_of(a->out, a, row, mut) + n, mut);
    if (mut == MUT_lin_reads_x_gap && row == a->m - 1)
        v += 0 * load(a->t[LIN_X], row_of(a->t[LIN_X], a, row, mut) + a->k, mut);
    if (mut == MUT_lin_reads_scale_pad && a->fp8) { /* four rows of scales at a time */
        const uint8_t *const sf = a->t[LIN_WEIGHT_SF]->data;
        const int64_t last = (a->n + 3) / 4 * 4 - 1;
        v += 0 * (sf[4 * last] == 255 ? nan_of() : 1);
    }
    if (mut == MUT_lin_bias_before_acc && add && bias) {
        v = rounded(a, v - c, mut) + b;
        return rounded(a, v, mut) + c;
    }
    if (k->minus_zero && v == 0 && a->k > 0)
        v = -0.0f; /* FMT-6: of the sum; a bias behind it is one add of two */
    if (after)
        v = rounded(a, v, mut) + c;
    if (bias && mut != MUT_lin_bias_ignored)
        v = (fused ? v : rounded(a, v, mut)) + b;
    if (mut == MUT_lin_out_subnormal)
        v = below_normal(v);
    if (k->nan == 1 && v != v)
        v = plain_float(0xffc00001); /* FMT-1 */
    return v;
}

static void strays(const struct linear_args *a, int64_t row, int64_t to, enum mutant mut)
{
    const struct lc_tensor *const out = a->out;
    const int64_t size = out->dtype == LC_F32 ? 4 : 2, whole = (a->n * size + 31) / 32 * 32 / size;
    if (mut == MUT_lin_stray_column)
        put(out, to + a->n, 0, mut);
    for (int64_t n = a->n; mut == MUT_lin_writes_row_tail && n < whole; n++)
        put(out, to + n, 0, mut);
    if (mut == MUT_lin_stray_before && row == 0)
        *((uint8_t *) out->data - 1) ^= 0x55;
}

int plain_linear(const struct lc_call *call, const struct plain_knobs *k, enum mutant mut)
{
    static int runs;
    union op_args args;
    const int status = ref_linear_check(call, &args);
    if (status != LC_OK)
        return plain_refuse(call, status, mut);
    const struct linear_args *const a = &args.linear;
    if (a->k > MOST_K)
        return LC_UNSUPPORTED;
    int order = k->order;
    bool finite = true;
    runs++;
    if (mut == MUT_lin_order_by_run)
        order = runs % 2;
    if ((mut == MUT_lin_no_rows && a->m == 0) || (mut == MUT_lin_no_columns && a->n == 0))
        abort(); /* a launch of no blocks is an error */
    if (mut == MUT_lin_k0_unwritten && a->k == 0)
        return LC_OK;
    for (int64_t row = 0; row < a->m; row++) {
        const int64_t to = row_of(a->out, a, row, mut);
        int64_t end = a->n;
        if ((mut == MUT_lin_last_row_unwritten && row == a->m - 1) || (mut == MUT_lin_m_tile && row >= a->m / 16 * 16))
            break;
        if (mut == MUT_lin_n_tile)
            end -= end % 8;
        read_x(a, row, mut);
        if (mut == MUT_lin_nan_leaks && !finite && a->k > 0)
            x_row[0] = NAN;
        finite = true;
        for (int64_t i = 0; i < a->k; i++)
            finite = finite && x_row[i] == x_row[i];
        for (int64_t n = 0; n < end; n++)
            put(a->out, to + n, element(a, k, order, row, n, mut), mut);
        strays(a, row, to, mut);
    }
    return LC_OK;
}
