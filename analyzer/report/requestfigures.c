/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts how long requests took; requestfigures.h has the contract. */
#include "requestfigures.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/percentile.h"

struct taken {
	uint64_t ns;
	bool is_cut;
};

static int compare_taken(const void *left, const void *right)
{
	const struct taken *a = left, *b = right;
	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	return (a->is_cut > b->is_cut) - (a->is_cut < b->is_cut);
}

/* The mean of those that were cut off is not known; they are longer than they seem. */
static void set_figures(struct request_figures *figures, const struct taken *sorted,
			const bool *is_cut)
{
	static const double percents[] = { 50, 95, 99 };
	const struct percentile_list list = { .count = figures->count, .is_cut = is_cut };
	size_t ranks[3];
	double sum_ns = 0;
	percentile_ranks(&list, percents, 3, ranks);
	for (size_t i = 0; i < figures->count; i++)
		sum_ns += (double)sorted[i].ns;
	figures->ns[REQUEST_MEAN] =
		figures->unfinished_count ? NAN : sum_ns / (double)figures->count;
	for (size_t i = 0; i < 3; i++)
		figures->ns[REQUEST_P50 + i] =
			ranks[i] < figures->count ? (double)sorted[ranks[i]].ns : NAN;
	figures->longest_ns = sorted[figures->count - 1].ns;
}

void request_figures_find(struct request_figures *figures, const struct request *requests,
			  size_t count)
{
	struct taken *sorted = memory_new(count, sizeof(*sorted));
	bool *is_cut = memory_new(count, sizeof(*is_cut));
	*figures = (struct request_figures){ .count = count, .ns = { NAN, NAN, NAN, NAN } };
	for (size_t i = 0; i < count; i++) {
		sorted[i] = (struct taken){ requests[i].taken_ns, requests[i].is_unfinished };
		figures->unfinished_count += requests[i].is_unfinished;
	}
	if (count > 1)
		qsort(sorted, count, sizeof(*sorted), compare_taken);
	for (size_t i = 0; i < count; i++)
		is_cut[i] = sorted[i].is_cut;
	if (count > 0)
		set_figures(figures, sorted, is_cut);
	free(is_cut);
	free(sorted);
}

void request_figures_judged(struct request_figures *figures, const struct requests *requests)
{
	struct request *judged = memory_new(requests->count, sizeof(*judged));
	size_t count = 0;
	for (size_t i = 0; i < requests->count; i++)
		if (request_is_judged(requests, &requests->requests[i]))
			judged[count++] = requests->requests[i];
	request_figures_find(figures, judged, count);
	free(judged);
}

void request_figures_compare(struct estimator *estimator, const struct requests *requests)
{
	struct request_figures recorded;
	request_figures_judged(&recorded, requests);
	estimator_compare(estimator, recorded.ns);
}

bool request_figures_intended(struct request_figures *figures, const struct requests *requests,
			      const struct clients *clients)
{
	if (!clients->count || clients->sort != CLIENTS_OPEN || !clients->table_ns)
		return false;
	struct request *judged = memory_new(requests->count, sizeof(*judged));
	size_t count = 0;
	for (size_t i = 0; i < requests->count; i++) {
		const struct request *request = &requests->requests[i];
		uint32_t send = clients->send_of[request->op];
		if (!request_is_judged(requests, request) || send == NO_INDEX)
			continue;
		judged[count] = *request;
		judged[count++].taken_ns =
			request->end_ns - clients->due_ns[send - clients->first_op];
	}
	request_figures_find(figures, judged, count);
	free(judged);
	return count > 0;
}

double request_figures_total_ns(const struct requests *requests)
{
	double sum_ns = 0;
	for (size_t i = 0; i < requests->count; i++)
		if (request_is_judged(requests, &requests->requests[i]))
			sum_ns += (double)requests->requests[i].taken_ns;
	return requests->judged_class == NO_INDEX ? INFINITY : sum_ns;
}

const char *request_figure_word(enum request_figure figure)
{
	static const char *const words[] = { [REQUEST_MEAN] = "mean",
					     [REQUEST_P50] = "p50",
					     [REQUEST_P95] = "p95",
					     [REQUEST_P99] = "p99" };
	assert(figure < REQUEST_FIGURES);
	return words[figure];
}
