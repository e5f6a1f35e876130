#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many of the recorder's stacks are truncated or wrong, by gdb's: of real servers under load.

usage: stacks.py [SERVER...], of kvserver, redis, memcached, nginx and postgres; all without any.

Each server records all calls, all holds of locks and 99 samples a second. gdb stops it where the recorder is about
to capture a stack, CAPTURES (500) times in calls and SAMPLES (100) times in samples, unwinds the stack itself with
all debug information that is installed, and compares: stacks_gdb.py. Where gdb's stack is the shorter one ("longer"),
gdb had no more to say. "none": there was no stack at all.
"""
import json
import os
import signal
import shutil
import subprocess
import sys
import threading
import time

import servers

CAPTURES = int(os.environ.get("CAPTURES", "500"))
SAMPLES = int(os.environ.get("SAMPLES", "100"))
SECONDS_MAX = 120  # of gdb with one server
KINDS = ("same", "longer", "truncated", "wrong", "none")


class Kvserver(servers.Memcached):
    name, needs = "kvserver", ()

    def command(self):
        return [f"{servers.BUILD}/tests/targets/kvserver", str(self.port)]


def descendants(pid):
    """The process and those that it made."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
            return [pid] + [each for child in children.read().split() for each in descendants(int(child))]
    except OSError:
        return []


def ticks(pid):
    """CPU time that it has used; 0 when it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return sum(int(field) for field in stat.read().rpartition(")")[2].split()[11:13])
    except OSError:
        return 0


def busiest(pid):
    """Which of the server's processes does the work."""
    before = {each: ticks(each) for each in descendants(pid)}
    time.sleep(0.5)
    return max(before, key=lambda each: ticks(each) - before[each])


def load_until_it_ends(server):
    try:
        server.load(10000000)
    except (OSError, subprocess.CalledProcessError):
        pass  # the server has ended


def examine(pid, captures, samples):
    """What gdb found of one process."""
    out = f"{servers.here}/found.json"
    own = dict(servers.environment, CAPTURES=str(captures), SAMPLES=str(samples), OUT=out, DEBUGINFOD_URLS="")
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stacks_gdb.py")
    with open(f"{servers.here}/gdb.out", "wb") as log:
        gdb = subprocess.Popen(["gdb", "-q", "-nx", "-batch", "-p", str(pid), "-x", script], env=own, stdout=log,
                               stderr=log, stdin=subprocess.DEVNULL)
        try:
            gdb.wait(SECONDS_MAX)
        except subprocess.TimeoutExpired:
            gdb.send_signal(signal.SIGINT)
            gdb.wait()
    if not os.path.exists(out):
        with open(f"{servers.here}/gdb.out", encoding="utf-8", errors="replace") as log:
            print(log.read()[-2000:])
        return {}
    with open(out, encoding="utf-8") as found:
        result = json.load(found)
    os.unlink(out)
    return result


def measure(server):
    """Starts it, loads it, compares its stacks, ends it."""
    directory = f"{servers.here}/run-{server.name.split()[0]}"
    os.mkdir(directory, 0o700)
    if server.user:
        shutil.chown(directory, server.user)
    own = dict(servers.environment, WCPROF_DIR=directory, **servers.MODES["all"])
    process = subprocess.Popen(server.command(), env=own, user=server.user, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, cwd=directory)
    while not server.is_ready():
        assert process.poll() is None, f"{server.name} ended"
        time.sleep(0.01)
    server.load(100)
    load = threading.Thread(target=load_until_it_ends, args=(server,), daemon=True)
    load.start()
    pid = busiest(process.pid)
    found = examine(pid, CAPTURES, 0)
    subprocess.run([servers.WCPROF, "enable", str(pid), "sample_hz=99"], check=True,
                   stdout=subprocess.DEVNULL, env=dict(servers.environment, WCPROF_DIR=directory))
    found.update(examine(pid, 0, SAMPLES))
    process.send_signal(server.end)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    load.join(10)
    servers.remove_arenas()
    return found


def main():
    total = dict.fromkeys(KINDS, 0)
    try:
        if not servers.which("gdb"):
            print("not measured: no gdb here")
            return
        print(f"{'stacks':26}" + "".join(f"{kind:>10}" for kind in KINDS))
        for kind in (Kvserver, servers.Redis, servers.Memcached, servers.Nginx, servers.Postgres):
            if sys.argv[1:] and kind.name.split()[0] not in sys.argv[1:]:
                continue
            missing = [need for need in kind.needs if not servers.which(need)]
            if missing:
                print(f"{kind.name:16} not measured: no {', '.join(missing)} here")
                continue
            for name, counts in measure(kind()).items():
                print(f"{kind.name:16} {name:9}" + "".join(f"{counts[each]:10}" for each in KINDS), flush=True)
                for each in KINDS:
                    total[each] += counts[each]
                for what, ours, theirs in counts["differ"]:
                    print(f"  {what}: {' < '.join(ours)}\n  gdb: {' < '.join(theirs)}")
    finally:
        shutil.rmtree(servers.here, ignore_errors=True)
    count = sum(total.values())
    bad = total["truncated"] + total["wrong"] + total["none"]
    if count:
        print(f"{bad} of {count} stacks truncated, wrong or missing: {100 * bad / count:.2f} %")


main()
