/* SPDX-License-Identifier: Apache-2.0 */
/* kv_store's descriptor: its fills and its refusals. */
#ifndef HARNESS_OPS_KV_STORE_H
#define HARNESS_OPS_KV_STORE_H

#include "../op.h"

void kv_fill_normal(struct call *c);
void kv_fill_logu(struct call *c);
void kv_fill_outlier(struct call *c);
void kv_fill_tiny(struct call *c);
void kv_fill_huge(struct call *c);
void kv_fill_positive(struct call *c);
void kv_fill_zero_rows(struct call *c);
void kv_fill_exact(struct call *c);
void kv_fill_mixed(struct call *c);
void kv_fill_specials(struct call *c);
void kv_fill_ties(struct call *c);
void kv_fill_pow2_edges(struct call *c);
void kv_fill_brink(struct call *c);
void kv_fill_diagonal(struct call *c);
void kv_fill_table(struct call *c);
void kv_fill_angles(struct call *c);
void kv_fill_weights(struct call *c);

extern const struct bad kv_bads[];

#endif
