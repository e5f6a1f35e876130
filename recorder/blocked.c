/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reasons why the threads of a living process are blocked. See blocked.h; blocked_put.c writes
 * it down.
 *
 * A thread that was blocked before recording began, or by something that is not recorded, has no
 * open record. Its system call, as the kernel tells it, stands for one. A futex is taken for a
 * mutex if a thread of the process is written down as its owner, where mutexes have theirs. It must
 * also be waited for as glibc waits for locks.
 */
#include "blocked.h"

#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "clock.h"
#include "opening.h"
#include "parked.h"
#include "roster.h"
#include "stacks.h"
#include "syscalls.h"
#include "watch.h"

#include "in_target.h"

/* Where glibc keeps the owner's tid; both have been there for as long as the types are fixed
 * by the ABI. */
enum { MUTEX_OWNER_OFFSET = 8, RWLOCK_WRITER_OFFSET = 24 };
/* The value of a lock that somebody waits for. */
enum { LOCK_WAITED_FOR = 2 };
/* Of a list's memory, for each thread. */
enum { BYTES_EACH = sizeof(struct blocked_thread) + sizeof(uint32_t) };

static bool is_own(const struct blocked_list *list)
{
	return list->pid == (uint32_t)sys_getpid();
}

/* 0 = the clock's rate is not known yet: a moment later it is. */
static uint64_t ns_between(const struct arena *arena, uint64_t from, uint64_t to)
{
	struct clock_scale scale = arena->clock;

	scale.mult = load_acquire(&arena->clock.mult);
	if (scale.mult == 0)
		scale.mult = clock_rate_of(&scale, CLOCK_APART_LEAST_NS);
	return from < to ? clock_to_ns(&scale, to) - clock_to_ns(&scale, from) : 0;
}

/* --- Who has it ------------------------------------------------------------------------------- */

static struct blocked_thread *find_thread(const struct blocked_list *list, uint32_t tid)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->threads[i].tid == tid)
			return &list->threads[i];
	return NULL;
}

/* Of a lock's word that names its owner; 0 = none, or not to be read. */
static uint32_t read_owner(const struct blocked_list *list, uint64_t address)
{
	uint32_t owner = 0;

	if (task_read_memory(list->pid, address, &owner, sizeof(owner)) != sizeof(owner))
		return 0;
	/* A robust mutex's owner has more bits. */
	return owner & FUTEX_TID_MASK;
}

static uint32_t tid_of(const struct arena *arena, uint32_t thread)
{
	for (uint32_t i = 0; thread != 0 && i < roster_made(arena); i++)
		if (load_acquire(&roster_slot(arena, i)->thread) == thread)
			return load_relaxed(&roster_slot(arena, i)->tid);
	return 0;
}

/* Whoever the lock itself names. */
static uint32_t find_owner(const struct blocked_list *list, const struct record *wait)
{
	if (wait->what == REASON_MUTEX)
		return read_owner(list, wait->value + MUTEX_OWNER_OFFSET);
	if (wait->what == REASON_RWLOCK_READ || wait->what == REASON_RWLOCK_WRITE)
		return read_owner(list, wait->value + RWLOCK_WRITER_OFFSET);
	return 0;
}

static void find_holder(const struct blocked_list *list, struct blocked_thread *thread,
			uint64_t now)
{
	const struct arena *arena = list->arena;
	const struct watch *watch = watch_find_in(arena, thread->on.value);
	uint64_t holder_op = watch ? watch_holder(watch) : 0;
	uint32_t recorded = tid_of(arena, (uint32_t)(holder_op >> 32));

	thread->holder = find_owner(list, &thread->on);
	if (thread->on.what == REASON_JOIN)
		thread->holder = tid_of(arena, (uint32_t)(holder_op >> 32));
	if (holder_op == 0 || thread->on.what == REASON_JOIN ||
	    opening_cut(arena, load_relaxed(&watch->holder_opening), 0) != 0)
		return;
	if (thread->holder == 0)
		thread->holder = recorded;
	if (thread->holder == recorded)
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

/* A record that is being written may be torn: its handle was another one then, or none. */
__attribute__((no_sanitize("thread"))) static void copy_record(struct record *to,
							       const struct record *from)
{
	uint64_t *words = (uint64_t *)to;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*words); i++)
		words[i] = load_acquire(&((const uint64_t *)from)[i]);
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
		/* The copy's loads acquire: the second look at the handle stays behind them. */
		copy_record(to, &entry->record);
		if (load_relaxed(&entry->handle) == handle && is_blocking(to))
			return true;
	}
	*to = (struct record){ .type = RECORD_NONE };
	return false;
}

