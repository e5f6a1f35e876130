# SPDX-License-Identifier: Apache-2.0
"""Sums up how well the figures of requests are predicted: by figure, and by where their clients are."""

import statistics

from score import GROUP_LATENCY, GROUPS_REQUESTS, RECORDED
from table import FIGURES


def figure_of(row):
    """p50, p99, ...: what the row's selector asks for; None: no figure of requests."""
    words = row.selector.removesuffix(RECORDED).split()
    is_one = row.selector.endswith(RECORDED) or words[1:2] == ["of"]
    return words[0] if is_one and words[0] in FIGURES else None


def is_surely_wrong(row, limit):
    """Given without a doubt, further off than allowed, and no range says so."""
    return bool(row.predictions) and not row.was_flagged and abs(row.error) > limit and \
        row.covered < max(len(row.ranges), 1)


def figures_of(rows, limit):
    """The sums over rows of one figure."""
    scored = [row for row in rows if row.predictions and not row.is_noisy]
    errors = sorted(abs(row.error) for row in scored)
    ranges = sum(len(row.ranges) for row in scored)
    return {"rows": len(rows), "scored": len(scored),
            "mean": statistics.mean(errors) if errors else None,
            "median": statistics.median(errors) if errors else None,
            "worst": errors[-1] if errors else None,
            "ranges": ranges, "covered": sum(row.covered for row in scored),
            "withheld": sum(not row.predictions and row.withheld > 0 for row in rows),
            "absent": sum(not row.predictions and not row.withheld for row in rows),
            "noisy": sum(bool(row.predictions) and row.is_noisy for row in rows),
            "sure_and_wrong": sum(is_surely_wrong(row, limit) for row in scored)}


def sums(rows, groups):
    """{group: {figure: sums}}, of groups and figures that there are rows of."""
    found = {}
    for group in GROUPS_REQUESTS:
        for figure in FIGURES:
            those = [row for row in rows if row.group == group and figure_of(row) == figure]
            if those:
                limit = groups.get(group, 0) or groups.get(GROUP_LATENCY, 0)
                found.setdefault(group, {})[figure] = figures_of(those, limit)
    return found


COLUMNS = ["requests", "figure", "rows", "mean error", "median", "worst", "ranges with the truth", "withheld", "absent",
           "noisy", "sure and wrong"]


def cells(group, figure, of):
    """A row of the table, in the order of COLUMNS."""
    known = [f"{of[name]:.2f}" if of[name] is not None else "-" for name in ("mean", "median", "worst")]
    share = f"{100 * of['covered'] / of['ranges']:.0f}%" if of["ranges"] else "-"
    return [group, figure, str(of["rows"]), *known, share,
            *(str(of[name]) for name in ("withheld", "absent", "noisy", "sure_and_wrong"))]


def table(found):
    """All rows of the table, its head first."""
    return [COLUMNS] + [cells(group, figure, of) for group, figures in found.items() for figure, of in figures.items()]


def text(found):
    """The table as lines, in columns."""
    rows = table(found)
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    return ["  ".join(cell.ljust(width) if i < 2 else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows]
