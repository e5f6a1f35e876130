/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if, where nobody can go on, another actor is let go than the one whose turn it is. */
#include "replay/simulate_parts.h"

#include "replayed.h"
#include "suite.h"

enum { WAITERS = 20, WAITED = 41 };

/* In no order, and some at once. */
static double waits_from_ms(uint32_t waiter)
{
	return 2 + (waiter * 7) % 13;
}

/* Main holds a lock that all others come for at their times, and joins them. */
static void sketch_waiters(struct sketch *sketch)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, 100);
	sketch_hold(sketch, 0, "M", 1, 1, 40);
	for (uint32_t i = 1; i <= WAITERS; i++) {
		double end_ms = WAITED + i;

		sketch_thread(sketch, "waiter", 0, end_ms);
		sketch_link(sketch, 0, LINK_SPAWN, "", 0, 0, sketch->rec.threads[i].op);
		sketch_wait(sketch, i, REASON_MUTEX, "M", waits_from_ms(i), end_ms - 1, NO_INDEX);
		sketch_hold(sketch, i, "M", 1, end_ms - 1, end_ms - 0.5);
		sketch_wait(sketch, 0, REASON_JOIN, "", end_ms - (i == 1 ? 1 : 0.9), end_ms,
			    sketch->rec.threads[i].op);
	}
	sketch_thread(sketch, "permitted", 0, 3);
	sketch_wait(sketch, WAITERS + 1, REASON_SEM, "S", 1, 2, NO_INDEX);
	sketch_end(sketch);
}

/* The step in which a thread gets the lock. */
static struct step *acquire_of(struct script *script, uint32_t actor)
{
	struct step *step = &script->steps[script->actors[actor].first_step];

	while (step->type != STEP_ACQUIRE)
		step++;
	return step;
}

/* A planted error of the script: nobody ever gives the lock back. */
static void keep_lock(struct script *script)
{
	for (size_t i = 0; i < script->step_count; i++)
		if (script->steps[i].type == STEP_RELEASE)
			script->steps[i] = (struct step){ .type = STEP_FIXED };
}

static bool comes_first(uint32_t left, uint32_t right)
{
	double left_ms = waits_from_ms(left), right_ms = waits_from_ms(right);

	return left_ms != right_ms ? left_ms < right_ms : left < right;
}

START_TEST(who_has_waited_longest_is_let_go_first)
{
	struct sketch sketch;
	struct script script;
	struct machine machine;
	uint64_t finish_ns[WAITERS + 2];

	sketch_waiters(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &(const struct script_options){ 0 });
	machine_begin(&machine, &script, 0);
	keep_lock(&script);
	const struct replayer replayer = simulate_replayer(&script, &machine);
	const struct trial trial = { .finish_ns = finish_ns };
	const struct replay_answer answer = replayer_try(&replayer, &trial);
	ck_assert_uint_eq(answer.forced_steps, WAITERS);
	ck_assert_uint_eq(answer.stuck.actor, 13); /* from 2 ms on: the least */
	for (uint32_t i = 1; i <= WAITERS; i++)
		for (uint32_t k = 1; k <= WAITERS; k++)
			if (i != k)
				ck_assert_msg((finish_ns[i] < finish_ns[k]) == comes_first(i, k),
					      "%u and %u", i, k);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(who_only_tries_goes_on_before_any_that_wait)
{
	struct sketch sketch;
	struct script script;
	struct machine machine;
	uint64_t finish_ns[WAITERS + 2];
	enum { TRIER = 9 };

	sketch_waiters(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &(const struct script_options){ 0 });
	machine_begin(&machine, &script, 0);
	keep_lock(&script);
	ck_assert_uint_eq(script.semaphore_count, 1);
	acquire_of(&script, TRIER)->type = STEP_CLAIM;
	const struct replayer replayer = simulate_replayer(&script, &machine);
	const struct trial trial = { .finish_ns = finish_ns };
	const struct replay_answer answer = replayer_try(&replayer, &trial);
	ck_assert_uint_eq(answer.forced_steps, WAITERS - 1);
	for (uint32_t k = 1; k <= WAITERS; k++)
		ck_assert(k == TRIER || finish_ns[TRIER] < finish_ns[k]);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* It has waited for longest, and nobody gives the permit. */
START_TEST(who_waits_for_any_child_goes_on_last)
{
	struct sketch sketch;
	struct script script;
	struct machine machine;

	sketch_waiters(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &(const struct script_options){ 0 });
	machine_begin(&machine, &script, 0);
	keep_lock(&script);
	acquire_of(&script, 13)->type = STEP_PERMIT;
	script.permits[0] = 0;
	for (size_t children = 0; children <= 1; children++) {
		script.children_count = children;
		const struct replayer replayer = simulate_replayer(&script, &machine);
		const struct trial trial = { 0 };
		const struct replay_answer answer = replayer_try(&replayer, &trial);

		ck_assert_uint_eq(answer.forced_steps, WAITERS);
		ck_assert_uint_eq(answer.stuck.actor, children ? 2 : 13);
	}
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* Main has waited for longer, for the end of a worker, than that for a permit that nobody gives. */
START_TEST(who_is_waited_for_goes_on_before_who_joins)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 50);
	sketch_thread(&sketch, "worker", 0, 40);
	sketch_thread(&sketch, "poster", 0, 12);
	for (uint32_t i = 1; i <= 2; i++)
		sketch_link(&sketch, 0, LINK_SPAWN, "", 0, 0, sketch.rec.threads[i].op);
	sketch_wait(&sketch, 0, REASON_JOIN, "", 1, 40, sketch.rec.threads[1].op);
	sketch_sleep(&sketch, 1, "work", 0, 5);
	sketch_wait(&sketch, 1, REASON_SEM, "S", 5, 10, NO_INDEX);
	sketch_sleep(&sketch, 1, "tail", 10, 40);
	sketch_link(&sketch, 2, LINK_POST, "S", 10, 1, NO_INDEX);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &(const struct script_options){ 0 });
	for (size_t i = 0; i < script.step_count; i++)
		if (script.steps[i].type == STEP_POST)
			script.steps[i] = (struct step){ .type = STEP_FIXED };
	const struct replay_answer answer = replayed_script(&script, NO_INDEX, 1);
	ck_assert_uint_eq(answer.forced_steps, 1);
	ck_assert_uint_eq(answer.stuck.actor, 1);
	ck_assert_double_gt(answer.makespan_ns, 50e6);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(who_has_waited_longest_is_let_go_first);
	TEST(who_only_tries_goes_on_before_any_that_wait);
	TEST(who_waits_for_any_child_goes_on_last);
	TEST(who_is_waited_for_goes_on_before_who_joins);
}
