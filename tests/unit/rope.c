/* SPDX-License-Identifier: Apache-2.0 */
/* ref/rope.c: lengths of pairs, there and back, what is in place, positions outside the table. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "wide.h"

enum { TOKENS = 64, HEADS = 2, D = 24, ROTARY = 16, OFFSET = 4, ROWS = 4096, COLS = HEADS * ROTARY };

static uint16_t query[TOKENS * HEADS * D], out[TOKENS * HEADS * D];
static float table[ROWS * ROTARY];
static uint16_t narrow_table[ROWS * ROTARY];
static int64_t positions[TOKENS];

static uint64_t random_state = 2104;

static uint64_t rnd(void) /* splitmix64 */
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

struct a_call {
    struct lc_tensor t[4];
    struct lc_scalar s[3];
    struct lc_call call;
    char msg[256];
};

static void make(struct a_call *c, uint16_t *from, uint16_t *to, bool narrow, int interleaved, int conjugate)
{
    const int64_t one = HEADS * D;
    *c = (struct a_call) {
        .t = { { "query", from, LC_BF16, 3, { TOKENS, HEADS, D }, { one, D, 1 } },
               { "table",
                 narrow ? (void *) narrow_table : (void *) table,
                 narrow ? LC_BF16 : LC_F32,
                 2,
                 { ROWS, ROTARY },
                 { ROTARY, 1 } },
               { "positions", positions, LC_I64, 1, { TOKENS }, { 1 } },
               { "query_out", to, LC_BF16, 3, { TOKENS, HEADS, D }, { one, D, 1 } } },
        .s = { { "offset", OFFSET, 0 }, { "interleaved", interleaved, 0 }, { "conjugate", conjugate, 0 } },
    };
    c->call = (struct lc_call) { .size = sizeof c->call,
                                 .device = -1,
                                 .tensors = c->t,
                                 .scalars = c->s,
                                 .n_tensors = to ? 4 : 3,
                                 .n_scalars = 3,
                                 .msg = c->msg,
                                 .msg_size = sizeof c->msg };
}

/* The nominal result of `from`, in `to`, another array. */
static void rotate(uint16_t *from, uint16_t *to, bool narrow, int interleaved, int conjugate)
{
    static struct iv y[HEADS * D], at[COLS], rest[HEADS * (D - ROTARY)];
    static uint8_t open[COLS], rest_open[HEADS * (D - ROTARY)];
    static double work[ROTARY];
    static const struct ref_got nobody;
    struct a_call c;
    union op_args args;
    make(&c, from, to, narrow, interleaved, conjugate);
    cr_assert_eq(ref_rope_check(&c.call, &args), LC_OK, "%s", c.msg);
    cr_assert_eq(ref_rope_check_values(&c.call, &args), LC_OK, "%s", c.msg);
    cr_assert_eq(ref_rope_work(&args), sizeof work);
    struct ref_want w = { .y = y, .work = work };
    w.at[ROPE_QUERY_OUT] = at, w.at[ROPE_QUERY_REST] = rest;
    w.free[ROPE_QUERY_OUT] = open, w.free[ROPE_QUERY_REST] = rest_open;
    for (int64_t token = 0; token < TOKENS; token++) {
        ref_rope_row(&args, token, &nobody, &w);
        for (int h = 0; h < HEADS; h++)
            for (int i = 0; i < D; i++) {
                const int j = i - OFFSET, r = j < 0 ? i : i - ROTARY;
                uint16_t *const code = &to[(token * HEADS + h) * D + i];
                *code = j >= 0 && j < ROTARY ? (uint16_t) fmt_code(LC_BF16, at[h * ROTARY + j].v)
                                             : (uint16_t) rest[h * (D - ROTARY) + r].v;
                cr_assert(j >= 0 && j < ROTARY ? open[h * ROTARY + j] == 0 : *code == from[(token * HEADS + h) * D + i]);
            }
    }
}

static void fill(void)
{
    for (int i = 0; i < TOKENS * HEADS * D; i++)
        query[i] = (uint16_t) fmt_code(LC_BF16, ldexp((double) (int32_t) rnd(), (int) (rnd() % 8) - 32));
    for (int i = 0; i < TOKENS; i++)
        positions[i] = i ? (int64_t) (rnd() % ROWS) : ROWS - 1;
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < ROTARY / 2; i++) {
            const double angle = rn_f32(row * rn_f32_div(1, rn_f32_pow(10000, rn_f32_div(2 * i, ROTARY))));
            table[row * ROTARY + i] = (float) rn_f32_cos(angle);
            table[row * ROTARY + ROTARY / 2 + i] = (float) rn_f32_sin(angle);
        }
    for (int i = 0; i < ROWS * ROTARY; i++)
        narrow_table[i] = (uint16_t) fmt_code(LC_BF16, (double) table[i]);
}

static double value(const uint16_t *x, int head, int i)
{
    return fmt_load(LC_BF16, x[head * D + OFFSET + i]);
}

static int other(int pair, int side, int interleaved)
{
    return interleaved ? 2 * pair + side : side * (ROTARY / 2) + pair;
}

/* One rounding to BF16 moves a pair by u = 2^-8 of its length at most. The table is off the unit circle, its length by t of 1:
 * |c^2 + s^2 - 1| <= 2^-23 (ROT-3), t = 2^-23; in BF16 each entry is off by 2^-8 of itself more, t = 2^-8 + 2^-22.
 *   length     | |x'| - |x| | <= ((1 + u) (1 + t) - 1) |x|
 *   and back   R^T x' is off by q = 2 t + t^2 + u (1 + t)^2, and its rounding by u (1 + q) */
