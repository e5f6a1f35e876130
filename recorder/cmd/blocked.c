/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the threads of a living process are blocked on. See blocked.h.
 */
#include "blocked.h"

#include <assert.h>
#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "arena.h"
#include "clock.h"
#include "procfs.h"
#include "roster.h"
#include "stacks.h"
#include "strings.h"
#include "waiters.h"

/* Where glibc keeps the owner's tid; both have been there for as long as the types are fixed
 * by the ABI. */
enum { MUTEX_OWNER_OFFSET = 8, RWLOCK_WRITER_OFFSET = 24 };

static uint64_t ns_between(const struct arena *arena, uint64_t from, uint64_t to)
{
	struct clock_scale scale = arena->clock;

	if (scale.mult == 0)
		scale.mult = clock_measure_rate(&scale.base, scale.kind, CLOCK_APART_NS);
	return from < to ? clock_to_ns(&scale, to) - clock_to_ns(&scale, from) : 0;
}

static void copy_string(const struct arena *arena, uint32_t id, char *to, size_t size)
{
	uint32_t bytes;
	const char *string = strings_get(arena, id, &bytes);
	size_t length = bytes < size - 1 ? bytes : size - 1;

	memcpy(to, string, length);
	to[length] = '\0';
}

/* --- Who has it ------------------------------------------------------------------------------- */

static pid_t read_owner(const struct arena *arena, uint64_t address)
{
	int32_t owner = 0;
	struct iovec to = { &owner, sizeof(owner) };
	struct iovec from = { (void *)(uintptr_t)address, sizeof(owner) };

	if (process_vm_readv((pid_t)arena->pid, &to, 1, &from, 1, 0) != (ssize_t)sizeof(owner))
		return 0;
	/* A robust mutex's owner has more bits. */
	return owner & 0x3fffffff;
}

static const struct watch *find_watch(const struct arena *arena, uint64_t address)
{
	for (uint32_t i = 0; i < WATCHES_MAX; i++) {
		const struct watch *watch = watch_at(arena, i);

		if (watch && load_relaxed(&watch->address) == address)
			return watch;
	}
	return NULL;
}

static pid_t tid_of(const struct arena *arena, uint32_t thread)
{
	for (uint32_t i = 0; thread != 0 && i < roster_made(arena); i++)
		if (load_acquire(&roster_slot(arena, i)->thread) == thread)
			return (pid_t)load_relaxed(&roster_slot(arena, i)->tid);
	return 0;
}

static void find_holder(const struct arena *arena, struct blocked_thread *thread, uint64_t now)
{
	const struct watch *watch = find_watch(arena, thread->on.value);
	uint64_t holder_op = watch ? load_acquire(&watch->holder_op) : 0;

	if (thread->on.what == REASON_MUTEX)
		thread->holder = read_owner(arena, thread->on.value + MUTEX_OWNER_OFFSET);
	else if (thread->on.what == REASON_RWLOCK_READ || thread->on.what == REASON_RWLOCK_WRITE)
		thread->holder = read_owner(arena, thread->on.value + RWLOCK_WRITER_OFFSET);
	else if (thread->on.what == REASON_JOIN)
		thread->holder = tid_of(arena, (uint32_t)(holder_op >> 32));
	if (holder_op == 0 || thread->on.what == REASON_JOIN)
		return;
	if (thread->holder == 0)
		thread->holder = tid_of(arena, load_relaxed(&watch->holder_thread));
	if (thread->holder == tid_of(arena, load_relaxed(&watch->holder_thread)))
		thread->held_ns = ns_between(arena, load_relaxed(&watch->holder_start), now);
}

/* --- What is open ----------------------------------------------------------------------------- */

static bool is_blocking(const struct record *record)
{
	if (record->type == RECORD_WAIT)
		return true;
	return record->type == RECORD_OP &&
	       (record->what == KIND_IO || record->what == KIND_POLL ||
		record->what == KIND_SLEEP || record->what == KIND_DNS);
}

/* The innermost entry of a thread that may be changing it: entries are freed before they are
 * changed. */
