#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a program that nobody here wrote behaves otherwise with the library than without.

Each row of table.py is a command that is run three times in the same directory, emptied before: native, with the
library preloaded but off, and recording from its start to a dump at each exit. Where the row says so, once more:
recording with samples. Exit status, standard output and standard error must be the same, after the row's own
replacements; every dump must be read by wcprof-analyze.

With --attach no library is preloaded. Every process of the row is attached to as soon as it is seen, and recorded. One
that is refused, or has ended before, goes on without; the row's line says how many were attached to.

CPU time must be of the same class: at most twice the native one plus a second, unless the row says and explains more,
and 20 ms for each process that left a dump. It is CPU time because that depends least on what else the machine does,
and a class because it depends on that all the same; what is over is tried once more.

Where a row says `tries`, a run that differs is repeated, so many in all, because the program differs from itself now
and then; the row says why, and --twice shows it: each row natively, two times. The row's line then says how often
each mode was retried; a row that says nothing of it was the same at once. A command that ends with status 77 says
that this machine cannot do it: a skip, never a pass.
"""
import argparse
import concurrent.futures
import dataclasses
import difflib
import functools
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from table import ROWS

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, os.environ.get("B", "build"))
LIBRARY = os.path.join(BUILD, "libwcprof.so")
ANALYZER = os.path.join(BUILD, "wcprof-analyze")
WCPROF = os.path.join(BUILD, "wcprof")
SKIPPED = 77
DIFFERENCE_LINES = 60
# An event cap that keeps a row's dumps readable in seconds; what is dropped is counted in them.
EVENTS_MOST = "20000"
SAMPLES_HZ = "99"
CPU_MORE_SECONDS = 1
# To start recording and to write a dump takes 2 to 4 ms on an idle machine, and 7 ms on one whose CPUs are shared.
CPU_DUMP_SECONDS = 0.02
PAUSE_SECONDS = 0.01
ATTACH_SECONDS = 60  # only ends what hangs
DUMPS_AT_A_TIME = 50
say_lock = threading.Lock()


class Difference(Exception):
    """What a row shows that it should not."""


class Place:
    """One row's directory: emptied before each run, gone with all that the row left at the end."""

    existing = set()

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="wcprof-conformance.", dir=os.environ.get("TMPDIR", "/tmp"))
        self.dumps = os.path.join(self.path, "dumps")
        os.chmod(self.path, 0o755)
        # Where every user can read it.
        self.library = shutil.copy(LIBRARY, self.path)
        Place.existing.add(self)

    def prepare(self):
        for name, mode in (("work", 0o1777), ("dumps", 0o1777), ("run", 0o700), ("run-nobody", 0o700)):
            path = os.path.join(self.path, name)
            shutil.rmtree(path, ignore_errors=True)
            os.mkdir(path)
            os.chmod(path, mode)
        if os.geteuid() == 0:
            shutil.chown(os.path.join(self.path, "run-nobody"), "nobody", "nogroup")

    def environment(self, mode):
        work = os.path.join(self.path, "work")
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": work,
                       "TMPDIR": work, "LANG": "C.UTF-8", "TZ": "UTC", "PROGRAMS": os.path.join(HERE, "programs"),
                       "PLACE": self.path, "BUILD": BUILD}
        if mode != "native":
            environment.update(WCPROF_DIR=os.path.join(self.path, "run"))
        if mode not in ("native", "attached"):
            environment.update(LD_PRELOAD=self.library)
        if mode == "sampled":
            environment.update(WCPROF_SAMPLE_HZ=SAMPLES_HZ)
        if mode in ("on", "sampled"):
            environment.update(WCPROF_ENABLE="1")
        if mode in ("on", "sampled", "attached"):
            environment.update(WCPROF_OUTPUT=os.path.join(self.dumps, "%e.%p.jsonl"),
                               WCPROF_MAX_EVENTS=EVENTS_MOST)
        return environment

    def is_home_of(self, process):
        """By its environment, which a program may have written over, or by its working directory."""
        with open(f"{process}/environ", "rb") as file:
            return f"PLACE={self.path}\0".encode() in file.read() or \
                os.readlink(f"{process}/cwd").startswith(self.path + "/")

    def end_leftovers(self):
        """Ends every process that belongs here, and says how many there were."""
        found = 0
        for process in glob.glob("/proc/[0-9]*"):
            try:
                if self.is_home_of(process):
                    os.kill(int(process.split("/")[2]), signal.SIGKILL)
                    found += 1
            except OSError:
                pass
        return found

    def remove_arenas(self):
        """An arena holds the path of its control socket, which is below this directory."""
        for path in glob.glob("/dev/shm/wcprof-*"):
            try:
                with open(path, "rb") as file:
                    is_ours = f"{self.path}/run".encode() in file.read(65536)
                if is_ours:
                    os.unlink(path)
            except OSError:
                pass

    def remove(self):
        while self.end_leftovers():
            time.sleep(0.05)
        self.remove_arenas()
        shutil.rmtree(self.path, ignore_errors=True)
        Place.existing.discard(self)


