/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of slow calls beside those of the others; top_values.h has the contract.
 *
 * Method, as in the analyzer's values.c. A call belongs to the last request that its thread had
 * begun, unless that had ended. Values find their call by its number. Those of one function and
 * name are put in order, the slow ones last, and each group by itself. n log n of what is kept.
 */
#include "top_values.h"

#include <stdlib.h>
#include <string.h>

#include "probe_code.h"

enum { SLOW_PART = 20 }; /* of the calls, where no request is slow */

enum share { IN_NONE, IN_USUAL, IN_SLOW };

struct call {
	uint64_t op;
	uint64_t taken_ns;
	uint32_t name;
	enum share share;
};

struct seen {
	uint32_t call, name, type;
	bool is_slow;
	uint64_t bits;
};

static int order_of(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* --- Which calls are slow --------------------------------------------------------------------- */

static uint64_t begin_of(const struct top_request *request)
{
	return request->end_ns - request->taken_ns;
}

static int compare_requests(const void *left, const void *right)
{
	const struct top_request *a = left, *b = right;
	int order = order_of(a->thread, b->thread);

	return order ? order : order_of(begin_of(a), begin_of(b));
}

static enum share share_of(const struct top_call *call, const struct top_request *requests,
			   size_t count)
{
	const struct top_request wanted = { .thread = call->thread,
					    .end_ns = call->end_ns - call->taken_ns };
	size_t from = 0, to = count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (compare_requests(&requests[middle], &wanted) <= 0)
			from = middle + 1;
		else
			to = middle;
	}
	if (from == 0 || requests[from - 1].thread != call->thread ||
	    requests[from - 1].end_ns < call->end_ns)
		return IN_NONE;
	return requests[from - 1].is_slow ? IN_SLOW : IN_USUAL;
}

static int compare_times(const void *left, const void *right)
{
	const struct call *a = left, *b = right;
	int order = order_of(a->name, b->name);

	return order ? order : order_of(a->taken_ns, b->taken_ns);
}

static int compare_ops(const void *left, const void *right)
{
	return order_of(((const struct call *)left)->op, ((const struct call *)right)->op);
}

/* By themselves: the slowest of each name, at least one. */
static void judge_by_time(struct call *calls, size_t count)
{
	if (count)
		qsort(calls, count, sizeof(*calls), compare_times);
	for (size_t from = 0, to; from < count; from = to) {
		size_t slow;

		for (to = from; to < count && calls[to].name == calls[from].name;)
			calls[to++].share = IN_USUAL;
		slow = (to - from) / SLOW_PART;
		for (size_t i = to - (slow ? slow : 1); i < to; i++)
			calls[i].share = IN_SLOW;
	}
}

/* In the order of their numbers. Whether some are in slow requests; else they are judged by their
 * own time. */
static bool find_calls(struct call *calls, size_t *count, const struct top_calls *of,
		       const struct top_request *requests, size_t request_count, uint64_t since_ns)
{
	uint64_t all = of->count < TOP_CALLS_MAX ? of->count : TOP_CALLS_MAX;
	bool is_of_requests = false;

	*count = 0;
	for (uint64_t i = 0; i < all; i++) {
		const struct top_call *call = &of->ring[i];
		enum share share;

		if (call->end_ns < since_ns)
			continue;
		share = share_of(call, requests, request_count);
		is_of_requests |= share == IN_SLOW;
		calls[(*count)++] = (struct call){ call->op, call->taken_ns, call->name, share };
	}
	if (!is_of_requests)
		judge_by_time(calls, *count);
	if (*count)
		qsort(calls, *count, sizeof(*calls), compare_ops);
	return is_of_requests;
}

/* --- Their values ----------------------------------------------------------------------------- */

/* Of a double's bits: ranks are in the order of the numbers; those that are none come last. */
static uint64_t real_rank(uint64_t bits)
{
	static const uint64_t sign = UINT64_C(1) << 63;

	if ((bits & ~sign) > UINT64_C(0x7ff) << 52)
		return UINT64_MAX;
	return bits & sign ? ~bits : bits | sign;
}

