/* SPDX-License-Identifier: Apache-2.0 */
/* kv_store's stages over the lanes that share a head: norm, transform, cast. */
#ifndef FAST_KV_STORE_LANES_CUH
#define FAST_KV_STORE_LANES_CUH

#include "kv_store.cuh"

/* ---- head_dim <= 1024: LANES lanes a head ---- */

/* Squares of two vectors; those of BF16 are exact, so one passes 3 roundings in its chain and 2 after. */
static __device__ __forceinline__ float fast_kv_squares(const float (&a)[8], const float (&b)[8])
{
    float s[4];
#pragma unroll
    for (int j = 0; j < 4; j++)
        s[j] = __fmaf_rn(b[j + 4], b[j + 4], __fmaf_rn(b[j], b[j], __fmaf_rn(a[j + 4], a[j + 4], __fmul_rn(a[j], a[j]))));
    return __fadd_rn(__fadd_rn(s[0], s[1]), __fadd_rn(s[2], s[3]));
}

/* RMS-3 of a lane group's head. Elements from d on are zeros, which add nothing. */
template <int LANES, int V> static __device__ __forceinline__ float fast_kv_sum(const float (&v)[V][8])
{
    static_assert(V == 2 || V == 4, "vectors of a lane");
    float sum = fast_kv_squares(v[0], v[1]);
    if (V == 4)
        sum = __fadd_rn(sum, fast_kv_squares(v[V - 2], v[V - 1]));
#pragma unroll
    for (int o = LANES / 2; o > 0; o >>= 1)
        sum = __fadd_rn(sum, __shfl_xor_sync(FAST_WARP, sum, o));
    return sum;
}

/* RMS-4: the instruction errs by at most 2^-22.9, subnormal numbers included. */
static __device__ __forceinline__ float fast_kv_rstd(const struct fast_kv &p, float mean)
{
    float rstd;
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(rstd) : "f"(__fadd_rn(mean, p.eps)));
    return rstd;
}

/* RMS-5. */
static __device__ __forceinline__ void fast_kv_weigh(float (&v)[8], float rstd, const float (&w)[8])
{
#pragma unroll
    for (int j = 0; j < 8; j++)
        v[j] = __fmul_rn(__fmul_rn(v[j], rstd), w[j]);
}

template <int LANES, int V, bool FAST>
static __device__ __forceinline__ void fast_kv_norm(const struct fast_kv &p, int lane, float (&v)[V][8])
{
    const float mean = __fdiv_rn(fast_kv_sum<LANES, V>(v), (float) p.d);
    const float rstd = fast_kv_rstd(p, mean);
#pragma unroll
    for (int k = 0; k < V; k++) {
        float w[8];
        fast_kv_weight<FAST>(p, (k * LANES + lane) * 8, p.d, w);
        fast_kv_weigh(v[k], rstd, w);
        if (p.bf16_stages)
            fast_kv_round(v[k]);
    }
}

/* HAD-1 but for the scale: a stage for each bit of the index below d: in a vector, over vectors, over lanes from the highest bit
 * down. fast_kv_quick takes the bits in this order too, as it decides about roundings (DET-2). */
template <int V> static __device__ __forceinline__ void fast_kv_hadamard_lane(int d, int lanes, float (&v)[V][8])
{
#pragma unroll
    for (int bit = 1; bit < 8; bit *= 2)
        if (bit < d) {
#pragma unroll
            for (int k = 0; k < V; k++)
#pragma unroll
                for (int i = 0; i < 8; i++)
                    if ((i & bit) == 0) {
                        const float a = v[k][i], b = v[k][i | bit];
                        v[k][i] = __fadd_rn(a, b);
                        v[k][i | bit] = __fsub_rn(a, b);
                    }
        }
#pragma unroll
    for (int bit = 1; bit < V; bit *= 2)
        if (8 * lanes * bit < d) {
#pragma unroll
            for (int k = 0; k < V; k++)
                if ((k & bit) == 0) {
#pragma unroll
                    for (int j = 0; j < 8; j++) {
                        const float a = v[k][j], b = v[k | bit][j];
                        v[k][j] = __fadd_rn(a, b);
                        v[k | bit][j] = __fsub_rn(a, b);
                    }
                }
        }
}

