/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a condition is a lock with keys that is none, or with too few or too many of them. */
#include "infer/keys.h"

#include "keyed.h"
#include "monitored.h"
#include "suite.h"

struct made {
	struct monitored monitored;
	struct meetings meetings;
	struct turns turns;
	struct keys keys;
};

static void made_infer(struct made *made)
{
	struct monitored *monitored = &made->monitored;

	monitored_build(monitored);
	const struct recording *rec = &monitored->sketch.rec;
	meetings_build(&made->meetings, rec, &monitored->timeline, &monitored->monitors);
	turns_build(&made->turns, rec, &monitored->timeline, &monitored->releases,
		    &monitored->monitors);
	keys_build(&made->keys, rec, &monitored->monitors, &made->turns, &made->meetings);
}

static void made_build(struct made *made, struct keyed keyed)
{
	keyed_sketch(&keyed, &made->monitored.sketch);
	made_infer(made);
}

static void made_free(struct made *made)
{
	keys_free(&made->keys);
	turns_free(&made->turns);
	meetings_free(&made->meetings);
	monitored_free(&made->monitored);
}

static const uint32_t key_counts[] = { 3, 4, 6 };

START_TEST(as_many_keys_as_make_them_wait)
{
	struct made made;

	made_build(&made, (struct keyed){ .keys = key_counts[_i], .use = 1, .rest = 1 });
	ck_assert_uint_ge(made.keys.count + 1, key_counts[_i]);
	ck_assert_uint_le(made.keys.count, key_counts[_i] + 1);
	made_free(&made);
}
END_TEST

/* A thread gives back the key that it got. One that waits gets that of the thread it waited for. */
START_TEST(a_key_is_of_one_thread)
{
	struct made made;
	uint32_t given = 0;

	made_build(&made, (struct keyed){ .keys = 4, .use = 1, .rest = 1 });
	const struct monitors *monitors = &made.monitored.monitors;
	for (uint32_t thread = 0; thread <= KEYED_THREADS; thread++) {
		uint32_t key = NO_INDEX;

		for (uint32_t i = 0; i < monitors->section_count; i++) {
			if (monitors->sections[i].thread != thread)
				continue;
			if (made.keys.entered[i] != NO_INDEX)
				key = made.keys.entered[i];
			if (made.keys.left[i] != NO_INDEX)
				ck_assert_uint_eq(made.keys.left[i], key);
			given += made.keys.left[i] != NO_INDEX;
		}
	}
	ck_assert_uint_eq(given, KEYED_THREADS * KEYED_STAYS);
	const struct recording *rec = &made.monitored.sketch.rec;
	for (uint32_t i = 0; i < rec->wait_count; i++) {
		uint32_t link = monitors->waking_link[i], section = monitors->section_of_wait[i];

		if (link == NO_INDEX || section == NO_INDEX ||
		    monitors->sections[section].last_wait != i)
			continue;
		ck_assert_uint_eq(made.keys.entered[section],
				  made.keys.left[monitors->signals[link].section]);
	}
	made_free(&made);
}
END_TEST

/* Its keys go round: each thread needs what its neighbour had before, and waits for that. */
START_TEST(threads_in_step_have_no_keys)
{
	struct made made;

	made_build(&made, (struct keyed){
				  .keys = KEYED_THREADS, .use = 1, .rest = 0, .is_in_turn = true });
	ck_assert_uint_eq(made.keys.count, 0);
	ck_assert_ptr_null(made.keys.entered);
	made_free(&made);
}
END_TEST

static void comes(struct sketch *sketch, uint32_t thread, double at_ms)
{
	sketch_hold(sketch, thread, "M", ENTERS_AT, at_ms, at_ms + keyed_hold_ms);
}

static void waits(struct sketch *sketch, uint32_t thread, double at_ms, double to_ms)
{
	comes(sketch, thread, at_ms);
	sketch_wait(sketch, thread, REASON_COND, "is free", at_ms + keyed_hold_ms, to_ms, NO_INDEX);
	comes(sketch, thread, to_ms);
}

static void leaves(struct sketch *sketch, uint32_t thread, double at_ms, uint32_t waiting)
{
	sketch_hold(sketch, thread, "M", LEAVES_AT, at_ms, at_ms + keyed_hold_ms);
	sketch->rec
		.links[sketch_link(sketch, thread, LINK_WAKE, "is free", at_ms + keyed_hold_ms / 2,
				   waiting, NO_INDEX)]
		.all = true;
}

/* Two threads do this in a round of 10 ms. Now and then the one does it once more alone, so that
 * they are in no step. A third one has another key in every other round. */
static const struct {
	double comes_ms;    /* of the second one */
	bool comes_twice;   /* and leaves twice */
	bool goes_on_twice; /* another thread waits for the same */
	uint32_t keys;
} rounds[] = {
	{ 0.5, false, false, 2 },
	{ 2, false, false, 0 }, /* when the first one waits already */
	{ 0.5, true, false, 0 },
	{ 0.5, false, true, 0 },
};

START_TEST(who_ends_a_wait_has_the_key_that_one_waits_for)
{
	struct made made;
	struct sketch *sketch = &made.monitored.sketch;

	sketch_begin(sketch);
	for (uint32_t i = 0; i < 4; i++)
		sketch_thread(sketch, "user", 0, 300);
	for (uint32_t i = 0; i < 20; i++) {
		double at = 10 * i + 1;

		if (i % 2)
			comes(sketch, 3, at + 0.2);
		comes(sketch, 1, at + rounds[_i].comes_ms);
		if (rounds[_i].comes_twice)
			comes(sketch, 1, at + rounds[_i].comes_ms + 0.1);
		waits(sketch, 0, at + 1, at + 3 + keyed_wake_ms);
		if (rounds[_i].goes_on_twice)
			waits(sketch, 2, at + 1.5, at + 3 + keyed_wake_ms);
		leaves(sketch, 1, at + 3, 1 + rounds[_i].goes_on_twice);
		if (rounds[_i].comes_twice)
			leaves(sketch, 1, at + 3.5, 0);
		leaves(sketch, 0, at + 4, 0);
		if (rounds[_i].goes_on_twice)
			leaves(sketch, 2, at + 4.5, 0);
		if (i % 2)
			leaves(sketch, 3, at + 5, 0);
		if (i % 3 == 0) {
			comes(sketch, i % 2, at + 6);
			leaves(sketch, i % 2, at + 7, 0);
		}
	}
	made_infer(&made);
	ck_assert_uint_eq(made.keys.count, rounds[_i].keys);
	made_free(&made);
}
END_TEST

SUITE()
{
	EACH(as_many_keys_as_make_them_wait, key_counts);
	TEST(a_key_is_of_one_thread);
	TEST(threads_in_step_have_no_keys);
	EACH(who_ends_a_wait_has_the_key_that_one_waits_for, rounds);
}
