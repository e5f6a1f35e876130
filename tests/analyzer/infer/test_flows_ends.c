/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if an event loop met the end of a connection before the other end has closed it. */
#include "infer/flows.h"

#include "sketch.h"
#include "suite.h"

enum { WRITER, READER, OTHER, CALLS_MAX = 8, NONE = -1 };

/*
 * Calls in this order, on one connection. w writes, c closes it, s shuts it down, C closes it in
 * another process. r reads at the other end, n there from a buffer, p half of what is there.
 */
static const struct {
	const char *calls;
	int closed; /* call; NONE: the end is not known */
	int found;
} rows[] = {
	/* 0 */ { "wrcr", 2, 3 },
	/* 1: half of it was closed before */ { "wrscr", 2, 4 },
	/* 2: found twice */ { "wrcrr", 2, 3 },
	/* 3: nothing has closed it, as far as is known */ { "wrr", NONE, NONE },
	/* 4: nobody looked */ { "wrc", NONE, NONE },
	/* 5: another process had a copy */ { "wrCr", NONE, NONE },
	/* 6: and closes that first */ { "wrCcr", 3, 4 },
	/* 7: and the one that closes it writes to it afterwards */ { "wcwrr", NONE, NONE },
	/* 8: the program's buffer served */ { "wrcn", NONE, NONE },
	/* 9: what is left is read behind it */ { "wpcrr", 2, 4 },
};

static uint32_t call_add(struct sketch *sketch, char call, uint64_t bytes, double at_ms)
{
	const char *written = "tcp 127.0.0.1:5>127.0.0.1:80";
	const char *read = "tcp 127.0.0.1:80>127.0.0.1:5";
	bool reads = call == 'r' || call == 'n' || call == 'p';
	const char *name = call == 'w' ? "write" : call == 's' ? "shutdown" : "close";

	if (reads)
		name = call == 'n' ? "fgets" : "read";
	return sketch_io(sketch,
			 reads         ? READER
			 : call == 'C' ? OTHER
				       : WRITER,
			 name, reads ? read : written, bytes, at_ms, at_ms + 0.5);
}

static int call_of(const uint32_t *ops, const struct flows *flows, bool is_write)
{
	for (int i = 0; i < CALLS_MAX && ops[i]; i++) {
		uint32_t end = flows->end_of[ops[i]];

		if (end != NO_INDEX && flows->transfers[end].is_write == is_write)
			return i;
	}
	return NONE;
}

START_TEST(the_end_of_a_connection_is_a_byte_more)
{
	struct rec_process processes[2] = { { .pid = 1, .op = NO_INDEX },
					    { .pid = 2, .op = NO_INDEX } };
	uint32_t ops[CALLS_MAX] = { 0 };
	uint64_t unread = 0;
	struct sketch sketch;
	struct flows flows;

	sketch_begin(&sketch);
	sketch.rec.processes = processes;
	sketch.rec.process_count = 2;
	for (uint32_t i = 0; i < 3; i++)
		sketch_thread(&sketch, "t", 0, 100);
	sketch.threads[OTHER].process = 1;
	for (int i = 0; rows[_i].calls[i]; i++) {
		char call = rows[_i].calls[i];
		uint64_t bytes = call == 'w' ? 2 : call == 'p' ? 1 : call == 'r' ? unread : 0;

		ops[i] = call_add(&sketch, call, bytes, 1 + i);
		unread = call == 'w' ? unread + bytes : unread - bytes;
	}
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	ck_assert_int_eq(call_of(ops, &flows, true), rows[_i].closed);
	ck_assert_int_eq(call_of(ops, &flows, false), rows[_i].found);
	if (rows[_i].found != NONE) {
		const struct transfer *found = &flows.transfers[flows.end_of[ops[rows[_i].found]]];

		ck_assert_uint_eq(found->bytes, 1);
		ck_assert_uint_eq(found->first_ns, sketch.rec.ops[ops[rows[_i].closed]].start_ns);
	}
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(the_end_of_a_connection_is_a_byte_more, rows);
}
