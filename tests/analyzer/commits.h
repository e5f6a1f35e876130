/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that work and commit, as a sketch: a commit is over when a flush that began after it has
 * ended. The sketch is what a program would have recorded, worked out event by event.
 */
#ifndef WCPROF_TESTS_COMMITS_H
#define WCPROF_TESTS_COMMITS_H

#include "sketch.h"

#include <math.h>

enum { COMMITTERS = 4, COMMITS = 15, WRITER = COMMITTERS };
enum { ARRIVES_AT = 1, WAITS_AT = 2, ENDS_AT = 3, ASKS_AT = 4, TELLS_AT = 5 };

struct commits {
	double work; /* times the work */
	double flush_ms;
	int long_flush;   /* the number of one that takes five times as long, 0 = none */
	bool has_writer;  /* a thread of its own makes all flushes */
	bool waits_alone; /* each thread waits on a condition of its own, and is signalled there */
	bool has_no_lock; /* and that is a futex, and no lock is needed to come or to go */
	bool looks_again; /* then a flush's end wakes all, and who has to wait does so again */
	bool asks; /* then a thread that need not flush next asks under its own lock, and waits
		      there later */
	bool has_collector; /* the last thread never flushes, and comes more often */
	int takes_any; /* each so many late commits are over at the end of any flush; 0 = none */
	struct sketch *sketch; /* NULL = only the time */
	/* The rest is of a run. */
	double comes_ms[COMMITTERS]; /* when it comes next, or came */
	double waits_ms[COMMITTERS]; /* since when it waits */
	int done[COMMITTERS];
	bool waits[COMMITTERS];
	bool has_asked[COMMITTERS];
	bool was_late[COMMITTERS]; /* it waits for the flush after the next end */
	uint32_t maker;            /* of the flush that is under way, NO_INDEX = none */
	double ends_ms;
	double idle_ms; /* the writer waits since then */
	int flushes;
	int late_count;
};

static const double commit_hold_ms = 0.001, commit_wake_ms = 0.01;
static const double commit_runs_ms = 0.1; /* from asking to waiting */

/* Lengths without any order. */
static inline double commit_work_ms(const struct commits *commits, uint32_t thread)
{
	uint32_t hash = ((uint32_t)commits->done[thread] * 7 + thread * 5 + 1) * 2654435761u;

	hash = (hash ^ hash >> 15) * 2246822519u;
	return commits->work * (1 + 0.37 * (hash >> 16) / 10000);
}

static inline void commit_sleep(struct commits *commits, uint32_t thread, const char *name,
				double from_ms, double to_ms)
{
	if (commits->sketch && to_ms > from_ms)
		sketch_sleep(commits->sketch, thread + 1, name, from_ms, to_ms);
}

static inline void commit_hold(struct commits *commits, uint32_t thread, uint32_t site,
			       double from_ms)
{
	if (commits->sketch && !commits->has_no_lock)
		sketch_hold(commits->sketch, thread + 1, "M", site, from_ms,
			    from_ms + commit_hold_ms);
}

static inline void commit_wait(struct commits *commits, uint32_t thread, const char *condition,
			       double from_ms, double to_ms)
{
	if (commits->sketch)
		sketch_wait(commits->sketch, thread + 1,
			    commits->has_no_lock ? REASON_FUTEX : REASON_COND, condition, from_ms,
			    to_ms, NO_INDEX);
}

/* In the lock of that committer. */
static inline void commit_own_hold(struct commits *commits, uint32_t thread, uint32_t of,
				   uint32_t site, double from_ms)
{
	static const char *const locks[COMMITTERS] = { "own 0", "own 1", "own 2", "own 3" };

	if (commits->sketch)
		sketch_hold(commits->sketch, thread + 1, locks[of], site, from_ms,
			    from_ms + commit_hold_ms);
}

static inline void commit_signal(struct commits *commits, uint32_t thread, const char *condition,
				 double at_ms, uint32_t count)
{
	if (commits->sketch)
		commits->sketch->rec
			.links[sketch_link(commits->sketch, thread + 1, LINK_WAKE, condition, at_ms,
					   count, NO_INDEX)]
			.all = true;
}

/* The condition that a thread waits on for the end of a flush. */
static inline const char *commit_condition(const struct commits *commits, uint32_t thread)
{
	static const char *const own[COMMITTERS] = { "done 0", "done 1", "done 2", "done 3" };

	return commits->waits_alone ? own[thread] : "done";
}

static inline void commit_calls(const struct commits *commits, uint32_t maker, uint32_t thread,
				double at_ms)
{
	if (commits->sketch)
		sketch_link(commits->sketch, maker + 1, LINK_WAKE,
			    commit_condition(commits, thread), at_ms, 1, NO_INDEX);
}

