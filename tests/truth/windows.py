#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records a program in many short windows, and holds their answers against one long recording's.

    windows.py [--build build] [--windows N] [--ms N] [--only REGEX] [--long SECONDS] [--beside N] [--attach]
               [--keep DIR [--again]]

Each window is `wcprof enable`, a while, `wcprof disable`, `wcprof dump`. One line for each window: its drift, whether
its answers are withheld, and what the three classes would save that the long recording ranks highest. The last line
has the means over windows, and how much half of the class really saves, where that can be made. With --beside, so
many processes of other sessions want a CPU all the time. With --attach the windows are of a program without the
library, which is attached to before each and left after it; the long recording is of a preloaded one. With --again
nothing is recorded: the dumps of an earlier run in DIR are analyzed.
"""

import argparse
import collections
import contextlib
import glob
import json
import os
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

PYTHON = """
import socketserver
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(b"+%d\\r\\n" % sum(range(len(line) * 200)))
            self.wfile.flush()
socketserver.ThreadingTCPServer.allow_reuse_address = True
socketserver.ThreadingTCPServer(("127.0.0.1", {port}), Handler).serve_forever()
"""
ASKING = """
import socket, threading
def ask():
    with socket.create_connection(("127.0.0.1", {port})) as one:
        while True:
            one.sendall(b"question\\n")
            one.recv(100)
threads = [threading.Thread(target=ask) for i in range(4)]
for thread in threads:
    thread.start()
"""
LOCKS = {"T_N": "1000000", "T_A": "sleep:1500", "T_B": "sleep:750"}
POOL = {"T_N": "1000000", "T_M": "1", "T_Q": "4", "T_W": "1", "T_A": "sleep:2000", "T_B": "sleep:10000"}
FORKS = "while :; do sleep 0.004; (sleep 0.003); /bin/true; done"
BUSY = "while True: pass"
MADE_RUNS = 5
# `ends`: then it comes to an end; `half`: and has half of this class
Program = collections.namedtuple("Program", "argv environment load ends half", defaults=({}, None, None, None))


def programs(build, port):
    """By name: what runs, with which environment, and what asks it meanwhile."""
    return {
        "locks": Program([f"{build}/tests/truth/locks", "satlock"], LOCKS, None, {"T_N": "200"},
                         ("hold lock_m", {"T_A": "sleep:750"})),
        "pool": Program([f"{build}/tests/truth/conditions", "bursts"], POOL),
        "redis": Program(["redis-server", "--port", str(port), "--save", "", "--appendonly", "no"], {},
                         ["redis-benchmark", "-p", str(port), "-n", "100000000", "-c", "8", "-t", "set", "-q"]),
        "memcached": Program(["memcached", "-l", "127.0.0.1", "-p", str(port), "-t", "2", "-u", "root"], {},
                             [f"{build}/tests/targets/kvload", str(port), "8", "10000000"]),
        "python": Program([sys.executable, "-c", PYTHON.replace("{port}", str(port))], {},
                          [sys.executable, "-c", ASKING.replace("{port}", str(port))]),
        "forks": Program(["bash", "-c", FORKS]),
    }


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def running(argv, environment):
    with subprocess.Popen(argv, env={**os.environ, **environment}, stdout=subprocess.DEVNULL,
                          start_new_session=True) as process:
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def wcprof(build, *arguments):
    subprocess.run([f"{build}/wcprof", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def record(build, pid, path, seconds):
    wcprof(build, "enable", pid)
    time.sleep(seconds)
    wcprof(build, "disable", pid)
    wcprof(build, "dump", "-o", path, pid)


def analyzed(build, paths):
    """The report; None: there is none."""
    done = subprocess.run([f"{build}/wcprof-analyze", "--json", "--quiet", "--force", *paths], capture_output=True,
                          check=False, text=True)
    if done.returncode not in (0, 3):
        print(done.stderr.strip(), file=sys.stderr)
        return None
    return json.loads(done.stdout)


def savings(report):
    """{class: what half of it would save, in per cent of the recorded time}"""
    whole = report["actual_makespan_ns"]
    return {f"{row['kind']} {row['class']}": 100 * row["saved_ns"]["0.5"] / whole for row in report["what_if"]
            if row["kind"] != "func"} if whole else {}


def seconds(argv, environment):
    begun = time.monotonic()
    subprocess.run(argv, env={**os.environ, **environment}, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begun


def made(program):
    """What half of the program's class saves, in per cent, and in words."""
    if not program.half:
        return ""
    name, change = program.half
    whole, half = [], []
    for _ in range(MADE_RUNS):
        whole.append(seconds(program.argv, {**program.environment, **program.ends}))
        half.append(seconds(program.argv, {**program.environment, **program.ends, **change}))
    return f"; {name} really {100 * (1 - statistics.median(half) / statistics.median(whole)):.1f}%"


