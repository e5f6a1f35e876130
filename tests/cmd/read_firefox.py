# SPDX-License-Identifier: Apache-2.0
"""Reads a profile for the Firefox Profiler, and checks all that its own importer lets pass."""
import collections
import gzip
import json
from decimal import Decimal

VERSION = 60
SHARED = {
    "stackTable": ["frame", "prefix"],
    "frameTable": ["address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol", "innerWindowID",
                   "line", "column"],
    "funcTable": ["name", "isJS", "relevantForJS", "resource", "source", "lineNumber", "columnNumber"],
    "resourceTable": ["lib", "name", "host", "type"],
    "sources": ["uuid", "filename"],
    "nativeSymbols": ["libIndex", "address", "name", "functionSize"],
}
SAMPLES = ["stack", "time", "weight", "threadCPUDelta"]
MARKERS = ["data", "name", "startTime", "endTime", "phase", "category"]
COLORS = {"blue", "green", "grey", "ink", "magenta", "orange", "purple", "red", "teal", "yellow"}
BESIDE = {"Running": "cpu", "Waiting for a CPU": "queued", "Unexplained": "unexplained"}

Thread = collections.namedtuple("Thread", "name pid tid is_lock states markers")


def fault(condition, text):
    """Raises unless the condition holds."""
    if not condition:
        raise AssertionError(text)


def check_columns(table, names, what):
    """All columns are as long as the table says."""
    for name in names:
        fault(len(table[name]) == table["length"], f"{what}.{name} has {len(table[name])}, not {table['length']}")


def check_indexes(values, length, what, empty=None):
    """All values are indexes, or the one that stands for none."""
    for value in values:
        fault(value == empty or (isinstance(value, int) and 0 <= value < length), f"{what}: {value} of {length}")


def check_shared(profile):
    """The tables that all threads share."""
    shared, categories = profile["shared"], profile["meta"]["categories"]
    for table, names in SHARED.items():
        check_columns(shared[table], names, table)
    strings, stacks, frames = len(shared["stringArray"]), shared["stackTable"], shared["frameTable"]
    functions, resources = shared["funcTable"], shared["resourceTable"]
    check_indexes(stacks["frame"], frames["length"], "stackTable.frame")
    for i, prefix in enumerate(stacks["prefix"]):
        fault(prefix is None or 0 <= prefix < i, f"stack {i} comes before its prefix {prefix}")
    check_indexes(frames["func"], functions["length"], "frameTable.func")
    check_indexes(frames["category"], len(categories), "frameTable.category")
    for category, sub in zip(frames["category"], frames["subcategory"]):
        fault(category is None or 0 <= sub < len(categories[category]["subcategories"]), "frameTable.subcategory")
    check_indexes(functions["name"], strings, "funcTable.name")
    check_indexes(functions["resource"], resources["length"], "funcTable.resource", -1)
    check_indexes(functions["source"], shared["sources"]["length"], "funcTable.source")
    check_indexes(resources["lib"], len(profile["libs"]), "resourceTable.lib")
    check_indexes(resources["name"], strings, "resourceTable.name")
    check_indexes(shared["sources"]["filename"], strings, "sources.filename")
    fault(len(set(shared["stringArray"])) == strings, "a string comes twice")


def check_meta(meta):
    """What the front end needs to know of all."""
    fault(meta["preprocessedProfileVersion"] == VERSION, "another version")
    fault([c["color"] for c in meta["categories"]].count("grey") == 1, "not one grey category")
    for category in meta["categories"]:
        fault(category["subcategories"][0] == "Other", f"first of {category}")
    return {schema["name"]: {f["key"]: f["format"] for f in schema["fields"]} for schema in meta["markerSchema"]}


def check_markers(thread, profile, schemas):
    """Markers are of a schema, in order, and point to what is there."""
    markers, shared = thread["markers"], profile["shared"]
    check_columns(markers, MARKERS, "markers")
    check_indexes(markers["name"], len(shared["stringArray"]), "markers.name")
    check_indexes(markers["category"], len(profile["meta"]["categories"]), "markers.category")
    fault(markers["startTime"] == sorted(markers["startTime"]), "markers out of order")
    for data, start, end, phase in zip(markers["data"], markers["startTime"], markers["endTime"], markers["phase"]):
        fault(phase == 1 and end >= start or phase == 0 and end is None, "a marker ends before it begins")
        fields = schemas[data["type"]]
        for key, value in data.items():
            if key == "cause":
                check_indexes([value["stack"]], shared["stackTable"]["length"], "cause.stack")
            elif key != "type" and fields[key] == "unique-string":
                check_indexes([value], len(shared["stringArray"]), key)
            elif key == "color":
                fault(value in COLORS, value)


def to_ns(milliseconds):
    """Exact: the file has six digits behind the point."""
    nanoseconds = Decimal(milliseconds) * 1000000
    fault(nanoseconds == int(nanoseconds), f"{milliseconds} is finer than a nanosecond")
    return int(nanoseconds)


def states_of_stacks(profile):
    """By stack: the state that its category stands for; a cause of waiting is a subcategory."""
    shared, categories, states = profile["shared"], profile["meta"]["categories"], []
    for frame, prefix in zip(shared["stackTable"]["frame"], shared["stackTable"]["prefix"]):
        category = shared["frameTable"]["category"][frame]
        if category is None:
            states.append(None if prefix is None else states[prefix])
            continue
        name = categories[category]["name"]
        sub = shared["frameTable"]["subcategory"][frame]
        states.append(BESIDE.get(name) or categories[category]["subcategories"][sub])
    return states


def read_thread(thread, profile, schemas, states):
    """Checks a thread, and adds up its time by state."""
    samples, sums = thread["samples"], collections.Counter()
    check_columns(samples, SAMPLES, "samples")
    check_indexes(samples["stack"], profile["shared"]["stackTable"]["length"], "samples.stack")
    fault(samples["weightType"] == "tracing-ms", "weights are no times")
    fault(samples["time"] == sorted(samples["time"]), "samples out of order")
    fault(isinstance(thread["pid"], str), "pid is no string")
    for stack, weight in zip(samples["stack"], samples["weight"]):
        if weight:
            sums[states[stack]] += to_ns(weight)
    check_markers(thread, profile, schemas)
    times = samples["time"]
    wall = to_ns(times[-1]) - to_ns(times[0]) if times else 0
    cpu = sum(delta for delta in samples["threadCPUDelta"] if delta is not None)
    fault(sum(sums.values()) == wall, f"{thread['name']}: weights are not all of its time")
    fault(sums["cpu"] == cpu, f"{thread['name']}: CPU time beside that of its samples")
    return Thread(thread["name"], int(thread["pid"]), thread["tid"], isinstance(thread["tid"], str), +sums,
                  thread["markers"])


def read(path):
    """The profile, and its threads with their times."""
    with gzip.open(path, "rt", encoding="utf-8", errors="strict") as file:
        profile = json.load(file, parse_float=Decimal)
    schemas = check_meta(profile["meta"])
    check_shared(profile)
    states = states_of_stacks(profile)
    return profile, [read_thread(thread, profile, schemas, states) for thread in profile["threads"]]


def sums_of(path, _causes):
    """Times of all threads by name and state."""
    sums = collections.Counter()
    for thread in read(path)[1]:
        for state, ns in thread.states.items():
            sums[thread.name, state] += ns
    return sums
