/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds groups of threads one of which works for all, turn by turn.
 *
 * Method. A turn ends in a section of a lock in which its thread lets others go. It began when its
 * thread gave that lock back before, or was let go itself. A group is all turns and waits of one
 * lock (and of one condition, where several threads wait for that). The recording must obey two
 * rules. Turns do not overlap. And a wait ends with the first turn that began after the wait; or it
 * ends sooner, and its thread makes the next turn. At least one wait must have lasted through a
 * turn that was under way. Else the threads may just wait for what is being done.
 *
 * Where each thread waits on a condition of its own, these are one condition. Where these have
 * locks of their own, or are futexes, turns_calls.c finds the turns.
 *
 * A thread that makes a turn without having waited has found none under way. Where one thread makes
 * all turns and never waits, it does nothing else.
 *
 * One thread.
 */
#include "turns_parts.h"

#include "base/memory.h"
#include "format.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { HOLDS_MAX = 64 }; /* of one thread at a time */

/* --- turns --- */

static bool waits_alone(const struct turn_search *search, uint32_t condition)
{
	return search->owner_of_mutex[search->monitors->conditions[condition].mutex] != NO_INDEX;
}

/* Whether it tells one that waits alone, past all locks that others take. */
static bool is_told_alone(const struct turn_search *search, uint32_t link, bool is_locked)
{
	uint32_t condition = search->monitors->signals[link].condition;

	if (condition != NO_INDEX)
		return waits_alone(search, condition);
	const struct rec_link *told = &search->rec->links[link];
	uint32_t word =
		told->thread == NO_INDEX
			? NO_INDEX
			: addresses_find(&search->words, search->rec->threads[told->thread].process,
					 told->address);

	return !is_locked && word != NO_INDEX && search->waiter_of_word[word] != NO_INDEX;
}

/* A wait that may have been for a turn's end. */
static bool is_candidate(const struct turn_search *search, uint32_t index)
{
	const struct rec_wait *wait = &search->rec->waits[index];
	uint32_t condition = search->monitors->condition_of_wait[index];

	if (wait->timed_out || wait->open || wait->thread == NO_INDEX ||
	    search->monitors->waking_link[index] == NO_INDEX)
		return false;
	if (wait->reason == REASON_COND)
		return condition != NO_INDEX &&
		       (search->monitors->conditions[condition].model == PUT_NONE ||
			waits_alone(search, condition));
	return wait->reason == REASON_FUTEX || wait->reason == REASON_SEM;
}

/* A thread, as its moments pass by. */
struct walk {
	struct turn_search *search;
	uint32_t thread;
	uint32_t open[HOLDS_MAX];
	uint32_t before[HOLDS_MAX]; /* by open hold: the thread's last one of the same lock */
	size_t open_count;
	uint32_t ended; /* the hold that ended at the last moment */
	uint32_t ended_before;
	uint32_t waited;     /* the wait that ended at the last moment */
	uint32_t *last_hold; /* by lock: of this thread */
	struct call_row row;
};

static void hold_begins(struct walk *walk, uint32_t hold)
{
	if (walk->waited != NO_INDEX)
		walk->search->hold_after_wait[walk->waited] = hold;
	if (walk->open_count == HOLDS_MAX)
		return;
	walk->before[walk->open_count] = walk->last_hold[walk->search->releases->lock_of[hold]];
	walk->open[walk->open_count++] = hold;
}

static void hold_ends(struct walk *walk, uint32_t hold)
{
	size_t i = walk->open_count;

	while (i > 0 && walk->open[i - 1] != hold)
		i--;
	if (!i)
		return;
	walk->ended = hold;
	walk->ended_before = walk->before[i - 1];
	walk->search->hold_before[hold] = walk->ended_before;
	walk->open_count--;
	memmove(&walk->open[i - 1], &walk->open[i], (walk->open_count + 1 - i) * sizeof(uint32_t));
	memmove(&walk->before[i - 1], &walk->before[i],
		(walk->open_count + 1 - i) * sizeof(uint32_t));
	walk->last_hold[walk->search->releases->lock_of[hold]] = hold;
}

struct found_turn *turns_add(struct turn_search *search)
{
	search->turns = memory_grow(search->turns, &search->turn_capacity, search->turn_count + 1,
				    sizeof(*search->turns));
	return &search->turns[search->turn_count++];
}

