/* SPDX-License-Identifier: Apache-2.0 */
/* Follows each thread from request to request; owners.h has the contract. */
#include "owners.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"
#include "measure/locks.h"

enum { POLLS_BACK = 256 /* stretches that are looked at for a poll */ };

/* A thread is at a request until the next turn. */
struct turn {
	uint64_t at_ns;
	uint32_t request;
};

struct owning {
	struct owners *owners;
	const struct request_paths_of *of;
	struct buckets of_connection; /* requests by string, in order of their begin */
	size_t request_room, thread_room;
	/* of the thread that is followed */
	uint32_t thread;
	struct turn *turns;
	size_t count, room;
	uint64_t *takes_ns; /* since the last turn it may have taken something to do then */
	size_t take_count, take_room;
};

/* --- Requests --- */

static const struct request *request_at(const struct owning *owning, uint32_t index)
{
	return &owning->of->requests->requests[index];
}

static bool has_work(const struct request *request)
{
	return request->source == REQUEST_ASKED || request->source == REQUEST_SERVED ||
	       request->source == REQUEST_JOB;
}

static uint32_t connection_of(const void *context, size_t request)
{
	const struct owning *owning = context;
	const struct request *of = request_at(owning, (uint32_t)request);
	bool has_end = has_work(of) && of->connection && of->source != REQUEST_JOB &&
		       !flow_is_pipe(owning->of->recording->strings[of->connection]);
	return has_end ? of->connection : NO_INDEX;
}

