#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the analyzer costs: events and megabytes a second, and memory, at growing sizes and in three shapes.
#
# Prints figures and never fails on time. Dumps go to a directory of their own that is removed at the end.
set -eu
cd "$(dirname "$0")/../.."

usage() {
	cat <<-'USAGE'
	usage: tests/bench/analyze.sh [-h] [-b BUILD] [-c CLASSES] [-d DUMP] [-r RUNS] [-s SHAPES] [EVENTS...]

	Generates dumps and analyzes each, every class at three factors, the best of some runs; the last
	one of the trees once more, compressed. The last column is what one event costs in one hypothesis
	(a class at a factor), beyond reading. Sizes for which the machine has no room are left out.
	  -b   build directory ($B, else build)
	  -c   classes in each dump (200)
	  -d   a recorded dump to analyze as well
	  -r   runs of each (3)
	  -s   shapes ("tree flat deep")
	EVENTS are 100000 1000000 10000000 unless given.
	USAGE
}

build=${B:-build} classes=200 recorded='' runs=3 shapes='tree flat deep'
left_kb=4000000     # what is left free
event_bytes=150     # of memory, with the dump's pages
dump_event_bytes=120
while getopts hb:c:d:r:s: option; do
	case $option in
	b) build=$OPTARG ;;
	c) classes=$OPTARG ;;
	d) recorded=$OPTARG ;;
	r) runs=$OPTARG ;;
	s) shapes=$OPTARG ;;
	h) usage; exit ;;
	*) usage >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- 100000 1000000 10000000
make --no-print-directory B="$build" "$build/wcprof-analyze" "$build/tests/bench/gen_dump" >&2

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

best() { # DUMP OPTION...: prints seconds and kilobytes of the fastest run
	for _ in $(seq "$runs"); do
		/usr/bin/time -f '%e %M' -o "$dir/time" \
			"$build/wcprof-analyze" --json --quiet --top 1000 "$@" > "$dir/report"
		cat "$dir/time"
	done | sort -n | head -n 1
}

has_room() { # EVENTS
	free_kb=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)
	disk_kb=$(df -k --output=avail "$dir" | tail -n 1)
	[ $(($1 / 1000 * event_bytes + left_kb)) -le "$free_kb" ] &&
		[ $(($1 / 1000 * dump_event_bytes)) -le "$disk_kb" ]
}

row() { # NAME EVENTS DUMP: one line of figures
	bytes=$(stat -c %s "$3")
	reading=$(best "$3" --min-self 1000000s)
	all=$(best "$3" --min-self 0)
	hypotheses=$(($(grep -o '"saved_ns"' "$dir/report" | wc -l) * 3))
	echo "$all" | awk -v name="$1" -v events="$2" -v hypotheses="$hypotheses" -v bytes="$bytes" \
		-v reading="${reading%% *}" '{
		seconds = $1 > 0 ? $1 : 0.005
		printf "%-8s %9d %8.0f %8.2f %9.0f %8.0f %8.0f %11.3f\n", name, events, bytes / 1e6, $1,
			events / seconds, bytes / 1e6 / seconds, $2 / 1e3,
			1e9 * (seconds - reading) / events / hypotheses
	}'
}

printf '%-8s %9s %8s %8s %9s %8s %8s %11s\n' shape events MB seconds events/s MB/s 'RSS MB' 'ns/ev./hyp.'
for shape in $shapes; do
	for events; do
		if ! has_room "$events"; then
			printf '%-8s %9d   left out: too little memory, or disk in %s\n' "$shape" "$events" "${dir%/*}"
			continue
		fi
		"$build/tests/bench/gen_dump" "$events" "$classes" "$shape" > "$dir/dump.jsonl"
		row "$shape" "$events" "$dir/dump.jsonl"
		[ "$shape" = tree ] && last=$events && zstd -q -f "$dir/dump.jsonl" -o "$dir/tree.jsonl.zst"
	done
done
[ -z "${last-}" ] || row tree.zst "$last" "$dir/tree.jsonl.zst"
if [ "$recorded" ]; then
	row recorded "$(wc -l < "$recorded")" "$recorded"
fi
