/* SPDX-License-Identifier: Apache-2.0 */
/* The casts of a vector a lane: scales (CAST-2..5), codes, and the layouts of scales (SF-1..SF-4, SF-6). */
#ifndef FAST_SCALE_CUH
#define FAST_SCALE_CUH

#include "common.cuh"

/* CAST-5: eight codes of v * mul; the product is exact where mul is a power of two, else its own f32 rounding. */
static __device__ __forceinline__ uint2 fast_codes(const float v[8], float mul)
{
    uint32_t q[4];
#pragma unroll
    for (int j = 0; j < 4; j++)
        q[j] = fast_e4m3_pair(__fmul_rn(v[2 * j], mul), __fmul_rn(v[2 * j + 1], mul));
    return make_uint2(q[0] | q[1] << 16, q[2] | q[3] << 16);
}

/* FMT-4 in integers: nearest even, saturating, the sign kept. From 1 up an f32 cut to one mantissa bit and rebiased; below, steps
 * of 1/2 with midpoints 1/4 (to 0) and 3/4 (to 1). TO_ZERO: ties toward zero and no code 8 (CAST-9, deepgemm). */
template <bool TO_ZERO = false> static __host__ __device__ inline uint32_t fast_e2m1(uint32_t bits)
{
    const uint32_t sign = bits >> 28 & 8u, top = 0x40c00000u; /* 6 */
    const uint32_t mag = bits & 0x7fffffffu, a = mag < top ? mag : top;
    const uint32_t steps = (a > 0x3e800000u ? 1u : 0u) + (a >= 0x3f400000u + (TO_ZERO ? 1u : 0u) ? 1u : 0u);
    const uint32_t odd = TO_ZERO ? 0u : a >> 22 & 1u;
    const uint32_t code = a < 0x3f800000u ? steps : ((a + 0x1fffffu + odd) >> 22) - 2u * 126u;
    return TO_ZERO && code == 0u ? 0u : sign | code;
}

/* Eight E2M1 codes of v * mul, the even one of a pair in the low nibble. */
template <bool TO_ZERO = false> static __device__ __forceinline__ uint32_t fast_codes_e2m1(const float v[8], float mul)
{
    uint32_t q = 0;
#pragma unroll
    for (int j = 0; j < 8; j++)
        q |= fast_e2m1<TO_ZERO>(__float_as_uint(__fmul_rn(v[j], mul))) << 4 * j;
    return q;
}

/* The pairs of columns c .. c + 7 of a row that are below d, which is even. */
static __device__ __forceinline__ void fast_store_e2m1(char *row, int64_t c, int64_t d, uint32_t q)
{
#pragma unroll
    for (int j = 0; j < 4; j++)
        if (c + 2 * j < d)
            row[c / 2 + j] = (char) (q >> 8 * j);
}

/* CAST-4 as an integer: ceil(log2(amax / 448)) + 127. 448 is 1.75 * 2^8, so the exponent of amax falls by 8, and by one less
 * if its significand is above 1.75. The same for every amax >= fl(1e-4) as rounding fl(amax / 448) up; Inf gives 247. */
static __host__ __device__ inline uint32_t fast_ue8m0(uint32_t amax_bits)
{
    return ((amax_bits + 0x1fffffu) >> 23) - 8u;
}

struct fast_scale {
    uint32_t bits; /* sf as f32; its UE8M0 byte is bits >> 23 */
    float mul;     /* what an element is multiplied by */
};

/* CAST-9: `floor` clamps amax too, where it is more; inverse: codes are of fl(x * fl(1 / sf)) without round. */
static __device__ __forceinline__ struct fast_scale fast_scale_of(float amax, bool round, float floor = 0.0f,
                                                                  bool inverse = false)
{
    struct fast_scale s;
    amax = fmaxf(amax, fmaxf(1e-4f, floor)); /* CAST-2 */
    if (round) {
        const uint32_t byte = fast_ue8m0(__float_as_uint(amax));
        s.bits = byte << 23;
        s.mul = __uint_as_float((254u - byte) << 23); /* byte 105..247: a normal number */
    } else {
        s.bits = __float_as_uint(__fdiv_rn(amax, 448.0f));                                    /* CAST-3 */
        s.mul = inverse ? __fdiv_rn(1.0f, __uint_as_float(s.bits)) : __fdiv_rn(448.0f, amax); /* CAST-5 */
    }
    return s;
}

