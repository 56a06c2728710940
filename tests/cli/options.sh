#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Options: what is refused, with which words; what is chosen; what survives an interrupted run; reports.
. "$(dirname "$0")/lib.sh"

# refused WORDS ARGUMENT..: exit code 3, one line on stderr that has the words, nothing on stdout.
refused() {
    local words=$1
    shift
    exits 3 "refused: $*" "$@"
    has "refused: $*" err "$words"
    is "refused: $*: lines on stderr" "$(wc -l <err)" 1
    is "refused: $*: bytes on stdout" "$(wc -c <out)" 0
}
a_case='cast(M=17,d=128)' a_bad='cast(M=3,d=128,utccp=1,bad=x-null)'

# ---- usage errors name the option and the value ----
refused "'frobnicate': no such command" frobnicate
refused '--frob: no such option' run --frob
refused '--frob: no such option' run --frob=3
refused '--uncovered: no such option' run --uncovered
refused '-x: no such option' list -x
refused '-o: no such option' run -o f
for option in --backend --require-backend --suite -k --case --save --resume --seed -j --timeout --shard --report --dialect; do
    refused "$option: a value is missing" run $option
done
refused "suite 'nowhere': no such suite" run --suite nowhere
refused "suite './nowhere.txt': no such suite or file" list --suite ./nowhere.txt
refused "'frob': no such operator" run frob
refused "'frob': no such operator" list frob
refused "'frob': no such operator" run --case 'frob(M=1)'
refused "'frob': cast has no such axis" run --case 'cast(frob=1)'
refused 'x=f64: no such value' run --case 'cast(M=1,x=f64)'
refused 'fill=frob: no such value' run -k 'rmsnorm(fill=frob)'
refused "'M': given twice" run --case 'cast(M=1,M=2)'
refused 'M: a set of values; one case has one' run --case 'cast(M={1,2})'
refused 'expected (axis=value,...)' run --case 'cast(M=1'
refused 'M=: no such value' run --case 'cast(M=)'
refused 'expected axis=value' run --case 'cast(M)'
refused 'the set is not closed' list -k 'cast(M={1)'
# a slip of the hand is no case; sparse views are (huge.sh)
for large in 'rope(M=2147483647)' 'rope(heads=4294967296)' 'context_cast(M=2147483647)' 'linear(K=2147483647)' 'qkv(M=2147483647)' \
    'kv_store(M=2147483647)' 'sf_layout(M=2147483647,ds=56)' 'cast(M=2147483647)' 'rope(M=1000000000001)' \
    'rope(M=99999999999999999999)' 'cast(M=-1000000000001)' 'cast(seed=9223372036854775807)'; do
    refused 'too large' run --backend ref --case "$large"
done
echo 'rope(M=2147483647)' >large.txt
refused 'too large' run --backend ref --suite ./large.txt
echo 'pairs rope(M=2147483647)' >large.txt
refused 'too large' run --backend ref --suite ./large.txt
refused 'utccp is not negative' run --case 'context_cast(utccp=-1)'
# an illegal case names its clause
refused "'rmsnorm(M=4,xs=8)': row strides are multiples of 16 elements (RMS-8)" run --case 'rmsnorm(M=4,xs=8)'
refused '(RMS-9)' run --case 'rmsnorm(M=4,d=0)'
refused '(RMS-12)' run --case 'rmsnorm(M=4,eps=0)'
refused '(SF-4)' run --case 'cast(M=4,d=100,utccp=1)'
refused 'alias needs res=1' run --case 'rmsnorm(M=4,d=128,alias=1)'
refused "legal is 'rmsnorm(M=4,d=128)'" run --case 'rmsnorm(M=4,d=128,alias=1)'
refused "legal is 'kv_store(M=5,norm=0,rot=64,given=1,bad=x-null/no-norm)'" run --case 'kv_store(bad=x-null/no-norm)'
refused 'not refused for that reason' run --case 'linear(bad=weight-n/e2m1)'
refused 'no such form of the call' list -k 'cast(bad=*/frob)'
for bad in 0/2 3/2 1/0 1 a/b 1/2/3 1/2x -1/2 ''; do
    refused "--shard '$bad'" run --shard "$bad"
