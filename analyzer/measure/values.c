/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of slow calls; values.h has the contract.
 *
 * Method. Values of one class and name are put in order of how long their calls took. The slowest
 * hundredth is one group, or a twentieth of few calls; the others are the other one. Calls that had
 * not ended belong to none. In requests the groups are the requests': a call belongs to the last
 * one that its thread had begun, unless that had ended. One thread. n log n of values.
 */
#include "values.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"

/* The slowest calls are a hundredth of all, but at least that many, or a twentieth of fewer. */
enum { SLOW_PART = 100, SLOW_PART_OF_FEW = 20, SLOW_LEAST = 20 };

struct seen {
	uint32_t class;
	uint32_t name;
	uint64_t taken_ns; /* in requests: 1 in a slow one, 0 in another */
	uint64_t value;    /* of a real number: its rank */
	bool is_text;
	bool is_real;
};

/* Ranks are in the order of the numbers whose bits are given; those that are none come last. */
#define SIGN       (UINT64_C(1) << 63)
#define NAN_RANK   UINT64_MAX
#define NAN_BITS   (UINT64_C(0x7ff8) << 48)
#define INFINITIES (UINT64_C(0x7ff) << 52)

static uint64_t rank_of(uint64_t bits)
{
	if ((bits & ~SIGN) > INFINITIES)
		return NAN_RANK;
	return bits & SIGN ? ~bits : bits | SIGN;
}

static uint64_t bits_of(uint64_t rank)
{
	if (rank == NAN_RANK)
		return NAN_BITS;
	return rank & SIGN ? rank & ~SIGN : ~rank;
}

static void unrank(struct value_range *range)
{
	if (!range->count)
		return;
	range->least = bits_of(range->least);
	range->median = bits_of(range->median);
	range->most = bits_of(range->most);
}

static struct seen seen_of(const struct class_table *classes, const struct rec_link *link,
			   uint64_t taken_ns)
{
	return (struct seen){
		.class = classes->of_op[link->from],
		.name = link->ident,
		.taken_ns = taken_ns,
		.value = link->is_real ? rank_of(link->result) : link->result,
		.is_text = link->is_text,
		.is_real = link->is_real,
	};
}

double value_real(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static int compare_seen(const void *left, const void *right)
{
	const struct seen *a = left, *b = right;

	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	if (a->is_text != b->is_text)
		return a->is_text ? 1 : -1;
	if (a->is_real != b->is_real)
		return a->is_real ? 1 : -1;
	return (a->taken_ns > b->taken_ns) - (a->taken_ns < b->taken_ns);
}

static int compare_values(const void *left, const void *right)
{
	const struct seen *a = left, *b = right;

	return (a->value > b->value) - (a->value < b->value);
}

static int compare_signed(const void *left, const void *right)
{
	int64_t a = (int64_t)((const struct seen *)left)->value;
	int64_t b = (int64_t)((const struct seen *)right)->value;

	return (a > b) - (a < b);
}

/* Of calls in order of their values. */
static void most_frequent(struct value_range *range, const struct seen *seen, size_t count)
{
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from; to < count && seen[to].value == seen[from].value;)
			to++;
		if (to - from <= range->frequent_count)
			continue;
		range->frequent_count = to - from;
		range->least = range->median = range->most = seen[from].value;
	}
}

/* They are put in another order. */
static struct value_range range_of(struct seen *seen, size_t count, bool is_signed)
{
	struct value_range range = { .count = count };

	if (!count)
		return range;
	qsort(seen, count, sizeof(*seen), is_signed ? compare_signed : compare_values);
	range.least = seen[0].value;
	range.median = seen[count / 2].value;
	range.most = seen[count - 1].value;
	if (seen[0].is_text)
		most_frequent(&range, seen, count);
	return range;
}

static size_t slow_count(size_t count)
{
	size_t few = count / SLOW_PART_OF_FEW < SLOW_LEAST ? count / SLOW_PART_OF_FEW : SLOW_LEAST;
	size_t slow = count / SLOW_PART > few ? count / SLOW_PART : few;

	return slow ? slow : 1;
}

/* The last `slow` calls are the slow ones. */
static struct value_row row_of(struct seen *seen, size_t count, size_t slow)
{
	struct value_row row = { .class = seen->class,
				 .name = seen->name,
				 .is_text = seen->is_text,
				 .is_real = seen->is_real };

	for (size_t i = 0; i < count && !row.is_text && !row.is_real; i++)
		row.is_signed = row.is_signed || (int64_t)seen[i].value < 0;
	row.usual = range_of(seen, count - slow, row.is_signed);
	row.slow = range_of(seen + count - slow, slow, row.is_signed);
	if (row.is_real) {
		unrank(&row.usual);
		unrank(&row.slow);
	}
	return row;
}

static bool is_same(const struct seen *a, const struct seen *b)
{
	return a->class == b->class && a->name == b->name && a->is_text == b->is_text &&
	       a->is_real == b->is_real;
}

