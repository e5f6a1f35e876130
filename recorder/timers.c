/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers of threads' CPU time. See timers.h.
 *
 * One place per thread, which keeps it until the control thread finds it gone. So a thread finds
 * its own by an index. A timer can be made for any thread of the process, by any other.
 *
 * Whether a thread blocks the signal is known in two ways. It says so in calls that are hooked, and
 * takes that back in such a call. But masks are also inherited, and some are set without a call. So
 * the control thread also looks into /proc, some threads at a time. The mask there may be that of a
 * moment, inside a ppoll(). So it never overrules a thread that has said that it blocks the signal.
 * It does not count if the thread has said anything since it was read.
 *
 * Everything is under the lock of claim.h. Threads read their own `word` without it.
 */
#include "timers.h"

#include <assert.h>
#include <signal.h>
#include <time.h>

#include "arena.h"
#include "atomics.h"
#include "claim.h"
#include "clock.h"
#include "sample.h"
#include "slow.h"
#include "syscalls.h"
#include "tasks.h"

#include "in_target.h"

enum {
	PLACES = 4096,
	LOOKED_AT = 16, /* of the known threads in a round, whether they block the signal */
	NONE = -1       /* no timer, no place */
};

static const uint32_t SECOND_NS = 1000000000, ASKING_NS = 1000000;

enum { WORD_OPEN, WORD_PAUSED, WORD_STATES };

struct thread {
	uint32_t word;   /* changes * WORD_STATES + state */
	int32_t sample;  /* the kernel's number of its timer */
	int32_t glimpse; /* the same */
	uint32_t round;
	uint32_t left_ns; /* of the period, when it was stopped */
	bool has_small_stack;
	bool is_counted; /* as one that has not been sampled */
};

static uint32_t tids[PLACES]; /* 0 = free */
static struct thread threads[PLACES];
static struct {
	uint32_t count; /* places that were used so far */
	uint32_t round;
	uint32_t next; /* to be looked at */
	uint32_t hz;
	bool is_full; /* a thread found no place to say what it must: no timer is made any more */
} timers;

/* The caller's, as of late. */
static __thread struct {
	uint32_t tid;
	uint32_t place;
} own;

/* --- Timers --- */

static void start(int32_t timer, uint32_t first_ns, uint32_t period_ns)
{
	struct itimerspec spec = { { period_ns / SECOND_NS, period_ns % SECOND_NS },
				   { first_ns / SECOND_NS, first_ns % SECOND_NS } };

	(void)sys_call(SYS_timer_settime, timer, 0, (long)&spec, 0, 0, 0);
}

static uint32_t period_ns(void)
{
	return SECOND_NS / timers.hz;
}

/* Any part of a period: threads shorter than that have samples in proportion. */
static uint32_t phase_ns(uint32_t tid)
{
	uint32_t hash = (tid ^ timers.round << 16) * 0x9e3779b1u;

	hash = (hash ^ hash >> 15) * 0x85ebca6bu;
	return 1 + (hash ^ hash >> 13) % period_ns();
}

static int32_t make(uint32_t tid, int value)
{
	struct sigevent event = { .sigev_signo = SAMPLE_SIGNAL,
				  .sigev_notify = SIGEV_THREAD_ID,
				  .sigev_value.sival_int = value };
	int32_t timer = NONE;

	event._sigev_un._tid = (int)tid;
	return SYS3(timer_create, clock_id_of(tid), &event, &timer) == 0 ? timer : NONE;
}

static void drop(int32_t *timer)
{
	if (*timer != NONE)
		(void)SYS3(timer_delete, *timer, 0, 0);
	*timer = NONE;
}

static void drop_both(struct thread *thread)
{
	drop(&thread->sample);
	drop(&thread->glimpse);
}

/* The rest of its period is for when it goes on. */
static void stop(struct thread *thread)
{
	struct itimerspec none = { .it_value = { 0, 0 } }, left = { .it_value = { 0, 0 } };

	drop(&thread->glimpse);
	if (thread->sample == NONE)
		return;
	(void)sys_call(SYS_timer_settime, thread->sample, 0, (long)&none, (long)&left, 0, 0);
	thread->left_ns = (uint32_t)left.it_value.tv_nsec;
}

/* --- Places --- */

static int32_t find(uint32_t tid)
{
	for (uint32_t i = 0; i < timers.count; i++)
		if (tids[i] == tid)
			return (int32_t)i;
	return NONE;
}

