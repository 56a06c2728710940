#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Determinism reports, baselines, diff. (Mutants are killed by the perturbation they foretell: selftest, in checker.sh.)
. "$(dirname "$0")/lib.sh"

cat >few.txt <<'E2'
rmsnorm(M=65,d=512,res=1,w=f32,out=f32,bf16=1)
rmsnorm(M=17,d=512,out=e4m3,utccp=48)
rmsnorm(rank=3,B=3,M=5,d=512,res=1,out=e4m3,sf=rowp,xs=16)
cast(M=65,d=512)
cast(M=17,d=1000,x=f32,sf=row,round=0,at=16)
hadamard(M=17,n=64,inplace=1)
rope_table(rows=33)
E2

# ---- the matrix of right kernels: every cell has a word, none differs ----
for backend in cpu ref; do
    exits 0 "$backend" determinism --backend $backend --suite ./few.txt --report json:r.json --report jsonl:r.jsonl --report text:r.txt
    ok "$backend: the matrix is complete" python3 - $backend <<'E2'
import collections, json, sys

s, lines = json.load(open("r.json")), [json.loads(line) for line in open("r.jsonl")]
names = [p["name"] for p in s["perturbations"]]
device = {"stream", "busy", "graph", "occupied"}
none = {"rmsnorm": set(), "cast": set(), "hadamard": {"stale"}, "rope_table": {"strides", "position", "neighbours"}}
cases = {"rmsnorm": 3, "cast": 2, "hadamard": 1, "rope_table": 1}
assert len(names) == 13 and device < set(names), names
assert {key.split()[-1] for key in s["rows"]} == set(cases), s["rows"].keys()
for key, row in s["rows"].items():
    op = key.split()[-1]
    assert key.startswith(sys.argv[1] + "/") and sorted(row) == sorted(names)
    for name, cell in row.items():
        out = name in device | none[op]
        assert cell["word"] == ("n.a." if out else "same") and cell["cases"] == cases[op], (key, name, cell)
        assert (cell["elements"] > 0) != out and cell["bad_elements"] == 0, (key, name, cell)
        assert name not in device or cell["why_not"] == "a host kernel"
count = collections.Counter(r["outcome"] for r in lines)
assert len(lines) == s["totals"]["cases"] == 13 * 7 and count == {"pass": 9 * 7 - 4, "unsupported": 4 * 7 + 4}, count
assert sum(r["elements"] for r in lines) == s["totals"]["elements"] > 0
ladder = [r for r in lines if r["perturbation"] == "batch" and r["case"].startswith("cast(M=65")]
assert ladder[0]["runs"] >= 30 and ladder[0]["skipped"] == 0, ladder
E2
    has "$backend: the text is that of the screen" r.txt "$(grep ' cells: ' out)"
done
# ---- out_acc in place (LIN-2); DET-2 of linear is reported, but of a kernel that claims it ----
exits 0 'linear' determinism linear --backend cpu --case 'linear(M=17,acc=inplace)' --case 'linear(M=17,N=8,K=256,x=e4m3,w=e2m1,acc=same)' --report json:r.json
is 'linear: the loop' "$(python3 -c '
import json
print(*sorted({c["word"] for c in json.load(open("r.json"))["rows"]["cpu/loop linear"].values()}))')" 'n.a. same'
exits 0 'words choose perturbations' determinism batch base rmsnorm --backend cpu --suite ./few.txt --report json:r.json
is 'words choose perturbations' "$(python3 -c '
import json
s = json.load(open("r.json"))
print(*[p["name"] for p in s["perturbations"]], *s["rows"])')" 'batch base cpu/chunks rmsnorm'

# ---- the mutants that selftest kills by perturbations (checker.sh): no single case shows them ----
python3 - "$source/tests/mutants/table_determinism.h" >rows <<'E2'
import re, sys
for row in re.findall(r'^M\((\w+), (\w+), "[^"]+", "[^"]+", "([^"]+)", "determinism:(\w+)"', open(sys.argv[1]).read(), re.M):
    print(*row, sep="\t")
E2
ok 'the table has mutants' test "$(wc -l <rows)" -ge 9
is 'every perturbation of the host has a mutant' "$(cut -f 4 rows | sort -u | xargs)" \
    'base batch neighbours position repeat reuse stale strides threads'
cut -f 3 rows | sort -u >one_case.txt
"$program" run --backend mutants --suite ./one_case.txt --report jsonl:m.jsonl >/dev/null 2>&1
while IFS=$'\t' read -r name op case perturbation; do
    [ "$name" != rms_cached_by_address ] || continue # it remembers the case before
    is "mutants/$name, one case" "$(python3 -c '
