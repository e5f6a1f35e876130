/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to a server; top_requests.h has the contract.
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
	PIECES_MAX = 24, /* stacks of one request: what comes later is in its parts alone */
	KINDS_MAX = 64,  /* requests of another kind are judged with those of none */
	BUCKETS_PER_DOUBLING = 8,
	BUCKETS = 64 * BUCKETS_PER_DOUBLING
};
static const double half_life_s = 10;
static const double slow_share = 0.05;

struct piece {
	uint32_t number; /* of a stack */
	float ns;
};

struct top_connection {
	uint64_t begin_ns; /* 0 = no request is under way */
	uint64_t answered_ns;
	uint64_t parts_ns[TOP_PARTS];
	uint64_t generation; /* of the stacks' numbers */
	uint32_t ident;
	uint32_t kind;
	uint32_t thread;
	int32_t fd;
	uint32_t piece_count;
	struct piece pieces[PIECES_MAX];
};

/* Of one kind; the first is of those without. */
struct top_threshold {
	uint32_t kind;
	uint64_t ns; /* 0 = not known yet */
	double count;
	float buckets[BUCKETS];
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

static void request_end(struct top_requests *requests, struct top_stacks *stacks,
			struct top_connection *connection, uint64_t second)
{
	uint64_t taken_ns = connection->answered_ns - connection->begin_ns;
	struct top_threshold *threshold = threshold_of(requests, connection->kind);
	bool is_slow = threshold->ns && taken_ns > threshold->ns;
	enum top_share share = is_slow ? TOP_OF_SLOW : TOP_OF_REST;
	struct top_request *request = &requests->ring[requests->count++ % TOP_REQUESTS_MAX];

	*request = (struct top_request){ .end_ns = connection->answered_ns,
					 .taken_ns = taken_ns,
					 .ident = connection->ident,
					 .kind = connection->kind,
					 .thread = connection->thread,
					 .is_slow = is_slow };
	memcpy(request->parts_ns, connection->parts_ns, sizeof(request->parts_ns));
	threshold_add(threshold, threshold == requests->thresholds ? 0 : connection->kind,
		      taken_ns);
	request_count(requests, TOP_OF_ALL, second, taken_ns);
	request_count(requests, share, second, taken_ns);
	if (connection->generation == stacks->generation)
		for (uint32_t i = 0; i < connection->piece_count; i++)
			top_stacks_add(stacks, connection->pieces[i].number, share, second,
				       (double)connection->pieces[i].ns);
	connection->begin_ns = connection->answered_ns = 0;
}

static void piece_add(struct top_connection *connection, uint32_t number, double ns)
{
	uint32_t i = 0;

	while (i < connection->piece_count && connection->pieces[i].number != number)
		i++;
	if (i == PIECES_MAX || number == 0)
		return;
	if (i == connection->piece_count)
		connection->pieces[connection->piece_count++] = (struct piece){ number, 0 };
	connection->pieces[i].ns += (float)ns;
}

void top_requests_part(struct top_requests *requests, const struct top_stacks *stacks,
		       uint32_t ident, const struct record *record, enum top_part part,
		       uint32_t number, double ns)
{
	struct top_connection *connection = &requests->connections[ident % CONNECTIONS_MAX];

	if (!ident || !connection->begin_ns || connection->answered_ns ||
	    record->end <= connection->begin_ns)
		return;
	if (part < TOP_PARTS) {
		/* that of it which lies in the request */
		ns = fmin(ns, (double)(record->end - connection->begin_ns));
		connection->parts_ns[part] += (uint64_t)ns;
	}
	if (connection->generation != stacks->generation) {
		connection->generation = stacks->generation;
		connection->piece_count = 0;
	}
	piece_add(connection, number, ns);
}

/* A descriptor that is another connection now, or a file: what it was has been closed. */
static void take_descriptor(struct top_requests *requests, const struct record *record)
{
	uint32_t *before;

	if (record->fd < 0 || record->fd >= DESCRIPTORS_MAX || !record->ident)
		return;
	before = &requests->descriptors[record->fd];
	if (*before && *before != record->ident)
		requests->connections[*before].begin_ns = 0;
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
	take_descriptor(requests, record);
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
		request_end(requests, stacks, connection, second);
	if (!connection->begin_ns)
		*connection = (struct top_connection){ .begin_ns = record->end,
						       .generation = stacks->generation,
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
	};
	return requests->ring && requests->connections && requests->thresholds &&
	       requests->descriptors;
}

void top_requests_end(struct top_requests *requests)
{
	free(requests->ring);
	free(requests->connections);
	free(requests->thresholds);
	free(requests->descriptors);
	*requests = (struct top_requests){ .count = 0 };
}

void top_requests_tick(struct top_requests *requests, struct top_stacks *stacks, uint64_t now_ns,
		       uint64_t second)
{
	for (uint32_t i = 0; i < requests->connection_count; i++) {
		struct top_connection *connection = &requests->connections[i];

		if (connection->answered_ns && connection->answered_ns + ANSWER_SETTLES_NS < now_ns)
			request_end(requests, stacks, connection, second);
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
		memcpy(request->parts_ns, connection->parts_ns, sizeof(request->parts_ns));
		request->is_slow =
			top_requests_threshold_ns(requests, request->kind) &&
			request->taken_ns > top_requests_threshold_ns(requests, request->kind);
		++*count;
	}
	if (list && *count)
		qsort(list, *count, sizeof(*list), top_requests_compare);
	return list;
}

void top_requests_forget(struct top_requests *requests, uint32_t ident)
{
	if (ident < CONNECTIONS_MAX)
		requests->connections[ident].begin_ns = 0;
}
