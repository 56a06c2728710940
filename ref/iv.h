/* SPDX-License-Identifier: Apache-2.0 */
/* What a conforming kernel may hold at one point of a computation: the nominal value, and the hull around it.
 *
 * All steps are monotone, so they act end by end. NaN: all three are NaN. Not finite, NaN or Inf not told apart (HAD-6): v is
 * NaN, lo -Inf, hi Inf; no step leads there or on from there but to NaN. */
#ifndef REF_IV_H
#define REF_IV_H

#include "num.h"

struct iv {
    double v, lo, hi; /* nominal; lo <= v <= hi */
};

struct iv iv_pt(double v);
struct iv iv_not_finite(void);
struct iv iv_widen(struct iv x, double radius); /* radius >= 0; outwards by one more double, so that no end is lost */
struct iv iv_abs(struct iv x);
struct iv iv_max(struct iv a, struct iv b); /* maximumNumber is not meant: NaN in either gives NaN */
struct iv iv_add(struct iv a, struct iv b);
struct iv iv_scale(struct iv x, double s);        /* finite s, any sign; exact when s is a power of two */
struct iv iv_round(enum lc_dtype f, struct iv x); /* an internal rounding: both ends and v rounded */
bool iv_is_pt(struct iv x);                       /* lo == hi (a signed zero pair counts as a point) */
bool iv_is_nan(struct iv x);                      /* or not finite */
bool iv_is_finite(struct iv x);

/* How one code stands to what it should be. */
enum verdict {
    EXACT,       /* RN(v) */
    EXPLAINED,   /* in [RN(lo), RN(hi)], codes ordered by value */
    UNEXPLAINED, /* anything else: one fails the case */
    UNSPECIFIED  /* the contract leaves it open: not judged */
};
enum verdict judge(enum lc_dtype f, struct iv w, uint32_t got);

/* The kernel's own choice, if it is legal: a value that the kernel returned replaces the interval. got may be NULL. */
struct iv pick(enum lc_dtype f, struct iv w, const uint32_t *got);

#endif
