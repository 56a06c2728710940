/* SPDX-License-Identifier: Apache-2.0 */
/* ROT-5: a list under one lock. Making a table happens under it too: of two threads that ask first, one makes and both get it. */
#include "rope_registry.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct rope_table table; /* first: a table's address is its entry's */
    const struct rope_maker *maker;
    int64_t handles;
    struct entry *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *first;

static bool same_real(const float *a, const float *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static bool same(const struct rope_key *a, const struct rope_key *b)
{
    return a->device == b->device && a->dtype == b->dtype && a->head_size == b->head_size && a->rotary_dim == b->rotary_dim &&
           a->is_neox == b->is_neox && a->scaling == b->scaling && a->truncate == b->truncate &&
           a->max_position == b->max_position && a->orig == b->orig && a->sample_interval == b->sample_interval &&
           same_real(&a->base, &b->base) && same_real(&a->factor, &b->factor) && same_real(&a->beta_fast, &b->beta_fast) &&
           same_real(&a->beta_slow, &b->beta_slow) && same_real(&a->extrapolation_factor, &b->extrapolation_factor) &&
           same_real(&a->attn_factor, &b->attn_factor) && same_real(&a->mscale, &b->mscale) &&
           same_real(&a->mscale_all_dim, &b->mscale_all_dim) && same_real(&a->cycle_threshold, &b->cycle_threshold);
}

static struct entry **find(const struct rope_key *key) /* the link to it, or the last link */
{
    struct entry **at = &first;
    while (*at && !same(&(*at)->table.key, key))
        at = &(*at)->next;
    return at;
}

const struct rope_table *rope_acquire(const struct rope_maker *maker, const struct rope_key *key, char *msg, size_t size)
{
    pthread_mutex_lock(&lock);
    struct entry **const at = find(key);
    struct entry *e = *at;
    if (!e) {
        e = calloc(1, sizeof *e);
        if (e) {
            e->table.key = *key;
            e->maker = maker;
        }
        if (!e)
            snprintf(msg, size, "rope_table: out of memory");
        else if (maker->make(&e->table, msg, size)) {
            free(e);
            e = NULL;
        }
        *at = e;
    }
    if (e)
        e->handles++;
    pthread_mutex_unlock(&lock);
    return e ? &e->table : NULL;
}

void rope_drop(const struct rope_table *table)
{
    pthread_mutex_lock(&lock);
    struct entry *const e = *find(&table->key);
    assert(e && &e->table == table && e->handles > 0);
    e->handles--;
    pthread_mutex_unlock(&lock);
}

int64_t rope_release(const struct rope_key *key)
{
    pthread_mutex_lock(&lock);
    struct entry **const at = find(key);
    struct entry *const e = *at;
    const int64_t left = e ? e->handles : 0;
    if (e && left == 0) {
        *at = e->next;
        e->maker->unmake(&e->table);
        free(e);
    }
    pthread_mutex_unlock(&lock);
    return left;
}

int64_t rope_tables(void)
{
    int64_t n = 0;
    pthread_mutex_lock(&lock);
    for (const struct entry *e = first; e; e = e->next)
        n++;
    pthread_mutex_unlock(&lock);
    return n;
}
