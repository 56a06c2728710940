/* SPDX-License-Identifier: Apache-2.0 */
/* kv_store: fused norm, rope, hadamard, cast and paged store (docs/contract.md KV-1..6). */
#include "kv_store.h"

#include <math.h>
#include <string.h>

#include "../../ref/args.h"
#include "../case.h"
#include "../relations.h"
#include "../scales.h"

enum { MOST_D = 32768 };

static const char *drop_all(struct kase *k, const char *const *axes, const char *reason, const char *why)
{
    for (int i = 0; axes[i]; i += 2)
        why = kase_drop(k, axes[i], axes[i + 1], reason, why);
    return why;
}

/* Elements that rotate, and where they begin. */
static int64_t rotary_dim(const struct kase *k)
{
    const int64_t from = kase_int(k, "offset") > 0 ? kase_int(k, "offset") : 0;
    return kase_int(k, "rot") ? kase_int(k, "rot") : (kase_int(k, "hd") - from) / 2 * 2;
}

static int64_t offset_of(const struct kase *k)
{
    return kase_int(k, "offset") < 0 ? kase_int(k, "hd") - rotary_dim(k) : kase_int(k, "offset");
}

static int64_t heads_of(const struct kase *k)
{
    return kase_int(k, "heads") ? kase_int(k, "heads") : 1;
}

static int64_t pages_of(const struct kase *k)
{
    const int64_t page = kase_int(k, "page");
    return kase_int(k, "pages") ? kase_int(k, "pages") : (kase_int(k, "M") + page - 1) / page + 1;
}

static int is_cast(const struct kase *k)
{
    return !kase_is(k, "out", "bf16");
}

static const char *settle_bad(struct kase *k)
{
    const char *const name = kase_name(k, "bad");
    struct kase plain;
    kase_default(&plain, k->op);
    plain.i[axis_of(k->op, "bad")] = kase_int(k, "bad");
    kase_set(&plain, "M", "5");
    kase_set(&plain, "given", "1");
    kase_set(&plain, "rot", "64");
    if (!strncmp(name, "out-", 4) || !strncmp(name, "sf-", 3))
        kase_set(&plain, "out", "codes");
    *k = plain;
    return "bad stands alone: one good call, spoiled";
}

static const char *settle_shapes(struct kase *k, const char *why)
{
    const int64_t hd = kase_int(k, "hd");
    if (hd < 1 || hd > MOST_D || (is_cast(k) && hd % 32))
        why = kase_drop(k, "hd", "128", "hd is 1 to 32768, a multiple of 32 with the cast (KV-1)", why);
    if (kase_int(k, "M") < 0)
        why = kase_drop(k, "M", "17", "M, heads, xs and hs are not negative", why);
    if (kase_int(k, "heads") < 0)
        why = kase_drop(k, "heads", "2", "M, heads, xs and hs are not negative", why);
    if ((kase_is(k, "out", "codes") && heads_of(k) * kase_int(k, "hd") % 128) ||
        (kase_is(k, "out", "heads") && kase_int(k, "hd") % 128))
        why = kase_drop(k, "hd", "128", "SF-3 needs a multiple of 128 channels a row (KV-5)", why);
    if (kase_int(k, "xs") < 0 || kase_int(k, "xs") % 16)
        why = kase_drop(k, "xs", "0", "xs and hs are multiples of 16 (KV-6)", why);
    if (kase_int(k, "hs") < 0 || kase_int(k, "hs") % 16 || kase_int(k, "heads") == 0)
        why = kase_drop(k, "hs", "0", "xs and hs are multiples of 16 (KV-6); hs needs heads", why);
    return why;
}

