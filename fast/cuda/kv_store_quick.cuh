/* SPDX-License-Identifier: Apache-2.0 */
/* kv_store's kernel for the usual heads. */
#ifndef FAST_KV_STORE_QUICK_CUH
#define FAST_KV_STORE_QUICK_CUH

#include "kv_store_lanes.cuh"

/* ---- head_dim 64, 128, 256, 512, all aligned, a cast at the end, f32 between stages ---- */

/* How pairs lie: in a lane's two vectors; in vector 0, or 1, of two lanes; in a vector. */
enum { FAST_KV_STILL, FAST_KV_OWN, FAST_KV_LANES_0, FAST_KV_LANES_1, FAST_KV_INTERLEAVED, FAST_KV_ANY };

enum { FAST_KV_QUICK_THREADS = 128 };

/* What a lane rotates by. OWN: of both vectors. LANES: of the vector that rotates. INTERLEAVED: four of vector 0, four of
 * vector 1. */
struct fast_kv_angles {
    float cos[8], sin[8]; /* as they are where nothing rotates */
    bool turn[2];         /* the vector rotates */
    bool minus;           /* sin has yet to change its sign */
};

template <int LANES, int ROPE>
static __device__ __forceinline__ void fast_kv_read_angles(const struct fast_kv &p, const char *row, int lane,
                                                           struct fast_kv_angles &a)
{
    const int pairs = p.rotary_dim >> 1;
    a.minus = p.conjugate;
#pragma unroll
    for (int k = 0; k < 2; k++) {
        const int e = (k * LANES + lane) * 8 - p.offset;
        a.turn[k] = row != nullptr && e >= 0 && e < p.rotary_dim;
        if (ROPE == FAST_KV_INTERLEAVED && a.turn[k]) {
            fast_kv_four(p, row, e >> 1, a.cos + 4 * k);
            fast_kv_four(p, row, pairs + (e >> 1), a.sin + 4 * k);
        }
        if (ROPE == FAST_KV_LANES_0 + k && a.turn[k]) {
            const bool second = e >= pairs;
            fast_kv_eight(p, row, second ? e - pairs : e, a.cos);
            fast_kv_eight(p, row, second ? e : e + pairs, a.sin);
            a.minus = p.conjugate == second;
        }
    }
    if (ROPE == FAST_KV_OWN && row != nullptr) {
        fast_kv_eight(p, row, lane * 8, a.cos);
        fast_kv_eight(p, row, pairs + lane * 8, a.sin);
    }
}

/* Apart from fast_kv_read_angles, as this waits for what is read. */
static __device__ __forceinline__ void fast_kv_sign_angles(struct fast_kv_angles &a)
{
#pragma unroll
    for (int j = 0; j < 8; j++)
        a.sin[j] = a.minus ? -a.sin[j] : a.sin[j];
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
            const int far = p.rotary_dim >> 4, e = (k * LANES + lane) * 8 - p.offset;
            const int other = ((int) threadIdx.x & 31) + (e < 0 || e >= p.rotary_dim ? 0 : e < p.rotary_dim >> 1 ? far : -far);
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

/* Where 16 bytes of a head are in shared memory, in units of 16 bytes: vector halves, then lanes. What lanes write by their number
 * and read by fast_kv_quick_hadamard's hits different banks both ways: one apart from half to half. */
template <int LANES> constexpr int fast_kv_half = LANES + 1;
template <int LANES> constexpr int fast_kv_units = LANES == 4 ? 20 : 4 * LANES + 3; /* of a head */

/* HAD-1 but for the scale, or nothing; and then a lane has other elements, of which four neighbours make a word of codes: word
 * e3 + 2 * e4 of bits of the element's number. Lane bit 0 stands for element bit 2, lane bit 1 for the number of the vector, the
 * rest as before. Half as many instructions as shuffles would be. The order of the stages is that of fast_kv_hadamard. */
template <int LANES>
static __device__ __forceinline__ void fast_kv_quick_hadamard(bool hadamard, float4 *write, const float4 *read, float (&v)[2][8])
{
    if (hadamard) {
        fast_kv_hadamard_lane<2>(LANES * 16, LANES, v);
#pragma unroll
        for (int o = LANES / 2; o > 2; o /= 2)
            fast_kv_hadamard_stage<2>((unsigned) o, v);
    }
    __syncwarp(); /* the head before has been read */
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float *const e = v[k / 2] + k % 2 * 4;
        write[k * fast_kv_half<LANES>] = make_float4(e[0], e[1], e[2], e[3]);
    }
    __syncwarp();
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float4 q = read[k];
        float *const e = v[k / 2] + k % 2 * 4;
        e[0] = q.x, e[1] = q.y, e[2] = q.z, e[3] = q.w;
    }
    if (hadamard) {
#pragma unroll
        for (int bit = 8; bit > 2; bit /= 2)
#pragma unroll
            for (int i = 0; i < 16; i++)
                if ((i & bit) == 0) {
                    float &low = v[i / 8][i % 8], &high = v[(i | bit) / 8][(i | bit) % 8];
                    const float a = low, b = high;
                    low = __fadd_rn(a, b);
                    high = __fsub_rn(a, b);
                }
    }
}

