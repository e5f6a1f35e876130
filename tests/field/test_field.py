#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""If this failed, figures of real programs would be of other settings, questions or answers than they say."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import ask
import field
import measure
import tries
import verdicts
from programs import PROGRAMS
from settings import KINDS, Program, Setting, Variant

BUILD = os.path.abspath(os.environ.get("B", "build"))


def answer(percent, state="given", low=None, high=None, why=()):
    return {"state": state, "percent": percent, "low": percent if low is None else low,
            "high": percent if high is None else high, "why": list(why)}


def row(made, *predictions, noise=0.0, unsure=False, program="p", group="train"):
    return {"program": program, "set": group, "setting": "s", "ends": "all", "made": made, "noise": noise,
            "unsure": unsure, "as_is_s": 1, "changed_s": 1, "predictions": list(predictions)}


class Made(unittest.TestCase):
    def test_what_a_change_saves_and_how_well_that_is_known(self):
        cases = [
            # number, as it is, changed, saved, noise, unsure
            (1, [1, 1, 1], [0.5, 0.5, 0.5], 50, 0, False),
            (2, [1], [0.7], 30, 0, False),
            (3, [1, 1, 1], [1, 1, 1], 0, 0, False),                     # nothing, and that is known
            (4, [1, 2, 4], [0.5, 1, 2], 50, 100, True),                 # A against A differs by more than A and B
            (5, [1, 2, 1, 2, 1], [0.5, 1, 0.5, 1, 0.5], 50, 25, True),
            (6, [1, 1, 1], [0.5, 0.6, 0.4], 50, 10, False),             # the effect is larger
            (7, [1, 1, 1], [0.5, 1, 0.1], 50, 45, True),
            (8, [1, 1, 1], [1, 1.03, 0.95], 0, 4, False),
            (9, [1, 1, 1], [1, 1.06, 0.94], 0, 6, True),
        ]
        for i, as_is, changed, saved, noise, unsure in cases:
            found = verdicts.made(as_is, changed)
            self.assertAlmostEqual(found["made"], saved, 6, f"row {i}")
            self.assertAlmostEqual(found["noise"], noise, 6, f"row {i}")
            self.assertEqual(found["unsure"], unsure, f"row {i}")


class Verdicts(unittest.TestCase):
    CASES = [
        # number, made, noise, unsure, answer, verdict
        (1, 30, 0, False, answer(34), "right"),
        (2, 30, 0, False, answer(36), "wrong-silent"),
        (3, 30, 7, False, answer(36), "right"),
        (4, 30, 0, False, answer(0, "doubted", why=["drift"]), "wrong-flagged"),
        (5, 30, 0, False, answer(0, low=0, high=10), "wrong-flagged"),  # so wide a range says so
        (6, 30, 0, False, answer(0, low=0, high=9.9), "wrong-silent"),
        (7, 30, 0, False, answer(31, "doubted", why=["drift"]), "right-flagged"),
        (8, 30, 0, False, answer(31, "withheld", why=["drift"]), "right-withheld"),
        (9, 30, 0, False, answer(0, "withheld", why=["drift"]), "wrong-withheld"),
        (10, 30, 40, True, answer(30), "unsure"),
        (11, 30, 0, False, {"state": "refused", "why": ["there is no class"]}, "no answer"),
        (12, -30, 0, False, answer(0), "wrong-silent"),
    ]

    def test_table(self):
        for i, made, noise, unsure, one, verdict in self.CASES:
            self.assertEqual(verdicts.verdict(row(made, one, noise=noise, unsure=unsure), one), verdict, f"row {i}")

    def test_other_numbers_of_cpus_on_a_busy_machine(self):
        busy = {**answer(0), "busy": 0.5}
        for kind, expected in (("cpus", "unsure"), ("flush", "wrong-silent")):
            self.assertEqual(verdicts.verdict({**row(30, busy), "kind": kind}, busy), expected)
        for text, cpus in (("other programs seem to have had 1 of the 2 CPUs to themselves: x", 1),
                           ("the run took as long as if other programs had used 0.53 of the 2 CPUs: x", 0.53), ("", 0)):
            self.assertEqual(ask.busy_cpus({"warnings": [text]}), cpus, text)

    def test_each_recording_counts(self):
        """No median of several hides one that is wrong."""
        found = verdicts.figures([row(30, answer(30), answer(0), answer(30), answer(33, low=20, high=33))])
        self.assertEqual((found["answered"], found["confident"], found["confident_wrong"]), (4, 3, 1))
        self.assertEqual((found["right_percent"], found["within_percent"]), (75, 75))

    def test_sums(self):
        found = verdicts.figures([row(case[1], case[4], noise=case[2], unsure=case[3]) for case in self.CASES])
        self.assertEqual(found["counts"], {"right": 2, "wrong-silent": 3, "wrong-flagged": 2, "right-flagged": 1,
                                           "right-withheld": 1, "wrong-withheld": 1, "unsure": 1, "no answer": 1})
        self.assertEqual((found["right"], found["lost"], found["lost_percent"]), (4, 1, 25))
        self.assertEqual((found["confident"], found["confident_wrong_percent"]), (5, 60))
        self.assertEqual((found["answered"], found["worst"], found["unsure_rows"]), (8, 30, 1))

    def test_what_flags_wrong_answers_and_right_ones(self):
        rows = [row(30, answer(0, "doubted", why=["drift", "latency"]), answer(30, "withheld", why=["drift"])),
                row(30, answer(0), answer(31)), row(30, answer(0, low=0, high=20)),
                row(30, answer(0, "doubted", why=["drift"]), unsure=True)]
        self.assertEqual(verdicts.causes(rows), {"drift": (1, 1), "none": (1, 1), "latency": (1, 0),
                                                 "wide range": (1, 0)})

    def test_goals_that_are_missed_are_said(self):
        good, bad = (verdicts.sums_table([row(30, answer(percent))]) for percent in (30, 0))
        self.assertEqual(sum("**missed**" in line for line in good), 0)
        self.assertEqual(sum("**missed**" in line for line in bad), 4)

    def test_rows_of_what_is_held_out_are_not_printed(self):
        tables = verdicts.tables({"machine": "m", "tries": [], "rows": [row(30, answer(30), program="seen"),
                                                           row(30, answer(30), program="unseen", group="held")]})
        text = "\n".join(line for lines in tables.values() for line in lines)
        self.assertIn("seen", text)
        self.assertNotIn("unseen", text)


