#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording adds to real servers: CPU time of a request, and the latency of requests
during dumps and at the edges of windows.

Each server runs six times at once: alone, with a library that does no more than look at the clock before and after
each call (`stamps`: the least that a recorder can cost), with ours in it and recording off, on, on with 99 samples a
second, and on while wcprof top watches its first process. The same load goes to one after the other, in an order that
changes with each round, so that a slower minute of the machine is in all of them. Counted is the CPU time of the whole
process tree, the control thread's too, while it is under load; what was recorded is dumped between loads, which is not
counted. A ratio is the mean over rounds of the ratio within one, with its standard error. Rounds go on until all
errors are below 0.5%: how many that took is in the last column, with a `>` where it was not reached. A server that is
not installed is left out, and named. B is the build directory.

On two CPUs it is chance whether the load sleeps when it is answered, and waking it takes longer than recording. With
--pinned all is on one CPU, where it always does: errors are a third then. Threads of a server do not meet at locks.
"""
import argparse
import contextlib
import glob
import json
import math
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
WARM_ROUNDS, LEAST_ROUNDS, DISTURBED_ROUNDS = 2, 6, 8
WINDOW_S = 1.0  # of CPU time that a load should take
SURE = 0.005
ON = {"LD_PRELOAD": LIBRARY, "WCPROF_ENABLE": "1", "WCPROF_MAX_EVENTS": "4000000"}
POSTGRES = (["/usr/lib/postgresql"] + glob.glob("/usr/lib/postgresql/*/bin"))[-1]
TICK_S = 1 / os.sysconf("SC_CLK_TCK")

here = tempfile.mkdtemp(prefix="wcprof-bench.")
os.chmod(here, 0o755)
STAMPS = os.path.join(here, "stamps.so")
MODES = {"alone": {}, "stamps": {"LD_PRELOAD": STAMPS}, "off": {"LD_PRELOAD": LIBRARY}, "on": ON,
         "sampled": dict(ON, WCPROF_SAMPLE_HZ="99"), "watched": ON}
environment = {name: value for name, value in os.environ.items() if not name.startswith("WCPROF_")}
environment["PATH"] += ":/usr/sbin"


def which(name):
    """Its path, or None."""
    return shutil.which(name, path=environment["PATH"])


def quietly(*command, **more):
    """Runs a load; its output."""
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True, **more).stdout


def build_stamps():
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "preload/stamps.c")
    quietly(os.environ.get("CC", "gcc"), "-D_GNU_SOURCE", "-O2", "-fPIC", "-shared", "-o", STAMPS, source)


def remove_arenas():
    """Removes what ended servers of this benchmark left."""
    for name in glob.glob("/dev/shm/wcprof-*"):
        with open(name, "rb") as file:
            # The path of the control socket is there.
            if not os.path.exists(f"/proc/{name.split('-')[2]}") and os.fsencode(here) in file.read(32768):
                os.unlink(name)


def tree_of(pid):
    """The process and all below it."""
    children = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                words = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        children.setdefault(int(words[1]), []).append(int(path.split("/")[2]))
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return found


def cpu_clock(pid):
    """The kernel's number of a process's CPU clock: to the nanosecond, with its threads that have ended."""
    return ~pid << 3 | 2


def cpu_seconds(pid):
    """CPU time of a process, its children, and of all that these have waited for."""
    total = 0.0
    for each in tree_of(pid):
        # One that ends meanwhile is in its parent's sum.
        with contextlib.suppress(OSError), open(f"/proc/{each}/stat", encoding="utf-8", errors="replace") as file:
            total += sum(map(int, file.read().rsplit(")", 1)[1].split()[13:15])) * TICK_S
            total += time.clock_gettime(cpu_clock(each))
    return total


class Server:
    """One running server. `user`: whom it runs as. `load()` sends it that many requests."""
    user = None
    end = signal.SIGTERM
    first = 4000  # requests of the first load

    def __init__(self, mode):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.home = tempfile.mkdtemp(dir=here)
        self.own = dict(environment, WCPROF_DIR=f"{self.home}/run", **MODES[mode])
        self.is_recording = mode in ("on", "sampled", "watched")
        self.is_watched = mode == "watched"
        os.mkdir(self.own["WCPROF_DIR"], 0o700)
        self.prepare()
        if self.user:
            quietly("chown", "-R", self.user, self.home)
        self.process = subprocess.Popen(self.command(), env=self.own, user=self.user, cwd=self.home,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not self.is_ready():
            assert self.process.poll() is None, f"{self.name} ended"
            time.sleep(0.01)

    def prepare(self):
        """Files that it needs."""

    def write(self, name, text):
        path = f"{self.home}/{name}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def is_ready(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def seconds_of(self, requests):
        """CPU time of so many requests."""
        with self.watched():
            before = cpu_seconds(self.process.pid)
            self.load(requests)
            taken = cpu_seconds(self.process.pid) - before
        if self.is_recording:
            subprocess.run([WCPROF, "dump", "--tree", "-q", "-o", "/dev/null", str(self.process.pid)], env=self.own,
                           check=True, stdout=subprocess.DEVNULL)
        return taken

    @contextlib.contextmanager
    def watched(self):
        """While wcprof top looks, if it is to."""
        command = [WCPROF, "top", "--json", str(self.process.pid)] if self.is_watched else ["cat"]
        with subprocess.Popen(command, env=self.own, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as top:
            if self.is_watched:
                top.stdout.readline()
            # what it says is not to hold it up
            with subprocess.Popen(["cat"], stdin=top.stdout, stdout=subprocess.DEVNULL):
                yield
                top.terminate()

    def stop(self):
        self.process.send_signal(self.end)
        self.process.wait()
        remove_arenas()


class Redis(Server):
    name, needs = "redis", ("redis-server", "redis-benchmark")

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
    name, needs = "nginx", ("nginx", "ab")
    end = signal.SIGQUIT

    def prepare(self):
        os.mkdir(f"{self.home}/www")
        self.write("www/index.html", "x" * 2000)
        self.write("nginx.conf", f"""
            daemon off; worker_processes 1; pid nginx.pid; error_log error.log;
            {'user root;' if os.geteuid() == 0 else ''} events {{ }}
            http {{ access_log access.log; keepalive_requests 100000000; client_body_temp_path body;
                proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                server {{ listen 127.0.0.1:{self.port}; root www; }} }}""")

    def command(self):
        return ["nginx", "-e", "error.log", "-p", self.home, "-c", "nginx.conf"]

    def load(self, requests):
        quietly("ab", "-k", "-q", "-c", "8", "-n", str(requests), f"http://127.0.0.1:{self.port}/index.html")


class Haproxy(Server):
    """Before an nginx that is not recorded."""
    name, needs = "haproxy", ("haproxy", "nginx", "ab")

    def prepare(self):
        self.backend = Nginx("alone")
        self.write("haproxy.cfg", f"""
