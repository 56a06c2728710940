/* SPDX-License-Identifier: Apache-2.0 */
/* SF-1..SF-6 as conversions: every scale of sf_out looked up in sf_in by the address that its clause gives. */
#include "oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum layout { ROW_F32, COL_F32, ROW_PACKED, COL_PACKED, UTCCP };

struct side {
    enum layout layout;
    int64_t block_m;
    const struct tensor *t;
};

struct conversion {
    int64_t b, m, groups;
    int weight;
    struct side from, to;
};

static int64_t up(const int64_t n, const int64_t to)
{
    return n % to == 0 ? n : n + to - n % to;
}

static int is_packed(const enum layout layout)
{
    return layout == ROW_PACKED || layout == COL_PACKED || layout == UTCCP;
}

/* SF-4: i = 128 block + 32 high + low goes to 128 block + 4 low + high. */
static int64_t permuted(const int64_t i)
{
    const int64_t block = i / 128, high = i % 128 / 32, low = i % 32;

    return 128 * block + 4 * low + high;
}

/* The byte at which scale g of row m, batch b of (.., rows, groups) begins. */
static size_t scale_at(const struct side *const s, const int64_t rows, const int64_t groups, const int64_t b, const int64_t m,
                       const int64_t g)
{
    const int64_t words = up(groups, 4) / 4, word = g / 4, byte = g % 4, padded = up(rows, 4);

    switch (s->layout) {
    case ROW_F32: /* SF-1: f32 (B, M, d_s), contiguous */
        return (size_t) (4 * (b * rows * groups + m * groups + g));
    case COL_F32: /* SF-3: storage (B, d_s, m_pad) */
        return (size_t) (4 * (b * groups * padded + g * padded + m));
    case ROW_PACKED: /* SF-2: int32 (B, M, d_s/4), little-endian */
        return (size_t) (4 * (b * rows * words + m * words + word) + byte);
    case COL_PACKED: /* SF-3: int32 (B, d_s/4, m_pad) */
        return (size_t) (4 * (b * words * padded + word * padded + m) + byte);
    default: /* SF-4: int32 (d/128, rows) */
        return (size_t) (4 * (word * s->t->store[1] + m / s->block_m * up(s->block_m, 128) + permuted(m % s->block_m)) + byte);
    }
}

/* The value of a UE8M0 byte (FMT-3). */
static double byte_value(const unsigned char byte)
{
    return byte == 255 ? NAN : ldexp(1.0, (int) byte - 127);
}

/* The byte of a scale that SF-5 accepts; -1: it does not. */
static int value_byte(const double v)
{
    for (int byte = 1; byte <= 254; byte++) /* 2^-126..2^127 */
        if (v == ldexp(1.0, byte - 127))
            return byte;
    return -1;
}

static int convert(const struct conversion *const p, const int64_t b, const int64_t m, const int64_t g, struct why *const why)
{
    const int64_t from_rows = p->weight ? up(p->m, 32) / 32 : p->m, from_m = p->weight ? m / 32 : m; /* SF-5 */
    const unsigned char *const from = p->from.t->data + scale_at(&p->from, from_rows, p->groups, b, from_m, g);
    unsigned char *const to = p->to.t->data + scale_at(&p->to, p->m, p->groups, b, m, g);

    if (is_packed(p->from.layout) && is_packed(p->to.layout)) {
        *to = *from;
    } else if (is_packed(p->from.layout)) {
        num_store(TYPE_F32, to, byte_value(*from));
    } else if (!is_packed(p->to.layout)) {
        num_store(TYPE_F32, to, num_load(TYPE_F32, from));
    } else {
        const int byte = value_byte(num_load(TYPE_F32, from));
        if (byte < 0)
            return refuse(why, "sf_in: row %lld, group %lld is no normal power of two (SF-5)", (long long) m, (long long) g);
        *to = (unsigned char) byte;
    }
    return 0;
}

