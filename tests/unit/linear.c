/* SPDX-License-Identifier: Apache-2.0 */
/* ref/linear.c: LIN-3 and LIN-4 over all small shapes and strides, sums against MPFR, LIN-8 against f32 sums in many orders. */
#include <criterion/criterion.h>
#include <math.h>
#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"

static uint64_t random_state = 1234567;

static uint64_t rnd(void) /* splitmix64 */
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* ---- LIN-3, LIN-4 ---- */

/* Where flatten says yes, row i of the matrix is row i of the view; where it says no and no size is 1, some row is not. */
static void flatten_one(const struct lc_tensor *t)
{
    int64_t m = -1, step = -1, rows = 1;
    bool same = true, has_1 = false;
    const bool yes = ref_linear_flatten(t, &m, &step);
    for (int i = 0; i < t->rank - 1; i++) {
        rows *= t->shape[i];
        has_1 = has_1 || t->shape[i] == 1;
    }
    for (int64_t row = 0; row < rows; row++)
        same = same && arg_row(t, row) == row * (t->rank < 2 ? 0 : t->stride[t->rank - 2]);
    cr_assert_eq(m, rows);
    if (t->rank > 1)
        cr_assert_eq(step, t->stride[t->rank - 2]);
    if (yes)
        cr_assert(same, "(%lld, %lld), strides %lld %lld", (long long) t->shape[0], (long long) t->shape[1],
                  (long long) t->stride[0], (long long) t->stride[1]);
    else
        cr_assert(!same || has_1);
    if (t->rank == 3 && rows > 0) /* the clause's own words, sizes of 1 included */
        cr_assert_eq(yes, t->stride[0] == t->stride[1] * t->shape[1]);
    else
        cr_assert(yes);
}

Test(linear, flatten)
{
    struct lc_tensor t = { .name = "t", .dtype = LC_BF16 };
    int64_t seen = 0;
    for (int rank = 1; rank <= 3; rank++)
        for (int64_t b = 0; b < 4; b++)
            for (int64_t m = 0; m < 4; m++)
                for (int64_t s0 = 0; s0 < 13; s0++)
                    for (int64_t s1 = 0; s1 < 5; s1++) {
                        const int64_t shape[3] = { b, m, 3 }, stride[3] = { s0, s1, 1 };
                        t.rank = rank;
                        memcpy(t.shape, shape + 3 - rank, (size_t) rank * sizeof *shape);
                        memcpy(t.stride, stride + 3 - rank, (size_t) rank * sizeof *stride);
                        flatten_one(&t);
                        seen++;
                    }
    cr_assert_eq(seen, 3 * 4 * 4 * 13 * 5);
}

Test(linear, aligned_and_rows)
{
    for (int rank = 1; rank <= 3; rank++)
        for (int f32 = 0; f32 < 2; f32++)
            for (int64_t stride = 0; stride <= 64; stride++) {
                struct lc_tensor t = { .name = "t", .dtype = f32 ? LC_F32 : LC_BF16, .rank = rank, .shape = { 1, 1, 1 } };
                t.stride[rank - 1] = 1;
                if (rank > 1)
                    t.stride[rank - 2] = stride;
                if (rank > 2)
                    t.stride[0] = 7; /* no say */
                const int64_t step = f32 ? 8 : 16;
                cr_assert_eq(ref_linear_aligned(&t), rank == 1 || stride / step * step == stride);
            }
    for (int size = 2; size <= 4; size += 2)
        for (int64_t n = 0; n <= 300; n++) {
            const int64_t bytes = ref_linear_row_bytes(n, size);
            cr_assert(bytes % 32 == 0 && bytes >= n * size && bytes - n * size < 32);
        }
}

/* ---- one row ---- */

enum { N = 5, MOST_K = 300 };

struct row {
    uint16_t x[MOST_K], w[N * MOST_K];
    float out_acc[8], out[8];
    struct iv y[N], at[N];
    uint8_t open[N];
};

static float value(uint16_t code)
{
    return (float) fmt_load(LC_BF16, code);
}

static void want(struct row *r, int64_t k, bool with_acc, uint32_t claims)
{
    const struct lc_tensor t[4] = {
        { "x", r->x, LC_BF16, 2, { 1, k }, { k, 1 } },
        { "weight", r->w, LC_BF16, 2, { N, k }, { MOST_K, 1 } },
        { "out", r->out, LC_F32, 2, { 1, N }, { 8, 1 } },
        { "out_acc", r->out_acc, LC_F32, 2, { 1, N }, { 8, 1 } },
    };
    char msg[256] = "";
    const struct lc_call call = {
        .size = sizeof call, .device = -1, .tensors = t, .n_tensors = with_acc ? 4 : 3, .msg = msg, .msg_size = sizeof msg
    };
    static const struct ref_got nobody;
    struct ref_want w = { .y = r->y, .claims = claims };
    union op_args args;
    cr_assert_eq(ref_linear_check(&call, &args), LC_OK, "%s", msg);
    w.at[LIN_OUT] = r->at;
    w.free[LIN_OUT] = r->open;
    w.work = calloc(ref_linear_work(&args), 1);
    cr_assert(w.work);
    ref_linear_row(&args, 0, &nobody, &w);
    free(w.work);
}

