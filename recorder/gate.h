/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about this process, which every other file may ask for without a system call.
 *
 * The gate itself is in recorder.h, for the hooks. A leaf: calls nothing, and changes nothing. Any
 * thread reads; each fact says who writes it. Relaxed: whoever misses a change for a moment acts as
 * it would have a moment before.
 */
#ifndef WCPROF_GATE_H
#define WCPROF_GATE_H

#include "atomics.h"
#include "recorder.h"

/* Not wiped in a forked child, as the gate is. */
struct gate_facts {
	uint32_t pid;          /* process.c, at load and in a forked child */
	uint32_t user;         /* the same, at load: effective */
	uint32_t generation;   /* the same: how many forks lie between this process and the load */
	uint32_t wants_enable; /* the same: record as soon as a hook comes by */
	uint32_t is_on;        /* switch.c: recording is on for more than marked flows */
	uint32_t
		is_confined; /* switch.c, and process.c at load: a filter may kill for a system call
				* of ours */
};

extern struct gate_facts gate_facts HIDDEN;

/* The process that this is. */
static inline uint32_t gate_pid(void)
{
	return load_relaxed(&gate_facts.pid);
}

/* Differs between a process and its forked children. */
static inline uint32_t gate_generation(void)
{
	return load_relaxed(&gate_facts.generation);
}

/* Whether the process was forked, and not started. */
static inline bool gate_is_child(void)
{
	return gate_generation() > 0;
}

/* Whether recording is on for more than marked flows. */
static inline bool gate_is_on(void)
{
	return load_relaxed(&gate_facts.is_on) != 0;
}

/* Whether anything is recorded, or will be when a hook comes by. */
static inline bool gate_records(void)
{
	return load_relaxed(&recorder_gate.mode) == GATE_ON ||
	       load_relaxed(&gate_facts.wants_enable) != 0;
}

/* Whether a system call may be this process's last one: then none is made, and nothing recorded. */
static inline bool gate_is_confined(void)
{
	return load_relaxed(&gate_facts.is_confined) != 0;
}

/* Whether the process still is its first user's. A program that has given up its rights since then
 * is not told that ours ended with them. One system call. */
bool gate_is_the_users(void) HIDDEN;

/* This thread, or the child in its place, is inside of a vfork that came by a hook. Both have the
 * same thread-local storage. */
void gate_vfork_begins(void) HIDDEN;
void gate_vfork_ends(void) HIDDEN;
bool gate_is_in_vfork(void) HIDDEN;

/* A vfork child filters its system calls from now on, or that was not so. It runs with its parent's
 * thread-local storage, so that its parent takes it back. */
void gate_confine_vfork_child(bool is_confined) HIDDEN;
/* This thread is such a child. */
bool gate_is_confined_vfork_child(void) HIDDEN;

#endif
