/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a thread's CPU time is read off another thread's samples, or out of order. */
#include "recording/samples.h"

#include <stdlib.h>

#include "dump_text.h"
#include "suite.h"

/* Threads 3, 0, 1 in turn, times forward within runs, runs of a thread in any order. */
static const struct rec_sample mixed[] = {
	{ .thread = 3, .at_ns = 100, .cpu_ns = 10 }, { .thread = 3, .at_ns = 200, .cpu_ns = 60 },
	{ .thread = 0, .at_ns = 50, .cpu_ns = 1 },   { .thread = 3, .at_ns = 20, .cpu_ns = 5 },
	{ .thread = 1, .at_ns = 70, .cpu_ns = 9 },   { .thread = 1, .at_ns = 70, .cpu_ns = 8 },
	{ .thread = 0, .at_ns = 60, .cpu_ns = 2 },
};
enum { MIXED = sizeof(mixed) / sizeof(mixed[0]) };

static struct recording make(void)
{
	struct recording recording = { .samples = malloc(sizeof(mixed)),
				       .sample_count = MIXED,
				       .thread_count = 4 };

	memcpy(recording.samples, mixed, sizeof(mixed));
	ck_assert(samples_sort(&recording));
	return recording;
}

START_TEST(they_are_sorted_by_thread_then_time)
{
	static const uint64_t cpu_ns[MIXED] = { 1, 2, 8, 9, 5, 10, 60 };
	struct recording recording = make();

	for (size_t i = 0; i < MIXED; i++)
		ck_assert_uint_eq(recording.samples[i].cpu_ns, cpu_ns[i]);
	free(recording.samples);
}
END_TEST

static const struct {
	uint32_t thread;
	size_t count;
	uint64_t first_ns;
} threads[] = {
	/* 0 */ { 0, 2, 50 },
	/* 1 */ { 1, 2, 70 },
	/* 2 */ { 2, 0, 0 },
	/* 3 */ { 3, 3, 20 },
};

START_TEST(each_thread_has_its_own)
{
	struct recording recording = make();
	size_t count;
	const struct rec_sample *samples =
		samples_of_thread(&recording, threads[_i].thread, &count);

	ck_assert_uint_eq(count, threads[_i].count);
	ck_assert(!samples == (count == 0));
	if (samples)
		ck_assert_uint_eq(samples[0].at_ns, threads[_i].first_ns);
	free(recording.samples);
}
END_TEST

static const struct {
	uint64_t at_ns;
	uint64_t cpu_ns;
} moments[] = {
	/* 0 */ { 0, 5 }, /* before all */
	/* 1 */ { 20, 5 },
	/* 2 */ { 60, 7 }, /* half way */
	/* 3 */ { 100, 10 },
	/* 4 */ { 110, 15 },
	/* 5 */ { 200, 60 },
	/* 6 */ { 900, 60 }, /* after all */
};

START_TEST(cpu_time_is_that_of_the_samples_around)
{
	struct recording recording = make();
	size_t count;
	const struct rec_sample *samples = samples_of_thread(&recording, 3, &count);

	ck_assert_uint_eq(samples_cpu_at(samples, count, moments[_i].at_ns), moments[_i].cpu_ns);
	ck_assert_uint_eq(samples_cpu_at(samples, 0, moments[_i].at_ns), 0);
	free(recording.samples);
}
END_TEST

START_TEST(many_are_sorted)
{
	enum { COUNT = 20000 };
	struct recording recording = { .samples = malloc(COUNT * sizeof(struct rec_sample)),
				       .sample_count = COUNT,
				       .thread_count = 7 };

	for (uint32_t i = 0; i < COUNT; i++)
		recording.samples[i] = (struct rec_sample){ .thread = i / 512 % 7,
							    .at_ns = i ^ 1536,
							    .cpu_ns = i };
	ck_assert(samples_sort(&recording));
	for (size_t i = 1; i < COUNT; i++)
		ck_assert_int_lt(sample_compare(&recording.samples[i - 1], &recording.samples[i]),
				 0);
	free(recording.samples);
}
END_TEST

/* Thread 0 used 1, thread 1 used 1, thread 3 used 55. */
START_TEST(all_that_was_used_is_the_sum_of_the_threads)
{
	struct recording recording = make();

	ck_assert_uint_eq(samples_cpu_ns(&recording), 1 + 1 + 55);
	free(recording.samples);
}
END_TEST

START_TEST(a_text_in_place_of_a_stack_is_outside)
{
	static const char *strings[] = { "", "[outside:request>p95]", "run a.py:3" };
	static struct rec_frame frames[] = { { .offset = REC_FRAME_TEXT + 1 },
					     { .offset = REC_FRAME_TEXT + 2 },
					     { .offset = 4096 } };
	static struct rec_stack stacks[] = { { 0, 0 }, { 0, 1 }, { 1, 1 }, { 2, 1 }, { 0, 2 } };
	struct recording recording = { .strings = strings,
				       .string_count = 3,
				       .frames = frames,
				       .frame_count = 3,
				       .stacks = stacks,
				       .stack_count = 5 };
	struct rec_sample samples[6] = { { .stack = 0 } };
	size_t inside;

	for (uint32_t i = 0; i < 5; i++) {
		samples[i].stack = i;
		ck_assert_int_eq(samples_is_outside(&recording, i), i == 1);
	}
	recording.samples = samples;
	recording.sample_count = 6;
	ck_assert_uint_eq(samples_outside(&recording, &inside), 1);
	ck_assert_uint_eq(inside, 3);
	ck_assert_uint_eq(samples_outside(&recording, NULL), 1);
}
END_TEST

SUITE()
{
	TEST(a_text_in_place_of_a_stack_is_outside);
	TEST(all_that_was_used_is_the_sum_of_the_threads);
	TEST(they_are_sorted_by_thread_then_time);
	LOOP(each_thread_has_its_own, 0, 4);
	LOOP(cpu_time_is_that_of_the_samples_around, 0, 7);
	TEST(many_are_sorted);
}
