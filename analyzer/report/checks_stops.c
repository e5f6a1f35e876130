/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check that finds threads which go on until another one says stop, by a flag in memory.
 *
 * No record shows the flag. The replay lets such a thread do all that it did, though in a faster
 * program it would be stopped sooner.
 *
 * Method. A thread comes from a sleep, or from the end of threads of another sort. Then it waits
 * for the end of this one, which comes at once: in the last small part of a life of short pieces.
 * That is no chance, unless something in the recording tells it when to end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis.h"
#include "base/assumptions.h"
#include "base/memory.h"
#include "checks_parts.h"
#include "facts.h"
#include "format.h"

/* A thread that seems to be told, by the one that waits for its end. */
struct stop {
	uint32_t thread; /* NO_INDEX = none */
	uint32_t teller;
	uint64_t lived_ns; /* until the other one waited */
};

/* All threads, by number. */
struct search {
	const struct analysis *analysis;
	uint64_t *piece_ns; /* its longest op */
	bool *is_told;      /* in a way that the replay knows */
};

static void pieces_find(struct search *search)
{
	const struct recording *recording = search->analysis->recording;
	for (uint32_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		uint64_t ns = op->end_ns - op->start_ns;
		if (op->thread != NO_INDEX && op->kind != KIND_THREAD && op->kind != KIND_PROCESS &&
		    ns > search->piece_ns[op->thread])
			search->piece_ns[op->thread] = ns;
	}
}

/* It takes permits that it does not give back, or waits for others in another way. */
static bool is_told(const struct script *script, const struct actor *actor, int32_t *taken)
{
	bool is_told = false;
	const struct step *first = &script->steps[actor->first_step], *step;
	for (step = first; step->type != STEP_END; step++) {
		enum step_operand operand = script_contract((enum step_type)step->type)->operand;
		if (operand == OPERAND_SEMAPHORE)
			taken[step->arg] += step->type == STEP_POST ? -1 : 1;
		else if (step->type != STEP_SPAWN && step->type != STEP_SIGNAL &&
			 step->type != STEP_PUT && step->type != STEP_SEND)
			is_told |= operand != OPERAND_NOTHING && operand != OPERAND_SCOPE &&
				   (operand != OPERAND_LOCK || step->type == STEP_TRY) &&
				   operand != OPERAND_STAMP && operand != OPERAND_WAIT;
	}
	for (; step >= first; step--) {
		if (script_contract((enum step_type)step->type)->operand != OPERAND_SEMAPHORE)
			continue;
		is_told |= taken[step->arg] > 1;
		taken[step->arg] = 0;
	}
	return is_told;
}

/* A sleep, or a wait for the end of another thread. */
struct event {
	uint64_t at_ns; /* its end */
	uint32_t thread;
	uint32_t op; /* the sleep; NO_INDEX = it is a wait */
	uint32_t wait;
};

/* Where the thread that joins others is in what it does. */
struct walk {
	uint32_t thread;
	uint64_t came_ns; /* from a sleep, or the end of another sort of thread; 0 = from neither */
	uint32_t joined;  /* class of the threads that it joins, one after the other */
	uint64_t joins_ns; /* since then */
	uint64_t joined_ns;
};

static int compare_events(const void *left, const void *right)
{
	const struct event *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->wait > b->wait) - (a->wait < b->wait);
}

static struct event *events_find(const struct recording *recording, size_t *count)
{
	struct event *events =
		memory_new(recording->op_count + recording->wait_count, sizeof(*events));
	*count = 0;
	for (uint32_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		if (op->kind == KIND_SLEEP && op->thread != NO_INDEX)
			events[(*count)++] = (struct event){ op->end_ns, op->thread, i, NO_INDEX };
	}
	for (uint32_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		if (wait->reason == REASON_JOIN && wait->thread != NO_INDEX &&
		    wait->target != NO_INDEX && recording->ops[wait->target].kind == KIND_THREAD &&
		    recording->ops[wait->target].thread != NO_INDEX)
			events[(*count)++] =
				(struct event){ wait->end_ns, wait->thread, NO_INDEX, i };
	}
	qsort(events, *count, sizeof(*events), compare_events);
	return events;
}

