#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts what fixes of known programs would buy, makes them, and says how far off it was.

For each pattern of truth.def: run it alternately as it is and with each of its constants really
changed (medians); record it under the profiler in runs of their own; ask the analyzer what the same
change would save; print both and the error in points of the base makespan.

Rules. A run during which other processes took more than 5% of its CPUs is made again, and when
that goes on, its figures are marked noisy and count in no verdict. Recorded runs are never measured
runs. Predictions of several recordings are each kept; the middle one is scored. A fix that is
predicted to help and hurts, or the reverse, is a failure whatever its size. What the analyzer does
not offer is listed as absent, never taken for a zero.

Not here: any tolerance beside truth.def's; anything that the tests of `make check` depend on, since
what this prints depends on the machine and the hour.
"""

import argparse
import ast
import dataclasses
import json
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FOREIGN_SHARE_MAX = 0.05        # of the CPUs that a run may use
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
RUN_SECONDS_MAX = 30            # patterns take less than one; a profiler's mistake may hang them
RUNS_AGAIN_MAX = 4
SIGN_POINTS_MIN = 2.0           # a measured loss or gain below this has no sign to be wrong about
GROUP_CROSSING = "crossing"


# The table.

@dataclasses.dataclass
class Pattern:
    name: str
    command: str
    group: str
    cpus: list
    constants: dict
    changes: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Change:
    constant: str
    factors: tuple
    selectors: tuple


def table_rows(text):
    """Yields (word, arguments) of each row; the arguments are C strings and numbers."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    for word, arguments in re.findall(r"^([A-Z]+)\((.*?)\)$", text, flags=re.DOTALL | re.MULTILINE):
        yield word, ast.literal_eval(f"({arguments},)")


def table_read(path):
    """Returns groups {name: points} and patterns {name: Pattern}."""
    groups, patterns = {}, {}
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for word, row in table_rows(text):
        if word == "GROUP":
            groups[row[0]] = row[1]
        elif word == "PATTERN":
            constants = dict(pair.split("=") for pair in row[4].split())
            patterns[row[0]] = Pattern(*row[:3], [int(n) for n in row[3].split()], constants)
        elif word == "CHANGE":
            patterns[row[0]].changes.append(Change(row[1], tuple(row[2].split()), row[3:]))
        else:
            raise ValueError(f"{path}: no such row: {word}")
    for pattern in patterns.values():
        if pattern.group not in groups:
            raise ValueError(f"{path}: {pattern.name}: no such group: {pattern.group}")
        for change in pattern.changes:
            scaled(pattern.constants[change.constant], 1.0)
    return groups, patterns


def scaled(value, factor):
    """The constant's value times the factor: "burn:100" and 0.5 give "burn:50", "64" gives "32"."""
    what, colon, number = value.rpartition(":")
    number = float(number) * factor
    return what + colon + (f"{number:g}" if colon else str(round(number)))


# Running a pattern, and who else used the CPUs meanwhile.

def cpus_of(count):
    """The CPUs to use: the last ones, as the first ones serve most interrupts."""
    return sorted(os.sched_getaffinity(0))[-count:]


def busy_seconds(cpus):
    """Seconds that the CPUs have been busy with anything, stolen time included."""
    total = 0
    with open("/proc/stat", encoding="ascii") as file:
        for line in file:
            word, *ticks = line.split()
            if word.startswith("cpu") and word[3:].isdigit() and int(word[3:]) in cpus:
                user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, ticks[:8])
                total += user + nice + system + irq + softirq + steal
    return total * TICK_S


def own_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@dataclasses.dataclass
class Run:
    figures: dict           # makespan_ns, p50_ns, ...
    is_noisy: bool


