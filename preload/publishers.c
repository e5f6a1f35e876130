/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a tracer publishes for which request a thread works: OpenTelemetry's record for threads,
 * which the thread-local pointer `otel_thread_ctx_v1` of some object leads to.
 *
 * The symbol table says where that pointer is in its object's storage. Where the storage is on each
 * thread is in a slot that the loader has filled in for the object's own code. So no function of
 * the loader's is called, and none of its locks taken.
 *
 * Looked for when the program starts; before each dlopen(), for what was opened before; and when a
 * thread comes by for the first time. A list of objects that has the same end as last time is not
 * looked at again. Threads: any; one looks at a time. A dlclose() waits until none does, and none
 * begins meanwhile.
 */
#include <sched.h>

#include "objects.h"

extern struct r_debug _r_debug;

static const struct symbol_row row = SYMBOL_ROW("otel_thread_ctx_v1", "", SYMBOL_OF_THREAD);

/* A slot for a descriptor of storage leads here, if that is not at a fixed distance from a thread's
 * own block. */
struct storage {
	uint64_t module;
	uint64_t offset;
	uint64_t generation;
};

/* Storage at a fixed distance lies right below a thread's own block. */
enum { DISTANCE_MAX = 1 << 30 };

static bool is_distance(uint64_t word)
{
	return -word - 1 < DISTANCE_MAX;
}

/* 1 while a thread looks. */
static unsigned char is_looking;
/* Calls of dlclose() under way, and whether there were any: then a number of a module may have
 * been another one's before. */
static unsigned int closings;
static bool has_closed;

static const struct link_map *last_seen; /* the end of the list; compared only */
static const struct link_map *publisher; /* NULL: none was found */

/* --- One object --- */

/* The slot that a relocation fills in tells where the storage is; false: it is no such. */
static bool read_slot(const struct object *object, const ElfW(Rela) * relocation,
		      const ElfW(Sym) * symbol, struct context_place *place)
{
	const uint64_t *slot = (const void *)(object->base + relocation->r_offset);
	const ElfW(Sym) *named = &object->symbols[ELF64_R_SYM(relocation->r_info)];
	uint64_t type = ELF64_R_TYPE(relocation->r_info);
	/* The slot is for a variable that begins there in the storage. */
	uint64_t begin = (uint64_t)relocation->r_addend;

	if (named == symbol)
		begin += symbol->st_value;
	else if (named != object->symbols)
		return false;
	if (type == R_X86_64_TLSDESC && slot[0] != 0 && !is_distance(slot[1])) {
		const struct storage *storage = (const void *)slot[1];
		*place = (struct context_place){ storage->module, symbol->st_value,
						 storage->generation };
		return slot[1] != 0;
	}
	if (type == R_X86_64_DTPMOD64) {
		*place = (struct context_place){ slot[0], symbol->st_value, 0 };
		return slot[0] != 0 && !has_closed;
	}
	if (type != R_X86_64_TLSDESC && type != R_X86_64_TPOFF64)
		return false;
	uint64_t distance = slot[type == R_X86_64_TLSDESC];
	*place = (struct context_place){ .offset = distance - begin + symbol->st_value };
	return is_distance(distance);
}

static bool find_in(const struct link_map *map, struct context_place *place)
{
	struct object object;
	object_read(&object, map);
	const ElfW(Sym) *symbol = object_find(&object, &row);
	if (!symbol || symbol->st_size != sizeof(void *))
		return false;
	for (int table = 0; table < 2; table++)
		for (size_t i = 0; i < object.slot_counts[table]; i++)
			if (read_slot(&object, &object.slots[table][i], symbol, place))
				return true;
	/* The program itself needs no slot: its storage is the first. */
	*place = (struct context_place){ .module = 1, .offset = symbol->st_value };
	return map == _r_debug.r_map;
}

/* --- All --- */

static const struct link_map *list_end(void)
{
	const struct link_map *map = _r_debug.r_map;
	while (map && map->l_next)
		map = map->l_next;
	return map;
}

static void look(void)
{
	const struct link_map *end = list_end();
	struct context_place place;
	if (end == last_seen || publisher)
		return;
	last_seen = end;
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
		if (find_in(map, &place)) {
			publisher = map;
			context_publish(&place);
			return;
		}
}

void publishers_find(void)
{
	/* Both in one order with publishers_closing(): one of the two sees the other. */
	if (__atomic_exchange_n(&is_looking, 1, __ATOMIC_SEQ_CST))
		return;
	if (__atomic_load_n(&closings, __ATOMIC_SEQ_CST) == 0)
		look();
	__atomic_store_n(&is_looking, 0, __ATOMIC_RELEASE);
}

/* Looking takes some microseconds; a thread that was stopped in the middle is not waited for. */
enum { YIELDS_MAX = 1000 };

void publishers_closing(void)
{
	__atomic_add_fetch(&closings, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < YIELDS_MAX && __atomic_load_n(&is_looking, __ATOMIC_SEQ_CST); i++)
		real.sched_yield();
	has_closed = true;
	/* The publisher may be the one that goes away. If it is not, it is found again. */
	context_publish(NULL);
	publisher = last_seen = NULL;
}

void publishers_closed(void)
{
	__atomic_sub_fetch(&closings, 1, __ATOMIC_SEQ_CST);
	publishers_find();
}
