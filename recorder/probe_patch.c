/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts probes into code that runs. See probe_patch.h.
 */
#include "probe_patch.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "clock.h"
#include "fields.h"
#include "gate.h"
#include "mapping.h"
#include "maps.h"
#include "probe_eval.h"
#include "probe_hop.h"
#include "probe_traps.h"
#include "syscalls.h"
#include "tasks.h"
#include "vectors.h"

#include "in_target.h"

enum {
	PAGE = 4096,
	BLOCK = 16, /* bytes that one store changes */
	NS_PER_MS = 1000000
};

static uint32_t used; /* of the table */
/* [PROBES_MAX]; NULL until a probe is to see the slowest calls. */
static struct probe_lengths *lengths;

/* --- Orders ----------------------------------------------------------------------------------- */

static bool ends_with_nul(const char *text, uint32_t bytes)
{
	return text[0] && memchr(text, '\0', bytes);
}

/* Also where nobody has looked at it before. */
static bool has_condition(const struct probe_order *order, struct condition *condition)
{
	const char *end = memchr(order->when, '\0', sizeof(order->when));

	if (!end || !condition_parse(order->when, (size_t)(end - order->when), condition, NULL) ||
	    order->sites.count > CONDITION_SITES_MAX ||
	    (condition_site(condition) && order->sites.count == 0))
		return false;
	condition->sites = order->sites;
	return true;
}

bool probe_order_is_valid(const struct probe_order *order)
{
	struct condition condition;

	if (order->bytes != sizeof(*order) || order->version != FORMAT_VERSION ||
	    order->old_bytes < PROBE_JUMP_BYTES || order->old_bytes > PROBE_OLD_BYTES ||
	    order->moved_bytes < PROBE_JUMP_BYTES || order->moved_bytes > PROBE_MOVED_BYTES ||
	    order->fixup_count > PROBE_FIXUPS_MAX || order->mark_count > PROBE_MARKS_MAX ||
	    order->sight > PROBE_SEES_A_MOMENT || order->min_permille >= LENGTHS_PERMILLE ||
	    (order->sight == PROBE_SEES_A_MOMENT &&
	     order->stub_at + PROBE_STUB_BYTES > order->moved_bytes) ||
	    (order->sight == PROBE_SEES_CALLS && order->place != order->address) ||
	    (order->sight == PROBE_SEES_A_MOMENT && order->code.needs_return) ||
	    !ends_with_nul(order->name, sizeof(order->name)) ||
	    !probe_code_is_valid(&order->code) || !has_condition(order, &condition))
		return false;
	for (uint32_t i = 0; i < order->fixup_count; i++)
		if (order->fixups[i] + 4U > order->moved_bytes)
			return false;
	for (uint32_t i = 0; i < order->mark_count; i++)
		if (order->marks[i].old == 0 || order->marks[i].old >= PROBE_JUMP_BYTES ||
		    order->marks[i].moved >= order->moved_bytes)
			return false;
	return true;
}

/* --- May it be? ------------------------------------------------------------------------------- */

/* The mapping that has all these bytes; false: there is none. */
static bool find_mapping(uint64_t address, uint64_t bytes, struct mapping *found)
{
	struct maps maps;
	bool is_found = false;

	if (!maps_open(&maps))
		return false;
	while (!is_found && maps_next(&maps, found))
		is_found = address >= found->start && address + bytes <= found->end;
	maps_close(&maps);
	return is_found;
}

static const char *find_code(uint64_t address, uint64_t bytes)
{
	struct mapping mapping;

	if (!find_mapping(address, bytes, &mapping))
		return "there is no code at that address";
	if (!mapping.inode || mapping.is_shared || !mapping.is_readable)
		return "its code is not mapped from a file, privately and readable";
	return NULL;
}

static const char *why_not(const struct probe_order *order)
{
	const char *why;

	if (SYS3(prctl, PR_GET_DUMPABLE, 0, 0) != 1)
		return "the process has made itself unreadable (PR_SET_DUMPABLE)";
	if (!vectors_can())
		return "this CPU cannot save its registers";
	if (order->address % BLOCK > BLOCK - PROBE_JUMP_BYTES)
		return "its five bytes cross a border of 16 bytes: no one store changes them";
	why = find_code(order->address, order->old_bytes);
	if (why)
		return why;
	return order->mark_count ? probe_traps_why_not(order->address, probe_hop_signals(order))
				 : NULL;
}

/* --- The store -------------------------------------------------------------------------------- */

/* Memory of the program's, by the kernel: where it is gone, that says so. */
static bool read_memory(uint64_t from, void *to, size_t bytes)
{
	return task_read_memory(gate_pid(), from, to, bytes) == bytes;
}

static bool exchange_block(uint64_t *block, uint64_t expected[2], const uint64_t wanted[2])
{
	bool is_done;

	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(is_done), "+m"(*(uint64_t(*)[2])(void *)block),
			   "+a"(expected[0]), "+d"(expected[1])
			 : "b"(wanted[0]), "c"(wanted[1])
			 : "memory");
	return is_done;
}

