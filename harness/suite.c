/* SPDX-License-Identifier: Apache-2.0 */
/* Suites: files of patterns; pairwise covering. */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "paths.h"

void cases_add(struct cases *c, const struct kase *k)
{
    for (size_t i = 0; i < c->n; i++)
        if (kase_same(&c->at[i], k))
            return;
    if (c->n == c->room) {
        c->room = c->room ? 2 * c->room : 64;
        c->at = realloc(c->at, c->room * sizeof *c->at);
        assert(c->at);
    }
    c->at[c->n++] = *k;
}

void cases_free(struct cases *c)
{
    free(c->at);
    *c = (struct cases) { .n = 0 };
}

/* ---- pairs ---- */

struct sweep { /* the values each axis may take */
    const struct op *op;
    int axes;
    int n[MAX_AXES];
    struct axis_value value[MAX_AXES][MAX_VALUES];
    struct kase plain;
    int size[3], n_sizes; /* the axes that make a case empty */
};

static uint64_t next_random(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static bool has(const struct kase *k, int axis, struct axis_value v)
{
    return k->i[axis] == v.i && k->f[axis] == v.f;
}

/* A case without rows judges nothing: it covers the pairs of what makes it empty, and no other. */
static bool counts(const struct sweep *s, const struct kase *k, int a, int b)
{
    bool empty = false, by_these = false;
    for (int i = 0; i < s->n_sizes; i++)
        if (k->i[s->size[i]] == 0) {
            empty = true;
            by_these = by_these || s->size[i] == a || s->size[i] == b;
        }
    return !empty || by_these;
}

/* A legal case with these two values: the others are drawn, until settling leaves both alone. */
static bool complete(const struct sweep *s, int a, int i, int b, int j, uint64_t *random, struct kase *k)
{
    for (int attempt = 0; attempt < 400; attempt++) {
        *k = s->plain;
        for (int x = 0; x < s->axes; x++) {
            const int pick = x == a ? i : x == b ? j : (int) (next_random(random) % (uint64_t) s->n[x]);
            k->i[x] = s->value[x][pick].i;
            k->f[x] = s->value[x][pick].f;
        }
        if (!kase_fits(k))
            continue;
        kase_settle(k);
        if (has(k, a, s->value[a][i]) && has(k, b, s->value[b][j]) && counts(s, k, a, b) && !(s->op->heavy && s->op->heavy(k)))
            return true;
    }
    return false;
}

static void sweep_of(struct sweep *s, const struct op *op, const struct pattern *p)
{
    memset(s, 0, sizeof *s);
    s->op = op;
    kase_default(&s->plain, op);
    for (const char *const *name = (const char *const[]) { "M", "B", "N", NULL }; *name; name++)
        if (axis_of(op, *name) >= 0)
            s->size[s->n_sizes++] = axis_of(op, *name);
    for (int a = 0; a < MAX_AXES && op->axes[a].name; a++) {
        s->axes = a + 1;
        if (p && p->n[a]) {
            s->n[a] = p->n[a];
            memcpy(s->value[a], p->value[a], sizeof s->value[a]);
            continue;
        }
        s->n[a] = op->axes[a].alone ? 1 : axis_count(op, a);
        for (int i = 0; i < s->n[a]; i++)
            s->value[a][i] = axis_listed(op, a, i);
    }
}

struct pairs { /* one flag per pair of values */
    size_t first[MAX_AXES][MAX_AXES], n;
    uint8_t *done;
};

static size_t pair_at(const struct sweep *s, const struct pairs *p, int a, int i, int b, int j)
{
    return p->first[a][b] + (size_t) i * (size_t) s->n[b] + (size_t) j;
}

static void pairs_of(const struct sweep *s, struct pairs *p)
{
    p->n = 0;
    for (int a = 0; a < s->axes; a++)
        for (int b = a + 1; b < s->axes; b++) {
            p->first[a][b] = p->n;
            p->n += (size_t) s->n[a] * (size_t) s->n[b];
        }
    p->done = calloc(p->n + 1, 1);
    assert(p->done);
}

static size_t cover(const struct sweep *s, struct pairs *p, const struct kase *k, bool mark)
{
    int at[MAX_AXES];
    size_t fresh = 0;
    for (int a = 0; a < s->axes; a++) {
        at[a] = -1;
        for (int i = 0; i < s->n[a]; i++)
            if (has(k, a, s->value[a][i]))
                at[a] = i;
    }
    for (int a = 0; a < s->axes; a++)
        for (int b = a + 1; b < s->axes; b++)
            if (at[a] >= 0 && at[b] >= 0 && counts(s, k, a, b)) {
                uint8_t *const done = &p->done[pair_at(s, p, a, at[a], b, at[b])];
                fresh += !*done;
                if (mark)
                    *done = 1;
            }
    return fresh;
}

/* -1 and why: a line that would take hours to sweep is a slip of the hand. */
static int too_many(double n, const char *what, char *why, size_t size)
{
    if (n <= 1 << 16)
        return 0;
    snprintf(why, size, "%.0f %s in one line; 65536 are allowed", n, what);
    return -1;
}

static int add_sane(struct cases *c, const struct kase *k, char *why, size_t size)
{
    char id[MAX_ID];
    if (kase_is_sane(k)) {
        cases_add(c, k);
        return 0;
    }
    kase_print(k, id, sizeof id);
    snprintf(why, size, "%.400s: too large: its tensors would take more than 64 GiB", id);
    return -1;
}

static int add_pairs(struct cases *c, const struct sweep *s, char *why, size_t size)
{
    struct pairs p;
    int status = 0;
    pairs_of(s, &p);
    if (too_many((double) p.n, "pairs", why, size)) {
        free(p.done);
        return -1;
    }
    for (int a = 0; a < s->axes; a++)
        for (int b = a + 1; b < s->axes; b++)
            for (int i = 0; i < s->n[a]; i++)
                for (int j = 0; j < s->n[b]; j++) {
                    struct kase best, k;
                    size_t most = 0;
                    uint64_t random = pair_at(s, &p, a, i, b, j); /* the same draws as in suite_uncovered */
                    if (status || p.done[pair_at(s, &p, a, i, b, j)])
                        continue;
                    for (int candidate = 0; candidate < 24 && complete(s, a, i, b, j, &random, &k); candidate++) {
                        const size_t fresh = cover(s, &p, &k, false);
                        if (fresh > most) {
                            most = fresh;
                            best = k;
                        }
                    }
                    if (most) {
                        cover(s, &p, &best, true);
                        status = add_sane(c, &best, why, size);
                    }
                }
    free(p.done);
    return status;
}

size_t suite_uncovered(const struct cases *c, const struct op *op, FILE *to)
{
    struct sweep s;
    struct pairs p;
    size_t missing = 0;
    sweep_of(&s, op, NULL);
    pairs_of(&s, &p);
    for (size_t i = 0; i < c->n; i++)
        if (c->at[i].op == op)
            cover(&s, &p, &c->at[i], true);
    for (int a = 0; a < s.axes; a++)
        for (int b = a + 1; b < s.axes; b++)
            for (int i = 0; i < s.n[a]; i++)
                for (int j = 0; j < s.n[b]; j++) {
                    struct kase k;
                    char one[64], two[64];
                    uint64_t random = pair_at(&s, &p, a, i, b, j);
                    if (p.done[pair_at(&s, &p, a, i, b, j)] || !complete(&s, a, i, b, j, &random, &k))
                        continue;
                    axis_print(op, a, s.value[a][i], one, sizeof one);
                    axis_print(op, b, s.value[b][j], two, sizeof two);
                    fprintf(to, "%s(%s=%s,%s=%s)\n", op->name, op->axes[a].name, one, op->axes[b].name, two);
                    missing++;
                }
    for (int i = 0; op->bads && op->bads[i].name; i++) { /* refusals are not swept in pairs: each stands once */
        bool found = false;
        for (size_t n = 0; n < c->n && !found; n++)
            found = c->at[n].op == op && kase_int(&c->at[n], "bad") == i + 1;
        if (!found)
            fprintf(to, "%s(bad=%s)\n", op->name, op->bads[i].name);
        missing += !found;
    }
    free(p.done);
    return missing;
}

/* ---- files ---- */

static int add_product(struct cases *c, const struct pattern *p, char *why, size_t size)
{
    double n = 1;
    for (int a = 0; a < MAX_AXES; a++)
        n *= p->n[a] ? p->n[a] : 1;
    if (too_many(n, "cases", why, size))
        return -1;
    int at[MAX_AXES] = { 0 };
    for (;;) {
        struct kase k;
        kase_default(&k, p->op);
        for (int a = 0; a < MAX_AXES; a++)
            if (p->n[a]) {
                k.i[a] = p->value[a][at[a]].i;
                k.f[a] = p->value[a][at[a]].f;
            }
        if (!kase_fits(&k)) {
            char id[MAX_ID];
            kase_print(&k, id, sizeof id);
            snprintf(why, size, "%.400s: too large", id);
            return -1;
        }
        const struct kase as_written = k;
        kase_settle(&k);
        bool kept = true; /* a product skips what is not legal as written, but an axis a fill sets (eps) may be left open */
        for (int a = 0; a < MAX_AXES; a++)
            kept = kept && (!p->n[a] || (k.i[a] == as_written.i[a] && k.f[a] == as_written.f[a]));
        if (kept && add_sane(c, &k, why, size))
            return -1;
        int a = 0;
        while (a < MAX_AXES && (p->n[a] == 0 || ++at[a] == p->n[a]))
            at[a++] = 0;
        if (a == MAX_AXES)
            return 0;
    }
}

int suite_line(struct cases *c, const char *line, char *why, size_t size)
{
    char text[2048];
    snprintf(text, sizeof text, "%s", line);
    text[strcspn(text, "#\n")] = 0;
    size_t len = strlen(text);
    while (len && isspace((unsigned char) text[len - 1]))
        text[--len] = 0;
    const char *at = text + strspn(text, " \t");
    if (!*at)
        return 0;
    if (!strncmp(at, "include ", 8)) {
        static int depth;
        if (depth == 8) {
            snprintf(why, size, "include %s: more than 8 suites deep; does it include itself?", at + 8);
            return -1;
        }
        depth++;
        const int included = suite_read(c, at + 8, why, size);
        depth--;
        return included;
    }
    const bool in_pairs = !strncmp(at, "pairs ", 6);
    struct pattern *const p = malloc(sizeof *p);
    assert(p);
    int status = pattern_parse(p, in_pairs ? at + 6 : at, why, size);
    if (!status && in_pairs && op_named(p->op, c->ops, c->n_ops)) {
        struct sweep *const s = malloc(sizeof *s);
        assert(s);
        sweep_of(s, p->op, p);
        status = add_pairs(c, s, why, size);
        free(s);
    } else if (!status && !in_pairs)
        status = add_product(c, p, why, size);
    free(p);
    return status;
}

int suite_read(struct cases *c, const char *suite, char *why, size_t size)
{
    char path[4096], line[2048];
    FILE *const f = path_suite(suite, path, sizeof path) ? fopen(path, "r") : NULL;
    if (!f) {
        snprintf(why, size, "suite '%s': no such suite or file", suite);
        return -1;
    }
    int status = 0;
    for (int n = 1; !status && fgets(line, sizeof line, f); n++) {
        char reason[512] = "longer than 2046 bytes, or a NUL in it";
        status = strlen(line) + 1 < sizeof line && (strchr(line, '\n') || feof(f)) ? suite_line(c, line, reason, sizeof reason)
                                                                                   : -1;
        if (status)
            snprintf(why, size, "%s:%d: %s", path, n, reason);
    }
    fclose(f);
    return status;
}
