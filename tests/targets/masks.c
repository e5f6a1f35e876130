/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: a program that blocks signals, waits for them, and jumps out of handlers finds
 * those that were sent, and no other. Threads compute meanwhile.
 */
#include "sampled.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <sys/syscall.h>

static void nothing(int number)
{
	(void)number;
}

/* Calls that look for signals find those that were sent, with 1,000 samples a second. */
static void masks(void)
{
	struct timespec short_time = { .tv_nsec = 1000000 };
	sigset_t all, none, pending;
	int found = 0, ends = 0;

	sigfillset(&all);
	sigemptyset(&none);
	signal(SIGUSR1, nothing);
	workers_begin();
	for (int i = 0; i < ROUNDS; i++) {
		burn(3);
		pthread_sigmask(SIG_SETMASK, &all, NULL);
		burn(3);
		sigpending(&pending);
		found += !sigisemptyset(&pending);
		ends += ppoll(NULL, 0, &(struct timespec){ 0 }, &none) != 0;
		ends += sigtimedwait(&all, NULL, &short_time) != -1;
		raise(SIGUSR1);
		sigsuspend(&none);
		burn(3);
		sigpending(&pending);
		found += !sigisemptyset(&pending);
		raise(SIGUSR1);
		int number = 0;
		sigwait(&all, &number);
		ends += number != SIGUSR1;
		syscall(SYS_rt_sigprocmask, i % 2 ? SIG_SETMASK : SIG_UNBLOCK, i % 2 ? &none : &all,
			NULL, 8);
	}
	printf("found %d, ended %d\n", found, ends);
	printf("%ld", syscall(SYS_rt_sigprocmask, SIG_BLOCK, bad_address(), NULL, 8));
	printf(" %d\n", errno);
	workers_end();
}

static void block_in_handler(int number)
{
	sigset_t all, before;

	(void)number;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* The mask of a handler ends without a call. */
static void handlers(void)
{
	struct sigaction action = { .sa_handler = block_in_handler };

	sigfillset(&action.sa_mask);
	sigaction(SIGUSR1, &action, NULL);
	burn(BURN_MS);
	raise(SIGUSR1);
	burn(10 * BURN_MS);
}

static sigjmp_buf place;

static void jump(int number)
{
	(void)number;
	siglongjmp(place, 1);
}

/* Masks come back without a call. */
static void jumps(void)
{
	sigset_t all, pending;
	volatile int found = 0;

	sigfillset(&all);
	signal(SIGUSR1, jump);
	workers_begin();
	for (volatile int i = 0; i < ROUNDS; i++) {
		if (sigsetjmp(place, 1) == 0) {
			pthread_sigmask(SIG_BLOCK, &all, NULL);
			burn(2);
			sigpending(&pending);
			found += !sigisemptyset(&pending);
			sigdelset(&all, SIGUSR1);
			raise(SIGUSR1);
			pthread_sigmask(SIG_SETMASK, &all, NULL);
			puts("no jump");
		}
		sigaddset(&all, SIGUSR1);
		burn(2);
	}
	printf("found %d\n", found);
	workers_end();
}

static void survive(int number)
{
	signal(number, survive);
	siglongjmp(place, 1);
}

/* Is there, and heard, until its input ends. */
static void aborts(void)
{
	char byte;

	signal(SIGABRT, survive);
	for (volatile int i = 0; i < 3; i++)
		if (sigsetjmp(place, 1) == 0)
			abort();
	puts("survived");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		continue;
}

static const struct scenario scenarios[] = {
	{ "masks", masks },
	{ "handlers", handlers },
	{ "jumps", jumps },
	{ "aborts", aborts },
};

SCENARIOS_MAIN
