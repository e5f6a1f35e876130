#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what `wcprof try` measures against a constant that is really changed.

A row is a piece of a pattern of truth.def and the class that stands for it. Once, the constant becomes so many times as
long; once, the class is slowed by the same factor in the program as it is. Both are whole runs under the recorder, in
pairs of changed and unchanged ones, in random order within a pair. Both give per cent by which the run is longer, with
an interval of 95% from the pairs' log ratios. A row agrees if the two intervals meet.

Patterns beside a foreign load are left out: a trial slows what the program does, not what others do.
"""

import argparse
import dataclasses
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # the sources' folder stays as it is

from runs import SAMPLE_HZ, Runner, cpus_of, record
from table import scaled, table_read
from truth import Analyzer, number, show_progress

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = re.compile(r"(sleep|io|hold|func|thread) \w+")
# Student's t: two-sided 95%, by degrees of freedom.
T_95 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
        2.120, 2.110, 2.101, 2.093, 2.086]
AGREE_SHARE_WANTED = 0.9
TRY_SECONDS_MAX = 300


@dataclasses.dataclass
class Row:
    pattern: str
    cpus: int
    constant: str
    selector: str
    really: tuple = ()      # per cent longer: (mean, low, high)
    tried: dict = None      # the command's row
    failed: str = ""

    @property
    def has_met(self):
        return self.tried["made_low"] <= self.really[2] and self.really[1] <= self.tried["made_high"]


def rows_of(patterns):
    for pattern in patterns:
        if pattern.load:
            continue
        for change in pattern.changes:
            if not re.match(r"(sleep|burn):", pattern.constants.get(change.constant, "")):
                continue
            for selector in change.selectors:
                if KINDS.fullmatch(selector):
                    yield pattern, Row(pattern.name, pattern.cpus[-1], change.constant, selector)


def percent_longer(ratios):
    """(mean, low, high) in per cent of log ratios."""
    mean = statistics.mean(ratios)
    half = T_95[min(len(ratios) - 1, len(T_95)) - 1] * statistics.stdev(ratios) / math.sqrt(len(ratios))
    return tuple(100 * (math.exp(value) - 1) for value in (mean, mean - half, mean + half))


def class_of(report, selector):
    """The class's whole name, with its kind: "sleep work_a" is "sleep work_a/nanosleep"."""
    pattern = re.compile(selector + r"(/\w+)?")
    names = [f"{entry['kind']} {entry['class']}" for entry in report["classes"]]
    return next(filter(pattern.fullmatch, names), selector)


