#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""If these fail, the rows of requests mean nothing: a wrong figure, or a range without the truth, could pass."""

import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import latency  # pylint: disable=wrong-import-position
import runs  # pylint: disable=wrong-import-position
import score  # pylint: disable=wrong-import-position
import table  # pylint: disable=wrong-import-position

TABLE = """GROUP("latency", 5, "")
GROUP("outside", 5, "")
PATTERN("serve", "serve it", "latency", "1", "CLIENTS=threads A=sleep:600")
CHANGE("serve", "A", "0.5", "requests of sleep work_a")
PATTERN("serve-open", "serve it", "latency", "1", "CLIENTS=outside M=100 A=sleep:600")
CHANGE("serve-open", "A", "0.5", "requests of what-if sleep work_a*{}")
"""
RUN = {"makespan_ns": 1000, "p50_ns": 100, "p95_ns": 200, "p99_ns": 400, "mean_ns": 120, "throughput": 10}
REPORT = {"actual_makespan_ns": 1000, "baseline_makespan_ns": 1e9,
          "requests": [{"is_judged": False, "count": 1, "per_second": 1},
                       {"is_judged": True, "count": 10, "per_second": 9}],
          "request_figures": [{"figure": "p50", "recorded_ns": 104, "replayed_ns": 104, "is_given": True},
                              {"figure": "p99", "recorded_ns": 400, "replayed_ns": 800, "is_given": True}],
          "request_savings": [{"class": "work_a/nanosleep", "kind": "sleep", "factor": 0.5, "per_second": 99,
                               "makespan_ns": 1e9 / 1.3,
                               "p50_saved_ns": 30, "p50_least_ns": 20, "p50_most_ns": 40,
                               "p99_saved_ns": 200, "p99_least_ns": None, "p99_most_ns": None, "mean_saved_ns": None},
                              {"class": "work_a/nanosleep", "kind": "sleep", "factor": 0, "per_second": 99,
                               "p50_saved_ns": 99}],
          "asked": [{"what_if": "sleep work_a*0.5", "saved_ns": 1, "saved_least_ns": 1, "saved_most_ns": 1,
                     "p50_saved_ns": 25}]}
SERVER = """#!/bin/sh
trap 'kill $! $(cat "$T_PIDS"); exit 0' TERM
sh -c 'sleep 60 & echo $! >"$0"; wait' "$T_PIDS" >/dev/null 2>&1 &
while ! [ -s "$T_PIDS" ]; do sleep 0.01; done
echo "makespan_ns 100000 p50_ns 5"
while :; do sleep 0.01; done
"""
WCPROF = """#!/bin/sh
[ "$1 $2" = "dump -o" ] && echo "$4" >"$3"
"""


def tables():
    """(groups, patterns) of the table above."""
    with tempfile.NamedTemporaryFile("w", suffix=".def") as file:
        file.write(TABLE)
        file.flush()
        return table.table_read(file.name)


def summary(**changed):
    """What is known of the runs of a variant."""
    return {**RUN, "spread": 0, "noisy": 0, "runs": 3, "half": {"p50_ns": 1, "throughput": 0}, **changed}


