/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the graph of moments; edges.h has the contract.
 *
 * Method. All threads' moments, with their begins and ends, are gone through in order of time, and
 * each becomes a moment of the graph. Causes are noted on the way, so each is there before its
 * effect. The graph is the program activity graph of Yang and Miller (Critical path analysis for
 * the execution of parallel and distributed programs, ICDCS 1988).
 *
 * One thread.
 */
#include "edges.h"

#include "base/memory.h"
#include "format.h"
#include "script_parts.h"
#include "wakers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A thread begins, something happens to it, it ends. */
struct event {
	uint64_t at_ns;
	uint32_t thread;
	uint32_t at; /* place among the thread's events: 0 = it begins; the last = it ends */
};

struct walker {
	uint32_t open[OPEN_OPS_MAX];
	size_t open_count;
	size_t wait_count; /* waits that have begun and not ended */
	uint64_t last_ns;
	uint32_t last;  /* moment of the graph */
	uint32_t begun; /* the last that is the begin of an op or a wait */
};

struct edging {
	struct edges *edges;
	const struct recording *rec;
	const struct class_table *classes;
	struct timeline timeline;
	struct wakers wakers;
	struct walker *walkers; /* by thread */
	/* moments of the graph, NO_INDEX = not there */
	uint32_t *of_link;
	uint32_t *op_begin;
	uint32_t *op_end;
	uint32_t *wait_begin;
	uint32_t *start_cause; /* by thread: what started it */
	uint64_t *moment_ns;   /* by moment of the graph: when it was */
};

static uint32_t scope_of(struct edging *edging, uint32_t thread)
{
	const struct walker *walker = &edging->walkers[thread];
	uint32_t held[OPEN_OPS_MAX], own = edging->rec->threads[thread].op;
	uint32_t leaf = own == NO_INDEX ? NO_INDEX : edging->classes->of_op[own];
	size_t held_count = 0;

	if (walker->wait_count)
		return NO_INDEX;
	for (size_t i = 0; i < walker->open_count; i++) {
		leaf = edging->classes->of_op[walker->open[i]];
		if (edging->rec->ops[walker->open[i]].kind == KIND_HOLD)
			held[held_count++] = leaf;
	}
	return scopes_add(&edging->edges->scopes, leaf, held, held_count);
}

/* A moment of the thread. With a cause, the time since the last one was spent waiting. A cause that
 * was there before only has to be there. */
static uint32_t add(struct edging *edging, const struct event *event, uint32_t cause)
{
	struct walker *walker = &edging->walkers[event->thread];
	uint32_t index = (uint32_t)edging->edges->count++;
	uint64_t since_ns = event->at_ns - walker->last_ns;
	bool has_cause = cause != NO_INDEX;
	bool has_waited = has_cause && edging->moment_ns[cause] > walker->last_ns;

	assert(!has_cause || cause < index);
	edging->moment_ns[index] = event->at_ns;
	edging->edges->moments[index] = (struct edge_moment){
		.length_ns = has_waited ? 0 : since_ns,
		.latency_ns = has_waited  ? event->at_ns - edging->moment_ns[cause]
			      : has_cause ? since_ns
					  : 0,
		.before = walker->last,
		.cause = cause,
		.scope = has_cause || !since_ns ? NO_INDEX : scope_of(edging, event->thread),
	};
	walker->last = index;
	walker->last_ns = event->at_ns;
	return index;
}

/* Of a link that is recorded after what it caused, the last one of its thread. */
static uint32_t moment_of(const struct edging *edging, struct waker waker)
{
	switch (waker.event) {
	case WAKER_OP_END:
		return edging->rec->ops[waker.index].kind == KIND_THREAD
			       ? edging->edges->finish[edging->rec->ops[waker.index].thread]
			       : edging->op_end[waker.index];
	case WAKER_OP_BEGIN:
		return edging->op_begin[waker.index];
	case WAKER_LINK:
		return edging->of_link[waker.index] != NO_INDEX
			       ? edging->of_link[waker.index]
			       : edging->walkers[edging->rec->links[waker.index].thread].last;
	case WAKER_WAIT_BEGIN:
		return edging->wait_begin[waker.index];
	case WAKER_NONE:
		break;
	}
	return NO_INDEX;
}

