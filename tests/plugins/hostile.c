/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins that misbehave, to show that the harness does not: one source, one shared module for each kind.
 *
 * They list one kernel, `cast`, which is the CPU backend's own except in calls with M == 3 (the last
 * dimension but one of x), so that the other cases keep their verdicts. Built with -DHOSTILE_KIND=<kind>
 * from this file, fast/cpu/cast.c and ref/ (args.c, sf.c, cast.c, num.c, iv.c), with -fopenmp -lm. The
 * kinds:
 *
 *   ABORTS                calls abort()
 *   LOOPS                 never returns
 *   EXITS                 calls _exit(0): a worker that ends well without a verdict
 *   WRITES_FAR            writes where nothing is mapped: SIGSEGV
 *   WRITES_BEFORE         changes the byte before out
 *   WRITES_AFTER          changes the byte after out
 *   WRITES_INPUT          changes a byte of x
 *   FLUSHES_TO_ZERO       leaves flush-to-zero and denormals-are-zero on, from lc_plugin_v1 on
 *   ROUNDS_UP             leaves the rounding mode upward
 *   TRAPS                 leaves every floating-point exception trapping, and so the next inexact sum is SIGFPE
 *   DIES_OF_SIGFPE        traps, and divides by zero itself
 *   RETURNS_NAN           fills out with NaN codes
 *   WRITES_NOTHING        returns LC_OK
 *   FAILS                 returns LC_FAILED with a message
 *   FAILS_UNTERMINATED    returns LC_FAILED with a message that has no NUL
 *   RETURNS_NONSENSE      returns a status that is none
 *   RETURNS_NEGATIVE      returns -1, likewise
 *   SUPPORTS_NOTHING      returns LC_UNSUPPORTED, in every call
 *   REFUSES_LATER         is wrong at first, and answers LC_UNSUPPORTED when it is asked again
 *   WRITES_UNSUPPORTED    writes out, and answers LC_UNSUPPORTED
 *   ALWAYS_EMPTY          answers LC_UNSUPPORTED to all that has elements
 *   OVERRUNS_WORKSPACE    writes a byte behind its workspace
 *   TRUSTS_WORKSPACE      takes a fresh workspace for zeros
 *   ALIGNED_WORKSPACE     is right, and aborts unless its workspace is 256-byte aligned
 *   PRINTS_MEGABYTES      writes 4 MiB to stdout
 *   CLOSES_FILES          closes descriptors 3..63
 *   WRONG_ABI             its table is of another ABI
 *   WRONG_SIZE            it was built with another struct lc_call
 *   NO_TABLE              lc_plugin_v1 returns NULL
 *   NO_SYMBOL             exports no lc_plugin_v1
 */
#define _GNU_SOURCE /* feenableexcept */
#include <fenv.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "../../fast/cpu/fast.h"
#include "../../ref/args.h"

#define ABORTS 1
#define LOOPS 2
#define EXITS 3
#define WRITES_FAR 4
#define WRITES_BEFORE 5
#define WRITES_AFTER 6
#define WRITES_INPUT 7
#define FLUSHES_TO_ZERO 8
#define ROUNDS_UP 9
#define TRAPS 10
#define DIES_OF_SIGFPE 11
#define RETURNS_NAN 12
#define WRITES_NOTHING 13
#define FAILS 14
#define FAILS_UNTERMINATED 15
#define RETURNS_NONSENSE 16
#define SUPPORTS_NOTHING 17
#define PRINTS_MEGABYTES 18
#define CLOSES_FILES 19
#define WRONG_ABI 20
#define WRONG_SIZE 21
#define NO_TABLE 22
#define NO_SYMBOL 23
#define RETURNS_NEGATIVE 24
#define REFUSES_LATER 25
#define WRITES_UNSUPPORTED 26
#define ALWAYS_EMPTY 27
#define OVERRUNS_WORKSPACE 28
#define TRUSTS_WORKSPACE 29
#define ALIGNED_WORKSPACE 30

#if !defined(HOSTILE_KIND) || HOSTILE_KIND == 0
#error "build with -DHOSTILE_KIND=<one of the kinds above>"
#endif

enum { GO_ON = 1 << 20 }; /* no status: the kernel runs */

/* Where a fault is aimed; volatile, so that none is optimised away. */
struct target {
    volatile unsigned char *out, *x;
    int64_t bytes; /* of out */
};

static void flush_to_zero(void)
{
#if defined(__SSE__)
    _mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(UINT64_C(1) << 24));
#endif
}

static void print_megabytes(void)
{
    static char line[1 << 12];
    memset(line, '.', sizeof line - 1);
    line[sizeof line - 1] = '\n';
    for (int i = 0; i < 1 << 10; i++)
        if (write(STDOUT_FILENO, line, sizeof line) < 0)
            return;
}

