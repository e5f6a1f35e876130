#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the small recordings that are checked in, with what was really made; or scores them again.

usage: keep.py [--build BUILD] [--dir DIR] [--only REGEX] [--urgent] (--make | --update)

--make measures and records the programs of kept_programs.py, writes their recordings to recordings/, and their rows
into kept.json. --update asks the analyzer about the recordings that are there, and writes what it says into kept.json:
after a change that made answers better. Recordings have all names in them, and nothing of the machine they are from.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "truth")]

import ask
import measure
import verdicts

TABLE = os.path.join(HERE, "kept.json")
RECORDINGS = os.path.join(HERE, "recordings")
BYTES_MAX = 200_000
RUNS = 9
BOUND_MARGIN = 0.5      # an answer may get so much worse, in points: another sum of the same
FORBIDDEN = (re.escape(os.path.dirname(os.path.dirname(HERE))), r"/tmp/", r"/root", r"/home/", r"wcprof-field\.")


def table_read():
    with open(TABLE, encoding="utf-8") as file:
        return json.load(file)


def table_write(rows):
    with open(TABLE, "w", encoding="utf-8") as file:
        json.dump(sorted(rows, key=lambda row: row["name"]), file, indent=1)
        file.write("\n")


def path_of(row):
    return os.path.join(RECORDINGS, row["name"] + ".wcprof.zst")


def answer(build, row):
    """What the analyzer says of a recording today."""
    try:
        return ask.answer(build, [path_of(row)], lambda _: row["question"], row["whole_ns"])
    except ValueError as error:
        return {"state": "refused", "why": [str(error)]}


def scored(build, row):
    """The row with what is said today, and how much worse that may become."""
    found = answer(build, row)
    if found["state"] == "refused":
        raise ValueError(f"{row['name']}: {found['why'][0]}")
    error = abs(found["percent"] - row["made"])
    return {**row, "predicted": round(found["percent"], 2), "state": verdicts.state(row, found),
            "bound": round(error + BOUND_MARGIN, 1)}


def cleaned(text, build, folder):
    """Without the paths of this machine, its name, and the time of its start."""
    root = os.path.realpath(os.path.join(HERE, "..", ".."))
    for path, name in ((build, "/usr/lib/wcprof"), (folder, "/var/lib/wcprof"), (root, "/usr/src/wcprof")):
        text = text.replace(path, name)
    text = re.sub(r"/var/tmp/wcprof-field\.\w+", "/var/lib/wcprof", text)
    text = re.sub(r'"host":"[^"]*"', '"host":"machine"', text)
    text = re.sub(r'"boot_id":"[^"]*"', '"boot_id":"00000000-0000-0000-0000-000000000000"', text)
    for pattern in FORBIDDEN:
        if re.search(pattern, text):
            at = re.search(pattern, text).start()
            raise ValueError(f"{pattern} is left: {text[max(0, at - 60):at + 60]}")
    return text


def make_file(build, folder, program_folder, path):
    """The dumps of a folder as one file with all names."""
    with tempfile.TemporaryDirectory() as place:
        plain = os.path.join(place, "all.jsonl")
        done = subprocess.run([os.path.join(build, "wcprof-analyze"), "--quiet", "--symbolize", plain,
                               *ask.dumps(folder, "all")], capture_output=True, text=True, check=False)
        if done.returncode:
            raise ValueError(done.stderr.strip()[-300:])
        with open(plain, encoding="utf-8", errors="surrogateescape") as file:
            text = cleaned(file.read(), build, program_folder)
        with open(plain, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        subprocess.run(["zstd", "-q", "-f", "-19", plain, "-o", path], check=True)
    if os.path.getsize(path) > BYTES_MAX:
        size = os.path.getsize(path)
        os.unlink(path)
        raise ValueError(f"{size} bytes are too many")


def make(options):
    """Yields the row of each program that can be kept."""
    from field import Sweep, folder_name
    from kept_programs import PROGRAMS
    for program in PROGRAMS:
        if not re.search(options.only, program.name):
            continue
        sweep = Sweep(program, options)
        made = sweep.rows()[0]
        one = made["predictions"][0]
        row = {"name": folder_name(program.name), "program": program.name, "setting": made["setting"],
               "made": round(made["made"], 2), "noise": round(made["noise"], 2), "unsure": made["unsure"],
               "whole_ns": 0 if made["ends"] == "all" else round(1e9 * sweep.record(sweep.variants_of(
                   program.settings[0])[0])[0][1]),
               "question": one.get("question", "")}
        try:
            if made["unsure"] or one["state"] == "refused":
                raise ValueError(f"{verdicts.row_text(made)}")
            make_file(options.build, os.path.join(sweep.folder, one["folder"]), sweep.folder, path_of(row))
            yield scored(options.build, row)
        except ValueError as error:
            print(f"{program.name} is left out: {error}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Small recordings with what was really made.")
    parser.add_argument("--build", default="build", help="build directory (build)")
    parser.add_argument("--dir", help="where recordings and results stay (BUILD/kept)")
    parser.add_argument("--only", default="", metavar="REGEX", help="only programs that match")
    parser.add_argument("--make", action="store_true", help="measure and record them")
    parser.add_argument("--update", action="store_true", help="only write what the analyzer says of them now")
    parser.add_argument("--urgent", action="store_true", help="before all else that the machine does (root)")
    options = parser.parse_args()
    if options.urgent:
        measure.be_urgent()
    options.build = os.path.abspath(options.build)
    options.dir = os.path.abspath(options.dir or os.path.join(options.build, "kept"))
    vars(options).update(fresh=False, again=False, quick=False, tries=False, runs=RUNS, recordings=1)
    rows = {row["name"]: row for row in table_read()} if os.path.exists(TABLE) else {}
    if options.make:
        os.makedirs(RECORDINGS, exist_ok=True)
        found = list(make(options))
    elif options.update:
        found = [scored(options.build, row) for row in rows.values() if re.search(options.only, row["name"])]
    else:
        parser.error("--make or --update")
    for row in found:
        print(f"{row['name']}: made {row['made']:+.1f} +- {row['noise']:.1f}, predicted {row['predicted']:+.1f}, "
              f"{row['state']}")
        rows[row["name"]] = row
    table_write(rows.values())
    return 0


if __name__ == "__main__":
    sys.exit(main())
