#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sets what wcprof-analyze says of a server's requests beside what the load generator says that made them.

Each server is run under its generator at 1, 16 and 64 connections, and both are recorded. The generator tells how
many requests it made, and their median and 99th percentile. The report is asked for the same, twice: with the
recording of the server alone, and with that of the generator as well. A server alone does not see how long a request
is under way. Of a client with a timetable the times are from when its requests were due. ab's times have connecting
in them: of connections that are kept there are so many requests that this is not in the 99th percentile. Programs
that are not installed are left out, with the package that has them. Nothing fails for a figure.
"""

import argparse
import csv
import dataclasses
import glob
import json
import math
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "truth")]

import ask
import field
import measure
from programs import PROGRAMS
from settings import Program, Variant

CONNECTIONS = (1, 16, 64)
ENDS = {"server": "alone", "both": "both"}
FIGURES = ("requests", "p50_ms", "p99_ms")
AB = "ab -q @keep@ -n @requests@ -c @clients@ -e @dir@/percent.csv http://127.0.0.1:@port@/@path@"


def of_ab(said, directory):
    """ab's own count, and its table of percentiles, which has parts of milliseconds."""
    with open(os.path.join(directory, "percent.csv"), encoding="ascii") as file:
        times = {row[0]: float(row[1]) for row in list(csv.reader(file))[1:]}
    return int(re.search(r"Complete requests:\s+(\d+)", said)[1]), times["50"], times["99"]


def of_redis(said, _directory):
    """redis-benchmark's table of one line."""
    head, values = list(csv.reader(said.strip().splitlines()))[-2:]
    known = dict(zip(head, values))
    return None, float(known["p50_latency_ms"]), float(known["p99_latency_ms"])


