/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if the CPU time of a thread's start is left out, counted twice, or another program's. */
#include "recording/startup.h"
#include "suite.h"

#include <stdlib.h>

enum { MS = 1000000, EPOCH_MS = 5000 };

static struct rec_process processes[] = {
	/* as old as the recording; it goes on by exec */
	{ .pid = 7, .start_unix_ns = (uint64_t)EPOCH_MS * MS },
	{ .pid = 7, .start_unix_ns = (uint64_t)EPOCH_MS * MS },
	/* was there before, and so were its threads but the last one */
	{ .pid = 8, .start_unix_ns = (uint64_t)(EPOCH_MS - 1000) * MS },
	{ .pid = 9, .start_unix_ns = (uint64_t)(EPOCH_MS + 100) * MS },
};

START_TEST(a_start_is_what_was_used_before_the_first_sample)
{
	static const struct {
		struct rec_thread thread;
		uint64_t startup_ms;
	} rows[] = {
		{ { .process = 0, .tid = 7 }, 3 },
		{ { .process = 1, .tid = 7 }, 4 }, /* 10, of which 6 before the exec */
		{ { .process = 2, .tid = 8 }, 0 },
		{ { .process = 3, .tid = 9 }, 2 },
		{ { .process = 3, .tid = 10 }, 0 },          /* no samples */
		{ { .process = 3, .tid = 11, .op = 1 }, 0 }, /* begun before this window */
	};
	static struct rec_sample samples[] = {
		{ .thread = 0, .at_ns = 1 * MS, .cpu_ns = 3 * MS },
		{ .thread = 0, .at_ns = 9 * MS, .cpu_ns = 6 * MS },
		{ .thread = 1, .at_ns = 20 * MS, .cpu_ns = 10 * MS },
		{ .thread = 1, .at_ns = 30 * MS, .cpu_ns = 15 * MS },
		{ .thread = 2, .at_ns = 2 * MS, .cpu_ns = 900 * MS },
		{ .thread = 3, .at_ns = 110 * MS, .cpu_ns = 2 * MS },
		{ .thread = 5, .at_ns = 110 * MS, .cpu_ns = 700 * MS },
	};
	struct rec_op_extra extras[] = { { .cut = false }, { .cut = true } };
	struct rec_thread threads[6];
	const struct recording rec = { .threads = threads,
				       .thread_count = 6,
				       .extras = extras,
				       .samples = samples,
				       .sample_count = sizeof(samples) / sizeof(samples[0]),
				       .processes = processes,
				       .process_count = 4,
				       .epoch_unix_ns = (uint64_t)EPOCH_MS * MS };

	for (size_t i = 0; i < 6; i++)
		threads[i] = rows[i].thread;
	uint64_t *startup_ns = startup_find(&rec);
	for (size_t i = 0; i < 6; i++)
		ck_assert_msg(startup_ns[i] == rows[i].startup_ms * MS, "row %zu: %llu", i,
			      (unsigned long long)startup_ns[i]);
	free(startup_ns);
}
END_TEST

/* The kernel goes on counting where a program goes on by exec. */
START_TEST(the_queues_of_the_program_before_are_not_the_next_ones)
{
	static struct rec_thread threads[] = { { .process = 0, .tid = 7 },
					       { .process = 1, .tid = 7 },
					       { .process = 1, .tid = 7 },
					       { .process = 3, .tid = 9 } };
	static struct rec_sample samples[] = {
		{ .thread = 0, .at_ns = 1 * MS, .queued_ns = 2 * MS },
		/* as of late: not known again */
		{ .thread = 0, .at_ns = 9 * MS },
		{ .thread = 1, .at_ns = 20 * MS },
		{ .thread = 2, .at_ns = 30 * MS, .queued_ns = 5 * MS },
		{ .thread = 3, .at_ns = 110 * MS, .queued_ns = 3 * MS },
	};
	static const uint64_t before_ms[] = { 0, 2, 2, 0 };
	const struct recording rec = { .threads = threads,
				       .thread_count = 4,
				       .samples = samples,
				       .sample_count = sizeof(samples) / sizeof(samples[0]),
				       .processes = processes,
				       .process_count = 4,
				       .epoch_unix_ns = (uint64_t)EPOCH_MS * MS };
	uint64_t *before_ns = startup_queued_before(&rec);

	for (size_t i = 0; i < 4; i++)
		ck_assert_msg(before_ns[i] == before_ms[i] * MS, "row %zu: %llu", i,
			      (unsigned long long)before_ns[i]);
	free(before_ns);
}
END_TEST

/* A fork that goes on by exec at once did nothing: its start is part of the next image's. */
START_TEST(what_recording_took_to_begin_is_a_part)
{
	static struct rec_op ops[] = { { .start_ns = 1 * MS },
				       { .start_ns = 3 * MS },
				       { .start_ns = 15 * MS },
				       { .start_ns = 2 * MS },
				       { .start_ns = 4 * MS } };
	static struct rec_op_extra extras[5];
	static struct rec_process images[] = {
		{ .op = 1, .pid = 7, .client = 1, .own_start_ns = 2 * MS },
		{ .op = 0, .pid = 7, .client = 1, .own_start_ns = 1 * MS },
		{ .op = 2, .pid = 7, .client = 1, .own_start_ns = 4 * MS },
		/* more than its start was */
		{ .op = 3, .pid = 8, .client = 2, .own_start_ns = 9 * MS },
		{ .op = 4, .pid = 9, .own_start_ns = 1 * MS },
	};
	static struct rec_thread threads[] = { { .process = 0, .tid = 7, .op = NO_INDEX },
					       { .process = 0, .tid = 70, .op = NO_INDEX },
					       { .process = 2, .tid = 7, .op = NO_INDEX },
					       { .process = 3, .tid = 8, .op = NO_INDEX },
					       { .process = 4, .tid = 9, .op = NO_INDEX } };
	static struct rec_sample samples[] = {
		{ .thread = 0, .at_ns = 4 * MS, .cpu_ns = 6 * MS },
		{ .thread = 1, .at_ns = 5 * MS, .cpu_ns = 1 * MS },
		{ .thread = 2, .at_ns = 20 * MS, .cpu_ns = 13 * MS },
		{ .thread = 3, .at_ns = 20 * MS, .cpu_ns = 5 * MS },
		{ .thread = 4, .at_ns = 20 * MS, .cpu_ns = 5 * MS },
	};
	static const uint64_t own_ms[] = { 3, 0, 4, 5, 1 };
	const struct recording rec = { .ops = ops,
				       .op_count = 5,
				       .extras = extras,
				       .threads = threads,
				       .thread_count = 5,
				       .samples = samples,
				       .sample_count = 5,
				       .processes = images,
				       .process_count = 5 };
	uint64_t *startup_ns = startup_find(&rec);
	uint64_t *own_ns = startup_of_recorder(&rec, startup_ns);

	for (size_t i = 0; i < 5; i++)
		ck_assert_msg(own_ns[i] == own_ms[i] * MS, "row %zu: %llu", i,
			      (unsigned long long)own_ns[i]);
	free(own_ns);
	free(startup_ns);
}
END_TEST

SUITE()
{
	TEST(what_recording_took_to_begin_is_a_part);
	TEST(the_queues_of_the_program_before_are_not_the_next_ones);
	TEST(a_start_is_what_was_used_before_the_first_sample);
}
