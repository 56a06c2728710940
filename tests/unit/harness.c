/* SPDX-License-Identifier: Apache-2.0 */
/* Cases, draws, fills, ownership and the verdict: the parts of the harness that everything else trusts. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "verdict.h"

static struct kase kase(const char *id)
{
    struct kase k;
    char why[512] = "";
    cr_assert_eq(kase_parse(&k, id, why, sizeof why), 0, "%s: %s", id, why);
    return k;
}

static struct call *opened(const char *id)
{
    struct call *const c = calloc(1, sizeof *c);
    const struct kase k = kase(id);
    cr_assert(c);
    cr_assert_eq(call_open(c, &k, NULL, NULL), 0, "%s: %s", id, c->msg);
    return c;
}

static void closed(struct call *c)
{
    call_close(c);
    free(c);
}

/* ---- cases ---- */

Test(cases, every_id_of_every_suite_reads_back)
{
    static const char *const suites[] = { "smoke", "ci", "full", "golden" };
    for (size_t s = 0; s < sizeof suites / sizeof *suites; s++) {
        struct cases cases = { .n = 0 };
        char why[512], id[MAX_ID];
        cr_assert_eq(suite_read(&cases, suites[s], why, sizeof why), 0, "%s", why);
        cr_assert_gt(cases.n, 50);
        for (size_t i = 0; i < cases.n; i++) {
            struct kase again;
            kase_print(&cases.at[i], id, sizeof id);
            cr_assert_lt(strlen(id), MAX_ID - 1);
            cr_assert_eq(kase_parse(&again, id, why, sizeof why), 0, "%s", why);
            cr_assert(kase_same(&again, &cases.at[i]), "%s", id);
        }
        cases_free(&cases);
    }
}

Test(cases, what_is_not_legal_says_why)
{
    static const char *const pair[][2] = {
        { "cast(M=3,d=96)", "SF-3" },
        { "cast(M=3,d=128,round=0)", "SF-0" },
        { "cast(M=3,d=64,G=20,sf=row)", "CAST-10" },
        { "rmsnorm(M=3,d=128,xs=8)", "RMS-8" },
        { "rmsnorm(M=3,d=128,eps=0)", "RMS-12" },
        { "rmsnorm(M=3,d=128,G=64)", "out=e4m3" },
        { "rmsnorm(M=3,d=128,rs=16)", "res=1" },
        { "norm(M=3)", "no such operator" },
        { "cast(M=three)", "no such value" },
        { "cast(q=3)", "no such axis" },
        { "cast(M=3", "expected" },
        { "cast(M=1,M=2)", "twice" },
        { "cast(M={1,2})", "set of values" },
    };
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
        struct kase k;
        char why[512] = "";
        cr_assert_neq(kase_parse(&k, pair[i][0], why, sizeof why), 0, "%s is accepted", pair[i][0]);
        cr_assert(strstr(why, pair[i][1]), "%s: '%s' does not name %s", pair[i][0], why, pair[i][1]);
    }
    kase("cast(M=3,d=100)"); /* three groups of 32 and a short one make a word */
}

Test(cases, patterns_choose)
{
    struct pattern *const p = malloc(sizeof *p);
    char why[512];
    const struct kase k = kase("rmsnorm(M=17,d=512,res=1,fill=ties,eps=1.75)");
    cr_assert_eq(pattern_parse(p, "rmsnorm(M={1,17},fill=*)", why, sizeof why), 0);
    cr_assert(pattern_matches(p, &k));
    cr_assert_eq(pattern_parse(p, "rmsnorm(M={1,16})", why, sizeof why), 0);
    cr_assert_not(pattern_matches(p, &k));
    cr_assert_eq(pattern_parse(p, "cast", why, sizeof why), 0);
    cr_assert_not(pattern_matches(p, &k));
    free(p);
}

/* ---- draws: the same bits on every host ---- */

