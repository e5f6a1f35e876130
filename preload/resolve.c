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

#define ROW(symbol, version) SYMBOL_ROW(#symbol, version, SYMBOL_FUNCTION)

static const struct symbol_row rows[HOOK_COUNT] = {
#define HOOK(type, symbol, parameters, arguments)                         ROW(symbol, ""),
#define HOOK_OWN(type, symbol, parameters)                                ROW(symbol, ""),
#define HOOK_AT(type, id, symbol, version, parameters, arguments)         ROW(symbol, version),
#define TIMED(kind, type, symbol, call, parameters, arguments, fd, value) ROW(symbol, ""),
#include "hooks.def"
};

static bool are_late;

/* Names of functions that have a row, by their hashes; some others fit as well. */
enum { NAME_BITS = 4096 };
static uint64_t names[NAME_BITS / 64];

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
	static const struct symbol_row row =
		SYMBOL_ROW("__nptl_nthreads", "GLIBC_PRIVATE", SYMBOL_DATA);

	return find(&row);
}

/* NULL: the kernel maps no code, or a tool that runs the program has hidden it. */
static void find_kernel_clock(void)
{
	static const struct symbol_row row =
		SYMBOL_ROW("__vdso_clock_gettime", "", SYMBOL_FUNCTION);

	*(void **)&recorder_kernel_clock = find(&row);
}

/* --- A library that was opened late ----------------------------------------------------------- */

static uint32_t hash_of(const char *symbol)
{
	uint32_t hash = 5381;

	for (; *symbol; symbol++)
		hash = hash * 33 + (unsigned char)*symbol;
	return hash;
}

static void note_name(uint32_t hash)
{
	names[hash % NAME_BITS / 64] |= UINT64_C(1) << hash % 64;
}

static void note_names(void)
{
	static const uint32_t aliases[] = {
#define HOOK_ALIAS(symbol, other) SYMBOL_HASH(#symbol),
#include "hooks.def"
	};

	for (size_t i = 0; i < HOOK_COUNT; i++)
		note_name(rows[i].hash);
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		note_name(aliases[i]);
}

bool hooks_are_late(void)
{
	return are_late;
}

void *hooks_real_of(unsigned row)
{
	void *const *all = (void *const *)&real;

	return all[row] == (void *)missing ? NULL : all[row];
}

void *hooks_wrapper_of(unsigned row)
{
	return (char *)hooks_wrappers + hooks_wrappers[row];
}

void *hooks_find(const char *symbol, const char *version)
{
	struct symbol_row row = { .hash = hash_of(symbol) };
	size_t bytes = strlen(symbol) + 1, version_bytes = strlen(version) + 1;

	if (!(names[row.hash % NAME_BITS / 64] >> row.hash % 64 & 1) ||
	    bytes > sizeof(row.symbol) || version_bytes > sizeof(row.version))
		return NULL;
	memcpy(row.symbol, symbol, bytes);
	memcpy(row.version, version, version_bytes);
	row.bytes = (uint16_t)bytes;
	return find(&row);
}

/* --- Load ------------------------------------------------------------------------------------- */

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
	are_late = !found[CALL_syscall - 1];
	if (are_late)
		note_names();
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
