/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of the code that runs on the CPU. See sample.h.
 *
 * The handler runs on the interrupted thread, with all signals blocked. The kernel puts the
 * signal's frame on the thread's alternate stack, if it has one. Otherwise a program's threads may
 * be on stacks of any size. But an alternate stack may have no room for more than that frame
 * (Rust's has 8 KiB). So all work is done on a spare stack of ours. As many samples as there are of
 * those can be taken at once; one more is counted, and left alone.
 *
 * It registers a thread that has not come by before. A thread inside the recorder itself is counted
 * and left alone. It changes nothing that the program can see.
 *
 * The kernel sends the signal of a thread's CPU timer when that thread is on its way back to its
 * own code. So no call of the program's is ever interrupted by it.
 */
#include "sample.h"

#include <stdbool.h>
#include <ucontext.h>

#include "clock.h"
#include "glimpse.h"
#include "mark.h"
#include "self.h"
#include "stack.h"
#include "stacks.h"
#include "syscalls.h"

#include "in_target.h"

/* More stacks than that in the arena: the rest is for waits. */
enum { SAMPLE_STACKS_MAX = STACKS_MAX / 2 };

/* The kernel's struct, which libc's does not resemble. */
struct kernel_action {
	void (*handler)(int, siginfo_t *, void *);
	uint64_t flags;
	void (*restorer)(void);
	uint64_t mask;
};

enum { ACTION_RESTORER = 0x04000000, MASK_BYTES = sizeof(uint64_t) };

void sample_return(void) HIDDEN;
__asm__(".pushsection .text\n"
	".type sample_return, @function\n"
	"sample_return:\n"
	"	mov $15, %eax\n" /* rt_sigreturn */
	"	syscall\n"
	".size sample_return, . - sample_return\n"
	".popsection\n");

static int action(const struct kernel_action *to, struct kernel_action *from)
{
	return (int)sys_call(SYS_rt_sigaction, SAMPLE_SIGNAL, (long)to, (long)from, MASK_BYTES, 0,
			     0);
}

/* Somebody sent it by kill() and means it: the handler's presence must make no difference. */
static void die_of_it(void)
{
	struct kernel_action usual = { 0 };

	(void)action(&usual, NULL);
	(void)sys_tgkill(sys_getpid(), sys_gettid(), SAMPLE_SIGNAL);
}

static void take_sample(const ucontext_t *context)
{
	struct self *self = self_enter();
	uint64_t now = clock_now_ticks();

	if (!self)
		return;
	if (stacks_count(recorder_arena) < SAMPLE_STACKS_MAX)
		mark_sample(self, now, stack_capture_interrupted(self, context));
	else
		self_count(self, COUNTER_skipped_samples);
	self_leave(self);
}

/* More than CPUs that are likely to be in a handler at once, each larger than what unwinding takes
 * several times. Pages that nobody uses cost nothing. */
enum { SPARE_STACKS = 32, SPARE_BYTES = 32768 };
static struct {
	_Alignas(64) uint32_t taken; /* bits; by exchange, so that two never have one */
	_Alignas(4096) char bytes[SPARE_STACKS][SPARE_BYTES];
} spare;

/* The number of a stack that is the caller's until it gives it back; SPARE_STACKS = none. */
static uint32_t spare_take(void)
{
	/* Acquire pairs with spare_give(): who had it before has left it. */
	for (uint32_t i = 0; i < SPARE_STACKS; i++)
		if (!(or_acq_rel(&spare.taken, UINT32_C(1) << i) & UINT32_C(1) << i))
			return i;
	return SPARE_STACKS;
}

static void spare_give(uint32_t index)
{
	(void)and_release(&spare.taken, ~(UINT32_C(1) << index));
}

void sample_fork_child(void)
{
	/* Whoever had one is not in this process. */
	store_relaxed(&spare.taken, 0);
}

struct delivery {
	siginfo_t *info;
	void *context;
};

static void answer(struct delivery *delivery)
{
	const siginfo_t *info = delivery->info;

	if (info->si_code != SI_TIMER)
		die_of_it();
	else if (info->si_int != 0)
		glimpse_answer(info->si_int, delivery->context);
	else if (self_of_thread.busy && self_of_thread.slot)
		self_count(&self_of_thread, COUNTER_skipped_samples);
	else if (!self_of_thread.busy && !self_of_thread.retired)
		take_sample(delivery->context);
}

/* Calls answer() with the stack pointer at `top`. */
static void answer_on(char *top, struct delivery *delivery)
{
	__asm__ volatile("mov %%rsp, %%rbx\n\t"
			 "mov %[top], %%rsp\n\t"
			 "call *%[function]\n\t"
			 "mov %%rbx, %%rsp"
			 : "+D"(delivery)
			 : [top] "r"(top), [function] "r"(answer)
			 : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory",
			   "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
			   "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

static void handler(int number, siginfo_t *info, void *context)
{
	struct delivery delivery = { info, context };
	uint32_t index = spare_take();

	(void)number;
	if (index == SPARE_STACKS) {
		if (self_of_thread.slot)
			self_count(&self_of_thread, COUNTER_skipped_samples);
		return;
	}
	answer_on(spare.bytes[index] + SPARE_BYTES, &delivery);
	spare_give(index);
}

bool sample_is_installed(void)
{
	struct kernel_action now = { 0 };

	return action(NULL, &now) == 0 && now.handler == handler;
}

bool sample_install(void)
{
	struct kernel_action mine = {
		.handler = handler,
		.flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK | ACTION_RESTORER,
		.restorer = sample_return,
		.mask = UINT64_MAX,
	};
	struct kernel_action now = { 0 };

	if (action(NULL, &now) != 0 || (now.handler && now.handler != handler))
		return false;
	return now.handler == handler || action(&mine, NULL) == 0;
}
