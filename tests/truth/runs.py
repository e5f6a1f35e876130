# SPDX-License-Identifier: Apache-2.0
"""Runs patterns: as they are, really changed, and under the profiler; notes who disturbed them.

A run during which other processes took too much of its CPUs is made again as long as patience
lasts, else it is marked. Medians are taken over runs that took turns with all the others. A program
that is now fast, now slow, is run more often, until its median is known, or is marked, too.
"""

import contextlib
import dataclasses
import json
import math
import os
import platform
import re
import resource
import shutil
import signal
import statistics
import subprocess
import threading
import time

from table import Pattern, scaled

FOREIGN_SHARE_MAX = 0.05        # of the CPUs that a run may use
FOREIGN_SHARE_ASLEEP_MAX = 0.4  # the same for patterns that only sleep: they need hardly any CPU
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
RUN_SECONDS_MAX = 30            # patterns take less than one; a profiler's mistake may hang them
RUNS_AGAIN_MAX = 4
UNSURE_POINTS_WANTED = 1.5      # a saving that is not known more closely is measured more often
UNSURE_POINTS_MAX = 5           # if it is not even then, it proves nothing
UNSURE_CHANCE_MAX = 0.15        # of a median outside the interval that is given for it
TIMES_MAX = 4                   # so many times the runs where savings are not known that closely
LOAD = ["sh", "-c", "while :; do :; done"]  # what a foreign process does all the time
NICE = -18                      # with --urgent
SAMPLE_HZ = "250"               # of recorded runs that burn: their functions are asked about


def cpus_of(count):
    """The CPUs to use: the last ones, as the first ones serve most interrupts."""
    return sorted(os.sched_getaffinity(0))[-count:]


def busy_seconds(cpus):
    """Seconds that the CPUs have been busy with anything, stolen time included."""
    total = 0
    with open("/proc/stat", encoding="ascii") as file:
        for line in file:
            word, *ticks = line.split()
            if word.startswith("cpu") and word[3:].isdigit() and int(word[3:]) in cpus:
                user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, ticks[:8])
                total += user + nice + system + irq + softirq + steal
    return total * TICK_S


def machine():
    """The conditions of a sweep, in words."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = {line.split(": ")[1].strip() for line in file if line.startswith("model name")}
    kind = "a virtual machine" if is_virtual() else "a machine"
    return (f"Measured on {kind} with {os.cpu_count()} CPUs ({', '.join(sorted(models)) or 'unknown'}), "
            f"Linux {platform.release()}, {' '.join(platform.libc_ver())}.")


def is_virtual():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return re.search(r"^flags\b.*\bhypervisor\b", file.read(), re.MULTILINE) is not None


def own_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@contextlib.contextmanager
def loaded(count, cpus):
    """So many foreign processes keep these CPUs busy meanwhile; they count as ours afterwards. They
    are of our session: Linux shares CPUs out among sessions first, then among threads."""
    processes = [subprocess.Popen(LOAD, preexec_fn=lambda: os.sched_setaffinity(0, cpus))
                 for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def servers_of(pid):
    """The process and those that it started, without its clients."""
    found = [pid]
    for one in found:       # grows meanwhile
        with open(f"/proc/{one}/task/{one}/children", encoding="ascii") as file:
            found += [int(word) for word in file.read().split() if not is_client(word)]
    return found


def is_client(pid):
    """Clients are given the server's address; those that are gone count, too."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            environment = file.read()
        return not environment or b"T_ADDRESS=" in environment
    except OSError:
        return True


def exit_dumps(directory, pids):
    """What these processes have written as they ended: they had been dumped before that."""
    return [os.path.join(directory, name) for name in os.listdir(directory)
            if any(name.endswith(f".{pid}.jsonl") for pid in pids)]


def clear(directory):
    """Takes away what an earlier run has left."""
    for name in os.listdir(directory) if directory else ():
        if name.endswith(".jsonl"):
            os.remove(os.path.join(directory, name))


@dataclasses.dataclass
class Run:
    figures: dict           # makespan_ns, p50_ns, ...
    is_noisy: bool


