# SPDX-License-Identifier: Apache-2.0
"""Runs a program of the table once: as it is or changed, alone or recorded.

A batch program is timed from its start to its end, and recorded by `wcprof record`. A server listens on
127.0.0.1; what is timed is its load, and it is recorded from when the load begins to when it has ended.
Everything that is written stays in a directory that is deleted.
"""

import glob
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "truth"))

from runs import cpus_of

START_S_MAX = 20
END_S_MAX = 2           # servers may keep processes that the load made them start
RUN_S_MAX = 60          # a run takes one to three seconds; what takes longer hangs
NICE = -18              # with --urgent: before everything else that the machine does
PLACES = "/usr/sbin:/sbin:/usr/games:/usr/lib/postgresql/15/bin"


class RunError(RuntimeError):
    """A program, or the profiler, did not do what it was started for."""


def be_urgent():
    """From now on in a session of its own, which comes before those of others if the kernel lets us."""
    if os.getsid(0) != os.getpid():
        os.execvp("setsid", ["setsid", "-w", sys.executable, *sys.argv])
    try:
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
        with open("/proc/self/autogroup", "w", encoding="ascii") as file:
            file.write(str(NICE))
    except OSError as error:
        print(f"not urgent: {error}", file=sys.stderr)


def free_ports(count):
    """Ports on which nothing listens now; each is another one."""
    taken = [socket.socket() for _ in range(count)]
    try:
        for one in taken:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in taken]
    finally:
        for one in taken:
            one.close()


def filled(text, words):
    """The text with its @name@ replaced."""
    for name, value in reversed(words.items()):     # a program's own words may have those of all others
        text = text.replace(f"@{name}@", str(value))
    return text


def words_of(command, words):
    return shlex.split(filled(command, words))


