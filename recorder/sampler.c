/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers for all threads. See sampler.h.
 *
 * The threads are those in /proc/self/task, which knows them all. Its order is that of their
 * creation, so a thread is mostly found where it was. A timer can be made for any thread of the
 * process, by any other.
 *
 * A thread that blocks the signal has no timer. It could bring nothing, and a sigwait() for all
 * signals would return one that the program never heard of. Known race: a thread receives one if it
 * began to block it, used CPU time and waited like that between two looks.
 */
#include "sampler.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "atomics.h"
#include "clock.h"
#include "sample.h"
#include "syscalls.h"
#include "tasks.h"

#include "in_target.h"

enum {
	TIMERS_MAX = 4096,
	LOOKED_AT = 16 /* of the known threads at a tick, whether they block the signal */
};

struct timer {
	uint32_t tid;
	int id; /* the kernel's; -1 = none */
	uint32_t round;
};

enum sampler_state { SAMPLER_OFF, SAMPLER_ON, SAMPLER_REFUSED };

static uint32_t wanted_hz; /* written by the control thread and the constructor */

/* The control thread's own. */
static struct {
	struct timer timers[TIMERS_MAX];
	uint32_t count;
	uint32_t round;
	uint32_t next; /* to be looked at */
	uint32_t hz;   /* of the timers that there are */
	uint64_t due_ns;
	enum sampler_state state;
} sampler;

/* --- Timers --- */

static void timer_arm(const struct timer *timer)
{
	long period_ns = 1000000000L / (long)sampler.hz;
	struct itimerspec spec = { { 0, period_ns }, { 0, period_ns } };

	if (sampler.hz == 1)
		spec = (struct itimerspec){ { 1, 0 }, { 1, 0 } };
	(void)sys_call(SYS_timer_settime, timer->id, 0, (long)&spec, 0, 0, 0);
}

static void timer_make(struct timer *timer)
{
	struct sigevent event = { .sigev_signo = SAMPLE_SIGNAL, .sigev_notify = SIGEV_THREAD_ID };

	event._sigev_un._tid = (int)timer->tid;
	if (SYS3(timer_create, clock_id_of(timer->tid), &event, &timer->id) == 0)
		timer_arm(timer);
	else
		timer->id = -1;
}

static void timer_drop(struct timer *timer)
{
	if (timer->id >= 0)
		(void)SYS3(timer_delete, timer->id, 0, 0);
	timer->id = -1;
}

/* --- Threads --- */

static void look_at(struct timer *timer)
{
	bool blocks = task_blocks_signal((uint32_t)sys_getpid(), timer->tid, SAMPLE_SIGNAL);

	if (blocks)
		timer_drop(timer);
	else if (timer->id < 0)
		timer_make(timer);
}

/* The thread is there; it is mostly the one at `*expected`. */
static void thread_seen(uint32_t tid, void *context)
{
	uint32_t *expected = context;

	if (tid == (uint32_t)sys_gettid())
		return;
	for (uint32_t i = 0; i < sampler.count; i++) {
		struct timer *timer = &sampler.timers[(*expected + i) % sampler.count];

		if (timer->tid != tid)
			continue;
		timer->round = sampler.round;
		*expected = (*expected + i + 1) % sampler.count;
		return;
	}
	if (sampler.count == TIMERS_MAX)
		return;
	sampler.timers[sampler.count] = (struct timer){ tid, -1, sampler.round };
	look_at(&sampler.timers[sampler.count++]);
}

/* Forgets the threads that are gone. */
static void sweep(void)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < sampler.count; i++) {
		if (sampler.timers[i].round == sampler.round)
			sampler.timers[kept++] = sampler.timers[i];
		else
			timer_drop(&sampler.timers[i]);
	}
	sampler.count = kept;
}

static void scan(void)
{
	uint32_t expected = 0;

	sampler.round++;
	if (!tasks_see((uint32_t)sys_getpid(), thread_seen, &expected))
		return;
	sweep();
	for (uint32_t i = 0; i < LOOKED_AT && i < sampler.count; i++)
		look_at(&sampler.timers[sampler.next++ % sampler.count]);
}

/* --- On and off --- */

static void stop(enum sampler_state state)
{
	for (uint32_t i = 0; i < sampler.count; i++)
		timer_drop(&sampler.timers[i]);
	sampler.count = 0;
	sampler.state = state;
}

static void change_rate(uint32_t hz)
{
	if (sampler.hz == hz)
		return;
	sampler.hz = hz;
	for (uint32_t i = 0; i < sampler.count; i++)
		if (sampler.timers[i].id >= 0)
			timer_arm(&sampler.timers[i]);
}

void sampler_set_rate(uint32_t hz)
{
	assert(hz <= SAMPLER_HZ_MAX);
	store_relaxed(&wanted_hz, hz);
}

/* Whether the signal is ours to send; the program may have taken it since. */
static bool may_sample(void)
{
	if (sampler.state == SAMPLER_OFF)
		sampler.state = sample_install() ? SAMPLER_ON : SAMPLER_REFUSED;
	else if (sampler.state == SAMPLER_ON && !sample_is_installed())
		stop(SAMPLER_REFUSED);
	return sampler.state == SAMPLER_ON;
}

bool sampler_tick(bool is_recording, uint64_t now_ns)
{
	uint32_t hz = load_relaxed(&wanted_hz);

	if (!is_recording || hz == 0) {
		if (sampler.state != SAMPLER_OFF)
			stop(SAMPLER_OFF);
		return false;
	}
	if (sampler.state == SAMPLER_ON && hz == sampler.hz && now_ns < sampler.due_ns)
		return true;
	if (!may_sample())
		return false;
	change_rate(hz);
	scan();
	sampler.due_ns = now_ns + SAMPLER_TICK_MS * UINT64_C(1000000);
	return true;
}

void sampler_forget(void)
{
	sampler.count = 0;
	sampler.state = SAMPLER_OFF;
}

void sampler_put_status(struct text *text)
{
	static const char *const states[] = {
		[SAMPLER_OFF] = "off",
		[SAMPLER_ON] = "on",
		[SAMPLER_REFUSED] = "refused: the program handles signal 16 (SIGSTKFLT) itself",
	};
	uint32_t timers = 0;

	for (uint32_t i = 0; i < sampler.count; i++)
		timers += sampler.timers[i].id >= 0;
	text_put_key_string(text, "sampling", states[sampler.state]);
	text_put_key_u64(text, "sample_hz", load_relaxed(&wanted_hz));
	text_put_key_u64(text, "sampled_threads", timers);
}
