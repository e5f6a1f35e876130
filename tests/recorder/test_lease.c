/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a program goes on recording when whoever had it record is dead, or forgets what it
 * was set to before. */
#include "lease.h"

#include "budget.h"
#include "recording.h"
#include "settings.h"
#include "suite.h"

#define SECOND_NS UINT64_C(1000000000)

static void setup(void)
{
	setenv("WCPROF_ENABLE", "0", 1);
	recording_begin();
}

static void teardown(void)
{
	recording_end();
}

static void set(const char *key, const char *value)
{
	const struct setting_value one = { key, strlen(key), value, strlen(value) };
	char bytes[100];
	struct text wrong = { .bytes = bytes, .size = sizeof(bytes) };

	ck_assert(settings_change(&one, 1, &wrong));
}

/* As of the clock that the setting read a moment ago. */
static uint64_t after_s(uint64_t seconds)
{
	return clock_mono_ns() + seconds * SECOND_NS;
}

START_TEST(without_a_lease_recording_stays_on)
{
	ck_assert_int_eq(switch_enable(), 0);
	ck_assert_int_eq(lease_tick(after_s(1000000)), -1);
	ck_assert(gate_is_on());
}
END_TEST

START_TEST(it_ends_and_recording_with_it)
{
	ck_assert_int_eq(switch_enable(), 0);
	lease_set(10, 5 * SECOND_NS);
	ck_assert_int_eq(lease_tick(5 * SECOND_NS), 10001);
	ck_assert_int_eq(lease_tick(15 * SECOND_NS - 1), 1);
	ck_assert(gate_is_on());
	ck_assert_int_eq(lease_tick(15 * SECOND_NS), -1);
	ck_assert(!gate_is_on());
	/* And once: who turns it on now has no lease. */
	ck_assert_int_eq(switch_enable(), 0);
	ck_assert_int_eq(lease_tick(100 * SECOND_NS), -1);
	ck_assert(gate_is_on());
}
END_TEST

START_TEST(renewed_it_lasts_longer)
{
	ck_assert_int_eq(switch_enable(), 0);
	lease_set(10, 0);
	for (uint64_t s = 5; s < 100; s += 5) {
		ck_assert_int_gt(lease_tick(s * SECOND_NS), 0);
		lease_set(10, s * SECOND_NS);
	}
	ck_assert(gate_is_on());
	(void)lease_tick(105 * SECOND_NS);
	ck_assert(!gate_is_on());
}
END_TEST

START_TEST(a_budget_ends_with_it)
{
	set("budget", "1%");
	ck_assert(budget_begin());
	lease_set(10, 0);
	(void)lease_tick(10 * SECOND_NS);
	ck_assert(!budget_is_running());
	ck_assert_int_eq(budget_tick(20 * SECOND_NS, false), -1);
	ck_assert(!gate_is_on());
}
END_TEST

START_TEST(settings_are_as_before)
{
	set("holds", "none");
	set("budget", "7%");
	set("lease_s", "10");
	set("budget", "1%");
	set("holds", "all");
	set("lease_s", "20");
	ck_assert_int_eq(lease_tick(after_s(15)) > 0, 1);
	ck_assert_uint_eq(recorder_options.budget, 10000);
	ck_assert_int_eq(lease_tick(after_s(20)), -1);
	ck_assert_uint_eq(recorder_options.budget, 70000);
	ck_assert_uint_eq(recorder_options.holds, 2);
	ck_assert_uint_eq(recorder_options.lease_s, 0);
}
END_TEST

START_TEST(given_back_early_it_leaves_the_same)
{
	set("lease_s", "10");
	set("budget", "1%");
	lease_give_up();
	ck_assert_uint_eq(recorder_options.budget, 0);
	ck_assert_int_eq(lease_tick(after_s(100)), -1);
}
END_TEST

START_TEST(a_lease_of_nothing_lets_recording_go_on)
{
	ck_assert_int_eq(switch_enable(), 0);
	set("lease_s", "10");
	set("budget", "0");
	set("lease_s", "0");
	ck_assert_int_eq(lease_tick(after_s(100)), -1);
	ck_assert(gate_is_on());
}
END_TEST

START_TEST(without_its_thread_recording_is_off)
{
	ck_assert_int_eq(switch_enable(), 0);
	lease_leave();
	ck_assert(gate_is_on());
	lease_set(1000, 0);
	lease_leave();
	ck_assert(!gate_is_on());
}
END_TEST

START_TEST(status_says_how_long)
{
	char bytes[100];
	struct text text = { .bytes = bytes, .size = sizeof(bytes) };

	lease_put_status(&text, 0);
	ck_assert_uint_eq(text.used, 0);
	lease_set(3, SECOND_NS);
	lease_put_status(&text, 2 * SECOND_NS);
	lease_put_status(&text, 5 * SECOND_NS);
	(void)text_end(&text);
	ck_assert_str_eq(bytes, ",\"lease_left_ms\":2000,\"lease_left_ms\":0");
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(without_a_lease_recording_stays_on);
	TEST(it_ends_and_recording_with_it);
	TEST(renewed_it_lasts_longer);
	TEST(a_budget_ends_with_it);
	TEST(settings_are_as_before);
	TEST(given_back_early_it_leaves_the_same);
	TEST(a_lease_of_nothing_lets_recording_go_on);
	TEST(without_its_thread_recording_is_off);
	TEST(status_says_how_long);
}
