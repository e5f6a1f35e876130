/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a part of a message were a job of its own, or several jobs one message. */
#include "infer/flows.h"

#include "sketch.h"
#include "suite.h"

enum { CALLS_MAX = 12 };

/* Calls on one pipe, in this order: w writes four bytes, r writes two. Digits read so many, in one
 * thread, letters from a on in another one. */
static const struct {
	const char *calls;
	const char *rests; /* for each call, x: it reads the rest of a message */
} rows[] = {
	/* 0: in parts */ { "w13w13wac", "..x..x..x" },
	/* 1: at once */ { "w4wd", "...." },
	/* 2: both */ { "w4w112wac", "....xx..x" },
	/* 3: several wrote what one read takes */ { "rr13ww8wac", "...x.....x" },
	/* 4: all are messages, as two threads share a write */ { "w1aw112", "......." },
	/* 5: so are all others then */ { "w13w1c", "......" },
};

START_TEST(a_read_goes_on_with_a_message)
{
	struct sketch sketch;
	struct flows flows;
	uint32_t ops[CALLS_MAX];
	const char *calls = rows[_i].calls;

	sketch_begin(&sketch);
	for (uint32_t i = 0; i < 3; i++)
		sketch_thread(&sketch, "t", 0, 100);
	for (int i = 0; calls[i]; i++) {
		bool is_write = calls[i] == 'w' || calls[i] == 'r', is_other = calls[i] >= 'a';
		int bytes = is_write   ? calls[i] == 'w' ? 4 : 2
			    : is_other ? calls[i] - 'a' + 1
				       : calls[i] - '0';

		ops[i] = sketch_io(&sketch,
				   is_write   ? 0
				   : is_other ? 2
					      : 1,
				   is_write ? "write" : "read", "pipe:[7]", (uint64_t)bytes, 1 + i,
				   1 + i);
	}
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	for (int i = 0; calls[i]; i++) {
		ck_assert_uint_ne(flows.transfer_of[ops[i]], NO_INDEX);
		ck_assert_int_eq(flows.transfers[flows.transfer_of[ops[i]]].is_rest,
				 rows[_i].rests[i] == 'x');
	}
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_read_goes_on_with_a_message, rows);
}
