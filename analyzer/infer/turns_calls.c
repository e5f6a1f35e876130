/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns that end in no section of a shared lock: followers are told under locks of their own, or by
 * a futex alone.
 *
 * Method. A thread makes some calls, and then tells others in a row. The last of these calls tells
 * the group: its name, and what it was for. A thread that had to wait, and then had to work, shows
 * how many calls are a turn: the usual number between the two. A thread that came and found no turn
 * under way tells nobody that it begins one. Its turn has that many calls.
 *
 * The end of a turn may wake all that wait. One of them begins the next turn, and the others look
 * and wait again. Such waits are one visit.
 *
 * One thread.
 */
#include "turns_parts.h"

#include "base/memory.h"

#include <stdlib.h>

void turns_row_waits(struct call_row *row, uint32_t wait)
{
	*row = (struct call_row){ .after_wait = wait };
}

void turns_row_calls(struct call_row *row, uint32_t op, bool is_under_lock)
{
	if (row->has_told)
		*row = (struct call_row){ .after_wait = NO_INDEX };
	row->calls[row->count++ % CALLS_KEPT] = is_under_lock ? NO_INDEX : op;
}

/* The call so many before the end of the row, from 1 on; NO_INDEX if it is not known. */
static uint32_t call_at(const struct call_row *row, uint32_t from_end)
{
	return !from_end || from_end > CALLS_KEPT || from_end > row->count
		       ? NO_INDEX
		       : row->calls[(row->count - from_end) % CALLS_KEPT];
}

uint64_t turns_row_called_ns(const struct call_row *row, const struct recording *rec)
{
	uint32_t last = call_at(row, 1);

	return last == NO_INDEX || row->has_told ? 0 : rec->ops[last].end_ns;
}

uint32_t turns_row_waited(const struct call_row *row)
{
	return row->count ? NO_INDEX : row->after_wait;
}

bool turns_row_tells(struct turn_search *search, struct call_row *row, uint32_t link, uint32_t hold)
{
	uint32_t last = call_at(row, 1);

	if (last == NO_INDEX)
		return false;
	if (!row->has_told) {
		const struct rec_op *op = &search->rec->ops[last];

		*turns_add(search) = (struct found_turn){
			.turn = { .end_ns = op->end_ns,
				  .thread = op->thread,
				  .opening = NO_INDEX,
				  .wait = NO_INDEX },
			.lock = NO_INDEX,
			.condition = NO_INDEX,
			.last_call = ((uint64_t)op->name << 32 | op->ident) + 1,
			.row = *row,
		};
		row->has_told = true;
		row->turn = (uint32_t)(search->turn_count - 1);
	}
	struct turn *turn = &search->turns[row->turn].turn;
	turn->closing_hold = hold;
	turn->closing_link = hold == NO_INDEX ? link : NO_INDEX;
	search->turn_of_link[link] = row->turn;
	return true;
}

/* Its thread was in its own lock since that time, and let it go again: it said there what it waits
 * for later. The hold of that; NO_INDEX = it was not. */
static uint32_t asked_before(const struct turn_search *search, uint32_t section, uint64_t since_ns)
{
	const struct section *sections = search->monitors->sections;
	bool was_there = section != NO_INDEX && section &&
			 search->owner_of_mutex[sections[section].mutex] != NO_INDEX &&
			 sections[section - 1].thread == sections[section].thread &&
			 sections[section - 1].mutex == sections[section].mutex &&
			 sections[section - 1].start_ns >= since_ns;

	return was_there ? sections[section - 1].last_hold : NO_INDEX;
}

void turns_visit_came(const struct turn_search *search, struct visit *visit, uint32_t section)
{
	uint64_t called_ns = search->called_ns[visit->first_wait];

	visit->came_ns = visit->from_ns;
	if (search->turns[visit->turn].lock != NO_INDEX || !called_ns)
		return;
	visit->came_ns = called_ns;
	visit->asks = asked_before(search, section, called_ns);
}

/* The visit after which the thread had to work: nothing else was between the two. */
static struct visit *visit_that_leads(const struct turn_search *search,
				      const struct found_turn *found)
{
	struct visit *visit = turns_visit_before(search, found);

	return visit && visit->leads == NO_INDEX && visit->last_wait == found->row.after_wait
		       ? visit
		       : NULL;
}

static void turn_begins(struct turn_search *search, uint32_t number, uint32_t calls)
{
	struct found_turn *found = &search->turns[number];
	struct visit *visit = visit_that_leads(search, found);
	uint32_t opening =
		call_at(&found->row, calls < found->row.count ? calls : found->row.count);

	if (opening == NO_INDEX)
		return;
	found->turn.begin_ns = search->rec->ops[opening].start_ns;
	if (visit && found->row.count == calls) {
		visit->leads = number;
		found->turn.wait = visit->last_wait;
	} else {
		found->turn.opening = opening;
	}
}

/* How often a row after a wait had so many calls. */
struct lengths {
	uint32_t of[CALLS_KEPT + 1];
};

static uint32_t most_often(const struct lengths *lengths)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i <= CALLS_KEPT; i++)
		if (lengths->of[i] > lengths->of[best])
			best = i;
	return best;
}

void turns_without_lock_begin(struct turn_search *search)
{
	struct lengths *lengths = memory_new(search->turn_count, sizeof(*lengths)); /* by kind */
	uint32_t *kinds = memory_new_indexes(search->turn_count);
	struct addresses calls = { 0 };

	for (uint32_t i = 0; i < search->turn_count; i++) {
		const struct found_turn *found = &search->turns[i];

		if (found->lock != NO_INDEX)
			continue;
		kinds[i] = addresses_add(&calls, 0, found->last_call);
		if (found->row.count <= CALLS_KEPT && visit_that_leads(search, found))
			lengths[kinds[i]].of[found->row.count]++;
	}
	for (uint32_t i = 0; i < search->turn_count; i++)
		if (kinds[i] != NO_INDEX)
			turn_begins(search, i, most_often(&lengths[kinds[i]]));
	addresses_free(&calls);
	free(lengths);
	free(kinds);
}

/* Under a lock it would do so in one section. */
static bool waits_on(const struct turn_search *search, const struct visit *visit,
		     const struct visit *next)
{
	const struct found_turn *turn = &search->turns[visit->turn];

	return turn->lock == NO_INDEX &&
	       search->goes_on_from[next->first_wait] == visit->last_wait &&
	       visit->leads == NO_INDEX && turns_are_of_one_group(turn, &search->turns[next->turn]);
}

void turns_visits_join(struct turn_search *search)
{
	size_t kept = 0;

	for (size_t i = 1; i < search->visit_count; i++) {
		struct visit *visit = &search->visits[kept], *next = &search->visits[i];

		/* the turn that was under way when the thread came is over, and another
		 * thread has begun the next one */
		bool was_early = search->turns[visit->turn].turn.begin_ns < visit->from_ns;

		visit->waits_on = waits_on(search, visit, next);
		if (!visit->waits_on || !was_early) {
			search->visits[++kept] = *next;
			continue;
		}
		visit->waits_on = false;
		visit->to_ns = next->to_ns;
		visit->last_wait = next->last_wait;
		visit->turn = next->turn;
		visit->leads = next->leads;
	}
	search->visit_count = kept + 1;
}
