/* SPDX-License-Identifier: Apache-2.0 */
/* Fused norm, rotation, Hadamard transform, E4M3 cast and store into a paged KV pool, for each head of each token.
 *
 *   y      = x                                              KV-1, per head over d = head_dim; each stage but the cast and
 *   y[i]   = y[i] * rstd * w[i]                             the store may be off. RMS-3..5
 *   y[o..] = rotated by row positions[t] of the table       APPLY-1, APPLY-2, on rotary_dim elements from offset o on
 *   y      = scale * H y                                    HAD-1
 *   out    = RN_bf16(y), or CAST(y), G = 32, round_sf       KV-5, CAST-1..7; scales SF-3
 *   pool   = CAST(y) at slot_mapping[t]                     KV-2, KV-3 (ref_kv_place)
 *
 * Source     docs/contract.md KV-1..6; TileKernels, vLLM's reshape_and_cache.
 * Shapes     x (n, heads, d) or (n, d), BF16; w (d); table (rows, rotary_dim), [cos | sin]; positions and slot_mapping (n);
 *            pool: bytes. n = 0 writes nothing. What is accepted: ref/kv_check.c.
 * Freedom    y stays f32 between stages: each stage hands its hull to the next. v is the real result of the v before, rounded to
 *            binary64 once a stage. stage=bf16: both ends and v are rounded to BF16 at each stage's end, so that each stage is
 *            the single operator. Codes are judged under the kernel's own scale, if that is legal.
 * Edges      a slot < 0 skips its token; NaN and Inf stay within their head (RMS-9, APPLY-6, HAD-6), and of what is no number for
 *            certain neither code nor scale is judged (CAST-7). A head that RMS-12 or f32 overflow leaves open is not judged.
 *            Positions outside the table, slots past the pool and repeated slots: ref_kv_store_check_values (ERR-2). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"

enum { ACC_LIMBS = sizeof((struct acc *) 0)->limb / sizeof((struct acc *) 0)->limb[0] };

static double load(const struct lc_tensor *t, int64_t at)
{
    return t->dtype == LC_BF16 ? fmt_load(LC_BF16, ((const uint16_t *) t->data)[at]) : (double) ((const float *) t->data)[at];
}

static int64_t index_at(const struct lc_tensor *t, int64_t at)
{
    return t->dtype == LC_I32 ? ((const int32_t *) t->data)[at] : ((const int64_t *) t->data)[at];
}

/* ---- KV-2, KV-3, KV-5: where a token's bytes lie ---- */

static int64_t in_pool(const struct kv_store_args *a, const struct kv_bytes *b, int64_t token, int64_t head)
{
    const int64_t slot = index_at(a->t[KV_SLOTS], token);
    if (slot < 0 || slot / a->page_size >= a->pages)
        return -1; /* skipped; past the pool: nothing of it is anybody's (ERR-2) */
    return b->base + slot / a->page_size * b->page + slot % a->page_size * b->row + head * b->head;
}

int64_t ref_kv_place(const struct kv_store_args *a, int tensor, int64_t token, int64_t col)
{
    const int64_t groups = a->d / 32;
    int64_t at;
    switch (tensor) {
    case KV_POOL:
        at = in_pool(a, &a->codes, token, col / a->d);
        return at < 0 ? -1 : at + col % a->d;
    case KV_SCALES:
        at = in_pool(a, &a->scales, token, col / groups);
        return at < 0 ? -1 : at + col % groups;
    case KV_SF: /* M = n, or each token is a batch of M = heads */
        return a->per_head ? sf_place(&a->sf, a->heads, token * a->heads + col / groups, col % groups)
                           : sf_place(&a->sf, a->n, token, col);
    default:
        return (token * a->heads * a->d + col) * fmt_bytes((enum lc_dtype) a->t[KV_OUT]->dtype);
    }
}

/* ---- stages of one head ---- */

struct head {
    const struct kv_store_args *a;
    int64_t token;
    struct iv *y;  /* d */
    uint8_t *free; /* d */
    void *work;    /* d * ACC_LIMBS int64_t, or three times d doubles */
    bool unjudged;
    uint32_t claims;
    int64_t *ambiguous;
};

/* What an accumulator takes: below 2^-340 a value is cut to a multiple of 2^-400, which no f32 sees. */
static double summand(double v)
{
    return fabs(v) < ldexp(1, -340) ? ldexp(rint(ldexp(v, 400)), -400) : v;
}

