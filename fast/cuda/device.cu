/* SPDX-License-Identifier: Apache-2.0 */
/* The device table of device.h on the CUDA runtime. */
#include "device.h"

#include <cuda_runtime.h>
#include <stdio.h>

#if defined(__GNUC__)
#define DEVICE_EXPORT __attribute__((visibility("default")))
#else
#define DEVICE_EXPORT
#endif

static thread_local char words[256];

static int report(cudaError_t e, const char *what)
{
    if (e == cudaSuccess)
        return 0;
    cudaGetLastError(); /* told once here; a sticky one comes back by itself */
    snprintf(words, sizeof words, "%s: %s (%s)", what, cudaGetErrorString(e), cudaGetErrorName(e));
    return (int) e;
}

static int device_count(void)
{
    int n = 0;
    const cudaError_t e = cudaGetDeviceCount(&n);
    if (report(e, "cudaGetDeviceCount") == 0)
        return n;
    return e == cudaErrorNoDevice || e == cudaErrorInsufficientDriver ? 0 : -1;
}

static int device_open(int ordinal, char *name, size_t name_size)
{
    struct cudaDeviceProp prop;
    int e = report(cudaSetDevice(ordinal), "cudaSetDevice");
    if (e == 0)
        e = report(cudaFree(nullptr), "cudaFree"); /* makes the context */
    if (e == 0)
        e = report(cudaGetDeviceProperties(&prop, ordinal), "cudaGetDeviceProperties");
    if (e == 0 && name != nullptr && name_size > 0)
        snprintf(name, name_size, "%s", prop.name);
    return e;
}

static void *device_alloc(size_t bytes)
{
    void *p = nullptr;
    return report(cudaMalloc(&p, bytes > 0 ? bytes : 1), "cudaMalloc") == 0 ? p : nullptr;
}

static int device_free(void *p)
{
    return report(cudaFree(p), "cudaFree");
}

/* The legacy stream waits for every stream of stream_create and they for it; a copy from pageable memory or a fill may still
 * run when its call returns. */
static int finish(cudaError_t e, const char *what)
{
    const int first = report(e, what);
    return first != 0 ? first : report(cudaStreamSynchronize(cudaStreamLegacy), what);
}

static int device_upload(void *dst, const void *src, size_t n)
{
    return finish(cudaMemcpy(dst, src, n, cudaMemcpyHostToDevice), "upload");
}

static int device_download(void *dst, const void *src, size_t n)
{
    return finish(cudaMemcpy(dst, src, n, cudaMemcpyDeviceToHost), "download");
}

static int device_fill(void *dst, int byte, size_t n)
{
    return finish(cudaMemset(dst, byte, n), "fill");
}

static int device_copy(void *dst, const void *src, size_t n, void *stream)
{
    return report(cudaMemcpyAsync(dst, src, n, cudaMemcpyDeviceToDevice, (cudaStream_t) stream), "copy");
}

static void *device_stream_create(void)
{
    cudaStream_t s = nullptr;
    return report(cudaStreamCreate(&s), "cudaStreamCreate") == 0 ? (void *) s : nullptr;
}

static int device_stream_sync(void *stream)
{
    return report(cudaStreamSynchronize((cudaStream_t) stream), "cudaStreamSynchronize");
}

static void *device_event_create(void)
{
    cudaEvent_t ev = nullptr;
    return report(cudaEventCreate(&ev), "cudaEventCreate") == 0 ? (void *) ev : nullptr;
}

static int device_event_record(void *ev, void *stream)
{
    return report(cudaEventRecord((cudaEvent_t) ev, (cudaStream_t) stream), "cudaEventRecord");
}

static double device_event_ms(void *start, void *stop)
{
    float ms = 0.0f;
    if (report(cudaEventSynchronize((cudaEvent_t) stop), "cudaEventSynchronize") != 0 ||
        report(cudaEventElapsedTime(&ms, (cudaEvent_t) start, (cudaEvent_t) stop), "cudaEventElapsedTime") != 0)
        return -1.0;
    return (double) ms;
}

/* ---- graphs ---- */

static void *device_stream_apart(void)
{
    cudaStream_t s = nullptr;
    return report(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "cudaStreamCreate") == 0 ? (void *) s : nullptr;
}

