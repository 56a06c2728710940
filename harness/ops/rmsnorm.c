/* SPDX-License-Identifier: Apache-2.0 */
/* rmsnorm: RMSNorm with residual and optional E4M3 cast (docs/contract.md RMS, CAST, SF). */
#include <math.h>

#include "../../ref/args.h"
#include "../case.h"
#include "../scales.h"

static int rank_of(const struct kase *k)
{
    return kase_is(k, "rank", "3") ? 3 : 2;
}

static const char *drop(struct kase *k, const char *axis, const char *value, const char *reason, const char *why)
{
    if (kase_is(k, axis, value))
        return why;
    kase_set(k, axis, value);
    return why ? why : reason;
}

static const char *settle(struct kase *k)
{
    const char *why = NULL;
    static const char *const strides[] = { "xs", "rs", "os", "ros", NULL };
    if (!kase_is(k, "bad", "-")) {
        struct kase plain; /* a refusal is one good call, spoiled: every operand takes part */
        kase_default(&plain, k->op);
        plain.i[axis_of(k->op, "bad")] = kase_int(k, "bad");
        kase_set(&plain, "M", "3");
        kase_set(&plain, "res", "1");
        kase_set(&plain, "out", "e4m3");
        kase_set(&plain, "bf16", "1");
        kase_set(&plain, "utccp", "1");
        *k = plain;
        return "bad stands alone: one good call, spoiled";
    }
    for (int i = 0; strides[i]; i++)
        if (kase_int(k, strides[i]) < 0 || kase_int(k, strides[i]) % 16)
            why = drop(k, strides[i], "0", "row strides are multiples of 16 elements (RMS-8)", why);
    if (kase_int(k, "bs") < 0 || kase_int(k, "bs") % 16)
        why = drop(k, "bs", "0", "bs is a multiple of 16 (RMS-8)", why);
    if (kase_int(k, "d") < 1)
        why = drop(k, "d", "128", "d is at least 1 (RMS-9)", why);
    if (kase_int(k, "M") < 0)
        why = drop(k, "M", "17", "M is not negative", why);
    if (kase_int(k, "B") < 0)
        why = drop(k, "B", "2", "B is not negative", why);
    if (rank_of(k) == 2) {
        why = drop(k, "B", "2", "B needs rank=3", why);
        why = drop(k, "bs", "0", "bs needs rank=3", why);
    }
    if (!kase_int(k, "res")) {
        why = drop(k, "rs", "0", "rs needs res=1", why);
        why = drop(k, "ros", "0", "ros needs res=1", why);
        why = drop(k, "alias", "0", "alias needs res=1", why);
    }
    if (kase_int(k, "alias"))
        why = drop(k, "rs", "0", "alias=1: the residual is x's own view", why);
    if (!(kase_real(k, "eps") > 0) || !isfinite(kase_real(k, "eps")))
        why = drop(k, "eps", "1e-6", "eps is positive and finite (RMS-12)", why);
    if (!isfinite(kase_real(k, "scale")))
        why = drop(k, "scale", "1", "scale is finite (RMS-12)", why);
    if (kase_is(k, "out", "e4m3")) {
        why = drop(k, "os", "0", "codes are contiguous (CAST-10)", why);
        const char *const scales = scales_settle(k, kase_int(k, "d"), rank_of(k) == 3 ? kase_int(k, "B") : 1);
        why = why ? why : scales;
    } else {
        struct kase before = *k;
        scales_drop(k);
        why = why || kase_same(&before, k) ? why : "G, sf, round, utccp need out=e4m3";
    }
    if (kase_int(k, "off") && kase_int(k, "res") && kase_int(k, "bf16") && kase_is(k, "out", "e4m3") && kase_int(k, "utccp"))
        why = drop(k, "off", "0", "off=1 needs an operand that is switched off", why);
    if (kase_is(k, "fill", "ties") || kase_is(k, "fill", "pow2-edges")) { /* make rstd a power of two */
        why = drop(k, "eps", kase_is(k, "fill", "ties") ? "1.75" : "0.75", "fill=ties needs eps=1.75, pow2-edges eps=0.75", why);
        why = drop(k, "scale", "1", "fill=ties and pow2-edges need scale=1", why);
        why = drop(k, "alias", "0", "fill=ties and pow2-edges set the residual", why);
    }
    if (kase_real(k, "scale") == 0)
        why = drop(k, "fill", "zero-rows", "scale=0 makes every y zero: fill=zero-rows", why);
    if (kase_is(k, "fill", "brink")) {
        why = drop(k, "alias", "0", "fill=brink sets the residual", why);
    }
    return why;
}

