/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the sections of every mutex that goes with a condition, and ties waits to signals.
 *
 * Method. A mutex belongs to a condition when a wait on the condition is followed at once by a hold
 * of the mutex: pthread_cond_wait takes it again before it returns. Each thread's timeline is then
 * cut into sections: a hold, and for as long as a hold ends in a wait, that wait and the hold after
 * it. A signal wakes, of the waits that had begun and not ended, the one that ended first; a
 * broadcast all of them. What tokens a condition carries is tokens.c's question.
 *
 * One thread. Waits that timed out were woken by nobody.
 */
#include "monitors.h"

#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"
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

static uint32_t process_of(const struct recording *rec, uint32_t thread)
{
	return rec->threads[thread].process;
}

static uint64_t mixed(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static uint64_t hash_of_frame(const struct rec_frame *frame)
{
	return frame->offset ^ (uint64_t)frame->module << 40;
}

/* A place anywhere in the function that made the call, as far as that shows: of the same callers,
 * in threads that begin with the same routine. 0: it has no callers. */
static uint64_t function_site(const struct recording *rec, uint32_t stack, uint32_t thread)
{
	const struct rec_stack *frames = &rec->stacks[stack];
	uint32_t op = rec->threads[thread].op;
	uint64_t hash = op == NO_INDEX ? 1 : mixed(1, rec->extras[op].address);

	if (frames->frame_count < 2)
		return 0;
	hash = mixed(hash, rec->frames[frames->first_frame].module);
	for (uint32_t i = 1; i < SITE_FRAMES && i < frames->frame_count; i++)
		hash = mixed(hash, hash_of_frame(&rec->frames[frames->first_frame + i]));
	return hash;
}

/* A section's site, by one frame of the lock call and by more, and by its function: hashes. */
static void site_set(const struct recording *rec, uint32_t stack, uint32_t thread,
		     uint64_t site[SITE_KINDS])
{
	uint64_t hash = 0;

	if (!stack || stack >= rec->stack_count)
		return;
	const struct rec_stack *frames = &rec->stacks[stack];
	for (uint32_t i = 0; i < SITE_FRAMES; i++) {
		if (i < frames->frame_count)
			hash = mixed(hash, hash_of_frame(&rec->frames[frames->first_frame + i]));
		site[i] = hash;
	}
	site[SITE_FUNCTION] = function_site(rec, stack, thread);
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
		monitors->conditions[monitors->condition_count++] = (struct condition){
			.address = condition, .process = process, .mutex = m, .gate_ns = UINT64_MAX
		};
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
			pair_up(walk, process_of(rec, thread), rec->waits[wait->index].address,
				rec->extras[hold->index].address);
	}
}

/* --- sections --- */