done
for bad in xml:f.xml junit junit: :f ''; do
    refused "--report '$bad'" run --report "$bad"
done
refused "-j '0'" run -j 0
refused "-j '65'" run -j 65
refused "-j 'two'" run -j two
refused "-j ''" run -j ''
refused "--seed '-1'" run --seed -1
refused "--seed '1x'" run --seed=1x
refused "--timeout '0'" run --timeout 0
refused "--timeout 'x'" run --timeout x
refused "--timeout ''" run --timeout ''
refused "--timeout 'nan'" run --timeout nan
refused "--save 'all'" run --save all
refused '--resume nowhere.jsonl' run --backend ref --resume nowhere.jsonl
refused "--dialect 'frob': no operator has it" run --dialect frob
refused '(CAST-9)' run --case 'cast(M=4,d=128,sf=row,round=0,dialect=sf-floor)'
refused '(RMS-13)' run --case 'rmsnorm(M=4,d=128,out=f32,dialect=hf)'
refused '(SF-6)' run --case 'cast(M=4,d=128,sf=row,ragged=pack)'
refused "'RMS-99': no such clause" spec RMS-99
mkdir -p empty && cd empty || exit 1
refused '--lf: no last run' run --backend ref --lf
cd ..
is 'the refused wrote no journal' "$(ls -d .layercheck empty/.layercheck 2>/dev/null)" ''

# the environment is at fault
exits 3 'no such backend' run --backend frob --case "$a_case"
has 'no such backend' err 'backend frob'
exits 3 'no such plugin' run --backend plugin:./nowhere.so --backend ref --case "$a_case"
has 'no such plugin' err 'plugin:./nowhere.so'
has 'no such plugin: the other backend is judged' out '1 of 1 cases passed'
exits 3 'a report that cannot be written' run --case "$a_case" --backend ref --report json:/nowhere/r.json
has 'a report that cannot be written' err '--report json:/nowhere/r.json'

# a backend for a GPU, on a machine without
if [ ! -e /dev/nvidiactl ]; then
    exits 3 '--require-backend cuda without a GPU' run --require-backend cuda --case "$a_case"
    has '--require-backend cuda without a GPU' err 'cuda'
fi

# ---- nothing ran: 5 ----
exits 5 'an empty filter' run --backend ref -k 'no such text'
exits 5 'an empty filter, dry' run --backend ref -k 'no such text' --dry-run
exits 5 'an empty list' list --suite ci -k 'no such text'
exits 5 'all unsupported' run --backend "plugin:$build/hostile_supports_nothing.so" --case "$a_case"
exits 5 'no kernel for this operator' run rmsnorm --backend "plugin:$build/hostile_fails.so"
exits 5 'no kernel of this dialect' run cast --backend "plugin:$build/hostile_fails.so" --dialect deepgemm
exits 5 'an operator without this dialect' run cast --backend ref --dialect hf

# ---- choosing cases ----
"$program" list --suite smoke | sort >smoke
exits 0 '--dry-run' run --dry-run --backend ref
sort out >dry
ok '--dry-run lists the suite' diff smoke dry
exits 0 '-k TEXT' run --dry-run -k fill=ties
grep -F fill=ties smoke >wanted
sort out >got
ok '-k TEXT' diff wanted got
exits 0 '-k PATTERN' run --dry-run --suite ci -k 'rmsnorm(out=e4m3,fill={brink,ties},M=*)'
"$program" list --suite ci | grep '^rmsnorm' | grep out=e4m3 | grep -E 'fill=(brink|ties)' | sort >wanted
# M=* is the listed values of M, not every value
grep -E 'M=(17|0|1|2|3|4|64|130),' wanted >listed_m
sort out >got
ok '-k PATTERN: some' test -s got
ok '-k PATTERN' diff listed_m got
exits 0 '-k twice' run --dry-run -k fill=ties -k fill=exact
grep -E 'fill=(ties|exact)' smoke >wanted
sort out >got
ok '-k twice is either' diff wanted got
exits 0 'one operator' run cast --dry-run
grep '^cast' smoke >wanted
sort out >got
ok 'one operator' diff wanted got
exits 0 '--seed' run --dry-run --case "$a_case" --seed 7
is '--seed' "$(cat out)" 'cast(M=17,d=128,seed=7)'
for n in 1 2 3 7; do
    : >parts
    for i in $(seq $n); do
        "$program" run --dry-run --shard $i/$n >>parts
    done
    sort parts >got
    ok "--shard I/$n: every case in one part" diff smoke got
