/* SPDX-License-Identifier: Apache-2.0 */
/* kv_store's kernel for the usual heads. */
#ifndef FAST_KV_STORE_QUICK_CUH
#define FAST_KV_STORE_QUICK_CUH

#include "kv_store_lanes.cuh"

/* ---- head_dim 64, 128, 256, 512, all aligned, a cast at the end, f32 between stages ---- */

/* How pairs lie: in a lane's two vectors; in vector 0, or 1, of two lanes; in a vector. */
enum { FAST_KV_STILL, FAST_KV_OWN, FAST_KV_LANES_0, FAST_KV_LANES_1, FAST_KV_INTERLEAVED, FAST_KV_ANY };

enum { FAST_KV_QUICK_THREADS = 128 };

/* What a lane rotates by: cos, and sin with its sign. OWN: of both vectors. LANES: of the vector that rotates. INTERLEAVED: four
 * of vector 0, four of vector 1. */
struct fast_kv_angles {
    float cos[8], sin[8];
    bool turn[2]; /* the vector rotates */
};

template <int LANES, int ROPE>
static __device__ __forceinline__ void fast_kv_read_angles(const struct fast_kv &p, const char *row, int lane,
                                                           struct fast_kv_angles &a)
{
    const int pairs = p.rotary_dim / 2;
    bool minus = p.conjugate;
#pragma unroll
    for (int j = 0; j < 8; j++)
        a.cos[j] = a.sin[j] = 0.0f;
#pragma unroll
    for (int k = 0; k < 2; k++) {
        const int e = (k * LANES + lane) * 8 - p.offset;
        a.turn[k] = row != nullptr && e >= 0 && e < p.rotary_dim;
        if (ROPE == FAST_KV_INTERLEAVED && a.turn[k]) {
            fast_kv_four(p, row, e / 2, a.cos + 4 * k);
            fast_kv_four(p, row, pairs + e / 2, a.sin + 4 * k);
        }
        if (ROPE == FAST_KV_LANES_0 + k && a.turn[k]) {
            const bool second = e >= pairs;
            fast_kv_eight(p, row, second ? e - pairs : e, a.cos);
            fast_kv_eight(p, row, second ? e : e + pairs, a.sin);
            minus = p.conjugate == second;
        }
    }
    if (ROPE == FAST_KV_OWN && row != nullptr) {
        fast_kv_eight(p, row, lane * 8, a.cos);
        fast_kv_eight(p, row, pairs + lane * 8, a.sin);
    }
#pragma unroll
    for (int j = 0; j < 8; j++)
        a.sin[j] = minus ? -a.sin[j] : a.sin[j];
}

/* APPLY-1. All lanes call this. */
template <int LANES, int ROPE>
static __device__ __forceinline__ void fast_kv_quick_rotate(const struct fast_kv &p, int lane, const struct fast_kv_angles &a,
                                                            float (&v)[2][8])
{
    if (ROPE == FAST_KV_OWN) {
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const float first = v[0][j], second = v[1][j];
            v[0][j] = fast_kv_turn(first, second, a.cos[j], -a.sin[j]);
            v[1][j] = fast_kv_turn(second, first, a.cos[j], a.sin[j]);
        }
    }
#pragma unroll
    for (int k = 0; k < 2; k++) {
        if (ROPE == FAST_KV_LANES_0 + k) {
            const int far = p.rotary_dim / 16, e = (k * LANES + lane) * 8 - p.offset;
            const int other = ((int) threadIdx.x & 31) + (e < 0 || e >= p.rotary_dim ? 0 : e < p.rotary_dim / 2 ? far : -far);
            float partner[8];
#pragma unroll
            for (int j = 0; j < 8; j++)
                partner[j] = __shfl_sync(FAST_WARP, v[k][j], other);
            if (a.turn[k]) {
#pragma unroll
                for (int j = 0; j < 8; j++)
                    v[k][j] = fast_kv_turn(v[k][j], partner[j], a.cos[j], a.sin[j]);
            }
        }
        if (ROPE == FAST_KV_INTERLEAVED && a.turn[k]) {
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const float first = v[k][2 * j], second = v[k][2 * j + 1], c = a.cos[4 * k + j], s = a.sin[4 * k + j];
                v[k][2 * j] = fast_kv_turn(first, second, c, -s);
                v[k][2 * j + 1] = fast_kv_turn(second, first, c, s);
            }
        }
    }
}

