#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Recipe for a runner with a GPU: ci/gpu.sh DIRECTORY. Every step runs; the exit code is that of the first one that failed.
# Wants the packages of ./run, CUDA's nvcc and compute-sanitizer. Writes reports and logs into DIRECTORY.
[ $# = 1 ] || {
    echo 'usage: ci/gpu.sh DIRECTORY' >&2
    exit 3
}
mkdir -p "$1" && to=$(cd "$1" && pwd) || exit 3
cd "$(dirname "$0")/.." || exit 3
export LC_ALL=C
PATH=$PATH:/usr/local/cuda/bin
. ci/packages.sh
first=0

# try NAME COMMAND..: its output goes to DIRECTORY/NAME.log
try() {
    local name=$1 code=0 begin=$SECONDS
    shift
    "$@" >"$to/$name.log" 2>&1 </dev/null || code=$?
    printf '%-24s exit code %3d %5d s\n' "$name" $code $((SECONDS - begin)) | tee -a "$to/steps.txt"
    [ $code = 0 ] || tail -n 20 "$to/$name.log"
    [ $first != 0 ] || first=$code
    return $code
}

: >"$to/steps.txt"
{
    nvidia-smi
    nvcc --version
    uname -srm
} >"$to/machine.txt" 2>&1
try packages packages "${build_packages[@]}" || exit 3
[ -e build-gpu/build.ninja ] || try configure meson setup build-gpu -Dcuda=enabled || exit 3
try build ninja -C build-gpu || exit 3
program=build-gpu/layercheck

# One process a GPU is enough, and two do not starve each other of memory.
try ci $program run --suite ci --require-backend cuda -j 2 --report "junit:$to/junit.xml" --report "json:$to/report.json" \
    --report "text:$to/report.txt" --report "jsonl:$to/verdicts.jsonl"
try golden $program run --golden --backend cuda -j 1
try selftest $program selftest
try determinism $program determinism --require-backend cuda --report "json:$to/determinism.json" --report "text:$to/determinism.txt" \
    --report "jsonl:$to/determinism.jsonl"
try baseline $program baseline save --backend cuda --suite ci --bits -o "$to/baseline.json"
# The kernels run in worker processes: --target-processes all. A finding makes the worker end with code 86, which is a crash.
for tool in memcheck racecheck; do
    try $tool compute-sanitizer --tool $tool --target-processes all --error-exitcode 86 --log-file "$to/$tool.%p.txt" \
        $program run --require-backend cuda -j 1 --timeout 300
    # clean workers say `0 errors` (memcheck) or `0 hazards displayed (0 errors, 0 warnings)` (racecheck)
    try $tool-findings bash -c '
        ls "$1".*.txt >/dev/null && ! grep -L -E "ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards" "$1".*.txt | grep .' - "$to/$tool"
done
exit $first