/* What a lane writes of a head. */
struct fast_kv_target {
    char *codes, *scale;
    bool active;
};

/* Lanes that differ in the bit o swap words of codes: one gets both low ones, the other both of the others. */
static __device__ __forceinline__ void fast_kv_swap(int o, uint32_t &low, uint32_t &other)
{
    const bool high = (threadIdx.x & (unsigned) o) != 0;
    const uint32_t got = __shfl_xor_sync(FAST_WARP, high ? low : other, o);
    low = high ? got : low;
    other = high ? other : got;
}

/* Which lane bits swap words where codes are aligned to 4 bytes only, so that 8 lanes (of 4: 4) write 4 bytes each side by side. */
template <int LANES> constexpr int fast_kv_bit_a = LANES == 4 ? 2 : 4; /* for word bit 0 */
template <int LANES> constexpr int fast_kv_bit_b = LANES == 4 ? 0 : LANES == 8 ? 2 : 8;

/* The first code that a lane writes of a head. */
template <int LANES> static __device__ __forceinline__ int fast_kv_first_code(bool words, int lane)
{
    const int rest = lane & ~(1 | (words ? fast_kv_bit_a<LANES> | fast_kv_bit_b<LANES> : 0));
    int word = (rest & 2) * LANES + rest / 4 * 8;
    if (words)
        word += (lane & 1) + (lane & fast_kv_bit_a<LANES> ? 2 : 0) + (lane & fast_kv_bit_b<LANES> ? 4 : 0);
    else
        word += (lane & 1) * 4;
    return 4 * word;
}

/* Its group of 32. Two lanes have one. */
template <int LANES> static __device__ __forceinline__ int fast_kv_group(int lane)
{
    return lane / 4 + (lane >> 1 & 1) * (LANES / 4);
}

/* All lanes call this. Words: e3 + 2 * e4. */
template <int LANES>
static __device__ __forceinline__ void fast_kv_quick_put(const struct fast_kv &p, const struct fast_kv_target &to,
                                                         uint32_t (&q)[4])
{
    if (p.code_align >= 8) { /* lane bit 0 for e4 and words e3 + 2 * e2: 16 neighbours */
        fast_kv_swap(1, q[0], q[2]);
        fast_kv_swap(1, q[1], q[3]);
        if (!to.active)
            return;
        if (p.code_align >= 16) {
            fast_kv_put(to.codes, make_uint4(q[0], q[2], q[1], q[3]));
        } else {
            fast_kv_put(to.codes, make_uint2(q[0], q[2]));
            fast_kv_put(to.codes + 8, make_uint2(q[1], q[3]));
        }
        return;
    }
    fast_kv_swap(fast_kv_bit_a<LANES>, q[0], q[1]);
    fast_kv_swap(fast_kv_bit_a<LANES>, q[2], q[3]);
    if (LANES > 4) {
        fast_kv_swap(fast_kv_bit_b<LANES>, q[0], q[2]);
        fast_kv_swap(fast_kv_bit_b<LANES>, q[1], q[3]);
    }
    constexpr int far = LANES > 4 ? 64 : 16;
    if (!to.active)
        return;
    fast_kv_put(to.codes, q[0]);
    fast_kv_put(to.codes + 32, q[1]);
    fast_kv_put(to.codes + far, q[2]);
    fast_kv_put(to.codes + far + 32, q[3]);
}

/* CAST with HAD-1's scale: the largest of the products is the product of the largest; and a code's factor, a power of two,
 * goes into the scale, as that is from 2^-6 to 1 (fast_kv_is_quick): no product of the two leaves the normal numbers, and where
 * an element's does, both ways give a zero of its sign. All lanes call this. */
