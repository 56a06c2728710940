/* SPDX-License-Identifier: Apache-2.0 */
/* The data of cases of kv_store. */
#include <math.h>
#include <string.h>

#include "../../ref/args.h"
#include "kv_store.h"

typedef double (*draw_fn)(const struct call *c, int64_t row, int64_t head, int64_t col, int64_t index);

static const struct kv_store_args *of(const struct call *c)
{
    return &c->args.kv_store;
}

/* ---- what all fills share: where tokens stand, and where they go ---- */

/* Element i of positions, which have a row each, or of slots, which are one. */
static void put_index(struct call *c, int slot, int64_t i, int64_t v)
{
    put_int(c, slot, slot == KV_SLOTS ? 0 : i, slot == KV_SLOTS ? i : 0, v);
}

static int64_t index_of(const struct call *c, int slot, int64_t i)
{
    int32_t narrow;
    int64_t wide;
    const uint8_t *const at = c->image + c->slot[slot].offset;
    if (c->slot[slot].fmt == LC_I64) {
        memcpy(&wide, at + 8 * i, sizeof wide);
        return wide;
    }
    memcpy(&narrow, at + 4 * i, sizeof narrow);
    return narrow;
}

static void fill_slots(struct call *c)
{
    const struct kv_store_args *const a = of(c);
    const int64_t slots = a->pages * a->page_size, step = slots % 7919 ? 7919 : 7907; /* prime: no slot comes twice */
    for (int64_t t = 0; t < a->n; t++) {
        int64_t slot = t;
        if (kase_is(&c->id, "slots", "perm"))
            slot = t % 5 == 3 ? -1 - t : (t * step + 3) % slots;
        if (kase_is(&c->id, "slots", "skip"))
            slot = t % 4 == 1 ? -1 : t % 4 == 3 ? (c->slot[KV_SLOTS].fmt == LC_I64 ? t - (INT64_C(1) << 32) : INT32_MIN) : t;
        if (kase_is(&c->id, "slots", "last"))
            slot = slots - 1 - t;
        if (kase_is(&c->id, "slots", "from1"))
            slot = t % 2 ? -1 : (t / 2 + 1) % slots;
        put_index(c, KV_SLOTS, t, slot);
    }
}

static bool is_skipped(const struct call *c, int64_t token)
{
    return of(c)->t[KV_SLOTS] && index_of(c, KV_SLOTS, token) < 0;
}

/* ERR-2: places next to the table or the pool, far away where nothing is mapped, and such that 32 bits hold a good one. */
static void fill_lost(struct call *c)
{
    const struct kv_store_args *const a = of(c);
    const int lost = !kase_is(&c->id, "lost", "-"), slot = kase_is(&c->id, "lost", "slot");
    const int64_t end = !lost ? 0 : slot ? a->pages * a->page_size : a->t[KV_TABLE] ? a->t[KV_TABLE]->shape[0] : 0;
    const int which = slot ? KV_SLOTS : KV_POSITIONS;
    int n = 0;
    if (kase_is(&c->id, "lost", "twice")) {
        put_index(c, KV_SLOTS, a->n - 1, index_of(c, KV_SLOTS, 0));
        return;
    }
    for (int64_t t = 0; lost && t < a->n; t++) {
        const int64_t wide[] = { (INT64_C(1) << 32) + index_of(c, which, t), end, slot ? INT32_MAX : -1, INT64_C(1) << 40,
                                 slot ? end : INT64_MIN / 4096 };
        const int64_t narrow[] = { INT32_MAX, end, slot ? INT32_MAX : -1, slot ? end : INT32_MIN };
        if (is_skipped(c, t) != kase_is(&c->id, "lost", "skipped") || (t % 3 != 0 && !is_skipped(c, t)))
            continue;
        put_index(c, which, t, c->slot[which].fmt == LC_I64 ? wide[n % 5] : narrow[n % 4]);
        n++;
    }
}

