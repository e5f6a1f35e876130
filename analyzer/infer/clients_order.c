/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether questions that one poll found follow the order of their answers; clients.h has the
 * contract.
 *
 * Method. An epoll set has descriptors in the order in which they became ready. Those that its
 * last poll returned keep their places (fs/eventpoll.c), and do not count. A server that takes them
 * one by one reads the others in the order in which their questions came. It may have an order of
 * its own, as by number of the descriptor. So only pairs count whose answers it gave the other way
 * round than it had read the questions before. Clients of their own that got their answers nearly
 * at once overtake each other in about half of these pairs. One thread that has them both keeps
 * their order.
 *
 * One thread. n log n of questions.
 */
#include "base/assumptions.h"
#include "base/memory.h"
#include "clients_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const double BY_CHANCE = 0.5; /* of two orders */

/* In the order of their reads, thread by thread. */
struct read_question {
	const struct doing *send;
	uint32_t thread;
	uint64_t read_ns;
};

/* Of a connection the last question. */
struct last_read {
	uint32_t poll;
	size_t number; /* of reads, from 1 on; 0 = there is none */
};

static int compare_reads(const void *left, const void *right)
{
	const struct read_question *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->read_ns != b->read_ns)
		return a->read_ns < b->read_ns ? -1 : 1;
	return (a->send->op > b->send->op) - (a->send->op < b->send->op);
}

static size_t questions_find(struct read_question *questions, const struct recording *rec,
			     const struct doing *doings, size_t count)
{
	size_t found = 0;

	for (const struct doing *doing = doings; doing < doings + count; doing++) {
		uint32_t poll = doing->found_by;

		if (!doing->is_send || !doing->is_first || poll == NO_INDEX ||
		    rec->ops[poll].thread != rec->ops[doing->op].thread ||
		    strncmp(rec->strings[rec->ops[poll].name], "epoll", strlen("epoll")) != 0)
			continue;
		questions[found++] = (struct read_question){ doing, rec->ops[doing->op].thread,
							     rec->ops[doing->op].start_ns };
	}
	if (found)
		qsort(questions, found, sizeof(*questions), compare_reads);
	return found;
}

static bool were_answered_at_once(const struct doing *a, const struct doing *b)
{
	uint64_t apart_ns = a->answered_ns > b->answered_ns ? a->answered_ns - b->answered_ns
							    : b->answered_ns - a->answered_ns;

	return a->answered_ns && b->answered_ns && apart_ns <= assume.client_apart;
}

/* Of two questions that were read one after the other. */
static void pair_count(struct overtakes *overtakes, const struct doing *first,
		       const struct doing *second, const struct last_read *last,
		       uint32_t poll_before)
{
	const struct last_read *of_first = &last[first->connection];
	const struct last_read *of_second = &last[second->connection];

	if (first->found_by != second->found_by || !of_first->number || !of_second->number ||
	    of_first->poll == poll_before || of_second->poll == poll_before ||
	    !were_answered_at_once(first, second))
		return;
	bool was_read_first = of_first->number < of_second->number;
	bool was_answered_first = first->answered_ns < second->answered_ns;

	if (was_read_first == was_answered_first)
		return;
	overtakes->expected += BY_CHANCE;
	overtakes->seen += !was_answered_first;
}

/* One poll's questions, from `first` up to `end`, are the last ones now. */
static void note_last(struct last_read *last, const struct read_question *questions, size_t first,
		      size_t end)
{
	for (size_t i = first; i < end; i++)
		last[questions[i].send->connection] =
			(struct last_read){ questions[i].send->found_by, i + 1 };
}

struct overtakes clients_turned(const struct recording *rec, const struct doing *doings,
				size_t count)
{
	struct read_question *questions = memory_new(count, sizeof(*questions));
	struct overtakes overtakes = { 0, 0 };
	uint32_t poll_before = NO_INDEX;
	size_t connections = 0;

	assert(!count || doings);
	for (size_t i = 0; i < count; i++)
		if (doings[i].connection >= connections)
			connections = doings[i].connection + 1;
	struct last_read *last = memory_new(connections, sizeof(*last));
	size_t found = questions_find(questions, rec, doings, count);

	for (size_t first = 0, end; first < found; first = end) {
		for (end = first + 1; end < found && questions[end].send->found_by ==
							     questions[first].send->found_by;
		     end++)
			pair_count(&overtakes, questions[end - 1].send, questions[end].send, last,
				   poll_before);
		note_last(last, questions, first, end);
		poll_before = questions[first].send->found_by;
	}
	free(questions);
	free(last);
	return overtakes;
}