Test(rope, keeps_lengths_and_goes_back)
{
    static uint16_t there[TOKENS * HEADS * D], back[TOKENS * HEADS * D], twice[TOKENS * HEADS * D];
    fill();
    for (int narrow = 0; narrow < 2; narrow++)
        for (int interleaved = 0; interleaved < 2; interleaved++) {
            const double u = ldexp(1, -8), t = narrow ? ldexp(1, -8) + ldexp(1, -22) : ldexp(1, -23),
                         q = 2 * t + t * t + u * (1 + t) * (1 + t);
            double worst_length = 0, worst_back = 0, least_twice = 1;
            rotate(query, there, narrow, interleaved, 0);
            rotate(there, back, narrow, interleaved, 1);
            rotate(there, twice, narrow, interleaved, 0);
            for (int head = 0; head < TOKENS * HEADS; head++) {
                double moved = 0;
                for (int pair = 0; pair < ROTARY / 2; pair++) {
                    const int a = other(pair, 0, interleaved), b = other(pair, 1, interleaved);
                    const double length = hypot(value(query, head, a), value(query, head, b));
                    const double then = hypot(value(there, head, a), value(there, head, b));
                    const double off = hypot(value(back, head, a) - value(query, head, a),
                                             value(back, head, b) - value(query, head, b));
                    moved = fmax(moved, hypot(value(twice, head, a) - value(query, head, a),
                                              value(twice, head, b) - value(query, head, b)) /
                                            length);
                    worst_length = fmax(worst_length, fabs(then - length) / length);
                    worst_back = fmax(worst_back, off / length);
                }
                least_twice = fmin(least_twice, moved);
            }
            cr_assert_leq(worst_length, (1 + u) * (1 + t) - 1, "narrow %d interleaved %d: %g", narrow, interleaved, worst_length);
            cr_assert_leq(worst_back, q + u * (1 + q), "narrow %d interleaved %d: %g", narrow, interleaved, worst_back);
            cr_assert_gt(worst_back, u / 4); /* the data come near */
            cr_assert_gt(least_twice, 0.01); /* the inverse is not the rotation */
        }
}

Test(rope, absent_and_the_same_view_are_in_place)
{
    struct a_call c;
    union op_args args;
    make(&c, query, NULL, false, 0, 0);
    cr_assert_eq(ref_rope_check(&c.call, &args), LC_OK, "%s", c.msg);
    cr_assert(args.rope.in_place[0] && args.rope.t[ROPE_QUERY_OUT] == &c.t[0] && !args.rope.t[ROPE_QUERY_REST]);
    make(&c, query, query, false, 0, 0);
    cr_assert_eq(ref_rope_check(&c.call, &args), LC_OK, "%s", c.msg);
    cr_assert(args.rope.in_place[0] && !args.rope.t[ROPE_QUERY_REST]);
    make(&c, query, out, false, 0, 0);
    cr_assert_eq(ref_rope_check(&c.call, &args), LC_OK, "%s", c.msg);
    cr_assert(!args.rope.in_place[0] && args.rope.t[ROPE_QUERY_REST] == &c.t[3]);
}

/* ERR-2: the first token that offends, in either width. */
Test(rope, positions_outside_the_table_are_named)
{
    static const int64_t bad[] = { -1, ROWS, INT64_MAX, INT64_MIN, INT64_C(1) << 32 };
    struct a_call c;
    union op_args args;
    fill();
    for (int i = 0; i < 5; i++) {
        char words[64];
        positions[7] = bad[i];
        snprintf(words, sizeof words, "positions[7] = %lld", (long long) bad[i]);
        make(&c, query, out, false, 0, 0);
        cr_assert_eq(ref_rope_check(&c.call, &args), LC_OK, "%s", c.msg);
        cr_assert_eq(ref_rope_check_values(&c.call, &args), LC_BAD_ARG);
        cr_assert(strstr(c.msg, words) && strstr(c.msg, "ERR-2"), "%s", c.msg);
        cr_assert(ref_rope_lost(&args, 7) && !ref_rope_lost(&args, 6));
    }
    static int32_t narrow[TOKENS];
    narrow[3] = INT32_MIN;
    make(&c, query, out, false, 0, 0);
    c.t[2].data = narrow;
    c.t[2].dtype = LC_I32;
    cr_assert_eq(ref_rope_check(&c.call, &args), LC_OK, "%s", c.msg);
    cr_assert_eq(ref_rope_check_values(&c.call, &args), LC_BAD_ARG);
    cr_assert(strstr(c.msg, "positions[3] = -2147483648"), "%s", c.msg);
}

/* APPLY-6: a NaN makes its pair NaN in any arithmetic, however large the other product is; an Inf may meet the other Inf. */
Test(rope, nan_beside_overflow)
{
    const struct ref_rotation how = { .pairs = 1 };
    const double big = ldexp(1, 100), c = ldexp(1, 30), nan = (double) NAN;
    const struct {
        double a, b, cos, sin;
        int open;
    } cases[] = { { nan, big, c, c, 0 },      { big, nan, c, c, 0 },      { big, 1, c, nan, 0 },   { big, 1, nan, c, 0 },
                  { INFINITY, big, c, c, 1 }, { big, 1, c, INFINITY, 1 }, { INFINITY, 1, c, c, 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct iv x[2] = { iv_pt(cases[i].a), iv_pt(cases[i].b) };
        uint8_t open[2] = { 0, 0 };
        ref_rope_rotate(&how, &cases[i].cos, &cases[i].sin, x, open);
        cr_assert_eq(open[0] || open[1], cases[i].open, "case %zu", i);
        if (isnan(cases[i].a + cases[i].b + cases[i].cos + cases[i].sin))
            cr_assert(isnan(x[0].v) && isnan(x[1].v), "case %zu", i);
    }
}