/* A stage over the lanes that differ in the bit o. */
template <int V> static __device__ __forceinline__ void fast_kv_hadamard_stage(unsigned o, float (&v)[V][8])
{
    const float sign = threadIdx.x & o ? -1.0f : 1.0f;
#pragma unroll
    for (int k = 0; k < V; k++)
#pragma unroll
        for (int j = 0; j < 8; j++) /* the product with +-1 is exact: one rounding */
            v[k][j] = __fmaf_rn(sign, v[k][j], __shfl_xor_sync(FAST_WARP, v[k][j], (int) o));
}

template <int LANES, int V> static __device__ __forceinline__ void fast_kv_hadamard(int d, float (&v)[V][8])
{
    fast_kv_hadamard_lane<V>(d, LANES, v);
#pragma unroll
    for (int o = LANES / 2; o > 0; o /= 2)
        if (8 * o < d)
            fast_kv_hadamard_stage<V>((unsigned) o, v);
}

/* The end of HAD-1. */
static __device__ __forceinline__ void fast_kv_scaled(const struct fast_kv &p, float (&v)[8])
{
#pragma unroll
    for (int j = 0; j < 8; j++)
        v[j] = __fmul_rn(v[j], p.scale);
    if (p.bf16_stages)
        fast_kv_round(v);
}

/* The scale bytes of a head, bits[k] of a lane's vector k. Four lanes share a scale, sixteen vectors a word of four. All lanes
 * call this. */
template <int LANES, int V>
static __device__ __forceinline__ void fast_kv_put_scales(const struct fast_kv &p, const struct fast_kv_at &at, int lane, int d,
                                                          const uint32_t (&bits)[V])
{
    if (LANES >= 8 && p.words) { /* only with whole words of four groups */
        constexpr int words = LANES >= 16 ? V : 1;
#pragma unroll
        for (int k = 0; k < words; k++) {
            uint32_t word = (bits[k] >> 23) << ((lane >> 2 & (LANES >= 16 ? 3 : 1)) * 8);
            if (LANES == 8)
                word |= (bits[V - 1] >> 23) << ((lane >> 2 & 1) * 8 + 16);
            word |= __shfl_xor_sync(FAST_WARP, word, 4);
            if (LANES >= 16)
                word |= __shfl_xor_sync(FAST_WARP, word, 8);
            const int c = (k * LANES + lane) * 8;
            if (at.active && c < d && (lane & 15) == 0)
                fast_kv_put(fast_kv_scale(p, at, (uint32_t) c / 32u), word);
        }
        return;
    }
#pragma unroll
    for (int k = 0; k < V; k++) {
        const int c = (k * LANES + lane) * 8;
        if (at.active && c < d && (lane & 3) == 0)
            fast_kv_put(fast_kv_scale(p, at, (uint32_t) c / 32u), (char) (bits[k] >> 23));
    }
}

/* CAST and its stores. All lanes call this. */
template <int LANES, int V>
static __device__ __forceinline__ void fast_kv_cast(const struct fast_kv &p, const struct fast_kv_at &at, int lane,
                                                    const float (&v)[V][8])
{
    const struct fast_sf usual = {};
    uint32_t bits[V];
#pragma unroll
    for (int k = 0; k < V; k++) {
        const int c = (k * LANES + lane) * 8;
        const uint2 q = fast_cast_vector<32>(usual, v[k], &bits[k]);
        if (at.active && c < p.d)
            fast_kv_put_codes(at.codes + c, q, p.code_align);
    }
    fast_kv_put_scales<LANES, V>(p, at, lane, p.d, bits);
}

#endif
