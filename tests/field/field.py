#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts what settings of real programs bring, sets them, and says how often the answer can be trusted.

For each program of programs.py: all variants that its settings need are run in turns, so that a machine that is slow
for a while is so for all of them; medians count. Then each variant that is a setting's "as it is" is recorded, in runs
of its own. Of each recording, one by one, the analyzer is asked what the change would save: what counts are single
recordings, as a user has one. Programs that are not installed are left out, with the package that has them.

Results stay in BUILD/field, a file for each program: what is there already is not done again (--fresh does).
Programs of the set "held" are scored once, by the analyzer that is there when they are recorded: --again does
not touch them. Nothing fails for a figure; a program that cannot be run is a failure.
"""

import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "truth")]

import ask
import measure
import tries
import verdicts
from programs import PROGRAMS
from runs import machine
from settings import Variant

COMMIT = subprocess.run(["git", "-C", HERE, "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                        check=False).stdout.strip() or "an unknown version"
RUNS, RECORDINGS = 7, 2     # with seven, a run that something else held up does not widen what is known


def variants_of(program, setting, is_short=False):
    """(as it is, changed)."""
    words = {**program.words, **setting.base}
    if is_short and program.size:
        words[program.size] = words[program.size] // 10
    return Variant(words, setting.cpus[0]), Variant({**words, **setting.changed}, setting.cpus[1])


def key_of(variant):
    words = [f"{name}={value}" for name, value in sorted(variant.words.items())]
    return " ".join(words + ([f"cpus={variant.cpus}"] if variant.cpus else [])) or "as it is"


def missing(program):
    """The packages that it needs and that are not here."""
    path = f"{os.environ['PATH']}:{measure.PLACES}"
    return sorted({package for name, package in program.needs.items()
                   if not shutil.which(name, path=path) and not glob.glob(name)})


def folder_name(text):
    return re.sub(r"[^a-zA-Z0-9]+", "-", text).strip("-")


class Sweep:
    """What is measured, recorded and asked of one program; all of it is kept in a file."""

    def __init__(self, program, options):
        self.program, self.options = program, options
        self.folder = os.path.join(options.dir, folder_name(program.name))
        self.data = os.path.join(self.folder, "data")
        self.path = os.path.join(self.folder, "kept.json")
        self.kept = {"seconds": {}, "recorded": {}, "rows": {}}     # and what was tried
        if os.path.exists(self.path) and not options.fresh:
            with open(self.path, encoding="utf-8") as file:
                self.kept = json.load(file)

    def save(self):
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.kept, file, indent=1)
        os.replace(self.path + ".new", self.path)

    def make_data(self):
        """What `once` makes: once for ever, as it is the same for all runs."""
        if os.path.isdir(self.data):
            return
        making = self.data + ".new"
        shutil.rmtree(making, ignore_errors=True)
        os.makedirs(making)
        if self.program.user:
            shutil.chown(making, self.program.user)
        environment = {**os.environ, "PATH": f"{os.environ['PATH']}:{measure.PLACES}"}
        for command in self.program.once:
            done = subprocess.run(measure.words_of(command, {"data": making, "here": HERE}), cwd=making, check=False,
                                  capture_output=True, text=True, user=self.program.user or None, env=environment)
            if done.returncode:
                raise measure.RunError(f"{command[:60]}: {done.stderr.strip()[-300:]}")
        os.rename(making, self.data)

    def run(self, variant):
        return measure.Run(self.program, variant, self.options.build, self.data)

    def measure(self, variants):
        """Runs of all variants that have too few, in turns, and in turning order."""
        for turn in range(self.options.runs):
            order = variants if turn % 2 == 0 else variants[::-1]
            for variant in order:
                taken = self.kept["seconds"].setdefault(key_of(variant), [])
                if len(taken) <= turn:
                    with self.run(variant) as run:
                        taken.append(run.seconds())
                    self.save()

    def record(self, variant):
        """[(folder, seconds)] of the variant's recordings."""
        recorded = self.kept["recorded"]
        found = recorded.setdefault(key_of(variant), [])
        number = 1 + list(recorded).index(key_of(variant))
        while len(found) < self.options.recordings and not self.options.again:
            name = f"{number}-{len(found)}"
            folder = os.path.join(self.folder, name)
            shutil.rmtree(folder, ignore_errors=True)
            with self.run(variant) as run:
                found.append([name, run.recorded(folder)])
            self.save()
        return [(os.path.join(self.folder, name), seconds) for name, seconds in found[:self.options.recordings]]

    def variants_of(self, setting):
        return variants_of(self.program, setting, self.options.quick)

    def row(self, setting, ends):
        """What is predicted from each recording of a setting."""
        predictions = [ask.predict(self.options.build, folder, ends, seconds, setting)
                       for folder, seconds in self.record(self.variants_of(setting)[0])]
        return {"program": self.program.name, "set": self.program.group, "setting": setting.name, "kind": setting.kind,
                "ends": ends, "analyzer": COMMIT, "predictions": predictions}

    def with_made(self, setting, row):
        """The row, with what the runs that there are by now say."""
        seconds = [self.kept["seconds"][key_of(variant)] for variant in self.variants_of(setting)]
        return {**row, **verdicts.made(*seconds)}

    def tries(self):
        """What wcprof try found of classes of the program, once."""
        if "tries" not in self.kept and self.options.tries and self.program.tried:
            os.makedirs(self.folder, exist_ok=True)
            self.make_data()
            self.kept["tries"] = tries.rows_of(self.program, Variant(self.program.words), self.options.build, self.data)
            self.save()
        return self.kept.get("tries", [])

    def wanted(self, known):
        """Settings without rows; those with rows, when they are to be asked again."""
        if self.options.again:
            return [one for one in self.settings() if self.program.group == "train" and self.names(one) <= known.keys()]
        return [one for one in self.settings() if not self.names(one) <= known.keys()]

    def settings(self):
        return self.program.settings[:1] if self.options.quick else self.program.settings

    def names(self, setting):
        return {self.name(setting, ends) for ends in self.program.ends}

    def name(self, setting, ends):
        return f"{setting.name}: {', then '.join(key_of(one) for one in self.variants_of(setting))}, {ends}"

    def rows(self):
        """All rows of the program; what is there already is not made again."""
        os.makedirs(self.folder, exist_ok=True)
        known, variants = self.kept["rows"], []
        for setting in self.settings():
            variants += [one for one in self.variants_of(setting) if one not in variants]
        if not self.options.again and not self.options.tries:
            self.make_data()
            self.measure(variants)
        for setting in () if self.options.tries else self.wanted(known):
            for ends in self.program.ends:
                known[self.name(setting, ends)] = self.row(setting, ends)
            self.save()
        return [self.with_made(setting, known[self.name(setting, ends)]) for setting in self.settings()
                for ends in self.program.ends if self.name(setting, ends) in known]


