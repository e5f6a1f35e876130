/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a report names another wait, or thread, than the one that the replay has wrong. */
#include "ask/astray.h"

#include "replay/simulate.h"

#include "sketch.h"
#include "suite.h"

/* Thread 1 works with the lock held until 10 ms, thread 2 waits for it from 5 ms on. */
static void build(struct sketch *sketch, struct script *script)
{
	sketch_begin(sketch);
	sketch_join_two(sketch, "one", "two", 20, 30);
	sketch_hold(sketch, 1, "M", 1, 1, 10);
	sketch_wait(sketch, 2, REASON_MUTEX, "M", 5, 10, NO_INDEX);
	sketch_hold(sketch, 2, "M", 2, 10, 11);
	sketch_end(sketch);
	script_build(script, &sketch->rec, &sketch->classes, &(const struct script_options){ 0 });
}

static struct step *step_of(struct script *script, uint32_t actor, enum step_type type, uint32_t n)
{
	struct step *step = &script->steps[script->actors[actor].first_step];

	for (; step->type != type || n--; step++)
		ck_assert_uint_ne(step->type, STEP_END);
	return step;
}

/* A planted error: this step takes so much longer. Threads that wait for it are off, too. */
static const struct {
	uint32_t actor;
	enum step_type type;
	uint32_t number; /* of those of the actor */
	double more_ms;
	double error_ms; /* of the whole */
	bool is_found;
	bool is_wait;
} rows[] = {
	/* 0: what is right is not named */ { 1, STEP_RUN, 0, 0, 4, false, false },
	/* 1: wakes up too late */ { 2, STEP_ACQUIRE, 0, 4, 4, true, true },
	/* 2: holds the lock for too long */ { 1, STEP_RUN, 1, 4, 4, true, false },
	/* 3: too short */ { 1, STEP_RUN, 1, -4, -4, true, false },
	/* 4: it is the other error that is sought */ { 1, STEP_RUN, 1, 4, -4, false, false },
	/* 5: to the thread's end */ { 1, STEP_RUN, 2, 4, 4, true, false },
	/* 6: which the end of the whole does not show */
	{ 1, STEP_RUN, 2, 4, 1, false, false },
};

START_TEST(the_error_is_named_where_it_came_in)
{
	struct sketch sketch;
	struct script script;
	struct machine machine;
	struct astray astray;

	build(&sketch, &script);
	struct step *step = step_of(&script, rows[_i].actor, rows[_i].type, rows[_i].number);
	step->ns = (uint64_t)((double)step->ns + rows[_i].more_ms * 1e6);
	machine_begin(&machine, &script, 0);
	const struct replayer replayer = simulate_replayer(&script, &machine);
	ck_assert_int_eq(astray_find(&astray, &script, &replayer, rows[_i].error_ms * 1e6),
			 rows[_i].is_found);
	if (rows[_i].is_found) {
		ck_assert_uint_eq(astray.place.actor, rows[_i].actor);
		ck_assert_int_eq(astray.is_wait, rows[_i].is_wait);
		ck_assert_double_eq_tol(astray.ns, rows[_i].more_ms * 1e6, 1e3);
	}
	if (rows[_i].is_wait)
		ck_assert_ptr_eq(&script.steps[astray.place.step], step);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(the_error_is_named_where_it_came_in, rows);
}
