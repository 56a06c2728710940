/* SPDX-License-Identifier: Apache-2.0 */
/* Split QKV, RMSNorm of each head of q and k, rotation by the table's row, in one pass over memory (QKV-1..5).
 *
 * Which thread holds which element and the order of every sum follow from D and rope_dim alone, never from T, the heads, an address
 * or a stride: the load paths and the number of heads a thread works on differ, the arithmetic does not (DET-2).
 *
 * Roundings that a square passes on its way into s (RMS-3 wants at most 15): 4 in the product and the sums of a vector of 8 (pairs
 * by fma, then a tree), 1 over a lane's two vectors, at most 4 over the lanes of a head, 1 of the division: 10. The loop for other
 * shapes sums in f64. */
#include "common.cuh"

struct fast_qkv {
    struct fast_view x;
    char *q, *k, *v;
    const char *w[2], *b[2], *table, *positions;           /* of q, of k; b NULL without a bias */
    int64_t rows, d, heads_q, heads_kv, heads, table_rows; /* heads: of q, k and v */
    int rope, half;                                        /* rope_dim, its half */
    int lanes, log2_lanes, apart;                          /* threads a head; between the vectors of one that does not turn */
    int end_q, end_k, end_v;                               /* a token's warps for q, k and v */
    struct fast_div blocks;                                /* of a token */
    float eps, inverse;                                    /* inverse: 1 / d where that is exact, else 0 */
    bool w_f32[2], b_f32[2], table_f32, positions_64;
};

enum { FAST_QKV_WARPS = 8, FAST_QKV_D = 256 };

/* The token's row of the table; NULL: its position has none, and then nothing is read (ERR-2). */
static __device__ __forceinline__ const char *fast_angles(const struct fast_qkv &p, int64_t row)
{
    const int64_t at = p.positions_64 ? __ldg((const long long *) p.positions + row)
                                      : (int64_t) __ldg((const int *) p.positions + row);
    return at < 0 || at >= p.table_rows ? nullptr : p.table + at * p.rope * (p.table_f32 ? 4 : 2);
}

/* Eight neighbours of a vector that many threads read: through L1. Columns from d on read as zero. */
template <bool FAST>
static __device__ __forceinline__ void fast_load_shared(const char *from, bool f32, int64_t c, int64_t d, float v[8])
{
    if (FAST && c < d && f32) {
        const float4 a = __ldg((const float4 *) (from + 4 * c)), b = __ldg((const float4 *) (from + 4 * c) + 1);
        v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w, v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
    } else if (FAST && c < d) {
        fast_bf16_unpack(__ldg((const uint4 *) (from + 2 * c)), v);
    } else {
#pragma unroll
        for (int j = 0; j < 8; j++)
            v[j] = FAST || c + j >= d ? 0.0f
                   : f32              ? __ldg((const float *) from + c + j)
                                      : __uint_as_float((uint32_t) __ldg((const uint16_t *) from + c + j) << 16);
    }
}

/* RN_bf16, FMT-1. */
static __device__ __forceinline__ float fast_to_bf16(float v)
{
    return fast_bf16_lo(fast_bf16_pair(v, 0.0f));
}

/* One element before n's rounding: two products and a sum (QKV-2), or as QKV-4 has it. has_bias: a zero bias would change the sign
 * of a zero. */
template <int DIALECT> static __device__ __forceinline__ float fast_n(float x, float rstd, float w, float b, bool has_bias)
{
    const float xr = __fmul_rn(x, rstd);
    if (DIALECT == QKV_UNFUSED_BIAS) {
        const float y = fast_to_bf16(__fmul_rn(xr, w));
        return has_bias ? __fadd_rn(y, b) : y;
    }
    return has_bias ? __fmaf_rn(xr, w, b) : __fmul_rn(xr, w);
}

/* mine * c + other * s, s with its sign (APPLY-1, QKV-3). */
template <int DIALECT> static __device__ __forceinline__ float fast_rotated(float mine, float c, float other, float s)
{
    if (DIALECT == QKV_BF16ROT)
        return __fadd_rn(fast_to_bf16(__fmul_rn(mine, c)), fast_to_bf16(__fmul_rn(other, s)));
    return __fmaf_rn(mine, c, __fmul_rn(other, s));
}

