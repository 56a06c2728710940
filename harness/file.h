/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are written whole or not at all: a full disk leaves what was there before. */
#ifndef HARNESS_FILE_H
#define HARNESS_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* Writes what `print` prints, through a temporary file beside `path`; what is no regular file (a pipe, /dev/stdout) straight.
 * 0, or -1 and errno. */
typedef void (*print_fn)(FILE *to, const void *what);
int file_write(const char *path, print_fn print, const void *what);
int file_put(const char *path, const void *bytes, size_t n); /* the same, of bytes */
/* Could file_write write there? Leaves nothing. 0, or -1 and errno. */
int file_try(const char *path);

bool file_is_special(const char *path); /* there is something that is no regular file */

#endif
