/* SPDX-License-Identifier: Apache-2.0 */
/* What the CPU kernels share: conversions on the bits of an f32, a row in chunks, where its scales lie.
 *
 * Nothing here comes from ref/num.c or ref/iv.c, and it works another way (integer bits, f32 arithmetic):
 * a fault in one of the two shows against the other. Loads and stores go through memcpy, so that any base
 * address will do; compilers turn them into plain, vectorised moves. */
#ifndef FAST_CPU_FAST_H
#define FAST_CPU_FAST_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../../ref/ops.h"

enum {
    FAST_CHUNK = 128,         /* elements of a row held at a time: whole groups of 16, 32, 64, 128 fit */
    FAST_SMALL_CALL = 1 << 15 /* a call of fewer elements is not spread over threads */
};

/* The variants of each operator, fast_X_kernels of fast/cpu/X.c; each ends at op == NULL. OPERATORS: op_names of meson.build. */
#define X(op) extern const struct lc_kernel fast_##op##_kernels[];
OPERATORS
#undef X

static inline int64_t fast_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- formats ---- */
static inline uint32_t fast_bits(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline float fast_from_bits(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* FMT-1: the carry of the rounding runs into the exponent, up to Inf. Every NaN gives one: a compiler may give its sign away. */
static inline uint16_t fast_bf16(float v)
{
    const uint32_t bits = fast_bits(v);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t) ((bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : rounded);
}

static inline float fast_from_bf16(uint16_t code)
{
    return fast_from_bits((uint32_t) code << 16);
}

/* FMT-2. From 2^-6 up, E4M3 is an f32 cut to three mantissa bits and rebiased; below, its step is 2^-9,
 * which is the last bit of an f32 near 2^14, so that adding 2^14 rounds and counts the steps. */
static inline uint8_t fast_e4m3(float v)
{
    const int32_t bits_448 = 0x43e00000, bits_2_m6 = 0x3c800000, bits_2_14 = 0x46800000;
    const uint32_t bits = fast_bits(v), sign = bits >> 24 & 0x80;
    const int32_t mag = (int32_t) (bits & 0x7fffffff), a = mag < bits_448 ? mag : bits_448;
    const int32_t normal = ((a + 0x7ffff + (a >> 20 & 1)) >> 20) - (120 << 3);
    const int32_t steps = (int32_t) fast_bits(fast_from_bits((uint32_t) a) + 16384.0f) - bits_2_14;
    const int32_t small = -(a < bits_2_m6), nan = -(mag > 0x7f800000); /* masks: a branch would not vectorise */
    const int32_t code = (steps & small) | (normal & ~small) | (0x7f & nan);
    return (uint8_t) ((sign & ~(uint32_t) nan) | (uint32_t) code); /* one NaN: a compiler may give its sign away */
}

/* FMT-4, |v| <= 6 or more. From 1 up, E2M1 is an f32 cut to one mantissa bit and rebiased; below, its step is 1/2. to_zero:
 * ties go down and zero has no sign (CAST-9, deepgemm). */
static inline uint8_t fast_e2m1(float v, bool to_zero)
{
    const int32_t bits_6 = 0x40c00000, bits_1 = 0x3f800000, bits_quarter = 0x3e800000, bits_3_quarters = 0x3f400000;
    const uint32_t bits = fast_bits(v), sign = bits >> 28 & 8;
    const int32_t mag = (int32_t) (bits & 0x7fffffff), a = mag < bits_6 ? mag : bits_6;
    const int32_t up = to_zero ? 0 : a >> 22 & 1; /* what a tie gets on top of just under a half */
    const int32_t normal = ((a + 0x1fffff + up) >> 22) - 2 * 126;
    const int32_t steps = (a > bits_quarter) + (to_zero ? a > bits_3_quarters : a >= bits_3_quarters);
    const int32_t code = a < bits_1 ? steps : normal;
    return (uint8_t) (to_zero && code == 0 ? 0 : sign | (uint32_t) code);
}

/* ---- chunks ---- */
static inline void fast_load_bf16(float *restrict to, const unsigned char *restrict from, int n)
{
    for (int i = 0; i < n; i++) {
        uint16_t code;
        memcpy(&code, from + 2 * i, sizeof code);
        to[i] = fast_from_bf16(code);
    }
}

static inline void fast_store_bf16(unsigned char *restrict to, const float *restrict from, int n)
{
    for (int i = 0; i < n; i++) {
        const uint16_t code = fast_bf16(from[i]);
        memcpy(to + 2 * i, &code, sizeof code);
    }
}

/* Elements c .. c + n - 1 of a BF16 or F32 row. */
static inline void fast_load(float *to, const unsigned char *row, bool bf16, int64_t c, int n)
{
    if (bf16)
        fast_load_bf16(to, row + 2 * c, n);
    else
        memcpy(to, row + 4 * c, (size_t) n * sizeof(float));
}

/* ---- scales ---- */

/* One row's scales: group g lies at at + g / 4 * word + g % 4 * step in every layout (SF-1..SF-3,
 * col-f32, SF-6), and in SF-4 at extra + g / 4 * extra_word + g % 4. */
struct fast_sf_row {
    unsigned char *at, *extra; /* extra: NULL when switched off */
    int64_t word, step, extra_word;
    int64_t groups;
    bool packed; /* a byte, else an f32 */
};

static inline struct fast_sf_row fast_sf_row(const struct sf_args *s, const struct lc_tensor *sf, const struct lc_tensor *extra,
                                             int64_t m, int64_t row)
{
    const int64_t m_pad = (m + 3) / 4 * 4, b = row / m, i = row % m, size = s->packed ? 1 : 4;
    const int64_t columns = s->packed ? (s->groups + 3) / 4 : s->groups;
    unsigned char *const base = (unsigned char *) sf->data;
    struct fast_sf_row r = { base + row * columns * 4, NULL, 4 * size, size, 0, s->groups, s->packed };
    if (s->col) { /* SF-3, col-f32; above SF-1, SF-2 */
        r.at = base + (b * columns * m_pad + i) * 4;
        r.word = (s->packed ? 4 : 16) * m_pad;
        r.step = s->packed ? 1 : 4 * m_pad;
    }
    if (s->block_m > 0) { /* SF-4: P(i) of a row in its block of 128 */
        const int64_t in_block = i % s->block_m, block = (s->block_m + 127) / 128 * 128;
        const int64_t p = in_block / 128 * 128 + in_block % 32 * 4 + in_block % 128 / 32;
        r.extra = (unsigned char *) extra->data + (i / s->block_m * block + p) * 4;
        r.extra_word = extra->stride[1] * 4;
    }
    return r;
}

struct fast_scale {
    float sf, times; /* the scale, and what the values are multiplied by before they are rounded */
    uint8_t byte;
};

/* CAST-2..5, CAST-9 from the bits of amax. A NaN or an Inf counts as the largest f32; its group is unspecified
 * (CAST-7). */
static inline struct fast_scale fast_scale_of(const struct sf_args *s, int32_t amax_bits)
{
    const bool floor_of_sf = s->dialect == CAST_SF_FLOOR, tiny = s->e2m1 && s->dialect != CAST_DEEPGEMM;
    const int32_t least = floor_of_sf ? 0 : tiny ? 0x01c00000 : (int32_t) fast_bits(1e-4f); /* 6 * 2^-126 */
    const int32_t most = 0x7f7fffff;
    amax_bits = amax_bits < least ? least : amax_bits > most ? most : amax_bits;
    const float amax = fast_from_bits((uint32_t) amax_bits), largest = s->e2m1 ? 6.0f : 448.0f;
    const float quotient = amax / largest, sf = floor_of_sf && quotient < 1e-4f ? 1e-4f : quotient;
    if (!s->round)
        return (struct fast_scale) { .sf = sf, .times = s->dialect == CAST_DEEPGEMM ? 1.0f / sf : largest / amax };
    const uint32_t e = (fast_bits(sf) + 0x7fffff) >> 23; /* CAST-4: one up if any mantissa bit; 1..253 */
    const float times = fast_from_bits((254 - e) << 23);
    return (struct fast_scale) { .sf = fast_from_bits(e << 23), .times = times, .byte = (uint8_t) e };
}

static inline void fast_put_scale(const struct fast_sf_row *r, int64_t g, const struct fast_scale *scale)
{
    unsigned char *const to = r->at + g / 4 * r->word + g % 4 * r->step;
    if (r->packed)
        *to = scale->byte;
    else
        memcpy(to, &scale->sf, sizeof scale->sf);
    if (r->extra)
        r->extra[g / 4 * r->extra_word + g % 4] = scale->byte;
    if (r->packed && g + 1 == r->groups && g % 4 != 3)
        memset(to + 1, 0, (size_t) (3 - g % 4)); /* SF-6: the rest of the last word */
}

/* ---- CAST on one row ---- */

/* Bits of the largest |v|: on magnitudes, integers order as floats do, and an integer maximum vectorises. */
static inline int32_t fast_amax(const float *v, int n, int32_t amax)
{
    for (int i = 0; i < n; i++) {
        const int32_t mag = (int32_t) (fast_bits(v[i]) & 0x7fffffff);
        amax = mag > amax ? mag : amax;
    }
    return amax;
}

/* Codes of elements i.. of a row; E2M1 two a byte, the even one low. */
static inline void fast_quantise(const struct sf_args *s, unsigned char *restrict row, int64_t first, const float *restrict v,
                                 int n, float times)
{
    unsigned char *restrict const codes = row + (s->e2m1 ? first / 2 : first);
    if (s->e2m1) {
        const bool to_zero = s->dialect == CAST_DEEPGEMM;
        for (int i = 0; i < n; i += 2)
            codes[i / 2] = (unsigned char) (fast_e2m1(v[i] * times, to_zero) | fast_e2m1(v[i + 1] * times, to_zero) << 4);
        return;
    }
    for (int i = 0; i < n; i++)
        codes[i] = fast_e4m3(v[i] * times);
}

/* Gives elements c .. c + n - 1 of a row, n <= FAST_CHUNK. It may be asked for the same ones twice. */
typedef void fast_values(const void *row, int64_t c, int n, float *v);

static inline void fast_cast_row(const struct sf_args *s, int64_t d, fast_values *values, const void *row, unsigned char *codes,
                                 const struct fast_sf_row *sf)
{
    float v[FAST_CHUNK];
    if (s->group > FAST_CHUNK) { /* then the row is one group (CAST-10): amax first, codes after */
        int32_t amax = 0;
        for (int64_t c = 0; c < d; c += FAST_CHUNK) {
            const int n = (int) fast_min(FAST_CHUNK, d - c);
            values(row, c, n, v);
            amax = fast_amax(v, n, amax);
        }
        const struct fast_scale scale = fast_scale_of(s, amax);
        fast_put_scale(sf, 0, &scale);
        for (int64_t c = 0; c < d; c += FAST_CHUNK) {
            const int n = (int) fast_min(FAST_CHUNK, d - c);
            values(row, c, n, v);
            fast_quantise(s, codes, c, v, n, scale.times);
        }
        return;
    }
    int64_t g = 0;
    for (int64_t c = 0; c < d; c += FAST_CHUNK) {
        const int n = (int) fast_min(FAST_CHUNK, d - c), group = (int) s->group;
        values(row, c, n, v);
        for (int i = 0; i < n; i += group, g++) {
            const int len = group < n - i ? group : n - i; /* CAST-1: a short last group */
            const struct fast_scale scale = fast_scale_of(s, fast_amax(v + i, len, 0));
            fast_put_scale(sf, g, &scale);
            fast_quantise(s, codes, c + i, v + i, len, scale.times);
        }
    }
}

#endif
