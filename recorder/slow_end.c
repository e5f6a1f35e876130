/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops take longer just before they end, on the program's threads. See slow.h.
 *
 * An op has lasted L, used C of CPU time, and was W in waits for others. At factor F it spins for
 * (F-1)*C, and sleeps for (F-1)*(L-C-W). A hold sleeps for the blocked time of the calls in it.
 * Neither an op's length nor its extra time counts for another op around it: beginnings that are
 * still open are moved.
 *
 * A sleep lasts longer than it was asked for. So what is to be added is a debt, and what was too
 * much is paid back by later ops. A window has debts of its own: at factor 1 nothing is ever added.
 *
 * The thread is outside the recorder while it sleeps or spins: a signal handler is recorded, may
 * jump away, and may fork. Nothing of the arena is held meanwhile. An interrupted sleep ends. All
 * of it ends with the window, with the rules or with recording, within SLICE_NS.
 *
 * Never here: in a vfork child, in a signal handler, or for longer than EXTRA_NS_MAX.
 */
#include "slow.h"

#include <errno.h>
#include <string.h>

#include "clock.h"
#include "descriptors.h"
#include "entries.h"
#include "gate.h"
#include "handles.h"
#include "op.h"
#include "syscalls.h"

#include "in_target.h"

#define SLICE_NS      UINT64_C(10000000)
#define EXTRA_NS_MAX  INT64_C(1000000000)
#define CREDIT_NS_MAX INT64_C(100000000)
/* Of a thread that others keep from running; the rest of its debt stays. */
#define SPIN_MONO_NS_MAX UINT64_C(2000000000)
/* More than enough for EXTRA_NS_MAX at the least factor. */
#define SPENT_NS_MAX (2000 * EXTRA_NS_MAX)

/* Time that is to be added to an op, and where that began. */
struct addition {
	struct slow_beginning beginning;
	uint64_t window;
	int64_t spin_ns; /* with the thread's debts */
	int64_t sleep_ns;
	uint64_t spun_ns;
	uint64_t slept_ns;
};

/* --- Time to be added ---------------------------------------------------------------------- */

/* From `from` until now is no other op's time any more. */
static void move_beginnings(struct slow_thread *thread, const struct slow_beginning *from)
{
	struct slow_beginning now = {
		.waited_ns = thread->waited_ns,
		.blocked_ns = thread->blocked_ns,
	};

	if (thread->count == 0)
		return;
	now.start_ticks = clock_now_ticks();
	now.cpu_ns = clock_thread_cpu_ns();
	for (uint32_t i = 0; i < thread->count; i++) {
		struct slow_beginning *other = &thread->beginnings[i];
		uint64_t op = other->op;

		if ((int64_t)(other->start_ticks - from->start_ticks) >= 0) {
			*other = now;
			other->op = op;
			continue;
		}
		other->start_ticks += now.start_ticks - from->start_ticks;
		other->cpu_ns += now.cpu_ns - from->cpu_ns;
		other->waited_ns += now.waited_ns - from->waited_ns;
		other->blocked_ns += now.blocked_ns - from->blocked_ns;
	}
}

static int64_t at_least_0(int64_t value)
{
	return value > 0 ? value : 0;
}

/* Neither is a call recorded that is so short. */
static bool is_skipped(const struct record *record, uint64_t ticks, bool is_brief)
{
	return (is_brief && ticks < op_brief_ticks) ||
	       (ticks < load_relaxed(&op_min_io_ticks) && descriptors_is_of_files(record));
}

/* The thread's own CPU time and blocked time since then; the latter may be that of calls inside. */
struct spent {
	int64_t cpu_ns;
	int64_t blocked_ns;
};

static struct spent spent_since(const struct slow_thread *thread,
				const struct slow_beginning *beginning, bool is_by_calls)
{
	uint64_t length_ns = slow_to_ns(clock_now_ticks() - beginning->start_ticks);
	uint64_t cpu_ns = clock_thread_cpu_ns() - beginning->cpu_ns;
	uint64_t waited_ns = thread->waited_ns - beginning->waited_ns;
	struct spent spent = { .cpu_ns = at_least_0(
				       (int64_t)(cpu_ns - load_relaxed(&slow.clock_ns))) };

	spent.blocked_ns = is_by_calls
				   ? (int64_t)(thread->blocked_ns - beginning->blocked_ns)
				   : at_least_0((int64_t)(length_ns - waited_ns) - spent.cpu_ns);
	return spent;
}

/* An op that is about to end, or a wait whose thread has been woken. */
struct ending {
	uint64_t op;
	uint8_t byte;   /* of its stack, or of its class's name */
	uint8_t wanted; /* the word of a rule for it */
};

/* Also with what was not paid before. */
static int64_t due(int64_t *debt_ns, int64_t more_ns, int64_t most_ns)
{
	*debt_ns += more_ns;
	return *debt_ns < most_ns ? *debt_ns : most_ns;
}

/* Bounded before it is multiplied. */
static int64_t extra_of(int64_t spent_ns, int64_t thousandths)
{
	spent_ns = at_least_0(spent_ns);
	return (spent_ns < SPENT_NS_MAX ? spent_ns : SPENT_NS_MAX) * thousandths / 1000;
}

