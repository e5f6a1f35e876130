#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What conditions of samples cost, and what they find: a server of which one request in 40 is slow.

First the CPU time of recorded calls, with conditions of samples and without; medians of ROUNDS (5). Then the share of
slow_branch() in samples with and without a condition, and in slow requests against the others.
"""
import json
import os
import statistics
import subprocess
import tempfile

BUILD = os.path.abspath(os.environ.get("B", "build"))
TARGET = os.path.join(BUILD, "tests/targets/rareslow")
ROUNDS = int(os.environ.get("ROUNDS", "5"))
REQUESTS = 8000
CALLS = ["read+write,client", "read,/dev/zero", "write+read,pipe", "epoll_wait,ready"]
# Of a slow request's CPU time, by the target's constants.
SLOW_US, USUAL_US, EVERY = 4000, 200, 40
HOW = {"no samples": {}, "99 Hz": {"WCPROF_SAMPLE_HZ": "99"}}
HOW.update({f"99 Hz, {text}": {"WCPROF_SAMPLE_HZ": "99", "WCPROF_SAMPLE_WHEN": text}
            for text in ("op:never", "lock", "request>p95")})


def run(*command, **variables):
    return subprocess.run(command, env=dict(os.environ, **variables), check=False, capture_output=True, text=True)


def record(dump, *arguments, **variables):
    run(os.path.join(BUILD, "wcprof"), "record", "-q", "-o", dump, *arguments, "--", TARGET, str(REQUESTS), **variables)


def hook_loop(variables):
    """Nanoseconds of each recorded call."""
    result = run(os.path.join(BUILD, "tests/bench/hookloop"), LD_PRELOAD=os.path.join(BUILD, "libwcprof.so"),
                 WCPROF_ENABLE="1", WCPROF_FULL="ring", WCPROF_MAX_EVENTS="65536", **variables)
    return {line.split()[0]: float(line.split()[1]) for line in result.stdout.splitlines()}


def loops():
    values = {}
    for _ in range(ROUNDS):
        for how, variables in HOW.items():
            for call, ns in hook_loop(variables).items():
                values.setdefault(call, {}).setdefault(how, []).append(ns)
    print("CPU time of recorded calls, ns; as a ratio to that without samples")
    for call in CALLS:
        base = statistics.median(values[call]["no samples"])
        for how, found in values[call].items():
            print(f"  {call:18} {how:20} {statistics.median(found):8.1f}  x{statistics.median(found) / base:.3f}")


def share(dump):
    """Of CPU time whose code is known, the part below slow_branch(); and how much that is of all."""
    report = json.loads(run(os.path.join(BUILD, "wcprof-analyze"), "--json", "--show", "functions", dump).stdout)
    rows = report["functions"]
    all_ns = sum(row["self_ns"] for row in rows)
    known = all_ns - sum(row["self_ns"] for row in rows if row["function"].startswith("[outside:"))
    slow = sum(row["total_ns"] for row in rows if row["function"] == "slow_branch")
    return slow / known, known / all_ns


def main():
    loops()
    with tempfile.TemporaryDirectory() as directory:
        dump = os.path.join(directory, "dump")
        print("\nshare of slow_branch() in samples with stacks, which are so much of all CPU time")
        for when in (None, "request>2ms", "request>p95", "request>p99"):
            record(dump, *(["--sample-when", when] if when else []), WCPROF_SAMPLE_HZ="250")
            found, known = share(dump)
            print(f"  {when or 'all samples':24} {100 * found:5.1f}%  of {100 * known:5.1f}%")
        record(dump, WCPROF_SAMPLE_HZ="250")
        percentile = 100 - 100 / EVERY
        lines = run(os.path.join(BUILD, "wcprof-analyze"), "--folded", "cpu", "--tail", str(percentile), dump).stdout
        sums = {"slow_branch": [0, 0], "usual_work": [0, 0]}
        for line in lines.splitlines():
            stack, usual, slow = line.rsplit(" ", 2)
            for name, sum_ns in sums.items():
                if name in stack:
                    sum_ns[0] += int(usual)
                    sum_ns[1] += int(slow)
        print(f"\nCPU time per request, usual and slow (--tail {percentile}), us; made so: slow_branch 0 {SLOW_US}, "
              f"usual_work {USUAL_US} {USUAL_US}")
        for name, (usual, slow) in sums.items():
            print(f"  {name:24} {usual / 1000:8.1f} {slow / 1000:8.1f}")


if __name__ == "__main__":
    main()
