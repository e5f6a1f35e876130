# SPDX-License-Identifier: Apache-2.0
"""Programs that wcprof top watches, and what a terminal shows of it."""
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios

from programs import BUILD, LIBRARY, READER, WAIT_SECONDS, WCPROF, ProgramTest


class Terminal:
    """What a terminal shows of a program: it knows no more sequences than a screen is made of."""

    def __init__(self, columns, rows, arguments, environment, directory):
        self.ours, self.theirs = pty.openpty()
        self.cells, self.raw, self.screens, self.pending = [], b"", 0, b""
        self.resize(columns, rows)
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen(arguments, stdin=self.theirs, stdout=self.theirs, env=environment,
                                        cwd=directory, start_new_session=True)

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0

    def put(self, text):
        for match in re.finditer(r"\x1b\[([?0-9;]*)([A-Za-z])|\r\n|[^\x1b\r\n]", text):
            if match.group(2) == "H":
                self.row = self.column = 0
                self.screens += 1
            elif match.group(2) == "K":
                self.cells[self.row][self.column:] = [" "] * (self.columns - self.column)
            elif match.group() == "\r\n":
                self.row, self.column = self.row + 1, 0
            elif not match.group(2):
                self.cells[self.row][self.column] = match.group()
                self.column += 1

    def until(self, holds):
        """Reads until the lines of a whole screen are as wanted."""
        while True:
            lines = ["".join(row).rstrip() for row in self.cells]
            if self.screens > 1 and holds(lines):
                return lines
            ready, _, _ = select.select([self.ours], [], [], WAIT_SECONDS)
            assert ready, lines
            more = os.read(self.ours, 65536)
            self.raw += more
            # a screen is written at once, but may be read in parts
            parts = (self.pending + more).split(b"\x1b[H")
            self.pending = parts[-1] if len(parts) == 1 else b"\x1b[H" + parts[-1]
            for part in parts[:-1]:
                self.put("\x1b[H" + part.decode("utf-8", "replace"))

    def press(self, keys):
        os.write(self.ours, keys.encode())

    def is_cooked(self):
        return bool(termios.tcgetattr(self.theirs)[3] & termios.ICANON)

    def close(self):
        os.close(self.ours)
        os.close(self.theirs)


class TopTest(ProgramTest):
    """One program, and commands that watch it."""

    def begin(self, program=None, **variables):
        self.program = self.start(*(program or READER), **variables)
        self.pid = self.program.pid

    def read(self, count):
        self.program.stdin.write(f"{count}\n")
        self.expect(self.program, "done")

    def status(self):
        return json.loads(self.wcprof("status", "--json", self.pid).stdout)

    def status_name(self):
        return self.wcprof("status", self.pid).stdout.split()[1].rstrip(":")

    def terminal(self, columns, rows, *options, **environment):
        terminal = Terminal(columns, rows, [WCPROF, "top", "-e", "0.1", *options, str(self.pid)],
                            {**self.environment, "TERM": "xterm", **environment}, self.here)
        self.addCleanup(terminal.close)
        self.addCleanup(terminal.process.wait)
        self.addCleanup(terminal.process.kill)
        return terminal

    def objects(self, *options, settings=()):
        # pylint: disable-next=consider-using-with
        top = subprocess.Popen([WCPROF, "top", "--json", "-e", "0.1", *options, str(self.pid), *settings],
                               stdout=subprocess.PIPE, env=self.environment, text=True)
        self.addCleanup(top.stdout.close)
        self.addCleanup(top.wait)
        self.addCleanup(top.kill)
        return top

    def begin_server(self):
        """One request in fifty is slow, as its tree is deep: from 980 levels on."""
        target = os.path.join(BUILD, "tests/targets/rare")
        environment = dict(self.environment, LD_PRELOAD=LIBRARY)
        for arguments in (["0"], ["load"]):
            if arguments == ["load"]:
                arguments.append(port)
            # pylint: disable-next=consider-using-with
            process = subprocess.Popen([target, *arguments], env=environment, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)
            self.addCleanup(self.end, process)
            if arguments == ["0"]:
                self.port = port = process.stdout.readline().split()[-1]
                self.pid = process.pid
                self.until(lambda: self.listens(self.pid))
                environment = self.environment