import json, sys
print(*{r["outcome"] for r in map(json.loads, open("m.jsonl")) if r["kernel"] == sys.argv[1] and r["case"].startswith(sys.argv[2])})' \
        "$name" "${case%)}")" pass
done <rows

# ---- a difference says where; its rows are saved ----
exits 1 'a difference' determinism batch rmsnorm --backend beyond --case 'rmsnorm(M=17,d=4096,out=f32)' --save failed
grep -A 4 '^DIFFERS beyond/order_by_m' out >line
has 'a difference: the place' line 'DET-2: M=1, the '
has 'a difference: both codes' line 'got 0x'
has 'a difference: the other code' line 'in the base run 0x'
has 'a difference: the rerun' line "layercheck determinism batch --backend beyond --case 'rmsnorm(M=17,d=4096,out=f32)'"
file=$(sed -n 's/.*saved: //p' line)
exits 0 'the saved rows, judged' judge "$file"
for python in python3 /usr/bin/python3; do
    $python -c 'import h5py' 2>/dev/null && break
done
ok 'the saved rows differ, and are right both times' $python - "$file" <<'E2'
import h5py, numpy as np, sys
with h5py.File(sys.argv[1], "r") as f:
    (case,) = f.values()
    a, b = case["out"][...].view("u4"), case["out.perturbed"][...].view("u4")
    assert a.shape == b.shape and (a != b).any(axis=1).all() and np.abs(a.astype("i8") - b.astype("i8")).max() <= 4
    assert case.attrs["perturbation"] == b"batch" and case.attrs["kernel"] == b"order_by_m"
E2

# an output in place is compared, and written to a baseline
exits 0 'in place' baseline save hadamard --backend cpu --case 'hadamard(M=17,n=64,inplace=1)' --bits -o place.json
exits 0 'apart' baseline save hadamard --backend cpu --case 'hadamard(M=17,n=64)' --bits -o apart.json
ok 'in place and apart are the same bits' python3 -c '
import json
a, b = ([t for cases in json.load(open(f))["kernels"].values() for case in cases.values() for t in case.items()] for f in ("place.json", "apart.json"))
assert a == b and len(a) == 1 and a[0][0] == "out" and a[0][1]["n"] == 17 * 64'

# ---- isolation: a crash or a hang costs its cell ----
# The hostile ones are right but where M = 3: that is one rung of `batch`.
a_case='cast(M=5,d=512,sf=row)'
words() { # PERTURBATION..: the words of the only row
    python3 -c '
import json, sys
(row,) = json.load(open("h.json"))["rows"].values()
print(*(row[name]["word"] for name in sys.argv[1:]))' "$@"
}
exits 4 'a crash' determinism repeat batch base --backend "plugin:$build/hostile_aborts.so" --case "$a_case" --report json:h.json
is 'a crash costs its cell' "$(words repeat batch base)" 'same CRASH same'
has 'a crash says how' out 'killed by signal 6'
exits 2 'a hang' determinism batch base --backend "plugin:$build/hostile_loops.so" --case "$a_case" --timeout 1 --report json:h.json
is 'a hang costs its cell' "$(words batch base)" 'TIMEOUT same'
exits 1 'a legal call that fails' determinism batch base --backend "plugin:$build/hostile_fails.so" --case "$a_case" --report json:h.json
is 'a legal call that fails' "$(words batch base)" 'DIFFERS same'
has 'a legal call that fails, where' out 'M=3, the first rows'
exits 1 'wrong in one rung' determinism batch --backend "plugin:$build/hostile_writes_nothing.so" --case "$a_case"
has 'wrong in one rung' out 'M=3, the first rows: out[0,0] got 0xff'
exits 5 'nothing supported' determinism --backend "plugin:$build/hostile_supports_nothing.so" --case 'cast(M=3,d=512,sf=row)'
exits 5 'no case is left' determinism --backend cpu -k 'no such text'
exits 3 'no such operator' determinism frob --backend cpu
exits 3 'junit' determinism --backend cpu --report junit:f.xml
exits 3 'no such backend' determinism --backend frob

# ---- the perturbations of a device, on one in host memory ----
mkdir -p home && cp "$build/fake_device.so" home/lc_device_cuda.so
LAYERCHECK_HOME=$PWD/home exits 1 'fake device' determinism --backend plugin:./home/lc_device_cuda.so --suite "$source/harness/suites/determinism.txt" \
    --case 'cast(M=65,d=512,sf=row)' --report json:h.json
