/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if permits of one semaphore are those of another that was made in its place. */
#include "infer/lives.h"

#include "sketch.h"
#include "suite.h"

static struct sketch sketch;

static uint32_t take(uint32_t thread, double from_ms, double to_ms)
{
	return sketch_wait(&sketch, thread, REASON_SEM, "S", from_ms, to_ms, NO_INDEX);
}

static uint64_t address_of(uint32_t wait)
{
	return sketch.rec.waits[wait].address;
}

static uint32_t link(enum link_kind kind, double at_ms)
{
	return sketch_link(&sketch, 0, kind, "S", at_ms, 0, NO_INDEX);
}

static void setup(void)
{
	sketch_begin(&sketch);
	sketch_thread(&sketch, "one", 0, 100);
	sketch_thread(&sketch, "other", 0, 100);
}

static void teardown(void)
{
	sketch_free(&sketch);
}

START_TEST(each_making_is_another_semaphore)
{
	uint32_t before = take(0, 1, 2);
	uint32_t made = link(LINK_INIT, 10), first = take(1, 11, 12), posted = link(LINK_POST, 13);
	uint32_t made_again = link(LINK_INIT, 20), second = take(0, 21, 22);
	uint32_t lock = sketch_wait(&sketch, 1, REASON_MUTEX, "M", 23, 24, NO_INDEX);

	sketch_end(&sketch);
	uint64_t address = address_of(before), of_lock = address_of(lock);
	lives_tell_apart(&sketch.rec);
	ck_assert_uint_eq(address_of(before), address);
	ck_assert_uint_ne(address_of(first), address);
	ck_assert_uint_ne(address_of(second), address);
	ck_assert_uint_ne(address_of(second), address_of(first));
	ck_assert_uint_eq(sketch.rec.links[made].address, address_of(first));
	ck_assert_uint_eq(sketch.rec.links[posted].address, address_of(first));
	ck_assert_uint_eq(sketch.rec.links[made_again].address, address_of(second));
	ck_assert_uint_eq(address_of(lock), of_lock);
}
END_TEST

START_TEST(one_that_was_made_before_stays)
{
	uint32_t wait = take(0, 1, 2), posted = link(LINK_POST, 3);

	sketch_end(&sketch);
	uint64_t address = address_of(wait);
	lives_tell_apart(&sketch.rec);
	ck_assert_uint_eq(address_of(wait), address);
	ck_assert_uint_eq(sketch.rec.links[posted].address, address);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(each_making_is_another_semaphore);
	TEST(one_that_was_made_before_stays);
}
