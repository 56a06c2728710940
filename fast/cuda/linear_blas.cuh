/* SPDX-License-Identifier: Apache-2.0 */
/* cuBLAS for BF16 products (LIN-1): f32 accumulation, never reduced in BF16 between slices of K, and a workspace of the call's,
 * so that nothing is allocated and graphs can be captured. */
#ifndef FAST_LINEAR_BLAS_CUH
#define FAST_LINEAR_BLAS_CUH

#include "common.cuh"

#include <cublas_v2.h>

enum { FAST_LIN_DEVICES = 16 };
static constexpr size_t FAST_LIN_BLAS_BYTES = (size_t) 32 << 20; /* what cuBLAS asks for on Hopper */

/* A handle per device and thread, made once and never destroyed (a thread may outlive the driver); the allocation that this takes is kept out of a capture that may be under way. */
static inline cublasHandle_t fast_lin_handle(int device)
{
    static thread_local cublasHandle_t handles[FAST_LIN_DEVICES];
    if (device < 0 || device >= FAST_LIN_DEVICES)
        return nullptr;
    cublasHandle_t &h = handles[device];
    if (h != nullptr)
        return h;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode);
    if (cudaSetDevice(device) != cudaSuccess || cublasCreate(&h) != CUBLAS_STATUS_SUCCESS)
        h = nullptr;
    else
        cublasSetMathMode(h, (cublasMath_t) (CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
    cudaThreadExchangeStreamCaptureMode(&mode);
    return h;
}

struct fast_lin_blas {
    const char *x, *w;             /* BF16 */
    char *out;                     /* BF16 or F32 */
    void *scratch;                 /* FAST_LIN_BLAS_BYTES, 256-byte aligned */
    int64_t x_row, w_row, out_row; /* elements, each at least a row long */
    int64_t m, n, k;
    bool out_f32, add; /* add: to what out holds; F32 only, see linear.cu */
};

/* Rows in memory are columns to cuBLAS: out^T (n, m) = w (n, k) x^T (k, m). */
static inline int fast_lin_blas_run(const struct lc_call *call, const struct fast_lin_blas &p)
{
    const cublasHandle_t h = fast_lin_handle(call->device);
    if (h == nullptr)
        return fast_fail(call, LC_FAILED, "linear", "cuBLAS has no handle");
    const float one = 1.0f, beta = p.add ? 1.0f : 0.0f;
    cublasStatus_t status = cublasSetStream(h, (cudaStream_t) call->stream);
    if (status == CUBLAS_STATUS_SUCCESS) /* after the stream, which brings cuBLAS's own workspace back */
        status = cublasSetWorkspace(h, p.scratch, FAST_LIN_BLAS_BYTES);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasGemmEx_64(h, CUBLAS_OP_T, CUBLAS_OP_N, p.n, p.m, p.k, &one, p.w, CUDA_R_16BF, p.w_row, p.x, CUDA_R_16BF,
                                 p.x_row, &beta, p.out, p.out_f32 ? CUDA_R_32F : CUDA_R_16BF, p.out_row, CUBLAS_COMPUTE_32F,
                                 CUBLAS_GEMM_DEFAULT);
    return status == CUBLAS_STATUS_SUCCESS ? LC_OK : fast_fail(call, LC_FAILED, "linear", cublasGetStatusString(status));
}

#endif
