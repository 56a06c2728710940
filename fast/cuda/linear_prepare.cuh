/* SPDX-License-Identifier: Apache-2.0 */
/* What comes before a product: rows copied to where they are aligned, and codes made exact BF16 numbers. */
#ifndef FAST_LINEAR_PREPARE_CUH
#define FAST_LINEAR_PREPARE_CUH

#include "linear_codes.cuh"

enum { FAST_LIN_THREADS = 256 };

/* ---- rows of bytes, out of any place and stride, to rows of 16-byte pieces ---- */

struct fast_lin_pack {
    const char *from;
    char *to;
    int64_t from_row, to_row; /* bytes */
    int64_t bytes, rows;      /* of a row, and how many; bytes is a multiple of the unit */
};

template <typename UNIT>
static __global__ void __launch_bounds__(FAST_LIN_THREADS) fast_lin_pack_kernel(const __grid_constant__ struct fast_lin_pack p)
{
    const int64_t pieces = (p.bytes + 15) / 16, all = p.rows * pieces, step = (int64_t) gridDim.x * FAST_LIN_THREADS;
    constexpr int UNITS = 16 / (int) sizeof(UNIT);
    for (int64_t i = (int64_t) blockIdx.x * FAST_LIN_THREADS + threadIdx.x; i < all; i += step) {
        const int64_t row = i / pieces, c = (i - row * pieces) * 16;
        const char *const from = p.from + row * p.from_row + c;
        UNIT unit[UNITS];
#pragma unroll
        for (int j = 0; j < UNITS; j++)
            unit[j] = c + j * (int) sizeof(UNIT) < p.bytes ? ((const UNIT *) from)[j] : (UNIT) 0;
        uint32_t word[4] = { 0, 0, 0, 0 };
#pragma unroll
        for (int j = 0; j < UNITS; j++)
            word[j * (int) sizeof(UNIT) / 4] |= (uint32_t) unit[j] << 8 * (j * (int) sizeof(UNIT) % 4);
        *(uint4 *) (p.to + row * p.to_row + c) = make_uint4(word[0], word[1], word[2], word[3]);
    }
}

static inline int fast_lin_pack_run(const struct lc_call *call, const struct fast_lin_pack &p)
{
    const int64_t need = (p.rows * ((p.bytes + 15) / 16) + FAST_LIN_THREADS - 1) / FAST_LIN_THREADS, most = 132 * 32;
    const int64_t low = (int64_t) (intptr_t) p.from | p.from_row | p.bytes, grid = need < most ? need : most;
    if (low % 4 == 0)
        return fast_launch(call, "linear", fast_lin_pack_kernel<uint32_t>, grid, FAST_LIN_THREADS, p);
    return fast_launch(call, "linear", low % 2 == 0 ? fast_lin_pack_kernel<uint16_t> : fast_lin_pack_kernel<uint8_t>, grid,
                       FAST_LIN_THREADS, p);
}

/* ---- codes to BF16 ---- */

/* A code times its scale is a BF16 number, and a normal one, unless the scale lies near an end of its range: then the flag is
 * raised, and the product computed anew from the codes. A NaN code and a NaN scale give NaN. */
struct fast_lin_expand {
    const char *codes, *sf;
    char *to; /* BF16 */
    uint32_t *flag;
    int64_t row, pad, to_row; /* bytes between rows, words between a row's words, elements between rows */
    int64_t rows, k;          /* k % 32 == 0 */
};

enum {
    FAST_LIN_EXPAND_ROWS = 8,
    FAST_LIN_EXPAND_COLS = 32 * 16
}; /* of a block: a warp a row, so that sectors of scales meet in L1 */

static __device__ __forceinline__ uint32_t fast_lin_scaled(uint32_t f16_pair, float scale)
{
    float lo, hi;
    asm("{.reg .f16 a, b; mov.b32 {a, b}, %2; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b;}" : "=f"(lo), "=f"(hi) : "r"(f16_pair));
    return fast_bf16_pair(__fmul_rn(lo, scale), __fmul_rn(hi, scale));
}

template <bool E2M1>
static __global__ void __launch_bounds__(FAST_LIN_THREADS)
    fast_lin_expand_kernel(const __grid_constant__ struct fast_lin_expand p)
{
    const int64_t across = (p.k + FAST_LIN_EXPAND_COLS - 1) / FAST_LIN_EXPAND_COLS;
    const int64_t row = (int64_t) blockIdx.x / across * FAST_LIN_EXPAND_ROWS + threadIdx.x / 32u;
    const int64_t c = (int64_t) blockIdx.x % across * FAST_LIN_EXPAND_COLS + (threadIdx.x & 31u) * 16u;
    if (row >= p.rows || c >= p.k)
        return;
    const uint32_t byte = *(const uint32_t *) (p.sf + 4 * (c / 128 * p.pad + row)) >> 8 * (c / 32 % 4) & 255u;
    const float scale = __uint_as_float(fast_lin_scale(byte));
    uint32_t h[8], some;
    if (E2M1) {
        const uint2 w = __ldcs((const uint2 *) (p.codes + row * p.row + c / 2));
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const uint32_t v = i ? w.y : w.x;
            fast_lin_e2m1(v, &h[4 * i], &h[4 * i + 1]);
            fast_lin_e2m1(v >> 16, &h[4 * i + 2], &h[4 * i + 3]);
        }
        some = (w.x | w.y) & 0x77777777u;
    } else {
        const uint4 w = __ldcs((const uint4 *) (p.codes + row * p.row + c));
        const uint32_t v[4] = { w.x, w.y, w.z, w.w };
#pragma unroll
        for (int i = 0; i < 4; i++)
            h[2 * i] = fast_lin_e4m3<0>(v[i]), h[2 * i + 1] = fast_lin_e4m3<1>(v[i]);
        some = (w.x | w.y | w.z | w.w) & 0x7f7f7f7fu;
    }
    if (!fast_lin_scale_plain(byte) && some != 0)
        *p.flag = 1;
    uint32_t b[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
        b[i] = fast_lin_scaled(h[i], scale);
    uint4 *const to = (uint4 *) (p.to + 2 * (row * p.to_row + c));
    to[0] = make_uint4(b[0], b[1], b[2], b[3]);
    to[1] = make_uint4(b[4], b[5], b[6], b[7]);
}

static inline int fast_lin_expand_run(const struct lc_call *call, const struct fast_lin_expand &p, bool e2m1)
{
    const int64_t across = (p.k + FAST_LIN_EXPAND_COLS - 1) / FAST_LIN_EXPAND_COLS;
    const int64_t down = (p.rows + FAST_LIN_EXPAND_ROWS - 1) / FAST_LIN_EXPAND_ROWS;
    return fast_launch(call, "linear", e2m1 ? fast_lin_expand_kernel<true> : fast_lin_expand_kernel<false>, across * down,
                       FAST_LIN_THREADS, p);
}

#endif
