/* SPDX-License-Identifier: Apache-2.0 */
/* Scales from one layout into another, one at a time (SF-1..SF-6). */
#include "plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t align(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* ---- addresses ---- */

/* SF-4: the word of row i in its column. */
static int64_t utccp_word(int64_t i, int64_t block_m, enum mutant mut)
{
    const int64_t in = i % block_m, block = mut == MUT_sfl_utccp_block_not_aligned ? block_m : align(block_m, 128);
    int64_t p = in / 128 * 128 + in % 32 * 4 + in % 128 / 32;
    if (mut == MUT_sfl_utccp_identity || mut == MUT_sfl_utccp_in_identity)
        p = in;
    if (mut == MUT_sfl_utccp_inverse)
        p = in / 128 * 128 + in % 4 * 32 + in % 128 / 4;
    if (mut == MUT_sfl_utccp_two_of_128)
        p = (in >= 128 ? 128 : 0) + in % 32 * 4 + in % 128 / 32;
    if (mut == MUT_sfl_utccp_one_block)
        return i / 128 * 128 + i % 32 * 4 + i % 128 / 32;
    return i / block_m * block + p;
}

/* Byte of group g of row i of batch b; m rows. */
static int64_t place(const struct sf_args *s, const struct lc_tensor *t, int64_t m, int64_t b, int64_t i, int64_t g,
                     enum mutant mut)
{
    int64_t words = (s->groups + 3) / 4, m_pad = align(m, 4);
    if (mut == MUT_sfl_ragged_words_down && words > 1)
        words = s->groups / 4;
    if (mut == MUT_sfl_m_not_padded || mut == MUT_sfl_colf_m_not_padded || mut == MUT_sfl_in_m_not_padded)
        m_pad = m;
    if (mut == MUT_sfl_size_1_pitch && m == 1)
        m_pad = 1;
    if (mut == MUT_sfl_batch_flat)
        i += b * m, b = 0;
    if (mut == MUT_sfl_utccp_word_order && s->block_m)
        g = (words - 1 - g / 4) * 4 + g % 4;
    if (s->block_m)
        return (g / 4 * t->stride[1] + utccp_word(i, s->block_m, mut)) * 4 + g % 4;
    if (mut == MUT_sfl_in_pitch_16)
        return ((b * m + i) * align(words * 4, 16) + g) % (m * words * 4);
    if (mut == MUT_sfl_group_major)
        return ((b * s->groups + g) * m + i) * 4;
    if (!s->col || mut == MUT_sfl_to_col_ignored)
        return s->packed ? (b * m + i) * words * 4 + g : ((b * m + i) * s->groups + g) * 4;
    return s->packed ? ((b * words + g / 4) * m_pad + i) * 4 + g % 4 : ((b * s->groups + g) * m_pad + i) * 4;
}

/* A mutant of one side is none on the other. */
static bool is_of_in(enum mutant mut)
{
    return mut == MUT_sfl_in_m_not_padded || mut == MUT_sfl_in_pitch_16 || mut == MUT_sfl_utccp_in_identity;
}

static const uint8_t *in_at(const struct sf_layout_args *a, int64_t b, int64_t i, int64_t g, enum mutant mut)
{
    const uint8_t *const in = a->t[SFL_IN]->data;
    int64_t block = i / 32, blocks = (a->m + 31) / 32;
    if (!a->weight)
        return in + place(&a->from, a->t[SFL_IN], a->m, b, i, g, is_of_in(mut) ? mut : MUT_none);
    if (mut == MUT_sfl_weight_block_16)
        block = i / 16 < blocks ? i / 16 : blocks - 1;
    if (mut == MUT_sfl_weight_block_128)
        block = i / 128;
    if (mut == MUT_sfl_weight_block_8_bits)
        block &= 255;
    if (mut == MUT_sfl_weight_whole_blocks && a->m / 32 > 0 && block >= a->m / 32)
        block = a->m / 32 - 1; /* floor(N/32) blocks */
    if (mut == MUT_sfl_weight_transposed)
        return in + (g * blocks + block) * 4;
    return in + (block * a->from.groups + g) * 4; /* SF-5 */
}

