/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of an arena that have memory. Where a view spans gigabytes (a row offset beyond 2^31) these are the pages of its rows
 * with a guard on both sides, and nothing is mapped between them: a host kernel that goes there is a crash of its case. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "verdict.h"

enum { PAGE = 4096, MOST_WINDOWS = 4096 };
static const size_t sparse_bytes = (size_t) 1 << 28; /* a larger storage has memory for its rows alone */

/* sf has padding to be owned, and no gaps (SF-3). */
static bool is_sparse(const struct slot *s)
{
    return s->listed && s->same_as < 0 && s->bytes > sparse_bytes && strcmp(s->t.name, "sf") != 0;
}

bool call_is_sparse(const struct call *c)
{
    for (int i = 0; i < MAX_TENSORS; i++)
        if (is_sparse(&c->slot[i]))
            return true;
    return false;
}

/* Bytes begin..end of the arena and a guard around, in whole pages. Bytes come in rising order within a tensor: most go on where
 * the last ones ended. 0, or -1 when there are too many. */
static int add(struct call *c, size_t begin, size_t end)
{
    struct window *const last = c->n_windows ? &c->window[c->n_windows - 1] : NULL;
    begin = (begin > GUARD ? begin - GUARD : 0) / PAGE * PAGE;
    end = (end + GUARD + PAGE - 1) / PAGE * PAGE;
    end = end < c->arena_size ? end : c->arena_size;
    if (last && begin >= last->begin && begin <= last->end) {
        last->end = end > last->end ? end : last->end;
        return 0;
    }
    if (c->n_windows == MOST_WINDOWS || (!c->window && !(c->window = malloc(MOST_WINDOWS * sizeof *c->window))))
        return -1;
    c->window[c->n_windows++] = (struct window) { begin, end };
    return 0;
}

static int by_begin(const void *a, const void *b)
{
    const size_t x = ((const struct window *) a)->begin, y = ((const struct window *) b)->begin;
    return (x > y) - (x < y);
}

static void merge(struct call *c)
{
    int n = 0;
    if (c->n_windows)
        qsort(c->window, (size_t) c->n_windows, sizeof *c->window, by_begin);
    for (int i = 1; i < c->n_windows; i++)
        if (c->window[i].begin > c->window[n].end)
            c->window[++n] = c->window[i];
        else if (c->window[i].end > c->window[n].end)
            c->window[n].end = c->window[i].end;
    c->n_windows = c->n_windows ? n + 1 : 0;
}

int windows_whole(struct call *c)
{
    int status = call_is_sparse(c) ? 0 : add(c, 0, c->arena_size);
    for (int i = 0; i < MAX_TENSORS && call_is_sparse(c) && !status; i++) {
        const struct slot *const s = &c->slot[i];
        if (s->listed && s->same_as < 0) /* a sparse one: its first and its last bytes */
            status = is_sparse(s) ? add(c, s->offset, s->offset) || add(c, s->offset + s->bytes, s->offset + s->bytes)
                                  : add(c, s->offset, s->offset + s->bytes);
    }
    merge(c);
    return status;
}

int windows_rows(struct call *c)
{
    int status = 0;
    for (int i = 0; i < MAX_TENSORS; i++) {
        const struct slot *const s = &c->slot[i];
        const bool part = s->listed && s->on && (is_sparse(s) || (s->same_as >= 0 && is_sparse(&c->slot[s->same_as])));
        const int64_t rows = part ? c->op->rows(&c->args) : 0, cols = part ? c->op->cols(&c->args, i) : 0;
        for (int64_t row = 0; row < rows && !status; row++)
            for (int64_t col = 0; col < cols && !status; col++) {
                const int64_t at = c->op->place(&c->args, i, row, col);
                if (at < 0)
                    break;
                status = add(c, s->offset + (size_t) at, s->offset + (size_t) at + (size_t) fmt_bytes(s->fmt));
            }
    }
    merge(c);
    return status;
}

/* ---- blocks ---- */

int arena_show(const struct call *c, uint8_t *arena)
{
    for (int i = 0; i < c->n_windows; i++)
        if (mprotect(arena + c->window[i].begin, c->window[i].end - c->window[i].begin, PROT_READ | PROT_WRITE))
            return -1;
    return 0;
}

uint8_t *arena_new(const struct call *c)
{
    /* the block's size, a fence, the arena, a fence: a write far outside is a crash of this case, not a change of ours */
    const size_t size = c->arena_size + 3 * PAGE;
    uint8_t *const block = size < SIZE_MAX / 8 ? mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                               : MAP_FAILED;
    if (block == MAP_FAILED)
        return NULL;
    if (mprotect(block, PAGE, PROT_READ | PROT_WRITE) || arena_show(c, block + 2 * PAGE)) {
        munmap(block, size);
        return NULL;
    }
    memcpy(block, &size, sizeof size);
    return block + 2 * PAGE;
}

void arena_free(uint8_t *arena)
{
    size_t size;
    if (!arena)
        return;
    memcpy(&size, arena - 2 * PAGE, sizeof size);
    munmap(arena - 2 * PAGE, size);
}

void arena_copy(const struct call *c, uint8_t *to, const uint8_t *from)
{
    for (int i = 0; i < c->n_windows; i++)
        memcpy(to + c->window[i].begin, from + c->window[i].begin, c->window[i].end - c->window[i].begin);
}
