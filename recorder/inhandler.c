/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signal handlers, recognised by the stack. See inhandler.h.
 *
 * A handler returns to a function of libc's that ends it: the kernel has put that address below
 * what was interrupted. libc's own handler, for setuid() and its like, has the same one. So all of
 * the stack above the caller is looked through for it, some pages far. The kernel reads them:
 * coroutines have small stacks, and whatever lies behind them. A handler on an alternate stack is
 * one in any case.
 *
 * Not found is a handler of a program that enters the kernel by itself (Go's). Never here: a stack
 * of the program's that is read by us.
 */
#include "inhandler.h"

#include <signal.h>
#include <sys/uio.h>

#include "syscalls.h"

#include "in_target.h"

enum {
	SIGNAL_SETXID = 33, /* glibc's; its handler is there as soon as there is a second thread */
	PAGE_BYTES = 4096,
	PAGES = 8,
	WORDS = PAGE_BYTES / sizeof(uintptr_t)
};

/* The caller's, who is alone. */
static uintptr_t words[WORDS];

uintptr_t inhandler_return(void)
{
	/* As the kernel has it: handler, flags, restorer, mask. */
	uintptr_t action[4] = { 0 };

	if (sys_call(SYS_rt_sigaction, SIGNAL_SETXID, 0, (long)action, sizeof(uint64_t), 0, 0) != 0)
		return 0;
	return action[2];
}

static bool is_on_signal_stack(void)
{
	stack_t stack = { .ss_flags = SS_DISABLE };

	return SYS3(sigaltstack, NULL, &stack, 0) == 0 && (stack.ss_flags & SS_ONSTACK) != 0;
}

bool inhandler_is_likely(void)
{
	uintptr_t wanted = inhandler_return();
	uintptr_t from = (uintptr_t)__builtin_frame_address(0);

	if (is_on_signal_stack())
		return true;
	for (int page = 0; wanted && page < PAGES; page++) {
		struct iovec local = { words, PAGE_BYTES - from % PAGE_BYTES };
		struct iovec remote = { (void *)from, local.iov_len };
		long got = sys_call(SYS_process_vm_readv, sys_getpid(), (long)&local, 1,
				    (long)&remote, 1, 0);

		if (got <= 0)
			break;
		for (long i = 0; i < got / (long)sizeof(words[0]); i++)
			if (words[i] == wanted)
				return true;
		from += (uintptr_t)got;
	}
	return false;
}
