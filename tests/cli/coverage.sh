#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# coverage: every clause has a check and a mutant, or an excuse; a clause that loses its last mutant is seen.
. "$(dirname "$0")/lib.sh"

exits 0 'coverage' coverage --report json:c.json
cp out all.out
is 'messages' "$(cat err)" ''
# told MORE: something of the report, which is `c`; ops and clauses by name
told() {
    python3 -c '
import json, sys
c = json.load(open(sys.argv[1]))
ops = {r["op"]: r for r in c["operators"]}
clauses = {r["clause"]: r for r in c["clauses"]}
exec(sys.argv[2])' "$@"
}
is 'operators' "$(told c.json 'print(*ops)')" "$("$program" list | sed '/^$/,$d' | cut -d ' ' -f 1 | tr '\n' ' ' | sed 's/ $//')"
is 'clauses: those of spec' "$(told c.json 'print(*clauses)')" "$("$program" spec | head -n 1 | sed 's/ $//')"
is 'nothing lacks' "$(told c.json 'print(c["open"], sum(r["lacks"] != "" for r in c["clauses"]))')" '0 0'
is 'cases of ci' "$(told c.json 'print(sum(r["ci"] for r in ops.values()))')" "$("$program" list --suite ci | wc -l)"
is 'host mutants' "$(told c.json 'print(sum(r["mutants"] for r in ops.values()))')" "$(cat "$source"/tests/mutants/table*.h | grep -c '^M(')"
# counted by hand, from the files
for clause in SF-5 HAD-5 RMS-3 DET-4; do
    is "$clause: mutants" "$(told c.json "print(clauses['$clause']['mutants'])")" "$(cat "$source"/tests/mutants/table*.h | tr '\n' ' ' | grep -oE "[^A-Z]M\(\w+, \w+, \"$clause\"" | wc -l)"
    is "$clause: bads" "$(told c.json "print(clauses['$clause']['bads'])")" "$(cat "$source"/harness/ops/*.c | grep -cE "^    \{ \"[^\"]*\", \"[^\"]*\", \"$clause\"")"
    has "$clause: table" all.out "$clause "
done
is 'cpu kernels' "$(told c.json 'print(min(r["cpu"] for r in ops.values()) > 0)')" True

exits 0 'one operator' coverage hadamard --report json:one.json
is 'one operator' "$(told one.json 'print(*ops)')" hadamard
is 'its clauses' "$(told one.json 'print("HAD-3" in clauses, "RMS-3" in clauses)')" 'True False'

# the last mutant of a clause is lost
for clause in HAD-5 CAST-8 SF-4 DET-1; do
    exits 1 "without $clause" coverage --backend "plugin:$build/few_mutants_$clause.so" --report json:few.json
    is "without $clause" "$(told few.json 'print(*[r["clause"] + ": " + r["lacks"] for r in c["clauses"] if r["lacks"]])')" \
        "$clause: NO MUTANT"
    has "without $clause: the line" out 'NO MUTANT'
done
exits 1 'an operator without mutants' coverage cast --backend cpu
has 'an operator without mutants' out 'NO MUTANT'

exits 3 'no such operator' coverage frob
has 'no such operator' err "'frob': no such operator"
exits 3 'no such plugin' coverage --backend plugin:./nowhere.so
exits 3 'a report of another kind' coverage --report text:t
exits 3 'no such option' coverage --suite ci
finish
