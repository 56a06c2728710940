/* SPDX-License-Identifier: Apache-2.0 */
/* What query, key, table and positions of rope hold; and context, table and positions of context_cast, to which the same indices
 * and arguments belong. */
#include <math.h>
#include <string.h>

#include "../../ref/wide.h"
#include "../case.h"
#include "rope.h"

static const struct rope_args *args_of(const struct call *c)
{
    return &c->args.rope;
}

/* ---- positions ---- */

static int64_t position_of(const struct call *c, int64_t token)
{
    const struct rope_args *const a = args_of(c);
    const char *const how = kase_name(&c->id, "pos");
    if (!strcmp(how, "last"))
        return a->rows - 1;
    if (!strcmp(how, "permuted"))
        return (token * 7919 + 1) % a->n;
    if (!strcmp(how, "first"))
        return 0;
    return draw_bits(c, ROPE_POSITIONS, !strcmp(how, "repeated") ? token / 3 : token) % (uint32_t) a->rows;
}

static bool is_past(const struct call *c, int64_t token)
{
    return kase_int(&c->id, "past") && token % 3 == (args_of(c)->n > 1);
}

/* Some next to the table, some where nothing is mapped. */
int64_t rope_past(int64_t kind, int64_t token, int64_t rows, bool wide)
{
    const int64_t any[] = { INT64_MAX / 4096, rows, -1, INT64_MIN / 4096, INT64_C(1) << 40 };
    const int64_t any_narrow[] = { INT32_MAX, rows, -1, INT32_MIN };
    const int64_t below[] = { INT32_MIN, -1, wide ? INT64_MIN / 4096 : INT32_MIN / 2 };
    const int64_t above[] = { wide ? INT64_C(1) << 31 : INT32_MAX, wide ? INT64_MAX / 4096 : INT32_MAX - 1 };
    switch (kind) {
    case 2:
        return below[token / 3 % 3];
    case 3:
        return rows;
    case 4:
        return above[token / 3 % 2];
    case 5:
        return (INT64_C(1) << 32) + token % rows;
    default:
        return wide ? any[token / 3 % 5] : any_narrow[token / 3 % 4];
    }
}

static void fill_positions(struct call *c)
{
    for (int64_t token = 0; token < args_of(c)->n; token++)
        if (is_past(c, token))
            put_int(c, ROPE_POSITIONS, token, 0,
                    rope_past(kase_int(&c->id, "past"), token, args_of(c)->rows, c->slot[ROPE_POSITIONS].fmt == LC_I64));
        else
            put(c, ROPE_POSITIONS, token, 0, (double) position_of(c, token));
}

/* ---- data and table ---- */

static void fill_data(struct call *c, int slot, int64_t heads, rope_data data)
{
    const struct rope_args *const a = args_of(c);
    const int64_t n = a->rotary_dim / 2;
    for (int64_t token = 0; token < a->n; token++)
        for (int64_t col = 0; col < heads * a->d; col++) {
            const int64_t i = col % a->d, j = i - a->offset;
            const bool rotates = j >= 0 && j < a->rotary_dim;
            const struct rope_spot s = { c,
                                         slot,
                                         token,
                                         col / a->d,
                                         i,
                                         token * heads * a->d + col,
                                         is_past(c, token) ? 0 : position_of(c, token),
                                         !rotates         ? -1
                                         : a->interleaved ? j / 2
                                                          : j % n,
                                         (int) (a->interleaved ? j % 2 : j / n) };
            put(c, slot, token, col, data(&s));
        }
}

void rope_fill(struct call *c, rope_data data, rope_entry table)
{
    const struct rope_args *const a = args_of(c);
    const int64_t n = a->rotary_dim / 2;
    fill_positions(c);
    fill_data(c, ROPE_QUERY, a->heads[0], data);
    if (a->t[ROPE_KEY])
        fill_data(c, ROPE_KEY, a->heads[1], data);
    for (int64_t row = 0; row < a->rows && a->n > 0; row++)
        for (int64_t col = 0; col < 2 * n; col++)
            put(c, ROPE_TABLE, 0, row * 2 * n + col, table(c, row, col % n, (int) (col / n), row * 2 * n + col));
}

double rope_normal(const struct rope_spot *s)
{
    return draw_normal(s->c, s->slot, s->index);
}

/* ROT-1..3 of base 10000. */
double rope_polar(const struct call *c, int64_t row, int64_t pair, int side, int64_t index)
{
    (void) index;
    const double p = rn_f32_pow(10000, rn_f32_div((double) (2 * pair), (double) args_of(c)->rotary_dim));
    const double angle = rn_f32((double) row * rn_f32_div(1, p)); /* both below 2^24: exact but for this rounding */
    return side ? rn_f32_sin(angle) : rn_f32_cos(angle);
}

