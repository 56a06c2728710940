#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Disks that are full, trees that may not be written, outputs that nobody reads: one line names what could not be written and why,
# the exit code is 3, no part of a file stands under its name, and no verdict is lost.
. "$(dirname "$0")/lib.sh"
a_case='cast(M=3,d=128,x=f32)'
few=(--case "$a_case" --backend ref)
hostile=plugin:$build/hostile_writes_nothing.so
full='No space left on device'

# full BYTES CODE WHAT ARGUMENT..: on a disk that is full behind BYTES
full() {
    local bytes=$1 want=$2 what=$3 got=0
    shift 3
    FULL_DISK_AFTER=$bytes LD_PRELOAD=$build/full_disk.so "$program" "$@" >out 2>err </dev/null || got=$?
    is "$what, full after $bytes: exit code" "$got" "$want"
}

# one_line WHAT TEXT..: stderr is one line, and has these.
one_line() {
    local what=$1 text
    shift
    is "$what: lines on stderr" "$(wc -l <err)" 1
    for text; do has "$what" err "$text"; done
}

nothing_left() { # WHAT FILE..: no temporary; the files are as they were
    local what=$1 file
    shift
    is "$what: temporaries" "$(find . -name '*.tmp' -o -name '*.in' | xargs)" ''
    for file; do is "$what: $file" "$(cat "$file" 2>/dev/null)" before; done
}

ok 'the preloaded disk is full' bash -c "! FULL_DISK_AFTER=3 LD_PRELOAD=$build/full_disk.so dd if=/dev/zero of=zero bs=10 count=1"
is 'it is full behind its last byte' "$(wc -c <zero)" 3

# ---- reports ----
for kind in json jsonl text junit; do
    for bytes in 0 100; do
        echo before >report
        full $bytes 3 "run, $kind" run "${few[@]}" --report $kind:report
        one_line "run, $kind" "--report $kind:report: $full"
        has "run, $kind: the summary" out '1 of 1 cases passed'
        nothing_left "run, $kind" report
        rm report
        full $bytes 3 "run, new $kind" run "${few[@]}" --report $kind:report
        ok "run, new $kind: no file" test ! -e report
    done
    full 1000000 0 "run, $kind, room" run "${few[@]}" --report $kind:report
    ok "run, $kind, room" test -s report
    exits 3 "/dev/full, $kind" run "${few[@]}" --report $kind:/dev/full
    one_line "/dev/full, $kind" "--report $kind:/dev/full: $full"
    has "/dev/full, $kind: the summary" out '1 of 1 cases passed'
done
ln -s linked.json link.json
echo before >linked.json
exits 0 'a report behind a link' run "${few[@]}" --report json:link.json
ok 'the link stays one' test -L link.json
has 'and its file has the report' linked.json '"totals"'
exits 0 'a report on standard output' run "${few[@]}" --report jsonl:/dev/stdout
has 'a report on standard output' out '"outcome":"pass"'
exits 3 'a report in no folder' run "${few[@]}" --report json:nosuch/r.json
one_line 'a report in no folder' '--report json:nosuch/r.json: No such file or directory'
exits 3 'a failing run keeps its verdict' run --backend "$hostile" --case "$a_case" --report json:/dev/full
has 'a failing run keeps its verdict' out FAIL
has 'a failing run keeps its verdict' out '0 of 1 cases passed'

# ---- everything else that is written ----
for bytes in 0 100 3000; do
    echo before >x.h5
    full $bytes 3 export export "$a_case" -o x.h5
    one_line export "x.h5: $full"
    nothing_left export x.h5
    echo before >b.json
    [ $bytes = 3000 ] || {
        full $bytes 3 'baseline save' baseline save "${few[@]}" -o b.json
        one_line 'baseline save' "-o b.json: $full"
        nothing_left 'baseline save' b.json
    }
    echo before >failed.h5
    full $bytes 3 'run --save failed' run --backend "$hostile" --case "$a_case" --save failed
    one_line 'run --save failed' "failed.h5: $full"
    has 'run --save failed: the summary' out '0 of 1 cases passed'
    nothing_left 'run --save failed' failed.h5