global
    nbthread 2
defaults
    mode http
    timeout client 60s
    timeout server 60s
    timeout connect 10s
frontend web
    bind 127.0.0.1:{self.port}
    default_backend web
backend web
    server web 127.0.0.1:{self.backend.port}
""")

    def command(self):
        return ["haproxy", "-db", "-f", f"{self.home}/haproxy.cfg"]

    def load(self, requests):
        quietly("ab", "-k", "-q", "-c", "8", "-n", str(requests), f"http://127.0.0.1:{self.port}/index.html")

    def stop(self):
        super().stop()
        self.backend.stop()


class Postgres(Server):
    name, needs = "postgres", (f"{POSTGRES}/postgres", "pgbench")
    end = signal.SIGINT

    def prepare(self):
        self.user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        self.is_filled = False
        quietly("chown", "-R", self.user, self.home)
        quietly(f"{POSTGRES}/initdb", "-D", f"{self.home}/data", "-U", "bench", "-A", "trust", user=self.user,
                cwd="/")

    def command(self):
        return [f"{POSTGRES}/postgres", "-D", f"{self.home}/data", "-p", str(self.port), "-k", self.home, "-F"]

    def bench(self, *options):
        quietly("pgbench", "-h", "127.0.0.1", "-p", str(self.port), "-U", "bench", *options, "postgres")

    def is_ready(self):
        return subprocess.run([f"{POSTGRES}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)],
                              check=False).returncode == 0

    def load(self, requests):
        if not self.is_filled:
            self.bench("-i", "-q")
            self.is_filled = True
        self.bench("-n", "-S", "-M", "prepared", "-c", "4", "-t", str(requests // 4))


class Mariadb(Server):
    name, needs = "mariadb", ("mariadbd", "mariadb-install-db", "sysbench")

    def prepare(self):
        self.user = "mysql" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        self.is_filled = False
        quietly("chown", "-R", self.user, self.home)
        quietly("mariadb-install-db", f"--datadir={self.home}/data", "--auth-root-authentication-method=normal",
                "--skip-test-db", user=self.user, cwd=self.home)

    def command(self):
        return ["mariadbd", "--no-defaults", f"--datadir={self.home}/data", f"--socket={self.home}/sock",
                "--bind-address=127.0.0.1", f"--port={self.port}", "--innodb-flush-log-at-trx-commit=2"]

    def bench(self, *options):
        quietly("sysbench", "oltp_read_write", "--db-driver=mysql", f"--mysql-socket={self.home}/sock",
                "--mysql-user=root", "--mysql-db=mysql", "--tables=2", "--table-size=2000", *options)

    def load(self, requests):
        if not self.is_filled:
            self.bench("prepare")
            self.is_filled = True
        self.bench("--threads=8", f"--events={requests}", "--time=0", "run")
    first = 200


def ratios(rounds, mode):
    """Of each round after the first ones, against the same server alone."""
    return [one[mode] / one["alone"] for one in rounds[WARM_ROUNDS:]]


def error_of(values):
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.inf


def is_sure(rounds):
    return len(rounds) >= WARM_ROUNDS + LEAST_ROUNDS and all(
        error_of(ratios(rounds, mode)) < SURE for mode in MODES if mode != "alone")


def measure(kind, most):
    """One line of the table."""
    servers = {mode: kind(mode) for mode in MODES}
    rounds = []
    requests = kind.first
    try:
        for server in servers.values():
            server.load(requests)
        requests = int(requests * min(max(WINDOW_S / max(servers["alone"].seconds_of(requests), TICK_S), 1), 100))
        while len(rounds) < WARM_ROUNDS + most and not is_sure(rounds):
            order = list(MODES)[len(rounds) % len(MODES):] + list(MODES)[:len(rounds) % len(MODES)]
            rounds.append({mode: servers[mode].seconds_of(requests) / requests * 1e6 for mode in order})
    finally:
        for server in servers.values():
            server.stop()
    print(f"{kind.name:12} {statistics.median(one['alone'] for one in rounds):9.2f}" + "".join(
        f"   x{statistics.mean(ratios(rounds, mode)):.3f} +-{error_of(ratios(rounds, mode)):.3f}"
        for mode in MODES if mode != "alone") + f"   {'' if is_sure(rounds) else '>'}{len(rounds) - WARM_ROUNDS}",
        flush=True)


def percentiles(port):
    """p50 and p99 of requests, in milliseconds."""
    text = quietly(LOAD, port, "4", "8000", "200")
    return [float(re.search(rf"{name} ([\d.]+) ms", text)[1]) for name in ("p50", "p99")]


def disturbed_percentiles(port, own, loop, *arguments):
    """The same while a shell does this over and over."""
    disturber = subprocess.Popen(["sh", "-c", f"while :; do {loop}; done", "sh", *arguments], env=own,
                                 start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        return percentiles(port)
    finally:
        os.killpg(disturber.pid, signal.SIGTERM)
        disturber.wait()


def dump_rate(dump, own, pid):
    """Says how fast a dump is."""
    status = subprocess.run([WCPROF, "status", "--json", pid], env=own, check=True, capture_output=True, text=True)
    answer = json.loads(status.stdout)
    events = int(answer["events"])
    print(f"\nan event takes {int(answer['event_bytes']) / max(events, 1):.1f} bytes of a chunk")
    begin = time.monotonic()
    subprocess.run(dump, env=own, check=True)
    rate = events / (time.monotonic() - begin)
    print(f"dump of {events} events by the socket, to /dev/null: {rate / 1e6:.2f} million a second")


def latencies():
    """p50 and p99 of requests to a small server that records: alone, while all it recorded is dumped again and again,
    and while recording is turned on and off ten times a second."""
    server = f"{BUILD}/tests/targets/kvserver"
    own = dict(environment, WCPROF_DIR=tempfile.mkdtemp(dir=here))
    process = subprocess.Popen([server, "0"], env=dict(own, **ON), stdout=subprocess.PIPE, text=True)
    port, pid = re.findall(r"\d+", process.stdout.readline())[-1], str(process.pid)
    dump = [WCPROF, "dump", "--keep", "-q", "-o", "/dev/null", pid]
    disturbances = {
        "while one dump follows the other": ('"$@"', *dump),
        "while windows begin and end": ('"$1" disable "$2"; sleep 0.05; "$1" enable "$2"; sleep 0.05', WCPROF, pid),
    }
    runs = []
    try:
        quietly(LOAD, port, "8", "100000")
        dump_rate(dump, own, pid)
        for _ in range(DISTURBED_ROUNDS):
            runs.append({"": percentiles(port)})
            for name, (loop, *arguments) in disturbances.items():
                runs[-1][name] = disturbed_percentiles(port, own, loop, *arguments)
                subprocess.run([WCPROF, "enable", pid], env=own, check=True, stdout=subprocess.DEVNULL)
        for i, what in enumerate(("p50", "p99")):
            print(f"{what} of requests: {statistics.median(run[''][i] for run in runs):.3f} ms")
            for name in disturbances:
                ratios_of = [run[name][i] / run[""][i] for run in runs]
                print(f"    {name}: {statistics.median(run[name][i] for run in runs):.3f} ms, "
                      f"x{statistics.mean(ratios_of):.3f} +-{error_of(ratios_of):.3f}")
    finally:
        process.kill()
        process.wait()
        remove_arenas()


def main():
    kinds = {kind.name: kind for kind in (Redis, Nginx, Haproxy, Postgres, Mariadb, Memcached)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", metavar="WHAT",
                        help=f"one of {', '.join(kinds)}, latencies; all of them if none is named")
    parser.add_argument("--rounds", type=int, default=40, metavar="N", help="at most so many (40)")
    parser.add_argument("--pinned", action="store_true", help="servers and loads on one CPU")
    arguments = parser.parse_args()
    if arguments.pinned:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    what = arguments.what or [*kinds, "latencies"]
    for name in set(what) - {*kinds, "latencies"}:
        parser.error(f"no such server: {name}")
    try:
        if what != ["latencies"]:
            build_stamps()
            head = "".join(f"   {mode:14}" for mode in MODES if mode != "alone")
            print(f"{'server':12} {'us alone':>9}{head}   rounds until sure")
        for name in what:
            missing = [need for need in kinds[name].needs if not which(need)] if name in kinds else []
            if missing:
                print(f"{name:12} not measured: no {', '.join(missing)} here")
            elif name in kinds:
                measure(kinds[name], arguments.rounds)
        if "latencies" in what:
            latencies()
    finally:
        shutil.rmtree(here, ignore_errors=True)


if __name__ == "__main__":
    main()