static uint32_t section_new(struct walk *walk, uint32_t mutex, uint64_t start_ns)
{
	struct monitors *monitors = walk->monitors;
	struct section section = { .start_ns = start_ns,
				   .end_ns = start_ns,
				   .first_signal_ns = UINT64_MAX,
				   .thread = walk->thread,
				   .mutex = mutex,
				   .first_hold = NO_INDEX,
				   .last_hold = NO_INDEX,
				   .first_wait = NO_INDEX,
				   .last_wait = NO_INDEX,
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
	uint32_t mutex = addresses_find(walk->mutexes, process_of(walk->rec, walk->thread),
					walk->rec->extras[op].address);

	if (mutex == NO_INDEX)
		return;
	uint32_t section = walk->suspended;
	if (section == NO_INDEX || monitors->sections[section].mutex != mutex) {
		section = section_new(walk, mutex, hold->start_ns);
		site_set(walk->rec, walk->rec->extras[op].stack, walk->thread,
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
			: addresses_find(walk->conditions, process_of(walk->rec, walk->thread),
					 wait->address);

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
		section->site[SITE_FUNCTION] = function_site(walk->rec, wait->stack, walk->thread);
	section->last_wait = index;
	section->end_ns = wait->end_ns;
	monitors->section_of_wait[index] = walk->suspended;
}

static void link_happens(struct walk *walk, uint32_t index)
{
	struct monitors *monitors = walk->monitors;
	const struct rec_link *link = &walk->rec->links[index];

	if (link->kind != LINK_WAKE)
		return;
	uint32_t condition = addresses_find(walk->conditions, process_of(walk->rec, walk->thread),
					    link->address);
	if (condition == NO_INDEX)
		return;
	monitors->signals[index].condition = condition;
	uint32_t section = last_section(walk, monitors->conditions[condition].mutex);
	if (section != NO_INDEX && monitors->sections[section].first_signal_ns > link->at_ns)
		monitors->sections[section].first_signal_ns = link->at_ns;
	monitors->signals[index].section = section;
}

static void cut_thread(struct walk *walk, const struct timeline *timeline, uint32_t thread)
{
	walk->thread = thread;
	walk->closed = walk->suspended = NO_INDEX;
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
	}
}

/* Whether two stacks are calls of one function, as far as that shows: all but the innermost
 * frames agree. Where one has no callers, how far apart the calls are must do. */
static bool is_same_function(const struct recording *rec, uint32_t a, uint32_t b)
{
	const struct rec_stack *left = &rec->stacks[a], *right = &rec->stacks[b];
	uint32_t count =
		left->frame_count < right->frame_count ? left->frame_count : right->frame_count;
	const struct rec_frame *l = &rec->frames[left->first_frame],
			       *r = &rec->frames[right->first_frame];

	if (!count || l[0].module != r[0].module)
		return false;
	if (count == 1 &&
	    (l[0].offset < r[0].offset ? r[0].offset - l[0].offset : l[0].offset - r[0].offset) >
		    assume.function_span)
		return false;
	for (uint32_t i = 1; i < count && i < SITE_FRAMES; i++)
		if (l[i].module != r[i].module || l[i].offset != r[i].offset)
			return false;
	return true;
}

/*
 * The site of a section of which only a wait was recorded: that of the nearest lock call before the
 * wait in the code of the same function. NO_INDEX: there is none.
 */
static uint32_t site_before_wait(const struct monitors *monitors, const struct recording *rec,
				 const struct section *section)
{
	uint32_t stack = rec->waits[section->first_wait].stack, nearest = NO_INDEX;
	uint64_t wait_at = rec->frames[rec->stacks[stack].first_frame].offset, nearest_at = 0;

	for (size_t j = 0; stack && j < monitors->section_count; j++) {
		const struct section *other = &monitors->sections[j];

		if (other->first_hold == NO_INDEX || other->mutex != section->mutex)
			continue;
		uint32_t lock = rec->extras[other->first_hold].stack;
		uint64_t lock_at = rec->frames[rec->stacks[lock].first_frame].offset;
		if (!lock || lock_at >= wait_at || lock_at < nearest_at ||
		    !is_same_function(rec, lock, stack))
			continue;
		nearest = (uint32_t)j;
		nearest_at = lock_at;
	}
	return nearest;
}

/* The first sections on a mutex began before its holds were recorded: where, is found from the
 * others. */
static void complete_sites(struct monitors *monitors, const struct recording *rec)
{
	for (size_t i = 0; i < monitors->section_count; i++) {
		struct section *section = &monitors->sections[i];
		uint32_t other = section->first_hold == NO_INDEX
					 ? site_before_wait(monitors, rec, section)
					 : NO_INDEX;

		if (other != NO_INDEX)
			memcpy(section->site, monitors->sections[other].site,
			       sizeof(section->site));
	}
}

/* --- signals and the waits that they end --- */

struct occasion {
	uint64_t at_ns;
	uint32_t place; /* number of the address */
	uint32_t index; /* of a wait (it begins) or a link */
	bool is_signal;
};

static int compare_occasions(const void *left, const void *right)
{
	const struct occasion *a = left, *b = right;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (int)a->is_signal - (int)b->is_signal;
}

static bool is_woken(const struct rec_wait *wait)
{
	if (wait->timed_out || wait->open || wait->thread == NO_INDEX ||
	    wait->start_ns == wait->end_ns)
		return false;
	return wait->reason == REASON_COND || wait->reason == REASON_FUTEX ||
	       wait->reason == REASON_ONCE;
}

static bool wakes(const struct rec_link *link)
{
	return link->thread != NO_INDEX && link->kind == LINK_WAKE;
}

/* All that waits for a signal and all that signals, address by address, in order of time. */
static struct occasion *occasions(const struct recording *rec, size_t *count)
{
	struct addresses places = { 0 };
	struct occasion *list = NULL;
	size_t capacity = 0;

	*count = 0;
	for (size_t i = 0; i < rec->wait_count; i++) {
		const struct rec_wait *wait = &rec->waits[i];

		if (!is_woken(wait))
			continue;
		list = memory_grow(list, &capacity, *count + 1, sizeof(*list));
		list[(*count)++] =
			(struct occasion){ wait->start_ns,
					   addresses_add(&places, process_of(rec, wait->thread),
							 wait->address),
					   (uint32_t)i, false };
	}
	for (size_t i = 0; i < rec->link_count; i++) {
		const struct rec_link *link = &rec->links[i];
		uint32_t place = wakes(link)
					 ? addresses_find(&places, process_of(rec, link->thread),
							  link->address)
					 : NO_INDEX;

		if (place == NO_INDEX)
			continue;
		list = memory_grow(list, &capacity, *count + 1, sizeof(*list));
		list[(*count)++] = (struct occasion){ link->at_ns, place, (uint32_t)i, true };
	}
	addresses_free(&places);
	if (*count)
		qsort(list, *count, sizeof(*list), compare_occasions);
	return list;
}

/* Waits in progress on one condition, unordered: there are at most as many as threads. */
struct waiting {
	uint32_t *waits;
	size_t count;
	size_t capacity;
};

static void drop(struct waiting *waiting, size_t at)
{
	waiting->waits[at] = waiting->waits[--waiting->count];
}

/*
 * When a wait was over, for whoever looks for its signal: that an initialiser has run is recorded
 * after the others were let go.
 */
static uint64_t over_ns(const struct rec_wait *wait)
{
	return wait->end_ns + (wait->reason == REASON_ONCE ? assume.once_late : 0);
}

/* A recording that does not say so shows it when more than one waited. */
static bool wakes_all(const struct rec_link *link)
{
	return link->all || link->count > 1;
}

static void signal_happens(struct monitors *monitors, const struct recording *rec,
			   struct waiting *waiting, uint32_t link)
{
	uint64_t at_ns = rec->links[link].at_ns;
	bool all = wakes_all(&rec->links[link]);
	size_t first = SIZE_MAX;

	for (size_t i = 0; i < waiting->count;) {
		uint32_t wait = waiting->waits[i];

		if (over_ns(&rec->waits[wait]) <= at_ns) {
			drop(waiting, i);
		} else if (all) {
			monitors->waking_link[wait] = link;
			drop(waiting, i);
		} else {
			if (first == SIZE_MAX ||
			    rec->waits[wait].end_ns < rec->waits[waiting->waits[first]].end_ns)
				first = i;
			i++;
		}
	}
	if (first == SIZE_MAX)
		return;
	monitors->waking_link[waiting->waits[first]] = link;
	drop(waiting, first);
}

static void tie_waits(struct monitors *monitors, const struct recording *rec)
{
	struct waiting waiting = { 0 };
	size_t count;
	struct occasion *list = occasions(rec, &count);

	for (size_t i = 0; i < count; i++) {
		if (i && list[i].place != list[i - 1].place)
			waiting.count = 0;
		if (list[i].is_signal) {
			signal_happens(monitors, rec, &waiting, list[i].index);
		} else {
			waiting.waits = memory_grow(waiting.waits, &waiting.capacity,
						    waiting.count + 1, sizeof(*waiting.waits));
			waiting.waits[waiting.count++] = list[i].index;
		}
	}
	free(waiting.waits);
	free(list);
}

static void find_conditions_of_waits(struct walk *walk)
{
	const struct recording *rec = walk->rec;

	for (size_t i = 0; i < rec->wait_count; i++) {
		const struct rec_wait *wait = &rec->waits[i];

		walk->monitors->condition_of_wait[i] =
			wait->reason != REASON_COND || wait->thread == NO_INDEX
				? NO_INDEX
				: addresses_find(walk->conditions, process_of(rec, wait->thread),
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
	monitors->signals = memory_new(rec->link_count, sizeof(*monitors->signals));
	fill(monitors->section_of_hold, rec->op_count);
	fill(monitors->section_of_wait, rec->wait_count);
	fill(monitors->waking_link, rec->wait_count);
	for (size_t i = 0; i < rec->link_count; i++)
		monitors->signals[i] = (struct signal_role){ NO_INDEX, NO_INDEX, false,
							     wakes_all(&rec->links[i]) };
}

void monitors_build(struct monitors *monitors, const struct recording *rec,
		    const struct timeline *timeline, const struct releases *releases)
{
	struct addresses mutexes = { 0 }, conditions = { 0 };
	struct walk walk = {
		.monitors = monitors, .rec = rec, .mutexes = &mutexes, .conditions = &conditions
	};

	prepare(monitors, rec);
	for (uint32_t t = 0; t < timeline->thread_count; t++)
		find_pairs(&walk, timeline, t);
	monitors->mutex_count = mutexes.count;
	find_conditions_of_waits(&walk);
	for (uint32_t t = 0; monitors->condition_count && t < timeline->thread_count; t++)
		cut_thread(&walk, timeline, t);
	complete_sites(monitors, rec);
	tie_waits(monitors, rec);
	tokens_find(monitors, rec, releases);
	addresses_free(&mutexes);
	addresses_free(&conditions);
}

void monitors_free(struct monitors *monitors)
{
	free(monitors->conditions);
	free(monitors->sections);
	free(monitors->section_of_hold);
	free(monitors->section_of_wait);
	free(monitors->condition_of_wait);
	free(monitors->waking_link);
	free(monitors->signals);
	memset(monitors, 0, sizeof(*monitors));
}
