/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vfork: the child runs in the parent's memory, on the parent's stack, until it execs or exits.
 *
 * So no frame of ours may be there when libc's vfork returns for the first time (vfork.S). The
 * parent's data lies in thread-local storage meanwhile: its return address, and the child's start.
 * A child that forks in this way itself puts an entry on top. By the pid that made an entry the
 * parent finds its own again, even after the child died. More than VFORKS_MAX deep they go
 * unrecorded. Also while recording is off: the child may set a filter of system calls, and its
 * parent must be known to be back.
 */
#include <errno.h>
#include <sys/syscall.h>

#include "children.h"

enum { VFORKS_MAX = 3 };

struct vfork_entry {
	struct child_start child;
	const void *pc;
	long maker; /* pid */
	bool is_again;
};

static __thread struct vfork_entry entries[VFORKS_MAX];
static __thread int entry_count;

static long own_pid(void)
{
	return real.syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

/* False: go on to libc as if we were not there. */
bool hook_vfork_begin(const void *pc, const void *frame)
{
	if (entry_count == VFORKS_MAX || !recorder_vfork_begins())
		return false;
	struct vfork_entry *entry = &entries[entry_count++];
	entry->pc = pc;
	entry->maker = own_pid();
	entry->is_again = false;
	child_announce(&entry->child, CALL_vfork, (struct caller){ pc, frame });
	return true;
}

/* First in the child, on top of its parent's entry, then in the parent, or there only, on
 * failure. No place to go on: it is done again. */
struct vfork_return hook_vfork_end(int pid)
{
	if (pid == 0)
		return (struct vfork_return){ 0, entries[entry_count - 1].pc };
	long maker = own_pid();
	while (entry_count > 1 && entries[entry_count - 1].maker != maker)
		entry_count--;
	struct vfork_entry *entry = &entries[entry_count - 1];
	if (hooks_try_again(&entry->is_again, pid < 0 ? errno : 0))
		return (struct vfork_return){ pid, NULL };
	entry_count--;
	recorder_vfork_ends();
	if (pid > 0)
		child_begin(&entry->child, pid);
	return (struct vfork_return){ pid, entry->pc };
}