static int device_graph_begin(void *stream)
{
    return report(cudaStreamBeginCapture((cudaStream_t) stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
}

static void *device_graph_end(void *stream)
{
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    const int e = report(cudaStreamEndCapture((cudaStream_t) stream, &graph), "cudaStreamEndCapture");
    if (e == 0)
        report(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
    if (graph != nullptr)
        cudaGraphDestroy(graph);
    return (void *) exec;
}

static int device_graph_launch(void *graph, void *stream)
{
    return report(cudaGraphLaunch((cudaGraphExec_t) graph, (cudaStream_t) stream), "cudaGraphLaunch");
}

static int device_graph_free(void *graph)
{
    return report(cudaGraphExecDestroy((cudaGraphExec_t) graph), "cudaGraphExecDestroy");
}

/* ---- a kernel that stays ---- */

struct spin_state {
    unsigned stop, running, late;
};
enum { SPIN_THREADS = 256, SPIN_ROOM = 1 << 22 }; /* words that the loading blocks walk over */

static struct {
    struct spin_state *state;
    unsigned *room;
    cudaStream_t stream, signal; /* neither waits for the legacy stream, so that copies and the word to stop pass by */
    bool runs;
} spin;

static __global__ void spin_kernel(volatile spin_state *s, unsigned *room, unsigned long long most_ns)
{
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    if (threadIdx.x == 0)
        atomicAdd((unsigned *) &s->running, 1u);
    unsigned at = (blockIdx.x * SPIN_THREADS + threadIdx.x) * 97;
    for (;;) {
        for (int i = 0; room != nullptr && i < 64; i++) {
            at = at * 1664525u + 1013904223u;
            room[at % SPIN_ROOM] += i;
        }
        if (s->stop != 0)
            return;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        if (now - begin > most_ns) { /* whatever happens, it ends */
            s->late = 1;
            return;
        }
    }
}

static int spin_open(void)
{
    if (spin.state != nullptr)
        return 0;
    int e = report(cudaStreamCreateWithFlags(&spin.stream, cudaStreamNonBlocking), "cudaStreamCreate");
    if (e == 0)
        e = report(cudaStreamCreateWithFlags(&spin.signal, cudaStreamNonBlocking), "cudaStreamCreate");
    if (e == 0)
        e = report(cudaMalloc((void **) &spin.room, SPIN_ROOM * sizeof *spin.room), "cudaMalloc");
    if (e == 0)
        e = report(cudaMalloc((void **) &spin.state, sizeof *spin.state), "cudaMalloc");
    return e;
}

static int spin_copy(void *dst, const void *src, size_t n, cudaMemcpyKind kind)
{
    const int e = report(cudaMemcpyAsync(dst, src, n, kind, spin.signal), "spin");
    return e != 0 ? e : report(cudaStreamSynchronize(spin.signal), "spin");
}

static int device_spin_stop(void)
{
    const unsigned one = 1;
    struct spin_state s = { 0, 0, 0 };
    if (!spin.runs)
        return report(cudaErrorInvalidValue, "spin_stop: nothing runs");
    spin.runs = false;
    int e = spin_copy(&spin.state->stop, &one, sizeof one, cudaMemcpyHostToDevice);
    if (e == 0)
        e = report(cudaStreamSynchronize(spin.stream), "spin");
    if (e == 0)
        e = spin_copy(&s, spin.state, sizeof s, cudaMemcpyDeviceToHost);
    return e == 0 && s.late != 0 ? LC_SPIN_LATE : e;
}

static int device_spin_start(int blocks, int alone)
{
    struct spin_state s = { 0, 0, 0 };
    int ordinal = 0, shared = 0;
    if (spin.runs || blocks < 1)
        return report(cudaErrorInvalidValue, "spin_start");
    int e = spin_open();
    if (e == 0)
        e = spin_copy(spin.state, &s, sizeof s, cudaMemcpyHostToDevice);
    if (e == 0 && alone) { /* all the shared memory that a block may have: no other block fits beside it */
        e = report(cudaGetDevice(&ordinal), "cudaGetDevice");
        if (e == 0)
            e = report(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal),
                       "cudaDeviceGetAttribute");
        if (e == 0)
            e = report(cudaFuncSetAttribute(spin_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared), "spin");
    }
    if (e != 0)
        return e;
    /* A multiprocessor changes its split of shared memory and L1 only when it is idle: a loading block must not hold a split in
     * which a kernel with shared memory finds none. */
    e = report(cudaFuncSetAttribute(spin_kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared),
               "spin");
    if (e != 0)
        return e;
    spin_kernel<<<blocks, SPIN_THREADS, alone ? shared : 0, spin.stream>>>(spin.state, alone ? nullptr : spin.room,
                                                                           LC_SPIN_SECONDS * 1000000000ull);
    e = report(cudaGetLastError(), "spin");
    if (e != 0)
        return e;
    spin.runs = true;
    while (e == 0 && s.running < (unsigned) blocks && s.late == 0)
        e = spin_copy(&s, spin.state, sizeof s, cudaMemcpyDeviceToHost);
    if (e == 0 && s.running >= (unsigned) blocks)
        return 0;
    device_spin_stop();
    return e != 0 ? e : report(cudaErrorLaunchTimeout, "spin_start: the blocks do not all run");
}

static const char *device_last_error(void)
{
    return words;
}

/* A name as a JSON string's inside: printable ASCII but for the two characters that end or escape it. */
static void json_text(char *out, size_t size, const char *in)
{
    size_t n = 0;
    for (; *in != '\0' && n + 1 < size; in++)
        if (*in >= ' ' && *in <= '~' && *in != '"' && *in != '\\')
            out[n++] = *in;
    out[n] = '\0';
}

/* The kernel driver's release ("580.159.04"), where the system shows it. */
static void driver_release(char *out, size_t size)
{
    char line[256] = "";
    snprintf(out, size, "unknown");
    FILE *const f = fopen("/proc/driver/nvidia/version", "r");
    if (f == nullptr)
        return;
    while (fgets(line, sizeof line, f) != nullptr)
        for (const char *at = line; *at != '\0'; at++) {
            int major = 0, minor = 0, used = 0;
            if ((at == line || at[-1] == ' ') && sscanf(at, "%d.%d%n", &major, &minor, &used) == 2 && major > 100) {
                while (at[used] == '.' || (at[used] >= '0' && at[used] <= '9'))
                    used++;
                snprintf(out, size, "%.*s", used, at);
                fclose(f);
                return;
            }
        }
    fclose(f);
}

static int device_info(int ordinal, char *json, size_t size)
{
    struct cudaDeviceProp prop;
    int driver = 0, runtime = 0, e = report(cudaGetDeviceProperties(&prop, ordinal), "cudaGetDeviceProperties");
    if (e == 0)
        e = report(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    if (e == 0)
        e = report(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    if (e != 0)
        return e;
    char name[sizeof prop.name], release[64];
    json_text(name, sizeof name, prop.name);
    driver_release(release, sizeof release);
    const int n = snprintf(json, size,
                           "{\"name\": \"%s\", \"driver\": \"%s\", \"cuda_driver\": \"%d.%d\", \"cuda_runtime\": \"%d.%d\", "
                           "\"nvcc\": \"%d.%d.%d\", \"compute_capability\": \"%d.%d\", \"sm_count\": %d, \"l2_bytes\": %d, "
                           "\"memory_bytes\": %zu}",
                           name, release, driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10,
                           __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__, __CUDACC_VER_BUILD__, prop.major, prop.minor,
                           prop.multiProcessorCount, prop.l2CacheSize, prop.totalGlobalMem);
    return n >= 0 && (size_t) n < size ? 0 : report(cudaErrorInvalidValue, "info: buffer too small");
}

extern "C" DEVICE_EXPORT const struct lc_device *lc_device_v1(void)
{
    static const struct lc_device table = {
        LC_DEVICE_ABI,      device_count,        device_open,         device_alloc,     device_free,
        device_upload,      device_download,     device_fill,         device_copy,      device_stream_create,
        device_stream_sync, device_event_create, device_event_record, device_event_ms,  device_last_error,
        device_info,        device_stream_apart, device_graph_begin,  device_graph_end, device_graph_launch,
        device_graph_free,  device_spin_start,   device_spin_stop,
    };
    return &table;
}
