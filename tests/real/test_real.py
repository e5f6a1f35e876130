#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""If this failed, a server's recording could not be asked what a setting brings, or the wrong class is asked about."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import real

BUILD = os.environ.get("B", "build")


class Question(unittest.TestCase):
    @staticmethod
    def report(*names):
        return {"what_if": [dict(zip(("kind", "class"), name.split(" ", 1))) for name in names]}

    def test_all_classes_that_the_change_removes(self):
        report = self.report("io aof.c/fdatasync", "io f/write", "hold fsync", "io g/fsync/x")
        self.assertEqual(real.question_of(real.Redis(), report), "aof.c/fdatasync*0,g/fsync/x*0")
        with self.assertRaises(RuntimeError):
            real.question_of(real.Redis(), self.report("io f/write"))

    def test_a_question_of_its_own(self):
        self.assertEqual(real.question_of(real.Memcached(), self.report()), real.Memcached.question)


class Script(unittest.TestCase):
    def test_a_short_form_gives_a_line(self):
        """Figures are not looked at: what a short load says is chance."""
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "real.json")
            done = subprocess.run([sys.executable, os.path.join(HERE, "real.py"), "--build", BUILD, "--quick",
                                   "--rows", "redis", "--json", path], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(path, encoding="utf-8") as file:
                lines = json.load(file)
        self.assertEqual([line["server"] for line in lines], ["redis"], done.stdout)
        self.assertIn("fdatasync*0", lines[0]["asked"])
        for name in ("as_is_s", "changed_s", "measured", "predicted"):
            self.assertGreater(lines[0][name], 0)
        self.assertEqual(done.stdout.splitlines(), real.HEAD + [real.line_of(lines[0])])


if __name__ == "__main__":
    unittest.main()
