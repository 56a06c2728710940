/* SPDX-License-Identifier: Apache-2.0 */
/* What a block of fast_lin_fold_kernel does with a stage of 128 k: fetch, look at scales, decode, multiply (linear_fold.cuh says
 * what for). */
#ifndef FAST_LINEAR_FOLD_STAGE_CUH
#define FAST_LINEAR_FOLD_STAGE_CUH

#include "linear_mma.cuh"

/* BM rows of x, 32 WARPS_N of the weight; BLOCKS are to share a processor. */
template <int BM_, int WARPS_N_, int WARPS_K_, int STAGES_, int BLOCKS_, bool E2M1_> struct fast_lin_fold {
    static constexpr int BM = BM_, WARPS_N = WARPS_N_, WARPS_K = WARPS_K_, STAGES = STAGES_, BLOCKS = BLOCKS_;
    static constexpr bool E2M1 = E2M1_;
    static constexpr int BN = 32 * WARPS_N, THREADS = 32 * WARPS_N * WARPS_K, ROWS = BN + BM, NI = BM / 8;
    static constexpr int HALVES = 2 / WARPS_K;    /* of a stage, a warp's */
    static constexpr int BATCH = NI < 4 ? NI : 4; /* 8 rows of x each, held in registers */
    static constexpr int W_CHUNKS = E2M1 ? 4 : 8; /* of 16 bytes, in a row of a stage */
    static constexpr int W_ROW = 16 * W_CHUNKS, X16_ROW = 256;
    /* In shared memory: STAGES times the weight and its scales; twice x, decoded; a flag and the largest scale of each row. Sums lie
     * over all but these. */
    static constexpr int SF_AT = BN * W_ROW, STAGE_BYTES = SF_AT + 4 * BN;
    static constexpr int X16_AT = STAGES * STAGE_BYTES, X16_BYTES = BM * X16_ROW, FLAGS_AT = X16_AT + 2 * X16_BYTES;
    static constexpr int TOPS_AT = FLAGS_AT + ROWS, BYTES = TOPS_AT + ROWS;
    static constexpr int PITCH = BN + 4; /* of sums, elements; other banks for the rows of a quad */
    static constexpr int W_COPIES = BN * W_CHUNKS / THREADS, X_COPIES = (BM * 8 + THREADS - 1) / THREADS;
    static_assert((WARPS_K == 1 || WARPS_K == 2) && NI % BATCH == 0 && STAGES >= 3, "tile");
    static_assert(W_COPIES * THREADS == BN * W_CHUNKS && THREADS % 16 == 0 && BM <= THREADS, "copies");
    static_assert(STAGE_BYTES % 16 == 0 && ROWS % 4 == 0 && BM * PITCH * 4 <= FLAGS_AT, "shared memory");
};

struct fast_lin_fold_source { /* where a thread's share of the next stage comes from */
    const char *w, *w_sf, *x, *x_sf;
};

template <class T>
static __device__ __forceinline__ struct fast_lin_fold_source fast_lin_fold_source_of(const struct fast_lin_mma &p, int64_t m0,
                                                                                      int64_t n0, int32_t first)
{
    struct fast_lin_fold_source from;
    const int u = (int) threadIdx.x;
    from.w = p.b + (n0 + u / T::W_CHUNKS) * p.b_row + (int64_t) first * T::W_ROW + u % T::W_CHUNKS * 16;
    from.w_sf = p.b_sf + 4 * (first * p.b_pad + n0 + u);
    from.x = p.a + (m0 + u / 8) * p.a_row + (int64_t) first * 128 + u % 8 * 16;
    from.x_sf = p.a_sf + 4 * (first * p.a_pad + m0 + u / 8) + u % 8 / 2;
    return from;
}

