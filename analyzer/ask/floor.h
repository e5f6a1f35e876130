/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The floor of a run: the time that would remain if every class that is asked about took none.
 *
 * No saving can be found in the floor, whatever the program would do: its pieces keep their
 * recorded lengths.
 */
#ifndef WCPROF_FLOOR_H
#define WCPROF_FLOOR_H

#include "replay/replayer.h"
#include "replay/trace.h"
#include "script/script.h"

/* Pieces of the critical path of that run that have one cause. */
struct floor_cause {
	uint64_t ns;
	enum trace_part part;
	enum step_type type;   /* TRACE_STEP; TRACE_WAKE_UP: what it woke from, or its start */
	uint32_t thread;       /* the one of which it is most */
	uint32_t thread_class; /* NO_INDEX = not known */
	uint32_t class;        /* of the innermost op, NO_INDEX = the step tells no op */
	uint32_t wait;         /* the longest one, NO_INDEX = the step tells no wait */
};

struct floor {
	double floor_ns;     /* waits whose end is not known */
	double uncounted_ns; /* the rest of that run: wake-ups, schedules, what has not begun yet */
	struct floor_cause worst;
	uint64_t forced_steps; /* as in struct replay_answer; the floor is not known then */
};

/* `is_kept`: classes that stay as they were. `factor`: of all others, 0 for the floor itself. */
void floor_build(struct floor *floor, const struct script *script,
		 const struct class_table *classes, const bool *is_kept, double factor,
		 const struct replayer *replayer);

/* No other thread was there any more when this one began: it is of another run in the same file. */
bool floor_is_of_later_run(const struct recording *recording, uint32_t thread);

#endif