/* The time is a small part of a life, or none. */
static bool is_small(uint64_t from_ns, uint64_t to_ns, uint64_t life_ns)
{
	uint64_t ns = to_ns > from_ns ? to_ns - from_ns : 0;
	return (double)ns <= assume.ended_within * (double)life_ns;
}

/* The thread whose end it is came to that as soon as the other one waited. */
static bool is_stop(const struct search *search, const struct walk *walk, const struct rec_op *life)
{
	uint64_t life_ns = life->end_ns - life->start_ns;
	return walk->came_ns && !search->is_told[life->thread] && life->end_ns > walk->joins_ns &&
	       walk->came_ns > life->start_ns && is_small(walk->came_ns, life->end_ns, life_ns) &&
	       is_small(0, search->piece_ns[life->thread], life_ns);
}

static void joins(const struct search *search, struct walk *walk, const struct rec_wait *wait,
		  struct stop *worst)
{
	const struct rec_op *life = &search->analysis->recording->ops[wait->target];
	uint32_t class = search->analysis->classes.of_op[wait->target];
	if (walk->joined != class) {
		walk->came_ns = walk->joined == NO_INDEX ? walk->came_ns : walk->joined_ns;
		walk->joins_ns = wait->start_ns;
	}
	walk->joined = class;
	walk->joined_ns = wait->end_ns;
	if (!is_stop(search, walk, life))
		return;
	uint64_t lived_ns = walk->joins_ns - life->start_ns;
	if (lived_ns > worst->lived_ns)
		*worst = (struct stop){ life->thread, wait->thread, lived_ns };
}

static struct stop stop_find(const struct search *search)
{
	const struct recording *recording = search->analysis->recording;
	struct stop worst = { NO_INDEX, NO_INDEX, 0 };
	struct walk walk = { .thread = NO_INDEX };
	size_t count;
	struct event *events = events_find(recording, &count);
	for (size_t i = 0; i < count; i++) {
		if (walk.thread != events[i].thread)
			walk = (struct walk){ .thread = events[i].thread, .joined = NO_INDEX };
		if (events[i].wait != NO_INDEX) {
			joins(search, &walk, &recording->waits[events[i].wait], &worst);
			continue;
		}
		walk.came_ns = events[i].at_ns;
		walk.joined = NO_INDEX;
	}
	free(events);
	return worst;
}

void checks_stops(struct check *check, const struct analysis *analysis)
{
	const struct recording *recording = analysis->recording;
	const struct script *script = &analysis->script;
	if (!analysis->has_script || !script->arrivals || !analysis->actual_makespan_ns)
		return;
	struct search search = { analysis,
				 memory_new(recording->thread_count, sizeof(*search.piece_ns)),
				 memory_new(recording->thread_count, sizeof(*search.is_told)) };
	pieces_find(&search);
	int32_t *taken = memory_new(script->semaphore_count, sizeof(*taken));
	for (uint32_t i = 0; i < recording->thread_count; i++)
		search.is_told[i] = is_told(script, &script->actors[i], taken);
	free(taken);
	const struct stop stop = stop_find(&search);
	check->state = CHECK_PASSED;
	check->value = checks_percent((double)stop.lived_ns, facts_recorded_ns(analysis));
	if (stop.thread != NO_INDEX)
		snprintf(check->line, sizeof(check->line),
			 "thread `%.40s` (%" PRIu32 ") ends as soon as `%.40s` (%" PRIu32
			 ") waits for its end, after %.0f%% of the run, as if told by a flag: in "
			 "the replay it does all that it did, whenever that is",
			 facts_thread_name(analysis, stop.thread),
			 recording->threads[stop.thread].tid,
			 facts_thread_name(analysis, stop.teller),
			 recording->threads[stop.teller].tid, check->value);
	free(search.piece_ns);
	free(search.is_told);
}
