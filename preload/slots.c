/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has the calls of loaded objects lead to our wrappers while the program runs, and back.
 *
 * An object calls others through words of its own, its slots, which the loader filled. A slot that
 * holds one of libc's functions is made to hold that row's wrapper. Its value decides, not its
 * name: each version of a function has its own wrapper. Calls that another preloaded library or a
 * sanitizer has taken stay with it. A slot that the loader has not bound yet holds an address of
 * the object's own; where it will lead, the loader's list says. Function pointers that the loader
 * wrote into data are slots as well. Copies that the program made of them stay as they are. Those
 * in the data of objects are counted (slots_copies.c).
 *
 * Each slot is changed by one compare and swap: a thread that calls through it finds either. Some
 * lie in memory that is read-only once the object is relocated. That is opened for the moment. If
 * it can be written to anyway, the object is not relocated yet: its slots are for a later look.
 *
 * The loader's list is walked by dl_iterate_phdr(), whose lock keeps objects from being unloaded
 * meanwhile. The program takes that lock for moments, to load, to unload, and in some unwinders. A
 * child forked meanwhile would never get it: fork() waits for us, up to a bound. Threads: the
 * control thread. Never here: a thread that the program waits for.
 */
#include "slots.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "guests.h"
#include "objects.h"
#include "slots_copies.h"

extern ElfW(Dyn) _DYNAMIC[] HIDDEN;

enum {
	PAGE_BYTES = 4096,
	PLACES = 2048, /* at least twice the rows: then a look at two or three finds one */
	NO_ROW = UINT16_MAX,
	FORK_TRIES = 1000, /* of FORK_PAUSE_NS and what a busy machine adds */
	FORK_PAUSE_NS = 100000
};

_Static_assert(2 * (HOOK_COUNT + GUESTS_MOST) < PLACES, "half of the places stay free");

/* The rows by an address: of the function, or of its wrapper. After libc's are the guests'. */
struct index {
	uint16_t rows[PLACES];
};

struct walk {
	bool here; /* or back */
	bool has_begun;
	struct index index;
	struct recorder_writable writable;
	struct recorder_slots *slots;
};

/* Of one object. */
struct place {
	struct object object;
	const struct link_map *map;
	uintptr_t relro; /* read-only once it is relocated; 0 = nothing is */
	size_t relro_bytes;
	bool is_open;
};

static uint32_t is_walking; /* 1 = somebody holds, or wants, the loader's lock for us */
static uint32_t are_here;   /* the slots lead to us */
static unsigned long long
	loads_seen; /* of the loader, at the last walk: objects that came and went */

/* --- Rows by address -------------------------------------------------------------------------- */

static void *real_of(unsigned row)
{
	return row < HOOK_COUNT ? hooks_real_of(row) : guests_real_of(row - HOOK_COUNT);
}

static void *wrapper_of(unsigned row)
{
	return row < HOOK_COUNT ? hooks_wrapper_of(row) : guests_wrapper_of(row - HOOK_COUNT);
}

static void *from_of(bool here, unsigned row)
{
	return here ? real_of(row) : wrapper_of(row);
}

static void *to_of(bool here, unsigned row)
{
	return here ? wrapper_of(row) : real_of(row);
}

static size_t place_of(const void *address)
{
	return ((uintptr_t)address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 53;
}

/* Of two names for one function the first one counts. */
static void index_fill(struct index *index, bool here)
{
	for (size_t i = 0; i < PLACES; i++)
		index->rows[i] = NO_ROW;
	for (unsigned row = 0; row < HOOK_COUNT + guests_count(); row++) {
		const void *from = from_of(here, row);
		size_t at = place_of(from);

		if (!from || !to_of(here, row))
			continue;
		while (index->rows[at] != NO_ROW && from_of(here, index->rows[at]) != from)
			at = (at + 1) % PLACES;
		if (index->rows[at] == NO_ROW)
			index->rows[at] = (uint16_t)row;
	}
}

/* NULL: not one of those. */
static void *index_exchange(const struct walk *walk, const void *held)
{
	size_t at = place_of(held);

	for (; walk->index.rows[at] != NO_ROW; at = (at + 1) % PLACES)
		if (from_of(walk->here, walk->index.rows[at]) == held)
			return to_of(walk->here, walk->index.rows[at]);
	return NULL;
}

/* --- One slot --------------------------------------------------------------------------------- */

static bool set_relro(const struct place *place, int protection)
{
	return real.syscall(SYS_mprotect, (long)place->relro, (long)place->relro_bytes, protection,
			    0, 0, 0) == 0;
}

static bool may_write(const struct walk *walk, struct place *place, uintptr_t slot)
{
	if (slot - place->relro >= place->relro_bytes)
		return recorder_writable_has(&walk->writable, slot, sizeof(void *));
	/* Not relocated yet. */
	if (recorder_writable_has(&walk->writable, slot, sizeof(void *)))
		return false;
	if (!place->is_open)
		place->is_open = set_relro(place, PROT_READ | PROT_WRITE);
	return place->is_open;
}

/* Not bound yet: it leads back into the object, which has no such function itself. */
static void *find_unbound(const struct walk *walk, const struct place *place, const void *held,
			  size_t symbol)
{
	const struct object *object = &place->object;
	struct dl_find_object found;
	const char *name = object->strings + object->symbols[symbol].st_name;
	void *function;

	if (!walk->here || object->symbols[symbol].st_shndx != SHN_UNDEF ||
	    _dl_find_object((void *)(uintptr_t)held, &found) != 0 ||
	    (uintptr_t)found.dlfo_link_map->l_ld != (uintptr_t)place->map->l_ld)
		return NULL;
	function = hooks_find(name, object_version_wanted(object, symbol));
	return index_exchange(walk, function ? function : guests_named(name));
}

static void change(struct walk *walk, struct place *place, const ElfW(Rela) * relocation)
{
	unsigned long type = ELF64_R_TYPE(relocation->r_info);
	size_t symbol = ELF64_R_SYM(relocation->r_info);
	void **slot = (void **)(place->object.base + relocation->r_offset);
	void *held, *wanted;

	if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64) ||
	    symbol == 0 || relocation->r_addend != 0)
		return;
	held = __atomic_load_n(slot, __ATOMIC_RELAXED);
	wanted = index_exchange(walk, held);
	if (!wanted && type == R_X86_64_JUMP_SLOT)
		wanted = find_unbound(walk, place, held, symbol);
	if (!wanted)
		return;
	/* Release: who calls through it sees what resolution has written. Pairs with the call. */
	if (may_write(walk, place, (uintptr_t)slot) &&
	    __atomic_compare_exchange_n(slot, &held, wanted, false, __ATOMIC_RELEASE,
					__ATOMIC_RELAXED))
		walk->slots->changed++;
	else
		walk->slots->left++;
}

