/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, the replay gives a thread more or less of a CPU than the kernel did. */
#include "weight.h"

#include <sched.h>
#include <sys/resource.h>

#include "recording.h"
#include "syscalls.h"
#include "suite.h"

START_TEST(as_in_the_kernels_table)
{
	static const struct {
		int nice;
		uint32_t weight;
	} rows[] = {
		/* 1 */ { 0, 1024 },    /* 2 */ { 1, 820 },
		/* 3 */ { 5, 335 },     /* 4 */ { 10, 110 },
		/* 5 */ { 19, 15 },     /* 6 */ { 99, 15 },
		/* 7 */ { -1, 1277 },   /* 8 */ { -5, 3121 },
		/* 9 */ { -20, 88761 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double ratio = (double)weight_of_nice(rows[i].nice) / rows[i].weight;

		ck_assert_msg(ratio > 0.97 && ratio < 1.03, "row %zu: %u", i + 1,
			      weight_of_nice(rows[i].nice));
	}
	ck_assert_uint_eq(weight_of_nice(0), WEIGHT_PLAIN);
}
END_TEST

static void *be_nice(void *unused)
{
	struct sched_param param = { 0 };
	uint32_t tid = (uint32_t)sys_gettid();

	/* The tests may be niced themselves. */
	ck_assert_uint_eq(weight_of_thread(tid), weight_of_nice(getpriority(PRIO_PROCESS, 0)));
	ck_assert_int_eq(setpriority(PRIO_PROCESS, tid, 10), 0);
	ck_assert_uint_eq(weight_of_thread(tid), weight_of_nice(10));
	ck_assert_int_eq(sched_setscheduler(0, SCHED_IDLE, &param), 0);
	ck_assert_uint_eq(weight_of_thread(tid), WEIGHT_IDLE);
	return unused;
}

START_TEST(of_a_thread)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, be_nice, NULL), 0);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(weight_of_thread(1u << 30), 0);
}
END_TEST

SUITE()
{
	TEST(as_in_the_kernels_table);
	TEST(of_a_thread);
}