static double times_mscale(const struct call *c, int64_t row, int64_t pair, int side, int64_t index)
{
    return rn_f32(rope_polar(c, row, pair, side, index) * rn_f32(1.2));
}

static double logu(const struct rope_spot *s)
{
    return draw_log(s->c, s->slot, s->index, -30, 30);
}

static double any_numbers(const struct call *c, int64_t row, int64_t pair, int side, int64_t index)
{
    (void) row, (void) pair, (void) side;
    return draw_log(c, ROPE_TABLE, index, -12, 12);
}

static double outlier(const struct rope_spot *s)
{
    const uint32_t at = draw_bits(s->c, ROPE_QUERY_OUT, s->token * 64 + s->head);
    return rope_normal(s) * (s->i == (int64_t) (at % (uint32_t) args_of(s->c)->d) ? 65536 : 1);
}

static double tiny(const struct rope_spot *s)
{
    return rope_normal(s) * ldexp(1, -112 - (int) (s->token % 22));
}

static double tiny_table(const struct call *c, int64_t row, int64_t pair, int side, int64_t index)
{
    return rope_polar(c, row, pair, side, index) * ldexp(1, -(int) (row % 24));
}

static double huge(const struct rope_spot *s)
{
    const double u = 2 * draw_uniform(s->c, s->slot, s->index) - 1;
    return (u < 0 ? u * 0.98 - 1 : u * 0.98 + 1) * ldexp(1, s->token % 5 == 4 ? 127 : 124);
}

static double zero(const struct rope_spot *s)
{
    const uint32_t bits = draw_bits(s->c, s->slot, s->index);
    return s->token % 2 == 0 || bits & 0xc00 ? (bits & 1 ? -0.0 : 0) : rope_normal(s);
}

static double zero_table(const struct call *c, int64_t row, int64_t pair, int side, int64_t index)
{
    const uint32_t bits = draw_bits(c, ROPE_TABLE, index);
    return (pair + side) % 3 == 1 ? (bits & 1 ? -0.0 : 0) : rope_polar(c, row, pair, side, index) * (bits & 2 ? -1 : 1);
}

static double exact(const struct rope_spot *s)
{
    return (double) (draw_bits(s->c, s->slot, s->index) % 17) - 8;
}

static double exact_table(const struct call *c, int64_t row, int64_t pair, int side, int64_t index)
{
    static const double values[] = { 1, 0.5, -1, 2, -0.25, 0.25, -0.5, -2, 0 };
    (void) row, (void) pair, (void) side;
    return values[draw_bits(c, ROPE_TABLE, index) % 9];
}

/* a and b are functions of the position, so that one table row can cancel them in every head. */
static double cancelling(const struct call *c, int64_t position, int64_t pair, int side)
{
    if (pair % 4 == 2)
        side = 0; /* a = b, c = +-s: nothing is left */
    return rn_bf16(draw_log(c, side ? ROPE_KEY_OUT : ROPE_QUERY_OUT, position * 1024 + pair, -3, 4));
}

static double cancel(const struct rope_spot *s)
{
    if (s->pair < 0)
        return rope_normal(s);
    return cancelling(s->c, s->position, s->pair, s->side) * ldexp(1, (int) (s->head % 5) - 2);
}

/* s = a c / b, then a c - b s cancels; in odd pairs -b c / a, and b c + a s does. */
static double cancel_table(const struct call *c, int64_t row, int64_t pair, int side, int64_t index)
{
    const double cosine = rn_f32((draw_uniform(c, ROPE_TABLE, index - (side ? args_of(c)->rotary_dim / 2 : 0)) + 1) / 2);
    const double a = cancelling(c, row, pair, 0), b = cancelling(c, row, pair, 1);
    const double rounded = c->slot[ROPE_TABLE].fmt == LC_BF16 ? rn_bf16(cosine) : cosine;
    const double sine = (pair % 2 ? -b / a : a / b) * rounded;
    return !side ? rounded : args_of(c)->conjugate ? -sine : sine;
}

/* With cosine and sine 1: 129..255 in odd steps, and 1/2 -+ 1/256. */
static double brink(const struct rope_spot *s)
{
    const uint32_t bits = draw_bits(s->c, s->slot, s->index);
    if (s->side == 0)
        return 129 + 2 * (double) (bits % 63);
    return 0.5 + (bits & 1 ? 1.0 : -1.0) / 256;
}

static double ones(const struct call *c, int64_t row, int64_t pair, int side, int64_t index)
{
    (void) c, (void) row, (void) pair, (void) side, (void) index;
    return 1;
}

static double mixed(const struct rope_spot *s)
{
    return rope_normal(s) * ldexp(1, (int) ((s->token * 37 + s->head * 23 + s->i * 11) % 40) - 20);
}

