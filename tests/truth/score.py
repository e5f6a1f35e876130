# SPDX-License-Identifier: Apache-2.0
"""Sets what was predicted against what was measured: rows, verdicts, and the sums over them.

Everything is in points: per cent of the base makespan (of the base's same figure for latencies).
"""

import dataclasses
import re
import statistics

from runs import is_noisy, is_unsure, unsure_points

SIGN_POINTS_MIN = 2.0           # a measured loss or gain below this has no sign to be wrong about
FLAG_POINTS_MIN = 2.0           # a range that wide says that the answer is not sure
FLAG_ERROR_POINTS = 4.0         # where CPUs are crowded, a larger error must have been flagged
GROUP_CROSSING = "crossing"
GROUP_LATENCY = "latency"       # in points of another figure than the rest: not in the sum of all
QUESTION = "what-if "            # begins a selector that is asked, not picked from a table


def selected(report, selector):
    """The what-if entry that the selector means: of several the one with most to save."""
    pattern = re.compile(selector + r"(/\w+)?")
    entries = [entry for entry in report["what_if"]
               if pattern.fullmatch(f"{entry['kind']} {entry['class']}")]
    return max(entries, key=lambda entry: max(entry["saved_ns"].values()), default=None)


def part_of_requests(report, metric):
    """Of a replay in which requests take longer than they did, the part that is saved counts: all
    that there was, at most."""
    taken_ns = [requests[f"{metric}_ns"] for requests in report.get("requests", [])
                if requests["is_judged"]]
    replayed_ns = report.get(f"baseline_{metric}_ns")
    return min(1, taken_ns[0] / replayed_ns) if taken_ns and replayed_ns else 1


def predicted_points(report, figures, selector, factor):
    """Saving in points of the recorded run's own figure; None when the report has none."""
    if selector.startswith(QUESTION):
        return asked_points(report, figures, question_of(selector, factor))
    metric, of, plain = selector.rpartition(" of ")
    entry = selected(report, plain)
    if entry is None:
        return None
    savings = entry.get(f"{metric}_saved_ns", {}) if of else entry["saved_ns"]
    scale = part_of_requests(report, metric) if of else 1
    for key, saved_ns in savings.items():
        if float(key) == float(factor):
            return 100 * saved_ns * scale / figures[metric_of(selector)]
    return None


def is_wide(least_ns, most_ns, report):
    return 100 * (most_ns - least_ns) >= FLAG_POINTS_MIN * report["actual_makespan_ns"]


def is_withheld(report):
    """Whether a check of its replay keeps the analyzer from answering."""
    return report.get("answers") == "withheld"


def withheld_by(reports):
    """Why answers of [(report, figures)] are withheld, each check once."""
    return sorted({f"{check['check']} {check['percent']:.1f}%" for report, _ in reports if is_withheld(report)
                   for check in report["checks"] if check["state"] == "withholds"})


def has_doubts(report, is_latency):
    """Whether the report warns of all its answers: a check failed. That of latencies is of theirs
    alone."""
    failed = [check["check"] for check in report.get("checks", []) if "cause" in check and
              check["cause"]]
    return (is_latency and "latency" in failed) or any(name != "latency" for name in failed)


def is_flagged(report, selector, factor):
    """Whether the report itself says that this saving is not sure."""
    if has_doubts(report, metric_of(selector) != "makespan_ns"):
        return True
    if selector.startswith(QUESTION):
        question = question_of(selector, factor)
        return any(is_wide(answer["saved_least_ns"], answer["saved_most_ns"], report)
                   for answer in report.get("asked", []) if answer["what_if"] == question)
    entry = selected(report, selector.rpartition(" of ")[2])
    if entry is None:
        return False
    if entry.get("depends_on_cpus") or entry.get("depends_on_lock_order"):
        return True
    least, most = entry.get("saved_least_ns", {}), entry.get("saved_most_ns", {})
    return any(is_wide(least[key], most[key], report) for key in least
               if float(key) == float(factor))