/* What certain data need. */
static const char *settle_fill(struct kase *k)
{
    const char *why = NULL;
    static const char *const alone[] = { "norm", "0", "rope", "-", "had", "0", NULL };
    static const char *const brink[] = { "norm", "1", "w", "f32", "eps", "0.75", "rope", "-", "had", "0", NULL };
    const int edges = kase_is(k, "fill", "ties") || kase_is(k, "fill", "pow2-edges");
    if (edges || kase_is(k, "fill", "brink")) {
        if (!is_cast(k))
            why = kase_drop(k, "out", "pool", "fill=ties, pow2-edges and brink are about the cast", why);
        why = drop_all(k, edges ? alone : brink,
                       edges ? "fill=ties and pow2-edges are cast as they are" : "fill=brink is normed with eps=0.75, w=f32",
                       why);
    }
    if (kase_is(k, "fill", "diagonal"))
        why = kase_drop(k, "norm", "0", "fill=diagonal has no norm", why);
    const int angles = kase_is(k, "fill", "angles"), weights = kase_is(k, "fill", "weights");
    if ((kase_is(k, "fill", "diagonal") || kase_is(k, "fill", "table") || angles) && kase_is(k, "rope", "-"))
        why = kase_drop(k, "rope", "neox", "fill=diagonal, table and angles are about the rotation", why);
    if (weights)
        why = kase_drop(k, "norm", "1", "fill=weights is about the norm", why);
    if (angles || weights) /* the transform puts all of them into each element */
        why = kase_drop(k, "had", "0", "fill=angles and weights have had=0", why);
    if (kase_is(k, "fill", "exact"))
        why = kase_drop(k, "norm", "0", "fill=exact has no norm", why);
    return why;
}

/* A row that breaks ERR-2 takes a token, and what it is about. */
static const char *settle_lost(struct kase *k, const char *why)
{
    const int64_t m = kase_int(k, "M");
    const int rope = !kase_is(k, "rope", "-"), pool = kase_is(k, "out", "pool"), skipped = kase_is(k, "lost", "skipped");
    if (kase_is(k, "lost", "pos") && (!rope || m < 1))
        return kase_drop(k, "lost", "-", "lost=pos needs rope and a token", why);
    if (skipped && (!rope || !pool || m < 4 || kase_is(k, "slots", "order") || kase_is(k, "slots", "last")))
        return kase_drop(k, "lost", "-", "lost=skipped needs rope, out=pool, M=4 and slots that skip some", why);
    if (kase_is(k, "lost", "slot") && (!pool || m < 1))
        return kase_drop(k, "lost", "-", "lost=slot needs out=pool and a token", why);
    if (kase_is(k, "lost", "twice") && (!pool || m < 2))
        return kase_drop(k, "lost", "-", "lost=twice needs out=pool and two tokens", why);
    return why;
}

