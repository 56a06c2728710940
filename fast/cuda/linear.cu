/* SPDX-License-Identifier: Apache-2.0 */
/* Linear layer, LIN-1..11.
 *
 * BF16: cuBLAS, straight into out where out is aligned (LIN-3), else into a temporary that the finish copies. Codes (LIN-5): few
 * rows go through the kernel of linear_fold.cuh (chips before 9.0: of linear_mma.cuh), which reads every code of the weight once;
 * many rows through cuBLAS, after codes and scales have become BF16 numbers, which is exact for all but extreme scales. Those
 * raise a flag on the device, upon which the kernel of linear_mma.cuh, last in the queue and idle otherwise, does the product
 * over: nobody waits for the device. For that the product goes to a temporary wherever out_acc is to be added, so that it is
 * still there.
 *
 * One function, fast_lin_go, lays out the workspace and launches; for workspace() it does only the first. */

#include "linear_blas.cuh"
#include "linear_finish.cuh"
#include "linear_fold.cuh"
#include "linear_prepare.cuh"

extern const struct lc_kernel fast_cast_kernels[];

/* Rows up to which codes are not expanded; and from which operands in awkward places are copied before cuBLAS. */
enum { FAST_LIN_FEW = 128, FAST_LIN_PACK_ROWS = 64 };

struct fast_lin_room {
    char *base; /* NULL: only counting */
    size_t used;
};

static char *fast_lin_take(struct fast_lin_room *room, int64_t bytes)
{
    const size_t at = room->used;
    room->used += ((size_t) bytes + 255) / 256 * 256;
    return room->base != nullptr ? room->base + at : nullptr;
}

/* A matrix as a kernel takes it: rows of 16-byte pieces. */
struct fast_lin_rows {
    const char *data;
    int64_t stride; /* bytes */
};

/* Rows that are not aligned, or lie closer than they are long, copied into the workspace. A single row's stride is free. */
static int fast_lin_pack_to(const struct lc_call *call, struct fast_lin_room *room, bool must, struct fast_lin_rows *m,
                            int64_t rows, int64_t bytes)
{
    const int64_t pitch = (bytes + 15) / 16 * 16;
    if (rows == 1)
        m->stride = pitch;
    const bool aligned = (((int64_t) (intptr_t) m->data | m->stride) & 15) == 0;
    if (m->stride >= bytes && (aligned || !must))
        return LC_OK;
    char *const to = fast_lin_take(room, rows * pitch);
    const struct fast_lin_pack p = { m->data, to, m->stride, pitch, bytes, rows };
    m->data = to, m->stride = pitch;
    return room->base != nullptr ? fast_lin_pack_run(call, p) : LC_OK;
}

struct fast_lin_codes {
    struct fast_lin_rows rows;
    const char *sf;
    int64_t count, pad; /* rows; words between two words of a row */
    bool e2m1;
};

/* LIN-5: a BF16 x becomes codes and scales by the cast operator itself. */
static int fast_lin_cast(const struct lc_call *call, struct fast_lin_room *room, const struct linear_args &a,
                         struct fast_lin_codes *x)
{
    const int64_t words = (a.k + 127) / 128;
    struct lc_tensor t[3] = { *a.t[LIN_X], {}, {} };
    t[0].rank = 2;
    t[0].shape[0] = a.m, t[0].shape[1] = a.k;
    t[0].stride[0] = a.m > 1 ? a.x_stride : a.k, t[0].stride[1] = 1;
    t[1] = t[0];
    t[1].name = "out", t[1].dtype = LC_E4M3;
    t[1].stride[0] = a.k;
    t[1].data = fast_lin_take(room, a.m * a.k);
    t[2] = t[0];
    t[2].name = "sf", t[2].dtype = LC_I32;
    t[2].shape[1] = words;
    t[2].stride[0] = 1, t[2].stride[1] = x->pad;
    t[2].data = fast_lin_take(room, 4 * words * x->pad);
    x->rows = { (const char *) t[1].data, a.k };
    x->sf = (const char *) t[2].data;
    const struct lc_scalar ragged = { "sf_ragged", RAGGED_PACK, 0 };
    struct lc_call cast = *call;
    cast.tensors = t, cast.n_tensors = 3;
    cast.scalars = &ragged, cast.n_scalars = a.ragged ? 1 : 0;
    return room->base != nullptr ? fast_cast_kernels[0].run(&cast) : LC_OK;
}

