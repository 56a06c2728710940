/* SPDX-License-Identifier: Apache-2.0 */
/* To be preloaded: a disk that is full after FULL_DISK_AFTER bytes of this process. Regular files alone; pipes go on. What the C
 * library's own streams write does not come through here. */
#undef _FILE_OFFSET_BITS /* else pwrite is pwrite64 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

ssize_t pwrite64(int fd, const void *from, size_t n, off_t at);

static size_t written;

/* How much of n bytes the disk has room for. */
static size_t room(int fd, size_t n)
{
    const char *const text = getenv("FULL_DISK_AFTER");
    struct stat at;
    if (!text || fstat(fd, &at) || !S_ISREG(at.st_mode))
        return n;
    const size_t size = strtoul(text, NULL, 10), left = written < size ? size - written : 0;
    return n < left ? n : left;
}

ssize_t write(int fd, const void *from, size_t n)
{
    ssize_t (*real)(int, const void *, size_t);
    *(void **) &real = dlsym(RTLD_NEXT, "write");
    const size_t part = room(fd, n);
    if (n && !part) {
        errno = ENOSPC;
        return -1;
    }
    const ssize_t done = real(fd, from, part);
    written += done > 0 ? (size_t) done : 0;
    return done;
}

static ssize_t write_at(const char *name, int fd, const void *from, size_t n, off_t at)
{
    ssize_t (*real)(int, const void *, size_t, off_t);
    *(void **) &real = dlsym(RTLD_NEXT, name);
    const size_t part = room(fd, n);
    if (n && !part) {
        errno = ENOSPC;
        return -1;
    }
    const ssize_t done = real(fd, from, part, at);
    written += done > 0 ? (size_t) done : 0;
    return done;
}

ssize_t pwrite(int fd, const void *from, size_t n, off_t at)
{
    return write_at("pwrite", fd, from, n, at);
}

ssize_t pwrite64(int fd, const void *from, size_t n, off_t at)
{
    return write_at("pwrite64", fd, from, n, at);
}