def question_of(selector, factor):
    return selector[len(QUESTION):].replace("{}", factor)


def asked_points(report, figures, question):
    for answer in report.get("asked", []):
        if answer["what_if"] == question:
            return 100 * answer["saved_ns"] / figures["makespan_ns"]
    return None


def metric_of(selector):
    metric, of, _ = selector.rpartition(" of ")
    if selector.startswith(QUESTION):
        return "makespan_ns"
    return f"{metric}_ns" if of else "makespan_ns"


@dataclasses.dataclass
class Row:
    pattern: str
    cpus: int
    group: str
    selector: str
    change: str             # "A 0.5", "A B 0.5"
    measured: float         # points saved
    is_noisy: bool
    ranks: bool             # stands for the change where changes are ranked
    predictions: list = dataclasses.field(default_factory=list)
    flags: list = dataclasses.field(default_factory=list)  # of each prediction
    withheld: int = 0       # reports that answer nothing
    spread: float = 0       # points by which runs of the base differ
    other_cpus: int = 0     # where the change is another number of CPUs: that number
    unsure: float = 0       # points by which the measured saving may be off

    @property
    def predicted(self):
        return statistics.median(self.predictions) if self.predictions else None

    @property
    def error(self):
        return self.predicted - self.measured if self.predictions else None

    @property
    def was_flagged(self):
        return sum(self.flags) * 2 >= len(self.predictions) > 0

    @property
    def has_wrong_sign(self):
        if not self.predictions or abs(self.measured) < max(SIGN_POINTS_MIN, self.spread / 2):
            return False
        if self.measured < 0:
            return self.predicted > self.measured / 2 and self.predicted > -SIGN_POINTS_MIN
        return self.predicted < -SIGN_POINTS_MIN / 2

    def verdict(self, groups):
        """One word or none; "wrong" and "sign" are failures."""
        if not self.predictions:
            return "withheld" if self.withheld else "absent"
        if self.is_noisy:
            return "noisy"
        if self.has_wrong_sign:
            return "sign"
        limit = groups.get(self.group, 0)
        return "wrong" if limit and abs(self.error) > limit else ""


def rows_of(pattern, cpus, measured):
    base = measured["base"]
    rows = []
    for change in pattern.changes:
        for factor in change.factors:
            changed = measured.get(f"{change.constant} {factor}")
            if not changed:
                continue
            for i, selector in enumerate(change.selectors):
                metric = metric_of(selector)
                group = pattern.group if metric == "makespan_ns" else GROUP_LATENCY
                saved = 100 * (base[metric] - changed[metric]) / base[metric]
                rows.append(Row(pattern.name, cpus, group, selector,
                                f"{change.constant} {factor}", saved,
                                is_noisy(base) or is_noisy(changed) or
                                is_unsure(base, changed, metric),
                                i == 0 and not selector.startswith(QUESTION),
                                spread=base["spread"], unsure=unsure_points(base, changed, metric)))
    return rows


def crossing_rows(pattern, cpus, measured_by_cpus):
    """What other numbers of CPUs save, in points of the makespan on this one."""
    base = measured_by_cpus[cpus]["base"]
    rows = []
    for other, measured in measured_by_cpus.items():
        if other != cpus:
            changed = measured["base"]
            saved = 100 * (base["makespan_ns"] - changed["makespan_ns"]) / base["makespan_ns"]
            rows.append(Row(pattern.name, cpus, GROUP_CROSSING, f"--cpus {other}",
                            f"recorded on {cpus}", saved,
                            is_noisy(base) or is_noisy(changed) or is_unsure(base, changed), False,
                            other_cpus=other, unsure=unsure_points(base, changed)))
    return rows


