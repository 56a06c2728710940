#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docs/known-bugs.md: every row has mutants or a remark that says why not, and they are those of tests/mutants. After a wanted change
# of the tables: UPDATE=1 bash known_bugs.sh LAYERCHECK SOURCE BUILD
. "$(dirname "$0")/lib.sh"

"$program" list | sed '/^$/,$d' | cut -d ' ' -f 1 >operators
cat >pages.py <<'PYTHON'
import glob, re, sys

source, page = sys.argv[1:3]
operators = open("operators").read().split()
tables = "".join(open(f).read() for f in sorted(glob.glob(source + "/tests/mutants/table*.h")))
models, ids = {}, set()
for name, origin in re.findall(r'^MC?\((\w+), \w+, "[^"]+", "([^"]+)"', tables, re.M):
    ids.add(name)
    models.setdefault(origin, []).append(name)
ids |= set(re.findall(r"^EQUIVALENT\((\w+),", tables, re.M))
impossible = re.findall(r"^NOT_A_MUTANT\((\w+),", tables, re.M)

faults, rows, text = [], {}, open(page).read()


def settle(match):
    number, thread, words, remark, mutants = (cell.strip() for cell in match.groups())
    if number in rows:
        faults.append("%s: twice" % number)
    rows[number] = True
    want = ", ".join("`%s`" % name for name in models.get(number, []))
    if mutants != want:
        faults.append("%s: mutants are %s, in the tables %s" % (number, mutants or "none", want or "none"))
    if not remark and not want:
        faults.append("%s: neither a mutant nor a reason" % number)
    if number in impossible and not remark:
        faults.append("%s: NOT_A_MUTANT in the tables, and no remark says why" % number)
    if not thread or not words:
        faults.append("%s: no thread, or no words" % number)
    for name in re.findall(r"`([a-z]+_\w+)`", remark):
        if name not in ids and name not in operators:
            faults.append("%s: `%s` is no mutant" % (number, name))
    return "| %s | %s | %s | %s | %s |" % (number, thread, words, remark, want)


new = re.sub(r"^\| ([A-Z]\d\d) \|([^|]*)\|([^|]*)\|([^|]*)\|([^|]*)\|$", settle, text, flags=re.M)
for origin in models:
    if origin != "clause" and origin not in rows:
        faults.append("%s: mutants cite it, and it has no row" % origin)
faults += ["%s: NOT_A_MUTANT in the tables, and it has no row" % number for number in impossible if number not in rows]
if len(sys.argv) > 3:
    open(sys.argv[3], "w").write(new)
print("\n".join(faults))
print(len(rows), "rows")
sys.exit(1 if faults else 0)
PYTHON

page=$source/docs/known-bugs.md
[ -z "${UPDATE:-}" ] || { python3 pages.py "$source" "$page" new.md >updated || true; cp new.md "$page"; }
ok 'docs/known-bugs.md and tests/mutants' python3 pages.py "$source" "$page"
is 'rows' "$(python3 pages.py "$source" "$page" | tail -n 1)" '121 rows'

# broken WHAT SED WORDS: a page that is wrong in one way is caught
broken() {
    sed "$2" "$page" >broken.md
    if cmp -s "$page" broken.md; then fail "$1: the expression changes nothing"; else pass; fi
    if python3 pages.py "$source" broken.md >broken.out; then fail "$1: passes"; else pass; fi
    has "$1" broken.out "$3"
}
broken 'a mutant that is none' '/^| R11 /s/rms_eps_outside/rms_eps_ouside/' 'R11: mutants are'
broken 'a mutant left out' '/^| H04 /s/, `had_accepts_any_n`//' 'H04: mutants are'
broken 'a row left out' '/^| Q19 /d' 'Q19: mutants cite it'
broken 'a reason left out' 's/^\(| T22 |[^|]*|[^|]*|\)[^|]*|/\1 |/' 'T22: neither a mutant nor a reason'
broken 'a reason left out of what cannot be a mutant' 's/^\(| R01 |[^|]*|[^|]*|\)[^|]*|/\1 |/' 'R01: NOT_A_MUTANT'
broken 'a remark that names no mutant' 's/(`rms_scale_ignored`/(`rms_scale_lost`/' '`rms_scale_lost` is no mutant'
finish
