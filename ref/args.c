/* SPDX-License-Identifier: Apache-2.0 */
#include "args.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int arg_refuse(const struct lc_call *call, const char *argument, const char *clause, const char *format, ...)
{
    if (!call->msg || !call->msg_size)
        return LC_BAD_ARG;
    char words[256];
    va_list list;
    va_start(list, format);
    vsnprintf(words, sizeof words, format, list);
    va_end(list);
    snprintf(call->msg, call->msg_size, "%s: %s (%s)", argument, words, clause);
    return LC_BAD_ARG;
}

const struct lc_tensor *arg_tensor(const struct lc_call *call, const char *name)
{
    for (uint32_t i = 0; i < call->n_tensors; i++)
        if (!strcmp(call->tensors[i].name, name))
            return &call->tensors[i];
    return NULL;
}

static const struct lc_scalar *scalar(const struct lc_call *call, const char *name)
{
    for (uint32_t i = 0; i < call->n_scalars; i++)
        if (!strcmp(call->scalars[i].name, name))
            return &call->scalars[i];
    return NULL;
}

int64_t arg_int(const struct lc_call *call, const char *name, int64_t otherwise)
{
    const struct lc_scalar *const s = scalar(call, name);
    return s ? s->i : otherwise;
}

double arg_real(const struct lc_call *call, const char *name, double otherwise)
{
    const struct lc_scalar *const s = scalar(call, name);
    return s ? s->f : otherwise;
}

int arg_switch(const struct lc_call *call, const char *name, bool otherwise, const char *clause, bool *out)
{
    const int64_t i = arg_int(call, name, otherwise);
    if (i != 0 && i != 1)
        return arg_refuse(call, name, clause, "%" PRId64 ": a switch is 0 or 1", i);
    *out = i == 1;
    return LC_OK;
}

void arg_dims(const struct lc_tensor *t, int64_t *batch, int64_t *m, int64_t *cols)
{
    *batch = t->rank >= 3 ? t->shape[t->rank - 3] : 1;
    *m = t->rank >= 2 ? t->shape[t->rank - 2] : 1;
    *cols = t->shape[t->rank - 1];
}

int64_t arg_row(const struct lc_tensor *t, int64_t row)
{
    if (t->rank == 1)
        return 0;
    const int64_t m = t->shape[t->rank - 2];
    const int64_t in_batch = row % m * t->stride[t->rank - 2];
    return t->rank == 2 ? in_batch : row / m * t->stride[0] + in_batch;
}

static int64_t elements(const struct lc_tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->shape[i];
    return n;
}

int arg_is_view(const struct lc_call *call, const struct lc_tensor *t, const char *clause)
{
    if (t->rank < 1 || t->rank > 3)
        return arg_refuse(call, t->name, clause, "rank %d: 1 to 3 dimensions are accepted", (int) t->rank);
    for (int i = 0; i < t->rank; i++) {
        if (t->shape[i] < 0 || t->shape[i] > INT64_C(1) << 40)
            return arg_refuse(call, t->name, clause, "shape[%d] = %" PRId64 ": out of range", i, t->shape[i]);
        if (t->stride[i] < 0 || t->stride[i] > INT64_C(1) << 44)
            return arg_refuse(call, t->name, clause, "stride[%d] = %" PRId64 ": out of range", i, t->stride[i]);
    }
    if (!fmt_bytes((enum lc_dtype) t->dtype))
        return arg_refuse(call, t->name, clause, "dtype %d: unknown", (int) t->dtype);
    double last = 1, count = 1; /* all index arithmetic stays far inside 64 bits */
    for (int i = 0; i < t->rank; i++) {
        last += (double) (t->shape[i] > 0 ? t->shape[i] - 1 : 0) * (double) t->stride[i];
        count *= (double) (t->shape[i] > 0 ? t->shape[i] : 1);
    }
    if (last > 0x1p46 || count > 0x1p46)
        return arg_refuse(call, t->name, clause, "shape and strides: span %g elements, more than 2^46",
                          last > count ? last : count);
    if (elements(t) == 0)
        return LC_OK;
    if (!t->data)
        return arg_refuse(call, t->name, clause, "data = NULL: a non-empty tensor needs memory");
    if ((uintptr_t) t->data % (uintptr_t) fmt_bytes((enum lc_dtype) t->dtype))
        return arg_refuse(call, t->name, clause, "data = %p: not a multiple of the element size %d", t->data,
                          fmt_bytes((enum lc_dtype) t->dtype));
    return LC_OK;
}

