#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The suite ci leaves no pair of values uncovered, and a suite with one value less is caught.
. "$(dirname "$0")/lib.sh"

exits 0 'ci' list --suite ci --uncovered
is 'ci: what is uncovered' "$(cat out)" ''
is 'ci: messages' "$(cat err)" ''

# lacking WHAT SED GAP..: ci, less something; a line holds the gap.
lacking() {
    sed "$2" "$source/harness/suites/ci.txt" >less.txt
    ok "$1: another suite" bash -c '! cmp -s less.txt "$1"' - "$source/harness/suites/ci.txt"
    exits 1 "$1" list --suite ./less.txt --uncovered
    has "$1: the gap" out "$3"
}
lacking 'without sf=colf' 's/^pairs cast()/pairs cast(sf={col,row,rowp})/; s/sf=\*/sf={col,row,rowp}/; s/sf={col,row,colf}/sf=col/' 'cast('
lacking 'without fill=brink' 's/^pairs rmsnorm()/pairs rmsnorm(fill={normal,logu,outlier,tiny,huge,positive,zero-rows,exact,ties,pow2-edges,sentinel,mixed,specials})/; s/brink,pow2/pow2/g; s/normal,brink/normal/g; s/fill=brink/fill=normal/g' \
    'fill=brink)'
lacking 'without refusals of cast' '/^cast(bad=\*)/d' 'cast(bad=x-rank)'
lacking 'without trunc=0' 's/^pairs rope_table()/pairs rope_table(trunc=1)/; s/,trunc=0//' 'trunc=0)'
lacking 'without refusals of rope_table' '/^rope_table(bad=\*)/d' 'rope_table(bad=rotary-odd)'
lacking 'without n=32768' 's/^pairs hadamard()/pairs hadamard(n={2,4,8,16,32,64,128,256,512,1024,2048,4096,8192,16384})/; s/n=\*/n=128/' 'hadamard('
lacking 'without refusals of hadamard' '/^hadamard(bad=\*)/d' 'hadamard(bad=n-96)'
lacking 'without w=e2m1' 's/^pairs linear()/pairs linear(w={bf16,e4m3})/; s/w={\(bf16,\)*e4m3,e2m1}/w=e4m3/; s/w=\*/w=e4m3/' 'w=e2m1'
lacking 'without refusals of linear' '/^linear(bad=\*)/d' 'linear(bad=acc-flat)'
lacking 'without pairs' '/^pairs/d' 'rmsnorm('
finish