done
sed 's/^/--case\n/' smoke | xargs -d '\n' -n 120 "$program" run --dry-run | sort >got
ok 'an id that is printed is read as the same case' diff smoke got

# ---- stopping, last failed ----
cat >four.txt <<'E2'
cast(M={1,3,4,17},d=512,sf=row,fill={normal,ties,exact,mixed})
E2
hostile="plugin:$build/hostile_fails.so"
exits 1 'a run with failures' run --backend "$hostile" --suite ./four.txt --report jsonl:all.jsonl
outcomes all.jsonl | sed -n 's/^fail //p' | sort >failed
is 'failures' "$(wc -l <failed)" 4
exits 0 '--lf --dry-run' run --lf --dry-run --suite ./four.txt
sort out >got
ok '--lf chooses the failures' diff failed got
exits 1 '--lf' run --lf --backend "$hostile" --suite ./four.txt --report jsonl:lf.jsonl
outcomes lf.jsonl | sed -n 's/^fail //p' | sort >got
ok '--lf runs the failures, and they fail again' diff failed got
exits 0 '--lf, repaired' run --lf --backend cpu --suite ./four.txt --report jsonl:lf.jsonl
is '--lf, repaired' "$(outcomes lf.jsonl | cut -d ' ' -f 1 | uniq -c | xargs)" '4 pass'
exits 5 '--lf after a run without failures' run --lf --backend cpu --suite ./four.txt
exits 1 '-x' run -x -j 1 --backend "$hostile" --suite ./four.txt --report jsonl:x.jsonl
is '-x: failures' "$(outcomes x.jsonl | grep -c '^fail')" 1
ok '-x: it stopped' test "$(wc -l <x.jsonl)" -lt 16

# ---- reports ----
exits 1 'four reports' run --backend "$hostile" --backend "plugin:$build/hostile_aborts.so" \
    --backend "plugin:$build/hostile_supports_nothing.so" --suite ./four.txt --report jsonl:r.jsonl --report junit:r.xml \
    --report=json:r.json --report text:r.txt
cp out run.out
ok 'reports are well-formed and agree' python3 - <<'E2'
import collections, json, xml.etree.ElementTree as e

lines = [json.loads(line) for line in open("r.jsonl")]
count = collections.Counter(r["outcome"] for r in lines)
assert len(lines) == 48 and count == {"pass": 24, "fail": 4, "crash": 4, "unsupported": 16}, count
assert len({(r["backend"], r["kernel"], r["case"]) for r in lines}) == 48
s = json.load(open("r.json"))
t = s["totals"]
assert {k: t[k] for k in count} == count and t["cases"] == 48 and s["suite_cases"] == 16, t
assert all(sum(row.get(k, 0) for row in s["rows"].values()) == count[k] for k in count)
assert sum(r.get("elements", 0) for r in lines) == t["elements"] > 0
assert len(s["contract"]) == 64 and s["revision"] and s["command"].startswith("layercheck run --backend")
suite = e.parse("r.xml").getroot().find("testsuite")
cases = suite.findall("testcase")
tags = collections.Counter(c[0].tag if len(c) else "pass" for c in cases)
assert tags == {"pass": 24, "failure": 4, "error": 4, "skipped": 16}, tags
got = {k: int(suite.get(k)) for k in ("tests", "failures", "errors", "skipped")}
assert got == {"tests": 48, "failures": 4, "errors": 4, "skipped": 16}, got
assert sorted(c.get("name") for c in cases) == sorted(r["case"] for r in lines)
text = open("r.txt").read()
assert "24 of 48 cases passed" in text and text.count("FAIL ") == 4 and text.count("CRASH ") == 4, text
E2
has 'the summary on stdout is that of the report' run.out "$(grep 'cases passed' r.txt)"
ok 'the journal of the last run is the jsonl report' diff <(sort .layercheck/last.jsonl) <(sort r.jsonl)
exits 0 'a name that XML and JSON quote' run --backend "plugin:$(cp "$build/accepts_all.so" "a&<b>\".so"; echo "./a&<b>\".so")" \
    --backend ref --case "$a_bad" --dry-run
