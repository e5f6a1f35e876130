# SPDX-License-Identifier: Apache-2.0
"""Checks a report of wcprof-analyze: expect.py DUMP REPORT EXPRESSION...

Each expression is Python over r (the report), d (the dump's header), classes (set of "kind class"),
threads (names in the dump), like(pattern, words) and unnamed(n): those of the n classes with the most
time whose names no developer of the program would know. All that are false are printed, with what there
was instead; the exit status is 1 then. Four checks hold for every recording and are always made: one of
them, that what each thread did adds up to the time for which it lived. How close the replay comes to the
run depends on what else the machine does: tests/field and tests/truth are about that.
"""
import fnmatch
import json
import re
import sys

# An address, a file and an offset in it, nothing at all, or a call without who made it.
NAMELESS = re.compile(r"(?<!\(\)\+)0x[0-9a-f]|\?\?|\[jit|^$|^/|(^|/)(lib[^/]*\.so|__libc_|__GI_|start_thread|clone3?$)")
CALLS = ("io", "poll", "sleep", "dns")


def like(pattern, words):
    """Whether any of the words matches the shell pattern."""
    return any(fnmatch.fnmatchcase(word, pattern) for word in words)


def unnamed(classes):
    """Those with names that say nothing."""
    return [
        f'{c["kind"]} {c["class"]}'
        for c in classes
        if NAMELESS.search(c["class"]) or (c["kind"] in CALLS and "/" not in c["class"])
    ]


def sums_up(thread):
    """Whether the parts of a thread's time are the whole, within a hundredth."""
    parts = sum(thread[key] for key in ("cpu_ns", "queued_ns", "blocked_ns", "unexplained_ns"))
    return abs(parts - thread["wall_ns"]) <= 0.01 * thread["wall_ns"]


def holds(expression, names):
    """Whether it is true; what it fails to find makes it false."""
    try:
        return bool(eval(expression, names))  # the tests' own text, no input
    except (KeyError, IndexError) as error:
        print(f"not found: {error!r}")
        return False


def main():
    dump_path, report_path, *expressions = sys.argv[1:]
    with open(dump_path, encoding="utf-8") as dump:
        header = json.loads(dump.readline())
    with open(report_path, encoding="utf-8") as report_file:
        report = json.load(report_file)
    names = {
        "r": report,
        "d": header,
        "like": like,
        "unnamed": lambda n: unnamed(report["classes"][:n]),
        "sums_up": sums_up,
        "classes": {f'{c["kind"]} {c["class"]}' for c in report["classes"]},
        "threads": {t.get("name", "") for t in header["threads"]},
    }
    always = [
        'd["dropped_events"] == 0 and r["dropped_events"] == 0',
        'r["ops"] > 100',
        'r["actual_makespan_ns"] > 0',
        'r["threads"] and [t for t in r["threads"] if not sums_up(t)] == []',
    ]
    wrong = [e for e in always + expressions if not holds(e, names)]
    for expression in wrong:
        print("not true:", expression)
    if wrong:
        print("unnamed:", unnamed(report["classes"][:20]))
        print("locks:", [(k["lock"], k["locks"], k["acquisitions"], k["contended"]) for k in report["locks"]])
        print("counters:", header.get("counters"))
        print("threads:", ", ".join(sorted(names["threads"])))
        print("classes:", ", ".join(sorted(names["classes"])[:60]))
        for key in ("ops", "dropped_events", "baseline_makespan_ns", "actual_makespan_ns", "warnings"):
            print(f"{key}: {report.get(key)}")
    sys.exit(1 if wrong else 0)


main()
