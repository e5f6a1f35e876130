/* SPDX-License-Identifier: Apache-2.0 */
/* The calling thread's own stack. See own_stack.h. */
#include "own_stack.h"

#include <linux/futex.h>

#include "syscalls.h"

#include "in_target.h"

enum {
	PAGE_BYTES = 4096,
	STACK_REACH_BYTES = 8 << 20, /* no thread is believed to go deeper between two captures */
	REFUSED_BYTES = 1 << 16
};

__thread struct own_stack own_stack;

/*
 * The kernel says so when it is to wake whoever waits on that word for another process's sake: on a
 * stack, nobody. A call that reads the word would have valgrind ask whether it was ever written,
 * and one that it does not know makes it complain.
 */
bool stack_is_readable(uint64_t address)
{
	return sys_call(SYS_futex, (long)(address & -sizeof(uint32_t)), FUTEX_WAKE, 1, 0, 0, 0) >=
	       0;
}

/* The C library keeps a thread's descriptor at the top of its stack, also when the program gave the
 * stack. The first thread's stack ends where the loader says. */
extern void *__libc_stack_end;

static uint64_t top_now(void)
{
	bool is_first = sys_getpid() == sys_gettid();

	return (uint64_t)(uintptr_t)(is_first ? __libc_stack_end : __builtin_thread_pointer());
}

bool own_stack_extend(uint64_t frame)
{
	uint64_t lowest = frame & -(uint64_t)PAGE_BYTES;

	if (!own_stack.top)
		own_stack.low = own_stack.top = top_now();
	if (frame >= own_stack.low)
		return frame < own_stack.top;
	if (own_stack.low - frame > STACK_REACH_BYTES || own_stack.refused == frame / REFUSED_BYTES)
		return false;
	/* Memory below the frame is nobody's, even in its page. */
	for (uint64_t page = lowest; page < own_stack.low; page += PAGE_BYTES) {
		if (stack_is_readable(page < frame ? frame : page))
			continue;
		own_stack.refused = frame / REFUSED_BYTES;
		return false;
	}
	own_stack.low = lowest;
	return true;
}

uint64_t stack_words_above(uint64_t frame)
{
	return frame % sizeof(uint64_t) == 0 && own_stack_has(frame)
		       ? (own_stack.top - frame) / sizeof(uint64_t)
		       : 0;
}
