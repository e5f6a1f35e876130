/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over holds and waits for lengths and pairs; contention.h has the contract.
 *
 * Waiters over time: a lock's begins and ends of waits, each sorted, are merged. Between two of
 * them the number of waiters stays as it is.
 */
#include "contention.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"
#include "recording/addresses.h"

struct contention_builder {
	struct contention *contention;
	const struct recording *recording;
	const uint32_t *op_name;
	const uint32_t *wait_name;
	const uint32_t *stack_site;
	uint32_t *row_of_name;   /* per string id; NO_INDEX = none of the first locks */
	struct addresses sites;  /* (holder's, waiter's) */
	struct addresses paired; /* (lock, which of `sites`): an index into pairs */
	size_t pair_room;
	uint64_t *begins; /* of waits, lock by lock; */
	uint64_t *ends;
	size_t *first; /* of a lock in these */
};

uint64_t contention_slot_ns(const struct contention *contention, uint32_t slot)
{
	uint64_t length_ns = contention->to_ns - contention->from_ns;
	assert(slot <= CONTENTION_SLOTS);
	return contention->from_ns + length_ns / CONTENTION_SLOTS * slot +
	       length_ns % CONTENTION_SLOTS * slot / CONTENTION_SLOTS;
}

uint32_t contention_bin(uint64_t ns)
{
	if (ns < 4)
		return (uint32_t)ns;
	uint32_t doublings = 63 - (uint32_t)__builtin_clzll(ns);
	return 4 * (doublings - 1) + (uint32_t)(ns >> (doublings - 2) & 3);
}

uint64_t contention_bin_ns(uint32_t bin)
{
	assert(bin < CONTENTION_BINS);
	return bin < 4 ? bin : (uint64_t)(4 + bin % 4) << (bin / 4 - 1);
}

static uint32_t row_of_op(const struct contention_builder *builder, size_t op)
{
	uint32_t name = builder->op_name ? builder->op_name[op] : builder->recording->ops[op].name;
	return builder->row_of_name[name];
}

/* NO_INDEX: it is for none of these locks. */
static uint32_t row_of_wait(const struct contention_builder *builder, size_t wait)
{
	const struct rec_wait *of = &builder->recording->waits[wait];
	if (!lock_is_contention(of->reason))
		return NO_INDEX;
	return builder->row_of_name[builder->wait_name ? builder->wait_name[wait] : of->ident];
}

static uint32_t site_of_stack(const struct contention_builder *builder, uint32_t stack)
{
	return builder->stack_site ? builder->stack_site[stack] : 0;
}

static void add_pair(struct contention_builder *builder, uint32_t row, const struct rec_wait *wait)
{
	const struct recording *recording = builder->recording;
	struct contention *contention = builder->contention;
	if (wait->target == NO_INDEX || recording->ops[wait->target].kind != KIND_HOLD)
		return;
	uint32_t holder = recording->extras ? recording->extras[wait->target].stack : 0;
	uint32_t holder_site = site_of_stack(builder, holder);
	uint32_t waiter_site = site_of_stack(builder, wait->stack);
	uint32_t sites = addresses_add(&builder->sites, holder_site, waiter_site);
	uint32_t pair = addresses_add(&builder->paired, row, sites);
	contention->pairs = memory_grow(contention->pairs, &builder->pair_room, (size_t)pair + 1,
					sizeof(*contention->pairs));
	if (pair == contention->pair_count) {
		contention->pairs[pair] =
			(struct contention_pair){ row, holder_site, waiter_site, 0, 0 };
		contention->pair_count++;
	}
	contention->pairs[pair].count++;
	contention->pairs[pair].wait_ns += wait->end_ns - wait->start_ns;
}

static void add_all(struct contention_builder *builder)
{
	const struct recording *recording = builder->recording;
	struct contention *contention = builder->contention;
	size_t next[CONTENTION_LOCKS];
	memcpy(next, builder->first, contention->lock_count * sizeof(*next));
	for (size_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		uint32_t row = op->kind == KIND_HOLD ? row_of_op(builder, i) : NO_INDEX;
		if (row != NO_INDEX)
			contention->hold_bins[row * CONTENTION_BINS +
					      contention_bin(op->end_ns - op->start_ns)]++;
	}
	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		uint32_t row = row_of_wait(builder, i);
		if (row == NO_INDEX)
			continue;
		contention->wait_bins[row * CONTENTION_BINS +
				      contention_bin(wait->end_ns - wait->start_ns)]++;
		add_pair(builder, row, wait);
		builder->begins[next[row]] = wait->start_ns;
		builder->ends[next[row]++] = wait->end_ns;
	}
}

