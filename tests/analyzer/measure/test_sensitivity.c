/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, the second opinion on a replay would be wrong, or be given where there is none.
 */
#include "measure/sensitivity.h"

#include "random.h"
#include "suite.h"

#include <math.h>

enum { ROUNDS = 400 };

/* Lengths in a round of the main thread. */
struct rounds {
	double usual_ms;   /* of a sync */
	double varies_ms;  /* at most that much more */
	double other_ms;   /* a second thread's sync varies so much beside it, at no cost */
	double follows;    /* of the first one's excess the second one's has as well */
	uint32_t left_out; /* 1: the sync waits for others */
	uint32_t beside;   /* more syncs, which are over sooner and never vary */
	double aside_ms; /* 0 = none: the second thread's own syncs, in the first half of the run */
};

struct found {
	struct sketch sketch;
	struct sensitivity sensitivity;
	double sync_ms; /* in all */
};

static double part(uint64_t *state)
{
	return (double)random_number(state, 1000001) / 1e6;
}

/* Sleeps cut no recording. */
static void become_sleep(struct sketch *sketch, uint32_t op)
{
	sketch->rec.ops[op].kind = KIND_SLEEP;
	sketch->rec.extras[op].amount = 0;
}

/* Work, a sync, and a write at the end of each round. */
static void find(struct found *found, const struct rounds *rounds)
{
	struct sketch *sketch = &found->sketch;
	uint64_t state = 11;
	double at_ms = 0;
	bool is_left_out[SKETCH_MAX] = { false };
	uint64_t self_ns[SKETCH_MAX];
	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, 100000);
	sketch_thread(sketch, "beside", 0, 100000);
	found->sync_ms = 0;
	for (int i = 0; i < ROUNDS; i++) {
		double more_ms = rounds->varies_ms * part(&state);
		double sync_ms = rounds->usual_ms + more_ms;
		double other_ms = 0.1 + rounds->other_ms * part(&state) + rounds->follows * more_ms;
		double begin_ms = at_ms + 0.2 + 0.05 * part(&state);
		uint32_t sync =
			sketch_io(sketch, 0, "sync", "file", 1, begin_ms, begin_ms + sync_ms);
		is_left_out[sync] = rounds->left_out;
		for (uint32_t k = 0; k < rounds->beside; k++)
			sketch_io(sketch, 1, "sync", "file", 1, begin_ms,
				  begin_ms + rounds->usual_ms);
		if (rounds->aside_ms > 0 && i < ROUNDS / 2)
			sketch_io(sketch, 1, "sync", "file", 1, begin_ms,
				  begin_ms + rounds->aside_ms * (1 + part(&state)));
		at_ms = begin_ms + sync_ms;
		sketch_io(sketch, 1, "other", "file", 1, at_ms - other_ms - 0.001, at_ms - 0.001);
		sketch_io(sketch, 0, "write", "file", 1, at_ms, at_ms + 0.01);
		at_ms += 0.01;
		found->sync_ms += sync_ms;
	}
	for (size_t i = 0; i < sketch->rec.op_count; i++) {
		if (rounds->aside_ms > 0 &&
		    !strcmp(sketch->strings[sketch->rec.ops[i].name], "sync"))
			become_sleep(sketch, (uint32_t)i);
		self_ns[i] = sketch->rec.ops[i].end_ns - sketch->rec.ops[i].start_ns;
	}
	sketch_end(sketch);
	const struct sensitivity_of of = { &sketch->rec, &sketch->classes, self_ns, is_left_out,
					   (uint64_t)(at_ms * 1e6) };
	sensitivity_build(&found->sensitivity, &of);
}

/* NULL: nothing is known of the class. */
static const struct sensitivity_row *row_of(const struct found *found, const char *class)
{
	for (size_t i = 0; i < found->sensitivity.count; i++)
		if (found->sensitivity.rows[i].class == sketch_class(&found->sketch, class))
			return &found->sensitivity.rows[i];
	return NULL;
}

static void found_free(struct found *found)
{
	sensitivity_free(&found->sensitivity);
	sketch_free(&found->sketch);
}

static void expect(const struct sensitivity_row *row, double saved_ms)
{
	ck_assert_ptr_nonnull(row);
	ck_assert_msg(fabs(row->saved_ns / 1e6 - saved_ms) < 3.5 * row->error_ns / 1e6 + 3,
		      "%g +- %g ms, not %g", row->saved_ns / 1e6, row->error_ns / 1e6, saved_ms);
	ck_assert_double_lt(row->error_ns / 1e6, 0.05 * ROUNDS);
}

START_TEST(a_class_that_all_waits_for_is_worth_its_time)
{
	struct found found;
	find(&found, &(struct rounds){ .usual_ms = 1, .varies_ms = 1, .other_ms = 0.5 });
	expect(row_of(&found, "sync"), found.sync_ms);
	expect(row_of(&found, "other"), 0);
	found_free(&found);
}
END_TEST

/* Moving with a class that matters is worth nothing. */
START_TEST(a_class_that_goes_with_another_is_told_from_it)
{
	struct found found;
	find(&found,
	     &(struct rounds){ .usual_ms = 1, .varies_ms = 1, .other_ms = 0.5, .follows = 0.5 });
	expect(row_of(&found, "sync"), found.sync_ms);
	expect(row_of(&found, "other"), 0);
	found_free(&found);
}
END_TEST

START_TEST(two_that_always_go_together_are_not_known)
{
	struct found found;
	find(&found, &(struct rounds){ .usual_ms = 1, .varies_ms = 1, .follows = 1 });
	ck_assert(isinf(row_of(&found, "sync")->error_ns));
	ck_assert(isinf(row_of(&found, "other")->error_ns));
	found_free(&found);
}
END_TEST

