#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a probe costs: CPU time of a call of a small function, in nanoseconds."""
import os
import subprocess
import tempfile
import time

BUILD = os.path.abspath(os.environ.get("B", "build"))

ROWS = [("every call recorded", ["called"]),
        ("none recorded: all shorter than --min", ["--min", "1s", "called"]),
        ("none recorded: a condition on an argument", ["called if $arg1:u32 == 4000000000"]),
        ("none recorded: not in a request (--when)", ["--when", "request>p95", "called"]),
        ("none recorded: no such op (--when)", ["--when", "op:never", "called"]),
        ("none recorded: no lock (--when)", ["--when", "lock", "called"]),
        ("recorded with two arguments", ["called($arg1:s32, $arg2:s32)"])]


def main():
    with tempfile.TemporaryDirectory() as directory:
        environment = dict(os.environ, WCPROF_DIR=directory)
        ours = dict(environment, LD_PRELOAD=os.path.join(BUILD, "libwcprof.so"), WCPROF_RING="1")
        program = subprocess.Popen([os.path.join(BUILD, "tests/bench/probeloop")], env=ours, text=True, bufsize=1,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        program.stdout.readline()

        def call_ns():
            program.stdin.write("once\n")
            return float(program.stdout.readline())

        def wcprof(*arguments):
            subprocess.run([os.path.join(BUILD, "wcprof"), *arguments], env=environment, check=True,
                           stdout=subprocess.DEVNULL)

        pid = str(program.pid)
        while not os.path.exists(os.path.join(directory, f"{pid}.sock")):
            time.sleep(0.01)
        plain = call_ns()
        print(f"{'not probed':45} {plain:6.1f} ns")
        wcprof("probe", pid, "called")
        print(f"{'probed, recording off':45} {call_ns() - plain:+6.1f} ns")
        wcprof("probe", "--remove", "all", pid)
        wcprof("enable", pid)
        for name, probe in ROWS:
            wcprof("probe", pid, *probe)
            call_ns()
            print(f"{name:45} {call_ns() - plain:+6.1f} ns")
            wcprof("probe", "--remove", "all", pid)
        print(f"{'removed':45} {call_ns() - plain:+6.1f} ns")
        program.stdin.close()
        program.wait()


main()
