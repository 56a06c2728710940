#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# relations: they hold for right kernels, each is broken by a planted fault (AGAIN rows of tests/mutants), and the report says so.
. "$(dirname "$0")/lib.sh"

exits 0 'cpu' relations --backend cpu --report json:cpu.json --report jsonl:cpu.jsonl --report text:cpu.txt
has 'holds' out 'holds'
# every relation of every operator is judged on some elements
ok 'none is empty' python3 - <<'E2'
import json
s = json.load(open("cpu.json"))
assert s["kind"] == "relations" and len(s["perturbations"]) >= 12
seen = {}
# what two right kernels may give other bits for, and a blocked product or another kernel's sum does
free = {("linear", "permuted-rows"), ("linear", "mirrored-columns"), ("qkv", "fused-norm"), ("kv_store", "fused-norm")}
for key, row in s["rows"].items():
    for name, cell in row.items():
        at = key.split()[-1], name
        if at not in seen or cell["elements"]:
            seen[at] = cell
        assert cell["word"] in ("same", "n.a.") + (("differs",) if at in free else ()), (key, name, cell)
empty = {k for k, cell in seen.items() if not cell["elements"]}
assert empty == {("rope_table", "permuted-rows")}, empty  # a row is its position
names = {p["name"] for p in s["perturbations"]}
assert names == {name for _, name in seen}, names
assert all(p["clause"] and ("bitwise" in p["text"] or "within" in p["text"]) for p in s["perturbations"])
E2
ok 'a line a cell' python3 -c '
import json
cells = [json.loads(l) for l in open("cpu.jsonl")]
cells = [c for c in cells if "outcome" in c]
assert len(cells) == json.load(open("cpu.json"))["totals"]["cases"] > 500'
ok 'the text is the screen' grep -q ', relations, suite relations: ' cpu.txt

printf '%s\n' 'cast(M=17,d=128,fill={normal,pow2-edges})' 'cast(M=5,d=96,x=f32,sf=row,round=0)' \
    'rmsnorm(M=17,d=128,res=1,out={f32,bf16})' 'rmsnorm(M=17,d=128,out=e4m3,bf16=1)' 'hadamard(M=17,n={2,128},x={bf16,f32})' \
    'rope_table(rows=33,scaling=yarn)' 'rope(M=5,d=128,rot=64,inter={0,1})' 'context_cast(M=5,rot=64,bf16=1)' \
    'linear(M=5,N=17,x=bf16,w={bf16,e4m3},acc={none,own},fill={normal,exact})' 'qkv(M=5,rot=32)' \
    'kv_store(M=5,stage=bf16,out={pool,bf16})' 'sf_layout(M=17,from=row)' >few.txt
exits 0 'ref' relations --backend ref --suite ./few.txt
exits 0 'right kernels at the edge of their freedom' relations --backend conforming --suite ./few.txt --report json:conforming.json
ok 'all of them' python3 -c '
import json, sys
assert len(json.load(open("conforming.json"))["rows"]) >= int(sys.argv[1]) > 50' \
    "$(grep -c '^V(' "$source/tests/conforming/variants.h")"

# each relation has a mutant that breaks it
cat "$source"/tests/mutants/table*.h | grep -ohE '"relation:[a-z-]+"' | tr -d '"' | sed 's/relation://' | sort -u >broken.txt
python3 -c '
import json
print("\n".join(sorted({p["name"] for p in json.load(open("cpu.json"))["perturbations"]})))' >names.txt
ok 'a mutant for each' cmp broken.txt names.txt

exits 1 'a planted fault' relations fused-cast --backend mutants --case 'rmsnorm(M=5,d=128,out=e4m3,bf16=1,sf=row)' --report json:bad.json
grep -A3 '/rms_cast_from_f32 ' out >fault.txt
has 'its words' fault.txt 'RMS-6: cast/none of the bf16 output: out['
has 'what is wanted' fault.txt 'the base run wants 0x'
has 'how to see it again' fault.txt "rerun: layercheck relations fused-cast --backend mutants --case 'rmsnorm(M=5,d=128,out=e4m3,bf16=1,sf=row)'"
is 'only what is named' "$(python3 -c '
import json
print({name for row in json.load(open("bad.json"))["rows"].values() for name in row})')" "{'fused-cast'}"
exits 1 'the root is free: other bits are reported' relations double-x --backend mutants --case 'rmsnorm(M=17,d=128,out=f32)'
has 'reported' out 'differs '
exits 5 'nothing to compare' relations double-attn --backend cpu --case 'rope_table(rows=33)'
exits 3 'no such word' relations nonsense --backend cpu
exits 3 'no junit' relations --backend cpu --report junit:x.xml
finish
