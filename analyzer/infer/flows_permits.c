/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flows whose bytes are permits; flows_parts.h has the contract.
 *
 * Method. In the pipe of a job server each byte stands for a job that may run. A process reads one
 * before it starts a job, and writes it back afterwards. So the bytes come in one size, and some
 * process that reads also writes. Of one process alone a thread does: else it writes to its threads
 * what they are to do. No name of a program has a part in that.
 *
 * Such bytes were there at the start, if more were read than written until then. One thread.
 */
#include "flows_parts.h"

#include "base/memory.h"

#include <stdlib.h>

/* A process, or a thread of the only one, and which way it had bytes go. */
struct user {
	uint32_t number;
	bool is_write;
};

static int compare_users(const void *left, const void *right)
{
	const struct user *a = left, *b = right;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return (int)a->is_write - (int)b->is_write;
}

static bool is_of_several(const struct recording *rec, const struct side *sides, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (rec->threads[rec->ops[sides[i].op].thread].process !=
		    rec->threads[rec->ops[sides[0].op].thread].process)
			return true;
	return false;
}

static bool any_does_both(const struct recording *rec, const struct side *sides, size_t count)
{
	bool by_process = is_of_several(rec, sides, count), any = false;
	struct user *users = memory_new(count, sizeof(*users));

	for (size_t i = 0; i < count; i++) {
		uint32_t thread = rec->ops[sides[i].op].thread;

		users[i] = (struct user){ by_process ? rec->threads[thread].process : thread,
					  sides[i].is_write };
	}
	qsort(users, count, sizeof(*users), compare_users);
	for (size_t i = 1; i < count && !any; i++)
		any = users[i].number == users[i - 1].number &&
		      users[i].is_write != users[i - 1].is_write;
	free(users);
	return any;
}

/* All that is read comes in one size, of which all that is written is so many. */
static bool is_of_one_size(const struct side *sides, size_t count)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < count && !bytes; i++)
		bytes = sides[i].is_write ? 0 : sides[i].amount;
	for (size_t i = 0; i < count; i++) {
		uint64_t moved = sides[i].amount;

		if (!bytes || (sides[i].is_write ? moved % bytes != 0 : moved != bytes))
			return false;
	}
	return true;
}

bool flows_is_given_back(const struct recording *rec, const struct side *sides, size_t count)
{
	return is_of_one_size(sides, count) && any_does_both(rec, sides, count);
}

uint64_t flows_deficit(const struct side *sides, size_t count)
{
	uint64_t written = 0, received = 0, deficit = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t bytes = sides[i].amount;

		written += sides[i].is_write ? bytes : 0;
		received += sides[i].is_write ? 0 : bytes;
		if (received > written && received - written > deficit)
			deficit = received - written;
	}
	return deficit;
}
