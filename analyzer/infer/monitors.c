/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the sections of every mutex that goes with a condition, and ties waits to signals.
 *
 * Method. A mutex belongs to a condition when a hold of the mutex follows a wait on the condition
 * at once, as pthread_cond_wait takes it again. Each thread's timeline is then cut into sections.
 * A section is a hold and, for as long as a hold ends in a wait, that wait and the hold after it.
 * Sites of sections are found by monitors_sites.c, the signals that ended waits by
 * monitors_wakes.c, tokens by tokens.c.
 *
 * One thread.
 */
#include "base/memory.h"
#include "format.h"
#include "monitors_parts.h"
#include "recording/addresses.h"
#include "recording/releases.h"
#include "tokens.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { RECENT_SECTIONS = 16 }; /* mutexes with a condition that one thread has used last */

struct walk {
	struct monitors *monitors;
	const struct recording *rec;
	struct addresses *mutexes;
	struct addresses *conditions;
	size_t section_capacity;
	uint32_t thread;
	uint32_t closed;    /* section whose hold ended at the last moment, NO_INDEX = none */
	uint32_t suspended; /* section that waits, or waited until the last moment */
	uint32_t left;      /* section that was the thread's last doing, NO_INDEX = none */
	uint32_t recent[RECENT_SECTIONS];
	size_t recent_count;
};

static bool is_wait_moment(const struct moment *moment)
{
	return moment_type(moment) == MOMENT_WAIT_BEGIN ||
	       moment_type(moment) == MOMENT_WAIT_POINT || moment_type(moment) == MOMENT_WAIT_END;
}

static bool is_mutex_hold(const struct recording *rec, uint32_t op)
{
	return rec->ops[op].kind == KIND_HOLD && rec->extras &&
	       strncmp(rec->strings[rec->ops[op].name], "rwlock", 6) != 0;
}

/* --- which mutex goes with which condition --- */

static void pair_up(struct walk *walk, uint32_t process, uint64_t condition, uint64_t mutex)
{
	struct monitors *monitors = walk->monitors;
	uint32_t c = addresses_add(walk->conditions, process, condition);
	uint32_t m = addresses_add(walk->mutexes, process, mutex);

	if (c == monitors->condition_count) {
		size_t capacity = c; /* grown one at a time: there are few */

		monitors->conditions = memory_grow(monitors->conditions, &capacity, c + 1u,
						   sizeof(*monitors->conditions));
		monitors->conditions[monitors->condition_count++] =
			(struct condition){ .address = condition,
					    .process = process,
					    .mutex = m,
					    .gate_ns = UINT64_MAX,
					    .least = 1 };
	}
}

static void find_pairs(struct walk *walk, const struct timeline *timeline, uint32_t thread)
{
	const struct recording *rec = walk->rec;

	for (size_t i = timeline->first[thread] + 1; i < timeline->first[thread + 1]; i++) {
		const struct moment *wait = &timeline->moments[i - 1],
				    *hold = &timeline->moments[i];

		if (moment_type(wait) != MOMENT_WAIT_END && moment_type(wait) != MOMENT_WAIT_POINT)
			continue;
		if (rec->waits[wait->index].reason != REASON_COND)
			continue;
		if (moment_type(hold) != MOMENT_OP_BEGIN && moment_type(hold) != MOMENT_OP_POINT)
			continue;
		if (is_mutex_hold(rec, hold->index))
			pair_up(walk, monitors_process(rec, thread),
				rec->waits[wait->index].address, rec->extras[hold->index].address);
	}
}

/* --- sections --- */