class Trials:
    def __init__(self, options):
        self.options = options
        self.runner = Runner(options.build, 0, options.patience)
        self.analyzer = Analyzer(options.build)
        self.reports = {}
        self.random = random.Random(options.seed)

    def report_of(self, pattern, cpus):
        """Of one recording of the pattern, for the class's whole name."""
        if pattern.name not in self.reports:
            directory = os.path.join(self.options.dir, pattern.name)
            record(self.runner, pattern, cpus, directory)
            self.reports[pattern.name] = self.analyzer.report(directory)
        return self.reports[pattern.name]

    def environment(self, pattern, overrides):
        environment = self.runner.environment(pattern, overrides)
        if pattern.burns:
            environment["WCPROF_SAMPLE_HZ"] = SAMPLE_HZ
        return environment

    def seconds_of(self, pattern, overrides, cpus):
        environment = self.environment(pattern, overrides)
        environment.update(LD_PRELOAD=os.path.join(self.runner.build, "libwcprof.so"), WCPROF_ENABLE="1",
                           WCPROF_DIR=os.path.join(self.options.dir, "live"))
        begin_s = time.monotonic()
        # Without a timeout: with one, the end is looked for in steps of up to 50 ms.
        subprocess.run(self.runner.arguments(pattern.command), env=environment, stdout=subprocess.DEVNULL,
                       check=True, preexec_fn=lambda: os.sched_setaffinity(0, cpus_of(cpus)))
        return time.monotonic() - begin_s

    def change(self, pattern, row):
        changed = {row.constant: scaled(pattern.constants[row.constant], self.options.factor)}
        ratios = []
        for _ in range(self.options.pairs):
            order = [{}, changed]
            self.random.shuffle(order)
            seconds = {bool(overrides): self.seconds_of(pattern, overrides, row.cpus) for overrides in order}
            ratios.append(math.log(seconds[True] / seconds[False]))
        row.really = percent_longer(ratios)

    def slow(self, pattern, row, name):
        command = [os.path.join(self.runner.build, "wcprof"), "try", "--json", "-n", str(self.options.pairs), "--slow",
                   f"{name}*{self.options.factor:g}", "--",
                   *self.runner.arguments(pattern.command)]
        answer = subprocess.run(command, env=self.environment(pattern, {}), capture_output=True, text=True,
                                timeout=TRY_SECONDS_MAX, check=False,
                                preexec_fn=lambda: os.sched_setaffinity(0, cpus_of(row.cpus)))
        if not answer.stdout.strip():
            raise RuntimeError(answer.stderr.strip()[-200:] or f"exit status {answer.returncode}")
        row.tried = json.loads(answer.stdout.splitlines()[0])
        if row.tried.get("made_percent") is None:
            raise RuntimeError(str(row.tried["cannot_be_slowed"] or "nothing was measured"))

    def one(self, pattern, row):
        try:
            name = class_of(self.report_of(pattern, row.cpus), row.selector)
            self.change(pattern, row)
            self.slow(pattern, row, name)
        except (OSError, RuntimeError, subprocess.SubprocessError, json.JSONDecodeError) as error:
            row.failed = str(error).splitlines()[-1] if str(error) else repr(error)

    def run(self, rows):
        os.makedirs(self.options.dir, exist_ok=True)
        self.runner.calibrate()
        print(f"{'pattern':20}{'const':6}{'class':20}{'changed':>9}{'low':>8}{'high':>8}{'slowed':>9}{'low':>8}"
              f"{'high':>8}{'replay':>9}  per cent longer")
        for i, (pattern, row) in enumerate(rows):
            show_progress(f"{row.pattern} {row.constant} ({i + 1} of {len(rows)})")
            self.one(pattern, row)
            show_progress("")
            print_row(row)


def print_row(row):
    text = f"{row.pattern:20}{row.constant:6}{row.selector:20}"
    if row.failed:
        print(f"{text}  FAILED: {row.failed}", flush=True)
        return
    tried = row.tried
    text += "".join(number(value, width) for value, width in zip(row.really, (9, 8, 8)))
    text += "".join(number(tried[name], width) for name, width in
                    (("made_percent", 9), ("made_low", 8), ("made_high", 8), ("predicted_percent", 9)))
    print(text + ("" if row.has_met else "  APART"), flush=True)


def options_read():
    parser = argparse.ArgumentParser(description="What wcprof try measures, against really changed constants.")
    parser.add_argument("--build", default="build", help="build directory (build)")
    parser.add_argument("--dir", help="where recordings go (BUILD/trials)")
    parser.add_argument("--rows", default="", metavar="REGEX", help="only patterns that match")
    parser.add_argument("--factor", type=float, default=1.5, help="so many times as long (1.5)")
    parser.add_argument("--pairs", type=int, default=8, help="pairs of runs (8)")
    parser.add_argument("--seed", type=int, default=1, help="of the order within pairs (1)")
    parser.add_argument("--most", type=int, default=0, metavar="N", help="at most so many rows, spread over all")
    parser.add_argument("--patience", type=float, default=60, metavar="S",
                        help="seconds to spend on repeating disturbed recordings (60)")
    parser.add_argument("--json", metavar="FILE", help="write all results there")
    options = parser.parse_args()
    options.dir = os.path.abspath(options.dir or os.path.join(options.build, "trials"))
    return options


def main():
    options = options_read()
    _, patterns = table_read(os.path.join(HERE, "truth.def"))
    rows = list(rows_of(p for p in patterns.values() if re.search(options.rows, p.name)))
    if options.most and len(rows) > options.most:
        rows = [rows[i * len(rows) // options.most] for i in range(options.most)]
    Trials(options).run(rows)
    good = [row for _, row in rows if not row.failed]
    met = sum(row.has_met for row in good)
    print(f"{met} of {len(good)} rows agree; {len(rows) - len(good)} failed")
    if options.json:
        with open(options.json, "w", encoding="ascii") as file:
            json.dump([dataclasses.asdict(row) for _, row in rows], file, indent=1)
    return 0 if good and met >= AGREE_SHARE_WANTED * len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