/* Five bytes of code become others, if they are what is expected. Returns NULL, or why not. */
static const char *change(uint64_t address, const uint8_t *expected, const uint8_t *wanted)
{
	uint64_t block = address & ~(uint64_t)(BLOCK - 1), page = block & ~(uint64_t)(PAGE - 1);
	uint64_t before[2], after[2];
	uint8_t *at = (uint8_t *)before + (address - block);
	bool is_done;

	if (!read_memory(block, before, sizeof(before)) ||
	    memcmp(at, expected, PROBE_JUMP_BYTES) != 0)
		return "its code is not what its file has: something else has changed it";
	memcpy(after, before, sizeof(after));
	memcpy((uint8_t *)after + (address - block), wanted, PROBE_JUMP_BYTES);
	if (SYS3(mprotect, (long)page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		return "the system does not let code be changed";
	is_done = exchange_block((uint64_t *)(uintptr_t)block, before, after);
	(void)SYS3(mprotect, (long)page, PAGE, PROT_READ | PROT_EXEC);
	return is_done ? NULL : "its code is just being changed by something else";
}

/* --- Semaphores ------------------------------------------------------------------------------- */

/* The program may leave out the work for a mark while nobody looks at it. Its file may be gone, as
 * may be its variable: then nothing is written. */
static bool add_to_semaphore(const struct probe_order *order, uint16_t count)
{
	struct mapping mapping;

	if (!order->semaphore)
		return true;
	if (order->semaphore % sizeof(count) != 0 ||
	    !find_mapping(order->semaphore, sizeof(count), &mapping) || mapping.is_shared ||
	    !mapping.is_writable)
		return false;
	add_relaxed((uint16_t *)(uintptr_t)order->semaphore, count);
	return true;
}

/* --- Probes ----------------------------------------------------------------------------------- */

/* A forked child has counts of its own. */
static struct probe_counters *make_counters(void)
{
	struct probe_counters *counters = mapping_make(sizeof(*counters), -1);

	if (counters)
		(void)sys_madvise(counters, sizeof(*counters), MADV_WIPEONFORK);
	return counters;
}

static bool make_tables(void)
{
	if (!probe_counters)
		probe_counters = make_counters();
	if (!probe_table)
		probe_table = mapping_make(PROBES_MAX * sizeof(*probe_table), -1);
	return probe_counters && probe_table;
}

/* Only where a probe reads values. */
static bool make_values(const struct probe_order *order)
{
	const size_t bytes = sizeof(struct probe_values) * PROBE_VALUES_SLOTS * SLOT_ENTRIES;

	if (order->code.fetch_count && !probe_values)
		store_release(&probe_values, mapping_make(bytes, -1));
	return !order->code.fetch_count || probe_values;
}

static bool make_lengths(const struct probe_order *order)
{
	if (order->min_permille && !lengths)
		lengths = mapping_make(PROBES_MAX * sizeof(*lengths), -1);
	return !order->min_permille || lengths;
}

/* A removed probe that is the same in all but which calls are too short. Threads may be inside, so
 * nothing else of one ever changes. */
static struct probe *find(const struct probe_order *order)
{
	for (uint32_t i = 0; i < used; i++) {
		struct probe_order before = probe_table[i].order;

		before.min_ns = order->min_ns;
		before.min_permille = order->min_permille;
		if (memcmp(&before, order, sizeof(before)) == 0)
			return &probe_table[i];
	}
	return NULL;
}

/* A jump there would be within another one, or have another one within what it moved. */
static bool is_probed(const struct probe_order *order)
{
	for (uint32_t i = 0; i < used; i++) {
		const struct probe_order *other = &probe_table[i].order;

		if (probe_table[i].is_on && order->address < other->address + other->old_bytes &&
		    other->address < order->address + order->old_bytes)
			return true;
	}
	return false;
}

static void write_jump(const struct probe *probe, uint8_t jump[PROBE_JUMP_BYTES])
{
	int32_t distance =
		(int32_t)(probe->moved - PROBE_HOP_CODE - probe->address - PROBE_JUMP_BYTES);

	jump[0] = PROBE_JUMP;
	memcpy(jump + 1, &distance, sizeof(distance));
}

static struct probe *make(const struct probe_order *order)
{
	struct probe *probe = &probe_table[used];
	uint64_t hop = probe_hop_make(order, used);

	if (!hop)
		return NULL;
	probe->address = order->address;
	probe->moved = hop + PROBE_HOP_CODE;
	probe->order = *order;
	for (uint8_t i = 0; i < order->code.fetch_count; i++) {
		probe->reads_return |= order->code.fetches[i].is_at_return;
		probe->reads_vectors |= order->code.fetches[i].start == PROBE_FROM_VECTOR;
	}
	if (has_condition(order, &probe->when))
		condition_settle(&probe->when);
	/* Pairs with moved_to(). */
	store_release(&used, used + 1);
	return probe;
}

/* 0: no instruction that was moved began there. A signal's handler asks. */
static uint64_t moved_to(uint64_t pc)
{
	for (uint32_t i = 0; i < load_acquire(&used); i++) {
		const struct probe *probe = &probe_table[i];

		for (uint32_t mark = 0; mark < probe->order.mark_count; mark++)
			if (probe->address + probe->order.marks[mark].old == pc)
				return probe->moved + probe->order.marks[mark].moved;
	}
	return 0;
}

static void settle(struct probe *probe, const struct probe_order *order)
{
	probe->order.min_ns = order->min_ns;
	probe->order.min_permille = order->min_permille;
	store_relaxed(&probe->lengths, order->min_permille ? &lengths[probe - probe_table] : NULL);
	store_relaxed(&probe->min_ticks, clock_ticks_of(order->min_ns));
	probe->flags = probe_order_chooses(order) ? FIELD_CHOSEN : 0;
}

/* While a probe that is on asks for requests, they are followed. */
static void follow_requests(void)
{
	bool is_wanted = false;

	for (uint32_t i = 0; i < used; i++)
		is_wanted |=
			probe_table[i].is_on && condition_asks_for_requests(&probe_table[i].when);
	(void)requests_follow(REQUESTS_FOR_PROBES, is_wanted);
}

const char *probe_add(const struct probe_order *order, uint64_t until_ns)
{
	uint8_t jump[PROBE_JUMP_BYTES];
	struct probe *probe;
	const char *why;

	if (!make_tables() || !make_values(order) || !make_lengths(order))
		return "there is no memory for it";
	probe = find(order);
	if (is_probed(order))
		return "it is probed already, or what is next to it";
	why = why_not(order);
	if (why)
		return why;
	if (!probe && used == PROBES_MAX)
		return "so many functions were probed that there is no room for another";
	store_relaxed(&vectors_matter, 1);
	if (!probe)
		probe = make(order);
	if (!probe)
		return "there is no free memory near enough to it";
	settle(probe, order);
	write_jump(probe, jump);
	if (order->mark_count && !probe_traps_begin(moved_to, probe_hop_signals(order)))
		return "no handler can be set";
	if (!add_to_semaphore(order, 1))
		return "its semaphore is no variable of the program's";
	why = change(probe->address, order->old, jump);
	if (order->mark_count)
		probe_traps_note();
	if (why)
		(void)add_to_semaphore(order, (uint16_t)-1);
	probe->is_on = !why;
	probe->until_ns = until_ns;
	follow_requests();
	return why;
}

static bool is_there(const struct probe *probe, const uint8_t jump[PROBE_JUMP_BYTES])
{
	uint8_t now[PROBE_JUMP_BYTES];

	return read_memory(probe->address, now, sizeof(now)) && memcmp(now, jump, sizeof(now)) == 0;
}

static bool is_called(const struct probe *probe, const char *name, uint32_t bytes)
{
	return bytes == 0 ||
	       (strlen(probe->order.name) == bytes && memcmp(probe->order.name, name, bytes) == 0);
}

/* False: it is still there. */
static bool take_out(struct probe *probe)
{
	uint8_t jump[PROBE_JUMP_BYTES];

	write_jump(probe, jump);
	/* Where its bytes are others now, its file is gone, and it is gone too. */
	if (change(probe->address, jump, probe->order.old) && is_there(probe, jump))
		return false;
	(void)add_to_semaphore(&probe->order, (uint16_t)-1);
	probe->is_on = false;
	return true;
}

uint32_t probe_remove(const char *name, uint32_t bytes)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < used; i++)
		if (probe_table[i].is_on && is_called(&probe_table[i], name, bytes))
			count += take_out(&probe_table[i]);
	follow_requests();
	return count;
}

