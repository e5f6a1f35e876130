/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes through each lock's holds and waits in order of time; blame.h has the contract.
 *
 * Between two moments of a lock, so many threads wait, and one hold counts. All that they wait goes
 * to it. While nobody holds the lock their time is put aside until the next hold. If that one's
 * number is not the next after the last one's, a hold is missing between them.
 */
#include "blame.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "format.h"
#include "locks.h"
#include "recording/releases.h"

/* In the order in which moments of one nanosecond happen: an interval of no length begins first. A
 * wait ends before its thread has the lock. */
enum edge_type { WAIT_BEGIN, WAIT_END, HOLD_BEGIN, HOLD_END };

struct edge {
	uint64_t at_ns;
	uint32_t index; /* of the op or wait */
	enum edge_type type;
};

struct blaming {
	const struct recording *recording;
	struct blame *blame;
	struct releases releases;
	struct edge *edges; /* lock by lock */
	size_t *first;      /* lock l owns edges [first[l], first[l + 1]) */
	size_t rest_room;
	/* of the lock that is gone through */
	uint32_t *held; /* holds that have begun and not ended */
	size_t held_count, held_room;
	uint64_t waiting; /* threads */
	uint64_t aside_ns;
	uint32_t last; /* the last hold that counted; NO_INDEX = none yet */
	uint32_t wait; /* the first wait for it */
	struct blame_rest rests[BLAME_UNKNOWN + 1];
};

/* --- Edges by lock --- */

static uint32_t lock_of_wait(const struct blaming *blaming, const struct rec_wait *wait)
{
	const struct recording *recording = blaming->recording;
	if (!wait->address || wait->thread == NO_INDEX)
		return NO_INDEX;
	return addresses_find(&blaming->releases.locks, recording->threads[wait->thread].process,
			      wait->address);
}

static void add_rest(struct blaming *blaming, struct blame_rest rest)
{
	struct blame *blame = blaming->blame;
	if (rest.ns == 0 && rest.waits == 0)
		return;
	blame->rests = memory_grow(blame->rests, &blaming->rest_room, blame->rest_count + 1,
				   sizeof(*blame->rests));
	blame->rests[blame->rest_count++] = rest;
}

static bool is_hold(const struct blaming *blaming, uint32_t op)
{
	return op != NO_INDEX && blaming->recording->ops[op].kind == KIND_HOLD;
}

/* A wait for a lock of which no hold is known: that of its target, if it has one. */
static void blame_alone(struct blaming *blaming, uint32_t index)
{
	const struct rec_wait *wait = &blaming->recording->waits[index];
	uint64_t ns = wait->end_ns - wait->start_ns;
	if (is_hold(blaming, wait->target)) {
		blaming->blame->ns[wait->target] += ns;
		blaming->blame->waits[wait->target]++;
	} else {
		add_rest(blaming, (struct blame_rest){ ns, 1, index, BLAME_UNKNOWN });
	}
}

static void put_edges(struct blaming *blaming, uint32_t lock, uint64_t start_ns, uint64_t end_ns,
		      uint32_t index, enum edge_type begin, enum edge_type end)
{
	struct edge *edges = blaming->edges;
	size_t *next = &blaming->first[lock + 1];
	assert(end_ns >= start_ns);
	edges[(*next)++] = (struct edge){ start_ns, index, begin };
	edges[(*next)++] = (struct edge){ end_ns, index, end };
}

/* Counts, then deals out: first[l + 1] is where lock l's next edge goes, its end after all. Locks
 * that nobody waits for are left out. */
static void deal_out(struct blaming *blaming)
{
	const struct recording *recording = blaming->recording;
	size_t locks = blaming->releases.locks.count;
	const uint32_t *lock_of = blaming->releases.lock_of;
	blaming->first = memory_new(locks + 2, sizeof(*blaming->first));
	uint32_t *lock_of_waits = memory_new(recording->wait_count, sizeof(*lock_of_waits));
	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		lock_of_waits[i] =
			lock_is_contention(wait->reason) ? lock_of_wait(blaming, wait) : NO_INDEX;
		if (lock_of_waits[i] != NO_INDEX)
			blaming->first[lock_of_waits[i] + 2] += 2;
		else if (lock_is_contention(wait->reason))
			blame_alone(blaming, (uint32_t)i);
	}
	bool *is_waited_for = memory_new(locks, sizeof(*is_waited_for));
	for (size_t l = 0; l < locks; l++)
		is_waited_for[l] = blaming->first[l + 2] > 0;
	for (size_t i = 0; i < recording->op_count; i++)
		if (lock_of[i] != NO_INDEX && is_waited_for[lock_of[i]])
			blaming->first[lock_of[i] + 2] += 2;
	for (size_t l = 0; l < locks; l++)
		blaming->first[l + 2] += blaming->first[l + 1];
	blaming->edges = memory_new(blaming->first[locks + 1], sizeof(*blaming->edges));
	for (uint32_t i = 0; i < recording->wait_count; i++)
		if (lock_of_waits[i] != NO_INDEX)
			put_edges(blaming, lock_of_waits[i], recording->waits[i].start_ns,
				  recording->waits[i].end_ns, i, WAIT_BEGIN, WAIT_END);
	for (uint32_t i = 0; i < recording->op_count; i++)
		if (lock_of[i] != NO_INDEX && is_waited_for[lock_of[i]])
			put_edges(blaming, lock_of[i], recording->ops[i].start_ns,
				  recording->ops[i].end_ns, i, HOLD_BEGIN, HOLD_END);
	free(is_waited_for);
	free(lock_of_waits);
}

/* --- One lock --- */