/* A (B, M, d) tensor with `extra` elements between rows, rounded up so that strides are multiples of 16 (RMS-8). */
static void rows_tensor(struct call *c, int slot, const char *name, enum lc_dtype dtype, enum dir dir, int64_t extra, int dense)
{
    const struct kase *const k = &c->id;
    const int rank = rank_of(k), skip = 3 - rank;
    const int64_t b = rank == 3 ? kase_int(k, "B") : 1, m = kase_int(k, "M"), d = kase_int(k, "d");
    const int64_t row = dense ? d : round_up(d, 16) + extra, bs = dense || rank == 2 ? 0 : kase_int(k, "bs");
    const int64_t shape[3] = { b, m, d }, stride[3] = { m * row + bs, row, 1 };
    const int64_t storage[3] = { b, m, row }, gaps[2] = { b, m * row + bs };
    call_tensor(c, slot, name, dtype, dir, rank, shape + skip, stride + skip, bs ? 2 : rank, bs ? gaps : storage + skip);
}

static void build(struct call *c)
{
    const struct kase *const k = &c->id;
    const int res = kase_int(k, "res") != 0, bf16 = kase_int(k, "bf16") != 0, off = kase_int(k, "off") != 0;
    const int cast = kase_is(k, "out", "e4m3");
    const int64_t d = kase_int(k, "d"), one = 1;
    rows_tensor(c, RMS_X, "x", LC_BF16, DIR_IN, kase_int(k, "xs"), 0);
    if (res || off) {
        rows_tensor(c, RMS_RESIDUAL, "residual", LC_BF16, DIR_IN, kase_int(k, kase_int(k, "alias") ? "xs" : "rs"), 0);
        rows_tensor(c, RMS_RESIDUAL_OUT, "residual_out", LC_BF16, DIR_OUT, kase_int(k, "ros"), 0);
        c->slot[RMS_RESIDUAL].on = c->slot[RMS_RESIDUAL_OUT].on = res;
        if (kase_int(k, "alias"))
            c->slot[RMS_RESIDUAL].same_as = RMS_X;
    }
    call_tensor(c, RMS_WEIGHT, "weight", kase_is(k, "w", "f32") ? LC_F32 : LC_BF16, DIR_IN, 1, &d, &one, 1, &d);
    rows_tensor(c, RMS_OUT, "out",
                cast                       ? LC_E4M3
                : kase_is(k, "out", "f32") ? LC_F32
                                           : LC_BF16,
                DIR_OUT, kase_int(k, "os"), cast);
    if (bf16 || off) {
        rows_tensor(c, RMS_BF16, "bf16", LC_BF16, DIR_OUT, kase_int(k, "os"), 0);
        c->slot[RMS_BF16].on = bf16;
        if (bf16 && kase_is(k, "out", "bf16"))
            c->slot[RMS_BF16].same_as = RMS_OUT; /* RMS-7 */
    }
    if (cast || off)
        scales_build(c, RMS_SF, cast);
    call_scalar(c, "eps", 0, kase_real(k, "eps"));
    call_scalar(c, "out_scale", 0, kase_real(k, "scale"));
    call_scalar(c, "residual", res, 0);
    call_scalar(c, "return_bf16", bf16, 0);
    call_scalar(c, "cast", cast, 0);
    call_bases(c);
}

