/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a struct lc_call: arguments by name, addresses of rows, and preconditions in words (ERR-1).
 *
 * Every function that checks returns LC_OK, or writes "argument: value: rule (CLAUSE)" to call->msg and returns LC_BAD_ARG. */
#ifndef REF_ARGS_H
#define REF_ARGS_H

#include "ops.h"

int arg_refuse(const struct lc_call *call, const char *argument, const char *clause, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 4, 5)))
#endif
    ;
const struct lc_tensor *arg_tensor(const struct lc_call *call, const char *name); /* NULL: not listed */
int arg_switch(const struct lc_call *call, const char *name, bool otherwise, const char *clause, bool *out); /* 0 or 1 */
int64_t arg_int(const struct lc_call *call, const char *name, int64_t otherwise);
double arg_real(const struct lc_call *call, const char *name, double otherwise);

/* Rows of a tensor seen as (batch, m, cols): element offset of row `row` = b * m + i from element 0. */
int64_t arg_row(const struct lc_tensor *t, int64_t row);
void arg_dims(const struct lc_tensor *t, int64_t *batch, int64_t *m, int64_t *cols);

int arg_is_view(const struct lc_call *call, const struct lc_tensor *t, const char *clause); /* data, rank, shape, strides sane */
int arg_dtype(const struct lc_call *call, const struct lc_tensor *t, const char *clause, unsigned dtype_mask);
int arg_same_shape(const struct lc_call *call, const struct lc_tensor *t, const struct lc_tensor *as, const char *clause);
int arg_strides(const struct lc_call *call, const struct lc_tensor *t, const int64_t *stride, bool size_1_too,
                const char *clause);
int arg_contiguous(const struct lc_call *call, const struct lc_tensor *t, const char *clause);

/* DET-4, RMS-2: no output shares a byte with any other tensor of the list. in and out may hold NULLs; alias_ok[0] and
 * alias_ok[1], if given, may be the same storage. */
int arg_no_overlap(const struct lc_call *call, const struct lc_tensor *const *in, int n_in, const struct lc_tensor *const *out,
                   int n_out, const struct lc_tensor *const alias_ok[2], const char *clause);

/* SF-0..SF-4, SF-6 (ref/sf.c): reads the switches, checks sf and extra_sf against x of shape ([B,] M, d) or (d). out->e2m1 is
 * given: SF-4 needs the E4M3 cast. */
int arg_sf(const struct lc_call *call, const struct lc_tensor *x, const struct lc_tensor *sf, const struct lc_tensor *extra_sf,
           struct sf_args *out);

/* Dtype, shape, strides and alignment of one scale tensor: SF-1..SF-3 or col-f32, of (batch, m, groups) scales, rank x_rank;
 * resp. SF-4, s->block_m >= 1. */
int arg_sf_shape(const struct lc_call *call, const struct sf_args *s, int64_t batch, int64_t m, int x_rank,
                 const struct lc_tensor *sf);
int arg_utccp_shape(const struct lc_call *call, const struct sf_args *s, int64_t m, int64_t words, const struct lc_tensor *t);

int64_t sf_words(const struct sf_args *s); /* elements of sf in a row: int32 words of four groups, or f32 scales */
int64_t sf_cols(const struct sf_args *s);  /* judged scales of a row: d_s, and in ragged-pack the rest of the last word (SF-6) */

/* The byte of group g of row `row` in sf resp. extra_sf, from its data pointer (SF-1..SF-4, SF-6). One scale is a byte (UE8M0)
 * in the packed layouts, else an f32. */
int64_t sf_place(const struct sf_args *s, int64_t m, int64_t row, int64_t g);
int64_t sf_extra_place(const struct sf_args *s, const struct lc_tensor *extra_sf, int64_t row, int64_t g);
/* The same tensors with the rows that only their storage has, for arg_no_overlap. */
struct lc_tensor sf_whole(const struct sf_args *s, const struct lc_tensor *sf);
struct lc_tensor sf_extra_whole(const struct sf_args *s, const struct lc_tensor *extra_sf);

#endif
