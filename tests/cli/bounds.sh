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

# HAD-3: k is a function of log2 n: each of them
k_of=$(sed -n 's/^#define REF_HADAMARD_K(log2_n) ((log2_n) + \([0-9.]*\))$/\1/p' "$source/ref/ops.h")
ok 'hadamard: k of ref/ops.h' test -n "$k_of"
for log2_n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    for part in 2 1; do
        k=$(awk -v n=$log2_n -v add="$k_of" -v part=$part 'BEGIN { print (n + add) * part }')
        sed "s/@STAGES@/$log2_n/; s/@TWICE_K@/$k/" "$source/tests/bounds/hadamard.g" >$part.g
    done
    ok "hadamard: (log2 n + $k_of) u is proven, log2 n = $log2_n" gappa 2.g
    if gappa 1.g >half.out 2>&1; then fail "hadamard: half of it is proven as well, log2 n = $log2_n" half.out; else pass; fi
    has 'hadamard: half of it fails because it is not proven' half.out 'some properties were not satisfied'
    scripts=$((scripts + 1))
done
has 'hadamard: list shows the bound' - "(log2 n + ${k_of%.0}) u (" < <("$program" list hadamard)

# LIN-1: k is a function of K
k_of=$(sed -n 's/^#define REF_LINEAR_K(k) ((double) (k) + \([0-9]*\))$/\1/p' "$source/ref/ops.h")
ok 'linear: k of ref/ops.h' test -n "$k_of"
for steps in 48 64; do
    for part in 2 1; do
        sed "s/@STEPS@/$steps/; s/@TWICE_K@/$(((steps + k_of) * part))/" "$source/tests/bounds/linear.g" >$part.g
    done
    ok "linear: (K + $k_of) u is proven, K = $steps" gappa 2.g
    if gappa 1.g >half.out 2>&1; then fail "linear: half of it is proven as well, K = $steps" half.out; else pass; fi
    has 'linear: half of it fails because it is not proven' half.out 'some properties were not satisfied'
    scripts=$((scripts + 1))
done
sed 's/@FOUR_K@/169/' "$source/tests/bounds/linear_core.g" >core.g
sed 's/@FOUR_K@/84/' "$source/tests/bounds/linear_core.g" >half.g
ok 'linear: cores, 10.5u for 16 products' gappa core.g
if gappa half.g >half.out 2>&1; then fail 'linear: cores, half of it is proven as well' half.out; else pass; fi
has 'linear: list shows the bound' - "(K + $k_of) u (" < <("$program" list linear)

ok 'some operator has a bound' test $scripts -gt 0
finish
