#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts what a shorter lock of the last of three services would buy the clients of the first one, and shortens it.

Each service has name spaces, a boot id and a wrong wall clock of its own (tests/cmd/hosts.py); the three dumps are
merged. Prints the 50th and 99th percentile of the first service's requests with the lock held as long and half as
long, by turns, and what the what-if of each recording with the whole lock says. Takes root. Never fails by its figures.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "cmd"))
import hosts  # pylint: disable=wrong-import-position

CONNECTIONS, OWN_US, THINK_US = 6, 50, 48000
WRONG_NS = {"web": 0, "app": 37_000_000, "db": -2_500_000_000}
FOLLOWING = {"web": "app", "app": "db", "db": None}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=5, help="each is two runs of some 25 seconds (5)")
    parser.add_argument("--requests", type=int, default=400, help="of each of the 6 clients (400)")
    parser.add_argument("--hold", type=int, default=6000, help="microseconds that the lock is held (6000)")
    return parser.parse_args()


def record(here, machines, build, hold_us, requests):
    """The dumps of one run, with clocks made wrong."""
    services = []
    for name in ("db", "app", "web"):
        following = FOLLOWING[name]
        place = [machines.address(following) + ":7000"] if following else []
        services.append(subprocess.Popen(
            machines.command(name, os.path.join(build, "wcprof"), "record", "-q", "-o", os.path.join(here, name), "--",
                             os.path.join(build, "tests/targets/chained"), "serve", machines.address(name) + ":7000",
                             str(CONNECTIONS), str(OWN_US), str(0 if following else hold_us), *place),
            env=dict(os.environ, WCPROF_DIR=os.path.join(here, "run")), stdout=subprocess.DEVNULL))
    subprocess.run(machines.command("web", os.path.join(build, "tests/targets/chained"), "load",
                                    machines.address("web") + ":7000", str(CONNECTIONS), str(requests), str(THINK_US)),
                   check=True, stdout=subprocess.DEVNULL)
    for service in services:
        service.wait()
    for name, by_ns in WRONG_NS.items():
        hosts.set_wrong(os.path.join(here, name), by_ns)
    return [os.path.join(here, name) for name in WRONG_NS]


def analyze(build, dumps, *options):
    result = subprocess.run([os.path.join(build, "wcprof-analyze"), "--json", "--force", *options, *dumps],
                            capture_output=True, text=True, check=False)
    if result.returncode not in (0, 3):
        sys.exit(result.stderr)
    return json.loads(result.stdout)


def recorded_ns(page):
    return {row["figure"]: row["recorded_ns"] for row in page["request_figures"]}


def told(percent):
    return "predicted nothing: the replay has it wrong" if percent is None else f"predicted {percent:.1f}% less"


def print_clocks(page):
    for pair in page["clock_pairs"]:
        wrong_ns = WRONG_NS[pair["from"]] - WRONG_NS[pair["to"]]
        print(f"  clocks {pair['from']} and {pair['to']}: {pair['offset_ns'] / 1e6:.4f} ms, off by "
              f"{(pair['offset_ns'] - wrong_ns) / 1e3:.1f} us, said to be within {pair['error_ns'] / 1e3:.1f} us")


def main():
    arguments = parse_arguments()
    build = os.path.abspath(arguments.build)
    why_not = hosts.why_not()
    if why_not:
        sys.exit(f"cannot be tried here: {why_not}")
    here = tempfile.mkdtemp(prefix="wcprof-fleet.")
    machines = hosts.Hosts(here, WRONG_NS)
    whole, half, predicted = [], [], {"p50": [], "p99": []}
    try:
        for number in range(arguments.rounds):
            dumps = record(here, machines, build, arguments.hold, arguments.requests)
            page = analyze(build, dumps, "--what-if", "table_lock*0.5")
            whole.append(recorded_ns(page))
            for figure, list_ in predicted.items():
                saved_ns = page["asked"][0][f"{figure}_saved_ns"]
                list_.append(None if saved_ns is None else 100 * saved_ns / page[f"baseline_{figure}_ns"])
            dumps = record(here, machines, build, arguments.hold // 2, arguments.requests)
            half.append(recorded_ns(analyze(build, dumps)))
            print(f"round {number + 1}: " + ", ".join(
                f"{figure} {whole[-1][figure] / 1e6:.2f} ms, halved {half[-1][figure] / 1e6:.2f} ms, {told(list_[-1])}"
                for figure, list_ in predicted.items()), flush=True)
            print_clocks(page)
    finally:
        machines.end()
        shutil.rmtree(here, ignore_errors=True)
    for figure, list_ in predicted.items():
        before, after = (statistics.median(row[figure] for row in rows) for rows in (whole, half))
        really, given = 100 * (1 - after / before), [percent for percent in list_ if percent is not None]
        print(f"{figure}: {really:.1f}% less in truth, predicted in {len(given)} of {len(list_)} rounds" +
              (f": {statistics.median(given):.1f}%, {statistics.median(given) - really:+.1f} points (medians)" if given
               else ""))


if __name__ == "__main__":
    main()