static int compare_begins(const void *a, const void *b, void *context)
{
	const struct request *left = request_at(context, *(const uint32_t *)a);
	const struct request *right = request_at(context, *(const uint32_t *)b);
	if (left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	return (left > right) - (left < right);
}

static void find_ends(struct owning *owning)
{
	const struct requests *requests = owning->of->requests;
	struct owned *owned = owning->owners->owned;
	for (size_t i = 0; i < requests->count; i++)
		owned[i] = (struct owned){ NO_INDEX, requests->requests[i].thread, NO_INDEX,
					   NO_INDEX };
	for (size_t i = 0; i < requests->place_count; i++) {
		const struct stamp_place *place = &requests->places[i];
		if (place->stamp % 2 == 0)
			continue;
		owned[place->stamp / 2].end_op = place->op;
		owned[place->stamp / 2].end_thread = owning->of->recording->ops[place->op].thread;
	}
}

/* Requests of one end of a connection are a chain; those of none are one each. */
static void find_chains(struct owning *owning)
{
	const struct requests *requests = owning->of->requests;
	struct owners *owners = owning->owners;
	size_t strings = owning->of->recording->string_count;
	for (size_t s = 0; s < strings; s++) {
		uint32_t *items = owning->of_connection.items + owning->of_connection.first[s];
		size_t count = owning->of_connection.first[s + 1] - owning->of_connection.first[s];
		if (count > 1)
			qsort_r(items, count, sizeof(*items), compare_begins, owning);
		for (size_t i = 0; i < count; i++)
			owners->owned[items[i]].chain = (uint32_t)owners->chain_count;
		owners->chain_count += count > 0;
	}
	for (size_t i = 0; i < requests->count; i++)
		if (has_work(&requests->requests[i]) && connection_of(owning, i) == NO_INDEX)
			owners->owned[i].chain = (uint32_t)owners->chain_count++;
}

/* The request of a pipe that begins with this write; NO_INDEX = none. */
static uint32_t begun_by(const struct owning *owning, uint32_t op)
{
	size_t count;
	const struct stamp_place *places =
		requests_places(owning->of->requests, op, STAMP_BEGIN, &count);
	for (size_t i = 0; i < count; i++)
		if (places[i].stamp % 2 == 0 &&
		    request_at(owning, places[i].stamp / 2)->source == REQUEST_ASKED)
			return places[i].stamp / 2;
	return NO_INDEX;
}

/* The request that this read or write is for; NO_INDEX = none. */
static uint32_t request_of_op(const struct owning *owning, uint32_t op)
{
	const struct rec_op *io = &owning->of->recording->ops[op];
	size_t first = owning->of_connection.first[io->ident];
	size_t low = first, high = owning->of_connection.first[io->ident + 1];
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint32_t item = owning->of_connection.items[middle];
		if (request_at(owning, item)->start_ns <= io->end_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == first)
		return begun_by(owning, op);
	uint32_t found = owning->of_connection.items[low - 1];
	return request_at(owning, found)->end_ns >= io->start_ns ? found : NO_INDEX;
}

/* --- Turns --- */

static struct turn *last_turn(const struct owning *owning)
{
	return &owning->turns[owning->count - 1];
}

static void turn_to(struct owning *owning, uint64_t at_ns, uint32_t request)
{
	struct turn *last = last_turn(owning);
	if (last->request == request)
		return;
	owning->take_count = 0;
	if (at_ns <= last->at_ns) {
		*last = (struct turn){ last->at_ns, request };
		return;
	}
	owning->turns = memory_grow(owning->turns, &owning->room, owning->count + 1,
				    sizeof(*owning->turns));
	owning->turns[owning->count++] = (struct turn){ at_ns, request };
}

/* To the request that the thread has worked for without a sign, since it took something. */
static void turn_back_to(struct owning *owning, uint64_t at_ns, uint32_t request)
{
	const struct turn *last = last_turn(owning);
	size_t take = 0;
	while (take < owning->take_count &&
	       owning->takes_ns[take] <= request_at(owning, request)->start_ns)
		take++;
	if (last->request == NO_INDEX)
		at_ns = take < owning->take_count ? owning->takes_ns[take] : last->at_ns;
	turn_to(owning, at_ns, request);
}

/* A read or write begins: what the thread is at from then on. */
static void look_at_io(struct owning *owning, uint32_t op)
{
	const struct rec_op *io = &owning->of->recording->ops[op];
	uint32_t found = request_of_op(owning, op);
	if (found == NO_INDEX)
		return;
	const struct request *request = request_at(owning, found);
	struct owned *owned = &owning->owners->owned[found];
	uint32_t at = last_turn(owning)->request;
	if (request->source == REQUEST_ASKED) {
		if (request->op == op && at != NO_INDEX && at != OWNER_IDLE && at != found &&
		    request_at(owning, at)->source != REQUEST_ASKED)
			owned->of = at;
		found = owned->of == NO_INDEX ? found : owned->of;
		turn_to(owning, io->start_ns, found);
	} else if (request->start_ns > io->start_ns) {
		turn_to(owning, io->start_ns, OWNER_IDLE);
		turn_to(owning, request->start_ns, found);
	} else if (request->thread != owning->thread) {
		turn_back_to(owning, io->start_ns, found);
	} else {
		turn_to(owning, io->start_ns, found);
	}
}

/* The requests that end here are answered. */
static void look_at_ends(struct owning *owning, uint32_t op, enum stamp_point point, uint64_t at_ns)
{
	size_t count;
	const struct stamp_place *places = requests_places(owning->of->requests, op, point, &count);
	for (size_t i = 0; i < count; i++) {
		uint32_t request = places[i].stamp / 2;
		if (places[i].stamp % 2 == 0)
			continue;
		if (request_at(owning, request)->source == REQUEST_JOB)
			turn_back_to(owning, at_ns, request);
		if (last_turn(owning)->request == request)
			turn_to(owning, at_ns, NO_INDEX);
	}
}

static bool takes(const struct owning *owning, const struct moment *moment)
{
	const struct recording *recording = owning->of->recording;
	if (moment_type(moment) == MOMENT_WAIT_END)
		return !lock_is_contention(recording->waits[moment->index].reason);
	return owning->of->wakers->of_op &&
	       owning->of->wakers->of_op[moment->index].event != WAKER_NONE;
}

static void look_at(struct owning *owning, const struct moment *moment)
{
	enum moment_type type = moment_type(moment);
	bool is_op = type == MOMENT_OP_BEGIN || type == MOMENT_OP_END || type == MOMENT_OP_POINT;
	uint16_t kind = is_op ? owning->of->recording->ops[moment->index].kind : KIND_NONE;
	if (type == MOMENT_OP_BEGIN || type == MOMENT_OP_POINT) {
		if (kind == KIND_IO)
			look_at_ends(owning, moment->index, STAMP_BEGIN, moment->at_ns);
		if (kind == KIND_IO)
			look_at_io(owning, moment->index);
		if (kind == KIND_POLL && type == MOMENT_OP_BEGIN)
			turn_to(owning, moment->at_ns, OWNER_IDLE);
	}
	if (type == MOMENT_OP_END && kind == KIND_POLL)
		turn_to(owning, moment->at_ns, NO_INDEX);
	if ((type == MOMENT_OP_END || type == MOMENT_OP_POINT) && kind == KIND_IO)
		look_at_ends(owning, moment->index, STAMP_END, moment->at_ns);
	if ((type != MOMENT_WAIT_END && type != MOMENT_OP_END) || !takes(owning, moment))
		return;
	owning->takes_ns = memory_grow(owning->takes_ns, &owning->take_room, owning->take_count + 1,
				       sizeof(*owning->takes_ns));
	owning->takes_ns[owning->take_count++] = moment->at_ns;
}

/* --- Stretches --- */

/* Between two turns to one request, with none to another in between, the thread is at it. One that
 * it has asked of somebody has no work meanwhile. */
static void join_turns(struct owning *owning)
{
	size_t last = SIZE_MAX, kept = 0;
	for (size_t i = 0; i < owning->count; i++) {
		uint32_t request = owning->turns[i].request;
		if (request == NO_INDEX || request == OWNER_IDLE) {
			owning->turns[kept++] = owning->turns[i];
		} else if (last != SIZE_MAX && owning->turns[last].request == request &&
			   request_at(owning, request)->source != REQUEST_ASKED) {
			kept = last + 1;
		} else {
			last = kept;
			owning->turns[kept++] = owning->turns[i];
		}
	}
	owning->count = kept;
}

static void follow_thread(struct owning *owning, uint32_t thread)
{
	const struct recording *recording = owning->of->recording;
	const struct timeline *timeline = owning->of->timeline;
	struct owners *owners = owning->owners;
	uint32_t op = recording->threads[thread].op;
	uint64_t begin_ns = op == NO_INDEX ? 0 : recording->ops[op].start_ns;
	uint64_t end_ns = op == NO_INDEX ? recording->end_ns : recording->ops[op].end_ns;
	owning->thread = thread;
	owning->count = 0;
	owning->take_count = 0;
	owning->turns = memory_grow(owning->turns, &owning->room, 1, sizeof(*owning->turns));
	owning->turns[owning->count++] = (struct turn){ begin_ns, NO_INDEX };
	for (size_t i = timeline->first[thread]; i < timeline->first[thread + 1]; i++)
		look_at(owning, &timeline->moments[i]);
	join_turns(owning);
	lanes_next(&owners->lanes);
	for (size_t i = 0; i < owning->count; i++) {
		const struct turn *turn = &owning->turns[i];
		size_t before = owners->lanes.stretch_count;
		lanes_add(&owners->lanes, turn->at_ns,
			  i + 1 < owning->count ? turn[1].at_ns : end_ns, 0);
		if (owners->lanes.stretch_count == before)
			continue;
		owners->request = memory_grow(owners->request, &owning->request_room, before + 1,
					      sizeof(*owners->request));
		owners->thread = memory_grow(owners->thread, &owning->thread_room, before + 1,
					     sizeof(*owners->thread));
		owners->request[before] = turn->request;
		owners->thread[before] = thread;
	}
}

static uint32_t chain_of_stretch(const void *context, size_t stretch)
{
	const struct owners *owners = context;
	uint32_t request = owners->request[stretch];
	return request == NO_INDEX || request == OWNER_IDLE ? NO_INDEX
							    : owners->owned[request].chain;
}

static int compare_stretches(const void *a, const void *b, void *context)
{
	const struct lane_stretch *stretches = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	if (stretches[left].start_ns != stretches[right].start_ns)
		return stretches[left].start_ns < stretches[right].start_ns ? -1 : 1;
	return (left > right) - (left < right);
}

static void order_chains(struct owners *owners)
{
	struct buckets *chains = &owners->chains;
	buckets_build(chains, owners->chain_count, owners->lanes.stretch_count, chain_of_stretch,
		      owners);
	for (size_t i = 0; i < owners->chain_count; i++) {
		size_t count = chains->first[i + 1] - chains->first[i];
		if (count > 1)
			qsort_r(chains->items + chains->first[i], count, sizeof(*chains->items),
				compare_stretches, owners->lanes.stretches);
	}
}

/* --- All --- */

void owners_build(struct owners *owners, const struct request_paths_of *of)
{
	struct owning owning = { .owners = owners, .of = of };
	*owners = (struct owners){ 0 };
	owners->owned = memory_new(of->requests->count, sizeof(*owners->owned));
	buckets_build(&owning.of_connection, of->recording->string_count, of->requests->count,
		      connection_of, &owning);
	find_ends(&owning);
	find_chains(&owning);
	lanes_begin(&owners->lanes);
	for (uint32_t thread = 0; thread < of->recording->thread_count; thread++)
		follow_thread(&owning, thread);
	lanes_end(&owners->lanes, 1);
	order_chains(owners);
	buckets_free(&owning.of_connection);
	free(owning.turns);
	free(owning.takes_ns);
}

void owners_free(struct owners *owners)
{
	lanes_free(&owners->lanes);
	buckets_free(&owners->chains);
	free(owners->request);
	free(owners->thread);
	free(owners->owned);
	*owners = (struct owners){ 0 };
}

uint32_t owners_at(const struct owners *owners, uint32_t thread, uint64_t at_ns)
{
	size_t found = lanes_find(&owners->lanes, thread, at_ns);
	bool is_there = found < owners->lanes.lanes[thread + 1].stretch &&
			owners->lanes.stretches[found].start_ns <= at_ns;
	return is_there ? owners->request[found] : NO_INDEX;
}

uint64_t owners_poll_between(const struct owners *owners, uint32_t thread, uint64_t from_ns,
			     uint64_t at_ns)
{
	size_t first = owners->lanes.lanes[thread].stretch;
	size_t at = lanes_find(&owners->lanes, thread, at_ns);
	for (size_t i = 0; i < POLLS_BACK && at > first; i++) {
		uint64_t end_ns = owners->lanes.stretches[--at].end_ns;
		if (end_ns <= from_ns)
			break;
		if (owners->request[at] == OWNER_IDLE && end_ns <= at_ns)
			return end_ns;
	}
	return at_ns;
}

size_t owners_before(const struct owners *owners, uint32_t chain, uint64_t at_ns)
{
	size_t first = owners->chains.first[chain], low = first;
	size_t high = owners->chains.first[chain + 1];
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint32_t stretch = owners->chains.items[middle];
		if (owners->lanes.stretches[stretch].start_ns < at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low > first ? low - 1 : SIZE_MAX;
}