def give_up(number, _):
    for place in list(Place.existing):
        place.remove()
    os._exit(128 + number)


class Attacher:
    """Attaches to each process of a place, from its beginning to the end of the row, and records it."""

    def __init__(self, place):
        self.place, self.seen, self.attached, self.hung, self.ends = place, set(), 0, "", False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.ends:
            for process in glob.glob("/proc/[0-9]*"):
                self.look_at(process)
            time.sleep(PAUSE_SECONDS)

    def look_at(self, process):
        try:
            key = (process, os.stat(process).st_ctime_ns)
            if key in self.seen or not self.place.is_home_of(process):
                return
        except OSError:
            return
        self.seen.add(key)
        pid = process.split("/")[2]
        self.attached += self.tell("attach", pid) and self.tell("enable", pid)

    def tell(self, verb, pid):
        environment = {"PATH": "/usr/bin:/bin", "WCPROF_DIR": os.path.join(self.place.path, "run")}
        try:
            return subprocess.run([WCPROF, verb, pid], env=environment, capture_output=True, check=False,
                                  timeout=ATTACH_SECONDS).returncode == 0
        except subprocess.TimeoutExpired:
            self.hung = f"wcprof {verb} {pid} hangs"
            return False

    def end(self):
        self.ends = True
        self.thread.join()
        if self.hung:
            raise Difference(self.hung)


def normal(row, place, text):
    text = text.replace(place.path, "PLACE")
    for pattern, replacement in row.same:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return "".join(sorted(text.splitlines(keepends=True))) if row.unordered else text


@dataclasses.dataclass
class Outcome:
    """Of one run: what must not change is in the text, with the status."""

    status: object
    text: str
    cpu_seconds: float
    dumps: int = 0
    attached: int = 0


def wait_for(process, seconds):
    """Its status, and the CPU time of it and of all that it and its children have waited for."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_utime + usage.ru_stime
        time.sleep(PAUSE_SECONDS)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return f"none after {seconds} seconds", 0.0


def run(row, place, mode):
    """The row's command in one mode."""
    place.prepare()
    output = [os.path.join(place.path, name) for name in ("stdout", "stderr")]
    with open(output[0], "wb") as out, open(output[1], "wb") as err:
        process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", row.command], stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=err, cwd=os.path.join(place.path, "work"),
                                   env=place.environment(mode), start_new_session=True)
        attacher = Attacher(place) if mode == "attached" else None
        status, cpu_seconds = wait_for(process, row.seconds)
    if attacher:
        attacher.end()
    place.end_leftovers()
    text = f"exit status {status}\n"
    for name, path in zip(("output", "error"), output):
        with open(path, encoding="utf-8", errors="backslashreplace") as file:
            text += f"--- standard {name}\n{normal(row, place, file.read())}"
    return Outcome(status, text, cpu_seconds, attached=attacher.attached if attacher else 0)


def difference(mode, native, other):
    lines = list(difflib.unified_diff(native.splitlines(), other.splitlines(), "native", mode, lineterm="", n=1))
    more = [f"... {len(lines) - DIFFERENCE_LINES} more lines"] if len(lines) > DIFFERENCE_LINES else []
    return "\n".join(lines[:DIFFERENCE_LINES] + more)


def has_header(path):
    """Who was killed as he wrote his dump's first line left none."""
    with open(path, "rb") as file:
        return file.readline().endswith(b"\n")


def check_dumps(place):
    """Every dump must be read; says how many there are, and how many were begun and not written."""
    paths = sorted(glob.glob(os.path.join(place.dumps, "*")))
    dumps = [path for path in paths if has_header(path)]
    for i in range(0, len(dumps), DUMPS_AT_A_TIME):
        # How well it is replayed is not the question here.
        command = [ANALYZER, "--quiet", "--force", "--json", "--min-self", "1000000s", *dumps[i:i + DUMPS_AT_A_TIME]]
        done = subprocess.run(command,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8",
                              errors="backslashreplace", check=False)
        if done.returncode != 0:
            raise Difference(f"wcprof-analyze ends with {done.returncode} for a dump:\n{done.stderr}")
    if not dumps:
        raise Difference("recorded, but there is no dump")
    return f"{len(dumps)} dumps" + (f", {len(paths) - len(dumps)} begun" if len(paths) > len(dumps) else "")


def run_checked(row, place, mode):
    """Returns how it went, and what is to be said of its dumps."""
    outcome = run(row, place, mode)
    outcome.dumps = len(os.listdir(place.dumps))
    if mode == "attached" and not outcome.dumps:
        return outcome, f"{outcome.attached} attached, no dump"
    if mode == "attached":
        return outcome, f"{outcome.attached} attached, {check_dumps(place)}"
    if mode != "off":
        return outcome, check_dumps(place)
    if outcome.dumps:
        raise Difference("off, and yet there is a dump")
    return outcome, ""