/* --- Objects ---------------------------------------------------------------------------------- */

static bool begin(struct walk *walk)
{
	walk->has_begun = true;
	guests_look();
	index_fill(&walk->index, walk->here);
	/* With the loader's lock: what is read-only now is relocated, and stays. */
	return recorder_writable_read(&walk->writable);
}

static void find_relro(struct place *place, const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + header->p_vaddr;

		if (header->p_type != PT_GNU_RELRO)
			continue;
		/* As the loader rounds them. */
		place->relro = start & -(uintptr_t)PAGE_BYTES;
		place->relro_bytes =
			((start + header->p_memsz) & -(uintptr_t)PAGE_BYTES) - place->relro;
	}
}

const void *slots_dynamic_of(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			return (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	return NULL;
}

static bool is_function(const void *held, const void *context)
{
	return index_exchange(context, held) != NULL;
}

static int see_object(struct dl_phdr_info *info, size_t bytes, void *context)
{
	struct walk *walk = context;
	struct link_map map = { .l_addr = info->dlpi_addr, .l_ld = (void *)slots_dynamic_of(info) };
	struct place place = { .map = &map };

	(void)bytes;
	if (!walk->has_begun && !begin(walk))
		return 1;
	loads_seen = info->dlpi_adds + info->dlpi_subs;
	if (!map.l_ld || map.l_ld == _DYNAMIC)
		return 0;
	object_read(&place.object, &map);
	if (!place.object.symbols || !place.object.strings)
		return 0;
	find_relro(&place, info);
	for (int table = 0; table < 2; table++)
		for (size_t i = 0; i < place.object.slot_counts[table]; i++)
			change(walk, &place, &place.object.slots[table][i]);
	if (place.is_open)
		(void)set_relro(&place, PROT_READ);
	if (walk->here)
		walk->slots->copies += copies_count(info, is_function, walk);
	return 0;
}

bool slots_try_walking(void)
{
	/* Pairs with slots_fork_prepare(). */
	return !__atomic_exchange_n(&is_walking, 1, __ATOMIC_ACQUIRE);
}

static void begin_walking(void)
{
	while (!slots_try_walking())
		real.syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

void slots_end_walking(void)
{
	__atomic_store_n(&is_walking, 0, __ATOMIC_RELEASE);
}

static bool walk_all(bool here, struct recorder_slots *slots)
{
	struct walk walk = { .here = here, .slots = slots };
	int result;

	begin_walking();
	result = dl_iterate_phdr(see_object, &walk);
	slots_end_walking();
	recorder_writable_forget(&walk.writable);
	return result == 0;
}

bool slots_point(bool here, struct recorder_slots *slots)
{
	*slots = (struct recorder_slots){ 0 };
	if (!walk_all(here, slots))
		return false;
	__atomic_store_n(&are_here, here, __ATOMIC_RELAXED);
	return true;
}

/* --- Later ------------------------------------------------------------------------------------ */

static int count_loads(struct dl_phdr_info *info, size_t bytes, void *context)
{
	(void)bytes;
	*(unsigned long long *)context = info->dlpi_adds + info->dlpi_subs;
	return 1;
}

/* The loader may be about to write the slots of an object that is in its list already, and not get
 * a CPU. So a load is looked for several times. */
enum { LOOKS_AFTER_LOAD = 8 };

static unsigned looks_left; /* the control thread's own */

void slots_look(void)
{
	unsigned long long loads = 0;
	struct recorder_slots slots = { 0 };

	if (!__atomic_load_n(&are_here, __ATOMIC_RELAXED))
		return;
	begin_walking();
	(void)dl_iterate_phdr(count_loads, &loads);
	slots_end_walking();
	if (loads != loads_seen)
		looks_left = LOOKS_AFTER_LOAD;
	if (looks_left == 0)
		return;
	looks_left--;
	(void)walk_all(true, &slots);
	/* Those of objects that were being relocated. */
	if (slots.left > 0)
		loads_seen = 0;
}

/* --- Fork ------------------------------------------------------------------------------------- */

void slots_fork_prepare(void)
{
	const struct timespec pause = { 0, FORK_PAUSE_NS };

	/* Whoever forks in a callback of dl_iterate_phdr() has the lock that is waited for. */
	for (int i = 0; i < FORK_TRIES && __atomic_exchange_n(&is_walking, 1, __ATOMIC_ACQUIRE);
	     i++)
		real.syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&pause, 0, 0, 0);
}

void slots_fork_done(void)
{
	slots_end_walking();
}