static void op_begins(struct edging *edging, const struct event *event, uint32_t op)
{
	struct walker *walker = &edging->walkers[event->thread];

	edging->op_begin[op] = add(edging, event, NO_INDEX);
	walker->begun = edging->op_begin[op];
	if (walker->open_count < OPEN_OPS_MAX)
		walker->open[walker->open_count++] = op;
}

/* A call in which other things happened did not wait all the time. */
static uint32_t cause_if_idle(const struct walker *walker, uint32_t begin, uint32_t cause)
{
	return walker->last == begin && walker->begun == begin ? cause : NO_INDEX;
}

static void op_ends(struct edging *edging, const struct event *event, uint32_t op)
{
	struct walker *walker = &edging->walkers[event->thread];
	uint32_t cause = cause_if_idle(walker, edging->op_begin[op],
				       moment_of(edging, edging->wakers.of_op[op]));

	edging->op_end[op] = add(edging, event, cause);
	for (size_t i = walker->open_count; i-- > 0;) {
		if (walker->open[i] != op)
			continue;
		memmove(&walker->open[i], &walker->open[i + 1],
			(--walker->open_count - i) * sizeof(*walker->open));
		break;
	}
}

static void wait_begins(struct edging *edging, const struct event *event, uint32_t index)
{
	struct walker *walker = &edging->walkers[event->thread];

	walker->begun = edging->wait_begin[index] = add(edging, event, NO_INDEX);
	walker->wait_count++;
}

static void wait_ends(struct edging *edging, const struct event *event, uint32_t index)
{
	struct walker *walker = &edging->walkers[event->thread];
	uint32_t cause = moment_of(edging, edging->wakers.of_wait[index]);

	/* The last to come to a barrier waits for nobody. */
	if (cause != NO_INDEX && cause == walker->begun)
		cause = NO_INDEX;
	else if (cause == NO_INDEX)
		edging->edges->lost_edges++;
	(void)add(edging, event, cause);
	if (walker->wait_count)
		walker->wait_count--;
}

static void link_happens(struct edging *edging, const struct event *event, uint32_t index)
{
	const struct rec_link *link = &edging->rec->links[index];
	uint32_t started = script_started_actor(edging->rec, link);

	edging->of_link[index] = add(edging, event, NO_INDEX);
	if (started != NO_INDEX && edging->start_cause[started] == NO_INDEX)
		edging->start_cause[started] = edging->of_link[index];
}

static void happen(struct edging *edging, const struct event *event)
{
	size_t at = edging->timeline.first[event->thread] + event->at - 1;
	const struct moment *moment = &edging->timeline.moments[at];

	switch (moment_type(moment)) {
	case MOMENT_OP_POINT:
		op_begins(edging, event, moment->index);
		op_ends(edging, event, moment->index);
		break;
	case MOMENT_OP_BEGIN:
		op_begins(edging, event, moment->index);
		break;
	case MOMENT_OP_END:
		op_ends(edging, event, moment->index);
		break;
	case MOMENT_WAIT_POINT:
		wait_begins(edging, event, moment->index);
		wait_ends(edging, event, moment->index);
		break;
	case MOMENT_WAIT_BEGIN:
		wait_begins(edging, event, moment->index);
		break;
	case MOMENT_WAIT_END:
		wait_ends(edging, event, moment->index);
		break;
	case MOMENT_LINK:
		link_happens(edging, event, moment->index);
		break;
	}
}

/* --- all threads --- */

/* Whether the end of this moment is one: what is open ended only with the recording. */
static bool has_happened(const struct recording *rec, const struct moment *moment)
{
	enum moment_type type = moment_type(moment);

	if (type == MOMENT_OP_END)
		return !rec->extras[moment->index].open;
	return type != MOMENT_WAIT_END || !rec->waits[moment->index].open;
}

