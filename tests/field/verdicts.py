# SPDX-License-Identifier: Apache-2.0
"""Sets what was predicted against what was made: rows, sums of single recordings, goals.

Everything is in per cent of the time as it is: what a change saves of it. A saving is the median of those of pairs of
runs that followed each other. It is known to half the interval in which that median lies, or to what runs as they are
save against each other (A against A), whichever is more. A row is unsure, and counts nowhere, if that is more than the
effect and than 5 points, or more than 20.
An answer is right if it is off by 5 points at most, or by what the row is not known to.
"""

import statistics

import tries
from runs import half_width

RIGHT_POINTS = 5        # an answer that is not further off is right
UNSURE_POINTS_MAX = 20
UNSURE_POINTS_MIN = RIGHT_POINTS    # a saving that is known so well is known, even if there is none
BUSY_CPUS_MAX = 0.2     # of other programs: what another number of CPUs brings is then said of as busy a machine
WIDE_POINTS = 10        # a range that wide says that the answer is not sure
GOALS = (
    ("right, of the answers that were given, in per cent", "right_percent", 90, True),
    ("ranges that contain the truth, in per cent", "within_percent", 90, True),
    ("confident answers that were wrong, in per cent", "confident_wrong_percent", 2, False),
    ("right answers that were withheld, in per cent", "lost_percent", 10, False),
    ("median error in points", "median", 2, False),
)


def made(as_is, changed):
    """What the change saves, and how well that is known. Runs are pairs: the machine was as busy for both of one."""
    savings = [100 * (1 - other / base) for base, other in zip(as_is, changed)]
    same = [100 * (1 - other / base) for base, other in zip(as_is, as_is[1:])]
    percent = statistics.median(savings)
    noise = max(half_width(savings), abs(statistics.median(same))) if same else 0
    return {"made": percent, "noise": noise, "as_is_s": statistics.median(as_is), "runs": len(savings),
            "changed_s": statistics.median(changed),
            "unsure": noise > UNSURE_POINTS_MAX or noise > max(abs(percent), UNSURE_POINTS_MIN)}


def error_of(row, prediction):
    return prediction["percent"] - row["made"]


def is_right(row, prediction):
    return abs(error_of(row, prediction)) <= max(RIGHT_POINTS, row["noise"])


def is_within(row, prediction):
    """Whether the range contains what was made, as well as that is known."""
    return prediction["low"] - row["noise"] <= row["made"] <= prediction["high"] + row["noise"]


def is_confident(prediction):
    return prediction["state"] == "given" and prediction["high"] - prediction["low"] < WIDE_POINTS


def verdict(row, prediction):
    """What a user who believes the report gets of it."""
    is_disturbed = row.get("kind") == "cpus" and prediction.get("busy", 0) > BUSY_CPUS_MAX
    if row["unsure"] or is_disturbed:
        return "unsure"
    if prediction["state"] == "refused":
        return "no answer"
    right = is_right(row, prediction)
    if prediction["state"] == "withheld":
        return "right-withheld" if right else "wrong-withheld"
    if is_confident(prediction):
        return "right" if right else "wrong-silent"
    return "right-flagged" if right else "wrong-flagged"


# What becomes of an answer, the worst first: what is further down is better.
STATES = {"wrong-silent": ("wrong-silent",), "wrong-flagged": ("wrong-flagged", "wrong-withheld"),
          "lost": ("right-withheld",), "right": ("right-flagged", "right")}


def state(row, prediction):
    """The verdict, as what is checked in is told: whether it is flagged matters only where it is wrong."""
    return next((name for name, words in STATES.items() if verdict(row, prediction) in words), "no answer")


def share(part, whole):
    return 100 * len(part) / len(whole) if whole else 0


def figures(rows):
    """Figures of all single recordings of the rows."""
    pairs = [(row, one, verdict(row, one)) for row in rows for one in row["predictions"]]
    known = [pair for pair in pairs if pair[2] not in ("unsure", "no answer")]
    answered = [pair for pair in known if not pair[2].endswith("withheld")]
    confident = [pair for pair in answered if pair[2] in ("right", "wrong-silent")]
    right = [pair for pair in known if pair[2].startswith("right")]
    errors = sorted(abs(error_of(row, one)) for row, one, _ in answered)
    counts = {}
    for _, _, word in pairs:
        counts[word] = counts.get(word, 0) + 1
    return {
        "programs": len({row["program"] for row in rows}), "rows": len(rows), "recordings": len(pairs),
        "unsure_rows": sum(row["unsure"] for row in rows), "answered": len(answered), "counts": counts,
        "median": statistics.median(errors) if errors else 0,
        "mean": statistics.mean(errors) if errors else 0, "worst": errors[-1] if errors else 0,
        "right_percent": share([pair for pair in answered if pair[2].startswith("right")], answered),
        "within_percent": share([pair for pair in answered if is_within(*pair[:2])], answered),
        "confident": len(confident), "confident_wrong": counts.get("wrong-silent", 0),
        "confident_wrong_percent": share([pair for pair in confident if pair[2] == "wrong-silent"], confident),
        "right": len(right), "lost": counts.get("right-withheld", 0),
        "lost_percent": share([pair for pair in right if pair[2] == "right-withheld"], right),
    }


def causes(rows):
    """{cause: (wrong answers that it flags or withholds, right ones)}."""
    found = {}
    for row in rows:
        for one in row["predictions"]:
            word = verdict(row, one)
            if word in ("unsure", "no answer"):
                continue
            why = one["why"] or (["wide range"] if not is_confident(one) else ["none"])
            for cause in why:
                wrong, right = found.get(cause, (0, 0))
                found[cause] = (wrong + word.startswith("wrong"), right + word.startswith("right"))
    return dict(sorted(found.items(), key=lambda item: -sum(item[1])))


