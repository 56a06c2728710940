#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sh golden.sh BUILD_DIR
# Goldens: made again they are the same bytes; the reference agrees with them; kernels are judged by them; files that were
# changed, cut, damaged or made from another contract are refused in words. What needs h5py is left out, loudly, without it.
set -u
build=$(cd "$1" && pwd) || exit 3
root=$(cd "$(dirname "$0")/../.." && pwd)
program=$build/layercheck
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 3
LC_ALL=C LAYERCHECK_HOME=$root
export LC_ALL LAYERCHECK_HOME
passed=0 failed=0

ok() { # ok WHAT COMMAND..
    what=$1
    shift
    if "$@" >ok.out 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED  $what"
        head -n 5 ok.out
    fi
}

exits() { # exits CODE WHAT ARGUMENT..: of layercheck; its output in `both`
    want=$1 what=$2 got=0
    shift 2
    "$program" "$@" >both 2>&1 || got=$?
    ok "$what: exit code $got, not $want: $(tail -n 2 both)" test "$got" = "$want"
}

at_home() { # the same, with the goldens in home/
    LAYERCHECK_HOME=$work/home
    exits "$@"
    LAYERCHECK_HOME=$root
}

says() { # says WHAT TEXT: `both` has it
    ok "$1: no '$2' in: $(head -n 3 both)" grep -qF -e "$2" both
}

# ---- made again, the same bytes ----
exits 0 'gen' golden gen -o one
exits 0 'gen again' golden gen -o two
for path in "$root"/golden/*.h5; do
    op=$(basename "$path" .h5)
    ok "$op.h5 is reproducible" cmp "one/$op.h5" "two/$op.h5"
    ok "golden/$op.h5 is what the oracle makes of this contract and suite" cmp "one/$op.h5" "$path"
done
ok 'every operator has a golden, nothing else is left behind' test "$(cd one && echo *)" = "$(cd "$root/golden" && echo *.h5)"
ok 'all goldens are below 8 MiB' test "$(cat "$root"/golden/*.h5 | wc -c)" -lt 8388608
exits 0 'export' export --suite golden -o inputs.h5
exits 0 'export again' export --suite golden -o inputs2.h5
ok 'an export is reproducible' cmp inputs.h5 inputs2.h5

# ---- the oracle is independent ----
nm "$build/golden-oracle" >symbols 2>/dev/null
ok 'golden-oracle has symbols' test -s symbols
ok 'golden-oracle has nothing of ref/ or harness/' sh -c '! grep -E " (ref_|fmt_|iv_|rn_|acc_|op_|call_|kase_)" symbols'

# ---- the reference, and kernels ----
exits 0 'golden check' golden check
cases=$(sed -n 's/^golden check: \([0-9]*\) of \1 cases agree.*/\1/p' both)
ok 'golden check looks at a hundred cases' test "${cases:-0}" -ge 100
used=$(sed -n 's/.*hull takes \([0-9.]*\) of the.*/\1/p' both)
ok "the bound is neither passed nor idle: $used" awk -v u="${used:-0}" 'BEGIN { exit !(u > 0.8 && u <= 1) }'
for op in rmsnorm hadamard rope context_cast qkv linear; do # each of them
    exits 0 "golden check $op" golden check $op
    used=$(sed -n 's/.*hull takes \([0-9.]*\) of the.*/\1/p' both)
    ok "$op: the bound is neither passed nor idle: $used" awk -v u="${used:-0}" 'BEGIN { exit !(u > 0.8 && u <= 1) }'
done
exits 3 'golden check of no such operator' golden check nosuch
exits 3 'golden check of no such file' golden check ./nosuch.h5
for backend in ref cpu; do
    exits 0 "run --golden --backend $backend" run --golden --backend "$backend" --report jsonl:one.jsonl
    judged=$(grep -o '"case": *"[^"]*"' one.jsonl | sort -u | wc -l) # some operators have two kernels
    for dialect in hf f32res gemma f32cast deepgemm sf-floor f32-nan reduce-add bias-fused f32 bf16rot simt unfused-bias; do # the others are in one of these
        exits 0 "run --golden --backend $backend --dialect $dialect" run --golden --backend "$backend" --dialect $dialect \
            --report jsonl:one.jsonl
        judged=$((judged + $(grep -o '"case": *"[^"]*"' one.jsonl | sort -u | wc -l)))
    done
    ok "run --golden --backend $backend: $judged of $cases cases, all dialects together" test "$judged" = "$cases"
done
# Right kernels at the ends of their bounds: an oracle's hull is no narrower than the contract's.
exits 0 'run --golden --backend conforming' run --golden --backend conforming
says 'run --golden --backend conforming' '0 unexplained'
for dialect in hf f32res gemma f32cast deepgemm sf-floor f32-nan reduce-add bias-fused f32 bf16rot simt unfused-bias; do
    exits 0 "run --golden --backend conforming --dialect $dialect" run --golden --backend conforming --dialect $dialect
