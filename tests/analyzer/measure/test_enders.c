/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a call to the outside would be taken for one that waits for a thread, or the
 * other way round.
 */
#include "measure/enders.h"

#include "random.h"
#include "suite.h"

enum { CALLS = 40 };

static const struct {
	int calls;
	double before_ms;  /* the other thread sends so long before the end of each wait of 10 */
	int missing_every; /* not for each of so many waits; 0 = for all */
	bool by_chance;    /* at any time instead */
	bool is_found;
} rows[] = {
	/* 0 */ { CALLS, 0.2, 0, false, true },
	/* 1: too early */ { CALLS, 5, 0, false, false },
	/* 2: now and then the wait is another one */ { CALLS, 0.2, 20, false, true },
	/* 3: often */ { CALLS, 0.2, 4, false, false },
	/* 4 */ { CALLS, 0, 0, true, false },
	/* 5: too few */ { 3, 0.2, 0, false, false },
};

START_TEST(calls_that_end_as_another_thread_sends_wait_for_it)
{
	struct sketch sketch;
	struct doings doings;
	bool is_wait[SKETCH_MAX] = { false }, is_doing[SKETCH_MAX] = { false };
	uint64_t state = 3;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 1000);
	sketch_thread(&sketch, "server", 0, 1000);
	for (int i = 0; i < rows[_i].calls; i++) {
		double from_ms = 12 * i, end_ms = from_ms + 10;
		double sent_ms = rows[_i].by_chance
					 ? from_ms + (double)random_number(&state, 10000) / 1000
					 : end_ms - rows[_i].before_ms;
		is_wait[sketch_io(&sketch, 0, "recv", "udp a", 1, from_ms, end_ms)] = true;
		if (!rows[_i].missing_every || i % rows[_i].missing_every)
			is_doing[sketch_io(&sketch, 1, "send", "udp b", 1, sent_ms, sent_ms)] =
				true;
		/* its own doings end nothing */
		is_doing[sketch_io(&sketch, 0, "send", "udp a", 1, end_ms, end_ms)] = true;
	}
	sketch_end(&sketch);
	doings_build(&doings, &sketch.rec, is_doing);
	uint32_t ender = enders_find(&doings, &sketch.rec, &sketch.classes, is_wait, 0,
				     sketch_class(&sketch, "recv"));
	ck_assert_uint_eq(ender, rows[_i].is_found ? 1 : NO_INDEX);
	doings_free(&doings);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(calls_that_end_as_another_thread_sends_wait_for_it, rows);
}
