/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a lock that is split or a pool with more threads would be given the time of
 * another program.
 */
#include "ask/variant.h"

#include "rebuilt.h"
#include "replay/simulate.h"
#include "suite.h"

#include <errno.h>

static const struct script_options as_recorded = { 0 };

static struct replay_answer replay(const struct script *script, const struct machine *machine)
{
	const struct replayer replayer = simulate_replayer(script, machine);

	return replayer_try(&replayer, &(const struct trial){ 0 });
}

/* The makespan of a variant; that of the script is the same before and after. */
static double variant_ms(const struct sketch *sketch, const struct question *question,
			 unsigned deal)
{
	struct script script;
	struct machine machine;
	struct variant variant;
	char error[OPTIONS_ERROR_BYTES] = "";

	script_build(&script, &sketch->rec, &sketch->classes, &as_recorded);
	machine_begin(&machine, &script, 0);
	double before_ns = replay(&script, &machine).makespan_ns;
	ck_assert_msg(variant_build(&variant, &script, &machine, &sketch->classes, question, deal,
				    error) == 0,
		      "%s", error);
	struct replay_answer answer = replay(variant.script, &variant.machine);
	ck_assert_uint_eq(answer.forced_steps, 0);
	variant_free(&variant);
	ck_assert_double_eq(replay(&script, &machine).makespan_ns, before_ns);
	script_free(&script);
	return answer.makespan_ns / 1e6;
}

START_TEST(a_split_lock_keeps_fewer_out)
{
	struct sketch sketch;

	rebuilt_lock(&sketch);
	struct question question = { .splits = { { sketch_class(&sketch, "M"), 2 } },
				     .split_count = 1 };
	/* The last deal has the two threads take turns at the two locks: never the same one. */
	ck_assert_double_eq_tol(variant_ms(&sketch, &question, VARIANT_DEALS - 1), 120, 0.01);
	for (unsigned deal = 0; deal + 1 < VARIANT_DEALS; deal++) {
		double by_chance_ms = variant_ms(&sketch, &question, deal);

		ck_assert(by_chance_ms >= 120 && by_chance_ms < 202);
	}
	sketch_free(&sketch);
}
END_TEST

static const struct {
	double times;
	double expected_ms;
} pools[] = {
	/* 0 */ { 2, 20 },
	/* 1 */ { 4, 10 },
	/* 2 */ { 16, 10 },
	/* 3 */ { 0.5, 80 },
	/* 4 */ { 1.5, 30 }, /* three, three and two jobs */
	/* 5 */ { 0.1, 80 }, /* one is left */
};

/* The parts of the first lock are no locks that a second one could be looked for among. */
START_TEST(two_locks_are_split_at_once)
{
	struct sketch sketch;

	rebuilt_lock(&sketch);
	class_table_free(&sketch.classes);
	sketch_hold(&sketch, 1, "N", 3, 191, 192);
	sketch_end(&sketch);
	struct question question = { .splits = { { sketch_class(&sketch, "M"), 40 },
						 { sketch_class(&sketch, "N"), 2 } },
				     .split_count = 2 };
	struct script script;
	struct machine machine;
	struct variant variant;
	char error[OPTIONS_ERROR_BYTES] = "";

	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	machine_begin(&machine, &script, 0);
	ck_assert_int_eq(
		variant_build(&variant, &script, &machine, &sketch.classes, &question, 0, error),
		0);
	ck_assert_uint_eq(variant.script->lock_count, 2 + 39 + 1);
	variant_free(&variant);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_pool_shares_its_jobs)
{
	struct sketch sketch;

	rebuilt_pool(&sketch);
	struct question question = {
		.pools = { { sketch_class(&sketch, "worker"), pools[_i].times } }, .pool_count = 1
	};
	ck_assert_double_eq_tol(variant_ms(&sketch, &question, 0), pools[_i].expected_ms, 0.01);
	sketch_free(&sketch);
}
END_TEST