static uint32_t section_new(struct walk *walk, uint32_t mutex, uint64_t start_ns)
{
	struct monitors *monitors = walk->monitors;
	struct section section = { .start_ns = start_ns,
				   .end_ns = start_ns,
				   .first_signal_ns = UINT64_MAX,
				   .first_wake_ns = UINT64_MAX,
				   .thread = walk->thread,
				   .mutex = mutex,
				   .first_hold = NO_INDEX,
				   .last_hold = NO_INDEX,
				   .first_wait = NO_INDEX,
				   .last_wait = NO_INDEX,
				   .unmet_wait = NO_INDEX,
				   .take = NO_INDEX,
				   .put = NO_INDEX };

	monitors->sections = memory_grow(monitors->sections, &walk->section_capacity,
					 monitors->section_count + 1, sizeof(section));
	monitors->sections[monitors->section_count] = section;
	return (uint32_t)monitors->section_count++;
}

static void remember(struct walk *walk, uint32_t section)
{
	const struct section *sections = walk->monitors->sections;

	assert(section < walk->monitors->section_count);
	for (size_t i = 0; i < walk->recent_count; i++) {
		if (sections[walk->recent[i]].mutex == sections[section].mutex) {
			walk->recent[i] = section;
			return;
		}
	}
	if (walk->recent_count < RECENT_SECTIONS)
		walk->recent_count++;
	walk->recent[walk->recent_count - 1] = section;
}

static uint32_t last_section(const struct walk *walk, uint32_t mutex)
{
	for (size_t i = 0; i < walk->recent_count; i++)
		if (walk->monitors->sections[walk->recent[i]].mutex == mutex)
			return walk->recent[i];
	return NO_INDEX;
}

static void hold_begins(struct walk *walk, uint32_t op)
{
	struct monitors *monitors = walk->monitors;
	const struct rec_op *hold = &walk->rec->ops[op];
	uint32_t mutex = addresses_find(walk->mutexes, monitors_process(walk->rec, walk->thread),
					walk->rec->extras[op].address);

	if (mutex == NO_INDEX)
		return;
	uint32_t section = walk->suspended;
	if (section == NO_INDEX || monitors->sections[section].mutex != mutex) {
		section = section_new(walk, mutex, hold->start_ns);
		if (walk->left != NO_INDEX && monitors->sections[walk->left].mutex == mutex)
			monitors->sections[walk->left].goes_again = true;
		monitors_site_set(walk->rec, walk->rec->extras[op].stack, walk->thread,
				  monitors->sections[section].site);
		monitors->sections[section].first_hold = op;
	}
	walk->suspended = NO_INDEX;
	monitors->sections[section].last_hold = op;
	monitors->sections[section].end_ns = hold->end_ns;
	monitors->section_of_hold[op] = section;
	remember(walk, section);
}

static void wait_begins(struct walk *walk, uint32_t index)
{
	struct monitors *monitors = walk->monitors;
	const struct rec_wait *wait = &walk->rec->waits[index];
	uint32_t condition =
		wait->reason != REASON_COND
			? NO_INDEX
			: addresses_find(walk->conditions,
					 monitors_process(walk->rec, walk->thread), wait->address);

	if (condition == NO_INDEX)
		return;
	uint32_t mutex = monitors->conditions[condition].mutex;
	if (walk->closed == NO_INDEX || monitors->sections[walk->closed].mutex != mutex)
		walk->closed = section_new(walk, mutex, wait->start_ns);
	walk->suspended = walk->closed;
	struct section *section = &monitors->sections[walk->suspended];
	if (section->first_wait == NO_INDEX)
		section->first_wait = index;
	if (!section->site[SITE_FUNCTION]) /* the lock call's callers were not looked for */
		section->site[SITE_FUNCTION] =
			monitors_function_site(walk->rec, wait->stack, walk->thread);
	if (section->unmet_wait != NO_INDEX)
		monitors->met_by_wait[section->unmet_wait] = index;
	section->last_wait = section->unmet_wait = index;
	section->end_ns = wait->end_ns;
	monitors->section_of_wait[index] = walk->suspended;
}

/* Of all sections that the thread is in. */
static void sections_wake(struct walk *walk, uint64_t at_ns)
{
	for (size_t i = 0; i < walk->recent_count; i++) {
		struct section *section = &walk->monitors->sections[walk->recent[i]];

		if (section->end_ns >= at_ns && section->first_wake_ns > at_ns)
			section->first_wake_ns = at_ns;
	}
}

