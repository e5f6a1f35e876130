/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ops take longer: rules, and what they say of each stack. See slow.h.
 *
 * A rule names a stack by a key that is the same in every process of a program. It is FNV-1a of 64
 * bits, over the frames' module paths and the addresses within them. Rules are a hash table of
 * keys. Stacks only ever come, so that each is looked at once, and again when there are
 * other rules. Nothing is unmapped once a thread of the program's may have seen it.
 *
 * The control thread's, but for slow_fork_child().
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "clock.h"
#include "gate.h"
#include "inhandler.h"
#include "mapping.h"
#include "modules.h"
#include "roster.h"
#include "slow.h"
#include "stacks.h"
#include "strings.h"
#include "syscalls.h"

#include "in_target.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
	RULES_BUCKETS = 4096, /* 64 KB */
	RULES_MAX = RULES_BUCKETS * 3 / 4,
	CLOCK_LOOKS = 16
};

struct rule {
	uint64_t key; /* 0 = none */
	uint64_t bits;
};

static struct {
	void *table;      /* struct rule [RULES_BUCKETS] */
	uint32_t count;   /* rules in it */
	uint32_t stacks;  /* up to that one they are known */
	uint32_t names;   /* the same */
	uint32_t threads; /* places of threads that are there */
	uint32_t modules; /* their number when ranges were looked up */
	bool is_stale;    /* the table is to be emptied, and stacks to be looked at anew */
} rules;

/* --- Keys ------------------------------------------------------------------------------------- */

