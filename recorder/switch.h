/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording on and off: for the whole process, or for the flows that the program marks (wcprof.h).
 *
 * The gate is open while either wants it. The first opening makes the arena. Any thread may call,
 * and waits for the other that does; but not in a signal handler that interrupted one of these.
 */
#ifndef WCPROF_SWITCH_H
#define WCPROF_SWITCH_H

#include "clock.h"
#include "recorder.h"

/* At load, once, before any other: from then on a flow may begin. */
void switch_start(const struct recorder_host *) HIDDEN;
const struct recorder_host *switch_host(void) HIDDEN;
/* In a forked child, which came to be at that moment: all is off, and there is no arena. */
void switch_fork_child(const struct clock_pair *forked) HIDDEN;

/* Makes what recording needs, so that turning it on takes microseconds; for a process that has been
 * running. Its recording begins with that moment. Else it begins with the process, or the fork. */
void switch_prepare(void) HIDDEN;
/* Turns recording on. 0 or -ENOMEM. */
int switch_enable(void) HIDDEN;
void switch_disable(void) HIDDEN;

/* Other threads are to be recorded: while recording is on, one window ends and the next one begins.
 * So a window has the same threads from its begin to its end. */
void switch_next_window(void) HIDDEN;

/* A thread, or an op, is to be recorded even while recording is off: the gate stays open for it.
 * False: no memory, or not allowed. */
bool switch_flow_begins(void) HIDDEN;
void switch_flow_ends(void) HIDDEN;
/* Whether new ones are recorded while recording is off. */
void switch_allow_flows(bool allow) HIDDEN;

/* From now on a system call may be this process's last one, or that was not so: the gate is shut
 * until then. */
void switch_confine(bool is_confined) HIDDEN;

/* The control thread: where it can be reached, of SOCKET_PATH_BYTES. */
void switch_listens_at(const char *path) HIDDEN;

#endif