static const struct lc_tensor *const *tensors_of(const union op_args *args)
{
    return args->rmsnorm.t;
}

static int64_t rows(const union op_args *args)
{
    return args->rmsnorm.batch * args->rmsnorm.m;
}

static int64_t cols(const union op_args *args, int tensor)
{
    return tensor == RMS_SF || tensor == RMS_EXTRA_SF ? args->rmsnorm.sf.groups : args->rmsnorm.d;
}

static int64_t place(const union op_args *args, int tensor, int64_t row, int64_t col)
{
    const struct rmsnorm_args *const a = &args->rmsnorm;
    const struct lc_tensor *const t = a->t[tensor];
    if (tensor == RMS_SF)
        return sf_place(&a->sf, a->m, row, col);
    if (tensor == RMS_EXTRA_SF)
        return sf_extra_place(&a->sf, t, row, col);
    if (tensor == RMS_WEIGHT)
        return row == 0 ? col * fmt_bytes((enum lc_dtype) t->dtype) : -1;
    return (arg_row(t, row) + col) * fmt_bytes((enum lc_dtype) t->dtype);
}

/* ---- fills ---- */

typedef double (*draw_fn)(const struct call *c, int slot, int64_t row, int64_t col, int64_t index);

static int64_t width(const struct call *c)
{
    return c->args.rmsnorm.d;
}

static int has_residual(const struct call *c)
{
    return c->args.rmsnorm.t[RMS_RESIDUAL] && c->slot[RMS_RESIDUAL].same_as < 0;
}

static void fill_weight(struct call *c, int lo, int hi) /* around 1, or any sign with exponents lo..hi-1 */
{
    for (int64_t i = 0; i < width(c); i++)
        put(c, RMS_WEIGHT, 0, i, lo == hi ? 1 + draw_normal(c, RMS_WEIGHT, i) / 4 : draw_log(c, RMS_WEIGHT, i, lo, hi));
}

static void fill_rows(struct call *c, draw_fn draw)
{
    for (int64_t row = 0; row < rows(&c->args); row++)
        for (int64_t col = 0; col < width(c); col++) {
            put(c, RMS_X, row, col, draw(c, RMS_X, row, col, row * width(c) + col));
            if (has_residual(c))
                put(c, RMS_RESIDUAL, row, col, draw(c, RMS_RESIDUAL, row, col, row * width(c) + col));
        }
}

static double normal(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    (void) row, (void) col;
    return draw_normal(c, slot, i);
}

static double logu(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    (void) row, (void) col;
    return draw_log(c, slot, i, -8, 8);
}

static double outlier(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    (void) row;
    return draw_normal(c, slot, i) * (col % 64 == 5 ? 1024 : 1);
}

static double tiny(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    (void) col; /* mean squares around eps = 1e-6 and far below */
    return draw_normal(c, slot, i) * ldexp(1, -8 - (int) (row % 6));
}

static double huge(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    (void) col; /* 2^14 elements of 2^52 stay below sum r^2 = 2^127 (RMS-12) */
    return draw_normal(c, slot, i) * ldexp(1, 46 + (int) (row % 5));
}

static double positive(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    (void) row, (void) col;
    return fabs(draw_normal(c, slot, i)) + 0.5;
}

static double zero_rows(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    (void) col;
    if (row % 3 == 0)
        return draw_bits(c, RMS_X, i) & 1 ? -0.0 : 0; /* the residual's sign too: -0 + -0 = -0 */
    return draw_normal(c, slot, i);
}

static double exact(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    (void) row, (void) col;
    return (double) (draw_bits(c, slot, i) % 9) - 4;
}

static double sentinel(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    const int64_t last = rows(&c->args) - 1;
    const int large = row == 0 || row == last || col == width(c) - 1;
    return draw_normal(c, slot, i) * (large ? 4096 : 1);
}

