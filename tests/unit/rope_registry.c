/* SPDX-License-Identifier: Apache-2.0 */
/* ROT-5: the registry's logic, by threads, over a maker that counts. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../fast/cuda/rope_registry.h"

enum { THREADS = 8, ROUNDS = 2000, KEYS = 5 };

static int made[KEYS + 1], freed[KEYS + 1]; /* by head_size; the registry calls a maker under its lock */

static int make(struct rope_table *t, char *msg, size_t size)
{
    if (t->key.head_size == KEYS) {
        snprintf(msg, size, "told to fail");
        return -1;
    }
    made[t->key.head_size]++;
    t->data = malloc(64);
    t->rows = t->key.max_position;
    t->width = t->key.rotary_dim;
    return 0;
}

static void unmake(struct rope_table *t)
{
    freed[t->key.head_size]++;
    memset(t->data, 0x55, 64);
    free(t->data);
}

static const struct rope_maker maker = { make, unmake };

static struct rope_key key_of(int head_size)
{
    struct rope_key k;
    memset(&k, 0, sizeof k);
    k.head_size = head_size;
    k.rotary_dim = 64;
    k.max_position = 100;
    k.base = 10000;
    k.factor = 40;
    return k;
}

Test(rope_registry, same_parameters_same_table)
{
    char msg[64];
    const struct rope_key k = key_of(0);
    const struct rope_table *const a = rope_acquire(&maker, &k, msg, sizeof msg), *const b = rope_acquire(&maker, &k, msg,
                                                                                                          sizeof msg);
    cr_assert_not_null(a);
    cr_expect_eq(a, b);
    void *const address = a->data;
    rope_drop(a);
    cr_expect_eq(rope_release(&k), 1, "a handle is left");
    cr_expect_eq(b->data, address);
    rope_drop(b);
    cr_expect_eq(rope_tables(), 1, "a table outlives its handles");
    const struct rope_table *const c = rope_acquire(&maker, &k, msg, sizeof msg);
    cr_expect_eq(c, a);
    cr_expect_eq(c->data, address);
    cr_expect_eq(made[0], 1);
    rope_drop(c);
    cr_expect_eq(rope_release(&k), 0);
    cr_expect_eq(rope_release(&k), 0, "no such table");
    cr_expect_eq(rope_tables(), 0);
    cr_expect_eq(freed[0], 1);
}

/* Each field changed alone is another table. */
Test(rope_registry, every_field_counts)
{
    char msg[64];
    const struct rope_key k = key_of(0);
    struct rope_key other[19];
    for (int i = 0; i < 19; i++)
        other[i] = k;
    other[0].device = 1, other[1].dtype = 1, other[2].head_size = 1, other[3].rotary_dim = 32, other[4].is_neox = 1;
    other[5].scaling = 1, other[6].truncate = 1, other[7].max_position = 101, other[8].orig = 1, other[9].sample_interval = 2;
    other[10].base = 10001, other[11].factor = 41, other[12].beta_fast = 1, other[13].beta_slow = 1;
    other[14].extrapolation_factor = 1, other[15].attn_factor = 1, other[16].mscale = 1, other[17].mscale_all_dim = 1;
    other[18].cycle_threshold = 1;
    const struct rope_table *const t = rope_acquire(&maker, &k, msg, sizeof msg);
    for (int i = 0; i < 19; i++) {
        const struct rope_table *const o = rope_acquire(&maker, &other[i], msg, sizeof msg);
        cr_expect(o && o != t && o->data != t->data, "field %d", i);
        cr_expect_eq(rope_tables(), i + 2);
    }
}

Test(rope_registry, a_table_that_cannot_be_made_is_not_remembered)
{
    char msg[64] = "";
    const struct rope_key k = key_of(KEYS);
    cr_expect_null(rope_acquire(&maker, &k, msg, sizeof msg));
    cr_expect_str_eq(msg, "told to fail");
    cr_expect_eq(rope_tables(), 0);
}

/* Handles come and go, releases are tried all the time; a held table is whole and stays where it is. */
static void *worker(void *user)
{
    long wrong = 0;
    unsigned random = (unsigned) (size_t) user * 2654435761u + 1;
    char msg[64];
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 1664525u + 1013904223u;
        const struct rope_key k = key_of((int) (random >> 16) % KEYS);
        const struct rope_table *const t = rope_acquire(&maker, &k, msg, sizeof msg), *const u = rope_acquire(&maker, &k, msg,
                                                                                                              sizeof msg);
        wrong += !t || t != u || t->width != 64 || t->key.head_size != k.head_size || rope_release(&k) < 2;
        void *const address = t->data;
        rope_drop(u);
        wrong += rope_release(&k) < 1 || t->data != address;
        rope_drop(t);
        rope_release(&k);
    }
    return (void *) (size_t) wrong;
}

Test(rope_registry, threads, .timeout = 60)
{
    pthread_t thread[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, worker, (void *) (i + 1)), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        cr_expect_eq((size_t) wrong, 0);
    }
    for (int i = 0; i < KEYS; i++) {
        const struct rope_key k = key_of(i);
        cr_expect_eq(rope_release(&k), 0);
        cr_expect_eq(made[i], freed[i]);
        cr_expect_gt(made[i], 0);
    }
    cr_expect_eq(rope_tables(), 0);
}

/* All ask at once: one makes it. */
static void *first(void *user)
{
    char msg[64];
    const struct rope_key k = key_of(0);
    pthread_barrier_wait(user);
    return (void *) rope_acquire(&maker, &k, msg, sizeof msg);
}

Test(rope_registry, made_once, .timeout = 60)
{
    for (int round = 0; round < 200; round++) {
        pthread_t thread[THREADS];
        void *got[THREADS];
        pthread_barrier_t barrier;
        pthread_barrier_init(&barrier, NULL, THREADS);
        for (int i = 0; i < THREADS; i++)
            cr_assert_eq(pthread_create(&thread[i], NULL, first, &barrier), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], &got[i]);
        pthread_barrier_destroy(&barrier);
        for (int i = 0; i < THREADS; i++) {
            cr_expect_eq(got[i], got[0]);
            rope_drop(got[i]);
        }
        const struct rope_key k = key_of(0);
        cr_expect_eq(rope_release(&k), 0);
        cr_expect_eq(made[0], round + 1);
    }
}
