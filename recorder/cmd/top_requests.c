/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests; top_requests.h has the contract.
 *
 * Thresholds come from a histogram for each kind: eight buckets for each doubling, so that a
 * threshold is too high by 9% at most. Each second what it has counts less, half as much in ten.
 */
#include "top_requests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"

enum {
	CONNECTIONS_MAX = 65536,
	DESCRIPTORS_MAX = 65536, /* connections with a higher one may be seen as running for ever */
	/* An answer without a next question is whole after so long. */
	ANSWER_SETTLES_NS = 50000000,
	KINDS_MAX = 64, /* requests of another kind are judged with those of none */
	BUCKETS_PER_DOUBLING = 8,
	BUCKETS = 64 * BUCKETS_PER_DOUBLING
};
static const double half_life_s = 10;
static const double slow_share = 0.05;

struct top_connection {
	uint64_t begin_ns; /* 0 = no request is under way */
	uint64_t answered_ns;
	uint32_t ident;
	uint32_t kind;
	uint32_t thread;
	int32_t fd;
	struct top_work work;
};

/* Of one kind; the first is of those without. */
struct top_threshold {
	uint32_t kind;
	uint64_t ns; /* 0 = not known yet */
	double count;
	float buckets[BUCKETS];
};

/* The first marked request of a class. */
struct top_first {
	uint32_t kind;
	bool has_ended;
	struct top_request request;
	struct top_work work;
};

/* --- what is slow --- */

static struct top_threshold *threshold_of(const struct top_requests *requests, uint32_t kind)
{
	for (size_t i = 1; kind && i < KINDS_MAX; i++) {
		struct top_threshold *threshold = &requests->thresholds[i];

		if (threshold->kind == 0 || threshold->kind == kind)
			return threshold;
	}
	return requests->thresholds;
}

uint64_t top_requests_threshold_ns(const struct top_requests *requests, uint32_t kind)
{
	return threshold_of(requests, kind)->ns;
}

static void threshold_add(struct top_threshold *threshold, uint32_t kind, uint64_t taken_ns)
{
	double place = taken_ns > 1 ? log2((double)taken_ns) * BUCKETS_PER_DOUBLING : 0;

	threshold->kind = kind;
	threshold->buckets[place < BUCKETS ? (size_t)place : BUCKETS - 1]++;
	threshold->count++;
}

static void threshold_renew(struct top_threshold *threshold)
{
	double above = 0;
	size_t at = BUCKETS;

	while (at > 0 &&
	       above + (double)threshold->buckets[at - 1] <= slow_share * threshold->count)
		above += (double)threshold->buckets[--at];
	threshold->ns = threshold->count >= TOP_ENOUGH
				? (uint64_t)exp2((double)at / BUCKETS_PER_DOUBLING)
				: 0;
	for (size_t i = 0; i < BUCKETS; i++)
		threshold->buckets[i] *= (float)exp2(-1 / half_life_s);
	threshold->count *= exp2(-1 / half_life_s);
}

/* --- a request --- */

static void request_count(struct top_requests *requests, enum top_share share, uint64_t second,
			  uint64_t taken_ns)
{
	requests->by_second[share][second % TOP_SECONDS]++;
	requests->taken_ns[share][second % TOP_SECONDS] += (double)taken_ns;
}

static struct top_first *first_of(const struct top_requests *requests, uint32_t kind)
{
	for (size_t i = 0; i < requests->first_count; i++)
		if (requests->firsts[i].kind == kind)
			return &requests->firsts[i];
	return NULL;
}

static void keep_first(const struct top_requests *requests, const struct top_request *request,
		       const struct top_work *work)
{
	struct top_first *first = first_of(requests, request->kind);

	if (!first || first->has_ended)
		return;
	first->has_ended = true;
	first->request = *request;
	first->work = *work;
}

void top_requests_add(struct top_requests *requests, struct top_stacks *stacks,
		      enum top_source source, struct top_request request,
		      const struct top_work *work, uint64_t second)
{
	struct top_threshold *threshold = threshold_of(requests, request.kind);
	enum top_share share;

	if (source == TOP_MARKED && requests->source == TOP_SERVED)
		keep_first(requests, &request, work);
	if (source != requests->source)
		return;
	request.is_slow = threshold->ns && request.taken_ns > threshold->ns;
	share = request.is_slow ? TOP_OF_SLOW : TOP_OF_REST;
	memcpy(request.parts_ns, work->parts_ns, sizeof(request.parts_ns));
	requests->ring[requests->count++ % TOP_REQUESTS_MAX] = request;
	threshold_add(threshold, threshold == requests->thresholds ? 0 : request.kind,
		      request.taken_ns);
	request_count(requests, TOP_OF_ALL, second, request.taken_ns);
	request_count(requests, share, second, request.taken_ns);
	if (work->generation == stacks->generation)
		for (uint32_t i = 0; i < work->piece_count; i++)
			top_stacks_add(stacks, work->pieces[i].number, share, second,
				       (double)work->pieces[i].ns);
}