static uint8_t *out_at(const struct sf_layout_args *a, int64_t b, int64_t i, int64_t g, enum mutant mut)
{
    if ((mut == MUT_sfl_swap_rows && (i ^ 1) < a->m) || (mut == MUT_sfl_order_by_run && (i ^ 1) < a->m))
        i ^= 1;
    if (mut == MUT_sfl_swap_groups && (g ^ 1) < a->to.groups)
        g ^= 1;
    if (mut == MUT_sfl_byte_order || mut == MUT_sfl_rowp_byte_order)
        g ^= 3;
    return (uint8_t *) a->t[SFL_OUT]->data + place(&a->to, a->t[SFL_OUT], a->m, b, i, g, is_of_in(mut) ? MUT_none : mut);
}

/* ---- values ---- */

static uint32_t bits_at(const uint8_t *at)
{
    uint32_t bits;
    memcpy(&bits, at, sizeof bits);
    return bits;
}

/* SF-5: the normal powers of two. */
static bool accepted(uint32_t bits, enum mutant mut)
{
    const uint32_t mantissa = bits & 0x7fffff, exponent = bits >> 23 & 0xff;
    const bool negative = bits >> 31;
    if (mut == MUT_sfl_truncates || mut == MUT_sfl_rounds_up)
        return !negative && exponent > 0 && exponent < 255; /* any normal number */
    if (mut == MUT_sfl_low_bits_free)
        return !negative && exponent > 0 && exponent < 255 && mantissa >> 8 == 0;
    if (mut == MUT_sfl_lets_zero && bits << 1 == 0)
        return true;
    if (mut == MUT_sfl_lets_subnormal && exponent == 0 && mantissa != 0)
        return true;
    if (mut == MUT_sfl_lets_inf && exponent == 255 && mantissa == 0)
        return true;
    if (mut == MUT_sfl_lets_nan && exponent == 255 && mantissa != 0)
        return true;
    if (mut == MUT_sfl_lets_negative && negative)
        return mantissa == 0 && exponent > 0 && exponent < 255;
    if (mut == MUT_sfl_refuses_largest && exponent == 254)
        return false;
    return !negative && mantissa == 0 && exponent > 0 && exponent < 255;
}

/* The byte or the f32 of one scale into sf_out. */
static void store(const struct sf_layout_args *a, uint8_t *to, const uint8_t *from, enum mutant mut)
{
    if (a->to.packed) {
        uint8_t byte = a->from.packed ? *from : (uint8_t) (bits_at(from) >> 23);
        if (mut == MUT_sfl_rounds_up && !a->from.packed && (bits_at(from) & 0x7fffff))
            byte++;
        if (mut == MUT_sfl_byte_bias)
            byte++;
        if (mut == MUT_sfl_ors_stale)
            byte |= *to;
        *to = byte;
        return;
    }
    uint32_t bits = a->from.packed ? (uint32_t) *from << 23 : bits_at(from);
    if (a->from.packed && *from == 0 && mut != MUT_sfl_byte_0_is_zero)
        bits = 0x00400000; /* 2^-127 (FMT-3) */
    if (a->from.packed && *from == 255 && mut != MUT_sfl_byte_255_is_inf)
        bits = 0x7fc00000;
    if (mut == MUT_sfl_ftz && (bits & 0x7f800000) == 0)
        bits &= 0x80000000;
    if (mut == MUT_sfl_copy_unsigned && bits == 0x80000000)
        bits = 0;
    memcpy(to, &bits, sizeof bits);
}

/* ---- refusals ---- */

static bool cites(const struct lc_call *call, const char *argument, const char *clause)
{
    return call->msg && !strncmp(call->msg, argument, strlen(argument)) && strstr(call->msg, clause);
}