def predict_rows(rows, reports, crossed):
    """Fills the rows' predictions from [(report, figures of the recorded run)], and those of other
    numbers of CPUs from {number: reports of the same recordings}."""
    for row in rows:
        factor = row.change.split()[-1]
        others = crossed[row.other_cpus] if row.other_cpus else reports
        for (report, figures), (other, _) in zip(reports, others):
            if is_withheld(report) or is_withheld(other):
                row.withheld += 1
                continue
            if row.other_cpus:
                saved_ns = report["baseline_makespan_ns"] - other["baseline_makespan_ns"]
                points = 100 * saved_ns / figures["makespan_ns"]
            else:
                points = predicted_points(report, figures, row.selector, factor)
                row.flags += [is_flagged(report, row.selector, factor)] * (points is not None)
            if points is not None:
                row.predictions.append(points)


def drift_of(report):
    actual = report["actual_makespan_ns"]
    return 100 * (report["baseline_makespan_ns"] - actual) / actual if actual else 0.0


def rank_agreement(rows):
    """(agreeing, all) pairs among the three best changes of each pattern at each factor."""
    agreeing = total = 0
    by_place = {}
    for row in rows:
        if row.ranks and row.predictions:
            place = (row.pattern, row.cpus, row.change.split()[-1])
            by_place.setdefault(place, []).append(row)
    for those in by_place.values():
        best = sorted(those, key=lambda row: -row.measured)[:3]
        for i, better in enumerate(best):
            for worse in best[i + 1:]:
                if better.measured - worse.measured >= SIGN_POINTS_MIN:
                    total += 1
                    agreeing += better.predicted > worse.predicted
    return agreeing, total


def summarise(rows, groups):
    """Figures of all rows that were predicted and quiet; also of each group."""
    quiet = [row for row in rows if row.predictions and not row.is_noisy]
    verdicts = [row.verdict(groups) for row in rows]
    agreeing, pairs = rank_agreement(quiet)
    summary = {"rows": len(rows), "scored": len(quiet), "rank_pairs": pairs,
               "rank_pairs_agreeing": agreeing, "groups": {}}
    for word in ("absent", "withheld", "noisy", "wrong", "sign"):
        summary[word] = verdicts.count(word)
    for group in ["all", *groups]:
        errors = sorted(abs(row.error) for row in quiet if group == row.group or
                        (group == "all" and row.group != GROUP_LATENCY))
        if errors:
            summary["groups"][group] = {"rows": len(errors), "mean": statistics.mean(errors),
                                        "median": statistics.median(errors), "worst": errors[-1]}
    return summary


def goals(rows, groups):
    """[(what is asked of all rows, what came out, whether that is enough)]."""
    summary = summarise(rows, groups)
    quiet = [row for row in rows if row.predictions and not row.is_noisy]
    found = [("at least 80 rows", summary["scored"], summary["scored"] >= 80)]
    for group, mean, worst in (("all", 0.8, None), ("waits", 0.4, 2.5), ("crowded", 2.5, 8.0)):
        figures = summary["groups"].get(group)
        if not figures:
            continue
        found.append((f"{group}: mean at most {mean}", round(figures["mean"], 2),
                      figures["mean"] <= mean))
        if worst:
            found.append((f"{group}: none above {worst}", round(figures["worst"], 1),
                          figures["worst"] <= worst))
    unflagged = [row for row in quiet if row.group == "crowded" and not row.was_flagged and
                 abs(row.error) > FLAG_ERROR_POINTS]
    found.append((f"crowded: above {FLAG_ERROR_POINTS:g} flagged by the report",
                  f"{len(unflagged)} are not", not unflagged))
    found.append(("no wrong sign", summary["sign"], not summary["sign"]))
    agreeing, pairs = summary["rank_pairs_agreeing"], summary["rank_pairs"]
    share = 100 * agreeing / pairs if pairs else 100
    found.append(("order of the best three: 95%", f"{share:.0f}%", share >= 95))
    return found
