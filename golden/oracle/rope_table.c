/* SPDX-License-Identifier: Apache-2.0 */
/* ROT-1..7, YARN-1..6. Real arithmetic at 320 bits, of which the largest argument (2^128) leaves 190; each rounding that the
 * contract names is one call. */
#include "oracle.h"

#include <math.h>
#include <string.h>

enum { BITS = 320, MOST = 512 };
enum { NONE, LINEAR, NTK, YARN };

struct rope {
    int64_t dim, rows, scaling, orig, truncate, every, n;
    double base, factor, fast, slow, ext, attn, m, all_dim, threshold;
    double low, high, mscale;
    double inv_freq[MOST];
};

static double f32_of(mpfr_srcptr v)
{
    return num_round(TYPE_F32, v, MPFR_RNDN);
}

/* b^e, and the real that it is */
static void power(mpfr_ptr out, const double b, mpfr_srcptr e)
{
    MPFR_DECL_INIT(t, BITS);
    mpfr_set_d(t, b, MPFR_RNDN);
    mpfr_pow(out, t, e, MPFR_RNDN);
}

/* ---- frequencies ---- */

static double times(const double a, const double b)
{
    return num_mul(TYPE_F32, a, b);
}

static double over(const double a, const double b)
{
    return num_div(TYPE_F32, a, b);
}

static double ramp_of(const struct rope *const p, const int64_t i) /* YARN-2 */
{
    const double from = num_add(TYPE_F32, (double) i, -num_narrow(TYPE_F32, p->low));
    const double ramp = over(from, num_narrow(TYPE_F32, p->high - p->low));
    return ramp < 0.0 ? 0.0 : ramp > 1.0 ? 1.0 : ramp;
}

static double frequency(const struct rope *const p, const int64_t i)
{
    MPFR_DECL_INIT(e, BITS);
    MPFR_DECL_INIT(v, BITS);

    mpfr_set_d(e, over((double) (2 * i), (double) p->dim), MPFR_RNDN);
    power(v, p->base, e);

    const double p_i = f32_of(v), plain = over(1.0, p_i); /* ROT-1 */

    if (p->scaling == LINEAR)
        return over(1.0, times(p->factor, p_i)); /* ROT-7 */
    if (p->scaling != YARN)
        return plain;

    const double lambda = times(num_add(TYPE_F32, 1.0, -ramp_of(p, i)), p->ext);
    const double scaled = over(1.0, times(p->factor, p_i));

    return num_add(TYPE_F32, times(scaled, num_add(TYPE_F32, 1.0, -lambda)), times(plain, lambda)); /* YARN-3 */
}

static double turns(const struct rope *const p, const double rot) /* YARN-1, one rounding to double */
{
    MPFR_DECL_INIT(a, BITS);
    MPFR_DECL_INIT(b, BITS);

    mpfr_const_pi(a, MPFR_RNDN);
    mpfr_mul_2ui(a, a, 1, MPFR_RNDN);
    mpfr_mul_d(a, a, rot, MPFR_RNDN);
    mpfr_si_div(a, (long) p->orig, a, MPFR_RNDN);
    mpfr_log(a, a, MPFR_RNDN);
    mpfr_mul_si(a, a, (long) p->dim, MPFR_RNDN);
    mpfr_set_d(b, p->base, MPFR_RNDN);
    mpfr_log(b, b, MPFR_RNDN);
    mpfr_mul_2ui(b, b, 1, MPFR_RNDN);
    mpfr_div(a, a, b, MPFR_RNDN);
    return mpfr_get_d(a, MPFR_RNDN);
}

static double magnitude(const double s, const double m) /* YARN-4 */
{
    MPFR_DECL_INIT(t, BITS);

    if (s <= 1.0)
        return 1.0;
    mpfr_set_d(t, s, MPFR_RNDN);
    mpfr_log(t, t, MPFR_RNDN);
    return 0.1 * m * mpfr_get_d(t, MPFR_RNDN) + 1.0;
}

static void scale_yarn(struct rope *const p)
{
    p->low = turns(p, p->fast);
    p->high = turns(p, p->slow);
    if (p->truncate) {
        p->low = floor(p->low);
        p->high = ceil(p->high);
    }
    p->low = fmax(p->low, 0.0);
    p->high = fmin(p->high, (double) (p->dim - 1));
    if (p->low == p->high)
        p->high += 0.001;
    p->mscale = num_narrow(TYPE_F32, magnitude(p->factor, p->m) / magnitude(p->factor, p->all_dim) * p->attn);
}

static void scale_ntk(struct rope *const p) /* ROT-7 */
{
    MPFR_DECL_INIT(e, BITS);
    MPFR_DECL_INIT(v, BITS);

    mpfr_set_si(e, (long) p->dim, MPFR_RNDN);
    mpfr_div_si(e, e, (long) p->dim - 2, MPFR_RNDN);
    power(v, p->factor, e);
    mpfr_mul_d(v, v, p->base, MPFR_RNDN);
    p->base = f32_of(v);
}

