/* SPDX-License-Identifier: Apache-2.0 */
/* The data of cases of qkv. */
#include "qkv.h"

#include <math.h>
#include <string.h>

#include "../../ref/args.h"
#include "../case.h"
#include "rope.h"

typedef double (*draw_fn)(const struct call *c, int64_t row, int64_t col, int64_t index);

static int64_t head_dim(const struct call *c)
{
    return c->args.qkv.head_dim;
}

static int64_t heads(const struct call *c) /* of q, k and v */
{
    return c->args.qkv.heads_q + 2 * c->args.qkv.heads_kv;
}

static int64_t width(const struct call *c)
{
    return heads(c) * head_dim(c);
}

/* A number of the head, other in each token. */
static int64_t head_of(const struct call *c, int64_t row, int64_t col)
{
    return row * heads(c) + col / head_dim(c);
}

/* Rows in no order: the last, the first, any, and the first token's again. */
static void fill_positions(struct call *c)
{
    const int64_t rows = c->args.qkv.table_rows;
    for (int64_t row = 0; row < c->args.qkv.tokens; row++) {
        const int64_t any = draw_bits(c, QKV_POSITIONS, row) % (uint32_t) rows, kind = kase_int(&c->id, "past");
        if (kind && row % 3 == (c->args.qkv.tokens > 1)) { /* ERR-2 */
            put_int(c, QKV_POSITIONS, row, 0, rope_past(kind, row, rows, c->slot[QKV_POSITIONS].fmt == LC_I64));
            continue;
        }
        put(c, QKV_POSITIONS, row, 0, (double) (row % 4 == 0 ? rows - 1 : row == 1 ? 0 : any));
    }
}

static void fill_table(struct call *c, double (*draw)(const struct call *c, int64_t row, int64_t col, int64_t i))
{
    const int64_t n = c->args.qkv.rope_dim;
    for (int64_t i = 0; i < c->args.qkv.table_rows * n; i++)
        put(c, QKV_TABLE, 0, i, draw(c, i / n, i % n, i));
}

static double angle(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) row, (void) col;
    return 2 * draw_uniform(c, QKV_TABLE, i) - 1;
}

static void fill_vector(struct call *c, int slot, double mean, double deviation, int lo, int hi)
{
    for (int64_t i = 0; c->args.qkv.t[slot] && i < head_dim(c); i++)
        put(c, slot, 0, i, lo == hi ? mean + draw_normal(c, slot, i) * deviation : draw_log(c, slot, i, lo, hi));
}

/* Weights around 1 and bias around 0, those of k twice those of q; or any sign with exponents lo..hi-1. */
static void fill_vectors(struct call *c, int lo, int hi)
{
    fill_vector(c, QKV_W_Q, 1, 0.25, lo, hi);
    fill_vector(c, QKV_W_K, 2, 0.5, lo, hi);
    fill_vector(c, QKV_B_Q, 0, 0.5, lo, hi);
    fill_vector(c, QKV_B_K, 0, 1, lo, hi);
}

static void fill_x(struct call *c, draw_fn draw)
{
    for (int64_t row = 0; row < c->args.qkv.tokens; row++)
        for (int64_t col = 0; col < width(c); col++)
            put(c, QKV_X, row, col, draw(c, row, col, row * width(c) + col));
}

static void fill(struct call *c, draw_fn draw, int lo, int hi)
{
    fill_positions(c);
    fill_table(c, angle);
    fill_vectors(c, lo, hi);
    fill_x(c, draw);
}

static double normal(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) row, (void) col;
    return draw_normal(c, QKV_X, i);
}

static double logu(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) row, (void) col;
    return draw_log(c, QKV_X, i, -8, 8);
}

static double outlier(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    const int64_t at = (int64_t) (draw_bits(c, QKV_Q, head_of(c, row, col)) % (uint32_t) head_dim(c));
    return draw_normal(c, QKV_X, i) * (col % head_dim(c) == at ? 1024 : 1);
}

static double tiny(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    return draw_normal(c, QKV_X, i) * ldexp(1, -8 - (int) (head_of(c, row, col) % 6)); /* mean squares around eps = 1e-6 */
}

static double huge(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    return draw_normal(c, QKV_X, i) * ldexp(1, 46 + (int) (head_of(c, row, col) % 5)); /* sum x^2 < 2^127 (RMS-12) */
}

