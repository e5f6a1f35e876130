/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks back through each request; requestpaths.h has the contract.
 *
 * A span of a chain is walked stretch by stretch (walk_chain). A stretch of a thread is walked from
 * break to break (walk_thread). Time between breaks is summed up in the lane of the thread's time.
 * A gap is summed up in that of its thread's requests, a wait for a lock in that of its holders.
 * Each moment of a span is walked once, on one thread: the vector's sum is the request's time.
 *
 * Many requests may wait for one thread. So only so many breaks are taken in all; beyond, a wait
 * that others ended is what it is on its own thread.
 */
#include "requestpaths.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "breaks.h"
#include "gaps.h"
#include "timeparts.h"

enum {
	DEPTH_MAX = 32,     /* threads that wait for each other, one after the other */
	STEPS_A_THING = 64, /* breaks and stretches are each walked so often, on average */
	STEPS_LEAST = 100000
};

struct walker {
	const struct request_paths_of *of;
	struct request_paths *paths;
	struct lanes times;
	struct owners owners;
	struct lanes gaps;
	struct held_locks locks;
	struct joints joints;
	struct breaks breaks;
	size_t steps_left;
	uint32_t waking, unexplained; /* parts */
	uint32_t missing;             /* part of time that a lane does not have */
	/* of the request that is walked through */
	bool is_traced;    /* it is of all processes that worked for it */
	uint64_t *ns;      /* by part */
	uint32_t *touched; /* the parts that are not 0 */
	size_t touched_count, ns_room, touched_room;
	size_t part_room, amount_room;
};

/* A span of a thread that is walked back through. */
struct span {
	uint32_t thread;
	uint32_t chain; /* that it works for, NO_INDEX = whatever it does */
	uint64_t from_ns;
	uint64_t to_ns;
	uint64_t limit_ns; /* at most from_ns: requests that were asked may have begun before */
	int depth;
	bool has_asked; /* requests that it asked are parts */
};

static void walk_chain(struct walker *walker, struct span span);
static uint64_t walk_thread(struct walker *walker, const struct span *span);

/* --- Parts --- */

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void add_part(void *context, uint32_t part, uint64_t ns)
{
	struct walker *walker = context;
	if (part == NO_INDEX)
		part = walker->missing;
	if (ns == 0)
		return;
	while (walker->ns_room <= part) {
		size_t room = walker->ns_room;
		walker->ns = memory_grow(walker->ns, &walker->ns_room, part + (size_t)1,
					 sizeof(*walker->ns));
		for (; room < walker->ns_room; room++)
			walker->ns[room] = 0;
	}
	if (walker->ns[part] == 0) {
		walker->touched = memory_grow(walker->touched, &walker->touched_room,
					      walker->touched_count + 1, sizeof(*walker->touched));
		walker->touched[walker->touched_count++] = part;
	}
	walker->ns[part] += ns;
}

static void add_sums(struct walker *walker, const struct lanes *lanes, size_t lane,
		     uint64_t from_ns, uint64_t to_ns)
{
	if (from_ns < to_ns)
		lanes_sum(lanes, lane, from_ns, to_ns, add_part, walker);
}

static bool take_step(struct walker *walker)
{
	if (walker->steps_left == 0)
		return false;
	walker->steps_left--;
	return true;
}

/* --- Gaps: a request is there, and its thread is not at it --- */

/* A thread that is idle as a request comes is waking up from then on. */
static void add_gap(struct walker *walker, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
		    bool is_first)
{
	const struct lanes *lanes = &walker->owners.lanes;
	size_t at = lanes_find(lanes, thread, from_ns);
	if (is_first && at < lanes->lanes[thread + 1].stretch &&
	    lanes->stretches[at].start_ns <= from_ns && walker->owners.request[at] == OWNER_IDLE) {
		uint64_t end_ns = lanes->stretches[at].end_ns;
		end_ns = end_ns < to_ns ? end_ns : to_ns;
		add_part(walker, walker->waking, end_ns - from_ns);
		from_ns = end_ns;
	}
	bool was_at_any =
		walker->gaps.lanes[thread].stretch < walker->gaps.lanes[thread + 1].stretch;
	add_sums(walker, was_at_any ? &walker->gaps : &walker->times, thread, from_ns, to_ns);
}

