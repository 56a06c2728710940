/* SPDX-License-Identifier: Apache-2.0 */
/* Views that share bytes, and those that only look so (DET-4, RMS-2, RMS-8); index arithmetic (ERR-1). */
#include <criterion/criterion.h>
#include <string.h>

#include "args.h"

static char msg[512];
static uint8_t memory[1 << 20];

static struct lc_tensor view(const char *name, size_t at, int rank, const int64_t *shape, const int64_t *stride)
{
    struct lc_tensor t = { name, memory + at, LC_BF16, rank, { 0 }, { 0 } };
    memcpy(t.shape, shape, (size_t) rank * sizeof *shape);
    memcpy(t.stride, stride, (size_t) rank * sizeof *stride);
    return t;
}

/* Every byte of every element, marked: the slow and obvious answer. */
static bool share(const struct lc_tensor *a, const struct lc_tensor *b)
{
    static uint8_t mark[sizeof memory];
    memset(mark, 0, sizeof mark);
    const struct lc_tensor *const both[2] = { a, b };
    for (int n = 0; n < 2; n++) {
        int64_t shape[3] = { 1, 1, 1 }, stride[3] = { 0, 0, 0 };
        for (int i = 0; i < both[n]->rank; i++) {
            shape[3 - both[n]->rank + i] = both[n]->shape[i];
            stride[3 - both[n]->rank + i] = both[n]->stride[i];
        }
        for (int64_t i = 0; i < shape[0]; i++)
            for (int64_t j = 0; j < shape[1]; j++)
                for (int64_t k = 0; k < shape[2]; k++) {
                    const size_t at = (size_t) ((uint8_t *) both[n]->data - memory) +
                                      2 * (size_t) (i * stride[0] + j * stride[1] + k * stride[2]);
                    if (mark[at] && (n == 1 || a == b))
                        return true;
                    if (n == 0)
                        mark[at] = 1;
                }
        if (a == b)
            return false;
    }
    return false;
}

static int overlap(const struct lc_tensor *in, const struct lc_tensor *out)
{
    const struct lc_call call = { .size = sizeof call, .msg = msg, .msg_size = sizeof msg };
    return arg_no_overlap(&call, &in, in ? 1 : 0, &out, 1, NULL, "DET-4");
}

static uint32_t next(uint32_t *state)
{
    *state = *state * UINT32_C(1664525) + UINT32_C(1013904223);
    return *state >> 8;
}

Test(args, overlap_agrees_with_marking_every_byte)
{
    uint32_t state = 1;
    int met = 0, apart = 0;
    for (int trial = 0; trial < 20000; trial++) {
        struct lc_tensor t[2];
        for (int n = 0; n < 2; n++) {
            const int64_t d = 1 + next(&state) % 20;
            const int64_t shape[3] = { 1 + next(&state) % 4, 1 + next(&state) % 5, d };
            const int64_t pitch[4] = { 16, 32, 48, 64 + 16 * (int64_t) (next(&state) % 8) };
            const int64_t stride[3] = { pitch[next(&state) % 4] * (1 + next(&state) % 3), pitch[next(&state) % 4], 1 };
            t[n] = view(n ? "out" : "x", 2 * (next(&state) % 300), 3, shape, stride);
        }
        cr_assert_eq(overlap(NULL, &t[1]) != LC_OK, share(&t[1], &t[1]), "trial %d: itself: %s", trial, msg);
        if (share(&t[1], &t[1]))
            continue;
        const bool want = share(&t[0], &t[1]);
        cr_assert_eq(overlap(&t[0], &t[1]) != LC_OK, want, "trial %d: %d", trial, want);
        met += want;
        apart += !want;
    }
    cr_expect_gt(met, 500, "%d", met);
    cr_expect_gt(apart, 500, "%d", apart);
}

Test(args, slices_of_one_buffer_are_apart)
{
    const int64_t shape[3] = { 3, 5, 64 }, stride[3] = { 5 * 128, 128, 1 }, swapped[3] = { 64, 3 * 64, 1 };
    const struct lc_tensor x = view("x", 0, 3, shape, stride), out = view("out", 128, 3, shape, stride);
    const struct lc_tensor permuted = view("out", 0, 3, shape, swapped);
    cr_expect_eq(overlap(&x, &out), LC_OK, "%s", msg);
    cr_expect_eq(overlap(NULL, &permuted), LC_OK, "%s", msg);
}

Test(args, many_interleaved_batches_take_no_time)
{
    const int64_t shape[3] = { 1 << 18, 1, 16 }, stride[3] = { 32, 32, 1 };
    struct lc_tensor x = view("x", 0, 3, shape, stride), out = view("out", 32, 3, shape, stride);
    cr_expect_eq(overlap(&x, &out), LC_OK, "%s", msg); /* quadratic, this would not end */
}

Test(args, products_that_leave_64_bits_are_refused)
{
    const int64_t huge = INT64_C(1) << 40;
    const int64_t shape[3] = { huge, huge, 32 }, stride[3] = { 0, 0, 1 }, long_stride[3] = { INT64_C(1) << 44, 32, 1 };
    const int64_t rows[3] = { huge, 2, 32 };
    const struct lc_call call = { .size = sizeof call, .msg = msg, .msg_size = sizeof msg };
    const struct lc_tensor wide = view("x", 0, 3, shape, stride), far = view("x", 0, 3, rows, long_stride);
    cr_expect_eq(arg_is_view(&call, &wide, "RMS-8"), LC_BAD_ARG);
    cr_expect_eq(arg_is_view(&call, &far, "RMS-8"), LC_BAD_ARG);
    cr_expect(strstr(msg, "x: ") == msg && strstr(msg, "RMS-8"), "%s", msg);
}

Test(args, a_stride_of_the_last_dimension_is_1_also_for_one_channel)
{
    const int64_t shape[2] = { 3, 1 }, bad[2] = { 100, 5 }, good[2] = { 1, 1 };
    struct lc_tensor t[3] = { view("x", 0, 2, shape, bad), view("out", 512, 2, shape, good), view("sf", 1024, 2, shape, good) };
    const struct lc_scalar s[3] = { { "sf_col", 0, 0 }, { "sf_packed", 0, 0 }, { "group", 32, 0 } };
    t[1].dtype = LC_E4M3;
    t[2].dtype = LC_F32;
    const struct lc_call call = {
        .size = sizeof call, .tensors = t, .n_tensors = 3, .scalars = s, .n_scalars = 3, .msg = msg, .msg_size = sizeof msg
    };
    union op_args args;
    cr_expect_eq(ref_cast_check(&call, &args), LC_BAD_ARG);
    t[0].stride[1] = 1;
    cr_expect_eq(ref_cast_check(&call, &args), LC_OK, "%s", msg);
}
