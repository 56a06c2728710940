/* SPDX-License-Identifier: Apache-2.0 */
/* diff: which bits moved between two baselines, and by how much. */
#include <stdlib.h>
#include <string.h>

#include "baseline.h"
#include "commands.h"
#include "out.h"
#include "verdict.h"

struct moves {
    FILE *to;
    size_t cases, moved, tensors, moved_tensors, alone[2]; /* alone: cases that only one side has */
    int64_t ulps[HISTOGRAM], elements, changed, nans;      /* of tensors whose codes both sides have */
    size_t counted;                                        /* moved tensors with codes */
    enum lc_dtype fmt;                                     /* of the tensor at hand */
};

json_t *baseline_read(const char *path, char *why, size_t size)
{
    json_error_t error;
    json_t *const o = json_load_file(path, 0, &error);
    if (!o)
        snprintf(why, size, "%s: %.300s", path, error.text);
    else if (!strcmp(text_of(o, "format"), BASELINE_FORMAT) && json_is_object(json_object_get(o, "kernels")))
        return o;
    else
        snprintf(why, size, "%s: no baseline (format \"%s\")", path, BASELINE_FORMAT);
    json_decref(o);
    return NULL;
}

static uint32_t digit(char c)
{
    return (uint32_t) (c <= '9' ? c - '0' : c - 'a' + 10);
}

static uint32_t code_in(const char *hex, size_t n, int bytes)
{
    uint32_t code = 0;
    for (int i = bytes - 1; i >= 0; i--)
        code = code << 8 | digit(hex[2 * (n * (size_t) bytes + (size_t) i)]) << 4 |
               digit(hex[2 * (n * (size_t) bytes + (size_t) i) + 1]);
    return code;
}

static void add_ulp(struct moves *m, int64_t *ulps, uint32_t a, uint32_t b)
{
    if (fmt_is_nan(m->fmt, a) || fmt_is_nan(m->fmt, b)) {
        m->nans++;
        return;
    }
    const int64_t by = fmt_order(m->fmt, b) - fmt_order(m->fmt, a), bin = by < -4 ? -4 : by > 4 ? 4 : by;
    ulps[bin + 4]++;
    m->ulps[bin + 4]++;
}

static void print_histogram(FILE *to, const int64_t ulps[HISTOGRAM])
{
    for (int i = 0; i < HISTOGRAM; i++)
        if (ulps[i])
            fprintf(to, "  %s%+d:%lld", i == 0 ? "<=" : i == HISTOGRAM - 1 ? ">=" : "", i - 4, (long long) ulps[i]);
}

static bool is_hex(const char *text, size_t n)
{
    return strlen(text) == n && strspn(text, "0123456789abcdef") == n;
}

/* The tensor's hashes differ: by how many codes and ulps, where both sides have them. */
static void moved_tensor(struct moves *m, const char *name, json_t *a, json_t *b)
{
    const char *const x = text_of(a, "codes"), *const y = text_of(b, "codes");
    const json_int_t n = int_of(a, "n"), cols = int_of(a, "cols") > 0 ? int_of(a, "cols") : 1;
    fprintf(m->to, "        %s:", name);
    if (strcmp(text_of(a, "fmt"), text_of(b, "fmt")) || n != int_of(b, "n")) {
        fprintf(m->to, " %s and %s, %lld and %lld elements\n", text_of(a, "fmt"), text_of(b, "fmt"), (long long) n,
                (long long) int_of(b, "n"));
        return;
    }
    if (!fmt_parse(text_of(a, "fmt"), &m->fmt) || n < 0 || n > BITS_MOST || !is_hex(x, (size_t) (2 * n * fmt_bytes(m->fmt))) ||
        !is_hex(y, (size_t) (2 * n * fmt_bytes(m->fmt)))) {
        fprintf(m->to, " hash %.16s, was %.16s\n", text_of(b, "sha256"), text_of(a, "sha256"));
        return;
    }
    int64_t ulps[HISTOGRAM] = { 0 }, changed = 0;
    json_int_t first = -1;
    for (json_int_t i = 0; i < n; i++) {
        const uint32_t was = code_in(x, (size_t) i, fmt_bytes(m->fmt)), is = code_in(y, (size_t) i, fmt_bytes(m->fmt));
        if (was == is)
            continue;
        first = first < 0 ? i : first;
        changed++;
        add_ulp(m, ulps, was, is);
    }
    m->counted++;
    m->elements += n;
    m->changed += changed;
    if (first < 0) {
        fprintf(m->to, " the hashes differ, the codes do not: a damaged file\n");
        return;
    }
    const int width = 2 * fmt_bytes(m->fmt);
    fprintf(m->to, " %lld of %lld elements, first [%lld,%lld] 0x%0*x, was 0x%0*x; ulp", (long long) changed, (long long) n,
            (long long) (first / cols), (long long) (first % cols), width, code_in(y, (size_t) first, fmt_bytes(m->fmt)), width,
            code_in(x, (size_t) first, fmt_bytes(m->fmt)));
    print_histogram(m->to, ulps);
    fprintf(m->to, "\n");
}

