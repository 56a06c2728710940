/* SPDX-License-Identifier: Apache-2.0 */
/* ROT-1..7, YARN-1..5. The caller's parameters are read here again: what ref/ made of them is not used, but for n. */
#include "plain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct rope {
    const struct plain_knobs *k;
    enum mutant mut;
    int64_t d, n, rows, first, every;
    int scaling;
    float base, factor, ext, mscale;
    double low, high;
};

static float moved(float v, int ulps)
{
    for (int i = 0; i < ulps; i++)
        v = nextafterf(v, HUGE_VALF);
    for (int i = 0; i > ulps; i--)
        v = nextafterf(v, -HUGE_VALF);
    return v;
}

static float to_bf16(float v)
{
    return plain_from_bf16(plain_bf16(v, PLAIN_RN));
}

/* ---- YARN-1, YARN-4 ---- */

static double turns(const struct rope *r, double orig, double rot)
{
    const double two_pi = 6.283185307179586;
    return (double) r->d * log(orig / (rot * two_pi)) / (2 * log((double) r->base));
}

static double magnitude(const struct rope *r, double m)
{
    const enum mutant mut = r->mut;
    double ln = log((double) r->factor);
    if (mut == MUT_rot_mscale_log10)
        ln = log10((double) r->factor);
    if (r->factor <= 1 && mut != MUT_rot_mscale_unguarded)
        return 1;
    return 0.1 * m * ln + 1;
}

static void read_yarn(struct rope *r, const struct lc_call *call)
{
    const enum mutant mut = r->mut;
    const double orig = (double) arg_int(call, "orig", 0), attn = arg_real(call, "attn_factor", 1);
    double fast = arg_real(call, "beta_fast", 32), slow = arg_real(call, "beta_slow", 1);
    double m = arg_real(call, "mscale", 1), all_dim = arg_real(call, "mscale_all_dim", 0);
    bool truncate = arg_int(call, "truncate", 1) != 0;
    if (mut == MUT_rot_default_beta_fast) /* YARN-6 */
        fast = arg_real(call, "beta_fast", 16);
    if (mut == MUT_rot_default_beta_slow)
        slow = arg_real(call, "beta_slow", 2);
    if (mut == MUT_rot_default_mscale)
        m = arg_real(call, "mscale", 0);
    if (mut == MUT_rot_default_all_dim)
        all_dim = arg_real(call, "mscale_all_dim", 1);
    if (mut == MUT_rot_beta_exchanged) {
        const double was = fast;
        fast = slow, slow = was;
    }
    if (mut == MUT_rot_truncate_always)
        truncate = true;
    if (mut == MUT_rot_truncate_never)
        truncate = false;
    r->ext = (float) arg_real(call, "extrapolation_factor", 1);
    if (mut == MUT_rot_default_ext)
        r->ext = (float) arg_real(call, "extrapolation_factor", 0);
    r->low = turns(r, orig, fast);
    r->high = turns(r, orig, slow);
    if (truncate && mut == MUT_rot_floor_ceil_swapped) {
        r->low = ceil(r->low), r->high = floor(r->high);
    } else if (truncate) {
        r->low = floor(r->low);
        r->high = ceil(r->high);
    }
    if (mut != MUT_rot_low_unclamped)
        r->low = fmax(r->low, 0);
    if (mut == MUT_rot_high_half)
        r->high = fmin(r->high, (double) (r->d / 2 - 1));
    if (mut != MUT_rot_high_unclamped)
        r->high = fmin(r->high, (double) (r->d - 1));
    if (mut == MUT_rot_order_repaired && r->low > r->high) {
        const double was = r->low;
        r->low = r->high, r->high = was;
    }
    if (r->low == r->high && mut != MUT_rot_equal_unsplit)
        r->high += 0.001;
    double mscale = magnitude(r, m) / magnitude(r, all_dim) * attn;
    if (mut == MUT_rot_mscale_ignored || mut == MUT_rot_mscale_on_angle)
        mscale = 1;
    if (mut == MUT_rot_mscale_twice)
        mscale *= mscale;
    if (mut == MUT_rot_mscale_all_dim_only)
        mscale = magnitude(r, all_dim) * attn;
    if (mut == MUT_rot_mscale_no_ratio)
        mscale = magnitude(r, 1) * attn;
    if (mut == MUT_rot_attn_ignored)
        mscale = magnitude(r, m) / magnitude(r, all_dim);
    r->mscale = (float) mscale;
}

/* ---- one frequency ---- */

