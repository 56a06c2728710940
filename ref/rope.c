/* SPDX-License-Identifier: Apache-2.0 */
/* Rotation of pairs by the table's cosines and sines.
 *
 *   (a, b) -> (a*c - b*s, b*c + a*s)                        APPLY-1; conjugate: -s for s (APPLY-2)
 */
#include <math.h>

#include "ops.h"

static double largest(struct iv x)
{
    return fmax(fabs(x.lo), fabs(x.hi));
}

/* p*c + q*s, and what a conforming kernel may hold before the store. c and s are f32 values. */
static struct iv rotated(struct iv p, double c, struct iv q, double s, double k, uint8_t *free)
{
    const struct iv pc = iv_scale(p, c), qs = iv_scale(q, s);
    struct iv y = iv_add(pc, qs);
    if (iv_is_nan(y) || isinf(y.v))
        return iv_pt(y.v); /* APPLY-6 */
    const double size = largest(pc) + largest(qs);
    if (size == 0)
        return y; /* zero products: IEEE fixes the sum's sign (FMT-6) */
    if (size >= ldexp(1, 127)) {
        *free = 1; /* a product or the sum may overflow in f32 */
        return iv_pt(y.v);
    }
    /* FMT-6: the sign of terms that cancel is free; the last term is what two products lose to underflow. */
    y = iv_widen(y, ldexp(k * (1 + ldexp(1, -20)) * size, -24) + ldexp(1, -149));
    return y;
}

void ref_rope_rotate(const struct ref_rotation *how, const double *cos, const double *sin, struct iv *x, uint8_t *free)
{
    const double k = how->exact_products ? REF_ROPE_EXACT_K : REF_ROPE_K;
    uint8_t unused[2];
    for (int64_t i = 0; i < how->pairs; i++) {
        const int64_t at_a = how->interleaved ? 2 * i : i, at_b = how->interleaved ? 2 * i + 1 : how->pairs + i;
        const struct iv a = x[at_a], b = x[at_b];
        const double c = cos[i], s = how->conjugate ? -sin[i] : sin[i];
        x[at_a] = rotated(a, c, b, -s, k, free ? &free[at_a] : &unused[0]);
        x[at_b] = rotated(b, c, a, s, k, free ? &free[at_b] : &unused[1]);
    }
}
