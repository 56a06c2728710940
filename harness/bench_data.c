/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a timed call, and the judgement of what it left. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

size_t bench_bytes(const struct call *c)
{
    size_t bytes = 0;
    for (int i = 0; i < MAX_TENSORS; i++)
        if (c->slot[i].on && c->slot[i].listed &&
            (c->slot[i].same_as < 0 || (c->slot[i].dir == DIR_OUT && !call_is_repeat(c, i)))) {
            const int64_t all = c->op->rows(&c->args);
            const bool once = all > 1 && c->op->place(&c->args, i, 1, 0) < 0; /* a weight, a table */
            const int64_t rows = once ? 1 : all;
            const size_t codes = (size_t) (rows * c->op->cols(&c->args, i));
            bytes += c->slot[i].fmt == LC_E2M1X2 ? codes / 2 : codes * (size_t) fmt_bytes(c->slot[i].fmt);
        }
    return bytes;
}

/* len codes of a row from column col on, to column 0 on or the other way round: one behind the other, or each at its place. */
static void copy_codes(const struct call *to, uint8_t *image, int64_t row, int64_t col, const struct call *from, int64_t from_row,
                       int i, int64_t len)
{
    const enum lc_dtype f = to->slot[i].fmt;
    const int64_t size = fmt_bytes(f);
    uint8_t *const at = image + to->slot[i].offset;
    const uint8_t *const source = from->image + from->slot[i].offset;
    const int64_t first = to->op->place(&to->args, i, row, col), first_from = from->op->place(&from->args, i, from_row, 0);
    if (first < 0 || first_from < 0)
        return;
    bool dense = true;
    for (int64_t k = 1; k < len && dense; k += len > 2 ? len - 2 : 1) /* the second and the last tell all the layouts there are */
        dense = to->op->place(&to->args, i, row, col + k) == first + k * size &&
                from->op->place(&from->args, i, from_row, k) == first_from + k * size;
    if (dense)
        memcpy(at + first, source + first_from, (size_t) (len * size));
    for (int64_t k = 0; k < len && !dense; k++)
        code_to(f, at + to->op->place(&to->args, i, row, col + k), col + k,
                code_at(f, source + from->op->place(&from->args, i, from_row, k), k));
}

/* Rows and columns of the judged call, over and over; where a column is a call's row, they are slots: those go on in order. */
void bench_fill(const struct bench *b, uint8_t *image)
{
    const struct call *const few = &b->few, *const many = &b->many;
    const int64_t n = few->op->rows(&few->args);
    memset(image, POISON_A, many->arena_size);
    for (int i = 0; i < MAX_TENSORS; i++) {
        const struct slot *const s = &many->slot[i];
        if (!s->on || !s->listed || s->dir != DIR_IN || s->same_as >= 0)
            continue;
        const int64_t part = few->op->cols(&few->args, i), cols = many->op->cols(&many->args, i);
        const bool ordered = s->fmt == LC_I32 || s->fmt == LC_I64;
        for (int64_t row = 0; row < many->op->rows(&many->args); row++)
            for (int64_t col = 0; col < cols && (col == 0 || !ordered); col += part)
                copy_codes(many, image, row, col, few, row % n, i, cols - col < part ? cols - col : part);
        for (int64_t col = part; col < cols && ordered; col++)
            code_to(s->fmt, image + s->offset + many->op->place(&many->args, i, 0, col), col, (uint32_t) col);
    }
}

static bool is_output(const struct slot *s)
{
    return s->on && s->listed && s->dir == DIR_OUT;
}

/* Do the outputs of the timed call hold the judged codes, row by row? */
bool bench_same_rows(const struct bench *b)
{
    const struct call *const few = &b->few, *const many = &b->many;
    const int64_t n = few->op->rows(&few->args), rows = many->op->rows(&many->args);
    for (int i = 0; i < MAX_TENSORS; i++) {
        const struct slot *const s = &many->slot[i];
        if (!is_output(s))
            continue;
        for (int64_t row = 0; row < rows; row += 37)
            for (int64_t col = 0; col < many->op->cols(&many->args, i); col++) {
                const int64_t at = many->op->place(&many->args, i, row, col);
                if (at < 0)
                    break;
                if (code_at(s->fmt, b->out + s->offset + at, col) !=
                    code_at(s->fmt, b->judged + few->slot[i].offset + few->op->place(&few->args, i, row % n, col), col))
                    return false;
            }
    }
    return true;
}

/* One of the numbers 0.. of `all` that are `least` modulo `n`. */
static int64_t drawn(const struct bench *b, int64_t *index, int64_t least, int64_t n, int64_t all)
{
    return least + n * (int64_t) (draw_bits(&b->many, MAX_TENSORS, (*index)++) % (uint64_t) ((all - least + n - 1) / n));
}

/* Outputs of the timed call from anywhere among the repetitions of the judged call's elements, judged in those elements' places. */
bool bench_drawn_pass(struct bench *b)
{
    const struct call *const few = &b->few, *const many = &b->many;
    const int64_t n = few->op->rows(&few->args), rows = many->op->rows(&many->args);
    int64_t index = 0;
    bool pass = true;
    struct result *const r = malloc(sizeof *r);
    for (int draw = 0; draw < DRAWS && r && pass; draw++) {
        for (int i = 0; i < MAX_TENSORS; i++) {
            const struct slot *const s = &many->slot[i];
            const int64_t part = is_output(s) ? few->op->cols(&few->args, i) : 0;
            for (int64_t row = 0; row < n; row++)
                for (int64_t col = 0; col < part; col++) {
                    const int64_t from_row = drawn(b, &index, row, n, rows),
                                  from_col = drawn(b, &index, col, part, many->op->cols(&many->args, i));
                    code_to(s->fmt, b->judged + few->slot[i].offset + few->op->place(&few->args, i, row, col), col,
                            code_at(s->fmt, b->out + s->offset + many->op->place(&many->args, i, from_row, from_col), from_col));
                }
        }
        memset(r, 0, sizeof *r);
        r->claims = b->kernel->claims;
        judge_values(few, b->judged, NULL, r);
        result_settle(few, r);
        pass = r->outcome == PASS;
        b->elements += r->elements;
    }
    free(r);
    return r && pass;
}
