/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds libc's own functions: the next definition of each row's symbol behind this library.
 *
 * Reads the loaded objects' hash tables itself, along the loader's list, which at start-up is the
 * order of the global scope. dlsym() would take the loader's lock (held by a dlopen() whose
 * constructor waits for a thread that waits here), allocate when a look-up fails (through an
 * allocator that locks a mutex of ours) and, before glibc 2.36, give the oldest version instead of
 * the default one.
 *
 * Invariants: after the first hooks_resolve() every member of `real` can be called. A row with a
 * version gets that version or, from an object without versions (another preload, a sanitizer), the
 * plain symbol. Threads: the constructor, or whoever calls before it; two at once write the same
 * values. Never here: a call of any function outside this file, but for what is found.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "hooks.h"

/* Written by the loader before any object is relocated; `_DYNAMIC` is this library's own. */
extern struct r_debug _r_debug;
extern ElfW(Dyn) _DYNAMIC[] HIDDEN;

void *hooks_real_syscall;
void *hooks_real_vfork;
void *hooks_real_dlopen;
void *hooks_real_dlmopen;

struct row {
	const char *symbol;
	const char *version; /* NULL: the default one */
};

static const struct row rows[HOOK_COUNT] = {
#define HOOK(type, symbol, parameters, arguments)                         { #symbol, NULL },
#define HOOK_OWN(type, symbol, parameters)                                { #symbol, NULL },
#define HOOK_AT(type, id, symbol, version, parameters, arguments)         { #symbol, version },
#define TIMED(kind, type, symbol, call, parameters, arguments, fd, value) { #symbol, NULL },
#include "hooks.def"
};

/* The tables of one loaded object. */
struct object {
	uintptr_t base;
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash;
	const uint32_t *sysv_hash;
	const ElfW(Half) * versions;
	const ElfW(Verdef) * definitions;
};

static bool is_equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* The loader has relocated these pointers in place, except in objects whose table is read-only. */
static const void *object_pointer(const struct link_map *map, ElfW(Addr) value)
{
	return (const void *)(value < map->l_addr ? value + map->l_addr : value);
}

static void object_read(struct object *object, const struct link_map *map)
{
	*object = (struct object){ .base = map->l_addr };
	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
		const void *pointer = object_pointer(map, entry->d_un.d_ptr);
		switch (entry->d_tag) {
		case DT_SYMTAB:
			object->symbols = pointer;
			break;
		case DT_STRTAB:
			object->strings = pointer;
			break;
		case DT_GNU_HASH:
			object->gnu_hash = pointer;
			break;
		case DT_HASH:
			object->sysv_hash = pointer;
			break;
		case DT_VERSYM:
			object->versions = pointer;
			break;
		case DT_VERDEF:
			object->definitions = pointer;
			break;
		default:
			break;
		}
	}
}

static const char *version_name(const struct object *object, unsigned index)
{
	const ElfW(Verdef) *at = object->definitions;
	while (at) {
		if ((at->vd_ndx & 0x7fff) == index) {
			const ElfW(Verdaux) *name = (const void *)((const char *)at + at->vd_aux);
			return object->strings + name->vda_name;
		}
		at = at->vd_next ? (const void *)((const char *)at + at->vd_next) : NULL;
	}
	return NULL;
}

/* Whether the symbol at this index is the version that the row wants. */
static bool version_fits(const struct object *object, uint32_t index, const struct row *row)
{
	if (!object->versions)
		return true;
	unsigned version = object->versions[index];
	bool is_default = !(version & 0x8000);
	version &= 0x7fff;
	if (!row->version || version == VER_NDX_GLOBAL || version == VER_NDX_LOCAL)
		return is_default;
	const char *name = version_name(object, version);
	const char *wanted = row->version;
	while (*wanted == '@')
		wanted++;
	return name && is_equal(name, wanted);
}

static void *symbol_address(const struct object *object, uint32_t index, const struct row *row)
{
	const ElfW(Sym) *symbol = &object->symbols[index];
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	if (symbol->st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC) ||
	    !is_equal(object->strings + symbol->st_name, row->symbol) ||
	    !version_fits(object, index, row))
		return NULL;
	void *address = (void *)(object->base + symbol->st_value);
	if (type == STT_GNU_IFUNC)
		address = ((void *(*)(void))address)();
	return address;
}

static void *look_up_gnu(const struct object *object, const struct row *row)
{
	const uint32_t *table = object->gnu_hash;
	uint32_t bucket_count = table[0];
	uint32_t first = table[1];
	const uint32_t *buckets = table + 4 + table[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chain = buckets + bucket_count;
	uint32_t hash = 5381;
	for (const char *c = row->symbol; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	if (bucket_count == 0)
		return NULL;
	uint32_t index = buckets[hash % bucket_count];
	if (index < first)
		return NULL;
	for (;; index++) {
		uint32_t entry = chain[index - first];
		if ((entry | 1) == (hash | 1)) {
			void *address = symbol_address(object, index, row);
			if (address)
				return address;
		}
		if (entry & 1)
			return NULL;
	}
}

static void *look_up_sysv(const struct object *object, const struct row *row)
{
	const uint32_t *table = object->sysv_hash;
	uint32_t hash = 0;
	for (const char *c = row->symbol; *c; c++) {
		hash = (hash << 4) + (unsigned char)*c;
		hash ^= (hash >> 24) & 0xf0;
	}
	hash &= 0x0fffffff;
	if (table[0] == 0)
		return NULL;
	const uint32_t *chain = table + 2 + table[0];
	for (uint32_t index = table[2 + hash % table[0]]; index; index = chain[index]) {
		void *address = symbol_address(object, index, row);
		if (address)
			return address;
	}
	return NULL;
}

static void *look_up(const struct object *object, const struct row *row)
{
	if (!object->symbols || !object->strings)
		return NULL;
	if (object->gnu_hash)
		return look_up_gnu(object, row);
	return object->sysv_hash ? look_up_sysv(object, row) : NULL;
}

/* Stands for what this libc does not have; only a program that tests for it can get here. */
static long missing(void)
{
	errno = ENOSYS;
	return -1;
}

/* Fills the members that are still empty from one object. */
static void resolve_in(const struct link_map *map, void *found[HOOK_COUNT])
{
	struct object object;
	object_read(&object, map);
	for (size_t i = 0; i < HOOK_COUNT; i++)
		if (!found[i])
			found[i] = look_up(&object, &rows[i]);
}

void hooks_resolve(void)
{
	void *found[HOOK_COUNT] = { NULL };
	const struct link_map *own = _r_debug.r_map;

	while (own && own->l_ld != _DYNAMIC)
		own = own->l_next;
	for (const struct link_map *map = own ? own->l_next : NULL; map; map = map->l_next)
		resolve_in(map, found);
	/* Not preloaded but opened late, libc lies before us. */
	for (const struct link_map *map = _r_debug.r_map; map && map != own; map = map->l_next)
		resolve_in(map, found);
	for (size_t i = 0; i < HOOK_COUNT; i++)
		if (!found[i])
			found[i] = (void *)missing;
	memcpy(&real, found, sizeof(real));
	hooks_real_syscall = (void *)real.syscall;
	hooks_real_vfork = (void *)real.vfork;
	hooks_real_dlopen = (void *)real.dlopen;
	hooks_real_dlmopen = (void *)real.dlmopen;
}
