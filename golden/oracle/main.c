/* SPDX-License-Identifier: Apache-2.0 */
/* golden-oracle IN.h5 OUT.h5: reads an exported inputs file, writes the same cases with their outputs filled
 * in. Status 0, or 3 with one line on stderr and no OUT.h5. */
#include "oracle.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the walk ---- */

static int hash_case(const struct test_case *const c, char hex[2 * EVP_MAX_MD_SIZE + 1], struct why *const why)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EVP_MD_CTX *const ctx = EVP_MD_CTX_new();
    int ok = ctx != NULL && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) && EVP_DigestUpdate(ctx, c->id, strlen(c->id)) &&
             EVP_DigestUpdate(ctx, "\n", 1);

    for (size_t i = 0; ok && i < c->count; i++) {
        const struct tensor *const t = &c->tensor[i];
        ok = EVP_DigestUpdate(ctx, t->name, strlen(t->name)) && EVP_DigestUpdate(ctx, "\n", 1) &&
             EVP_DigestUpdate(ctx, t->data, t->count * type_size(t->type));
    }
    ok = ok && EVP_DigestFinal_ex(ctx, digest, &size);
    EVP_MD_CTX_free(ctx);
    if (!ok)
        return refuse(why, "SHA-256 is not available");
    for (unsigned i = 0; i < size; i++)
        sprintf(hex + 2 * (size_t) i, "%02x", digest[i]);
    return 0;
}

static int by_tensor_name(const void *const a, const void *const b)
{
    const struct tensor *const s = a, *const t = b;
    return strcmp(s->name, t->name);
}

static int by_attribute_name(const void *const a, const void *const b)
{
    const struct attribute *const s = a, *const t = b;
    return strcmp(s->name, t->name);
}

static int fill_case(struct test_case *const c, struct why *const why)
{
    static const struct {
        const char *op;
        int (*fill)(struct test_case *c, struct why *why);
    } oracle[] = { { "cast", oracle_cast },
                   { "rmsnorm", oracle_rmsnorm },
                   { "rope_table", oracle_rope_table },
                   { "hadamard", oracle_hadamard },
                   { "linear", oracle_linear } };
    const char *const op = find_text(&c->about, "op", why);
    const char *const id = find_text(&c->about, "case", why);
    size_t which = 0;

    if (op == NULL || id == NULL || find_text(&c->about, "clauses", why) == NULL)
        return -1;
    if (strcmp(id, c->id) != 0)
        return refuse(why, "attribute case is another one: %s", id);
    while (which < sizeof oracle / sizeof oracle[0] && strcmp(oracle[which].op, op) != 0)
        which++;
    if (which == sizeof oracle / sizeof oracle[0])
        return refuse(why, "no oracle for op %s", op);
    if (oracle[which].fill(c, why) != 0)
        return -1;

    char hex[2 * EVP_MAX_MD_SIZE + 1];

    qsort(c->tensor, c->count, sizeof c->tensor[0], by_tensor_name);
    if (hash_case(c, hex, why) != 0)
        return -1;
    attribute_text(&c->about, "content_sha256", hex);
    qsort(c->about.item, c->about.count, sizeof c->about.item[0], by_attribute_name);
    return 0;
}

static int check_head(const struct golden *const golden, struct why *const why)
{
    const char *const format = find_text(&golden->about, "format", why);
    const char *const contract = find_text(&golden->about, "contract", why);

    if (format == NULL || contract == NULL || find_text(&golden->about, "maker", why) == NULL)
        return -1;
    if (strcmp(format, "layercheck-1") != 0)
        return refuse(why, "format is %s, not layercheck-1", format);
    if (strlen(contract) != 64 || strspn(contract, "0123456789abcdef") != 64)
        return refuse(why, "attribute contract is no SHA-256");
    if (golden->count == 0)
        return refuse(why, "no case in it");
    return 0;
}

static int fill(struct golden *const golden, struct why *const why)
{
    if (check_head(golden, why) != 0)
        return -1;
    for (size_t i = 0; i < golden->count; i++) {
        struct why inner;
        if (fill_case(&golden->item[i], &inner) != 0)
            return refuse(why, "%.150s: %.240s", golden->item[i].id, inner.text);
    }
    return 0;
}

int main(const int argc, char **const argv)
{
    struct golden golden = { { NULL, 0 }, NULL, 0 };
    struct why why = { "" };
    int status = 0;

    if (argc != 3) {
        fputs("usage: golden-oracle IN.h5 OUT.h5\n", stderr);
        return 3;
    }
    if (golden_read(&golden, argv[1], &why) != 0 || fill(&golden, &why) != 0) {
        fprintf(stderr, "golden-oracle: %s: %s\n", argv[1], why.text);
        status = 3;
    } else if (golden_write(&golden, argv[2], &why) != 0) {
        fprintf(stderr, "golden-oracle: %s: %s\n", argv[2], why.text);
        status = 3;
    }
    golden_free(&golden);
    mpfr_free_cache();
    return status;
}
