/* SPDX-License-Identifier: Apache-2.0 */
/* layercheck plugin ABI, version 1. C99 and C++; includes nothing of the project.
 *
 * A plugin is a shared object that exports one symbol, lc_plugin_v1. The kernels it lists are called with a struct lc_call:
 * tensors and scalars by name. docs/plugins.md has the names of every operator, docs/contract.md what each must compute.
 *
 * Rules for run():
 *   - enqueue on call->stream and return; no allocation, no synchronisation. On the host (device == -1) return when done.
 *   - an argument that breaks a precondition of the contract: LC_BAD_ARG, a message that names the argument, its value
 *     and the clause, and no byte written (ERR-1).
 *   - a legal call that this kernel does not handle: LC_UNSUPPORTED. It is counted, and never a pass.
 */
#ifndef LAYERCHECK_H
#define LAYERCHECK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LC_ABI 1u

/* Element formats. LC_E2M1X2 is one byte with two codes, the low nibble first (FMT-4). */
enum lc_dtype { LC_F32 = 1, LC_BF16, LC_E4M3, LC_E2M1X2, LC_UE8M0, LC_I32, LC_I64 };

enum lc_status { LC_OK, LC_BAD_ARG, LC_UNSUPPORTED, LC_FAILED };

/* What a kernel says of itself: promises beyond the contract, which the harness then checks, and variants by which it is judged. */
enum lc_claim {
    LC_BATCH_INVARIANT = 1, /* DET-2 for linear */
    LC_DENSE_HADAMARD = 2,  /* HAD-3: one n-by-n product, judged with k = n + 16 */
    LC_K8_CORES = 4         /* LIN-1: tensor cores with 24 fraction bits and K = 8 steps, judged with k = 1.4 K + 32 */
};

/* A strided view. data: address of element 0, on the call's device. shape and stride: elements, stride[i] for dimension i.
 * A tensor that does not take part in the call is not listed; one that a scalar switches off may be listed, and is then
 * neither read nor written, whatever its pointer (RMS-11). */
struct lc_tensor {
    const char *name;
    void *data;
    int32_t dtype, rank;
    int64_t shape[4], stride[4];
};

/* A named number: counts, switches and enumerations in i; reals in f, already rounded to f32. A scalar that is not listed
 * has the default of docs/plugins.md. */
struct lc_scalar {
    const char *name;
    int64_t i;
    double f;
};

struct lc_call {
    uint32_t size;   /* sizeof (struct lc_call) of the caller */
    int32_t device;  /* ordinal of the device that holds the tensors, -1: host memory */
    void *stream;    /* cudaStream_t, or NULL on the host */
    void *workspace; /* workspace() bytes on the device, 256-byte aligned */
    size_t workspace_size;
    const struct lc_tensor *tensors;
    const struct lc_scalar *scalars;
    uint32_t n_tensors, n_scalars;
    char *msg; /* the kernel's words when it does not return LC_OK; msg_size bytes with the final NUL */
    size_t msg_size;
};

struct lc_kernel {
    const char *op;                                  /* "rmsnorm"; NULL ends the table */
    const char *variant;                             /* unique within op */
    const char *dialect;                             /* of the contract; NULL: the default */
    int32_t on_device;                               /* 1: tensors must live on a CUDA device */
    uint32_t claims;                                 /* enum lc_claim, or-ed */
    int (*run)(const struct lc_call *call);          /* an enum lc_status */
    size_t (*workspace)(const struct lc_call *call); /* bytes needed; NULL: none */
};

struct lc_plugin {
    uint32_t abi;       /* LC_ABI */
    uint32_t call_size; /* sizeof (struct lc_call) the plugin was built with */
    const char *name;
    const struct lc_kernel *kernels; /* ends at op == NULL */
};

#if defined(__GNUC__)
#define LC_EXPORT __attribute__((visibility("default")))
#else
#define LC_EXPORT
#endif

/* The only exported symbol of a plugin. */
LC_EXPORT const struct lc_plugin *lc_plugin_v1(void);

#ifdef __cplusplus
}
#endif
#endif
