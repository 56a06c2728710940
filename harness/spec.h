/* SPDX-License-Identifier: Apache-2.0 */
/* The contract, compiled in (harness/generate.py makes the table from docs/contract.md and ref/). */
#ifndef HARNESS_SPEC_H
#define HARNESS_SPEC_H

struct clause {
    const char *id, *text;
    const char *places; /* lines "ref/rmsnorm.c:12: ..." that cite it; "" where none does */
};
extern const struct clause contract_clauses[]; /* ends at id == 0 */
extern const char contract_hash[];

#endif
