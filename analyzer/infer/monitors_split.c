/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells apart the things that one condition variable stands for.
 *
 * A program may have one condition for all that happens to a structure: items are there, and there
 * is room. Everyone is woken, and looks. Then it stands for as many things as there are groups of
 * places that have nothing to do with each other.
 *
 * Method. One count of tokens for all that a condition is for is what tokens.c looks for first.
 * Where none obeys, or those who put take as well, the condition is in doubt. A wait counts if
 * the section had what it waited for after it: those before it ended in vain. It ties the section's
 * place to that of the signal that ended it. Places that are tied, directly or by way of
 * others, are one group. Each group becomes a condition of its own. So do the signals of threads
 * that take, if they let nobody go on. A place at which threads wait, and signal to their own
 * sort, is a meeting or a turn: its condition stays whole. So does one with a wait or a signal that
 * belongs to no group.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "base/memory.h"
#include "monitors_parts.h"

#include <stdlib.h>

/* A condition of more places is whatever its monitor is for. */
enum { PLACES_MAX = 32 };

struct place {
	uint64_t site;
	bool signals; /* else it waits */
	bool is_idle; /* its signals let nobody go on */
	uint32_t group;
};

struct split {
	struct monitors *monitors;
	const struct recording *rec;
	uint32_t kind;         /* of sites, by which places are told apart */
	const uint32_t *waits; /* on the condition */
	size_t wait_count;
	const uint32_t *links; /* its signals */
	size_t link_count;
	const uint32_t *sections; /* of its mutex */
	size_t section_count;
	struct place places[PLACES_MAX];
	uint32_t ties[PLACES_MAX]
		     [PLACES_MAX]; /* how often: from one that waits to one that signals */
	size_t place_count;
};

static uint64_t site_of(const struct split *split, uint32_t section)
{
	return section == NO_INDEX ? 0 : split->monitors->sections[section].site[split->kind];
}

static uint64_t waiting_site(const struct split *split, uint32_t wait)
{
	return site_of(split, split->monitors->section_of_wait[wait]);
}

static uint64_t signalling_site(const struct split *split, uint32_t link)
{
	return site_of(split, split->monitors->signals[link].section);
}

/* PLACES_MAX: there is none, or there are too many. */
static size_t place_find(const struct split *split, uint64_t site, bool signals)
{
	for (size_t i = 0; i < split->place_count; i++)
		if (split->places[i].site == site && split->places[i].signals == signals)
			return i;
	return PLACES_MAX;
}

static size_t place_add(struct split *split, uint64_t site, bool signals)
{
	size_t i = place_find(split, site, signals);

	if (i < PLACES_MAX || !site || split->place_count == PLACES_MAX)
		return i;
	split->places[split->place_count] =
		(struct place){ site, signals, false, (uint32_t)split->place_count };
	return split->place_count++;
}

/* --- who waits for whom --- */

static bool ties_count(struct split *split)
{
	for (size_t i = 0; i < split->wait_count; i++) {
		uint32_t wait = split->waits[i], link = split->monitors->waking_link[wait];
		size_t from = place_add(split, waiting_site(split, wait), false);

		if (from == PLACES_MAX)
			return false;
		if (link == NO_INDEX || split->monitors->met_by_wait[wait] != wait)
			continue;
		size_t to = place_add(split, signalling_site(split, link), true);
		if (to == PLACES_MAX)
			return false;
		split->ties[from][to]++;
	}
	return true;
}

/* Few of what ends the waits there may be mistaken, as tokens may be. */
static bool is_tied(const struct split *split, size_t from, size_t to)
{
	double all = 0;

	for (size_t i = 0; i < split->place_count; i++)
		all += split->ties[from][i];
	return split->ties[from][to] > assume.token_misfits * all;
}

static void groups_join(struct split *split, uint32_t one, uint32_t other)
{
	for (size_t i = 0; i < split->place_count; i++)
		if (split->places[i].group == other)
			split->places[i].group = one;
}

static void groups_find(struct split *split)
{
	for (size_t from = 0; from < split->place_count; from++)
		for (size_t to = 0; to < split->place_count; to++)
			if (is_tied(split, from, to))
				groups_join(split, split->places[from].group,
					    split->places[to].group);
}

static bool lets_anybody_go(const struct split *split, size_t place)
{
	for (size_t i = 0; i < split->place_count; i++)
		if (is_tied(split, i, place))
			return true;
	return false;
}

/* A signal that was given seldom, as when a queue is closed, is for those that it let go most. */
static void seldom_join(struct split *split)
{
	for (size_t to = 0; to < split->place_count; to++) {
		size_t most = 0;

		if (!split->places[to].signals || lets_anybody_go(split, to) ||
		    place_find(split, split->places[to].site, false) < PLACES_MAX)
			continue;
		for (size_t from = 1; from < split->place_count; from++)
			if (split->ties[from][to] > split->ties[most][to])
				most = from;
		groups_join(split, split->places[most].group, split->places[to].group);
	}
}

/* Threads that take something tell others that there is room, and none of them needs any. */
static bool idle_find(struct split *split)
{
	for (size_t i = 0; i < split->link_count; i++) {
		uint64_t site = signalling_site(split, split->links[i]);
		bool takes = site && place_find(split, site, false) < PLACES_MAX;
		size_t at = takes ? place_add(split, site, true) : PLACES_MAX;

		if (takes && at == PLACES_MAX)
			return false;
		if (takes)
			split->places[at].is_idle = !lets_anybody_go(split, at);
	}
	return true;
}

