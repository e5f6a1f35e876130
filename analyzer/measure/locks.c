/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock figures in two passes over holds and waits: count per class, then fill in.
 *
 * The second pass puts the lengths of all holds and waits into one array, class by class, for the
 * percentiles. It adds each to the site that it came from. A wait whose target is a hold is also
 * added to the site of that hold. So the site that makes others wait is found, which need not be
 * the one that holds longest.
 *
 * One thread.
 */
#include "locks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"
#include "recording/addresses.h"

/* Where holds or waits of one class came from. */
struct tally {
	uint32_t row;
	bool is_wait;
	struct lock_site site;
};

/* One lock and its class. */
struct member {
	uint32_t row;
	struct lock_instance instance;
};

struct lock_builder {
	struct lock_table *table;
	const struct recording *recording;
	const uint32_t *op_name;
	const uint32_t *wait_name;
	const uint32_t *stack_site;
	uint32_t *row_of_name; /* per string id; NO_INDEX = none */
	size_t row_room;
	struct addresses addresses; /* (process, address) */
	struct addresses locks;     /* (class, which address), by index in `members` */
	struct member *members;
	size_t member_room;
	struct addresses tallied; /* (row * 2 + is_wait, site) to the index of its tally */
	struct tally *tallies;
	size_t tally_room;
	uint64_t *hold_ns; /* class by class */
	uint64_t *wait_ns;
};

bool lock_is_contention(uint16_t reason)
{
	return reason == REASON_LOCK || reason == REASON_MUTEX || reason == REASON_RWLOCK_READ ||
	       reason == REASON_RWLOCK_WRITE;
}

static uint32_t name_of_op(const struct lock_builder *builder, size_t op)
{
	return builder->op_name ? builder->op_name[op] : builder->recording->ops[op].name;
}

static uint32_t name_of_wait(const struct lock_builder *builder, size_t wait)
{
	return builder->wait_name ? builder->wait_name[wait]
				  : builder->recording->waits[wait].ident;
}

static struct lock_class *row_of(struct lock_builder *builder, uint32_t name)
{
	struct lock_table *table = builder->table;
	uint32_t *row = &builder->row_of_name[name];

	assert(name < builder->recording->string_count);
	if (*row == NO_INDEX) {
		table->rows = memory_grow(table->rows, &builder->row_room, (size_t)table->count + 1,
					  sizeof(*table->rows));
		table->rows[table->count] = (struct lock_class){ .name = name };
		*row = table->count++;
	}
	return &table->rows[*row];
}

/* The lock at this address, if it is of this class; NULL = not known. Good until the next call. */
static struct lock_instance *instance_of(struct lock_builder *builder, uint32_t name,
					 uint32_t thread, uint64_t address)
{
	uint32_t row = builder->row_of_name[name], process, lock, index;
	size_t known = builder->locks.count;

	if (thread == NO_INDEX || !address)
		return NULL;
	process = builder->recording->threads[thread].process;
	lock = addresses_add(&builder->addresses, process, address);
	index = addresses_add(&builder->locks, row, lock);
	builder->members = memory_grow(builder->members, &builder->member_room, (size_t)index + 1,
				       sizeof(*builder->members));
	if (index == known) {
		builder->members[index] =
			(struct member){ .row = row, .instance = { .address = address } };
		builder->table->rows[row].address_count++;
	}
	return &builder->members[index].instance;
}

static void count_hold(struct lock_builder *builder, size_t index)
{
	const struct rec_op *op = &builder->recording->ops[index];
	const struct rec_op_extra *extras = builder->recording->extras;
	struct lock_instance *instance;

	if (!extras)
		return;
	instance =
		instance_of(builder, name_of_op(builder, index), op->thread, extras[index].address);
	if (!instance)
		return;
	instance->acquisitions++;
	instance->hold_ns += op->end_ns - op->start_ns;
}

static void count_wait(struct lock_builder *builder, size_t index)
{
	const struct rec_wait *wait = &builder->recording->waits[index];
	struct lock_instance *instance =
		instance_of(builder, name_of_wait(builder, index), wait->thread, wait->address);

	if (!instance)
		return;
	instance->contended++;
	instance->wait_ns += wait->end_ns - wait->start_ns;
}