/* The section that it is given in, or right after. */
static void link_happens(struct walk *walk, uint32_t index)
{
	struct turn_search *search = walk->search;
	uint32_t last = walk->open_count ? walk->open[walk->open_count - 1] : walk->ended;
	uint32_t before =
		walk->open_count ? walk->before[walk->open_count - 1] : walk->ended_before;
	uint32_t condition = search->monitors->signals[index].condition;

	if (!search->wakes[index])
		return;
	if (walk->open_count < 2 && is_told_alone(search, index, walk->open_count > 0) &&
	    turns_row_tells(search, &walk->row, index, walk->open_count ? last : NO_INDEX))
		return;
	if (last == NO_INDEX)
		return;
	if (condition != NO_INDEX && search->waiter_of[condition] != NO_INDEX)
		condition = NO_INDEX;
	struct found_turn *found =
		search->turn_count ? &search->turns[search->turn_count - 1] : NULL;
	if (!found || found->turn.closing_hold != last || found->condition != condition) {
		found = turns_add(search);
		*found = (struct found_turn){ .turn = { .thread = walk->thread,
							.opening = before,
							.closing_hold = last,
							.closing_link = NO_INDEX,
							.wait = NO_INDEX },
					      .lock = search->releases->lock_of[last],
					      .condition = condition };
	}
	found->turn.end_ns = search->rec->links[index].at_ns;
	search->turn_of_link[index] = (uint32_t)(search->turn_count - 1);
}

static void moment_passes(struct walk *walk, const struct moment *moment)
{
	const struct recording *rec = walk->search->rec;
	enum moment_type type = moment_type(moment);
	bool is_hold =
		(type == MOMENT_OP_BEGIN || type == MOMENT_OP_END || type == MOMENT_OP_POINT) &&
		rec->ops[moment->index].kind == KIND_HOLD;

	bool is_wait =
		type == MOMENT_WAIT_BEGIN || type == MOMENT_WAIT_END || type == MOMENT_WAIT_POINT;

	if (is_hold && type != MOMENT_OP_END)
		hold_begins(walk, moment->index);
	else if (type == MOMENT_OP_BEGIN || type == MOMENT_OP_POINT)
		turns_row_calls(&walk->row, moment->index, walk->open_count > 0);
	if (type == MOMENT_LINK) {
		link_happens(walk, moment->index);
		return;
	}
	walk->ended = NO_INDEX;
	if (is_wait && rec->waits[moment->index].reason == REASON_MUTEX)
		return; /* for the hold that comes next */
	walk->waited = NO_INDEX;
	if (is_hold && type != MOMENT_OP_BEGIN)
		hold_ends(walk, moment->index);
	if (type == MOMENT_WAIT_BEGIN || type == MOMENT_WAIT_POINT) {
		walk->search->called_ns[moment->index] = turns_row_called_ns(&walk->row, rec);
		walk->search->goes_on_from[moment->index] = turns_row_waited(&walk->row);
	}
	if (type == MOMENT_WAIT_END || type == MOMENT_WAIT_POINT) {
		walk->waited = moment->index;
		turns_row_waits(&walk->row, moment->index);
	}
}

static void turns_find(struct turn_search *search)
{
	const struct timeline *timeline = search->timeline;
	size_t locks = search->releases->locks.count;
	struct walk walk = { .search = search, .last_hold = memory_new(locks, sizeof(uint32_t)) };

	for (uint32_t t = 0; t < timeline->thread_count; t++) {
		walk.thread = t;
		walk.open_count = 0;
		walk.ended = walk.waited = NO_INDEX;
		walk.row = (struct call_row){ .after_wait = NO_INDEX };
		memset(walk.last_hold, 0xff, locks * sizeof(uint32_t));
		for (size_t i = timeline->first[t]; i < timeline->first[t + 1]; i++)
			moment_passes(&walk, &timeline->moments[i]);
	}
	free(walk.last_hold);
}

/* --- turns that let nobody go --- */

static const struct section *closing_section(const struct turn_search *search,
					     const struct found_turn *found)
{
	uint32_t section = found->lock == NO_INDEX
				   ? NO_INDEX
				   : search->monitors->section_of_hold[found->turn.closing_hold];

	return section == NO_INDEX || found->condition != NO_INDEX
		       ? NULL
		       : &search->monitors->sections[section];
}

