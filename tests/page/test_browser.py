#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a page, as a browser shows it, asks for anything, complains, or says something else than --json.

Skipped where there is no chromium. PICTURES=FOLDER keeps a picture of each page.
"""
import os
import sys
import unittest

from browser import Browser
from pages import OP, OPEN_OP, PageTest, ROOT

PICTURES = os.environ.get("PICTURES")
NARROW, WIDE = 390, 1400


class Shown(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = cls.enterClassContext(Browser())

    def show(self, path, **how):
        self.browser.open(path, **how)
        self.assertEqual(self.browser.requests, [f"file://{path}"])
        self.assertEqual(self.browser.messages, [])

    def keep(self, name):
        if PICTURES:
            self.browser.picture(os.path.join(PICTURES, name))

    def test_a_page_asks_for_nothing_and_says_what_the_report_says(self):
        _, path, report = self.page(self.record("dump", "mutexes", "contended"))
        for width in NARROW, WIDE:
            self.show(path, width=width)
            self.assertEqual(self.browser.run("document.title"), "wcprof: mutexes")
            self.assertEqual(self.browser.run("document.querySelector('.answer').textContent"), report["sentences"][0])
            self.assertEqual(self.browser.run("document.querySelectorAll('.chip').length"), len(report["checks"]))
            self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width)
            self.keep(f"mutexes-{width}.png")

    def test_answers_that_are_withheld_are_so_in_red(self):
        _, path, report = self.page(self.made(dropped_events=1000000))
        self.assertEqual(report["answers"], "withheld")
        self.show(path)
        self.assertEqual(self.browser.run("document.querySelector('.answer.withheld').textContent"),
                         report["sentences"][0])
        self.assertEqual(self.browser.run("document.querySelector('.chip.withholds').textContent"), "! drops 100.0%")
        self.keep("withheld.png")

    def test_names_are_text(self):
        dumps = {"empty": self.small, "one": lambda: self.small(OP), "open": lambda: self.small(open_ops=[OPEN_OP]),
                 "hostile": self.hostile}
        for name, dump in dumps.items():
            _, path, _ = self.page("--min-self", "0", dump())
            self.show(path)
            self.assertEqual(self.browser.run("document.images.length"), 0)
            self.keep(f"{name}.png")

    def test_every_control_is_reached_by_the_keyboard(self):
        _, path, _ = self.page(self.record("dump", "mutexes", "contended"))
        self.show(path)
        controls = self.browser.run("document.querySelectorAll("
                                    "'a[href], button:not(:disabled), input, select, [tabindex=\"0\"]').length")
        self.browser.run("document.querySelectorAll('*').forEach((element) => element.addEventListener('focus', "
                         "() => element.setAttribute('data-had', '')))")
        for _ in range(controls):
            self.browser.press("Tab")
        self.assertEqual(self.browser.run("document.querySelectorAll('[data-had]').length"), controls)

    def test_the_selected_part_is_in_the_address(self):
        _, path, _ = self.page(os.path.join(ROOT, "tests/golden/g11.jsonl"))
        self.show(path, fragment="#t=100-200")
        self.assertEqual(self.browser.run("[wcprof.selection.from, wcprof.selection.to]"), [100, 200])
        self.browser.run("wcprof.select({ from: 50 })")
        self.assertEqual(self.browser.run("location.hash"), "#t=50-200")


if __name__ == "__main__":
    if not Browser.find():
        print("NOT TESTED: there is no chromium")
        sys.exit(77)
    unittest.main()
