#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Recipe for a runner with a GPU: ci/gpu.sh DIRECTORY [STEP..]. Every step runs, or those named, and are added to what DIRECTORY
# has; the exit code is that of the first one that failed.
# Wants the packages of ./run, CUDA's nvcc and compute-sanitizer. Writes into DIRECTORY what reports/README.md lists, and junit.xml.
# libcublas must be where the loader looks: the caller sets LD_LIBRARY_PATH.
# LAYERCHECK=PROGRAM takes a program that was built elsewhere, its plugins beside it or in ../lib.
[ $# -ge 1 ] || {
    echo 'usage: ci/gpu.sh DIRECTORY [STEP..]' >&2
    exit 3
}
mkdir -p "$1" && to=$(cd "$1" && pwd) || exit 3
cd "$(dirname "$0")/.." || exit 3
shift
only=" $* "
export LC_ALL=C
PATH=$PATH:/usr/local/cuda/bin
. ci/packages.sh
first=0

# try NAME COMMAND..: its output goes to DIRECTORY/NAME.txt
try() {
    local name=$1 code=0 begin=$EPOCHREALTIME
    shift
    [ "$only" = '  ' ] || [[ $only == *" $name "* ]] || return 0
    "$@" >"$to/$name.txt" 2>&1 </dev/null || code=$?
    printf '%-16s exit code %3d %8.1f s\n' "$name" $code \
        "$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')" | tee -a "$to/steps.txt"
    [ $code = 0 ] || tail -n 20 "$to/$name.txt"
    [ $first != 0 ] || first=$code
    return $code
}

[ "$only" != '  ' ] || : >"$to/steps.txt"
program=${LAYERCHECK:-}
if [ -z "$program" ]; then
    try packages packages "${build_packages[@]}" || exit 3
    [ -e build-gpu/build.ninja ] || try configure meson setup build-gpu -Dcuda=enabled || exit 3
    try build ninja -C build-gpu || exit 3
    program=build-gpu/layercheck
fi
plugins=$(dirname "$program")
[ -e "$plugins/lc_cuda.so" ] || plugins=$plugins/../lib

# Workers share the GPU: a few keep it busy, many starve each other of memory.
try smoke "$program" run --suite smoke --require-backend cuda -j 4 --report "json:$to/smoke.json"
try ci "$program" run --suite ci --require-backend cuda -j 8 --report "json:$to/ci.json" --report "junit:$to/junit.xml"
for dialect in rmsnorm:hf rmsnorm:f32res rmsnorm:gemma rmsnorm:f32cast cast:deepgemm cast:sf-floor cast:f32-nan context_cast:f32 \
    qkv:bf16rot qkv:simt qkv:unfused-bias linear:reduce-add linear:bias-fused; do
    try "ci-${dialect#*:}" "$program" run "${dialect%:*}" --suite ci --require-backend cuda --dialect "${dialect#*:}" -j 8
done
try golden "$program" run --golden --require-backend cuda -j 4
try selftest "$program" selftest --backend mutants-cuda --timeout 30 --report "json:$to/selftest.json"
try hostile bash tests/cli/hostile_cuda.sh "$program" . "$plugins"
try rope_graph "$(dirname "$program")/rope_graph" # ROT-5: captured once, replayed
# Kernels of the host, many: ci where it takes some 250 core-seconds an operator, smoke where it takes more. About 100 s on 16 cores.
try conforming "$program" run cast sf_layout rope context_cast qkv --backend conforming --suite ci --timeout 300
try conforming-smoke "$program" run rmsnorm hadamard rope_table kv_store linear --backend conforming --suite smoke --timeout 300
try coverage "$program" coverage --report "json:$to/coverage.json"
try bench "$program" bench --backend cuda --report "json:$to/bench.json"

try determinism "$program" determinism --require-backend cuda --report "json:$to/determinism.json" \
    --report "text:$to/determinism-matrix.txt" --report "jsonl:$to/determinism.jsonl"
try relations "$program" relations --require-backend cuda --report "json:$to/relations.json"
try baseline "$program" baseline save --backend cuda --suite ci -o "$to/baseline.json"

# The kernels run in worker processes: --target-processes all. A finding makes the worker end with code 86, which is a crash.
for tool in memcheck racecheck; do
    try $tool compute-sanitizer --tool $tool --target-processes all --error-exitcode 86 \
        "$program" run --suite smoke --require-backend cuda -j 4 --timeout 300
    [ "$only" = '  ' ] || [[ $only == *" $tool "* ]] || continue
    grep -q -E 'ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards' "$to/$tool.txt" || {
        echo "$tool: no clean summary" | tee -a "$to/steps.txt"
        [ $first != 0 ] || first=1
    }
done
exit $first
