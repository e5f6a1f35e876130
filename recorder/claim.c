/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose the signal of samples is. See claim.h.
 *
 * A program that sets the default anew changes nothing: the handler stays, and what it has set is
 * kept here for when it asks. Any other change makes the signal its own. Its pending signals of
 * ours are dropped by ignoring it for a moment; what somebody has sent is sent again. Known race: a
 * program that another thread starts in that moment is started with the signal ignored.
 *
 * Handlers that are installed without libc are noticed by the control thread, at its next look.
 *
 * Threads: any. `owner` is written under the lock, and read without it where a moment's delay does
 * no harm.
 */
#include "claim.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

#include "arena.h"
#include "atomics.h"
#include "clock.h"
#include "gate.h"
#include "sample.h"
#include "syscalls.h"
#include "timers.h"

#include "in_target.h"

enum { YIELDS = 100, PAUSE_NS = 50000, MASK_BYTES = sizeof(uint64_t) };
enum owner { OWNER_NOBODY, OWNER_WE, OWNER_PROGRAM, OWNER_RUNTIME };

#define SIGNAL_BIT (UINT64_C(1) << (SAMPLE_SIGNAL - 1))

static struct {
	uint32_t lock; /* 1 = somebody has it */
	uint32_t owner;
	uint32_t is_foreign;       /* another handler was found */
	uint64_t taken_ticks;      /* when the program took it from us */
	size_t frame_bytes;        /* that a signal's frame may have; at load */
	struct signal_as_if as_if; /* the disposition without us */
} claim;

void claim_lock(void)
{
	uint32_t nobody = 0;

	/* Pairs with claim_unlock(). */
	for (int i = 0; !cas_acq_rel(&claim.lock, &nobody, 1); i++) {
		nobody = 0;
		if (i < YIELDS)
			sys_yield();
		else
			sys_pause_ns(PAUSE_NS);
	}
}

void claim_unlock(void)
{
	store_release(&claim.lock, 0);
}

bool claim_is_ours(void)
{
	return load_relaxed(&claim.owner) == OWNER_WE;
}

void claim_start(bool is_go)
{
	/* Where the kernel does not tell. */
	enum { FRAME_BYTES = 4096 };
	int error = errno;

	claim.frame_bytes = getauxval(AT_MINSIGSTKSZ);
	errno = error;
	if (claim.frame_bytes == 0)
		claim.frame_bytes = FRAME_BYTES;
	if (is_go)
		claim.owner = OWNER_RUNTIME;
}

/* --- The control thread's side --- */

static bool install(void)
{
	sample_read_default(&claim.as_if);
	return sample_install();
}

bool claim_take(void)
{
	claim_lock();
	if (claim.owner == OWNER_NOBODY) {
		bool is_installed = install();

		store_relaxed(&claim.is_foreign, !is_installed);
		store_relaxed(&claim.owner, is_installed ? OWNER_WE : OWNER_NOBODY);
	}
	claim_unlock();
	return claim_is_ours();
}

bool claim_is_kept(void)
{
	claim_lock();
	if (claim.owner == OWNER_WE && !sample_is_installed()) {
		timers_drop_all();
		claim.taken_ticks = clock_now_ticks();
		store_relaxed(&claim.is_foreign, 1);
		store_relaxed(&claim.owner, OWNER_NOBODY);
	}
	claim_unlock();
	return claim_is_ours();
}

/* --- The program's side --- */

/* Signals that somebody has sent to the caller, or to the process. */
struct sent {
	siginfo_t infos[2];
	int count;
};

static void take_sent(struct sent *sent)
{
	const struct timespec now = { 0, 0 };
	uint64_t set = SIGNAL_BIT;
	siginfo_t info;

	sent->count = 0;
	while (sys_call(SYS_rt_sigtimedwait, (long)&set, (long)&info, (long)&now, MASK_BYTES, 0,
			0) > 0)
		if (info.si_code != SI_TIMER && sent->count < 2)
			sent->infos[sent->count++] = info;
}

static void send_again(const struct sent *sent)
{
	int pid = sys_getpid();

	for (int i = 0; i < sent->count; i++) {
		const siginfo_t *info = &sent->infos[i];

		if (info->si_code == SI_TKILL)
			(void)sys_call(SYS_rt_tgsigqueueinfo, pid, sys_gettid(), SAMPLE_SIGNAL,
				       (long)info, 0, 0);
		else if (SYS3(rt_sigqueueinfo, pid, SAMPLE_SIGNAL, info) != 0)
			/* The first thread alone may repeat a kill() in its name. */
			(void)SYS3(kill, pid, SAMPLE_SIGNAL, 0);
	}
}