static double positive(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) row, (void) col;
    return fabs(draw_normal(c, QKV_X, i)) + 0.5;
}

static double zero_rows(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    if (head_of(c, row, col) % 3 == 0)
        return draw_bits(c, QKV_X, i) & 1 ? -0.0 : 0;
    return draw_normal(c, QKV_X, i);
}

static double exact(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    (void) row, (void) col;
    return (double) (draw_bits(c, QKV_X, i) % 9) - 4;
}

static double sentinel(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    const int large = row == 0 || row == c->args.qkv.tokens - 1 || col / head_dim(c) == heads(c) - 1 ||
                      col % head_dim(c) == head_dim(c) - 1;
    return draw_normal(c, QKV_X, i) * (large ? 4096 : 1);
}

static double mixed(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    return draw_normal(c, QKV_X, i) * ldexp(1, (int) ((head_of(c, row, col) * 5 + col / 16 * 3) % 16) - 8);
}

/* Heads of five kinds: normal; a NaN; an Inf; zeros and subnormals; normal with zeros. */
static double specials(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    const int64_t head = head_of(c, row, col) * 7 / 3;
    const uint32_t bits = draw_bits(c, QKV_X, i);
    const int chosen = col % head_dim(c) == (int64_t) (draw_bits(c, QKV_Q, head_of(c, row, col)) % (uint32_t) head_dim(c));
    if (head % 5 == 1 && chosen)
        return NAN;
    if (head % 5 == 2 && chosen)
        return bits & 1 ? INFINITY : -INFINITY;
    if (head % 5 == 3)
        return bits & 1 ? -0.0 : ldexp(bits & 2 ? -1.0 : 1.0, -133 + (int) (bits >> 8) % 8);
    return head % 5 == 4 && bits & 1 ? (bits & 2 ? 0 : -0.0) : draw_normal(c, QKV_X, i);
}

/* clang-format off */
#define FILL(name, lo, hi) void qkv_fill_##name(struct call *c) { fill(c, name, lo, hi); }
FILL(normal, 0, 0) FILL(logu, -2, 3) FILL(outlier, 0, 0) FILL(tiny, 0, 0) FILL(huge, 0, 0) FILL(zero_rows, -1, 2)
FILL(sentinel, 0, 0) FILL(mixed, 0, 0)
    /* clang-format on */

    static double positive_angle(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    return fabs(angle(c, row, col, i)) + ldexp(1, -10);
}

void qkv_fill_positive(struct call *c)
{
    fill(c, positive, 0, 0);
    fill_table(c, positive_angle);
    for (int slot = QKV_B_Q; slot <= QKV_B_K; slot++)
        for (int64_t i = 0; c->args.qkv.t[slot] && i < head_dim(c); i++)
            put(c, slot, 0, i, fabs(get(c, slot, 0, i)));
}

/* Cosine and sine of a multiple of 90 degrees: rotated elements are those of n, with other signs and places. */
static double quarter_turn(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    const int64_t pairs = c->args.qkv.rope_dim / 2, pair = col % pairs;
    const uint32_t bits = draw_bits(c, QKV_TABLE, row * pairs + pair);
    const int is_zero = (int) (bits & 1) == (col < pairs);
    (void) i;
    return is_zero ? 0 : bits & 2 ? -1 : 1;
}

void qkv_fill_exact(struct call *c)
{
    fill(c, exact, -1, 2);
    fill_table(c, quarter_turn);
}

/* |x| = 1.5, s + eps = 4, rstd = 1/2: n = 0.75 w + bias is exact, and a BF16 midpoint where w's significand is odd and below 171;
 * an F32 w is also one ulp beside. The bias is small and even: it leaves the midpoint one in half of the elements. */
void qkv_fill_ties(struct call *c)
{
    fill_positions(c);
    fill_table(c, quarter_turn);
    for (int slot = QKV_W_Q; slot <= QKV_W_K; slot++)
        for (int64_t i = 0; i < head_dim(c); i++) {
            const uint32_t bits = draw_bits(c, slot, i);
            double w = ldexp(129 + 2 * (double) (bits % 21), -7 + (int) (bits >> 8) % 6);
            if (c->slot[slot].fmt == LC_F32)
                w *= 1 + ((int) (bits >> 16 & 3) - 1) % 2 * ldexp(1, -23);
            put(c, slot, 0, i, w);
        }
    for (int slot = QKV_B_Q; slot <= QKV_B_K; slot++)
        for (int64_t i = 0; c->args.qkv.t[slot] && i < head_dim(c); i++) {
            const uint32_t bits = draw_bits(c, slot, i);
            put(c, slot, 0, i, bits & 1 ? 0 : ldexp(bits & 2 ? 1 : -1, -7 + (int) (bits >> 8) % 4));
        }
    for (int64_t row = 0; row < c->args.qkv.tokens; row++)
        for (int64_t col = 0; col < width(c); col++)
            put(c, QKV_X, row, col, draw_bits(c, QKV_X, row * width(c) + col) & 1 ? 1.5 : -1.5);
}