/* The number of waiters from one moment to another; *slot is the one that the first is in. */
static void add_level(const struct contention *contention, struct contention_cell *cells,
		      uint32_t *slot, uint64_t from_ns, uint64_t to_ns, uint32_t level)
{
	while (from_ns < to_ns && *slot < CONTENTION_SLOTS) {
		uint64_t end_ns = contention_slot_ns(contention, *slot + 1);
		uint64_t until_ns = end_ns < to_ns ? end_ns : to_ns;
		if (until_ns > from_ns) {
			struct contention_cell *cell = &cells[*slot];
			cell->wait_ns += level * (until_ns - from_ns);
			cell->most = level > cell->most ? level : cell->most;
			from_ns = until_ns;
		}
		if (end_ns <= from_ns)
			(*slot)++;
	}
}

static int compare_times(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

static void merge(struct contention *contention, uint32_t row, uint64_t *begins, uint64_t *ends,
		  size_t count)
{
	struct contention_cell *cells = &contention->cells[row * CONTENTION_SLOTS];
	uint64_t at_ns = contention->from_ns;
	uint32_t slot = 0, level = 0;
	qsort(begins, count, sizeof(*begins), compare_times);
	qsort(ends, count, sizeof(*ends), compare_times);
	for (size_t begun = 0, ended = 0; ended < count;) {
		bool begins_one = begun < count && begins[begun] < ends[ended];
		uint64_t then_ns = begins_one ? begins[begun] : ends[ended];
		if (then_ns > at_ns) {
			add_level(contention, cells, &slot, at_ns, then_ns, level);
			at_ns = then_ns;
		}
		level += begins_one ? 1 : (uint32_t)-1;
		begun += begins_one;
		ended += !begins_one;
	}
}

static int compare_pairs(const void *left, const void *right)
{
	const struct contention_pair *a = left, *b = right;
	if (a->lock != b->lock)
		return a->lock < b->lock ? -1 : 1;
	if (a->wait_ns != b->wait_ns)
		return a->wait_ns > b->wait_ns ? -1 : 1;
	if (a->holder_site != b->holder_site)
		return a->holder_site < b->holder_site ? -1 : 1;
	return (a->waiter_site > b->waiter_site) - (a->waiter_site < b->waiter_site);
}

/* Room for the first locks, and their numbers by name. */
static void begin(struct contention_builder *builder, const struct lock_table *locks)
{
	struct contention *contention = builder->contention;
	size_t strings = builder->recording->string_count, waits = 0;
	contention->lock_count = locks->count < CONTENTION_LOCKS ? locks->count : CONTENTION_LOCKS;
	size_t count = contention->lock_count;
	builder->row_of_name = memory_new(strings, sizeof(*builder->row_of_name));
	memset(builder->row_of_name, 0xff, strings * sizeof(*builder->row_of_name));
	builder->first = memory_new(count + 1, sizeof(*builder->first));
	for (uint32_t i = 0; i < count; i++) {
		builder->row_of_name[locks->rows[i].name] = i;
		builder->first[i] = waits;
		waits += locks->rows[i].contended;
	}
	builder->first[count] = waits;
	builder->begins = memory_new(waits, sizeof(*builder->begins));
	builder->ends = memory_new(waits, sizeof(*builder->ends));
	contention->cells = memory_new(count * CONTENTION_SLOTS, sizeof(*contention->cells));
	contention->wait_bins = memory_new(count * CONTENTION_BINS, sizeof(uint32_t));
	contention->hold_bins = memory_new(count * CONTENTION_BINS, sizeof(uint32_t));
}

void contention_build(struct contention *contention, const struct lock_table *locks,
		      const struct recording *recording, const uint32_t *op_name,
		      const uint32_t *wait_name, const uint32_t *stack_site, uint64_t from_ns,
		      uint64_t to_ns)
{
	struct contention_builder builder = { .contention = contention,
					      .recording = recording,
					      .op_name = op_name,
					      .wait_name = wait_name,
					      .stack_site = stack_site };
	assert(from_ns <= to_ns);
	*contention = (struct contention){ .from_ns = from_ns, .to_ns = to_ns };
	begin(&builder, locks);
	add_all(&builder);
	for (uint32_t i = 0; i < contention->lock_count; i++)
		merge(contention, i, builder.begins + builder.first[i],
		      builder.ends + builder.first[i], builder.first[i + 1] - builder.first[i]);
	if (contention->pair_count > 1)
		qsort(contention->pairs, contention->pair_count, sizeof(*contention->pairs),
		      compare_pairs);
	free(builder.row_of_name);
	free(builder.first);
	free(builder.begins);
	free(builder.ends);
	addresses_free(&builder.sites);
	addresses_free(&builder.paired);
}

void contention_free(struct contention *contention)
{
	free(contention->cells);
	free(contention->wait_bins);
	free(contention->hold_bins);
	free(contention->pairs);
	*contention = (struct contention){ 0 };
}