def of_pgbench(said, directory):
    """pgbench's log has each transaction; its third word is the time in microseconds."""
    taken = []
    for path in glob.glob(os.path.join(directory, "pgbench_log.*")):
        with open(path, encoding="ascii") as file:
            taken += [int(line.split()[2]) / 1000 for line in file]
    taken.sort()
    count = int(re.search(r"transactions actually processed: (\d+)", said)[1])
    return count, taken[len(taken) // 2], taken[len(taken) * 99 // 100]


def of_sysbench(said, _directory):
    """sysbench's histogram: times in milliseconds, and how many requests had each."""
    rows = [(float(time), int(count)) for time, count in re.findall(r"^\s*([\d.]+) \|\**\s*(\d+)$", said, re.MULTILINE)]
    total = sum(count for _, count in rows)

    def rank(share):
        seen = 0
        for time, count in rows:
            seen += count
            if seen > total * share:
                return time
        return math.nan
    return int(re.search(r"total number of events:\s+(\d+)", said)[1]), rank(0.5), rank(0.99)


def of_timetable(said, _directory):
    """timetable's one line: from when its requests were due."""
    words = re.search(r"(\d+) requests.* due p50 ([\d.]+) ms, p99 ([\d.]+) ms", said)
    return int(words[1]), float(words[2]), float(words[3])


def of_kvload(said, _directory):
    """The one line that kvload prints."""
    words = re.search(r"(\d+) requests in .* p50 ([\d.]+) ms, p99 ([\d.]+) ms", said)
    return int(words[1]), float(words[2]), float(words[3])


@dataclasses.dataclass(frozen=True)
class Load:
    """A server of the field under a generator."""
    name: str
    program: str        # whose servers and settings it has
    generator: str
    run: str
    figures: object     # from what the generator said
    needs: tuple = ()   # (command, package) of the generator
    words: dict = dataclasses.field(default_factory=dict)
    environment: dict = dataclasses.field(default_factory=dict)
    is_intended: bool = False  # its times are from when requests were due, as the report's are then


TIMETABLE = Program("timetable", "train", {}, "", (), {"requests": 1600},
                    servers=("@build@/tests/targets/timetable serve @port@",))


def ab_load(name, program, path, requests, keep="", **words):
    return Load(name, program, "ab", AB, of_ab, ("ab", "apache2-utils"),
                {"path": path, "requests": requests, "keep": keep, **words})


LOADS = (
    Load("redis", "redis", "redis-benchmark", "redis-benchmark -p @port@ -t set -n @requests@ -c @clients@ --csv",
         of_redis, (), {"fsync": "no", "requests": 8000}),
    Load("redis, 16 at once", "redis", "redis-benchmark",
         "redis-benchmark -p @port@ -t set -n @requests@ -c @clients@ -P 16 --csv", of_redis, (),
         {"fsync": "no", "requests": 32000}, environment={"WCPROF_PEEK": "64"}),
    ab_load("nginx", "nginx", "index.html", 16000, keep="-k", log="off"),
    Load("postgres", "postgres", "pgbench",
         "pgbench -h 127.0.0.1 -p @port@ -U bench -S -n -l -c @clients@ -j 1 -t @times@ postgres", of_pgbench, (),
         {"requests": 6400}),
    Load("memcached", "memcached", "kvload", "@build@/tests/targets/kvload @port@ @clients@ @requests@", of_kvload, (),
         {"requests": 12800, "threads": 2}),
    Load("mariadb", "mariadb oltp_write_only", "sysbench",
         "sysbench oltp_point_select --point-selects=1 --db-driver=mysql --mysql-socket=@dir@/sock --mysql-user=root"
         " --mysql-db=test --tables=2 --table-size=2000 --threads=@clients@ --events=@requests@ --time=0 --histogram=on"
         " run", of_sysbench, (), {"requests": 6400}),
    ab_load("haproxy, nginx", "haproxy", "index.html", 12800, keep="-k"),
    ab_load("nginx, php-fpm", "php-fpm", "", 1600, ms=2),
    Load("timetable", "timetable", "itself", "@build@/tests/targets/timetable @port@ @clients@ @requests@ 10000 5000"
         " 100000", of_timetable, is_intended=True),
    ab_load("java", "java server", "", 1600),
    ab_load("python", "python server", "", 1600),
)


def program_of(load):
    """The program of the field with the generator as its load; None: there is no such program."""
    known = next(program for program in (*PROGRAMS, TIMETABLE) if program.name == load.program)
    return dataclasses.replace(known, name=f"generators {load.name}", run=load.run,
                               needs={**known.needs, **dict([load.needs] if load.needs else ())},
                               words={**known.words, **load.words},
                               environment={**known.environment, **load.environment})


def per_connection(requests, clients):
    """As many requests as each connection makes the same number of."""
    return max(requests // clients, 1) * clients


def said_by_report(build, folder, ends, is_intended):
    """The judged requests of a report, all together; None: there are none. ValueError when it refuses."""
    report = ask.analyze(build, ask.dumps(folder, ends), "--min-self", ask.NEVER)
    judged = [group for group in report["requests"] if group["is_judged"]]
    if not judged:
        return None
    intended = {figure["figure"]: figure.get("intended_ns") for figure in report["request_figures"]}
    if is_intended and not intended["p50"]:
        return None
    if is_intended:
        return {"requests": sum(group["within"] for group in judged), "p50_ms": intended["p50"] / 1e6,
                "p99_ms": intended["p99"] / 1e6}
    most = max(judged, key=lambda group: group["count"])
    return {"requests": sum(group["within"] for group in judged), "p50_ms": most["p50_ns"] / 1e6,
            "p99_ms": most["p99_ns"] / 1e6}


def measured(load, clients, options):
    """{"generator": figures, "server": figures or None, "both": ...} of one run."""
    program = program_of(load)
    sweep = field.Sweep(program, options)
    os.makedirs(sweep.folder, exist_ok=True)
    sweep.make_data()
    requests = per_connection(program.words["requests"], clients)
    words = {**program.words, "clients": clients, "requests": requests, "times": requests // clients}
    folder = os.path.join(sweep.folder, f"{clients}")
    kept = os.path.join(folder, "generator.json")
    if not options.again:
        shutil.rmtree(folder, ignore_errors=True)
        with measure.Run(program, Variant(words), options.build, sweep.data) as run:
            run.recorded(folder)
            with open(os.path.join(run.directory, ".said"), encoding="utf-8") as file:
                count, *times = load.figures(file.read(), run.directory)
        with open(kept, "w", encoding="ascii") as file:
            json.dump(dict(zip(FIGURES, (count or requests, *times))), file)
    with open(kept, encoding="ascii") as file:
        found = {"generator": json.load(file)}
    for ends in ENDS:
        found[ends] = said_by_report(options.build, folder, ends, load.is_intended)
    return {"name": load.name, "by": load.generator, "connections": clients, **found}


def difference(row, ends, figure):
    """By how many per cent the report has more than the generator."""
    if not row[ends]:
        return "-"
    return f"{100 * (row[ends][figure] / row['generator'][figure] - 1):+.1f}%"


def cells(row):
    said = row["generator"]
    return [row["name"], row["by"], str(row["connections"]), str(said["requests"]), f"{said['p50_ms']:.3f}",
            f"{said['p99_ms']:.3f}", *(difference(row, ends, figure) for ends in ENDS for figure in FIGURES)]


HEAD = ["server", "generator", "conn.", "requests", "p50 ms", "p99 ms",
        *(f"{name}: {figure.removesuffix('_ms')}" for name in ENDS.values() for figure in FIGURES)]


def lines_of(rows, is_markdown):
    """The table, for a terminal or for documentation."""
    table = [HEAD] + [cells(row) for row in rows]
    if is_markdown:
        rule = f"| --- | --- |{' --: |' * (len(HEAD) - 2)}"
        body = [f"| {' | '.join(one)} |" for one in table]
        return [body[0], rule, *body[1:]]
    widths = [max(len(one[i]) for one in table) for i in range(len(HEAD))]
    return ["  ".join(cell.ljust(width) if i < 2 else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(one, widths))).rstrip() for one in table]


def options_read():
    parser = argparse.ArgumentParser(description="Requests by the report against those of load generators.")
    parser.add_argument("--build", default="build", help="build directory (build)")
    parser.add_argument("--dir", help="where recordings stay (BUILD/field)")
    parser.add_argument("--only", default="", metavar="REGEX", help="only servers that match")
    parser.add_argument("--connections", default=",".join(map(str, CONNECTIONS)), metavar="N,N...",
                        help="how many connections the generators have (1,16,64)")
    parser.add_argument("--again", action="store_true", help="only analyze again what is recorded")
    parser.add_argument("--markdown", action="store_true", help="print the table for documentation")
    parser.add_argument("--json", metavar="FILE", help="write all rows there")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.dir = os.path.abspath(options.dir or os.path.join(options.build, "field"))
    options.fresh = False
    return options


def all_rows(options):
    """(rows, failures); says which servers are left out."""
    rows, failures = [], []
    for load in LOADS:
        if not re.search(options.only, load.name):
            continue
        absent = field.missing(program_of(load))
        if absent:
            print(f"{load.name}: skipped, as there is no {' '.join(absent)}", file=sys.stderr)
            continue
        for clients in map(int, options.connections.split(",")):
            try:
                rows.append(measured(load, clients, options))
                print(*lines_of(rows[-1:], False)[1:], file=sys.stderr, flush=True)
            except (OSError, ValueError, measure.RunError, subprocess.SubprocessError) as error:
                failures.append(f"{load.name}, {clients} connections: {error}")
                print(f"FAILED: {failures[-1]}", file=sys.stderr, flush=True)
    return rows, failures


def main():
    options = options_read()
    rows, failures = all_rows(options)
    print(*lines_of(rows, options.markdown), sep="\n")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"rows": rows, "failures": failures}, file, indent=1)
    return 1 if failures or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
