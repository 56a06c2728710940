/* SPDX-License-Identifier: Apache-2.0 */
/* Preconditions of sf_layout, violated one at a time (ERR-1, SF-5). The good call is row to col, M = 3, d_s = 8; of any-.. it is the
 * case's own. */
#include <stddef.h>
#include <string.h>

#include "../../ref/args.h"
#include "sf_layout.h"

/* clang-format off */
static struct lc_tensor *t(struct call *c, int slot) { return &c->slot[slot].t; }
static void set(struct call *c, const char *scalar, int64_t i) { call_set_scalar(c, scalar, i, 0); }
static void out_utccp(struct call *c, int64_t block) /* sf_out as SF-4 */
{
    set(c, "to_block_m", block);
    t(c, SFL_OUT)->stride[1] = 512;
}
static void in_weight(struct call *c) /* sf_in as one block of 32 rows */
{
    set(c, "from_weight", 1);
    t(c, SFL_IN)->shape[0] = 1;
}

static void in_absent(struct call *c) { c->slot[SFL_IN].listed = 0; }
static void in_rank(struct call *c) { t(c, SFL_IN)->rank = 3; }
static void in_rows(struct call *c) { t(c, SFL_IN)->shape[0] = 2; }
static void in_cols(struct call *c) { t(c, SFL_IN)->shape[1] = 7; }
static void in_dtype(struct call *c) { t(c, SFL_IN)->dtype = LC_I32; }
static void in_stride(struct call *c) { t(c, SFL_IN)->stride[0] = 9; }
static void in_null(struct call *c) { c->slot[SFL_IN].miss = NULL_POINTER; }
static void in_base(struct call *c) { c->slot[SFL_IN].miss = 2; }
static void out_absent(struct call *c) { c->slot[SFL_OUT].listed = 0; }
static void out_rank(struct call *c) { t(c, SFL_OUT)->rank = 1; }
static void out_words(struct call *c) { t(c, SFL_OUT)->shape[1] = 1; }
static void out_dtype(struct call *c) { t(c, SFL_OUT)->dtype = LC_F32; }
static void out_pad(struct call *c) { t(c, SFL_OUT)->stride[1] = 3; }
static void out_row(struct call *c) { t(c, SFL_OUT)->stride[0] = 2; }
static void out_null(struct call *c) { c->slot[SFL_OUT].miss = NULL_POINTER; }
static void out_base(struct call *c) { c->slot[SFL_OUT].miss = 8; }
static void out_alias(struct call *c) { c->slot[SFL_OUT].same_as = SFL_IN; }
static void out_before_end(struct call *c) { c->slot[SFL_OUT].same_as = SFL_IN, c->slot[SFL_OUT].shift = 80; } /* sf_in has 96 */
static void error_absent(struct call *c) { c->slot[SFL_ERROR].listed = 0; }
static void error_dtype(struct call *c) { t(c, SFL_ERROR)->dtype = LC_I32; }
static void error_two(struct call *c) { t(c, SFL_ERROR)->shape[0] = 2; }
static void error_null(struct call *c) { c->slot[SFL_ERROR].miss = NULL_POINTER; }
static void error_alias(struct call *c) { c->slot[SFL_ERROR].same_as = SFL_IN; }
static void error_in_out(struct call *c) { c->slot[SFL_ERROR].same_as = SFL_OUT, c->slot[SFL_ERROR].shift = 24; }
static void from_col_2(struct call *c) { set(c, "from_col", 2); }
static void from_packed_2(struct call *c) { set(c, "from_packed", 2); }
static void to_col_2(struct call *c) { set(c, "to_col", 2); }
static void to_packed_2(struct call *c) { set(c, "to_packed", 2); }
static void weight_2(struct call *c) { set(c, "from_weight", 2); }
static void groups_0(struct call *c) { set(c, "groups", 0); }
static void groups_6(struct call *c) { set(c, "groups", 6); }
static void groups_6_rowp(struct call *c) { set(c, "groups", 6), set(c, "to_col", 0); }
static void groups_6_utccp(struct call *c) { out_utccp(c, 128), set(c, "groups", 6), set(c, "sf_ragged", 1); }
static void ragged_2(struct call *c) { set(c, "sf_ragged", 2); }
static void ragged_f32(struct call *c) { set(c, "sf_ragged", 1), set(c, "to_packed", 0); }
static void block_minus(struct call *c) { set(c, "to_block_m", -1); }
static void block_rows(struct call *c) { set(c, "to_block_m", 128), set(c, "to_col", 0); }
static void block_f32(struct call *c) { set(c, "from_block_m", 128), set(c, "from_col", 1); }
static void utccp_few(struct call *c) { out_utccp(c, 1), t(c, SFL_OUT)->stride[1] = 383; }
static void utccp_stride(struct call *c) { out_utccp(c, 128), t(c, SFL_OUT)->stride[0] = 2; }
static void utccp_shape(struct call *c) { out_utccp(c, 128), t(c, SFL_OUT)->shape[1] = 1; }
static void utccp_rank(struct call *c) { out_utccp(c, 128), t(c, SFL_OUT)->rank = 3; }
static void weight_rows(struct call *c) { set(c, "from_weight", 1); } /* three blocks for three rows */
static void weight_col(struct call *c) { in_weight(c), set(c, "from_col", 1); }
static void weight_packed(struct call *c) { in_weight(c), set(c, "from_packed", 1); }
static void weight_to_row(struct call *c) { in_weight(c), set(c, "to_col", 0); }
static void weight_to_f32(struct call *c) { in_weight(c), set(c, "to_packed", 0); }
static void weight_rank(struct call *c) { in_weight(c), t(c, SFL_IN)->rank = t(c, SFL_OUT)->rank = 3; }
static void in_utccp(struct call *c) /* sf_in as SF-4, the words of its storage in two columns of 12 rows, but for what is wrong */
{
    set(c, "from_col", 1), set(c, "from_packed", 1), set(c, "from_block_m", 128);
    t(c, SFL_IN)->dtype = LC_I32;
    t(c, SFL_IN)->shape[1] = 2, t(c, SFL_IN)->stride[0] = 1, t(c, SFL_IN)->stride[1] = 512;
}
static void in_utccp_few(struct call *c) { in_utccp(c), t(c, SFL_IN)->stride[1] = 127; }
static void in_utccp_stride(struct call *c) { in_utccp(c), t(c, SFL_IN)->stride[0] = 2; }
static void in_utccp_shape(struct call *c) { in_utccp(c), t(c, SFL_IN)->shape[1] = 1; }
static void from_block_minus(struct call *c) { in_utccp(c), set(c, "from_block_m", -1); }
static void in_col_base(struct call *c) /* SF-3's storage is aligned to 16 bytes */
{
    set(c, "from_col", 1), set(c, "from_packed", 1);
    t(c, SFL_IN)->dtype = LC_I32;
    t(c, SFL_IN)->shape[1] = 2, t(c, SFL_IN)->stride[0] = 1, t(c, SFL_IN)->stride[1] = 4;
    c->slot[SFL_IN].miss = 8;
}
static void values(struct call *c) { (void) c; } /* of sf_in: bad_values below */
/* clang-format on */