static double rstd_of(const struct call *c, int64_t row, int64_t head)
{
    double sum = 0;
    for (int64_t i = 0; i < head_dim(c); i++) {
        const double x = get(c, QKV_X, row, head * head_dim(c) + i);
        sum += x * x;
    }
    return rn_f32_rsqrt(rn_f32(rn_f32(sum / (double) head_dim(c)) + c->args.qkv.eps));
}

/* The weight that brings unit * w + b nearest to a BF16 midpoint in [128, 256): solved for in F32, in BF16 the best of 128. */
static double weight_at_midpoint(const struct call *c, int slot, double unit, double b, uint32_t bits)
{
    double best = 1, least = HUGE_VAL;
    for (uint32_t k = 0; k < 128 && (k == 0 || c->slot[slot].fmt == LC_BF16); k++) {
        const double midpoint = 128.5 + (bits + k) % 128, w = rn(c->slot[slot].fmt, (midpoint - b) / unit);
        if (fabs(unit * w + b - midpoint) < least) {
            least = fabs(unit * w + b - midpoint);
            best = w;
        }
    }
    return best;
}

/* Column i of a head aims at one token: there n lies within its bound of a midpoint. */
void qkv_fill_rounds(struct call *c)
{
    fill(c, positive, 0, 0);
    for (int is_k = 0; c->args.qkv.tokens > 0 && is_k < 2; is_k++)
        for (int64_t i = 0; i < head_dim(c); i++) {
            const int slot = is_k ? QKV_W_K : QKV_W_Q, bias = is_k ? QKV_B_K : QKV_B_Q;
            const int64_t n = is_k ? c->args.qkv.heads_kv : c->args.qkv.heads_q, first = is_k ? c->args.qkv.heads_q : 0;
            const int64_t row = i % c->args.qkv.tokens, head = first + i / c->args.qkv.tokens % n;
            const double b = c->args.qkv.t[bias] ? get(c, bias, 0, i) : 0;
            const double unit = get(c, QKV_X, row, head * head_dim(c) + i) * rstd_of(c, row, head);
            put(c, slot, 0, i, weight_at_midpoint(c, slot, unit, b, draw_bits(c, slot, i)));
        }
}

/* Each head of a token is the same but for its sign in every other head: bias = -x rstd w in half of the heads, up to its
 * rounding or a little beside. */
void qkv_fill_cancel(struct call *c)
{
    fill(c, normal, 0, 0);
    for (int64_t row = 0; row < c->args.qkv.tokens; row++)
        for (int64_t col = 0; col < width(c); col++) {
            const int64_t i = col % head_dim(c);
            put(c, QKV_X, row, col, draw_normal(c, QKV_X, i) * (head_of(c, row, col) % 2 ? -1 : 1));
        }
    for (int is_k = 0; c->args.qkv.tokens > 0 && is_k < 2; is_k++)
        for (int64_t i = 0; i < head_dim(c); i++) {
            const int slot = is_k ? QKV_B_K : QKV_B_Q;
            const double n = draw_normal(c, QKV_X, i), w = get(c, is_k ? QKV_W_K : QKV_W_Q, 0, i);
            const double beside = draw_bits(c, slot, i) & 1 ? ldexp(1, -20) : 0;
            put(c, slot, 0, i, -rn(LC_BF16, n) * rstd_of(c, 0, 0) * w * (1 + beside));
        }
}

