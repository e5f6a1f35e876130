/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at each child that a watch has. See reaped.h. The kernel is asked in a way that leaves the
 * child to the program.
 */
#include "reaped.h"

#include <errno.h>
#include <sys/wait.h>

#include "syscalls.h"
#include "watch.h"

#include "in_target.h"

static bool is_gone(uint64_t pid)
{
	return sys_call(SYS_waitid, P_PID, (long)pid, 0, WEXITED | WNOHANG | WNOWAIT | __WALL, 0,
			0) == -ECHILD;
}

void reaped_forget(struct arena *arena)
{
	for (uint32_t i = 0; i < WATCHES_MAX; i++) {
		struct watch *watch = (struct watch *)watch_at(arena, i);

		if (!watch || load_acquire(&watch->type) != WATCH_CHILD ||
		    watch_child_op(watch) == 0 || !is_gone(load_relaxed(&watch->address)))
			continue;
		/* Unless a thread is just writing its record. */
		if (!(or_acq_rel(&watch->holder_op, HANDLE_ENDING) & HANDLE_ENDING))
			watch_forget((const void *)(uintptr_t)load_relaxed(&watch->address));
	}
}
