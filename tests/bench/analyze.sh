#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the analyzer costs: events and megabytes a second, and memory, at growing sizes and in three shapes.
#
# Prints figures and never fails on time. Dumps go to a directory of their own that is removed at the end.
set -eu
cd "$(dirname "$0")/../.."

usage() {
	cat <<-'USAGE'
	usage: tests/bench/analyze.sh [-h] [-b BUILD] [-c CLASSES] [EVENTS...]

	Generates dumps and analyzes each, every class at three factors, best of three runs.
	  -b   build directory ($B, else build)
	  -c   classes in each dump (200)
	EVENTS are 100000 1000000 10000000 unless given.
	USAGE
}

build=${B:-build} classes=200
while getopts hb:c: option; do
	case $option in
	b) build=$OPTARG ;;
	c) classes=$OPTARG ;;
	h) usage; exit ;;
	*) usage >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- 100000 1000000 10000000
make --no-print-directory B="$build" "$build/wcprof-analyze" "$build/tests/bench/gen_dump" >&2

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

best_of_three() { # DUMP: prints seconds and kilobytes of the fastest run
	for _ in 1 2 3; do
		/usr/bin/time -f '%e %M' -o "$dir/time" \
			"$build/wcprof-analyze" --json --quiet --min-self 0 "$1" > "$dir/report"
		cat "$dir/time"
	done | sort -n | head -n 1
}

printf '%-6s %9s %8s %8s %9s %10s %8s\n' shape events MB seconds events/s MB/s 'RSS MB'
for shape in tree flat deep; do
	for events; do
		"$build/tests/bench/gen_dump" "$events" "$classes" "$shape" > "$dir/dump.jsonl"
		bytes=$(stat -c %s "$dir/dump.jsonl")
		best_of_three "$dir/dump.jsonl" | awk -v shape="$shape" -v events="$events" -v bytes="$bytes" '{
			seconds = $1 > 0 ? $1 : 0.005
			printf "%-6s %9d %8.0f %8.2f %9.0f %10.0f %8.0f\n", shape, events, bytes / 1e6, $1,
				events / seconds, bytes / 1e6 / seconds, $2 / 1e3
		}'
	done
done