class Tries(unittest.TestCase):
    @staticmethod
    def row(**more):
        return {"program": "p", "class": "c", "kind": "io", "factor": 1.5, "made_percent": 5, "made_low": 4,
                "made_high": 6, "predicted_percent": 5, "predicted_low": 4.5, "predicted_high": 5.5, "agree": True,
                "withheld": None, "cannot_be_slowed": None, **more}

    def test_table(self):
        cases = [
            # number, what differs, verdict
            (1, {}, "right"), (2, {"agree": False}, "wrong"), (3, {"withheld": "drift", "agree": None}, "withheld"),
            (4, {"made_high": 30}, "unsure"), (5, {"cannot_be_slowed": "waits"}, "not slowed"),
            (6, {"made_percent": None}, "not slowed"), (7, {"predicted_percent": None, "agree": None}, "withheld"),
        ]
        rows = [self.row(**more) for _, more, _ in cases]
        for row, (i, _, expected) in zip(rows, cases):
            self.assertEqual(tries.verdict(row), expected, f"row {i}")
        self.assertEqual(tries.table(rows)[0], "7 classes of 1 programs: 2 not slowed, 1 right, 1 unsure, 2 withheld, "
                                               "1 wrong.")
        self.assertEqual(len(tries.table(rows)), 9)     # what could not be slowed has no line of its own
        self.assertEqual(tries.table(rows)[4], "| p | `io c` | 1.5 | +5.0 (+4.0..+6.0) | +5.0 (+4.5..+5.5) | right |")


class Question(unittest.TestCase):
    REPORT = {"classes": [{"kind": "io", "class": name} for name in ("f/fdatasync", "f/write", "g/fsync/x")] +
              [{"kind": "hold", "class": "fsync"}], "checks": [], "warnings": []}

    def test_all_classes_that_the_change_concerns(self):
        flush = Setting("s", "flush", asked=(r"io .*(fdatasync|fsync)(/.*)?",))
        self.assertEqual(ask.question_of(flush, self.REPORT), "io f/fdatasync*0,io g/fsync/x*0")
        half = Setting("s", "flush", asked=(r"io f/write",), factor="0.5")
        self.assertEqual(ask.question_of(half, self.REPORT), "io f/write*0.5")
        with self.assertRaises(ValueError):
            ask.question_of(Setting("s", "sleep", asked=(r"sleep .*",)), self.REPORT)

    def test_a_question_of_its_own(self):
        self.assertEqual(ask.question_of(Setting("s", "cpus", question="cpus 2"), self.REPORT), "cpus 2")
        more = Setting("s", "threads", question="threads:{}*2", asked=(r"hold fsync",))
        self.assertEqual(ask.question_of(more, self.REPORT), "threads:fsync*2")

    def test_doubts(self):
        report = {"confidence": "fair", "checks": [{"check": "drift", "state": "failed", "cause": "`f/write` is off"},
                             {"check": "drops", "state": "passed", "cause": ""}],
                  "warnings": ["`f/write` is off", "`g/poll` may be anything"]}
        self.assertEqual(ask.doubts_of(report, "io f/write*0"), ["drift"])
        self.assertEqual(ask.doubts_of(report, "poll g/poll*0"), ["drift", "warning"])
        plain = {"checks": [], "warnings": [], "confidence_reason": "no samples"}
        self.assertEqual(ask.doubts_of({**plain, "confidence": "fair"}, "a*0"), ["no samples"])
        self.assertEqual(ask.doubts_of({**plain, "confidence": "sure"}, "a*0"), [])

    def test_dumps_of_one_end_or_both(self):
        with tempfile.TemporaryDirectory() as place:
            for name in ("run.jsonl", "server0.jsonl", "x.7.jsonl", "kept.json"):
                with open(os.path.join(place, name), "w", encoding="ascii"):
                    pass
            self.assertEqual([os.path.basename(path) for path in ask.dumps(place, "server")],
                             ["server0.jsonl", "x.7.jsonl"])
            self.assertEqual(len(ask.dumps(place, "both")), 3)


