#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if the timeline draws a thread in a state that it was not in, or cannot be read without a mouse.

The recording is made by hand, so that who had the lock when is known: threads take it in turn, some turns are long.
Skipped where there is no chromium. PICTURES=FOLDER keeps a picture of each page.
"""
import os
import sys
import unittest

from browser import Browser
from pages import HOSTILE, PageTest

PICTURES = os.environ.get("PICTURES")
WORKERS, ROUNDS, LONG_EVERY, LONG_NS, SHORT_NS = 4, 2000, 50, 2000000, 20000
POINTS = 50
THREAD = 1 << 32
STRINGS = ["", "server", "main", "worker", "the_lock", "1:1"]


def turns():
    """(worker, begin, end) of each hold of the lock."""
    made, at = [], 100000
    for number in range(ROUNDS):
        length = LONG_NS if number % LONG_EVERY == 0 else SHORT_NS
        made.append((number % WORKERS, at, at + length))
        at += length
    return made


def tells(kind, number, thread, name, start, end, **more):
    return {"e": "op", "k": kind, "w": "engine", "o": "ok", "id": number, "p": THREAD * thread + 1, "c": name,
            "s": start, "d": end, "th": thread, **more}


def lock_dump(name):
    """Header and events: worker w is thread w + 2."""
    made = turns()
    end = made[-1][2] + 100000
    events, ready, cpu = [], [0] * WORKERS, [0] * WORKERS
    holds = [THREAD * (worker + 2) + 10 + number for number, (worker, _, _) in enumerate(made)]

    def sample(worker, at):
        events.append({"e": "sample", "th": worker + 2, "p": THREAD * (worker + 2) + 1, "s": at, "cpu": cpu[worker]})
    for worker in range(WORKERS):
        events.append(dict(tells("thread", THREAD * (worker + 2) + 1, worker + 2, 3, 0, end), p=THREAD + 1))
        sample(worker, 0)
    for number, (worker, start, stop) in enumerate(made):
        if number:
            sample(worker, ready[worker])
            events.append({"e": "wait", "rs": "mutex", "p": THREAD * (worker + 2) + 1, "t": holds[number - 1], "c": 1,
                           "i": 4, "a": 4096, "s": ready[worker], "d": start, "th": worker + 2})
            sample(worker, start)
        events.append(tells("hold", holds[number], worker + 2, 4, start, stop, a=4096, sq=number + 1))
        cpu[worker] += stop - start
        sample(worker, stop)
        ready[worker] = stop
    threads = [{"th": th, "tid": 100 + th, "name": name if th > 1 else "server", "op": THREAD * th + 1}
               for th in range(1, WORKERS + 2)]
    opened = [{"op_id": 1, "kind": "process", "work_type": "engine", "class_id": 1, "client_id": 5, "start_ns": 0},
              {"op_id": THREAD + 1, "parent_id": 1, "kind": "thread", "work_type": "engine", "class_id": 2,
               "start_ns": 0, "th": 1}]
    header = {"schema_version": 1, "epoch_unix_nano": 1700000000000000000,
              "dumped_unix_nano": 1700000000000000000 + end, "dropped_events": 0, "event_count": len(events),
              "process": {"pid": 1, "ppid": 0, "exe": "/nowhere/server", "host": "h", "cpus": 2, "client_id": 5,
                          "op": 1},
              "threads": threads, "strings": STRINGS, "open_ops": opened, "open_waits": []}
    return [header, *events]


class Timeline(PageTest):
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

    def lanes(self):
        """The lane of each worker."""
        tids = self.browser.run("wcprof.data.timeline.lanes.map((lane) => lane.tid)")
        return [tids.index(102 + worker) for worker in range(WORKERS)]

    def test_each_point_is_drawn_as_it_was(self):
        made = turns()
        self.show()
        for point in range(POINTS):
            number = WORKERS + point * (ROUNDS - 2 * WORKERS) // POINTS
            worker, start, stop = made[number]
            at = (start + stop) // 2
            self.browser.run(f"wcprof.select({{ from: {start - 3 * SHORT_NS}, to: {stop + 3 * SHORT_NS} }})")
            lanes = self.lanes()
            drawn = self.browser.run(f"{list(lanes)}.map((lane) => wcprof.debug.at(lane, {at}))")
            self.assertEqual((drawn[worker]["state"], drawn[worker]["start"], drawn[worker]["end"]),
                             ("running", start, stop))
            waiter = made[number + 1][0]
            self.assertEqual((drawn[waiter]["state"], drawn[waiter]["name"], drawn[waiter]["cause"]),
                             ("lock", "the_lock", "mutex"))
            self.assertEqual((drawn[waiter]["start"], drawn[waiter]["end"], drawn[waiter]["waker"]),
                             (made[number + 1 - WORKERS][2], stop, lanes[worker]))
            self.assertEqual([one["many"] for one in drawn], [1] * WORKERS)
        self.browser.run(f"wcprof.select({{ from: {start}, to: {start + 1000 * SHORT_NS} }})")
        self.assertEqual(self.browser.run(f"wcprof.debug.at({lanes[worker]}, {at}).many"), 1)  # as wide as a pixel

    def test_merged_pieces_say_how_much_ran(self):
        self.show()
        made, lanes = turns(), self.lanes()
        merged = 0
        for number in range(WORKERS, ROUNDS - WORKERS, ROUNDS // POINTS):
            worker, start, stop = made[number]
            drawn = self.browser.run(f"wcprof.debug.at({lanes[worker]}, {(start + stop) // 2})")
            ran = sum(min(end, drawn["end"]) - max(begin, drawn["start"]) for who, begin, end in made
                      if who == worker and end > drawn["start"] and begin < drawn["end"])
            if drawn["many"] > 1:
                merged += 1
                self.assertEqual(drawn["running"], 100 * ran // (drawn["end"] - drawn["start"]))
                self.assertEqual(drawn["state"], "lock")
        self.assertGreater(merged, POINTS // 2)
        self.assertGreater(self.browser.run("document.querySelector('canvas.lanes').clientWidth"), 1000)
        self.keep("timeline.png")

    def test_sums_of_lanes_are_those_of_the_report(self):
        self.show()
        lanes = {lane["tid"]: lane for lane in self.browser.run("wcprof.data.timeline.lanes")}
        self.assertEqual(len(lanes), len(self.report["threads"]))
        for thread in self.report["threads"]:
            lane = lanes[thread["tid"]]
            self.assertEqual(lane["running"], thread["cpu_ns"])
            self.assertEqual(lane["queued"], thread["queued_ns"])
            self.assertEqual(lane["unknown"], thread["unexplained_ns"])
            self.assertEqual(sum(lane[word] for word in ("lock", "io", "poll", "sleep", "other")),
                             thread["blocked_ns"])

    def color_at(self, lane, at):
        return self.browser.run(
            f"(() => {{ const {{ x, y }} = wcprof.debug.placeOf({lane}, {at}), canvas = "
            "document.querySelector('canvas.lanes'), k = devicePixelRatio; return "
            "[...canvas.getContext('2d').getImageData(x * k, (y + 7) * k, 1, 1).data].slice(0, 3); })()")

    def test_what_runs_has_the_colour_of_running(self):
        worker, start, stop = turns()[LONG_EVERY]
        for theme in "light", "dark":
            self.show(f"#t={start}-{stop}&theme={theme}")
            self.assertEqual(self.color_at(self.lanes()[worker], (start + stop) // 2), [0, 0x9e, 0x73])
        self.keep("timeline-dark.png")

    def test_keys_go_from_piece_to_piece_and_zoom(self):
        worker, start, stop = turns()[LONG_EVERY]
        self.show(f"#t={start - LONG_NS}-{stop + LONG_NS}")
        said = "document.querySelector('#timeline [aria-live]').textContent"
        self.browser.run("document.querySelector('canvas.lanes').focus()")
        for _ in range(1 + self.lanes()[worker]):
            self.browser.press("ArrowDown")
        self.assertIn(f"worker {102 + worker}", self.browser.run(said))
        before = self.browser.run(said)
        self.browser.press("ArrowRight")
        self.assertNotEqual(self.browser.run(said), before)
        self.browser.press("Enter")
        self.browser.run("new Promise((done) => { const ask = () => location.hash.includes("
                         f"'{start - LONG_NS}-') ? setTimeout(ask, 20) : done(); ask(); }})")
        self.assertEqual(self.browser.run("document.activeElement.className"), "wide lanes")

    def test_names_are_text(self):
        _, path, _ = self.page(self.write("hostile.jsonl", lock_dump(HOSTILE)))
        self.show(path=path)
        self.assertEqual(self.browser.run("document.images.length"), 0)


if __name__ == "__main__":
    if not Browser.find():
        print("NOT TESTED: there is no chromium")
        sys.exit(77)
    unittest.main()
