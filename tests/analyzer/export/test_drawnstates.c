/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a page would paint a thread in the colour of another state. */
#include "export/drawnstates.h"
#include "section.h"

static const struct {
	enum walk_state state;
	enum kind kind;     /* of a call, */
	enum reason reason; /* or of a wait */
	enum drawn_state drawn;
} rows[] = {
	/* 0 */ { .state = WALK_RUNNING, .kind = KIND_IO, .drawn = DRAWN_RUNNING },
	/* 1 */ { .state = WALK_BLOCKED, .kind = KIND_IO, .drawn = DRAWN_IO },
	/* 2 */ { .state = WALK_IDLE, .kind = KIND_IO, .drawn = DRAWN_POLL },
	/* 3 */ { .state = WALK_BLOCKED, .kind = KIND_POLL, .drawn = DRAWN_POLL },
	/* 4 */ { .state = WALK_BLOCKED, .kind = KIND_SLEEP, .drawn = DRAWN_SLEEP },
	/* 5 */ { .state = WALK_BLOCKED, .reason = REASON_MUTEX, .drawn = DRAWN_LOCK },
	/* 6 */ { .state = WALK_BLOCKED, .reason = REASON_JOIN, .drawn = DRAWN_OTHER },
	/* 7 */ { .state = WALK_QUEUED, .reason = REASON_MUTEX, .drawn = DRAWN_QUEUED },
	/* 8 */ { .state = WALK_UNEXPLAINED, .drawn = DRAWN_UNKNOWN },
};

START_TEST(blocked_threads_are_told_apart_by_what_they_are_in)
{
	struct sketch sketch;
	section_sketch(&sketch);
	struct walk_slice slice = { .state = rows[_i].state, .op = NO_INDEX, .wait = NO_INDEX };
	if (rows[_i].kind)
		slice.op = sketch_op(&sketch, rows[_i].kind, "call", 1, 0, 1);
	else if (rows[_i].reason)
		slice.wait = sketch_wait(&sketch, 1, rows[_i].reason, "M", 0, 1, NO_INDEX);
	ck_assert_int_eq(drawn_state_of(&sketch.rec, &slice), rows[_i].drawn);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_wait_has_its_waker_in_all_its_slices)
{
	struct sketch sketch;
	struct walk walk;
	struct walk_slice slice;
	struct walk_waker waker;
	bool found = false;
	section_sketch(&sketch);
	walk_begin_plain(&walk, &sketch.rec, NULL);
	section_wakers(&walk);
	walk_thread(&walk, 2);
	while (walk_next(&walk, &slice)) {
		slice.is_end = false;
		if (drawn_waker(&walk, &slice, &waker)) {
			ck_assert_uint_eq(waker.thread, 1);
			ck_assert_uint_eq(slice.start_ns, 15 * SKETCH_MS);
			found = true;
		}
	}
	ck_assert(found);
	walk_end(&walk);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	LOOP(blocked_threads_are_told_apart_by_what_they_are_in, 0, 9);
	TEST(a_wait_has_its_waker_in_all_its_slices);
}