class Table(unittest.TestCase):
    def test_the_table_is_sound(self):
        self.assertEqual(len({program.name for program in PROGRAMS}), len(PROGRAMS))
        for program in PROGRAMS:
            self.assertIn(program.group, ("train", "held"), program.name)
            self.assertTrue(program.needs, program.name)
            names = [setting.name for setting in program.settings]
            self.assertEqual(len(names), len(set(names)), program.name)
            for setting in program.settings:
                self.assertIn(setting.kind, KINDS, program.name)
                self.assertTrue(setting.question or setting.asked, program.name)
                self.assertLessEqual({*setting.changed, *setting.base}, {*program.words}, program.name)
                self.assertNotEqual(*field.variants_of(program, setting), f"{program.name}: {setting.name}")
                for pattern in setting.asked:
                    re.compile(pattern)

    def test_words_may_have_words(self):
        self.assertEqual(measure.words_of("a '@b@ c' @b@", {"dir": "D", "b": "@dir@/b"}), ["a", "D/b c", "D/b"])


class Script(unittest.TestCase):
    def field(self, place, *words):
        done = subprocess.run([sys.executable, os.path.join(HERE, "field.py"), "--build", BUILD, "--dir", place,
                               *words], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(os.path.join(place, "rows.json"), encoding="utf-8") as file:
            return json.load(file)["rows"], done.stdout

    def test_a_short_form_gives_rows(self):
        """Figures are not looked at: what a short load says is chance."""
        with tempfile.TemporaryDirectory() as place:
            quick = ("--quick", "--only", "^(redis|python sleep loop)$")
            rows, said = self.field(place, *quick)
            self.assertEqual([(one["program"], one["ends"]) for one in rows],
                             [("redis", "both"), ("redis", "server"), ("python sleep loop", "all")], said)
            for one in rows:
                self.assertGreater(one["as_is_s"], 0)
                self.assertIn("percent", one["predictions"][0], said)
            self.assertIn("fdatasync*0", rows[0]["predictions"][0]["question"])
            self.assertEqual(self.field(place, *quick)[0], rows)   # what is there is not made again
            again = self.field(place, *quick, "--again")[0]
            self.assertEqual([one["made"] for one in again], [one["made"] for one in rows])

    def test_what_is_not_installed_is_skipped_with_the_reason(self):
        absent = Program("absent", "train", {"no-such-program": "no-such-package"}, "", ())
        self.assertEqual(field.missing(absent), ["no-such-package"])
        self.assertEqual(field.missing(Program("there", "train", {"sh": "dash", "/bin/sh": "dash"}, "", ())), [])

    def test_what_is_held_out_is_scored_once(self):
        """Asked again are those that may be, and made those that are not there."""
        setting = Setting("s", "cpus", question="cpus 2", cpus=(1, 2))
        cases = [
            # set, --again, is there, whether it is wanted
            ("held", True, True, False), ("train", True, True, True), ("train", True, False, False),
            ("held", False, True, False), ("train", False, True, False), ("held", False, False, True),
        ]
        with tempfile.TemporaryDirectory() as place:
            for group, again, is_there, is_wanted in cases:
                options = type("Options", (), {"dir": place, "fresh": False, "again": again, "quick": False})
                sweep = field.Sweep(Program("one", group, {"sh": "dash"}, "", (setting,)), options)
                known = {name: {} for name in sweep.names(setting)} if is_there else {}
                self.assertEqual(bool(sweep.wanted(known)), is_wanted, (group, again, is_there))

    def test_recordings_that_are_made_later_have_folders_of_their_own(self):
        class Run:
            def __enter__(self):
                return self

            def __exit__(self, *error):
                return False

            def recorded(self, folder):
                return 1.0

        options = type("Options", (), {"fresh": False, "again": False, "recordings": 1})
        with tempfile.TemporaryDirectory() as place:
            options.dir = place
            sweep = field.Sweep(Program("one", "train", {"sh": "dash"}, "", ()), options)
            sweep.run = lambda variant: Run()
            os.makedirs(sweep.folder)
            variants = [Variant({"n": n}) for n in range(3)]
            for options.recordings in (1, 2):
                folders = [folder for variant in variants for folder, _ in sweep.record(variant)]
                self.assertEqual(len(set(folders)), 3 * options.recordings)
            options.recordings, options.again = 3, True     # nothing is recorded to be asked again
            self.assertEqual(len(sweep.record(variants[0])), 2)


if __name__ == "__main__":
    unittest.main()
