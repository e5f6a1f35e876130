/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that change what becomes of a signal: its handler, the masks, the alternate stack.
 *
 * One signal, which programs do not use, is for samples. A program that changes its disposition
 * has it from then on, and is told what it would be told without us. A thread that blocks it, or
 * has no room for it, says so first. All other signals pass by. None of this is recorded.
 *
 * Threads: any, also in signal handlers. A vfork child has dispositions of its own, but not the
 * memory: nothing is changed here. The kernel's answers are corrected there, too.
 */
#include <errno.h>
#include <setjmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hooks.h"

/* As the kernel has it. */
struct kernel_action {
	const void *handler;
	uint64_t flags;
	const void *restorer;
	uint64_t mask;
};

enum { FLAG_RESTORER = 0x04000000 };

/* --- Dispositions --- */

static uint64_t low_word(const sigset_t *set)
{
	return set->__val[0];
}

static void tell(struct sigaction *to, const struct signal_as_if *as_if)
{
	*to = (struct sigaction){ .sa_handler = (sighandler_t)(uintptr_t)as_if->handler,
				  .sa_flags = (int)as_if->flags };
	to->sa_mask.__val[0] = as_if->mask;
}

static bool as_if_without_us(const void *handler, struct signal_as_if *as_if)
{
	return signal_as_if(handler, recorder_minds_signals(), as_if);
}

/* The default, where nothing else was: done without the call. */
static bool is_default_still(const void *handler, uint64_t flags, uint64_t mask,
			     struct signal_as_if *before)
{
	struct signal_as_if now = { NULL, flags | FLAG_RESTORER, mask };

	if (handler != (const void *)SIG_DFL || !recorder_minds_signals())
		return false;
	return signal_stays(&now, before);
}

static void take(int number)
{
	if (number == RECORDER_SIGNAL && recorder_minds_signals())
		signal_is_taken();
}

typedef int action_call(int, const struct sigaction *, struct sigaction *);

static int change_action(action_call *call, int number, const struct sigaction *to,
			 struct sigaction *from)
{
	struct signal_as_if as_if;

	if (number != RECORDER_SIGNAL)
		return call(number, to, from);
	if (to && is_default_still((const void *)to->sa_handler, (uint32_t)to->sa_flags,
				   low_word(&to->sa_mask), &as_if)) {
		if (from)
			tell(from, &as_if);
		return 0;
	}
	if (to)
		take(number);
	int result = call(number, to, from);
	if (result == 0 && from && as_if_without_us((const void *)from->sa_handler, &as_if))
		tell(from, &as_if);
	return result;
}

int hook_sigaction(int number, const struct sigaction *to, struct sigaction *from)
{
	return change_action(real.sigaction, number, to, from);
}

int hook___sigaction(int number, const struct sigaction *to, struct sigaction *from)
{
	return change_action(real.__sigaction, number, to, from);
}

typedef sighandler_t handler_call(int, sighandler_t);

static sighandler_t change_handler(handler_call *call, int number, sighandler_t handler,
				   uint64_t flags, uint64_t mask)
{
	struct signal_as_if as_if;

	if (number != RECORDER_SIGNAL)
		return call(number, handler);
	if (is_default_still((const void *)handler, flags, mask, &as_if))
		return (sighandler_t)(uintptr_t)as_if.handler;
	take(number);
	sighandler_t before = call(number, handler);
	return as_if_without_us((const void *)before, &as_if) ? SIG_DFL : before;
}

static const uint64_t SIGNAL_BIT = UINT64_C(1) << (RECORDER_SIGNAL - 1);

sighandler_t hook_signal(int number, sighandler_t handler)
{
	return change_handler(real.signal, number, handler, SA_RESTART, SIGNAL_BIT);
}

sighandler_t hook___sysv_signal(int number, sighandler_t handler)
{
	return change_handler(real.__sysv_signal, number, handler, SA_RESETHAND | SA_NODEFER, 0);
}

sighandler_t hook_sigset(int number, sighandler_t handler)
{
	take(number);
	return real.sigset(number, handler);
}

int hook_sigignore(int number)
{
	take(number);
	return real.sigignore(number);
}

int hook_siginterrupt(int number, int interrupts)
{
	take(number);
	return real.siginterrupt(number, interrupts);
}

/* Of 2.2.5, for old programs: its handler comes first. */
int hook_sigvec_old(int number, const void *to, void *from)
{
	struct signal_as_if as_if;
	const void **told = from;

	if (to)
		take(number);
	int result = real.sigvec_old(number, to, from);
	if (result == 0 && told && as_if_without_us(*told, &as_if))
		*told = as_if.handler;
	return result;
}

/* The kernel has looked at the pointers when they are used here. */
long hook_raw_sigaction(long call, long number, long to, long from, long bytes)
{
	struct signal_as_if as_if;

	if (to)
		take(RECORDER_SIGNAL);
	long result = real.syscall(call, number, to, from, bytes, 0, 0);
	struct kernel_action *told = (struct kernel_action *)from;
	if (result == 0 && told && as_if_without_us(told->handler, &as_if))
		*told = (struct kernel_action){ as_if.handler, as_if.flags, told->restorer,
						as_if.mask };
	return result;
}

/* --- Masks --- */