static void add_to_debts(struct self *self, struct slow_thread *thread, struct addition *addition,
			 const struct spent *spent)
{
	int64_t thousandths = (int64_t)(addition->window & SLOW_FACTOR_MASK);
	int64_t spin_ns = extra_of(spent->cpu_ns, thousandths);
	int64_t sleep_ns = extra_of(spent->blocked_ns, thousandths);

	slow_enter_window(thread, addition->window);
	if (spin_ns > EXTRA_NS_MAX || sleep_ns > EXTRA_NS_MAX - spin_ns) {
		spin_ns = spin_ns < EXTRA_NS_MAX ? spin_ns : EXTRA_NS_MAX;
		sleep_ns = EXTRA_NS_MAX - spin_ns;
		self_count(self, COUNTER_slow_refused);
	}
	addition->spin_ns = due(&thread->spin_debt_ns, spin_ns, EXTRA_NS_MAX);
	addition->sleep_ns =
		due(&thread->sleep_debt_ns, sleep_ns, EXTRA_NS_MAX - at_least_0(addition->spin_ns));
}

/* Whether a rule names it, in a window. */
static bool is_wanted(const struct ending *ending, struct addition *addition)
{
	addition->window = load_relaxed(&slow.window);
	return ending->byte & ending->wanted && slow_is_open(addition->window);
}

/* Not where the thread's time is not its own. */
static bool may_add(const struct ending *ending)
{
	return !(ending->byte & SLOW_IN_HANDLER) && !recorder_in_vfork_child();
}

/* A call that is not made longer is blocked time of the ops around it, but for calls inside it. */
static void pass_over(struct slow_thread *thread, const struct ending *ending,
		      const struct slow_beginning *beginning, const struct spent *spent)
{
	uint64_t inside_ns = thread->blocked_ns - beginning->blocked_ns;

	if (ending->wanted == SLOW_CALL)
		thread->blocked_ns += (uint64_t)at_least_0(spent->blocked_ns - (int64_t)inside_ns);
}

static bool add(struct self *self, struct slow_thread *thread, const struct ending *ending,
		struct addition *addition)
{
	struct slow_beginning *beginning = slow_find(thread, ending->op);
	struct spent spent = { 0, 0 };
	bool is_due = is_wanted(ending, addition);

	if (beginning) {
		addition->beginning = *beginning;
		spent = spent_since(thread, beginning, ending->wanted != SLOW_CALL);
		slow_drop(thread, beginning);
	}
	if (!is_due) {
		if (beginning)
			pass_over(thread, ending, &addition->beginning, &spent);
		return false;
	}
	if (!beginning || !may_add(ending)) {
		self_count(self, COUNTER_slow_refused);
		return false;
	}
	add_to_debts(self, thread, addition, &spent);
	return true;
}

static void count_progress(struct slow_thread *thread, const struct ending *ending)
{
	if (ending->byte & SLOW_PROGRESS)
		store_relaxed(&thread->progress, load_relaxed(&thread->progress) + 1);
}

/* False: it is not open here, or will not be recorded. */
static bool find_ending(struct self *self, struct slow_thread *thread, uint64_t op, bool is_brief,
			struct ending *ending)
{
	const struct open_entry *entry = entry_find(self, op);
	struct slow_beginning *beginning = slow_find(thread, op);
	const struct record *record = entry ? &entry->record : NULL;

	if (!record || is_skipped(record, clock_now_ticks() - record->start, is_brief)) {
		if (beginning)
			slow_drop(thread, beginning);
		return false;
	}
	*ending = (struct ending){ op, slow_byte_of(&slow.of_stack, record->stack),
				   entry_is_hold(entry) ? SLOW_HOLD : SLOW_CALL };
	return true;
}

/* The same of one that the program has declared. A wait is none: its length is not its thread's. */
static bool find_declared(struct slow_thread *thread, uint64_t op, struct ending *ending)
{
	uint32_t index = handles_find(recorder_arena, op);
	struct open_entry *entry = index != HANDLE_NONE ? handles_at(recorder_arena, index) : NULL;
	uint64_t start = entry ? load_relaxed(&entry->record.start) : 0;

	if (!entry)
		return false;
	if (load_relaxed(&entry->record.type) == RECORD_WAIT) {
		thread->waited_ns += slow_to_ns(clock_now_ticks() - start);
		return false;
	}
	*ending =
		(struct ending){ op, slow_byte_of(&slow.of_name, load_relaxed(&entry->record.name)),
				 SLOW_OP };
	return true;
}

static bool add_to_wake(struct self *self, uint64_t wait, uint64_t woken_ticks,
			struct addition *addition)
{
	const struct open_entry *entry = entry_find(self, wait);
	struct slow_thread *thread = entry ? slow_thread_of(self) : NULL;
	struct ending ending = { .wanted = SLOW_WAKE };
	struct spent spent = { 0, 0 };
	uint64_t now = clock_now_ticks();

