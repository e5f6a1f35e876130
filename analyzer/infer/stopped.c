/* SPDX-License-Identifier: Apache-2.0 */
/* See stopped.h. */
#include "stopped.h"

#include <stdlib.h>

#include "base/memory.h"
#include "format.h"
#include "joins.h"

/* By thread: the last wait for its end, NO_INDEX = none. */
static uint32_t *find_joins(const struct recording *recording)
{
	uint32_t *joins = memory_new(recording->thread_count, sizeof(*joins));
	for (size_t i = 0; i < recording->thread_count; i++)
		joins[i] = NO_INDEX;
	struct join *joined = joins_find(recording);
	for (uint32_t i = 0; i < recording->wait_count; i++)
		if (joined[i].thread != NO_INDEX)
			joins[joined[i].thread] = i;
	free(joined);
	return joins;
}

/* By thread: the last wait of another one that this one ended, NO_INDEX = none. */
static uint32_t *find_ended(const struct recording *recording)
{
	uint32_t *ended = memory_new(recording->thread_count, sizeof(*ended));
	for (size_t i = 0; i < recording->thread_count; i++)
		ended[i] = NO_INDEX;
	for (uint32_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		uint32_t by = wait->target == NO_INDEX || wait->timed_out
				      ? NO_INDEX
				      : recording->ops[wait->target].thread;
		if (by != NO_INDEX && by != wait->thread &&
		    (ended[by] == NO_INDEX || recording->waits[ended[by]].end_ns < wait->end_ns))
			ended[by] = i;
	}
	return ended;
}

/* By thread: its last wait for a condition. */
static uint32_t *find_last(const struct recording *recording)
{
	uint32_t *last = memory_new(recording->thread_count, sizeof(*last));
	for (size_t i = 0; i < recording->thread_count; i++)
		last[i] = NO_INDEX;
	for (uint32_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		if (wait->thread == NO_INDEX || wait->reason != REASON_COND)
			continue;
		uint32_t *of = &last[wait->thread];
		if (*of == NO_INDEX || recording->waits[*of].end_ns < wait->end_ns)
			*of = i;
	}
	return last;
}

/* A thread that is joined, and whose last wait for a condition timed out. */
struct keeper {
	uint64_t address; /* of that condition */
	uint32_t thread;
};

static int compare_keepers(const void *left, const void *right)
{
	const struct keeper *a = left, *b = right;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

static struct keeper *find_keepers(const struct recording *recording, const uint32_t *joins,
				   const uint32_t *last, size_t *count)
{
	struct keeper *keepers = memory_new(recording->thread_count, sizeof(*keepers));
	*count = 0;
	for (uint32_t t = 0; t < recording->thread_count; t++)
		if (joins[t] != NO_INDEX && last[t] != NO_INDEX &&
		    recording->waits[last[t]].timed_out)
			keepers[(*count)++] =
				(struct keeper){ recording->waits[last[t]].address, t };
	if (*count)
		qsort(keepers, *count, sizeof(*keepers), compare_keepers);
	return keepers;
}

static size_t first_keeper(const struct keeper *keepers, size_t count, uint64_t address)
{
	size_t low = 0;
	while (low < count) {
		size_t middle = low + (count - low) / 2;
		if (keepers[middle].address < address)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

static bool tells(const struct rec_link *link, const struct rec_wait *last,
		  const struct rec_wait *join)
{
	return link->at_ns >= last->end_ns && link->at_ns <= join->end_ns &&
	       link->thread == join->thread;
}

uint32_t *stopped_told(const struct recording *recording)
{
	uint32_t *told = memory_new(recording->thread_count, sizeof(*told));
	uint32_t *joins = find_joins(recording), *last = find_last(recording);
	size_t count;
	struct keeper *keepers = find_keepers(recording, joins, last, &count);
	for (size_t t = 0; t < recording->thread_count; t++)
		told[t] = NO_INDEX;
	for (uint32_t i = 0; count && i < recording->link_count; i++) {
		const struct rec_link *link = &recording->links[i];
		if (link->kind != LINK_WAKE)
			continue;
		for (size_t k = first_keeper(keepers, count, link->address);
		     k < count && keepers[k].address == link->address; k++) {
			uint32_t *of = &told[keepers[k].thread];
			if (tells(link, &recording->waits[last[keepers[k].thread]],
				  &recording->waits[joins[keepers[k].thread]]) &&
			    (*of == NO_INDEX || recording->links[*of].at_ns < link->at_ns))
				*of = i;
		}
	}
	free(keepers);
	free(joins);
	free(last);
	return told;
}

static void mark_told(bool *is_stopped, const struct recording *recording)
{
	uint32_t *told = stopped_told(recording), *last = find_last(recording);
	for (size_t t = 0; t < recording->thread_count; t++)
		if (told[t] != NO_INDEX)
			is_stopped[last[t]] = true;
	free(told);
	free(last);
}

bool *stopped_find(const struct recording *recording)
{
	bool *is_stopped = memory_new(recording->wait_count, sizeof(*is_stopped));
	uint32_t *ended = find_ended(recording);
	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		if (wait->thread == NO_INDEX || wait->target == NO_INDEX || wait->timed_out ||
		    ended[wait->thread] == NO_INDEX)
			continue;
		const struct rec_wait *answer = &recording->waits[ended[wait->thread]];
		is_stopped[i] = answer->thread == recording->ops[wait->target].thread &&
				answer->end_ns >= wait->end_ns;
	}
	mark_told(is_stopped, recording);
	free(ended);
	return is_stopped;
}
