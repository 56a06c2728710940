/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_PATH = 4096 };

bool file_is_special(const char *path)
{
    struct stat there;
    return !stat(path, &there) && !S_ISREG(there.st_mode);
}

/* Where a symbolic link leads, so that it stays one. */
static int behind_links(const char *path, char *to)
{
    char *const real = realpath(path, NULL);
    const int n = snprintf(to, FILE_PATH, "%s", real ? real : path);
    free(real);
    errno = n < FILE_PATH ? errno : ENAMETOOLONG;
    return n < FILE_PATH ? 0 : -1;
}

static int temporary_of(const char *path, char *to)
{
    char real[FILE_PATH];
    if (behind_links(path, real))
        return -1;
    const int n = snprintf(to, FILE_PATH, "%s.%ld.tmp", real, (long) getpid());
    errno = n < FILE_PATH ? errno : ENAMETOOLONG;
    return n < FILE_PATH ? 0 : -1;
}

/* The temporary file is gone afterwards in every case. */
static int put_in_place(const char *temporary, const char *path)
{
    char real[FILE_PATH];
    struct stat there;
    if (!behind_links(path, real)) {
        if (!stat(real, &there)) /* not decisive: the file keeps its mode where it may */
            (void) chmod(temporary, there.st_mode & 07777);
        if (!rename(temporary, real))
            return 0;
    }
    const int why = errno;
    remove(temporary);
    errno = why;
    return -1;
}

static int write_all(int fd, const char *text, size_t n)
{
    while (n > 0) {
        const ssize_t done = write(fd, text, n);
        if (done < 0 && errno != EINTR)
            return -1;
        text += done > 0 ? done : 0;
        n -= done > 0 ? (size_t) done : 0;
    }
    return 0;
}

int file_put(const char *path, const void *bytes, size_t n)
{
    char temporary[FILE_PATH];
    const bool special = file_is_special(path);
    if (!special && temporary_of(path, temporary))
        return -1;
    const int fd = special ? open(path, O_WRONLY) : open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0)
        return -1;
    int why = write_all(fd, bytes, n) ? errno : 0;
    if (close(fd) && !why)
        why = errno;
    if (special || !why)
        errno = why;
    if (special)
        return why ? -1 : 0;
    if (!why)
        return put_in_place(temporary, path);
    remove(temporary);
    errno = why;
    return -1;
}

int file_write(const char *path, print_fn print, const void *what)
{
    char *text = NULL;
    size_t n = 0;
    FILE *const to = open_memstream(&text, &n);
    if (!to)
        return -1;
    print(to, what);
    const bool whole = !ferror(to);
    const int status = fclose(to) || !whole ? -1 : file_put(path, text, n);
    const int why = errno;
    free(text);
    errno = why;
    return status;
}

int file_try(const char *path)
{
    char temporary[FILE_PATH];
    const bool special = file_is_special(path);
    if (!special && temporary_of(path, temporary))
        return -1;
    const int fd = special ? open(path, O_WRONLY | O_NONBLOCK) : open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0)
        return special && errno == ENXIO ? 0 : -1; /* a pipe that nobody reads yet */
    close(fd);
    return special ? 0 : remove(temporary);
}
