/* SPDX-License-Identifier: Apache-2.0 */
/* CAST-8, which no output of an operator shows: what is dequantised and cast again is the same number, and when the codes repeat. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "ops.h"

enum { D = 32, ROUNDS = 20000 };

struct group {
    struct iv x[D], q[D], sf[1];
    uint8_t q_free[D], sf_free[1];
    uint32_t code[D];
    double back[D], largest; /* dequantised; the largest |code's value| */
    bool finite;
};

static uint64_t random_state = 448;

static uint64_t rnd(void) /* splitmix64 */
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void cast(struct group *g, const struct sf_args *s)
{
    struct ref_want count = { .ambiguous = 0 };
    const enum lc_dtype f = s->e2m1 ? LC_E2M1X2 : LC_E4M3;
    ref_cast_groups(s, LC_F32, D, g->x, NULL, g->q, g->q_free, g->sf, g->sf_free, &count);
    g->finite = true;
    g->largest = 0;
    for (int i = 0; i < D; i++) {
        cr_assert(!g->q_free[i] && !g->sf_free[0]);
        g->code[i] = fmt_code(f, g->q[i].v);
        const double v = fmt_load(f, g->code[i]);
        g->back[i] = rn_f32(v * g->sf[0].v); /* exact for a power of two, but for its end */
        g->finite = g->finite && isfinite(g->back[i]);
        g->largest = fmax(g->largest, fabs(v));
    }
}

/* Any f32 of exponents lo..hi-1 around one exponent of the group; some groups are zero but for a few. */
static void draw(struct group *g, int exponent, int spread)
{
    const bool sparse = rnd() % 8 == 0;
    for (int i = 0; i < D; i++) {
        const double v = rn_f32(ldexp(1 + ldexp((double) (rnd() >> 40), -24), exponent - (int) (rnd() % (unsigned) spread)));
        g->x[i] = iv_pt(sparse && i > 1 ? 0 : rnd() % 2 ? v : -v);
    }
}

static void check(bool e2m1, bool round)
{
    const struct sf_args s = { .group = D, .groups = 1, .round = round, .e2m1 = e2m1 };
    const double half = e2m1 ? 3 : 224, floor_sf = e2m1 ? ldexp(1, -126) : round ? ldexp(1, -22) : rn_f32_div(rn_f32(1e-4), 448);
    int repeated = 0, others = 0;
    for (int n = 0; n < ROUNDS; n++) {
        static struct group first, second;
        draw(&first, (int) (rnd() % 253) - 126, 1 + (int) (rnd() % 16));
        cast(&first, &s);
        if (!first.finite)
            continue;
        for (int i = 0; i < D; i++)
            second.x[i] = iv_pt(first.back[i]);
        cast(&second, &s);
        for (int i = 0; i < D; i++)
            cr_assert(first.back[i] == second.back[i] && !signbit(first.back[i]) == !signbit(second.back[i]),
                      "round %d: %a becomes %a, then %a", n, first.x[i].v, first.back[i], second.back[i]);
        if (!round || first.largest > half || first.sf[0].v == floor_sf) {
            cr_assert_eq(first.sf[0].v, second.sf[0].v, "round %d: scale %a, then %a", n, first.sf[0].v, second.sf[0].v);
            cr_assert_eq(memcmp(first.code, second.code, sizeof first.code), 0, "round %d", n);
            repeated++;
        } else
            others += first.sf[0].v != second.sf[0].v;
    }
    cr_assert(repeated > ROUNDS / 4, "%d", repeated);
    cr_assert(!round || others > 0, "the rule's other side never came");
}

Test(cast, e4m3_rounded)
{
    check(false, true);
}

Test(cast, e4m3_f32_scales)
{
    check(false, false);
}

Test(cast, e2m1_rounded)
{
    check(true, true);
}

Test(cast, e2m1_f32_scales)
{
    check(true, false);
}

/* CAST-4 on hulls: of values that cancel, amax may lie in any of many binades. Every power of two from the one's scale to the other's
 * is legal, and nothing else; the codes are then judged under it. */
static void check_hull(bool e2m1, bool packed)
{
    const struct sf_args s = { .group = D, .groups = 1, .round = true, .e2m1 = e2m1, .packed = packed };
    const enum lc_dtype f = packed ? LC_UE8M0 : LC_F32;
    struct ref_want count = { .ambiguous = 0 };
    static struct group g;
    const double most = ldexp(e2m1 ? 6 : 448, 3), least = ldexp(1, e2m1 ? -126 : -22);
    for (int i = 0; i < D; i++)
        g.x[i] = (struct iv) { 0, -most, most };
    for (int e = e2m1 ? -127 : -30; e <= 6; e++) {
        const uint32_t got = fmt_code(f, ldexp(1, e));
        ref_cast_groups(&s, LC_F32, D, g.x, &got, g.q, g.q_free, g.sf, g.sf_free, &count);
        const bool legal = ldexp(1, e) >= least && e <= 3;
        cr_assert_eq(judge(f, g.sf[0], got) != UNEXPLAINED, legal, "2^%d", e);
        cr_assert_eq(g.q[0].hi, most / (legal ? ldexp(1, e) : least), "2^%d", e);
        const uint32_t beside = fmt_code(LC_F32, ldexp(1.5, e));
        if (packed || e < -126)
            continue;
        ref_cast_groups(&s, LC_F32, D, g.x, &beside, g.q, g.q_free, g.sf, g.sf_free, &count);
        cr_assert_eq(judge(f, g.sf[0], beside), UNEXPLAINED, "3 * 2^%d", e - 1);
    }
}

Test(cast, e4m3_scales_of_a_hull)
{
    check_hull(false, false);
    check_hull(false, true);
}

Test(cast, e2m1_scales_of_a_hull)
{
    check_hull(true, false);
    check_hull(true, true);
}
