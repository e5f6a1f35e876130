/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of the code that runs on the CPU. See sample.h.
 *
 * The handler runs on the interrupted thread, with all signals blocked. The kernel puts the
 * signal's frame on the thread's alternate stack, if it has one. Otherwise a program's threads may
 * be on stacks of any size. On an alternate stack a handler of the program's may run already, so
 * small ones get no sample (claim.c). The rest of a larger one is the program's. So all work is
 * done on a spare stack of ours (spare.h). Where none is free, the sample is counted, and left
 * alone.
 *
 * It registers a thread that has not come by before. A thread inside the recorder itself is counted
 * and left alone. It changes nothing that the program can see.
 *
 * The kernel sends the signal of a thread's CPU timer when that thread is on its way back to its
 * own code. So no call of the program's is ever interrupted by it.
 */
#include "sample.h"

#include <stdbool.h>
#include <string.h>
#include <ucontext.h>

#include "clock.h"
#include "condition.h"
#include "context.h"
#include "glimpse.h"
#include "mark.h"
#include "meter.h"
#include "self.h"
#include "slow.h"
#include "spare.h"
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

/* Of two the one that is not in use is written. A handler that still reads it, as two changes came
 * at once, judges one sample by half of each. */
struct when {
	struct condition condition;
	char text[CONDITION_BYTES + 32]; /* in place of a call stack */
	size_t text_bytes;
};
static struct when whens[2];
static struct when *present_when; /* NULL: all samples have their stacks */

void sample_set_condition(const char *text)
{
	struct when *when = load_relaxed(&present_when) == &whens[0] ? &whens[1] : &whens[0];
	struct text shown = { .bytes = when->text, .size = sizeof(when->text) };
	bool is_condition = text[0] && condition_parse(text, strlen(text), &when->condition, NULL);

	(void)requests_follow(REQUESTS_FOR_SAMPLES,
			      is_condition && condition_asks_for_requests(&when->condition));
	if (is_condition) {
		condition_settle(&when->condition);
		text_put_literal(&shown, "[outside:");
		text_put(&shown, text);
		text_put_literal(&shown, "]");
		/* A space would end the function's name. */
		for (size_t i = 0; i < shown.used; i++)
			if (shown.bytes[i] == ' ')
				shown.bytes[i] = '_';
		when->text_bytes = shown.used;
	}
	/* Pairs with the handler's load. */
	store_release(&present_when, is_condition ? when : NULL);
}

/* The stack of a thread for which the condition does not hold; 0: it does, or there is none. */
static uint32_t stack_instead(struct self *self, uint64_t now)
{
	struct when *when = load_acquire(&present_when);
	struct request_now request;
	uint64_t word;

	if (!when || condition_judge(&when->condition, self, now, &request) == CONDITION_YES)
		return 0;
	self_count(self, COUNTER_unmet_samples);
	word = STACK_TEXT | string_intern(when->text, when->text_bytes);
	return stack_intern(&word, 1);
}

static uint32_t stack_for(struct self *self, uint64_t now, const ucontext_t *context)
{
	uint32_t stack = stack_instead(self, now);

	return stack ? stack : stack_capture_interrupted(self, context);
}

static void take_sample(const ucontext_t *context)
{
	struct self *self = self_enter();
	struct slow_path path;
	uint64_t now;

	if (!self)
		return;
	path = slow_path_begin(self);
	if (ops_may_take_longer())
		slow_sample(self, context);
	context_follow(self);
	now = clock_now_ticks();
	if (stacks_count(recorder_arena) < SAMPLE_STACKS_MAX)
		mark_sample(self, now, stack_for(self, now, context));
	else
		self_count(self, COUNTER_skipped_samples);
	slow_path_end(self, &path);
	self_leave(self);
}

struct delivery {
	siginfo_t *info;
	void *context;
};

static void answer(void *argument)
{
	const struct delivery *delivery = argument;
	const siginfo_t *info = delivery->info;

	if (info->si_int != 0)
		glimpse_answer(info->si_int, delivery->context);
	else if (self_of_thread.busy && self_of_thread.slot)
		self_count(&self_of_thread, COUNTER_skipped_samples);
	else if (!self_of_thread.busy && !self_of_thread.retired)
		take_sample(delivery->context);
}

static void handler(int number, siginfo_t *info, void *context)
{
	struct delivery delivery = { info, context };

	(void)number;
	if (info->si_code != SI_TIMER)
		die_of_it();
	else if (!spare_call_blocked(answer, &delivery) && self_of_thread.slot)
		self_count(&self_of_thread, COUNTER_skipped_samples);
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

static void read_action(const struct kernel_action *action, struct signal_as_if *as_if)
{
	*as_if =
		(struct signal_as_if){ (const void *)action->handler, action->flags, action->mask };
}

void sample_read_default(struct signal_as_if *as_if)
{
	struct kernel_action now = { 0 };

	(void)action(NULL, &now);
	read_action(&now, as_if);
}

void sample_set_default(const struct signal_as_if *to, struct signal_as_if *from)
{
	struct kernel_action usual = { .flags = to->flags, .mask = to->mask };
	struct kernel_action before = { 0 };

	(void)action(&usual, &before);
	read_action(&before, from);
}

/* The kernel drops what is pending of a signal that is ignored, on every thread. */
void sample_uninstall(const struct signal_as_if *as_if)
{
	struct kernel_action ignored = { 0 };
	struct kernel_action usual = { .flags = as_if->flags, .mask = as_if->mask };

	ignored.handler = (void (*)(int, siginfo_t *, void *))(uintptr_t)SIG_IGN;
	(void)action(&ignored, NULL);
	(void)action(&usual, NULL);
}

bool sample_is_handler(const void *pointer)
{
	return pointer == (const void *)handler;
}
