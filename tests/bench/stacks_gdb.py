# SPDX-License-Identifier: Apache-2.0
"""Runs inside gdb, attached to a program that records: compares stacks of the recorder with those that gdb finds.

It stops the program where the recorder is about to capture the stack of a call, unwinds it as gdb does, with all
debug information that there is, then lets the capture finish and reads the stack that its number stands for. For
samples it stops where their signal comes, which gdb has no name for and cannot deliver: it has the recorder capture
there what the handler would. From the environment: CAPTURES of calls and of SAMPLES to compare, and OUT, a file for
what was found: a JSON object by kind of capture, with counts and some of the stacks that differ. An interrupt
ends it early, without harm.
"""
import json
import os

import gdb

DEPTH = 32  # frames that a stack has at most, unless WCPROF_STACK_DEPTH says otherwise
SHOWN = 3   # stacks that differ, of each kind
GENERAL = ("r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rdi", "rsi", "rbp", "rbx", "rdx", "rax", "rcx",
           "rsp", "rip")  # as the kernel saves them
SAVED_AT = 40  # in a ucontext_t


def quietly(command):
    gdb.execute(command, to_string=True)


def register(name):
    return int(gdb.newest_frame().read_register(name)) & (1 << 64) - 1


def word(address):
    return int.from_bytes(gdb.selected_inferior().read_memory(address, 8).tobytes(), "little")


def frames(first=None):
    """Addresses of the frames, innermost first, from `first` on; code that was inlined has no frame of its own."""
    found = []
    try:
        frame = gdb.newest_frame()
        while frame is not None and len(found) < DEPTH:
            if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
                if found or first is None or frame.pc() == first:
                    found.append(frame.pc())
            frame = frame.older()
    except gdb.error:
        pass  # gdb's own end
    return found


def finish_call():
    """What called a hook, as gdb sees it (the recorder passes its return address); the number of the stack."""
    theirs = frames(register("rsi"))
    quietly("set scheduler-locking on")
    quietly("finish")
    quietly("set scheduler-locking off")
    return theirs, register("rax") & 0xffffffff


def capture_here():
    """The same for what a signal interrupted here; None where the handler would do nothing."""
    if int(gdb.parse_and_eval("self_of_thread.busy")):
        return None
    theirs = frames()
    theirs[0] += 1  # like a return address
    context = int(gdb.parse_and_eval("(unsigned long)spare.bytes"))  # a handler's stack: all stand still
    saved = b"".join(register(name).to_bytes(8, "little") for name in GENERAL)
    gdb.selected_inferior().write_memory(context + SAVED_AT, saved)
    quietly("set scheduler-locking on")
    try:
        number = int(gdb.parse_and_eval(f"(unsigned)stack_capture_interrupted(0, (void *){context})"))
    except gdb.error:
        return None  # by the next signal
    finally:
        quietly("set scheduler-locking off")
    return theirs, number


def interned(number):
    """The stack that has a number."""
    entry = f"((struct stack_entry *)((char *)recorder_arena + ARENA_STACKS))[{number}]"
    base = int(gdb.parse_and_eval("(unsigned long)recorder_arena + ARENA_STACK_POOL"))
    offset = int(gdb.parse_and_eval(f"{entry}.offset"))
    return [word(base + 8 * (offset + i)) for i in range(int(gdb.parse_and_eval(f"{entry}.count")))]


def verdict(ours, theirs):
    if ours == theirs:
        return "same"
    if ours[:len(theirs)] == theirs:
        return "longer"
    return "truncated" if theirs[:len(ours)] == ours else "wrong"


def text(addresses):
    return [gdb.execute(f"info symbol {a}", to_string=True).split(" in section")[0].strip() for a in addresses]


def stops(is_wanted, count):
    """Lets the program run until it has stopped that often in a wanted way, or is gone, or gdb is interrupted."""
    while count:
        quietly("continue")
        if not gdb.selected_inferior().pid or signals[-1] == "SIGINT":
            return
        if is_wanted():
            count -= 1
            yield


def compare(is_wanted, find, count):
    """Compares that many captures of one kind."""
    result = dict.fromkeys(("same", "longer", "truncated", "wrong", "none"), 0)
    result["differ"] = []
    for _ in stops(is_wanted, count):
        both = find()
        if not both:
            continue
        theirs, number = both
        ours = interned(number) if number else []
        kind = verdict(ours, theirs) if ours else "none"
        result[kind] += 1
        if kind in ("truncated", "wrong", "none") and len(result["differ"]) < SHOWN:
            result["differ"].append([kind, text(ours), text(theirs)])
    return result


signals = [""]
gdb.events.stop.connect(lambda event: signals.append(getattr(event, "stop_signal", "")))
for setting in ("pagination off", "confirm off", "backtrace past-main on", "unwindonsignal on"):
    quietly("set " + setting)
quietly("handle all nostop noprint pass")
quietly("handle SIGINT SIGTRAP stop print nopass")
found = {}
if int(os.environ["CAPTURES"]):
    stop = gdb.Breakpoint("*stack_capture")
    begin = int(gdb.parse_and_eval("(unsigned long)&stack_capture"))
    found["calls"] = compare(lambda: register("rip") == begin, finish_call, int(os.environ["CAPTURES"]))
    stop.delete()
if int(os.environ["SAMPLES"]):
    found["samples"] = compare(lambda: signals[-1] == "?", capture_here, int(os.environ["SAMPLES"]))
with open(os.environ["OUT"], "w", encoding="utf-8") as out:
    json.dump(found, out)
if gdb.selected_inferior().pid:
    quietly("detach")
