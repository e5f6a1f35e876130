# SPDX-License-Identifier: Apache-2.0
"""Dumps and pages for the tests of the page: what the analyzer is given, and what it writes."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "cmd"))
import trial  # noqa: E402
BUILD = os.path.join(ROOT, os.environ.get("B", "build"))
ANALYZE = os.path.join(BUILD, "wcprof-analyze")
HOSTILE = "</script><img src=x onerror=console.log(1)>\"'&<!--\u2028"
WITHHELD = 3


def page_data(text):
    """The data of a page, taken out as a browser takes them."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))


# A call that took 10 ns, in the form of dumps without threads.
OP = {"e": "op", "k": "call", "w": "engine", "o": "hit", "id": 4, "c": 1, "i": 1, "s": 10, "d": 20}
# One that had not ended, as a header has it.
OPEN_OP = {"op_id": 4, "kind": "call", "work_type": "engine", "class_id": 1, "start_ns": 10}


class PageTest(unittest.TestCase):
    """A directory that ends with the test, and pages in it."""

    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.here = cls.kept.name

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.here, name)

    @classmethod
    def record(cls, name, *words):
        """A dump of a program of tests/targets, from its start to its end."""
        dump = cls.path(name)
        subprocess.run([os.path.join(BUILD, "tests/targets", words[0]), *words[1:]], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=dict(os.environ, WCPROF_ENABLE="1", WCPROF_DIR=cls.path("live"), WCPROF_OUTPUT=dump,
                                LD_PRELOAD=os.path.join(BUILD, "libwcprof.so")))
        return dump

    @classmethod
    def write(cls, name, lines):
        with open(cls.path(name), "w", encoding="utf-8") as file:
            for line in lines:
                file.write(json.dumps(line) + "\n")
        return cls.path(name)

    @classmethod
    def small(cls, *events, **changes):
        """A dump with these events alone; string 1 is no name that anybody should have. Changes are to its header."""
        header = {"schema_version": 1, "epoch_unix_nano": 1700000000000000000, "dropped_events": 0,
                  "dumped_unix_nano": 1700000000000000100, "event_count": len(events), "strings": ["", HOSTILE],
                  **changes}
        return cls.write("small.jsonl", [header, *events])

    @classmethod
    def made(cls, rounds=100, **changes):
        """A dump of a server with a lock, made by hand; changes are to its header."""
        lines = [json.loads(line) for line in trial.recording(rounds).splitlines()]
        lines[0].update(changes)
        return cls.write("made.jsonl", lines)

    @classmethod
    def hostile(cls):
        """The same with names that are markup."""
        lines = [json.loads(line) for line in trial.recording().splitlines()]
        header = lines[0]
        header["strings"] = [text and text + HOSTILE for text in header["strings"]]
        header["threads"][0]["name"] = header["process"]["host"] = HOSTILE
        header["process"]["exe"] = header["modules"][0]["path"] = "/nowhere/" + HOSTILE
        return cls.write("hostile.jsonl", lines)

    @classmethod
    def page(cls, *words):
        """The page that the analyzer writes, its path, and what --json prints in the same run, but for finishes."""
        path = cls.path("page.html")
        done = subprocess.run([ANALYZE, "--quiet", "--json", "--html", path, *words], stdout=subprocess.PIPE,
                              check=False)
        assert done.returncode in (0, WITHHELD), done.returncode
        report = json.loads(done.stdout)
        for row in report["what_if"]:  # one figure for each thread
            del row["thread_finish_ns"], row["process_finish_ns"]
        with open(path, encoding="utf-8") as file:
            return file.read(), path, report