static double mixed(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    return draw_normal(c, slot, i) * ldexp(1, (int) ((row * 5 + col / 16 * 3) % 16) - 8);
}

static double specials(const struct call *c, int slot, int64_t row, int64_t col, int64_t i)
{
    const uint32_t bits = draw_bits(c, slot, i);
    if (row % 5 == 1 && slot == RMS_X && col == (int64_t) (draw_bits(c, slot, row << 24) % (uint32_t) width(c)))
        return NAN;
    if (row % 5 == 3 && slot == RMS_X && col % 50 == 7)
        return bits & 1 ? INFINITY : -INFINITY;
    if (row % 5 == 4)
        return bits & 1 ? -0.0 : ldexp(bits & 2 ? -1.0 : 1.0, -133 + (int) (bits >> 8) % 8);
    return draw_normal(c, slot, i);
}

/* clang-format off */
#define FILL(name, lo, hi) static void make_##name(struct call *c) { fill_weight(c, lo, hi); fill_rows(c, name); }
FILL(normal, 0, 0) FILL(logu, -2, 3) FILL(outlier, 0, 0) FILL(tiny, 0, 0) FILL(huge, 0, 0) FILL(positive, 0, 0)
FILL(zero_rows, 0, 0) FILL(exact, -1, 2) FILL(sentinel, 0, 0) FILL(mixed, 0, 0) FILL(specials, 0, 0)
    /* clang-format on */

    /* r of one magnitude, so that s is exact and rstd a power of two; x + residual is r, often by a tie (RMS-1). */
    static void fill_constant(struct call *c, double magnitude)
{
    for (int64_t row = 0; row < rows(&c->args); row++)
        for (int64_t col = 0; col < width(c); col++) {
            const uint32_t bits = draw_bits(c, RMS_X, row * width(c) + col);
            const double r = bits & 1 ? -magnitude : magnitude;
            const double half_ulp = r * ldexp(1, -8) / (magnitude > 1 ? magnitude : 1); /* of r: a tie, and r is even */
            put(c, RMS_X, row, col, r);
            if (has_residual(c))
                put(c, RMS_RESIDUAL, row, col, bits & 2 ? half_ulp : bits & 4 ? -half_ulp / 4 : 0);
        }
}

/* |r| = 1.5, s + eps = 4, rstd = 1/2: y = 0.75 w is exact, and a BF16 midpoint where w's significand is odd and below 171; an f32
 * w is also one ulp beside. */
static void make_ties(struct call *c)
{
    fill_constant(c, 1.5);
    for (int64_t i = 0; i < width(c); i++) {
        const uint32_t bits = draw_bits(c, RMS_WEIGHT, i);
        double w = ldexp(129 + 2 * (double) (bits % 21), -7 + (int) (bits >> 8) % 6);
        if (c->slot[RMS_WEIGHT].fmt == LC_F32)
            w *= 1 + ((int) (bits >> 16 & 3) - 1) % 2 * ldexp(1, -23);
        put(c, RMS_WEIGHT, 0, i, w);
    }
}

/* |r| = 1/2, s + eps = 1, rstd = 1: y = w/2; in each group of 32 the largest is 448 * 2^k or up to two BF16 ulps away. */
static void make_pow2_edges(struct call *c)
{
    fill_constant(c, 0.5);
    for (int64_t i = 0; i < width(c); i++) {
        const uint32_t bits = draw_bits(c, RMS_WEIGHT, i), group = draw_bits(c, RMS_WEIGHT, (i / 32 << 24) + 1);
        const int k = (int) (group % 16) - 8;
        const double edge = 896 + ((int) (group >> 8) % 5 - 2) * ldexp(1, 9 - 7);
        put(c, RMS_WEIGHT, 0, i, ldexp(i % 32 == (group >> 16) % 32 ? edge : (double) (bits % 512), k));
    }
}

