/* SPDX-License-Identifier: Apache-2.0 */
/* KV-3: the byte ranges of (slot, head) in a paged pool: all of them inside, no two of them overlapping. */
#include <math.h>

#include "args.h"

enum { PAGE, ROW, HEAD, DIMS };

/* Ranges of `len` bytes at base + sum over dimensions of index * stride. */
struct ranges {
    int64_t base, len, n[DIMS], stride[DIMS];
};

static struct ranges ranges_of(const struct kv_store_args *a, const struct kv_bytes *b, int64_t len)
{
    return (struct ranges) { b->base, len, { a->pages, a->page_size, a->heads }, { b->page, b->row, b->head } };
}

static bool is_empty(const struct ranges *r)
{
    return r->n[PAGE] == 0 || r->n[ROW] == 0 || r->n[HEAD] == 0;
}

/* Bytes from the first to the last of the ranges that differ in the dimensions of `set` alone. */
static int64_t span(const struct ranges *r, unsigned set)
{
    int64_t bytes = r->len;
    for (int i = 0; i < DIMS; i++)
        if (set >> i & 1)
            bytes += (r->n[i] - 1) * r->stride[i];
    return bytes;
}

/* The dimension of the largest stride in `set`, of those with more than one entry; -1: none is left. */
static int outermost(const struct ranges *r, unsigned set)
{
    int best = -1;
    for (int i = 0; i < DIMS; i++)
        if ((set >> i & 1) && r->n[i] > 1 && (best < 0 || r->stride[i] > r->stride[best]))
            best = i;
    return best;
}

/* ---- what usual layouts show at once ---- */

/* Each stride spans all that is inside it: no two ranges meet. Else the dimension that does not; -1: there is none. */
static int not_nested(const struct ranges *r)
{
    unsigned set = (1u << DIMS) - 1;
    for (int i; (i = outermost(r, set)) >= 0;) {
        set &= ~(1u << i);
        if (r->stride[i] < span(r, set))
            return i;
    }
    return -1;
}

/* Do all of s lie beside all of t, after taking off outer dimensions in which both move alike and by more than both span? */
static bool apart(const struct ranges *s, const struct ranges *t)
{
    unsigned set = (1u << DIMS) - 1;
    for (;;) {
        const int64_t s_end = s->base + span(s, set), t_end = t->base + span(t, set);
        if (s_end <= t->base || t_end <= s->base)
            return true;
        const int i = outermost(s, set);
        if (i < 0 || s->stride[i] != t->stride[i])
            return false;
        set &= ~(1u << i);
        const int64_t first = s->base < t->base ? s->base : t->base, s_in = s->base + span(s, set), t_in = t->base + span(t, set);
        if ((s_in > t_in ? s_in : t_in) - first > s->stride[i])
            return false;
    }
}

/* ---- what any layout shows when each range is looked at ---- */

/* How many of the ranges that differ in `set` meet `len` bytes at `at`, which counts from their base; 2 stands for more. */
static int meets(const struct ranges *r, unsigned set, int64_t at, int64_t len)
{
    const int i = outermost(r, set);
    if (i < 0)
        return at < r->len && at + len > 0;
    const unsigned inner = set & ~(1u << i);
    const int64_t stride = r->stride[i], bytes = span(r, inner);
    if (stride == 0) /* n copies of what is inside */
        return 2 * meets(r, inner, at, len);
    int found = 0;
    const int64_t first = at < bytes ? 0 : (at - bytes) / stride + 1;
    for (int64_t k = first; k < r->n[i] && k * stride < at + len && found < 2; k++)
        found += meets(r, inner, at - k * stride, len);
    return found < 2 ? found : 2;
}

/* The most of t's ranges that one of s meets. */
static int most_met(const struct ranges *s, const struct ranges *t)
{
    int most = 0;
    for (int64_t page = 0; page < s->n[PAGE] && most < 2; page++)
        for (int64_t row = 0; row < s->n[ROW] && most < 2; row++)
            for (int64_t head = 0; head < s->n[HEAD] && most < 2; head++) {
                const int64_t at = s->base + page * s->stride[PAGE] + row * s->stride[ROW] + head * s->stride[HEAD];
                const int n = meets(t, (1u << DIMS) - 1, at - t->base, s->len);
                most = n > most ? n : most;
            }
    return most;
}

/* ---- the check ---- */

static int check_inside(const struct lc_call *call, const struct ranges *r, const char *const names[DIMS + 1], int64_t size)
{
    double end = (double) r->base + (double) r->len;
    if (r->base < 0)
        return arg_refuse(call, names[DIMS], "KV-3", "%lld: must not be negative", (long long) r->base);
    for (int i = 0; i < DIMS; i++) {
        if (r->stride[i] < 0)
            return arg_refuse(call, names[i], "KV-3", "%lld: must not be negative", (long long) r->stride[i]);
        end += (double) (r->n[i] > 0 ? r->n[i] - 1 : 0) * (double) r->stride[i];
    }
    if (!is_empty(r) && end > (double) size)
        return arg_refuse(call, "pool", "KV-3", "shape[0] = %lld: %s.. need %.0f bytes", (long long) size, names[0], end);
    return LC_OK;
}

static int check_own(const struct lc_call *call, const struct ranges *r, const char *const names[DIMS + 1])
{
    const int i = not_nested(r);
    if (i < 0 || most_met(r, r) < 2)
        return LC_OK;
    return arg_refuse(call, names[i], "KV-3", "%lld: byte ranges of two (slot, head) overlap", (long long) r->stride[i]);
}

int ref_kv_check_pool(const struct lc_call *call, const struct kv_store_args *a)
{
    static const char *const codes_names[DIMS + 1] = { "page_stride", "row_stride", "head_stride", "code_base" };
    static const char *const scales_names[DIMS + 1] = { "scale_page_stride", "scale_row_stride", "scale_head_stride",
                                                        "scale_base" };
    const int64_t most = INT64_C(1) << 40, size = a->t[KV_POOL]->shape[0];
    if (a->page_size < 1 || a->page_size > most)
        return arg_refuse(call, "page_size", "KV-2", "%lld: must be at least 1", (long long) a->page_size);
    if (a->pages < 0 || a->pages > most)
        return arg_refuse(call, "pages", "KV-2", "%lld: must not be negative", (long long) a->pages);
    const struct ranges codes = ranges_of(a, &a->codes, a->d), scales = ranges_of(a, &a->scales, a->d / 32);
    int status = check_inside(call, &codes, codes_names, size);
    if (!status)
        status = check_inside(call, &scales, scales_names, size);
    if (status || is_empty(&codes))
        return status;
    status = check_own(call, &codes, codes_names);
    if (!status)
        status = check_own(call, &scales, scales_names);
    if (!status && !apart(&codes, &scales) && most_met(&codes, &scales) > 0)
        return arg_refuse(call, "scale_base", "KV-3", "%lld: scale bytes overlap codes", (long long) a->scales.base);
    return status;
}
