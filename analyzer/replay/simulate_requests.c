/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long requests took in a replay, by the stamps that it left.
 */
#include "base/percentile.h"
#include "simulate_parts.h"

#include <assert.h>

static struct request_time time_of(const struct simulation *sim, size_t request, uint64_t end_ns)
{
	uint64_t from_ns = sim->stamp_ns[2 * request], to_ns = sim->stamp_ns[2 * request + 1];
	struct request_time time = { .start_ns = from_ns,
				     .is_unfinished = to_ns == UINT64_MAX || from_ns > to_ns };

	if (time.is_unfinished)
		to_ns = end_ns;
	time.taken_ns = to_ns > from_ns ? to_ns - from_ns : 0;
	return time;
}

void simulate_requests_tell(const struct simulation *sim, uint64_t makespan_ns,
			    struct request_time *times)
{
	const struct requests *requests = &sim->script->requests;
	size_t count = 0;

	for (size_t i = 0; i < requests->count; i++)
		if (request_is_judged(requests, &requests->requests[i]))
			times[count++] = time_of(sim, i, sim->script->start_ns + makespan_ns);
	assert(count == requests->judged_count);
}

void simulate_requests_answer(struct simulation *sim, struct replay_answer *answer)
{
	static const size_t percents[REQUEST_FIGURES] = {
		[REQUEST_P50] = 50, [REQUEST_P95] = 95, [REQUEST_P99] = 99
	};
	const struct requests *requests = &sim->script->requests;
	size_t count = 0;
	double sum_ns = 0;

	for (size_t i = 0; i < requests->count; i++) {
		struct request_time time = time_of(sim, i, 0);

		if (time.is_unfinished || !request_is_judged(requests, &requests->requests[i]))
			continue;
		sim->taken_ns[count++] = time.taken_ns;
		sum_ns += (double)time.taken_ns;
	}
	if (!count)
		return;
	answer->requests_ns[REQUEST_MEAN] = sum_ns / (double)count;
	/* a higher rank is not among those before a lower one */
	for (size_t figure = REQUEST_P50, from = 0; figure < REQUEST_FIGURES; figure++) {
		size_t rank = count * percents[figure] / 100;

		answer->requests_ns[figure] =
			(double)percentile_select(sim->taken_ns + from, count - from, rank - from);
		from = rank;
	}
}
