/* SPDX-License-Identifier: Apache-2.0 */
/* Scale-factor layouts SF-0..SF-4 and SF-6, for x of shape (B, M, d), d_s = ceil(d / G) scales a row.
 *
 *   SF-1 row-f32     f32 (B, M, d_s), contiguous
 *   SF-2 row-packed  int32 (B, M, d_s/4), byte j of word k = group 4k + j
 *   SF-3 col-packed  int32, storage (B, d_s/4, m_pad), m_pad = ceil(M/4)*4; rows M.. are padding
 *        col-f32     f32, storage (B, d_s, m_pad)
 *   SF-4 utccp       int32, storage (d/128, rows), beside sf; row m at (m / block_m) * align128(block_m) + P(m % block_m)
 *   SF-6 ragged      packed layouts with any d_s: ceil(d_s/4) words; bytes of groups >= d_s are 0, or free */
#include <inttypes.h>

#include "args.h"

static int64_t align_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* SF-4: the place of row i in its block, a bijection of every 128. */
static int64_t utccp_row(int64_t i)
{
    return i / 128 * 128 + i % 32 * 4 + i % 128 / 32;
}

int64_t sf_words(const struct sf_args *s)
{
    return s->packed ? (s->groups + 3) / 4 : s->groups; /* d_s/4, or SF-6's ceil(d_s/4) */
}

int64_t sf_cols(const struct sf_args *s)
{
    return s->packed && s->ragged == RAGGED_PACK ? 4 * sf_words(s) : s->groups;
}

int64_t sf_place(const struct sf_args *s, int64_t m, int64_t row, int64_t g)
{
    const int64_t b = row / m, i = row % m, m_pad = align_up(m, 4);
    if (!s->col)
        return s->packed ? row * sf_words(s) * 4 + g : (row * s->groups + g) * 4; /* SF-2, SF-1 */
    return s->packed ? ((b * sf_words(s) + g / 4) * m_pad + i) * 4 + g % 4        /* SF-3 */
                     : ((b * s->groups + g) * m_pad + i) * 4;                     /* col-f32 */
}

int64_t sf_extra_place(const struct sf_args *s, const struct lc_tensor *extra_sf, int64_t row, int64_t g)
{
    const int64_t rows = extra_sf->stride[1];
    const int64_t at = row / s->block_m * align_up(s->block_m, 128) + utccp_row(row % s->block_m);
    return (g / 4 * rows + at) * 4 + g % 4;
}

struct lc_tensor sf_whole(const struct sf_args *s, const struct lc_tensor *sf)
{
    struct lc_tensor whole = *sf;
    if (!s->col)
        return whole;
    if (sf->rank == 1) { /* one row, and the padding of its column */
        whole.rank = 2;
        whole.shape[1] = sf->shape[0];
        whole.stride[0] = 1;
        whole.stride[1] = sf->stride[0];
        whole.shape[0] = 1;
    }
    whole.shape[whole.rank - 2] = align_up(whole.shape[whole.rank - 2], 4);
    return whole;
}

struct lc_tensor sf_extra_whole(const struct sf_args *s, const struct lc_tensor *extra_sf)
{
    struct lc_tensor whole = *extra_sf;
    whole.shape[0] = (extra_sf->shape[0] + s->block_m - 1) / s->block_m * align_up(s->block_m, 128);
    return whole;
}

/* Shape and strides that sf must have: (B, M, n) in rows, or in columns m_pad long, "also where a size is 1". */
int arg_sf_shape(const struct lc_call *call, const struct sf_args *s, int64_t batch, int64_t m, int x_rank,
                 const struct lc_tensor *sf)
{
    const char *const clause = !s->col ? s->packed ? "SF-2" : "SF-1" : "SF-3";
    int status = arg_is_view(call, sf, clause);
    if (!status)
        status = arg_dtype(call, sf, clause, s->packed ? 1u << LC_I32 : 1u << LC_F32);
    if (status)
        return status;
    if (sf->rank != x_rank)
        return arg_refuse(call, sf->name, clause, "rank %d: x has rank %d", (int) sf->rank, x_rank);
    const int64_t n = sf_words(s), m_pad = align_up(m, 4);
    const int64_t shape[3] = { batch, m, n }, row[3] = { m * n, n, 1 }, col[3] = { n * m_pad, 1, m_pad };
    const int skip = 3 - x_rank;
    for (int i = 0; i < sf->rank; i++)
        if (sf->shape[i] != shape[skip + i])
            return arg_refuse(call, sf->name, clause, "shape[%d] = %" PRId64 ": must be %" PRId64, i, sf->shape[i],
                              shape[skip + i]);
    if (batch * m == 0)
        return LC_OK;
    if (s->col && (uintptr_t) sf->data % 16)
        return arg_refuse(call, sf->name, clause, "data = %p: the storage must be 16-byte aligned", sf->data);
    return arg_strides(call, sf, (s->col ? col : row) + skip, s->col, clause);
}

