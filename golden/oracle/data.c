/* SPDX-License-Identifier: Apache-2.0 */
/* What a file holds, in memory: attributes, tensors, cases; finding them, and addressing a tensor's view. */
#include "oracle.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int refuse(struct why *const why, const char *const form, ...)
{
    va_list list;

    va_start(list, form);
    vsnprintf(why->text, sizeof why->text, form, list);
    va_end(list);
    return -1;
}

void *need(void *const memory)
{
    if (memory == NULL) {
        fputs("golden-oracle: no memory left\n", stderr);
        exit(3);
    }
    return memory;
}

/* ---- making ---- */

char *copy_text(const char *const text)
{
    return strcpy(need(malloc(strlen(text) + 1)), text);
}

/* One more zeroed item at the end of an array. */
static void *grow(void *const array, size_t *const count, const size_t size)
{
    char *const wider = need(realloc(array, (*count + 1) * size));

    memset(wider + *count * size, 0, size);
    ++*count;
    return wider;
}

struct attribute *attribute_add(struct attributes *const about)
{
    about->item = grow(about->item, &about->count, sizeof about->item[0]);
    return &about->item[about->count - 1];
}

struct tensor *tensor_add(struct test_case *const c)
{
    c->tensor = grow(c->tensor, &c->count, sizeof c->tensor[0]);
    return &c->tensor[c->count - 1];
}

struct test_case *case_add(struct golden *const golden)
{
    golden->item = grow(golden->item, &golden->count, sizeof golden->item[0]);
    return &golden->item[golden->count - 1];
}

void attribute_text(struct attributes *const about, const char *const name, const char *const text)
{
    struct attribute *a = NULL;

    for (size_t i = 0; i < about->count; i++)
        if (strcmp(about->item[i].name, name) == 0)
            a = &about->item[i];
    if (a == NULL) {
        a = attribute_add(about);
        a->name = copy_text(name);
    }
    free(a->text);
    a->kind = KIND_TEXT;
    a->text = copy_text(text);
}

struct tensor *tensor_bare(struct test_case *const c, const char *const name, const int64_t rows, const int64_t columns)
{
    struct tensor *const t = tensor_add(c);

    t->name = copy_text(name);
    t->type = TYPE_F64;
    t->bare = t->is_out = 1;
    t->store_rank = 2;
    t->store[0] = rows;
    t->store[1] = columns;
    t->count = (size_t) (rows * columns);
    t->data = need(calloc(t->count + 1, type_size(t->type)));
    return t;
}

static void attributes_free(struct attributes *const about)
{
    for (size_t i = 0; i < about->count; i++) {
        free(about->item[i].name);
        free(about->item[i].text);
    }
    free(about->item);
}

void golden_free(struct golden *const golden)
{
    for (size_t i = 0; i < golden->count; i++) {
        struct test_case *const c = &golden->item[i];
        for (size_t k = 0; k < c->count; k++) {
            free(c->tensor[k].name);
            free(c->tensor[k].data);
        }
        free(c->tensor);
        free(c->id);
        attributes_free(&c->about);
    }
    free(golden->item);
    attributes_free(&golden->about);
}

/* ---- look-ups ---- */

static const struct attribute *find_attribute(const struct attributes *const about, const char *const name, const enum kind kind,
                                              struct why *const why)
{
    static const char *const word[] = { "an integer", "a double", "a string" };

    for (size_t i = 0; i < about->count; i++) {
        if (strcmp(about->item[i].name, name) != 0)
            continue;
        if (about->item[i].kind == kind)
            return &about->item[i];
        refuse(why, "attribute %s is not %s", name, word[kind]);
        return NULL;
    }
    refuse(why, "no attribute %s", name);
    return NULL;
}

const char *find_text(const struct attributes *const about, const char *const name, struct why *const why)
{
    const struct attribute *const a = find_attribute(about, name, KIND_TEXT, why);
    return a == NULL ? NULL : a->text;
}

int find_count(const struct test_case *const c, const char *const name, const int64_t least, const int64_t most,
               int64_t *const out, struct why *const why)
{
    const struct attribute *const a = find_attribute(&c->about, name, KIND_INTEGER, why);

    if (a == NULL)
        return -1;
    if (a->i < least || a->i > most)
        return refuse(why, "%s = %lld is not in %lld..%lld", name, (long long) a->i, (long long) least, (long long) most);
    *out = a->i;
    return 0;
}

int find_choice(const struct test_case *const c, const char *const name, const int64_t most, int64_t *const out,
                struct why *const why)
{
    *out = 0;
    for (size_t i = 0; i < c->about.count; i++)
        if (strcmp(c->about.item[i].name, name) == 0)
            return find_count(c, name, 0, most, out, why);
    return 0;
}

int find_real(const struct test_case *const c, const char *const name, double *const out, struct why *const why)
{
    const struct attribute *const a = find_attribute(&c->about, name, KIND_REAL, why);

    if (a == NULL)
        return -1;
    *out = a->f;
    return 0;
}

struct tensor *find_tensor(const struct test_case *const c, const char *const name, const int is_out, struct why *const why)
{
    for (size_t i = 0; i < c->count; i++) {
        if (strcmp(c->tensor[i].name, name) != 0)
            continue;
        if (c->tensor[i].is_out == is_out)
            return &c->tensor[i];
        refuse(why, "%s has dir other than \"%s\"", name, is_out ? "out" : "in");
        return NULL;
    }
    refuse(why, "no dataset %s", name);
    return NULL;
}

/* ---- views ---- */

size_t view_at(const struct tensor *const t, const int64_t b, const int64_t m, const int64_t j)
{
    const int64_t index[3] = { b, m, j };
    int64_t at = 0;

    for (int i = 0; i < t->rank; i++)
        at += index[i + 3 - t->rank] * t->stride[i];
    return (size_t) at;
}

double view_load(const struct tensor *const t, const int64_t b, const int64_t m, const int64_t j)
{
    return num_load(t->type, t->data + view_at(t, b, m, j) * type_size(t->type));
}

void view_store(const struct tensor *const t, const int64_t b, const int64_t m, const int64_t j, const double v)
{
    num_store(t->type, t->data + view_at(t, b, m, j) * type_size(t->type), v);
}

int dims_are(const int64_t *const dims, const int rank, const int64_t b, const int64_t m, const int64_t n)
{
    const int64_t want[3] = { b, m, n };

    for (int i = 0; i < 3; i++)
        if ((i < 3 - rank ? 1 : dims[i - (3 - rank)]) != want[i])
            return 0;
    return 1;
}

int view_extent(const struct tensor *const x, struct extent *const e, struct why *const why)
{
    e->b = x->rank > 2 ? x->shape[x->rank - 3] : 1;
    e->m = x->rank > 1 ? x->shape[x->rank - 2] : 1;
    e->d = x->shape[x->rank - 1];
    if (e->d < 1)
        return refuse(why, "%s has no column (CAST-10, RMS-9)", x->name);
    if (e->d > 1 && x->stride[x->rank - 1] != 1)
        return refuse(why, "%s: last stride is not 1 (CAST-10, RMS-8)", x->name);
    return 0;
}

int same_view_shape(const struct tensor *const t, const struct tensor *const x, struct why *const why)
{
    struct extent e;

    if (t->rank != x->rank || memcmp(t->shape, x->shape, (size_t) x->rank * sizeof x->shape[0]) != 0)
        return refuse(why, "%s has another shape than %s (CAST-10, RMS-8)", t->name, x->name);
    return view_extent(t, &e, why);
}
