/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, nobody knows who let others go. */
#include "op.h"

#include "calls.h"
#include "suite.h"
#include "watch.h"

START_TEST(links)
{
	uint64_t op = op_reserve(self);
	json_t *lines, *event;

	link_record(self, LINK_NESTED_CLIENT, op, NULL, 1, 0);
	link_record(self, LINK_WAKE, 0, &stack, 2, UINT32_MAX);
	lines = recording_dump(true);
	event = event_of(lines, "lk", "nested_client");
	ck_assert_uint_eq((uint64_t)number_of(event, "p"), op);
	event = event_of(lines, "lk", "wake");
	ck_assert_uint_eq((uint64_t)number_of(event, "p"), (1ULL << 32) + 1);
	ck_assert_int_eq(number_of(event, "n"), UINT32_MAX);
}
END_TEST

START_TEST(a_wake_is_found_at_its_watch)
{
	struct watch watch = { .address = 0x1230, .ident = 2 };
	uint64_t op = begin(KIND_IO, 500);
	json_t *event;

	wake_announce(self, LINK_WAKE, &watch, 1, 0, 0);
	ck_assert_uint_eq(watch.last_op, op);
	event = event_of(recording_dump(true), "lk", "wake");
	ck_assert_uint_eq((uint64_t)number_of(event, "p"), op);
	ck_assert_int_eq(number_of(event, "a"), 0x1230);
	ck_assert_int_eq(number_of(event, "n"), 1);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(links);
	TEST(a_wake_is_found_at_its_watch);
}
