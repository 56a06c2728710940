/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the descriptor of context_cast: context_cast.c, context_cast_fills.c, context_cast_bads.c. */
#ifndef HARNESS_OPS_CONTEXT_CAST_H
#define HARNESS_OPS_CONTEXT_CAST_H

#include "../op.h"

void context_cast_fill_edges(struct call *c);
void context_cast_fill_reach(struct call *c);
void context_cast_fill_scales(struct call *c);
void context_cast_fill_diagonal(struct call *c);

extern const struct bad context_cast_bads[];

#endif
