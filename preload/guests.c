/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libgomp and liburing, where the program has them. They reach the kernel without libc, so their
 * waits can be seen only in their own functions.
 *
 * A wrapper under their names would be there in every process. A program that asks by dlsym() or a
 * weak reference whether the library is there would be told so. A program with two copies of it
 * would end up in the wrong one. So nothing is exported. At start-up, when such a library is
 * loaded, the slots through which other objects call it are made to point to our wrappers. These
 * call the functions that the slots held. Only slots that held that very function, or were not
 * bound yet and will be by the order of the loader's list, are changed. A library opened later is
 * left alone. Where ours was opened late itself, slots.c does all this, whenever objects come.
 *
 * The slots may be read-only by now: they are written through /proc/self/mem, which changes no
 * protection. Where that is not to be had, nothing is changed. Threads: the constructor, alone, or
 * the control thread; the wrappers in any. Nothing is held across a real call.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "guests.h"
#include "locks.h"
#include "objects.h"
#include "teams.h"

extern struct r_debug _r_debug;

enum guest {
#define GUEST_ROW(symbol) GUEST_##symbol,
#include "guests.def"
	GUESTS
};

_Static_assert((int)GUESTS <= (int)GUESTS_MOST, "the tables of slots.c have room for them");

static const struct symbol_row rows[GUESTS] = {
#define GUEST_ROW(symbol) SYMBOL_ROW(#symbol, "", SYMBOL_FUNCTION),
#include "guests.def"
};

/* The functions that the slots held. Written before a slot leads to a wrapper. */
static void *guest_real[GUESTS];

static void *real_of(enum guest guest)
{
	return __atomic_load_n(&guest_real[guest], __ATOMIC_RELAXED);
}

static uint32_t name_of(enum guest guest)
{
	const char *symbol = rows[guest].symbol;

	return string_intern(symbol, strlen(symbol));
}

/* --- Waits and polls --- */

struct guest_wait {
	uint64_t handle;
	bool is_meeting;
};

static void guest_wait_begin(struct guest_wait *wait, enum reason reason, enum guest guest,
			     const void *address, const char *name, struct caller caller)
{
	*wait = (struct guest_wait){ 0 };
	struct self *self = hook_enter();
	if (!self)
		return;
	const struct watch *watch = address ? watch_get(self, address, WATCH_MUTEX) : NULL;
	uint32_t ident = watch ? watch->ident : name ? string_intern(name, strlen(name)) : 0;
	wait->handle = wait_begin(self, reason, name_of(guest), address, ident,
				  caller_stack(self, caller), caller.frame);
	self_leave(self);
}

static void guest_meet_begin(struct guest_wait *wait, enum guest guest, const char *name,
			     struct caller caller)
{
	*wait = (struct guest_wait){ team_meets(name_of(guest), caller), true };
	if (!wait->handle)
		guest_wait_begin(wait, REASON_BARRIER, guest, NULL, name, caller);
}

/* Also when an exception passes. All who come to a meeting count, also who comes last. */
static void guest_wait_end(struct guest_wait *wait)
{
	struct self *self = wait->handle ? hook_enter() : NULL;
	if (!self)
		return;
	if (wait->is_meeting)
		wait_end(self, wait->handle, 0, 0);
	else
		wait_end_brief(self, wait->handle, 0, 0);
	self_leave(self);
}

static uint64_t poll_begin(enum guest guest, struct caller caller)
{
	struct self *self = hook_enter();
	if (!self)
		return 0;
	uint64_t op = op_begin(self, KIND_POLL, name_of(guest), 0, -1, caller_stack(self, caller),
			       caller.frame);
	self_leave(self);
	return op;
}

static int poll_end(uint64_t op, int result)
{
	struct self *self = hook_enter_end(op, true);
	if (self)
		op_end_brief(self, op, result < 0 ? OUTCOME_ERROR : OUTCOME_OK,
			     (uint64_t)(int64_t)result);
	self_leave(self);
	return result;
}

/* --- Locks --- */

/* Whether somebody is in a section that has no name, as far as it was entered while recording. */
static uint32_t is_critical, is_atomic;

static void section_becomes(uint32_t *section, uint32_t taken)
{
	if (section)
		__atomic_store_n(section, taken, __ATOMIC_RELAXED);
}

static void guest_gained(const void *lock, uint32_t *section, struct caller caller)
{
	section_becomes(section, 1);
	lock_gained(lock, WATCH_MUTEX, caller);
}

static void guest_lock_wait(struct lock_wait *wait, const void *lock, enum guest guest,
			    struct caller caller)
{
	lock_wait_begin(wait, lock, WATCH_MUTEX, (struct lock_look){ 0, false }, REASON_MUTEX,
			name_of(guest), caller);
}

/* As for mutexes, only who finds it taken waits. */
static bool guest_lock_begin(struct lock_wait *wait, const void *lock, const uint32_t *section,
			     enum guest guest, struct caller caller)
{
	const uint32_t *word = section ? section : lock;

