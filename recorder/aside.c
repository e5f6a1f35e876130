/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control thread out of the way. See aside.h.
 *
 * libc's setuid() and its like make the same call in every thread, and abort the process when one
 * of them gets another result. Capabilities are a thread's own. So a program that has given some
 * up, or keeps them through setuid(), is alone with that: the control thread did not take part. So
 * it is after system calls of one thread, as which root, name spaces and Landlock are changed. And
 * the kernel moves a process to a user name space only while it has one thread.
 *
 * The thread sits in poll() with a descriptor table of its own and all signals blocked but glibc's
 * two. The one of setuid() wakes it: libc's handler ignores what libc has not sent, and what is
 * sent here says so by its code. It may come just before the thread goes to sleep, so it is sent
 * again until the thread is gone.
 *
 * A server forgoes more rights by prctl(), and may sleep then until its first request: the control
 * thread comes back at the next hook. Other calls come in numbers: a program changes its root and
 * users, or users at each request. None of them must have come for a second. The same holds for the
 * fourth prctl().
 *
 * A program has the kernel tell it of messages by mq_notify(). The kernel forgets that as soon as
 * any thread of the process closes a copy of the queue's descriptor. The control thread does so at
 * its beginning. So none is created any more.
 *
 * Never here: waiting without end, or a signal that nobody handles.
 */
#include "aside.h"

#include <assert.h>
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>

#include "atomics.h"
#include "clock.h"
#include "syscalls.h"

#include "in_target.h"

enum {
	SIGNAL_SETXID = 33, /* glibc's */
	TRIES = 5000,       /* of TRY_PAUSE_NS and what a busy machine adds: half a second */
	TRY_PAUSE_NS = 50000,
	QUIET_NS = 1000000000,
	RETURNS_MAX = 3, /* before it waits for that */
	TID_NONE = 0,
	TID_STARTING = -1,
	CAPABILITY_WORDS = _LINUX_CAPABILITY_U32S_3
};

#define CALLS_AWAY (UINT32_C(1) << 31)
/* Like a call that never ends. */
#define CALLS_STAY (UINT32_C(1) << 30)

static int32_t thread_tid; /* or TID_*; written by who creates the thread, then by itself */
static uint32_t is_wanted; /* written by who wants it gone, read by the thread */
static uint32_t has_left;  /* the other way round; it is about to end, or has ended long ago */
static uint32_t calls;     /* under way; CALLS_AWAY: it has served, and is away since; CALLS_STAY */
static uint64_t called_ns; /* when one of them began last */
static uint32_t returns;   /* of the thread, since no call came for QUIET_NS */

bool aside_announce(void)
{
	uint32_t before = load_relaxed(&calls) & CALLS_AWAY;

	store_relaxed(&is_wanted, 0);
	store_relaxed(&has_left, 0);
	/* Pairs with aside_send(): who sees it sees the two above. */
	store_release(&thread_tid, TID_STARTING);
	/* Pairs with aside_call_begins(): a call that comes after this sees that one is starting,
	 * and this fails after a call that has seen none. */
	if (cas_acq_rel(&calls, &before, 0)) {
		if (before)
			add_relaxed(&returns, 1);
		return true;
	}
	aside_forget();
	return false;
}

void aside_forget(void)
{
	store_release(&thread_tid, TID_NONE);
}

void aside_begin(void)
{
	/* Pairs with aside_send(), which sends it a signal from then on. */
	store_release(&thread_tid, sys_gettid());
}

bool aside_has_ended(void)
{
	return load_acquire(&thread_tid) == TID_NONE || load_acquire(&has_left) != 0;
}

bool aside_is_wanted(void)
{
	return load_acquire(&is_wanted) != 0;
}

void aside_end(void)
{
	/* Pairs with aside_send(): whoever starts the next one sees what this one has left. */
	store_release(&has_left, 1);
}

static bool read_capabilities(int32_t tid, struct __user_cap_data_struct *capabilities)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, tid };

	return SYS3(capget, &header, capabilities, 0) == 0;
}

