/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals held back. See held.h.
 *
 * A file that may not grow brings SIGXFSZ, a pipe that nobody reads SIGPIPE, the terminal of a
 * program in the background SIGTTOU. Those that came meanwhile are taken away, but not the ones
 * that the program had pending itself. SIGTTOU goes to a process group: blocked, it is not sent at
 * all. Any thread; async-signal-safe.
 */
#include "held.h"

#include <signal.h>

#include "syscalls.h"

#include "in_target.h"

#define BIT_OF(number) (UINT64_C(1) << ((number)-1))
#define OURS           (BIT_OF(SIGXFSZ) | BIT_OF(SIGPIPE))

void held_begin(struct held_signals *held)
{
	uint64_t blocked = OURS | BIT_OF(SIGTTOU);

	sys_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&blocked, (long)&held->mask, 8, 0, 0);
	held->pending = 0;
	(void)SYS3(rt_sigpending, &held->pending, 8, 0);
}

void held_end(const struct held_signals *held)
{
	uint64_t ours = OURS & ~held->pending;
	const struct timespec now = { 0, 0 };

	while (sys_call(SYS_rt_sigtimedwait, (long)&ours, 0, (long)&now, 8, 0, 0) > 0)
		continue;
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&held->mask, 0, 8, 0, 0);
}