class Runner:
    """Runs patterns; keeps what all runs have in common."""

    def __init__(self, build, steps_per_us, patience_s):
        self.build = os.path.abspath(build)
        self.steps_per_us = steps_per_us
        self.patience_s = patience_s        # left for runs that are made again
        self.minds = True                   # that other processes use the CPUs
        self.is_urgent = False              # programs come before all else that the machine does (root)

    def environment(self, pattern, overrides):
        constants = {**pattern.constants, **overrides}
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("T_", "LD_"))}
        environment.update({f"T_{name}": value for name, value in constants.items()})
        environment["T_STEPS_PER_US"] = str(self.steps_per_us)
        return environment

    def arguments(self, command):
        program, *rest = command.split()
        return [os.path.join(self.build, "tests", "truth", program), *rest]

    def finished(self, pattern, environment, cpus, dumps):
        """What a program said, and its exit status. A server goes on until it is told to end; of one that is
        recorded, dumps are made before that."""
        child = subprocess.Popen(self.arguments(pattern.command), env=environment, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, start_new_session=not pattern.neighbours, text=True,
                                 process_group=0 if pattern.neighbours else None,
                                 preexec_fn=lambda: self.place(cpus))
        limit = threading.Timer(RUN_SECONDS_MAX, os.killpg, (child.pid, signal.SIGKILL))
        limit.start()
        said = child.stdout.readline()
        if pattern.is_server:
            pids = servers_of(child.pid)
            for pid in pids if dumps else ():
                self.dump(pid, environment, dumps)
            child.terminate()
        output, errors = child.communicate()
        if limit.finished.is_set():
            raise RuntimeError(f"{pattern.command}: not over after {RUN_SECONDS_MAX} s")
        limit.cancel()
        for path in exit_dumps(dumps, pids) if pattern.is_server and dumps else ():
            os.remove(path)
        return said + output, errors, child.returncode

    def place(self, cpus):
        """Called in the program's process before it begins."""
        os.sched_setaffinity(0, cpus)
        if self.is_urgent:
            os.setpriority(os.PRIO_PROCESS, 0, NICE)
            with open("/proc/self/autogroup", "w", encoding="ascii") as file:
                file.write(str(NICE))

    def dump(self, pid, environment, directory):
        """What the process has recorded by now."""
        done = subprocess.run([os.path.join(self.build, "wcprof"), "dump", "-o",
                               os.path.join(directory, f"server{pid}.jsonl"), str(pid)], capture_output=True, text=True,
                              env={**os.environ, "WCPROF_DIR": environment["WCPROF_DIR"]}, check=False)
        if done.returncode:
            raise RuntimeError(f"wcprof dump: {done.stderr.strip()}")

    def run_once(self, pattern, environment, cpus, dumps=None):
        """One run on so many CPUs; raises RuntimeError when it fails."""
        command = pattern.command
        mine = cpus_of(cpus)
        busy_s, own_s, begin_s = busy_seconds(mine), own_seconds(), time.monotonic()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with loaded(pattern.load, mine):
            output, errors, status = self.finished(pattern, environment, mine, dumps)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        elapsed_s = time.monotonic() - begin_s
        own_s = own_seconds() - own_s
        own_s += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        foreign_s = busy_seconds(mine) - busy_s - own_s
        if status or not output.startswith("makespan_ns "):
            raise RuntimeError(f"{command}: exit status {status}: {errors.strip()}")
        words = output.split()
        figures = dict(zip(words[::2], map(float, words[1::2])))
        share = FOREIGN_SHARE_MAX if pattern.burns else FOREIGN_SHARE_ASLEEP_MAX
        allowed_s = (share * elapsed_s + TICK_S) * cpus
        return Run(figures, self.minds and foreign_s > allowed_s)

    def run(self, pattern, environment, cpus, dumps=None):
        """As run_once, and again while others disturb, as long as patience lasts."""
        run = self.run_once(pattern, environment, cpus, dumps)
        for again in range(RUNS_AGAIN_MAX):
            if not run.is_noisy or self.patience_s <= 0:
                break
            begin_s = time.monotonic()
            time.sleep(0.2 * (again + 1))
            clear(dumps)
            run = self.run_once(pattern, environment, cpus, dumps)
            self.patience_s -= time.monotonic() - begin_s
        return run

    def calibrate(self):
        """Sets how many steps are a microsecond: the most that any of several runs reached."""
        pattern = Pattern("calibrate", "cpus calibrate", "", [1], {"A": "burn:0"})
        runs = [self.run(pattern, self.environment(pattern, {}), 1) for _ in range(3)]
        self.steps_per_us = max(run.figures["steps_per_us"] for run in runs)


