/* SPDX-License-Identifier: Apache-2.0 */
/* ref/sf_layout.c and ref/sf.c: every layout gives each scale a place of its own, and there and back is the identity (SF-1..SF-6). */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"

enum layout { ROW, COLF, ROWP, COL, UTCCP, LAYOUTS };
enum { MOST = 1 << 17 };

static uint8_t first[4 * MOST], second[4 * MOST], third[4 * MOST];
static int64_t error[1];
static char msg[256];

static bool packed(enum layout l)
{
    return l == ROWP || l == COL || l == UTCCP;
}

static int64_t up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* The tensor of (m, groups) scales in a layout. */
static struct lc_tensor tensor(const char *name, enum layout l, void *data, int64_t m, int64_t groups, int64_t block_m)
{
    const int64_t n = packed(l) ? (groups + 3) / 4 : groups;
    struct lc_tensor t = { name, data, packed(l) ? LC_I32 : LC_F32, 2, { m, n }, { n, 1 } };
    if (l == COLF || l == COL)
        t.stride[0] = 1, t.stride[1] = up(m, 4);
    if (l == UTCCP)
        t.stride[0] = 1, t.stride[1] = up(m, block_m) / block_m * up(block_m, 128);
    return t;
}

/* Converts by rows of the reference. 0, or the status of the check. */
static int convert(enum layout from, uint8_t *in, enum layout to, uint8_t *out, int64_t m, int64_t groups, int64_t block_m)
{
    const struct lc_tensor t[3] = { tensor("sf_in", from, in, m, groups, block_m),
                                    tensor("sf_out", to, out, m, groups, block_m),
                                    { "error", error, LC_I64, 1, { 1 }, { 1 } } };
    const struct lc_scalar s[] = { { "groups", groups, 0 },
                                   { "from_col", from == COLF || from == COL || from == UTCCP, 0 },
                                   { "from_packed", packed(from), 0 },
                                   { "from_block_m", from == UTCCP ? block_m : 0, 0 },
                                   { "to_col", to == COLF || to == COL || to == UTCCP, 0 },
                                   { "to_packed", packed(to), 0 },
                                   { "to_block_m", to == UTCCP ? block_m : 0, 0 },
                                   { "sf_ragged", groups % 4 != 0 && (packed(from) || packed(to)), 0 } };
    const struct lc_call call = { .size = sizeof call,
                                  .device = -1,
                                  .tensors = t,
                                  .scalars = s,
                                  .n_tensors = 3,
                                  .n_scalars = sizeof s / sizeof *s,
                                  .msg = msg,
                                  .msg_size = sizeof msg };
    static const struct ref_got nobody;
    static struct iv at[MOST], one[1];
    static uint8_t open[MOST], open_one[1];
    struct ref_want w = { .at = { NULL, at, one }, .free = { NULL, open, open_one } };
    union op_args args;
    int status = ref_sf_layout_check(&call, &args);
    if (!status)
        status = ref_sf_layout_values(&call, &args);
    if (status)
        return status;
    const struct sf_layout_args *const a = &args.sf_layout;
    for (int64_t row = 0; row < m; row++) {
        ref_sf_layout_row(&args, row, &nobody, &w);
        for (int64_t g = 0; g < sf_cols(&a->to); g++) {
            uint8_t *const p = out + sf_layout_out_place(a, row, g);
            const enum lc_dtype f = packed(to) ? LC_UE8M0 : LC_F32;
            const uint32_t code = fmt_code(f, at[g].v);
            cr_assert((iv_is_nan(at[g]) || iv_is_pt(at[g])) && !open[g]);
            if (packed(to))
                *p = (uint8_t) code;
            else
                memcpy(p, &code, sizeof code);
        }
    }
    return LC_OK;
}

/* SF-1 scales 2^-126..2^127, all neighbours different. */
static void fill(int64_t m, int64_t groups)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t g = 0; g < groups; g++) {
            const uint32_t bits = (uint32_t) (1 + (i * 37 + g * 23) % 254) << 23;
            memcpy(first + 4 * (i * groups + g), &bits, sizeof bits);
        }
}

static void there_and_back(enum layout l, int64_t m, int64_t groups, int64_t block_m)
{
    memset(second, 0xff, sizeof second);
    memset(third, 0x7b, sizeof third);
    fill(m, groups);
    cr_assert_eq(convert(ROW, first, l, second, m, groups, block_m), LC_OK, "%s", msg);
    cr_assert_eq(convert(l, second, ROW, third, m, groups, block_m), LC_OK, "%s", msg);
    cr_assert_eq(memcmp(first, third, (size_t) (4 * m * groups)), 0, "layout %d, M %d, d_s %d, block_m %d", (int) l, (int) m,
                 (int) groups, (int) block_m);
}

