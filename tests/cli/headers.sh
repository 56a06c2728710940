#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every public header compiles alone, as C99 and as C++17, without a warning.
. "$(dirname "$0")/lib.sh"

for header in "$source"/include/*.h; do
    name=$(basename "$header")
    cp "$header" .
    printf '#include "%s"\n#include "%s"\n' "$name" "$name" | tee alone.c >alone.cpp
    for cc in gcc clang; do
        ok "$name: $cc, C99" $cc -std=c99 -pedantic -Wall -Wextra -Werror -c -o alone.o alone.c
        ok "$name: $cc, C++17" $cc -std=c++17 -pedantic -Wall -Wextra -Werror -x c++ -c -o alone.o alone.cpp
    done
    is "$name includes nothing of ours" "$(grep '^#include' "$header" | grep -c '"')" 0
done
finish
