# SPDX-License-Identifier: Apache-2.0
"""A process of a trial that is none: it answers the verbs of wcprof try by a clock of its own.

So that a test knows what must come out. Each question about a window lets a second pass there, in which `rate`
pieces of progress are made, or as many fewer as the window's factor and `share` say: with share 0.5, what is slowed
is half of the time that a piece takes. Seconds differ by some tenths of a percent, or by as much as `noise` says.
"""
import json
import os
import random
import re
import socket
import threading
import time


class FakeProcess:
    def __init__(self, path, dump, rate=1000, share=1.0, refuse=None, noise=0.002, slows=True, later=None,
                 late=None, meanwhile=lambda: time.sleep(2.5)):
        self.dump, self.rate, self.share, self.spread = dump, rate, share, noise
        self.refuse = refuse or {}  # verb: answer
        self.slows = slows
        self.later = later  # the dumps after the first one
        self.late, self.meanwhile = late, meanwhile  # in which window something else happens: too much time passes
        self.factor, self.now_ns, self.progress, self.slowed = 1.0, 1000000000, 0.0, 0
        self.noise = random.Random(1)
        self.rules, self.lines, self.windows = [], [], []
        self.lock = threading.Lock()
        self.trial = None  # the connection
        self.ended = threading.Event()
        self.path = path
        if os.path.exists(path):
            os.unlink(path)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(100)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def close(self):
        self.listener.close()

    def serve(self, client):
        file = client.makefile("rb")
        with client, file:
            for line in file:
                with self.lock:
                    answer = self.answer(client, line.decode().strip())
                if answer is None:
                    client.sendall(self.dump)
                    self.dump = self.later or self.dump
                    client.shutdown(socket.SHUT_WR)
                    file.readline()
                    return
                client.sendall(answer.encode())
        if client is self.trial:
            self.ended.set()

    def answer(self, client, line):
        self.lines.append(line)
        verb = line.split()[0]
        values = dict(re.findall(r"(\w+)=(\S+)", line))
        if verb == "TRY":
            self.trial = client
        if verb in self.refuse:
            return self.refuse[verb] + "\n"
        if verb in ("RULES", "SLOW", "ENABLE") and client is not self.trial:
            return "ERR trial it is not your trial\n"
        if verb == "DUMP":
            return None
        if verb == "RULES":
            self.rules = [] if "clear" in values else self.rules + [line]
        if verb == "SLOW":
            self.slow(values)
        return f'OK {{"pid":1,"progress":{int(self.progress)},"slowed":{self.slowed},"extra_ns":{self.slowed * 1000},' \
               f'"refused":0,"mono_ns":{self.now_ns}}}\n'

    def slow(self, values):
        if "factor" in values:
            self.factor = float(values["factor"])
            self.windows.append(self.factor)
            return
        if self.late == len(self.windows):
            self.late = None
            self.meanwhile()
        self.now_ns += 1000000000
        noise = self.noise.uniform(1 - self.spread, 1 + self.spread)
        self.progress += self.rate * noise / (1 + self.share * (self.factor - 1))
        self.slowed += self.rate if self.factor > 1 and self.slows else 0


def recording(rounds=100, round_ms=10, write_ms=4):
    """A dump of a server with one thread: it reads a request, runs, writes to a file, and answers, again and again.

    Its file is nowhere, so that classes are called after places in it: server+0x20/pwrite takes write_ms of each
    round, server+0x10/read nothing.
    """
    base, thread = 0x400000, 1 << 32
    strings = ["", "server", "main", "read", "pwrite", "send", "1:1", "tcp 127.0.0.1:1>127.0.0.1:2", "file /srv/log"]
    end_ns = rounds * round_ms * 1000000
    events = []

    def op(number, name, ident, stack, start_ns, length_ns, **more):
        events.append({"e": "op", "k": "io", "w": "external", "o": "ok", "id": thread + number, "p": thread + 1,
                       "c": name, "i": ident, "s": start_ns, "d": start_ns + length_ns, "th": 1, "st": stack,
                       "n": 10, **more})
    for i in range(rounds):
        at = i * round_ms * 1000000
        op(4 * i + 2, 3, 7, 1, at + 1000, 1000, ac=1, fd=5)
        op(4 * i + 3, 4, 8, 2, at + 100000, write_ms * 1000000, fd=6)
        op(4 * i + 4, 5, 7, 3, at + (round_ms - 1) * 1000000, 1000, ac=1, fd=5)
    opened = [{"op_id": 1, "kind": "process", "work_type": "engine", "class_id": 1, "client_id": 6, "start_ns": 0},
              {"op_id": thread + 1, "parent_id": 1, "kind": "thread", "work_type": "engine", "class_id": 2,
               "start_ns": 0, "th": 1}]
    header = {"schema_version": 1, "epoch_unix_nano": 1700000000000000000,
              "dumped_unix_nano": 1700000000000000000 + end_ns, "dropped_events": 0, "event_count": len(events),
              "process": {"pid": 1, "ppid": 0, "exe": "/nowhere/server", "host": "h", "cpus": 2, "client_id": 6,
                          "op": 1},
              "threads": [{"th": 1, "tid": 1, "name": "server", "op": thread + 1}],
              "modules": [{"path": "/nowhere/server", "build_id": "00", "base": base, "start": base, "size": 0x1000}],
              "strings": strings, "stacks": [[], [0, 0x11], [0, 0x21], [0, 0x31]], "open_ops": opened, "open_waits": []}
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in [header] + events).encode()


def key(*offsets, path=b"/nowhere/server"):
    """The key of a stack of that server."""
    value = 0xcbf29ce484222325
    for offset in offsets:
        for byte in path + b"\0" + offset.to_bytes(8, "little"):
            value = (value ^ byte) * 0x100000001b3 % (1 << 64)
    return f"{value:016x}"