#define IN(row, group) ((row) *8 + (group))

/* What is wrong with the values of sf_in: the first, by index, and where. */
static const struct wrong {
    const char *bad;
    int at;
    uint32_t bits;
} wrong[] = {
    { "value-0", IN(0, 0), 0 },
    { "value-minus-0", IN(1, 3), 0x80000000 },
    { "value-subnormal", IN(2, 7), 0x00400000 }, /* 2^-127: byte 0's own value */
    { "value-below-normal", IN(1, 0), 0x007fffff },
    { "value-inf", IN(1, 5), 0x7f800000 },
    { "value-nan", IN(0, 7), 0x7fc00000 },
    { "value-minus-1", IN(2, 3), 0xbf800000 },
    { "value-mantissa", IN(1, 2), 0x3fc00000 }, /* 1.5 */
    { "value-last-bit", IN(2, 6), 0x3f800001 },
    { "value-first-bit", IN(0, 6), 0x00c00000 }, /* 1.5 * 2^-126 */
    { "value-two", IN(1, 1), 0x40400000 },
    { "weight-0", IN(0, 4), 0 },
    { "weight-inf", IN(0, 7), 0x7f800000 },
    { "weight-mantissa", IN(0, 1), 0x3f800001 },
};

/* One value that is refused, among others that are not, in a call of any form; padding stays poison. Answers as
 * sf_layout_bad_values. */
static const struct {
    const char *bad;
    uint32_t bits;
} anywhere[] = {
    { "any-mantissa", 0x3fc00000 },  { "any-last-bit", 0x3f800001 }, { "any-0", 0 },
    { "any-subnormal", 0x00400000 }, { "any-inf", 0x7f800000 },      { "any-nan", 0x7fc00000 },
    { "any-minus", 0xbf800000 },
};