/* A thread's events keep their order. */
static int compare_events(const void *left, const void *right)
{
	const struct event *a = left, *b = right;

	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

static uint64_t start_of(const struct edging *edging, uint32_t thread)
{
	uint32_t op = edging->rec->threads[thread].op;
	size_t first = edging->timeline.first[thread];

	if (op != NO_INDEX)
		return edging->rec->ops[op].start_ns;
	return first < edging->timeline.first[thread + 1] ? edging->timeline.moments[first].at_ns
							  : 0;
}

/* To be freed. */
static struct event *events_of_all(const struct edging *edging, size_t *count)
{
	const struct timeline *timeline = &edging->timeline;
	size_t all = timeline->first[timeline->thread_count] + 2 * timeline->thread_count;
	struct event *events = memory_new(all, sizeof(*events));

	*count = 0;
	for (uint32_t t = 0; t < timeline->thread_count; t++) {
		uint32_t op = edging->rec->threads[t].op, at = 0;

		events[(*count)++] = (struct event){ start_of(edging, t), t, at++ };
		for (size_t i = timeline->first[t]; i < timeline->first[t + 1]; i++, at++)
			if (has_happened(edging->rec, &timeline->moments[i]))
				events[(*count)++] =
					(struct event){ timeline->moments[i].at_ns, t, at };
		if (op != NO_INDEX && !edging->rec->extras[op].open)
			events[(*count)++] =
				(struct event){ edging->rec->ops[op].end_ns, t, UINT32_MAX };
	}
	qsort(events, *count, sizeof(*events), compare_events);
	return events;
}

static void walk(struct edging *edging)
{
	size_t count;
	struct event *events = events_of_all(edging, &count);

	edging->edges->start_ns = count ? events[0].at_ns : 0;
	/* A moment for each event, and two for an interval of no length. */
	edging->edges->moments = memory_new(2 * count, sizeof(*edging->edges->moments));
	edging->moment_ns = memory_new(2 * count, sizeof(*edging->moment_ns));
	for (uint32_t t = 0; t < edging->rec->thread_count; t++)
		edging->walkers[t] = (struct walker){ .last = NO_INDEX,
						      .begun = NO_INDEX,
						      .last_ns = edging->edges->start_ns };
	for (size_t i = 0; i < count; i++) {
		uint32_t thread = events[i].thread;

		/* Beginning so late is nobody's work. */
		edging->walkers[thread].wait_count += events[i].at == 0;
		if (events[i].at == 0 || events[i].at == UINT32_MAX)
			(void)add(edging, &events[i],
				  events[i].at ? NO_INDEX : edging->start_cause[thread]);
		else
			happen(edging, &events[i]);
		edging->walkers[thread].wait_count -= events[i].at == 0;
		edging->edges->finish[thread] = edging->walkers[thread].last;
	}
	free(events);
}

static uint32_t *nothing_yet(size_t count)
{
	uint32_t *places = memory_new(count, sizeof(*places));

	memset(places, 0xff, count * sizeof(*places));
	return places;
}

static void edging_free(struct edging *edging)
{
	free(edging->walkers);
	free(edging->of_link);
	free(edging->op_begin);
	free(edging->op_end);
	free(edging->wait_begin);
	free(edging->start_cause);
	free(edging->moment_ns);
	wakers_free(&edging->wakers);
	timeline_free(&edging->timeline);
}

static void find_wakers(struct edging *edging)
{
	struct releases releases;
	struct monitors monitors;
	struct flows flows;

	releases_build(&releases, edging->rec);
	monitors_build(&monitors, edging->rec, &edging->timeline, &releases);
	flows_build(&flows, edging->rec);
	wakers_build(&edging->wakers, edging->rec, &edging->timeline, &monitors, &flows);
	flows_free(&flows);
	monitors_free(&monitors);
	releases_free(&releases);
}

void edges_build(struct edges *edges, const struct recording *rec,
		 const struct class_table *classes)
{
	struct edging edging = { .edges = edges,
				 .rec = rec,
				 .classes = classes,
				 .walkers = memory_new(rec->thread_count, sizeof(struct walker)),
				 .of_link = nothing_yet(rec->link_count),
				 .op_begin = nothing_yet(rec->op_count),
				 .op_end = nothing_yet(rec->op_count),
				 .wait_begin = nothing_yet(rec->wait_count),
				 .start_cause = nothing_yet(rec->thread_count) };

	assert(rec->thread_count && rec->extras);
	*edges = (struct edges){ .finish = nothing_yet(rec->thread_count),
				 .thread_count = rec->thread_count };
	timeline_build(&edging.timeline, rec);
	find_wakers(&edging);
	walk(&edging);
	edging_free(&edging);
}

void edges_free(struct edges *edges)
{
	free(edges->moments);
	free(edges->finish);
	scopes_free(&edges->scopes);
	*edges = (struct edges){ 0 };
}
