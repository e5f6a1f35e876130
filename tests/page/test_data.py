#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a page's data are not what --json prints, or cannot be read, or grow beyond what a browser takes."""
import os
import re
import subprocess
import unittest
from xml.etree import ElementTree

from pages import ANALYZE, HOSTILE, OP, OPEN_OP, PageTest, ROOT, page_data

CODE_BYTES = 120000


class Data(PageTest):
    def test_a_page_has_the_figures_of_the_report(self):
        for words in [[self.record("dump", "mutexes", "contended")], [os.path.join(ROOT, "tests/golden/g11.jsonl")],
                      ["--force", os.path.join(ROOT, "tests/golden/g14.jsonl")]]:
            text, _, report = self.page(*words)
            self.assertEqual(page_data(text)["report"], report, words)

    def test_dumps_with_next_to_nothing_have_a_page(self):
        for dump in lambda: self.small(), lambda: self.small(OP), lambda: self.small(open_ops=[OPEN_OP]):
            text, _, report = self.page(dump())
            self.assertEqual(page_data(text)["report"], report)

    def test_names_end_nothing(self):
        text, _, report = self.page("--min-self", "0", self.hostile())
        self.assertEqual(page_data(text)["report"], report)
        self.assertIn(HOSTILE, report["threads"][0]["name"])
        self.assertNotIn("<img", text)

    def test_pictures_are_pictures_whatever_the_names(self):
        folder = self.path("pictures")
        for dump in self.record("dump", "mutexes", "contended"), self.hostile(), self.small():
            done = subprocess.run([ANALYZE, "--quiet", "--force", "--min-self", "0", "--export", "svg", "-o", folder,
                                   dump], check=False)
            self.assertEqual(done.returncode, 0)
            for name in "curves.svg", "locks.svg", "requests.svg":
                root = ElementTree.parse(os.path.join(folder, name)).getroot()
                self.assertEqual({element.tag.split("}")[1] for element in root.iter()} -
                                 {"svg", "title", "rect", "text", "path", "polygon", "polyline"}, set())

    def test_the_code_of_a_page_is_small(self):
        text, _, _ = self.page(os.path.join(ROOT, "tests/golden/g11.jsonl"))
        code = re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.S)
        self.assertLess(len(code.encode()), CODE_BYTES)


if __name__ == "__main__":
    unittest.main()
