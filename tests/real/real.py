#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts what a setting of a real server brings, then sets it, and says how far off it was.

usage: real.py [--build BUILD] [--runs N] [--rows REGEX] [--ends WORD] [--quick] [--json FILE]

For each server: a load of a fixed number of requests, each client sending the next one when it has its
answer, so that the time it takes is the throughput. The server is measured with the setting as it is and
changed, in turns (medians); it is recorded as it is in runs of its own, from when the load begins to
when it has ended; the analyzer is asked what the change would save, and of the recorded load's time so
much is taken away. What is recorded is the server and its clients (--ends both): what clients take, and
wait for, is replayed too. With --ends server they are the fixed delays of a world outside.

Servers listen on 127.0.0.1 and keep all that they write in a directory that is deleted. PostgreSQL
refuses to be root and is run as the user postgres then. Prints a table; never fails for a figure.
"""

import argparse
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
START_S_MAX = 20
HEAD = ["| server | setting | asked | as it is | changed | throughput | predicted | error | failed checks |",
        "| --- | --- | --- | --: | --: | --: | --: | --: | --- |"]
NGINX = """daemon off; worker_processes 1; pid {dir}/nginx.pid; error_log {dir}/error.log; {user}
events {{ worker_connections 256; }}
http {{
  access_log {log}; client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy;
  fastcgi_temp_path {dir}/fastcgi; uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
  keepalive_requests 1000000;
  server {{ listen 127.0.0.1:{port}; root {dir}/www; }}
}}
"""


def postgres_program(name):
    """PostgreSQL's programs are not in PATH."""
    for version in sorted(os.listdir("/usr/lib/postgresql"), reverse=True):
        path = f"/usr/lib/postgresql/{version}/bin/{name}"
        if os.path.exists(path):
            return path
    raise FileNotFoundError(f"{name}: scripts/setup conformance installs it")


class Server:
    """A server in a directory of its own: how it is started, loaded, and what is changed."""
    name = setting = ""
    selectors = ()      # kind and class of what the change removes, regular expressions
    question = ""       # or what is asked instead
    user = None
    sample_hz = 0       # where CPUs are what matters
    requests = 0        # of one load

    def dumps(self, directory):
        """Those of the processes whose work the load waits for."""
        return sorted(os.path.join(directory, name) for name in os.listdir(directory))

    def prepare(self, directory, build):
        """Once for each run, before the server starts."""

    def pinned(self, is_changed):
        """The CPUs that both ends get."""
        return os.sched_getaffinity(0)

    def command(self, directory, port, is_changed):
        raise NotImplementedError

    def load(self, directory, port, build):
        raise NotImplementedError


class Redis(Server):
    name, setting = "redis", "appendfsync always, then no"
    requests = 8000
    selectors = (r"io .*(fdatasync|fsync)(/.*)?",)

    def command(self, directory, port, is_changed):
        return ["redis-server", "--port", str(port), "--save", "", "--appendonly", "yes", "--dir",
                directory, "--appendfsync", "no" if is_changed else "always"]

    def load(self, directory, port, build):
        return ["redis-benchmark", "-p", str(port), "-t", "set", "-n", str(self.requests), "-c", "8"]


class Nginx(Server):
    name, setting = "nginx", "access_log to a file, then off"
    requests = 40000
    selectors = (r"io (nginx|ngx_)[^/]*/write",)  # what it answers with is a writev

    def prepare(self, directory, build):
        os.makedirs(os.path.join(directory, "www"))
        with open(os.path.join(directory, "www", "index.html"), "w", encoding="ascii") as file:
            file.write("hello\n" * 20)

    def command(self, directory, port, is_changed):
        path = os.path.join(directory, "nginx.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write(NGINX.format(dir=directory, port=port,
                                    user="user root;" if os.getuid() == 0 else "",
                                    log="off" if is_changed else directory + "/access.log"))
        return ["nginx", "-e", directory + "/error.log", "-c", path]

    def load(self, directory, port, build):
        return ["ab", "-q", "-k", "-n", str(self.requests), "-c", "8", f"http://127.0.0.1:{port}/index.html"]


class Memcached(Server):
    name, setting = "memcached", "-t 2, clients and all on one CPU, then on two"
    question = "cpus 2"
    requests = 60000
    sample_hz = 250

    def command(self, directory, port, is_changed):
        command = ["memcached", "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-t", "2",
                   "-o", "no_lru_maintainer"]
        return command + (["-u", "root"] if os.getuid() == 0 else [])

    def pinned(self, is_changed):
        cpus = sorted(os.sched_getaffinity(0))[-2 if is_changed else -1:]
        return cpus

    def load(self, directory, port, build):
        return [os.path.join(build, "tests", "targets", "kvload"), str(port), "8", str(self.requests)]