static void link_happens(struct walk *walk, uint32_t index)
{
	struct monitors *monitors = walk->monitors;
	const struct rec_link *link = &walk->rec->links[index];

	if (link->kind != LINK_WAKE)
		return;
	uint32_t condition = addresses_find(
		walk->conditions, monitors_process(walk->rec, walk->thread), link->address);
	if (condition == NO_INDEX)
		return;
	sections_wake(walk, link->at_ns);
	monitors->signals[index].condition = condition;
	uint32_t section = last_section(walk, monitors->conditions[condition].mutex);
	if (section != NO_INDEX && monitors->sections[section].first_signal_ns > link->at_ns)
		monitors->sections[section].first_signal_ns = link->at_ns;
	if (section != NO_INDEX)
		monitors->sections[section].unmet_wait = NO_INDEX;
	monitors->signals[index].section = section;
}

static void cut_thread(struct walk *walk, const struct timeline *timeline, uint32_t thread)
{
	walk->thread = thread;
	walk->closed = walk->suspended = walk->left = NO_INDEX;
	walk->recent_count = 0;
	for (size_t i = timeline->first[thread]; i < timeline->first[thread + 1]; i++) {
		const struct moment *moment = &timeline->moments[i];
		enum moment_type type = moment_type(moment);
		uint32_t closed = NO_INDEX;

		if (is_wait_moment(moment)) {
			if (type != MOMENT_WAIT_END)
				wait_begins(walk, moment->index);
		} else if (type == MOMENT_LINK) {
			link_happens(walk, moment->index);
			closed = walk->closed;
		} else if (is_mutex_hold(walk->rec, moment->index)) {
			if (type != MOMENT_OP_END)
				hold_begins(walk, moment->index);
			if (type != MOMENT_OP_BEGIN)
				closed = walk->monitors->section_of_hold[moment->index];
		} else if (type != MOMENT_OP_END) {
			walk->suspended = NO_INDEX;
		}
		walk->closed = closed;
		if (closed != NO_INDEX || !is_wait_moment(moment))
			walk->left = closed;
	}
}

/* From the wait that comes next in its section, NO_INDEX for none. */
static void find_meeting_waits(struct monitors *monitors, size_t wait_count)
{
	uint32_t *met_by = monitors->met_by_wait;

	for (uint32_t i = 0; i < wait_count; i++) {
		uint32_t last = i, next;

		while (met_by[last] != NO_INDEX && met_by[last] != last)
			last = met_by[last];
		met_by[last] = last;
		for (uint32_t at = i; at != last; at = next) {
			next = met_by[at];
			met_by[at] = last;
		}
	}
}

static void find_conditions_of_waits(struct walk *walk)
{
	const struct recording *rec = walk->rec;

	for (size_t i = 0; i < rec->wait_count; i++) {
		const struct rec_wait *wait = &rec->waits[i];

		walk->monitors->condition_of_wait[i] =
			wait->reason != REASON_COND || wait->thread == NO_INDEX
				? NO_INDEX
				: addresses_find(walk->conditions,
						 monitors_process(rec, wait->thread),
						 wait->address);
	}
}

static void fill(uint32_t *indexes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		indexes[i] = NO_INDEX;
}

static void prepare(struct monitors *monitors, const struct recording *rec)
{
	memset(monitors, 0, sizeof(*monitors));
	monitors->section_of_hold = memory_new(rec->op_count, sizeof(uint32_t));
	monitors->section_of_wait = memory_new(rec->wait_count, sizeof(uint32_t));
	monitors->condition_of_wait = memory_new(rec->wait_count, sizeof(uint32_t));
	monitors->waking_link = memory_new(rec->wait_count, sizeof(uint32_t));
	monitors->met_by_wait = memory_new(rec->wait_count, sizeof(uint32_t));
	monitors->signals = memory_new(rec->link_count, sizeof(*monitors->signals));
	fill(monitors->section_of_hold, rec->op_count);
	fill(monitors->section_of_wait, rec->wait_count);
	fill(monitors->waking_link, rec->wait_count);
	fill(monitors->met_by_wait, rec->wait_count);
	for (size_t i = 0; i < rec->link_count; i++)
		monitors->signals[i] = (struct signal_role){ NO_INDEX, NO_INDEX, false,
							     monitors_wakes_all(&rec->links[i]) };
}

