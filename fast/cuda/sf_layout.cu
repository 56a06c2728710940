/* SPDX-License-Identifier: Apache-2.0 */
/* Scales from one layout into another (SF-1..SF-6).
 *
 * SF-5 wants values refused and nothing written, and run() may not wait for the device. So three things are enqueued, in stream
 * order: `error` is cleared; one kernel looks at every value and leaves in `error` 1 + the index of the first that is refused;
 * the next kernel writes sf_out only where `error` is still 0. The caller, who loads weights, waits and reads `error`. */
#include "common.cuh"

/* A side, in 4-byte units (an f32, or a word of four bytes): unit u of row i, batch b is at
 * data + b * batch + row(i) * row_step + u * step, row(i) being i, the place of SF-4, or the block of SF-5. Steps in bytes. */
struct fast_side {
    char *data;
    int64_t batch, row, unit;
    int64_t block_m, block_pad; /* SF-4; 0: another layout */
    bool quads;                 /* rows lie one behind the other, 16-byte aligned in fours (SF-3, col-f32) */
    bool vector;                /* f32 in rows, 16-byte aligned in fours */
};

struct fast_layout {
    struct fast_side from, to;
    int64_t batch, m, groups, words;
    int64_t rows; /* of fast_launch, which bounds row numbers of 32 bits; here they have 64 */
    unsigned long long *error;
    bool weight;
};

enum { FAST_LAYOUT_THREADS = 256 };

static __device__ __forceinline__ char *fast_unit(const struct fast_side &s, int64_t b, int64_t i, int64_t u)
{
    if (s.block_m > 0) {
        const int64_t in = i % s.block_m;
        i = i / s.block_m * s.block_pad + (in / 128 * 128 + in % 32 * 4 + in % 128 / 32);
    }
    return s.data + b * s.batch + i * s.row + u * s.unit;
}

static __device__ __forceinline__ bool fast_accepted(uint32_t bits)
{
    return bits - 0x00800000u < 0x7f000000u && (bits & 0x007fffffu) == 0;
}

/* FMT-3: byte 0 is the subnormal 2^-127, byte 255 a NaN. */
static __device__ __forceinline__ uint32_t fast_bits_of(uint32_t byte)
{
    return byte == 0 ? 0x00400000u : byte == 255 ? 0x7fc00000u : byte << 23;
}

/* A lane's tile: 4 rows from i, the 4 groups of word w. bits[r][j] of f32; word[r] of packed scales. Rows and groups that are
 * not there read as 0 (SF-6: the rest of a word is 0, and what sf_in holds there is not looked at). */
static __device__ __forceinline__ void fast_load_f32_tile(const struct fast_layout &p, int64_t b, int64_t i, int64_t w, int64_t m,
                                                          bool weight, uint32_t bits[4][4])
{
    const struct fast_side &s = p.from;
#pragma unroll
    for (int k = 0; k < 4; k++) /* k: the group in columns, the row in rows */
#pragma unroll
        for (int l = 0; l < 4; l++)
            bits[k][l] = 0;
    if (s.quads) {
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (4 * w + j < p.groups) {
                const uint4 v = fast_stream(fast_unit(s, b, i, 4 * w + j));
                bits[0][j] = v.x, bits[1][j] = v.y, bits[2][j] = v.z, bits[3][j] = v.w;
            }
        return;
    }
#pragma unroll
    for (int r = 0; r < 4; r++) {
        if (i + r >= m)
            continue;
        const char *const at = fast_unit(s, b, weight ? (i + r) / 32 : i + r, 4 * w);
        if (s.vector) {
            const uint4 v = fast_stream(at);
            bits[r][0] = v.x, bits[r][1] = v.y, bits[r][2] = v.z, bits[r][3] = v.w;
        } else {
#pragma unroll
            for (int j = 0; j < 4; j++)
                if (4 * w + j < p.groups)
                    bits[r][j] = ((const uint32_t *) at)[j];
        }
    }
}

static __device__ __forceinline__ void fast_load_words(const struct fast_layout &p, int64_t b, int64_t i, int64_t w,
                                                       uint32_t word[4])
{
    const struct fast_side &s = p.from;
    const int64_t left = p.groups - 4 * w;
    const uint32_t mask = left >= 4 ? 0xffffffffu : (1u << 8 * (int) left) - 1u;
    uint4 v = make_uint4(0, 0, 0, 0);
    if (s.quads)
        v = fast_stream(fast_unit(s, b, i, w));
    word[0] = v.x, word[1] = v.y, word[2] = v.z, word[3] = v.w;
#pragma unroll
    for (int r = 0; r < 4; r++) {
        if (!s.quads && i + r < p.m)
            word[r] = *(const uint32_t *) fast_unit(s, b, i + r, w);
        word[r] &= mask;
    }
}