def is_dear(row, native, other):
    most = row.cpu_times * native.cpu_seconds + CPU_MORE_SECONDS + other.dumps * CPU_DUMP_SECONDS
    return other.cpu_seconds > most


def compare_mode(row, place, mode, native):
    """Returns the last native run, how it went, what is to be said of the dumps, and how often it was repeated."""
    tries = row.tries
    is_retried_for_time = False
    for attempt in range(tries + 1):
        other, dumps = run_checked(row, place, mode)
        is_same, dear = other.text == native.text, is_dear(row, native, other)
        if is_same and not dear:
            return native, other, dumps, attempt
        if is_same and is_retried_for_time:
            raise Difference(f"{mode}: {other.cpu_seconds:.1f} s of CPU time, native {native.cpu_seconds:.1f} s")
        if not is_same and attempt + 1 >= tries + is_retried_for_time:
            raise Difference(difference(mode, native.text, other.text))
        is_retried_for_time |= is_same
        native = run(row, place, "native")
    raise Difference(f"{mode}: now other than native, now dear")


def modes_of(row, is_attached):
    if is_attached:
        return ("attached",)
    return ("off", "on", "sampled") if row.sampled else ("off", "on")


def compare(row, place, is_attached):
    """Runs the row in its modes; returns what to say of it."""
    if is_attached and not row.attached:
        return "skip", "its own tracer would be refused"
    native = run(row, place, "native")
    if native.status == SKIPPED:
        return "skip", native.text.splitlines()[-1]
    if native.status != 0:
        raise Difference(f"fails without us\n{native.text}")
    notes, seconds = [], []
    for mode in modes_of(row, is_attached):
        native, other, dumps, retried = compare_mode(row, place, mode, native)
        notes += [dumps] * (mode in ("on", "attached")) + [f"retried {retried} times {mode}"] * (retried > 0)
        seconds.append(f"{mode} {other.cpu_seconds:.1f}")
    return "ok", ", ".join(notes) + f"; CPU {native.cpu_seconds:.1f} s, " + ", ".join(seconds)


def compare_native(row, place):
    first, second = run(row, place, "native"), run(row, place, "native")
    if first.text != second.text:
        raise Difference(difference("native again", first.text, second.text))
    return "ok", "twice the same"


def try_row(row, function):
    place = Place()
    begin = time.monotonic()
    try:
        word, note = function(row, place)
    except Difference as found:
        word, note = "FAIL", row.about + "\n" + str(found)
    finally:
        place.remove()
    lines = note.splitlines()
    with say_lock:
        print(f"{word:4} {row.name:24} {time.monotonic() - begin:7.1f} s  {lines[0]}", flush=True)
        for line in lines[1:]:
            print(f"     | {line}", flush=True)
    return word


def options():
    parser = argparse.ArgumentParser(
        description="Runs programs without the library, with it off, and with it recording, and compares.",
        epilog="The last line is `N passed, N failed`; the exit status is 1 if any failed.")
    parser.add_argument("rows", nargs="*", metavar="REGEX", help="only rows whose whole name matches (default: all)")
    parser.add_argument("--short", action="store_true", help="only rows of the short form")
    parser.add_argument("--attach", action="store_true", help="attach to the processes instead")
    parser.add_argument("--list", action="store_true", help="print the rows' names and end")
    parser.add_argument("--twice", action="store_true", help="run natively twice, and compare that")
    parser.add_argument("-j", "--jobs", type=int, default=1, metavar="N", help="so many rows at a time (1)")
    return parser.parse_args()


def main():
    chosen = options()
    rows = [row for row in ROWS if (row.short or not chosen.short) and
            (not chosen.rows or any(re.fullmatch(pattern, row.name) for pattern in chosen.rows))]
    if chosen.list:
        for row in rows:
            print(row.name if chosen.short else f"{row.name:24} {row.about}")
        return 0
    if chosen.jobs > 1:
        rows.sort(key=lambda row: -row.seconds)  # or one that takes long would be left at the end
    if not rows:
        sys.exit("conformance.py: no such row (--list shows them)")
    for path in (LIBRARY, ANALYZER, WCPROF):
        if not os.path.exists(path):
            sys.exit(f"conformance.py: not built: {path} (make)")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, give_up)
    function = compare_native if chosen.twice else functools.partial(compare, is_attached=chosen.attach)
    with concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
        words = list(pool.map(lambda row: try_row(row, function), rows))
    skipped = f", {words.count('skip')} skipped" if "skip" in words else ""
    print(f"{words.count('ok')} passed, {words.count('FAIL')} failed{skipped}")
    return 1 if "FAIL" in words else 0


if __name__ == "__main__":
    sys.exit(main())
