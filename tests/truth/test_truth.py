#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""If these fail, the ground truth's verdicts mean nothing: a wrong prediction could pass as right.

The driver is run against a build directory of fakes: a program whose makespan follows from its
constants exactly, and an analyzer that answers what the test wants.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ablation  # pylint: disable=wrong-import-position
import runs  # pylint: disable=wrong-import-position
import score  # pylint: disable=wrong-import-position
import table  # pylint: disable=wrong-import-position
import truth  # pylint: disable=wrong-import-position

FAKE_PROGRAM = """#!/bin/sh
[ -z "$WCPROF_OUTPUT" ] || : >"$(dirname "$WCPROF_OUTPUT")/fake.1.jsonl"
unset LD_PRELOAD
a=${T_A#*:} b=${T_B#*:}
[ "$1" = calibrate ] || sleep 0.05
echo "makespan_ns $(((a + b) * 1000)) p99_ns $((a * 1000)) steps_per_us 100"
"""
FAKE_ANALYZER = """#!/bin/sh
cat "$(dirname "$0")/report.json"
"""
TABLE = """/* A comment with PATTERN("x") in it. */
GROUP("waits", 2, "")
PATTERN("fake", "fake go", "waits", "1",
        "N=10 A=sleep:600 B=burn:400")
CHANGE("fake", "A", "0.5 0", "sleep work_a", "p99 of sleep work_a")
CHANGE("fake", "B", "0.5", "func work_b")
CHANGE("fake", "A B", "0.5", "what-if sleep work_a*{},func work_b*{}")
"""


def report(saved_a, saved_b):
    """A report that promises so many nanoseconds of 1,000,000 for half of each piece."""
    return {"actual_makespan_ns": 1000000, "baseline_makespan_ns": 1000000, "dropped_events": 0,
            "request_figures": [{"figure": "p99", "recorded_ns": 600000, "replayed_ns": 900000, "is_given": True}],
            "what_if": [
                {"kind": "sleep", "class": "work_a/nanosleep",
                 "saved_ns": {"0": 2 * saved_a, "0.5": saved_a},
                 "p99_saved_ns": {"0.5": 450000}},
                {"kind": "func", "class": "work_b", "saved_ns": {"0.5": saved_b}},
                {"kind": "func", "class": "work_bb", "saved_ns": {"0.5": 999999}}],
            "asked": [{"what_if": "sleep work_a*0.5,func work_b*0.5",
                       "saved_ns": saved_a + saved_b,
                       "saved_least_ns": saved_a, "saved_most_ns": saved_a + saved_b}]}


