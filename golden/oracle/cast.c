/* SPDX-License-Identifier: Apache-2.0 */
/* CAST-1..7, CAST-9, CAST-10, and the scale layouts SF-0..SF-4, SF-6. */
#include "oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t ceil_div(const int64_t a, const int64_t b)
{
    return a / b + (a % b != 0);
}

static int64_t padded_rows(const int64_t m)
{
    return ceil_div(m, 4) * 4; /* SF-3 */
}

static int64_t align128(const int64_t n)
{
    return ceil_div(n, 128) * 128; /* SF-4 */
}

/* Words of a row: four groups each, the last one perhaps fewer (SF-6); or f32 scales. */
static int64_t row_words(const struct cast *const c)
{
    return c->packed ? ceil_div(c->groups, 4) : c->groups;
}

/* ---- where a scale lies: byte offsets in storage ---- */

static size_t row_f32_at(const struct cast *const c, const int64_t b, const int64_t m, const int64_t g)
{
    return (size_t) (((b * c->e.m + m) * c->groups + g) * 4); /* SF-1 */
}

static size_t row_packed_at(const struct cast *const c, const int64_t b, const int64_t m, const int64_t g)
{
    return (size_t) ((b * c->e.m + m) * row_words(c) * 4 + g); /* SF-2: four groups a word, byte j = group 4k+j */
}

static size_t col_packed_at(const struct cast *const c, const int64_t b, const int64_t m, const int64_t g)
{
    return (size_t) (((b * row_words(c) + g / 4) * padded_rows(c->e.m) + m) * 4 + g % 4); /* SF-3 */
}

static size_t col_f32_at(const struct cast *const c, const int64_t b, const int64_t m, const int64_t g)
{
    return (size_t) (((b * c->groups + g) * padded_rows(c->e.m) + m) * 4); /* SF-3, its last sentence */
}

static size_t utccp_at(const struct cast *const c, const int64_t m, const int64_t g)
{
    const int64_t i = m % c->block_m, rows = c->extra_sf->store[1];
    const int64_t p = i / 128 * 128 + i % 32 * 4 + i % 128 / 32;

    return (size_t) ((g / 4 * rows + m / c->block_m * align128(c->block_m) + p) * 4 + g % 4); /* SF-4 */
}

/* ---- the outputs' form ---- */

static int bind_codes(const struct cast *const c, const struct tensor *const x, struct why *const why)
{
    if (c->codes->type != TYPE_E4M3 && c->codes->type != TYPE_E2M1)
        return refuse(why, "out is %s, the cast writes e4m3 or e2m1 (CAST-10)", type_name(c->codes->type));
    if (c->codes->type == TYPE_E4M3)
        return same_view_shape(c->codes, x, why);
    if (c->e.d % 2 != 0)
        return refuse(why, "d is %lld, e2m1 needs an even one (CAST-10)", (long long) c->e.d);
    if (c->codes->rank != x->rank || !dims_are(c->codes->shape, x->rank, c->e.b, c->e.m, c->e.d / 2))
        return refuse(why, "out has another shape than (B, M, d/2) (CAST-10)");
    return 0;
}

/* SF-1..SF-3: element type, storage dims and view of sf. */
static int bind_sf(const struct cast *const c, const struct tensor *const x, struct why *const why)
{
    const int64_t rows = c->col ? padded_rows(c->e.m) : c->e.m, words = row_words(c);
    const int64_t stride[3] = { words * rows, c->col ? 1 : words, c->col ? rows : 1 }; /* b, m, word */
    const struct tensor *const sf = c->sf;
    const enum type type = c->packed ? TYPE_I32 : TYPE_F32;

    if (sf->type != type)
        return refuse(why, "sf is %s, this layout is %s (SF-0)", type_name(sf->type), type_name(type));
    if (sf->rank != x->rank && x->rank != 1)
        return refuse(why, "sf has rank %d, x has %d (SF-1)", sf->rank, x->rank);
    if (!dims_are(sf->shape, sf->rank, c->e.b, c->e.m, words))
        return refuse(why, "sf has another shape than (B, M, %lld) (SF-1)", (long long) words);
    if (!dims_are(sf->store, sf->store_rank, c->e.b, c->col ? words : rows, c->col ? rows : words))
        return refuse(why, "sf has other storage dims than its layout (SF-1, SF-3)");
    for (int i = 0; i < sf->rank && sf->count > 0; i++) {
        const int axis = i + 3 - sf->rank;
        if (sf->stride[i] != stride[axis] && (c->col || sf->shape[i] > 1))
            return refuse(why, "sf: stride(%d) is %lld, not %lld (SF-3)", i, (long long) sf->stride[i], (long long) stride[axis]);
    }
    return 0;
}

