# SPDX-License-Identifier: Apache-2.0
"""Sets what was predicted against what was measured: rows, verdicts, and the sums over them.

Everything is in points: per cent of the base makespan (of the base's same figure for latencies).
"""

import dataclasses
import re
import statistics

from runs import is_noisy, is_unsure, unsure_points
from table import FIGURES

SIGN_POINTS_MIN = 2.0           # a measured loss or gain below this has no sign to be wrong about
FLAG_POINTS_MIN = 2.0           # a range that wide says that the answer is not sure
FLAG_ERROR_POINTS = 4.0         # where CPUs are crowded, a larger error must have been flagged
GROUP_CROSSING = "crossing"
GROUP_LATENCY = "latency"       # in points of another figure than the rest: not in the sum of all
GROUP_OUTSIDE = "outside"       # the same, of requests whose clients are not recorded
GROUP_RECORDED = "recorded"     # what requests took as recorded, by the report against their clients
GROUPS_REQUESTS = (GROUP_LATENCY, GROUP_OUTSIDE, GROUP_RECORDED)
RECORDED = " as recorded"       # ends a selector of such a row
QUESTION = "what-if "            # begins a selector that is asked, not picked from a table


def selected(report, selector):
    """The what-if entry that the selector means: of several the one with most to save."""
    pattern = re.compile(selector + r"(/\w+)?")
    entries = [entry for entry in report["what_if"]
               if pattern.fullmatch(f"{entry['kind']} {entry['class']}")]
    return max(entries, key=lambda entry: max(entry["saved_ns"].values()), default=None)


def recorded_figures(report):
    """{"p50_ns": as recorded, ..., "throughput": a second} of the requests that are judged."""
    found = {f"{row['figure']}_ns": row["recorded_ns"] for row in report.get("request_figures", [])
             if row["recorded_ns"]}
    judged = [group for group in report.get("requests", []) if group["is_judged"]]
    if len(judged) == 1:
        found = {**{key: value for key, value in judged[0].items() if key.endswith("_ns")}, **found}
    if judged:
        found["throughput"] = sum(group["per_second"] for group in judged)
    return found


def part_of_requests(report, figure):
    """Of a replay in which requests take longer than they did, the part that is saved counts: all
    that there was, at most."""
    row = next((row for row in report.get("request_figures", []) if row["figure"] == figure), None)
    return min(1, row["recorded_ns"] / row["replayed_ns"]) if row and row["recorded_ns"] and row["replayed_ns"] else 1


def gained_throughput(report, entry):
    """Points of throughput more than the replay of the unchanged run has; an answer is of the same requests."""
    return 100 * (report["baseline_makespan_ns"] / entry["makespan_ns"] - 1)


def is_of_requests(selector):
    """Whether it asks for a figure of requests: these have tables of their own."""
    figure, of, _ = selector.rpartition(" of ")
    return bool(of) and figure in FIGURES


def savings_of_requests(report, selector, factor):
    """The row of the report's savings of requests that the selector means; None: there is none."""
    pattern = re.compile(plain_of(selector) + r"(/\w+)?")
    rows = [row for row in report.get("request_savings", []) if pattern.fullmatch(f"{row['kind']} {row['class']}") and
            float(row["factor"]) == float(factor)]
    return max(rows, key=lambda row: max(row[key] or 0 for key in row if key.endswith("_saved_ns")), default=None)


def entry_of(report, selector, factor):
    """What the report has on the selector, a row of a table or the answer to a question; None: nothing."""
    plain = plain_of(selector)
    savings = savings_of_requests(report, selector, factor) if is_of_requests(selector) else None
    if savings:
        return savings
    if plain.startswith(QUESTION):
        question = question_of(plain, factor)
        return next((answer for answer in report.get("asked", []) if answer["what_if"] == question), None)
    return selected(report, plain)


def number_of(entry, key, factor):
    """A figure of an entry; those of a table have one for each factor."""
    value = entry.get(key)
    if isinstance(value, dict):
        return next((one for name, one in value.items() if float(name) == float(factor)), None)
    return value


def points_of(report, figures, selector, factor, what):
    """A saving ("saved"), or an end of its range ("least", "most"), in points of the recorded run's own figure; None
    when the report has none."""
    entry = entry_of(report, selector, factor)
    if entry is None:
        return None
    metric = metric_of(selector)
    if metric == "throughput":
        return gained_throughput(report, entry) if what == "saved" and entry.get("makespan_ns") else None
    saved = number_of(entry, key_of(selector, what), factor)
    if saved is None:
        return None
    scale = 1 if metric == "makespan_ns" else part_of_requests(report, metric.removesuffix("_ns"))
    return 100 * saved * scale / figures[metric]


def key_of(selector, what):
    """Where a report has it."""
    figure, of, _ = selector.rpartition(" of ")
    return f"{figure}_{what}_ns" if of else {"saved": "saved_ns"}.get(what, f"saved_{what}_ns")


def predicted_points(report, figures, selector, factor):
    """Saving in points of the recorded run's own figure; None when the report has none."""
    return points_of(report, figures, selector, factor, "saved")


