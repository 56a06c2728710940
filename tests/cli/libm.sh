#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# With every sin, cos, pow, exp and log of libm one double off, either way, and three off: the reference's tables have the same
# bits, and the goldens agree. Off by 2^20 doubles, beyond what wide.c allows a library, bits change: the preload is in effect.
. "$(dirname "$0")/lib.sh"

cat >tables.txt <<'E2'
rope_table(d={64,6,256},rows=700,base={10000,150000,1000003})
rope_table(d=2,rows=4100)
rope_table(d=64,rows=700,scaling={linear,ntk,yarn},s={40,3.3})
rope_table(d=64,rows=700,base=150000,s=32,scaling=yarn,trunc={0,1},ext={1,100000},m=0.707,mall={0,1})
rope_table(d=64,rows=33,scaling=yarn,T={7,64},every=2)
E2
preload=$build/libm_neighbours.so
[ -e "$preload" ] || fail 'libm_neighbours.so is not there'

# rows STEP: the reference's intervals and inputs of the suite
rows() {
    LIBM_STEP=$1 LIBM_CALLS=$PWD/calls LD_PRELOAD=$preload "$build/print_rows" ./tables.txt
}
"$build/print_rows" ./tables.txt >plain
ok 'there are tables' test "$(grep -c '^table ' plain)" -gt 10000
for step in 0 1 -1 3 -3; do
    rm -f calls
    rows $step >moved
    ok "libm $step doubles off: the same tables" cmp plain moved
    ok "libm $step doubles off: it was asked" awk "{ n += \$1 } END { exit !(n > 100000) }" calls
    code=0
    LIBM_STEP=$step LD_PRELOAD=$preload LAYERCHECK_HOME=$source "$program" golden check rope_table >out 2>&1 || code=$?
    is "libm $step doubles off: golden check" "$code" 0
done
rows 1048576 >moved
ok 'far off, it shows' bash -c '! cmp -s plain moved'
finish