class Run:
    """One run of a variant of a program, in a directory of its own."""

    def __init__(self, program, variant, build, data):
        self.program, self.variant, self.build = program, variant, os.path.abspath(build)
        self.directory = tempfile.mkdtemp(prefix="wcprof-field.", dir="/var/tmp")
        self.live, self.dumps = (os.path.join(self.directory, name) for name in (".live", ".dumps"))
        ports = free_ports(3)
        self.words = {"dir": self.directory, "data": data, "build": self.build, "port": ports[0], "port2": ports[1],
                      "port3": ports[2], "here": os.path.dirname(os.path.abspath(__file__)), **variant.words}
        self.servers = []
        os.chmod(self.directory, 0o755)
        for path in (self.live, self.dumps):
            os.mkdir(path, 0o700)
        if program.user:
            for path in (self.directory, self.live, self.dumps):
                shutil.chown(path, program.user)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def environment(self, **more):
        known = {name: value for name, value in os.environ.items() if not name.startswith(("WCPROF_", "LD_"))}
        return {**known, "LC_ALL": "C.UTF-8", "HOME": self.directory, "PATH": f"{os.environ['PATH']}:{PLACES}",
                **{name: filled(value, self.words) for name, value in self.program.environment.items()}, **more}

    def recorder(self, **more):
        """The environment of what is recorded."""
        return {"WCPROF_DIR": self.live, "WCPROF_SAMPLE_HZ": str(self.program.sample_hz), **more}

    def popen(self, command, environment, **more):
        return subprocess.Popen(words_of(command, self.words), env=environment, cwd=self.directory,
                                user=self.program.user or None, stdin=subprocess.DEVNULL, **more)

    def pinned(self):
        os.sched_setaffinity(0, cpus_of(self.variant.cpus or len(os.sched_getaffinity(0))))

    def call(self, command, environment=None, seconds=RUN_S_MAX):
        """Runs it to its end; RunError with what it said when that is not success."""
        output = os.path.join(self.directory, ".said")
        with open(output, "w+", encoding="utf-8", errors="replace") as log:
            child = self.popen(command, environment or self.environment(), stdout=log, stderr=log,
                               preexec_fn=self.pinned)
            # Not wait(seconds), which looks now and then: the end would be known to 50 ms only.
            timer = threading.Timer(seconds, child.kill)
            timer.start()
            status = child.wait()
            timer.cancel()
        if status:
            with open(output, encoding="utf-8", errors="replace") as log:
                raise RunError(f"{command[:60]}: exit status {status}: {log.read().strip()[-300:]}")

    def prepare(self):
        for name, text in self.program.files.items():
            path = os.path.join(self.directory, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(filled(text, self.words))
        for command in self.program.before:
            self.call(command)

    def start_servers(self, is_recorded):
        preload = self.recorder(LD_PRELOAD=os.path.join(self.build, "libwcprof.so"),
                                WCPROF_OUTPUT=self.dumps + "/%e.%p.jsonl") if is_recorded else {}
        for number, command in enumerate(self.program.servers):
            with open(os.path.join(self.directory, f".server{number}"), "w", encoding="utf-8") as log:
                self.servers.append(self.popen(command, self.environment(**preload), stdout=log, stderr=log,
                                               preexec_fn=self.pinned, process_group=0))
        for port in self.program.listens if self.servers else ():
            self.wait_for(self.words[port])
        if self.program.ready:
            self.wait_until_ready()
        for command in self.program.fill:
            self.call(command)

    def wait_for(self, port):
        begin_s = time.monotonic()
        while time.monotonic() - begin_s < START_S_MAX and all(one.poll() is None for one in self.servers):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        self.complain()

    def wait_until_ready(self):
        begin_s = time.monotonic()
        while time.monotonic() - begin_s < START_S_MAX and all(one.poll() is None for one in self.servers):
            try:
                return self.call(self.program.ready, seconds=START_S_MAX)
            except RunError:
                time.sleep(0.02)
        return self.complain()

    def complain(self):
        said = ""
        for number in range(len(self.servers)):
            with open(os.path.join(self.directory, f".server{number}"), encoding="utf-8", errors="replace") as log:
                said += log.read().strip()[-300:]
        raise RunError(f"the server does not start: {said}")

    def stop(self):
        for server in reversed(self.servers):
            server.send_signal(getattr(signal, self.program.stop))
            try:
                server.wait(START_S_MAX)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()
        self.servers = []

    def seconds(self):
        """What the variant takes."""
        self.prepare()
        self.start_servers(False)
        begin_s = time.monotonic()
        self.call(self.program.run, self.environment())
        return time.monotonic() - begin_s

    def recorded(self, folder):
        """The same, recorded: server*.jsonl and run*.jsonl into the folder; what the run took."""
        self.prepare()
        self.start_servers(True)
        for server in self.servers:
            self.wait_for_control(server)
            self.control("enable", "-t", str(server.pid))
        others = self.processes()
        command = f"@build@/wcprof record -q -o {self.dumps}/run.jsonl -- {self.program.run}"
        begin_s = time.monotonic()
        self.call(command, self.environment(**self.recorder()))
        taken_s = time.monotonic() - begin_s
        self.wait_for_ends(others)
        for number, server in enumerate(self.servers):
            self.control("dump", "-t", "-o", f"{self.dumps}/server{number}.jsonl", str(server.pid))
        names = os.listdir(self.dumps)
        if not os.path.getsize(f"{self.dumps}/run.jsonl"):
            raise RunError("the recording is empty")
        for server in self.servers:
            self.control("disable", "-t", str(server.pid))
        os.makedirs(folder)
        for name in names:      # before the servers end: how they do that is no part of the load
            shutil.copy(os.path.join(self.dumps, name), os.path.join(folder, name))
        return taken_s

    def wait_for_control(self, server):
        """A server that has done little so far hears the recorder's command only after one more call. One that leaves
        all work to its children may never make one: then they are who is recorded."""
        begin_s, others = time.monotonic(), self.processes()
        while not os.path.exists(os.path.join(self.live, f"{server.pid}.sock")):
            waited_s = time.monotonic() - begin_s
            if waited_s > END_S_MAX and any(os.path.exists(os.path.join(self.live, f"{pid}.sock")) for pid in others):
                return
            if waited_s > START_S_MAX:
                raise RunError("the server cannot be recorded")
            time.sleep(0.05)
            for port in self.program.listens:
                self.wait_for(self.words[port])
            self.wait_for_ends(others)

    def processes(self):
        """All that the servers have started, by the parents that they say they have."""
        children = {}
        for path in glob.glob("/proc/[0-9]*/stat"):
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    pid, parent = path.split("/")[2], file.read().rpartition(")")[2].split()[1]
            except OSError:     # it has ended meanwhile
                continue
            children.setdefault(parent, []).append(pid)
        found = [str(server.pid) for server in self.servers]
        for pid in found:
            found += children.get(pid, [])
        return set(found)

    def wait_for_ends(self, others):
        """A process that served the load, and ends with it, writes its recording at its end."""
        begin_s = time.monotonic()
        while self.processes() - others and time.monotonic() - begin_s < END_S_MAX:
            time.sleep(0.02)

    def control(self, *words):
        done = subprocess.run([os.path.join(self.build, "wcprof"), *words], capture_output=True, text=True, check=False,
                              env=self.environment(**self.recorder()), user=self.program.user or None,
                              timeout=RUN_S_MAX)
        if done.returncode:
            raise RunError(f"wcprof {words[0]}: {done.stderr.strip()[-300:]}")
