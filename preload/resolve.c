/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds libc's own functions: the next definition of each row's symbol behind this library.
 *
 * Reads the loaded objects' tables itself (objects.c), along the loader's list, which at start-up
 * is the order of the global scope. dlsym() would take the loader's lock, held by a dlopen() whose
 * constructor waits for a thread that waits here. It would allocate when a look-up fails, through
 * an allocator that locks a mutex of ours. Before glibc 2.36 it would give the oldest version
 * instead of the default one.
 *
 * Invariants: after the first hooks_resolve() every member of `real` can be called. A row with a
 * version gets that version or, from an object without versions (another preload, a sanitizer), the
 * plain symbol. Threads: the constructor, or whoever calls before it; two at once write the same
 * values. Never here: a call of any function outside this file, but for what is found.
 */
#include <errno.h>
#include <link.h>
#include <string.h>

#include "hooks.h"
#include "objects.h"

/* Written by the loader before any object is relocated; `_DYNAMIC` is this library's own. */
extern struct r_debug _r_debug;
extern ElfW(Dyn) _DYNAMIC[] HIDDEN;

void *hooks_real_syscall;
void *hooks_real_vfork;
void *hooks_real_dlopen;
void *hooks_real_dlmopen;
unsigned int *hooks_libc_threads;

#define ROW(symbol, version) SYMBOL_ROW(#symbol, version, false)

static const struct symbol_row rows[HOOK_COUNT] = {
#define HOOK(type, symbol, parameters, arguments)                         ROW(symbol, ""),
#define HOOK_OWN(type, symbol, parameters)                                ROW(symbol, ""),
#define HOOK_AT(type, id, symbol, version, parameters, arguments)         ROW(symbol, version),
#define TIMED(kind, type, symbol, call, parameters, arguments, fd, value) ROW(symbol, ""),
#include "hooks.def"
};

/* Stands for what this libc does not have; only a program that tests for it can get here. */
static long missing(void)
{
	errno = ENOSYS;
	return -1;
}

/* Fills the members that are still empty from one object. Returns whether any is empty yet. */
static bool resolve_in(const struct link_map *map, void *found[HOOK_COUNT])
{
	struct object object;
	bool lacks_any = false;
	object_read(&object, map);
	for (size_t i = 0; i < HOOK_COUNT; i++) {
		if (!found[i])
			found[i] = object_look_up(&object, &rows[i]);
		lacks_any |= !found[i];
	}
	return lacks_any;
}

/* In whichever object it is. */
static void *find(const struct symbol_row *row)
{
	void *found = NULL;

	for (const struct link_map *map = _r_debug.r_map; map && !found; map = map->l_next) {
		struct object object;
		object_read(&object, map);
		found = object_look_up(&object, row);
	}
	return found;
}

/* How many threads libc knows of; NULL: this libc keeps that to itself. */
static unsigned int *find_thread_count(void)
{
	static const struct symbol_row row = SYMBOL_ROW("__nptl_nthreads", "GLIBC_PRIVATE", true);

	return find(&row);
}

/* NULL: the kernel maps no code, or a tool that runs the program has hidden it. */
static void find_kernel_clock(void)
{
	static const struct symbol_row row = SYMBOL_ROW("__vdso_clock_gettime", "", false);

	*(void **)&recorder_kernel_clock = find(&row);
}

void hooks_resolve(void)
{
	void *found[HOOK_COUNT] = { NULL };
	bool lacks_any = true;
	const struct link_map *own = _r_debug.r_map;

	while (own && own->l_ld != _DYNAMIC)
		own = own->l_next;
	for (const struct link_map *map = own ? own->l_next : NULL; map && lacks_any;
	     map = map->l_next)
		lacks_any = resolve_in(map, found);
	/* Not preloaded but opened late, libc lies before us. */
	for (const struct link_map *map = _r_debug.r_map; map && map != own && lacks_any;
	     map = map->l_next)
		lacks_any = resolve_in(map, found);
	for (size_t i = 0; i < HOOK_COUNT; i++)
		if (!found[i])
			found[i] = (void *)missing;
	memcpy(&real, found, sizeof(real));
	hooks_real_syscall = (void *)real.syscall;
	hooks_real_vfork = (void *)real.vfork;
	hooks_real_dlopen = (void *)real.dlopen;
	hooks_real_dlmopen = (void *)real.dlmopen;
	hooks_libc_threads = find_thread_count();
	find_kernel_clock();
}
