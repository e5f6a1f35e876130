# SPDX-License-Identifier: Apache-2.0
"""A reader of dumps that shares nothing with wcprof-analyze: what the writer promises, checked to the letter.

check(dumps) takes the dumps of one process, oldest first, each a (header, events); it returns sentences about
what is wrong. `spans` are the times in which recording may have been on, in nanoseconds of the monotonic clock.
"""
import bisect
import collections
import json

# Lives that a switch of the recording does not cut: of the process, its threads and children, and what it declared.
LIVES = {"process", "thread", "exec", "user"}
# Two clocks are compared, of which one was measured against the other for some milliseconds.
NEVER = 1 << 62
CLOCK_NS, CLOCK_RATE = 200_000, 2e-4
# The CPU time is read just after the clock, by the thread itself and for the dump.
CPU_NS = 1_000_000


def parse(text):
    """A file of dumps as [(header, events)]; raises ValueError if it is no such file."""
    dumps = []
    for line in text.splitlines(keepends=True):
        if not line.endswith(b"\n"):
            raise ValueError(f"not ended: {line[:80]}")
        value = json.loads(line)
        if "schema_version" in value:
            dumps.append((value, []))
        else:
            dumps[-1][1].append(value)
    for header, events in dumps:
        if header["event_count"] != len(events):
            raise ValueError(f"{len(events)} events, but the header says {header['event_count']}")
    return dumps


def plain(op):
    """An open op with the keys of an ended one."""
    names = {"op_id": "id", "parent_id": "p", "kind": "k", "work_type": "w", "class_id": "c", "ident_id": "i",
             "client_id": "cl", "start_ns": "s"}
    return {names.get(key, key): value for key, value in op.items()}