/* Tells all that wait; without a lock each is called by itself. */
static inline void commit_tells(struct commits *commits, double at_ms)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < COMMITTERS; i++) {
		count += commits->waits[i];
		if (commits->waits_alone && !commits->has_no_lock && commits->waits[i])
			commit_calls(commits, commits->maker, i, at_ms);
	}
	if (!commits->waits_alone)
		commit_signal(commits, commits->maker, "done", at_ms, count);
}

/* It has asked, and waits under its own lock until the flush is over. */
static inline void commit_answered(struct commits *commits, uint32_t maker, uint32_t thread,
				   double back_ms)
{
	double at_ms = back_ms - commit_wake_ms;

	commit_own_hold(commits, maker, thread, TELLS_AT, at_ms);
	commit_calls(commits, maker, thread, at_ms + commit_hold_ms / 2);
	commit_own_hold(commits, thread, thread, WAITS_AT,
			commits->waits_ms[thread] - commit_hold_ms);
	if (commits->sketch)
		sketch_wait(commits->sketch, thread + 1, REASON_COND,
			    commit_condition(commits, thread), commits->waits_ms[thread], back_ms,
			    NO_INDEX);
	commit_own_hold(commits, thread, thread, WAITS_AT, back_ms);
	commits->has_asked[thread] = false;
}

/* It has committed at that time, and works for the next one. */
static inline void commit_goes_on(struct commits *commits, uint32_t thread, double at_ms)
{
	commits->waits[thread] = false;
	if (++commits->done[thread] == COMMITS) {
		commits->comes_ms[thread] = -at_ms;
		return;
	}
	commits->comes_ms[thread] = at_ms + commit_work_ms(commits, thread);
	commit_sleep(commits, thread, "work", at_ms, commits->comes_ms[thread]);
}

/* It waits for what others do, and goes when they are done. */
static inline bool commit_collects(const struct commits *commits, uint32_t thread)
{
	return commits->has_collector && thread == COMMITTERS - 1;
}

static inline void commit_flushes(struct commits *commits, uint32_t maker, double at_ms)
{
	commits->maker = maker;
	commits->flushes++;
	commits->ends_ms =
		at_ms + commits->flush_ms * (commits->flushes == commits->long_flush ? 5 : 1);
	commit_sleep(commits, maker, "flush", at_ms, commits->ends_ms);
	for (uint32_t i = 0; i < COMMITTERS; i++)
		commits->was_late[i] = false;
}

/* Another thread waits to flush next. */
static inline bool commit_is_led(const struct commits *commits)
{
	bool is_led = false;

	for (uint32_t i = 0; i < COMMITTERS; i++)
		is_led = is_led || (commits->waits[i] && commits->was_late[i]);
	return is_led;
}

static inline void commit_comes(struct commits *commits, uint32_t thread)
{
	double at_ms = commits->comes_ms[thread];

	if (commits->asks && commit_is_led(commits)) {
		commit_own_hold(commits, thread, thread, ASKS_AT, at_ms + commit_hold_ms / 2);
		commits->has_asked[thread] = commits->waits[thread] = true;
		commits->was_late[thread] = true;
		commits->waits_ms[thread] = at_ms + commit_runs_ms;
		return;
	}
	commit_hold(commits, thread, ARRIVES_AT, at_ms);
	if (commits->maker == NO_INDEX && !commits->has_writer &&
	    !commit_collects(commits, thread)) {
		commit_flushes(commits, thread, at_ms + commit_hold_ms);
		return;
	}
	commits->waits[thread] = true;
	commits->waits_ms[thread] = at_ms + commit_hold_ms;
	commits->was_late[thread] = commits->maker != NO_INDEX;
	if (commits->maker != NO_INDEX || commit_collects(commits, thread))
		return;
	commit_signal(commits, thread, "asked", at_ms + commit_hold_ms / 2, 1);
	commit_wait(commits, WRITER, "asked", commits->idle_ms, at_ms + commit_wake_ms);
	commit_hold(commits, WRITER, ASKS_AT, at_ms + commit_wake_ms);
	commit_flushes(commits, WRITER, at_ms + commit_wake_ms + commit_hold_ms);
}

