/* SPDX-License-Identifier: Apache-2.0 */
/* KV-3's preconditions against bytes counted one by one: random pools, most of them small enough to be odd. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "../../ref/args.h"

enum { POOL = 4096 };

static uint32_t state = 1;

static int64_t draw(int64_t most) /* 0..most */
{
    state = state * 1664525u + 1013904223u;
    return (int64_t) (state >> 8) % (most + 1);
}

/* Every byte of every range counted: 0 fine, 1 two ranges share one, 2 one lies outside. */
static int count(const struct kv_store_args *a)
{
    static uint8_t used[POOL];
    const struct kv_bytes *const bytes[2] = { &a->codes, &a->scales };
    const int64_t len[2] = { a->d, a->d / 32 };
    int worst = 0;
    memset(used, 0, sizeof used);
    for (int64_t i = 0; i < a->pages * a->page_size * a->heads * 2; i++) {
        const int k = (int) (i % 2);
        const int64_t head = i / 2 % a->heads, row = i / 2 / a->heads % a->page_size, page = i / 2 / a->heads / a->page_size;
        const int64_t at = bytes[k]->base + page * bytes[k]->page + row * bytes[k]->row + head * bytes[k]->head;
        for (int64_t b = at; b < at + len[k]; b++) {
            if (b >= POOL)
                return 2;
            worst = used[b]++ ? 1 : worst;
        }
    }
    return worst;
}

/* A dimension's stride: usual, or anything. */
static int64_t stride(int64_t usual, int64_t most)
{
    return draw(3) ? usual + (draw(2) ? 0 : draw(40)) : draw(most);
}

Test(kv_pool, overlaps_are_those_of_the_bytes)
{
    int seen[3] = { 0, 0, 0 };
    for (int i = 0; i < 200000; i++) {
        char msg[256] = "";
        const struct lc_tensor pool = { .name = "pool", .rank = 1, .shape = { POOL } };
        struct kv_store_args a = { .d = 32 * (1 + draw(2)), .heads = 1 + draw(2), .page_size = 1 + draw(3), .pages = draw(3) };
        const int64_t groups = a.d / 32;
        const bool planar = draw(1);
        a.t[KV_POOL] = &pool;
        a.codes.head = stride(planar ? a.d : a.d + groups, 200);
        a.codes.row = stride(a.codes.head * a.heads, 600);
        a.codes.page = stride(a.codes.row * a.page_size + (planar ? a.page_size * a.heads * groups : 0), 1200);
        a.scales = a.codes;
        a.scales.base = stride(planar ? a.page_size * a.heads * a.d : a.d, 800);
        if (planar) {
            a.scales.head = stride(groups, 60);
            a.scales.row = stride(a.scales.head * a.heads, 60);
        }
        const struct lc_call call = { .msg = msg, .msg_size = sizeof msg };
        const int want = count(&a), got = ref_kv_check_pool(&call, &a);
        seen[want]++;
        cr_assert_eq(got, want ? LC_BAD_ARG : LC_OK, "case %d: %d of the bytes, but: %s", i, want, msg);
        cr_assert_eq(!strncmp(msg, "pool", 4), want == 2, "case %d: %d of the bytes, but: %s", i, want, msg);
    }
    for (int k = 0; k < 3; k++)
        cr_assert_gt(seen[k], 1000, "%d cases of kind %d", seen[k], k);
}