static __device__ __forceinline__ void fast_store_words(const struct fast_layout &p, int64_t b, int64_t i, int64_t w,
                                                        const uint32_t word[4])
{
    if (p.to.quads) { /* rows from M on are padding, whose value is free */
        *(uint4 *) fast_unit(p.to, b, i, w) = make_uint4(word[0], word[1], word[2], word[3]);
        return;
    }
#pragma unroll
    for (int r = 0; r < 4; r++)
        if (i + r < p.m)
            *(uint32_t *) fast_unit(p.to, b, i + r, w) = word[r];
}

static __device__ __forceinline__ void fast_store_f32_tile(const struct fast_layout &p, int64_t b, int64_t i, int64_t w,
                                                           const uint32_t bits[4][4])
{
    if (p.to.quads) {
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (4 * w + j < p.groups)
                *(uint4 *) fast_unit(p.to, b, i, 4 * w + j) = make_uint4(bits[0][j], bits[1][j], bits[2][j], bits[3][j]);
        return;
    }
#pragma unroll
    for (int r = 0; r < 4; r++) {
        if (i + r >= p.m)
            continue;
        char *const at = fast_unit(p.to, b, i + r, 4 * w);
        if (p.to.vector)
            *(uint4 *) at = make_uint4(bits[r][0], bits[r][1], bits[r][2], bits[r][3]);
        else
#pragma unroll
            for (int j = 0; j < 4; j++)
                if (4 * w + j < p.groups)
                    ((uint32_t *) at)[j] = bits[r][j];
    }
}

/* A warp's tile: 32 rows by 4 words, a lane 4 rows by 1 word. In rows of f32 four lanes read 64 consecutive bytes, in columns
 * eight write 128: no sector is moved in part on either side, without shared memory. */
struct fast_tile {
    int64_t b, i, w;
};

static __device__ __forceinline__ struct fast_tile fast_tile_at(int64_t n, int64_t row_tiles, int64_t word_tiles)
{
    const int lane = threadIdx.x & 31;
    const int64_t rest = n / row_tiles, b = rest / word_tiles;
    return { b, (n - rest * row_tiles) * 32 + (lane & 7) * 4, (rest - b * word_tiles) * 4 + (lane >> 3) };
}

/* error = 1 + the least index of a value that is refused. It comes to this for no call that goes on, so a loop will do. */
static __device__ void fast_note(unsigned long long *error, unsigned long long index)
{
    unsigned long long was = *(volatile unsigned long long *) error;
    while (was == 0 || was > index + 1) {
        const unsigned long long now = atomicCAS(error, was, index + 1);
        if (now == was)
            return;
        was = now;
    }
}

