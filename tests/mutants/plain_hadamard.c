/* SPDX-License-Identifier: Apache-2.0 */
/* HAD-1..6 in plain f32, a row at a time. */
#include "plain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_N = 32768, MOST_DENSE = 1024 };

static bool is_odd(int64_t v)
{
    bool odd = false;
    for (; v; v &= v - 1)
        odd = !odd;
    return odd;
}

/* ---- the sum ---- */

/* What f32 values become between stages. */
static float between(float v, int stages, enum mutant mut)
{
    if (mut == MUT_had_bf16_stages || (mut == MUT_had_bf16_16_point && stages % 4 == 0))
        return plain_round(v, 8); /* HadaCore rounds behind each 16-point factor */
    if (mut == MUT_had_f16_stages)
        return plain_round(v, 11);
    if (mut == MUT_had_half_range && fabsf(v) > 65504.0f)
        return v > 0 ? INFINITY : -INFINITY;
    return v;
}

static void stage(int64_t n, float *v, int64_t bit, int done, enum mutant mut)
{
    for (int64_t i = 0; i < n; i++) {
        if (i & bit)
            continue;
        int64_t j = i | bit;
        if (mut == MUT_had_partner && bit == 16 && i % 32 == 5)
            j ^= 1; /* one lane's partner */
        const float a = v[i], b = v[j];
        v[i] = between(a + b, done, mut);
        v[j] = between(a - b, done, mut);
    }
}

/* Two stages at once. */
static void stage_4(int64_t n, float *v, int64_t bit)
{
    for (int64_t i = 0; i < n; i++)
        if (!(i & 3 * bit)) {
            float *const p = v + i;
            const float a = p[0], b = p[bit], c = p[2 * bit], d = p[3 * bit];
            p[0] = (a + d) + (b + c);
            p[bit] = (a - d) - (b - c);
            p[2 * bit] = (a - d) + (b - c);
            p[3 * bit] = (a + d) - (b + c);
        }
}

static void butterflies(int64_t n, float *v, int order, enum mutant mut)
{
    int done = 0;
    for (int64_t bit = 1; bit < n; bit *= 2) {
        if (mut == MUT_had_last_stage_missing && 2 * bit == n)
            break;
        if (mut == MUT_had_blocks_of_1024 && bit == 1024)
            break;
        if (order == 2 && 2 * bit < n) {
            stage_4(n, v, bit);
            bit *= 2;
        } else {
            stage(n, v, order == 1 ? n / 2 / bit : bit, ++done, mut);
        }
    }
}

/* One element as a pairwise tree over j. */
static float tree(const float *x, int64_t n, int64_t i, int64_t begin)
{
    if (n == 1)
        return is_odd(i & begin) ? -*x : *x;
    return tree(x, n / 2, i, begin) + tree(x + n / 2, n / 2, i, begin + n / 2);
}

/* One element as the sum over j as j comes. */
static float serial(const float *x, int64_t n, int64_t step, int64_t i, enum mutant mut)
{
    float sum = 0;
    for (int64_t j = 0; j < n; j++) {
        bool odd = is_odd(i & j);
        if (mut == MUT_had_sign_8_bits)
            odd = is_odd(i & j & 255);
        if (mut == MUT_had_sign_of_xor)
            odd = is_odd(i ^ j);
        if (mut == MUT_had_sign_of_product)
            odd = i * j % 2;
        sum += odd ? -x[j * step] : x[j * step];
    }
    return sum;
}

/* HAD-3: n-by-n products, factored above 1024. */
static void dense(int64_t n, const float *x, float *v, enum mutant mut)
{
    static float part[MOST_N];
    const int64_t low = n < MOST_DENSE ? n : MOST_DENSE, high = n / low;
    for (int64_t i = 0; i < n; i++)
        part[i] = serial(x + i / low * low, low, 1, i % low, mut);
    for (int64_t i = 0; i < n; i++)
        v[i] = serial(part + i % low, high, low, i / low, mut);
}

/* ---- the edge of HAD-3 ---- */

/* HAD-5 holds: nothing is free. magnitude: sum|x|. */
static bool is_exact(int64_t n, const float *x, double *magnitude)
{
    int lowest = 1000;
    *magnitude = 0;
    for (int64_t i = 0; i < n; i++) {
        int exp;
        double sig = frexp(x[i], &exp);
        *magnitude += fabs((double) x[i]);
        for (; sig != floor(sig); sig *= 2)
            exp--;
        if (x[i] != 0 && isfinite(x[i]) && exp < lowest) /* an even integer's power of two does not lower it below x's own */
            lowest = exp;
    }
    return *magnitude <= ldexp(1, 24 + lowest);
}