bool sf_layout_is_anywhere(const struct kase *k)
{
    return !strncmp(kase_name(k, "bad"), "any-", 4);
}

static int64_t one_anywhere(struct call *c)
{
    union op_args args;
    if (c->op->check(&c->pristine, &args) != LC_OK)
        return 0; /* the case says so */
    const struct sf_layout_args *const a = &args.sf_layout;
    const int64_t rows = a->batch * (a->weight ? (a->m + 31) / 32 : a->m), n = rows * a->from.groups;
    const int64_t at = kase_is(&c->id, "spot", "first") ? 0 : kase_is(&c->id, "spot", "middle") ? n / 2 : n - 1;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t) (1 + (i / a->from.groups * 37 + i % a->from.groups * 23) % 254) << 23;
        for (size_t what = 0; i == at && what < sizeof anywhere / sizeof *anywhere; what++)
            if (!strcmp(c->op->bads[c->bad].name, anywhere[what].bad))
                bits = anywhere[what].bits;
        memcpy(c->image + c->slot[SFL_IN].offset +
                   sf_layout_in_place(a, i / a->from.groups * (a->weight ? 32 : 1), i % a->from.groups),
               &bits, sizeof bits);
    }
    return 1 + at;
}

int64_t sf_layout_bad_values(struct call *c)
{
    if (sf_layout_is_anywhere(&c->id))
        return one_anywhere(c);
    const char *const name = c->op->bads[c->bad].name;
    const uint32_t one = 0x3f800000, two = 0xbf800000;
    uint8_t *const in = c->image + c->slot[SFL_IN].offset;
    int64_t error = 0;
    if (!c->slot[SFL_IN].listed || c->slot[SFL_IN].miss < 0)
        return 0;
    for (size_t i = 0; i < c->slot[SFL_IN].bytes / sizeof one; i++)
        memcpy(in + i * sizeof one, &one, sizeof one);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (!strcmp(name, wrong[i].bad)) {
            memcpy(in + 4 * wrong[i].at, &wrong[i].bits, sizeof one);
            error = 1 + wrong[i].at;
        }
    if (!strcmp(name, "value-two")) /* and one behind it: the first is named */
        memcpy(in + 4 * IN(2, 2), &two, sizeof two);
    return error;
}

