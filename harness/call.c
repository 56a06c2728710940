/* SPDX-License-Identifier: Apache-2.0 */
#include <Random123/philox.h>
#include <assert.h>
#include <math.h>
#include <string.h>

#include "op.h"

const struct op *op_find(const char *name)
{
    for (int i = 0; all_ops[i]; i++)
        if (!strcmp(all_ops[i]->name, name))
            return all_ops[i];
    return NULL;
}

const struct lc_tensor *op_tensor(const struct op *op, const union op_args *args, int tensor)
{
    return op->tensors_of(args)[tensor];
}

void call_tensor(struct call *c, int slot, const char *name, enum lc_dtype dtype, enum dir dir, int rank, const int64_t *shape,
                 const int64_t *stride, int storage_rank, const int64_t *storage)
{
    struct slot *const s = &c->slot[slot];
    memset(s, 0, sizeof *s);
    s->t.name = name;
    s->t.dtype = dtype;
    s->t.rank = rank;
    for (int i = 0; i < rank; i++) {
        s->t.shape[i] = shape[i];
        s->t.stride[i] = stride[i];
    }
    s->fmt = dtype;
    s->dir = dir;
    s->on = s->listed = 1;
    s->same_as = -1;
    s->storage_rank = storage_rank;
    s->bytes = (size_t) fmt_bytes(dtype);
    for (int i = 0; i < storage_rank; i++) {
        s->storage[i] = storage[i];
        s->bytes *= (size_t) storage[i];
    }
}

void call_rows(struct call *c, int slot, const char *name, enum lc_dtype dtype, enum dir dir, struct rows_view v)
{
    const int skip = 3 - v.rank;
    const int64_t b = v.rank == 3 ? v.batch : 1, row = v.cols + v.row_extra, batch = v.m * row + v.batch_extra;
    const int64_t shape[3] = { b, v.m, v.cols }, gaps[2] = { b, batch };
    const int64_t stride[3] = { v.interleaved ? row : batch, v.interleaved ? b * row : row, 1 };
    const int64_t storage[3] = { v.interleaved ? v.m : b, v.interleaved ? b : v.m, row };
    call_tensor(c, slot, name, dtype, dir, v.rank, shape + skip, stride + skip, v.batch_extra ? 2 : v.rank,
                v.batch_extra ? gaps : storage + skip);
}

int call_is_copy(const struct call *c, int slot)
{
    const struct slot *const s = &c->slot[slot];
    return s->dir == DIR_OUT && s->same_as >= 0 && c->slot[s->same_as].dir == DIR_OUT;
}

int call_is_repeat(const struct call *c, int slot)
{
    return call_is_copy(c, slot) && !c->slot[slot].implied && c->slot[slot].fmt == c->slot[c->slot[slot].same_as].fmt;
}

void call_scalar(struct call *c, const char *name, int64_t i, double f)
{
    assert(c->n_scalars < MAX_SCALARS);
    c->scalar[c->n_scalars++] = (struct lc_scalar) { name, i, f };
}

void call_set_scalar(struct call *c, const char *name, int64_t i, double f)
{
    for (int k = 0; k < c->n_scalars; k++)
        if (!strcmp(c->scalar[k].name, name)) {
            c->scalar[k].i = i;
            c->scalar[k].f = f;
            return;
        }
    call_scalar(c, name, i, f);
}

const char *kase_dialect(const struct kase *k)
{
    return axis_of(k->op, "dialect") < 0 || kase_is(k, "dialect", "-") ? NULL : kase_name(k, "dialect");
}

const struct bound *bound_of(const struct kase *k, const char *tensor)
{
    const char *const dialect = kase_dialect(k);
    const struct bound *usual = NULL;
    for (int i = 0; i < MAX_BOUNDS && k->op->bounds[i].tensor; i++) {
        const struct bound *const b = &k->op->bounds[i];
        if (strcmp(b->tensor, tensor))
            continue;
        if (dialect && b->dialect && !strcmp(b->dialect, dialect))
            return b;
        if (!b->dialect && !usual)
            usual = b;
    }
    return usual;
}