done
exits 0 'export, room' export "$a_case" -o x.h5
for bytes in 0 100; do
    echo before >j.json
    full $bytes 3 judge judge x.h5 --report json:j.json
    one_line judge "--report json:j.json: $full"
    has 'judge: the summary' out '0 of 1 cases passed'
    nothing_left judge j.json
    full $bytes 3 determinism determinism repeat "${few[@]}" --report text:j.json
    one_line determinism "--report text:j.json: $full"
    has 'determinism: the summary' out '1 cells: 1 same'
    nothing_left determinism j.json
    full $bytes 3 selftest selftest -k cast_zero_code --report json:j.json
    one_line selftest "--report json:j.json: $full"
    has 'selftest: the summary' out 'killed as foretold'
    nothing_left selftest j.json
done
exits 3 'export to /dev/full' export "$a_case" -o /dev/full
one_line 'export to /dev/full' "/dev/full: $full"
exits 3 'selftest, another kind' selftest --report text:t
has 'selftest, another kind' err 'selftest writes json:FILE'
if [ -x "$build/golden-oracle" ]; then
    mkdir gold
    for bytes in 0 3000; do # the inputs have no room; the inputs do, what the oracle makes of them does not (another process)
        echo before >gold/cast.h5
        full $bytes 3 'golden gen' golden gen --case "$a_case" -o gold
        has 'golden gen' err "$full"
        has 'golden gen' err gold/cast.h5
        nothing_left 'golden gen' gold/cast.h5
    done
fi

# ---- the journal: a verdict a line, with files of at most 2 KiB ----
"$program" list cast --suite smoke | head -n 12 >suite.txt
rm -rf .layercheck
got=0
(ulimit -f 2 && "$program" run --backend ref --suite ./suite.txt >out 2>err) || got=$?
is 'a journal that may not grow: exit code' $got 3
one_line 'a journal that may not grow' '.layercheck/last.jsonl: File too large'
has 'a journal that may not grow: the summary' out '12 of 12 cases passed'
cp .layercheck/last.jsonl cut.jsonl
exits 0 'and it is resumed' run --backend ref --suite ./suite.txt --resume cut.jsonl
has 'and it is resumed' out '12 of 12 cases passed'
got=0
(ulimit -f 1 && "$program" run --backend ref --suite ./suite.txt --report jsonl:r.jsonl >out 2>err) || got=$?
is 'a report that may not grow: exit code' $got 3
has 'a report that may not grow' err '--report jsonl:r.jsonl: File too large'
ok 'a report that may not grow: no file' test ! -e r.jsonl
nothing_left 'a report that may not grow'
exits 3 '--resume of a device' run "${few[@]}" --resume /dev/full
one_line '--resume of a device' '--resume /dev/full: no regular file'
got=0
(ulimit -f 1 && "$program" export 'cast(M=64,d=512)' -o big.h5 >out 2>err) || got=$?
is 'a file of cases that may not grow: exit code' $got 3
one_line 'a file of cases that may not grow' 'big.h5: ' 'File too large'
ok 'a file of cases that may not grow: no file' test ! -e big.h5

# ---- standard output ----
for command in --help 'list' 'spec RMS-3' "run ${few[*]}" 'judge x.h5' 'golden check cast'; do
    got=0
    # shellcheck disable=SC2086
    "$program" $command >/dev/full 2>err || got=$?
    is "$command to a full disk: exit code" $got 3
    has "$command to a full disk" err "standard output: $full"
