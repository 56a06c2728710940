/* SPDX-License-Identifier: Apache-2.0 */
/* Case ids and patterns. A case that is accepted reads back from what is printed of it; its call can be planned and, where it is
 * small, built with its data. */
#include "case.h"
#include "fuzz.h"
#include "verdict.h"

enum { LARGEST = 1 << 18 }; /* arena of a call that is built */

static void build(const struct kase *k)
{
    static struct call c;
    call_plan(&c, k);
    if (c.arena_size > LARGEST)
        return;
    must(!call_open(&c, k, NULL, NULL) || c.msg[0], "what is refused is refused in words");
    call_close(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pattern p;
    struct kase k, again;
    char why[512], id[MAX_ID], text[2 * MAX_ID];
    if (size >= sizeof text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    const int pattern = pattern_parse(&p, text, why, sizeof why);
    if (kase_parse(&k, text, why, sizeof why))
        return 0;
    must(!pattern && pattern_matches(&p, &k), "a case is a pattern that it matches");
    kase_print(&k, id, sizeof id);
    must(strlen(id) < MAX_ID - 1, "an id fits");
    must(!kase_parse(&again, id, why, sizeof why), why);
    must(kase_same(&again, &k), "an id is read back as the same case");
    build(&k);
    return 0;
}
