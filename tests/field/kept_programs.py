# SPDX-License-Identifier: Apache-2.0
"""Programs of which one small recording each is checked in, with what was made: recordings/, kept.json.

Those of tests/truth and of tests/targets/shapes sleep, so that what is made is known to a point on any machine.
"""

import os

import looked_at
from settings import FLUSH, SLEEPS, Program, Setting, crossing
from table import scaled, table_read

TRUTH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "truth", "truth.def")
HALF = (("flip", "A"), ("satlock-asleep", "A"), ("twolock", "C"), ("rwlock", "A"), ("timedlock", "A"), ("jobpool", "A"),
        ("bq-asleep", "B"), ("latch", "A"), ("pingpong", "B"), ("barrier", "A"), ("forkjoin", "A"), ("echotcp", "B"),
        ("sharedlock", "A"), ("drain", "A"), ("permits", "A"), ("initonce", "C"), ("ticker-asleep", "A"),
        ("closed-asleep", "B"), ("backpressure", "B"), ("epoll", "A"), ("jobserver", "A"), ("signalled", "B"),
        ("pair", "A"), ("many", "A"), ("sharedset", "A"), ("ticking", "A"), ("mux", "A"),
        ("handed", "C"), ("offloaded", "C"), ("latermany", "C"), ("trylock", "A"), ("library", "C"),
        ("team-static", "A"), ("team-phases", "B"))
GONE = (("meet-generation", "A"), ("meet-signals", "A"), ("meet-futex", "A"), ("meet-turnstile", "A"), ("commit", "A"),
        ("commit-writer", "A"), ("commit-queue", "A"))
TIMED = {  # likewise, of tests/targets/timed, and what is A in them
    "schedule": (30, 4000, 1000, "sleep work_a"),
    "jobs": (20, 4000, 1000, "sleep work_a"),
    "housekeeping": (30, 4000, 1000, "sleep work_a"),
}
SHAPES = {  # name: (rounds, microseconds of A and of B)
    "event_loop": (60, 4000, 4000), "group_commit": (40, 4000, 3000), "join_rounds": (60, 4000, 2000),
    "made_barrier": (90, 4000, 2000), "signals": (60, 4000, 2000), "looking": (80, 4000, 1000),
    "datagrams": (60, 4000, 1000), "until_moments": (80, 4000, 1000),
}


def of_truth(patterns, name, constant, factor="0.5"):
    """One of the constants of a pattern, halved or taken away."""
    pattern = patterns[name]
    words = dict(pattern.constants)
    selectors = next(change.selectors for change in pattern.changes if change.constant == constant)
    return Program(f"truth {name}", "kept", {"sh": "dash"}, f"@build@/tests/truth/{pattern.command}", words=words,
                   sample_hz=0,
                   environment={"T_STEPS_PER_US": "1", **{f"T_{word}": f"@{word}@" for word in words}},
                   settings=(
                       Setting(f"{constant} x {factor}", "sleep", {constant: scaled(words[constant], float(factor))},
                               asked=(selectors[0] + r"(/\w+)?",), factor=factor),))


def of_shapes(name):
    rounds, a_us, b_us = SHAPES[name]
    return Program(f"shapes {name}", "kept", {"sh": "dash"}, f"@build@/tests/targets/shapes {name} {rounds} @a@ {b_us}",
                   words={"a": a_us}, sample_hz=0, settings=(
                       Setting("A x 0.5", "sleep", {"a": a_us // 2}, asked=(r"sleep (work_a|until_moments)(/\w+)?",),
                               factor="0.5"),))


def of_timed(name):
    rounds, a_us, b_us, a_class = TIMED[name]
    return Program(f"timed {name}", "kept", {"sh": "dash"}, f"@build@/tests/targets/timed {name} {rounds} @a@ {b_us}",
                   words={"a": a_us}, sample_hz=0, settings=(
                       Setting("A x 0.5", "sleep", {"a": a_us // 2}, asked=(a_class + r"(/\w+)?",), factor="0.5"),))


def small(name, words, setting):
    """A program of the field, so short that its recording is small."""
    program = next(one for one in looked_at.PROGRAMS if one.name == name)
    return Program(**{**vars(program), "name": f"small {name}", "group": "kept", "words": {**program.words, **words},
                      "settings": (setting,)})


PATTERNS = table_read(TRUTH)[1]
PROGRAMS = (
    *(of_truth(PATTERNS, *one) for one in HALF),
    *(of_truth(PATTERNS, *one, "0") for one in GONE),
    *(of_shapes(name) for name in SHAPES),
    *(of_timed(name) for name in TIMED),
    small("sqlite3 4 writers", {"rows": 12}, Setting("synchronous full, then off", "flush", {"sync": "off"},
                                                     asked=FLUSH)),
    small("fio processes", {"ios": 40}, Setting("fsync=1, then 0", "flush", {"fsync": 0}, asked=FLUSH)),
    small("python sleep loop", {"times": 100}, Setting("sleep x 0.5", "sleep", {"ms": 2}, asked=SLEEPS, factor="0.5")),
    small("udp echo", {"requests": 60}, Setting("the server sleeps half as long", "sleep", {"ms": 2}, asked=SLEEPS,
                                                factor="0.5")),
    small("dash wait", {"turns": 6}, Setting("sleep x 0.5", "sleep", {"ms": 20}, asked=SLEEPS, factor="0.5")),
    small("bash wait", {"turns": 6}, Setting("sleep x 0.5", "sleep", {"ms": 20}, asked=SLEEPS, factor="0.5")),
    small("redis", {"requests": 500}, Setting("appendfsync always, then no", "flush", {"fsync": "no"}, asked=FLUSH)),
    small("pbzip2", {}, crossing()[0]),
)
