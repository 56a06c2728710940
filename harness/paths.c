/* SPDX-License-Identifier: Apache-2.0 */
#include "paths.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef SOURCE_DIR
#define SOURCE_DIR "."
#endif

const char *path_self(void)
{
    static char self[4096];
    if (!self[0]) {
        const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
        self[n > 0 ? n : 0] = 0;
    }
    return self;
}

static bool exists(const char *path)
{
    return access(path, R_OK) == 0;
}

/* The first of these that is there: $LAYERCHECK_HOME, the executable's folder and its neighbours, the current folder, the
 * source tree. */
static bool find(const char *below, char *to, size_t size)
{
    char home[4096];
    snprintf(home, sizeof home, "%s", path_self());
    char *const slash = strrchr(home, '/');
    if (slash)
        *slash = 0;
    const char *const env = getenv("LAYERCHECK_HOME");
    const char *const root[] = { env ? env : "", home, home, home, home, ".", SOURCE_DIR };
    const char *const sub[] = { "", "", "/../lib", "/../share/layercheck", "/..", "", "" };
    for (size_t i = 0; i < sizeof root / sizeof *root; i++) {
        if (!root[i][0])
            continue;
        const int n = snprintf(to, size, "%s%s/%s", root[i], sub[i], below);
        if (n > 0 && (size_t) n < size && exists(to))
            return true;
    }
    return false;
}

bool path_suite(const char *name, char *to, size_t size)
{
    if (strchr(name, '/') || strchr(name, '.')) {
        snprintf(to, size, "%s", name);
        return exists(to);
    }
    char below[256];
    snprintf(below, sizeof below, "harness/suites/%s.txt", name);
    return find(below, to, size);
}

bool path_library(const char *backend, char *to, size_t size)
{
    char below[256];
    snprintf(below, sizeof below, "lc_%s.so", backend);
    return find(below, to, size);
}

bool path_program(const char *name, char *to, size_t size)
{
    return find(name, to, size) && access(to, X_OK) == 0;
}

bool path_golden(const char *op, char *to, size_t size)
{
    char below[256];
    snprintf(below, sizeof below, "golden/%s.h5", op);
    return find(below, to, size);
}
