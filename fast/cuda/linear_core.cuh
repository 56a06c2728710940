/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions that the kernels of linear are made of: copies that do not wait, tensor cores, clusters of blocks. */
#ifndef FAST_LINEAR_CORE_CUH
#define FAST_LINEAR_CORE_CUH

#include "common.cuh"

static __device__ __forceinline__ void fast_lin_copy16(uint32_t to, const char *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

static __device__ __forceinline__ void fast_lin_copy4(uint32_t to, const char *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

/* The same, or zeros: from is not read unless there. */
static __device__ __forceinline__ void fast_lin_copy16_or_0(uint32_t to, const char *from, bool there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(there ? 16 : 0) : "memory");
}

static __device__ __forceinline__ void fast_lin_copy4_or_0(uint32_t to, const char *from, bool there)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(there ? 4 : 0) : "memory");
}

static __device__ __forceinline__ void fast_lin_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int PENDING> static __device__ __forceinline__ void fast_lin_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

/* d = a b + c: a 16 x 16, b 16 x 8, F16. Lane 4g + t holds of d rows g and g + 8, columns 2t and 2t + 1. */
static __device__ __forceinline__ void fast_lin_core(float d[4], const uint32_t a[4], const uint32_t b[2], const float c[4])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

/* d += a b of BF16, or of F16. */
template <bool F16>
static __device__ __forceinline__ void fast_lin_core_add(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    if constexpr (F16)
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* All threads of a cluster; what they wrote to shared memory is seen by all. Chips before 9.0 have clusters of one block. */
static __device__ __forceinline__ void fast_lin_cluster_sync(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
#else
    __syncthreads();
#endif
}

/* 16 bytes of shared memory, at the same place as `at` in this block, of block `rank` of the cluster. */
static __device__ __forceinline__ float4 fast_lin_cluster_read(const void *at, uint32_t rank)
{
    float4 v;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("{.reg .u32 a; mapa.shared::cluster.u32 a, %4, %5; ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [a];}"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "r"((uint32_t) __cvta_generic_to_shared(at)), "r"(rank)
                 : "memory");
#else
    (void) rank;
    v = *(const float4 *) at;
#endif
    return v;
}

#endif