/* The exact sum, pushed aside by so many times what HAD-3 admits. */
static bool at_the_edge(int64_t n, const float *x, float *y, double scale, const struct plain_knobs *k)
{
    static double sum[MOST_N];
    double magnitude;
    if (is_exact(n, x, &magnitude) || !(magnitude < ldexp(1, 127)))
        return false;
    for (int64_t i = 0; i < n; i++)
        sum[i] = (double) x[i];
    for (int64_t bit = 1; bit < n; bit *= 2)
        for (int64_t i = 0; i < n; i++)
            if (!(i & bit)) {
                const double a = sum[i], b = sum[i | bit];
                sum[i] = a + b;
                sum[i | bit] = a - b;
            }
    double of = ceil(log2((double) n)) + 2;
    if (k->dense)
        of = n <= MOST_DENSE ? (double) n + 16 : MOST_DENSE + 16 + (double) (n / MOST_DENSE) + 16;
    for (int64_t i = 0; i < n; i++) {
        const double v = scale * sum[i], edge = v + k->edge * ldexp(of * fabs(scale) * magnitude, -24);
        y[i] = (float) edge;
        if (fabs(k->edge) <= 1 && fabs(y[i] - v) > fabs(edge - v)) /* this rounding must not leave the hull */
            y[i] = nextafterf(y[i], (float) v);
    }
    return true;
}

/* ---- one row ---- */

static float scale_of(const struct hadamard_args *a, const struct lc_call *call, enum mutant mut)
{
    const bool given = call->n_scalars > 0;
    float s = (float) a->scale;
    if (mut == MUT_had_default_scale_1 && !given)
        s = 1;
    if (mut == MUT_had_default_scale_1_n && !given)
        s = 1 / (float) a->n;
    if (mut == MUT_had_scale_ignored)
        s = 1 / sqrtf((float) a->n);
    if (mut == MUT_had_scale_bf16)
        s = plain_round(s, 8);
    if (mut == MUT_had_scale_f16)
        s = plain_round(s, 11);
    if (mut == MUT_had_scale_sign)
        s = fabsf(s);
    if (mut == MUT_had_scale_ulp)
        s = nextafterf(s, 2);
    return s;
}

static float load(const struct lc_tensor *t, int64_t at)
{
    return t->dtype == LC_F32 ? ((const float *) t->data)[at] : plain_from_bf16(((const uint16_t *) t->data)[at]);
}

static void store(const struct lc_tensor *t, int64_t at, float v, enum mutant mut)
{
    enum plain_rounding how = PLAIN_RN;
    if (mut == MUT_had_out_truncate)
        how = PLAIN_TRUNCATE;
    if (mut == MUT_had_out_ties_away)
        how = PLAIN_AWAY;
    if (t->dtype == LC_F32)
        ((float *) t->data)[at] = v;
    else
        ((uint16_t *) t->data)[at] = plain_bf16(v, how);
}

/* Element i of what is kept goes where the mutant's order has it. */
static int64_t ordered(int64_t n, int64_t i, enum mutant mut)
{
    int64_t reversed = 0;
    for (int64_t bit = 1; bit < n; bit *= 2)
        reversed = 2 * reversed + (i & bit ? 1 : 0);
    if (mut == MUT_had_bit_reversed)
        return reversed;
    if (mut == MUT_had_sequency) /* by sign changes: Gray code, reversed */
        for (int64_t b = i; (b >>= 1) > 0;)
            i ^= b;
    if (mut == MUT_had_sequency) {
        reversed = 0;
        for (int64_t bit = 1; bit < n; bit *= 2)
            reversed = 2 * reversed + (i & bit ? 1 : 0);
        return reversed;
    }
    return i;
}