/* fast_kv_cast with HAD-1's scale: the largest of the products is the product of the largest; and a code's factor, a power of two,
 * goes into the scale, as that is from 2^-6 to 1 (fast_kv_is_quick): no product of the two leaves the normal numbers, and where
 * an element's does, both ways give a zero of its sign. */
template <int LANES>
static __device__ __forceinline__ void fast_kv_quick_cast(const struct fast_kv &p, const struct fast_kv_at &at, int lane,
                                                          const float (&v)[2][8])
{
    uint32_t bits[2];
    uint2 q[2];
#pragma unroll
    for (int k = 0; k < 2; k++) {
        float amax = fast_amax(v[k]);
        amax = fmaxf(amax, __shfl_xor_sync(FAST_WARP, amax, 1));
        amax = fmaxf(amax, __shfl_xor_sync(FAST_WARP, amax, 2));
        const struct fast_scale f = fast_scale_of(__fmul_rn(amax, p.scale), true);
        q[k] = fast_codes(v[k], __fmul_rn(f.mul, p.scale));
        bits[k] = f.bits;
    }
    if (at.active) {
        char *const to = at.codes + lane * 8;
        const int align = p.code_align >= 8 ? 8 : 4;
        fast_kv_put_codes(to, q[0], align);
        fast_kv_put_codes(to + LANES * 8, q[1], align);
    }
    fast_kv_put_scales<LANES, 2>(p, at, lane, LANES * 16, bits);
}

/* Buys: the shapes that caches have, bound by instructions rather than memory. A lane has 16 elements, two vectors half a head
 * apart, so that pairs of a full neox rotation meet in a lane; head_dim and the kind of rotation are constants. HEADS heads of a
 * token one after the other: weights and angles stay in registers for all of them, and the next head is under way. The norm and
 * the transform are branches that all lanes take alike, once a head; as constants they would be four times the kernels. Six
 * blocks a multiprocessor: 80 registers, which none of these kernels spills. */
template <int LANES, int HEADS, int ROPE>
static __global__ void __launch_bounds__(FAST_KV_QUICK_THREADS, 6) fast_kv_quick(const __grid_constant__ struct fast_kv p)
{
    constexpr int D = LANES * 16;
    const int lane = (int) threadIdx.x & (LANES - 1);
    const uint32_t unit = (blockIdx.x * FAST_KV_QUICK_THREADS + threadIdx.x) / LANES * HEADS;
    const uint32_t token = fast_divide(unit, p.heads);
    const char *x = p.x + (int64_t) token * p.token + (int64_t) (unit - token * p.heads.by) * p.head + lane * 16;
    const bool there = unit < p.rows; /* a head past the end takes part as zeros */
    uint4 ahead[2] = {};
    if (there)
        ahead[0] = fast_stream(x), ahead[1] = fast_stream(x + LANES * 16);
    struct fast_kv_at at = fast_kv_locate<true>(p, unit);
    float w[2][8];
    struct fast_kv_angles angles;
#pragma unroll
    for (int k = 0; k < 2; k++)
        if (p.weight != nullptr)
            fast_kv_weight<true>(p, (k * LANES + lane) * 8, D, w[k]);
    if (ROPE != FAST_KV_STILL)
        fast_kv_read_angles<LANES, ROPE>(p, at.row, lane, angles);
#pragma unroll
    for (int u = 0; u < HEADS; u++) {
        float v[2][8];
#pragma unroll
        for (int k = 0; k < 2; k++)
            fast_bf16_unpack(ahead[k], v[k]);
        if (u + 1 < HEADS) {
            x += p.head;
            if (there)
                ahead[0] = fast_stream(x), ahead[1] = fast_stream(x + LANES * 16);
        }
        if (p.weight != nullptr) {
            const float mean = __fmul_rn(fast_kv_sum<LANES, 2>(v), 1.0f / D); /* D a power of two: the quotient's bits */
            const float rstd = __frsqrt_rn(__fadd_rn(mean, p.eps));
            fast_kv_weigh(v[0], rstd, w[0]);
            fast_kv_weigh(v[1], rstd, w[1]);
        }
        if (ROPE != FAST_KV_STILL)
            fast_kv_quick_rotate<LANES, ROPE>(p, lane, angles, v);
        if (p.hadamard)
            fast_kv_hadamard<LANES, 2>(D, v);
        fast_kv_quick_cast<LANES>(p, at, lane, v);
        at.codes += p.next.codes;
        at.scales += p.next.scales;
        at.first += p.next.first;
    }
}

#endif