static const char *settle(struct kase *k)
{
    static const char *const of_norm[] = { "w", "bf16", "eps", "1e-6", NULL };
    static const char *const of_rope[] = { "conj", "0",   "rot", "0",    "offset", "0", "table",
                                           "f32",  "pos", "i32", "rows", "300",    NULL };
    static const char *const of_had[] = { "given", "0", "scale", "-0.7", NULL };
    static const char *const of_pool[] = { "layout", "interleaved", "page", "16",  "pages", "0",
                                           "slots",  "perm",        "slot", "i64", NULL };
    if (!kase_is(k, "bad", "-"))
        return settle_bad(k);
    const char *why = settle_shapes(k, settle_fill(k));
    const int64_t hd = kase_int(k, "hd");
    if (hd < 2 || (hd & (hd - 1)))
        why = kase_drop(k, "had", "0", "had needs a power of two (HAD-1)", why);
    if (!kase_int(k, "norm"))
        why = drop_all(k, of_norm, "w and eps need norm=1", why);
    if (hd < 2)
        why = kase_drop(k, "rope", "-", "rope needs a pair (APPLY-5)", why);
    if (kase_is(k, "rope", "-"))
        why = drop_all(k, of_rope, "conj, rot, offset, table, pos and rows need rope", why);
    if (kase_int(k, "rows") < 1)
        why = kase_drop(k, "rows", "300", "rows is at least 1", why);
    if (kase_int(k, "offset") < -1 || kase_int(k, "offset") > hd - 2)
        why = kase_drop(k, "offset", "0", "offset leaves a pair, or is -1 (APPLY-5)", why);
    if (!kase_is(k, "rope", "-") &&
        (rotary_dim(k) < 2 || rotary_dim(k) % 2 || offset_of(k) < 0 || offset_of(k) + rotary_dim(k) > hd))
        why = kase_drop(k, "rot", "0", "rot is even and fits behind offset (APPLY-5)", why);
    if (!kase_int(k, "had"))
        why = drop_all(k, of_had, "given and scale need had=1", why);
    if (!isfinite(kase_real(k, "scale")) || !kase_int(k, "given"))
        why = kase_drop(k, "scale", "-0.7", "scale is finite, and needs given=1", why);
    if (!(kase_real(k, "eps") > 0) || !isfinite(kase_real(k, "eps")))
        why = kase_drop(k, "eps", "1e-6", "eps is positive and finite (RMS-12)", why);
    if (!kase_is(k, "out", "pool"))
        why = drop_all(k, of_pool, "layout, page, pages, slots and slot need out=pool", why);
    if (kase_int(k, "page") < 1)
        why = kase_drop(k, "page", "16", "page is at least 1 (KV-2)", why);
    if (kase_int(k, "pages") < 0 || (kase_int(k, "pages") && kase_int(k, "pages") * kase_int(k, "page") < kase_int(k, "M")))
        why = kase_drop(k, "pages", "0", "pages has a slot for each token", why);
    if (kase_real(k, "scale") == 0)
        why = kase_drop(k, "fill", "zero-rows", "scale=0 makes every y zero: fill=zero-rows", why);
    return settle_lost(k, why);
}

/* ---- the call ---- */

/* KV-3, bytes from the pool's start. Returns its size. */
static int64_t layout_of(const struct kase *k, struct kv_bytes *codes, struct kv_bytes *scales)
{
    const int64_t hd = kase_int(k, "hd"), groups = hd / 32, heads = heads_of(k), page = kase_int(k, "page"), pages = pages_of(k);
    if (kase_is(k, "layout", "interleaved")) {
        const int64_t head = hd + groups;
        *codes = (struct kv_bytes) { 0, page * heads * head, heads * head, head };
        *scales = *codes;
        scales->base = hd;
        return pages * codes->page;
    }
    if (kase_is(k, "layout", "planar")) {
        *codes = (struct kv_bytes) { 0, page * heads * (hd + groups), heads * hd, hd };
        *scales = (struct kv_bytes) { page * heads * hd, codes->page, heads * groups, groups };
        return pages * codes->page;
    }
    codes->base = 0;
    codes->head = hd + 24; /* gaps everywhere; scales behind all codes */
    codes->row = heads * codes->head + 40;
    codes->page = page * codes->row + 96;
    scales->base = pages * codes->page + 11;
    scales->head = groups + 3;
    scales->row = heads * scales->head + 5;
    scales->page = page * scales->row + 7;
    return scales->base + pages * scales->page;
}

static void build_pool(struct call *c)
{
    const struct kase *const k = &c->id;
    struct kv_bytes codes, scales;
    const int64_t one = 1, n = kase_int(k, "M"), size = layout_of(k, &codes, &scales);
    call_tensor(c, KV_SLOTS, "slot_mapping", kase_is(k, "slot", "i32") ? LC_I32 : LC_I64, DIR_IN, 1, &n, &one, 1, &n);
    call_tensor(c, KV_POOL, "pool", LC_E4M3, DIR_OUT, 1, &size, &one, 1, &size);
    call_tensor(c, KV_SCALES, "scales", LC_UE8M0, DIR_OUT, 1, &size, &one, 1, &size);
    c->slot[KV_SCALES].same_as = KV_POOL;
    call_scalar(c, "page_size", kase_int(k, "page"), 0);
    call_scalar(c, "pages", pages_of(k), 0);
    call_scalar(c, "page_stride", codes.page, 0);
    call_scalar(c, "row_stride", codes.row, 0);
    call_scalar(c, "head_stride", codes.head, 0);
    call_scalar(c, "scale_base", scales.base, 0);
    call_scalar(c, "scale_page_stride", scales.page, 0);
    call_scalar(c, "scale_row_stride", scales.row, 0);
    call_scalar(c, "scale_head_stride", scales.head, 0);
}

