#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if flame graphs and the wait graph show other times than --json, or do not go with the rest of the page.

Skipped where there is no chromium. PICTURES=FOLDER keeps a picture of each page.
"""
import os
import sys
import unittest

from browser import Browser
from pages import HOSTILE, PageTest
from test_timeline import LONG_EVERY, lock_dump, turns

PICTURES = os.environ.get("PICTURES")


class Flames(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = cls.enterClassContext(Browser())
        _, path, cls.report = cls.page("--top", "100", cls.write("turns.jsonl", lock_dump("worker")))
        cls.page_path = cls.path("turns.html")
        os.rename(path, cls.page_path)

    def show(self, fragment="", path=None):
        self.browser.open(path or self.page_path, fragment=fragment)
        self.assertEqual(self.browser.messages, [])
        self.assertEqual(len(self.browser.requests), 1)

    def keep(self, name):
        if PICTURES:
            self.browser.picture(os.path.join(PICTURES, name))

    def tab(self, name):
        self.browser.run(f"document.querySelector('[data-key=\"flames-{name}\"]').click()")

    def all_ns(self):
        """The time of the lowest frame."""
        return self.browser.run("wcprof.debug.flames().value")

    def test_tabs_have_the_sums_of_the_report(self):
        self.show()
        threads = self.report["threads"]
        self.tab("cpu")
        self.assertEqual(self.all_ns(), sum(thread["cpu_ns"] for thread in threads))
        self.tab("lock")
        self.assertEqual(self.all_ns(), sum(thread["blocked"].get("mutex", 0) for thread in threads))
        self.tab("wall")
        self.tab("idle")
        self.assertEqual(self.all_ns(), sum(thread["wall_ns"] for thread in threads))
        self.keep("flames.png")

    def test_a_wait_has_on_top_who_ended_it(self):
        self.show()
        self.tab("waits")
        names = self.browser.run("(() => { const names = []; let at = wcprof.debug.flames(); while (at) { "
                                 "names.push(at.name); at = [...at.children.values()].sort((a, b) => b.value - "
                                 "a.value)[0]; } return names; })()")
        self.assertEqual(names, ["all", "worker", "mutex the_lock", "by worker"])
        self.tab("inverted")
        self.assertEqual(self.browser.run("[...wcprof.debug.flames().children.values()].map((frame) => frame.name)"),
                         ["mutex the_lock"])

    def test_a_part_of_the_run_has_its_part_of_the_time(self):
        start, stop = turns()[LONG_EVERY][1:]
        self.show(f"#t={start}-{stop}")
        self.tab("cpu")
        self.assertLess(abs(self.all_ns() - (stop - start)), (stop - start) // 5)

    def test_search_says_how_much_it_finds(self):
        self.show()
        self.tab("lock")
        for text, said in ("the_LOCK", "100.0% of"), ("nowhere", "0.0% of"):
            self.browser.run("(() => { const field = document.querySelector('[data-key=\"flames-search\"]'); "
                             f"field.value = '{text}'; field.dispatchEvent(new Event('input')); }})()")
            self.assertIn(said, self.browser.run("document.querySelector('#flames [aria-live].small').textContent"))

    def test_keys_go_from_frame_to_frame(self):
        self.show()
        self.tab("lock")
        self.browser.run("document.querySelector('canvas.flames').focus()")
        said = "document.querySelector('#flames .sr').textContent"
        for word in "all", "worker", "mutex the_lock":
            self.browser.press("ArrowUp")
            self.assertEqual(self.browser.run(said).split("\n")[0], word)
        self.browser.press("Enter")
        self.assertEqual(self.browser.messages, [])

    def test_an_arrow_of_the_wait_graph_filters_the_timeline(self):
        self.show()
        lock = next(lock for lock in self.report["locks"] if lock["lock"] == "the_lock")
        self.assertEqual(self.browser.run("wcprof.data.graph.edges[0].ns"), lock["wait_total_ns"])
        self.browser.run("document.querySelector('.wait-edge').focus()")
        self.browser.press("Enter")
        self.assertEqual(self.browser.run("[wcprof.selection.lock, wcprof.selection.thread]"), ["the_lock", "worker"])
        self.assertIn("lock=the_lock", self.browser.run("location.hash"))
        self.assertEqual(self.browser.run("document.activeElement.getAttribute('aria-pressed')"), "true")
        self.keep("graph.png")
        self.browser.press("Enter")
        self.assertEqual(self.browser.run("wcprof.selection.lock"), None)

    def test_names_are_text(self):
        _, path, _ = self.page(self.write("hostile.jsonl", lock_dump(HOSTILE)))
        self.show(path=path)
        self.assertEqual(self.browser.run("document.images.length"), 0)


if __name__ == "__main__":
    if not Browser.find():
        print("NOT TESTED: there is no chromium")
        sys.exit(77)
    unittest.main()
