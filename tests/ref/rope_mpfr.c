/* SPDX-License-Identifier: Apache-2.0 */
/* rope_mpfr [full]: ref/wide.c and the tables of ref/rope_table.c against MPFR, bitwise. MPFR rounds to 24 or 53 bits directly,
 * so that nothing is rounded twice. Without `full` rows are sampled and 10^5 angles drawn; with it every entry of three real
 * tables and 10^7 angles. It also prints, per decade of positions, how far the contract's f32 angle is from the real one
 * (ROT-2, P15): reported, never failed. */
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"
#include "wide.h"

static long passed, failed;

static void check(double got, mpfr_srcptr want, const char *what, double x, double y)
{
    const double w = mpfr_get_d(want, MPFR_RNDN);
    if (got == w) {
        passed++;
        return;
    }
    if (failed++ < 20)
        printf("FAILED  %s(%a, %a) = %a, MPFR %a\n", what, x, y, got, w);
}

static uint64_t random_bits(void) /* splitmix64 */
{
    static uint64_t state = 1;
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static double random_f32(int lo, int hi) /* exponent lo .. hi - 1 */
{
    const uint64_t bits = random_bits();
    return ldexp((double) (bits >> 41 | 1u << 23), lo - 23 + (int) (bits % (uint64_t) (hi - lo)));
}

/* ---- ref/wide.c ---- */

static void angle(double x)
{
    mpfr_t a, c, s;
    mpfr_inits2(24, a, c, s, (mpfr_ptr) 0);
    mpfr_set_d(a, x, MPFR_RNDN);
    mpfr_sin_cos(s, c, a, MPFR_RNDN);
    check(rn_f32_sin(x), s, "rn_f32_sin", x, 0);
    check(rn_f32_cos(x), c, "rn_f32_cos", x, 0);
    check(wide_f32_sin(x), s, "wide_f32_sin", x, 0);
    check(wide_f32_cos(x), c, "wide_f32_cos", x, 0);
    mpfr_clears(a, c, s, (mpfr_ptr) 0);
}

static void angles(long n)
{
    for (long i = 0; i < n; i++)
        angle((i & 1 ? -1 : 1) * (i % 4 ? random_f32(-15, 24) : random_f32(0, 24)));
    for (long i = 0; i < n / 100; i++)
        angle(random_f32(-149 + 24, 128)); /* every size of f32 */
    for (int e = 0; e < 128; e++)
        for (int k = -2; k <= 2; k++) {
            float v = ldexpf(1, e);
            for (int j = abs(k); j > 0; j--)
                v = nextafterf(v, k < 0 ? 0 : HUGE_VALF);
            angle((double) v);
        }
    for (int k = 1; k < 100000; k++) /* next to multiples of pi/2, where one of the two is small */
        angle((double) (float) (k * 1.5707963267948966));
}

static void others(long n)
{
    mpfr_t a, b, f32, f64;
    mpfr_inits2(400, a, b, (mpfr_ptr) 0);
    mpfr_init2(f32, 24);
    mpfr_init2(f64, 53);
    for (long i = 0; i < n; i++) {
        const double x = random_f32(0, 60), y = (double) (float) ((double) (random_bits() >> 40) / (1 << 24));
        mpfr_set_d(a, x, MPFR_RNDN);
        mpfr_set_d(b, y, MPFR_RNDN);
        mpfr_pow(f32, a, b, MPFR_RNDN);
        check(rn_f32_pow(x, y), f32, "rn_f32_pow", x, y);
        check(wide_f32_pow(x, y), f32, "wide_f32_pow", x, y);
        const double z = random_f32(-40, 40);
        mpfr_set_d(a, z, MPFR_RNDN);
        mpfr_log(f64, a, MPFR_RNDN);
        check(rn_f64_log(z), f64, "rn_f64_log", z, 0);
        mpfr_const_pi(b, MPFR_RNDN);
        mpfr_mul_2ui(b, b, 1, MPFR_RNDN);
        mpfr_div(f32, b, a, MPFR_RNDN);
        check(rn_f32_two_pi_over(z), f32, "rn_f32_two_pi_over", z, 0);
        const double s = random_f32(-2, 8), orig = (double) (1 + (random_bits() >> 44)), d = (double) (4 + 2 * (i % 200));
        mpfr_mul_d(b, b, s, MPFR_RNDN);
        mpfr_d_div(b, orig, b, MPFR_RNDN);
        mpfr_log(b, b, MPFR_RNDN);
        mpfr_mul_d(b, b, d, MPFR_RNDN);
        mpfr_set_d(a, x, MPFR_RNDN);
        mpfr_log(a, a, MPFR_RNDN);
        mpfr_mul_2ui(a, a, 1, MPFR_RNDN);
        mpfr_div(f64, b, a, MPFR_RNDN);
        check(rn_f64_turns(d, orig, s, x), f64, "rn_f64_turns", s, x);
        const double base = random_f32(1, 30);
        mpfr_set_d(a, d, MPFR_RNDN);
        mpfr_div_d(a, a, d - 2, MPFR_RNDN);
        mpfr_set_d(b, s, MPFR_RNDN);
        mpfr_pow(b, b, a, MPFR_RNDN);
        mpfr_mul_d(f32, b, base, MPFR_RNDN);
        if (mpfr_cmp_d(f32, 1) > 0)
            check(rn_f32_ntk(base, s, (uint32_t) d), f32, "rn_f32_ntk", base, s);
    }
    mpfr_clears(a, b, f32, f64, (mpfr_ptr) 0);
}

/* ---- tables ---- */

static const struct lc_scalar plain[] = { { "rotary_dim", 64, 0 }, { "max_position", 131072, 0 }, { "base", 0, 10000 } };
static const struct lc_scalar yarn_40[] = { { "rotary_dim", 64, 0 }, { "max_position", 131072, 0 }, { "base", 0, 10000 },
                                            { "scaling", 3, 0 },     { "factor", 0, 40 },           { "orig", 4096, 0 } };
static const struct lc_scalar yarn_32[] = { { "rotary_dim", 64, 0 }, { "max_position", 131072, 0 }, { "base", 0, 150000 },
                                            { "scaling", 3, 0 },     { "factor", 0, 32 },           { "orig", 4096, 0 },
                                            { "truncate", 0, 0 } };

static void table(const char *name, const struct lc_scalar *scalars, uint32_t n, int64_t step)
{
    static union op_args args;
    static struct iv inv[REF_ROPE_MOST], entry[2 * REF_ROPE_MOST];
    static const struct ref_got nobody;
    struct lc_tensor tensor = { "table", NULL, LC_F32, 2, { 0 }, { 0 } };
    const struct lc_call call = { .scalars = scalars, .n_scalars = n };
    struct ref_want want = { .at = { inv, entry } };
    mpfr_t a, v, s;
    const long before = passed;
    if (ref_rope_table_plan(&call, &args)) {
        failed++;
        printf("FAILED  %s: refused\n", name);
        return;
    }
    struct rope_table_args *const r = &args.rope_table;
    r->t[ROT_TABLE] = &tensor;
    mpfr_inits2(24, a, v, s, (mpfr_ptr) 0);
    for (int64_t row = 0; row < r->rows; row += row + step < r->rows || row == r->rows - 1 ? step : r->rows - 1 - row) {
        ref_rope_table_row(&args, row, &nobody, &want);
        for (int64_t i = 0; i < r->n; i++) {
            mpfr_set_si(a, (long) row, MPFR_RNDN);                   /* fl(pos) */
            mpfr_mul_d(a, a, (double) r->inv_freq[0][i], MPFR_RNDN); /* ROT-2 */
            mpfr_sin_cos(s, v, a, MPFR_RNDN);                        /* ROT-3 */
            mpfr_mul_d(s, s, r->mscale, MPFR_RNDN);
            mpfr_mul_d(v, v, r->mscale, MPFR_RNDN);
            check(entry[i].v, v, name, (double) row, (double) i);
            check(entry[r->n + i].v, s, name, (double) row, (double) i);
        }
    }
    mpfr_clears(a, v, s, (mpfr_ptr) 0);
    printf("%-36s %ld entries\n", name, passed - before);
}

/* |fl(fl(pos) inv_freq) - pos base^(-2i/d)|, the largest over i, and of cos that it makes. */
static void distance(double base)
{
    static union op_args args;
    const struct lc_scalar scalars[] = { { "rotary_dim", 64, 0 }, { "max_position", 16777216, 0 }, { "base", 0, base } };
    const struct lc_call call = { .scalars = scalars, .n_scalars = 3 };
    if (ref_rope_table_plan(&call, &args)) {
        failed++;
        return;
    }
    const struct rope_table_args *const r = &args.rope_table;
    printf("angle of ROT-2 against the real one, base %g, rotary_dim 64:\n", base);
    for (long from = 1; from < 16777216; from *= 10) {
        double most = 0, root = 0, count = 0;
        const long to = from * 10 < 16777216 ? from * 10 : 16777216, step = to / 2000 + 1;
        for (long pos = from; pos < to; pos += step)
            for (int64_t i = 0; i < r->n; i++) {
                const long double real = (long double) pos * powl((long double) base, -2.0L * (long double) i / 64.0L);
                const double angle = rn_f32(rn_f32((double) pos) * (double) r->inv_freq[0][i]);
                const double off = (double) fabsl((long double) angle - real);
                most = off > most ? off : most;
                root += off * off;
                count++;
            }
        printf("  positions %8ld .. %8ld: at most %.2e rad, root mean square %.2e\n", from, to - 1, most, sqrt(root / count));
    }
}

int main(int argc, char **argv)
{
    const int full = argc > 1 && !strcmp(argv[1], "full");
    angles(full ? 10000000 : 100000);
    printf("angles: %ld\n", passed);
    others(full ? 1000000 : 20000);
    table("rotary 64, base 10000", plain, 3, full ? 1 : 257);
    table("YaRN 40 over 4096", yarn_40, 6, full ? 1 : 257);
    table("base 150000, YaRN 32, not truncated", yarn_32, 7, full ? 1 : 257);
    distance(10000);
    distance(150000);
    mpfr_free_cache();
    printf("%ld passed, %ld failed\n", passed, failed);
    return failed || !passed;
}
