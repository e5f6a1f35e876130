#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What stacks of ten frames add to a hooked call that is recorded: the same call without and with them in turn,
# ROUNDS times; figures are medians over the rounds, the last one of the differences within a round.
set -euo pipefail
build=${B:-build}
rounds=${ROUNDS:-9}
library=$(realpath "$build/libwcprof.so")
work=$(mktemp -d)
source tests/bench/lib.sh
trap 'rm -rf "$work"; forget stackloop' EXIT
export WCPROF_DIR=$work WCPROF_ENABLE=1 WCPROF_HOLDS=all

for ((round = 0; round < rounds; round++)); do
	for depth in 0 10; do
		WCPROF_STACK_DEPTH=$depth LD_PRELOAD=$library taskset -c 0 "$build/tests/bench/stackloop" |
			sed "s/^/$round $depth /"
	done
done | awk '
	function median(text,   n, v, i, j, t) {
		n = split(text, v, " ")
		for (i = 2; i <= n; i++)
			for (j = i; j > 1 && v[j] + 0 < v[j - 1] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
		return v[int((n + 1) / 2)]
	}
	!($3 in seen) { seen[$3] = 1; order[++count] = $3 }
	{ all[$2, $3] = all[$2, $3] " " $4 }
	$2 == 0 { without[$3] = $4 }
	$2 == 10 { more[$3] = more[$3] " " ($4 - without[$3]) }
	END {
		printf "%-26s %8s %8s   %8s\n", "ns per call", "none", "stacks", "+stacks"
		for (i = 1; i <= count; i++)
			printf "%-26s %8.1f %8.1f   %+8.1f\n", order[i], median(all[0, order[i]]),
				median(all[10, order[i]]), median(more[order[i]])
	}'
