/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls and waits that have not ended; top_open.h has the contract.
 */
#include "top_open.h"

#include <stdlib.h>
#include <sys/syscall.h>

#include "blocked.h"
#include "top_sums.h"

static int compare_tids(const void *left, const void *right)
{
	const struct top_open_thread *a = left, *b = right;

	return (a->tid > b->tid) - (a->tid < b->tid);
}

const struct top_open_thread *top_open_find(const struct top_open *open, pid_t tid)
{
	const struct top_open_thread sought = { .tid = tid };

	return open->count
		       ? bsearch(&sought, open->threads, open->count, sizeof(sought), compare_tids)
		       : NULL;
}

const struct top_waiting *top_open_lock(const struct top_open *open, uint64_t address)
{
	for (size_t i = 0; i < open->lock_count; i++)
		if (open->locks[i].address == address)
			return &open->locks[i];
	return NULL;
}

static enum top_part part_of_call(int number)
{
	static const struct {
		int number;
		enum kind kind;
	} calls[] = {
#define CALL(number, kind, has_descriptor) { number, KIND_##kind },
#include "census.def"
	};
	enum top_part part;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const struct record record = { .type = RECORD_OP, .what = calls[i].kind };

		if (calls[i].number == number)
			return top_sums_part(&record, &part) ? part : TOP_PARTS;
	}
	return number == SYS_futex ? TOP_OTHER : TOP_PARTS;
}

static bool is_same(const struct top_open_thread *a, const struct top_open_thread *b)
{
	return a->part == b->part && a->lock == b->lock && a->call == b->call &&
	       a->argument == b->argument && a->switches == b->switches;
}

static struct top_open_thread thread_of(const struct top_open *before,
					const struct blocked_thread *thread, uint64_t now_ns)
{
	struct top_open_thread now = { .tid = (pid_t)thread->tid,
				       .part = TOP_PARTS,
				       .since_ns = now_ns,
				       .call = thread->call,
				       .argument = thread->argument,
				       .switches = thread->switches };
	const struct top_open_thread *last = top_open_find(before, now.tid);

	if (thread->on.type == RECORD_NONE)
		now.part = part_of_call(thread->call);
	else if (!top_sums_part(&thread->on, &now.part))
		now.part = TOP_PARTS;
	if (now.part == TOP_LOCK) {
		now.lock = thread->on.value;
		now.ident = thread->on.ident;
	}
	if (thread->wait_ns)
		now.since_ns = now_ns > thread->wait_ns ? now_ns - thread->wait_ns : 0;
	else if (last && is_same(last, &now))
		now.since_ns = last->since_ns;
	return now;
}

static void add_waiter(struct top_open *open, const struct top_open_thread *waiter,
		       const struct blocked_thread *thread)
{
	size_t at = 0;

	while (at < open->lock_count && open->locks[at].address != waiter->lock)
		at++;
	if (at == open->lock_count)
		open->locks[open->lock_count++] = (struct top_waiting){ .address = waiter->lock };
	struct top_waiting *lock = &open->locks[at];

	lock->ident = waiter->ident ? waiter->ident : lock->ident;
	lock->waiters++;
	if (thread->holder) {
		lock->holder = (pid_t)thread->holder;
		lock->held_ns = thread->held_ns;
	}
}

bool top_open_look(struct top_open *open, const struct top_reader *reader, uint64_t now_ns)
{
	struct remains remains = reader->remains;
	struct blocked_list list;
	struct top_open now = { .count = 0 };
	pid_t pid = remains_pid(&remains);
	bool is_read = pid > 0 && blocked_read(&list, (uint32_t)pid, remains.arena) == 0;

	if (is_read) {
		now.threads = calloc(list.count + 1, sizeof(*now.threads));
		now.locks = calloc(list.count + 1, sizeof(*now.locks));
	}
	for (uint32_t i = 0; now.threads && now.locks && i < list.count; i++) {
		struct top_open_thread *thread = &now.threads[now.count++];

		*thread = thread_of(open, &list.threads[i], now_ns);
		if (thread->lock)
			add_waiter(&now, thread, &list.threads[i]);
	}
	if (is_read)
		blocked_free(&list);
	if (now.count)
		qsort(now.threads, now.count, sizeof(*now.threads), compare_tids);
	top_open_free(open);
	*open = now;
	return now.count > 0;
}

void top_open_free(struct top_open *open)
{
	free(open->threads);
	free(open->locks);
	*open = (struct top_open){ .count = 0 };
}
