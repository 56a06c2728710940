#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kernels that misbehave (tests/plugins/hostile.c) cost their own cases, those with M=3, and no other.
. "$(dirname "$0")/lib.sh"

# M varies first: a case with M=3 has others before and behind it in the same worker.
cat >suite.txt <<'E2'
cast(M={1,3,4,17},d=512,x=f32,sf=row,fill={tiny,specials})
cast(M={1,3,4,17},d=512,x=f32,round=0,sf=row,fill={normal,ties})
E2
"$program" list --suite ./suite.txt >cases
sort cases >wanted
is 'cases of the suite' "$(wc -l <cases)" 16
is 'cases of the suite with M=3' "$(grep -c 'M=3,' cases)" 4

run_kind() { # KIND: its exit code is $code, its verdicts are in verdicts
    code=0
    rm -f verdicts.jsonl
    "$program" run --backend "plugin:$build/hostile_$1.so" --suite ./suite.txt -j 2 --timeout 2 --report jsonl:verdicts.jsonl \
        >out 2>err </dev/null || code=$?
    : >verdicts
    [ ! -e verdicts.jsonl ] || outcomes verdicts.jsonl >verdicts
}

# judged KIND OUTCOME CODE [WORDS]: outcome of the cases with M=3; the others pass.
judged() {
    run_kind "$1"
    cut -d ' ' -f 2 verdicts | sort >seen
    ok "$1: every case has one verdict" diff wanted seen
    is "$1: the cases with M=3" "$(grep 'M=3,' verdicts | cut -d ' ' -f 1 | sort | uniq -c | xargs)" "4 $2"
    is "$1: the other cases" "$(grep -v 'M=3,' verdicts | cut -d ' ' -f 1 | sort | uniq -c | xargs)" '12 pass'
    is "$1: exit code" "$code" "$3"
    [ $# -lt 4 ] || has "$1: what is said" out "$4"
}

judged aborts crash 4 'killed by signal 6'
judged loops timeout 2 'no result after 2 s'
judged exits crash 4 'the process ended with exit status 0 in the middle of the case'
judged writes_far crash 4 'killed by signal 11'
judged writes_before fail 1 'keep: '
judged writes_after fail 1 'keep: '
judged writes_input fail 1 'an input'
judged dies_of_sigfpe crash 4 'killed by signal 8'
judged returns_nan fail 1 'got 0x7f'
judged writes_nothing fail 1 'not written'
judged fails fail 1 'hostile'
judged fails_unterminated fail 1 'xxx'
judged returns_nonsense fail 1 '42'
judged returns_negative fail 1 '-1'
judged refuses_later fail 1 'the same call again'
judged writes_unsupported fail 1 'refusal: '
judged overruns_workspace fail 1 'wrote outside its workspace'
judged trusts_workspace fail 1 'value: '
judged aligned_workspace pass 0
for kind in flushes_to_zero rounds_up traps prints_megabytes closes_files; do
    judged $kind pass 0 '16 of 16 cases passed'
done

run_kind supports_nothing
is 'supports_nothing: verdicts' "$(cut -d ' ' -f 1 verdicts | uniq -c | xargs)" '16 unsupported'
is 'supports_nothing: exit code' "$code" 5

exits 5 'always_empty judged nothing, though M=0 passes' run --backend "plugin:$build/hostile_always_empty.so" -k 'cast(M={0,3,17})'

for kind in wrong_abi wrong_size no_table no_symbol; do
    run_kind $kind
    is "$kind: exit code" "$code" 3
    is "$kind: verdicts" "$(wc -l <verdicts)" 0
done
has 'no_symbol: what is said' err 'does not export lc_plugin_v1'
run_kind wrong_abi
has 'wrong_abi: what is said' err 'ABI'

# Its own output is let through with -v, on stderr: stdout stays the report.
exits 0 'prints_megabytes -v' run --backend "plugin:$build/hostile_prints_megabytes.so" --suite ./suite.txt -j 2 -v
is 'prints_megabytes -v: lines of dots on stdout' "$(grep -c '^\.\.\.' out)" 0
is 'prints_megabytes -v: lines of dots on stderr' "$(grep -c '^\.\.\.' err)" 8192 # 4 cases, 2 runs each, 1024 lines

# One worker, several kernels in a row: nothing that the first leaves on reaches the next.
exits 4 'two backends' run --backend "plugin:$build/hostile_aborts.so" --backend ref cast --suite ./suite.txt --report jsonl:two.jsonl
is 'a backend behind one that crashes' "$(grep -c '"backend":"ref"' two.jsonl)" 16
exits 1 'a mismatch goes before a crash' run --backend "plugin:$build/hostile_aborts.so" \
    --backend "plugin:$build/hostile_fails.so" --suite ./suite.txt

# A kernel that flushes subnormals is judged by what it returned: the judge does not flush with it.
exits 1 'flushes' run --backend "plugin:$build/flushes.so" --case 'rmsnorm(M=17,d=128,out=f32,scale=2e-38)'
ok 'flushes: the f32 code of a flushed element' grep -q 'got 0x[08]0000000 ' out
exits 0 'flushes: the CPU kernel, which is the same' run --backend cpu --case 'rmsnorm(M=17,d=128,out=f32,scale=2e-38)'

# No worker is left behind, not even one that hangs when its parent is killed.
"$program" run --backend "plugin:$build/hostile_loops.so" --suite ./suite.txt -j 1 -k M=3 >out 2>err &
pid=$!
sleep 0.7
{
    kill -9 $pid
    wait $pid
} 2>/dev/null
sleep 0.3
left=0
for process in /proc/[0-9]*; do
    grep -qsF "$build/hostile_" "$process/cmdline" && [ "${process#/proc/}" != $$ ] && left=$((left + 1))
done
is 'workers left behind' "$left" 0
finish