/* Who does the product of codes. */
enum fast_lin_way { FAST_LIN_MMA, FAST_LIN_FOLD, FAST_LIN_EXPAND };

/* Where a product goes: out itself, or a temporary. */
struct fast_lin_dest {
    char *data;
    int64_t row, slice; /* elements */
    int32_t slices;
    bool f32;
};

static int fast_lin_blas_to(const struct lc_call *call, struct fast_lin_room *room, const struct linear_args &a,
                            struct fast_lin_rows x, struct fast_lin_rows w, const struct fast_lin_dest &to, bool add)
{
    char *const scratch = fast_lin_take(room, (int64_t) FAST_LIN_BLAS_BYTES);
    const struct fast_lin_blas p = { x.data, w.data, to.data, scratch, x.stride / 2, w.stride / 2,
                                     to.row, a.m,    a.n,     a.k,     to.f32,       add };
    if (room->base != nullptr)
        return fast_lin_blas_run(call, p);
    fast_lin_handle(call->device); /* made now, since run() allocates nothing */
    return LC_OK;
}

static int fast_lin_bf16(const struct lc_call *call, struct fast_lin_room *room, const struct linear_args &a,
                         const struct fast_lin_dest &to, bool add)
{
    const bool must = a.m >= FAST_LIN_PACK_ROWS;
    struct fast_lin_rows x = { (const char *) a.t[LIN_X]->data, 2 * a.x_stride };
    struct fast_lin_rows w = { (const char *) a.t[LIN_WEIGHT]->data, 2 * a.t[LIN_WEIGHT]->stride[0] };
    int status = fast_lin_pack_to(call, room, must, &x, a.m, 2 * a.k);
    if (status == LC_OK)
        status = fast_lin_pack_to(call, room, must, &w, a.n, 2 * a.k);
    return status == LC_OK ? fast_lin_blas_to(call, room, a, x, w, to, add) : status;
}

static int fast_lin_expand_to(const struct lc_call *call, struct fast_lin_room *room, const struct fast_lin_codes &c, int64_t k,
                              uint32_t *flag, struct fast_lin_rows *m)
{
    char *const to = fast_lin_take(room, 2 * c.count * k);
    *m = { to, 2 * k };
    const struct fast_lin_expand p = { c.rows.data, c.sf, to, flag, c.rows.stride, c.pad, k, c.count, k };
    return room->base != nullptr ? fast_lin_expand_run(call, p, c.e2m1) : LC_OK;
}

static int fast_lin_fp8(const struct lc_call *call, struct fast_lin_room *room, const struct linear_args &a,
                        const struct fast_lin_dest &to, enum fast_lin_way way)
{
    const struct lc_tensor &weight = *a.t[LIN_WEIGHT];
    struct fast_lin_codes x = { {}, nullptr, a.m, (a.m + 3) / 4 * 4, false };
    struct fast_lin_codes w = { { (const char *) weight.data, weight.stride[0] },
                                (const char *) a.t[LIN_WEIGHT_SF]->data,
                                a.n,
                                (a.n + 3) / 4 * 4,
                                weight.dtype == LC_E2M1X2 };
    int status = LC_OK;
    if (a.cast_x) {
        status = fast_lin_cast(call, room, a, &x);
    } else {
        x.rows = { (const char *) a.t[LIN_X]->data, a.x_stride };
        x.sf = (const char *) a.t[LIN_X_SF]->data;
        status = fast_lin_pack_to(call, room, true, &x.rows, a.m, a.k);
    }
    if (status == LC_OK)
        status = fast_lin_pack_to(call, room, true, &w.rows, a.n, w.e2m1 ? a.k / 2 : a.k);
    struct fast_lin_mma p = {};
    p.a = x.rows.data, p.b = w.rows.data;
    p.a_sf = x.sf, p.b_sf = w.sf;
    p.a_row = x.rows.stride, p.b_row = w.rows.stride;
    p.a_pad = x.pad, p.b_pad = w.pad;
    p.out = to.data, p.out_row = to.row, p.out_slice = to.slice;
    p.rows = a.m, p.n = a.n;
    p.groups = (int32_t) (a.k / 32);
    p.slices = to.slices;
    p.out_f32 = to.f32;
    if (status == LC_OK && way == FAST_LIN_EXPAND) {
        uint32_t *const flag = (uint32_t *) fast_lin_take(room, 4);
        struct fast_lin_rows xb, wb;
        p.only = flag;
        if (room->base != nullptr && cudaMemsetAsync(flag, 0, 4, (cudaStream_t) call->stream) != cudaSuccess)
            return fast_fail(call, LC_FAILED, "linear", cudaGetErrorString(cudaGetLastError()));
        status = fast_lin_expand_to(call, room, x, a.k, flag, &xb);
        if (status == LC_OK)
            status = fast_lin_expand_to(call, room, w, a.k, flag, &wb);
        if (status == LC_OK)
            status = fast_lin_blas_to(call, room, a, xb, wb, to, false);
    }
    if (status != LC_OK || room->base == nullptr)
        return status;
    status = LC_UNSUPPORTED;
    if (way == FAST_LIN_FOLD)
        status = w.e2m1 ? fast_lin_fold_run<true>(call, p) : fast_lin_fold_run<false>(call, p);
    return status == LC_UNSUPPORTED ? fast_lin_mma_any(call, p, w.e2m1) : status;
}

