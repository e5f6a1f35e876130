#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What attach costs: CPU time of a request to kvserver before, attached, recording and after, and how long it takes.

Each round starts a server, and has REQUESTS requests answered in each state, one at a time on one connection; medians
of ROUNDS rounds. Meanwhile requests go on while the library is loaded and leaves: the longest one is told beside the
longest one of as long a time without that.
"""
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(os.environ.get("B", "build"))
ROUNDS = int(os.environ.get("ROUNDS", "7"))
REQUESTS = int(os.environ.get("REQUESTS", "10000"))


class Server:
    def __init__(self, directory):
        self.environment = dict(os.environ, WCPROF_DIR=directory)
        self.program = subprocess.Popen([os.path.join(BUILD, "tests/targets/kvserver"), "0", "/dev/null", "1"],
                                        stdout=subprocess.PIPE, text=True, env=self.environment)
        port = int(self.program.stdout.readline().rsplit(":", 1)[1])
        self.connection = socket.create_connection(("127.0.0.1", port))
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.ask()

    def ask(self):
        self.connection.sendall(b"get a\r\n")
        self.connection.recv(100)

    def cpu_ns(self):
        return time.clock_gettime_ns((~self.program.pid << 3) | 2)

    def request_ns(self):
        begin = self.cpu_ns()
        for _ in range(REQUESTS):
            self.ask()
        return (self.cpu_ns() - begin) / REQUESTS

    def wcprof(self, verb):
        """How long the command takes, and the longest request meanwhile."""
        return self.meanwhile(os.path.join(BUILD, "wcprof"), verb, str(self.program.pid))

    def meanwhile(self, *command):
        longest, begin = 0, time.monotonic()
        process = subprocess.Popen(command, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None:
            asked = time.monotonic()
            self.ask()
            longest = max(longest, time.monotonic() - asked)
        if process.returncode:
            sys.exit(f"{command}: exit status {process.returncode}")
        return (time.monotonic() - begin) * 1e3, longest * 1e3

    def end(self):
        self.connection.close()
        self.program.terminate()
        self.program.wait()


def one_round(directory, figures):
    def note(name, value):
        figures.setdefault(name, []).append(value)

    def note_command(name, times):
        note(f"{name} takes, ms", times[0])
        note(f"longest request meanwhile, ms ({name})", times[1])

    server = Server(directory)
    before_ns = server.request_ns()
    note("a request before, ns of CPU time", before_ns)
    note_command("sleep", server.meanwhile("sleep", "0.02"))
    note_command("attach", server.wcprof("attach"))
    note("attached, recording off: more, ns", server.request_ns() - before_ns)
    server.wcprof("enable")
    note("attached, recording: more, ns", server.request_ns() - before_ns)
    server.wcprof("disable")
    server.wcprof("reset")
    note_command("detach", server.wcprof("detach"))
    note("after detach: more, ns", server.request_ns() - before_ns)
    server.end()


def main():
    figures = {}
    with tempfile.TemporaryDirectory() as directory:
        for _ in range(ROUNDS):
            one_round(directory, figures)
    for name, values in figures.items():
        print(f"{name:45} {statistics.median(values):10.2f}   ({min(values):.2f} to {max(values):.2f})")


main()
