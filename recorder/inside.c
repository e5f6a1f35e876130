/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call that a thread is inside of. See inside.h.
 */
#include "inside.h"

#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

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

static const struct {
	const char *prefix;
	const char *name;
	uint8_t reason;
	uint8_t type;
} families[] = {
#define FAMILY(prefix, name, reason, type) { prefix, name, REASON_##reason, WATCH_##type },
#include "census.def"
};

static const char *const conditions[] = {
#define CONDITION(name) name,
#include "census.def"
};

static const struct {
	const char *name;
	uint8_t reason;
} lives[] = {
#define LIFE(name, reason) { name, REASON_##reason },
#include "census.def"
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static bool is_name(const char *name, const char *bytes, uint32_t count)
{
	return strlen(name) == count && memcmp(name, bytes, count) == 0;
}

static uint32_t read_word(uint64_t address)
{
	uint32_t word;

	return task_read_memory((uint32_t)sys_getpid(), address, &word, sizeof(word)) ==
			       sizeof(word)
		       ? word
		       : 0;
}

uint32_t inside_owner(uint64_t lock, uint8_t type)
{
	if (type == WATCH_MUTEX)
		return read_word(lock + offsetof(pthread_mutex_t, __data.__owner)) & FUTEX_TID_MASK;
	if (type == WATCH_RWLOCK)
		return read_word(lock + offsetof(pthread_rwlock_t, __data.__cur_writer));
	return 0;
}

/* --- Locks ----------------------------------------------------------------------------------- */

/*
 * A read-write lock has three futexes. It lies at a multiple of 8, and of the three only the one
 * for which writers queue does not. The others differ by their values. The phase's is 3 at most.
 * The count of readers has bit 2 set where a thread waits for it.
 */
static uint64_t find_rwlock(uint64_t futex, uint32_t value)
{
	enum { PHASE_MOST = 3 };

	if (futex % sizeof(uint64_t) != 0)
		return futex - offsetof(pthread_rwlock_t, __data.__writers_futex);
	return value > PHASE_MOST ? futex
				  : futex - offsetof(pthread_rwlock_t, __data.__wrphase_futex);
}

static bool is_wait(const struct task_call *call)
{
	int what = (int)call->arguments[1] & FUTEX_CMD_MASK;

	return call->number == SYS_futex && what != FUTEX_WAKE && what != FUTEX_WAKE_BITSET;
}

static bool find_family(struct inside *inside, const struct task_call *call, const char *name)
{
	int what = (int)call->arguments[1] & FUTEX_CMD_MASK;
	size_t i = 0;

	while (i < COUNT_OF(families) &&
	       strncmp(families[i].prefix, name, strlen(families[i].prefix)) != 0)
		i++;
	if (i == COUNT_OF(families) || what != FUTEX_WAIT_BITSET)
		return false;
	inside->lock = families[i].type;
	inside->record.what = families[i].reason;
	inside->record.name =
		strings_intern(recorder_arena, families[i].name, strlen(families[i].name));
	return true;
}

static bool find_lock(struct inside *inside, const struct task_call *call)
{
	uint32_t bytes;
	const char *name = strings_get(recorder_arena, inside->record.name, &bytes);
	size_t i = 0;

	while (i < COUNT_OF(locks) && !is_name(locks[i].name, name, bytes))
		i++;
	if (i == COUNT_OF(locks))
		return find_family(inside, call, name);
	inside->lock = locks[i].type;
	inside->record.what = locks[i].reason;
	return true;
}

static bool compose_lock(struct inside *inside, const struct task_call *call)
{
	if (!is_wait(call) || !find_lock(inside, call))
		return false;
	inside->is_shared =
		inside->lock != WATCH_FUTEX && !((int)call->arguments[1] & FUTEX_PRIVATE_FLAG);
	inside->record.type = RECORD_WAIT;
	inside->record.value =
		inside->lock == WATCH_RWLOCK
			? find_rwlock(call->arguments[0], (uint32_t)call->arguments[2])
			: call->arguments[0];
	return true;
}

/* --- Conditions ------------------------------------------------------------------------------ */

extern const char __ehdr_start[] HIDDEN;
extern const char _end[] HIDDEN;

/* A hook that waits writes that itself: it is the caller of libc's function. */
static bool is_of_hook(const struct inside *inside)
{
	return inside->frame_count == 0 || inside->frames[0] - (uint64_t)(uintptr_t)__ehdr_start <
						   (uint64_t)(_end - __ehdr_start);
}

/* It waits for one of two futexes in the condition, or already for the mutex. */
static bool compose_condition(struct inside *inside, const struct task_call *call)
{
	uint64_t signals = offsetof(pthread_cond_t, __data.__g_signals), futex = call->arguments[0];
	uint32_t bytes;
	const char *name = strings_get(recorder_arena, inside->record.name, &bytes);
	size_t i = 0;

	while (i < COUNT_OF(conditions) && !is_name(conditions[i], name, bytes))
		i++;
	if (i == COUNT_OF(conditions) || !is_wait(call) || is_of_hook(inside))
		return false;
	inside->record.type = RECORD_WAIT;
	inside->is_shared = !((int)call->arguments[1] & FUTEX_PRIVATE_FLAG);
	if (((int)call->arguments[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET) {
		inside->lock = WATCH_COND;
		inside->record.what = REASON_COND;
		inside->record.value = (futex - signals) & -(uint64_t) _Alignof(pthread_cond_t);
	} else {
		inside->lock = WATCH_MUTEX;
		inside->record.what = REASON_MUTEX;
		inside->record.value = futex;
	}
	return true;
}

/* --- Threads and children -------------------------------------------------------------------- */

/* How far behind a pthread_t libc has the thread's number, which the kernel clears as the thread
 * ends. Both are known of this thread. 0 = it is not there. */
static uint64_t find_number(void)
{
	enum { WORDS = 512 };
	const uint32_t *words = (const uint32_t *)pthread_self(); /* NOLINT */
	uint32_t tid = (uint32_t)sys_gettid();
	uint64_t at = 0;

	while (at < WORDS && words[at] != tid)
		at++;
	return at < WORDS ? at * sizeof(*words) : 0;
}

static bool compose_join(struct inside *inside, const struct task_call *call)
{
	uint64_t number = find_number();

	if (!is_wait(call) || number == 0)
		return false;
	inside->life = read_word(call->arguments[0]);
	inside->record.value = call->arguments[0] - number;
	return inside->life != 0;
}

static bool compose_child(struct inside *inside, const struct task_call *call)
{
	bool is_id = call->number == SYS_waitid;
	int pid = (int)call->arguments[is_id];

	if (call->number != SYS_wait4 && !is_id)
		return false;
	if (pid > 0 && (!is_id || call->arguments[0] == P_PID))
		inside->life = (uint32_t)pid;
	inside->record.value = inside->life;
	return true;
}

static bool compose_life(struct inside *inside, const struct task_call *call)
{
	uint32_t bytes;
	const char *name = strings_get(recorder_arena, inside->record.name, &bytes);
	size_t i = 0;

	while (i < COUNT_OF(lives) && !is_name(lives[i].name, name, bytes))
		i++;
	if (i == COUNT_OF(lives) || !(lives[i].reason == REASON_JOIN ? compose_join(inside, call)
								     : compose_child(inside, call)))
		return false;
	inside->record.type = RECORD_WAIT;
	inside->record.what = lives[i].reason;
	return true;
}

/* --- The rest -------------------------------------------------------------------------------- */

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
	inside->lock = WATCH_FREE;
	inside->is_shared = false;
	inside->life = 0;
	if (!clock_cpu_ns_of(tid, &inside->cpu_ns) ||
	    !task_read_call((uint32_t)sys_getpid(), tid, &call) ||
	    !compose_place(inside, tid, &call))
		return;
	(void)(compose_call(inside, &call) || compose_lock(inside, &call) ||
	       compose_condition(inside, &call) || compose_life(inside, &call));
}