/* Exponents so far apart that no double holds the sum, or all alike. */
static uint16_t code_of(int binades)
{
    const uint64_t bits = rnd();
    return (uint16_t) ((bits & 0x807f) | (uint64_t) (127 - binades / 2 + (int) (bits >> 33) % (binades + 1)) << 7);
}

Test(linear, sums_are_those_of_mpfr)
{
    static struct row r;
    static const int binades[] = { 0, 4, 20, 60, 110 };
    mpfr_t v, magnitude, t;
    mpfr_inits2(2000, v, magnitude, t, (mpfr_ptr) 0);
    for (int round = 0; round < 400; round++) {
        const int64_t k = 1 + (int64_t) (rnd() % MOST_K);
        const bool with_acc = round % 3 == 0;
        const uint32_t claims = round % 2 ? LC_K8_CORES : 0;
        for (int64_t i = 0; i < k; i++)
            r.x[i] = code_of(binades[round % 5]);
        for (int64_t i = 0; i < N * MOST_K; i++)
            r.w[i] = code_of(binades[round % 5]);
        for (int n = 0; n < N; n++)
            r.out_acc[n] = (float) ldexp((double) (rnd() % 16777216), (int) (rnd() % 40) - 40);
        want(&r, k, with_acc, claims);
        for (int n = 0; n < N; n++) {
            mpfr_set_d(v, with_acc ? (double) r.out_acc[n] : 0, MPFR_RNDN);
            mpfr_abs(magnitude, v, MPFR_RNDN);
            for (int64_t i = 0; i < k; i++) {
                mpfr_set_d(t, (double) value(r.x[i]) * (double) value(r.w[n * MOST_K + i]), MPFR_RNDN);
                mpfr_add(v, v, t, MPFR_RNDN);
                mpfr_abs(t, t, MPFR_RNDN);
                mpfr_add(magnitude, magnitude, t, MPFR_RNDN);
            }
            cr_assert_eq(r.y[n].v, mpfr_get_d(v, MPFR_RNDN), "round %d", round);
            if (r.y[n].lo == r.y[n].hi)
                continue; /* LIN-8 */
            const double of = claims ? 1.4 * (double) k + 32 : (double) k + 32;
            const double radius = ldexp(of * mpfr_get_d(magnitude, MPFR_RNDN), -24);
            cr_assert(fabs((r.y[n].hi - r.y[n].v) / radius - 1) < 1e-6 && fabs((r.y[n].v - r.y[n].lo) / radius - 1) < 1e-6);
        }
    }
    mpfr_clears(v, magnitude, t, (mpfr_ptr) 0);
}

/* LIN-8: sum|a||b| = 2^24 g leaves nothing free, and no f32 order errs; one unit more is judged with a hull. */
Test(linear, exact_in_every_order)
{
    static struct row r;
    static float term[MOST_K];
    int at_the_end = 0;
    for (int round = 0; round < 300; round++) {
        const int64_t k = 2 + (int64_t) (rnd() % 60);
        int64_t left = 1 << 24;
        for (int64_t i = 0; i < k - 1; i++) {
            const int64_t most = left / (k - i), x = 1 + (int64_t) (rnd() % 255),
                          w = most / x < 1     ? 1
                              : most / x > 255 ? 255
                                               : most / x;
            r.x[i] = (uint16_t) fmt_code(LC_BF16, (double) x);
            r.w[i] = (uint16_t) fmt_code(LC_BF16, (double) (rnd() % 2 ? w : -w));
            left -= x * w;
        }
        r.x[k - 1] = (uint16_t) fmt_code(LC_BF16, 1);
        r.w[k - 1] = (uint16_t) fmt_code(LC_BF16, 1);
        left--;
        r.out_acc[0] = (float) (round % 2 ? left : left + 1); /* together 2^24, or one more */
        cr_assert(left >= 0);
        want(&r, k, true, 0);
        if (round % 2 == 0) {
            cr_assert(r.y[0].lo < r.y[0].v && r.y[0].v < r.y[0].hi);
            continue;
        }
        at_the_end++;
        cr_assert(r.y[0].lo == r.y[0].hi || (r.y[0].v == 0 && r.y[0].hi == 0));
        for (int64_t i = 0; i < k; i++)
            term[i] = value(r.x[i]) * value(r.w[i]);
        term[k] = r.out_acc[0];
        for (int order = 0; order < 20; order++) {
            float sum = 0;
            for (int64_t i = k; i > 0; i--) { /* shuffled */
                const int64_t j = (int64_t) (rnd() % (uint64_t) (i + 1));
                const float other = term[i];
                term[i] = term[j];
                term[j] = other;
            }
            for (int64_t i = 0; i <= k; i++)
                sum += term[i];
            cr_assert_eq((double) sum, r.y[0].v);
        }
    }
    cr_assert_eq(at_the_end, 150);
}
