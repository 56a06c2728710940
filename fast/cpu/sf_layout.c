/* SPDX-License-Identifier: Apache-2.0 */
/* Scales from one layout into another (SF-1..SF-6). */
#include "../../ref/args.h"
#include "fast.h"

enum { CHUNK = 128 }; /* rows whose places are held at a time */

/* Where a row's scales lie: group g at at + g / 4 * word + g % 4 * step. */
struct place {
    unsigned char *at;
    int64_t word, step;
};

static struct place place_of(const struct sf_args *s, const struct lc_tensor *t, int64_t m, int64_t row)
{
    const struct fast_sf_row r = fast_sf_row(s, t, t, m, row);
    return s->block_m ? (struct place) { r.extra, r.extra_word, 1 } : (struct place) { r.at, r.word, r.step };
}

static inline uint32_t load_bits(const unsigned char *from)
{
    uint32_t bits;
    memcpy(&bits, from, sizeof bits);
    return bits;
}

/* SF-5: exponent field 1..254, nothing else set. */
static inline bool is_accepted(uint32_t bits)
{
    return bits - 0x00800000u < 0x7f000000u && (bits & 0x007fffffu) == 0;
}

/* FMT-3: byte 0 is the subnormal 2^-127, byte 255 a NaN. */
static inline uint32_t bits_of(uint8_t byte)
{
    return byte == 0 ? 0x00400000u : byte == 255 ? 0x7fc00000u : (uint32_t) byte << 23;
}

static bool all_accepted(const struct sf_layout_args *a)
{
    const int64_t rows = a->weight ? (a->m + 31) / 32 : a->m, all = a->batch * rows;
    int bad = 0;
#pragma omp parallel for schedule(static) reduction(| : bad) if (all * a->from.groups > FAST_SMALL_CALL)
    for (int64_t row = 0; row < all; row++) {
        const struct place p = place_of(&a->from, a->t[SFL_IN], rows, row);
        for (int64_t g = 0; g < a->from.groups; g++)
            bad |= !is_accepted(load_bits(p.at + g / 4 * p.word + g % 4 * p.step));
    }
    return !bad;
}

static inline void convert(const struct sf_layout_args *a, const struct place *from, const struct place *to, int64_t g)
{
    const unsigned char *const in = from->at + g / 4 * from->word + g % 4 * from->step;
    unsigned char *const out = to->at + g / 4 * to->word + g % 4 * to->step;
    if (a->to.packed) {
        *out = (unsigned char) (a->from.packed ? *in : load_bits(in) >> 23);
        return;
    }
    const uint32_t bits = a->from.packed ? bits_of(*in) : load_bits(in);
    memcpy(out, &bits, sizeof bits);
}

static void convert_chunk(const struct sf_layout_args *a, int64_t first, int n)
{
    struct place from[CHUNK], to[CHUNK];
    const int64_t groups = a->from.groups;
    for (int i = 0; i < n; i++) {
        const int64_t row = first + i, rows = a->weight ? (a->m + 31) / 32 : a->m;
        from[i] = place_of(&a->from, a->t[SFL_IN], rows, a->weight ? row / 32 : row);
        to[i] = place_of(&a->to, a->t[SFL_OUT], a->m, row);
    }
    for (int64_t g = 0; g < groups; g += 4)
        for (int i = 0; i < n; i++) {
            for (int64_t k = g; k < g + 4 && k < groups; k++)
                convert(a, &from[i], &to[i], k);
            if (a->to.packed && g + 4 > groups) /* SF-6: the rest of the last word */
                memset(to[i].at + g / 4 * to[i].word + groups % 4, 0, (size_t) (4 - groups % 4));
        }
}

/* Buys: a word at a time over 128 rows, so that in both rows and columns what is read or written lies close together; chunks
 * go to threads. The values are looked at first, all of them (SF-5). */
static int sf_layout_chunks(const struct lc_call *call)
{
    union op_args args;
    int status = ref_sf_layout_check(call, &args);
    if (status)
        return status;
    const struct sf_layout_args *const a = &args.sf_layout;
    const int64_t rows = a->batch * a->m, zero = 0;
    if (a->t[SFL_ERROR] && !all_accepted(a))
        return ref_sf_layout_values(call, &args); /* the words */
    if (a->t[SFL_ERROR])
        memcpy(a->t[SFL_ERROR]->data, &zero, sizeof zero);
#pragma omp parallel for schedule(static) if (rows * a->from.groups > FAST_SMALL_CALL)
    for (int64_t row = 0; row < rows; row += CHUNK)
        convert_chunk(a, row, (int) fast_min(CHUNK, rows - row));
    return LC_OK;
}

const struct lc_kernel fast_sf_layout_kernels[] = {
    { .op = "sf_layout", .variant = "chunks", .run = sf_layout_chunks },
    { .op = NULL },
};