static void build_out(struct call *c)
{
    const struct kase *const k = &c->id;
    const int64_t n = kase_int(k, "M"), heads = heads_of(k), hd = kase_int(k, "hd");
    const int skip = kase_int(k, "heads") ? 0 : 1, per_head = kase_is(k, "out", "heads");
    const int64_t shape[3] = { n, heads, hd }, flat[2] = { n, hd }, stride[3] = { heads * hd, hd, 1 };
    call_tensor(c, KV_OUT, "out", is_cast(k) ? LC_E4M3 : LC_BF16, DIR_OUT, 3 - skip, skip ? flat : shape, stride + skip, 3 - skip,
                skip ? flat : shape);
    if (!is_cast(k))
        return;
    const int64_t words = (per_head ? hd : heads * hd) / 128, m = per_head ? heads : n, m_pad = round_up(m, 4);
    const int64_t sf_shape[3] = { n, m, words }, sf_stride[3] = { words * m_pad, 1, m_pad }, storage[3] = { n, words, m_pad };
    const int from = per_head ? 0 : 1; /* (n, heads, words), or (n, words) */
    call_tensor(c, KV_SF, "sf", LC_I32, DIR_OUT, 3 - from, sf_shape + from, sf_stride + from, 3 - from, storage + from);
    c->slot[KV_SF].fmt = LC_UE8M0;
}

static void build(struct call *c)
{
    const struct kase *const k = &c->id;
    const int64_t n = kase_int(k, "M"), heads = heads_of(k), hd = kase_int(k, "hd"), one = 1;
    const int64_t head = round_up(hd, 16) + kase_int(k, "hs"), token = heads * head + kase_int(k, "xs");
    const int64_t shape[3] = { n, heads, hd }, stride[3] = { token, head, 1 }, storage[2] = { n, token };
    const int64_t flat[2] = { n, hd }, flat_stride[2] = { token, 1 };
    if (kase_int(k, "heads"))
        call_tensor(c, KV_X, "x", LC_BF16, DIR_IN, 3, shape, stride, 2, storage);
    else
        call_tensor(c, KV_X, "x", LC_BF16, DIR_IN, 2, flat, flat_stride, 2, storage);
    const int rope = !kase_is(k, "rope", "-"), pool = kase_is(k, "out", "pool");
    if (kase_int(k, "norm")) {
        call_tensor(c, KV_WEIGHT, "weight", kase_is(k, "w", "f32") ? LC_F32 : LC_BF16, DIR_IN, 1, &hd, &one, 1, &hd);
        call_scalar(c, "eps", 0, kase_real(k, "eps"));
    }
    if (rope) {
        const int64_t rot = rotary_dim(k), table[2] = { kase_int(k, "rows"), rot }, rows[2] = { rot, 1 };
        call_tensor(c, KV_TABLE, "table", kase_is(k, "table", "bf16") ? LC_BF16 : LC_F32, DIR_IN, 2, table, rows, 2, table);
        call_tensor(c, KV_POSITIONS, "positions", kase_is(k, "pos", "i64") ? LC_I64 : LC_I32, DIR_IN, 1, &n, &one, 1, &n);
        call_scalar(c, "offset", offset_of(k), 0);
        call_scalar(c, "conjugate", kase_int(k, "conj"), 0);
        call_scalar(c, "interleaved", kase_is(k, "rope", "inter"), 0);
    }
    if (kase_int(k, "given"))
        call_scalar(c, "had_scale", 0, kase_real(k, "scale"));
    call_scalar(c, "norm", kase_int(k, "norm"), 0);
    call_scalar(c, "rope", rope, 0);
    call_scalar(c, "hadamard", kase_int(k, "had"), 0);
    call_scalar(c, "cast", is_cast(k), 0);
    call_scalar(c, "store", pool, 0);
    call_scalar(c, "per_head", kase_is(k, "out", "heads"), 0);
    call_scalar(c, "stage", kase_is(k, "stage", "bf16"), 0);
    if (pool)
        build_pool(c);
    else
        build_out(c);
    const int64_t at = kase_int(k, "at");
    for (int i = 0; i < KV_TENSORS; i++) {
        struct slot *const s = &c->slot[i];
        const int64_t step = i == KV_SF ? 16 : s->listed ? fmt_bytes((enum lc_dtype) s->t.dtype) : 1; /* SF-3 */
        if (s->listed && s->same_as < 0)
            s->miss = round_up(at >= 0 ? at : 7 * i + 1, step) % 128;
    }
}