class FakeBuild:
    """A build directory with fakes, and the table above."""

    def __init__(self, directory):
        self.directory = directory
        self.table = self.write("truth.def", TABLE, 0o600)
        for program in ("fake", "cpus"):
            self.write(f"tests/truth/{program}", FAKE_PROGRAM, 0o700)
        self.write("wcprof-analyze", FAKE_ANALYZER, 0o700)

    def write(self, name, text, mode):
        path = os.path.join(self.directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def sweep(self, answer, *arguments):
        """Runs the driver; returns exit status and {(class, change): row} of what it wrote."""
        self.write("report.json", json.dumps(answer), 0o600)
        results = os.path.join(self.directory, "results.json")
        sys.argv = ["truth.py", "--build", self.directory, "--runs", "2", "--recordings", "1",
                    "--patience", "0", "--json", results, *arguments]
        groups, patterns = table.table_read(self.table)
        options = truth.options_read()
        with contextlib.redirect_stdout(io.StringIO()):
            status = truth.Sweep(options, groups, list(patterns.values())).run()
        with open(results, encoding="ascii") as file:
            written = json.load(file)
        return status, {(row["selector"], row["change"]): row for row in written["rows"]}


class WholeRun(unittest.TestCase):
    """From table to verdict."""

    def setUp(self):
        self.old = runs.FOREIGN_SHARE_MAX, runs.FOREIGN_SHARE_ASLEEP_MAX, sys.argv
        # The machine may be busy, the fakes do not care.
        runs.FOREIGN_SHARE_MAX = runs.FOREIGN_SHARE_ASLEEP_MAX = 10
        self.directory = tempfile.TemporaryDirectory()
        self.build = FakeBuild(self.directory.name)

    def tearDown(self):
        runs.FOREIGN_SHARE_MAX, runs.FOREIGN_SHARE_ASLEEP_MAX, sys.argv = self.old
        self.directory.cleanup()

    def test_right_predictions_pass(self):
        status, rows = self.build.sweep(report(300000, 200000))
        self.assertEqual(status, 0)
        self.assertEqual(len(rows), 6)
        self.assertAlmostEqual(rows["sleep work_a", "A 0.5"]["measured"], 30)
        self.assertAlmostEqual(rows["sleep work_a", "A 0"]["measured"], 60)
        self.assertAlmostEqual(rows["sleep work_a", "A 0"]["error"], 0)
        self.assertAlmostEqual(rows["func work_b", "B 0.5"]["predicted"], 20)
        self.assertAlmostEqual(rows["p99 of sleep work_a", "A 0.5"]["error"], 0)
        question = "what-if sleep work_a*{},func work_b*{}"
        self.assertAlmostEqual(rows[question, "A B 0.5"]["measured"], 50)
        self.assertAlmostEqual(rows[question, "A B 0.5"]["predicted"], 50)
        self.assertEqual(rows["p99 of sleep work_a", "A 0"]["verdict"], "absent")

    def test_wrong_prediction_fails(self):
        status, rows = self.build.sweep(report(300000, 170000))
        self.assertEqual(status, 1)
        self.assertAlmostEqual(rows["func work_b", "B 0.5"]["error"], -3)
        self.assertEqual(rows["func work_b", "B 0.5"]["verdict"], "wrong")

    def test_what_is_withheld_is_no_answer(self):
        self.build.write("wcprof-analyze", FAKE_ANALYZER + "exit 3\n", 0o700)
        withheld = {**report(0, 0), "what_if": [], "asked": [], "answers": "withheld",
                    "checks": [{"check": "spinning", "percent": 81.2, "state": "withholds",
                                "cause": "by looking"}]}
        status, rows = self.build.sweep(withheld)
        self.assertEqual((status, {row["verdict"] for row in rows.values()}), (0, {"withheld"}))
        self.assertEqual(score.withheld_by([(withheld, {})]), ["spinning 81.2%"])
        self.assertEqual(score.withheld_by([(report(0, 0), {})]), [])

    def test_analyzer_failure_fails(self):
        self.build.write("wcprof-analyze", "#!/bin/sh\nexit 2\n", 0o700)
        self.assertEqual(self.build.sweep(report(0, 0))[0], 1)

    def test_what_cannot_be_asked_is_absent(self):
        self.build.write("wcprof-analyze", FAKE_ANALYZER.replace("cat", """case "$*" in
*what-if*) echo "--what-if: no class" >&2; exit 2 ;;
esac
cat"""), 0o700)
        status, rows = self.build.sweep({**report(300000, 200000), "asked": []})
        question = "what-if sleep work_a*{},func work_b*{}"
        self.assertEqual((status, rows[question, "A B 0.5"]["verdict"]), (0, "absent"))

    def test_missing_dump_fails(self):
        self.build.write("tests/truth/fake", "#!/bin/sh\necho makespan_ns 1 p99_ns 1\n", 0o700)
        self.assertEqual(self.build.sweep(report(300000, 200000))[0], 1)

    def test_again_needs_no_program(self):
        self.build.sweep(report(300000, 170000))
        os.remove(os.path.join(self.directory.name, "tests/truth/fake"))
        self.assertEqual(self.build.sweep(report(300000, 200000), "--again")[0], 0)

    def test_without_an_assumption(self):
        """What is worse without it is said, and nothing of one that changes nothing."""
        self.build.write("other.json", json.dumps(report(300000, 100000)), 0o600)
        self.build.write("wcprof-analyze", FAKE_ANALYZER.replace("cat", """case "$*" in
*"--without jitter"*) exec cat "$(dirname "$0")/other.json" ;;
esac
cat"""), 0o700)
        status, rows = self.build.sweep(report(300000, 200000), "--without", "jitter", "--without", "tick")
        self.assertEqual((status, rows["func work_b", "B 0.5"]["predicted"]), (0, 20))
        with open(os.path.join(self.directory.name, "results.json"), encoding="ascii") as file:
            without = json.load(file)["summary"]["without"]
        self.assertEqual({name: found["verdict"] for name, found in without.items()},
                         {"jitter": "needed by fake on 1 B 0.5 +10.0, fake on 1 A B 0.5 +10.0",
                          "tick": "makes no row better than noise"})
        self.assertAlmostEqual(without["jitter"]["groups"]["waits"]["worst"], 10)

    def test_other_patterns_measurements_are_kept(self):
        """A sweep of some patterns leaves those of all others where --again finds them."""
        self.build.sweep(report(300000, 200000))
        [path] = [os.path.join(place, "measured.json") for place, _, names in os.walk(self.directory.name)
                  if "measured.json" in names]
        with open(path, encoding="ascii") as file:
            kept = json.load(file)
        kept["patterns"]["other 1"] = kept["patterns"]["fake 1"]
        with open(path, "w", encoding="ascii") as file:
            json.dump(kept, file)
        self.build.sweep(report(300000, 200000))
        with open(path, encoding="ascii") as file:
            self.assertEqual(set(json.load(file)["patterns"]), {"fake 1", "other 1"})

    def test_unsure_measurement_is_noisy(self):
        """A program that is now fast, now slow, is run more often, and proves nothing."""
        changing = FAKE_PROGRAM.replace("echo", """[ -n "$WCPROF_OUTPUT" ] || echo >>"$0.runs"
[ $(($(wc -l <"$0.runs") % 3)) = 0 ] && [ "$b" != 200 ] && a=$((a * 2))
echo""")
        self.build.write("tests/truth/fake", changing, 0o700)
        self.build.sweep(report(300000, 200000))
        measured = self.kept()["patterns"]["fake 1"]
        self.assertEqual({key: summary["runs"] for key, summary in measured.items()
                          if key in ("base", "A 0.5")},
                         {"base": 2 * runs.TIMES_MAX, "A 0.5": 2 * runs.TIMES_MAX})

    def kept(self):
        with open(os.path.join(self.directory.name, "truth", "measured.json"),
                  encoding="ascii") as file:
            return json.load(file)

    def test_all_patterns_take_turns(self):
        """A machine that is slow for a while is so for all of them, and for what is recorded."""
        logging = FAKE_PROGRAM.replace("unset", 'echo "$1${WCPROF_OUTPUT:+ recorded}" >>"$0.runs"\nunset')
        self.build.write("tests/truth/fake", logging, 0o700)
        self.build.write("truth.def", TABLE + TABLE.partition("GROUP")[2].partition("\n")[2]
                         .replace('"fake', '"other').replace('"other go', '"fake still'), 0o600)
        self.build.sweep(report(300000, 200000), "--runs", "6", "--recordings", "2")
        with open(os.path.join(self.directory.name, "tests/truth/fake.runs"),
                  encoding="ascii") as file:
            kinds = [line.strip() for line in file]
        runs_each = truth.TURNS * len(self.kept()["patterns"]["fake 1"])
        self.assertEqual(kinds, (["go"] * runs_each + ["go recorded"] + ["still"] * runs_each +
                                 ["still recorded"]) * 2)

    def test_load_is_there_meanwhile(self):
        """It begins before the program ends, and ends with it; its session is as the table says."""
        waiting = FAKE_PROGRAM.replace("unset", """until [ -s "$0.load" ]; do sleep 0.01; done
cut -d' ' -f6 "/proc/$$/stat" >"$0.session"
unset""")
        path = self.build.write("tests/truth/fake", waiting, 0o700)
        for kind, is_ours in (("LOAD", False), ("NEIGHBOURS", True)):
            pattern = table.Pattern("fake", "fake go", "waits", [1],
                                    {"A": "burn:600", "B": "burn:400", kind: "1"})
            runner = runs.Runner(self.directory.name, 100, 0)
            load = ["sh", "-c", f"echo $$ >{path}.load; exec sleep 100"]
            with unittest.mock.patch.object(runs, "LOAD", load):
                runner.run(pattern, runner.environment(pattern, {}), 1)
            with open(f"{path}.load", encoding="ascii") as file:
                self.assertRaises(ProcessLookupError, os.kill, int(file.read()), 0)
            with open(f"{path}.session", encoding="ascii") as file:
                self.assertEqual(int(file.read()) == os.getsid(0), is_ours, kind)
            os.remove(f"{path}.load")

    def test_measure_only_needs_no_analyzer(self):
        os.remove(os.path.join(self.directory.name, "wcprof-analyze"))
        status, rows = self.build.sweep(report(0, 0), "--measure-only", "--quick")
        self.assertEqual((status, len(rows)), (0, 4))


class Measurements(unittest.TestCase):
    """How well a median is known."""

    def test_half_width(self):
        cases = [
            # number, values, half the interval
            (1, [5.0], 0),
            (2, [1.0, 3.0], 1),                             # too few: all of them
            (3, [7, 1, 2, 3, 4, 5, 90], 2.5),               # the second from either end
            (4, [100] * 6 + [200] * 1, 0),                  # seldom slow: the median is known
            (5, [100] * 4 + [200] * 3, 50),                 # often slow: it is not
            (6, [100] * 15 + [200] * 6, 0),                 # nor more often by more runs
        ]
        for i, values, expected in cases:
            self.assertEqual(runs.half_width(values), expected, f"row {i}")

    def test_unsure(self):
        base = {"makespan_ns": 1000, "half": {"makespan_ns": 30}}
        self.assertAlmostEqual(runs.unsure_points(base, {"makespan_ns": 500, "half": {
            "makespan_ns": 20}}), 2.5)
        self.assertFalse(runs.is_unsure(base, base))
        self.assertTrue(runs.is_unsure(base, {"makespan_ns": 500, "half": {"makespan_ns": 50}}))
        self.assertFalse(runs.is_unsure({"makespan_ns": 1000}, {"makespan_ns": 500}))
        measured = {"base": base, "A 0.5": {"makespan_ns": 500, "half": {"makespan_ns": 90}}}
        for summary in measured.values():
            summary.update(spread=0, noisy=0, runs=7)
        pattern = table.Pattern("p", "p p", "waits", [2], {})
        pattern.changes = [table.Change("A", ["0.5"], ["a"])]
        self.assertEqual([row.is_noisy for row in score.rows_of(pattern, 2, measured)], [True])
        measured["A 0.5"]["half"]["makespan_ns"] = 10
        self.assertEqual([row.is_noisy for row in score.rows_of(pattern, 2, measured)], [False])


class Verdicts(unittest.TestCase):
    """One row each: measured, predictions, word expected."""

    def test_table(self):
        cases = [
            # number, measured, predictions, noisy, verdict
            (1, 30.0, [31.0], False, ""),
            (2, 30.0, [33.0], False, "wrong"),
            (3, 30.0, [0.0, 30.0, 31.0], False, ""),    # the middle one counts
            (4, 30.0, [-30.0], False, "sign"),
            (5, -42.0, [0.0], False, "sign"),           # a loss that is not foretold
            (6, -42.0, [-43.0], False, ""),
            (7, -1.0, [0.5], False, ""),                # too small to have a sign
            (8, -2.5, [0.0], False, "sign"),
            (9, 0.0, [-1.5], False, ""),
            (10, 30.0, [], False, "absent"),
            (11, 30.0, [0.0], True, "noisy"),
        ]
        for i, measured, predictions, noisy, verdict in cases:
            row = score.Row("p", 2, "waits", "c", "A 0.5", measured, noisy, True, predictions)
            self.assertEqual(row.verdict({"waits": 2}), verdict, f"row {i}")
        row = score.Row("p", 2, "adaptive", "c", "A 0.5", 30.0, False, True, [0.0])
        self.assertEqual(row.verdict({"adaptive": 0}), "")

    def test_order_of_the_best(self):
        rows = [score.Row("p", 2, "waits", name, f"{name} 0.5", measured, False, True, [predicted])
                for name, measured, predicted in
                (("A", 30, 10), ("B", 20, 25), ("C", 10, 1), ("D", 9.5, 40))]
        self.assertEqual(score.rank_agreement(rows), (2, 3))

    def test_goals(self):
        def row(group, error, flag=False):
            return score.Row("p", 2, group, "s", "A 0.5", 10.0, False, False,
                             predictions=[10.0 + error], flags=[flag])

        def missed(rows):
            return [text for text, _, is_met in score.goals(rows, {"waits": 2, "crowded": 5})
                    if not is_met]
        good = [row("waits", 0.1) for _ in range(80)]
        self.assertEqual(missed(good), [])
        self.assertEqual(missed(good[1:]), ["at least 80 rows"])
        self.assertEqual(missed(good + [row("waits", 3)]), ["waits: none above 2.5"])
        self.assertEqual(missed(good + [row("crowded", 5, True)] + [row("crowded", 0)] * 2), [])
        self.assertEqual(missed(good + [row("crowded", 5)] + [row("crowded", 0)] * 2),
                         ["crowded: above 4 flagged by the report"])
        self.assertIn("no wrong sign", missed(good + [row("crowded", -20)]))

    def test_flags(self):
        entry = {"kind": "sleep", "class": "a", "saved_ns": {"0.5": 5},
                 "saved_least_ns": {"0.5": 4}, "saved_most_ns": {"0.5": 7}}
        text = {"what_if": [entry], "actual_makespan_ns": 100}
        self.assertTrue(score.is_flagged(text, {}, "sleep a", "0.5"))
        entry["saved_most_ns"] = {"0.5": 5}
        self.assertFalse(score.is_flagged(text, {}, "sleep a", "0.5"))
        entry["depends_on_cpus"] = True
        self.assertTrue(score.is_flagged(text, {}, "p99 of sleep a", "0.5"))
        answer = {"what_if": "a*0.5", "saved_least_ns": 4, "saved_most_ns": 7}
        text["asked"] = [answer]
        self.assertTrue(score.is_flagged(text, {}, "what-if a*{}", "0.5"))
        self.assertFalse(score.is_flagged(text, {}, "what-if a*{}", "0"))
        answer["saved_most_ns"] = 5
        self.assertFalse(score.is_flagged(text, {}, "what-if a*{}", "0.5"))

    def test_doubts_flag_all_answers(self):
        def flags(*checks):
            text = {"what_if": [], "actual_makespan_ns": 100,
                    "checks": [{"check": name, "cause": cause} for name, cause in checks]}
            return [score.is_flagged(text, {}, selector, "0.5") for selector in ("a", "p99 of a")]

        self.assertEqual(flags(("drift", ""), ("latency", "")), [False, False])
        self.assertEqual(flags(("drift", ""), ("latency", "is off")), [False, True])
        self.assertEqual(flags(("drift", "is off"), ("latency", "")), [True, True])

    def test_crossing(self):
        pattern = table.Pattern("p", "p p", "crowded", [1, 2], {})
        measured = {cpus: {"base": {"makespan_ns": makespan_ns, "noisy": 0, "runs": 7}}
                    for cpus, makespan_ns in ((1, 1500), (2, 1000))}

        def errors(cpus, other):
            rows = score.crossing_rows(pattern, cpus, measured)
            recorded = {"baseline_makespan_ns": measured[cpus]["base"]["makespan_ns"]}
            score.predict_rows(rows, [(recorded, {"makespan_ns": recorded["baseline_makespan_ns"]})],
                               {other: [({"baseline_makespan_ns": 1200}, {})]})
            return [(row.change, row.selector, round(row.measured), round(row.error)) for row in rows]

        self.assertEqual(errors(1, 2), [("recorded on 1", "--cpus 2", 33, -13)])
        self.assertEqual(errors(2, 1), [("recorded on 2", "--cpus 1", -50, 30)])
        self.assertEqual(score.crossing_rows(pattern, 1, {1: measured[1]}), [])


class Without(unittest.TestCase):
    """What leaving an assumption out says of it."""

    def test_verdicts(self):
        def row(predictions, unsure=0.0, noisy=False):
            return score.Row("p", 2, "waits", "c", "A 0.5", 30.0, noisy, True, predictions, [False] * 9,
                             unsure=unsure)
        cases = [
            # number, usual, without, verdict
            (1, row([30]), row([33]), "needed by p on 2 A 0.5 +3.0"),
            (2, row([33]), row([30]), "makes no row better than noise; better without: p on 2 A 0.5 -3.0"),
            (3, row([30], 4), row([33], 4), "makes no row better than noise"),   # the truth is not known so well
            (4, row([28, 30, 35]), row([33, 33, 33]), "makes no row better than noise"),    # recordings differ
            (5, row([30], noisy=True), row([60], noisy=True), "makes no row better than noise"),
            (6, row([30]), row([]), "1 rows are withheld without it"),
            (7, row([]), row([30]), "makes no row better than noise; 1 rows are withheld with it"),
            (8, row([29]), row([31]), "makes no row better than noise"),    # as far off, on the other side
        ]
        for i, usual, without, verdict in cases:
            effect = ablation.compare("x", [usual], [without], {"waits": 2})
            self.assertEqual(effect.verdict, verdict, f"row {i}")

    def test_answers_that_do_not_say_that_they_are_unsure(self):
        rows = [score.Row("p", 2, "waits", "c", "A 0.5", 30.0, False, True, [30.0 + error], [flag])
                for error, flag in ((9, False), (9, True), (1, False))]
        self.assertEqual(ablation.unsaid(rows), 1)

    def test_names(self):
        known = ablation.names_read()
        self.assertIn("copy", known)
        self.assertEqual(ablation.names_wanted(["all"], known), known)
        self.assertEqual(ablation.names_wanted(["copy", "copy"], known), ["copy"])
        self.assertRaises(ValueError, ablation.names_wanted, ["luck"], known)


class Table(unittest.TestCase):
    """The real table, and how its values are changed."""

    def test_scaled(self):
        for value, factor, expected in (("burn:100", 0.5, "burn:50"), ("sleep:2000", 0, "sleep:0"),
                                        ("64", 0.5, "32")):
            self.assertEqual(table.scaled(value, factor), expected)

    def test_real_table_is_sound(self):
        _, patterns = table.table_read(os.path.join(truth.HERE, "truth.def"))
        self.assertGreater(len(patterns), 50)
        for pattern in patterns.values():
            self.assertTrue(pattern.changes, pattern.name)
            keys = [change.constant for change in pattern.changes]
            self.assertEqual(len(keys), len(set(keys)), pattern.name)


if __name__ == "__main__":
    unittest.main()