	if (!__atomic_load_n(word, __ATOMIC_RELAXED))
		return false;
	guest_lock_wait(wait, lock, guest, caller);
	return true;
}

static void guest_lock_end(struct lock_wait *wait, uint32_t *section)
{
	section_becomes(section, 1);
	lock_wait_end(wait, LOCK_HELD, false);
}

/* The watch for which lock_release_record() is to be called behind the real call, or NULL. */
static struct watch *guest_release(const void *lock, uint32_t *section,
				   struct hold_release *release)
{
	struct watch *watch = watch_find(lock);

	if (!watch && lock_was_held_long(lock))
		watch = lock_watch_all(lock, WATCH_MUTEX);
	section_becomes(section, 0);
	if (watch && watch->type == WATCH_MUTEX)
		return lock_release(watch, release, false) ? watch : NULL;
	lock_recall(lock);
	return NULL;
}

static void guest_tried(const void *lock, enum guest guest, bool is_gained, struct caller caller)
{
	struct lock_wait wait;

	if (is_gained) {
		guest_gained(lock, NULL, caller);
		lock_hold_tried(lock, WATCH_MUTEX);
	} else if (lock_try_counts(lock)) {
		guest_lock_wait(&wait, lock, guest, caller);
		lock_wait_end(&wait, LOCK_NOT_GAINED, true);
	}
}

/* --- Wrappers --- */