def predicted_range(report, figures, selector, factor):
    """Both ends of the range of that saving; None when the report has none."""
    ends = [points_of(report, figures, selector, factor, what) for what in ("least", "most")]
    return None if None in ends else (min(ends), max(ends))


def is_wide(least_ns, most_ns, report):
    return 100 * (most_ns - least_ns) >= FLAG_POINTS_MIN * report["actual_makespan_ns"]


def is_withheld(report):
    """Whether a check of its replay keeps the analyzer from answering."""
    return report.get("answers") == "withheld"


def are_requests_withheld(report, selector):
    """Whether nothing is said of requests, or nothing of that figure."""
    figure = selector.partition(" ")[0]
    return report.get("request_answers") == "withheld" or any(
        row["figure"] == figure and not row["is_given"] for row in report.get("request_figures", []))


def is_left_out(report, selector, factor):
    """Whether the report has the class among its savings of requests, but not this figure: chance may explain it."""
    row = savings_of_requests(report, selector, factor) if is_of_requests(selector) else None
    return row is not None and row.get(key_of(selector, "saved"), 0) is None


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


def is_flagged(report, figures, selector, factor):
    """Whether the report itself says that this saving is not sure."""
    is_latency = metric_of(selector) != "makespan_ns"
    if has_doubts(report, is_latency):
        return True
    entry = entry_of(report, selector, factor)
    if entry is None:
        return False
    if entry.get("depends_on_cpus") or entry.get("depends_on_lock_order"):
        return True
    if is_latency:
        least, most = predicted_range(report, figures, selector, factor) or (0, 0)
        return most - least >= FLAG_POINTS_MIN
    least, most = (number_of(entry, key, factor) for key in ("saved_least_ns", "saved_most_ns"))
    return least is not None and is_wide(least, most, report)


def question_of(selector, factor):
    return selector[len(QUESTION):].replace("{}", factor)


def plain_of(selector):
    """The selector without the figure that it asks for."""
    return selector.rpartition(" of ")[2]


def metric_of(selector):
    """What a run prints of what the selector asks for."""
    figure, of, _ = selector.rpartition(" of ")
    if not of:
        return "makespan_ns"
    return figure if figure == "throughput" else f"{figure}_ns"


def gained(metric, before, after):
    """Points by which a figure is better afterwards."""
    return 100 * (after - before if metric == "throughput" else before - after) / before


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
    ranges: list = dataclasses.field(default_factory=list)  # (least, most) of predictions that have one

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
    def covered(self):
        """How many of the ranges hold what was measured, as closely as that is known."""
        return sum(least - self.unsure <= self.measured <= most + self.unsure for least, most in self.ranges)

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
                group = pattern.group if metric == "makespan_ns" else \
                    GROUP_OUTSIDE if pattern.is_outside else GROUP_LATENCY
                saved = gained(metric, base[metric], changed[metric])
                rows.append(Row(pattern.name, cpus, group, selector,
                                f"{change.constant} {factor}", saved,
                                is_noisy(base) or is_noisy(changed) or
                                is_unsure(base, changed, metric),
                                i == 0 and not plain_of(selector).startswith(QUESTION),
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


def recorded_rows(pattern, cpus, reports):
    """What requests took as recorded, by the report against the clients' own clocks; the truth is no difference."""
    rows = []
    for figure in FIGURES if "CLIENTS" in pattern.constants else ():
        row = Row(pattern.name, cpus, GROUP_RECORDED, f"{figure}{RECORDED}", "-", 0, False, False)
        metric = metric_of(f"{figure} of requests")
        for report, figures in reports:
            said = recorded_figures(report).get(metric)
            if said is not None:
                row.predictions.append(100 * (said - figures[metric]) / figures[metric])
                row.flags.append(has_doubts(report, True))
        rows.append(row)
    return rows


def predict_rows(rows, reports, crossed):
    """Fills the rows' predictions from [(report, figures of the recorded run)], and those of other
    numbers of CPUs from {number: reports of the same recordings}."""
    for row in rows:
        factor = row.change.split()[-1]
        others = crossed[row.other_cpus] if row.other_cpus else reports
        for (report, figures), (other, _) in zip(reports, others):
            if is_withheld(report) or is_withheld(other) or \
                    (row.group in GROUPS_REQUESTS and are_requests_withheld(report, row.selector)):
                row.withheld += 1
                continue
            if row.other_cpus:
                saved_ns = report["baseline_makespan_ns"] - other["baseline_makespan_ns"]
                points = 100 * saved_ns / figures["makespan_ns"]
            else:
                points = predicted_points(report, figures, row.selector, factor)
                row.withheld += points is None and is_left_out(report, row.selector, factor)
                row.flags += [is_flagged(report, figures, row.selector, factor)] * (points is not None)
                extent = predicted_range(report, figures, row.selector, factor)
                row.ranges += [extent] * (extent is not None)
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
                        (group == "all" and row.group not in GROUPS_REQUESTS))
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
