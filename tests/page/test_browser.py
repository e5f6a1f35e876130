#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a page, as a browser shows it, asks for anything, complains, or says something else than --json.

Skipped where there is no chromium. PICTURES=FOLDER keeps a picture of each page.
"""
import json
import os
import re
import sys
import unittest

from browser import Browser
from pages import OP, OPEN_OP, PageTest, ROOT, page_data

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

    def test_pictures_have_the_figures_of_the_report(self):
        _, path, report = self.page("--force", "--min-self", "0", self.record("dump", "mutexes", "contended"))
        self.show(path)
        dots = self.browser.run("""[...document.querySelectorAll('.curve')].map((curve) =>
            [curve.dataset.class, [...curve.querySelectorAll('.dot')].map((dot) => [Number(dot.dataset.factor),
             Number(dot.dataset.saved), Number(dot.getAttribute('cx')), Number(dot.getAttribute('cy'))])])""")
        self.assertGreater(len(dots), 0)
        drawn = [(dot[1], dot[3]) for _, curve in dots for dot in curve]
        low, high = min(drawn), max(drawn)
        for name, curve in dots:
            points = [point for point in report["curves"] if f"{point['kind']} {point['class']}" == name]
            self.assertEqual([dot[:2] for dot in curve], [[point["factor"], point["saved_ns"]] for point in points])
            self.assertEqual([dot[2] for dot in curve], sorted(dot[2] for dot in curve))
            for _, saved, _, height in curve:  # on one scale for all
                share = (saved - low[0]) / max(high[0] - low[0], 1)
                self.assertAlmostEqual(height, low[1] + share * (high[1] - low[1]), delta=0.5)

        lock = report["locks"][0]
        waited = self.browser.run("[...document.querySelectorAll('.heatmap svg')].map((strip) => "
                                  "[...strip.querySelectorAll('.heat')].reduce((sum, cell) => "
                                  "sum + Number(cell.dataset.wait), 0))")
        self.assertEqual(waited[0], lock["wait_total_ns"])
        pairs = self.browser.run("[...document.querySelectorAll('#locks .cell')].reduce((sum, cell) => "
                                 "sum + Number(cell.dataset.wait), 0)")
        self.assertEqual(pairs, sum(site["caused_ns"] for site in report["lock_sites"]
                                    if site["lock"] == lock["lock"]))
        bars = self.browser.run("[...document.querySelectorAll('#threads .time')].map((bar) => "
                                "[...bar.children].map((part) => [Number(part.dataset.ns), "
                                "part.getBoundingClientRect().width]))")
        walls = [row["wall_ns"] for row in report["threads"]]
        self.assertEqual([sum(part[0] for part in bar) for bar in bars[-len(walls):]], walls)
        widest = max(sum(part[1] for part in bar) for bar in bars)
        for bar, wall in zip(bars[-len(walls):], walls):
            self.assertAlmostEqual(sum(part[1] for part in bar), widest * wall / max(walls), delta=1)
        self.keep("figures.png")

    def test_marks_are_of_the_requests_that_are_judged(self):
        _, path, report = self.page("--force", self.made())
        self.show(path)
        judged = next(row for row in report["requests"] if row["is_judged"])
        marks = dict(self.browser.run("[...document.querySelectorAll('#requests [data-mark]')].map((mark) => "
                                      "[mark.dataset.mark, Number(mark.dataset.ns)])"))
        self.assertEqual([marks["p50"], marks["p99"], marks["max"]],
                         [judged["p50_ns"], judged["p99_ns"], judged["max_ns"]])

    def test_an_unfinished_request_is_no_short_one(self):
        """Half of them are said to be unfinished, the longest one, too: the curve does not come to its top."""
        text, path, _ = self.page("--force", self.made())
        data = page_data(text)
        points = data["requests"]["points"]
        for point in points[1::2]:
            point[4] = point[3]
        stays, left = 1.0, sum(point[3] for point in points)
        for _, _, _, weight, unfinished in points:
            stays *= 1 - (weight - unfinished) / left
            left -= weight
        self.assertGreater(stays, 0)
        changed = json.dumps(data["requests"]["points"])
        with open(path, "w", encoding="utf-8") as file:
            file.write(re.sub(r'"points":\s*\[(\s*\[[0-9, ]*\],?)*\s*\]', f'"points": {changed}', text, count=1))
        self.show(path)
        ends = self.browser.run("document.querySelector('#requests polyline.cdf').getAttribute('points')"
                                ".split(' ').pop().split(',')[1]")
        top, bottom = self.browser.run("[...document.querySelectorAll('#requests line.axis')].map((line) => "
                                       "Number(line.getAttribute('y1')))")[::2][::-1]
        self.assertAlmostEqual((bottom - float(ends)) / (bottom - top), 1 - stays, delta=0.01)

    def test_the_tail_is_that_of_the_report(self):
        _, path, report = self.page("--force", self.made())
        self.assertEqual(report["tail"], "known")
        self.show(path)
        told = [row for row in report["tail_parts"] if row["is_told"]]
        caption, rows = self.browser.run("""(([table]) => [table.caption.textContent,
            [...table.tBodies[0].rows].map((row) => row.cells.length)])([...document.querySelectorAll(
            '#requests table')].filter((table) => table.rows[0].textContent.includes('95% interval')))""")
        self.assertEqual(caption, " ".join(report["tail_sentences"]))
        self.assertEqual(rows, [5] * (len(told) + (len(told) < len(report["tail_parts"]))))

    def test_a_tail_that_is_not_known_says_why(self):
        _, path, report = self.page("--force", self.made(rounds=40))
        self.assertEqual(report["tail"], "too few")
        self.show(path)
        self.assertIn(report["tail_sentences"][0],
                      self.browser.run("[...document.querySelectorAll('#requests .withheld')].map((one) => "
                                       "one.textContent)"))

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

    def test_a_click_keeps_the_tip(self):
        _, path, _ = self.page("--force", "--min-self", "0", self.record("dump", "mutexes", "contended"))
        self.show(path)
        self.browser.run("document.querySelector('.curve .dot').scrollIntoView({block: 'center'})")
        box = self.browser.run("(({x, y, width}) => [x + width / 2, y + width / 2])("
                               "document.querySelector('.curve .dot').getBoundingClientRect())")
        is_shown = "!document.getElementById('tip').hidden"
        for click, kept in (False, False), (True, True):
            self.browser.point("mouseMoved", *box)
            self.assertTrue(self.browser.run(is_shown))
            if click:
                self.browser.point("mousePressed", *box)
                self.browser.point("mouseReleased", *box)
            self.browser.point("mouseMoved", 1, 1)
            self.assertEqual(self.browser.run(is_shown), kept)
        self.browser.press("Escape")
        self.assertFalse(self.browser.run(is_shown))

    def test_a_request_is_chosen_by_keyboard_and_the_focus_stays(self):
        _, path, _ = self.page("--force", "--min-self", "0", self.record("dump", "mutexes", "twice"))
        self.show(path)
        focused = "document.activeElement.getAttribute('data-key')"
        self.browser.run("document.querySelector('[data-key=request]').focus()")
        self.browser.press("ArrowLeft")
        self.assertEqual(self.browser.run(focused), "request")
        rank = self.browser.run("wcprof.selection.request")
        self.assertIsNotNone(rank)
        self.assertEqual(self.browser.run("[...document.querySelectorAll('.waterfall')].pop().dataset.rank"), rank)
        self.assertIn(f"request={rank}", self.browser.run("location.hash"))

    def test_a_part_of_the_time_is_all_that_is_shown_of_locks(self):
        _, path, report = self.page("--force", "--min-self", "0", self.record("dump", "mutexes", "contended"))
        self.show(path, fragment=f"#t=0-{report['trace_span_ns'] // 2}")
        slots = self.browser.run("[...document.querySelectorAll('.heatmap .heat')].map((cell) => "
                                 "Number(cell.dataset.slot))")
        self.assertLessEqual(max(slots, default=0), 120)
        self.assertEqual(self.browser.messages, [])

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
