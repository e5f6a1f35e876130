# SPDX-License-Identifier: Apache-2.0
"""What the tests of the wcprof command share: programs with the library loaded, and the command itself."""
import errno
import glob
import json
import os
import select
import shutil
import signal
import socket as sockets
import subprocess
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.join(ROOT, os.environ.get("B", "build"))
WCPROF = os.path.join(BUILD, "wcprof")
LIBRARY = os.path.join(BUILD, "libwcprof.so")
# Only ends what hangs.
WAIT_SECONDS = 600

# Reads as often as a line on standard input says, and answers "done"; the end of its input is its end.
READER = ["python3", "-S", "-E", "-c", """
import os, sys
fd = os.open("/dev/zero", os.O_RDONLY)
print("ready", flush=True)
for line in sys.stdin:
    for _ in range(int(line)):
        os.read(fd, 1)
    print("done", flush=True)
"""]


def parse(dump):
    """A file of dumps as [(header, [events])]; every line must be whole, and as many as the header says."""
    dumps = []
    for line in dump.splitlines(keepends=True):
        assert line.endswith(b"\n"), f"not ended: {line[:80]}"
        value = json.loads(line)
        if "schema_version" in value:
            dumps.append((value, []))
        else:
            dumps[-1][1].append(value)
    for header, events in dumps:
        assert header["event_count"] == len(events), (header["event_count"], len(events))
    return dumps


def reads(dumps, pid=None):
    """How many calls of read() there are, of this process or of all."""
    count = 0
    for header, events in dumps:
        if pid in (None, header["process"]["pid"]):
            names = header["strings"]
            count += sum(1 for e in events if e.get("k") == "io" and names[e["c"]] == "read" and e.get("n") == 1)
    return count


def needs_short_words(program):
    """Skips a test if this kernel runs no programs of 32 bits, as this one is."""
    try:
        subprocess.run([program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        raise unittest.SkipTest("NOT TESTED: this kernel runs no programs of 32 bits") from error


class ProgramTest(unittest.TestCase):
    """A directory, an environment, and programs that end with the test."""

    def setUp(self):
        self.here = tempfile.mkdtemp(prefix="wcprof-test.")
        self.addCleanup(shutil.rmtree, self.here, ignore_errors=True)
        self.run_directory = os.path.join(self.here, "run")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("WCPROF_")}
        self.environment["WCPROF_DIR"] = self.run_directory

    def path(self, name):
        return os.path.join(self.here, name)

    def wcprof(self, *arguments, status=0, program=WCPROF, text=True, **more):
        """Runs the command; its result, whose status must be that; None: any."""
        result = subprocess.run([program, *map(str, arguments)], env=self.environment, capture_output=True,
                                text=text, timeout=WAIT_SECONDS, check=False, **more)
        if status is not None:
            self.assertEqual(result.returncode, status, f"{arguments}\n{result.stdout}\n{result.stderr}")
        return result

    def start(self, *command, socket=True, **variables):
        """A program with the library loaded; waits until its socket is there."""
        environment = dict(self.environment, LD_PRELOAD=LIBRARY, **variables)
        process = subprocess.Popen(command or READER, env=environment, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, bufsize=1)
        self.addCleanup(self.end, process)
        self.expect(process, "ready")
        self.until(lambda: not socket or self.listens(process.pid))
        return process

    def listens(self, pid):
        """Its socket has a name some time before it listens there."""
        with sockets.socket(sockets.AF_UNIX) as probe:
            return probe.connect_ex(os.path.join(self.run_directory, f"{pid}.sock")) == 0

    def end(self, process):
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
        self.remove_arenas(process.pid)

    def remove_arenas(self, pid):
        for arena in self.arenas(pid):
            os.unlink(arena)

    @staticmethod
    def arenas(pid):
        return sorted(glob.glob(f"/dev/shm/wcprof-{os.geteuid()}-{pid}-*"))

    def expect(self, process, word):
        """The next line of its output. A byte at a time: what a buffer holds, select() does not see."""
        line = b""
        while not line.endswith(b"\n"):
            found, _, _ = select.select([process.stdout], [], [], WAIT_SECONDS)
            self.assertTrue(found, f"no {word} in time")
            byte = os.read(process.stdout.fileno(), 1)
            self.assertTrue(byte, f"no {word} before its end: {line}")
            line += byte
        self.assertEqual(line.decode().strip(), word)

    def read(self, process, count):
        process.stdin.write(f"{count}\n")
        self.expect(process, "done")

    def until(self, condition):
        """Looks until it is so; ten minutes are a failure, not a measure."""
        waiter = select.poll()
        for _ in range(WAIT_SECONDS * 200):
            if condition():
                return
            waiter.poll(5)
        self.fail("it did not come to be")

    def load(self, name):
        with open(self.path(name), "rb") as file:
            return parse(file.read())

    def kill(self, process):
        process.send_signal(signal.SIGKILL)
        process.wait()