/* ---- elements of the image ---- */

uint32_t code_at(enum lc_dtype f, const uint8_t *p, int64_t col)
{
    uint16_t h;
    uint32_t w;
    if (f == LC_E2M1X2)
        return (uint32_t) *p >> 4 * (col % 2) & 0xf;
    switch (fmt_bytes(f)) {
    case 1:
        return *p;
    case 2:
        memcpy(&h, p, sizeof h);
        return h;
    default:
        memcpy(&w, p, sizeof w);
        return w;
    }
}

void code_to(enum lc_dtype f, uint8_t *p, int64_t col, uint32_t code)
{
    if (f == LC_E2M1X2) {
        const uint32_t shift = 4 * (uint32_t) (col % 2);
        *p = (uint8_t) ((*p & ~(0xfu << shift)) | code << shift);
        return;
    }
    const uint8_t b = (uint8_t) code;
    const uint16_t h = (uint16_t) code;
    switch (fmt_bytes(f)) {
    case 1:
        memcpy(p, &b, sizeof b);
        break;
    case 2:
        memcpy(p, &h, sizeof h);
        break;
    case 8: /* LC_I64 */
        memcpy(p, &(int64_t) { (int32_t) code }, sizeof(int64_t));
        break;
    default:
        memcpy(p, &code, sizeof code);
    }
}

static uint8_t *element(const struct call *c, int slot, int64_t row, int64_t col)
{
    const int64_t at = c->op->place(&c->args, slot, row, col);
    assert(at >= 0);
    return c->image + c->slot[slot].offset + at;
}

void put(struct call *c, int slot, int64_t row, int64_t col, double v)
{
    code_to(c->slot[slot].fmt, element(c, slot, row, col), col, fmt_code(c->slot[slot].fmt, v));
}

void put_int(struct call *c, int slot, int64_t row, int64_t col, int64_t v)
{
    const int32_t narrow = (int32_t) v;
    if (c->slot[slot].fmt == LC_I64)
        memcpy(element(c, slot, row, col), &v, sizeof v);
    else
        memcpy(element(c, slot, row, col), &narrow, sizeof narrow);
}

double get(const struct call *c, int slot, int64_t row, int64_t col)
{
    return fmt_load(c->slot[slot].fmt, code_at(c->slot[slot].fmt, element(c, slot, row, col), col));
}

/* ---- draws ---- */

static philox4x32_ctr_t philox(const struct call *c, int slot, int64_t index)
{
    const uint64_t seed = c->seed, n = (uint64_t) index;
    const philox4x32_ctr_t counter = { { (uint32_t) n, (uint32_t) (n >> 32), (uint32_t) slot, 0 } };
    const philox4x32_key_t key = { { (uint32_t) seed, (uint32_t) (seed >> 32) } };
    return philox4x32(counter, key);
}

uint32_t draw_bits(const struct call *c, int slot, int64_t index)
{
    return philox(c, slot, index).v[0];
}

double draw_uniform(const struct call *c, int slot, int64_t index)
{
    return ldexp(philox(c, slot, index).v[0], -32);
}

double draw_normal(const struct call *c, int slot, int64_t index)
{
    const philox4x32_ctr_t bits = philox(c, slot, index);
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (bits.v[i] & 0xffff) + (bits.v[i] >> 16);          /* eight uniforms of 16 bits: exact */
    return (sum / 65536 - 4 + ldexp(1, -14)) * 1.224744871391589; /* variance 8/12 */
}

double draw_log(const struct call *c, int slot, int64_t index, int lo, int hi)
{
    const philox4x32_ctr_t bits = philox(c, slot, index);
    const double magnitude = ldexp(1 + ldexp(bits.v[0], -32), lo + (int) (bits.v[1] % (uint32_t) (hi - lo)));
    return bits.v[2] & 1 ? -magnitude : magnitude;
}
