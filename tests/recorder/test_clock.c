/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, every time in a dump is wrong, or ticks cannot be compared. */
#include "clock.h"

#include <time.h>

#include "recording.h"
#include "suite.h"

START_TEST(ticks_become_nanoseconds)
{
	struct clock_scale scale = { .base = { .ticks = 1000 }, .mult = (uint64_t)1 << 31 };

	ck_assert_uint_eq(clock_to_ns(&scale, 1000), 0);
	ck_assert_uint_eq(clock_to_ns(&scale, 3000), 1000);
	/* Before the base there is nothing. */
	ck_assert_uint_eq(clock_to_ns(&scale, 999), 0);
	/* A month of ticks does not overflow. */
	ck_assert_uint_eq(clock_to_ns(&scale, 1000 + ((uint64_t)1 << 53)), (uint64_t)1 << 52);
}
END_TEST

START_TEST(a_test_may_set_the_clock)
{
	clock_kind = 0;
	clock_test_ticks = 77;
	ck_assert_uint_eq(clock_ticks(), 77);
}
END_TEST

/* The measured rate agrees with CLOCK_MONOTONIC over another stretch of time, to a hundredth. */
START_TEST(the_rate_is_the_kernels)
{
	struct timespec pause = { 0, 50000000 };
	struct clock_scale scale;
	struct clock_pair then;
	uint64_t ns, expected_ns;

	clock_start();
	scale.base = clock_take_pair();
	scale.kind = clock_kind;
	scale.mult = clock_own_rate(CLOCK_APART_NS);
	nanosleep(&pause, NULL);
	then = clock_take_pair();
	ns = clock_to_ns(&scale, then.ticks);
	expected_ns = then.mono_ns - scale.base.mono_ns;
	ck_assert_uint_gt(ns, expected_ns - expected_ns / 100);
	ck_assert_uint_lt(ns, expected_ns + expected_ns / 100);
	ck_assert_uint_eq(clock_own_rate(CLOCK_APART_NS), scale.mult);
}
END_TEST

START_TEST(without_the_counter_a_tick_is_a_nanosecond)
{
	struct clock_pair from;

	clock_start();
	clock_kind = CLOCK_KIND_MONOTONIC;
	from = clock_take_pair();
	ck_assert_uint_eq(clock_measure_rate(&from, clock_kind, CLOCK_APART_NS), (uint64_t)1 << 32);
	ck_assert_uint_ge(clock_ticks(), from.mono_ns);
}
END_TEST

START_TEST(the_three_clocks_are_read_at_one_moment)
{
	struct clock_pair first, second;
	int64_t drift_ns;

	clock_start();
	first = clock_take_pair();
	second = clock_take_pair();
	drift_ns = (int64_t)(second.real_ns - first.real_ns) -
		   (int64_t)(second.mono_ns - first.mono_ns);
	ck_assert_int_lt(drift_ns < 0 ? -drift_ns : drift_ns, 1000000);
	ck_assert_uint_gt(second.ticks, first.ticks);
}
END_TEST

/* A machine's time; a reader of it is kept off the CPU after this one reading. */
static uint64_t made_up_ns;
static int readings, late_reading;

static int read_made_up(clockid_t id, struct timespec *now)
{
	uint64_t at_ns = made_up_ns + (id == CLOCK_REALTIME ? 5000000000 : 0);

	made_up_ns += ++readings == late_reading ? 1000000 : 20;
	*now = (struct timespec){ (time_t)(at_ns / 1000000000), (long)(at_ns % 1000000000) };
	return 0;
}

START_TEST(who_is_kept_off_the_cpu_reads_again)
{
	int (*kernels)(clockid_t, struct timespec *) = recorder_kernel_clock;

	clock_kind = CLOCK_KIND_MONOTONIC;
	recorder_kernel_clock = read_made_up;
	made_up_ns = 1000000000;
	readings = 0;
	late_reading = _i + 1;
	struct clock_pair pair = clock_take_pair();
	recorder_kernel_clock = kernels;
	ck_assert_uint_ge(readings, late_reading);
	ck_assert_uint_le(pair.mono_ns - pair.ticks + 100, 200);
	ck_assert_uint_le(pair.real_ns - 5000000000 - pair.mono_ns + 100, 200);
}
END_TEST

START_TEST(a_length_in_ticks_is_as_long)
{
	uint64_t ticks, rate;

	clock_start();
	ticks = clock_ticks_of(1000000);
	rate = clock_own_rate(CLOCK_APART_NS);
	ck_assert_uint_eq(clock_ticks_of(0), 0);
	/* Good to a thousandth. */
	ck_assert_uint_ge((ticks * rate) >> 32, 999000);
	ck_assert_uint_le((ticks * rate) >> 32, 1001000);
}
END_TEST

SUITE()
{
	TEST(ticks_become_nanoseconds);
	TEST(a_test_may_set_the_clock);
	TEST(the_rate_is_the_kernels);
	TEST(without_the_counter_a_tick_is_a_nanosecond);
	TEST(the_three_clocks_are_read_at_one_moment);
	tcase_add_loop_test(suite_group, who_is_kept_off_the_cpu_reads_again, 0, 5);
	TEST(a_length_in_ticks_is_as_long);
}
