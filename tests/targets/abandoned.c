/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: calls that never return, or return on another thread, leave nothing behind: what
 * each thread does afterwards is recorded, ten writes each.
 */
#include "scenario.h"

#include <setjmp.h>
#include <ucontext.h>

static ucontext_t fiber, first_loop, second_loop;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char stack[1 << 16];
static int ends[2];

static void write_ten(void)
{
	for (int i = 0; i < 10; i++)
		(void)!write(ends[1], "x", 1);
}

/* Leaves its first thread inside a call, which returns on the second one. */
static void change_threads(void)
{
	swapcontext(&fiber, &first_loop);
}

static void run_fiber(void)
{
	pthread_once(&once, change_threads);
	write_ten();
	setcontext(&second_loop);
}

static void resume(void)
{
	swapcontext(&second_loop, &fiber);
	write_ten();
}

static void fibers(void)
{
	struct helper helper;
	(void)!pipe(ends);
	getcontext(&fiber);
	fiber.uc_stack.ss_sp = stack;
	fiber.uc_stack.ss_size = sizeof(stack);
	makecontext(&fiber, run_fiber, 0);
	swapcontext(&first_loop, &fiber);
	write_ten();
	helper_start(&helper, resume);
	helper_join(&helper);
	write_ten();
}

static jmp_buf back;

static void jump_out(void)
{
	longjmp(back, 1);
}

static void initialiser(void)
{
	pthread_once_t never = PTHREAD_ONCE_INIT;
	if (setjmp(back) == 0)
		pthread_once(&never, jump_out);
	write_ten();
}

static void leave(void)
{
	pthread_exit(NULL);
}

static void exit_inside(void)
{
	pthread_once_t never = PTHREAD_ONCE_INIT;
	pthread_once(&never, leave);
}

static void jumps(void)
{
	struct helper helper;
	(void)!pipe(ends);
	initialiser();
	helper_start(&helper, exit_inside);
	helper_join(&helper);
	write_ten();
}

static void read_for_ever(void)
{
	char byte;
	(void)!read(ends[0], &byte, 1);
}

/* The others are blocked, and gone with the image. */
static void execs(void)
{
	struct helper helper;
	(void)!pipe(ends);
	helper_start(&helper, read_for_ever);
	until_in_call(helper.tid, SYS_read);
	fflush(stdout);
	execl("/bin/true", "true", (char *)NULL);
}

static const struct scenario scenarios[] = {
	{ "fibers", fibers },
	{ "jumps", jumps },
	{ "execs", execs },
};

SCENARIOS_MAIN
