/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a wait that nothing hangs on would be named as the cause of a pinned run.
 */
#include "replay/trace.h"

#include "replayed.h"
#include "suite.h"

enum { PIECES_MAX = 32 };

struct pieces {
	struct trace_piece pieces[PIECES_MAX];
	size_t count;
};

static void collect(void *context, const struct trace_piece *piece)
{
	struct pieces *pieces = context;
	ck_assert_uint_lt(pieces->count, PIECES_MAX);
	pieces->pieces[pieces->count++] = *piece;
}

static void expect(const struct trace_piece *piece, enum trace_part part, uint32_t actor,
		   uint64_t from_ns, uint64_t to_ns)
{
	ck_assert_int_eq(piece->part, part);
	ck_assert_uint_eq(piece->actor, actor);
	ck_assert_uint_eq(piece->from_ns, from_ns);
	ck_assert_uint_eq(piece->to_ns, to_ns);
}

/* Actor 0 starts at 5 and runs to 20, where it wakes 1, which is back at 23 and ends at 40. Later
 * doings of 0 are no part of the way, nor are earlier ones of 1. */
START_TEST(the_way_goes_back_through_those_who_woke)
{
	struct trace trace;
	struct pieces pieces = { .count = 0 };
	trace_begin(&trace, 2);
	trace_woken(&trace, 0, 0, NO_INDEX, 5, 5);
	trace_woken(&trace, 1, 10, NO_INDEX, 0, 0);
	trace_passed(&trace, 0, 1, 5, 20);
	trace_passed(&trace, 1, 11, 0, 7);
	trace_woken(&trace, 1, 12, 0, 20, 23);
	trace_passed(&trace, 0, 2, 20, 90);
	trace_passed(&trace, 1, 13, 26, 40);
	trace.end_actor = 1;
	trace.end_ns = 40;
	trace_walk(&trace, 0, collect, &pieces);
	ck_assert_uint_eq(pieces.count, 5);
	expect(&pieces.pieces[0], TRACE_STEP, 1, 26, 40);
	expect(&pieces.pieces[1], TRACE_CPU, 1, 23, 26);
	expect(&pieces.pieces[2], TRACE_WAKE_UP, 1, 20, 23);
	expect(&pieces.pieces[3], TRACE_STEP, 0, 5, 20);
	expect(&pieces.pieces[4], TRACE_START, 0, 0, 5);
	ck_assert_uint_eq(pieces.pieces[2].step, 12);
	trace_free(&trace);
}
END_TEST

START_TEST(nobody_ended_and_nothing_happened)
{
	struct trace trace;
	struct pieces pieces = { .count = 0 };
	trace_begin(&trace, 1);
	trace_walk(&trace, 0, collect, &pieces);
	ck_assert_uint_eq(pieces.count, 0);
	trace_free(&trace);
}
END_TEST

/* Thread 1 sleeps 3 ms, thread 2 runs 9 ms; main joins both. */
START_TEST(a_replay_leaves_its_events)
{
	struct sketch sketch;
	struct script script;
	struct machine machine;
	struct trace trace;
	struct pieces pieces = { .count = 0 };
	const struct trial trial = { .trace = &trace };
	sketch_begin(&sketch);
	sketch_join_two(&sketch, "short", "long", 3, 9);
	sketch_sleep(&sketch, 1, "nap", 0, 3);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &(const struct script_options){ 0 });
	machine_begin(&machine, &script, 0);
	const struct replayer replayer = simulate_replayer(&script, &machine);
	trace_begin(&trace, script.actor_count);
	const struct replay_answer answer = replayer_try(&replayer, &trial);
	trace_walk(&trace, script.start_ns, collect, &pieces);
	ck_assert_double_eq(answer.makespan_ns, 9e6);
	ck_assert_uint_eq(trace.end_ns, 9 * SKETCH_MS);
	ck_assert_uint_eq(pieces.count, 1);
	expect(&pieces.pieces[0], TRACE_STEP, 2, 0, 9 * SKETCH_MS);
	ck_assert_int_eq(script.steps[pieces.pieces[0].step].type, STEP_RUN);
	trace_free(&trace);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(the_way_goes_back_through_those_who_woke);
	TEST(nobody_ended_and_nothing_happened);
	TEST(a_replay_leaves_its_events);
}