static int64_t chosen_pair(const struct call *c, int64_t index)
{
    return draw_bits(c, ROPE_KEY_OUT, index) % (uint32_t) (args_of(c)->rotary_dim / 2);
}

static double specials(const struct rope_spot *s)
{
    const int kind = (int) ((s->token + s->head) % 5);
    const uint32_t bits = draw_bits(s->c, s->slot, s->index);
    if (kind == 4)
        return bits & 1 ? -0.0 : ldexp(bits & 2 ? -1.0 : 1.0, -133 + (int) (bits >> 8) % 8);
    if (kind == 0 || s->pair < 0 || s->pair != chosen_pair(s->c, s->token * 64 + s->head))
        return rope_normal(s);
    if (kind == 3) /* both of the pair */
        return bits & 1 ? -INFINITY : INFINITY;
    if (s->side != (s->token & 1))
        return rope_normal(s);
    return kind == 1 ? (double) NAN : bits & 1 ? -INFINITY : INFINITY;
}

/* A NaN that no conversion keeps, in what is copied. */
static void put_payloads(struct call *c, int slot, int64_t heads)
{
    static const uint16_t payload[] = { 0x7f81, 0xff95, 0x7fff, 0xffc1 };
    const struct rope_args *const a = args_of(c);
    for (int64_t token = 0; token < a->n; token++)
        for (int64_t head = 0; head < heads && a->rotary_dim < a->d; head++) {
            const uint32_t bits = draw_bits(c, ROPE_TABLE, token * 64 + head);
            int64_t i = (int64_t) (bits % (uint32_t) (a->d - a->rotary_dim));
            i += i >= a->offset ? a->rotary_dim : 0;
            memcpy(c->image + c->slot[slot].offset + c->op->place(&c->args, slot, token, head * a->d + i), &payload[bits >> 30],
                   sizeof *payload);
        }
}

static double not_finite_table(const struct call *c, int64_t row, int64_t pair, int side, int64_t index)
{
    static const double values[] = { (double) NAN, INFINITY, -INFINITY };
    const uint32_t bits = draw_bits(c, ROPE_QUERY_OUT, row);
    if (row % 4 == 3 || pair != chosen_pair(c, row) || side != (int) (bits >> 8 & 1))
        return rope_polar(c, row, pair, side, index);
    return values[bits % 3];
}

void rope_fill_normal(struct call *c)
{
    rope_fill(c, rope_normal, rope_polar);
}

void rope_fill_mscale(struct call *c)
{
    rope_fill(c, rope_normal, times_mscale);
}

void rope_fill_logu(struct call *c)
{
    rope_fill(c, logu, any_numbers);
}

void rope_fill_outlier(struct call *c)
{
    rope_fill(c, outlier, rope_polar);
}

void rope_fill_tiny(struct call *c)
{
    rope_fill(c, tiny, tiny_table);
}

void rope_fill_huge(struct call *c)
{
    rope_fill(c, huge, rope_polar);
}

void rope_fill_zero(struct call *c)
{
    rope_fill(c, zero, zero_table);
}

void rope_fill_exact(struct call *c)
{
    rope_fill(c, exact, exact_table);
}

void rope_fill_cancel(struct call *c)
{
    rope_fill(c, cancel, cancel_table);
}

void rope_fill_brink(struct call *c)
{
    rope_fill(c, brink, ones);
}

void rope_fill_mixed(struct call *c)
{
    rope_fill(c, mixed, rope_polar);
}

void rope_fill_specials(struct call *c)
{
    rope_fill(c, specials, rope_polar);
    put_payloads(c, ROPE_QUERY, args_of(c)->heads[0]);
    if (args_of(c)->t[ROPE_KEY])
        put_payloads(c, ROPE_KEY, args_of(c)->heads[1]);
}

void rope_fill_table(struct call *c)
{
    rope_fill(c, rope_normal, not_finite_table);
}

/* Data around 2^100, and three of four cosines and sines below 2^-126: products of usual size. */
static double lifted(const struct rope_spot *s)
{
    return rope_normal(s) * (s->pair < 0 ? 1 : ldexp(1, 90 + (int) (s->token % 16)));
}

static double faint_table(const struct call *c, int64_t row, int64_t pair, int side, int64_t index)
{
    const int least = c->slot[ROPE_TABLE].fmt == LC_F32 ? -145 : -132;
    (void) side;
    return (row + pair) % 4 == 3 ? draw_log(c, ROPE_TABLE, index, -20, 0) : draw_log(c, ROPE_TABLE, index, least, -126);
}

void rope_fill_faint(struct call *c)
{
    rope_fill(c, lifted, faint_table);
}
