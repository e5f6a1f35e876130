/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks through a recording for exporters; walk.h has the contract.
 *
 * Slices are those of measure/threadslices.h. Here they get names, classes and stacks.
 */
#include "walk.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "recording/samples.h"
#include "report/analysis.h"

static const char *const state_words[WALK_STATES] = {
	[WALK_RUNNING] = "running", [WALK_QUEUED] = "queued",           [WALK_BLOCKED] = "blocked",
	[WALK_IDLE] = "idle",       [WALK_UNEXPLAINED] = "unexplained",
};

const char *walk_state_word(enum walk_state state)
{
	return state_words[state];
}

void walk_begin_plain(struct walk *walk, const struct recording *recording,
		      const struct labels *labels)
{
	*walk = (struct walk){ .recording = recording,
			       .labels = labels,
			       .wakers = memory_new(1, sizeof(*walk->wakers)) };
	if (walk_thread_count(walk) == 0)
		return;
	timeline_build(&walk->timeline, recording);
	walk->slices = thread_slices_new(recording, &walk->timeline);
}

void walk_begin(struct walk *walk, const struct analysis *analysis)
{
	walk_begin_plain(walk, analysis->recording, analysis->labels);
	walk->classes = &analysis->classes;
	if (!analysis->has_script)
		return;
	walk->arrivals = analysis->script.arrivals;
	walk->requests = &analysis->script.requests;
	walk->script = &analysis->script;
}

void walk_end(struct walk *walk)
{
	if (walk->slices) {
		thread_slices_free(walk->slices);
		timeline_free(&walk->timeline);
	}
	wakers_free(walk->wakers);
	free(walk->wakers);
	*walk = (struct walk){ 0 };
}

uint32_t walk_thread_count(const struct walk *walk)
{
	return walk->recording->threads ? (uint32_t)walk->recording->thread_count : 0;
}

const char *walk_thread_name(const struct walk *walk, uint32_t thread)
{
	const char *name = walk->recording->strings[walk->recording->threads[thread].name];
	return *name ? name : "?";
}

size_t walk_stack(const struct walk *walk, uint32_t stack, uint32_t *functions, size_t room)
{
	return frame_names_of_stack(walk->labels ? &walk->labels->frames : NULL, walk->recording,
				    stack, functions, room);
}

/* --- Slices --- */

static uint32_t class_of(const struct walk *walk, uint32_t op)
{
	return walk->classes && op != NO_INDEX ? walk->classes->of_op[op] : NO_INDEX;
}

static void name_wait(const struct walk *walk, struct walk_slice *slice)
{
	const struct rec_wait *wait = &walk->recording->waits[slice->wait];
	slice->name = walk->labels && walk->labels->waits ? walk->labels->waits[slice->wait]
							  : wait->ident;
	slice->class = class_of(walk, wait->target);
	slice->stack = wait->stack;
	slice->holder = wait->holder;
	slice->is_end = slice->end_ns == wait->end_ns && !wait->open;
}

static void name_call(const struct walk *walk, struct walk_slice *slice)
{
	const struct rec_op *op = &walk->recording->ops[slice->op];
	const struct rec_op_extra *extras = walk->recording->extras;
	slice->name = op->name;
	slice->class = class_of(walk, slice->op);
	slice->stack = extras ? extras[slice->op].stack : 0;
	slice->is_end = slice->end_ns == op->end_ns && !(extras && extras[slice->op].open);
	if (slice->state == WALK_BLOCKED && walk->arrivals && slice->class != NO_INDEX &&
	    walk->arrivals[slice->class] != ARRIVAL_NONE)
		slice->state = WALK_IDLE;
}

/* A sample with a stack stands for all that its thread ran since the last one. */
static uint32_t sampled_stack(struct walk *walk, uint64_t at_ns)
{
	while (walk->sample < walk->sample_count && (walk->samples[walk->sample].at_ns < at_ns ||
						     walk->samples[walk->sample].stack == 0))
		walk->sample++;
	return walk->sample < walk->sample_count ? walk->samples[walk->sample].stack : 0;
}

/* Of a call, as long as its class is not looked at. */
static const enum walk_state state_of[SLICE_STATES] = {
	[SLICE_RUNNING] = WALK_RUNNING,
	[SLICE_QUEUED] = WALK_QUEUED,
	[SLICE_BLOCKED] = WALK_BLOCKED,
	[SLICE_UNEXPLAINED] = WALK_UNEXPLAINED,
};

static bool next_single(struct walk *walk, struct walk_slice *slice)
{
	struct thread_slice cut;
	if (!thread_slices_next(walk->slices, &cut))
		return false;
	*slice = (struct walk_slice){
		.start_ns = cut.start_ns,
		.end_ns = cut.end_ns,
		.state = state_of[cut.state],
		.thread = walk->thread,
		.op = cut.op,
		.wait = cut.wait,
		.cause = NO_INDEX,
		.holder = NO_INDEX,
	};
	if (cut.wait != NO_INDEX)
		name_wait(walk, slice);
	else if (cut.op != NO_INDEX)
		name_call(walk, slice);
	else
		slice->class = class_of(walk, walk->recording->threads[walk->thread].op);
	if (cut.wait != NO_INDEX || cut.op != NO_INDEX)
		slice->cause = thread_cause_of(walk->recording, &cut);
	if (slice->state == WALK_RUNNING)
		slice->stack = sampled_stack(walk, slice->end_ns);
	return true;
}

