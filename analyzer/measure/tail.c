/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts requests once, and finds tail and body in each draw of them; tail.h has the contract.
 *
 * Requests that took the same time are all in the tail or body, or none is.
 */
#include "tail.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/percentile.h"

enum { TAIL_LEAST = 5 /* requests of a tail */, FULL = 99 };

struct request_taken {
	uint64_t taken_ns;
	uint32_t index;
	bool is_unfinished;
};

/* Ranks, in order of time taken. */
struct cohorts {
	size_t body_from, body_to; /* the last one, too */
	size_t tail_from;
	bool is_known;
};

struct comparing {
	const struct tail_input *input;
	double percent;
	struct request_taken *sorted;
	bool *is_cut;    /* by rank */
	uint32_t *times; /* by rank, of the draw */
	double *sums[2]; /* by key, of tail and body */
	size_t of_body, of_tail;
};

static int compare_taken(const void *left, const void *right)
{
	const struct request_taken *a = left, *b = right;
	if (a->taken_ns != b->taken_ns)
		return a->taken_ns < b->taken_ns ? -1 : 1;
	if (a->is_unfinished != b->is_unfinished)
		return a->is_unfinished ? 1 : -1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static void comparing_begin(struct comparing *comparing, const struct tail_input *input)
{
	*comparing = (struct comparing){ .input = input };
	comparing->sorted = memory_new(input->count, sizeof(*comparing->sorted));
	comparing->is_cut = memory_new(input->count, sizeof(*comparing->is_cut));
	comparing->times = memory_new(input->count, sizeof(*comparing->times));
	for (size_t k = 0; k < 2; k++)
		comparing->sums[k] = memory_new(input->key_count + (size_t)1, sizeof(double));
	for (size_t i = 0; i < input->count; i++)
		comparing->sorted[i] =
			(struct request_taken){ input->taken_ns[i], (uint32_t)i,
						input->is_unfinished && input->is_unfinished[i] };
	if (input->count > 1)
		qsort(comparing->sorted, input->count, sizeof(*comparing->sorted), compare_taken);
	for (size_t rank = 0; rank < input->count; rank++) {
		comparing->is_cut[rank] = comparing->sorted[rank].is_unfinished;
		comparing->times[rank] = 1;
	}
}

static void comparing_end(struct comparing *comparing)
{
	free(comparing->sorted);
	free(comparing->is_cut);
	free(comparing->times);
	free(comparing->sums[0]);
	free(comparing->sums[1]);
}

/* The first of those that took as long, or with `step` 1 the last. */
static size_t equal_at(const struct comparing *comparing, size_t rank, int step)
{
	const struct request_taken *sorted = comparing->sorted;
	size_t end = step > 0 ? comparing->input->count - 1 : 0;
	while (rank != end && sorted[rank + (size_t)step].taken_ns == sorted[rank].taken_ns)
		rank += (size_t)step;
	return rank;
}

/* Of the requests as often as they are drawn. A draw whose percentile is beyond all that finished
 * has the longest as its tail. */
static struct cohorts cohorts_find(const struct comparing *comparing)
{
	const struct percentile_list list = { comparing->input->count, comparing->times,
					      comparing->is_cut };
	const double body[] = { TAIL_BODY_FROM, TAIL_BODY_TO };
	size_t ranks[3], last = list.count - 1;
	percentile_ranks(&list, body, 2, ranks);
	percentile_ranks(&list, &comparing->percent, 1, &ranks[2]);
	bool is_known = ranks[1] < list.count && ranks[2] < list.count;
	while (last > 0 && !comparing->times[last])
		last--;
	for (size_t i = 0; i < 3; i++)
		ranks[i] = ranks[i] > last ? last : ranks[i];
	return (struct cohorts){ equal_at(comparing, ranks[0], -1),
				 equal_at(comparing, ranks[1], 1),
				 equal_at(comparing, ranks[2], -1), is_known };
}

/* Sums by key, the whole request as the last one; how many requests they are of. */
static size_t add_up(const struct comparing *comparing, size_t from, size_t to, double *sums)
{
	const struct tail_input *input = comparing->input;
	size_t count = 0;
	for (uint32_t k = 0; k <= input->key_count; k++)
		sums[k] = 0;
	for (size_t rank = from; rank <= to; rank++) {
		uint32_t times = comparing->times[rank], index = comparing->sorted[rank].index;
		if (!times)
			continue;
		count += times;
		sums[input->key_count] += (double)input->taken_ns[index] * times;
		for (size_t p = input->first[index]; p < input->first[index + 1]; p++) {
			assert(input->keys[p] < input->key_count);
			sums[input->keys[p]] += (double)input->parts_ns[p] * times;
		}
	}
	return count;
}

static void add_up_both(struct comparing *comparing, const struct cohorts *cohorts)
{
	comparing->of_tail = add_up(comparing, cohorts->tail_from, comparing->input->count - 1,
				    comparing->sums[0]);
	comparing->of_body =
		add_up(comparing, cohorts->body_from, cohorts->body_to, comparing->sums[1]);
	assert(comparing->of_tail && comparing->of_body);
}

static double mean_more(const struct comparing *comparing, size_t key)
{
	return comparing->sums[0][key] / (double)comparing->of_tail -
	       comparing->sums[1][key] / (double)comparing->of_body;
}

static void draw_compare(void *context, const uint32_t *const *times, double *results)
{
	struct comparing *comparing = context;
	for (size_t rank = 0; rank < comparing->input->count; rank++)
		comparing->times[rank] = times[0][comparing->sorted[rank].index];
	const struct cohorts cohorts = cohorts_find(comparing);
	add_up_both(comparing, &cohorts);
	for (uint32_t k = 0; k <= comparing->input->key_count; k++)
		results[k] = mean_more(comparing, k);
}

static int compare_parts(const void *left, const void *right)
{
	const struct tail_part *a = left, *b = right;
	bool a_told = bootstrap_is_told(&a->more_ns), b_told = bootstrap_is_told(&b->more_ns);
	if (a_told != b_told)
		return a_told ? -1 : 1;
	if (a->more_ns.value != b->more_ns.value)
		return a->more_ns.value > b->more_ns.value ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

static void set_parts(struct tail *tail, const struct comparing *comparing,
		      const struct bootstrap_interval *intervals)
{
	uint32_t key_count = comparing->input->key_count;
	tail->parts = memory_new(key_count, sizeof(*tail->parts));
	for (uint32_t k = 0; k <= key_count; k++) {
		const struct tail_part part = {
			k < key_count ? k : NO_INDEX,
			comparing->sums[1][k] / (double)comparing->of_body,
			comparing->sums[0][k] / (double)comparing->of_tail,
			intervals[k],
		};
		if (k == key_count)
			tail->whole = part;
		else if (part.body_ns > 0 || part.tail_ns > 0)
			tail->parts[tail->part_count++] = part;
	}
	if (tail->part_count > 1)
		qsort(tail->parts, tail->part_count, sizeof(*tail->parts), compare_parts);
	for (size_t i = 0; i < tail->part_count; i++) {
		bool is_told = bootstrap_is_told(&tail->parts[i].more_ns);
		tail->told_count += is_told;
		tail->untold_ns += is_told ? 0 : tail->parts[i].more_ns.value;
	}
}

static void compare_cohorts(struct tail *tail, struct comparing *comparing,
			    const struct cohorts *cohorts)
{
	const struct tail_input *input = comparing->input;
	const double median = 50;
	const struct percentile_list list = { input->count, comparing->times, comparing->is_cut };
	size_t results = input->key_count + (size_t)1, rank;
	struct bootstrap_interval *intervals = memory_new(results, sizeof(*intervals));
	percentile_ranks(&list, &median, 1, &rank);
	tail->examples[TAIL_SLOWEST] = comparing->sorted[input->count - 1].index;
	tail->examples[TAIL_FIRST] = comparing->sorted[cohorts->tail_from].index;
	tail->examples[TAIL_MEDIAN] = comparing->sorted[rank].index;
	tail->body_least_ns = comparing->sorted[cohorts->body_from].taken_ns;
	tail->body_most_ns = comparing->sorted[cohorts->body_to].taken_ns;
	tail->tail_least_ns = comparing->sorted[cohorts->tail_from].taken_ns;
	tail->tail_count = input->count - cohorts->tail_from;
	tail->body_count = cohorts->body_to - cohorts->body_from + 1;
	const struct bootstrap bootstrap = { .unit_counts = { input->count },
					     .group_count = 1,
					     .few = tail->tail_count,
					     .result_count = results,
					     .statistic = draw_compare,
					     .context = comparing };
	bootstrap_run(&bootstrap, intervals);
	for (size_t i = 0; i < input->count; i++)
		comparing->times[i] = 1;
	add_up_both(comparing, cohorts);
	set_parts(tail, comparing, intervals);
	free(intervals);
}

/* A tail of a few requests says nothing. */
static double answerable(size_t count, double percent)
{
	if (percent <= TAIL_LOWERED)
		return percent;
	if (count < TAIL_LOWERED_BELOW)
		return TAIL_LOWERED;
	return (double)count * (100 - percent) < 100 * TAIL_LEAST && percent > FULL ? FULL
										    : percent;
}

void tail_build(struct tail *tail, const struct tail_input *input, double percent)
{
	struct comparing comparing;
	assert(percent >= 50 && percent < 100 && input->count < NO_INDEX);
	*tail = (struct tail){ .asked = percent,
			       .percent = answerable(input->count, percent),
			       .count = input->count,
			       .state = TAIL_TOO_FEW };
	for (size_t i = 0; input->is_unfinished && i < input->count; i++)
		tail->unfinished_count += input->is_unfinished[i];
	if (input->count < TAIL_REQUESTS_LEAST)
		return;
	comparing_begin(&comparing, input);
	comparing.percent = tail->percent;
	const struct cohorts cohorts = cohorts_find(&comparing);
	tail->state = cohorts.is_known ? TAIL_KNOWN : TAIL_UNFINISHED;
	if (cohorts.is_known)
		compare_cohorts(tail, &comparing, &cohorts);
	comparing_end(&comparing);
}

void tail_free(struct tail *tail)
{
	free(tail->parts);
	*tail = (struct tail){ 0 };
}
