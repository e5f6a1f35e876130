/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a replay that nothing ends goes on, or one that only takes long is stopped. */
#include "replay/simulate_parts.h"

#include "replayed.h"
#include "suite.h"

static void try_in_vain(struct sketch *sketch, uint32_t thread, const char *lock, double at_ms)
{
	uint32_t wait = (uint32_t)sketch->rec.wait_count;

	sketch_wait(sketch, thread, REASON_MUTEX, lock, at_ms, at_ms, NO_INDEX);
	sketch->rec.waits[wait].timed_out = true;
	sketch->rec.waits[wait].name = sketch_string(sketch, "pthread_mutex_trylock");
}

/* A barrier of two locks. One thread works with its lock held, while the other one tries to get
 * that one each half a millisecond. Then they change roles. */
static void sketch_barrier(struct sketch *sketch)
{
	static const char *const locks[] = { "M", "N" };
	enum { ROUNDS = 6, TRIES = 40 };

	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, 20.5 * ROUNDS);
	sketch_thread(sketch, "other", 0, 20.5 * ROUNDS);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		double at_ms = 20.5 * i;
		uint32_t worker = i % 2, trier = 1 - worker;

		sketch_hold(sketch, worker, locks[worker], 1, at_ms, at_ms + 20);
		for (int k = 1; k < TRIES; k++)
			try_in_vain(sketch, trier, locks[worker], at_ms + 0.5 * k);
		sketch_hold(sketch, trier, locks[worker], 0, at_ms + 20, at_ms + 20.5);
	}
	sketch_end(sketch);
}

static struct replay_answer replayed_on(struct sketch *sketch, double cpus, bool shares_cpus)
{
	struct script script;
	struct machine machine;

	script_build(&script, &sketch->rec, &sketch->classes, &(const struct script_options){ 0 });
	machine_begin(&machine, &script, cpus);
	const struct replayer replayer = simulate_replayer(&script, &machine);
	const struct trial trial = { .shares_cpus = shares_cpus };
	const struct replay_answer answer = replayer_try(&replayer, &trial);
	script_free(&script);
	return answer;
}

/* On one CPU the thread that tries must not keep the one that works from it. */
START_TEST(a_barrier_that_spins_comes_to_its_end)
{
	struct sketch sketch;

	sketch_barrier(&sketch);
	for (int cpus = 1; cpus <= 2; cpus++) {
		for (int shares = 0; shares <= 1; shares++) {
			const struct replay_answer answer = replayed_on(&sketch, cpus, shares);

			ck_assert(!answer.ran_away);
			ck_assert_double_ge(answer.makespan_ns, 119e6);
			ck_assert_double_le(answer.makespan_ns, 300e6);
		}
	}
	sketch_free(&sketch);
}
END_TEST

/* A million times as long under the lock: no recording with so few tries goes on like that. */
START_TEST(rounds_without_end_are_stopped_and_named)
{
	struct sketch sketch;
	struct script script;
	struct machine machine;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "holder", 0, 20);
	sketch_thread(&sketch, "trier", 0, 21);
	sketch_hold(&sketch, 0, "M", 1, 0, 20);
	sketch_sleep(&sketch, 0, "work", 0, 20);
	for (int k = 0; k < 400; k++)
		try_in_vain(&sketch, 1, "M", 0.01 + 0.05 * k);
	sketch_hold(&sketch, 1, "M", 0, 20, 21);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &(const struct script_options){ 0 });
	machine_begin(&machine, &script, 0);
	const struct replayer replayer = simulate_replayer(&script, &machine);
	struct scaling scaling = { sketch_class(&sketch, "work"), 1 };
	const struct trial trial = { .scalings = &scaling, .count = 1 };
	ck_assert(!replayer_try(&replayer, &trial).ran_away);
	scaling.factor = 1000;
	ck_assert_double_eq_tol(replayer_try(&replayer, &trial).makespan_ns, 20001e6, 1e6);
	scaling.factor = 1e6;
	const struct replay_answer answer = replayer_try(&replayer, &trial);
	ck_assert(answer.ran_away);
	ck_assert_double_gt(answer.makespan_ns, 20000e9);
	ck_assert_uint_eq(answer.stuck.actor, 1);
	uint32_t type = script.steps[answer.stuck.step].type;
	ck_assert(type == STEP_TRY || type == STEP_AGAIN);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* The lock's owner never gives it back: a planted error of the script. */
