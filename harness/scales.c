/* SPDX-License-Identifier: Apache-2.0 */
#include "scales.h"

#include <string.h>

int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

void scales_drop(struct kase *k)
{
    kase_set(k, "G", "32");
    kase_set(k, "sf", "col");
    kase_set(k, "round", "1");
    kase_set(k, "utccp", "0");
    kase_set(k, "ragged", "-");
}

const char *scales_settle(struct kase *k, int64_t d, int64_t batch)
{
    const char *why = NULL;
    const int64_t g = kase_int(k, "G") ? kase_int(k, "G") : d;
    const int packed = kase_is(k, "sf", "col") || kase_is(k, "sf", "rowp");
    if (packed && kase_int(k, "round") == 0) {
        kase_set(k, "round", "1");
        why = "sf=col and sf=rowp need round=1 (SF-0)";
    }
    if (packed && round_up(d, g) / g % 4 && kase_is(k, "ragged", "-")) {
        kase_set(k, "sf", kase_is(k, "sf", "col") ? "colf" : "row");
        why = "sf=col and sf=rowp need a multiple of 4 groups, or ragged (SF-2, SF-3, SF-6)";
    }
    if (!packed && !kase_is(k, "ragged", "-")) {
        kase_set(k, "ragged", "-");
        why = "ragged needs sf=col or sf=rowp (SF-6)";
    }
    if (kase_int(k, "utccp") && (kase_int(k, "utccp") < 0 || kase_int(k, "G") != 32 || kase_int(k, "round") != 1 || d % 128 ||
                                 batch != 1 || !strcmp(kase_name(k, "rank"), "1"))) {
        kase_set(k, "utccp", "0");
        why = "utccp needs G=32, round=1, d a multiple of 128, one batch of rows (SF-4)";
    }
    if (kase_int(k, "G") != 0 && kase_int(k, "G") != 16 && kase_int(k, "G") != 32 && kase_int(k, "G") != 64 &&
        kase_int(k, "G") != 128 && kase_int(k, "G") < d) {
        kase_set(k, "G", "32");
        why = "G is 16, 32, 64, 128 or at least d (CAST-10)";
    }
    return why;
}

void scales_build(struct call *c, int sf_slot, int on)
{
    const struct kase *const k = &c->id;
    const int rank = kase_is(k, "rank", "3") ? 3 : kase_is(k, "rank", "2") ? 2 : 1;
    const int64_t d = kase_int(k, "d"), g = kase_int(k, "G") ? kase_int(k, "G") : d;
    scales_of(c, sf_slot, on,
              (struct scaled) { rank, rank == 3 ? kase_int(k, "B") : 1, rank > 1 ? kase_int(k, "M") : 1, d, g,
                                kase_int(k, "round") != 0 });
}

void scales_of(struct call *c, int sf_slot, int on, struct scaled x)
{
    const struct kase *const k = &c->id;
    const int rank = x.rank, skip = 3 - rank;
    const int64_t batch = x.batch, m = x.m, d = x.d, g = x.group, groups = round_up(d, g) / g, m_pad = round_up(m, 4);
    const int col = kase_is(k, "sf", "col") || kase_is(k, "sf", "colf"),
              packed = kase_is(k, "sf", "col") || kase_is(k, "sf", "rowp");
    const int64_t n = packed ? (groups + 3) / 4 : groups, utccp = kase_int(k, "utccp");

    const int64_t shape[3] = { batch, m, n };
    const int64_t row_stride[3] = { m * n, n, 1 }, col_stride[3] = { n * m_pad, 1, m_pad };
    const int64_t row_storage[3] = { batch, m, n }, col_storage[3] = { batch, n, m_pad };
    call_tensor(c, sf_slot, "sf", packed ? LC_I32 : LC_F32, DIR_OUT, rank, shape + skip, (col ? col_stride : row_stride) + skip,
                rank == 1 && col ? 2 : rank, (col ? col_storage : row_storage) + (rank == 1 && col ? 1 : skip));
    c->slot[sf_slot].fmt = packed ? LC_UE8M0 : LC_F32;
    c->slot[sf_slot].on = on;
    if (utccp || kase_int(k, "off")) { /* off: listed, and switched off by extra_sf = 0 */
        const int64_t block = utccp ? utccp : 1;
        const int64_t rows = round_up(m, block) / block * round_up(block, 128) + 64; /* some rows that no m maps to */
        const int64_t words = (d + 127) / 128, view[2] = { m, words }, stride[2] = { 1, rows }, storage[2] = { words, rows };
        call_tensor(c, sf_slot + 1, "extra_sf", LC_I32, DIR_OUT, 2, view, stride, 2, storage);
        c->slot[sf_slot + 1].fmt = LC_UE8M0;
        c->slot[sf_slot + 1].on = on && utccp > 0;
    }
    if (!on)
        return;
    call_scalar(c, "group", g, 0);
    call_scalar(c, "round_sf", x.round, 0);
    call_scalar(c, "sf_col", col, 0);
    call_scalar(c, "sf_packed", packed, 0);
    call_scalar(c, "extra_sf", utccp > 0, 0);
    call_scalar(c, "extra_sf_layout", utccp > 0, 0);
    call_scalar(c, "extra_sf_block_m", utccp, 0);
    if (!kase_is(k, "ragged", "-"))
        call_scalar(c, "sf_ragged", kase_int(k, "ragged"), 0);
}

void call_bases(struct call *c)
{
    const int64_t at = kase_int(&c->id, "at");
    for (int i = 0; i < MAX_TENSORS; i++) {
        struct slot *const s = &c->slot[i];
        if (!s->listed)
            continue;
        const int col_sf = !strcmp(s->t.name, "sf") && (kase_is(&c->id, "sf", "col") || kase_is(&c->id, "sf", "colf"));
        const int64_t step = col_sf ? 16 : fmt_bytes((enum lc_dtype) s->t.dtype); /* SF-3: 16-byte aligned */
        s->miss = !s->on && kase_int(&c->id, "off") == 2 ? WILD_POINTER : round_up(at >= 0 ? at : 7 * i + 1, step) % 128;
    }
}
