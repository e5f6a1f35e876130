#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a hook costs: nanoseconds per call alone, through a bare pass-through preload, and with the profiler
# off and on. The four run in turn, ROUNDS times; figures are medians over the rounds, and the differences
# to "alone" are medians of the differences within a round.
set -euo pipefail
build=${B:-build}
rounds=${ROUNDS:-7}
library=$(realpath "$build/libwcprof.so")
loop=$build/tests/bench/hookloop
work=$(mktemp -d)
source tests/bench/lib.sh
trap 'rm -rf "$work"; forget hookloop' EXIT
"${CC:-gcc}" -D_GNU_SOURCE -O2 -fPIC -shared -o "$work/passthrough.so" tests/bench/preload/passthrough.c
export WCPROF_DIR=$work

pinned() { taskset -c 0 "$@"; }
for ((round = 0; round < rounds; round++)); do
	pinned "$loop" | sed "s/^/$round alone /"
	LD_PRELOAD=$work/passthrough.so pinned "$loop" | sed "s/^/$round bare /"
	LD_PRELOAD=$library pinned "$loop" | sed "s/^/$round off /"
	WCPROF_ENABLE=1 LD_PRELOAD=$library pinned "$loop" | sed "s/^/$round on /"
done >"$work/figures"

awk '
	function median(text,   n, v, i, j, t) {
		n = split(text, v, " ")
		for (i = 2; i <= n; i++)
			for (j = i; j > 1 && v[j] + 0 < v[j - 1] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
		return v[int((n + 1) / 2)]
	}
	!($3 in seen) { seen[$3] = 1; order[++count] = $3 }
	{ value[$1, $2, $3] = $4; all[$2, $3] = all[$2, $3] " " $4; if ($1 > last) last = $1 }
	END {
		printf "%-26s %8s %8s %8s %8s   %8s %8s %8s\n", "ns per call",
			"alone", "bare", "off", "on", "+bare", "+off", "+on"
		for (i = 1; i <= count; i++) {
			name = order[i]
			delete more
			for (round = 0; round <= last; round++) {
				alone = value[round, "alone", name]
				more["bare"] = more["bare"] " " (value[round, "bare", name] - alone)
				more["off"] = more["off"] " " (value[round, "off", name] - alone)
				more["on"] = more["on"] " " (value[round, "on", name] - alone)
			}
			printf "%-26s %8.1f %8.1f %8.1f %8.1f   %+8.1f %+8.1f %+8.1f\n",
				name, median(all["alone", name]),
				median(all["bare", name]), median(all["off", name]), median(all["on", name]),
				median(more["bare"]), median(more["off"]), median(more["on"])
		}
	}' "$work/figures"