/* Likewise of SF-4: (M, words) with strides (1, rows), and rows enough. */
int arg_utccp_shape(const struct lc_call *call, const struct sf_args *s, int64_t m, int64_t words, const struct lc_tensor *t)
{
    int status = arg_is_view(call, t, "SF-4");
    if (!status)
        status = arg_dtype(call, t, "SF-4", 1u << LC_I32);
    if (status)
        return status;
    if (t->rank != 2 || t->shape[0] != m || t->shape[1] != words)
        return arg_refuse(call, t->name, "SF-4", "shape (%" PRId64 ", %" PRId64 "), rank %d: must be (%" PRId64 ", %" PRId64 ")",
                          t->shape[0], t->rank > 1 ? t->shape[1] : 1, (int) t->rank, m, words);
    const int64_t need = (m + s->block_m - 1) / s->block_m * align_up(s->block_m, 128);
    if (t->stride[0] != 1)
        return arg_refuse(call, t->name, "SF-4", "stride[0] = %" PRId64 ": must be 1", t->stride[0]);
    if (t->stride[1] < need)
        return arg_refuse(call, t->name, "SF-4", "stride[1] = %" PRId64 " rows: block_m = %" PRId64 " needs %" PRId64,
                          t->stride[1], s->block_m, need);
    return LC_OK;
}

static int utccp_shape(const struct lc_call *call, const struct sf_args *s, int64_t batch, int64_t m, int64_t d,
                       const struct lc_tensor *x, const struct lc_tensor *extra_sf)
{
    if (!extra_sf)
        return arg_refuse(call, "extra_sf", "SF-4", "not given: extra_sf, its layout and block_m come together");
    if (arg_int(call, "extra_sf_layout", 0) != 1)
        return arg_refuse(call, "extra_sf_layout", "SF-4", "%" PRId64 ": 1 (utccp) is the only extra layout",
                          arg_int(call, "extra_sf_layout", 0));
    if (s->block_m < 1 || s->block_m > INT64_C(1) << 40)
        return arg_refuse(call, "extra_sf_block_m", "SF-4", "%" PRId64 ": must be at least 1", s->block_m);
    if (s->e2m1)
        return arg_refuse(call, "out", "SF-4", "dtype e2m1: utccp needs the E4M3 cast");
    if (s->group != 32)
        return arg_refuse(call, "group", "SF-4", "%" PRId64 ": utccp needs 32", s->group);
    if (!s->round)
        return arg_refuse(call, "round_sf", "SF-4", "0: utccp needs power-of-two scales");
    if (d % 128)
        return arg_refuse(call, x->name, "SF-4", "d = %" PRId64 ": utccp needs a multiple of 128", d);
    if (batch != 1 || x->rank < 2)
        return arg_refuse(call, x->name, "SF-4", "B = %" PRId64 ", rank %d: utccp takes one batch of rows", batch, (int) x->rank);
    return arg_utccp_shape(call, s, m, d / 128, extra_sf);
}

int arg_sf(const struct lc_call *call, const struct lc_tensor *x, const struct lc_tensor *sf, const struct lc_tensor *extra_sf,
           struct sf_args *out)
{
    bool extra = false;
    int64_t batch, m, d;
    arg_dims(x, &batch, &m, &d);
    const int64_t group = arg_int(call, "group", 32);
    int status = arg_switch(call, "round_sf", true, "SF-0", &out->round);
    if (!status)
        status = arg_switch(call, "sf_col", true, "SF-0", &out->col);
    if (!status)
        status = arg_switch(call, "sf_packed", true, "SF-0", &out->packed);
    if (!status)
        status = arg_switch(call, "extra_sf", false, "SF-4", &extra);
    if (status)
        return status;
    if (group != 16 && group != 32 && group != 64 && group != 128 && group < d)
        return arg_refuse(call, "group", "CAST-10", "%" PRId64 ": must be 16, 32, 64, 128 or at least d = %" PRId64, group, d);
    if (group < 1)
        return arg_refuse(call, "group", "CAST-10", "%" PRId64 ": must be positive", group);
    out->group = group < d ? group : d;
    out->groups = (d + out->group - 1) / out->group;
    out->block_m = extra ? arg_int(call, "extra_sf_block_m", 0) : 0;
    if (out->packed && !out->round)
        return arg_refuse(call, "sf_packed", "SF-0", "1: packed scales need round_sf");
    const int64_t ragged = arg_int(call, "sf_ragged", RAGGED_NO);
    if (ragged < 0 || ragged >= RAGGED_KINDS)
        return arg_refuse(call, "sf_ragged", "SF-6", "%" PRId64 ": must be 0, 1 (ragged-pack) or 2 (ragged-free)", ragged);
    out->ragged = (enum sf_ragged) ragged;
    if (ragged && !out->packed)
        return arg_refuse(call, "sf_ragged", "SF-6", "%" PRId64 ": only packed scales have words to fill", ragged);
    if (out->packed && out->groups % 4 && !ragged)
        return arg_refuse(call, x->name, out->col ? "SF-3" : "SF-2",
                          "d = %" PRId64 ", %" PRId64 " groups: packed scales need a multiple of 4", d, out->groups);
    if (!sf)
        return arg_refuse(call, "sf", "SF-0", "not given: the cast writes scales");
    if (!extra && (arg_int(call, "extra_sf_layout", 0) || arg_int(call, "extra_sf_block_m", 0)))
        return arg_refuse(call, "extra_sf", "SF-4", "0: extra_sf, its layout and block_m come together");
    status = arg_sf_shape(call, out, batch, m, x->rank, sf);
    if (!status && extra) {
        struct sf_args with = *out;
        with.group = group; /* SF-4 asks for G = 32 itself, not for a whole short row */
        status = utccp_shape(call, &with, batch, m, d, x, extra_sf);
    }
    return status;
}