class Postgres(Server):
    name, setting = "postgres", "synchronous_commit on, then off"
    selectors = (r"io .*(fdatasync|fsync)(/.*)?",)
    requests = 2000
    user = "postgres" if os.getuid() == 0 else None

    def prepare(self, directory, build):
        subprocess.run([postgres_program("initdb"), "-A", "trust", "-U", "bench", "-D",
                        directory + "/data"], check=True, user=self.user, capture_output=True,
                       cwd=directory)

    def command(self, directory, port, is_changed):
        return [postgres_program("postgres"), "-D", directory + "/data", "-p", str(port), "-k",
                directory, "-c", "autovacuum=off", "-c",
                "synchronous_commit=" + ("off" if is_changed else "on")]

    def load(self, directory, port, build):
        return [postgres_program("pgbench"), "-h", "127.0.0.1", "-p", str(port), "-U", "bench", "-N", "-n",
                "-c", "4", "-j", "1", "-t", str(self.requests // 4), "postgres"]

    def dumps(self, directory):
        """Of backends alone: the others' time ends when they are told to end."""
        ended = [path for path in super().dumps(directory) if not path.endswith("live.jsonl")]
        least_bytes = max(map(os.path.getsize, ended)) / 10
        return [path for path in ended if os.path.getsize(path) >= least_bytes]

    def fill(self, directory, port):
        """The tables of the load; before it is recorded."""
        ready = [postgres_program("pg_isready"), "-q", "-t", str(START_S_MAX), "-h", "127.0.0.1", "-p",
                 str(port)]
        begin_s = time.monotonic()
        while subprocess.run(ready, check=False).returncode:
            if time.monotonic() - begin_s > START_S_MAX:
                raise RuntimeError("the server does not get ready")
            time.sleep(0.05)
        subprocess.run([postgres_program("pgbench"), "-h", "127.0.0.1", "-p", str(port), "-U", "bench",
                        "-i", "-q", "-s", "2", "postgres"], check=True, capture_output=True,
                       cwd=directory)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def wait_for(port, process):
    begin_s = time.monotonic()
    while time.monotonic() - begin_s < START_S_MAX:
        if process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError("the server does not start")


class Run:
    """One start of a server, and one load."""

    def __init__(self, server, build, is_changed):
        self.server, self.build, self.is_changed = server, os.path.abspath(build), is_changed
        self.directory = tempfile.mkdtemp(prefix="wcprof-real.", dir="/var/tmp")
        if server.user:
            shutil.chown(self.directory, server.user)
        self.dumps = os.path.join(self.directory, "dumps")
        self.live = os.path.join(self.directory, "live")

    def close(self):
        shutil.rmtree(self.directory, ignore_errors=True)

    def pin(self):
        os.sched_setaffinity(0, self.server.pinned(self.is_changed))

    def control(self, *words):
        subprocess.run([os.path.join(self.build, "wcprof"), *words], check=True, user=self.server.user,
                       env={**os.environ, "WCPROF_DIR": self.live}, capture_output=True)

    def recorded(self, **more):
        """The environment of what is recorded."""
        return {**os.environ, "LD_PRELOAD": os.path.join(self.build, "libwcprof.so"),
                "WCPROF_DIR": self.live, "WCPROF_SAMPLE_HZ": str(self.server.sample_hz),
                "WCPROF_OUTPUT": self.dumps + "/%e.%p.jsonl", **more}

    def start(self, port, is_recorded):
        server = self.server
        os.mkdir(self.dumps)
        os.mkdir(self.live, 0o700)
        for path in (self.dumps, self.live):
            if server.user:
                shutil.chown(path, server.user)
        server.prepare(self.directory, self.build)
        with open(os.path.join(self.directory, "server.out"), "w", encoding="ascii") as log:
            return subprocess.Popen(server.command(self.directory, port, self.is_changed), preexec_fn=self.pin,
                                    env=self.recorded() if is_recorded else None, user=server.user,
                                    stdout=log, stderr=log, cwd=self.directory)

    def seconds(self, is_recorded=False, ends="both"):
        """What the load takes; with what was recorded in self.dumps, without how the server was ended."""
        port = free_port()
        process = self.start(port, is_recorded)
        recorded = ()
        try:
            wait_for(port, process)
            if hasattr(self.server, "fill"):
                self.server.fill(self.directory, port)
            if is_recorded:
                self.control("enable", "-t", str(process.pid))
            begin_s = time.monotonic()
            subprocess.run(self.server.load(self.directory, port, self.build), check=True, preexec_fn=self.pin,
                           capture_output=True, cwd=self.directory, timeout=120, user=self.server.user,
                           env=self.recorded(WCPROF_ENABLE="1") if is_recorded and ends == "both" else None)
            taken_s = time.monotonic() - begin_s
            if is_recorded:
                self.control("dump", "-t", "-o", os.path.join(self.dumps, "live.jsonl"),
                             str(process.pid))
                recorded = os.listdir(self.dumps)
                self.control("disable", "-t", str(process.pid))
            return taken_s
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for name in set(os.listdir(self.dumps)) - set(recorded):
                os.unlink(os.path.join(self.dumps, name))


def analyze(build, paths, *words):
    answer = subprocess.run([os.path.join(build, "wcprof-analyze"), "--json", "--quiet", "--force",
                             "--min-self", "0", "--top", "100000", "--factors", "0", *words, *paths],
                            capture_output=True, text=True, check=False, timeout=300)
    if answer.returncode:
        raise RuntimeError(answer.stderr.strip()[-300:])
    return json.loads(answer.stdout)


def question_of(server, report):
    """What to ask: all classes that the change removes, or the server's own question."""
    if server.question:
        return server.question
    named = [f"{entry['kind']} {entry['class']}" for entry in report["what_if"]
             if any(re.fullmatch(s, f"{entry['kind']} {entry['class']}") for s in server.selectors)]
    if not named:
        raise RuntimeError("no class is what the change removes")
    classes = [name.split(" ", 1)[1] for name in named]
    return ",".join(f"{name}*0" for name in classes)


def predict(server, build, ends):
    """(what was asked, ratio of throughputs, failed checks) of one recorded run."""
    run = Run(server, build, False)
    try:
        taken_ns = 1e9 * run.seconds(is_recorded=True, ends=ends)
        paths = server.dumps(run.dumps)
        question = question_of(server, analyze(build, paths))
        report = analyze(build, paths, "--what-if", question)
        saved_ns = report["asked"][0]["saved_ns"]
        failed = [check["check"] for check in report["checks"] if check["state"] in
                  ("failed", "withholds")]
        return question, taken_ns / max(taken_ns - saved_ns, 1), failed
    finally:
        run.close()


def measure(server, build, is_changed):
    run = Run(server, build, is_changed)
    try:
        return run.seconds()
    finally:
        run.close()


def compare(server, build, runs, ends):
    """One line: times as it is and changed, ratios measured and predicted."""
    as_is, changed = [], []
    for i in range(runs):
        for is_changed in ((False, True) if i % 2 == 0 else (True, False)):
            (changed if is_changed else as_is).append(measure(server, build, is_changed))
    predictions = [predict(server, build, ends) for _ in range(runs)]
    return {"server": server.name, "setting": server.setting, "asked": predictions[0][0],
            "as_is_s": statistics.median(as_is), "changed_s": statistics.median(changed),
            "measured": statistics.median(as_is) / statistics.median(changed),
            "predicted": statistics.median(ratio for _, ratio, _ in predictions),
            "least": min(ratio for _, ratio, _ in predictions),
            "most": max(ratio for _, ratio, _ in predictions),
            "failed_checks": sorted({name for _, _, failed in predictions for name in failed})}


def line_of(line):
    """A line of the table."""
    return (f"| {line['server']} | {line['setting']} | `{line['asked']}` | {line['as_is_s']:.2f} s | "
            f"{line['changed_s']:.2f} s | x{line['measured']:.2f} | x{line['predicted']:.2f} "
            f"({line['least']:.2f}..{line['most']:.2f}) | "
            f"{100 * (line['predicted'] / line['measured'] - 1):+.0f}% | "
            f"{', '.join(line['failed_checks']) or '-'} |")


def main():
    parser = argparse.ArgumentParser(description="Settings of real servers, predicted and made.")
    parser.add_argument("--build", default="build", help="build directory (build)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each sort (3)")
    parser.add_argument("--rows", default="", metavar="REGEX", help="only servers that match")
    parser.add_argument("--ends", default="both", choices=("both", "server"), help="what is recorded (both)")
    parser.add_argument("--quick", action="store_true", help="1 run of a tenth of the load: tries the script")
    parser.add_argument("--json", metavar="FILE", help="write all results there")
    options = parser.parse_args()
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    print(*HEAD, sep="\n", flush=True)
    lines = []
    for server in (Redis(), Postgres(), Nginx(), Memcached()):
        if not re.search(options.rows, server.name):
            continue
        try:
            if options.quick:
                server.requests //= 10
            lines.append(compare(server, os.path.abspath(options.build), 1 if options.quick else options.runs,
                                 options.ends))
            print(line_of(lines[-1]), flush=True)
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            text = getattr(error, "stderr", b"") or b""
            text = text.decode() if isinstance(text, bytes) else text
            print(f"| {server.name} | {server.setting} | FAILED: {error} {text[-300:]} |", flush=True)
    if options.json:
        with open(options.json, "w", encoding="ascii") as file:
            json.dump(lines, file, indent=1)
    return 0 if lines else 1


if __name__ == "__main__":
    sys.exit(main())