def goals(found):
    """[(goal, figure, bound, whether it is met, whether the bound is the least)]."""
    return [(text, found[name], bound, found[name] >= bound if is_least else found[name] <= bound, is_least)
            for text, name, bound, is_least in GOALS]


def answer_text(row, one):
    """What one recording says, in a cell or a line."""
    if "percent" not in one:
        return "no answer"
    return f"{one['percent']:+.1f} ({one['low']:+.1f}..{one['high']:+.1f}) {verdict(row, one)}"


def row_text(row):
    """A line for the terminal."""
    answers = ", ".join(answer_text(row, one) + (f" [{' '.join(one['why'])[:120]}]" if one["why"] else "")
                        for one in row["predictions"])
    mark = " UNSURE" if row["unsure"] else ""
    return (f"{row['program']} | {row['setting']} | {row['ends']} | made {row['made']:+.1f} +- {row['noise']:.1f}{mark}"
            f" ({row['as_is_s']:.2f} s) | {answers}")


def sums(rows, name):
    """Lines for the terminal."""
    if not rows:
        return []
    found = figures(rows)
    lines = [f"{name}: {found['programs']} programs, {found['rows']} rows ({found['unsure_rows']} unsure), "
             f"{found['recordings']} recordings: " + ", ".join(f"{n} {word}" for word, n in found["counts"].items())]
    lines += [f"  {'met' if is_met else 'MISSED':7}{text}: {figure:.1f} ({bound})"
              for text, figure, bound, is_met, _ in goals(found)]
    return lines + [f"  {cause}: {wrong} wrong, {right} right" for cause, (wrong, right) in causes(rows).items()]


def sums_table(rows):
    """What a user of single recordings gets, as lines of a README."""
    if not rows:
        return ["*Not recorded yet.*"]
    found = figures(rows)
    counts = found["counts"]
    commits = sorted({row.get("analyzer", "an unknown version") for row in rows})
    lines = [f"Scored by the analyzer of {', '.join(commits)}: {found['programs']} programs, {found['rows']} rows, "
             f"{found['unsure_rows']} of them",
             f"not measured well enough; {found['recordings']} answers to single recordings, {counts.get('unsure', 0)} "
             "of them unsure.", "",
             "| answers that were | right | wrong |", "| --- | --: | --: |"]
    for text, right, wrong in (("given without a doubt", "right", "wrong-silent"),
                               ("given with a doubt: a failed check, a wide range", "right-flagged", "wrong-flagged"),
                               ("withheld (what `--force` prints)", "right-withheld", "wrong-withheld")):
        lines.append(f"| {text} | {counts.get(right, 0)} | {counts.get(wrong, 0)} |")
    lines += ["", f"{counts.get('no answer', 0)} had no answer. Of those that were given the error is "
              f"{found['median']:.1f} points in the median, {found['mean']:.1f} on average, {found['worst']:.0f} at "
              "worst.",
              "", "| goal | is | wanted | |", "| --- | --: | --: | --- |"]
    for text, figure, bound, is_met, is_least in goals(found):
        lines.append(f"| {text} | {figure:.1f} | {'at least' if is_least else 'at most'} {bound} | "
                     f"{'met' if is_met else '**missed**'} |")
    return lines + [""] + kinds_table(rows)


def kinds_table(rows):
    """The same for each class of question; not withheld means given, with a doubt or without."""
    lines = ["| question | rows | right, not withheld | wrong, not withheld | of these silently | withheld |",
             "| --- | --: | --: | --: | --: | --: |"]
    for kind in sorted({row.get("kind", "") for row in rows}):
        those = [row for row in rows if row.get("kind", "") == kind]
        found = figures(those)
        right, wrong, withheld = (sum(n for word, n in found["counts"].items() if word in words) for words in (
            ("right", "right-flagged"), ("wrong-silent", "wrong-flagged"), ("right-withheld", "wrong-withheld")))
        lines.append(f"| {kind} | {len(those)} | {right} | {wrong} | {found['confident_wrong']} | {withheld} |")
    return lines


def causes_table(rows):
    """What flagged wrong answers and right ones."""
    lines = ["| doubt | wrong answers | right answers |", "| --- | --: | --: |"]
    return lines + [f"| {cause} | {wrong} | {right} |" for cause, (wrong, right) in causes(rows).items()]


def rows_table(rows):
    """Every row of the programs that were looked at."""
    lines = ["| program | setting | recorded | made | predicted, by each recording |",
             "| --- | --- | --- | --: | --- |"]
    for row in rows:
        made_text = "unsure" if row["unsure"] else f"{row['made']:+.1f} ± {row['noise']:.1f}"
        answers = "; ".join(answer_text(row, one) for one in row["predictions"])
        lines.append(f"| {row['program']} | {row['setting']} | {row['ends']} | {made_text} | {answers} |")
    return lines


def tables(results):
    """{name: lines} of the README's tables, from what the sweep wrote."""
    sets = {name: [row for row in results["rows"] if row["set"] == name] for name in ("held", "train")}
    return {"held": sums_table(sets["held"]), "train": sums_table(sets["train"]),
            "tries": tries.table(results["tries"]),
            "doubts": causes_table(results["rows"]), "settings": rows_table(sets["train"]),
            "field_machine": results["machine"].split("\n")}
