/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Futex calls by syscall(): C++ atomics, Rust, locks that are not libc's own. All others pass by
 * (syscall.S). A futex call tells the address waited on, but no holder: these are waits and wakes
 * only. A wake is worth a record only where a thread waits. Threads: any; not a cancellation point.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include "hooks.h"
#include "watch.h"

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

static bool futex_waits(int command)
{
	return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI ||
	       command == FUTEX_LOCK_PI2 || command == FUTEX_WAIT_REQUEUE_PI;
}

/* The kernel finds the owner in the word. */
static bool futex_has_owner(int command)
{
	return command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2;
}

/* The kernel reads the word; the program may have passed anything. 0 = nobody. */
static uint32_t owner_in(const void *address)
{
	uint32_t word = 0;
	struct iovec to = { &word, sizeof(word) }, from = { (void *)address, sizeof(word) };
	long pid = real.syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
	if (real.syscall(SYS_process_vm_readv, pid, (long)&to, 1, (long)&from, 1, 0) !=
	    (long)sizeof(word))
		return 0;
	return word & FUTEX_TID_MASK;
}

static bool futex_wakes(int command)
{
	return command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET || command == FUTEX_WAKE_OP ||
	       command == FUTEX_REQUEUE || command == FUTEX_CMP_REQUEUE ||
	       command == FUTEX_CMP_REQUEUE_PI || command == FUTEX_UNLOCK_PI;
}

/* Before the real call; only addresses on which somebody has waited are worth a record. Whoever
 * wakes nobody there may give back a lock. */
static void wake(const void *address, int command, uint32_t most, struct caller caller)
{
	struct watch *watch = watch_find(address);
	uint32_t waiters = watch ? __atomic_load_n(&watch->waiters, __ATOMIC_RELAXED) : 0;
	struct self *self = watch ? hook_enter() : NULL;
	if (!self)
		return;
	if (command == FUTEX_UNLOCK_PI)
		most = 1;
	wake_announce(self, LINK_WAKE, watch, waiters < most ? waiters : most,
		      most >= INT32_MAX ? RECORD_ALL : 0, caller_stack(self, caller));
	self_leave(self);
}

/* Those who wait in other processes are not known here: every wake of a futex that is not private
 * may be for them. */
static void wake_elsewhere(const void *address, uint32_t most, struct caller caller)
{
	struct self *self = hook_enter();
	struct watch *watch = self ? watch_get(self, address, WATCH_FUTEX) : NULL;
	if (watch) {
		watch_share(watch);
		wake_announce(self, LINK_WAKE, watch, most, most >= INT32_MAX ? RECORD_ALL : 0,
			      caller_stack(self, caller));
	}
	self_leave(self);
}

struct futex_wait {
	struct watch *watch;
	uint64_t handle;
	uint64_t began_ticks;
};

static void futex_wait_begin(struct futex_wait *wait, const void *address, int operation,
			     struct caller caller)
{
	*wait = (struct futex_wait){ .handle = 0 };
	struct self *self = hook_enter();
	if (!self)
		return;
	wait->watch = watch_get(self, address, WATCH_FUTEX);
	if (wait->watch)
		watch_wait_begins(wait->watch);
	if (wait->watch && !(operation & FUTEX_PRIVATE_FLAG))
		watch_share(wait->watch);
	wait->began_ticks = clock_ticks();
	wait->handle = wait_begin(self, REASON_FUTEX, CALL_syscall, address,
				  wait->watch ? wait->watch->ident : 0, caller_stack(self, caller),
				  caller.frame);
	if (futex_has_owner(operation & FUTEX_CMD_MASK))
		wait_held_by(self, wait->handle, owner_in(address));
	self_leave(self);
}

static void futex_wait_end(struct futex_wait *wait, bool is_woken, bool is_timed_out)
{
	if (wait->watch)
		watch_wait_ends(wait->watch);
	bool is_during = wait->watch && (int64_t)(wait->watch->last_ticks - wait->began_ticks) >= 0;
	uint64_t target = is_woken && is_during ? wait->watch->last_op : 0;
	if (target != 0)
		wait_takes_longer(wait->handle, wait->watch->last_ticks);
	struct self *self = wait->handle ? hook_enter() : NULL;
	if (!self)
		return;
	wait_end(self, wait->handle, target, is_timed_out ? RECORD_TIMED_OUT : 0);
	self_leave(self);
}

long hook_futex(long a, long b, long c, long d, long e, long f)
{
	int command = (int)b & FUTEX_CMD_MASK;
	bool is_shared = !((int)b & FUTEX_PRIVATE_FLAG);
	if (is_shared && (command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET))
		wake_elsewhere((const void *)a, (uint32_t)c, CALLER);
	else if (futex_wakes(command))
		wake((const void *)a, command, (uint32_t)c, CALLER);
	if (!futex_waits(command))
		return real.syscall(SYS_futex, a, b, c, d, e, f);
	struct futex_wait wait;
	futex_wait_begin(&wait, (const void *)a, (int)b, CALLER);
	long result = real.syscall(SYS_futex, a, b, c, d, e, f);
	futex_wait_end(&wait, result == 0, result == -1 && errno == ETIMEDOUT);
	return result;
}
