/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: fewer or more commits share a flush by each change.
 *
 * Group commit as databases have it: each thread waits on a condition of its own. The comment above
 * each pattern says who flushes for whom. Threads work (work_b), now and then for longer (work_c),
 * and commit. A flush (work_a) is for all commits that were asked for before it began.
 * Not here: commits that all wait on one condition, or on semaphores (groups.c).
 */
#include "truth.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { COMMITTERS = 6 };

static pthread_mutex_t lock_m = PTHREAD_MUTEX_INITIALIZER;
static long rounds;

/* A commit that is asked for, of one thread. */
struct commit {
	pthread_mutex_t own_lock;
	pthread_cond_t is_called;
	struct commit *next;
	long number;
	bool is_done, leads;
	sem_t may_lead;
	int pending;
};

static void commit_begin(struct commit *commit)
{
	pthread_mutex_init(&commit->own_lock, NULL);
	pthread_cond_init(&commit->is_called, NULL);
	sem_init(&commit->may_lead, 0, 0);
}

static void *run_committer(void (*make)(struct commit *), long rank)
{
	struct commit commit = { .number = 0 };

	commit_begin(&commit);
	for (long i = 0; i < rounds; i++) {
		if ((i + rank) % 5 == 0)
			work_c();
		else
			work_b();
		make(&commit);
	}
	return NULL;
}

static void run_committers(routine *body)
{
	rounds = count_of("T_N");
	start_many(COMMITTERS, body);
	join_all();
}

/* commit-front: under one lock is a queue of commits. The first in it flushes for all that are
 * there; then it calls each of them, and the one that is first now. */
static struct commit *front, **end = &front;

static void commit_in_turn(struct commit *self)
{
	pthread_mutex_lock(&lock_m);
	self->is_done = false;
	self->next = NULL;
	*end = self;
	end = &self->next;
	while (!self->is_done && front != self)
		pthread_cond_wait(&self->is_called, &lock_m);
	if (!self->is_done) {
		struct commit **last = end;
		pthread_mutex_unlock(&lock_m);
		work_a();
		pthread_mutex_lock(&lock_m);
		for (bool is_last = false; !is_last;) {
			struct commit *done = front;
			is_last = &done->next == last;
			front = done->next;
			done->is_done = true;
			if (done != self)
				pthread_cond_signal(&done->is_called);
		}
		if (front)
			pthread_cond_signal(&front->is_called);
		else
			end = &front;
	}
	pthread_mutex_unlock(&lock_m);
}

static void *front_committer(void *rank)
{
	return run_committer(commit_in_turn, (long)rank);
}

static void pattern_front(void)
{
	run_committers(front_committer);
}

/* commit-linked: as before, but the list has no lock. Each commit has a lock of its own, and what
 * has become of it. */
static _Atomic(struct commit *) newest;

static void tell(struct commit *commit, bool is_done)
{
	pthread_mutex_lock(&commit->own_lock);
	commit->is_done = is_done;
	commit->leads = !is_done;
	pthread_cond_signal(&commit->is_called);
	pthread_mutex_unlock(&commit->own_lock);
}

/* The commit that follows `self` in the list that ends with `last`. */
static struct commit *after(struct commit *self, struct commit *last)
{
	struct commit *at = last;

	while (at->next != self)
		at = at->next;
	return at;
}

static void finish_group(struct commit *self, struct commit *last)
{
	struct commit *expected = last;

	if (!atomic_compare_exchange_strong(&newest, &expected, NULL)) {
		struct commit *next = after(last, expected);
		next->next = NULL;
		tell(next, false);
	}
	for (struct commit *at = last; at != self;) {
		struct commit *before = at->next;
		tell(at, true);
		at = before;
	}
}

static void commit_linked(struct commit *self)
{
	struct commit *before = atomic_load(&newest);

	self->is_done = self->leads = false;
	do
		self->next = before;
	while (!atomic_compare_exchange_weak(&newest, &before, self));
	if (before) {
		pthread_mutex_lock(&self->own_lock);
		while (!self->is_done && !self->leads)
			pthread_cond_wait(&self->is_called, &self->own_lock);
		pthread_mutex_unlock(&self->own_lock);
	}
	if (self->is_done)
		return;
	struct commit *last = atomic_load(&newest);
	work_a();
	finish_group(self, last);
}

static void *linked_committer(void *rank)
{
	return run_committer(commit_linked, (long)rank);
}

static void pattern_linked(void)
{
	run_committers(linked_committer);
}

/* commit-asked: who finds a flush under way, and nobody to make the next one, waits to do that. All
 * others only ask for it, and wait in their own lock, as before an answer, until they are told. */
static bool is_flushing;
static struct commit *next_leader, *asked[COMMITTERS];
static size_t asked_count;

static void pending_changes(struct commit *commit, int by)
{
	pthread_mutex_lock(&commit->own_lock);
	commit->pending += by;
	if (by < 0)
		pthread_cond_signal(&commit->is_called);
	pthread_mutex_unlock(&commit->own_lock);
}

/* False: it has asked, and another thread flushes for it. */
static bool leads(struct commit *self)
{
	pthread_mutex_lock(&lock_m);
	bool asks = is_flushing && next_leader, waits = is_flushing && !next_leader;
	if (asks)
		asked[asked_count++] = self;
	else if (waits)
		next_leader = self;
	else
		is_flushing = true;
	pthread_mutex_unlock(&lock_m);
	if (waits)
		sem_wait(&self->may_lead);
	return !asks;
}

static void flush_for_all(void)
{
	struct commit *served[COMMITTERS];
	size_t count;

	pthread_mutex_lock(&lock_m);
	count = asked_count;
	memcpy(served, asked, count * sizeof(*served));
	asked_count = 0;
	pthread_mutex_unlock(&lock_m);
	work_a();
	pthread_mutex_lock(&lock_m);
	struct commit *leader = next_leader;
	next_leader = NULL;
	is_flushing = leader;
	pthread_mutex_unlock(&lock_m);
	if (leader)
		sem_post(&leader->may_lead);
	for (size_t i = 0; i < count; i++)
		pending_changes(served[i], -1);
}

static void commit_asked(struct commit *self)
{
	pending_changes(self, 1);
	if (leads(self)) {
		flush_for_all();
		pending_changes(self, -1);
	}
	pthread_mutex_lock(&self->own_lock);
	while (self->pending)
		pthread_cond_wait(&self->is_called, &self->own_lock);
	pthread_mutex_unlock(&self->own_lock);
}

static void *asked_committer(void *rank)
{
	return run_committer(commit_asked, (long)rank);
}

static void pattern_asked(void)
{
	run_committers(asked_committer);
}

int main(int argc, char **argv)
{
	static const struct pattern patterns[] = { { "commit-front", pattern_front },
						   { "commit-linked", pattern_linked },
						   { "commit-asked", pattern_asked },
						   { NULL, NULL } };

	return truth_main(argc, argv, patterns);
}
