/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if an answer that hangs by a hair passed for what to expect. One that does not is what the
 * recorded lengths give.
 */
#include "ask/jitter.h"

#include "base/assumptions.h"
#include "replay/simulate.h"
#include "script/script.h"
#include "sketch.h"
#include "suite.h"

#include <math.h>

/* --- any replay: the makespans in the order of their jitter --- */

static const double *makespans_ns;
static unsigned replays;

/* The unchanged run takes 1000, and with the third jitter 100 more. A request takes a thousandth
 * more by each number of a jitter, or so many times as much. */
static double request_times;

static void run_trial(const struct replayer *replayer, const struct trial *trial, void *scratch,
		      struct replay_answer *answer)
{
	double jitter_ns = trial->jitter == 3 ? 100 : 0;

	(void)replayer;
	(void)scratch;
	ck_assert_uint_le(trial->jitter, JITTERS);
	*answer = (struct replay_answer){ .makespan_ns = 1000 + jitter_ns,
					  .requests_ns = { [REQUEST_P99] = 50 + jitter_ns } };
	if (!trial->count)
		return;
	replays++;
	answer->makespan_ns = makespans_ns[trial->jitter] + jitter_ns;
	answer->requests_ns[REQUEST_P99] =
		1000 + trial->jitter * (request_times ? 1000 * request_times : 1) + jitter_ns;
	if (trial->finish_ns)
		*trial->finish_ns = trial->jitter;
}

static void run(const struct replayer *replayer, const struct trial *trials, size_t count,
		void *scratch, struct replay_answer *answers)
{
	for (size_t i = 0; i < count; i++)
		run_trial(replayer, &trials[i], scratch, &answers[i]);
}

static const struct {
	double makespans_ns[JITTERS + 1];
	bool is_settled;
	double middle_ns;
	unsigned replays;
	unsigned chosen;
} rows[] = {
	/* 0: as far off as lengths alone may be, here and in the unchanged run */
	{ { 500, 485, 515, 1, 1, 1, 1 }, false, 500, 2, 0 },
	/* 1: no lengths do that alone */
	{ { 500, 516, 500, 502, 503, 490, 501 }, true, 501, 6, 6 },
	/* 2: what was recorded is the odd one */
	{ { 500, 400, 401, 402, 403, 404, 501 }, true, 403, 6, 4 },
	/* 3: the other one hardly ever comes */
	{ { 500, 499, 400, 501, 502, 503, 498 }, true, 500, 6, 0 },
	/* 4: the middle one is long by jitter, as the unchanged run */
	{ { 500, 400, 401, 402, 401.5, 501, 502 }, true, 402, 6, 3 },
};

START_TEST(the_middle_one_is_told_where_jitter_decides)
{
	const struct replayer replayer = { .run = run, .has_jitter = true, .finish_count = 1 };
	const struct replay_answer baseline = { .makespan_ns = 1000,
						.requests_ns = { [REQUEST_P99] = 50 } };
	uint64_t finish_ns = 0; /* as the replay without jitter has set it */
	const struct trial trial = { .count = 1, .finish_ns = &finish_ns };
	struct replay_answer answer = { .makespan_ns = rows[_i].makespans_ns[0],
					.requests_ns = { [REQUEST_P99] = 1000 } };
	struct jitter_range range = { 0 };
	struct jitter jitter;

	makespans_ns = rows[_i].makespans_ns;
	request_times = replays = 0;
	jitter_begin(&jitter, &replayer, &baseline, NULL);
	ck_assert_int_eq(jitter_settle(&jitter, &replayer, &trial, NULL, &answer, &range),
			 rows[_i].is_settled);
	ck_assert_double_eq(answer.makespan_ns, rows[_i].middle_ns);
	ck_assert_uint_eq(replays, rows[_i].replays);
	ck_assert_uint_eq(finish_ns, rows[_i].chosen);
	if (!rows[_i].is_settled)
		return;
	ck_assert_double_eq(answer.requests_ns[REQUEST_P99], 1000 + rows[_i].chosen);
	for (size_t i = 0; i <= JITTERS; i++)
		ck_assert(makespans_ns[i] >= range.shortest_ns &&
			  makespans_ns[i] <= range.longest_ns);
}
END_TEST

/* The makespan does not say that requests come in another order. */
START_TEST(requests_have_a_range_of_their_own)
{
	const struct replayer replayer = { .run = run, .has_jitter = true };
	const struct replay_answer baseline = { .makespan_ns = 1000,
						.requests_ns = { [REQUEST_P99] = 50 } };
	const struct trial trial = { .count = 1 };
	struct replay_answer answer = { .makespan_ns = 500,
					.requests_ns = { [REQUEST_P99] = 1000 } };
	struct jitter_range range;
	struct jitter jitter;

	makespans_ns = rows[0].makespans_ns;
	request_times = 1;
	replays = 0;
	jitter_begin(&jitter, &replayer, &baseline, NULL);
	ck_assert(!jitter_settle(&jitter, &replayer, &trial, NULL, &answer, &range));
	ck_assert_uint_eq(replays, JITTERS);
	ck_assert_double_eq(range.least_ns[REQUEST_P99], 1000);
	ck_assert_double_eq(range.median_ns[REQUEST_P99], 4000);
	ck_assert_double_eq(range.most_ns[REQUEST_P99], 7000);
	ck_assert_double_eq(answer.requests_ns[REQUEST_P99], 1000);
}
END_TEST

/* --- the replay of threads --- */

static double makespan_ns(const struct replayer *replayer, unsigned jitter)
{
	return replayer_try(replayer, &(const struct trial){ .jitter = jitter }).makespan_ns;
}

START_TEST(lengths_have_the_same_jitter_each_time)
{
	struct sketch sketch;
	struct script script;
	struct machine machine;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 100);
	sketch_sleep(&sketch, 0, "nap", 10, 60);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &(const struct script_options){ 0 });
	machine_begin(&machine, &script, 0);
	const struct replayer replayer = simulate_replayer(&script, &machine);
	double recorded_ns = makespan_ns(&replayer, 0);
	double first_ns = makespan_ns(&replayer, 1);
	double other_ns = makespan_ns(&replayer, 2);
	double second_ns = makespan_ns(&replayer, 1);
	ck_assert_double_eq(first_ns, second_ns);
	ck_assert_double_ne(first_ns, recorded_ns);
	ck_assert_double_ne(first_ns, other_ns);
	ck_assert_double_le(fabs(first_ns - recorded_ns), assume.jitter * recorded_ns);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* Of five sleeps of 10 ms that take 1 more each, one takes 31. */
SUITE()
{
	TEST(requests_have_a_range_of_their_own);
	EACH(the_middle_one_is_told_where_jitter_decides, rows);
	TEST(lengths_have_the_same_jitter_each_time);
}