/* out's rows, and whether a product may be stored there as it comes (LIN-3). */
static bool fast_lin_direct(const struct linear_args &a, int64_t *row)
{
    int64_t m;
    const bool flat = ref_linear_flatten(a.out, &m, row);
    if (a.m == 1)
        *row = (a.n + 15) / 16 * 16; /* one row: its stride says nothing */
    else if (!ref_linear_aligned(a.out) || *row < a.n)
        return false;
    return flat && (intptr_t) a.out->data % 32 == 0;
}

/* From the product to out; slices = 0: without one. */
static int fast_lin_finish_to(const struct lc_call *call, const struct linear_args &a, const struct fast_lin_dest &from, bool acc,
                              bool bias)
{
    const struct lc_tensor &out = *a.out;
    struct fast_lin_finish p = {};
    p.from = from.data, p.from_row = from.row, p.from_slice = from.slice, p.slices = from.slices;
    if (acc && a.t[LIN_OUT_ACC] != nullptr) {
        int64_t m;
        p.acc = (const char *) a.t[LIN_OUT_ACC]->data;
        ref_linear_flatten(a.t[LIN_OUT_ACC], &m, &p.acc_row);
        p.acc_row = a.m > 1 ? p.acc_row : 0;
    }
    if (bias && a.t[LIN_BIAS] != nullptr) {
        p.bias = (const char *) a.t[LIN_BIAS]->data;
        p.bias_f32 = a.t[LIN_BIAS]->dtype == LC_F32;
    }
    p.out = (char *) out.data;
    p.dim1 = p.dim2 = 1;
    for (int i = 0; i < out.rank - 1; i++)
        p.stride[3 - (out.rank - 1) + i] = out.shape[i] > 1 ? out.stride[i] : 0;
    if (out.rank >= 2)
        p.dim2 = out.shape[out.rank - 2];
    if (out.rank >= 3)
        p.dim1 = out.shape[out.rank - 3];
    p.rows = a.m, p.n = a.n;
    p.inner = a.dialect == LIN_REDUCE_ADD;
    p.bias_inside = a.dialect == LIN_BIAS_FUSED;
    return fast_lin_finish_run(call, p, from.f32, out.dtype == LC_F32);
}