static uint64_t hash_bytes(uint64_t hash, const void *from, size_t bytes)
{
	const unsigned char *at = from;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static bool is_text(uint64_t word)
{
	return (word & STACK_TEXT_MASK) == STACK_TEXT;
}

uint64_t slow_key_of(const struct arena *arena, const uint64_t *pcs, uint32_t count)
{
	uint32_t modules = load_acquire(&arena->module_count);
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	uint32_t found = UINT32_MAX;

	for (uint32_t i = 0; i < count; i++) {
		const char *path = "?";
		uint64_t offset = 0;
		uint32_t bytes;

		if (is_text(pcs[i])) {
			path = strings_get(arena, (uint32_t)pcs[i], &bytes);
		} else if ((found = modules_find(arena, modules, pcs[i], found)) != UINT32_MAX) {
			path = modules_at(arena, found)->path;
			offset = pcs[i] - modules_at(arena, found)->start;
		}
		hash = hash_bytes(hash, path, strlen(path) + 1);
		hash = hash_bytes(hash, &offset, sizeof(offset));
	}
	return hash ? hash : 1;
}

uint64_t slow_key_of_name(const char *name, size_t bytes)
{
	uint64_t hash = hash_bytes(UINT64_C(0xcbf29ce484222325), name, bytes);

	return hash ? hash : 1;
}

/* --- The table -------------------------------------------------------------------------------- */

/* Its place, or a free one. */
static struct rule *find_rule(uint64_t key)
{
	struct rule *table = rules.table;
	uint32_t at = (uint32_t)(key >> 32 ^ key) % RULES_BUCKETS;

	while (table[at].key != 0 && table[at].key != key)
		at = (at + 1) % RULES_BUCKETS;
	return &table[at];
}

static uint8_t bits_of(uint64_t key)
{
	return rules.count > 0 ? (uint8_t)find_rule(key)->bits : 0;
}

/* Pages that were never written stay so. */
static void forget_bytes(void *table, uint32_t count)
{
	uint8_t *bytes = table;

	for (uint32_t id = 0; bytes && id < count; id++)
		if (load_relaxed(&bytes[id]) != 0)
			store_relaxed(&bytes[id], (uint8_t)0);
}

static void look_anew(void)
{
	rules.stacks = 0;
	rules.names = 0;
	rules.modules = 0;
}

static void empty_if_stale(void)
{
	if (!rules.is_stale)
		return;
	if (rules.table)
		memset(rules.table, 0, RULES_BUCKETS * sizeof(struct rule));
	rules.count = 0;
	rules.threads = 0;
	store_relaxed(&slow.range_count, 0);
	forget_bytes(slow.of_stack, STACKS_MAX);
	forget_bytes(slow.of_name, STRINGS_MAX);
	look_anew();
	rules.is_stale = false;
}

/* The least of several, as others come between. */
static uint64_t measure_clock(void)
{
	uint64_t least_ns = UINT64_MAX;

	for (int i = 0; i < CLOCK_LOOKS; i++) {
		uint64_t before_ns = clock_thread_cpu_ns();
		uint64_t more_ns = clock_thread_cpu_ns() - before_ns;

		if (more_ns < least_ns)
			least_ns = more_ns;
	}
	return least_ns;
}

static bool make_ready(void)
{
	if (!mapping_ensure(&rules.table, RULES_BUCKETS * sizeof(struct rule)) ||
	    !mapping_ensure(&slow.of_stack, STACKS_MAX) ||
	    !mapping_ensure(&slow.of_name, STRINGS_MAX) ||
	    !mapping_ensure(&slow.ranges, SLOW_RANGES_MAX * sizeof(struct slow_range)) ||
	    !mapping_ensure(&slow.threads, ROSTER_SLOTS * sizeof(struct slow_thread)))
		return false;
	if (load_relaxed(&slow.rate) == 0) {
		store_relaxed(&slow.clock_ns, measure_clock());
		store_relaxed(&slow.rate, clock_own_rate(CLOCK_APART_NS));
	}
	return true;
}

int slow_add_rule(enum slow_bit bit, uint64_t key)
{
	struct rule *rule;

	if (!make_ready())
		return -ENOMEM;
	empty_if_stale();
	rule = find_rule(key);
	if (rule->key == 0 && rules.count >= RULES_MAX)
		return -ENOSPC;
	rules.count += rule->key == 0;
	rule->key = key;
	rule->bits |= (uint64_t)bit;
	look_anew();
	store_release(&recorder_gate.slowed, 1);
	return 0;
}

int slow_add_range(uint64_t module_key, uint64_t from, uint64_t to)
{
	uint32_t count;
	struct slow_range *range;

	if (!make_ready())
		return -ENOMEM;
	empty_if_stale();
	count = slow.range_count;
	if (count >= SLOW_RANGES_MAX)
		return -ENOSPC;
	range = (struct slow_range *)slow.ranges + count;
	store_relaxed(&range->bytes, 0);
	range->module_key = module_key;
	range->from = from;
	range->to = to;
	/* Pairs with slow_cpu.c. */
	store_release(&slow.range_count, count + 1);
	look_anew();
	store_release(&recorder_gate.slowed, 1);
	return 0;
}

void slow_clear(void)
{
	store_relaxed(&recorder_gate.slowed, 0);
	store_relaxed(&slow.window, 0);
	rules.is_stale = true;
	empty_if_stale();
}

void slow_fork_child(void)
{
	store_relaxed(&recorder_gate.slowed, 0);
	store_relaxed(&slow.window, 0);
	rules.is_stale = true;
}

/* --- Stacks ----------------------------------------------------------------------------------- */

/* Threads write there: the kernel makes the pages here, as far as it can. */
static void make_threads_ready(const struct arena *arena)
{
	uint32_t made = load_relaxed(&arena->slots.made);
	size_t bytes = made * sizeof(struct slow_thread);

	if (made <= rules.threads || made > ROSTER_SLOTS)
		return;
	(void)sys_madvise(slow.threads, (bytes + 4095) & ~(size_t)4095, MADV_POPULATE_WRITE);
	rules.threads = made;
}

static bool is_in_handler(const uint64_t *pcs, uint32_t count)
{
	uint64_t end_of_handlers = inhandler_return();

	for (uint32_t i = 0; end_of_handlers && i < count; i++)
		if (pcs[i] == end_of_handlers)
			return true;
	return false;
}

static bool has_unknown(const struct arena *arena, const uint64_t *pcs, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!is_text(pcs[i]) && modules_find(arena, load_acquire(&arena->module_count),
						     pcs[i], UINT32_MAX) == UINT32_MAX)
			return true;
	return false;
}

/* False: it is not there yet. `may_ask`: code that was loaded since may be asked for, once. */
static bool look_at(struct arena *arena, uint32_t id, bool *may_ask)
{
	uint32_t count;
	const uint64_t *pcs = stacks_get(arena, id, &count);
	uint8_t byte = SLOW_KNOWN;

	if (!pcs)
		return false;
	if (*may_ask && has_unknown(arena, pcs, count)) {
		modules_save(arena);
		*may_ask = false;
	}
	byte |= bits_of(slow_key_of(arena, pcs, count));
	if (byte & (SLOW_ADDS | SLOW_WAKE) && is_in_handler(pcs, count))
		byte |= SLOW_IN_HANDLER;
	store_relaxed((uint8_t *)slow.of_stack + id, byte);
	return true;
}

