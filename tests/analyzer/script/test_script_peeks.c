/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a thread that waits by looking now and then passes for one that sleeps for its own
 * sake. */
#include "script/script.h"

#include "sketch.h"
#include "suite.h"

static const struct script_options as_recorded = { 0 };

enum { NAPS = 4 };

static const struct {
	double asked_ms; /* each nap, all of which it takes */
	double between_ms;
	bool comes_something; /* a call after the last one */
	bool is_absolute;
	double looking_ms;
} rows[] = {
	/* 0 */ { 1, 0.01, true, false, 4.03 },
	/* 1: to its end, for nothing */ { 1, 0.01, false, false, 0 },
	/* 2: works in between */ { 1, 0.5, true, false, 0 },
	/* 3: too long to look for anything */ { 5, 0.01, true, false, 0 },
	/* 4: a timer */ { 1, 0.01, true, true, 0 },
};

START_TEST(short_sleeps_in_a_row_are_looking)
{
	struct sketch sketch;
	struct script script;
	double at_ms = 1;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 40);
	for (int i = 0; i < NAPS; i++) {
		sketch_sleep(&sketch, 0, "nap", at_ms, at_ms + rows[_i].asked_ms);
		sketch.rec.extras[sketch.rec.op_count - 1].absolute = rows[_i].is_absolute;
		at_ms += rows[_i].asked_ms + rows[_i].between_ms;
	}
	if (rows[_i].comes_something)
		sketch_io(&sketch, 0, "write", "", 1, at_ms, at_ms + 1);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	uint32_t nap = sketch_class(&sketch, "nap");
	ck_assert_double_eq_tol((double)script.polling_of_class_ns[nap] / 1e6, rows[_i].looking_ms,
				1e-3);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(short_sleeps_in_a_row_are_looking, rows);
}
