/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing files of cases. What a file says is held against the call that its case id builds. */
#include "golden.h"

#include <math.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "h5.h"

enum { HEX = 2 * EVP_MAX_MD_SIZE + 1 };

struct golden {
    char *path;
    hid_t file;
    size_t n;
    char **id;
    struct kase *kase;
};

/* ---- the file ---- */

static int read_head(const struct golden *g, char *why, size_t size)
{
    char text[128];
    if (h5_text(g->file, "format", text, sizeof text))
        return h5_say(why, size, "%s: no attribute format: not a file of cases", g->path);
    if (strcmp(text, H5_FORMAT))
        return h5_say(why, size, "%s: format %.40s; this build reads %s", g->path, text, H5_FORMAT);
    if (h5_text(g->file, "contract", text, sizeof text))
        return h5_say(why, size, "%s: no attribute contract", g->path);
    if (strcmp(text, contract_hash)) /* what was computed by other clauses compares with nothing */
        return h5_say(why, size, "%s: made from contract %.12s, this build has %.12s: another contract version does not compare",
                      g->path, text, contract_hash);
    return 0;
}

static int read_cases(struct golden *g, char *why, size_t size)
{
    const size_t n = h5_count(g->file);
    g->id = calloc(n + 1, sizeof *g->id);
    g->kase = calloc(n + 1, sizeof *g->kase);
    if (!g->id || !g->kase)
        return h5_say(why, size, "%s: out of memory", g->path);
    for (size_t i = 0; i < n; i++) {
        char text[MAX_ID], reason[512];
        g->id[i] = h5_name(g->file, i);
        if (!g->id[i])
            return h5_say(why, size, "%s: the name of a case cannot be read", g->path);
        g->n++;
        const hid_t group = h5_group(g->file, g->id[i]);
        const bool same = !h5_text(group, "case", text, sizeof text) && !strcmp(text, g->id[i]);
        H5Gclose(group);
        if (!same)
            return h5_say(why, size, "%s: %.200s: not a group whose attribute case is its name", g->path, g->id[i]);
        if (kase_parse(&g->kase[i], g->id[i], reason, sizeof reason))
            return h5_say(why, size, "%s: %.400s", g->path, reason);
    }
    return n ? 0 : h5_say(why, size, "%s: no case in it", g->path);
}

struct golden *golden_open(const char *path, char *why, size_t size)
{
    struct golden *const g = calloc(1, sizeof *g);
    if (!g || !(g->path = malloc(strlen(path) + 1))) {
        h5_say(why, size, "%s: out of memory", path);
        free(g);
        return NULL;
    }
    strcpy(g->path, path);
    g->file = h5_open(path, why, size);
    if (g->file >= 0 && !read_head(g, why, size) && !read_cases(g, why, size))
        return g;
    golden_close(g);
    return NULL;
}

void golden_close(struct golden *g)
{
    if (!g)
        return;
    if (g->file >= 0)
        H5Fclose(g->file);
    for (size_t i = 0; i < g->n; i++)
        free(g->id[i]);
    free(g->id);
    free(g->kase);
    free(g->path);
    free(g);
}

size_t golden_count(const struct golden *g)
{
    return g->n;
}

const char *golden_case(const struct golden *g, size_t i)
{
    return g->id[i];
}

const struct kase *golden_kase(const struct golden *g, size_t i)
{
    return &g->kase[i];
}

/* The group of a case, its id in the file in *id; negative and why where there is none. */
static hid_t case_group(const struct golden *g, const struct kase *k, const char **id, char *why, size_t size)
{
    char text[MAX_ID];
    for (size_t i = 0; i < g->n; i++)
        if (kase_same(&g->kase[i], k)) {
            *id = g->id[i];
            return h5_group(g->file, g->id[i]);
        }
    kase_print(k, text, sizeof text);
    return h5_say(why, size, "%s: %s: no such case in it", g->path, text);
}

/* ---- one case ---- */

