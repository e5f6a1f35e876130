#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""If this failed, the parts of a request would not be what it took: those of the kept recordings, each of them."""

import json
import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
RECORDINGS = os.path.join(HERE, "recordings")
ANALYZE = os.path.join(os.path.abspath(os.environ.get("B", "build")), "wcprof-analyze")


def requests(path):
    """Those of a recording, one at a time."""
    done = subprocess.run([ANALYZE, "--quiet", "--requests", "-", path], capture_output=True, check=True, timeout=300)
    return [json.loads(line) for line in done.stdout.splitlines()]


class Paths(unittest.TestCase):
    def test_parts_add_up(self):
        count = explained_ns = all_ns = 0
        for name in sorted(os.listdir(RECORDINGS)):
            for request in requests(os.path.join(RECORDINGS, name)):
                with self.subTest(name, connection=request["connection"], ordinal=request["ordinal"]):
                    self.assertEqual(sum(part["ns"] for part in request["parts"]), request["latency_ns"])
                    self.assertEqual(request["end_ns"] - request["start_ns"], request["latency_ns"])
                    self.assertTrue(all(part["ns"] > 0 for part in request["parts"]))
                count += 1
                if request["unfinished"]:
                    continue
                all_ns += request["latency_ns"]
                explained_ns += sum(part["ns"] for part in request["parts"] if part["kind"] != "unexplained")
        self.assertGreaterEqual(count, 1000)
        self.assertGreaterEqual(explained_ns, 0.9 * all_ns)


if __name__ == "__main__":
    unittest.main()