/* The last one of a round varies, and all wait for it: by their variation all would be. */
START_TEST(a_class_is_not_worth_more_than_the_time_that_it_was_under_way)
{
	struct found found;
	find(&found, &(struct rounds){ .usual_ms = 10, .varies_ms = 1, .beside = 3 });
	ck_assert_double_eq_tol(row_of(&found, "sync")->saved_ns / 1e6, found.sync_ms, 0.01);
	ck_assert(isfinite(row_of(&found, "sync")->error_ns));
	found_free(&found);
}
END_TEST

/* Nobody waits for those of the other thread, which are shorter. */
START_TEST(threads_that_do_other_things_are_told_apart)
{
	struct found found;
	find(&found, &(struct rounds){ .usual_ms = 2, .varies_ms = 1, .aside_ms = 0.5 });
	expect(row_of(&found, "sync"), found.sync_ms);
	found_free(&found);
}
END_TEST

/* Nothing varies but for chance: no answer, or one that says how little it knows. */
START_TEST(a_class_that_does_not_vary_is_not_known)
{
	struct found found;
	find(&found, &(struct rounds){ .usual_ms = 1, .varies_ms = 0.0005, .other_ms = 0.5 });
	const struct sensitivity_row *row = row_of(&found, "sync");
	ck_assert(!row || row->error_ns / 1e6 > 0.1 * ROUNDS);
	found_free(&found);
}
END_TEST

START_TEST(a_call_that_waits_for_others_has_no_answer)
{
	struct found found;
	find(&found,
	     &(struct rounds){ .usual_ms = 1, .varies_ms = 1, .other_ms = 0.5, .left_out = 1 });
	ck_assert_ptr_null(row_of(&found, "sync"));
	found_free(&found);
}
END_TEST

START_TEST(too_little_is_no_recording_to_tell_by)
{
	struct sketch sketch;
	struct sensitivity sensitivity;
	bool is_left_out[SKETCH_MAX] = { false };
	uint64_t self_ns[SKETCH_MAX] = { 0 };
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 100);
	for (int i = 0; i < 20; i++)
		self_ns[sketch_io(&sketch, 0, "sync", "file", 1, i, i + 1)] = SKETCH_MS;
	sketch_end(&sketch);
	const struct sensitivity_of of = { &sketch.rec, &sketch.classes, self_ns, is_left_out,
					   20 * SKETCH_MS };
	sensitivity_build(&sensitivity, &of);
	ck_assert_uint_eq(sensitivity.count, 0);
	ck_assert_uint_eq(sensitivity.progress, NO_INDEX);
	sensitivity_free(&sensitivity);
	sketch_free(&sketch);
}
END_TEST

static void nap(struct sketch *sketch, uint32_t thread, double asked_ms, double from_ms,
		double to_ms)
{
	uint32_t op = sketch_op(sketch, KIND_SLEEP, "nap", thread, from_ms, to_ms);
	sketch->rec.extras[op].amount = (uint64_t)(asked_ms * 1e6);
}

/* Two threads sleep for 4 ms in turns, and for 2 ms each beside the other's turn. How many of the
 * short sleeps are in a stretch is chance. */
START_TEST(sleeps_of_other_lengths_are_told_apart)
{
	struct found found;
	struct sketch *sketch = &found.sketch;
	uint64_t state = 11;
	double at_ms = 1;
	bool is_left_out[SKETCH_MAX] = { false };
	uint64_t self_ns[SKETCH_MAX];
	sketch_begin(sketch);
	sketch_thread(sketch, "one", 0, 100000);
	sketch_thread(sketch, "other", 0, 100000);
	found.sync_ms = 0;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		double long_ms = 4 + 0.05 * part(&state), end_ms = at_ms + long_ms;
		double short_ms = end_ms + 0.6 * part(&state) - 0.3;
		nap(sketch, i % 2, 4, at_ms, end_ms);
		nap(sketch, 1 - i % 2, 2, short_ms - 2.01, short_ms);
		sketch_io(sketch, i % 2, "write", "file", 1, end_ms, end_ms + 0.01);
		at_ms = end_ms + 0.01;
		found.sync_ms += long_ms;
	}
	for (size_t i = 0; i < sketch->rec.op_count; i++)
		self_ns[i] = sketch->rec.ops[i].end_ns - sketch->rec.ops[i].start_ns;
	sketch_end(sketch);
	const struct sensitivity_of of = { &sketch->rec, &sketch->classes, self_ns, is_left_out,
					   (uint64_t)(at_ms * 1e6) };
	sensitivity_build(&found.sensitivity, &of);
	const struct sensitivity_row *row = row_of(&found, "nap");
	ck_assert_msg(
		!row || fabs(row->saved_ns / 1e6 - found.sync_ms) < 3.5 * row->error_ns / 1e6 + 3,
		"%g +- %g ms, not %g", row->saved_ns / 1e6, row->error_ns / 1e6, found.sync_ms);
	found_free(&found);
}
END_TEST

SUITE()
{
	TEST(sleeps_of_other_lengths_are_told_apart);
	TEST(a_class_that_all_waits_for_is_worth_its_time);
	TEST(a_class_that_goes_with_another_is_told_from_it);
	TEST(two_that_always_go_together_are_not_known);
	TEST(a_class_is_not_worth_more_than_the_time_that_it_was_under_way);
	TEST(threads_that_do_other_things_are_told_apart);
	TEST(a_class_that_does_not_vary_is_not_known);
	TEST(a_call_that_waits_for_others_has_no_answer);
	TEST(too_little_is_no_recording_to_tell_by);
}
