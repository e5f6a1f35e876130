/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, a signal of ours reaches a program that has just taken it, or ends it. Or no
 * samples are taken of one that never did.
 */
#include "claim.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "recording.h"
#include "sample.h"
#include "suite.h"
#include "timers.h"

static const struct signal_as_if nothing;

static void setup(void)
{
	recording_begin();
}

static void teardown(void)
{
	recording_end();
}

static bool is_default(void)
{
	struct sigaction now;

	ck_assert_int_eq(sigaction(SAMPLE_SIGNAL, NULL, &now), 0);
	return now.sa_handler == SIG_DFL;
}

START_TEST(the_program_has_it_for_good)
{
	ck_assert(claim_take() && claim_take() && claim_is_kept());
	ck_assert_ptr_null(claim_refusal());
	signal_is_taken();
	ck_assert(is_default());
	ck_assert(!claim_is_ours() && !claim_take() && !claim_is_kept());
	ck_assert(is_default());
	ck_assert_ptr_nonnull(strstr(claim_refusal(), "SIGSTKFLT"));
	claim_note(recorder_arena);
	ck_assert_uint_gt(recorder_arena->unsampled_ticks, 0);
	ck_assert_uint_eq(recorder_arena->unsampled_why, UNSAMPLED_TAKEN);
	signal_is_taken();
	ck_assert(!claim_take());
}
END_TEST

START_TEST(taken_before_us_it_is_never_ours)
{
	signal_is_taken();
	ck_assert(is_default() && !claim_take() && is_default());
}
END_TEST

START_TEST(the_default_anew_changes_nothing)
{
	struct signal_as_if now = { .flags = SA_RESTART, .mask = 6 }, before = nothing;

	ck_assert(signal_stays(&now, &before));
	ck_assert_uint_eq(before.flags | before.mask, 0);
	ck_assert(is_default());
	ck_assert(claim_take());
	now.mask = 7;
	ck_assert(signal_stays(&now, &before));
	ck_assert_uint_eq(before.flags, SA_RESTART);
	ck_assert_uint_eq(before.mask, 6);
	ck_assert(sample_is_installed());
	ck_assert(!signal_as_if((const void *)SIG_DFL, recorder_minds_signals(), &before));
	signal_is_taken();
	ck_assert(!signal_stays(&nothing, &before));
	ck_assert_uint_eq(before.mask, 7);
}
END_TEST

START_TEST(a_go_program_is_left_alone)
{
	struct signal_as_if before;

	claim_start(true);
	ck_assert(!claim_take() && is_default());
	signal_is_taken();
	ck_assert(!signal_stays(&nothing, &before));
	ck_assert_ptr_nonnull(strstr(claim_refusal(), "Go"));
	claim_note(recorder_arena);
	ck_assert_uint_eq(recorder_arena->unsampled_why, UNSAMPLED_GO);
}
END_TEST

static void of_the_program(int number)
{
	(void)number;
}

/* As a runtime does that makes the call itself. */
START_TEST(another_handler_is_noticed)
{
	ck_assert(claim_take());
	signal(SAMPLE_SIGNAL, of_the_program);
	ck_assert(!claim_is_kept() && !claim_is_ours() && !claim_take());
	ck_assert_ptr_nonnull(claim_refusal());
	ck_assert_ptr_eq(signal(SAMPLE_SIGNAL, SIG_DFL), of_the_program);
	ck_assert(claim_take());
	ck_assert_ptr_null(claim_refusal());
}
END_TEST

static pthread_barrier_t barrier;

static void *take_it(void *unused)
{
	pthread_barrier_wait(&barrier);
	signal_is_taken();
	/* From here on it stays as the program wants it. */
	signal(SAMPLE_SIGNAL, of_the_program);
	return unused;
}

START_TEST(one_of_the_two_has_it)
{
	pthread_t thread;

	timers_set_rate(1000);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, take_it, NULL);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < _i; i++)
		sched_yield();
	(void)claim_take();
	pthread_join(thread, NULL);
	ck_assert(!claim_take());
	ck_assert_ptr_eq(signal(SAMPLE_SIGNAL, SIG_DFL), of_the_program);
}
END_TEST

static void *take_it_alone(void *unused)
{
	signal_is_taken();
	return unused;
}

START_TEST(what_was_sent_before_is_still_there)
{
	sigset_t set, pending;

	sigemptyset(&set);
	sigaddset(&set, SAMPLE_SIGNAL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	ck_assert(claim_take());
	if (_i)
		ck_assert_int_eq(kill(getpid(), SAMPLE_SIGNAL), 0);
	if (_i == 2) {
		pthread_t thread;

		pthread_create(&thread, NULL, take_it_alone, NULL);
		pthread_join(thread, NULL);
	} else {
		signal_is_taken();
	}
	sigpending(&pending);
	ck_assert_int_eq(sigismember(&pending, SAMPLE_SIGNAL), _i > 0);
}
END_TEST

/* Forked while another thread held the lock: it is not in the child. */
START_TEST(a_child_begins_anew)
{
	int status;
	pid_t child;

	ck_assert(claim_take());
	if (_i)
		claim_lock();
	child = fork();
	if (child == 0) {
		if (_i)
			signal(SAMPLE_SIGNAL, SIG_IGN);
		claim_fork_child();
		claim_lock();
		claim_unlock();
		_exit(_i ? is_default() && !claim_is_ours() && claim_take()
			 : claim_is_ours() && claim_is_kept());
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0x100);
}
END_TEST

/* A child that nobody has noticed yet, while a thread that is not in it held the lock. */
START_TEST(a_child_is_told_before_anything_else)
{
	const struct signal_as_if now = { .flags = SA_RESTART, .mask = 6 };
	struct signal_as_if told = nothing;
	struct sigaction ours;
	int status;
	pid_t child;

	ck_assert(claim_take() && signal_stays(&now, &told));
	ck_assert_int_eq(sigaction(SAMPLE_SIGNAL, NULL, &ours), 0);
	ck_assert(signal_as_if((const void *)ours.sa_handler, recorder_minds_signals(), &told));
	ck_assert_uint_eq(told.mask, 6);
	claim_lock();
	child = fork();
	if (child == 0) {
		/* It may wait for ever, with all signals blocked. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		told = nothing;
		if (_i)
			recorder_confine();
		_exit(signal_as_if((const void *)ours.sa_handler, recorder_minds_signals(),
				   &told) &&
		      told.mask == 6);
	}
	claim_unlock();
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0x100);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(the_program_has_it_for_good);
	LOOP(a_child_is_told_before_anything_else, 0, 2);
	TEST(taken_before_us_it_is_never_ours);
	TEST(the_default_anew_changes_nothing);
	TEST(a_go_program_is_left_alone);
	TEST(another_handler_is_noticed);
	LOOP(one_of_the_two_has_it, 0, 20);
	LOOP(what_was_sent_before_is_still_there, 0, 3);
	LOOP(a_child_begins_anew, 0, 2);
}
