/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call on each kind of stack where programs make calls. The includer has its painted `stack`
 * mapped, says how large it is (STACK_BYTES), and defines run() and on_thread().
 */
#ifndef STACK_KINDS_H
#define STACK_KINDS_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <ucontext.h>

/* Of the stack below run() what it takes itself is not looked at. */
enum { MARGIN_BYTES = 64, PAINT = 0x5a };

static char *stack;
static void run(void);
static void on_thread(void);

static void *run_thread(void *unused)
{
	run();
	return unused;
}

static pthread_t start_thread(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack, STACK_BYTES);
	if (pthread_create(&thread, &attributes, run_thread, NULL) != 0)
		abort();
	return thread;
}

static void on_coroutine(void)
{
	static ucontext_t back, on_stack;

	getcontext(&on_stack);
	on_stack.uc_stack.ss_sp = stack;
	on_stack.uc_stack.ss_size = STACK_BYTES;
	on_stack.uc_link = &back;
	makecontext(&on_stack, run, 0);
	swapcontext(&back, &on_stack);
}

static void handle(int number)
{
	(void)number;
	run();
}

static void on_handler(void)
{
	stack_t alternate = { .ss_sp = stack, .ss_size = STACK_BYTES };
	stack_t none = { .ss_flags = SS_DISABLE };
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };

	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	sigaltstack(&none, NULL);
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = { { "thread", on_thread }, { "coroutine", on_coroutine }, { "handler", on_handler } };

#endif
