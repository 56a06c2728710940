/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals (ERR-1, ERR-2): a case whose axis `bad` names a row of the refusal table is one good call, spoiled. */
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "case.h"
#include "cites.h"
#include "verdict.h"

bool bad_in_memory(const struct bad *bad)
{
    return !strcmp(bad->clause, "ERR-2");
}

/* ---- the axis `bad`: 0, then the bads, then those of each form ---- */

static int count_of(const struct op *op)
{
    int n = 0;
    while (op->bads && op->bads[n].name)
        n++;
    return n;
}

int bad_index(const struct op *op, int64_t value)
{
    const int n = count_of(op);
    return value <= 0 || n == 0 ? -1 : (int) ((value - 1) % n);
}

const struct form *bad_form(const struct op *op, int64_t value)
{
    const int n = count_of(op), form = value <= 0 || n == 0 ? 0 : (int) ((value - 1) / n);
    for (int i = 0; form > 0 && op->forms && op->forms[i].name; i++)
        if (i == form - 1)
            return &op->forms[i];
    return NULL;
}

int64_t bad_value(const struct op *op, int index, const char *form)
{
    for (int i = 0; op->forms && op->forms[i].name; i++)
        if (!strcmp(op->forms[i].name, form))
            return (int64_t) (i + 1) * count_of(op) + index + 1;
    return 0;
}

/* ---- what a refusal says ---- */

/* The nth of "a|b|c"; of a list that is shorter its last. */
static size_t word_of(const char *list, int nth, const char **word)
{
    for (; nth > 0 && strchr(list, '|'); nth--)
        list = strchr(list, '|') + 1;
    *word = list;
    return strcspn(list, "|");
}

static bool says(const char *msg, const struct bad *bad, int nth)
{
    char words[512], clause[32], value[64];
    const char *argument, *word;
    size_t n = word_of(bad->clause, nth, &word);
    snprintf(clause, sizeof clause, "%.*s", (int) n, word);
    n = word_of(bad->value, nth, &word);
    snprintf(value, sizeof value, "%.*s", (int) n, word);
    n = word_of(bad->argument, nth, &argument);
    snprintf(words, sizeof words, "%s", msg);
    char *const at = strstr(words, clause);
    if (!at || strncmp(words, argument, n) || (words[n] != ':' && words[n] != ' '))
        return false;
    memset(at, ' ', strlen(clause)); /* the value is not looked for in the clause */
    return strstr(words, value) != NULL;
}

bool bad_says_why(const char *msg, const struct bad *bad)
{
    int ways = 1;
    for (const char *at = bad->argument; (at = strchr(at, '|')) != NULL; at++)
        ways++;
    for (int nth = 0; nth < ways; nth++)
        if (says(msg, bad, nth))
            return true;
    return false;
}

bool bad_says_some(const char *msg)
{
    const size_t word = strcspn(msg, ": ");
    bool some = false;
    for (const char *p = msg; *p; p++)
        some = some || (clause_family(p) && isdigit((unsigned char) p[clause_family(p) + 1]));
    return word > 0 && msg[word] && some;
}

/* The call has the argument that is spoiled in memory. */
static bool has_argument(const struct call *c)
{
    const struct bad *const bad = &c->op->bads[c->bad];
    bool found = !bad_in_memory(bad);
    for (int i = 0; i < MAX_TENSORS; i++)
        found = found || (c->slot[i].listed && !strcmp(c->slot[i].t.name, bad->argument));
    return found;
}

/* The reference refuses this call for the reason foretold. */
static bool is_refused(const struct kase *k)
{
    struct call c;
    bool refused = false;
    call_plan(&c, k);
    if (!has_argument(&c))
        return false;
    if (!call_open(&c, k, NULL, NULL)) {
        const struct bad *const bad = &c.op->bads[c.bad];
        c.msg[0] = 0;
        c.pristine.msg = c.msg;
        c.pristine.msg_size = sizeof c.msg;
        const int status = bad_in_memory(bad) ? c.op->check_values(&c.pristine, &c.args) : c.op->check(&c.pristine, &c.args);
        refused = status == LC_BAD_ARG && bad_says_why(c.msg, bad);
    }
    call_close(&c);
    return refused;
}

const char *kase_settle(struct kase *k)
{
    const struct op *const op = k->op;
    const char *why = op->settle(k);
    const int bad = axis_of(op, "bad");
    const struct form *const form = bad_form(op, k->i[bad]);
    if (!form)
        return why;
    struct kase other = *k, asked;
    char axes[128];
    bool kept = true;
    other.i[bad] = 0;
    snprintf(axes, sizeof axes, "%s", form->axes);
    for (char *rest = axes, *axis = strtok_r(axes, "=", &rest); axis; axis = strtok_r(NULL, "= ", &rest))
        kept = kase_set(&other, axis, strtok_r(NULL, " ", &rest)) == 0 && kept;
    assert(kept);
    asked = other;
    op->settle(&other);
    for (int a = 0; a < MAX_AXES && op->axes[a].name; a++) /* what the form names stays; what it has no use for may go */
        kept = kept && (asked.i[a] == k->i[a] || other.i[a] == asked.i[a] || a == bad);
    other.i[bad] = k->i[bad];
    if (kept && !kase_same(&other, k) && is_refused(&other)) {
        *k = other;
        return why;
    }
    k->i[bad] = bad_index(op, k->i[bad]) + 1;
    return "this form of the call is not refused for that reason";
}
