/* SPDX-License-Identifier: Apache-2.0 */
/* Where things are found: beside the executable, in ../lib, ../share/layercheck, the source tree it was built in. */
#ifndef HARNESS_PATHS_H
#define HARNESS_PATHS_H

#include <stdbool.h>
#include <stddef.h>

const char *path_self(void);                                   /* the executable, absolute */
bool path_suite(const char *name, char *to, size_t size);      /* "ci" -> suites/ci.txt, or a file path */
bool path_library(const char *backend, char *to, size_t size); /* "cpu" -> lc_cpu.so; false: not beside us (try the loader) */
bool path_program(const char *name, char *to, size_t size);    /* "golden-oracle" */
bool path_golden(const char *op, char *to, size_t size);       /* golden/<op>.h5 */

#endif
