/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs of a pool that puts jobs itself, if its queue hands over what was put last.
 *
 * No recording says which of the jobs in a queue a thread took: the oldest, the newest, or the most
 * urgent one. Where the pool's own jobs put more of them, that decides what each had to wait for.
 * The oldest is one end of what is possible: each job was there as early as can be. The newest is
 * the other end.
 *
 * Method. Puts and takes are gone through in order of time, with a stack of what was put. One
 * thread.
 */
#include "base/memory.h"
#include "script_parts.h"
#include "script_queued.h"

#include <assert.h>
#include <stdlib.h>

struct happening {
	uint64_t at_ns;
	uint32_t step; /* that puts or takes; those there at the start have none, and come first */
	uint32_t number; /* of the put, or of the job that the take got */
	bool is_take;
};

static int compare_happenings(const void *left, const void *right)
{
	const struct happening *a = left, *b = right;

	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	if (a->is_take != b->is_take)
		return a->is_take ? 1 : -1;
	return (a->number > b->number) - (a->number < b->number);
}

/* A section that takes behind all else that it does has its job at its end. */
static uint64_t taken_ns(const struct script *script, uint32_t take)
{
	const struct step_origin *origin = script_origin(script, take);
	const struct recording *rec = script->recording;

	if (!origin)
		return 0;
	if (origin->sort == ORIGIN_WAIT)
		return rec->waits[origin->index].end_ns;
	if (origin->sort == ORIGIN_OP && script->steps[take - 1].type != STEP_ACQUIRE)
		return rec->ops[origin->index].end_ns;
	return script_time_of(script, origin);
}

/* Puts of a source, by the number that each hands over. */
static size_t happenings_find(const struct script *script, uint32_t source,
			      struct happening *happenings)
{
	const struct job_list *jobs = &script->jobs[source];
	size_t count = 0;

	for (uint32_t n = 0; n < jobs->there; n++)
		happenings[count++] = (struct happening){ .number = n };
	for (uint32_t i = 0; i < script->step_count; i++) {
		const struct step *step = &script->steps[i];

		if (script_put_source(script, step) != source || !step->job)
			continue;
		const struct step_origin *origin = script_origin(script, i);

		happenings[count++] = (struct happening){ script_time_of(script, origin), i,
							  (uint32_t)step->job - 1, false };
	}
	for (uint32_t n = 0; n < jobs->count; n++)
		happenings[count++] = (struct happening){ taken_ns(script, jobs->steps[n] - 1),
							  jobs->steps[n] - 1, n, true };
	qsort(happenings, count, sizeof(*happenings), compare_happenings);
	return count;
}

/* A put that comes too late for its take, by a clock that is not exact, gives what is left over. */
static void rest_pair(uint32_t *latest, const bool *is_taken, size_t count)
{
	uint32_t job = 0;

	for (size_t n = 0; n < count; n++) {
		if (latest[n] != NO_INDEX)
			continue;
		while (is_taken[job])
			job++;
		latest[n] = job++;
	}
}

static void source_find(struct script *script, uint32_t source)
{
	struct job_list *jobs = &script->jobs[source];
	struct happening *happenings = memory_new(2 * jobs->count, sizeof(*happenings));
	uint32_t *stack = memory_new(jobs->count, sizeof(*stack));
	bool *is_taken = memory_new(jobs->count, sizeof(*is_taken));
	size_t count = happenings_find(script, source, happenings), depth = 0;

	assert(count <= 2 * jobs->count);
	jobs->latest = memory_new(jobs->count, sizeof(*jobs->latest));
	for (size_t n = 0; n < jobs->count; n++)
		jobs->latest[n] = NO_INDEX;
	for (size_t i = 0; i < count; i++) {
		if (!happenings[i].is_take) {
			stack[depth++] = happenings[i].number;
		} else if (depth) {
			jobs->latest[stack[--depth]] = happenings[i].number;
			is_taken[happenings[i].number] = true;
		}
	}
	rest_pair(jobs->latest, is_taken, jobs->count);
	free(is_taken);
	free(stack);
	free(happenings);
}

void script_latest_find(struct script *script)
{
	for (uint32_t i = 0; i < script->monitors.condition_count; i++)
		if (script->monitors.conditions[i].is_fed_back && script->jobs[i].is_handed_over)
			source_find(script, i);
}
