/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a slow request would be said to have waited for something else than it did. */
#include "pathed.h"

START_TEST(a_request_waits_for_others_a_lock_and_one_that_it_asks)
{
	struct pathed pathed;
	pathed_begin(&pathed);
	pathed_end(&pathed);
	pathed_expect(&pathed, 1,
		      " queued read_a/slow 4.5 downstream ask/ 4 lock table/n5 3 unexplained / 1"
		      " io read_b/ 0.5 io write_b/ 0.5 queued read_a/read_a 0.5"
		      " queued read_a/write_a 0.5");
	pathed_expect(&pathed, 0, " io slow/ 4.5 io read_a/ 0.5 io write_a/ 0.5");
	pathed_expect(&pathed, 2, " downstream ask/ 4");
	pathed_free(&pathed);
}
END_TEST

/* One that came while the loop slept in a poll: until it runs, it wakes up. */
START_TEST(an_idle_thread_wakes_up)
{
	struct pathed pathed;
	pathed_begin(&pathed);
	pathed_end(&pathed);
	pathed.requests[0].start_ns = 8 * SKETCH_MS;
	pathed_expect(&pathed, 0, " io slow/ 4.5 waking / 2 io read_a/ 0.5 io write_a/ 0.5");
	pathed_free(&pathed);
}
END_TEST

/* Before its last connection is answered, the loop is nobody's for a while. */
START_TEST(one_without_an_answer_has_what_was_done)
{
	struct pathed pathed;
	pathed_begin(&pathed);
	uint32_t read = sketch_io(&pathed.sketch, 1, "read_c", "tcp l>c", 1, 24.5, 25);
	uint32_t late = pathed_request(&pathed, REQUEST_SERVED, read, STAMP_BEGIN, NO_INDEX, 10);
	pathed_end(&pathed);
	pathed.requests[late].end_ns = 40 * SKETCH_MS;
	pathed_expect(&pathed, late,
		      " unexplained / 15 queued read_a/slow 4.5 queued read_b/hear 3.5"
		      " queued read_b/table 3 queued read_b/ 1 io read_c/ 0.5"
		      " queued read_a/read_a 0.5 queued read_a/write_a 0.5"
		      " queued read_b/read_b 0.5 queued read_b/ask 0.5 queued read_b/write_b 0.5");
	pathed_free(&pathed);
}
END_TEST

/* Thread 3 has read the question, and gives it to 4 by a signal at 32. That one was at e, and
 * waits for thread 5 from 34 to 37, which sleeps until 36. */
static uint32_t add_handed(struct pathed *pathed)
{
	struct sketch *sketch = &pathed->sketch;
	for (int i = 0; i < 3; i++)
		sketch_thread(sketch, "worker", 0, 40);
	uint32_t read = sketch_io(sketch, 3, "read_f", "tcp l>f", 1, 31, 31.5);
	sketch_op(sketch, KIND_POLL, "poll", 3, 32, 40);
	uint32_t link = sketch_link(sketch, 3, LINK_WAKE, "c", 32, 1, NO_INDEX);
	uint32_t wait = sketch_wait(sketch, 4, REASON_COND, "c", 20, 33, NO_INDEX);
	pathed->of_wait[wait] = (struct waker){ WAKER_LINK, link };
	sketch_sleep(sketch, 5, "nap", 33, 36);
	link = sketch_link(sketch, 5, LINK_WAKE, "d", 36, 1, NO_INDEX);
	wait = sketch_wait(sketch, 4, REASON_COND, "d", 34, 37, NO_INDEX);
	pathed->of_wait[wait] = (struct waker){ WAKER_LINK, link };
	uint32_t write = sketch_io(sketch, 4, "write_f", "tcp l>f", 1, 38, 39);
	return pathed_request(pathed, REQUEST_SERVED, read, STAMP_BEGIN, write, 31);
}

START_TEST(a_path_goes_through_the_threads_that_work_for_it)
{
	struct pathed pathed;
	pathed_begin(&pathed);
	uint32_t request = add_handed(&pathed);
	pathed_end(&pathed);
	/* 0.5 of thread 3; 1 from its signal; 34 to 33 of 4; 36 to 34 of 5's nap; 1 from that */
	pathed_expect(&pathed, request,
		      " unexplained / 2.5 waking / 2 io nap/ 2 io write_f/ 1 io read_f/ 0.5");
	pathed_free(&pathed);
}
END_TEST

/* The other end is recorded: its thread's time is the request's. */
START_TEST(a_question_is_followed_to_who_answers)
{
	struct pathed pathed;
	pathed_begin(&pathed);
	struct sketch *sketch = &pathed.sketch;
	sketch_thread(sketch, "store", 0, 40);
	sketch_op(sketch, KIND_POLL, "poll", 3, 0, 21);
	uint32_t read = sketch_io(sketch, 3, "read_d", "tcp d>l", 1, 21, 21.5);
	sketch_sleep(sketch, 3, "disk", 21.5, 23);
	uint32_t write = sketch_io(sketch, 3, "write_d", "tcp d>l", 1, 23, 23.5);
	uint32_t other = pathed_request(&pathed, REQUEST_SERVED, read, STAMP_BEGIN, write, 20);
	pathed_end(&pathed);
	pathed.requests[2].of = other;
	pathed.requests[other].of = 2;
	pathed_expect(&pathed, 2, " io disk/ 1.5 waking / 1 io hear/ 1 io read_d/ 0.5");
	pathed_expect(&pathed, 1,
		      " queued read_a/slow 4.5 downstream ask/ 4 lock table/n5 3 unexplained / 1"
		      " io read_b/ 0.5 io write_b/ 0.5 queued read_a/read_a 0.5"
		      " queued read_a/write_a 0.5");
	pathed_free(&pathed);
}
END_TEST