/* cos and sin of rational points of the circle, of any quadrant; no libm. Row 0 turns by nothing; quarter: all by quarters. */
static void fill_table(struct call *c, int quarter)
{
    const struct kv_store_args *const a = of(c);
    const int64_t pairs = a->rotary_dim / 2, rows = a->t[KV_TABLE]->shape[0];
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < pairs; i++) {
            const uint32_t bits = draw_bits(c, KV_TABLE, row * pairs + i);
            const double t = quarter || row == 0 ? 0 : ldexp(bits >> 2, -30), cos = (1 - t * t) / (1 + t * t),
                         sin = 2 * t / (1 + t * t);
            const uint32_t turn = row == 0 ? 0 : bits % 4;
            put(c, KV_TABLE, 0, row * 2 * pairs + i, turn == 0 ? cos : turn == 1 ? -sin : turn == 2 ? -cos : sin);
            put(c, KV_TABLE, 0, row * 2 * pairs + pairs + i, turn == 0 ? sin : turn == 1 ? cos : turn == 2 ? -sin : -cos);
        }
    for (int64_t t = 0; t < a->n; t++) {
        const int64_t at = draw_bits(c, KV_POSITIONS, t) % (uint32_t) rows;
        put(c, KV_POSITIONS, t, 0, (double) (t == 0 ? rows - 1 : t == 1 ? 0 : at));
    }
}

/* Weights around 1, or of any sign with exponents lo..hi-1. */
static void fill_weight(struct call *c, int lo, int hi)
{
    for (int64_t i = 0; i < of(c)->d; i++)
        put(c, KV_WEIGHT, 0, i, lo == hi ? 1 + draw_normal(c, KV_WEIGHT, i) / 4 : draw_log(c, KV_WEIGHT, i, lo, hi));
}

static void fill(struct call *c, draw_fn draw, int lo, int hi, int quarter)
{
    const struct kv_store_args *const a = of(c);
    if (a->t[KV_SLOTS])
        fill_slots(c);
    if (a->t[KV_TABLE])
        fill_table(c, quarter);
    fill_lost(c);
    if (a->t[KV_WEIGHT])
        fill_weight(c, lo, hi);
    for (int64_t row = 0; row < a->n; row++)
        for (int64_t col = 0; col < a->heads * a->d; col++)
            put(c, KV_X, row, col, draw(c, row, col / a->d, col % a->d, row * a->heads * a->d + col));
}

/* ---- x ---- */

static double normal(const struct call *c, int64_t row, int64_t head, int64_t col, int64_t i)
{
    (void) row, (void) head, (void) col;
    return draw_normal(c, KV_X, i);
}

static double logu(const struct call *c, int64_t row, int64_t head, int64_t col, int64_t i)
{
    (void) row, (void) head, (void) col;
    return draw_log(c, KV_X, i, -8, 8);
}

static double outlier(const struct call *c, int64_t row, int64_t head, int64_t col, int64_t i)
{
    (void) row, (void) head;
    return draw_normal(c, KV_X, i) * (col % 64 == 5 ? 1024 : 1);
}

static double tiny(const struct call *c, int64_t row, int64_t head, int64_t col, int64_t i)
{
    (void) col; /* mean squares around eps, amax around 1e-4, and underflow of products */
    return draw_normal(c, KV_X, i) * ldexp(1, row % 7 == 6 ? -125 : -8 - (int) ((row + head) % 8));
}

static double huge(const struct call *c, int64_t row, int64_t head, int64_t col, int64_t i)
{
    (void) head, (void) col;
    return draw_normal(c, KV_X, i) * ldexp(1, row % 7 == 6 ? 70 : 46 + (int) (row % 5));
}

static double positive(const struct call *c, int64_t row, int64_t head, int64_t col, int64_t i)
{
    (void) row, (void) head, (void) col;
    return fabs(draw_normal(c, KV_X, i)) + 0.5;
}

static double zero_rows(const struct call *c, int64_t row, int64_t head, int64_t col, int64_t i)
{
    (void) col;
    if ((row + head) % 3 == 0)
        return draw_bits(c, KV_X, i) & 1 ? -0.0 : 0;
    return draw_normal(c, KV_X, i);
}

static double exact(const struct call *c, int64_t row, int64_t head, int64_t col, int64_t i)
{
    (void) head, (void) col;
    return ldexp((double) (draw_bits(c, KV_X, i) % 255) - 127, (int) (row % 9) - 4);
}

static double mixed(const struct call *c, int64_t row, int64_t head, int64_t col, int64_t i)
{
    return draw_normal(c, KV_X, i) * ldexp(1, (int) ((row * 7 + head * 5 + col / 32 * 3) % 17) - 8);
}

