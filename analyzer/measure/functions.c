/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts samples by function, and by the class of the op in which they fell.
 *
 * Every function of every sample becomes an item, once for each sample. Items are sorted by class
 * and function, and each stretch of equals is a row. A runtime's function (libraries under the
 * program, the first functions of threads) is a row only if it ran itself. All that it calls is the
 * program's.
 */
#include "functions.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"

struct item {
	uint32_t class;
	uint32_t function;
	uint64_t ns;
	bool is_self;
	bool is_runtime;
};

uint64_t sample_weight_next(struct sample_weights *weights)
{
	const struct rec_sample *sample = &weights->recording->samples[weights->index];
	uint64_t weight_ns = 0;
	assert(weights->index < weights->recording->sample_count);
	if (weights->index == 0 || sample[-1].thread != sample->thread)
		weights->last_cpu_ns = sample->cpu_ns;
	weights->index++;
	if (sample->stack == 0)
		return 0;
	if (sample->cpu_ns > weights->last_cpu_ns)
		weight_ns = sample->cpu_ns - weights->last_cpu_ns;
	weights->last_cpu_ns = sample->cpu_ns;
	return weight_ns;
}

static int compare_items(const void *a, const void *b)
{
	const struct item *left = a, *right = b;
	if (left->class != right->class)
		return left->class < right->class ? -1 : 1;
	return (left->function > right->function) - (left->function < right->function);
}

static int compare_rows(const void *a, const void *b)
{
	const struct function_time *left = a, *right = b;
	if (left->self_ns != right->self_ns)
		return left->self_ns < right->self_ns ? 1 : -1;
	if (left->total_ns != right->total_ns)
		return left->total_ns < right->total_ns ? 1 : -1;
	if (left->class != right->class)
		return left->class < right->class ? -1 : 1;
	return (left->function > right->function) - (left->function < right->function);
}

/* A recursive function is in a stack several times, and counts once. */
static bool is_repeated(const uint32_t *functions, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (functions[i] == functions[index])
			return true;
	return false;
}

struct item_list {
	struct item *items;
	size_t count, room;
};

static void add_item(struct item_list *list, struct item item)
{
	list->items = memory_grow(list->items, &list->room, list->count + 1, sizeof(*list->items));
	list->items[list->count++] = item;
}

static void add_rows(struct function_table *table, const struct item_list *list)
{
	size_t room = 0;
	for (size_t from = 0, to; from < list->count; from = to) {
		struct function_time row = { .function = list->items[from].function,
					     .class = list->items[from].class };
		bool is_runtime = true;
		for (to = from;
		     to < list->count && compare_items(&list->items[from], &list->items[to]) == 0;
		     to++) {
			row.total_ns += list->items[to].ns;
			row.self_ns += list->items[to].is_self ? list->items[to].ns : 0;
			row.samples += list->items[to].is_self;
			is_runtime = is_runtime && list->items[to].is_runtime;
		}
		if (is_runtime && row.samples == 0)
			continue;
		table->rows = memory_grow(table->rows, &room, (size_t)table->count + 1,
					  sizeof(*table->rows));
		table->rows[table->count++] = row;
	}
}

void function_table_build(struct function_table *table, const struct recording *recording,
			  const struct class_table *classes, const struct frame_names *names)
{
	uint32_t functions[FUNCTION_STACK_MAX];
	struct sample_weights weights = { .recording = recording };
	struct item_list list = { 0 };
	*table = (struct function_table){ 0 };
	for (size_t i = 0; i < recording->sample_count; i++) {
		const struct rec_sample *sample = &recording->samples[i];
		uint64_t weight_ns = sample_weight_next(&weights);
		if (sample->stack == 0)
			continue;
		uint32_t class = sample->op == NO_INDEX ? NO_INDEX : classes->of_op[sample->op];
		size_t count = frame_names_of_stack(names, recording, sample->stack, functions,
						    FUNCTION_STACK_MAX);
		if (count == 0)
			functions[count++] = 0;
		for (size_t k = 0; k < count; k++)
			if (!is_repeated(functions, k))
				add_item(&list,
					 (struct item){ class, functions[k], weight_ns, k == 0,
							frame_names_is_runtime(names, recording,
									       sample->stack, k) });
		table->sample_count++;
		table->total_ns += weight_ns;
	}
	if (list.count > 0)
		qsort(list.items, list.count, sizeof(*list.items), compare_items);
	add_rows(table, &list);
	free(list.items);
	if (table->count > 1)
		qsort(table->rows, table->count, sizeof(*table->rows), compare_rows);
}

void function_table_free(struct function_table *table)
{
	free(table->rows);
	*table = (struct function_table){ 0 };
}
