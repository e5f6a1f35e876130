/* SPDX-License-Identifier: Apache-2.0 */
/* See stopped.h. */
#include "stopped.h"

#include <stdlib.h>

#include "base/memory.h"
#include "format.h"

/* The thread whose end it is for; NO_INDEX = for none's, or for one that is not known. */
static uint32_t joined_by(const struct recording *recording, const struct rec_wait *wait)
{
	bool is_join = wait->reason == REASON_JOIN && wait->target != NO_INDEX &&
		       recording->ops[wait->target].kind == KIND_THREAD;
	return is_join ? recording->ops[wait->target].thread : NO_INDEX;
}

bool *stopped_find(const struct recording *recording)
{
	bool *is_stopped = memory_new(recording->wait_count, sizeof(*is_stopped));
	uint32_t *join_of = memory_new(recording->thread_count, sizeof(*join_of)); /* 0 = none */
	for (uint32_t i = 0; i < recording->wait_count; i++) {
		uint32_t joined = joined_by(recording, &recording->waits[i]);
		if (joined != NO_INDEX)
			join_of[joined] = i + 1;
	}
	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		if (wait->thread == NO_INDEX || wait->target == NO_INDEX || wait->timed_out ||
		    !join_of[wait->thread])
			continue;
		const struct rec_wait *join = &recording->waits[join_of[wait->thread] - 1];
		is_stopped[i] = join->thread == recording->ops[wait->target].thread &&
				join->end_ns >= wait->end_ns;
	}
	free(join_of);
	return is_stopped;
}