static bool is_whole(const struct split *split)
{
	for (size_t i = 1; i < split->place_count; i++)
		if (split->places[i].group != split->places[0].group)
			return false;
	return true;
}

/* Each of the groups has places of both sorts, and none that is of both. */
static bool are_apart(const struct split *split)
{
	for (size_t i = 0; i < split->place_count; i++) {
		const struct place *place = &split->places[i];
		bool has_other = place->is_idle;

		for (size_t k = 0; k < split->place_count; k++) {
			const struct place *other = &split->places[k];

			if (other->group != place->group || other->signals == place->signals)
				continue;
			if (other->site == place->site)
				return false;
			has_other = true;
		}
		if (!has_other)
			return false;
	}
	return true;
}

/* A signal that ended no wait is for those who come afterwards, as when a queue is closed.
 * PLACES_MAX: nobody does, or those of several groups. */
static uint32_t group_after(const struct split *split, uint64_t at_ns)
{
	uint32_t group = PLACES_MAX;

	for (size_t i = 0; i < split->section_count; i++) {
		const struct section *section = &split->monitors->sections[split->sections[i]];
		size_t at = section->end_ns > at_ns
				    ? place_find(split, site_of(split, split->sections[i]), false)
				    : PLACES_MAX;

		if (at == PLACES_MAX || split->places[at].group == group)
			continue;
		if (group != PLACES_MAX)
			return PLACES_MAX;
		group = split->places[at].group;
	}
	return group;
}

static bool all_belong(struct split *split)
{
	for (size_t i = 0; i < split->link_count; i++) {
		uint64_t site = signalling_site(split, split->links[i]);

		if (place_find(split, site, true) < PLACES_MAX)
			continue;
		uint32_t group = group_after(split, split->rec->links[split->links[i]].at_ns);
		size_t at = group < PLACES_MAX ? place_add(split, site, true) : PLACES_MAX;
		if (at == PLACES_MAX)
			return false;
		split->places[at].group = group;
	}
	return true;
}

/* --- a condition for each --- */

static uint32_t condition_new(struct monitors *monitors, uint32_t like)
{
	size_t capacity = monitors->condition_count; /* grown one at a time: there are few */

	monitors->conditions = memory_grow(monitors->conditions, &capacity, capacity + 1,
					   sizeof(*monitors->conditions));
	monitors->conditions[monitors->condition_count] = monitors->conditions[like];
	return (uint32_t)monitors->condition_count++;
}

static void group_leaves(const struct split *split, uint32_t group, uint32_t condition)
{
	struct monitors *monitors = split->monitors;

	for (size_t i = 0; i < split->wait_count; i++) {
		size_t at = place_find(split, waiting_site(split, split->waits[i]), false);

		if (split->places[at].group == group)
			monitors->condition_of_wait[split->waits[i]] = condition;
	}
	for (size_t i = 0; i < split->link_count; i++) {
		size_t at = place_find(split, signalling_site(split, split->links[i]), true);

		if (split->places[at].group == group)
			monitors->signals[split->links[i]].condition = condition;
	}
}

/* False: places of this kind do not tell things apart. */
static bool condition_split(struct split *split, uint32_t condition)
{
	if (!ties_count(split))
		return false;
	groups_find(split);
	seldom_join(split);
	if (!idle_find(split) || is_whole(split) || !are_apart(split) || !all_belong(split))
		return false;
	for (uint32_t group = 0; group < split->place_count; group++)
		if (split->places[group].group == group && split->places[0].group != group)
			group_leaves(split, group, condition_new(split->monitors, condition));
	return true;
}

/* By condition: no count of tokens explains it, or one that says nothing, as the sections that put
 * tokens take some, too. To be freed. */
static bool *doubts_find(const struct monitors *monitors, const struct recording *rec)
{
	bool *is_in_doubt = memory_new(monitors->condition_count, sizeof(*is_in_doubt));

	for (size_t i = 0; i < monitors->condition_count; i++)
		is_in_doubt[i] = monitors->conditions[i].violations > assume.token_misfits;
	for (size_t i = 0; i < rec->link_count; i++) {
		const struct signal_role *role = &monitors->signals[i];

		if (role->condition != NO_INDEX && role->section != NO_INDEX &&
		    monitors->sections[role->section].take == role->condition)
			is_in_doubt[role->condition] = true;
	}
	return is_in_doubt;
}

bool monitors_split(struct monitors *monitors, const struct recording *rec)
{
	struct monitors_uses uses;
	size_t count = monitors->condition_count;
	bool *is_in_doubt = doubts_find(monitors, rec);

	monitors_uses_build(&uses, monitors, rec);
	for (uint32_t c = 0; c < count; c++) {
		for (uint32_t kind = 0; is_in_doubt[c] && kind < assume.site_kinds; kind++) {
			struct split split = { .monitors = monitors, .rec = rec, .kind = kind };

			split.waits = buckets_of(&uses.waits, c, &split.wait_count);
			split.links = buckets_of(&uses.links, c, &split.link_count);
			split.sections = buckets_of(&uses.sections, monitors->conditions[c].mutex,
						    &split.section_count);
			if (condition_split(&split, c))
				break;
		}
	}
	monitors_uses_free(&uses);
	free(is_in_doubt);
	return monitors->condition_count > count;
}
