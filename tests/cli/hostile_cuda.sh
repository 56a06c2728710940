#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kernels that take the GPU down (tests/plugins/hostile_cuda.cu) cost their own cases, those with M=3, and no other. Needs a GPU:
# ci/gpu.sh runs it.
. "$(dirname "$0")/lib.sh"

cat >suite.txt <<'E2'
cast(M={1,3,4,17},d=512,fill={normal,mixed})
E2
"$program" list --suite ./suite.txt | sort >wanted
is 'cases of the suite' "$(wc -l <wanted)" 8

# judged KIND OUTCOME CODE: outcome of the cases with M=3; the others pass.
judged() {
    code=0
    "$program" run --backend "plugin:$build/hostile_cuda_$1.so" --suite ./suite.txt -j 2 --timeout 5 --report jsonl:verdicts.jsonl \
        >out 2>err </dev/null || code=$?
    outcomes verdicts.jsonl >verdicts
    cut -d ' ' -f 2 verdicts | sort >seen
    ok "$1: every case has one verdict" diff wanted seen
    is "$1: the cases with M=3" "$(grep 'M=3,' verdicts | cut -d ' ' -f 1 | sort | uniq -c | xargs)" "2 $2"
    is "$1: the other cases" "$(grep -v 'M=3,' verdicts | cut -d ' ' -f 1 | sort | uniq -c | xargs)" '6 pass'
    is "$1: exit code" "$code" "$3"
}

judged writes_far crash 4
judged traps crash 4
judged writes_before fail 1
judged loops timeout 2
finish
