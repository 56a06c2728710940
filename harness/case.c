/* SPDX-License-Identifier: Apache-2.0 */
#include "case.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "verdict.h"

int axis_of(const struct op *op, const char *name)
{
    for (int a = 0; a < MAX_AXES && op->axes[a].name; a++)
        if (op->axes[a].name[0] == name[0] && !strcmp(op->axes[a].name, name)) /* half the time of `list` is spent here */
            return a;
    return -1;
}

bool op_named(const struct op *op, const char *const *names, int n)
{
    bool named = n == 0;
    for (int i = 0; i < n; i++)
        named = named || !strcmp(names[i], op->name);
    return named;
}

static int known_axis(const struct op *op, const char *name)
{
    const int a = axis_of(op, name);
    assert(a >= 0);
    return a;
}

int64_t kase_int(const struct kase *k, const char *axis)
{
    return k->i[known_axis(k->op, axis)];
}

double kase_real(const struct kase *k, const char *axis)
{
    return k->f[known_axis(k->op, axis)];
}

/* ---- the values an axis lists; `fill` and `bad` list the names of their tables ---- */

static const char *nth_word(const char *list, int n, size_t *len)
{
    for (; n > 0 && list; n--) {
        list = strchr(list, '|');
        list = list ? list + 1 : NULL;
    }
    if (list)
        *len = strcspn(list, "|");
    return list;
}

static const char *nth_value(const struct op *op, int axis, int n, size_t *len)
{
    const struct axis *const a = &op->axes[axis];
    const char *word = NULL;
    if (a->values)
        return nth_word(a->values, n, len);
    if (!strcmp(a->name, "fill"))
        word = op->fills[n].name;
    else if (n == 0)
        word = "-";
    else
        word = op->bads ? op->bads[n - 1].name : NULL;
    *len = word ? strlen(word) : 0;
    return word;
}

int axis_count(const struct op *op, int axis)
{
    size_t len;
    int n = 0;
    while (nth_value(op, axis, n, &len))
        n++;
    return n;
}

static bool is_bad(const struct op *op, int axis)
{
    return op->axes[axis].kind == AXIS_NAME && !op->axes[axis].values && !strcmp(op->axes[axis].name, "bad");
}

static const int64_t most_int = INT64_C(1000000000000); /* a size, a stride */

bool axis_parse(const struct op *op, int axis, const char *text, size_t len, struct axis_value *v)
{
    char word[64];
    size_t n;
    if (len == 0 || len >= sizeof word)
        return false;
    memcpy(word, text, len);
    word[len] = 0;
    *v = (struct axis_value) { 0, 0 };
    char *end = word, *const slash = is_bad(op, axis) ? strchr(word, '/') : NULL;
    if (slash) {
        *slash = 0;
        return axis_parse(op, axis, word, strlen(word), v) && v->i > 0 && (v->i = bad_value(op, (int) v->i - 1, slash + 1)) != 0;
    }
    switch (op->axes[axis].kind) {
    case AXIS_INT:
        v->i = strtoll(word, &end, 10);
        return !*end && v->i >= -most_int && v->i <= (strcmp(op->axes[axis].name, "seed") ? most_int : INT64_MAX / 2);
    case AXIS_REAL:
        v->f = rn_f32(strtod(word, &end));
        return !*end;
    case AXIS_NAME:
        for (int i = 0;; i++) {
            const char *const name = nth_value(op, axis, i, &n);
            if (!name)
                return false;
            if (n == len && !memcmp(name, text, len)) {
                v->i = i;
                return true;
            }
        }
    }
    return false;
}

struct axis_value axis_listed(const struct op *op, int axis, int n)
{
    size_t len;
    struct axis_value v = { 0, 0 };
    const char *const word = nth_value(op, axis, n, &len);
    const bool fine = word && axis_parse(op, axis, word, len, &v);
    assert(fine);
    (void) fine;
    return v;
}

void axis_print(const struct op *op, int axis, struct axis_value v, char *to, size_t size)
{
    size_t len = 0;
    const char *name;
    const struct form *const form = is_bad(op, axis) ? bad_form(op, v.i) : NULL;
    if (form) {
        snprintf(to, size, "%s/%s", op->bads[bad_index(op, v.i)].name, form->name);
        return;
    }
    switch (op->axes[axis].kind) {
    case AXIS_INT:
        snprintf(to, size, "%" PRId64, v.i);
        break;
    case AXIS_REAL:
        snprintf(to, size, "%.9g", v.f);
        for (int digits = 1; digits < 9; digits++) { /* the shortest that reads back the same */
            char shorter[32];
            snprintf(shorter, sizeof shorter, "%.*g", digits, v.f);
            if (rn_f32(strtod(shorter, NULL)) == v.f) {
                snprintf(to, size, "%s", shorter);
                break;
            }
        }
        break;
    case AXIS_NAME:
        name = nth_value(op, axis, (int) v.i, &len);
        snprintf(to, size, "%.*s", (int) len, name ? name : "?");
    }
}

