/* SPDX-License-Identifier: Apache-2.0 */
/* What comes after a product: slices of K added in their order, out_acc, the rounding, the bias, and rows of any stride
 * (LIN-2, LIN-3, LIN-9). One thread reads all that an element needs before it writes it, so out may be out_acc or the source. */
#ifndef FAST_LINEAR_FINISH_CUH
#define FAST_LINEAR_FINISH_CUH

#include "common.cuh"

struct fast_lin_finish {
    const char *from;       /* the product: BF16 or F32; not read when slices is 0 (K = 0) */
    const char *acc, *bias; /* NULL: none */
    char *out;
    int64_t from_row, from_slice; /* elements */
    int64_t acc_row;              /* elements */
    int64_t stride[3];            /* elements; out's row r = (i0 * dim1 + i1) * dim2 + i2 lies at the sum of i_j * stride[j] */
    int64_t dim1, dim2;
    int64_t rows, n;
    int32_t slices;
    bool bias_f32;
    bool inner;       /* reduce-add: the product is rounded before out_acc comes */
    bool bias_inside; /* bias-fused */
};

enum { FAST_LIN_FINISH_THREADS = 256 };

template <bool F32> static __device__ __forceinline__ float fast_lin_get(const char *p, int64_t i)
{
    return F32 ? ((const float *) p)[i] : fast_bf16_lo(((const uint16_t *) p)[i]);
}

template <bool F32> static __device__ __forceinline__ float fast_lin_rounded(float v)
{
    return F32 ? v : fast_bf16_lo(fast_bf16_pair(v, 0.0f));
}

/* WIDTH consecutive elements; WIDTH > 1: at a multiple of 16 bytes (BF16) or 32 (F32). */
template <bool F32, int WIDTH> static __device__ __forceinline__ void fast_lin_read(const char *p, int64_t i, float v[WIDTH])
{
    if constexpr (WIDTH == 1) {
        v[0] = fast_lin_get<F32>(p, i);
    } else if constexpr (F32) {
        const float4 a = ((const float4 *) ((const float *) p + i))[0], b = ((const float4 *) ((const float *) p + i))[1];
        v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w, v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
    } else {
        fast_bf16_unpack(*(const uint4 *) ((const uint16_t *) p + i), v);
    }
}

template <bool FROM_F32, bool OUT_F32, int WIDTH>
static __global__ void __launch_bounds__(FAST_LIN_FINISH_THREADS)
    fast_lin_finish_kernel(const __grid_constant__ struct fast_lin_finish p)
{
    const int64_t pieces = p.n / WIDTH, all = p.rows * pieces, step = (int64_t) gridDim.x * FAST_LIN_FINISH_THREADS;
    for (int64_t i = (int64_t) blockIdx.x * FAST_LIN_FINISH_THREADS + threadIdx.x; i < all; i += step) {
        const int64_t row = i / pieces, c = (i - row * pieces) * WIDTH;
        const int64_t i2 = row % p.dim2, upper = row / p.dim2, i1 = upper % p.dim1, i0 = upper / p.dim1;
        float v[WIDTH], part[WIDTH];
        if (p.slices > 0)
            fast_lin_read<FROM_F32, WIDTH>(p.from, row * p.from_row + c, v);
        for (int32_t s = 1; s < p.slices; s++) {
            fast_lin_read<FROM_F32, WIDTH>(p.from, s * p.from_slice + row * p.from_row + c, part);
#pragma unroll
            for (int j = 0; j < WIDTH; j++)
                v[j] = __fadd_rn(v[j], part[j]);
        }
        if (p.acc != nullptr)
            fast_lin_read<OUT_F32, WIDTH>(p.acc, row * p.acc_row + c, part);
#pragma unroll
        for (int j = 0; j < WIDTH; j++) {
            if (p.slices == 0) /* K = 0: out_acc as it is, or +0 */
                v[j] = p.acc != nullptr ? part[j] : 0.0f;
            else if (p.acc != nullptr)
                v[j] = __fadd_rn(p.inner ? fast_lin_rounded<OUT_F32>(v[j]) : v[j], part[j]);
            if (p.bias != nullptr) {
                const float b = p.bias_f32 ? fast_lin_get<true>(p.bias, c + j) : fast_lin_get<false>(p.bias, c + j);
                v[j] = __fadd_rn(p.bias_inside ? v[j] : fast_lin_rounded<OUT_F32>(v[j]), b); /* LIN-9 */
            }
        }
        const int64_t at = i0 * p.stride[0] + i1 * p.stride[1] + i2 * p.stride[2] + c;
        if constexpr (WIDTH == 1) {
            if (OUT_F32)
                ((float *) p.out)[at] = v[0];
            else
                ((uint16_t *) p.out)[at] = (uint16_t) fast_bf16_pair(v[0], 0.0f);
        } else if constexpr (OUT_F32) {
            float4 *const to = (float4 *) ((float *) p.out + at);
            to[0] = make_float4(v[0], v[1], v[2], v[3]);
            to[1] = make_float4(v[4], v[5], v[6], v[7]);
        } else {
            *(uint4 *) ((uint16_t *) p.out + at) = fast_bf16_pack(v);
        }
    }
}

template <bool FROM_F32, bool OUT_F32>
static int fast_lin_finish_width(const struct lc_call *call, const struct fast_lin_finish &p)
{
    const int64_t places = (int64_t) (intptr_t) p.from | (int64_t) (intptr_t) p.acc | (int64_t) (intptr_t) p.out;
    const int64_t strides = p.from_row | p.from_slice | p.acc_row | p.stride[0] | p.stride[1] | p.stride[2] | p.n;
    const bool wide = places % 16 == 0 && strides % 8 == 0;
    const int64_t items = wide ? p.rows * (p.n / 8) : p.rows * p.n, most = 132 * 64;
    const int64_t need = (items + FAST_LIN_FINISH_THREADS - 1) / FAST_LIN_FINISH_THREADS;
    return fast_launch(call, "linear",
                       wide ? fast_lin_finish_kernel<FROM_F32, OUT_F32, 8> : fast_lin_finish_kernel<FROM_F32, OUT_F32, 1>,
                       need < most ? need : most, FAST_LIN_FINISH_THREADS, p);
}

static inline int fast_lin_finish_run(const struct lc_call *call, const struct fast_lin_finish &p, bool from_f32, bool out_f32)
{
    if (from_f32)
        return out_f32 ? fast_lin_finish_width<true, true>(call, p) : fast_lin_finish_width<true, false>(call, p);
    return out_f32 ? fast_lin_finish_width<false, true>(call, p) : fast_lin_finish_width<false, false>(call, p);
}

#endif