/* The weight's next stage into a slot, of which `left` groups of K are there. What is not there is zero: n rows are. */
template <class T>
static __device__ __forceinline__ void fast_lin_fold_fetch(const struct fast_lin_mma &p, struct fast_lin_fold_source &from,
                                                           uint32_t slot, int32_t left, int n)
{
    const int u = (int) threadIdx.x, row = u / T::W_CHUNKS, chunk = u % T::W_CHUNKS;
    constexpr int STEP = T::THREADS / T::W_CHUNKS; /* rows; even, so that the swap stays */
    const bool there = chunk / (T::W_CHUNKS / 4) < left;
    const uint32_t to = slot + (uint32_t) (row * T::W_ROW + (T::E2M1 ? chunk : chunk ^ (row & 1) * 4) * 16);
#pragma unroll
    for (int i = 0; i < T::W_COPIES; i++)
        fast_lin_copy16_or_0(to + (uint32_t) (i * STEP * T::W_ROW), from.w + i * STEP * p.b_row, there && row + i * STEP < n);
    if (u < T::BN)
        fast_lin_copy4_or_0(slot + (uint32_t) (T::SF_AT + 4 * u), from.w_sf, u < n);
    from.w += T::W_ROW, from.w_sf += 4 * p.b_pad;
}

/* Where shared memory has 16 bytes of a row of the weight. */
template <class T> static __device__ __forceinline__ const char *fast_lin_fold_w(const char *slot, int row, int chunk)
{
    return slot + row * T::W_ROW + (T::E2M1 ? chunk : chunk ^ (row & 1) * 4) * 16;
}

static __device__ __forceinline__ bool fast_lin_fold_some(uint4 codes, uint32_t magnitudes)
{
    return ((codes.x | codes.y | codes.z | codes.w) & magnitudes) != 0;
}

/* The largest scale of each row of the tile in a slice, 0 of rows that are not there. True: all of them are usual, and no row's
 * differ by more than F16 has room for. */
template <class T>
static __device__ __forceinline__ bool fast_lin_fold_window(const struct fast_lin_mma &p, uint8_t *tops, int64_t m0, int64_t n0,
                                                            int32_t first, int32_t count, int32_t groups)
{
    constexpr int ROUNDS = (T::ROWS + T::THREADS - 1) / T::THREADS, BATCH = 16; /* words under way at a time */
    const uint32_t *from[ROUNDS];
    int64_t step[ROUNDS];
    bool there[ROUNDS];
    uint32_t low[ROUNDS], high[ROUNDS]; /* of bytes, two at a time */
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) {
        const int u = (int) threadIdx.x + i * T::THREADS;
        const bool of_w = u < T::BN;
        const int64_t row = of_w ? n0 + u : m0 + (u - T::BN);
        there[i] = u < T::ROWS && row < (of_w ? p.n : p.rows);
        step[i] = of_w ? p.b_pad : p.a_pad;
        from[i] = (const uint32_t *) (of_w ? p.b_sf : p.a_sf) + first * step[i] + (there[i] ? row : 0);
        low[i] = ~0u, high[i] = 0;
    }
    for (int32_t s0 = 0; s0 < count; s0 += BATCH) {
        uint32_t word[ROUNDS][BATCH];
#pragma unroll
        for (int i = 0; i < ROUNDS; i++)
#pragma unroll
            for (int j = 0; j < BATCH; j++) /* the last word again beyond it */
                word[i][j] = __ldg(from[i] + min(s0 + j, count - 1) * step[i]);
#pragma unroll
        for (int i = 0; i < ROUNDS; i++)
#pragma unroll
            for (int j = 0; j < BATCH; j++) {
                const int32_t left = groups - 4 * min(s0 + j, count - 1);
                const uint32_t gone = left < 4 ? ~0u << 8 * left : 0u, w = word[i][j];
                const uint32_t full = (w & ~gone) |
                                      ((w & 255u) * 0x01010101u & gone); /* what is not there is as the first group */
                const uint32_t even = full & 0x00ff00ffu, odd = full >> 8 & 0x00ff00ffu;
                low[i] = __vminu2(low[i], __vminu2(even, odd));
                high[i] = __vmaxu2(high[i], __vmaxu2(even, odd));
            }
    }
    bool narrow = true;
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) {
        const int u = (int) threadIdx.x + i * T::THREADS;
        const uint32_t least = min(low[i] & 0xffffu, low[i] >> 16), top = max(high[i] & 0xffffu, high[i] >> 16);
        if (u < T::ROWS)
            tops[u] = there[i] ? (uint8_t) top : (uint8_t) 0;
        narrow = narrow && (!there[i] || (least >= 10u && top <= 246u && top - least <= (uint32_t) FAST_LIN_NARROW));
    }
    return narrow;
}