static void count_all(struct lock_builder *builder)
{
	const struct recording *recording = builder->recording;

	for (size_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		struct lock_class *row;

		if (op->kind != KIND_HOLD)
			continue;
		row = row_of(builder, name_of_op(builder, i));
		row->acquisitions++;
		if (recording->extras && recording->extras[i].relock_ns) {
			row->relocks++;
			row->relock_ns += recording->extras[i].relock_ns;
		}
		count_hold(builder, i);
	}
	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		struct lock_class *row;

		if (!lock_is_contention(wait->reason))
			continue;
		row = row_of(builder, name_of_wait(builder, i));
		row->contended++;
		row->timed_out += wait->timed_out;
		row->owner_died += wait->owner_died;
		row->holder_known += wait->holder != NO_INDEX || wait->target != NO_INDEX;
		count_wait(builder, i);
	}
}

/* The tally of a row's holds or waits from this stack. */
static struct lock_site *site_of(struct lock_builder *builder, uint32_t row, bool is_wait,
				 uint32_t stack)
{
	uint32_t site = builder->stack_site ? builder->stack_site[stack] : 0;
	size_t known = builder->tallied.count;
	uint32_t index = addresses_add(&builder->tallied, row * 2 + is_wait, site);

	builder->tallies = memory_grow(builder->tallies, &builder->tally_room, (size_t)index + 1,
				       sizeof(*builder->tallies));
	if (index == known)
		builder->tallies[index] =
			(struct tally){ .row = row, .is_wait = is_wait, .site = { .site = site } };
	return &builder->tallies[index].site;
}

static struct lock_site *holder_of(struct lock_builder *builder, size_t op)
{
	const struct rec_op_extra *extras = builder->recording->extras;

	return site_of(builder, builder->row_of_name[name_of_op(builder, op)], false,
		       extras ? extras[op].stack : 0);
}

static void add_hold(struct lock_builder *builder, size_t op, uint64_t *next)
{
	const struct rec_op *hold = &builder->recording->ops[op];
	uint64_t length_ns = hold->end_ns - hold->start_ns;
	struct lock_site *site = holder_of(builder, op);

	assert(hold->end_ns >= hold->start_ns);
	builder->hold_ns[next[builder->row_of_name[name_of_op(builder, op)]]++] = length_ns;
	site->count++;
	site->total_ns += length_ns;
}

static void add_wait(struct lock_builder *builder, size_t index, uint64_t *next)
{
	const struct rec_wait *wait = &builder->recording->waits[index];
	uint32_t row = builder->row_of_name[name_of_wait(builder, index)];
	uint64_t length_ns = wait->end_ns - wait->start_ns;
	struct lock_site *site = site_of(builder, row, true, wait->stack);

	assert(wait->end_ns >= wait->start_ns);
	builder->wait_ns[next[row]++] = length_ns;
	site->count++;
	site->total_ns += length_ns;
	if (wait->target != NO_INDEX && builder->recording->ops[wait->target].kind == KIND_HOLD)
		holder_of(builder, wait->target)->caused_ns += length_ns;
}

/* Room for each row's holds (or waits), where the next one goes. The caller frees it. */
static uint64_t *first_places(const struct lock_table *table, bool is_wait)
{
	uint64_t *next = memory_new(table->count, sizeof(*next)), place = 0;

	for (uint32_t i = 0; i < table->count; i++) {
		next[i] = place;
		place += is_wait ? table->rows[i].contended : table->rows[i].acquisitions;
	}
	return next;
}

static void fill_all(struct lock_builder *builder)
{
	const struct recording *recording = builder->recording;
	struct lock_table *table = builder->table;
	uint64_t *next_hold = first_places(table, false), *next_wait = first_places(table, true);

	for (size_t i = 0; i < recording->op_count; i++)
		if (recording->ops[i].kind == KIND_HOLD)
			add_hold(builder, i, next_hold);
	for (size_t i = 0; i < recording->wait_count; i++)
		if (lock_is_contention(recording->waits[i].reason))
			add_wait(builder, i, next_wait);
	for (uint32_t i = 0; i < table->count; i++) {
		struct lock_class *row = &table->rows[i];

		row->hold = percentiles_of(builder->hold_ns + next_hold[i] - row->acquisitions,
					   row->acquisitions);
		row->wait = percentiles_of(builder->wait_ns + next_wait[i] - row->contended,
					   row->contended);
	}
	free(next_hold);
	free(next_wait);
}

