#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the program says, as recorded in expected/. After a wanted change: UPDATE=1 bash transcripts.sh LAYERCHECK SOURCE BUILD
. "$(dirname "$0")/lib.sh"

# said NAME CODE ARGUMENT..
said() {
    local name=$1 want=$2
    shift 2
    exits "$want" "$name" "$@"
    { echo "\$ layercheck $*"; cat out err; } | sed -E 's/^(layercheck [0-9.]+) \([^)]*\)/\1 (REVISION)/; s/contract [0-9a-f]{64}/contract HASH/; s/^(ref\/[a-z_]+\.[ch]):[0-9]+:/\1:LINE:/' >got
    [ -z "${UPDATE:-}" ] || cp got "$here/expected/$name.txt"
    ok "$name: expected/$name.txt" diff "$here/expected/$name.txt" got
}
said help 0 --help
said version 0 --version
said list 0 list
said list_rmsnorm 0 list rmsnorm
said list_cast 0 list cast
said list_rope_table 0 list rope_table
said list_hadamard 0 list hadamard
said list_linear 0 list linear
said list_smoke_ties 0 list rmsnorm --suite smoke -k fill=ties
said spec_rms_3 0 spec RMS-3
said spec 0 spec
said no_command 3
said no_such_command 3 frobnicate
finish
