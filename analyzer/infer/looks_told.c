/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds of work with a sleep, until a flag says stop; looks.h has the contract.
 *
 * Method. The flag stops a thread that sleeps again and again (flagged.h says which). Its rounds
 * are told by the sleep that it has most often. It looks at the flag in each round. So it has no
 * more of them once the other thread begins to wait for its end. A thread that has rows of another
 * sort is left alone.
 *
 * The end came within two rounds of many: the one that was going on, and a last one. Threads that
 * do a fixed number of rounds may end at about the same time, too, and are joined one after the
 * other. So it is a guess unless the other thread did something since the last join: it set the
 * flag. Threads that do as many rounds are done by themselves.
 */
#include <stdlib.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "flagged.h"
#include "joins.h"
#include "looks_parts.h"

struct told_search {
	const struct look_search *found;
	const struct join *joined; /* by wait */
	struct sleeps *by_class;
};

/* The sleeps of a class that a thread has, one after the other. */
struct sleeps {
	uint32_t thread; /* + 1, 0 = none */
	uint32_t first;  /* ops */
	uint32_t last;
	uint32_t count;
	uint64_t round_ns; /* the longest time from one to the next */
};

static bool has_rows(const struct looks *looks, uint32_t thread)
{
	for (size_t i = 0; i < looks->count; i++)
		if (looks->rows[i].thread == thread)
			return true;
	return false;
}

/* The sleep that begins then, NO_INDEX = none does. */
static uint32_t sleep_at(const struct look_search *found, size_t at)
{
	const struct moment *moment = &found->timeline->moments[at];
	enum moment_type type = moment_type(moment);
	bool begins = type == MOMENT_OP_BEGIN || type == MOMENT_OP_POINT;
	return begins && found->recording->ops[moment->index].kind == KIND_SLEEP ? moment->index
										 : NO_INDEX;
}

/* Those of the class that the thread has most often, NULL = it has none. */
static const struct sleeps *sleeps_of(const struct look_search *found, uint32_t thread,
				      struct sleeps *by_class)
{
	const struct timeline *timeline = found->timeline;
	const struct sleeps *most = NULL;
	for (size_t i = timeline->first[thread]; i < timeline->first[thread + 1]; i++) {
		uint32_t op = sleep_at(found, i);
		if (op == NO_INDEX)
			continue;
		struct sleeps *of = &by_class[found->classes->of_op[op]];
		if (of->thread != thread + 1)
			*of = (struct sleeps){ .thread = thread + 1, .first = op, .last = op };
		const struct rec_op *ops = found->recording->ops;
		uint64_t round_ns = ops[op].start_ns - ops[of->last].start_ns;
		if (of->count && round_ns > of->round_ns)
			of->round_ns = round_ns;
		of->last = op;
		of->count++;
		/* Of several that it has as often, the one of which it had so many first. */
		if (!most || of->count > most->count)
			most = of;
	}
	return most;
}

static bool is_join(const struct told_search *told, const struct moment *moment, bool ends)
{
	enum moment_type type = moment_type(moment);
	if (type != (ends ? MOMENT_WAIT_END : MOMENT_WAIT_BEGIN) && type != MOMENT_WAIT_POINT)
		return false;
	return told->joined[moment->index].thread != NO_INDEX;
}

/* The teller did something there that may have been to set the flag. A runtime that posts the ends
 * of its threads does much between two joins: of that only a sleep is something. */
static bool is_doing(const struct told_search *told, const struct flagged *one,
		     const struct moment *moment)
{
	enum moment_type type = moment_type(moment);
	if (one->post == NO_INDEX)
		return !is_join(told, moment, true);
	return (type == MOMENT_OP_END || type == MOMENT_OP_POINT) &&
	       told->found->recording->ops[moment->index].kind == KIND_SLEEP;
}

/* The thread that the teller joined just before. NO_INDEX = it did something else since then: it
 * set the flag. */
static uint32_t joined_before(const struct told_search *told, const struct flagged *one)
{
	const struct timeline *timeline = told->found->timeline;
	const struct moment *moments = timeline->moments;
	size_t first = timeline->first[one->teller], at = first;
	size_t end = timeline->first[one->teller + 1];
	while (at < end) {
		size_t middle = at + (end - at) / 2;
		if (moments[middle].at_ns < one->joins_ns)
			at = middle + 1;
		else
			end = middle;
	}
	while (!is_join(told, &moments[at], false))
		at++;
	for (; at > first && !is_doing(told, one, &moments[at - 1]); at--)
		if (is_join(told, &moments[at - 1], true))
			return told->joined[moments[at - 1].index].thread;
	return NO_INDEX;
}

static bool ends_in_round(const struct look_search *found, const struct flagged *one,
			  const struct sleeps *sleeps)
{
	const struct rec_op *life =
		&found->recording->ops[found->recording->threads[one->thread].op];
	return life->end_ns <= one->joins_ns + assume.told_rounds * (uint64_t)sleeps->round_ns &&
	       (double)sleeps->round_ns <=
		       assume.ended_within * (double)(life->end_ns - life->start_ns);
}

static void row_fill(struct look_row *row, const struct look_search *found,
		     const struct flagged *one, const struct sleeps *sleeps)
{
	const struct rec_op *ops = found->recording->ops;
	*row = (struct look_row){ .thread = one->thread,
				  .class = found->classes->of_op[sleeps->first],
				  .first = sleeps->first,
				  .first_ns = ops[sleeps->first].start_ns,
				  .last = sleeps->last,
				  .count = sleeps->count,
				  .ender = one->teller,
				  .mark_ns = one->joins_ns - 1, /* before it begins to wait */
				  .hold = NO_INDEX,
				  .sort = LOOK_TOLD,
				  .post = one->post,
				  .naps_once = ops[sleeps->last].start_ns > one->joins_ns };
}

/* False: the thread has no such rounds. */
static bool find_row(struct look_row *row, const struct told_search *told,
		     const struct flagged *one)
{
	const struct sleeps *sleeps = sleeps_of(told->found, one->thread, told->by_class);
	if (!sleeps || !ends_in_round(told->found, one, sleeps))
		return false;
	row_fill(row, told->found, one, sleeps);
	uint32_t before = joined_before(told, one);
	if (before == NO_INDEX)
		return true;
	row->is_guess = true;
	sleeps = sleeps_of(told->found, before, told->by_class);
	return !sleeps || sleeps->count != row->count;
}

void look_told_find(struct looks *looks, const struct look_search *found)
{
	struct sleeps *by_class = memory_new(found->classes->count, sizeof(*by_class));
	struct join *joined = joins_find(found->recording);
	const struct told_search told = { found, joined, by_class };
	size_t count, capacity = 0;
	struct flagged *flagged = flagged_find(found->recording, found->classes, &count);
	for (size_t i = 0; i < count; i++) {
		struct look_row row;
		if (has_rows(found->looks, flagged[i].thread) ||
		    has_rows(looks, flagged[i].thread) || !find_row(&row, &told, &flagged[i]))
			continue;
		looks->rows =
			memory_grow(looks->rows, &capacity, looks->count + 1, sizeof(*looks->rows));
		looks->rows[looks->count++] = row;
	}
	free(flagged);
	free(joined);
	free(by_class);
}