static int compare_edges(const void *a, const void *b)
{
	const struct edge *left = a, *right = b;
	if (left->at_ns != right->at_ns)
		return left->at_ns < right->at_ns ? -1 : 1;
	if (left->type != right->type)
		return left->type < right->type ? -1 : 1;
	return (left->index > right->index) - (left->index < right->index);
}

/* Of those that have the lock, the one that ends last. */
static uint32_t holder(const struct blaming *blaming)
{
	const struct rec_op *ops = blaming->recording->ops;
	uint32_t found = NO_INDEX;
	for (size_t i = 0; i < blaming->held_count; i++)
		if (found == NO_INDEX || ops[blaming->held[i]].end_ns > ops[found].end_ns)
			found = blaming->held[i];
	return found;
}

static void set_aside_go_to(struct blaming *blaming, enum blame_sort sort)
{
	blaming->rests[sort].ns += blaming->aside_ns;
	blaming->aside_ns = 0;
}

/* Whether other holds may have been between these two. */
static bool misses_holds(const struct recording *recording, uint32_t last, uint32_t next)
{
	const struct rec_op_extra *extras = recording->extras;
	if (last == NO_INDEX)
		return true;
	if (!extras[last].seq || !extras[next].seq || extras[last].shared || extras[next].shared ||
	    extras[last].address & SHARED_ADDRESS)
		return false;
	return extras[next].seq != extras[last].seq + 1;
}

static void begin_hold(struct blaming *blaming, uint32_t hold)
{
	if (blaming->held_count == 0)
		set_aside_go_to(blaming, misses_holds(blaming->recording, blaming->last, hold)
						 ? BLAME_UNKNOWN
						 : BLAME_FREE);
	blaming->held = memory_grow(blaming->held, &blaming->held_room, blaming->held_count + 1,
				    sizeof(*blaming->held));
	blaming->held[blaming->held_count++] = hold;
}

static void end_hold(struct blaming *blaming, uint32_t hold)
{
	for (size_t i = 0; i < blaming->held_count; i++)
		if (blaming->held[i] == hold) {
			blaming->held[i] = blaming->held[--blaming->held_count];
			break;
		}
	blaming->last = hold;
}

/* Nobody's, or one of the thread itself, which waits for other threads only. */
static bool is_own(const struct blaming *blaming, uint32_t hold, uint32_t thread)
{
	return hold == NO_INDEX || blaming->recording->ops[hold].thread == thread;
}

/* A wait's last hold is its target, or else the one that let go last. */
static void end_wait(struct blaming *blaming, uint32_t index)
{
	const struct rec_wait *wait = &blaming->recording->waits[index];
	uint32_t hold = is_hold(blaming, wait->target) ? wait->target : holder(blaming);
	if (is_own(blaming, hold, wait->thread))
		hold = blaming->last;
	if (!is_own(blaming, hold, wait->thread))
		blaming->blame->waits[hold]++;
	else
		blaming->rests[BLAME_UNKNOWN].waits++;
	assert(blaming->waiting > 0);
	blaming->waiting--;
}

static void take_edge(struct blaming *blaming, const struct edge *edge)
{
	switch (edge->type) {
	case HOLD_BEGIN:
		begin_hold(blaming, edge->index);
		break;
	case HOLD_END:
		end_hold(blaming, edge->index);
		break;
	case WAIT_BEGIN:
		blaming->waiting++;
		blaming->wait = edge->index;
		break;
	case WAIT_END:
		end_wait(blaming, edge->index);
		break;
	}
}

static void go_through(struct blaming *blaming, uint32_t lock)
{
	const struct edge *edges = blaming->edges + blaming->first[lock];
	size_t count = blaming->first[lock + 1] - blaming->first[lock];
	blaming->held_count = 0;
	blaming->last = NO_INDEX;
	for (int i = 0; i <= BLAME_UNKNOWN; i++)
		blaming->rests[i] = (struct blame_rest){ .sort = (enum blame_sort)i };
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && blaming->waiting > 0) {
			uint64_t ns = blaming->waiting * (edges[i].at_ns - edges[i - 1].at_ns);
			uint32_t hold = holder(blaming);
			*(hold == NO_INDEX ? &blaming->aside_ns : &blaming->blame->ns[hold]) += ns;
		}
		take_edge(blaming, &edges[i]);
	}
	assert(blaming->waiting == 0);
	set_aside_go_to(blaming, blaming->last == NO_INDEX ? BLAME_UNKNOWN : BLAME_FREE);
	for (int i = 0; i <= BLAME_UNKNOWN; i++) {
		blaming->rests[i].wait = blaming->wait;
		add_rest(blaming, blaming->rests[i]);
	}
}

void blame_build(struct blame *blame, const struct recording *recording)
{
	struct blaming blaming = { .recording = recording, .blame = blame };
	*blame = (struct blame){
		.ns = memory_new(recording->op_count, sizeof(*blame->ns)),
		.waits = memory_new(recording->op_count, sizeof(*blame->waits)),
	};
	releases_build(&blaming.releases, recording);
	deal_out(&blaming);
	for (uint32_t l = 0; l < blaming.releases.locks.count; l++) {
		size_t count = blaming.first[l + 1] - blaming.first[l];
		if (count == 0)
			continue;
		qsort(blaming.edges + blaming.first[l], count, sizeof(*blaming.edges),
		      compare_edges);
		go_through(&blaming, l);
	}
	releases_free(&blaming.releases);
	free(blaming.edges);
	free(blaming.first);
	free(blaming.held);
}

void blame_free(struct blame *blame)
{
	free(blame->ns);
	free(blame->waits);
	free(blame->rests);
	*blame = (struct blame){ 0 };
}
