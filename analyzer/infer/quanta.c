/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds locks with a quantum among the conditions that tokens explain.
 *
 * Method. A condition is a lock if whoever takes its token is the one that puts it, and nobody else
 * takes it in between. It has a quantum if a thread ever puts the token on request. Such a thread
 * takes it again at once. Another one, whose wait timed out just before, has it meanwhile. The
 * quantum is the shortest wait for the token that timed out.
 *
 * A thread that was asked for the lock may wait until another one has it. Such a condition is
 * signalled by threads that take the token, and by no others.
 *
 * One thread.
 */
#include "quanta.h"

#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A section that takes or puts a token. */
struct stay {
	uint64_t end_ns;
	uint32_t condition;
	uint32_t section;
};

struct search {
	const struct recording *rec;
	const struct timeline *timeline;
	struct monitors *monitors;
	struct quanta *quanta;
	uint64_t *timed_out_ns; /* by section: its first wait in vain ends, UINT64_MAX = none */
	uint64_t *shortest_ns;  /* by condition: wait in vain, UINT64_MAX = none */
	uint32_t *put_before;   /* by section that takes: the one that its thread just put in */
	uint32_t *switch_of;    /* by condition: the lock's whose takers signal there */
	bool *is_other;         /* by condition: signalled or waited for by others */
	struct stay *stays;     /* in order of condition, then time */
	size_t stay_count;
};

/* The walk along one thread's timeline. */
struct walk {
	uint32_t put;    /* section: nothing but locks since, NO_INDEX = something else */
	uint32_t taking; /* section that it is in */
	uint32_t has;    /* condition whose token it has */
};

static uint64_t *times_new(size_t count)
{
	uint64_t *times = memory_new(count, sizeof(*times));

	memset(times, 0xff, count * sizeof(*times));
	return times;
}

/* --- who takes and who puts --- */

static bool has_tokens(const struct condition *condition)
{
	return (condition->model == PUT_BY_SIGNAL || condition->model == PUT_BY_SECTION) &&
	       !condition->is_pool;
}

/* Waits in vain are what there is to find: most recordings have none. */
static bool waits_find(struct search *search)
{
	const struct monitors *monitors = search->monitors;
	bool any = false;

	for (size_t i = 0; i < search->rec->wait_count; i++) {
		const struct rec_wait *wait = &search->rec->waits[i];
		uint32_t c = monitors->condition_of_wait[i], s = monitors->section_of_wait[i];

		if (c == NO_INDEX || s == NO_INDEX || !wait->timed_out ||
		    !has_tokens(&monitors->conditions[c]))
			continue;
		any = true;
		if (wait->end_ns < search->timed_out_ns[s])
			search->timed_out_ns[s] = wait->end_ns;
		if (wait->end_ns - wait->start_ns < search->shortest_ns[c])
			search->shortest_ns[c] = wait->end_ns - wait->start_ns;
	}
	return any;
}

static bool may_be_lock(const struct search *search, uint32_t condition)
{
	return condition != NO_INDEX && search->shortest_ns[condition] &&
	       search->shortest_ns[condition] != UINT64_MAX;
}

static void sections_find(struct search *search)
{
	const struct monitors *monitors = search->monitors;
	struct quanta *quanta = search->quanta;

	for (size_t i = 0; i < monitors->section_count; i++) {
		const struct section *section = &monitors->sections[i];

		if (may_be_lock(search, section->take))
			quanta->takes[i] = section->take;
		if (may_be_lock(search, section->put))
			quanta->puts[i] = section->put;
	}
	for (size_t i = 0; i < search->rec->link_count; i++) {
		const struct signal_role *role = &monitors->signals[i];

		if (may_be_lock(search, role->condition) && role->section != NO_INDEX)
			quanta->puts[role->section] = role->condition;
	}
}

static int compare_stays(const void *left, const void *right)
{
	const struct stay *a = left, *b = right;

	if (a->condition != b->condition)
		return a->condition < b->condition ? -1 : 1;
	return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

static void stays_sort(struct search *search)
{
	const struct quanta *quanta = search->quanta;
	size_t count = search->monitors->section_count;

	search->stays = memory_new(count, sizeof(*search->stays));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t condition =
			quanta->takes[i] != NO_INDEX ? quanta->takes[i] : quanta->puts[i];

		if (condition != NO_INDEX)
			search->stays[search->stay_count++] =
				(struct stay){ search->monitors->sections[i].end_ns, condition, i };
	}
	qsort(search->stays, search->stay_count, sizeof(*search->stays), compare_stays);
}

