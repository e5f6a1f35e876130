# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What benchmarks share. Sourced, with $build set; never run.

# forget PROGRAM: takes away what its dead processes recorded: it is theirs until somebody does.
forget() {
	"${build:?}/wcprof" list --json | python3 -c 'import json, sys
for line in sys.stdin:
    row = json.loads(line)
    if row["state"] == "dead" and row["name"] == sys.argv[1]:
        print(row["arena"])' "$1" | xargs -r "${build:?}/wcprof" remove -q
}
