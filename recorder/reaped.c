/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at each child that a watch has. See reaped.h. The kernel is asked in a way that leaves the
 * child to the program.
 *
 * A child ended, and was waited for, at some moment of a pause that is about to end. No window has
 * that moment, so its op may end now. Or it ended a call that had begun in the pause, which no hook
 * sees return (found.h). It is written as every op is. The window in which it
 * began may not have been handed out yet, or a dump had it among what was open.
 *
 * Known race: a child of another one's pid, of which nothing is recorded, is taken for that one.
 */
#include "reaped.h"

#include <errno.h>
#include <sys/wait.h>

#include "arena.h"
#include "syscalls.h"
#include "watch.h"

#include "in_target.h"

static bool is_gone(uint64_t pid)
{
	return sys_call(SYS_waitid, P_PID, (long)pid, 0, WEXITED | WNOHANG | WNOWAIT | __WALL, 0,
			0) == -ECHILD;
}

uint64_t reaped_write(struct self *self, uint32_t pid, uint64_t end_ticks)
{
	const struct arena *arena = recorder_arena;
	uint64_t last = 0;

	for (uint32_t i = watch_next(arena, 0); i < WATCHES_MAX; i = watch_next(arena, i + 1)) {
		struct watch *watch = watch_at(arena, i);

		uint64_t address = watch ? load_relaxed(&watch->address) : 0, op = 0;

		if (watch && load_acquire(&watch->type) == WATCH_CHILD &&
		    (pid == 0 || pid == address) && watch_child_op(watch) != 0 && is_gone(address))
			op = watch_end_child(self, watch, OUTCOME_NONE, 0, end_ticks);
		last = op ? op : last;
	}
	return last;
}
