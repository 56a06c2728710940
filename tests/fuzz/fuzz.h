/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the libFuzzer targets: an input as a file in memory, and a condition that must hold. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void must(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

/* Writes the bytes to a file that is this process's own and returns its path; nth: 0 or 1. */
static inline const char *fuzz_file(int nth, const uint8_t *data, size_t size)
{
    static char path[2][64];
    snprintf(path[nth], sizeof path[nth], "/dev/shm/layercheck-fuzz.%ld.%d", (long) getpid(), nth);
    FILE *const f = fopen(path[nth], "wb");
    must(f && fwrite(data, 1, size, f) == size && fclose(f) == 0, "the input can be written to /dev/shm");
    return path[nth];
}

#endif
