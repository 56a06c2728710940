/* SPDX-License-Identifier: Apache-2.0 */
/* A file of cases, read as `golden check` and `judge` read it. 64 bytes 'c' stand for the contract's hash, so that inputs
 * outlive a change of the contract. */
#include <hdf5.h>

#include "fuzz.h"
#include "golden.h"
#include "worker.h"

enum { LARGEST = 1 << 22 }; /* arena of a case that is opened */

static void one_case(struct golden *g, const struct kase *k)
{
    static struct call c;
    static struct result r;
    struct iv *y = NULL;
    if (kase_int(k, "bad"))
        return;
    call_plan(&c, k);
    if (c.arena_size > LARGEST)
        return;
    if (!golden_open_call(g, &c, k, &y)) {
        json_t *const checked = golden_check(g, &c, y);
        must(checked != NULL, "a check has a result");
        json_decref(checked);
        memset(&r, 0, sizeof r);
        golden_judge(g, &c, &r);
        json_t *const judged = result_json(&c, &r);
        must(judged != NULL, "a verdict has a result");
        json_decref(judged);
    }
    free(y);
    call_close(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char why[1024], stands_for[65];
    uint8_t *const copy = malloc(size + 1);
    must(copy != NULL, "memory");
    memcpy(copy, data, size);
    memset(stands_for, 'c', 64);
    for (size_t i = 0; i + 64 <= size; i++)
        if (!memcmp(copy + i, stands_for, 64))
            memcpy(copy + i, contract_hash, 64);
    const char *const path = fuzz_file(0, copy, size);
    free(copy);
    struct golden *const g = golden_open(path, why, sizeof why);
    for (size_t i = 0; g && i < golden_count(g) && i < 4; i++)
        one_case(g, golden_kase(g, i));
    golden_close(g);
    must(H5Fget_obj_count((hid_t) H5F_OBJ_ALL, H5F_OBJ_ALL) <= 0, "no HDF5 handle is left open");
    unlink(path);
    return 0;
}