/* Five kinds of tokens: normal; a NaN in one head; Infs in one head; zeros and subnormals; normal. Of fewer than five tokens, kinds
 * of heads, the second first. */
static double specials(const struct call *c, int64_t row, int64_t head, int64_t col, int64_t i)
{
    const uint32_t bits = draw_bits(c, KV_X, i);
    const bool few = of(c)->n < 5;
    const int64_t chosen = (int64_t) (draw_bits(c, KV_X, row << 24) % (uint32_t) of(c)->d);
    const int64_t kind = (few ? 1 + row * of(c)->heads + head : row) % 5, at = few ? head : row / 5 % of(c)->heads;
    if (kind == 1 && head == at && col == chosen)
        return NAN;
    if (kind == 2 && head == at && col % 50 == 7)
        return bits & 1 ? INFINITY : -INFINITY;
    if (kind == 3)
        return bits & 1 ? -0.0 : ldexp(bits & 2 ? -1.0 : 1.0, -133 + (int) (bits >> 8) % 8);
    return draw_normal(c, KV_X, i);
}

/* x / 2^k in [256, 448] has code steps of 32, a step lower of half that: at (2m + 1) / 16 of a binade, or a BF16 ulp beside. */
static double ties(const struct call *c, int64_t row, int64_t head, int64_t col, int64_t i)
{
    const uint32_t bits = draw_bits(c, KV_X, i);
    const int k = (int) ((row * 3 + head + col / 32 * 5) % 15) - 7;
    const double sign = bits & 1 ? -1 : 1;
    if (col % 32 == (row + head) % 32)
        return ldexp(sign * 448, k); /* so that the scale is 2^k */
    const double midpoint = 17 + 2 * (double) (bits >> 1 & 7), beside = ((int) (bits >> 4) % 3 - 1) / 8.0;
    return ldexp(sign * (midpoint + beside), k - (int) (bits >> 8 & 7));
}

static double pow2_edges(const struct call *c, int64_t row, int64_t head, int64_t col, int64_t i)
{
    const uint32_t bits = draw_bits(c, KV_X, i);
    const int64_t group = (row * 8 + head) * 64 + col / 32;
    const int k = (int) (group * 5 % 24) - 12;
    const double edge = 448 + 2 * ((int) (group % 5) - 2);
    return ldexp((bits & 1 ? -1 : 1) * (col % 32 == group * 7 % 32 ? edge : (double) (bits >> 1) / 0x80000000u * 440), k);
}

/* |x| = 1/2, s + eps = 1, rstd = 1: y = w/2. */
static double half(const struct call *c, int64_t row, int64_t head, int64_t col, int64_t i)
{
    (void) row, (void) head, (void) col;
    return draw_bits(c, KV_X, i) & 1 ? -0.5 : 0.5;
}

/* |a| = |b| in a pair; a = b or a = -b in a whole head. */
static double diagonal(const struct call *c, int64_t row, int64_t head, int64_t col, int64_t i)
{
    const struct kv_store_args *const a = of(c);
    const int64_t j = col - a->offset, pairs = a->rotary_dim / 2;
    if (j < 0 || j >= 2 * pairs)
        return normal(c, row, head, col, i);
    const int64_t pair = a->interleaved ? j / 2 : j % pairs, side = a->interleaved ? j % 2 : j / pairs;
    const double size = 128 + draw_bits(c, KV_X, pair) % 128;
    return ldexp(side && draw_bits(c, KV_OUT, row * 64 + head) & 1 ? -size : size, 5 + (int) (row % 8));
}