Test(draws, are_these)
{
    struct call *const c = opened("cast(M=1,d=32,sf=row,seed=1)");
    cr_expect_eq(draw_bits(c, 0, 0), UINT32_C(0xe3e80670), "0x%08x", draw_bits(c, 0, 0));
    cr_expect_neq(draw_bits(c, 0, 0), draw_bits(c, 1, 0)); /* tensor */
    cr_expect_neq(draw_bits(c, 0, 0), draw_bits(c, 0, 1)); /* index */
    c->seed = 2;
    cr_expect_neq(draw_bits(c, 0, 0), UINT32_C(0xe3e80670)); /* seed */
    closed(c);
}

Test(draws, normal_has_mean_0_and_variance_1)
{
    struct call *const c = opened("cast(M=1,d=32,sf=row)");
    double sum = 0, squares = 0;
    enum { N = 200000 };
    for (int i = 0; i < N; i++) {
        const double v = draw_normal(c, 0, i);
        sum += v;
        squares += v * v;
    }
    cr_expect_lt(fabs(sum / N), 4 / sqrt(N));
    cr_expect_lt(fabs(squares / N - 1), 0.01);
    closed(c);
}

/* ---- fills do what they say ---- */

static struct result judged(struct call *c, const uint8_t *after)
{
    struct result r;
    memset(&r, 0, sizeof r);
    judge_values(c, after, NULL, &r);
    result_settle(c, &r);
    return r;
}

static uint8_t *nominal(struct call *c)
{
    char why[512] = "", msg[512] = "";
    struct backend *const ref = backend_open("ref", why, sizeof why);
    uint8_t *const after = malloc(c->arena_size);
    cr_assert(ref && after);
    const struct lc_kernel *k = backend_plugin(ref)->kernels;
    while (strcmp(k->op, c->op->name))
        k++;
    cr_assert_eq(backend_run(ref, k, c, after, msg, sizeof msg), 0, "%s", msg);
    backend_close(ref);
    return after;
}

Test(fills, brink_makes_ambiguous_roundings_and_two_scales)
{
    static const char *const id[] = { "rmsnorm(M=17,d=512,w=f32,out=e4m3,fill=brink)",
                                      "rmsnorm(M=5,d=4096,res=1,w=f32,out=e4m3,sf=row,round=0,fill=brink)" };
    for (int i = 0; i < 2; i++) {
        struct call *const c = opened(id[i]);
        uint8_t *const after = nominal(c);
        const struct result r = judged(c, after);
        /* every column aims one row at a midpoint: at least half of the columns hit */
        cr_expect_gt(2 * r.ambiguous, c->op->cols(&c->args, RMS_X), "%s: %lld", id[i], (long long) r.ambiguous);
        cr_expect_gt(r.two_scale * 64, c->op->cols(&c->args, RMS_X), "%s: %lld", id[i], (long long) r.two_scale);
        free(after);
        closed(c);
    }
}

Test(fills, ties_of_the_norm_are_midpoints)
{
    struct call *const c = opened("rmsnorm(M=3,d=512,w=bf16,fill=ties,eps=1.75)");
    int64_t at_midpoint = 0;
    for (int64_t i = 0; i < 512; i++) {
        const double y = 0.75 * get(c, RMS_WEIGHT, 0, i), down = rn_bf16(y * (1 - 0x1p-20)), up = rn_bf16(y * (1 + 0x1p-20));
        at_midpoint += down != up && y == (down + up) / 2;
    }
    cr_expect_eq(at_midpoint, 512, "%lld", (long long) at_midpoint);
    closed(c);
}

Test(fills, ties_of_the_cast_are_midpoints)
{
    struct call *const c = opened("cast(M=8,d=512,x=f32,fill=ties)");
    int64_t ties = 0;
    for (int64_t row = 0; row < 8; row++)
        for (int64_t i = 0; i < 512; i++) {
            const int e = (int) ((row * 5 + i / 32 * 3) % 16) - 8;
            const double q = fabs(ldexp(get(c, CAST_X, row, i), -e));
            const uint32_t down = fmt_code(LC_E4M3, q * (1 - 0x1p-30)), up = fmt_code(LC_E4M3, q * (1 + 0x1p-30));
            ties += down != up && q == (fmt_load(LC_E4M3, down) + fmt_load(LC_E4M3, up)) / 2;
        }
    cr_expect_gt(ties, 8 * 512 / 3, "%lld", (long long) ties);
    closed(c);
}