/* A parameter that the file has beside the case id says the same. */
static int same_scalars(hid_t group, const struct call *c, char *why, size_t size)
{
    char op[64];
    if (h5_text(group, "op", op, sizeof op) || strcmp(op, c->op->name))
        return h5_say(why, size, "attribute op is not \"%s\"", c->op->name);
    for (int i = 0; i < c->n_scalars; i++)
        if (h5_same_scalar(group, &c->scalar[i], why, size))
            return -1;
    return 0;
}

struct source { /* where call_open gets its inputs */
    const struct call *c;
    hid_t group;
    char why[400];
};

static const struct slot *slot_named(const struct call *c, const char *name)
{
    for (int i = 0; i < MAX_TENSORS; i++)
        if (c->slot[i].listed && c->slot[i].on && !strcmp(c->slot[i].t.name, name))
            return &c->slot[i];
    return NULL;
}

static int from_file(void *user, const char *tensor, void *storage, size_t bytes)
{
    struct source *const from = user;
    const struct slot *const s = slot_named(from->c, tensor);
    if (!s || s->bytes != bytes)
        return h5_say(from->why, sizeof from->why, "%s: no such input", tensor);
    return h5_read_slot(from->group, s, storage, from->why, sizeof from->why);
}

/* An input that is another one's storage (RMS-2) is in the file too, for readers that know nothing of aliases: its
 * elements must be the other's. */
static int same_aliases(hid_t group, const struct call *c, char *why, size_t size)
{
    for (int i = 0; i < MAX_TENSORS; i++) {
        const struct slot *const s = &c->slot[i];
        if (!s->listed || !s->on || s->dir != DIR_IN || s->same_as < 0 || !h5_has(group, s->t.name))
            continue;
        uint8_t *const storage = malloc(s->bytes + 1);
        int status = storage ? h5_read_slot(group, s, storage, why, size) : h5_say(why, size, "%s: out of memory", s->t.name);
        for (size_t at = 0; !status && at < s->bytes; at++)
            if (c->own[s->offset + at] == INPUT && storage[at] != c->image[s->offset + at])
                status = h5_say(why, size, "%s: is %s itself in this case, and holds something else", s->t.name,
                                c->slot[s->same_as].t.name);
        free(storage);
        if (status)
            return -1;
    }
    return 0;
}

/* y.v, y.lo, y.hi: what an oracle says of y; NULL where they are absent. */
static int read_y(hid_t group, const struct call *c, struct iv **y, char *why, size_t size)
{
    static const char *const names[3] = { "y.v", "y.lo", "y.hi" };
    *y = NULL;
    if (!h5_has(group, names[0]))
        return 0;
    const int64_t rows = c->op->rows(&c->args), cols = c->op->cols(&c->args, c->op->y_tensor);
    const size_t n = (size_t) (rows * cols);
    double *const end = malloc((3 * n + 1) * sizeof *end);
    *y = malloc((n + 1) * sizeof **y);
    int status = end && *y ? 0 : h5_say(why, size, "y: out of memory");
    for (int i = 0; !status && i < 3; i++)
        status = h5_read_reals(group, names[i], rows, cols, end + n * (size_t) i, why, size);
    for (size_t i = 0; !status && i < n; i++) {
        const double v = end[i], lo = end[n + i], hi = end[2 * n + i];
        (*y)[i] = (struct iv) { v, lo, hi };
        if (!(lo <= v && v <= hi) &&
            !(isnan(v) && ((isnan(lo) && isnan(hi)) || (lo == -HUGE_VAL && hi == HUGE_VAL)))) /* NaN; not finite (HAD-6) */
            status = h5_say(why, size, "y[%lld,%lld]: y.lo <= y.v <= y.hi does not hold", (long long) i / cols,
                            (long long) i % cols);
    }
    free(end);
    if (status) {
        free(*y);
        *y = NULL;
    }
    return status;
}

