#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sets what others would have predicted beside what was predicted here, on the rows of a sweep.

usage: peers.py --build BUILD --dir DIR [--rows REGEX] [--coz] [--json FILE]

Works on the directory that truth.py left: its measurements and its recordings. The peers:

  edges     each wait ends with the event that ended it in the recording: --model edges on the same
            recordings, as analyzers of dependencies do that look at single events.
  coz       coz-profiler, which slows all else down instead of replaying. It cannot take programs as
            they are: the truth programs are built again with debug information and each burn in one
            source line, that line is what coz is asked about, and its progress point is the piece's
            end. It samples what is on a CPU, so rows of pieces that sleep it has no answer to. It
            has what it needs: so many rounds that a run takes ten seconds, and a CPU to spare.

Only the first selector of each change is asked about; what a tool does not offer is a dash and counts
in no sum. Prints a table, and sums over the rows that tools have in common; accuracy.py makes the
documentation's of what --json wrote.
"""

import argparse
import json
import math
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True

from runs import Runner
from score import QUESTION, predict_rows, rows_of
from table import table_read
from truth import Analyzer

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = ("wcprof", "edges", "coz")
COZ_SECONDS = 10                # of a run: coz makes an experiment of half a second after the other
COZ_CPUS_SPARED = 0.5           # threads that pause while no CPU is free do not slow the others down
COZ_BURN = ("#define burn_steps(count) do { uint64_t x = 0x9e3779b97f4a7c15; "
            "for (uint64_t i = 0; i < (count); i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; } "
            "burn_sink = x; } while (0)")


def one_line_burns(header):
    """truth.h with the burn as a macro, so that each piece is one line; no line moves."""
    function = re.search(r"static UNUSED NOINLINE void burn_steps.*?\n}\n", header, re.DOTALL)
    if not function:
        raise ValueError("truth.h: burn_steps is not where it was")
    newlines = "\n" * function[0].count("\n")
    return header[:function.start()] + COZ_BURN + newlines + header[function.end():]


def piece_lines(header):
    """{constant: line} of the pieces."""
    return {match[1]: header.count("\n", 0, match.start()) + 1
            for match in re.finditer(r'^PIECE\(\w+, "(\w)"\)', header, re.MULTILINE)}


def coz_rate(text, piece):
    """Rounds of the piece per ns, less the delays that coz put in; None: it saw nothing of the line."""
    rounds = taken_ns = samples = 0
    for experiment in re.split(r"^experiment\t", text, flags=re.MULTILINE)[1:]:
        found = re.search(r"\tduration=(\d+)\tselected-samples=(\d+)", experiment)
        done = re.search(rf"^throughput-point\tname={piece}\tdelta=(\d+)", experiment, re.MULTILINE)
        if found and done:
            taken_ns += int(found[1])
            samples += int(found[2])
            rounds += int(done[1])
    return rounds / taken_ns if samples and rounds else None


def with_progress(header):
    """truth.h with a progress point at the end of each piece; no line moves."""
    changed = header.replace('__asm__ volatile("");', 'COZ_PROGRESS_NAMED(#name);', 1)
    if changed == header:
        raise ValueError("truth.h: the end of a piece is not where it was")
    return changed


class Coz(Runner):
    """Runs patterns of its own build under coz."""

    def __init__(self, directory, steps_per_us):
        super().__init__(directory, steps_per_us, 0)
        self.profile = os.path.join(directory, "profile.coz")
        self.words = []
        if not shutil.which("coz"):
            sys.exit("peers.py: coz is not here; scripts/setup dev installs it")
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(HERE, "truth.h"), encoding="ascii") as file:
            header = file.read()
        self.lines = piece_lines(header)
        self.header = os.path.join(directory, "truth.h")
        with open(self.header, "w", encoding="ascii") as file:
            file.write(with_progress(one_line_burns(header)))
        for name in os.listdir(HERE):
            if name.endswith(".c"):
                source = shutil.copy(os.path.join(HERE, name), directory)
                subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-g", "-gdwarf-3",
                                "-gstrict-dwarf", "-include", "coz.h", "-o", source[:-2], source,
                                "-lpthread", "-lm", "-ldl"], check=True)

    def arguments(self, command):
        program, *rest = command.split()
        return [*self.words, os.path.join(self.build, program), *rest]

    def rounds(self, pattern, cpus, makespan_ns):
        """The constants of a run that is long enough; None: it has no rounds, or no CPU to spare."""
        if "N" not in pattern.constants:
            return None
        self.words = []
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = self.run_once(pattern, self.environment(pattern, {}), cpus)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used_ns = 1e9 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if used_ns > (cpus - COZ_CPUS_SPARED) * run.figures["makespan_ns"]:
            return None
        times = math.ceil(COZ_SECONDS * 1e9 / makespan_ns)
        return {"N": str(int(pattern.constants["N"]) * times)}

    def rate(self, pattern, cpus, constant, speedup, rounds):
        self.words = ["coz", "run", "-s", os.path.join(self.build, "%"), "--fixed-line",
                      f"{self.header}:{self.lines[constant]}", "--fixed-speedup", str(speedup),
                      "-o", self.profile, "---"]
        if os.path.exists(self.profile):
            os.remove(self.profile)
        try:
            self.run_once(pattern, self.environment(pattern, rounds), cpus)
            with open(self.profile, encoding="utf-8") as file:
                return coz_rate(file.read(), f"work_{constant.lower()}")
        except (OSError, RuntimeError):
            return None

    def predict(self, rows, pattern, cpus, makespan_ns):
        """{change: points saved}, of pieces that burn."""
        found, bases = {}, {}
        rows = [row for row in rows
                if pattern.constants.get(row.change.rpartition(" ")[0], "").startswith("burn:")]
        rounds = self.rounds(pattern, cpus, makespan_ns) if rows else None
        for row in rows if rounds else []:
            constant, _, factor = row.change.rpartition(" ")
            if constant not in bases:
                bases[constant] = self.rate(pattern, cpus, constant, 0, rounds)
            changed = self.rate(pattern, cpus, constant, round(100 * (1 - float(factor))), rounds)
            if bases[constant] and changed:
                found[row.change] = 100 * (1 - bases[constant] / changed)
        return found


def first_rows(pattern, cpus, measured):
    """One row for each change and factor."""
    rows = [row for row in rows_of(pattern, cpus, measured) if not row.selector.startswith(QUESTION)]
    return [row for i, row in enumerate(rows)
            if row.group != "latency" and row.change not in [r.change for r in rows[:i]]]


def recordings_of(directory, pattern, cpus):
    found = []
    for name in sorted(os.listdir(directory)):
        if re.fullmatch(rf"{re.escape(pattern.name)}-{cpus}-\d+", name):
            place = os.path.join(directory, name)
            with open(os.path.join(place, "figures.json"), encoding="ascii") as file:
                found.append((place, json.load(file)))
    return found


def replayed(analyzer, recordings, rows, model):
    """{change: points saved} by a model."""
    reports = [(analyzer.report(place, model=model), figures) for place, figures in recordings]
    for row in rows:
        row.predictions.clear()
    predict_rows(rows, reports, [])
    return {row.change: row.predicted for row in rows if row.predictions}


def compare(pattern, cpus, measured, options, tools):
    """The lines of one pattern: [pattern, cpus, group, change, measured, {tool: points}]."""
    analyzer, coz = tools
    rows = first_rows(pattern, cpus, measured)
    recordings = recordings_of(options.dir, pattern, cpus)
    if not rows or not recordings:
        return []
    answers = {"wcprof": replayed(analyzer, recordings, rows, "threads"),
               "edges": replayed(analyzer, recordings, rows, "edges"),
               "coz": coz.predict(rows, pattern, cpus, measured["base"]["makespan_ns"]) if coz else {}}
    return [{"pattern": pattern.name, "cpus": cpus, "group": row.group, "change": row.change,
             "selector": row.selector, "measured": row.measured, "is_noisy": row.is_noisy,
             "predicted": {tool: answers[tool].get(row.change) for tool in TOOLS}} for row in rows]


def points(value):
    return "-" if value is None else f"{round(value, 1) + 0:+.1f}"  # no -0.0


def print_lines(lines):
    print("| program | CPUs | change | measured | " +
          " | ".join(f"{tool} | error" for tool in TOOLS) + " |")
    print("| --- | --: | --- | --: |" + " --: | --: |" * len(TOOLS))
    for line in lines:
        cells = []
        for tool in TOOLS:
            value = line["predicted"][tool]
            error = None if value is None else value - line["measured"]
            cells += [points(value), points(error)]
        print(f"| {line['pattern']} | {line['cpus']} | {line['change']} ({line['selector']}) | "
              f"{points(line['measured'])} | {' | '.join(cells)} |")


def sums(lines, tools):
    """[(group, rows, {tool: (mean error, worst)})] over quiet rows that all the tools answer."""
    common = [line for line in lines if not line["is_noisy"] and
              all(line["predicted"][tool] is not None for tool in tools)]
    found = []
    for group in ["all"] + sorted({line["group"] for line in common}):
        those = [line for line in common if group in ("all", line["group"])]
        errors = {tool: [abs(line["predicted"][tool] - line["measured"]) for line in those]
                  for tool in tools}
        if those:
            found.append((group, len(those), {tool: (statistics.mean(errors[tool]),
                                                     max(errors[tool])) for tool in tools}))
    return found


def sum_lines(lines, tools):
    """Those sums as a table."""
    table = [f"Rows that {', '.join(tools)} all answer: mean error in points (worst)", "",
             "| rows | of them | " + " | ".join(tools) + " |", "| --- | --: |" + " --: |" * len(tools)]
    for group, count, errors in sums(lines, tools):
        cells = [f"{errors[tool][0]:.2f} ({errors[tool][1]:.1f})" for tool in tools]
        table.append(f"| {group} | {count} | {' | '.join(cells)} |")
    return table


def main():
    parser = argparse.ArgumentParser(description="What others predict on the rows of a sweep.")
    parser.add_argument("--build", default="build", help="build directory (build)")
    parser.add_argument("--dir", help="where truth.py measured and recorded (BUILD/truth)")
    parser.add_argument("--rows", default="", metavar="REGEX", help="only patterns that match")
    parser.add_argument("--coz", action="store_true", help="run coz as well (needs a quiet machine)")
    parser.add_argument("--json", metavar="FILE", help="write all lines there")
    options = parser.parse_args()
    options.dir = os.path.abspath(options.dir or os.path.join(options.build, "truth"))
    with open(os.path.join(options.dir, "measured.json"), encoding="ascii") as file:
        kept = json.load(file)
    _, patterns = table_read(os.path.join(HERE, "truth.def"))
    coz = Coz(os.path.join(options.dir, "coz"), kept["steps_per_us"]) if options.coz else None
    lines = []
    for key, measured in kept["patterns"].items():
        name, cpus = key.rsplit(" ", 1)
        is_same = name in patterns and kept["constants"].get(key) == patterns[name].constants
        if is_same and re.search(options.rows, name) and int(cpus) <= len(os.sched_getaffinity(0)):
            print(f"{key} ...", file=sys.stderr, flush=True)
            lines += compare(patterns[name], int(cpus), measured, options,
                             (Analyzer(options.build), coz))
    print_lines(lines)
    print("", *sum_lines(lines, TOOLS[:2]), sep="\n")
    if coz:
        print("", *sum_lines(lines, TOOLS), sep="\n")
    if options.json:
        with open(options.json, "w", encoding="ascii") as file:
            json.dump(lines, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