START_TEST(who_is_let_go_by_force_is_named)
{
	struct sketch sketch;
	struct script script;
	struct machine machine;

	sketch_begin(&sketch);
	sketch_join_two(&sketch, "one", "two", 20, 30);
	sketch_hold(&sketch, 1, "M", 1, 1, 10);
	sketch_wait(&sketch, 2, REASON_MUTEX, "M", 5, 10, NO_INDEX);
	sketch_hold(&sketch, 2, "M", 1, 10, 11);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &(const struct script_options){ 0 });
	machine_begin(&machine, &script, 0);
	for (uint32_t i = script.actors[1].first_step; script.steps[i].type != STEP_END; i++)
		if (script.steps[i].type == STEP_RELEASE)
			script.steps[i] = (struct step){ .type = STEP_FIXED };
	const struct replayer replayer = simulate_replayer(&script, &machine);
	const struct replay_answer answer = replayer_try(&replayer, &(const struct trial){ 0 });
	ck_assert_uint_eq(answer.forced_steps, 1);
	ck_assert_uint_eq(answer.stuck.actor, 2);
	ck_assert_uint_eq(script.steps[answer.stuck.step].type, STEP_ACQUIRE);
	const struct step_origin *origin = script_origin(&script, answer.stuck.step);
	ck_assert_ptr_nonnull(origin);
	ck_assert_uint_eq(origin->sort, ORIGIN_WAIT);
	ck_assert_uint_eq(sketch.rec.waits[origin->index].start_ns, 5 * SKETCH_MS);
	ck_assert_ptr_null(script_origin(&script, script.actors[1].first_step));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* Nobody joins thread 1, which waits for a lock that is not given back: a planted error. */
START_TEST(a_thread_without_an_end_is_there_until_the_last_one)
{
	struct sketch sketch;
	struct script script;
	struct machine machine;
	uint64_t finish_ns[2];
	const struct trial trial = { .finish_ns = finish_ns };

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 30);
	sketch_thread(&sketch, "other", 0, 12);
	sketch_hold(&sketch, 0, "M", 1, 0, 10);
	sketch_wait(&sketch, 1, REASON_MUTEX, "M", 5, 10, NO_INDEX);
	sketch_hold(&sketch, 1, "M", 1, 10, 11);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &(const struct script_options){ 0 });
	machine_begin(&machine, &script, 0);
	const struct replayer replayer = simulate_replayer(&script, &machine);
	ck_assert_double_eq_tol(replayer_try(&replayer, &trial).makespan_ns, 30e6, 1);
	ck_assert_uint_eq(finish_ns[1], 12 * SKETCH_MS);
	for (uint32_t i = script.actors[0].first_step; script.steps[i].type != STEP_END; i++)
		if (script.steps[i].type == STEP_RELEASE)
			script.steps[i] = (struct step){ .type = STEP_FIXED };
	ck_assert_double_eq_tol(replayer_try(&replayer, &trial).makespan_ns, 30e6, 1);
	ck_assert_uint_eq(finish_ns[1], 30 * SKETCH_MS);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* Thread 2 has nothing more to do from 4 on, and so makes the last job. Thread 1 waited later. */
START_TEST(a_thread_whose_job_another_one_made_has_ended_before)
{
	static const double from_ms[] = { 1, 2, 10 }, to_ms[] = { 5, 4, 11 };
	static const uint32_t workers[] = { 1, 2, 1 };
	struct sketch sketch;
	struct script script;
	struct machine machine;
	uint64_t finish_ns[3];
	const struct trial trial = { .finish_ns = finish_ns };

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 30);
	sketch_thread(&sketch, "worker", 0, 30);
	sketch_thread(&sketch, "worker", 0, 30);
	for (int i = 0; i < 3; i++) {
		sketch_link(&sketch, 0, LINK_POST, "S", from_ms[i], 0, NO_INDEX);
		sketch_wait(&sketch, workers[i], REASON_SEM, "S", i == 2 ? 5 : 0, from_ms[i],
			    NO_INDEX);
		sketch_sleep(&sketch, workers[i], "job", from_ms[i], to_ms[i]);
	}
	for (uint32_t i = 1; i < 3; i++) /* they still wait as the recording ends */
		sketch.rec
			.waits[sketch_wait(&sketch, i, REASON_SEM, "S", to_ms[3 - i], 30, NO_INDEX)]
			.open = true;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &(const struct script_options){ 0 });
	machine_begin(&machine, &script, 0);
	const struct replayer replayer = simulate_replayer(&script, &machine);
	ck_assert_double_eq_tol(replayer_try(&replayer, &trial).makespan_ns, 30e6, 1);
	ck_assert_uint_eq(finish_ns[1], 5 * SKETCH_MS);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_thread_whose_job_another_one_made_has_ended_before);
	TEST(a_thread_without_an_end_is_there_until_the_last_one);
	TEST(a_barrier_that_spins_comes_to_its_end);
	TEST(rounds_without_end_are_stopped_and_named);
	TEST(who_is_let_go_by_force_is_named);
}
