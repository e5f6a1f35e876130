/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether one thread at the other end has all connections; clients.h has the contract.
 *
 * Method. One thread sees to answers in the order in which they come. The next questions leave in
 * that order, however long each takes. Clients of their own overtake each other, as their times to
 * think differ. How often they would is found by exchange: each question gets the time to think of
 * another one close by. It is found by the poll of that moment then. Where few overtake of those
 * that would have, there is one thread.
 *
 * Only questions that one thread of the server reads are compared, by the polls that found them. A
 * time to think of which only bounds are known is as close to the usual one as possible. The
 * longest and shortest ones count as others. So what all clients have in common is no evidence.
 *
 * That thread's work for a question begins when its answer is there, and the question before has
 * left. The usual work follows from polls up to which it was surely busy, or sent while the server
 * waited. It places the questions whose times are not known. A thread may keep a timetable instead,
 * if that explains the known ones better.
 *
 * One thread. n log n of questions.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/bound.h"
#include "base/censored.h"
#include "base/memory.h"
#include "base/percentile.h"
#include "clients_parts.h"

/* Number of questions to have overtaken others, for it to show that few did, or most. Of two
 * threads that have half of the connections each, one in twenty of them does. */
static const double OVERTAKES_LEAST = 100;
/* One thread has at most this part of them, and clients of their own at least that one. */
static const double ONE_THREAD_MOST = 0.02, INDEPENDENT_LEAST = 0.5;

enum {
	ROUNDS_NEAR = 4,    /* of all connections: times to think come from within so many */
	OUTSIDE_TENTHS = 1, /* of all times to think, at each end: these are not exchanged */
	DRAWS_STEP = 7919   /* a prime number */
};

/* A question with an answer before, on the same connection. */
struct asked {
	struct doing *send;
	uint64_t think_ns;
	uint32_t thread; /* of the server, which read it */
	uint32_t before; /* the last one that thread read an answer of, NO_INDEX = none */
};

/* In the order of the answers. */
struct row {
	struct asked *asked;
	size_t count;
	size_t connection_count;
};

static int compare_answered(const void *left, const void *right)
{
	const struct doing *a = ((const struct asked *)left)->send;
	const struct doing *b = ((const struct asked *)right)->send;

	if (a->answered_ns != b->answered_ns)
		return a->answered_ns < b->answered_ns ? -1 : 1;
	return (a->op > b->op) - (a->op < b->op);
}

static struct row row_make(const struct clients *clients, const struct recording *rec,
			   struct doing *doings, size_t count)
{
	struct row row = { .asked = memory_new(count, sizeof(*row.asked)) };
	uint32_t connection = NO_INDEX;

	for (struct doing *doing = doings; doing < doings + count; doing++) {
		if (!doing->is_send || !doing->is_first || !doing->answered_ns)
			continue;
		uint64_t usual_ns = clients_within(doing->answered_ns + clients->think_ns,
						   doing->early_ns, doing->late_ns);
		uint64_t sent_ns = clients_is_known(doing) ? doing->at_ns : usual_ns;

		row.asked[row.count++] = (struct asked){ doing, sent_ns - doing->answered_ns,
							 rec->ops[doing->op].thread, NO_INDEX };
		row.connection_count += doing->connection != connection;
		connection = doing->connection;
	}
	if (row.count)
		qsort(row.asked, row.count, sizeof(*row.asked), compare_answered);
	uint32_t *last = memory_new(rec->thread_count, sizeof(*last));

	for (size_t i = 0; i < rec->thread_count; i++)
		last[i] = NO_INDEX;
	for (uint32_t i = 0; i < row.count; i++) {
		row.asked[i].before = last[row.asked[i].thread];
		last[row.asked[i].thread] = i;
	}
	free(last);
	return row;
}

/* --- who overtakes --- */

/* A poll that found questions, or several that found them at once. */
struct found {
	uint32_t thread;
	uint64_t ns;
};

static int compare_found(const void *left, const void *right)
{
	const struct found *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->ns > b->ns) - (a->ns < b->ns);
}

