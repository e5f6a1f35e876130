/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the moments of each thread into stints; stints.h has the contract. One thread. */
#include "stints.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"

#define NO_MOMENT SIZE_MAX

struct walk {
	const struct recording *rec;
	const struct class_table *classes;
	const struct timeline *timeline;
	struct stints *found;
	size_t element_capacity;
	size_t stint_capacity;
	/* The thread whose moments are looked at. */
	struct stint stint;
	size_t open;      /* ops */
	size_t lock_wait; /* moment, NO_MOMENT = the last one was for nothing that follows */
};

/* One that gave up, or tried in vain, does something else until it comes back. */
static bool is_for_lock(const struct rec_wait *wait)
{
	return !wait->timed_out &&
	       (wait->reason == REASON_MUTEX || wait->reason == REASON_RWLOCK_READ ||
		wait->reason == REASON_RWLOCK_WRITE);
}

/* Looks for something to do, and does nothing. */
static bool is_idle(const struct recording *rec, const struct rec_op *op)
{
	return op->kind == KIND_SLEEP && !strcmp(rec->strings[op->name], "sched_yield");
}

static void stint_begins(struct walk *walk, uint64_t at_ns)
{
	walk->stint.begin_ns = at_ns;
	walk->stint.idle_ns = 0;
	walk->stint.first = walk->found->element_count;
	walk->stint.is_cut = walk->open > 0;
	walk->lock_wait = NO_MOMENT;
}

static void stint_ends(struct walk *walk, uint64_t at_ns, bool is_cut)
{
	struct stints *found = walk->found;
	struct stint *stint = &walk->stint;

	stint->count = found->element_count - stint->first;
	if (!stint->count)
		return;
	const struct element *last = &found->elements[found->element_count - 1];

	stint->end_ns = walk->timeline->moments[last->last].at_ns;
	if (!stint->idle_ns)
		stint->idle_ns = at_ns;
	stint->is_cut |= is_cut || walk->open > 0;
	found->all = memory_grow(found->all, &walk->stint_capacity, found->count + 1,
				 sizeof(*found->all));
	found->all[found->count++] = *stint;
}

static void op_begins(struct walk *walk, size_t at, uint32_t op)
{
	const struct rec_op *begun = &walk->rec->ops[op];
	struct stints *found = walk->found;

	if (walk->open)
		return;
	walk->stint.idle_ns = is_idle(walk->rec, begun) ? begun->start_ns : 0;
	if (walk->stint.idle_ns)
		return;
	found->elements = memory_grow(found->elements, &walk->element_capacity,
				      found->element_count + 1, sizeof(*found->elements));
	found->elements[found->element_count++] =
		(struct element){ .first = walk->lock_wait != NO_MOMENT ? walk->lock_wait : at,
				  .last = at,
				  .class = walk->classes->of_op[op],
				  .is_hold = begun->kind == KIND_HOLD };
	walk->lock_wait = NO_MOMENT;
}

static void op_ends(struct walk *walk, size_t at, uint32_t op)
{
	struct stints *found = walk->found;

	if (!walk->open && found->element_count > walk->stint.first &&
	    !is_idle(walk->rec, &walk->rec->ops[op]))
		found->elements[found->element_count - 1].last = at;
}

static void look_at(struct walk *walk, size_t at)
{
	const struct moment *moment = &walk->timeline->moments[at];
	enum moment_type type = moment_type(moment);

	switch (type) {
	case MOMENT_OP_BEGIN:
	case MOMENT_OP_POINT:
		op_begins(walk, at, moment->index);
		walk->open += type == MOMENT_OP_BEGIN;
		break;
	case MOMENT_OP_END:
		walk->open -= walk->open > 0;
		op_ends(walk, at, moment->index);
		break;
	case MOMENT_WAIT_BEGIN:
	case MOMENT_WAIT_POINT:
		if (!is_for_lock(&walk->rec->waits[moment->index])) {
			stint_ends(walk, moment->at_ns, false);
			stint_begins(walk, moment->at_ns);
		} else if (!walk->open && walk->lock_wait == NO_MOMENT) {
			walk->lock_wait = at;
		}
		break;
	case MOMENT_WAIT_END:
		if (!is_for_lock(&walk->rec->waits[moment->index]))
			stint_begins(walk, moment->at_ns);
		break;
	case MOMENT_LINK:
		break;
	}
}

static void thread_cut(struct walk *walk, uint32_t thread)
{
	const struct recording *rec = walk->rec;
	size_t at = walk->timeline->first[thread], end = walk->timeline->first[thread + 1];
	uint32_t op = rec->threads[thread].op;

	walk->open = 0;
	walk->stint = (struct stint){ .thread = thread, .process = rec->threads[thread].process };
	if (at == end)
		return;
	bool is_whole = op != NO_INDEX && !rec->extras[op].open;
	const struct moment *moments = walk->timeline->moments;

	stint_begins(walk, op != NO_INDEX ? rec->ops[op].start_ns : moments[at].at_ns);
	for (; at < end; at++)
		look_at(walk, at);
	stint_ends(walk, is_whole ? rec->ops[op].end_ns : moments[end - 1].at_ns, !is_whole);
}

void stints_build(struct stints *found, const struct recording *rec,
		  const struct class_table *classes, const struct timeline *timeline,
		  size_t thread_count)
{
	struct walk walk = { .rec = rec, .classes = classes, .timeline = timeline, .found = found };

	*found = (struct stints){ 0 };
	for (uint32_t t = 0; t < thread_count; t++)
		thread_cut(&walk, t);
}

void stints_free(struct stints *found)
{
	free(found->elements);
	free(found->all);
	*found = (struct stints){ 0 };
}
