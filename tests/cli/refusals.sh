#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every row of the refusal tables (ERR-1) is refused by ref and cpu, and a kernel that accepts everything fails every one.
. "$(dirname "$0")/lib.sh"

for op in $("$program" list | sed '/^$/,$d' | cut -d ' ' -f 1); do
    # all bad values that `list` shows, less "-"
    listed=$("$program" list $op | sed -n 's/^  axis     bad .*: //p' | tr '|' '\n' | grep -vcx -e '-')
    in_source=$(cat "$source/harness/ops/$op.c" "$source/harness/ops/${op}_bads.c" 2>/dev/null | sed -n '/bads\[\] = {/,/^};/p' | grep -c '^    { "')
    ok "$op: has refusals" test "$listed" -gt 20
    is "$op: refusals listed" "$listed" "$in_source"
    # smoke has each, ci each in every form of the call in which the reference refuses it
    "$program" list $op | sed -n 's/^  form     \([^ ]*\) .*/\1/p' >forms.txt
    ok "$op: has forms" test -s forms.txt
    { echo "$op(bad=*)" && sed "s,.*,$op(bad=*/&)," forms.txt; } >bad.txt
    is "$op: refusals in smoke" "$("$program" list $op --suite smoke -k bad= | sed 's/.*bad=\([^,)]*\).*/\1/' | sort -u | wc -l)" "$listed"
    "$program" list $op --suite ./bad.txt -k bad= >all.txt
    "$program" list $op --suite ci -k bad= >ci.txt
    is "$op: refusals that ci lacks" "$(grep -vxFf ci.txt all.txt)" ''
    is "$op: in every form" "$(grep -o 'bad=[^,)]*/[^,)]*' all.txt | sed 's,.*/,,' | sort -u)" "$(sort forms.txt)"
    listed=$(wc -l <all.txt)
    for backend in ref cpu; do
        exits 0 "$op $backend" run $op --backend $backend --suite ./bad.txt -k bad= --report junit:r.xml --report jsonl:r.jsonl
        kernels=$(python3 -c 'import json; print(len({json.loads(line)["kernel"] for line in open("r.jsonl")}))')
        is "$op $backend: passed" "$(outcomes r.jsonl | grep -c '^pass ')" "$((listed * kernels))"
        ok "$op $backend: junit agrees" python3 -c '
import sys, xml.etree.ElementTree as e
s = e.parse("r.xml").getroot().find("testsuite")
sys.exit(not (int(s.get("tests")) == int(sys.argv[1]) == len(s.findall("testcase")) and s.get("failures") == s.get("errors") == s.get("skipped") == "0"))' "$((listed * kernels))"
    done
    exits 1 "$op accepts_all" run $op --backend "plugin:$build/accepts_all.so" --suite ./bad.txt -k bad= --report jsonl:r.jsonl
    is "$op accepts_all: failed by check refusal" "$(python3 -c '
import json
print(sum(r["outcome"] == "fail" and any(f["check"] == "refusal" for f in r["findings"]) for r in map(json.loads, open("r.jsonl"))))')" \
        "$listed"
done

# ERR-2: ref and cpu are checked builds, and say so
for op in rope context_cast; do
    for backend in ref cpu; do
        exits 0 "$op $backend: past=1" run $op --backend $backend --suite ci -k past=1 --report jsonl:r.jsonl
        ok "$op $backend: positions outside the table are refused" python3 -c '
import json
r = [json.loads(line) for line in open("r.jsonl")]
assert len(r) > 3 and all(x["outcome"] == "pass" and x["msg"].startswith("positions: positions[") and "ERR-2" in x["msg"] for x in r), r[:3]'
    done
done
# a kernel that claims LC_CHECKS_VALUES refuses them in any call
for op in rope context_cast qkv kv_store; do
    exits 1 "$op accepts_all: lost values" run $op --backend "plugin:$build/accepts_all.so" --suite ci -k past= -k lost=pos -k lost=slot -k lost=twice --report jsonl:r.jsonl
    ok "$op accepts_all: lost values, failed by check refusal" python3 -c '
import json
r = [json.loads(line) for line in open("r.jsonl")]
assert len(r) > 3 and all(any(f["check"] == "refusal" and "LC_CHECKS_VALUES" in f.get("words", "") for f in x["findings"]) for x in r), r[:3]'
done
finish