const char *kase_name(const struct kase *k, const char *axis)
{
    static const char *const none = "";
    static char word[8][64]; /* short-lived: compared at once */
    static int turn;
    const int a = known_axis(k->op, axis);
    if (k->op->axes[a].kind != AXIS_NAME)
        return none;
    char *const to = word[turn++ % 8];
    axis_print(k->op, a, (struct axis_value) { k->i[a], 0 }, to, sizeof word[0]);
    return to;
}

int kase_is(const struct kase *k, const char *axis, const char *value)
{
    const int a = known_axis(k->op, axis);
    struct axis_value v;
    const bool fine = axis_parse(k->op, a, value, strlen(value), &v);
    assert(fine);
    (void) fine;
    return k->i[a] == v.i && k->f[a] == v.f;
}

int kase_set(struct kase *k, const char *axis, const char *value)
{
    const int a = known_axis(k->op, axis);
    struct axis_value v;
    if (!axis_parse(k->op, a, value, strlen(value), &v))
        return -1;
    k->i[a] = v.i;
    k->f[a] = v.f;
    return 0;
}

int kase_rank(const struct kase *k)
{
    return kase_is(k, "rank", "3") ? 3 : kase_is(k, "rank", "2") ? 2 : 1;
}

const char *kase_drop(struct kase *k, const char *axis, const char *value, const char *reason, const char *why)
{
    if (kase_is(k, axis, value))
        return why;
    kase_set(k, axis, value);
    return why ? why : reason;
}

/* ---- case ids ---- */

void kase_default(struct kase *k, const struct op *op)
{
    memset(k, 0, sizeof *k);
    k->op = op;
    for (int a = 0; a < MAX_AXES && op->axes[a].name; a++) {
        const struct axis_value v = axis_listed(op, a, 0);
        k->i[a] = v.i;
        k->f[a] = v.f;
    }
}

bool kase_same(const struct kase *a, const struct kase *b)
{
    return a->op == b->op && !memcmp(a->i, b->i, sizeof a->i) && !memcmp(a->f, b->f, sizeof a->f);
}

void kase_print(const struct kase *k, char *to, size_t size)
{
    struct kase plain;
    kase_default(&plain, k->op);
    size_t n = (size_t) snprintf(to, size, "%s(", k->op->name);
    const size_t open = n;
    for (int a = 0; a < MAX_AXES && k->op->axes[a].name; a++) {
        char value[64];
        /* M and d stand in every id, for the reader */
        const bool always = !strcmp(k->op->axes[a].name, "M") || !strcmp(k->op->axes[a].name, "d");
        if (!always && k->i[a] == plain.i[a] && k->f[a] == plain.f[a])
            continue;
        axis_print(k->op, a, (struct axis_value) { k->i[a], k->f[a] }, value, sizeof value);
        if (n < size)
            n += (size_t) snprintf(to + n, size - n, "%s%s=%s", n > open ? "," : "", k->op->axes[a].name, value);
    }
    if (n < size)
        snprintf(to + n, size - n, ")");
}

/* An integer, whatever its size. */
static bool is_integer(const char *text, size_t len)
{
    const size_t sign = *text == '-';
    return len > sign && strspn(text + sign, "0123456789") >= len - sign;
}

static int say(char *why, size_t size, const char *format, const char *a, const char *b)
{
    snprintf(why, size, format, a, b);
    return -1;
}