/* --- what threads do in between --- */

static void hold_begins(struct search *search, struct walk *walk, uint32_t op)
{
	uint32_t s = search->monitors->section_of_hold[op];

	if (s == NO_INDEX || search->quanta->takes[s] == NO_INDEX || walk->taking == s)
		return;
	walk->taking = s;
	search->put_before[s] = walk->put;
	walk->put = NO_INDEX;
}

static void hold_ends(struct search *search, struct walk *walk, uint32_t op)
{
	uint32_t s = search->monitors->section_of_hold[op];

	if (s == NO_INDEX || op != search->monitors->sections[s].last_hold)
		return;
	if (search->quanta->puts[s] != NO_INDEX) {
		walk->put = s;
		walk->has = NO_INDEX;
	} else if (walk->taking == s) {
		walk->taking = NO_INDEX;
		walk->has = search->quanta->takes[s];
	}
}

static void wait_begins(struct search *search, struct walk *walk, uint32_t index)
{
	uint32_t c = search->monitors->condition_of_wait[index];

	if (c == NO_INDEX && search->rec->waits[index].reason != REASON_MUTEX)
		walk->put = NO_INDEX;
	if (c != NO_INDEX && walk->has != NO_INDEX)
		search->is_other[c] = true;
}

static void signal_given(struct search *search, struct walk *walk, uint32_t link)
{
	uint32_t c = search->monitors->signals[link].condition;
	uint32_t lock = walk->taking == NO_INDEX ? NO_INDEX : search->quanta->takes[walk->taking];

	if (c == NO_INDEX)
		return;
	if (lock == NO_INDEX || (search->switch_of[c] != NO_INDEX && search->switch_of[c] != lock))
		search->is_other[c] = true;
	search->switch_of[c] = lock;
}

static void moment_passes(struct search *search, struct walk *walk, const struct moment *moment)
{
	enum moment_type type = moment_type(moment);

	if (type == MOMENT_LINK) {
		if (search->rec->links[moment->index].kind != LINK_WAKE)
			walk->put = NO_INDEX;
		signal_given(search, walk, moment->index);
	} else if (type == MOMENT_WAIT_BEGIN || type == MOMENT_WAIT_POINT) {
		wait_begins(search, walk, moment->index);
	} else if (type == MOMENT_WAIT_END) {
		return;
	} else if (search->rec->ops[moment->index].kind != KIND_HOLD) {
		walk->put = NO_INDEX;
	} else {
		if (type != MOMENT_OP_END)
			hold_begins(search, walk, moment->index);
		if (type != MOMENT_OP_BEGIN)
			hold_ends(search, walk, moment->index);
	}
}

static void threads_walk(struct search *search)
{
	const struct timeline *timeline = search->timeline;

	for (size_t t = 0; t < timeline->thread_count; t++) {
		struct walk walk = { NO_INDEX, NO_INDEX, NO_INDEX };

		for (size_t i = timeline->first[t]; i < timeline->first[t + 1]; i++)
			moment_passes(search, &walk, &timeline->moments[i]);
	}
}

/* --- which are locks, and have a quantum --- */

/* Takes and puts of one condition in turns, by one thread each. */
static bool is_lock(const struct search *search, const struct stay *first, size_t count)
{
	uint32_t owner = NO_INDEX;
	size_t misfits = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t s = first[i].section, thread = search->monitors->sections[s].thread;
		bool takes = search->quanta->takes[s] != NO_INDEX;
		bool both = takes && search->quanta->puts[s] != NO_INDEX;

		misfits += both || (i && (takes ? owner != NO_INDEX : owner != thread));
		owner = takes ? thread : NO_INDEX;
	}
	return (double)misfits <= assume.token_misfits * (double)count;
}

/* Another thread had waited in vain when the token was put, and has it then. */
static bool was_asked(const struct search *search, const struct stay *put, const struct stay *end)
{
	const struct stay *next = put + 1;

	return next < end && search->quanta->takes[next->section] != NO_INDEX &&
	       search->monitors->sections[next->section].thread !=
		       search->monitors->sections[put->section].thread &&
	       search->timed_out_ns[next->section] < put->end_ns;
}

/* The put came with the next look after a wait of the other thread had timed out. */
static bool is_prompt(const struct search *search, const struct stay *put)
{
	uint64_t quantum_ns = search->shortest_ns[put->condition];
	uint64_t since_ns = put->end_ns - search->timed_out_ns[put[1].section];

	return since_ns % quantum_ns <= quantum_ns / LOOKS_A_QUANTUM;
}

