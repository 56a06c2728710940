#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/fuzz/fuzz.sh [SECONDS [TARGET..]]: libFuzzer on what users hand in, with address and undefined sanitizers.
# SECONDS: each target runs so long, from the kept corpus; what it learns stays in build-fuzz/corpus/TARGET, what it finds in
# build-fuzz/found/TARGET. 0 (what ./test does): the kept corpus once, then as many inputs as $runs says, drawn from a fixed seed.
# The last line is `N passed, N failed`.
cd "$(dirname "$0")/../.." || exit 3
export LC_ALL=C
. ci/packages.sh
seconds=${1:-0}
shift
[ $# -gt 0 ] || set -- h5 case suite baseline journal
# h5 draws nothing: it would find the HDF5 library's own crashes, which cost a worker (tests/cli/hostile_h5.sh).
declare -A runs=([h5]=0 [case]=4000 [suite]=300 [baseline]=10000 [journal]=15000)
passed=0 failed=0

check() { # WHAT COMMAND..
    if step "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

built() {
    [ -e build-fuzz/build.ninja ] || CC=clang meson setup build-fuzz -Dcuda=disabled -Dtests=disabled -Dfuzz=true -Doptimization=1 \
        -Ddebug=true -Db_sanitize=address,undefined -Db_lundef=false \
        -Dc_args='-fsanitize=fuzzer-no-link -fno-sanitize-recover=all' || return
    ninja -C build-fuzz "${@/#/fuzz-}"
}

# The library leaks on damaged files; handles of ours are counted by the target.
target() { # TARGET OPTION..
    local name=$1 options=abort_on_error=0
    shift
    [ "$name" != h5 ] || options=detect_leaks=0
    mkdir -p build-fuzz/corpus/"$name" build-fuzz/found/"$name"
    ASAN_OPTIONS=$options UBSAN_OPTIONS=print_stacktrace=1 build-fuzz/fuzz-"$name" -timeout=10 -rss_limit_mb=2048 \
        -artifact_prefix=build-fuzz/found/"$name"/ "$@"
}

step 'packages' packages "${build_packages[@]}" clang libclang-rt-14-dev || exit 3
check 'fuzz targets (build-fuzz)' built "$@"
for name; do
    [ $failed = 0 ] || break
    kept=(tests/fuzz/corpus/"$name"/*)
    check "$name: ${#kept[@]} kept inputs" target "$name" "${kept[@]}"
    if [ "$seconds" -gt 0 ]; then
        check "$name: $seconds s" target "$name" -max_total_time="$seconds" build-fuzz/corpus/"$name" tests/fuzz/corpus/"$name"
    elif [ "${runs[$name]}" -gt 0 ]; then
        rm -rf build-fuzz/scratch && cp -r tests/fuzz/corpus/"$name" build-fuzz/scratch
        check "$name: ${runs[$name]} drawn" target "$name" -seed=1 -runs="${runs[$name]}" -max_total_time=60 build-fuzz/scratch
    fi
done
rm -f /dev/shm/layercheck-fuzz.*
printf '%d passed, %d failed\n' $passed $failed
[ $failed = 0 ]