int arg_dtype(const struct lc_call *call, const struct lc_tensor *t, const char *clause, unsigned dtype_mask)
{
    if (t->dtype > 0 && t->dtype < 32 && (dtype_mask >> t->dtype & 1))
        return LC_OK;
    char names[64] = "";
    for (int f = LC_F32; f <= LC_I64; f++)
        if (dtype_mask >> f & 1) {
            strcat(names, names[0] ? " or " : "");
            strcat(names, fmt_name((enum lc_dtype) f));
        }
    const bool known = fmt_bytes((enum lc_dtype) t->dtype) != 0;
    return arg_refuse(call, t->name, clause, "dtype %s (%d): must be %s", known ? fmt_name((enum lc_dtype) t->dtype) : "?",
                      (int) t->dtype, names);
}

int arg_same_shape(const struct lc_call *call, const struct lc_tensor *t, const struct lc_tensor *as, const char *clause)
{
    if (t->rank != as->rank)
        return arg_refuse(call, t->name, clause, "rank %d: %s has rank %d", (int) t->rank, as->name, (int) as->rank);
    for (int i = 0; i < t->rank; i++)
        if (t->shape[i] != as->shape[i])
            return arg_refuse(call, t->name, clause, "shape[%d] = %" PRId64 ": %s has %" PRId64, i, t->shape[i], as->name,
                              as->shape[i]);
    return LC_OK;
}

int arg_strides(const struct lc_call *call, const struct lc_tensor *t, const int64_t *stride, bool size_1_too, const char *clause)
{
    for (int i = 0; i < t->rank; i++)
        if (t->stride[i] != stride[i] && (size_1_too || t->shape[i] > 1))
            return arg_refuse(call, t->name, clause, "stride[%d] = %" PRId64 ": must be %" PRId64, i, t->stride[i], stride[i]);
    return LC_OK;
}

int arg_contiguous(const struct lc_call *call, const struct lc_tensor *t, const char *clause)
{
    int64_t stride[4];
    int64_t n = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        stride[i] = n;
        n *= t->shape[i];
    }
    return n ? arg_strides(call, t, stride, false, clause) : LC_OK; /* an empty tensor has no layout */
}

/* ---- bytes two views share ---- */

struct extent { /* rows of `len` bytes at base + i * pitch[1] + b * pitch[0] */
    uintptr_t base;
    int64_t len, n[2], pitch[2];
};

static struct extent extent_of(const struct lc_tensor *t)
{
    const int64_t size = fmt_bytes((enum lc_dtype) t->dtype);
    struct extent e = { (uintptr_t) t->data, size, { 1, 1 }, { 0, 0 } };
    int64_t shape[3] = { 1, 1, 1 }, stride[3] = { 0, 0, 1 };
    for (int i = 0; i < t->rank; i++) {
        shape[3 - t->rank + i] = t->shape[i];
        stride[3 - t->rank + i] = t->stride[i];
    }
    if (stride[2] == 1 || shape[2] <= 1) { /* rows along the last dimension */
        e.len = shape[2] * size;
        e.n[0] = shape[0], e.pitch[0] = stride[0] * size;
        e.n[1] = shape[1], e.pitch[1] = stride[1] * size;
    } else { /* column-major scales: columns along the dimension before it; their storage is checked to have stride 1 there */
        e.len = shape[1] * size;
        e.n[0] = shape[0], e.pitch[0] = stride[0] * size;
        e.n[1] = shape[2], e.pitch[1] = stride[2] * size;
    }
    return e;
}

static int64_t span(const struct extent *e)
{
    if (e->len == 0 || e->n[0] == 0 || e->n[1] == 0)
        return 0;
    return (e->n[0] - 1) * e->pitch[0] + (e->n[1] - 1) * e->pitch[1] + e->len;
}