static double r_of(const struct call *c, int64_t row, int64_t col)
{
    const double x = get(c, RMS_X, row, col);
    return has_residual(c) ? rn_bf16(x + get(c, RMS_RESIDUAL, row, col)) : x;
}

static double rstd_of(const struct call *c, int64_t row)
{
    double sum = 0;
    for (int64_t i = 0; i < width(c); i++)
        sum += r_of(c, row, i) * r_of(c, row, i);
    return rn_f32_rsqrt(rn_f32(rn_f32(sum / (double) width(c)) + c->args.rmsnorm.eps));
}

/* The w for which unit * w is a BF16 midpoint in [128, 256): solved for in f32; in BF16 the best of 128 midpoints. */
static double weight_at_midpoint(const struct call *c, double unit, uint32_t bits)
{
    double best = 0, off = 1;
    for (uint32_t k = 0; k < 128; k++) {
        const double midpoint = 128.5 + (bits + k) % 128;
        const double w = rn(c->slot[RMS_WEIGHT].fmt, midpoint / unit);
        if (fabs(w * unit / midpoint - 1) < off) {
            off = fabs(w * unit / midpoint - 1);
            best = w;
        }
        if (c->slot[RMS_WEIGHT].fmt == LC_F32)
            break;
    }
    return best;
}

/* Each block of 32 columns aims at one row: there y lands within the bound of a BF16 midpoint. One column of the block aims at
 * 449, the midpoint above 448: if y rounds up the scale doubles, so two scales are legal. */
static void make_brink(struct call *c)
{
    fill_rows(c, positive);
    for (int64_t i = 0; i < width(c); i++)
        put(c, RMS_WEIGHT, 0, i, 1);
    double unit_of_row = 0;
    for (int64_t col = 0; rows(&c->args) > 0 && col < width(c); col++) {
        const int64_t row = col / 32 % rows(&c->args);
        if (col % 32 == 0)
            unit_of_row = rstd_of(c, row) * c->args.rmsnorm.out_scale;
        const double unit = r_of(c, row, col) * unit_of_row;
        put(c, RMS_WEIGHT, 0, col, col % 32 == 3 ? 449 / unit : weight_at_midpoint(c, unit, draw_bits(c, RMS_WEIGHT, col)));
    }
}

/* ---- refusals (ERR-1) ---- */

static struct lc_tensor *t(struct call *c, int slot)
{
    return &c->slot[slot].t;
}

