/* SPDX-License-Identifier: Apache-2.0 */
/* SF-5 and the conversions between scale layouts (SF-1..SF-4, SF-6): sf_out holds the scales of sf_in, in another layout.
 *
 *   sf_in    (B, M, d_s) or words, from_col, from_packed, from_block_m (SF-4); or weight scales f32 (ceil(N/32), d_s)
 *   sf_out   likewise, to_col, to_packed, to_block_m; of weight scales SF-3 with M = N
 *   error    int64 (1), where f32 is packed: 0, or 1 + the index in sf_in of the first value that SF-5 refuses
 *
 *   weight   row n takes block n/32 (SF-5)
 *   packing  v = 2^(b-127) gives byte b; only normal powers of two, 2^-126..2^127, are accepted, else nothing is written (SF-5)
 *   f32 of b 2^(b-127), also for b = 0, whose value is subnormal; 255 is a NaN (FMT-3)
 *   ragged   bytes of groups >= d_s are not read, and written as 0 (SF-6)
 *
 * Roundings: none. Freedom: padding rows of SF-3 and col-f32; a NaN's payload. Words of SF-4 that no row maps to stay.
 * M = 0: nothing but error is written. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "args.h"

/* ---- one row ---- */

static int64_t blocks_of(int64_t n)
{
    return (n + 31) / 32; /* ragged N: the last block has fewer rows */
}

int64_t sf_layout_in_place(const struct sf_layout_args *a, int64_t row, int64_t g)
{
    if (a->weight)
        return sf_place(&a->from, blocks_of(a->m), row / 32, g); /* SF-5 */
    return a->from.block_m ? sf_extra_place(&a->from, a->t[SFL_IN], row, g) : sf_place(&a->from, a->m, row, g);
}

int64_t sf_layout_out_place(const struct sf_layout_args *a, int64_t row, int64_t g)
{
    return a->to.block_m ? sf_extra_place(&a->to, a->t[SFL_OUT], row, g) : sf_place(&a->to, a->m, row, g);
}

static double scale_at(const struct sf_layout_args *a, int64_t row, int64_t g)
{
    const uint8_t *const at = (const uint8_t *) a->t[SFL_IN]->data + sf_layout_in_place(a, row, g);
    uint32_t bits;
    if (a->from.packed)
        return fmt_load(LC_UE8M0, *at); /* FMT-3 */
    memcpy(&bits, at, sizeof bits);
    return fmt_load(LC_F32, bits);
}

void ref_sf_layout_row(const union op_args *args, int64_t row, const struct ref_got *got, struct ref_want *want)
{
    const struct sf_layout_args *const a = &args->sf_layout;
    (void) got;
    if (a->t[SFL_ERROR]) {
        want->at[SFL_ERROR][0] = iv_pt(0);
        want->free[SFL_ERROR][0] = 0;
    }
    if (a->batch * a->m == 0)
        return;
    for (int64_t g = 0; g < sf_cols(&a->to); g++) {
        want->at[SFL_OUT][g] = iv_pt(g < a->from.groups ? scale_at(a, row, g) : ldexp(1, -127)); /* byte 0 (SF-6, FMT-3) */
        want->free[SFL_OUT][g] = 0;
    }
}

/* ---- SF-5, ERR-2: values ---- */

static bool is_normal_power_of_two(double v)
{
    int exp;
    return v > 0 && isfinite(v) && frexp(v, &exp) == 0.5 && exp - 1 >= -126 && exp - 1 <= 127;
}

int ref_sf_layout_values(const struct lc_call *call, const union op_args *args)
{
    const struct sf_layout_args *const a = &args->sf_layout;
    if (!a->t[SFL_ERROR])
        return LC_OK;
    const int64_t rows = a->batch * a->m;
    for (int64_t row = 0; row < rows; row += a->weight ? 32 : 1)
        for (int64_t g = 0; g < a->from.groups; g++) {
            const double v = scale_at(a, row, g);
            if (is_normal_power_of_two(v))
                continue;
            if (a->weight)
                return arg_refuse(call, "sf_in", "SF-5",
                                  "block (%" PRId64 ", %" PRId64 ") = %a: must be a power of two, 2^-126..2^127", row / 32, g, v);
            return arg_refuse(call, "sf_in", "SF-5",
                              "batch %" PRId64 ", row %" PRId64 ", group %" PRId64 " = %a: must be a power of two, 2^-126..2^127",
                              row / a->m, row % a->m, g, v);
        }
    return LC_OK;
}

/* ---- what is accepted ---- */

static int read_side(const struct lc_call *call, const char *const name[3], bool otherwise, struct sf_args *s)
{
    int status = arg_switch(call, name[0], otherwise, "SF-0", &s->col);
    if (!status)
        status = arg_switch(call, name[1], otherwise, "SF-0", &s->packed);
    s->block_m = arg_int(call, name[2], 0);
    s->round = s->packed;
    if (status)
        return status;
    if (s->block_m < 0 || s->block_m > INT64_C(1) << 40)
        return arg_refuse(call, name[2], "SF-4", "%" PRId64 ": must be at least 1, or 0 for another layout", s->block_m);
    if (s->block_m && !(s->col && s->packed))
        return arg_refuse(call, name[2], "SF-4", "%" PRId64 ": utccp is in columns and packed", s->block_m);
    return LC_OK;
}

