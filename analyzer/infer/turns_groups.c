/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds which turns are those of a group, by rules that the recording obeys; turns.c has them.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "base/memory.h"
#include "base/percentile.h"
#include "turns_parts.h"

#include <math.h>
#include <stdlib.h>

static int compare_turns(const void *left, const void *right)
{
	const struct found_turn *a = left, *b = right;

	if (a->lock != b->lock)
		return a->lock < b->lock ? -1 : 1;
	if (a->condition != b->condition)
		return a->condition < b->condition ? -1 : 1;
	if (a->last_call != b->last_call)
		return a->last_call < b->last_call ? -1 : 1;
	return a->turn.end_ns < b->turn.end_ns ? -1 : a->turn.end_ns > b->turn.end_ns;
}

/* Evidence for and against some turns being those of a group. */
struct trial {
	uint32_t first; /* turn */
	uint32_t count;
	size_t visits;
	size_t misfits;
	size_t proofs;    /* visits that lasted through a turn which was under way */
	uint32_t maker;   /* thread, NO_INDEX = several make turns */
	bool maker_waits; /* in a visit */
	uint32_t comers;  /* threads that visit */
};

/* Turns get numbers in order of group and time; each gets the number of its trial. */
static struct trial *trials_prepare(struct turn_search *search, size_t *count)
{
	uint32_t *place_of = memory_new(search->turn_count, sizeof(*place_of));
	struct trial *trials = memory_new(search->turn_count, sizeof(*trials));

	for (uint32_t i = 0; i < search->turn_count; i++)
		search->turns[i].turn.group = i;
	qsort(search->turns, search->turn_count, sizeof(*search->turns), compare_turns);
	*count = 0;
	for (uint32_t i = 0; i < search->turn_count; i++) {
		struct found_turn *found = &search->turns[i];

		place_of[found->turn.group] = i;
		if (!i || !turns_are_of_one_group(found, found - 1))
			trials[(*count)++] =
				(struct trial){ .first = i, .maker = found->turn.thread };
		struct trial *trial = &trials[*count - 1];
		found->turn.group = (uint32_t)(*count - 1);
		trial->misfits += trial->count && found->turn.begin_ns < found[-1].turn.end_ns;
		trial->maker = trial->maker == found->turn.thread ? trial->maker : NO_INDEX;
		trial->count++;
	}
	for (size_t i = 0; i < search->visit_count; i++) {
		struct visit *visit = &search->visits[i];

		visit->turn = place_of[visit->turn];
		search->turns[visit->turn].visits++;
		visit->leads = visit->leads == NO_INDEX ? NO_INDEX : place_of[visit->leads];
	}
	free(place_of);
	return trials;
}

