/* SPDX-License-Identifier: Apache-2.0 */
/* Clause ids in running text: "RMS-3", "RMS-1..9", "SF-1..SF-4". */
#ifndef HARNESS_CITES_H
#define HARNESS_CITES_H

#include <stdbool.h>
#include <stddef.h>

size_t clause_family(const char *id); /* length of "RMS" in "RMS-3"; 0: no id begins here */
bool cites(const char *text, const char *id);

#endif