def variants_of(pattern, factors):
    """{key: overrides} of every run that the pattern's rows need; "base" first."""
    variants = {"base": {}}
    for change in pattern.changes:
        for factor in change.factors:
            if factors is None or factor in factors:
                variants[f"{change.constant} {factor}"] = {
                    constant: scaled(pattern.constants[constant], float(factor))
                    for constant in change.constant.split()}
    return variants


class Measurement:
    """Runs of a pattern as it is and of its variants, taken bit by bit: whether a machine is fast or
    slow changes within minutes, and is to be in all figures alike."""

    def __init__(self, runner, pattern, cpus, factors):
        self.runner, self.pattern, self.cpus = runner, pattern, cpus
        self.variants = variants_of(pattern, factors)
        self.taken = {key: [] for key in self.variants}
        self.wanted = list(self.variants)

    def take(self, turns):
        """So many runs of each variant that is wanted; they take turns, in turning order."""
        for _ in range(turns):
            self.wanted = self.wanted[1:] + self.wanted[:1]
            for key in self.wanted:
                environment = self.runner.environment(self.pattern, self.variants[key])
                self.taken[key].append(self.runner.run(self.pattern, environment, self.cpus))

    def summaries(self):
        """{variant: {figure: median, "noisy": runs, ...}}"""
        return {key: summary_of(runs) for key, runs in self.taken.items()}

    def want_unsure(self):
        """From now on only those whose savings are not known closely; False: there are none."""
        summaries = self.summaries()
        unsure = [key for key in self.variants if
                  unsure_points(summaries["base"], summaries[key]) > UNSURE_POINTS_WANTED]
        self.wanted = sorted({"base", *unsure}) if unsure else []
        return bool(unsure)


def half_width(values):
    """Half the interval in which the median of very many runs would lie, whatever their distribution:
    the runs below it are as many as heads of so many coins."""
    values = sorted(values)
    count, outside, beyond = len(values), 0, 0
    while True:
        beyond += 2 * math.comb(count, outside) / 2 ** count
        if beyond > UNSURE_CHANCE_MAX or 2 * (outside + 1) > count:
            break
        outside += 1
    outside = max(outside, 1)
    return (values[-outside] - values[outside - 1]) / 2


def unsure_points(base, changed, figure="makespan_ns"):
    """How far a saving may be from what was measured, in points; 0: nobody noted that."""
    base_half, changed_half = (summary.get("half", {}).get(figure, 0) for summary in (base, changed))
    return 100 * math.hypot(base_half * changed[figure] / base[figure], changed_half) / base[figure]


def is_unsure(base, changed, figure="makespan_ns"):
    return unsure_points(base, changed, figure) > UNSURE_POINTS_MAX


def summary_of(runs):
    names = runs[0].figures
    summary = {name: statistics.median(run.figures[name] for run in runs) for name in names}
    summary["half"] = {name: half_width([run.figures[name] for run in runs]) for name in names}
    makespans = sorted(run.figures["makespan_ns"] for run in runs)
    summary["spread"] = 100 * (makespans[-1] - makespans[0]) / statistics.median(makespans)
    summary["noisy"] = sum(run.is_noisy for run in runs)
    summary["runs"] = len(runs)
    return summary


def is_noisy(summary):
    """More than a third of the runs: the median is no longer one of a quiet machine."""
    return summary["noisy"] * 3 > summary["runs"]


def record(runner, pattern, cpus, directory):
    """Runs the pattern under the profiler, dumps into the directory; returns the run's figures."""
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    environment = runner.environment(pattern, {})
    environment.update(LD_PRELOAD=os.path.join(runner.build, "libwcprof.so"), WCPROF_ENABLE="1",
                       WCPROF_DIR=os.path.join(directory, "live"),
                       WCPROF_OUTPUT=os.path.join(directory, "%e.%p.jsonl"))
    if pattern.burns:
        environment["WCPROF_SAMPLE_HZ"] = SAMPLE_HZ
    run = runner.run(pattern, environment, cpus, directory)
    figures = {**run.figures, "noisy": int(run.is_noisy)}
    if not any(name.endswith(".jsonl") for name in os.listdir(directory)):
        raise RuntimeError(f"{pattern.name}: the profiler left no dump in {directory}")
    with open(os.path.join(directory, "figures.json"), "w", encoding="ascii") as file:
        json.dump(figures, file)
    return figures