/* Where head h of a token's q, k or v goes. */
static __device__ __forceinline__ char *fast_head(const struct fast_qkv &p, int64_t row, int64_t h)
{
    if (h < p.heads_q)
        return p.q + (row * p.heads_q + h) * p.d * 2;
    h -= p.heads_q;
    return h < p.heads_kv ? p.k + (row * p.heads_kv + h) * p.d * 2 : p.v + (row * p.heads_kv + h - p.heads_kv) * p.d * 2;
}

/* The sum of the squares of eight BF16, which are exact as f32. */
static __device__ __forceinline__ float fast_squares(uint4 x)
{
    float v[8], s[4];
    fast_bf16_unpack(x, v);
#pragma unroll
    for (int j = 0; j < 4; j++)
        s[j] = __fmaf_rn(v[2 * j + 1], v[2 * j + 1], __fmul_rn(v[2 * j], v[2 * j]));
    return __fadd_rn(__fadd_rn(s[0], s[1]), __fadd_rn(s[2], s[3]));
}

/* A head is a power of two of lanes, two vectors of 8 elements each, so that 8 lanes hold a head of 128. The first lanes hold what
 * rotates: vectors half of rope_dim apart, so that a pair's elements meet in one lane. The next hold the rest. A warp works on q,
 * k or v alone, on HEADS heads a lane: all their loads are in flight together, and weights, cosines and sines are converted once
 * for all of them. Lanes past a head, and heads past the last, take part in the sums with zeros and store nothing. D <= 256, half
 * of rope_dim a multiple of 8. FAST: all bases aligned to 16 bytes, D % 8 == 0. */
