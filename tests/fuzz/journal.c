/* SPDX-License-Identifier: Apache-2.0 */
/* A journal as --resume reads it, and every report of its verdicts. */
#include "commands.h"
#include "fuzz.h"
#include "out.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *null;
    struct run run = { .results = json_array() };
    size_t i;
    json_t *r;
    if (!null)
        null = fopen("/dev/null", "w");
    must(null && run.results, "/dev/null, memory");
    const char *const path = fuzz_file(0, data, size);
    if (!run_resume(&run, path)) {
        const struct run_facts facts = { "smoke", "layercheck run", NULL, 1, 1.0 };
        json_array_foreach(run.results, i, r)
            out_failure(null, r, true);
        json_t *const summary = out_summary(run.results, &facts);
        out_text(null, summary);
        out_junit(null, run.results, summary);
        out_json(null, summary);
        run_exit_code(&run);
        json_decref(summary);
    }
    json_decref(run.results);
    unlink(path);
    return 0;
}
