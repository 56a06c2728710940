#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The checker is checked: wrong kernels (tests/mutants) are killed as foretold, right kernels at the edge of their freedom
# (tests/conforming, V rows, and D rows in their dialect) pass, and the same pushed beyond it (B rows) are flagged by the check
# they name.
. "$(dirname "$0")/lib.sh"

exits 0 'selftest' selftest --backend mutants
cp out selftest.out
mutants=$(cat "$source"/tests/mutants/table*.h | grep -cE '^(M|AGAIN)\(')
killed=$(grep -c '^killed ' selftest.out)
ok 'selftest: mutants' test "$killed" -ge 100
is 'selftest: killed of the table' "$killed" "$mutants"
is 'selftest: survivors' "$(grep -c '^SURVIVED' selftest.out)" 0

exits 0 'conforming' run --backend conforming --suite smoke --report json:conforming.json # all of ci: ci/gpu.sh
for dialect in $(sed -n 's/^D(\w*, \w*, "\([^"]*\)",.*/\1/p' "$source/tests/conforming/variants.h" | sort -u); do
    exits 0 "conforming, dialect $dialect" run --backend conforming --suite smoke --dialect "$dialect" --report "json:conforming-$dialect.json"
    exits 0 "cpu, dialect $dialect" run --backend cpu --suite smoke --dialect "$dialect"
    if [ "$dialect" != f32-nan ]; then # no mutant: nothing that is judged tells it apart (EQUIVALENT)
        exits 0 "selftest, dialect $dialect" selftest --backend mutants --dialect "$dialect"
    fi
done
python3 - "$source/tests/conforming/variants.h" >rows <<'E2'
import json, re, sys
text = open(sys.argv[1]).read()
v = re.findall(r"^V[DK]?\((\w+), (\w+),", text, re.M)
b = re.findall(r'^B[DK]?\((\w+), (\w+), "([^"]+)", "([^"]+)"', text, re.M)
d = re.findall(r'^D\((\w+), (\w+), "([^"]+)"', text, re.M)
s = json.load(open("conforming.json"))
good = {key for key, row in s["rows"].items() if row["cases"] == row.get("pass", 0) > 0}
for name, op in v:
    key = "conforming/%s %s" % (name, op)
    print("V", key, "passed" if key in good else "did not pass every case", sep="\t")
for name, op, dialect in d:
    row = json.load(open("conforming-%s.json" % dialect))["rows"].get("conforming/%s %s" % (name, op), {})
    print("V", "%s, dialect %s, %s" % (name, dialect, op),
          "passed" if row.get("cases", 0) == row.get("pass", 0) > 0 else "did not pass every case", sep="\t")
    if "conforming/%s %s" % (name, op) in good:
        print("V", "%s, dialect %s, %s" % (name, dialect, op), "was judged in the usual dialect", sep="\t")
for row in b:
    print("B", *row, sep="\t")
E2
ok 'variants.h has both kinds' bash -c 'grep -q ^V rows && grep -q ^B rows'
while IFS=$'\t' read -r kind name words cases check; do
    if [ "$kind" = V ]; then
        is "$name" "$words" passed
    elif [ "${check#determinism:}" != "$check" ]; then # no single case shows it
        echo "$cases" >one.txt
        "$program" determinism "${check#determinism:}" "$words" --backend beyond --suite ./one.txt --report json:one.json >/dev/null 2>&1
        is "beyond/$name $words under ${check#determinism:}" "$(python3 -c '
import json, sys
print(json.load(open("one.json"))["rows"]["beyond/%s %s" % tuple(sys.argv[1:3])][sys.argv[3]]["word"])' "$name" "$words" "${check#determinism:}")" DIFFERS
    else
        echo "$cases" >one.txt
        "$program" run "$words" --backend beyond --suite ./one.txt --report jsonl:one.jsonl >/dev/null 2>&1
        ok "beyond/$name $words is flagged by $check" python3 -c '
import json, sys
name, check = sys.argv[1:]
found = {f["check"] + (":" + f["tensor"] if f["check"] == "value" else "")
         for r in map(json.loads, open("one.jsonl")) if r["kernel"] == name and r["outcome"] == "fail" for f in r["findings"]}
sys.exit(0 if check in found else "found: %s" % sorted(found))' "$name" "$check"
    fi
done <rows

# right kernels at the edge of their freedom are as deterministic as any (DET-1, DET-2)
exits 0 'conforming, determinism' determinism --backend conforming --report json:conforming.json --case 'rmsnorm(M=17,d=512,res=1,out=f32)' \
    --case 'rmsnorm(M=9,d=128,out=e4m3,bf16=1)' --case 'cast(M=17,d=128)' --case 'hadamard(M=17,n=64,x=f32)' --case 'rope_table(rows=33)' \
    --case 'rope(M=17,d=64,rot=64)' --case 'context_cast(M=17,d=64)' --case 'sf_layout(M=17,ds=8)' \
    --case 'qkv(M=17,D=16,bias=bf16)' --case 'kv_store(M=17,pages=9)' --case 'linear(M=17,N=33,K=64)'
ok 'conforming, determinism: kernels' python3 -c '
import json, sys
rows = json.load(open("conforming.json"))["rows"]
assert len(rows) >= int(sys.argv[1]) > 0 and all({c["word"] for c in row.values()} == {"same", "n.a."} for row in rows.values())' \
    "$(grep -c '^V(' "$source/tests/conforming/variants.h")"
finish