/* The same for E2M1: the clamp is 6 * 2^-126, and 6 is 1.5 * 2^2; byte 1..253. An Inf counts as the largest f32 (CAST-7). */
static __device__ __forceinline__ struct fast_scale fast_scale_e2m1(float amax, bool round, float floor = 0.0f)
{
    struct fast_scale s;
    amax = fminf(fmaxf(amax, fmaxf(__uint_as_float(0x01c00000u), floor)), __uint_as_float(0x7f7fffffu));
    if (round) {
        const uint32_t byte = ((__float_as_uint(amax) + 0x3fffffu) >> 23) - 2u;
        s.bits = byte << 23;
        s.mul = __uint_as_float((254u - byte) << 23);
    } else {
        s.bits = __float_as_uint(__fdiv_rn(amax, 6.0f));
        s.mul = __fdiv_rn(6.0f, amax);
    }
    return s;
}

/* max |v|; a NaN is passed over (CAST-7 leaves the scale open then). Exact, so its order is free. */
static __device__ __forceinline__ float fast_amax(const float v[8])
{
    const float a = fmaxf(fmaxf(fabsf(v[0]), fabsf(v[1])), fmaxf(fabsf(v[2]), fabsf(v[3])));
    const float b = fmaxf(fmaxf(fabsf(v[4]), fabsf(v[5])), fmaxf(fabsf(v[6]), fabsf(v[7])));
    return fmaxf(a, b);
}

/* ---- layouts ---- */

/* All layouts are one address rule: 4-byte unit u of a row is at `first + u * step`. A unit is an f32 scale, or a word of four
 * UE8M0 bytes where packed. */
struct fast_sf {
    char *sf, *extra;
    int64_t groups, units, m_pad, extra_rows, block_pad;
    struct fast_div block_m;
    int32_t group, log2_group; /* log2_group < 0: the row is one group, of a size that lanes do not divide */
    float floor;               /* of amax, above that of CAST-2 (CAST-9) */
    bool round, packed, col, inverse;
};

/* Address of a row's unit 0, and how to go on, both in bytes. */
struct fast_place {
    char *first;
    int64_t step;
};

static __device__ __forceinline__ struct fast_place fast_sf_place(const struct fast_sf &s, const struct fast_at &at)
{
    if (s.col) /* SF-3, col-f32 */
        return { s.sf + 4 * ((int64_t) at.b * s.units * s.m_pad + (int64_t) at.i), 4 * s.m_pad };
    return { s.sf + 4 * (int64_t) at.row * s.units, 4 }; /* SF-1, SF-2 */
}

static __device__ __forceinline__ struct fast_place fast_extra_place(const struct fast_sf &s, const struct fast_at &at)
{
    const uint32_t block = fast_divide(at.i, s.block_m), i = at.i - block * s.block_m.by; /* SF-4 */
    const int64_t unit = (int64_t) block * s.block_pad + (int64_t) ((i & ~127u) + (i & 31u) * 4u + (i >> 5 & 3u));
    return { s.extra + 4 * unit, 4 * s.extra_rows };
}

/* The one scale of a row that is one group: an f32, or in SF-6 the only byte of a word. */
static __device__ __forceinline__ void fast_put_row_scale(const struct fast_sf &s, const struct fast_at &at, uint32_t bits)
{
    *(uint32_t *) fast_sf_place(s, at).first = s.packed ? bits >> 23 : bits;
}

/* Codes and scale of one vector a lane. GROUP 32: groups of 32 and round_sf, known at compile time; FAST_ANY_GROUP: 16, 32, 64,
 * 128, as s says. All 32 lanes call this; those beyond the row hold zeros. */
template <int GROUP>
static __device__ __forceinline__ uint2 fast_cast_vector(const struct fast_sf &s, const float v[8], uint32_t *bits)
{
    const int lanes = GROUP == 32 ? 4 : 1 << (s.log2_group - 3);
    float amax = fast_amax(v);
#pragma unroll
    for (int o = 1; o < (GROUP == 32 ? 4 : 16); o <<= 1)
        if (o < lanes)
            amax = fmaxf(amax, __shfl_xor_sync(FAST_WARP, amax, o));
    const struct fast_scale f = fast_scale_of(amax, GROUP == 32 || s.round, s.floor, s.inverse);
    *bits = f.bits;
    return fast_codes(v, f.mul);
}

