# SPDX-License-Identifier: Apache-2.0
"""Reads truth.def and requests.def: the patterns, their constants, and which changes are to be made."""

import ast
import dataclasses
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = ("truth.def", "requests.def")
FIGURES = ("p50", "p95", "p99", "mean", "throughput")   # of requests
REQUESTS = "requests of "       # begins a selector that stands for one of each


@dataclasses.dataclass
class Pattern:
    name: str
    command: str
    group: str
    cpus: list
    constants: dict
    changes: list = dataclasses.field(default_factory=list)

    @property
    def burns(self):
        return any(value.startswith("burn:") for value in self.constants.values())

    @property
    def load(self):
        """How many foreign processes keep the CPUs busy meanwhile."""
        return int(self.constants.get("LOAD", 0)) + self.neighbours

    @property
    def neighbours(self):
        """How many of them are of the program's own session."""
        return int(self.constants.get("NEIGHBOURS", 0))


    @property
    def is_outside(self):
        """Whether its clients are in no recording."""
        return self.constants.get("CLIENTS") == "outside"

    @property
    def is_server(self):
        """Whether it goes on until it is told to end, as its clients are another process."""
        return self.constants.get("CLIENTS", "threads") != "threads"

    @property
    def figures(self):
        """What changes of its requests; a timetable decides how many it serves."""
        return FIGURES[:-1] if "M" in self.constants else FIGURES

    def selectors(self, words):
        """What the words of a row stand for."""
        for word in words:
            if word.startswith(REQUESTS):
                yield from (f"{figure} of {word[len(REQUESTS):]}" for figure in self.figures)
            else:
                yield word


@dataclasses.dataclass(frozen=True)
class Change:
    constant: str
    factors: tuple
    selectors: tuple


def table_rows(text):
    """Yields (word, arguments) of each row; the arguments are C strings and numbers."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    for word, arguments in re.findall(r"^([A-Z]+)\((.*?)\)$", text, flags=re.DOTALL | re.MULTILINE):
        yield word, ast.literal_eval(f"({arguments},)")


def table_read(*paths):
    """Returns groups {name: points} and patterns {name: Pattern}."""
    groups, patterns, text = {}, {}, ""
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text += file.read()
    for word, row in table_rows(text):
        if word == "GROUP":
            groups[row[0]] = row[1]
        elif word == "PATTERN":
            constants = dict(pair.split("=") for pair in row[4].split())
            patterns[row[0]] = Pattern(*row[:3], [int(n) for n in row[3].split()], constants)
        elif word == "CHANGE":
            pattern = patterns[row[0]]
            pattern.changes.append(Change(row[1], tuple(row[2].split()), tuple(pattern.selectors(row[3:]))))
        else:
            raise ValueError(f"{paths}: no such row: {word}")
    for pattern in patterns.values():
        if pattern.group not in groups:
            raise ValueError(f"{pattern.name}: no such group: {pattern.group}")
        for change in pattern.changes:
            for constant in change.constant.split():
                scaled(pattern.constants[constant], 1.0)
    return groups, patterns


def tables_read():
    """What the tables of this folder have, together."""
    return table_read(*(os.path.join(HERE, name) for name in FILES))


def scaled(value, factor):
    """The constant's value times the factor: "burn:100" and 0.5 give "burn:50", "64" gives "32"."""
    what, colon, number = value.rpartition(":")
    number = float(number) * factor
    return what + colon + (f"{number:g}" if colon else str(round(number)))