/* The first of the turns that began when the thread had come. */
static uint32_t first_after(const struct turn_search *search, const struct trial *trial,
			    uint64_t from_ns)
{
	uint32_t from = trial->first, to = from + trial->count;

	while (from < to) {
		uint32_t middle = (from + to) / 2;

		if (search->turns[middle].turn.begin_ns < from_ns)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* The thread came while a turn was under way, and the next one was for it, too. A thread that is
 * let go alone, and waits on at once, was told of a turn to make: another one made it. */
static bool is_proof(const struct turn_search *search, const struct trial *trial,
		     const struct visit *visit, uint32_t expected)
{
	if (visit->leads != NO_INDEX || expected == trial->first || expected != visit->turn ||
	    (visit->waits_on && search->turns[visit->turn].visits == 1))
		return false;
	return search->turns[expected - 1].turn.end_ns > visit->from_ns;
}

static void visit_tries(struct turn_search *search, struct trial *trials, const struct visit *visit)
{
	struct trial *trial = &trials[search->turns[visit->turn].turn.group];
	uint32_t expected = first_after(search, trial, visit->from_ns);
	bool is_misfit = visit->leads == NO_INDEX
				 ? expected < visit->turn ||
					   first_after(search, trial, visit->came_ns) > visit->turn
				 : visit->leads != visit->turn + 1;

	trial->maker_waits = trial->maker_waits || trial->maker == visit->thread;
	if (!search->turns[visit->turn].turn.begin_ns)
		return;
	trial->visits++;
	trial->misfits += is_misfit;
	trial->proofs += !is_misfit && is_proof(search, trial, visit, expected);
}

/* A thread that comes to some turns. */
struct comer {
	uint32_t trial;
	uint32_t visits;
	bool makes_turns;
};

/* Where several threads make turns, whoever comes makes one now and then. One that comes often and
 * never does collects what the others do. */
static void collectors_misfit(const struct turn_search *search, struct trial *trials)
{
	struct addresses threads = { 0 };
	struct comer *comers = memory_new(search->visit_count, sizeof(*comers));

	for (size_t i = 0; i < search->visit_count; i++) {
		const struct visit *visit = &search->visits[i];
		uint32_t trial = search->turns[visit->turn].turn.group;
		size_t known = threads.count;
		uint32_t comer = addresses_add(&threads, trial, visit->thread);

		comers[comer].trial = trial;
		comers[comer].visits++;
		trials[trial].comers += threads.count > known;
	}
	for (size_t i = 0; i < search->turn_count; i++) {
		const struct turn *turn = &search->turns[i].turn;
		uint32_t comer = addresses_find(&threads, turn->group, turn->thread);

		if (comer != NO_INDEX)
			comers[comer].makes_turns = true;
	}
	for (size_t i = 0; i < threads.count; i++) {
		const struct comer *comer = &comers[i];
		struct trial *trial = &trials[comer->trial];
		double chance = pow(1 - 1.0 / trial->comers, comer->visits);

		if (trial->maker == NO_INDEX && !comer->makes_turns &&
		    chance < assume.token_misfits)
			trial->misfits += comer->visits;
	}
	free(comers);
	addresses_free(&threads);
}

static bool is_group(const struct trial *trial)
{
	return (double)trial->proofs > assume.token_misfits * (double)trial->visits &&
	       (double)trial->misfits <=
		       assume.token_misfits * (double)(trial->visits + trial->count);
}

/* --- the answer --- */

static void tables_prepare(struct turns *turns, const struct recording *rec)
{
	turns->begins = memory_new_indexes(rec->wait_count);
	turns->ends = memory_new_indexes(rec->wait_count);
	turns->led_by_wait = memory_new_indexes(rec->wait_count);
	turns->opened_by = memory_new_indexes(rec->op_count);
	turns->asked_by = memory_new_indexes(rec->op_count);
	turns->closed_by = memory_new_indexes(rec->op_count);
	turns->closed_by_link = memory_new_indexes(rec->link_count);
	turns->is_idle = memory_new(rec->wait_count, sizeof(*turns->is_idle));
	turns->is_call = memory_new(rec->link_count, sizeof(*turns->is_call));
}

/* The turns of a group; the first one may have begun before the recording, and is left out. */
static void group_add(struct turns *turns, struct turn_search *search, const struct trial *trial)
{
	uint32_t group = (uint32_t)turns->group_count++;

	turns->groups[group].is_led = trial->maker == NO_INDEX || trial->maker_waits;
	for (uint32_t i = trial->first; i < trial->first + trial->count; i++) {
		struct turn *turn = &search->turns[i].turn;

		turn->group = NO_INDEX;
		if (!turn->begin_ns)
			continue;
		turn->group = group;
		turn->items = turns->groups[group].is_led;
		if (turn->closing_hold != NO_INDEX)
			turns->closed_by[turn->closing_hold] = i;
		else
			turns->closed_by_link[turn->closing_link] = i;
		if (turn->opening != NO_INDEX)
			turns->opened_by[turn->opening] = i;
	}
}

static void latency_find(struct turns *turns, const struct turn_search *search, uint32_t group,
			 uint64_t *latencies_ns)
{
	size_t count = 0;

	for (size_t i = 0; i < search->visit_count; i++) {
		const struct visit *visit = &search->visits[i];
		const struct turn *turn = &search->turns[visit->turn].turn;
		uint64_t end_ns = turn->closing_hold == NO_INDEX
					  ? turn->end_ns
					  : search->rec->ops[turn->closing_hold].end_ns;

		if (turn->group == group)
			latencies_ns[count++] = visit->to_ns > end_ns ? visit->to_ns - end_ns : 0;
	}
	if (count)
		turns->groups[group].latency_ns = percentile_select(latencies_ns, count, count / 2);
}

static void visit_counts(struct turns *turns, struct turn_search *search, const struct visit *visit)
{
	struct turn *turn = &search->turns[visit->turn].turn;

	if (turn->group == NO_INDEX)
		return;
	turns->begins[visit->first_wait] = turn->group;
	turns->ends[visit->last_wait] = turn->group;
	if (visit->asks != NO_INDEX)
		turns->asked_by[visit->asks] = turn->group;
	if (visit->leads != NO_INDEX)
		turns->led_by_wait[visit->first_wait] = visit->leads;
	else
		turn->items++;
}

static void groups_make(struct turns *turns, struct turn_search *search, struct trial *trials,
			size_t count)
{
	uint64_t *latencies_ns = memory_new(search->visit_count, sizeof(*latencies_ns));

	turns->groups = memory_new(count, sizeof(*turns->groups));
	for (size_t i = 0; i < count; i++) {
		if (is_group(&trials[i])) {
			group_add(turns, search, &trials[i]);
			continue;
		}
		for (uint32_t k = 0; k < trials[i].count; k++)
			search->turns[trials[i].first + k].turn.group = NO_INDEX;
	}
	for (size_t i = 0; i < search->visit_count; i++)
		visit_counts(turns, search, &search->visits[i]);
	for (uint32_t i = 0; i < turns->group_count; i++)
		latency_find(turns, search, i, latencies_ns);
	turns->turns = memory_new(search->turn_count, sizeof(*turns->turns));
	for (turns->count = 0; turns->count < search->turn_count; turns->count++)
		turns->turns[turns->count] = search->turns[turns->count].turn;
	free(latencies_ns);
}

/* Threads that come to a group. To be freed. */
static bool *visitors(const struct turn_search *search, uint32_t group)
{
	bool *come = memory_new(search->rec->thread_count, sizeof(*come));

	for (size_t i = 0; i < search->visit_count; i++)
		if (search->turns[search->visits[i].turn].turn.group == group)
			come[search->visits[i].thread] = true;
	return come;
}

/* Between its turns the maker of all waits until a thread comes: one wakes it, or no turn was ever
 * made for nobody. */
static void idle_find(struct turns *turns, const struct turn_search *search,
		      const struct trial *trial)
{
	const struct recording *rec = search->rec;
	uint32_t end = trial->first + trial->count;
	uint32_t group = search->turns[end - 1].turn.group;
	bool *come = visitors(search, group), is_idle = false, is_needed = true;

	for (uint32_t i = trial->first; i < end; i++)
		is_needed = is_needed && (search->turns[i].turn.group == NO_INDEX ||
					  search->turns[i].turn.items);
	for (uint32_t i = 0; i < rec->wait_count; i++) {
		const struct rec_wait *wait = &rec->waits[i];
		uint32_t next = first_after(search, trial, wait->start_ns);
		uint32_t link = search->monitors->waking_link[i];

		if (wait->thread != trial->maker || link == NO_INDEX || wait->timed_out ||
		    next == end || !come[rec->links[link].thread] ||
		    (next > trial->first && search->turns[next - 1].turn.end_ns > wait->start_ns))
			continue;
		turns->is_idle[i] = is_idle = true;
	}
	turns->groups[group].is_asked = is_idle || is_needed;
	free(come);
}

static void link_mark(struct turns *turns, uint32_t link)
{
	if (link != NO_INDEX)
		turns->is_call[link] = true;
}

/* Also those that ended the waits of a visit that went on. */
static void links_mark(struct turns *turns, const struct turn_search *search)
{
	for (size_t i = 0; i < search->visit_count; i++) {
		const struct visit *visit = &search->visits[i];
		uint32_t wait = visit->last_wait;

		if (turns->ends[wait] == NO_INDEX)
			continue;
		for (; wait != visit->first_wait && wait != NO_INDEX;
		     wait = search->goes_on_from[wait])
			link_mark(turns, search->monitors->waking_link[wait]);
		link_mark(turns, search->monitors->waking_link[visit->first_wait]);
	}
}

void turns_group(struct turns *turns, struct turn_search *search)
{
	size_t count;
	struct trial *trials = trials_prepare(search, &count);

	for (size_t i = 0; i < search->visit_count; i++)
		visit_tries(search, trials, &search->visits[i]);
	collectors_misfit(search, trials);
	for (size_t i = 0; i < count && !turns->begins; i++)
		if (is_group(&trials[i]))
			tables_prepare(turns, search->rec);
	if (turns->begins) {
		groups_make(turns, search, trials, count);
		links_mark(turns, search);
	}
	for (size_t i = 0; i < count; i++)
		if (is_group(&trials[i]) && trials[i].maker != NO_INDEX && !trials[i].maker_waits)
			idle_find(turns, search, &trials[i]);
	free(trials);
}