static int compare_tallies(const void *left, const void *right)
{
	const struct tally *a = left, *b = right;

	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	if (a->is_wait != b->is_wait)
		return a->is_wait ? 1 : -1;
	if (a->site.caused_ns != b->site.caused_ns)
		return a->site.caused_ns > b->site.caused_ns ? -1 : 1;
	if (a->site.total_ns != b->site.total_ns)
		return a->site.total_ns > b->site.total_ns ? -1 : 1;
	return (a->site.site > b->site.site) - (a->site.site < b->site.site);
}

/* Hands the sites, in order, to their rows. */
static void give_sites(struct lock_builder *builder)
{
	struct lock_table *table = builder->table;
	size_t count = builder->tallied.count;

	table->sites = memory_new(count, sizeof(*table->sites));
	if (count > 1)
		qsort(builder->tallies, count, sizeof(*builder->tallies), compare_tallies);
	for (size_t i = 0; i < count; i++) {
		const struct tally *tally = &builder->tallies[i];
		struct lock_class *row = &table->rows[tally->row];

		table->sites[i] = tally->site;
		if (tally->is_wait && !row->waiter_count++)
			row->waiters = &table->sites[i];
		if (!tally->is_wait && !row->holder_count++)
			row->holders = &table->sites[i];
	}
}

static int compare_members(const void *left, const void *right)
{
	const struct member *a = left, *b = right;

	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	if (a->instance.wait_ns != b->instance.wait_ns)
		return a->instance.wait_ns > b->instance.wait_ns ? -1 : 1;
	if (a->instance.hold_ns != b->instance.hold_ns)
		return a->instance.hold_ns > b->instance.hold_ns ? -1 : 1;
	return (a->instance.address > b->instance.address) -
	       (a->instance.address < b->instance.address);
}

/* Hands the locks, in order, to their rows. */
static void give_instances(struct lock_builder *builder)
{
	struct lock_table *table = builder->table;
	size_t count = builder->locks.count;

	table->instances = memory_new(count, sizeof(*table->instances));
	if (count > 1)
		qsort(builder->members, count, sizeof(*builder->members), compare_members);
	for (size_t i = 0; i < count; i++) {
		struct lock_class *row = &table->rows[builder->members[i].row];

		table->instances[i] = builder->members[i].instance;
		if (!row->instances)
			row->instances = &table->instances[i];
	}
}

static int compare_rows(const void *left, const void *right)
{
	const struct lock_class *a = left, *b = right;

	if (a->wait.total_ns != b->wait.total_ns)
		return a->wait.total_ns > b->wait.total_ns ? -1 : 1;
	if (a->hold.total_ns != b->hold.total_ns)
		return a->hold.total_ns > b->hold.total_ns ? -1 : 1;
	return (a->name > b->name) - (a->name < b->name);
}

void lock_table_build(struct lock_table *table, const struct recording *recording,
		      const uint32_t *op_name, const uint32_t *wait_name,
		      const uint32_t *stack_site)
{
	struct lock_builder builder = {
		.table = table,
		.recording = recording,
		.op_name = op_name,
		.wait_name = wait_name,
		.stack_site = stack_site,
		.row_of_name = memory_new(recording->string_count, sizeof(uint32_t)),
	};
	uint64_t hold_count = 0, wait_count = 0;

	*table = (struct lock_table){ 0 };
	memset(builder.row_of_name, 0xff, recording->string_count * sizeof(uint32_t));
	count_all(&builder);
	for (uint32_t i = 0; i < table->count; i++) {
		hold_count += table->rows[i].acquisitions;
		wait_count += table->rows[i].contended;
	}
	builder.hold_ns = memory_new(hold_count, sizeof(uint64_t));
	builder.wait_ns = memory_new(wait_count, sizeof(uint64_t));
	fill_all(&builder);
	give_sites(&builder);
	give_instances(&builder);
	if (table->count > 1)
		qsort(table->rows, table->count, sizeof(*table->rows), compare_rows);
	free(builder.hold_ns);
	free(builder.wait_ns);
	free(builder.tallies);
	free(builder.members);
	free(builder.row_of_name);
	addresses_free(&builder.addresses);
	addresses_free(&builder.locks);
	addresses_free(&builder.tallied);
}

void lock_table_free(struct lock_table *table)
{
	free(table->rows);
	free(table->sites);
	free(table->instances);
	*table = (struct lock_table){ 0 };
}