class Runner:
    """Runs patterns; keeps what all runs have in common."""

    def __init__(self, build, steps_per_us, patience_s):
        self.build = os.path.abspath(build)
        self.steps_per_us = steps_per_us
        self.patience_s = patience_s        # left for runs that are made again

    def environment(self, pattern, overrides):
        constants = {**pattern.constants, **overrides}
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("T_", "LD_"))}
        environment.update({f"T_{name}": value for name, value in constants.items()})
        environment["T_STEPS_PER_US"] = str(self.steps_per_us)
        return environment

    def arguments(self, command):
        program, *rest = command.split()
        return [os.path.join(self.build, "tests", "truth", program), *rest]

    def run_once(self, command, environment, cpus):
        """One run on so many CPUs; raises RuntimeError when it fails."""
        mine = cpus_of(cpus)
        busy_s, own_s, begin_s = busy_seconds(mine), own_seconds(), time.monotonic()
        child = subprocess.Popen(self.arguments(command), env=environment, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, start_new_session=True, text=True,
                                 preexec_fn=lambda: os.sched_setaffinity(0, mine))
        try:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            output, errors = child.communicate(timeout=RUN_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            raise RuntimeError(f"{command}: not over after {RUN_SECONDS_MAX} s") from None
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        elapsed_s = time.monotonic() - begin_s
        own_s = own_seconds() - own_s
        own_s += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        foreign_s = busy_seconds(mine) - busy_s - own_s
        if child.returncode or not output.startswith("makespan_ns "):
            raise RuntimeError(f"{command}: exit status {child.returncode}: {errors.strip()}")
        words = output.split()
        figures = dict(zip(words[::2], map(float, words[1::2])))
        allowed_s = (FOREIGN_SHARE_MAX * elapsed_s + TICK_S) * cpus
        return Run(figures, foreign_s > allowed_s)

    def run(self, command, environment, cpus):
        """As run_once, and again while others disturb, as long as patience lasts."""
        run = self.run_once(command, environment, cpus)
        for again in range(RUNS_AGAIN_MAX):
            if not run.is_noisy or self.patience_s <= 0:
                break
            begin_s = time.monotonic()
            time.sleep(0.2 * (again + 1))
            run = self.run_once(command, environment, cpus)
            self.patience_s -= time.monotonic() - begin_s
        return run

    def calibrate(self):
        """Sets how many steps are a microsecond: the most that any of several runs reached."""
        pattern = Pattern("calibrate", "cpus calibrate", "", [1], {})
        runs = [self.run(pattern.command, self.environment(pattern, {}), 1) for _ in range(3)]
        self.steps_per_us = max(run.figures["steps_per_us"] for run in runs)


# Truth: the change is really made.

def variants_of(pattern, factors):
    """{key: overrides} of every run that the pattern's rows need; "base" first."""
    variants = {"base": {}}
    for change in pattern.changes:
        for factor in change.factors:
            if factors is None or factor in factors:
                value = scaled(pattern.constants[change.constant], float(factor))
                variants[f"{change.constant} {factor}"] = {change.constant: value}
    return variants


def measure(runner, pattern, cpus, runs, factors):
    """{variant: {figure: median, "noisy": runs}}; the variants take turns, in turning order."""
    variants = list(variants_of(pattern, factors).items())
    taken = {key: [] for key, _ in variants}
    for i in range(runs):
        turned = variants[i % len(variants):] + variants[:i % len(variants)]
        for key, overrides in turned:
            environment = runner.environment(pattern, overrides)
            taken[key].append(runner.run(pattern.command, environment, cpus))
    return {key: summary_of(those) for key, those in taken.items()}


def summary_of(runs):
    names = runs[0].figures
    summary = {name: statistics.median(run.figures[name] for run in runs) for name in names}
    makespans = sorted(run.figures["makespan_ns"] for run in runs)
    summary["spread"] = 100 * (makespans[-1] - makespans[0]) / statistics.median(makespans)
    summary["noisy"] = sum(run.is_noisy for run in runs)
    summary["runs"] = len(runs)
    return summary


def is_noisy(summary):
    """More than a third of the runs: the median is no longer one of a quiet machine."""
    return summary["noisy"] * 3 > summary["runs"]


# Prediction: the profiler and its analyzer.

def record(runner, pattern, cpus, directory):
    """Runs the pattern under the profiler, dumps into the directory; returns the run's figures."""
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    environment = runner.environment(pattern, {})
    environment.update(LD_PRELOAD=os.path.join(runner.build, "libwcprof.so"), WCPROF_ENABLE="1",
                       WCPROF_DIR=os.path.join(directory, "live"),
                       WCPROF_OUTPUT=os.path.join(directory, "%e.%p.jsonl"))
    figures = runner.run(pattern.command, environment, cpus).figures
    with open(os.path.join(directory, "figures.json"), "w", encoding="ascii") as file:
        json.dump(figures, file)
    return figures


class Analyzer:
    """Asks wcprof-analyze about recordings."""

    def __init__(self, build):
        self.program = os.path.join(os.path.abspath(build), "wcprof-analyze")
        usage = subprocess.run([self.program, "--help"], capture_output=True, text=True,
                               check=False)
        self.has_cpus = "--cpus" in usage.stdout + usage.stderr

    def report(self, directory, cpus=None):
        """The whole report; raises RuntimeError when there is none."""
        dumps = sorted(os.path.join(directory, name) for name in os.listdir(directory)
                       if name.endswith(".jsonl"))
        arguments = ["--json", "--factors", "0,0.5", "--min-self", "0", "--top", "100000"]
        if cpus:
            arguments += ["--cpus", str(cpus)]
        try:
            answer = subprocess.run([self.program, *arguments, *dumps], capture_output=True,
                                    text=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{directory}: the analyzer is not over after 120 s") from None
        if answer.returncode:
            raise RuntimeError(f"{directory}: {answer.stderr.strip()[-300:]}")
        return json.loads(answer.stdout)


def selected(report, selector):
    """The what-if entry that the selector means: of several the one with most to save."""
    pattern = re.compile(selector + r"(/\w+)?")
    entries = [entry for entry in report["what_if"]
               if pattern.fullmatch(f"{entry['kind']} {entry['class']}")]
    return max(entries, key=lambda entry: max(entry["saved_ns"].values()), default=None)


def predicted_points(report, figures, selector, factor):
    """Saving in points of the recorded run's own figure; None when the report has none."""
    metric, of, plain = selector.rpartition(" of ")
    entry = selected(report, plain)
    if entry is None:
        return None
    savings = entry.get(f"{metric}_saved_ns", {}) if of else entry["saved_ns"]
    for key, saved_ns in savings.items():
        if float(key) == float(factor):
            return 100 * saved_ns / figures[metric_of(selector)]
    return None


def metric_of(selector):
    metric, of, _ = selector.rpartition(" of ")
    return f"{metric}_ns" if of else "makespan_ns"


# Rows: one change seen through one class.

@dataclasses.dataclass
class Row:
    pattern: str
    cpus: int
    group: str
    selector: str
    change: str             # "A 0.5"
    measured: float         # points saved
    is_noisy: bool
    ranks: bool             # stands for the change where changes are ranked
    predictions: list = dataclasses.field(default_factory=list)

    @property
    def predicted(self):
        return statistics.median(self.predictions) if self.predictions else None

    @property
    def error(self):
        return self.predicted - self.measured if self.predictions else None

    @property
    def has_wrong_sign(self):
        if not self.predictions or abs(self.measured) < SIGN_POINTS_MIN:
            return False
        if self.measured < 0:
            return self.predicted > self.measured / 2 and self.predicted > -SIGN_POINTS_MIN
        return self.predicted < -SIGN_POINTS_MIN / 2

    def verdict(self, groups):
        """One word or none; "wrong" and "sign" are failures."""
        if not self.predictions:
            return "absent"
        if self.is_noisy:
            return "noisy"
        if self.has_wrong_sign:
            return "sign"
        limit = groups.get(self.group, 0)
        return "wrong" if limit and abs(self.error) > limit else ""


def rows_of(pattern, cpus, measured):
    base = measured["base"]
    rows = []
    for change in pattern.changes:
        for factor in change.factors:
            changed = measured.get(f"{change.constant} {factor}")
            if not changed:
                continue
            for i, selector in enumerate(change.selectors):
                metric = metric_of(selector)
                group = pattern.group if metric == "makespan_ns" else "latency"
                saved = 100 * (base[metric] - changed[metric]) / base[metric]
                rows.append(Row(pattern.name, cpus, group, selector,
                                f"{change.constant} {factor}", saved,
                                is_noisy(base) or is_noisy(changed), i == 0))
    return rows


def crossing_row(pattern, measured_by_cpus):
    """What one CPU instead of two costs, in points of the makespan on two."""
    one, two = measured_by_cpus[1]["base"], measured_by_cpus[2]["base"]
    saved = 100 * (two["makespan_ns"] - one["makespan_ns"]) / two["makespan_ns"]
    return Row(pattern.name, 2, GROUP_CROSSING, "1 CPU", "recorded on 2", saved,
               is_noisy(one) or is_noisy(two), False)


def predict_rows(rows, reports, one_cpu_reports):
    """Fills the rows' predictions from [(report, figures of the recorded run)]."""
    for row in rows:
        if row.group == GROUP_CROSSING:
            for (alone, figures), (report, _) in zip(one_cpu_reports, reports):
                saved_ns = report["baseline_makespan_ns"] - alone["baseline_makespan_ns"]
                row.predictions.append(100 * saved_ns / figures["makespan_ns"])
            continue
        for report, figures in reports:
            points = predicted_points(report, figures, row.selector, row.change.split()[1])
            if points is not None:
                row.predictions.append(points)


# Printing and the summary.

def number(value, width):
    return " " * (width - 1) + "-" if value is None else f"{value:+{width}.1f}"


def print_row(row, groups):
    several = len(row.predictions) > 1
    extent = f"  {min(row.predictions):+.1f}..{max(row.predictions):+.1f}" if several else ""
    print(f"  {row.change:14}{row.selector:28}{number(row.measured, 9)}{number(row.predicted, 11)}"
          f"{number(row.error, 8)}  {row.verdict(groups):7}{extent}", flush=True)


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
    print(text, flush=True)


def drift_of(report):
    actual = report["actual_makespan_ns"]
    return 100 * (report["baseline_makespan_ns"] - actual) / actual if actual else 0.0


def rank_agreement(rows):
    """(agreeing, all) pairs among the three best changes of each pattern at each factor."""
    agreeing = total = 0
    by_place = {}
    for row in rows:
        if row.ranks and row.predictions and row.group != GROUP_CROSSING:
            place = (row.pattern, row.cpus, row.change.split()[1])
            by_place.setdefault(place, []).append(row)
    for those in by_place.values():
        best = sorted(those, key=lambda row: -row.measured)[:3]
        for i, better in enumerate(best):
            for worse in best[i + 1:]:
                if better.measured - worse.measured >= SIGN_POINTS_MIN:
                    total += 1
                    agreeing += better.predicted > worse.predicted
    return agreeing, total


def summarise(rows, groups):
    """Figures of all rows that were predicted and quiet; also of each group."""
    quiet = [row for row in rows if row.predictions and not row.is_noisy]
    verdicts = [row.verdict(groups) for row in rows]
    agreeing, pairs = rank_agreement(quiet)
    summary = {"rows": len(rows), "scored": len(quiet), "rank_pairs": pairs,
               "rank_pairs_agreeing": agreeing, "groups": {}}
    for word in ("absent", "noisy", "wrong", "sign"):
        summary[word] = verdicts.count(word)
    for group in ["all", *groups]:
        errors = sorted(abs(row.error) for row in quiet if group in ("all", row.group))
        if errors:
            summary["groups"][group] = {"rows": len(errors), "mean": statistics.mean(errors),
                                        "median": statistics.median(errors), "worst": errors[-1]}
    return summary


def print_summary(summary):
    print(f"\n{'error in points':20}{'rows':>6}{'mean':>8}{'median':>8}{'worst':>8}")
    for group, figures in summary["groups"].items():
        print(f"{group:20}{figures['rows']:6}{figures['mean']:8.2f}{figures['median']:8.2f}"
              f"{figures['worst']:8.1f}")
    print(f"order of the three best changes: {summary['rank_pairs_agreeing']} of "
          f"{summary['rank_pairs']} pairs right")
    print(f"{summary['scored']} of {summary['rows']} rows scored, {summary['absent']} absent, "
          f"{summary['noisy']} noisy, {summary['wrong']} beyond their limit, "
          f"{summary['sign']} of the wrong sign")


# The sweep.

class Sweep:
    """All patterns, one after the other; what was measured and recorded stays in a directory."""

    def __init__(self, options, groups, patterns):
        self.options = options
        self.groups = groups
        self.patterns = patterns
        self.kept_path = os.path.join(options.dir, "measured.json")
        self.kept = {}
        if options.again or options.measured:
            with open(self.kept_path, encoding="ascii") as file:
                self.kept = json.load(file)
        self.runner = Runner(options.build, self.kept.get("steps_per_us", 0), options.patience)
        self.analyzer = None if options.measure_only else Analyzer(options.build)
        self.rows = []
        self.failures = []

    def cpus_of(self, pattern):
        available = len(os.sched_getaffinity(0))
        possible = [cpus for cpus in pattern.cpus if cpus <= available]
        return possible[-1:] if self.options.quick else possible

    def measured(self, pattern, cpus):
        key = f"{pattern.name} {cpus}"
        constants = self.kept.get("constants", {}).get(key)
        if (self.options.again or self.options.measured) and constants == pattern.constants:
            return self.kept["patterns"][key]
        factors = ("0.5",) if self.options.quick else None
        result = measure(self.runner, pattern, cpus, self.options.runs, factors)
        self.kept.setdefault("patterns", {})[key] = result
        self.kept.setdefault("constants", {})[key] = pattern.constants
        with open(self.kept_path, "w", encoding="ascii") as file:
            json.dump(self.kept, file, indent=1)
        return result

    def recordings(self, pattern, cpus):
        """[(directory, figures)]; a recording that fails is reported and left out."""
        found = []
        for i in range(self.options.recordings):
            directory = os.path.join(self.options.dir, f"{pattern.name}-{cpus}-{i}")
            try:
                if self.options.again:
                    with open(os.path.join(directory, "figures.json"), encoding="ascii") as file:
                        found.append((directory, json.load(file)))
                else:
                    found.append((directory, record(self.runner, pattern, cpus, directory)))
            except (OSError, RuntimeError) as error:
                self.fail(error)
        return found

    def fail(self, error):
        self.failures.append(str(error))
        print(f"  FAILED: {error}", flush=True)

    def reports(self, recordings, cpus=None):
        found = []
        for directory, figures in recordings:
            try:
                found.append((self.analyzer.report(directory, cpus), figures))
            except (OSError, RuntimeError, json.JSONDecodeError) as error:
                self.fail(error)
        return found

    def one_pattern(self, pattern):
        measured_by_cpus = {}
        for cpus in self.cpus_of(pattern):
            try:
                measured = measured_by_cpus[cpus] = self.measured(pattern, cpus)
            except RuntimeError as error:
                self.fail(error)
                return
            rows = rows_of(pattern, cpus, measured)
            if cpus == 2 and 1 in measured_by_cpus:
                rows.append(crossing_row(pattern, measured_by_cpus))
            reports = []
            if self.analyzer:
                recordings = self.recordings(pattern, cpus)
                reports = self.reports(recordings)
                crosses = self.analyzer.has_cpus and rows[-1].group == GROUP_CROSSING
                predict_rows(rows, reports, self.reports(recordings, 1) if crosses else [])
            print_heading(pattern, cpus, measured, reports)
            for row in rows:
                print_row(row, self.groups)
            self.rows += rows

    def prepare(self):
        os.makedirs(self.options.dir, exist_ok=True)
        if not self.runner.steps_per_us:
            self.runner.calibrate()
            self.kept["steps_per_us"] = self.runner.steps_per_us
        if self.analyzer and not self.analyzer.has_cpus:
            print("SKIPPED: what one CPU costs, predicted from recordings on two: "
                  "wcprof-analyze has no --cpus")
        print(f"  {'change':14}{'class':28}{'measured':>9}{'predicted':>11}{'error':>8}"
              "  points of the base makespan saved")

    def run(self):
        self.prepare()
        for pattern in self.patterns:
            self.one_pattern(pattern)
        summary = summarise(self.rows, self.groups)
        summary["failed"] = len(self.failures)
        if self.analyzer:
            print_summary(summary)
        if self.failures:
            print(f"{len(self.failures)} runs or analyses FAILED")
        if self.options.json:
            self.write_json(summary)
        return 1 if self.failures or summary["wrong"] or summary["sign"] else 0

    def write_json(self, summary):
        rows = [{**dataclasses.asdict(row), "predicted": row.predicted, "error": row.error,
                 "verdict": row.verdict(self.groups)} for row in self.rows]
        with open(self.options.json, "w", encoding="ascii") as file:
            json.dump({"summary": summary, "failures": self.failures, "rows": rows}, file, indent=1)


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
    parser.add_argument("--runs", type=int, help="runs of each variant (5; 7 is better)")
    parser.add_argument("--recordings", type=int, help="recordings of each pattern (3)")
    parser.add_argument("--measure-only", action="store_true", help="neither record nor predict")
    parser.add_argument("--measured", action="store_true",
                        help="take measurements from DIR where the constants are the same")
    parser.add_argument("--again", action="store_true",
                        help="take measurements and recordings from DIR, only analyze again")
    parser.add_argument("--patience", type=float, default=240, metavar="S",
                        help="seconds to spend on repeating disturbed runs (240)")
    parser.add_argument("--json", metavar="FILE", help="write all results there")
    parser.add_argument("--command", metavar="PATTERN", help="print how to run it by hand")
    options = parser.parse_args()
    options.dir = os.path.abspath(options.dir or os.path.join(options.build, "truth"))
    options.runs = options.runs or (3 if options.quick else 5)
    options.recordings = options.recordings or (1 if options.quick else 3)
    return options


def main():
    options = options_read()
    groups, patterns = table_read(os.path.join(HERE, "truth.def"))
    if options.command:
        runner = Runner(options.build, 0, 0)
        runner.calibrate()
        print_command(runner, patterns[options.command])
        return 0
    chosen = [p for p in patterns.values() if re.search(options.rows, p.name)]
    return Sweep(options, groups, chosen).run()


if __name__ == "__main__":
    sys.exit(main())
