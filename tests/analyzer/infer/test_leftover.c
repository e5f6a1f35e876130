/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if CPUs that others keep busy are promised to the program, or its own are taken away. */
#include "infer/leftover.h"
#include "suite.h"

#include <math.h>
#include <stdlib.h>

enum { MS = 1000000, STEPS = 40, STEP_MS = 10, THREADS = 3 };

static struct rec_sample samples[THREADS * (STEPS + 1)];

/* Threads that have used `cpu_ms` of every 10 ms, each where `cpu_of` says. */
static double left_of(uint32_t threads, uint64_t cpu_ms, uint32_t (*cpu_of)(uint32_t, uint32_t),
		      double all)
{
	struct recording rec = { .samples = samples,
				 .thread_count = threads,
				 .end_ns = (uint64_t)STEPS * STEP_MS * MS };

	for (uint32_t t = 0; t < threads; t++)
		for (uint32_t i = 0; i <= STEPS; i++)
			samples[rec.sample_count++] =
				(struct rec_sample){ .thread = t,
						     .at_ns = (uint64_t)i * STEP_MS * MS,
						     .cpu_ns = i * cpu_ms * MS,
						     .cpu_number = cpu_of(t, i) };
	return leftover_cpus(&rec, all);
}

static uint32_t on_one(uint32_t thread, uint32_t step)
{
	(void)thread, (void)step;
	return 1;
}

static uint32_t on_each(uint32_t thread, uint32_t step)
{
	(void)step;
	return thread;
}

/* One of ten steps elsewhere. */
static uint32_t seldom_elsewhere(uint32_t thread, uint32_t step)
{
	return thread == 0 && step % 10 == 3;
}

static uint32_t often_elsewhere(uint32_t thread, uint32_t step)
{
	return thread == 0 && step % 2 == 0;
}

/* All together, but not always at the same place. */
static uint32_t together(uint32_t thread, uint32_t step)
{
	(void)thread;
	return step / 20;
}

static uint32_t far_away(uint32_t thread, uint32_t step)
{
	(void)thread, (void)step;
	return UINT32_MAX;
}

START_TEST(table)
{
	static const struct {
		int row;
		uint32_t threads;
		uint64_t cpu_ms;
		uint32_t (*cpu_of)(uint32_t, uint32_t);
		double all;
		double expected;
	} cases[] = {
		{ 1, 3, 3, on_one, 4, 1 },          { 2, 3, 3, on_each, 4, 3 },
		{ 3, 3, 3, on_each, 2, 2 },         { 4, 2, 5, seldom_elsewhere, 2, 1 },
		{ 5, 2, 5, often_elsewhere, 2, 2 }, { 6, 3, 3, together, 2, 1 },
		{ 7, 3, 0, on_one, 2, 2 }, /* nobody ran */
		{ 8, 3, 3, far_away, 2, 2 },        { 9, 3, 3, on_one, INFINITY, INFINITY },
		{ 10, 0, 0, on_one, 2, 2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double left =
			left_of(cases[i].threads, cases[i].cpu_ms, cases[i].cpu_of, cases[i].all);
		ck_assert_msg(left == cases[i].expected, "row %d: %f", cases[i].row, left);
	}
}
END_TEST

SUITE()
{
	TEST(table);
}