Test(fills, pow2_edges_stand_at_448)
{
    struct call *const c = opened("cast(M=16,d=512,x=f32,fill=pow2-edges)");
    int64_t exactly = 0, beside = 0;
    for (int64_t row = 0; row < 16; row++)
        for (int64_t g = 0; g < 16; g++) {
            double amax = 0;
            for (int64_t i = 0; i < 32; i++)
                amax = fmax(amax, fabs(get(c, CAST_X, row, g * 32 + i)));
            const double of_448 = amax / ldexp(448, (int) lround(log2(amax / 448)));
            exactly += of_448 == 1;
            beside += of_448 != 1 && fabs(of_448 - 1) < 0x1p-16;
        }
    cr_expect_eq(exactly + beside, 256); /* a third on the edge, the others beside it */
    cr_expect(exactly > 60 && beside > 120, "%lld, %lld", (long long) exactly, (long long) beside);
    closed(c);
}

/* ---- ownership ---- */

static size_t owned_as(const struct call *c, int slot, enum owner owner)
{
    size_t n = 0;
    for (size_t i = 0; i < c->slot[slot].bytes; i++)
        n += c->own[c->slot[slot].offset + i] == owner;
    return n;
}

Test(ownership, sf_3_padding_is_pad)
{
    for (int m = 1; m <= 5; m++) {
        char id[64];
        snprintf(id, sizeof id, "cast(M=%d,d=512)", m);
        struct call *const c = opened(id);
        cr_expect_eq(owned_as(c, CAST_SF, OWNED), (size_t) m * 16);
        cr_expect_eq(owned_as(c, CAST_SF, PAD), (size_t) ((4 - m % 4) % 4) * 16);
        cr_expect_eq(owned_as(c, CAST_SF, KEEP), 0);
        cr_expect_eq(owned_as(c, CAST_OUT, OWNED), (size_t) m * 512);
        closed(c);
    }
}

Test(ownership, gaps_guards_and_unmapped_words_are_kept)
{
    struct call *const c = opened("rmsnorm(M=3,d=128,res=1,out=e4m3,bf16=1,utccp=48,xs=16,ros=16)");
    cr_expect_eq(owned_as(c, RMS_X, INPUT), 3u * 128 * 2);
    cr_expect_eq(owned_as(c, RMS_X, KEEP), 3u * 16 * 2);
    cr_expect_eq(owned_as(c, RMS_RESIDUAL_OUT, KEEP), 3u * 16 * 2);
    cr_expect_eq(owned_as(c, RMS_EXTRA_SF, OWNED), 3u * 4);
    cr_expect_eq(owned_as(c, RMS_EXTRA_SF, KEEP), (128u + 64) * 4 - 12);
    for (size_t i = 1; i <= 1024; i++)
        cr_assert_eq(c->own[c->slot[RMS_OUT].offset - i], KEEP);
    closed(c);
}

/* ---- the verdict ---- */

struct planted {
    struct call *c;
    uint8_t *after;
};

static uint8_t *code_of(const struct planted *p, int slot, int64_t row, int64_t col)
{
    return p->after + p->c->slot[slot].offset + p->c->op->place(&p->c->args, slot, row, col);
}

static struct planted plant(const char *id)
{
    struct call *const c = opened(id);
    return (struct planted) { c, nominal(c) };
}