/* KV-1, stage=bf16. */
static void stage_end(struct head *h)
{
    for (int64_t i = 0; h->a->bf16_stages && i < h->a->d; i++) {
        if (!iv_is_finite(h->y[i]))
            continue;
        h->y[i] = iv_round(LC_BF16, h->y[i]);
        *h->ambiguous += !iv_is_pt(h->y[i]);
        h->unjudged = h->unjudged || !iv_is_finite(h->y[i]); /* past the largest BF16 */
    }
}

static void norm(struct head *h)
{
    const struct kv_store_args *const a = h->a;
    const struct ref_rms stat = ref_rms_statistics(a->d, h->y, a->eps);
    h->unjudged = !stat.judged; /* RMS-12 */
    for (int64_t i = 0; i < a->d; i++) {
        const double r = h->y[i].v, w = load(a->t[KV_WEIGHT], i);
        h->unjudged = h->unjudged || ref_rms_may_overflow(fabs(r), stat.rstd, fabs(w), 1);
        h->y[i] = ref_rms_y(r, stat, w, 1);
    }
    stage_end(h);
}

/* p*c + q*s, rounded once. */
static double rotated(double p, double c, double q, double s)
{
    struct acc sum;
    const double pc = p * c, qs = q * s;
    if (!isfinite(pc) || !isfinite(qs) || (pc == 0 && qs == 0))
        return pc + qs;
    acc_clear(&sum);
    acc_add(&sum, summand(pc));
    acc_add(&sum, summand(fma(p, c, -pc))); /* what the product lost */
    acc_add(&sum, summand(qs));
    acc_add(&sum, summand(fma(q, s, -qs)));
    return acc_double(&sum);
}

static void rotate(struct head *h)
{
    const struct kv_store_args *const a = h->a;
    const struct lc_tensor *const table = a->t[KV_TABLE];
    const int64_t pairs = a->rotary_dim / 2, row = index_at(a->t[KV_POSITIONS], h->token) * a->rotary_dim;
    const struct ref_rotation how = { pairs, a->interleaved, a->conjugate,
                                      table->dtype == LC_BF16 && (!a->norm || a->bf16_stages) };
    struct iv *const x = h->y + a->offset;
    double *const cos = h->work, *const sin = cos + pairs, *const v = sin + pairs;
    for (int64_t i = 0; i < pairs; i++) {
        const int64_t at_a = a->interleaved ? 2 * i : i, at_b = a->interleaved ? 2 * i + 1 : pairs + i;
        cos[i] = load(table, row + i);
        sin[i] = load(table, row + pairs + i);
        const double s = a->conjugate ? -sin[i] : sin[i];
        v[at_a] = rotated(x[at_a].v, cos[i], x[at_b].v, -s);
        v[at_b] = rotated(x[at_b].v, cos[i], x[at_a].v, s);
    }
    ref_rope_rotate(&how, cos, sin, x, h->free + a->offset);
    for (int64_t i = 0; i < a->rotary_dim; i++)
        if (!iv_is_pt(x[i]) && iv_is_finite(x[i]))
            x[i].v = v[i]; /* the hull has room for the roundings that ref_rope_rotate's own v has more */
    stage_end(h);
}

/* The exact sums of HAD-1: the transform of each limb for itself, in integers, as ref/hadamard.c does. v: in and out. */
static void exact_transform(int64_t n, double *v, int64_t *limbs)
{
    struct acc sum;
    for (int64_t i = 0; i < n; i++) {
        acc_clear(&sum);
        acc_add(&sum, summand(v[i]));
        for (int l = 0; l < ACC_LIMBS; l++)
            limbs[l * n + i] = sum.limb[l];
    }
    for (int l = 0; l < ACC_LIMBS; l++)
        for (int64_t bit = 1; bit < n; bit *= 2)
            for (int64_t i = 0; i < n; i++)
                if (!(i & bit)) {
                    int64_t *const x = limbs + l * n, p = x[i], q = x[i | bit];
                    x[i] = p + q;
                    x[i | bit] = p - q;
                }
    for (int64_t i = 0; i < n; i++) {
        for (int l = 0; l < ACC_LIMBS; l++)
            sum.limb[l] = limbs[l * n + i];
        v[i] = acc_double(&sum);
    }
}

