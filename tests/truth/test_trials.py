#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""If this failed, a trial would be held against another change than its own, or meet what it does not."""

import math
import os
import sys
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import trials
from table import Change, Pattern


def row(low, high, really):
    return trials.Row("p", 2, "A", "sleep a", really, {"made_low": low, "made_high": high})


class Trials(unittest.TestCase):
    def test_intervals_are_of_students_t(self):
        mean, low, high = trials.percent_longer([math.log(1.4), math.log(1.5), math.log(1.6)])
        middle = sum(map(math.log, (1.4, 1.5, 1.6))) / 3
        spread = math.sqrt(sum((math.log(x) - middle) ** 2 for x in (1.4, 1.5, 1.6)) / 2)
        self.assertAlmostEqual(mean, 100 * (math.exp(middle) - 1))
        self.assertAlmostEqual(low, 100 * (math.exp(middle - 4.303 * spread / math.sqrt(3)) - 1))
        self.assertAlmostEqual(high, 100 * (math.exp(middle + 4.303 * spread / math.sqrt(3)) - 1))

    def test_rows_are_pieces_that_have_a_length(self):
        changes = [Change("A", ("0.5",), ("sleep a", "p99 of sleep a", "what-if a*{}")),
                   Change("A B", ("0",), ("sleep b",)), Change("N", ("2",), ("sleep a",)),
                   Change("B", ("0",), ("func b", "thread worker"))]
        patterns = [Pattern("p", "c", "waits", [1, 2], {"A": "sleep:1", "B": "burn:2", "N": "3"}, changes),
                    Pattern("q", "c", "loaded", [2], {"A": "sleep:1", "LOAD": "1"}, changes[:1])]
        found = [one for _, one in trials.rows_of(patterns)]
        self.assertEqual([(one.pattern, one.cpus, one.constant, one.selector) for one in found],
                         [("p", 2, "A", "sleep a"), ("p", 2, "B", "func b"), ("p", 2, "B", "thread worker")])

    def test_a_class_has_its_call(self):
        report = {"classes": [{"kind": "sleep", "class": "work_ab/nanosleep"},
                              {"kind": "sleep", "class": "work_a/nanosleep"}]}
        self.assertEqual(trials.class_of(report, "sleep work_a"), "sleep work_a/nanosleep")
        self.assertEqual(trials.class_of(report, "func work_a"), "func work_a")

    def test_intervals_meet_or_do_not(self):
        self.assertTrue(row(10, 20, (15, 14, 16)).has_met)
        self.assertTrue(row(10, 20, (25, 20, 30)).has_met)
        self.assertFalse(row(10, 20, (25, 21, 30)).has_met)
        self.assertFalse(row(10, 20, (5, 1, 9)).has_met)


if __name__ == "__main__":
    unittest.main()
