/* SPDX-License-Identifier: Apache-2.0 */
/* ROT-5: one table for one set of parameters. The same key gives the same object and the same device address for the life of
 * the process, since captured graphs hold the bare pointer. A table outlives its handles; rope_release frees it, and only when
 * no handle is left. Whoever captures a graph holds a handle for as long as the graph may be replayed.
 *
 * Any thread may call any of these. The logic (rope_registry.c) knows no CUDA: a maker builds and frees tables, and
 * rope_maker_cuda (rope_registry.cu) is the one of a device. */
#ifndef FAST_ROPE_REGISTRY_H
#define FAST_ROPE_REGISTRY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every field tells tables apart, also one that the scaling does not look at. Reals by their bits. */
struct rope_key {
    int32_t device, dtype; /* of the table: LC_F32 or LC_BF16 */
    int32_t head_size, rotary_dim, is_neox, scaling, truncate;
    int64_t max_position, orig, sample_interval;
    float base, factor, beta_fast, beta_slow, extrapolation_factor, attn_factor, mscale, mscale_all_dim, cycle_threshold;
};

struct rope_table {
    struct rope_key key;
    void *data;          /* device address of (rows, width), [cos | sin] */
    int64_t rows, width; /* width 2n: less than rotary_dim after pruning (YARN-5) */
};

/* make fills data, rows and width; 0, or nonzero with words in msg and nothing left behind. */
struct rope_maker {
    int (*make)(struct rope_table *table, char *msg, size_t size);
    void (*unmake)(struct rope_table *table);
};
extern const struct rope_maker rope_maker_cuda;

/* The table of this key, made at the first call, with one handle more. NULL and words in msg when it cannot be made; then
 * nothing is remembered. Waits for the device at the first call: not to be made while a stream of this thread captures. */
const struct rope_table *rope_acquire(const struct rope_maker *maker, const struct rope_key *key, char *msg, size_t size);
void rope_drop(const struct rope_table *table); /* one handle fewer; the table stays */
/* Frees the table of this key unless handles are left; returns how many are. 0 too when there is no such table. */
int64_t rope_release(const struct rope_key *key);
int64_t rope_tables(void); /* how many there are */

#ifdef __cplusplus
}
#endif
#endif
