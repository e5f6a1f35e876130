/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a thread dies of a trap of ours, or the program's own traps are lost. */
#include "probe_traps.h"

#include <signal.h>
#include <sys/wait.h>

#include "recording.h"
#include "suite.h"

static uint32_t state; /* 1: the other thread is ready; 2: it is to end */

static void *spin(void *is_blocking)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	if (is_blocking)
		pthread_sigmask(SIG_BLOCK, &set, NULL);
	store_release(&state, 1);
	while (load_acquire(&state) != 2)
		continue;
	return NULL;
}

static pthread_t begin_thread(bool is_blocking)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, spin, is_blocking ? &state : NULL), 0);
	while (load_acquire(&state) != 1)
		continue;
	return thread;
}

static void end_thread(pthread_t thread)
{
	store_release(&state, 2);
	pthread_join(thread, NULL);
}

START_TEST(a_thread_that_cannot_trap_is_in_the_way)
{
	pthread_t thread = begin_thread(_i);
	const char *why = probe_traps_why_not((uintptr_t)spin);

	if (_i)
		ck_assert_ptr_nonnull(strstr(why, "blocks SIGTRAP"));
	else
		ck_assert_ptr_null(why);
	end_thread(thread);
}

static void own_handler(int number)
{
	(void)number;
}

START_TEST(the_programs_handler_stays)
{
	signal(SIGTRAP, own_handler);
	ck_assert_ptr_nonnull(strstr(probe_traps_why_not(0), "handler"));
	ck_assert_ptr_eq(signal(SIGTRAP, SIG_DFL), own_handler);
}

extern const char trap_here[], trap_leads_here[];

static uint64_t moved_to(uint64_t pc)
{
	return pc == (uintptr_t)trap_here ? (uintptr_t)trap_leads_here : 0;
}

START_TEST(a_thread_that_traps_goes_on_elsewhere)
{
	int reached = 0;

	ck_assert(probe_traps_begin(moved_to));
	__asm__ volatile(".globl trap_here, trap_leads_here\n"
			 "trap_here:\n"
			 "	int3\n"
			 "	jmp 1f\n"
			 "trap_leads_here:\n"
			 "	movl $1, %0\n"
			 "1:\n"
			 : "+r"(reached));
	ck_assert_int_eq(reached, 1);
	probe_traps_note();
	while (probe_traps_tick())
		continue;
	ck_assert_ptr_eq(signal(SIGTRAP, SIG_DFL), SIG_DFL);
}

START_TEST(a_trap_of_the_programs_own_kills_as_ever)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		(void)probe_traps_begin(moved_to);
		__asm__ volatile("int3");
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP);
}

/* It runs: so it is elsewhere when it has run for a while. */
START_TEST(the_handler_is_there_until_all_have_run)
{
	pthread_t thread = begin_thread(false);

	ck_assert(probe_traps_begin(moved_to));
	probe_traps_note();
	while (probe_traps_tick())
		continue;
	ck_assert_ptr_eq(signal(SIGTRAP, SIG_DFL), SIG_DFL);
	end_thread(thread);
}

SUITE()
{
	FIXTURE(recording_begin, recording_end);
	LOOP(a_thread_that_cannot_trap_is_in_the_way, 0, 2);
	TEST(the_programs_handler_stays);
	TEST(a_thread_that_traps_goes_on_elsewhere);
	TEST(a_trap_of_the_programs_own_kills_as_ever);
	TEST(the_handler_is_there_until_all_have_run);
}