/* --- Breaks --- */

/* The other thread's time that a wait of this span's thread waited for. */
static void walk_other(struct walker *walker, const struct joint *joint, uint64_t from_ns,
		       uint64_t to_ns, int depth)
{
	uint64_t at_ns = joint->is_begin ? to_ns : to_ns - 1;
	uint32_t request = owners_at(&walker->owners, joint->thread, at_ns);
	struct span span = { .thread = joint->thread,
			     .chain = NO_INDEX,
			     .from_ns = from_ns,
			     .to_ns = to_ns,
			     .limit_ns = from_ns,
			     .depth = depth,
			     .has_asked = true };
	if (request != NO_INDEX && request != OWNER_IDLE)
		span.chain = walker->owners.owned[request].chain;
	if (span.chain == NO_INDEX)
		walk_thread(walker, &span);
	else
		walk_chain(walker, span);
}

static void walk_joint(struct walker *walker, const struct span *span, const struct joint *joint,
		       uint64_t from_ns, uint64_t to_ns)
{
	uint64_t at_ns = later(joint->at_ns, from_ns);
	at_ns = at_ns < to_ns ? at_ns : to_ns;
	add_part(walker, walker->waking, to_ns - at_ns);
	if (at_ns == from_ns)
		return;
	if (span->depth < DEPTH_MAX && walker->steps_left > 0)
		walk_other(walker, joint, from_ns, at_ns, span->depth + 1);
	else
		add_sums(walker, &walker->times, span->thread, from_ns, at_ns);
}

/* The op of another thread that wrote the answer to a request; NO_INDEX = not known. */
static uint32_t answer_of(const struct walker *walker, uint32_t index)
{
	const struct request *asked = &walker->of->requests->requests[index];
	uint32_t end_op = walker->owners.owned[index].end_op, found = NO_INDEX;
	if (end_op == NO_INDEX)
		return NO_INDEX;
	if (asked->of != NO_INDEX)
		found = walker->owners.owned[asked->of].end_op;
	else if (walker->of->wakers->write_of)
		found = walker->of->wakers->write_of[end_op];
	if (found == NO_INDEX || walker->of->recording->ops[found].thread == NO_INDEX ||
	    walker->of->recording->ops[found].thread == asked->thread)
		return NO_INDEX;
	return found;
}

/* A request that the span's thread asked: what it took until its answer was there, and the read of
 * that, are one part. In between, the thread may have been at others. */
static void walk_asked(struct walker *walker, const struct span *span, uint32_t index,
		       uint64_t from_ns, uint64_t to_ns)
{
	const struct request *asked = &walker->of->requests->requests[index];
	const struct owned *owned = &walker->owners.owned[index];
	uint32_t name = walker->of->classes->classes[asked->class].name;
	uint32_t part = path_parts_add(&walker->paths->parts, PATH_DOWNSTREAM, name, 0);
	uint64_t read_ns = to_ns, there_ns = to_ns;
	if (owned->end_op != NO_INDEX) {
		const struct rec_op *answer = &walker->of->recording->ops[owned->end_op];
		read_ns = answer->start_ns < to_ns ? answer->start_ns : to_ns;
		read_ns = later(read_ns, from_ns);
		there_ns = owners_poll_between(&walker->owners, span->thread, from_ns, read_ns);
	}
	uint32_t answer_op = answer_of(walker, index);
	if (answer_op != NO_INDEX)
		there_ns = later(walker->of->recording->ops[answer_op].start_ns, from_ns);
	there_ns = there_ns < read_ns ? there_ns : read_ns;
	add_part(walker, part, to_ns - read_ns);
	add_part(walker, part, there_ns - from_ns);
	struct span late = *span;
	late.chain = walker->owners.owned[owned->of == NO_INDEX ? index : owned->of].chain;
	late.from_ns = late.limit_ns = there_ns;
	late.to_ns = read_ns;
	late.has_asked = false;
	late.depth++;
	if (there_ns < read_ns)
		walk_chain(walker, late);
}

