/* SPDX-License-Identifier: Apache-2.0 */
/* list: operators, axes, fills; the cases of a suite; the pairs that a suite does not cover. */
#include <string.h>

#include "commands.h"

static void describe(const struct op *op)
{
    printf("%s: %s\n  source   %s\n  clauses  %s\n", op->name, op->summary, op->source, op->clauses);
    for (int i = 0; i < MAX_TENSORS && op->tensors[i].name; i++) {
        const struct tensor_desc *const t = &op->tensors[i];
        printf("  %-8s %-12s %-22s %-14s %s%s%s%s\n", t->dir == DIR_IN ? "in" : "out", t->name, t->shape, t->dtype, t->help,
               t->when ? " (" : "", t->when ? t->when : "", t->when ? ")" : "");
    }
    for (int a = 0; a < MAX_AXES && op->axes[a].name; a++) {
        char value[64];
        printf("  axis     %-6s %s: ", op->axes[a].name, op->axes[a].help);
        for (int n = 0; n < axis_count(op, a); n++) {
            axis_print(op, a, axis_listed(op, a, n), value, sizeof value);
            printf("%s%s", n ? "|" : "", value);
        }
        printf("\n");
    }
    for (const struct form *f = op->forms; f && f->name; f++)
        printf("  form     %-12s of the call that bad=NAME/%s spoils: %s\n", f->name, f->name, f->axes);
    for (int i = 0; i < 24 && op->fills[i].name; i++)
        printf("  fill     %-12s %s\n", op->fills[i].name, op->fills[i].help);
    for (int i = 0; i < MAX_BOUNDS && op->bounds[i].tensor; i++) {
        const struct bound *const b = &op->bounds[i];
        printf("  bound    %-12s ", b->tensor);
        if (b->dialect)
            printf("dialect %s: ", b->dialect);
        if (b->k > 0 && op->k_words)
            printf("(%s) u (%s): %s\n", op->k_words, b->clause, b->why);
        else if (b->k > 0)
            printf("%g u (%s): %s\n", b->k, b->clause, b->why);
        else if (b->k < 0)
            printf("%g ulp (%s): %s\n", -b->k, b->clause, b->why);
        else
            printf("bitwise (%s): %s\n", b->clause, b->why);
    }
}

int command_list(int argc, char **argv)
{
    struct options o;
    struct cases cases = { .n = 0 };
    int status = options_read(&o, argc, argv, "--suite -k --uncovered --shard --seed --dialect");
    if (status)
        return status;
    if (!o.suite && !o.uncovered && !o.patterns.n && !o.dialect) {
        for (int i = 0; i < o.ops.n; i++)
            if (!op_find(o.ops.at[i]))
                return usage_error("'%s': no such operator; `layercheck list` names them", o.ops.at[i]);
        for (int i = 0; all_ops[i]; i++) {
            if (o.ops.n && op_named(all_ops[i], o.ops.at, o.ops.n))
                describe(all_ops[i]);
            else if (!o.ops.n)
                printf("%-10s %s\n", all_ops[i]->name, all_ops[i]->summary);
        }
        if (!o.ops.n)
            printf("\n`list OP` shows its tensors, axes, fills and bounds; `list --suite ci` the cases of a suite (smoke, ci, "
                   "full)\n");
        return EXIT_PASS;
    }
    status = options_cases(&o, o.suite ? o.suite : "ci", &cases);
    if (status)
        return status;
    if (o.uncovered) {
        size_t missing = 0;
        for (int i = 0; all_ops[i]; i++)
            if (op_named(all_ops[i], o.ops.at, o.ops.n))
                missing += suite_uncovered(&cases, all_ops[i], stdout);
        cases_free(&cases);
        return missing ? EXIT_MISMATCH : EXIT_PASS;
    }
    for (size_t i = 0; i < cases.n; i++) {
        char id[MAX_ID];
        kase_print(&cases.at[i], id, sizeof id);
        printf("%s\n", id);
    }
    const int exit_code = cases.n ? EXIT_PASS : EXIT_NOTHING;
    cases_free(&cases);
    return exit_code;
}
