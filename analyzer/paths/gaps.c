/* SPDX-License-Identifier: Apache-2.0 */
/* Lays the requests of threads over their time; gaps.h has the contract. */
#include "gaps.h"

static bool has_requests(const struct owners *owners, uint32_t thread)
{
	for (size_t i = owners->lanes.lanes[thread].stretch;
	     i < owners->lanes.lanes[thread + 1].stretch; i++)
		if (owners->request[i] != NO_INDEX && owners->request[i] != OWNER_IDLE)
			return true;
	return false;
}

static uint32_t part_of(struct path_parts *parts, const struct request_paths_of *of,
			uint32_t request, uint32_t time)
{
	struct path_part own = path_parts_at(parts, time);
	if (request == OWNER_IDLE || own.kind == PATH_CPU_WAIT)
		return time;
	uint32_t class = request == NO_INDEX ? NO_INDEX : of->requests->requests[request].class;
	return path_parts_add(parts, PATH_QUEUED,
			      class == NO_INDEX ? 0 : of->classes->classes[class].name, own.name);
}

void gaps_build(struct lanes *gaps, struct path_parts *parts, const struct request_paths_of *of,
		const struct owners *owners, const struct lanes *times)
{
	lanes_begin(gaps);
	for (uint32_t thread = 0; thread < of->recording->thread_count; thread++) {
		size_t time = times->lanes[thread].stretch;
		size_t time_end = times->lanes[thread + 1].stretch;
		size_t own = owners->lanes.lanes[thread].stretch;
		size_t own_end = owners->lanes.lanes[thread + 1].stretch;
		lanes_next(gaps);
		if (!has_requests(owners, thread))
			continue;
		while (time < time_end && own < own_end) {
			const struct lane_stretch *left = &times->stretches[time];
			const struct lane_stretch *right = &owners->lanes.stretches[own];
			uint64_t start_ns =
				left->start_ns > right->start_ns ? left->start_ns : right->start_ns;
			uint64_t end_ns =
				left->end_ns < right->end_ns ? left->end_ns : right->end_ns;
			if (start_ns < end_ns)
				lanes_add(gaps, start_ns, end_ns,
					  part_of(parts, of, owners->request[own], left->key));
			time += left->end_ns == end_ns;
			own += right->end_ns == end_ns;
		}
	}
	lanes_end(gaps, parts->tuples.count);
}