static int compare_sites(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* The lock calls of the sections that end turns. To be freed. */
static uint64_t *closing_sites(const struct turn_search *search, size_t *count)
{
	uint64_t *sites = memory_new(search->turn_count, sizeof(*sites));

	*count = 0;
	for (size_t i = 0; i < search->turn_count; i++) {
		const struct section *section = closing_section(search, &search->turns[i]);

		if (section && section->site[SITE_FRAMES - 1])
			sites[(*count)++] = section->site[SITE_FRAMES - 1];
	}
	qsort(sites, *count, sizeof(*sites), compare_sites);
	return sites;
}

/*
 * Where threads wait each on its own, nobody is told if nobody has come. Such a turn ends in a
 * section as those of the others, of the same lock call.
 */
static void silent_turns_find(struct turn_search *search)
{
	size_t count;
	uint64_t *sites = closing_sites(search, &count);

	for (size_t i = 0; count && i < search->monitors->section_count; i++) {
		const struct section *section = &search->monitors->sections[i];
		uint32_t hold = section->last_hold;

		if (section->first_signal_ns != UINT64_MAX || section->first_wait != NO_INDEX ||
		    hold == NO_INDEX ||
		    !bsearch(&section->site[SITE_FRAMES - 1], sites, count, sizeof(*sites),
			     compare_sites))
			continue;
		*turns_add(search) =
			(struct found_turn){ .turn = { .end_ns = search->rec->ops[hold].start_ns,
						       .thread = section->thread,
						       .opening = search->hold_before[hold],
						       .closing_hold = hold,
						       .closing_link = NO_INDEX,
						       .wait = NO_INDEX },
					     .lock = search->releases->lock_of[hold],
					     .condition = NO_INDEX };
	}
	free(sites);
}

/* --- visits --- */

static void visit_add(struct turn_search *search, uint32_t index)
{
	const struct rec_wait *wait = &search->rec->waits[index];
	uint32_t section = search->monitors->section_of_wait[index], first = index;
	uint32_t turn = search->turn_of_link[search->monitors->waking_link[index]];

	if (section != NO_INDEX) {
		if (search->monitors->sections[section].last_wait != index)
			return;
		first = search->monitors->sections[section].first_wait;
	}
	if (turn == NO_INDEX || search->turns[turn].turn.thread == wait->thread)
		return;
	search->visits = memory_grow(search->visits, &search->visit_capacity,
				     search->visit_count + 1, sizeof(*search->visits));
	struct visit *visit = &search->visits[search->visit_count++];

	*visit = (struct visit){ .from_ns = search->rec->waits[first].start_ns,
				 .to_ns = wait->end_ns,
				 .first_wait = first,
				 .last_wait = index,
				 .thread = wait->thread,
				 .turn = turn,
				 .asks = NO_INDEX,
				 .leads = NO_INDEX };
	turns_visit_came(search, visit, section);
}

static int compare_visits(const void *left, const void *right)
{
	const struct visit *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->to_ns < b->to_ns ? -1 : a->to_ns > b->to_ns;
}

struct visit *turns_visit_before(const struct turn_search *search, const struct found_turn *found)
{
	size_t from = 0, to = search->visit_count;

	while (from < to) {
		size_t middle = (from + to) / 2;
		const struct visit *visit = &search->visits[middle];

		if (visit->thread < found->turn.thread ||
		    (visit->thread == found->turn.thread && visit->to_ns < found->turn.end_ns))
			from = middle + 1;
		else
			to = middle;
	}
	while (from-- > 0 && search->visits[from].thread == found->turn.thread)
		if (turns_are_of_one_group(&search->turns[search->visits[from].turn], found))
			return &search->visits[from];
	return NULL;
}

/* Its thread has waited, and then had to work; or it came, and found no turn under way. */
static void turn_begins(struct turn_search *search, uint32_t number)
{
	struct turn *turn = &search->turns[number].turn;
	const struct rec_op *opening =
		turn->opening == NO_INDEX ? NULL : &search->rec->ops[turn->opening];
	struct visit *visit = turns_visit_before(search, &search->turns[number]);

	turn->begin_ns = opening ? opening->end_ns : 0;
	if (!visit || visit->leads != NO_INDEX)
		return;
	if (opening && search->hold_after_wait[visit->last_wait] != turn->opening &&
	    opening->end_ns > visit->from_ns)
		return;
	if (!opening || opening->end_ns <= visit->from_ns)
		turn->begin_ns = visit->to_ns;
	turn->wait = visit->last_wait;
	turn->opening = NO_INDEX;
	visit->leads = number;
}

static void search_for_groups(struct turns *turns, struct turn_search *search)
{
	turns_find(search);
	silent_turns_find(search);
	for (uint32_t i = 0; i < search->rec->wait_count; i++)
		if (is_candidate(search, i))
			visit_add(search, i);
	if (!search->visit_count)
		return;
	qsort(search->visits, search->visit_count, sizeof(*search->visits), compare_visits);
	for (uint32_t i = 0; i < search->turn_count; i++)
		if (search->turns[i].lock != NO_INDEX)
			turn_begins(search, i);
	turns_without_lock_begin(search);
	turns_visits_join(search);
	turns_group(turns, search);
}

static void waiter_add(uint32_t *waiter_of, bool *is_shared, uint32_t index, uint32_t thread)
{
	is_shared[index] |= waiter_of[index] != NO_INDEX && waiter_of[index] != thread;
	waiter_of[index] = is_shared[index] ? NO_INDEX : thread;
}

/* By condition: the only thread that waits on it, else NO_INDEX. To be freed. */
static uint32_t *waiters_find(const struct recording *rec, const struct monitors *monitors)
{
	uint32_t *waiter_of = memory_new_indexes(monitors->condition_count);
	bool *is_shared = memory_new(monitors->condition_count, sizeof(*is_shared));

	for (uint32_t i = 0; i < rec->wait_count; i++)
		if (monitors->condition_of_wait[i] != NO_INDEX)
			waiter_add(waiter_of, is_shared, monitors->condition_of_wait[i],
				   rec->waits[i].thread);
	free(is_shared);
	return waiter_of;
}

/* The only thread that waits on a futex or a semaphore. */
static void word_waiters_find(struct turn_search *search)
{
	const struct recording *rec = search->rec;
	bool *is_shared = memory_new(rec->wait_count, sizeof(*is_shared));

	search->waiter_of_word = memory_new_indexes(rec->wait_count);
	for (uint32_t i = 0; i < rec->wait_count; i++) {
		const struct rec_wait *wait = &rec->waits[i];

		if (wait->thread == NO_INDEX || !wait->address ||
		    (wait->reason != REASON_FUTEX && wait->reason != REASON_SEM))
			continue;
		waiter_add(search->waiter_of_word, is_shared,
			   addresses_add(&search->words, rec->threads[wait->thread].process,
					 wait->address),
			   wait->thread);
	}
	free(is_shared);
}

/* Mutexes of conditions on which one and the same thread waits. */
static void owners_find(struct turn_search *search)
{
	const struct monitors *monitors = search->monitors;
	bool *is_shared = memory_new(monitors->mutex_count, sizeof(*is_shared));

	for (size_t i = 0; i < monitors->condition_count; i++) {
		uint32_t *owner = &search->owner_of_mutex[monitors->conditions[i].mutex];
		uint32_t waiter = search->waiter_of[i];

		is_shared[monitors->conditions[i].mutex] |=
			waiter == NO_INDEX || (*owner != NO_INDEX && *owner != waiter);
		*owner = waiter;
	}
	for (size_t i = 0; i < monitors->mutex_count; i++)
		if (is_shared[i])
			search->owner_of_mutex[i] = NO_INDEX;
	free(is_shared);
}

void turns_build(struct turns *turns, const struct recording *rec, const struct timeline *timeline,
		 const struct releases *releases, const struct monitors *monitors)
{
	struct turn_search search = { .rec = rec,
				      .timeline = timeline,
				      .releases = releases,
				      .monitors = monitors,
				      .turn_of_link = memory_new_indexes(rec->link_count),
				      .hold_after_wait = memory_new_indexes(rec->wait_count),
				      .called_ns = memory_new(rec->wait_count, sizeof(uint64_t)),
				      .goes_on_from = memory_new_indexes(rec->wait_count),
				      .hold_before = memory_new_indexes(rec->op_count),
				      .waiter_of = waiters_find(rec, monitors),
				      .owner_of_mutex = memory_new_indexes(monitors->mutex_count),
				      .wakes = memory_new(rec->link_count, sizeof(bool)) };
	bool *is_awaited = memory_new(monitors->condition_count, sizeof(*is_awaited));
	bool are_any = false;

	assert(timeline->thread_count == rec->thread_count);
	word_waiters_find(&search);
	owners_find(&search);
	memset(turns, 0, sizeof(*turns));
	for (uint32_t i = 0; i < rec->wait_count; i++) {
		if (!is_candidate(&search, i))
			continue;
		search.wakes[monitors->waking_link[i]] = are_any = true;
		if (rec->waits[i].reason == REASON_COND)
			is_awaited[monitors->condition_of_wait[i]] = true;
	}
	for (uint32_t i = 0; i < rec->link_count; i++)
		if (monitors->signals[i].condition != NO_INDEX)
			search.wakes[i] =
				search.wakes[i] || is_awaited[monitors->signals[i].condition];
	free(is_awaited);
	if (are_any)
		search_for_groups(turns, &search);
	free(search.turns);
	free(search.visits);
	free(search.turn_of_link);
	free(search.hold_after_wait);
	free(search.called_ns);
	free(search.goes_on_from);
	free(search.waiter_of_word);
	addresses_free(&search.words);
	free(search.hold_before);
	free(search.owner_of_mutex);
	free(search.waiter_of);
	free(search.wakes);
}

void turns_free(struct turns *turns)
{
	free(turns->turns);
	free(turns->groups);
	free(turns->begins);
	free(turns->ends);
	free(turns->led_by_wait);
	free(turns->opened_by);
	free(turns->asked_by);
	free(turns->closed_by);
	free(turns->closed_by_link);
	free(turns->is_idle);
	free(turns->is_call);
	memset(turns, 0, sizeof(*turns));
}
