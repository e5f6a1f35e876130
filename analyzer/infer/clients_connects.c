/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that come about in the recording, and whose they are; clients_parts.h has the
 * contract.
 *
 * Method. A closed client has one connection at a time: the next one is of the client that has been
 * without for longest. So clients are as few as connections allow. An address that datagrams come
 * from is a connection.
 *
 * Clients with many connections each are closed if all are without one for as long. That must vary
 * less than the time from one connection to the next. Else connections come by themselves if they
 * keep a timetable better than they follow others' ends. Clients are also closed if none came when
 * all had one (clients_bound.c). So they are if the server seldom waited for them, and most have
 * one on average. Else connections come by themselves, and are taken to be a client each.
 *
 * The name of a connection comes again when its client's port does. A close tells the two apart.
 *
 * One thread.
 */
#include "clients_parts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "base/percentile.h"
#include "base/regression.h"
#include "format.h"

/* So much of the most connections is open on average, from which on clients are closed. */
static const double OPEN_SHARE = 0.5;

/* If connections came by themselves, fewer than so many would be missing by chance: all but one in
 * 150 times. */
static const double SURE_MISSING = 5;

/* A close of a client's connection. */
struct closing {
	uint64_t at_ns;
	uint32_t connection;
	uint32_t op;
};

static int compare_closings(const void *left, const void *right)
{
	const struct closing *a = left, *b = right;

	if (a->connection != b->connection)
		return a->connection < b->connection ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->op > b->op) - (a->op < b->op);
}

static struct closing *closings_find(const struct client_ends *ends, size_t *count)
{
	const struct recording *rec = ends->rec;
	struct closing *list = NULL;
	size_t room = 0;

	*count = 0;
	for (uint32_t op = 0; op < rec->op_count; op++) {
		const struct rec_op *call = &rec->ops[op];

		if (call->kind != KIND_IO || call->thread == NO_INDEX || rec->extras[op].open ||
		    ends->of_stream[call->ident] == NO_INDEX ||
		    strncmp(rec->strings[call->name], "close", 5) != 0)
			continue;
		list = memory_grow(list, &room, *count + 1, sizeof(*list));
		list[(*count)++] =
			(struct closing){ call->start_ns, ends->of_stream[call->ident], op };
	}
	if (*count)
		qsort(list, *count, sizeof(*list), compare_closings);
	return list;
}

/* Another process, or a copy of the descriptor, goes on without what was closed. */
static bool closes(const struct recording *rec, const struct closing *closing,
		   const struct served *used)
{
	const struct rec_op *ops = rec->ops;

	return closing->at_ns > used->at_ns &&
	       rec->extras[closing->op].fd == rec->extras[used->op].fd &&
	       rec->threads[ops[closing->op].thread].process ==
		       rec->threads[ops[used->op].thread].process;
}

void clients_split(struct client_ends *ends, struct served *served, size_t count)
{
	size_t closing_count, at = 0;
	struct closing *closings = closings_find(ends, &closing_count);
	uint32_t named = NO_INDEX, number = NO_INDEX; /* as its name says, and as it is now */

	for (size_t i = 0; i < count; i++) {
		const struct closing key = { served[i].at_ns, served[i].connection, 0 };
		bool is_again = false;

		for (; at < closing_count && compare_closings(&closings[at], &key) < 0; at++)
			is_again |= key.connection == named && closings[at].connection == named &&
				    closes(ends->rec, &closings[at], &served[i - 1]);
		if (key.connection != named)
			named = number = key.connection;
		if (is_again)
			number = client_ends_add(ends, named);
		served[i].connection = number;
	}
	free(closings);
}

/* --- whose they are --- */

static int compare_spans(const void *left, const void *right)
{
	const struct span *a = left, *b = right;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

static struct span *spans_find(const struct doing *doings, size_t count, size_t connections)
{
	struct span *spans = memory_new(connections, sizeof(*spans));
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		if (!i || doings[i].connection != doings[i - 1].connection)
			spans[found++] = (struct span){ doings[i].at_ns, 0, i };
		spans[found - 1].end_ns = doings[i].at_ns;
	}
	assert(found == connections);
	if (found)
		qsort(spans, found, sizeof(*spans), compare_spans);
	return spans;
}

/* Clients without a connection, the one that has been so for longest first: a heap by that time. */
struct idle_clients {
	struct idle_client {
		uint64_t since_ns;
		uint32_t client;
	} * heap;
	size_t count;
};

static void idle_swap(struct idle_client *a, struct idle_client *b)
{
	struct idle_client kept = *a;

	*a = *b;
	*b = kept;
}

