#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A path for one GPU architecture has a portable sibling: in fast/cuda every condition on __CUDA_ARCH__ has an #else, and what only
# some architectures have stands behind one. ./test compiles all of it for each.
. "$(dirname "$0")/lib.sh"

cat >siblings.py <<'E2'
import re, sys
NEWER = re.compile(r"wgmma|tcgen05|cp\.async\.bulk|tensormap|setmaxnreg|barrier\.cluster|mapa\.|griddepcontrol|add\.rn\.bf16x2|\.e4m3x2|\.ue8m0x2")
bad = 0
for path in sys.argv[1:]:
    stack = []  # [line, is it about the architecture, has it an else]
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), open(path).read(), flags=re.S)
    for n, line in enumerate(text.split("\n"), 1):
        line = line.split("//")[0]
        word = re.match(r"\s*#\s*(if|ifdef|ifndef|else|elif|endif)\b(.*)", line)
        if word and word.group(1) in ("if", "ifdef", "ifndef"):
            stack.append([n, "__CUDA_ARCH" in word.group(2), False])
        elif word and word.group(1) == "else":
            stack[-1][2] = True
        elif word and word.group(1) == "endif":
            begin, arch, other = stack.pop()
            if arch and not other:
                bad += 1
                print("%s:%d: a condition on __CUDA_ARCH__ without #else" % (path, begin))
        elif NEWER.search(line) and not any(arch for _, arch, _ in stack):
            bad += 1
            print("%s:%d: %s outside of a condition on __CUDA_ARCH__" % (path, n, NEWER.search(line).group()))
sys.exit(bad > 0)
E2
ok 'paths of one architecture have siblings' python3 siblings.py "$source"/fast/cuda/*.cu "$source"/fast/cuda/*.cuh

# it sees what it looks for
sees() {
    printf '%s\n' "${@:3}" >one.cu
    local got=0
    python3 siblings.py one.cu >one.out || got=$?
    is "$1" $got "$2"
}
sees 'a path alone' 1 '#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900' 'int a;' '#endif'
sees 'a path and its sibling' 0 '#if __CUDA_ARCH__ >= 900' '#if X' 'int a;' '#endif' '#else' 'int b;' '#endif'
sees 'an instruction anywhere' 1 'asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;");'
sees 'behind a condition' 0 '#ifdef __CUDA_ARCH__' 'asm("wgmma.fence.sync.aligned;");' '#else' '#endif'
sees 'other conditions' 0 '#if A' '#endif' '/* wgmma' ' */ int a; // wgmma'
finish
