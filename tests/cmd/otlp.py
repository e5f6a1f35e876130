# SPDX-License-Identifier: Apache-2.0
"""Reads profiles of OpenTelemetry's protocol, as of opentelemetry-proto 1.10, with no code of ours."""
from pprof import fields, message, numbers, signed


def many(data, number):
    return [value for field, value in fields(data) if field == number]


def any_value(data):
    (number, value), = fields(data)
    return value.decode("utf-8") if number == 1 else signed(value)


class Dictionary:
    def __init__(self, data):
        self.strings = [text.decode("utf-8") for text in many(data, 5)]
        if self.strings[0] != "":
            raise ValueError("the first string is not empty")
        self.tables = {name: many(data, number) for name, number in
                       (("mappings", 1), ("locations", 2), ("functions", 3), ("links", 4), ("attributes", 6),
                        ("stacks", 7))}
        for name, table in self.tables.items():
            if not table or table[0] != b"":
                raise ValueError(f"the first of the {name} is not nothing")
        self.attributes = [("", None)] + [self.attribute(data) for data in self.tables["attributes"][1:]]
        self.stacks = [self.stack(data) for data in self.tables["stacks"]]

    def attribute(self, data):
        found = message(data)
        return self.strings[found[1]], any_value(found[2])

    def function(self, index):
        if not index:
            raise ValueError("a line without a function")
        return self.strings[message(self.tables["functions"][index])[1]]

    def stack(self, data):
        """Functions, from the innermost outwards."""
        frames = []
        for index in [index for packed in many(data, 1) for index in numbers(packed)]:
            if not index:
                raise ValueError("a stack with a location that is nothing")
            location = self.tables["locations"][index]
            if 1 in message(location):
                self.tables["mappings"][message(location)[1]]  # pylint: disable=pointless-statement
            frames += [self.function(message(line)[1]) for line in many(location, 3)]
        return frames


class Profile:
    """type: (type, unit); samples: [(functions, value, attributes)]."""

    def __init__(self, data, dictionary):
        found = message(data)
        kind = message(found[1])
        self.type = dictionary.strings[kind[1]], dictionary.strings[kind[2]]
        self.time_ns, self.duration_ns = found[3], found[4]
        self.samples = [self.sample(sample, dictionary) for sample in many(data, 2)]

    @staticmethod
    def sample(data, dictionary):
        found = message(data)
        value, = numbers(found[4])
        attributes = [dictionary.attributes[index] for index in numbers(found.get(2, b""))]
        if len(dict(attributes)) != len(attributes):
            raise ValueError("two values of an attribute")
        return dictionary.stacks[found.get(1, 0)], signed(value), dict(attributes)


class Request:
    """resource: attributes; scope: (name, version); profiles by (type, unit)."""

    def __init__(self, data):
        dictionary = Dictionary(many(data, 2)[0])
        resource_profiles, = many(data, 1)
        self.resource = {}
        for attribute in many(many(resource_profiles, 1)[0], 1):
            found = message(attribute)
            self.resource[found[1].decode("utf-8")] = any_value(found[2])
        scope_profiles, = many(resource_profiles, 2)
        scope = message(many(scope_profiles, 1)[0])
        self.scope = scope[1].decode("utf-8"), scope[2].decode("utf-8")
        self.profiles = [Profile(profile, dictionary) for profile in many(scope_profiles, 2)]

    def of_type(self, name):
        return [profile for profile in self.profiles if profile.type[0] == name]


def read(path):
    with open(path, "rb") as file:
        return Request(file.read())
