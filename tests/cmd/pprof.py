# SPDX-License-Identifier: Apache-2.0
"""Reads profiles of pprof (profile.proto) with no code of ours, and refuses what pprof refuses."""

import gzip

VARINT, FIXED64, LENGTH = 0, 1, 2


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """(number, value) of a message's fields; a value is a number, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == VARINT:
            value, at = varint(data, at)
        elif key & 7 == FIXED64:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        elif key & 7 == LENGTH:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            if len(value) != length:
                raise ValueError("a field ends behind its message")
        else:
            raise ValueError(f"a field of type {key & 7}")
        yield key >> 3, value


def numbers(packed):
    at, found = 0, []
    while at < len(packed):
        value, at = varint(packed, at)
        found.append(value)
    return found


def message(data):
    """The last value of each field."""
    return dict(fields(data))


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


class Profile:
    """types: [(type, unit)]; samples: [(frames, values, labels)], frames from the innermost outwards, each the
    [(function, file, line)] of one location."""

    def __init__(self, data):
        self.top = {}
        for number, value in fields(data):
            self.top.setdefault(number, []).append(value)
        self.strings = [text.decode("utf-8") for text in self.many(6)]
        if not self.strings or self.strings[0] != "":
            raise ValueError("the first string is not empty")
        self.types = [self.value_type(value) for value in self.many(1)]
        self.mappings = self.by_id([message(data) for data in self.many(3)])
        self.functions = self.by_id([message(data) for data in self.many(5)])
        self.locations = self.by_id([self.location(data) for data in self.many(4)])
        self.samples = [self.sample(data) for data in self.many(2)]
        self.time_ns, self.duration_ns = self.one(9), self.one(10)
        self.comments = [self.strings[index] for index in self.many(13)]
        self.default_type = self.strings[self.one(14)]
        if self.default_type not in [name for name, _ in self.types]:
            raise ValueError(f"the default type is {self.default_type!r}")

    def many(self, number):
        return self.top.get(number, [])

    def one(self, number):
        return signed(self.top.get(number, [0])[-1])

    def value_type(self, data):
        found = message(data)
        return self.strings[found.get(1, 0)], self.strings[found.get(2, 0)]

    @staticmethod
    def by_id(items):
        if [item.get(1, 0) for item in items] != list(range(1, len(items) + 1)):
            raise ValueError("ids are not 1, 2, 3 ...")
        return {item[1]: item for item in items}

    def location(self, data):
        found = message(data)
        found["lines"] = []
        for number, value in fields(data):
            if number == 4:
                line = message(value)
                function = self.functions[line[1]]
                found["lines"].append((self.strings[function.get(2, 0)], self.strings[function.get(4, 0)],
                                       line.get(2, 0)))
        mapping = self.mappings[found[2]] if 2 in found else None
        if mapping and not mapping[2] <= found[3] < mapping[3]:
            raise ValueError("an address outside its mapping")
        return found

    def sample(self, data):
        frames, values, labels = [], [], {}
        for number, value in fields(data):
            if number == 1:
                frames += [self.locations[index]["lines"] for index in numbers(value)]
            elif number == 2:
                values += [signed(number) for number in numbers(value)]
            elif number == 3:
                label = message(value)
                key = self.strings[label[1]]
                if key in labels:
                    raise ValueError(f"two values of {key!r}")
                labels[key] = self.strings[label[2]] if label.get(2) else signed(label.get(3, 0))
        if len(values) != len(self.types):
            raise ValueError(f"{len(values)} values for {len(self.types)} types")
        return frames, values, labels

    def total(self, name):
        index = [of for of, _ in self.types].index(name)
        return sum(values[index] for _, values, _ in self.samples)


def read(path):
    with gzip.open(path, "rb") as file:
        return Profile(file.read())
