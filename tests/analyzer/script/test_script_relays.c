/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a thread that was always the last one to come passes for one that never has to wait. */
#include "script/script_parts.h"

#include "base/memory.h"

#include "sketch.h"
#include "suite.h"

enum { THREADS = 4, ROUNDS_MAX = 8, LINKS_MAX = 64 };

static const struct {
	int rounds;
	uint32_t waiters; /* threads 1 to this */
	bool is_chain;    /* each lets the next one go; else thread 0 does so with all */
	bool works_first; /* before it does so */
	uint32_t answers; /* thread 0 waits for so many in each round */
	bool varies;      /* the last waiter comes to half of the rounds */
	bool is_unruly;
} rows[] = {
	/* 0 */ { 8, 3, false, false, 0, false, true },
	/* 1 */ { 8, 3, true, false, 0, false, true },
	/* 2: what follows is work of its own */ { 8, 3, true, true, 0, false, false },
	/* 3: work that is shared out, and its results */
	{ 8, 3, false, true, 3, false, false },
	/* 4: the last one counts a latch down */ { 8, 3, false, true, 1, false, true },
	/* 5: two take turns */ { 8, 1, false, false, 0, false, false },
	/* 6: too seldom */ { 4, 3, false, false, 0, false, false },
	/* 7: those that are there */ { 8, 3, false, false, 0, true, false },
};

struct rounds {
	struct sketch sketch;
	uint32_t waking_link[LINKS_MAX];
};

static void lets_go(struct rounds *of, uint32_t by, uint32_t thread, double from_ms, double at_ms)
{
	static const char *const own[THREADS] = { "own 0", "own 1", "own 2", "own 3" };
	uint32_t link = sketch_link(&of->sketch, by, LINK_WAKE, own[thread], at_ms, 1, NO_INDEX);

	of->waking_link[sketch_wait(&of->sketch, thread, REASON_COND, own[thread], from_ms,
				    at_ms + 0.1, NO_INDEX)] = link;
}

START_TEST(who_begins_each_round_may_have_to_wait)
{
	struct rounds of = { .waking_link = { 0 } };
	struct sketch *sketch = &of.sketch;
	struct timeline timeline;

	sketch_begin(sketch);
	for (uint32_t t = 0; t < THREADS; t++)
		sketch_thread(sketch, "thread", 0, 10 * ROUNDS_MAX + 10);
	for (int i = 0; i < rows[_i].rounds; i++) {
		double at = 10 * i + 5;
		uint32_t waiters = rows[_i].waiters - (rows[_i].varies && i % 2 == 0);

		sketch_sleep(sketch, 0, "work", at - 4, at - 1);
		for (uint32_t t = 1; t <= waiters; t++) {
			uint32_t by = rows[_i].is_chain ? t - 1 : 0;

			if (rows[_i].works_first && by)
				sketch_sleep(sketch, by, "work", at + by + 0.2, at + by + 0.8);
			lets_go(&of, by, t, at - 2, at + t);
		}
		for (uint32_t t = 1; t <= rows[_i].answers; t++) {
			sketch_sleep(sketch, t, "work", at + t + 0.2, at + 3.3);
			lets_go(&of, t, 0, at + 3.1 + 0.4 * t, at + 3.4 + 0.4 * t);
		}
	}
	sketch_end(sketch);
	timeline_build(&timeline, &sketch->rec);
	struct script script = {
		.recording = &sketch->rec,
		.is_unruly = memory_new(sketch->rec.link_count, sizeof(bool)),
		.monitors.waking_link = of.waking_link,
	};
	script_relays_find(&script, &timeline);
	ck_assert_int_eq(script.has_unruly, rows[_i].is_unruly);
	for (size_t i = 0; i < sketch->rec.link_count; i++)
		if (rows[_i].is_chain || sketch->rec.links[i].thread == 0)
			ck_assert_int_eq(script.is_unruly[i], rows[_i].is_unruly);
		else
			ck_assert(!script.is_unruly[i]);
	free(script.is_unruly);
	timeline_free(&timeline);
	sketch_free(sketch);
}
END_TEST

SUITE()
{
	EACH(who_begins_each_round_may_have_to_wait, rows);
}
