/* SPDX-License-Identifier: Apache-2.0 */
/* Cast to E4M3 or E2M1 per group of channels, CAST-1..8 and CAST-10, with its scales in SF-1, SF-2, SF-3 or col-f32, ragged or
 * not (SF-6), and SF-4 beside.
 *
 * A group's maximum is exact, hence order-free: how elements are spread over threads cannot show in a bit (DET-1, DET-2), and
 * three kernels may share the work by shape. */
#include "scale.cuh"

struct fast_cast {
    struct fast_view x, out;
    int64_t rows, d;
    struct fast_div m;
    struct fast_sf sf;
    /* the flat kernel's: vectors of all rows and of one row; bytes from a row's end to the next row */
    uint32_t vectors;
    struct fast_div row_vectors;
    int32_t gap;
};

enum { FAST_CAST_THREADS = 256 };
enum { FAST_TO_E4M3, FAST_TO_E2M1, FAST_TO_E2M1_ZERO /* ties toward zero, no code 8: dialect deepgemm (CAST-9) */ };

template <bool FAST> static __device__ __forceinline__ void fast_load(const uint16_t *row, int64_t c, int64_t d, float v[8])
{
    fast_bf16_unpack(fast_load_bf16<FAST>((const char *) row, c, d), v);
}

template <bool FAST> static __device__ __forceinline__ void fast_load(const float *row, int64_t c, int64_t d, float v[8])
{
    fast_load_f32<FAST>((const char *) row, c, d, v);
}

/* 16 bytes (BF16) or 32 bytes (F32) of input as they lie in memory. */
template <typename X> struct fast_raw {
    uint4 part[sizeof(X) / 2];
};

static __device__ __forceinline__ void fast_unpack(const struct fast_raw<uint16_t> &r, float v[8])
{
    fast_bf16_unpack(r.part[0], v);
}

static __device__ __forceinline__ void fast_unpack(const struct fast_raw<float> &r, float v[8])
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        v[4 * h] = __uint_as_float(r.part[h].x), v[4 * h + 1] = __uint_as_float(r.part[h].y);
        v[4 * h + 2] = __uint_as_float(r.part[h].z), v[4 * h + 3] = __uint_as_float(r.part[h].w);
    }
}

/* Aligned, evenly spaced rows of whole groups, taken as one flat run of vectors: no lane idles at a row's end whatever d is,
 * K vectors a thread are in flight before the first is used, and rows come back by one multiplication. Groups and words are
 * whole within a warp because a row is a whole number of them. */
template <typename X, int GROUP, int K>
static __global__ void __launch_bounds__(FAST_CAST_THREADS, 4) fast_cast_flat(const __grid_constant__ struct fast_cast p)
{
    const uint32_t first = blockIdx.x * (FAST_CAST_THREADS * K) + threadIdx.x;
    struct fast_raw<X> raw[K];
    uint32_t row[K], bits[K];
    int c[K];
    const int d = (int) p.d;
#pragma unroll
    for (int k = 0; k < K; k++) {
        const uint32_t n = first + (uint32_t) k * FAST_CAST_THREADS;
        row[k] = fast_divide(n, p.row_vectors);
        c[k] = n < p.vectors ? (int) (n - row[k] * p.row_vectors.by) * FAST_VECTOR : d;
        const char *at = p.x.data + (uint64_t) n * (FAST_VECTOR * sizeof(X)) + (int64_t) (int32_t) row[k] * p.gap;
#pragma unroll
        for (int h = 0; h < (int) sizeof(X) / 2; h++)
            raw[k].part[h] = n < p.vectors ? fast_stream(at + 16 * h) : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int k = 0; k < K; k++) {
        float v[8];
        fast_unpack(raw[k], v);
        const uint2 q = fast_cast_vector<GROUP>(p.sf, v, &bits[k]);
        if (c[k] < d)
            __stcs((uint2 *) p.out.data + (first + (uint32_t) k * FAST_CAST_THREADS), q);
    }
    fast_put_scales<GROUP, K>(
        p.sf, [&](int k) { return fast_at_row(row[k], p.m); }, c, d, bits);
}

/* Codes and scale of one vector a lane, E2M1; as fast_cast_vector. */
template <bool TO_ZERO>
static __device__ __forceinline__ uint32_t fast_cast_vector_e2m1(const struct fast_sf &s, const float v[8], uint32_t *bits)
{
    const int lanes = 1 << (s.log2_group - 3);
    float amax = fast_amax(v);
#pragma unroll
    for (int o = 1; o < 16; o <<= 1)
        if (o < lanes)
            amax = fmaxf(amax, __shfl_xor_sync(FAST_WARP, amax, o));
    const struct fast_scale f = fast_scale_e2m1(amax, s.round, s.floor);
    *bits = f.bits;
    return fast_codes_e2m1<TO_ZERO>(v, f.mul);
}

