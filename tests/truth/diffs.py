#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what `wcprof-analyze --diff` finds against changes that are known.

A server of tests/truth is recorded again and again: as it is, and with one piece of its work longer by 5% and by 20% of
a request's median. Equal recordings must not differ in 19 of 20 pairs, and the longer piece must be named. Recordings
are made by turns, so that a busier hour is on both sides. Prints a table, and never fails.
"""

import argparse
import collections
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile

CONSTANTS = {"T_N": "400", "T_A": 2000, "T_B": 6000, "T_C": 1000}
MEDIAN_US = 3000  # of a request: T_A, and the time until its turn
PLANTED = {"equal": 0, "5%": 0.05 * MEDIAN_US, "20%": 0.2 * MEDIAN_US}
CHANGED = ("sleep", "work_a")


def record(build, path, longer_us):
    """Records one run whose work_a() takes so much longer."""
    constants = dict(CONSTANTS, T_A=CONSTANTS["T_A"] + longer_us)
    environment = dict(os.environ)
    for name, value in constants.items():
        environment[name] = value if isinstance(value, str) else f"sleep:{value:.0f}"
    subprocess.run([f"{build}/wcprof", "record", "-o", path, "--", f"{build}/tests/truth/server", "closed"], check=True,
                   env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def compare(build, old, new):
    """The JSON of the command, and its exit status."""
    run = subprocess.run([f"{build}/wcprof-analyze", "--diff", "--json", "--quiet", old, new], check=False,
                         capture_output=True, text=True)
    if run.returncode == 2:
        sys.exit(run.stderr)
    return json.loads(run.stdout), run.returncode


def is_named(answer):
    """Whether the piece that was made longer is a finding."""
    return any(row["is_found"] and row["delta"] > 0 and row["kind"] == CHANGED[0] and
               row["class"].startswith(CHANGED[1]) for row in answer.get("rows", []))


def show(what, answers):
    """One line: of so many comparisons, how many have a finding, name the change, and end with which status."""
    found = sum(any(row["is_found"] for row in answer.get("rows", [])) for answer, _ in answers)
    named = sum(is_named(answer) for answer, _ in answers)
    statuses = collections.Counter(status for _, status in answers)
    words = ", ".join(f"{statuses[status]} x {status}" for status in sorted(statuses))
    print(f"{what:32} {len(answers):5} {found:10} {named:13}   {words}")


def folder_of(paths, folder):
    """A directory with these recordings."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for index, path in enumerate(paths):
        os.symlink(path, os.path.join(folder, f"{index}.jsonl"))
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="directory of the programs")
    parser.add_argument("--pairs", type=int, default=20, help="single recordings that are compared (20)")
    parser.add_argument("--several", type=int, default=5, help="recordings of a directory (5)")
    arguments = parser.parse_args()
    count = max(arguments.pairs, 2 * arguments.several)
    with tempfile.TemporaryDirectory() as directory:
        paths = collections.defaultdict(list)
        for index, (word, longer_us) in itertools.product(range(count + 1), PLANTED.items()):
            path = os.path.join(directory, f"{word}-{index}.jsonl")
            record(arguments.build, path, longer_us)
            paths[word].append(path)
        print(f"{'OLD is as it is, NEW is':32} tries with finding  names work_a   exit status")
        for word in PLANTED:
            news = paths[word][1:] if word == "equal" else paths[word]
            show(word, [compare(arguments.build, old, new)
                        for old, new in list(zip(paths["equal"], news))[:arguments.pairs]])
        half = arguments.several
        old = folder_of(paths["equal"][:half], os.path.join(directory, "old"))
        for word in PLANTED:
            new = folder_of(paths[word][half:2 * half], os.path.join(directory, "new"))
            show(f"{word}, {half} recordings of each", [compare(arguments.build, old, new)])


if __name__ == "__main__":
    main()
