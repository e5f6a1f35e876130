/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, an arrow begins where nobody ended the wait, or is missing. */
#include "script/wakers.h"
#include "sketch.h"
#include "suite.h"

#include "recording/releases.h"

/* Each waits from 3 to 6.5 on thread 2; thread 1 lets it go at 6. Indexes of ops count from 4. */
static void lock(struct sketch *sketch)
{
	sketch_hold(sketch, 1, "lock", 1, 2, 6);
	sketch_wait(sketch, 2, REASON_MUTEX, "lock", 3, 6.5, NO_INDEX);
	sketch_hold(sketch, 2, "lock", 2, 6.5, 9);
}

static void condition(struct sketch *sketch)
{
	sketch_link(sketch, 1, LINK_WAKE, "condition", 6, 1, NO_INDEX);
	sketch_wait(sketch, 2, REASON_COND, "condition", 3, 6.5, NO_INDEX);
}

static void permit(struct sketch *sketch)
{
	sketch_link(sketch, 1, LINK_POST, "semaphore", 1, 1, NO_INDEX);
	sketch_link(sketch, 1, LINK_POST, "semaphore", 6, 1, NO_INDEX);
	sketch_link(sketch, 1, LINK_POST, "semaphore", 7, 1, NO_INDEX);
	sketch_wait(sketch, 2, REASON_SEM, "semaphore", 3, 6.5, NO_INDEX);
}

/* The recorder names the op that posts: another one came later. */
static void permit_of_an_op(struct sketch *sketch)
{
	sketch_link(sketch, 1, LINK_POST, "semaphore", 6, 1, NO_INDEX);
	sketch_link(sketch, 0, LINK_POST, "semaphore", 6.2, 1, NO_INDEX);
	sketch_wait(sketch, 2, REASON_SEM, "semaphore", 3, 6.5, sketch->rec.threads[1].op);
}

static void barrier(struct sketch *sketch)
{
	sketch_wait(sketch, 2, REASON_BARRIER, "barrier", 3, 6.5, NO_INDEX);
	sketch_wait(sketch, 1, REASON_BARRIER, "barrier", 6, 6.2, NO_INDEX);
}

static void bytes(struct sketch *sketch)
{
	sketch_io(sketch, 1, "write", "pipe:[7]", 8, 6, 6.2);
	sketch_io(sketch, 2, "read", "pipe:[7]", 8, 3, 6.5);
}

static void none(struct sketch *sketch)
{
	sketch_wait(sketch, 2, REASON_MUTEX, "lock", 3, 6.5, NO_INDEX);
}

/* The taker sleeps until the giver ends, for a while at first. */
static void goes_on(struct sketch *sketch)
{
	sketch_wait(sketch, 2, REASON_EXEC, "", 1, 7, sketch->rec.threads[1].op);
}

static const struct {
	void (*build)(struct sketch *);
	bool is_call; /* the last op waits; else the wait of thread 2 */
	enum waker_event event;
	uint32_t index;
	uint64_t at_ms;
} rows[] = {
	/* 0 */ { lock, false, WAKER_OP_END, 4, 6 },
	/* 1 */ { condition, false, WAKER_LINK, 2, 6 },
	/* 2 */ { permit, false, WAKER_LINK, 3, 6 },
	/* 3 */ { permit_of_an_op, false, WAKER_LINK, 2, 6 },
	/* 4 */ { barrier, false, WAKER_WAIT_BEGIN, 3, 6 },
	/* 5 */ { bytes, true, WAKER_OP_BEGIN, 4, 6 },
	/* 6 */ { none, false, WAKER_NONE, 0, 0 },
	/* 7 */ { goes_on, false, WAKER_NONE, 0, 0 },
};

static void build(struct wakers *wakers, const struct recording *recording)
{
	struct timeline timeline;
	struct releases releases;
	struct monitors monitors;
	struct flows flows;
	timeline_build(&timeline, recording);
	releases_build(&releases, recording);
	monitors_build(&monitors, recording, &timeline, &releases);
	flows_build(&flows, recording);
	wakers_build(wakers, recording, &timeline, &monitors, &flows);
	flows_free(&flows);
	monitors_free(&monitors);
	releases_free(&releases);
	timeline_free(&timeline);
}

START_TEST(a_wait_ends_by_another_threads_event)
{
	struct sketch sketch;
	struct wakers wakers;
	sketch_begin(&sketch);
	sketch_join_two(&sketch, "giver", "taker", 10, 12);
	rows[_i].build(&sketch);
	build(&wakers, &sketch.rec);
	struct waker waker =
		rows[_i].is_call ? wakers.of_op[sketch.rec.op_count - 1] : wakers.of_wait[2];
	ck_assert_int_eq(waker.event, rows[_i].event);
	ck_assert_uint_eq(waker.index, rows[_i].index);
	ck_assert_uint_eq(waker_at_ns(&sketch.rec, waker), rows[_i].at_ms * SKETCH_MS);
	ck_assert_uint_eq(waker_thread(&sketch.rec, waker),
			  rows[_i].event == WAKER_NONE ? NO_INDEX : 1);
	/* main joins both */
	ck_assert_int_eq(wakers.of_wait[0].event, WAKER_OP_END);
	ck_assert_uint_eq(wakers.of_wait[0].index, sketch.rec.threads[1].op);
	wakers_free(&wakers);
	sketch_free(&sketch);
}
END_TEST

/* Also if the bytes were there before the read began. */
START_TEST(a_read_has_the_write_of_its_first_byte)
{
	struct sketch sketch;
	struct wakers wakers;
	sketch_begin(&sketch);
	sketch_join_two(&sketch, "giver", "taker", 10, 12);
	uint32_t write = sketch_io(&sketch, 1, "write", "pipe:7", 1, 2, 3);
	uint32_t read = sketch_io(&sketch, 2, "read", "pipe:7", 1, 5, 6);
	build(&wakers, &sketch.rec);
	ck_assert_uint_eq(wakers.write_of[read], write);
	ck_assert_uint_eq(wakers.write_of[write], NO_INDEX);
	ck_assert_int_eq(wakers.of_op[read].event, WAKER_NONE);
	wakers_free(&wakers);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_wait_that_did_not_end_has_none)
{
	struct sketch sketch;
	struct wakers wakers;
	sketch_begin(&sketch);
	sketch_join_two(&sketch, "giver", "taker", 10, 12);
	permit(&sketch);
	bool is_timed_out = _i;
	sketch.rec.waits[2].timed_out = is_timed_out;
	sketch.rec.waits[2].open = !is_timed_out;
	build(&wakers, &sketch.rec);
	ck_assert_int_eq(wakers.of_wait[2].event, WAKER_NONE);
	wakers_free(&wakers);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_wait_ends_by_another_threads_event, rows);
	TEST(a_read_has_the_write_of_its_first_byte);
	LOOP(a_wait_that_did_not_end_has_none, 0, 2);
}
