/* SPDX-License-Identifier: Apache-2.0 */
/* Norm, rotation, Hadamard transform, E4M3 cast and store into a paged KV pool in one pass, KV-1..6.
 *
 * A head is read once, in vectors of eight neighbours a lane, stays in registers, and only its codes and scale bytes are written.
 * Which lane holds which element, and the order of every sum, follow from head_dim alone (DET-2).
 *
 * Roundings that a square passes on its way into the mean (RMS-3 wants at most 15): 3 in a chain over two vectors, 2 over chains,
 * at most 1 over pairs of vectors, at most 5 over lanes, 1 for the division: 12. The block kernel sums in f64.
 * A term of the transform passes one addition for each bit of head_dim and the product with the scale (HAD-3). */
#include "kv_store_lanes.cuh"
#include "kv_store_quick.cuh"

/* ---- other head_dim <= 1024, and the rest of those ---- */

/* Buys: short heads share a warp, so that every lane has 16 bytes to load, and no barrier is wider than a warp. Partners of a
 * rotation meet in shared memory, which costs nothing where nothing rotates; all else goes by shuffles. FAST: rows of x, the
 * weight and a BF16 out at multiples of 16 bytes, head_dim one of 8. */
template <int LANES, int V, bool FAST>
static __global__ void __launch_bounds__(FAST_KV_THREADS) fast_kv_warp(const __grid_constant__ struct fast_kv p)
{
    __shared__ float4 shared[FAST_KV_WARPS * 64 * V];
    const int warp = (int) threadIdx.x / 32, lane = (int) threadIdx.x & (LANES - 1), part = ((int) threadIdx.x & 31) / LANES;
    const uint32_t unit = (blockIdx.x * FAST_KV_WARPS + (uint32_t) warp) * (32 / LANES) + (uint32_t) part;
    const struct fast_kv_at at = fast_kv_locate<false>(p, unit, fast_kv_ask(p, unit));
    const int d = unit < p.rows ? p.d : 0; /* a head past the end takes part with no elements */
    const char *const x = p.x + (int64_t) at.token * p.token + (int64_t) at.head * p.head;
    float v[V][8];
#pragma unroll
    for (int k = 0; k < V; k++)
        fast_bf16_unpack(fast_load_bf16<FAST>(x, (k * LANES + lane) * 8, d), v[k]);
    if (p.weight != nullptr)
        fast_kv_norm<LANES, V, FAST>(p, lane, v);
    if (p.table != nullptr) {
        float *const head = (float *) (shared + warp * 64 * V) + part * LANES * 8 * V;
#pragma unroll
        for (int k = 0; k < V; k++) {
            float4 *const to = (float4 *) (head + (k * LANES + lane) * 8);
            to[0] = make_float4(v[k][0], v[k][1], v[k][2], v[k][3]);
            to[1] = make_float4(v[k][4], v[k][5], v[k][6], v[k][7]);
        }
        __syncwarp();
#pragma unroll
        for (int k = 0; k < V; k++) {
            if (at.row != nullptr)
                fast_kv_rotate(p, at.row, head, (k * LANES + lane) * 8, v[k]);
            if (p.bf16_stages)
                fast_kv_round(v[k]);
        }
    }
    if (p.hadamard) {
        fast_kv_hadamard<LANES, V>(p.d, v);
#pragma unroll
        for (int k = 0; k < V; k++)
            fast_kv_scaled(p, v[k]);
    }
    if (p.cast) {
        fast_kv_cast<LANES, V>(p, at, lane, v);
        return;
    }
#pragma unroll
    for (int k = 0; k < V; k++)
        if (at.active)
            fast_store_bf16<FAST>(at.codes, (k * LANES + lane) * 8, d, fast_bf16_pack(v[k]));
}

/* ---- head_dim > 1024: a block a head ---- */