/* Any address, any d: a warp takes 256 columns of a row at a time, so that ragged rows and groups need no case of their own;
 * vectors where the row happens to be aligned, single elements elsewhere. */
template <typename X, int TO>
static __global__ void __launch_bounds__(FAST_CAST_THREADS) fast_cast_any(const __grid_constant__ struct fast_cast p)
{
    const int64_t chunks = (p.d + 255) / 256, warps = (int64_t) gridDim.x * (FAST_CAST_THREADS / 32);
    for (int64_t w = ((int64_t) blockIdx.x * FAST_CAST_THREADS + threadIdx.x) / 32; w < p.rows * chunks; w += warps) {
        const int64_t n = w / chunks, c = (w - n * chunks) * 256 + (threadIdx.x & 31) * FAST_VECTOR;
        const struct fast_at at = fast_at_row((uint32_t) n, p.m);
        float v[8];
        fast_load<false>((const X *) fast_row(p.x, at), c, p.d, v);
        uint32_t bits;
        if (TO != FAST_TO_E4M3)
            fast_store_e2m1(p.out.data + n * (p.d / 2), c, p.d, fast_cast_vector_e2m1<TO == FAST_TO_E2M1_ZERO>(p.sf, v, &bits));
        else
            fast_store_codes<false>(p.out.data + n * p.d, c, p.d, fast_cast_vector<FAST_ANY_GROUP>(p.sf, v, &bits));
        fast_put_scales<FAST_ANY_GROUP, 1>(
            p.sf, [&](int) { return at; }, &c, p.d, &bits);
    }
}

/* The row as one group of a size that does not divide a warp's columns: a block a row, which it reads twice (from L2 then). */
template <typename X, int TO>
static __global__ void __launch_bounds__(FAST_CAST_THREADS) fast_cast_row(const __grid_constant__ struct fast_cast p)
{
    __shared__ float part[FAST_CAST_THREADS / 32];
    for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
        const struct fast_at at = fast_at_row((uint32_t) row, p.m);
        const X *x = (const X *) fast_row(p.x, at);
        float v[8], amax = 0.0f;
        for (int64_t c = threadIdx.x * FAST_VECTOR; c < p.d; c += FAST_CAST_THREADS * FAST_VECTOR) {
            fast_load<false>(x, c, p.d, v);
            amax = fmaxf(amax, fast_amax(v));
        }
#pragma unroll
        for (int o = 16; o > 0; o >>= 1)
            amax = fmaxf(amax, __shfl_xor_sync(FAST_WARP, amax, o));
        __syncthreads(); /* the row before has been read */
        if ((threadIdx.x & 31) == 0)
            part[threadIdx.x / 32] = amax;
        __syncthreads();
#pragma unroll
        for (int j = 0; j < FAST_CAST_THREADS / 32; j++)
            amax = fmaxf(amax, part[j]);
        const struct fast_scale f = TO != FAST_TO_E4M3 ? fast_scale_e2m1(amax, p.sf.round, p.sf.floor)
                                                       : fast_scale_of(amax, p.sf.round, p.sf.floor, p.sf.inverse);
        if (threadIdx.x == 0)
            fast_put_row_scale(p.sf, at, f.bits);
        for (int64_t c = threadIdx.x * FAST_VECTOR; c < p.d; c += FAST_CAST_THREADS * FAST_VECTOR) {
            fast_load<false>(x, c, p.d, v);
            if (TO != FAST_TO_E4M3)
                fast_store_e2m1(p.out.data + row * (p.d / 2), c, p.d, fast_codes_e2m1<TO == FAST_TO_E2M1_ZERO>(v, f.mul));
            else
                fast_store_codes<false>(p.out.data + row * p.d, c, p.d, fast_codes(v, f.mul));
        }
    }
}