template <int HEADS, bool BIAS, bool FAST, int DIALECT>
static __global__ void __launch_bounds__(32 * FAST_QKV_WARPS, FAST ? 3 : 2)
    fast_qkv_heads(const __grid_constant__ struct fast_qkv p)
{
    const uint32_t row = fast_divide(blockIdx.x, p.blocks), part = blockIdx.x - row * p.blocks.by;
    const int lane = (int) threadIdx.x & 31, in_head = lane & (p.lanes - 1), d = (int) p.d;
    int warp = (int) (part * (blockDim.x / 32u) + threadIdx.x / 32u);
    if (warp >= p.end_v)
        return; /* a whole warp, here and below */
    const bool is_v = warp >= p.end_k, is_k = !is_v && warp >= p.end_q;
    warp -= is_v ? p.end_k : is_k ? p.end_q : 0;
    const int heads = (int) (is_v || is_k ? p.heads_kv : p.heads_q);
    const int64_t before = is_v ? p.heads_q + p.heads_kv : is_k ? p.heads_q : 0; /* heads of the row ahead of these */
    const int at_once = 32 >> p.log2_lanes;
    const int first = warp * (at_once * HEADS) + (lane >> p.log2_lanes);

    const bool rotates = 16 * in_head < p.rope;
    int c[2];
    c[0] = rotates ? 8 * in_head : p.rope + 8 * (in_head - p.rope / 16);
    c[1] = rotates ? c[0] + p.half : c[0] + p.apart;
    if (!rotates && c[0] >= p.rope + p.apart)
        c[0] = c[1] = d; /* nothing is left for this lane */

    const int64_t position = p.positions_64 ? __ldg((const long long *) p.positions + row)
                                            : (int64_t) __ldg((const int *) p.positions + row);
    const char *const x = p.x.data + (int64_t) row * p.x.row + (before + first) * d * 2;
    const int64_t head_bytes = (int64_t) at_once * d * 2;
    uint4 r[HEADS][2];
    bool there[HEADS][2];
#pragma unroll
    for (int u = 0; u < HEADS; u++) {
#pragma unroll
        for (int k = 0; k < 2; k++) {
            there[u][k] = (first + u * at_once < heads) & (c[k] < d); /* one predicate, no branch */
            if constexpr (FAST)
                r[u][k] = there[u][k] ? fast_stream(x + u * head_bytes + 2 * c[k]) : make_uint4(0, 0, 0, 0);
            else
                r[u][k] = there[u][k] ? fast_load_bf16<FAST>(x + u * head_bytes, c[k], d) : make_uint4(0, 0, 0, 0);
        }
    }
    char *const y = (is_v ? p.v : is_k ? p.k : p.q) + ((int64_t) row * heads + first) * d * 2;
    const auto store = [&](int u) {
#pragma unroll
        for (int k = 0; k < 2; k++)
            if (there[u][k])
                fast_store_bf16<FAST>(y + u * head_bytes, c[k], d, r[u][k]);
    };
    if (is_v) { /* bit by bit */
#pragma unroll
        for (int u = 0; u < HEADS; u++)
            store(u);
        return;
    }

    float cos[8], sin[8];
    if (rotates && position >= 0 && position < p.table_rows) {
        const char *const angles = p.table + position * p.rope * (p.table_f32 ? 4 : 2);
        fast_load_shared<FAST>(angles, p.table_f32, c[0], p.rope, cos);
        fast_load_shared<FAST>(angles, p.table_f32, c[1], p.rope, sin);
    } else { /* a position that the table does not have: nothing is read (ERR-2) */
#pragma unroll
        for (int j = 0; j < 8; j++)
            cos[j] = sin[j] = 0.0f;
    }

    float rstd[HEADS];
#pragma unroll
    for (int u = 0; u < HEADS; u++)
        rstd[u] = __fadd_rn(fast_squares(r[u][0]), fast_squares(r[u][1]));
    for (int o = p.lanes / 2; o > 0; o >>= 1) {
#pragma unroll
        for (int u = 0; u < HEADS; u++)
            rstd[u] = __fadd_rn(rstd[u], __shfl_xor_sync(FAST_WARP, rstd[u], o));
    }
#pragma unroll
    for (int u = 0; u < HEADS; u++) {
        const float mean = p.inverse > 0.0f ? __fmul_rn(rstd[u], p.inverse) : __fdiv_rn(rstd[u], (float) d); /* the same bits */
        rstd[u] = __frsqrt_rn(__fadd_rn(mean, p.eps)); /* RMS-4, correctly rounded */
    }

    float n[DIALECT == QKV_SIMT ? HEADS : 1][2][8]; /* else BF16 says it all */
#pragma unroll
    for (int k = 0; k < 2; k++) { /* weights of one vector at a time: registers */
        float w[8], b[8];
        fast_load_shared<FAST>(p.w[is_k], p.w_f32[is_k], c[k], d, w);
        if constexpr (BIAS)
            fast_load_shared<FAST>(p.b[is_k], p.b_f32[is_k], c[k], d, b);
#pragma unroll
        for (int u = 0; u < HEADS; u++) {
            float v[8];
            fast_bf16_unpack(r[u][k], v);
#pragma unroll
            for (int j = 0; j < 8; j++)
                v[j] = fast_n<DIALECT>(v[j], rstd[u], w[j], BIAS ? b[j] : 0.0f, BIAS);
            r[u][k] = fast_bf16_pack(v);
#pragma unroll
            for (int j = 0; DIALECT == QKV_SIMT && j < 8; j++)
                n[u][k][j] = v[j];
        }
    }
#pragma unroll
    for (int u = 0; u < HEADS; u++) {
        if (rotates) {
            float a[8], b[8];
            fast_bf16_unpack(r[u][0], a);
            fast_bf16_unpack(r[u][1], b);
#pragma unroll
            for (int j = 0; DIALECT == QKV_SIMT && j < 8; j++)
                a[j] = n[u][0][j], b[j] = n[u][1][j];
#pragma unroll
            for (int j = 0; j < 8; j++) { /* a c - b s, b c + a s */
                const float lower = a[j], upper = b[j];
                a[j] = fast_rotated<DIALECT>(lower, cos[j], upper, -sin[j]);
                b[j] = fast_rotated<DIALECT>(upper, cos[j], lower, sin[j]);
            }
            r[u][0] = fast_bf16_pack(a);
            r[u][1] = fast_bf16_pack(b);
        }
        store(u);
    }
}

static __device__ __forceinline__ float fast_element(const char *from, bool f32, int64_t i)
{
    return f32 ? ((const float *) from)[i] : __uint_as_float((uint32_t) ((const uint16_t *) from)[i] << 16);
}