/* A stage's scales of the weight tried; true where a row was flagged. */
template <class T> static __device__ __forceinline__ bool fast_lin_fold_try(const char *slot, uint8_t *flags, int32_t left)
{
    const int row = (int) threadIdx.x;
    if (row >= T::BN)
        return false;
    uint32_t word = *(const uint32_t *) (slot + T::SF_AT + 4 * row);
    if (left < 4) /* bytes of groups that are not there say nothing */
        word &= (1u << 8 * left) - 1u;
    bool any = false;
    if (fast_lin_scales_odd(word)) {
#pragma unroll 1
        for (int q = 0; q < 4 && q < left; q++) {
            const uint32_t byte = word >> 8 * q & 255u;
            bool some = byte == 255u;
            if (T::E2M1)
                some |= fast_lin_fold_some(*(const uint4 *) fast_lin_fold_w<T>(slot, row, q), 0x77777777u);
            else
                some |= fast_lin_fold_some(*(const uint4 *) fast_lin_fold_w<T>(slot, row, 2 * q), 0x7f7f7f7fu) ||
                        fast_lin_fold_some(*(const uint4 *) fast_lin_fold_w<T>(slot, row, 2 * q + 1), 0x7f7f7f7fu);
            any |= some && (byte == 255u || !fast_lin_scale_plain(byte));
        }
        if (any)
            flags[row] = 1;
    }
    return any;
}

/* A thread's share of a stage's x, pieces of 16 codes, on the way to F16 or BF16. */
template <class T> struct fast_lin_fold_x {
    uint4 codes[T::X_COPIES];
    uint32_t byte[T::X_COPIES];
};

/* The next stage's, of which `left` groups of K and m rows are there; the rest is zero. */
template <class T>
static __device__ __forceinline__ void fast_lin_fold_x_get(const struct fast_lin_mma &p, struct fast_lin_fold_source &from,
                                                           struct fast_lin_fold_x<T> &x, int32_t left, int m)
{
    const int u = (int) threadIdx.x;
    constexpr int STEP = T::THREADS / 8; /* rows */
#pragma unroll
    for (int i = 0; i < T::X_COPIES; i++) {
        x.codes[i] = make_uint4(0, 0, 0, 0), x.byte[i] = 127;
        if (u % 8 / 2 < left && u / 8 + i * STEP < m) {
            x.codes[i] = fast_stream(from.x + i * STEP * p.a_row);
            x.byte[i] = __ldg((const uint8_t *) from.x_sf + 4 * i * STEP);
        }
    }
    from.x += 128, from.x_sf += 4 * p.a_pad;
}

/* True where a row was flagged. */
template <class T, bool F16>
static __device__ __forceinline__ bool fast_lin_fold_x_put(const struct fast_lin_fold_x<T> &x, char *x16, uint8_t *flags,
                                                           const uint8_t *tops, int32_t left)
{
    bool any = false;
#pragma unroll
    for (int i = 0; i < T::X_COPIES; i++) {
        const int u = (int) threadIdx.x + i * T::THREADS, row = u / 8, part = u % 8;
        if (T::BM * 8 % T::THREADS != 0 && row >= T::BM)
            break;
        const uint32_t byte = x.byte[i];
        uint32_t scale, b[8];
        if constexpr (F16) {
            scale = fast_lin_scale_pair_f16(byte, 0, fast_lin_scale_base(tops[T::BN + row]));
        } else {
            scale = byte == 255u ? 0x7fc07fc0u : byte * 0x00800080u;
            if (!fast_lin_scale_plain(byte) && fast_lin_fold_some(x.codes[i], 0x7f7f7f7fu))
                flags[T::BN + row] = 1, any = true;
        }
        scale = part / 2 < left ? scale : 0u;
        const uint32_t v[4] = { x.codes[i].x, x.codes[i].y, x.codes[i].z, x.codes[i].w };
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const uint32_t lo = fast_lin_e4m3<0>(v[j]), hi = fast_lin_e4m3<1>(v[j]);
            b[2 * j] = F16 ? fast_lin_times_f16(lo, scale) : fast_lin_times(fast_lin_bf16(lo), scale);
            b[2 * j + 1] = F16 ? fast_lin_times_f16(hi, scale) : fast_lin_times(fast_lin_bf16(hi), scale);
        }
        const int piece = T::E2M1 ? part % 2 * 8 + part / 2 : part / 4 * 8 + part % 4, swap = (row & 1) * 4;
        char *const to = x16 + row * T::X16_ROW;
        *(uint4 *) (to + (piece ^ swap) * 16) = make_uint4(b[0], b[1], b[2], b[3]);
        *(uint4 *) (to + ((piece + 4) ^ swap) * 16) = make_uint4(b[4], b[5], b[6], b[7]);
    }
    return any;
}

