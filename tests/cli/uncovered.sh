#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The suite ci leaves no pair of values uncovered, and a suite with one value less is caught.
. "$(dirname "$0")/lib.sh"

exits 0 'ci' list --suite ci --uncovered
is 'ci: what is uncovered' "$(cat out)" ''
is 'ci: messages' "$(cat err)" ''

# lacking OP WHAT SED GAP: ci, less something of OP; a line holds the gap.
lacking() {
    sed "$3" "$source/harness/suites/ci.txt" >less.txt
    ok "$2: another suite" bash -c '! cmp -s less.txt "$1"' - "$source/harness/suites/ci.txt"
    exits 1 "$2" list ${1:+"$1"} --suite ./less.txt --uncovered
    has "$2: the gap" out "$4"
    is "$2: gaps of other operators" "$(grep -cv "^${1:-[a-z]}" out)" 0
}
lacking cast 'without sf=colf' 's/^pairs cast()/pairs cast(sf={col,row,rowp})/; s/sf=\*/sf={col,row,rowp}/; s/sf={col,row,colf}/sf=col/' 'cast('
lacking rmsnorm 'without fill=brink' 's/^pairs rmsnorm()/pairs rmsnorm(fill={normal,logu,outlier,tiny,huge,positive,zero-rows,exact,ties,pow2-edges,sentinel,mixed,specials})/; s/brink,pow2/pow2/g; s/normal,brink/normal/g; s/fill=brink/fill=normal/g' \
    'fill=brink)'
lacking cast 'without refusals of cast' '/^cast(bad=\*)/d' 'cast(bad=x-rank)'
lacking rope_table 'without trunc=0' 's/^pairs rope_table()/pairs rope_table(trunc=1)/; s/,trunc=0//' 'trunc=0)'
lacking rope_table 'without refusals of rope_table' '/^rope_table(bad=\*)/d' 'rope_table(bad=rotary-odd)'
lacking hadamard 'without n=32768' 's/^pairs hadamard()/pairs hadamard(n={2,4,8,16,32,64,128,256,512,1024,2048,4096,8192,16384})/; s/n=\*/n=128/' 'hadamard('
lacking hadamard 'without refusals of hadamard' '/^hadamard(bad=\*)/d' 'hadamard(bad=n-96)'
lacking rope 'without conj=1' 's/^pairs rope()/pairs rope(conj=0)/; s/,conj={0,1}//' 'conj=1'
lacking rope 'without refusals of rope' '/^rope(bad=\*)/d' 'rope(bad=query-absent)'
lacking context_cast 'without refusals of context_cast' '/^context_cast(bad=\*)/d' 'context_cast(bad=out-rank)'
lacking sf_layout 'without refusals of sf_layout' '/^sf_layout(bad=\*)/d' 'sf_layout(bad=groups-6)'
lacking qkv 'without fill=cancel' 's/^pairs qkv()/pairs qkv(fill={normal,logu,outlier,tiny,huge,positive,zero-rows,exact,ties,rounds,sentinel,mixed,specials,weights})/; s/fill={cancel,weights,specials}/fill=normal/' 'fill=cancel)'
lacking qkv 'without refusals of qkv' '/^qkv(bad=\*)/d' 'qkv(bad=positions-value)'
lacking kv_store 'without layout=strided' 's/^pairs kv_store()/pairs kv_store(layout={interleaved,planar})/; s/layout=\*/layout=planar/; s/layout={interleaved,strided}/layout=planar/; s/layout=strided/layout=planar/' 'kv_store('
lacking kv_store 'without refusals of kv_store' '/^kv_store(bad=\*)/d' 'kv_store(bad=slot-repeated)'
lacking linear 'without w=e2m1' 's/^pairs linear()/pairs linear(w={bf16,e4m3})/; s/w={\(bf16,\)*e4m3,e2m1}/w=e4m3/; s/w=\*/w=e4m3/' 'w=e2m1'
lacking linear 'without refusals of linear' '/^linear(bad=\*)/d' 'linear(bad=acc-flat)'
lacking "" 'without pairs' '/^pairs/d' 'rmsnorm('
finish
