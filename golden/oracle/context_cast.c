/* SPDX-License-Identifier: Apache-2.0 */
/* KV-7: the conjugate rotation of the trailing part of each head, as the oracle of APPLY has it, then CAST of its BF16, or in
 * dialect f32 of its f32. */
#include "oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The (N, heads * D) matrix that the cast sees, for cast_bind: shapes alone. */
static struct tensor matrix_of(const struct tensor *const context)
{
    struct tensor m = *context;

    m.rank = 2;
    m.shape[1] = context->shape[1] * context->shape[2];
    m.stride[0] = m.shape[1];
    m.stride[1] = 1;
    return m;
}

static int fill(struct test_case *const c, struct rotation *const p, struct why *const why)
{
    const struct tensor *const context = find_tensor(c, "context", 0, why);
    const struct tensor matrix = matrix_of(context);
    struct tensor *bf16 = NULL;
    struct cast cast;
    int64_t return_bf16, dialect;

    if (find_choice(c, "return_bf16", 1, &return_bf16, why) != 0 || find_choice(c, "dialect", 1, &dialect, why) != 0 ||
        cast_bind(&cast, c, &matrix, why) != 0)
        return -1;
    if (cast.group != 32 && cast.group != matrix.shape[1])
        return refuse(why, "group = %lld, not 32 (KV-7)", (long long) cast.group);
    if (return_bf16 && (bf16 = find_tensor(c, "bf16", 1, why)) == NULL)
        return -1;
    if (bf16 != NULL) {
        if (bf16->type != TYPE_BF16 || bf16->rank != 3 || memcmp(bf16->shape, context->shape, sizeof bf16->shape) != 0)
            return refuse(why, "bf16 has another shape or dtype than context (KV-7)");
        memset(bf16->data, 0, bf16->count * type_size(bf16->type));
    }

    double *const row = need(malloc((size_t) matrix.shape[1] * sizeof *row));

    for (int64_t token = 0; token < context->shape[0]; token++) {
        for (int64_t column = 0; column < matrix.shape[1]; column++) {
            const int64_t head = column / context->shape[2], i = column % context->shape[2];
            const struct rotated r = rotation_element(p, context, token, head, i);

            rotation_put_y(p, token, column, &r);
            row[column] = !r.judged ? INFINITY : dialect == 1 ? r.f32 : r.bf16; /* CAST-7: an Inf leaves its group open */
            if (bf16 != NULL && r.judged)
                view_store(bf16, token, head, i, r.bf16);
        }
        cast_row(&cast, 0, token, row);
    }
    free(row);
    return 0;
}

int oracle_context_cast(struct test_case *const c, struct why *const why)
{
    struct rotation p;

    memset(&p, 0, sizeof p);
    p.conjugate = 1;
    p.at_end = 1;
    return rotation_open(&p, c, "context", why) != 0 ? -1 : fill(c, &p, why);
}
