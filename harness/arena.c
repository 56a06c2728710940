/* SPDX-License-Identifier: Apache-2.0 */
/* The arena of one call: guard | storage with its gaps | guard | ... in one block; who owns each byte; two poisons. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "verdict.h"

enum { LINE = 128 };

static void layout(struct call *c)
{
    size_t at = GUARD;
    for (int i = 0; i < MAX_TENSORS; i++) {
        struct slot *const s = &c->slot[i];
        if (!s->listed || s->same_as >= 0)
            continue;
        at = (at + LINE - 1) / LINE * LINE;
        s->offset = at + (size_t) (s->miss > 0 ? s->miss : 0);
        at = s->offset + s->bytes + GUARD;
    }
    for (int i = 0; i < MAX_TENSORS; i++)
        if (c->slot[i].listed && c->slot[i].same_as >= 0)
            c->slot[i].offset = c->slot[c->slot[i].same_as].offset + (size_t) c->slot[i].shift;
    c->arena_size = (at + 4095) / 4096 * 4096;
}

void call_bind(const struct call *c, const void *base, struct lc_tensor *tensors, struct lc_call *to)
{
    uint32_t n = 0;
    for (int i = 0; i < MAX_TENSORS; i++) {
        const struct slot *const s = &c->slot[i];
        if (!s->listed || s->implied)
            continue;
        tensors[n] = s->t;
        tensors[n].data = s->miss == NULL_POINTER   ? NULL
                          : s->miss == WILD_POINTER ? (void *) (uintptr_t) 0x1001
                                                    : (void *) ((uintptr_t) base + s->offset);
        n++;
    }
    *to = (struct lc_call) { .size = sizeof *to,
                             .device = -1,
                             .tensors = tensors,
                             .scalars = c->scalar,
                             .n_tensors = n,
                             .n_scalars = (uint32_t) c->n_scalars };
}

static void own_elements(struct call *c, int slot, enum owner owner)
{
    const struct slot *const s = &c->slot[slot];
    const size_t size = (size_t) fmt_bytes(s->fmt);
    const int64_t rows = c->op->rows(&c->args), cols = c->op->cols(&c->args, slot);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t col = 0; col < cols; col++) {
            const int64_t at = c->op->place(&c->args, slot, row, col);
            if (at < 0)
                break; /* a row that owns nothing here owns nothing */
            assert((size_t) at + size <= s->bytes);
            memset(c->own + s->offset + (size_t) at, (int) owner, size);
        }
}

/* ERR-2: what the outputs of a row hold that breaks a precondition on values is free. */
static void free_lost(struct call *c)
{
    for (int64_t row = 0; c->op->lost && row < c->op->rows(&c->args); row++) {
        const bool lost = c->op->lost(&c->args, row);
        for (int i = 0; i < MAX_TENSORS && lost; i++) {
            const struct slot *const s = &c->slot[i];
            const bool written = s->on && s->listed && s->dir == DIR_OUT;
            const int64_t cols = written ? c->op->cols(&c->args, i) : 0;
            for (int64_t col = 0; col < cols; col++) {
                const int64_t at = c->op->place(&c->args, i, row, col);
                if (at >= 0)
                    memset(c->own + s->offset + (size_t) at, PAD, (size_t) fmt_bytes(s->fmt));
            }
        }
    }
}

/* Bytes of sf that belong to nobody, but that a kernel may write: rows M..m_pad-1 of the storage (SF-3), and in ragged-free
 * what is left of a row's last word (SF-6). */
static void own_padding(struct call *c, int slot)
{
    const struct slot *const s = &c->slot[slot];
    const struct lc_tensor *const t = &s->t;
    if (strcmp(t->name, "sf") && strcmp(t->name, "sf_out"))
        return;
    const int64_t whole = s->fmt == LC_UE8M0 ? 4 * t->shape[t->rank - 1] : 0;
    for (int64_t row = 0; row < c->op->rows(&c->args); row++)
        for (int64_t col = c->op->cols(&c->args, slot); col < whole; col++)
            c->own[s->offset + (size_t) c->op->place(&c->args, slot, row, col)] = PAD;
    if (t->stride[t->rank - 1] == 1) /* in rows: no more padding */
        return;
    const int64_t m = t->rank > 1 ? t->shape[t->rank - 2] : 1, m_pad = s->storage[s->storage_rank - 1];
    if (m_pad != (m + 3) / 4 * 4) /* SF-4: what no row maps to stays */
        return;
    for (size_t at = 0; m_pad && at < s->bytes / 4; at++)
        if ((int64_t) (at % (size_t) m_pad) >= m)
            memset(c->own + s->offset + 4 * at, PAD, 4);
}