/* Puts at any time are prompt by chance, one in so many. More of them are by three standard
 * deviations: fewer are where the threads that have the lock wait for CPUs. */
static bool is_beyond_chance(size_t asked, size_t prompt)
{
	double share = 1.0 / LOOKS_A_QUANTUM;
	double excess = (double)prompt - share * (double)asked;

	return excess > 0 && excess * excess > 9 * share * (1 - share) * (double)asked;
}

/* The puts of one lock that were asked for. They must be prompt: else a thread puts a thing that it
 * is done with, and takes the next. */
static bool puts_tell(struct search *search, const struct stay *first, size_t count)
{
	const uint32_t *retaken = search->put_before;
	uint32_t *place = memory_new_indexes(search->monitors->section_count);
	size_t asked = 0, prompt = 0;

	for (size_t i = 0; i < count; i++)
		place[first[i].section] = (uint32_t)i;
	for (size_t i = 0; i < count; i++) {
		uint32_t s = first[i].section;
		uint32_t put = search->quanta->takes[s] == NO_INDEX ? NO_INDEX : retaken[s];

		if (put == NO_INDEX || place[put] == NO_INDEX ||
		    !was_asked(search, &first[place[put]], first + count))
			continue;
		search->quanta->retakes[put] = s;
		asked++;
		prompt += is_prompt(search, &first[place[put]]);
	}
	free(place);
	return is_beyond_chance(asked, prompt);
}

/* Findings of a condition that is no lock, or has no quantum, are forgotten. */
static bool lock_finds(struct search *search, const struct stay *first, size_t count)
{
	uint32_t condition = first->condition;

	if (is_lock(search, first, count) && puts_tell(search, first, count)) {
		search->monitors->conditions[condition].quantum_ns = search->shortest_ns[condition];
		return true;
	}
	for (size_t i = 0; i < count; i++) {
		search->quanta->takes[first[i].section] = NO_INDEX;
		search->quanta->puts[first[i].section] = NO_INDEX;
		search->quanta->retakes[first[i].section] = NO_INDEX;
	}
	return false;
}

static bool locks_find(struct search *search)
{
	bool any = false;

	for (size_t from = 0, to; from < search->stay_count; from = to) {
		for (to = from + 1; to < search->stay_count &&
				    search->stays[to].condition == search->stays[from].condition;)
			to++;
		any = lock_finds(search, search->stays + from, to - from) || any;
	}
	return any;
}

static void switches_find(struct search *search)
{
	struct monitors *monitors = search->monitors;

	for (size_t c = 0; c < monitors->condition_count; c++) {
		uint32_t lock = search->switch_of[c];

		if (search->is_other[c] || lock == NO_INDEX || lock == c ||
		    !monitors->conditions[lock].quantum_ns)
			continue;
		search->quanta->is_switch[c] = true;
		monitors->conditions[c].model = PUT_NONE;
	}
}

void quanta_free(struct quanta *quanta)
{
	free(quanta->takes);
	free(quanta->puts);
	free(quanta->retakes);
	free(quanta->is_switch);
	memset(quanta, 0, sizeof(*quanta));
}

void quanta_build(struct quanta *quanta, const struct recording *rec,
		  const struct timeline *timeline, struct monitors *monitors)
{
	struct search search = { .rec = rec,
				 .timeline = timeline,
				 .monitors = monitors,
				 .quanta = quanta,
				 .timed_out_ns = times_new(monitors->section_count),
				 .shortest_ns = times_new(monitors->condition_count) };
	bool any = false;

	assert(timeline->thread_count == rec->thread_count);
	memset(quanta, 0, sizeof(*quanta));
	if (waits_find(&search)) {
		quanta->takes = memory_new_indexes(monitors->section_count);
		quanta->puts = memory_new_indexes(monitors->section_count);
		quanta->retakes = memory_new_indexes(monitors->section_count);
		quanta->is_switch =
			memory_new(monitors->condition_count, sizeof(*quanta->is_switch));
		search.put_before = memory_new_indexes(monitors->section_count);
		search.switch_of = memory_new_indexes(monitors->condition_count);
		search.is_other = memory_new(monitors->condition_count, sizeof(*search.is_other));
		sections_find(&search);
		stays_sort(&search);
		threads_walk(&search);
		any = locks_find(&search);
		switches_find(&search);
	}
	if (!any)
		quanta_free(quanta);
	free(search.timed_out_ns);
	free(search.shortest_ns);
	free(search.put_before);
	free(search.switch_of);
	free(search.is_other);
	free(search.stays);
}
