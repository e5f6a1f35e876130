#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a probe costs: CPU time of a call of a small function, in nanoseconds.

Each row is measured in turns with the bare function, ROUNDS times; medians. The ratio is to the first row.
Between two rows lies what the second does more: reading values, writing them.
"""
import os
import statistics
import subprocess
import tempfile
import time

BUILD = os.path.abspath(os.environ.get("B", "build"))
ROUNDS = int(os.environ.get("ROUNDS", "7"))

# Name, probe, whether recording is on.
ROWS = [("every call recorded", ["called"], True),
        ("with two arguments", ["called($arg1:s32, $arg2:s32)"], True),
        ("with two arguments, one of them is hidden", ["called($arg1:s32) if $arg2:u32 != 4000000000"], True),
        ("with an argument and what is returned", ["called($arg1:s32, $ret:s32)"], True),
        ("with a real argument", ["called($arg1:f64)"], True),
        ("none: all shorter than --min", ["--min", "1s", "called"], True),
        ("none: a condition on an argument", ["called if $arg1:u32 == 4000000000"], True),
        ("none: not in a request (--when)", ["--when", "request>p95", "called"], True),
        ("none: no such op (--when)", ["--when", "op:never", "called"], True),
        ("none: no lock (--when)", ["--when", "lock", "called"], True),
        ("the slowest hundredth", ["--min", "p99", "called"], True),
        ("a line of it, as a moment", ["probeloop.c:13"], True),
        ("recording is off", ["called"], False)]


class Loop:
    """The program, and the command for it."""

    def __init__(self, directory):
        self.environment = dict(os.environ, WCPROF_DIR=directory)
        ours = dict(self.environment, LD_PRELOAD=os.path.join(BUILD, "libwcprof.so"), WCPROF_FULL="ring",
                    WCPROF_MAX_EVENTS="100000")
        self.program = subprocess.Popen([os.path.join(BUILD, "tests/bench/probeloop")], env=ours, text=True,
                                        bufsize=1, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.program.stdout.readline()
        while not os.path.exists(os.path.join(directory, f"{self.program.pid}.sock")):
            time.sleep(0.01)

    def call_ns(self):
        self.program.stdin.write("once\n")
        return float(self.program.stdout.readline())

    def wcprof(self, verb, *arguments):
        subprocess.run([os.path.join(BUILD, "wcprof"), verb, str(self.program.pid), *arguments],
                       env=self.environment, check=True, stdout=subprocess.DEVNULL)

    def probed_ns(self, probe, is_on):
        """More than the bare function's call just before."""
        bare = self.call_ns()
        if is_on:
            self.wcprof("enable")
        self.wcprof("probe", *probe)
        self.call_ns()
        probed = self.call_ns()
        self.wcprof("probe", "--remove", "all")
        if is_on:
            self.wcprof("disable")
        return probed - bare


def main():
    with tempfile.TemporaryDirectory() as directory:
        loop = Loop(directory)
        taken = {row[0]: [] for row in ROWS}
        for _ in range(ROUNDS):
            for name, probe, is_on in ROWS:
                taken[name].append(loop.probed_ns(probe, is_on))
        first = statistics.median(taken[ROWS[0][0]])
        print(f"{'a call of a probed function takes more':45} {'ns':>7} {'ratio':>6}")
        for name, _, _ in ROWS:
            median = statistics.median(taken[name])
            print(f"{name:45} {median:+7.1f} x{median / first:.2f}")
        loop.program.stdin.close()
        loop.program.wait()


main()
