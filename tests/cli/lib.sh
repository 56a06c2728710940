# SPDX-License-Identifier: Apache-2.0
# Read by the tests of this folder: bash X.sh LAYERCHECK SOURCE_DIR BUILD_DIR. They run in a folder of their own.
set -u
program=$(realpath "$1") source=$(realpath "$2") build=$(realpath "$3")
here=$source/tests/cli
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
passed=0 failed=0
export LC_ALL=C

pass() {
    passed=$((passed + 1))
}

# fail WHAT [FILE]: FILE is shown, as far as it is short.
fail() {
    failed=$((failed + 1))
    printf 'FAILED  %s\n' "$1"
    [ $# -lt 2 ] || head -c 2000 "$2" | head -n 20 | sed 's/^/        /'
}

# ok WHAT COMMAND..: the command succeeds.
ok() {
    local what=$1
    shift
    if "$@" >ok.out 2>&1; then pass; else fail "$what" ok.out; fi
}

# is WHAT GOT WANT
is() {
    if [ "$2" = "$3" ]; then pass; else fail "$1: got '$2', want '$3'"; fi
}

# has WHAT FILE TEXT: the file holds the text.
has() {
    if grep -qF -e "$3" "$2"; then pass; else fail "$1: no '$3' in" "$2"; fi
}

# exits CODE WHAT ARGUMENT..: layercheck, its output in out and err.
exits() {
    local want=$1 what=$2 got=0
    shift 2
    "$program" "$@" >out 2>err </dev/null || got=$?
    if [ "$got" = "$want" ]; then
        pass
    else
        cat err out >both
        fail "$what: exit code $got, want $want: layercheck $*" both
    fi
}

# outcomes FILE.jsonl: "outcome case", a line for each verdict.
outcomes() {
    python3 -c '
import json, sys
for line in open(sys.argv[1]):
    r = json.loads(line)
    print(r["outcome"], r["case"])' "$1"
}

finish() {
    [ $((passed + failed)) -gt 0 ] || failed=1
    printf '%d passed, %d failed\n' "$passed" "$failed"
    [ "$failed" -eq 0 ]
    exit
}