/* ROT-1 */
static float power_of(const struct rope *r, int64_t i)
{
    const enum mutant mut = r->mut;
    const float e = (float) (2 * i) / (float) r->d;
    if (mut == MUT_rot_exponent_f64)
        return (float) pow((double) r->base, (double) (2 * i) / (double) r->d);
    if (mut == MUT_rot_power_exp2f)
        return exp2f(e * log2f(r->base));
    return moved((float) pow((double) r->base, (double) e), r->k->p_ulp);
}

/* YARN-2, YARN-3 */
static float yarn(const struct rope *r, int64_t i, float p)
{
    const enum mutant mut = r->mut;
    float span = (float) (r->high - r->low);
    if (mut == MUT_rot_span_f32)
        span = (float) r->high - (float) r->low;
    float ramp = ((float) i - (float) r->low) / span;
    if (mut != MUT_rot_ramp_unclamped)
        ramp = ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
    float lambda = (1 - ramp) * r->ext;
    if (mut == MUT_rot_ramp_inverted)
        lambda = ramp * r->ext;
    if (mut == MUT_rot_lambda_clamped)
        lambda = lambda < 0 ? 0 : lambda > 1 ? 1 : lambda;
    if (mut == MUT_rot_ext_ignored)
        lambda = 1 - ramp;
    if (mut == MUT_rot_bands_missing)
        lambda = 0;
    const float plain = 1 / p;
    float scaled = 1 / (r->factor * p);
    if (mut == MUT_rot_scaled_twice_rounded)
        scaled = plain / r->factor;
    if (mut == MUT_rot_mix_fma)
        return fmaf(plain, lambda, scaled * (1 - lambda));
    if (mut == MUT_rot_mix_lerp)
        return scaled + (plain - scaled) * lambda;
    return scaled * (1 - lambda) + plain * lambda;
}

static float frequency(const struct rope *r, int64_t k)
{
    const enum mutant mut = r->mut;
    int64_t i = r->first + k * r->every;
    if (mut == MUT_rot_prune_from_zero)
        i = k * r->every;
    if (mut == MUT_rot_prune_early && r->first > 0)
        i--;
    if (mut == MUT_rot_prune_sampled_first)
        i = (r->first + r->every - 1) / r->every * r->every + k * r->every;
    if (mut == MUT_rot_prune_not_sampled)
        i = r->first + k;
    const float p = power_of(r, i);
    float v = 1 / p;
    if (r->scaling == ROPE_LINEAR && mut != MUT_rot_linear_ignored && mut != MUT_rot_linear_positions)
        v = 1 / (r->factor * p);
    if (r->scaling == ROPE_YARN)
        v = yarn(r, i, p);
    if (mut == MUT_rot_inverse_power)
        v = (float) pow((double) r->base, -(double) ((float) (2 * i) / (float) r->d));
    if (mut == MUT_rot_division_ulp)
        v = nextafterf(v, 0);
    if (mut == MUT_rot_column_between)
        v = moved(v, 5);
    return mut == MUT_rot_inv_freq_bf16 ? to_bf16(v) : v;
}

/* ---- one entry ---- */

static float reduced_f32(float x) /* what fast intrinsics do: modulo 2 pi in f32 */
{
    return x - rintf(x * 0.15915494f) * 6.2831855f;
}

static void put(const struct lc_tensor *t, int64_t at, float v, enum mutant mut)
{
    if (t->dtype == LC_BF16) {
        ((uint16_t *) t->data)[at] = plain_bf16(v, mut == MUT_rot_bf16_truncate ? PLAIN_TRUNCATE : PLAIN_RN); /* ROT-6 */
        return;
    }
    float *const to = (float *) t->data + at;
    if (mut == MUT_rot_reads_table)
        v += 0 * *to;
    *to = mut == MUT_rot_table_bf16 ? to_bf16(v) : v;
}

