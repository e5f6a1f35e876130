#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What names cost: 10,000 addresses all over a C++ program of some 17 MB, most of it debug information, with
# functions inlined into functions. Paired with the same dump without addresses; prints and never fails on time.
set -eu
cd "$(dirname "$0")/../.."

usage() {
	cat <<-'USAGE'
	usage: tests/bench/symbols.sh [-h] [-b BUILD] [ADDRESSES]

	Compiles a large program (a minute), then looks ADDRESSES (10000) of it up, seven times.
	  -b   build directory ($B, else build)
	USAGE
}

build=${B:-build}
while getopts hb: option; do
	case $option in
	b) build=$OPTARG ;;
	h) usage; exit ;;
	*) usage >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
addresses=${1:-10000}
make --no-print-directory B="$build" "$build/wcprof-analyze" >&2

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

python3 - >"$dir/large.cc" <<'SOURCE'
print("#include <map>\n#include <string>\n#include <vector>\n")
for i in range(500):
    print(f"""namespace n{i % 40} {{
struct item{i} {{ long a[{i % 7 + 1}]; std::string name; }};
template <typename T> static inline __attribute__((always_inline)) long inner{i}(T x)
{{ return (long)x * {i} + 1; }}
static inline __attribute__((always_inline)) long middle{i}(const item{i} &x)
{{ return inner{i}(x.a[0]) + inner{i}(x.name.size()); }}
__attribute__((noinline)) long outer{i}(std::map<long, item{i}> &m, long k)
{{ auto it = m.find(k); return it == m.end() ? 0 : middle{i}(it->second); }}
}}""")
print("int main() { return 0; }")
SOURCE
g++ -g -O1 -o "$dir/large" "$dir/large.cc"

python3 - "$dir" "$addresses" <<'DUMP'
import json
import subprocess
import sys

directory, count = sys.argv[1], int(sys.argv[2])
sections = subprocess.run(["objdump", "-h", directory + "/large"], capture_output=True, text=True).stdout
_, _, size, start, *_ = next(line.split() for line in sections.splitlines() if " .text " in line)
size, start = int(size, 16), int(start, 16)
module = {"path": directory + "/large", "base": 0, "start": 0, "size": 1 << 30}
for name, frames in ("with", [start + 1 + i * (size - 1) // count for i in range(count)]), ("without", []):
    with open(f"{directory}/{name}.jsonl", "w") as file:
        header = {"schema_version": 1, "process": {"pid": 1}, "modules": [module],
                  "stacks": [[]] + [[0, frame] for frame in frames]}
        print(json.dumps(header), file=file)
DUMP

seconds() { # DUMP
	/usr/bin/time -f '%e' -o "$dir/time" "$build/wcprof-analyze" --quiet --symbolize "$dir/out" "$1" >&2
	cat "$dir/time"
}

median() {
	sort -n | sed -n 4p
}

for _ in 1 2 3 4 5 6 7; do
	seconds "$dir/without.jsonl" >>"$dir/without"
	seconds "$dir/with.jsonl" >>"$dir/with"
done
bytes=$(stat -c %s "$dir/large")
named=$(python3 -c 'import json, sys
print(sum(len(c) // 3 - 1 for l in open(sys.argv[1]) for c in json.loads(l).get("code", [])))' "$dir/out")
awk -v n="$addresses" -v named="$named" -v mb="$((bytes / 1000000))" -v with="$(median <"$dir/with")" \
	-v without="$(median <"$dir/without")" 'BEGIN {
	printf "%d addresses of a program of %d MB: %.2f s (%.2f s without them), %d functions named\n",
		n, mb, with, without, named
}'
