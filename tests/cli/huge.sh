#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Cases whose offsets pass 2^32 elements (R20): every strided operand has some, they pass in little memory, and where there is no
# room they say so.
. "$(dirname "$0")/lib.sh"
export MALLOC_PERTURB_=77 # nobody mallocs a whole view: that would write it all

"$program" list --suite ci | grep -E '=21474836[0-9]{2}' >huge.txt
ok 'ci has them' test "$(wc -l <huge.txt)" -ge 25
# each axis whose name says "stride exceeds" of each operator
"$program" list --suite ci | sed 's/(.*//' | sort -u >ops.txt
while read -r op; do
    "$program" list "$op" | grep -oE '^ +axis +[a-z]+ .*(stride exceeds|the same of|strides exceed)' | awk '{ print $2 }' | while read -r axis; do
        echo "$op $axis"
    done
done <ops.txt >strides.txt
ok 'operators have strides' test "$(wc -l <strides.txt)" -ge 10
while read -r op axis; do
    ok "$op: $axis in a case of its own" grep -qE "^$op\(.*\b$axis=21474836[0-9]{2}[,)]" huge.txt
done <strides.txt

# most CODE MIB WHAT ARGUMENT..: layercheck exits so, and neither it nor a worker of it ever has that much memory
most() {
    local code=$1 mib=$2 what=$3
    shift 3
    ok "$what" python3 -c '
import resource, subprocess, sys
code = subprocess.run(sys.argv[3:], stdout=open("out", "w")).returncode
mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024  # of a child, or a child of a child
assert code == int(sys.argv[1]), code
assert 1 < mib < float(sys.argv[2]), "%.0f MiB" % mib' "$code" "$mib" "$program" "$@"
}
for backend in cpu ref; do
    most 0 256 "$backend: all of them" run --backend $backend --suite ./huge.txt --report json:$backend.json
    is "$backend: passed" "$(python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
print(r["suite_cases"] if r["totals"].get("pass") == r["totals"]["cases"] else r["totals"])' $backend.json)" "$(wc -l <huge.txt)"
done
most 0 256 'conforming kernels' run --backend conforming --case 'rmsnorm(M=3,d=128,res=1,ros=2147483648)' \
    --case 'cast(M=3,d=128,xs=2147483648)' --case 'hadamard(M=3,n=128,inplace=1,xs=2147483649)'
for slots in perm skip from1; do # the rows of a pool are where the slots say
    most 0 256 "a pool past 2^32 bytes, slots=$slots" run --backend cpu --case "kv_store(M=5,page=128,pages=140000,slots=$slots,had=0)"
done
most 0 256 'under perturbations' determinism --backend cpu --case 'rmsnorm(M=3,d=128,res=1,os=2147483648)' \
    --case 'hadamard(rank=3,B=3,M=2,n=128,bs=2147483648)'
most 0 256 'a baseline' baseline save --backend cpu --case 'cast(M=3,d=128,xs=2147483648)' -o base.json

# a kernel that goes where no row is takes its case along, and no other
exits 0 'selftest' selftest --backend mutants -k offset_32 -k offset_31
is 'offsets in 32 bits, killed' "$(grep -c '^killed .*_offset_3[12] ' out)" \
    "$(cat "$source"/tests/mutants/table*.h | grep -cE '^M\(\w+_offset_3[12],')"

# where there is no room
exits 3 'more than there are addresses for' run --backend cpu --case 'cast(M=40,d=1,x=f32,sf=row,xs=1000000000000)'
cat out err >both
has 'its words' both 'out of memory: an arena of '
exits 3 'no file holds one' export 'hadamard(M=3,n=128,xs=2147483648)' -o f.h5
has 'its words' err 'x: too large a storage for a file'

# on a device, which here lies in host memory
mkdir -p home && cp "$build/fake_device.so" home/lc_device_cuda.so
export LAYERCHECK_HOME=$PWD/home
most 1 256 'a device; the kernel "graph" is wrong anywhere' run --backend plugin:./home/lc_device_cuda.so --case 'cast(M=3,d=128,xs=2147483648)' \
    --case 'cast(rank=3,B=3,M=2,d=100,bs=2147483648)'
is 'kernels that pass' "$(grep -cE '^plugin:.*/(right|stream|busy|occupied) cast +2 +2 +0 +0 +0 ' out)" 4
export FAKE_DEVICE_BYTES=1000000000
exits 5 'a device without room' run --backend plugin:./home/lc_device_cuda.so --case 'cast(M=3,d=128,xs=2147483648)'
is 'unsupported, and counted' "$(grep -cE '^plugin:.* cast +1 +0 +0 +1 +0 ' out)" 5
exits 5 'the same, under a perturbation' determinism repeat --backend plugin:./home/lc_device_cuda.so --case 'cast(M=3,d=128,xs=2147483648)'
exits 1 'other cases have it' run --backend plugin:./home/lc_device_cuda.so --case 'cast(M=3,d=128)'
is 'and are judged' "$(grep -cE '^plugin:.*/(right|stream|busy|occupied) cast +1 +1 +0 +0 +0 ' out)" 4
finish
