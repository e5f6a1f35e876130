/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: with a CPU for each thread the longest thread decides; with fewer, all that burns
 * counts. A ticker's work counts nothing as long as it fits its period, and a spinner's waiting
 * never does.
 *
 * Patterns without any lock: threads that meet only at their end, on the CPUs, or by time. Also the
 * calibration of burning. spin's flag is written by one thread and read by the other, atomically.
 */
#include "truth.h"

#include <stdatomic.h>

enum { CALIBRATION_STEPS = 20000000 };

/*
 * siblings: one thread alternates work_a (4 or so times as often) and work_b, the other does
 * work_c.
 */
static void *alternate(void *unused UNUSED)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		work_a();
		work_b();
	}
	return NULL;
}

static void *steady(void *unused UNUSED)
{
	for (long i = count_of("T_M"); i > 0; i--)
		work_c();
	return NULL;
}

static void siblings(void)
{
	start(alternate, 0);
	start(steady, 0);
	join_all();
}

/* satmix: eight threads, four of each kind, more than there are CPUs. */
static void *mix_a(void *unused UNUSED)
{
	for (long i = count_of("T_N"); i > 0; i--)
		work_a();
	return NULL;
}

static void *mix_b(void *unused UNUSED)
{
	for (long i = count_of("T_N"); i > 0; i--)
		work_b();
	return NULL;
}

static void satmix(void)
{
	start_many(4, mix_a);
	start_many(4, mix_b);
	join_all();
}

/* spin: the second thread's waiting for the flag looks like work; T_M is how long it looks away. */
static atomic_long flag;

static NOINLINE void spin_until(long value, long pauses)
{
	while (atomic_load_explicit(&flag, memory_order_acquire) < value)
		for (long i = 0; i < pauses; i++)
			__builtin_ia32_pause();
}

static void *spinning(void *unused UNUSED)
{
	long rounds = count_of("T_N"), pauses = count_of("T_M");

	for (long i = 1; i <= rounds; i++) {
		spin_until(i, pauses);
		work_b();
	}
	return NULL;
}

static void spin(void)
{
	start(spinning, 0);
	for (long i = count_of("T_N"); i > 0; i--) {
		work_a();
		atomic_fetch_add_explicit(&flag, 1, memory_order_release);
	}
	join_all();
}

/* ticker: work_a, then sleep until the next beat; beats are T_M microseconds apart. */
static void ticker(void)
{
	uint64_t beat_ns = now_ns(), period_ns = (uint64_t)count_of("T_M") * NS_PER_US;

	for (long i = count_of("T_N"); i > 0; i--) {
		struct timespec beat;

		work_a();
		beat_ns += period_ns;
		beat = to_timespec(beat_ns);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &beat, NULL);
	}
}

/* calibrate: how many steps burn a microsecond; the driver keeps the best of several runs. */
static void calibrate(void)
{
	uint64_t begin_ns, taken_ns, best_ns = UINT64_MAX;

	for (int i = 0; i < 7; i++) {
		begin_ns = now_ns();
		burn_steps(CALIBRATION_STEPS);
		taken_ns = now_ns() - begin_ns;
		best_ns = taken_ns < best_ns ? taken_ns : best_ns;
	}
	snprintf(figures, sizeof(figures), " steps_per_us %.3f",
		 CALIBRATION_STEPS * (double)NS_PER_US / (double)best_ns);
}

int main(int argc, char **argv)
{
	static const struct pattern patterns[] = { { "siblings", siblings },   { "satmix", satmix },
						   { "spin", spin },           { "ticker", ticker },
						   { "calibrate", calibrate }, { NULL, NULL } };

	return truth_main(argc, argv, patterns);
}
