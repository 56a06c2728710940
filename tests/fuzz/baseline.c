/* SPDX-License-Identifier: Apache-2.0 */
/* `diff A B` of two baselines, parted by the first line that is "===". */
#include "baseline.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *null;
    char why[1024];
    size_t first = size, second = size;
    for (size_t i = 0; i + 5 <= size && first == size; i++)
        if (!memcmp(data + i, "\n===\n", 5)) {
            first = i;
            second = i + 5;
        }
    if (!null)
        null = fopen("/dev/null", "w");
    must(null != NULL, "/dev/null");
    const char *const paths[2] = { fuzz_file(0, data, first), fuzz_file(1, data + second, size - second) };
    json_t *const a = baseline_read(paths[0], why, sizeof why), *const b = baseline_read(paths[1], why, sizeof why);
    if (a && b)
        baseline_diff(null, a, b, "a", "b");
    json_decref(a);
    json_decref(b);
    unlink(paths[0]);
    unlink(paths[1]);
    return 0;
}
