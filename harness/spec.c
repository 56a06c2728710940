/* SPDX-License-Identifier: Apache-2.0 */
/* spec: a clause of the contract, and where ref/ implements it. */
#include "spec.h"

#include <string.h>

#include "commands.h"

int command_spec(int argc, char **argv)
{
    if (argc == 0) {
        for (const struct clause *c = contract_clauses; c->id; c++)
            printf("%s ", c->id);
        printf("\ncontract %s\n", contract_hash);
        return EXIT_PASS;
    }
    for (int i = 0; i < argc; i++) {
        const struct clause *c = contract_clauses;
        while (c->id && strcmp(c->id, argv[i]))
            c++;
        if (!c->id)
            return usage_error("'%s': no such clause; `layercheck spec` lists them", argv[i]);
        printf("%s\n\n%s\n", c->text, c->places[0] ? c->places : "no line of ref/ cites it yet\n");
    }
    return EXIT_PASS;
}