/* HAD-5: every element is one number, a multiple of g, and sum|x| <= 2^24 g. */
static bool is_exact(int64_t n, const struct iv *x, double magnitude)
{
    double g = HUGE_VAL;
    for (int64_t i = 0; i < n; i++) {
        if (!iv_is_pt(x[i]))
            return false;
        int exp;
        int64_t sig = (int64_t) ldexp(frexp(fabs(x[i].v), &exp), 53);
        for (exp -= 53; sig && sig % 2 == 0; sig /= 2)
            exp++;
        if (sig && ldexp(1, exp) < g)
            g = ldexp(1, exp);
    }
    return magnitude <= ldexp(g, 24);
}

static void transform(struct head *h)
{
    const struct kv_store_args *const a = h->a;
    const int64_t n = a->d;
    const union op_args alone = { .hadamard = { .n = n } };
    double *const v = h->work;
    struct iv *const y = h->y;
    double magnitude = 0;
    bool finite = true;
    for (int64_t i = 0; i < n; i++) {
        finite = finite && iv_is_finite(y[i]);
        h->unjudged = h->unjudged || h->free[i];
        magnitude += fmax(fabs(y[i].lo), fabs(y[i].hi));
        v[i] = y[i].v;
    }
    h->unjudged = h->unjudged || (finite && magnitude >= ldexp(1, 127)); /* f32 sums overflow in right kernels */
    if (!finite || h->unjudged) {
        for (int64_t i = 0; i < n; i++)
            y[i] = iv_not_finite(); /* HAD-6 */
        return;
    }
    const bool exact = is_exact(n, y, magnitude);
    const double k = ref_hadamard_k(&alone, h->claims);
    const double radius = ldexp(k * fabs(a->scale) * magnitude, -24) + ldexp(1, -150); /* HAD-3 */
    exact_transform(n, v, (int64_t *) (v + n));
    for (int64_t bit = 1; bit < n; bit *= 2) /* the sums of ends */
        for (int64_t i = 0; i < n; i++)
            if (!(i & bit)) {
                const struct iv p = y[i], q = y[i | bit];
                y[i] = iv_add(p, q);
                y[i | bit] = iv_add(p, iv_scale(q, -1));
            }
    for (int64_t i = 0; i < n; i++) {
        const double real = v[i] * a->scale, f32 = rn_f32(real);
        if (a->scale == 0 || magnitude == 0 || (exact && v[i] == 0))
            y[i] = (struct iv) { 0, -0.0, 0 }; /* FMT-6 */
        else if (exact)
            y[i] = (struct iv) { real, f32 < real ? f32 : real, f32 > real ? f32 : real };
        else {
            y[i] = iv_widen(iv_scale(y[i], a->scale), radius);
            y[i].v = real == 0 ? 0 : real; /* k has room for the roundings of the ends */
        }
    }
    stage_end(h);
}

/* ---- one token ---- */

static bool position_is_lost(const struct kv_store_args *a, int64_t token)
{
    const int64_t at = a->rope ? index_at(a->t[KV_POSITIONS], token) : 0;
    return a->rope && (at < 0 || at >= a->t[KV_TABLE]->shape[0]);
}

/* A skipped token too, which owns nothing: a kernel may look at its position all the same, and refuse the call. */
int ref_kv_store_lost(const union op_args *args, int64_t token)
{
    const struct kv_store_args *const a = &args->kv_store;
    const int64_t slot = a->store ? index_at(a->t[KV_SLOTS], token) : -1;
    bool lost = position_is_lost(a, token) || (slot >= 0 && slot / a->page_size >= a->pages);
    for (int64_t i = 0; i < a->n && slot >= 0 && !lost; i++)
        lost = i != token && index_at(a->t[KV_SLOTS], i) == slot;
    return lost;
}

size_t ref_kv_store_work(const union op_args *args)
{
    return (size_t) args->kv_store.d * (ACC_LIMBS + 1) * sizeof(int64_t);
}

static void run_stages(struct head *h, int64_t head)
{
    const struct kv_store_args *const a = h->a;
    const struct lc_tensor *const x = a->t[KV_X];
    const int64_t from = h->token * x->stride[0] + (x->rank == 3 ? head * x->stride[1] : 0);
    for (int64_t i = 0; i < a->d; i++)
        h->y[i] = iv_pt(load(x, from + i));
    memset(h->free, 0, (size_t) a->d);
    if (a->norm)
        norm(h);
    if (a->rope && !h->unjudged)
        rotate(h);
    if (a->hadamard && !h->unjudged)
        transform(h);
    for (int64_t i = 0; i < a->d; i++) {
        h->free[i] = h->free[i] || h->unjudged;
        if (h->free[i])
            h->y[i] = iv_pt(INFINITY); /* to the cast as to the judge: unspecified (CAST-7, RMS-12) */
    }
}