/* When a question is found that comes to the thread then; UINT64_MAX = there is no such poll. */
static uint64_t found_ns(const struct found *found, size_t count, uint32_t thread, uint64_t at_ns)
{
	const struct found sought = { thread, at_ns };
	size_t next = bound_lower(&sought, found, count, sizeof(sought), compare_found);

	return next < count && found[next].thread == thread ? found[next].ns : UINT64_MAX;
}

/* Of another question close by: so many steps away, and back from the ends. */
static uint64_t think_near(const struct row *row, size_t at, size_t *draw)
{
	size_t reach = 2 * ROUNDS_NEAR * row->connection_count;
	size_t width = reach < row->count ? reach : row->count;
	size_t first = at > width / 2 ? at - width / 2 : 0;

	if (first + width > row->count)
		first = row->count - width;
	*draw += DRAWS_STEP;
	return row->asked[first + *draw % width].think_ns;
}

struct overtakes {
	double expected;
	double seen;
};

static struct overtakes overtakes_count(const struct row *row, uint64_t least_ns, uint64_t most_ns)
{
	struct found *found = memory_new(row->count, sizeof(*found));
	struct overtakes overtakes = { 0, 0 };
	size_t draw = 0;

	for (size_t i = 0; i < row->count; i++)
		found[i] = (struct found){ row->asked[i].thread, row->asked[i].send->late_ns };
	if (row->count)
		qsort(found, row->count, sizeof(*found), compare_found);
	for (size_t i = 0; i < row->count; i++) {
		const struct asked *asked = &row->asked[i];

		if (asked->before == NO_INDEX)
			continue;
		const struct doing *send = asked->send, *before = row->asked[asked->before].send;
		uint64_t think_ns = clients_within(think_near(row, i, &draw), least_ns, most_ns);
		uint64_t other_ns = clients_within(think_near(row, i, &draw), least_ns, most_ns);

		if (send->connection == before->connection)
			continue;
		overtakes.seen += send->late_ns < before->late_ns;
		overtakes.expected +=
			found_ns(found, row->count, asked->thread, send->answered_ns + think_ns) <
			found_ns(found, row->count, asked->thread, before->answered_ns + other_ns);
	}
	free(found);
	return overtakes;
}

static enum clients_end end_find(const struct row *row)
{
	uint64_t *thinks_ns = memory_new(row->count, sizeof(*thinks_ns));
	size_t outside = row->count * OUTSIDE_TENTHS / 10;

	if (row->connection_count < 2 || row->count < OVERTAKES_LEAST) {
		free(thinks_ns);
		return CLIENTS_END_UNKNOWN;
	}
	for (size_t i = 0; i < row->count; i++)
		thinks_ns[i] = row->asked[i].think_ns;
	uint64_t least_ns = percentile_select(thinks_ns, row->count, outside);
	uint64_t most_ns = percentile_select(thinks_ns, row->count, row->count - 1 - outside);
	struct overtakes overtakes = overtakes_count(row, least_ns, most_ns);

	free(thinks_ns);
	if (overtakes.expected < OVERTAKES_LEAST)
		return CLIENTS_END_UNKNOWN;
	if (overtakes.seen < overtakes.expected * ONE_THREAD_MOST)
		return CLIENTS_END_ONE_THREAD;
	return overtakes.seen > overtakes.expected * INDEPENDENT_LEAST ? CLIENTS_END_INDEPENDENT
								       : CLIENTS_END_UNKNOWN;
}

/* --- what its thread does --- */

static int compare_late(const void *left, const void *right)
{
	const struct doing *a = ((const struct asked *)left)->send;
	const struct doing *b = ((const struct asked *)right)->send;

	if (a->late_ns != b->late_ns)
		return a->late_ns < b->late_ns ? -1 : 1;
	return compare_answered(left, right);
}

/* Questions that were found at one time, from `first` on. */
struct batch {
	size_t first, end;
	uint64_t answered_ns; /* the earliest answer before one of them */
	bool is_known;        /* the server waited for one of them */
};

static struct batch batch_find(const struct row *by_late, size_t first)
{
	const struct asked *asked = by_late->asked;
	struct batch batch = { first, first, UINT64_MAX, false };

