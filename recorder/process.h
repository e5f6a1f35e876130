/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of the recorder in a process, as the control thread sees it; recorder.h has the hooks'
 * view.
 *
 * process_enable(), _disable() and _reset(): the control thread, or whoever brings the recorder up
 * while there is none.
 */
#ifndef WCPROF_PROCESS_H
#define WCPROF_PROCESS_H

#include "recorder.h"

/* Turns recording on. 0 or -ENOMEM. */
int process_enable(void) HIDDEN;
void process_disable(void) HIDDEN;
/* Whether it is on for more than marked flows. */
bool process_is_on(void) HIDDEN;
/* Whether anything is recorded, or will be when a hook comes by. */
bool process_records(void) HIDDEN;
/*
 * A thread, or an op, is to be recorded even while recording is off, and is so no more: the gate is
 * on as long as one is. False: no memory, or not allowed. Any thread; not in a signal handler that
 * interrupted one of these.
 */
bool process_flow_begins(void) HIDDEN;
void process_flow_ends(void) HIDDEN;
/* Whether new ones are recorded while recording is off. */
void process_allow_flows(bool allow) HIDDEN;
bool process_allows_flows(void) HIDDEN;

/* Whether a system call may be this process's last one: then none is made, and nothing recorded. */
bool process_is_confined(void) HIDDEN;

/* Forgets what is recorded. 0, or -EBUSY while a dump is being written. */
int process_reset(void) HIDDEN;

/* The control thread: where it can be reached, of SOCKET_PATH_BYTES. */
void process_listens_at(const char *path) HIDDEN;

/* The process that this is, without asking the kernel. */
uint32_t process_pid(void) HIDDEN;
/* Whether it still is the process of who started it. A program that has given up its rights since
 * then is not told that ours ended with them. */
bool process_is_the_users(void) HIDDEN;

#endif
