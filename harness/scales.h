/* SPDX-License-Identifier: Apache-2.0 */
/* What every operator that casts shares: the axes G, sf, round, utccp, ragged, the scale tensors, their refusals. */
#ifndef HARNESS_SCALES_H
#define HARNESS_SCALES_H

#include "op.h"

/* clang-format off */
#define SCALE_AXES                                                                                               \
    { "G", "channels per scale; 0: one group of d", "32|16|64|128|0", AXIS_INT, 0 },                             \
    { "sf", "scale layout: SF-3, SF-1, SF-2, col-f32", "col|row|rowp|colf", AXIS_NAME, 0 },                      \
    { "round", "power-of-two scales (round_sf)", "1|0", AXIS_INT, 0 },                                           \
    { "utccp", "block_m of the extra SF-4 scales; 0: none", "0|1|48|128|200", AXIS_INT, 0 },                     \
    { "ragged", "packed scales of any d_s, the rest of a word 0 or free (SF-6)", "-|pack|free", AXIS_NAME, 0 }
/* clang-format on */

/* Makes the five axes legal for rows of d in `batch` batches; the first reason, or NULL. */
const char *scales_settle(struct kase *k, int64_t d, int64_t batch);
void scales_drop(struct kase *k); /* no cast: all five back to their default */
/* sf, extra_sf and the scalars; sf_slot + 1 is the slot of extra_sf. on: takes part; else listed with a pointer in its place. */
void scales_build(struct call *c, int sf_slot, int on);
struct scaled { /* what is cast: ([[batch,] m,] d), so many channels a scale */
    int rank;
    int64_t batch, m, d, group;
    int round;
};
void scales_of(struct call *c, int sf_slot, int on, struct scaled x); /* the same, of the axes sf, utccp, ragged, off */
/* Row stride and base of a tensor from the axes. */
int64_t round_up(int64_t n, int64_t to);
void call_bases(struct call *c); /* slot.miss of every slot from the axis `at` */

#endif
