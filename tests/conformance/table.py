# SPDX-License-Identifier: Apache-2.0
"""The programs that must not notice: one row each. conformance.py runs them.

A command is a line of bash, run with -e, -u and pipefail in an empty directory; $PROGRAMS is the folder of longer
ones, $BUILD the build directory, $PLACE the row's own directory. `same` are replacements (pattern, text) in what
it prints, no wider than needed; `unordered`: lines come in any order. `tries` above 1 needs a reason beside it.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    about: str
    command: str
    same: tuple = ()
    unordered: bool = False
    tries: int = 1
    seconds: int = 900
    short: bool = False  # also in scripts/check
    sampled: bool = False  # also recording with samples
    attached: bool = True  # may be attached to; not where it traces, or is traced
    cpu_times: float = 2  # so many times the native CPU time, plus a second; more needs a reason beside it


def script(name, about, arguments="", **more):
    """A row whose command is the script of its name before the first dot."""
    return Row(name, about, f"$PROGRAMS/{name.split('.')[0]} {arguments}", **more)


# Each is one row: --NAME 2 --NAME-ops COUNT.
STRESSORS = {
    "aio": 40000, "clone": 200, "daemon": 500, "dup": 200, "epoll": 40000, "eventfd": 40000, "exec": 1,
    "fifo": 40000, "flock": 40000, "fork": 500, "futex": 100000, "kill": 100000, "lockf": 40000, "lockofd": 40000,
    "mq": 100000, "msg": 100000, "mutex": 100000, "nanosleep": 500, "pidfd": 500, "pipe": 100000, "poll": 10000,
    "pthread": 4000, "schedpolicy": 10000, "sem-sysv": 100000, "session": 500, "shm": 100,
    "sigfd": 40000, "sigpending": 40000, "sigq": 100000, "sigrt": 40000, "sigsuspend": 40000, "sock": 1000,
    "sockfd": 10000, "sockpair": 40000, "spawn": 100, "splice": 40000, "switch": 100000, "sync-file": 100,
    "tee": 40000, "timerfd": 10000, "udp": 40000, "vfork": 1000, "wait": 100, "zombie": 400,
}
# Bash says so of a child that a signal ended.
ENDED = ((r": line (\d+): +\d+ ", r": line \1: PID "),)
STRESS_SAME = ((r"\[\d+\]", "[PID]"), (r"in \d+\.\d+s( \(\d+ mins?, \d+\.\d+ secs\))?$", "in TIMEs"))


def stressor(name, limit):
    return Row(f"stress-ng.{name}", f"stress-ng's {name} stressor, two of it, what it did verified",
               f". $PROGRAMS/lib.sh; as_nobody stress-ng --{name} 2 {limit} --verify --stdout --temp-path .",
               same=STRESS_SAME, unordered=True)


# CPython's own suites, from libpython3.11-testsuite; programs/cpython prints what became of each test.
SUITES = {
    "asyncio": 1200, "concurrent_futures": 1200, "fcntl": 300, "io": 600, "mmap": 300,
    "multiprocessing_fork": 1200, "multiprocessing_forkserver": 1200, "multiprocessing_spawn": 1200, "os": 300,
    "posix": 300, "queue": 300, "select": 300, "selectors": 300, "signal": 300, "socket": 600, "ssl": 600,
    "subprocess": 900, "thread": 300, "threading": 600,
}


def suite(name, seconds):
    return Row(f"cpython.{name}", f"CPython's test_{name}: what became of each test",
               f"$PROGRAMS/cpython test_{name}", seconds=seconds)


# Each is one row for each of its programs, also recorded with samples.
SWITCHERS = {
    "coroutines": ("boost", "fibers", "contexts", "pth", "pcl", "cxx20", "cgo"),
    "languages": ("greenlet", "gevent", "ruby_plain", "yjit", "lua", "luajit", "php", "pypy", "mono", "sbcl", "erlang",
                  "guile", "racket"),
}
PRELOADED = ("mimalloc", "faketime", "faketime-threads", "heaptrack", "eatmydata", "socket_wrapper", "nss_wrapper",
             "uid_wrapper", "stdbuf")
MACHINE = {
    "dlmopen": "plug-ins with threads in name spaces of the loader, and another libc's fork",
    "ring": "io_uring whose submissions a thread of the kernel takes, in threads and a child",
    "crowd": "20,000 threads alive at once, on the smallest stacks",
    "pids": "ids of threads and processes that come back while we record",
}

# glibc's own tests, by what they test; programs/glibc builds them from the package with its source.
FAMILIES = ("mutexes", "conds", "rwlocks", "semaphores", "once", "cancellation", "signals", "timers", "processes")


def switcher(script_name, program):
    return script(f"{script_name}.{program}", f"stacks switched or code written by the program: {program}", program,
                  sampled=True)


def preloaded(name, place):
    return script(f"preloaded.{name}-{place}", f"{name} preloaded {'before' if place == 'first' else 'after'} us",
                  f"{name} {place}")


ROWS = (
    script("pipelines", "bash: pipelines, jobs, traps, coprocesses, here documents", same=ENDED, short=True),
    script("git", "git: commits, clone, fetch, gc, fsck", short=True),
    script("compile", "gcc under make -j: the same objects", short=True),
    script("perl", "perl: forks, pipes, alarms, sockets, threads", short=True),
    script("sqlite", "sqlite3: four writers of one database in WAL mode", short=True),
    script("openssl", "openssl s_server and s_client on loopback", short=True),
    script("redis", "redis: AOF rewrite, snapshot, replica, restart from the AOF", short=True),
    script("nginx", "nginx: reload, and binary upgrade, under requests", short=True),
    script("asan.gcc", "a program under gcc's ASan, whose runtime is preloaded first", "gcc", short=True),
    script("asan.clang", "a program with clang's ASan linked in", "clang"),
    Row("setpriv", "setpriv gives up root's users, groups and capabilities, in three ways",
        "setpriv --reuid=nobody --regid=nogroup --clear-groups --reset-env id; "
        "setpriv --bounding-set -all --inh-caps -all --no-new-privs grep Cap /proc/self/status; "
        "unshare --user --map-root-user id -u", short=True),
    script("self", "make -j of this library: the same library", unordered=True),
    script("ssh", "ssh, scp, sftp and a forwarded port, to an sshd on loopback"),
    script("postgres", "postgres: initdb, pgbench, kill -9, recovery"),
    script("node", "node: threads, thread pool, children, HTTP", same=ENDED),
    script("java", "javac and java: threads, locks, children, sockets"),
    script("valgrind", "threads, forks and a planted fault under valgrind", attached=False),
    script("gdb", "gdb attaches: breakpoint, stack, detach, and the program goes on", attached=False),
    script("allocator.jemalloc-first", "threads, forks and allocation under jemalloc, preloaded before us",
           "libjemalloc.so.2 first"),
    script("allocator.jemalloc-last", "the same, preloaded after us", "libjemalloc.so.2 last"),
    script("allocator.tcmalloc-first", "the same under tcmalloc, preloaded before us", "libtcmalloc.so.4 first"),
    script("allocator.tcmalloc-last", "the same, preloaded after us", "libtcmalloc.so.4 last"),
    *(switcher(name, program) for name, programs in SWITCHERS.items() for program in programs),
    *(preloaded(name, place) for name in PRELOADED for place in ("first", "last")),
    *(script(f"machine.{name}", about, name, sampled=name == "crowd") for name, about in MACHINE.items()),
    *(script(f"glibc.{name}", f"glibc's own tests of {name}: what became of each", name,
             sampled=name in ("cancellation", "signals", "timers", "processes"),
             # Some do nothing but lock and unlock, or signal; building is part of the first run's time only.
             cpu_times=6 if name in ("mutexes", "conds") else 2) for name in FAMILIES),
    script("linked", "one program, linked and hardened in 17 ways"),
    Row("fakeroot", "files of other users under fakeroot, which preloads its own library",
        "fakeroot sh -c 'touch file; chown 12:34 file; stat -c %u:%g file; id -u; exit 3' || echo $?"),
    # Each call stops the process twice, recorded ones more often.
    Row("strace", "threads, forks and allocation with strace -f attached from the start",
        "strace -f -o /dev/null $BUILD/tests/targets/churn 20 0", cpu_times=10,
        attached=False),
    Row("sudo", "sudo and su: the loader drops preloads, and what they start is as without us",
        "sudo -n id -u; sudo -n -u nobody id -u; env -u WCPROF_DIR "
        "su nobody -s /bin/sh -c 'id -u; exit 3' || echo $?"),
    *(stressor(name, f"--{name}-ops {count} --timeout 800") for name, count in STRESSORS.items()),
    # Their operations do not end them.
    stressor("sem", "--timeout 4"),
    stressor("yield", "--timeout 4"),
    *(suite(name, seconds) for name, seconds in SUITES.items()),
)
