# SPDX-License-Identifier: Apache-2.0
"""Asks the analyzer about one recording, and says of the answer what a user would see of its doubts."""

import glob
import json
import os
import re
import subprocess

ANALYZE_S_MAX = 120
ABOUT_QUESTIONS = ("crossing",)     # checks of the answer, not of the recording
NEVER = "1000s"         # of self time: no class is tried beside those that are asked about


def analyze(build, paths, *words):
    """The report; ValueError with what the analyzer says when it refuses."""
    command = [os.path.join(build, "wcprof-analyze"), "--json", "--quiet", "--force", *words, *paths]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=ANALYZE_S_MAX)
    except subprocess.TimeoutExpired:
        raise ValueError(f"the analyzer is not over after {ANALYZE_S_MAX} s") from None
    if answer.returncode:
        raise ValueError(answer.stderr.strip()[-300:] or f"exit status {answer.returncode}")
    return json.loads(answer.stdout)


def dumps(folder, ends):
    paths = sorted(glob.glob(os.path.join(glob.escape(folder), "*.jsonl*")))
    return [path for path in paths if ends != "server" or not os.path.basename(path).startswith("run.")]


def question_of(setting, report):
    """What to ask: all classes that the change concerns; ValueError if there is none."""
    names = [f"{entry['kind']} {entry['class']}" for entry in report["classes"]]
    named = [name for name in names if any(re.fullmatch(pattern, name) for pattern in setting.asked)]
    if setting.asked and not named:
        raise ValueError("no class is what the change concerns")
    if setting.question:
        return setting.question.replace("{}", named[0].split(" ", 1)[1] if named else "")
    return ",".join(f"{name}*{setting.factor}" for name in sorted(named))


def doubts_of(report, question):
    """Why the report does not call itself sure, or warns of what is asked about."""
    doubts = [check["check"] for check in report["checks"] if check["state"] in ("failed", "withholds")]
    if report["confidence"] == "fair" and not doubts:
        doubts = [report["confidence_reason"]]
    causes = [check["cause"] for check in report["checks"]]
    about = re.findall(r"`([^`]*)`", " ".join(text for text in report.get("warnings", []) if text not in causes))
    return doubts + ["warning"] * any(name in question for name in about if len(name) > 3)


def busy_cpus(report):
    """How many CPUs other programs had while it was recorded, as the report says."""
    found = re.findall(r"other programs (?:seem to have had|had used) ([0-9.]+) of the", " ".join(report["warnings"]))
    return max(map(float, found), default=0.0)


def answer(build, paths, question_from, whole_ns=0):
    """What these dumps say of a question, in per cent of so much time, or of what they took."""
    report = analyze(build, paths, "--top", "100000")
    question = question_from(report)
    alone = analyze(build, paths, "--min-self", NEVER, "--what-if", question)
    if not alone["asked"]:
        raise ValueError(alone["warnings"][0])
    asked = alone["asked"][0]
    report["checks"] += [check for check in alone["checks"] if check["check"] in ABOUT_QUESTIONS]
    withheld = [check["check"] for check in report["checks"] if check["state"] == "withholds"]
    low, percent, high = (100 * asked[name] / (whole_ns or report["actual_makespan_ns"]) for name in
                          ("saved_least_ns", "saved_ns", "saved_most_ns"))
    doubts = doubts_of(report, question)
    return {"state": "withheld" if withheld else "doubted" if doubts else "given", "why": withheld or doubts,
            "question": question, "busy": busy_cpus(report), "percent": percent, "low": min(low, percent),
            "high": max(high, percent),
            "drift": 100 * (report["baseline_makespan_ns"] / report["actual_makespan_ns"] - 1)}


def predict(build, folder, ends, seconds, setting):
    """What a recording says of a setting; percents are of the recorded time of the run or of the load."""
    try:
        found = answer(build, dumps(folder, ends), lambda report: question_of(setting, report),
                       0 if ends == "all" else seconds * 1e9)
    except ValueError as error:
        found = {"state": "refused", "why": [str(error)]}
    return {**found, "folder": os.path.basename(folder)}
