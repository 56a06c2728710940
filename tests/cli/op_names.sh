#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One word per operator, the same in every folder: op_names of meson.build are the files of each, less their helpers.
. "$(dirname "$0")/lib.sh"

sed -n "s/^op_names = \[\(.*\)\]$/\1/p" "$source/meson.build" | tr -d " '" | tr ',' '\n' | sort >names
ok 'op_names is not empty' test -s names

# same FOLDER SUFFIX HELPER..: X.c of each operator; X_part.c is a part of X
same() {
    local folder=$1 suffix=$2
    shift 2
    (cd "$source/$folder" && ls ./*"$suffix") | sed "s,^\./,,; s,\\$suffix\$,," | grep -vxF "$(printf '%s\n' "$@")" |
        awk 'NR == FNR { op[$0]; next } $0 in op { print; next } { for (o in op) if (index($0, o "_") == 1) next; print }' names - |
        sort >files
    ok "$folder/*$suffix and op_names of meson.build" diff files names
}
same ref .c args iv kv_check kv_pool num sf wide
same harness/ops .c
same fast/cpu .c plugin
same fast/cuda .cu plugin device rope_registry
same golden/oracle .c main num data h5 hull kv_stages
"$program" list | sed '/^$/,$d' | cut -d ' ' -f 1 | sort >listed
ok '`layercheck list` and op_names of meson.build' diff listed names
finish