void monitors_build(struct monitors *monitors, const struct recording *rec,
		    const struct timeline *timeline, const struct releases *releases)
{
	struct addresses mutexes = { 0 }, conditions = { 0 };
	struct walk walk = {
		.monitors = monitors, .rec = rec, .mutexes = &mutexes, .conditions = &conditions
	};

	assert(timeline->thread_count == rec->thread_count);
	prepare(monitors, rec);
	for (uint32_t t = 0; t < timeline->thread_count; t++)
		find_pairs(&walk, timeline, t);
	monitors->mutex_count = mutexes.count;
	find_conditions_of_waits(&walk);
	for (uint32_t t = 0; monitors->condition_count && t < timeline->thread_count; t++)
		cut_thread(&walk, timeline, t);
	find_meeting_waits(monitors, rec->wait_count);
	monitors_complete_sites(monitors, rec);
	monitors_tie_waits(monitors, rec);
	tokens_find(monitors, rec, releases);
	if (monitors_split(monitors, rec))
		tokens_find(monitors, rec, releases);
	addresses_free(&mutexes);
	addresses_free(&conditions);
}

bool *monitors_puts(const struct monitors *monitors, const struct recording *rec)
{
	bool *puts = memory_new(rec->op_count, sizeof(*puts));

	for (size_t i = 0; i < monitors->section_count; i++) {
		const struct section *section = &monitors->sections[i];

		if (section->put != NO_INDEX && section->last_hold != NO_INDEX &&
		    put_by_section(monitors->conditions[section->put].model))
			puts[section->last_hold] = true;
	}
	for (size_t i = 0; i < rec->link_count; i++) {
		const struct signal_role *role = &monitors->signals[i];
		uint32_t hold = role->section == NO_INDEX
					? NO_INDEX
					: monitors->sections[role->section].last_hold;

		if (hold != NO_INDEX && role->condition != NO_INDEX && !role->is_gate &&
		    monitors->conditions[role->condition].model == PUT_BY_SIGNAL)
			puts[hold] = true;
	}
	return puts;
}

static uint32_t condition_of_wait(const void *context, size_t wait)
{
	return ((const struct monitors *)context)->condition_of_wait[wait];
}

static uint32_t condition_of_link(const void *context, size_t link)
{
	return ((const struct monitors *)context)->signals[link].condition;
}

static uint32_t mutex_of_section(const void *context, size_t section)
{
	return ((const struct monitors *)context)->sections[section].mutex;
}

void monitors_uses_build(struct monitors_uses *uses, const struct monitors *monitors,
			 const struct recording *rec)
{
	size_t conditions = monitors->condition_count;

	buckets_build(&uses->waits, conditions, rec->wait_count, condition_of_wait, monitors);
	buckets_build(&uses->links, conditions, rec->link_count, condition_of_link, monitors);
	buckets_build(&uses->sections, monitors->mutex_count, monitors->section_count,
		      mutex_of_section, monitors);
}

void monitors_uses_free(struct monitors_uses *uses)
{
	buckets_free(&uses->waits);
	buckets_free(&uses->links);
	buckets_free(&uses->sections);
}

void monitors_free(struct monitors *monitors)
{
	free(monitors->conditions);
	free(monitors->sections);
	free(monitors->section_of_hold);
	free(monitors->section_of_wait);
	free(monitors->condition_of_wait);
	free(monitors->waking_link);
	free(monitors->met_by_wait);
	free(monitors->signals);
	memset(monitors, 0, sizeof(*monitors));
}