/* Stores the scales of a lane's K vectors, vector k at column c[k] of row at(k). bits[k] is the same in all lanes of a group:
 * four groups' bytes meet in one lane by two shuffles, so that a packed layout costs one 4-byte store a word. All 32 lanes
 * call this, once for all K, as the layout is asked for but once then. */
template <int GROUP, int K, class AT, typename COLUMN>
static __device__ __forceinline__ void fast_put_scales(const struct fast_sf &s, AT at, const COLUMN *c, COLUMN d,
                                                       const uint32_t *bits)
{
    const int shift = GROUP == 32 ? 5 : s.log2_group;
    const int lane = (int) threadIdx.x & 31, lanes = 1 << (shift - 3);
    if ((s.packed || s.extra != nullptr) && shift < 7) {
        uint32_t word[K];
#pragma unroll
        for (int k = 0; k < K; k++) {
            word[k] = c[k] < d ? (bits[k] >> 23) << ((lane >> (shift - 3) & 3) * 8) : 0u; /* SF-6: no group, byte 0 */
            word[k] |= __shfl_xor_sync(FAST_WARP, word[k], lanes);
            word[k] |= __shfl_xor_sync(FAST_WARP, word[k], 2 * lanes);
        }
        if ((lane & (4 * lanes - 1)) == 0) {
#pragma unroll
            for (int k = 0; k < K; k++) {
                if (s.packed && c[k] < d) {
                    const struct fast_place p = fast_sf_place(s, at(k));
                    *(uint32_t *) (p.first + (int64_t) (c[k] >> (shift + 2)) * p.step) = word[k];
                }
            }
#pragma unroll
            for (int k = 0; k < K; k++) {
                if (s.extra != nullptr && c[k] < d) {
                    const struct fast_place p = fast_extra_place(s, at(k));
                    *(uint32_t *) (p.first + (int64_t) (c[k] >> (shift + 2)) * p.step) = word[k];
                }
            }
        }
    }
    if (s.packed && shift < 7)
        return;
    if ((lane & (lanes - 1)) == 0) {
#pragma unroll
        for (int k = 0; k < K; k++) {
            if (c[k] < d) {
                const struct fast_place p = fast_sf_place(s, at(k));
                if (s.packed) { /* G = 128: the word's four groups lie in two warps */
                    char *const word = p.first + (int64_t) (c[k] >> 9) * p.step;
                    word[c[k] >> 7 & 3] = (char) (bits[k] >> 23);
                    for (int j = (int) (c[k] >> 7 & 3) + 1; (int64_t) (c[k] >> 7) + 1 == s.groups && j < 4; j++)
                        word[j] = 0; /* SF-6 */
                } else
                    *(uint32_t *) (p.first + (int64_t) (c[k] >> shift) * p.step) = bits[k];
            }
        }
    }
}

static inline struct fast_sf fast_sf_of(const struct sf_args &a, int64_t m, const struct lc_tensor *sf,
                                        const struct lc_tensor *extra)
{
    struct fast_sf s = {};
    s.sf = sf != nullptr ? (char *) sf->data : nullptr;
    s.groups = a.groups;
    s.units = a.packed ? (a.groups + 3) / 4 : a.groups;
    s.m_pad = (m + 3) / 4 * 4;
    s.group = a.group > 128 ? 0 : (int32_t) a.group;
    s.log2_group = s.group == 16 ? 4 : s.group == 32 ? 5 : s.group == 64 ? 6 : s.group == 128 ? 7 : -1;
    s.round = a.round, s.packed = a.packed, s.col = a.col;
    s.inverse = a.dialect == CAST_DEEPGEMM;
    s.floor = a.dialect == CAST_SF_FLOOR             ? 0.0546875f /* 448 * 2^-13: the scale is never below 2^-13 */
              : a.e2m1 && a.dialect == CAST_DEEPGEMM ? 1e-4f
                                                     : 0.0f;
    if (extra != nullptr && a.block_m > 0) {
        s.extra = (char *) extra->data;
        s.extra_rows = extra->stride[extra->rank - 1];
        s.block_m = fast_divider(a.block_m < INT32_MAX ? a.block_m : INT32_MAX); /* a row's index is smaller */
        s.block_pad = (a.block_m + 127) / 128 * 128;
    }
    return s;
}

#endif
