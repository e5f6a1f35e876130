/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a wait for a semaphore names somebody whose permit another one got. */
#include "infer/posters.h"

#include "sketch.h"
#include "suite.h"

enum { FIRST_POSTER = 2, SECOND_POSTER = 3 };

static struct sketch sketch;

static void setup(void)
{
	sketch_begin(&sketch);
	sketch_thread(&sketch, "taker", 0, 100);
	sketch_thread(&sketch, "other taker", 0, 100);
	sketch_thread(&sketch, "poster", 0, 100);
	sketch_thread(&sketch, "other poster", 0, 100);
}

static void teardown(void)
{
	sketch_free(&sketch);
}

static uint32_t post(uint32_t thread, double at_ms)
{
	return sketch_link(&sketch, thread, LINK_POST, "S", at_ms, 0, NO_INDEX);
}

static uint32_t take(uint32_t thread, double from_ms, double to_ms)
{
	return sketch_wait(&sketch, thread, REASON_SEM, "S", from_ms, to_ms, NO_INDEX);
}

static uint32_t target_of(uint32_t wait)
{
	return sketch.rec.waits[wait].target;
}

static uint32_t op_of(uint32_t thread)
{
	return sketch.rec.threads[thread].op;
}

/* Both posts come before either wait ends: by time alone the second one would have both. */
START_TEST(of_two_posts_each_lets_one_go)
{
	uint32_t first = take(0, 1, 12), second = take(1, 2, 13);

	post(FIRST_POSTER, 10);
	post(SECOND_POSTER, 11);
	posters_find(&sketch.rec);
	ck_assert_uint_eq(target_of(first), op_of(FIRST_POSTER));
	ck_assert_uint_eq(target_of(second), op_of(SECOND_POSTER));
}
END_TEST

START_TEST(what_was_there_is_nobodys)
{
	uint32_t there = take(0, 1, 1.001), waited = take(0, 2, 20);

	post(FIRST_POSTER, 10);
	posters_find(&sketch.rec);
	ck_assert_uint_eq(target_of(there), NO_INDEX);
	ck_assert_uint_eq(target_of(waited), op_of(FIRST_POSTER));
}
END_TEST

/* A permit that nobody took would be the next one's: what the recorder said stays. */
START_TEST(a_rank_that_cannot_be_is_not_believed)
{
	post(FIRST_POSTER, 1);
	uint32_t wait = take(0, 5, 20);
	sketch.rec.waits[wait].target = op_of(SECOND_POSTER);
	post(SECOND_POSTER, 19);
	posters_find(&sketch.rec);
	ck_assert_uint_eq(target_of(wait), op_of(SECOND_POSTER));
}
END_TEST

START_TEST(who_gave_up_took_nothing)
{
	uint32_t late = take(0, 1, 9), wait = take(1, 2, 20);

	sketch.rec.waits[late].timed_out = true;
	post(FIRST_POSTER, 15);
	posters_find(&sketch.rec);
	ck_assert_uint_eq(target_of(late), NO_INDEX);
	ck_assert_uint_eq(target_of(wait), op_of(FIRST_POSTER));
}
END_TEST

/* The post was another process's, at another address there. */
START_TEST(processes_that_share_it_count_together)
{
	static struct rec_process processes[2];
	uint32_t wait = take(0, 1, 20), link = post(FIRST_POSTER, 15);

	sketch.rec.processes = processes;
	sketch.rec.process_count = 2;
	sketch.rec.threads[FIRST_POSTER].process = 1;
	posters_find(&sketch.rec);
	ck_assert_uint_eq(target_of(wait), NO_INDEX);
	sketch.rec.waits[wait].address |= SHARED_ADDRESS;
	sketch.rec.links[link].address |= SHARED_ADDRESS;
	posters_find(&sketch.rec);
	ck_assert_uint_eq(target_of(wait), op_of(FIRST_POSTER));
}
END_TEST

START_TEST(the_post_that_ended_a_wait)
{
	uint32_t first = take(0, 1, 12), second = take(0, 20, 32), own = take(2, 40, 41);
	post(FIRST_POSTER, 10);
	uint32_t last = post(FIRST_POSTER, 11);
	uint32_t only = post(SECOND_POSTER, 30);
	post(FIRST_POSTER, 50);
	sketch.rec.waits[first].target = op_of(FIRST_POSTER);
	sketch.rec.waits[second].target = op_of(SECOND_POSTER);
	sketch.rec.waits[own].target = op_of(FIRST_POSTER);
	struct poster *posters = posters_of(&sketch.rec);
	ck_assert_uint_eq(posters[first].link, last);
	ck_assert_uint_eq(posters[first].before, 1);
	ck_assert(!posters[first].is_last);
	ck_assert_uint_eq(posters[second].link, only);
	ck_assert_uint_eq(posters[second].before, 0);
	ck_assert(posters[second].is_last);
	ck_assert_uint_eq(posters[own].link, NO_INDEX);
	free(posters);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(of_two_posts_each_lets_one_go);
	TEST(what_was_there_is_nobodys);
	TEST(a_rank_that_cannot_be_is_not_believed);
	TEST(who_gave_up_took_nothing);
	TEST(processes_that_share_it_count_together);
	TEST(the_post_that_ended_a_wait);
}
