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
 * Questions that one poll found may have an order, too (clients_order.c).
 *
 * That thread's work for a question begins when its answer is there, and the question before has
 * left. The usual work follows from polls up to which it was surely busy, or sent while the server
 * waited. It places the questions whose times are not known. A thread that has rested is late, as
 * its CPU sleeps: questions that come together take so much longer than their work. A thread may
 * keep a timetable instead, if that explains the known ones better.
 *
 * One thread. n log n of questions.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/assumptions.h"
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
	DRAWS_STEP = 7919,  /* a prime number */
	RESTED_LEAST = 10   /* batches that the thread had rested before */
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

static enum clients_end end_of(struct overtakes overtakes)
{
	if (overtakes.expected < OVERTAKES_LEAST)
		return CLIENTS_END_UNKNOWN;
	if (overtakes.seen < overtakes.expected * ONE_THREAD_MOST)
		return CLIENTS_END_ONE_THREAD;
	return overtakes.seen > overtakes.expected * INDEPENDENT_LEAST ? CLIENTS_END_INDEPENDENT
								       : CLIENTS_END_UNKNOWN;
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
	return end_of(overtakes);
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
	uint64_t late_ns;
	bool is_known;   /* the server waited for one of them */
	bool has_rested; /* the thread had no other question, after one that was known */
};

static struct batch batch_find(const struct row *by_late, size_t first)
{
	const struct asked *asked = by_late->asked;
	uint64_t late_ns = asked[first].send->late_ns;
	struct batch batch = { first, first, UINT64_MAX, late_ns, false, false };

	for (; batch.end < by_late->count && asked[batch.end].send->late_ns == late_ns;
	     batch.end++) {
		const struct doing *send = asked[batch.end].send;

		batch.is_known = batch.is_known || clients_is_known(send);
		if (send->answered_ns < batch.answered_ns)
			batch.answered_ns = send->answered_ns;
	}
	return batch;
}

struct batches {
	struct batch *list;
	size_t count;
};

/* The row is put in another order. */
static struct batches batches_find(struct row *row)
{
	struct batches batches = { memory_new(row->count, sizeof(*batches.list)), 0 };
	uint64_t found_ns = 0;

	qsort(row->asked, row->count, sizeof(*row->asked), compare_late);
	for (size_t first = 0; first < row->count;) {
		struct batch batch = batch_find(row, first);

		batch.has_rested = batch.is_known && batch.answered_ns > found_ns;
		batches.list[batches.count++] = batch;
		found_ns = batch.late_ns;
		first = batch.end;
	}
	return batches;
}

static size_t size_of(const struct batch *batch)
{
	return batch->end - batch->first;
}

static uint64_t batch_ns(const struct batch *batch, uint64_t since_ns)
{
	since_ns = since_ns > batch->answered_ns ? since_ns : batch->answered_ns;
	return batch->late_ns > since_ns ? batch->late_ns - since_ns : 0;
}

/* Batches for which the thread had rested, up to a size or beyond it. */
struct rested {
	uint64_t *took_ns;
	size_t count;
	size_t questions;
};

static struct rested rested_find(const struct batches *batches, size_t most, bool is_beyond)
{
	struct rested rested = { memory_new(batches->count, sizeof(*rested.took_ns)), 0, 0 };

	for (const struct batch *batch = batches->list; batch < batches->list + batches->count;
	     batch++) {
		if (!batch->has_rested || (size_of(batch) > most) != is_beyond)
			continue;
		rested.took_ns[rested.count++] = batch_ns(batch, 0);
		rested.questions += size_of(batch);
	}
	return rested;
}

static double rested_ns(const struct rested *rested)
{
	return (double)percentile_select(rested->took_ns, rested->count, rested->count / 2);
}

static double rested_size(const struct rested *rested)
{
	return (double)rested->questions / (double)rested->count;
}

/* How long it takes to be back: what the time of a batch has that does not grow with its size. The
 * line goes through the medians of small batches and of large ones. 0 = that is not known. */
static uint64_t back_find(const struct batches *batches)
{
	struct rested all = rested_find(batches, 0, true), small, large;
	double ns = 0;

	if (all.count < RESTED_LEAST) {
		free(all.took_ns);
		return 0;
	}
	small = rested_find(batches, (size_t)rested_size(&all), false);
	large = rested_find(batches, (size_t)rested_size(&all), true);
	if (small.count && large.count) {
		double each_ns = (rested_ns(&large) - rested_ns(&small)) /
				 (rested_size(&large) - rested_size(&small));

		ns = rested_ns(&small) - fmax(each_ns, 0) * rested_size(&small);
	}
	free(all.took_ns);
	free(small.took_ns);
	free(large.took_ns);
	return ns > 0 ? (uint64_t)ns : 0;
}