static int fast_lin_go(const struct lc_call *call, struct fast_lin_room *room, const struct linear_args &a, bool fused)
{
    const bool out_f32 = a.out->dtype == LC_F32, acc = a.t[LIN_OUT_ACC] != nullptr, bias = a.t[LIN_BIAS] != nullptr;
    const bool inner = acc && a.dialect == LIN_REDUCE_ADD, bias_inside = bias && a.dialect == LIN_BIAS_FUSED;
    const bool dry = room->base == nullptr;
    enum fast_lin_way way = FAST_LIN_MMA;
    if (a.fp8 && !fused && a.m > FAST_LIN_FEW)
        way = FAST_LIN_EXPAND;
    else if (a.fp8 && !fused && fast_lin_folds(call->device))
        way = FAST_LIN_FOLD;
    if (a.m == 0 || a.n == 0)
        return LC_OK; /* LIN-2: nothing to write */
    struct fast_lin_dest to = { nullptr, 0, 0, 1, out_f32 };
    if (a.k == 0) {
        to.slices = 0;
        return dry ? (int) LC_OK : fast_lin_finish_to(call, a, to, true, true);
    }
    bool direct = fast_lin_direct(a, &to.row);
    if (a.fp8 && way == FAST_LIN_MMA)
        to.slices = fast_lin_slices(a.m, a.n, a.k);
    /* cuBLAS adds out_acc (beta = 1) to an F32 output alone. For a BF16 one some of its kernels round the product to BF16 before
     * they add C, against LIN-2 and whatever the math mode (M = 20, N = 104, K = 520 on an H200): there the finish adds. */
    const bool add = direct && out_f32 && acc && !bias_inside;
    direct = direct && to.slices == 1 && !bias_inside && (!acc || add);
    if (direct) {
        to.data = (char *) a.out->data;
    } else {
        to.f32 = out_f32 || to.slices > 1 || bias_inside || (acc && !inner); /* else rounded as out is to be */
        to.row = (a.n + 15) / 16 * 16;
        to.slice = a.m * to.row;
        to.data = fast_lin_take(room, to.slices * to.slice * (to.f32 ? 4 : 2));
    }
    int status = LC_OK;
    if (add && !a.in_place && !dry) {
        struct fast_lin_dest none = to;
        none.slices = 0;
        status = fast_lin_finish_to(call, a, none, true, false); /* out_acc as it is: cuBLAS adds in place */
    }
    if (status == LC_OK)
        status = a.fp8 ? fast_lin_fp8(call, room, a, to, way) : fast_lin_bf16(call, room, a, to, add);
    if (status == LC_OK && !dry && (!direct || bias))
        status = fast_lin_finish_to(call, a, to, !direct, true);
    return status;
}

static int fast_lin_run(const struct lc_call *call, bool fused)
{
    union op_args args;
    int status = ref_linear_check(call, &args);
    if (status != LC_OK)
        return status;
    const struct linear_args &a = args.linear;
    status = fast_use_device(call, "linear");
    if (status != LC_OK)
        return status;
    static char nothing[1]; /* a call that needs no workspace may come with none */
    struct fast_lin_room need = { nullptr, 0 }, room = { call->workspace != nullptr ? (char *) call->workspace : nothing, 0 };
    fast_lin_go(call, &need, a, fused);
    if (need.used > call->workspace_size)
        return fast_fail(call, LC_FAILED, "linear", "the workspace is smaller than workspace() said");
    return fast_lin_go(call, &room, a, fused);
}

static size_t fast_lin_bytes(const struct lc_call *call, bool fused)
{
    union op_args args;
    struct lc_call quiet = *call;
    quiet.msg_size = 0;
    struct fast_lin_room room = { nullptr, 0 };
    if (ref_linear_check(&quiet, &args) != LC_OK)
        return 0;
    fast_lin_go(&quiet, &room, args.linear, fused);
    return room.used;
}

static int fast_lin_gemm(const struct lc_call *call)
{
    return fast_lin_run(call, false);
}

static size_t fast_lin_gemm_bytes(const struct lc_call *call)
{
    return fast_lin_bytes(call, false);
}

/* The codes of any number of rows through linear_mma.cuh. */
static int fast_lin_fused(const struct lc_call *call)
{
    return fast_lin_run(call, true);
}

static size_t fast_lin_fused_bytes(const struct lc_call *call)
{
    return fast_lin_bytes(call, true);
}

extern const struct lc_kernel fast_linear_kernels[];
const struct lc_kernel fast_linear_kernels[] = {
    /* op, variant, dialect, on_device, claims, run, workspace */
    { "linear", "gemm", nullptr, 1, 0, fast_lin_gemm, fast_lin_gemm_bytes },
    { "linear", "fused", nullptr, 1, 0, fast_lin_fused, fast_lin_fused_bytes },
    { "linear", "gemm-reduce-add", "reduce-add", 1, 0, fast_lin_gemm, fast_lin_gemm_bytes },
    { "linear", "gemm-bias-fused", "bias-fused", 1, 0, fast_lin_gemm, fast_lin_gemm_bytes },
    { nullptr, nullptr, nullptr, 0, 0, nullptr, nullptr },
};