static void use_marks(struct top_requests *requests, struct top_stacks *stacks, uint64_t second)
{
	requests->source = TOP_MARKED;
	requests->count = 0;
	memset(requests->by_second, 0, sizeof(requests->by_second));
	memset(requests->taken_ns, 0, sizeof(requests->taken_ns));
	memset(requests->thresholds, 0, KINDS_MAX * sizeof(*requests->thresholds));
	top_stacks_forget_requests(stacks);
	for (size_t i = 0; i < requests->first_count; i++) {
		const struct top_first *first = &requests->firsts[i];

		if (first->has_ended)
			top_requests_add(requests, stacks, TOP_MARKED, first->request, &first->work,
					 second);
	}
}

void top_requests_mark(struct top_requests *requests, struct top_stacks *stacks, uint32_t kind,
		       uint64_t second)
{
	if (requests->source == TOP_MARKED)
		return;
	if (requests->first_count == KINDS_MAX || first_of(requests, kind))
		use_marks(requests, stacks, second);
	else
		requests->firsts[requests->first_count++] = (struct top_first){ .kind = kind };
}

/* --- its parts --- */

static void piece_add(struct top_work *work, uint32_t number, double ns)
{
	uint32_t i = 0;

	while (i < work->piece_count && work->pieces[i].number != number)
		i++;
	if (i == TOP_WORK_STACKS || number == 0)
		return;
	if (i == work->piece_count)
		work->pieces[work->piece_count++] = (struct top_work_piece){ number, 0 };
	work->pieces[i].ns += (float)ns;
}

void top_work_add(struct top_work *work, const struct top_stacks *stacks, enum top_part part,
		  uint32_t number, double ns)
{
	if (part < TOP_PARTS)
		work->parts_ns[part] += (uint64_t)ns;
	if (work->generation != stacks->generation) {
		work->generation = stacks->generation;
		work->piece_count = 0;
	}
	piece_add(work, number, ns);
}

void top_work_join(struct top_work *work, const struct top_stacks *stacks,
		   const struct top_work *from)
{
	for (size_t part = 0; part < TOP_PARTS; part++)
		work->parts_ns[part] += from->parts_ns[part];
	for (uint32_t i = 0; from->generation == stacks->generation && i < from->piece_count; i++)
		top_work_add(work, stacks, TOP_ACTIVITIES, from->pieces[i].number,
			     (double)from->pieces[i].ns);
}

/* --- of a connection --- */

static void connection_end(struct top_requests *requests, struct top_stacks *stacks,
			   struct top_connection *connection, uint64_t second)
{
	const struct top_request request = { .end_ns = connection->answered_ns,
					     .taken_ns =
						     connection->answered_ns - connection->begin_ns,
					     .ident = connection->ident,
					     .kind = connection->kind,
					     .thread = connection->thread };

	top_requests_add(requests, stacks, TOP_SERVED, request, &connection->work, second);
	connection->begin_ns = connection->answered_ns = 0;
}

void top_requests_part(struct top_requests *requests, const struct top_stacks *stacks,
		       uint32_t ident, const struct record *record, enum top_part part,
		       uint32_t number, double ns)
{
	struct top_connection *connection = &requests->connections[ident % CONNECTIONS_MAX];

	if (!ident || !connection->begin_ns || connection->answered_ns ||
	    record->end <= connection->begin_ns)
		return;
	/* that of it which lies in the request */
	if (part < TOP_PARTS)
		ns = fmin(ns, (double)(record->end - connection->begin_ns));
	top_work_add(&connection->work, stacks, part, number, ns);
}

/* It has been closed: a request that was not answered never will be. */
static void connection_close(struct top_requests *requests, struct top_stacks *stacks,
			     struct top_connection *connection, uint64_t second)
{
	if (connection->answered_ns)
		connection_end(requests, stacks, connection, second);
	connection->begin_ns = 0;
}

/* A descriptor that is another connection now, or a file: what it was has been closed. */
static void take_descriptor(struct top_requests *requests, struct top_stacks *stacks,
			    const struct record *record, uint64_t second)
{
	uint32_t *before;

	if (record->fd < 0 || record->fd >= DESCRIPTORS_MAX || !record->ident)
		return;
	before = &requests->descriptors[record->fd];
	if (*before && *before != record->ident)
		connection_close(requests, stacks, &requests->connections[*before], second);
	*before = record->ident < CONNECTIONS_MAX ? record->ident : 0;
}

static struct top_connection *connection_of(struct top_requests *requests, uint32_t ident)
{
	if (ident >= requests->connection_count)
		requests->connection_count = ident + 1;
	return &requests->connections[ident];
}

