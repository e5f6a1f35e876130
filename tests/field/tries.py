# SPDX-License-Identifier: Apache-2.0
"""Classes made slower for real, by `wcprof try`, against what the replay predicts of the same: the ten best.

The server serves its load until the trial is over. Percents are "longer by", as the command has them. A row is unsure
if what was made is not known to 10 points, or the command would not say; it is right if that says that both agree.
"""

import json
import os
import subprocess
import threading
import time

import measure

TOP, PAIRS, WINDOW_MS, FOR_S = 10, 6, 400, 60
LOAD_TIMES = 100       # as long as a run's load: that of a server is ended with the trial
LOAD_BEGINS_S = 1       # the trial's first window needs work in it
UNSURE_POINTS = 10
KEYS = ("class", "kind", "factor", "made_percent", "made_low", "made_high", "predicted_percent", "predicted_low",
        "predicted_high", "agree", "withheld", "cannot_be_slowed", "covered_percent", "windows")


class Trial(measure.Run):
    """A run of a program's load that lasts until the trial of its last server has ended, or whole runs."""

    def recorder(self, **more):
        """Without samples: functions and threads cannot be slowed, and would take the place of what can be."""
        return super().recorder(**{"WCPROF_SAMPLE_HZ": "0", **more})

    def rows(self):
        self.prepare()
        if not self.program.servers:
            words = measure.words_of(self.program.run, self.words)
            return self.answers("-n", str(PAIRS), "-f", str(FOR_S), "-O", f"{self.dumps}/run.jsonl", "--", *words)
        self.start_servers(True)
        server = self.servers[-1]
        self.wait_for_control(server)
        load = self.popen(self.program.run, self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          preexec_fn=self.pinned, process_group=0)
        time.sleep(LOAD_BEGINS_S)
        ending = threading.Timer(4 * FOR_S, load.kill)
        ending.start()
        try:
            return self.answers("-t", "-n", str(PAIRS), "-w", str(WINDOW_MS), "-f", str(FOR_S), str(server.pid))
        finally:
            ending.cancel()
            load.terminate()
            load.wait()

    def answers(self, *words):
        done = subprocess.run([os.path.join(self.build, "wcprof"), "try", "-q", "-j", "--all", "-T", str(TOP), *words],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=10 * FOR_S,
                              stdin=subprocess.DEVNULL, cwd=self.directory, user=self.program.user or None,
                              env=self.environment(**self.recorder()))
        lines = done.stdout.decode(errors="replace").splitlines()
        rows = [json.loads(line) for line in lines if line.startswith('{"class"')]
        if not rows:
            said = done.stderr.decode(errors="replace")
            raise measure.RunError(f"wcprof try: exit status {done.returncode}: {said.strip()[-300:]}")
        return [{key: row.get(key) for key in KEYS} for row in rows]


def rows_of(program, variant, build, data):
    """What came out for each class; the variant's load is as long as it takes."""
    words = {**variant.words}
    if program.size and program.servers:
        words[program.size] *= LOAD_TIMES
    with Trial(program, type(variant)(words, variant.cpus), build, data) as trial:
        return [{"program": program.name, "set": program.group, **row} for row in trial.rows()]


def verdict(row):
    """right and wrong by what the command says; what it could not do or would not say."""
    if row["cannot_be_slowed"] or row["made_percent"] is None:
        return "not slowed"
    if row["made_high"] is None or row["made_high"] - row["made_low"] > 2 * UNSURE_POINTS:
        return "unsure"
    if row["withheld"] or row["predicted_percent"] is None:
        return "withheld"
    return {True: "right", False: "wrong", None: "unsure"}[row["agree"]]


def counts(rows):
    found = {}
    for row in rows:
        found[verdict(row)] = found.get(verdict(row), 0) + 1
    return found


def interval(row, name):
    if row[f"{name}_percent"] is None:
        return "-"
    return f"{row[f'{name}_percent']:+.1f} ({row[f'{name}_low']:+.1f}..{row[f'{name}_high']:+.1f})"


def table(rows):
    """The README's table."""
    if not rows:
        return ["*Not tried yet.*"]
    found = counts(rows)
    lines = [f"{len(rows)} classes of {len({row['program'] for row in rows})} programs: " +
             ", ".join(f"{count} {word}" for word, count in sorted(found.items())) + ".", "",
             "| program | class | x | made: longer by % | predicted | |", "| --- | --- | --: | --- | --- | --- |"]
    for row in (row for row in rows if verdict(row) != "not slowed"):
        cells = (row["program"], f"`{row['kind']} {row['class']}`", f"{row['factor']:g}", interval(row, "made"),
                 interval(row, "predicted"), verdict(row))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def text(row):
    """A line for the terminal."""
    why = row["withheld"] or row["cannot_be_slowed"] or ""
    return (f"{row['program']} | {row['kind']} {row['class']} x {row['factor']} | made {interval(row, 'made')} | "
            f"predicted {interval(row, 'predicted')} | {verdict(row)} {why}")