class Rows(unittest.TestCase):
    """From a pair of tables' rows to verdicts."""

    def setUp(self):
        self.groups, self.patterns = tables()

    def rows(self, name):
        """The rows of a pattern that became faster, predicted by one report."""
        measured = {"base": summary(), "A 0.5": summary(p50_ns=70, throughput=13, mean_ns=90)}
        rows = score.rows_of(self.patterns[name], 1, measured)
        score.predict_rows(rows, [(REPORT, RUN)], {})
        return {row.selector.split()[0]: row for row in rows}

    def test_each_figure_is_a_row(self):
        rows = self.rows("serve")
        self.assertEqual(list(rows), list(table.FIGURES))
        self.assertEqual({row.group for row in rows.values()}, {"latency"})
        self.assertEqual(list(self.rows("serve-open")), list(table.FIGURES[:-1]))
        self.assertEqual({row.group for row in self.rows("serve-open").values()}, {"outside"})

    def test_more_requests_are_a_gain(self):
        row = self.rows("serve")["throughput"]
        self.assertAlmostEqual(row.measured, 30)
        self.assertAlmostEqual(row.predicted, 30)

    def test_an_answer_is_of_the_same_requests(self):
        self.assertEqual(score.gained_throughput(REPORT, {"makespan_ns": 8e8, "per_second": 99}), 25)

    def test_a_slower_replay_counts_in_part(self):
        self.assertAlmostEqual(self.rows("serve")["p99"].predicted, 25)

    def test_a_figure_that_was_not_known_is_no_measure(self):
        report = {"request_figures": [{"figure": "mean", "recorded_ns": None, "replayed_ns": 5}]}
        self.assertEqual(score.part_of_requests(report, "mean"), 1)
        self.assertEqual(score.recorded_figures(report), {})

    def test_a_range_holds_the_truth_or_not(self):
        row = self.rows("serve")["p50"]
        self.assertEqual((row.ranges, row.covered), ([(20, 40)], 1))
        row.measured, row.unsure = 42, 1
        self.assertEqual(row.covered, 0)
        row.unsure = 3
        self.assertEqual(row.covered, 1)

    def test_a_question_has_figures(self):
        row = self.rows("serve-open")["p50"]
        self.assertAlmostEqual(row.predicted, 25)
        self.assertEqual(self.rows("serve-open")["p99"].verdict(self.groups), "absent")

    def test_withheld_requests_are_withheld(self):
        rows = score.rows_of(self.patterns["serve"], 1, {"base": summary(), "A 0.5": summary(p50_ns=70)})
        score.predict_rows(rows, [({**REPORT, "request_answers": "withheld"}, RUN)], {})
        self.assertEqual({row.verdict(self.groups) for row in rows}, {"withheld"})
        rows = score.rows_of(self.patterns["serve"], 1, {"base": summary(), "A 0.5": summary(p50_ns=70)})
        figures = [{"figure": "p50", "recorded_ns": 1, "replayed_ns": 1, "is_given": False}]
        score.predict_rows(rows, [({**REPORT, "request_figures": figures}, RUN)], {})
        self.assertEqual([row.verdict(self.groups) for row in rows][:1], ["withheld"])
        self.assertEqual(sum(row.withheld for row in rows), 2)  # and the mean, which is null

    def test_recorded_requests_against_their_clients(self):
        rows = {row.selector.split()[0]: row for row in score.recorded_rows(self.patterns["serve"], 1, [(REPORT, RUN)])}
        self.assertAlmostEqual(rows["p50"].error, 4)
        self.assertAlmostEqual(rows["p99"].error, 0)
        self.assertAlmostEqual(rows["throughput"].error, -10)
        self.assertIsNone(rows["p95"].error)

    def test_sums_by_figure(self):
        rows = list(self.rows("serve").values())
        rows[0].measured, rows[0].flags = 47, [False]   # 17 points beside what was said without a doubt
        found = latency.sums(rows, self.groups)["latency"]
        self.assertAlmostEqual(found["p50"]["worst"], 17)
        self.assertEqual((found["p50"]["covered"], found["p50"]["ranges"], found["p50"]["sure_and_wrong"]), (0, 1, 1))
        self.assertEqual((found["mean"]["withheld"], found["p95"]["absent"]), (1, 1))
        self.assertIn("latency", "\n".join(latency.text({"latency": found})))


class Servers(unittest.TestCase):
    """A server that goes on until it is told to end."""

    def test_is_dumped_while_it_runs_and_ended(self):
        _, patterns = tables()
        with tempfile.TemporaryDirectory() as directory:
            for name, text in (("tests/truth/serve", SERVER), ("wcprof", WCPROF)):
                path = os.path.join(directory, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="ascii") as file:
                    file.write(text)
                os.chmod(path, 0o700)
            runner = runs.Runner(directory, 100, 0)
            environment = {**runner.environment(patterns["serve-open"], {}), "T_PIDS": os.path.join(directory, "pids"),
                           "WCPROF_DIR": directory}
            run = runner.run(patterns["serve-open"], environment, 1, directory)
            dumps = [name for name in os.listdir(directory) if name.endswith(".jsonl")]
        self.assertEqual(run.figures, {"makespan_ns": 100000, "p50_ns": 5})
        self.assertGreaterEqual(len(dumps), 3)      # of the server, its child, and that one's


class Tables(unittest.TestCase):
    """The real ones."""

    def test_there_are_servers_enough(self):
        _, patterns = table.tables_read()
        services = {pattern.command for pattern in patterns.values() if "CLIENTS" in pattern.constants}
        rows = sum(len(change.selectors) * len(change.factors) for pattern in patterns.values()
                   for change in pattern.changes if "CLIENTS" in pattern.constants)
        self.assertGreaterEqual(len(services), 12)
        self.assertGreaterEqual(rows, 80)


if __name__ == "__main__":
    unittest.main()
