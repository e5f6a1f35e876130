/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds sleeps between tries that fail; looks.h has the contract.
 *
 * Method. Sleeps of a class follow each other, with a brief try between them. A try moves no bytes
 * from or to other threads. The thread has as many locks in one sleep as in the next. They are
 * retries in two cases. Sleeps get longer from one to the next, and each row begins anew with a
 * short one: work is not like that. Or rows end with what other threads do (looks_ended.c). Each
 * row of the class is as long as other threads made it then, even one of a single sleep.
 *
 * Where a thread tries locks, the replay knows what it waits for, as long as that is one lock. One
 * that sleeps between tries of several locks, and has whichever is free first, is another matter.
 */
#include "looks_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"

struct retries {
	const struct look_search *found;
	uint32_t *ops; /* sleeps by class, then thread, then start */
	uint32_t count;
	size_t capacity; /* of the rows */
	/* by op: its thread has moved some since its last sleep, or had other locks then */
	bool *is_after_work;
};

static int compare_sleeps(const void *left, const void *right, void *context)
{
	const struct look_search *found = context;
	const uint32_t *a = left, *b = right;
	const struct rec_op *ops = found->recording->ops;
	uint32_t a_class = found->classes->of_op[*a], b_class = found->classes->of_op[*b];
	if (a_class != b_class)
		return a_class < b_class ? -1 : 1;
	if (ops[*a].thread != ops[*b].thread)
		return ops[*a].thread < ops[*b].thread ? -1 : 1;
	if (ops[*a].start_ns != ops[*b].start_ns)
		return ops[*a].start_ns < ops[*b].start_ns ? -1 : 1;
	return (*a > *b) - (*a < *b);
}

/* By thread: it tries locks in vain. */
static bool *tries_find(const struct recording *recording)
{
	bool *tries = memory_new(recording->thread_count, sizeof(*tries));
	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		if (wait->thread != NO_INDEX && rec_is_try(recording, wait))
			tries[wait->thread] = true;
	}
	return tries;
}

static void work_find(struct retries *retries)
{
	const struct recording *recording = retries->found->recording;
	const struct timeline *timeline = retries->found->timeline;
	const struct flows *flows = retries->found->flows;
	retries->is_after_work = memory_new(recording->op_count, sizeof(*retries->is_after_work));
	for (uint32_t t = 0; t < timeline->thread_count; t++) {
		bool has_moved = false;
		uint32_t held = 0, held_before = 0;
		for (size_t i = timeline->first[t]; i < timeline->first[t + 1]; i++) {
			const struct moment *moment = &timeline->moments[i];
			enum moment_type type = moment_type(moment);
			held = look_locks_held(recording, moment, held);
			if (type != MOMENT_OP_BEGIN && type != MOMENT_OP_POINT)
				continue;
			has_moved |= flows->transfer_of[moment->index] != NO_INDEX;
			if (recording->ops[moment->index].kind != KIND_SLEEP)
				continue;
			retries->is_after_work[moment->index] = has_moved || held != held_before;
			has_moved = false;
			held_before = held;
		}
	}
}

static void sleeps_find(struct retries *retries)
{
	const struct recording *recording = retries->found->recording;
	bool *tries = tries_find(recording);
	retries->ops = memory_new(recording->op_count, sizeof(*retries->ops));
	for (uint32_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		if (op->kind == KIND_SLEEP && !recording->extras[i].open &&
		    op->thread != NO_INDEX && !tries[op->thread])
			retries->ops[retries->count++] = i;
	}
	free(tries);
	qsort_r(retries->ops, retries->count, sizeof(*retries->ops), compare_sleeps,
		(void *)retries->found);
}

static const struct rec_op *sleep_at(const struct retries *retries, uint32_t i)
{
	return &retries->found->recording->ops[retries->ops[i]];
}

static double asked_ns(const struct retries *retries, uint32_t i)
{
	return (double)retries->found->recording->extras[retries->ops[i]].amount;
}

static uint64_t stack_at(const struct retries *retries, uint32_t i)
{
	return retries->found->recording->extras[retries->ops[i]].stack;
}

/* Of one class: the sleep goes on with the row of the one before. A function may sleep for many
 * callers, but a loop sleeps from one place. */
static bool follows(const struct retries *retries, uint32_t i)
{
	const struct rec_op *before = sleep_at(retries, i - 1), *sleep = sleep_at(retries, i);
	return before->thread == sleep->thread &&
	       stack_at(retries, i - 1) == stack_at(retries, i) &&
	       !retries->is_after_work[retries->ops[i]] &&
	       (double)(sleep->start_ns - before->end_ns) <=
		       assume.look_gap * (double)(before->end_ns - before->start_ns);
}

/* The rows of a class: how its sleeps go on. */
struct growth {
	uint32_t longer;  /* sleeps than the one before in their row */
	uint32_t against; /* shorter ones, and rows that do not begin with a short one */
	uint32_t rows;
	uint32_t uneven; /* rows of another length than the one before */
};

static struct growth growth_find(const struct retries *retries, uint32_t first, uint32_t end)
{
	struct growth growth = { .rows = 1 };
	double begin_ns = asked_ns(retries, first);
	uint32_t length = 1, length_before = 0;
	for (uint32_t i = first + 1; i < end; i++) {
		double before_ns = asked_ns(retries, i - 1), ns = asked_ns(retries, i);
		if (follows(retries, i)) {
			growth.longer += ns > before_ns * (1 + assume.look_gap);
			growth.against += ns < before_ns;
			length++;
			continue;
		}
		growth.rows++;
		growth.uneven += length_before && length != length_before;
		/* the row before it ended with a longer one, or was as short as this one's begin */
		growth.against +=
			length > 1 ? ns >= before_ns : ns > begin_ns * (1 + assume.look_gap);
		length_before = length;
		length = 1;
		begin_ns = ns;
	}
	return growth;
}