template <int LANES>
static __device__ __forceinline__ void fast_kv_quick_cast(const struct fast_kv &p, const struct fast_kv_target &to,
                                                          const float (&v)[2][8])
{
    float amax = fmaxf(fast_amax(v[0]), fast_amax(v[1]));
    amax = fmaxf(amax, __shfl_xor_sync(FAST_WARP, amax, 1));
    const struct fast_scale f = fast_scale_of(__fmul_rn(amax, p.scale), true);
    const float mul = __fmul_rn(f.mul, p.scale);
    const uint2 low = fast_codes(v[0], mul), high = fast_codes(v[1], mul);
    uint32_t q[4] = { low.x, low.y, high.x, high.y };
    fast_kv_quick_put<LANES>(p, to, q);
    if (to.active && (threadIdx.x & 1) == 0)
        fast_kv_put(to.scale, (char) (f.bits >> 23));
}

/* A lane's weights as they lie: BF16 in every other 16 bytes. */
template <int LANES>
static __device__ __forceinline__ void fast_kv_load_weights(const struct fast_kv &p, int lane, uint4 (&bits)[4])
{
#pragma unroll
    for (int k = 0; k < 2; k++) {
        const int c = (k * LANES + lane) * 8;
        if (p.weight_f32) {
            bits[2 * k] = __ldg((const uint4 *) p.weight + c / 4);
            bits[2 * k + 1] = __ldg((const uint4 *) p.weight + c / 4 + 1);
        } else {
            bits[2 * k] = __ldg((const uint4 *) p.weight + c / 8);
        }
    }
}

static __device__ __forceinline__ void fast_kv_weights(const struct fast_kv &p, const uint4 (&bits)[4], float (&w)[2][8])
{
#pragma unroll
    for (int k = 0; k < 2; k++) {
        const uint4 a = bits[2 * k], b = bits[2 * k + 1];
        if (p.weight_f32) {
            w[k][0] = __uint_as_float(a.x), w[k][1] = __uint_as_float(a.y), w[k][2] = __uint_as_float(a.z);
            w[k][3] = __uint_as_float(a.w), w[k][4] = __uint_as_float(b.x), w[k][5] = __uint_as_float(b.y);
            w[k][6] = __uint_as_float(b.z), w[k][7] = __uint_as_float(b.w);
        } else {
            fast_bf16_unpack(a, w[k]);
        }
    }
}

static __device__ __forceinline__ void fast_kv_prefetch(const void *p)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}

template <class T> static __device__ __forceinline__ T *fast_kv_of_lane(T *p, int lane)
{
    const uint64_t bits = (uint64_t) (uintptr_t) p;
    const uint32_t low = __shfl_sync(FAST_WARP, (uint32_t) bits, lane);
    const uint32_t high = __shfl_sync(FAST_WARP, (uint32_t) (bits >> 32), lane);
    return (T *) (uintptr_t) ((uint64_t) high << 32 | low);
}

/* Buys: the shapes that caches have, bound by instructions rather than memory. A lane has 16 elements, two vectors half a head
 * apart, so that pairs of a full neox rotation meet in a lane; head_dim and the kind of rotation are constants. p.share heads one
 * after the other, all of one token, or with TOKENS of as many tokens of one head: weights stay in registers, and the next head is
 * under way while one is worked on (to ask for all of them at the start was 6 to 11 % slower on an H200). A loop that is not unrolled
 * stays in the instruction cache. The norm and the transform are branches that all lanes take alike, once a head. Four blocks a
 * multiprocessor: 128 registers, which none of these kernels spills; five were 2 % slower. */