/* clang-format off */
#define FILL(name, lo, hi, quarter) void kv_fill_##name(struct call *c) { fill(c, name, lo, hi, quarter); }
FILL(normal, 0, 0, 0) FILL(logu, -2, 3, 0) FILL(outlier, 0, 0, 0) FILL(tiny, 0, 0, 0) FILL(huge, 0, 0, 0)
FILL(positive, 0, 0, 0) FILL(zero_rows, -1, 2, 0) FILL(exact, 0, 0, 1) FILL(mixed, -4, 4, 0) FILL(specials, 0, 0, 0)
FILL(ties, 0, 0, 0) FILL(pow2_edges, 0, 0, 0)
    /* clang-format on */

    /* The largest of a group of w/2 within a few f32 ulps of 448 * 2^k, the others as near to midpoints of their codes. Where y is
 * rounded to BF16, both at BF16 midpoints: 449 rounds to 448 or to 450, whose scale is twice that. */
    void kv_fill_brink(struct call *c)
{
    const bool bf16 = of(c)->bf16_stages;
    fill(c, half, 0, 0, 0);
    for (int64_t i = 0; i < of(c)->d; i++) {
        const uint32_t bits = draw_bits(c, KV_WEIGHT, i);
        const int k = (int) (i / 32 * 5 % 16) - 8;
        double y = bf16 ? 257 + 2 * (double) (bits % 32) : 272 + 32 * (double) (bits % 5);
        if (i % 32 == i / 32 * 7 % 32)
            y = bf16 ? 449 : 448;
        put(c, KV_WEIGHT, 0, i, ldexp(2 * y * (1 + ((int) (bits >> 8) % 9 - 4) * ldexp(1, -23)), k));
    }
}

/* An eighth of a turn: in whole groups of one side nothing is left but the rounding of one product, where the other has none. amax
 * may then lie anywhere in many binades. */
void kv_fill_diagonal(struct call *c)
{
    const struct kv_store_args *const a = of(c);
    fill(c, diagonal, 0, 0, 0);
    for (int64_t i = 0; i < a->t[KV_TABLE]->shape[0] * a->rotary_dim; i++)
        put(c, KV_TABLE, 0, i, rn_f32_rsqrt(2));
}

/* A NaN or an Inf in one pair of most rows of the table (APPLY-6). */
void kv_fill_table(struct call *c)
{
    static const double values[] = { (double) NAN, INFINITY, -INFINITY };
    const struct kv_store_args *const a = of(c);
    const int64_t rows = a->t[KV_TABLE]->shape[0];
    fill(c, normal, 0, 0, 0);
    for (int64_t row = 0; row < rows; row++)
        if (row % 4 != 3)
            put(c, KV_TABLE, 0, row * a->rotary_dim + draw_bits(c, KV_OUT, row) % (uint32_t) a->rotary_dim, values[row % 3]);
}

/* What an f32 or a BF16 holds beside the circle: pairs of zeros, of subnormals, of the smallest normals, large ones; half of them
 * with a usual cosine. */
void kv_fill_angles(struct call *c)
{
    const struct kv_store_args *const a = of(c);
    const int64_t pairs = a->rotary_dim / 2, rows = a->t[KV_TABLE]->shape[0];
    fill(c, normal, 0, 0, 0);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < pairs; i++) {
            const uint32_t bits = draw_bits(c, KV_OUT, row * pairs + i), kind = bits % 5;
            const double sizes[] = { 0, ldexp(1.5, -128 - (int) (bits >> 8) % 4), 0x1p-126, ldexp(1.25, (int) (bits >> 8) % 40) };
            if (kind == 4)
                continue;
            put(c, KV_TABLE, 0, row * 2 * pairs + pairs + i, bits & 16 ? -sizes[kind] : sizes[kind]);
            if (bits & 32)
                put(c, KV_TABLE, 0, row * 2 * pairs + i, bits & 64 ? -sizes[kind] : sizes[kind]);
        }
}

/* A group is as it was, or has one NaN, some zeros, or nothing but subnormals. An Inf would leave the whole head unjudged (RMS-12). */
void kv_fill_weights(struct call *c)
{
    const int64_t d = of(c)->d;
    fill(c, normal, 0, 0, 0);
    for (int64_t i = 0; i < d; i++) {
        const uint32_t bits = draw_bits(c, KV_OUT, i);
        const int64_t kind = (i / 32 + d / 32) % 4, chosen = i / 32 * 7 % 32;
        const double sign = bits & 1 ? -1 : 1;
        if (kind == 1 && i % 32 == chosen)
            put(c, KV_WEIGHT, 0, i, (double) NAN);
        if (kind == 2 && bits & 2)
            put(c, KV_WEIGHT, 0, i, sign * 0.0);
        if (kind == 3)
            put(c, KV_WEIGHT, 0, i, sign * ldexp(1.5, -128 - (int) (bits >> 8) % 4));
    }
}
