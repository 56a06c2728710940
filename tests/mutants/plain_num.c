/* SPDX-License-Identifier: Apache-2.0 */
/* Roundings in f32 and integer bits (FMT-1, FMT-2, CAST-4), row offsets, and the answer to bad arguments
 * (ERR-1). */
#include "plain.h"

#include <ctype.h>
#include <stdlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

uint32_t plain_bits(float v)
{
    uint32_t b;
    memcpy(&b, &v, sizeof b);
    return b;
}

float plain_float(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

float plain_from_bf16(uint16_t code)
{
    return plain_float((uint32_t) code << 16);
}

/* FMT-1: the carry of the mantissa runs into the exponent, and from the largest finite value to Inf. */
uint16_t plain_bf16(float v, enum plain_rounding how)
{
    const uint32_t b = plain_bits(v);
    if (v != v)
        return (uint16_t) (b >> 16 | 0x40);
    if (how == PLAIN_TRUNCATE)
        return (uint16_t) (b >> 16);
    if (how == PLAIN_AWAY)
        return (uint16_t) ((b + 0x8000) >> 16);
    return (uint16_t) ((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

float plain_round(float v, int significant)
{
    const int drop = 24 - significant;
    if (drop <= 0 || v != v)
        return v;
    const uint32_t b = plain_bits(v), half = 1u << (drop - 1);
    return plain_float((b + half - 1 + (b >> drop & 1)) >> drop << drop);
}

/* FMT-2: RN, then saturation to 448; the sign stays. */
uint8_t plain_e4m3(float v, enum mutant mut)
{
    const uint32_t sign = plain_bits(v) >> 24 & 0x80, b = plain_bits(v) & 0x7fffffff;
    uint32_t code;
    if (v != v) {
        if (mut == MUT_cast_nan_zero)
            return (uint8_t) sign;
        if (mut == MUT_cast_nan_saturates)
            return (uint8_t) (sign | 0x7e);
        return (uint8_t) (sign | 0x7f);
    }
    if (b >= 0x43e00000)
        return (uint8_t) (sign | 0x7e); /* 448 and above, Inf too */
    if (mut == MUT_cast_saturates_early && b >= 0x43800000)
        return (uint8_t) (sign | 0x7e);
    if (b < 0x3c800000) { /* below 2^-6: steps of 2^-9 */
        code = plain_bits(plain_float(b) + 16384.0f) - plain_bits(16384.0f);
        if (mut == MUT_cast_subnormal_flush)
            code = 0;
        if (mut == MUT_cast_subnormal_formula && code < 8)
            code = b >> 20 & 7;
        if (mut == MUT_cast_underflow_sign && code == 0)
            return 0;
        return (uint8_t) (sign | code);
    }
    uint32_t r = b + 0x7ffff + (b >> 20 & 1);
    if (mut == MUT_cast_code_truncate)
        r = b;
    if (mut == MUT_cast_code_ties_away)
        r = b + 0x80000;
    if (mut == MUT_cast_code_ties_zero)
        r = b + 0x7ffff;
    if (mut == MUT_cast_carry_lost && (r ^ b) >> 23)
        r = b & 0xff800000; /* 126.24 becomes 64 */
    code = (r >> 20) - (120 << 3);
    return (uint8_t) (sign | (code > 0x7e ? 0x7e : code));
}

/* FMT-4: the codes are counted up to v; half of the gap to the next one decides. */
uint8_t plain_e2m1(float v, bool deepgemm, enum mutant mut)
{
    static const float value[8] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6 };
    const float a = fabsf(v);
    const uint8_t sign = plain_bits(v) >> 31 ? 8 : 0;
    uint8_t code = 0;
    bool to_zero = deepgemm;
    if (mut == MUT_fp4_ties_zero || mut == MUT_dg_ties_even)
        to_zero = !deepgemm;
    for (; code < 7; code++) {
        const float midpoint = (value[code] + value[code + 1]) / 2; /* exact */
        bool next = a > midpoint || (a == midpoint && code % 2 == 1 && !to_zero);
        if (mut == MUT_fp4_ties_away)
            next = a >= midpoint;
        if (mut == MUT_fp4_code_truncate)
            next = a >= value[code + 1];
        if (!next)
            break;
    }
    bool unsigned_zero = deepgemm;
    if (mut == MUT_fp4_zero_unsigned || mut == MUT_dg_zero_signed)
        unsigned_zero = !deepgemm;
    return code == 0 && unsigned_zero ? 0 : sign | code;
}

/* CAST-4: the exact ceil(log2(sf)) of a normal f32. */
int plain_ceil_exp(float sf, enum mutant mut)
{
    const uint32_t b = plain_bits(sf);
    const int e = (int) (b >> 23) - 127;
    if (mut == MUT_cast_exp_floor || mut == MUT_cast_pack_drops_mantissa)
        return e;
    if (mut == MUT_cast_exp_nearest)
        return e + (int) (b >> 22 & 1);
    if (mut == MUT_cast_exp_always_up)
        return e + 1;
    if (mut == MUT_cast_exp_log2f)
        return (int) ceilf(log2f(sf));
    if (mut == MUT_cast_exp_low_bits)
        return e + ((b & 0x7fff00) != 0);
    return e + ((b & 0x7fffff) != 0);
}

float plain_pow2(int e)
{
    return e < -126 ? 0.0f : e > 127 ? INFINITY : plain_float((uint32_t) (e + 127) << 23);
}

bool plain_one_of(enum mutant mut, const enum mutant *list, int n)
{
    bool any = false;
    for (int i = 0; i < n; i++)
        any |= mut == list[i];
    return any;
}

/* RMS-8, CAST-10: rows of a (B, M, d), (M, d) or (d) view, each operand with its own strides. */
/* Mutants of table_offset.h: the tensor whose offset wraps, and which part of it. */
static const struct {
    enum mutant mut;
    const char *tensor;
    enum { ROWS, ROWS_SIGNED, BATCHES } what;
} wraps[] = {
    { MUT_cast_offset_32, "x", ROWS },
    { MUT_cast_offset_31, "x", ROWS_SIGNED },
    { MUT_cast_batch_offset_32, "x", BATCHES },
    { MUT_rms_x_offset_32, "x", ROWS },
    { MUT_rms_x_offset_31, "x", ROWS_SIGNED },
    { MUT_rms_residual_offset_32, "residual", ROWS },
    { MUT_rms_out_offset_32, "out", ROWS },
    { MUT_rms_bf16_offset_32, "bf16", ROWS },
    { MUT_rms_residual_out_offset_32, "residual_out", ROWS },
    { MUT_rms_batch_offset_32, "x", BATCHES },
    { MUT_had_x_offset_32, "x", ROWS },
    { MUT_had_x_offset_31, "x", ROWS_SIGNED },
    { MUT_had_out_offset_32, "out", ROWS },
    { MUT_had_batch_offset_32, "x", BATCHES },
};

/* b * batch + i * step, as the mutant holds it. */
static int64_t wrapped(const struct lc_tensor *t, int64_t batch, int64_t row, enum mutant mut)
{
    for (size_t k = 0; k < sizeof wraps / sizeof *wraps; k++) {
        if (wraps[k].mut != mut || strcmp(wraps[k].tensor, t->name))
            continue;
        if (wraps[k].what == BATCHES)
            return (int64_t) (uint32_t) batch + row;
        const int64_t low = (int64_t) (uint32_t) row;
        return batch + (wraps[k].what == ROWS_SIGNED && low >> 31 ? low - (INT64_C(1) << 32) : low);
    }
    return batch + row;
}

int64_t plain_row(const struct lc_tensor *t, int64_t m, int64_t row, enum mutant mut)
{
    const int64_t step = t->rank > 1 ? t->stride[t->rank - 2] : 0, b = m > 0 ? row / m : 0, i = m > 0 ? row % m : 0;
    if (mut == MUT_rms_batch_flat || mut == MUT_cast_batch_flat || mut == MUT_had_batch_flat)
        return row * step;
    if (mut == MUT_rms_offset_24 || mut == MUT_cast_offset_24 || mut == MUT_had_offset_24)
        return row * step & 0xffffff;
    return wrapped(t, t->rank > 2 ? b * t->stride[0] : 0, i * step, mut);
}

/* True where the message cites this clause. */
static bool cites(const struct lc_call *call, const char *clause)
{
    const size_t n = strlen(clause);
    for (const char *p = call->msg ? call->msg : ""; (p = strstr(p, clause)) != NULL; p += n)
        if (!isdigit((unsigned char) p[n]))
            return true;
    return false;
}

int plain_refuse(const struct lc_call *call, int status, enum mutant mut)
{
    const struct lc_tensor *const out = arg_tensor(call, "out");
    if (mut == MUT_rms_accepts_overlap && cites(call, "RMS-2"))
        return LC_OK;
    if (mut == MUT_rms_accepts_dtype && cites(call, "RMS-7"))
        return LC_OK;
    if (mut == MUT_rms_accepts_stride && cites(call, "RMS-8"))
        return LC_OK;
    if (mut == MUT_rms_accepts_domain && cites(call, "RMS-12"))
        return LC_OK;
    if (mut == MUT_rms_accepts_layout && cites(call, "SF-0"))
        return LC_OK;
    if (mut == MUT_cast_accepts_overlap && cites(call, "DET-4"))
        return LC_OK;
    if (mut == MUT_cast_accepts_group && cites(call, "CAST-10"))
        return LC_OK;
    if (mut == MUT_cast_accepts_layout && cites(call, "SF-0"))
        return LC_OK;
    if (mut == MUT_cast_accepts_ragged_word && (cites(call, "SF-2") || cites(call, "SF-3")))
        return LC_OK;
    if (mut == MUT_ragged_accepts_f32 && cites(call, "SF-6"))
        return LC_OK;
    if (mut == MUT_fp4_accepts_odd && out && out->dtype == LC_E2M1X2 && cites(call, "CAST-10"))
        return LC_OK;
    if (mut == MUT_fp4_accepts_utccp && out && out->dtype == LC_E2M1X2 && cites(call, "SF-4"))
        return LC_OK;
    if (mut == MUT_cast_accepts_few_rows && cites(call, "SF-4"))
        return LC_OK;
    if (mut == MUT_had_accepts_any_n && cites(call, "HAD-1"))
        return LC_OK;
    if (mut == MUT_had_accepts_views && cites(call, "HAD-4"))
        return LC_OK;
    if (mut == MUT_had_accepts_overlap && cites(call, "DET-4"))
        return LC_OK;
    if (mut == MUT_had_accepts_numbers && cites(call, "HAD-6"))
        return LC_OK;
    if (mut == MUT_lin_accepts_weight && cites(call, "LIN-6"))
        return LC_OK;
    if (mut == MUT_lin_accepts_k && cites(call, "LIN-7"))
        return LC_OK;
    if (mut == MUT_lin_accepts_views && cites(call, "LIN-10"))
        return LC_OK;
    if (mut == MUT_lin_accepts_acc && cites(call, "LIN-2"))
        return LC_OK;
    if (mut == MUT_lin_accepts_alignment && cites(call, "LIN-4"))
        return LC_OK;
    if (mut == MUT_lin_accepts_scales && cites(call, "SF-3"))
        return LC_OK;
    if (mut == MUT_lin_accepts_fp8_extras && cites(call, "LIN-5"))
        return LC_OK;
    if (mut == MUT_lin_accepts_bias && cites(call, "LIN-9"))
        return LC_OK;
    if (mut == MUT_lin_accepts_overlap && cites(call, "DET-4"))
        return LC_OK;
    if (mut == MUT_rms_accepts_all || mut == MUT_cast_accepts_all || mut == MUT_had_accepts_all || mut == MUT_lin_accepts_all)
        return LC_OK;
    if (mut == MUT_rms_refuses_silently && call->msg_size > 0)
        call->msg[0] = 0;
    if (mut == MUT_cast_refuses_vaguely || mut == MUT_had_refuses_vaguely || mut == MUT_lin_refuses_vaguely)
        snprintf(call->msg, call->msg_size, "invalid argument");
    if (mut == MUT_rms_writes_then_refuses || mut == MUT_cast_writes_then_refuses || mut == MUT_had_writes_then_refuses ||
        mut == MUT_lin_writes_then_refuses)
        if (out && out->data && out->rank > 0 && out->shape[0] > 0)
            *(uint8_t *) out->data ^= 0x55;
    return status;
}

bool plain_other_order(enum mutant mut, const struct lc_tensor *x, int64_t m, int64_t d, int64_t row)
{
    static int calls;
    const char *const threads = getenv("OMP_NUM_THREADS");
    switch (mut) {
    case MUT_rms_order_by_counter:
        calls += row == 0;
        return calls % 8 == 7;
    case MUT_rms_order_by_address:
        return (uintptr_t) x->data % 16 != 0;
    case MUT_rms_order_by_stride:
        return x->stride[x->rank - 2] != d;
    case MUT_rms_order_by_m:
        return m < 256; /* R22 */
    case MUT_rms_order_by_place:
        return row % 2 != 0;
    case MUT_rms_order_by_threads:
        return threads && atoi(threads) > 2;
    default:
        return false;
    }
}
