/* SPDX-License-Identifier: Apache-2.0 */
/* To be preloaded: an HDF5 library that crashes or hangs on what it reads. HOSTILE_H5 is open-crash or open-hang: of every file;
 * read-crash or read-hang: of a dataset whose path has "M=3". */
#include <dlfcn.h>
#include <hdf5.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fail(const char *where)
{
    const char *const how = getenv("HOSTILE_H5");
    if (!how || strncmp(how, where, strlen(where)))
        return;
    while (!strcmp(how + strlen(where), "-hang"))
        pause();
    raise(SIGSEGV);
}

hid_t H5Fopen(const char *name, unsigned flags, hid_t access)
{
    hid_t (*real)(const char *, unsigned, hid_t);
    *(void **) &real = dlsym(RTLD_NEXT, "H5Fopen");
    fail("open");
    return real(name, flags, access);
}

herr_t H5Dread(hid_t dataset, hid_t type, hid_t memory, hid_t file, hid_t plan, void *to)
{
    herr_t (*real)(hid_t, hid_t, hid_t, hid_t, hid_t, void *);
    char name[256] = "";
    *(void **) &real = dlsym(RTLD_NEXT, "H5Dread");
    H5Iget_name(dataset, name, sizeof name);
    if (strstr(name, "M=3"))
        fail("read");
    return real(dataset, type, memory, file, plan, to);
}