static __global__ void __launch_bounds__(FAST_LAYOUT_THREADS) fast_layout_check(const __grid_constant__ struct fast_layout p)
{
    const int64_t m = p.weight ? (p.m + 31) / 32 : p.m; /* rows of sf_in */
    const int64_t row_tiles = (m + 31) / 32, word_tiles = (p.words + 3) / 4, tiles = p.batch * row_tiles * word_tiles;
    const int64_t warps = (int64_t) gridDim.x * (FAST_LAYOUT_THREADS / 32);
    for (int64_t n = ((int64_t) blockIdx.x * FAST_LAYOUT_THREADS + threadIdx.x) / 32; n < tiles; n += warps) {
        const struct fast_tile t = fast_tile_at(n, row_tiles, word_tiles);
        if (t.i >= m || t.w >= p.words)
            continue;
        uint32_t bits[4][4];
        fast_load_f32_tile(p, t.b, t.i, t.w, m, false, bits);
#pragma unroll
        for (int r = 0; r < 4; r++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                if (t.i + r < m && 4 * t.w + j < p.groups && !fast_accepted(bits[r][j]))
                    fast_note(p.error, (unsigned long long) ((t.b * m + t.i + r) * p.groups + 4 * t.w + j));
    }
}

template <bool FROM_PACKED, bool TO_PACKED>
static __global__ void __launch_bounds__(FAST_LAYOUT_THREADS) fast_layout_convert(const __grid_constant__ struct fast_layout p)
{
    if (!FROM_PACKED && TO_PACKED && *(volatile unsigned long long *) p.error != 0)
        return; /* SF-5: nothing is written */
    const int64_t row_tiles = (p.m + 31) / 32, word_tiles = (p.words + 3) / 4, tiles = p.batch * row_tiles * word_tiles;
    const int64_t warps = (int64_t) gridDim.x * (FAST_LAYOUT_THREADS / 32);
    for (int64_t n = ((int64_t) blockIdx.x * FAST_LAYOUT_THREADS + threadIdx.x) / 32; n < tiles; n += warps) {
        const struct fast_tile t = fast_tile_at(n, row_tiles, word_tiles);
        if (t.i >= p.m || t.w >= p.words)
            continue;
        uint32_t bits[4][4], word[4];
        if (FROM_PACKED)
            fast_load_words(p, t.b, t.i, t.w, word);
        else
            fast_load_f32_tile(p, t.b, t.i, t.w, p.m, p.weight, bits);
        if (FROM_PACKED && !TO_PACKED) {
#pragma unroll
            for (int r = 0; r < 4; r++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    bits[r][j] = fast_bits_of(word[r] >> 8 * j & 255u);
        }
        if (!FROM_PACKED && TO_PACKED) {
#pragma unroll
            for (int r = 0; r < 4; r++)
                word[r] = bits[r][0] >> 23 | bits[r][1] >> 23 << 8 | bits[r][2] >> 23 << 16 | bits[r][3] >> 23 << 24;
        }
        if (TO_PACKED)
            fast_store_words(p, t.b, t.i, t.w, word);
        else
            fast_store_f32_tile(p, t.b, t.i, t.w, bits);
    }
}

/* m: rows of this side. */
static struct fast_side fast_side_of(const struct sf_args &a, const struct lc_tensor *t, int64_t m)
{
    struct fast_side s = {};
    const int64_t units = a.packed ? (a.groups + 3) / 4 : a.groups, m_pad = (m + 3) / 4 * 4;
    s.data = (char *) t->data;
    s.row = 4, s.unit = 4;
    if (a.block_m > 0) { /* SF-4 */
        s.unit = t->stride[1] * 4;
        s.block_m = a.block_m, s.block_pad = (a.block_m + 127) / 128 * 128;
    } else if (a.col) { /* SF-3, col-f32 */
        s.unit = m_pad * 4;
        s.batch = units * m_pad * 4;
        s.quads = true;
    } else { /* SF-1, SF-2 */
        s.row = units * 4;
        s.batch = m * units * 4;
        s.vector = !a.packed && units % 4 == 0 && (intptr_t) s.data % 16 == 0;
    }
    return s;
}

static int64_t fast_layout_grid(int64_t batch, int64_t m, int64_t words)
{
    const int64_t tiles = batch * ((m + 31) / 32) * ((words + 3) / 4), need = (tiles + 7) / 8; /* a warp a tile */
    return need < 1 << 20 ? need : 1 << 20;
}

static int fast_sf_layout_run(const struct lc_call *call)
{
    const char *const what = "sf_layout";
    union op_args args;
    int status = ref_sf_layout_check(call, &args);
    if (status != LC_OK)
        return status;
    const struct sf_layout_args &a = args.sf_layout;
    status = fast_use_device(call, what);
    if (status != LC_OK)
        return status;
    if (a.t[SFL_ERROR] != nullptr) {
        const cudaError_t e = cudaMemsetAsync(a.t[SFL_ERROR]->data, 0, sizeof(int64_t), (cudaStream_t) call->stream);
        if (e != cudaSuccess)
            return fast_fail(call, LC_FAILED, what, cudaGetErrorString(e));
    }
    if (a.batch * a.m == 0)
        return LC_OK;
    const int64_t in_rows = a.weight ? (a.m + 31) / 32 : a.m;
    struct fast_layout p = {};
    p.from = fast_side_of(a.from, a.t[SFL_IN], in_rows);
    p.to = fast_side_of(a.to, a.t[SFL_OUT], a.m);
    p.batch = a.batch, p.m = a.m, p.groups = a.from.groups, p.words = (a.from.groups + 3) / 4;
    p.weight = a.weight;
    if (a.t[SFL_ERROR] != nullptr) {
        p.error = (unsigned long long *) a.t[SFL_ERROR]->data;
        status = fast_launch(call, what, fast_layout_check, fast_layout_grid(a.batch, in_rows, p.words), FAST_LAYOUT_THREADS, p);
        if (status != LC_OK)
            return status;
    }
    void (*const convert)(struct fast_layout) = a.from.packed ? a.to.packed ? fast_layout_convert<true, true>
                                                                            : fast_layout_convert<true, false>
                                                : a.to.packed ? fast_layout_convert<false, true>
                                                              : fast_layout_convert<false, false>;
    return fast_launch(call, what, convert, fast_layout_grid(a.batch, a.m, p.words), FAST_LAYOUT_THREADS, p);
}

extern const struct lc_kernel fast_sf_layout_kernels[];
const struct lc_kernel fast_sf_layout_kernels[] = {
    /* op, variant, dialect, on_device, claims, run, workspace */
    { "sf_layout", "tiles", nullptr, 1, 0, fast_sf_layout_run, nullptr },
    { nullptr, nullptr, nullptr, 0, 0, nullptr, nullptr },
};
