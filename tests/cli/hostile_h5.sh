#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Files that make the HDF5 library crash, hang or eat memory cost the process that reads them, and no other: golden check, judge
# and run --golden say so, with exit code 4 or 2, write nothing of such a file, and go on with the next case.
. "$(dirname "$0")/lib.sh"
"$program" export 'hadamard(M=1,n=4)' 'hadamard(M=3,n=4)' 'hadamard(M=5,n=4)' -o three.h5 >out || exit 3
hash=$("$program" --version | sed 's/.*contract //')
mkdir -p home/golden
cp three.h5 home/golden/hadamard.h5

library() { # HOW CODE WHAT ARGUMENT..: with the library that does HOW
    local how=$1 want=$2 what=$3 got=0
    shift 3
    rm -f r.json
    HOSTILE_H5=$how LD_PRELOAD=$build/hostile_h5.so LAYERCHECK_HOME=$work/home "$program" "$@" --timeout 1 >out 2>err </dev/null ||
        got=$?
    is "$how, $what: exit code" "$got" "$want"
}

for command in 'judge three.h5' 'golden check ./three.h5' 'run hadamard --golden --backend ref'; do
    file=three.h5
    [ "${command%% *}" != run ] || file=$work/home/golden/hadamard.h5
    report=()
    [ "${command%% *}" = golden ] || report=(--report json:r.json)
    # shellcheck disable=SC2086
    for how in crash hang; do
        library open-$how $([ $how = crash ] && echo 4 || echo 2) "$command" $command "${report[@]}"
        has "open-$how, $command" err "$file: the process that read it: "
        has "open-$how, $command" err "$([ $how = crash ] && echo 'killed by signal 11' || echo 'no answer; it was killed')"
        case $command in
        judge*) ok "open-$how, $command: no report" test ! -e r.json ;;
        esac
    done
    # Nobody filled the outputs: judge and golden check find the three cases wrong; run --golden has the inputs alone.
    wrong=1
    [ "${command%% *}" != run ] || wrong=0
    # shellcheck disable=SC2086
    library none $wrong "$command" $command
    is "none, $command: cases that fail" "$(grep -c '^FAIL.*hadamard(M=[135],' out)" $((3 * wrong))
    # shellcheck disable=SC2086
    for how in crash hang; do
        code=1 # a mismatch goes before a crash
        [ $wrong = 1 ] || code=$([ $how = crash ] && echo 4 || echo 2)
        library read-$how $code "$command" $command
        is "read-$how, $command: the case that it costs" "$(grep -c '^\(CRASH\|TIMEOUT\) .*hadamard(M=3,n=4)' out)" 1
        is "read-$how, $command: the others" "$(grep -c '^FAIL.*hadamard(M=[15],' out)" $((2 * wrong))
    done
done
library read-crash 4 'judge, one case' judge three.h5 --case 'hadamard(M=3,n=4)' --report json:r.json
has 'judge, one case' out 'killed by signal 11'
has 'judge, one case: a crash is a result' r.json '"crash": 1'
library open-crash 4 'judge, two files' judge three.h5 three.h5
"$program" export 'hadamard(M=1,n=4)' -o one.h5 >out
library read-crash 1 'judge, a file behind one that crashes' judge three.h5 one.h5
is 'judge, a file behind one that crashes: verdicts' "$(grep -c '^FAIL\|^CRASH' out)" 4
library read-hang 2 'judge, one case' judge three.h5 --case 'hadamard(M=3,n=4)'
has 'judge, one case' out 'no result after 1 s'

# Files that fuzzing found: what they do to this machine's library, it does to the reader.
deaths=0
for file in "$source"/tests/fuzz/corpus/h5-library/*; do
    name=$(basename "$file")
    sed "s/c\{64\}/$hash/" "$file" >"$name.h5"
    for command in judge 'golden check'; do
        got=0
        # shellcheck disable=SC2086
        "$program" $command "./$name.h5" --timeout 2 >out 2>err </dev/null || got=$?
        ok "$name, $command: exit code $got, not 2, 3 or 4" [ "$got" -ge 2 ] && [ "$got" -le 4 ]
        cat out err >both
        has "$name, $command: the file is named" both "$name.h5"
        [ "$got" = 3 ] || deaths=$((deaths + 1))
    done
done
echo "$deaths of 8 readers died of files that fuzzing found"
finish