#define GUEST_WAIT(reason, type, symbol, parameters, arguments, address, name)                   \
	static type guest_##symbol parameters                                                    \
	{                                                                                        \
		type(*call) parameters = (type(*) parameters)real_of(GUEST_##symbol);            \
		if (recorder_is_off())                                                           \
			return call arguments;                                                   \
		__attribute__((cleanup(guest_wait_end))) struct guest_wait wait;                 \
		guest_wait_begin(&wait, REASON_##reason, GUEST_##symbol, address, name, CALLER); \
		return call arguments;                                                           \
	}
#define GUEST_MEET(symbol, name)                                                 \
	static void guest_##symbol(void)                                         \
	{                                                                        \
		void (*call)(void) = (void (*)(void))real_of(GUEST_##symbol);    \
		if (recorder_is_off()) {                                         \
			call();                                                  \
			return;                                                  \
		}                                                                \
		__attribute__((cleanup(guest_wait_end))) struct guest_wait wait; \
		guest_meet_begin(&wait, GUEST_##symbol, name, CALLER);           \
		call();                                                          \
	}
#define GUEST_TEAM(symbol, parameters, arguments)                                     \
	static void guest_##symbol parameters                                         \
	{                                                                             \
		void(*call) parameters = (void(*) parameters)real_of(GUEST_##symbol); \
		struct team team;                                                     \
		team_begin(&team, &work, &data, CALLER);                              \
		call arguments;                                                       \
		team_end(&team);                                                      \
	}
#define GUEST_TASK(symbol, parameters, arguments)                                     \
	static void guest_##symbol parameters                                         \
	{                                                                             \
		void(*call) parameters = (void(*) parameters)real_of(GUEST_##symbol); \
		team_has_task();                                                      \
		call arguments;                                                       \
	}
#define GUEST_ASK(symbol)                                          \
	static int guest_##symbol(void)                            \
	{                                                          \
		return ((int (*)(void))real_of(GUEST_##symbol))(); \
	}
#define GUEST_LOCK(symbol, parameters, arguments, lock, section)                             \
	static void guest_##symbol parameters                                                \
	{                                                                                    \
		void(*call) parameters = (void(*) parameters)real_of(GUEST_##symbol);        \
		struct lock_wait wait;                                                       \
		if (recorder_is_off()) {                                                     \
			call arguments;                                                      \
		} else if (guest_lock_begin(&wait, lock, section, GUEST_##symbol, CALLER)) { \
			call arguments;                                                      \
			guest_lock_end(&wait, section);                                      \
		} else {                                                                     \
			call arguments;                                                      \
			guest_gained(lock, section, CALLER);                                 \
		}                                                                            \
	}
#define GUEST_UNLOCK(symbol, parameters, arguments, lock, section)                    \
	static void guest_##symbol parameters                                         \
	{                                                                             \
		void(*call) parameters = (void(*) parameters)real_of(GUEST_##symbol); \
		struct hold_release release;                                          \
		struct watch *watch = guest_release(lock, section, &release);         \
		call arguments;                                                       \
		if (watch)                                                            \
			lock_release_record(watch, &release);                         \
	}
#define GUEST_TRY(symbol)                                                         \
	static int guest_##symbol(void *lock)                                     \
	{                                                                         \
		int is_gained = ((int (*)(void *))real_of(GUEST_##symbol))(lock); \
		if (!recorder_is_off())                                           \
			guest_tried(lock, GUEST_##symbol, is_gained, CALLER);     \
		return is_gained;                                                 \
	}
#define GUEST_MADE(symbol)                                         \
	static void guest_##symbol(void *lock)                     \
	{                                                          \
		lock_made(lock, CALLER);                           \
		((void (*)(void *))real_of(GUEST_##symbol))(lock); \
	}
#define GUEST_GONE(symbol)                                         \
	static void guest_##symbol(void *lock)                     \
	{                                                          \
		((void (*)(void *))real_of(GUEST_##symbol))(lock); \
		watch_forget(lock);                                \
	}
#define GUEST_POLL(symbol, parameters, arguments)                                   \
	static int guest_##symbol parameters                                        \
	{                                                                           \
		int(*call) parameters = (int(*) parameters)real_of(GUEST_##symbol); \
		if (recorder_is_off())                                              \
			return call arguments;                                      \
		uint64_t op = poll_begin(GUEST_##symbol, CALLER);                   \
		return poll_end(op, call arguments);                                \
	}
#include "guests.def"

static void *const wrappers[GUESTS] = {
#define GUEST_ROW(symbol) (void *)guest_##symbol,
#include "guests.def"
};

/* --- Slots --- */

static bool begins_with(const char *text, const char *prefix)
{
	while (*prefix && *text == *prefix) {
		text++;
		prefix++;
	}
	return !*prefix;
}

static bool is_guest(const struct object *object)
{
	return begins_with(object->name, "libgomp.so") || begins_with(object->name, "liburing.so");
}

/* The first library that defines a function is where all calls of it go. */
static bool find_guests(void *found[GUESTS])
{
	bool has_any = false;
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
		struct object object;
		object_read(&object, map);
		if (!is_guest(&object))
			continue;
		for (int i = 0; i < GUESTS; i++)
			if (!found[i])
				found[i] = object_look_up(&object, &rows[i]);
		has_any = true;
	}
	return has_any;
}

static int guest_of(const struct object *object, const ElfW(Rela) * relocation)
{
	const ElfW(Sym) *symbol = &object->symbols[ELF64_R_SYM(relocation->r_info)];
	const char *name = object->strings + symbol->st_name;
	if (*name != 'G' && *name != 'o' && *name != 'i' && *name != '_')
		return -1;
	for (int i = 0; i < GUESTS; i++)
		if (guest_real[i] && object_is_equal(name, rows[i].symbol))
			return i;
	return -1;
}

/* Not bound yet: it leads back into the object's own procedure linkage table. */
static bool is_unbound(const void *held, const struct link_map *map, unsigned long type)
{
	struct dl_find_object place;
	return type == R_X86_64_JUMP_SLOT && _dl_find_object((void *)held, &place) == 0 &&
	       place.dlfo_link_map == map;
}

static void redirect(const struct link_map *map, long memory)
{
	struct object object;
	object_read(&object, map);
	if (is_guest(&object) || !object.symbols || !object.strings)
		return;
	for (int table = 0; table < 2; table++)
		for (size_t i = 0; i < object.slot_counts[table]; i++) {
			const ElfW(Rela) *relocation = &object.slots[table][i];
			unsigned long type = ELF64_R_TYPE(relocation->r_info);
			if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
				continue;
			int guest = guest_of(&object, relocation);
			if (guest < 0)
				continue;
			uintptr_t slot = object.base + relocation->r_offset;
			const void *held = *(void *const *)slot;
			if (held == guest_real[guest] || is_unbound(held, map, type))
				real.syscall(SYS_pwrite64, memory, (long)&wrappers[guest],
					     sizeof(void *), (long)slot, 0, 0);
		}
}

void guests_find(void)
{
	if (!find_guests(guest_real))
		return;
	long memory = real.syscall(SYS_openat, AT_FDCWD, (long)"/proc/self/mem", O_RDWR | O_CLOEXEC,
				   0, 0, 0);
	if (memory < 0)
		return;
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
		redirect(map, memory);
	real.syscall(SYS_close, memory, 0, 0, 0, 0, 0);
}

/* --- Of a library that was opened late --- */

void guests_look(void)
{
	void *found[GUESTS] = { NULL };

	(void)find_guests(found);
	/* Relaxed: wrappers read it. A function that was unloaded stays, as nothing calls it. */
	for (int i = 0; i < GUESTS; i++)
		if (found[i])
			__atomic_store_n(&guest_real[i], found[i], __ATOMIC_RELAXED);
}

unsigned guests_count(void)
{
	return GUESTS;
}

void *guests_real_of(unsigned row)
{
	return guest_real[row];
}

void *guests_wrapper_of(unsigned row)
{
	return wrappers[row];
}

unsigned guests_team_size(void)
{
	int size = guest_omp_get_num_threads();

	return size > 0 ? (unsigned)size : 1;
}

unsigned guests_team_thread(void)
{
	return (unsigned)guest_omp_get_thread_num();
}

void *guests_named(const char *symbol)
{
	for (int i = 0; i < GUESTS; i++)
		if (object_is_equal(symbol, rows[i].symbol))
			return guest_real[i];
	return NULL;
}
