/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a device would be blamed for the time of wake-ups in vain. Those are of a thread
 * that comes to a CPU when another thread has the lock again.
 */
#include "script/script.h"

#include "sketch.h"
#include "suite.h"

static const struct script_options as_recorded = { 0 };

/* Main sleeps for a lock until 8.1 ms, and waited for CPUs for 3 ms of all. The call is 6 ms long,
 * and loses what the wake-up for the lock did not take. Of its 0.1 ms, 0.06 are the time that a CPU
 * may take to come back from idle, which the call has as well. */
static const struct {
	double again_ms;     /* another thread has it until 4 ms, and again from then to 8 ms */
	bool is_next_asleep; /* that thread slept for it, too */
	bool has_third;      /* a third thread sleeps for it, and has it later */
	double call_ms;
} rows[] = {
	/* 0: it has it at once */ { 4, false, false, 6 - 2.84 },
	/* 1: main was woken at 4 ms, and not there at 5 ms */ { 5, false, false, 6 - 1.84 },
	/* 2: main or the third one was */ { 5, false, true, 6 - 2.34 },
	/* 3: the one that was woken had it */ { 5, true, false, 6 - 2.84 },
	/* 4: main was in no queue for longer than it says */ { 7.5, false, false, 6 },
};

START_TEST(wake_ups_in_vain_are_no_other_calls)
{
	struct sketch sketch;
	struct script script;
	struct rec_sample samples[] = {
		{ .queued_ns = 10 },
		{ .at_ns = 20000000, .cpu_ns = 9000000, .queued_ns = 10 + 3000000 },
	};

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 20);
	sketch_thread(&sketch, "other", 0, 20);
	sketch_thread(&sketch, "third", 0, 20);
	sketch_hold(&sketch, 1, "M", 1, 1, 4);
	if (rows[_i].is_next_asleep)
		sketch_wait(&sketch, 2, REASON_MUTEX, "M", 2, rows[_i].again_ms, NO_INDEX);
	sketch_hold(&sketch, rows[_i].is_next_asleep ? 2 : 1, "M", 2, rows[_i].again_ms, 8);
	sketch_wait(&sketch, 0, REASON_MUTEX, "M", 2, 8.1, NO_INDEX);
	sketch_hold(&sketch, 0, "M", 3, 8.1, 9);
	if (rows[_i].has_third) {
		sketch_wait(&sketch, 2, REASON_MUTEX, "M", 3, 9, NO_INDEX);
		sketch_hold(&sketch, 2, "M", 4, 9, 10);
	}
	sketch_io(&sketch, 0, "fsync", "file f", 0, 10, 16);
	sketch.rec.processes[0].cpus = 1;
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 2;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	uint32_t class = sketch_class(&sketch, "fsync");
	const struct step *step = &script.steps[script.actors[0].first_step];

	while (step->type != STEP_DELAY || script.scopes.scopes[step->arg].leaf != class)
		step++;
	ck_assert_double_eq_tol((double)step->ns / 1e6, rows[_i].call_ms, 1e-3);
	/* the rest is kept twice */
	ck_assert_double_eq_tol((double)script.queued_ns / 1e6, rows[_i].call_ms < 6 ? 2.88 : 3,
				1e-3);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(wake_ups_in_vain_are_no_other_calls, rows);
}