static int bind_side(struct side *const s, const struct test_case *const c, const char *const col_name,
                     const char *const packed_name, const char *const block_name, struct why *const why)
{
    int64_t col, packed;

    if (find_count(c, col_name, 0, 1, &col, why) != 0 || find_count(c, packed_name, 0, 1, &packed, why) != 0 ||
        find_count(c, block_name, 0, INT64_C(1) << 30, &s->block_m, why) != 0)
        return -1;
    s->layout = s->block_m > 0 ? UTCCP : packed ? col ? COL_PACKED : ROW_PACKED : col ? COL_F32 : ROW_F32;
    if (s->block_m > 0 && (!col || !packed))
        return refuse(why, "%s needs columns of packed scales (SF-4)", block_name);
    return 0;
}

/* Element type and storage of one side of (B, rows) scales. */
static int bind_tensor(const struct conversion *const p, const struct side *const s, const int64_t rows, const int64_t ragged,
                       struct why *const why)
{
    const struct tensor *const t = s->t;
    const int packed = is_packed(s->layout), col = s->layout == COL_F32 || s->layout == COL_PACKED;
    const int64_t units = packed ? up(p->groups, 4) / 4 : p->groups;

    if (t->type != (packed ? TYPE_I32 : TYPE_F32))
        return refuse(why, "%s is %s (SF-1..SF-4)", t->name, type_name(t->type));
    if (packed && p->groups % 4 != 0 && (!ragged || s->layout == UTCCP))
        return refuse(why, "d_s = %lld is no multiple of 4 (SF-2..SF-4)", (long long) p->groups);
    if (!dims_are(t->shape, t->rank, p->b, rows, units))
        return refuse(why, "%s has another shape than (B, M, %lld)", t->name, (long long) units);
    if (s->layout == UTCCP) {
        if (p->b != 1 || t->store_rank != 2 || t->store[0] != units ||
            t->store[1] < (rows + s->block_m - 1) / s->block_m * up(s->block_m, 128))
            return refuse(why, "%s has too few words (SF-4)", t->name);
        return 0;
    }
    if (!dims_are(t->store, t->store_rank, p->b, col ? units : rows, col ? up(rows, 4) : units))
        return refuse(why, "%s has other storage than its layout (SF-1..SF-3)", t->name);
    return 0;
}

int oracle_sf_layout(struct test_case *const c, struct why *const why)
{
    struct conversion p = { 1, 1, 0, 0, { ROW_F32, 0, NULL }, { ROW_F32, 0, NULL } };
    struct tensor *const out = find_tensor(c, "sf_out", 1, why);
    int64_t weight, ragged;

    p.from.t = find_tensor(c, "sf_in", 0, why);
    p.to.t = out;
    if (p.from.t == NULL || out == NULL || find_count(c, "groups", 1, INT64_C(1) << 30, &p.groups, why) != 0 ||
        find_count(c, "from_weight", 0, 1, &weight, why) != 0 || find_count(c, "sf_ragged", 0, 1, &ragged, why) != 0 ||
        bind_side(&p.from, c, "from_col", "from_packed", "from_block_m", why) != 0 ||
        bind_side(&p.to, c, "to_col", "to_packed", "to_block_m", why) != 0)
        return -1;
    p.weight = (int) weight;
    p.b = out->rank > 2 ? out->shape[0] : 1;
    p.m = out->shape[out->rank - 2];
    if (p.weight && (p.from.layout != ROW_F32 || p.to.layout != COL_PACKED || p.b != 1))
        return refuse(why, "weight scales are f32 in rows, and go to SF-3 (SF-5)");
    if (bind_tensor(&p, &p.from, p.weight ? up(p.m, 32) / 32 : p.m, ragged, why) != 0 ||
        bind_tensor(&p, &p.to, p.m, ragged, why) != 0)
        return -1;
    memset(out->data, 0, out->count * type_size(out->type)); /* SF-6: bytes of groups that are not there */
    if (!is_packed(p.from.layout) && is_packed(p.to.layout)) {
        struct tensor *const error = find_tensor(c, "error", 1, why);
        if (error == NULL || error->type != TYPE_I64 || error->count != 1)
            return error == NULL ? -1 : refuse(why, "error is no single i64 (SF-5)");
        memset(error->data, 0, type_size(TYPE_I64));
    }
    for (int64_t b = 0; b < p.b; b++)
        for (int64_t m = 0; m < p.m; m++)
            for (int64_t g = 0; g < p.groups; g++)
                if (convert(&p, b, m, g, why) != 0)
                    return -1;
    return 0;
}