template <int LANES, int ROPE, bool TOKENS>
static __global__ void __launch_bounds__(FAST_KV_QUICK_THREADS, 4) fast_kv_quick(const __grid_constant__ struct fast_kv p)
{
    constexpr int D = LANES * 16;
    static_assert(!TOKENS || LANES == 32, "a warp shares the looking up of its tokens");
    __shared__ float4 shared[FAST_KV_QUICK_THREADS / LANES * fast_kv_units<LANES>];
    const int lane = (int) threadIdx.x & (LANES - 1), group = fast_kv_group<LANES>(lane);
    const uint32_t share = p.share, unit = (blockIdx.x * (FAST_KV_QUICK_THREADS / LANES) + threadIdx.x / LANES) * share;
    const uint32_t token = fast_divide(unit, p.heads);
    float4 *const head = shared + threadIdx.x / LANES * fast_kv_units<LANES>, *const write = head + lane;
    const float4 *const read = head + (lane & 3) * fast_kv_half<LANES> + (lane & ~3);
    const int64_t step = TOKENS ? p.token : p.head;
    const char *x = p.x + (int64_t) token * p.token + (int64_t) (unit - token * p.heads.by) * p.head + lane * 16;
    const uint32_t there = unit >= p.rows ? 0 : p.rows - unit < share ? (uint32_t) (p.rows - unit) : share; /* heads */
    uint4 ahead[2][2] = {}; /* a head past the end takes part as zeros, or as what was */
    if (there > 0)
        ahead[0][0] = fast_stream(x), ahead[0][1] = fast_stream(x + LANES * 16);
    const uint32_t mine = TOKENS ? unit + ((uint32_t) lane & (share - 1)) : unit; /* TOKENS: a lane looks up one of them */
    const struct fast_kv_asked asked = fast_kv_ask(p, mine);
    uint4 weight[4] = {};
    if (p.weight != nullptr)
        fast_kv_load_weights<LANES>(p, lane, weight);
    struct fast_kv_at at = fast_kv_locate<true>(p, mine, asked);
    if (TOKENS && ROPE != FAST_KV_STILL && at.row != nullptr) { /* rows of the table, in lines of 128 bytes, 1 KiB each or more */
        const int line = (int) ((uint32_t) lane / share) * 128;
        if (line < p.rotary_dim * (p.table_f32 ? 4 : 2))
            fast_kv_prefetch(at.row + line);
    }
    struct fast_kv_angles angles[TOKENS ? 2 : 1] = {};
    if (ROPE != FAST_KV_STILL)
        fast_kv_read_angles<LANES, ROPE>(p, TOKENS ? fast_kv_of_lane(at.row, 0) : at.row, lane, angles[0]);
    float w[2][8];
    fast_kv_weights(p, weight, w);
    if (!TOKENS)
        fast_kv_sign_angles(angles[0]);
    const int first_code = fast_kv_first_code<LANES>(p.code_align < 8, lane);
    struct fast_kv_target to = { at.codes + first_code, fast_kv_scale(p, at, (uint32_t) group), at.active };
    const int64_t first_scale = to.scale - at.scales;
#pragma unroll 1
    for (uint32_t u = 0; u < share; u += 2) {
#pragma unroll
        for (uint32_t i = 0; i < 2; i++) { /* two sets of registers for what is under way, so that none is copied */
            if (i != 0 && u + 1 == share)
                break;
            struct fast_kv_angles &turns = angles[TOKENS ? i : 0];
            if (TOKENS) {
                if (ROPE != FAST_KV_STILL) /* of the next token; past the last one those of lanes that look up another */
                    fast_kv_read_angles<LANES, ROPE>(p, fast_kv_of_lane(at.row, (int) (u + i + 1)), lane, angles[i ^ 1]);
                to.codes = fast_kv_of_lane(at.codes, (int) (u + i)) + first_code;
                to.scale = fast_kv_of_lane(at.scales, (int) (u + i)) + first_scale;
                to.active = __shfl_sync(FAST_WARP, at.active ? 1u : 0u, (int) (u + i)) != 0;
            }
            x += step;
            if (u + i + 1 < there)
                ahead[i ^ 1][0] = fast_stream(x), ahead[i ^ 1][1] = fast_stream(x + LANES * 16);
            float v[2][8];
            fast_bf16_unpack(ahead[i][0], v[0]);
            fast_bf16_unpack(ahead[i][1], v[1]);
            if (p.weight != nullptr) {
                const float rstd = fast_kv_rstd(p, __fmul_rn(fast_kv_sum<LANES, 2>(v), 1.0f / D)); /* the quotient's bits */
                fast_kv_weigh(v[0], rstd, w[0]);
                fast_kv_weigh(v[1], rstd, w[1]);
            }
            if (TOKENS)
                fast_kv_sign_angles(turns);
            if (ROPE != FAST_KV_STILL)
                fast_kv_quick_rotate<LANES, ROPE>(p, lane, turns, v);
            fast_kv_quick_hadamard<LANES>(p.hadamard, write, read, v);
            fast_kv_quick_cast<LANES>(p, to, v);
            if (TOKENS)
                continue;
            to.codes += p.next.codes;
            at.scales += p.next.scales;
            at.first += p.next.first;
            to.scale = LANES >= 8 ? to.scale + p.next.scales : fast_kv_scale(p, at, (uint32_t) group);
        }
    }
}

#endif
