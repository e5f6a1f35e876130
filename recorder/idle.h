/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the CPUs of a process were idle: what they did besides is known then, and what of that
 * was not this process.
 *
 * The control thread notes it now and then, and whoever ends the process or writes its dump once
 * more. A reader from outside may read at any time: it takes only entries that are in order.
 */
#ifndef WCPROF_IDLE_H
#define WCPROF_IDLE_H

#include "arena.h"
#include "clock.h"

/* Notes the idle time of all CPUs that the process may use, by now. Drainer, or the thread that
 * ends the process; in the process whose arena it is. */
void idle_note(struct arena *, uint64_t now_ns) HIDDEN;

/* The same, if it is time. */
void idle_tick(struct arena *, uint64_t now_ns) HIDDEN;

/* Drops all of them: recording is turned on again. */
static inline void idle_forget(struct arena *arena)
{
	store_relaxed(&arena->idle_doublings, 0);
	store_release(&arena->idle_count, 0);
}

/* Entries that may be read. */
uint32_t idle_count(const struct arena *) HIDDEN;

/* As the process ends; one that was too short for a first time has no use for a last one. */
static inline void idle_note_last(struct arena *arena)
{
	if (idle_count(arena) > 0)
		idle_note(arena, clock_mono_ns());
}

/* Goes on from `last` to this entry; false: it is no later, or has less idle time. */
bool idle_next(const struct arena *, uint32_t index, struct idle_entry *last) HIDDEN;

/* Adds the idle time of a piece of /proc/stat. */
struct idle_scan {
	const uint64_t *mask; /* of the CPUs that count */
	uint64_t idle_ticks;
	uint64_t number;    /* of the field that is being read */
	uint32_t cpu;       /* the line's */
	uint32_t letters;   /* of its first word */
	uint32_t field;     /* of the line, from 0 */
	uint32_t cpus_seen; /* of those that count */
	bool has_cpu;       /* the line is that of one CPU */
	bool is_over;       /* the lines of CPUs are through */
};
void idle_scan(struct idle_scan *, const char *bytes, size_t count) HIDDEN;

#endif
