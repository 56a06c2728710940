/* SPDX-License-Identifier: Apache-2.0 */
/* CAST-1..9 on one row, and the operator `cast`. */
#include "plain.h"

#include <math.h>
#include <stdlib.h>

/* CAST-1: exact; a NaN does not count (CAST-7 leaves such a group open). */
static float amax_of(const struct plain_row *r, int64_t g)
{
    const enum mutant mut = r->mut;
    const int64_t begin = g * r->s->group;
    int64_t end = begin + r->s->group < r->d ? begin + r->s->group : r->d;
    float amax = 0;
    if (mut == MUT_cast_amax_drops_last)
        end--;
    if (mut == MUT_cast_amax_first_32 && end > begin + 32)
        end = begin + 32;
    if (mut == MUT_cast_amax_first_1024 && end > begin + 1024)
        end = begin + 1024;
    if (mut == MUT_cast_amax_short_group && end - begin < r->s->group)
        end = begin;
    if (mut == MUT_cast_amax_reads_gap)
        end = begin + r->s->group;
    if (mut == MUT_cast_amax_reads_sf)
        amax = plain_sf_load(r, g); /* running maximum never initialised */
    if (mut == MUT_cast_amax_keeps_sf && plain_sf_load(r, g) * 448 < 1e30f)
        amax = plain_sf_load(r, g) * 448; /* neither poison is that */
    for (int64_t i = begin; i < end; i++) {
        float v = fabsf(r->at(r->from, i));
        if (mut == MUT_cast_amax_signed)
            v = r->at(r->from, i);
        if (mut == MUT_cast_amax_bf16)
            v = plain_from_bf16(plain_bf16(v, PLAIN_RN));
        if (v > amax)
            amax = v;
    }
    return amax;
}

struct scale {
    float sf, times; /* the scale, and what the channels are multiplied by */
    int e;
};

/* CAST-2, CAST-3, CAST-4; CAST-9. */
static struct scale scale_of(const struct plain_row *r, const float amax)
{
    const enum mutant mut = r->mut;
    const float format_max = r->s->e2m1 ? 6.0f : 448.0f;
    const enum cast_dialect dialect = mut == MUT_cast_dialect_ignored ? CAST_USUAL : r->s->dialect;
    float lowest = 1e-4f, largest = format_max, lowest_sf = 0;
    if (r->s->e2m1 && dialect != CAST_DEEPGEMM)
        lowest = 6 * plain_pow2(-126);
    if (dialect == CAST_SF_FLOOR)
        lowest = 0, lowest_sf = 1e-4f;
    if (mut == MUT_fp4_floor_1e4)
        lowest = 1e-4f;
    if (mut == MUT_dg_floor_2_126)
        lowest = 6 * plain_pow2(-126);
    if (mut == MUT_fp4_max_4)
        largest = 4;
    if (mut == MUT_sff_no_floor)
        lowest_sf = 0;
    if (mut == MUT_cast_no_floor || mut == MUT_fp4_no_floor || mut == MUT_cast_floors_scale)
        lowest = 0;
    if (mut == MUT_cast_floor_1e10)
        lowest = 1e-10f;
    if (mut == MUT_cast_floor_strided && r->strided)
        lowest = 1e-10f;
    if (mut == MUT_cast_zero_is_one && amax == 0)
        lowest = 1;
    if (mut == MUT_cast_max_224)
        largest = 224.0f;
    if (mut == MUT_cast_max_240)
        largest = 240.0f;
    float a = amax > lowest ? amax : lowest;
    if (mut == MUT_cast_adds_eps)
        a = amax + lowest;
    struct scale s = { .sf = a / largest }; /* fl(amax / 448) */
    if (mut == MUT_cast_sf_times_rounded)
        s.sf = a * (1 / largest);
    if (mut == MUT_cast_sf_truncate && (double) s.sf * largest > a)
        s.sf = nextafterf(s.sf, 0);
    if (mut == MUT_cast_sf_bf16)
        s.sf = plain_from_bf16(plain_bf16(s.sf, PLAIN_RN));
    if (s.sf < lowest_sf)
        s.sf = lowest_sf;
    if (mut == MUT_cast_floors_scale && s.sf < 1e-4f)
        s.sf = 1e-4f;
    if ((r->k->sf_times && r->s->round) || r->k->sf_times_always)
        s.sf = a * (1 / largest);
    bool round = r->s->round;
    if (mut == MUT_sf_round_forgotten || mut == MUT_rms_round_forgotten)
        round = r->s->packed;
    if (mut == MUT_sf_round_forced)
        round = true;
    if (round) {
        s.e = plain_ceil_exp(s.sf, mut);
        if (mut == MUT_fp4_exp_floor)
            s.e = plain_ceil_exp(a, MUT_cast_exp_floor) - 2; /* F03: the exponent of amax less that of 6 */
        if (mut == MUT_fp4_exp_175)
            s.e = plain_ceil_exp(a, MUT_cast_exp_floor) - 2 + ((plain_bits(a) & 0x7fffff) > 0x600000);
        if (((r->k->sf_log2f && r->bf16) || r->k->sf_log2f_always) && isfinite(s.sf))
            s.e = (int) ceilf(log2f(s.sf));
        s.times = plain_pow2(-s.e);
        if (mut == MUT_cast_inverse_half && s.e < -15)
            s.times = INFINITY; /* Q27: 2^16 is no f16 */
        if (mut == MUT_cast_pack_drops_mantissa)
            s.times = 1 / s.sf; /* Q06: only the stored scale loses it */
        s.sf = plain_pow2(s.e);
    } else {
        s.times = format_max / a; /* fl(448 / amax) */
        if (dialect == CAST_DEEPGEMM && mut != MUT_dg_usual_factor)
            s.times = 1 / s.sf;
        if (mut == MUT_cast_inverse_of_sf)
            s.times = 1 / s.sf;
        if (mut == MUT_cast_inverse_two_roundings)
            s.times = 448.0f * (1 / a);
        if (mut == MUT_cast_inverse_not_floored)
            s.times = 448.0f / amax;
    }
    return s;
}