static bool is_of_ended_call(const struct recording *rec, const struct rec_link *link)
{
	return link->kind == LINK_VALUE && link->from != NO_INDEX &&
	       !(rec->extras && rec->extras[link->from].open);
}

/* All that belong to calls that have ended; the caller frees them. */
static struct seen *seen_find(const struct recording *rec, const struct class_table *classes,
			      size_t *count)
{
	struct seen *seen = memory_new(rec->link_count, sizeof(*seen));

	*count = 0;
	for (size_t i = 0; i < rec->link_count; i++) {
		const struct rec_link *link = &rec->links[i];

		if (!is_of_ended_call(rec, link))
			continue;
		const struct rec_op *op = &rec->ops[link->from];

		seen[(*count)++] = seen_of(classes, link, op->end_ns - op->start_ns);
	}
	if (*count)
		qsort(seen, *count, sizeof(*seen), compare_seen);
	return seen;
}

static struct value_row *add_row(struct value_table *table, size_t *room)
{
	table->rows = memory_grow(table->rows, room, table->count + 1, sizeof(*table->rows));
	return &table->rows[table->count++];
}

void value_table_build(struct value_table *table, const struct recording *rec,
		       const struct class_table *classes)
{
	size_t count, room = 0;
	struct seen *seen = seen_find(rec, classes, &count);

	*table = (struct value_table){ NULL, 0 };
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from; to < count && is_same(&seen[to], &seen[from]);)
			to++;
		size_t slow = slow_count(to - from);
		uint64_t slow_ns = seen[to - slow].taken_ns;
		struct value_row *row = add_row(table, &room);

		*row = row_of(seen + from, to - from, slow);
		row->slow_ns = slow_ns;
	}
	free(seen);
}

/* --- In requests ------------------------------------------------------------------------------ */

static int compare_requests(const void *left, const void *right)
{
	const struct value_request *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* The request that a call belongs to; NULL: to none. */
static const struct value_request *request_of(const struct value_request *requests, size_t count,
					      const struct rec_op *op)
{
	const struct value_request wanted = { .thread = op->thread, .start_ns = op->start_ns };
	size_t from = 0, to = count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (compare_requests(&requests[middle], &wanted) <= 0)
			from = middle + 1;
		else
			to = middle;
	}
	if (from == 0 || requests[from - 1].thread != op->thread ||
	    requests[from - 1].end_ns < op->end_ns)
		return NULL;
	return &requests[from - 1];
}

/* The request that the link is a value in; NULL: it is none, or in none. */
static const struct value_request *request_of_link(const struct recording *rec,
						   const struct rec_link *link,
						   const struct value_request *requests,
						   size_t count)
{
	if (!is_of_ended_call(rec, link))
		return NULL;
	return request_of(requests, count, &rec->ops[link->from]);
}

static void sort_requests(struct value_request *requests, size_t count)
{
	if (count)
		qsort(requests, count, sizeof(*requests), compare_requests);
}

void value_table_build_in(struct value_table *table, const struct recording *rec,
			  const struct class_table *classes, struct value_request *requests,
			  size_t request_count)
{
	struct seen *seen = memory_new(rec->link_count, sizeof(*seen));
	size_t count = 0, room = 0;

	sort_requests(requests, request_count);
	for (size_t i = 0; i < rec->link_count; i++) {
		const struct rec_link *link = &rec->links[i];

		const struct value_request *request =
			request_of_link(rec, link, requests, request_count);

		if (request)
			seen[count++] = seen_of(classes, link, request->is_slow);
	}
	if (count)
		qsort(seen, count, sizeof(*seen), compare_seen);
	*table = (struct value_table){ NULL, 0 };
	for (size_t from = 0, to, slow; from < count; from = to) {
		slow = 0;
		for (to = from; to < count && is_same(&seen[to], &seen[from]); to++)
			slow += seen[to].taken_ns;
		*add_row(table, &room) = row_of(seen + from, to - from, slow);
	}
	free(seen);
}

void value_table_free(struct value_table *table)
{
	free(table->rows);
	*table = (struct value_table){ NULL, 0 };
}

void value_lists_build(struct value_lists *lists, const struct recording *rec,
		       struct value_request *requests, size_t count)
{
	const struct value_request *request;
	size_t *first = memory_new(count + 2, sizeof(*first));

	sort_requests(requests, count);
	for (size_t i = 0; i < rec->link_count; i++)
		if ((request = request_of_link(rec, &rec->links[i], requests, count)))
			first[request->index + 2]++;
	for (size_t i = 2; i < count + 2; i++)
		first[i] += first[i - 1];
	lists->links = memory_new(first[count + 1], sizeof(*lists->links));
	/* Each begin moves to the end, which is the next one's begin. */
	for (size_t i = 0; i < rec->link_count; i++)
		if ((request = request_of_link(rec, &rec->links[i], requests, count)))
			lists->links[first[request->index + 1]++] = (uint32_t)i;
	lists->first = first;
}

void value_lists_free(struct value_lists *lists)
{
	free(lists->first);
	free(lists->links);
}
