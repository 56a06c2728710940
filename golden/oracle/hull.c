/* SPDX-License-Identifier: Apache-2.0 */
/* RMS-5: what a product of four factors may be in f32, whatever the order. */
#include "oracle.h"

#include <math.h>

#define HULL_BITS 512

static double larger(const double a, const double b)
{
    return a > b ? a : b;
}

void hull_init(struct hull *const h)
{
    for (int i = 0; i < FACTOR_SETS; i++)
        mpfr_inits2(HULL_BITS, h->least[i], h->most[i], h->lost[i], (mpfr_ptr) 0);
}

void hull_clear(struct hull *const h)
{
    for (int i = 0; i < FACTOR_SETS; i++)
        mpfr_clears(h->least[i], h->most[i], h->lost[i], (mpfr_ptr) 0);
}

/* The product of a set is its last product, of two parts, rounded: the worst over all ways to part it. Losses
 * of the parts grow with the other part; the product loses up to 2^-150 more if it can lie below 2^-126. */
static void hull_lost(struct hull *const h, const int set)
{
    MPFR_DECL_INIT(lost, HULL_BITS);
    MPFR_DECL_INIT(t, HULL_BITS);

    mpfr_set_zero(h->lost[set], 1);
    for (int part = (set - 1) & set; part > 0; part = (part - 1) & set) {
        const int other = set - part;

        mpfr_mul(lost, h->lost[part], h->most[other], MPFR_RNDU);
        mpfr_add(t, h->most[part], h->lost[part], MPFR_RNDU);
        mpfr_mul(t, t, h->lost[other], MPFR_RNDU);
        mpfr_add(lost, lost, t, MPFR_RNDU);
        mpfr_mul_d(lost, lost, 1.0 + ldexp(1.0, -24), MPFR_RNDU);
        mpfr_sub(t, h->least[set], lost, MPFR_RNDD);
        if (mpfr_cmp_d(t, ldexp(1.0, -126)) < 0) {
            mpfr_set_d(t, ldexp(1.0, -150), MPFR_RNDN);
            mpfr_add(lost, lost, t, MPFR_RNDU);
        }
        mpfr_max(h->lost[set], h->lost[set], lost, MPFR_RNDU);
    }
}

/* The magnitudes of an f32 product of non-zero factors, at most three roundings, in any order: [lo, hi],
 * rounded outward. */
void hull_of(struct hull *const h, const double r, const struct freedom rstd, const double w, const double out_scale,
             double *const lo, double *const hi)
{
    const double least[FACTORS] = { r, rstd.least, w, out_scale }, most[FACTORS] = { r, rstd.most, w, out_scale };
    const double down = 1.0 - ldexp(1.0, -24), up = 1.0 + ldexp(1.0, -24);

    for (int set = 1; set < FACTOR_SETS; set++) {
        int i = FACTORS - 1;
        while ((set >> i) == 0)
            i--;
        const int rest = set - (1 << i);

        mpfr_set_d(h->least[set], least[i], MPFR_RNDD);
        mpfr_set_d(h->most[set], most[i], MPFR_RNDU);
        mpfr_set_zero(h->lost[set], 1);
        if (rest == 0)
            continue;
        mpfr_mul(h->least[set], h->least[set], h->least[rest], MPFR_RNDD);
        mpfr_mul_d(h->least[set], h->least[set], down, MPFR_RNDD);
        mpfr_mul(h->most[set], h->most[set], h->most[rest], MPFR_RNDU);
        mpfr_mul_d(h->most[set], h->most[set], up, MPFR_RNDU);
        hull_lost(h, set);
    }

    MPFR_DECL_INIT(t, HULL_BITS);
    const int all = FACTOR_SETS - 1;

    mpfr_sub(t, h->least[all], h->lost[all], MPFR_RNDD);
    *lo = larger(mpfr_get_d(t, MPFR_RNDD), 0.0); /* underflow keeps the sign */
    mpfr_add(t, h->most[all], h->lost[all], MPFR_RNDU);
    *hi = mpfr_get_d(t, MPFR_RNDU);
}
