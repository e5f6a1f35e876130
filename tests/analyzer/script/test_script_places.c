/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if what a function costs depends on where turns on a CPU ended, or is spread over all. */
#include "script/script_parts.h"

#include "sketch.h"
#include "suite.h"

enum { ROUNDS = 8, BUSY = 10, OTHER = 11 };

/* Stack 10 is in function BUSY, stack 11 in OTHER. */
static uint32_t first_function[65];
static uint32_t functions[] = { BUSY, OTHER };
static const struct stack_functions functions_of = { .first = first_function,
						     .functions = functions };
static const struct script_options options = { .functions = &functions_of };

static struct rec_sample samples[4 * ROUNDS];

static void begin(struct sketch *sketch)
{
	for (size_t i = 0; i < 65; i++)
		first_function[i] = i <= BUSY ? 0 : i == BUSY + 1 ? 1 : 2;
	sketch_begin(sketch);
	sketch->rec.samples = samples;
}

static void sample(struct sketch *sketch, uint32_t thread, double at_ms, uint32_t stack)
{
	samples[sketch->rec.sample_count++] =
		(struct rec_sample){ .at_ns = (uint64_t)(at_ms * 1e6),
				     .cpu_ns = (uint64_t)(at_ms * 1e6),
				     .stack = stack,
				     .thread = thread };
}

static const struct function *function_named(const struct shares *shares, uint32_t name)
{
	for (size_t i = 0; i < shares->function_count; i++)
		if (shares->functions[i].name == name)
			return &shares->functions[i];
	return NULL;
}

/* How much of the thread's runs the function has. */
static double part_ns(const struct script *script, uint32_t thread, uint32_t name)
{
	const struct function *function = function_named(&script->shares, name);
	double part = 0;

	for (uint32_t i = script->actors[thread].first_step;
	     function && script->steps[i].type != STEP_END; i++)
		for (uint32_t k = function->first; k < function->first + function->count; k++)
			if (script->steps[i].type == STEP_RUN &&
			    script->shares.shares[k].scope == script->steps[i].arg)
				part += (double)script->steps[i].ns *
					(double)script->shares.shares[k].share;
	return part;
}

/* Each round a sleep, 1 ms of OTHER, 0.5 ms with the lock, then 2 ms of BUSY without until the lock
 * again. Samples of BUSY are taken only in rounds after which the lock was taken, with a release
 * that woke somebody. */
START_TEST(a_taken_lock_is_no_other_place)
{
	struct sketch sketch;
	struct script script;

	begin(&sketch);
	sketch_thread(&sketch, "main", 0, 6 * ROUNDS);
	sketch_thread(&sketch, "holder", 0, 6 * ROUNDS);
	for (int i = 0; i < ROUNDS; i++) {
		double at_ms = 6 * i;
		bool waits = i % 4 == 3;

		sketch_sleep(&sketch, 0, "pause", at_ms, at_ms + 0.5);
		sample(&sketch, 0, at_ms + 1, OTHER);
		sketch_hold(&sketch, 0, "M", 1, at_ms + 1.5, at_ms + 2);
		sketch_hold(&sketch, 0, "M", 2, at_ms + 4 + waits, at_ms + 5.5);
		if (!waits)
			continue;
		sketch_link(&sketch, 0, LINK_WAKE, "M", at_ms + 2.001, 1, NO_INDEX);
		sample(&sketch, 0, at_ms + 3, BUSY);
		sketch_hold(&sketch, 1, "M", 3, at_ms + 3.5, at_ms + 5);
		uint32_t wait =
			sketch_wait(&sketch, 0, REASON_MUTEX, "M", at_ms + 4, at_ms + 5, NO_INDEX);
		sketch.rec.waits[wait].stack = 2;
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &options);
	ck_assert_double_eq_tol(part_ns(&script, 0, BUSY), 2.0 * ROUNDS * 1e6, 1e6);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* One request in four takes 9 ms instead of 1, as it runs OTHER, too. */
START_TEST(slow_rounds_are_places_of_their_own)
{
	struct sketch sketch;
	struct script script;
	double at_ms = 0;

	begin(&sketch);
	sketch_thread(&sketch, "main", 0, 24.1); /* of 8 rounds, two slow ones */
	for (int i = 0; i < ROUNDS; i++) {
		bool is_slow = i % 4 == 3;

		sketch_sleep(&sketch, 0, "wait", at_ms, at_ms + 0.1);
		sample(&sketch, 0, at_ms + 0.5, BUSY);
		if (is_slow)
			sample(&sketch, 0, at_ms + 5, OTHER);
		at_ms += is_slow ? 9 : 1;
	}
	sketch_sleep(&sketch, 0, "wait", at_ms, at_ms + 0.1);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &options);
	/* half of the samples of the slow ones; spread over all rounds it were a fifth of 23 */
	ck_assert_double_eq_tol(part_ns(&script, 0, OTHER), 0.5 * 2 * 8.9e6, 1e5);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

static void try_in_vain(struct sketch *sketch, double at_ms)
{
	uint32_t wait = sketch_wait(sketch, 0, REASON_MUTEX, "M", at_ms, at_ms, NO_INDEX);

	sketch->rec.waits[wait].timed_out = true;
	sketch->rec.waits[wait].stack = BUSY;
	sketch->rec.waits[wait].name = sketch_string(sketch, "pthread_mutex_trylock");
}

/* The loop of BUSY is there once more for the lock that was had at the first try. No step of it may
 * get its functions twice. */
START_TEST(rounds_of_a_try_keep_their_functions)
{
	struct sketch sketch;
	struct script script;

	begin(&sketch);
	sketch_thread(&sketch, "trier", 0, 40);
	sketch_thread(&sketch, "holder", 0, 40);
	sketch_hold(&sketch, 1, "M", 3, 0, 10);
	for (int i = 0; i < 4; i++) {
		try_in_vain(&sketch, 1 + 2 * i);
		sample(&sketch, 0, 2 + 2 * i, BUSY);
	}
	for (int i = 0; i < 2; i++) {
		uint32_t hold = sketch_hold(&sketch, 0, "M", 0, 11 + 10 * i, 12 + 10 * i);
		sketch.rec.extras[hold].stack = BUSY;
		sample(&sketch, 0, 15 + 10 * i, OTHER);
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &options);
	uint32_t tries = 0;
	for (size_t i = 0; i < script.step_count; i++)
		tries += script.steps[i].type == STEP_TRY;
	ck_assert_uint_eq(tries, 2);
	ck_assert_double_gt(part_ns(&script, 0, BUSY), 0);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(rounds_of_a_try_keep_their_functions);
	TEST(a_taken_lock_is_no_other_place);
	TEST(slow_rounds_are_places_of_their_own);
}