def options_read():
    parser = argparse.ArgumentParser(description="Settings of real programs, predicted and made.")
    parser.add_argument("--build", default="build", help="build directory (build)")
    parser.add_argument("--dir", help="where recordings and results stay (BUILD/field)")
    parser.add_argument("--only", default="", metavar="REGEX", help="only programs that match")
    parser.add_argument("--set", choices=("train", "held", "all"), default="train", help="which of them (train)")
    parser.add_argument("--runs", type=int, help=f"runs of each variant ({RUNS})")
    parser.add_argument("--recordings", type=int, help=f"recordings of what is asked about ({RECORDINGS})")
    parser.add_argument("--quick", action="store_true", help="the first setting of each, short, 1 run, 1 recording")
    parser.add_argument("--try", dest="tries", action="store_true",
                        help="only make classes slower for real, with wcprof try")
    parser.add_argument("--again", action="store_true", help="only analyze again what is recorded (train)")
    parser.add_argument("--list", action="store_true", help="only list the programs, and what is not installed")
    parser.add_argument("--fresh", action="store_true", help="forget what is kept of these programs")
    parser.add_argument("--urgent", action="store_true", help="before all else that the machine does (root)")
    parser.add_argument("--json", metavar="FILE", help="write all rows there (BUILD/field/rows.json)")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.dir = os.path.abspath(options.dir or os.path.join(options.build, "field"))
    options.json = options.json or os.path.join(options.dir, "rows.json")
    options.runs = options.runs or (1 if options.quick else RUNS)
    options.recordings = options.recordings or (1 if options.quick else RECORDINGS)
    return options


def chosen(options):
    return [program for program in PROGRAMS if re.search(options.only, program.name) and
            options.set in ("all", program.group)]


def all_rows(options):
    """(rows, what was tried, programs that are not installed, failures)."""
    rows, tried, absent, failures = [], [], {}, []
    for program in chosen(options):
        if missing(program):
            absent[program.name] = missing(program)
            print(f"{program.name}: skipped, as there is no {' '.join(absent[program.name])}", flush=True)
            continue
        try:
            sweep = Sweep(program, options)
            found, slowed = sweep.rows(), sweep.tries()
        except (OSError, measure.RunError, subprocess.SubprocessError) as error:
            failures.append(f"{program.name}: {error}")
            print(f"{program.name}: FAILED: {error}", flush=True)
            continue
        rows += found
        tried += slowed
        for row in slowed if options.tries else ():
            print(tries.text(row), flush=True)
        for row in found if not options.tries else ():
            print(verdicts.row_text(row), flush=True)
    return rows, tried, absent, failures


def print_list(options):
    for program in chosen(options):
        wanted = missing(program)
        print(f"{program.group:6}{program.name}: {len(program.settings)} settings" +
              (f"; apt-get install {' '.join(wanted)}" if wanted else ""))


def main():
    options = options_read()
    if options.list:
        print_list(options)
        return 0
    if options.urgent:
        measure.be_urgent()
    os.makedirs(options.dir, exist_ok=True)
    rows, tried, absent, failures = all_rows(options)
    for name in ("held", "train"):
        print(*verdicts.sums([row for row in rows if row["set"] == name], name), sep="\n")
    with open(options.json, "w", encoding="utf-8") as file:
        json.dump({"machine": machine(), "rows": rows, "tries": tried, "absent": absent, "failures": failures}, file,
                  indent=1)
    return 1 if failures or not rows and not tried else 0


if __name__ == "__main__":
    sys.exit(main())