static int refuse(const struct lc_call *call, int status, enum mutant mut)
{
    const struct lc_tensor *const out = arg_tensor(call, "sf_out");
    if (mut == MUT_sfl_accepts_all || (mut == MUT_sfl_accepts_overlap && cites(call, "", "DET-4")))
        return LC_OK;
    if (mut == MUT_sfl_accepts_switches && cites(call, "", "SF-0"))
        return LC_OK;
    if (mut == MUT_sfl_accepts_rows && cites(call, "", "SF-1"))
        return LC_OK;
    if (mut == MUT_sfl_accepts_part_words && cites(call, "groups", "SF-2"))
        return LC_OK;
    if (mut == MUT_sfl_accepts_columns && cites(call, "", "SF-3"))
        return LC_OK;
    if (mut == MUT_sfl_accepts_utccp && cites(call, "", "SF-4"))
        return LC_OK;
    if (mut == MUT_sfl_accepts_weight && cites(call, "from_weight", "SF-5"))
        return LC_OK;
    if (mut == MUT_sfl_error_optional && cites(call, "error", "SF-5"))
        return LC_OK;
    if (mut == MUT_sfl_accepts_ragged && cites(call, "", "SF-6"))
        return LC_OK;
    if (mut == MUT_sfl_refuses_vaguely)
        snprintf(call->msg, call->msg_size, "invalid argument");
    if (mut == MUT_sfl_writes_then_refuses && out && out->data && out->rank > 0)
        *(uint8_t *) out->data ^= 0x55;
    return status;
}

/* What a check in one form of the call only, or of a part of the values, does not see. */
static bool is_overlooked(const struct sf_layout_args *a, int64_t row, int64_t g, enum mutant mut)
{
    return (mut == MUT_sfl_checks_rows && a->from.col) || (mut == MUT_sfl_checks_to_columns && !a->to.col) ||
           (mut == MUT_sfl_utccp_unchecked && a->to.block_m) || (mut == MUT_sfl_ragged_unchecked && a->to.ragged) ||
           (mut == MUT_sfl_large_unchecked && a->batch * a->m * a->from.groups > 64) ||
           (mut == MUT_sfl_first_block_only && a->weight && row >= 32) || (mut == MUT_sfl_first_batch_only && row >= a->m) ||
           (mut == MUT_sfl_8_groups_only && g >= 8);
}

/* SF-5: is a value of row i refused? */
static bool row_refused(const struct sf_layout_args *a, int64_t row, enum mutant mut)
{
    for (int64_t g = 0; g < a->from.groups; g++)
        if (!is_overlooked(a, row, g, mut) && !accepted(bits_at(in_at(a, row / a->m, row % a->m, g, MUT_none)), mut))
            return true;
    return false;
}

/* The words are ref's; the mutants that accept more have none. */
static int check_values(const struct lc_call *call, const union op_args *args, enum mutant mut)
{
    const struct sf_layout_args *const a = &args->sf_layout;
    const int64_t rows = mut == MUT_sfl_first_row_only && a->m ? 1 : a->batch * a->m;
    if (!a->t[SFL_ERROR] || (mut == MUT_sfl_weight_unchecked && a->weight))
        return LC_OK;
    for (int64_t row = 0; row < rows; row++)
        if (row_refused(a, row, mut)) {
            const int status = ref_sf_layout_values(call, args);
            if (mut == MUT_sfl_refuses_vaguely)
                snprintf(call->msg, call->msg_size, "sf_in: bad scale (SF-5)");
            return status ? status : LC_BAD_ARG;
        }
    for (int64_t i = a->m; mut == MUT_sfl_checks_padding && a->from.col && i < align(a->m, 4); i++)
        if (!accepted(bits_at((const uint8_t *) a->t[SFL_IN]->data + 4 * i), mut))
            return arg_refuse(call, "sf_in", "SF-5", "a padding row");
    return LC_OK;
}

/* ---- the operator ---- */

