/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether no connection comes when most are open; clients_parts.h has the contract.
 *
 * Method. Closed clients that all have a connection make no other one before one of these has
 * ended. Connections that come by themselves come then as often as at other times. Only times count
 * at which the server would have noticed. So a thread that accepts must look for connections. Or it
 * is at other work, and most are still open when it looks next. Each thread accepts connections at
 * a rate of its own.
 *
 * One thread.
 */
#include "clients_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"

/* The times at which most connections are open, until the last one comes. */
struct full_times {
	struct full_time {
		uint64_t from_ns;
		uint64_t to_ns;
		uint64_t before_ns; /* the sum of all earlier ones */
	} * list;
	size_t count;
};

static int compare_times(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* One that begins is open, however short it is. */
static size_t most_open(const struct span *spans, const uint64_t *ends_ns, size_t count)
{
	size_t most = 0, ended = 0;

	for (size_t begun = 0; begun < count; begun++) {
		while (ended < begun && ends_ns[ended] <= spans[begun].start_ns)
			ended++;
		most = begun + 1 - ended > most ? begun + 1 - ended : most;
	}
	return most;
}

static struct full_times full_times_find(const struct span *spans, size_t count)
{
	struct full_times full = { memory_new(count, sizeof(*full.list)), 0 };
	uint64_t *ends_ns = memory_new(count, sizeof(*ends_ns)), sum_ns = 0;
	size_t ended = 0;

	for (size_t i = 0; i < count; i++)
		ends_ns[i] = spans[i].end_ns;
	if (count)
		qsort(ends_ns, count, sizeof(*ends_ns), compare_times);
	size_t most = most_open(spans, ends_ns, count);

	for (size_t begun = 0; begun + 1 < count; begun++) {
		uint64_t from_ns = spans[begun].start_ns;

		while (ended < begun && ends_ns[ended] <= from_ns)
			ended++;
		if (begun + 1 - ended < most || ends_ns[ended] <= from_ns)
			continue;
		/* the next connection, and the next end, which comes first */
		full.list[full.count++] = (struct full_time){ from_ns, ends_ns[ended], sum_ns };
		sum_ns += ends_ns[ended] - from_ns;
	}
	free(ends_ns);
	return full;
}

/* How much of the time up to then is full. */
static uint64_t full_until(const struct full_times *full, uint64_t until_ns, bool *is_now)
{
	size_t low = 0, high = full->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (full->list[middle].from_ns <= until_ns)
			low = middle + 1;
		else
			high = middle;
	}
	*is_now = low && until_ns < full->list[low - 1].to_ns;
	if (!low)
		return 0;
	const struct full_time *last = &full->list[low - 1];

	return last->before_ns + (*is_now ? until_ns : last->to_ns) - last->from_ns;
}

/* A thread that accepts. */
struct acceptor {
	size_t accepted;
	uint64_t first_ns; /* of its looks */
	uint64_t last_ns;
	uint64_t full_ns;
};

static bool looks(const struct recording *rec, const struct acceptor *acceptors, uint32_t op)
{
	const struct rec_op *call = &rec->ops[op];
	bool is_poll = call->kind == KIND_POLL;

	if (call->thread == NO_INDEX || !acceptors[call->thread].accepted || rec->extras[op].open ||
	    (!is_poll && call->kind != KIND_IO))
		return false;
	if (is_poll && rec_polls_many(rec, op))
		return true;
	return (is_poll || strncmp(rec->strings[call->name], "accept", 6) == 0) &&
	       clients_is_listening(rec->strings[call->ident]);
}

static int compare_looks(const void *left, const void *right, void *context)
{
	const struct rec_op *ops = context;
	const struct rec_op *a = &ops[*(const uint32_t *)left], *b = &ops[*(const uint32_t *)right];

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* By thread, then time. */
static uint32_t *looks_find(const struct recording *rec, const struct acceptor *acceptors,
			    size_t *count)
{
	uint32_t *list = NULL;
	size_t room = 0;

	*count = 0;
	for (uint32_t op = 0; op < rec->op_count; op++) {
		if (!looks(rec, acceptors, op))
			continue;
		list = memory_grow(list, &room, *count + 1, sizeof(*list));
		list[(*count)++] = op;
	}
	if (*count)
		qsort_r(list, *count, sizeof(*list), compare_looks, rec->ops);
	return list;
}

static void look_add(struct acceptor *acceptor, const struct full_times *full,
		     const struct rec_op *look)
{
	bool is_full, is_full_then;
	uint64_t before_ns = full_until(full, look->start_ns, &is_full);

	if (!acceptor->last_ns)
		acceptor->first_ns = look->start_ns;
	else if (is_full && look->start_ns > acceptor->last_ns)
		acceptor->full_ns += look->start_ns - acceptor->last_ns;
	acceptor->full_ns += full_until(full, look->end_ns, &is_full_then) - before_ns;
	acceptor->last_ns = look->end_ns;
}

double clients_missing(const struct doings *doings, const struct span *spans)
{
	const struct recording *rec = doings->rec;
	struct full_times full = full_times_find(spans, doings->connection_count);
	struct acceptor *acceptors = memory_new(rec->thread_count, sizeof(*acceptors));
	uint64_t last_ns = 0;
	double missing = 0;
	size_t count;

	for (size_t i = 0; i < doings->connection_count; i++) {
		const struct doing *first = &doings->list[spans[i].first];

		last_ns = spans[i].start_ns;
		if (first->is_connect)
			acceptors[rec->ops[first->op].thread].accepted++;
	}
	uint32_t *list = looks_find(rec, acceptors, &count);

	for (size_t i = 0; i < count; i++)
		if (rec->ops[list[i]].end_ns <= last_ns)
			look_add(&acceptors[rec->ops[list[i]].thread], &full, &rec->ops[list[i]]);
	for (size_t i = 0; i < rec->thread_count; i++) {
		const struct acceptor *acceptor = &acceptors[i];

		if (acceptor->last_ns > acceptor->first_ns)
			missing += (double)acceptor->accepted * (double)acceptor->full_ns /
				   (double)(acceptor->last_ns - acceptor->first_ns);
	}
	free(list);
	free(acceptors);
	free(full.list);
	return missing;
}
