/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the descriptor of sf_layout: sf_layout.c, sf_layout_bads.c. */
#ifndef HARNESS_OPS_SF_LAYOUT_H
#define HARNESS_OPS_SF_LAYOUT_H

#include "../op.h"

extern const struct bad sf_layout_bads[]; /* ends at name == NULL */
int64_t sf_layout_bad_values(struct call *c);
bool sf_layout_is_anywhere(const struct kase *k); /* a refusal that has the case's own form (SF-5) */

#endif
