# SPDX-License-Identifier: Apache-2.0
"""Reads truth.def: which patterns there are, their constants, and which changes are to be made."""

import ast
import dataclasses
import re

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


def table_read(path):
    """Returns groups {name: points} and patterns {name: Pattern}."""
    groups, patterns = {}, {}
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for word, row in table_rows(text):
        if word == "GROUP":
            groups[row[0]] = row[1]
        elif word == "PATTERN":
            constants = dict(pair.split("=") for pair in row[4].split())
            patterns[row[0]] = Pattern(*row[:3], [int(n) for n in row[3].split()], constants)
        elif word == "CHANGE":
            patterns[row[0]].changes.append(Change(row[1], tuple(row[2].split()), row[3:]))
        else:
            raise ValueError(f"{path}: no such row: {word}")
    for pattern in patterns.values():
        if pattern.group not in groups:
            raise ValueError(f"{path}: {pattern.name}: no such group: {pattern.group}")
        for change in pattern.changes:
            for constant in change.constant.split():
                scaled(pattern.constants[constant], 1.0)
    return groups, patterns


def scaled(value, factor):
    """The constant's value times the factor: "burn:100" and 0.5 give "burn:50", "64" gives "32"."""
    what, colon, number = value.rpartition(":")
    number = float(number) * factor
    return what + colon + (f"{number:g}" if colon else str(round(number)))