static const struct lc_tensor *const *tensors_of(const union op_args *args)
{
    return args->kv_store.t;
}

static int64_t rows(const union op_args *args)
{
    return args->kv_store.n;
}

static int64_t cols(const union op_args *args, int tensor)
{
    const struct kv_store_args *const a = &args->kv_store;
    switch (tensor) {
    case KV_WEIGHT:
        return a->d;
    case KV_TABLE:
        return a->t[KV_TABLE]->shape[0] * a->rotary_dim;
    case KV_POSITIONS:
        return 1;
    case KV_SLOTS:
        return a->n;
    case KV_SCALES:
    case KV_SF:
        return a->heads * (a->d / 32);
    default:
        return a->heads * a->d;
    }
}

static int64_t place(const union op_args *args, int tensor, int64_t row, int64_t col)
{
    const struct kv_store_args *const a = &args->kv_store;
    const struct lc_tensor *const t = a->t[tensor];
    const int64_t size = fmt_bytes((enum lc_dtype) t->dtype);
    switch (tensor) {
    case KV_X:
        return (row * t->stride[0] + (t->rank == 3 ? col / a->d * t->stride[1] : 0) + col % a->d) * size;
    case KV_WEIGHT:
    case KV_TABLE: /* one row for all tokens */
    case KV_SLOTS: /* a token's slot goes with its place, not with its data */
        return row == 0 ? col * size : -1;
    case KV_POSITIONS:
        return row * size;
    default:
        return ref_kv_place(a, tensor, row, col);
    }
}

/* The largest k of the chain: one head of 32768 elements. */
static double k_of(const union op_args *args, uint32_t claims)
{
    const struct kv_store_args *const a = &args->kv_store;
    const union op_args alone = { .hadamard = { .n = a->d } };
    return (a->norm ? REF_RMSNORM_K : 0) + (a->rope ? REF_ROPE_K : 0) + (a->hadamard ? ref_hadamard_k(&alone, claims) : 0);
}

#define WHY                                                                                                                      \
    "stage by stage: RMS-5's hull of relative radius 18u (tests/bounds/rmsnorm.g); sums of the ends of a c and b s, and 2u of "  \
    "|a c| + |b s| for two products and a sum; sums of the ends of +-x, and (log2 n + 2)u |scale| sum max|x| "                   \
    "(tests/bounds/hadamard.g)"