	for (; batch.end < by_late->count &&
	       asked[batch.end].send->late_ns == asked[first].send->late_ns;
	     batch.end++) {
		const struct doing *send = asked[batch.end].send;

		batch.is_known = batch.is_known || clients_is_known(send);
		if (send->answered_ns < batch.answered_ns)
			batch.answered_ns = send->answered_ns;
	}
	return batch;
}

/* The usual time for a question. The row is put in another order. */
static uint64_t work_ns(struct row *row)
{
	struct censored *works_ns = memory_new(row->count, sizeof(*works_ns));
	uint64_t found_ns = 0;

	qsort(row->asked, row->count, sizeof(*row->asked), compare_late);
	for (struct batch batch = batch_find(row, 0), next; batch.first < row->count;
	     batch = next) {
		uint64_t late_ns = row->asked[batch.first].send->late_ns;
		uint64_t since_ns = found_ns > batch.answered_ns ? found_ns : batch.answered_ns;
		uint64_t each_ns = (late_ns - since_ns) / (batch.end - batch.first);

		next = batch_find(row, batch.end);
		/* it left none of those waiting that it had before the poll before */
		bool may_rest = !batch.is_known && next.answered_ns > found_ns;

		for (size_t i = batch.first; i < batch.end; i++)
			works_ns[i] = (struct censored){ may_rest ? 0 : each_ns, each_ns };
		found_ns = late_ns;
	}
	uint64_t usual_ns = censored_median(works_ns, row->count);

	free(works_ns);
	return usual_ns;
}

/* When it left, if the thread was free since then. */
static uint64_t sent_ns(const struct doing *send, uint64_t since_ns, uint64_t usual_ns)
{
	return clients_is_known(send)
		       ? send->at_ns
		       : clients_within(since_ns + usual_ns, send->early_ns, send->late_ns);
}

/* By how much questions that the server waited for are off the usual time, on average. */
static double off_ns(const struct row *row, uint64_t usual_ns)
{
	uint64_t left_ns = 0;
	double sum_ns = 0;
	size_t count = 0;

	for (size_t i = 0; i < row->count; i++) {
		const struct doing *send = row->asked[i].send;
		uint64_t since_ns = send->answered_ns > left_ns ? send->answered_ns : left_ns;
		uint64_t at_ns = sent_ns(send, since_ns, usual_ns);

		if (send->is_exact) {
			sum_ns += fabs((double)at_ns - (double)since_ns - (double)usual_ns);
			count++;
		}
		left_ns = at_ns > left_ns ? at_ns : left_ns;
	}
	return count ? sum_ns / (double)count : 0;
}

static void work_time(struct clients *clients, struct row *row, uint64_t usual_ns)
{
	uint64_t first_ns = row->asked[0].send->answered_ns, left_ns = 0;

	for (size_t i = 0; i < row->count; i++) {
		struct doing *send = row->asked[i].send;
		uint64_t since_ns = send->answered_ns > left_ns ? send->answered_ns : left_ns;

		send->at_ns = send->due_ns = sent_ns(send, since_ns, usual_ns);
		send->is_queued = true;
		send->work_ns = send->at_ns > since_ns ? send->at_ns - since_ns : 0;
		clients->busy_ns += send->work_ns;
		left_ns = send->at_ns > left_ns ? send->at_ns : left_ns;
	}
	clients->asked_ns = left_ns - first_ns;
}

bool clients_queue(struct clients *clients, const struct recording *rec, struct doing *doings,
		   size_t count, double table_off_ns)
{
	struct row row = row_make(clients, rec, doings, count);

	assert(!count || doings);
	clients->end = end_find(&row);
	if (clients->end == CLIENTS_END_ONE_THREAD) {
		uint64_t usual_ns = work_ns(&row);

		qsort(row.asked, row.count, sizeof(*row.asked), compare_answered);
		if (off_ns(&row, usual_ns) < table_off_ns)
			work_time(clients, &row, usual_ns);
		else
			clients->end = CLIENTS_END_UNKNOWN;
	}
	free(row.asked);
	return clients->end == CLIENTS_END_ONE_THREAD;
}