/* How the thread works. */
struct working {
	uint64_t back_ns;  /* after a long rest */
	uint64_t usual_ns; /* for a question */
};

static uint64_t work_ns(const struct batches *batches, size_t question_count, uint64_t back_ns)
{
	struct censored *works_ns = memory_new(question_count, sizeof(*works_ns));
	uint64_t found_ns = 0;

	for (size_t b = 0; b < batches->count; b++) {
		const struct batch *batch = &batches->list[b];
		uint64_t ns = batch_ns(batch, found_ns), idle_ns = batch->has_rested ? back_ns : 0;
		uint64_t each_ns = (ns > idle_ns ? ns - idle_ns : 0) / size_of(batch);
		/* it left none of those waiting that it had before the poll before */
		bool may_rest = !batch->is_known && b + 1 < batches->count &&
				batch[1].answered_ns > found_ns;

		for (size_t i = batch->first; i < batch->end; i++)
			works_ns[i] = (struct censored){ may_rest ? 0 : each_ns, each_ns };
		found_ns = batch->late_ns;
	}
	uint64_t usual_ns = censored_median(works_ns, question_count);

	free(works_ns);
	return usual_ns;
}

/* The row is put in another order. */
static struct working working_find(struct row *row)
{
	struct batches batches = batches_find(row);
	struct working working = { .back_ns = back_find(&batches) };

	working.usual_ns = work_ns(&batches, row->count, working.back_ns);
	free(batches.list);
	return working;
}

/* A question that the thread sees to next. */
struct turn {
	uint64_t since_ns; /* from then on it works for it */
	uint64_t at_ns;    /* and sends it */
};

static struct turn turn_of(const struct doing *send, uint64_t left_ns,
			   const struct working *working)
{
	bool has_rested = left_ns && send->answered_ns > left_ns + assume.deep_rest;
	uint64_t since_ns = send->answered_ns + (has_rested ? working->back_ns : 0);
	struct turn turn = { since_ns > left_ns ? since_ns : left_ns, send->at_ns };

	if (!clients_is_known(send))
		turn.at_ns = clients_within(turn.since_ns + working->usual_ns, send->early_ns,
					    send->late_ns);
	return turn;
}

/* By how much questions that the server waited for are off the usual time, on average. */
static double off_ns(const struct row *row, const struct working *working)
{
	uint64_t left_ns = 0;
	double sum_ns = 0;
	size_t count = 0;

	for (size_t i = 0; i < row->count; i++) {
		const struct doing *send = row->asked[i].send;
		struct turn turn = turn_of(send, left_ns, working);

		if (send->is_exact) {
			sum_ns += fabs((double)turn.at_ns - (double)turn.since_ns -
				       (double)working->usual_ns);
			count++;
		}
		left_ns = turn.at_ns > left_ns ? turn.at_ns : left_ns;
	}
	return count ? sum_ns / (double)count : 0;
}

static void work_time(struct clients *clients, struct row *row, const struct working *working)
{
	uint64_t first_ns = row->asked[0].send->answered_ns, left_ns = 0;

	clients->back_ns = working->back_ns;
	for (size_t i = 0; i < row->count; i++) {
		struct doing *send = row->asked[i].send;
		struct turn turn = turn_of(send, left_ns, working);

		send->at_ns = send->due_ns = turn.at_ns;
		send->is_queued = true;
		send->work_ns = turn.at_ns > turn.since_ns ? turn.at_ns - turn.since_ns : 0;
		clients->busy_ns += send->work_ns;
		left_ns = turn.at_ns > left_ns ? turn.at_ns : left_ns;
	}
	clients->asked_ns = left_ns - first_ns;
}

bool clients_queue(struct clients *clients, const struct recording *rec, struct doing *doings,
		   size_t count, double table_off_ns)
{
	struct row row = row_make(clients, rec, doings, count);

	assert(!count || doings);
	clients->end = end_of(clients_turned(rec, doings, count));
	if (clients->end != CLIENTS_END_ONE_THREAD) /* the server may have an order of its own */
		clients->end = end_find(&row);
	if (clients->end == CLIENTS_END_ONE_THREAD) {
		struct working working = working_find(&row);

		qsort(row.asked, row.count, sizeof(*row.asked), compare_answered);
		if (off_ns(&row, &working) < table_off_ns)
			work_time(clients, &row, &working);
		else
			clients->end = CLIENTS_END_UNKNOWN;
	}
	free(row.asked);
	return clients->end == CLIENTS_END_ONE_THREAD;
}
