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
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "guests.h"
#include "objects.h"
#include "watch.h"

extern struct r_debug _r_debug;

enum guest {
#define GUEST_WAIT(reason, type, symbol, parameters, arguments, address, name) GUEST_##symbol,
#define GUEST_POLL(symbol, parameters, arguments)                              GUEST_##symbol,
#include "guests.def"
	GUESTS
};

_Static_assert((int)GUESTS <= (int)GUESTS_MOST, "the tables of slots.c have room for them");

static const struct symbol_row rows[GUESTS] = {
#define GUEST_WAIT(reason, type, symbol, parameters, arguments, address, name) \
	SYMBOL_ROW(#symbol, "", SYMBOL_FUNCTION),
#define GUEST_POLL(symbol, parameters, arguments) SYMBOL_ROW(#symbol, "", SYMBOL_FUNCTION),
#include "guests.def"
};

/* The functions that the slots held. Written before a slot leads to a wrapper. */
static void *guest_real[GUESTS];

static void *real_of(enum guest guest)
{
	return __atomic_load_n(&guest_real[guest], __ATOMIC_RELAXED);
}

/* --- Wrappers --- */

struct guest_wait {
	uint64_t handle;
};

static void guest_wait_begin(struct guest_wait *wait, enum reason reason, enum guest guest,
			     const void *address, const char *name, struct caller caller)
{
	wait->handle = 0;
	struct self *self = hook_enter();
	if (!self)
		return;
	const struct watch *watch = address ? watch_get(self, address, WATCH_MUTEX) : NULL;
	uint32_t ident = watch ? watch->ident : name ? string_intern(name, strlen(name)) : 0;
	const char *symbol = rows[guest].symbol;
	wait->handle = wait_begin(self, reason, string_intern(symbol, strlen(symbol)), address,
				  ident, caller_stack(self, caller), caller.frame);
	self_leave(self);
}

/* Also when an exception passes. */
static void guest_wait_end(struct guest_wait *wait)
{
	struct self *self = wait->handle ? hook_enter() : NULL;
	if (!self)
		return;
	wait_end_brief(self, wait->handle, 0, 0);
	self_leave(self);
}

static uint64_t poll_begin(enum guest guest, struct caller caller)
{
	struct self *self = hook_enter();
	if (!self)
		return 0;
	const char *symbol = rows[guest].symbol;
	uint64_t op = op_begin(self, KIND_POLL, string_intern(symbol, strlen(symbol)), 0, -1,
			       caller_stack(self, caller), caller.frame);
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
#define GUEST_WAIT(reason, type, symbol, parameters, arguments, address, name) \
	(void *)guest_##symbol,
#define GUEST_POLL(symbol, parameters, arguments) (void *)guest_##symbol,
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

void *guests_named(const char *symbol)
{
	for (int i = 0; i < GUESTS; i++)
		if (object_is_equal(symbol, rows[i].symbol))
			return guest_real[i];
	return NULL;
}