/* Whether a break of the span's thread is one for it. */
static bool is_for(const struct walker *walker, const struct span *span,
		   const struct path_break *at)
{
	if (at->sort == BREAK_ASKED && walker->is_traced &&
	    walker->of->requests->requests[at->index].of != NO_INDEX)
		return false;
	if (at->sort != BREAK_ASKED || span->chain == NO_INDEX)
		return at->sort != BREAK_ASKED || span->has_asked;
	uint32_t of = walker->owners.owned[at->index].of;
	return span->has_asked && of != NO_INDEX && walker->owners.owned[of].chain == span->chain;
}

/* The time at which the break begins for this span. */
static uint64_t walk_break(struct walker *walker, const struct span *span,
			   const struct path_break *at)
{
	uint64_t limit_ns = at->sort == BREAK_ASKED ? span->limit_ns : span->from_ns;
	uint64_t from_ns = later(at->start_ns, limit_ns);
	switch (at->sort) {
	case BREAK_LOCK:
		walker->missing = walker->locks.part_of[at->index];
		add_sums(walker, &walker->locks.lanes, at->index, from_ns, at->end_ns);
		walker->missing = walker->unexplained;
		break;
	case BREAK_JOINT:
		walk_joint(walker, span, &walker->joints.joints[at->index], from_ns, at->end_ns);
		break;
	case BREAK_ASKED:
		walk_asked(walker, span, at->index, from_ns, at->end_ns);
		break;
	}
	return from_ns;
}

/* --- Spans --- */

/* The time that it got to: from_ns, or earlier where a request began that it had asked. */
static uint64_t walk_thread(struct walker *walker, const struct span *span)
{
	uint64_t at_ns = span->to_ns;
	size_t first = walker->breaks.first[span->thread];
	size_t next = breaks_until(&walker->breaks, span->thread, at_ns);
	while (at_ns > span->from_ns) {
		const struct path_break *found = NULL;
		while (next > first && !found && take_step(walker)) {
			const struct path_break *at = &walker->breaks.breaks[--next];
			if (at->end_ns <= span->from_ns)
				break;
			if (is_for(walker, span, at))
				found = at;
		}
		if (!found)
			break;
		add_sums(walker, &walker->times, span->thread, found->end_ns, at_ns);
		at_ns = walk_break(walker, span, found);
		next = breaks_until(&walker->breaks, span->thread, at_ns);
	}
	if (at_ns > span->from_ns) {
		add_sums(walker, &walker->times, span->thread, span->from_ns, at_ns);
		at_ns = span->from_ns;
	}
	return at_ns;
}

/* Where a stretch begins as a wait ends, the path comes from the thread that ended that. */
static void come_from(struct walker *walker, struct span *span)
{
	size_t first = walker->breaks.first[span->thread];
	size_t next = breaks_until(&walker->breaks, span->thread, span->to_ns);
	for (; next > first && walker->breaks.breaks[next - 1].end_ns == span->to_ns; next--) {
		const struct path_break *at = &walker->breaks.breaks[next - 1];
		if (at->sort != BREAK_JOINT)
			continue;
		const struct joint *joint = &walker->joints.joints[at->index];
		uint64_t at_ns = later(joint->at_ns, span->limit_ns);
		add_part(walker, walker->waking, span->to_ns - at_ns);
		span->to_ns = at_ns;
		span->thread = joint->thread;
		return;
	}
}

/* The event that woke the thread for work of no other request, up to this time; NULL = none. */
static const struct joint *woken_by(const struct walker *walker, uint32_t thread, uint64_t at_ns)
{
	const struct owners *owners = &walker->owners;
	size_t first = owners->lanes.lanes[thread].stretch;
	size_t at = lanes_find(&owners->lanes, thread, at_ns - 1);
	if (at <= first || at >= owners->lanes.lanes[thread + 1].stretch ||
	    owners->request[at] != NO_INDEX || owners->request[at - 1] != OWNER_IDLE)
		return NULL;
	const struct joint *joint =
		joints_before(&walker->joints, thread, owners->lanes.stretches[at].start_ns);
	return joint && joint->end_ns == owners->lanes.stretches[at].start_ns ? joint : NULL;
}