/* clang-format off */
static void x_rank(struct call *c) { t(c, RMS_X)->rank = 1; }
static void x_dtype(struct call *c) { t(c, RMS_X)->dtype = LC_I32; }
static void x_last(struct call *c) { t(c, RMS_X)->stride[1] = 2; }
static void x_stride(struct call *c) { t(c, RMS_X)->stride[0] = 136; }
static void x_null(struct call *c) { c->slot[RMS_X].miss = -1; }
static void x_base(struct call *c) { c->slot[RMS_X].miss = 1; }
static void x_d(struct call *c) { t(c, RMS_X)->shape[1] = 0; }
static void residual_shape(struct call *c) { t(c, RMS_RESIDUAL)->shape[0] = 2; }
static void residual_dtype(struct call *c) { t(c, RMS_RESIDUAL)->dtype = LC_I64; }
static void residual_stride(struct call *c) { t(c, RMS_RESIDUAL)->stride[0] = 129; }
static void residual_absent(struct call *c) { c->slot[RMS_RESIDUAL].listed = 0; }
static void residual_out_stride(struct call *c) { t(c, RMS_RESIDUAL_OUT)->stride[0] = 130; }
static void residual_out_alias(struct call *c) { c->slot[RMS_RESIDUAL_OUT].same_as = RMS_RESIDUAL; }
static void residual_out_x(struct call *c) { c->slot[RMS_RESIDUAL_OUT].same_as = RMS_X; }
static void residual_out_rows(struct call *c) { t(c, RMS_RESIDUAL_OUT)->stride[0] = 112; }
static void weight_shape(struct call *c) { t(c, RMS_WEIGHT)->shape[0] = 64; }
static void weight_dtype(struct call *c) { t(c, RMS_WEIGHT)->dtype = LC_E4M3; }
static void weight_stride(struct call *c) { t(c, RMS_WEIGHT)->stride[0] = 2; }
static void out_dtype(struct call *c) { t(c, RMS_OUT)->dtype = LC_UE8M0; }
static void out_shape(struct call *c) { t(c, RMS_OUT)->shape[0] = 4; }
static void out_alias(struct call *c) { c->slot[RMS_OUT].same_as = RMS_X; }
static void bf16_alias(struct call *c) { c->slot[RMS_BF16].same_as = RMS_RESIDUAL_OUT; }
static void bf16_absent(struct call *c) { c->slot[RMS_BF16].listed = 0; }
static void bf16_dtype(struct call *c) { t(c, RMS_BF16)->dtype = LC_E4M3; }
static void cast_2(struct call *c) { call_set_scalar(c, "cast", 2, 0); }
static void eps_0(struct call *c) { call_set_scalar(c, "eps", 0, 0); }
static void eps_negative(struct call *c) { call_set_scalar(c, "eps", 0, -1); }
static void eps_nan(struct call *c) { call_set_scalar(c, "eps", 0, NAN); }
static void scale_inf(struct call *c) { call_set_scalar(c, "out_scale", 0, INFINITY); }
static void group_20(struct call *c) { call_set_scalar(c, "group", 20, 0); }
static void packed_f32(struct call *c) { call_set_scalar(c, "round_sf", 0, 0); }
static void packed_groups(struct call *c) { call_set_scalar(c, "group", 64, 0); }
static void sf_base(struct call *c) { c->slot[RMS_SF].miss = 8; }
static void sf_absent(struct call *c) { c->slot[RMS_SF].listed = 0; }
static void sf_alias(struct call *c) { c->slot[RMS_SF].same_as = RMS_RESIDUAL_OUT; }
static void extra_rows(struct call *c) { t(c, RMS_EXTRA_SF)->stride[1] = 383; }
static void extra_absent(struct call *c) { c->slot[RMS_EXTRA_SF].listed = 0; }
/* clang-format on */