/* In place of the kernel. */
static int misbehave_before(const struct lc_call *call, const struct target *to)
{
    switch (HOSTILE_KIND) {
    case ABORTS:
        abort();
    case EXITS:
        _exit(0);
    case LOOPS:
        for (;;)
            (void) *to->x;
    case WRITES_FAR:
        to->out[INT64_C(1) << 46] = 1;
        return LC_OK;
    case DIES_OF_SIGFPE: {
        volatile double zero = 0;
        feenableexcept(FE_DIVBYZERO);
        zero = 1 / zero;
        return LC_OK;
    }
    case WRITES_NOTHING:
        return LC_OK;
    case RETURNS_NONSENSE:
        return 42;
    case RETURNS_NEGATIVE:
        return -1;
    case FAILS:
        if (call->msg_size > 8)
            memcpy(call->msg, "hostile", 8);
        return LC_FAILED;
    case FAILS_UNTERMINATED:
        memset(call->msg, 'x', call->msg_size);
        return LC_FAILED;
    default:
        return GO_ON;
    }
}

/* Behind the kernel, which did its work. */
static void misbehave_after(const struct target *to)
{
    switch (HOSTILE_KIND) {
    case WRITES_BEFORE:
        to->out[-1] ^= 0x55;
        break;
    case WRITES_AFTER:
        to->out[to->bytes] ^= 0x55;
        break;
    case WRITES_INPUT:
        to->x[0] ^= 0x55;
        break;
    case FLUSHES_TO_ZERO:
        flush_to_zero();
        break;
    case ROUNDS_UP:
        fesetround(FE_UPWARD);
        break;
    case PRINTS_MEGABYTES:
        print_megabytes();
        break;
    case RETURNS_NAN:
        for (int64_t i = 0; i < to->bytes; i++)
            to->out[i] = 0x7f;
        break;
    case CLOSES_FILES:
        for (int fd = 3; fd < 64; fd++)
            close(fd);
        break;
    case TRAPS:
        feclearexcept(FE_ALL_EXCEPT); /* else a flag that is already up traps at once */
        feenableexcept(FE_ALL_EXCEPT);
        break;
    default:
        break;
    }
}

static int run(const struct lc_call *call)
{
    if (HOSTILE_KIND == SUPPORTS_NOTHING)
        return LC_UNSUPPORTED;
    union op_args args;
    int status = ref_cast_check(call, &args);
    if (status)
        return status;
    const struct cast_args *const a = &args.cast;
    if (HOSTILE_KIND == ALWAYS_EMPTY && a->m * a->batch > 0)
        return LC_UNSUPPORTED;
    if (a->m != 3 || a->batch < 1)
        return fast_cast_kernels[0].run(call);
    unsigned char *const out = (unsigned char *) a->t[CAST_OUT]->data, *const x = (unsigned char *) a->t[CAST_X]->data;
    const struct target to = { out, x, a->batch * a->m * a->d };
    status = misbehave_before(call, &to);
    if (status != GO_ON)
        return status;
    status = fast_cast_kernels[0].run(call);
    misbehave_after(&to);
    unsigned char *const space = (unsigned char *) call->workspace;
    static int calls;
    switch (HOSTILE_KIND) {
    case REFUSES_LATER:
        out[0] ^= 1;
        return calls++ % 2 ? LC_UNSUPPORTED : status;
    case WRITES_UNSUPPORTED:
        return LC_UNSUPPORTED;
    case OVERRUNS_WORKSPACE:
        space[call->workspace_size] ^= 1;
        return status;
    case TRUSTS_WORKSPACE:
        out[0] ^= space[7];
        return status;
    case ALIGNED_WORKSPACE:
        if ((uintptr_t) space % 256)
            abort();
        memset(space, 0x3c, call->workspace_size);
        return status;
    default:
        return status;
    }
}

static size_t workspace(const struct lc_call *call)
{
    (void) call;
    return HOSTILE_KIND >= OVERRUNS_WORKSPACE ? 100 : 0;
}

static const struct lc_kernel kernels[] = {
    { .op = "cast", .variant = "hostile", .run = run, .workspace = workspace },
    { .op = NULL },
};

static const struct lc_plugin plugin = {
    .abi = HOSTILE_KIND == WRONG_ABI ? LC_ABI + 98 : LC_ABI,
    .call_size = sizeof(struct lc_call) - (HOSTILE_KIND == WRONG_SIZE ? 8 : 0),
    .name = "hostile",
    .kernels = kernels,
};

#if HOSTILE_KIND == NO_SYMBOL
#define lc_plugin_v1 lc_plugin_of_another_name
LC_EXPORT const struct lc_plugin *lc_plugin_v1(void);
#endif

const struct lc_plugin *lc_plugin_v1(void)
{
    if (HOSTILE_KIND == FLUSHES_TO_ZERO)
        flush_to_zero();
    return HOSTILE_KIND == NO_TABLE ? NULL : &plugin;
}