int pattern_parse(struct pattern *p, const char *text, char *why, size_t size)
{
    char name[32];
    memset(p, 0, sizeof *p);
    while (*text == ' ')
        text++;
    const size_t n = strcspn(text, "( \t");
    if (n == 0 || n >= sizeof name)
        return say(why, size, "'%s': no operator name%s", text, "");
    memcpy(name, text, n);
    name[n] = 0;
    p->op = op_find(name);
    if (!p->op)
        return say(why, size, "'%s': no such operator%s", name, "; `layercheck list` names them");
    text += n;
    if (!*text)
        return 0;
    const size_t len = strlen(text);
    if (*text != '(' || text[len - 1] != ')')
        return say(why, size, "'%s': expected (axis=value,...)%s", text, "");
    text++;
    while (*text && *text != ')') {
        const size_t key = strcspn(text, "=,)");
        char axis[32];
        if (key == 0 || key >= sizeof axis || text[key] != '=')
            return say(why, size, "'%s': expected axis=value%s", text, "");
        memcpy(axis, text, key);
        axis[key] = 0;
        const int a = axis_of(p->op, axis);
        if (a < 0)
            return say(why, size, "'%s': %s has no such axis", axis, p->op->name);
        if (p->n[a])
            return say(why, size, "'%s': given twice%s", axis, "");
        text += key + 1;
        const bool set = *text == '{';
        text += set;
        if (*text == '*') {
            for (int i = 0; i < axis_count(p->op, a) && i < MAX_VALUES; i++)
                p->value[a][p->n[a]++] = axis_listed(p->op, a, i);
            text++;
            if (is_bad(p->op, a) && *text == '/') { /* all, in this form of the call */
                const size_t word = strcspn(text, ",)}");
                char form[64];
                snprintf(form, sizeof form, "%.*s", (int) word - 1, text + 1);
                for (int i = 0; i < p->n[a]; i++)
                    if ((p->value[a][i].i = bad_value(p->op, (int) p->value[a][i].i - 1, form)) == 0 && i > 0)
                        return say(why, size, "bad=*/%s: no such form of the call%s", form, "");
                memmove(&p->value[a][0], &p->value[a][1], (size_t) --p->n[a] * sizeof p->value[a][0]); /* "-" has none */
                text += word;
            }
        } else
            do {
                text += p->n[a] > 0; /* the comma */
                const size_t word = strcspn(text, ",)}");
                if (p->n[a] == MAX_VALUES)
                    return say(why, size, "'%s': too many values%s", axis, "");
                if (!axis_parse(p->op, a, text, word, &p->value[a][p->n[a]])) {
                    char bad[64];
                    snprintf(bad, sizeof bad, "%.*s", (int) (word < 60 ? word : 60), text);
                    if (p->op->axes[a].kind == AXIS_INT && is_integer(text, word))
                        return say(why, size, "%s=%s: too large", axis, bad);
                    return say(why, size, "%s=%s: no such value", axis, bad);
                }
                p->n[a]++;
                text += word;
            } while (set && *text == ',');
        if (set && *text++ != '}')
            return say(why, size, "'%s': the set is not closed%s", axis, "");
        if (*text == ',' && text[1] != ')')
            text++;
        else if (*text != ')')
            return say(why, size, "'%s': expected , or )%s", text, "");
    }
    return text[0] == ')' && !text[1] ? 0 : say(why, size, "'%s': more than one case%s", text, "");
}

bool pattern_matches(const struct pattern *p, const struct kase *k)
{
    if (p->op && p->op != k->op)
        return false;
    for (int a = 0; a < MAX_AXES; a++) {
        bool found = p->n[a] == 0;
        for (int i = 0; i < p->n[a] && !found; i++)
            found = p->value[a][i].i == k->i[a] && p->value[a][i].f == k->f[a];
        if (!found)
            return false;
    }
    return true;
}

bool kase_fits(const struct kase *k)
{
    double most[4] = { 1, 1, 1, 1 }; /* the largest, in descending order */
    for (int a = 0; a < MAX_AXES && k->op->axes[a].name; a++) {
        if (k->op->axes[a].kind != AXIS_INT || !strcmp(k->op->axes[a].name, "seed"))
            continue;
        double v = fabs((double) k->i[a]);
        for (int i = 0; i < 4; i++)
            if (v > most[i]) {
                const double less = most[i];
                most[i] = v;
                v = less;
            }
    }
    return most[0] * most[1] * most[2] * most[3] <= ldexp(1, 52);
}

bool kase_is_sane(const struct kase *k)
{
    struct call *const c = malloc(sizeof *c);
    double bytes = 0;
    if (!c)
        return true; /* who opens the call says so */
    call_plan(c, k);
    for (int i = 0; i < MAX_TENSORS; i++) {
        const struct slot *const s = &c->slot[i];
        double elements = s->listed && s->same_as < 0 ? fmt_bytes((enum lc_dtype) s->t.dtype) : 0;
        for (int n = 0; n < s->t.rank; n++)
            elements *= (double) s->t.shape[n];
        bytes += elements;
    }
    free(c);
    return bytes <= 0x1p36;
}

int kase_parse(struct kase *k, const char *id, char *why, size_t size)
{
    struct pattern *const p = malloc(sizeof *p);
    if (!p)
        return say(why, size, "out of memory%s%s", "", "");
    int status = pattern_parse(p, id, why, size);
    if (!status) {
        kase_default(k, p->op);
        for (int a = 0; a < MAX_AXES; a++) {
            if (p->n[a] > 1)
                status = say(why, size, "%s: a set of values; one case has one%s", p->op->axes[a].name, "");
            if (p->n[a] == 1) {
                k->i[a] = p->value[a][0].i;
                k->f[a] = p->value[a][0].f;
            }
        }
    }
    free(p);
    if (status)
        return status;
    if (!kase_fits(k))
        return say(why, size, "'%s': too large%s", id, "");
    const struct kase as_written = *k;
    const char *const reason = kase_settle(k);
    if (!kase_same(&as_written, k)) {
        char legal[MAX_ID];
        kase_print(k, legal, sizeof legal);
        snprintf(why, size, "'%.400s': %s; legal is '%.400s'", id, reason ? reason : "an axis does not apply", legal);
        return -1;
    }
    if (!kase_is_sane(k))
        return say(why, size, "'%s': too large%s", id, ": its tensors would take more than 64 GiB");
    return 0;
}