/* --- The lease -------------------------------------------------------------------------------- */

static bool has_lease(const struct probe *probe)
{
	return probe->is_on && probe->until_ns != 0;
}

void probe_lease_renew(uint64_t until_ns)
{
	for (uint32_t i = 0; i < used; i++)
		if (has_lease(&probe_table[i]) && probe_table[i].until_ns < until_ns)
			probe_table[i].until_ns = until_ns;
}

/* One that the system does not let be changed stays, and is not tried again. */
static void end_leases(uint64_t now_ns)
{
	bool has_changed = false;

	for (uint32_t i = 0; i < used; i++) {
		struct probe *probe = &probe_table[i];

		if (!has_lease(probe) || probe->until_ns > now_ns)
			continue;
		probe->until_ns = 0;
		has_changed |= take_out(probe);
	}
	if (has_changed)
		follow_requests();
}

int probe_lease_tick(uint64_t now_ns)
{
	uint64_t soonest_ns = UINT64_MAX;

	end_leases(now_ns);
	for (uint32_t i = 0; i < used; i++)
		if (has_lease(&probe_table[i]) && probe_table[i].until_ns < soonest_ns)
			soonest_ns = probe_table[i].until_ns;
	return soonest_ns == UINT64_MAX ? -1 : (int)((soonest_ns - now_ns) / NS_PER_MS) + 1;
}

void probe_lease_leave(void)
{
	end_leases(UINT64_MAX);
}

uint32_t probe_places(void)
{
	return load_acquire(&used);
}

uint32_t probe_count(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < used; i++)
		count += probe_table[i].is_on;
	return count;
}
