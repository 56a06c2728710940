/* SPDX-License-Identifier: Apache-2.0 */
#include "cites.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

size_t clause_family(const char *id)
{
    size_t n = 0;
    while (isupper((unsigned char) id[n]))
        n++;
    return id[n] == '-' && n > 0 ? n : 0;
}

bool cites(const char *text, const char *id)
{
    const size_t n = clause_family(id);
    const long number = n ? strtol(id + n + 1, NULL, 10) : -1;
    for (const char *p = text; n && *p;) {
        const size_t family = clause_family(p);
        if (!family || !isdigit((unsigned char) p[family + 1])) {
            p++;
            continue;
        }
        char *end;
        const long first = strtol(p + family + 1, &end, 10);
        long last = first;
        if (end[0] == '.' && end[1] == '.') { /* RMS-1..9, SF-1..SF-4 */
            const char *const to = end + 2 + (strncmp(end + 2, p, family + 1) ? 0 : family + 1);
            if (isdigit((unsigned char) *to))
                last = strtol(to, &end, 10);
        }
        const bool whole = p == text || !isupper((unsigned char) p[-1]);
        if (whole && family == n && !strncmp(p, id, n) && first <= number && number <= last)
            return true;
        p = end;
    }
    return false;
}
