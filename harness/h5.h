/* SPDX-License-Identifier: Apache-2.0 */
/* HDF5 in the terms of the format "layercheck-1" (docs/format.md): attributes, and datasets that are storages.
 *
 * No file is trusted: element types, dims and attributes are compared with what the case needs before a byte is
 * read. What fails writes one line "dataset: what is wrong" to why and returns -1. Bytes are those of the file,
 * little-endian. */
#ifndef HARNESS_H5_H
#define HARNESS_H5_H

#include <hdf5.h>

#include "op.h"

#define H5_FORMAT "layercheck-1"

int h5_say(char *why, size_t size, const char *format, ...) /* returns -1 */
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* ---- reading ---- */
hid_t h5_open(const char *path, char *why, size_t size);
size_t h5_count(hid_t group);                   /* links in it */
char *h5_name(hid_t group, size_t i);           /* of link i, in order; the caller frees it; NULL: unreadable */
hid_t h5_group(hid_t parent, const char *name); /* negative: no such group */
bool h5_has(hid_t group, const char *name);
/* A string; -1: absent, no single string, or too long. */
int h5_text(hid_t object, const char *name, char *to, size_t size);
/* The attribute of a scalar's name, where there is one, has its kind and its value. */
int h5_same_scalar(hid_t object, const struct lc_scalar *s, char *why, size_t size);
/* The storage of a slot; attributes dtype, dir, shape, stride, element type and dims must be the slot's. */
int h5_read_slot(hid_t group, const struct slot *s, void *to, char *why, size_t size);
int h5_read_reals(hid_t group, const char *name, int64_t rows, int64_t cols, double *to, char *why, size_t size);
/* Any dataset of the format; the caller frees *to. */
int h5_read_any(hid_t group, const char *name, void **to, size_t *bytes, char *why, size_t size);

/* ---- writing: the same calls make the same bytes ---- */
hid_t h5_create(const char *path, char *why, size_t size); /* the file to be; why names path and reason */
/* Closes it, and writes it where all went well and this does too; status: 0, or -1 and why says so far what failed. */
int h5_finish(hid_t file, const char *path, int status, char *why, size_t size);
hid_t h5_add_group(hid_t parent, const char *name);
int h5_put_text(hid_t object, const char *name, const char *text);
int h5_put_scalar(hid_t object, const struct lc_scalar *s);
int h5_write_slot(hid_t group, const struct slot *s, const void *from);

/* ---- whole cases (export.c) ---- */
int export_head(hid_t file); /* the root's attributes */
/* A group: attributes, inputs, and outputs as an arena holds them, or zero where `outputs` is NULL; gaps are zero. */
int export_call(hid_t file, const struct call *c, const char *id, const uint8_t *outputs, char *why, size_t size);
int export_slot(hid_t group, const struct call *c, int slot, const uint8_t *outputs, char *why, size_t size);

#endif
