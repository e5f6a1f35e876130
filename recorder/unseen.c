/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of threads that made no recorded call. See unseen.h.
 */
#include "unseen.h"

#include <string.h>

#include "arena.h"
#include "chunk.h"
#include "clock.h"
#include "found.h"
#include "mark.h"
#include "opening.h"
#include "scope.h"
#include "strings.h"
#include "syscalls.h"
#include "tasks.h"
#include "watch.h"
#include "weight.h"

#include "in_target.h"

/* Of the thread: its op is the first of its numbers. */
enum { NUMBER_OP = 1, NUMBER_CALL, NUMBER_HOLDS };

static void write_thread(struct self *self, const struct inside *inside, uint64_t op, uint64_t end,
			 const char name[TASK_NAME_BYTES])
{
	struct record record = {
		.start = inside->record.start,
		.end = end,
		.id = op,
		.parent = recorder_arena->process_op.id,
		.name = recorder_arena->thread_class,
		.count = inside->tid,
		.fd = (int32_t)weight_of_thread(inside->tid),
		.type = RECORD_OP,
		.what = KIND_THREAD,
	};

	record.ident = strings_intern(recorder_arena, name, strnlen(name, TASK_NAME_BYTES));
	if (!chunk_is_there(self))
		return;
	chunk_count_thread(self->chunk);
	(void)chunk_append(self, &record);
}

/* A lock that it still has. */
static void write_hold(struct self *self, const struct inside *inside, uint32_t index, uint64_t op,
		       uint64_t end)
{
	const struct held_lock *lock = &inside->held[index];
	const struct watch *watch = NULL;
	struct record record = {
		.start = inside->record.start,
		.end = end,
		.id = op - NUMBER_OP + NUMBER_HOLDS + index,
		.parent = op,
		.value = lock->address,
		.fd = -1,
		.type = RECORD_OP,
		.what = KIND_HOLD,
	};

	if (inside_owner(lock->address, lock->type) == inside->tid)
		watch = watch_get(self, (const void *)(uintptr_t)lock->address,
				  (enum watch_type)lock->type);
	if (!watch)
		return;
	record.name = load_relaxed(&watch->ident);
	record.count = load_relaxed(&watch->hold_count);
	(void)chunk_append(self, &record);
}

static void write_call(struct self *self, struct inside *inside, uint64_t op, uint64_t end)
{
	inside->record.parent = op;
	if (inside->record.type == RECORD_OP) {
		inside->record.id = op - NUMBER_OP + NUMBER_CALL;
		found_write_op(self, inside, end, OUTCOME_NONE);
	} else if (inside->record.type == RECORD_WAIT) {
		inside->record.count = (uint32_t)(op >> 32);
		found_cut_wait(self, inside, end);
	}
}

void unseen_write(struct self *self, struct inside *inside)
{
	uint64_t end = opening_cut(recorder_arena, inside->opening, inside->record.start);
	uint64_t cpu_ns, op;
	char name[TASK_NAME_BYTES] = "";

	/* One that has died by now is not known to have been there until then. */
	if (end == 0 || !clock_cpu_ns_of(inside->tid, &cpu_ns) ||
	    !task_name((uint32_t)sys_getpid(), inside->tid, name) || !scope_has_named(name))
		return;
	op = ((uint64_t)add_relaxed(&recorder_arena->thread_count, 1) + 1) << 32 | NUMBER_OP;
	mark_of(self, op, 0, inside->record.start, inside->cpu_ns);
	for (uint32_t i = 0; i < inside->held_count; i++)
		write_hold(self, inside, i, op, end);
	write_call(self, inside, op, found_end(inside, NULL, cpu_ns));
	mark_of(self, op, 0, end, cpu_ns);
	write_thread(self, inside, op, end, name);
}