const struct bad sf_layout_bads[] = {
    { "in-absent", "sf_in", "SF-0", "not given", in_absent },
    { "in-rank", "sf_in", "SF-1", "rank 3", in_rank },
    { "in-rows", "sf_in", "SF-1", "shape[0] = 2", in_rows },
    { "in-cols", "sf_in", "SF-1", "shape[1] = 7", in_cols },
    { "in-dtype", "sf_in", "SF-1", "dtype i32", in_dtype },
    { "in-stride", "sf_in", "SF-1", "stride[0] = 9", in_stride },
    { "in-null", "sf_in", "SF-1", "NULL", in_null },
    { "in-base", "sf_in", "SF-1", "0x", in_base },
    { "out-absent", "sf_out", "SF-0", "not given", out_absent },
    { "out-rank", "sf_out", "SF-1", "rank 1", out_rank },
    { "out-words", "sf_out", "SF-3", "shape[1] = 1", out_words },
    { "out-dtype", "sf_out", "SF-3", "dtype f32", out_dtype },
    { "out-pad", "sf_out", "SF-3", "stride[1] = 3", out_pad },
    { "out-row", "sf_out", "SF-3", "stride[0] = 2", out_row },
    { "out-null", "sf_out", "SF-1", "NULL", out_null },
    { "out-base", "sf_out", "SF-3", "0x", out_base },
    { "out-alias", "sf_out", "DET-4", "0x", out_alias },
    { "out-before-end", "sf_out", "DET-4", "0x", out_before_end },
    { "error-absent", "error", "SF-5", "not given", error_absent },
    { "error-dtype", "error", "SF-5", "dtype i32", error_dtype },
    { "error-two", "error", "SF-5", "shape[0] = 2", error_two },
    { "error-null", "error", "SF-5", "NULL", error_null },
    { "error-alias", "error", "DET-4", "0x", error_alias },
    { "error-in-out", "error", "DET-4", "0x", error_in_out },
    { "from-col-2", "from_col", "SF-0", "2", from_col_2 },
    { "from-packed-2", "from_packed", "SF-0", "2", from_packed_2 },
    { "to-col-2", "to_col", "SF-0", "2", to_col_2 },
    { "to-packed-2", "to_packed", "SF-0", "2", to_packed_2 },
    { "weight-2", "from_weight", "SF-5", "2", weight_2 },
    { "groups-0", "groups", "SF-1", "0", groups_0 },
    { "groups-6", "groups", "SF-3", "6", groups_6 },
    { "groups-6-rowp", "groups", "SF-2", "6", groups_6_rowp },
    { "groups-6-utccp", "groups", "SF-4", "6", groups_6_utccp },
    { "ragged-2", "sf_ragged", "SF-6", "2", ragged_2 },
    { "ragged-f32", "sf_ragged", "SF-6", "1", ragged_f32 },
    { "block-minus", "to_block_m", "SF-4", "-1", block_minus },
    { "block-rows", "to_block_m", "SF-4", "128", block_rows },
    { "block-f32", "from_block_m", "SF-4", "128", block_f32 },
    { "utccp-few", "sf_out", "SF-4", "stride[1] = 383", utccp_few },
    { "utccp-stride", "sf_out", "SF-4", "stride[0] = 2", utccp_stride },
    { "utccp-shape", "sf_out", "SF-4", "(3, 1)", utccp_shape },
    { "utccp-rank", "sf_out", "SF-4", "rank 3", utccp_rank },
    { "in-utccp-few", "sf_in", "SF-4", "stride[1] = 127", in_utccp_few },
    { "in-utccp-stride", "sf_in", "SF-4", "stride[0] = 2", in_utccp_stride },
    { "in-utccp-shape", "sf_in", "SF-4", "(3, 1)", in_utccp_shape },
    { "from-block-minus", "from_block_m", "SF-4", "-1", from_block_minus },
    { "in-col-base", "sf_in", "SF-3", "0x", in_col_base },
    { "weight-rows", "sf_in", "SF-1", "shape[0] = 3", weight_rows },
    { "weight-col", "from_weight", "SF-5", "1", weight_col },
    { "weight-packed", "from_weight", "SF-5", "1", weight_packed },
    { "weight-to-row", "from_weight", "SF-5", "1", weight_to_row },
    { "weight-to-f32", "from_weight", "SF-5", "1", weight_to_f32 },
    { "weight-rank", "sf_out", "SF-5", "rank 3", weight_rank },
    { "value-0", "sf_in", "SF-5", "row 0, group 0 = 0x0p+0", values },
    { "value-minus-0", "sf_in", "SF-5", "row 1, group 3 = -0x0p+0", values },
    { "value-subnormal", "sf_in", "SF-5", "row 2, group 7 = 0x1p-127", values },
    { "value-below-normal", "sf_in", "SF-5", "row 1, group 0 = 0x1.fffffcp-127", values },
    { "value-inf", "sf_in", "SF-5", "row 1, group 5 = inf", values },
    { "value-nan", "sf_in", "SF-5", "row 0, group 7 = nan", values },
    { "value-minus-1", "sf_in", "SF-5", "row 2, group 3 = -0x1p+0", values },
    { "value-mantissa", "sf_in", "SF-5", "row 1, group 2 = 0x1.8p+0", values },
    { "value-last-bit", "sf_in", "SF-5", "row 2, group 6 = 0x1.000002p+0", values },
    { "value-first-bit", "sf_in", "SF-5", "row 0, group 6 = 0x1.8p-126", values },
    { "value-two", "sf_in", "SF-5", "row 1, group 1 = 0x1.8p+1", values },
    { "weight-0", "sf_in", "SF-5", "block (0, 4) = 0x0p+0", in_weight },
    { "weight-inf", "sf_in", "SF-5", "block (0, 7) = inf", in_weight },
    { "weight-mantissa", "sf_in", "SF-5", "block (0, 1) = 0x1.000002p+0", in_weight },
    { "any-mantissa", "sf_in", "SF-5", " = 0x1.8p+0", values },
    { "any-last-bit", "sf_in", "SF-5", " = 0x1.000002p+0", values },
    { "any-0", "sf_in", "SF-5", " = 0x0p+0", values },
    { "any-subnormal", "sf_in", "SF-5", " = 0x1p-127", values },
    { "any-inf", "sf_in", "SF-5", " = inf", values },
    { "any-nan", "sf_in", "SF-5", " = nan", values },
    { "any-minus", "sf_in", "SF-5", " = -0x1p+0", values },
    { NULL, NULL, NULL, NULL, NULL },
};
