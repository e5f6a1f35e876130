/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, the critical path is shown in threads that the end did not wait for. */
#include "export/critical.h"
#include "sketch.h"
#include "suite.h"

/* "thread from-to state", in milliseconds. */
static void print_path(char *to, struct sketch *sketch)
{
	struct walk walk;
	struct critical critical;
	*to = '\0';
	walk_begin_plain(&walk, &sketch->rec, NULL);
	walk.wakers->of_wait = memory_new(sketch->rec.wait_count, sizeof(*walk.wakers->of_wait));
	walk.wakers->of_op = memory_new(sketch->rec.op_count, sizeof(*walk.wakers->of_op));
	for (size_t i = 0; i < sketch->rec.wait_count; i++)
		if (sketch->rec.waits[i].target != NO_INDEX)
			walk.wakers->of_wait[i] =
				(struct waker){ WAKER_OP_END, sketch->rec.waits[i].target };
	critical_build(&critical, &walk);
	for (size_t i = 0; i < critical.count; i++) {
		const struct walk_slice *slice = &critical.slices[i];
		to += sprintf(to, "%u %u-%u %s\n", slice->thread,
			      (unsigned)(slice->start_ns / SKETCH_MS),
			      (unsigned)(slice->end_ns / SKETCH_MS), walk_state_word(slice->state));
	}
	critical_free(&critical);
	walk_end(&walk);
}

/* Main joins the second one, which waited for the first one's lock. */
START_TEST(it_goes_to_who_ended_each_wait)
{
	struct sketch sketch;
	char text[512];
	sketch_begin(&sketch);
	sketch_join_two(&sketch, "holder", "waiter", 12, 20);
	uint32_t hold = sketch_hold(&sketch, 1, "lock", 1, 1, 10);
	sketch_wait(&sketch, 2, REASON_MUTEX, "lock", 4, 11, hold);
	sketch_hold(&sketch, 2, "lock", 1, 11, 15);
	sketch_end(&sketch);
	print_path(text, &sketch);
	ck_assert_str_eq(text, "1 0-10 unexplained\n2 10-11 blocked\n2 11-20 unexplained\n");
	sketch_free(&sketch);
}
END_TEST

/* Before a thread began, the one that started it was on the path. */
START_TEST(it_goes_to_who_started_a_thread)
{
	struct sketch sketch;
	char text[512];
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 30);
	sketch_thread(&sketch, "late", 7, 30);
	sketch_link(&sketch, 0, LINK_SPAWN, "", 6, 0, sketch.rec.threads[1].op);
	sketch_wait(&sketch, 0, REASON_JOIN, "", 8, 30, sketch.rec.threads[1].op);
	sketch_end(&sketch);
	print_path(text, &sketch);
	ck_assert_str_eq(text, "0 0-6 unexplained\n1 7-30 unexplained\n");
	sketch_free(&sketch);
}
END_TEST

/* A hold that was over before somebody waited let nobody go. */
START_TEST(what_was_over_before_is_no_cause)
{
	struct sketch sketch;
	char text[512];
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "other", 0, 10);
	uint32_t hold = sketch_hold(&sketch, 1, "lock", 1, 1, 2);
	sketch_wait(&sketch, 0, REASON_MUTEX, "lock", 3, 6, hold);
	sketch_end(&sketch);
	print_path(text, &sketch);
	ck_assert_str_eq(text, "0 0-3 unexplained\n0 3-6 blocked\n0 6-10 unexplained\n");
	sketch_free(&sketch);
}
END_TEST

/* Threads that started each other: a dump may say so. */
START_TEST(it_comes_to_an_end)
{
	struct sketch sketch;
	char text[512];
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "other", 0, 10);
	sketch_link(&sketch, 0, LINK_SPAWN, "", 0, 0, sketch.rec.threads[1].op);
	sketch_link(&sketch, 1, LINK_SPAWN, "", 0, 0, sketch.rec.threads[0].op);
	sketch_end(&sketch);
	print_path(text, &sketch);
	ck_assert_str_eq(text, "0 0-10 unexplained\n");
	sketch_free(&sketch);
}
END_TEST

START_TEST(there_may_be_none)
{
	struct sketch sketch;
	char text[512];
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 10);
	print_path(text, &sketch);
	ck_assert_str_eq(text, "");
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(it_goes_to_who_ended_each_wait);
	TEST(it_goes_to_who_started_a_thread);
	TEST(what_was_over_before_is_no_cause);
	TEST(it_comes_to_an_end);
	TEST(there_may_be_none);
}