/* Whether the thread blocks it now: the mask may have become another than was asked for. */
static bool is_blocked(void)
{
	uint64_t mask = 0;

	real.syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&mask, sizeof(mask), 0, 0);
	return mask & SIGNAL_BIT;
}

/*
 * Before a call after which the signal is blocked, or not; false: nothing is to be done. It may be
 * blocked already, as in a handler, whose end brings the old mask back without a call.
 */
static bool mask_begins(bool blocks)
{
	if (!signal_is_in_use() || signal_is_paused() == blocks || (blocks && is_blocked()) ||
	    !recorder_minds_signals())
		return false;
	if (blocks)
		signal_is_blocked_soon();
	return true;
}

static void mask_ends(bool has_begun)
{
	if (!has_begun)
		return;
	int error = errno;
	if (!is_blocked())
		signal_is_unblocked();
	errno = error;
}

typedef int mask_call(int, const sigset_t *, sigset_t *);

static int change_mask(mask_call *call, int how, const sigset_t *set, sigset_t *before)
{
	bool has_it = set && (low_word(set) & SIGNAL_BIT);

	if (!set || (!has_it && how != SIG_SETMASK))
		return call(how, set, before);
	bool has_begun = mask_begins(has_it && how != SIG_UNBLOCK);
	int result = call(how, set, before);
	mask_ends(has_begun);
	return result;
}

int hook_pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
	return change_mask(real.pthread_sigmask, how, set, before);
}

int hook_sigprocmask(int how, const sigset_t *set, sigset_t *before)
{
	return change_mask(real.sigprocmask, how, set, before);
}

int hook_sighold(int number)
{
	bool has_begun = number == RECORDER_SIGNAL && mask_begins(true);
	int result = real.sighold(number);
	mask_ends(has_begun);
	return result;
}

int hook_sigrelse(int number)
{
	bool has_begun = number == RECORDER_SIGNAL && mask_begins(false);
	int result = real.sigrelse(number);
	mask_ends(has_begun);
	return result;
}

int hook_sigblock(int mask)
{
	bool has_begun = (mask & (int)SIGNAL_BIT) && mask_begins(true);
	int result = real.sigblock(mask);
	mask_ends(has_begun);
	return result;
}

int hook_sigsetmask(int mask)
{
	bool has_begun = mask_begins(mask & (int)SIGNAL_BIT);
	int result = real.sigsetmask(mask);
	mask_ends(has_begun);
	return result;
}

/* The pointer may be bad, which is for the kernel to say: the thread is paused in any case. */
long hook_raw_sigprocmask(long call, long how, long set, long before, long bytes)
{
	bool has_begun = set && (mask_begins(true) || mask_begins(false));
	long result = real.syscall(call, how, set, before, bytes, 0, 0);
	mask_ends(has_begun);
	return result;
}

/* A jump that brings back the mask of its place: what comes behind it cannot be seen. */
static void jump_begins(const struct __jmp_buf_tag *place)
{
	bool blocks = low_word((const sigset_t *)&place->__saved_mask) & SIGNAL_BIT;
	bool changes = signal_is_in_use() && place->__mask_was_saved && mask_begins(blocks);

	if (changes && !blocks)
		signal_is_unblocked();
}

void hook_longjmp(struct __jmp_buf_tag *place, int value)
{
	jump_begins(place);
	real.longjmp(place, value);
}

void hook___longjmp_chk(struct __jmp_buf_tag *place, int value)
{
	jump_begins(place);
	real.__longjmp_chk(place, value);
}

/* A bad pointer is for the kernel to say: it reads the mask, and then knows no such change. */
static bool is_readable(const sigset_t *mask)
{
	enum { NO_CHANGE = -1, MASK_BYTES = 8 };
	int error = errno;

	real.syscall(SYS_rt_sigprocmask, NO_CHANGE, (long)mask, 0, MASK_BYTES, 0, 0);
	bool is_bad = errno == EFAULT;
	errno = error;
	return !is_bad;
}

/* A descriptor for it wants it for good: it tells also what others' threads have pending. */
int hook_signalfd(int fd, const sigset_t *mask, int flags)
{
	if (mask && recorder_minds_signals() && is_readable(mask) && (low_word(mask) & SIGNAL_BIT))
		take(RECORDER_SIGNAL);
	int result = real.signalfd(fd, mask, flags);
	if (result >= 0 && !recorder_is_off())
		descriptor_forget(result);
	return result;
}

/* --- Alternate stacks --- */

static bool stack_begins(const void *to)
{
	if (!to || !recorder_minds_signals())
		return false;
	signal_stack_changes();
	return true;
}

static void stack_ends(bool has_begun)
{
	if (has_begun)
		signal_stack_has_changed();
}

int hook_sigaltstack(const stack_t *to, stack_t *from)
{
	bool has_begun = stack_begins(to);
	int result = real.sigaltstack(to, from);
	stack_ends(has_begun);
	return result;
}

int hook_sigstack(struct sigstack *to, struct sigstack *from)
{
	bool has_begun = stack_begins(to);
	int result = real.sigstack(to, from);
	stack_ends(has_begun);
	return result;
}

long hook_raw_sigaltstack(long call, long to, long from)
{
	bool has_begun = stack_begins((const void *)to);
	long result = real.syscall(call, to, from, 0, 0, 0, 0);
	stack_ends(has_begun);
	return result;
}
