/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds locks made of futexes that belong together.
 *
 * Method. Locks are of one family if threads wait for them at the same place. So are two if a third
 * one is waited for at both their places. Sets are united as their members come (Galler and
 * Fisher).
 *
 * One thread.
 */
#include "base/memory.h"
#include "format.h"
#include "futexlocks_parts.h"
#include "recording/addresses.h"

#include <stdlib.h>

static uint32_t root_of(uint32_t *parents, uint32_t place)
{
	while (parents[place] != place)
		place = parents[place] = parents[parents[place]];
	return place;
}

/* By event: the place where its thread waits; NO_INDEX = it does not, or that is not known. To be
 * freed. */
static uint32_t *places_find(const struct recording *rec, const struct futex_event *events,
			     size_t event_count, size_t *count)
{
	uint32_t *places = memory_new(event_count, sizeof(*places));
	struct addresses known = { 0 };

	for (size_t i = 0; i < event_count; i++) {
		const struct futex_event *event = &events[i];
		uint32_t stack = event->is_wait ? rec->waits[event->index].stack : 0;

		places[i] = stack ? addresses_add(&known, event->process, stack) : NO_INDEX;
	}
	*count = known.count;
	addresses_free(&known);
	return places;
}

static int compare_groups(const void *left, const void *right)
{
	const struct futex_group *a = left, *b = right;

	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

struct futex_group *futex_groups_find(const struct recording *rec, const struct futex_event *events,
				      size_t event_count, size_t *group_count)
{
	size_t place_count, count = 0;
	uint32_t *places = places_find(rec, events, event_count, &place_count);
	uint32_t *parents = memory_new(place_count, sizeof(*parents));
	struct futex_group *groups = memory_new(event_count, sizeof(*groups));

	for (uint32_t i = 0; i < place_count; i++)
		parents[i] = i;
	for (size_t i = 0; i < event_count; i++) {
		const struct futex_event *event = &events[i];
		bool is_first = !i || event[-1].process != event->process ||
				event[-1].address != event->address;

		if (is_first)
			groups[count++] = (struct futex_group){ i, i, NO_INDEX };
		struct futex_group *group = &groups[count - 1];
		group->end = i + 1;
		if (places[i] == NO_INDEX)
			continue;
		if (group->family == NO_INDEX)
			group->family = places[i];
		parents[root_of(parents, places[i])] = root_of(parents, group->family);
	}
	for (size_t i = 0; i < count; i++)
		groups[i].family = groups[i].family == NO_INDEX
					   ? (uint32_t)(place_count + i)
					   : root_of(parents, groups[i].family);
	if (count)
		qsort(groups, count, sizeof(*groups), compare_groups);
	free(places);
	free(parents);
	*group_count = count;
	return groups;
}