/* NONE: there is no room. */
static int32_t take_place(uint32_t tid)
{
	int32_t place = find(0);

	if (place == NONE && timers.count < PLACES)
		place = (int32_t)timers.count++;
	if (place == NONE)
		return NONE;
	threads[place] = (struct thread){ .sample = NONE, .glimpse = NONE, .round = timers.round };
	store_relaxed(&tids[place], tid);
	return place;
}

static void free_place(int32_t place)
{
	drop_both(&threads[place]);
	store_relaxed(&tids[place], 0);
}

static uint32_t state_of(uint32_t word)
{
	return word % WORD_STATES;
}

/* Nothing is to be known of its thread. */
static void free_if_idle(int32_t place)
{
	const struct thread *thread = &threads[place];

	if (thread->sample == NONE && thread->glimpse == NONE && !thread->has_small_stack &&
	    state_of(load_relaxed(&thread->word)) == WORD_OPEN)
		free_place(place);
}

/* Relaxed: the caller wrote it itself, or finds that it was not for itself. */
static bool has_own(void)
{
	return own.tid && load_relaxed(&tids[own.place]) == own.tid;
}

/* NULL: there is no room. */
static struct thread *find_own(void)
{
	uint32_t tid = (uint32_t)sys_gettid();
	int32_t place = own.tid == tid && has_own() ? (int32_t)own.place : find(tid);

	if (place == NONE)
		place = take_place(tid);
	if (place == NONE)
		return NULL;
	own.tid = tid;
	own.place = (uint32_t)place;
	return &threads[place];
}

/* --- What a thread says of itself --- */

static void change_word(struct thread *thread, uint32_t state)
{
	uint32_t word = load_relaxed(&thread->word);

	/* Pairs with look_at(). */
	store_release(&thread->word, word - state_of(word) + WORD_STATES + state);
}

void timers_pause_own(void)
{
	struct thread *thread;

	claim_lock();
	thread = find_own();
	if (!thread) {
		timers.is_full = true;
	} else if (state_of(load_relaxed(&thread->word)) == WORD_OPEN) {
		stop(thread);
		change_word(thread, WORD_PAUSED);
	}
	claim_unlock();
}

bool timers_own_is_paused(void)
{
	return has_own() && state_of(load_relaxed(&threads[own.place].word)) != WORD_OPEN;
}

void timers_resume_own(void)
{
	struct thread *thread;

	claim_lock();
	thread = find_own();
	if (thread && state_of(load_relaxed(&thread->word)) != WORD_OPEN) {
		change_word(thread, WORD_OPEN);
		if (thread->sample != NONE)
			start(thread->sample, thread->left_ns ? thread->left_ns : period_ns(),
			      period_ns());
	}
	claim_unlock();
}

void timers_own_stack(bool is_large)
{
	struct thread *thread;

	claim_lock();
	thread = find_own();
	if (!thread) {
		timers.is_full = timers.is_full || !is_large;
	} else {
		thread->has_small_stack = !is_large;
		if (!is_large)
			drop_both(thread);
		else
			free_if_idle((int32_t)own.place);
	}
	claim_unlock();
}

/* --- Rounds --- */

static void count_small_stack(struct thread *thread)
{
	if (thread->is_counted || !recorder_arena)
		return;
	thread->is_counted = true;
	arena_count(recorder_arena, COUNTER_unsampled_stacks);
}

static void settle(struct thread *thread, uint32_t tid, bool blocks)
{
	uint32_t state = state_of(load_relaxed(&thread->word));

	if (state == WORD_OPEN && blocks)
		drop(&thread->sample);
	if (state != WORD_OPEN || blocks || thread->sample != NONE || timers.is_full ||
	    timers.hz == 0)
		return;
	if (thread->has_small_stack) {
		count_small_stack(thread);
		return;
	}
	thread->sample = make(tid, 0);
	if (thread->sample != NONE)
		start(thread->sample, phase_ns(tid), period_ns());
}

void timers_begin_own(bool blocks)
{
	struct thread *thread;

	claim_lock();
	thread = timers.hz > 0 && claim_is_ours() ? find_own() : NULL;
	if (thread)
		settle(thread, own.tid, blocks);
	claim_unlock();
}

static void look_at(uint32_t place)
{
	struct thread *thread = &threads[place];
	uint32_t tid = load_relaxed(&tids[place]);
	/* Acquire pairs with change_word(): what is read of it is not older. */
	uint32_t word = load_acquire(&thread->word);
	uint64_t spins = tid ? slow_spins_of(tid) : 0;
	bool blocks = tid && task_blocks_signal((uint32_t)sys_getpid(), tid, SAMPLE_SIGNAL);

	/* The mask may be that of our own handler: then it is looked at another time. */
	if (blocks && (spins % 2 == 1 || slow_spins_of(tid) != spins))
		return;
	claim_lock();
	if (tid && tids[place] == tid && load_relaxed(&thread->word) == word && claim_is_ours())
		settle(thread, tid, blocks);
	claim_unlock();
}