/* A gap in a chain: another thread may have worked meanwhile, and then woken this one. */
static void walk_gap(struct walker *walker, const struct span *span, uint64_t from_ns)
{
	const struct joint *joint = woken_by(walker, span->thread, span->to_ns);
	if (!joint || joint->at_ns <= from_ns || span->depth >= DEPTH_MAX || !take_step(walker)) {
		add_gap(walker, span->thread, from_ns, span->to_ns, false);
		return;
	}
	add_gap(walker, span->thread, joint->end_ns, span->to_ns, false);
	add_part(walker, walker->waking, joint->end_ns - joint->at_ns);
	walk_other(walker, joint, from_ns, joint->at_ns, span->depth + 1);
}

/* From to_ns back to limit_ns, through the stretches of a chain. */
static void walk_chain(struct walker *walker, struct span span)
{
	const struct owners *owners = &walker->owners;
	while (span.to_ns > span.limit_ns) {
		size_t place = owners_before(owners, span.chain, span.to_ns);
		uint32_t index = place == SIZE_MAX ? NO_INDEX : owners->chains.items[place];
		const struct lane_stretch *stretch = &owners->lanes.stretches[index];
		if (place == SIZE_MAX || stretch->end_ns <= span.limit_ns || !take_step(walker)) {
			add_gap(walker, span.thread, span.limit_ns, span.to_ns, true);
			return;
		}
		if (stretch->end_ns < span.to_ns) {
			walk_gap(walker, &span, stretch->end_ns);
			span.to_ns = stretch->end_ns;
		}
		span.thread = owners->thread[index];
		span.from_ns = later(stretch->start_ns, span.limit_ns);
		uint64_t from_ns = span.from_ns;
		span.to_ns = walk_thread(walker, &span);
		if (span.to_ns == from_ns && span.to_ns > span.limit_ns)
			come_from(walker, &span);
	}
}

/* --- Requests --- */

/* One that was asked: from its answer back through who gave that, if it is recorded. */
static void walk_question(struct walker *walker, uint32_t index, struct span span)
{
	const struct owned *owned = &walker->owners.owned[index];
	uint32_t answer_op = answer_of(walker, index);
	if (answer_op == NO_INDEX) {
		walk_asked(walker, &span, index, span.from_ns, span.to_ns);
		return;
	}
	const struct rec_op *answer = &walker->of->recording->ops[answer_op];
	uint64_t from_ns = span.limit_ns;
	uint64_t there_ns = later(answer->start_ns, from_ns);
	there_ns = there_ns < span.to_ns ? there_ns : span.to_ns;
	span.chain = walker->owners.owned[owned->of == NO_INDEX ? index : owned->of].chain;
	span.limit_ns = there_ns;
	span.has_asked = false;
	walk_chain(walker, span);
	if (from_ns < there_ns)
		walk_other(walker,
			   &(const struct joint){ .thread = answer->thread, .is_begin = true },
			   from_ns, there_ns, 0);
}

/* The time after all that was done for a request without an answer is not known. */
static void leave_out_rest(struct walker *walker, struct span *span)
{
	const struct owners *owners = &walker->owners;
	size_t place = owners_before(owners, span->chain, span->to_ns);
	if (place == SIZE_MAX)
		return;
	const struct lane_stretch *stretch = &owners->lanes.stretches[owners->chains.items[place]];
	if (stretch->end_ns >= span->to_ns || stretch->end_ns <= span->limit_ns)
		return;
	add_part(walker, walker->unexplained, span->to_ns - stretch->end_ns);
	span->to_ns = stretch->end_ns;
}

