/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells how long threads that were woken for a lock waited for a CPU until another thread had taken
 * it.
 *
 * Method. A release wakes a thread that sleeps for the lock. A thread that did not sleep may take
 * the lock next. Then the woken one had not come to a CPU: from the release on it was in a run
 * queue. The kernel counts that. It is in no step, as the latency of a wait for a lock begins at
 * the release after which the thread had the lock. Which thread was woken is not known, so each
 * that slept has its part.
 *
 * One thread.
 */
#include "base/memory.h"
#include "script_parts.h"

#include <assert.h>
#include <stdlib.h>

void script_outrun_add(struct compiler *compiler, const struct release *first,
		       const struct release *granting)
{
	struct gathered *gathered = &compiler->gathered;
	const struct release *ends = compiler->releases->ends;

	assert(first <= granting);
	gathered->outruns = memory_grow(gathered->outruns, &gathered->outrun_capacity,
					gathered->outrun_count + 1, sizeof(*gathered->outruns));
	gathered->outruns[gathered->outrun_count++] =
		(struct outrun){ .first = (size_t)(first - ends),
				 .end = (size_t)(granting - ends),
				 .thread = compiler->thread.index };
}

/* From a release of a lock until the next hold of it begins. */
static double gap_ns(const struct compiler *compiler, size_t release)
{
	const struct release *ends = compiler->releases->ends;
	uint64_t next_ns = compiler->rec->ops[ends[release + 1].hold].start_ns;

	return next_ns > ends[release].at_ns ? (double)(next_ns - ends[release].at_ns) : 0;
}

uint64_t *script_outrun_find(const struct compiler *compiler)
{
	const struct gathered *gathered = &compiler->gathered;
	const struct releases *releases = compiler->releases;
	size_t count = releases->first[releases->locks.count];
	int64_t *more = memory_new(count + 1, sizeof(*more)), waiting = 0; /* by release */
	bool *is_granting = memory_new(count + 1, sizeof(*is_granting));
	double *until_ns = memory_new(count + 1, sizeof(*until_ns));
	uint64_t *outrun_ns = memory_new(compiler->rec->thread_count, sizeof(*outrun_ns));

	for (size_t i = 0; i < gathered->outrun_count; i++) {
		more[gathered->outruns[i].first]++;
		more[gathered->outruns[i].end]--;
		is_granting[gathered->outruns[i].end] = true;
	}
	for (size_t r = 0; r < count; r++) {
		waiting += more[r];
		until_ns[r + 1] = until_ns[r];
		if (waiting && !is_granting[r])
			until_ns[r + 1] += gap_ns(compiler, r) / (double)waiting;
	}
	for (size_t i = 0; i < gathered->outrun_count; i++) {
		const struct outrun *outrun = &gathered->outruns[i];

		outrun_ns[outrun->thread] +=
			(uint64_t)(until_ns[outrun->end] - until_ns[outrun->first]);
	}
	free(more);
	free(is_granting);
	free(until_ns);
	return outrun_ns;
}
