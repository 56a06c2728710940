/* SPDX-License-Identifier: Apache-2.0 */
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "baseline.h"
#include "case.h"

static void hex(const unsigned char *bytes, size_t n, char *to)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        to[2 * i] = digits[bytes[i] >> 4];
        to[2 * i + 1] = digits[bytes[i] & 15];
    }
    to[2 * n] = 0;
}

int sha256_hex(const void *bytes, size_t n, char to[65])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    to[0] = 0;
    if (EVP_Digest(bytes, n, digest, &size, EVP_sha256(), NULL) != 1 || size != 32)
        return -1;
    hex(digest, size, to);
    return 0;
}

void file_sha256(const char *path, char to[65])
{
    FILE *const f = fopen(path, "rb");
    char *all = NULL;
    size_t n = 0, got = 0;
    to[0] = 0;
    do {
        char *const more = f ? realloc(all, n + (1 << 20)) : NULL;
        if (!more)
            break;
        all = more;
        n += got = fread(all + n, 1, 1 << 20, f);
    } while (got == 1 << 20);
    if (f && n)
        sha256_hex(all, n, to);
    free(all);
    if (f)
        fclose(f);
}

/* The codes of one output, packed; the caller frees them. */
static uint8_t *packed(const struct call *c, const uint8_t *after, int slot, size_t *bytes)
{
    const enum lc_dtype f = c->slot[slot].fmt;
    const size_t size = (size_t) fmt_bytes(f);
    const int64_t cols = c->op->cols(&c->args, slot);
    int64_t rows = 0; /* those that have elements of this tensor: all, or the first (inv_freq) */
    while (rows < c->op->rows(&c->args) && cols > 0 && c->op->place(&c->args, slot, rows, 0) >= 0)
        rows++;
    *bytes = (size_t) (rows * cols) * size;
    uint8_t *const to = malloc(*bytes + 1);
    for (int64_t n = 0; to && n < rows * cols; n++) {
        const uint32_t code = code_at(f, after + c->slot[slot].offset + c->op->place(&c->args, slot, n / cols, n % cols),
                                      n % cols);
        for (size_t k = 0; k < size; k++)
            to[(size_t) n * size + k] = (uint8_t) (code >> 8 * k);
    }
    return to;
}

static json_t *tensor_json(const struct call *c, const uint8_t *after, int slot, bool codes)
{
    size_t bytes;
    char sum[65];
    uint8_t *const all = packed(c, after, slot, &bytes);
    if (!all || sha256_hex(all, bytes, sum)) {
        free(all);
        return NULL;
    }
    const enum lc_dtype f = c->slot[slot].fmt;
    json_t *const o = json_pack("{s:s, s:I, s:I, s:s}", "fmt", fmt_name(f), "n", (json_int_t) (bytes / (size_t) fmt_bytes(f)),
                                "cols", (json_int_t) c->op->cols(&c->args, slot), "sha256", sum);
    char *const text = codes && bytes <= BITS_MOST ? malloc(2 * bytes + 1) : NULL;
    if (text) {
        hex(all, bytes, text);
        json_object_set_new(o, "codes", json_string(text));
    }
    free(text);
    free(all);
    return o;
}

json_t *baseline_job(struct backend *b, const struct lc_kernel *k, const struct call *c, bool codes, bool *lost)
{
    struct seat s;
    char id[MAX_ID], msg[512] = "out of memory";
    json_t *const tensors = json_object();
    uint8_t *const after = arena_new(c);
    int status = after ? seat_open(&s, b, k, c) : -1;
    kase_print(&c->id, id, sizeof id);
    if (after) {
        status = status ? status : seat_load(&s, c->image);
        status = status ? status : seat_run(&s, after);
        snprintf(msg, sizeof msg, "%s", status ? s.msg : "");
        seat_close(&s);
    }
    for (int i = 0; i < MAX_TENSORS && !status; i++)
        if (c->slot[i].listed && c->slot[i].on && c->slot[i].dir == DIR_OUT && !call_is_repeat(c, i))
            json_object_set_new(tensors, c->slot[i].t.name, tensor_json(c, after, i, codes));
    arena_free(after);
    *lost = status == -2;
    return json_pack("{s:s, s:s, s:s, s:o, s:s%}", "case", id, "op", c->op->name, "outcome",
                     status == 0                                ? "pass"
                     : status == LC_UNSUPPORTED                 ? "unsupported"
                     : status == LC_BAD_ARG && call_has_lost(c) ? "unsupported"
                     : status == -2                             ? "crash"
                     : status < 0                               ? "broken"
                                                                : "fail",
                     "tensors", tensors, "msg", msg, strlen(msg));
}
