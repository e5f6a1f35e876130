#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts what fixes of known programs would buy, makes them, and says how far off it was.

For each pattern of truth.def: run it alternately as it is and with each of its constants really
changed (medians), and under the profiler; ask the analyzer what the same change would save; print
both and the error in points of the base makespan. All patterns have a few runs and a recording,
then all have a few more: a machine that is slow for some minutes is not one pattern's fault.

Rules. A run during which other processes took more than 5% of its CPUs (40% if it only sleeps) is
made again, and when that goes on, its figures are marked noisy and count in no verdict. A saving that
is not known to 1.5 points is measured up to four times as often, and is noisy if it is not known to 5
points then. Recorded runs are never measured runs. Predictions of several recordings are each kept; the middle one is
scored. A fix that is predicted to help and hurts, or the reverse, is a failure whatever its size.
What the analyzer does not offer is listed as absent, and what it withholds as withheld: neither is
taken for a zero, nor scored.

Not here: any tolerance beside truth.def's; anything that the tests of `make check` depend on, since
what this prints depends on the machine and the hour.
"""

import argparse
import dataclasses
import json
import os
import re
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True  # the sources' folder stays as it is

import ablation
import latency
from runs import TIMES_MAX, Measurement, Runner, is_noisy, machine, record, variants_of
from score import (QUESTION, crossing_rows, drift_of, goals, plain_of, predict_rows, question_of, recorded_rows,
                   rows_of, summarise, withheld_by)
from table import tables_read

HERE = os.path.dirname(os.path.abspath(__file__))
TURNS = 3                       # runs of a variant before the next pattern has its turn
EXIT_WITHHELD = 3               # of the analyzer: a report without answers


class Analyzer:
    """Asks wcprof-analyze about recordings."""

    def __init__(self, build):
        self.program = os.path.join(os.path.abspath(build), "wcprof-analyze")
        self.without = ""       # an assumption that is left out

    def report(self, directory, cpus=None, questions=(), model="threads"):
        """The whole report; raises RuntimeError when there is none."""
        dumps = sorted(os.path.join(directory, name) for name in os.listdir(directory)
                       if name.endswith(".jsonl"))
        arguments = ["--json", "--factors", "0,0.5", "--min-self", "0", "--top", "100000",
                     "--model", model]
        for question in questions:
            arguments += ["--what-if", question]
        if cpus:
            arguments += ["--cpus", str(cpus)]
        if self.without:
            arguments += ["--without", self.without]
        try:
            answer = subprocess.run([self.program, *arguments, *dumps], capture_output=True,
                                    text=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{directory}: the analyzer is not over after 120 s") from None
        if answer.returncode not in (0, EXIT_WITHHELD):
            raise RuntimeError(f"{directory}: {answer.stderr.strip()[-300:]}")
        return json.loads(answer.stdout)


def show_progress(text):
    """On a terminal only, over what was there."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def number(value, width):
    return " " * (width - 1) + "-" if value is None else f"{value:+{width}.1f}"


def ranges_text(row):
    return "".join(f"  [{least:+.1f}..{most:+.1f}]" for least, most in row.ranges)


def print_row(row, groups, is_scored):
    verdict = row.verdict(groups) if is_scored else "noisy" if row.is_noisy else ""
    several = len(row.predictions) > 1
    extent = f"  {min(row.predictions):+.1f}..{max(row.predictions):+.1f}" if several else ""
    print(f"  {row.change:14}{row.selector:28}{number(row.measured, 9)}{number(row.predicted, 11)}"
          f"{number(row.error, 8)}  {verdict:9}{'flagged' if row.was_flagged else '':8}"
          f"{extent}{ranges_text(row)}".rstrip(), flush=True)


def print_heading(pattern, cpus, measured, reports):
    base = measured["base"]
    text = f"{pattern.name} on {cpus}: {base['makespan_ns'] / 1e6:.1f} ms"
    text += f", spread {base['spread']:.1f}%"
    if is_noisy(base):
        text += f", NOISY ({base['noisy']} of {base['runs']} runs)"
    if reports:
        recorded = statistics.median(figures["makespan_ns"] for _, figures in reports)
        text += f", recorded {100 * (recorded / base['makespan_ns'] - 1):+.1f}%"
        text += f", baseline {statistics.median(drift_of(report) for report, _ in reports):+.1f}%"
        dropped = sum(report.get("dropped_events", 0) for report, _ in reports)
        text += f", {dropped} EVENTS DROPPED" if dropped else ""
        text += "".join(f", WITHHELD ({reason})" for reason in withheld_by(reports))
    print(text, flush=True)


