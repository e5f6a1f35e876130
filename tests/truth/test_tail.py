#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""If this fails, the report of the slowest requests blames something else than what was planted.

One request kind in fifty holds the index for 60 ms, all others for 0.1 ms. Whoever comes meanwhile waits for it. It is
as long as that for a busy machine, on which others' threads now and then wait as long for a CPU as a real scan takes.
"""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import runs  # pylint: disable=wrong-import-position
import table  # pylint: disable=wrong-import-position

BUILD = os.path.join(table.HERE, "..", "..", os.environ.get("B", "build"))


def has_tail():
    """Whether the analyzer that was built has the report."""
    return "--tail" in subprocess.run([os.path.join(BUILD, "wcprof-analyze"), "--help"], capture_output=True, text=True,
                                      check=False).stdout


@unittest.skipUnless(has_tail(), "NOT TESTED: the analyzer has no --tail")
class Planted(unittest.TestCase):
    """A server alone, as it is recorded where clients are somewhere else."""

    def test_the_holder_of_the_lock_is_named_first(self):
        _, patterns = table.tables_read()
        planted = patterns["planted-outside"]
        pattern = dataclasses.replace(planted, constants={**planted.constants, "B": "sleep:60000"})
        with tempfile.TemporaryDirectory() as directory:
            runs.record(runs.Runner(BUILD, 1, 0), pattern, len(os.sched_getaffinity(0)), directory)
            dumps = [os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".jsonl")]
            answer = subprocess.run([os.path.join(BUILD, "wcprof-analyze"), "--json", "--tail", "95", *dumps],
                                    capture_output=True, text=True, check=False)
        self.assertIn(answer.returncode, (0, 3), answer.stderr)
        told = [part for part in json.loads(answer.stdout)["tail_parts"] if part["is_told"]]
        self.assertEqual((told[0]["kind"], told[0]["name"]), ("lock", "index_lock"), told[:3])
        self.assertIn("index_scan", told[0]["by"], told[:3])
        self.assertGreater(told[0]["least_ns"], 0)


if __name__ == "__main__":
    unittest.main()