Test(verdict, nominal_passes_and_one_wrong_code_fails)
{
    static const struct {
        const char *id;
        int slot;
    } at[] = { { "cast(M=17,d=100,sf=row)", CAST_OUT },           { "cast(M=17,d=128)", CAST_SF },
               { "cast(M=17,d=128,utccp=48)", CAST_EXTRA_SF },    { "rmsnorm(M=17,d=100,out=f32)", RMS_OUT },
               { "rmsnorm(M=17,d=100,res=1)", RMS_RESIDUAL_OUT }, { "rmsnorm(M=17,d=128,out=e4m3,bf16=1)", RMS_BF16 },
               { "rmsnorm(M=17,d=128,out=e4m3)", RMS_SF } };
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        const struct planted p = plant(at[i].id);
        const int64_t row = p.c->op->rows(&p.c->args) - 1, col = p.c->op->cols(&p.c->args, at[i].slot) - 1; /* the last one */
        struct result r = judged(p.c, p.after);
        cr_expect_eq(r.outcome, PASS, "%s", at[i].id);
        uint8_t *const code = code_of(&p, at[i].slot, row, col);
        if (p.c->slot[at[i].slot].fmt == LC_F32)
            code[1] ^= 0x10; /* 2^12 ulp of an f32 */
        else
            code[0] += 3;
        r = judged(p.c, p.after);
        cr_expect_eq(r.outcome, FAIL, "%s", at[i].id);
        cr_expect_geq(r.found[CHECKS + at[i].slot].count, 1, "%s", at[i].id);
        cr_expect_eq(r.found[CHECKS + at[i].slot].row, row);
        cr_expect_eq(r.found[CHECKS + at[i].slot].col, col);
        free(p.after);
        closed(p.c);
    }
}

Test(verdict, one_nan_fails_and_a_swallowed_nan_fails)
{
    struct planted p = plant("rmsnorm(M=5,d=128,out=f32)");
    const uint32_t nan_code = UINT32_C(0x7fc00000), one = UINT32_C(0x3f800000);
    memcpy(code_of(&p, RMS_OUT, 2, 77), &nan_code, 4);
    struct result r = judged(p.c, p.after);
    cr_expect_eq(r.outcome, FAIL);
    cr_expect_eq(r.found[CHECK_VALUE].count, 1);
    free(p.after);
    closed(p.c);
    p = plant("rmsnorm(M=5,d=128,out=f32,fill=specials)"); /* row 1 is NaN (RMS-9) */
    memcpy(code_of(&p, RMS_OUT, 1, 0), &one, 4);
    r = judged(p.c, p.after);
    cr_expect_eq(r.found[CHECK_VALUE].count, 1);
    free(p.after);
    closed(p.c);
}

Test(verdict, zeros_fail) /* T06, T13: outputs smaller than a tolerance */
{
    struct planted p = plant("rmsnorm(M=5,d=4096,fill=tiny)");
    memset(p.after + p.c->slot[RMS_OUT].offset, 0, p.c->slot[RMS_OUT].bytes);
    const struct result r = judged(p.c, p.after);
    cr_expect_eq(r.outcome, FAIL);
    cr_expect_gt(r.found[CHECK_VALUE].count, 5 * 4096 * 9 / 10);
    free(p.after);
    closed(p.c);
}

Test(verdict, a_consistent_but_wrong_scale_fails) /* twice the scale, codes to match: dequantised it is the same */
{
    struct planted p = plant("cast(M=4,d=128,x=f32)");
    for (int64_t row = 0; row < 4; row++) {
        for (int64_t g = 0; g < 4; g++)
            *code_of(&p, CAST_SF, row, g) += 1;
        for (int64_t i = 0; i < 128; i++) {
            uint8_t *const code = code_of(&p, CAST_OUT, row, i);
            *code = (uint8_t) fmt_code(LC_E4M3, fmt_load(LC_E4M3, *code) / 2);
        }
    }
    const struct result r = judged(p.c, p.after);
    cr_expect_eq(r.found[CHECKS + CAST_SF].count, 16);
    cr_expect_gt(r.found[CHECKS + CAST_OUT].count, 400);
    free(p.after);
    closed(p.c);
}

Test(verdict, vacuity_is_an_alarm)
{
    struct call *const c = opened("cast(M=4,d=128,x=f32)");
    for (int64_t row = 0; row < 4; row++)
        for (int64_t i = 0; i < 128; i++)
            put(c, CAST_X, row, i, 0);
    uint8_t *const after = nominal(c);
    const struct result r = judged(c, after);
    cr_expect_eq(r.outcome, VACUOUS, "%s", r.msg);
    free(after);
    closed(c);
}