/* Row starts of one batch that a row of `len` bytes at `ahead` (from the batch's first byte) can meet: i of [first, last]. */
static bool run_meets(int64_t ahead, int64_t len, int64_t row_len, int64_t n, int64_t pitch)
{
    if (pitch == 0 || n == 1)
        return ahead < row_len && ahead + len > 0;
    const int64_t i = ahead < row_len ? 0 : (ahead - row_len) / pitch + 1; /* the first row that ends behind `ahead` */
    return i < n && i * pitch < ahead + len;
}

static bool row_meets(uintptr_t at, int64_t len, const struct extent *e)
{
    const int64_t batch = (e->n[1] - 1) * e->pitch[1] + e->len, ahead = (int64_t) (at - e->base);
    int64_t first = 0, last = e->n[0] - 1;
    if (e->pitch[0] > 0) { /* batches that begin before at + len and end behind at */
        first = ahead < batch ? 0 : (ahead - batch) / e->pitch[0] + 1;
        last = ahead + len <= 0 ? -1 : (ahead + len - 1) / e->pitch[0] < last ? (ahead + len - 1) / e->pitch[0] : last;
    }
    for (int64_t b = first; b <= last; b++)
        if (run_meets(ahead - b * e->pitch[0], len, e->len, e->n[1], e->pitch[1]))
            return true;
    return false;
}

static bool meets(const struct lc_tensor *s, const struct lc_tensor *t)
{
    const struct extent a = extent_of(s), b = extent_of(t);
    if (!span(&a) || !span(&b) || a.base + (uintptr_t) span(&a) <= b.base || b.base + (uintptr_t) span(&b) <= a.base)
        return false; /* the usual case: apart as a whole */
    for (int64_t i = 0; i < a.n[0]; i++)
        for (int64_t j = 0; j < a.n[1]; j++)
            if (row_meets(a.base + (uintptr_t) (i * a.pitch[0] + j * a.pitch[1]), a.len, &b))
                return true;
    return false;
}

/* Do two rows of one view share a byte? Dimensions of size 1 have no say; strides may stand in any order. */
static bool meets_itself(const struct lc_tensor *t)
{
    const struct extent e = extent_of(t);
    if (!span(&e))
        return false;
    const int inner = e.n[1] == 1 || (e.n[0] > 1 && e.pitch[0] < e.pitch[1]) ? 0 : 1, outer = 1 - inner;
    if (e.n[inner] > 1 && e.pitch[inner] < e.len)
        return true;
    const int64_t block = (e.n[inner] - 1) * e.pitch[inner] + e.len;
    if (e.n[outer] == 1 || e.pitch[outer] >= block)
        return false;
    for (int64_t o = 1; o < e.n[outer] && o * e.pitch[outer] < block;
         o++) /* blocks interleave: row 0 of a later one against this one */
        if (run_meets(o * e.pitch[outer], e.len, e.len, e.n[inner], e.pitch[inner]))
            return true;
    return false;
}

int arg_no_overlap(const struct lc_call *call, const struct lc_tensor *const *in, int n_in, const struct lc_tensor *const *out,
                   int n_out, const struct lc_tensor *const alias_ok[2], const char *clause)
{
    for (int i = 0; i < n_out; i++) {
        if (!out[i])
            continue;
        if (meets_itself(out[i]))
            return arg_refuse(call, out[i]->name, clause, "strides %" PRId64 ", %" PRId64 ": its own rows overlap",
                              out[i]->stride[0], out[i]->rank > 1 ? out[i]->stride[1] : 1);
        for (int j = 0; j < n_in; j++)
            if (in[j] && meets(out[i], in[j]))
                return arg_refuse(call, out[i]->name, clause, "data = %p: shares bytes with %s", out[i]->data, in[j]->name);
        for (int j = i + 1; j < n_out; j++) {
            const bool allowed = alias_ok && out[j] &&
                                 ((out[i] == alias_ok[0] && out[j] == alias_ok[1]) ||
                                  (out[i] == alias_ok[1] && out[j] == alias_ok[0]));
            if (out[j] && !allowed && meets(out[i], out[j]))
                return arg_refuse(call, out[j]->name, clause, "data = %p: shares bytes with %s", out[j]->data, out[i]->name);
        }
    }
    return LC_OK;
}