done
exits 0 'a golden is a file to judge' judge "$root"/golden/*.h5
says 'judge' "$cases of $cases cases passed"

# ---- foreign outputs ----
exits 0 'export one' export 'cast(M=2,d=128)' 'rmsnorm(M=3,d=128,res=1,out=e4m3,bf16=1)' -o mine.h5
exits 1 'outputs that nobody filled' judge mine.h5
says 'outputs that nobody filled' 'judge mine.h5 --case'
exits 3 'export without a case' export -o x.h5
exits 3 'export without a file' export 'cast(M=2,d=128)'
exits 3 'export of a refusal' export 'cast(M=3,d=128,utccp=1,bad=x-null)' -o x.h5
exits 3 'export to no such folder' export 'cast(M=2,d=128)' -o no/x.h5
ok 'no part of a file is left' test ! -e x.h5
exits 3 'judge without a file' judge
exits 3 'judge of no such file' judge nosuch.h5

# ---- cut files ----
size=$(wc -c <one/rmsnorm.h5)
for part in 0 100 4096 $((size / 2)) $((size - 1)); do
    head -c "$part" one/rmsnorm.h5 >cut.h5
    for command in 'golden check ./cut.h5' 'judge cut.h5'; do
        # shellcheck disable=SC2086
        exits 3 "$command, cut at $part" $command
        says "$command, cut at $part" 'cut.h5: no HDF5 file, or it is cut or damaged'
    done
done
mkdir -p home/golden
cp cut.h5 home/golden/rmsnorm.h5
at_home 3 'run --golden of a cut file' run rmsnorm --golden --backend ref

# ---- changed files ----
python=
for p in /usr/bin/python3 python3; do
    if [ -z "$python" ] && "$p" -c 'import h5py' 2>/dev/null; then python=$p; fi
done
if [ -z "$python" ]; then
    echo "SKIP    no Python with h5py here (python3-h5py): changed files are not tried"
    echo "$passed passed, $failed failed"
    [ $failed -eq 0 ]
    exit
fi

norm='rmsnorm(M=3,d=128,res=1,out=e4m3,bf16=1)'
edit() { # edit STATEMENTS: of Python, on a copy of the golden; c is the group of $norm
    cp one/rmsnorm.h5 bad.h5
    "$python" -c "
import h5py, numpy as np
with h5py.File('bad.h5', 'r+') as f:
    c = f['$norm']
    $1
" || ok "edit: $1" false
}

changed() { # changed WHAT STATEMENTS CHECK_EXIT CHECK_TEXT JUDGE_EXIT JUDGE_TEXT
    edit "$2"
    exits "$3" "golden check, $1" golden check ./bad.h5
    says "golden check, $1" "$4"
    exits "$5" "judge, $1" judge bad.h5
    says "judge, $1" "$6"
}

changed 'a bit of a code' "c['out'][1, 5] ^= 1" 1 "$norm: out[1,5]" 1 'out[1,5]'
changed 'a bit of a scale' "c['sf'][0, 1] ^= 1" 1 "$norm: sf[1,0]" 1 'sf[1,0]'
changed 'a bit of a copy' "c['residual_out'][2, 7] ^= 1" 1 "$norm: residual_out[2,7]" 1 'residual_out[2,7]'
changed 'a bit of the bf16 output' "c['bf16'][2, 7] ^= 0x100" 1 "$norm: bf16[2,7]" 1 'bf16[2,7]'
changed 'a byte that nobody owns' "c['sf'][0, 3] = 1" 1 'which no element owns, is 0x01' 0 'cases passed'
changed 'an input' "c['x'][0, 0] ^= 0x8000" 1 "$norm: out[0," 1 'out[0,'
changed 'a y' "c['y.v'][1, 1] *= 1 + 2.0**-49" 1 'y[1,1]' 0 'cases passed'
changed 'a wide hull' "c['y.hi'][1, 1] = 1e9" 1 'not inside' 0 'cases passed'
changed 'no interval' "c['y.lo'][1, 1] = 1e9" 3 'y[1,1]: y.lo <= y.v <= y.hi' 3 'y[1,1]: y.lo <= y.v <= y.hi'
changed 'no y' "del c['y.v'], c['y.lo'], c['y.hi']" 1 'no y.v' 0 'cases passed'
changed 'a missing output' "del c['out']" 3 'out: no such dataset' 3 'out: no such dataset'
changed 'a missing input' "del c['x']" 3 'x: no such dataset' 3 'x: no such dataset'
changed 'another element type' "d = c['out'][:]; del c['out']; c['out'] = d.astype('i2')" 3 'out: attribute dtype' 3 'out: attribute dtype'
changed 'another element type, named right' "d = c['x']; a = dict(d.attrs); v = d[:]; del c['x']; c['x'] = v.astype('i2'); c['x'].attrs.update(a)" \
    3 'x: elements of another type' 3 'x: elements of another type'
changed 'another shape' "c['x'].attrs['shape'] = [3, 127]" 3 'x: attributes shape and stride are not (3, 128)' 3 'x: attributes shape'
changed 'another storage' "d = c['x']; a = dict(d.attrs); v = d[:2]; del c['x']; c['x'] = v; c['x'].attrs.update(a)" \
    3 'x: storage of (2, 128) elements, the case has (3, 128)' 3 'x: storage of (2, 128)'
changed 'another parameter' "c.attrs['eps'] = 1e-5" 3 'attribute eps is 1e-05, the case has' 3 'attribute eps is 1e-05'
changed 'a parameter that is no number' "c.attrs['residual'] = 'yes'" 3 'attribute residual is not one integer' 3 'attribute residual'
changed 'another format' "f.attrs['format'] = 'layercheck-2'" 3 'bad.h5: format layercheck-2; this build reads layercheck-1' 3 'format'
changed 'no format' "del f.attrs['format']" 3 'no attribute format' 3 'no attribute format'
changed 'another contract' "f.attrs['contract'] = '0' * 64" 3 'another contract version does not compare' 3 'another contract version'
changed 'another case' "c.attrs['case'] = 'cast(M=2,d=128)'" 3 'not a group whose attribute case is its name' 3 'attribute case'
changed 'a case that is none' "g = f.create_group('rmsnorm(M=x)'); g.attrs['case'] = 'rmsnorm(M=x)'" 3 'M=x: no such value' 3 'M=x'
changed 'another hash' "c.attrs['content_sha256'] = '0' * 64" 1 'changed since it was made' 0 'cases passed'
changed 'data of another file' "del c['x']; c['x'] = h5py.ExternalLink('one/rmsnorm.h5', '$norm/x')" \
    3 'x: no such dataset' 3 'x: no such dataset'
changed 'a virtual dataset' "d = c['x']; a = dict(d.attrs); l = h5py.VirtualLayout(d.shape, d.dtype); l[:] = h5py.VirtualSource('one/rmsnorm.h5', '$norm/x', d.shape); del c['x']; c.create_virtual_dataset('x', l); c['x'].attrs.update(a)" \
    3 'x: its data lies in another file' 3 'x: its data lies in another file'
alias='rmsnorm(M=3,d=64,res=1,alias=1)'
changed 'an alias that holds something else' "f['$alias/residual'][0, 0] ^= 1" 3 'residual: is x itself' 3 'residual: is x itself'

cp one/rmsnorm.h5 damaged.h5 # a byte of a compressed chunk
at=$("$python" -c "
import h5py
print(h5py.File('one/rmsnorm.h5')['$norm/x'].id.get_chunk_info(0).byte_offset + 20)")
byte=$(dd if=damaged.h5 bs=1 skip="$at" count=1 2>/dev/null | od -An -tu1 | tr -d ' ')
# shellcheck disable=SC2059
printf "\\$(printf %o $(((byte + 1) % 256)))" | dd of=damaged.h5 bs=1 seek="$at" conv=notrunc 2>/dev/null
exits 3 'golden check of a damaged file' golden check ./damaged.h5
says 'golden check of a damaged file' 'x: the data cannot be read: cut or damaged (checksum)'
cp damaged.h5 home/golden/rmsnorm.h5
at_home 3 'run --golden of a damaged file' run rmsnorm --golden --backend ref

# docs/format.md's example: what another framework fills in
exits 0 'export for h5py' export "$norm" 'rmsnorm(M=3,d=64,res=1,bf16=1,out=f32)' -o mine.h5
"$python" - <<'PYTHON'
import h5py
with h5py.File("mine.h5", "r+") as mine, h5py.File("one/rmsnorm.h5") as golden:
    for name, case in mine.items():
        for tensor, data in case.items():
            if data.attrs["dir"] in ("out", b"out"):
                data[...] = golden[name][tensor][...]
PYTHON
exits 0 'outputs that h5py filled' judge mine.h5 --report junit:mine.xml
says 'outputs that h5py filled' '2 of 2 cases passed'
ok 'a report of it' grep -q 'failures="0"' mine.xml
sed -n '/^    import h5py/,/^$/p' "$root/docs/format.md" | sed 's/^    //' >example.py
ok 'docs/format.md has its example' test "$(grep -c . example.py)" -ge 5
exits 0 'export for the example' export 'rmsnorm(M=4,d=64)' -o F.h5
ok 'docs/format.md: the example runs' "$python" example.py
exits 0 'docs/format.md: the example is right' judge F.h5

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