ok 'fake device: each kernel differs under the perturbation of its name, `right` nowhere' python3 - <<'E2'
import json
s = json.load(open("h.json"))
assert s["devices"] and len(s["rows"]) == 5
for key, row in s["rows"].items():
    name = key.split("/")[-1].split()[0]
    words = {p: c["word"] for p, c in row.items()}
    assert words.pop("threads") == "n.a." and "n.a." not in words.values(), (key, words)
    differ = {p for p, word in words.items() if word != "same"}
    assert set(words.values()) <= {"same", "DIFFERS"} and (name in differ if name != "right" else not differ), (key, words)
E2

# ---- baselines ----
exits 0 'save' baseline save --backend cpu --suite smoke --bits -o cpu.json
exits 0 'save again' baseline save --backend cpu --suite smoke --bits -o again.json
ok 'the same bits are the same file' cmp cpu.json again.json
exits 0 'compare' baseline compare cpu.json
has 'compare' out '0 of '
exits 0 'diff with itself' diff cpu.json again.json
ok 'a hash is that of the codes' python3 - <<'E2'
import hashlib, json
b = json.load(open("cpu.json"))
n = 0
for cases in b["kernels"].values():
    for case in cases.values():
        for t in case.values():
            if "codes" in t:
                assert hashlib.sha256(bytes.fromhex(t["codes"])).hexdigest() == t["sha256"]
                n += 1
assert n > 300 and b["format"] == "layercheck-baseline-1" and len(b["library_sha256"]) == 64, n
E2
# gcc and clang: the same bits
operators=$(sed -n "s/^op_names = \[\(.*\)\]$/\1/p" "$source/meson.build" | sed "s/'\([a-z_]*\)',*/X(\1)/g")
for cc in gcc clang; do
    command -v $cc >/dev/null || continue
    $cc -std=c99 -D_POSIX_C_SOURCE=200809L "-DOPERATORS=$operators" -shared -fPIC -O3 -ffp-contract=off -fvisibility=hidden -I "$source/include" -I "$source/ref" \
        -o "cpu_$cc.so" "$source"/fast/cpu/*.c "$source"/ref/*.c -lm 2>cc.err || fail "cpu by $cc" cc.err
    exits 0 "cpu by $cc moves no bit" baseline compare cpu.json --backend "plugin:./cpu_$cc.so"
done
# a planted difference: the last element of each row is not in the mean
for which in right wrong; do
    sed 's/mine_wrong/mine/g' "$source/tests/plugins/example_$which.c" >$which.c
    ${CC:-cc} -shared -fPIC -O2 -I "$source/include" -o $which.so $which.c -lm
    exits 0 "save, $which" baseline save rmsnorm --backend plugin:./$which.so --case 'rmsnorm(M=17,d=128)' --bits -o $which.json
done
exits 0 'some calls are not supported' determinism batch --backend plugin:./right.so --case 'rmsnorm(M=5,d=128)' --report json:h.json
ok 'some calls are not supported: they are counted' python3 -c '
import json
(row,) = json.load(open("h.json"))["rows"].values()
assert row["batch"]["skipped"] >= 2 and row["batch"]["word"] == "same", row'
exits 1 'diff shows a planted difference' diff right.json wrong.json
has 'diff: the case' out 'MOVED   mine rmsnorm rmsnorm(M=17,d=128)'
has 'diff: the counts' out 'of 2176 elements, first [0,'
has 'diff: the histogram' out 'ulp'
exits 1 'compare shows it' baseline compare right.json --backend plugin:./wrong.so
python3 -c '
import json
b = json.load(open("right.json"))
t = b["kernels"]["mine rmsnorm"]["rmsnorm(M=17,d=128)"]["out"]
t["codes"] = "%02x" % (int(t["codes"][:2], 16) ^ 1) + t["codes"][2:]
t["sha256"] = "0" * 64
json.dump(b, open("one.json", "w"))'
exits 1 'diff: one ulp of one element' diff right.json one.json
ok 'diff: one ulp of one element' grep -Eq 'out: 1 of 2176 elements, first \[0,0\] 0x[0-9a-f]{4}, was 0x[0-9a-f]{4}; ulp  [-+]1:1$' out
exits 5 'nothing in common' diff cpu.json right.json
echo '{}' >no.json
exits 3 'no baseline' diff cpu.json no.json
exits 3 'no file' diff cpu.json nowhere.json
exits 3 'compare: no file' baseline compare nowhere.json
exits 3 'save: no output' baseline save --backend cpu
exits 3 'neither save nor compare' baseline frob
finish
