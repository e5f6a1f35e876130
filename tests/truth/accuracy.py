#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the documentation's tables of how good the predictions are, from what sweeps wrote.

usage: accuracy.py [--truth FILE [--peers FILE]...] [--field FILE] [--generators FILE] [--write]

The files are those that truth.py, peers.py, field.py and generators.py write with --json. Of several files of peers a
later one fills what an earlier one has no answer to: coz can have a quiet hour of its own. Without
--write the tables are printed; with it they replace what stands between `<!-- accuracy NAME -->` and
`<!-- end -->` in README.md and in the README.md of truth and field.
"""

import argparse
import json
import os
import re
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "field"))

import generators
import latency
import verdicts
from peers import TOOLS, points, sum_lines
from score import QUESTION

ROOT = os.path.join(HERE, "..", "..")
FILES = [os.path.join(ROOT, *path) for path in
         (("README.md",), ("tests", "truth", "README.md"), ("tests", "field", "README.md"))]


def key_of(row):
    return row["pattern"], row["cpus"], row["change"], row["selector"]


def joined(truth, peers):
    """The rows of a sweep, with what each tool answers to them."""
    others = {}
    for line in (line for lines in peers for line in lines):
        known = others.setdefault(key_of(line), {})
        known.update({tool: value for tool, value in line["predicted"].items() if value is not None})
    rows = []
    for row in truth["rows"]:
        predicted = {tool: others.get(key_of(row), {}).get(tool) for tool in TOOLS}
        flags = row.get("flags", [])
        rows.append({**row, "is_flagged": sum(flags) * 2 >= len(row["predictions"]) > 0 if flags else False,
                     "predicted": {**predicted, "wcprof": row["predicted"]}})
    return rows


def head(columns, numbers_from):
    """The two lines that begin a table; columns from there on are numbers."""
    rule = ["--:" if i >= numbers_from else "---" for i in range(len(columns))]
    return [f"| {' | '.join(columns)} |", f"| {' | '.join(rule)} |"]


def row_line(row):
    what = row["selector"].removeprefix(QUESTION)
    cells = [row["pattern"], str(row["cpus"]), f"{row['change']}: `{what}`".replace("|", "\\|")]
    cells.append("noisy" if row["is_noisy"] else points(row["measured"]))
    for tool in TOOLS:
        value = row["predicted"][tool]
        is_known = value is not None and not row["is_noisy"]
        error = points(value - row["measured"]) if is_known else "-"
        mark = " ~" if tool == "wcprof" and row["is_flagged"] else ""
        is_withheld = tool == "wcprof" and row.get("verdict") == "withheld"
        cells += ["withheld" if is_withheld else points(value) + mark, error]
    return f"| {' | '.join(cells)} |"


def rows_table(rows):
    """Every row."""
    columns = ["program", "CPUs", "change", "measured"]
    for tool in TOOLS:
        columns += [tool, "error"]
    return head(columns, 3) + [row_line(row) for row in rows]


def groups_table(summary, groups):
    """What the predictions are off by, by groups."""
    lines = head(["group", "it is", "rows", "mean error", "median", "worst"], 2)
    for name, figures in summary["groups"].items():
        lines.append(f"| {name} | {groups.get(name, 'all of the makespan, undisturbed')} | {figures['rows']} | "
                     f"{figures['mean']:.2f} | {figures['median']:.2f} | {figures['worst']:.1f} |")
    pairs = summary["rank_pairs"]
    share = f"{100 * summary['rank_pairs_agreeing'] / pairs:.0f}%" if pairs else "-"
    return lines + ["", f"Of the three best changes of each program, {share} of all pairs come in the measured order; "
                    f"{summary['sign']} of", f"{summary['scored']} answers have the wrong sign; of {summary['rows']} "
                    f"rows {summary['absent']} had no answer, of {summary['withheld']} the answers were withheld, and "
                    f"{summary['noisy']} were too noisy."]


def peers_table(rows):
    """Sums over the rows that the tools have in common, one table for each set of tools."""
    lines = sum_lines(rows, TOOLS[:2])
    return lines + [""] + sum_lines(rows, TOOLS) if any(row["predicted"]["coz"] is not None for row in rows) else lines


def requests_table(sums):
    """How well each figure of requests is known and predicted."""
    columns, *rows = latency.table(sums)
    return head(columns, 2) + [f"| {' | '.join(row)} |" for row in rows]


def meanings(path):
    """{group: what it is}."""
    with open(path, encoding="utf-8") as file:
        return dict(re.findall(r'^GROUP\("(\w+)", \d+, "(.*)"\)$', file.read(), re.MULTILINE))


def tables_of(options):
    """{name: lines}."""
    tables = {}
    if options.truth:
        truth, peers = read(options.truth), [read(path) for path in options.peers]
        rows = joined(truth, peers)
        tables["groups"] = groups_table(truth["summary"], meanings(os.path.join(HERE, "truth.def")))
        tables["machine"] = [truth.get("machine", "On a machine that the sweep did not note.")]
        tables["peers"] = peers_table(rows)
        tables["rows"] = rows_table(rows)
        if "requests" in truth["summary"]:
            tables["requests"] = requests_table(truth["summary"]["requests"])
    if options.generators:
        tables["generators"] = generators.lines_of(read(options.generators)["rows"], True)
    if options.field:
        tables.update(verdicts.tables(read(options.field)))
    return tables


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def put(text, tables):
    """The text with its tables replaced; those that are not known stay as they are."""
    def replace(match):
        return match[0] if match[1] not in tables else \
            f"<!-- accuracy {match[1]} -->\n" + "".join(line + "\n" for line in tables[match[1]]) + "<!-- end -->"
    return re.sub(r"<!-- accuracy (\w+) -->\n.*?<!-- end -->", replace, text, flags=re.DOTALL)


def write(tables):
    for path in FILES:
        with open(path, encoding="utf-8") as file:
            old = file.read()
        new = put(old, tables)
        if new != old:
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)


def main():
    parser = argparse.ArgumentParser(description="The documentation's tables of how good predictions are.")
    parser.add_argument("--truth", metavar="FILE", help="what truth.py --json wrote")
    parser.add_argument("--peers", metavar="FILE", action="append", default=[], help="what peers.py --json wrote")
    parser.add_argument("--field", metavar="FILE", help="what field.py wrote (rows.json)")
    parser.add_argument("--generators", metavar="FILE", help="what generators.py --json wrote")
    parser.add_argument("--write", action="store_true", help="put them into the documentation")
    options = parser.parse_args()
    tables = tables_of(options)
    if options.write:
        write(tables)
    else:
        for name, lines in tables.items():
            print(f"<!-- accuracy {name} -->", *lines, "<!-- end -->", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