Test(sf_layout, there_and_back_is_the_identity)
{
    static const int64_t ms[] = { 1, 2, 3, 4, 5, 31, 33, 127, 128, 130, 257 }, blocks[] = { 1, 31, 48, 127, 128, 129, 200, 300 };
    for (size_t i = 0; i < sizeof ms / sizeof *ms; i++)
        for (int64_t groups = 1; groups <= 12; groups++)
            for (int l = ROW; l < UTCCP; l++)
                there_and_back((enum layout) l, ms[i], groups, 0);
    for (size_t i = 0; i < sizeof ms / sizeof *ms; i++)
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
            there_and_back(UTCCP, ms[i], 8, blocks[b]);
}

/* Through any two layouts, and back. */
Test(sf_layout, by_way_of_another_layout)
{
    static uint8_t fourth[4 * MOST];
    const int64_t m = 130, groups = 8, block_m = 48;
    for (int k = ROW; k < LAYOUTS; k++)
        for (int l = ROW; l < LAYOUTS; l++) {
            fill(m, groups);
            cr_assert_eq(convert(ROW, first, (enum layout) k, second, m, groups, block_m), LC_OK, "%s", msg);
            cr_assert_eq(convert((enum layout) k, second, (enum layout) l, third, m, groups, block_m), LC_OK, "%s", msg);
            cr_assert_eq(convert((enum layout) l, third, ROW, fourth, m, groups, block_m), LC_OK, "%s", msg);
            cr_assert_eq(memcmp(first, fourth, (size_t) (4 * m * groups)), 0, "%d to %d", k, l);
        }
}

/* SF-4: rows of each 128 go to each of those 128 words once, and groups to bytes of their word. */
Test(sf_layout, utccp_permutes_every_128)
{
    const struct lc_tensor t = { "sf", NULL, LC_I32, 2, { 1024, 2 }, { 1, 1024 } };
    const struct sf_args s = { .groups = 8, .col = true, .packed = true, .block_m = 512 };
    for (int64_t begin = 0; begin < 1024; begin += 128) {
        bool seen[128] = { false };
        for (int64_t i = begin; i < begin + 128; i++) {
            const int64_t at = sf_extra_place(&s, &t, i, 0) / 4 - begin;
            cr_assert(at >= 0 && at < 128 && !seen[at], "row %d", (int) i);
            seen[at] = true;
            for (int64_t g = 0; g < 8; g++)
                cr_assert_eq(sf_extra_place(&s, &t, i, g), (g / 4 * 1024 + begin + at) * 4 + g % 4);
        }
    }
}

/* SF-4: with any block_m, no two rows share a word, and all stay within the rows that the storage must have. */
Test(sf_layout, utccp_is_one_to_one)
{
    for (int64_t block_m = 1; block_m <= 300; block_m++) {
        const int64_t m = 2 * block_m + 1, rows = 3 * up(block_m, 128);
        const struct lc_tensor t = { "sf", NULL, LC_I32, 2, { m, 1 }, { 1, rows } };
        const struct sf_args s = { .groups = 4, .col = true, .packed = true, .block_m = block_m };
        bool *const seen = calloc((size_t) rows, sizeof *seen);
        cr_assert(seen);
        for (int64_t i = 0; i < m; i++) {
            const int64_t at = sf_extra_place(&s, &t, i, 0) / 4;
            cr_assert(at >= 0 && at < rows && !seen[at], "block_m %d, row %d", (int) block_m, (int) i);
            seen[at] = true;
        }
        free(seen);
    }
}

/* SF-5: of all 2^32 f32, 254 are accepted. */
Test(sf_layout, accepts_normal_powers_of_two_alone)
{
    int64_t accepted = 0;
    for (int64_t e = 0; e < 512; e++) /* sign and exponent; every mantissa of one bit, and a few others */
        for (int bit = -2; bit < 23; bit++) {
            const uint32_t mantissa = bit == -1 ? 0 : bit == -2 ? 0x7fffff : 1u << bit, bits = (uint32_t) e << 23 | mantissa;
            memcpy(first, &bits, sizeof bits);
            const int status = convert(ROW, first, COL, second, 1, 1, 0);
            accepted += status == LC_OK;
            cr_assert_eq(status == LC_OK, mantissa == 0 && e >= 1 && e <= 254, "0x%08x: %s", bits, msg);
        }
    cr_assert_eq(accepted, 254);
}

/* FMT-3: what each byte gives as f32, and back where SF-5 lets it. */
Test(sf_layout, every_byte)
{
    for (int b = 0; b < 256; b++) {
        const uint32_t want = b == 0 ? 0x00400000u : b == 255 ? 0x7fc00000u : (uint32_t) b << 23;
        uint32_t bits;
        memset(second, b, 4);
        cr_assert_eq(convert(ROWP, second, ROW, third, 1, 1, 0), LC_OK, "%s", msg);
        memcpy(&bits, third, sizeof bits);
        cr_assert_eq(bits, want, "byte %d gives 0x%08x", b, bits);
        cr_assert_eq(convert(ROW, third, ROWP, first, 1, 1, 0) == LC_OK, b != 0 && b != 255);
        cr_assert(b == 0 || b == 255 || first[0] == b);
    }
}