static __device__ double fast_kv_block_sum(double sum)
{
    __shared__ double part[FAST_KV_WARPS];
#pragma unroll
    for (int o = 16; o > 0; o >>= 1)
        sum = __dadd_rn(sum, __shfl_xor_sync(FAST_WARP, sum, o));
    if ((threadIdx.x & 31) == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0.0;
    for (int j = 0; j < FAST_KV_WARPS; j++)
        sum = __dadd_rn(sum, part[j]);
    return sum;
}

/* Buys: any head_dim that shared memory holds, for shapes that no cache has: the head lies there, and a stage is a pass over it. */
static __global__ void __launch_bounds__(FAST_KV_THREADS) fast_kv_block(const __grid_constant__ struct fast_kv p)
{
    extern __shared__ float4 fast_kv_shared[];
    float *const v = (float *) fast_kv_shared;
    const struct fast_kv_at at = fast_kv_locate<false>(p, blockIdx.x, fast_kv_ask(p, blockIdx.x));
    const int tid = (int) threadIdx.x, d = p.d, step = FAST_KV_THREADS * 8;
    const char *const x = p.x + (int64_t) at.token * p.token + (int64_t) at.head * p.head;
    if (!at.active)
        return; /* the whole block does */
    double sum = 0.0;
    for (int c = tid * 8; c < d; c += step) {
        float e[8];
        fast_bf16_unpack(fast_load_bf16<false>(x, c, d), e);
#pragma unroll
        for (int j = 0; j < 8; j++) {
            sum = __fma_rn((double) e[j], (double) e[j], sum);
            if (c + j < d)
                v[c + j] = e[j];
        }
    }
    if (p.weight != nullptr) {
        sum = fast_kv_block_sum(sum);
        const float rstd = __frsqrt_rn(__fadd_rn((float) __ddiv_rn(sum, (double) d), p.eps));
        for (int c = tid * 8; c < d; c += step) {
            float w[8], e[8];
            fast_kv_weight<false>(p, c, d, w);
#pragma unroll
            for (int j = 0; j < 8; j++)
                e[j] = c + j < d ? __fmul_rn(__fmul_rn(v[c + j], rstd), w[j]) : 0.0f;
            if (p.bf16_stages)
                fast_kv_round(e);
            for (int j = 0; j < 8 && c + j < d; j++)
                v[c + j] = e[j];
        }
    }
    __syncthreads();
    if (p.table != nullptr) {
        const int pairs = p.rotary_dim / 2;
        for (int i = tid; i < pairs; i += FAST_KV_THREADS) {
            float *const a = v + p.offset + (p.interleaved ? 2 * i : i), *const b = a + (p.interleaved ? 1 : pairs);
            const float c = fast_kv_entry(p, at.row, i), entry = fast_kv_entry(p, at.row, pairs + i);
            const float s = p.conjugate ? -entry : entry, first = *a, second = *b;
            *a = fast_kv_turn(first, second, c, -s);
            *b = fast_kv_turn(second, first, c, s);
            if (p.bf16_stages) {
                const uint32_t pair = fast_bf16_pair(*a, *b);
                *a = fast_bf16_lo(pair), *b = fast_bf16_hi(pair);
            }
        }
        __syncthreads();
    }
    for (int bit = 1; p.hadamard && bit < d; bit *= 2) {
        for (int t = tid; t < d / 2; t += FAST_KV_THREADS) {
            const int i = 2 * (t & ~(bit - 1)) + (t & (bit - 1));
            const float a = v[i], b = v[i + bit];
            v[i] = __fadd_rn(a, b);
            v[i + bit] = __fsub_rn(a, b);
        }
        __syncthreads();
    }
    const struct fast_sf usual = {};
    for (int start = 0; start < d; start += step) { /* every lane stays for the shuffles */
        const int c = start + tid * 8;
        float e[8];
#pragma unroll
        for (int j = 0; j < 8; j++)
            e[j] = c + j < d ? v[c + j] : 0.0f;
        if (p.hadamard)
            fast_kv_scaled(p, e);
        if (!p.cast) {
            fast_store_bf16<false>(at.codes, c, d, fast_bf16_pack(e));
            continue;
        }
        uint32_t bits;
        const uint2 q = fast_cast_vector<32>(usual, e, &bits);
        if (c < d)
            fast_kv_put_codes(at.codes + c, q, p.code_align);
        if (c < d && (tid & 3) == 0)
            *fast_kv_scale(p, at, (uint32_t) c / 32u) = (char) (bits >> 23);
    }
}

/* ---- choosing ---- */

template <int LANES, int V> static int fast_kv_launch(const struct lc_call *call, bool aligned, const struct fast_kv &p)
{
    const int64_t heads = FAST_KV_WARPS * (32 / LANES); /* of a block */
    return fast_launch(call, "kv_store", aligned ? fast_kv_warp<LANES, V, true> : fast_kv_warp<LANES, V, false>,
                       (p.rows + heads - 1) / heads, FAST_KV_THREADS, p);
}

/* Several heads a lane where 2048 warps are left, which a device of 132 multiprocessors holds all at once, else fewer: few tokens
 * want to be done soon. */
template <int LANES> static int fast_kv_launch_quick(const struct lc_call *call, int rope, const struct fast_kv &p)
{
    constexpr bool whole = LANES == 32; /* a warp a head */
    static void (*const kernels[][2])(struct fast_kv) = {
        { fast_kv_quick<LANES, FAST_KV_STILL, false>, fast_kv_quick<LANES, FAST_KV_STILL, whole> },
        { fast_kv_quick<LANES, FAST_KV_OWN, false>, fast_kv_quick<LANES, FAST_KV_OWN, whole> },
        { fast_kv_quick<LANES, FAST_KV_LANES_0, false>, fast_kv_quick<LANES, FAST_KV_LANES_0, whole> },
        { fast_kv_quick<LANES, FAST_KV_LANES_1, false>, fast_kv_quick<LANES, FAST_KV_LANES_1, whole> },
        { fast_kv_quick<LANES, FAST_KV_INTERLEAVED, false>, fast_kv_quick<LANES, FAST_KV_INTERLEAVED, whole> },
    };
    struct fast_kv q = p;
    const bool tokens = whole && p.heads.by == 1;
    q.share = tokens ? 4 : 8;
    while (q.share > 1 && ((!tokens && p.heads.by % q.share != 0) || p.rows * LANES / q.share < 1 << 16))
        q.share /= 2;
    const int64_t heads = (int64_t) q.share * (FAST_KV_QUICK_THREADS / LANES); /* of a block */
    return fast_launch(call, "kv_store", kernels[rope][tokens && q.share > 1], (p.rows + heads - 1) / heads,
                       FAST_KV_QUICK_THREADS, q);
}

/* How pairs lie in fast_kv_quick, which cannot have FAST_KV_ANY. */
static int fast_kv_pairs(const struct fast_kv &p)
{
    const int half = p.d / 2;
    if (p.table == nullptr)
        return FAST_KV_STILL;
    if (!p.turns)
        return FAST_KV_ANY;
    if (p.interleaved)
        return FAST_KV_INTERLEAVED;
    if (p.rotary_dim == p.d)
        return FAST_KV_OWN;
    if (p.offset / half != (p.offset + p.rotary_dim - 1) / half)
        return FAST_KV_ANY;
    return p.offset < half ? FAST_KV_LANES_0 : FAST_KV_LANES_1;
}

static bool fast_kv_is_quick(const struct fast_kv &p)
{
    return p.cast && !p.bf16_stages && p.code_align >= 4 && (p.slots == nullptr || p.slots_narrow) &&
           (p.d == 64 || p.d == 128 || p.d == 256 || p.d == 512) && p.scale >= 0.015625f && p.scale <= 1.0f;
}

static int fast_kv_choose(const struct lc_call *call, bool aligned, const struct fast_kv &p)
{
    const int rope = fast_kv_pairs(p);
    if (aligned && rope != FAST_KV_ANY && fast_kv_is_quick(p))
        return p.d == 64    ? fast_kv_launch_quick<4>(call, rope, p)
               : p.d == 128 ? fast_kv_launch_quick<8>(call, rope, p)
               : p.d == 256 ? fast_kv_launch_quick<16>(call, rope, p)
                            : fast_kv_launch_quick<32>(call, rope, p);
    if (p.d <= 64)
        return fast_kv_launch<4, 2>(call, aligned, p);
    if (p.d <= 128)
        return fast_kv_launch<8, 2>(call, aligned, p);
    if (p.d <= 256)
        return fast_kv_launch<16, 2>(call, aligned, p);
    if (p.d <= 512)
        return fast_kv_launch<32, 2>(call, aligned, p);
    if (p.d <= 1024)
        return fast_kv_launch<32, 4>(call, aligned, p);
    const int bytes = p.d * (int) sizeof(float);
    if (bytes > 46 << 10) {
        const cudaError_t e = cudaFuncSetAttribute((const void *) fast_kv_block, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                   bytes);
        if (e != cudaSuccess) {
            cudaGetLastError(); /* not a fault of the device: it has less shared memory */
            return fast_fail(call, LC_UNSUPPORTED, "kv_store", "head_dim: too little shared memory for a head");
        }
    }
    return fast_launch(call, "kv_store", fast_kv_block, p.rows, FAST_KV_THREADS, p, (size_t) bytes);
}

static struct fast_kv_bytes fast_kv_bytes_of(const struct lc_tensor *pool, const struct kv_bytes &b)
{
    return { (char *) pool->data + b.base, b.page, b.row, b.head };
}

/* The largest power of two up to 16 that divides the address and the strides. */
static int32_t fast_kv_alignment(const struct fast_kv_bytes &b)
{
    const int64_t all = (int64_t) (intptr_t) b.base | b.page | b.row | b.head;
    return all % 16 == 0 ? 16 : all % 8 == 0 ? 8 : all % 4 == 0 ? 4 : 1;
}

static void fast_kv_inputs(const struct kv_store_args &a, struct fast_kv &p)
{
    const struct lc_tensor *const x = a.t[KV_X], *const table = a.t[KV_TABLE];
    p.x = (const char *) x->data;
    p.token = a.n > 1 ? 2 * x->stride[0] : 0;
    p.head = a.heads > 1 ? 2 * x->stride[1] : 0;
    p.rows = a.n * a.heads;
    p.heads = fast_divider(p.rows < INT32_MAX ? a.heads : 1); /* fast_launch refuses more rows */
    p.d = (int32_t) a.d, p.groups = (int32_t) (a.d / 32);
    p.hadamard = a.hadamard, p.cast = a.cast, p.bf16_stages = a.bf16_stages;
    p.eps = (float) a.eps, p.scale = a.hadamard ? (float) a.scale : 1.0f;
    if (a.norm) {
        p.weight = (const char *) a.t[KV_WEIGHT]->data;
        p.weight_f32 = a.t[KV_WEIGHT]->dtype == LC_F32;
    }
    if (!a.rope)
        return;
    p.table = (const char *) table->data;
    p.table_f32 = table->dtype == LC_F32, p.table_rows = table->shape[0];
    p.positions = a.t[KV_POSITIONS]->data, p.positions_wide = a.t[KV_POSITIONS]->dtype == LC_I64;
    p.rotary_dim = (int32_t) a.rotary_dim, p.offset = (int32_t) a.offset;
    p.interleaved = a.interleaved, p.conjugate = a.conjugate;
    p.turns = (intptr_t) p.table % 16 == 0 && p.offset % 8 == 0 && p.rotary_dim % (p.interleaved ? 8 : 16) == 0;
}

static void fast_kv_outputs(const struct kv_store_args &a, struct fast_kv &p)
{
    if (a.store) {
        p.slots = a.t[KV_SLOTS]->data, p.slots_wide = a.t[KV_SLOTS]->dtype == LC_I64;
        p.codes = fast_kv_bytes_of(a.t[KV_POOL], a.codes);
        p.scales = fast_kv_bytes_of(a.t[KV_POOL], a.scales);
        p.capacity = a.pages * a.page_size, p.page_size = a.page_size;
        p.slots_narrow = p.capacity <= INT32_MAX && a.page_size <= INT32_MAX;
        p.page = fast_divider(p.slots_narrow ? a.page_size : 1);
        p.code_align = fast_kv_alignment(p.codes);
        p.words = p.groups % 4 == 0 && fast_kv_alignment(p.scales) >= 4;
        p.next = { p.codes.head, p.scales.head, 0 };
        return;
    }
    p.out = (char *) a.t[KV_OUT]->data;
    p.code_align = fast_kv_alignment({ p.out, 0, 0, a.cast ? a.d : 0 });
    if (!a.cast)
        return;
    const int64_t m_pad = ((a.per_head ? a.heads : a.n) + 3) / 4 * 4;
    p.sf = (char *) a.t[KV_SF]->data;
    p.per_head = a.per_head;
    p.sf_step = 4 * m_pad, p.sf_batch = 4 * m_pad * (p.groups / 4);
    p.words = p.groups % 4 == 0;
    p.next = { p.d, p.per_head ? 4 : p.words ? p.sf_step * (p.groups / 4) : 0, p.words ? 0u : (uint32_t) p.groups };
}

static int fast_kv_run(const struct lc_call *call)
{
    union op_args args;
    int status = ref_kv_store_check(call, &args);
    if (status != LC_OK)
        return status;
    const struct kv_store_args &a = args.kv_store;
    if (a.n == 0)
        return LC_OK;
    struct fast_kv p = {};
    fast_kv_inputs(a, p);
    fast_kv_outputs(a, p);
    status = fast_use_device(call, "kv_store");
    if (status != LC_OK)
        return status;
    const int64_t all = (int64_t) (intptr_t) p.x | p.token | p.head | (int64_t) (intptr_t) p.weight |
                        (a.cast ? 0 : (int64_t) (intptr_t) p.out);
    return fast_kv_choose(call, all % 16 == 0 && p.d % FAST_VECTOR == 0, p);
}

extern const struct lc_kernel fast_kv_store_kernels[];
const struct lc_kernel fast_kv_store_kernels[] = {
    /* op, variant, dialect, on_device, claims, run, workspace */
    { "kv_store", "fused", nullptr, 1, 0, fast_kv_run, nullptr },
    { nullptr, nullptr, nullptr, 0, 0, nullptr, nullptr },
};