static int bind_extra_sf(const struct cast *const c, const struct tensor *const x, struct why *const why)
{
    const struct tensor *const t = c->extra_sf;

    if (c->e2m1)
        return refuse(why, "extra_sf needs the e4m3 cast (SF-4)");
    if (c->group != 32 || !c->round_sf || c->e.d % 128 != 0)
        return refuse(why, "extra_sf needs group = 32, round_sf, d %% 128 == 0 (SF-4)");
    if (x->rank == 1 || c->e.b != 1)
        return refuse(why, "extra_sf needs one batch (SF-4)");
    if (t->type != TYPE_I32 || t->store_rank != 2 || t->store[0] != c->e.d / 128)
        return refuse(why, "extra_sf is not i32 storage of (d/128, rows) (SF-4)");
    if (!dims_are(t->shape, t->rank, 1, c->e.m, c->e.d / 128))
        return refuse(why, "extra_sf has another shape than (M, d/128) (SF-4)");
    if (t->stride[t->rank - 1] != t->store[1] || (t->rank > 1 && t->stride[t->rank - 2] != 1))
        return refuse(why, "extra_sf has other strides than (1, rows) (SF-4)");
    if (ceil_div(c->e.m, c->block_m) * align128(c->block_m) > t->store[1])
        return refuse(why, "extra_sf has too few rows: %lld (SF-4)", (long long) t->store[1]);
    return 0;
}

static void clear(struct tensor *const t)
{
    memset(t->data, 0, t->count * type_size(t->type));
}

int cast_bind(struct cast *const c, const struct test_case *const source, const struct tensor *const x, struct why *const why)
{
    const int64_t many = INT64_C(1) << 30;
    int64_t group, round_sf, col, packed, extra, ragged;

    if (view_extent(x, &c->e, why) != 0 || find_count(source, "group", 1, INT64_MAX, &group, why) != 0 ||
        find_count(source, "round_sf", 0, 1, &round_sf, why) != 0 || find_count(source, "sf_col", 0, 1, &col, why) != 0 ||
        find_count(source, "sf_packed", 0, 1, &packed, why) != 0 || find_count(source, "extra_sf", 0, 1, &extra, why) != 0 ||
        find_choice(source, "sf_ragged", 2, &ragged, why) != 0)
        return -1;

    c->group = group;
    c->groups = ceil_div(c->e.d, group);
    c->round_sf = (int) round_sf;
    c->col = (int) col;
    c->packed = (int) packed;
    c->ragged = (int) ragged;
    c->dialect = 0; /* of CAST-9: the operator cast alone has one */
    if (group != 16 && group != 32 && group != 64 && group != 128 && group < c->e.d)
        return refuse(why, "group = %lld is none of 16, 32, 64, 128, nor >= d (CAST-10)", (long long) group);
    if (packed && !round_sf)
        return refuse(why, "sf_packed needs round_sf (SF-0)");
    if (ragged && !packed)
        return refuse(why, "sf_ragged needs sf_packed (SF-6)");
    if (packed && !ragged && c->groups % 4 != 0)
        return refuse(why, "sf_packed needs d_s %% 4 == 0, d_s is %lld (SF-2, SF-3)", (long long) c->groups);

    c->codes = find_tensor(source, "out", 1, why);
    if (c->codes == NULL || bind_codes(c, x, why) != 0)
        return -1;
    c->e2m1 = c->codes->type == TYPE_E2M1;
    c->sf = find_tensor(source, "sf", 1, why);
    if (c->sf == NULL || bind_sf(c, x, why) != 0)
        return -1;
    c->extra_sf = NULL;
    c->block_m = 1;
    if (extra) {
        c->extra_sf = find_tensor(source, "extra_sf", 1, why);
        if (c->extra_sf == NULL || find_count(source, "extra_sf_block_m", 1, many, &c->block_m, why) != 0 ||
            bind_extra_sf(c, x, why) != 0)
            return -1;
        clear(c->extra_sf);
    }
    clear(c->codes);
    clear(c->sf);
    return 0;
}

/* ---- one group ---- */

/* What a group shares. factor: what x is multiplied with. */
struct scale {
    double sf, factor;
    unsigned byte;
};

static double code_max(const struct cast *const c)
{
    return c->e2m1 ? 6.0 : 448.0;
}

static double fl_1e_4(void)
{
    return num_div(TYPE_F32, 1.0, 10000.0);
}

/* CAST-2, CAST-9. */
static double amax_floor(const struct cast *const c)
{
    if (c->dialect == SF_FLOOR)
        return 0.0;
    return c->e2m1 && c->dialect != DEEPGEMM ? ldexp(6.0, -126) : fl_1e_4();
}

/* CAST-4: the least power of two that is not below amax/448, nor below a floor of its own; amax is a clamped f32, so -126 <= e
 * (-22 for E4M3). */
static int least_exponent(const struct cast *const c, const double amax)
{
    int e = -126;

    while (ldexp(code_max(c), e) < amax || (c->dialect == SF_FLOOR && ldexp(1.0, e) < fl_1e_4())) /* exact on both sides */
        e++;
    return e;
}

