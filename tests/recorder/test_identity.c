/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a dump does not say whose it is, and cannot be joined with its parent's. */
#include "identity.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>

#include "recording.h"
#include "suite.h"

START_TEST(the_header_says_who_it_is)
{
	const json_t *process;
	char exe[512] = "", host[65] = "", client[64];
	ssize_t got = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	cpu_set_t cpus;
	struct timespec tick;
	struct stat network;

	ck_assert_int_gt(got, 0);
	gethostname(host, sizeof(host) - 1);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	recording_begin();
	process = json_object_get(json_array_get(recording_dump(true), 0), "process");
	ck_assert_int_eq(number_of(process, "pid"), getpid());
	ck_assert_int_eq(number_of(process, "ppid"), getppid());
	ck_assert_int_eq(number_of(process, "cpus"), CPU_COUNT(&cpus));
	if (access("/sys/devices/system/cpu/cpu0/topology", F_OK) == 0)
		ck_assert_int_ge(number_of(process, "cache_cpus"), 1);
	clock_getres(CLOCK_REALTIME_COARSE, &tick);
	ck_assert_int_eq(number_of(process, "tick_ns"), tick.tv_nsec);
	ck_assert_str_eq(word_of(process, "exe"), exe);
	ck_assert_str_eq(word_of(process, "host"), host);
	ck_assert_uint_eq(strlen(word_of(process, "boot_id")), 36);
	ck_assert_int_eq(stat("/proc/self/ns/net", &network), 0);
	ck_assert_int_eq(number_of(process, "network_namespace"), (int64_t)network.st_ino);
	ck_assert_uint_ge(json_array_size(json_object_get(process, "argv")), 1);
	snprintf(client, sizeof(client), "%d:%lu", getpid(), (unsigned long)identity_start_ticks());
	ck_assert_str_eq(word_of(process, "client"), client);
	recording_end();
}
END_TEST

START_TEST(the_start_is_field_22_whatever_the_name)
{
	uint64_t before = identity_start_ticks();
	struct timespec now;

	ck_assert_uint_gt(before, 0);
	prctl(PR_SET_NAME, "a) 1 2 (b) 3");
	ck_assert_uint_eq(identity_start_ticks(), before);
	clock_gettime(CLOCK_BOOTTIME, &now);
	ck_assert_uint_le(before, (uint64_t)now.tv_sec * 100 + (uint64_t)now.tv_nsec / 10000000);
}
END_TEST

static const struct {
	const char *text;
	int64_t offset_ns;
} offsets[] = {
	/* 0 */ { "", 0 },
	/* 1 */ { "monotonic           0         0\nboottime            0         0\n", 0 },
	/* 2 */
	{ "monotonic       12345        67\nboottime            9         0\n", 12345000000067 },
	/* 3 */
	{ "monotonic          -2 500000000\nboottime           -2         0\n", -1500000000 },
	/* 4 */ { "boottime            9         0\n", 0 },
	/* 5 */ { "monotonic", 0 },
};

START_TEST(a_time_name_space_says_its_offset)
{
	ck_assert_int_eq(identity_mono_offset_ns(offsets[_i].text), offsets[_i].offset_ns);
}
END_TEST

START_TEST(names_of_calls_come_first)
{
	uint32_t bytes;

	recording_begin();
	ck_assert_str_eq(strings_get(recorder_arena, CALL_READ, &bytes), "read");
	ck_assert_str_eq(strings_get(recorder_arena, CALL_LOCK, &bytes), "pthread_mutex_lock");
	ck_assert_str_eq(strings_get(recorder_arena, recorder_arena->thread_class, &bytes),
			 "thread");
	recording_end();
}
END_TEST

static const struct {
	const char *text;
	uint32_t count;
} lists[] = {
	/* 0 */ { "0\n", 1 },
	/* 1 */ { "0-3\n", 4 },
	/* 2 */ { "0,8\n", 2 },
	/* 3 */ { "0-7,64-71", 16 },
	/* 4 */ { "", 0 },
	/* 5: no list */ { "x", 0 },
	/* 6: ends before it begins */ { "3-1", 0 },
};

START_TEST(lists_of_cpus_are_counted)
{
	ck_assert_uint_eq(identity_list_count(lists[_i].text), lists[_i].count);
}
END_TEST

SUITE()
{
	TEST(the_header_says_who_it_is);
	TEST(the_start_is_field_22_whatever_the_name);
	EACH(a_time_name_space_says_its_offset, offsets);
	TEST(names_of_calls_come_first);
	EACH(lists_of_cpus_are_counted, lists);
}