int golden_open_call(struct golden *g, struct call *c, const struct kase *k, struct iv **y)
{
    struct source from = { c, -1, "" };
    const char *id = "?";
    char why[512];
    *y = NULL;
    memset(c, 0, sizeof *c);
    c->id = *k;
    c->op = k->op;
    from.group = case_group(g, k, &id, why, sizeof why);
    if (from.group < 0)
        return h5_say(c->msg, sizeof c->msg, "%s", why);
    int status = call_open(c, k, from_file, &from);
    if (status)
        h5_say(why, sizeof why, "%s", from.why[0] ? from.why : c->msg);
    else if (c->bad >= 0)
        status = h5_say(why, sizeof why, "a refusal has no data");
    if (!status)
        status = same_scalars(from.group, c, why, sizeof why);
    if (!status)
        status = same_aliases(from.group, c, why, sizeof why);
    if (!status)
        status = read_y(from.group, c, y, why, sizeof why);
    H5Gclose(from.group);
    if (status)
        h5_say(c->msg, sizeof c->msg, "%.120s: %.160s: %s", g->path, id, why);
    return status;
}

int golden_read(struct golden *g, const struct call *c, int slot, void *storage, char *why, size_t size)
{
    const char *id = "?";
    char inner[512];
    const hid_t group = case_group(g, &c->id, &id, why, size);
    if (group < 0)
        return -1;
    const int status = h5_read_slot(group, &c->slot[slot], storage, inner, sizeof inner);
    H5Gclose(group);
    return status ? h5_say(why, size, "%s: %s: %s", g->path, id, inner) : 0;
}

/* ---- the content hash: SHA-256 of id "\n", then per dataset by name: name "\n" bytes ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

static int hash_datasets(EVP_MD_CTX *hash, hid_t group, char *why, size_t size)
{
    const size_t n = h5_count(group);
    char **const name = calloc(n + 1, sizeof *name);
    int status = name ? 0 : h5_say(why, size, "out of memory");
    for (size_t i = 0; !status && i < n; i++)
        if (!(name[i] = h5_name(group, i)))
            status = h5_say(why, size, "the name of a dataset cannot be read");
    if (!status)
        qsort(name, n, sizeof *name, by_name);
    for (size_t i = 0; !status && i < n; i++) {
        void *data;
        size_t bytes;
        status = h5_read_any(group, name[i], &data, &bytes, why, size);
        if (status)
            break;
        if (!EVP_DigestUpdate(hash, name[i], strlen(name[i])) || !EVP_DigestUpdate(hash, "\n", 1) ||
            !EVP_DigestUpdate(hash, data, bytes))
            status = h5_say(why, size, "SHA-256 is not available");
        free(data);
    }
    for (size_t i = 0; name && i < n; i++)
        free(name[i]);
    free(name);
    return status;
}

static int content_hash(hid_t group, const char *id, char hex[HEX], char *why, size_t size)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    EVP_MD_CTX *const hash = EVP_MD_CTX_new();
    int status = 0;
    if (!hash || !EVP_DigestInit_ex(hash, EVP_sha256(), NULL) || !EVP_DigestUpdate(hash, id, strlen(id)) ||
        !EVP_DigestUpdate(hash, "\n", 1))
        status = h5_say(why, size, "SHA-256 is not available");
    if (!status)
        status = hash_datasets(hash, group, why, size);
    if (!status && !EVP_DigestFinal_ex(hash, digest, &n))
        status = h5_say(why, size, "SHA-256 is not available");
    EVP_MD_CTX_free(hash);
    for (unsigned i = 0; i < n; i++)
        snprintf(hex + 2 * (size_t) i, 3, "%02x", digest[i]);
    return status;
}

bool golden_intact(struct golden *g, const struct kase *k, char *why, size_t size)
{
    const char *id = "?";
    char has[HEX], is[HEX] = "", inner[512];
    const hid_t group = case_group(g, k, &id, why, size);
    if (group < 0)
        return false;
    int status = 0;
    if (h5_text(group, "content_sha256", has, sizeof has))
        status = h5_say(inner, sizeof inner, "no attribute content_sha256");
    else if (!content_hash(group, id, is, inner, sizeof inner) && !strcmp(has, is))
        status = 0;
    else
        status = is[0] ? h5_say(inner, sizeof inner, "changed since it was made: content_sha256 is %.12s, the content has %.12s",
                                has, is)
                       : -1;
    H5Gclose(group);
    if (status)
        h5_say(why, size, "%s: %s: %s", g->path, id, inner);
    return status == 0;
}
