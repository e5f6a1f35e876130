/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a thread dies of a trap of ours, or the program's own traps are lost. */
#include "probe_traps.h"

#include <signal.h>
#include <sys/wait.h>

#include "recording.h"
#include "suite.h"

static const int signals[] = { SIGTRAP, SIGILL };
static const char *const names[] = { "SIGTRAP", "SIGILL" };
enum { TRAP = 1U << SIGTRAP, BOTH = 1U << SIGTRAP | 1U << SIGILL };

static uint32_t state; /* 1: the other thread is ready; 2: it is to end */

static void *spin(void *blocked)
{
	sigset_t set;

	sigemptyset(&set);
	if (blocked)
		sigaddset(&set, *(const int *)blocked);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	store_release(&state, 1);
	while (load_acquire(&state) != 2)
		continue;
	return NULL;
}

static pthread_t begin_thread(const int *blocked)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, spin, (void *)(uintptr_t)blocked), 0);
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
	pthread_t thread = begin_thread(_i < 2 ? &signals[_i] : NULL);
	const char *why = probe_traps_why_not((uintptr_t)spin, BOTH);

	if (_i < 2) {
		ck_assert_ptr_nonnull(strstr(why, "a thread that runs blocks"));
		ck_assert_ptr_nonnull(strstr(why, names[_i]));
		ck_assert_ptr_null(probe_traps_why_not((uintptr_t)spin, 1U << signals[!_i]));
	} else {
		ck_assert_ptr_null(why);
	}
	end_thread(thread);
}

extern const char trap_here[], trap_leads_here[], invalid_begin[], invalid_end[];

/* Each byte that is no instruction leads to the next one. */
static uint64_t moved_to(uint64_t pc)
{
	if (pc >= (uintptr_t)invalid_begin && pc < (uintptr_t)invalid_end)
		return pc + 1;
	return pc == (uintptr_t)trap_here ? (uintptr_t)trap_leads_here : 0;
}

static void own_handler(int number)
{
	(void)number;
}

START_TEST(the_programs_handler_stays)
{
	const char *why;

	signal(signals[_i], own_handler);
	why = probe_traps_why_not(0, BOTH);
	ck_assert_ptr_nonnull(strstr(why, "the program has a handler"));
	ck_assert_ptr_nonnull(strstr(why, names[_i]));
	ck_assert_ptr_null(probe_traps_why_not(0, 1U << signals[!_i]));
	ck_assert_ptr_eq(signal(signals[_i], SIG_DFL), own_handler);
}

/* As a program may that begins to handle it just now. */
START_TEST(a_handler_that_is_set_meanwhile_stays)
{
	ck_assert(probe_traps_begin(moved_to, BOTH));
	signal(signals[_i], own_handler);
	probe_traps_note();
	while (probe_traps_tick())
		continue;
	ck_assert_ptr_eq(signal(signals[_i], SIG_DFL), own_handler);
	ck_assert_ptr_eq(signal(signals[!_i], SIG_DFL), SIG_DFL);
}

START_TEST(a_thread_that_traps_goes_on_elsewhere)
{
	int reached = 0;

	ck_assert(probe_traps_begin(moved_to, TRAP));
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

/* All that probe_hop.c has. */
START_TEST(a_thread_at_no_instruction_goes_on_elsewhere)
{
	ck_assert(probe_traps_begin(moved_to, 1U << SIGILL));
	__asm__ volatile(".globl invalid_begin, invalid_end\n"
			 "invalid_begin:\n"
			 "	.byte 0x61, 0x60, 0x3f, 0x37, 0x2f, 0x27, 0x1f\n"
			 "	.byte 0x1e, 0x17, 0x16, 0x0e, 0x07, 0x06\n"
			 "invalid_end:\n" ::
				 : "memory");
	probe_traps_note();
	while (probe_traps_tick())
		continue;
	ck_assert_ptr_eq(signal(SIGILL, SIG_DFL), SIG_DFL);
}

START_TEST(a_trap_of_the_programs_own_kills_as_ever)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		(void)probe_traps_begin(moved_to, BOTH);
		if (signals[_i] == SIGTRAP)
			__asm__ volatile("int3");
		else
			__asm__ volatile("ud2");
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == signals[_i]);
}

/* It runs: so it is elsewhere when it has run for a while. */
START_TEST(the_handler_is_there_until_all_have_run)
{
	pthread_t thread = begin_thread(NULL);

	ck_assert(probe_traps_begin(moved_to, TRAP));
	probe_traps_note();
	while (probe_traps_tick())
		continue;
	ck_assert_ptr_eq(signal(SIGTRAP, SIG_DFL), SIG_DFL);
	end_thread(thread);
}

SUITE()
{
	FIXTURE(recording_begin, recording_end);
	LOOP(a_thread_that_cannot_trap_is_in_the_way, 0, 3);
	LOOP(the_programs_handler_stays, 0, 2);
	LOOP(a_handler_that_is_set_meanwhile_stays, 0, 2);
	TEST(a_thread_that_traps_goes_on_elsewhere);
	TEST(a_thread_at_no_instruction_goes_on_elsewhere);
	LOOP(a_trap_of_the_programs_own_kills_as_ever, 0, 2);
	TEST(the_handler_is_there_until_all_have_run);
}