/* A v is copied bit by bit: every third element is a NaN of its own, quiet or signalling, of either sign. */
void qkv_fill_specials(struct call *c)
{
    const int64_t v = width(c) - c->args.qkv.heads_kv * head_dim(c);
    fill(c, specials, 0, 0);
    for (int64_t row = 0; row < c->args.qkv.tokens; row++)
        for (int64_t col = v; col < width(c); col++) {
            const uint32_t bits = draw_bits(c, QKV_V, row * width(c) + col), nan = 0x7f81 + bits % 0x7f;
            if ((row + col) % 3 == 0)
                code_to(FMT_BITS16, c->image + c->slot[QKV_X].offset + c->op->place(&c->args, QKV_X, row, col), col,
                        nan | (bits >> 16 & 0x8000));
        }
}

static double special_angle(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    const uint32_t bits = draw_bits(c, QKV_TABLE, i);
    if (bits % 5 == 1)
        return bits & 256 ? -0.0 : 0;
    if (bits % 5 == 2)
        return ldexp(bits & 256 ? -1.5 : 1.25, (c->slot[QKV_TABLE].fmt == LC_F32 ? -145 : -131) + (int) (bits >> 9) % 4);
    return angle(c, row, col, i);
}

/* Every seventh weight a subnormal of its format, every eleventh -0, and one NaN in a head of more than 8; biases likewise. */
void qkv_fill_weights(struct call *c)
{
    fill(c, normal, -3, 3);
    fill_table(c, special_angle);
    for (int slot = QKV_W_Q; slot <= QKV_B_K; slot++)
        for (int64_t i = 0; c->args.qkv.t[slot] && i < head_dim(c); i++) {
            const uint32_t bits = draw_bits(c, slot, i);
            if (i % 7 == 3)
                put(c, slot, 0, i,
                    ldexp(bits & 1 ? -1.5 : 1.25, (c->slot[slot].fmt == LC_F32 ? -145 : -131) + (int) (bits >> 8) % 4));
            if (i % 11 == 5)
                put(c, slot, 0, i, bits & 1 ? -0.0 : 0);
            if (head_dim(c) > 8 && i == head_dim(c) / 2 + slot)
                put(c, slot, 0, i, NAN);
        }
}

/* In every other head all elements within a factor of 2, and their squares sum to 2^125 .. 2^127 (RMS-12). */
static double towards_limit(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    int exponent = 0;
    (void) frexp((double) head_dim(c), &exponent); /* D < 2^exponent */
    if (head_of(c, row, col) % 2 == 0)
        return draw_normal(c, QKV_X, i);
    return ldexp((1 + draw_uniform(c, QKV_X, i) * 0.9) * (draw_bits(c, QKV_X, i) & 1 ? 1 : -1), (125 - exponent) / 2);
}

/* Every third pair's cosine and sine below 2^-126. */
static double faint_angle(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    if (col % (c->args.qkv.rope_dim / 2) % 3 == 1)
        return draw_log(c, QKV_TABLE, i, c->slot[QKV_TABLE].fmt == LC_F32 ? -145 : -132, -126);
    return angle(c, row, col, i);
}

static void put_limits(struct call *c, int slot, int lo, int hi, int64_t large, int64_t infinite)
{
    for (int64_t i = 0; c->args.qkv.t[slot] && i < head_dim(c); i++) {
        if (i % 7 == large)
            put(c, slot, 0, i, draw_log(c, slot, i, lo, hi));
        if (i % 13 == infinite)
            put(c, slot, 0, i, draw_bits(c, slot, i) & 1 ? INFINITY : -INFINITY);
    }
}

void qkv_fill_limits(struct call *c)
{
    fill(c, towards_limit, 0, 0);
    fill_table(c, faint_angle);
    put_limits(c, QKV_W_Q, 40, 110, 2, 6);
    put_limits(c, QKV_W_K, 40, 110, 1, 7);
    put_limits(c, QKV_B_Q, 65, 124, 1, 8);
    put_limits(c, QKV_B_K, 65, 124, 3, 9);
}

/* One NaN, Inf or -Inf in three of four rows. */
static double not_finite_angle(const struct call *c, int64_t row, int64_t col, int64_t i)
{
    static const double values[] = { (double) NAN, INFINITY, -INFINITY };
    const uint32_t bits = draw_bits(c, QKV_K, row);
    if (row % 4 != 3 && col == (int64_t) ((bits >> 8) % (uint32_t) c->args.qkv.rope_dim))
        return values[bits % 3];
    return angle(c, row, col, i);
}

void qkv_fill_table(struct call *c)
{
    fill(c, normal, 0, 0);
    fill_table(c, not_finite_angle);
}
