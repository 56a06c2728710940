/* SPDX-License-Identifier: Apache-2.0 */
/* Formats and roundings (FMT-1..6), and an exact accumulator. Every rounding of ref/ is a call of this file.
 *
 * A value is a double: all values of the formats up to f32 are doubles. A code is the raw bits, right-aligned in 32 bits.
 * "RN" is one rounding to nearest, ties to even, from the real number that the double is. */
#ifndef REF_NUM_H
#define REF_NUM_H

#include <stdbool.h>
#include <stdint.h>

#include "layercheck.h"

#ifdef __FAST_MATH__
#error "ref/ defines roundings: build it without -ffast-math"
#endif

/* Formats here are LC_F32, LC_BF16, LC_E4M3, LC_E2M1X2 (one 4-bit code, not the pair), LC_UE8M0; and integers: LC_I32, LC_I64
 * (positions and slots, a code is the low 32 bits of an int32 value) and FMT_BITS16, 16 bits that are copied, NaN payloads too
 * (QKV-1): its value is its code. */
#define FMT_BITS16 ((enum lc_dtype)(LC_I64 + 1))

int fmt_bytes(enum lc_dtype f);        /* bytes of one element in memory; LC_I32 4, LC_I64 8 */
const char *fmt_name(enum lc_dtype f); /* "f32" "bf16" "e4m3" "e2m1" "ue8m0" "i32" "i64" */
bool fmt_parse(const char *name, enum lc_dtype *f);

double fmt_load(enum lc_dtype f, uint32_t code); /* exact; NaN codes give NaN */

/* RN(v) as a code. E4M3 and E2M1 saturate (FMT-2, FMT-4); BF16 and F32 overflow to Inf (FMT-1); the sign is kept for zero
 * and underflow. NaN: 0x7fc0, 0x7fc00000, 0x7f, 0xff; E2M1 has none and gives 0. UE8M0: v must be a power of two
 * 2^-127..2^127 or NaN. */
uint32_t fmt_code(enum lc_dtype f, double v);

/* Position of a code in the order of values: consecutive codes of one sign differ by 1, -0 comes just before +0, Inf follows
 * the largest finite code. NaN has no position: do not ask. */
int64_t fmt_order(enum lc_dtype f, uint32_t code);
bool fmt_is_nan(enum lc_dtype f, uint32_t code);

double rn(enum lc_dtype f, double v); /* fmt_load(f, fmt_code(f, v)) */
double rn_f32(double v);
double rn_bf16(double v);
double rn_f32_div(double a, double b); /* fl(a / b) for f32 a, b: one rounding (the double quotient rounds innocuously) */
double rn_f32_rsqrt(double a);         /* fl(1 / sqrt(a)) for f32 a: one rounding of the real number (RMS-4) */
int ceil_log2(double v);               /* the exact ceil(log2(v)), finite v > 0 (CAST-4) */

/* Exact sum of doubles, each finite, below 2^400 and a multiple of 2^-400; at most 2^30 of them. An exact zero is +0. */
struct acc {
    int64_t limb[28]; /* base 2^32, limb[0] counts 2^-400; carries are put off */
};
void acc_clear(struct acc *a);
void acc_add(struct acc *a, double v);
double acc_round(const struct acc *a, enum lc_dtype f); /* RN(sum), f = LC_F32 or LC_BF16 */
double acc_mean_f32(const struct acc *a, int64_t n);    /* fl(sum / n), ONE rounding, 1 <= n < 2^32 */
double acc_double(const struct acc *a);                 /* sum rounded once to double */

#endif
