# SPDX-License-Identifier: Apache-2.0
"""Sets answers without an assumption of the analyzer against the usual ones: what the assumption is good for.

A row needs the assumption if its error grows without it by more than the row's noise: what the measured
saving is uncertain by, and what recordings of the same program differ by. Noisy rows count nowhere.
"""

import dataclasses
import os
import re

from score import FLAG_ERROR_POINTS, GROUPS_REQUESTS, summarise

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../analyzer/base/assumptions.def")
NOISE_LEAST = 0.3               # points: rounding, and what a makespan differs by in any case
ROWS_NAMED = 3


def names_read(path=TABLE):
    with open(path, encoding="utf-8") as file:
        return re.findall(r"^ASSUME\((\w+),", file.read(), flags=re.MULTILINE)


def names_wanted(words, known):
    """The names that --without was given, "all" being each of them; raises ValueError for any other."""
    for word in words:
        if word not in known and word != "all":
            raise ValueError(f"--without: {word} is no assumption; give one of all, {', '.join(known)}")
    return known if "all" in words else [name for name in known if name in words]


def noise_of(row):
    extent = max(row.predictions) - min(row.predictions) if row.predictions else 0
    return max(NOISE_LEAST, row.unsure, extent / 2)


def unsaid(rows):
    """How many answers are far off, and the report does not say that they are not sure."""
    return sum(row.group not in GROUPS_REQUESTS and abs(row.error) > FLAG_ERROR_POINTS and not row.was_flagged
               for row in rows if row.predictions and not row.is_noisy)


@dataclasses.dataclass
class Effect:
    """What leaving one assumption out changes."""
    name: str
    summary: dict           # of the rows without it
    unsaid: int
    needed: list            # [(points, row)]: worse without it, the worst first
    harmed: list            # likewise, better without it
    withheld: int           # rows that are answered only with it
    answered: int           # rows that are answered only without it

    @property
    def verdict(self):
        found = []
        if self.needed:
            found.append("needed by " + listed(self.needed))
        if self.withheld:
            found.append(f"{self.withheld} rows are withheld without it")
        if not found:
            found.append("makes no row better than noise")
        if self.harmed:
            found.append("better without: " + listed(self.harmed))
        if self.answered:
            found.append(f"{self.answered} rows are withheld with it")
        return "; ".join(found)


def listed(found):
    words = [f"{row.pattern} on {row.cpus} {row.change} {points:+.1f}" for points, row in found[:ROWS_NAMED]]
    return ", ".join(words) + (f" and {len(found) - ROWS_NAMED} more" if len(found) > ROWS_NAMED else "")


def compare(name, usual, without, groups):
    """The same rows, predicted with and without; in the same order."""
    effect = Effect(name, summarise(without, groups), unsaid(without), [], [], 0, 0)
    for row, other in zip(usual, without, strict=True):
        if row.is_noisy:
            continue
        effect.withheld += bool(row.predictions and not other.predictions)
        effect.answered += bool(other.predictions and not row.predictions)
        if not (row.predictions and other.predictions):
            continue
        points = abs(other.error) - abs(row.error)
        if abs(points) > max(noise_of(row), noise_of(other)):
            (effect.needed if points > 0 else effect.harmed).append((points, row))
    effect.needed.sort(key=lambda found: -found[0])
    effect.harmed.sort(key=lambda found: found[0])
    return effect


def print_line(name, summary, unsaid_rows):
    means = "".join(f"{figures['mean']:9.2f}" for figures in summary["groups"].values())
    print(f"{name:18}{means}{unsaid_rows:9}", flush=True)


def print_usual(rows, summary):
    print(f"\n{'without':18}" + "".join(f"{group:>9}" for group in summary["groups"]) +
          f"{'unsaid':>9}  mean errors in points; far off, and not said to be unsure")
    print_line("(nothing)", summary, unsaid(rows))


def print_effect(effect):
    print_line(effect.name, effect.summary, effect.unsaid)
    print(f"    {effect.verdict}", flush=True)