/* Thread 3 serves g and h. It gives g's work to thread 4, which wakes it by a pipe at 7.5. */
START_TEST(a_loop_waits_for_the_thread_that_wakes_it)
{
	struct pathed pathed;
	pathed_begin(&pathed);
	struct sketch *sketch = &pathed.sketch;
	sketch_thread(sketch, "loop", 0, 40);
	sketch_thread(sketch, "worker", 0, 40);
	uint32_t read = sketch_io(sketch, 3, "read_g", "tcp l>g", 1, 1, 1.5);
	sketch_op(sketch, KIND_POLL, "poll", 3, 1.5, 3);
	uint32_t read_h = sketch_io(sketch, 3, "read_h", "tcp l>h", 1, 3, 3.2);
	uint32_t poll = sketch_op(sketch, KIND_POLL, "poll", 3, 3.2, 8);
	sketch_io(sketch, 3, "read_p", "pipe:7", 1, 8, 8.25);
	uint32_t write = sketch_io(sketch, 3, "write_g", "tcp l>g", 1, 8.25, 9);
	uint32_t write_h = sketch_io(sketch, 3, "write_h", "tcp l>h", 1, 9, 9.5);
	sketch_sleep(sketch, 4, "nap", 1.5, 7.5);
	uint32_t wake = sketch_io(sketch, 4, "write_p", "pipe:7", 1, 7.5, 7.7);
	pathed.of_op[poll] = (struct waker){ WAKER_OP_BEGIN, wake };
	uint32_t request = pathed_request(&pathed, REQUEST_SERVED, read, STAMP_BEGIN, write, 1);
	pathed_request(&pathed, REQUEST_SERVED, read_h, STAMP_BEGIN, write_h, 3);
	pathed_end(&pathed);
	pathed_expect(&pathed, request,
		      " io nap/ 6 io write_g/ 0.75 waking / 0.5 io read_g/ 0.5"
		      " queued /read_p 0.25");
	pathed_free(&pathed);
}
END_TEST

/* The other end is no request: the thread that wrote the answer is known by its bytes. */
START_TEST(an_answer_is_followed_to_its_write)
{
	struct pathed pathed;
	uint32_t write_of[SKETCH_MAX];
	pathed_begin(&pathed);
	struct sketch *sketch = &pathed.sketch;
	sketch_thread(sketch, "store", 0, 40);
	sketch_sleep(sketch, 3, "disk", 19, 23);
	uint32_t write = sketch_io(sketch, 3, "write_d", "pipe:7", 1, 23, 23.5);
	pathed_end(&pathed);
	memset(write_of, 0xff, sizeof(write_of));
	for (uint32_t op = 0; op < sketch->rec.op_count; op++)
		if (strcmp(sketch->strings[sketch->rec.ops[op].name], "hear") == 0)
			write_of[op] = write;
	pathed.wakers.write_of = write_of;
	pathed_expect(&pathed, 2, " io disk/ 3 io hear/ 1");
	pathed_free(&pathed);
}
END_TEST

/* Two threads that are said to have let each other go, at the same time. */
START_TEST(circles_come_to_an_end)
{
	struct pathed pathed;
	pathed_begin(&pathed);
	struct sketch *sketch = &pathed.sketch;
	sketch_thread(sketch, "one", 0, 40);
	sketch_thread(sketch, "two", 0, 40);
	uint32_t op = sketch_op(sketch, KIND_OP_USER, "mark", 3, 1, 9);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t wait = sketch_wait(sketch, 3 + i, REASON_COND, "c", 1, 9, NO_INDEX);
		uint32_t link = sketch_link(sketch, 4 - i, LINK_WAKE, "c", 9, 1, NO_INDEX);
		pathed.of_wait[wait] = (struct waker){ WAKER_LINK, link };
	}
	uint32_t request = pathed_request(&pathed, REQUEST_MARKED, op, STAMP_BEGIN, op, 1);
	pathed_end(&pathed);
	pathed_expect(&pathed, request, " wait / 8");
	pathed_free(&pathed);
}
END_TEST

SUITE()
{
	TEST(a_loop_waits_for_the_thread_that_wakes_it);
	TEST(a_path_goes_through_the_threads_that_work_for_it);
	TEST(a_question_is_followed_to_who_answers);
	TEST(a_request_waits_for_others_a_lock_and_one_that_it_asks);
	TEST(an_answer_is_followed_to_its_write);
	TEST(an_idle_thread_wakes_up);
	TEST(circles_come_to_an_end);
	TEST(one_without_an_answer_has_what_was_done);
}
