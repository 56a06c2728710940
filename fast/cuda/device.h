/* SPDX-License-Identifier: Apache-2.0 */
/* The device as the harness sees it: memory, streams and events behind one table, dlopened, so that the program itself links
 * no CUDA. Plain device memory, never managed; the device is never reset.
 *
 * Every int function gives 0 or a non-zero error of the runtime; alloc, stream_create and event_create give NULL, event_ms and
 * count a negative number. last_error has the words. A sticky error is reported by every later call. */
#ifndef FAST_DEVICE_H
#define FAST_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LC_DEVICE_ABI 2u

struct lc_device {
    uint32_t abi;                                           /* LC_DEVICE_ABI */
    int (*count)(void);                                     /* devices; 0 also where there is no driver */
    int (*open)(int ordinal, char *name, size_t name_size); /* makes it this thread's device; name may be NULL */
    void *(*alloc)(size_t bytes);                           /* 256-byte aligned */
    int (*free)(void *);
    int (*upload)(void *dst, const void *src, size_t n);   /* upload, download and fill are complete on return, */
    int (*download)(void *dst, const void *src, size_t n); /* and wait for all work of stream_create's streams */
    int (*fill)(void *dst, int byte, size_t n);
    int (*copy)(void *dst, const void *src, size_t n, void *stream); /* on the device, enqueued */
    void *(*stream_create)(void);                                    /* streams and events live as long as the process */
    int (*stream_sync)(void *stream);
    void *(*event_create)(void);
    int (*event_record)(void *ev, void *stream);
    double (*event_ms)(void *start, void *stop);       /* waits for stop */
    const char *(*last_error)(void);                   /* words of this thread's last failure; "" if none */
    int (*info)(int ordinal, char *json, size_t size); /* one JSON object; non-zero also if it does not fit */

    /* What determinism reports need (DET-1, DET-2). */
    void *(*stream_apart)(void);      /* a stream that the copies above neither wait for nor hold up */
    int (*graph_begin)(void *stream); /* what is enqueued from here on is captured, */
    void *(*graph_end)(void *stream); /* and is this graph; NULL: nothing to launch */
    int (*graph_launch)(void *graph, void *stream);
    int (*graph_free)(void *graph);
    /* A kernel that stays on the device until spin_stop, at most LC_SPIN_SECONDS; one at a time, in a stream of its own. Returns
     * when all its blocks run. alone: each block holds a multiprocessor for itself; else blocks are small and load memory.
     * While it runs no memory may be allocated or freed. spin_stop returns LC_SPIN_LATE when the time
     * was up before: a kernel does not fit beside it, or waits for it. */
    int (*spin_start)(int blocks, int alone);
    int (*spin_stop)(void);
};
enum { LC_SPIN_SECONDS = 5, LC_SPIN_LATE = -1 };

const struct lc_device *lc_device_v1(void);

#ifdef __cplusplus
}
#endif
#endif
