#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What samples and marks add to the CPU time of a busy thread: the same work recorded without and with them in
# turn, ROUNDS times; figures are medians of the differences within a round, in per cent of the work.
set -euo pipefail
build=${B:-build}
rounds=${ROUNDS:-9}
library=$(realpath "$build/libwcprof.so")
loop=$build/tests/bench/busyloop
work=$(mktemp -d)
source tests/bench/lib.sh
trap 'rm -rf "$work"; forget busyloop' EXIT
export WCPROF_DIR=$work WCPROF_ENABLE=1

# CPU nanoseconds of all threads, the recorder's too, as the kernel counts them: NAME WORK
run() {
	local name=$1 work=$2
	shift 2
	printf '%s %s %s ' "$round" "$name" "$work"
	env "$@" LD_PRELOAD="$library" "$loop" "$work"
}

for ((round = 0; round < rounds; round++)); do
	for work in compute call; do
		run bare "$work" WCPROF_ENABLE=0
		run plain "$work" WCPROF_CPU_TIME=0
		run marks "$work" WCPROF_CPU_TIME=1
		run 99Hz "$work" WCPROF_CPU_TIME=1 WCPROF_SAMPLE_HZ=99
		run 1000Hz "$work" WCPROF_CPU_TIME=1 WCPROF_SAMPLE_HZ=1000
	done
done | awk '
	function median(text,   n, v, i, j, t) {
		n = split(text, v, " ")
		for (i = 2; i <= n; i++)
			for (j = i; j > 1 && v[j] + 0 < v[j - 1] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
		return v[int((n + 1) / 2)]
	}
	{
		value[$2] = $4
		all[$3, $2] = all[$3, $2] " " $4
		base = $2 == "plain" ? "bare" : $2 == "marks" ? "plain" : "marks"
		if ($2 != "bare") more[$3, $2] = more[$3, $2] " " (100 * ($4 - value[base]) / value[base])
	}
	END {
		split("compute call", works, " ")
		split("bare plain marks 99Hz 1000Hz", names, " ")
		split("- bare plain marks marks", bases, " ")
		for (w = 1; w <= 2; w++)
			for (i = 1; i <= 5; i++) {
				printf "%-8s %-7s %9.3f ms", works[w], names[i], median(all[works[w], names[i]]) / 1e6
				if (i > 1) printf "   %+6.2f%% of %s", median(more[works[w], names[i]]), bases[i]
				printf "\n"
			}
	}'