/* Other shapes: a warp a head, lanes step through it, and it is read a second time, from the cache. */
template <int DIALECT> static __global__ void __launch_bounds__(256) fast_qkv_loop(const __grid_constant__ struct fast_qkv p)
{
    const uint32_t row = fast_divide(blockIdx.x, p.blocks), part = blockIdx.x - row * p.blocks.by;
    const int lane = (int) threadIdx.x & 31, step = 32;
    const int64_t h = (int64_t) part * (blockDim.x / 32) + threadIdx.x / 32, d = p.d;
    if (h >= p.heads) /* the whole warp */
        return;
    const char *const x = p.x.data + (int64_t) row * p.x.row + h * d * 2;
    uint16_t *const y = (uint16_t *) fast_head(p, row, h);
    if (h >= p.heads_q + p.heads_kv) {
        for (int64_t i = lane; i < d; i += step)
            y[i] = ((const uint16_t *) x)[i];
        return;
    }
    double sum = 0.0;
    for (int64_t i = lane; i < d; i += step) {
        const double v = (double) fast_element(x, false, i);
        sum = __fma_rn(v, v, sum);
    }
#pragma unroll
    for (int o = 16; o > 0; o >>= 1)
        sum = __dadd_rn(sum, __shfl_xor_sync(FAST_WARP, sum, o));
    const float rstd = __frsqrt_rn(__fadd_rn((float) __ddiv_rn(sum, (double) d), p.eps));
    const int is_k = h >= p.heads_q;
    const bool has_bias = p.b[0] != nullptr;
    const auto before = [&](int64_t i) {
        const float b = has_bias ? fast_element(p.b[is_k], p.b_f32[is_k], i) : 0.0f;
        return fast_n<DIALECT>(fast_element(x, false, i), rstd, fast_element(p.w[is_k], p.w_f32[is_k], i), b, has_bias);
    };
    const auto store = [&](int64_t i, float v) { y[i] = (uint16_t) fast_bf16_pair(v, 0.0f); };
    const char *const angles = fast_angles(p, row);
    for (int64_t i = lane; i < p.half; i += step) {
        const float c = angles ? fast_element(angles, p.table_f32, i) : 0.0f;
        const float s = angles ? fast_element(angles, p.table_f32, p.half + i) : 0.0f;
        float n = before(i), m = before(p.half + i);
        if (DIALECT != QKV_SIMT) {
            n = fast_to_bf16(n);
            m = fast_to_bf16(m);
        }
        store(i, fast_rotated<DIALECT>(n, c, m, -s));
        store(p.half + i, fast_rotated<DIALECT>(m, c, n, s));
    }
    for (int64_t i = p.rope + lane; i < d; i += step)
        store(i, before(i));
}

/* ---- choosing ---- */

typedef void (*fast_qkv_kernel)(struct fast_qkv);

static bool fast_is_aligned(const struct fast_qkv &p)
{
    const char *const bases[] = { p.q, p.k, p.v, p.w[0], p.w[1], p.b[0], p.b[1], p.table };
    uintptr_t all = 0;
    for (const char *base : bases)
        all |= (uintptr_t) base;
    return p.d % FAST_VECTOR == 0 && all % 16 == 0 && fast_aligned(p.x, 16);
}

/* A token's warps, when each works on `heads` heads of q, k or v. */
static int64_t fast_split(struct fast_qkv *p, int64_t heads)
{
    const int64_t q = (p->heads_q + heads - 1) / heads, kv = (p->heads_kv + heads - 1) / heads;
    p->end_q = (int) q, p->end_k = (int) (q + kv), p->end_v = (int) (q + 2 * kv);
    return q + 2 * kv;
}

template <int HEADS, bool FAST, int DIALECT> static fast_qkv_kernel fast_qkv_heads_of(const struct fast_qkv &p)
{
    return p.b[0] != nullptr ? fast_qkv_heads<HEADS, true, FAST, DIALECT> : fast_qkv_heads<HEADS, false, FAST, DIALECT>;
}

