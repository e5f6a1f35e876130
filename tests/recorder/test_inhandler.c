/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, a thread is made inside a signal handler that has interrupted the allocator: the
 * program hangs. Or none is made where there is no handler.
 */
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "inhandler.h"
#include "suite.h"

static volatile bool was_likely;

static void look(int number)
{
	(void)number;
	was_likely = inhandler_is_likely();
}

static void *do_nothing(void *unused)
{
	return unused;
}

/* Afterwards libc has its own handler. */
static void make_a_thread(void)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, do_nothing, NULL), 0);
	pthread_join(thread, NULL);
}

START_TEST(nobody_is_in_a_handler)
{
	ck_assert(!inhandler_is_likely());
	make_a_thread();
	ck_assert(!inhandler_is_likely());
}
END_TEST

static void handle(int flags)
{
	struct sigaction action = { .sa_handler = look, .sa_flags = flags };

	ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
	was_likely = false;
	raise(SIGUSR1);
}

START_TEST(a_handler_is_one)
{
	make_a_thread();
	handle(SA_NODEFER);
	ck_assert(was_likely);
}
END_TEST

static void *handle_here(void *unused)
{
	handle(SA_NODEFER);
	return unused;
}

START_TEST(in_any_thread)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, handle_here, NULL), 0);
	pthread_join(thread, NULL);
	ck_assert(was_likely);
}
END_TEST

START_TEST(on_a_stack_of_its_own_too)
{
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };

	ck_assert_int_eq(sigaltstack(&stack, NULL), 0);
	handle(SA_NODEFER | SA_ONSTACK);
	ck_assert(was_likely);
}
END_TEST

static ucontext_t here, coroutine;

static void look_on_coroutine(void)
{
	was_likely = inhandler_is_likely();
}

/* Behind which there is no memory. */
START_TEST(a_small_stack_is_no_harm)
{
	enum { BYTES = 65536 };
	char *memory =
		mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	make_a_thread();
	ck_assert(memory != MAP_FAILED);
	ck_assert_int_eq(mprotect(memory + BYTES, BYTES, PROT_NONE), 0);
	ck_assert_int_eq(getcontext(&coroutine), 0);
	coroutine.uc_stack.ss_sp = memory;
	coroutine.uc_stack.ss_size = BYTES;
	coroutine.uc_link = &here;
	makecontext(&coroutine, look_on_coroutine, 0);
	was_likely = true;
	ck_assert_int_eq(swapcontext(&here, &coroutine), 0);
	ck_assert(!was_likely);
}
END_TEST

SUITE()
{
	TEST(nobody_is_in_a_handler);
	TEST(a_handler_is_one);
	TEST(in_any_thread);
	TEST(on_a_stack_of_its_own_too);
	TEST(a_small_stack_is_no_harm);
}