def drift(report):
    whole = report["actual_makespan_ns"]
    return 100 * (report["baseline_makespan_ns"] / whole - 1) if whole else float("nan")


def is_given(report):
    return all(check["state"] != "withholds" for check in report["checks"])


def word(report):
    return "given" if is_given(report) else "withheld"


def failures(report):
    return " ".join(f"{check['check']}={check['percent']:.1f}" for check in report["checks"]
                    if check["state"] not in ("passed", "unknown"))


def show(build, name, paths, long_path, really):
    long = analyzed(build, [long_path])
    if not long:
        return
    wanted = savings(long)
    best = sorted(wanted, key=wanted.get)[-3:][::-1]
    print(f"{name}: long: {long['actual_makespan_ns'] / 1e6:.0f} ms, drift {drift(long):+.1f}%,", word(long),
          failures(long), *(f"| {one} {wanted[one]:.1f}%" for one in best))
    drifts, given, all_of = [], 0, {one: [] for one in best}
    for path in paths:
        report = analyzed(build, [path])
        if not report:
            continue
        found = savings(report)
        drifts.append(drift(report))
        given += is_given(report)
        for one in best:
            all_of[one].append(found.get(one, 0))
        print(f"  {os.path.basename(path)}: {report['actual_makespan_ns'] / 1e6:.0f} ms, drift {drifts[-1]:+.1f}%,",
              word(report), failures(report), *(f"| {all_of[one][-1]:.1f}%" for one in best))
    near = sum(abs(one) <= 2 for one in drifts)
    print(f"{name}: of {len(paths)} windows {len(drifts)} read, {given} given, {near} drift by 2% at most, mean",
          f"{statistics.mean(map(abs, drifts or [0])):.1f}%, worst {max(drifts, key=abs, default=0):+.1f}%{really};",
          *(f"| {one} {statistics.mean(values):.1f}% +- "
            f"{statistics.stdev(values) / len(values) ** 0.5:.1f}, long {wanted[one]:.1f}%"
            for one, values in all_of.items() if len(values) > 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--windows", type=int, default=20)
    parser.add_argument("--ms", type=float, default=150)
    parser.add_argument("--long", type=float, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--beside", type=int, default=0)
    parser.add_argument("--attach", action="store_true")
    parser.add_argument("--keep")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    for name, program in programs(options.build, port := free_port()).items():
        if re.search(options.only, name):
            folder = options.keep or tempfile.mkdtemp()
            os.makedirs(folder, exist_ok=True)
            really = "" if options.again else record_all(options, name, program, folder)
            paths = glob.glob(f"{folder}/{name}-[0-9]*.jsonl")
            show(options.build, name, sorted(paths, key=lambda path: int(re.findall(r"\d+", path)[-1])),
                 f"{folder}/{name}-long.jsonl", really)
            if not options.keep:
                shutil.rmtree(folder)


@contextlib.contextmanager
def loaded(program, environment, beside):
    """The program, whoever asks it, and so many that keep the CPUs busy."""
    with contextlib.ExitStack() as stack:
        for _ in range(beside):
            stack.enter_context(running([sys.executable, "-c", BUSY], {}))
        process = stack.enter_context(running(program.argv, environment))
        time.sleep(0.5)
        if program.load:
            stack.enter_context(running(program.load, {}))
            time.sleep(0.3)
        yield process


def record_all(options, name, program, folder):
    build = options.build
    environment = {**program.environment, "LD_PRELOAD": os.path.abspath(f"{build}/libwcprof.so")}
    with loaded(program, program.environment if options.attach else environment, options.beside) as process:
        for i in range(options.windows):
            if options.attach:
                wcprof(build, "attach", process.pid)
            record(build, process.pid, f"{folder}/{name}-{i}.jsonl", options.ms / 1000)
            if options.attach:
                wcprof(build, "detach", process.pid)
            time.sleep(random.uniform(0.02, 0.1))
    with loaded(program, environment, options.beside) as process:
        record(build, process.pid, f"{folder}/{name}-long.jsonl", options.long)
    return made(program)


if __name__ == "__main__":
    main()
