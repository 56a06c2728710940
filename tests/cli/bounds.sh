#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Gappa proves the k of ref/ops.h, and does not prove half of it: the proof is about the number that the harness judges by.
. "$(dirname "$0")/lib.sh"

ok 'gappa is installed' command -v gappa
scripts=0
for name in $(sed -n "s/^#define REF_\([A-Z0-9_]*\)_K [0-9.]*$/\1/p" "$source/ref/ops.h" | tr A-Z a-z); do
    op=$name # rmsnorm, or rmsnorm_hf: a dialect's
    [ -e "$source/ref/$op.c" ] || op=${name%_*}
    k=$(sed -n "s/^#define REF_$(tr a-z A-Z <<<"$name")_K \([0-9.]*\)$/\1/p" "$source/ref/ops.h")
    script=$source/tests/bounds/$name.g
    scripts=$((scripts + 1))
    if ! grep -qs '@K@' "$script"; then
        fail "$name has a bound of $k u, but tests/bounds/$name.g is not there or has no @K@"
        continue
    fi
    whole=$(awk -v k="$k" 'BEGIN { printf "%.17g", k }') half=$(awk -v k="$k" 'BEGIN { printf "%.17g", k / 2 }')
    sed "s/@K@/$whole/g" "$script" >whole.g
    sed "s/@K@/$half/g" "$script" >half.g
    ok "$name: $whole u is proven" gappa whole.g
    if gappa half.g >half.out 2>&1; then fail "$name: $half u is proven as well: k is loose" half.out; else pass; fi
    has "$name: half of it fails because it is not proven" half.out 'some properties were not satisfied'
    has "$name: list shows the bound" - "$whole u (" < <("$program" list "$op")
done
ok 'some operator has a bound' test $scripts -gt 0
finish