bool top_requests_look_at(struct top_requests *requests, struct top_stacks *stacks,
			  const struct record *record, uint32_t thread, bool is_write,
			  uint64_t second)
{
	struct top_connection *connection;

	if (record->type != RECORD_OP || record->what != KIND_IO)
		return false;
	take_descriptor(requests, stacks, record, second);
	if (!(record->flags & RECORD_ACCEPTED) || !record->ident ||
	    record->ident >= CONNECTIONS_MAX || (int64_t)record->value <= 0)
		return false;
	connection = connection_of(requests, record->ident);
	if (is_write) {
		if (connection->begin_ns)
			connection->answered_ns = record->end;
		return false;
	}
	if (connection->answered_ns)
		connection_end(requests, stacks, connection, second);
	if (!connection->begin_ns)
		*connection = (struct top_connection){ .begin_ns = record->end,
						       .work.generation = stacks->generation,
						       .ident = record->ident,
						       .thread = thread,
						       .fd = record->fd };
	if (record->flags & RECORD_PEEKED)
		connection->kind = field_request_kind(record);
	return true;
}

/* --- all of them --- */

bool top_requests_begin(struct top_requests *requests)
{
	*requests = (struct top_requests){
		.ring = calloc(TOP_REQUESTS_MAX, sizeof(*requests->ring)),
		.connections = calloc(CONNECTIONS_MAX, sizeof(*requests->connections)),
		.thresholds = calloc(KINDS_MAX, sizeof(*requests->thresholds)),
		.descriptors = calloc(DESCRIPTORS_MAX, sizeof(*requests->descriptors)),
		.firsts = calloc(KINDS_MAX, sizeof(*requests->firsts)),
	};
	return requests->ring && requests->connections && requests->thresholds &&
	       requests->descriptors && requests->firsts;
}

void top_requests_end(struct top_requests *requests)
{
	free(requests->ring);
	free(requests->connections);
	free(requests->thresholds);
	free(requests->descriptors);
	free(requests->firsts);
	*requests = (struct top_requests){ .count = 0 };
}

void top_requests_tick(struct top_requests *requests, struct top_stacks *stacks, uint64_t now_ns,
		       uint64_t second)
{
	for (uint32_t i = 0; i < requests->connection_count; i++) {
		struct top_connection *connection = &requests->connections[i];

		if (connection->answered_ns && connection->answered_ns + ANSWER_SETTLES_NS < now_ns)
			connection_end(requests, stacks, connection, second);
	}
}

void top_requests_clear(struct top_requests *requests, uint64_t second)
{
	for (size_t share = 0; share < TOP_SHARES; share++) {
		requests->by_second[share][second % TOP_SECONDS] = 0;
		requests->taken_ns[share][second % TOP_SECONDS] = 0;
	}
	for (size_t i = 0; i < KINDS_MAX; i++)
		if (requests->thresholds[i].count > 0)
			threshold_renew(&requests->thresholds[i]);
}

int top_requests_compare(const void *left, const void *right)
{
	const struct top_request *a = left, *b = right;

	return (a->taken_ns < b->taken_ns) - (a->taken_ns > b->taken_ns);
}

struct top_request *top_requests_list(const struct top_requests *requests, uint64_t since_ns,
				      size_t *count)
{
	uint64_t all = requests->count < TOP_REQUESTS_MAX ? requests->count : TOP_REQUESTS_MAX;
	struct top_request *list = malloc((all ? all : 1) * sizeof(*list));

	*count = 0;
	for (uint64_t i = 0; list && i < all; i++)
		if (requests->ring[i].end_ns >= since_ns)
			list[(*count)++] = requests->ring[i];
	if (list && *count)
		qsort(list, *count, sizeof(*list), top_requests_compare);
	return list;
}

struct top_request *top_requests_running(const struct top_requests *requests, uint64_t now_ns,
					 size_t *count)
{
	struct top_request *list = malloc((requests->connection_count + 1) * sizeof(*list));

	*count = 0;
	for (uint32_t i = 0; list && i < requests->connection_count; i++) {
		const struct top_connection *connection = &requests->connections[i];
		struct top_request *request = &list[*count];

		if (!connection->begin_ns || connection->answered_ns ||
		    connection->begin_ns >= now_ns)
			continue;
		*request = (struct top_request){ .end_ns = now_ns,
						 .taken_ns = now_ns - connection->begin_ns,
						 .ident = connection->ident,
						 .kind = connection->kind,
						 .thread = connection->thread,
						 .fd = connection->fd,
						 .is_running = true };
		memcpy(request->parts_ns, connection->work.parts_ns, sizeof(request->parts_ns));
		++*count;
	}
	if (list && *count)
		qsort(list, *count, sizeof(*list), top_requests_compare);
	return list;
}

void top_requests_forget(struct top_requests *requests, uint32_t ident)
{
	if (ident < CONNECTIONS_MAX && !requests->connections[ident].answered_ns)
		requests->connections[ident].begin_ns = 0;
}