done
"$program" list --suite full 2>err | head -n 1 >out
is 'list, nobody reads: exit code' "${PIPESTATUS[0]}" 141
is 'list, nobody reads: what is said' "$(cat err)" ''
rm -f report
{
    "$program" run "${few[@]}" --report json:report 2>err
    echo $? >code
} | true
is 'run, nobody reads: exit code' "$(cat code)" 3
one_line 'run, nobody reads' 'standard output: Broken pipe'
has 'run, nobody reads: its report' report '"totals"'
got=0
"$program" run "${few[@]}" --report json:report >&- 2>err || got=$?
is 'run, standard output closed: exit code' $got 3
has 'run, standard output closed' err 'standard output: Bad file descriptor'
is 'run, standard output closed: the journal has verdicts alone' "$(grep -vc '^{"case"' .layercheck/last.jsonl)" 0
got=0
"$program" run "${few[@]}" <&- >out 2>&- || got=$?
is 'run, no standard input, no standard error: exit code' $got 0

# ---- a small file system, where one may be mounted ----
cat >small.sh <<'EOF'
mount -t tmpfs -o size=16k none small || exit 77
cd small || exit 77
"$1" export 'cast(M=64,d=512)' -o x.h5 >../out 2>../err
echo "code $?"
ls
EOF
mkdir small
got=0
unshare -rm bash small.sh "$program" >small.out 2>/dev/null || got=$?
if [ $got = 77 ] || ! grep -q '^code ' small.out; then
    echo 'SKIP    no file system may be mounted here: the preloaded full disk stands for it'
else
    is 'export to a full file system: exit code, and what is left' "$(xargs <small.out)" 'code 3'
    one_line 'export to a full file system' "x.h5: $full"
fi

# ---- a tree that may not be written, and a user who is not root ----
mkdir -p tree/build tree/harness
cp "$program" "$build"/lc_*.so tree/build/
cp -r "$source/golden" tree/
cp -r "$source/harness/suites" tree/harness/
chmod -R a+rX,a-w tree
chmod a+rx "$work"
as=()
if [ "$(id -u)" = 0 ]; then
    if command -v setpriv >/dev/null; then
        as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    else
        as=(su -s /bin/sh nobody -c 'exec "$0" "$@"')
    fi
fi
reads() { # CODE WHAT ARGUMENT..: as a user who may write nothing
    local want=$1 what=$2 got=0
    shift 2
    (cd tree && LAYERCHECK_HOME=$work/tree "${as[@]}" ./build/layercheck "$@") >out 2>err </dev/null || got=$?
    cat err out >both
    [ "$got" = "$want" ] && pass || fail "$what: exit code $got, want $want" both
}
if (cd tree && "${as[@]}" sh -c ': >written') 2>/dev/null || ! (cd tree && "${as[@]}" test -x build/layercheck); then
    echo 'SKIP    no user here who may read a tree and not write it'
    fail 'a tree that may not be written was not tried'
else
    before=$(find tree | sort | cksum)
    reads 0 'read-only: list' list --suite ci
    reads 0 'read-only: run' run hadamard --backend cpu
    is 'read-only: run says nothing of it' "$(cat err)" ''
    reads 0 'read-only: golden check' golden check
    reads 0 'read-only: run --golden' run hadamard --golden --backend ref
    reads 0 'read-only: selftest' selftest hadamard --backend mutants
    reads 0 'read-only: determinism' determinism repeat "${few[@]}"
    reads 0 'read-only: spec' spec RMS-3
    reads 0 'read-only: judge' judge golden/hadamard.h5
    reads 3 'read-only: a report' run "${few[@]}" --report json:r.json
    one_line 'read-only: a report' '--report json:r.json: Permission denied'
    reads 3 'read-only: export' export "$a_case" -o x.h5
    one_line 'read-only: export' 'x.h5: Permission denied'
    reads 3 'read-only: baseline save' baseline save "${few[@]}" -o b.json
    one_line 'read-only: baseline save' '-o b.json: Permission denied'
    reads 3 'read-only: --resume' run "${few[@]}" --resume golden/hadamard.h5
    is 'read-only: nothing was written' "$(find tree | sort | cksum)" "$before"
fi
chmod -R u+w tree
finish