void ref_kv_store_row(const union op_args *args, int64_t row, const struct ref_got *got, struct ref_want *want)
{
    const struct kv_store_args *const a = &args->kv_store;
    const int codes = a->store ? KV_POOL : KV_OUT, scales = a->store ? KV_SCALES : KV_SF;
    const int64_t groups = a->d / 32;
    /* an oracle's y is of HAD-3's k = log2 n + 2 */
    const bool given = want->given_y && !(a->hadamard && want->claims & LC_DENSE_HADAMARD);
    struct sf_args head_sf = a->sf;
    head_sf.groups = groups;
    if (ref_kv_store_lost(args, row)) { /* ERR-2 */
        memset(want->free[codes], 1, (size_t) (a->heads * a->d));
        if (a->cast)
            memset(want->free[scales], 1, (size_t) (a->heads * groups));
        return;
    }
    for (int64_t i = 0; i < a->heads; i++) {
        struct iv *const q = want->at[codes] + i * a->d;
        struct head h = { .a = a,
                          .token = row,
                          .y = want->y + i * a->d,
                          .free = want->free[codes] + i * a->d,
                          .work = want->work,
                          .claims = want->claims,
                          .ambiguous = &want->ambiguous };
        run_stages(&h, i);
        for (int64_t j = 0; j < a->d; j++) {
            if (given && !h.free[j] && !isinf(h.y[j].v))
                h.y[j] = want->given_y[i * a->d + j];
            q[j] = h.y[j];
            if (a->cast && iv_is_nan(q[j]) && isinf(q[j].hi))
                q[j] = iv_pt(INFINITY); /* NaN or Inf (HAD-6): open to the cast, its whole group (CAST-7) */
        }
        if (a->cast)
            ref_cast_groups(&head_sf, a->bf16_stages ? LC_BF16 : LC_F32, a->d, q,
                            got->code[scales] ? got->code[scales] + i * groups : NULL, q, h.free, want->at[scales] + i * groups,
                            want->free[scales] + i * groups, want);
    }
}

/* ---- ERR-2: values in memory ---- */

static int by_value(const void *p, const void *q)
{
    const int64_t a = *(const int64_t *) p, b = *(const int64_t *) q;
    return a < b ? -1 : a > b;
}

static int check_slots(const struct lc_call *call, const struct kv_store_args *a)
{
    int64_t *const sorted = malloc((size_t) (a->n + 1) * sizeof *sorted);
    int status = sorted ? LC_OK : LC_FAILED;
    for (int64_t i = 0; !status && i < a->n; i++) {
        sorted[i] = index_at(a->t[KV_SLOTS], i);
        if (sorted[i] >= 0 && sorted[i] / a->page_size >= a->pages)
            status = arg_refuse(call, "slot_mapping", "ERR-2", "[%lld] = %lld: past the pool of %lld pages of %lld slots",
                                (long long) i, (long long) sorted[i], (long long) a->pages, (long long) a->page_size);
    }
    if (!status)
        qsort(sorted, (size_t) a->n, sizeof *sorted, by_value);
    for (int64_t i = 1; !status && i < a->n; i++)
        if (sorted[i] >= 0 && sorted[i] == sorted[i - 1])
            status = arg_refuse(call, "slot_mapping", "ERR-2", "%lld: repeated", (long long) sorted[i]);
    free(sorted);
    return status;
}

int ref_kv_store_check_values(const struct lc_call *call, const union op_args *args)
{
    const struct kv_store_args *const a = &args->kv_store;
    for (int64_t i = 0; i < a->n; i++) /* a skipped token has no use for its position (KV-2) */
        if (position_is_lost(a, i) && !(a->store && index_at(a->t[KV_SLOTS], i) < 0))
            return arg_refuse(call, "positions", "ERR-2", "[%lld] = %lld: the table has rows 0..%lld", (long long) i,
                              (long long) index_at(a->t[KV_POSITIONS], i), (long long) a->t[KV_TABLE]->shape[0] - 1);
    return a->store ? check_slots(call, a) : LC_OK;
}