void timers_set_rate(uint32_t hz)
{
	assert(hz > 0 && hz <= 1000);
	claim_lock();
	if (timers.hz != hz) {
		timers.hz = hz;
		for (uint32_t i = 0; i < timers.count; i++)
			if (tids[i] && threads[i].sample != NONE &&
			    state_of(load_relaxed(&threads[i].word)) == WORD_OPEN)
				start(threads[i].sample, period_ns(), period_ns());
	}
	claim_unlock();
}

void timers_begin_round(void)
{
	claim_lock();
	timers.round++;
	claim_unlock();
}

void timers_see(uint32_t tid, uint32_t *expected)
{
	int32_t place = NONE;
	bool is_new = false;

	claim_lock();
	if (*expected < timers.count && tids[*expected] == tid)
		place = (int32_t)*expected;
	if (place == NONE)
		place = find(tid);
	if (place == NONE) {
		place = take_place(tid);
		is_new = true;
	}
	if (place != NONE) {
		threads[place].round = timers.round;
		*expected = (uint32_t)place + 1;
	}
	claim_unlock();
	if (is_new && place != NONE)
		look_at((uint32_t)place);
}

void timers_end_round(void)
{
	claim_lock();
	for (uint32_t i = 0; i < timers.count; i++)
		if (tids[i] && threads[i].round != timers.round)
			free_place((int32_t)i);
	while (timers.count > 0 && !tids[timers.count - 1])
		timers.count--;
	claim_unlock();
	for (uint32_t i = 0; i < LOOKED_AT && i < timers.count; i++)
		look_at(timers.next++ % timers.count);
}

uint32_t timers_count(void)
{
	uint32_t count = 0;

	claim_lock();
	for (uint32_t i = 0; i < timers.count; i++)
		count += tids[i] && threads[i].sample != NONE &&
			 state_of(load_relaxed(&threads[i].word)) == WORD_OPEN;
	claim_unlock();
	return count;
}

/* --- Questions --- */

static bool may_ask(const struct thread *thread)
{
	return claim_is_ours() && !thread->has_small_stack && !timers.is_full &&
	       state_of(load_relaxed(&thread->word)) == WORD_OPEN;
}

/* A question that nobody has ended gives way. */
static bool ask(int32_t place, int value)
{
	struct thread *thread = &threads[place];

	drop(&thread->glimpse);
	if (may_ask(thread))
		thread->glimpse = make(tids[place], value);
	if (thread->glimpse == NONE)
		return false;
	start(thread->glimpse, ASKING_NS, ASKING_NS);
	return true;
}

bool timers_ask(uint32_t tid, int value)
{
	bool is_asked = false;
	int32_t place;

	if (task_blocks_signal((uint32_t)sys_getpid(), tid, SAMPLE_SIGNAL))
		return false;
	claim_lock();
	place = find(tid);
	if (place == NONE)
		place = take_place(tid);
	if (place != NONE) {
		is_asked = ask(place, value);
		free_if_idle(place);
	}
	claim_unlock();
	return is_asked;
}

void timers_end_asking(uint32_t tid)
{
	int32_t place;

	claim_lock();
	place = find(tid);
	if (place != NONE) {
		drop(&threads[place].glimpse);
		free_if_idle(place);
	}
	claim_unlock();
}

/* --- The end of all --- */

void timers_drop_samples(void)
{
	claim_lock();
	for (uint32_t i = 0; i < timers.count; i++)
		if (tids[i])
			drop(&threads[i].sample);
	timers.hz = 0;
	claim_unlock();
}

bool timers_are_wanted(void)
{
	return timers.hz > 0;
}

void timers_drop_all(void)
{
	for (uint32_t i = 0; i < timers.count; i++)
		if (tids[i])
			drop_both(&threads[i]);
}

/* The one thread that goes on has its mask and its alternate stack from its parent. */
void timers_fork_child(void)
{
	struct thread before = { .word = WORD_OPEN };
	struct thread *thread;

	if (has_own())
		before = threads[own.place];
	timers.count = 0;
	timers.is_full = false;
	own.tid = 0;
	if (!before.has_small_stack && state_of(before.word) == WORD_OPEN)
		return;
	thread = find_own();
	assert(thread);
	thread->word = before.word;
	thread->has_small_stack = before.has_small_stack;
}