static bool sum_row(int64_t n, float *x, float *y, float scale, const struct plain_knobs *k, int order, enum mutant mut)
{
    static const enum mutant of_serial[] = { MUT_had_serial, MUT_had_sign_8_bits, MUT_had_sign_of_xor, MUT_had_sign_of_product };
    bool finite = true;
    for (int64_t i = 0; i < n; i++) {
        finite = finite && isfinite(x[i]);
        if (mut == MUT_had_nan_swallowed && x[i] != x[i])
            x[i] = 0;
        if (mut == MUT_had_inf_clipped && isinf(x[i]))
            x[i] = copysignf(plain_float(0x7f7fffff), x[i]);
        if (mut == MUT_had_ftz && fabsf(x[i]) < plain_pow2(-126))
            x[i] = 0;
        if (mut == MUT_had_tf32)
            x[i] = plain_round(x[i], 11);
        if (mut == MUT_had_scale_first)
            x[i] *= scale;
    }
    if (mut == MUT_had_drops_last)
        x[n - 1] = 0;
    if (k->edge != 0 && finite && at_the_edge(n, x, y, (double) scale, k))
        return true;
    if (k->dense || plain_one_of(mut, of_serial, 4)) {
        dense(n, x, y, mut);
    } else if (order == 3) {
        for (int64_t i = 0; i < n; i++)
            y[i] = tree(x, n, i, 0);
    } else {
        memcpy(y, x, (size_t) n * sizeof *y);
        butterflies(n, y, order, mut);
    }
    for (int64_t i = 0; i < n && mut != MUT_had_scale_first; i++) {
        if (mut == MUT_had_round_then_scale)
            y[i] = plain_round(y[i], 8);
        if (k->minus_zero && y[i] == 0)
            y[i] = -0.0f; /* FMT-6 */
        else
            y[i] *= scale;
        if (mut == MUT_had_scale_twice)
            y[i] *= scale;
    }
    for (int64_t i = 0; i < n && !finite && k->nan; i++)
        y[i] = k->nan == 1 ? plain_float(0xffc00001) : (i & 1 ? -INFINITY : INFINITY); /* HAD-6 */
    if (mut == MUT_had_nan_half)
        for (int64_t i = 0; i < n && !finite; i += 2)
            y[i] = 1;
    return finite;
}

int plain_hadamard(const struct lc_call *call, const struct plain_knobs *k, enum mutant mut)
{
    static float x[MOST_N], y[MOST_N];
    static int runs;
    union op_args args;
    const int status = ref_hadamard_check(call, &args);
    if (status != LC_OK)
        return plain_refuse(call, status, mut);
    const struct hadamard_args *const a = &args.hadamard;
    const struct lc_tensor *const in = a->t[HAD_X], *const out = a->t[HAD_OUT];
    const int64_t n = a->n, rows = a->batch * a->m, size = in->dtype == LC_F32 ? 4 : 2;
    const bool inplace = in->data == out->data;
    const float scale = scale_of(a, call, mut);
    int order = k->order;
    bool finite = true;
    runs++;
    if (mut == MUT_had_order_by_run)
        order = runs % 2;
    if (mut == MUT_had_no_rows && rows == 0)
        abort(); /* a launch of no blocks is an error */
    if (mut == MUT_had_inplace_skipped && inplace)
        return LC_OK;
    for (int64_t row = 0; row < rows; row++) {
        const int64_t from = mut == MUT_had_x_dense ? row * n : plain_row(in, a->m, row, mut);
        const int64_t to = plain_row(mut == MUT_had_out_strides_of_x ? in : out, a->m, row, mut);
        struct lc_tensor base = *in;
        if (mut == MUT_had_last_row_unwritten && row == rows - 1)
            break;
        if (mut == MUT_had_base_rounded_down)
            base.data = (void *) ((uintptr_t) in->data & ~(uintptr_t) 15);
        for (int64_t i = 0; i < n; i++)
            x[i] = load(&base, from + i);
        if (mut == MUT_had_nan_leaks && !finite)
            x[0] = NAN;
        if (mut == MUT_had_reads_gap)
            x[0] += 0 * load(in, from + n);
        if (mut == MUT_had_reads_out)
            x[0] += 0 * load(out, to);
        finite = sum_row(n, x, y, scale, k, order, mut);
        int64_t end = n;
        if (mut == MUT_had_tail_unwritten)
            end = n - 8;
        for (int64_t i = 0; i < end; i++) {
            store(out, to + i, y[ordered(n, i, mut)], mut);
            if (mut == MUT_had_inplace_too_early && inplace && i == n / 2) { /* the second half is read when the first is there */
                for (int64_t j = 0; j < n; j++)
                    x[j] = load(in, from + j);
                sum_row(n, x, y, scale, k, order, mut);
            }
        }
        if (mut == MUT_had_stray_gap)
            store(out, to + n, 0, mut);
        if (mut == MUT_had_stray_before && row == 0)
            *((uint8_t *) out->data - 1) ^= 0x55;
        if (mut == MUT_had_writes_x)
            memset((char *) in->data + from * size, 0, (size_t) size); /* scratch in place */
    }
    return LC_OK;
}