static int prune(struct rope *const p, struct why *const why) /* YARN-5 */
{
    MPFR_DECL_INIT(most, BITS);
    int64_t first = 0, kept = 0;

    for (int64_t i = 1; i < p->n; i++)
        if (p->inv_freq[i] > p->inv_freq[i - 1])
            return refuse(why, "inv_freq increases at %lld (YARN-5)", (long long) i);
    if (p->threshold > 0.0) {
        mpfr_const_pi(most, MPFR_RNDN);
        mpfr_mul_2ui(most, most, 1, MPFR_RNDN);
        mpfr_div_d(most, most, p->threshold, MPFR_RNDN);
        while (first < p->n && p->inv_freq[first] > f32_of(most))
            first++;
        if (first == p->n)
            return refuse(why, "no inv_freq is at most 2 pi / T (YARN-5)");
    }
    for (int64_t i = first; i < p->n; i += p->every)
        p->inv_freq[kept++] = p->inv_freq[i];
    p->n = kept;
    return 0;
}

/* ---- the table ---- */

static void fill_row(const struct rope *const p, const int64_t row, struct tensor *const table)
{
    MPFR_DECL_INIT(angle, BITS);
    MPFR_DECL_INIT(c, BITS);
    MPFR_DECL_INIT(s, BITS);

    for (int64_t i = 0; i < p->n; i++) {
        mpfr_set_d(angle, times(num_narrow(TYPE_F32, (double) row), p->inv_freq[i]), MPFR_RNDN); /* ROT-2 */
        mpfr_sin_cos(s, c, angle, MPFR_RNDN);
        const double cosine = times(f32_of(c), p->mscale), sine = times(f32_of(s), p->mscale); /* ROT-3 */
        view_store(table, 0, row, i, num_narrow(table->type, cosine));                         /* ROT-4, ROT-6 */
        view_store(table, 0, row, p->n + i, num_narrow(table->type, sine));
    }
}

/* ---- the call ---- */

static int bind(struct rope *const p, const struct test_case *const c, struct why *const why)
{
    const struct {
        const char *name;
        int64_t least, most, *to;
    } counts[] = {
        { "rotary_dim", 2, 2 * MOST, &p->dim }, { "max_position", 1, INT32_MAX, &p->rows },
        { "scaling", NONE, YARN, &p->scaling }, { "orig", 1, INT32_MAX, &p->orig },
        { "truncate", 0, 1, &p->truncate },     { "rope_freq_sample_interval", 1, INT32_MAX, &p->every },
    };
    const struct {
        const char *name;
        double *to;
    } reals[] = {
        { "base", &p->base },
        { "factor", &p->factor },
        { "beta_fast", &p->fast },
        { "beta_slow", &p->slow },
        { "extrapolation_factor", &p->ext },
        { "attn_factor", &p->attn },
        { "mscale", &p->m },
        { "mscale_all_dim", &p->all_dim },
        { "high_freq_cycle_threshold", &p->threshold },
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (find_count(c, counts[i].name, counts[i].least, counts[i].most, counts[i].to, why) != 0)
            return -1;
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        if (find_real(c, reals[i].name, reals[i].to, why) != 0)
            return -1;
        *reals[i].to = num_narrow(TYPE_F32, *reals[i].to);
        if (!isfinite(*reals[i].to))
            return refuse(why, "%s is not finite in f32", reals[i].name);
    }
    if (p->dim % 2 != 0)
        return refuse(why, "rotary_dim is odd (ROT-1)");
    if (!(p->base > 1.0) || !(p->factor > 0.0) || !(p->fast > 0.0) || !(p->slow > 0.0))
        return refuse(why, "base is above 1; factor, beta_fast and beta_slow are positive (ROT-1, YARN-1)");
    return 0;
}

/* A contiguous output of this shape, cleared. */
static struct tensor *bind_output(const struct test_case *const c, const char *const name, const int64_t rows,
                                  const int64_t width, struct why *const why)
{
    struct tensor *const t = find_tensor(c, name, 1, why);

    if (t == NULL)
        return NULL;
    if (!dims_are(t->shape, t->rank, 1, rows, width) || t->stride[t->rank - 1] != 1 || (rows > 1 && t->stride[0] != width)) {
        refuse(why, "%s is not contiguous (%lld, %lld) (ROT-4)", name, (long long) rows, (long long) width);
        return NULL;
    }
    memset(t->data, 0, t->count * type_size(t->type));
    return t;
}

int oracle_rope_table(struct test_case *const c, struct why *const why)
{
    struct rope p;
    int has_inv_freq = 0;

    memset(&p, 0, sizeof p);
    if (bind(&p, c, why) != 0)
        return -1;
    p.mscale = 1.0;
    p.n = p.dim / 2;
    if (p.scaling == NTK)
        scale_ntk(&p);
    if (p.scaling == YARN)
        scale_yarn(&p);
    for (int64_t i = 0; i < p.n; i++)
        p.inv_freq[i] = frequency(&p, i);
    if ((p.threshold > 0.0 || p.every > 1) && prune(&p, why) != 0)
        return -1;

    for (size_t i = 0; i < c->count; i++)
        has_inv_freq = has_inv_freq || strcmp(c->tensor[i].name, "inv_freq") == 0;
    struct tensor *const inv_freq = has_inv_freq ? bind_output(c, "inv_freq", 1, p.n, why) : NULL;
    struct tensor *const table = bind_output(c, "table", p.rows, 2 * p.n, why);
    if (table == NULL || (has_inv_freq && inv_freq == NULL))
        return -1;
    if (table->type != TYPE_F32 && table->type != TYPE_BF16)
        return refuse(why, "table is %s, neither f32 nor bf16 (ROT-6)", type_name(table->type));
    for (int64_t i = 0; has_inv_freq && i < p.n; i++)
        view_store(inv_freq, 0, 0, i, p.inv_freq[i]);
    for (int64_t row = 0; row < p.rows; row++)
        fill_row(&p, row, table);
    return 0;
}