/* TID_NONE, or TID_STARTING if it takes too long to begin. */
static int32_t find_thread(void)
{
	int32_t tid = load_acquire(&thread_tid);

	for (int i = 0; i < TRIES && tid == TID_STARTING; i++) {
		sys_pause_ns(TRY_PAUSE_NS);
		tid = load_acquire(&thread_tid);
	}
	return tid;
}

void aside_fork_child(void)
{
	aside_forget();
	store_relaxed(&calls, 0);
}

bool aside_has_same_rights(void)
{
	struct __user_cap_data_struct own[CAPABILITY_WORDS] = { { 0 } };
	struct __user_cap_data_struct other[CAPABILITY_WORDS] = { { 0 } };
	int32_t tid = find_thread();

	if (tid == TID_NONE)
		return true;
	/* One that is about to end is still on libc's list. */
	return tid > 0 && !load_acquire(&has_left) && read_capabilities(0, own) &&
	       read_capabilities(tid, other) && memcmp(own, other, sizeof(own)) == 0;
}

static bool has_handler(int number)
{
	/* As the kernel has it: handler, flags, restorer, mask. */
	uintptr_t action[4] = { 0 };

	return sys_call(SYS_rt_sigaction, number, 0, (long)action, sizeof(uint64_t), 0, 0) == 0 &&
	       action[0] > (uintptr_t)SIG_IGN;
}

static void wake(int pid, int32_t tid)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = SIGNAL_SETXID;
	info.si_code = SI_QUEUE;
	if (has_handler(SIGNAL_SETXID))
		(void)sys_call(SYS_rt_tgsigqueueinfo, pid, tid, SIGNAL_SETXID, (long)&info, 0, 0);
}

bool aside_send(void)
{
	int pid = sys_getpid();
	int32_t tid = find_thread();
	bool was_serving = !load_acquire(&has_left);

	if (tid <= 0)
		return false;
	store_release(&is_wanted, 1);
	for (int i = 0; i < TRIES; i++) {
		if (sys_tgkill(pid, tid, 0) == -ESRCH) {
			/* Acquire pairs with aside_end(). Of several threads that waited the first
			 * one knows that it has served, and any may see first that it is gone. */
			(void)load_acquire(&has_left);
			(void)cas_acq_rel(&thread_tid, &tid, TID_NONE);
			return was_serving;
		}
		if (!load_acquire(&has_left))
			wake(pid, tid);
		sys_pause_ns(TRY_PAUSE_NS);
	}
	return false;
}

/* --- Calls ----------------------------------------------------------------------------------- */

bool aside_call_begins(bool is_brief)
{
	bool was_there = load_acquire(&thread_tid) != TID_NONE;
	uint64_t now_ns = clock_mono_ns();

	if (now_ns - load_relaxed(&called_ns) >= QUIET_NS)
		store_relaxed(&returns, 0);
	if (!is_brief)
		store_relaxed(&returns, RETURNS_MAX);
	/* Relaxed: of two calls at once either may be the later one. */
	store_relaxed(&called_ns, now_ns);
	/* Pairs with aside_announce(). */
	(void)add_seq_cst(&calls, 1);
	if (aside_send())
		(void)or_acq_rel(&calls, CALLS_AWAY);
	return was_there;
}

bool aside_call_ends(void)
{
	return add_seq_cst(&calls, -1) == (CALLS_AWAY | 1);
}

void aside_stays(void)
{
	/* Pairs with aside_announce(), as above. */
	(void)or_acq_rel(&calls, CALLS_STAY);
	(void)find_thread();
}

bool aside_rests(void)
{
	uint32_t now = load_relaxed(&calls);

	return (now & ~CALLS_AWAY) != 0 ||
	       ((now & CALLS_AWAY) != 0 && load_relaxed(&returns) >= RETURNS_MAX &&
		clock_mono_ns() - load_relaxed(&called_ns) < QUIET_NS);
}
