#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording adds to real servers: CPU time of a request, and the latency of requests during a dump.

Two figures for each server, which should agree: the hooked calls of a request, as a recording counts them, times
what a call costs (hookloop); and the difference in CPU time between servers with and without the recorder, in
turns, from start to end and less what few requests take. ROUNDS rounds (5), medians of differences within a round.
A server that is not installed is left out, and named.
"""
import glob
import json
import os
import pwd
import re
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time

BUILD = os.path.abspath(os.environ.get("B", "build"))
LIBRARY = os.path.join(BUILD, "libwcprof.so")
WCPROF = os.path.join(BUILD, "wcprof")
LOAD = os.path.join(BUILD, "tests/targets/kvload")
ROUNDS = int(os.environ.get("ROUNDS", "5"))
FEW, MANY = 2000, 42000
COMPARED = ("alone", "off", "on")
MODES = {"alone": {}, "off": {"LD_PRELOAD": LIBRARY}, "on": {"LD_PRELOAD": LIBRARY, "WCPROF_ENABLE": "1"}}
MODES["all"] = dict(MODES["on"], WCPROF_HOLDS="all")
POSTGRES = (["/usr/lib/postgresql"] + glob.glob("/usr/lib/postgresql/*/bin"))[-1]

here = tempfile.mkdtemp(prefix="wcprof-bench.")
os.chmod(here, 0o755)
environment = {name: value for name, value in os.environ.items() if not name.startswith("WCPROF_")}
environment["PATH"] += ":/usr/sbin"


def which(name):
    """Its path, or None."""
    return shutil.which(name, path=environment["PATH"])


def quietly(*command, **more):
    """Runs a load; its output."""
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True, **more).stdout


def ended_arenas():
    """What ended servers of this benchmark left."""
    found = []
    for name in glob.glob("/dev/shm/wcprof-*"):
        with open(name, "rb") as file:
            # The path of the control socket is there.
            if not os.path.exists(f"/proc/{name.split('-')[2]}") and os.fsencode(here) in file.read(32768):
                found.append(name)
    return found


def remove_arenas():
    for name in ended_arenas():
        os.unlink(name)


class Server:
    """A server, how it is started and loaded. `user`: whom it runs as."""
    user = None

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.prepare()

    def prepare(self):
        """Files that it needs."""

    def run(self, requests, mode, at_end=None):
        """Starts it, loads it, ends it: its CPU seconds and those of all its children."""
        run_directory = tempfile.mkdtemp(dir=here)
        if self.user:
            shutil.chown(run_directory, self.user)
        process = subprocess.Popen(self.command(), env=dict(environment, WCPROF_DIR=run_directory, **MODES[mode]),
                                   user=self.user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   cwd=run_directory)
        while not self.is_ready():
            assert process.poll() is None, f"{self.name} ended"
            time.sleep(0.01)
        self.load(requests)
        if at_end:
            at_end(process.pid, run_directory)
        process.send_signal(self.end)
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
        remove_arenas()
        return usage.ru_utime + usage.ru_stime

    end = signal.SIGTERM

    def is_ready(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


class Redis(Server):
    name, needs = "redis GET", ("redis-server", "redis-benchmark")

    def command(self):
        return ["redis-server", "--port", str(self.port), "--save", "", "--appendonly", "no"]

    def load(self, requests):
        quietly("redis-benchmark", "-p", str(self.port), "-n", str(requests), "-c", "20", "-t", "get", "-q")


class Memcached(Server):
    name, needs = "memcached", ("memcached",)

    def command(self):
        return ["memcached", "-l", "127.0.0.1", "-p", str(self.port), "-t", "2", "-u", "root"]

    def load(self, requests):
        quietly(LOAD, str(self.port), "8", str(requests))


class Nginx(Server):
    name, needs = "nginx 2 kB", ("nginx", "redis-benchmark")
    end = signal.SIGQUIT

    def prepare(self):
        os.makedirs(f"{here}/www", exist_ok=True)
        with open(f"{here}/www/index.html", "w", encoding="utf-8") as file:
            file.write("x" * 2000)
        with open(f"{here}/nginx.conf", "w", encoding="utf-8") as file:
            file.write(f"daemon off; worker_processes 1; pid {here}/nginx.pid; error_log {here}/error.log; "
                       f"{'user root;' if os.geteuid() == 0 else ''} events {{ }} "
                       f"http {{ access_log {here}/access.log; "
                       f"keepalive_requests 1000000; client_body_temp_path {here}/body; proxy_temp_path {here}/proxy; "
                       f"fastcgi_temp_path {here}/fastcgi; uwsgi_temp_path {here}/uwsgi; scgi_temp_path {here}/scgi; "
                       f"server {{ listen 127.0.0.1:{self.port}; root {here}/www; }} }}")

    def command(self):
        return ["nginx", "-e", f"{here}/error.log", "-c", f"{here}/nginx.conf"]

    def load(self, requests):
        """One connection, one request after the other."""
        request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.port)) as client:
            for _ in range(requests):
                client.sendall(request)
                left = b""
                while not left.endswith(b"x" * 2000):
                    left += client.recv(65536)


class Postgres(Server):
    name, needs = "postgres select", (f"{POSTGRES}/postgres", "pgbench")

    def prepare(self):
        self.user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        self.data = f"{here}/data"
        os.mkdir(self.data)
        shutil.chown(self.data, self.user)
        quietly(f"{POSTGRES}/initdb", "-D", self.data, "-U", "bench", "-A", "trust", user=self.user, cwd="/")
        self.is_filled = False

    def command(self):
        return [f"{POSTGRES}/postgres", "-D", self.data, "-p", str(self.port), "-k", self.data, "-F"]

    end = signal.SIGINT

    def bench(self, *options):
        quietly("pgbench", "-h", "127.0.0.1", "-p", str(self.port), "-U", "bench", *options, "postgres")

    def is_ready(self):
        return subprocess.run([f"{POSTGRES}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)],
                              check=False).returncode == 0

    def load(self, requests):
        if not self.is_filled:
            self.bench("-i", "-q")
            self.is_filled = True
        self.bench("-n", "-S", "-M", "prepared", "-c", "2", "-t", str(requests // 2))


def median_of_differences(runs, mode):
    return statistics.median(run[mode] - run["alone"] for run in runs)


def costs_of_calls():
    """What a read, and a mutex taken and left, cost more than alone: off and on, nanoseconds."""
    runs = []
    for _ in range(ROUNDS):
        runs.append({})
        for mode in COMPARED:
            own = dict(environment, WCPROF_DIR=tempfile.mkdtemp(dir=here), **MODES[mode])
            text = subprocess.run([f"{BUILD}/tests/bench/hookloop"], env=own, check=True, capture_output=True,
                                  text=True).stdout
            remove_arenas()
            figures = dict(line.rsplit(" ", 1) for line in text.splitlines())
            runs[-1][mode] = [float(figures["read,/dev/zero"]), float(figures["mutex_lock+unlock"])]
    return {mode: [statistics.median(run[mode][i] - run["alone"][i] for run in runs) for i in (0, 1)]
            for mode in ("off", "on")}


def count_calls(server):
    """Calls that enter the kernel, and mutexes taken, per request: of processes that live and that ended."""
    counts = [0, 0]

    def count(pid, directory):
        own = dict(environment, WCPROF_DIR=directory)
        pids = [pid] + [int(arena.split("-")[2]) for arena in ended_arenas()]
        for i, each in enumerate(pids):
            command = [WCPROF, *(["dump", "--tree"] if i == 0 else ["recover"]), str(each)]
            for line in subprocess.run(command, env=own, capture_output=True, check=False).stdout.splitlines():
                event = json.loads(line)
                counts[0] += event.get("e") == "op" and event.get("k") in ("io", "poll", "sleep")
                counts[1] += event.get("k") == "hold"
    server.run(MANY, "all", count)
    return [count / MANY for count in counts]


def measure(server, costs):
    """One line of the table."""
    calls, locks = count_calls(server)
    runs = []
    for _ in range(ROUNDS):
        few = {mode: server.run(FEW, mode) for mode in COMPARED}
        many = {mode: server.run(MANY, mode) for mode in COMPARED}
        runs.append({mode: (many[mode] - few[mode]) / (MANY - FEW) * 1e6 for mode in COMPARED})
    estimates = {mode: (calls * costs[mode][0] + locks * costs[mode][1]) / 1000 for mode in ("off", "on")}
    print(f"{server.name:16} {calls:6.2f} {locks:6.2f} {statistics.median(run['alone'] for run in runs):9.2f}"
          + "".join(f" {estimates[mode]:+8.3f} {median_of_differences(runs, mode):+8.3f}" for mode in ("off", "on")),
          flush=True)


def latencies_during_dumps():
    """p50 and p99 of requests to a small server that records, alone and while all it recorded is dumped."""
    server = f"{BUILD}/tests/targets/kvserver"
    own = dict(environment, WCPROF_DIR=tempfile.mkdtemp(dir=here))
    process = subprocess.Popen([server, "0"], env=dict(own, **MODES["on"]), stdout=subprocess.PIPE, text=True)
    port = re.findall(r"\d+", process.stdout.readline())[-1]
    dump = [WCPROF, "dump", "--keep", "-q", "-o", "/dev/null", str(process.pid)]

    def load():
        text = quietly(LOAD, port, "4", "8000", "200")
        return [float(re.search(rf"{name} ([\d.]+) ms", text)[1]) for name in ("p50", "p99")]

    try:
        quietly(LOAD, port, "8", "100000")
        events = int(json.loads(subprocess.run([WCPROF, "status", "--json", str(process.pid)], env=own, check=True,
                                               capture_output=True, text=True).stdout)["events"])
        begin = time.monotonic()
        subprocess.run(dump, env=own, check=True)
        rate = events / (time.monotonic() - begin)
        print(f"\ndump of {events} events by the socket, to /dev/null: {rate / 1e6:.2f} million a second")
        runs = []
        for _ in range(ROUNDS):
            alone = load()
            dumper = subprocess.Popen(["sh", "-c", 'while :; do "$@"; done', "sh", *dump], env=own,
                                      start_new_session=True)
            runs.append((alone, load()))
            os.killpg(dumper.pid, signal.SIGTERM)
            dumper.wait()
        for i, name in enumerate(("p50", "p99")):
            alone, dumping = ([run[k][i] for run in runs] for k in (0, 1))
            ratio = statistics.median(other / one for one, other in zip(alone, dumping))
            print(f"{name} of requests: {statistics.median(alone):.3f} ms; while one dump follows the other "
                  f"{statistics.median(dumping):.3f} ms (ratio {ratio:.2f})")
    finally:
        process.kill()
        process.wait()
        remove_arenas()


def main():
    try:
        costs = costs_of_calls()
        print("us of CPU time per request" + " " * 26 + "off               on")
        print(f"{'':16} {'calls':>6} {'locks':>6} {'alone':>9}" + f" {'counted':>8} {'measured':>8}" * 2)
        for kind in (Redis, Memcached, Nginx, Postgres):
            missing = [need for need in kind.needs if not which(need)]
            if missing:
                print(f"{kind.name:16} not measured: no {', '.join(missing)} here")
            else:
                measure(kind(), costs)
        latencies_during_dumps()
    finally:
        shutil.rmtree(here, ignore_errors=True)


if __name__ == "__main__":
    main()
