#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates C tables from the contract and from ref/: its clauses and hash, and where ref/ implements each clause.

usage: generate.py contract CONTRACT.md OUT.c REF_FILE..   |   generate.py ops OUT.c OP..   |   generate.py version OUT.h VERSION DIR
"""
import hashlib
import os
import re
import subprocess
import sys

ID = re.compile(r"\b(?:FMT|CAST|SF|RMS|HAD|ROT|YARN|APPLY|LIN|KV|QKV|DET|ERR)-\d+(?:@\d+)?\b")
RANGE = re.compile(r"\b([A-Z]+)-(\d+)\.\.(?:[A-Z]+-)?(\d+)\b")


def c_string(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", '\\n"\n    "') + '"'


def clauses(text):
    """Each clause is a list item that begins with its id and ends before the next item, heading or blank line."""
    found, current = {}, None
    for line in text.splitlines():
        head = re.match(r"- ((?:[A-Z]+)-\d+(?:@\d+)?)\b", line)
        if head:
            current = head.group(1)
            found[current] = [line]
        elif current and line.startswith("  "):
            found[current].append(line)
        else:
            current = None
    return {name: "\n".join(lines) for name, lines in found.items()}


def places(paths):
    where = {}
    for path in paths:
        with open(path, encoding="utf-8") as f:
            for n, line in enumerate(f, 1):
                names = set(ID.findall(line))
                for family, first, last in RANGE.findall(line):
                    names |= {f"{family}-{i}" for i in range(int(first), int(last) + 1)}
                for name in names:
                    where.setdefault(name, []).append((os.path.basename(path), n, line.strip()))
    return where


def contract(source, out, refs):
    with open(source, "rb") as f:
        raw = f.read()
    where = places(refs)
    rows = []
    for name, text in clauses(raw.decode()).items():
        lines = "".join(f"ref/{p}:{n}: {line}\n" for p, n, line in where.get(name, []))
        rows.append(f"    {{ {c_string(name)}, {c_string(text)},\n    {c_string(lines)} }},\n")
    with open(out, "w", encoding="utf-8") as f:
        f.write('#include "spec.h"\n\n')
        f.write(f'const char contract_hash[] = "{hashlib.sha256(raw).hexdigest()}";\n\n')
        f.write("const struct clause contract_clauses[] = {\n" + "".join(rows) + "    { 0, 0, 0 },\n};\n")


def ops(out, names):
    with open(out, "w", encoding="utf-8") as f:
        f.write('#include "op.h"\n\n' + "".join(f"extern const struct op op_{n};\n" for n in names))
        f.write("\nconst struct op *const all_ops[] = { " + ", ".join(f"&op_{n}" for n in names) + ", 0 };\n")


def version(out, number, folder):
    try:
        run = subprocess.run(["git", "-C", folder, "describe", "--always", "--dirty", "--abbrev=10"], capture_output=True, text=True,
                             check=True)
        revision = run.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        revision = "unknown"
    text = f'#define LC_VERSION "{number}"\n#define LC_REVISION "{revision}"\n'
    if not os.path.exists(out) or open(out, encoding="utf-8").read() != text:
        with open(out, "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "contract":
        contract(rest[0], rest[1], rest[2:])
    elif what == "ops":
        ops(rest[0], rest[1:])
    else:
        version(*rest)
