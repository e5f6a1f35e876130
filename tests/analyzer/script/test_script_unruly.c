/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a wait that a faster program may not have passes for one that it surely has. */
#include "script/script_parts.h"

#include "sketch.h"
#include "suite.h"

enum { WORKER = 1, LINKS_MAX = 16 };

/* Calls of a thread, a letter for each place, and w: it waits for another one's signal. */
static const struct {
	const char *does;
	bool is_unruly;
} rows[] = {
	/* 0: now and then */ { "awbabawbabawbabawbabawbab", true },
	/* 1: always */ { "awbawbawbawbawbawb", false },
	/* 2: always where it comes from, and never elsewhere */
	{ "awbcbawbcbawbcbawbcbawbcb", false },
	/* 3: too seldom to tell */ { "awbabawbabawbabawbabab", false },
	/* 4: as good as always */ { "awbawbawbawbawbawbawbawbawbawbab", false },
};

START_TEST(waits_that_come_now_and_then_are_unruly)
{
	struct step steps[LINKS_MAX + 1];
	uint32_t waking_link[LINKS_MAX];
	struct sketch sketch;
	struct timeline timeline;
	struct script script = { .steps = steps };

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 100);
	sketch_thread(&sketch, "worker", 0, 100);
	for (int i = 0; rows[_i].does[i]; i++) {
		char call = rows[_i].does[i];
		size_t link = sketch.rec.link_count;

		if (call != 'w') {
			uint32_t op = sketch_op(&sketch, KIND_SLEEP, "nap", WORKER, 1 + i, 1.5 + i);

			sketch.rec.extras[op].stack = (uint32_t)(call - 'a' + 1);
			continue;
		}
		ck_assert_uint_lt(link, LINKS_MAX);
		sketch_link(&sketch, 0, LINK_WAKE, "C", 1.4 + i, 1, NO_INDEX);
		waking_link[sketch_wait(&sketch, WORKER, REASON_COND, "C", 1 + i, 1.5 + i,
					NO_INDEX)] = (uint32_t)link;
		steps[script.step_count++] =
			(struct step){ .type = STEP_AFTER, .arg = (uint32_t)link };
	}
	sketch_end(&sketch);
	timeline_build(&timeline, &sketch.rec);
	script.recording = &sketch.rec;
	script.monitors.waking_link = waking_link;
	script_unruly_find(&script, &timeline);
	ck_assert_int_eq(script.has_unruly, rows[_i].is_unruly);
	for (size_t i = 0; i < sketch.rec.link_count; i++)
		ck_assert_int_eq(script.is_unruly[i], rows[_i].is_unruly);
	free(script.is_unruly);
	timeline_free(&timeline);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(waits_that_come_now_and_then_are_unruly, rows);
}