	if (!thread || woken_ticks > now || woken_ticks < entry->record.start)
		return false;
	ending.byte = slow_byte_of(&slow.of_stack, entry->record.stack);
	if (!is_wanted(&ending, addition))
		return false;
	if (!may_add(&ending)) {
		self_count(self, COUNTER_slow_refused);
		return false;
	}
	spent.blocked_ns = (int64_t)slow_to_ns(now - woken_ticks);
	add_to_debts(self, thread, addition, &spent);
	return true;
}

static int64_t debt_left(int64_t debt_ns, uint64_t paid_ns)
{
	int64_t left_ns = debt_ns - (int64_t)paid_ns;

	if (left_ns > EXTRA_NS_MAX)
		return EXTRA_NS_MAX;
	return left_ns > -CREDIT_NS_MAX ? left_ns : -CREDIT_NS_MAX;
}

static void end_addition(struct self *self, const struct addition *addition)
{
	struct slow_thread *thread = slow_thread_of(self);

	self_count(self, COUNTER_slowed);
	self_count_many(self, COUNTER_slowed_ns, addition->spun_ns + addition->slept_ns);
	if (!thread)
		return;
	if (addition->beginning.op != 0)
		move_beginnings(thread, &addition->beginning);
	if (thread->sampled_cpu_ns != 0)
		thread->sampled_cpu_ns += addition->spun_ns;
	if (thread->window != addition->window)
		return;
	thread->spin_debt_ns = debt_left(thread->spin_debt_ns, addition->spun_ns);
	thread->sleep_debt_ns = debt_left(thread->sleep_debt_ns, addition->slept_ns);
}

/* --- Adding ----------------------------------------------------------------------------------- */

/* Whether the window goes on in which it was decided. Where recording has ended, another thread may
 * be about to filter system calls: this thread makes no more. */
static bool goes_on(const struct addition *addition)
{
	return load_relaxed(&slow.window) == addition->window && slow_is_open(addition->window) &&
	       load_relaxed(&recorder_gate.slowed) != 0 &&
	       load_relaxed(&recorder_gate.mode) == GATE_ON;
}

static void spin(struct addition *addition)
{
	uint64_t begun_ns, now_ns, until_ns;

	if (addition->spin_ns <= 0 || !goes_on(addition))
		return;
	until_ns = clock_mono_ns() + SPIN_MONO_NS_MAX;
	begun_ns = now_ns = clock_thread_cpu_ns();
	while (now_ns - begun_ns < (uint64_t)addition->spin_ns && clock_mono_ns() < until_ns &&
	       goes_on(addition))
		now_ns = clock_thread_cpu_ns();
	addition->spun_ns = now_ns - begun_ns;
}

static int sleep_until(uint64_t mono_ns)
{
	struct timespec until = { (time_t)(mono_ns / 1000000000), (long)(mono_ns % 1000000000) };

	return (int)sys_call(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, (long)&until, 0,
			     0, 0);
}

static void rest(struct addition *addition)
{
	uint64_t begun_ns, now_ns, until_ns;
	int result = 0;

	if (addition->sleep_ns <= 0 || !goes_on(addition))
		return;
	begun_ns = now_ns = clock_mono_ns();
	until_ns = begun_ns + (uint64_t)addition->sleep_ns;
	while (now_ns < until_ns && result == 0 && goes_on(addition)) {
		result = sleep_until(until_ns - now_ns > SLICE_NS ? now_ns + SLICE_NS : until_ns);
		now_ns = clock_mono_ns();
	}
	addition->slept_ns = now_ns - begun_ns;
}

static void pay(struct addition *addition)
{
	struct self *self;

	spin(addition);
	rest(addition);
	self = self_enter();
	if (self)
		end_addition(self, addition);
	self_leave(self);
}

void slow_end(uint64_t op, bool is_brief)
{
	struct self *self = op ? self_enter() : NULL;
	struct slow_thread *thread = self ? slow_thread_of(self) : NULL;
	struct addition addition = { .window = 0 };
	struct ending ending;
	bool is_due = false;

	if (thread && find_ending(self, thread, op, is_brief, &ending)) {
		count_progress(thread, &ending);
		is_due = add(self, thread, &ending, &addition);
	}
	self_leave(self);
	if (is_due)
		pay(&addition);
}

void slow_end_declared(uint64_t op)
{
	struct self *self = op ? self_enter() : NULL;
	struct slow_thread *thread = self ? slow_thread_of(self) : NULL;
	struct addition addition = { .window = 0 };
	struct ending ending;
	bool is_due = false;

	if (thread && find_declared(thread, op, &ending)) {
		count_progress(thread, &ending);
		is_due = add(self, thread, &ending, &addition);
	}
	self_leave(self);
	if (is_due)
		pay(&addition);
}

void slow_wake(uint64_t wait, uint64_t woken_ticks)
{
	struct self *self = wait ? self_enter() : NULL;
	struct addition addition = { .window = 0 };
	bool is_due = self && add_to_wake(self, wait, woken_ticks, &addition);

	self_leave(self);
	if (is_due)
		pay(&addition);
}