/* Rounded to odd, so that the next rounding is as if from v itself. */
static float to_odd(double v)
{
    float q = (float) v;
    if (q == v || !isfinite(v))
        return q;
    if (fabs((double) q) > fabs(v))
        q = nextafterf(q, 0);
    return plain_float(plain_bits(q) | 1);
}

/* CAST-5. */
static uint8_t code_of(const struct plain_row *r, const struct scale s, float v)
{
    const enum mutant mut = r->mut;
    if (mut == MUT_cast_double_round || mut == MUT_cast_reads_bf16)
        v = plain_from_bf16(plain_bf16(v, PLAIN_RN));
    if (mut == MUT_fp4_ftz && fabsf(v) < plain_pow2(-126))
        v = 0 * v;                   /* FMT-5 */
    float q = v * s.times * r->post; /* fl(x * fl(448 / amax)), or exact */
    const double exact = (double) v * s.times;
    if (mut == MUT_cast_divides && !r->s->round)
        q = v / s.sf;
    if (mut == MUT_cast_product_truncate && fabs((double) q) > fabs(exact))
        q = nextafterf(q, 0);
    if (mut == MUT_cast_product_unrounded)
        q = to_odd(exact);
    if (mut == MUT_cast_product_bf16)
        q = plain_from_bf16(plain_bf16(q, PLAIN_RN)); /* Q15 */
    if (r->s->e2m1)
        return plain_e2m1(q, r->s->dialect == CAST_DEEPGEMM && mut != MUT_cast_dialect_ignored, mut);
    return plain_e4m3(q, mut);
}

/* The code of channel i at its place: a byte, or a nibble of one (FMT-4). */
static void put_code(const struct plain_row *r, int64_t i, uint8_t code)
{
    const enum mutant mut = r->mut;
    if (!r->s->e2m1) {
        r->out[i] = code;
        return;
    }
    int64_t byte = i / 2;
    bool high = i % 2 != 0;
    if (mut == MUT_fp4_nibbles_swapped)
        high = !high;
    if (mut == MUT_fp4_nibble_spacing && i / 4 * 4 + 3 < r->d)
        byte = i / 4 * 2 + i % 2, high = i % 4 / 2 != 0; /* F04: a pair's codes are 8 bits apart */
    uint8_t *const at = r->out + byte;
    uint8_t other = high ? *at & 0x0f : *at & 0xf0;
    if (mut == MUT_fp4_ors_stale)
        other = *at;
    *at = (uint8_t) (other | (high ? code << 4 : code));
}

