/* SPDX-License-Identifier: Apache-2.0 */
/* Suite files. Every case of one that is accepted reads back from its id. Other suites are not included, and one line at most is
 * swept in pairs: that is slow. */
#include "case.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cases cases = { .n = 0 };
    char why[4096 + 512], id[MAX_ID];
    int pairs = 0;
    for (size_t i = 0; i + 7 <= size; i++) {
        if (!memcmp(data + i, "include", 7))
            return 0;
        pairs += !memcmp(data + i, "pairs", 5);
    }
    if (pairs > 1)
        return 0;
    const char *const path = fuzz_file(0, data, size);
    if (!suite_read(&cases, path, why, sizeof why))
        for (size_t i = 0; i < cases.n && i < 16; i++) {
            struct kase again;
            kase_print(&cases.at[i], id, sizeof id);
            must(!kase_parse(&again, id, why, sizeof why), why);
            must(kase_same(&again, &cases.at[i]), "an id is read back as the same case");
        }
    cases_free(&cases);
    unlink(path);
    return 0;
}
