# SPDX-License-Identifier: Apache-2.0
# Read by ./run and ./test. `packages NAME..` installs the Debian packages that are missing, or says which they are.

# Packages that are one program: any of that name will do.
package_program() {
    case $1 in
    build-essential) echo gcc g++ ;;
    ninja-build) echo ninja ;;
    meson | pkg-config | python3 | gappa | clang | clang-format) echo "$1" ;;
    esac
}

package_is_here() {
    local program programs
    programs=$(package_program "$1")
    if [ -n "$programs" ]; then
        for program in $programs; do
            command -v "$program" >/dev/null || return 1
        done
        return 0
    fi
    dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'
}

packages() {
    local name missing=() sudo=()
    if ! command -v dpkg-query >/dev/null; then
        echo "this is no Debian: meson will say what it does not find; the Debian packages are: $*"
        return 0
    fi
    for name; do
        package_is_here "$name" || missing+=("$name")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" != 0 ]; then
        sudo=(sudo -n)
        if ! sudo -n true 2>/dev/null; then
            echo "packages are missing; as root: apt-get install ${missing[*]}" >&2
            return 1
        fi
    fi
    export DEBIAN_FRONTEND=noninteractive
    "${sudo[@]}" apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null 2>&1 && return 0
    if ! { "${sudo[@]}" apt-get update -qq && "${sudo[@]}" apt-get install -qq -y --no-install-recommends "${missing[@]}"; } >/dev/null; then
        echo "packages could not be installed; as root: apt-get install ${missing[*]}" >&2
        return 1
    fi
}

# step WHAT COMMAND..: quiet; a line with its seconds, and on failure what it printed.
step() {
    local what=$1 begin=$EPOCHREALTIME log status=0
    shift
    log=$(mktemp)
    "$@" >"$log" 2>&1 </dev/null || status=$?
    [ $status = 0 ] || tail -n 25 "$log"
    printf '%-58s %-6s %7.1f s\n' "$what" "$([ $status = 0 ] && echo ok || echo FAILED)" \
        "$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')"
    rm -f "$log"
    return $status
}

build_packages=(build-essential meson ninja-build pkg-config python3 libhdf5-dev libjansson-dev libssl-dev librandom123-dev libopenblas-dev)