static void read_slot(const struct blocked_list *list, const struct slot *slot,
		      struct blocked_thread *thread)
{
	const uint64_t *frames;
	uint64_t now = clock_now_ticks();
	uint32_t count;

	if (!read_open(slot, &thread->on))
		return;
	thread->wait_ns = ns_between(list->arena, thread->on.start, now);
	frames = stacks_get(list->arena, thread->on.stack, &count);
	thread->frame_count = 0;
	for (uint32_t i = 0; i < count && thread->frame_count < BLOCKED_FRAMES_MAX; i++)
		if ((frames[i] & STACK_TEXT_MASK) != STACK_TEXT)
			thread->frames[thread->frame_count++] = frames[i];
	if (thread->on.type == RECORD_WAIT)
		find_holder(list, thread, now);
}

/* --- What the kernel says --------------------------------------------------------------------- */

/* As if its wait for a lock had been recorded, but for when it began. */
static void guess_mutex(const struct blocked_list *list, struct blocked_thread *thread,
			const struct task_call *call)
{
	int what = (int)call->arguments[1] & FUTEX_CMD_MASK;
	struct record wait = {
		.value = call->arguments[0], .fd = -1, .type = RECORD_WAIT, .what = REASON_MUTEX
	};
	uint32_t owner = find_owner(list, &wait);
	bool is_plain = (what == FUTEX_WAIT || what == FUTEX_WAIT_BITSET) &&
			(uint32_t)call->arguments[2] == LOCK_WAITED_FOR;

	if (!is_plain && what != FUTEX_LOCK_PI && what != FUTEX_LOCK_PI2)
		return;
	if (owner == 0 || !find_thread(list, owner))
		return;
	thread->on = wait;
	thread->holder = owner;
}

static void read_call(const struct blocked_list *list, struct blocked_thread *thread)
{
	struct task_call call;

	if (thread->state == 'R')
		return;
	if (thread->on.type == RECORD_NONE)
		thread->switches = task_switches(list->pid, thread->tid);
	if (!task_read_call(list->pid, thread->tid, &call))
		return;
	thread->call = call.number;
	thread->argument = call.arguments[0];
	if (thread->on.type == RECORD_NONE && call.number == SYS_futex)
		guess_mutex(list, thread, &call);
	/* By unwind rules of this process. */
	if (thread->frame_count == 0 && is_own(list))
		thread->frame_count =
			parked_walk(thread->tid, &call, thread->frames, BLOCKED_FRAMES_MAX);
}

/* --- All threads ------------------------------------------------------------------------------ */

static void count_thread(uint32_t tid, void *context)
{
	(void)tid;
	++*(uint32_t *)context;
}

/* The recorder's own has its name; a program's first thread has any. */
static void see_thread(uint32_t tid, void *context)
{
	struct blocked_list *list = context;
	struct blocked_thread *thread = &list->threads[list->count];

	if (list->count == list->room)
		return;
	*thread = (struct blocked_thread){ .tid = tid, .call = -1 };
	if (!task_name(list->pid, tid, thread->name))
		return;
	if (tid != list->pid && strcmp(thread->name, "wcprof") == 0)
		return;
	thread->state = task_state(list->pid, tid);
	list->count++;
}