static int compare_seen(const void *left, const void *right)
{
	const struct seen *a = left, *b = right;
	int order = order_of(a->call, b->call);

	order = order ? order : order_of(a->name, b->name);
	order = order ? order : order_of(a->type, b->type);
	order = order ? order : order_of(a->is_slow, b->is_slow);
	if (!order && a->type == PROBE_REAL)
		return order_of(real_rank(a->bits), real_rank(b->bits));
	if (order || a->type != PROBE_SIGNED)
		return order ? order : order_of(a->bits, b->bits);
	return ((int64_t)a->bits > (int64_t)b->bits) - ((int64_t)a->bits < (int64_t)b->bits);
}

static void most_frequent(struct top_range *range, const struct seen *seen, size_t count)
{
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from; to < count && seen[to].bits == seen[from].bits;)
			to++;
		if (to - from <= range->frequent_count)
			continue;
		range->frequent_count = to - from;
		range->least = range->median = range->most = seen[from].bits;
	}
}

/* Of values in order. */
static struct top_range range_of(const struct seen *seen, size_t count)
{
	struct top_range range = { .count = count };

	if (!count)
		return range;
	range.least = seen[0].bits;
	range.median = seen[count / 2].bits;
	range.most = seen[count - 1].bits;
	if (seen[0].type == PROBE_STRING)
		most_frequent(&range, seen, count);
	return range;
}

static size_t find_seen(struct seen *seen, const struct top_calls *of, const struct call *calls,
			size_t call_count)
{
	uint64_t all = of->value_count < TOP_CALLS_MAX ? of->value_count : TOP_CALLS_MAX;
	size_t count = 0;

	for (uint64_t i = 0; i < all && call_count; i++) {
		const struct top_value *value = &of->values[i];
		const struct call wanted = { .op = value->op };
		const struct call *call =
			bsearch(&wanted, calls, call_count, sizeof(*calls), compare_ops);

		if (call && call->share != IN_NONE)
			seen[count++] = (struct seen){ call->name, value->name, value->type,
						       call->share == IN_SLOW, value->bits };
	}
	if (count)
		qsort(seen, count, sizeof(*seen), compare_seen);
	return count;
}

static bool is_same(const struct seen *a, const struct seen *b)
{
	return a->call == b->call && a->name == b->name && a->type == b->type;
}

static void build_rows(struct top_value_rows *rows, const struct seen *seen, size_t count)
{
	for (size_t from = 0, to; from < count && rows->count < TOP_NAMES_MAX; from = to) {
		size_t usual = 0;

		for (to = from; to < count && is_same(&seen[to], &seen[from]); to++)
			usual += !seen[to].is_slow;
		rows->rows[rows->count++] = (struct top_value_row){
			.call = seen[from].call,
			.name = seen[from].name,
			.type = seen[from].type,
			.slow = range_of(seen + from + usual, to - from - usual),
			.usual = range_of(seen + from, usual),
		};
	}
}

void top_values_build(struct top_value_rows *rows, const struct top_calls *of,
		      const struct top_requests *requests, uint64_t since_ns)
{
	size_t request_count, call_count;
	struct top_request *list = top_requests_list(requests, since_ns, &request_count);
	struct call *calls = malloc(TOP_CALLS_MAX * sizeof(*calls));
	struct seen *seen = malloc(TOP_CALLS_MAX * sizeof(*seen));

	*rows = (struct top_value_rows){ .rows = malloc(TOP_NAMES_MAX * sizeof(*rows->rows)) };
	if (list && calls && seen && rows->rows) {
		if (request_count)
			qsort(list, request_count, sizeof(*list), compare_requests);
		rows->is_of_requests =
			find_calls(calls, &call_count, of, list, request_count, since_ns);
		build_rows(rows, seen, find_seen(seen, of, calls, call_count));
	}
	free(list);
	free(calls);
	free(seen);
}

void top_values_free(struct top_value_rows *rows)
{
	free(rows->rows);
	*rows = (struct top_value_rows){ .count = 0 };
}

double top_value_real(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}