void walk_thread(struct walk *walk, uint32_t thread)
{
	assert(thread < walk_thread_count(walk));
	walk->thread = thread;
	walk->samples = samples_of_thread(walk->recording, thread, &walk->sample_count);
	walk->sample = 0;
	walk->op_at = walk->timeline.first[thread];
	thread_slices_begin(walk->slices, thread, &walk->start_ns, &walk->end_ns);
	walk->has_next = next_single(walk, &walk->next);
}

static bool goes_on(const struct walk_slice *slice, const struct walk_slice *next)
{
	return slice->state == next->state && slice->op == next->op && slice->wait == next->wait &&
	       slice->stack == next->stack;
}

bool walk_next(struct walk *walk, struct walk_slice *slice)
{
	if (!walk->has_next)
		return false;
	*slice = walk->next;
	while ((walk->has_next = next_single(walk, &walk->next)) && goes_on(slice, &walk->next)) {
		slice->end_ns = walk->next.end_ns;
		slice->is_end = walk->next.is_end;
	}
	return true;
}

/* --- Ops, links, requests --- */

bool walk_next_op(struct walk *walk, uint32_t *op)
{
	while (walk->op_at < walk->timeline.first[walk->thread + 1]) {
		const struct moment *moment = &walk->timeline.moments[walk->op_at++];
		enum moment_type type = moment_type(moment);
		if (type != MOMENT_OP_BEGIN && type != MOMENT_OP_POINT)
			continue;
		*op = moment->index;
		return true;
	}
	return false;
}

const struct wakers *walk_wakers(const struct walk *walk)
{
	if (!walk->wakers->of_wait && walk->script)
		wakers_build(walk->wakers, walk->recording, &walk->timeline,
			     &walk->script->monitors, &walk->script->flows);
	return walk->wakers;
}

bool walk_waker(const struct walk *walk, const struct walk_slice *slice, struct walk_waker *waker)
{
	const struct recording *recording = walk->recording;
	const struct wakers *wakers = walk_wakers(walk);
	struct waker found = { 0 };
	uint64_t start_ns = 0;
	if (slice->is_end && wakers->of_wait) {
		bool is_wait = slice->wait != NO_INDEX;
		found = is_wait ? wakers->of_wait[slice->wait] : wakers->of_op[slice->op];
		start_ns = is_wait ? recording->waits[slice->wait].start_ns
				   : recording->ops[slice->op].start_ns;
	}
	*waker = (struct walk_waker){
		.at_ns = waker_at_ns(recording, found),
		.thread = waker_thread(recording, found),
		.op = waker_op(recording, found),
		.link = found.event == WAKER_LINK ? found.index : NO_INDEX,
	};
	if (waker->at_ns > slice->end_ns)
		waker->at_ns = slice->end_ns;
	return waker->thread != NO_INDEX && waker->thread != slice->thread &&
	       waker->at_ns >= start_ns;
}

static int compare_requests(const void *a, const void *b)
{
	const struct walk_request *left = a, *right = b;
	if (left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	return (left->end_ns > right->end_ns) - (left->end_ns < right->end_ns);
}

struct walk_request *walk_requests(const struct walk *walk, size_t *count)
{
	const struct requests *from = walk->requests;
	*count = from ? from->count : 0;
	struct walk_request *requests = memory_new(*count, sizeof(*requests));
	for (uint32_t i = 0; i < *count; i++) {
		const struct request *request = &from->requests[i];
		requests[i] =
			(struct walk_request){ request->start_ns, request->end_ns, request->op, i,
					       request->class,    request->source };
	}
	if (*count > 0)
		qsort(requests, *count, sizeof(*requests), compare_requests);
	return requests;
}

/* --- For tests and debug builds --- */

static bool has_sums(const struct walk *walk, const uint64_t *sums_ns,
		     const struct thread_time *row)
{
	return sums_ns[WALK_RUNNING] == row->cpu_ns && sums_ns[WALK_QUEUED] == row->queued_ns &&
	       sums_ns[WALK_BLOCKED] + sums_ns[WALK_IDLE] == row->blocked_ns &&
	       sums_ns[WALK_UNEXPLAINED] == row->unexplained_ns &&
	       walk->end_ns - walk->start_ns == row->wall_ns;
}

bool walk_is_valid(struct walk *walk, const struct thread_table *threads)
{
	for (uint32_t i = 0; i < threads->count; i++) {
		uint64_t sums_ns[WALK_STATES] = { 0 };
		struct walk_slice slice;
		walk_thread(walk, threads->rows[i].thread);
		uint64_t at_ns = walk->start_ns;
		while (walk_next(walk, &slice)) {
			if (slice.start_ns != at_ns || slice.end_ns <= at_ns ||
			    slice.thread != threads->rows[i].thread ||
			    (slice.op != NO_INDEX && slice.wait != NO_INDEX))
				return false;
			at_ns = slice.end_ns;
			sums_ns[slice.state] += slice.end_ns - slice.start_ns;
		}
		if (at_ns != walk->end_ns || !has_sums(walk, sums_ns, &threads->rows[i]))
			return false;
	}
	return true;
}