static void walk_request(struct walker *walker, uint32_t index)
{
	const struct request *request = &walker->of->requests->requests[index];
	const struct owned *owned = &walker->owners.owned[index];
	struct span span = { .thread = owned->end_thread,
			     .chain = owned->chain,
			     .from_ns = request->start_ns,
			     .to_ns = request->end_ns,
			     .limit_ns = request->start_ns,
			     .has_asked = true };
	walker->is_traced = request->source == REQUEST_TRACED;
	if (span.from_ns >= span.to_ns)
		return;
	if (span.thread == NO_INDEX) {
		add_part(walker, walker->unexplained, span.to_ns - span.from_ns);
		return;
	}
	if (request->source == REQUEST_ASKED) {
		walk_question(walker, index, span);
	} else if (span.chain == NO_INDEX) {
		walk_thread(walker, &span);
	} else {
		if (request->is_unfinished)
			leave_out_rest(walker, &span);
		walk_chain(walker, span);
	}
}

static int compare_parts(const void *a, const void *b, void *context)
{
	const uint64_t *ns = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	if (ns[left] != ns[right])
		return ns[left] > ns[right] ? -1 : 1;
	return (left > right) - (left < right);
}

static void keep_parts(struct walker *walker, uint32_t request)
{
	struct request_paths *paths = walker->paths;
	size_t at = paths->first[request];
	if (walker->touched_count > 1)
		qsort_r(walker->touched, walker->touched_count, sizeof(*walker->touched),
			compare_parts, walker->ns);
	for (size_t i = 0; i < walker->touched_count; i++, at++) {
		uint32_t part = walker->touched[i];
		paths->part =
			memory_grow(paths->part, &walker->part_room, at + 1, sizeof(*paths->part));
		paths->ns =
			memory_grow(paths->ns, &walker->amount_room, at + 1, sizeof(*paths->ns));
		paths->part[at] = part;
		paths->ns[at] = walker->ns[part];
		walker->ns[part] = 0;
	}
	walker->touched_count = 0;
	paths->first[request + 1] = at;
}

void request_paths_build(struct request_paths *paths, const struct request_paths_of *of)
{
	struct walker walker = { .of = of, .paths = paths };
	size_t threads = of->recording->thread_count;
	*paths = (struct request_paths){ .count = of->requests->count };
	paths->first = memory_new(paths->count + 1, sizeof(*paths->first));
	path_parts_begin(&paths->parts);
	walker.waking = path_parts_add(&paths->parts, PATH_WAKING, 0, 0);
	walker.unexplained = path_parts_add(&paths->parts, PATH_UNEXPLAINED, 0, 0);
	walker.missing = walker.unexplained;
	time_parts_build(&walker.times, &paths->parts, of);
	owners_build(&walker.owners, of);
	gaps_build(&walker.gaps, &paths->parts, of, &walker.owners, &walker.times);
	held_locks_build(&walker.locks, &paths->parts, of);
	joints_build(&walker.joints, of->recording, of->timeline, of->wakers);
	breaks_build(&walker.breaks, of, &walker.joints, &walker.owners, &walker.locks);
	walker.steps_left = STEPS_LEAST + STEPS_A_THING * (walker.breaks.first[threads] +
							   walker.owners.lanes.stretch_count);
	for (uint32_t i = 0; i < paths->count; i++) {
		walk_request(&walker, i);
		keep_parts(&walker, i);
	}
	breaks_free(&walker.breaks);
	joints_free(&walker.joints);
	held_locks_free(&walker.locks);
	lanes_free(&walker.gaps);
	owners_free(&walker.owners);
	lanes_free(&walker.times);
	free(walker.ns);
	free(walker.touched);
}

void request_paths_free(struct request_paths *paths)
{
	path_parts_free(&paths->parts);
	free(paths->first);
	free(paths->part);
	free(paths->ns);
	*paths = (struct request_paths){ 0 };
}

bool request_paths_are_valid(const struct request_paths *paths, const struct requests *requests)
{
	for (size_t i = 0; i < paths->count; i++) {
		const struct request *request = &requests->requests[i];
		uint64_t ns = 0;
		for (size_t k = paths->first[i]; k < paths->first[i + 1]; k++)
			ns += paths->ns[k];
		if (ns != request->end_ns - request->start_ns)
			return false;
	}
	return true;
}
