/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of linear: its orders (LIN-1), the edge of its bound, and what is wrong in either. */
#include "plain_linear.h"

#include <math.h>

/* ---- the sum ---- */

/* A step of a tensor core: the terms and what is there are cut at 2^-bits of the largest, summed, cut at 2^-23. */
static float core_step(float acc, const float *t, int64_t n, int bits)
{
    double largest = fabs((double) acc), sum = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fabs((double) t[i]) > largest || t[i] != t[i] ? fabs((double) t[i]) : largest;
    if (!(largest > 0) || isinf(largest)) { /* zeros; or NaN and Inf, which f32 adds right */
        for (int64_t i = 0; i < n; i++)
            acc += t[i];
        return acc;
    }
    const double quantum = ldexp(1, ilogb(largest) - bits < -149 ? -149 : ilogb(largest) - bits);
    for (int64_t i = 0; i < n; i++)
        sum += trunc(t[i] / quantum) * quantum;
    sum += trunc(acc / quantum) * quantum;
    if (sum == 0)
        return 0;
    const double last = ldexp(1, ilogb(sum) - 23);
    return (float) (trunc(sum / last) * last);
}

static float core(const float *t, int64_t n, int64_t step, int bits, enum mutant mut)
{
    float acc = 0, all = 0;
    for (int64_t i = 0; i < n; i += step) {
        acc = core_step(acc, t + i, n - i < step ? n - i : step, bits);
        if (mut == MUT_lin_acc_13_promoted) { /* into f32 each step */
            all += acc;
            acc = 0;
        }
    }
    return all + acc;
}

static float pairwise(const float *t, int64_t n)
{
    if (n == 1)
        return *t;
    return pairwise(t, n / 2) + pairwise(t + n / 2, n - n / 2);
}

static float serial(const float *t, int64_t n, int64_t step, enum mutant mut)
{
    float sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += t[i * step];
        if (mut == MUT_lin_bf16_sums || (mut == MUT_lin_bf16_chunks && i % 128 == 127))
            sum = plain_round(sum, 8);
    }
    return sum;
}

/* Two parts of K, each a sum of its own. */
static float split(const float *t, int64_t n, enum mutant mut)
{
    const int64_t half = (n + 1) / 2, tile = (half + 31) / 32 * 32;
    int64_t first = half, second = half;
    if (mut == MUT_lin_split_overlap && tile < n)
        first = tile; /* whole tiles of 32 from a start that is none */
    float a = serial(t, first, 1, mut), b = serial(t + second, n - second, 1, mut);
    if (mut == MUT_lin_split_bf16) {
        a = plain_round(a, 8);
        b = plain_round(b, 8);
    }
    return a + b;
}

float plain_linear_sum(const struct linear_args *a, const float *term, int order, enum mutant mut)
{
    int64_t n = a->k;
    if (mut == MUT_lin_drops_last)
        n -= n > 0;
    if (mut == MUT_lin_k_tail_8)
        n -= n % 8;
    if (mut == MUT_lin_k_tail_32)
        n -= n % 32;
    if (mut == MUT_lin_k_tail_128)
        n -= n % 128;
    if (mut == MUT_lin_k_tail_512 && n > 512)
        n -= n % 512;
    if (mut == MUT_lin_ragged_last_word && a->ragged && n > 128)
        n -= n % 128;
    if (mut == MUT_lin_k_most && n > 7168)
        n = 7168;
    if (n == 0)
        return 0;
    if (mut == MUT_lin_acc_13 || mut == MUT_lin_acc_13_promoted)
        return core(term, n, 32, 13, mut);
    if (mut == MUT_lin_acc_14)
        return core(term, n, 32, 14, mut);
    if (mut == MUT_lin_split_overlap || mut == MUT_lin_split_bf16)
        return split(term, n, mut);
    switch (order) {
    case 1: { /* from the last to the first */
        float sum = 0;
        for (int64_t i = n - 1; i >= 0; i--)
            sum += term[i];
        return sum;
    }
    case 2:
        return pairwise(term, n);
    case 3:
        return core(term, n, a->fp8 ? 32 : 16, 25, mut); /* LIN-1 */
    case 4:
        return core(term, n, 8, 24, mut); /* LIN-1, compute capability 8.x */
    case 5: {
        float lanes[64] = { 0 };
        for (int64_t i = 0; i < n; i++)
            lanes[i % 64] += term[i];
        return pairwise(lanes, 64);
    }
    default:
        return serial(term, n, 1, mut);
    }
}

/* ---- the edge of LIN-1 ---- */

/* The exact sum with out_acc, pushed aside by so many times what LIN-1 admits; false where nothing is free (LIN-8). */
bool plain_linear_edge(const struct linear_args *a, const float *term, const struct plain_knobs *k, float c, float *acc)
{
    double sum = c, magnitude = fabs((double) c);
    int lowest = 1000;
    for (int64_t i = -1; i < a->k; i++) {
        const float t = i < 0 ? c : term[i];
        int exp;
        double sig = frexp(t, &exp);
        if (!isfinite(t))
            return false;
        if (i >= 0) {
            sum += t;
            magnitude += fabs((double) t);
        }
        for (; sig != floor(sig); sig *= 2)
            exp--;
        if (t != 0 && exp < lowest)
            lowest = exp;
    }
    if (magnitude <= ldexp(1, 24 + lowest) || magnitude >= ldexp(1, 127))
        return false;
    const double edge = sum + k->edge * ldexp(((k->k8 ? 1.4 : 1) * (double) a->k + 32) * magnitude, -24);
    *acc = (float) edge;
    if (fabs(k->edge) <= 1 && fabs(*acc - sum) > fabs(edge - sum)) /* this rounding must not leave the hull */
        *acc = nextafterf(*acc, (float) sum);
    return true;
}

/* ---- mutants of sizes, and of LIN-11 ---- */

bool plain_linear_gives_up(const struct linear_args *a, int64_t row, int64_t n, enum mutant mut)
{
    return (mut == MUT_lin_n_tail_256 && a->n > 256 && n >= a->n / 256 * 256) || (mut == MUT_lin_n_most && n >= 512) ||
           (mut == MUT_lin_m_most && row >= 257);
}

float plain_linear_large(const struct linear_args *a, const float *term, float c, struct plain_infs infs, float v,
                         enum mutant mut)
{
    double magnitude = fabs((double) c);
    if (mut == MUT_lin_inf_overflow_is_0 && infs.in_operands && infs.in_products && v != v)
        return 0;
    if (mut == MUT_lin_inf_overflow_is_nan && infs.in_operands && infs.in_products)
        return plain_float(0x7fc00000);
    if (mut != MUT_lin_large_is_0)
        return v;
    for (int64_t i = 0; i < a->k; i++)
        magnitude += fabs((double) term[i]);
    return isfinite(magnitude) && magnitude >= ldexp(1, 127) ? 0 : v;
}
