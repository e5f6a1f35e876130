/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds threads that a flag stops; flagged.h has the contract.
 *
 * Method. A thread comes from a sleep, or from the end of threads of another sort. Then it waits
 * for the end of this one, which comes at once: in the last small part of a life of short pieces.
 * That is no chance, unless something in the recording tells it when to end.
 */
#include "flagged.h"

#include <stdlib.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"
#include "joins.h"

struct search {
	const struct recording *recording;
	const struct class_table *classes;
	uint64_t *piece_ns;  /* by thread: its longest op */
	uint64_t *slept_ns;  /* by thread: until when it slept last */
	uint64_t *got_ns;    /* by thread: when it last had waited for another one's permit */
	uint32_t *told;      /* by thread: how often it was told something */
	struct join *joined; /* by wait */
	struct flagged *found;
	size_t count;
	size_t capacity;
};

static void pieces_find(struct search *search)
{
	const struct recording *recording = search->recording;
	for (uint32_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		uint64_t ns = op->end_ns - op->start_ns;
		if (op->thread != NO_INDEX && op->kind != KIND_THREAD && op->kind != KIND_PROCESS &&
		    ns > search->piece_ns[op->thread])
			search->piece_ns[op->thread] = ns;
	}
}

/* A thread may be told to end, or what to do next. */
static void permits_find(struct search *search)
{
	const struct recording *recording = search->recording;
	for (uint32_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		if (op->kind == KIND_SLEEP && op->thread != NO_INDEX &&
		    op->end_ns > search->slept_ns[op->thread])
			search->slept_ns[op->thread] = op->end_ns;
	}
	for (uint32_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		if (!search->joined[i].is_got)
			continue;
		search->told[wait->thread] += search->joined[i].is_told;
		if (wait->end_ns > search->got_ns[wait->thread])
			search->got_ns[wait->thread] = wait->end_ns;
	}
}

/* A sleep, or a wait for the end of another thread. */
struct event {
	uint64_t at_ns; /* its end */
	uint32_t thread;
	uint32_t wait; /* NO_INDEX = it is a sleep */
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

static struct event *events_find(const struct search *search, size_t *count)
{
	const struct recording *recording = search->recording;
	const struct join *joined = search->joined;
	struct event *events =
		memory_new(recording->op_count + recording->wait_count, sizeof(*events));
	*count = 0;
	for (uint32_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		if (op->kind == KIND_SLEEP && op->thread != NO_INDEX)
			events[(*count)++] = (struct event){ op->end_ns, op->thread, NO_INDEX };
	}
	for (uint32_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		if (joined[i].thread != NO_INDEX && wait->thread != NO_INDEX)
			events[(*count)++] = (struct event){ wait->end_ns, wait->thread, i };
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

static bool is_told(const struct search *search, uint32_t thread)
{
	return search->told[thread] > 1 || search->got_ns[thread] > search->slept_ns[thread];
}

/* The thread whose end it is came to that as soon as the other one waited. No permit told it. */
static bool is_stop(const struct search *search, const struct walk *walk, const struct rec_op *life)
{
	uint64_t life_ns = life->end_ns - life->start_ns;
	return walk->came_ns && life->end_ns > walk->joins_ns && walk->came_ns > life->start_ns &&
	       is_small(walk->came_ns, life->end_ns, life_ns) &&
	       is_small(0, search->piece_ns[life->thread], life_ns) &&
	       !is_told(search, life->thread);
}

static void joins(struct search *search, struct walk *walk, uint32_t index)
{
	const struct recording *recording = search->recording;
	const struct rec_wait *wait = &recording->waits[index];
	uint32_t op = recording->threads[search->joined[index].thread].op;
	if (op == NO_INDEX)
		return;
	const struct rec_op *life = &recording->ops[op];
	uint32_t class = search->classes->of_op[op];
	if (walk->joined != class) {
		walk->came_ns = walk->joined == NO_INDEX ? walk->came_ns : walk->joined_ns;
		walk->joins_ns = wait->start_ns;
	}
	walk->joined = class;
	walk->joined_ns = wait->end_ns;
	if (!is_stop(search, walk, life))
		return;
	search->found = memory_grow(search->found, &search->capacity, search->count + 1,
				    sizeof(*search->found));
	search->found[search->count++] =
		(struct flagged){ life->thread, wait->thread, walk->joins_ns,
				  search->joined[index].post };
}

struct flagged *flagged_find(const struct recording *recording, const struct class_table *classes,
			     size_t *count)
{
	struct search search = { .recording = recording, .classes = classes };
	struct walk walk = { .thread = NO_INDEX };
	size_t event_count;
	search.piece_ns = memory_new(recording->thread_count, sizeof(*search.piece_ns));
	search.slept_ns = memory_new(recording->thread_count, sizeof(*search.slept_ns));
	search.got_ns = memory_new(recording->thread_count, sizeof(*search.got_ns));
	search.told = memory_new(recording->thread_count, sizeof(*search.told));
	search.joined = joins_find(recording);
	pieces_find(&search);
	permits_find(&search);
	struct event *events = events_find(&search, &event_count);
	for (size_t i = 0; i < event_count; i++) {
		if (walk.thread != events[i].thread)
			walk = (struct walk){ .thread = events[i].thread, .joined = NO_INDEX };
		if (events[i].wait != NO_INDEX) {
			joins(&search, &walk, events[i].wait);
			continue;
		}
		walk.came_ns = events[i].at_ns;
		walk.joined = NO_INDEX;
	}
	free(events);
	free(search.joined);
	free(search.piece_ns);
	free(search.slept_ns);
	free(search.got_ns);
	free(search.told);
	*count = search.count;
	return search.found;
}