void call_plan(struct call *c, const struct kase *k)
{
    memset(c, 0, sizeof *c);
    c->id = *k;
    c->op = k->op;
    c->seed = (uint64_t) kase_int(k, "seed");
    c->bad = bad_index(k->op, kase_int(k, "bad"));
    c->op->build(c);
    layout(c);
}

static int no_memory(struct call *c)
{
    snprintf(c->msg, sizeof c->msg, "out of memory: an arena of %zu bytes", c->arena_size);
    return -1;
}

static void own(struct call *c)
{
    for (int i = 0; i < MAX_TENSORS; i++)
        if (c->slot[i].on && c->slot[i].listed && c->slot[i].dir == DIR_OUT) {
            own_padding(c, i);
            own_elements(c, i, OWNED);
        }
    for (int i = 0; i < MAX_TENSORS; i++)
        if (c->slot[i].on && c->slot[i].listed && c->slot[i].dir == DIR_IN)
            own_elements(c, i, INPUT);
    for (int i = 0; i < MAX_TENSORS; i++)
        if (c->slot[i].on && c->slot[i].listed && c->slot[i].dir == DIR_OUT && c->slot[i].same_as >= 0 && !call_is_copy(c, i))
            own_elements(c, i, INOUT); /* in place: the gaps stay KEEP, and poisoned */
}

int call_open(struct call *c, const struct kase *k, given_fn given, void *user)
{
    call_plan(c, k);
    const struct bad *const bad = c->bad >= 0 ? &c->op->bads[c->bad] : NULL;
    const bool in_memory = bad && bad_in_memory(bad);
    if (bad && !in_memory) { /* the good call was laid out, so the storage stays as large as it was */
        bad->spoil(c);
        for (int i = 0; i < MAX_TENSORS; i++)
            if (c->slot[i].listed && c->slot[i].same_as >= 0)
                c->slot[i].offset = c->slot[c->slot[i].same_as].offset + (size_t) c->slot[i].shift;
            else if (c->slot[i].listed && c->slot[i].miss > 0)
                c->slot[i].offset = c->slot[i].offset / LINE * LINE + (size_t) c->slot[i].miss;
    }
    if (windows_whole(c) || !(c->image = arena_new(c)))
        return no_memory(c);
    call_bind(c, c->image, c->view, &c->pristine);
    if (bad && !in_memory) {
        if (!(c->own = arena_new(c))) /* all KEEP */
            return no_memory(c);
        call_poison(c, POISON_A);
        return 0;
    }
    c->pristine.msg = c->msg;
    c->pristine.msg_size = sizeof c->msg;
    if (c->op->check(&c->pristine, &c->args) != LC_OK)
        return -1; /* c->msg says why: the descriptor built a call that the contract refuses */
    if (windows_rows(c) || arena_show(c, c->image))
        return no_memory(c);
    for (int i = 0; given && i < MAX_TENSORS; i++) {
        const struct slot *const s = &c->slot[i];
        if (s->on && s->listed && s->dir == DIR_IN && s->same_as < 0 && given(user, s->t.name, c->image + s->offset, s->bytes)) {
            snprintf(c->msg, sizeof c->msg, "%s: not in the file, or of another size", s->t.name);
            return -1;
        }
    }
    if (!given && c->op->fills[kase_int(k, "fill")].make) {
        c->op->fills[kase_int(k, "fill")].make(c);
        if (c->op->check_values && !c->op->lost && c->op->check_values(&c->pristine, &c->args) != LC_OK)
            return -1;
    }
    if (call_is_sparse(c) && (windows_rows(c) || arena_show(c, c->image))) /* again: slots say where the rows of a pool are */
        return no_memory(c);
    if (!(c->own = arena_new(c))) /* all KEEP */
        return no_memory(c);
    if (in_memory)
        bad->spoil(c);
    own(c); /* behind the inputs: slots say which bytes of a pool are whose (KV-2) */
    free_lost(c);
    call_poison(c, POISON_A);
    return 0;
}

void call_poison(struct call *c, uint8_t poison)
{
    for (int w = 0; w < c->n_windows; w++)
        for (size_t i = c->window[w].begin; i < c->window[w].end; i++)
            if (c->own[i] != INPUT && c->own[i] != INOUT)
                c->image[i] = poison;
}

void call_close(struct call *c)
{
    arena_free(c->image);
    arena_free(c->own);
    free(c->window);
    c->image = c->own = NULL;
    c->window = NULL;
    c->n_windows = 0;
}