static void compare_case(struct moves *m, const char *kernel, const char *id, json_t *a, json_t *b)
{
    const char *name;
    json_t *tensor;
    bool moved = false;
    m->cases++;
    json_object_foreach(a, name, tensor) {
        json_t *const other = json_object_get(b, name);
        m->tensors++;
        if (other && !strcmp(text_of(tensor, "sha256"), text_of(other, "sha256")))
            continue;
        if (!moved)
            fprintf(m->to, "MOVED   %s %s\n", kernel, id);
        moved = true;
        m->moved_tensors++;
        moved_tensor(m, name, tensor, other);
    }
    m->moved += moved;
}

static void head(FILE *to, const char *name, json_t *o)
{
    json_t *const device = json_object_get(o, "device");
    fprintf(to, "%s: backend %s, %s %s, contract %.12s, library %.12s, compiler %s", name, text_of(o, "backend"),
            text_of(o, "program"), text_of(o, "revision"), text_of(o, "contract"), text_of(o, "library_sha256"),
            text_of(o, "compiler"));
    if (device)
        fprintf(to, ", %s, driver %s, CUDA runtime %s, nvcc %s", text_of(device, "name"), text_of(device, "driver"),
                text_of(device, "cuda_runtime"), text_of(device, "nvcc"));
    fprintf(to, "\n");
}

int baseline_diff(FILE *to, json_t *a, json_t *b, const char *a_name, const char *b_name)
{
    struct moves m = { .to = to };
    json_t *const sides[2] = { json_object_get(a, "kernels"), json_object_get(b, "kernels") };
    const char *kernel, *id;
    json_t *cases, *tensors;
    head(to, a_name, a);
    head(to, b_name, b);
    for (int side = 0; side < 2; side++)
        json_object_foreach(sides[side], kernel, cases)
            json_object_foreach(cases, id, tensors) {
                json_t *const other = json_object_get(json_object_get(sides[1 - side], kernel), id);
                if (!other)
                    m.alone[side]++;
                else if (side == 0)
                    compare_case(&m, kernel, id, tensors, other);
            }
    fprintf(to, "%zu of %zu cases moved, %zu of %zu tensors", m.moved, m.cases, m.moved_tensors, m.tensors);
    if (m.alone[0] || m.alone[1])
        fprintf(to, "; %zu cases in %s only, %zu in %s only", m.alone[0], a_name, m.alone[1], b_name);
    fprintf(to, "\n");
    if (m.counted) {
        fprintf(to, "%lld of %lld elements in %zu tensors with codes moved; ulp", (long long) m.changed, (long long) m.elements,
                m.counted);
        print_histogram(to, m.ulps);
        fprintf(to, m.nans ? "; %lld to or from NaN\n" : "\n", (long long) m.nans);
    }
    return m.moved ? EXIT_MISMATCH : m.cases ? EXIT_PASS : EXIT_NOTHING;
}

int command_diff(int argc, char **argv)
{
    struct options o;
    char why[512];
    int status = options_read(&o, argc, argv, "-v");
    if (status)
        return status;
    if (o.ops.n != 2)
        return usage_error("diff A.json B.json: two baselines");
    json_t *const a = baseline_read(o.ops.at[0], why, sizeof why), *const b = a ? baseline_read(o.ops.at[1], why, sizeof why)
                                                                                : NULL;
    status = b ? baseline_diff(stdout, a, b, o.ops.at[0], o.ops.at[1]) : usage_error("%s", why);
    json_decref(a);
    json_decref(b);
    return status;
}
