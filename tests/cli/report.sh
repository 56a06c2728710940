#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The newest published run (reports/<gpu>/<date>-<revision>/) says what it ran on, was of this contract, passed, and is of the ci
# suite as it is now.
. "$(dirname "$0")/lib.sh"

newest=$(ls -d "$source"/reports/nvidia-*/*/ 2>/dev/null | sort -t/ -k "$(awk -F/ '{ print NF + 2 }' <<<"$source")" | tail -n 1)
ok 'a run is published' test -n "$newest"
ok "the published run $newest" python3 - "$newest" "$("$program" list --suite ci | wc -l)" "$("$program" --version)" <<'E2'
import json, os, sys
folder, cases, version = sys.argv[1], int(sys.argv[2]), sys.argv[3]
ci = json.load(open(os.path.join(folder, "ci.json")))
smoke = json.load(open(os.path.join(folder, "smoke.json")))
bench = json.load(open(os.path.join(folder, "bench.json")))
for report in (ci, smoke):
    device = report["devices"]["cuda"]
    for key in ("name", "driver", "nvcc", "compute_capability"):
        assert device.get(key), key
    assert report["revision"] not in ("", "unknown") and "dirty" not in report["revision"], report["revision"]
    assert report["contract"] in version, "of another contract"
    total = report["totals"]
    assert total["cases"] == total["pass"] + total.get("unsupported", 0) and total["unexplained"] == 0, total
    whole = {key.split()[1] for key, row in report["rows"].items() if row["cases"] == row["pass"]}
    assert whole == {key.split()[1] for key in report["rows"]}, "an operator without a kernel that takes every case"
assert ci["suite"] == "ci" and ci["suite_cases"] == cases, "the ci suite has %d cases now, the report %d" % (cases, ci["suite_cases"])
assert ci["totals"]["ambiguous"] > 0 and ci["totals"]["two_scale"] > 0
assert ci["revision"] == bench["revision"] and ci["revision"] in folder
assert bench["copy_gb_s"] > 0 and len(bench["rows"]) >= 10
for row in bench["rows"]:
    assert row["us"] > 0 and row["gb_s"] > 0, row
E2
finish
