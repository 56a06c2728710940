/* SPDX-License-Identifier: Apache-2.0 */
/* Codes and scales of LIN-5 in registers. Every E4M3 and E2M1 value is an F16 too, so that a product of two is exact on F16
 * cores; the scales, whose range F16 has not, are applied to the f32 sum of a group. All of it is integer arithmetic or one
 * exact instruction, and tried for every code on the host. */
#ifndef FAST_LINEAR_CODES_CUH
#define FAST_LINEAR_CODES_CUH

#include "common.cuh"

/* prmt.b32: byte i of the result is byte (nibble i of sel) & 7 of b:a, or that byte's sign bit eight times where the nibble's top
 * bit is set. */
static __host__ __device__ __forceinline__ uint32_t fast_lin_permute(uint32_t a, uint32_t b, uint32_t sel)
{
    uint32_t r = 0;
#ifdef __CUDA_ARCH__
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(sel));
#else
    for (int i = 0; i < 4; i++) {
        const uint32_t s = sel >> 4 * i & 15u, byte = ((s & 4u) ? b : a) >> 8 * (s & 3u) & 255u;
        r |= ((s & 8u) ? (byte >> 7) * 255u : byte) << 8 * i;
    }
#endif
    return r;
}

/* One E4M3 code as an F16, in integers: for chips before 8.9. Subnormal codes k * 2^-9 are normal F16 whose low byte is 0. */
static __host__ __device__ __forceinline__ uint32_t fast_lin_e4m3_soft(uint32_t code)
{
    const uint32_t sign = (code & 0x80u) << 8, mag = code & 0x7fu;
    if (mag == 0x7fu)
        return sign | 0x7fffu;
    if (mag >= 8u)
        return sign | ((mag << 7) + (8u << 10)); /* the bias rises from 7 to 15 */
    return sign | (uint32_t) (0x232221201e1c1800ull >> 8 * mag & 255u) << 8;
}

/* The two E4M3 codes in bytes 2 HALF and 2 HALF + 1 of a word as two F16, the first in the low half; a NaN code gives NaN. */
template <int HALF> static __device__ __forceinline__ uint32_t fast_lin_e4m3(uint32_t word)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    uint32_t h;
    if (HALF)
        asm("{.reg .b16 lo, hi; mov.b32 {lo, hi}, %1; cvt.rn.f16x2.e4m3x2 %0, hi;}" : "=r"(h) : "r"(word));
    else
        asm("{.reg .b16 lo, hi; mov.b32 {lo, hi}, %1; cvt.rn.f16x2.e4m3x2 %0, lo;}" : "=r"(h) : "r"(word));
    return h;
#else
    const uint32_t pair = HALF ? word >> 16 : word & 0xffffu;
    return fast_lin_e4m3_soft(pair & 255u) | fast_lin_e4m3_soft(pair >> 8) << 16;
#endif
}

/* Four E2M1 codes (the low 16 bits of a word, lowest first) as four F16, two a word. The low byte of such an F16 is 0, so the
 * high bytes come from a table of eight by one permutation; a second one, of bytes 0x80, tells the sign. */
static __host__ __device__ __forceinline__ void fast_lin_e2m1(uint32_t word, uint32_t *h01, uint32_t *h23)
{
    const uint32_t mag = fast_lin_permute(0x3e3c3800u, 0x46444240u, word & 0x7777u);
    const uint32_t sign = fast_lin_permute(0x80808080u, 0x80808080u, word) << 7 & 0x80808080u;
    const uint32_t high = mag | sign;
    *h01 = fast_lin_permute(high, 0u, 0x1404u);
    *h23 = fast_lin_permute(high, 0u, 0x3424u);
}

/* Two F16 that are codes (few significant bits) as two BF16. */
static __device__ __forceinline__ uint32_t fast_lin_bf16(uint32_t f16_pair)
{
    float lo, hi;
    asm("{.reg .f16 a, b; mov.b32 {a, b}, %2; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b;}" : "=f"(lo), "=f"(hi) : "r"(f16_pair));
    return fast_bf16_pair(lo, hi);
}

/* Four E2M1 codes as four BF16, two a word: both bytes of a magnitude come from tables of eight. */
static __host__ __device__ __forceinline__ void fast_lin_e2m1_bf16(uint32_t word, uint32_t *b01, uint32_t *b23)
{
    const uint32_t which = word & 0x7777u;
    const uint32_t low = fast_lin_permute(0xc0800000u, 0xc0804000u, which);
    const uint32_t high = fast_lin_permute(0x3f3f3f00u, 0x40404040u, which) |
                          (fast_lin_permute(0x80808080u, 0x80808080u, word) << 7 & 0x80808080u);
    *b01 = fast_lin_permute(low, high, 0x5140u);
    *b23 = fast_lin_permute(low, high, 0x7362u);
}

/* Two BF16 by two; exact where the result is a BF16. Adding -0 keeps the sign of a zero. */
static __device__ __forceinline__ uint32_t fast_lin_times(uint32_t a, uint32_t b)
{
    uint32_t r;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(0x80008000u));
    return r;
}

/* The same of F16. */
static __device__ __forceinline__ uint32_t fast_lin_times_f16(uint32_t a, uint32_t b)
{
    uint32_t r;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

/* Byte GROUP of a word of scales as two BF16, for bytes of 1..254; 0 gives 0, and 255 Inf. */
static __host__ __device__ __forceinline__ uint32_t fast_lin_scale_pair(uint32_t word, uint32_t group)
{
    return fast_lin_permute(word, 0u, 0x0404u + 0x1010u * group) >> 1;
}

/* The same as two F16, over the scale of byte `top`, times 2^7: top - 21 <= byte <= top. The smallest code but 0, 2^-9, becomes at
 * least 2^-23 and the largest at most 448 * 2^7: exact in F16. base is fast_lin_scale_base(top). */
enum { FAST_LIN_NARROW = 21, FAST_LIN_NARROW_UP = 7 };

static __host__ __device__ __forceinline__ uint32_t fast_lin_scale_base(uint32_t top)
{
    return (15u + FAST_LIN_NARROW_UP - top) * 0x04000400u; /* exact modulo 2^32 after the byte is added */
}

static __host__ __device__ __forceinline__ uint32_t fast_lin_scale_pair_f16(uint32_t word, uint32_t group, uint32_t base)
{
    return fast_lin_permute(word, 0u, 0x4040u + 0x0101u * group) * 0x0400u + base;
}

/* FMT-3: byte b is 2^(b - 127), an f32 that is subnormal for b = 0; 255 is NaN. */
static __host__ __device__ __forceinline__ uint32_t fast_lin_scale(uint32_t byte)
{
    return byte << 23 | (byte == 0u || byte == 255u ? 0x00400000u : 0u);
}

/* Is code * 2^(byte - 127) a normal BF16, zero or NaN for every code? The smallest code but 0 is 2^-9, the largest 1.75 * 2^8. */
static __host__ __device__ __forceinline__ bool fast_lin_scale_plain(uint32_t byte)
{
    return (byte >= 10u && byte <= 246u) || byte == 255u;
}

/* The top bit of each byte of a word of scales that is not in 10..246. */
static __host__ __device__ __forceinline__ uint32_t fast_lin_scales_odd(uint32_t word)
{
    const uint32_t low = word & 0x7f7f7f7fu, top = word & 0x80808080u;
    return (~(low + 0x76767676u) & ~top & 0x80808080u) | ((low + 0x09090909u) & top);
}

#endif