static const struct bad bads[] = {
    { "x-rank", "x", "RMS-8", "rank 1", x_rank },
    { "x-dtype", "x", "RMS-8", "dtype i32", x_dtype },
    { "x-last", "x", "RMS-8", "stride(-1) = 2", x_last },
    { "x-stride", "x", "RMS-8", "stride[0] = 136", x_stride },
    { "x-null", "x", "RMS-8", "NULL", x_null },
    { "x-base", "x", "RMS-8", "0x", x_base },
    { "x-d", "x", "RMS-9", "d = 0", x_d },
    { "residual-shape", "residual", "RMS-8", "shape[0] = 2", residual_shape },
    { "residual-dtype", "residual", "RMS-8", "dtype i64", residual_dtype },
    { "residual-stride", "residual", "RMS-8", "stride[0] = 129", residual_stride },
    { "residual-absent", "residual", "RMS-7", "not given", residual_absent },
    { "residual_out-stride", "residual_out", "RMS-8", "stride[0] = 130", residual_out_stride },
    { "residual_out-alias", "residual_out", "RMS-2", "0x", residual_out_alias },
    { "residual_out-x", "residual_out", "RMS-2", "0x", residual_out_x },
    { "residual_out-rows", "residual_out", "RMS-2", "112", residual_out_rows },
    { "weight-shape", "weight", "RMS-5", "shape[0] = 64", weight_shape },
    { "weight-dtype", "weight", "RMS-5", "dtype e4m3", weight_dtype },
    { "weight-stride", "weight", "RMS-8", "stride[0] = 2", weight_stride },
    { "out-dtype", "out", "RMS-7", "dtype ue8m0", out_dtype },
    { "out-shape", "out", "RMS-8", "shape[0] = 4", out_shape },
    { "out-alias", "out", "RMS-2", "0x", out_alias },
    { "bf16-alias", "residual_out", "RMS-2", "0x", bf16_alias },
    { "bf16-absent", "bf16", "RMS-7", "not given", bf16_absent },
    { "bf16-dtype", "bf16", "RMS-8", "dtype e4m3", bf16_dtype },
    { "cast-2", "cast", "RMS-7", "2", cast_2 },
    { "eps-0", "eps", "RMS-12", "0", eps_0 },
    { "eps-negative", "eps", "RMS-12", "-1", eps_negative },
    { "eps-nan", "eps", "RMS-12", "nan", eps_nan },
    { "scale-inf", "out_scale", "RMS-12", "inf", scale_inf },
    { "group-20", "group", "CAST-10", "20", group_20 },
    { "packed-f32", "sf_packed", "SF-0", "1", packed_f32 },
    { "packed-groups", "x", "SF-3", "d = 128", packed_groups },
    { "sf-base", "sf", "SF-3", "0x", sf_base },
    { "sf-absent", "sf", "SF-0", "not given", sf_absent },
    { "sf-alias", "sf", "RMS-2", "0x", sf_alias },
    { "extra-rows", "extra_sf", "SF-4", "stride[1] = 383", extra_rows },
    { "extra-absent", "extra_sf", "SF-4", "not given", extra_absent },
    { NULL, NULL, NULL, NULL, NULL },
};

