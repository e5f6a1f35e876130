/* SPDX-License-Identifier: Apache-2.0 */
/* Follows the requests of an analysis; followed.h has the contract. */
#include "followed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "base/memory.h"
#include "base/percentile.h"
#include "measure/tail.h"

enum { SLOWEST_FROM = 99 /* percentile */ };

static bool is_given(const char *text)
{
	return text && text[0];
}

/* The first screen tells of requests, if there are any. */
static bool is_screen_of_requests(const struct analysis *analysis)
{
	const struct options *options = analysis->options;
	const struct requests *requests = &analysis->script.requests;
	return options->show && !options->show[0] && !is_given(options->export) &&
	       !is_given(options->folded) && requests->judged_class != NO_INDEX &&
	       requests->judged_source != REQUEST_LOCK;
}

bool followed_is_wanted(const struct analysis *analysis)
{
	const struct options *options = analysis->options;
	bool is_shown = is_given(options->show) &&
			(strstr(options->show, "paths") || strstr(options->show, "all") ||
			 strstr(options->show, "tail") || strstr(options->show, "trace"));
	bool is_folded = is_given(options->folded) && strcmp(options->folded, "tail") == 0;
	return options->json || is_folded || is_given(options->html) || is_shown ||
	       is_given(options->requests) || is_given(options->rows) ||
	       is_screen_of_requests(analysis);
}

void followed_build(struct request_paths *paths, const struct analysis *analysis)
{
	const struct labels *labels = analysis->labels;
	const struct script *script = &analysis->script;
	struct timeline timeline;
	struct wakers wakers;
	timeline_build(&timeline, analysis->recording);
	wakers_build(&wakers, analysis->recording, &timeline, &script->monitors, &script->flows);
	request_paths_build(paths, &(const struct request_paths_of){
					   .recording = analysis->recording,
					   .timeline = &timeline,
					   .wakers = &wakers,
					   .requests = &script->requests,
					   .classes = &analysis->classes,
					   .frames = labels ? &labels->frames : NULL,
					   .waits = labels ? labels->waits : NULL,
					   .sites = labels ? labels->sites : NULL,
				   });
	wakers_free(&wakers);
	timeline_free(&timeline);
}

/* --- Means --- */

static int compare_taken(const void *a, const void *b, void *context)
{
	const struct request *requests = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	if (requests[left].taken_ns != requests[right].taken_ns)
		return requests[left].taken_ns < requests[right].taken_ns ? -1 : 1;
	if (requests[left].is_unfinished != requests[right].is_unfinished)
		return requests[left].is_unfinished ? 1 : -1;
	return (left > right) - (left < right);
}

static int compare_rows(const void *a, const void *b)
{
	const struct followed_row *left = a, *right = b;
	if (left->p99_ns != right->p99_ns)
		return left->p99_ns > right->p99_ns ? -1 : 1;
	if (left->mean_ns != right->mean_ns)
		return left->mean_ns > right->mean_ns ? -1 : 1;
	return (left->part > right->part) - (left->part < right->part);
}

/* The ranks of the requests that a mean is of; `to` is behind the last one, 0 = not known. */
struct cohort {
	size_t from;
	size_t to;
};

static double share(const struct cohort *cohort, size_t rank, uint64_t ns)
{
	return rank >= cohort->from && rank < cohort->to
		       ? (double)ns / (double)(cohort->to - cohort->from)
		       : 0;
}

/* The body and the tail. Unfinished requests take longer than was seen, and may hide them. */
static void find_cohorts(const uint32_t *ranked, size_t count, const struct requests *requests,
			 struct cohort *body, struct cohort *tail)
{
	static const double percents[] = { TAIL_BODY_FROM, TAIL_BODY_TO, SLOWEST_FROM };
	bool *is_cut = memory_new(count, sizeof(*is_cut));
	const struct percentile_list list = { .count = count, .is_cut = is_cut };
	size_t ranks[3];
	for (size_t i = 0; i < count; i++)
		is_cut[i] = requests->requests[ranked[i]].is_unfinished;
	percentile_ranks(&list, percents, 3, ranks);
	*body = (struct cohort){ ranks[0], ranks[1] < count ? ranks[1] + 1 : 0 };
	*tail = (struct cohort){ ranks[2], ranks[2] < count ? count : 0 };
	free(is_cut);
}

static void add_up(struct followed_table *table, const struct request_paths *paths,
		   const uint32_t *ranked, const struct cohort *body, const struct cohort *tail)
{
	const struct cohort all = { 0, table->requests };
	for (size_t rank = 0; rank < table->requests; rank++)
		for (size_t i = paths->first[ranked[rank]]; i < paths->first[ranked[rank] + 1];
		     i++) {
			struct followed_row *row = &table->rows[paths->part[i]];
			row->mean_ns += share(&all, rank, paths->ns[i]);
			row->p50_ns += share(body, rank, paths->ns[i]);
			row->p99_ns += share(tail, rank, paths->ns[i]);
		}
}

/* Those that nobody has are left out. */
static void order_rows(struct followed_table *table, size_t parts, bool has_body, bool has_tail)
{
	for (uint32_t i = 0; i < parts; i++) {
		table->rows[i].part = i;
		if (table->rows[i].mean_ns > 0)
			table->rows[table->count++] = table->rows[i];
	}
	if (table->count > 1)
		qsort(table->rows, table->count, sizeof(*table->rows), compare_rows);
	for (size_t i = 0; i < table->count; i++) {
		table->rows[i].p50_ns = has_body ? table->rows[i].p50_ns : NAN;
		table->rows[i].p99_ns = has_tail ? table->rows[i].p99_ns : NAN;
	}
}

void followed_table_build(struct followed_table *table, const struct request_paths *paths,
			  const struct requests *requests)
{
	size_t parts = paths->parts.tuples.count;
	struct cohort body, tail;
	uint32_t *ranked = memory_new(paths->count, sizeof(*ranked));
	*table = (struct followed_table){ .rows = memory_new(parts, sizeof(*table->rows)) };
	for (uint32_t i = 0; i < paths->count; i++)
		if (request_is_judged(requests, &requests->requests[i]))
			ranked[table->requests++] = i;
	if (table->requests > 1)
		qsort_r(ranked, table->requests, sizeof(*ranked), compare_taken,
			requests->requests);
	find_cohorts(ranked, table->requests, requests, &body, &tail);
	add_up(table, paths, ranked, &body, &tail);
	order_rows(table, parts, body.to > 0, tail.to > 0);
	free(ranked);
}

void followed_table_free(struct followed_table *table)
{
	free(table->rows);
	*table = (struct followed_table){ 0 };
}
