/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds conditions that are locks with keys; keys.h has the contract.
 *
 * Method. Sections of some places wait on the condition: threads come there for a key. Sections of
 * other places signal it: there they give it back. Each thread does the two by turns. A thread that
 * ends a wait has had a key since before that wait began. It seldom ends another one: the next
 * thread has the key then. And the threads are in no step. Of two threads, now one and now the
 * other has had more keys by the time that one waits for the other. Threads are in step, or several
 * go on at once, where they need what another one has made, as with the rows of a grid.
 *
 * There are as many keys as make the recorded share of comers find their own one taken. With so
 * many taken, that is one in so many.
 *
 * One thread.
 */
#include "keys.h"

#include "base/assumptions.h"
#include "base/bound.h"
#include "base/hash.h"
#include "base/memory.h"
#include "format.h"
#include "recording/addresses.h"

#include <stdlib.h>
#include <string.h>

/* From the section in which a thread got a key to the one in which it gives that back. */
struct stay {
	uint64_t came_ns;  /* it looked for the first time */
	uint64_t waits_ns; /* it began to wait for the last time */
	uint64_t from_ns;
	uint64_t to_ns;
	uint32_t thread;
	uint32_t rank; /* which of its thread's */
	uint32_t entered;
	uint32_t left;
	uint32_t after;   /* stay that it waited for, NO_INDEX = none */
	bool is_followed; /* another one waited for it */
	uint32_t key;
};

struct search {
	const struct recording *rec;
	const struct monitors *monitors;
	struct monitors_uses uses;
	struct keys *keys;
	uint64_t *enter_sites, *leave_sites;
	size_t enter_count, leave_count;
	struct stay *stays; /* of the condition, by thread, then time */
	size_t count, capacity;
	size_t misfits;
	uint32_t *stay_of; /* by section that leaves */
	uint32_t *rank_of; /* by thread: of its last stay */
};

