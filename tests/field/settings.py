# SPDX-License-Identifier: Apache-2.0
"""What a program of the field is: how it is installed, started and loaded, and which of its settings are changed.

A command has words like a shell's, and @name@ for what differs: @dir@ a run's own empty directory, in which it is
started, @data@ what `once` has made, @port@ to @port3@ free ports, @build@ the build, @here@ this folder, and the
names of `words`. What needs a shell says so. Without `servers` the command `run` is the program itself, which is
timed and recorded from its start to its end; with them it is their load.

A program is of the set "train" if its errors were looked at while the replay was made, or may be; those of the set
"held" are recorded once for a release, and are scored once.
"""

import dataclasses

FLUSH = (r"io .*(fdatasync|fsync|sync_file_range|msync)(/.*)?",)
SLEEPS = (r"sleep .*",)
PAGE = "hello\n" * 20
AB = "ab -q -k -n @requests@ -c 8 http://127.0.0.1:@port@/index.html"
DATA = "openssl enc -aes-128-ctr -nosalt -pbkdf2 -pass pass:x </dev/zero 2>/dev/null | head -c"
SOURCE = ("sh -c 'seq 60 | sed \"s/.*/int f&(int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i] * &;"
          " return s; }/\" >a.c'")
TEXT = (f"sh -c '{DATA} 9000000 | base64 >text'",)     # the same everywhere


@dataclasses.dataclass(frozen=True)
class Variant:
    """What may differ between two runs of a program."""
    words: dict
    cpus: int = 0       # 0: all that there are


@dataclasses.dataclass(frozen=True)
class Setting:
    """A change that is really made, and the question that it is."""
    name: str
    kind: str           # which class of question: KINDS
    changed: dict = dataclasses.field(default_factory=dict)    # words that have another value
    base: dict = dataclasses.field(default_factory=dict)       # words of both that differ from the program's own
    asked: tuple = ()   # "kind class" of all that the change concerns, regular expressions
    factor: str = "0"   # by which the change makes them longer
    question: str = ""  # or what is asked; {} is the name of the class that `asked` finds
    cpus: tuple = (0, 0)


KINDS = {
    "flush": "waits for the disk are taken away",
    "sleep": "a sleep becomes shorter",
    "cpus": "another number of CPUs",
    "threads": "another number of threads or processes",
    "log": "a log or a trace is no longer written",
}


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    group: str          # "train" or "held"
    needs: dict         # {program in PATH, or file: Debian's package}
    run: str
    settings: tuple
    words: dict = dataclasses.field(default_factory=dict)
    size: str = ""      # the word that says how long a run is: --quick takes a tenth of it
    once: tuple = ()    # commands in @data@, for all runs together
    before: tuple = ()  # commands before each run, which are not timed
    files: dict = dataclasses.field(default_factory=dict)
    servers: tuple = ()
    listens: tuple = ("port",)
    ready: str = ""     # a command that succeeds when the servers are ready
    fill: tuple = ()    # commands that are not recorded, when the servers run
    stop: str = "SIGTERM"
    user: str = ""
    sample_hz: int = 99  # without samples a report says that spinning is not known
    environment: dict = dataclasses.field(default_factory=dict)
    tried: bool = False  # wcprof try: its ten best classes are made slower for real

    @property
    def ends(self):
        """What is given to the analyzer: all, or of a server what it recorded itself."""
        return ("both", "server") if self.servers else ("all",)


def more_cpus(**more):
    return Setting("1 CPU, then 2", "cpus", question="cpus 2", cpus=(1, 2), **more)


def fewer_cpus(**more):
    return Setting("2 CPUs, then 1", "cpus", question="cpus 1", cpus=(2, 1), **more)


def crossing(**more):
    return more_cpus(**more), fewer_cpus(**more)


def twice_threads(word, few, thread):
    """A pool of so many threads gets twice as many."""
    return Setting(f"{few} threads, then {2 * few}", "threads", {word: 2 * few}, {word: few}, asked=(thread,),
                   question="threads:{}*2")


def compressor(name, group, needs, command, settings=crossing(), level="", tried=False):
    """Packs the same text; @threads@ is how many of them do."""
    return Program(name, group, needs, command, settings, words={"threads": 4, "level": level}, once=TEXT, tried=tried)


def shell(name, group, needs, script, settings, **more):
    """A script of the shell that `needs` has first; it has no single quotes."""
    return Program(name, group, needs, f"{next(iter(needs))} -c '{script}'", settings, **more)