void plain_cast_row(const struct plain_row *r)
{
    const enum mutant mut = r->mut;
    const int64_t groups = mut == MUT_cast_last_group_unwritten ? r->s->groups - 1 : r->s->groups;
    const int64_t d = mut == MUT_cast_tail_unwritten || mut == MUT_fp4_tail_unwritten ? r->d - r->d % 8 : r->d;
    bool free_before = false, nan_before = false; /* the group before holds a NaN or Inf */
    for (int64_t g = 0; g < groups; g++) {
        const int64_t begin = g * r->s->group, end = begin + r->s->group < d ? begin + r->s->group : d;
        const float amax = amax_of(r, g);
        const struct scale s = scale_of(r, amax);
        bool has_nan = false;
        for (int64_t i = begin; i < end; i++) {
            float v = r->at(r->from, i);
            has_nan |= v != v;
            if (mut == MUT_cast_zero_unsigned && amax == 0)
                v = 0;
            put_code(r, i, code_of(r, s, v));
        }
        const bool is_free = has_nan || isinf(amax);
        for (int64_t i = begin; i < end; i++) {
            const bool nan = r->at(r->from, i) != r->at(r->from, i);
            if (nan && r->k->nan == 1 && !r->s->e2m1)
                r->out[i] ^= 0x80; /* either sign is a NaN (FMT-2) */
            if (r->k->nan > 1 && (is_free || (r->k->nan > 2 && free_before)))
                put_code(r, i, r->s->e2m1 ? 0xf : 0xff);
        }
        int e = r->k->nan > 1 && is_free ? 128 : s.e;
        if (mut == MUT_cast_nan_leaks && nan_before)
            e = 128;
        plain_sf_store(r, g, e == 128 ? NAN : s.sf, e);
        free_before = is_free, nan_before |= has_nan;
    }
}

/* ---- the operator ---- */
struct input {
    const struct lc_tensor *t;
    int64_t at;
};

static float load(const void *from, int64_t i)
{
    const struct input *const x = from;
    return x->t->dtype == LC_F32 ? ((const float *) x->t->data)[x->at + i]
                                 : plain_from_bf16(((const uint16_t *) x->t->data)[x->at + i]);
}

int plain_cast(const struct lc_call *call, const struct plain_knobs *k, enum mutant mut)
{
    union op_args args;
    const int status = ref_cast_check(call, &args);
    if (status != LC_OK)
        return plain_refuse(call, status, mut);
    const struct cast_args *const a = &args.cast;
    const struct lc_tensor *const x = a->t[CAST_X], *const out = a->t[CAST_OUT];
    const int64_t rows = a->batch * a->m;
    struct input in = { x, 0 };
    struct plain_row r = { .s = &a->sf,
                           .k = k,
                           .mut = mut,
                           .batch = a->batch,
                           .m = a->m,
                           .d = a->d,
                           .at = load,
                           .from = &in,
                           .post = 1,
                           .bf16 = x->dtype == LC_BF16,
                           .sf = a->t[CAST_SF],
                           .extra_sf = a->t[CAST_EXTRA_SF] };
    r.strided = x->rank > 1 && x->stride[x->rank - 2] != a->d;
    if (mut == MUT_cast_no_rows && rows == 0)
        abort(); /* a launch of no blocks is an error */
    for (r.row = 0; r.row < rows; r.row++) {
        if (mut == MUT_cast_last_row_unwritten && r.row == rows - 1)
            break;
        in.at = plain_row(x, a->m, r.row, mut);
        if (mut == MUT_cast_x_dense)
            in.at = r.row * a->d;
        r.out = (uint8_t *) out->data + r.row * (a->sf.e2m1 ? a->d / 2 : a->d);
        plain_cast_row(&r);
        if (mut == MUT_cast_stray_row_end)
            for (int64_t i = a->d; i % 8; i++)
                r.out[i] = 0; /* a whole vector for the tail */
        if (mut == MUT_fp4_stray_byte && r.row == rows - 1)
            r.out[a->d / 2] = 0; /* as if d were odd */
        if (mut == MUT_cast_stray_before && r.row == 0)
            r.out[-1] = 0;
        if (mut == MUT_cast_writes_x && x->dtype == LC_BF16)
            ((uint16_t *) x->data)[in.at] ^= 0x8000; /* scratch in place */
    }
    plain_sf_done(&r);
    return LC_OK;
}
