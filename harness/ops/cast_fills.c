/* SPDX-License-Identifier: Apache-2.0 */
/* The data of cases of cast. */
#include <math.h>

#include "../../ref/args.h"
#include "cast.h"

typedef double (*draw_fn)(const struct call *c, int64_t row, int64_t col, int64_t index);

static void fill_x(struct call *c, draw_fn draw)
{
    const int64_t n = c->op->rows(&c->args), d = c->args.cast.d;
    for (int64_t row = 0; row < n; row++)
        for (int64_t col = 0; col < d; col++)
            put(c, CAST_X, row, col, draw(c, row, col, row * d + col));
}

static enum lc_dtype x_fmt(const struct call *c)
{
    return c->slot[CAST_X].fmt;
}

static bool is_e2m1(const struct call *c)
{
    return c->slot[CAST_OUT].fmt == LC_E2M1X2;
}

/* The clamp is high for what the fill would do: CAST-9's of E2M1, or of the scale. */
static bool is_clamped_high(const struct call *c)
{
    const enum cast_dialect dialect = c->args.cast.sf.dialect;
    return dialect == CAST_SF_FLOOR || (dialect == CAST_DEEPGEMM && is_e2m1(c));
}

static double normal(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) row, (void) col;
    return draw_normal(c, CAST_X, i);
}

static double logu(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    const int64_t g = col / c->args.cast.sf.group; /* sixty binades over all; in a group ten, or as many as E2M1 has codes for */
    return draw_log(c, CAST_X, i, is_e2m1(c) ? -2 : -5, is_e2m1(c) ? 3 : 5) *
           ldexp(1, (int) ((row * 7 + g * 5) % 50) - (is_clamped_high(c) ? 0 : 25));
}

static double outlier(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) row;
    return draw_normal(c, CAST_X, i) * (col % 64 == 5 ? 1024 : 1);
}

static double tiny(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) col; /* around the clamp of CAST-2: 1e-4 = 2^-13.3, 6 * 2^-126 = 2^-123.4 */
    return draw_normal(c, CAST_X, i) * ldexp(1, -10 - (int) (row % 12) - (is_e2m1(c) ? 110 + (int) (row / 12 % 6) : 0));
}

static double huge(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) col;
    return draw_normal(c, CAST_X, i) * ldexp(1, 100 + (int) (row % 25));
}

static double zero_groups(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    const int64_t g = col / c->args.cast.sf.group;
    if ((row + g) % 3 == 0)
        return draw_bits(c, CAST_X, i) & 1 ? -0.0 : 0; /* CAST-6: the sign stays */
    return draw_normal(c, CAST_X, i);
}

static double exact(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) row, (void) col;
    return (double) (draw_bits(c, CAST_X, i) % 33) - 16;
}

/* Every group has amax = 448 * 2^e (6 * 2^e), so that the others are q * 2^e with q a midpoint of two codes, or one ulp of x
 * beside it. */
static double ties(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    const enum lc_dtype q = c->slot[CAST_OUT].fmt;
    const uint32_t top = is_e2m1(c) ? 7 : 126; /* the largest code */
    const int64_t in_group = col % c->args.cast.sf.group;
    const int e = (int) ((row * 5 + col / c->args.cast.sf.group * 3) % 16) - 8;
    const uint32_t bits = draw_bits(c, CAST_X, i);
    if (in_group == 0)
        return ldexp(fmt_load(q, top), e) * (bits & 1 ? -1 : 1);
    const uint32_t code = (bits >> 1) % top; /* between code and code + 1 */
    double v = (fmt_load(q, code) + fmt_load(q, code + 1)) / 2;
    const int beside = (int) (bits >> 8 & 3) - 1; /* -1, 0, 1, and 0 once more */
    if (beside == -1 || beside == 1)
        v += beside * ldexp(1, ilogb(v) - (x_fmt(c) == LC_F32 ? 23 : 7));
    return ldexp(bits & 0x10000 ? -v : v, e);
}

