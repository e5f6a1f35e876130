# SPDX-License-Identifier: Apache-2.0
"""Reads a trace of track events for Perfetto, with a decoder of its own, and checks that it hangs together."""
import collections
import struct

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
Slice = collections.namedtuple("Slice", "track name state start end annotations stack depth")
Instant = collections.namedtuple("Instant", "track name at out_flows in_flows")
Track = collections.namedtuple("Track", "name pid tid parent is_counter")


def fault(condition, text):
    """Raises unless the condition holds."""
    if not condition:
        raise AssertionError(text)


def fields(data):
    """The fields of a message: [(number, value)], where a value is a number or bytes."""
    at, found = 0, []

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            found.append((key >> 3, varint()))
        elif key & 7 == 1:
            found.append((key >> 3, data[at:at + 8]))
            at += 8
        else:
            fault(key & 7 == 2, f"wire type {key & 7}")
            length = varint()
            fault(at + length <= len(data), "a message is cut off")
            found.append((key >> 3, data[at:at + length]))
            at += length
    return found


def one(found, number, default=None):
    """The last field of that number."""
    return next((value for n, value in reversed(found) if n == number), default)


def text(value):
    """As UTF-8, strictly."""
    return None if value is None else value.decode("utf-8", errors="strict")


class Trace:
    """All of a trace: tracks, slices, instants, counters by track."""

    TABLES = {1: "categories", 2: "names", 3: "keys", 5: "functions", 6: "frames", 7: "stacks", 16: "builds",
              17: "paths", 18: "sources", 19: "mappings", 29: "values"}

    def __init__(self, path):
        self.tables = {name: {} for name in self.TABLES.values()}
        self.tracks, self.slices, self.instants = {}, [], []
        self.counters = collections.defaultdict(list)
        self.open = collections.defaultdict(list)
        self.events = []
        with open(path, "rb") as file:
            data = file.read()
        for number, packet in fields(data):
            fault(number == 1, f"field {number} of the trace")
            self.add_packet(fields(packet))
        # As the importer does; events of one time stay in the order of the file.
        for at, event in sorted(self.events, key=lambda row: row[0]):
            self.add_event(at, event)
        fault(not any(self.open.values()), "a slice is never ended")
        self.flows = self.pair_flows()

    def add_packet(self, packet):
        """A packet brings interned data, a track or an event."""
        interned, track, event = one(packet, 12), one(packet, 60), one(packet, 11)
        if interned is not None:
            for number, value in fields(interned):
                entry = fields(value)
                table = self.tables[self.TABLES[number]]
                fault(one(entry, 1) not in table, f"{self.TABLES[number]} {one(entry, 1)} comes twice")
                table[one(entry, 1)] = self.interned(number, entry)
        if track is not None:
            self.add_track(fields(track))
        if event is not None:
            self.events.append((one(packet, 8), fields(event)))

    def interned(self, number, entry):
        """What an entry of a table stands for."""
        if number == 6:
            fault(one(entry, 2) in self.tables["functions"], "frame of no function")
            fault(one(entry, 3, 0) == 0 or one(entry, 3) in self.tables["mappings"], "frame of no mapping")
            return self.tables["functions"][one(entry, 2)]
        if number == 7:
            return [self.tables["frames"][value] for n, value in entry if n == 2]
        if number == 19:
            return [self.tables["paths"][value] for n, value in entry if n == 7]
        return one(entry, 2) if number == 16 else text(one(entry, 2))

    def add_track(self, track):
        """Processes, threads, and tracks that are neither."""
        process, thread = one(track, 3), one(track, 4)
        name, pid, tid = text(one(track, 2)), None, None
        if process is not None:
            name, pid = text(one(fields(process), 6)), one(fields(process), 1)
        if thread is not None:
            thread = fields(thread)
            name, pid, tid = text(one(thread, 5)), one(thread, 1), one(thread, 2)
        fault(one(track, 1) not in self.tracks, f"track {one(track, 1)} comes twice")
        fault(one(track, 5, 0) == 0 or one(track, 5) in self.tracks, "a track comes before its parent")
        self.tracks[one(track, 1)] = Track(name, pid, tid, one(track, 5), one(track, 8) is not None)

    def add_event(self, at, event):
        """Slices nest, in the order of time of their track."""
        track, kind = one(event, 11), one(event, 9)
        fault(track in self.tracks, f"an event of no track {track}")
        name = self.tables["names"][one(event, 10)] if one(event, 10) else text(one(event, 23))
        if kind == BEGIN:
            self.open[track].append((at, name, event))
        elif kind == END:
            fault(self.open[track], f"track {track} ends what it did not begin")
            start, name, begin = self.open[track].pop()
            self.slices.append(self.make_slice(track, name, start, at, begin))
        elif kind == INSTANT:
            self.instants.append(Instant(track, name, at, [struct.unpack("<Q", v)[0] for n, v in event if n == 47],
                                         [struct.unpack("<Q", v)[0] for n, v in event if n == 48]))
        else:
            fault(kind == COUNTER and self.tracks[track].is_counter, f"event of type {kind}")
            value = one(event, 30)
            self.counters[track].append((at, struct.unpack("<d", one(event, 44))[0] if value is None else value))

    def make_slice(self, track, name, start, end, begin):
        """With its category, its annotations and its stack, outermost first."""
        category, stack = one(begin, 3), one(begin, 56)
        annotations = {}
        for number, value in begin:
            if number == 4:
                value = fields(value)
                interned = one(value, 17)
                annotations[self.tables["keys"][one(value, 1)]] = (
                    one(value, 3) if interned is None else self.tables["values"][interned])
        return Slice(track, name, self.tables["categories"][category] if category else None, start, end, annotations,
                     self.tables["stacks"][stack] if stack else None, len(self.open[track]))

    def pair_flows(self):
        """Each flow goes from one event to one that is not before it."""
        begins = {flow: instant for instant in self.instants for flow in instant.out_flows}
        ends = {flow: instant for instant in self.instants for flow in instant.in_flows}
        fault(sum(len(i.out_flows) for i in self.instants) == len(begins), "a flow begins twice")
        fault(sum(len(i.in_flows) for i in self.instants) == len(ends), "a flow ends twice")
        fault(begins.keys() == ends.keys(), "a flow has one end only")
        for flow, begin in begins.items():
            fault(begin.at <= ends[flow].at, f"flow {flow} goes back in time")
        return [(begins[flow], ends[flow]) for flow in begins]

    def state(self, piece):
        """The cause of a blocked slice, else the word for its state."""
        if piece.state in ("blocked", "idle"):
            return piece.annotations["reason"]
        return {"running": "cpu"}.get(piece.state, piece.state)

    def pieces(self, name):
        """Slices of the tracks of that name."""
        return [piece for piece in self.slices if self.tracks[piece.track].name == name]


def sums_of(path, _causes):
    """Times of all threads by name and state."""
    trace, sums, levels = Trace(path), collections.Counter(), collections.defaultdict(float)
    for piece in trace.slices:
        track = trace.tracks[piece.track]
        if track.tid is not None and piece.depth == 0:
            sums[track.name, trace.state(piece)] += piece.end - piece.start
    for track, values in trace.counters.items():
        for (at, value), (until, _) in zip(values, values[1:]):
            levels[trace.tracks[track].name] += value * (until - at)
    running = sum(ns for (_, state), ns in sums.items() if state == "cpu")
    fault(abs(levels["running threads"] - running) < 1 + running * 1e-9, "the counter of running threads is off")
    path = sorted((piece.start, piece.end) for piece in trace.pieces("critical path"))
    fault(all(before[1] <= after[0] for before, after in zip(path, path[1:])), "the critical path is at two places")
    return sums