static int compare_numbers(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static size_t sort_sites(uint64_t *sites, size_t count)
{
	size_t kept = 0;

	qsort(sites, count, sizeof(*sites), compare_numbers);
	for (size_t i = 0; i < count; i++)
		if (!kept || sites[i] != sites[kept - 1])
			sites[kept++] = sites[i];
	return kept;
}

static bool is_among(const uint64_t *sites, size_t count, uint64_t site)
{
	return bsearch(&site, sites, count, sizeof(site), compare_numbers);
}

static uint64_t site_of(const struct search *search, uint32_t section)
{
	return section == NO_INDEX ? 0 : search->monitors->sections[section].site[SITE_FRAMES - 1];
}

/* Where threads wait on the condition, and where they signal it. False: these are not two sorts of
 * places. */
static bool places_find(struct search *search, uint32_t condition)
{
	const struct monitors *monitors = search->monitors;
	size_t waits, links;
	const uint32_t *wait = buckets_of(&search->uses.waits, condition, &waits);
	const uint32_t *link = buckets_of(&search->uses.links, condition, &links);

	search->enter_sites = memory_new(waits, sizeof(uint64_t));
	search->leave_sites = memory_new(links, sizeof(uint64_t));
	for (size_t i = 0; i < waits; i++)
		search->enter_sites[i] = site_of(search, monitors->section_of_wait[wait[i]]);
	for (size_t i = 0; i < links; i++)
		search->leave_sites[i] = site_of(search, monitors->signals[link[i]].section);
	search->enter_count = sort_sites(search->enter_sites, waits);
	search->leave_count = sort_sites(search->leave_sites, links);
	for (size_t i = 0; i < search->enter_count; i++)
		if (!search->enter_sites[i] ||
		    is_among(search->leave_sites, search->leave_count, search->enter_sites[i]))
			return false;
	return search->enter_count && search->leave_count && search->leave_sites[0];
}

static void stay_begins(struct search *search, uint32_t index)
{
	const struct section *section = &search->monitors->sections[index];
	const struct rec_wait *waits = search->rec->waits;
	bool waits_here = section->first_wait != NO_INDEX;

	search->stays = memory_grow(search->stays, &search->capacity, search->count + 1,
				    sizeof(*search->stays));
	search->stays[search->count++] = (struct stay){
		.came_ns = section->start_ns,
		.waits_ns = waits_here ? waits[section->last_wait].start_ns : section->start_ns,
		.from_ns = waits_here ? waits[section->last_wait].end_ns : section->start_ns,
		.thread = section->thread,
		.rank = ++search->rank_of[section->thread],
		.entered = index,
		.left = NO_INDEX,
		.after = NO_INDEX,
	};
}

/* A stay that nothing ended, the last one of its thread, is none. */
static void stays_find(struct search *search, uint32_t mutex)
{
	size_t count;
	const uint32_t *sections = buckets_of(&search->uses.sections, mutex, &count);

	search->count = search->misfits = 0;
	memset(search->rank_of, 0, search->rec->thread_count * sizeof(uint32_t));
	for (size_t i = 0; i < count; i++) {
		const struct section *section = &search->monitors->sections[sections[i]];
		uint64_t site = section->site[SITE_FRAMES - 1];
		struct stay *last = search->count ? &search->stays[search->count - 1] : NULL;
		bool has_one = last && last->thread == section->thread;
		bool is_open = last && last->left == NO_INDEX;

		search->stay_of[sections[i]] = NO_INDEX;
		if (is_among(search->enter_sites, search->enter_count, site)) {
			search->misfits += has_one && is_open;
			search->count -= is_open;
			stay_begins(search, sections[i]);
		} else if (is_among(search->leave_sites, search->leave_count, site)) {
			search->misfits += has_one && !is_open;
			if (!has_one || !is_open)
				continue;
			last->left = sections[i];
			last->to_ns = section->end_ns;
			search->stay_of[sections[i]] = (uint32_t)search->count - 1;
		}
	}
}

static bool has_waited(const struct stay *stay)
{
	return stay->waits_ns < stay->from_ns;
}

/* The stay that ended the wait which a stay began with. */
static uint32_t stay_waited_for(const struct search *search, const struct stay *stay)
{
	const struct monitors *monitors = search->monitors;
	uint32_t wait = monitors->sections[stay->entered].last_wait;
	uint32_t link = wait == NO_INDEX ? NO_INDEX : monitors->waking_link[wait];
	uint32_t section = link == NO_INDEX ? NO_INDEX : monitors->signals[link].section;

	return section == NO_INDEX ? NO_INDEX : search->stay_of[section];
}

/* How far two threads are apart where the one waits for the other. */
struct pair {
	int64_t lead;
	size_t times;
	size_t same;
};

/* Next to all waits of one thread for another come when they are as far apart as the last time. */
static bool is_in_step(const struct search *search)
{
	struct addresses known = { 0 };
	struct pair *pairs = memory_new(search->count, sizeof(*pairs));
	size_t times = 0, same = 0;

	for (size_t i = 0; i < search->count; i++) {
		const struct stay *stay = &search->stays[i];

		if (stay->after == NO_INDEX)
			continue;
		const struct stay *other = &search->stays[stay->after];
		struct pair *pair =
			&pairs[addresses_add(&known, stay->thread, (uint64_t)other->thread + 1)];
		int64_t lead = (int64_t)stay->rank - other->rank;

		times += pair->times > 0;
		same += pair->times++ > 0 && pair->lead == lead;
		pair->lead = lead;
	}
	addresses_free(&known);
	free(pairs);
	return (double)(times - same) <= assume.group_varies * (double)times;
}

static bool are_keys(struct search *search)
{
	size_t waits = 0, followers = 0;

	for (uint32_t i = 0; i < search->count; i++) {
		struct stay *stay = &search->stays[i];

		if (!has_waited(stay))
			continue;
		waits++;
		stay->after = stay_waited_for(search, stay);
		struct stay *other = stay->after == NO_INDEX ? NULL : &search->stays[stay->after];

		if (!other || other->thread == stay->thread || other->from_ns > stay->waits_ns) {
			stay->after = NO_INDEX;
			search->misfits++;
			continue;
		}
		followers += other->is_followed;
		other->is_followed = true;
	}
	return waits >= assume.ended_waits &&
	       (double)search->misfits <= assume.token_misfits * (double)search->count &&
	       (double)followers <= assume.group_varies * (double)waits && !is_in_step(search);
}

/* --- which key --- */

static int compare_begins(const void *left, const void *right)
{
	const struct stay *const *a = left, *const *b = right;

	return ((*a)->from_ns > (*b)->from_ns) - ((*a)->from_ns < (*b)->from_ns);
}

static int compare_ends(const void *left, const void *right)
{
	const struct stay *const *a = left, *const *b = right;

	return ((*a)->to_ns > (*b)->to_ns) - ((*a)->to_ns < (*b)->to_ns);
}

static struct stay **order(struct search *search, int (*compare)(const void *, const void *))
{
	struct stay **ordered = memory_new(search->count, sizeof(*ordered));

	for (size_t i = 0; i < search->count; i++)
		ordered[i] = &search->stays[i];
	qsort(ordered, search->count, sizeof(*ordered), compare);
	return ordered;
}

/* With as many keys, and those of them that were taken, as many comers would have had to wait. */
static uint32_t key_count(const struct search *search, struct stay *const *begins,
			  struct stay *const *ends)
{
	uint64_t taken = 0, waits = 0;

	for (size_t i = 0; i < search->count; i++) {
		struct stay came = { .from_ns = begins[i]->came_ns, .to_ns = begins[i]->came_ns };
		const struct stay *key = &came;
		size_t begun =
			bound_lower(&key, begins, search->count, sizeof(*begins), compare_begins);
		size_t ended = bound_lower(&key, ends, search->count, sizeof(*ends), compare_ends);

		taken += begun > ended ? begun - ended : 0;
		waits += has_waited(begins[i]);
	}
	uint64_t count = (taken + waits / 2) / waits;

	return count < 1 ? 1 : count > search->count ? (uint32_t)search->count : (uint32_t)count;
}

static void keys_give(struct search *search)
{
	struct stay **begins = order(search, compare_begins), **ends = order(search, compare_ends);
	uint32_t count = key_count(search, begins, ends);
	uint32_t *taken = memory_new(count, sizeof(*taken)), first = search->keys->count;
	size_t next_end = 0;

	for (size_t i = 0; i < search->count; i++) {
		struct stay *stay = begins[i];

		for (; next_end < search->count && ends[next_end]->to_ns <= stay->from_ns;
		     next_end++)
			if (ends[next_end]->from_ns < stay->from_ns)
				taken[ends[next_end]->key]--;
		uint32_t key = hash_index((uint32_t)i) % count;
		for (uint32_t tries = 0; tries < count && taken[key]; tries++)
			key = (key + 1) % count;
		stay->key = stay->after == NO_INDEX ? key : search->stays[stay->after].key;
		taken[stay->key]++;
		search->keys->entered[stay->entered] = first + stay->key;
		search->keys->left[stay->left] = first + stay->key;
	}
	search->keys->count += count;
	free(begins);
	free(ends);
	free(taken);
}

static void condition_tries(struct search *search, uint32_t condition)
{
	if (places_find(search, condition)) {
		stays_find(search, search->monitors->conditions[condition].mutex);
		if (search->count && search->stays[search->count - 1].left == NO_INDEX)
			search->count--;
		if (are_keys(search))
			keys_give(search);
	}
	free(search->enter_sites);
	free(search->leave_sites);
}

/* By condition: something else explains its waits. To be freed. */
static bool *explained_find(const struct recording *rec, const struct monitors *monitors,
			    const struct turns *turns, const struct meetings *meetings)
{
	bool *is_explained = memory_new(monitors->condition_count, sizeof(*is_explained));

	for (size_t i = 0; i < monitors->condition_count; i++)
		is_explained[i] = monitors->conditions[i].model != PUT_NONE ||
				  monitors->conditions[i].quantum_ns;
	for (size_t i = 0; i < rec->wait_count; i++)
		if (monitors->condition_of_wait[i] != NO_INDEX &&
		    ((turns->begins && turns->begins[i] != NO_INDEX) ||
		     (meetings->of_wait && meetings->of_wait[i] != NO_INDEX)))
			is_explained[monitors->condition_of_wait[i]] = true;
	return is_explained;
}

void keys_build(struct keys *keys, const struct recording *rec, const struct monitors *monitors,
		const struct turns *turns, const struct meetings *meetings)
{
	struct search search = { .rec = rec, .monitors = monitors, .keys = keys };
	bool *is_explained = explained_find(rec, monitors, turns, meetings);

	*keys = (struct keys){ .entered = memory_new_indexes(monitors->section_count),
			       .left = memory_new_indexes(monitors->section_count) };
	monitors_uses_build(&search.uses, monitors, rec);
	search.stay_of = memory_new_indexes(monitors->section_count);
	search.rank_of = memory_new(rec->thread_count, sizeof(uint32_t));
	for (uint32_t i = 0; i < monitors->condition_count; i++)
		if (!is_explained[i])
			condition_tries(&search, i);
	if (!keys->count)
		keys_free(keys);
	monitors_uses_free(&search.uses);
	free(is_explained);
	free(search.stays);
	free(search.stay_of);
	free(search.rank_of);
}

void keys_free(struct keys *keys)
{
	free(keys->entered);
	free(keys->left);
	*keys = (struct keys){ .count = 0 };
}