const struct op op_kv_store = {
    .name = "kv_store",
    .summary = "RMSNorm, rotation, Hadamard transform and E4M3 cast of each head, stored into a paged KV pool",
    .source = "TileKernels; vLLM",
    .clauses = "KV-1..6 RMS-3..5 RMS-9 RMS-12 APPLY-1 APPLY-2 APPLY-4..6 HAD-1..3 HAD-5 HAD-6 CAST-1..7 SF-3 FMT-1..3 FMT-5 FMT-6 "
               "DET-1..4 ERR-1 ERR-2",
    .axes = {
        { "heads", "heads; 0: x is (n, head_dim)", "2|0|1|3|8", AXIS_INT, 0 },
        { "M", "tokens", "17|0|1|2|3|5|33|130", AXIS_INT, 0 },
        { "hd", "head_dim", "128|32|64|96|192|256|512|1024|100|2048", AXIS_INT, 0 },
        { "out", "the pool; or codes and scales, scales per head, BF16 (KV-5)", "pool|codes|heads|bf16", AXIS_NAME, 0 },
        { "norm", "norm over each head", "1|0", AXIS_INT, 0 },
        { "w", "dtype of the weight", "bf16|f32", AXIS_NAME, 0 },
        { "eps", "added to the mean square", "1e-6|1e-3", AXIS_REAL, 0 },
        { "rope", "pairs (i, i+n), pairs (2i, 2i+1), or no rotation", "neox|inter|-", AXIS_NAME, 0 },
        { "conj", "1: the inverse rotation (APPLY-2)", "0|1", AXIS_INT, 0 },
        { "rot", "rotary_dim; 0: all from offset on", "0|64|2|32", AXIS_INT, 0 },
        { "offset", "first element that rotates; -1: the last rot do", "0|-1|6|32", AXIS_INT, 0 },
        { "table", "dtype of the table", "f32|bf16", AXIS_NAME, 0 },
        { "pos", "dtype of positions", "i32|i64", AXIS_NAME, 0 },
        { "rows", "rows of the table", "300|1|1025", AXIS_INT, 0 },
        { "had", "Hadamard transform of each head", "1|0", AXIS_INT, 0 },
        { "given", "1: had_scale is listed; 0: it is fl(head_dim^-1/2)", "0|1", AXIS_INT, 0 },
        { "scale", "had_scale, where it is listed", "-0.7|3|0", AXIS_REAL, 0 },
        { "stage", "what values are rounded to between stages", "f32|bf16", AXIS_NAME, 0 },
        { "layout", "of the pool: KV-3, or gaps everywhere and scales behind all codes", "interleaved|planar|strided", AXIS_NAME, 0 },
        { "page", "slots of a page", "16|1|64|128|48", AXIS_INT, 0 },
        { "pages", "of the pool; 0: one more than the tokens fill", "0|9", AXIS_INT, 0 },
        { "slots", "shuffled with some skipped, in order, half skipped, from the last one down, half -1 and slot 0 nobody's",
          "perm|order|skip|last|from1", AXIS_NAME,
          0 },
        { "slot", "dtype of slot_mapping", "i64|i32", AXIS_NAME, 0 },
        { "xs", "elements by which x's token stride exceeds its heads", "0|16|48", AXIS_INT, 0 },
        { "hs", "elements by which x's head stride exceeds head_dim, rounded up to 16", "0|16|80", AXIS_INT, 0 },
        { "at", "bytes by which bases miss a 128-byte boundary, at least an element; -1: each operand another",
          "0|1|2|4|8|16|64|-1", AXIS_INT, 0 },
        { "fill", "the data", NULL, AXIS_NAME, 0 },
        { "lost", "ERR-2: some positions not in the table, those of skipped tokens, some slots past the pool, one slot twice",
          "-|pos|skipped|slot|twice", AXIS_NAME, 1 },
        { "seed", "of the data", "1", AXIS_INT, 1 },
        { "bad", "a violated precondition that must be refused (ERR-1, ERR-2)", NULL, AXIS_NAME, 1 },
    },
    .tensors = {
        { "x", "(n, [heads,] head_dim)", "bf16", NULL, "input; strides of tokens and heads multiples of 16 (KV-6)", DIR_IN },
        { "weight", "(head_dim)", "bf16 f32", "norm=1", "contiguous", DIR_IN },
        { "table", "(rows, rotary_dim)", "f32 bf16", "rope", "[cos | sin], contiguous", DIR_IN },
        { "positions", "(n)", "i32 i64", "rope", "rows of the table", DIR_IN },
        { "slot_mapping", "(n)", "i32 i64", "out=pool", "slots; negative: the token is skipped", DIR_IN },
        { "pool", "(bytes)", "e4m3", "out=pool", "codes and scale bytes, where the strides put them (KV-3)", DIR_OUT },
        { "scales", "(bytes)", "ue8m0", "out=pool", "the pool once more: its scale bytes are judged as such", DIR_OUT },
        { "out", "(n, [heads,] head_dim)", "e4m3 bf16", "out=codes, heads, bf16", "codes, or y; contiguous", DIR_OUT },
        { "sf", "(n, words), or (n, heads, words)", "i32", "out=codes, heads", "scales, SF-3", DIR_OUT },
    },
    .bounds = {
        { "out", "KV-1", WHY, NULL, REF_RMSNORM_K + REF_ROPE_K + REF_HADAMARD_K(15), NULL },
        { "pool", "KV-1", "codes of y: both ends of its hull through the cast, under the kernel's own scale", NULL,
          REF_RMSNORM_K + REF_ROPE_K + REF_HADAMARD_K(15), NULL },
        { "scales", "CAST-4", "a function of amax: some admissible amax gives it", NULL, 0, NULL },
        { "sf", "CAST-4", "likewise", NULL, 0, NULL },
    },
    .fills = {
        { "normal", "N(0,1), weight around 1", kv_fill_normal, 0 },
        { "logu", "any sign, exponents -8..7", kv_fill_logu, MAY_BE_ZERO },
        { "outlier", "every 64th channel 1024 times larger", kv_fill_outlier, MAY_BE_ZERO },
        { "tiny", "mean squares around eps, amax around 1e-4, and far below", kv_fill_tiny, MAY_BE_ZERO },
        { "huge", "up to 2^52; every seventh token 2^70, not judged with the norm", kv_fill_huge, 0 },
        { "positive", "all of one sign", kv_fill_positive, 0 },
        { "zero-rows", "every third head zero, of either sign", kv_fill_zero_rows, MAY_BE_ZERO },
        { "exact", "integers times a power of two, quarter turns: sums without rounding (HAD-5)", kv_fill_exact, 0 },
        { "mixed", "sizes that differ between neighbours: tokens, heads, groups", kv_fill_mixed, MAY_BE_ZERO },
        { "specials", "NaN, Inf, -0, subnormals in some tokens", kv_fill_specials, MAY_BE_ZERO },
        { "ties", "x at E4M3 midpoints of its group and one BF16 ulp beside", kv_fill_ties, 0 },
        { "pow2-edges", "amax of a group is 448 * 2^k and up to two BF16 ulps away", kv_fill_pow2_edges, 0 },
        { "brink", "y within its bound of a midpoint, amax on a scale step", kv_fill_brink, 0 },
        { "diagonal", "an eighth of a turn, |a| = |b| up to 2^20: whole groups of which a rounding is left", kv_fill_diagonal,
          MAY_BE_ZERO },
        { "table", "NaN and Inf in some pairs of the table", kv_fill_table, 0 },
        { "angles", "zeros, subnormals and large numbers in the table", kv_fill_angles, MAY_BE_ZERO },
        { "weights", "NaN, zeros and subnormals in the weight, one kind in a group", kv_fill_weights, MAY_BE_ZERO },
    },
    .bads = kv_bads,
    .forms = (const struct form[]) { { "no-norm", "norm=0" }, { "no-rope", "rope=-" }, { "interleaved", "rope=inter" }, { "no-hadamard", "had=0" }, { "codes", "out=codes" }, { "heads", "out=heads" }, { "bf16", "out=bf16" }, { "bf16-stages", "stage=bf16" }, { "planar", "layout=planar" }, { "i64", "pos=i64" }, { "i32", "slot=i32" }, { "no-heads", "heads=0" }, { NULL, NULL } },
    .settle = settle,
    .build = build,
    .check = ref_kv_store_check,
    .check_values = ref_kv_store_check_values,
    .lost = ref_kv_store_lost,
    .tensors_of = tensors_of,
    .rows = rows,
    .cols = cols,
    .place = place,
    .ref = ref_kv_store_row,
    .work = ref_kv_store_work,
    .k_words = "18 of norm, 2 of rope, log2 n + 2 of hadamard",
    .k_of = k_of,
    .relations = kv_store_relations,
};
