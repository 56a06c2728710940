/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what the reference wants in every element of a suite (smoke, or argv[1]): the bits of v, lo and hi, and the hash of
 * the inputs. `cmp` of the outputs of builds by two compilers at two levels shows that ref/ is bit-identical (tests of ./test).
 * A NaN is a class: its bits are not compared. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "case.h"
#include "room.h"
#include "verdict.h"

static void print_bits(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    if (isnan(v))
        fputs(" nan", stdout);
    else
        printf(" %" PRIx64, bits);
}

static uint64_t hash_bytes(const uint8_t *p, size_t n) /* FNV-1a */
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    while (n-- > 0)
        h = (h ^ *p++) * UINT64_C(0x100000001b3);
    return h;
}

static void print_row(const struct call *c, const struct room *room, const int64_t *cols, int64_t row)
{
    for (int i = 0; i < MAX_TENSORS; i++) {
        if (!room->row[i] || !cols[i])
            continue;
        printf("%s %" PRId64, c->slot[i].t.name, row);
        for (int64_t col = 0; col < cols[i]; col++) {
            const struct iv w = room->want.at[i][col];
            if (c->op->place(&c->args, i, row, col) < 0)
                fputs(" -", stdout);
            else if (room->want.free[i][col])
                fputs(" free", stdout);
            else if (w.v == w.lo && w.v == w.hi)
                print_bits(w.v);
            else {
                print_bits(w.v);
                print_bits(w.lo);
                print_bits(w.hi);
            }
        }
        puts("");
    }
}

/* Without a kernel, and beside a kernel that returns the nominal codes. */
static int print_case(const struct kase *k)
{
    static const struct ref_got nobody;
    struct call c;
    struct room room;
    int64_t cols[MAX_TENSORS];
    char id[MAX_ID];
    kase_print(k, id, sizeof id);
    if (call_open(&c, k, NULL, NULL) || room_open(&room, c.op, &c.args, cols)) {
        fprintf(stderr, "%s: %s\n", id, c.msg);
        return -1;
    }
    printf("%s %016" PRIx64 "\n", id, hash_bytes(c.image, c.arena_size));
    for (int64_t row = 0; row < c.op->rows(&c.args); row++) {
        c.op->ref(&c.args, row, &nobody, &room.want);
        print_row(&c, &room, cols, row);
        for (int i = 0; i < MAX_TENSORS; i++)
            for (int64_t col = 0; room.row[i] && col < cols[i]; col++)
                if (c.op->place(&c.args, i, row, col) >= 0)
                    room.row[i][col] = room.want.free[i][col] ? 0 : fmt_code(c.slot[i].fmt, room.want.at[i][col].v);
        c.op->ref(&c.args, row, &room.got, &room.want);
        print_row(&c, &room, cols, row);
    }
    printf("ambiguous %" PRId64 ", two scales %" PRId64 "\n", room.want.ambiguous, room.want.two_scale);
    room_close(&room);
    call_close(&c);
    return 0;
}

int main(int argc, char **argv)
{
    struct cases cases = { .n = 0 };
    char why[1024];
    size_t printed = 0;
    if (suite_read(&cases, argc > 1 ? argv[1] : "smoke", why, sizeof why)) {
        fprintf(stderr, "print_rows: %s\n", why);
        return 3;
    }
    for (size_t i = 0; i < cases.n; i++)
        if (kase_int(&cases.at[i], "bad") == 0) {
            if (print_case(&cases.at[i]))
                return 3;
            printed++;
        }
    cases_free(&cases);
    return printed && !fflush(stdout) ? 0 : 3;
}