static void idle_add(struct idle_clients *idle, const struct span *span, uint32_t client)
{
	size_t at = idle->count++;

	idle->heap[at] = (struct idle_client){ span->end_ns, client };
	for (; at && idle->heap[at].since_ns < idle->heap[(at - 1) / 2].since_ns; at = (at - 1) / 2)
		idle_swap(&idle->heap[at], &idle->heap[(at - 1) / 2]);
}

static struct idle_client idle_take(struct idle_clients *idle)
{
	struct idle_client first = idle->heap[0];
	size_t at = 0;

	idle->heap[0] = idle->heap[--idle->count];
	for (;;) {
		size_t least = at;

		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < idle->count; child++)
			if (idle->heap[child].since_ns < idle->heap[least].since_ns)
				least = child;
		if (least == at)
			return first;
		idle_swap(&idle->heap[at], &idle->heap[least]);
		at = least;
	}
}

/* In the recording, its connection has. */
static bool has_begun(const struct doing *first)
{
	return first->is_connect || first->is_new;
}

/* All connections as those of as few clients as can be, but of `least` if that can be. Returns how
 * many these are. `think_ns`: how long they were without one, as far as known. */
static size_t clients_share(const struct span *spans, const struct doings *doings, size_t least,
			    uint64_t *think_ns, size_t *think_count)
{
	size_t count = doings->connection_count, clients = 0;
	struct idle_clients idle = { memory_new(count, sizeof(*idle.heap)), 0 };

	*think_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct doing *first = &doings->list[spans[i].first];
		bool is_again = clients >= least && has_begun(first) && idle.count &&
				idle.heap[0].since_ns <= spans[i].start_ns;
		uint32_t client = (uint32_t)clients;

		if (is_again) {
			struct idle_client taken = idle_take(&idle);

			client = taken.client;
			first->answered_ns = taken.since_ns;
			if (first->early_ns < taken.since_ns)
				first->early_ns = taken.since_ns;
			if (clients_is_known(first))
				think_ns[(*think_count)++] = first->at_ns - taken.since_ns;
		}
		clients += !is_again;
		doings->client_of[first->connection] = client;
		idle_add(&idle, &spans[i], client);
	}
	free(idle.heap);
	return clients;
}

/* Part of the clients that have a connection, on average. */
static double open_share(const struct span *spans, size_t count, size_t clients)
{
	uint64_t first_ns = UINT64_MAX, last_ns = 0;
	double open_ns = 0;

	for (size_t i = 0; i < count; i++) {
		first_ns = spans[i].start_ns < first_ns ? spans[i].start_ns : first_ns;
		last_ns = spans[i].end_ns > last_ns ? spans[i].end_ns : last_ns;
		open_ns += (double)(spans[i].end_ns - spans[i].start_ns);
	}
	return last_ns > first_ns ? open_ns / (double)(last_ns - first_ns) / (double)clients : 0;
}

static void reconnects_time(const struct clients *clients, const struct span *spans,
			    const struct doings *doings)
{
	for (size_t i = 0; i < doings->connection_count; i++) {
		struct doing *first = &doings->list[spans[i].first];
		uint64_t at_ns = first->answered_ns + clients->think_ns;

		if (!first->answered_ns || clients_is_known(first))
			continue;
		at_ns = at_ns < first->early_ns ? first->early_ns : at_ns;
		first->at_ns = first->due_ns = at_ns < first->late_ns ? at_ns : first->late_ns;
	}
}

static bool is_known(const struct doings *doings, const struct span *span)
{
	const struct doing *first = &doings->list[span->first];

	return has_begun(first) && clients_is_known(first);
}

static bool are_alike(uint64_t *values_ns, size_t count)
{
	return count && (double)clients_spread_ns(values_ns, count) * assume.schedule <=
				(double)percentile_select(values_ns, count, count / 2);
}

/* Times from one connection of a client to its next, as far as known, if all clients have had as
 * many. */
struct returns {
	uint64_t *begun_ns; /* from the beginning */
	uint64_t *ended_ns; /* from the end; 0 = it began before that */
	size_t count;
};

static struct returns returns_find(const struct span *spans, const struct doings *doings,
				   size_t clients)
{
	size_t room = doings->connection_count;
	struct returns returns = { memory_new(room, sizeof(*returns.begun_ns)),
				   memory_new(room, sizeof(*returns.ended_ns)), 0 };

	for (size_t i = 0; i + clients < room; i++) {
		const struct span *span = &spans[i], *next = &spans[i + clients];

		if (!is_known(doings, next))
			continue;
		returns.begun_ns[returns.count] = next->start_ns - span->start_ns;
		returns.ended_ns[returns.count++] =
			next->start_ns > span->end_ns ? next->start_ns - span->end_ns : 0;
	}
	return returns;
}

