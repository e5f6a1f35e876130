/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if what other programs used of the CPUs is taken for the recorded one's, or invented. */
#include "infer/others.h"

#include "base/memory.h"
#include "suite.h"

#include <math.h>
#include <stdlib.h>

enum { MS = 1000000, LOOKS = 11, LOOK_MS = 100 };

static struct rec_idle idles[2 * LOOKS];
static struct rec_sample samples[2];
static struct rec_process processes[] = { { .cpus = 2 }, { .cpus = 1 } };
static struct rec_thread threads[1];
static uint64_t startup_ns[1];
static const double one_cpu[] = { 1 }, two_cpus[] = { 2 };

/* One thread that uses `own` CPUs of two, for a second; others use `used_ms` in each tenth. */
static void record(struct recording *rec, double own, const unsigned used_ms[LOOKS - 1])
{
	uint64_t idle_ns = 5000 * (uint64_t)MS;

	*rec = (struct recording){ .samples = samples,
				   .sample_count = 2,
				   .threads = threads,
				   .thread_count = 1,
				   .processes = processes,
				   .process_count = 2,
				   .idles = idles };
	samples[0] = (struct rec_sample){ 0 };
	samples[1] = (struct rec_sample){ .at_ns = 1000 * (uint64_t)MS,
					  .cpu_ns = (uint64_t)(own * 1000 * MS) };
	for (uint64_t i = 0; i < LOOKS; i++) {
		idles[rec->idle_count++] = (struct rec_idle){ i * LOOK_MS * MS, idle_ns, 0 };
		if (i + 1 < LOOKS)
			idle_ns += 2 * LOOK_MS * MS - used_ms[i] * (uint64_t)MS -
				   (uint64_t)(own * LOOK_MS * MS);
	}
}

