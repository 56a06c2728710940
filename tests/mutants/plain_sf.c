/* SPDX-License-Identifier: Apache-2.0 */
/* Where a scale goes (SF-0..SF-4, SF-6), and the padding rows of the column-major layouts. */
#include "plain.h"

#include <string.h>

#define COUNT(a) ((int) (sizeof(a) / sizeof *(a)))

static const enum mutant swaps_rows[] = { MUT_sf1_swap_rows, MUT_sf2_swap_rows, MUT_sf3_swap_rows, MUT_colf_swap_rows };
static const enum mutant swaps_groups[] = { MUT_sf1_swap_groups, MUT_sf2_swap_groups, MUT_sf3_swap_groups, MUT_colf_swap_groups };
static const enum mutant turns_bytes[] = { MUT_sf2_byte_order, MUT_sf3_byte_order };

static const enum mutant shifts_upper[] = { MUT_sf4_upper_rows, MUT_rms_sf4_upper_rows, MUT_ctx_sf4_upper_rows };

static int64_t align(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* Byte of group g of row i of batch b in sf. */
static int64_t place(const struct plain_row *r, int64_t b, int64_t i, int64_t g)
{
    const enum mutant mut = r->mut;
    const int64_t groups = r->s->groups;
    const int64_t m = r->m;
    int64_t m_pad = align(m, 4), words = (groups + 3) / 4;
    if (mut == MUT_ragged_words_down && words > 1)
        words = groups / 4;
    if (plain_one_of(mut, swaps_rows, COUNT(swaps_rows)) && (i ^ 1) < m)
        i ^= 1;
    if (plain_one_of(mut, swaps_groups, COUNT(swaps_groups)) && (g ^ 1) < groups)
        g ^= 1;
    if (plain_one_of(mut, turns_bytes, COUNT(turns_bytes)))
        g ^= 3; /* big-endian words (FMT-3) */
    if (mut == MUT_sf1_group_major)
        return ((b * groups + g) * m + i) * 4;
    if (mut == MUT_sf2_pitch_16)
        return ((b * m + i) * align(groups, 16) + g) % (r->batch * m * groups); /* Q10 */
    if (mut == MUT_sf3_m_not_padded || mut == MUT_colf_m_not_padded)
        m_pad = m;
    if (mut == MUT_sf3_size_1_pitch && m == 1)
        m_pad = 1;
    if (mut == MUT_sf3_batch_flat)
        i += b * m, b = 0; /* rows of all batches in one column */
    if (!r->s->col)
        return r->s->packed ? (b * m + i) * (mut == MUT_ragged_row_pitch ? groups : words * 4) + g
                            : ((b * m + i) * groups + g) * 4;
    if (!r->s->packed)
        return ((b * groups + g) * m_pad + i) * 4;
    return ((b * words + g / 4) * m_pad + i) * 4 + g % 4;
}

/* SF-4: word g/4 of row i, byte g%4. */
static int64_t place_extra(const struct plain_row *r, int64_t i, int64_t g)
{
    const enum mutant mut = r->mut;
    const int64_t rows = r->extra_sf->stride[1], block_m = r->s->block_m, in = i % block_m;
    int64_t block = align(block_m, 128), word = g / 4;
    int64_t p = in / 128 * 128 + in % 32 * 4 + in % 128 / 32;
    if (mut == MUT_sf4_identity)
        p = in;
    if (plain_one_of(mut, shifts_upper, COUNT(shifts_upper)) && block_m > 128 && in >= 192)
        p++;
    if (mut == MUT_sf4_inverse)
        p = in / 128 * 128 + in % 4 * 32 + in % 128 / 4;
    if (mut == MUT_sf4_block_not_aligned)
        block = block_m;
    if (mut == MUT_sf4_one_block)
        return (word * rows + i / 128 * 128 + i % 32 * 4 + i % 128 / 32) * 4 + g % 4;
    if (mut == MUT_sf4_word_order)
        word = r->s->groups / 4 - 1 - word;
    return (word * rows + i / block_m * block + p) * 4 + g % 4;
}

/* Byte j of a word that is or-ed together from bytes taken as signed: 128 and above sets all the higher ones.
 */
static uint8_t smear(uint8_t *at, int j, uint8_t byte)
{
    if (j == 0)
        memset(at, 0, 4);
    byte |= *at;
    if (byte >= 128)
        memset(at, 0xff, (size_t) (4 - j));
    return byte;
}

/* SF-6: bytes behind the last group's in its word; ragged-free leaves them to us. */
static void fill_word(const struct plain_row *r, int64_t g, uint8_t *at)
{
    const enum mutant mut = r->mut;
    uint8_t rest = 0;
    if (mut == MUT_ragged_stray_255 || mut == MUT_rms_ragged_stray_255)
        rest = 255; /* a NaN scale */
    if (mut == MUT_ragged_clamp)
        rest = 105; /* the scale of nothing (CAST-6) */
    if (mut == MUT_ragged_word_half || mut == MUT_rms_ragged_word_half)
        return; /* Q09 */
    if (r->s->ragged == RAGGED_FREE && r->k->pad == 0)
        return;
    if (r->s->ragged == RAGGED_FREE)
        rest = 0xa5;
    for (int64_t i = g % 4 + 1; i < 4; i++)
        at[i - g % 4] = rest;
}

void plain_sf_store(const struct plain_row *r, int64_t g, float sf, int e)
{
    const enum mutant mut = r->mut;
    const int64_t b = r->row / r->m, i = r->row % r->m;
    uint8_t *const at = (uint8_t *) r->sf->data + place(r, b, i, g);
    uint8_t byte = (uint8_t) (e + 127); /* FMT-3 */
    if (mut == MUT_cast_byte_bias)
        byte = (uint8_t) (e + 128);
    if (mut == MUT_cast_sf_inverse)
        byte = (uint8_t) (127 - e);
    if (mut == MUT_sf3_word_half && g % 4 == 3)
        return; /* Q09: the word's last byte stays stale */
    if (mut == MUT_cast_sign_smear && r->s->packed)
        byte = smear(at, (int) (g % 4), byte);
    if (r->s->packed)
        *at = byte;
    if (r->s->packed && r->s->ragged && g == r->s->groups - 1)
        fill_word(r, g, at);
    if (!r->s->packed)
        memcpy(at, &sf, sizeof sf);
    if (r->s->block_m > 0 && r->extra_sf && mut != MUT_sf4_unwritten)
        ((uint8_t *) r->extra_sf->data)[place_extra(r, i, g)] = byte;
}

float plain_sf_load(const struct plain_row *r, int64_t g)
{
    const uint8_t *const at = (const uint8_t *) r->sf->data + place(r, r->row / r->m, r->row % r->m, g);
    float sf;
    if (r->s->packed)
        return plain_pow2((int) *at - 127);
    memcpy(&sf, at, sizeof sf);
    return sf;
}

/* Rows M..m_pad-1 of each column are padding: free, and nothing behind them (SF-3). */
void plain_sf_done(const struct plain_row *r)
{
    const enum mutant mut = r->mut;
    const int64_t words = r->s->packed ? (r->s->groups + 3) / 4 : r->s->groups, m_pad = align(r->m, 4), rows = r->batch * r->m;
    uint8_t *const sf = (uint8_t *) r->sf->data;
    if (rows == 0)
        return;
    if (r->k->pad > 0 && r->s->col)
        for (int64_t c = 0; c < r->batch * words; c++)
            memset(sf + (c * m_pad + r->m) * 4, 0xa5, (size_t) (m_pad - r->m) * 4);
    if (r->k->pad > 1 && r->s->col)
        memset(sf + r->batch * words * m_pad * 4, 0xa5, (size_t) (m_pad - r->m) * 4);
    if (mut == MUT_sf3_pad_spills || mut == MUT_colf_pad_spills)
        memset(sf + r->batch * words * m_pad * 4, 0, 4);
    if (mut == MUT_sf1_row_spills)
        memset(sf + rows * r->s->groups * 4, 0, 4);
    if (mut == MUT_sf2_row_spills)
        memset(sf + rows * words * 4, 0, 4);
    if (mut == MUT_sf3_before_base)
        memset(sf - 4, 0, 4);
    if (r->s->block_m > 0 && r->extra_sf && mut == MUT_sf4_fills_rest) {
        const int64_t in = r->m % r->s->block_m, last = align(r->m, r->s->block_m) / r->s->block_m - 1;
        if (in != 0) { /* the word where row M would go */
            const int64_t p = in / 128 * 128 + in % 32 * 4 + in % 128 / 32;
            memset((uint8_t *) r->extra_sf->data + (last * align(r->s->block_m, 128) + p) * 4, 0, 4);
        }
    }
}
