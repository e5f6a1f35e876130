/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups waits; waits.h has the contract.
 *
 * Waits are sorted by group, then each stretch of equals is one row.
 */
#include "waits.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"

struct keyed_wait {
	uint64_t group; /* reason and target class */
	uint32_t name;
	uint32_t wait;
};

static int compare_groups(const void *a, const void *b)
{
	const struct keyed_wait *left = a, *right = b;
	if (left->group != right->group)
		return left->group < right->group ? -1 : 1;
	return (left->name > right->name) - (left->name < right->name);
}

static int compare_totals(const void *a, const void *b)
{
	const struct wait_class *left = a, *right = b;
	if (left->times.total_ns != right->times.total_ns)
		return left->times.total_ns < right->times.total_ns ? 1 : -1;
	if (left->reason != right->reason)
		return left->reason < right->reason ? -1 : 1;
	if (left->name != right->name)
		return left->name < right->name ? -1 : 1;
	return (left->target_class > right->target_class) -
	       (left->target_class < right->target_class);
}

static struct keyed_wait *waits_by_group(const struct graph *graph,
					 const struct class_table *classes,
					 const uint32_t *wait_name)
{
	const struct recording *recording = graph->recording;
	struct keyed_wait *keyed = memory_new(recording->wait_count, sizeof(*keyed));
	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		uint32_t target = graph->wait_target[i];
		uint32_t class = target == NO_INDEX ? NO_INDEX : classes->of_op[target];
		keyed[i].group = ((uint64_t)wait->reason << 32) | class;
		keyed[i].name = wait_name ? wait_name[i] : wait->ident;
		keyed[i].wait = (uint32_t)i;
	}
	qsort(keyed, recording->wait_count, sizeof(*keyed), compare_groups);
	return keyed;
}

static struct wait_class row_of(const struct recording *recording, const struct keyed_wait *keyed,
				size_t count, uint64_t *values_ns)
{
	struct wait_class row = {
		.reason = (uint16_t)(keyed->group >> 32),
		.name = keyed->name,
		.target_class = (uint32_t)keyed->group,
		.count = (uint32_t)count,
	};
	for (size_t i = 0; i < count; i++) {
		const struct rec_wait *wait = &recording->waits[keyed[i].wait];
		assert(wait->end_ns >= wait->start_ns);
		values_ns[i] = wait->end_ns - wait->start_ns;
		row.timed_out_count += wait->timed_out;
		row.open_count += wait->open;
	}
	row.times = percentiles_of(values_ns, count);
	return row;
}

void wait_table_build(struct wait_table *table, const struct graph *graph,
		      const struct class_table *classes, const uint32_t *wait_name)
{
	const struct recording *recording = graph->recording;
	size_t room = 0, wait_count = recording->wait_count;
	struct keyed_wait *keyed = waits_by_group(graph, classes, wait_name);
	uint64_t *values_ns = memory_new(wait_count, sizeof(*values_ns));
	*table = (struct wait_table){ 0 };
	for (size_t from = 0, to; from < wait_count; from = to) {
		for (to = from + 1;
		     to < wait_count && compare_groups(&keyed[from], &keyed[to]) == 0; to++)
			;
		struct wait_class row = row_of(recording, keyed + from, to - from, values_ns);
		table->rows = memory_grow(table->rows, &room, (size_t)table->count + 1,
					  sizeof(*table->rows));
		table->rows[table->count++] = row;
		table->total_ns += row.times.total_ns;
		table->untargeted_ns += row.target_class == NO_INDEX ? row.times.total_ns : 0;
	}
	free(values_ns);
	free(keyed);
	if (table->count > 1)
		qsort(table->rows, table->count, sizeof(*table->rows), compare_totals);
}

void wait_table_free(struct wait_table *table)
{
	free(table->rows);
	*table = (struct wait_table){ 0 };
}
