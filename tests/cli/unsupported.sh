#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The backend cpu handles every case of ci.
. "$(dirname "$0")/lib.sh"

exits 0 'cpu on ci' run --backend cpu --suite ci --report json:ci.json
read -r cases pass unsupported listed each < <(python3 -c '
import json
s = json.load(open("ci.json"))
t = s["totals"]
print(t["cases"], t.get("pass", 0), t.get("unsupported", 0), s["suite_cases"],
      sum({key.split()[-1]: row["cases"] for key, row in s["rows"].items()}.values()))')
is 'cases of ci that cpu does not support' "$unsupported" 0
is 'cases of ci that pass' "$pass" "$cases"
is 'cases judged' "$each" "$listed" # by one kernel of each operator; linear has two
is 'cases of the suite' "$listed" "$("$program" list --suite ci | wc -l)"
finish
