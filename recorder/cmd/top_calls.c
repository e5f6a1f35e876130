/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of probed functions; top_calls.h has the contract.
 *
 * Values come with the record of their call, or right behind it with its number.
 */
#include "top_calls.h"

#include <stdlib.h>

#include "fields.h"

bool top_calls_begin(struct top_calls *calls)
{
	*calls = (struct top_calls){
		.ring = calloc(TOP_CALLS_MAX, sizeof(*calls->ring)),
		.values = calloc(TOP_CALLS_MAX, sizeof(*calls->values)),
	};
	return calls->ring && calls->values;
}

void top_calls_end(struct top_calls *calls)
{
	free(calls->ring);
	free(calls->values);
	*calls = (struct top_calls){ .count = 0 };
}

static void add_value(struct top_calls *calls, struct top_value value)
{
	calls->values[calls->value_count++ % TOP_CALLS_MAX] = value;
}

static void add_own_values(struct top_calls *calls, const struct record *record)
{
	for (int i = 0; i < 2; i++)
		if (field_value_name(record, i))
			add_value(calls, (struct top_value){ .op = record->id,
							     .bits = field_value(record, i),
							     .name = field_value_name(record, i),
							     .type = field_value_type(record, i) });
}

void top_calls_add(struct top_calls *calls, const struct record *record, uint32_t thread,
		   uint64_t last_piece)
{
	if (record->type == RECORD_OP && record->what == KIND_OP_USER) {
		calls->ring[calls->count++ % TOP_CALLS_MAX] =
			(struct top_call){ .end_ns = record->end,
					   .taken_ns = record->end - record->start,
					   .op = record->id,
					   .last_piece = last_piece,
					   .name = record->name,
					   .thread = thread };
		add_own_values(calls, record);
	} else if (record->type == RECORD_LINK && record->what == LINK_VALUE) {
		add_value(calls, (struct top_value){ .op = record->parent,
						     .bits = record->value,
						     .name = record->ident,
						     .type = record->count });
	}
}

static int compare_calls(const void *left, const void *right)
{
	const struct top_call *a = left, *b = right;

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return (a->taken_ns > b->taken_ns) - (a->taken_ns < b->taken_ns);
}

static int compare_sums(const void *left, const void *right)
{
	const struct top_call_sum *a = left, *b = right;
	uint64_t one = a->p50_ns * a->count, two = b->p50_ns * b->count;

	if (one != two)
		return one < two ? 1 : -1;
	return (a->name > b->name) - (a->name < b->name);
}

static uint64_t kept_of(const struct top_calls *calls)
{
	return calls->count < TOP_CALLS_MAX ? calls->count : TOP_CALLS_MAX;
}

/* Of one name; 0 = of all. */
static struct top_call *calls_since(const struct top_calls *calls, uint32_t name, uint64_t since_ns,
				    size_t *count)
{
	uint64_t all = kept_of(calls);
	struct top_call *list = malloc((all ? all : 1) * sizeof(*list));

	*count = 0;
	for (uint64_t i = 0; list && i < all; i++)
		if (calls->ring[i].end_ns >= since_ns && (!name || calls->ring[i].name == name))
			list[(*count)++] = calls->ring[i];
	if (list && *count)
		qsort(list, *count, sizeof(*list), compare_calls);
	return list;
}

uint64_t top_calls_p95_ns(const struct top_call *calls, size_t count)
{
	return calls[count - 1 - count / 20].taken_ns;
}

/* Of calls of one name, the fastest first. */
static struct top_call_sum sum_of(const struct top_call *calls, size_t count)
{
	const struct top_call *last = &calls[count - 1];

	return (struct top_call_sum){ .name = calls->name,
				      .count = count,
				      .p50_ns = calls[count / 2].taken_ns,
				      .p95_ns = top_calls_p95_ns(calls, count),
				      .p99_ns = calls[count - 1 - count / 100].taken_ns,
				      .most_ns = last->taken_ns,
				      .slowest = last->op };
}

uint64_t top_calls_since_ns(const struct top_calls *calls)
{
	return calls->count > TOP_CALLS_MAX ? calls->ring[calls->count % TOP_CALLS_MAX].end_ns : 0;
}

struct top_call_sum *top_calls_list(const struct top_calls *calls, uint64_t since_ns, size_t *count)
{
	struct top_call_sum *sums = malloc(TOP_NAMES_MAX * sizeof(*sums));
	size_t all, end;
	struct top_call *list = calls_since(calls, 0, since_ns, &all);

	*count = 0;
	for (size_t i = 0; sums && list && i < all && *count < TOP_NAMES_MAX; i = end) {
		for (end = i; end < all && list[end].name == list[i].name;)
			end++;
		sums[(*count)++] = sum_of(&list[i], end - i);
	}
	if (sums && *count)
		qsort(sums, *count, sizeof(*sums), compare_sums);
	free(list);
	return sums;
}

/* By thread and begin; of two that begin together the longer one is around the other. */
static int compare_places(const void *left, const void *right)
{
	const struct top_call *a = left, *b = right;
	uint64_t one = a->end_ns - a->taken_ns, two = b->end_ns - b->taken_ns;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (one != two)
		return one < two ? -1 : 1;
	return (a->taken_ns < b->taken_ns) - (a->taken_ns > b->taken_ns);
}

struct top_call *top_calls_outermost(const struct top_calls *calls, uint32_t name,
				     uint64_t since_ns, size_t *count)
{
	size_t all, kept = 0;
	struct top_call *list = calls_since(calls, name, since_ns, &all);

	if (list && all)
		qsort(list, all, sizeof(*list), compare_places);
	for (size_t i = 0; i < all; i++) {
		const struct top_call *around = kept ? &list[kept - 1] : NULL;

		if (list[i].taken_ns > 0 && (!around || around->thread != list[i].thread ||
					     around->end_ns < list[i].end_ns))
			list[kept++] = list[i];
	}
	if (kept)
		qsort(list, kept, sizeof(*list), compare_calls);
	*count = kept;
	return list;
}

uint32_t top_calls_next(const struct top_calls *calls, uint64_t since_ns, uint32_t name,
			bool is_back)
{
	uint64_t all = kept_of(calls);
	uint32_t found = 0;

	for (uint64_t i = 0; i < all; i++) {
		const struct top_call *call = &calls->ring[i];
		bool is_beyond = is_back ? !name || call->name < name : call->name > name;
		bool is_nearer = is_back ? call->name > found : !found || call->name < found;

		if (call->end_ns >= since_ns && call->taken_ns > 0 && is_beyond && is_nearer)
			found = call->name;
	}
	return found;
}

size_t top_calls_values(const struct top_calls *calls, uint64_t op, struct top_value *to,
			size_t most)
{
	uint64_t kept = calls->value_count < TOP_CALLS_MAX ? calls->value_count : TOP_CALLS_MAX;
	size_t count = 0;

	for (uint64_t i = calls->value_count - kept; i < calls->value_count && count < most; i++)
		if (calls->values[i % TOP_CALLS_MAX].op == op)
			to[count++] = calls->values[i % TOP_CALLS_MAX];
	return count;
}
