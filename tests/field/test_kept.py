#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""If this failed, answers would have become worse: those of kept.json, about recordings whose truth was measured.

An answer may not be further off than its bound, and may not fall back: from right to withheld or wrong, from wrong and
flagged to wrong and silent. One that got better is said: keep.py --update writes that down.
"""

import os
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import keep
import verdicts

BUILD = os.path.abspath(os.environ.get("B", "build"))
RANKS = list(verdicts.STATES)


def complaint(row, found):
    """What is worse than the table has it; None if nothing is."""
    if found["state"] == "refused":
        return f"no answer: {found['why'][0]}"
    state, error = verdicts.state(row, found), abs(found["percent"] - row["made"])
    text = (f"{row['program']}, {row['setting']}: made {row['made']:+.1f}, predicted {found['percent']:+.1f} "
            f"({found['low']:+.1f}..{found['high']:+.1f}) {' '.join(found['why'])}")
    if RANKS.index(state) < RANKS.index(row["state"]):
        return f"{text}: {state}, and was {row['state']}"
    return f"{text}: off by {error:.1f}, bound {row['bound']}" if error > row["bound"] else None


class Kept(unittest.TestCase):
    def test_no_answer_is_worse(self):
        rows = keep.table_read()
        self.assertGreaterEqual(len(rows), 25)
        for row in rows:
            with self.subTest(row["name"]):
                found = keep.answer(BUILD, row)
                self.assertIsNone(complaint(row, found))
                state = verdicts.state(row, found)
                if state != row["state"]:
                    print(f"{row['name']} is {state}, and was {row['state']}: keep.py --update")

    def test_worse_is_worse(self):
        """Each way in which an answer can fall back, and those in which it does not."""
        def found(percent, state="given", high=None):
            return {"state": state, "percent": percent, "low": percent, "high": high or percent, "why": []}
        cases = [
            # number, state before, bound, answer, whether that is worse
            (1, "right", 3, found(48), False), (2, "right", 3, found(46.9), True),
            (3, "right", 60, found(0), True), (4, "right", 3, found(50, "withheld"), True),
            (5, "right", 3, found(50, "doubted"), False),
            (6, "wrong-flagged", 60, found(0), True), (7, "wrong-flagged", 60, found(0, "doubted"), False),
            (8, "wrong-flagged", 60, found(0, high=30), False), (9, "wrong-flagged", 40, found(0, "withheld"), True),
            (10, "wrong-silent", 60, found(0), False), (11, "wrong-silent", 60, found(50), False),
            (12, "lost", 3, found(50), False), (13, "lost", 3, found(50, "withheld"), False),
            (14, "lost", 60, found(0, "withheld"), True),
            (15, "right", 3, {"state": "refused", "why": ["gone"]}, True),
        ]
        for i, state, bound, answer, is_worse in cases:
            row = {"program": "p", "setting": "s", "made": 50, "noise": 0, "unsure": False, "state": state,
                   "bound": bound}
            self.assertEqual(complaint(row, answer) is not None, is_worse, f"row {i}")

    def test_recordings_are_small_and_say_nothing_of_a_machine(self):
        names = {row["name"] + ".wcprof.zst" for row in keep.table_read()}
        self.assertEqual(names, set(os.listdir(keep.RECORDINGS)))
        for name in sorted(names):
            path = os.path.join(keep.RECORDINGS, name)
            self.assertLessEqual(os.path.getsize(path), keep.BYTES_MAX, name)
            text = subprocess.run(["zstd", "-dc", path], capture_output=True, check=True).stdout
            text = text.decode(errors="replace")
            for pattern in keep.FORBIDDEN:
                self.assertIsNone(re.search(pattern, text), f"{name}: {pattern}")
            self.assertEqual(set(re.findall(r'"host":"([^"]*)"', text)), {"machine"}, name)

    def test_paths_are_taken_out(self):
        place = os.path.realpath(os.path.join(HERE, "..", ".."))
        text = f'"{place}/build/libwcprof.so" "{place}/tests/x" "/var/tmp/wcprof-field.ab_1/db" "host":"box"'
        self.assertEqual(keep.cleaned(text, f"{place}/build", "/data"), '"/usr/lib/wcprof/libwcprof.so" '
                         '"/usr/src/wcprof/tests/x" "/var/lib/wcprof/db" "host":"machine"')
        with self.assertRaises(ValueError):
            keep.cleaned('"/root/secret"', "/b", "/data")


if __name__ == "__main__":
    unittest.main()