static void row(const struct sf_layout_args *a, int64_t b, int64_t i, const struct plain_knobs *k, enum mutant mut)
{
    int64_t groups = a->to.groups;
    (void) k;
    if (mut == MUT_sfl_weight_k_tail && groups % 4)
        groups -= groups % 4;
    if (mut == MUT_sfl_last_group_unwritten)
        groups--;
    if ((mut == MUT_sfl_512_groups && groups > 512) || (mut == MUT_sfl_8_batches && b >= 8))
        groups = mut == MUT_sfl_512_groups ? 512 : 0;
    for (int64_t g = 0; g < groups; g++)
        store(a, out_at(a, b, i, g, mut), in_at(a, b, i, g, mut), mut);
    for (int64_t g = a->to.groups; a->to.packed && g % 4 && mut != MUT_sfl_ragged_word_half; g++) { /* SF-6 */
        uint8_t *const rest = out_at(a, b, i, a->to.groups - 1, mut) + (g - a->to.groups + 1);
        *rest = mut == MUT_sfl_ragged_255 ? 255 : 0;
        if (mut == MUT_sfl_ragged_copies_rest && a->from.packed)
            *rest = in_at(a, b, i, a->to.groups - 1, mut)[g - a->to.groups + 1];
    }
}

/* SF-3: what lies behind row M-1 of each column, and behind the last. */
static void padding(const struct sf_layout_args *a, const struct plain_knobs *k, enum mutant mut)
{
    const int64_t m_pad = align(a->m, 4), columns = a->batch * sf_words(&a->to);
    uint8_t *const out = a->t[SFL_OUT]->data;
    if (a->batch * a->m == 0 || !a->to.col || a->to.block_m)
        return;
    for (int64_t c = 0; k->pad && c < columns; c++)
        memset(out + (c * m_pad + a->m) * 4, 0xa5, (size_t) (m_pad - a->m) * 4);
    if (k->pad > 1)
        memset(out + columns * m_pad * 4, 0xa5, (size_t) (m_pad - a->m) * 4);
    if (mut == MUT_sfl_pad_spills)
        memset(out + columns * m_pad * 4, 0, 4);
}

int plain_sf_layout(const struct lc_call *call, const struct plain_knobs *k, enum mutant mut)
{
    static int runs;
    union op_args args;
    int status = ref_sf_layout_check(call, &args);
    if (status != LC_OK)
        return refuse(call, status, mut);
    const struct sf_layout_args *const a = &args.sf_layout;
    const int64_t rows = a->batch * a->m, error = mut == MUT_sfl_error_1;
    runs++;
    if (mut == MUT_sfl_order_by_run && runs % 2)
        mut = MUT_none;
    if (mut == MUT_sfl_no_rows && rows == 0)
        abort(); /* a launch of no blocks is an error */
    if (mut == MUT_sfl_row_by_row && a->t[SFL_ERROR])
        for (int64_t i = 0; i < rows && !row_refused(a, i, mut); i++)
            row(a, i / a->m, i % a->m, k, mut); /* as far as it comes */
    status = check_values(call, &args, mut);
    if (status != LC_OK)
        return status;
    if (a->t[SFL_ERROR] && mut != MUT_sfl_error_unwritten && (rows || mut != MUT_sfl_error_needs_rows))
        memcpy(a->t[SFL_ERROR]->data, &error, sizeof error);
    if (mut == MUT_sfl_utccp_fills_rest && a->to.block_m)
        memset(a->t[SFL_OUT]->data, 0, (size_t) (a->t[SFL_OUT]->shape[1] * a->t[SFL_OUT]->stride[1]) * 4);
    for (int64_t i = 0; i < rows; i++)
        if (mut != MUT_sfl_last_row_unwritten || i < rows - 1)
            row(a, i / a->m, i % a->m, k, mut);
    padding(a, k, mut);
    if (mut == MUT_sfl_stray_before && rows)
        *((uint8_t *) a->t[SFL_OUT]->data - 1) ^= 0x55;
    if (mut == MUT_sfl_writes_in && rows)
        *(uint8_t *) a->t[SFL_IN]->data ^= 0x55;
    return LC_OK;
}