class Checker:
    def __init__(self, dumps, spans=None):
        self.dumps, self.spans, self.wrong = dumps, spans, []
        self.ended, self.opened, self.waits = {}, {}, {}
        self.threads = {}  # number: op
        self.last = {}     # counters of the dump before
        self.losses = 0
        self.window = 0
        self.reset = False

    def say(self, text, *events):
        self.wrong.append(f"window {self.window}: {text}" + "".join(f"\n    {json.dumps(e)}" for e in events))

    def check(self):
        for self.window, (header, events) in enumerate(self.dumps):
            self.check_header(header)
            self.check_events(header, events)
        for self.window, (header, events) in enumerate(self.dumps):
            self.check_names(header, events)
        self.check_holds()
        self.check_threads()
        return self.wrong

    # --- Headers

    def check_header(self, header):
        first, before = self.dumps[0][0], self.dumps[max(0, self.window - 1)][0]
        for key in ("epoch_unix_nano", "epoch_mono_nano"):
            if header[key] != first[key]:
                self.say(f"another {key}")
        if header["dumped_unix_nano"] < before["dumped_unix_nano"]:
            self.say("it is older than the one before")
        if header["process"]["pid"] != first["process"]["pid"]:
            self.say("another process")
        for key in ("strings", "stacks", "modules"):
            if header[key][:len(before[key])] != before[key] and key != "modules":
                self.say(f"{key} of the window before are others now")
        counters = header["counters"]
        for name, value in self.last.items():
            if counters.get(name, 0) < value:
                self.say(f"counter {name} shrinks from {value} to {counters.get(name, 0)}")
        self.last = counters
        self.losses += header["dropped_events"]
        if self.losses != counters["dropped_events_total"]:
            self.say(f"dropped_events sums up to {self.losses}, not {counters['dropped_events_total']}")
        for thread in header["threads"]:
            if self.threads.setdefault(thread["th"], thread["op"]) != thread["op"]:
                self.say(f"thread {thread['th']} has another op")
        if len({thread["th"] for thread in header["threads"]}) != len(header["threads"]):
            self.say("a thread is there twice")

    # --- Events

    def check_events(self, header, events):
        window_ns = header["dumped_unix_nano"] - header["epoch_unix_nano"]
        open_ops = {}
        for op in map(plain, header["open_ops"]):
            if op["id"] in open_ops:
                self.say("an op is open twice", op)
            if op["id"] in self.ended:
                self.say("an op is open that ended in a window before", op, self.ended[op["id"]])
            self.check_time(header, op, op.get("d", window_ns), window_ns)
            open_ops[op["id"]] = op
        open_waits = {}
        for wait in header["open_waits"]:
            if self.wait_of(wait) in open_waits:
                self.say("a wait is open twice", wait)
            if self.wait_of(wait) in self.waits:
                self.say("a wait is open that ended before", wait)
            self.check_time(header, wait, wait.get("d", window_ns), window_ns)
            open_waits[self.wait_of(wait)] = wait
        for event in events:
            if event["e"] == "sample":
                continue
            self.check_time(header, event, event["d"], window_ns)
            if event["e"] == "op":
                if event["id"] in self.ended:
                    self.say("an op ends twice", event, self.ended[event["id"]])
                if event["id"] in open_ops:
                    self.say("an op is open and ended", event, open_ops[event["id"]])
                self.compare(self.opened.get(event["id"]), event, ("s", "p", "k", "c"))
                self.ended[event["id"]] = event
            elif event["e"] == "wait":
                key = self.wait_of(event)
                if key in self.waits:
                    self.say("a wait ends twice", event, self.waits[key])
                if key in open_waits:
                    self.say("a wait is open and ended", event)
                self.waits[key] = event
        self.check_gone(header, open_ops)

    @staticmethod
    def wait_of(wait):
        return wait.get("th"), wait.get("p"), wait["s"], wait.get("a"), wait["rs"]

    def compare(self, before, now, keys):
        if before and any(before.get(key) != now.get(key) for key in keys):
            self.say("what was open has become another", before, now)

    def check_gone(self, header, open_ops):
        """What was open in the window before is so still, or has ended."""
        for key, op in self.opened.items():
            if key not in open_ops and key not in self.ended:
                self.say("what was open is gone", op)
        for key, op in open_ops.items():
            before = self.opened.get(key)
            self.compare(before, op, ("s", "p", "k", "c"))
            # Of openings long ago only the beginning of what was open is known.
            if before and before.get("d", op.get("d")) != op.get("d") != op["s"]:
                self.say("the cut of an open op has moved", before, op)
        self.opened = open_ops

    def check_time(self, header, event, end, window_ns):
        kind = event.get("k")
        if end < event["s"]:
            self.say("it ends before it begins", event)
        if end > window_ns:
            self.say(f"it ends after its window, which is at {window_ns}", event)
        if self.spans is None or kind in LIVES or event.get("rs") == "lock":
            return
        epoch = header["epoch_mono_nano"]
        slack = CLOCK_NS + CLOCK_RATE * window_ns
        begin, end = epoch + event["s"], epoch + end
        at = bisect.bisect_right(self.spans, [begin + slack, NEVER]) - 1
        if not any(on - slack <= begin and end <= off + slack for on, off in self.spans[max(0, at - 40):at + 1]):
            spans = [(on - epoch, off - epoch) for on, off in self.spans[max(0, at - 1):at + 2]]
            self.say(f"it is not of one time of recording: {spans}", event)

    # --- Names of other things

    def known(self, op):
        return op in self.ended or op in self.opened or op in self.threads.values()

    def check_names(self, header, events):
        ids = self.ended
        opens = [plain(op) for op in header["open_ops"]] + header["open_waits"]
        for event in events + opens:
            for key, table in (("c", "strings"), ("i", "strings"), ("st", "stacks")):
                if event.get(key, 0) >= len(header[table]):
                    self.say(f"{key} is beyond the {table}", event)
            if event.get("p") and not self.known(event["p"]):
                self.say("its parent is unknown", event)
            # A thread that never did anything while recording was on has no op. One that is joined has, unless
            # it was made and its join began before that.
            if event.get("t") and not self.known(event["t"]) and event.get("lk") != "spawn" and \
                    not (event.get("rs") == "join" and event["s"] in header["windows"][::2]):
                self.say("what it names is unknown", event)
            if event.get("th") and event["th"] not in self.threads:
                self.say("its thread is unknown", event)
            if event.get("lk") == "nested_client" and not self.known(event["p"]):
                self.say("the child of a link is unknown", event)
            if event.get("rs") and event.get("t") in ids and ids[event["t"]]["s"] > event.get("d", NEVER):
                self.say("a wait was ended by what began later", event, ids[event["t"]])

    def check_holds(self):
        locks = collections.defaultdict(list)
        header = self.dumps[-1][0]
        strings = header["strings"]
        window_ns = header["dumped_unix_nano"] - header["epoch_unix_nano"]
        for hold in list(self.ended.values()) + list(self.opened.values()):
            if hold["k"] == "hold" and strings[hold.get("i", 0)] != "read":
                locks[hold["a"]].append(hold)
        for holds in locks.values():
            holds.sort(key=lambda hold: (hold["s"], hold.get("d", window_ns)))
            for one, next_one in zip(holds, holds[1:]):
                if one.get("d", window_ns) > next_one["s"]:
                    self.say("two hold a lock at a time", one, next_one)
                # A new lock at the same address is counted anew.
                if one.get("sq", 0) >= next_one.get("sq", 0) != 1:
                    self.say("numbers of holds do not grow", one, next_one)

    def check_threads(self):
        """A thread begins before all that it does, and ends after it; its CPU time grows."""
        used = {}
        for _, events in self.dumps:
            for event in sorted((e for e in events if e["e"] == "sample"), key=lambda e: e["s"]):
                if event.get("cpu", 0) + CPU_NS < used.get(event["th"], 0):
                    self.say("the CPU time of a thread shrinks", event)
                used[event["th"]] = event.get("cpu", 0)
        for event in list(self.ended.values()) + list(self.waits.values()) + list(self.opened.values()):
            op = self.threads.get(event.get("th"))
            thread = self.ended.get(op) or self.opened.get(op)
            if not thread:
                if event.get("th"):
                    self.say("its thread has no op", event)
                continue
            if event["s"] < thread["s"] and event.get("k") != "user":
                self.say("it begins before its thread", event, thread)
            if "d" in event and "d" in thread and op in self.ended and event["d"] > thread["d"]:
                # Another thread may end an op or a hold of it.
                if event.get("k") not in ("user", "exec", "hold") and event.get("rs") != "lock":
                    self.say("it ends after its thread", event, thread)


def check(dumps, spans=None):
    return Checker(dumps, spans).check() if dumps else []