/* The end of a flush: all that came before it go on, and one of the others makes the next one. */
static inline void commit_ends(struct commits *commits)
{
	double from_ms = commits->ends_ms, back_ms = from_ms + commit_wake_ms;
	double next_ms = from_ms + commit_hold_ms;
	uint32_t maker = commits->maker, next = NO_INDEX;

	commit_hold(commits, maker, ENDS_AT, from_ms);
	commit_tells(commits, from_ms + commit_hold_ms / 2);
	commits->maker = NO_INDEX;
	for (uint32_t i = 0; i < COMMITTERS; i++) {
		if (!commits->waits[i])
			continue;
		bool is_late = commits->was_late[i];

		if (is_late && commits->takes_any &&
		    ++commits->late_count % commits->takes_any == 0)
			is_late = false;
		if (is_late &&
		    (commits->has_asked[i] ||
		     (commits->has_no_lock && !commits->looks_again && next != NO_INDEX)))
			continue;
		if (commits->has_asked[i]) {
			commit_answered(commits, maker, i, back_ms);
			commit_goes_on(commits, i,
				       fmax(back_ms, commits->waits_ms[i]) + commit_hold_ms);
			back_ms += 2 * commit_hold_ms;
			continue;
		}
		if (commits->has_no_lock)
			commit_calls(commits, maker, i, from_ms + commit_hold_ms / 2);
		commit_wait(commits, i, commit_condition(commits, i), commits->waits_ms[i],
			    back_ms);
		commit_hold(commits, i, WAITS_AT, back_ms);
		commits->waits_ms[i] = back_ms + commit_hold_ms;
		if (!is_late)
			commit_goes_on(commits, i, back_ms + commit_hold_ms);
		else if (next == NO_INDEX && !commit_collects(commits, i))
			next = commits->has_writer ? WRITER : i;
		next_ms = next == i ? back_ms + commit_hold_ms : next_ms;
		back_ms += 2 * commit_hold_ms;
	}
	if (maker != WRITER)
		commit_goes_on(commits, maker, commits->asks ? back_ms : from_ms + commit_hold_ms);
	commits->idle_ms = from_ms + commit_hold_ms;
	if (next != NO_INDEX && next != WRITER)
		commits->waits[next] = false;
	if (next != NO_INDEX)
		commit_flushes(commits, next, next_ms);
}

/* Returns when the last thread has committed all. */
static inline double commits_run(struct commits *commits)
{
	double end_ms = 0;

	commits->maker = NO_INDEX;
	commits->idle_ms = 0.5;
	if (commits->has_collector)
		commits->done[COMMITTERS - 1] = -COMMITS;
	for (uint32_t i = 0; i < COMMITTERS; i++)
		commits->comes_ms[i] = 1 + i * 0.1 + commit_work_ms(commits, i);
	for (uint32_t i = 0; i < COMMITTERS; i++)
		commit_sleep(commits, i, "work", 1 + i * 0.1, commits->comes_ms[i]);
	for (;;) {
		uint32_t first = NO_INDEX;

		for (uint32_t i = 0; i < COMMITTERS; i++)
			if (commits->comes_ms[i] > 0 && !commits->waits[i] && commits->maker != i &&
			    (first == NO_INDEX || commits->comes_ms[i] < commits->comes_ms[first]))
				first = i;
		if (commits->maker != NO_INDEX &&
		    (first == NO_INDEX || commits->ends_ms < commits->comes_ms[first]))
			commit_ends(commits);
		else if (first != NO_INDEX)
			commit_comes(commits, first);
		else
			break;
	}
	if (commits->has_collector && commits->waits[COMMITTERS - 1])
		commits->comes_ms[COMMITTERS - 1] = -commits->waits_ms[COMMITTERS - 1];
	for (uint32_t i = 0; i < COMMITTERS; i++)
		end_ms = -commits->comes_ms[i] > end_ms ? -commits->comes_ms[i] : end_ms;
	return end_ms;
}

/* The same as a sketch, in which a first thread starts all others and joins them. */
static inline double commits_sketch(struct commits *commits, struct sketch *sketch)
{
	struct commits alone = *commits;
	double end_ms = commits_run(&alone), joined_ms = 0.2;
	uint32_t count = COMMITTERS + commits->has_writer;

	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, end_ms);
	for (uint32_t i = 0; i < COMMITTERS; i++)
		sketch_thread(sketch, "committer", 1 + i * 0.1, -alone.comes_ms[i]);
	if (commits->has_writer)
		sketch_thread(sketch, "writer", 0.5, alone.idle_ms);
	for (uint32_t i = 0; i < count; i++)
		sketch_link(sketch, 0, LINK_SPAWN, "", 0.1, 0, sketch->rec.threads[i + 1].op);
	for (uint32_t i = 0; i < count; i++) {
		double to_ms = i == WRITER ? alone.idle_ms : -alone.comes_ms[i];

		to_ms = to_ms > joined_ms ? to_ms : joined_ms;
		sketch_wait(sketch, 0, REASON_JOIN, "", joined_ms, to_ms,
			    sketch->rec.threads[i + 1].op);
		joined_ms = to_ms;
	}
	commits->sketch = sketch;
	return commits_run(commits);
}

#endif