static void returns_free(struct returns *returns)
{
	free(returns->begun_ns);
	free(returns->ended_ns);
}

/* All clients think for as long, whenever they had their answers. */
static bool think_alike(struct returns *returns)
{
	return are_alike(returns->ended_ns, returns->count) &&
	       (double)clients_spread_ns(returns->ended_ns, returns->count) * assume.schedule <=
		       (double)clients_spread_ns(returns->begun_ns, returns->count);
}

static size_t known_count(const struct span *spans, const struct doings *doings)
{
	size_t known = 0;

	for (size_t i = 0; i < doings->connection_count; i++)
		known += is_known(doings, &spans[i]);
	return known;
}

/* How far connections begin from the times of the timetable that fits them best. It has times at
 * which none came. */
static uint64_t table_spread_ns(const struct span *spans, size_t count, uint64_t step_ns)
{
	double *x = memory_new(count, sizeof(*x)), *y = memory_new(count, sizeof(*y));
	uint64_t *late_ns = memory_new(count, sizeof(*late_ns));
	struct regression fit;
	double least_ns = 0;

	for (size_t i = 0; i < count; i++) {
		y[i] = (double)(spans[i].start_ns - spans[0].start_ns);
		x[i] = i ? x[i - 1] + round((y[i] - y[i - 1]) / (double)step_ns) : 0;
	}
	regression_fit(&fit, x, y, count, 1);
	for (size_t i = 0; i < count; i++) {
		y[i] = (double)(spans[i].start_ns - spans[0].start_ns) - fit.slope[0] * x[i];
		least_ns = fmin(least_ns, y[i]);
	}
	for (size_t i = 0; i < count; i++)
		late_ns[i] = (uint64_t)(y[i] - least_ns);
	uint64_t spread_ns = clients_spread_ns(late_ns, count);

	free(x);
	free(y);
	free(late_ns);
	return spread_ns;
}

/* Connections keep a timetable, and better than they follow the ends of others. A server that is
 * the bottleneck lets its clients go on at steps of its own. */
static bool come_alike(const struct span *spans, size_t count, struct returns *returns)
{
	uint64_t *steps_ns = memory_new(count, sizeof(*steps_ns));

	for (size_t i = 1; i < count; i++)
		steps_ns[i - 1] = spans[i].start_ns - spans[i - 1].start_ns;
	bool is_so = are_alike(steps_ns, count - 1);
	uint64_t step_ns = is_so ? percentile_select(steps_ns, count - 1, (count - 1) / 2) : 0;

	free(steps_ns);
	return is_so && count > 2 &&
	       table_spread_ns(spans, count, step_ns) <=
		       clients_spread_ns(returns->ended_ns, returns->count);
}

static void sort_find(struct clients *clients, const struct span *spans,
		      const struct doings *doings, size_t shared)
{
	size_t count = doings->connection_count;
	bool are_known = 2 * known_count(spans, doings) > count, is_table = false;
	struct returns returns = returns_find(spans, doings, shared);
	bool is_closed = think_alike(&returns);

	if (!is_closed) {
		/* the server that got round to them would have made it */
		is_table = are_known && come_alike(spans, count, &returns);
		is_closed = !is_table &&
			    ((!are_known && open_share(spans, count, shared) > OPEN_SHARE) ||
			     clients_missing(doings, spans) > SURE_MISSING);
	}
	clients->sort = is_closed ? CLIENTS_CLOSED : CLIENTS_OPEN;
	clients->is_told = is_closed || is_table;
	returns_free(&returns);
}

size_t clients_connect(struct clients *clients, struct clients_wanted wanted,
		       const struct doings *doings)
{
	size_t connections = doings->connection_count, think_count;
	struct span *spans = spans_find(doings->list, doings->count, connections);
	uint64_t *think_ns = memory_new(connections, sizeof(*think_ns));
	size_t shared = clients_share(spans, doings, wanted.count, think_ns, &think_count);
	bool have_several = shared < connections;

	if (have_several && clients->question_count < 2 * connections) {
		if (wanted.word == CLIENTS_AS_RECORDED)
			sort_find(clients, spans, doings, shared);
		clients->think_ns =
			clients->sort == CLIENTS_CLOSED && think_count
				? percentile_select(think_ns, think_count, think_count / 2)
				: 0;
	}
	if (have_several && clients->sort == CLIENTS_CLOSED)
		reconnects_time(clients, spans, doings);
	for (uint32_t i = 0; i < connections && clients->sort == CLIENTS_OPEN; i++)
		doings->client_of[i] = i;
	free(spans);
	free(think_ns);
	return clients->sort == CLIENTS_OPEN ? connections : shared;
}