/* The sleeps of a class grow, and each row begins anew. Work has as many sleeps each time. */
static bool grow(const struct retries *retries, uint32_t first, uint32_t end)
{
	struct growth growth = growth_find(retries, first, end);
	double few = 1 - assume.ended_share;
	return growth.longer >= assume.ended_waits && growth.rows > assume.ended_waits &&
	       growth.against <= few * (end - first - 1) && growth.uneven > few * growth.rows;
}

/* A row that nobody is known to end. */
static void row_add(struct retries *retries, struct looks *looks, uint32_t first, uint32_t last,
		    uint32_t count)
{
	const struct look_search *found = retries->found;
	const struct rec_op *sleep = &found->recording->ops[first];
	looks->rows = memory_grow(looks->rows, &retries->capacity, looks->count + 1,
				  sizeof(*looks->rows));
	looks->rows[looks->count++] = (struct look_row){ .thread = sleep->thread,
							 .class = found->classes->of_op[first],
							 .first = first,
							 .first_ns = sleep->start_ns,
							 .last = last,
							 .count = count,
							 .ender = NO_INDEX,
							 .hold = NO_INDEX,
							 .sort = LOOK_KEPT };
}

/* Unless it is one already. */
static void retries_add(struct retries *retries, struct looks *looks, uint32_t first, uint32_t end)
{
	const struct look_search *found = retries->found;
	uint32_t op = retries->ops[first], last = retries->ops[end - 1];
	if (!looks_of(found->looks, found->recording, op) &&
	    !looks_of(found->looks, found->recording, last))
		row_add(retries, looks, op, last, end - first);
}

/* --- tries of several locks --- */

/* The sleeps of a thread, one behind each try in vain, until it has a lock. */
struct spell {
	uint32_t first; /* op */
	uint32_t last;
	uint32_t count;
	uint64_t address; /* tried last, 0 = none */
	bool is_tried;    /* since the last sleep */
	bool varies;
};

static void spell_ends(struct retries *retries, struct looks *looks, struct spell *spell)
{
	if (spell->count && spell->varies)
		row_add(retries, looks, spell->first, spell->last, spell->count);
	*spell = (struct spell){ 0 };
}

/* Locks on files have rows of their own. */
static void spell_tries(const struct recording *recording, struct spell *spell,
			const struct rec_wait *wait)
{
	if (rec_is_file_lock(wait->address) || !rec_is_try(recording, wait))
		return;
	spell->varies |= spell->address && spell->address != wait->address;
	spell->address = wait->address;
	spell->is_tried = true;
}

static void spell_goes_on(struct retries *retries, struct looks *looks, struct spell *spell,
			  const struct moment *moment)
{
	const struct recording *recording = retries->found->recording;
	enum moment_type type = moment_type(moment);
	if (type == MOMENT_WAIT_POINT || type == MOMENT_WAIT_END) {
		spell_tries(recording, spell, &recording->waits[moment->index]);
		return;
	}
	if (type != MOMENT_OP_BEGIN && type != MOMENT_OP_POINT)
		return;
	if (recording->ops[moment->index].kind != KIND_SLEEP || !spell->is_tried) {
		spell_ends(retries, looks, spell);
		return;
	}
	if (!spell->count++)
		spell->first = moment->index;
	spell->last = moment->index;
	spell->is_tried = false;
}

static void spells_find(struct retries *retries, struct looks *looks)
{
	const struct timeline *timeline = retries->found->timeline;
	for (uint32_t t = 0; t < timeline->thread_count; t++) {
		struct spell spell = { 0 };
		for (size_t i = timeline->first[t]; i < timeline->first[t + 1]; i++)
			spell_goes_on(retries, looks, &spell, &timeline->moments[i]);
		spell_ends(retries, looks, &spell);
	}
}

void look_retries_find(struct looks *looks, const struct look_search *found)
{
	struct retries retries = { .found = found };
	struct look_ends ends;
	sleeps_find(&retries);
	work_find(&retries);
	look_ends_find(&ends, found);
	bool *is_next = memory_new(retries.count, sizeof(*is_next));
	for (uint32_t i = 1; i < retries.count; i++)
		is_next[i] = found->classes->of_op[retries.ops[i]] ==
				     found->classes->of_op[retries.ops[i - 1]] &&
			     follows(&retries, i);
	for (uint32_t first = 0, end; first < retries.count; first = end) {
		uint32_t class = found->classes->of_op[retries.ops[first]];
		for (end = first;
		     end < retries.count && found->classes->of_op[retries.ops[end]] == class;)
			end++;
		if (!grow(&retries, first, end) &&
		    !look_rows_are_ended(&ends, retries.ops + first, is_next + first, end - first))
			continue;
		for (uint32_t from = first, to; from < end; from = to) {
			for (to = from + 1; to < end && is_next[to];)
				to++;
			retries_add(&retries, looks, from, to);
		}
	}
	spells_find(&retries, looks);
	look_ends_free(&ends);
	free(is_next);
	free(retries.is_after_work);
	free(retries.ops);
}
