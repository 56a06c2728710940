/* SPDX-License-Identifier: Apache-2.0 */
/* The fills of context_cast that rope has no use for: what decides scales. */
#include <math.h>

#include "context_cast.h"
#include "rope.h"

static double one_zero(const struct call *c, int64_t row, int64_t pair, int side, int64_t index)
{
    (void) c, (void) row, (void) pair, (void) index;
    return side ? 0 : 1;
}

static double ones(const struct call *c, int64_t row, int64_t pair, int side, int64_t index)
{
    (void) c, (void) row, (void) pair, (void) side, (void) index;
    return 1;
}

/* A group's exponent, and the column of its largest. */
static int exponent_of(const struct rope_spot *s, int64_t group)
{
    return (int) ((s->token * 11 + group * 5) % 24) - 12;
}

static int64_t column(const struct rope_spot *s)
{
    return s->head * s->c->args.rope.d + s->i;
}

/* Nothing turns (cosine 1, sine 0): amax of a group of 32 is 448 * 2^k or a BF16 neighbour of it. */
static double edge(const struct rope_spot *s)
{
    const int64_t col = column(s), group = col / 32;
    const uint32_t of_group = draw_bits(s->c, CTX_OUT, s->token * 4096 + group), bits = draw_bits(s->c, s->slot, s->index);
    const int e = exponent_of(s, group);
    if (col % 32 == (int64_t) (of_group % 32))
        return ldexp(448 + 2 * (double) ((int) (of_group >> 8) % 3 - 1), e) * (bits & 1 ? -1 : 1);
    return ldexp((double) (bits % 256) - 128, e);
}

/* Cosine and sine 1: pairs that sum to 449 * 2^k, between the BF16 448 and 450, one on either side of a scale step. */
static double reach(const struct rope_spot *s)
{
    const int e = (int) ((s->token * 7 + s->head) % 16) - 8;
    if (s->pair < 0)
        return rope_normal(s) * ldexp(1, e);
    if (s->pair % 8 != s->token % 8)
        return ldexp(rope_normal(s) * 8, e);
    return ldexp(s->side ? 1 : 448, e);
}

/* Scales that differ between neighbours in tokens and groups. */
static double scales(const struct rope_spot *s)
{
    return rope_normal(s) * ldexp(1, (int) ((s->token * 37 + column(s) / 32 * 23) % 40) - 10);
}

static double root_half(const struct call *c, int64_t row, int64_t pair, int side, int64_t index)
{
    (void) c, (void) row, (void) pair, (void) side, (void) index;
    return rn_f32_rsqrt(2);
}

/* An eighth of a turn of a = b or a = -b: in whole groups of one side nothing is left but the rounding of one product, where the
 * other has none. amax may then lie anywhere in many binades. */
static double diagonal(const struct rope_spot *s)
{
    if (s->pair < 0)
        return rope_normal(s);
    const uint32_t of_head = draw_bits(s->c, CTX_OUT, s->token * 64 + s->head), bits = draw_bits(s->c, s->slot, s->pair);
    return ldexp((of_head & 1 && s->side ? -1.0 : 1.0) * (128 + bits % 128), 5 + (int) (s->token % 8));
}

void context_cast_fill_edges(struct call *c)
{
    rope_fill(c, edge, one_zero);
}

void context_cast_fill_reach(struct call *c)
{
    rope_fill(c, reach, ones);
}

void context_cast_fill_scales(struct call *c)
{
    rope_fill(c, scales, rope_polar);
}

void context_cast_fill_diagonal(struct call *c)
{
    rope_fill(c, diagonal, root_half);
}