const struct op op_rmsnorm = {
    .name = "rmsnorm",
    .summary = "RMSNorm with BF16 residual add, FP32 statistics, optional E4M3 cast and BF16 second output",
    .source = "arXiv:1910.07467; TileKernels",
    .clauses = "RMS-1..9 RMS-11 RMS-12 CAST-1..7 CAST-10 SF-0..4 FMT-1..3 FMT-5 FMT-6 DET-1 DET-3 DET-4 ERR-1",
    .axes = {
        { "rank", "rank of x", "2|3", AXIS_NAME, 0 },
        { "B", "batch, rank 3", "2|1|3|0", AXIS_INT, 0 },
        { "M", "rows (tokens)", "17|0|1|2|3|4|64|130", AXIS_INT, 0 },
        { "d", "channels", "128|1|31|32|100|512|1000|3584|4096|7168", AXIS_INT, 0 },
        { "res", "residual and residual_out", "0|1", AXIS_INT, 0 },
        { "w", "dtype of the weight", "bf16|f32", AXIS_NAME, 0 },
        { "out", "dtype of out; e4m3: with the cast", "bf16|f32|e4m3", AXIS_NAME, 0 },
        { "bf16", "the BF16 second output (return_bf16)", "0|1", AXIS_INT, 0 },
        SCALE_AXES,
        { "eps", "added to the mean square", "1e-6|1e-5|1e-3", AXIS_REAL, 0 },
        { "scale", "out_scale", "1|-0.7|3|0", AXIS_REAL, 0 },
        { "xs", "elements by which x's row stride exceeds d, rounded up to 16", "0|16|48", AXIS_INT, 0 },
        { "rs", "the same of residual", "0|16|80", AXIS_INT, 0 },
        { "os", "the same of out and bf16", "0|32|112", AXIS_INT, 0 },
        { "ros", "the same of residual_out", "0|16|64", AXIS_INT, 0 },
        { "bs", "elements by which batch strides exceed M rows", "0|16|160", AXIS_INT, 0 },
        { "at", "bytes by which bases miss a 128-byte boundary, at least an element; -1: each operand another",
          "0|1|2|4|8|16|64|-1", AXIS_INT, 0 },
        { "alias", "1: residual is the same view as x (RMS-2)", "0|1", AXIS_INT, 0 },
        { "off", "1: operands that are switched off are listed, with a pointer in their place (RMS-11)", "0|1", AXIS_INT, 0 },
        { "fill", "the data", NULL, AXIS_NAME, 0 },
        { "seed", "of the data", "1", AXIS_INT, 1 },
        { "bad", "a violated precondition that must be refused (ERR-1)", NULL, AXIS_NAME, 1 },
    },
    .tensors = {
        { "x", "([B,] M, d)", "bf16", NULL, "input", DIR_IN },
        { "residual", "([B,] M, d)", "bf16", "res=1", "added to x in BF16 (RMS-1)", DIR_IN },
        { "weight", "(d)", "bf16 f32", NULL, "contiguous", DIR_IN },
        { "out", "([B,] M, d)", "bf16 f32 e4m3", NULL, "y, or the codes of its cast", DIR_OUT },
        { "bf16", "([B,] M, d)", "bf16", "bf16=1", "RN_bf16(y); the same storage as a BF16 out (RMS-7)", DIR_OUT },
        { "residual_out", "([B,] M, d)", "bf16", "res=1", "x + residual, not normalised (RMS-2)", DIR_OUT },
        { "sf", "([B,] M, d_s or d_s/4)", "f32 i32", "out=e4m3", "scales, SF-1..SF-3 or col-f32", DIR_OUT },
        { "extra_sf", "(M, d/128)", "i32", "utccp>0", "the same scales in SF-4", DIR_OUT },
    },
    .bounds = {
        { "out", "RMS-5", "RMS-3 gives 8u on s, half of it on y; fl(s + eps) 0.5u; RMS-4 4u; three f32 products 3u; the nominal "
          "s and rstd are rounded to f32, 2u more", "tests/bounds/rmsnorm.g", REF_RMSNORM_K },
        { "bf16", "RMS-6", "with the cast as out; else RN_bf16 of the out that was returned: bitwise", "tests/bounds/rmsnorm.g",
          REF_RMSNORM_K },
        { "residual_out", "RMS-2", "one rounding of an exact sum: bitwise", NULL, 0 },
        { "sf", "CAST-4", "a function of amax: bitwise where y_bf is given or unambiguous, else some admissible amax gives it",
          NULL, 0 },
        { "extra_sf", "SF-4", "the bytes of sf, placed elsewhere: bitwise", NULL, 0 },
    },
    .fills = {
        { "normal", "x, residual N(0,1), weight around 1", make_normal, 0 },
        { "logu", "any sign, exponents -8..7", make_logu, 0 },
        { "outlier", "every 64th channel 1024 times larger", make_outlier, 0 },
        { "tiny", "mean squares around eps and far below", make_tiny, 0 },
        { "huge", "up to 2^52", make_huge, 0 },
        { "positive", "all of one sign", make_positive, 0 },
        { "zero-rows", "every third row zero, of either sign", make_zero_rows, MAY_BE_ZERO },
        { "exact", "integers -4..4, sums without rounding", make_exact, 0 },
        { "ties", "y at BF16 midpoints and one ulp of w beside them, x + residual at ties", make_ties, 0 },
        { "brink", "y within its bound of a BF16 midpoint, amax on a scale step", make_brink, 0 },
        { "pow2-edges", "amax of a group of 32 is 448 * 2^k and up to two BF16 ulps away", make_pow2_edges, 0 },
        { "sentinel", "first and last row and last channel the largest", make_sentinel, 0 },
        { "mixed", "scales that differ between neighbours in rows and columns", make_mixed, 0 },
        { "specials", "NaN, Inf, -0, subnormals in some rows", make_specials, 0 },
    },
    .may_refuse_bases = 1,
    .bads = bads,
    .settle = settle,
    .build = build,
    .check = ref_rmsnorm_check,
    .tensors_of = tensors_of,
    .rows = rows,
    .cols = cols,
    .place = place,
    .ref = ref_rmsnorm_row,
};
