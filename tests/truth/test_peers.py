#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""If this failed, others would be said to have predicted what they did not."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import peers
from table import Change, Pattern


def line(measured, wcprof, edges, coz=None, group="waits", is_noisy=False):
    return {"pattern": "p", "cpus": 2, "group": group, "change": "A 0", "selector": "s",
            "measured": measured, "is_noisy": is_noisy,
            "predicted": {"wcprof": wcprof, "edges": edges, "coz": coz}}


class Peers(unittest.TestCase):
    def test_pieces_stay_on_their_lines(self):
        with open(os.path.join(HERE, "truth.h"), encoding="ascii") as file:
            header = file.read()
        changed = peers.one_line_burns(header)
        self.assertEqual(sorted(peers.piece_lines(header)), list("ABCDE"))
        self.assertEqual(peers.piece_lines(changed), peers.piece_lines(header))
        self.assertNotIn("void burn_steps", changed)
        with self.assertRaises(ValueError):
            peers.one_line_burns(changed)

    def test_a_piece_is_a_progress_point(self):
        with open(os.path.join(HERE, "truth.h"), encoding="ascii") as file:
            header = file.read()
        changed = peers.with_progress(header)
        self.assertIn("COZ_PROGRESS_NAMED(#name);", changed)
        self.assertEqual(peers.piece_lines(changed), peers.piece_lines(header))
        with self.assertRaises(ValueError):
            peers.with_progress(changed)

    def test_what_coz_says(self):
        experiment = "experiment\tselected=truth.h:1\tspeedup=0.50\tduration=70\tselected-samples={}\n" \
                     "throughput-point\tname=work_a\tdelta=7\nthroughput-point\tname=work_b\tdelta=1\n"
        text = "startup\ttime=1\n" + experiment.format(3) + experiment.format(0)
        self.assertEqual(peers.coz_rate(text, "work_a"), 0.1)
        self.assertEqual(peers.coz_rate(text, "work_b"), 1 / 70)
        self.assertIsNone(peers.coz_rate(text, "work_c"))
        self.assertIsNone(peers.coz_rate("startup\ttime=1\n" + experiment.format(0), "work_a"))
        self.assertIsNone(peers.coz_rate("startup\ttime=1\n", "work_a"))

    def test_a_change_is_one_row(self):
        pattern = Pattern("p", "c", "waits", [2], {"A": "burn:1"},
                          [Change("A", ("0",), ("sleep a", "func a")),
                           Change("B", ("0",), ("what-if a*0",)),
                           Change("C", ("0",), ("p99 of sleep c",))])
        figures = {"makespan_ns": 100, "p99_ns": 10, "noisy": 0, "runs": 3, "spread": 0}
        measured = {key: figures for key in ("base", "A 0", "B 0", "C 0")}
        rows = peers.first_rows(pattern, 2, measured)
        self.assertEqual([row.selector for row in rows], ["sleep a"])

    def test_sums_are_over_common_quiet_rows(self):
        lines = [line(10, 11, 20), line(10, 13, 10, coz=0), line(10, 90, 90, is_noisy=True),
                 line(10, None, 50, coz=50), line(10, 8, 10, coz=10, group="crowded")]
        self.assertEqual(peers.sums(lines, ("wcprof", "edges")),
                         [("all", 3, {"wcprof": (2, 3), "edges": (10 / 3, 10)}),
                          ("crowded", 1, {"wcprof": (2, 2), "edges": (0, 0)}),
                          ("waits", 2, {"wcprof": (2, 3), "edges": (5, 10)})])
        self.assertEqual([row[:2] for row in peers.sums(lines, peers.TOOLS)],
                         [("all", 2), ("crowded", 1), ("waits", 1)])
        self.assertEqual(peers.points(None), "-")


if __name__ == "__main__":
    unittest.main()
