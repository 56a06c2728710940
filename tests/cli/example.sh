#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The one cc line of docs/plugins.md, out of tree with layercheck.h alone, and what the two examples are judged to be.
. "$(dirname "$0")/lib.sh"

mkdir -p include tests/plugins
cp "$source/include/layercheck.h" include/
cp "$source"/tests/plugins/example_*.c tests/plugins/
line=$(grep -m 1 '^ *cc -shared' "$source/docs/plugins.md" | sed 's/^ *//')
ok 'docs/plugins.md has its cc line' test -n "$line"
has 'the cc line is about example_right.c' - 'example_right.c' <<<"$line"
ok "builds: $line" bash -c "$line"
ok 'mine.so is there' test -e mine.so
is 'exports' "$(nm -D --defined-only mine.so | awk '{ print $3 }')" lc_plugin_v1

exits 0 'example_right' run rmsnorm --backend plugin:./mine.so --suite smoke --report json:right.json
is 'example_right: outcomes' "$(python3 -c '
import json
t = json.load(open("right.json"))["totals"]
print(t.get("pass", 0) > 0, t.get("unsupported", 0) > 0, t["cases"] - t.get("pass", 0) - t.get("unsupported", 0))')" 'True True 0'

ok 'example_wrong builds' bash -c "${line/example_right/example_wrong}"
exits 1 'example_wrong' run rmsnorm --backend plugin:./mine.so --suite smoke
has 'example_wrong: a failing case' out 'FAIL    plugin:./mine.so/mine_wrong rmsnorm('
ok 'example_wrong: the failing line names its clause' grep -Eq 'value: out\[.*unexplained \(RMS-[3-6], 18 u\)' out
case_id=$(grep -m 1 '^FAIL' out | sed 's/^FAIL *[^ ]* //')
rerun=$(grep -m 1 'rerun: layercheck' out | sed 's/.*rerun: layercheck //')
has 'the line to rerun it has the case' - "$case_id" <<<"$rerun"
eval "exits 1 'rerun' $rerun"
has 'rerun: the same case fails' out "$case_id"
is 'rerun: one case' "$(grep -c '^FAIL' out)" 1
has 'rerun -v: a histogram' out 'ulp  |-4:'
finish