"$program" run --backend "plugin:./a&<b>\".so" --case "$a_bad" --report junit:q.xml --report json:q.json >out 2>&1
ok 'a name that XML and JSON quote' python3 -c '
import json, xml.etree.ElementTree as e
c = e.parse("q.xml").getroot().find("testsuite").find("testcase")
assert c.get("classname") == "plugin:./a&<b>\".so.accepts_all", c.get("classname")
assert json.load(open("q.json"))["totals"]["fail"] == 1'

# ---- interrupted: 40 cases of 50 ms ----
cat >slow.txt <<'E2'
cast(M=4,d=512,sf=row,seed={1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40})
E2
slow=(run --backend "plugin:$build/slow.so" --suite ./slow.txt -j 2)
"$program" list --suite ./slow.txt | sort >wanted
is 'cases of the slow suite' "$(wc -l <wanted)" 40

# started ARGUMENT..: a run in the background, $pid, which has some verdicts
started() {
    rm -f .layercheck/last.jsonl
    set -m # else a background process ignores SIGINT
    "$program" "$@" >out 2>err </dev/null &
    pid=$!
    set +m
    for _ in $(seq 100); do
        [ "$(cat .layercheck/last.jsonl 2>/dev/null | wc -l)" -lt 4 ] || break
        sleep 0.05
    done
}
started "${slow[@]}"
{
    kill -9 $pid
    wait $pid
} 2>/dev/null
some=$(wc -l <.layercheck/last.jsonl)
ok 'killed in the middle' test "$some" -ge 4 -a "$some" -lt 40
sleep 0.3
left=0
for process in /proc/[0-9]*; do
    grep -qsF "$build/slow.so" "$process/cmdline" && left=$((left + 1))
done
is 'killed: workers left behind' "$left" 0
printf '{"case":"cast(M=4,d=512,sf=row' >>.layercheck/last.jsonl # a line that was cut
exits 0 '--resume' "${slow[@]}" --resume .layercheck/last.jsonl --report jsonl:resumed.jsonl --report json:resumed.json
outcomes resumed.jsonl | sed -n 's/^pass //p' | sort >got
ok '--resume: every verdict once' diff wanted got
is '--resume: the summary counts all' "$(python3 -c 'import json; print(json.load(open("resumed.json"))["totals"]["pass"])')" 40
python3 -c '
import json
for line in open(".layercheck/last.jsonl"):
    try:
        print(json.loads(line)["case"])
    except ValueError:
        pass' | sort >got
ok '--resume: the journal has every verdict once' diff wanted got
exits 0 '--resume of a finished run' "${slow[@]}" --resume .layercheck/last.jsonl --report jsonl:again.jsonl
is '--resume of a finished run: verdicts' "$(wc -l <again.jsonl)" 40

started "${slow[@]}" --report json:int.json
kill -INT $pid
code=0
wait $pid || code=$?
is 'SIGINT: exit code' "$code" 130
ok 'SIGINT: the summary so far' grep -Eq '^[1-9][0-9]* of [1-9][0-9]* cases passed' out
ok 'SIGINT: it was interrupted' test "$(sed -n 's/ of .* cases passed.*//p' out)" -lt 40
ok 'SIGINT: the report is written' python3 -c 'import json; assert json.load(open("int.json"))["totals"]["cases"] < 40'

# ---- a reader that goes away ----
for words in "list --suite ci" "run --backend ref --suite smoke" "run --backend plugin:$build/hostile_fails.so --suite ./four.txt" \
    "run --dry-run --suite ci" "spec"; do
    code=0
    timeout 60 bash -c "\"$program\" $words 2>/dev/null | head -n 1 >/dev/null" || code=$?
    is "$words | head -n 1" "$code" 0
done
echo 'include ./loop.txt' >loop.txt
exits 3 'a suite that includes itself' list --suite ./loop.txt
has 'a suite that includes itself: what is said' err 'does it include itself?'
echo 'include smoke' >one.txt
exits 0 'a suite that includes another' list --suite ./one.txt
is 'a suite that includes another: its cases' "$(wc -l <out)" "$("$program" list --suite smoke | wc -l)"
finish