/* Signals are blocked in the caller. */
static void give_up(void)
{
	struct sent sent;

	timers_drop_all();
	take_sent(&sent);
	sample_uninstall(&claim.as_if);
	send_again(&sent);
	claim.taken_ticks = clock_now_ticks();
}

void signal_is_taken(void)
{
	uint64_t mask = sys_block_signals();
	bool ends_samples;

	claim_lock();
	ends_samples = claim.owner == OWNER_WE && timers_are_wanted();
	if (claim.owner == OWNER_WE)
		give_up();
	if (claim.owner != OWNER_RUNTIME)
		store_relaxed(&claim.owner, OWNER_PROGRAM);
	claim_unlock();
	sys_restore_signals(mask);
	if (ends_samples && recorder_arena)
		claim_note(recorder_arena);
}

bool signal_stays(const struct signal_as_if *now, struct signal_as_if *before)
{
	uint64_t mask = sys_block_signals();
	bool stays;

	claim_lock();
	if (claim.owner == OWNER_NOBODY)
		sample_set_default(now, before);
	else
		*before = claim.as_if;
	stays = claim.owner == OWNER_WE || claim.owner == OWNER_NOBODY;
	if (claim.owner == OWNER_WE)
		claim.as_if = *now;
	claim_unlock();
	sys_restore_signals(mask);
	return stays;
}

bool signal_as_if(const void *handler, bool is_minded, struct signal_as_if *as_if)
{
	uint64_t mask;

	if (!sample_is_handler(handler))
		return false;
	/* Nobody may be there to give the lock back, and no call may be allowed. */
	if (!is_minded) {
		*as_if = claim.as_if;
		return true;
	}
	mask = sys_block_signals();
	claim_lock();
	*as_if = claim.as_if;
	claim_unlock();
	sys_restore_signals(mask);
	return true;
}

bool signal_is_in_use(void)
{
	return claim_is_ours() && !gate_is_confined();
}

bool signal_is_paused(void)
{
	return timers_own_is_paused();
}

void signal_thread_begins(void)
{
	uint64_t mask;

	if (!signal_is_in_use())
		return;
	mask = sys_block_signals();
	timers_begin_own(mask >> (SAMPLE_SIGNAL - 1) & 1);
	sys_restore_signals(mask);
}

void signal_is_blocked_soon(void)
{
	uint64_t mask = sys_block_signals();

	timers_pause_own();
	sys_restore_signals(mask);
}

void signal_is_unblocked(void)
{
	uint64_t mask = sys_block_signals();

	timers_resume_own();
	sys_restore_signals(mask);
}

static void own_stack(bool is_large)
{
	uint64_t mask = sys_block_signals();

	timers_own_stack(is_large);
	sys_restore_signals(mask);
}

void signal_stack_changes(void)
{
	own_stack(false);
}

void signal_stack_has_changed(void)
{
	/* A handler of the program's may run there: its frame, what it takes itself, then ours. */
	enum { HANDLERS_BYTES = 8192 };
	stack_t now = { .ss_flags = SS_DISABLE };

	(void)SYS3(sigaltstack, NULL, &now, 0);
	own_stack((now.ss_flags & SS_DISABLE) ||
		  now.ss_size >= 2 * claim.frame_bytes + HANDLERS_BYTES);
}

/* --- Status --- */

const char *claim_refusal(void)
{
	switch (load_relaxed(&claim.owner)) {
	case OWNER_PROGRAM:
		return "the program handles signal 16 (SIGSTKFLT) itself";
	case OWNER_RUNTIME:
		return "the runtime of Go handles all signals itself";
	default:
		return load_relaxed(&claim.is_foreign)
			       ? "the program handles signal 16 (SIGSTKFLT) itself"
			       : NULL;
	}
}

void claim_note(struct arena *arena)
{
	uint64_t never = 0, begin = arena->clock.base.ticks;
	uint64_t since = claim.taken_ticks > begin ? claim.taken_ticks : begin;

	if (!claim_refusal())
		return;
	store_relaxed(&arena->unsampled_why,
		      load_relaxed(&claim.owner) == OWNER_RUNTIME ? UNSAMPLED_GO : UNSAMPLED_TAKEN);
	/* Pairs with the drainer: the reason is there. */
	(void)cas_acq_rel(&arena->unsampled_ticks, &never, since);
}

void claim_fork_child(void)
{
	/* Another thread of the parent's was about to give it up. */
	if (claim.owner == OWNER_WE && !sample_is_installed()) {
		if (claim.lock)
			sample_uninstall(&claim.as_if);
		claim.owner = OWNER_NOBODY;
	}
	claim.lock = 0;
	claim.is_foreign = 0;
	claim.taken_ticks = 0;
	timers_fork_child();
}