def print_summary(summary):
    print(f"\n{'error in points':20}{'rows':>6}{'mean':>8}{'median':>8}{'worst':>8}")
    for group, figures in summary["groups"].items():
        print(f"{group:20}{figures['rows']:6}{figures['mean']:8.2f}{figures['median']:8.2f}"
              f"{figures['worst']:8.1f}")
    print(f"order of the three best changes: {summary['rank_pairs_agreeing']} of "
          f"{summary['rank_pairs']} pairs right")
    print(f"{summary['scored']} of {summary['rows']} rows scored, {summary['absent']} absent, "
          f"{summary['withheld']} withheld, {summary['noisy']} noisy, {summary['wrong']} beyond their limit, "
          f"{summary['sign']} of the wrong sign")


def print_goals(found):
    for text, figure, is_met in found:
        print(f"{'met' if is_met else 'MISSED':8}{text}: {figure}")


class Sweep:
    """All patterns, one after the other; what was measured and recorded stays in a directory."""

    def __init__(self, options, groups, patterns):
        self.options = options
        self.groups = groups
        self.patterns = patterns
        self.kept_path = os.path.join(options.dir, "measured.json")
        self.kept = {}
        if os.path.exists(self.kept_path):  # of other patterns at least, when only some are chosen
            with open(self.kept_path, encoding="ascii") as file:
                self.kept = json.load(file)
        self.runner = Runner(options.build, self.kept.get("steps_per_us", 0), options.patience)
        self.runner.minds = not options.disturbed
        self.runner.is_urgent = options.urgent
        self.analyzer = None if options.measure_only else Analyzer(options.build)
        self.figures = {}       # of the runs that were recorded by this sweep, by directory
        self.rows = []
        self.failures = []

    def cpus_of(self, pattern):
        available = len(os.sched_getaffinity(0))
        possible = [cpus for cpus in pattern.cpus if cpus <= available]
        return possible[-1:] if self.options.quick else possible

    def kept_measurement(self, key, pattern, factors):
        """An earlier sweep's, if it was of the same constants and has all variants."""
        kept = self.kept.get("patterns", {}).get(key)
        is_wanted = self.options.again or self.options.measured
        is_same = self.kept.get("constants", {}).get(key) == pattern.constants
        has_all = kept and all(name in kept for name in variants_of(pattern, factors))
        return kept if is_wanted and is_same and has_all else None

    def keep(self, pattern, cpus, summaries):
        key = f"{pattern.name} {cpus}"
        self.kept.setdefault("patterns", {})[key] = summaries
        self.kept.setdefault("constants", {})[key] = pattern.constants
        with open(self.kept_path, "w", encoding="ascii") as file:
            json.dump(self.kept, file, indent=1)

    def measurements(self):
        """Of what no earlier sweep has measured."""
        factors = ("0.5",) if self.options.quick else None
        found = []
        for pattern in self.patterns:
            for cpus in self.cpus_of(pattern):
                key = f"{pattern.name} {cpus}"
                if not self.kept_measurement(key, pattern, factors):
                    self.kept.get("patterns", {}).pop(key, None)
                    found.append(Measurement(self.runner, pattern, cpus, factors))
        return found

    def measure_round(self, measurements, i, rounds):
        """A few runs and a recording of each; those that fail are left out from then on."""
        turns = min(TURNS, self.options.runs - TURNS * (i % rounds))
        good = []
        for k, measurement in enumerate(measurements):
            pattern, cpus = measurement.pattern, measurement.cpus
            show_progress(f"round {i + 1}: {pattern.name} on {cpus} CPU ({k + 1} of "
                          f"{len(measurements)})")
            try:
                measurement.take(turns)
            except RuntimeError as error:
                self.fail(error)
                continue
            self.keep(pattern, cpus, measurement.summaries())
            self.record(pattern, cpus, i)
            good.append(measurement)
        show_progress("")
        return good

    def measure(self):
        """All that is not measured yet; more often where savings are not known closely."""
        measurements = self.measurements()
        rounds = -(-self.options.runs // TURNS)
        for i in range(TIMES_MAX * rounds):
            measurements = self.measure_round(measurements, i, rounds)
            if i + 1 >= rounds:
                measurements = [one for one in measurements if one.want_unsure()]

    def directory(self, pattern, cpus, i):
        return os.path.join(self.options.dir, f"{pattern.name}-{cpus}-{i}")

    def record(self, pattern, cpus, i):
        """Records the i-th time, if so many are wanted; a recording that fails is reported and left
        out."""
        directory = self.directory(pattern, cpus, i)
        if i >= self.options.recordings or not self.analyzer or directory in self.figures:
            return
        self.figures[directory] = None
        try:
            if self.options.again:
                with open(os.path.join(directory, "figures.json"), encoding="ascii") as file:
                    self.figures[directory] = json.load(file)
            else:
                self.figures[directory] = record(self.runner, pattern, cpus, directory)
        except (OSError, RuntimeError) as error:
            self.fail(error)

    def recordings(self, pattern, cpus):
        """[(directory, figures)], those made beside the measured runs among them."""
        directories = [self.directory(pattern, cpus, i) for i in range(self.options.recordings)]
        for i in range(self.options.recordings):
            self.record(pattern, cpus, i)
        return [(directory, self.figures[directory]) for directory in directories
                if self.figures[directory]]

    def fail(self, error):
        self.failures.append(str(error))
        print(f"  FAILED: {error}", flush=True)

    def answered(self, directory, cpus, questions):
        """The report with the answers; without them if there is no such thing to ask about."""
        try:
            return self.analyzer.report(directory, cpus, questions)
        except RuntimeError as error:
            if "--what-if" not in str(error):
                raise
            print(f"  not answered: {error}", flush=True)
            return self.analyzer.report(directory, cpus)

    def reports(self, recordings, cpus=None, questions=()):
        found = []
        for directory, figures in recordings:
            try:
                found.append((self.answered(directory, cpus, questions), figures))
            except (OSError, RuntimeError, json.JSONDecodeError) as error:
                self.fail(error)
        return found

    def predicted(self, pattern, cpus, rows):
        """Fills the rows' predictions; returns the reports that they come from."""
        recordings = self.recordings(pattern, cpus)
        questions = {question_of(plain_of(row.selector), row.change.split()[-1])
                     for row in rows if plain_of(row.selector).startswith(QUESTION)}
        reports = self.reports(recordings, questions=sorted(questions))
        others = sorted({row.other_cpus for row in rows if row.other_cpus})
        predict_rows(rows, reports, {other: self.reports(recordings, other) for other in others})
        if sum(figures["noisy"] for _, figures in recordings) * 2 > len(recordings):
            for row in rows:
                row.is_noisy = True
        return reports

    def analyzed(self, pattern):
        """Yields (CPUs, measurements, rows with their predictions, reports) for each number of CPUs."""
        kept = self.kept.get("patterns", {})
        measured_by_cpus = {cpus: kept[f"{pattern.name} {cpus}"] for cpus in self.cpus_of(pattern)
                            if f"{pattern.name} {cpus}" in kept}
        for cpus, measured in measured_by_cpus.items():
            rows = rows_of(pattern, cpus, measured) + crossing_rows(pattern, cpus, measured_by_cpus)
            reports = self.predicted(pattern, cpus, rows) if self.analyzer else []
            yield cpus, measured, rows + recorded_rows(pattern, cpus, reports), reports

    def one_pattern(self, pattern):
        for cpus, measured, rows, reports in self.analyzed(pattern):
            print_heading(pattern, cpus, measured, reports)
            for row in rows:
                print_row(row, self.groups, self.analyzer)
            self.rows += rows

    def leave_out(self):
        """All rows again without each of the assumptions that were named, against those with it."""
        effects = []
        ablation.print_usual(self.rows, summarise(self.rows, self.groups))
        for name in ablation.names_wanted(self.options.without, ablation.names_read()):
            self.analyzer.without = name
            rows = [row for pattern in self.patterns for _, _, rows, _ in self.analyzed(pattern) for row in rows]
            effects.append(ablation.compare(name, self.rows, rows, self.groups))
            ablation.print_effect(effects[-1])
        self.analyzer.without = ""
        return effects

    def prepare(self):
        os.makedirs(self.options.dir, exist_ok=True)
        if not self.runner.steps_per_us:
            self.runner.calibrate()
            self.kept["steps_per_us"] = self.runner.steps_per_us

    def run(self):
        self.prepare()
        self.measure()
        print(f"  {'change':14}{'class':28}{'measured':>9}{'predicted':>11}{'error':>8}"
              "  points of the base makespan saved")
        for pattern in self.patterns:
            self.one_pattern(pattern)
        summary = summarise(self.rows, self.groups)
        summary["failed"] = len(self.failures)
        if self.analyzer:
            print_summary(summary)
            summary["requests"] = latency.sums(self.rows, self.groups)
            print("", *latency.text(summary["requests"]), sep="\n")
            print_goals(goals(self.rows, self.groups))
            if self.options.without:
                summary["without"] = {effect.name: {"verdict": effect.verdict, **effect.summary}
                                      for effect in self.leave_out()}
        if self.failures:
            print(f"{len(self.failures)} runs or analyses FAILED")
        if self.options.json:
            self.write_json(summary)
        return 1 if self.failures or summary["wrong"] or summary["sign"] else 0

    def write_json(self, summary):
        rows = [{**dataclasses.asdict(row), "predicted": row.predicted, "error": row.error,
                 "verdict": row.verdict(self.groups)} for row in self.rows]
        with open(self.options.json, "w", encoding="ascii") as file:
            json.dump({"machine": machine(), "summary": summary, "failures": self.failures,
                       "rows": rows}, file, indent=1)


def print_command(runner, pattern):
    """What to type to run a pattern by hand."""
    constants = {**pattern.constants, "STEPS_PER_US": f"{runner.steps_per_us:.0f}"}
    words = [f"T_{name}={value}" for name, value in constants.items()]
    print(" ".join(words + runner.arguments(pattern.command)))


def options_read():
    parser = argparse.ArgumentParser(description="Predicted against really made speed-ups.")
    parser.add_argument("--build", default="build", help="build directory (build)")
    parser.add_argument("--dir", help="where measurements and recordings go (BUILD/truth)")
    parser.add_argument("--rows", default="", metavar="REGEX", help="only patterns that match")
    parser.add_argument("--quick", action="store_true",
                        help="factor 0.5 on most CPUs only, 3 runs, 1 recording")
    parser.add_argument("--runs", type=int, help="runs of each variant (7)")
    parser.add_argument("--recordings", type=int, help="recordings of each pattern (3)")
    parser.add_argument("--measure-only", action="store_true", help="neither record nor predict")
    parser.add_argument("--measured", action="store_true",
                        help="take measurements from DIR where the constants are the same")
    parser.add_argument("--again", action="store_true",
                        help="take measurements and recordings from DIR, only analyze again")
    parser.add_argument("--without", action="append", default=[], metavar="NAME",
                        help="predict again without this assumption of the analyzer, or each (all); repeatable")
    parser.add_argument("--patience", type=float, default=240, metavar="S",
                        help="seconds to spend on repeating disturbed runs (240)")
    parser.add_argument("--urgent", action="store_true", help="before all else that the machine does (root)")
    parser.add_argument("--disturbed", action="store_true",
                        help="count runs, too, that other processes disturbed (figures that sleeps decide)")
    parser.add_argument("--json", metavar="FILE", help="write all results there")
    parser.add_argument("--command", metavar="PATTERN", help="print how to run it by hand")
    options = parser.parse_args()
    options.dir = os.path.abspath(options.dir or os.path.join(options.build, "truth"))
    options.runs = options.runs or (3 if options.quick else 7)
    options.recordings = options.recordings or (1 if options.quick else 3)
    return options


def main():
    options = options_read()
    groups, patterns = tables_read()
    try:
        ablation.names_wanted(options.without, ablation.names_read())
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if options.command:
        runner = Runner(options.build, 0, 0)
        runner.calibrate()
        print_command(runner, patterns[options.command])
        return 0
    chosen = [p for p in patterns.values() if re.search(options.rows, p.name)]
    return Sweep(options, groups, chosen).run()


if __name__ == "__main__":
    sys.exit(main())
