/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a tracer publishes for which request a thread works: OpenTelemetry's record for threads,
 * which the thread-local pointer `otel_thread_ctx_v1` of some object leads to.
 *
 * The symbol table says where that pointer is in its object's storage. Where the storage is on each
 * thread is in a slot that the loader has filled in for the object's own code.
 *
 * Looked for when the program starts; before each dlopen(), for what was opened before; and when a
 * thread comes by for the first time. Objects are not looked at again if none was loaded or
 * unloaded since. The loader's list is walked with its lock held: another thread may be unloading
 * an object by a call that is not known.
 *
 * Threads: any; one looks at a time. A dlclose() waits until none does, and none begins meanwhile.
 */
#include <sched.h>

#include "objects.h"
#include "slots.h"

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

static unsigned long long loads_seen; /* loads and unloads so far; 0 = not looked at yet */
static bool is_found;

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

static bool find_in(const struct link_map *map, bool is_program, struct context_place *place)
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
	return is_program;
}

/* --- All --- */

/* The first object is the program. */
static int look_at(struct dl_phdr_info *info, size_t bytes, void *is_later)
{
	const struct link_map map = { .l_addr = info->dlpi_addr,
				      .l_ld = (void *)slots_dynamic_of(info) };
	struct context_place place;
	bool is_program = !*(bool *)is_later;

	(void)bytes;
	if (is_program && info->dlpi_adds + info->dlpi_subs == loads_seen)
		return 1;
	*(bool *)is_later = true;
	loads_seen = info->dlpi_adds + info->dlpi_subs;
	if (!map.l_ld || !find_in(&map, is_program, &place))
		return 0;
	is_found = true;
	context_publish(&place);
	return 1;
}

static void look(void)
{
	bool is_later = false;

	if (is_found || !slots_try_walking())
		return;
	(void)dl_iterate_phdr(look_at, &is_later);
	slots_end_walking();
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
	is_found = false;
	loads_seen = 0;
}

void publishers_closed(void)
{
	__atomic_sub_fetch(&closings, 1, __ATOMIC_SEQ_CST);
	publishers_find();
}