static bool read_open(const struct slot *slot, struct record *to)
{
	for (int i = SLOT_ENTRIES; i-- > 0;) {
		const struct open_entry *entry = &slot->entries[i];
		uint64_t handle = load_acquire(&entry->handle);

		if (handle == 0)
			continue;
		memcpy(to, &entry->record, sizeof(*to));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (load_relaxed(&entry->handle) == handle && is_blocking(to))
			return true;
	}
	*to = (struct record){ .type = RECORD_NONE };
	return false;
}

static void describe(const struct arena *arena, const struct slot *slot,
		     struct blocked_thread *thread)
{
	uint64_t now = clock_now_ticks();

	if (!read_open(slot, &thread->on))
		return;
	copy_string(arena, thread->on.name, thread->call, sizeof(thread->call));
	copy_string(arena, thread->on.ident, thread->what, sizeof(thread->what));
	thread->wait_ns = ns_between(arena, thread->on.start, now);
	thread->frames = stacks_get(arena, thread->on.stack, &thread->frame_count);
	if (thread->on.type == RECORD_WAIT)
		find_holder(arena, thread, now);
}

/* --- All threads ------------------------------------------------------------------------------ */

static void read_task(pid_t pid, struct blocked_thread *thread)
{
	char path[80], stat[512] = "";
	const char *end;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)thread->tid);
	(void)procfs_read_file(path, thread->name, sizeof(thread->name));
	thread->name[strcspn(thread->name, "\n")] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)thread->tid);
	(void)procfs_read_file(path, stat, sizeof(stat));
	end = strrchr(stat, ')');
	thread->state = end && end[1] ? end[2] : '?';
}

static int compare_threads(const void *a, const void *b)
{
	const struct blocked_thread *left = a;
	const struct blocked_thread *right = b;

	return left->tid < right->tid ? -1 : left->tid > right->tid;
}

/* The recorder's own thread. */
static bool is_ours(pid_t pid, const struct blocked_thread *thread)
{
	return thread->tid != pid && strcmp(thread->name, "wcprof") == 0;
}

static struct blocked_thread *list_tasks(pid_t pid, size_t *count)
{
	struct blocked_thread *threads = NULL, *grown;
	char path[64];
	DIR *stream;
	const struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	stream = opendir(path);
	while (stream && (entry = readdir(stream))) {
		if (entry->d_name[0] == '.')
			continue;
		grown = realloc(threads, (*count + 1) * sizeof(*threads));
		if (!grown)
			break;
		threads = grown;
		threads[*count] = (struct blocked_thread){ .tid = (pid_t)atoi(entry->d_name) };
		read_task(pid, &threads[*count]);
		*count += !is_ours(pid, &threads[*count]);
	}
	if (stream)
		closedir(stream);
	return threads;
}

struct blocked_thread *blocked_read(const struct remains *remains, size_t *count)
{
	const struct arena *arena = remains->arena;
	struct blocked_thread *threads;

	*count = 0;
	threads = list_tasks((pid_t)arena->pid, count);
	if (*count > 0)
		qsort(threads, *count, sizeof(*threads), compare_threads);
	for (uint32_t i = 0; i < roster_made(arena); i++) {
		const struct slot *slot = roster_slot(arena, i);
		struct blocked_thread key = { .tid = (pid_t)load_relaxed(&slot->tid) };
		struct blocked_thread *found = NULL;

		if (load_acquire(&slot->thread) != 0 && *count > 0)
			found = bsearch(&key, threads, *count, sizeof(*threads), compare_threads);
		if (found)
			describe(arena, slot, found);
	}
	return threads;
}

/* Index of the thread that has what this one waits for; `count` = none. */
static size_t next_in_circle(const struct blocked_thread *threads, size_t count, size_t index)
{
	struct blocked_thread key = { .tid = threads[index].holder };
	const struct blocked_thread *found;

	if (threads[index].on.type != RECORD_WAIT || key.tid == 0)
		return count;
	found = bsearch(&key, threads, count, sizeof(*threads), compare_threads);
	return found ? (size_t)(found - threads) : count;
}

size_t blocked_circle(const struct blocked_thread *threads, size_t count, size_t first,
		      size_t *members)
{
	size_t used = 0;

	assert(first < count);
	for (size_t at = first; used < count; at = next_in_circle(threads, count, at)) {
		if (at == count || at < first)
			return 0;
		if (at == first && used > 0)
			return used;
		members[used++] = at;
	}
	return next_in_circle(threads, count, members[used - 1]) == first ? used : 0;
}
