/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the signals of waits of which a faster program would have others.
 *
 * Method. A thread that comes to a place waits there now and then, until a certain other one has
 * done its part. It is that part's turn, an entry of a cache, or a lock that an interpreter makes
 * itself, as Ruby's. No count of tokens explains such waits. The replay keeps those of the
 * recording, each with its signal, and makes no new ones. A faster program may not have to wait.
 *
 * The place is a critical section. Or it is the way from one call of a thread to the next one, as
 * nothing is recorded of those that need not wait. Waits stay right that all have who come
 * to a place, but for those that signal.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"
#include "recording/addresses.h"
#include "script_parts.h"

#include <stdlib.h>

/* Somebody comes to a place. */
struct stay {
	uint64_t place;
	uint32_t link; /* that is waited for; NO_INDEX = no recorded signal is */
};

struct stays {
	struct stay *list;
	size_t count;
	size_t capacity;
};

static int compare_stays(const void *left, const void *right)
{
	const struct stay *a = left, *b = right;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return (a->link > b->link) - (a->link < b->link);
}

static void stay_add(struct stays *stays, uint64_t place, uint32_t link)
{
	if (!place)
		return;
	stays->list =
		memory_grow(stays->list, &stays->capacity, stays->count + 1, sizeof(*stays->list));
	stays->list[stays->count++] = (struct stay){ place, link };
}

/* Many of the stays wait, and many do not. */
static bool is_now_and_then(const struct stay *stays, size_t count)
{
	size_t waits = 0;

	for (size_t i = 0; i < count; i++)
		waits += stays[i].link != NO_INDEX;
	return waits >= assume.ended_waits &&
	       (double)(count - waits) > assume.group_varies * (double)count;
}

static void stays_judge(struct script *script, struct stays *stays)
{
	if (stays->count)
		qsort(stays->list, stays->count, sizeof(*stays->list), compare_stays);
	for (size_t first = 0, end; first < stays->count; first = end) {
		for (end = first;
		     end < stays->count && stays->list[end].place == stays->list[first].place;)
			end++;
		if (!is_now_and_then(stays->list + first, end - first))
			continue;
		for (size_t i = first; i < end; i++) {
			if (stays->list[i].link == NO_INDEX)
				continue;
			script->is_unruly[stays->list[i].link] = true;
			script->has_unruly = true;
		}
	}
	free(stays->list);
}

/* By link: waits for it are replayed as they were recorded. To be freed. */
static bool *kept_links(const struct script *script)
{
	bool *is_kept = memory_new(script->recording->link_count, sizeof(*is_kept));

	for (size_t i = 0; i < script->step_count; i++)
		if (script->steps[i].type == STEP_AFTER)
			is_kept[script->steps[i].arg] = true;
	return is_kept;
}

/* The link that a wait is kept for; NO_INDEX = it is not kept. */
static uint32_t kept_link(const struct script *script, const bool *is_kept, uint32_t wait)
{
	uint32_t link = wait == NO_INDEX ? NO_INDEX : script->monitors.waking_link[wait];

	return link != NO_INDEX && is_kept[link] ? link : NO_INDEX;
}

/* --- critical sections --- */

static bool signals(const struct section *section)
{
	return section->first_signal_ns != UINT64_MAX;
}

/* It did not wait, and does for others what they wait for: here or when it comes back. */
static bool leads(const struct monitors *monitors, uint32_t index)
{
	const struct section *section = &monitors->sections[index], *next = section + 1;

	return signals(section) ||
	       (index + 1 < monitors->section_count && next->thread == section->thread &&
		next->mutex == section->mutex && signals(next));
}

static void sections_judge(struct script *script, const bool *is_kept)
{
	const struct monitors *monitors = &script->monitors;
	struct stays stays = { 0 };

	for (uint32_t i = 0; i < monitors->section_count; i++) {
		const struct section *section = &monitors->sections[i];
		uint32_t link = kept_link(script, is_kept, section->first_wait);

		if (link != NO_INDEX || (section->first_wait == NO_INDEX && !leads(monitors, i)))
			stay_add(&stays, section->site[SITE_FRAMES - 1], link);
	}
	stays_judge(script, &stays);
}

/* --- from one call to the next --- */

/* The call that begins at a moment; NO_INDEX = none does. Holds are on the way. */
static uint32_t call_at(const struct recording *rec, const struct moment *moment)
{
	enum moment_type type = moment_type(moment);
	bool begins = type == MOMENT_OP_BEGIN || type == MOMENT_OP_POINT;

	return begins && rec->ops[moment->index].kind != KIND_HOLD ? moment->index : NO_INDEX;
}

static uint32_t wait_at(const struct moment *moment)
{
	enum moment_type type = moment_type(moment);

	return type == MOMENT_WAIT_BEGIN || type == MOMENT_WAIT_POINT ? moment->index : NO_INDEX;
}

/* One stay for each kept wait between two calls, or one if there is none. */
static void thread_walk(struct stays *stays, const struct script *script, const bool *is_kept,
			const struct timeline *timeline, size_t thread, struct addresses *calls,
			struct addresses *ways)
{
	const struct recording *rec = script->recording;
	uint32_t before = 0; /* its call, by number from 1 */
	size_t first_wait = timeline->first[thread];

	for (size_t i = timeline->first[thread]; i < timeline->first[thread + 1]; i++) {
		uint32_t op = call_at(rec, &timeline->moments[i]);

		if (op == NO_INDEX)
			continue;
		uint32_t call = 1 + addresses_add(calls, rec->ops[op].name, rec->extras[op].stack);
		uint64_t way = 1 + addresses_add(ways, before, call);
		bool waits = false;

		for (size_t k = first_wait; k < i; k++) {
			uint32_t link = kept_link(script, is_kept, wait_at(&timeline->moments[k]));

			if (link != NO_INDEX)
				stay_add(stays, way, link);
			waits = waits || link != NO_INDEX;
		}
		if (!waits)
			stay_add(stays, way, NO_INDEX);
		before = call;
		first_wait = i;
	}
}

static void ways_judge(struct script *script, const bool *is_kept, const struct timeline *timeline)
{
	struct addresses calls = { 0 }, ways = { 0 };
	struct stays stays = { 0 };

	for (size_t t = 0; t < timeline->thread_count; t++)
		thread_walk(&stays, script, is_kept, timeline, t, &calls, &ways);
	stays_judge(script, &stays);
	addresses_free(&calls);
	addresses_free(&ways);
}

void script_unruly_find(struct script *script, const struct timeline *timeline)
{
	bool *is_kept = kept_links(script);

	script->is_unruly = memory_new(script->recording->link_count, sizeof(*script->is_unruly));
	sections_judge(script, is_kept);
	ways_judge(script, is_kept, timeline);
	script_relays_find(script, timeline);
	free(is_kept);
}