/* One channel anywhere in the group is the largest: what the group's own draw makes of it. */
static bool is_largest(const struct call *c, uint32_t bits, int64_t col)
{
    const int64_t size = c->args.cast.sf.group, g = col / size;
    const int64_t short_size = (g + 1) * size <= c->args.cast.d ? size : c->args.cast.d - g * size;
    return col % size == (int64_t) (bits >> 16) % short_size;
}

static uint32_t bits_of_group(const struct call *c, int64_t row, int64_t col)
{
    const int64_t n = row * c->args.cast.sf.groups + col / c->args.cast.sf.group;
    return draw_bits(c, CAST_X, (n << 20) + 1);
}

/* amax = 448 * 2^k (6 * 2^k) and up to 64 ulps of x away (CAST-4). */
static double pow2_edges(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    const uint32_t bits = bits_of_group(c, row, col);
    const int k = (int) (bits % 40) - (is_clamped_high(c) ? 0 : 20);
    const int f32 = x_fmt(c) == LC_F32;
    const double edge = is_e2m1(c) ? 6 : 448, others = is_e2m1(c) ? 1.2 : 32; /* a draw is below 4.9 */
    const int64_t near = (int64_t) (bits >> 8) % 3 - 1, far = (int64_t) (bits >> 10) % 129 - 64;
    const int64_t ulps = bits >> 30 == 0 && f32
                             ? far
                             : near * (1 + (int64_t) (bits >> 20) % 2); /* mostly the edge and its neighbours */
    if (is_largest(c, bits, col))
        return ldexp(edge + (double) ulps * ldexp(1, ilogb(edge) - (f32 ? 23 : 7)), k) * (draw_bits(c, CAST_X, i) & 1 ? -1 : 1);
    return ldexp(draw_normal(c, CAST_X, i) * others, k);
}

/* amax over every binade of f32 that has a scale, its significand in 64 steps from 1.25 to 2: both sides of 1.5 and 1.75, where
 * rules that derive an exponent otherwise part from CAST-4. */
static double sweep(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    const uint32_t bits = bits_of_group(c, row, col);
    const int lowest = is_e2m1(c) && c->args.cast.sf.dialect != CAST_DEEPGEMM ? -126 : -16,
              k = lowest + (int) ((bits >> 6) % (uint32_t) (128 - lowest));
    const double amax = ldexp(1.25 + ldexp(bits % 64, -6) * 0.75, k);
    if (is_largest(c, bits, col))
        return draw_bits(c, CAST_X, i) & 1 ? -amax : amax;
    return amax / 6 * draw_normal(c, CAST_X, i);
}

/* Scales that differ between any two neighbours in a row, a column, a word. */
static double mixed(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    return draw_normal(c, CAST_X, i) * ldexp(1, (int) ((row * 37 + col / c->args.cast.sf.group * 23) % 128) - 12);
}

static double specials(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    const int64_t g = col / c->args.cast.sf.group;
    const uint32_t bits = draw_bits(c, CAST_X, i);
    if ((row + g) % 4 == 1 && bits % 16 == 0)
        return bits & 16 ? NAN : bits & 32 ? INFINITY : -INFINITY;
    if ((row + g) % 4 == 2)
        return bits & 1 ? -0.0 : ldexp(bits & 2 ? -1.0 : 1.0, -133 + (int) (bits >> 8) % 8); /* subnormal */
    return draw_normal(c, CAST_X, i);
}

/* clang-format off */
#define FILL(name) void cast_fill_##name(struct call *c) { fill_x(c, name); }
FILL(normal) FILL(logu) FILL(outlier) FILL(tiny) FILL(huge) FILL(zero_groups) FILL(exact) FILL(ties) FILL(pow2_edges)
FILL(sweep) FILL(mixed) FILL(specials)
    /* clang-format on */
