#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the library adds to short processes: CPU time of /bin/true from start to end, and of a build.

    true    a process that does nothing: alone, with the library in it and recording off, and on
    build   make -j3 of this repository's command, or of TARGETS, into an empty directory: alone, and by `wcprof record`

One way is measured after the other, in an order that changes with each round, so that a slower minute of the machine is
in all of them. Figures are medians over rounds, the differences and ratios those within one, with the standard error
of their mean. Counted is the CPU time of all processes, those of `wcprof record` too. B is the build directory.
"""
import argparse
import glob
import math
import os
import resource
import shutil
import statistics
import subprocess
import tempfile

BUILD = os.path.abspath(os.environ.get("B", "build"))
LIBRARY = os.path.join(BUILD, "libwcprof.so")
WCPROF = os.path.join(BUILD, "wcprof")
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
PROCESSES = 100

here = tempfile.mkdtemp(prefix="wcprof-bench.")
clean = {name: value for name, value in os.environ.items() if not name.startswith(("WCPROF_", "MAKE"))}


def cpu_seconds():
    """Of all children that have ended, and theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def remove_arenas():
    """Removes what ended processes of this benchmark left."""
    for name in glob.glob("/dev/shm/wcprof-*"):
        with open(name, "rb") as file:
            # The path of the control socket is there.
            if not os.path.exists(f"/proc/{name.split('-')[2]}") and os.fsencode(here) in file.read(32768):
                os.unlink(name)


def start_many(more):
    """CPU time of a process, in microseconds."""
    environment = dict(clean, WCPROF_DIR=here, WCPROF_OUTPUT="/dev/null", **more)
    before = cpu_seconds()
    for _ in range(PROCESSES):
        os.waitpid(os.posix_spawn("/bin/true", ["true"], environment), 0)
    return (cpu_seconds() - before) / PROCESSES * 1e6


def build(targets, *before):
    """CPU time of a build, in seconds."""
    to = os.path.join(here, "build")
    begin = cpu_seconds()
    targets = [name.replace("B/", f"{to}/") for name in targets]
    made = subprocess.run([*before, "make", "-s", "-j3", f"B={to}", *targets],
                          env=dict(clean, CCACHE_DISABLE="1"), cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    taken = cpu_seconds() - begin
    if made.returncode != 0:
        raise SystemExit(f"starts.py: {' '.join(made.args)} ended with {made.returncode}:\n{made.stdout[-2000:]}")
    shutil.rmtree(to)
    return taken


def in_turns(ways, rounds):
    """Of each round, what each way took."""
    runs = []
    for i in range(rounds):
        order = list(ways)[i % len(ways):] + list(ways)[:i % len(ways)]
        runs.append({name: ways[name]() for name in order})
    return runs


def show(runs, unit):
    """One line a way, against the first."""
    first = next(iter(sorted(runs[0], key=lambda name: name != "alone")))
    for name in [first, *(name for name in runs[0] if name != first)]:
        more = [run[name] - run[first] for run in runs]
        ratio = [run[name] / run[first] for run in runs]
        errors = [statistics.stdev(of) / math.sqrt(len(of)) if len(of) > 1 else math.inf for of in (more, ratio)]
        print(f"    {name:10} {statistics.median(run[name] for run in runs):9.1f} {unit}" + (
            f"   {statistics.median(more):+.1f} +-{errors[0]:.1f}   x{statistics.median(ratio):.3f} +-{errors[1]:.3f}"
            if name != first else ""), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", metavar="WHAT", help="true, build; both if none is named")
    parser.add_argument("--targets", nargs="+", default=["B/wcprof"], metavar="TARGET",
                        help="what is built; B/ is the empty directory (B/wcprof: 110 files; all takes long)")
    parser.add_argument("--rounds", type=int, metavar="N", help="so many (true: 40, build: 3)")
    arguments = parser.parse_args()
    if set(arguments.what) - {"true", "build"}:
        parser.error("it is true or build")
    what = arguments.what or ["true", "build"]
    off = {"LD_PRELOAD": LIBRARY}
    try:
        if "true" in what:
            ways = {"alone": lambda: start_many({}), "off": lambda: start_many(off),
                    "recording": lambda: start_many(dict(off, WCPROF_ENABLE="1"))}
            print("a process, from start to end")
            show(in_turns(ways, arguments.rounds or 40), "us")
        if "build" in what:
            record = [WCPROF, "record", "-q", "-o", f"{here}/build.jsonl", "--"]
            ways = {"alone": lambda: build(arguments.targets),
                    "recorded": lambda: build(arguments.targets, *record)}
            print(f"make -j3 of {' '.join(arguments.targets)}")
            show(in_turns(ways, arguments.rounds or 3), "s")
    finally:
        remove_arenas()
        shutil.rmtree(here, ignore_errors=True)


if __name__ == "__main__":
    main()
