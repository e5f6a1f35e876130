/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, threads that compute have no samples, or threads that wait are disturbed.
 */
#include "recording.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "chunk.h"
#include "roster.h"
#include "sample.h"
#include "sampler.h"
#include "suite.h"

static int stop;
static long calls, interrupted;
static uint64_t now_ns = 1;

static void setup(void)
{
	recording_begin();
}

static void teardown(void)
{
	recording_end();
}

/* One second later. */
static bool tick(bool is_recording)
{
	now_ns += 1000000000;
	return sampler_tick(is_recording, now_ns);
}

static const char *status(void)
{
	static char bytes[512];
	struct text text = { .bytes = bytes, .size = sizeof(bytes) };

	sampler_put_status(&text);
	ck_assert(text_end(&text));
	return bytes;
}

static uint32_t count_samples(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < load_acquire(&recorder_arena->chunks.made); i++) {
		const struct chunk *chunk = chunk_at(recorder_arena, i);

		struct recording_reader reader =
			recording_read(chunk, 0, load_acquire(&chunk->published));
		struct record record;

		while (recording_next(&reader, &record))
			count += record.type == RECORD_SAMPLE;
	}
	return count;
}

static void *compute(void *unused)
{
	while (!load_relaxed(&stop))
		continue;
	return unused;
}

/* Never makes a call that is hooked. */
START_TEST(a_thread_that_computes_is_sampled)
{
	pthread_t thread;

	sampler_set_rate(250);
	pthread_create(&thread, NULL, compute, NULL);
	/* A new thread blocks all signals for a moment. */
	while (!strstr(status(), "\"on\",\"sample_hz\":250,\"sampled_threads\":1"))
		ck_assert(tick(true));
	while (count_samples() < 5)
		continue;
	ck_assert_uint_ge(roster_living(recorder_arena), 1);
	ck_assert(!tick(false));
	ck_assert_ptr_nonnull(strstr(status(), "\"off\",\"sample_hz\":250,\"sampled_threads\":0"));
	store_relaxed(&stop, 1);
	pthread_join(thread, NULL);
}
END_TEST

/*
 * Uses CPU time inside calls that end early when a signal comes. Not libc's: ThreadSanitizer sees
 * no atomics inside those of its own, which is where our handler, of which it does not know, comes
 * in.
 */
static void *call(void *unused)
{
	while (!load_relaxed(&stop)) {
		struct timespec pause = { 0, 1000 };

		interrupted += syscall(SYS_nanosleep, &pause, NULL) != 0;
		interrupted += syscall(SYS_poll, NULL, 0, 0) != 0;
		calls++;
	}
	return unused;
}

START_TEST(no_call_is_interrupted)
{
	pthread_t thread;

	sampler_set_rate(1000);
	pthread_create(&thread, NULL, call, NULL);
	while (count_samples() < 10)
		ck_assert(tick(true));
	store_relaxed(&stop, 1);
	pthread_join(thread, NULL);
	ck_assert_int_gt(calls, 0);
	ck_assert_int_eq(interrupted, 0);
}
END_TEST

static pthread_barrier_t barrier;

static void *stay(void *unused)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return unused;
}

static void *stay_blocking_all(void *unused)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	return stay(unused);
}

static const struct {
	void *(*routine)(void *);
	const char *threads;
} rows[] = {
	/* 0 */ { stay, "\"sampled_threads\":3" },
	/* 1 */ { stay_blocking_all, "\"sampled_threads\":0" },
};

START_TEST(threads_come_and_go)
{
	pthread_t threads[3];

	sampler_set_rate(1);
	pthread_barrier_init(&barrier, NULL, 4);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, rows[_i].routine, NULL);
	pthread_barrier_wait(&barrier);
	ck_assert(tick(true));
	ck_assert_ptr_nonnull(strstr(status(), rows[_i].threads));
	ck_assert(tick(true));
	ck_assert_ptr_nonnull(strstr(status(), rows[_i].threads));
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	/* A joined thread may be in the list for a moment. */
	while (!strstr(status(), "\"sampled_threads\":0"))
		ck_assert(tick(true));
	ck_assert_uint_eq(count_samples(), 0);
}
END_TEST

/* Then it has no timer any more: a signal to wait for would come otherwise. */
START_TEST(a_thread_that_blocks_the_signal_later_loses_its_timer)
{
	sigset_t all;
	pthread_t thread;

	sampler_set_rate(1);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, stay, NULL);
	pthread_barrier_wait(&barrier);
	ck_assert(tick(true));
	ck_assert_ptr_nonnull(strstr(status(), "\"sampled_threads\":1"));
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	/* Inherits the mask. */
	pthread_create(&thread, NULL, stay, NULL);
	pthread_barrier_wait(&barrier);
	while (!strstr(status(), "\"sampled_threads\":0"))
		ck_assert(tick(true));
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
}
END_TEST

START_TEST(the_rate_can_change_at_any_time)
{
	ck_assert(!tick(true));
	sampler_set_rate(10);
	ck_assert(tick(true));
	sampler_set_rate(1000);
	/* At once, not when the next look is due. */
	ck_assert(sampler_tick(true, now_ns));
	ck_assert_ptr_nonnull(strstr(status(), "\"sample_hz\":1000"));
	sampler_set_rate(0);
	ck_assert(!sampler_tick(true, now_ns));
	ck_assert_ptr_nonnull(strstr(status(), "\"off\""));
}
END_TEST

static void of_the_program(int number)
{
	(void)number;
}

START_TEST(a_program_that_wants_the_signal_gets_it)
{
	sampler_set_rate(10);
	ck_assert(tick(true));
	signal(SAMPLE_SIGNAL, of_the_program);
	ck_assert(!tick(true));
	ck_assert_ptr_nonnull(strstr(status(), "refused"));
	ck_assert_ptr_eq(signal(SAMPLE_SIGNAL, SIG_DFL), of_the_program);
	/* For this recording; the next one tries again. */
	ck_assert(!tick(true));
	ck_assert(!tick(false));
	ck_assert(tick(true));
	sampler_forget();
	ck_assert_ptr_nonnull(strstr(status(), "\"off\",\"sample_hz\":10,\"sampled_threads\":0"));
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(a_thread_that_computes_is_sampled);
	TEST(no_call_is_interrupted);
	LOOP(threads_come_and_go, 0, 2);
	TEST(a_thread_that_blocks_the_signal_later_loses_its_timer);
	TEST(the_rate_can_change_at_any_time);
	TEST(a_program_that_wants_the_signal_gets_it);
}
