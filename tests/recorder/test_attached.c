/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: the status says something else of a process than where its calls lead. Or
 * one that was started with the recorder is made to go past it.
 */
#include "recording.h"

#include "attached.h"
#include "suite.h"
#include "text.h"

static int looks;
static bool leads_here;

static bool point_calls(bool here, struct recorder_slots *slots)
{
	*slots = (struct recorder_slots){ 7, 0, 3 };
	leads_here = here;
	return true;
}

static void look_for_objects(void)
{
	looks++;
}

static const char *status(void)
{
	static char bytes[64];
	struct text text = { .bytes = bytes, .size = sizeof(bytes) };

	attached_put_status(&text);
	(void)text_end(&text);
	return bytes;
}

START_TEST(one_that_was_started_with_it_stays_so)
{
	struct recorder_slots slots;

	recording_begin();
	ck_assert(!attached_may_be());
	ck_assert(!attached_point(true, &slots));
	ck_assert_str_eq(status(), "");
	recording_end();
}
END_TEST

START_TEST(calls_lead_here_and_back)
{
	static struct recorder_host host;
	struct recorder_slots slots;

	host = recording_host;
	host.point_calls = point_calls;
	host.look_for_objects = look_for_objects;
	setenv("WCPROF_CONTROL", "off", 1);
	setenv("WCPROF_ENABLE", "1", 1);
	recorder_start(&host);
	attached_tick();
	ck_assert_int_eq(looks, 0);
	ck_assert(attached_point(true, &slots));
	ck_assert_uint_eq(slots.changed, 7);
	ck_assert(leads_here);
	ck_assert_str_eq(status(), ",\"attached\":true");
	attached_tick();
	ck_assert_int_eq(looks, 1);
	ck_assert_uint_eq(recorder_arena->counters[COUNTER_unredirected_pointers], 3);
	ck_assert_int_lt(attached_wait_ms(1000), 1000);
	ck_assert_int_eq(attached_wait_ms(1), 1);
	ck_assert(attached_point(false, &slots));
	ck_assert(!leads_here);
	ck_assert_str_eq(status(), ",\"attached\":false");
	attached_tick();
	ck_assert_int_eq(looks, 1);
	ck_assert_int_eq(attached_wait_ms(1000), 1000);
}
END_TEST

START_TEST(the_thread_ends_once)
{
	ck_assert(!attached_thread_ends());
	attached_send_thread();
	ck_assert(attached_thread_ends());
	attached_thread_begins();
	ck_assert(!attached_thread_ends());
}
END_TEST

SUITE()
{
	TEST(one_that_was_started_with_it_stays_so);
	TEST(calls_lead_here_and_back);
	TEST(the_thread_ends_once);
}