START_TEST(cpus_are_what_was_asked_for)
{
	struct sketch sketch;
	struct question question = { .cpus = 1 };

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 50);
	sketch_thread(&sketch, "worker", 0, 50);
	sketch_end(&sketch);
	/* they take turns of a few ms, and either may have the last one */
	ck_assert_double_eq_tol(variant_ms(&sketch, &question, 0), 100, 4);
	sketch_free(&sketch);
}
END_TEST

/* The program is the same. */
START_TEST(other_cpus_take_no_other_script)
{
	struct sketch sketch;
	struct script script;
	struct machine machine;
	struct variant variant;
	char error[OPTIONS_ERROR_BYTES] = "";
	const struct question question = { .cpus = 2 };

	rebuilt_lock(&sketch);
	sketch.rec.processes[0].cpus = 1;
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	machine_begin(&machine, &script, 0);
	ck_assert_int_eq(
		variant_build(&variant, &script, &machine, &sketch.classes, &question, 0, error),
		0);
	ck_assert_ptr_eq(variant.script, &script);
	ck_assert(variant.machine.cpus == 2 && variant.machine.crosses && !machine.crosses);
	variant_free(&variant);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(what_cannot_be_rebuilt_is_refused)
{
	struct sketch sketch;
	struct script script;
	struct machine machine;
	struct variant variant;
	char error[OPTIONS_ERROR_BYTES] = "";

	rebuilt_lock(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	machine_begin(&machine, &script, 0);
	struct question no_pool = { .pools = { { sketch_class(&sketch, "worker"), 2 } },
				    .pool_count = 1 };
	ck_assert_int_eq(
		variant_build(&variant, &script, &machine, &sketch.classes, &no_pool, 0, error),
		-EINVAL);
	ck_assert_ptr_nonnull(strstr(error, "\"worker\" is not a pool"));
	struct question no_lock = { .splits = { { sketch_class(&sketch, "out"), 2 } },
				    .split_count = 1 };
	ck_assert_int_eq(
		variant_build(&variant, &script, &machine, &sketch.classes, &no_lock, 0, error),
		-EINVAL);
	ck_assert_ptr_nonnull(strstr(error, "\"out\" is not a lock"));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* Two workers, and a semaphore for each. */
START_TEST(threads_with_queues_of_their_own_are_told_so)
{
	struct sketch sketch;
	struct script script;
	struct machine machine;
	struct variant variant;
	char error[OPTIONS_ERROR_BYTES] = "";

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 100);
	for (uint32_t i = 1; i <= 2; i++) {
		const char *mailbox = i == 1 ? "first" : "second";
		uint32_t worker = sketch_thread(&sketch, "worker", 0, 100);

		for (int k = 0; k < 4; k++) {
			sketch_link(&sketch, 0, LINK_POST, mailbox, 20 * k + 5, 1, NO_INDEX);
			sketch_wait(&sketch, worker, REASON_SEM, mailbox, 20 * k, 20 * k + 5,
				    NO_INDEX);
			sketch_sleep(&sketch, worker, "job", 20 * k + 5, 20 * k + 20);
		}
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	machine_begin(&machine, &script, 0);
	struct question question = { .pools = { { sketch_class(&sketch, "worker"), 2 } },
				     .pool_count = 1 };
	ck_assert_int_eq(
		variant_build(&variant, &script, &machine, &sketch.classes, &question, 0, error),
		-EINVAL);
	ck_assert_msg(strstr(error, "of their own"), "%s", error);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_split_lock_keeps_fewer_out);
	TEST(two_locks_are_split_at_once);
	EACH(a_pool_shares_its_jobs, pools);
	TEST(cpus_are_what_was_asked_for);
	TEST(other_cpus_take_no_other_script);
	TEST(what_cannot_be_rebuilt_is_refused);
	TEST(threads_with_queues_of_their_own_are_told_so);
}