START_TEST(others_used_what_is_left)
{
	static const struct {
		int row;
		double own;
		unsigned used_ms[LOOKS - 1];
		double cpus; /* less the error of the clock */
		uint32_t strangers;
	} rows[] = {
		{ 1, 1, { 0 }, 0, 0 },
		{ 2, 1, { 50, 50, 50, 50, 50, 50, 50, 50, 50, 50 }, 0.48, 1 },
		{ 3, 1, { 0, 0, 100, 0, 0, 0, 0, 0, 0, 0 }, 0.08, 1 },
		{ 4, 0, { 200, 200, 200, 200, 200, 200, 200, 200, 200, 200 }, 1.98, 2 },
		/* the clock's error is no use */
		{ 5, 1.5, { 10, 0, 5, 0, 0, 0, 0, 0, 0, 0 }, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct recording rec;
		struct others others;

		record(&rec, rows[i].own, rows[i].used_ms);
		others_find(&others, &rec, startup_ns, two_cpus, 1);
		ck_assert(others.is_known);
		ck_assert_msg(fabs(others.cpus - rows[i].cpus) < 1e-6 &&
				      others.stranger_count == rows[i].strangers,
			      "row %d: %g, %u", rows[i].row, others.cpus, others.stranger_count);
		ck_assert_uint_eq(others.there[0].window_count, LOOKS - 1);
		others_free(&others);
	}
}
END_TEST

/* When it was, less the clock's error of 20 of 180 ms. */
START_TEST(windows_have_what_was_used_in_them)
{
	static const unsigned used_ms[LOOKS - 1] = { 0, 0, 120, 0, 0, 0, 60, 0, 0, 0 };
	struct recording rec;
	struct others others;

	record(&rec, 0.5, used_ms);
	others_find(&others, &rec, startup_ns, two_cpus, 1);
	for (size_t i = 0; i < LOOKS - 1; i++) {
		double expected = used_ms[i] / 100.0 * 160 / 180;

		ck_assert_uint_eq(others.there[0].windows[i].end_ns, (i + 1) * LOOK_MS * MS);
		ck_assert_double_eq_tol(others.there[0].windows[i].cpus, expected, 1e-6);
	}
	others_free(&others);
}
END_TEST

/* The recording began before it. */
START_TEST(before_the_first_look_all_was_as_after_it)
{
	static const unsigned used_ms[LOOKS - 1] = { 100, 100, 100, 100, 100,
						     100, 100, 100, 100, 100 };
	struct rec_op ops[] = { { .start_ns = 9 * MS }, { .start_ns = 3 * MS } };
	struct recording rec;
	struct others others;

	record(&rec, 0.5, used_ms);
	rec.ops = ops;
	rec.op_count = 2;
	for (size_t i = 0; i < rec.idle_count; i++)
		idles[i].at_ns += 50 * MS;
	others_find(&others, &rec, startup_ns, two_cpus, 1);
	ck_assert_uint_eq(others.there[0].start_ns, 3 * MS);
	ck_assert_uint_eq(others.there[0].windows[0].end_ns, (LOOK_MS + 50) * MS);
	others_free(&others);
}
END_TEST

START_TEST(each_stranger_has_what_the_ones_before_left)
{
	ck_assert_double_eq_tol(others_part(1.3, 0), 1, 1e-9);
	ck_assert_double_eq_tol(others_part(1.3, 1), 0.3, 1e-9);
	ck_assert_double_eq_tol(others_part(1.3, 2), 0, 1e-9);
	ck_assert_double_eq_tol(others_part(0.4, 0), 0.4, 1e-9);
	ck_assert_double_eq_tol(others_part(0.4, 1), 0, 1e-9);
}
END_TEST

/* A thread used 40 ms before its first sample: that is its own use from then on. */
START_TEST(starts_are_no_use_of_others)
{
	static const unsigned used_ms[LOOKS - 1] = { 20, 0, 40, 0, 0, 0, 0, 0, 0, 0 };
	struct recording rec;
	struct others others;

	record(&rec, 0, used_ms);
	samples[0] = (struct rec_sample){ .at_ns = 250 * (uint64_t)MS, .cpu_ns = 40 * MS };
	samples[1].cpu_ns = 40 * MS;
	startup_ns[0] = 40 * MS;
	others_find(&others, &rec, startup_ns, two_cpus, 1);
	ck_assert_double_eq_tol(others.cpus, 0, 1e-6);
	others_free(&others);
	startup_ns[0] = 0;
	others_find(&others, &rec, startup_ns, two_cpus, 1);
	ck_assert_double_eq_tol(others.cpus, 0.04, 1e-6);
	others_free(&others);
}
END_TEST

/* A thread of another kernel used none of these CPUs, and one of another container did. */
START_TEST(threads_of_one_kernel_count)
{
	static const unsigned used_ms[LOOKS - 1] = { 0 };
	struct recording rec;
	struct others others;

	record(&rec, 0.5, used_ms);
	processes[1].host = 1;
	threads[0].process = 1;
	others_find(&others, &rec, startup_ns, two_cpus, 1);
	ck_assert_double_eq_tol(others.cpus, 0, 1e-6);
	others_free(&others);
	processes[1].clock = 1;
	others_find(&others, &rec, startup_ns, two_cpus, 1);
	ck_assert_double_eq_tol(others.cpus, 0.48, 1e-6);
	others_free(&others);
}
END_TEST

/* On the first others used a CPU all the time, on the second one half of the only one. */
START_TEST(each_kernel_has_others_of_its_own)
{
	static const unsigned used_ms[LOOKS - 1] = { 100, 100, 100, 100, 100,
						     100, 100, 100, 100, 100 };
	static const double cpus[] = { 2, 1 };
	struct recording rec;
	struct others others;

	record(&rec, 0.5, used_ms);
	processes[1].clock = 1;
	others_find(&others, &rec, startup_ns, cpus, 2);
	ck_assert(!others.is_known && others.stranger_count == 1);
	others_free(&others);
	for (uint64_t i = 0; i < LOOKS; i++)
		idles[rec.idle_count++] =
			(struct rec_idle){ i * LOOK_MS * MS, i * LOOK_MS * MS / 2, 1 };
	others_find(&others, &rec, startup_ns, cpus, 2);
	ck_assert(others.is_known && others.stranger_count == 2);
	ck_assert_double_eq_tol(others.there[0].cpus, 0.98, 1e-6);
	ck_assert_double_eq_tol(others.there[1].cpus, 0.49, 1e-6);
	ck_assert_double_eq_tol(others.cpus, 0.98 + 0.49, 1e-6);
	others_free(&others);
}
END_TEST

/* That process's CPUs are those of the replay, and it tells of the longest time. */
START_TEST(one_process_tells)
{
	static const unsigned used_ms[LOOKS - 1] = { 0 };
	struct recording rec;
	struct others others;

	record(&rec, 1, used_ms);
	others_find(&others, &rec, startup_ns, one_cpu, 1);
	ck_assert(!others.is_known && others.stranger_count == 0);
	others_free(&others);
	for (uint64_t i = 0; i < LOOKS; i++)
		idles[rec.idle_count++] = (struct rec_idle){ i * MS, 0, 1 };
	others_find(&others, &rec, startup_ns, one_cpu, 1);
	ck_assert(others.is_known && others.there[0].windows[0].end_ns == MS);
	others_free(&others);
	processes[1].cpus = 2;
	others_find(&others, &rec, startup_ns, two_cpus, 1);
	ck_assert_uint_eq(others.there[0].windows[0].end_ns, LOOK_MS * MS);
	others_free(&others);
	processes[1].cpus = 1;
	/* nobody knows what recorded threads used */
	rec.sample_count = 0;
	others_find(&others, &rec, startup_ns, two_cpus, 1);
	ck_assert(!others.is_known);
	others_free(&others);
}
END_TEST

SUITE()
{
	TEST(others_used_what_is_left);
	TEST(windows_have_what_was_used_in_them);
	TEST(before_the_first_look_all_was_as_after_it);
	TEST(each_stranger_has_what_the_ones_before_left);
	TEST(starts_are_no_use_of_others);
	TEST(threads_of_one_kernel_count);
	TEST(each_kernel_has_others_of_its_own);
	TEST(one_process_tells);
}
