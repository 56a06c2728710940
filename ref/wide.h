/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions, correctly rounded (ROT-1, ROT-3, YARN-1, YARN-4, RMS-10): one rounding to nearest of the real number, whatever
 * libm's last bits are. With num.h, these are the roundings of ref/.
 *
 * Each is computed in fixed point with 224 fraction bits. Where many are needed (rn_f32_sin, rn_f32_cos, rn_f32_pow) the
 * library's double comes first: if everything within 2^-48 of it rounds to one f32, that is the answer, else the wide
 * computation decides. No tie can come up: sine, cosine, exponential and logarithm of these arguments are irrational or 1 or 0, and a power of an
 * f32 to a fraction either is that or has no more bits than the f32. */
#ifndef REF_WIDE_H
#define REF_WIDE_H

#include "num.h"

double rn_f32_sin(double x); /* x: any finite f32 */
double rn_f32_cos(double x);
double rn_f32_pow(double b, double e); /* b^e, f32 b >= 1 finite, f32 0 <= e <= 1 */

double rn_exp(enum lc_dtype f, double x);                         /* e^x in f = LC_F32 or LC_BF16, any f32 x; Inf above it */
double rn_f32_two_pi_over(double t);                              /* 2 pi / t, f32 t > 0 */
double rn_f64_log(double x);                                      /* ln x, x > 0 with at most 31 significant bits */
double rn_f64_turns(double d, double n, double rot, double base); /* d ln(n / (2 pi rot)) / (2 ln base), an integer d <= 4096 */
double rn_f32_ntk(double base, double s, uint32_t d);             /* base * s^(d / (d - 2)), 4 <= d <= 4096; Inf above f32 */

/* The same without the library. */
double wide_f32_sin(double x);
double wide_f32_cos(double x);
double wide_f32_pow(double b, double e);

#endif