static int check_groups(const struct lc_call *call, const struct sf_args *s)
{
    if (!s->packed || s->groups % 4 == 0 || (s->ragged && !s->block_m))
        return LC_OK;
    return arg_refuse(call, "groups",
                      s->block_m ? "SF-4"
                      : s->col   ? "SF-3"
                                 : "SF-2",
                      "%" PRId64 ": packed scales need a multiple of 4", s->groups);
}

static int check_side(const struct lc_call *call, const struct sf_layout_args *a, const struct sf_args *s,
                      const struct lc_tensor *t, int64_t m)
{
    return s->block_m ? arg_utccp_shape(call, s, m, sf_words(s), t) : arg_sf_shape(call, s, a->batch, m, t->rank, t);
}

static int check_error(const struct lc_call *call, const struct lc_tensor *error)
{
    if (!error)
        return arg_refuse(call, "error", "SF-5", "not given: it says whether f32 scales were accepted");
    int status = arg_is_view(call, error, "SF-5");
    if (!status)
        status = arg_dtype(call, error, "SF-5", 1u << LC_I64);
    if (!status && (error->rank != 1 || error->shape[0] != 1))
        status = arg_refuse(call, "error", "SF-5", "rank %d, shape[0] = %" PRId64 ": must be one number", (int) error->rank,
                            error->shape[0]);
    return status;
}

int ref_sf_layout_check(const struct lc_call *call, union op_args *out)
{
    static const char *const from[3] = { "from_col", "from_packed", "from_block_m" }, *const to[3] = { "to_col", "to_packed",
                                                                                                       "to_block_m" };
    struct sf_layout_args a = { .t = { arg_tensor(call, "sf_in"), arg_tensor(call, "sf_out"), arg_tensor(call, "error") } };
    const struct lc_tensor *const in = a.t[SFL_IN], *const sf = a.t[SFL_OUT];
    if (!in || !sf)
        return arg_refuse(call, in ? "sf_out" : "sf_in", "SF-0", "not given");
    int status = read_side(call, from, false, &a.from);
    if (!status)
        status = read_side(call, to, true, &a.to);
    if (!status)
        status = arg_switch(call, "from_weight", false, "SF-5", &a.weight);
    if (status)
        return status;
    if (a.weight && (a.from.packed || a.from.col))
        return arg_refuse(call, "from_weight", "SF-5", "1: weight scales are f32, in rows");
    if (a.weight && (!a.to.packed || !a.to.col || a.to.block_m))
        return arg_refuse(call, "from_weight", "SF-5", "1: weight scales are packed as SF-3");
    const int64_t ragged = arg_int(call, "sf_ragged", RAGGED_NO), groups = arg_int(call, "groups", 0);
    if (ragged != RAGGED_NO && ragged != RAGGED_PACK)
        return arg_refuse(call, "sf_ragged", "SF-6", "%" PRId64 ": must be 0 or 1 (ragged-pack)", ragged);
    if (ragged && !a.from.packed && !a.to.packed)
        return arg_refuse(call, "sf_ragged", "SF-6", "%" PRId64 ": only packed scales have words to fill", ragged);
    if (groups < 1 || groups > INT64_C(1) << 40)
        return arg_refuse(call, "groups", "SF-1", "%" PRId64 ": d_s must be at least 1", groups);
    a.from.groups = a.to.groups = groups;
    a.from.ragged = a.from.packed ? (enum sf_ragged) ragged : RAGGED_NO;
    a.to.ragged = a.to.packed ? (enum sf_ragged) ragged : RAGGED_NO;
    status = check_groups(call, &a.from);
    if (!status)
        status = check_groups(call, &a.to);
    if (status)
        return status;
    if (sf->rank != 2 && (sf->rank != 3 || a.weight || a.from.block_m || a.to.block_m))
        return arg_refuse(call, "sf_out",
                          a.weight                         ? "SF-5"
                          : a.from.block_m || a.to.block_m ? "SF-4"
                                                           : "SF-1",
                          "rank %d: must be 2%s", (int) sf->rank, a.weight || a.from.block_m || a.to.block_m ? "" : " or 3");
    if (in->rank != sf->rank)
        return arg_refuse(call, "sf_in", "SF-1", "rank %d: sf_out has rank %d", (int) in->rank, (int) sf->rank);
    int64_t words;
    status = arg_is_view(call, sf, "SF-1");
    if (status)
        return status;
    arg_dims(sf, &a.batch, &a.m, &words);
    status = check_side(call, &a, &a.to, sf, a.m);
    if (!status)
        status = check_side(call, &a, &a.from, in, a.weight ? blocks_of(a.m) : a.m);
    if (a.from.packed || !a.to.packed)
        a.t[SFL_ERROR] = NULL; /* no value can be refused */
    else if (!status)
        status = check_error(call, a.t[SFL_ERROR]);
    if (status)
        return status;
    const struct lc_tensor read = a.from.block_m ? sf_extra_whole(&a.from, in) : *in;
    const struct lc_tensor written = a.to.block_m ? sf_extra_whole(&a.to, sf) : sf_whole(&a.to, sf);
    const struct lc_tensor *const ins[1] = { &read }, *const outs[2] = { &written, a.t[SFL_ERROR] };
    status = arg_no_overlap(call, ins, 1, outs, 2, NULL, "DET-4");
    if (!status)
        out->sf_layout = a;
    return status;
}
