/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the reads that go on with a message that a thread has begun to read.
 *
 * Method. A program may write a message at once, and read its length first, and then so many bytes.
 * Python's multiprocessing does. Then each write is read by one thread,
 * and some of them by several reads. Where several threads share what one write wrote, each byte is
 * a message.
 *
 * One thread.
 */
#include "flows_parts.h"

#include <assert.h>

/* The writes of a flow, as its reads come to them. */
struct going {
	size_t write; /* side; the number of sides: before the first write, or behind the last */
	uint64_t written; /* by it, and those before it */
	uint64_t received;
	uint32_t reader; /* thread: of what was read of it so far; NO_INDEX = nothing was */
};

static void next_write(struct going *going, const struct side *sides, size_t count)
{
	size_t i = going->write == count ? 0 : going->write + 1;

	while (i < count && !sides[i].is_write)
		i++;
	going->write = i;
	going->reader = NO_INDEX;
	if (i < count)
		going->written += sides[i].amount;
}

/* False: several threads read what one write wrote. `is_rest`: it has begun before this read. */
static bool go_on(struct going *going, const struct recording *rec, const struct side *sides,
		  size_t count, const struct side *read, bool *is_rest)
{
	uint32_t reader = rec->ops[read->op].thread;

	while (going->received >= going->written && (going->write < count || !going->written))
		next_write(going, sides, count);
	*is_rest = going->reader != NO_INDEX;
	going->received += read->amount;
	for (;;) {
		if (going->reader != NO_INDEX && going->reader != reader)
			return false;
		going->reader = reader;
		if (going->received <= going->written || going->write == count)
			return true;
		next_write(going, sides, count);
	}
}

void flow_rests_find(const struct recording *rec, const struct side *sides, size_t count,
		     struct transfer *transfers)
{
	for (int marks = 0; marks < 2; marks++) {
		struct going going = { .write = count, .reader = NO_INDEX };

		for (size_t i = 0; i < count; i++) {
			bool is_rest;

			if (sides[i].is_write)
				continue;
			if (!go_on(&going, rec, sides, count, &sides[i], &is_rest))
				return;
			if (marks)
				transfers[i].is_rest = is_rest;
		}
	}
}