static struct scale group_scale(const struct cast *const c, const double *const x, const int64_t n)
{
    double amax = amax_floor(c);

    for (int64_t i = 0; i < n; i++)
        if (fabs(x[i]) > amax)
            amax = fabs(x[i]); /* CAST-1 */
    if (!c->round_sf) {
        struct scale s = { num_div(TYPE_F32, amax, code_max(c)), num_div(TYPE_F32, code_max(c), amax), 0 };
        if (c->dialect == DEEPGEMM)
            s.factor = num_div(TYPE_F32, 1.0, s.sf); /* CAST-9 */
        return s;                                    /* CAST-3 and CAST-5 */
    }
    const int e = least_exponent(c, amax);
    const struct scale s = { ldexp(1.0, e), ldexp(1.0, -e), (unsigned) (e + 127) };
    return s; /* CAST-4 */
}

/* CAST-5: the product with a power of two is exact, the other one is rounded to f32. */
static unsigned code_of(const struct cast *const c, const struct scale s, const double x)
{
    const double scaled = c->round_sf ? x * s.factor : num_mul(TYPE_F32, x, s.factor);

    if (c->dialect == F32_NAN && fabs(scaled) > 464.0)
        return num_e4m3(NAN); /* FMT-2 */
    return c->e2m1 ? num_e2m1(scaled, c->dialect == DEEPGEMM) : num_e4m3(scaled);
}

/* E2M1: the even column in the low nibble (FMT-4); storage was cleared. */
static void store_code(const struct cast *const c, const int64_t b, const int64_t m, const int64_t j, const unsigned code)
{
    if (c->e2m1)
        c->codes->data[view_at(c->codes, b, m, j / 2)] |= (unsigned char) (j % 2 != 0 ? code * 16 : code);
    else
        c->codes->data[view_at(c->codes, b, m, j)] = (unsigned char) code;
}

static void store_scale(const struct cast *const c, const int64_t b, const int64_t m, const int64_t g, const struct scale s)
{
    unsigned char *const sf = c->sf->data;

    if (c->packed)
        sf[c->col ? col_packed_at(c, b, m, g) : row_packed_at(c, b, m, g)] = (unsigned char) s.byte;
    else
        num_store(TYPE_F32, sf + (c->col ? col_f32_at(c, b, m, g) : row_f32_at(c, b, m, g)), s.sf);
    if (c->extra_sf != NULL)
        c->extra_sf->data[utccp_at(c, m, g)] = (unsigned char) s.byte;
}

/* CAST-7: with a NaN or an Inf in the group only the NaN elements' codes are specified; the rest is left 0.
 */
static void cast_group(const struct cast *const c, const int64_t b, const int64_t m, const int64_t g, const double *const row)
{
    const int64_t first = g * c->group, left = c->e.d - first, n = left < c->group ? left : c->group;
    const struct scale nothing = { 0, 0, 0 };
    int finite = 1;

    for (int64_t i = 0; i < n; i++)
        finite = finite && isfinite(row[first + i]);

    const struct scale s = finite ? group_scale(c, row + first, n) : nothing;

    for (int64_t i = first; i < first + n; i++)
        store_code(c, b, m, i, finite ? code_of(c, s, row[i]) : isnan(row[i]) && !c->e2m1 ? num_e4m3(NAN) : 0);
    store_scale(c, b, m, g, s);
}

void cast_row(const struct cast *const c, const int64_t b, const int64_t m, const double *const row)
{
    for (int64_t g = 0; g < c->groups; g++)
        cast_group(c, b, m, g, row);
}

int oracle_cast(struct test_case *const source, struct why *const why)
{
    const struct tensor *const x = find_tensor(source, "x", 0, why);
    struct cast c;

    if (x == NULL)
        return -1;
    if (x->type != TYPE_BF16 && x->type != TYPE_F32)
        return refuse(why, "x is %s, neither bf16 nor f32 (CAST-1)", type_name(x->type));
    int64_t dialect;

    if (cast_bind(&c, source, x, why) != 0 || find_choice(source, "dialect", CAST_DIALECTS - 1, &dialect, why) != 0)
        return -1;
    c.dialect = (int) dialect;
    if (!c.round_sf && (c.dialect == SF_FLOOR || (c.dialect == DEEPGEMM && c.e2m1)))
        return refuse(why, "this dialect without round_sf is not in CAST-9");

    double *const row = need(malloc((size_t) c.e.d * sizeof *row));

    for (int64_t b = 0; b < c.e.b; b++)
        for (int64_t m = 0; m < c.e.m; m++) {
            for (int64_t j = 0; j < c.e.d; j++)
                row[j] = view_load(x, b, m, j);
            cast_row(&c, b, m, row);
        }
    free(row);
    return 0;
}