/* One that is not there yet is looked for again the next time, and those after it with it. */
static void look_at_stacks(struct arena *arena)
{
	uint32_t count = stacks_count(arena);
	bool may_ask = true, is_whole = true;

	for (uint32_t id = rules.stacks + 1; id <= count; id++) {
		is_whole = look_at(arena, id, &may_ask) && is_whole;
		if (is_whole)
			rules.stacks = id;
	}
}

static void look_at_names(const struct arena *arena)
{
	uint32_t count = strings_count(arena);
	bool is_whole = true;

	for (uint32_t id = rules.names + 1; id <= count; id++) {
		uint32_t bytes;
		const char *name = strings_get(arena, id, &bytes);

		is_whole = is_whole && bytes > 0;
		if (bytes > 0)
			store_relaxed(
				(uint8_t *)slow.of_name + id,
				(uint8_t)(SLOW_KNOWN | bits_of(slow_key_of_name(name, bytes))));
		if (is_whole)
			rules.names = id;
	}
}

/* The latest of its modules, if that is there. */
static void find_range(const struct arena *arena, uint32_t modules, struct slow_range *range)
{
	uint64_t address = 0;

	for (uint32_t i = 0; i < modules; i++) {
		const struct module_entry *module = modules_at(arena, i);

		if (slow_key_of_name(module->path, strlen(module->path)) == range->module_key)
			address = load_relaxed(&module->unloaded) ? 0 : module->start + range->from;
	}
	store_relaxed(&range->bytes, 0);
	store_relaxed(&range->address, address);
	if (address != 0)
		store_release(&range->bytes, range->to - range->from);
}

static void look_at_ranges(const struct arena *arena)
{
	uint32_t modules = load_acquire(&arena->module_count);

	if (modules == rules.modules)
		return;
	for (uint32_t i = 0; i < slow.range_count; i++)
		find_range(arena, modules, (struct slow_range *)slow.ranges + i);
	rules.modules = modules;
}

/* The first thread has no routine that is known. */
static uint64_t key_of_thread(const struct arena *arena, const struct slot *slot)
{
	uint64_t routine = load_relaxed(&slot->entries[0].record.value);

	return routine ? slow_key_of(arena, &routine, 1) : slow_key_of_name("main", 4);
}

/* Of a thread that comes or goes just now, another one's is said, by whose index it is known. */
static void look_at_threads(const struct arena *arena)
{
	const struct slot *slots = arena_at(arena, ARENA_ROSTER);
	struct slow_thread *threads = slow.threads;

	for (uint32_t i = 0; i < load_relaxed(&arena->slots.made); i++) {
		uint32_t thread = load_acquire(&slots[i].thread);
		bool is_ruled = thread && bits_of(key_of_thread(arena, &slots[i])) & SLOW_ROUTINE;
		uint64_t word = is_ruled ? thread | SLOW_ROUTINE_RULED : 0;

		if (load_relaxed(&threads[i].routine) != word)
			store_relaxed(&threads[i].routine, word);
	}
}

void slow_look(struct arena *arena)
{
	if (!ops_may_take_longer() || !arena)
		return;
	make_threads_ready(arena);
	look_at_stacks(arena);
	look_at_names(arena);
	look_at_ranges(arena);
	look_at_threads(arena);
}

/* --- Windows ---------------------------------------------------------------------------------- */

void slow_begin_window(uint32_t thousandths, uint64_t window_ns)
{
	uint64_t ticks;

	if (!make_ready())
		return;
	ticks = (uint64_t)(((unsigned __int128)window_ns << 32) / load_relaxed(&slow.rate));
	store_relaxed(&slow.window,
		      ((clock_now_ticks() + ticks) & ~(uint64_t)SLOW_FACTOR_MASK) | thousandths);
}

struct slow_counts slow_count(const struct arena *arena)
{
	const struct slow_thread *threads = load_acquire(&slow.threads);
	struct slow_counts all = { 0, 0, 0, 0 };

	if (!arena)
		return all;
	for (uint32_t i = 0; threads && i < load_relaxed(&arena->slots.made); i++)
		if (slow_is_own(&threads[i]))
			all.progress += load_relaxed(&threads[i].progress);
	all.slowed = roster_counter(arena, COUNTER_slowed);
	all.extra_ns = roster_counter(arena, COUNTER_slowed_ns);
	all.refused = roster_counter(arena, COUNTER_slow_refused);
	return all;
}
