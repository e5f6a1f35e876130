/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call that a thread is inside of. See inside.h.
 */
#include "inside.h"

#include <linux/futex.h>
#include <string.h>

#include "arena.h"
#include "clock.h"
#include "parked.h"
#include "strings.h"
#include "switch.h"
#include "syscalls.h"
#include "tasks.h"
#include "watch.h"

#include "in_target.h"

static const struct {
	int32_t number;
	uint8_t kind;
	bool has_descriptor;
} calls[] = {
#define CALL(number, kind, has_descriptor) { number, KIND_##kind, has_descriptor },
#include "census.def"
};

static const struct {
	const char *name;
	uint8_t reason;
	uint8_t type; /* enum watch_type */
} locks[] = {
#define LOCK(name, reason, type) { name, REASON_##reason, WATCH_##type },
#include "census.def"
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static bool is_name(const char *name, const char *bytes, uint32_t count)
{
	return strlen(name) == count && memcmp(name, bytes, count) == 0;
}

static bool compose_lock(struct inside *inside, const struct task_call *call)
{
	uint32_t bytes;
	const char *name = strings_get(recorder_arena, inside->record.name, &bytes);
	int what = (int)call->arguments[1] & FUTEX_CMD_MASK;
	size_t i = 0;

	while (i < COUNT_OF(locks) && !is_name(locks[i].name, name, bytes))
		i++;
	if (i == COUNT_OF(locks) || what == FUTEX_WAKE || what == FUTEX_WAKE_BITSET)
		return false;
	inside->lock = locks[i].type;
	inside->record.type = RECORD_WAIT;
	inside->record.what = locks[i].reason;
	inside->record.value = call->arguments[0];
	return true;
}

static bool compose_call(struct inside *inside, const struct task_call *call)
{
	size_t i = 0;

	while (i < COUNT_OF(calls) && calls[i].number != call->number)
		i++;
	if (i == COUNT_OF(calls))
		return false;
	inside->record.type = RECORD_OP;
	inside->record.what = calls[i].kind;
	if (calls[i].has_descriptor)
		inside->record.fd = (int32_t)call->arguments[0];
	return true;
}

/* The id of libc's function that begins next before this address; 0 = none does. `behind`: how far
 * the address lies behind its begin. */
static uint32_t find_call(const struct recorder_host *host, uint64_t pc, uint64_t *behind)
{
	uint32_t found = 0;

	*behind = UINT64_MAX;
	for (uint32_t i = 0; i < host->function_count; i++) {
		uint64_t at = (uint64_t)(uintptr_t)host->functions[i];

		if (at != 0 && at < pc && pc - at < *behind) {
			*behind = pc - at;
			found = i + 1;
		}
	}
	return found;
}

/*
 * The program has called libc's outermost frame, which is a function that has a hook. Those further
 * in have none, mostly, but have one before them that is nearer than other files are.
 */
static bool compose_place(struct inside *inside, uint32_t tid, const struct task_call *call)
{
	enum { FUNCTION_BYTES = 4096, GAP_BYTES = 65536 };
	uint64_t pcs[INSIDE_FRAMES_MAX], behind;
	uint32_t count = parked_walk(tid, call, pcs, INSIDE_FRAMES_MAX), outermost = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t name = find_call(switch_host(), pcs[i], &behind);

		if (name == 0 || behind > GAP_BYTES)
			break;
		inside->record.name = behind < FUNCTION_BYTES ? name : 0;
		outermost = i;
	}
	if (inside->record.name == 0)
		return false;
	inside->frame_count = count - outermost - 1;
	memcpy(inside->frames, pcs + outermost + 1, inside->frame_count * sizeof(*pcs));
	return true;
}

void inside_look(struct inside *inside, uint32_t tid)
{
	struct task_call call;

	inside->record = (struct record){ .fd = -1, .type = RECORD_NONE };
	if (!clock_cpu_ns_of(tid, &inside->cpu_ns) ||
	    !task_read_call((uint32_t)sys_getpid(), tid, &call) ||
	    !compose_place(inside, tid, &call))
		return;
	if (call.number == SYS_futex)
		(void)compose_lock(inside, &call);
	else
		(void)compose_call(inside, &call);
}
