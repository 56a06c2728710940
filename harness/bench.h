/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel and case of `layercheck bench`: the data of the timed call, and the judgement of what it left (bench_data.c). */
#ifndef HARNESS_BENCH_H
#define HARNESS_BENCH_H

#include "../fast/cuda/device.h"
#include "backend.h"

enum { FEW_ROWS = 64, MOST_SETS = 8 };
enum { PRODUCT_ROWS = 16, PRODUCT_COLUMNS = 256, DRAWS = 4 }; /* of a product: the scalar reference takes K steps an element */

struct bench {
    struct backend *backend;
    const struct lc_kernel *kernel;
    const struct lc_device *device; /* NULL: on the host */
    void *stream;
    struct call few, many;                   /* the judged call, the timed one */
    uint8_t *judged, *out;                   /* arenas after the run */
    uint8_t *image;                          /* inputs of `many`, which say where its rows lie (KV-2) */
    void *set[MOST_SETS], *space[MOST_SETS]; /* arenas, workspaces */
    size_t space_size;
    int sets;
    int64_t elements; /* judged */
    char why[512];
};

size_t bench_bytes(const struct call *c);               /* each input read once, each output written once */
void bench_fill(const struct bench *b, uint8_t *image); /* the timed call's inputs: those of the judged one, over and over */
bool bench_same_rows(const struct bench *b);            /* the timed call's rows are the judged ones, bit by bit */
bool bench_drawn_pass(struct bench *b);                 /* of a product: its own outputs, at drawn places, are judged */

#endif
