#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts how often `wcprof ci` is right about builds of which the difference is known.

Each try runs tests/targets/gated in pairs and has them judged: against itself, which must not be found worse, with 5%
more CPU work, with one more lock, and with one more fsync for each request, which must. Tries of all sorts take turns,
so that a busier hour is on all of them. Prints a table, and never fails.
"""

import argparse
import collections
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time

ROUNDS = 20000  # of arithmetic: some 22 us
SORTS = {
    "equal": (ROUNDS, 1, 1),
    "5% more CPU work": (ROUNDS * 105 // 100, 1, 1),
    "one more lock": (ROUNDS, 2, 1),
    "one more fsync": (ROUNDS, 1, 2),
}
EXPECTED = {"equal": "none of {0}"}  # the others: 19 of 20
VERDICTS = {0: "passed", 1: "worse", 2: "cannot tell"}


def command_of(arguments, work):
    """How the program is run."""
    return " ".join(map(str, (f"{arguments.build}/tests/targets/gated", arguments.requests, *work)))


def attempt(arguments, sort):
    """One try: the exit status of the check, and the relative change of CPU time with its interval's width."""
    with tempfile.TemporaryDirectory() as directory:
        run = [f"{arguments.build}/wcprof", "ci", "run", "-q", "-o", directory, "-n", str(arguments.pairs),
               "--base", command_of(arguments, SORTS["equal"]), "--new", command_of(arguments, SORTS[sort])]
        subprocess.run(run, check=True)
        check = [f"{arguments.build}/wcprof", "ci", "check", "-q", "--json", "--fail-over", arguments.fail_over,
                 directory]
        done = subprocess.run(check, check=False, capture_output=True, text=True)
        if done.returncode not in VERDICTS:
            sys.exit(done.stderr)
        answer = json.loads(done.stdout)
        if arguments.verbose:
            gates = [gate for gate in answer["gates"] if gate["state"] in ("failed", "cannot tell")]
            print(f"{sort}: {VERDICTS[done.returncode]}", answer["why"] or "",
                  *(gate["name"] or gate["metric"] for gate in gates), flush=True)
        cpu = answer["gates"][0]
        return done.returncode, cpu["change"] / cpu["base"], (cpu["high"] - cpu["low"]) / cpu["base"]


def show(sort, tries):
    """A line of the table."""
    statuses = collections.Counter(status for status, _, _ in tries)
    changes = sorted(change for _, change, _ in tries)
    widths = sorted(width for _, _, width in tries)
    wanted = EXPECTED.get(sort, "{1} or more").format(len(tries), len(tries) * 19 // 20)
    print(f"{sort:18} {len(tries):5} {statuses[1]:6} {wanted:>12} {statuses[0]:7} {statuses[2]:12} "
          f"{changes[len(changes) // 2]:+11.1%} {widths[len(widths) // 2]:8.1%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="directory of the programs")
    parser.add_argument("--tries", type=int, default=40, help="of each sort (40)")
    parser.add_argument("--pairs", type=int, default=10, help="of runs in a try (10)")
    parser.add_argument("--requests", type=int, default=1000, help="of each of two threads in a run (1000)")
    parser.add_argument("--fail-over", default="2.5%", help="what is allowed: half of what is planted (2.5%%)")
    parser.add_argument("--verbose", action="store_true", help="a line for each try")
    arguments = parser.parse_args()
    begun = time.monotonic()
    tries = collections.defaultdict(list)
    try:
        for _, sort in itertools.product(range(arguments.tries), SORTS):
            tries[sort].append(attempt(arguments, sort))
    except KeyboardInterrupt:
        print("interrupted: so far")
    print(f"{'the new build is':18} tries  worse     expected  passed  cannot tell  CPU change  +-90%")
    for sort in tries:
        show(sort, tries[sort])
    minutes = (time.monotonic() - begun) / 60
    print(f"{minutes:.0f} minutes; load {os.getloadavg()[2]:.1f} on {os.cpu_count()} CPUs")


if __name__ == "__main__":
    main()
