# SPDX-License-Identifier: Apache-2.0
"""Reads the files of wcprof-analyze --rows with no code of ours, and refuses columns that rows.def does not have."""
import json
import os
import re
import subprocess

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))


def columns_of():
    """{table: {column: type}} by rows.def."""
    with open(os.path.join(ROOT, "analyzer/export/rows.def"), encoding="utf-8") as file:
        text = file.read()
    tables = re.findall(r'^(?:ROWS|ANSWER)_TABLE\((\w+), "(\w+)"', text, re.M)
    return {table: dict(re.findall(rf'^ROWS_COLUMN\({name}, "(\w+)", "(.*?)",\s+"', text, re.M))
            for name, table in tables}


COLUMNS = columns_of()
FILES = [table for table in COLUMNS if table != "wc_answer"]


def is_of(value, type_name):
    """Whether a value of JSON can go into a column of ClickHouse."""
    inner = re.fullmatch(r"(\w+)\((.*)\)", type_name)
    if type_name.startswith("Nullable"):
        return value is None or is_of(value, inner[2])
    if type_name.startswith("Map"):
        return isinstance(value, dict) and all(is_of(v, inner[2].split(", ")[1]) for v in value.values())
    if type_name.startswith("Array"):
        return isinstance(value, list) and all(is_of(v, inner[2]) for v in value)
    if type_name.startswith("Enum"):
        return value in re.findall("'(.*?)'", inner[2])
    if type_name.startswith("UInt"):
        return isinstance(value, int) and 0 <= value < 1 << int(type_name[4:])
    if type_name == "Float64":
        return isinstance(value, (int, float))
    if type_name == "Bool":
        return isinstance(value, bool)
    if type_name.startswith("DateTime64"):
        return re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", value) is not None
    if type_name.startswith("FixedString"):
        return isinstance(value, str) and len(value) == int(inner[2])
    assert type_name in ("String", "LowCardinality(String)"), type_name
    return isinstance(value, str)


def read(folder):
    """{table: [row]} of a folder."""
    tables = {}
    assert sorted(os.listdir(folder)) == sorted(f"{table}.ndjson.zst" for table in FILES), os.listdir(folder)
    for table in FILES:
        columns = COLUMNS[table]
        text = subprocess.run(["zstd", "-dcq", f"{folder}/{table}.ndjson.zst"], capture_output=True, check=True).stdout
        tables[table] = [json.loads(line) for line in text.decode().splitlines()]
        for row in tables[table]:
            assert list(row) == list(columns), (table, row)
            wrong = {name: row[name] for name, type_name in columns.items() if not is_of(row[name], type_name)}
            assert not wrong, (table, wrong)
    return tables