static void entry(const struct rope *r, const struct lc_tensor *table, int64_t row, int64_t k, float inv_freq)
{
    const enum mutant mut = r->mut;
    float position = (float) row;
    if (mut == MUT_rot_position_bf16)
        position = to_bf16(position);
    if (mut == MUT_rot_position_one)
        position = (float) (row + 1);
    if (mut == MUT_rot_linear_positions && r->scaling == ROPE_LINEAR)
        position = position / r->factor;
    if (mut == MUT_rot_inv_freq_bf16_inside)
        inv_freq = to_bf16(inv_freq);
    if (mut == MUT_rot_inv_freq_other || (mut == MUT_rot_column_mixed && row % 2))
        inv_freq = 1 / moved(power_of(r, r->first + k * r->every), 1);
    double angle = (double) (position * inv_freq); /* ROT-2 */
    if (mut == MUT_rot_angle_f64)
        angle = (double) position * (double) inv_freq;
    if (mut == MUT_rot_mscale_on_angle) {
        const float scale = (float) (0.1 * log((double) r->factor) + 1);
        angle = (double) ((float) angle * scale);
    }
    if (mut == MUT_rot_trig_fast)
        angle = (double) reduced_f32((float) angle);
    float c = moved((float) cos(angle), r->k->cos_ulp), s = moved((float) sin(angle), r->k->sin_ulp); /* ROT-3 */
    if (mut == MUT_rot_trig_degraded)
        c = plain_round(c, 21), s = plain_round(s, 21);
    if (mut == MUT_rot_sin_sign)
        s = -s;
    int64_t at_c = row * 2 * r->n + k, at_s = at_c + r->n; /* ROT-4 */
    if (mut == MUT_rot_interleaved)
        at_c = row * 2 * r->n + 2 * k, at_s = at_c + 1;
    if (mut == MUT_rot_sin_first)
        at_s -= r->n, at_c += r->n;
    if (mut == MUT_rot_width_rotary)
        at_c = row * r->d + k, at_s = at_c + r->n;
    if (mut == MUT_rot_halves_apart)
        at_c = row * r->n + k, at_s = r->rows * r->n + at_c;
    put(table, at_c, c * r->mscale, mut);
    put(table, at_s, s * r->mscale, mut);
}

static int refused(const struct lc_call *call, int status, enum mutant mut)
{
    const struct lc_tensor *const t = arg_tensor(call, "table");
    const char *const msg = call->msg ? call->msg : "";
    if (mut == MUT_rot_accepts_all)
        return LC_OK;
    if (mut == MUT_rot_accepts_increase && strstr(msg, "increases"))
        return LC_OK;
    if (mut == MUT_rot_accepts_empty_prune && strstr(msg, "no inv_freq"))
        return LC_OK;
    if (mut == MUT_rot_accepts_width && strstr(msg, "shape"))
        return LC_OK;
    if (mut == MUT_rot_writes_then_refuses && t && t->data && t->rank == 2 && t->shape[0] > 0)
        *(uint8_t *) t->data ^= 0x55;
    if (mut == MUT_rot_refuses_vaguely)
        snprintf(call->msg, call->msg_size, "invalid argument");
    return status;
}

int plain_rope_table(const struct lc_call *call, const struct plain_knobs *k, enum mutant mut)
{
    union op_args args;
    const int status = ref_rope_table_check(call, &args);
    if (status != LC_OK)
        return refused(call, status, mut);
    const struct rope_table_args *const a = &args.rope_table;
    struct rope r = { .k = k,
                      .mut = mut,
                      .d = a->rotary_dim,
                      .n = a->n,
                      .rows = a->rows,
                      .first = a->first,
                      .every = a->every,
                      .scaling = (int) a->scaling,
                      .base = (float) arg_real(call, "base", 0),
                      .factor = (float) arg_real(call, "factor", 1),
                      .mscale = 1 };
    if (mut == MUT_rot_base_bf16)
        r.base = to_bf16(r.base);
    if (mut == MUT_rot_base_integer)
        r.base = floorf(r.base);
    if (r.scaling == ROPE_NTK) { /* ROT-7 */
        const double d = (double) r.d;
        double exponent = d / (d - 2);
        if (mut == MUT_rot_ntk_exponent)
            exponent = 1;
        if (mut != MUT_rot_ntk_ignored)
            r.base = (float) ((double) r.base * pow((double) r.factor, exponent));
    }
    if (r.scaling == ROPE_YARN)
        read_yarn(&r, call);
    const int64_t rows = mut == MUT_rot_row_short ? r.rows - 1 : r.rows;
    for (int64_t i = 0; i < r.n; i++) {
        const float inv_freq = frequency(&r, i);
        if (a->t[ROT_INV_FREQ] && mut != MUT_rot_inv_freq_unwritten)
            ((float *) a->t[ROT_INV_FREQ]->data)[i] = inv_freq;
        for (int64_t row = 0; row < rows; row++)
            entry(&r, a->t[ROT_TABLE], row, i, inv_freq);
        if (mut == MUT_rot_row_long && i == 0)
            entry(&r, a->t[ROT_TABLE], r.rows, i, inv_freq);
    }
    return LC_OK;
}