template <int DIALECT> static int fast_qkv_launch(const struct lc_call *call, struct fast_qkv p)
{
    if (p.d > FAST_QKV_D || p.half % FAST_VECTOR != 0) {
        const int64_t blocks = (p.heads + 256 / 32 - 1) / (256 / 32);
        p.blocks = fast_divider(blocks);
        return fast_launch(call, "qkv", fast_qkv_loop<DIALECT>, p.rows * blocks, 256, p);
    }
    p.lanes = 1, p.log2_lanes = 0;
    while (2 * FAST_VECTOR * p.lanes < p.d)
        p.lanes *= 2, p.log2_lanes++;
    const int64_t rest = (p.d - p.rope + FAST_VECTOR - 1) / FAST_VECTOR; /* vectors that do not turn */
    p.apart = (int) ((rest + 1) / 2 * FAST_VECTOR);
    /* Few tokens: as many blocks as there are. Else two heads a lane. The blocks of a token have as many warps each as can be. */
    const int64_t heads = 32 / p.lanes;
    const bool few = p.rows * fast_split(&p, 2 * heads) < 132 * 16;
    const int64_t warps = fast_split(&p, few ? heads : 2 * heads), most = few ? 2 : FAST_QKV_WARPS;
    const int64_t blocks = (warps + most - 1) / most, a_block = (warps + blocks - 1) / blocks;
    p.blocks = fast_divider(blocks);
    const bool aligned = fast_is_aligned(p);
    const fast_qkv_kernel kernel = few ? (aligned ? fast_qkv_heads_of<1, true, DIALECT>(p)
                                                  : fast_qkv_heads_of<1, false, DIALECT>(p))
                                       : (aligned ? fast_qkv_heads_of<2, true, DIALECT>(p)
                                                  : fast_qkv_heads_of<2, false, DIALECT>(p));
    return fast_launch(call, "qkv", kernel, p.rows * blocks, dim3((unsigned) (32 * a_block)), p);
}

template <int DIALECT> static int fast_qkv_run(const struct lc_call *call)
{
    union op_args args;
    int status = ref_qkv_check(call, &args);
    if (status != LC_OK)
        return status;
    const struct qkv_args &a = args.qkv;
    if (a.tokens == 0)
        return LC_OK; /* QKV-5 */
    struct fast_qkv p = {};
    p.x = fast_view_of(a.t[QKV_X]);
    p.q = (char *) a.t[QKV_Q]->data, p.k = (char *) a.t[QKV_K]->data, p.v = (char *) a.t[QKV_V]->data;
    for (int i = 0; i < 2; i++) {
        const struct lc_tensor *const w = a.t[QKV_W_Q + i], *const b = a.t[QKV_B_Q + i];
        p.w[i] = (const char *) w->data;
        p.w_f32[i] = w->dtype == LC_F32;
        p.b[i] = b != nullptr ? (const char *) b->data : nullptr;
        p.b_f32[i] = b != nullptr && b->dtype == LC_F32;
    }
    p.table = (const char *) a.t[QKV_TABLE]->data, p.positions = (const char *) a.t[QKV_POSITIONS]->data;
    p.table_f32 = a.t[QKV_TABLE]->dtype == LC_F32;
    p.positions_64 = a.t[QKV_POSITIONS]->dtype == LC_I64;
    p.rows = a.tokens, p.d = a.head_dim, p.table_rows = a.table_rows;
    p.heads_q = a.heads_q, p.heads_kv = a.heads_kv, p.heads = a.heads_q + 2 * a.heads_kv;
    p.rope = (int) a.rope_dim, p.half = (int) a.rope_dim / 2;
    p.eps = (float) a.eps;
    p.inverse = (p.d & (p.d - 1)) == 0 ? 1.0f / (float) p.d : 0.0f;
    status = fast_use_device(call, "qkv");
    return status != LC_OK ? status : fast_qkv_launch<DIALECT>(call, p);
}

extern const struct lc_kernel fast_qkv_kernels[];
const struct lc_kernel fast_qkv_kernels[] = {
    /* op, variant, dialect, on_device, claims, run, workspace */
    { "qkv", "heads", nullptr, 1, 0, fast_qkv_run<QKV_USUAL>, nullptr },
    { "qkv", "heads-bf16rot", "bf16rot", 1, 0, fast_qkv_run<QKV_BF16ROT>, nullptr },
    { "qkv", "heads-simt", "simt", 1, 0, fast_qkv_run<QKV_SIMT>, nullptr },
    { "qkv", "heads-unfused-bias", "unfused-bias", 1, 0, fast_qkv_run<QKV_UNFUSED_BIAS>, nullptr },
    { nullptr, nullptr, nullptr, 0, 0, nullptr, nullptr },
};
