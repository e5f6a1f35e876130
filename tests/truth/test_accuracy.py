#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""If this failed, the documentation would show figures that no sweep found."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import accuracy


def row(measured, predictions, flags=(), is_noisy=False, change="A 0", selector="a|b"):
    return {"pattern": "p", "cpus": 2, "group": "waits", "change": change, "selector": selector,
            "measured": measured, "is_noisy": is_noisy, "predictions": predictions,
            "flags": list(flags), "predicted": predictions[0] if predictions else None}


def peer(**predicted):
    return {"pattern": "p", "cpus": 2, "change": "A 0", "selector": "a|b",
            "predicted": {"wcprof": 99, "edges": None, "coz": None, **predicted}}


class Accuracy(unittest.TestCase):
    def test_a_row_has_what_each_tool_says(self):
        rows = accuracy.joined({"rows": [row(10, [11], [True])]},
                               [[peer(edges=4, coz=1)], [peer(coz=30)], [peer()]])
        self.assertEqual(rows[0]["predicted"], {"wcprof": 11, "edges": 4, "coz": 30})
        self.assertEqual(accuracy.row_line(rows[0]),
                         "| p | 2 | A 0: `a\\|b` | +10.0 | +11.0 ~ | +1.0 | +4.0 | -6.0 | +30.0 | +20.0 |")

    def test_no_error_without_answer_or_quiet(self):
        rows = accuracy.joined({"rows": [row(10, []), row(10, [11], is_noisy=True),
                                         row(-0.01, [-9], change="edges on 2",
                                             selector="--cpus 1")]}, [])
        lines = [accuracy.row_line(one) for one in rows]
        self.assertEqual(lines[0], "| p | 2 | A 0: `a\\|b` | +10.0 | - | - | - | - | - | - |")
        self.assertEqual(lines[1], "| p | 2 | A 0: `a\\|b` | noisy | +11.0 | - | - | - | - | - |")
        self.assertEqual(lines[2], "| p | 2 | edges on 2: `--cpus 1` | +0.0 | -9.0 | -9.0 | - | - | - | - |")

    def test_a_withheld_answer_is_told_from_none(self):
        rows = accuracy.joined({"rows": [{**row(10, []), "verdict": "withheld"}]}, [[peer(edges=4)]])
        self.assertEqual(accuracy.row_line(rows[0]),
                         "| p | 2 | A 0: `a\\|b` | +10.0 | withheld | - | +4.0 | -6.0 | - | - |")

    def test_only_known_tables_are_replaced(self):
        text = "a\n<!-- accuracy one -->\nold\n<!-- end -->\nb\n<!-- accuracy two -->\nkept\n<!-- end -->\n"
        self.assertEqual(accuracy.put(text, {"one": ["x", "y"]}), text.replace("old", "x\ny"))
        self.assertEqual(accuracy.put(accuracy.put(text, {"one": []}), {"one": ["old"]}), text)

    def test_every_table_has_its_place(self):
        text = ""
        for path in accuracy.FILES:
            with open(path, encoding="utf-8") as file:
                text += file.read()
        for name in ("groups", "machine", "peers", "rows", "held", "train", "tries", "doubts",
                     "settings"):
            self.assertIn(f"<!-- accuracy {name} -->\n", text)

    def test_groups_have_their_meaning(self):
        groups = accuracy.meanings(os.path.join(HERE, "truth.def"))
        self.assertEqual(sorted(groups), ["adaptive", "crossing", "crowded", "latency", "loaded",
                                          "outside", "recorded", "waits"])


if __name__ == "__main__":
    unittest.main()