/* The warp's share of a stage. */
template <class T, bool F16>
static __device__ __forceinline__ void fast_lin_fold_stage(const char *slot, const char *x16, const uint32_t base[2][2],
                                                           int32_t left, int wn, int wk, float acc[2][T::NI][4])
{
    const int g = ((int) threadIdx.x & 31) / 4, t = (int) threadIdx.x & 3, odd = g & 1;
#pragma unroll
    for (int half = 0; half < T::HALVES; half++) {
        const int h = T::WARPS_K == 1 ? half : wk;
        uint32_t w[2][2][4], scale[2][2]; /* rows 16 i + 8 j + g */
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int j = 0; j < 2; j++) {
                const int row = 32 * wn + 16 * i + 8 * j + g;
                if constexpr (T::E2M1) {
                    const uint2 v = *(const uint2 *) (slot + row * T::W_ROW + 16 * t + 8 * h);
                    w[i][j][0] = v.x, w[i][j][1] = v.y;
                } else {
                    const uint4 v = *(const uint4 *) (slot + row * T::W_ROW + ((4 * h + t) ^ 4 * odd) * 16);
                    w[i][j][0] = v.x, w[i][j][1] = v.y, w[i][j][2] = v.z, w[i][j][3] = v.w;
                }
                const uint32_t word = *(const uint32_t *) (slot + T::SF_AT + 4 * row),
                               q = (uint32_t) (T::E2M1 ? t : 2 * h + t / 2);
                scale[i][j] = F16 ? fast_lin_scale_pair_f16(word, q, base[i][j]) : fast_lin_scale_pair(word, q);
                if (q >= (uint32_t) left)
                    scale[i][j] = 0u; /* whatever its byte */
            }
#pragma unroll
        for (int piece = 0; piece < 2; piece++) {
            uint32_t a[2][2][4]; /* [step] */
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 2; j++)
#pragma unroll
                    for (int s = 0; s < 2; s++) {
                        uint32_t lo, hi;
                        if constexpr (T::E2M1) {
                            if (F16)
                                fast_lin_e2m1(w[i][j][piece] >> 16 * s, &lo, &hi);
                            else
                                fast_lin_e2m1_bf16(w[i][j][piece] >> 16 * s, &lo, &hi);
                        } else {
                            lo = fast_lin_e4m3<0>(w[i][j][2 * piece + s]), hi = fast_lin_e4m3<1>(w[i][j][2 * piece + s]);
                            if (!F16)
                                lo = fast_lin_bf16(lo), hi = fast_lin_bf16(hi);
                        }
                        a[s][i][j] = F16 ? fast_lin_times_f16(lo, scale[i][j]) : fast_lin_times(lo, scale[i][j]);
                        a[s][i][2 + j] = F16 ? fast_lin_times_f16(hi, scale[i][j]) : fast_lin_times(hi, scale[i][j]);
                    }
            const char *const from = x16 + g * T::X16_ROW + h * 128 + ((piece ^ odd) * 4 + t) * 16;
#pragma unroll
            for (int n0 = 0; n0 < T::NI; n0 += T::BATCH) {
                uint4 b[T::BATCH];
#pragma unroll
                for (int n = 0; n < T::BATCH; n++)
                    b[n] = *(const uint4 *) (from + (n0 + n) * 8 * T::X16_ROW);
#pragma unroll
                for (int n = 0; n < T::BATCH; n++)
#pragma unroll
                    for (int i = 0; i < 2; i++)
                        fast_lin_core_add<F16>(acc[i][n0 + n], a[0][i], b[n].x, b[n].y);
#pragma unroll
                for (int n = 0; n < T::BATCH; n++)
#pragma unroll
                    for (int i = 0; i < 2; i++)
                        fast_lin_core_add<F16>(acc[i][n0 + n], a[1][i], b[n].z, b[n].w);
            }
        }
    }
}

#endif