int blocked_read(struct blocked_list *list, uint32_t pid, const struct arena *arena)
{
	enum { MORE_BY_THEN = 64 };
	uint32_t room = MORE_BY_THEN;
	void *memory;

	*list = (struct blocked_list){ .pid = pid, .arena = arena };
	if (!tasks_see(pid, count_thread, &room))
		return -ESRCH;
	memory = sys_mmap(NULL, room * BYTES_EACH, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (sys_is_error(memory))
		return -ENOMEM;
	list->threads = memory;
	list->room = room;
	list->members = (uint32_t *)(list->threads + room);
	(void)tasks_see(pid, see_thread, list);
	for (uint32_t i = 0; arena && i < roster_made(arena); i++) {
		const struct slot *slot = roster_slot(arena, i);
		struct blocked_thread *thread = NULL;

		if (load_acquire(&slot->thread) != 0)
			thread = find_thread(list, load_relaxed(&slot->tid));
		if (thread)
			read_slot(list, slot, thread);
	}
	for (uint32_t i = 0; i < list->count; i++)
		read_call(list, &list->threads[i]);
	return 0;
}

void blocked_free(struct blocked_list *list)
{
	if (list->room)
		sys_munmap(list->threads, list->room * BYTES_EACH);
	*list = (struct blocked_list){ 0 };
}

/* --- Circles ---------------------------------------------------------------------------------- */

/* Index of the thread that has what this one waits for; `count` = none. */
static uint32_t next_in_circle(const struct blocked_list *list, uint32_t index)
{
	const struct blocked_thread *thread = &list->threads[index];
	const struct blocked_thread *found = NULL;

	if (thread->on.type == RECORD_WAIT && thread->holder != 0)
		found = find_thread(list, thread->holder);
	return found ? (uint32_t)(found - list->threads) : list->count;
}

/*
 * Whether it has not moved since it was read. The same call of the same lock may be a later one, of
 * a thread that had the lock meanwhile. The kernel shows a call only when its thread has left the
 * CPU, which it counts first. So the count is read after the call.
 */
static bool is_still_in_call(const struct blocked_list *list, const struct blocked_thread *thread)
{
	struct task_call call;

	return task_read_call(list->pid, thread->tid, &call) && call.number == thread->call &&
	       call.arguments[0] == thread->argument &&
	       task_switches(list->pid, thread->tid) == thread->switches;
}

/* Not in another futex's: it may have got what it waited for, and be asleep before it says so. */
static bool may_sleep_on(const struct blocked_thread *thread, uint64_t lock)
{
	return thread->call != SYS_futex ||
	       (thread->argument >= lock && thread->argument - lock < sizeof(pthread_rwlock_t));
}

/* Whether it is in the wait that was read before. */
static bool is_still_waiting(const struct blocked_list *list, const struct blocked_thread *thread)
{
	struct record now;

	/* One that has just got what it waited for runs, or wants to. */
	if (thread->state != 'S' || task_state(list->pid, thread->tid) != 'S')
		return false;
	if (thread->on.start == 0)
		return is_still_in_call(list, thread);
	for (uint32_t i = 0; i < roster_made(list->arena); i++) {
		const struct slot *slot = roster_slot(list->arena, i);

		if (load_relaxed(&slot->tid) == thread->tid && load_acquire(&slot->thread) != 0)
			return read_open(slot, &now) && now.start == thread->on.start &&
			       now.value == thread->on.value && may_sleep_on(thread, now.value);
	}
	return false;
}

/* They were all read before: who is still in the same wait has been since, also while the owners
 * are read here. */
static bool is_circle(const struct blocked_list *list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct blocked_thread *thread = &list->threads[list->members[i]];
		uint32_t owner = find_owner(list, &thread->on);

		if (owner != 0 && owner != thread->holder)
			return false;
	}
	for (uint32_t i = 0; i < count; i++)
		if (!is_still_waiting(list, &list->threads[list->members[i]]))
			return false;
	return true;
}

uint32_t blocked_circle(const struct blocked_list *list, uint32_t first)
{
	uint32_t used = 0;

	assert(first < list->count);
	for (uint32_t at = first; used < list->count; at = next_in_circle(list, at)) {
		if (at == list->count || at < first)
			return 0;
		if (at == first && used > 0)
			break;
		list->members[used++] = at;
	}
	if (next_in_circle(list, list->members[used - 1]) != first)
		return 0;
	return is_circle(list, used) ? used : 0;
}
