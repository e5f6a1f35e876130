/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: alternate stacks of any size are set, and what lies below them is not touched.
 * Threads compute meanwhile, and a handler that takes nearly all of such a stack.
 */
#include "sampled.h"

#include <alloca.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static char stack_bytes[3][65536];

static void use_stack(int which, size_t bytes, int by_call)
{
	stack_t stack = { .ss_sp = stack_bytes[which] + 32768, .ss_size = bytes };
	stack_t before = { .ss_flags = 0 };
	long result =
		by_call ? syscall(SYS_sigaltstack, &stack, &before) : sigaltstack(&stack, &before);
	int changed = 0;

	burn(BURN_MS);
	for (int i = 0; i < 32768; i++)
		changed += stack_bytes[which][i] != 0;
	printf("%ld, before %zu, %d bytes changed\n", result, before.ss_size, changed);
}

static void *use_small_stack(void *unused)
{
	for (int i = 0; i < 3; i++)
		use_stack(1, i % 2 ? 32768 : 2048, i == 2);
	return unused;
}

static void stacks(void)
{
	pthread_t thread;

	workers_begin();
	use_stack(0, 2048, 0);
	pid_t child = fork();
	if (child == 0) {
		burn(BURN_MS);
		_exit(5);
	}
	printf("child ends %x\n", status_of(child));
	pthread_create(&thread, NULL, use_small_stack, NULL);
	pthread_join(thread, NULL);
	use_stack(0, 100, 0);
	use_stack(0, 3000, 1);
	printf("%d", sigaltstack(bad_address(), NULL));
	printf(" %d\n", errno);
	use_stack(0, 32768, 0);
	workers_end();
}

/* --- A handler that has little room --- */

enum { SMALL_BYTES = 8192, PAGE_BYTES = 4096, LEFT_BYTES = 1024 };

static char *small_stack;

/* Takes all but a little of its stack, below which nothing is mapped, and computes. */
static void on_signal(int unused)
{
	size_t bytes = (size_t)((char *)__builtin_frame_address(0) - small_stack) - LEFT_BYTES;
	volatile char *own = alloca(bytes);

	(void)unused;
	for (size_t i = 0; i < bytes; i++)
		own[i] = 1;
	burn(5 * BURN_MS);
	got += own[0] + own[bytes - 1];
}

static void handlers(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	char *mapped =
		mmap(NULL, PAGE_BYTES + SMALL_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = { .ss_sp = mapped + PAGE_BYTES, .ss_size = SMALL_BYTES };

	workers_begin();
	small_stack = stack.ss_sp;
	mprotect(small_stack, SMALL_BYTES, PROT_READ | PROT_WRITE);
	sigaction(SIGUSR1, &action, NULL);
	printf("%d\n", sigaltstack(&stack, NULL));
	raise(SIGUSR1);
	workers_end();
}

static const struct scenario scenarios[] = {
	{ "handlers", handlers },
	{ "stacks", stacks },
};

SCENARIOS_MAIN