template <typename X> static int fast_cast_launch(const struct lc_call *call, struct fast_cast p, int to)
{
    const char *const what = "cast";
    const struct fast_sf &s = p.sf;
    const int64_t vectors = p.rows * (p.d / FAST_VECTOR), blocks = 132 * 16, m = p.m.by;
    if (s.log2_group < 0)
        return fast_launch(call, what,
                           to == FAST_TO_E4M3   ? fast_cast_row<X, FAST_TO_E4M3>
                           : to == FAST_TO_E2M1 ? fast_cast_row<X, FAST_TO_E2M1>
                                                : fast_cast_row<X, FAST_TO_E2M1_ZERO>,
                           p.rows < blocks ? p.rows : blocks, FAST_CAST_THREADS, p);
    const int64_t gap = (m == 1 ? p.x.batch : p.x.row) - p.d * (int64_t) sizeof(X);
    const bool words = !s.packed || s.groups % 4 == 0; /* SF-6: a word may end within a warp otherwise */
    const bool whole = to == FAST_TO_E4M3 && words && p.d % s.group == 0 && vectors < (int64_t) 1 << 30 && p.d <= INT32_MAX;
    const bool aligned = fast_aligned(p.x, 16) && (intptr_t) p.out.data % 8 == 0;
    const bool even = (p.rows == m || m == 1 || p.x.batch == m * p.x.row) && gap == (int32_t) gap; /* one distance between rows */
    if (!whole || !aligned || !even) {
        const int64_t need = (p.rows * ((p.d + 255) / 256) + 7) / 8;
        return fast_launch(call, what,
                           to == FAST_TO_E4M3   ? fast_cast_any<X, FAST_TO_E4M3>
                           : to == FAST_TO_E2M1 ? fast_cast_any<X, FAST_TO_E2M1>
                                                : fast_cast_any<X, FAST_TO_E2M1_ZERO>,
                           need < 1 << 20 ? need : 1 << 20, FAST_CAST_THREADS, p);
    }
    p.vectors = (uint32_t) vectors;
    p.gap = (int32_t) gap;
    p.row_vectors = fast_divider(p.d / FAST_VECTOR);
    constexpr int K = sizeof(X) == 2 ? 4 : 2; /* 64 bytes a thread in flight */
    const int64_t one = (vectors + FAST_CAST_THREADS - 1) / FAST_CAST_THREADS, many = (one + K - 1) / K;
    if (s.group != 32 || !s.round)
        return fast_launch(call, what, fast_cast_flat<X, FAST_ANY_GROUP, K>, many, FAST_CAST_THREADS, p);
    if (one <= blocks) /* few tokens: more blocks, each with less to wait for */
        return fast_launch(call, what, fast_cast_flat<X, 32, 1>, one, FAST_CAST_THREADS, p);
    return fast_launch(call, what, fast_cast_flat<X, 32, K>, many, FAST_CAST_THREADS, p);
}

template <int DIALECT> static int fast_cast_run(const struct lc_call *call)
{
    union op_args args;
    int status = ref_cast_check(call, &args);
    if (status != LC_OK)
        return status;
    args.cast.sf.dialect = (enum cast_dialect) DIALECT;
    const struct cast_args &a = args.cast;
    if (a.batch == 0 || a.m == 0)
        return LC_OK; /* CAST-10: nothing to write */
    if (a.t[CAST_X]->rank > 3)
        return fast_fail(call, LC_UNSUPPORTED, "cast", "x has more than 3 dimensions");
    struct fast_cast p = {};
    p.x = fast_view_of(a.t[CAST_X]);
    p.out = fast_view_of(a.t[CAST_OUT]);
    p.rows = a.batch * a.m, p.d = a.d;
    p.m = fast_divider(p.rows < INT32_MAX ? a.m : 1); /* fast_launch refuses more rows */
    p.sf = fast_sf_of(a.sf, a.m, a.t[CAST_SF], a.t[CAST_EXTRA_SF]);
    if (p.sf.log2_group < 0 && a.sf.groups != 1)
        return fast_fail(call, LC_UNSUPPORTED, "cast", "group size");
    status = fast_use_device(call, "cast");
    if (status != LC_OK)
        return status;
    const int to = !a.sf.e2m1 ? FAST_TO_E4M3 : DIALECT == CAST_DEEPGEMM ? FAST_TO_E2M1_ZERO : FAST_TO_E2M1;
    return a.t[CAST_X]->dtype == LC_F32 ? fast_cast_launch<float>(call, p, to) : fast_cast_launch<uint16_t>(call, p, to);
}

extern const struct lc_kernel fast_cast_kernels[];
const struct lc_kernel fast_cast_kernels[] = {
    /* op, variant, dialect, on_device, claims, run, workspace */
    { "cast", "vec", nullptr, 1, 0, fast_cast_run<CAST_USUAL>, nullptr },
    { "cast", "vec-deepgemm", "deepgemm", 1, 0, fast_cast_run<CAST_DEEPGEMM>, nullptr },
    { "cast", "vec-sf-floor", "sf-floor", 1, 0, fast_cast_run<CAST_SF_FLOOR>, nullptr },
    /* the usual kernel: no finite group has a value past 464 (CAST-5), and an Inf's code is unspecified (CAST-7) */
    { "cast", "vec-f32-nan", "f32-nan", 1, 0, fast_cast_run<CAST_F32_NAN>, nullptr },
    { nullptr, nullptr, nullptr, 0, 0, nullptr, nullptr },
};
